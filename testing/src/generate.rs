//! Random programs: expressions, formats, types, sizes and data, each from a seed.
//!
//! Expressions have up to four operands of order 0 to 4 over up to five variables of size 0 to 6, now and then to 140 and seldom
//! of some 1000; all operators and functions, literals, conversions, explicit sums, repeated variables (`A(i,i)`), repeated and
//! transposed operands, terms that lack variables of others, broadcasts, `+=`, and further statements that read results or
//! repeat others, and now and then 7 to 10 operands more. Each
//! program has a habit: much of one thing, so that its combinations are met. Formats are those of [`crate::layouts`], some
//! with index arrays of 64 bits; some are repeated ([`crate::rounds`]); fill values other than 0, and
//! some inputs have a structure. Most programs get a schedule ([`crate::schedules`]); some are
//! compiled strictly, without a search, or in two phases.
//!
//! Functions that jump (comparisons, `floor`, `mod`, conversions to integers, ...) or amplify errors are only applied to inputs
//! and their sums, which are exact, so that rounding alone never makes a difference.

mod again;
mod far;
mod habit;
mod itself;
mod many;
mod structures;

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::{DType, Format, IndexWidth, Kind, Level, Scalar};
use lacunar_notation::{BinaryFn, Monoid, Role, Rule, UnaryFn};

use crate::data::Heavy;
use crate::instance::Instance;
use crate::layouts;
use crate::operators::{Made, monoid, operator};
use crate::rounds::repeated;
use crate::schedules::schedule;
use crate::setup::Setup;
use crate::sketch::{Form, Operand, Sketch, Statement, Through, Tree};
use again::with_last_again;
use far::{FAR, can_be_run, ends_strictly, is_far};
use habit::{Habit, sizes};
use many::with_many_operands;
use structures::with_structures;

/// A random program: the first sketch of the seed's that checks, with its instance. `None` if none of many does.
pub fn generate(seed: u64) -> Option<(Sketch, Instance)> {
    let mut rng = Rng::with_seed(seed);
    for _ in 0..200 {
        let sketch = with_many_operands(with_last_again(Generator::new(&mut rng, seed).sketch()));
        if sketch.tensors.iter().all(|tensor| is_countable(tensor) && is_small(tensor))
            && let Ok(instance) = sketch.instance()
            && has_all_inputs(&instance)
            && (!is_far(&sketch.sizes) || can_be_run(&sketch))
        {
            let (sketch, instance) = match repeated(sketch.clone()) {
                other if !is_far(&other.sizes) && other.repeats() => match other.instance() {
                    Ok(instance) => (other, instance),
                    Err(_) => (sketch, instance),
                },
                _ => (sketch, instance),
            };
            let (sketch, instance) = with_structures(&mut rng, sketch, instance);
            let sketch = Sketch { setup: setup(&mut rng, &instance, &sketch), ..sketch };
            let setup = sketch.setup.clone();
            return Some((sketch, Instance { setup, ..instance }));
        }
    }
    None
}

/// True if every input is a tensor of the sketch: a variable that no index has any more is read as a number.
fn has_all_inputs(instance: &Instance) -> bool {
    let mut inputs = instance.program.tensors.iter().filter(|(_, tensor)| tensor.role == Role::Input);
    inputs.all(|(_, tensor)| instance.given.contains_key(&tensor.name))
}

/// True if the diagonals and blocks of a tensor can be counted; other tensors are refused.
fn is_countable(tensor: &Operand) -> bool {
    let counted = |size: &Option<u64>| size.is_none_or(|size| i64::try_from(size).is_ok());
    let sizes = tensor.format.map().map(|map| map.stored_dims(&tensor.dims));
    sizes.is_none_or(|sizes| sizes.is_some_and(|sizes| sizes.iter().all(counted)))
}

/// About the most entries of a tensor: more of them keep the interpreter busy for minutes.
const MOST_ENTRIES: f64 = 2e4;

/// The most places that the dense levels of a tensor may have.
const MOST_PLACES: u64 = 1 << 22;

/// True if the dense levels of a tensor have few places: a variable that occurs several times makes many of them.
fn is_small(tensor: &Operand) -> bool {
    let format = &tensor.format;
    let sizes = match format.map() {
        Some(map) => map.stored_dims(&tensor.dims),
        None => Some(format.mode_order().iter().map(|&mode| Some(tensor.dims[mode])).collect()),
    };
    let sizes = sizes.into_iter().flatten().zip(format.levels()).filter(|(_, level)| **level == Level::DENSE);
    let places = sizes.filter_map(|(size, _)| size).try_fold(1u64, |product, size| product.checked_mul(size));
    places.is_some_and(|places| places <= MOST_PLACES)
}

