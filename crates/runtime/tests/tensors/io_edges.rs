//! Edge lists: the accepted lines, the sizes that follow, and the errors for other lines.

use std::path::Path;

use lacunar_runtime::coo::Coo;
use lacunar_runtime::io::{self, Data, FileFormat, IndexBase, Integers, PatternValues, ReadOptions};
use lacunar_runtime::values::Values;

fn options() -> ReadOptions {
    ReadOptions { progress: false, ..ReadOptions::default() }
}

fn read_with(name: &str, content: &str, options: &ReadOptions) -> Result<(Coo, FileFormat), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    match io::read_described(&path, options) {
        Ok((Data::Coordinate(coo), metadata)) => Ok((coo, metadata.format)),
        Ok(other) => panic!("{name}: {other:?}"),
        Err(error) => Err(error.to_string().replace(&format!("{}/", folder.path().display()), "")),
    }
}

fn read(name: &str, content: &str) -> Coo {
    let (coo, format) = read_with(name, content, &options()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(format, FileFormat::EdgeList, "{name}");
    coo
}

fn edges(coo: &Coo) -> Vec<(u64, u64)> {
    let column = |dimension: usize, place| coo.coords[dimension].get(place).expect("one coordinate for each entry");
    (0..coo.len()).map(|place| (column(0, place), column(1, place))).collect()
}

#[test]
fn two_and_three_columns_in_every_spelling() {
    for (name, content) in [
        ("g.el", "1 2\n2 3\n"),
        ("g.edges", "# a graph\n% of two edges\n\n1\t2\r\n 2  3"),
        ("g.csv", "source,target\n1,2\n2, 3\n"),
        ("g.csv", "\"source\",\"target\"\r\n1,2\r\n2,3\r\n"),
        ("g.csv", "\u{feff}source,target\n1,2\n2,3\n"),
        ("g.el", "\u{feff}1 2\n2 3\n"),
        ("g.tsv", "1\t2\n2\t3\n"),
        ("g.txt", "1 2\n2 3\n"),
        ("g.txt", "# SNAP\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n"),
        ("graph", "1,2\n2,3\n"),
    ] {
        let coo = read(name, content);
        assert_eq!((&coo.dims, edges(&coo)), (&vec![3, 3], vec![(0, 1), (1, 2)]), "{content:?}");
        assert_eq!(coo.values, Values::F64(vec![1.0, 1.0]), "{content:?}");
    }
    for (name, content) in [("g.wel", "1 2 .5\n2 3 -2e0\n"), ("g.csv", "a,b,w\n1,2,0.5,\n2,3,-2\n")] {
        assert_eq!(read(name, content).values, Values::F64(vec![0.5, -2.0]), "{content:?}");
    }
    assert!(matches!(read("g.el", "1 2 nan\n").values, Values::F64(values) if values[0].is_nan()));
}

#[test]
fn sizes_base_and_types_are_the_callers() {
    let zero = ReadOptions { base: IndexBase::Zero, ..options() };
    let (coo, _) = read_with("g.el", "0 4\n", &zero).expect("an edge");
    assert_eq!((coo.dims.clone(), edges(&coo)), (vec![5, 5], vec![(0, 4)]));
    let sized = ReadOptions { dims: Some(vec![3, 7]), ..options() };
    assert_eq!(read_with("g.el", "1 2\n", &sized).expect("an edge").0.dims, [3, 7]);
    assert_eq!(read_with("g.el", "", &sized).expect("no edge").0.dims, [3, 7]);
    assert!(read_with("g.el", "4 2\n", &sized).is_err_and(|error| error.contains("a row index from 1 to 3")));
    let places = ReadOptions { pattern: PatternValues::Places, ..options() };
    assert!(matches!(read_with("g.el", "1 2\n", &places).expect("an edge").0.values, Values::Pattern(_)));
    let integers = ReadOptions { integers: Some(Integers::Signed), ..options() };
    let weight = |content| read_with("g.el", content, &integers).expect("an edge").0.values;
    assert_eq!(weight("1 2 9007199254740993\n"), Values::I64(vec![9007199254740993]));
    assert_eq!(weight("1 2 0.5\n"), Values::F64(vec![0.5]));
}

#[test]
fn lines_that_are_no_edges_are_told_with_their_numbers() {
    for (content, expected) in [
        ("", "g.csv:1: expected a source and a target, or the sizes of the matrix from the caller, found the end"),
        ("# nothing\n", "g.csv:1: expected a source and a target"),
        ("a,b\n", "g.csv:1: expected a source and a target"),
        ("a,b\nc,d\n", "g.csv:2: expected a row index from 1, found \"c\""),
        ("1\n", "g.csv:1: expected a source, a target and perhaps a weight, found 1 field: \"1\""),
        ("1,2,3,4\n", "found 4 fields"),
        ("1,2\n0,1\n", "g.csv:2: expected a row index from 1, found \"0\""),
        ("1,2\n1\n", "g.csv:2: expected a column index from 1, found the end of the line"),
        ("1,2\n1,2,3\n", "g.csv:2: expected the end of the line, found \"3\""),
        ("1,2,3\n1,2\n", "g.csv:2: expected a real number, found the end of the line"),
        ("1,2,3\n1,,2\n", "g.csv:2: expected a column index from 1, found \",2\""),
        (",1,2\n", "g.csv:1:"),
        ("1,2\n-1,2\n", "g.csv:2: expected a row index from 1, found \"-1\""),
        ("1,2\n1.5,2\n", "g.csv:2: expected a row index from 1, found \"1.5\""),
        ("1,2\nnan,2\n", "g.csv:2: expected a row index from 1, found \"nan\""),
        ("1,2\n10000000000000000000,2\n", "g.csv:2: expected a row index from 1, found \"10000000000000000000\""),
        ("1,2\n1,99999999999999999999999\n", "g.csv:2: expected a column index from 1"),
        ("1,2,x\n", "g.csv:1: expected a real number, found \"x\""),
    ] {
        let error = read_with("g.csv", content, &options()).expect_err(content);
        assert!(error.contains(expected), "{content:?}: {error}");
    }
    // An index may be as large as sizes; memory goes with the entries.
    assert_eq!(read("g.el", "1 9223372036854775807\n").dims, [i64::MAX as u64; 2]);
}

#[test]
fn what_may_help_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let hint = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        io::read(Path::new(&path), &options()).expect_err("an index that is not taken").hint()
    };
    assert!(hint("g.el", "0 1\n").is_some_and(|hint| hint.contains("--base 0")));
    assert!(hint("g.tns", "1 1 1.0\n1 0 1.0\n").is_some_and(|hint| hint.contains("--base 0")));
    assert_eq!(hint("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n"), None);
    assert_eq!(hint("g.el", "x 1\n1 2\n"), None);
}
