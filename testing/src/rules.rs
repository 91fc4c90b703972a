//! The meaning of a program of rules, by enumeration: every rule is evaluated at every point, as the rules are written.
//!
//! Nothing here is shared with the translation into statements, which it is to judge: sets are sets of points, and a product is summed
//! over all values that its variables can have. A file of rules names its trials in comments, and the type of its inputs, if that is not `f64`:
//!
//! ```text
//! # type: i64
//! # try: n=4 m=3
//! # try: n=5 m=2
//! symbols: n, m
//! ```

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use lacunar_formats::DType;
use lacunar_front::stur::{Access, Factor, Index, Part, Program, Rule, Term};
use lacunar_sets::{Comparison, Expression, Formula};

/// Variables that are no index of an access have values between this and its negative.
const MOST: i64 = 64;

/// The numbers that symbols stand for.
pub type Symbols = BTreeMap<String, i64>;

/// A tensor: its size, and the elements that are not 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// The size of each dimension.
    pub dims: Vec<i64>,
    /// The elements.
    pub elements: BTreeMap<Vec<i64>, f64>,
}

/// The points of each part of each tensor, with their values: 1, or the coefficient of a redundancy map.
type Sets = BTreeMap<(String, Part), BTreeMap<Vec<i64>, f64>>;

/// The names of symbols and variables, and the values of the first of them.
struct Scope<'a> {
    names: Vec<&'a str>,
    values: Vec<i64>,
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Option<i64> {
        let place = self.names.iter().position(|known| *known == name)?;
        self.values.get(place).copied()
    }
}

/// One comparison, of values at places of a scope.
struct Test {
    comparison: Comparison,
    left: Value,
    right: Value,
    /// The number of values from which on it can be decided.
    known_at: usize,
}

/// An expression whose names are places of a scope.
enum Value {
    Number(i64),
    Place(usize),
    Sum(Box<Value>, Box<Value>, bool),
    Product(Box<Value>, Box<Value>),
    Quotient(Box<Value>, i64),
    Remainder(Box<Value>, i64),
}

/// A random program, with two choices of symbols. Every variable has a range: by an access, or by a comparison. Rules may read the results of
/// those before them.
pub fn random(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = "# try: n=4 m=2\n# try: n=3 m=5\nsymbols: n, m\n".to_string();
    if let Some(dtype) = random.choice([None, None, Some("f32"), Some("i64")]).flatten() {
        text = format!("# type: {dtype}\n{text}");
    }
    for (name, sizes) in TENSORS {
        text += &format!("{name}:D({}) := {}\n", names(sizes.len()), bounds(sizes));
    }
    for (name, sizes) in [SETS, MAP] {
        text += &format!("{name}:D({}) := {}\n", names(sizes.len()), bounds(sizes));
    }
    for (name, sizes) in TENSORS {
        if random.u8(0..3) == 0 {
            text += &structure(&mut random, name, sizes);
        }
    }
    let terms: Vec<String> = (0..random.usize(1..4)).map(|_| part(&mut random, &bounds(SETS.1))).collect();
    text += &format!("{}:U({}) := {}\n", SETS.0, names(SETS.1.len()), terms.join(" + "));
    text += random.choice(MAPS).copied().unwrap_or_default();
    let mut read: Vec<(String, &[&str])> = TENSORS.iter().map(|(name, sizes)| ((*name).to_string(), *sizes)).collect();
    for result in 0..random.usize(1..4) {
        let sizes = random.choice([&["n"][..], &["n", "m"], &["m", "n"], &["n + m"], &[]]).unwrap_or_default();
        text += &format!("R{result}:D({}) := {}\n", names(sizes.len()), bounds(sizes));
        let terms: Vec<String> = (0..random.usize(1..4)).map(|_| term(&mut random, sizes, &read)).collect();
        text += &format!("R{result}({}) := {}\n", names(sizes.len()), terms.join(" + "));
        read.push((format!("R{result}"), sizes));
    }
    text
}

/// The inputs of random programs.
const TENSORS: &[(&str, &[&str])] =
    &[("A", &["n", "m"]), ("B", &["m", "n"]), ("Q", &["n", "n"]), ("u", &["n"]), ("v", &["m"]), ("w", &["n + m"])];

