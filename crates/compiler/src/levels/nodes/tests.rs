//! Iterators and searches of many schemas, on random nodes that have the same coordinates.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A failure is what a test is for.

use std::rc::Rc;

use fastrand::Rng;
use lacunar_formats::schema::{Extent, FieldKind, Schema, Step, Target, Template};
use lacunar_formats::{DType, IndexWidth, LevelKind};
use lacunar_imp::{ArrayData, ArrayRole, Builder, Const, Function, Memory, Verified, interpret, verify};

use super::*;
use crate::levels::{Arrays, Cursor, LevelCode};

/// Schemas besides those that every program has.
const OTHERS: [&str; 9] = [
    // Children behind elements, and the first before them.
    "def supertype t
     def inner : t { f: t nonempty  e: elem[B] nonempty  c: t[B] nonempty  B: size in [1,3]  seq = f, {e, c} }
     def leaf : t { e: elem[B] nonempty  B: size in [1,3]  seq = {e} }
     def beside_root { r: t }",
    // Children that may be missing.
    "def part { e: elem[B] nonempty  c: part[B]  B: size in [0,3]  seq = {c, e} } def parts_root { r: part }",
    // Arrays of children alone.
    "def quad { e: elem  c: quad[3]  seq = {c}, e } def quads_root { r: quad }",
    "def quint { c: quint[4]  e: elem nonempty  seq = e, {c} } def quints_root { r: quint }",
    // No element between two children.
    "def pair { l: pair  m: pair  e: elem nonempty  seq = l, m, e } def pairs_root { r: pair }",
    // Two arrays of elements, two of children.
    "def two { a: elem[B] nonempty  x: two[B]  b: elem[B]  y: two[B]  B: size in [0,2]  seq = {x, a, b, y} } def twos_root { r: two }",
    // Two types that refer to each other.
    "def a { e: elem nonempty  l: b  r: b  seq = l, e, r } def b { f: elem[2]  g: elem  n: a  m: b  seq = {f}, n, g, m } def ab_root { r: a }",
    // A root with children on both sides.
    "def l { e: elem nonempty  n: l  seq = e, n } def both { a: l  e: elem[B] nonempty  b: l  B: size in [1,*]  seq = a, {e}, b }",
    // Arrays without a bound, with children.
    "def wide { e: elem[B] nonempty  c: wide[B]  d: elem nonempty  B: size  seq = {c, e}, d } def wide_root { r: wide }",
];

fn schemas() -> Vec<&'static Schema> {
    let mut all: Vec<Schema> = Vec::new();
    for template in Template::every_program() {
        let arguments: &[u32] = match template.parameters() {
            [] => &[],
            [_] => &[2],
            _ => &[4, 2],
        };
        all.push(template.with(arguments).unwrap());
    }
    all.extend(OTHERS.iter().map(|text| Schema::parse(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))));
    all.into_iter().map(|schema| LevelKind::nodes(schema).unwrap().schema().unwrap()).collect()
}

/// Random nodes of a schema.
struct Maker<'a> {
    schema: &'static Schema,
    words: Vec<u32>,
    /// The coordinate of each position that is used.
    positions: Vec<Option<u32>>,
    rng: &'a mut Rng,
}

