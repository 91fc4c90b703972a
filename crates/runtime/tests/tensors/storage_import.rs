//! Arrays from outside: right ones are taken as they are, wrong ones are refused, and nothing is read out of bounds.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use lacunar_formats::{Format, FormatSpec, Level, LevelKind};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, Coordinates, StorageError, Tensor, Values};
use proptest::prelude::*;

fn csr(pos: Vec<u32>, crd: Vec<u32>) -> Result<Tensor, StorageError> {
    let values = Buffer::from_vec(vec![1.0f64; crd.len()]);
    let levels = vec![LevelStorage::dense(2), LevelStorage::compressed(Buffer::from_vec(pos), Buffer::from_vec(crd))];
    Tensor::from_parts(vec![2, 3], &Format::csr(), levels, values)
}

fn list(rows: Vec<u32>, columns: Vec<u32>, values: Vec<f64>) -> Result<Tensor, StorageError> {
    let pos = Buffer::from_vec(vec![0, rows.len() as u32]);
    let levels =
        vec![LevelStorage::compressed(pos, Buffer::from_vec(rows)), LevelStorage::singleton(Buffer::from_vec(columns))];
    Tensor::from_parts(vec![2, 3], &Format::coo(2), levels, Buffer::from_vec(values))
}

#[test]
fn each_mistake_has_its_error() {
    assert!(csr(vec![0, 1, 3], vec![0, 0, 2]).is_ok());
    assert!(matches!(csr(vec![1, 1, 3], vec![0, 0, 2]), Err(StorageError::Positions { place: 0, .. })));
    assert!(matches!(csr(vec![0, 4, 3], vec![0, 0, 2]), Err(StorageError::Positions { place: 2, .. })));
    assert!(matches!(csr(vec![0, 1, 2], vec![0, 0, 2]), Err(StorageError::Positions { place: 2, .. })));
    assert!(matches!(csr(vec![0, 3], vec![0, 0, 2]), Err(StorageError::Length { found: 2, expected: 3, .. })));
    assert!(matches!(csr(vec![], vec![]), Err(StorageError::Length { found: 0, .. })));
    assert!(matches!(
        csr(vec![0, 1, 3], vec![0, 0, 3]),
        Err(StorageError::OutOfRange { dimension: 1, entry: 2, coordinate: 3, size: 3 })
    ));
    assert!(matches!(csr(vec![0, 1, 3], vec![0, 2, 0]), Err(StorageError::NotSorted { level: 1, place: 2 })));
    assert!(matches!(csr(vec![0, 1, 3], vec![0, 2, 2]), Err(StorageError::Duplicate { level: 1, place: 2 })));
}

#[test]
fn unordered_segments_may_have_any_order_and_repeat_nothing() {
    let unordered = |pos: Vec<u32>, crd: Vec<u32>| {
        let values = Buffer::from_vec((0..crd.len()).map(|k| k as f64).collect::<Vec<_>>());
        let arrays = vec![Buffer::from_vec(pos), Buffer::from_vec(crd)];
        let levels = vec![LevelStorage::dense(2), LevelStorage::new(LevelKind::UNORDERED, 70, arrays)];
        Tensor::from_parts(vec![2, 70], &Format::csr_unordered(), levels, values)
    };
    let rows = unordered(vec![0, 1, 4], vec![2, 69, 0, 5]).unwrap();
    let sorted = rows.convert(&Format::csr()).unwrap();
    assert_eq!(sorted.levels()[1].crd().unwrap().as_slice::<u32>(), Some(&[2, 0, 5, 69][..]));
    assert_eq!(sorted.values().as_slice::<f64>(), Some(&[0.0, 2.0, 3.0, 1.0][..]));
    assert_eq!((rows.position_of(&[1, 5]), rows.position_of(&[0, 5])), (Some(3), None));
    let repeated = unordered(vec![0, 1, 4], vec![2, 5, 0, 5]);
    assert!(matches!(repeated, Err(StorageError::Duplicate { level: 1, place: 3 })));
    // A segment too long for the stack.
    let long: Vec<u32> = (0..70).rev().collect();
    assert!(unordered(vec![0, 70, 70], long.clone()).is_ok());
    let again = unordered(vec![0, 0, 71], [long, vec![7]].concat());
    assert!(matches!(again, Err(StorageError::Duplicate { level: 1, place: 70 })));
    assert!(matches!(unordered(vec![0, 1, 1], vec![70]), Err(StorageError::OutOfRange { .. })));
}

