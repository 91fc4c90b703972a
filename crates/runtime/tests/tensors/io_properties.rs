//! Properties of readers and writers: written data read back the same in every format and compression, and no bytes
//! whatever make a reader panic or return a list that breaks the rules of coordinate lists.

use std::path::Path;

use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::io::{self, Data, Dense, IndexBase, PatternValues, ReadOptions, WriteField, WriteOptions};
use lacunar_runtime::values::Values;
use num_complex::Complex;
use proptest::prelude::*;

const QUIET: WriteOptions =
    WriteOptions { field: WriteField::OfType, format: None, base: IndexBase::One, progress: false };

fn options() -> ReadOptions {
    ReadOptions { progress: false, ..ReadOptions::default() }
}

/// Any double but NaN, which equals nothing.
fn any_real() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("NaN equals nothing", |x| !x.is_nan()), (-9i32..9).prop_map(f64::from)]
}

/// Values of the types that files give back.
fn values(count: usize) -> impl Strategy<Value = Values> {
    prop_oneof![
        prop::collection::vec(any_real(), count).prop_map(Values::F64),
        prop::collection::vec(any::<i64>(), count).prop_map(Values::I64),
        prop::collection::vec((any_real(), any_real()), count)
            .prop_map(|v| Values::C128(v.into_iter().map(|(re, im)| Complex::new(re, im)).collect())),
        Just(Values::Bool(vec![true; count])),
    ]
}

/// A coordinate list of an order, with any sizes.
fn list(order: usize) -> impl Strategy<Value = Coo> {
    let size = prop_oneof![1u64..6, 1u64..1000, Just(1 << 32), Just((1 << 32) + 5), Just(i64::MAX as u64)];
    (prop::collection::vec(size, order), 0usize..40).prop_flat_map(|(dims, count)| {
        let entry: Vec<_> = dims.iter().map(|&size| 0..size).collect();
        (prop::collection::vec(entry, count), values(count)).prop_map(move |(entries, values)| {
            let mut coo = Coo::empty(dims.clone(), values.dtype());
            for entry in &entries {
                coo.coords.iter_mut().zip(entry).for_each(|(coords, &coordinate)| coords.push(coordinate));
            }
            coo.values = values;
            coo
        })
    })
}

const COMPRESSIONS: [&str; 3] = ["", ".gz", ".zst"];

/// Writes and reads back.
fn round_trip(coo: &Coo, name: &str, write: &WriteOptions, read: &ReadOptions) -> Data {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    io::write(&path, coo, write).expect("written");
    let names: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").collect();
    assert_eq!(names.len(), 1, "a temporary file is left");
    io::read(&path, read).expect("read")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matrices_round_trip(coo in list(2), compression in 0usize..3) {
        let name = format!("a.mtx{}", COMPRESSIONS[compression]);
        let (write, pattern) = match &coo.values {
            Values::Bool(_) => (WriteField::Pattern, PatternValues::True),
            _ => (WriteField::OfType, PatternValues::Ones),
        };
        let write = WriteOptions { field: write, format: None, base: IndexBase::One, progress: false };
        let back = round_trip(&coo, &name, &write, &ReadOptions { pattern, ..options() });
        prop_assert_eq!(back, Data::Coordinate(coo));
    }

    #[test]
    fn tensors_round_trip(mut coo in (0usize..7).prop_flat_map(list), compression in 0usize..3) {
        // A tensor file holds reals only.
        coo.values = match coo.values {
            Values::C128(v) => Values::F64(v.into_iter().map(|x| x.re).collect()),
            Values::I64(v) => Values::F64(v.into_iter().map(|x| x as f64).collect()),
            Values::Bool(v) => Values::F64(vec![1.0; v.len()]),
            values => values,
        };
        let name = format!("a.tns{}", COMPRESSIONS[compression]);
        let read = ReadOptions { dims: Some(coo.dims.clone()), ..options() };
        prop_assert_eq!(round_trip(&coo, &name, &QUIET, &read), Data::Coordinate(coo));
    }

    #[test]
    fn arrays_round_trip((dims, values) in (0u64..9, 0u64..9)
        .prop_flat_map(|(m, n)| (Just(vec![m, n]), values((m * n) as usize)))) {
        let dense = match values {
            Values::Bool(v) => Dense { dims, values: Values::I64(vec![1; v.len()]) },
            values => Dense { dims, values },
        };
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.mtx");
        io::write(&path, &dense, &QUIET)?;
        prop_assert_eq!(io::read(&path, &options())?, Data::Dense(dense));
    }
}

