//! The uses of shared elements by the iterations of parallel and vector loops, and the check that they are allowed.
//!
//! Each such loop that is running remembers for every element of an array from outside which iterations have loaded it, stored it
//! and combined a value with it (`atomic`, or a reduction of a vector loop). If one iteration stores an element that another one
//! uses, that is a [`Fault::Conflict`], whatever order they ran in:
//!
//! ```text
//! for i in 0 .. 4 parallel {
//!   y[i / 2] = i;             a conflict: iterations 0 and 1 store y[0]
//! }
//! ```

use lacunar_base::random::{Draw, SplitMix};
use lacunar_formats::DType;
use rustc_hash::FxHashMap;

use super::buffer::Buffer;
use super::{Fault, Flow, Machine, Stop};
use crate::arith;
use crate::ir::{ArrayId, BinaryOp, Block, Const, ExprId, Function, LoopKind, Stmt, VarId};
use crate::loops;
use crate::memory::ArrayData;
use crate::walk::Changes;

/// The number of neighboring elements in a block of uses.
const BLOCK: usize = 32;

/// A running loop whose iterations must not meet.
pub(super) struct Sharing {
    kind: LoopKind,
    /// The number of the iteration that runs, or of its work with a number that it took, among all of them so far.
    iteration: u64,
    /// The uses of elements, by array and block of [`BLOCK`] neighboring elements: one lookup finds them all, as loops often use neighbors.
    uses: FxHashMap<(ArrayId, usize), Box<[Uses; BLOCK]>>,
    /// The variables and arrays that change in the loop, if it is a vector loop.
    changes: Option<Changes>,
}

/// The use of an element by a statement.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Load,
    Store,
    /// A store with an operation at the place that an expression gives.
    Update(BinaryOp, ExprId),
    Combine(BinaryOp),
}

/// The iterations that have used an element in one way: the number of the only one, [`By::NOBODY`] or [`By::SEVERAL`]. It is 8 bytes,
/// because a loop keeps three of it for each element.
#[derive(Clone, Copy, PartialEq)]
struct By(u64);

impl By {
    const NOBODY: By = By(u64::MAX);
    const SEVERAL: By = By(u64::MAX - 1);

    fn others(self, iteration: u64) -> bool {
        self != By::NOBODY && self.0 != iteration
    }

    fn add(&mut self, iteration: u64) {
        if *self == By::NOBODY {
            *self = By(iteration);
        } else if self.0 != iteration {
            *self = By::SEVERAL;
        }
    }
}

/// The uses of an element so far.
#[derive(Clone, Copy)]
struct Uses {
    loaded: By,
    stored: By,
    combined: By,
    /// The operation that it was combined by, if it is only one.
    op: Option<BinaryOp>,
}

impl Uses {
    const NONE: Uses = Uses { loaded: By::NOBODY, stored: By::NOBODY, combined: By::NOBODY, op: None };

    /// Notes a use by an iteration; false if that is a conflict.
    fn add(&mut self, what: Use, iteration: u64) -> bool {
        let [loaded, stored, combined] = [self.loaded, self.stored, self.combined].map(|by| by.others(iteration));
        match what {
            Use::Load => {
                self.loaded.add(iteration);
                !stored && !combined
            }
            Use::Store | Use::Update(..) => {
                self.stored.add(iteration);
                !loaded && !stored && !combined
            }
            Use::Combine(op) => {
                let first = self.combined == By::NOBODY;
                self.op = if first || self.op == Some(op) { Some(op) } else { None };
                self.combined.add(iteration);
                !loaded && !stored && (!combined || self.op.is_some())
            }
        }
    }
}

