//! Tests of the properties that a program declares of its operators.
//!
//! Each property is an equation, which is evaluated as the interpreter does, for every type of values on which the operator is defined.
//! The values are all of `bool`, `i8` and `u8`; for other types, 0, 1, -1, the extremes, infinities, NaN, and random values. Real
//! numbers are the same up to rounding, and equations in which numbers overflow on the way are not tested.
//!
//! ```text
//! identity e        f(e, a) = a = f(a, e)
//! annihilator z     f(z, a) = z = f(a, z)
//! commutative       f(a, b) = f(b, a)
//! associative       f(f(a, b), c) = f(a, f(b, c))
//! idempotent        f(a, a) = a
//! ```
//!
//! ```
//! let report = lacunar::check_algebra("op mean(a, b) = (a + b) / 2 { commutative }").unwrap();
//! assert!(report.violations.is_empty());
//! let report = lacunar::check_algebra("op minus(a, b) = a - b { associative }").unwrap();
//! assert_eq!(report.violations[0].property, "associative");
//! ```

use std::fmt;

use fastrand::Rng;
use lacunar_compiler::functions::{Constants, apply};
use lacunar_formats::{DType, Kind, Scalar};
use lacunar_front::einsum::operators::{declared, for_type};
use lacunar_imp::arith;
use lacunar_notation::Operator;

use crate::error::Error;

/// The types that values are computed in.
const TYPES: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];
/// The number of random pairs and triples that are tried.
const TRIED: usize = 4000;

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The operator.
    pub operator: String,
    /// The property.
    pub property: &'static str,
    /// The type of the operands.
    pub dtype: DType,
    /// Operands for which the equation does not hold, with the values of both sides.
    pub example: String,
}

/// The claims of a program's operators that were tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgebraReport {
    /// The number of properties that were tried, each on all types on which the operator is defined.
    pub properties: usize,
    /// The operators that claim something.
    pub operators: Vec<String>,
    /// The first violation of each property on each type.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { operator, property, dtype, example } = self;
        write!(f, "`{operator}` is declared with `{property}`, which does not hold on {dtype}: {example}")
    }
}

/// Tries the properties of all operators that a program declares.
///
/// # Errors
/// The mistakes in the declarations.
pub fn check_algebra(program: &str) -> Result<AlgebraReport, Error> {
    let operators = declared(program).map_err(|diagnostics| Error::program(program, diagnostics))?;
    let mut report = AlgebraReport::default();
    for operator in operators {
        let claims = claims(operator);
        report.properties += claims.len();
        if !claims.is_empty() {
            report.operators.push(operator.name().to_string());
        }
        for dtype in TYPES {
            // An operator that is not defined for a type claims nothing of it.
            let Ok(operator) = for_type(operator, dtype) else { continue };
            for &property in &claims {
                let subject = Subject::of_operator(operator, dtype);
                report.violations.extend(subject.and_then(|subject| subject.violation(property)));
            }
        }
    }
    Ok(report)
}

/// The properties that a declaration claims.
fn claims(operator: Operator) -> Vec<Property> {
    let claimed = operator.declaration().properties;
    let all = [
        (Property::Identity, claimed.identity.is_some()),
        (Property::Annihilator, claimed.annihilator.is_some()),
        (Property::Commutative, claimed.commutative),
        (Property::Associative, claimed.associative),
        (Property::Idempotent, claimed.idempotent),
    ];
    all.into_iter().filter(|(_, is_claimed)| *is_claimed).map(|(property, _)| property).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    Identity,
    Annihilator,
    Commutative,
    Associative,
    Idempotent,
}

/// An operator for a type, and the constants of its properties.
struct Subject {
    operator: Operator,
    dtype: DType,
    identity: Option<Scalar>,
    annihilator: Option<Scalar>,
}

/// A side of an equation, with the numbers that occurred on the way.
struct Side {
    text: String,
    value: Scalar,
    met: Vec<Scalar>,
    /// True if a number overflowed on the way.
    overflows: bool,
}

impl Side {
    fn given(value: Scalar) -> Side {
        Side { text: shown(value), value, met: vec![value], overflows: false }
    }
}

