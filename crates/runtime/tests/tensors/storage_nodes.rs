//! Levels of nodes: every schema holds the same tensors as every other format, trees are balanced and full, and wrong arrays are refused.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use lacunar_base::day::is_turn;
use lacunar_formats::{DType, Format, FormatSpec, Level, LevelKind, Schema, Template};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, StorageError, Tensor, Values};

/// A tree that counts the elements below each node, which no program has of itself.
const ORDER_STATISTIC: &str = "
    param K = 3
    def counted { l: counted  e: elem[B] nonempty  r: counted  up: parent  sz: uint32  B: size in [1,K]  seq = l, {e}, r }
    def counted_root { t: counted }";

/// A row of a few elements in the node, and a tree for the others; and others that no program has.
const OTHERS: [&str; 4] = [
    "def row_big { e: elem nonempty  l: row_big  r: row_big  seq = l, e, r }
     def row { B: size in [0,4]  e: elem[B] nonempty  r: row_big  seq = {e}, r }",
    "def supertype any  def small : any { a: elem  b: elem nonempty  n: any  seq = a, b, n }
     def large : any { e: elem[6]  p: parent  n: any  seq = {e}, n }  def chain_head { h: any }",
    "def supertype strict  def strict_in : strict { e: elem[B] nonempty  c: strict[B] nonempty  z: strict nonempty  p: parent
       B: size in [1,3]  seq = {c, e}, z }
     def strict_leaf : strict { e: elem[B] nonempty  p: parent  w: uint64  B: size in [1,3]  seq = {e} }
     def strict_root { r: strict }",
    "def wide { x: elem[N] nonempty  c: wide[N]  N: size in [0,*] about 2  seq = {c, x} }",
];

/// A tensor's entries, as coordinates and values.
type Entries = BTreeMap<Vec<u64>, f64>;

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

fn list(dims: &[u64], entries: &Entries) -> Coo {
    let mut list = Coo::empty(dims.to_vec(), DType::F64);
    let mut values = Vec::new();
    for (at, value) in entries {
        list.coords.iter_mut().zip(at).for_each(|(column, own)| column.push(*own));
        values.push(*value);
    }
    list.values = Values::F64(values);
    list
}

fn entries(tensor: &Tensor) -> Entries {
    let list = tensor.to_coo().unwrap();
    let Values::F64(values) = &list.values else { panic!("the tests use f64") };
    let at = |k: usize| list.coords.iter().map(|column| column.get(k).unwrap()).collect();
    values.iter().enumerate().map(|(k, value)| (at(k), *value)).filter(|(_, value)| *value != 0.0).collect()
}

/// So many entries in a box of these sizes, some rows of which are empty.
fn random(dims: &[u64], count: usize) -> Entries {
    let mut state = 7u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(state) * u128::from(bound)) >> 64) as u64
    };
    (0..count).map(|k| (dims.iter().map(|size| next(*size)).collect(), k as f64 + 1.0)).collect()
}

/// Names of kinds of nodes: all that there are, and such with nodes of few elements.
fn names() -> Vec<String> {
    for text in OTHERS.into_iter().chain([ORDER_STATISTIC]) {
        Template::define(text).unwrap();
    }
    let all = || Template::every_program().iter().chain(Box::leak(Box::new(Template::defined())).iter());
    let small = all().filter_map(|template| match template.parameters().len() {
        0 => None,
        1 => Some(format!("{}<2>", template.name())),
        _ => Some(format!("{}<4,2>", template.name())),
    });
    all().map(|template| template.name().to_string()).chain(small).collect()
}

/// The tensor from its arrays, with all checks.
fn checked(tensor: &Tensor) -> Tensor {
    let (dims, format, levels, values) = tensor.try_clone().unwrap().into_parts();
    Tensor::from_parts(dims, &format, levels, values).unwrap()
}

