//! A program in the making: small trees that [`crate::generate`] grows, [`crate::shrink`] cuts, and both turn into an
//! [`Instance`] by way of the program's text.

use std::collections::BTreeMap;

use lacunar_formats::{DType, Format, Scalar};
use lacunar_front::Declarations;
use lacunar_notation::{BinaryFn, Function, Monoid, UnaryFn};

use crate::data;
use crate::entries::fitting;
use crate::instance::Instance;
use crate::setup::Setup;

/// Names of index variables, by their number.
pub const VARS: [&str; 5] = ["i", "j", "k", "l", "m"];

/// A program with formats, types, sizes and a seed for its data.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// The seed it came from, which is also that of its data.
    pub seed: u64,
    /// The size of each variable of [`VARS`].
    pub sizes: [u64; 5],
    /// The tensors.
    pub tensors: Vec<Operand>,
    /// The statements.
    pub statements: Vec<Statement>,
    /// How it is compiled and run.
    pub setup: Setup,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// How it is stored.
    pub format: Format,
    /// Its type; of a result, if it is declared.
    pub dtype: Option<DType>,
    /// The value of its elements that are not stored, if it is declared.
    pub fill: Option<Scalar>,
    /// Its sizes.
    pub dims: Vec<u64>,
    /// How many of its coordinates have entries.
    pub density: f64,
    /// True if some entries are zeros.
    pub zeros: bool,
    /// True if it is given (an input, or a result with values to add to).
    pub given: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that is assigned to, by its place among the tensors.
    pub result: usize,
    /// Its variables.
    pub vars: Vec<usize>,
    /// The monoid by which the value is combined with the previous one.
    pub combines: Option<Monoid>,
    /// The value.
    pub rhs: Tree,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A tensor with its variables.
    Access(usize, Vec<usize>),
    /// A number, as written.
    Number(&'static str),
    /// A function of one operand.
    Unary(UnaryFn, Box<Tree>),
    /// A function of two operands.
    Binary(BinaryFn, Box<Tree>, Box<Tree>),
    /// An explicit reduction.
    Reduce(Monoid, usize, Box<Tree>),
    /// A conversion, as `cast<type>(...)` where that is asked for, else as `type(...)`.
    Cast(DType, bool, Box<Tree>),
}

impl Tree {
    /// The operands.
    pub fn children(&self) -> Vec<&Tree> {
        match self {
            Tree::Access(..) | Tree::Number(_) => Vec::new(),
            Tree::Unary(_, a) | Tree::Reduce(_, _, a) | Tree::Cast(_, _, a) => vec![a],
            Tree::Binary(_, a, b) => vec![a, b],
        }
    }

    /// Variables that occur in accesses, each once.
    pub fn vars(&self) -> Vec<usize> {
        let mut found = match self {
            Tree::Access(_, vars) => vars.clone(),
            _ => self.children().into_iter().flat_map(Tree::vars).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    fn text(&self, tensors: &[Operand]) -> String {
        let call = |name: &str, args: &[&Tree]| {
            let args: Vec<String> = args.iter().map(|arg| arg.text(tensors)).collect();
            format!("{name}({})", args.join(", "))
        };
        match self {
            Tree::Access(tensor, vars) => access_text(&tensors[*tensor].name, vars),
            Tree::Number(text) => (*text).to_string(),
            Tree::Unary(UnaryFn::Neg, a) => format!("(-{})", a.text(tensors)),
            Tree::Unary(function, a) => call(Function::Unary(*function).name(), &[a]),
            Tree::Binary(function, a, b) => match function.symbol() {
                Some(symbol) => format!("({} {symbol} {})", a.text(tensors), b.text(tensors)),
                None => call(Function::Binary(*function).name(), &[a, b]),
            },
            Tree::Reduce(monoid, var, a) => format!("{}({}, {})", monoid.name(), VARS[*var], a.text(tensors)),
            Tree::Cast(dtype, true, a) => format!("cast<{dtype}>({})", a.text(tensors)),
            Tree::Cast(dtype, false, a) => format!("{dtype}({})", a.text(tensors)),
        }
    }
}

fn access_text(name: &str, vars: &[usize]) -> String {
    if vars.is_empty() {
        return name.to_string();
    }
    let vars: Vec<&str> = vars.iter().map(|&var| VARS[var]).collect();
    format!("{name}({})", vars.join(","))
}

impl Sketch {
    /// The program's text.
    pub fn text(&self) -> String {
        let lines = self.statements.iter().map(|statement| {
            let lhs = access_text(&self.tensors[statement.result].name, &statement.vars);
            let op = statement.combines.map_or("=", Monoid::sign);
            format!("{lhs} {op} {}", statement.rhs.text(&self.tensors))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The instance that it stands for.
    ///
    /// # Errors
    /// The program does not check (for example, a function is not defined on a type).
    pub fn instance(&self) -> Result<Instance, String> {
        let used = self.used();
        let mut declarations = Declarations::new();
        let mut given = BTreeMap::new();
        for (place, tensor) in self.tensors.iter().enumerate().filter(|(place, _)| used.contains(place)) {
            declarations = declarations.format(&tensor.name, tensor.format.clone());
            declarations = declarations.dims(&tensor.name, tensor.dims.iter().copied());
            if let Some(dtype) = tensor.dtype {
                declarations = declarations.dtype(&tensor.name, dtype);
            }
            if let Some(fill) = tensor.fill {
                declarations = declarations.fill(&tensor.name, fill);
            }
            if tensor.given {
                let seed = self.seed.wrapping_add(place as u64);
                let dtype = tensor.dtype.unwrap_or(DType::F64);
                let entries = data::entries(seed, &tensor.dims, dtype, tensor.density, tensor.zeros);
                let entries = fitting(entries, &tensor.format);
                given.insert(tensor.name.clone(), entries);
            }
        }
        let instance = Instance::new(format!("random/{}", self.seed), self.text(), declarations, given)?;
        Ok(Instance { setup: self.setup.clone(), ..instance })
    }

    /// The places of tensors that occur in a statement.
    fn used(&self) -> Vec<usize> {
        fn collect(tree: &Tree, found: &mut Vec<usize>) {
            if let Tree::Access(tensor, _) = tree {
                found.push(*tensor);
            }
            tree.children().into_iter().for_each(|child| collect(child, found));
        }
        let mut found: Vec<usize> = self.statements.iter().map(|statement| statement.result).collect();
        self.statements.iter().for_each(|statement| collect(&statement.rhs, &mut found));
        found
    }
}
