//! Reads the collection of real, odd and broken files at `../shared/data`, seen from the root of the repository, where
//! it is there.
//!
//! Every file of `small` and `medium` must give the content in `ORACLE.tsv`, and every file of `small/tricky` must be
//! taken or refused as the table in `EXPECT.md` says.

use std::path::{Path, PathBuf};

use lacunar_base::day::is_turn;
use lacunar_runtime::coo::Coo;
use lacunar_runtime::io::{self, Data, IndexBase, IoError, Metadata, ReadOptions};
use lacunar_runtime::values::Values;
use num_complex::Complex;

/// The folder of the collection; says so where it is missing.
fn collection() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.join("ORACLE.tsv").is_file() {
        return Some(folder);
    }
    eprintln!("SKIPPED: the collection of files is not at {}", folder.display());
    None
}

/// The values as complex numbers, whatever they are.
fn complex_values(values: &Values) -> Vec<Complex<f64>> {
    match values {
        Values::F64(v) => v.iter().map(|&x| x.into()).collect(),
        Values::I64(v) => v.iter().map(|&x| (x as f64).into()).collect(),
        Values::C128(v) => v.clone(),
        other => panic!("no reader gives {:?}", other.dtype()),
    }
}

/// The size of each dimension, the number of entries, and the values.
fn summary(data: &Data) -> (Vec<u64>, Vec<Complex<f64>>) {
    match data {
        Data::Coordinate(coo) => {
            check(coo);
            (coo.dims.clone(), complex_values(&coo.values))
        }
        Data::Dense(dense) => {
            assert_eq!(dense.values.len() as u64, dense.dims.iter().product::<u64>());
            (dense.dims.clone(), complex_values(&dense.values))
        }
    }
}

/// Checks the properties of every coordinate list.
fn check(coo: &Coo) {
    assert_eq!(coo.coords.len(), coo.dims.len());
    for (coords, &size) in coo.coords.iter().zip(&coo.dims) {
        assert_eq!(coords.len(), coo.values.len());
        assert!((0..coords.len()).all(|k| coords.get(k).is_some_and(|c| c < size)));
    }
}

/// The size of files, in bytes, of which a day reads one in three.
const LARGE: u64 = 200_000;

#[test]
fn files_match_the_oracle() {
    let Some(folder) = collection() else { return };
    let oracle = std::fs::read_to_string(folder.join("ORACLE.tsv")).expect("the oracle is readable");
    let (mut read, mut large) = (0, 0);
    for row in oracle.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [name, sizes, stored, expanded, _, _, sum, squares] = fields.as_slice() else { panic!("a row: {row}") };
        let path = folder.join(name);
        if path.metadata().is_ok_and(|file| file.len() > LARGE) {
            large += 1;
            if !is_turn(large, 3) {
                continue;
            }
        }
        let base = if name.contains("zeroidx") { IndexBase::Zero } else { IndexBase::One };
        let options = ReadOptions { base, progress: false, ..ReadOptions::default() };
        let (data, metadata) = io::read_described(&path, &options).unwrap_or_else(|e| panic!("{e}"));
        let (dims, values) = summary(&data);
        // The oracle gives the largest indices as sizes, also where they start at 0.
        let past_largest = u64::from(base == IndexBase::Zero);
        let sizes: Vec<u64> = parse_dims(sizes).expect("sizes").iter().map(|size| size + past_largest).collect();
        assert_eq!(dims, sizes, "{name}");
        assert_eq!(metadata.stored.to_string(), *stored, "{name}");
        assert_eq!(values.len().to_string(), *expanded, "{name}");
        close(name, values.iter().sum(), sum, values.iter().map(|v| v.norm()).sum());
        let total = values.iter().map(Complex::norm_sqr).sum::<f64>();
        close(name, total.into(), squares, total);
        read += 1;
    }
    assert!(read > 150, "only {read} files were read");
}

/// The entries in an order that does not depend on the file.
fn sorted_entries(data: &Data) -> Vec<(u64, u64, Complex<f64>)> {
    let Data::Coordinate(coo) = data else { panic!("an array") };
    let place = |mode: usize, k| coo.coords[mode].get(k).expect("as many coordinates as values");
    let values = complex_values(&coo.values);
    let mut entries: Vec<_> = values.iter().enumerate().map(|(k, &v)| (place(0, k), place(1, k), v)).collect();
    entries.sort_by_key(|&(row, column, _)| (row, column));
    entries
}

