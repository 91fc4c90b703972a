//! Targets that are files: each reader, plain and compressed.

use std::path::PathBuf;

use lacunar_formats::Format;
use lacunar_runtime::io::{self, Data, DataRef, Dense, ReadOptions};
use lacunar_runtime::{Coo, Coordinates, Tensor, Values};

use super::{Target, answer};

pub(super) const MATRIX_MARKET: Target = Target {
    name: "matrix-market",
    seeds: || {
        let texts = [
            "%%MatrixMarket matrix coordinate real general\n% a remark\n3 4 3\n1 1 1.5\n2 4 -2e3\n3 1 4\n",
            "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 1\n2 1 5\n3 3 7\n",
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 5 -1\n",
            "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n",
            "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
            "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n4\n",
        ];
        compressed(&texts)
    },
    words: &[
        "%%MatrixMarket",
        " matrix",
        " coordinate",
        " array",
        " real",
        " integer",
        " complex",
        " pattern",
        " general",
        " symmetric",
        " skew-symmetric",
        " hermitian",
        "\n",
        "1 1 1\n",
        "18446744073709551615",
        "4294967296",
        "-1",
        "nan",
        "inf",
        "1e400",
        "%",
        "0",
    ],
    run: |bytes| read(bytes, "mtx"),
};

pub(super) const FROSTT: Target = Target {
    name: "frostt",
    seeds: || {
        compressed(&["1 1 1 1.0\n2 3 2 2.0\n", "# a remark\n1 1 0.5\n", "3\n2 3 4\n1 1 1 1\n2 3 4 -1e-3\n", "1 2\n"])
    },
    words: &["1 ", "\n", "0", "#", "18446744073709551615", "4294967297 ", "1.5", "-", "nan", "\r\n", "\t"],
    run: |bytes| read(bytes, "tns"),
};

pub(super) const EDGE_LIST: Target = Target {
    name: "edge-list",
    seeds: || {
        compressed(&[
            "1 2\n2 3\n",
            "# a remark\n1\t2\t.5\n",
            "from,to,weight\r\n1,2,0.5\r\n3,1,-2\r\n",
            "% of one\n1,2",
        ])
    },
    words: &[
        "1 ",
        "1,",
        ",",
        "\n",
        "0",
        "#",
        "%",
        "\"",
        "18446744073709551615",
        "1.5",
        "-",
        "nan",
        "\r\n",
        "\t",
        "source",
    ],
    run: |bytes| read(bytes, "csv"),
};

pub(super) const NUMPY: Target = Target {
    name: "numpy",
    seeds: || arrays("npy"),
    words: &[
        "\u{1}\0",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "'<i4'",
        "'>f4'",
        "'|b1'",
        "'<c16'",
        "'|O'",
        "True",
        "()",
        "(0,)",
        "(9223372036854775807, 2)",
        "}",
        "\n",
    ],
    run: |bytes| read(bytes, "npy"),
};

pub(super) const NUMPY_ARCHIVE: Target = Target {
    name: "numpy-archive",
    seeds: || arrays("npz"),
    words: &[
        "PK\u{3}\u{4}",
        "PK\u{1}\u{2}",
        "PK\u{5}\u{6}",
        "data.npy",
        "row.npy",
        "shape.npy",
        "coo",
        "csr",
        "'<i8'",
        "\0\0\0\0",
    ],
    run: |bytes| read(bytes, "npz"),
};

