//! Random updates of one level against a map, for every schema that programs have and for some that they do not.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use lacunar_base::day::is_turn;
use lacunar_formats::schema::{FieldKind, Target};
use lacunar_formats::{LevelKind, Schema};

use super::items::{Fit, Item, Source};
use super::{Payload, Put, View, find, put, put_quickly, remove, remove_quickly};
use crate::buffer::Buffer;
use crate::random::SplitMix;
use crate::storage::LevelStorage;

/// Schemas that are not among those of every program.
const OTHERS: [&str; 10] = [
    "def tree { e: elem nonempty  l: tree  r: tree  p: parent  sz: uint64  seq = l, e, r }  def tree_root { t: tree }",
    "def wide { e: elem[B] nonempty  c: wide[B]  cl: wide  B: size in [1,4]  seq = {c, e}, cl }  def wide_root { t: wide }",
    "def supertype b
     def inner : b { e: elem[B] nonempty  c: b[B] nonempty  cl: b nonempty  p: parent  B: size in [2,5]  seq = {c, e}, cl }
     def leaf : b { e: elem[B] nonempty  p: parent  B: size in [1,5]  seq = {e} }
     def b_root { t: b }",
    "def chain { e: elem[B] nonempty  n: chain  B: size in [2,5]  seq = {e}, n }
     def chain_row { h: elem[C] nonempty  n: chain  C: size in [0,3]  seq = {h}, n }",
    "def supertype big
     def big_inner : big { e: elem[B] nonempty  c: big[B] nonempty  cl: big nonempty  B: size in [1,4]  seq = {c, e}, cl }
     def big_leaf : big { e: elem[B] nonempty  B: size in [1,4]  seq = {e} }
     def row { B: size in [0,6]  e: elem[B] nonempty  r: big  seq = {e}, r }",
    "def back { n: back  e: elem[B] nonempty  B: size in [1,4]  seq = n, {e} }  def back_head { h: back }",
    "def bag { e: elem[B]  l: bag  r: bag  B: size in [0,4] }  def bag_root { t: bag }",
    "def pair { a: elem  b: elem  l: pair  m: pair  r: pair  seq = l, a, m, b, r }  def pair_root { t: pair }",
    "def grown { l: grown  m: uint64  e: elem[B] nonempty  o: elem  r: grown  p: parent  B: size about 3  seq = l, {e}, o, r }
     def grown_root { t: grown }",
    "def fan { h: elem nonempty  e: elem[B] nonempty  c: fan[D] nonempty  B: size about 3  D: size about 2  p: parent  seq = h, {e}, {c} }
     def fan_row { f: fan }",
];

/// A level with the values of its positions.
struct Model {
    level: LevelStorage,
    values: Buffer,
    map: BTreeMap<(u64, u64), f64>,
    /// The number of changes, every other one of which tries the short way first.
    turn: u64,
    /// The number of those that took it.
    quick: u64,
}

impl Model {
    fn new(schema: Schema, parents: usize) -> Model {
        let align = schema.align() as usize;
        let kind = LevelKind::nodes(schema).unwrap();
        let arrays = vec![Buffer::from_vec(vec![0u32; parents]), Buffer::from_vec(vec![0u32; align])];
        let level = LevelStorage::new(kind, 1 << 20, arrays);
        Model { level, values: Buffer::from_vec(Vec::<f64>::new()), map: BTreeMap::new(), turn: 0, quick: 0 }
    }

    fn own(&mut self) {
        self.level.make_changeable(1).unwrap();
        self.values.make_changeable(1).unwrap();
    }

    /// False if the schema has no place for it.
    fn put(&mut self, parent: u64, coordinate: u64, value: f64) -> bool {
        self.turn += 1;
        if self.turn.is_multiple_of(2)
            && let Some(before) = put_quickly(&mut self.level, &mut self.values, (parent, coordinate), value)
        {
            self.quick += 1;
            assert_eq!(before, self.map.insert((parent, coordinate), value));
            return true;
        }
        let stored = put(&mut self.level, parent, coordinate, Payload::values(&mut self.values, 1, &[])).unwrap();
        let is_new = !self.map.contains_key(&(parent, coordinate));
        let position = match stored {
            Put::Before(position) => (!is_new).then_some(position),
            Put::Now(position) => is_new.then_some(position),
            Put::Nowhere => return false,
        };
        self.values.as_mut_slice::<f64>().unwrap()[position.unwrap() as usize] = value;
        self.map.insert((parent, coordinate), value);
        true
    }

    fn remove(&mut self, parent: u64, coordinate: u64) -> bool {
        self.turn += 1;
        if self.turn.is_multiple_of(2)
            && let Some(before) = remove_quickly::<f64>(&mut self.level, &mut self.values, (parent, coordinate))
        {
            self.quick += 1;
            assert_eq!(before, self.map.remove(&(parent, coordinate)));
            return true;
        }
        let done = remove(&mut self.level, parent, coordinate, Payload::values(&mut self.values, 1, &[])).unwrap();
        if done {
            self.map.remove(&(parent, coordinate));
        }
        done
    }

