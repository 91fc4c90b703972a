//! The contents of formats with a map besides entries: places outside of a tensor's dimensions, slots that repeat a
//! coordinate, and sizes that are too large to compute with.

#![allow(clippy::unwrap_used)]

use lacunar_formats::{Format, FormatSpec};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, Coordinates, StorageError, Tensor, Values};

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

fn matrix(dims: [u64; 2], format: &Format) -> Result<Tensor, StorageError> {
    let coords = vec![Coordinates::U32(vec![0, 1, 2]), Coordinates::U32(vec![1, 0, 0])];
    Tensor::from_coo(Coo { dims: dims.to_vec(), coords, values: Values::F64(vec![1.0, 2.0, 3.0]) }, format)
}

#[test]
fn what_lies_outside_is_no_entry_whatever_stands_there() {
    let formats = [
        "dia",
        "dia:1,0",
        "dd:0-1,1",
        "bcsr(2,2)",
        "bcsr(2,3):1,0",
        "dddd:0/2,1/2,0%2,1%2",
        "dsd:0/4,1,0%4",
        "de:1-0,0",
        "se:1-0,0",
        "sk:1-0,0",
        "ed:1-0,0",
        "dk:0,1-0",
        "ked:0/2,1,0%2",
        "dddd:0%2,0/2,1%4,1/4",
        "dbdd:0/2,1/2,0%2,1%2",
    ];
    let targets = [
        "csr",
        "csc",
        "coo",
        "dcsr",
        "dense",
        "sd:1,0",
        "db",
        "dia",
        "bcsr(2,2)",
        "hicoo(2)",
        "ell",
        "sell(2,2)",
        "dh",
    ];
    for name in formats {
        let Ok(from) = name.parse::<FormatSpec>().unwrap().resolve(2) else { continue };
        let mut tensor = matrix([3, 3], &from).unwrap();
        tensor.values_mut().into_slice::<f64>().unwrap().fill(1.0);
        let list = tensor.to_coo().unwrap();
        let inside = |k: usize| list.coords.iter().all(|column| column.get(k).unwrap() < 3);
        assert!((0..list.len()).all(inside), "{name}");
        let dense = tensor.to_dense::<f64>().unwrap();
        assert_eq!(dense.iter().sum::<f64>(), list.len() as f64, "{name}");
        for target in targets {
            let made = tensor.convert(&format(target, 2)).unwrap();
            assert_eq!(made.to_dense::<f64>().unwrap(), dense, "{name} to {target}");
            let (dims, format, levels, values) = made.into_parts();
            assert!(Tensor::from_parts(dims, &format, levels, values).is_ok(), "{name} to {target}");
        }
    }
}

#[test]
fn filled_up_rows_of_slices_are_left_out_and_other_places_refused() {
    let sell = matrix([3, 3], &Format::sell(2).unwrap()).unwrap();
    let with = |column: u32| {
        let (dims, format, levels, values) = sell.try_clone().unwrap().into_parts();
        let levels = levels.into_iter().enumerate().map(|(level, storage)| match level {
            // The last place is that of row 3, of which there is none.
            3 => storage.try_map(|_, array| {
                let mut columns = array.as_slice::<u32>().unwrap().to_vec();
                *columns.last_mut().unwrap() = column;
                Ok::<_, ()>(Buffer::from_vec(columns))
            }),
            _ => Ok(storage),
        });
        Tensor::from_parts(dims, &format, levels.collect::<Result<_, _>>().unwrap(), values)
    };
    assert_eq!(with(u32::MAX).unwrap(), sell);
    assert_eq!(with(1).unwrap(), sell);
    assert!(matches!(with(3), Err(StorageError::OutOfRange { .. })));
}

/// Rows 0 and 1 have two entries each, row 2 has one.
fn ell(columns: Vec<u32>, values: Vec<f64>) -> Result<Tensor, StorageError> {
    let format = Format::ell().unwrap();
    let slots = LevelStorage::new(format.levels()[0].kind, 2, vec![Buffer::from_vec(vec![0u32, 2])]);
    let optional = LevelStorage::new(format.levels()[2].kind, 4, vec![Buffer::from_vec(columns)]);
    Tensor::from_parts(vec![3, 4], &format, vec![slots, LevelStorage::dense(3), optional], Buffer::from_vec(values))
}

