//! Vector loops, written out: several neighboring iterations at once, each value of the body a vector with a lane for
//! each.
//!
//! `vector/known.rs` says what a loop may contain; LLVM's vectorizer takes other loops. Values that are the same
//! in all lanes stay scalars. An index `counter + something that stays` is that of neighboring elements, loaded and
//! stored as one vector; any other is gathered and scattered. A branch becomes a mask, unless all lanes take it together.
//!
//! A loop of constant length becomes straight code (`vector/straight.rs`).
//! Otherwise the loop has two parts; where the processor has no masks, the second one is scalar:
//!
//! ```text
//! while counter + 4 * width <= end { four copies, each with sums of its own; counter += 4 * width }
//! while counter < end              { one vector under the mask `lane < end - counter`; counter += width }
//! ```
//!
//! `vector/rest.rs` has other second parts, for loops over segments that are often short.
//!
//! Stores under masks cost more than others where memory is far, so that a loop that only stores has one of them at most:
//!
//! ```text
//! while counter + 2 * width <= end { two copies }; if counter + width <= end { one }; if counter < end { one under the mask }
//! ```
//!
//! Rows of any lengths that are only stored take vectors of half of a line (`vector/rows.rs`).
//!
//! A reduction keeps sums of its own in each lane and copy, which are added up at the end.

mod ahead;
mod grouped;
mod inserts;
mod known;
mod lanes;
mod memory;
mod past;
mod rest;
mod rows;
mod stmt;
mod straight;
mod together;
mod words;

use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use lacunar_imp as imp;
use lacunar_imp::{ArrayId, BinaryOp, Block, Expr, ExprId, Function, Reduction, VarId};

pub(super) use self::known::Known;
use self::lanes::Lanes;
pub(super) use self::lanes::vector_of;
use self::rest::Ending;
use self::straight::{STRAIGHT, constants, is_straight, vectors_of};
use super::Emitter;
use super::frame::Place;
use super::hints::LoopHint;
use super::value::Value;
use crate::LlvmError;

/// Copies of the body that run at once: so many sums hide the latency of an addition.
const COPIES_OF_SUMS: u32 = 4;
/// The most sums of all copies: more would not fit 16 registers, beside what they add.
const SUMS_AT_ONCE: u32 = 12;
/// The bytes of all copies of sums over gathered elements: eight loads take at least as long as an addition, and fewer copies leave fewer
/// elements of a short row to the second part. (Products of matrices in `csr` with a vector take 0.8 to 1.0 of the time that four
/// vectors of 64 bytes take on an Intel processor that gathers.)
const BYTES_OF_GATHERED: usize = 64;
/// Most of those copies.
const COPIES_OF_GATHERED: usize = 2;
/// Copies where nothing is summed up: they share the overhead of the loop.
const COPIES: u32 = 2;
/// True for a loop over neighbors that sums up nothing, without branches.
fn stores_alone(known: &Known) -> bool {
    known.reductions.is_empty() && !known.gathers && !known.branches && !known.tests_words
}