/// Small valid files, one of each kind.
const SEEDS: [(&str, &str); 9] = [
    ("a.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n3 4 3\n1 1 1.5\n2 2 -2\n3 4 1e3\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 1 -1\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -7\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"),
    ("a.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"),
    ("a.tns", "# t\n1 1 1 1.5\n2 3 4 -2\n"),
    ("a.tns", "sptensor\n3\n2 3 4\n2\n1 1 1 1.5\n2 3 4 -2\n"),
    (
        "a.rua",
        "title                                                                   KEY\n     3     1     1     1     0\n\
         RUA                        2             2             3             0\n\
         (26I3)          (26I3)          (5E12.4)\n  1  3  4\n  1  2  2\n  1.0000E+00  2.0000E+00  3.0000E+00\n",
    ),
    (
        "a.rb",
        "title                                                                   KEY\n     3     1     1     1\n\
         csa                        2             2             2             0\n\
         (3I1)           (2I1)           (4F6.2)\n123\n12\n  1.00  200  3.00 -4.00\n",
    ),
];

/// Replaces, inserts or removes bytes.
fn mutate(bytes: &mut Vec<u8>, edits: &[(usize, u8, u8)]) {
    for &(at, byte, kind) in edits {
        let at = at % (bytes.len() + 1);
        match kind % 4 {
            0 if at < bytes.len() => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => bytes.truncate(at.max(bytes.len() / 2)),
            _ => bytes.push(byte),
        }
    }
}

/// Reads whatever is there; a result must keep the rules.
fn read_anything(path: &Path, options: &ReadOptions) {
    match io::read(path, options) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(Data::Dense(dense)) => assert_eq!(dense.dims.iter().product::<u64>(), dense.values.len() as u64),
        Ok(Data::Coordinate(coo)) => {
            assert_eq!(coo.dims.len(), coo.coords.len());
            for (coords, &size) in coo.coords.iter().zip(&coo.dims) {
                assert_eq!(coords.len(), coo.values.len());
                assert!((0..coords.len()).all(|k| coords.get(k).is_some_and(|coordinate| coordinate < size)));
                let narrow = matches!(coords, Coordinates::U32(_));
                assert_eq!(narrow, matches!(Coordinates::for_size(size), Coordinates::U32(_)));
            }
        }
    }
}

/// Bytes that mean something to some format, more often than chance would have them.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        prop::sample::select(b"0123456789 \t\r\n.-+eEdD%#()IFP,\0\xff".to_vec()),
        prop::sample::select(b"09 \n-.".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_never_panic(
        edits in prop::collection::vec((0usize..600, telling_byte(), any::<u8>()), 1..6),
        compressed in any::<bool>(),
        zero in any::<bool>(),
    ) {
        let folder = tempfile::tempdir()?;
        let base = if zero { IndexBase::Zero } else { IndexBase::One };
        for (name, seed) in SEEDS {
            let mut bytes = seed.as_bytes().to_vec();
            if compressed {
                bytes = zstd::bulk::compress(&bytes, 1)?;
            }
            mutate(&mut bytes, &edits);
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes)?;
            read_anything(&path, &ReadOptions { base, ..options() });
            // Without a telling name, the content decides.
            let unnamed = folder.path().join("unnamed");
            std::fs::write(&unnamed, &bytes)?;
            read_anything(&unnamed, &ReadOptions { base, ..options() });
        }
    }
}

#[test]
fn seeds_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, seed) in SEEDS {
        for name in [name, "unnamed"] {
            let path = folder.path().join(name);
            std::fs::write(&path, seed).expect("written");
            assert!(io::read(&path, &options()).is_ok(), "{name}: {seed}");
        }
    }
}
