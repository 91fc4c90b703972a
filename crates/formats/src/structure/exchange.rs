//! Structures in which all coordinates can be exchanged: an element follows from the one whose coordinates ascend.
//!
//! Equal coordinates are taken in the order of dimensions, so that each element has one order in which its coordinates ascend.
//! [`sorting`] has a piece for each but the first, in lexicographic order, as [`orders`] lists them; [`number`] tells the place of one.
//!
//! ```text
//! (4, 1, 3)    the coordinates of dimensions 1, 2, 0 ascend: 1 < 3 < 4        follows from (1, 3, 4)
//! ```
//!
//! On entry: a space whose parameters are the sizes of its dimensions.

use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set, Space};

use super::bounds;

/// The constraints on the sizes, which are equal, and the elements whose coordinates ascend. `None` if numbers do not fit.
pub(super) fn sorted(space: &Space) -> Option<(Piece, Set)> {
    let order = space.dims.len();
    let mut context = Piece::universe(space.params.len(), 0);
    for dim in 1..order {
        context.equal(Affine::variable(dim - 1).minus(&Affine::variable(dim))?);
    }
    let within = bounds(space, &context)?;
    let ascending = in_order(space, &(0..order).collect::<Vec<_>>())?;
    let unique = Set::of_piece(space.clone(), ascending).intersect(&within)?.coalesced();
    Some((context, unique))
}

/// The map of all elements whose coordinates do not ascend. If numbers do not fit, nothing follows from anything.
pub(super) fn sorting(space: &Space, context: &Piece) -> Map {
    let made = || -> Option<Map> {
        let mut map = Map::empty(space.clone(), space.dims.clone());
        let within = bounds(space, context)?;
        let [within] = within.pieces() else { return None };
        for order in orders(space.dims.len()).into_iter().skip(1) {
            let domain = in_order(space, &order)?.intersect(within)?;
            let target = order.iter().map(|&dim| Affine::variable(domain.column(dim))).collect();
            map.push_apart(MapPiece { domain, target, coefficient: Coefficient::ONE });
        }
        Some(map)
    };
    made().unwrap_or_else(|| Map::empty(space.clone(), space.dims.clone()))
}

/// For each two neighboring dimensions the map that exchanges them. `None` if numbers do not fit.
pub(super) fn neighbors(space: &Space, context: &Piece) -> Option<Vec<Map>> {
    let within = bounds(space, context)?;
    let [within] = within.pieces() else { return None };
    let exchange = |dim: usize| -> Option<Map> {
        let mut target: Vec<Affine> = (0..space.dims.len()).map(|dim| Affine::variable(within.column(dim))).collect();
        target.swap(dim - 1, dim);
        let mut map = Map::empty(space.clone(), space.dims.clone());
        map.add_apart(MapPiece { domain: within.clone(), target, coefficient: Coefficient::ONE })?;
        Some(map)
    };
    (1..space.dims.len()).map(exchange).collect()
}

/// The points whose coordinates ascend in an order of dimensions. `None` if numbers do not fit.
fn in_order(space: &Space, order: &[usize]) -> Option<Piece> {
    let mut piece = space.universe();
    for pair in order.windows(2) {
        let apart = Affine::variable(piece.column(pair[1])).minus(&Affine::variable(piece.column(pair[0])))?;
        piece.at_least(if pair[0] < pair[1] { apart } else { apart.shifted(-1)? });
    }
    Some(piece)
}

/// All orders of so many dimensions, in lexicographic order; the first is the one in which they ascend.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for first in 0..count {
        for rest in orders(count - 1) {
            let others: Vec<usize> = (0..count).filter(|&number| number != first).collect();
            found.push([first].into_iter().chain(rest.iter().map(|&place| others[place])).collect());
        }
    }
    found
}

/// True if a point lies in a tensor whose sizes are the first parameters.
pub(super) fn is_inside(params: &[i64], point: &[i64]) -> bool {
    point.iter().zip(params).all(|(at, size)| (0..*size).contains(at))
}

/// The coordinates of the element that a point follows from.
pub(super) fn ascending(point: &[i64]) -> Vec<i64> {
    let mut sorted = point.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The place, among all orders of dimensions, of the one in which the coordinates of a point ascend: 0 of a unique element, and of others one
/// more than the number of their piece of the map.
///
/// ```
/// use lacunar_formats::structure::order_of;
/// assert_eq!((order_of(&[1, 3, 4]), order_of(&[3, 3, 3]), order_of(&[4, 3, 1])), (0, 0, 5));
/// ```
#[inline]
pub fn order_of(point: &[i64]) -> usize {
    let mut number = 0;
    // Of the places that are left, how many dimensions stand before the one that is next, and are not taken.
    let mut taken = 0_u64;
    for place in 0..point.len() {
        let mut next = usize::MAX;
        for (dim, at) in point.iter().enumerate() {
            if taken & (1 << dim) == 0 && (next == usize::MAX || *at < point[next]) {
                next = dim;
            }
        }
        let before = (0..next).filter(|dim| taken & (1 << dim) == 0).count();
        number = number * (point.len() - place) + before;
        taken |= 1 << next;
    }
    number
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Structure;
    use super::*;

    fn cube(order: usize) -> Structure {
        let names = |letter: &str| (0..order).map(|dim| format!("{letter}{dim}")).collect::<Vec<_>>();
        Structure::symmetric(&Space::new(names("n"), names("i"))).unwrap()
    }

    #[test]
    fn sorting_is_what_the_pieces_of_the_map_do() {
        for order in 2..=5 {
            let structure = cube(order);
            assert_eq!(structure.parts(), structure.redundancy().pieces().len());
            let size = if order < 5 { 3 } else { 2 };
            let sizes = vec![size; order];
            for number in 0..(size as usize).pow(order as u32) {
                let digit = |dim: usize| (number / (size as usize).pow(dim as u32)) as i64 % size;
                let point: Vec<i64> = (0..order).map(digit).collect();
                let pieces = structure.redundancy().pieces();
                let has = |piece: &MapPiece| piece.domain.contains(&sizes, &point).unwrap();
                let found = pieces.iter().position(has).map_or(0, |piece| piece + 1);
                assert_eq!(order_of(&point), found, "{point:?}");
                assert_eq!(pieces.iter().filter(|piece| has(piece)).count(), usize::from(found > 0));
                if found > 0 {
                    assert_eq!(structure.redundancy().at(&sizes, &point), structure.element(&sizes, &point));
                }
            }
        }
    }

    #[test]
    fn many_dimensions_take_no_pieces() {
        let structure = cube(7);
        let element = structure.element(&[9; 7], &[8, 1, 5, 1, 0, 7, 2]).unwrap().unwrap();
        assert_eq!(element.0, [0, 1, 1, 2, 5, 7, 8]);
        assert_eq!(structure.element(&[9; 7], &[9, 1, 5, 1, 0, 7, 2]), Some(None));
        assert_eq!(structure.parts(), 5039);
        assert!(structure.redundancy.get().is_none());
    }
}