impl Machine<'_> {
    /// Runs a loop of any kind; `stmt` is the loop.
    pub(super) fn for_loop(&mut self, stmt: &Stmt) -> Result<(), Stop> {
        let Stmt::For { var, begin, end, loads, kind, ref body } = *stmt else { return Ok(()) };
        let (begin, end) = (self.index(begin), self.index(end));
        let loads = loads.map(|loads| self.index(loads));
        match kind {
            LoopKind::Serial | LoopKind::Unrolled(_) => {
                for counter in begin..end {
                    if self.iteration(var, counter, body)? == Flow::Break {
                        break;
                    }
                }
                Ok(())
            }
            LoopKind::Vector(_) => {
                let changes = Some(Changes::of(self.function, stmt));
                self.share(kind, changes, |machine| {
                    (begin..end).try_for_each(|counter| machine.shared_iteration(var, counter, body))?;
                    match loads {
                        Some(loads) if begin < end && end < loads => {
                            [end, loads - 1].into_iter().try_for_each(|counter| machine.load_alone(var, counter, body))
                        }
                        _ => Ok(()),
                    }
                })
            }
            LoopKind::Parallel => self.share(kind, None, |machine| machine.parallel_loop(var, begin, end, body)),
        }
    }

    fn iteration(&mut self, var: VarId, counter: i64, body: &Block) -> Result<Flow, Stop> {
        self.step(1)?;
        self.vars[var.index()] = Const::int(DType::I64, counter);
        self.block(body)
    }

    /// Carries out the loads of an iteration behind the end of a loop, which a back end may do.
    fn load_alone(&mut self, var: VarId, counter: i64, body: &Block) -> Result<(), Stop> {
        self.vars[var.index()] = Const::int(DType::I64, counter);
        let mut own = Vec::new();
        for stmt in body {
            match *stmt {
                Stmt::Store { .. } => {}
                Stmt::Assign { var, .. } if !own.contains(&var) => {}
                _ => {
                    own.extend(stmt.definition());
                    let _ = self.stmt(stmt)?;
                }
            }
        }
        Ok(())
    }

    fn shared_iteration(&mut self, var: VarId, counter: i64, body: &Block) -> Result<(), Stop> {
        if let Some(sharing) = self.sharing.last_mut() {
            sharing.iteration += 1;
        }
        self.iteration(var, counter, body).map(|_| ())
    }

    fn share(
        &mut self,
        kind: LoopKind,
        changes: Option<Changes>,
        run: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.sharing.push(Sharing { kind, iteration: 0, uses: FxHashMap::default(), changes });
        let done = run(self);
        self.sharing.pop();
        done
    }

    /// Runs the iterations in another order, each with arrays of its own.
    fn parallel_loop(&mut self, var: VarId, begin: i64, end: i64, body: &Block) -> Result<(), Stop> {
        let own = loops::private_arrays(self.function, body);
        for array in &own {
            self.own_within[array.index()] = self.sharing.len();
        }
        let count = if begin < end { end.wrapping_sub(begin) as u64 } else { 0 };
        let order = Order::new(count, &mut self.order);
        for number in 0..count {
            self.clear(&own);
            self.shared_iteration(var, begin.wrapping_add(order.place(number) as i64), body)?;
        }
        self.clear(&own);
        Ok(())
    }

    /// Takes a number that the iterations of a parallel loop share. The rest of the iteration counts as another iteration's, which it could
    /// be.
    pub(super) fn take(&mut self, array: ArrayId) -> Result<i64, Stop> {
        let taken = self.get(array, 0)?;
        let next = arith::binary(BinaryOp::Add, taken, Const::one(DType::I64));
        self.put(array, 0, next, Use::Combine(BinaryOp::Add))?;
        if let Some(sharing) = self.sharing.last_mut() {
            sharing.iteration += 1;
        }
        Ok(taken.bits as i64)
    }

    fn clear(&mut self, arrays: &[ArrayId]) {
        for &array in arrays {
            self.buffers[array.index()] = Buffer::new(ArrayData::empty(self.function.arrays[array].elem));
        }
    }

    /// Notes the use of an element in the loops that the array comes from outside of.
    pub(super) fn note(&mut self, array: ArrayId, index: usize, what: Use) -> Result<(), Stop> {
        let outermost = self.own_within[array.index()];
        for sharing in self.sharing.iter_mut().skip(outermost) {
            let what = sharing.meaning(self.function, what);
            let block = sharing.uses.entry((array, index / BLOCK)).or_insert_with(|| Box::new([Uses::NONE; BLOCK]));
            if !block[index % BLOCK].add(what, sharing.iteration) {
                let kind = if sharing.kind == LoopKind::Parallel { "parallel" } else { "vector" };
                return Err(Fault::Conflict { array: self.name(array), index, kind }.into());
            }
        }
        Ok(())
    }
}

impl Sharing {
    /// A store with an operation is a reduction if this is a vector loop throughout which the index is the same.
    fn meaning(&self, function: &Function, what: Use) -> Use {
        let Use::Update(op, index) = what else { return what };
        let same_element = self.changes.as_ref().is_some_and(|changes| !changes.touch(function, index));
        if same_element && op.is_associative() { Use::Combine(op) } else { Use::Store }
    }
}

/// An order of the numbers below `count` that is not theirs: `number` comes `number * step + start`, modulo `count`.
struct Order {
    count: u64,
    step: u64,
    start: u64,
}

impl Order {
    fn new(count: u64, random: &mut SplitMix) -> Order {
        let (mut step, start) = (random.below(count), random.below(count));
        // Numbers that share no factor with `count` reach all the others.
        while gcd(step, count) > 1 {
            step = (step + 1) % count;
        }
        Order { count, step, start }
    }

    fn place(&self, number: u64) -> u64 {
        let sum = u128::from(number) * u128::from(self.step) + u128::from(self.start);
        // The remainder is less than `count`.
        (sum % u128::from(self.count.max(1))) as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_number_once() {
        for count in 0..40 {
            let order = Order::new(count, &mut SplitMix(count));
            let mut places: Vec<u64> = (0..count).map(|number| order.place(number)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<u64>>());
        }
        let order = Order::new(u64::MAX, &mut SplitMix(1));
        assert_ne!(order.place(0), order.place(1));
    }
}
