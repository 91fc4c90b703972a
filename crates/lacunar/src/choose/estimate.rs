//! The time of a product of a matrix and a vector in each format that may suit the matrix, estimated.
//!
//! A product reads the matrix once, so that its time is that of the bytes: coordinates that blocks, diagonals or narrow index arrays
//! save, against the zeros that fill blocks up. Loops over short rows cost more than their bytes, above all if the lengths of rows
//! differ, which a processor does not predict. Slots run several rows at once, and sorting rows by their lengths in windows saves
//! slots, for an array of ranks.
//!
//! ```text
//! csr        entries * (coordinate + value) * byte   + rows * row + changes * changed
//! sell(8,w)  slots * 8 * ((coordinate + value) * byte + apart) + rows * rank * byte + slices * slice + changes * changed
//! ```
//!
//! Papers: Vuduc 2003, §4 (block sizes by fill and speed); Im, Yelick and Vuduc, *Sparsity* (IJHPCA 2004); Kreutzer et al. 2014, §4;
//! Willcock and Lumsdaine 2006 (bytes of indices).

use lacunar_base::amounts::bytes_text;
use lacunar_formats::{Format, FormatError, FormatSpec, IndexWidth};
use lacunar_machine::{Filling, Machine};
use lacunar_runtime::lists::Lists;

use super::Candidate;
use super::structure::{BLOCKS, SLICE, Structure, WINDOWS, count_diagonals};

/// The costs of the steps of kernels and conversions, in nanoseconds, by one thread.
///
/// ```
/// use lacunar::{Costs, Options, machine};
/// let costs = Costs::of(&*machine(&Options::new().machine("zen4"))?);
/// let slow_memory = Costs { far_byte: 0.1, ..costs };
/// assert!(slow_memory.far_byte > costs.far_byte);
/// # Ok::<(), lacunar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The bytes of a matrix that stay in the caches of a core.
    pub cache: f64,
    /// A byte of such a matrix.
    pub near_byte: f64,
    /// A byte of a larger one.
    pub far_byte: f64,
    /// An entry, or a place of a slot: a gather and a multiplication; at least so long, however near its bytes are.
    pub entry: f64,
    /// A place of a block or a diagonal, whose elements of the vector are neighbors.
    pub place: f64,
    /// A place of a slot beyond `entry`: elements of the vector for neighboring rows are farther apart than those for one row.
    pub apart: f64,
    /// The loop over a row.
    pub row: f64,
    /// The loop over a slice of 8 rows.
    pub slice: f64,
    /// A row (or a slice) whose loop ends elsewhere than that of the row before: a branch that is not foreseen.
    pub changed: f64,
    /// A block of 2 x 2, at least.
    pub small_block: f64,
    /// A larger block, at least, of a matrix that whole blocks make up.
    pub block: f64,
    /// The same where the last blocks lie in part outside: sums are not kept in registers then.
    pub uneven_block: f64,
    /// A place of a bitmap.
    pub bit: f64,
    /// Conversion from compressed rows, for an entry: to narrower indices, to slots, to blocks, to bitmaps or compressed rows;
    /// and for a place: to diagonals or all elements.
    pub narrowed: f64,
    /// See [`Costs::narrowed`].
    pub slotted: f64,
    /// See [`Costs::narrowed`].
    pub blocked: f64,
    /// See [`Costs::narrowed`].
    pub listed: f64,
    /// See [`Costs::narrowed`].
    pub placed: f64,
}

