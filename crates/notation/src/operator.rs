//! Operators that a program declares: functions of a few operands, with a body and properties, or a body for each region.
//!
//! ```text
//! op joined(a, b) = a + b + a * b { identity 0, commutative, associative }    one body
//! op merged(a, b) { both a * b, left a, right b }                             a body for each region
//! ```
//!
//! The *regions* of an operator are the combinations of operands that are present: `both`, `left` alone, `right` alone, `neither`.
//! An operand is *present* where its value differs from its *rest*, the value that it has where no tensor in it has entries; an
//! operand without such a value is always present. A region without a body is left out: there, the value is that of `neither`, which
//! is 0 unless it has a body.
//!
//! Bodies are inlined where code is made, so that they cost the same as the expression written out; a kernel looks where the properties
//! and the regions say that there may be something. An [`Operator`] is a reference to a declaration that is kept until the program
//! ends, so that it can be copied: the same declaration is the same operator, and so is the same declaration for the same type of
//! operands.
//!
//! Paper: Henry et al., *Compilation of Sparse Array Programming Models* (OOPSLA 2021), §3 (properties) and §4 (regions, and those
//! that are left out).
//!
//! ```
//! use lacunar_notation::operator::{Declaration, Operator};
//! let declared = |text: &str| Operator::declare(Declaration::new("twice", &["a"], text));
//! let twice = declared("op twice(a) = 2 * a");
//! assert_eq!(twice, declared("op twice(a) = 2 * a"));
//! assert_eq!((twice.name(), twice.arity(), twice.is_monoid()), ("twice", 1, false));
//! ```

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, PoisonError, RwLock};

use lacunar_formats::{DType, External, Scalar};

use crate::index::{Expr, ExprKind, Literal};
use crate::ops::BinaryFn;

/// An operator, as it is declared, or for one type of operands.
#[derive(Clone, Copy)]
pub struct Operator(&'static Known);

struct Known {
    declaration: Declaration,
    /// The sign of an assignment that combines by it.
    sign: String,
    /// The operator as it is declared.
    base: Option<Operator>,
    typed: Option<Typed>,
}

/// The text of an operator, and its meaning.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// The names of its operands.
    pub params: Vec<String>,
    /// The line that declares it, in the spelling in which it is printed.
    pub text: String,
    /// The properties.
    pub properties: Properties,
    /// True if it has a body for each region.
    pub has_regions: bool,
    /// The operators that its bodies call.
    pub uses: Vec<Operator>,
    /// The nodes of its bodies, those of the operators that they call among them.
    pub size: usize,
    /// The number of operators that are called inside of each other, this one among them.
    pub depth: usize,
}

/// The properties that a declaration claims.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Properties {
    /// The value that leaves the other operand as it is.
    pub identity: Option<Literal>,
    /// The value that makes the result this value, whatever the other operands.
    pub annihilator: Option<Literal>,
    /// True if operands may be exchanged.
    pub commutative: bool,
    /// True if three values may be combined in either order.
    pub associative: bool,
    /// True if a value with itself is itself.
    pub idempotent: bool,
}

/// An operator for operands of one type.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The type of the operands.
    pub operand: DType,
    /// The type of the result.
    pub result: DType,
    /// The bodies. An access of order 0 of the tensor with the number `k` is operand `k`.
    pub bodies: Bodies,
    /// The value that leaves the other operand as it is.
    pub identity: Option<Scalar>,
    /// The value that makes the result this value, as an operand.
    pub annihilator: Option<Scalar>,
    /// With regions, for each operand: the value at which it is not present. Empty before tensors are known.
    pub rests: Vec<Option<Scalar>>,
}

impl Typed {
    /// The built-in minimum or maximum that the operator is: by its body, and by its identity.
    pub fn extremum(&self) -> Option<BinaryFn> {
        let Bodies::One(Expr { kind: ExprKind::Binary(function, left, right), dtype, .. }) = &self.bodies else {
            return None;
        };
        let operand = |expr: &Expr| match &expr.kind {
            ExprKind::Access(access) if access.vars.is_empty() && expr.dtype == self.operand => {
                Some(access.tensor.index())
            }
            _ => None,
        };
        let is_of_both = matches!((operand(left), operand(right)), (Some(0), Some(1)) | (Some(1), Some(0)));
        let is_same = [*dtype, self.result].iter().all(|own| *own == self.operand);
        let is_identity = self.identity.is_some() && self.identity == function.identities(self.operand)[0];
        let is_extremum = matches!(function, BinaryFn::Min | BinaryFn::Max);
        (is_extremum && is_of_both && is_same && is_identity).then_some(*function)
    }
}

/// The expressions of an operator.
#[derive(Clone, Debug)]
pub enum Bodies {
    /// One for all regions.
    One(Expr),
    /// One for each region that is not left out. The place of a region is the number whose bit `k` says that operand `k` is present.
    Regions(Vec<Option<Expr>>),
    /// None: a function of other code gives the value.
    External(External),
}

