//! Files by example: messages, names, compression, sizes beyond one block, and the files that stay on the disk.

use std::io::Write;
use std::path::PathBuf;

use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::io::{
    self, Compression, Data, Dense, FieldKind, FileFormat, IndexBase, Integers, IoError, PatternValues, ReadOptions,
    Symmetry, WriteField, WriteOptions,
};
use lacunar_runtime::values::Values;
use num_complex::Complex;
use tempfile::TempDir;

const QUIET: WriteOptions =
    WriteOptions { field: WriteField::OfType, format: None, base: IndexBase::One, progress: false };

fn options() -> ReadOptions {
    ReadOptions { progress: false, ..ReadOptions::default() }
}

/// A folder with one file in it.
fn file(name: &str, content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    (folder, path)
}

/// The message of a failed read, from the file's name on.
fn message(name: &str, content: &str) -> String {
    let (folder, path) = file(name, content);
    let error = io::read(&path, &options()).expect_err("the file is malformed");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn messages_name_the_place_and_the_rule() {
    const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";
    let cases = [
        ("a.mtx", format!("{REAL}3 4 2\n1 1 1\n\n4 1 2\n"), r#"a.mtx:5: expected a row index from 1 to 3, found "4""#),
        ("a.mtx", format!("{REAL}3 4 1\n1 0 1\n"), r#"a.mtx:3: expected a column index from 1 to 4, found "0""#),
        ("a.mtx", format!("{REAL}3 4 1\n1 1 1,5\n"), r#"a.mtx:3: expected a real number, found "1,5""#),
        ("a.mtx", format!("{REAL}3 4 1\n1 1\n"), "a.mtx:3: expected a real number, found the end of the line"),
        ("a.mtx", format!("{REAL}3 4 1\n1 1 1 1\n"), r#"a.mtx:3: expected the end of the line, found "1""#),
        (
            "a.mtx",
            format!("{REAL}3 4 1\n1 1 1\n% c\n2 2 2\n"),
            "a.mtx:5: expected the end of the file after 1 entries, found another entry",
        ),
        (
            "a.mtx",
            format!("{REAL}3 4 999999999999\n1 1 1\n"),
            "a.mtx:3: expected 999999999999 entries as announced, of which 1 are there, found the end of the file",
        ),
        (
            "a.mtx",
            "%%MatrixMarket vector coordinate real general\n".to_owned(),
            r#"a.mtx:1: expected matrix, found "vector""#,
        ),
        ("a.tns", "1 1 2\n0 1 3\n".to_owned(), r#"a.tns:2: expected a row index from 1, found "0""#),
        (
            "a.tns",
            "1 1 1 2\n1 \x07 1 3\n".to_owned(),
            r#"a.tns:2: expected an index for dimension 2 from 1, found "\x07""#,
        ),
        (
            "a.rua",
            "t\n1 1 1 1 0\nRUE 1 1 1 1\n".to_owned(),
            "a.rua:3: expected an assembled matrix (type ..A); unassembled finite elements are not read, found \"rue\"",
        ),
        (
            "a.rua",
            "t\n1 1 1 1 0\nRUA 2 0 3 0\n(9I3) (9I3) (9E9.1)\n  1\n  1  2  2\n".to_owned(),
            "a.rua:5: expected the start of column 1, from 4 to 1, found \"1\"",
        ),
    ];
    for (name, content, expected) in cases {
        assert_eq!(message(name, &content), expected);
    }
}

#[test]
fn what_a_file_says_of_itself() {
    let (_folder, path) = file("a.mm", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
    let (data, metadata) = io::read_described(&path, &options()).expect("read");
    assert_eq!(metadata.format, FileFormat::MatrixMarket);
    assert_eq!((metadata.field, metadata.symmetry), (FieldKind::Pattern, Symmetry::Symmetric));
    assert_eq!((metadata.stored, metadata.compression), (2, Compression::None));
    let Data::Coordinate(coo) = data else { panic!("an array") };
    assert_eq!(coo.values, Values::F64(vec![1.0; 3]));
    assert_eq!(coo.coords[0], Coordinates::U32(vec![0, 1, 0]));
    let options = ReadOptions { pattern: PatternValues::True, ..options() };
    let Ok(Data::Coordinate(coo)) = io::read(&path, &options) else { panic!("not a list") };
    assert_eq!(coo.values, Values::Bool(vec![true; 3]));
}

/// Text of more than one block, with an error in its last line if asked for.
fn long_text(entries: usize, broken: bool) -> Vec<u8> {
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n% long\n{entries} 7 {entries}\n").into_bytes();
    for k in 1..entries {
        writeln!(text, "{k} {} {k}.25", k % 7 + 1).expect("memory takes text");
    }
    let last = if broken { 8 } else { 1 };
    writeln!(text, "{entries} {last} -1").expect("memory takes text");
    text
}

#[test]
fn long_files_keep_order_and_line_numbers() {
    const ENTRIES: usize = 600_000;
    let text = long_text(ENTRIES, false);
    assert!(text.len() > 10 << 20, "the text fits one block");
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes bytes")
    };
    for content in [text.clone(), gzip(&text)] {
        let (_folder, path) = file("long.mtx", content);
        let Ok(Data::Coordinate(coo)) = io::read(&path, &options()) else { panic!("not a list") };
        assert_eq!(coo.dims, [ENTRIES as u64, 7]);
        assert_eq!(coo.coords[0], Coordinates::U32((0..ENTRIES as u32).collect()));
        let Values::F64(values) = &coo.values else { panic!("not real") };
        assert!((0..ENTRIES - 1).all(|k| values[k] == (k + 1) as f64 + 0.25));
    }
    let (_folder, path) = file("long.mtx", long_text(ENTRIES, true));
    match io::read(&path, &options()) {
        Err(IoError::Malformed { line, .. }) => assert_eq!(line, ENTRIES as u64 + 3),
        other => panic!("{other:?}"),
    }
    let (_folder, path) = file("cut.mtx.gz", &gzip(&text)[..2_000_000]);
    assert!(matches!(io::read(&path, &options()), Err(IoError::Read { .. })));
}

#[test]
fn cut_or_corrupt_compression_is_an_error() {
    let text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
    let whole = zstd::bulk::compress(text, 3).expect("compressed");
    for length in 4..whole.len() {
        let (_folder, path) = file("a.mtx.zst", &whole[..length]);
        assert!(io::read(&path, &options()).is_err(), "{length} bytes");
    }
    let two_frames = [whole.clone(), zstd::bulk::compress(b"% more\n", 3).expect("compressed")].concat();
    let (_folder, path) = file("a.mtx", two_frames);
    assert!(io::read(&path, &options()).is_ok());
}

#[test]
fn a_bomb_does_not_fill_the_memory() {
    let zeros = zstd::bulk::compress(&vec![0; 200 << 20], 1).expect("compressed");
    assert!(zeros.len() < 1 << 20);
    let (_folder, path) = file("a.mtx.zst", zeros);
    let error = io::read(&path, &options()).expect_err("no such line");
    assert!(error.to_string().contains("a line is longer than"), "{error}");
}

#[test]
fn a_value_without_a_negative_is_refused() {
    let content = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n";
    let expected = "a.mtx:3: expected a value whose negative fits 64 bits, found -9223372036854775808";
    assert_eq!(message("a.mtx", content), expected);
}

/// A file with symmetry holds the lower triangle, and a diagonal that is its own mirror image.
#[test]
fn what_contradicts_a_symmetry_is_refused() {
    const LOWER: &str =
        "expected entries of the lower triangle only, which stand for those above the diagonal, found one at";
    const ZERO: &str = "expected only zeros on the diagonal of a skew-symmetric matrix, found";
    const REAL: &str = "expected a real value on the diagonal of a Hermitian matrix, found";
    let cases = [
        ("coordinate real symmetric", "3 3 2\n2 1 1\n1 3 1\n", format!("a.mtx:4: {LOWER} (1, 3)")),
        ("coordinate pattern symmetric", "2 2 1\n% c\n1 2\n", format!("a.mtx:4: {LOWER} (1, 2)")),
        ("coordinate integer skew-symmetric", "2 2 2\n2 1 1\n1 2 -1\n", format!("a.mtx:4: {LOWER} (1, 2)")),
        ("coordinate complex hermitian", "2 2 1\n1 2 0 1\n", format!("a.mtx:3: {LOWER} (1, 2)")),
        ("coordinate real skew-symmetric", "2 2 2\n2 1 1\n2 2 0.5\n", format!("a.mtx:4: {ZERO} 0.5 at (2, 2)")),
        ("coordinate complex skew-symmetric", "2 2 1\n1 1 0 1\n", format!("a.mtx:3: {ZERO} 0 1 at (1, 1)")),
        ("coordinate complex hermitian", "2 2 1\n2 2 1 -1\n", format!("a.mtx:3: {REAL} 1 -1 at (2, 2)")),
        ("array complex hermitian", "2 2\n1 0\n2 3\n% c\n4 5\n", format!("a.mtx:6: {REAL} 4 5 at (2, 2)")),
        ("array complex hermitian", "3 3\n1 0 2 3 4 5\n1 1 2 2 0 0\n", format!("a.mtx:4: {REAL} 1 1 at (2, 2)")),
        (
            "coordinate real symmetric",
            "2 3 1\n1 1 1\n",
            "a.mtx:2: expected as many rows as columns, for the symmetry announced, found 2 x 3".to_string(),
        ),
    ];
    for (kind, body, expected) in cases {
        assert_eq!(message("a.mtx", &format!("%%MatrixMarket matrix {kind}\n{body}")), expected);
    }
    // Zeros on the diagonal are the known values, and values of arrays stand where they belong.
    for (kind, body) in [
        ("coordinate real skew-symmetric", "2 2 2\n1 1 0\n2 1 5\n"),
        ("array complex hermitian", "2 2\n1 0\n2 3\n4 0\n"),
        ("array real skew-symmetric", "3 3\n1\n2\n3\n"),
    ] {
        let (_folder, path) = file("a.mtx", format!("%%MatrixMarket matrix {kind}\n{body}"));
        assert!(io::read(&path, &options()).is_ok(), "{kind}");
    }
    let harwell_boeing = |letters: &str, values: &str| {
        let header = "title\n 3 1 1 1\n";
        message("a.rb", &format!("{header}{letters} 2 2 2 0\n(3I1) (2I1) (4F6.2)\n123\n12\n{values}\n"))
    };
    assert_eq!(
        harwell_boeing("rza", "  0.00  3.00"),
        "a.rb:7: expected only zeros on the diagonal of a skew-symmetric matrix, found \"3.00\""
    );
    let found = harwell_boeing("cha", "  1.00  0.00  3.00 -4.00");
    assert_eq!(found, "a.rb:7: expected a real value on the diagonal of a Hermitian matrix, found \"-4.00\"");
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_others_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = file("a.mtx", "old");
    let link = folder.path().join("link.mtx");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let scalar = Coo { dims: vec![], coords: vec![], values: Values::F64(vec![2.5]) };
    io::write(&link, &scalar, &QUIET).expect("written");
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(std::fs::read_to_string(&path).expect("text").ends_with("1 1 2.5\n"));
    // The same rights as a file that was made in the common way.
    let common = folder.path().join("common");
    std::fs::write(&common, "").expect("written");
    let mode = |path| std::fs::metadata(path).expect("there").permissions().mode();
    assert_eq!(mode(&path), mode(&common));
}

#[test]
fn names_and_contents_tell_the_format() {
    let (_folder, path) = file("matrix", "%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    assert!(io::read(&path, &options()).is_ok());
    let (_folder, path) = file("tensor.txt", "# t\n1 1 1 2.5\n");
    assert!(matches!(io::read(&path, &options()), Ok(Data::Coordinate(coo)) if coo.dims.len() == 3));
    let (_folder, path) = file("notes.txt", "some words\n");
    assert!(matches!(io::read(&path, &options()), Err(IoError::UnknownFormat { .. })));
    let missing = path.with_file_name("missing.mtx");
    assert!(matches!(io::read(&missing, &options()), Err(IoError::Open { .. })));
    let coo = Coo::empty(vec![1, 1], lacunar_formats::DType::F64);
    assert!(matches!(io::write(&path, &coo, &QUIET), Err(IoError::UnknownFormat { .. })));
    assert_eq!(std::fs::read(&path).expect("still there"), b"some words\n");
}

/// The text that a tensor is written as.
fn written<'a>(name: &str, data: impl Into<io::DataRef<'a>>) -> String {
    let (_folder, path) = file(name, "old");
    io::write(&path, data, &QUIET).expect("written");
    std::fs::read_to_string(&path).expect("text")
}

#[test]
fn every_order_has_a_text() {
    let scalar = Coo { dims: vec![], coords: vec![], values: Values::F64(vec![2.5]) };
    assert_eq!(written("a.tns", &scalar), "2.5\n");
    assert_eq!(written("a.mtx", &scalar), "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n");
    let vector = Coo { dims: vec![3], coords: vec![Coordinates::U32(vec![2])], values: Values::I64(vec![-7]) };
    assert_eq!(written("a.tns", &vector), "3 -7\n");
    assert_eq!(written("a.mtx", &vector), "%%MatrixMarket matrix coordinate integer general\n3 1 1\n3 1 -7\n");
    let dense = Dense { dims: vec![3], values: Values::Bool(vec![true, false, true]) };
    assert_eq!(written("a.mtx", &dense), "%%MatrixMarket matrix array integer general\n3 1\n1\n0\n1\n");
    let dense = Dense { dims: vec![2, 2], values: Values::F32(vec![0.1, 2.0, f32::NAN, f32::INFINITY]) };
    assert_eq!(written("a.mtx", &dense), "%%MatrixMarket matrix array real general\n2 2\n0.1\nNaN\n2.0\ninf\n");
    assert_eq!(written("a.tns", &dense), "1 1 0.1\n1 2 2.0\n2 1 NaN\n2 2 inf\n");
}

#[test]
fn what_cannot_be_written_leaves_the_old_file() {
    let (folder, path) = file("a.mtx", "old");
    let pattern = WriteOptions { field: WriteField::Pattern, ..QUIET };
    let twos = Coo { dims: vec![1], coords: vec![Coordinates::U32(vec![0])], values: Values::F64(vec![2.0]) };
    let outside = Coo { dims: vec![1], coords: vec![Coordinates::U32(vec![1])], values: Values::F64(vec![1.0]) };
    let uneven = Coo { dims: vec![1], coords: vec![Coordinates::U32(vec![])], values: Values::F64(vec![1.0]) };
    let order_3 = Coo::empty(vec![1; 3], lacunar_formats::DType::F64);
    for (coo, options) in [(twos, &pattern), (outside, &QUIET), (uneven, &QUIET), (order_3, &QUIET)] {
        assert!(matches!(io::write(&path, &coo, options), Err(IoError::Unwritable { .. })), "{coo:?}");
    }
    assert_eq!(std::fs::read(&path).expect("still there"), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
}

#[test]
fn whole_numbers_beyond_2_to_the_53_are_read_exactly_where_integers_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str, integers: Option<Integers>| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        match io::read(&path, &ReadOptions { integers, ..options() }).unwrap() {
            Data::Coordinate(coo) => coo.values,
            Data::Dense(dense) => dense.values,
        }
    };
    let list = "1 9007199254740993\n2 -3\n";
    assert_eq!(read("a.tns", list, Some(Integers::Signed)), Values::I64(vec![9_007_199_254_740_993, -3]));
    assert_eq!(read("a.tns", list, None), Values::F64(vec![9_007_199_254_740_992.0, -3.0]));
    let large = "1 18446744073709551615\n2 300\n";
    assert_eq!(read("b.tns", large, Some(Integers::Unsigned)), Values::U64(vec![u64::MAX, 300]));
    // One other number, and all are reals.
    assert_eq!(read("c.tns", "1 3\n2 2.5\n", Some(Integers::Signed)), Values::F64(vec![3.0, 2.5]));
    let matrix = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 18446744073709551615\n";
    assert_eq!(read("d.mtx", matrix, Some(Integers::Unsigned)), Values::U64(vec![u64::MAX]));
    assert!(io::read(&folder.path().join("d.mtx"), &options()).is_err());
}

#[test]
fn complex_tensors_are_told_by_a_comment() {
    let (folder, path) = file("t.tns", "");
    let coords = vec![Coordinates::U32(vec![0, 1]), Coordinates::U32(vec![2, 0]), Coordinates::U32(vec![3, 4])];
    let values = Values::C128(vec![Complex::new(1.5, -2.0), Complex::new(0.0, 1.0)]);
    let tensor = Coo { dims: vec![2, 3, 5], coords, values };
    io::write(&path, &tensor, &QUIET).expect("written");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "# complex\n1 3 4 1.5 -2.0\n2 1 5 0.0 1.0\n");
    let (data, metadata) = io::read_described(&path, &options()).expect("read");
    assert_eq!((data, metadata.field), (Data::Coordinate(tensor), FieldKind::Complex));
    let scalar = Coo { dims: vec![], coords: vec![], values: Values::C64(vec![Complex::new(1.0, 2.0)]) };
    io::write(&path, &scalar, &QUIET).expect("written");
    let scalar = ReadOptions { dims: Some(vec![]), ..options() };
    let Ok(Data::Coordinate(coo)) = io::read(&path, &scalar) else { panic!("{:?}", io::read(&path, &scalar)) };
    assert_eq!(coo.values, Values::C128(vec![Complex::new(1.0, 2.0)]));
    drop(folder);
    for (content, expected) in [
        ("# complex\n1 1\n", "t.tns:2: expected indices and a real and an imaginary part, found 2 fields"),
        ("# complex\n1 1 1 2\n1 1 1\n", "t.tns:3: expected a real and an imaginary part, found the end of the line"),
    ] {
        assert!(message("t.tns", content).starts_with(expected), "{}", message("t.tns", content));
    }
}
