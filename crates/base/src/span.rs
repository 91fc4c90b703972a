//! Source ranges.
//!
//! A span is a byte range of the text the user wrote. Code that no user wrote carries [`Span::NONE`].

use std::ops::Range;

/// A byte range of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of code that the compiler made itself.
    pub const NONE: Span = Span { start: 0, end: 0 };

    /// A span from byte offsets; offsets past 4 GiB are clamped.
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that holds both; [`Span::NONE`] is the neutral element.
    pub fn to(self, other: Span) -> Span {
        if self == Span::NONE {
            return other;
        }
        if other == Span::NONE {
            return self;
        }
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The byte range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
