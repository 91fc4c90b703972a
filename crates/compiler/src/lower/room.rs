//! Arrays of constant sizes that loops ask for on the way: they are given their memory once, where the loops of a thread begin.
//!
//! ```text
//! alloc list[2048]; alloc pA2_nodes[66];       for all loops of the kernel, or of a chunk
//! for i in .. { .. the loop over a row of A, with its stack .. }
//! ```

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::ArrayId;

use super::Lowerer;
use super::scope::{Fact, Scope};
use crate::iterate::iterators::Iterator;
use crate::levels::LevelCode;
use crate::levels::nodes::Stack;

/// The arrays that the loops of a thread have asked for so far.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// The list of coordinates, and its length.
    list: Cell<Option<(ArrayId, i64)>>,
    /// The stacks of iterators that go from node to node. Loops over one level of an access follow each other, and share one.
    stacks: RefCell<Vec<(Iterator, Stack)>>,
}

/// The list of coordinates of the thread, which has so many places.
pub(super) fn list(cx: &mut Lowerer<'_>, places: i64, scope: &Scope) -> Result<ArrayId, Diagnostic> {
    let room = room(scope)?;
    let list = room.list.get().map_or_else(|| cx.b.local_array("list", DType::U16), |(list, _)| list);
    room.list.set(Some((list, places)));
    Ok(list)
}

/// The stack of an iterator that goes from node to node, if it needs one.
pub(super) fn stack(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    (code, name): (&dyn LevelCode, &str),
    scope: &Scope,
) -> Result<Option<Stack>, Diagnostic> {
    let Some(nodes) = code.nodes() else { return Ok(None) };
    let room = room(scope)?;
    let known = room.stacks.borrow().iter().find(|(own, _)| own == iterator).map(|(_, stack)| *stack);
    if known.is_some() {
        return Ok(known);
    }
    let made = nodes.stack(&mut cx.b, name);
    room.stacks.borrow_mut().extend(made.map(|stack| (iterator.clone(), stack)));
    Ok(made)
}

fn room(scope: &Scope) -> Result<Rc<Room>, Diagnostic> {
    scope.room().ok_or_else(|| Diagnostic::internal("a loop asks for an array where there is no room"))
}

/// The statements that `build` emits, behind the allocation of the arrays that they ask for.
pub(super) fn with_room<T>(
    cx: &mut Lowerer<'_>,
    scope: &Scope,
    build: impl FnOnce(&mut Lowerer<'_>, &Scope) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let room = Rc::new(Room::default());
    let inside = scope.with(Fact::Room(room.clone()));
    let (block, outcome) = cx.block(|cx| build(cx, &inside));
    if let Some((list, places)) = room.list.get() {
        let places = cx.b.int(places);
        cx.b.alloc(list, places, false);
    }
    for array in room.stacks.borrow().iter().flat_map(|(_, stack)| stack.arrays()) {
        let frames = Stack::frames(&mut cx.b);
        cx.b.alloc(array, frames, false);
    }
    cx.append(block);
    outcome
}
