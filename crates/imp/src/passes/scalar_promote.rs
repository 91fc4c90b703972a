//! Keeps an element of an array in a variable while a loop works on it (scalar promotion; Carr, Callahan and Kennedy,
//! PLDI 1990).
//!
//! ```text
//! for p in b .. e {                  if b < e {
//!   let v: f64 = a[p];                 let y_old: f64 = y[i];
//!   y[i] += v;                         var y_now: f64 = y_old;
//! }                            ->      for p in b .. e {
//!                                        let v: f64 = a[p];
//!                                        y_now = y_now + v;
//!                                      }
//!                                      y[i] = y_now;
//!                                    }
//! ```
//!
//! An array is promoted in a loop if all its accesses there are loads and stores of one element, whose index is the
//! same throughout; if at least one is a store; if the element is certain to exist; and if the loop cannot fail halfway, with the
//! element not yet stored. An element exists if the first access is made whenever the loop runs at all (it stands in the body
//! itself, before any `break`), or if it was accessed on the way to the loop. If the first access replaces the element, its old value
//! is not loaded. Sums are made in the same order. An element that a loop only replaces, by a value that is the same throughout, is
//! stored before the loop and needs no variable.
//!
//! A parallel loop does not assign to variables from outside: nothing is promoted across it. Inside of it, and of a
//! vector loop, an element is promoted only if it is certain to be stored: a store that did not happen before could
//! meet a load in another iteration. In a vector loop, it is promoted only if it is not the same element throughout,
//! which would end a reduction. Across a vector loop an element is promoted that it only adds up, which makes the
//! variable a reduction.

use crate::ir::{
    Arg, Array, ArrayId, BinaryOp, Block, Callee, CompareOp, Const, Expr, ExprId, Function, LoopKind, Stmt, VarId,
};
use crate::verify::{MAX_EXPR_DEPTH, MAX_NESTING, expr_depths};
use crate::walk::{Changes, Names, blocks, blocks_mut, nesting, reads, visit};

/// Keeps elements that a loop accumulates into in variables.
pub fn promote_scalars(mut function: Function) -> Function {
    // A guard around a loop makes one block more, a sum one operation; leave room for both.
    let too_deep = expr_depths(&function).into_iter().any(|depth| depth >= MAX_EXPR_DEPTH);
    if too_deep || nesting(&function.body) * 2 > MAX_NESTING {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let names = Names::of(&function);
    let resized = resized(&function, &body);
    function.body =
        Promoter { function: &mut function, names, around: Vec::new(), resized, met: Vec::new() }.block(body);
    function
}

/// By array, true if it gets memory in the function.
fn resized(function: &Function, body: &Block) -> Vec<bool> {
    let mut resized = vec![false; function.arrays.len()];
    let mut note = |stmt: &Stmt| match stmt {
        Stmt::Alloc { array, .. } | Stmt::Grow { array, .. } | Stmt::Collect { array, .. } => {
            resized[array.index()] = true
        }
        _ => {}
    };
    body.iter().for_each(|stmt| visit(stmt, &mut note));
    resized
}

/// An element that a loop works on.
struct Element {
    array: ArrayId,
    index: ExprId,
    /// True if the first access replaces it.
    replaced_first: bool,
    /// The value, if the loop does nothing with the element but replace it by one that is the same throughout.
    value: Option<ExprId>,
}

struct Promoter<'a> {
    function: &'a mut Function,
    names: Names,
    /// The parallel and vector loops around.
    around: Vec<Shared>,
    /// By array, true if it gets memory in the function, so that elements need not go on existing.
    resized: Vec<bool>,
    /// The elements that were accessed on the way here. Their indices depend on immutable variables alone.
    met: Vec<(ArrayId, ExprId)>,
}

/// A loop whose iterations may meet.
enum Shared {
    Parallel,
    /// A vector loop, with the variables and arrays that change in it.
    Vector(Changes),
}

