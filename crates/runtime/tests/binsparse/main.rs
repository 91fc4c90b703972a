//! Binsparse files: every format and type as others write them, files that are written and read back, and files that lie.

mod hostile;

use std::path::Path;

use hdf5_metno as hdf5;
use lacunar_formats::{Format, One};
use lacunar_runtime::io::{
    self, Data, Dense, FieldKind, FileFormat, IoError, Metadata, PatternValues, ReadOptions, Symmetry, WriteOptions,
};
use lacunar_runtime::{Coo, Coordinates, Tensor, Values};
use num_complex::Complex;

/// An array of a file.
enum Array {
    U64(Vec<u64>),
    I32(Vec<i32>),
    U8(Vec<u8>),
    I8(Vec<i8>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
}

fn u(numbers: &[u64]) -> Array {
    Array::U64(numbers.to_vec())
}

fn f(numbers: &[f64]) -> Array {
    Array::F64(numbers.to_vec())
}

fn put(group: &hdf5::Group, arrays: &[(&str, Array)]) {
    for (name, array) in arrays {
        let new = group.new_dataset_builder();
        match array {
            Array::U64(numbers) => new.with_data(numbers).create(*name),
            Array::I32(numbers) => new.with_data(numbers).create(*name),
            Array::U8(numbers) => new.with_data(numbers).create(*name),
            Array::I8(numbers) => new.with_data(numbers).create(*name),
            Array::F32(numbers) => new.with_data(numbers).create(*name),
            Array::F64(numbers) => new.with_data(numbers).create(*name),
            Array::Bool(numbers) => new.with_data(numbers).create(*name),
        }
        .expect("an array");
    }
}

fn describe(group: &hdf5::Group, text: &str) {
    let text: hdf5::types::VarLenUnicode = text.parse().expect("a text");
    let attribute = group.new_attr::<hdf5::types::VarLenUnicode>().create("binsparse").expect("an attribute");
    attribute.write_scalar(&text).expect("written");
}

fn create(path: &Path, text: &str, arrays: &[(&str, Array)]) {
    let file = hdf5::File::create(path).expect("a file");
    put(&file, arrays);
    describe(&file, text);
}

fn options() -> ReadOptions {
    ReadOptions { progress: false, ..ReadOptions::default() }
}

fn read_file(path: &Path) -> Result<(Data, Metadata), IoError> {
    io::read_described(path, &options())
}

fn read(text: &str, arrays: &[(&str, Array)]) -> Result<(Data, Metadata), IoError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.bsp.h5");
    create(&path, text, arrays);
    read_file(&path)
}

/// A text of these parts; arrays other than `values` are of `uint64`.
fn text(format: &str, shape: &str, stored: u64, names: &[&str], values: &str) -> String {
    let types: String = names.iter().map(|name| format!("\"{name}\": \"uint64\", ")).collect();
    format!(
        "{{\"binsparse\": {{\"version\": \"0.1\", {format}, \"shape\": {shape}, \"number_of_stored_values\": {stored}, \
         \"data_types\": {{{types}\"values\": \"{values}\"}}}}}}"
    )
}

fn named(format: &str, shape: &str, stored: u64, names: &[&str], values: &str) -> String {
    text(&format!("\"format\": \"{format}\""), shape, stored, names, values)
}

/// The entries of a matrix of reals, sorted.
fn entries(data: &Data) -> Vec<(u64, u64, f64)> {
    let Data::Coordinate(Coo { coords, values: Values::F64(values), .. }) = data else { panic!("{data:?}") };
    let at = |dimension: usize, place| coords[dimension].get(place).expect("a coordinate");
    let mut entries: Vec<_> =
        values.iter().enumerate().map(|(place, &value)| (at(0, place), at(1, place), value)).collect();
    entries.sort_by_key(|entry| (entry.0, entry.1));
    entries
}

