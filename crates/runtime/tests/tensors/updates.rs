//! Histories of updates against a map, for every schema and for formats of other kinds.
//!
//! `LACUNAR_UPDATES=N` makes histories of N steps. A history that fails is replayed with fewer and fewer of its steps, and the shortest
//! is printed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use lacunar_base::day::is_turn;
use lacunar_base::random::{Draw, SplitMix};
use lacunar_formats::{DType, Format, FormatSpec, Scalar, Template};
use lacunar_runtime::{Batch, Coo, Coordinates, StorageError, Tensor, Values};

pub type Map = BTreeMap<Vec<u64>, f64>;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u64>, f64),
    Remove(Vec<u64>),
    /// Each change has its coordinates, its kind, and a value.
    Batch(Vec<(Vec<u64>, u64, f64)>),
    Compact,
    Grow(Vec<u64>),
    Snapshot,
    Check,
}

pub fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

/// The entries of a tensor.
pub fn stored(tensor: &Tensor) -> Map {
    let list = tensor.convert(&Format::csf(tensor.order())).unwrap().to_coo().unwrap();
    let Values::F64(values) = &list.values else { panic!("values of another type") };
    let at = |k: usize| list.coords.iter().map(|column| column.get(k).unwrap()).collect();
    values.iter().enumerate().map(|(k, value)| (at(k), *value)).filter(|(_, value)| *value != 0.0).collect()
}

/// A history of so many steps of a tensor of some size. Coordinates are drawn from a part of it, which grows and shrinks.
fn history(rng: &mut SplitMix, dims: &[u64], steps: usize) -> Vec<Step> {
    let mut dims = dims.to_vec();
    let mut history = Vec::new();
    for step in 0..steps {
        let at = |rng: &mut SplitMix| -> Vec<u64> { dims.iter().map(|size| rng.below(*size)).collect() };
        let value = |rng: &mut SplitMix| 1.0 + rng.below(9) as f64;
        // Rows grow, shrink, and grow again.
        let removals = if (step / 700) % 2 == 0 { 3 } else { 7 };
        history.push(match rng.below(200) {
            0 => Step::Compact,
            1 => Step::Snapshot,
            2 => {
                let grown = rng.below(dims.len() as u64) as usize;
                dims[grown] += rng.below(3);
                Step::Grow(dims.clone())
            }
            3..8 => {
                let count = 1 + rng.below(40);
                Step::Batch((0..count).map(|_| (at(rng), rng.below(3), value(rng))).collect())
            }
            8..16 => Step::Check,
            draw if draw % 10 < removals => Step::Remove(at(rng)),
            _ => Step::Insert(at(rng), value(rng)),
        });
    }
    history.push(Step::Check);
    history
}

/// Carries out a history; the number of the step that went wrong, and how.
fn replay(text: &str, dims: &[u64], history: &[Step]) -> Result<(), (usize, String)> {
    let mut tensor = Tensor::zeros(dims.to_vec(), &format(text, dims.len()), DType::F64).unwrap();
    let mut map = Map::new();
    let mut snapshots: Vec<(Tensor, Map)> = Vec::new();
    for (number, step) in history.iter().enumerate() {
        let wrong = |what: String| (number, what);
        let refused = |error: StorageError| (number, error.to_string());
        match step {
            Step::Insert(at, value) => {
                let before = tensor.insert(at, *value).map_err(refused)?;
                if before.filter(|before| *before != 0.0) != map.insert(at.clone(), *value) {
                    return Err(wrong(format!("insert {at:?}: {before:?}")));
                }
            }
            Step::Remove(at) => {
                let before = tensor.remove::<f64>(at).map_err(refused)?;
                if before.filter(|before| *before != 0.0) != map.remove(at) {
                    return Err(wrong(format!("remove {at:?}: {before:?}")));
                }
            }
            Step::Batch(changes) => {
                let mut batch = Batch::new(dims.len());
                for (at, kind, value) in changes {
                    match kind {
                        0 => drop(map.insert(at.clone(), *value)),
                        1 => *map.entry(at.clone()).or_default() += value,
                        _ => drop(map.remove(at)),
                    }
                    match kind {
                        0 => batch.set(at, *value),
                        1 => batch.add(at, *value),
                        _ => batch.remove(at),
                    };
                }
                tensor.update(&batch).map_err(refused)?;
            }
            Step::Compact => tensor.compact().map_err(refused)?,
            Step::Grow(dims) => tensor.grow_dims(dims).map_err(refused)?,
            Step::Snapshot => snapshots.push((tensor.snapshot().map_err(refused)?, map.clone())),
            Step::Check => {
                tensor.validate().map_err(refused)?;
                if stored(&tensor) != map {
                    return Err(wrong(format!("entries {:?} are not {map:?}", stored(&tensor))));
                }
            }
        }
    }
    match snapshots.iter().all(|(tensor, map)| stored(tensor) == *map && tensor.validate().is_ok()) {
        true => Ok(()),
        false => Err((history.len(), "a snapshot has changed".to_string())),
    }
}