/// Structures of vectors of size `N`, of matrices of size `N` x `M`, and of square ones: rules for the unique elements, and for those that
/// follow from them.
const OF_VECTORS: &[&str] = &[
    "T:U(i) := (i = 2*k) * (0 <= i < N)\n",
    "T:U(i) := (i = 1)\n",
    "T:U(i) := (0 <= i) * (2*i < N)\nT:R(i, ip) := (2*i >= N) * (i < N) * (ip = N - 1 - i)\n",
    "T:U(i) := (0 <= i < 2)\nT:R(i, ip) := -2 * (2 <= i < N) * (ip = i % 2)\n",
];
const OF_MATRICES: &[&str] = &[
    "T:U(i, j) := (0 <= j <= i < N) * (j < M)\n",
    "T:U(i, j) := (0 <= i < N) * (0 <= j < M) * (i - 1 <= j <= i + 1)\n",
    "T:U(i, j) := (0 <= i < N) * (0 <= j < M) * ((i + j) % 2 = 0)\n",
    "T:U(i, j) := (0 <= i < N) * (j = 1) + (i = 0) * (0 <= j < M) * (j != 1)\n",
    "T:U(i, j) := (i = 1) * (j = 0)\n",
    "T:U(i, j) := (0 <= i < N) * (j = 0)\nT:R(i, j, ip, jp) := (0 <= i < N) * (0 < j < M) * (ip = i) * (jp = 0)\n",
    "T:U(i, j) := (0 <= i < N) * (0 <= j < 2)\nT:R(i, j, ip, jp) := -2 * (0 <= i < N) * (2 <= j < M) * (ip = i) * (jp = j % 2)\n",
    "T:U(i, j) := (i = 0) * (0 <= j < M) + (j = 0) * (0 < i < N)\nT:R(i, j, ip, jp) := (0 < i < N) * (0 < j < M) * (i <= j) * (ip = 0) * (jp = j - i) + (0 < i < N) * (0 < j < M) * (j < i) * (ip = i - j) * (jp = 0)\n",
];
const OF_SQUARES: &[&str] = &[
    "T:U(i, j) := (0 <= i <= j < N)\nT:R(i, j, ip, jp) := (0 <= j < i < N) * (ip = j) * (jp = i)\n",
    "T:U(i, j) := (0 <= i < j < N)\nT:R(i, j, ip, jp) := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)\n",
    "T:U(i, j) := (i = 0) * (0 <= j < N)\nT:R(i, j, ip, jp) := (0 < i < N) * (0 <= j < N) * (ip = 0) * (jp = (j - i) % N)\n",
    "T:U(i, j) := (0 <= i < N) * (0 <= j < N) * (i + j < N)\nT:R(i, j, ip, jp) := (0 <= i < N) * (0 <= j < N) * (i + j >= N) * (ip = N - 1 - j) * (jp = N - 1 - i)\n",
    "T:U(i, j) := (0 <= i = j < N)\n",
];

/// A tensor of which sets alone are read.
const SETS: (&str, &[&str]) = ("S", &["n", "m"]);

/// A tensor of which a redundancy map is read.
const MAP: (&str, &[&str]) = ("M", &["n", "n"]);

/// Redundancy maps.
const MAPS: &[&str] = &[
    "M:R(i, j, ip, jp) := (0 <= i < j < n) * (ip = j) * (jp = i)\n",
    "M:R(i, j, ip, jp) := -1 * (0 <= j < i < n) * (ip = j) * (jp = i) + 2 * (0 <= i < n - 1) * (i = j) * (ip = n - 1) * (jp = ip)\n",
    "M:R(i, j, ip, jp) := (0 <= i < n) * (j = 2*k) * (0 < k) * (j < n) * (ip = i) * (jp = 0) + (0 <= i < n) * (j = 1) * (ip = i) * (jp = 0)\n",
    "M:R(i, j, ip, jp) := (0 <= i < n) * (2 <= j < n) * (ip = i) * (jp = j % 2)\n",
];

/// A structure of an input.
fn structure(random: &mut fastrand::Rng, name: &str, sizes: &[&str]) -> String {
    let kinds = match sizes {
        [_] => [OF_VECTORS, &[]],
        [rows, columns] if rows == columns => [OF_MATRICES, OF_SQUARES],
        _ => [OF_MATRICES, &[]],
    };
    let rules = random.choice(kinds.concat()).unwrap_or_default();
    let whole = |size: &&str| if size.contains(' ') { format!("({size})") } else { (*size).to_string() };
    let size = |dim: usize| sizes.get(dim).map(whole).unwrap_or_default();
    rules.replace("T:", &format!("{name}:")).replace('N', &size(0)).replace('M', &size(1))
}

