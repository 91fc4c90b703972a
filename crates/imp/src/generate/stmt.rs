//! Random statements, and small programs around those that demand a history: `sort_marked` needs marks that agree with its list, a
//! grown array an end, a `while` a statement that ends it.

use lacunar_base::random::Draw;
use lacunar_formats::DType;

use super::{Generator, Known, LEN, Worth};
use crate::build::Builder;
use crate::ir::{Arg, ArrayId, ArrayRole, BinaryOp, Callee, CompareOp, ExprId, LoopKind, Status, Stmt, Turns, UnaryOp};

impl Generator {
    /// Adds a statement, or a few; blocks in it have blocks in them up to `depth`.
    pub(super) fn stmt(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        match self.rng.below(32) {
            0..=3 => self.define(),
            4 | 5 => self.load(),
            6 | 7 => self.store(),
            8 | 9 => self.accumulate(),
            10 | 11 => self.assign(),
            12..=14 if depth > 0 => self.for_loop(depth),
            15 if depth > 0 => self.while_loop(depth),
            16 | 17 if depth > 0 => self.branch(depth),
            18 => self.fill(),
            19 => self.lower_bound(),
            20 if self.loops < 2 => self.sort_marked(),
            21 if self.loops < 2 => self.sort_combine(),
            22 if self.loops == 0 => self.append(),
            23 if self.loops == 0 => self.top_level(),
            24 | 25 if self.loops < 2 => self.vector_loop(),
            26 if self.loops < 2 => self.unpack(),
            27 | 28 if depth > 0 && self.loops < 2 => self.parallel_loop(depth),
            29 => self.prefetch(),
            30 if self.loops < 3 => self.search(depth),
            _ => self.b.comment("a remark"),
        }
    }

    /// A few statements; their definitions are forgotten.
    pub(super) fn statements(&mut self, depth: u32) {
        self.inside(|generator| {
            for _ in 0..=generator.rng.below(4) {
                generator.stmt(depth);
            }
        });
    }

    /// Makes the statements of a block, whose definitions are forgotten.
    pub(super) fn inside(&mut self, build: impl FnOnce(&mut Generator)) {
        let (known, writable) = (self.known.len(), self.writable.len());
        let (places, values) = (self.places.len(), self.values.len());
        build(self);
        self.known.truncate(known);
        self.writable.truncate(writable);
        self.places.truncate(places);
        self.values.truncate(values);
    }

    /// An element of one of some arrays, now and then one that was used before.
    pub(super) fn place(&mut self, arrays: &[(ArrayId, DType)]) -> Option<(ArrayId, DType, ExprId)> {
        let fits = |&&(array, ty, _): &&(ArrayId, DType, ExprId)| arrays.contains(&(array, ty));
        let used: Vec<_> = self.places.iter().filter(fits).copied().collect();
        if let (Some(place), true) = (self.rng.pick(&used), self.rng.one_in(2)) {
            return Some(place);
        }
        let (array, ty) = self.rng.pick(arrays)?;
        let place = (array, ty, self.index());
        self.places.push(place);
        Some(place)
    }

    /// Runs `build` on the generator while a function of [`Builder`] lends the builder.
    pub(super) fn lent(&mut self, b: &mut Builder, build: impl FnOnce(&mut Generator)) {
        std::mem::swap(b, &mut self.b);
        build(self);
        std::mem::swap(b, &mut self.b);
    }

    pub(super) fn learn(&mut self, expr: ExprId, worth: Worth) {
        self.known.push(Known { expr, ty: self.b.type_of(expr), mutable: None, worth });
    }

    fn define(&mut self) {
        let ty = self.dtype();
        let (value, worth) = match self.rng.pick(&self.values) {
            Some(value) if self.rng.one_in(4) => value,
            _ => self.value(ty),
        };
        self.values.push((value, worth));
        let ty = self.b.type_of(value);
        if self.rng.one_in(3) {
            let var = self.b.declare("t", value);
            let expr = self.b.var(var);
            self.known.push(Known { expr, ty, mutable: Some(var), worth: Worth::Sum });
        } else {
            let expr = self.b.define("v", value);
            self.learn(expr, worth);
        }
    }

