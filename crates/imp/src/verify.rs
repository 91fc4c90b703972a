//! The verifier: the rules for every function, as a list of promises. Back ends take only [`Verified`] functions.
//!
//! *Names.* The function's name and those of arrays and variables are identifiers of C and no keywords; arrays and
//! variables have different names.
//!
//! *Parameters.* Every array that is not local is a parameter once, no local one is; scalar parameters are immutable
//! variables of type `I64`, each once. Only `Input` and `Output` arrays have a least length.
//!
//! *Expressions.* Operands come before their users; each operation takes its operands' types; constants are in range of
//! their type; a tree is no deeper than [`MAX_EXPR_DEPTH`].
//!
//! *Variables.* Each is defined once in the text at most, before it is used, and used only up to the end of the block
//! that defines it. Only mutable variables are assigned to; loads, counters and results of calls are immutable.
//!
//! *Statements.* Values have the type of the variable or element that they are put into, indices and bounds are `I64`, conditions
//! `Bool`. Input arrays are not written; only local ones and lists of parts are allocated, only local and grown ones grow. `break`
//! stands in a `while` or a serial `for`, not across another loop. A call passes the operands of its callee. Blocks nest no deeper than
//! [`MAX_NESTING`].
//!
//! *Parallel loops.* A variable from outside is not assigned to. A local array that gets memory in the loop is used in
//! it only, and gets memory nowhere else; other arrays and lists get none. Lists of parts are allocated and collected
//! outside of parallel loops; in them a local array of the innermost loop is deposited. Operations of `atomic` are
//! those of [`BinaryOp::is_atomic`].
//!
//! *Vector loops.* There is no `while`, `break`, call, failure, memory, `atomic`, parallel or vector loop inside. A
//! variable from outside that is assigned to is used in `v = v op e` only, with one operation of
//! [`BinaryOp::is_associative`].
//!
//! ```
//! use lacunar_imp::{Builder, verify};
//! let mut b = Builder::new("kernel");
//! let n = b.scalar_param("n");
//! b.while_loop(n, |_| {}); // an I64 is no condition
//! let error = verify(b.finish()).unwrap_err();
//! assert_eq!(error.to_string(), "the condition is not of type bool: while n {\n}");
//! ```

use std::ops::Deref;

use lacunar_formats::{DType, Kind};
use thiserror::Error;

use crate::ir::{
    Arg, Array, ArrayId, ArrayRole, BinaryOp, Block, Callee, Expr, ExprId, Function, LoopKind, Param, Stmt, VarId,
};

mod exprs;
mod loops;
mod names;

pub(crate) use exprs::expr_depths;
use loops::Uses;
pub use names::is_c_keyword;

/// The greatest depth of an expression, so that recursion over it is bounded.
pub const MAX_EXPR_DEPTH: u32 = 400;
/// The greatest number of blocks inside each other, so that recursion over them is bounded.
pub const MAX_NESTING: usize = 200;

/// A function that keeps the promises of this file.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// The function, to be changed.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A broken promise, and the part of the function that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{rule}: {entity}")]
pub struct VerifyError {
    /// The promise.
    pub rule: Rule,
    /// The name, expression or statement, printed.
    pub entity: String,
}