/// Comparisons that bound a variable.
const RANGES: &[&str] = &["(-3 <= {} <= 4)", "(0 <= {} < 2*m)", "(-1 <= ({} - 1) / 2 <= m - {})", "({} * {} <= n)"];

/// A term of a set.
fn part(random: &mut fastrand::Rng, bounds: &str) -> String {
    let parts =
        ["(i <= j)", "(i = 2*k)", "(i + j = 3*k)", "(i != j)", "(j = 1)", "(i = k) * (k <= j + 1)", "(i <= 2*j)"];
    format!("{} * {bounds}", random.choice(parts).unwrap_or("(i = 0)"))
}

fn names(order: usize) -> String {
    ["i", "j"].get(..order).unwrap_or_default().join(", ")
}

/// The dimensions of a tensor; of one without any, something that holds.
fn bounds(sizes: &[&str]) -> String {
    let bound = |(name, size): (&str, &&str)| format!("(0 <= {name} < {size})");
    let bounds: Vec<String> = ["i", "j"].into_iter().zip(sizes).map(bound).collect();
    if bounds.is_empty() { "(0 <= 0)".to_string() } else { bounds.join(" * ") }
}

/// A term of a rule for a tensor of some sizes, of tensors that may be read.
fn term(random: &mut fastrand::Rng, sizes: &[&str], tensors: &[(String, &[&str])]) -> String {
    let head = ["i", "j"].get(..sizes.len()).unwrap_or_default();
    let mut used: Vec<&str> = Vec::new();
    let mut factors = Vec::new();
    for _ in 0..random.usize(0..3) {
        let Some((name, sizes)) = random.choice(tensors) else { continue };
        let index = |random: &mut fastrand::Rng| random.choice(["i", "j", "k", "l", "k", "i", "0", "1"]).unwrap_or("0");
        let indices: Vec<&str> = sizes.iter().map(|_| index(random)).collect();
        used.extend(indices.iter().filter(|index| !index.starts_with(char::is_numeric)));
        // A result that is 0 but for rounding has no inverse, or a large one.
        let is_input = TENSORS.iter().any(|(input, _)| input == name);
        let inverse = if is_input && random.u8(0..8) == 0 { "^-1" } else { "" };
        factors.push(format!("{name}{inverse}({})", indices.join(", ")));
    }
    if random.u8(0..4) == 0 {
        let (name, part, order) = random.choice([("S", "U", 2), ("S", "D", 2), ("M", "R", 4)]).unwrap_or(("S", "U", 2));
        let index = |random: &mut fastrand::Rng| random.choice(["i", "j", "k", "l", "0", "1"]).unwrap_or("0");
        let indices: Vec<&str> = (0..order).map(|_| index(random)).collect();
        factors.push(format!("{name}:{part}({})", indices.join(", ")));
    }
    if random.u8(0..3) == 0 || factors.is_empty() {
        factors.push((*random.choice(&["2", "-1", "0.5", "4^-1"]).unwrap_or(&"3")).to_string());
    }
    let mut known: Vec<&str> = used.iter().copied().chain(head.iter().copied()).collect();
    let own = known.clone();
    for name in ["d", "e"] {
        if random.u8(0..4) == 0 && !own.is_empty() {
            factors.push(match random.u8(0..3) {
                0 => random.choice(RANGES).unwrap_or(&"({} = 0)").replace("{}", name),
                _ => format!("({name} = {})", expression(random, &own)),
            });
            known.push(name);
        }
    }
    for _ in 0..random.usize(0..4) {
        let sign = random.choice(["<=", "<", "=", "=", ">=", ">", "!="]).unwrap_or("=");
        let (left, right) = (expression(random, &known), expression(random, &known));
        factors.push(format!("({left} {sign} {right})"));
    }
    for name in head.iter().chain(&["k", "l", "i", "j"]) {
        let is_named = factors.iter().any(|factor| factor.contains(name));
        if head.contains(name) || (is_named && !used.contains(name)) {
            factors.push(format!("(0 <= {name} < n + m)"));
        }
    }
    random.shuffle(&mut factors);
    factors.join(" * ")
}

