//! Reading Matrix Market files (Boisvert, Pozo, Remington: "The Matrix Market Exchange Formats: Initial Design",
//! NISTIR 5935, 1996).
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric
//! % comments
//! 3 3 2            rows, columns, entries stored
//! 2 1 1.5          (2,1) and, by symmetry, (1,2)
//! 3 3 -2
//! ```
//!
//! All of the specification is read: coordinate and array, the four fields, the four symmetries. Symmetry is expanded;
//! values become `f64`, `i64`, `Complex<f64>`, or ones for a pattern. Content that the specification leaves open, or
//! that programs in use get wrong, is taken if no meaning is guessed:
//!
//! - a byte order mark or blanks before the banner, a banner with one `%`, words of the banner in any case;
//! - comments (indented too) and blank lines anywhere after the banner; CRLF line ends; lines of any length;
//! - number forms of Fortran (`1.5D+02`), a plus sign; `nan` and `inf`; numbers past the range of doubles become
//!   infinity or 0;
//! - entries at the same place are all kept (packing adds them up);
//! - the field `double`, which is real;
//! - zeros on the diagonal of a skew-symmetric matrix;
//! - several values in a line of an array.
//!
//! A file whose tag is to the letter (`%%MatrixMarket`) is taken at its word in one more case, and a file whose tag
//! is not gets no second liberty: `hermitian` of a real or integer field, which is the same as symmetric.
//!
//! Refused: entries above the diagonal of a matrix with symmetry (a file with both triangles would count twice), values other than
//! zero on the diagonal of a skew-symmetric matrix, and other than real on that of a Hermitian one; the object `vector` (an
//! extension), integers past 64 bits, sizes past 2^63-1, a count in the size line of an array, and a carriage return alone as
//! line end.

use std::collections::TryReserveError;

use super::entries::{
    ComplexField, Entries, Field, IntegerField, Layout, PatternField, RealField, UnsignedField, read_entries,
};
use super::error::IoError;
use super::mirror::Mirror;
use super::scan::{Cursor, quote};
use super::text::Text;
use super::{Data, Dense, FieldKind, Integers, Metadata, PatternValues, ReadOptions, Symmetry};
use crate::alloc::make_room;
use crate::coo::Coo;
use crate::parallel;
use crate::values::Element;
use lacunar_formats::{DType, One};

/// The largest size of a dimension: arrays of other languages count with signed integers.
pub(super) const LARGEST_SIZE: u64 = i64::MAX as u64;

/// The word behind the percent signs of the banner.
const NAME: &[u8] = b"MatrixMarket";

/// The content of the banner.
struct Banner {
    array: bool,
    field: FieldKind,
    symmetry: Symmetry,
}

