//! Index notation: statements such as `y(i) = A(i,j) * x(j) + b(i)`, with every name resolved and every expression typed.
//!
//! A [`Program`] holds tensors, index variables, statements, and the actions in which these are carried out
//! ([`crate::program`]): all in order, unless it says otherwise. Statement results may be used by later ones.
//! Summation may be implicit here (`j` above): in each additive term, variables that do not occur on the left are
//! summed over that term. The compiler makes it explicit as its first step.
//!
//! Invariants (of a program that `front` has checked): an access has as many variables as its tensor has dimensions;
//! all sizes of one variable agree where they are known; an expression's operands have the types that its function
//! demands (conversions are explicit [`ExprKind::Cast`]s); inputs are not assigned to; every variable on a left-hand
//! side occurs on the right or has a known size.

use lacunar_base::{Arena, Handle, Span};
use lacunar_formats::{DType, Format, Scalar};

use crate::border::Border;
use crate::concrete::Kernel;
use crate::indicator::Indicator;
use crate::monoid::Monoid;
use crate::operator::Operator;
use crate::ops::{BinaryFn, UnaryFn};
use crate::program::Action;
use crate::stored::View;
use crate::structure::Structure;

/// Names a tensor of a program.
pub type TensorId = Handle<Tensor>;
/// Names an index variable of a program.
pub type VarId = Handle<IndexVar>;

/// Tensors, index variables, and statements in order.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All tensors, in order of their first appearance.
    pub tensors: Arena<Tensor>,
    /// All index variables, in order of their first appearance.
    pub vars: Arena<IndexVar>,
    /// The statements, each once, in the order of the text.
    pub statements: Vec<Assignment>,
    /// The actions in which they are carried out: see [`crate::program`].
    pub body: Vec<Action>,
    /// The numbers of those whose loops the user has written, each with the loops. Their first tensors and variables are the program's.
    pub loops: Vec<(usize, Kernel)>,
    /// The operators that it declares, in the order of the text.
    pub operators: Vec<Operator>,
    /// The results that it is for, in order of their first appearance; if it does not say so, none, and all are.
    pub outputs: Vec<TensorId>,
}

/// A tensor without its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name, unique in the program.
    pub name: String,
    /// Its format. Its number of levels is the tensor's order.
    pub format: Format,
    /// The type of its elements.
    pub dtype: DType,
    /// The value of every element that is not stored, if it is declared or inferred; else 0 ([`Tensor::fill`]).
    pub fill: Option<Scalar>,
    /// The size of each dimension, if known at compile time. Kernels take sizes as parameters; these serve checks and the planner.
    pub dims: Vec<Option<u64>>,
    /// Its origin.
    pub role: Role,
    /// Number of stored values, if known (for the planner).
    pub nnz: Option<u64>,
    /// Number of stored values under that coordinate of the outermost level that has the most, if known (for the planner).
    pub heaviest: Option<u64>,
    /// True if the lengths of its innermost segments are steady, if that is known (for vector loops over them).
    pub steady: Option<bool>,
    /// True if the coordinates of its innermost segments lie scattered, if that is known (for vector loops that gather by them).
    pub scattered: Option<bool>,
    /// In a kernel that walks through stored dimensions: the view of the tensor whose storage this is.
    pub view: Option<View>,
    /// The relation between its coordinates, if it is an indicator.
    pub indicator: Option<Box<Indicator>>,
    /// The structure of its elements, known before any is given; its parameters are the sizes of the dimensions.
    pub structure: Option<Box<Structure>>,
    /// True if the unique elements of its structure alone are stored: all others follow from these.
    pub is_unique: bool,
    /// The place at which it first appears.
    pub span: Span,
}

/// The origin of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Given by the user, never written.
    Input,
    /// The values of an index variable, as a vector whose element `i` is `i`: nobody gives it, and nothing is stored.
    Index,
    /// Assigned by a statement.
    Result,
    /// Made by the compiler, inside one kernel.
    Workspace(WorkspaceKind),
    /// It has no storage of its own: a relation between coordinates tells its elements ([`Tensor::indicator`]).
    Indicator,
}