    /// Checks nodes and contents.
    fn check(&self, parents: u64) {
        let view = View::of(&self.level).unwrap();
        let values = self.values.as_slice::<f64>().unwrap();
        assert_eq!(view.positions(), values.len() as u64);
        let (mut met, mut slots) = (BTreeSet::new(), BTreeSet::new());
        for parent in 0..parents {
            let mut stored = Vec::new();
            let link = view.root_link(parent as u32);
            if let Some((base, ty)) = view.follow(view.referred(link), link.to) {
                walk(view, (base, ty), (None, 0), &mut met, &mut stored);
            }
            if view.schema.is_ordered() {
                assert!(stored.is_sorted_by(|one, other| one.0 < other.0), "{stored:?}");
            }
            stored.sort_unstable();
            assert!(stored.iter().all(|(_, position)| slots.insert(*position)));
            let found =
                stored.iter().map(|(coordinate, position)| (u64::from(*coordinate), values[*position as usize]));
            let expected =
                self.map.range((parent, 0)..(parent + 1, 0)).map(|((_, coordinate), value)| (*coordinate, *value));
            assert!(found.eq(expected), "{}, {parent}", view.schema.name());
        }
        for ((parent, coordinate), value) in &self.map {
            let position = find(view, self.level.kept(), *parent, *coordinate).unwrap();
            assert_eq!(values[position as usize], *value);
        }
    }
}

/// Checks the nodes of a tree, and collects its elements. Chains are followed without recursion.
fn walk(
    view: View,
    (mut base, mut ty): (u32, usize),
    (mut holder, depth): (Option<(usize, u32)>, usize),
    met: &mut BTreeSet<u32>,
    stored: &mut Vec<(u32, u32)>,
) {
    assert!(depth <= Schema::DEPTH);
    loop {
        let node = &view.schema.nodes()[ty];
        assert!(met.insert(base));
        if let Some(field) = node.parent() {
            let word = crate::nodes::holder_word(view.schema, node, holder);
            assert_eq!(view.word(u64::from(base) + u64::from(field.offset)), word);
        }
        let items = view.read(base, ty);
        assert!(Fit::of(view.schema, ty, &items, true).is_some(), "{} {items:?}", node.name);
        assert!(!items.is_empty());
        let own = Some((ty, view.handle(base, ty)));
        let last = items.len() - 1;
        let mut next = None;
        for (k, item) in items.iter().enumerate() {
            match item {
                Item::Elem { coordinate, value: Source::At(position) } => stored.push((*coordinate, *position)),
                Item::Elem { .. } => unreachable!(),
                Item::Child { base, ty } if k == last => next = Some((*base, *ty)),
                Item::Child { base, ty } => walk(view, (*base, *ty), (own, depth + 1), met, stored),
            }
        }
        match next {
            Some(child) => ((base, ty), holder) = (child, own),
            None => return,
        }
    }
}

fn schemas() -> Vec<Schema> {
    let builtin = lacunar_formats::Template::every_program().iter().flat_map(|template| {
        let small = [template.with(&[]), template.with(&[4]), template.with(&[3, 2]), template.with(&[1])];
        small.into_iter().filter_map(Result::ok).collect::<Vec<_>>()
    });
    builtin.chain(OTHERS.iter().map(|text| Schema::parse(text).unwrap())).collect()
}

#[test]
fn random_updates_of_every_schema_agree_with_a_map() {
    for (seed, schema) in schemas().into_iter().enumerate() {
        for (parents, size, steps) in [(1, 60, 1000), (3, 1000, 2000)] {
            let mut model = Model::new(schema.clone(), parents as usize);
            model.own();
            let mut rng = SplitMix(seed as u64 + 1);
            for step in 0..steps {
                // Rows grow, shrink and grow again.
                let puts = if (step / 500) % 2 == 0 { 3 } else { 1 };
                let (parent, coordinate) = (rng.below(parents), rng.below(size));
                if rng.below(4) < puts {
                    model.put(parent, coordinate, step as f64);
                } else {
                    model.remove(parent, coordinate);
                }
                if step % 100 == 0 || step < 50 {
                    model.check(parents);
                }
            }
            model.check(parents);
            let is_searched = model.level.kept().searches.iter().all(Option::is_some);
            assert!(!is_searched || model.quick > steps / 20, "{}: {}", schema.name(), model.quick);
        }
    }
}

#[test]
fn sorted_elements_make_no_tree_too_deep() {
    for (number, schema) in schemas().into_iter().filter(|schema| schema.is_ordered()).enumerate() {
        for (direction, is_down) in [false, true].into_iter().enumerate() {
            if !is_turn(number + direction, 3) {
                continue;
            }
            let mut model = Model::new(schema.clone(), 1);
            model.own();
            for k in 0..2000u64 {
                let coordinate = if is_down { 2000 - k } else { k };
                model.put(0, coordinate, k as f64);
            }
            model.check(1);
        }
    }
}

#[test]
fn targets_are_told_by_tags() {
    let tree = Schema::builtin("btree", &[3]).unwrap();
    let child = tree.nodes().iter().flat_map(|node| &node.fields).find_map(|field| match field.kind {
        FieldKind::Child { to, .. } => Some(to),
        _ => None,
    });
    assert!(matches!(child, Some(Target::Super(_))));
}