    fn load(&mut self) {
        let input = self.rng.one_in(2);
        let arrays = if input { self.inputs.clone() } else { self.writable.clone() };
        let Some((array, _, index)) = self.place(&arrays) else { return };
        let expr = self.b.load("x", array, index);
        self.learn(expr, if input { Worth::Exact } else { Worth::Sum });
    }

    fn store(&mut self) {
        let Some((array, ty, index)) = self.place(&self.writable.clone()) else { return };
        let sums: Vec<ExprId> = self.known.iter().filter(|known| known.ty == ty).map(|known| known.expr).collect();
        let value = match self.rng.pick(&sums) {
            Some(sum) if self.rng.one_in(2) => sum,
            _ => self.value(ty).0,
        };
        let past = self.rng.one_in(3).then(|| self.exact(DType::Bool, 1));
        self.b.store_past(array, index, value, past);
    }

    fn prefetch(&mut self) {
        let Some((array, _)) = self.rng.pick(&self.inputs) else { return };
        let (begin, far) = (self.index(), self.bound());
        let len = self.b.int(LEN);
        let end = if self.rng.one_in(2) { self.b.add(begin, len) } else { far };
        self.b.push(Stmt::Prefetch { array, begin, end });
    }

    fn accumulate(&mut self) {
        let Some((array, ty, index)) = self.place(&self.writable.clone()) else { return };
        let value = self.value(ty).0;
        if let Some(op) = self.rng.pick(&Self::reductions(ty)) {
            self.b.accumulate(array, index, op, value);
        }
    }

    fn assign(&mut self) {
        let mutable: Vec<Known> = self.known.iter().filter(|known| known.mutable.is_some()).copied().collect();
        let Some(known) = self.rng.pick(&mutable) else { return };
        let (value, op) = (self.value(known.ty).0, self.rng.pick(&Self::reductions(known.ty)));
        if let (Some(var), Some(op)) = (known.mutable, op) {
            let value = if self.rng.one_in(4) { value } else { self.b.binary(op, known.expr, value) };
            self.b.assign(var, value);
        }
    }

    fn for_loop(&mut self, depth: u32) {
        let (begin, end) = (self.b.int(0), self.bound());
        let begin = if self.rng.one_in(3) { self.index() } else { begin };
        let kind = match self.rng.below(12) {
            0 => LoopKind::Unrolled(Turns::default()),
            1 => LoopKind::Unrolled(Turns { times: 1 + self.rng.below(8) as u32, near: self.rng.one_in(2) }),
            _ => LoopKind::Serial,
        };
        self.loop_of(kind, begin, end, |generator, i| {
            let known = generator.known.len();
            generator.learn(i, Worth::Exact);
            generator.statements(depth - 1);
            if kind == LoopKind::Serial && generator.rng.one_in(3) {
                let stop = generator.stop();
                generator.b.if_then(stop, |b| b.push(Stmt::Break));
            }
            generator.known.truncate(known);
        });
    }

    /// The condition under which a loop is left: any, or that a variable has come to a value that nothing changes any more.
    fn stop(&mut self) -> ExprId {
        let mutable: Vec<Known> = self.known.iter().filter(|known| known.mutable.is_some()).copied().collect();
        let terminal = self.rng.pick(&mutable).and_then(|known| {
            let op = self.rng.pick(&Self::reductions(known.ty))?;
            Some((known.expr, op.terminal(known.ty)?))
        });
        match terminal {
            Some((held, terminal)) => {
                let terminal = self.b.constant(terminal);
                self.b.compare(CompareOp::Eq, held, terminal)
            }
            None => self.exact(DType::Bool, 2),
        }
    }

    /// A loop of a kind, whose body `build` makes.
    pub(super) fn loop_of(
        &mut self,
        kind: LoopKind,
        begin: ExprId,
        end: ExprId,
        build: impl FnOnce(&mut Generator, ExprId),
    ) {
        let mut b = std::mem::take(&mut self.b);
        self.loops += 1;
        b.for_loop_kind(kind, "i", begin, end, |b, i| self.lent(b, |generator| build(generator, i)));
        self.loops -= 1;
        self.b = b;
    }

