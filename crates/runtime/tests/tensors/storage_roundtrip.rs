//! Packing, enumeration, conversion and import agree, for random data in random formats.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use lacunar_formats::{Format, IndexWidth, Level, LevelKind};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, Coordinates, StorageError, Tensor, Values};
use proptest::prelude::*;

/// The meaning of a tensor: the sum of the values of each coordinate, without zeros.
fn meaning(coo: &Coo) -> BTreeMap<Vec<u64>, i64> {
    let Values::I64(values) = &coo.values else { panic!("the tests use i64") };
    let mut sums = BTreeMap::new();
    for (k, &value) in values.iter().enumerate() {
        let coordinate: Vec<u64> = coo.coords.iter().map(|column| column.get(k).unwrap()).collect();
        *sums.entry(coordinate).or_insert(0) += value;
    }
    sums.retain(|_, value| *value != 0);
    sums
}

fn coo(dims: &[u64], entries: &[(Vec<u64>, i64)]) -> Coo {
    let mut coo = Coo::empty(dims.to_vec(), lacunar_formats::DType::I64);
    let mut values = Vec::new();
    for (coordinate, value) in entries {
        for (column, &c) in coo.coords.iter_mut().zip(coordinate) {
            column.push(c);
        }
        values.push(*value);
    }
    coo.values = Values::I64(values);
    coo
}

/// Sizes of dimensions: mostly small, so that coordinates meet and dense blocks stay small.
fn dims() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..7, 0..=5)
}

fn data() -> impl Strategy<Value = Coo> {
    dims().prop_flat_map(|dims| {
        let coordinate: Vec<_> = dims.iter().map(|&size| 0..size).collect();
        let entries = prop::collection::vec((coordinate, -3i64..4), 0..60);
        entries.prop_map(move |entries| coo(&dims, &entries))
    })
}

/// Levels of nodes that hold few elements each, so that small tensors have several.
fn small_nodes() -> Vec<Level> {
    let small = |kind: &LevelKind| {
        let schema = kind.schema().unwrap();
        let kind = LevelKind::nodes_named(&format!("{}<3,2>", schema.name()));
        kind.or_else(|| LevelKind::nodes_named(&format!("{}<3>", schema.name())))
    };
    let kinds = LevelKind::every_nodes().into_iter().map(|kind| small(&kind).unwrap_or(kind));
    kinds.map(|kind| Level { kind, unique: true }).collect()
}

fn format(order: usize) -> impl Strategy<Value = Format> {
    // Each plain kind as often as all others together.
    let open: Vec<Level> = LevelKind::unmapped().into_iter().map(|kind| Level { kind, unique: true }).collect();
    assert!(open.len() >= 8, "only {open:?}");
    let plain: Vec<Level> = "dsuqc".chars().filter_map(Level::from_letter).collect();
    let level = prop_oneof![
        5 => prop::sample::select(plain),
        3 => prop::sample::select(open),
        2 => prop::sample::select(small_nodes()),
    ];
    let levels = prop::collection::vec(level, order);
    let modes = Just((0..order).collect::<Vec<_>>()).prop_shuffle();
    let positions = prop::sample::select(vec![IndexWidth::W32, IndexWidth::W64]);
    let widths = prop::collection::vec((positions, prop::sample::select(IndexWidth::ALL.to_vec())), order);
    (levels, modes, widths).prop_map(|(levels, modes, widths)| {
        widths.into_iter().enumerate().fold(Format::new(levels, modes).unwrap(), |format, (level, widths)| {
            format.with_positions(level, widths.0).with_coordinates(level, widths.1)
        })
    })
}

/// Data with two formats for it.
fn case() -> impl Strategy<Value = (Coo, Format, Format)> {
    data().prop_flat_map(|coo| {
        let order = coo.dims.len();
        (Just(coo), format(order), format(order))
    })
}

/// True if a failure to pack is the format's: only levels of at most one coordinate refuse data.
fn refused(result: &Result<Tensor, StorageError>, format: &Format) -> bool {
    let singleton = format.levels().iter().any(|level| level.properties().single);
    matches!(result, Err(StorageError::NotRepresentable { .. })) && singleton
}

