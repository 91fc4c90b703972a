//! Many changes of a level, row after row.
//!
//! Changes are sorted by parent position and coordinate, and each coordinate occurs once under its parent position. A *run* is what one
//! parent position has of them. A run that is a considerable part of what is stored there is merged with that at once (`renew.rs`);
//! of others, each change is carried out where it is. The nodes that come next are asked for on the way, as most of the time would go
//! by waiting for them. Many changes are carried out by several threads, each of which has other runs (`portions.rs`).
//!
//! ```text
//! parents      2 2 2 5 9 9        runs     2: put 1 4 8      5: put 3      9: put 0 7
//! coordinates  1 4 8 3 0 7
//! ```

use std::ops::Range;

use super::edit::Editor;
use super::insert::Put;
use super::locate::Located;
use super::payload::Payload;
use super::remove::Removed;
use super::renew::Renewal;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::moved::fetch;
use crate::nodes::View;
use crate::storage::LevelStorage;

/// Changes of a level.
pub(crate) struct Changes<'a> {
    /// The parent position of each.
    pub parents: &'a [u64],
    /// The coordinate of each.
    pub coordinates: &'a [u32],
    /// The bytes of the values of new elements, one behind the other. If there are none, elements are removed.
    pub values: Option<&'a [u8]>,
}

impl Changes<'_> {
    /// The bytes of a change's value.
    pub fn value(&self, number: usize) -> &[u8] {
        let all = self.values.unwrap_or_default();
        let size = all.len().checked_div(self.coordinates.len()).unwrap_or(0);
        &all[number * size..(number + 1) * size]
    }

    /// The run that begins with a change, of changes before `end`.
    pub fn run(&self, from: usize, end: usize) -> Range<usize> {
        let parent = self.parents[from];
        let len = self.parents[from..end].iter().take_while(|own| **own == parent).count();
        from..from + len
    }
}

/// Told of each change: the position of its coordinate, if it was stored, and the values. Of removals, before they are carried out, and
/// only of those of which something is stored.
pub(crate) type Changed<'a> = dyn FnMut(usize, Option<u32>, &mut Buffer) + 'a;

/// The same, by any of several threads; what comes of it is kept in a list.
pub(crate) type Noted<'a, R> = dyn Fn(usize, Option<u32>, &mut Buffer) -> Option<R> + Sync + 'a;

/// Carries out changes of an innermost level, on several threads if they are many; false if the schema has no way for one of them. The notes
/// are of the changes that were carried out.
///
/// # Errors
/// Handles or positions are too many, or memory is refused; what `note` was not told of has not been carried out.
pub(crate) fn change_runs<R: Send>(
    level: &mut LevelStorage,
    payload: Payload<'_>,
    changes: &Changes<'_>,
    note: &Noted<'_, R>,
    notes: &mut Vec<R>,
) -> Result<bool, StorageError> {
    let changed = super::edit(level, 0, payload, |editor| {
        for range in editor.change_at_once(changes, note, notes) {
            let mut each = |number: usize, position: Option<u32>, values: &mut Buffer| {
                notes.extend(note(number, position, values));
            };
            let end = range.end;
            let (done, outcome) = editor.change(changes, range, &mut each);
            outcome?;
            if done < end {
                return Ok(false);
            }
        }
        Ok(true)
    });
    changed.unwrap_or(Ok(false))
}

/// Stores coordinates of a level that has others below, and gives their positions, and which of them are new; for the first changes, as
/// many as could be.
///
/// # Errors
/// Handles or positions are too many, or memory is refused; some may have been stored then.
pub(crate) fn place_runs(
    level: &mut LevelStorage,
    payload: Payload<'_>,
    changes: &Changes<'_>,
) -> Result<(Vec<u64>, Vec<bool>), StorageError> {
    let (mut positions, mut new) = (Vec::new(), Vec::new());
    let placed = super::edit(level, 0, payload, |editor| -> Result<(), StorageError> {
        while positions.len() < changes.parents.len() {
            let run = changes.run(positions.len(), changes.parents.len());
            let Ok(parent) = u32::try_from(changes.parents[run.start]) else { break };
            editor.fetch_ahead(changes.parents, run.start);
            editor.parent = parent;
            let coordinates = &changes.coordinates[run.clone()];
            let (start, mut stored) = (positions.len(), 0);
            editor.find_all(coordinates, &mut positions);
            for (place, coordinate) in (start..).zip(coordinates) {
                let is_missing = positions[place] == NOWHERE;
                let is_repeated = place > start && changes.coordinates[place - 1] == *coordinate;
                new.push(is_missing && !is_repeated);
                if is_missing && !is_repeated {
                    if editor.insert(*coordinate)? == Put::Nowhere {
                        positions.truncate(start);
                        new.truncate(start);
                        return Ok(());
                    }
                    stored += 1;
                }
            }
            // Elements may have moved.
            if stored > 0 {
                positions.truncate(start);
                editor.find_all(coordinates, &mut positions);
            }
        }
        Ok(())
    });
    placed.unwrap_or(Ok(()))?;
    Ok((positions, new))
}