/// A sum, quotient or product of names.
fn expression(random: &mut fastrand::Rng, names: &[&str]) -> String {
    let name = random.choice(names.iter().copied()).unwrap_or("1").to_string();
    let other = random.choice(names.iter().copied()).unwrap_or("n").to_string();
    match random.u8(0..14) {
        0 => format!("{name} / 2"),
        1 => format!("({name} - {other}) % 3"),
        2 => format!("{name} * {other}"),
        3 => format!("{name} + {other}"),
        4 => format!("{name} - {other} + 1"),
        5 => format!("2 * {name} + {other}"),
        6 => format!("n - 1 - {name}"),
        7 => format!("{name} % m"),
        8 => format!("m * {name}"),
        _ => name,
    }
}

/// The choices of symbols that a file says it is to be tried with.
pub fn tries(text: &str) -> Vec<Symbols> {
    let of = |line: &str| {
        let pairs = line.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.filter_map(|(name, value)| Some((name.to_string(), value.parse().ok()?))).collect()
    };
    text.lines().filter_map(|line| line.strip_prefix("# try:")).map(of).collect()
}

/// The type of the inputs of a file.
pub fn dtype(text: &str) -> DType {
    text.lines().find_map(|line| DType::parse(line.strip_prefix("# type:")?)).unwrap_or(DType::F64)
}

/// The sizes of all tensors that have rules for their dimensions.
pub fn sizes(program: &Program, symbols: &Symbols) -> BTreeMap<String, Vec<i64>> {
    let state = State { symbols, sets: sets(program, symbols), tensors: BTreeMap::new() };
    let dimensions = state.sets.iter().filter(|((_, part), _)| *part == Part::Dimensions);
    dimensions.map(|((name, _), points)| (name.clone(), extent(program, name, points))).collect()
}

/// Values with the structure that a program says a tensor has: the unique elements of these, and all that follow from them.
pub fn structured(program: &Program, symbols: &Symbols, name: &str, values: &Values) -> Values {
    let sets = sets(program, symbols);
    let part = |part| sets.get(&(name.to_string(), part));
    let Some(unique) = part(Part::Unique) else { return values.clone() };
    let mut elements = values.elements.clone();
    elements.retain(|point, _| unique.contains_key(point));
    for (point, coefficient) in part(Part::Redundant).into_iter().flatten() {
        let (own, source) = point.split_at(values.dims.len());
        if let Some(value) = elements.get(source).filter(|_| unique.contains_key(source)) {
            elements.insert(own.to_vec(), coefficient * value);
        }
    }
    Values { dims: values.dims.clone(), elements }
}

/// The values of all tensors that rules assign, from those of the inputs.
pub fn evaluate(program: &Program, symbols: &Symbols, inputs: &BTreeMap<String, Values>) -> BTreeMap<String, Values> {
    let mut state = State { symbols, sets: sets(program, symbols), tensors: inputs.clone() };
    let mut results = BTreeMap::new();
    for rule in program.rules.iter().filter(|rule| rule.head.part == Part::Values) {
        let mut elements: BTreeMap<Vec<i64>, f64> = BTreeMap::new();
        for term in flat(&rule.terms) {
            state.points(&term, &mut |scope, value| {
                *elements.entry(state.at(&rule.head, scope)).or_insert(0.0) += value;
            });
        }
        let name = rule.head.tensor.clone();
        if let Some(points) = state.sets.get(&(name.clone(), Part::Dimensions)) {
            elements.retain(|point, _| points.contains_key(point));
        }
        let dims = state.sets.get(&(name.clone(), Part::Dimensions)).map(|points| extent(program, &name, points));
        let values = Values { dims: dims.unwrap_or_default(), elements };
        state.tensors.insert(name.clone(), values.clone());
        results.insert(name, values);
    }
    results
}

/// The size of the smallest box from 0 on around some points.
fn extent(program: &Program, name: &str, points: &BTreeMap<Vec<i64>, f64>) -> Vec<i64> {
    let is_head = |rule: &&Rule| rule.head.tensor == name;
    let order = program.rules.iter().find(is_head).map_or(0, |rule| rule.head.indices.len());
    (0..order).map(|dim| points.keys().filter_map(|point| point.get(dim)).max().map_or(0, |last| last + 1)).collect()
}

