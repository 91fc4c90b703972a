//! Widths of index arrays: the bits of a coordinate or a position, level by level.
//!
//! Coordinates have 8, 16, 32 or 64 bits, positions 32 or 64. In text the bits of coordinates stand behind a level's letter, those
//! of positions behind an `@`; a width that is left out is 32:
//!
//! ```text
//! ds16              csr whose columns have 16 bits
//! uqu8q8:0/4,1/4,0%4,1%4    blocks of 4 x 4, places inside them in 8 bits: `hicoo(4)`
//! ds64@64           csr with 64 bits everywhere
//! ```

use crate::DType;
use crate::format::{Format, FormatError};
use crate::kinds::NAMED;
use crate::level::{Level, LevelKind};

/// The width of the numbers in a coordinate or position array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexWidth {
    /// Unsigned 8-bit; coordinates only.
    W8,
    /// Unsigned 16-bit; coordinates only.
    W16,
    /// Unsigned 32-bit.
    W32,
    /// Unsigned 64-bit.
    W64,
}

impl IndexWidth {
    /// All widths, the narrowest first.
    pub const ALL: [IndexWidth; 4] = [IndexWidth::W8, IndexWidth::W16, IndexWidth::W32, IndexWidth::W64];

    /// The narrowest width whose numbers reach `max`.
    pub fn for_max(max: u64) -> IndexWidth {
        IndexWidth::ALL.into_iter().find(|&width| max <= width.max()).unwrap_or(IndexWidth::W64)
    }

    /// The narrowest width of positions that reach `max`.
    pub fn for_positions(max: u64) -> IndexWidth {
        IndexWidth::for_max(max).wider(IndexWidth::W32)
    }

    /// The width of so many bits.
    pub fn of_bits(bits: u32) -> Option<IndexWidth> {
        IndexWidth::ALL.into_iter().find(|width| width.bits() == bits)
    }

    /// The wider of two.
    pub fn wider(self, other: IndexWidth) -> IndexWidth {
        Ord::max(self, other)
    }

    /// The bits of a number.
    pub const fn bits(self) -> u32 {
        match self {
            IndexWidth::W8 => 8,
            IndexWidth::W16 => 16,
            IndexWidth::W32 => 32,
            IndexWidth::W64 => 64,
        }
    }

    /// The largest number of the width.
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The element type of an array of this width.
    pub const fn dtype(self) -> DType {
        match self {
            IndexWidth::W8 => DType::U8,
            IndexWidth::W16 => DType::U16,
            IndexWidth::W32 => DType::U32,
            IndexWidth::W64 => DType::U64,
        }
    }

    /// The width of an array of this element type, if it is one of index arrays.
    pub fn of(dtype: DType) -> Option<IndexWidth> {
        IndexWidth::ALL.into_iter().find(|width| width.dtype() == dtype)
    }
}

/// The widths of one level's arrays. They are 32 for arrays that a kind of levels does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Widths {
    pub positions: IndexWidth,
    pub coordinates: IndexWidth,
}

impl Widths {
    /// The widths that are not written.
    pub const USUAL: Widths = Widths { positions: IndexWidth::W32, coordinates: IndexWidth::W32 };

    /// These widths, for a level of a kind.
    pub fn of(self, kind: LevelKind) -> Widths {
        Widths {
            positions: if kind.has_positions() { self.positions.wider(IndexWidth::W32) } else { IndexWidth::W32 },
            coordinates: if kind.has_coordinates() { self.coordinates } else { IndexWidth::W32 },
        }
    }

    /// As text behind the level's letter.
    pub fn suffix(self) -> String {
        let coordinates = (self.coordinates != IndexWidth::W32).then(|| self.coordinates.bits().to_string());
        let positions = (self.positions != IndexWidth::W32).then(|| format!("@{}", self.positions.bits()));
        coordinates.unwrap_or_default() + &positions.unwrap_or_default()
    }
}