/// Takes a tensor apart and puts it together again with all checks.
fn reimport(tensor: &Tensor) -> Tensor {
    let (dims, format, levels, values) = tensor.try_clone().unwrap().into_parts();
    Tensor::from_parts(dims, &format, levels, values).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(350))]

    #[test]
    fn packing_keeps_the_meaning((coo, format, other) in case()) {
        let expected = meaning(&coo);
        let packed = Tensor::from_coo(coo, &format);
        if refused(&packed, &format) {
            return Ok(());
        }
        let tensor = packed.unwrap();
        prop_assert_eq!(tensor.format(), &format);
        prop_assert_eq!(&meaning(&tensor.to_coo().unwrap()), &expected);
        prop_assert_eq!(&reimport(&tensor), &tensor);
        prop_assert_eq!(tensor.level_counts().last().copied().unwrap_or(1), tensor.nnz());

        let converted = tensor.convert(&other);
        if refused(&converted, &other) {
            return Ok(());
        }
        let converted = converted.unwrap();
        prop_assert_eq!(&meaning(&converted.to_coo().unwrap()), &expected);
        prop_assert_eq!(&reimport(&converted), &converted);
    }

    #[test]
    fn a_walk_and_searches_find_what_is_meant((coo, format, _) in case()) {
        let expected = meaning(&coo);
        let packed = Tensor::from_coo(coo, &format);
        if refused(&packed, &format) {
            return Ok(());
        }
        let tensor = packed.unwrap();
        let values = tensor.values().as_slice::<i64>().unwrap();
        let (mut walk, mut found, mut count) = (tensor.walk(), BTreeMap::new(), 0);
        while let Some((at, position)) = walk.next_entry() {
            let searched = tensor.position_of(at).map(|position| values[position]);
            prop_assert_eq!(searched, Some(values[position]), "{:?} in {}", at, format);
            prop_assert!(found.insert(at.to_vec(), values[position]).is_none(), "{:?} comes twice in {}", at, format);
            count += 1;
        }
        prop_assert_eq!(count, tensor.count_entries());
        found.retain(|_, value| *value != 0);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn formats_without_singletons_and_coordinate_lists_hold_everything((coo, format, _) in case()) {
        if !format.levels().iter().any(|level| level.properties().single) {
            prop_assert!(Tensor::from_coo(coo.clone(), &format).is_ok());
        }
        let list = Format::coo(coo.dims.len());
        prop_assert!(Tensor::from_coo(coo, &list).is_ok());
    }

    /// Coordinates near the end of large dimensions: keys of every width, and columns where none is wide enough.
    #[test]
    fn large_dimensions_pack_and_convert(
        sizes in prop::collection::vec(prop::sample::select(vec![1u64, 9, 1 << 20, 1 << 32, (1 << 32) + 1, i64::MAX as u64]), 1..5),
        picks in prop::collection::vec((prop::collection::vec(0u64..3, 4), 1i64..4), 0..40),
        reversed in any::<bool>(),
    ) {
        let entries: Vec<(Vec<u64>, i64)> = picks
            .into_iter()
            .map(|(pick, value)| (sizes.iter().zip(pick).map(|(size, p)| size - 1 - p.min(size - 1)).collect(), value))
            .collect();
        let order = sizes.len();
        let coo = coo(&sizes, &entries);
        let expected = meaning(&coo);
        let modes: Vec<usize> = if reversed { (0..order).rev().collect() } else { (0..order).collect() };
        let csf = Format::csf(order).with_mode_order(modes).unwrap();
        let packed = Tensor::from_coo(coo, &csf).unwrap();
        prop_assert_eq!(&meaning(&reimport(&packed).to_coo().unwrap()), &expected);
        let list = packed.convert(&Format::coo(order)).unwrap();
        prop_assert_eq!(&meaning(&reimport(&list).to_coo().unwrap()), &expected);
    }
}

#[test]
fn entries_of_a_scalar_add_up() {
    let tensor = Tensor::from_coo(coo(&[], &[(vec![], 3), (vec![], 4)]), &Format::dense(0)).unwrap();
    assert_eq!(tensor.values().as_slice::<i64>(), Some(&[7][..]));
    assert_eq!(tensor, Tensor::scalar(7i64));
}

#[test]
fn order_sixteen_packs() {
    let dims = vec![2u64; 16];
    let entries = [((0..16).map(|d| d % 2).collect(), 5), (vec![1; 16], 6)];
    let list = coo(&dims, &entries);
    let expected = meaning(&list);
    for format in [Format::csf(16), Format::coo(16), Format::dense(16)] {
        let tensor = Tensor::from_coo(list.clone(), &format).unwrap();
        assert_eq!(meaning(&tensor.to_coo().unwrap()), expected, "{format}");
    }
}

