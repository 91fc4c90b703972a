//! The choice of the legs that lead from the stored entries to a format: pure functions of facts.
//!
//! A tensor of plain levels without a map goes to any other by one sort, and into most formats with maps straight.
//! Other tensors are brought there first: lists are packed by rows, rows are taken out of slots, levels of other kinds
//! become compressed ones, and the coordinates of two maps are related by the tensor's own.
//!
//! ```text
//! [Decision::reach]        packed formats and the fill value, then
//! [Decision::convert]      ranks, then
//! [Decision::unranked]     slots and other levels than plain ones, then
//! [Decision::leave_plain]  maps and levels of the target, by way of
//! [Decision::reach_plain]  plain levels
//! ```
//!
//! On exit the facts are those of the wanted format.

use lacunar_formats::{Format, Map, Packing, Ranked};

use super::{Facts, Leg, Sorting, Stored};
use crate::error::StorageError;
use crate::fits::{by_rows, has_slots, level_sizes, plain_format, positions, widen};
use crate::insert;
use crate::keys::Layout;
use crate::placed::{self, Placing};
use crate::reorder::unsorted_levels;
use crate::transpose::{self, Prefix};

/// The legs from facts to a format of the same order, which can store the elements.
///
/// # Errors
/// A size does not fit into 64 bits.
pub fn legs(from: Facts, to: &Format) -> Result<Vec<Leg>, StorageError> {
    let mut decision = Decision { facts: from, legs: Vec::new() };
    decision.reach(to)?;
    Ok(decision.legs)
}

struct Decision {
    /// The facts after the legs.
    facts: Facts,
    legs: Vec<Leg>,
}

impl Decision {
    fn reach(&mut self, goal: &Format) -> Result<(), StorageError> {
        if self.facts.is(goal) {
            return Ok(());
        }
        if let Some(packing) = self.facts.format().and_then(Format::packing) {
            self.unpack(packing)?;
        }
        if goal.packing().is_some() {
            if self.facts.stored == Stored::List {
                self.pack(&plain_format(&self.facts.dims, self.facts.entries));
            }
            self.legs.push(Leg::Keep { format: goal.clone() });
            self.facts.store(goal);
            return Ok(());
        }
        let masked = self.mask(goal)?;
        match self.facts.stored {
            Stored::List => self.pack_any(goal)?,
            Stored::Levels(_) => self.convert(goal)?,
        }
        if masked {
            self.legs.push(Leg::Mask);
        }
        Ok(())
    }

    /// Puts the elements that follow from those of a packed tensor beside them.
    fn unpack(&mut self, packing: Packing) -> Result<(), StorageError> {
        let Some(format) = self.facts.format().map(Format::unpacked) else { return Ok(()) };
        let order = format.order();
        let format = if packing.structure().is_without_redundancy() { format } else { Format::dense(order) };
        if format.is_dense() {
            self.facts.entries = positions(1, &self.facts.dims)?;
        }
        self.legs.push(Leg::Unpack { format: format.clone() });
        self.facts.store(&format);
        Ok(())
    }

    /// Masks values where the fill value would not be told from entries; returns true if it did, so that they have to be masked again.
    fn mask(&mut self, goal: &Format) -> Result<bool, StorageError> {
        if !self.facts.filled || self.facts.dims.is_empty() || self.facts.is(goal) {
            return Ok(false);
        }
        if self.facts.format().is_some() {
            if !self.facts.padded && !goal.is_padded() {
                return Ok(false);
            }
            self.legs.push(Leg::Mask);
            let repeats = self.facts.padded && self.facts.format().is_some_and(has_slots);
            if !repeats {
                return Ok(true);
            }
            // Slots may repeat coordinates, and masked values cannot be added up.
            self.list();
            self.legs.push(Leg::Mask);
        }
        if goal.is_padded() {
            // Repeated coordinates are added up before anything is padded.
            self.pack(&Format::coo(self.facts.dims.len()));
            self.legs.push(Leg::Mask);
        }
        Ok(goal.is_padded())
    }

    /// Leads from levels to a format.
    fn convert(&mut self, goal: &Format) -> Result<(), StorageError> {
        if self.facts.is(goal) {
            return Ok(());
        }
        if let Some(ranked) = self.facts.format().and_then(Format::map).and_then(Map::ranked) {
            self.unrank(ranked)?;
        }
        match goal.map().and_then(Map::ranked) {
            Some(ranked) if !self.facts.is(goal) => self.rank(goal, ranked),
            _ => self.unranked(goal),
        }
    }