/// The promises that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // Each variant's message says what it is.
pub enum Rule {
    #[error("the name is not an identifier of C")]
    NotAnIdentifier,
    #[error("the name is a keyword of C")]
    Keyword,
    #[error("it has a type without values")]
    NoValues,
    #[error("two arrays or variables have the same name")]
    DuplicateName,
    #[error("the handle leads to nothing")]
    DanglingHandle,
    #[error("the array must be a parameter once if it is not local, and never if it is")]
    ArrayParameter,
    #[error("a scalar parameter is an immutable variable of type i64 that is defined nowhere else")]
    ScalarParameter,
    #[error("only input and output arrays have a least length")]
    LeastLength,
    #[error("the operand does not come before its user")]
    OperandOrder,
    #[error("the expression is too deep")]
    TooDeep,
    #[error("the constant is not in the range of its type")]
    ConstantRange,
    #[error("the operation does not take operands of these types")]
    OperandTypes,
    #[error("the blocks are nested too deep")]
    TooNested,
    #[error("the variable is defined twice")]
    DefinedTwice,
    #[error("the variable is used where it is not defined")]
    NotVisible,
    #[error("the variable is immutable and assigned to")]
    Immutable,
    #[error("the variable must be immutable")]
    MustBeImmutable,
    #[error("the types differ")]
    TypesDiffer,
    #[error("the index or bound is not of type i64")]
    IndexType,
    #[error("the condition is not of type bool")]
    ConditionType,
    #[error("an input array is written")]
    InputWritten,
    #[error("only local arrays and lists of parts are allocated")]
    AllocRole,
    #[error("only local and grown arrays grow")]
    GrowRole,
    #[error(
        "only a vector loop without other statements in its body than definitions, assignments, loads and stores loads behind its end"
    )]
    LoadsBehindEnd,
    #[error("a break must stand in a while loop or a serial for loop, not across another one")]
    StrayBreak,
    #[error("the call does not pass what the callee takes")]
    CallSignature,
    #[error("a parallel loop assigns to a variable that is declared outside of it")]
    OuterVariable,
    #[error("a parallel loop gives memory to an array that cannot be its own")]
    OuterMemory,
    #[error("an array with memory from a parallel loop is used outside of it, or gets memory elsewhere too")]
    PrivateArray,
    #[error("a list of parts is used other than by alloc, deposit and collect")]
    PartsUse,
    #[error("only local arrays of a parallel loop are deposited, and only in lists of parts")]
    DepositRole,
    #[error("only lists of parts are collected, and only into local and grown arrays")]
    CollectRole,
    #[error("only the lengths in another list of parts are added, and only to integers")]
    CollectBias,
    #[error("the elements of such an array are not combined with this operation indivisibly")]
    AtomicOp,
    #[error("only a value that replaces another is written past the caches, and only inputs are prefetched")]
    Hint,
    #[error("the statement cannot stand in a vector loop")]
    VectorBody,
    #[error("a vector loop assigns to a variable from outside other than by one associative operation, or reads it")]
    VectorReduction,
}

/// Checks a function; gives it back as verified.
pub fn verify(function: Function) -> Result<Verified<Function>, VerifyError> {
    check(&function)?;
    Ok(Verified(function))
}

pub(crate) fn check(function: &Function) -> Result<(), VerifyError> {
    names::check(function)?;
    check_types(function)?;
    exprs::check(function)?;
    let mut verifier = Verifier {
        function,
        visible: vec![false; function.vars.len()],
        defined: vec![false; function.vars.len()],
        seen: vec![0; function.exprs.len()],
        round: 0,
        loops: Vec::new(),
        parallel: Vec::new(),
        parallel_loops: 0,
        declared_in: vec![0; function.vars.len()],
        uses: vec![Uses::default(); function.arrays.len()],
    };
    verifier.parameters()?;
    verifier.block(&function.body, 1)?;
    verifier.private_arrays()
}

fn error(rule: Rule, entity: impl Into<String>) -> VerifyError {
    VerifyError { rule, entity: entity.into() }
}

fn check_types(function: &Function) -> Result<(), VerifyError> {
    let arrays = function.arrays.iter().map(|(_, array)| (array.elem, &array.name));
    let vars = function.vars.iter().map(|(_, var)| (var.ty, &var.name));
    match arrays.chain(vars).find(|(ty, _)| ty.size() == 0) {
        Some((_, name)) => Err(error(Rule::NoValues, name)),
        None => Ok(()),
    }
}

/// The loops around a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    For(LoopKind),
    While,
}

struct Verifier<'a> {
    function: &'a Function,
    /// By variable: true if it may be used at this place.
    visible: Vec<bool>,
    /// By variable: true if its definition has been met.
    defined: Vec<bool>,
    /// By expression: the last round of [`Verifier::uses`] that has looked at it.
    seen: Vec<u32>,
    round: u32,
    loops: Vec<Loop>,
    /// The parallel loops among these, numbered in the order of the text.
    parallel: Vec<u32>,
    parallel_loops: u32,
    /// By variable: the number of parallel loops around its definition.
    declared_in: Vec<usize>,
    /// By array.
    uses: Vec<Uses>,
}

