//! Random schemas: conversions and updates against a map.
//!
//! A schema is made up of types with elements and children, which may be absent, single, or in arrays of constant or bounded lengths; of
//! types that only pass on to a child; and of supertypes. In each, rows of 0 to 40 elements are converted, and a tensor is changed at
//! random. The arrays are checked like those from outside after every step; an element that cannot be stored is an error, and leaves the
//! tensor as it was; and nothing goes on forever.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lacunar_formats::{DType, Format, Level, LevelKind, Schema};

use crate::coo::{Coo, Coordinates};
use crate::error::StorageError;
use crate::nodes::relocate;
use crate::random::SplitMix;
use crate::tensor::Tensor;
use crate::update::Batch;
use crate::values::Values;

/// The number of rows, and of columns.
const ROWS: u64 = 2;
const COLUMNS: u64 = 256;
/// A case may take so many seconds in which this process runs.
const SECONDS: usize = 120;

/// The text of a schema, which need not be one.
fn schema_text(rng: &mut SplitMix, root: &str) -> String {
    let families = 1 + rng.below(4) / 3;
    let mut text = String::new();
    let own: Vec<String> = (0..families).map(|family| format!("q{family}")).collect();
    for (family, name) in own.iter().enumerate() {
        let subtypes = rng.below(4);
        if subtypes == 0 {
            text += &type_text(rng, name, "", &own);
            continue;
        }
        text += &format!("def supertype {name}\n");
        for number in 0..subtypes {
            text += &type_text(
                rng,
                &format!("{name}_{number}"),
                &format!(": {name} "),
                &own[..=family.max(1).min(own.len() - 1)],
            );
        }
    }
    match rng.below(4) {
        0 => text + &type_text(rng, root, "", &own[..1]),
        _ => text + &format!("def {root} {{ t: q0 }}\n"),
    }
}

/// The text of a type whose children are of some types.
fn type_text(rng: &mut SplitMix, name: &str, of: &str, targets: &[String]) -> String {
    let (mut fields, mut seq) = (Vec::new(), Vec::new());
    let nonempty = |rng: &mut SplitMix| if rng.below(2) == 0 { " nonempty" } else { "" };
    for number in 0..1 + rng.below(3) {
        let target = &targets[rng.below(targets.len() as u64) as usize];
        let length = match rng.below(3) {
            0 => None,
            1 => Some(format!("{}", 1 + rng.below(3))),
            _ => {
                let least = rng.below(3);
                let most = match rng.below(3) {
                    0 => "*".to_string(),
                    _ => (least.max(1) + rng.below(4)).to_string(),
                };
                fields.push(format!("n{number}: size in [{least},{most}]"));
                Some(format!("n{number}"))
            }
        };
        let brackets = length.as_ref().map_or(String::new(), |length| format!("[{length}]"));
        let elem = format!("e{number}: elem{brackets}{}", nonempty(rng));
        let child = format!("c{number}: {target}{brackets}{}", nonempty(rng));
        let (names, made) = match (rng.below(5), &length) {
            (0 | 1, _) => (format!("e{number}"), vec![elem]),
            (2 | 3, _) | (_, None) => (format!("c{number}"), vec![child]),
            _ if rng.below(2) == 0 => (format!("c{number}, e{number}"), vec![elem, child]),
            _ => (format!("e{number}, c{number}"), vec![child, elem]),
        };
        fields.extend(made);
        seq.push(if length.is_some() { format!("{{{names}}}") } else { names });
    }
    let order = if rng.below(8) == 0 { String::new() } else { format!(" seq = {}", seq.join(", ")) };
    format!("def {name} {of}{{ {}{order} }}\n", fields.join("  "))
}

/// Rows of nodes.
fn format_of(schema: Schema) -> Format {
    let kinds = [LevelKind::DENSE, LevelKind::nodes(schema).unwrap()];
    Format::new(kinds.map(|kind| Level { kind, unique: true }).to_vec(), vec![0, 1]).unwrap()
}

/// The expected entries of a tensor.
type Model = BTreeMap<[u64; 2], f64>;

fn tensor_of(model: &Model, format: &Format) -> Result<Tensor, StorageError> {
    let column = |mode: usize| {
        let mut column = Coordinates::for_size(COLUMNS);
        model.keys().for_each(|at| column.push(at[mode]));
        column
    };
    let values = Values::F64(model.values().copied().collect());
    Tensor::from_coo(Coo { dims: vec![ROWS, COLUMNS], coords: vec![column(0), column(1)], values }, format)
}