impl Subject {
    fn of_operator(operator: Operator, dtype: DType) -> Option<Subject> {
        let typed = operator.typed()?;
        Some(Subject { operator, dtype, identity: typed.identity, annihilator: typed.annihilator })
    }

    fn apply(&self, operands: &[Side]) -> Side {
        let values: Vec<Scalar> = operands.iter().map(|operand| operand.value).collect();
        let value = apply(&mut Constants, self.operator, &values, 0);
        let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
        let met = operands.iter().flat_map(|operand| &operand.met).copied().chain([value]).collect();
        let overflows = values.iter().all(|value| is_finite(*value)) && !is_finite(value);
        let overflows = overflows || operands.iter().any(|operand| operand.overflows);
        Side { text: format!("{}({})", self.operator.name(), texts.join(", ")), value, met, overflows }
    }

    /// An example for which a property does not hold.
    fn violation(&self, property: Property) -> Option<Violation> {
        let values = values(self.dtype);
        let pairs = || combinations(&values, self.dtype, 2);
        let of = |text: &'static str, example: String| {
            Some(Violation { operator: self.operator.name().to_string(), property: text, dtype: self.dtype, example })
        };
        let given = Side::given;
        let both = |a: Scalar, b: Scalar| self.apply(&[given(a), given(b)]);
        let compared = |args: &[Scalar], left: Side, right: Side| differ(args, &left, &right, self.dtype);
        match property {
            Property::Identity => {
                let e = self.identity?;
                let mut found = values.iter().flat_map(|&a| [(both(e, a), a), (both(a, e), a)]);
                found.find_map(|(side, a)| of("identity", compared(&[a], side, given(a))?))
            }
            Property::Annihilator => {
                let z = self.annihilator?;
                (0..self.operator.arity()).find_map(|place| {
                    combinations(&values, self.dtype, self.operator.arity() - 1).into_iter().find_map(|others| {
                        let mut operands: Vec<Side> = others.iter().map(|other| given(*other)).collect();
                        operands.insert(place, given(z));
                        let side = self.apply(&operands);
                        // An element that is not stored annihilates infinities and NaN, too; stored values follow IEEE arithmetic.
                        let are_finite = others.iter().all(|other| is_finite(*other));
                        let found = compared(&others, side, given(z)).filter(|_| are_finite)?;
                        of("annihilator", found)
                    })
                })
            }
            Property::Commutative => pairs().into_iter().find_map(|pair| {
                let [a, b] = pair[..] else { return None };
                of("commutative", compared(&pair, both(a, b), both(b, a))?)
            }),
            Property::Idempotent => {
                values.iter().find_map(|&a| of("idempotent", compared(&[a], both(a, a), given(a))?))
            }
            Property::Associative => {
                if let Some(table) = self.table(&values) {
                    return unassociated(&values, &table).and_then(|[a, b, c]| self.association([a, b, c]));
                }
                let triples = combinations(&values, self.dtype, 3);
                triples
                    .into_iter()
                    .find_map(|triple| <[Scalar; 3]>::try_from(triple).ok().and_then(|t| self.association(t)))
            }
        }
    }

    /// The violation, if three values give something else when they are combined otherwise.
    fn association(&self, [a, b, c]: [Scalar; 3]) -> Option<Violation> {
        let given = Side::given;
        let left = self.apply(&[self.apply(&[given(a), given(b)]), given(c)]);
        let right = self.apply(&[given(a), self.apply(&[given(b), given(c)])]);
        let example = differ(&[a, b, c], &left, &right, self.dtype)?;
        Some(Violation {
            operator: self.operator.name().to_string(),
            property: "associative",
            dtype: self.dtype,
            example,
        })
    }

    /// The places of the results of all pairs among all values of a small type.
    fn table(&self, values: &[Scalar]) -> Option<Vec<Vec<usize>>> {
        if self.dtype.size() > 1 {
            return None;
        }
        let place = |value: Scalar| values.iter().position(|known| *known == value);
        let mut table = Vec::with_capacity(values.len());
        for &a in values {
            let row = values.iter().map(|&b| place(apply(&mut Constants, self.operator, &[a, b], 0)));
            table.push(row.collect::<Option<Vec<usize>>>()?);
        }
        Some(table)
    }
}

