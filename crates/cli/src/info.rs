//! `lacunar info`: a description of the tensor in a file, or of the machine that kernels are made for.
//!
//! ```text
//! stiffness.mtx: matrix 5 x 5, 13 entries (9 in the file, symmetric), f64
//! density 52%, diagonal 5 of 5, bandwidth 1 below, 1 above, pattern symmetric
//! structure -p A:symmetric, -p 'A:banded(1,1)'
//! ```

use lacunar::{Coo, DynTensor, Format, FoundStructure, IndexWidth, Options, Structured};
use lacunar_base::amounts::bytes_text;
use lacunar_runtime::io::{self, Compression, Data, FieldKind, FileFormat, Metadata, Symmetry};
use lacunar_runtime::lists::Lists;
use serde::Serialize;

use crate::args::InfoArgs;
use crate::convert::{Stored, list_of, read_options, stored};
use crate::failure::Failure;
use crate::inputs::{dims_of, sizes_text};
use crate::measure::number;
use crate::output;
use crate::recommend::{Recommendation, Recommended};

/// The description of a file.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    format: &'static str,
    compression: &'static str,
    field: &'static str,
    symmetry: &'static str,
    dtype: &'static str,
    dims: Vec<u64>,
    /// Entries in the file.
    stored: u64,
    /// Entries with symmetry expanded and repeated ones added up.
    nnz: u64,
    /// Entries over places; null where there is no place.
    density: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matrix: Option<Matrix>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modes: Vec<Mode>,
    /// The structures of the elements.
    structures: Vec<Found>,
    /// Bytes in each named format.
    memory: Vec<Memory>,
    /// Formats that may suit a matrix, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recommended: Vec<Recommended>,
    /// They, in words.
    #[serde(skip)]
    recommendation: Vec<String>,
}

/// The description of a matrix.
#[derive(Debug, Serialize)]
struct Matrix {
    rows: Lengths,
    columns: Lengths,
    /// The largest distance of an entry from the diagonal, below and above it.
    bandwidth: [u64; 2],
    /// Entries on the diagonal.
    diagonal: u64,
    /// True if each entry has one at its mirror image.
    pattern_symmetric: bool,
}

/// The numbers of entries of rows (or columns).
#[derive(Debug, Serialize)]
struct Lengths {
    empty: u64,
    min: u64,
    median: u64,
    mean: f64,
    max: u64,
}

/// A structure of the elements.
#[derive(Debug, Serialize)]
struct Found {
    name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<i64>,
    /// The value of `-p`, for a tensor `A`.
    flag: String,
    meaning: &'static str,
}

/// The description of one dimension of a tensor.
#[derive(Debug, Serialize)]
struct Mode {
    size: u64,
    /// Coordinates with an entry.
    slices: u64,
    /// Lines along this dimension with an entry.
    fibers: u64,
}

#[derive(Debug, Serialize)]
struct Memory {
    format: &'static str,
    bytes: u128,
}

/// The storage that a format makes of a file's tensor.
#[derive(Debug, Serialize)]
struct Arrays {
    file: String,
    format: String,
    /// Entries, without padding.
    entries: u64,
    levels: Vec<LevelArrays>,
    values: u64,
    dtype: &'static str,
    bytes: u64,
}

/// The arrays of a level.
#[derive(Debug, Serialize)]
struct LevelArrays {
    kind: &'static str,
    arrays: Vec<StoredArray>,
}

#[derive(Debug, Serialize)]
struct StoredArray {
    name: &'static str,
    dtype: &'static str,
    length: u64,
}

impl Arrays {
    fn of(file: String, tensor: &DynTensor) -> Arrays {
        let mut bytes = tensor.values().bytes();
        let level = |level: &lacunar_runtime::storage::LevelStorage| {
            let arrays = level.arrays().map(|(name, array)| {
                bytes += array.bytes();
                StoredArray { name, dtype: array.dtype().name(), length: array.len() as u64 }
            });
            LevelArrays { kind: level.kind().info().name, arrays: arrays.collect() }
        };
        let levels = tensor.levels().iter().map(level).collect();
        Arrays {
            file,
            format: tensor.format().to_string(),
            entries: tensor.count_entries(),
            levels,
            values: tensor.values().len() as u64,
            dtype: tensor.dtype().name(),
            bytes,
        }
    }

