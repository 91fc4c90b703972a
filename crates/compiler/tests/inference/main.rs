//! Inferred structures against values: random programs over tensors of random structures, evaluated by definition.
//!
//! An element outside of the inferred support has to be 0; one that follows from another has to be that times the coefficient; and
//! the other has to be unique. Values are small complex integers, so that every sum is exact. The tables in the other files of this
//! folder hold the expected structures.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

mod errata;
mod pairs;

use std::collections::BTreeMap;

use lacunar_base::day::today;
use lacunar_base::random::{Draw, SplitMix};
use lacunar_compiler::{reduction, structure::infer};
use lacunar_formats::DType;
use lacunar_front::{Declarations, check};
use lacunar_notation::structure::Named;
use lacunar_notation::{
    Assignment, BinaryFn, Expr, ExprKind, Indicator, Literal, Program, Structure, TensorId, UnaryFn, VarId,
};
use lacunar_sets::{Answer, Coefficient, Formula, Piece, Set, Space};

type Complex = (i128, i128);

/// A statement with structures and values of its inputs.
struct Case {
    program: Program,
    statement: Assignment,
    structures: BTreeMap<TensorId, Structure>,
    values: BTreeMap<TensorId, BTreeMap<Vec<i64>, Complex>>,
    sizes: BTreeMap<VarId, i64>,
}

impl Case {
    /// A program over matrices, with sizes of variables, and the structures of some tensors.
    fn new(
        text: &str,
        sizes: &[(&str, u64)],
        structure: impl Fn(&str, usize) -> Option<Structure>,
        seed: u64,
    ) -> Option<Case> {
        Case::typed(DType::C128, text, sizes, structure, seed)
    }

    fn typed(
        dtype: DType,
        text: &str,
        sizes: &[(&str, u64)],
        structure: impl Fn(&str, usize) -> Option<Structure>,
        seed: u64,
    ) -> Option<Case> {
        let used: Vec<String> = text.split(|c: char| !c.is_alphanumeric()).map(str::to_string).collect();
        let mut known = Declarations::new();
        for (var, size) in sizes.iter().filter(|(var, _)| used.iter().any(|word| word == var)) {
            known = known.size(*var, *size);
        }
        Case::declared(dtype, text, known, structure, seed)
    }

    fn declared(
        dtype: DType,
        text: &str,
        mut known: Declarations,
        structure: impl Fn(&str, usize) -> Option<Structure>,
        seed: u64,
    ) -> Option<Case> {
        let used: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        for tensor in ["A", "B", "S", "T", "v", "w", "c", "C"].iter().filter(|name| used.contains(*name)) {
            known = known.dtype(*tensor, dtype);
        }
        let mut program = check(text, &known).ok()?;
        let statement = reduction::make_explicit(&program.statements[0].clone(), &mut program.vars);
        let sizes = program.vars.iter().map(|(var, data)| Some((var, data.size? as i64))).collect::<Option<_>>()?;
        let mut random = SplitMix(seed);
        let (mut structures, mut values) = (BTreeMap::new(), BTreeMap::new());
        for (tensor, data) in program.tensors.iter().filter(|(tensor, _)| *tensor != statement.lhs.tensor) {
            let dims: Vec<i64> = data.dims.iter().map(|dim| dim.map(|dim| dim as i64)).collect::<Option<_>>()?;
            let known = structure(&data.name, dims.len());
            let params = known.as_ref().map(|known| params(known, &dims, 2)).unwrap_or_default();
            if known.as_ref().is_some_and(|known| known.context().contains(&params, &[]) != Some(true)) {
                return None;
            }
            let mut own: BTreeMap<Vec<i64>, Complex> = BTreeMap::new();
            for point in points(&dims) {
                let value = match dtype {
                    DType::C128 => (1 + random.below(9) as i128, random.below(9) as i128 - 4),
                    _ => (random.below(9) as i128 - 4, 0),
                };
                let element = known.as_ref().map_or(Some((point.clone(), Coefficient::ONE)), |known| {
                    known.element(&params, &point).expect("small numbers fit")
                });
                match element {
                    Some((target, _)) if target == point => {
                        own.insert(point, value);
                    }
                    _ => {}
                }
            }
            for point in points(&dims) {
                if let Some((target, coefficient)) =
                    known.as_ref().and_then(|known| known.element(&params, &point).flatten())
                    && target != point
                {
                    own.insert(point, scaled(own[&target], coefficient));
                }
            }
            // Each diagonal element of a Hermitian matrix may be any number: it is unique.
            values.insert(tensor, own);
            if let Some(known) = known {
                structures.insert(tensor, known);
            }
        }
        Some(Case { program, statement, structures, values, sizes })
    }