#[test]
fn levels_values_and_widths_must_fit() {
    let parts = |levels| Tensor::from_parts(vec![2, 3], &Format::csr(), levels, Buffer::from_vec(vec![0f32; 0]));
    let pos = || Buffer::from_vec(vec![0u32; 3]);
    let crd = || Buffer::from_vec(Vec::<u32>::new());
    assert!(parts(vec![LevelStorage::dense(2), LevelStorage::compressed(pos(), crd())]).is_ok());
    let wrong_size = parts(vec![LevelStorage::dense(3), LevelStorage::compressed(pos(), crd())]);
    assert!(matches!(wrong_size, Err(StorageError::Length { .. })));
    let wrong_kind = parts(vec![LevelStorage::dense(2), LevelStorage::singleton(crd())]);
    assert!(matches!(wrong_kind, Err(StorageError::LevelKind { level: 1, .. })));
    assert!(matches!(parts(vec![LevelStorage::dense(2)]), Err(StorageError::Length { .. })));
    let wide = LevelStorage::compressed(Buffer::from_vec(vec![0u64; 3]), crd());
    assert!(matches!(parts(vec![LevelStorage::dense(2), wide]), Err(StorageError::Type { .. })));
    let real = LevelStorage::compressed(Buffer::from_vec(vec![0f32; 3]), crd());
    assert!(matches!(parts(vec![LevelStorage::dense(2), real]), Err(StorageError::Type { .. })));
}

#[test]
fn signed_arrays_are_taken_unless_negative() {
    let parts = |crd: Vec<i32>| {
        let compressed = LevelStorage::compressed(Buffer::from_vec(vec![0i32, 1, 2]), Buffer::from_vec(crd));
        let levels = vec![LevelStorage::dense(2), compressed];
        Tensor::from_parts(vec![2, 1 << 32], &Format::csr(), levels, Buffer::from_vec(vec![1u8, 2]))
    };
    assert!(parts(vec![5, 6]).is_ok());
    assert!(matches!(parts(vec![5, -1]), Err(StorageError::Negative { place: 1, .. })));
}

#[test]
fn coordinate_lists_that_repeat_an_entry_are_summed() {
    let summed = list(vec![0, 1, 1], vec![2, 0, 0], vec![1.0, 2.0, 3.0]).unwrap();
    assert_eq!(summed, list(vec![0, 1], vec![2, 0], vec![1.0, 5.0]).unwrap());
    assert!(matches!(list(vec![1, 0], vec![2, 0], vec![1.0; 2]), Err(StorageError::NotSorted { .. })));
    assert!(matches!(list(vec![1, 1], vec![2, 0], vec![1.0; 2]), Err(StorageError::NotSorted { .. })));
    assert!(matches!(list(vec![1], vec![2, 0], vec![1.0; 2]), Err(StorageError::Length { .. })));
}

#[test]
fn borrowed_arrays_are_used_in_place_and_kept_alive() {
    let owner = Arc::new(vec![1.0f64, 2.0, 3.0]);
    let data = owner.as_ptr().cast::<u8>();
    let values = Buffer::borrow(Arc::clone(&owner), |vec| vec.as_slice());
    let mut tensor = Tensor::from_dense(vec![3], values, &Format::dense(1)).unwrap();
    assert_eq!(tensor.values().as_ptr(), data);
    assert!(tensor.values_mut().into_slice::<f64>().is_none());
    let second = tensor.try_clone().unwrap();
    assert_eq!(second.values().as_ptr(), data);
    drop(owner);
    assert_eq!(second.values().as_slice::<f64>(), Some(&[1.0, 2.0, 3.0][..]));
    tensor.values_mut().make_owned().unwrap();
    tensor.values_mut().into_slice::<f64>().unwrap()[0] = 9.0;
    assert_eq!(second.values().as_slice::<f64>(), Some(&[1.0, 2.0, 3.0][..]));
}

#[test]
fn bytes_become_booleans_only_if_they_are() {
    assert!(Buffer::from_vec(vec![0u8, 1]).into_bool().is_ok());
    assert_eq!(Buffer::from_vec(vec![0u8, 1, 2]).into_bool(), Err(StorageError::Bool { place: 2 }));
    assert!(matches!(Buffer::from_vec(vec![0f64]).into_bool(), Err(StorageError::Type { .. })));
}

#[test]
fn dense_values_are_stored_in_the_order_of_modes() {
    let format = Format::dense(2).with_mode_order(vec![1, 0]).unwrap();
    let tensor = Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1i16, 2, 3, 4, 5, 6]), &format).unwrap();
    assert_eq!(tensor.values().as_slice::<i16>(), Some(&[1, 4, 2, 5, 3, 6][..]));
    assert!(Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1i16; 5]), &format).is_err());
}

#[test]
fn values_are_cast_as_as_does() {
    let real = Tensor::from_dense(vec![4], Buffer::from_vec(vec![1.9, -1.9, 300.0, 0.0]), &Format::dense(1)).unwrap();
    let cast = |dtype| real.cast(dtype).unwrap();
    use lacunar_formats::DType;
    assert_eq!(cast(DType::I8).values().as_slice::<i8>(), Some(&[1, -1, 127, 0][..]));
    assert_eq!(cast(DType::U8).values().as_slice::<u8>(), Some(&[1, 0, 255, 0][..]));
    assert_eq!(cast(DType::Bool).values().as_slice::<bool>(), Some(&[true, true, true, false][..]));
    assert_eq!(cast(DType::C128).cast(DType::F64).unwrap(), real);
}