/// Every kind of nodes is made of every format, and turned into it.
#[test]
fn every_kind_of_nodes_is_converted_to_every_format_and_back() {
    let names = names();
    let vectors: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    let under = |above: &str| names.iter().map(|name| format!("{above}{{{name}}}")).collect::<Vec<_>>();
    let tables = [
        (vec![40], [0, 1, 30], [vectors, vec!["dense".into(), "sv".into(), "h".into(), "b".into()]].concat()),
        (
            vec![9, 30],
            [0, 1, 90],
            [
                under("d"),
                ["csr", "csc", "coo", "dense", "bcsr(2,3)", "dh", "do", "dcsr", "dl", "sell(4)", "dia", "hicoo(4)"]
                    .map(String::from)
                    .to_vec(),
                [
                    "{bst}{ctree<2>}",
                    "{btree<2>}{blist<2>}:1,0",
                    "{list}s",
                    "{blist_holes<3>}b",
                    "{rbtree}h",
                    "{ttree<2>}d",
                ]
                .map(String::from)
                .to_vec(),
            ]
            .concat(),
        ),
        (
            vec![4, 5, 6],
            [0, 1, 50],
            [
                under("ds"),
                under("{bst}d"),
                ["coo", "csf:2,0,1", "dense", "{bst}{ctree}{btree<2>}"].map(String::from).to_vec(),
            ]
            .concat(),
        ),
    ];
    for (dims, counts, formats) in tables {
        let order = dims.len();
        for count in counts {
            let expected = random(&dims, count);
            let made = |text: &String| Tensor::from_coo(list(&dims, &expected), &format(text, order)).unwrap();
            let tensors: Vec<Tensor> = formats.iter().map(made).collect();
            for tensor in &tensors {
                assert_eq!(entries(tensor), expected, "{}", tensor.format());
                assert_eq!(&checked(tensor), tensor);
            }
            let has_nodes = |tensor: &Tensor| tensor.format().levels().iter().any(|it| it.kind.schema().is_some());
            let pairs = (0..tensors.len()).flat_map(|k| (0..tensors.len()).map(move |other| (k, other)));
            for (_, (from, to)) in pairs.enumerate().filter(|(number, _)| is_turn(*number, 3)) {
                let (far, from, to) = (from.abs_diff(to), &tensors[from], &tensors[to]);
                // Only some pairs of two formats with nodes: the result of a conversion does not depend on the format of its source.
                if !has_nodes(from) || has_nodes(to) && ![0, 1, 7, 19].contains(&far) {
                    continue;
                }
                let there = from.convert(to.format()).unwrap();
                assert_eq!(entries(&there), expected, "{} to {}", from.format(), to.format());
                let back = to.convert(from.format()).unwrap();
                assert_eq!(&back, from, "{} to {}", to.format(), from.format());
            }
        }
    }
}

/// Elements are found where a walk meets them, and nowhere else.
#[test]
fn elements_are_found() {
    let expected = random(&[3, 50], 70);
    for name in names() {
        let tensor = Tensor::from_coo(list(&[3, 50], &expected), &format(&format!("d{{{name}}}"), 2)).unwrap();
        let values = tensor.values().as_slice::<f64>().unwrap();
        for at in (0..3).flat_map(|i| (0..50).map(move |j| vec![i, j])) {
            let found = tensor.position_of(&at).map(|position| values[position]);
            assert_eq!(found, expected.get(&at).copied(), "{at:?} in {name}");
        }
        let (mut walk, mut met) = (tensor.walk(), Entries::new());
        while let Some((at, position)) = walk.next_entry() {
            met.insert(at.to_vec(), values[position]);
        }
        assert_eq!(met, expected, "{name}");
    }
}

fn words<'a>(tensor: &'a Tensor, array: &str) -> &'a [u32] {
    tensor.levels().last().unwrap().array(array).unwrap().as_slice::<u32>().unwrap()
}

/// The arrays of small tensors.
#[test]
fn nodes_lie_in_the_order_of_their_elements() {
    let expected: Entries = [0, 2, 5].into_iter().map(|at| (vec![at], at as f64 + 1.0)).collect();
    let stored = |text: &str| Tensor::from_coo(list(&[6], &expected), &format(text, 1)).unwrap();
    let list = stored("{list}");
    assert_eq!(words(&list, "root"), [4]);
    assert_eq!(words(&list, "node"), [0, 3, 0, 0, 0, 8, 0, 0, 2, 12, 1, 0, 5, 0, 2, 0]);
    assert_eq!(list.values().as_slice::<f64>(), Some(&[1.0, 3.0, 6.0][..]));
    let tree = stored("{bst}");
    assert_eq!(words(&tree, "root"), [8]);
    assert_eq!(words(&tree, "node"), [0, 3, 0, 0, 0, 0, 0, 0, 2, 4, 12, 1, 5, 0, 0, 2]);
    let colored = stored("{rbtree}");
    let node = |coordinate, left, right, slot, parent| [coordinate, left, right, slot, 0, parent, 0, 0];
    assert_eq!(words(&colored, "root"), [12]);
    assert_eq!(words(&colored, "node")[4..12], node(0, 0, 0, 0, 12));
    assert_eq!(words(&colored, "node")[12..20], node(2, 4, 20, 1, 0));
    assert_eq!(words(&colored, "node")[20..28], node(5, 0, 0, 2, 12));
}

/// Trees that are made are as low as can be, and their leaves are full.
#[test]
fn trees_are_balanced_and_full() {
    let size = 100_000;
    let all: Entries = (0..size).map(|at| (vec![at], 1.0)).collect();
    for (name, most) in [
        ("list", 4.01),
        ("blist", 1.26),
        ("blist_sparse", 1.26),
        ("bst", 4.01),
        ("ttree", 1.3),
        ("btree", 1.5),
        ("pactree", 1.3),
        ("ctree", 1.4),
        ("vblist", 1.01),
    ] {
        let tensor = Tensor::from_coo(list(&[size], &all), &format(&format!("{{{name}}}"), 1)).unwrap();
        assert_eq!(checked(&tensor), tensor);
        let words = words(&tensor, "node").len() as f64 / size as f64;
        assert!(words < most, "{name}: {words} words an element");
        let slots = tensor.values().len() as f64 / size as f64;
        assert!(slots < 1.1, "{name}: {slots} positions an element");
    }
}

