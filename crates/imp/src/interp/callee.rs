//! The runtime's functions, as plainly as they can be written, with their demands checked.
//!
//! `sort_combine(3, v, k)` on `k = [7, 2, 7]`, `v = [1, 10, 100]` gives 2 and leaves `k = [2, 7]`, `v = [10, 101]`.

use std::ops::Range;

use lacunar_formats::DType;

use super::access::Use;
use super::{Fault, Machine, Stop};
use crate::arith;
use crate::ir::{Arg, ArrayId, BinaryOp, Callee, Const};
use crate::memory::ArrayData;

impl Machine<'_> {
    /// Calls a function of the runtime with the arguments that it takes; gives its result, or 0 if it has none.
    pub(super) fn call(&mut self, callee: Callee, args: &[Arg]) -> Result<i64, Stop> {
        match (callee, args) {
            (Callee::LowerBound, &[Arg::Array(array), Arg::Scalar(begin), Arg::Scalar(end), Arg::Scalar(key)]) => {
                self.lower_bound(array, self.index(begin), self.index(end), self.index(key))
            }
            (Callee::SortMarked, &[Arg::Array(list), Arg::Scalar(n), Arg::Array(marks), Arg::Scalar(size)]) => {
                self.sort_marked(list, self.index(n), marks, self.index(size))
            }
            (Callee::SortCombine, &[Arg::Scalar(n), Arg::Array(values), ref keys @ ..]) => {
                let keys: Vec<ArrayId> = keys
                    .iter()
                    .filter_map(|&key| match key {
                        Arg::Array(key) => Some(key),
                        Arg::Scalar(_) => None,
                    })
                    .collect();
                self.sort_combine(self.index(n), values, &keys)
            }
            (Callee::Unpack, &[Arg::Array(list), Arg::Scalar(at), Arg::Scalar(word), Arg::Scalar(base)]) => {
                let word = self.eval(word).bits;
                self.unpack(list, self.index(at), word, self.index(base))
            }
            (Callee::Marks, &[Arg::Array(array), Arg::Scalar(at)]) => self.marks(array, self.index(at)),
            (Callee::Take, &[Arg::Array(array)]) => self.take(array),
            // Whatever it gives is right, so that this is no use of the element that others could meet.
            (Callee::Raised, &[Arg::Array(array)]) => Ok(self.get(array, 0)?.bits as i64),
            (Callee::Length, &[Arg::Array(array)]) => Ok(self.buffers[array.index()].data.len() as i64),
            _ => Err(Fault::Precondition(format!("{} takes other arguments", callee.name())).into()),
        }
    }

    /// Binary search; each element looked at must lie between those on either side that were looked at before.
    fn lower_bound(&mut self, array: ArrayId, begin: i64, end: i64, key: i64) -> Result<i64, Stop> {
        self.demand(begin <= end, || format!("lower_bound from {begin} to {end}"))?;
        let (mut low, mut high) = (begin, end);
        let (mut least, mut greatest) = (0, u64::MAX);
        while low < high {
            self.step(1)?;
            let middle = low + (high - low) / 2;
            let value = self.read(array, middle)?.bits;
            self.demand(least <= value && value <= greatest, || "lower_bound in an array that does not ascend".into())?;
            if key < 0 || value >= key as u64 {
                (high, greatest) = (middle, value);
            } else {
                (low, least) = (middle + 1, value);
            }
        }
        Ok(low)
    }

    fn sort_marked(&mut self, list: ArrayId, n: i64, marks: ArrayId, size: i64) -> Result<i64, Stop> {
        let n = self.length("sort_marked", n, list)?;
        let size = self.length("sort_marked", size, marks)?;
        self.step(n as u64)?;
        let mut coordinates = self.read_indices(list, n)?;
        coordinates.sort_unstable();
        self.demand(coordinates.windows(2).all(|pair| pair[0] != pair[1]), || {
            "sort_marked of coordinates that are not distinct".into()
        })?;
        self.note_all(marks, 0..size, Use::Load)?;
        let buffer = &self.buffers[marks.index()];
        let all_defined = buffer.all_defined(size);
        let marked =
            |k: &i64| usize::try_from(*k).is_ok_and(|k| k < size && buffer.data.get(k) == Some(Const::bool(true)));
        let all_marked = coordinates.iter().all(marked);
        let count = match &buffer.data {
            ArrayData::Bool(marks) => marks[..size].iter().filter(|&&mark| mark).count(),
            _ => 0,
        };
        self.demand(all_defined && all_marked && count == n, || {
            format!("sort_marked of {n} coordinates that are not the {count} marked ones")
        })?;
        for (k, &coordinate) in coordinates.iter().enumerate() {
            self.write(list, k as i64, Const::int(DType::I64, coordinate))?;
        }
        Ok(0)
    }

    /// Entries of equal keys are added up in their order.
    fn sort_combine(&mut self, n: i64, values: ArrayId, keys: &[ArrayId]) -> Result<i64, Stop> {
        let n = self.length("sort_combine", n, values)?;
        self.step(n as u64)?;
        let mut columns = Vec::with_capacity(keys.len());
        for &key in keys {
            self.length("sort_combine", n as i64, key)?;
            columns.push(self.read_indices(key, n)?);
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&entry| columns.iter().map(|column| column[entry]).collect::<Vec<i64>>());
        let mut combined: Vec<(usize, Const)> = Vec::with_capacity(n);
        for entry in order {
            let value = self.read(values, entry as i64)?;
            match combined.last_mut() {
                Some((first, sum)) if columns.iter().all(|column| column[*first] == column[entry]) => {
                    *sum = arith::binary(BinaryOp::Add, *sum, value);
                }
                _ => combined.push((entry, value)),
            }
        }
        for (place, &(entry, value)) in combined.iter().enumerate() {
            self.write(values, place as i64, value)?;
            for (&key, column) in keys.iter().zip(&columns) {
                self.write(key, place as i64, Const::int(DType::I64, column[entry]))?;
            }
        }
        // The elements behind the entries that are left are undefined.
        for place in combined.len()..n {
            keys.iter().chain([&values]).for_each(|array| self.buffers[array.index()].forget(place));
        }
        for &array in keys.iter().chain([&values]) {
            self.note_all(array, combined.len()..n, Use::Store)?;
        }
        Ok(combined.len() as i64)
    }

    fn unpack(&mut self, list: ArrayId, at: i64, word: u64, base: i64) -> Result<i64, Stop> {
        let bits = i64::from(u64::BITS);
        self.demand(0 <= base && base + bits <= 1 << u16::BITS, || format!("unpack behind {base}"))?;
        let end = self.length("unpack", at.saturating_add(bits), list)?;
        self.demand(at >= 0, || format!("unpack at {at}"))?;
        self.step(1)?;
        let ones = (0..bits).filter(|bit| word >> bit & 1 == 1);
        let mut next = at;
        for bit in ones {
            self.write(list, next, Const::int(DType::U16, base + bit))?;
            next += 1;
        }
        // The callee may write whole vectors, so that the places behind its numbers are undefined.
        let rest = next as usize..end;
        rest.clone().for_each(|place| self.buffers[list.index()].forget(place));
        self.note_all(list, rest, Use::Store)?;
        Ok(next - at)
    }

    fn marks(&mut self, array: ArrayId, at: i64) -> Result<i64, Stop> {
        self.step(1)?;
        let mut bits = 0;
        for bit in 0..i64::from(u64::BITS) {
            bits |= (self.read(array, at.saturating_add(bit))?.bits & 1) << bit;
        }
        Ok(bits as i64)
    }

    /// Notes the use of some elements.
    fn note_all(&mut self, array: ArrayId, mut elements: Range<usize>, what: Use) -> Result<(), Stop> {
        elements.try_for_each(|index| self.note(array, index, what))
    }

    fn read_indices(&mut self, array: ArrayId, n: usize) -> Result<Vec<i64>, Stop> {
        (0..n as i64).map(|k| Ok(self.read(array, k)?.bits as i64)).collect()
    }

    /// A number of elements that an array has.
    pub(super) fn length(&self, callee: &str, n: i64, array: ArrayId) -> Result<usize, Stop> {
        let len = self.buffers[array.index()].data.len();
        usize::try_from(n).ok().filter(|&n| n <= len).ok_or_else(|| {
            Fault::Precondition(format!("{callee} of {n} elements of `{}`, which has {len}", self.name(array))).into()
        })
    }

    pub(super) fn demand(&self, holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Stop> {
        if holds { Ok(()) } else { Err(Fault::Precondition(otherwise()).into()) }
    }
}