/// Replays a history; of one that fails, fewer and fewer steps.
fn check(text: &str, dims: &[u64], mut history: Vec<Step>) {
    let Err((mut last, mut error)) = replay(text, dims, &history) else { return };
    let mut length = history.len();
    while length > 0 {
        history.truncate(last + 1);
        history.push(Step::Check);
        let mut start = 0;
        while start < history.len() {
            let mut fewer = history.clone();
            fewer.drain(start..(start + length).min(history.len()));
            match replay(text, dims, &fewer) {
                Err((at, other)) => (history, last, error) = (fewer, at, other),
                Ok(()) => start += length,
            }
        }
        length /= 2;
    }
    history.truncate(last + 1);
    panic!("{text}, {dims:?}: {error} after {history:?}");
}

fn steps() -> usize {
    std::env::var("LACUNAR_UPDATES").ok().and_then(|steps| steps.parse().ok()).unwrap_or(1500)
}

/// The names of all schemas, with their usual parameters and with the smallest.
fn schemas() -> Vec<String> {
    let names = Template::every_program().iter().map(Template::name);
    names
        .flat_map(|name| [name.to_string(), format!("{name}<4>"), format!("{name}<3,2>")])
        .filter(|name| format!("{{{name}}}").parse::<FormatSpec>().is_ok())
        .collect()
}

#[test]
fn histories_of_vectors_and_matrices_of_every_schema() {
    for (seed, schema) in schemas().into_iter().enumerate() {
        let mut rng = SplitMix(seed as u64 + 1);
        check(&format!("{{{schema}}}"), &[300], history(&mut rng, &[300], steps()));
        check(&format!("d{{{schema}}}"), &[4, 60], history(&mut rng, &[4, 60], steps()));
    }
}

#[test]
fn histories_of_levels_under_levels_of_nodes() {
    let formats = [
        ("{btree<3>}{blist<2>}", &[30, 30][..]),
        ("{bst}{bst}", &[20, 20]),
        ("{ctree<4>}{btree<4>}:1,0", &[20, 30]),
        ("{list}{blist_unsorted<2>}", &[9, 9]),
        ("{bst}d{blist<3>}", &[9, 3, 20]),
        ("{bst}{bst}{blist<4>}", &[9, 9, 9]),
        ("dd{pactree<6,3>}", &[2, 3, 40]),
        ("{ttree<3>}d", &[30, 3]),
        ("{rbtree}dd", &[20, 2, 2]),
    ];
    for (seed, (text, dims)) in formats.into_iter().enumerate() {
        check(text, dims, history(&mut SplitMix(seed as u64), dims, steps()));
    }
}

#[test]
fn histories_of_other_formats() {
    let formats =
        ["csr", "dl", "dh", "coo", "dense", "s{bst}", "{bst}s", "{blist<3>}h", "{btree}{btree}s", "bcsr(2,2)"];
    for (seed, text) in formats.into_iter().enumerate() {
        let dims = &[7, 9, 5][..if text == "{btree}{btree}s" { 3 } else { 2 }];
        check(text, dims, history(&mut SplitMix(seed as u64), dims, steps() / 5));
    }
}