#[test]
fn matrices_in_every_format() {
    // 1 . 2
    // . . .
    // . . 3
    let expected = vec![(0, 0, 1.0), (0, 2, 2.0), (2, 2, 3.0)];
    let values = || ("values", f(&[1.0, 2.0, 3.0]));
    let sparse = "\"level\": {\"level_desc\": \"sparse\", \"rank\": 1, \"level\": {\"level_desc\": \"element\"}}";
    let custom = |outer: &str| format!("{{\"level\": {{\"level_desc\": \"{outer}\", \"rank\": 1, {sparse}}}}}");
    for (format, arrays) in [
        ("\"format\": \"CSR\"", vec![("pointers_to_1", u(&[0, 2, 2, 3])), ("indices_1", u(&[0, 2, 2]))]),
        ("\"format\": \"CSC\"", vec![("pointers_to_1", u(&[0, 1, 1, 3])), ("indices_1", u(&[0, 0, 2]))]),
        (
            "\"format\": \"DCSR\"",
            vec![("indices_0", u(&[0, 2])), ("pointers_to_1", u(&[0, 2, 3])), ("indices_1", u(&[0, 2, 2]))],
        ),
        (
            "\"format\": \"DCSC\"",
            vec![("indices_0", u(&[0, 2])), ("pointers_to_1", u(&[0, 1, 3])), ("indices_1", u(&[0, 0, 2]))],
        ),
        ("\"format\": \"COO\"", vec![("indices_0", u(&[0, 0, 2])), ("indices_1", u(&[0, 2, 2]))]),
        ("\"format\": \"COOR\"", vec![("indices_0", u(&[0, 0, 2])), ("indices_1", u(&[0, 2, 2]))]),
        ("\"format\": \"COOC\"", vec![("indices_0", u(&[0, 2, 2])), ("indices_1", u(&[0, 0, 2]))]),
        (
            &format!("\"custom\": {}", custom("dense")),
            vec![("pointers_to_1", u(&[0, 2, 2, 3])), ("indices_1", u(&[0, 2, 2]))],
        ),
        (
            &format!("\"format\": {{\"custom\": {}}}", custom("sparse")),
            vec![("indices_0", u(&[0, 2])), ("pointers_to_1", u(&[0, 2, 3])), ("indices_1", u(&[0, 2, 2]))],
        ),
    ] {
        let names: Vec<&str> = arrays.iter().map(|(name, _)| *name).collect();
        let text = text(format, "[3, 3]", 3, &names, "float64");
        let arrays: Vec<_> = arrays.into_iter().chain([values()]).collect();
        let (data, metadata) = read(&text, &arrays).expect(format);
        assert_eq!(entries(&data), expected, "{format}");
        assert_eq!((metadata.format, metadata.field, metadata.stored), (FileFormat::Binsparse, FieldKind::Real, 3));
    }
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let dense =
        |dims: &[u64], values: &[f64]| Data::Dense(Dense { dims: dims.to_vec(), values: Values::F64(values.to_vec()) });
    let array = |text: &str| read(text, &[("values", f(&numbers))]).expect(text).0;
    assert_eq!(array(&named("DVEC", "[6]", 6, &[], "float64")), dense(&[6], &numbers));
    assert_eq!(array(&named("DMAT", "[2, 3]", 6, &[], "float64")), dense(&[2, 3], &numbers));
    assert_eq!(array(&named("DMATR", "[2, 3.0]", 6, &[], "float64")), dense(&[2, 3], &numbers));
    let columns = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
    assert_eq!(array(&named("DMATC", "[2, 3]", 6, &[], "float64")), dense(&[2, 3], &columns));
    let vector = named("CVEC", "[9]", 2, &["indices_0"], "float64");
    let (vector, _) = read(&vector, &[("indices_0", u(&[3, 8])), ("values", f(&[1.0, 2.0]))]).expect("a vector");
    let coords = vec![Coordinates::U32(vec![3, 8])];
    assert_eq!(vector, Data::Coordinate(Coo { dims: vec![9], coords, values: Values::F64(vec![1.0, 2.0]) }));
    // No outer braces, and an empty array that is left out.
    let bare = "{\"version\": \"0.1\", \"format\": \"COO\", \"shape\": [3, 3], \"number_of_stored_values\": 0, \
                \"data_types\": {\"indices_0\": \"uint8\", \"indices_1\": \"uint8\", \"values\": \"float64\"}}";
    let empty = read(bare, &[("indices_0", Array::U8(vec![])), ("values", f(&[]))]).expect("empty").0;
    assert_eq!(empty, Data::Coordinate(Coo::empty(vec![3, 3], lacunar_formats::DType::F64)));
}

