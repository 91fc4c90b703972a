//! The reference interpreter: the meaning of a function, with every access checked.
//!
//! It executes [`crate::ir`]'s head comment word for word, without reassociation, in order (iterations of parallel loops: in an
//! order of its own). A back end that gives another result is wrong, up to the freedom of a function that is not `strict`. Beyond
//! the meaning it reports the forbidden acts of a kernel: an index outside an array, an element read before it was written,
//! iterations of parallel or vector loops that meet, a runtime function called when its demands are not met.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_imp::{ArrayData, ArrayRole, Builder, Memory, interpret, verify};
//! let mut b = Builder::new("last");
//! let (y, n) = (b.array_param("y", DType::I64, ArrayRole::Output), b.scalar_param("n"));
//! b.store(y, n, n);
//! let function = verify(b.finish()).unwrap();
//! let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0; 3])], scalars: vec![2] };
//! assert_eq!(interpret(&function, &mut memory), Ok(None));
//! assert_eq!(memory.arrays[0], ArrayData::I64(vec![0, 0, 2]));
//! memory.scalars[0] = 3;
//! let error = interpret(&function, &mut memory).unwrap_err();
//! assert_eq!(error.to_string(), "index 3 is outside of `y`, which has 3 elements: y[n] = n;");
//! ```

use lacunar_base::random::SplitMix;
use lacunar_formats::DType;
use thiserror::Error;

use crate::arith;
use crate::ir::{ArrayId, ArrayRole, Block, Const, Expr, ExprId, Function, Param, Status, Stmt};
use crate::memory::{ArrayData, Memory};
use crate::verify::Verified;

mod access;
mod buffer;
mod callee;
mod parts;

use access::{Sharing, Use};
use buffer::Buffer;
use parts::Parts;

/// The resources that an execution may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Statements executed, and elements that fills and runtime functions touch; `None` for no limit.
    pub steps: Option<u64>,
    /// Bytes that one array of the kernel's own may take; more is `OutOfMemory`.
    pub array_bytes: usize,
    /// The seed of the order in which the iterations of parallel loops run.
    pub seed: u64,
    /// True if `Output` arrays come without values, as memory does that was only allocated.
    pub blank_outputs: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: None, array_bytes: 1 << 30, seed: 0, blank_outputs: false }
    }
}

/// The end of an execution that broke no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The status that the function failed with; `None` if it ran to its end.
    pub status: Option<Status>,
    /// By array parameter, in their order: the first element that has no value, if there is one.
    pub unwritten: Vec<Option<usize>>,
}

/// A forbidden act of a kernel, or a wrong call of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{fault}{}{stmt}", if stmt.is_empty() { "" } else { ": " })]
pub struct InterpError {
    /// The kind of mistake.
    pub fault: Fault,
    /// The statement at fault, printed (a loop or branch: its first line); empty if there is none.
    pub stmt: String,
}

/// The kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The memory does not fit the parameters.
    #[error("the memory does not fit the parameters: {0}")]
    Memory(String),
    /// An access outside of an array.
    #[error("index {index} is outside of `{array}`, which has {len} elements")]
    OutOfBounds {
        /// The array.
        array: String,
        /// The index.
        index: i64,
        /// The array's number of elements.
        len: usize,
    },
    /// An element is read that was never written.
    #[error("element {index} of `{array}` is read before it is written")]
    Undefined {
        /// The array.
        array: String,
        /// The index.
        index: usize,
    },
    /// Iterations of a parallel or vector loop meet at an element that one of them stores.
    #[error("iterations of a {kind} loop conflict at element {index} of `{array}`")]
    Conflict {
        /// The array.
        array: String,
        /// The index.
        index: usize,
        /// The kind of the loop.
        kind: &'static str,
    },
    /// A runtime function's demand is not met.
    #[error("{0}")]
    Precondition(String),
    /// The limit on steps is reached.
    #[error("the limit of {0} steps is reached")]
    Steps(u64),
}