    /// Takes rows out of the order of ranks.
    fn unrank(&mut self, ranked: Ranked) -> Result<(), StorageError> {
        self.legs.push(Leg::Unrank);
        if self.take_rows()? {
            return Ok(());
        }
        let stage = by_rows(self.facts.dims.len(), ranked.dimension)?;
        self.plain();
        self.reach_plain(&stage);
        self.legs.push(Leg::Reorder { ranked: false });
        Ok(())
    }

    /// Leads to a format that stores a dimension by ranks.
    fn rank(&mut self, goal: &Format, ranked: Ranked) -> Result<(), StorageError> {
        let stage = by_rows(self.facts.dims.len(), ranked.dimension)?;
        let is_staged = |format: &Format| format.clone().with_widths_of(&stage) == stage;
        if !self.facts.format().is_some_and(is_staged) {
            self.unranked(&stage)?;
        }
        self.legs.push(Leg::Rank { window: ranked.window });
        let of_ranks = goal.of_ranks();
        match placed::in_order(&self.facts, &of_ranks) {
            Some(placing) => {
                self.legs.push(Leg::Place { placing, ranked: true });
                self.facts.store(&of_ranks);
            }
            None => {
                self.legs.push(Leg::Reorder { ranked: true });
                self.unranked(&of_ranks)?;
            }
        }
        self.legs.push(Leg::KeepRanking { format: goal.clone() });
        Ok(())
    }

    /// Leads from levels to a format, none of which stores ranks.
    fn unranked(&mut self, goal: &Format) -> Result<(), StorageError> {
        if self.facts.is(goal) || self.take_rows()? && self.facts.is(goal) {
            return Ok(());
        }
        if !self.facts.format().is_some_and(Format::is_plain) {
            self.plain();
        }
        if self.facts.is(goal) { Ok(()) } else { self.leave_plain(goal) }
    }

    /// Takes rows out of slots, if rows are stored so; returns true if they are.
    fn take_rows(&mut self) -> Result<bool, StorageError> {
        let Some(placing) = placed::slots(&self.facts) else { return Ok(false) };
        let stage = placing.stage()?;
        self.legs.push(Leg::Rows { placing });
        self.facts.store(&stage);
        Ok(true)
    }

    /// Makes all levels plain. Padding stays.
    fn plain(&mut self) {
        let Some(format) = self.facts.format() else { return };
        let (plain, padded) = (format.plain(), self.facts.padded);
        self.legs.push(Leg::Plain { format: widen(&plain, &self.facts.dims, self.facts.entries) });
        self.facts.store(&plain);
        self.facts.padded = padded;
    }

    /// Leads from plain levels to a format that stores no ranks.
    fn leave_plain(&mut self, goal: &Format) -> Result<(), StorageError> {
        if goal.map().is_none() && goal.is_plain() {
            self.reach_plain(goal);
            return Ok(());
        }
        if self.facts.format().and_then(Format::map).is_some() {
            // The coordinates of two maps are related by the tensor's own coordinates only.
            self.reach_plain(&plain_format(&self.facts.dims, self.facts.entries));
        }
        if self.place(goal)? {
            return Ok(());
        }
        match goal.map() {
            Some(map) => self.store_mapped(goal, map)?,
            None => {
                self.reach_plain(&goal.plain());
                self.spread(goal);
            }
        }
        Ok(())
    }

    /// Puts entries straight to their places, if these can be computed; returns true if they can.
    fn place(&mut self, goal: &Format) -> Result<bool, StorageError> {
        let made = placed::placed_format(goal);
        let Some(placing) = Placing::new(&self.facts, &made) else { return Ok(false) };
        if !placing.takes(&self.facts) {
            let stage = placing.stage()?;
            self.reach_plain(&stage);
        }
        self.legs.push(Leg::Place { placing, ranked: false });
        self.facts.store(&made);
        if made != *goal {
            self.spread(goal);
        }
        Ok(true)
    }

    fn spread(&mut self, goal: &Format) {
        self.legs.push(Leg::Spread { format: goal.clone() });
        self.facts.store(goal);
    }

