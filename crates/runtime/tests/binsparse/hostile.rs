//! Files that lie about arrays, sizes and memory, and files with changed bytes.

use hdf5_metno as hdf5;
use lacunar_runtime::io::IoError;

use super::{Array, create, describe, f, named, put, read, read_file, text, u};

#[test]
fn arrays_that_contradict_the_text_are_errors() {
    let wrong = |text: &str, arrays: &[(&str, Array)], message: &str| {
        let error = read(text, arrays).expect_err(message).to_string();
        assert!(error.contains(message), "{message}: {error}");
    };
    let names = ["pointers_to_1", "indices_1"];
    let csr = |shape: &str, stored: u64| named("CSR", shape, stored, &names, "float64");
    let arrays = |starts: &[u64], indices: &[u64]| {
        [("pointers_to_1", u(starts)), ("indices_1", u(indices)), ("values", f(&[1.0, 2.0, 3.0]))]
    };
    wrong(&csr("[2, 3]", 3), &arrays(&[0, 2], &[0, 2, 2]), "pointers_to_1: expected 3 numbers, found 2");
    wrong(&csr("[2, 3]", 3), &arrays(&[1, 2, 3], &[0, 2, 2]), "numbers that begin with 0");
    wrong(&csr("[2, 3]", 3), &arrays(&[0, 3, 2], &[0, 2, 2]), "do not descend");
    wrong(
        &csr("[2, 3]", 3),
        &arrays(&[0, 2, u64::MAX], &[0, 2, 2]),
        "indices_1: expected 18446744073709551615 numbers",
    );
    wrong(&csr("[2, 3]", 3), &arrays(&[0, 2, 3], &[0, 3, 2]), "coordinates from 0 to 2, found 3");
    wrong(&csr("[2, 3]", 3), &arrays(&[0, 2, 3], &[2, 2, 2]), "expected every entry once, found (0, 2) twice");
    wrong(&csr("[2, 3]", 4), &arrays(&[0, 2, 3], &[0, 2, 2]), "number_of_stored_values: expected 3");
    wrong(&csr("[2, 3]", 2), &arrays(&[0, 2, 2], &[0, 2]), "values: expected 2 numbers, found 3");
    // Sizes take no memory.
    wrong(&csr("[9223372036854775807, 3]", 3), &arrays(&[0, 2, 3], &[0, 2, 2]), "expected 9223372036854775808 numbers");
    wrong(&csr("[9223372036854775808, 3]", 3), &arrays(&[0], &[]), "sizes, from 0 to 2^63-1");
    wrong(&csr("[-1, 3]", 3), &arrays(&[0], &[]), "sizes, from 0 to 2^63-1");
    wrong(&csr("[2]", 3), &arrays(&[0], &[]), "as many sizes as CSR has dimensions, 2");
    let large = named("DMAT", "[4611686018427387904, 4]", 0, &[], "float64");
    wrong(&large, &[("values", f(&[1.0]))], "do not fit into 64 bits");
    let large = named("DMAT", "[1099511627776, 1048576]", 1 << 60, &[], "iso[float64]");
    wrong(&large, &[("values", f(&[1.0]))], "too large: array: values: one value for 1152921504606846976 places");
    let signed = named("CVEC", "[9]", 1, &[], "float64").replace("\"values\"", "\"indices_0\": \"int32\", \"values\"");
    wrong(&signed, &[("indices_0", Array::I32(vec![-1])), ("values", f(&[1.0]))], "whole numbers from 0, found -1");
    let arrays = || [("indices_0", u(&[1])), ("values", f(&[1.0]))];
    wrong(&signed, &arrays(), "indices_0: expected int32 as announced, found uint64");
    wrong(
        &named("CVEC", "[9]", 1, &[], "float64"),
        &arrays(),
        "data_types: indices_0: expected the type of this array",
    );
    wrong(&named("CVEC", "[9]", 1, &["indices_0"], "float32"), &arrays(), "values: expected float32 as announced");
    wrong(&named("CVEC", "[9]", 1, &["indices_0"], "complex[float64]"), &arrays(), "expected 2 numbers, found 1");
    wrong(
        &named("CVEC", "[9]", 1, &["indices_0"], "float64"),
        &[("indices_0", u(&[1]))],
        "values: expected an array of this name",
    );
    let filled = named("CVEC", "[9]", 1, &["indices_0", "fill_value"], "float64")
        .replace("\"fill_value\": \"uint64\"", "\"fill_value\": \"float64\"");
    let filled = filled.replace("\"version\"", "\"fill\": true, \"version\"");
    let with = |value: f64| [("indices_0", u(&[1])), ("values", f(&[1.0])), ("fill_value", f(&[value]))];
    wrong(&filled, &with(f64::INFINITY), "fill_value: expected 0");
    assert!(read(&filled, &with(0.0)).is_ok());
}

