//! A program in the making: small trees that [`crate::generate`] grows, [`crate::shrink`] cuts, and both turn into an
//! [`Instance`] by way of the program's text.

use std::collections::BTreeMap;

use lacunar_formats::{DType, Format, Scalar};
use lacunar_front::{Declarations, structure};
use lacunar_notation::{BinaryFn, Function, Monoid, Operator, Rule, UnaryFn};

use crate::data::{self, Heavy};
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
    /// The number of rounds of the loop that they are carried out in, if they are in one.
    pub rounds: Option<u8>,
    /// The tensors that the program makes up before, by their places, each with the action that does.
    pub made: Vec<(usize, String)>,
    /// The options of compiling and running it.
    pub setup: Setup,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Its type; of a result, if it is declared.
    pub dtype: Option<DType>,
    /// The value of its elements that are not stored, if it is declared.
    pub fill: Option<Scalar>,
    /// Its sizes.
    pub dims: Vec<u64>,
    /// The part of its coordinates that have entries.
    pub density: f64,
    /// The quarter of its first dimension that has most of its entries, if they are not spread evenly.
    pub heavy: Option<Heavy>,
    /// True if some entries are zeros.
    pub zeros: bool,
    /// True if it is given (an input, or a result with values to add to).
    pub given: bool,
    /// The index of each dimension, if it is no variable.
    pub indices: Vec<Option<Form>>,
    /// The size of the dimension that its values are coordinates of, if they are.
    pub below: Option<u64>,
    /// The structure of a given one, as it stands behind its name; true if its unique elements alone are given.
    pub structure: Option<(String, bool)>,
}

/// An index: a variable, or an element that it is the index of, times a factor, perhaps another variable, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The factor of the dimension's variable.
    pub factor: i64,
    /// The dimension whose variable is added.
    pub plus: Option<usize>,
    /// The number that is added.
    pub constant: i64,
    /// The tensor or list that has the variable as its index.
    pub through: Option<Through>,
    /// The rule for indices outside.
    pub border: Option<Rule>,
}

/// An element of order 0 or 1 in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// A value of a tensor, by its place among the tensors, or a number. The element alone is the index, if it is `alone`.
    Tensor {
        /// The place.
        place: usize,
        /// True if nothing is added, and the factor is 1.
        alone: bool,
    },
    /// A value of a list of so many numbers from 0, in descending order, as many as the variable has values.
    List(u64),
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
    /// The value of a variable.
    Index(usize),
    /// A number, as written.
    Number(&'static str),
    /// A function of one operand.
    Unary(UnaryFn, Box<Tree>),
    /// A function of two operands.
    Binary(BinaryFn, Box<Tree>, Box<Tree>),
    /// `select` of a condition and two values.
    Select(Box<[Tree; 3]>),
    /// An explicit reduction.
    Reduce(Monoid, usize, Box<Tree>),
    /// An operator that the program declares.
    Apply(Operator, Vec<Tree>),
    /// A conversion, as `cast<type>(...)` where that is asked for, else as `type(...)`.
    Cast(DType, bool, Box<Tree>),
}

impl Tree {
    /// The operands.
    pub fn children(&self) -> Vec<&Tree> {
        match self {
            Tree::Access(..) | Tree::Index(_) | Tree::Number(_) => Vec::new(),
            Tree::Unary(_, a) | Tree::Reduce(_, _, a) | Tree::Cast(_, _, a) => vec![a],
            Tree::Binary(_, a, b) => vec![a, b],
            Tree::Select(operands) => operands.iter().collect(),
            Tree::Apply(_, operands) => operands.iter().collect(),
        }
    }

    /// Adds the operators in it, each once.
    fn operators(&self, found: &mut Vec<Operator>) {
        match self {
            Tree::Apply(operator, _) => operator.collect(found),
            Tree::Reduce(monoid, ..) => monoid.operators(found),
            _ => {}
        }
        self.children().into_iter().for_each(|child| child.operators(found));
    }