impl Verifier<'_> {
    fn parameters(&mut self) -> Result<(), VerifyError> {
        let mut given = vec![0; self.function.arrays.len()];
        for &param in &self.function.params {
            match param {
                Param::Array(array) => match given.get_mut(array.index()) {
                    Some(count) => *count += 1,
                    None => return Err(error(Rule::DanglingHandle, format!("parameter {array:?}"))),
                },
                Param::Scalar(var) => {
                    let name = self.function.vars.get(var).map_or("<?>", |var| &var.name);
                    let fits = self.function.vars.get(var).is_some_and(|var| var.ty == DType::I64 && !var.mutable);
                    if !fits || self.defined[var.index()] {
                        return Err(error(Rule::ScalarParameter, name));
                    }
                    self.defined[var.index()] = true;
                    self.visible[var.index()] = true;
                }
            }
        }
        for (id, array) in self.function.arrays.iter() {
            if given[id.index()] != usize::from(array.role.is_parameter()) {
                return Err(error(Rule::ArrayParameter, &array.name));
            }
            if array.min_len > 0 && !matches!(array.role, ArrayRole::Input | ArrayRole::Output) {
                return Err(error(Rule::LeastLength, &array.name));
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, depth: usize) -> Result<(), VerifyError> {
        if depth > MAX_NESTING {
            return Err(error(Rule::TooNested, format!("{MAX_NESTING} blocks at most")));
        }
        let mut own = Vec::new();
        for stmt in block {
            self.stmt(stmt, depth)?;
            own.extend(stmt.definition());
            if let Stmt::For { var, .. } = stmt {
                self.visible[var.index()] = false;
            }
        }
        for var in own {
            self.visible[var.index()] = false;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> Result<(), VerifyError> {
        self.place(stmt)?;
        match stmt {
            Stmt::Define { var, value } => {
                self.value(stmt, *value)?;
                self.define(stmt, *var)?;
                self.same_type(stmt, *value, self.function.vars[*var].ty)
            }
            Stmt::Assign { var, value } => {
                self.value(stmt, *value)?;
                self.require(stmt, Rule::NotVisible, self.visible.get(var.index()) == Some(&true))?;
                self.require(stmt, Rule::Immutable, self.function.vars[*var].mutable)?;
                self.require(stmt, Rule::OuterVariable, self.declared_in[var.index()] == self.parallel.len())?;
                self.same_type(stmt, *value, self.function.vars[*var].ty)
            }
            Stmt::Load { var, array, index } => {
                self.index(stmt, *index)?;
                let elem = self.array(stmt, *array)?.elem;
                self.define_immutable(stmt, *var, elem)
            }
            Stmt::Store { array, index, value, reduce, past } => {
                self.index(stmt, *index)?;
                let elem = self.written_value(stmt, *array, *value)?;
                self.require(stmt, Rule::OperandTypes, reduce.is_none_or(|op: BinaryOp| op.accepts(elem)))?;
                past.map_or(Ok(()), |past| self.past(stmt, past, *reduce))
            }
            Stmt::For { var, begin, end, loads, kind, body } => {
                self.index(stmt, *begin)?;
                self.index(stmt, *end)?;
                self.loads_behind_end(stmt, *loads, *kind, body)?;
                self.define_immutable(stmt, *var, DType::I64)?;
                self.for_body(stmt, *kind, body, depth)
            }
            Stmt::While { cond, body } => {
                self.condition(stmt, *cond)?;
                self.in_loop(Loop::While, body, depth)
            }
            Stmt::Break => {
                let leaves = matches!(self.loops.last(), Some(Loop::While | Loop::For(LoopKind::Serial)));
                self.require(stmt, Rule::StrayBreak, leaves)
            }
            Stmt::If { cond, then, otherwise } => {
                self.condition(stmt, *cond)?;
                self.block(then, depth + 1)?;
                self.block(otherwise, depth + 1)
            }
            Stmt::Alloc { array, len, zeroed: _ } => {
                self.index(stmt, *len)?;
                self.role(stmt, *array, Rule::AllocRole, &[ArrayRole::Local, ArrayRole::Parts])
            }
            Stmt::Grow { array, count, block, zeroed: _ } => {
                self.index(stmt, *count)?;
                self.index(stmt, *block)?;
                self.role(stmt, *array, Rule::GrowRole, &[ArrayRole::Local, ArrayRole::Grown])
            }
            Stmt::Atomic { array, index, value, op } => {
                self.index(stmt, *index)?;
                let elem = self.written_value(stmt, *array, *value)?;
                self.require(stmt, Rule::AtomicOp, op.is_atomic() && op.accepts(elem))
            }
            Stmt::Deposit { parts, slot, array, len } => self.deposit(stmt, *parts, *slot, *array, *len),
            Stmt::Collect { array, at, parts, bias, result } => {
                self.collect(stmt, *array, *at, *parts, *bias)?;
                self.define_immutable(stmt, *result, DType::I64)
            }
            Stmt::Prefetch { array, begin, end } => {
                self.index(stmt, *begin)?;
                self.index(stmt, *end)?;
                self.role(stmt, *array, Rule::Hint, &[ArrayRole::Input])
            }
            Stmt::Fill { array, begin, end, value } => {
                self.index(stmt, *begin)?;
                self.index(stmt, *end)?;
                self.written_value(stmt, *array, *value).map(drop)
            }
            Stmt::Call { callee, args, result } => self.call(stmt, *callee, args, *result),
            Stmt::Fail(_) | Stmt::Comment(_) => Ok(()),
        }
    }

    /// Checks the condition under which a value is stored past the caches.
    fn past(&mut self, stmt: &Stmt, past: ExprId, reduce: Option<BinaryOp>) -> Result<(), VerifyError> {
        self.require(stmt, Rule::Hint, reduce.is_none())?;
        self.condition(stmt, past)
    }

    /// Checks that an array has one of some roles.
    fn role(&mut self, stmt: &Stmt, array: ArrayId, rule: Rule, roles: &[ArrayRole]) -> Result<(), VerifyError> {
        let role = self.array(stmt, array)?.role;
        self.require(stmt, rule, roles.contains(&role))
    }

    /// Checks a value that is written to an array; gives the type of its elements.
    fn written_value(&mut self, stmt: &Stmt, array: ArrayId, value: ExprId) -> Result<DType, VerifyError> {
        self.value(stmt, value)?;
        let elem = self.written(stmt, array)?.elem;
        self.same_type(stmt, value, elem)?;
        Ok(elem)
    }

    fn in_loop(&mut self, kind: Loop, body: &Block, depth: usize) -> Result<(), VerifyError> {
        self.loops.push(kind);
        let done = self.block(body, depth + 1);
        self.loops.pop();
        done
    }

    fn call(&mut self, stmt: &Stmt, callee: Callee, args: &[Arg], result: Option<VarId>) -> Result<(), VerifyError> {
        for &arg in args {
            match arg {
                Arg::Array(array) => _ = self.array(stmt, array)?,
                Arg::Scalar(value) => self.value(stmt, value)?,
            }
        }
        let index = |arg: Arg| matches!(arg, Arg::Scalar(value) if self.function.type_of(value) == DType::I64);
        let array = |arg: Arg| match arg {
            Arg::Array(array) => Some(&self.function.arrays[array]),
            Arg::Scalar(_) => None,
        };
        let elem = |arg: Arg| array(arg).map(|array| array.elem);
        let written = |arg: Arg| array(arg).is_some_and(|array| array.role != ArrayRole::Input);
        let fits = match (callee, args) {
            (Callee::LowerBound, &[a, begin, end, key]) => {
                elem(a).is_some_and(|ty| ty.kind() == Kind::Unsigned) && [begin, end, key].into_iter().all(index)
            }
            (Callee::SortMarked, &[list, n, marks, size]) => {
                let scalars = index(n) && index(size);
                scalars && elem(list) == Some(DType::I64) && written(list) && elem(marks) == Some(DType::Bool)
            }
            (Callee::SortCombine, &[n, values, ref keys @ ..]) => {
                let is_key = |&key: &Arg| elem(key) == Some(DType::I64) && written(key);
                let distinct = |k: usize| keys[k] != values && !keys[..k].contains(&keys[k]);
                let keys_fit = !keys.is_empty() && keys.iter().all(is_key) && (0..keys.len()).all(distinct);
                let summed = elem(values).is_some_and(|ty| BinaryOp::Add.accepts(ty));
                index(n) && written(values) && summed && keys_fit
            }
            (Callee::Unpack, &[list, at, word, base]) => {
                let bits = matches!(word, Arg::Scalar(word) if self.function.type_of(word) == DType::U64);
                elem(list) == Some(DType::U16) && written(list) && index(at) && bits && index(base)
            }
            (Callee::Marks, &[a, at]) => elem(a) == Some(DType::Bool) && index(at),
            (Callee::Take, &[a]) => elem(a) == Some(DType::I64) && written(a),
            (Callee::Raised, &[a]) => elem(a) == Some(DType::Bool),
            (Callee::Length, &[a]) => {
                self.parallel.is_empty() && array(a).is_some_and(|array| array.role.is_parameter())
            }
            _ => false,
        };
        self.require(stmt, Rule::CallSignature, fits && (result.is_none() || callee.has_result()))?;
        result.map_or(Ok(()), |var| self.define_immutable(stmt, var, DType::I64))
    }

    fn require(&self, stmt: &Stmt, rule: Rule, holds: bool) -> Result<(), VerifyError> {
        if holds { Ok(()) } else { Err(error(rule, self.function.stmt_text(stmt).trim_end())) }
    }

    fn array(&self, stmt: &Stmt, array: ArrayId) -> Result<&Array, VerifyError> {
        self.function
            .arrays
            .get(array)
            .ok_or_else(|| error(Rule::DanglingHandle, self.function.stmt_text(stmt).trim_end()))
    }

    fn written(&self, stmt: &Stmt, array: ArrayId) -> Result<&Array, VerifyError> {
        let array = self.array(stmt, array)?;
        self.require(stmt, Rule::InputWritten, array.role != ArrayRole::Input)?;
        Ok(array)
    }

    fn same_type(&self, stmt: &Stmt, value: ExprId, ty: DType) -> Result<(), VerifyError> {
        self.require(stmt, Rule::TypesDiffer, self.function.type_of(value) == ty)
    }

    fn index(&mut self, stmt: &Stmt, value: ExprId) -> Result<(), VerifyError> {
        self.value(stmt, value)?;
        self.require(stmt, Rule::IndexType, self.function.type_of(value) == DType::I64)
    }

    fn condition(&mut self, stmt: &Stmt, value: ExprId) -> Result<(), VerifyError> {
        self.value(stmt, value)?;
        self.require(stmt, Rule::ConditionType, self.function.type_of(value) == DType::Bool)
    }

    /// Checks that an expression exists and that the variables in it are visible.
    fn value(&mut self, stmt: &Stmt, value: ExprId) -> Result<(), VerifyError> {
        self.require(stmt, Rule::DanglingHandle, self.function.exprs.get(value).is_some())?;
        self.round += 1;
        let uses_visible = self.uses(value);
        self.require(stmt, Rule::NotVisible, uses_visible)
    }

    /// True if all variables of an expression are visible; looks at each shared part once.
    fn uses(&mut self, value: ExprId) -> bool {
        if std::mem::replace(&mut self.seen[value.index()], self.round) == self.round {
            return true;
        }
        match self.function.exprs[value] {
            Expr::Var(var) => self.visible[var.index()],
            expr => expr.operands().all(|operand| self.uses(operand)),
        }
    }

    fn define_immutable(&mut self, stmt: &Stmt, var: VarId, ty: DType) -> Result<(), VerifyError> {
        self.define(stmt, var)?;
        self.require(stmt, Rule::MustBeImmutable, !self.function.vars[var].mutable)?;
        self.require(stmt, Rule::TypesDiffer, self.function.vars[var].ty == ty)
    }

    fn define(&mut self, stmt: &Stmt, var: VarId) -> Result<(), VerifyError> {
        self.require(stmt, Rule::DanglingHandle, self.function.vars.get(var).is_some())?;
        self.require(stmt, Rule::DefinedTwice, !self.defined[var.index()])?;
        self.defined[var.index()] = true;
        self.visible[var.index()] = true;
        self.declared_in[var.index()] = self.parallel.len();
        Ok(())
    }
}