#[test]
fn arrays_that_were_never_written_take_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("holes.h5");
    for (chunk, len) in [(None, 1usize << 40), (Some(1 << 12), 1 << 40), (Some(1 << 28), 8)] {
        let file = hdf5::File::create(&path).expect("a file");
        let new = file.new_dataset::<f64>();
        let new = match chunk {
            Some(chunk) => new.shape(hdf5::Extents::resizable(vec![len].into())).chunk(chunk).deflate(1),
            None => new.shape(len),
        };
        new.create("values").expect("an array");
        describe(&file, &named("DVEC", &format!("[{len}]"), len as u64, &[], "float64"));
        drop((new, file));
        let error = read_file(&path).expect_err("holes").to_string();
        assert!(error.contains(&format!("values: expected {len} numbers as announced")), "{error}");
    }
    let file = hdf5::File::create(&path).expect("a file");
    file.new_dataset::<f64>().shape(2).external("elsewhere", 0, 16).create("values").expect("an array");
    describe(&file, &named("DVEC", "[2]", 2, &[], "float64"));
    drop(file);
    let error = read_file(&path).expect_err("other files").to_string();
    assert!(error.contains("expected an array that is stored in this file"), "{error}");
}

/// A part of the text, the part that replaces it, and the message.
const DAMAGES: [(&str, &str, &str); 29] = [
    ("\"0.1\"", "\"1.0\"", "version: expected version 0.1"),
    ("\"0.1\"", "0.1", "version: expected version 0.1"),
    ("\"custom\"", "\"costum\"", "format: expected DVEC, CVEC"),
    ("\"dense\"", "\"dance\"", "a level that is dense, sparse or element, found"),
    ("\"rank\": 2", "\"rank\": 3", "rank: expected ranks of levels that are 3 together"),
    ("\"rank\": 2", "\"rank\": 0", "found \"0\""),
    ("\"rank\": 2", "\"rank\": 18446744073709551615", "rank: expected"),
    ("\"rank\": 2", "\"rank\": 1", "level: expected levels of 3 dimensions"),
    ("\"rank\": 2", "\"rang\": 2", "rank: expected"),
    ("[2, 0, 1]", "[2, 0, 0]", "transpose: expected each of the 3 dimensions once"),
    ("[2, 0, 1]", "[2, 0]", "transpose: expected"),
    ("[2, 0, 1]", "[1e300, 0, 1]", "transpose: expected"),
    ("[3, 4, 2]", "[3, 4, 2, 1]", "level: expected levels of 4 dimensions"),
    ("[3, 4, 2]", "\"3, 4, 2\"", "shape: expected a list"),
    ("[3, 4, 2]", "[3, 4, 2.5]", "shape: expected a list"),
    ("\"number_of_stored_values\": 3", "\"number_of_stored_values\": \"3\"", "number_of_stored_values: expected"),
    ("\"number_of_stored_values\": 3", "\"number_of_stored_values\": 4", "number_of_stored_values: expected 3"),
    ("\"uint64\"", "\"uint65\"", "data_types: indices_1: expected a type"),
    ("\"float64\"", "\"float64", "JSON"),
    ("\"float64\"", "\"float16\"", "data_types: values: expected a type"),
    ("\"float64\"", "\"complex[int8]\"", "data_types: values: expected a type"),
    ("\"float64\"", "\"complex[iso[float64]]\"", "data_types: values: expected a type"),
    ("\"float64\"", "\"iso[float64]]\"", "data_types: values: expected a type"),
    ("\"float64\"", "\"iso[]\"", "data_types: values: expected a type"),
    ("\"data_types\"", "\"types\"", "data_types: expected an object"),
    ("\"level\": {\"level_desc\": \"element\"}", "\"level\": []", "level: expected a level"),
    ("\"version\"", "\"structure\": 5, \"version\"", "structure: expected general"),
    ("\"version\"", "\"structure\": \"symmetric_lower\", \"version\"", "as many rows as columns"),
    ("\"version\"", "\"fill\": 1, \"version\"", "fill: expected true or false"),
];

