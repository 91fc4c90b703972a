//! The places of implicit reductions, by definition: the oracle's own reading of `y(i) = b(i) + A(i,j)*c(j)`.
//!
//! A variable of the right-hand side that the left-hand side lacks is summed. The sum over `v` goes around the smallest
//! subexpression that holds all uses of `v`, and each side of a `+` or `-` that uses `v` gets a sum of its own. On the way down it
//! passes negations, the conversion of an assignment to a type that is only stored, products where only one factor uses `v`, and
//! quotients where only the dividend does. It stops at function calls (the sum is around them) and at explicit reductions. A conversion
//! is passed where a term without `v` is added to the others behind it; else the sum is around it. It passes the sums that this rule has
//! placed for other variables, so the order of the variables does not matter. A statement that combines otherwise than by sums (`min=`)
//! reduces its whole right-hand side by its own operation.
//!
//! ```text
//! y(i) = b(i) + A(i,j)*c(j)              y(i) = b(i) + sum(j, A(i,j)*c(j))
//! y(i) = (A(i,j)*x(j) + c(i)) * 2        y(i) = (sum(j, A(i,j)*x(j)) + c(i)) * 2
//! y(i) = a * (B(i,j) + C(i,j)) * d(j)    y(i) = sum(j, (a * (B(i,j) + C(i,j))) * d(j))
//! y(i) = a * ((B(i,j) + C(i,j)) * d(j))  y(i) = a * sum(j, (B(i,j) + C(i,j)) * d(j))
//! y(i) = exp(A(i,j))                     y(i) = sum(j, exp(A(i,j)))
//! y(i) = f32(A(i,j))                     y(i) = sum(j, f32(A(i,j)))
//! y(i) = f32(b(i) - A(i,j))              y(i) = f32(b(i) - sum(j, A(i,j)))
//! ```

use std::rc::Rc;

use lacunar_formats::DType;
use lacunar_notation::{BinaryFn, TensorId, UnaryFn, VarId};

use crate::operators::{Defined, Operation};
use crate::scalar::Scalar;
use crate::types::computed_in;

/// An expression in which every reduction is explicit and over one variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The kind of term, with its parts.
    pub node: Node,
    /// The type of its value.
    pub dtype: DType,
}

/// The kinds of terms.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A constant; `None` is a structural zero.
    Constant(Option<Scalar>),
    /// An element of a tensor.
    Element(TensorId, Vec<Index>),
    /// The value of a variable.
    Index(VarId),
    /// A relation of index variables: absent where it does not hold.
    Related(BinaryFn, Box<[Index; 2]>),
    /// A function of one operand.
    Unary(UnaryFn, Box<Term>),
    /// A function of two operands.
    Binary(BinaryFn, Box<Term>, Box<Term>),
    /// The second of three operands where the first is true, else the third.
    Select(Box<[Term; 3]>),
    /// An operator that the program declares.
    Apply(Rc<Defined>, Vec<Term>),
    /// In the body of an operator: its operand of this number.
    Operand(usize),
    /// A conversion to the term's type.
    Cast(Box<Term>),
    /// The combination of the present values of a term for every value of a variable.
    Reduce {
        /// The operation that combines two values: the sum, if it is implicit in a term.
        operation: Operation,
        /// The variable.
        var: VarId,
        /// True if the user wrote it; otherwise it was implicit.
        written: bool,
        /// The term.
        body: Box<Term>,
    },
}

/// An index: a sum of variables and of elements, each times a number, and a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// The variables with their factors.
    pub terms: Vec<(VarId, i64)>,
    /// The elements of tensors and of lists, with their factors.
    pub elements: Vec<(TensorId, Vec<Index>, i64)>,
    /// The number that is added.
    pub constant: i64,
    /// True if it was written as more than a variable or an element.
    pub is_sum: bool,
    /// The rule for sums outside of the dimension, if there is one.
    pub border: Option<Border>,
}

/// The rule for indices outside of their dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// The dimension goes round.
    Wrap,
    /// The nearest coordinate is taken.
    Clamp,
}

impl Border {
    /// The coordinate for a sum; `None` in a dimension without coordinates.
    pub fn coordinate(self, sum: i128, size: u64) -> Option<i128> {
        let size = i128::from(size);
        match self {
            _ if size == 0 => None,
            Border::Wrap => Some(((sum % size) + size) % size),
            Border::Clamp => Some(if sum < 0 { 0 } else { sum.min(size - 1) }),
        }
    }
}

/// The tensors that indices ask of.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The value of an element of a tensor at a coordinate; `None` outside of its dimensions.
    pub element: &'a dyn Fn(TensorId, &[u64]) -> Option<i128>,
    /// The sizes of the dimensions of each tensor.
    pub dims: &'a [Vec<u64>],
}