/// The lanes of a vector that run.
#[derive(Clone, Copy)]
enum Running<'ctx> {
    /// All.
    All,
    /// The lanes whose counters are below the end, among them the first one.
    Below(IntValue<'ctx>),
    /// The lanes that are left of so many iterations behind the first so many, if any are.
    Left(IntValue<'ctx>, u32),
    /// The same, where all lanes may load: the others are left out of the sums alone.
    Summed(IntValue<'ctx>, u32),
}

/// The iterations of a loop.
#[derive(Clone, Copy)]
pub(super) struct Span<'ctx> {
    /// The first.
    pub(super) begin: IntValue<'ctx>,
    /// One past the last.
    pub(super) end: IntValue<'ctx>,
    /// A number of iterations that may load, if there are others that do.
    pub(super) loads: Option<IntValue<'ctx>>,
}

/// The vector loop being emitted.
struct VectorLoop<'ctx, 'p> {
    known: &'p Known,
    /// Lanes of a vector.
    width: u32,
    /// The first lane's counter.
    counter: IntValue<'ctx>,
    /// The lanes that run; all if there is none.
    mask: Option<VectorValue<'ctx>>,
    /// True if there may be no lane that runs: the mask depends on a branch, rather than on the end of the loop only, or more lanes than
    /// are left were taken.
    branched: bool,
    /// True if these are the lanes that are left, and no branch is around them.
    left: bool,
    /// True if all lanes may load, whether they run or not.
    loads_all: bool,
    /// True if the store being emitted goes past the caches.
    streams: bool,
    /// The end of the loop, if it may come before some lanes.
    end: Option<IntValue<'ctx>>,
    /// The word whose bits the mask is, as far as the loop goes.
    bits: Option<ExprId>,
    /// The neighbors that the body has loaded from inputs, and where.
    loads: Vec<(VarId, ArrayId, ExprId)>,
    /// By variable that the body declares.
    lanes: Vec<(VarId, Lanes<'ctx>)>,
    /// By reduction: the place of its sums in this copy.
    sums: &'p [PointerValue<'ctx>],
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Emits a vector loop if it is of the kind described above; `false` if not.
    pub(super) fn vector_loop(
        &mut self,
        counter: VarId,
        span: Span<'ctx>,
        lanes: imp::Lanes,
        body: &Block,
    ) -> Result<bool, LlvmError> {
        let Span { begin, end, .. } = span;
        let Some((mut known, whole, width)) = self.known_loop(counter, (begin, end), lanes, body) else {
            return Ok(false);
        };
        let is_long = !is_straight((begin, end), whole.min(width));
        let Some(streaming) = self.may_stream(&known, (begin, end), is_long, body)? else {
            return self.whole_loop(&known, span, width, body).map(|()| true);
        };
        self.both_versions(&mut known, streaming, span, (whole, width), body)?;
        Ok(true)
    }

    /// The facts about a vector loop, the lanes of whole vectors, and those of the vectors that it takes; `None` if it is not of the kind
    /// described above.
    fn known_loop(
        &self,
        counter: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        lanes: imp::Lanes,
        body: &Block,
    ) -> Option<(Known, u32, u32)> {
        let mut known = Known::of(self.source, counter, body)?;
        let masked = self.vectors.masked || self.selects_lanes(&known, constants(begin, end));
        if self.source.strict && !known.reductions.is_empty() || known.branches && !masked {
            return None;
        }
        let width = lanes.width;
        (known.is_short, known.is_steady, known.is_near) = (width != 0, lanes.steady, lanes.near);
        known.filling = if lanes.scattered { self.vectors.filling_scattered } else { self.vectors.filling };
        let bytes = if known.gathers { self.vectors.gather_bytes(known.filling) } else { self.vectors.bytes };
        let lanes = |bytes: usize| if width == 0 { (bytes / known.widest.max(1)) as u32 } else { width };
        let lanes = |bytes: usize| lanes(bytes).clamp(2, 64).next_power_of_two();
        let whole = lanes(bytes);
        known.in_halves = width == 0 && bytes > rows::BYTES && self.stores_row(&known, (begin, end), body);
        let width = if known.in_halves { lanes(rows::BYTES) } else { whole };
        let first = begin.get_sign_extended_constant();
        known.aligned = first.filter(|first| first.rem_euclid(i64::from(width)) == 0).map(|_| width);
        Some((known, whole, width))
    }

    /// True if the branches of a loop with these bounds need no instructions under masks: the loop runs over a few lanes, such as those
    /// of a slot. Inside the branches, elements that lie apart are loaded, from a zero in lanes that are left out, and all lanes of
    /// sums are stored, some with their old value. With a branch for each lane, LLVM still keeps the sums in vectors: it takes a lane out
    /// and puts it back, so that each waits for the one before (slots of 8 rows: 2.3 times as long as separate sums, Zen 3).
    fn selects_lanes(&self, known: &Known, bounds: Option<(i64, i64)>) -> bool {
        let Some((begin, end)) = bounds else { return false };
        let held = |&(array, index, combines): &(ArrayId, ExprId, bool)| {
            let direct = self.source.exprs[index] == Expr::Var(known.counter);
            combines && direct && self.tile(array).is_some_and(|len| end <= i64::from(len))
        };
        let few = begin >= 0 && end.saturating_sub(begin) <= STRAIGHT;
        few && !known.masks_loads && !known.tests_words && known.branched_stores.iter().all(held)
    }

    /// The loop, by its length.
    fn whole_loop(&mut self, known: &Known, span: Span<'ctx>, width: u32, body: &Block) -> Result<(), LlvmError> {
        let bounds = (span.begin, span.end);
        match constants(span.begin, span.end).map(|(begin, end)| (begin, end.saturating_sub(begin))) {
            Some((_, count)) if count <= 0 => Ok(()),
            Some((begin, count)) if is_straight(bounds, width) => {
                if known.reductions.is_empty() {
                    self.straight(known, &vectors_of(begin, count, width), body)
                } else {
                    self.straight_sums(known, begin, count, width, body)
                }
            }
            _ => self.long_loop(known, span, width, body),
        }
    }

    /// Room for the sums of so many copies.
    fn start_copies(
        &mut self,
        known: &Known,
        width: u32,
        copies: i64,
    ) -> Result<Vec<Vec<PointerValue<'ctx>>>, LlvmError> {
        let mut row = || known.reductions.iter().map(|reduction| self.start_sums(reduction, width)).collect();
        (0..copies).map(|_| row()).collect()
    }

    /// A loop in two parts.
    fn long_loop(&mut self, known: &Known, span: Span<'ctx>, width: u32, body: &Block) -> Result<(), LlvmError> {
        let Span { begin, end, .. } = span;
        let ending = self.ending(known, span, body);
        let copies = match known.reductions.is_empty() {
            // A word for each turn, so that the places in it are constants.
            _ if known.tests_words && known.is_aligned() => (words::BITS as u32 / width).max(1),
            true => COPIES,
            false if known.gathers && known.is_short => 1,
            false if known.gathers => {
                (BYTES_OF_GATHERED / self.vectors.gather_bytes(known.filling)).clamp(1, COPIES_OF_GATHERED) as u32
            }
            false => 1 << (SUMS_AT_ONCE / known.reductions.len() as u32).clamp(1, COPIES_OF_SUMS).ilog2(),
        };
        if known.gathers && !known.reductions.is_empty() && !known.is_near {
            self.fetch_ahead(known.counter, (begin, end), body)?;
        }
        let sums = self.start_copies(known, width, copies.into())?;
        let step = self.index(i64::from(copies * width));
        let last = self.builder.build_int_sub(end, step, "")?;
        // If the difference wraps around, the loop is too short.
        let before_end = self.builder.build_int_compare(IntPredicate::SLE, last, end, "")?;
        let within = ending.within();
        let enters = self.builder.build_int_compare(within, begin, last, "")?;
        let enters = self.builder.build_and(before_end, enters, "")?;
        let rest = self.stepped(
            begin,
            enters,
            step,
            |emitter, counter, next| {
                for (copy, sums) in (0..).zip(&sums) {
                    let offset = emitter.index(copy * i64::from(width));
                    let counter = emitter.builder.build_int_nsw_add(counter, offset, "")?;
                    emitter.vector_iteration(known, width, counter, Running::All, sums, body)?;
                }
                Ok(emitter.builder.build_int_compare(within, next, last, "")?)
            },
            |emitter| emitter.join_sums(known, width, &sums),
        )?;
        let any = self.builder.build_int_compare(IntPredicate::SLT, rest, end, "")?;
        if known.in_halves && !known.streams {
            return self.rest_of_row(known, (begin, rest, end), width, body);
        }
        if self.vectors.masked && stores_alone(known) {
            return self.tail(known, (rest, end), width, body);
        }
        let rest = match ending {
            Ending::Turn(loads) => self.last_turn(known, (rest, end, any), loads, (width, copies), &sums[0], body)?,
            Ending::Vectors => self.last_vectors(known, (rest, end, any), width, &sums[0], body)?,
            Ending::Scalar => rest,
        };
        self.finish_sums(known, width, &sums[0])?;
        if self.vectors.masked {
            return Ok(());
        }
        let hint = LoopHint::scalar();
        self.count(rest, end, "k", Some(hint), |emitter, counter| {
            emitter.scalar_iteration(known.counter, counter, body)
        })
    }

    /// One vector, or a single iteration where the width is 1, if so many iterations are left. Returns the first that is left then.
    fn vector_if_left(
        &mut self,
        known: &Known,
        (rest, end): (IntValue<'ctx>, IntValue<'ctx>),
        width: u32,
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let step = self.index(i64::from(width));
        let left = self.builder.build_int_sub(end, rest, "left")?;
        let fits = self.builder.build_int_compare(IntPredicate::SGE, left, step, "")?;
        let before = self.current_block()?;
        let (some, after) = (self.new_block("some_left"), self.new_block("none_left"));
        self.builder.build_conditional_branch(fits, some, after)?;
        self.builder.position_at_end(some);
        self.begin_statement();
        self.one_vector(known, rest, width, body)?;
        let next = self.builder.build_int_add(rest, step, "next")?;
        let latch = self.current_block()?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        self.begin_statement();
        let counter = self.builder.build_phi(self.context.i64_type(), "k")?;
        counter.add_incoming(&[(&rest, before), (&next, latch)]);
        Ok(counter.as_basic_value().into_int_value())
    }

    /// The iterations that two vectors at once leave: a whole vector, if there are so many, and one under a mask.
    fn tail(
        &mut self,
        known: &Known,
        (rest, end): (IntValue<'ctx>, IntValue<'ctx>),
        width: u32,
        body: &Block,
    ) -> Result<(), LlvmError> {
        let counter = self.vector_if_left(known, (rest, end), width, body)?;
        let any = self.builder.build_int_compare(IntPredicate::SLT, counter, end, "")?;
        let (some, none) = (self.new_block("some_left"), self.new_block("none_left"));
        self.builder.build_conditional_branch(any, some, none)?;
        self.builder.position_at_end(some);
        self.begin_statement();
        self.vector_iteration(known, width, counter, Running::Below(end), &[], body)?;
        self.builder.build_unconditional_branch(none)?;
        self.builder.position_at_end(none);
        self.begin_statement();
        Ok(())
    }

    /// A loop from `begin` in steps, entered if `enters` holds; `body` tells from the next counter if the loop goes on.
    /// After a loop that was entered, the code of `done` runs. Gives the counter behind the loop.
    pub(super) fn stepped(
        &mut self,
        begin: IntValue<'ctx>,
        enters: IntValue<'ctx>,
        step: IntValue<'ctx>,
        body: impl FnOnce(&mut Self, IntValue<'ctx>, IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError>,
        done: impl FnOnce(&mut Self) -> Result<(), LlvmError>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let before = self.current_block()?;
        let (inside, ran) = (self.new_block("vectors"), self.new_block("ran_vectors"));
        let after = self.new_block("end_vectors");
        self.builder.build_conditional_branch(enters, inside, after)?;
        self.builder.position_at_end(inside);
        let long = self.context.i64_type();
        let counter = self.builder.build_phi(long, "k")?;
        let value = counter.as_basic_value().into_int_value();
        let next = self.builder.build_int_add(value, step, "next")?;
        let more = body(self, value, next)?;
        let latch = self.current_block()?;
        counter.add_incoming(&[(&begin, before), (&next, latch)]);
        self.builder.build_conditional_branch(more, inside, ran)?;
        self.builder.position_at_end(ran);
        done(self)?;
        let ran = self.current_block()?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        let reached = self.builder.build_phi(long, "k")?;
        reached.add_incoming(&[(&begin, before), (&next, ran)]);
        Ok(reached.as_basic_value().into_int_value())
    }

    /// One iteration as the serial loop would run it.
    pub(super) fn scalar_iteration(
        &mut self,
        var: VarId,
        counter: IntValue<'ctx>,
        body: &Block,
    ) -> Result<(), LlvmError> {
        self.frame.places[var.index()] = Some(Place::Value(Value::Int(counter)));
        self.block(body)
    }

    /// `width` iterations at once, under a mask if not all of them may run.
    fn vector_iteration(
        &mut self,
        known: &Known,
        width: u32,
        counter: IntValue<'ctx>,
        running: Running<'ctx>,
        sums: &[PointerValue<'ctx>],
        body: &Block,
    ) -> Result<(), LlvmError> {
        // Invariant expressions and the first lane's indices are evaluated as scalars.
        self.frame.places[known.counter.index()] = Some(Place::Value(Value::Int(counter)));
        let (mask, end, branched) = match running {
            Running::All => (None, None, false),
            Running::Summed(left, first) => (Some(self.lanes_below(width, first, left)?), None, false),
            Running::Below(end) => {
                // Fewer than `width` are left for certain if the number, taken as unsigned, is that small.
                let left = self.builder.build_int_sub(end, counter, "")?;
                (Some(self.lanes_below(width, 0, left)?), Some(end), false)
            }
            Running::Left(left, first) => (Some(self.lanes_below(width, first, left)?), None, true),
        };
        let (loads, lanes) = (Vec::new(), Vec::new());
        let mut state = VectorLoop {
            known,
            width,
            counter,
            mask,
            branched,
            left: branched,
            loads_all: matches!(running, Running::Summed(..)),
            streams: false,
            end,
            bits: None,
            loads,
            lanes,
            sums,
        };
        self.vector_block(&mut state, body)
    }

    /// Room for the sums of a reduction in one copy, with their start values: the identity, or, if combining a value
    /// twice does not matter, the variable's value.
    fn start_sums(&mut self, reduction: &Reduction, width: u32) -> Result<PointerValue<'ctx>, LlvmError> {
        let ty = self.source.vars[reduction.var].ty;
        let start = match self.identity(reduction.op, ty) {
            Some(identity) => identity,
            None => self.read(reduction.var)?,
        };
        let start = self.spread(Lanes::Uniform(start), ty, width)?;
        let place = self.vector_slot(start.get_type())?;
        self.builder.build_store(place, start)?;
        Ok(place)
    }

    /// Memory for a vector, on the stack.
    fn vector_slot(&self, ty: VectorType<'ctx>) -> Result<PointerValue<'ctx>, LlvmError> {
        let here = self.current_block()?;
        self.builder.position_before(&self.frame.entry_end);
        let place = self.builder.build_alloca(ty, "lanes")?;
        self.builder.position_at_end(here);
        Ok(place)
    }

    /// Combines the sums of all copies in the first one.
    fn join_sums(&mut self, known: &Known, width: u32, sums: &[Vec<PointerValue<'ctx>>]) -> Result<(), LlvmError> {
        for (number, &Reduction { var, op }) in known.reductions.iter().enumerate() {
            let ty = self.source.vars[var].ty;
            let vector = self.vector_type(ty, width)?;
            let mut loaded = Vec::new();
            for copy in sums {
                loaded.push(self.builder.build_load(vector, copy[number], "sums")?.into_vector_value());
            }
            // In pairs, so that additions do not wait for each other.
            while loaded.len() > 1 {
                let mut half = Vec::new();
                for pair in loaded.chunks(2) {
                    half.push(match *pair {
                        [a, b] => self.combine_vectors(op, ty, a, b)?,
                        _ => pair[0],
                    });
                }
                loaded = half;
            }
            self.builder.build_store(sums[0][number], loaded[0])?;
        }
        Ok(())
    }

    /// Combines the variables with the sums of all lanes.
    fn finish_sums(&mut self, known: &Known, width: u32, sums: &[PointerValue<'ctx>]) -> Result<(), LlvmError> {
        for (&Reduction { var, op }, &place) in known.reductions.iter().zip(sums) {
            let ty = self.source.vars[var].ty;
            let all = self.builder.build_load(self.vector_type(ty, width)?, place, "sums")?.into_vector_value();
            let total = self.reduce_vector(op, ty, all)?;
            let total = match self.identity(op, ty) {
                Some(_) => {
                    let old = self.read(var)?;
                    self.binary(op, ty, old, total)?
                }
                None => total,
            };
            if let (Some(Place::Slots(slot, _)), (value, _)) = (self.frame.places[var.index()], total.parts()) {
                self.builder.build_store(slot, value)?;
            }
        }
        Ok(())
    }

    /// The value that changes no other, for operations that are not idempotent.
    fn identity(&self, op: BinaryOp, ty: lacunar_formats::DType) -> Option<Value<'ctx>> {
        use lacunar_imp::Const;
        let one = || if ty.is_float() { Const::real(ty, 1.0) } else { Const::int(ty, 1) };
        let zero = || if ty.is_float() { Const::real(ty, -0.0) } else { Const::zero(ty) };
        let constant = match op {
            _ if ty == lacunar_formats::DType::Bool && op != BinaryOp::Xor => return None,
            BinaryOp::Add | BinaryOp::Xor => zero(),
            BinaryOp::Mul => one(),
            _ => return None,
        };
        Some(super::value::constant(self.context, constant))
    }

    /// The mask of the lanes whose numbers, counted from `first`, are below a number without a sign.
    fn lanes_below(&self, width: u32, first: u32, number: IntValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
        let number = self.splat(number.into(), width)?;
        Ok(self.builder.build_int_compare(IntPredicate::ULT, self.iota(first, width), number, "mask")?)
    }

    /// `first, first + 1, ..` in the lanes.
    fn iota(&self, first: u32, width: u32) -> VectorValue<'ctx> {
        let lanes: Vec<IntValue> = (first..first + width).map(|lane| self.index(lane.into())).collect();
        inkwell::types::VectorType::const_vector(&lanes)
    }

    /// The same in all lanes.
    pub(super) fn splat(&self, value: BasicValueEnum<'ctx>, width: u32) -> Result<VectorValue<'ctx>, LlvmError> {
        let vector = lanes::vector_of(value.get_type(), width)?;
        let one = self.builder.build_insert_element(vector.get_undef(), value, self.index(0), "")?;
        let places = self.context.i32_type().vec_type(width).const_zero();
        Ok(self.builder.build_shuffle_vector(one, vector.get_undef(), places, "")?)
    }
}

impl<'ctx> VectorLoop<'ctx, '_> {
    /// The lanes that load; all if there is no mask.
    fn loads_under(&self) -> Option<VectorValue<'ctx>> {
        self.mask.filter(|_| !self.loads_all)
    }

    fn set(&mut self, var: VarId, value: Lanes<'ctx>) {
        match self.lanes.iter_mut().find(|(known, _)| *known == var) {
            Some((_, old)) => *old = value,
            None => self.lanes.push((var, value)),
        }
    }

    /// The array and the index from which the body has loaded a variable, if the lanes are neighbors there that nothing changes.
    fn loaded(&self, var: VarId) -> Option<(ArrayId, ExprId)> {
        self.loads.iter().rev().find(|(known, ..)| *known == var).map(|&(_, array, index)| (array, index))
    }

    /// True if an index of lanes that are left was given by a masked load.
    fn is_loaded(&self, function: &Function, index: ExprId) -> bool {
        match function.exprs[index] {
            Expr::Var(var) => self.left && self.loaded(var).is_some(),
            Expr::Cast(_, inner) => self.is_loaded(function, inner),
            _ => false,
        }
    }

    fn get(&self, var: VarId) -> Result<Lanes<'ctx>, LlvmError> {
        let found = self.lanes.iter().find(|(known, _)| *known == var).map(|&(_, value)| value);
        found.ok_or(LlvmError::Malformed("a variable is read before its definition"))
    }
}
