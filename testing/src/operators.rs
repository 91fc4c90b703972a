//! Random operators of programs: from a small grammar, with properties that hold.
//!
//! An operator that asks if something is present, or compares, jumps: its operands have to be exact ([`Made::jumps`]).

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_front::einsum::operators::declared;
use lacunar_notation::{BinaryFn, Monoid, Operator};

/// An operator that a random program declares.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The operator.
    pub operator: Operator,
    /// True if a small difference in an operand can make a large one in the result.
    pub jumps: bool,
}

/// Bodies that do not jump, with properties that hold for all types.
const SMOOTH: [(usize, &str, &str); 8] = [
    (1, "2 * a", ""),
    (1, "max(a, 0)", ""),
    (1, "a * a + 1", ""),
    (2, "a * b", "annihilator 0, commutative"),
    (2, "a + b", "identity 0, commutative, associative"),
    (2, "a + b + a * b", "identity 0, commutative, associative"),
    (2, "max(a, b) - min(a, b)", "commutative"),
    (3, "a * b + c", ""),
];
/// Bodies that jump.
const JUMPING: [(usize, &str, &str); 4] = [
    (1, "select(a > 1, a, -a)", ""),
    (2, "select(a < b, a, 2 * b)", ""),
    (2, "a * (b != 0)", ""),
    (3, "select(a == b, c, a)", ""),
];
/// Bodies of regions: with the operands that they are for.
const REGIONS: [(&str, usize); 7] =
    [("a", 1), ("b", 2), ("2 * a", 1), ("a * b", 3), ("a + b", 3), ("b - a", 3), ("a + 1", 1)];

/// A random operator of this name.
pub fn operator(rng: &mut Rng, name: &str) -> Option<Made> {
    let (text, jumps) = match rng.u8(..10) {
        0..=3 => (of_body(rng.pick(&SMOOTH)?, name), false),
        4 | 5 => (of_body(rng.pick(&JUMPING)?, name), true),
        _ => (of_regions(rng, name)?, true),
    };
    let operator = declared(&text).ok()?.pop()?;
    Some(Made { operator, jumps })
}

fn of_body((count, body, properties): (usize, &str, &str), name: &str) -> String {
    let properties = if properties.is_empty() { String::new() } else { format!(" {{ {properties} }}") };
    format!("op {name}({}) = {body}{properties}", ["a", "b", "c"][..count].join(", "))
}

/// An operator with some regions; bodies have operands that are present, or absent ones.
fn of_regions(rng: &mut Rng, name: &str) -> Option<String> {
    let count = rng.usize(1..=3);
    let names = &["a", "b", "c"][..count];
    let mut regions = Vec::new();
    for region in 1..1usize << count {
        if rng.bool() {
            let present: Vec<&str> = (0..count).filter(|k| region >> k & 1 == 1).map(|k| names[k]).collect();
            let fitting: Vec<(&str, usize)> = REGIONS.into_iter().filter(|(_, used)| *used < 1 << count).collect();
            regions.push(format!("at ({}) {}", present.join(", "), rng.pick(&fitting)?.0));
        }
    }
    if rng.percent(15) {
        regions.push("at () 3".to_string());
    }
    if regions.is_empty() {
        regions.push(format!("at ({}) a", names.join(", ")));
    }
    Some(format!("op {name}({}) {{ {} }}", names.join(", "), regions.join(", ")))
}

/// The monoid of an operator, if it is one.
pub fn monoid(made: &Made) -> Option<Monoid> {
    Monoid::of(BinaryFn::User(made.operator))
}