/// Schemas some of whose nodes hold nothing themselves, or only so many elements that few trees have them.
const ODD: [&str; 4] = [
    "def supertype handed  def handed_block : handed { e: elem[3]  n: handed[2]  seq = {e}, {n} }
     def handed_on : handed { r: handed }  def handed_root { h: handed }",
    "def supertype passed  def passed_on : passed { r: passed nonempty }  def passed_again : passed { l: passed nonempty }
     def passed_leaf : passed { e: elem nonempty  r: passed  seq = e, r }  def passed_root { h: passed }",
    "def halved { l: halved  e: elem[B] nonempty  r: halved  B: size in [30,40]  seq = l, {e}, r }
     def halved_root { t: halved }",
    "def supertype narrow  def narrow_node : narrow { e: elem[B] nonempty  c: narrow[B] nonempty  z: narrow nonempty
       B: size in [300,400]  seq = {c, e}, z }
     def narrow_leaf : narrow { e: elem[B] nonempty  B: size in [1,400]  seq = {e} }  def narrow_root { r: narrow }",
];

#[test]
fn histories_of_nodes_that_hold_nothing_end() {
    for (seed, text) in ODD.into_iter().enumerate() {
        let template = Template::define(text).unwrap();
        let name = template.name().to_string();
        for (text, dims) in [(format!("{{{name}}}"), vec![40]), (format!("d{{{name}}}"), vec![3, 500])] {
            // Some of them have no tree of so many elements: then an update is refused, and the tensor stays as it is.
            let mut tensor = Tensor::zeros(dims.clone(), &format(&text, dims.len()), DType::F64).unwrap();
            let (mut map, mut rng) = (Map::new(), SplitMix(seed as u64));
            for step in 0..steps() {
                let at: Vec<u64> = dims.iter().map(|size| rng.below(*size)).collect();
                match step % 3 {
                    0 => match tensor.remove::<f64>(&at) {
                        Ok(before) => assert_eq!(before.filter(|value| *value != 0.0), map.remove(&at), "{text}"),
                        Err(error) => {
                            assert!(matches!(error, StorageError::NotRepresentable { .. }), "{text}: {error}")
                        }
                    },
                    _ => match tensor.insert(&at, 1.0) {
                        Ok(_) => drop(map.insert(at, 1.0)),
                        Err(error) => {
                            assert!(matches!(error, StorageError::NotRepresentable { .. }), "{text}: {error}")
                        }
                    },
                }
            }
            tensor.validate().unwrap();
            assert_eq!(stored(&tensor), map, "{text}");
        }
    }
}

#[test]
fn lists_of_full_nodes_may_be_long() {
    // An element that is put in front would be passed on by every node, and the last one has no room for it.
    let text = "def full { e: elem[4] nonempty  n: full  seq = {e}, n }  def full_head { h: full }";
    Template::define(text).unwrap();
    let (count, size) = if cfg!(miri) { (400, 1000) } else { (50_000, 200_000) };
    let list = Coo {
        dims: vec![size],
        coords: vec![Coordinates::U32((0..count).map(|k| 2 * k + 1).collect())],
        values: Values::F64(vec![1.0; count as usize]),
    };
    let mut tensor = Tensor::from_coo(list, &format("{full}", 1)).unwrap();
    for at in [0, u64::from(count) / 2 * 2, 2 * u64::from(count)] {
        assert!(matches!(tensor.insert(&[at], 1.0), Err(StorageError::NotRepresentable { .. })));
    }
    assert!(matches!(tensor.remove::<f64>(&[1]), Err(StorageError::NotRepresentable { .. })));
    let mut batch = Batch::new(1);
    for k in 0..4 {
        batch.set(&[2 * k], 2.0);
    }
    assert_eq!(tensor.update(&batch).unwrap().inserted, 4);
    tensor.validate().unwrap();
    assert_eq!(tensor.entries(), u64::from(count) + 4);
}