/// Rounded sums depend on the order: it is that of the list, whatever threads there are.
#[test]
fn large_lists_in_any_order_are_packed_alike_by_any_number_of_threads() {
    let mut state = 7u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(state) * u128::from(bound)) >> 64) as u32
    };
    // Many columns; long rows; rows so long that they are split to be sorted; a product of two dimensions as prefix.
    for dims in [vec![300, 4000], vec![40_000, 11], vec![2, 50_000], vec![20, 30, 400]] {
        let order = dims.len();
        let coords: Vec<Vec<u32>> = dims.iter().map(|&size| (0..90_000).map(|_| next(size)).collect()).collect();
        let values: Vec<f64> = (0..90_000).map(|_| 1.0 / f64::from(1 + next(1000))).collect();
        let mut sums = BTreeMap::new();
        for (k, value) in values.iter().enumerate() {
            let coordinate: Vec<u32> = coords.iter().map(|column| column[k]).collect();
            sums.entry(coordinate).and_modify(|sum| *sum += value).or_insert(*value);
        }
        let columns = coords.into_iter().map(Coordinates::U32).collect();
        let coo = Coo { dims: dims.clone(), coords: columns, values: Values::F64(values) };
        let dense_then_compressed = [vec![Level::DENSE; order - 1], vec![Level::COMPRESSED]].concat();
        let natural: Vec<usize> = (0..order).collect();
        for format in [Format::new(dense_then_compressed, natural).unwrap(), Format::csf(order), Format::coo(order)] {
            for threads in 1..=4 {
                let tensor = lacunar_runtime::pool::with_threads(threads, || Tensor::from_coo(coo.clone(), &format));
                let list = tensor.unwrap().to_coo().unwrap();
                let Values::F64(found) = &list.values else { panic!("the type is f64") };
                assert_eq!(found.len(), sums.len());
                for (k, (coordinate, sum)) in sums.iter().enumerate() {
                    assert!(coordinate.iter().zip(&list.coords).all(|(&c, column)| column.get(k) == Some(c.into())));
                    assert!(found[k] == *sum, "{format}: {} instead of {sum} at {coordinate:?}", found[k]);
                }
            }
        }
    }
}

#[test]
fn kinds_are_told_apart() {
    let kinds = LevelKind::all();
    let names: BTreeSet<&str> = kinds.iter().map(|kind| kind.info().name).collect();
    assert_eq!(names.len(), kinds.len(), "two of {kinds:?} have one name");
    let infos = kinds.iter().map(|kind| kind.info());
    let mut letters: Vec<char> = infos.flat_map(|info| [Some(info.letter), info.repeating]).flatten().collect();
    letters.sort_unstable();
    assert!(letters.windows(2).all(|pair| pair[0] != pair[1]), "two of {letters:?} are one letter");
}