#[test]
fn levels_of_tensors() {
    // Stored dimensions 2, 0, 1 of sizes 2, 3, 4: a dense one, and coordinates of two.
    let custom = "\"custom\": {\"transpose\": [2, 0, 1], \"level\": {\"level_desc\": \"dense\", \"rank\": 1, \"level\": \
                  {\"level_desc\": \"sparse\", \"rank\": 2, \"level\": {\"level_desc\": \"element\"}}}}";
    let names = ["pointers_to_1", "indices_1", "indices_2"];
    let arrays = [
        ("pointers_to_1", u(&[0, 1, 3])),
        ("indices_1", u(&[2, 0, 1])),
        ("indices_2", u(&[3, 0, 2])),
        ("values", f(&[1.0, 2.0, 3.0])),
    ];
    let (data, _) = read(&text(custom, "[3, 4, 2]", 3, &names, "float64"), &arrays).expect("a tensor");
    let coords = [vec![2, 0, 1], vec![3, 0, 2], vec![0, 1, 1]].map(Coordinates::U32).to_vec();
    let values = Values::F64(vec![1.0, 2.0, 3.0]);
    assert_eq!(data, Data::Coordinate(Coo { dims: vec![3, 4, 2], coords, values }));
    // Blocks: below coordinates every element is stored.
    let blocks = "\"custom\": {\"level\": {\"level_desc\": \"sparse\", \"rank\": 1, \"level\": {\"level_desc\": \"dense\", \
                  \"rank\": 2, \"level\": {\"level_desc\": \"element\"}}}}";
    let arrays = [("indices_0", u(&[4])), ("values", f(&[1.0, 0.0, 2.0, 3.0]))];
    let (data, _) = read(&text(blocks, "[5, 2, 2]", 4, &["indices_0"], "float64"), &arrays).expect("blocks");
    let coords = [vec![4; 4], vec![0, 0, 1, 1], vec![0, 1, 0, 1]].map(Coordinates::U32).to_vec();
    let values = Values::F64(vec![1.0, 0.0, 2.0, 3.0]);
    assert_eq!(data, Data::Coordinate(Coo { dims: vec![5, 2, 2], coords, values }));
    let scalar = text("\"custom\": {\"level\": {\"level_desc\": \"element\"}}", "[]", 1, &[], "float64");
    let (scalar, _) = read(&scalar, &[("values", f(&[7.5]))]).expect("a scalar");
    assert_eq!(scalar, Data::Dense(Dense { dims: vec![], values: Values::F64(vec![7.5]) }));
}

