//! Levels of indicators that gather coordinates: those of a dense tensor, and below them its values.
//!
//! ```text
//! x(p(i))           level of i (dense)     position = i
//!                   level of d             d = p_vals[i]             position = that of the level above
//! x({4, 1}(i))      the same with an array that the kernel makes: 4 1
//!   from d to i     level of d             1 4                       level of i    1 0
//! ```
//!
//! On entry, every value lies in its dimension: that is checked before a kernel is run.

use std::collections::BTreeMap;
use std::rc::Rc;

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, Builder, ExprId};
use lacunar_notation::Tensor;

use super::{At, LevelCode, Only, Part, Position, first_reaching, level_code};

/// The levels of an indicator whose last coordinates are the values of a tensor; `dims` are the sizes of its dimensions.
pub fn of_values(tensor: &Tensor, values: ArrayId, dims: &[ExprId]) -> Vec<Rc<dyn LevelCode>> {
    let last = tensor.order() - 1;
    let level = |level: usize| -> Rc<dyn LevelCode> {
        if level == last {
            return Rc::new(Gathered { values, alone: last == 0 });
        }
        // A dense level has no arrays.
        level_code(tensor, level, dims[tensor.format.mode_order()[level]], true, &mut |_, _, _| values)
    };
    (0..tensor.order()).map(level).collect()
}

/// The levels of an indicator whose last coordinates are a list, which the kernel writes down where it begins: in the order of the list,
/// or in that of its numbers, each with its places.
pub fn of_list(b: &mut Builder, tensor: &Tensor, list: &[u64], dims: &[ExprId]) -> Vec<Rc<dyn LevelCode>> {
    if tensor.format.mode_order().last() == Some(&1) {
        let values = constants(b, &tensor.name, list);
        return of_values(tensor, values, dims);
    }
    let mut places: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (place, &number) in (0..).zip(list) {
        places.entry(number).or_default().push(place);
    }
    let edges = places.values().scan(0, |end, own| {
        *end += own.len() as u64;
        Some(*end)
    });
    let edges: Vec<u64> = std::iter::once(0).chain(edges).collect();
    let numbers: Vec<u64> = places.keys().copied().collect();
    let ends = [0, numbers.len() as u64];
    let places = places.into_values().flatten().collect::<Vec<u64>>();
    let mut arrays = |level: usize, part: Part, name: &str| match (level, part == Part::POSITIONS) {
        (0, true) => constants(b, name, &ends),
        (0, false) => constants(b, name, &numbers),
        (_, true) => constants(b, name, &edges),
        (_, false) => constants(b, name, &places),
    };
    (0..tensor.order())
        .map(|level| {
            let size = dims[tensor.format.mode_order()[level]];
            level_code(tensor, level, size, true, &mut |part, name, _| arrays(level, part, name))
        })
        .collect()
}

/// A local array with these numbers.
fn constants(b: &mut Builder, name: &str, numbers: &[u64]) -> ArrayId {
    let array = b.local_array(name, DType::U64);
    let count = b.int(numbers.len() as i64);
    b.alloc(array, count, false);
    for (place, &number) in numbers.iter().enumerate() {
        let (place, number) = (b.int(place as i64), b.int(number as i64));
        b.store_index(array, place, number);
    }
    array
}

/// The level of values: one coordinate for each parent position, at the position of the same number.
#[derive(Debug)]
struct Gathered {
    values: ArrayId,
    /// True if there is no level above.
    alone: bool,
}

impl LevelCode for Gathered {
    fn array(&self, part: Part) -> Option<ArrayId> {
        (part == Part::COORDINATES).then_some(self.values)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        parent.range(b)
    }

    fn only(&self, b: &mut Builder, parent: Position) -> Option<Only> {
        self.alone.then(|| Only { position: parent.first(), present: b.bool(true) })
    }

    fn span(&self, _b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (first, end)
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        first_reaching(b, begin, end, coordinate, |b, here| b.load_index("own", self.values, here))
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        b.load_index(name, self.values, at.position)
    }

    fn count_positions(&self, _b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        parents
    }
}
