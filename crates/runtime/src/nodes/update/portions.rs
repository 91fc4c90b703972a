//! Many changes of a level on several threads.
//!
//! The changes are cut between runs, so that each thread has rows of its own: no node, no position and no root is another one's. The threads
//! work at [portions](Buffer::portion) of the arrays, of which each touches only what belongs to its rows. What all rows have in common is
//! cut beforehand (`free.rs`): free nodes, the room between rows, and words and positions behind all others, as the arrays do not grow
//! meanwhile. Counts, and what is left, are put together again.
//!
//! ```text
//! changes 0 .. 50,000 of rows 0 .. 700        thread 1: half of the free nodes; room up to row 700; words 8 M .. 8.4 M
//! changes 50,000 .. 100,000 of the others     thread 2: the other half; the room behind; words 8.4 M .. 8.8 M
//! ```
//!
//! A run that wants more words than a thread has left is skipped. A thread that skips many leaves the rest, and all threads get more words.
//! What is left in the end is carried out by one thread, which can make the arrays longer.

#![allow(unsafe_code)]

use std::ops::Range;

use super::edit::Editor;
use super::free::Kept;
use super::run::{Changes, Noted};
use crate::buffer::Buffer;
use crate::nodes::gaps::Gap;
use crate::{parallel, pool};

/// So many changes are worth a second thread, and so on.
const FEW: usize = if cfg!(test) { 256 } else { 2048 };
/// A thread has room for so many nodes of the usual length at least.
const NODES: u64 = 64;
/// It has room for so many elements for each change, if nodes are half full: rows may be made anew.
const PER_CHANGE: u64 = 2;
/// A thread that has skipped so many runs leaves the rest.
const SKIPPED: usize = 16;

/// What one thread has.
struct Portion {
    changes: Range<usize>,
    root: Buffer,
    node: Buffer,
    values: Buffer,
    kept: Kept,
    /// The parent positions that no other thread has.
    rows: Range<usize>,
}

/// How far one thread has come.
struct Outcome<R> {
    notes: Vec<R>,
    skipped: Vec<Range<usize>>,
    rest: Range<usize>,
    is_stuck: bool,
    kept: Kept,
}