/// The storage of the values that are scattered into a workspace (Kjolstad et al. 2019, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkspaceKind {
    /// Order 0: a variable.
    Scalar,
    /// Every coordinate has a place, none is remembered: for consumers that visit them all.
    Dense,
    /// Order 1: a dense array, a mark for each coordinate, and the list of those that are set.
    Marked,
    /// Order 1: a dense array, a mark for each coordinate, and one for each 64 coordinates; the marks that are set are read off
    /// in order.
    Bitmap,
    /// Order 1: a dense array, the list of the coordinates that were given something, as they came, and for each coordinate the
    /// number of the filling in which it was.
    Stamped,
    /// Any order: a list of coordinates and values, each coordinate once, and a table that finds its place on the list.
    Hashed,
    /// Any order: a list of coordinates and values, sorted and combined before it is read.
    Sorted,
}

impl WorkspaceKind {
    /// The kind of a workspace with so many variables: marks and places are for one.
    pub fn for_order(self, order: usize) -> WorkspaceKind {
        match (order, self) {
            (0, _) => WorkspaceKind::Scalar,
            (1, kind) | (_, kind @ (WorkspaceKind::Dense | WorkspaceKind::Hashed)) => kind,
            _ => WorkspaceKind::Sorted,
        }
    }
}

impl Role {
    /// True for a tensor that has no storage: its elements follow from their coordinates.
    pub fn is_computed(self) -> bool {
        matches!(self, Role::Indicator | Role::Index)
    }

    /// True for a workspace that has its values at their coordinates, and marks or stamps that tell which have one.
    pub fn is_marked(self) -> bool {
        matches!(self, Role::Workspace(WorkspaceKind::Marked | WorkspaceKind::Bitmap | WorkspaceKind::Stamped))
    }

    /// True for a workspace that is a list of coordinates and values.
    pub fn is_list(self) -> bool {
        matches!(self, Role::Workspace(WorkspaceKind::Hashed | WorkspaceKind::Sorted))
    }

    /// True for a workspace that is read by a list of its coordinates.
    pub fn is_listed(self) -> bool {
        self.is_marked() || self.is_list()
    }
}

/// An index variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVar {
    /// Its name, unique in the program.
    pub name: String,
    /// The size of the dimensions it runs over, if known at compile time.
    pub size: Option<u64>,
    /// The place at which it first appears.
    pub span: Span,
}

/// A tensor indexed by variables, one for each dimension. A variable may occur more than once (`A(i,i)`).
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// The variable of each dimension.
    pub vars: Vec<VarId>,
    /// Its place in the text.
    pub span: Span,
}

/// One statement: `lhs = rhs`, or `lhs += rhs` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The access that is assigned to; its variables are distinct.
    pub lhs: Access,
    /// The way of assigning.
    pub op: AssignOp,
    /// The value.
    pub rhs: Expr,
    /// Its place in the text.
    pub span: Span,
}

impl Access {
    /// True if another access is of the same element, wherever in the text it stands.
    ///
    /// ```
    /// use lacunar_base::Span;
    /// use lacunar_notation::{Access, TensorId, VarId};
    /// let at = |place| Access {
    ///     tensor: TensorId::from_index(0),
    ///     vars: vec![VarId::from_index(0)],
    ///     span: Span::new(place, place + 4),
    /// };
    /// assert!(at(7).is_same_element(&at(14)) && at(7) != at(14));
    /// ```
    pub fn is_same_element(&self, other: &Access) -> bool {
        self.tensor == other.tensor && self.vars == other.vars
    }
}

/// The treatment of the earlier value by an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AssignOp {
    /// `=`: replaces.
    Set,
    /// `+=`, `min=` and their kin: combines with the earlier value.
    Reduce(Monoid),
}

impl AssignOp {
    /// The monoid by which values are combined with the earlier one.
    pub fn monoid(self) -> Option<Monoid> {
        match self {
            AssignOp::Set => None,
            AssignOp::Reduce(monoid) => Some(monoid),
        }
    }
}

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The kind of expression, with its operands.
    pub kind: ExprKind,
    /// The type of its value.
    pub dtype: DType,
    /// Its place in the text.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// An element of a tensor.
    Access(Access),
    /// A function of one operand.
    Unary(UnaryFn, Box<Expr>),
    /// A function of two operands of one type.
    Binary(BinaryFn, Box<Expr>, Box<Expr>),
    /// `select(c, a, b)`: the first of two values of one type if the condition, a `bool`, holds, else the second.
    Select(Box<[Expr; 3]>),
    /// An operator that the program declares, for operands of one type, which these have.
    Apply(Operator, Vec<Expr>),
    /// Conversion to the expression's type.
    Cast(Box<Expr>),
    /// A reduction over variables, e.g. `sum(k, ...)` or `min(k, ...)`. Concrete notation has none.
    Reduce(Monoid, Vec<VarId>, Box<Expr>),
}