/// The points of all rules for sets and maps.
fn sets(program: &Program, symbols: &Symbols) -> Sets {
    let mut state = State { symbols, sets: Sets::new(), tensors: BTreeMap::new() };
    for rule in &program.rules {
        if rule.head.part != Part::Values {
            let mut points = BTreeMap::new();
            for term in flat(&rule.terms) {
                state.points(&term, &mut |scope, value| {
                    if value != 0.0 {
                        let value = if rule.head.part == Part::Redundant { value } else { 1.0 };
                        points.insert(state.at(&rule.head, scope), value);
                    }
                });
            }
            points.retain(|point, _| point.iter().all(|at| *at >= 0));
            state.sets.insert((rule.head.tensor.clone(), rule.head.part), points);
        }
    }
    state.sets
}

struct State<'a> {
    symbols: &'a Symbols,
    sets: Sets,
    tensors: BTreeMap<String, Values>,
}

impl State<'_> {
    /// Calls `visit` with each choice of the variables of a term at which no comparison fails, and the product there.
    fn points(&self, term: &Term, visit: &mut dyn FnMut(&Scope<'_>, f64)) {
        let mut names: Vec<(&str, RangeInclusive<i64>)> = Vec::new();
        let accesses = term.factors.iter().filter_map(|factor| match factor {
            Factor::Access(access) => Some(access),
            _ => None,
        });
        for access in accesses {
            let set = self.sets.get(&(access.tensor.clone(), access.part)).filter(|_| access.part != Part::Values);
            let dims = self.tensors.get(&access.tensor).map(|values| values.dims.clone());
            for (place, index) in access.indices.iter().enumerate() {
                let Index::Name(name, _) = index else { continue };
                let is_open = !self.symbols.contains_key(name) && !names.iter().any(|(known, _)| known == name);
                if is_open {
                    // Outside of a set or map that is known, a factor is 0.
                    let last = |points: &BTreeMap<Vec<i64>, f64>| points.keys().map(|at| at[place]).max().unwrap_or(-1);
                    let size = dims.as_ref().and_then(|dims| dims.get(place).copied());
                    names.push((name, 0..=set.map_or(size.map_or(MOST, |size| size - 1), last)));
                }
            }
        }
        for (name, _) in comparisons(term).flat_map(Formula::names) {
            if !self.symbols.contains_key(name) && !names.iter().any(|(known, _)| *known == name) {
                names.push((name, -MOST..=MOST));
            }
        }
        let mut scope = Scope { names: Vec::new(), values: Vec::new() };
        for (name, value) in self.symbols {
            scope.names.push(name);
            scope.values.push(*value);
        }
        scope.names.extend(names.iter().map(|(name, _)| *name));
        let tests = tests(term, &scope.names);
        let ranges: Vec<_> = names.into_iter().map(|(_, range)| range).collect();
        if tests.iter().filter(|test| test.known_at <= scope.values.len()).all(|test| test.holds(&scope.values)) {
            self.choose(term, (&ranges, &tests), &mut scope, visit);
        }
    }

    /// Chooses the values of the variables that have none yet; the comparisons of those that have one hold.
    fn choose(
        &self,
        term: &Term,
        (ranges, tests): (&[RangeInclusive<i64>], &[Test]),
        scope: &mut Scope<'_>,
        visit: &mut dyn FnMut(&Scope<'_>, f64),
    ) {
        let Some((range, rest)) = ranges.split_first() else {
            return visit(scope, self.product(term, scope));
        };
        let known = scope.values.len() + 1;
        for value in range.clone() {
            scope.values.push(value);
            // A comparison fails as soon as its names are known.
            if tests.iter().filter(|test| test.known_at == known).all(|test| test.holds(&scope.values)) {
                self.choose(term, (rest, tests), scope, visit);
            }
            scope.values.pop();
        }
    }

    fn product(&self, term: &Term, scope: &Scope<'_>) -> f64 {
        let mut product = 1.0;
        for factor in &term.factors {
            product *= match factor {
                // It holds, or there would be no product.
                Factor::Comparison { .. } => 1.0,
                Factor::Number { text, inverse, .. } => {
                    let number: f64 = text.parse().unwrap_or(f64::NAN);
                    if *inverse { 1.0 / number } else { number }
                }
                Factor::Access(access) => self.element(access, scope),
                // They are multiplied out.
                Factor::Sum(_) => f64::NAN,
            };
        }
        product
    }

    fn element(&self, access: &Access, scope: &Scope<'_>) -> f64 {
        let point = self.at(access, scope);
        let set = |part| self.sets.get(&(access.tensor.clone(), part));
        if access.part != Part::Values {
            return set(access.part).and_then(|points| points.get(&point)).copied().unwrap_or(0.0);
        }
        let is_inside = set(Part::Dimensions).is_none_or(|points| points.contains_key(&point));
        let values = self.tensors.get(&access.tensor).and_then(|values| values.elements.get(&point));
        match values.copied().filter(|_| is_inside) {
            Some(value) if access.inverse && value != 0.0 => 1.0 / value,
            Some(value) => value,
            None => 0.0,
        }
    }

    fn at(&self, access: &Access, scope: &Scope<'_>) -> Vec<i64> {
        let value = |index: &Index| match index {
            Index::Name(name, _) => scope.get(name).unwrap_or(i64::MIN),
            Index::Number(value, _) => *value,
        };
        access.indices.iter().map(value).collect()
    }
}

/// Terms with the sums in them multiplied out.
fn flat(terms: &[Term]) -> Vec<Term> {
    let mut found = Vec::new();
    for term in terms {
        let mut products = vec![Vec::new()];
        for factor in &term.factors {
            let choices: Vec<Vec<Factor>> = match factor {
                Factor::Sum(inner) => flat(inner).into_iter().map(|term| term.factors).collect(),
                other => vec![vec![other.clone()]],
            };
            let with = |product: &Vec<Factor>| {
                choices.iter().map(|choice| [product.as_slice(), choice].concat()).collect::<Vec<_>>()
            };
            products = products.iter().flat_map(with).collect();
        }
        found.extend(products.into_iter().map(|factors| Term { factors, span: term.span }));
    }
    found
}

fn comparisons(term: &Term) -> impl Iterator<Item = &Formula> {
    term.factors.iter().filter_map(|factor| match factor {
        Factor::Comparison { condition, .. } => Some(condition),
        _ => None,
    })
}

/// The comparisons of a term, each chain in its links.
fn tests(term: &Term, names: &[&str]) -> Vec<Test> {
    let mut found = Vec::new();
    for condition in comparisons(term) {
        let Formula::Chain(first, rest) = condition else { continue };
        let mut left = first;
        for (comparison, right) in rest {
            let places = left.names().into_iter().chain(right.names()).filter_map(|(name, _)| place(name, names));
            let known_at = places.max().map_or(0, |last| last + 1);
            let (of_left, of_right) = (Value::of(left, names), Value::of(right, names));
            found.push(Test { comparison: *comparison, left: of_left, right: of_right, known_at });
            left = right;
        }
    }
    found
}

fn place(name: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|known| *known == name)
}

