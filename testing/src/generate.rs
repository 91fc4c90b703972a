//! Random programs: expressions, formats, types, sizes and data, each from a seed.
//!
//! Expressions have up to four operands of order 0 to 4 over up to five variables of size 0 to 6, seldom to 140; all operators and
//! functions, literals, explicit sums, repeated variables (`A(i,i)`), repeated and transposed operands, broadcasts,
//! `+=`, and second statements that read the first's result. Formats are any sequence of dense and compressed levels
//! and coordinate-list groups (`u`, `c`..., `q`), and of every other kind there is, in any order of modes, some with index arrays
//! of 64 bits; fill values other than 0. Most programs get a
//! schedule ([`crate::schedules`]); some are compiled strictly, without a search, or in two phases.
//!
//! Functions that jump (comparisons, `floor`, `mod`, ...) or amplify errors are only applied to inputs and their sums,
//! which are exact, so that rounding alone never makes a difference.

use fastrand::Rng;
use lacunar_formats::{DType, Format, IndexWidth, Kind, Level, LevelKind, Scalar, Term};
use lacunar_notation::{BinaryFn, UnaryFn};

use crate::instance::Instance;
use crate::schedules::schedule;
use crate::setup::Setup;
use crate::sketch::{Operand, Sketch, Statement, Tree};

/// A random program: the first sketch of the seed's that checks, with its instance. `None` if none of many does.
pub fn generate(seed: u64) -> Option<(Sketch, Instance)> {
    let mut rng = Rng::with_seed(seed);
    for _ in 0..200 {
        let sketch = Generator::new(&mut rng, seed).sketch();
        if let Ok(instance) = sketch.instance() {
            let sketch = Sketch { setup: setup(&mut rng, &instance, &sketch), ..sketch };
            let setup = sketch.setup.clone();
            return Some((sketch, Instance { setup, ..instance }));
        }
    }
    None
}

/// How a program is compiled.
fn setup(rng: &mut Rng, instance: &Instance, sketch: &Sketch) -> Setup {
    let mut one_in = |count: u8| rng.u8(..count) == 0;
    let (strict, plain) = (one_in(8), one_in(8));
    // What is added to is an operand, so that its pattern cannot be given beside it.
    let phases = one_in(8) && !sketch.statements.iter().any(|statement| statement.adds);
    let schedule = if one_in(3) { Vec::new() } else { schedule(rng, &instance.program) };
    Setup { schedule, strict, plain, phases, ..Setup::default() }
}

/// A random format of an order, now and then with a map. `holds_all` says that it has to hold any entries.
pub fn format(rng: &mut Rng, order: usize, holds_all: bool) -> Format {
    if order > 0
        && rng.u8(..6) == 0
        && let Some(format) = mapped(rng, order)
    {
        return format;
    }
    unmapped(rng, order, holds_all)
}

/// A random format whose levels store blocks, diagonals, or slots.
fn mapped(rng: &mut Rng, order: usize) -> Option<Format> {
    if order == 2 && rng.u8(..3) == 0 {
        return slots(rng);
    }
    let mut terms = Vec::new();
    if order == 2 && rng.u8(..3) == 0 {
        let first = rng.usize(..2);
        terms.extend([Term::Difference(first, 1 - first), Term::Whole(1 - first)]);
    } else {
        let mut inside = Vec::new();
        for dimension in 0..order {
            if rng.u8(..3) == 0 {
                terms.push(Term::Whole(dimension));
            } else {
                let size = rng.u32(1..4);
                terms.push(Term::Quotient(dimension, size));
                inside.push(Term::Remainder(dimension, size));
            }
        }
        rng.shuffle(&mut terms);
        rng.shuffle(&mut inside);
        terms.extend(inside);
    }
    let levels = unmapped(rng, terms.len(), true).levels().to_vec();
    Format::mapped(levels, terms).ok()
}

/// A random format with slots of one dimension's entries, of coordinates or of ranks, in slices or not.
fn slots(rng: &mut Rng) -> Option<Format> {
    let first = rng.usize(..2);
    let rows = rng.u32(1..5);
    let (outside, inside) = match rng.bool() {
        true => (Some(Term::Quotient(first, rows)), Term::Remainder(first, rows)),
        false => (None, Term::Whole(first)),
    };
    let (slots, letter) = match rng.bool() {
        true => (Term::RankedOrdinal(first, rng.u32(1..9)), 'n'),
        false => (Term::Ordinal(first), 'e'),
    };
    let terms = outside.into_iter().chain([slots, inside, Term::Whole(1 - first)]).collect();
    let of_slots = [Level::from_letter(letter)?, Level::DENSE, Level::from_letter('p')?];
    Format::mapped(outside.map(|_| Level::DENSE).into_iter().chain(of_slots).collect(), terms).ok()
}