/// Large trees are made of copies of subtrees, which have all elements in order.
#[test]
fn large_trees_have_all_elements() {
    for size in [4096, 20_011] {
        let all: Entries = (0..size).map(|at| (vec![3 * at], at as f64)).collect();
        let sorted = Tensor::from_coo(list(&[3 * size], &all), &Format::sv()).unwrap();
        for name in names() {
            let tensor = sorted.convert(&format(&format!("{{{name}}}"), 1)).unwrap();
            assert_eq!(checked(&tensor), tensor, "{name}");
            assert_eq!(tensor.convert(&Format::sv()).unwrap(), sorted, "{name}");
            assert_eq!(tensor.position_of(&[3 * size - 2]), None, "{name}");
            let found = tensor.position_of(&[3 * size - 3]).map(|at| tensor.values().as_slice::<f64>().unwrap()[at]);
            assert_eq!(found, Some((size - 1) as f64), "{name}");
        }
    }
}

/// A list is as long as need be.
#[test]
fn a_list_of_a_million_nodes_is_walked() {
    let size = 1_000_000;
    let all: Entries = (0..size).map(|at| (vec![0, at], at as f64)).collect();
    let rows = Tensor::from_coo(list(&[1, size], &all), &Format::csr()).unwrap();
    let nodes = rows.convert(&format("d{list}", 2)).unwrap();
    assert_eq!(nodes.convert(&Format::csr()).unwrap(), rows);
    assert_eq!(checked(&nodes), nodes);
}

/// No tree of the schema has so many elements.
#[test]
fn what_no_tree_holds_is_refused() {
    let schema = Schema::parse("def fours { e: elem[4] nonempty  n: fours  seq = {e}, n }").unwrap();
    let level = Level { kind: LevelKind::nodes(schema).unwrap(), unique: true };
    let format = Format::new(vec![level], vec![0]).unwrap();
    for count in 0..10 {
        let some: Entries = (0..count).map(|at| (vec![at], 1.0)).collect();
        let made = Tensor::from_coo(list(&[20], &some), &format);
        assert_eq!(made.is_ok(), count % 4 == 0, "{count}: {made:?}");
    }
    let large = Tensor::from_coo(list(&[1 << 33], &Entries::new()), &self::format("{bst}", 1));
    assert!(matches!(large, Err(StorageError::Width { .. })), "{large:?}");
}

/// A word that is another is refused, or it describes another tensor that is right.
#[test]
fn wrong_words_are_refused_or_harmless() {
    let expected = random(&[2, 20], 18);
    let mut reasons = BTreeSet::new();
    for name in names() {
        let tensor = Tensor::from_coo(list(&[2, 20], &expected), &format(&format!("d{{{name}}}"), 2)).unwrap();
        for array in ["root", "node"] {
            let right = words(&tensor, array);
            for (place, number) in (0..right.len()).flat_map(|place| {
                let own = right[place];
                [0, 1, 4, own ^ 1, own.wrapping_add(1), own.wrapping_sub(4), own.wrapping_add(4), u32::MAX, 1 << 31]
                    .map(|number| (place, number))
            }) {
                let (dims, format, mut levels, values) = tensor.try_clone().unwrap().into_parts();
                let last = levels.pop().unwrap();
                let wrong = last.try_map(|own, buffer| -> Result<Buffer, StorageError> {
                    let mut numbers = buffer.as_slice::<u32>().unwrap().to_vec();
                    if own == array {
                        numbers[place] = number;
                    }
                    Ok(Buffer::from_vec(numbers))
                });
                levels.push(wrong.unwrap());
                match Tensor::from_parts(dims, &format, levels, values) {
                    Ok(tensor) => drop(entries(&tensor.convert(&Format::csr()).unwrap())),
                    Err(StorageError::Nodes { reason, .. }) => drop(reasons.insert(reason)),
                    Err(_) => {}
                }
            }
        }
    }
    assert!(reasons.len() >= 10, "{reasons:?}");
    assert!(reasons.contains("what a block has behind its elements is no coordinate"), "{reasons:?}");
    let short = LevelStorage::new(LevelKind::nodes_named("bst").unwrap(), 9, vec![Buffer::from_vec(vec![0u32])]);
    assert!(Tensor::from_parts(vec![9], &format("{bst}", 1), vec![short], Buffer::from_vec(vec![1.0])).is_err());
}