impl Test {
    fn holds(&self, values: &[i64]) -> bool {
        let (a, b) = (self.left.at(values), self.right.at(values));
        match self.comparison {
            Comparison::AtMost => a <= b,
            Comparison::Less => a < b,
            Comparison::Equal => a == b,
            Comparison::Unequal => a != b,
            Comparison::AtLeast => a >= b,
            Comparison::Greater => a > b,
        }
    }
}

impl Value {
    fn of(expression: &Expression, names: &[&str]) -> Value {
        let inner = |expression: &Expression| Box::new(Value::of(expression, names));
        match expression {
            Expression::Number(number, _) => Value::Number(*number),
            // All names of comparisons are in the scope.
            Expression::Name(name, _) => Value::Place(place(name, names).unwrap_or(usize::MAX)),
            Expression::Sum(a, b, is_sum) => Value::Sum(inner(a), inner(b), *is_sum),
            Expression::Product(a, b) => Value::Product(inner(a), inner(b)),
            Expression::Quotient(a, by, ..) => Value::Quotient(inner(a), *by),
            Expression::Remainder(a, by, _) => Value::Remainder(inner(a), *by),
        }
    }

    fn at(&self, values: &[i64]) -> i64 {
        match self {
            Value::Number(number) => *number,
            Value::Place(place) => values[*place],
            Value::Sum(a, b, true) => a.at(values) + b.at(values),
            Value::Sum(a, b, false) => a.at(values) - b.at(values),
            Value::Product(a, b) => a.at(values) * b.at(values),
            Value::Quotient(a, by) => a.at(values).div_euclid(*by),
            Value::Remainder(a, by) => a.at(values).rem_euclid(*by),
        }
    }
}