#[test]
fn types_of_values() {
    let vector = |values: &str, stored: u64, array: Array| {
        let text = named("DVEC", &format!("[{stored}]"), stored, &[], values);
        match read(&text, &[("values", array)]) {
            Ok((Data::Dense(Dense { values, .. }), _)) => values,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(vector("int32", 2, Array::I32(vec![-1, 2])), Values::I32(vec![-1, 2]));
    assert_eq!(vector("float32", 2, Array::F32(vec![-1.5, 2.0])), Values::F32(vec![-1.5, 2.0]));
    let truths = Values::Bool(vec![true, false, true]);
    assert_eq!(vector("bint8", 3, Array::U8(vec![1, 0, 1])), truths);
    assert_eq!(vector("bint8", 3, Array::I8(vec![1, 0, -1])), truths);
    assert_eq!(vector("bint8", 3, Array::Bool(vec![true, false, true])), truths);
    let complex = vector("complex[float64]", 2, f(&[1.0, 2.0, 3.0, -4.0]));
    assert_eq!(complex, Values::C128(vec![Complex::new(1.0, 2.0), Complex::new(3.0, -4.0)]));
    let complex = vector("iso[complex[float32]]", 3, Array::F32(vec![1.0, 2.0]));
    assert_eq!(complex, Values::C64(vec![Complex::new(1.0, 2.0); 3]));
    let pattern = named("CVEC", "[9]", 3, &["indices_0"], "iso[int8]");
    let arrays = || [("indices_0", u(&[1, 2, 8])), ("values", Array::I8(vec![1]))];
    let (data, _) = read(&pattern, &arrays()).expect("ones");
    assert!(matches!(data, Data::Coordinate(Coo { values: Values::I8(ones), .. }) if ones == [1, 1, 1]));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pattern.h5");
    create(&path, &pattern, &arrays());
    let places = ReadOptions { pattern: PatternValues::Places, ..options() };
    let (data, metadata) = io::read_described(&path, &places).expect("places");
    assert!(matches!(data, Data::Coordinate(Coo { values: Values::Pattern(ones), .. }) if ones == [One; 3]));
    assert_eq!(metadata.field, FieldKind::Pattern);
}

#[test]
fn structures_are_expanded() {
    let csr = |structure: &str, values: &str| {
        let format = format!("\"format\": \"CSR\", \"structure\": \"{structure}\"");
        text(&format, "[2, 2]", 2, &["pointers_to_1", "indices_1"], values)
    };
    let lower = |values: Array| [("pointers_to_1", u(&[0, 1, 2])), ("indices_1", u(&[0, 0])), ("values", values)];
    let upper = |values: Array| [("pointers_to_1", u(&[0, 2, 2])), ("indices_1", u(&[0, 1])), ("values", values)];
    let symmetric = vec![(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0)];
    let (data, metadata) = read(&csr("symmetric_lower", "float64"), &lower(f(&[1.0, 2.0]))).expect("lower");
    assert_eq!((entries(&data), metadata.symmetry, metadata.stored), (symmetric.clone(), Symmetry::Symmetric, 2));
    let (data, _) = read(&csr("symmetric_upper", "float64"), &upper(f(&[1.0, 2.0]))).expect("upper");
    assert_eq!(entries(&data), symmetric);
    let (data, _) = read(&csr("skew_symmetric_upper", "float64"), &upper(f(&[0.0, 2.0]))).expect("skew");
    assert_eq!(entries(&data), [(0, 0, 0.0), (0, 1, 2.0), (1, 0, -2.0)]);
    let parts = || f(&[1.0, 0.0, 2.0, 3.0]);
    let (data, _) = read(&csr("hermitian_lower", "complex[float64]"), &lower(parts())).expect("Hermitian");
    let Data::Coordinate(Coo { values: Values::C128(values), .. }) = data else { panic!("{data:?}") };
    assert_eq!(values, [Complex::new(1.0, 0.0), Complex::new(2.0, 3.0), Complex::new(2.0, -3.0)]);
    let array = text("\"format\": \"DMATC\", \"structure\": \"symmetric_lower\"", "[2, 2]", 4, &[], "float64");
    let (data, _) = read(&array, &[("values", f(&[1.0, 2.0, 9.0, 3.0]))]).expect("an array");
    assert_eq!(data, Data::Dense(Dense { dims: vec![2, 2], values: Values::F64(vec![1.0, 2.0, 2.0, 3.0]) }));
    let wrong = |text: &str, arrays: &[(&str, Array)], message: &str| {
        let error = read(text, arrays).expect_err(message).to_string();
        assert!(error.contains(message), "{message}: {error}");
    };
    wrong(&csr("symmetric_upper", "float64"), &lower(f(&[1.0, 2.0])), "entries of the upper triangle only");
    wrong(&csr("symmetric_lower", "float64"), &upper(f(&[1.0, 2.0])), "found one at (0, 1)");
    wrong(&csr("skew_symmetric_lower", "float64"), &lower(f(&[1.0, 2.0])), "only zeros on the diagonal");
    wrong(&csr("hermitian_lower", "float64"), &lower(f(&[1.0, 2.0])), "complex values of a Hermitian matrix");
    let bytes = || lower(Array::I8(vec![0, -128]));
    wrong(&csr("skew_symmetric_lower", "int8"), &bytes(), "negatives");
    wrong(&csr("triangular", "float64"), &lower(f(&[1.0, 2.0])), "structure: expected general, symmetric_lower");
}

fn quiet(format: Option<Format>) -> WriteOptions {
    WriteOptions { format, progress: false, ..WriteOptions::default() }
}

/// The text of a file.
fn text_of(path: &Path) -> String {
    let file = hdf5::File::open(path).expect("a file");
    let text: hdf5::types::VarLenUnicode = file.attr("binsparse").expect("an attribute").read_scalar().expect("a text");
    text.as_str().to_string()
}

/// The same entries in the order of rows.
fn sorted(coo: &Coo) -> Coo {
    Tensor::from_coo(coo.clone(), &Format::coo(coo.dims.len())).expect("packed").to_coo().expect("entries")
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let coords = |columns: &[&[u32]]| columns.iter().map(|column| Coordinates::U32(column.to_vec())).collect();
    let (c, d) = (Complex::new, Complex::new);
    for values in [
        Values::F64(vec![1.5, -0.0, 3.0, 4.0]),
        Values::F32(vec![1.5, -0.0, 3.0, 4.0]),
        Values::C64(vec![c(1.0, -1.0), c(0.0, 2.0), c(3.0, 0.0), c(4.0, 4.0)]),
        Values::C128(vec![d(1.0, -1.0), d(0.0, 2.0), d(3.0, 0.0), d(4.0, 4.0)]),
        Values::Bool(vec![true, false, true, true]),
        Values::I8(vec![-1, 0, 3, 4]),
        Values::I16(vec![-1, 0, 3, 4]),
        Values::I32(vec![-1, 0, 3, 4]),
        Values::I64(vec![i64::MIN, 0, 3, 4]),
        Values::U8(vec![255, 0, 3, 4]),
        Values::U16(vec![1, 0, 3, 4]),
        Values::U32(vec![1, 0, 3, 4]),
        Values::U64(vec![u64::MAX, 0, 3, 4]),
    ] {
        let coo = Coo { dims: vec![3, 5], coords: coords(&[&[2, 0, 0, 2], &[4, 0, 3, 1]]), values };
        for (format, name) in [
            (None, "CSR"),
            (Some(Format::csr()), "CSR"),
            (Some(Format::csc()), "CSC"),
            (Some(Format::dcsr()), "DCSR"),
            (Some(Format::dcsc()), "DCSC"),
            (Some(Format::coo(2)), "COOR"),
            (Some(Format::coo(2).with_mode_order(vec![1, 0]).expect("a format")), "COOC"),
            (Some(Format::bcsr(2, 2).expect("a format")), "CSR"),
            (
                Some("uq".parse::<lacunar_formats::FormatSpec>().and_then(|spec| spec.resolve(2)).expect("a format")),
                "COOR",
            ),
        ] {
            let path = folder.path().join("a.bsp.h5");
            io::write(&path, &coo, &quiet(format)).expect("written");
            assert!(text_of(&path).contains(&format!("\"format\":\"{name}\"")), "{name}: {}", text_of(&path));
            let (Data::Coordinate(back), metadata) = read_file(&path).expect(name) else { panic!("{name}") };
            assert_eq!((sorted(&back), metadata.stored), (sorted(&coo), 4), "{name}");
        }
        let path = folder.path().join("v.hdf5");
        let vector = Coo { dims: vec![5], coords: vec![coo.coords[1].clone()], values: coo.values.clone() };
        io::write(&path, &vector, &quiet(None)).expect("written");
        let Data::Coordinate(back) = read_file(&path).expect("read").0 else { panic!("an array") };
        assert_eq!(back, sorted(&vector));
        let dense = Data::Dense(Dense { dims: vec![2, 2], values: coo.values.clone() });
        for name in ["d.h5", "d.h5.gz", "d.bsp.h5.zst"] {
            let path = folder.path().join(name);
            io::write(&path, &dense, &quiet(None)).expect("written");
            assert_eq!(read_file(&path).expect("read").0, dense, "{name}");
        }
    }
    // No part of a file is left beside it.
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 5);
}

#[test]
fn tensors_are_written_as_levels() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.bsp.h5");
    let coords =
        vec![Coordinates::U32(vec![1, 0, 1]), Coordinates::U32(vec![2, 0, 2]), Coordinates::U64(vec![1 << 40, 5, 7])];
    let tensor = Coo { dims: vec![2, 3, 1 << 41], coords, values: Values::F64(vec![1.5, -2.0, 0.0]) };
    let letters =
        |letters: &str| letters.parse::<lacunar_formats::FormatSpec>().and_then(|spec| spec.resolve(3)).expect(letters);
    for (format, level) in [
        (None, "sparse 3"),
        (Some(Format::csf(3)), "sparse 1 sparse 1 sparse 1"),
        (Some(letters("dds")), "dense 1 dense 1 sparse 1"),
        (Some(letters("duq")), "dense 1 sparse 2"),
        (Some(letters("sds:2,0,1")), "sparse 1 sparse 1 sparse 1"),
        (Some(letters("dds:1,0,2")), "dense 1 dense 1 sparse 1"),
    ] {
        io::write(&path, &tensor, &quiet(format)).expect("written");
        let found: serde_json::Value = serde_json::from_str(&text_of(&path)).expect("JSON");
        let (mut next, mut levels) = (&found["binsparse"]["custom"]["level"], Vec::new());
        while next["level_desc"] != "element" {
            levels.push(format!("{} {}", next["level_desc"].as_str().expect("a word"), next["rank"]));
            next = &next["level"];
        }
        assert_eq!(levels.join(" "), level);
        let Data::Coordinate(back) = read_file(&path).expect("read").0 else { panic!("an array") };
        assert_eq!(sorted(&back), sorted(&tensor), "{level}");
    }
    let cube = Dense { dims: vec![2, 1, 3], values: Values::U16(vec![1, 2, 3, 4, 5, 6]) };
    io::write(&path, &cube, &quiet(None)).expect("written");
    assert_eq!(read_file(&path).expect("read").0, Data::Dense(cube));
    let scalar = Dense { dims: vec![], values: Values::Bool(vec![true]) };
    io::write(&path, &scalar, &quiet(None)).expect("written");
    assert_eq!(read_file(&path).expect("read").0, Data::Dense(scalar));
    // Entries of equal coordinates are one, and half numbers are written wider.
    let coords = vec![Coordinates::U32(vec![3, 1, 3])];
    let halves = Values::F16([1.5, 2.0, 0.25].map(half::f16::from_f32).to_vec());
    io::write(&path, &Coo { dims: vec![4], coords, values: halves }, &quiet(None)).expect("written");
    let coords = vec![Coordinates::U32(vec![1, 3])];
    let wider = Coo { dims: vec![4], coords: coords.clone(), values: Values::F32(vec![2.0, 1.75]) };
    assert_eq!(read_file(&path).expect("read").0, Data::Coordinate(wider));
    let pattern = Coo { dims: vec![4], coords: coords.clone(), values: Values::Pattern(vec![One; 2]) };
    io::write(&path, &pattern, &quiet(None)).expect("written");
    for (values, pattern) in [
        (Values::F64(vec![1.0; 2]), PatternValues::Ones),
        (Values::Bool(vec![true; 2]), PatternValues::True),
        (pattern.values.clone(), PatternValues::Places),
    ] {
        let (data, metadata) = io::read_described(&path, &ReadOptions { pattern, ..options() }).expect("read");
        assert_eq!(data, Data::Coordinate(Coo { dims: vec![4], coords: coords.clone(), values }));
        assert_eq!(metadata.field, FieldKind::Pattern);
    }
    let empty = Coo::empty(vec![4, 0], lacunar_formats::DType::F64);
    io::write(&path, &empty, &quiet(None)).expect("written");
    assert_eq!(read_file(&path).expect("read").0, Data::Coordinate(empty));
}