impl Format {
    /// The same format with the given widths of the position and coordinate arrays of all levels. Positions have 32 bits at
    /// least.
    pub fn with_widths(mut self, positions: IndexWidth, coordinates: IndexWidth) -> Format {
        for (widths, level) in self.widths.iter_mut().zip(&self.levels) {
            *widths = Widths { positions, coordinates }.of(level.kind);
        }
        self
    }

    /// The same format with another width of one level's coordinates. A level that keeps none stays as it is.
    pub fn with_coordinates(mut self, level: usize, coordinates: IndexWidth) -> Format {
        if let (Some(widths), Some(level)) = (self.widths.get_mut(level), self.levels.get(level)) {
            *widths = Widths { coordinates, ..*widths }.of(level.kind);
        }
        self
    }

    /// The same format with another width of one level's positions, of 32 bits at least. A level that keeps none stays as it is.
    pub fn with_positions(mut self, level: usize, positions: IndexWidth) -> Format {
        if let (Some(widths), Some(level)) = (self.widths.get_mut(level), self.levels.get(level)) {
            *widths = Widths { positions, ..*widths }.of(level.kind);
        }
        self
    }

    /// The same format with the widths of another, level by level.
    pub fn with_widths_of(self, other: &Format) -> Format {
        (0..other.levels.len()).fold(self, |format, level| {
            format.with_positions(level, other.positions(level)).with_coordinates(level, other.coordinates(level))
        })
    }

    /// The same format with index arrays wide enough for a tensor of these sizes, as far as they are known, with so many
    /// entries.
    ///
    /// ```
    /// use lacunar_formats::{Format, IndexWidth};
    /// let narrow = Format::csr().with_coordinates(1, IndexWidth::W8);
    /// assert_eq!(narrow.fitted(&[Some(1000), Some(256)], 5), narrow);
    /// assert_eq!(narrow.fitted(&[Some(1000), Some(257)], 5).coordinates(1), IndexWidth::W16);
    /// ```
    pub fn fitted(&self, dims: &[Option<u64>], entries: u64) -> Format {
        if self.packing().is_some() && self.is_dense() {
            return self.as_stored().fitted(dims, entries).as_array();
        }
        let positions = IndexWidth::for_positions(entries);
        self.levels.iter().enumerate().fold(self.clone(), |format, (level, stored)| {
            let size = match self.map() {
                Some(map) => map.kept_size(level, dims),
                None => dims.get(self.mode_order()[level]).copied().flatten(),
            };
            let coordinates = IndexWidth::for_max(size.map_or(0, |size| stored.kind.largest_coordinate(size)));
            format
                .with_positions(level, positions.wider(self.positions(level)))
                .with_coordinates(level, coordinates.wider(self.coordinates(level)))
        })
    }

    /// The width of a level's position array.
    pub fn positions(&self, level: usize) -> IndexWidth {
        self.widths.get(level).unwrap_or(&Widths::USUAL).positions
    }

    /// The width of a level's coordinate array.
    pub fn coordinates(&self, level: usize) -> IndexWidth {
        self.widths.get(level).unwrap_or(&Widths::USUAL).coordinates
    }

    /// The widest positions of all levels.
    pub fn widest_positions(&self) -> IndexWidth {
        self.widths.iter().map(|widths| widths.positions).fold(IndexWidth::W32, IndexWidth::wider)
    }
}