/// Three values of a table that give something else when they are combined otherwise.
fn unassociated(values: &[Scalar], table: &[Vec<usize>]) -> Option<[Scalar; 3]> {
    let places = 0..values.len();
    for (a, b) in places.clone().flat_map(|a| places.clone().map(move |b| (a, b))) {
        let ab = table[a][b];
        if let Some(c) = places.clone().find(|&c| table[ab][c] != table[a][table[b][c]]) {
            return Some([values[a], values[b], values[c]]);
        }
    }
    None
}

/// The values of two sides, if they are not the same up to rounding; nothing is asked where numbers overflow.
fn differ(args: &[Scalar], left: &Side, right: &Side, dtype: DType) -> Option<String> {
    let met = || left.met.iter().chain(&right.met);
    let overflows = left.overflows || right.overflows;
    let scale = met().chain(args).filter(|a| is_finite(**a)).map(|a| size(*a)).fold(0.0, f64::max);
    if overflows || same(left.value, right.value, scale, dtype) {
        return None;
    }
    let values = [left, right].map(|side| shown(side.value));
    Some(format!("{} is {}, and {} is {}", left.text, values[0], right.text, values[1]))
}

/// A number as text, short if it is large.
fn shown(a: Scalar) -> String {
    if a.ty.is_real() && a.re().is_finite() && a.re().abs() >= 1e16 { format!("{:e}", a.re()) } else { a.to_string() }
}

fn same(a: Scalar, b: Scalar, scale: f64, dtype: DType) -> bool {
    if a == b || (is_nan(a) && is_nan(b)) {
        return true;
    }
    let rounding = if dtype.part() == DType::F32 { 1e-4 } else { 1e-10 };
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= rounding * scale;
    a.ty.is_float() && b.ty.is_float() && near(a.re(), b.re()) && (!a.ty.is_complex() || near(a.im(), b.im()))
}

fn is_nan(a: Scalar) -> bool {
    a.ty.is_float() && (a.re().is_nan() || (a.ty.is_complex() && a.im().is_nan()))
}

fn is_finite(a: Scalar) -> bool {
    !a.ty.is_float() || (a.re().is_finite() && (!a.ty.is_complex() || a.im().is_finite()))
}

fn size(a: Scalar) -> f64 {
    match a.ty.kind() {
        Kind::Complex => a.re().hypot(a.im()),
        Kind::Real => a.re().abs(),
        _ => 0.0,
    }
}

/// Values of a type: all of a small one, else its boundary.
fn values(dtype: DType) -> Vec<Scalar> {
    let real = |value: f64| Scalar::real(dtype, value);
    match dtype.kind() {
        Kind::Bool => vec![Scalar::bool(false), Scalar::bool(true)],
        Kind::Signed if dtype.size() == 1 => (-128..128).map(|value| Scalar::int(dtype, value)).collect(),
        Kind::Unsigned if dtype.size() == 1 => (0..256).map(|value| Scalar::int(dtype, value)).collect(),
        Kind::Signed => {
            let small = [0, 1, -1, 2, 3, -7, 100].map(|value| Scalar::int(dtype, value));
            small.into_iter().chain(Scalar::lowest(dtype)).chain(Scalar::highest(dtype)).collect()
        }
        Kind::Unsigned => {
            let small = [0, 1, 2, 3, 7, 100].map(|value| Scalar::int(dtype, value));
            small.into_iter().chain(Scalar::highest(dtype)).collect()
        }
        Kind::Real => {
            let greatest = if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
            let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let finite = [0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 100.0, greatest, -greatest];
            finite.into_iter().chain(infinite).map(real).collect()
        }
        Kind::Complex => [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (2.0, -3.0), (-0.5, 0.25)]
            .map(|(re, im)| Scalar::complex(dtype, re, im))
            .to_vec(),
    }
}

/// Combinations of so many values of a type: all, where there are few, and random ones.
fn combinations(values: &[Scalar], dtype: DType, count: usize) -> Vec<Vec<Scalar>> {
    let mut all: Vec<Vec<Scalar>> = vec![Vec::new()];
    for _ in 0..count {
        if all.len() * values.len() > 1 << 17 {
            break;
        }
        all = all.iter().flat_map(|some| values.iter().map(|value| [some.as_slice(), &[*value]].concat())).collect();
    }
    all.retain(|some| some.len() == count);
    let mut rng = Rng::with_seed(1);
    all.extend((0..TRIED).map(|_| (0..count).map(|_| random(&mut rng, dtype)).collect()));
    all
}