/// A constant; its type is that of the expression it is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A structural zero: the value that an access reads where nothing is stored. Made by the compiler, never by a user.
    Absent,
    /// The value that an access reads where nothing is stored and the fill value is not 0, or a consequence of such values. Made by
    /// the compiler, never by a user.
    Fill(Scalar),
}

impl Literal {
    /// The constant as a scalar of a type: integers wrap, real numbers lose their fraction in an integer type, and what is absent is zero.
    ///
    /// ```
    /// use lacunar_formats::{DType, Scalar};
    /// use lacunar_notation::Literal;
    /// assert_eq!(Literal::Int(2).value(DType::F32), Scalar::real(DType::F32, 2.0));
    /// assert_eq!(Literal::Absent.value(DType::I64), Scalar::int(DType::I64, 0));
    /// ```
    pub fn value(self, ty: DType) -> Scalar {
        match self {
            Literal::Absent => Scalar::zero(ty),
            Literal::Fill(value) => value,
            Literal::Bool(value) if ty.is_float() => Scalar::real(ty, f64::from(u8::from(value))),
            Literal::Bool(value) => Scalar::int(ty, i64::from(value)),
            Literal::Int(value) if ty.is_float() => Scalar::real(ty, value as f64),
            Literal::Int(value) if ty == DType::Bool => Scalar::bool(value != 0),
            Literal::Int(value) => Scalar::int(ty, value as i64),
            Literal::Float(value) if ty.is_float() => Scalar::real(ty, value),
            Literal::Float(value) if ty == DType::Bool => Scalar::bool(value != 0.0),
            Literal::Float(value) => Scalar::int(ty, value as i64),
        }
    }
}

impl Tensor {
    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.format.order()
    }

    /// A workspace for values over some variables of these sizes. `fill` is its value where nothing was combined: the identity of the
    /// monoid that fills it.
    pub fn workspace(name: String, kind: WorkspaceKind, dims: Vec<Option<u64>>, fill: Scalar, span: Span) -> Tensor {
        let format = match kind {
            WorkspaceKind::Scalar | WorkspaceKind::Dense => Format::dense(dims.len()),
            WorkspaceKind::Marked | WorkspaceKind::Bitmap | WorkspaceKind::Stamped => Format::sv(),
            WorkspaceKind::Hashed | WorkspaceKind::Sorted => Format::coo(dims.len()),
        };
        let role = Role::Workspace(kind);
        let (dtype, fill) = (fill.ty, (!fill.is_zero()).then_some(fill));
        Tensor {
            name,
            format,
            dtype,
            fill,
            dims,
            role,
            nnz: None,
            heaviest: None,
            steady: None,
            scattered: None,
            view: None,
            indicator: None,
            structure: None,
            is_unique: false,
            span,
        }
    }

    /// The values of an index variable of this size, by the name that [`values_name`] gives.
    pub fn values_of(name: String, size: Option<u64>, span: Span) -> Tensor {
        let (role, dims) = (Role::Index, vec![size]);
        let values = Tensor::workspace(name, WorkspaceKind::Dense, dims, Scalar::zero(DType::I64), span);
        Tensor { role, ..values }
    }

    /// The number of values that it stores, if it is packed, its sizes are known, and a formula tells.
    pub fn packed_count(&self) -> Option<u64> {
        let packing = self.format.packing()?;
        packing.count(&self.dims.iter().copied().collect::<Option<Vec<u64>>>()?)
    }

    /// The tensor whose values are coordinates of this one, if it is an indicator that gathers them.
    pub fn gathered(&self) -> Option<TensorId> {
        self.indicator.as_deref()?.gather()?.tensor()
    }

    /// The border that it is, if it is an indicator of one.
    pub fn border(&self) -> Option<&Border> {
        self.indicator.as_deref()?.gather()?.border()
    }

    /// True for an indicator that the planner gives whatever order of levels it wants.
    pub fn is_in_any_order(&self) -> bool {
        self.indicator.as_deref().is_some_and(Indicator::is_in_any_order)
    }

    /// True if every element is stored, at a place that follows from its coordinates alone.
    pub fn is_array(&self) -> bool {
        self.format.is_dense() && self.format.packing().is_none()
    }

    /// True if the coordinate of a dimension follows from all the others, as an indicator says.
    pub fn tells(&self, dimension: usize) -> bool {
        self.indicator.as_deref().is_some_and(|indicator| indicator.tells(dimension))
    }

    /// The value of every element that is not stored.
    pub fn fill(&self) -> Scalar {
        self.fill.unwrap_or(Scalar::zero(self.dtype))
    }
}