    /// Leads from plain levels without a map to a format with one, by sorting.
    fn store_mapped(&mut self, goal: &Format, map: &Map) -> Result<(), StorageError> {
        let (dims, drop) = (self.facts.dims.clone(), self.facts.padded);
        let stored = map.stored_dims(&dims).unwrap_or_default();
        let sizes = stored.iter().copied().collect::<Option<Vec<u64>>>().filter(|sizes| !sizes.is_empty());
        match sizes.filter(|sizes| Layout::new(sizes).bits() <= u128::BITS) {
            // Other levels than those of the format may keep coordinates that it does not.
            Some(sizes) => self.legs.push(Leg::SortStored { format: goal.clone(), sizes, drop }),
            None => {
                self.list();
                if let Some((_, counted)) = map.ordinal() {
                    // Slots are counted in the order of the other coordinates.
                    let modes = std::iter::once(counted).chain((0..dims.len()).filter(|d| *d != counted)).collect();
                    let overflow = |_| StorageError::overflow("the number of dimensions");
                    self.pack(&Format::csf(dims.len()).with_mode_order(modes).map_err(overflow)?);
                    self.list();
                }
                self.legs.push(Leg::StoreList { format: goal.clone() });
                // There are no more slots than entries.
                self.facts.dims = stored.into_iter().map(|size| size.unwrap_or(self.facts.entries)).collect();
                self.facts.list();
                self.pack(&goal.stored().plain());
            }
        }
        self.legs.push(Leg::Restore { dims: dims.clone(), format: goal.clone() });
        self.facts.dims = dims;
        self.facts.store(goal);
        Ok(())
    }

    /// Lists the entries, without padding.
    fn list(&mut self) {
        self.legs.push(Leg::List { drop: self.facts.padded });
        self.facts.list();
    }

    /// Leads from plain levels to others that are plain and have no map.
    fn reach_plain(&mut self, goal: &Format) {
        if self.facts.is(goal) {
            return;
        }
        let Some(source) = self.facts.format().cloned() else { return };
        let drop = self.facts.padded;
        if drop && has_slots(&source) {
            // Padding of slots, if it is not zero, has the coordinate of others, and is added to them.
            self.list();
            self.pack(goal);
            return;
        }
        if drop && source.map().is_some() {
            self.legs.push(Leg::Clear);
        }
        let format = widen(goal, &self.facts.dims, self.facts.entries);
        let bits = Layout::new(&level_sizes(&self.facts.dims, &format)).bits();
        let unsorted = unsorted_levels(&source, &format);
        if format.is_dense() {
            self.legs.push(Leg::Dense { format: goal.clone(), drop });
        } else if let Some(levels) = self.counted(&source, &format, unsorted) {
            self.legs.push(Leg::Count { format: goal.clone(), levels, drop });
        } else if unsorted == 0 && !drop && source.map().is_none() {
            self.legs.push(Leg::Columns { format: goal.clone() });
        } else if bits <= u128::BITS {
            self.legs.push(Leg::Sort { format: goal.clone(), drop });
        } else {
            self.list();
            self.pack(goal);
            return;
        }
        self.facts.store(goal);
    }

    /// The number of outermost levels of a format to sort by counting, if that pays.
    fn counted(&self, source: &Format, format: &Format, unsorted: usize) -> Option<usize> {
        if unsorted == 0 && !self.facts.padded {
            return None;
        }
        // Entries in order need no bins, but levels are made of bins at little cost.
        let levels = unsorted.max(1).min(format.order() - 1);
        // Only where one level is left below are bins sorted.
        let in_order = levels >= unsorted && (!has_slots(source) || transpose::ends_compressed(format));
        let bits = Layout::new(&level_sizes(&self.facts.dims, format)).bits();
        let fits = transpose::is_straight(format, levels) || bits <= u128::BITS;
        let prefix = Prefix::new(&self.facts.dims, format, levels).filter(|_| in_order && fits)?;
        prefix.pays(format, self.facts.entries, self.facts.bytes).then_some(levels)
    }

    /// Leads from a list to any format.
    fn pack_any(&mut self, goal: &Format) -> Result<(), StorageError> {
        if goal.map().is_some() {
            self.pack(&plain_format(&self.facts.dims, self.facts.entries));
            return self.convert(goal);
        }
        if goal.is_plain() {
            self.pack(goal);
        } else if insert::inserter(goal).is_some() {
            self.legs.push(Leg::Insert { format: goal.clone() });
            self.facts.store(goal);
        } else {
            self.pack(&goal.plain());
            self.spread(goal);
        }
        Ok(())
    }