#[test]
fn slots_that_repeat_a_column_are_added_up() {
    let plain = ell(vec![0, 2, 3, 1, 3, u32::MAX], vec![1.0, 2.0, 3.0, 4.0, 5.0, 0.0]).unwrap();
    let dense = plain.to_dense::<f64>().unwrap();
    // Other libraries fill up with zeros in the last column of a row; here they are told from entries.
    let repeated = ell(vec![0, 2, 3, 1, 3, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 0.0]).unwrap();
    assert_eq!((repeated.to_dense::<f64>().unwrap(), repeated.to_coo().unwrap().len()), (dense.clone(), 5));
    let summed = ell(vec![0, 2, 3, 1, 3, 3], vec![1.0, 2.0, 1.0, 4.0, 5.0, 2.0]).unwrap();
    assert_eq!(summed.to_dense::<f64>().unwrap(), dense);
    // In any order, and descending.
    let descending = ell(vec![1, 3, 3, 0, 2, u32::MAX], vec![4.0, 5.0, 3.0, 1.0, 2.0, 0.0]).unwrap();
    for target in ["csr", "csc", "db", "dd", "ds8", "sd", "sd:1,0", "coo", "esp:#0,0,1", "ell", "hicoo(2)"] {
        let target = format(target, 2);
        for source in [&plain, &repeated, &summed, &descending] {
            let made = source.convert(&target).unwrap();
            assert_eq!(made.to_dense::<f64>().unwrap(), dense, "{target}");
            // Nothing is put in order that is in the format already.
            if target != *source.format() {
                assert_eq!(made, plain.convert(&target).unwrap(), "{target}");
            }
        }
    }
}

#[test]
fn one_place_takes_one_entry() {
    // All entries are the first of their columns, and a row has two of them.
    let coords = vec![Coordinates::U32(vec![0, 0]), Coordinates::U32(vec![0, 4])];
    let coo = || Coo { dims: vec![1, 5], coords: coords.clone(), values: Values::F64(vec![1.0, 2.0]) };
    let refused = Tensor::from_coo(coo(), &format("edp:#1,0,1", 2));
    assert!(matches!(refused, Err(StorageError::NotRepresentable { .. })), "{refused:?}");
    // A level above slots that is not dense.
    for name in ["hed:0,#1,1", "bed:0,#1,1", "rnd:1,#0~3,0", "ted:0,#1,1"] {
        let tensor = Tensor::from_coo(coo(), &format(name, 2)).unwrap();
        assert_eq!(tensor.to_dense::<f64>().unwrap(), [1.0, 0.0, 0.0, 0.0, 2.0], "{name}");
    }
}

#[test]
fn sizes_are_signed_numbers_and_coordinates_never_wrap() {
    let list = |size: u64, at: u64| Coo {
        dims: vec![size; 2],
        coords: vec![Coordinates::U64(vec![at]), Coordinates::U64(vec![at])],
        values: Values::F64(vec![1.0]),
    };
    for name in ["dh", "ss:1-0,0", "csf", "hh", "rr", "gg", "lt", "hicoo(4)", "dia", "kk", "bb", "ell", "sell(2,4)"] {
        for size in [u64::MAX, (1 << 63) + 1, 1 << 63] {
            let made = Tensor::from_coo(list(size, size - 1), &format(name, 2));
            assert!(matches!(made, Err(StorageError::Overflow { .. })), "{name} of {size}: {made:?}");
        }
        // The largest there is: held, or too much for something.
        let (size, at) = ((1 << 63) - 1, (1 << 63) - 2);
        match Tensor::from_coo(list(size, at), &format(name, 2)) {
            Ok(tensor) => assert_eq!(tensor.to_coo().unwrap().coords[1].get(0), Some(at), "{name}"),
            Err(StorageError::Overflow { .. } | StorageError::Alloc(_) | StorageError::Width { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    let wide = Coo {
        dims: vec![(1 << 62) + 1],
        coords: vec![Coordinates::U64(vec![5, 1 << 61])],
        values: Values::U8(vec![1, 2]),
    };
    assert!(Tensor::from_coo(wide, &format("de:0%1,0/1", 1)).is_err());
    let empty = Tensor::from_dense(vec![u64::MAX, 0], Buffer::from_vec(Vec::<f64>::new()), &Format::dense(2));
    assert!(matches!(empty, Err(StorageError::Overflow { .. })));
}