impl From<VarId> for Index {
    fn from(var: VarId) -> Index {
        Index { terms: vec![(var, 1)], elements: Vec::new(), constant: 0, is_sum: false, border: None }
    }
}

impl Index {
    /// The variable, of an index that is one.
    pub fn variable(&self) -> Option<VarId> {
        match (self.terms.as_slice(), self.is_sum, self.border) {
            (&[(var, 1)], false, None) => Some(var),
            _ => None,
        }
    }

    /// The same with other variables.
    pub fn renamed(self, to: &impl Fn(VarId) -> VarId) -> Index {
        let terms = self.terms.into_iter().map(|(var, factor)| (to(var), factor)).collect();
        let elements = self
            .elements
            .into_iter()
            .map(|(of, at, factor)| (of, at.into_iter().map(|index| index.renamed(to)).collect(), factor));
        Index { terms, elements: elements.collect(), ..self }
    }

    /// The coordinate in a dimension of a size, where variables have these values; `None` before the first, and where an element in it
    /// lies outside.
    fn at(&self, size: u64, values: &[u64], asked: Asked<'_>) -> Option<u64> {
        u64::try_from(self.value(size, values, asked)?).ok()
    }

    /// Its value in a dimension of a size, for these values of variables; `None` if an element in it lies outside.
    pub fn value(&self, size: u64, values: &[u64], asked: Asked<'_>) -> Option<i128> {
        let terms = self.terms.iter().map(|(var, factor)| i128::from(*factor) * i128::from(values[var.index()]));
        let mut sum = terms.sum::<i128>() + i128::from(self.constant);
        for (tensor, indices, factor) in &self.elements {
            sum += i128::from(*factor) * (asked.element)(*tensor, &coordinate(*tensor, indices, values, asked)?)?;
        }
        match self.border {
            Some(border) => border.coordinate(sum, size),
            None => Some(sum),
        }
    }

    /// Its elements, and those in their indices.
    pub fn collect<'t>(&'t self, found: &mut Vec<(TensorId, &'t [Index])>) {
        for (tensor, indices, _) in &self.elements {
            found.push((*tensor, indices));
            indices.iter().for_each(|index| index.collect(found));
        }
    }
}

/// The coordinate of a tensor that indices are, where variables have these values; `None` where one of them lies outside.
pub fn coordinate(tensor: TensorId, indices: &[Index], values: &[u64], asked: Asked<'_>) -> Option<Vec<u64>> {
    let sizes = &asked.dims[tensor.index()];
    indices.iter().zip(sizes).map(|(index, &size)| index.at(size, values, asked)).collect()
}

/// The variables of indices, each once.
pub fn variables(indices: &[Index]) -> Vec<VarId> {
    let mut found = Vec::new();
    for index in indices {
        let own = index.terms.iter().map(|(var, _)| *var);
        let inner = index.elements.iter().flat_map(|(_, indices, _)| variables(indices));
        for var in own.chain(inner) {
            if !found.contains(&var) {
                found.push(var);
            }
        }
    }
    found
}

/// The indices of an element, and those that a relation is of.
pub fn indices_of(node: &Node) -> &[Index] {
    match node {
        Node::Element(_, indices) => indices,
        Node::Related(_, sides) => &sides[..],
        _ => &[],
    }
}

/// The value of a statement with all its reductions, if these are the variables of its target and it combines by an operation.
pub fn with_reductions(rhs: &Term, vars: &[VarId], operation: &Operation) -> Term {
    let mut free = Vec::new();
    free_vars(rhs, &mut Vec::new(), &mut free);
    let free = free.into_iter().filter(|var| !vars.contains(var));
    if *operation == Operation::SUM {
        return free.fold(rhs.clone(), place);
    }
    around_value(rhs.clone(), &|value| {
        free.clone().fold(value, |value, var| reduce(operation.clone(), value, var, false))
    })
}

/// The term with its value replaced; values are rounded to a type for storage once.
fn around_value(term: Term, made: &impl Fn(Term) -> Term) -> Term {
    let Term { node, dtype } = term;
    match node {
        Node::Cast(a) if computed_in(dtype) != dtype => {
            Term { node: Node::Cast(Box::new(around_value(*a, made))), dtype }
        }
        node => made(Term { node, dtype }),
    }
}