#[test]
fn large_arrays_in_pieces() {
    let folder = tempfile::tempdir().expect("a folder");
    let dense = Dense { dims: vec![300_001], values: Values::I64((0..300_001).collect()) };
    let path = folder.path().join("a.h5");
    io::write(&path, &dense, &quiet(None)).expect("written");
    assert_eq!(read_file(&path).expect("read").0, Data::Dense(dense.clone()));
    // Compressed inside, in parts that are not as long as pieces.
    let file = hdf5::File::create(&path).expect("a file");
    let Values::I64(numbers) = &dense.values else { panic!("{dense:?}") };
    file.new_dataset_builder().with_data(numbers).chunk(7_777).deflate(6).create("values").expect("an array");
    describe(&file, &named("DVEC", "[300001]", 300_001, &[], "int64"));
    file.close().expect("closed");
    assert_eq!(read_file(&path).expect("read").0, Data::Dense(dense));
}

#[test]
fn groups_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("groups.h5");
    let file = hdf5::File::create(&path).expect("a file");
    let vector = named("DVEC", "[1]", 1, &[], "float64");
    let add = |name: &str, value: f64| {
        let group = file.create_group(name).expect("a group");
        put(&group, &[("values", f(&[value]))]);
        describe(&group, &vector);
    };
    let value = |path: &Path| match read_file(path).map(|(data, _)| data) {
        Ok(Data::Dense(Dense { values: Values::F64(values), .. })) => Ok(values[0]),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err((error.to_string(), error.hint())),
    };
    file.create_group("notes").expect("a group");
    file.flush().expect("written");
    assert!(
        value(&path).expect_err("no group").0.contains("expected one group with an attribute `binsparse`, found none")
    );
    add("first", 1.0);
    file.flush().expect("written");
    assert_eq!(value(&path), Ok(1.0));
    add("second", 2.0);
    add("notes/third", 3.0);
    drop(file);
    let (message, hint) = value(&path).expect_err("two groups");
    assert!(message.contains("several, such as first and second") && hint.is_some(), "{message}");
    let group = |name: &str| folder.path().join(format!("groups.h5:{name}"));
    assert_eq!((value(&group("second")), value(&group("/notes/third"))), (Ok(2.0), Ok(3.0)));
    assert!(value(&group("fourth")).expect_err("none").0.contains("expected a group fourth"));
    let refused = io::check_output(&group("first"), Some(1));
    assert!(matches!(refused, Err(IoError::Unwritable { .. })), "{refused:?}");
    // The content tells, too.
    let other = folder.path().join("unnamed");
    create(&other, &vector, &[("values", f(&[4.0]))]);
    assert_eq!(value(&other), Ok(4.0));
}