#[test]
fn large_batches_of_every_schema() {
    let mut rng = SplitMix(7);
    let formats = schemas().into_iter().map(|schema| (format!("d{{{schema}}}"), vec![40, 300]));
    let others =
        ["{bst}{bst}", "{btree}{ctree<4>}", "{ttree<3>}{blist<4>}", "{blist_unsorted<3>}{bst}", "{bst}d{btree<4>}"];
    let others = others.into_iter().map(|text| {
        let order = if text.contains("}d{") { 3 } else { 2 };
        (text.to_string(), vec![30, 30, 20][..order].to_vec())
    });
    for (text, dims) in formats.chain(others) {
        let mut tensor = Tensor::zeros(dims.clone(), &format(&text, dims.len()), DType::F64).unwrap();
        let mut map = Map::new();
        for round in 0..24 {
            let mut batch = Batch::new(dims.len());
            let mut expected = (0, 0, 0);
            let before = map.clone();
            // Some rounds go into a few rows, some take most out again.
            let rows = if round % 3 == 0 { 3 } else { dims[0] };
            for _ in 0..1 + rng.below(900) {
                let at: Vec<u64> =
                    dims.iter().enumerate().map(|(k, size)| rng.below(if k == 0 { rows } else { *size })).collect();
                let (kind, value) = (rng.below(if round % 5 == 4 { 30 } else { 3 }), 1.0 + rng.below(9) as f64);
                match kind {
                    0 => {
                        batch.set(&at, value);
                        map.insert(at, value);
                    }
                    1 => {
                        batch.add(&at, value);
                        *map.entry(at).or_default() += value;
                    }
                    _ => {
                        batch.remove(&at);
                        map.remove(&at);
                    }
                }
            }
            for at in before.keys().chain(map.keys()).collect::<std::collections::BTreeSet<_>>() {
                match (before.get(at), map.get(at)) {
                    (None, Some(_)) => expected.0 += 1,
                    (Some(old), Some(new)) if old != new => expected.1 += 1,
                    (Some(_), None) => expected.2 += 1,
                    _ => {}
                }
            }
            let updated = tensor.update(&batch).unwrap();
            // An entry may have been given the value that it had.
            assert_eq!((updated.inserted, updated.removed), (expected.0, expected.2), "{text}, {round}");
            assert!(updated.changed >= expected.1, "{text}, {round}");
            tensor.validate().unwrap();
            assert_eq!(stored(&tensor), map, "{text}, {round}");
        }
    }
}

#[test]
fn a_tensor_that_grows_is_compacted_on_the_way() {
    let (rows, columns) = (1 << 12, 64);
    let mut grown = Tensor::zeros(vec![rows, columns], &format("d{bst}", 2), DType::F64).unwrap();
    let mut rng = SplitMix(3);
    for _ in 0..60_000 {
        grown.insert(&[rng.below(rows), rng.below(columns)], 1.0).unwrap();
    }
    grown.validate().unwrap();
    // Nodes of neighboring rows are near each other, most of them.
    let roots = grown.levels()[1].array("root").unwrap().as_slice::<u32>().unwrap();
    let near = roots.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1 << 10).count();
    assert!(near * 2 > roots.len(), "{near} of {}", roots.len());
}

#[test]
fn nodes_between_the_rows_of_tensors_that_grow() {
    let mut rng = SplitMix(11);
    let long = Template::every_program().iter().flat_map(|program| {
        let name = program.name();
        [(format!("d{{{name}}}"), [500, 90]), (format!("{{btree}}{{{name}}}"), [700, 70])]
    });
    // Rows of a few entries: blocks that are full early, and such as have places for all, so that little room is left.
    let short = ["d{btree<5>}", "d{blist<64>}", "d{ttree<4>}", "{bst}{ctree<4>}", "{btree<3>}{vblist}"];
    // The trees of small rows are moved as they are.
    let small = ["d{bst}", "d{rbtree}", "d{ctree}", "d{btree}", "d{blist_unsorted<4>}", "d{list}"];
    let all = long.chain(short.into_iter().chain(small).map(|text| (text.to_string(), [4000, 90]))).enumerate();
    for (_, (text, dims)) in all.filter(|(number, _)| is_turn(*number, 3)) {
        let mut tensor = Tensor::zeros(dims.to_vec(), &format(&text, 2), DType::F64).unwrap();
        let mut map = Map::new();
        let at = |rng: &mut SplitMix| vec![rng.below(dims[0]), rng.below(dims[1])];
        // It is compacted on the way, with room between rows, some of which the later changes take.
        let mut early = Vec::new();
        for step in 0..24_000 {
            if step % 8000 == 4000 {
                early.push((tensor.snapshot().unwrap(), map.clone()));
            }
            let at = at(&mut rng);
            let before = tensor.insert(&at, f64::from(step)).unwrap();
            assert_eq!(before, map.insert(at, f64::from(step)), "{text}");
        }
        tensor.validate().unwrap();
        early.push((tensor.snapshot().unwrap(), map.clone()));
        for round in 0..3 {
            let mut batch = Batch::new(2);
            for number in 0..2000 {
                let at = at(&mut rng);
                if (number + round) % 3 == 0 {
                    batch.remove(&at);
                    map.remove(&at);
                } else {
                    batch.set(&at, 2.0);
                    map.insert(at, 2.0);
                }
            }
            tensor.update(&batch).unwrap();
            for _ in 0..500 {
                let at = at(&mut rng);
                assert_eq!(tensor.remove::<f64>(&at).unwrap().is_some(), map.remove(&at).is_some(), "{text}");
            }
        }
        tensor.validate().unwrap();
        map.retain(|_, value| *value != 0.0);
        assert_eq!(stored(&tensor), map, "{text}");
        for (snapshot, mut map) in early {
            map.retain(|_, value| *value != 0.0);
            assert_eq!(stored(&snapshot), map, "{text}");
        }
    }
}