/// The variables that no reduction of a term binds, in the order of the text.
fn free_vars(term: &Term, bound: &mut Vec<VarId>, found: &mut Vec<VarId>) {
    match &term.node {
        Node::Constant(_) | Node::Operand(_) => {}
        Node::Element(..) | Node::Related(..) => {
            for var in variables(indices_of(&term.node)) {
                if !bound.contains(&var) && !found.contains(&var) {
                    found.push(var);
                }
            }
        }
        Node::Index(var) => {
            if !bound.contains(var) && !found.contains(var) {
                found.push(*var);
            }
        }
        Node::Unary(_, a) | Node::Cast(a) => free_vars(a, bound, found),
        Node::Binary(_, a, b) => {
            free_vars(a, bound, found);
            free_vars(b, bound, found);
        }
        Node::Select(operands) => operands.iter().for_each(|operand| free_vars(operand, bound, found)),
        Node::Apply(_, operands) => operands.iter().for_each(|operand| free_vars(operand, bound, found)),
        Node::Reduce { var, body, .. } => {
            bound.push(*var);
            free_vars(body, bound, found);
            bound.pop();
        }
    }
}

/// A term in a type.
pub fn cast(term: Term, dtype: DType) -> Term {
    if term.dtype == dtype { term } else { Term { node: Node::Cast(Box::new(term)), dtype } }
}

/// The function of a reduction that gives the value of its variable where the term is least or greatest.
pub fn gives_index(operation: &Operation) -> Option<BinaryFn> {
    match operation {
        Operation::Function(function @ (BinaryFn::ArgMin | BinaryFn::ArgMax)) => Some(*function),
        _ => None,
    }
}

/// The reduction of a term over a variable, written or implicit.
pub fn reduce(operation: Operation, body: Term, var: VarId, written: bool) -> Term {
    let dtype = if gives_index(&operation).is_some() { DType::I64 } else { body.dtype };
    Term { node: Node::Reduce { operation, var, written, body: Box::new(body) }, dtype }
}

/// The term with a sum over `var` around each part that needs one.
fn place(whole: Term, var: VarId) -> Term {
    if !uses(&whole, var) {
        return whole;
    }
    let Term { node, dtype } = whole;
    let inside = |part: Box<Term>| Box::new(place(*part, var));
    let node = match node {
        Node::Binary(function @ (BinaryFn::Add | BinaryFn::Sub), a, b) => Node::Binary(function, inside(a), inside(b)),
        Node::Unary(function @ (UnaryFn::Neg | UnaryFn::Prune), a) => Node::Unary(function, inside(a)),
        Node::Cast(a) if computed_in(dtype) != dtype => Node::Cast(inside(a)),
        Node::Cast(a) if has_term_without(&a, var) => Node::Cast(inside(a)),
        Node::Binary(BinaryFn::Mul, a, b) if !uses(&b, var) => Node::Binary(BinaryFn::Mul, inside(a), b),
        Node::Binary(BinaryFn::Mul, a, b) if !uses(&a, var) => Node::Binary(BinaryFn::Mul, a, inside(b)),
        Node::Binary(BinaryFn::Div, a, b) if !uses(&b, var) => Node::Binary(BinaryFn::Div, inside(a), b),
        Node::Reduce { operation, var: other, written: false, body } => {
            Node::Reduce { operation, var: other, written: false, body: inside(body) }
        }
        node => return reduce(Operation::SUM, Term { node, dtype }, var, false),
    };
    Term { node, dtype }
}

/// True if a part of a term is added to the sum over a variable that another part of it gets.
fn has_term_without(term: &Term, var: VarId) -> bool {
    if !uses(term, var) {
        return true;
    }
    let has = |part: &Term| has_term_without(part, var);
    match &term.node {
        Node::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) => has(a) || has(b),
        // The whole sum is pruned.
        Node::Unary(UnaryFn::Prune, _) => true,
        Node::Unary(UnaryFn::Neg, a) | Node::Cast(a) => has(a),
        Node::Binary(BinaryFn::Mul, a, b) if !uses(b, var) => has(a),
        Node::Binary(BinaryFn::Mul, a, b) if !uses(a, var) => has(b),
        Node::Binary(BinaryFn::Div, a, b) if !uses(b, var) => has(a),
        Node::Reduce { written: false, body, .. } => has(body),
        _ => false,
    }
}

/// True if a variable occurs free in a term.
fn uses(term: &Term, var: VarId) -> bool {
    match &term.node {
        Node::Constant(_) | Node::Operand(_) => false,
        Node::Element(..) | Node::Related(..) => variables(indices_of(&term.node)).contains(&var),
        Node::Index(own) => *own == var,
        Node::Unary(_, a) | Node::Cast(a) => uses(a, var),
        Node::Binary(_, a, b) => uses(a, var) || uses(b, var),
        Node::Select(operands) => operands.iter().any(|operand| uses(operand, var)),
        Node::Apply(_, operands) => operands.iter().any(|operand| uses(operand, var)),
        Node::Reduce { var: bound, body, .. } => *bound != var && uses(body, var),
    }
}
