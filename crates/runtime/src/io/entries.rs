//! Lines of entries, parsed in parallel: the body of coordinate files, tensor files and arrays.
//!
//! An entry is a line of one index per dimension and a value. Each block of text is cut at line borders into parts. All
//! threads parse the parts, each into a small buffer that stays in its core's cache. Then the buffers are copied, again
//! by all threads, to their places in the result. So the order of the file is kept, and memory beyond the result is a
//! few blocks.
//!
//! ```text
//! block:  |1 1 1.5\n 2 2 -2\n | 3 3 3.25\n 1 4 4\n|
//! parts:   indices 0 0 1 1      indices 2 2 0 3
//!          values  1.5 -2       values  3.25 4
//! result:  rows 0 1 2 0    columns 0 1 2 3    values 1.5 -2 3.25 4
//! ```
//!
//! Array files are the same with no index, and with any number of values in a line.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::mem::MaybeUninit;

use num_complex::Complex;

use super::Symmetry;
use super::error::IoError;
use super::mirror::{Mirror, expected_on_diagonal};
use super::scan::{Cursor, Fault};
use super::text::Text;
use crate::alloc::make_room;
use crate::coo::Coordinates;
use crate::parallel;
use crate::values::Element;

/// The text that one task parses at a time.
const PART_BYTES: usize = 256 << 10;

/// A kind of value, by its text.
pub(super) trait Field: Sync {
    /// The type that a value becomes.
    type Value: Mirror;
    /// The form of a value, for errors.
    const EXPECTED: &'static str;
    /// Reads a value after blanks; `None` if there is none.
    fn read(&self, cursor: &mut Cursor) -> Option<Self::Value>;
    /// A value as files have it, for errors.
    fn text(&self, value: Self::Value) -> String {
        format!("{value:?}")
    }
}

/// 64-bit reals.
pub(super) struct RealField;

impl Field for RealField {
    type Value = f64;
    const EXPECTED: &'static str = "a real number";
    #[inline]
    fn read(&self, cursor: &mut Cursor) -> Option<f64> {
        cursor.real()
    }
}