#[test]
fn damaged_descriptors_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.bsp.h5");
    let names = ["pointers_to_1", "indices_1", "indices_2"];
    let custom = "\"custom\": {\"transpose\": [2, 0, 1], \"level\": {\"level_desc\": \"dense\", \"rank\": 1, \"level\": \
                  {\"level_desc\": \"sparse\", \"rank\": 2, \"level\": {\"level_desc\": \"element\"}}}}";
    let whole = text(custom, "[3, 4, 2]", 3, &names, "float64");
    let arrays = [
        ("pointers_to_1", u(&[0, 1, 3])),
        ("indices_1", u(&[2, 0, 1])),
        ("indices_2", u(&[3, 0, 2])),
        ("values", f(&[1.0, 2.0, 3.0])),
    ];
    let file = hdf5::File::create(&path).expect("a file");
    put(&file, &arrays);
    // A text of another length needs another attribute.
    let with = |text: &str| {
        let _ = file.delete_attr("binsparse");
        describe(&file, text);
        file.flush().expect("written");
        read_file(&path)
    };
    assert!(with(&whole).is_ok());
    for (from, to, message) in DAMAGES {
        let error = with(&whole.replacen(from, to, if from == "\"uint64\"" { 3 } else { 1 })).expect_err(message);
        assert!(error.to_string().contains(message), "{message}: {error}");
        assert!(matches!(error, IoError::Invalid { .. }), "{error:?}");
    }
    let deep = format!("{{\"binsparse\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(with(&deep).is_err() && with("").is_err() && with("[]").is_err() && with("{\"binsparse\": 5}").is_err());
    // Bytes that are left out, or replaced by others.
    for place in 0..whole.len() {
        assert!(with(&whole[..place]).is_err(), "{place}");
        for byte in ["", "0", "9", "\"", "}", "[", "e", "-"] {
            // No panic, with one result or another.
            let _ = with(&format!("{}{byte}{}", &whole[..place], &whole[place + 1..]));
        }
    }
    // An attribute that is no text.
    file.delete_attr("binsparse").expect("there");
    file.new_attr::<f64>().create("binsparse").expect("a number");
    file.flush().expect("written");
    assert!(read_file(&path).expect_err("a number").to_string().contains("expected one text"));
    // A text of a fixed length, as others write it.
    file.delete_attr("binsparse").expect("there");
    let fixed: hdf5::types::FixedAscii<4096> = hdf5::types::FixedAscii::from_ascii(&whole).expect("a text");
    file.new_attr::<hdf5::types::FixedAscii<4096>>()
        .create("binsparse")
        .expect("a text")
        .write_scalar(&fixed)
        .expect("written");
    file.flush().expect("written");
    assert!(read_file(&path).is_ok());
}

#[test]
fn files_that_are_not_hdf5_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.bsp.h5");
    let bytes = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("written");
        read_file(&path)
    };
    for text in [&b""[..], b"rubbish", b"\x89HDF\r\n\x1a\n", b"\x1f\x8b"] {
        let error = bytes(text).expect_err("rubbish");
        assert!(matches!(error, IoError::Invalid { .. } | IoError::Read { .. }), "{error:?}");
    }
    assert!(matches!(read_file(&folder.path().join("none.h5")), Err(IoError::Open { .. })));
    // A file that is cut short.
    create(&path, &named("DVEC", "[1000]", 1000, &[], "float64"), &[("values", f(&[1.0; 1000]))]);
    let whole = std::fs::read(&path).expect("there");
    for end in (0..whole.len()).step_by(97) {
        assert!(bytes(&whole[..end]).is_err(), "{end}");
    }
    assert!(bytes(&whole).is_ok());
    // The reference to the text, and the collection that holds it: versions of HDF5 trust them.
    let name = whole.windows(10).position(|found| found == b"binsparse\0").expect("an attribute");
    let heap = whole.windows(4).position(|found| found == b"GCOL").expect("a collection");
    for place in (name..name + 64).chain(heap..heap + 64) {
        for byte in [0, 1, 127, 255] {
            let mut changed = whole.clone();
            changed[place] = byte;
            // No panic, with one result or another.
            let _ = bytes(&changed);
        }
    }
}
