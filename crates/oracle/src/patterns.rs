//! Comparisons of indices that are factors, which are patterns: where one does not hold, nothing is stored.
//!
//! ```text
//! A(i,j) * (j <= i)      absent above the diagonal, whatever A holds there
//! ```
//!
//! These are the comparisons of two sums of index variables, each times a number, other than `!=`.

use std::collections::BTreeMap;

use lacunar_notation::{BinaryFn, UnaryFn};

use crate::absence::Value;
use crate::scalar::Scalar;
use crate::sums::{Node, Term};

/// True if an operand of a function is such a comparison, perhaps converted.
pub fn is_pattern_of(function: BinaryFn, operand: &Term) -> bool {
    let is_product = matches!(function, BinaryFn::Mul | BinaryFn::And);
    is_product
        && match &operand.node {
            Node::Cast(a) => is_pattern_of(function, a),
            Node::Binary(compared, a, b) => is_pattern(*compared, a, b),
            _ => false,
        }
}

/// True if a function of two operands is such a comparison.
fn is_pattern(function: BinaryFn, a: &Term, b: &Term) -> bool {
    let compares = matches!(function, BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge | BinaryFn::Eq);
    let mut sum = BTreeMap::new();
    compares && add(a, 1, &mut sum) && add(b, -1, &mut sum) && sum.values().any(|factor| *factor != 0)
}

/// The value of a pattern: that of the comparison where it holds, and nothing elsewhere.
pub fn holding(value: Value) -> Value {
    if value.scalar().is_zero() { Value::Absent(value.scalar()) } else { value }
}

/// Adds the factors of variables in a sum; false if the term is none.
fn add(term: &Term, factor: i128, sum: &mut BTreeMap<usize, i128>) -> bool {
    match &term.node {
        Node::Constant(Some(Scalar::Int(_))) => true,
        Node::Index(var) => {
            *sum.entry(var.index()).or_insert(0) += factor;
            true
        }
        Node::Unary(UnaryFn::Neg, a) => add(a, -factor, sum),
        Node::Binary(BinaryFn::Add, a, b) => add(a, factor, sum) && add(b, factor, sum),
        Node::Binary(BinaryFn::Sub, a, b) => add(a, factor, sum) && add(b, -factor, sum),
        Node::Binary(BinaryFn::Mul, a, b) => match (number(a), number(b)) {
            (Some(number), _) => add(b, factor.saturating_mul(number), sum),
            (None, Some(number)) => add(a, factor.saturating_mul(number), sum),
            (None, None) => false,
        },
        _ => false,
    }
}

/// The number that a term is.
fn number(term: &Term) -> Option<i128> {
    match &term.node {
        Node::Constant(Some(Scalar::Int(value))) => Some(*value),
        Node::Unary(UnaryFn::Neg, a) => number(a)?.checked_neg(),
        _ => None,
    }
}