fn random(rng: &mut Rng, dtype: DType) -> Scalar {
    let mut number = || (rng.f64() - 0.5) * 200.0;
    match dtype.kind() {
        Kind::Complex => Scalar::complex(dtype, number(), number()),
        Kind::Real => Scalar::real(dtype, number()),
        Kind::Bool => Scalar::bool(rng.bool()),
        Kind::Signed | Kind::Unsigned => arith::wrap(dtype, (rng.i64(..) >> rng.u32(..60)) as u64),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use lacunar_base::day::is_turn;
    use lacunar_notation::{Function, Monoid};

    use super::*;

    fn violated(declaration: &str) -> Vec<(&'static str, DType)> {
        let report = check_algebra(declaration).unwrap();
        report.violations.iter().map(|violation| (violation.property, violation.dtype)).collect()
    }

    #[test]
    fn what_does_not_hold_is_found_with_an_example() {
        let subtraction = check_algebra("op minus(a, b) = a - b { associative }").unwrap();
        assert_eq!(subtraction.violations[0].dtype, DType::I8);
        let example = &subtraction.violations[0].example;
        assert!(example.contains("minus(minus(") && example.contains(" is "), "{example}");
        let mean = violated("op mean(a, b) = (a + b) / 2 { commutative, associative }");
        assert!(mean.contains(&("associative", DType::F64)) && !mean.iter().any(|(claim, _)| *claim == "commutative"));
        let max = violated("op most(a, b) = max(a, b) { identity 0, commutative, associative }");
        assert!(max.contains(&("identity", DType::F64)) && !max.contains(&("identity", DType::U8)), "{max:?}");
        assert!(violated("op odd(a, b) = xor(a, b) { idempotent }").contains(&("idempotent", DType::Bool)));
        assert!(violated("op scaled(a, b) = a * b { annihilator 1 }").contains(&("annihilator", DType::I32)));
    }

    #[test]
    fn what_holds_is_not_objected_to() {
        let all = [
            "op plus(a, b) = a + b { identity 0, commutative, associative }",
            "op times(a, b) = a * b { identity 1, annihilator 0, commutative, associative }",
            "op least(a, b) = min(a, b) { commutative, associative, idempotent }",
            "op first(a, b) = a { associative, idempotent }",
            "op norm(a, b) = sqrt(a * a + b * b) { commutative }",
        ];
        for (_, declaration) in all.into_iter().enumerate().filter(|(number, _)| is_turn(*number, 3)) {
            let report = check_algebra(declaration).unwrap();
            assert!(report.violations.is_empty() && report.properties > 0, "{:?}", report.violations);
        }
    }

    #[test]
    fn the_monoids_of_the_language_are_what_they_are_said_to_be() {
        let of_values = Monoid::all().filter(|monoid| monoid.compared().is_none());
        let pairs = of_values.flat_map(|monoid| TYPES.map(|dtype| (monoid, dtype))).enumerate();
        for (_, (monoid, dtype)) in pairs.filter(|(number, _)| is_turn(*number, 4)) {
            let Some(identity) = monoid.identity(dtype).filter(|_| monoid.is_defined(dtype) && !dtype.is_complex())
            else {
                continue;
            };
            let mut claims = vec![format!("identity {identity}"), "associative".to_string()];
            claims.extend(monoid.terminal(dtype).map(|terminal| format!("annihilator {terminal}")));
            // The choice of `any` among its operands is open.
            claims.extend((monoid.name() != "any").then(|| "commutative".to_string()));
            claims.extend(monoid.is_idempotent(dtype).then(|| "idempotent".to_string()));
            let call = Function::Binary(monoid.function()).name();
            let declaration = format!("op combined(a, b) = {call}(a, b) {{ {} }}", claims.join(", "));
            let operator = declared(&declaration).unwrap().pop().unwrap();
            let subject = Subject::of_operator(for_type(operator, dtype).unwrap(), dtype).unwrap();
            for property in super::claims(operator) {
                assert_eq!(subject.violation(property), None, "{declaration} on {dtype}");
            }
        }
    }
}