/// The position of a coordinate that is not stored.
const NOWHERE: u64 = u64::MAX;

impl Editor<'_> {
    /// Carries out the changes of a range, as far as possible: up to where it has come, and an error if there was one; without one, the schema
    /// has no way for the next change.
    pub fn change(
        &mut self,
        changes: &Changes<'_>,
        range: Range<usize>,
        each: &mut Changed<'_>,
    ) -> (usize, Result<(), StorageError>) {
        if self.kept.renewal.is_none() {
            self.kept.renewal = Renewal::of(self.schema).map(Box::new);
        }
        let mut done = range.start;
        while done < range.end {
            let run = changes.run(done, range.end);
            let Ok(parent) = u32::try_from(changes.parents[done]) else { return (done, Ok(())) };
            self.fetch_ahead(&changes.parents[..range.end], done);
            self.parent = parent;
            let renewed = if run.len() > 1 { self.renew(changes, run.clone(), each) } else { Ok(false) };
            match renewed {
                Ok(true) => done = run.end,
                Ok(false) => {}
                Err(error) => return (done, Err(error)),
            }
            while done < run.end {
                let carried_out = match changes.values {
                    Some(_) => self.put_one(changes, done, each),
                    None => self.remove_one(changes.coordinates[done], done, each),
                };
                match carried_out {
                    Ok(true) => done += 1,
                    Ok(false) => return (done, Ok(())),
                    Err(error) => return (done, Err(error)),
                }
            }
        }
        (done, Ok(()))
    }

    /// The positions of coordinates that ascend, of which neighbors may be the same.
    fn find_all(&self, coordinates: &[u32], positions: &mut Vec<u64>) {
        let (view, searches) = (self.view(), &self.kept.searches);
        let mut last = None;
        for &coordinate in coordinates {
            let position = match last {
                Some((before, position)) if before == coordinate => position,
                _ => view.find(searches, self.parent, coordinate).map_or(NOWHERE, u64::from),
            };
            last = Some((coordinate, position));
            positions.push(position);
        }
    }

    /// Puts in the element of a change; false if there is no way to.
    fn put_one(&mut self, changes: &Changes<'_>, number: usize, each: &mut Changed<'_>) -> Result<bool, StorageError> {
        self.payload.set_fresh(changes.value(number));
        let before = match self.insert(changes.coordinates[number])? {
            Put::Before(position) => Some(position as u32),
            Put::Now(_) => None,
            Put::Nowhere => return Ok(false),
        };
        each(number, before, self.payload.buffer_mut());
        Ok(true)
    }

    /// Removes a coordinate, if it is stored; false if there is no way to.
    fn remove_one(&mut self, coordinate: u32, number: usize, each: &mut Changed<'_>) -> Result<bool, StorageError> {
        let Located::Found { at, position } = self.locate(coordinate) else { return Ok(true) };
        each(number, Some(position), self.payload.buffer_mut());
        Ok(self.remove_at(at)? != Removed::Stuck)
    }

    /// Asks for the nodes of the runs that come next.
    fn fetch_ahead(&self, parents: &[u64], from: usize) {
        let View { root: roots, node: words, .. } = self.view();
        // Of several types, the first stands for all.
        let types = self.schema.types(self.schema.entry());
        let root_slot = types.first().and_then(|ty| self.schema.nodes()[*ty].layout.slot);
        let root = |ahead: usize| parents.get(from + ahead).map(|parent| *parent as usize);
        if let Some(root) = root(FAR) {
            fetch(roots.address(root));
        }
        let node = |ahead: usize| Some((roots.get(root(ahead)?)? & !(self.schema.align() - 1)) as usize);
        if let Some(base) = node(NEAR) {
            // In a row that was laid out at once, what the root has before it and behind it is around it.
            let lines = [base, base.wrapping_sub(LINE), base + LINE];
            lines.into_iter().for_each(|word| fetch(words.address(word)));
        }
        if let Some(base) = node(NEXT) {
            let slot = root_slot.and_then(|word| words.get(base + word as usize)).unwrap_or_default();
            self.payload.fetch(u64::from(slot));
        }
    }
}

/// How many changes ahead handles of root nodes are asked for, the nodes, and their values.
const FAR: usize = 16;
const NEAR: usize = 8;
const NEXT: usize = 4;
/// The words of a line of the cache.
const LINE: usize = 16;
