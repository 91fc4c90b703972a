//! Building functions: expressions with their types checked as they are made, names kept unique, blocks nested.
//!
//! An expression is evaluated wherever a statement uses it: one of a mutable variable has the value that the variable has there.
//! [`Builder::define`] keeps the value of now. A load is a statement, and is done where it is built.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_imp::{ArrayRole, Builder};
//! let mut b = Builder::new("double_all");
//! let n = b.scalar_param("n");
//! let y = b.array_param("y", DType::F64, ArrayRole::Output);
//! let zero = b.int(0);
//! b.for_loop("i", zero, n, |b, i| {
//!     let v = b.load("v", y, i);
//!     let twice = b.add(v, v);
//!     b.store(y, i, twice);
//! });
//! let f = b.finish();
//! assert_eq!(f.params.len(), 2);
//! ```

use lacunar_formats::DType;
use rustc_hash::FxHashMap;

use crate::ir::{
    Arg, Array, ArrayId, ArrayRole, BinaryOp, Block, Callee, CompareOp, Const, Expr, ExprId, Function, LoopKind, Param,
    Status, Stmt, UnaryOp, Var, VarId, WordOp,
};
use crate::loops::{may_be_vector, take_flags};
use crate::verify::is_c_keyword;
use crate::walk::is_straight;

impl Function {
    /// The type of an expression.
    pub fn type_of(&self, expr: ExprId) -> DType {
        match self.exprs[expr] {
            Expr::Const(c) => c.ty,
            Expr::Var(var) => self.vars[var].ty,
            Expr::Unary(op, a) => op.result_type(self.type_of(a)),
            Expr::Binary(_, a, _) | Expr::Select(_, a, _) => self.type_of(a),
            Expr::Compare(..) => DType::Bool,
            Expr::Cast(ty, _) => ty,
            Expr::Word(op, ..) => op.result_type(),
            Expr::Extern(function, ..) => function.signature().result,
        }
    }
}

/// A loop whose body is being built.
#[derive(Debug)]
struct OpenLoop {
    var: VarId,
    begin: ExprId,
    end: ExprId,
    loads: Option<ExprId>,
    kind: LoopKind,
}

/// Builds a function statement by statement.
#[derive(Debug, Default)]
pub struct Builder {
    function: Function,
    blocks: Vec<Block>,
    names: FxHashMap<String, u32>,
    /// The loops that are open.
    loops: Vec<OpenLoop>,
}

impl Builder {
    /// A builder of a function without parameters and with an empty body.
    pub fn new(name: &str) -> Builder {
        let function = Function { name: name.to_string(), ..Function::default() };
        Builder { function, blocks: vec![Block::new()], ..Builder::default() }
    }

    /// Forbids reassociation and contraction of floating-point operations.
    pub fn set_strict(&mut self, strict: bool) {
        self.function.strict = strict;
    }

    /// The function as built so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The finished function.
    pub fn finish(mut self) -> Function {
        debug_assert_eq!(self.blocks.len(), 1, "every block is closed");
        self.function.body = self.blocks.pop().unwrap_or_default();
        self.function
    }