macro_rules! integer_fields {
    ($($(#[$doc:meta])* $field:ident: $ty:ty, $read:ident, $expected:literal;)*) => { $(
        $(#[$doc])*
        pub(super) struct $field;

        impl Field for $field {
            type Value = $ty;
            const EXPECTED: &'static str = $expected;
            #[inline]
            fn read(&self, cursor: &mut Cursor) -> Option<$ty> {
                cursor.$read()
            }
        }
    )* };
}
integer_fields! {
    /// 64-bit integers.
    IntegerField: i64, integer, "an integer from -2^63 to 2^63-1";
    /// 64-bit integers from 0.
    UnsignedField: u64, unsigned, "an integer from 0 to 2^64-1";
}

/// Pairs of 64-bit reals.
pub(super) struct ComplexField;

impl Field for ComplexField {
    type Value = Complex<f64>;
    const EXPECTED: &'static str = "a real and an imaginary part";
    #[inline]
    fn read(&self, cursor: &mut Cursor) -> Option<Complex<f64>> {
        cursor.complex()
    }
    fn text(&self, value: Complex<f64>) -> String {
        format!("{} {}", value.re, value.im)
    }
}

/// No value in the file: each entry is the given one.
pub(super) struct PatternField<T>(pub(super) T);

impl<T: Mirror> Field for PatternField<T> {
    type Value = T;
    const EXPECTED: &'static str = "no value";
    #[inline]
    fn read(&self, _: &mut Cursor) -> Option<T> {
        Some(self.0)
    }
}

/// The form of lines of entries.
pub(super) struct Layout {
    /// The size of each dimension, or a bound on it where the true size comes from the entries.
    pub(super) dims: Vec<u64>,
    /// True if `dims` was announced, so that errors may cite it.
    pub(super) dims_known: bool,
    /// The first index of each dimension: 0 or 1.
    pub(super) base: u64,
    /// True if the caller can say another base.
    pub(super) base_is_open: bool,
    /// The bytes that start a comment line.
    pub(super) comments: &'static [u8],
    /// The symmetry, which tells the entries that stand for two.
    pub(super) symmetry: Symmetry,
    /// For an array that holds the lower triangle of a square matrix with its diagonal, by columns: the number of rows.
    pub(super) triangle: Option<u64>,
    /// True if a line may hold any number of entries.
    pub(super) many_per_line: bool,
}

/// The entries of a file, mirror images included.
pub(super) struct Entries<V> {
    /// One array per dimension.
    pub(super) coords: Vec<Coordinates>,
    /// The largest coordinate of each dimension; 0 without entries.
    pub(super) largest: Vec<u64>,
    /// The values.
    pub(super) values: Vec<V>,
    /// The number of entries that the file holds.
    pub(super) stored: u64,
}

/// Reads entries up to the end of the text. If a number of entries was announced, there must be exactly so many.
pub(super) fn read_entries<F: Field>(
    text: &mut Text,
    layout: &Layout,
    field: &F,
    announced: Option<u64>,
) -> Result<Entries<F::Value>, IoError> {
    let order = layout.dims.len();
    // If the sizes are not known, coordinates are narrow until one does not fit.
    let coords_for = |&size: &u64| Coordinates::for_size(if layout.dims_known { size } else { 0 });
    let mut entries = Entries {
        coords: layout.dims.iter().map(coords_for).collect(),
        largest: vec![0; order],
        values: Vec::new(),
        stored: 0,
    };
    reserve(text, &mut entries, layout, announced).map_err(|e| IoError::out_of_memory(text.file(), &e))?;
    let mut parts: Vec<Part<F::Value>> = Vec::new();
    let file = text.file().to_path_buf();
    while let Some(block) = text.next_block()? {
        let pieces = cut(block);
        if parts.len() < pieces.len() {
            parts.resize_with(pieces.len(), Part::default);
        }
        let parts = &mut parts[..pieces.len()];
        parallel::each(parts.iter_mut().zip(&pieces), |_, (part, piece)| part.parse(piece, layout, field));
        if let (Some(line), Some(announced)) =
            (surplus_line(parts, &pieces, layout, field, announced, entries.stored), announced)
        {
            let expected = format!("the end of the file after {announced} entries");
            return Err(text.malformed(text.line() + line, expected, "another entry"));
        }
        let mut lines = 0;
        for (part, piece) in parts.iter().zip(&pieces) {
            let hint = part.fault.as_ref().and_then(|fault| fault.hint);
            let fault = part.fault.as_ref().map(|fault| (fault.line, fault.expected.to_string(), fault.found.clone()));
            if let Some((line, expected, found)) = diagonal_fault(part, piece, layout, field, entries.stored).or(fault)
            {
                return Err(text.malformed(text.line() + lines + line, expected, found).with_hint(hint));
            }
            lines += part.lines;
            entries.stored += part.stored;
        }
        text.count_lines(lines);
        entries.append(parts).map_err(|e| IoError::out_of_memory(&file, &e))?;
    }
    match announced {
        Some(announced) if entries.stored < announced => {
            let expected = format!("{announced} entries as announced, of which {} are there", entries.stored);
            Err(text.ends(expected))
        }
        _ => Ok(entries),
    }
}

/// Sets aside memory for the entries announced, as far as the size of the file makes them believable.
fn reserve<V>(
    text: &Text,
    entries: &mut Entries<V>,
    layout: &Layout,
    announced: Option<u64>,
) -> Result<(), TryReserveError> {
    let Some(announced) = announced else { return Ok(()) };
    // The shortest entry: a digit and a separator per index, or per value of an array.
    let believable = text.believable(2 * layout.dims.len().max(1) as u64);
    let images = if layout.symmetry == Symmetry::General { 1 } else { 2 };
    let count = usize::try_from(announced).unwrap_or(usize::MAX).min(believable).saturating_mul(images);
    make_room(&mut entries.values, count)?;
    for coords in &mut entries.coords {
        match coords {
            Coordinates::U32(coords) => make_room(coords, count)?,
            Coordinates::U64(coords) => make_room(coords, count)?,
        }
    }
    Ok(())
}

/// Cuts a block at line borders into pieces of about [`PART_BYTES`].
fn cut(mut block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !block.is_empty() {
        let end = match block.get(PART_BYTES..) {
            None => block.len(),
            Some(rest) => memchr::memchr(b'\n', rest).map_or(block.len(), |at| PART_BYTES + at + 1),
        };
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    pieces
}

/// The line (counted from 1 in the block) of the first entry past the number announced, if there is one before any
/// fault.
fn surplus_line<F: Field>(
    parts: &[Part<F::Value>],
    pieces: &[&[u8]],
    layout: &Layout,
    field: &F,
    announced: Option<u64>,
    before: u64,
) -> Option<u64> {
    let mut room = announced? - before;
    let mut lines = 0;
    for (part, piece) in parts.iter().zip(pieces) {
        if part.stored > room {
            let mut up_to = Part { limit: Some(room), ..Part::default() };
            up_to.parse(piece, layout, field);
            return Some(lines + up_to.lines + 1);
        }
        if part.fault.is_some() {
            return None;
        }
        room -= part.stored;
        lines += part.lines;
    }
    None
}

/// The first value of a triangle's part that may not stand on the diagonal: its line (counted from 1 in the piece), the
/// expected text and the text found. `before` is the number of values before the part.
fn diagonal_fault<F: Field>(
    part: &Part<F::Value>,
    piece: &[u8],
    layout: &Layout,
    field: &F,
    before: u64,
) -> Option<(u64, String, String)> {
    let rows = layout.triangle?;
    let end = before + part.stored;
    // Columns get shorter by one value from one to the next, and each begins on the diagonal.
    let place = |column: u64| u128::from(column) * u128::from(2 * rows + 1 - column) / 2;
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if place(middle) < u128::from(before) { low = middle + 1 } else { high = middle }
    }
    let mut on_diagonal =
        (low..rows).map(|column| (column, place(column))).take_while(|(_, place)| *place < u128::from(end));
    let wrong = |(column, place): (u64, u128)| {
        let local = (place - u128::from(before)) as usize;
        let value = *part.values.get(local)?;
        (!value.fits_diagonal(layout.symmetry)).then_some((column, local, value))
    };
    let (column, local, value) = on_diagonal.find_map(wrong)?;
    let mut up_to = Part { limit: Some(local as u64), ..Part::default() };
    up_to.parse(piece, layout, field);
    let found = format!("{} at ({1}, {1})", field.text(value), column + 1);
    Some((up_to.lines + 1, expected_on_diagonal(layout.symmetry).to_string(), found))
}

/// The entries of one piece of text.
struct Part<V> {
    /// Coordinates, one entry after the other.
    indices: Vec<u64>,
    largest: Vec<u64>,
    values: Vec<V>,
    stored: u64,
    lines: u64,
    fault: Option<Fault>,
    /// The number of stored entries at which to stop.
    limit: Option<u64>,
}

impl<V> Default for Part<V> {
    fn default() -> Part<V> {
        Part {
            indices: Vec::new(),
            largest: Vec::new(),
            values: Vec::new(),
            stored: 0,
            lines: 0,
            fault: None,
            limit: None,
        }
    }
}

impl<V: Mirror> Part<V> {
    /// Parses a piece of text; its entries take the place of the previous ones.
    fn parse<F: Field<Value = V>>(&mut self, piece: &[u8], layout: &Layout, field: &F) {
        self.indices.clear();
        self.values.clear();
        self.largest.clear();
        self.largest.resize(layout.dims.len(), 0);
        self.stored = 0;
        let mut cursor = Cursor::new(piece);
        self.fault = self.parse_lines(&mut cursor, layout, field).err();
        self.lines = cursor.lines();
    }

    fn parse_lines<F: Field<Value = V>>(
        &mut self,
        cursor: &mut Cursor,
        layout: &Layout,
        field: &F,
    ) -> Result<(), Fault> {
        while cursor.find_content(layout.comments) {
            if self.limit.is_some_and(|limit| self.stored >= limit) {
                break;
            }
            for (mode, &size) in layout.dims.iter().enumerate() {
                match cursor.unsigned() {
                    Some(index) if index >= layout.base && index - layout.base < size => {
                        let coordinate = index - layout.base;
                        self.indices.push(coordinate);
                        self.largest[mode] = self.largest[mode].max(coordinate);
                    }
                    Some(index) => return Err(out_of_range(cursor, layout, mode, index)),
                    None => return Err(cursor.fault(expected_index(layout, mode))),
                }
            }
            let Some(value) = field.read(cursor) else { return Err(cursor.fault(F::EXPECTED)) };
            self.values.push(value);
            if layout.symmetry != Symmetry::General && !layout.dims.is_empty() {
                self.mirror(cursor, value, layout, field)?;
            }
            self.stored += 1;
            if !layout.many_per_line {
                cursor.end_line()?;
            }
        }
        Ok(())
    }

    /// Adds the mirror image of the matrix entry that was added last, which has to be in the lower triangle.
    fn mirror<F: Field<Value = V>>(
        &mut self,
        cursor: &mut Cursor,
        value: V,
        layout: &Layout,
        field: &F,
    ) -> Result<(), Fault> {
        let &[.., row, column] = self.indices.as_slice() else { return Ok(()) };
        let fault = |expected: &'static str, found: String| {
            Err(Fault { line: cursor.lines() + 1, expected: expected.into(), found, hint: None })
        };
        if column > row {
            let expected = "entries of the lower triangle only, which stand for those above the diagonal";
            return fault(expected, format!("one at ({}, {})", row + 1, column + 1));
        }
        if row == column {
            return match value.fits_diagonal(layout.symmetry) {
                true => Ok(()),
                false => fault(
                    expected_on_diagonal(layout.symmetry),
                    format!("{} at ({1}, {1})", field.text(value), row + 1),
                ),
            };
        }
        let Some(image) = value.mirror(layout.symmetry) else {
            return fault("a value whose negative fits 64 bits", field.text(value));
        };
        self.indices.extend([column, row]);
        self.largest[0] = self.largest[0].max(column);
        self.largest[1] = self.largest[1].max(row);
        self.values.push(image);
        Ok(())
    }
}

/// The hint if an index is 0 and is not to be.
const ZERO: &str = "if the indices of this file start at 0, read it with base 0 (`--base 0`)";

/// An index was read that is not one of the dimension's.
#[cold]
fn out_of_range(cursor: &Cursor, layout: &Layout, mode: usize, index: u64) -> Fault {
    let hint = (index == 0 && layout.base_is_open && layout.dims[mode] > 0).then_some(ZERO);
    let (line, expected) = (cursor.lines() + 1, expected_index(layout, mode));
    Fault { line, expected, found: format!("\"{index}\""), hint }
}

/// The form of an index: `a row index from 1 to 3`.
#[cold]
fn expected_index(layout: &Layout, mode: usize) -> Cow<'static, str> {
    let name = match (layout.dims.len(), mode) {
        (2, 0) => "a row index".to_owned(),
        (2, 1) => "a column index".to_owned(),
        _ => format!("an index for dimension {}", mode + 1),
    };
    let base = layout.base;
    match layout.dims[mode] {
        0 => format!("no entry, as dimension {} has size 0", mode + 1).into(),
        size if layout.dims_known => format!("{name} from {base} to {}", size - 1 + base).into(),
        _ => format!("{name} from {base}").into(),
    }
}