/// Level letters and names in braces, each with the widths behind it: `ds`, `uqu8q8`, `ds64@64`, `d{btree}`.
pub(crate) fn read_levels(text: &str) -> Result<Vec<(Level, Widths)>, FormatError> {
    let mut levels = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let place = text[..text.len() - rest.len()].chars().count();
        let level = read_level(&mut rest, place)?;
        let coordinates = digits(&mut rest);
        let positions = rest.strip_prefix('@').map(|behind| {
            rest = behind;
            digits(&mut rest)
        });
        let kind = level.kind.info().name;
        let wrong = |reason: String| FormatError::Width { place: place + 1, reason };
        let mut widths = Widths::USUAL;
        if level.kind.schema().is_some() && (!coordinates.is_empty() || positions.is_some()) {
            return Err(wrong(format!("all numbers of a {kind} level have 32 bits")));
        }
        if !coordinates.is_empty() {
            if !level.kind.has_coordinates() {
                return Err(wrong(format!("a {kind} level keeps no coordinates")));
            }
            let width = coordinates.parse().ok().and_then(IndexWidth::of_bits);
            let unknown = || wrong(format!("coordinates have 8, 16, 32 or 64 bits, not {coordinates}"));
            widths.coordinates = width.ok_or_else(unknown)?;
        }
        if let Some(positions) = positions {
            if !level.kind.has_positions() {
                return Err(wrong(format!("a {kind} level keeps no positions")));
            }
            let width = positions.parse().ok().and_then(IndexWidth::of_bits).filter(|width| *width >= IndexWidth::W32);
            let unknown = || wrong(format!("positions have 32 or 64 bits, not `{positions}`"));
            widths.positions = width.ok_or_else(unknown)?;
        }
        levels.push((level, widths));
    }
    Ok(levels)
}

/// Takes the letter of a level, or the name of a schema in braces, that a text begins with.
fn read_level(rest: &mut &str, place: usize) -> Result<Level, FormatError> {
    let letter = rest.chars().next().unwrap_or_default();
    if letter != NAMED {
        *rest = &rest[letter.len_utf8()..];
        return Level::from_letter(letter).ok_or(FormatError::Letter(letter, place));
    }
    let inside = &rest[1..];
    let Some((name, behind)) = inside.split_once('}') else {
        return Err(FormatError::Schema { name: inside.trim().to_string(), place, closed: false });
    };
    *rest = behind;
    let unknown = || FormatError::Schema { name: name.trim().to_string(), place, closed: true };
    Ok(Level { kind: LevelKind::nodes_named(name.trim()).ok_or_else(unknown)?, unique: true })
}

