//! Tests of packed storage.

use super::*;

/// The coordinates that are stored of a tensor, in the order of storage.
fn stored(packing: Packing, dims: &[u64]) -> Vec<Vec<u64>> {
    let order = dims.len();
    let mut levels: Vec<Vec<std::ops::Range<u64>>> = vec![Vec::new(); order];
    packing.intervals(dims, &mut |level, interval| levels[level].push(interval)).expect("sizes that fit");
    let mut prefixes: Vec<Vec<u64>> = (0..dims[packing.0.modes[0]]).map(|row| vec![row]).collect();
    for intervals in &levels[1..] {
        assert_eq!(intervals.len(), prefixes.len(), "an interval for each parent");
        let under = |(prefix, interval): (&Vec<u64>, &std::ops::Range<u64>)| {
            interval.clone().map(|at| [prefix.clone(), vec![at]].concat()).collect::<Vec<_>>()
        };
        prefixes = prefixes.iter().zip(intervals).flat_map(under).collect();
    }
    prefixes
}

#[test]
fn what_is_stored_are_the_unique_elements_in_order() {
    let texts = [
        ("symmetric", 2..=5),
        ("skew", 2..=2),
        ("hermitian", 2..=2),
        ("upper", 2..=3),
        ("lower", 2..=3),
        ("strictly_upper", 2..=3),
        ("strictly_lower", 2..=3),
        ("simplex", 2..=4),
        ("diagonal", 2..=4),
        ("banded(2,1)", 2..=2),
        ("banded(0)", 2..=2),
        ("hessenberg", 2..=2),
        ("block_diagonal(2)", 2..=2),
        ("toeplitz", 2..=2),
        ("hankel", 2..=2),
        ("circulant", 2..=2),
        ("persymmetric", 2..=2),
        ("centrosymmetric", 2..=2),
        ("antidiagonal", 2..=2),
        ("leslie", 2..=2),
        ("identical_rows", 2..=2),
        ("identical_columns", 2..=2),
        ("constant", 2..=3),
        ("general", 2..=3),
        ("zero", 2..=3),
        ("row(1)", 2..=2),
        ("column(2)", 2..=2),
        ("fixed(1,2)", 2..=3),
    ];
    let mut looked_at = 0;
    for (text, orders) in texts {
        for order in orders {
            let natural: Vec<usize> = (0..order).collect();
            let reversed: Vec<usize> = (0..order).rev().collect();
            let (named, arguments) = read(text).expect("a name");
            for modes in [natural, reversed] {
                let Ok(packing) = Packing::of(named, &arguments, &modes) else {
                    assert!(modes[0] > 0, "{text} of order {order}: {:?}", Packing::of(named, &arguments, &modes));
                    continue;
                };
                // Points are looked for one by one, in sets that have more parts with each dimension.
                for size in 0..if order < 5 { 5 } else { 3 } {
                    for first in [size, size + 1] {
                        let dims: Vec<u64> = (0..order).map(|dim| if dim == 0 { first } else { size }).collect();
                        let params: Vec<i64> = dims.iter().map(|size| *size as i64).collect();
                        if packing.structure().context().contains(&params, &[]) != Some(true) {
                            assert_eq!(packing.intervals(&dims, &mut |_, _| {}), None);
                            continue;
                        }
                        let mut wanted = all(&modes, &dims);
                        wanted.retain(|levels| {
                            let mut point = vec![0; order];
                            levels.iter().zip(&modes).for_each(|(at, &mode)| point[mode] = *at as i64);
                            packing.structure().unique().contains(&params, &point) == Some(true)
                        });
                        let count = packing.count(&dims).unwrap_or(wanted.len() as u64);
                        assert_eq!(count, wanted.len() as u64, "{text} of {dims:?}");
                        assert_eq!(stored(packing, &dims), wanted, "{text} by {modes:?} of {dims:?}");
                        looked_at += 1;
                    }
                }
            }
        }
    }
    assert!(looked_at > 300, "{looked_at}");
}

/// All coordinates by level, in their order.
fn all(modes: &[usize], dims: &[u64]) -> Vec<Vec<u64>> {
    let mut prefixes = vec![Vec::new()];
    for &mode in modes {
        let longer =
            |prefix: &Vec<u64>| (0..dims[mode]).map(|at| [prefix.clone(), vec![at]].concat()).collect::<Vec<_>>();
        prefixes = prefixes.iter().flat_map(longer).collect();
    }
    prefixes
}

#[test]
fn structures_that_have_gaps() {
    assert_eq!(Packing::parse("chess", 2), Err(PackingFault::Gaps(1)));
    assert_eq!(Packing::parse("arrow(1)", 2), Err(PackingFault::Gaps(1)));
    assert_eq!(
        Packing::parse("symmetric", 1),
        Err(PackingFault::Structure(NamedFault::Order("tensors of 2 to 7 dimensions")))
    );
    assert_eq!(Packing::parse("general", 1), Err(PackingFault::Order(1)));
    assert_eq!(Packing::parse("symetric", 2), Err(PackingFault::Unknown("symetric".to_string())));
    assert_eq!(Packing::parse("banded(x)", 2), Err(PackingFault::Text("banded(x)".to_string())));
}