impl<V: Element> Entries<V> {
    /// Appends the entries of all parts, in order.
    fn append(&mut self, parts: &[Part<V>]) -> Result<(), TryReserveError> {
        let order = self.coords.len();
        let indices: Vec<&[u64]> = parts.iter().map(|part| part.indices.as_slice()).collect();
        for (mode, coords) in self.coords.iter_mut().enumerate() {
            let largest = parts.iter().filter_map(|part| part.largest.get(mode)).max();
            self.largest[mode] = self.largest[mode].max(largest.copied().unwrap_or(0));
            if self.largest[mode] > u64::from(u32::MAX) {
                widen(coords)?;
            }
            append_coordinates(coords, &indices, (order, mode))?;
        }
        let lengths: Vec<usize> = parts.iter().map(|part| part.values.len()).collect();
        append_all(&mut self.values, &lengths, &|part, slots| {
            slots.iter_mut().zip(&parts[part].values).map(|(slot, value)| slot.write(*value)).count()
        })
    }
}

/// Appends the coordinates of one dimension, given the indices of all dimensions in parts, one entry after the other.
fn append_coordinates(
    coords: &mut Coordinates,
    parts: &[&[u64]],
    (order, mode): (usize, usize),
) -> Result<(), TryReserveError> {
    let lengths: Vec<usize> = parts.iter().map(|indices| indices.len() / order).collect();
    let own = |part: usize| parts[part].chunks_exact(order).map(move |entry| entry[mode]);
    match coords {
        Coordinates::U32(coords) => append_all(coords, &lengths, &|part, slots| {
            slots.iter_mut().zip(own(part)).map(|(slot, index)| slot.write(index as u32)).count()
        }),
        Coordinates::U64(coords) => append_all(coords, &lengths, &|part, slots| {
            slots.iter_mut().zip(own(part)).map(|(slot, index)| slot.write(index)).count()
        }),
    }
}

