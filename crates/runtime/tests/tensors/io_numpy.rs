//! Arrays of NumPy and matrices of SciPy: byte-exact files, data that are written and read back, and headers that lie.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::io::{self, Data, DataRef, Dense, FieldKind, FileFormat, IoError, ReadOptions, WriteOptions};
use lacunar_runtime::values::Values;
use num_complex::Complex;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// An array as NumPy writes it.
fn npy(descr: &str, fortran: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers);
    bytes
}

fn reals(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn integers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The arrays of an archive.
type Arrays = Vec<(&'static str, Vec<u8>)>;

fn npz(arrays: &Arrays) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).expect("begun");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("finished").into_inner()
}

fn vector(numbers: &[i32]) -> Vec<u8> {
    npy("'<i4'", "False", &format!("({},)", numbers.len()), &integers(numbers))
}

/// A sparse matrix of SciPy.
fn scipy(format: &str, shape: [i32; 2], data: Vec<u8>, others: &[(&'static str, Vec<u8>)]) -> Arrays {
    let mut arrays = others.to_vec();
    arrays.push(("format", npy("'|S3'", "False", "()", format.as_bytes())));
    arrays.push(("shape", vector(&shape)));
    arrays.push(("data", data));
    arrays
}

fn data(numbers: &[f64]) -> Vec<u8> {
    npy("'<f8'", "False", &format!("({},)", numbers.len()), &reals(numbers))
}

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    (folder, path)
}

fn read(name: &str, bytes: &[u8]) -> Result<(Data, io::Metadata), IoError> {
    let (_folder, path) = file(name, bytes);
    io::read_described(&path, &ReadOptions { progress: false, ..ReadOptions::default() })
}

fn dense(bytes: &[u8]) -> Dense {
    match read("a.npy", bytes) {
        Ok((Data::Dense(dense), _)) => dense,
        other => panic!("{other:?}"),
    }
}

/// The entries of a matrix, sorted.
fn entries(arrays: &Arrays) -> (Vec<u64>, Vec<(u64, u64, f64)>) {
    let Ok((Data::Coordinate(coo), metadata)) = read("a.npz", &npz(arrays)) else {
        panic!("{:?}", read("a.npz", &npz(arrays)))
    };
    assert_eq!((metadata.format, metadata.field), (FileFormat::Npz, FieldKind::Real));
    let Values::F64(values) = &coo.values else { panic!("{coo:?}") };
    let at = |dimension: usize, place| coo.coords[dimension].get(place).expect("a coordinate");
    let mut entries: Vec<_> = (0..coo.len()).map(|place| (at(0, place), at(1, place), values[place])).collect();
    entries.sort_by_key(|entry| (entry.0, entry.1));
    (coo.dims, entries)
}

#[test]
fn arrays_of_every_order_and_type() {
    let rows = dense(&npy("'<f8'", "False", "(2, 3)", &reals(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    assert_eq!((&rows.dims, &rows.values), (&vec![2, 3], &Values::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    // The first dimension varies fastest.
    let columns = dense(&npy("'<f8'", "True", "(2, 3)", &reals(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])));
    assert_eq!(columns, rows);
    let cube: Vec<i32> = (0..24).collect();
    let fortran: Vec<i32> = (0..24).map(|p| 12 * (p % 2) + 4 * (p / 2 % 3) + p / 6).collect();
    assert_eq!(dense(&npy("'<i4'", "True", "(2, 3, 4)", &integers(&fortran))).values, Values::I32(cube));
    assert_eq!(dense(&npy("'>i2'", "False", "(2,)", &[1, 2, 255, 254])).values, Values::I16(vec![258, -2]));
    assert_eq!(dense(&npy("'|b1'", "False", "(2L,)", &[1, 0])).values, Values::Bool(vec![true, false]));
    assert_eq!(dense(&npy("\"|u1\"", "False", "()", &[7])).values, Values::U8(vec![7]));
    let complex = dense(&npy("'<c16'", "False", "(1,)", &reals(&[1.0, -2.0]))).values;
    assert_eq!(complex, Values::C128(vec![Complex::new(1.0, -2.0)]));
    assert_eq!(dense(&npy("'<f8'", "False", "(0, 3)", &[])).dims, [0, 3]);
    // Version 2 has a longer length.
    let mut second = npy("'<f8'", "False", "()", &reals(&[1.5]));
    second[6] = 2;
    second.splice(10..10, [0, 0]);
    assert_eq!(dense(&second).values, Values::F64(vec![1.5]));
}

#[test]
fn matrices_of_scipy_in_every_format() {
    // 1 . 2
    // . . 3
    let expected = (vec![2, 3], vec![(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)]);
    let segments = |starts: &[i32], indices: &[i32]| vec![("indptr", vector(starts)), ("indices", vector(indices))];
    let numbers = [1.0, 2.0, 3.0];
    let places = [("row", vector(&[1, 0, 0])), ("col", vector(&[2, 0, 2]))];
    let coords = npy("'<i4'", "False", "(2, 3)", &integers(&[0, 0, 1, 0, 2, 2]));
    // The last column of the second diagonal is outside of the matrix, and a zero is no entry.
    let diagonals = npy("'<f8'", "False", "(3, 3)", &reals(&[1.0, 0.0, 9.0, 0.0, 0.0, 3.0, 0.0, 0.0, 2.0]));
    let blocks = npy("'<f8'", "False", "(2, 2, 1)", &reals(&[1.0, 0.0, 2.0, 3.0]));
    for arrays in [
        scipy("csr", [2, 3], data(&numbers), &segments(&[0, 2, 3], &[0, 2, 2])),
        // There may be room behind the entries.
        scipy("csr", [2, 3], data(&[1.0, 2.0, 3.0, 9.0]), &segments(&[0, 2, 3], &[0, 2, 2, 7])),
        scipy("csc", [2, 3], data(&numbers), &segments(&[0, 1, 1, 3], &[0, 0, 1])),
        scipy("coo", [2, 3], data(&[3.0, 1.0, 2.0]), &places),
        scipy("coo", [2, 3], data(&numbers), &[("coords", coords.clone())]),
        scipy("dia", [2, 3], diagonals, &[("offsets", vector(&[0, 1, 2]))]),
        scipy("bsr", [2, 3], blocks, &segments(&[0, 2], &[0, 2])),
        vec![("coords", coords), ("shape", vector(&[2, 3])), ("data", data(&numbers))],
    ] {
        assert_eq!(entries(&arrays), expected, "{:?}", arrays.iter().map(|array| array.0).collect::<Vec<_>>());
    }
    // The format as a text, and in the other order of bytes.
    for (descr, little) in [("'<U3'", true), ("'>U4'", false)] {
        let mut arrays = scipy("csr", [2, 3], data(&numbers), &segments(&[0, 2, 3], &[0, 2, 2]));
        let word = if little { "csr" } else { "csr\0" };
        let bytes = |c: u8| if little { u32::from(c).to_le_bytes() } else { u32::from(c).to_be_bytes() };
        let text: Vec<u8> = word.bytes().flat_map(bytes).collect();
        arrays.retain(|(name, _)| *name != "format");
        arrays.push(("format", npy(descr, "False", "()", &text)));
        assert_eq!(entries(&arrays), expected, "{descr}");
    }
    let one = npz(&vec![("arr_0", data(&numbers))]);
    assert!(matches!(read("a.npz", &one), Ok((Data::Dense(Dense { dims, .. }), _)) if dims == [3]));
    // The content tells, too.
    assert!(matches!(read("a", &one), Ok((Data::Dense(_), metadata)) if metadata.format == FileFormat::Npz));
    assert!(matches!(read("a", &data(&numbers)), Ok((_, metadata)) if metadata.format == FileFormat::Npy));
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let quiet = WriteOptions { progress: false, ..WriteOptions::default() };
    let large: Vec<i64> = (0..300_000).collect();
    for values in [
        Values::F64(vec![1.0, -0.0, f64::NAN, 4.0, 5.0, 6.0]),
        Values::C64(vec![Complex::new(1.0, -1.0); 6]),
        Values::Bool(vec![true, false, true, true, false, false]),
        Values::U16(vec![1, 2, 3, 4, 5, 6]),
        Values::I64(large),
    ] {
        let dense = Dense { dims: vec![2, values.len() as u64 / 2], values };
        for name in ["a.npy", "a.npy.gz", "a.npy.zst", "a.npz", "a.npz.gz"] {
            let path = folder.path().join(name);
            io::write(&path, DataRef::Dense(&dense), &quiet).expect("written");
            let Ok(Data::Dense(back)) = io::read(&path, &ReadOptions::default()) else { panic!("{name}") };
            // NaN is not equal to itself.
            assert_eq!(format!("{back:?}"), format!("{dense:?}"), "{name}");
        }
    }
    let header = std::fs::read(folder.path().join("a.npy")).expect("there");
    assert_eq!(&header[..128], &npy("'<i8'", "False", "(2, 150000)", &[])[..]);
    let coords = vec![Coordinates::U32(vec![0, 1]), Coordinates::U32(vec![2, 0]), Coordinates::U64(vec![1 << 40, 5])];
    let tensor = Coo { dims: vec![2, 3, 1 << 41], coords, values: Values::F64(vec![1.5, -2.0]) };
    let matrix = Coo { dims: vec![2, 3], coords: tensor.coords[..2].to_vec(), values: tensor.values.clone() };
    for coo in [tensor, matrix] {
        let path = folder.path().join("t.npz");
        io::write(&path, &coo, &quiet).expect("written");
        assert_eq!(io::read(&path, &ReadOptions::default()).expect("read"), Data::Coordinate(coo.clone()));
        let refused = io::write(&folder.path().join("t.npy"), &coo, &quiet);
        assert!(matches!(refused, Err(IoError::Unwritable { .. })), "{refused:?}");
    }
}

#[test]
fn headers_that_lie_are_errors() {
    let numbers = reals(&[1.0, 2.0]);
    let wrong = |bytes: &[u8], message: &str| {
        let error = read("a.npy", bytes).expect_err(message).to_string();
        assert!(error.contains(message), "{message}: {error}");
    };
    for (descr, fortran, shape, message) in [
        ("'|O'", "False", "(2,)", "expected a type of numbers, such as '<f8'"),
        ("'<U3'", "False", "(2,)", "expected a type of numbers"),
        ("'<f16'", "False", "(2,)", "expected a type of numbers"),
        ("'|S8'", "False", "(2,)", "found byte strings"),
        ("'<U3'", "False", "(2,)", "found texts"),
        ("[('a', '<f8')]", "False", "(2,)", "expected a type of numbers"),
        ("''", "False", "(2,)", "expected a type of numbers"),
        ("'<f8'", "false", "(2,)", "expected True or False"),
        ("'<f8'", "False", "(-2,)", "expected a size"),
        ("'<f8'", "False", "(99999999999999999999,)", "expected a size"),
        ("'<f8'", "False", "[2]", "expected `(`"),
        ("'<f8'", "False", "(2", "expected a size"),
        ("'<f8'", "False", "(2 3)", "expected `,` or `)`"),
        ("'<f8'", "False", "(3,)", "expected 3 values as announced"),
        ("'<f8'", "False", "(1,)", "expected the end of the file"),
        ("'<f8'", "False", "(9223372036854775807,)", "expected 9223372036854775807 values as announced"),
        ("'<f8'", "True", "(4294967296, 4294967296)", "does not fit"),
        ("'|b1'", "False", "(16,)", "expected truth values"),
    ] {
        wrong(&npy(descr, fortran, shape, &numbers), message);
    }
    wrong(b"", "the end of the file");
    wrong(b"\x93NUMPX\x01\x00", "expected an array of NumPy");
    wrong(b"\x93NUMPY\x09\x00\x00\x00", "version 9");
    wrong(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "expected a header of at most");
    wrong(b"\x93NUMPY\x01\x00\x02\x00{}", "each of `descr`, `fortran_order` and `shape` once");
    let whole = npy("'<f8'", "False", "(2,)", &numbers);
    for end in 0..whole.len() {
        assert!(read("a.npy", &whole[..end]).is_err(), "{end}");
    }
    for place in 0..whole.len() - numbers.len() {
        for byte in [0, b'\'', b'(', b'}', b'9', 255] {
            let mut changed = whole.clone();
            changed[place] = byte;
            // Whatever comes of it.
            let _ = read("a.npy", &changed);
        }
    }
}

#[test]
fn matrices_whose_arrays_contradict_each_other_are_errors() {
    let segments = |starts: &[i32], indices: &[i32]| vec![("indptr", vector(starts)), ("indices", vector(indices))];
    let csr =
        |starts: &[i32], indices: &[i32]| scipy("csr", [2, 3], data(&[1.0, 2.0, 3.0]), &segments(starts, indices));
    let blocks = |shape: &str| npy("'<f8'", "False", shape, &reals(&[1.0; 8]));
    for (arrays, message) in [
        (csr(&[0, 2], &[0, 2, 2]), "indptr: expected 3 numbers"),
        (csr(&[1, 2, 3], &[0, 2, 2]), "indptr: expected numbers that begin with 0"),
        (csr(&[0, 3, 2], &[0, 2, 2]), "do not descend"),
        (csr(&[0, 2, 4], &[0, 2, 2]), "indptr: expected at most 3"),
        (csr(&[0, 2, 3], &[0, 2]), "indptr: expected at most 2"),
        (csr(&[0, 2, 3], &[0, 3, 2]), "indices: expected coordinates from 0 to 2, found 3"),
        (csr(&[0, 2, 3], &[0, -1, 2]), "indices: expected whole numbers from 0, found -1"),
        (scipy("csr", [-2, 3], data(&[]), &segments(&[0], &[])), "shape: expected whole numbers from 0"),
        (scipy("xyz", [2, 3], data(&[]), &[]), "format: expected csr, csc, bsr, dia or coo"),
        (scipy("csr", [2, 3], data(&[]), &[("indptr", vector(&[0, 0, 0]))]), "indices: expected an array of this name"),
        (
            scipy("coo", [2, 3], data(&[1.0]), &[("row", vector(&[0, 1])), ("col", vector(&[0]))]),
            "row: expected 1 whole numbers",
        ),
        (
            scipy("coo", [2, 3], data(&[1.0]), &[("coords", vector(&[0, 1]))]),
            "coords: expected an array of sizes [2, 1]",
        ),
        (
            scipy("bsr", [3, 4], blocks("(2, 2, 2)"), &segments(&[0, 1], &[0])),
            "data: expected blocks whose sizes divide",
        ),
        (
            scipy("bsr", [2, 4], blocks("(2, 2, 2)"), &segments(&[0, 2], &[0, 2])),
            "indices: expected coordinates from 0 to 1",
        ),
        (scipy("bsr", [2, 4], blocks("(8, 0, 2)"), &segments(&[0, 2], &[0, 2])), "data:"),
        (scipy("dia", [2, 4], blocks("(2, 4)"), &[("offsets", vector(&[0]))]), "offsets: expected 2 whole numbers"),
        (
            vec![("a", data(&[])), ("b", data(&[]))],
            "archive: expected one array, or those of a sparse matrix of SciPy, found `a`, `b`",
        ),
        (vec![], "found none"),
        (vec![("a", b"rubbish".to_vec())], "a: expected an array of NumPy"),
    ] {
        let error = read("a.npz", &npz(&arrays)).expect_err(message).to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
    let whole = npz(&csr(&[0, 2, 3], &[0, 2, 2]));
    assert!(read("a.npz", b"PK\x03\x04").is_err() && read("a.npz", b"no archive").is_err());
    for end in (0..whole.len()).step_by(7) {
        assert!(read("a.npz", &whole[..end]).is_err(), "{end}");
    }
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x55;
        // Whatever comes of it.
        let _ = read("a.npz", &changed);
    }
}