    fn value(&self, expr: &Expr, at: &mut BTreeMap<VarId, i64>) -> Complex {
        match &expr.kind {
            ExprKind::Literal(Literal::Int(value)) => (*value, 0),
            ExprKind::Literal(Literal::Float(value)) => (*value as i128, 0),
            ExprKind::Literal(_) => (0, 0),
            ExprKind::Access(access) => {
                let point: Vec<i64> = access.vars.iter().map(|var| at[var]).collect();
                let tensor = &self.program.tensors[access.tensor];
                let place: Vec<u64> = point.iter().map(|&at| at as u64).collect();
                match tensor.indicator.as_deref() {
                    Some(Indicator::Equation(equation)) => return (i128::from(equation.holds(&place)), 0),
                    Some(Indicator::Inequality(inequality)) => return (i128::from(inequality.holds(&place)), 0),
                    _ => {}
                }
                self.values[&access.tensor].get(&point).copied().unwrap_or((0, 0))
            }
            ExprKind::Unary(UnaryFn::Neg, inner) => {
                scaled(self.value(inner, at), Coefficient::new(-1, 1, false).unwrap())
            }
            ExprKind::Unary(UnaryFn::Conj, inner) => {
                scaled(self.value(inner, at), Coefficient::new(1, 1, true).unwrap())
            }
            ExprKind::Unary(UnaryFn::Prune, inner) | ExprKind::Cast(inner) => self.value(inner, at),
            ExprKind::Binary(function, a, b) => {
                let (a, b) = (self.value(a, at), self.value(b, at));
                match function {
                    BinaryFn::Add => (a.0 + b.0, a.1 + b.1),
                    BinaryFn::Sub => (a.0 - b.0, a.1 - b.1),
                    BinaryFn::Mul => (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0),
                    BinaryFn::Min => a.min(b),
                    BinaryFn::Max => a.max(b),
                    BinaryFn::Lt => (i128::from(a < b), 0),
                    BinaryFn::Ge => (i128::from(a >= b), 0),
                    other => panic!("{other:?} is not drawn"),
                }
            }
            ExprKind::Unary(function, inner) => {
                let (value, _) = self.value(inner, at);
                match function {
                    UnaryFn::Abs => (value.abs(), 0),
                    UnaryFn::Sign => (value.signum(), 0),
                    UnaryFn::Square => (value * value, 0),
                    other => panic!("{other:?} is not drawn"),
                }
            }
            ExprKind::Select(parts) => {
                let holds = self.value(&parts[0], at).0 != 0;
                self.value(&parts[if holds { 1 } else { 2 }], at)
            }
            ExprKind::Reduce(monoid, vars, term) => {
                let function = monoid.function();
                let dims: Vec<i64> = vars.iter().map(|var| self.sizes[var]).collect();
                let mut each = Vec::new();
                for point in points(&dims) {
                    vars.iter().zip(&point).for_each(|(var, value)| {
                        at.insert(*var, *value);
                    });
                    each.push(self.value(term, at));
                }
                let joined = each.into_iter().reduce(|a, b| match function {
                    BinaryFn::Add => (a.0 + b.0, a.1 + b.1),
                    BinaryFn::Min => a.min(b),
                    BinaryFn::Max => a.max(b),
                    other => panic!("{other:?} is not drawn"),
                });
                joined.unwrap_or((0, 0))
            }
            other => panic!("{other:?} is not drawn"),
        }
    }