    /// Variables that occur in it, each once.
    pub fn vars(&self) -> Vec<usize> {
        let mut found = match self {
            Tree::Access(_, vars) => vars.clone(),
            Tree::Index(var) => vec![*var],
            _ => self.children().into_iter().flat_map(Tree::vars).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    /// True if all its functions give 0 of operands that are absent.
    pub fn keeps_zero(&self) -> bool {
        let keeps = match self {
            Tree::Unary(function, _) => function.keeps_zero(),
            Tree::Binary(function, ..) => function.keeps_zero(),
            Tree::Number(_) | Tree::Select(_) | Tree::Apply(..) | Tree::Reduce(..) => false,
            Tree::Access(..) | Tree::Index(_) | Tree::Cast(..) => true,
        };
        keeps && self.children().into_iter().all(Tree::keeps_zero)
    }

    /// True if the value of an index variable occurs in it.
    pub fn has_places(&self) -> bool {
        matches!(self, Tree::Index(_)) || self.children().into_iter().any(Tree::has_places)
    }

    /// Tensors of accesses, in order.
    pub fn tensors(&self) -> Vec<usize> {
        match self {
            Tree::Access(tensor, _) => vec![*tensor],
            _ => self.children().into_iter().flat_map(Tree::tensors).collect(),
        }
    }

    fn text(&self, tensors: &[Operand]) -> String {
        let call = |name: &str, args: &[&Tree]| {
            let args: Vec<String> = args.iter().map(|arg| arg.text(tensors)).collect();
            format!("{name}({})", args.join(", "))
        };
        match self {
            Tree::Access(tensor, vars) => access_text(tensors, *tensor, vars),
            Tree::Index(var) => VARS[*var].to_string(),
            Tree::Number(text) => (*text).to_string(),
            Tree::Unary(UnaryFn::Neg, a) => format!("(-{})", a.text(tensors)),
            Tree::Unary(function, a) => call(Function::Unary(*function).name(), &[a]),
            Tree::Binary(function, a, b) => match function.symbol() {
                Some(symbol) => format!("({} {symbol} {})", a.text(tensors), b.text(tensors)),
                None => call(Function::Binary(*function).name(), &[a, b]),
            },
            Tree::Select(operands) => call(Function::Select.name(), &operands.iter().collect::<Vec<_>>()),
            Tree::Apply(operator, operands) => call(operator.name(), &operands.iter().collect::<Vec<_>>()),
            Tree::Reduce(monoid, var, a) => format!("{}({}, {})", monoid.name(), VARS[*var], a.text(tensors)),
            Tree::Cast(dtype, true, a) => format!("cast<{dtype}>({})", a.text(tensors)),
            Tree::Cast(dtype, false, a) => format!("{dtype}({})", a.text(tensors)),
        }
    }
}

/// The variables that stand as values in an expression.
fn values(tree: &Tree) -> Vec<usize> {
    match tree {
        Tree::Index(var) => vec![*var],
        _ => tree.children().into_iter().flat_map(values).collect(),
    }
}

fn access_text(tensors: &[Operand], tensor: usize, vars: &[usize]) -> String {
    let tensor = &tensors[tensor];
    let name = &tensor.name;
    if vars.is_empty() {
        return name.clone();
    }
    let index = |(dimension, &var): (usize, &usize)| match tensor.indices.get(dimension).copied().flatten() {
        None => VARS[var].to_string(),
        Some(Form { factor, plus, constant, through, border }) => {
            let bordered = |sum: String| border.map_or(sum.clone(), |rule| format!("{}({sum})", rule.name()));
            let own = match through {
                Some(Through::Tensor { place, .. }) => {
                    let var = if tensors[place].dims.is_empty() { "" } else { VARS[var] };
                    format!("{}({var})", tensors[place].name)
                }
                Some(Through::List(length)) => {
                    let numbers: Vec<String> = (0..length).rev().map(|number| number.to_string()).collect();
                    format!("{{{}}}({})", numbers.join(", "), VARS[var])
                }
                None => VARS[var].to_string(),
            };
            if matches!(through, Some(Through::Tensor { alone: true, .. })) {
                return bordered(own);
            }
            let plus =
                plus.and_then(|other| vars.get(other)).map_or(String::new(), |other| format!(" + {}", VARS[*other]));
            let term = match factor {
                1 => own,
                _ => format!("{factor} * {own}"),
            };
            bordered(format!("{term}{plus} + {constant}"))
        }
    };
    let indices: Vec<String> = vars.iter().enumerate().map(index).collect();
    format!("{name}({})", indices.join(","))
}

impl Sketch {
    /// The program's text.
    pub fn text(&self) -> String {
        let lines = self.statements.iter().map(|statement| {
            let lhs = access_text(&self.tensors, statement.result, &statement.vars);
            let op = statement.combines.map_or("=", Monoid::sign);
            format!("{lhs} {op} {}", statement.rhs.text(&self.tensors))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let declared: String = self.operators().iter().map(|used| format!("{}\n", used.declaration().text)).collect();
        let used = self.used();
        let made = self.made.iter().filter(|(place, _)| used.contains(place));
        let declared = declared + &made.map(|(_, action)| format!("{action}\n")).collect::<String>();
        match self.rounds {
            Some(rounds) => format!("{declared}for round in 0 .. {rounds} {{\n{text}\n}}"),
            None => declared + &text,
        }
    }

    /// The operators that occur in statements, each once.
    fn operators(&self) -> Vec<Operator> {
        let mut found = Vec::new();
        for statement in &self.statements {
            statement.rhs.operators(&mut found);
            if let Some(monoid) = statement.combines {
                monoid.operators(&mut found);
            }
        }
        found
    }

    /// True if a statement may find a value that it has assigned before.
    pub fn repeats(&self) -> bool {
        let reads_itself = |statement: &Statement| statement.rhs.tensors().contains(&statement.result);
        self.rounds.is_some() || self.statements.iter().any(reads_itself)
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
            if let Some((text, is_unique)) = &tensor.structure {
                let parsed = structure::parse(&format!("{}{text}", tensor.name));
                let (_, spec) = parsed.map_err(|found| found.message)?;
                declarations = declarations.structure(&tensor.name, spec);
                declarations.unique.extend(is_unique.then(|| tensor.name.clone()));
            }
            if tensor.given {
                let seed = self.seed.wrapping_add(place as u64);
                let dtype = tensor.dtype.unwrap_or(DType::F64);
                let entries = data::entries(seed, &tensor.dims, dtype, tensor.density, tensor.zeros);
                let entries = match tensor.heavy {
                    Some(heavy) => data::uneven(seed, entries, heavy),
                    None => entries,
                };
                let entries = fitting(entries, &tensor.format);
                let entries = match tensor.below {
                    Some(size) => data::below(seed, entries, size),
                    None => entries,
                };
                given.insert(tensor.name.clone(), entries);
            }
        }
        for var in self.statements.iter().flat_map(|statement| values(&statement.rhs)) {
            declarations = declarations.size(VARS[var], self.sizes[var]);
        }
        let instance = Instance::new(format!("random/{}", self.seed), self.text(), declarations, given)?;
        Ok(Instance { setup: self.setup.clone(), ..instance })
    }

    /// The places of tensors that occur in a statement.
    fn used(&self) -> Vec<usize> {
        let results = self.statements.iter().map(|statement| statement.result);
        let named: Vec<usize> =
            results.chain(self.statements.iter().flat_map(|statement| statement.rhs.tensors())).collect();
        let forms = named.iter().flat_map(|place| self.tensors[*place].indices.iter().flatten());
        let indices = forms.filter_map(|form| match form.through {
            Some(Through::Tensor { place, .. }) => Some(place),
            _ => None,
        });
        let indices: Vec<usize> = indices.collect();
        [named, indices].concat()
    }
}
