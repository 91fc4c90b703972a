//! Random parallel and vector loops, whose iterations meet only where they may.
//!
//! In a parallel loop all statements work on arrays of the iteration's own; outside it stores one element of an array of its own
//! and combines, by `atomic`, with elements of another one, and deposits an array of its own. In a vector loop each iteration
//! stores one element of an array, and all add up a variable and an element. Terms that are added up in any order are small
//! multiples of 1/8, whose sums are exact.

use lacunar_base::random::Draw;
use lacunar_formats::DType;

use super::{Generator, Known, LEN, Worth};
use crate::ir::{ArrayId, ArrayRole, BinaryOp, CompareOp, Const, Expr, ExprId, Lanes, LoopKind, Status, Stmt};

/// A list of parts to be collected.
struct List {
    parts: ArrayId,
    ty: DType,
}

impl Generator {
    /// Two different arrays that may be written, the second one combined with, if there are.
    fn two_writable(&mut self) -> Option<[(ArrayId, DType); 2]> {
        let first = self.rng.pick(&self.writable)?;
        let others: Vec<_> =
            self.writable.iter().copied().filter(|&other| other != first && !other.1.is_storage()).collect();
        Some([first, self.rng.pick(&others)?])
    }

    /// An operation that passes a test and that gives exact results for small numbers in any order.
    fn any_order(&mut self, ty: DType, test: fn(BinaryOp) -> bool) -> BinaryOp {
        let ops: Vec<BinaryOp> = Self::reductions(ty).into_iter().filter(|&op| test(op)).collect();
        self.rng.pick(&ops).unwrap_or(BinaryOp::Add)
    }

    /// A value to be added up in any order.
    fn term(&mut self, ty: DType) -> ExprId {
        if ty.is_float() { self.number(ty) } else { self.exact(ty, 2) }
    }

    /// `for i in 0 .. n vector loads l { let v = x[e]; t = t op v; }`
    fn gathering_loop(&mut self) {
        let (begin, end, more) = (self.b.int(0), self.bound(), self.index());
        let loads = self.b.add(end, more);
        let width = [0, 2, 4, 8][self.rng.below(4) as usize];
        let ty = self.operand_type();
        let op = self.any_order(ty, BinaryOp::is_associative);
        let first = self.term(ty);
        let total = self.b.declare("total", first);
        let known = self.known.clone();
        let lanes = self.lanes_of(width);
        self.loop_of(LoopKind::Vector(lanes), begin, end, |generator, i| {
            generator.b.loads_up_to(loads);
            generator.learn(i, Worth::Exact);
            let term = generator.term(ty);
            let held = generator.b.var(total);
            let sum = generator.b.expr(Expr::Binary(op, held, term));
            generator.b.assign(total, sum);
        });
        self.known = known;
        let expr = self.b.var(total);
        self.known.push(Known { expr, ty, mutable: Some(total), worth: Worth::Sum });
    }

    /// Lanes of a width, with hints that are true or not: none changes a result.
    fn lanes_of(&mut self, width: u32) -> Lanes {
        let [steady, near, scattered] = [(); 3].map(|()| self.rng.one_in(2));
        Lanes { width, steady, near, scattered }
    }

    /// `for i in 0 .. n vector { y[i] = e; t = t op e; z[k] op= e; }`
    pub(super) fn vector_loop(&mut self) {
        if self.rng.one_in(3) {
            return self.gathering_loop();
        }
        let Some([(stored, stored_ty), (reduced, reduced_ty)]) = self.two_writable() else { return };
        let (begin, end) = (self.b.int(0), self.index());
        let width = [0, 2, 4, 8][self.rng.below(4) as usize];
        let ty = self.operand_type();
        let (op, element_op) =
            (self.any_order(ty, BinaryOp::is_associative), self.any_order(reduced_ty, BinaryOp::is_associative));
        let first = self.term(ty);
        let total = self.b.declare("total", first);
        let (known, element, branches) = (self.known.clone(), self.index(), self.rng.one_in(3));
        let lanes = self.lanes_of(width);
        self.loop_of(LoopKind::Vector(lanes), begin, end, |generator, i| {
            generator.learn(i, Worth::Exact);
            generator.vector_store(stored, stored_ty, i);
            let term = generator.term(ty);
            let held = generator.b.var(total);
            let sum = generator.b.expr(Expr::Binary(op, held, term));
            if branches {
                let cond = generator.exact(DType::Bool, 2);
                generator.b.if_then(cond, |b| b.assign(total, sum));
            } else {
                generator.b.assign(total, sum);
            }
            let term = generator.term(reduced_ty);
            generator.b.accumulate(reduced, element, element_op, term);
        });
        self.known = known;
        let expr = self.b.var(total);
        self.known.push(Known { expr, ty, mutable: Some(total), worth: Worth::Sum });
    }