    /// A name that nothing in the function has yet and that is no keyword of C: `wanted`, or `wanted_2`, `wanted_3`,
    /// ...
    pub fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        loop {
            if !self.names.contains_key(&name) && !is_c_keyword(&name) {
                self.names.insert(name.clone(), 1);
                return name;
            }
            let count = self.names.entry(wanted.to_string()).or_insert(1);
            *count += 1;
            name = format!("{wanted}_{count}");
        }
    }

    // Parameters, arrays and variables.

    /// Adds an array parameter.
    pub fn array_param(&mut self, name: &str, elem: DType, role: ArrayRole) -> ArrayId {
        self.array_param_with_len(name, elem, role, 0)
    }

    /// Adds an array parameter that is certain to have `min_len` elements at least.
    pub fn array_param_with_len(&mut self, name: &str, elem: DType, role: ArrayRole, min_len: u64) -> ArrayId {
        let array = self.array(name, elem, role, min_len);
        self.function.params.push(Param::Array(array));
        array
    }

    /// Adds a local array; it has no memory until [`Builder::alloc`] or [`Builder::grow`].
    pub fn local_array(&mut self, name: &str, elem: DType) -> ArrayId {
        self.array(name, elem, ArrayRole::Local, 0)
    }

    /// Adds a list of arrays, which is empty until [`Builder::alloc`] makes it a list of so many parts.
    pub fn parts_array(&mut self, name: &str, elem: DType) -> ArrayId {
        self.array(name, elem, ArrayRole::Parts, 0)
    }

    fn array(&mut self, name: &str, elem: DType, role: ArrayRole, min_len: u64) -> ArrayId {
        let name = self.unique(name);
        self.function.arrays.push(Array { name, elem, role, min_len })
    }

    /// Adds a scalar parameter of type `I64` and gives its value.
    pub fn scalar_param(&mut self, name: &str) -> ExprId {
        let var = self.new_var(name, DType::I64, false);
        self.function.params.push(Param::Scalar(var));
        self.var(var)
    }

    fn new_var(&mut self, name: &str, ty: DType, mutable: bool) -> VarId {
        let name = self.unique(name);
        self.function.vars.push(Var { name, ty, mutable })
    }

    // Expressions.

    /// Adds an expression, or finds the equal one.
    pub fn expr(&mut self, expr: Expr) -> ExprId {
        self.function.exprs.insert(expr)
    }

    /// The type of an expression.
    pub fn type_of(&self, expr: ExprId) -> DType {
        self.function.type_of(expr)
    }

    /// The constant that an expression is.
    pub fn as_const(&self, expr: ExprId) -> Option<Const> {
        match self.function.exprs[expr] {
            Expr::Const(c) => Some(c),
            _ => None,
        }
    }

    /// A constant.
    pub fn constant(&mut self, constant: Const) -> ExprId {
        self.expr(Expr::Const(constant))
    }

    /// An `I64` constant.
    pub fn int(&mut self, value: i64) -> ExprId {
        self.constant(Const::int(DType::I64, value))
    }

    /// A `Bool` constant.
    pub fn bool(&mut self, value: bool) -> ExprId {
        self.constant(Const::bool(value))
    }

    /// The value of a variable.
    pub fn var(&mut self, var: VarId) -> ExprId {
        self.expr(Expr::Var(var))
    }

    /// An operation on one operand.
    pub fn unary(&mut self, op: UnaryOp, a: ExprId) -> ExprId {
        self.expr(Expr::Unary(op, a))
    }

    /// An operation on two operands of one type. Sums and products with the constants 0 and 1 of the index type are
    /// simplified here, so that index arithmetic reads as a person would write it.
    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        debug_assert_eq!(self.type_of(a), self.type_of(b), "operands of {op:?} have one type");
        if self.type_of(a) == DType::I64 {
            let value = |builder: &Builder, e| builder.as_const(e).map(|c| c.bits as i64);
            match (op, value(self, a), value(self, b)) {
                (BinaryOp::Add, Some(x), Some(y)) => return self.int(x.wrapping_add(y)),
                (BinaryOp::Sub, Some(x), Some(y)) => return self.int(x.wrapping_sub(y)),
                (BinaryOp::Mul, Some(x), Some(y)) => return self.int(x.wrapping_mul(y)),
                (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) | (BinaryOp::Mul, _, Some(0)) => return b,
                (BinaryOp::Add | BinaryOp::Sub, _, Some(0))
                | (BinaryOp::Mul, _, Some(1))
                | (BinaryOp::Mul, Some(0), _) => return a,
                (BinaryOp::Min, Some(x), Some(y)) => return self.int(x.min(y)),
                (BinaryOp::Max, Some(x), Some(y)) => return self.int(x.max(y)),
                (BinaryOp::Sub, ..) => {
                    if let Some(negated) = self.negated(b) {
                        return self.add(a, negated);
                    }
                }
                (BinaryOp::Min | BinaryOp::Max, ..) if a == b => return a,
                _ => {}
            }
        }
        self.expr(Expr::Binary(op, a, b))
    }

    /// The number `x`, if an expression is `0 - x`.
    fn negated(&self, e: ExprId) -> Option<ExprId> {
        match self.function.exprs[e] {
            Expr::Binary(BinaryOp::Sub, zero, x) if self.as_const(zero).is_some_and(|zero| zero.bits == 0) => Some(x),
            _ => None,
        }
    }

    /// `a + b`
    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a - b`
    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// `a * b`
    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// A comparison of two operands of one type.
    pub fn compare(&mut self, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        debug_assert_eq!(self.type_of(a), self.type_of(b), "operands of {op:?} have one type");
        self.expr(Expr::Compare(op, a, b))
    }

    /// Conjunction of `Bool`s; constants vanish.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.logical(BinaryOp::And, true, a, b)
    }

    /// Disjunction of `Bool`s; constants vanish.
    pub fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.logical(BinaryOp::Or, false, a, b)
    }

    /// An operation on `Bool`s for which one constant is neutral and the other one absorbs.
    fn logical(&mut self, op: BinaryOp, neutral: bool, a: ExprId, b: ExprId) -> ExprId {
        match (self.as_const(a), self.as_const(b)) {
            (Some(c), _) => {
                if (c.bits != 0) == neutral {
                    b
                } else {
                    a
                }
            }
            (_, Some(c)) => {
                if (c.bits != 0) == neutral {
                    a
                } else {
                    b
                }
            }
            _ if a == b => a,
            _ => self.expr(Expr::Binary(op, a, b)),
        }
    }

    /// `condition ? then : otherwise`
    pub fn select(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        if then == otherwise { then } else { self.expr(Expr::Select(condition, then, otherwise)) }
    }

    /// Conversion to `ty`; nothing if the type is `ty` already.
    pub fn cast(&mut self, ty: DType, a: ExprId) -> ExprId {
        if self.type_of(a) == ty { a } else { self.expr(Expr::Cast(ty, a)) }
    }

    /// A question to a word about the bit at a place, an index.
    pub fn word(&mut self, op: WordOp, word: ExprId, place: ExprId) -> ExprId {
        debug_assert!(op.accepts(self.type_of(word)), "{op:?} asks an unsigned number");
        debug_assert_eq!(self.type_of(place), DType::I64, "places are indices");
        self.expr(Expr::Word(op, word, place))
    }

    // Statements.

    /// Adds a statement to the innermost open block.
    pub fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// Opens a block; statements that are pushed go into it until [`Builder::end_block`].
    pub fn begin_block(&mut self) {
        self.blocks.push(Block::new());
    }

    /// Closes the innermost open block and gives it, without adding it anywhere.
    pub fn end_block(&mut self) -> Block {
        self.blocks.pop().unwrap_or_default()
    }

    /// Opens a serial loop from `begin` up to `end` and gives its counter; [`Builder::end_for`] closes it.
    pub fn begin_for(&mut self, name: &str, begin: ExprId, end: ExprId) -> ExprId {
        self.begin_for_kind(LoopKind::Serial, name, begin, end)
    }

    /// [`Builder::begin_for`] for any kind of loop.
    pub fn begin_for_kind(&mut self, kind: LoopKind, name: &str, begin: ExprId, end: ExprId) -> ExprId {
        let var = self.new_var(name, DType::I64, false);
        self.loops.push(OpenLoop { var, begin, end, loads: None, kind });
        self.begin_block();
        self.var(var)
    }

    /// Says of the loop that was opened last that its loads are in bounds up to a number of iterations ([`Stmt::For`]). The
    /// number is dropped if the loop turns out not to be a vector loop of straight code.
    pub fn loads_up_to(&mut self, loads: ExprId) {
        if let Some(innermost) = self.loops.last_mut() {
            innermost.loads = Some(loads);
        }
    }

    /// Closes the loop that was opened last. Flags that a vector loop sets are set before it, if it runs at all. The loop becomes
    /// serial if even then its body is not one for vectors.
    pub fn end_for(&mut self) {
        let mut body = self.end_block();
        if let Some(OpenLoop { var, begin, end, loads, mut kind }) = self.loops.pop() {
            if matches!(kind, LoopKind::Vector(_)) && !may_be_vector(&self.function, &body) {
                let flags = take_flags(&self.function, &mut body);
                if !flags.is_empty() {
                    let cond = self.compare(CompareOp::Lt, begin, end);
                    self.push(Stmt::If { cond, then: flags, otherwise: Block::new() });
                }
                if !may_be_vector(&self.function, &body) {
                    kind = LoopKind::Serial;
                }
            }
            let loads = loads.filter(|_| matches!(kind, LoopKind::Vector(_)) && body.iter().all(is_straight));
            self.push(Stmt::For { var, begin, end, loads, kind, body });
        }
    }

    /// Builds a block without adding it anywhere.
    pub fn block(&mut self, build: impl FnOnce(&mut Builder)) -> Block {
        self.begin_block();
        build(self);
        self.end_block()
    }

    /// Declares an immutable variable.
    pub fn define(&mut self, name: &str, value: ExprId) -> ExprId {
        let ty = self.type_of(value);
        let var = self.new_var(name, ty, false);
        self.push(Stmt::Define { var, value });
        self.var(var)
    }

    /// Declares a mutable variable.
    pub fn declare(&mut self, name: &str, value: ExprId) -> VarId {
        let ty = self.type_of(value);
        let var = self.new_var(name, ty, true);
        self.push(Stmt::Define { var, value });
        var
    }

    /// Assigns to a mutable variable.
    pub fn assign(&mut self, var: VarId, value: ExprId) {
        self.push(Stmt::Assign { var, value });
    }

    /// Loads an element; the result has the array's element type.
    pub fn load(&mut self, name: &str, array: ArrayId, index: ExprId) -> ExprId {
        let elem = self.function.arrays[array].elem;
        let var = self.new_var(name, elem, false);
        self.push(Stmt::Load { var, array, index });
        self.var(var)
    }

    /// Loads an element of a coordinate or position array, as an index.
    pub fn load_index(&mut self, name: &str, array: ArrayId, index: ExprId) -> ExprId {
        let value = self.load(name, array, index);
        self.cast(DType::I64, value)
    }

    /// Replaces an element.
    pub fn store(&mut self, array: ArrayId, index: ExprId, value: ExprId) {
        self.push(Stmt::Store { array, index, value, reduce: None, past: None });
    }

    /// Replaces an element, which nobody reads soon where a condition holds.
    pub fn store_past(&mut self, array: ArrayId, index: ExprId, value: ExprId, past: Option<ExprId>) {
        self.push(Stmt::Store { array, index, value, reduce: None, past });
    }

    /// Combines an element with a value.
    pub fn accumulate(&mut self, array: ArrayId, index: ExprId, op: BinaryOp, value: ExprId) {
        self.push(Stmt::Store { array, index, value, reduce: Some(op), past: None });
    }

    /// Replaces an element of a coordinate or position array by an index.
    pub fn store_index(&mut self, array: ArrayId, index: ExprId, value: ExprId) {
        let value = self.cast(self.function.arrays[array].elem, value);
        self.store(array, index, value);
    }

    /// A serial loop from `begin` up to `end`.
    pub fn for_loop(&mut self, name: &str, begin: ExprId, end: ExprId, build: impl FnOnce(&mut Builder, ExprId)) {
        self.for_loop_kind(LoopKind::Serial, name, begin, end, build);
    }

    /// A loop of any kind from `begin` up to `end`.
    pub fn for_loop_kind(
        &mut self,
        kind: LoopKind,
        name: &str,
        begin: ExprId,
        end: ExprId,
        build: impl FnOnce(&mut Builder, ExprId),
    ) {
        let counter = self.begin_for_kind(kind, name, begin, end);
        build(self, counter);
        self.end_for();
    }

    /// A loop while a condition holds.
    pub fn while_loop(&mut self, cond: ExprId, build: impl FnOnce(&mut Builder)) {
        let body = self.block(build);
        self.push(Stmt::While { cond, body });
    }

    /// A branch without alternative.
    pub fn if_then(&mut self, cond: ExprId, build: impl FnOnce(&mut Builder)) {
        let then = self.block(build);
        self.push(Stmt::If { cond, then, otherwise: Block::new() });
    }

    /// Gives a local array memory, or makes a list of `len` empty parts.
    pub fn alloc(&mut self, array: ArrayId, len: ExprId, zeroed: bool) {
        self.push(Stmt::Alloc { array, len, zeroed });
    }

    /// Makes room for `count` blocks of `block` elements.
    pub fn grow(&mut self, array: ArrayId, count: ExprId, block: ExprId, zeroed: bool) {
        self.push(Stmt::Grow { array, count, block, zeroed });
    }

    /// Combines an element with a value, which iterations of a parallel loop may do to one element.
    pub fn atomic(&mut self, array: ArrayId, index: ExprId, op: BinaryOp, value: ExprId) {
        self.push(Stmt::Atomic { array, index, value, op });
    }

    /// Hands the first `len` elements of an array of a parallel loop's own over as part number `slot` of a list.
    pub fn deposit(&mut self, parts: ArrayId, slot: ExprId, array: ArrayId, len: ExprId) {
        self.push(Stmt::Deposit { parts, slot, array, len });
    }

    /// Appends the parts of a list to an array from `at` on, with the lengths before each in `bias` added; gives the
    /// end.
    pub fn collect(&mut self, name: &str, array: ArrayId, at: ExprId, parts: ArrayId, bias: Option<ArrayId>) -> ExprId {
        let result = self.new_var(name, DType::I64, false);
        self.push(Stmt::Collect { array, at, parts, bias, result });
        self.var(result)
    }

    /// Calls a function of the runtime without result.
    pub fn call(&mut self, callee: Callee, args: Vec<Arg>) {
        self.push(Stmt::Call { callee, args, result: None });
    }

    /// Calls a function of the runtime and gives its `I64` result.
    pub fn call_value(&mut self, name: &str, callee: Callee, args: Vec<Arg>) -> ExprId {
        let var = self.new_var(name, DType::I64, false);
        self.push(Stmt::Call { callee, args, result: Some(var) });
        self.var(var)
    }

    /// The first position in `begin .. end` whose coordinate is at least `key`.
    pub fn lower_bound(&mut self, array: ArrayId, begin: ExprId, end: ExprId, key: ExprId) -> ExprId {
        // No coordinate is less than 0.
        if self.as_const(key).is_some_and(|key| key.bits == 0) {
            return begin;
        }
        let args = vec![Arg::Array(array), Arg::Scalar(begin), Arg::Scalar(end), Arg::Scalar(key)];
        self.call_value("bound", Callee::LowerBound, args)
    }

    /// The places of the ones of a word, behind `base`, in a list from `at` on; gives their number.
    pub fn unpack(&mut self, list: ArrayId, at: ExprId, word: ExprId, base: ExprId) -> ExprId {
        let args = vec![Arg::Array(list), Arg::Scalar(at), Arg::Scalar(word), Arg::Scalar(base)];
        self.call_value("ones", Callee::Unpack, args)
    }

    /// 64 marks from `at` on as a word, the first in its lowest bit.
    pub fn marks(&mut self, array: ArrayId, at: ExprId) -> ExprId {
        let bits = self.call_value("marks", Callee::Marks, vec![Arg::Array(array), Arg::Scalar(at)]);
        self.cast(DType::U64, bits)
    }

    /// A number that the iterations of a parallel loop share out among themselves: the first element of an array, which is one
    /// more afterwards.
    pub fn take(&mut self, next: ArrayId) -> ExprId {
        self.call_value("taken", Callee::Take, vec![Arg::Array(next)])
    }

    /// True if an iteration of a parallel loop has raised a flag, as far as others can tell.
    pub fn raised(&mut self, flag: ArrayId) -> ExprId {
        let raised = self.call_value("raised", Callee::Raised, vec![Arg::Array(flag)]);
        self.cast(DType::Bool, raised)
    }

    /// Ends the kernel with a status.
    pub fn fail(&mut self, status: Status) {
        self.push(Stmt::Fail(status));
    }

    /// A remark for readers.
    pub fn comment(&mut self, text: impl Into<String>) {
        self.push(Stmt::Comment(text.into()));
    }
}