    fn infer(&self) -> Option<Structure> {
        infer(&self.statement, &self.program.tensors, &self.program.vars, &self.structures)
    }

    /// The values of an inferred structure's parameters.
    fn params(&self, found: &Structure) -> Vec<i64> {
        let value = |name: &String| {
            let var =
                name.strip_prefix("n_").and_then(|name| self.program.vars.iter().find(|(_, var)| var.name == name));
            var.map_or(2, |(var, _)| self.sizes[&var])
        };
        found.space().params.iter().map(value).collect()
    }

    /// Holds the inferred structure against the values; the numbers of elements: all, of the support, redundant.
    fn judge(&self, label: &str) -> (usize, usize, usize) {
        let found = self.infer().expect("something is inferred");
        let params = self.params(&found);
        let vars = &self.statement.lhs.vars;
        let dims: Vec<i64> = vars.iter().map(|var| self.sizes[var]).collect();
        let at = |point: &[i64]| {
            let mut at: BTreeMap<VarId, i64> = vars.iter().copied().zip(point.iter().copied()).collect();
            self.value(&self.statement.rhs, &mut at)
        };
        let (mut all, mut supported, mut redundant) = (0, 0, 0);
        for point in points(&dims) {
            all += 1;
            let value = at(&point);
            match found.element(&params, &point).expect("small numbers fit") {
                None => assert_eq!(value, (0, 0), "{label}: {point:?} is not 0\n{found}"),
                Some((target, coefficient)) => {
                    supported += 1;
                    redundant += usize::from(target != point);
                    let unique = found.unique().contains(&params, &target);
                    assert_eq!(unique, Some(true), "{label}: {point:?} -> {target:?} is not unique\n{found}");
                    let both = target != point && found.unique().contains(&params, &point) == Some(true);
                    assert!(!both, "{label}: {point:?} is both\n{found}");
                    let expected = scaled(at(&target), coefficient);
                    assert_eq!(value, expected, "{label}: {point:?} -> {coefficient} {target:?}\n{found}");
                }
            }
        }
        (all, supported, redundant)
    }
}

fn scaled(value: Complex, by: Coefficient) -> Complex {
    assert_eq!(by.denominator(), 1);
    let factor = i128::from(by.numerator());
    (factor * value.0, if by.conjugate { -factor } else { factor } * value.1)
}

fn points(dims: &[i64]) -> impl Iterator<Item = Vec<i64>> + use<> {
    let dims = dims.to_vec();
    let count: i64 = dims.iter().product();
    (0..count).map(move |mut number| {
        let mut point: Vec<i64> = Vec::new();
        for dim in &dims {
            point.push(number % dim);
            number /= dim;
        }
        point
    })
}

fn params(structure: &Structure, dims: &[i64], other: i64) -> Vec<i64> {
    let others = structure.space().params.len() - dims.len();
    [dims, &vec![other; others]].concat()
}

fn named(name: &str, order: usize, arguments: &[i64]) -> Option<Structure> {
    Named::find(name)?.structure(order, arguments).ok()
}