impl Maker<'_> {
    /// The handle of a subtensor's root node.
    fn root(&mut self, coordinates: &[u32]) -> u32 {
        if coordinates.is_empty() {
            return 0;
        }
        loop {
            let before = (self.words.len(), self.positions.len());
            if let Some(handle) = self.node(self.schema.entry(), coordinates, 0) {
                return handle;
            }
            self.words.truncate(before.0);
            self.positions.truncate(before.1);
        }
    }

    fn node(&mut self, target: Target, coordinates: &[u32], depth: usize) -> Option<u32> {
        if depth > 40 {
            return None;
        }
        let types = self.schema.types(target);
        for _ in 0..6 {
            let before = (self.words.len(), self.positions.len());
            let node = types[self.rng.usize(..types.len())];
            if let Some(handle) = self.of_type(node, coordinates, depth) {
                return Some(handle);
            }
            self.words.truncate(before.0);
            self.positions.truncate(before.1);
        }
        None
    }

    /// A node of a type that holds some coordinates: in itself, and in its children.
    fn of_type(&mut self, number: usize, coordinates: &[u32], depth: usize) -> Option<u32> {
        let node = &self.schema.nodes()[number];
        let most = coordinates.len() as u32;
        let mut sizes: Vec<u32> = vec![0; node.fields.len()];
        for (k, field) in node.fields.iter().enumerate() {
            if let FieldKind::Size { least, most: bound, .. } = field.kind {
                let end = bound.unwrap_or(most + 2).min(most + least);
                sizes[k] = self.rng.u32(least..=end.max(least));
            }
        }
        let room = sizes.iter().copied().max().unwrap_or(0) + self.rng.u32(..2);
        // The items in their order, each with its number of coordinates.
        let mut items: Vec<(usize, u32)> = Vec::new();
        for step in &node.seq {
            let fields: &[usize] = match step {
                Step::One(field) => std::slice::from_ref(field),
                Step::Together(fields) => fields,
            };
            let count = match node.fields[fields[0]].array() {
                None => 1,
                Some(Extent::Const(count)) => count,
                Some(Extent::Size(size)) => sizes[size],
            };
            items.extend((0..count).flat_map(|k| fields.iter().map(move |&field| (field, k))));
        }
        let is_child = |field: usize| matches!(node.fields[field].kind, FieldKind::Child { .. });
        let mut shares: Vec<usize> =
            items.iter().map(|&(field, _)| usize::from(node.fields[field].is_nonempty())).collect();
        let mut left = coordinates.len().checked_sub(shares.iter().sum())?;
        let takes = |shares: &[usize], k: usize| is_child(items[k].0) || shares[k] == 0;
        while left > 0 {
            let open: Vec<usize> = (0..items.len()).filter(|&k| takes(&shares, k)).collect();
            if open.is_empty() {
                return None;
            }
            shares[open[self.rng.usize(..open.len())]] += 1;
            left -= 1;
        }
        if shares.iter().sum::<usize>() == 0 {
            return None;
        }
        let align = self.schema.align() as usize;
        let first = self.words.len();
        let words = (node.words(room) as usize).next_multiple_of(align);
        self.words.resize(first + words, 0);
        let slot = self.positions.len();
        self.positions.resize(slot + node.slots(room) as usize, None);
        let set = |words: &mut Vec<u32>, at: u64, value: u32| words[first + at as usize] = value;
        if let Some(word) = node.layout.slot {
            set(&mut self.words, word.into(), slot as u32);
        }
        if let Some(word) = node.layout.room {
            set(&mut self.words, word.into(), room);
        }
        for (k, field) in node.fields.iter().enumerate() {
            if let FieldKind::Size { .. } = field.kind {
                set(&mut self.words, field.offset.into(), sizes[k]);
            }
        }
        let mut rest = coordinates;
        for (&(field, k), &share) in items.iter().zip(&shares) {
            let (own, behind) = rest.split_at(share);
            rest = behind;
            let field = &node.fields[field];
            let at = field.word(room, k);
            match field.kind {
                FieldKind::Child { to, .. } => {
                    let handle = if own.is_empty() { 0 } else { self.node(to, own, depth + 1)? };
                    set(&mut self.words, at, handle);
                }
                _ => {
                    set(&mut self.words, at, own.first().copied().unwrap_or(Schema::UNUSED));
                    self.positions[slot + field.slot(room, k) as usize] = own.first().copied();
                }
            }
        }
        Some(first as u32 | node.tag)
    }
}

/// The facts that a kernel made here tells of a subtensor.
fn kernel(schema: &'static Schema, by_blocks: bool, wanted: bool) -> Verified<Function> {
    let mut b = Builder::new("walk");
    let arrays = ["root", "node"].map(|name| b.array_param(name, DType::U32, ArrayRole::Input));
    let [crd, pos, count] = ["crd", "pos", "count"].map(|name| b.array_param(name, DType::I64, ArrayRole::Output));
    let [low, high] = ["low", "high"].map(|name| b.scalar_param(name));
    let code: Rc<dyn LevelCode> = make(Arrays { arrays: &arrays, size: high, whole: true }, schema).into();
    let nodes = code.nodes().unwrap();
    let zero = b.int(0);
    let bounds = code.bounds(&mut b, Position::One(zero));
    let told = b.declare("told", zero);
    let tell = |b: &mut Builder, coordinate: ExprId, position: ExprId| {
        let (n, one) = (b.var(told), b.int(1));
        b.store(crd, n, coordinate);
        b.store(pos, n, position);
        let next = b.add(n, one);
        b.assign(told, next);
    };
    if wanted {
        let (first, end) = code.find(&mut b, zero, bounds, low);
        let there = b.compare(CompareOp::Lt, first, end);
        b.if_then(there, |b| tell(b, low, first));
    } else {
        let stack = nodes.stack(&mut b, "p");
        for array in stack.iter().flat_map(Stack::arrays) {
            let frames = Stack::frames(&mut b);
            b.alloc(array, frames, false);
        }
        if by_blocks {
            let walk = nodes.open_blocks(&mut b, "p", bounds.0, stack);
            let valid = nodes.is_valid(&mut b, &walk);
            b.while_loop(valid, |b| {
                let elements = nodes.elements(b, &walk);
                b.for_loop("word", elements.begin, elements.end, |b, word| {
                    let (at, coordinate, used) = nodes.element(b, "crd_here", elements, word);
                    let used = used.unwrap_or_else(|| b.bool(true));
                    b.if_then(used, |b| tell(b, coordinate, at));
                });
                // Behind the elements nothing else lies.
                let room_end = elements.room_end.unwrap_or(elements.end);
                b.for_loop("word", elements.end, room_end, |b, word| {
                    let (at, coordinate, used) = nodes.element(b, "behind", elements, word);
                    let mut other = b.compare(CompareOp::Ne, coordinate, zero);
                    if let Some(used) = used {
                        other = b.and(other, used);
                    }
                    b.if_then(other, |b| tell(b, coordinate, at));
                });
                nodes.next_block(b, &walk);
            });
        } else {
            let cursor = Cursor::open(&mut b, (code.clone(), "p".to_string()), zero, bounds, Some((low, high)), stack);
            let valid = cursor.valid(&mut b);
            b.while_loop(valid, |b| {
                let coordinate = cursor.coordinate(b, "crd_here");
                let position = cursor.position(b);
                tell(b, coordinate, position);
                cursor.advance(b);
            });
        }
    }
    let all = b.var(told);
    b.store(count, zero, all);
    verify(b.finish()).unwrap()
}

