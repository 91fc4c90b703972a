//! Many changes of a level, row after row.
//!
//! Changes are sorted by parent position and coordinate, and each coordinate occurs once under its parent position. A *run* is the
//! changes under one parent position. A run that is a considerable part of the elements there is merged with them at once
//! (`renew.rs`); in other runs, each change is carried out at its place. The nodes that come next are asked for on the way, as most
//! of the time would go by waiting for them.
//!
//! ```text
//! parents      2 2 2 5 9 9        runs     2: put 1 4 8      5: put 3      9: put 0 7
//! coordinates  1 4 8 3 0 7
//! ```

use super::edit::Editor;
use super::insert::Put;
use super::locate::Located;
use super::payload::Payload;
use super::remove::Removed;
use super::renew::Renewal;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::moved::fetch;
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

    /// The run that begins with a change.
    fn run(&self, from: usize) -> std::ops::Range<usize> {
        let parent = self.parents[from];
        let len = self.parents[from..].iter().take_while(|own| **own == parent).count();
        from..from + len
    }
}

/// Told of each change: the position of its coordinate, if it was stored, and the values. For removals it is called before they are
/// carried out, and only for those whose coordinates are stored.
pub(crate) type Changed<'a> = dyn FnMut(usize, Option<u32>, &mut Buffer) + 'a;

/// Carries out changes of an innermost level; how many were. The others were not, as the schema has no way for the first of them.
///
/// # Errors
/// Handles or positions are too many, or memory is refused; what `each` was not told of has not been carried out.
pub(crate) fn change_runs(
    level: &mut LevelStorage,
    payload: Payload<'_>,
    changes: &Changes<'_>,
    each: &mut Changed<'_>,
) -> Result<usize, StorageError> {
    super::edit(level, 0, payload, |editor| {
        if editor.kept.renewal.is_none() {
            editor.kept.renewal = Renewal::of(editor.schema).map(Box::new);
        }
        let mut done = 0;
        while done < changes.parents.len() {
            let run = changes.run(done);
            done = run.end;
            let Ok(parent) = u32::try_from(changes.parents[run.start]) else { return Ok(run.start) };
            editor.fetch_ahead(changes.parents, run.clone());
            editor.parent = parent;
            if (run.len() > 1) && editor.renew(changes, run.clone(), each)? {
                continue;
            }
            for number in run {
                let carried_out = match changes.values {
                    Some(_) => editor.put_one(changes, number, each)?,
                    None => editor.remove_one(changes.coordinates[number], number, each)?,
                };
                if !carried_out {
                    return Ok(number);
                }
            }
        }
        Ok(done)
    })
    .unwrap_or(Ok(0))
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
            let run = changes.run(positions.len());
            let Ok(parent) = u32::try_from(changes.parents[run.start]) else { break };
            editor.fetch_ahead(changes.parents, run.clone());
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
    fn fetch_ahead(&self, parents: &[u64], run: std::ops::Range<usize>) {
        let (roots, words) = (self.root.as_slice::<u32>(), self.node.as_slice::<u32>());
        let (Some(roots), Some(words)) = (roots, words) else { return };
        // The first of several types stands for all.
        let types = self.schema.types(self.schema.entry());
        let root_slot = types.first().and_then(|ty| self.schema.nodes()[*ty].layout.slot);
        let root = |ahead: usize| parents.get(run.start + ahead).and_then(|parent| roots.get(*parent as usize));
        if let Some(root) = root(FAR) {
            fetch(std::ptr::from_ref(root));
        }
        let node = |ahead: usize| root(ahead).map(|handle| (*handle & !(self.schema.align() - 1)) as usize);
        if let Some(base) = node(NEAR) {
            // In a row that was laid out at once, the nodes before and behind the root lie around it.
            let lines = [base, base.wrapping_sub(LINE), base + LINE];
            lines.into_iter().for_each(|word| fetch(words.as_ptr().wrapping_add(word)));
        }
        if let Some(base) = node(NEXT) {
            let slot = root_slot.and_then(|word| words.get(base + word as usize)).copied().unwrap_or_default();
            self.payload.fetch(u64::from(slot));
        }
    }
}

/// The number of changes ahead at which handles of root nodes are asked for; the nodes; and their values.
const FAR: usize = 16;
const NEAR: usize = 8;
const NEXT: usize = 4;
/// The words of a line of the cache.
const LINE: usize = 16;