/// A random structure of a tensor.
fn drawn_structure(random: &mut SplitMix, order: usize) -> Option<Structure> {
    if order == 0 || random.one_in(4) {
        return None;
    }
    if random.one_in(4) {
        let space = match order {
            1 => Space::new(["n", "p"], ["i"]),
            2 => Space::new(["m", "n", "p"], ["i", "j"]),
            _ => Space::new(["l", "m", "n", "p"], ["i", "j", "k"]),
        };
        let names: Vec<&str> = space.dims.iter().map(String::as_str).chain(["1", "p"]).collect();
        let mut part = || {
            let (a, b) = (random.pick(&names).unwrap_or("1"), random.pick(&names).unwrap_or("1"));
            let sign = random.pick(&["<=", "<", "=", "!="]).unwrap_or("=");
            format!("{a} {sign} {b}")
        };
        let (first, second) = (part(), part());
        let text = format!("{first} {} {second}", if first.len() % 2 == 0 { "and" } else { "or" });
        let set = Formula::parse(&text).unwrap().set(&space).unwrap();
        return Structure::of_support(&set, &Piece::universe(space.params.len(), 0)).ok();
    }
    let named = Named::ALL[random.below(Named::ALL.len() as u64) as usize];
    let arguments: Vec<i64> = match named.arguments.matches(',').count() + usize::from(!named.arguments.is_empty()) {
        0 => Vec::new(),
        _ if named.name == "onehot" => (0..order).map(|_| random.below(3) as i64).collect(),
        _ if named.name == "fixed" => vec![random.below(order as u64) as i64, random.below(3) as i64],
        count => (0..count).map(|_| 1 + random.below(2) as i64).collect(),
    };
    named.structure(order, &arguments).ok()
}

/// A random expression.
fn drawn(random: &mut SplitMix, depth: u32, real: bool) -> String {
    let var = |random: &mut SplitMix| random.pick(&["i", "j", "k", "l"]).unwrap_or("i");
    if depth == 0 || random.one_in(5) {
        let leaf = match random.below(9) {
            0 | 1 => format!("v({})", var(random)),
            2 => format!("w({})", var(random)),
            3 if random.one_in(2) => format!("T({},{},{})", var(random), var(random), var(random)),
            4 if random.one_in(3) => "c".to_string(),
            5 | 6 => format!("S({},{})", var(random), var(random)),
            7 => format!("B({},{})", var(random), var(random)),
            _ => format!("A({},{})", var(random), var(random)),
        };
        return if !real && random.one_in(6) { format!("conj({leaf})") } else { leaf };
    }
    let (a, b) = (drawn(random, depth - 1, real), drawn(random, depth - 1, real));
    if real && random.one_in(2) {
        return match random.below(7) {
            0 => format!("min({a}, {b})"),
            1 => format!("max({a}, {b})"),
            2 => format!("max({}, {a})", var(random)),
            3 => format!("abs({a})"),
            4 => format!("sign({a})"),
            5 => format!("select({a} < {b}, {a}, {b})"),
            _ => format!("square({a})"),
        };
    }
    match random.below(9) {
        0 | 1 => format!("({a} + {b})"),
        2 => format!("({a} - {b})"),
        3 => format!("-{a}"),
        4 => format!("sum({}, {a})", var(random)),
        _ => format!("{a} * {b}"),
    }
}