impl Costs {
    /// The costs on a machine, by its caches, its vectors and its branches.
    ///
    /// The factors are measured with AVX-512 at about 3.6 GHz, one thread, medians of products in turns: a byte on `bcsstk33` (68 entries
    /// a row, 7 MB: 0.43 ns an entry of 12 bytes) and its columns in 16 bits; rows on `USA-road-d.NY` (2.8 a row: 1.2 ns an entry) and
    /// `delaunay_n16` (6 a row: 0.64); rows that differ on `cond-mat-2005` (8.7 a row: 1.2) and `cit-HepPh`; blocks on `bundle-440x71`
    /// (2 x 2: 2 to 2.5 ns a block; from 3 x 3 on its bytes); bits on `amazon-computers-features` (35% dense); conversions on all of these.
    /// On a processor that fills vectors by inserts, from AMD (Zen 3, 3.2 GHz): `bcsstk33` 0.37 ns an entry, in blocks of 2 x 2 1 ns a
    /// block, in blocks of 3 x 3 and 4 x 4, whose last ones lie in part outside, 4.4 ns, and 2.7 on `bcsstk16`, whose do not; `cvxbqp1`,
    /// `delaunay_n16` and `rgg_n_2_15` in slots 0.9 to 1.0 ns a place. On a later one (Zen 5), which ends short rows by vectors under masks,
    /// `wave` and `Dubcova1` take 1.07 and 1.04 of it in slots, 0.45 and 0.38 ns a place, `delaunay_n16` and `cnr-2000` 0.75 and 0.8. On
    /// Zen 4, whose vectors of 64 bytes take two cycles, a place of a slot takes 0.57 ns (`cvxbqp1`, `rgg_n_2_15`), and a row that asks for
    /// none behind it 1.1 to 1.5 ns beside its entries (`delaunay_n16`, `USA-road-d.NY`).
    pub fn of(machine: &Machine) -> Costs {
        let Machine { cycle, missed_branch, vectors, caches, .. } = machine;
        let is_wide = machine.vector_bytes() == 64;
        let gather = if is_wide { vectors.gather_8 } else { vectors.gather_4 };
        let gathers = machine.filling() == Filling::Gathers;
        // Loads and inserts overlap with those of the next elements better than gathers do.
        let (filled, overlap) = if gathers { (gather, 1.6) } else { (vectors.insert, 1.0) };
        let multiplied = if is_wide { vectors.multiply_add_64 } else { vectors.multiply_add_32 };
        let multiplied = multiplied / f64::from(machine.vector_bytes() / VALUE);
        let bandwidth = |gigabytes: f64| gigabytes.max(1e-3);
        Costs {
            cache: caches.level_2 as f64,
            near_byte: 1.3 / bandwidth(caches.from_level_2),
            far_byte: 1.1 / bandwidth(caches.from_beyond),
            entry: cycle * overlap * (filled + multiplied),
            place: cycle * (0.35 + multiplied),
            // Without masks, addresses are selected in vectors, and taken out of them again.
            apart: cycle
                * match (gathers, is_wide) {
                    (true, _) => 0.1,
                    (false, true) => 0.35 + 0.7 * vectors.multiply_add_64,
                    (false, false) => 1.9,
                },
            row: cycle * if machine.reach().asks_from > 0 { 4.8 } else { 6.5 },
            slice: cycle * 3.6,
            // Every other of such branches goes as foreseen.
            changed: cycle * missed_branch / 2.0,
            small_block: cycle * if gathers { 7.0 } else { 3.5 },
            block: cycle * 7.0,
            uneven_block: cycle * 14.0,
            bit: cycle * (0.45 + multiplied),
            narrowed: cycle * 13.0,
            slotted: cycle * 22.0,
            blocked: cycle * 36.0,
            listed: cycle * 29.0,
            placed: cycle * 14.0,
        }
    }
}

/// The bytes of a value that costs are stated for.
const VALUE: u32 = 8;

impl Costs {
    /// The time of that many bytes of a matrix of so many.
    pub(super) fn read(&self, bytes: f64) -> f64 {
        bytes * if bytes <= self.cache { self.near_byte } else { self.far_byte }
    }
}

/// A candidate may take at most this many times the bytes and the time of compressed rows.
const FAR: u64 = 2;
/// A matrix has few rows with entries if it has so many times as many rows.
const FEW: f64 = 8.0;
/// A window that costs this much more than another is as good if it is smaller.
const HARDLY: f64 = 0.03;
/// Rows are sorted in so many windows at least, with fewer of which threads would share heavy and light slices badly (measured on
/// `cit-HepPh` and `gowalla`, 30,000 rows: windows of 8192 take 1.6 times as long as those of 1024 on two threads); a matrix of fewer
/// rows than `SMALL` is sorted as one of so many.
const SHARES: u64 = 32;
const SMALL: u64 = 1 << 15;
/// Places that a word of a bitmap is of, and its bytes with those of its rank.
const WORD: u64 = 64;
const WORD_BYTES: f64 = 12.0;

/// A matrix that is looked at: rows are those of the lists, which are columns of one that is stored by columns.
pub(super) struct Matrix<'a> {
    /// Its rows.
    pub lists: Lists<'a>,
    /// Its numbers of rows and columns.
    pub rows: u64,
    /// See `rows`.
    pub columns: u64,
    /// Bytes of a value.
    pub value: u64,
    /// True if formats that fill up, and widths of indices, may be chosen.
    pub padded: bool,
    /// See `padded`.
    pub narrow: bool,
    /// The costs of kernels.
    pub costs: &'a Costs,
}

