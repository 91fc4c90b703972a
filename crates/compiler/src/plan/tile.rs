//! Accumulations cut into tiles that stay in the cache: if an outer loop adds to a whole dense result again and again, it is done
//! for one tile of the result after the other.
//!
//! ```text
//! y(i) = A(k,i) * x(k,i)      A: diagonals, x: seen along them
//!   reorder(k, i), split(i, i0, i1, 2048), reorder(i0, k, i1), parallelize(i0, cpu, none), parallelize(i1, vector, ignore)
//! ```
//!
//! Without tiles, the result goes through memory once for every `k`. Demands: no operand is iterated along the tiled variable,
//! which lies innermost in all of them.
//!
//! Paper: Senanayake et al. 2020, §5 (`split` and `reorder` of dense loops inside sparse ones).

use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{CommandKind, Race, Schedule, Unit};
use lacunar_notation::{Access, Expr, ExprKind};

use super::commands::{in_order, name, part};
use super::order::choose;
use super::traffic::Memory;
use super::{Search, storage};
use crate::iterate::iterators::{AccessKey, level_var};

/// The bytes of a tile of the result: half of a first-level cache.
const TILE_BYTES: u64 = 16 << 10;
/// The least number of tiles.
const LEAST_TILES: u64 = 4;

/// A schedule for `lhs = flat` in tiles, if it accumulates so.
pub(super) fn schedule(kernel: &Kernel, lhs: &Access, flat: &Expr, memory: Memory) -> Option<Schedule> {
    let ExprKind::Reduce(_, _, body) = &flat.kind else { return None };
    let order = choose(kernel, lhs, flat, Search::Cost, memory).order;
    let (&[outer, tiled], [last]) = (order.as_slice(), lhs.vars.as_slice()) else { return None };
    let size = TILE_BYTES / kernel.tensors[lhs.tensor].dtype.arithmetic().size() as u64;
    let fits = tiled == *last
        && outer != tiled
        && kernel.tensors[lhs.tensor].format.is_dense()
        && kernel.vars[tiled].size.is_none_or(|whole| whole / LEAST_TILES >= size);
    let accesses: Vec<AccessKey> = body.accesses().into_iter().map(AccessKey::from).collect();
    let walked = accesses.iter().all(|key| {
        let levels = 0..key.vars.len();
        let along = |level: usize| level_var(kernel, key, level) == tiled;
        levels.clone().filter(|level| along(*level)).all(|level| {
            level + 1 == key.vars.len() && kernel.tensors[key.tensor].format.levels()[level].properties().full
        })
    });
    // Only loops over stored coordinates are short enough to be repeated for every tile.
    let repeated = accesses.iter().any(|key| key.vars.contains(&outer) && storage::is_sparse(kernel, key.tensor));
    if !fits || !walked || !repeated {
        return None;
    }
    let (strip, inside) = (part(kernel, tiled, 0), part(kernel, tiled, 1));
    let kinds = [
        CommandKind::Split { var: name(kernel, tiled), outer: strip.clone(), inner: inside.clone(), size },
        CommandKind::Reorder(vec![strip.clone(), name(kernel, outer), inside.clone()]),
        CommandKind::Parallelize { var: strip, unit: Unit::CpuThread, race: Race::None },
        CommandKind::Parallelize { var: inside, unit: Unit::CpuVector, race: Race::Ignore },
    ];
    Some(in_order(kernel, &order, kinds))
}