fn numbers(dtype: DType, numbers: impl IntoIterator<Item = i64>) -> ArrayData {
    let numbers: Vec<Const> = numbers.into_iter().map(|number| Const::int(dtype, number)).collect();
    ArrayData::from_values(dtype, &numbers).unwrap()
}

/// The coordinates that a kernel tells, and their positions.
fn told(function: &Verified<Function>, maker: &Maker<'_>, root: u32, low: u32, high: u32) -> Vec<(u32, usize)> {
    const MOST: usize = 80;
    let room = || numbers(DType::I64, vec![-1; MOST]);
    let words = numbers(DType::U32, maker.words.iter().map(|word| i64::from(*word)));
    let arrays = vec![numbers(DType::U32, [i64::from(root)]), words, room(), room(), room()];
    let mut memory = Memory { arrays, scalars: vec![i64::from(low), i64::from(high)] };
    let outcome = interpret(function, &mut memory);
    assert!(matches!(outcome, Ok(None)), "{outcome:?} of {}:\n{}", maker.schema.name(), **function);
    let all = |k: usize| (0..MOST).map(|at| memory.arrays[k].get(at).unwrap().bits as usize).collect::<Vec<_>>();
    let (crd, pos, count) = (all(2), all(3), all(4)[0]);
    (0..count).map(|k| (crd[k] as u32, pos[k])).collect()
}

#[test]
fn iterators_and_searches_of_any_schema_find_what_its_nodes_have() {
    assert_eq!(IndexWidth::W32.dtype(), DType::U32);
    let mut rng = Rng::with_seed(7);
    for schema in schemas() {
        let functions =
            [(false, false), (true, false), (false, true)].map(|(blocks, find)| kernel(schema, blocks, find));
        for round in 0..60 {
            let count = [0, 1, 2, 3, 5, 8, 20][round % 7];
            let mut coordinates: Vec<u32> = (0..50).collect();
            rng.shuffle(&mut coordinates);
            coordinates.truncate(count);
            if schema.is_ordered() {
                coordinates.sort_unstable();
            }
            let align = schema.align() as usize;
            let mut maker = Maker { schema, words: vec![0; align], positions: Vec::new(), rng: &mut rng };
            let root = maker.root(&coordinates);
            let at = |coordinate: u32| maker.positions.iter().position(|own| *own == Some(coordinate)).unwrap();
            let all: Vec<(u32, usize)> = coordinates.iter().map(|&own| (own, at(own))).collect();
            let name = schema.name();
            assert_eq!(told(&functions[1], &maker, root, 0, 50), all, "blocks of {name}");
            assert_eq!(told(&functions[0], &maker, root, 0, 50), all, "elements of {name}");
            if !schema.is_ordered() {
                continue;
            }
            for (low, high) in (0..=50).step_by(7).flat_map(|low| [(low, 50), (low, low + 9)]) {
                let part: Vec<_> = all.iter().copied().filter(|(own, _)| (low..high).contains(own)).collect();
                assert_eq!(told(&functions[0], &maker, root, low, high), part, "{low} .. {high} of {name}");
            }
            if functions.len() == 3 && schema_is_searched(schema) {
                for wanted in 0..50 {
                    let found: Vec<_> = all.iter().copied().filter(|(own, _)| *own == wanted).collect();
                    assert_eq!(told(&functions[2], &maker, root, wanted, 50), found, "{wanted} in {name}");
                }
            }
        }
    }
}

fn schema_is_searched(schema: &'static Schema) -> bool {
    Visit::of(schema).can_be_searched()
}
