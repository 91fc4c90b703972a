//! Lists of parts: iterations deposit their arrays, the function collects them.
//!
//! After `deposit p[1] = a[.. 2]` and `deposit p[0] = b[.. 1]`, `collect w[0 ..] = p` writes `b[0]`, `a[0]`, `a[1]` and
//! gives 3.

use lacunar_formats::Kind;

use super::buffer::Buffer;
use super::{Fault, Machine, Stop};
use crate::arith;
use crate::ir::{ArrayId, BinaryOp, Const, Status};
use crate::memory::ArrayData;

/// The array that has been deposited under each number.
pub(super) type Parts = Vec<Option<Buffer>>;

impl Machine<'_> {
    /// Makes a list of `len` empty parts.
    pub(super) fn alloc_parts(&mut self, list: ArrayId, len: i64) -> Result<(), Stop> {
        let len = usize::try_from(len).map_err(|_| Status::SizeOverflow)?;
        if len.saturating_mul(size_of::<Option<Buffer>>()) > self.limits.array_bytes {
            return Err(Status::OutOfMemory.into());
        }
        self.step(len as u64)?;
        self.parts[list.index()] = (0..len).map(|_| None).collect();
        Ok(())
    }

    pub(super) fn deposit(&mut self, list: ArrayId, slot: i64, array: ArrayId, len: i64) -> Result<(), Stop> {
        let len = self.length("deposit", len, array)?;
        let parts = &self.parts[list.index()];
        let place = usize::try_from(slot).unwrap_or(usize::MAX);
        let Some(part) = parts.get(place) else {
            return Err(Fault::OutOfBounds { array: self.name(list), index: slot, len: parts.len() }.into());
        };
        self.demand(part.is_none(), || format!("part {slot} of `{}` is deposited twice", self.name(list)))?;
        let empty = Buffer::new(ArrayData::empty(self.function.arrays[array].elem));
        let mut part = std::mem::replace(&mut self.buffers[array.index()], empty);
        part.truncate(len);
        self.parts[list.index()][place] = Some(part);
        Ok(())
    }

    /// Appends the parts of a list from `at` on; gives the end.
    pub(super) fn collect(
        &mut self,
        array: ArrayId,
        at: i64,
        list: ArrayId,
        bias: Option<ArrayId>,
    ) -> Result<i64, Stop> {
        self.length("collect", at, array)?;
        let parts = std::mem::take(&mut self.parts[list.index()]);
        let before = match bias {
            Some(other) => self.lengths_before(other, parts.len())?,
            None => vec![0; parts.len()],
        };
        let total = parts.iter().flatten().try_fold(at, |sum, part| sum.checked_add(part.data.len() as i64));
        let total = total.ok_or(Status::SizeOverflow)?;
        self.enlarge(array, total, 1, false)?;
        let mut end = at;
        for (part, shift) in parts.iter().zip(before) {
            let Some(part) = part else { continue };
            for k in 0..part.data.len() {
                self.step(1)?;
                if let (true, Some(value)) = (part.is_defined(k), part.data.get(k)) {
                    let value = if bias.is_some() { shifted(value, shift)? } else { value };
                    self.write(array, end, value)?;
                } else {
                    self.forget(array, end);
                }
                end += 1;
            }
        }
        Ok(end)
    }

    /// For each of `count` parts of a list the number of elements in the parts before it.
    fn lengths_before(&self, list: ArrayId, count: usize) -> Result<Vec<i64>, Stop> {
        let parts = &self.parts[list.index()];
        self.demand(parts.len() == count, || {
            format!("collect {count} parts with the lengths of {} in `{}`", parts.len(), self.name(list))
        })?;
        let mut sum = 0;
        Ok(parts
            .iter()
            .map(|part| {
                let before = sum;
                sum += part.as_ref().map_or(0, |part| part.data.len() as i64);
                before
            })
            .collect())
    }

    fn forget(&mut self, array: ArrayId, index: i64) {
        self.buffers[array.index()].forget(index as usize);
    }
}

/// An integer plus a number of elements, if its type has room for that.
fn shifted(value: Const, shift: i64) -> Result<Const, Stop> {
    let sum = arith::binary(BinaryOp::Add, value, arith::wrap(value.ty, shift as u64));
    let exact = |c: Const| match c.ty.kind() {
        Kind::Signed => i128::from(c.bits as i64),
        _ => i128::from(c.bits),
    };
    if exact(sum) == exact(value) + i128::from(shift) { Ok(sum) } else { Err(Status::SizeOverflow.into()) }
}