/// The element type for a format that does not tell entries from padding: patterns become truth values.
fn unpadded(dtype: DType) -> DType {
    if dtype == DType::Pattern { DType::Bool } else { dtype }
}

/// The options of compiling a program.
fn setup(rng: &mut Rng, instance: &Instance, sketch: &Sketch) -> Setup {
    let is_far = is_far(&sketch.sizes);
    let strict = rng.one_in(8) && (!is_far || ends_strictly(sketch));
    let plain = rng.one_in(3);
    // A result that is added to is an operand, so that its pattern cannot be given beside it.
    let combines = sketch.statements.iter().any(|statement| statement.combines.is_some());
    let phases = rng.one_in(8) && !combines && !sketch.repeats();
    // A loop over all of a space without end does not end.
    let schedule = if is_far || rng.one_in(3) { Vec::new() } else { schedule(rng, &instance.program) };
    Setup { schedule, strict, plain, phases, ..Setup::default() }
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

const FLOATS: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128];
/// Types that are drawn more often than the rest, because conversions to them lose values that others keep.
const SHORT: [DType; 5] = [DType::F16, DType::BF16, DType::Pattern, DType::Bool, DType::I8];

struct Generator<'a> {
    rng: &'a mut Rng,
    sketch: Sketch,
    habit: Habit,
    /// Variables that this program uses.
    vars: usize,
    /// The type of tensors, unless they are mixed.
    dtype: Option<DType>,
    /// True if tensors have fill values other than 0.
    filled: bool,
    /// The operators that were drawn.
    operators: Vec<Made>,
}