    /// `var k = 0; while k < bound { .. if c { break; } k = k + 1; }`
    fn while_loop(&mut self, depth: u32) {
        let (zero, one, bound) = (self.b.int(0), self.b.int(1), self.bound());
        let var = self.b.declare("k", zero);
        let k = self.b.var(var);
        let cond = self.b.compare(CompareOp::Lt, k, bound);
        let mut b = std::mem::take(&mut self.b);
        self.loops += 1;
        b.while_loop(cond, |b| {
            self.lent(b, |generator| {
                let known = generator.known.len();
                generator.learn(k, Worth::Exact);
                generator.statements(depth - 1);
                if generator.rng.one_in(2) {
                    let stop = generator.exact(DType::Bool, 2);
                    generator.b.if_then(stop, |b| b.push(Stmt::Break));
                }
                generator.known.truncate(known);
                let next = generator.b.add(k, one);
                generator.b.assign(var, next);
            });
        });
        self.loops -= 1;
        self.b = b;
    }

    fn branch(&mut self, depth: u32) {
        let cond = self.exact(DType::Bool, 2);
        let mut b = std::mem::take(&mut self.b);
        let then = b.block(|b| self.lent(b, |generator| generator.statements(depth - 1)));
        let both = self.rng.one_in(2);
        let otherwise = b.block(|b| {
            self.lent(b, |generator| {
                if both {
                    generator.statements(depth - 1);
                }
            });
        });
        b.push(Stmt::If { cond, then, otherwise });
        self.b = b;
    }

    fn fill(&mut self) {
        let Some((array, ty)) = self.rng.pick(&self.writable) else { return };
        let (begin, end, value) = (self.index(), self.bound(), self.value(ty).0);
        self.b.push(Stmt::Fill { array, begin, end, value });
    }

    fn lower_bound(&mut self) {
        let Some(&(sorted, _)) = self.inputs.last() else { return };
        let (a, b, key) = (self.index(), self.index(), self.exact(DType::I64, 1));
        let begin = self.b.binary(BinaryOp::Min, a, b);
        let end = self.b.binary(BinaryOp::Max, a, b);
        let args = vec![Arg::Array(sorted), Arg::Scalar(begin), Arg::Scalar(end), Arg::Scalar(key)];
        let p = self.b.call_value("p", Callee::LowerBound, args);
        self.learn(p, Worth::Exact);
    }

    /// Marks coordinates, listing each that was not marked, and sorts the list.
    fn sort_marked(&mut self) {
        let marks = self.b.local_array("marks", DType::Bool);
        let list = self.b.local_array("list", DType::I64);
        let (zero, one, size, bound) = (self.b.int(0), self.b.int(1), self.b.int(LEN), self.bound());
        let (factor, shift) = (self.b.int(3), self.index());
        self.b.alloc(marks, size, true);
        self.b.alloc(list, size, false);
        let count = self.b.declare("count", zero);
        let n = self.b.var(count);
        self.b.for_loop("i", zero, bound, |b, i| {
            let product = b.mul(i, factor);
            let sum = b.add(product, shift);
            let mask = b.int(LEN - 1);
            let k = b.binary(BinaryOp::And, sum, mask);
            let mark = b.load("mark", marks, k);
            let unmarked = b.unary(UnaryOp::Not, mark);
            b.if_then(unmarked, |b| {
                let yes = b.bool(true);
                b.store(marks, k, yes);
                b.store(list, n, k);
                let next = b.add(n, one);
                b.assign(count, next);
            });
        });
        let args = vec![Arg::Array(list), Arg::Scalar(n), Arg::Array(marks), Arg::Scalar(size)];
        self.b.call(Callee::SortMarked, args);
        self.drain(list, n);
    }