    /// Leads from a list to plain levels without a map.
    fn pack(&mut self, goal: &Format) {
        let (dims, entries) = (&self.facts.dims, self.facts.entries);
        let format = widen(goal, dims, entries);
        if format.is_dense() {
            self.legs.push(Leg::PackDense { format: goal.clone() });
        } else {
            let outer = format.order().checked_sub(1).filter(|levels| *levels > 0);
            let pays = |levels: &usize| {
                let prefix = Prefix::new(dims, &format, *levels);
                prefix.is_some_and(|prefix| prefix.pays(&format, entries, self.facts.bytes))
            };
            let counted = outer.filter(|_| transpose::ends_compressed(&format)).filter(pays);
            let sorting = match (counted, Layout::new(&level_sizes(dims, &format)).bits()) {
                (Some(levels), _) => Sorting::Count { levels },
                (None, bits @ 0..=128) => Sorting::Keys { bits },
                (None, _) => Sorting::Columns,
            };
            self.legs.push(Leg::Pack { format: goal.clone(), sorting });
        }
        self.facts.store(goal);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::{DType, FormatSpec};

    use super::*;

    /// A tensor of about a tenth of its places.
    fn facts(stored: &str, dims: &[u64], filled: bool) -> Facts {
        let entries = dims.iter().product::<u64>() / 10;
        let (dims, dtype) = (dims.to_vec(), DType::F64);
        let list = Facts { dims, dtype, stored: Stored::List, entries, bytes: 16 * entries, filled, padded: false };
        match stored {
            "list" => list,
            format => {
                let format = format.parse::<FormatSpec>().unwrap().resolve(list.dims.len()).unwrap();
                let mut facts = list;
                facts.store(&format);
                facts
            }
        }
    }

    fn names(from: Facts, to: &str) -> String {
        let to = to.parse::<FormatSpec>().unwrap().resolve(from.dims.len()).unwrap();
        legs(from, &to).unwrap().iter().map(Leg::name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ways_between_formats_of_a_matrix() {
        let table = [
            ("csr", "csr", ""),
            ("csr", "csc", "count"),
            ("csr", "coo", "columns"),
            ("csr", "dense", "dense"),
            ("dense", "csr", "count"),
            ("csr", "bcsr(4,4)", "place"),
            ("csc", "bcsr(4,4)", "count place"),
            ("bcsr(4,4)", "csr", "clear count"),
            ("bcsr(4,4)", "dia", "clear count place"),
            ("csr", "sell(8)", "place"),
            ("sell(8)", "csr", "rows"),
            ("sell(8)", "csc", "rows count"),
            ("csr", "sell(8,64)", "rank place keep"),
            ("sell(8,64)", "csr", "unrank rows"),
            ("sell(8,64)", "sell(4,64)", "unrank rows rank place keep"),
            ("csr", "dh", "spread"),
            ("dh", "csc", "plain count"),
            ("csr", "hicoo(4)", "sort restore"),
            ("list", "csr", "pack"),
            ("list", "dense", "pack"),
            ("list", "dh", "insert"),
            ("list", "bcsr(4,4)", "pack place"),
        ];
        for (from, to, expected) in table {
            assert_eq!(names(facts(from, &[400, 300], false), to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn ways_between_formats_of_a_tensor() {
        let (small, large) = (&[400, 300, 500], &[4000, 3000, 5000]);
        let table = [
            ("csf", "csf:1,0,2", small, "count"),
            ("csf", "csf:2,1,0", small, "count"),
            ("csf", "csf:2,1,0", large, "sort"),
            ("csf", "coo", large, "columns"),
        ];
        for (from, to, dims, expected) in table {
            assert_eq!(names(facts(from, dims, false), to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn another_fill_value_is_masked_where_levels_are_filled_up() {
        let table = [
            ("csr", "csc", "count"),
            ("csr", "dense", "mask dense mask"),
            ("dense", "csr", "mask count mask"),
            ("list", "csr", "pack"),
            ("list", "dense", "pack mask dense mask"),
        ];
        for (from, to, expected) in table {
            assert_eq!(names(facts(from, &[400, 300], true), to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn coordinates_that_fit_no_key_are_sorted_by_columns() {
        let huge = facts("list", &[1 << 20, 1 << 20, 1 << 20], false);
        let huge = Facts { dims: vec![1 << 62; 3], ..huge };
        assert_eq!(names(Facts { entries: 9, bytes: 288, ..huge.clone() }, "csf"), "pack");
        let mut stored = Facts { entries: 9, ..huge };
        stored.store(&Format::csf(3));
        assert_eq!(names(stored, "csf:2,1,0"), "list pack");
    }
}