    /// Stores element `i`: at once, or a sum of terms that a loop adds to the element or to a variable.
    fn vector_store(&mut self, array: ArrayId, ty: DType, i: ExprId) {
        if !ty.is_storage() && self.rng.one_in(3) {
            let (begin, end, op) = (self.b.int(0), self.bound(), self.any_order(ty, BinaryOp::is_associative));
            let term = self.term(ty);
            let part = self.rng.one_in(2).then(|| self.b.declare("part", term));
            self.loop_of(LoopKind::Serial, begin, end, |generator, _| match part {
                Some(part) => {
                    let held = generator.b.var(part);
                    let sum = generator.b.expr(Expr::Binary(op, held, term));
                    generator.b.assign(part, sum);
                }
                None => generator.b.accumulate(array, i, op, term),
            });
            if let Some(part) = part {
                let sum = self.b.var(part);
                self.b.store(array, i, sum);
            }
        } else {
            let value = self.value(ty).0;
            self.b.store(array, i, value);
        }
    }

    /// A parallel loop, with lists of parts around it that are collected afterwards.
    pub(super) fn parallel_loop(&mut self, depth: u32) {
        let outer = self.two_writable();
        let lists: Vec<List> = if self.in_parallel { Vec::new() } else { self.lists() };
        let (begin, end) = (self.b.int(0), self.bound());
        for list in &lists {
            self.b.alloc(list.parts, end, false);
        }
        // The variables and arrays that the statements of the body must not change.
        let (known, writable) = (self.known.clone(), std::mem::take(&mut self.writable));
        let (places, around) = (self.places.len(), std::mem::replace(&mut self.in_parallel, true));
        self.known.iter_mut().for_each(|known| known.mutable = None);
        self.loop_of(LoopKind::Parallel, begin, end, |generator, i| {
            generator.learn(i, Worth::Exact);
            if generator.rng.one_in(12) {
                let cond = generator.exact(DType::Bool, 2);
                generator.b.if_then(cond, |b| b.fail(Status::SizeOverflow));
            }
            let ty = generator.dtype();
            let own = generator.local(ty);
            generator.writable.push((own, ty));
            generator.statements(depth - 1);
            if let Some(arrays) = outer {
                generator.share(arrays, i, end);
            }
            for (number, list) in lists.iter().enumerate() {
                generator.deposit(list, number == 1, i, end);
            }
        });
        (self.known, self.writable, self.in_parallel) = (known, writable, around);
        self.places.truncate(places);
        self.collect(&lists);
        if let Some([stored, _]) = outer.filter(|_| self.rng.one_in(4)) {
            self.shared_out(stored);
        }
    }

    /// A parallel loop whose iterations take the elements of an array that they store, as many as each comes to.
    fn shared_out(&mut self, (stored, ty): (ArrayId, DType)) {
        let next = self.b.local_array("next", DType::I64);
        let (zero, one, workers, end) = (self.b.int(0), self.b.int(1), self.bound(), self.bound());
        self.b.alloc(next, one, true);
        let flag = self.b.local_array("flag", DType::Bool);
        self.b.alloc(flag, one, true);
        let value = self.value(ty).0;
        let known = self.known.clone();
        self.known.iter_mut().for_each(|known| known.mutable = None);
        self.loop_of(LoopKind::Parallel, zero, workers, |generator, _| {
            let first = generator.b.take(next);
            let number = generator.b.declare("number", first);
            let at = generator.b.var(number);
            let more = generator.b.compare(CompareOp::Lt, at, end);
            generator.b.while_loop(more, |b| {
                b.store(stored, at, value);
                // A flag that is seen or not, and changes nothing.
                let raised = b.raised(flag);
                b.if_then(raised, |b| b.push(Stmt::Fill { array: stored, begin: at, end: at, value }));
                let raised = b.bool(true);
                b.atomic(flag, zero, BinaryOp::Or, raised);
                let taken = b.take(next);
                b.assign(number, taken);
            });
        });
        self.known = known;
    }