/// Checks that a tensor has just these entries, in arrays that are right.
fn check(tensor: &Tensor, model: &Model, what: &str) {
    let (dims, format, levels, values) = tensor.try_clone().unwrap().into_parts();
    if let Err(error) = Tensor::from_parts(dims, &format, levels, values) {
        panic!("{what}: {error:?}");
    }
    let list = tensor.convert(&Format::csf(2)).unwrap().to_coo().unwrap();
    let Values::F64(values) = &list.values else { panic!("{what}: other values") };
    let at = |k: usize| [list.coords[0].get(k).unwrap(), list.coords[1].get(k).unwrap()];
    let found: Model = values.iter().enumerate().map(|(k, value)| (at(k), *value)).collect();
    assert_eq!(&found, model, "{what}");
}

/// The outcome of a change that has been carried out, or none.
fn outcome<R>(result: Result<R, StorageError>, what: &str) -> Option<R> {
    match result {
        Ok(result) => Some(result),
        Err(StorageError::NotRepresentable { .. }) => None,
        Err(error) => panic!("{what}: {error:?}"),
    }
}

/// Rows of 0 to 40 elements, and some longer ones.
fn convert(format: &Format, rng: &mut SplitMix) {
    for count in (0..=40).chain([70, 128, 200]) {
        let mut model = Model::new();
        while model.len() < count {
            model.insert([1, rng.below(COLUMNS)], 1.0 + model.len() as f64);
        }
        let what = format!("{count} elements");
        if let Some(tensor) = outcome(tensor_of(&model, format), &what) {
            check(&tensor, &model, &what);
        }
    }
}

/// Changes at random, one by one and together.
fn update(format: &Format, rng: &mut SplitMix) {
    let (mut tensor, mut model) = (Tensor::zeros(vec![ROWS, COLUMNS], format, DType::F64).unwrap(), Model::new());
    for step in 0..150 {
        let puts = if (step / 50) % 2 == 0 { 3 } else { 1 };
        let (what, value) = (format!("step {step}"), f64::from(step));
        let at = [rng.below(ROWS), rng.below(COLUMNS)];
        let mut next = model.clone();
        let done = match rng.below(6) {
            0 => {
                let mut batch = Batch::new(2);
                for _ in 0..1 + rng.below(8) {
                    let at = [rng.below(ROWS), rng.below(COLUMNS)];
                    if rng.below(4) < puts {
                        batch.set(&at, value);
                        next.insert(at, value);
                    } else {
                        batch.remove(&at);
                        next.remove(&at);
                    }
                }
                outcome(tensor.update(&batch), &what).is_some()
            }
            kind if kind <= puts => {
                let before = outcome(tensor.insert(&at, value), &what);
                let was = next.insert(at, value);
                before.is_some_and(|before| {
                    assert_eq!(before, was, "{what}");
                    true
                })
            }
            _ => {
                let before = outcome(tensor.remove::<f64>(&at), &what);
                let was = next.remove(&at);
                before.is_some_and(|before| {
                    assert_eq!(before, was, "{what}");
                    true
                })
            }
        };
        if done {
            model = next;
        }
        check(&tensor, &model, &what);
    }
    let (_, _, levels, values) = tensor.parts_mut();
    let level = &mut levels[1];
    if let Some(moved) = relocate(level, values, 0.5).unwrap() {
        (*level, *values) = moved;
        check(&tensor, &model, "nodes that were moved");
    }
}

/// Runs a case; false if it does not end. While the process is stopped, no time passes for it.
fn ends(case: impl FnOnce() + Send + 'static) -> bool {
    let (done, is_done) = channel();
    let thread = std::thread::spawn(move || {
        case();
        done.send(()).unwrap();
    });
    for _ in 0..SECONDS {
        match is_done.recv_timeout(Duration::from_secs(1)) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => {
                if let Err(panic) = thread.join() {
                    std::panic::resume_unwind(panic);
                }
                return true;
            }
        }
    }
    false
}

#[test]
fn random_schemas_hold_what_they_are_given() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (from, many) = (number("LACUNAR_SEED").unwrap_or(0), number("LACUNAR_SCHEMAS").unwrap_or(20));
    let mut made = 0;
    for seed in from.. {
        let mut rng = SplitMix(seed);
        let text = schema_text(&mut rng, &format!("row{seed}"));
        let Ok(schema) = Schema::parse(&text) else { continue };
        let format = format_of(schema);
        let own = text.clone();
        let case = move || {
            let _told = Told(&own, seed);
            convert(&format, &mut rng);
            update(&format, &mut rng);
        };
        assert!(ends(case), "no end with schema {seed}:\n{text}");
        made += 1;
        if made == many {
            break;
        }
    }
}