/// Runs a function on memory. The outcome is `None` if it ran to its end, or the status that it failed with.
///
/// Grown arrays go out as long as the largest capacity that was asked for; elements of them that were never written are zero there.
pub fn interpret(function: &Verified<Function>, memory: &mut Memory) -> Result<Option<Status>, InterpError> {
    interpret_within(function, memory, Limits::default()).map(|outcome| outcome.status)
}

/// [`interpret`] with the caller's limits; also tells which elements were not written.
pub fn interpret_within(
    function: &Verified<Function>,
    memory: &mut Memory,
    limits: Limits,
) -> Result<Outcome, InterpError> {
    check_memory(function, memory).map_err(|why| InterpError { fault: Fault::Memory(why), stmt: String::new() })?;
    let mut machine = Machine::load(function, memory, limits);
    let outcome = machine.block(&function.body);
    let unwritten = machine.unload(memory);
    match outcome {
        Ok(_) => Ok(Outcome { status: None, unwritten }),
        Err(Stop::Failed(status)) => Ok(Outcome { status: Some(status), unwritten }),
        Err(Stop::Error(error)) => Err(*error),
    }
}

fn check_memory(function: &Function, memory: &Memory) -> Result<(), String> {
    let scalars = function.params.iter().filter(|param| matches!(param, Param::Scalar(_))).count();
    if scalars != memory.scalars.len() {
        return Err(format!("{} numbers for {scalars} scalar parameters", memory.scalars.len()));
    }
    let arrays = function.params.len() - scalars;
    if arrays != memory.arrays.len() {
        return Err(format!("{} arrays for {arrays} array parameters", memory.arrays.len()));
    }
    let mut given = memory.arrays.iter();
    for &param in &function.params {
        let Param::Array(array) = param else { continue };
        let (array, Some(data)) = (&function.arrays[array], given.next()) else { continue };
        if data.dtype() != array.elem {
            return Err(format!("`{}` holds {}, not {}", array.name, array.elem, data.dtype()));
        }
        if (data.len() as u64) < array.min_len {
            return Err(format!("`{}` has {} elements at least, not {}", array.name, array.min_len, data.len()));
        }
        if array.role == ArrayRole::Grown && !data.is_empty() {
            return Err(format!("`{}` starts empty", array.name));
        }
    }
    Ok(())
}

/// The end of a statement that did not stop the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
}

/// The reason why the kernel stopped.
enum Stop {
    Failed(Status),
    Error(Box<InterpError>),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Error(Box::new(InterpError { fault, stmt: String::new() }))
    }
}

impl From<Status> for Stop {
    fn from(status: Status) -> Stop {
        Stop::Failed(status)
    }
}

struct Machine<'a> {
    function: &'a Function,
    /// By variable; a variable is written before it is read, which the verifier has checked.
    vars: Vec<Const>,
    /// By array.
    buffers: Vec<Buffer>,
    /// By array; empty for those that are no lists of parts.
    parts: Vec<Parts>,
    /// The parallel and vector loops that are running.
    sharing: Vec<Sharing>,
    /// By array: the number of these that it comes from the inside of.
    own_within: Vec<usize>,
    order: SplitMix,
    limits: Limits,
    steps: u64,
}

