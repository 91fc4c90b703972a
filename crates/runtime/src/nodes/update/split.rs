//! Nodes that are split around a separator, as those of B-trees are.
//!
//! ```text
//! [20]           25 into a full leaf     [20 30]
//! [5] [21 30 40]                         [5] [21 25] [40]
//! ```
//!
//! The items of a full node with the new one are cut at an element in the middle, so that the parts before and behind fit nodes of
//! its type. The element goes into the node above, between the two. If it does not fit there, that node is split in the same way; if
//! that cannot be split, or there is none, a node of whatever type fits them holds the two parts and the element:
//!
//! ```text
//! [5 21 30] of the root     25:   [21]            an internal node of one element
//!                                 [5] [25 30]
//! ```
//!
//! Nothing is written before it is known where all parts go.

use super::edit::{Editor, Visit};
use super::items::{Item, Source};
use crate::error::StorageError;

/// A node that is split.
struct Cut {
    /// Its number on the path.
    level: usize,
    /// Its items, with those that are new.
    items: Vec<Item>,
    /// The number of the separator.
    middle: usize,
    /// The first word of the second part.
    other: u32,
}

impl Editor<'_> {
    /// Splits a node of the path, whose items with a new one are given. False if it cannot be split: then nothing has been changed.
    pub fn split(&mut self, level: usize, items: &[Item]) -> Result<bool, StorageError> {
        let mut cuts: Vec<Cut> = Vec::new();
        let (mut level, mut items) = (level, items.to_vec());
        loop {
            let visit = self.path[level];
            let Some(middle) = self.middle(visit.ty(), &items) else { break };
            let room = self.fit(visit.ty(), &items[middle + 1..]).map_or(0, |fit| fit.room);
            let other = self.make(visit.ty(), room)?;
            let Item::Elem { coordinate, value } = items[middle] else { break };
            let value = match value {
                Source::At(position) => Source::Held(self.payload.hold(u64::from(position))),
                held @ Source::Held(_) => held,
            };
            cuts.push(Cut { level, items: items.clone(), middle, other });
            let parts = [
                Item::Child { base: visit.base, ty: visit.ty() },
                Item::Elem { coordinate, value },
                Item::Child { base: other, ty: visit.ty() },
            ];
            if let Some(above) = level.checked_sub(1).filter(|above| *above >= self.fixed) {
                let holder = self.path[above];
                let mut next = self.read(holder.base, holder.ty());
                if let Some(at) = next.iter().position(|item| item.is_child(visit.base)) {
                    next.splice(at..=at, parts);
                }
                if let Some(fit) = self.fit_short(holder.ty(), &next) {
                    self.carry_out(&cuts)?;
                    self.rewrite(above, &next, &fit)?;
                    return Ok(true);
                }
                if self.shape(holder.ty()).is_wide && self.middle(holder.ty(), &next).is_some() {
                    (level, items) = (above, next);
                    continue;
                }
            }
            let link = self.link_of(level);
            let Some((ty, fit)) = self.choose(link.to, &parts, visit.ty()) else { break };
            self.carry_out(&cuts)?;
            let base = self.make_of(ty, &parts, &fit)?;
            self.connect(link, base, ty);
            self.path[level] = Visit { base, ty: ty as u32, link: link.at };
            return Ok(true);
        }
        for cut in cuts {
            let ty = self.path[cut.level].ty();
            self.discard(cut.other, ty);
        }
        Ok(false)
    }

    /// The number of the element around which items are cut into two lists that fit a type: the one next to the middle.
    pub fn middle(&self, ty: usize, items: &[Item]) -> Option<usize> {
        let half = items.len() / 2;
        let near = (0..items.len()).map(|k| if k % 2 == 0 { half + k / 2 } else { half.wrapping_sub(k / 2 + 1) });
        let is_good = |at: &usize| {
            items.get(*at).is_some_and(Item::is_elem)
                && self.fit(ty, &items[..*at]).is_some()
                && self.fit(ty, &items[*at + 1..]).is_some()
        };
        near.take(items.len() + 1).find(is_good)
    }

    /// Writes the parts of nodes that are split, from the lowest on.
    fn carry_out(&mut self, cuts: &[Cut]) -> Result<(), StorageError> {
        for Cut { level, items, middle, other } in cuts {
            let ty = self.path[*level].ty();
            if let Some(fit) = self.fit(ty, &items[middle + 1..]) {
                self.write(*other, ty, &items[middle + 1..], &fit);
            }
            if let Some(fit) = self.fit(ty, &items[..*middle]) {
                self.write(self.path[*level].base, ty, &items[..*middle], &fit);
            }
        }
        Ok(())
    }
}