/// True if a text starts like a Matrix Market file.
pub(super) fn sniff(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let name = text.strip_prefix(b"%%").or(text.strip_prefix(b"%")).and_then(|name| name.get(..NAME.len()));
    name.is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

/// Reads a file whose text is at its start.
pub(super) fn read(text: &mut Text, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let banner = read_banner(text)?;
    match (banner.field, options.pattern) {
        (FieldKind::Real, _) => read_body(text, &banner, &RealField),
        (FieldKind::Integer, _) if options.integers == Some(Integers::Unsigned) => {
            read_body(text, &banner, &UnsignedField)
        }
        (FieldKind::Integer, _) => read_body(text, &banner, &IntegerField),
        (FieldKind::Complex, _) => read_body(text, &banner, &ComplexField),
        (FieldKind::Pattern, PatternValues::Ones) => read_body(text, &banner, &PatternField(1.0f64)),
        (FieldKind::Pattern, PatternValues::True) => read_body(text, &banner, &PatternField(true)),
        (FieldKind::Pattern, PatternValues::Places) => read_body(text, &banner, &PatternField(One)),
    }
}

/// The type of the values of a file whose text is at its start, as its banner says.
pub(super) fn dtype(text: &mut Text) -> Result<DType, IoError> {
    Ok(match read_banner(text)?.field {
        FieldKind::Integer => DType::I64,
        FieldKind::Complex => DType::C128,
        FieldKind::Real | FieldKind::Pattern => DType::F64,
    })
}

fn read_body<F: Field>(text: &mut Text, banner: &Banner, field: &F) -> Result<(Data, Metadata), IoError> {
    let (data, stored) =
        if banner.array { read_array(text, banner, field)? } else { read_coordinates(text, banner, field)? };
    let metadata = Metadata {
        format: super::FileFormat::MatrixMarket,
        compression: text.compression(),
        field: banner.field,
        symmetry: banner.symmetry,
        stored,
    };
    Ok((data, metadata))
}

fn read_banner(text: &mut Text) -> Result<Banner, IoError> {
    const TAG: &str = "the banner %%MatrixMarket";
    let Some(line) = text.next_line()? else { return Err(text.ends(TAG)) };
    if line.contains(&b'\r') {
        return Err(text.malformed(1, "lines that end in LF or CRLF", "a carriage return alone"));
    }
    let line = line.to_vec();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let tag = words.next().unwrap_or_default();
    let exact = tag == b"%%MatrixMarket";
    let name = tag.strip_prefix(b"%%").or(tag.strip_prefix(b"%")).unwrap_or_default();
    if !name.eq_ignore_ascii_case(NAME) {
        return Err(text.malformed(1, TAG, quote(&line)));
    }
    let mut word = |choices: &[&str]| {
        let word = words.next().unwrap_or_default();
        choices.iter().position(|choice| word.eq_ignore_ascii_case(choice.as_bytes())).ok_or_else(|| {
            let found = if word.is_empty() { "the end of the line".to_owned() } else { quote(word) };
            text.malformed(1, choices.join(" or "), found)
        })
    };
    word(&["matrix"])?;
    let array = word(&["coordinate", "array"])? == 1;
    let fields = [FieldKind::Real, FieldKind::Integer, FieldKind::Complex, FieldKind::Pattern, FieldKind::Real];
    let field = fields[word(&["real", "integer", "complex", "pattern", "double"])?];
    let symmetries = [Symmetry::General, Symmetry::Symmetric, Symmetry::SkewSymmetric, Symmetry::Hermitian];
    let symmetry = symmetries[word(&["general", "symmetric", "skew-symmetric", "hermitian"])?];
    if let Some(word) = words.next() {
        return Err(text.malformed(1, "the end of the banner", quote(word)));
    }
    let clash = match (array, field, symmetry) {
        (true, FieldKind::Pattern, _) => Some(("a field with values for an array", "pattern")),
        (_, FieldKind::Pattern, Symmetry::SkewSymmetric) => {
            Some(("a pattern that is general or symmetric", "skew-symmetric"))
        }
        (_, FieldKind::Pattern, Symmetry::Hermitian) => Some(("a pattern that is general or symmetric", "hermitian")),
        (_, FieldKind::Real | FieldKind::Integer, Symmetry::Hermitian) if !exact => {
            Some(("a complex field for a Hermitian matrix", "real or integer"))
        }
        _ => None,
    };
    match clash {
        Some((expected, found)) => Err(text.malformed(1, expected, found)),
        None => Ok(Banner { array, field, symmetry }),
    }
}

/// Reads the size line, which comes after comments and blank lines.
fn read_sizes<const N: usize>(text: &mut Text, names: [&str; N], symmetry: Symmetry) -> Result<[u64; N], IoError> {
    loop {
        let Some(line) = text.next_line()? else { return Err(text.ends("the size line")) };
        let mut cursor = Cursor::new(line);
        if !cursor.find_content(b"%") {
            continue;
        }
        let mut sizes = [0; N];
        let parsed = sizes.iter_mut().zip(names).try_for_each(|(size, name)| match cursor.unsigned() {
            Some(number) if number <= LARGEST_SIZE => {
                *size = number;
                Ok(())
            }
            Some(number) => Err((format!("{name} of at most 2^63-1"), format!("\"{number}\""))),
            None => Err((format!("{name}, an integer from 0"), cursor.fault("").found)),
        });
        let parsed = parsed.and_then(|()| {
            cursor.end_line().map_err(|fault| (format!("the end of the size line after {}", names[N - 1]), fault.found))
        });
        let line = text.line();
        parsed.map_err(|(expected, found)| text.malformed(line, expected, found))?;
        if symmetry != Symmetry::General && sizes[0] != sizes[1] {
            let expected = "as many rows as columns, for the symmetry announced";
            return Err(text.malformed(line, expected, format!("{} x {}", sizes[0], sizes[1])));
        }
        return Ok(sizes);
    }
}

fn read_coordinates<F: Field>(text: &mut Text, banner: &Banner, field: &F) -> Result<(Data, u64), IoError> {
    let names = ["the number of rows", "the number of columns", "the number of entries"];
    let [rows, columns, count] = read_sizes(text, names, banner.symmetry)?;
    let layout = Layout {
        dims: vec![rows, columns],
        dims_known: true,
        base: 1,
        base_is_open: false,
        comments: b"%",
        symmetry: banner.symmetry,
        triangle: None,
        many_per_line: false,
    };
    let Entries { coords, values, stored, .. } = read_entries(text, &layout, field, Some(count))?;
    Ok((Data::Coordinate(Coo { dims: layout.dims, coords, values: Element::wrap(values) }), stored))
}

fn read_array<F: Field>(text: &mut Text, banner: &Banner, field: &F) -> Result<(Data, u64), IoError> {
    let [rows, columns] = read_sizes(text, ["the number of rows", "the number of columns"], banner.symmetry)?;
    let cells = u128::from(rows) * u128::from(columns);
    let diagonal = u128::from(rows);
    let count = match banner.symmetry {
        Symmetry::General => cells,
        Symmetry::Symmetric | Symmetry::Hermitian => (cells + diagonal) / 2,
        Symmetry::SkewSymmetric => (cells - diagonal) / 2,
    };
    let Ok(count) = u64::try_from(count) else {
        let what = format!("an array of {rows} x {columns} values");
        return Err(IoError::TooLarge { file: text.file().to_path_buf(), what });
    };
    let layout = Layout {
        dims: Vec::new(),
        dims_known: true,
        base: 1,
        base_is_open: false,
        comments: b"%",
        symmetry: banner.symmetry,
        triangle: (banner.symmetry == Symmetry::Hermitian).then_some(rows),
        many_per_line: true,
    };
    let values = read_entries(text, &layout, field, Some(count))?.values;
    let values = by_rows(&values, rows as usize, columns as usize, banner.symmetry)
        .map_err(|e| IoError::out_of_memory(text.file(), &e))?;
    let Some(values) = values else {
        return Err(text.malformed(text.line(), "values whose negatives fit 64 bits", "-2^63"));
    };
    Ok((Data::Dense(Dense { dims: vec![rows, columns], values: Element::wrap(values) }), count))
}

/// Rows that one task fills at a time: few enough that they stay in cache while all columns are visited.
const ROWS_AT_A_TIME: usize = 64;

/// Turns the stored values, which go down the columns (and, with symmetry, only from the diagonal on), into all values
/// by rows. `None` if a mirror image has no place in the type. The count of values was checked.
fn by_rows<T: Mirror>(
    stored: &[T],
    rows: usize,
    columns: usize,
    symmetry: Symmetry,
) -> Result<Option<Vec<T>>, TryReserveError> {
    // With symmetry, columns get shorter by one value from one to the next; `lower` is at or below the diagonal.
    let at = |lower: usize, column: usize| match symmetry {
        Symmetry::General => stored[column * rows + lower],
        Symmetry::Symmetric | Symmetry::Hermitian => stored[column * rows + lower - column * (column + 1) / 2],
        Symmetry::SkewSymmetric if lower == column => T::default(),
        Symmetry::SkewSymmetric => stored[column * rows + lower - (column + 1) * (column + 2) / 2],
    };
    let value = |row: usize, column: usize| match symmetry {
        Symmetry::General => Some(at(row, column)),
        _ if row >= column => Some(at(row, column)),
        _ => at(column, row).mirror(symmetry),
    };
    let mut values = Vec::new();
    let cells = if symmetry == Symmetry::General { stored.len() } else { rows * columns };
    make_room(&mut values, cells)?;
    values.resize(cells, T::default());
    let filled = parallel::map(values.chunks_mut(ROWS_AT_A_TIME * columns.max(1)), |block, out| {
        for column in 0..columns {
            for (row, out) in out.chunks_exact_mut(columns).enumerate() {
                out[column] = value(block * ROWS_AT_A_TIME + row, column)?;
            }
        }
        Some(())
    });
    Ok(filled.into_iter().collect::<Option<()>>().map(|()| values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_by_rows() {
        let rows = |stored: &[i64], symmetry| by_rows(stored, 3, 3, symmetry).expect("memory");
        let general = rows(&[1, 2, 3, 4, 5, 6, 7, 8, 9], Symmetry::General);
        assert_eq!(general, Some(vec![1, 4, 7, 2, 5, 8, 3, 6, 9]));
        assert_eq!(rows(&[1, 2, 3, 4, 5, 6], Symmetry::Symmetric), Some(vec![1, 2, 3, 2, 4, 5, 3, 5, 6]));
        assert_eq!(rows(&[2, 3, 5], Symmetry::SkewSymmetric), Some(vec![0, -2, -3, 2, 0, -5, 3, 5, 0]));
        assert_eq!(rows(&[2, i64::MIN, 5], Symmetry::SkewSymmetric), None);
        assert_eq!(by_rows::<i64>(&[], 0, 7, Symmetry::General), Ok(Some(vec![])));
    }

    #[test]
    fn large_arrays_by_rows() {
        let (rows, columns) = (3 * ROWS_AT_A_TIME + 5, 7);
        let stored: Vec<i64> = (0..(rows * columns) as i64).collect();
        let values = by_rows(&stored, rows, columns, Symmetry::General).ok().flatten();
        let expected = (0..rows).flat_map(|i| (0..columns).map(move |j| (j * rows + i) as i64)).collect();
        assert_eq!(values, Some(expected));
    }
}
