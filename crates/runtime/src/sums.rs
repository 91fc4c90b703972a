//! Values of entries that have one coordinate: added up, and moved together.
//!
//! The caller, who looks at the coordinates, tells for each entry the place at which its value is kept. Places do not
//! descend: if one comes again, the value is added to the one there, in the order of entries.
//!
//! ```text
//! coordinates 2 2 5 7 7 7    places 0 0 1 2 2 2    values 1 2 3 4 5 6   become   3 3 15
//! ```

use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::moved::BLOCK;
use crate::words::Word;

/// Values that are being added up.
pub struct Sums<'a> {
    values: &'a mut Buffer,
    /// The entry of the first place that is kept here.
    first: usize,
    places: [usize; BLOCK],
    len: usize,
    /// The place of the entry before.
    before: Option<usize>,
}

impl<'a> Sums<'a> {
    /// Values, which are owned, from entry `first` on. The value of the entry before is kept at `before`, if there is
    /// one.
    pub fn new(values: &'a mut Buffer, first: usize, before: Option<usize>) -> Sums<'a> {
        Sums { values, first, places: [0; BLOCK], len: 0, before }
    }

    /// The next entry's value goes to a place, which is not behind its own.
    #[inline(always)]
    pub fn push(&mut self, place: usize) {
        if self.len == BLOCK {
            self.empty();
        }
        self.places[self.len] = place;
        self.len += 1;
    }

    /// All is said.
    pub fn finish(mut self) {
        self.empty();
    }

    fn empty(&mut self) {
        let ty = self.values.dtype();
        with_word!(ty, V => {
            let (sum, words) = (V::sum(ty), self.values.as_words_mut::<V>().unwrap_or_default());
            for (entry, &place) in (self.first..).zip(&self.places[..self.len]) {
                words[place] = if self.before == Some(place) { sum(words[place], words[entry]) } else { words[entry] };
                self.before = Some(place);
            }
        });
        self.first += self.len;
        self.len = 0;
    }
}