/// The name of the tensor of a variable's values, which no text can have.
pub fn values_name(variable: &str) -> String {
    format!("[{variable}]")
}

/// The tensors whose values an expression reads: those of its accesses, and those whose values are indices in it.
pub fn read_by(tensors: &Arena<Tensor>, expr: &Expr) -> Vec<TensorId> {
    let mut found = Vec::new();
    for access in expr.accesses() {
        for tensor in [Some(access.tensor), tensors[access.tensor].gathered()].into_iter().flatten() {
            if !found.contains(&tensor) {
                found.push(tensor);
            }
        }
    }
    found
}

impl Expr {
    /// An expression without a place in the source.
    pub fn new(kind: ExprKind, dtype: DType) -> Expr {
        Expr { kind, dtype, span: Span::NONE }
    }

    /// Zero of a type.
    pub fn zero(dtype: DType) -> Expr {
        let literal = match dtype {
            DType::Bool => Literal::Bool(false),
            _ if dtype.is_float() => Literal::Float(0.0),
            _ => Literal::Int(0),
        };
        Expr::new(ExprKind::Literal(literal), dtype)
    }

    /// An element that is not stored, of a tensor with this fill value.
    pub fn fill(value: Scalar) -> Expr {
        let literal = if value.is_zero() { Literal::Absent } else { Literal::Fill(value) };
        Expr::new(ExprKind::Literal(literal), value.ty)
    }

    /// A structural zero of a type.
    pub fn absent(dtype: DType) -> Expr {
        Expr::new(ExprKind::Literal(Literal::Absent), dtype)
    }