/// The arrays of each kind, for one matrix.
#[test]
fn every_kind_stores_what_its_file_says() {
    let list = coo(&[3, 4], &[(vec![0, 0], 5), (vec![0, 2], 6), (vec![0, 3], 7), (vec![2, 1], 8)]);
    let none = u32::MAX;
    /// A format, the arrays of its second level, and the values.
    type Stored<'a> = (&'a str, &'a [(&'a str, &'a [u32])], &'a [i64]);
    let arrays: [Stored; 6] = [
        ("de", &[("pos", &[0, 4, 4, 6])], &[5, 0, 6, 7, 0, 8]),
        ("dk", &[("pos", &[0, 4, 4, 5]), ("first", &[0, 0, 1])], &[5, 0, 6, 7, 8]),
        ("dl", &[("pos", &[0, 4, 5, 7]), ("end", &[3, 4, 6]), ("crd", &[0, 2, 3, 0, 0, 1, 0])], &[5, 6, 7, 0, 0, 8, 0]),
        ("dt", &[("pos", &[0, 3, 3, 4]), ("delta", &[0, 2, 1, 1])], &[5, 6, 7, 8]),
        ("dr", &[("run", &[0, 2, 2, 3]), ("crd", &[0, 2, 1]), ("start", &[0, 1, 3, 4])], &[5, 6, 7, 8]),
        ("sp:1,0", &[("crd", &[0, 2, 0, 0])], &[5, 8, 6, 7]),
    ];
    for (format, expected, values) in arrays {
        let format: lacunar_formats::FormatSpec = format.parse().unwrap();
        let tensor = Tensor::from_coo(list.clone(), &format.resolve(2).unwrap()).unwrap();
        assert_eq!(tensor.values().as_slice::<i64>(), Some(values), "{}", tensor.format());
        for (name, numbers) in expected {
            assert_eq!(tensor.levels()[1].array(name).unwrap().as_slice::<u32>(), Some(*numbers), "{name}");
        }
    }
    let format = |letters: &str| letters.parse::<lacunar_formats::FormatSpec>().unwrap().resolve(2).unwrap();
    let bitmap = Tensor::from_coo(list.clone(), &format("db")).unwrap();
    assert_eq!(bitmap.levels()[1].array("bits").unwrap().as_slice::<u64>(), Some(&[0b1101, 0, 0b10][..]));
    assert_eq!(bitmap.levels()[1].array("rank").unwrap().as_slice::<u32>(), Some(&[0, 3, 3, 4][..]));
    assert_eq!(bitmap.values().as_slice::<i64>(), Some(&[5, 6, 7, 8][..]));
    let hashed = Tensor::from_coo(list, &format("dh")).unwrap();
    assert_eq!(hashed.levels()[1].pos().unwrap().as_slice::<u32>(), Some(&[0, 8, 8, 10][..]));
    let table = hashed.levels()[1].crd().unwrap().as_slice::<u32>().unwrap();
    assert_eq!(table.iter().filter(|&&crd| crd == none).count(), 6);
}

#[test]
fn equal_neighbors_share_a_position() {
    let format = |letters: &str| letters.parse::<lacunar_formats::FormatSpec>().unwrap().resolve(2).unwrap();
    let entries = [([0, 0], 5), ([0, 1], 5), ([0, 2], 5), ([0, 4], 5), ([2, 1], 9), ([2, 2], 9), ([2, 3], 2)];
    let list = coo(&[3, 5], &entries.map(|(place, value)| (place.to_vec(), value)));
    let coded = Tensor::from_coo(list.clone(), &format("dg")).unwrap();
    let array = |name| coded.levels()[1].array(name).unwrap().as_slice::<u32>().unwrap();
    assert_eq!((array("pos"), array("crd"), array("last")), (&[0, 2, 2, 4][..], &[0, 4, 1, 3][..], &[2, 4, 2, 3][..]));
    assert_eq!(coded.values().as_slice::<i64>(), Some(&[5, 5, 9, 2][..]));
    assert_eq!(coded.convert(&Format::csr()).unwrap(), Tensor::from_coo(list.clone(), &Format::csr()).unwrap());
    assert_eq!(reimport(&coded), coded);
    // Above another level, nothing is known to be the same.
    let above = Tensor::from_coo(list, &format("gd")).unwrap();
    assert_eq!(above.levels()[0].array("last").unwrap().as_slice::<u32>(), Some(&[0, 2][..]));
}

#[test]
fn runs_of_repeated_values_are_checked() {
    let format =
        "g".parse::<lacunar_formats::FormatSpec>().unwrap().resolve(1).unwrap().with_coordinates(0, IndexWidth::W64);
    let vector = |size: u64, crd: &[u64], last: &[u64]| {
        let arrays = vec![
            Buffer::from_vec(vec![0u32, crd.len() as u32]),
            Buffer::from_vec(crd.to_vec()),
            Buffer::from_vec(last.to_vec()),
        ];
        let level = LevelStorage::new(format.levels()[0].kind, size, arrays);
        Tensor::from_parts(vec![size], &format, vec![level], Buffer::from_vec(vec![1.0f64; crd.len()]))
    };
    assert_eq!(vector(9, &[0, 4], &[3, 8]).unwrap().convert(&Format::sv()).unwrap().nnz(), 9);
    for (crd, last) in [([0, 4], [4, 8]), ([0, 4], [3, 9]), ([0, 5], [3, 4]), ([4, 0], [8, 3])] {
        assert!(vector(9, &crd, &last).is_err(), "{crd:?} {last:?}");
    }
    // A value that very many coordinates share is not written out.
    let wide = vector(1 << 60, &[0], &[(1 << 60) - 1]).unwrap();
    assert!(wide.convert(&Format::sv()).is_err());
}