    fn text(&self) -> String {
        let Arrays { file, format, entries, levels, values, dtype, bytes } = self;
        let each = |(number, level): (usize, &LevelArrays)| {
            let array = |array: &StoredArray| format!(", {} {} x {}", array.name, array.length, array.dtype);
            format!("level {}: {}{}\n", number + 1, level.kind, level.arrays.iter().map(array).collect::<String>())
        };
        let levels: String = levels.iter().enumerate().map(each).collect();
        let size = bytes_text(*bytes);
        format!("{file} as {format}: {entries} entries, {size}\n{levels}values: {values} x {dtype}\n")
    }
}

/// Describes a file.
///
/// # Errors
/// It can't be read or is malformed, memory is refused.
pub fn info(args: &InfoArgs) -> Result<(), Failure> {
    let text = match &args.file {
        Some(file) if args.format.is_some() => {
            let data = io::read(file, &read_options(args.files))?;
            let Stored { tensor, .. } = stored(data, args.format.as_deref().unwrap_or_default())?;
            let arrays = Arrays::of(file.display().to_string(), &tensor);
            if args.json { json(&arrays)? } else { arrays.text() }
        }
        Some(file) => {
            let (data, metadata) = io::read_described(file, &read_options(args.files))?;
            let info = describe(file.display().to_string(), data, metadata, args.measure)?;
            if args.json { json(&info)? } else { info.text() }
        }
        None => {
            let machine = args.machine.clone().flatten();
            let machine = lacunar::machine(&Options { machine, ..Options::default() })?;
            if args.json { json(&*machine)? } else { format!("{}\n# {}\n", machine.to_toml(), machine.explain()) }
        }
    };
    output::print(text.as_bytes())
}

fn json(described: &impl Serialize) -> Result<String, Failure> {
    let internal = |error: serde_json::Error| Failure::plain(lacunar::Diagnostic::internal(error.to_string()));
    Ok(serde_json::to_string(described).map_err(internal)? + "\n")
}

fn describe(file: String, data: Data, metadata: Metadata, measured: bool) -> Result<Info, Failure> {
    let dims = dims_of(&data).to_vec();
    let coo = list_of(data)?;
    let dtype = coo.values.dtype();
    let rows_first = fibers_last(&coo, dims.len().saturating_sub(1))?;
    let nnz = rows_first.nnz();
    let places = dims.iter().fold(1.0, |product, &size| product * size as f64);
    let (mut matrix, mut modes, mut recommended) = (None, Vec::new(), None);
    let mut outermost = rows_first.level_counts().first().copied().unwrap_or(nnz);
    if let &[rows, columns] = dims.as_slice() {
        let columns_first = permuted(&coo, vec![1, 0])?;
        if let (Some(by_rows), Some(by_columns)) = (Lists::of(&rows_first), Lists::of(&columns_first)) {
            matrix = Some(matrix_info([rows, columns], nnz, by_rows, by_columns));
        }
        let mut found = Recommendation::of(&rows_first)?;
        if measured {
            found.measure(&rows_first)?;
        }
        recommended = Some(found);
    } else if dims.len() > 2 {
        for (mode, &size) in dims.iter().enumerate() {
            modes.push(mode_info(&coo, mode, size)?);
        }
        outermost = modes[0].slices;
    }
    let structures = rows_first.structures().map_err(lacunar::Error::from)?.into_iter().map(Found::of).collect();
    let memory = memory(&dims, nnz, outermost, &rows_first, matrix.as_ref(), dtype.size() as u128);
    Ok(Info {
        file,
        format: format_name(metadata.format),
        compression: compression_name(metadata.compression),
        field: field_name(metadata.field),
        symmetry: symmetry_name(metadata.symmetry),
        dtype: dtype.name(),
        stored: metadata.stored,
        nnz,
        density: (places > 0.0).then(|| nnz as f64 / places),
        dims,
        matrix,
        modes,
        structures,
        memory,
        recommended: recommended.as_ref().map_or_else(Vec::new, Recommendation::formats),
        recommendation: recommended.as_ref().map_or_else(Vec::new, Recommendation::text),
    })
}