#[test]
fn a_list_of_a_million_nodes_is_walked_and_changed() {
    let count = 1 << 20;
    let mut sorted = Tensor::zeros(vec![count], &format("{list}", 1), DType::F64).unwrap();
    let mut batch = Batch::new(1);
    for i in 0..count {
        batch.set(&[i], i as f64);
    }
    assert_eq!(sorted.update(&batch).unwrap().inserted, count);
    sorted.validate().unwrap();
    assert_eq!(sorted.remove::<f64>(&[count - 1]).unwrap(), Some((count - 1) as f64));
    assert_eq!(sorted.insert(&[count - 1], 1.0).unwrap(), None);
    sorted.validate().unwrap();
    assert_eq!(sorted.entries(), count);
}

#[test]
fn what_is_wrong_changes_nothing() {
    let mut graph = Tensor::zeros(vec![3, 4], &format("d{btree}", 2), DType::F64).unwrap();
    graph.insert(&[1, 2], 1.0).unwrap();
    let before = graph.try_clone().unwrap();
    assert!(matches!(graph.insert(&[1, 4], 1.0), Err(StorageError::OutOfRange { dimension: 1, .. })));
    assert!(matches!(graph.insert(&[1, 2], 1.0f32), Err(StorageError::Type { .. })));
    assert!(matches!(graph.remove::<f64>(&[1]), Err(StorageError::Coordinates { .. })));
    assert!(matches!(graph.grow_dims(&[2, 4]), Err(StorageError::Length { .. })));
    let mut batch = Batch::new(2);
    batch.set(&[0, 0], 1.0).set(&[0, 9], 1.0);
    assert!(matches!(graph.update(&batch), Err(StorageError::OutOfRange { .. })));
    let mut short = Batch::new(2);
    short.set(&[0], 1.0f64);
    assert!(matches!(graph.update(&short), Err(StorageError::Coordinates { .. })));
    assert_eq!(graph, before);
}

#[test]
fn fill_values_and_patterns() {
    let fill = Scalar::real(DType::F64, 1.5);
    let mut filled = Tensor::empty(vec![4, 2], &format("{bst}d", 2), fill).unwrap();
    filled.insert(&[2, 1], 4.0).unwrap();
    assert_eq!(filled.to_dense::<f64>().unwrap(), [1.5, 1.5, 1.5, 1.5, 1.5, 4.0, 1.5, 1.5]);
    let mut batch = Batch::new(2);
    batch.add(&[0, 0], 1.0);
    filled.update(&batch).unwrap();
    assert_eq!(filled.to_dense::<f64>().unwrap()[0], 2.5);
    let mut pattern = Tensor::zeros(vec![9], &format("{btree<3>}", 1), DType::Pattern).unwrap();
    for i in [3u64, 1, 4, 1, 5, 8, 2, 6] {
        pattern.insert(&[i], lacunar_formats::One).unwrap();
    }
    pattern.remove::<lacunar_formats::One>(&[4]).unwrap();
    pattern.validate().unwrap();
    assert_eq!(pattern.entries(), 6);
}