/// A random format without a map.
fn unmapped(rng: &mut Rng, order: usize, holds_all: bool) -> Format {
    let kinds = LevelKind::unmapped().into_iter().map(|kind| Level { kind, unique: true });
    let open: Vec<Level> = kinds.filter(|level| !holds_all || !level.properties().single).collect();
    let dense = rng.u8(..4) == 0;
    let mut levels = Vec::new();
    while levels.len() < order {
        let left = order - levels.len();
        match rng.u8(..7) {
            _ if dense => levels.push(Level::DENSE),
            0 | 1 => levels.push(Level::DENSE),
            2 if left >= 2 => {
                let length = rng.usize(2..=left);
                levels.push(Level::COMPRESSED_NONUNIQUE);
                levels.extend(vec![Level::SINGLETON_NONUNIQUE; length - 2]);
                levels.push(Level::SINGLETON);
            }
            3 if !open.is_empty() => levels.push(open[rng.usize(..open.len())]),
            _ => levels.push(Level::COMPRESSED),
        }
    }
    let mut modes: Vec<usize> = (0..order).collect();
    if rng.u8(..5) < 2 {
        rng.shuffle(&mut modes);
    }
    // A shuffled list of all modes is a permutation, which is all that can be wrong.
    Format::new(levels, modes).unwrap_or_else(|_| Format::dense(order))
}

const SMOOTH: [UnaryFn; 12] = [
    UnaryFn::Sqrt,
    UnaryFn::Cbrt,
    UnaryFn::Exp,
    UnaryFn::Log,
    UnaryFn::Sin,
    UnaryFn::Cos,
    UnaryFn::Atan,
    UnaryFn::Tanh,
    UnaryFn::Asinh,
    UnaryFn::Sinh,
    UnaryFn::Cosh,
    UnaryFn::Log10,
];
const JUMPING: [UnaryFn; 4] = [UnaryFn::Floor, UnaryFn::Ceil, UnaryFn::Sign, UnaryFn::Not];
const PLAIN: [UnaryFn; 7] =
    [UnaryFn::Abs, UnaryFn::Neg, UnaryFn::Square, UnaryFn::Real, UnaryFn::Imag, UnaryFn::Conj, UnaryFn::Cube];
const JUMPING_PAIRS: [BinaryFn; 11] = [
    BinaryFn::Eq,
    BinaryFn::Ne,
    BinaryFn::Lt,
    BinaryFn::Le,
    BinaryFn::Gt,
    BinaryFn::Ge,
    BinaryFn::Heaviside,
    BinaryFn::Rem,
    BinaryFn::IntDiv,
    BinaryFn::And,
    BinaryFn::Xor,
];

struct Generator<'a> {
    rng: &'a mut Rng,
    sketch: Sketch,
    /// Variables that this program uses.
    vars: usize,
    /// The type of tensors, unless they are mixed.
    dtype: Option<DType>,
    /// Whether tensors have fill values other than 0.
    filled: bool,
}

