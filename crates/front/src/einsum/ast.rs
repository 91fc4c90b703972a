//! The syntax tree: the text as written, with nothing resolved.
//!
//! `A(i,j)` and `max(x, y)` are both an [`ExprKind::Apply`]; the check decides from the name which is an access and which a call.
//! No tree is higher than [`MAX_HEIGHT`], so that recursion over it is bounded.

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_formats::External;
use lacunar_notation::{AssignOp, BinaryFn, Monoid, Operator};

use super::action::Action;
use super::brackets::Bracket;
use crate::concrete::{Line, Nest};

/// The greatest height of an expression. Each operator, call or pair of parentheses adds one, so a sum of this many
/// terms reaches it.
pub const MAX_HEIGHT: usize = 200;

/// Statements in the order of the text, and the actions that carry them out.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// The statements that could be read.
    pub statements: Vec<Statement>,
    /// The actions that could be read, with every statement once.
    pub body: Vec<Action>,
    /// The operators, in the order of the text.
    pub operators: Vec<Declared>,
    /// The declarations of lines for tensors.
    pub lines: Vec<Line>,
    /// The relations in brackets of loops, by the names of the tensors that stand for them.
    pub brackets: IndexMap<String, Bracket>,
}

/// `lhs op rhs`.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The name of the tensor that is assigned to.
    pub name: Name,
    /// Its indices as written.
    pub indices: Vec<Expr>,
    /// The span of the name with its indices.
    pub lhs_span: Span,
    /// `=`, `+=` or one of its kin; of `-=`, `+=`.
    pub op: AssignOp,
    /// The value.
    pub rhs: Expr,
    /// All of it.
    pub span: Span,
    /// Its loops, if it is written in concrete notation; the other fields are the meaning of these.
    pub nest: Option<Box<Nest>>,
}

/// A word and its place.
#[derive(Clone, Debug)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression, with its operands.
    pub kind: ExprKind,
    /// Its place, without enclosing parentheses.
    pub span: Span,
    /// One more than the height of its highest operand.
    pub height: usize,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Number(Number),
    /// `true` or `false`.
    Bool(bool),
    /// A name alone: a scalar, or an index variable.
    Name(String),
    /// `name(...)` or `name[...]`.
    Apply {
        /// The word before the parentheses.
        name: Name,
        /// The indices or arguments inside.
        args: Vec<Expr>,
        /// The facts that are known of the name.
        callee: Callee,
    },
    /// `{1, 3, 5}`, or `{1, 3, 5}(i)`: the number at a place of a list, of coordinates.
    List {
        /// The numbers; at least one.
        values: Vec<u64>,
        /// The place; if it is not written, every place.
        index: Option<Box<Expr>>,
    },
    /// `cast<type>(operand)`.
    Cast {
        /// The type as written.
        dtype: Name,
        /// The expression that is converted.
        operand: Box<Expr>,
    },
    /// `-operand`.
    Neg(Box<Expr>),
    /// The identity of a monoid, in the type of the value that it stands beside. A value that is not written: it stands where an index
    /// confines a value.
    Identity(Monoid),
    /// Two operands with a sign between them.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The word that counts the entries of a tensor.
    pub const COUNT: &str = "nnz";

    /// The name that the expression is.
    pub fn variable(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The name of the tensor whose entries the expression counts, and its place: `nnz(A)`.
    pub fn counted(&self) -> Option<(&str, Span)> {
        match &self.kind {
            ExprKind::Apply { name, args, callee: Callee::Named } if name.text == Expr::COUNT => {
                match args.as_slice() {
                    [tensor] => tensor.variable().map(|name| (name, tensor.span)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The facts that are known of the name before parentheses or brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The name alone tells.
    Named,
    /// It is written with brackets, so certainly a tensor's.
    Tensor,
    /// An operator that the program has declared before.
    Operator(Operator),
}

/// The declaration of an operator.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The operator.
    pub operator: Operator,
    /// Its name.
    pub name: Name,
    /// Its bodies.
    pub bodies: Bodies,
}

/// The bodies of an operator.
#[derive(Clone, Debug)]
pub enum Bodies {
    /// One for all regions.
    One(Expr),
    /// The bodies of regions, each a number whose bit `k` says that operand `k` is present.
    Regions(Vec<(usize, Expr)>),
    /// None: `extern`, the function of other code that has the operator's name.
    External(External),
}

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Without point and exponent.
    Int(u64),
    /// With one of them; finite.
    Float(f64),
}

/// The signs between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl BinaryOp {
    /// The function that a sign stands for.
    pub fn function(self) -> BinaryFn {
        match self {
            BinaryOp::Add => BinaryFn::Add,
            BinaryOp::Sub => BinaryFn::Sub,
            BinaryOp::Mul => BinaryFn::Mul,
            BinaryOp::Div => BinaryFn::Div,
            BinaryOp::Eq => BinaryFn::Eq,
            BinaryOp::Ne => BinaryFn::Ne,
            BinaryOp::Lt => BinaryFn::Lt,
            BinaryOp::Le => BinaryFn::Le,
            BinaryOp::Gt => BinaryFn::Gt,
            BinaryOp::Ge => BinaryFn::Ge,
        }
    }
}