/// A file that holds, as its key says, `well1850`: the same places as `illc1850`, but other values.
const OTHER_VALUES: &str = "illc1850.rra.gz";

#[test]
fn both_forms_of_a_matrix_are_the_same() {
    let Some(folder) = collection() else { return };
    let mut pairs = 0;
    let options = ReadOptions { progress: false, ..ReadOptions::default() };
    for item in std::fs::read_dir(folder.join("small")).expect("listed") {
        let path = item.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let fixed_width = [".rb", ".rua", ".rsa", ".psa", ".rra", ".cua", ".pse"];
        let Some((stem, ending)) = name.split_once('.') else { continue };
        if !fixed_width.iter().any(|kind| format!(".{ending}").trim_end_matches(".gz") == *kind) {
            continue;
        }
        let outcome = io::read(&path, &options);
        if ending == "pse" {
            assert!(outcome.is_err_and(|error| error.to_string().contains("unassembled")));
            continue;
        }
        let data = outcome.unwrap_or_else(|e| panic!("{e}"));
        let other = ["mtx", "mtx.gz"].map(|ending| folder.join("small").join(format!("{stem}.{ending}")));
        let Some(other) = other.iter().find(|path| path.exists()) else { continue };
        let other = io::read(other, &options).unwrap_or_else(|e| panic!("{e}"));
        let (ours, theirs) = (sorted_entries(&data), sorted_entries(&other));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (a, b) in ours.iter().zip(&theirs) {
            assert_eq!((a.0, a.1), (b.0, b.1), "{name}");
            // The forms may show different numbers of digits.
            assert!(name == OTHER_VALUES || (a.2 - b.2).norm() <= 1e-6 * b.2.norm(), "{name}: {a:?} {b:?}");
        }
        pairs += 1;
    }
    assert!(pairs > 8, "only {pairs} pairs");
}

/// Compares a sum with a text, up to rounding relative to `scale`.
fn close(name: &str, found: Complex<f64>, expected: &str, scale: f64) {
    let expected = parse_complex(expected).unwrap_or_else(|| panic!("{name}: a sum {expected}"));
    assert!((found - expected).norm() <= 1e-9 * scale.max(1e-300), "{name}: {found} is not {expected}");
}

/// Reads `1.5`, `1+2i`, `(1+2j)`.
fn parse_complex(text: &str) -> Option<Complex<f64>> {
    let text = text.trim_matches(['(', ')']).replace('j', "i");
    text.parse::<f64>().map(Complex::from).ok().or_else(|| text.parse().ok())
}

/// Reads `3x4`, `3e9 x 5e9`, `7`, `2^8` (eight dimensions of size 2), `2^32 square`.
fn parse_dims(text: &str) -> Option<Vec<u64>> {
    let number = |text: &str| -> Option<u64> {
        let text = text.trim();
        if let Some((power, less)) = text.split_once('-') {
            return Some(power.strip_prefix("2^")?.parse().ok().map(|p: u32| 1u64 << p)? - less.parse::<u64>().ok()?);
        }
        if let Some(power) = text.strip_prefix("2^") {
            return power.parse().ok().map(|p: u32| 1u64 << p);
        }
        text.parse().ok().or_else(|| text.contains('e').then(|| text.parse::<f64>().ok().map(|x| x as u64))?)
    };
    if let Some(size) = text.strip_suffix(" square") {
        return Some(vec![number(size)?; 2]);
    }
    text.split('x').map(number).collect()
}

/// Files that the table wants refused as counting from 0, though they count from 1.
const MISTAKEN_ROWS: [&str; 2] = ["mm-suite/russell__ok_complex_general.mtx", "mm-suite/russell__ok_general.mtx"];

/// Files that the table wants taken as lenient readers do, though their content contradicts the symmetry that they
/// announce.
const CONTRADICTIONS: [&str; 6] = [
    "mm-suite/fmm__matrix_coordinate_complex_hermitian.mtx",
    "mm-suite/fmm__matrix_coordinate_real_skew-symmetric.mtx",
    "mm-suite/fmm__symmetry__small_full_symmetric_pattern.mtx",
    "mm-suite/russell__ok2.mtx",
    "mm-suite/russell__ok_complex_hermitian.mtx",
    "mm-suite/sprs__hermitian.mtx",
];