    /// Lists of parts, the second one of integers.
    fn lists(&mut self) -> Vec<List> {
        let integers: Vec<DType> = DType::ALL.into_iter().filter(|ty| ty.is_integer()).collect();
        let types = [Some(self.dtype()), self.rng.pick(&integers)];
        let count = self.rng.below(3) as usize;
        let types = types.into_iter().flatten().take(count);
        types.map(|ty| List { parts: self.b.parts_array("parts", ty), ty }).collect()
    }

    /// Stores the iteration's element of one array and combines with elements of another one.
    fn share(&mut self, [(stored, ty), (combined, combined_ty)]: [(ArrayId, DType); 2], i: ExprId, end: ExprId) {
        let one = self.b.int(1);
        let last = self.b.sub(end, one);
        let place = if self.rng.one_in(2) { i } else { self.b.sub(last, i) };
        let value = self.value(ty).0;
        self.b.store(stored, place, value);
        if self.rng.one_in(2) {
            let loaded = self.b.load("x", stored, place);
            self.b.store(stored, place, loaded);
        }
        let op = self.any_order(combined_ty, BinaryOp::is_atomic);
        for _ in 0..=self.rng.below(2) {
            let (index, term) = (self.index(), self.term(combined_ty));
            self.b.atomic(combined, index, op, term);
        }
    }

    /// Deposits a new array as the iteration's part; if `small`, with elements that a length can be added to.
    fn deposit(&mut self, list: &List, small: bool, i: ExprId, end: ExprId) {
        let array = self.local(list.ty);
        let (index, len) = (self.index(), self.index());
        let mut value = self.value(list.ty).0;
        if small && !self.rng.one_in(8) {
            let mask = self.b.constant(Const::int(list.ty, 63));
            value = self.b.binary(BinaryOp::And, value, mask);
            let (begin, end) = (self.b.int(0), self.b.int(LEN));
            self.b.push(Stmt::Fill { array, begin, end, value });
        } else {
            self.b.store(array, index, value);
        }
        let one = self.b.int(1);
        let last = self.b.sub(end, one);
        let slot = if self.rng.one_in(2) { i } else { self.b.sub(last, i) };
        if self.rng.one_in(4) {
            let even = self.b.compare(CompareOp::Ne, i, one);
            self.b.if_then(even, |b| b.deposit(list.parts, slot, array, len));
        } else {
            self.b.deposit(list.parts, slot, array, len);
        }
    }

    /// Collects lists, the second one first, which may have the lengths in the first one added.
    fn collect(&mut self, lists: &[List]) {
        for (number, list) in lists.iter().enumerate().rev() {
            let bias = lists.first().filter(|_| number == 1 && self.rng.one_in(2)).map(|first| first.parts);
            let grown = self.loops == 0 && self.rng.one_in(2);
            let whole = if grown {
                self.b.array_param("g", list.ty, ArrayRole::Grown)
            } else {
                self.b.local_array("whole", list.ty)
            };
            let (one, mut at) = (self.b.int(1), self.b.int(0));
            if self.rng.one_in(2) {
                let (first, value) = (at, self.constant(list.ty));
                let value = self.b.constant(value);
                self.b.grow(whole, one, one, false);
                self.b.store(whole, first, value);
                at = one;
            }
            let end = self.b.collect("end", whole, at, list.parts, bias);
            self.learn(end, Worth::Exact);
            self.drain_all(whole, list.ty, end);
        }
    }

    /// Stores the first `n` elements, however many there are, to an array of their type that the caller sees.
    pub(super) fn drain_all(&mut self, from: ArrayId, ty: DType, n: ExprId) {
        let same: Vec<ArrayId> =
            self.writable.iter().filter(|(_, elem)| *elem == ty).map(|(array, _)| *array).collect();
        let Some(to) = self.rng.pick(&same) else { return };
        let (zero, mask) = (self.b.int(0), self.b.int(LEN - 1));
        self.b.for_loop("i", zero, n, |b, i| {
            let x = b.load("x", from, i);
            let place = b.binary(BinaryOp::And, i, mask);
            b.store(to, place, x);
        });
    }
}