/// All operators, by the text that tells one from another.
static KNOWN: LazyLock<RwLock<HashMap<String, Operator>>> = LazyLock::new(RwLock::default);

impl Declaration {
    /// The most operands.
    pub const MOST_PARAMS: usize = 6;
    /// The most nodes of all bodies.
    pub const MOST_NODES: usize = 1000;
    /// The most operators that are called inside of each other.
    pub const MOST_DEPTH: usize = 16;

    /// A declaration without properties.
    pub fn new(name: &str, params: &[&str], text: &str) -> Declaration {
        let params = params.iter().map(|param| (*param).to_string()).collect();
        let (name, text) = (name.to_string(), text.to_string());
        Declaration {
            name,
            params,
            text,
            properties: Properties::default(),
            has_regions: false,
            uses: Vec::new(),
            size: 1,
            depth: 1,
        }
    }

    /// The text with those of the operators that it calls.
    fn whole_text(&self) -> String {
        let mut used = Vec::new();
        self.uses.iter().for_each(|operator| operator.collect(&mut used));
        let texts = used.iter().map(|operator| operator.declaration().text.as_str());
        texts.chain([self.text.as_str()]).collect::<Vec<_>>().join("\n")
    }
}

impl Operator {
    /// The operator that is declared so.
    pub fn declare(declaration: Declaration) -> Operator {
        interned(declaration.whole_text(), || Known {
            sign: format!("{}=", declaration.name),
            declaration,
            base: None,
            typed: None,
        })
    }

    /// The operator for operands of the type in `typed`.
    pub fn with_types(self, typed: Typed) -> Operator {
        let base = self.base();
        interned(key(base, typed.operand, &typed.rests), || Known {
            sign: base.0.sign.clone(),
            declaration: base.0.declaration.clone(),
            base: Some(base),
            typed: Some(typed),
        })
    }

    /// The operator for operands of a type, if it was made before.
    pub fn for_type(self, operand: DType) -> Option<Operator> {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&key(self.base(), operand, &[])).copied()
    }

    /// The operator for operands that rest at these values.
    pub fn with_rests(self, rests: Vec<Option<Scalar>>) -> Operator {
        match &self.0.typed {
            Some(typed) => self.with_types(Typed { rests, ..typed.clone() }),
            None => self,
        }
    }

    /// The operator as it is declared, for any type.
    pub fn base(self) -> Operator {
        self.0.base.unwrap_or(self)
    }

    /// Its declaration.
    pub fn declaration(self) -> &'static Declaration {
        &self.0.declaration
    }

    /// Its types, bodies and values for its type of operands; `None` of one as it is declared.
    pub fn typed(self) -> Option<&'static Typed> {
        self.0.typed.as_ref()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.0.declaration.name
    }

    /// The sign of an assignment that combines by it.
    pub fn sign(self) -> &'static str {
        &self.0.sign
    }

    /// The number of its operands.
    pub fn arity(self) -> usize {
        self.0.declaration.params.len()
    }

    /// True if reductions can combine by it.
    pub fn is_monoid(self) -> bool {
        let Properties { identity, commutative, associative, .. } = self.0.declaration.properties;
        self.arity() == 2 && identity.is_some() && commutative && associative
    }

    /// The regions, other than that in which nothing is present, that have a body, as sets of operands; `None` if there is one body.
    pub fn regions(self) -> Option<Vec<usize>> {
        match &self.typed()?.bodies {
            Bodies::One(_) | Bodies::External(_) => None,
            Bodies::Regions(bodies) => Some((1..bodies.len()).filter(|region| bodies[*region].is_some()).collect()),
        }
    }

    /// True if a region in which something is present is left out.
    pub fn omits(self) -> bool {
        self.regions().is_some_and(|regions| regions.len() + 1 < 1 << self.arity())
    }

    /// Adds the operators that its bodies call, and itself, behind them, each once.
    pub fn collect(self, found: &mut Vec<Operator>) {
        let base = self.base();
        if !found.contains(&base) {
            base.declaration().uses.iter().for_each(|used| used.collect(found));
            found.push(base);
        }
    }
}

/// The operator of a key, which is made if it is not there.
fn interned(key: String, make: impl FnOnce() -> Known) -> Operator {
    // The lock is held from the first look on, so that the second of two threads with one declaration finds the operator that the first has
    // made.
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    *known.entry(key).or_insert_with(|| Operator(Box::leak(Box::new(make()))))
}

/// The key of an operator for a type. No line of a declaration begins like it.
fn key(base: Operator, operand: DType, rests: &[Option<Scalar>]) -> String {
    let rests: Vec<String> =
        rests.iter().map(|rest| rest.map_or("-".to_string(), |rest| format!("{rest:?}"))).collect();
    format!("{operand} {} {}", rests.join(" "), base.0.declaration.whole_text())
}

impl PartialEq for Operator {
    fn eq(&self, other: &Operator) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Operator {}

impl Hash for Operator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