#[test]
fn odd_and_broken_files_behave_as_expected() {
    let Some(folder) = collection() else { return };
    let folder = folder.join("small/tricky");
    let table = std::fs::read_to_string(folder.join("EXPECT.md")).expect("the table is readable");
    let mut wrong = Vec::new();
    let mut rows = 0;
    let mut facts = 0;
    for row in table.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let ["", name, verdict @ ("accept" | "reject" | "either"), content, ..] = cells.as_slice() else { continue };
        rows += 1;
        let verdict = match name {
            name if MISTAKEN_ROWS.contains(name) => &"accept",
            name if CONTRADICTIONS.contains(name) => &"reject",
            _ => verdict,
        };
        let outcome = io::read_described(&folder.join(name), &ReadOptions { progress: false, ..Default::default() });
        let complaint = match (*verdict, &outcome) {
            ("accept", Err(error)) => Some(format!("refused: {error}")),
            ("reject", Ok((data, _))) => Some(format!("taken: {:?}", summary(data).0)),
            (_, Ok((data, metadata))) => {
                facts += content_facts(content, data, metadata);
                content_difference(content, data, metadata)
            }
            (_, Err(error)) => error_complaint(error),
        };
        wrong.extend(complaint.map(|complaint| format!("{name} ({verdict}, {content}): {complaint}")));
    }
    assert!(rows > 380, "only {rows} rows");
    assert!(facts > 300, "only {facts} facts were compared");
    assert!(wrong.is_empty(), "{} of {rows} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// The complaint about the message of an error.
fn error_complaint(error: &IoError) -> Option<String> {
    match error {
        IoError::Malformed { line, expected, found, .. } if *line > 0 && !expected.is_empty() && !found.is_empty() => {
            None
        }
        IoError::Read { .. } | IoError::TooLarge { .. } => None,
        other => Some(format!("a poor error: {other}")),
    }
}

/// The number of facts in a description that [`content_difference`] compares.
fn content_facts(content: &str, data: &Data, metadata: &Metadata) -> usize {
    content.split([',', ':']).filter(|fact| compare(fact.trim(), data, metadata).is_some()).count()
}

/// The first fact of a description (`3x4, 5 entries, sum 7.25`) that does not hold.
fn content_difference(content: &str, data: &Data, metadata: &Metadata) -> Option<String> {
    let content = if content == "as plain" { "3x3x4, 4 entries, sum 6.75" } else { content };
    content
        .split([',', ':', ';'])
        .find(|fact| compare(fact.trim(), data, metadata) == Some(false))
        .map(|fact| format!("{fact} does not hold: {:?} {:?}", summary(data), metadata.stored))
}

/// Tells if a fact holds; `None` if it is not in a form that is understood.
fn compare(fact: &str, data: &Data, metadata: &Metadata) -> Option<bool> {
    let (dims, values) = summary(data);
    if let Some(rows) = fact.strip_prefix("rows ").filter(|rows| !rows.contains("101")) {
        let expected: Option<Vec<_>> =
            rows.split(['/', ' ']).filter(|word| !word.is_empty()).map(parse_complex).collect();
        return Some(values == expected?);
    }
    if let Some(sum) = fact.strip_prefix("sum ") {
        let sum: f64 = sum.parse().ok()?;
        return Some((values.iter().sum::<Complex<f64>>() - sum).norm() < 1e-9);
    }
    if let Some(size) = fact.strip_suffix(" dense") {
        return Some(matches!(data, Data::Dense(_)) && dims == parse_dims(size)?);
    }
    let (count, noun) = fact.split_once(' ').unwrap_or((fact, ""));
    let count = count.parse::<u64>().ok();
    match (noun, count) {
        ("stored" | "lines", Some(count)) => Some(metadata.stored == count),
        ("entry" | "entries" | "after expansion" | "entries after expansion", Some(count)) => {
            Some(values.len() as u64 == count)
        }
        _ if fact == "2^8" => Some(dims == [2; 8]),
        _ => parse_dims(fact).map(|expected| dims == expected),
    }
}