impl Promoter<'_> {
    /// Promotes in the loops of a block, the outer ones first: elements that are kept across them need no keeping inside.
    fn block(&mut self, stmts: Block) -> Block {
        let mut kept = Block::with_capacity(stmts.len());
        let known = self.met.len();
        for stmt in stmts {
            self.meet(&stmt);
            let mut elements = elements(self.function, &stmt, &self.met);
            elements.retain(|element| self.fits_around(&stmt, element));
            let mut stmt = if elements.is_empty() { stmt } else { self.promote(stmt, &elements) };
            let inside = match stmt {
                Stmt::For { kind: LoopKind::Parallel, .. } => Some(Shared::Parallel),
                Stmt::For { kind: LoopKind::Vector(_), .. } => Some(Shared::Vector(Changes::of(self.function, &stmt))),
                _ => None,
            };
            let shares = inside.is_some();
            self.around.extend(inside);
            for inner in blocks_mut(&mut stmt) {
                *inner = self.block(std::mem::take(inner));
            }
            if shares {
                self.around.pop();
            }
            kept.push(stmt);
        }
        self.met.truncate(known);
        kept
    }

    /// Notes the element that a statement accesses.
    fn meet(&mut self, stmt: &Stmt) {
        let Some((array, index)) = access(stmt) else { return };
        let is_fixed = !reads(self.function, index, &|var| self.function.vars[var].mutable);
        if is_fixed && !self.resized[array.index()] {
            self.met.push((array, index));
        }
    }

    /// True if an element of a loop may be loaded before and stored after it, for the loops around.
    fn fits_around(&self, stmt: &Stmt, element: &Element) -> bool {
        let (Stmt::For { body, .. } | Stmt::While { body, .. }) = stmt else { return false };
        let same_throughout = |shared: &Shared| match shared {
            Shared::Parallel => false,
            Shared::Vector(changes) => !changes.touch(self.function, element.index),
        };
        let stored = self.around.is_empty() || certain(body).any(|inner| stores(inner, element.array));
        stored && !self.around.iter().any(same_throughout)
    }

    /// The loop with its elements in variables, in the branch that it runs at all.
    fn promote(&mut self, mut stmt: Stmt, elements: &[Element]) -> Stmt {
        let cond = match stmt {
            Stmt::For { begin, end, .. } => self.function.exprs.insert(Expr::Compare(CompareOp::Lt, begin, end)),
            Stmt::While { cond, .. } => cond,
            other => return other,
        };
        let (mut then, mut after) = (Block::new(), Block::new());
        for element in elements {
            if element.value.is_some() {
                for body in blocks_mut(&mut stmt) {
                    then.extend(body.extract_if(.., |inner| stores(inner, element.array)));
                }
                continue;
            }
            let kept = self.keep(element, &mut then);
            for body in blocks_mut(&mut stmt) {
                redirect(self.function, body, element.array, kept);
            }
            let value = self.function.exprs.insert(Expr::Var(kept));
            after.push(Stmt::Store { array: element.array, index: element.index, value, reduce: None, past: None });
        }
        then.push(stmt);
        then.append(&mut after);
        Stmt::If { cond, then, otherwise: Block::new() }
    }

    /// Declares the variable that holds an element.
    fn keep(&mut self, element: &Element, before: &mut Block) -> VarId {
        let Array { name, elem, .. } = self.function.arrays[element.array].clone();
        let value = if element.replaced_first {
            Expr::Const(Const::zero(elem))
        } else {
            let old = self.names.variable(self.function, &format!("{name}_old"), elem, false);
            before.push(Stmt::Load { var: old, array: element.array, index: element.index });
            Expr::Var(old)
        };
        let value = self.function.exprs.insert(value);
        let var = self.names.variable(self.function, &format!("{name}_now"), elem, true);
        before.push(Stmt::Define { var, value });
        var
    }
}

/// The elements that a loop can keep in variables, in the order of their first accesses; then those of the ones that were met before.
fn elements(function: &Function, stmt: &Stmt, met: &[(ArrayId, ExprId)]) -> Vec<Element> {
    let (Stmt::For { body, .. } | Stmt::While { body, .. }) = stmt else { return Vec::new() };
    let mut can_fail = false;
    visit(stmt, &mut |inner| can_fail |= may_fail(inner));
    if can_fail {
        return Vec::new();
    }
    let changes = Changes::of(function, stmt);
    let mut found: Vec<Element> = Vec::new();
    let is_new = |found: &[Element], (array, index): (ArrayId, ExprId)| {
        found.iter().all(|element| element.array != array)
            && changes.arrays[array.index()]
            && !changes.touch(function, index)
            && is_only_element(stmt, array, index)
    };
    for inner in certain(body) {
        let Some((array, index)) = access(inner) else { continue };
        if !is_new(&found, (array, index)) || precedes(body, inner, array) {
            continue;
        }
        let replaced_first = matches!(inner, Stmt::Store { reduce: None, .. });
        let value = match *inner {
            Stmt::Store { value, reduce: None, past: None, .. } if !changes.touch(function, value) => Some(value),
            _ => None,
        };
        let value = value.filter(|_| accesses(stmt, array) == 1);
        if value.is_some() || stays_reduction(stmt, array) {
            found.push(Element { array, index, replaced_first, value });
        }
    }
    for &(array, index) in met {
        if is_new(&found, (array, index)) && stays_reduction(stmt, array) {
            found.push(Element { array, index, replaced_first: false, value: None });
        }
    }
    found
}