    /// Sorts entries by one or two keys and adds up those of equal keys.
    fn sort_combine(&mut self) {
        let ty = self.operand_type();
        let values = self.b.local_array("values", ty);
        let keys: Vec<ArrayId> = (0..=self.rng.below(2)).map(|_| self.b.local_array("key", DType::I64)).collect();
        let (zero, size, n) = (self.b.int(0), self.b.int(LEN), self.index());
        for &array in keys.iter().chain([&values]) {
            self.b.alloc(array, size, false);
        }
        let value = self.value(ty).0;
        let shift = self.exact(DType::I64, 1);
        self.b.for_loop("i", zero, n, |b, i| {
            b.store(values, i, value);
            for (k, &key) in keys.iter().enumerate() {
                let (divisor, sum) = (b.int(3 - k as i64), b.add(i, shift));
                let remainder = b.binary(BinaryOp::Rem, sum, divisor);
                b.store(key, i, remainder);
            }
        });
        let arrays = [values].into_iter().chain(keys.iter().copied()).map(Arg::Array);
        let args = [Arg::Scalar(n)].into_iter().chain(arrays).collect();
        let left = self.b.call_value("left", Callee::SortCombine, args);
        self.drain(values, left);
        for key in keys {
            self.drain(key, left);
        }
    }

    /// The places of the ones of two words, one behind the other.
    fn unpack(&mut self) {
        let list = self.b.local_array("list", DType::U16);
        let (zero, size) = (self.b.int(0), self.b.int(LEN + 128));
        self.b.alloc(list, size, false);
        let mut count = zero;
        for _ in 0..2 {
            let word = if self.rng.one_in(2) { self.marks() } else { self.exact(DType::U64, 2) };
            let base = self.index();
            let ones = self.b.unpack(list, count, word, base);
            count = self.b.add(count, ones);
        }
        self.drain_all(list, DType::U16, count);
    }

    /// The word of 64 marks, a few of which may be set.
    fn marks(&mut self) -> ExprId {
        let marks = self.b.local_array("marks", DType::Bool);
        let size = self.b.int(LEN + 64);
        self.b.alloc(marks, size, true);
        for _ in 0..4 {
            let (place, mark) = (self.index(), self.exact(DType::Bool, 2));
            self.b.store(marks, place, mark);
        }
        let first = self.index();
        self.b.marks(marks, first)
    }

    /// Copies the first `n` elements to an array of their type that the caller sees, if there is one.
    fn drain(&mut self, from: ArrayId, n: ExprId) {
        let ty = self.b.function().arrays[from].elem;
        let same: Vec<ArrayId> =
            self.writable.iter().filter(|(_, elem)| *elem == ty).map(|(array, _)| *array).collect();
        let Some(to) = self.rng.pick(&same) else { return };
        let zero = self.b.int(0);
        self.b.for_loop("i", zero, n, |b, i| {
            let x = b.load("x", from, i);
            b.store(to, i, x);
        });
    }

    /// Appends to a new grown array in a loop, blocks of one or two elements.
    fn append(&mut self) {
        let ty = self.dtype();
        let grown = self.b.array_param("g", ty, ArrayRole::Grown);
        let (zero, one, end) = (self.b.int(0), self.b.int(1), self.index());
        let width = 1 + self.rng.below(2) as i64;
        let (block, value, zeroed) = (self.b.int(width), self.value(ty).0, self.rng.one_in(2));
        self.b.for_loop("i", zero, end, |b, i| {
            let count = b.add(i, one);
            b.grow(grown, count, block, zeroed);
            for k in 0..if zeroed { 1 } else { width } {
                let (start, offset) = (b.mul(i, block), b.int(k));
                let place = b.add(start, offset);
                b.store(grown, place, value);
            }
        });
    }

    /// The length of an array as the caller gives it.
    fn length(&mut self) {
        let Some((array, _)) = self.rng.pick(&self.inputs) else { return };
        let length = self.b.call_value("length", Callee::Length, vec![Arg::Array(array)]);
        self.learn(length, Worth::Exact);
    }

    /// The statements outside of loops: new local arrays, lengths, and now and then the end.
    fn top_level(&mut self) {
        if self.rng.one_in(4) {
            let status = if self.rng.one_in(2) { Status::OutOfMemory } else { Status::SizeOverflow };
            let cond = self.exact(DType::Bool, 2);
            self.b.if_then(cond, |b| b.fail(status));
        } else if self.rng.one_in(4) {
            self.length();
        } else {
            let ty = self.dtype();
            let array = self.local(ty);
            self.writable.push((array, ty));
        }
    }
}