/// Takes the digits that a text begins with.
fn digits<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, behind) = rest.split_at(end);
    *rest = behind;
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FormatSpec;

    #[test]
    fn letters_that_spell_a_name_are_read_back() {
        let mut spelled = 0;
        for word in [
            "csr", "csc", "dcsr", "dcsc", "csf", "coo", "sv", "dense", "dia", "ell", "bcsr", "sell", "csb", "crs",
            "bsr", "runs",
        ] {
            let Some(levels) = word.chars().map(Level::from_letter).collect::<Option<Vec<Level>>>() else { continue };
            let modes = (0..levels.len()).collect();
            let Ok(format) = Format::new(levels, modes) else { continue };
            let text = format.to_string();
            assert_eq!(text.parse::<FormatSpec>().unwrap().resolve(format.order()).unwrap(), format, "{text}");
            spelled += 1;
        }
        assert!(spelled >= 7, "only {spelled} names are made of letters of level kinds");
    }

    fn format(text: &str, order: usize) -> Format {
        text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
    }

    #[test]
    fn widths_are_read_and_printed() {
        let (w8, w16, w32, w64) = (IndexWidth::W8, IndexWidth::W16, IndexWidth::W32, IndexWidth::W64);
        for (text, order, positions, coordinates) in [
            ("ds16", 2, [w32, w32], [w32, w16]),
            ("ds64@64", 2, [w32, w64], [w32, w64]),
            ("s@64s8:1,0", 2, [w64, w32], [w32, w8]),
            ("u8q16", 2, [w32, w32], [w8, w16]),
        ] {
            let format = format(text, order);
            for level in 0..2 {
                assert_eq!(
                    (format.positions(level), format.coordinates(level)),
                    (positions[level], coordinates[level])
                );
            }
            assert_eq!(format.to_string(), text);
        }
        assert_eq!(format("DS32@32", 2), Format::csr());
        assert_eq!(format("ds64@64", 2), Format::csr().with_widths(w64, w64));
        assert_eq!(format("ds16", 2), Format::csr().with_coordinates(1, w16));
        assert_eq!(format("ds@64", 2), Format::csr().with_positions(1, w64));
        // An array that a level does not have has no width, and positions are never narrow.
        assert_eq!(Format::dense(3), Format::dense(3).with_widths(w64, w64));
        assert_eq!(Format::csr().with_widths(w8, w32), Format::csr());
        assert_eq!(Format::csr().with_coordinates(7, w8), Format::csr());
    }

    #[test]
    fn blocks_have_narrow_places() {
        assert_eq!(Format::hicoo(2, 256).unwrap(), format("uqu8q8:0/256,1/256,0%256,1%256", 2));
        assert_eq!(Format::hicoo(2, 257).unwrap(), format("uqu16q16:0/257,1/257,0%257,1%257", 2));
        assert_eq!(
            Format::csb(65536).unwrap(),
            format("dduq:0/65536,1/65536,0%65536,1%65536", 2)
                .with_coordinates(2, IndexWidth::W16)
                .with_coordinates(3, IndexWidth::W16)
        );
        assert_eq!(Format::csb(65537).unwrap(), format("dduq:0/65537,1/65537,0%65537,1%65537", 2));
        assert_eq!(format("uqu8q8:0/4,1/4,0%4,1%4", 2).to_string(), "hicoo(4)");
        assert_eq!(format("uquq:0/4,1/4,0%4,1%4", 2).to_string(), "uquq:0/4,1/4,0%4,1%4");
        assert_eq!(format("uquq8:0/4,1/4,0%4,1%4", 2).to_string(), "uquq8:0/4,1/4,0%4,1%4");
    }

    #[test]
    fn formats_are_fitted_to_sizes() {
        let fitted = |text: &str, dims: [Option<u64>; 2], entries| format(text, 2).fitted(&dims, entries).to_string();
        assert_eq!(fitted("s8s8", [Some(256), Some(257)], 5), "s8s16");
        assert_eq!(fitted("s8s8:1,0", [Some(256), Some(257)], 5), "s16s8:1,0");
        assert_eq!(fitted("s8s16", [Some(65537), None], 1 << 32), "s@64s16@64");
        assert_eq!(fitted("hicoo(4)", [Some(1 << 40), Some(4)], 5), "u64qu8q8:0/4,1/4,0%4,1%4");
        assert_eq!(fitted("u8quq:0/4,1/4,0%4,1%4", [Some(1025), Some(4)], 5), "u16quq:0/4,1/4,0%4,1%4");
        assert_eq!(fitted("u8quq8:0/400,1/400,0%400,1%400", [None, None], 5), "u8quq16:0/400,1/400,0%400,1%400");
    }

    #[test]
    fn wrong_widths_are_refused() {
        for (text, place, reason) in [
            ("ds12", 2, "coordinates have 8, 16, 32 or 64 bits, not 12"),
            ("s99999999999s", 1, "coordinates have 8, 16, 32 or 64 bits, not 99999999999"),
            ("s@16", 1, "positions have 32 or 64 bits, not `16`"),
            ("s8@", 1, "positions have 32 or 64 bits, not ``"),
            ("d8s", 1, "a dense level keeps no coordinates"),
            ("uq@64", 2, "a singleton level keeps no positions"),
        ] {
            let reason = reason.to_string();
            assert_eq!(text.parse::<FormatSpec>(), Err(FormatError::Width { place, reason }), "{text}");
        }
        assert_eq!("8ds".parse::<FormatSpec>(), Err(FormatError::Letter('8', 0)));
        assert_eq!("ds@64@64".parse::<FormatSpec>(), Err(FormatError::Letter('@', 5)));
        assert_eq!("88".parse::<FormatSpec>(), Err(FormatError::Unknown("88".to_string())));
    }
}