impl Editor<'_> {
    /// Carries out changes on several threads while they are many; those that are left.
    pub fn change_at_once<R: Send>(
        &mut self,
        changes: &Changes<'_>,
        note: &Noted<'_, R>,
        notes: &mut Vec<R>,
    ) -> Vec<Range<usize>> {
        let mut left = Vec::new();
        let mut parts = cut(changes);
        while parts.len() > 1 && parts.iter().map(Range::len).sum::<usize>() >= FEW {
            let Some(portions) = self.portions(changes, &parts) else { break };
            parts.clear();
            let (mut kept, mut is_stuck) = (Vec::with_capacity(portions.len()), false);
            for outcome in self.on_threads(changes, note, portions) {
                notes.extend(outcome.notes);
                left.extend(outcome.skipped);
                parts.extend(Some(outcome.rest).filter(|rest| !rest.is_empty()));
                kept.push(outcome.kept);
                is_stuck |= outcome.is_stuck;
            }
            let (words, slots) = self.kept.join(kept, (self.node.len() as u64, self.payload.positions()));
            self.node.truncate(words as usize);
            self.payload.truncate(slots);
            self.set_positions();
            if is_stuck {
                break;
            }
        }
        left.append(&mut parts);
        left
    }

    /// What each thread has for its changes; none if memory or numbers do not suffice for them at once.
    fn portions(&mut self, changes: &Changes<'_>, parts: &[Range<usize>]) -> Option<Vec<Portion>> {
        if self.root.is_borrowed() || self.node.is_borrowed() || self.payload.buffer_mut().is_borrowed() {
            return None;
        }
        let align = u64::from(self.schema.align());
        let (words, slots) = self.kept.most.with_room(self.longest());
        let (least_words, least_slots) = self.kept.most.with_room(0);
        let sizes = parts.iter().map(|part| {
            let nodes = (PER_CHANGE * part.len() as u64).div_ceil((least_slots / 2).max(1));
            let (words, slots) = (NODES * words + nodes * least_words, NODES * slots + nodes * least_slots);
            (words.next_multiple_of(align), slots)
        });
        let sizes: Vec<(u64, u64)> = sizes.collect();
        let all = sizes.iter().fold((0, 0), |all, size| (all.0 + size.0, all.1 + size.1));
        self.reserve_exactly(all.0 + align, all.1).ok()?;
        let mut ends = Vec::with_capacity(parts.len());
        for size in sizes {
            let begin = self.extend_arrays(size.0, size.1).ok()?;
            ends.push(Gap::new(begin, size.0 as u32, size.1 as u32));
        }
        let begins = parts.iter().map(|part| {
            let roots = changes.parents[part.clone()].iter().map(|parent| self.view().root.get(*parent as usize));
            roots.flatten().find(|root| *root != 0).unwrap_or(0)
        });
        let own: Vec<(u32, Gap)> = begins.zip(ends).collect();
        let bounds = |part: &Range<usize>| {
            let parents = &changes.parents[part.clone()];
            let least = parents.iter().min().copied().unwrap_or(0) as usize;
            least..parents.iter().max().map_or(0, |most| *most as usize + 1)
        };
        let rows: Vec<Range<usize>> = parts.iter().map(bounds).collect();
        let are_apart = rows.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let kept = self.kept.cut(&own);
        let mut portions = Vec::with_capacity(parts.len());
        for ((changes, kept), rows) in parts.iter().cloned().zip(kept).zip(rows) {
            let rows = if are_apart { rows } else { 0..0 };
            // SAFETY: the portions are dropped in `on_threads`, before the arrays change. Until then an editor reads and writes roots of its
            // parent positions, nodes and positions that these lead to, and those that its part of what is kept has: all of them are one
            // editor's.
            let (root, node, values) =
                unsafe { (self.root.portion()?, self.node.portion()?, self.payload.buffer_mut().portion()?) };
            portions.push(Portion { changes, root, node, values, kept, rows });
        }
        Some(portions)
    }

    /// Lets each portion's changes be carried out by a thread.
    fn on_threads<R: Send>(
        &self,
        changes: &Changes<'_>,
        note: &Noted<'_, R>,
        portions: Vec<Portion>,
    ) -> Vec<Outcome<R>> {
        let schema = self.schema;
        let like = &self.payload;
        parallel::map(portions, |_, portion| {
            let Portion { changes: own, mut root, mut node, mut values, mut kept, rows } = portion;
            let mut notes = Vec::with_capacity(own.len());
            let payload = like.over(&mut values);
            let mut editor = Editor {
                schema,
                node: &mut node,
                root: &mut root,
                kept: &mut kept,
                payload,
                parent: 0,
                rows,
                path: Vec::new(),
                landed: None,
            };
            let mut each = |number: usize, position: Option<u32>, values: &mut Buffer| {
                notes.extend(note(number, position, values));
            };
            let (mut skipped, mut is_stuck, mut rest) = (Vec::new(), false, own);
            while !rest.is_empty() && skipped.len() < SKIPPED && !is_stuck {
                let (done, outcome) = editor.change(changes, rest.clone(), &mut each);
                rest.start = done;
                is_stuck = !rest.is_empty() && outcome.is_ok();
                if outcome.is_err() {
                    let run = changes.run(done, rest.end);
                    rest.start = run.end;
                    skipped.push(run);
                }
            }
            Outcome { notes, skipped, rest, is_stuck, kept }
        })
    }
}

/// Cuts changes between runs into about equal parts, one for each thread that is worth it.
fn cut(changes: &Changes<'_>) -> Vec<Range<usize>> {
    let all = changes.parents.len();
    let count = (all / FEW + 1).min(pool::threads());
    let mut parts = Vec::with_capacity(count);
    let mut begin = 0;
    for number in 1..=count {
        let wanted = all * number / count;
        if wanted <= begin {
            continue;
        }
        let end = changes.run(wanted - 1, all).end;
        parts.push(begin..end);
        begin = end;
    }
    parts
}