/// The tensor with all levels compressed, dimension `mode` innermost.
fn fibers_last(coo: &Coo, mode: usize) -> Result<DynTensor, Failure> {
    let order = coo.dims.len();
    let mut modes: Vec<usize> = (0..order).filter(|&other| other != mode).collect();
    modes.extend((order > 0).then_some(mode));
    permuted(coo, modes)
}

fn permuted(coo: &Coo, modes: Vec<usize>) -> Result<DynTensor, Failure> {
    let format = Format::csf(modes.len()).with_mode_order(modes);
    let format = format.map_err(|error| Failure::plain(lacunar::Diagnostic::internal(error.to_string())))?;
    Ok(DynTensor::from_coo(coo.clone(), &format)?)
}

fn mode_info(coo: &Coo, mode: usize, size: u64) -> Result<Mode, Failure> {
    let along = fibers_last(coo, mode)?;
    let fibers = along.level_counts().iter().rev().nth(1).copied().unwrap_or(1);
    let mut modes = vec![mode];
    modes.extend((0..coo.dims.len()).filter(|&other| other != mode));
    let slices = permuted(coo, modes)?.level_counts().first().copied().unwrap_or(0);
    Ok(Mode { size, slices, fibers })
}

fn matrix_info([rows, columns]: [u64; 2], nnz: u64, by_rows: Lists<'_>, by_columns: Lists<'_>) -> Matrix {
    let mut bandwidth = [0, 0];
    let mut diagonal = 0;
    for (row, places) in by_rows.rows() {
        for place in places {
            let column = by_rows.column(place);
            diagonal += u64::from(row == column);
            bandwidth[0] = bandwidth[0].max(row.saturating_sub(column));
            bandwidth[1] = bandwidth[1].max(column.saturating_sub(row));
        }
    }
    let pattern_symmetric = rows == columns && by_rows.same_as(by_columns);
    let (rows, columns) = (lengths(by_rows, rows, nnz), lengths(by_columns, columns, nnz));
    Matrix { rows, columns, bandwidth, diagonal, pattern_symmetric }
}

/// The lengths of so many rows, of which those listed have entries.
fn lengths(lists: Lists<'_>, count: u64, nnz: u64) -> Lengths {
    let mut lengths: Vec<u64> = lists.rows().map(|(_, places)| places.len() as u64).collect();
    lengths.sort_unstable();
    let empty = count.saturating_sub(lists.len() as u64);
    // The shortest row, the next one, ...: the empty ones are first.
    let length =
        |place: u64| place.checked_sub(empty).and_then(|place| lengths.get(place as usize)).copied().unwrap_or(0);
    Lengths {
        empty,
        min: length(0),
        median: length(count / 2),
        mean: if count > 0 { nnz as f64 / count as f64 } else { 0.0 },
        max: lengths.last().copied().unwrap_or(0),
    }
}

/// Bytes in each named format, from the numbers of entries; `csf` is the tensor with all levels compressed.
fn memory(dims: &[u64], nnz: u64, slices: u64, csf: &DynTensor, matrix: Option<&Matrix>, value: u128) -> Vec<Memory> {
    let (nnz, places) = (u128::from(nnz), dims.iter().map(|&size| u128::from(size)));
    let width = |largest: u128| if largest <= u128::from(IndexWidth::W32.max()) { 4 } else { 8 };
    let coordinate = |mode: usize| width(u128::from(dims[mode].saturating_sub(1)));
    let position = width(nnz);
    let dense = places.fold(value, u128::saturating_mul);
    let mut list = vec![Memory { format: "dense", bytes: dense }];
    if !dims.is_empty() {
        list.push(Memory {
            format: "coo",
            bytes: nnz * ((0..dims.len()).map(coordinate).sum::<u128>() + value) + 2 * position,
        });
    }
    if let (Some(matrix), &[rows, columns]) = (matrix, dims) {
        let starts = |count: u64| (u128::from(count) + 1) * position;
        let full = |count: u64, empty: u64| u128::from(count - empty);
        let (some_rows, some_columns) = (full(rows, matrix.rows.empty), full(columns, matrix.columns.empty));
        let entries = |mode: usize| nnz * (coordinate(mode) + value);
        let lists = |mode: usize, count: u128| 2 * position + count * coordinate(mode) + (count + 1) * position;
        list.push(Memory { format: "csr", bytes: starts(rows) + entries(1) });
        list.push(Memory { format: "csc", bytes: starts(columns) + entries(0) });
        list.push(Memory { format: "dcsr", bytes: lists(0, some_rows) + entries(1) });
        list.push(Memory { format: "dcsc", bytes: lists(1, some_columns) + entries(0) });
    } else if dims.len() == 1 {
        list.push(Memory { format: "sv", bytes: 2 * position + u128::from(slices) * (coordinate(0) + value) });
    } else if dims.len() > 2 {
        list.push(Memory { format: "csf", bytes: u128::from(csf.bytes()) });
    }
    list
}