/// Converts a row of each of some numbers of elements: those that are stored.
fn stored(format: &Format, counts: std::ops::RangeInclusive<u64>) -> Vec<u64> {
    let row = |count: u64| -> Model { (0..count).map(|column| ([1, column], 1.0)).collect() };
    let is_stored = |count: &u64| {
        let (model, what) = (row(*count), format!("{count} elements"));
        outcome(tensor_of(&model, format), &what).inspect(|tensor| check(tensor, &model, &what)).is_some()
    };
    counts.filter(is_stored).collect()
}

#[test]
fn nodes_that_only_pass_on_end() {
    let text = "def supertype pass  def pass_on : pass { a: pass }  def pass_two : pass { e: elem[2] nonempty }
        def pass_root { t: pass }";
    let format = format_of(Schema::parse(text).unwrap());
    assert!(ends(move || assert_eq!(stored(&format, 0..=5), [0, 2])));
}

#[test]
fn new_nodes_have_the_lengths_that_they_need() {
    let texts = [
        "def least { b: least[B]  B: size in [1,*]  c: elem nonempty  seq = c, {b} }  def least_root { t: least }",
        "def before { c: elem nonempty  d: before[C]  C: size in [1,2]  seq = {d}, c }  def before_root { t: before }",
    ];
    for text in texts {
        let format = format_of(Schema::parse(text).unwrap());
        let mut tensor = Tensor::zeros(vec![ROWS, COLUMNS], &format, DType::F64).unwrap();
        let mut model = Model::new();
        for column in [27, 3, 40, 41, 12, 9] {
            tensor.insert(&[1, column], 9.0).unwrap();
            model.insert([1, column], 9.0);
            check(&tensor, &model, text);
        }
    }
}

#[test]
fn no_tree_is_deeper_than_stacks() {
    let text = "def deep { n: deep  e: elem nonempty  seq = n, e }  def deep_head { h: deep }";
    let format = format_of(Schema::parse(text).unwrap());
    let longest = Schema::DEPTH as u64;
    assert_eq!(stored(&format, 60..=70), (60..=longest).collect::<Vec<_>>());
    for is_down in [false, true] {
        let mut tensor = Tensor::zeros(vec![ROWS, COLUMNS], &format, DType::F64).unwrap();
        let mut model = Model::new();
        for k in 0..100 {
            let at = [1, if is_down { 200 - k } else { k }];
            if outcome(tensor.insert(&at, 1.0), text).is_some() {
                model.insert(at, 1.0);
            }
            check(&tensor, &model, text);
        }
        assert!(model.len() < 70);
    }
}

#[test]
fn children_that_may_be_absent_have_no_elements_or_enough() {
    let text = "def supertype lop  def lop_a : lop { l: lop nonempty  e: elem nonempty  r: lop  seq = l, e, r }
        def lop_b : lop { e: elem nonempty }  def lop_root { h: lop }";
    let format = format_of(Schema::parse(text).unwrap());
    assert_eq!(stored(&format, 0..=40), (0..=40).collect::<Vec<_>>());
}

#[test]
fn blocks_of_lists_are_dealt_out_so_that_none_has_too_few() {
    let text = |name: &str, length: &str| {
        format!(
            "def {name} {{ e: elem[B] nonempty  B: size in {length}  n: {name}  seq = {{e}}, n }}  def {name}_root {{ t: {name} }}"
        )
    };
    let some = |name: &str, length: &str| stored(&format_of(Schema::parse(&text(name, length)).unwrap()), 0..=40);
    assert_eq!(some("quad", "[4,6]"), [0, 4, 5, 6].into_iter().chain(8..=40).collect::<Vec<_>>());
    assert_eq!(some("trio", "[3,3]"), (0..=13).map(|k| 3 * k).collect::<Vec<_>>());
}

#[test]
fn nodes_are_longer_than_usual_where_rows_do_not_fit_otherwise() {
    let text = "def heap { e: elem[B] nonempty  B: size about 4 }";
    assert_eq!(stored(&format_of(Schema::parse(text).unwrap()), 0..=40), (0..=40).collect::<Vec<_>>());
}

/// Tells the schema of a case that fails.
struct Told<'t>(&'t str, u64);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("schema {}:\n{}", self.1, self.0);
        }
    }
}