/// Makes room for coordinates past 32 bits.
fn widen(coords: &mut Coordinates) -> Result<(), TryReserveError> {
    if let Coordinates::U32(narrow) = coords {
        let mut wide = Vec::new();
        make_room(&mut wide, narrow.len())?;
        wide.extend(narrow.iter().map(|&coordinate| u64::from(coordinate)));
        *coords = Coordinates::U64(wide);
    }
    Ok(())
}

/// Appends parts of these lengths in order, each made by one task: `fill` writes the items of a part, and says how many.
#[allow(unsafe_code)]
fn append_all<T: Send>(
    out: &mut Vec<T>,
    lengths: &[usize],
    fill: &(dyn Fn(usize, &mut [MaybeUninit<T>]) -> usize + Sync),
) -> Result<(), TryReserveError> {
    let total = lengths.iter().sum::<usize>();
    make_room(out, total)?;
    let jobs = parallel::split(&mut out.spare_capacity_mut()[..total], lengths);
    let written = parallel::map(jobs, fill).into_iter().sum::<usize>();
    // The items are those of slices, whose lengths are right.
    assert_eq!(written, total, "a part was shorter than it was said to be");
    // SAFETY: `total` slots after the last item lie within the capacity, and each was written above: the slots are
    // split without gaps, every one is written at most once, and as many were written as there are.
    unsafe { out.set_len(out.len() + total) };
    Ok(())
}