impl Found {
    fn of(found: FoundStructure) -> Found {
        let flag = format!("A:{found}");
        Found { name: found.named.name, arguments: found.arguments, flag, meaning: found.named.meaning }
    }

    /// The value of `-p`, as a shell takes it.
    fn quoted(&self) -> String {
        if self.arguments.is_empty() { self.flag.clone() } else { format!("'{}'", self.flag) }
    }
}

impl Info {
    fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: {}, {} entries, {} ({}, {}{}; {} stored, {})",
            self.file,
            sizes_text(&self.dims),
            self.nnz,
            self.dtype,
            self.format,
            self.field,
            if self.compression == "none" { String::new() } else { format!(", {}", self.compression) },
            self.stored,
            self.symmetry,
        )];
        if let Some(density) = self.density {
            lines.push(format!("density     {}", number(density)));
        }
        if let Some(matrix) = &self.matrix {
            for (what, lengths) in [("rows", &matrix.rows), ("columns", &matrix.columns)] {
                let Lengths { empty, min, median, mean, max } = lengths;
                let mean = number(*mean);
                lines.push(format!(
                    "{what:<11} entries min {min}, median {median}, mean {mean}, max {max}; {empty} empty"
                ));
            }
            let [below, above] = matrix.bandwidth;
            lines.push(format!("bandwidth   {below} below the diagonal, {above} above"));
            let places = self.dims.iter().min().copied().unwrap_or(0);
            lines.push(format!("diagonal    {} of {places}", matrix.diagonal));
            lines.push(format!("pattern     {}symmetric", if matrix.pattern_symmetric { "" } else { "not " }));
        }
        for (place, Mode { size, slices, fibers }) in self.modes.iter().enumerate() {
            lines.push(format!("mode {place}      size {size}, {slices} coordinates used, {fibers} fibers along it"));
        }
        let width = self.structures.iter().map(|found| found.quoted().len()).max().unwrap_or(0);
        for found in &self.structures {
            lines.push(format!("structure   -p {:<width$}  {}", found.quoted(), found.meaning));
        }
        for Memory { format, bytes } in &self.memory {
            let bytes = u64::try_from(*bytes).map_or_else(|_| "too large".to_string(), bytes_text);
            lines.push(format!("{format:<11} {bytes}"));
        }
        lines.extend(self.recommendation.iter().cloned());
        lines.join("\n") + "\n"
    }
}

fn format_name(format: FileFormat) -> &'static str {
    match format {
        FileFormat::MatrixMarket => "Matrix Market",
        FileFormat::Frostt => "FROSTT",
        FileFormat::EdgeList => "edge list",
        FileFormat::Npy => "NumPy",
        FileFormat::Npz => "NumPy archive",
        FileFormat::HarwellBoeing => "Harwell-Boeing",
        FileFormat::Binsparse => "Binsparse",
    }
}

fn compression_name(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
    }
}

fn field_name(field: FieldKind) -> &'static str {
    match field {
        FieldKind::Real => "real",
        FieldKind::Integer => "integer",
        FieldKind::Complex => "complex",
        FieldKind::Pattern => "pattern",
    }
}

fn symmetry_name(symmetry: Symmetry) -> &'static str {
    match symmetry {
        Symmetry::General => "general",
        Symmetry::Symmetric => "symmetric",
        Symmetry::SkewSymmetric => "skew-symmetric",
        Symmetry::Hermitian => "hermitian",
    }
}