impl Matrix<'_> {
    /// Formats for the matrix, compressed rows first.
    ///
    /// # Errors
    /// None that can occur: the formats are well-formed.
    pub fn candidates(&self) -> Result<Vec<Candidate>, FormatError> {
        let structure = Structure::of(self.lists);
        let mut found = vec![self.in_rows(&structure, IndexWidth::W32)];
        if self.narrow && self.columns <= 1 << 16 && self.columns > 0 {
            found.push(self.in_rows(&structure, IndexWidth::W16));
        }
        if structure.full_rows * FEW <= self.rows as f64 {
            found.push(self.in_full_rows(&structure));
        }
        if self.padded {
            self.in_blocks(&structure, &mut found)?;
            self.in_slots(&structure, &mut found)?;
            let csr = &found[0];
            let most = csr.bytes.max(self.bytes_like(csr.nanoseconds)).saturating_mul(FAR)
                / self.rows.saturating_mul(self.value).max(1);
            found.extend(
                count_diagonals(self.lists, [self.rows, self.columns], most)
                    .map(|diagonals| self.in_diagonals(diagonals)),
            );
            found.extend(self.in_places());
        }
        let (bytes, time) = (found[0].bytes, found[0].nanoseconds);
        let near = |one: &Candidate| one.bytes <= bytes.saturating_mul(FAR) && one.nanoseconds <= time * FAR as f64;
        let dcsr = Format::dcsr();
        found.retain(|one| near(one) || one.format == dcsr);
        Ok(found)
    }

    /// The bytes that are read in a time.
    fn bytes_like(&self, time: f64) -> u64 {
        (time / self.costs.far_byte) as u64
    }

    fn entries(&self) -> f64 {
        self.lists.entries() as f64
    }

    /// The bytes of the starts of so many segments.
    fn starts(&self, count: f64) -> f64 {
        (count + 1.0) * if self.lists.entries() as u64 <= IndexWidth::W32.max() { 4.0 } else { 8.0 }
    }

    /// The bytes of a coordinate below so many.
    fn coordinate(&self, size: u64, narrowest: IndexWidth) -> f64 {
        f64::from(IndexWidth::for_max(size.saturating_sub(1)).wider(narrowest).bits() / 8)
    }

    /// The narrowest width that may be chosen for so many coordinates, and the bytes of one.
    fn narrowest(&self, size: u64) -> (IndexWidth, f64) {
        let width = if self.narrow && size <= 1 << 16 { IndexWidth::W16 } else { IndexWidth::W32 };
        (width, self.coordinate(size, width))
    }

    fn candidate(&self, format: Format, bytes: f64, work: f64, loops: f64, convert: f64, why: String) -> Candidate {
        let nanoseconds = self.costs.read(bytes).max(work) + loops;
        Candidate { format, bytes: bytes as u64, nanoseconds, convert, why, measured: None }
    }

    fn in_rows(&self, structure: &Structure, width: IndexWidth) -> Candidate {
        let coordinate = self.coordinate(self.columns, width);
        let bytes = self.entries() * (coordinate + self.value as f64) + self.starts(self.rows as f64);
        let loops = self.rows as f64 * self.costs.row + structure.changes * self.costs.changed;
        let format = Format::csr().with_coordinates(1, width);
        let (convert, why) = match width {
            IndexWidth::W16 => {
                (self.costs.narrowed, format!("2 bytes for each of less than {} columns", (1u64 << 16) + 1))
            }
            _ => (0.0, "coordinates of every entry".to_string()),
        };
        self.candidate(format, bytes, self.entries() * self.costs.entry, loops, convert * self.entries(), why)
    }

    fn in_full_rows(&self, structure: &Structure) -> Candidate {
        let coordinate = self.coordinate(self.columns, IndexWidth::W32);
        let lists = structure.full_rows * self.coordinate(self.rows, IndexWidth::W32);
        let starts = self.starts(structure.full_rows) + self.starts(1.0);
        let bytes = self.entries() * (coordinate + self.value as f64) + starts + lists;
        let loops = structure.full_rows * self.costs.row + structure.changes * self.costs.changed;
        let why = format!("{:.0} of {} rows have entries", structure.full_rows, self.rows);
        let (work, convert) = (self.entries() * self.costs.entry, self.entries() * self.costs.listed);
        self.candidate(Format::dcsr(), bytes, work, loops, convert, why)
    }

    fn in_blocks(&self, structure: &Structure, found: &mut Vec<Candidate>) -> Result<(), FormatError> {
        let sizes = BLOCKS.into_iter().zip(structure.blocks);
        for (block, blocks) in sizes.filter(|(block, _)| *block <= self.rows.min(self.columns)) {
            let places = blocks * (block * block) as f64;
            let why = format!("blocks of {block} x {block} are {:.0}% full", percent(self.entries(), places));
            // A narrower coordinate for each block would save little.
            let coordinate = self.coordinate(self.columns.div_ceil(block), IndexWidth::W32);
            let block_rows = self.rows.div_ceil(block) as f64;
            let bytes = places * self.value as f64 + blocks * coordinate + self.starts(block_rows);
            let is_whole = self.rows.is_multiple_of(block) && self.columns.is_multiple_of(block);
            let each = match (block, is_whole) {
                (2, _) => self.costs.small_block,
                (_, true) => self.costs.block,
                (_, false) => self.costs.uneven_block,
            };
            let work = (blocks * each).max(places * self.costs.place);
            let format = Format::bcsr(block as u32, block as u32)?;
            let convert = self.entries() * self.costs.blocked;
            found.push(self.candidate(format, bytes, work, block_rows * self.costs.row, convert, why));
        }
        Ok(())
    }

    fn in_slots(&self, structure: &Structure, found: &mut Vec<Candidate>) -> Result<(), FormatError> {
        // Slices take neighboring rows, and lists leave out empty ones.
        if self.lists.len() as u64 * 2 < self.rows {
            return Ok(());
        }
        let (slices, mean) = (self.rows.div_ceil(SLICE) as f64, self.entries() / self.rows.max(1) as f64);
        let mut sorted: Vec<Candidate> = Vec::new();
        let largest = self.rows.max(SMALL) / SHARES;
        let windows = WINDOWS.into_iter().zip(structure.slots).filter(|(window, _)| *window <= largest);
        for (window, (slots, changes)) in windows {
            let places = slots * SLICE as f64;
            let order =
                if window == SLICE { String::new() } else { format!("sorted by length in windows of {window}, ") };
            let full = percent(self.entries(), places);
            let why = format!("rows of {mean:.1} entries, {order}{SLICE} at a time in vector lanes, {full:.0}% full");
            let ranks = if window == SLICE { 0.0 } else { self.rows as f64 * 4.0 };
            // The largest number of a width says that a place is free.
            let (width, coordinate) = self.narrowest(self.columns.saturating_add(1));
            let bytes = places * (coordinate + self.value as f64) + self.starts(slices) + ranks;
            let apart = places * self.costs.apart;
            let loops = slices * self.costs.slice + changes * self.costs.changed + apart;
            let format = match window {
                SLICE => Format::sell(SLICE as u32)?,
                _ => Format::sell_sorted(SLICE as u32, window as u32)?,
            };
            let (work, convert) = (places * self.costs.entry, self.entries() * self.costs.slotted);
            sorted.push(self.candidate(format.with_coordinates(3, width), bytes, work, loops, convert, why));
        }
        let least = sorted.iter().map(|one| one.nanoseconds).fold(f64::INFINITY, f64::min);
        let best = sorted.iter().find(|one| one.nanoseconds <= least * (1.0 + HARDLY)).cloned();
        let unsorted = sorted.into_iter().next();
        found.extend(best.iter().filter(|best| unsorted.as_ref().is_none_or(|one| one.format != best.format)).cloned());
        found.extend(unsorted);
        Ok(())
    }

    fn in_diagonals(&self, diagonals: u64) -> Candidate {
        let places = diagonals as f64 * self.rows as f64;
        let why = format!("{diagonals} diagonals, {:.0}% full", percent(self.entries(), places));
        let (bytes, work) = (places * self.value as f64 + diagonals as f64 * 4.0, places * self.costs.place);
        self.candidate(Format::dia(), bytes, work, 0.0, places * self.costs.placed, why)
    }

    /// All elements, and bitmaps of those that are stored.
    fn in_places(&self) -> Vec<Candidate> {
        let places = self.rows as f64 * self.columns as f64;
        let why = format!("{:.1}% of all places hold entries", percent(self.entries(), places));
        let bytes = places * self.value as f64;
        let (work, convert) = (places * self.costs.place, places * self.costs.placed);
        let dense = self.candidate(Format::dense(2), bytes, work, 0.0, convert, why.clone());
        let words = self.rows as f64 * self.columns.div_ceil(WORD) as f64;
        let bytes = self.entries() * self.value as f64 + words * WORD_BYTES;
        let loops = self.rows as f64 * self.costs.row;
        let convert = self.entries() * self.costs.listed;
        let Ok(bitmap) = "db".parse::<FormatSpec>().and_then(|spec| spec.resolve(2)) else { return vec![dense] };
        vec![dense, self.candidate(bitmap, bytes, places * self.costs.bit, loops, convert, why)]
    }
}

fn percent(part: f64, all: f64) -> f64 {
    100.0 * part / all.max(1.0)
}

/// The reason for a candidate beside another one, in words.
pub(super) fn against(best: &Candidate, other: &Candidate, entries: u64) -> String {
    let each = |one: &Candidate| one.nanoseconds / entries.max(1) as f64;
    format!(
        "{} instead of {} as {}; about {:.2} ns an entry instead of {:.2}",
        bytes_text(best.bytes),
        bytes_text(other.bytes),
        other.format,
        each(best),
        each(other)
    )
}