pub(super) const HARWELL_BOEING: Target = Target {
    name: "harwell-boeing",
    seeds: || {
        let title = format!("{:<72}{:<8}\n", "A small matrix", "SMALL");
        let head = |kind: &str, rows: u64, columns: u64, entries: u64, values: u64| {
            format!(
                "{title}{:>14}{:>14}{:>14}{:>14}{:>14}\n{kind:<14}{rows:>14}{columns:>14}{entries:>14}{:>14}\n{:<16}{:<16}{:<20}\n",
                2 + values,
                1,
                1,
                values,
                0,
                0,
                "(8I10)",
                "(8I10)",
                "(4E20.12)"
            )
        };
        let pointers: String = [1, 2, 3, 4].map(|n| format!("{n:>10}")).concat() + "\n";
        let indices: String = [1, 2, 3].map(|n| format!("{n:>10}")).concat() + "\n";
        let values: String = [1.5, -2.0, 3e9].map(|x| format!("{x:>20.12E}")).concat() + "\n";
        let real = head("rua", 3, 3, 3, 1) + &pointers + &indices + &values;
        let pattern = head("psa", 3, 3, 3, 0) + &pointers + &indices;
        compressed(&[&real, &pattern])
    },
    words: &[
        "rua",
        "psa",
        "csa",
        "iua",
        "(8I10)",
        "(4E20.12)",
        "(1P,3D25.16)",
        "(",
        ")",
        "\n",
        "        1",
        "-1",
        "1e9",
        "D+10",
        "99999999",
    ],
    run: |bytes| read(bytes, "rb"),
};

/// The texts as they are, and one of them compressed in each way.
fn compressed(texts: &[&str]) -> Vec<Vec<u8>> {
    let small = Coo {
        dims: vec![1, 1],
        coords: vec![Coordinates::U32(vec![0]), Coordinates::U32(vec![0])],
        values: Values::F64(vec![1.0]),
    };
    let texts = texts.iter().map(|text| text.as_bytes().to_vec());
    texts.chain(["mtx.gz", "mtx.zst"].iter().filter_map(|end| written(end, &small))).collect()
}

/// Arrays of several types and orders, and a list of entries where the format has them.
fn arrays(extension: &str) -> Vec<Vec<u8>> {
    let coords = vec![Coordinates::U32(vec![0, 1]), Coordinates::U32(vec![2, 0])];
    let list = Coo { dims: vec![2, 3], coords, values: Values::F64(vec![1.5, -2.0]) };
    let dense = |dims: &[u64], values| Dense { dims: dims.to_vec(), values };
    let arrays = [
        dense(&[2, 3], Values::F64(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
        dense(&[2, 1, 2], Values::I32(vec![1, 2, 3, 4])),
        dense(&[], Values::Bool(vec![true])),
    ];
    let arrays = arrays.iter().filter_map(|array| written(extension, array));
    arrays.chain(written(extension, &list)).collect()
}

/// The bytes of a file that a tensor is written to; `None` if the format has no such tensors.
fn written<'a>(extension: &str, data: impl Into<DataRef<'a>>) -> Option<Vec<u8>> {
    let path = std::env::temp_dir().join(format!("lacunar-fuzz-{}.{extension}", std::process::id()));
    let written = io::write(&path, data, &io::WriteOptions::default()).ok().and_then(|()| std::fs::read(&path).ok());
    // The file may never have been there.
    let _ = std::fs::remove_file(&path);
    written
}

/// Reads a file of these bytes; its content has to be a tensor.
fn read(bytes: &[u8], extension: &str) -> String {
    // In memory, if the system has a folder there.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let thread = std::thread::current().id();
    let path = folder.join(format!("lacunar-fuzz-{}-{thread:?}.{extension}", std::process::id()));
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let found = io::read(&path, &ReadOptions { progress: false, ..ReadOptions::default() });
    std::fs::remove_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match found {
        Ok(Data::Coordinate(coo)) => {
            let order = coo.dims.len();
            let described = format!("{} of order {order}", coo.values.dtype());
            if let Ok(tensor) = Tensor::from_coo(coo, &Format::coo(order)) {
                let list = tensor.to_coo();
                assert!(list.is_ok(), "what was read and packed is not unpacked: {list:?}");
            }
            described
        }
        Ok(Data::Dense(dense)) => {
            let size = dense.dims.iter().try_fold(1u64, |size, dim| size.checked_mul(*dim));
            assert_eq!(size, Some(dense.values.len() as u64), "sizes and values of an array");
            format!("an array of order {}", dense.dims.len())
        }
        Err(error) => {
            let message = error.to_string();
            answer(message.rsplit(extension).next().unwrap_or_default())
        }
    }
}