impl Generator<'_> {
    fn new(rng: &mut Rng, seed: u64) -> Generator<'_> {
        let habit = Habit::draw(rng);
        let sizes = sizes(rng, habit);
        let dtype = match rng.u8(..10) {
            _ if matches!(habit, Habit::Casts) => None,
            0..=5 => Some(DType::F64),
            6 | 7 => Some(DType::ALL[rng.usize(..DType::ALL.len())]),
            _ => None,
        };
        let vars = rng.usize(1..=5);
        let filled = rng.one_in(if matches!(habit, Habit::Places) { 2 } else { 4 });
        let sketch = Sketch {
            seed,
            sizes,
            tensors: Vec::new(),
            statements: Vec::new(),
            rounds: None,
            made: Vec::new(),
            setup: Setup::default(),
        };
        Generator { rng, sketch, habit, vars, dtype, filled, operators: Vec::new() }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.rng.pick(from).expect("there is something to pick from")
    }

    fn sketch(mut self) -> Sketch {
        self.statement();
        while self.sketch.statements.len() < 4 && self.rng.percent(20) {
            self.statement();
        }
        if let [only] = self.sketch.statements.as_slice()
            && self.rng.percent(self.habit.indexed().0)
        {
            let result = only.result;
            self.index(result);
        }
        self.sketch
    }

    /// Gives a tensor indices that are no variables, and other sizes where it has them.
    fn index(&mut self, tensor: usize) {
        let order = self.sketch.tensors[tensor].dims.len();
        if self.sketch.sizes.iter().any(|&size| size >= FAR) {
            return;
        }
        for dimension in 0..order {
            let form = if self.rng.percent(60) { Some(self.form(dimension, order)) } else { None };
            let operand = &mut self.sketch.tensors[tensor];
            operand.indices.push(form);
            let Some(form) = form else { continue };
            let var_size = operand.dims[dimension];
            if self.rng.percent(70) {
                operand.dims[dimension] = self.rng.u64(0..=9);
            }
            if self.rng.percent(35) {
                let through = self.through(var_size, self.sketch.tensors[tensor].dims[dimension]);
                self.sketch.tensors[tensor].indices[dimension] = Some(Form { through, ..form });
            }
            let is_result = self.sketch.statements.iter().any(|statement| statement.result == tensor);
            if !is_result && self.sketch.tensors[tensor].dims[dimension] > 0 && self.rng.percent(25) {
                let rule = self.pick(&Rule::ALL);
                let form = &mut self.sketch.tensors[tensor].indices[dimension];
                *form = form.map(|form| Form { border: Some(rule), ..form });
            }
        }
    }

    /// An element for the index of a dimension of this size, whose index is a variable of so many values.
    fn through(&mut self, values: u64, size: u64) -> Option<Through> {
        if self.rng.percent(25) {
            return (1..=size.min(9)).contains(&values).then_some(Through::List(values));
        }
        let alone = self.rng.percent(60) && size > 0;
        let name = format!("I{}", self.sketch.tensors.len());
        let dtype = self.pick(&[DType::I64, DType::I64, DType::I32, DType::U8, DType::U64, DType::I16]);
        let (var, filled) = (self.sketch.sizes.iter().position(|&size| size == values)?, self.filled);
        self.filled = false;
        // A number is an element of no variable.
        let vars = if self.rng.percent(15) { Vec::new() } else { vec![var] };
        let place = self.tensor(name, &vars, Some(dtype), true, true);
        self.filled = filled;
        let index = &mut self.sketch.tensors[place];
        index.below = Some(if alone { size } else { size + 2 });
        Some(Through::Tensor { place, alone })
    }

    fn form(&mut self, dimension: usize, order: usize) -> Form {
        let factor = self.pick(&[1, 1, 1, 1, 2, 2, 3, -1, -1]);
        let plus = (order > 1 && self.rng.percent(20)).then(|| (dimension + 1) % order);
        let constant = self.pick(&[0, 0, 1, 1, 2, 3, 5, -1, -2]);
        Form { factor, plus, constant: if factor < 0 { constant + 4 } else { constant }, through: None, border: None }
    }

    fn statement(&mut self) {
        let operands = self.rng.usize(1..=4);
        let mut rhs = self.tree(operands);
        let mut vars = rhs.vars();
        self.rng.shuffle(&mut vars);
        vars.truncate(self.rng.usize(..=vars.len().min(4)));
        if vars.len() < 4 && self.rng.percent(8) {
            let broadcast = self.rng.usize(..self.vars);
            if !vars.contains(&broadcast) {
                vars.push(broadcast);
            }
        }
        let summed: Vec<usize> = rhs.vars().into_iter().filter(|var| !vars.contains(var)).collect();
        if !summed.is_empty() && self.rng.percent(25) {
            rhs = Tree::Reduce(self.monoid(), self.pick(&summed), Box::new(rhs));
        }
        let place = self.place_of(&summed);
        if let Some((monoid, var)) = place {
            rhs = Tree::Reduce(monoid, var, Box::new(rhs));
        }
        let combines = if place.is_none() && self.rng.percent(20) { Some(self.monoid()) } else { None };
        let adds = combines.is_some();
        // A pruned result may have a value everywhere, and room is made for all of it.
        let is_far = self.sketch.sizes.iter().any(|size| *size >= FAR);
        if !adds && self.rng.percent(6) && !is_far {
            rhs = Tree::Unary(UnaryFn::Prune, Box::new(rhs));
        }
        let given = adds && self.rng.percent(50);
        let dtype = if given || (place.is_none() && self.rng.percent(15)) { Some(self.dtype()) } else { None };
        let name = format!("R{}", self.sketch.statements.len());
        let result = self.tensor(name, &vars, dtype, given, false);
        if given {
            // The value that combining begins with is known only of results that begin there.
            let fill = &mut self.sketch.tensors[result].fill;
            *fill = fill.or(dtype.map(Scalar::zero));
        }
        self.sketch.statements.push(Statement { result, vars, combines, rhs });
    }

    /// Now and then, that the place of the least or greatest value over one of some variables is asked for. Complex numbers have no order,
    /// and places that are far apart are not all looked at.
    fn place_of(&mut self, summed: &[usize]) -> Option<(Monoid, usize)> {
        let is_far = self.sketch.sizes.iter().any(|size| *size >= FAR);
        if summed.is_empty() || is_far || self.dtype.is_none_or(DType::is_complex) || !self.rng.percent(8) {
            return None;
        }
        let monoid = Monoid::of(self.pick(&[BinaryFn::ArgMin, BinaryFn::ArgMax]))?;
        Some((monoid, self.pick(summed)))
    }

    /// Sums, mostly. The choice of `any` is open, but on truth values.
    fn monoid(&mut self) -> Monoid {
        // Zeros that are not stored are combined, too: all of them are visited.
        if self.sketch.sizes.iter().any(|size| *size >= FAR) {
            return Monoid::SUM;
        }
        if self.rng.percent(8)
            && let Some(combined) = self.operator(2).as_ref().and_then(monoid)
        {
            return combined;
        }
        let numbers = [BinaryFn::Min, BinaryFn::Max, BinaryFn::Mul, BinaryFn::And, BinaryFn::Or, BinaryFn::Xor];
        let function = match self.dtype {
            _ if self.rng.percent(40) => BinaryFn::Add,
            Some(DType::Bool) => self.pick(&[BinaryFn::And, BinaryFn::Or, BinaryFn::Xor, BinaryFn::Any]),
            Some(dtype) if !dtype.is_integer() => self.pick(&numbers[..3]),
            _ => self.pick(&numbers),
        };
        Monoid::of(function).unwrap_or(Monoid::SUM)
    }

    fn dtype(&mut self) -> DType {
        match self.dtype {
            Some(dtype) => dtype,
            None => self.pick(&DType::ALL),
        }
    }

    fn tensor(&mut self, name: String, vars: &[usize], dtype: Option<DType>, given: bool, input: bool) -> usize {
        let plain = (vars.len() <= 1 || !input) && self.rng.percent(self.habit.dense());
        let mut format = match plain {
            _ if vars.iter().any(|&var| self.sketch.sizes[var] >= FAR) => layouts::unbounded(self.rng, vars.len()),
            true => Format::dense(vars.len()),
            false => match self.like_an_operand(vars.len()).filter(|_| !input) {
                Some(format) => format,
                None => layouts::format(self.rng, vars.len(), !input, self.habit.mapped()),
            },
        };
        let told = format.tells_entries();
        let dtype = dtype.map(|dtype| if told { dtype } else { unpadded(dtype) });
        if self.rng.percent(12) {
            format = format.with_widths(IndexWidth::W64, IndexWidth::W64);
        } else if self.rng.percent(20) {
            for level in 0..format.levels().len() {
                let (positions, coordinates) =
                    (self.pick(&[IndexWidth::W32, IndexWidth::W64]), self.pick(&IndexWidth::ALL));
                format = format.with_positions(level, positions).with_coordinates(level, coordinates);
            }
        }
        let dims: Vec<u64> = vars.iter().map(|&var| self.sketch.sizes[var]).collect();
        let places = dims.iter().fold(1u64, |product, &size| product.saturating_mul(size));
        let density = match places {
            FAR.. => self.pick(&[0.1, 0.3, 0.6]),
            ..=200 => self.pick(&[0.0, 0.15, 0.3, 0.5, 0.8, 1.0]),
            _ => f64::min(self.pick(&[0.003, 0.03, 0.1, 0.4, 1.0]), MOST_ENTRIES / places as f64),
        };
        // Behind a map, stored zeros cannot be told from padding.
        let zeros = self.rng.percent(30) && format.map().is_none();
        let fill = if self.filled && self.rng.percent(self.habit.filled()) { Some(self.fill(dtype)) } else { None };
        let heavy = if self.rng.percent(20) { Some(self.pick(&[Heavy::First, Heavy::Last])) } else { None };
        let indices = Vec::new();
        let (below, structure) = (None, None);
        let operand =
            Operand { name, format, dtype, fill, dims, density, heavy, zeros, given, indices, below, structure };
        self.sketch.tensors.push(operand);
        self.sketch.tensors.len() - 1
    }

    /// Now and then, the format of an operand of an order, if results may have it: with the operand's pattern, they have its levels.
    fn like_an_operand(&mut self, order: usize) -> Option<Format> {
        let may_be = |format: &Format| {
            format.order() == order
                && !format.is_dense()
                && format.map().is_none()
                && format.packing().is_none()
                && format.levels().iter().all(|level| !level.properties().single)
        };
        let all = self.sketch.tensors.iter().map(|tensor| &tensor.format);
        let found: Vec<Format> = all.filter(|format| may_be(format)).cloned().collect();
        (!found.is_empty() && self.rng.percent(30)).then(|| found[self.rng.usize(..found.len())].clone())
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
        fill.filter(|_| !self.rng.percent(30)).unwrap_or(Scalar::one(ty))
    }

    /// An expression with this many operands.
    fn tree(&mut self, operands: usize) -> Tree {
        if operands <= 1 {
            return self.small();
        }
        if self.rng.percent(5)
            && let Some(product) = self.with_itself()
        {
            return product;
        }
        let left = self.rng.usize(1..operands);
        let (a, b) = (Box::new(self.tree(left)), Box::new(self.tree(operands - left)));
        let kind = match self.habit {
            Habit::Maps => self.rng.u8(3..18),
            _ => self.rng.u8(..20),
        };
        let tree = match kind {
            0..=8 => Tree::Binary(BinaryFn::Mul, a, b),
            9..=13 => Tree::Binary(BinaryFn::Add, a, b),
            14..=16 => Tree::Binary(BinaryFn::Sub, a, b),
            17 => Tree::Binary(BinaryFn::Min, a, b),
            18 if self.rng.bool() => match self.operator(2).filter(|made| !made.jumps) {
                Some(made) => Tree::Apply(made.operator, vec![*a, *b]),
                None => Tree::Binary(BinaryFn::Max, a, b),
            },
            18 => Tree::Binary(BinaryFn::Max, a, b),
            _ => Tree::Binary(BinaryFn::Div, a, Box::new(self.access())),
        };
        match self.rng.u32(..100) {
            0..=7 => Tree::Unary(self.pick(&PLAIN), Box::new(tree)),
            // Inexact values may be rounded once more.
            percent if percent < 8 + self.habit.converted() / 4 => {
                Tree::Cast(self.pick(&FLOATS), self.rng.bool(), Box::new(tree))
            }
            _ => tree,
        }
    }

    /// A function of an access and a constant, mostly one that is zero where the access is.
    fn kept_zero(&mut self) -> Tree {
        let access = Box::new(self.access());
        let number = |text| Box::new(Tree::Number(text));
        match self.rng.u8(..6) {
            0 => Tree::Binary(BinaryFn::Max, access, number("0")),
            1 => Tree::Binary(BinaryFn::Min, access, number("1")),
            2 => Tree::Binary(BinaryFn::Sub, access, number("0")),
            3 => Tree::Binary(BinaryFn::Gt, access, number("0")),
            4 => Tree::Binary(BinaryFn::Add, number("0"), access),
            _ => Tree::Binary(BinaryFn::Pow, access, number("2")),
        }
    }

    /// One operand, or a function of inputs.
    fn small(&mut self) -> Tree {
        if self.rng.percent(self.habit.converted()) {
            return self.converted();
        }
        match self.rng.u8(..100) {
            0..=7 => self.number(),
            8..=14 => Tree::Unary(self.pick(&SMOOTH), Box::new(self.exact())),
            15..=18 => Tree::Unary(self.pick(&JUMPING), Box::new(self.exact())),
            19..=24 => {
                let function = self.pick(&JUMPING_PAIRS);
                Tree::Binary(function, Box::new(self.exact()), Box::new(self.exact()))
            }
            25 => self.kept_zero(),
            26 => self.place(),
            27..=29 => Tree::Unary(self.pick(&PLAIN), Box::new(self.access())),
            30..=32 => {
                let access = self.access();
                match access.vars().first() {
                    Some(&var) => Tree::Reduce(self.monoid(), var, Box::new(access)),
                    None => access,
                }
            }
            33..=36 => self.selection(),
            46..=50 => self.applied(),
            37..=45 => self.result().unwrap_or_else(|| self.access()),
            _ => self.access(),
        }
    }

    /// The value of a variable, or a comparison of two.
    fn place(&mut self) -> Tree {
        let mut value = || Box::new(Tree::Index(self.rng.usize(..self.vars)));
        let (a, b) = (value(), value());
        match self.rng.u8(..4) {
            0 => Tree::Binary(self.pick(&JUMPING_PAIRS[..6]), a, b),
            1 => Tree::Binary(BinaryFn::Mul, a, Box::new(self.access())),
            2 => {
                let condition = Tree::Binary(self.pick(&JUMPING_PAIRS[..6]), a, b);
                Tree::Select(Box::new([condition, self.access(), self.number()]))
            }
            _ => *a,
        }
    }

    /// An operator of this many operands that the program declares, mostly one that it has already.
    fn operator(&mut self, count: usize) -> Option<Made> {
        let fitting = |made: &&Made| made.operator.arity() == count;
        let known: Vec<Made> = self.operators.iter().filter(fitting).copied().collect();
        if !known.is_empty() && self.rng.percent(60) {
            return self.rng.pick(&known);
        }
        let made = operator(self.rng, &format!("f{}", self.operators.len()))?;
        self.operators.push(made);
        Some(made).filter(|made| made.operator.arity() == count)
    }

    /// A call of an operator on exact values.
    fn applied(&mut self) -> Tree {
        let count = self.rng.usize(1..=3);
        match self.operator(count) {
            Some(made) => Tree::Apply(made.operator, (0..count).map(|_| self.exact()).collect()),
            None => self.access(),
        }
    }

    /// One of two values, by a condition that is exact.
    fn selection(&mut self) -> Tree {
        let condition = match self.rng.u8(..4) {
            0 => self.access(),
            1 => Tree::Unary(UnaryFn::Not, Box::new(self.access())),
            _ => {
                let comparison = self.pick(&JUMPING_PAIRS[..6]);
                Tree::Binary(comparison, Box::new(self.exact()), Box::new(self.exact()))
            }
        };
        let other = if self.rng.percent(40) { self.number() } else { self.access() };
        let mut values = [self.access(), other];
        self.rng.shuffle(&mut values);
        let [a, b] = values;
        Tree::Select(Box::new([condition, a, b]))
    }

    fn number(&mut self) -> Tree {
        Tree::Number(self.pick(&["0", "1", "2", "0.5", "3", "-1", "1.25", "1.0", "2.75", "-0.0", "300"]))
    }

    /// True if every operand's format tells its entries from padding.
    fn tells_entries(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Access(tensor, _) => self.sketch.tensors[*tensor].format.tells_entries(),
            tree => tree.children().into_iter().all(|child| self.tells_entries(child)),
        }
    }

    /// An exact value, converted once or several times.
    fn converted(&mut self) -> Tree {
        let mut tree = if self.rng.percent(10) { self.number() } else { self.exact() };
        loop {
            let dtype = if self.rng.percent(35) { self.pick(&SHORT) } else { self.pick(&DType::ALL) };
            let dtype = if self.tells_entries(&tree) { dtype } else { unpadded(dtype) };
            tree = Tree::Cast(dtype, self.rng.percent(25), Box::new(tree));
            if self.rng.percent(50) {
                return tree;
            }
            if self.rng.percent(15) {
                tree = Tree::Binary(BinaryFn::Mul, Box::new(self.number()), Box::new(tree));
            }
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
        if !inputs.is_empty() && self.rng.percent(self.habit.repeated()) {
            let input = self.pick(&inputs);
            return self.access_of(input);
        }
        let order = self.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4]);
        let mut vars: Vec<usize> = (0..self.vars).collect();
        self.rng.shuffle(&mut vars);
        vars.truncate(order);
        if !vars.is_empty() {
            while vars.len() < order && self.rng.percent(40) {
                vars.push(self.pick(&vars.clone()));
            }
            if vars.len() >= 2 && self.rng.percent(6) {
                vars[1] = vars[0];
            }
        }
        let name = format!("T{}", self.sketch.tensors.len());
        let dtype = self.dtype();
        let tensor = self.tensor(name, &vars, Some(dtype), true, true);
        if self.rng.percent(self.habit.indexed().1) {
            self.index(tensor);
        }
        Tree::Access(tensor, vars)
    }

    /// A tensor there is, with any variables of the right sizes.
    fn access_of(&mut self, tensor: usize) -> Tree {
        let dims = self.sketch.tensors[tensor].dims.clone();
        let mut vars = Vec::new();
        let indices = self.sketch.tensors[tensor].indices.clone();
        for (dimension, size) in dims.into_iter().enumerate() {
            let form = indices.get(dimension).copied().flatten();
            // The size of the variable, if that is told.
            let size = match form.map(|form| form.through) {
                Some(Some(Through::Tensor { place, .. })) => self.sketch.tensors[place].dims.first().copied(),
                Some(Some(Through::List(length))) => Some(length),
                Some(None) => None,
                None => Some(size),
            };
            let fitting: Vec<usize> =
                (0..self.vars).filter(|&var| size.is_none_or(|size| self.sketch.sizes[var] == size)).collect();
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
        for word in ["select(", " <= ", "sum(", "+=", "\n", "/", "exp(", "-", "f16(", "cast<", "op ", "at("] {
            assert!(all.contains(word), "no program has `{word}`");
        }
    }

    #[test]
    fn the_oracle_evaluates_them() {
        let mut present = 0;
        for seed in 0..200 {
            let (_, instance) = generate(seed).expect("a program that checks");
            let outcomes = instance.evaluated();
            let outcomes = outcomes.unwrap_or_else(|fault| panic!("{fault}\n{}", instance.to_case_text()));
            present += outcomes.iter().map(|outcome| outcome.entries.values.len()).sum::<usize>();
        }
        assert!(present > 1000, "{present} entries");
    }
}