#[test]
fn random_programs() {
    let count: u64 = std::env::var("LACUNAR_RANDOM").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    let seed: u64 = std::env::var("LACUNAR_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(today);
    let (mut tried, mut smaller, mut redundant) = (0, 0, 0);
    for number in 0..count {
        let mut random = SplitMix(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let left = random.pick(&["C(i)", "C(i,j)", "C(i,j)", "C(i,j,k)", "C"]).unwrap_or("C");
        let depth = 1 + random.below(3) as u32;
        let real = random.one_in(3);
        let text = format!("{left} = {}", drawn(&mut random, depth, real));
        let size = 2 + random.below(2);
        let sizes = [("i", size), ("j", size), ("k", size), ("l", size)];
        let structures: BTreeMap<(String, usize), Option<Structure>> =
            [("A", 2), ("B", 2), ("S", 2), ("T", 3), ("v", 1), ("w", 1)]
                .into_iter()
                .map(|(name, order)| ((name.to_string(), order), drawn_structure(&mut random, order)))
                .collect();
        let of = |name: &str, order: usize| structures.get(&(name.to_string(), order)).cloned().flatten();
        let dtype = if real { DType::I64 } else { DType::C128 };
        let Some(case) = Case::typed(dtype, &text, &sizes, of, number) else { continue };
        let (all, supported, follows) = case.judge(&format!("{text} (seed {seed}, number {number})"));
        tried += 1;
        smaller += usize::from(supported < all);
        redundant += usize::from(follows > 0);
    }
    assert!(tried * 3 > count, "only {tried} of {count} programs are valid");
    assert!(
        smaller * 8 > tried as usize && redundant * 12 > tried as usize,
        "{tried}: {smaller} smaller, {redundant} redundant"
    );
}

/// A case: a program, structures of its inputs, and the name of the expected structure of its result.
type Found = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const FOUND: &[Found] = &[
    ("C(i,j) = A(j,i)", &[("A", "lower")], "upper"),
    ("C(i,j) = A(i,k) * B(k,j)", &[("A", "upper"), ("B", "upper")], "upper"),
    ("C(i,j) = A(i,k) * B(k,j)", &[("A", "diagonal"), ("B", "diagonal")], "diagonal"),
    ("C(i,j) = A(i,k) * B(k,j)", &[("A", "diagonal"), ("B", "symmetric")], "general"),
    ("C(i,j) = A(i,k) * B(k,j)", &[("A", "symmetric"), ("B", "symmetric")], "general"),
    ("C(i,j) = A(i,j) + B(i,j)", &[("A", "symmetric"), ("B", "diagonal")], "symmetric"),
    ("C(i,j) = A(i,j) + B(i,j)", &[("A", "skew"), ("B", "skew")], "skew"),
    ("C(i,j) = A(i,j) + B(i,j)", &[("A", "hermitian"), ("B", "hermitian")], "hermitian"),
    ("C(i,j) = A(i,j) * B(i,j)", &[("A", "symmetric"), ("B", "lower")], "lower"),
    ("C(i,j) = A(i,j) * B(i,j)", &[("A", "skew"), ("B", "symmetric")], "skew"),
    ("C(i,j) = -A(i,j)", &[("A", "skew")], "skew"),
    ("C(i,j) = conj(A(i,j))", &[("A", "hermitian")], "hermitian"),
    ("C(i,j) = c * A(i,j)", &[("A", "toeplitz")], "toeplitz"),
    ("C(i,j) = A(i,j) + B(i,j)", &[("A", "toeplitz"), ("B", "toeplitz")], "toeplitz"),
    ("C(i,j) = A(t,i) * A(t,j)", &[], "symmetric"),
    ("C(i,j) = conj(A(t,i)) * A(t,j)", &[], "hermitian"),
    ("C(i,j) = A(i,j) + A(j,i)", &[], "symmetric"),
    ("C(i,j) = A(i,j) - A(j,i)", &[], "skew"),
    ("C(i,j) = A(i,j) + conj(A(j,i))", &[], "hermitian"),
    ("C(i,j) = A(i,j) * A(j,i)", &[], "symmetric"),
    ("C(i,j) = v(i) * v(j)", &[], "symmetric"),
    ("C(i,j,k) = v(i) * v(j) * v(k)", &[], "symmetric"),
    ("C(i,j,k,l) = v(i) * v(j) * v(k) * v(l)", &[], "symmetric"),
    ("C(i,j,k) = A(t,i) * A(t,j) * A(t,k)", &[], "symmetric"),
    ("C(i,j,k) = w(t) * A(t,i) * A(t,j) * A(t,k)", &[], "symmetric"),
    ("C(i,j) = A(t,i) * w(t) * A(t,j)", &[], "symmetric"),
    ("C(i,j) = A(i,j) + c", &[("A", "symmetric")], "symmetric"),
    ("C(i,j) = A(i,j) + c", &[("A", "toeplitz")], "toeplitz"),
    ("C(i,j) = A(i,j) + c", &[("A", "lower")], "general"),
    ("C(i,j) = A(i,j) * v(k)", &[("A", "hankel")], "hankel"),
    ("C(i) = S(i,j) * v(j)", &[("S", "diagonal"), ("v", "constant")], "general"),
    ("C(i,j) = v(j)", &[], "identical_rows"),
    ("C(i,j) = v(i)", &[], "identical_columns"),
    ("C(i,j) = c", &[], "constant"),
    ("C(i,j) = 0 * A(i,j)", &[], "zero"),
    ("C(i,j) = A(i,j) + B(i,j)", &[("A", "lower"), ("B", "upper")], "general"),
    ("C(i,j) = A(i,j) * B(i,j)", &[("A", "lower"), ("B", "upper")], "diagonal"),
    ("C(i,j) = A(i,j) * B(i,j)", &[("A", "strictly_lower"), ("B", "upper")], "zero"),
    ("C(i,j) = A(i,j) * v(i) * v(j)", &[("A", "symmetric")], "symmetric"),
];

#[test]
fn what_is_to_be_found() {
    for (text, structures, expected) in FOUND {
        let sizes = [("i", 4), ("j", 4), ("k", 4), ("l", 4), ("t", 4)];
        let of = |name: &str, order: usize| {
            let found = structures.iter().find(|(other, _)| *other == name);
            found.and_then(|(_, structure)| named(structure, order, &[]))
        };
        let case = Case::new(text, &sizes, of, 7).unwrap_or_else(|| panic!("{text} is not valid"));
        case.judge(text);
        let found = case.infer().unwrap();
        let expected = named(expected, case.statement.lhs.vars.len(), &[]).unwrap();
        let params = case.params(&found);
        let dims: Vec<i64> = case.statement.lhs.vars.iter().map(|var| case.sizes[var]).collect();
        for point in points(&dims) {
            let (found_at, expected_at) = (found.element(&params, &point), expected.element(&dims, &point));
            assert_eq!(found_at, expected_at, "{text} at {point:?}: found\n{found}\nexpected\n{expected}");
        }
    }
}

#[test]
fn a_zero_is_present_in_a_pattern() {
    let text = "C(i,j) = A(i,j) * bool(pattern(0))";
    let case = Case::typed(DType::F64, text, &[("i", 3), ("j", 3)], |_, _| None, 1).unwrap();
    let found = case.infer().unwrap();
    assert_eq!(found.unique().contains(&case.params(&found), &[1, 2]), Some(true), "{found}");
}

#[test]
fn a_dividend_that_is_computed_is_not_absent() {
    for text in ["C(i,j) = 0 / A(i,j)", "C(i,j) = (B(i,j) - B(j,i)) / A(i,j)"] {
        let symmetric = |name: &str, order| (name == "B").then(|| named("symmetric", order, &[])).flatten();
        let case = Case::typed(DType::F64, text, &[("i", 3), ("j", 3)], symmetric, 1).unwrap();
        let found = case.infer().unwrap();
        assert_eq!(found.unique().contains(&case.params(&found), &[1, 1]), Some(true), "{text}: {found}");
    }
}

#[test]
fn supports_know_parameters() {
    let band = "[m, n, w] -> { [i, j] : i - w <= j <= i + w }".parse::<Set>().unwrap();
    let band = Structure::of_support(&band, &Piece::universe(3, 0)).unwrap();
    let sizes = [("i", 6), ("j", 6)];
    let case = Case::new("C(i,j) = A(j,i)", &sizes, |_, _| Some(band.clone()), 1).unwrap();
    let found = case.infer().unwrap();
    assert_eq!(found.space().params, ["n_i", "n_j", "w"]);
    let expected =
        "[m, n, w] -> { [i, j] : 0 <= i < m and 0 <= j < n and i - w <= j <= i + w }".parse::<Set>().unwrap();
    assert_eq!(found.unique().equals(&expected), Answer::Yes);
}