#[test]
fn tables_do_not_depend_on_the_order_of_a_list() {
    let format = |letters: &str, order| letters.parse::<lacunar_formats::FormatSpec>().unwrap().resolve(order).unwrap();
    // Coordinates that share slots of a table, some of them twice, in an order of their own.
    let scrambled = |k: u64| (k * 37) % 101;
    for (dims, letters) in
        [(vec![101u64], "h"), (vec![3, 101], "dh"), (vec![2, 101, 2], "ddh:2,0,1"), (vec![1 << 40], "h")]
    {
        for count in [0u64, 1, 5, 60, 101, 150] {
            let entries: Vec<(Vec<u64>, i64)> = (0..count)
                .map(|k| (dims.iter().map(|size| scrambled(k) * (size / 101).max(1) % size).collect(), 1 + k as i64))
                .collect();
            let (list, sorted) = (coo(&dims, &entries), format("csf", dims.len()));
            let hashed = format(letters, dims.len());
            let inserted = Tensor::from_coo(list.clone(), &hashed).unwrap();
            let spread = Tensor::from_coo(list, &sorted).unwrap().convert(&hashed).unwrap();
            assert_eq!(inserted, spread, "{letters} of {dims:?}, {count}");
            assert_eq!(reimport(&inserted), inserted);
        }
    }
}

#[test]
fn a_singleton_refuses_two_coordinates_and_says_which() {
    let format: lacunar_formats::FormatSpec = "dq".parse().unwrap();
    let format = format.resolve(2).unwrap();
    let two = coo(&[3, 4], &[(vec![1, 0], 1), (vec![1, 3], 2)]);
    let message = Tensor::from_coo(two, &format).unwrap_err().to_string();
    assert!(message.contains("(1)") && message.contains("0 and 3"), "{message}");
    let one = Tensor::from_coo(coo(&[3, 4], &[(vec![1, 3], 2)]), &format).unwrap();
    assert_eq!(one.values().as_slice::<i64>(), Some(&[0, 2, 0][..]));
    assert_eq!(one.levels()[1].crd().unwrap().as_slice::<u32>(), Some(&[0, 3, 0][..]));
    let empty = coo(&[3, 0], &[]);
    assert!(matches!(Tensor::from_coo(empty, &format), Err(StorageError::NotRepresentable { .. })));
    // Other levels are made of plain ones: the format that was asked for is named, not the one on the way.
    for letters in ["hq", "bq", "{list}q"] {
        let format: lacunar_formats::FormatSpec = letters.parse().unwrap();
        let two = coo(&[3, 4], &[(vec![1, 0], 1), (vec![1, 3], 2)]);
        let message = Tensor::from_coo(two, &format.resolve(2).unwrap()).unwrap_err().to_string();
        assert!(message.contains(&format!("format `{letters}`")), "{message}");
    }
    // The row is named, not its position among those that are stored.
    for letters in ["sp", "hp", "{list}p"] {
        let format: lacunar_formats::FormatSpec = letters.parse().unwrap();
        let rows = coo(&[9, 4], &[(vec![2, 1], 1), (vec![7, 0], 1), (vec![7, 3], 2)]);
        let message = Tensor::from_coo(rows, &format.resolve(2).unwrap()).unwrap_err().to_string();
        assert!(message.contains("under (7) ") && message.contains("0 and 3"), "{message}");
    }
}

#[test]
fn empty_dimensions_and_huge_sizes_are_handled() {
    for dims in [vec![0u64, 5], vec![5, 0], vec![0, 0]] {
        for format in [Format::csr(), Format::csc(), Format::dcsr(), Format::coo(2), Format::dense(2)] {
            let tensor = Tensor::zeros(dims.clone(), &format, lacunar_formats::DType::F64).unwrap();
            assert_eq!(tensor.nnz(), 0);
            assert_eq!(reimport(&tensor), tensor);
            assert_eq!(tensor.convert(&Format::csf(2)).unwrap().nnz(), 0);
        }
    }
    let most = i64::MAX as u64;
    let huge = coo(&[most, most], &[(vec![3, 4], 1)]);
    assert!(matches!(Tensor::from_coo(huge.clone(), &Format::dense(2)), Err(StorageError::Overflow { .. })));
    assert!(Tensor::from_coo(huge.clone(), &Format::csr()).is_err());
    assert_eq!(Tensor::from_coo(huge, &Format::dcsr()).unwrap().nnz(), 1);
}