impl Generator<'_> {
    fn new(rng: &mut Rng, seed: u64) -> Generator<'_> {
        let mut sizes = [0; 5];
        let square = rng.bool();
        let common = rng.u64(1..=5);
        for size in &mut sizes {
            *size = match rng.u8(..12) {
                _ if square => common,
                0 => 0,
                1 => 1,
                _ => rng.u64(1..=6),
            };
        }
        // Now and then one variable has more values than a word has bits, and the others have few.
        if !square && rng.u8(..20) == 0 {
            sizes = sizes.map(|size| size.min(3));
            sizes[rng.usize(..sizes.len())] = rng.u64(60..=140);
        }
        let dtype = match rng.u8(..10) {
            0..=5 => Some(DType::F64),
            6 | 7 => Some(DType::ALL[rng.usize(..DType::ALL.len())]),
            _ => None,
        };
        let vars = rng.usize(1..=5);
        let filled = rng.u8(..4) == 0;
        let sketch = Sketch { seed, sizes, tensors: Vec::new(), statements: Vec::new(), setup: Setup::default() };
        Generator { rng, sketch, vars, dtype, filled }
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(..100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    fn sketch(mut self) -> Sketch {
        self.statement();
        if self.chance(20) {
            self.statement();
        }
        self.sketch
    }

    fn statement(&mut self) {
        let operands = self.rng.usize(1..=4);
        let mut rhs = self.tree(operands);
        let mut vars = rhs.vars();
        self.rng.shuffle(&mut vars);
        vars.truncate(self.rng.usize(..=vars.len().min(4)));
        if vars.len() < 4 && self.chance(8) {
            let broadcast = self.rng.usize(..self.vars);
            if !vars.contains(&broadcast) {
                vars.push(broadcast);
            }
        }
        let summed: Vec<usize> = rhs.vars().into_iter().filter(|var| !vars.contains(var)).collect();
        if !summed.is_empty() && self.chance(25) {
            rhs = Tree::Sum(self.pick(&summed), Box::new(rhs));
        }
        let adds = self.chance(10);
        let given = adds && self.chance(50);
        let dtype = if given || self.chance(15) { Some(self.dtype()) } else { None };
        let name = format!("R{}", self.sketch.statements.len());
        let result = self.tensor(name, &vars, dtype, given, false);
        self.sketch.statements.push(Statement { result, vars, adds, rhs });
    }

    fn dtype(&mut self) -> DType {
        match self.dtype {
            Some(dtype) => dtype,
            None => self.pick(&DType::ALL),
        }
    }

    fn tensor(&mut self, name: String, vars: &[usize], dtype: Option<DType>, given: bool, input: bool) -> usize {
        let mut format = format(self.rng, vars.len(), !input);
        let told = format.tells_entries();
        let unpadded = |dtype: DType| if !told && dtype == DType::Pattern { DType::Bool } else { dtype };
        let dtype = dtype.map(unpadded);
        if self.chance(12) {
            format = format.with_widths(IndexWidth::W64, IndexWidth::W64);
        } else if self.chance(20) {
            for level in 0..format.levels().len() {
                let (positions, coordinates) =
                    (self.pick(&[IndexWidth::W32, IndexWidth::W64]), self.pick(&IndexWidth::ALL));
                format = format.with_positions(level, positions).with_coordinates(level, coordinates);
            }
        }
        let density = self.pick(&[0.0, 0.15, 0.3, 0.5, 0.8, 1.0]);
        // What is stored as zero and what only fills up storage cannot be told apart behind a map.
        let zeros = self.chance(30) && format.map().is_none();
        let dims = vars.iter().map(|&var| self.sketch.sizes[var]).collect();
        let fill = if self.filled && self.chance(40) { Some(self.fill(dtype)) } else { None };
        self.sketch.tensors.push(Operand { name, format, dtype, fill, dims, density, zeros, given });
        self.sketch.tensors.len() - 1
    }

    /// A fill value of a type, or one that every type has. Infinite ones of a program have one sign.
    fn fill(&mut self, dtype: Option<DType>) -> Scalar {
        let infinite = if self.sketch.seed.is_multiple_of(2) { f64::INFINITY } else { f64::NEG_INFINITY };
        let ty = dtype.unwrap_or(DType::Bool);
        let fill = match ty.kind() {
            Kind::Bool => None,
            Kind::Unsigned => [Some(Scalar::int(ty, 2)), Scalar::highest(ty)][self.rng.usize(..2)],
            Kind::Signed => [Some(Scalar::int(ty, -1)), Scalar::highest(ty), Scalar::lowest(ty)][self.rng.usize(..3)],
            Kind::Real => Some(Scalar::real(ty, self.pick(&[2.0, -0.5, infinite]))),
            Kind::Complex => Some(Scalar::complex(ty, -0.5, 1.0)),
        };
        fill.filter(|_| !self.chance(30)).unwrap_or(Scalar::one(ty))
    }

    /// An expression with this many operands.
    fn tree(&mut self, operands: usize) -> Tree {
        if operands <= 1 {
            return self.small();
        }
        let left = self.rng.usize(1..operands);
        let (a, b) = (Box::new(self.tree(left)), Box::new(self.tree(operands - left)));
        let tree = match self.rng.u8(..20) {
            0..=8 => Tree::Binary(BinaryFn::Mul, a, b),
            9..=13 => Tree::Binary(BinaryFn::Add, a, b),
            14..=16 => Tree::Binary(BinaryFn::Sub, a, b),
            17 => Tree::Binary(BinaryFn::Min, a, b),
            18 => Tree::Binary(BinaryFn::Max, a, b),
            _ => Tree::Binary(BinaryFn::Div, a, Box::new(self.access())),
        };
        if self.chance(8) { Tree::Unary(self.pick(&PLAIN), Box::new(tree)) } else { tree }
    }

    /// One operand, or a function of inputs.
    fn small(&mut self) -> Tree {
        match self.rng.u8(..100) {
            0..=7 => Tree::Number(["0", "1", "2", "0.5", "3", "-1", "1.25"][self.rng.usize(..7)]),
            8..=14 => Tree::Unary(self.pick(&SMOOTH), Box::new(self.exact())),
            15..=18 => Tree::Unary(self.pick(&JUMPING), Box::new(self.exact())),
            19..=24 => {
                let function = self.pick(&JUMPING_PAIRS);
                Tree::Binary(function, Box::new(self.exact()), Box::new(self.exact()))
            }
            25..=26 => Tree::Binary(BinaryFn::Pow, Box::new(self.access()), Box::new(Tree::Number("2"))),
            27..=29 => Tree::Unary(self.pick(&PLAIN), Box::new(self.access())),
            30..=32 => {
                let access = self.access();
                match access.vars().first() {
                    Some(&var) => Tree::Sum(var, Box::new(access)),
                    None => access,
                }
            }
            33..=45 => self.result().unwrap_or_else(|| self.access()),
            _ => self.access(),
        }
    }

    /// A value without rounding errors.
    fn exact(&mut self) -> Tree {
        match self.rng.u8(..10) {
            0 => Tree::Number("1"),
            1 => Tree::Number("-1"),
            2 => Tree::Binary(BinaryFn::Add, Box::new(self.access()), Box::new(self.access())),
            3 => Tree::Binary(BinaryFn::Sub, Box::new(self.access()), Box::new(self.access())),
            _ => self.access(),
        }
    }

    /// The result of an earlier statement, if there is one.
    fn result(&mut self) -> Option<Tree> {
        let earlier = self.sketch.statements.last()?.result;
        Some(self.access_of(earlier))
    }

    /// An input, mostly a new one.
    fn access(&mut self) -> Tree {
        let inputs: Vec<usize> = (0..self.sketch.tensors.len())
            .filter(|&place| !self.sketch.statements.iter().any(|statement| statement.result == place))
            .collect();
        if !inputs.is_empty() && self.chance(20) {
            let input = self.pick(&inputs);
            return self.access_of(input);
        }
        let order = self.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4]);
        let mut vars: Vec<usize> = (0..self.vars).collect();
        self.rng.shuffle(&mut vars);
        vars.truncate(order);
        if !vars.is_empty() {
            while vars.len() < order && self.chance(40) {
                vars.push(self.pick(&vars.clone()));
            }
            if vars.len() >= 2 && self.chance(6) {
                vars[1] = vars[0];
            }
        }
        let name = format!("T{}", self.sketch.tensors.len());
        let dtype = self.dtype();
        let tensor = self.tensor(name, &vars, Some(dtype), true, true);
        Tree::Access(tensor, vars)
    }

    /// A tensor there is, with any variables of the right sizes.
    fn access_of(&mut self, tensor: usize) -> Tree {
        let dims = self.sketch.tensors[tensor].dims.clone();
        let mut vars = Vec::new();
        for size in dims {
            let fitting: Vec<usize> = (0..self.vars).filter(|&var| self.sketch.sizes[var] == size).collect();
            let fresh: Vec<usize> = fitting.iter().copied().filter(|var| !vars.contains(var)).collect();
            vars.push(if fresh.is_empty() { self.pick(&fitting) } else { self.pick(&fresh) });
        }
        Tree::Access(tensor, vars)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn seeds_reproduce_and_programs_vary() {
        let mut texts = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let (_, instance) = generate(seed).expect("a program that checks");
            let (_, again) = generate(seed).expect("the same program");
            assert_eq!(instance.to_case_text(), again.to_case_text());
            texts.insert(instance.source.clone());
        }
        assert!(texts.len() > 150, "{}", texts.len());
        let all: String = texts.into_iter().collect();
        for word in ["sum(", "+=", "\n", "/", "exp(", "-"] {
            assert!(all.contains(word), "no program has `{word}`");
        }
    }

    #[test]
    fn the_oracle_evaluates_them() {
        let mut present = 0;
        for seed in 0..200 {
            let (_, instance) = generate(seed).expect("a program that checks");
            let outcomes = crate::oracle::evaluate(&instance.program, &instance.given, &Default::default());
            let outcomes = outcomes.unwrap_or_else(|fault| panic!("{fault}\n{}", instance.to_case_text()));
            present += outcomes.iter().map(|outcome| outcome.entries.values.len()).sum::<usize>();
        }
        assert!(present > 1000, "{present} entries");
    }
}