    /// True if it stands for an element that is not stored: a structural zero, or another fill value.
    pub fn is_absent(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(Literal::Absent | Literal::Fill(_)))
    }

    /// A function of two operands, whose result has type `dtype`.
    pub fn binary(function: BinaryFn, a: Expr, b: Expr, dtype: DType) -> Expr {
        let span = a.span.to(b.span);
        let kind = match function {
            BinaryFn::User(operator) => ExprKind::Apply(operator, vec![a, b]),
            function => ExprKind::Binary(function, Box::new(a), Box::new(b)),
        };
        Expr { kind, dtype, span }
    }

    /// An index beside the value that it is the index of: the term of `argmin` and `argmax`.
    pub fn at(value: Expr, index: Expr) -> Expr {
        Expr::binary(BinaryFn::At, value, index, DType::I64)
    }

    /// The value and the index of such a term.
    pub fn as_at(&self) -> Option<(&Expr, &Expr)> {
        match &self.kind {
            ExprKind::Binary(BinaryFn::At, value, index) => Some((value, index)),
            _ => None,
        }
    }

    /// `select(condition, a, b)`, of two values of one type.
    pub fn select(condition: Expr, a: Expr, b: Expr) -> Expr {
        let (dtype, span) = (a.dtype, condition.span.to(b.span));
        Expr { kind: ExprKind::Select(Box::new([condition, a, b])), dtype, span }
    }

    /// The expression converted to another type.
    pub fn cast(self, dtype: DType) -> Expr {
        let span = self.span;
        if self.dtype == dtype { self } else { Expr { kind: ExprKind::Cast(Box::new(self)), dtype, span } }
    }

    /// The sum of a term over variables: see [`Expr::reduce`].
    pub fn sum(vars: Vec<VarId>, term: Expr) -> Expr {
        Expr::reduce(Monoid::SUM, vars, term)
    }

    /// The reduction of a term over variables. Elements of a type that values are only stored in are combined in the type that they
    /// are computed in, and the reduction has their type; one of elements of a pattern may be false, and is a `bool`.
    pub fn reduce(monoid: Monoid, vars: Vec<VarId>, term: Expr) -> Expr {
        let (stored, dtype, span) = (term.dtype, term.dtype.arithmetic(), term.span);
        let kind = ExprKind::Reduce(monoid, vars, Box::new(term.cast(dtype)));
        let reduction = Expr { kind, dtype, span };
        if stored == DType::Pattern { reduction } else { reduction.cast(stored) }
    }

    /// The operands.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Access(_) => Vec::new(),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Select(operands) => operands.iter().collect(),
            ExprKind::Apply(_, operands) => operands.iter().collect(),
        }
    }

    /// The operands of nested operations `op`, from the left; the expression itself if it is no such operation.
    pub fn operands(&self, op: BinaryFn) -> Vec<&Expr> {
        fn collect<'e>(expr: &'e Expr, op: BinaryFn, found: &mut Vec<&'e Expr>) {
            match &expr.kind {
                ExprKind::Binary(own, a, b) if *own == op => {
                    collect(a, op, found);
                    collect(b, op, found);
                }
                _ => found.push(expr),
            }
        }
        let mut found = Vec::new();
        collect(self, op, &mut found);
        found
    }

    /// All accesses in it, from the left.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        self.visit(&mut |expr| {
            if let ExprKind::Access(access) = &expr.kind {
                found.push(access);
            }
        });
        found
    }

    /// Calls `f` on the expression and all below it, operands after their user.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        f(self);
        for child in self.children() {
            child.visit(f);
        }
    }

    /// The operators in it, as they are declared, each behind those that it calls, and once in all of `found`.
    pub fn operators(&self, found: &mut Vec<Operator>) {
        self.visit(&mut |expr| match &expr.kind {
            ExprKind::Apply(operator, _) => operator.collect(found),
            ExprKind::Reduce(monoid, ..) => monoid.operators(found),
            _ => {}
        });
    }

    /// Variables that occur free in it (not bound by a reduction), in order of first occurrence.
    pub fn free_vars(&self) -> Vec<VarId> {
        fn collect(expr: &Expr, bound: &mut Vec<VarId>, found: &mut Vec<VarId>) {
            match &expr.kind {
                ExprKind::Access(access) => {
                    for var in &access.vars {
                        if !bound.contains(var) && !found.contains(var) {
                            found.push(*var);
                        }
                    }
                }
                ExprKind::Reduce(_, vars, body) => {
                    let depth = bound.len();
                    bound.extend(vars);
                    collect(body, bound, found);
                    bound.truncate(depth);
                }
                _ => {
                    for child in expr.children() {
                        collect(child, bound, found);
                    }
                }
            }
        }
        let mut found = Vec::new();
        collect(self, &mut Vec::new(), &mut found);
        found
    }

    /// Variables that are reduced over somewhere in it.
    pub fn reduced_vars(&self) -> Vec<VarId> {
        let mut found = Vec::new();
        self.visit(&mut |expr| {
            if let ExprKind::Reduce(_, vars, _) = &expr.kind {
                found.extend(vars);
            }
        });
        found
    }

    /// The same expression with each operand replaced by the result of `f` for it.
    pub fn map_children(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        let kind = match self.kind {
            leaf @ (ExprKind::Literal(_) | ExprKind::Access(_)) => leaf,
            ExprKind::Unary(function, a) => ExprKind::Unary(function, Box::new(f(*a))),
            ExprKind::Binary(function, a, b) => {
                let a = f(*a);
                ExprKind::Binary(function, Box::new(a), Box::new(f(*b)))
            }
            ExprKind::Select(operands) => ExprKind::Select(Box::new(operands.map(f))),
            ExprKind::Apply(operator, operands) => ExprKind::Apply(operator, operands.into_iter().map(f).collect()),
            ExprKind::Cast(a) => ExprKind::Cast(Box::new(f(*a))),
            ExprKind::Reduce(op, vars, a) => ExprKind::Reduce(op, vars, Box::new(f(*a))),
        };
        Expr { kind, ..self }
    }
}