#[test]
fn lists_that_contradict_themselves_are_refused() {
    let mut list = coo(&[3, 4], &[(vec![1, 3], 2)]);
    list.coords[0] = Coordinates::U32(vec![3]);
    let result = Tensor::from_coo(list.clone(), &Format::csr());
    assert!(matches!(result, Err(StorageError::OutOfRange { dimension: 0, entry: 0, coordinate: 3, size: 3 })));
    list.coords[0] = Coordinates::U32(vec![1, 2]);
    assert!(matches!(Tensor::from_coo(list.clone(), &Format::csr()), Err(StorageError::Length { .. })));
    list.coords.pop();
    assert!(matches!(Tensor::from_coo(list.clone(), &Format::csr()), Err(StorageError::Length { .. })));
    assert!(matches!(Tensor::from_coo(list, &Format::csf(3)), Err(StorageError::Order { .. })));
}

#[test]
fn padding_is_not_converted_but_stored_zeros_are() {
    let csr = Tensor::from_coo(coo(&[2, 3], &[(vec![0, 1], 0), (vec![1, 2], 5)]), &Format::csr()).unwrap();
    assert_eq!(csr.convert(&Format::csc()).unwrap().nnz(), 2);
    let dense = csr.convert(&Format::dense(2)).unwrap();
    assert_eq!(dense.nnz(), 6);
    assert_eq!(dense.convert(&Format::csr()).unwrap().nnz(), 1);
}

/// A sorted list is packed without keys; its outermost array is taken before the compressed level further in asks which
/// entries differ.
#[test]
fn a_compressed_level_under_dense_levels_under_a_compressed_one() {
    let format = Format::new(
        [Level::COMPRESSED, Level::DENSE, Level::DENSE, Level::COMPRESSED, Level::DENSE].to_vec(),
        vec![3, 2, 0, 4, 1],
    )
    .unwrap();
    let column = |values: [u32; 2]| Coordinates::U32(values.to_vec());
    let zeros = || column([0, 0]);
    let coo = Coo {
        dims: vec![4, 4, 3, 4, 1],
        coords: vec![zeros(), zeros(), zeros(), column([0, 1]), zeros()],
        values: Values::I64(vec![5, 7]),
    };
    let expected = meaning(&coo);
    let tensor = Tensor::from_coo(coo, &format).unwrap();
    assert_eq!(meaning(&tensor.to_coo().unwrap()), expected);
}

/// Coordinates are as wide as asked for, or as the dimension needs: one number more where the largest one means none.
#[test]
fn narrow_coordinates_are_widened_where_they_have_to_be() {
    for kind in LevelKind::all().into_iter().filter(|kind| kind.has_coordinates() && !kind.is_ranked()) {
        let level = Level { kind, unique: true };
        for (asked, size) in IndexWidth::ALL.into_iter().zip([255u64, 65535, 65537, 70000]).chain([
            (IndexWidth::W8, 256),
            (IndexWidth::W8, 257),
            (IndexWidth::W8, 65536),
            (IndexWidth::W16, 65536),
            (IndexWidth::W16, 65537),
        ]) {
            let format = Format::new(vec![Level::DENSE, level], vec![0, 1]).unwrap().with_coordinates(1, asked);
            let entries = [(vec![0, size - 1], 3), (vec![1, 0], 4)];
            let tensor = Tensor::from_coo(coo(&[2, size], &entries), &format).unwrap();
            let needed = IndexWidth::for_max(kind.largest_coordinate(size));
            assert_eq!(tensor.format(), &format.clone().with_coordinates(1, asked.wider(needed)), "{kind:?} {size}");
            assert_eq!(reimport(&tensor), tensor);
            let dense = tensor.to_dense::<i64>().unwrap();
            let stored: Vec<(usize, i64)> = dense.into_iter().enumerate().filter(|(_, value)| *value != 0).collect();
            assert_eq!(stored, [(size as usize - 1, 3), (size as usize, 4)], "{kind:?} {size}");
            // A conversion asks for widths anew.
            let csr = tensor.convert(&Format::csr().with_coordinates(1, IndexWidth::W8)).unwrap();
            assert_eq!(csr.format().coordinates(1), IndexWidth::for_max(size - 1));
            assert_eq!(csr.convert(&format).unwrap(), tensor);
        }
    }
}