impl<'a> Machine<'a> {
    /// Takes the parameters from memory that fits them.
    fn load(function: &'a Function, memory: &mut Memory, limits: Limits) -> Machine<'a> {
        let mut vars = vec![Const::zero(DType::I64); function.vars.len()];
        let mut buffers: Vec<Buffer> =
            function.arrays.iter().map(|(_, array)| Buffer::new(ArrayData::empty(array.elem))).collect();
        let mut arrays = memory.arrays.drain(..);
        let mut scalars = memory.scalars.iter();
        for &param in &function.params {
            match param {
                Param::Array(array) => {
                    let data = arrays.next().unwrap_or(ArrayData::Bool(vec![]));
                    let blank = limits.blank_outputs && function.arrays[array].role == ArrayRole::Output;
                    buffers[array.index()] = if blank { Buffer::blank(data) } else { Buffer::new(data) };
                }
                Param::Scalar(var) => {
                    vars[var.index()] = Const::int(DType::I64, scalars.next().copied().unwrap_or_default());
                }
            }
        }
        let parts = function.arrays.iter().map(|_| Parts::new()).collect();
        let own_within = vec![0; function.arrays.len()];
        let order = SplitMix(limits.seed);
        Machine { function, vars, buffers, parts, sharing: Vec::new(), own_within, order, limits, steps: 0 }
    }

    /// Gives the array parameters back; the first element of each that has no value.
    fn unload(mut self, memory: &mut Memory) -> Vec<Option<usize>> {
        let mut unwritten = Vec::new();
        for &param in &self.function.params {
            if let Param::Array(array) = param {
                let buffer = &mut self.buffers[array.index()];
                unwritten.push(buffer.first_undefined());
                memory.arrays.push(std::mem::replace(&mut buffer.data, ArrayData::Bool(Vec::new())));
            }
        }
        unwritten
    }

    fn block(&mut self, block: &Block) -> Result<Flow, Stop> {
        for stmt in block {
            match self.stmt(stmt) {
                Ok(Flow::Next) => {}
                Ok(Flow::Break) => return Ok(Flow::Break),
                Err(stop) => return Err(self.locate(stop, stmt)),
            }
        }
        Ok(Flow::Next)
    }

    /// Names the innermost statement in an error.
    fn locate(&self, stop: Stop, stmt: &Stmt) -> Stop {
        match stop {
            Stop::Error(mut error) if error.stmt.is_empty() => {
                error.stmt = self.function.stmt_text(stmt).lines().next().unwrap_or_default().to_string();
                Stop::Error(error)
            }
            stop => stop,
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<Flow, Stop> {
        self.step(1)?;
        match *stmt {
            Stmt::Define { var, value } | Stmt::Assign { var, value } => self.vars[var.index()] = self.eval(value),
            Stmt::Load { var, array, index } => self.vars[var.index()] = self.read(array, self.index(index))?,
            Stmt::Store { array, index, value, reduce, .. } => {
                let (place, mut value, mut what) = (self.index(index), self.eval(value), Use::Store);
                if let Some(op) = reduce {
                    value = arith::binary(op, self.get(array, place)?, value);
                    what = Use::Update(op, index);
                }
                self.put(array, place, value, what)?;
            }
            Stmt::For { .. } => self.for_loop(stmt)?,
            Stmt::While { cond, ref body } => {
                while self.eval(cond).bits != 0 {
                    self.step(1)?;
                    if self.block(body)? == Flow::Break {
                        break;
                    }
                }
            }
            Stmt::Break => return Ok(Flow::Break),
            Stmt::If { cond, ref then, ref otherwise } => {
                return self.block(if self.eval(cond).bits != 0 { then } else { otherwise });
            }
            Stmt::Alloc { array, len, .. } if self.function.arrays[array].role == ArrayRole::Parts => {
                self.alloc_parts(array, self.index(len))?;
            }
            Stmt::Alloc { array, len, zeroed } => {
                self.buffers[array.index()] = Buffer::new(ArrayData::empty(self.function.arrays[array].elem));
                self.enlarge(array, self.index(len), 1, zeroed)?;
            }
            Stmt::Grow { array, count, block, zeroed } => {
                self.enlarge(array, self.index(count), self.index(block), zeroed)?;
            }
            Stmt::Atomic { array, index, value, op } => {
                let (index, value) = (self.index(index), self.eval(value));
                let value = arith::binary(op, self.get(array, index)?, value);
                self.put(array, index, value, Use::Combine(op))?;
            }
            Stmt::Deposit { parts, slot, array, len } => {
                self.deposit(parts, self.index(slot), array, self.index(len))?;
            }
            Stmt::Collect { array, at, parts, bias, result } => {
                let end = self.collect(array, self.index(at), parts, bias)?;
                self.vars[result.index()] = Const::int(DType::I64, end);
            }
            Stmt::Fill { array, begin, end, value } => {
                let value = self.eval(value);
                for index in self.index(begin)..self.index(end) {
                    self.step(1)?;
                    self.write(array, index, value)?;
                }
            }
            Stmt::Call { callee, ref args, result } => {
                let value = self.call(callee, args)?;
                if let Some(var) = result {
                    self.vars[var.index()] = Const::int(DType::I64, value);
                }
            }
            // It has no meaning.
            Stmt::Prefetch { .. } => {}
            Stmt::Fail(status) => return Err(status.into()),
            Stmt::Comment(_) => {}
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, count: u64) -> Result<(), Stop> {
        self.steps = self.steps.saturating_add(count);
        match self.limits.steps {
            Some(limit) if self.steps > limit => Err(Fault::Steps(limit).into()),
            _ => Ok(()),
        }
    }

    fn eval(&self, expr: ExprId) -> Const {
        match self.function.exprs[expr] {
            Expr::Const(constant) => constant,
            Expr::Var(var) => self.vars[var.index()],
            Expr::Unary(op, a) => arith::unary(op, self.eval(a)),
            Expr::Binary(op, a, b) => arith::binary(op, self.eval(a), self.eval(b)),
            Expr::Compare(op, a, b) => Const::bool(arith::compare(op, self.eval(a), self.eval(b))),
            Expr::Select(condition, a, b) => self.eval(if self.eval(condition).bits != 0 { a } else { b }),
            Expr::Cast(ty, a) => arith::cast(ty, self.eval(a)),
            Expr::Word(op, word, place) => arith::word(op, self.eval(word), self.eval(place)),
            Expr::Extern(function, a, None) => function.call(&[self.eval(a)]),
            Expr::Extern(function, a, Some(b)) => function.call(&[self.eval(a), self.eval(b)]),
        }
    }

    /// The value of an expression of type `I64`.
    fn index(&self, expr: ExprId) -> i64 {
        self.eval(expr).bits as i64
    }

    fn read(&mut self, array: ArrayId, index: i64) -> Result<Const, Stop> {
        let value = self.get(array, index)?;
        // It is an index of the array.
        self.note(array, index as usize, Use::Load)?;
        Ok(value)
    }

    fn get(&self, array: ArrayId, index: i64) -> Result<Const, Stop> {
        let buffer = &self.buffers[array.index()];
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(value) = buffer.data.get(place) else { return Err(self.out_of_bounds(array, index)) };
        if !buffer.is_defined(place) {
            return Err(Fault::Undefined { array: self.name(array), index: place }.into());
        }
        Ok(value)
    }

    fn write(&mut self, array: ArrayId, index: i64, value: Const) -> Result<(), Stop> {
        self.put(array, index, value, Use::Store)
    }

    /// Writes an element as a part of a use of it.
    fn put(&mut self, array: ArrayId, index: i64, value: Const, what: Use) -> Result<(), Stop> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        if !self.buffers[array.index()].write(place, value) {
            return Err(self.out_of_bounds(array, index));
        }
        self.note(array, place, what)
    }

    fn out_of_bounds(&self, array: ArrayId, index: i64) -> Stop {
        Fault::OutOfBounds { array: self.name(array), index, len: self.buffers[array.index()].data.len() }.into()
    }

    fn name(&self, array: ArrayId) -> String {
        self.function.arrays[array].name.clone()
    }

    /// Makes room for `count * block` elements.
    fn enlarge(&mut self, array: ArrayId, count: i64, block: i64, zeroed: bool) -> Result<(), Stop> {
        if count < 0 || block < 0 {
            return Err(Status::SizeOverflow.into());
        }
        let len = count.checked_mul(block).and_then(|len| usize::try_from(len).ok()).ok_or(Status::SizeOverflow)?;
        let bytes = len.checked_mul(self.function.arrays[array].elem.size()).ok_or(Status::SizeOverflow)?;
        if bytes > self.limits.array_bytes {
            return Err(Status::OutOfMemory.into());
        }
        self.buffers[array.index()].enlarge(len, zeroed).map_err(|_| Status::OutOfMemory.into())
    }
}