/// The statements of a body that are executed whenever it is entered.
fn certain(body: &Block) -> impl Iterator<Item = &Stmt> {
    body.iter().take_while(|stmt| {
        let mut leaves = false;
        visit(stmt, &mut |inner| leaves |= matches!(inner, Stmt::Break));
        !leaves
    })
}

fn may_fail(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Fail(_)
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Collect { .. }
            | Stmt::Call { callee: Callee::SortCombine | Callee::Length, .. }
    )
}

fn access(stmt: &Stmt) -> Option<(ArrayId, ExprId)> {
    match *stmt {
        Stmt::Load { array, index, .. } | Stmt::Store { array, index, .. } => Some((array, index)),
        _ => None,
    }
}

/// The number of loads and stores of an array in a statement.
fn accesses(stmt: &Stmt, array: ArrayId) -> usize {
    let mut count = 0;
    visit(stmt, &mut |inner| count += usize::from(access(inner).is_some_and(|(accessed, _)| accessed == array)));
    count
}

fn stores(stmt: &Stmt, array: ArrayId) -> bool {
    matches!(*stmt, Stmt::Store { array: stored, .. } if stored == array)
}

/// True if the loops in a statement, itself included, may assign to a variable in the place of an array: parallel ones may not,
/// vector ones may if they only combine with it by one associative operation.
fn stays_reduction(stmt: &Stmt, array: ArrayId) -> bool {
    let mut fits = true;
    match stmt {
        Stmt::For { kind: LoopKind::Parallel, .. } => {
            visit(stmt, &mut |inner| fits &= access(inner).is_none_or(|(used, _)| used != array));
        }
        Stmt::For { kind: LoopKind::Vector(_), .. } => {
            let mut op = None;
            visit(stmt, &mut |inner| match *inner {
                Stmt::Store { array: used, reduce, .. } if used == array => {
                    fits &= reduce.is_some_and(|reduce| reduce.is_associative() && *op.get_or_insert(reduce) == reduce);
                }
                Stmt::Load { array: used, .. } => fits &= used != array,
                _ => {}
            });
        }
        _ => fits = blocks(stmt).flatten().all(|inner| stays_reduction(inner, array)),
    }
    fits
}

/// True if a loop uses no other element of an array than this one, and stores it.
fn is_only_element(stmt: &Stmt, array: ArrayId, index: ExprId) -> bool {
    let (mut only, mut stored) = (true, false);
    visit(stmt, &mut |inner| match inner {
        Stmt::Load { .. } | Stmt::Store { .. } => {
            if let Some((accessed, place)) = access(inner) {
                only &= accessed != array || place == index;
            }
            stored |= stores(inner, array);
        }
        Stmt::Fill { array: used, .. } | Stmt::Atomic { array: used, .. } | Stmt::Deposit { array: used, .. } => {
            only &= *used != array;
        }
        Stmt::Call { args, .. } => only &= !args.contains(&Arg::Array(array)),
        _ => {}
    });
    only && stored
}

/// True if the body uses an array, perhaps, before a statement of the body itself.
fn precedes(body: &Block, stmt: &Stmt, array: ArrayId) -> bool {
    let mut used = false;
    for earlier in body.iter().take_while(|earlier| !std::ptr::eq(*earlier, stmt)) {
        visit(earlier, &mut |inner| used |= access(inner).is_some_and(|(accessed, _)| accessed == array));
    }
    used
}

/// Puts a variable in the place of the one element of an array that a block uses.
fn redirect(function: &mut Function, block: &mut Block, array: ArrayId, kept: VarId) {
    let held = function.exprs.insert(Expr::Var(kept));
    for stmt in block {
        match *stmt {
            Stmt::Load { var, array: accessed, .. } if accessed == array => *stmt = Stmt::Define { var, value: held },
            Stmt::Store { array: accessed, value, reduce, .. } if accessed == array => {
                *stmt = Stmt::Assign { var: kept, value: combined(function, reduce, held, value) };
            }
            _ => blocks_mut(stmt).for_each(|inner| redirect(function, inner, array, kept)),
        }
    }
}

fn combined(function: &mut Function, reduce: Option<BinaryOp>, held: ExprId, value: ExprId) -> ExprId {
    match reduce {
        Some(op) => function.exprs.insert(Expr::Binary(op, held, value)),
        None => value,
    }
}