/// Sets one number of one index array to another value.
fn corrupt(tensor: &Tensor, array: usize, place: usize, number: u64) -> Option<(Vec<LevelStorage>, bool)> {
    let (_, _, levels, _) = tensor.try_clone().unwrap().into_parts();
    let (mut seen, mut changed) = (0, None);
    let levels = levels
        .into_iter()
        .map(|level| {
            level.try_map(|_, mut buffer| {
                if seen == array && !buffer.is_empty() {
                    buffer.make_owned()?;
                    let place = place % buffer.len();
                    changed = Some(match buffer.as_mut_slice::<u64>() {
                        Some(words) => std::mem::replace(&mut words[place], number) != number,
                        None => {
                            let (numbers, number) = (buffer.as_mut_slice::<u32>().unwrap(), number as u32);
                            std::mem::replace(&mut numbers[place], number) != number
                        }
                    });
                }
                seen += 1;
                Ok::<_, StorageError>(buffer)
            })
        })
        .collect::<Result<_, _>>()
        .unwrap();
    changed.map(|changed| (levels, changed))
}

/// A format of order 3: levels that suit each other, or any.
fn letters() -> impl Strategy<Value = String> {
    let suited = vec![
        "dss", "sss", "ucq", "usd", "dds", "scc", "uqs", "uds", "ssq", "sqs", "dsb", "dek", "lll", "dhs", "rtr", "khd",
        "dpp", "bpd", "trk", "dsp", "hdh", "sbl",
    ];
    let any = LevelKind::unmapped().into_iter().map(|kind| kind.info().letter).chain(['d', 's']).collect::<Vec<_>>();
    let any = prop::collection::vec(prop::sample::select(any), 3);
    prop_oneof![prop::sample::select(suited).prop_map(str::to_string), any.prop_map(String::from_iter)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    /// A corrupted array is refused, or it describes another valid tensor: then it survives enumeration and packing.
    #[test]
    fn corruptions_are_refused_or_harmless(
        entries in prop::collection::vec((0u32..4, 0u32..5, 0u32..3), 1..30),
        format in letters(),
        array in 0usize..9,
        place in any::<usize>(),
        number in prop_oneof![0u64..6, any::<u32>().prop_map(u64::from), any::<u64>()],
    ) {
        let column = |of: fn(&(u32, u32, u32)) -> u32| Coordinates::U32(entries.iter().map(of).collect());
        let coo = Coo {
            dims: vec![4, 5, 3],
            coords: vec![column(|e| e.0), column(|e| e.1), column(|e| e.2)],
            values: Values::I32(vec![1; entries.len()]),
        };
        let levels = format.chars().map(|letter| Level::from_letter(letter).unwrap()).collect();
        let format = Format::new(levels, vec![0, 1, 2]).unwrap();
        let Ok(tensor) = Tensor::from_coo(coo, &format) else { return Ok(()) };
        let Some((levels, changed)) = corrupt(&tensor, array, place, number) else { return Ok(()) };
        let values = tensor.values().try_clone().unwrap();
        let imported = Tensor::from_parts(vec![4, 5, 3], &format, levels, values);
        match imported {
            Err(_) => prop_assert!(changed, "valid arrays were refused"),
            Ok(imported) => {
                let coo = imported.to_coo().unwrap();
                let mut coordinates: Vec<Vec<u64>> = (0..coo.len())
                    .map(|k| coo.coords.iter().map(|column| column.get(k).unwrap()).collect())
                    .collect();
                prop_assert!(coordinates.is_sorted_by(|a, b| a < b));
                coordinates.dedup();
                prop_assert_eq!(coordinates.len(), coo.len());
                // Segments may have become empty, which packing leaves out; the entries are the same.
                prop_assert_eq!(&Tensor::from_coo(coo.clone(), &format).unwrap().to_coo().unwrap(), &coo);
            }
        }
    }
}

#[test]
fn narrow_arrays_are_used_as_they_are() {
    let format = "ds8".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    let columns = std::sync::Arc::new(vec![0u8, 255, 7]);
    let parts = |crd: Buffer| {
        let levels = vec![LevelStorage::dense(2), LevelStorage::compressed(Buffer::from_vec(vec![0u32, 2, 3]), crd)];
        Tensor::from_parts(vec![2, 256], &format, levels, Buffer::from_vec(vec![1i32, 2, 3]))
    };
    let tensor = parts(Buffer::borrow(std::sync::Arc::clone(&columns), |columns| columns)).unwrap();
    assert_eq!(tensor.levels()[1].crd().unwrap().as_ptr(), columns.as_ptr());
    assert_eq!(tensor.to_coo().unwrap().coords[1].get(1), Some(255));
    assert!(parts(Buffer::from_vec(vec![0i8, 127, 7])).is_ok());
    assert!(matches!(parts(Buffer::from_vec(vec![0i8, -1, 7])), Err(StorageError::Negative { place: 1, .. })));
    assert!(matches!(parts(Buffer::from_vec(vec![0u16, 1, 7])), Err(StorageError::Type { .. })));
    assert!(matches!(parts(Buffer::from_vec(vec![1u8, 0, 7])), Err(StorageError::NotSorted { place: 1, .. })));
    assert!(matches!(parts(Buffer::from_vec(vec![1u8, 1, 7])), Err(StorageError::Duplicate { place: 1, .. })));
}
