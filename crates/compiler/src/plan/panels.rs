//! Products of large dense operands, such as of two dense matrices: tiles of the result are formed in registers, and what one tile has
//! read stays in the caches for the next one.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j)      rows of a strip are formed together, of what is loaded once
//!   reorder(i, t, j), split(i, i0, i1, 8), split(j, j0, j1, 16), reorder(i0, j0, t, i1, j1),
//!   precompute(X(t,i) * X(t,j), {i1, j1}, {i1, j1}, dense), parallelize(i0, cpu, none), parallelize(j1, vector, ignore)
//! C(i,k) = A(i,j) * B(j,k)      B is more than the caches hold: a panel of B, as wide as a tile, stays in them for all of A
//!   ... reorder(k0, i0, j, i1, k1), ..., parallelize(k0, cpu, none)
//! C(i,k) = A(i,j) * B(j,k)      j: of more than 1,536 values: so many rows of a panel at once
//!   ..., split(j, j0, j1, 256), reorder(j0, k0, i0, j1, i1, k1), ...
//! ```
//!
//! Without tiles, each value that is loaded serves one product. Demands: the last variable is innermost and dense wherever it is read or
//! written, the variable of the tile's rows stands just outside of the sums, and one factor of a row serves all rows of a tile.
//!
//! Paper: Goto and van de Geijn, *Anatomy of high-performance matrix multiplication* (2008), §4 (what stays in which cache, and that a panel's
//! pages are to fit the TLB) and §6 (tiles of registers).

use lacunar_notation::schedule::{CommandKind, Name, Race, Unit};
use lacunar_notation::{Access, VarId};

use super::commands::part;
use super::rows::Rows;
use super::storage;
use super::traffic::LINE_BYTES;
use crate::iterate::iterators::{AccessKey, level_var};

/// The least number of tiles, along either side: other elements are formed as rows are.
const LEAST_TILES: u64 = 4;
/// The bytes of a page of memory.
const PAGE: f64 = 4096.0;
/// The pages that the second level of the TLB keeps, on the processors where it is smallest (Skylake 1,536, Zen 3 2,048, Zen 4 3,072).
const TLB_PAGES: f64 = 1536.0;
/// The rows of a panel that are taken at once where its pages are more.
const PANEL_ROWS: u64 = 256;
/// The factor of a price where each line is in a page of its own, so that none is fetched ahead. (Zen 3, 1000 x 1000 x 1000: the plain nest of
/// tiles, which reads B in such pieces, takes 450 to 520 ms; panels of B, which read A in rows, 70.)
const APART: f64 = 4.0;

/// The loops around the sums, from the outermost one.
enum Nest {
    /// Loops over tiles, and inside of them over strips of the row. Every tile reads the right operand again.
    TilesOutside,
    /// Loops over strips of the row, and inside of them over tiles. Every strip reads the left operand again.
    StripsOutside,
    /// Loops over parts of the outermost sum, each of so many values, around those over strips and tiles.
    PartsOfSums(u64),
}

/// The variables of a nest of tiles.
struct Tiles<'r, 'a> {
    rows: &'r Rows<'a>,
    /// The variable of the rows of a tile, and the number of these.
    tiled: (VarId, u64),
    /// The variable of its columns, and the number of these.
    row: (VarId, u64),
    sums: &'r [VarId],
}

impl Rows<'_> {
    /// Strips of several rows together, where all is dense and large, and one factor of a row serves them all.
    pub(super) fn tiled(&self) -> Option<Vec<CommandKind>> {
        let (&row, outer) = self.order.split_last()?;
        let first = outer.iter().position(|var| self.summed.contains(var))?;
        let (around, &[tiled]) = outer[..first].split_at_checked(first.checked_sub(1)?)? else { return None };
        let (tile_rows, row_bytes) = self.memory.tile;
        let width = row_bytes / self.body.dtype.arithmetic().size() as u64;
        let is_large = |var: VarId, size: u64| self.kernel.vars[var].size.is_some_and(|all| all >= LEAST_TILES * size);
        let sums = &outer[first..];
        let is_alone = sums.iter().all(|var| self.summed.contains(var)) && !self.summed.contains(&row);
        let is_shared = |access: &AccessKey| access.vars.contains(&row) && !access.vars.contains(&tiled);
        let is_array = |access: AccessKey| !storage::is_sparse(self.kernel, access.tensor);
        let fits = is_alone
            && width > 1
            && is_large(row, width)
            && is_large(tiled, tile_rows)
            && self.is_row(row)
            && self.accesses().all(is_array)
            && self.body.accesses().into_iter().map(AccessKey::from).any(|access| is_shared(&access))
            && self.precomputed(&[]).len() == 1;
        let tiles = Tiles { rows: self, tiled: (tiled, tile_rows), row: (row, width), sums };
        fits.then(|| tiles.commands(around))
    }
}

impl Tiles<'_, '_> {
    fn commands(&self, around: &[VarId]) -> Vec<CommandKind> {
        let (rows, nest) = (self.rows, self.nest(around));
        let split = |var: VarId, size: u64| {
            let (outer, inner) = (part(rows.kernel, var, 0), part(rows.kernel, var, 1));
            let kind = CommandKind::Split { var: rows.name(var), outer: outer.clone(), inner: inner.clone(), size };
            (kind, outer, inner)
        };
        let (split_tiled, tiles, in_tile) = split(self.tiled.0, self.tiled.1);
        let (split_row, strips, places) = split(self.row.0, self.row.1);
        let mut kinds = vec![split_tiled, split_row];
        let names = |vars: &[VarId]| vars.iter().map(|var| rows.name(*var)).collect::<Vec<Name>>();
        let (mut loops, mut sums) = (names(around), names(self.sums));
        let shared = match nest {
            Nest::TilesOutside => {
                loops.extend([tiles.clone(), strips]);
                tiles
            }
            Nest::StripsOutside => {
                loops.extend([strips.clone(), tiles]);
                strips
            }
            Nest::PartsOfSums(size) => {
                let (split_sum, parts, in_part) = split(self.sums[0], size);
                kinds.push(split_sum);
                sums[0] = in_part;
                loops.extend([parts, strips.clone(), tiles]);
                strips
            }
        };
        let inside = [in_tile, places.clone()];
        kinds.push(CommandKind::Reorder([&loops[..], &sums, &inside].concat()));
        kinds.extend(rows.precomputed(&inside));
        let is_around = |var: &Name| around.iter().any(|other| var.text == rows.kernel.vars[*other].name);
        // The sums are inside of tiles, each of which one thread forms.
        let of_tiles = |kind: CommandKind| match kind {
            CommandKind::Parallelize { var, unit, .. } if !is_around(&var) => {
                CommandKind::Parallelize { var: shared.clone(), unit, race: Race::None }
            }
            other => other,
        };
        kinds.extend(rows.shared(|unit| unit == Unit::CpuThread).map(of_tiles));
        kinds.push(CommandKind::Parallelize { var: places, unit: Unit::CpuVector, race: Race::Ignore });
        kinds
    }

    /// The nest that brings in the least for every iteration of the loops around.
    fn nest(&self, around: &[VarId]) -> Nest {
        let (kernel, memory) = (self.rows.kernel, self.rows.memory);
        let ((tiled, tile_rows), (row, width)) = (self.tiled, self.row);
        let size_of = |var: &VarId| kernel.vars[*var].size.map_or(f64::INFINITY, |size| size as f64);
        let swept_by = |has: VarId, lacks: VarId| {
            let accesses = self.rows.body.accesses().into_iter();
            let read = accesses.filter(|access| access.vars.contains(&has) && !access.vars.contains(&lacks));
            read.map(|access| {
                let inside = access.vars.iter().filter(|var| !around.contains(var)).map(size_of).product::<f64>();
                let bytes = inside * kernel.tensors[access.tensor].dtype.size() as f64;
                let apart = if self.pages(access) == 1.0 { APART } else { 1.0 };
                bytes * memory.price(bytes) * apart
            })
            .sum::<f64>()
        };
        let tiles_outside = size_of(&tiled) / tile_rows as f64 * swept_by(row, tiled);
        let strips_outside = size_of(&row) / width as f64 * swept_by(tiled, row);
        if tiles_outside <= strips_outside {
            return Nest::TilesOutside;
        }
        let lines = self.sums.iter().map(size_of).product::<f64>();
        let panels = self.rows.body.accesses().into_iter().filter(|access| !access.vars.contains(&tiled));
        let pages = lines * panels.map(|access| self.pages(access)).fold(0.0, f64::max);
        // The sums of all tiles of a strip are added to again for each part.
        let result = size_of(&tiled) * LINE_BYTES as f64;
        if self.rows.strict || pages <= TLB_PAGES || result > memory.near_bytes() {
            return Nest::StripsOutside;
        }
        let inner = self.sums[1..].iter().map(size_of).product::<f64>();
        Nest::PartsOfSums(((PANEL_ROWS as f64 / inner) as u64).max(1))
    }

    /// The pages of memory that a row of a tile's columns has in an operand: 1, or less if the rows are short. 0 if it is read along a sum.
    fn pages(&self, access: &Access) -> f64 {
        let tensor = &self.rows.kernel.tensors[access.tensor];
        let key = AccessKey::from(access);
        let Some(last) = access.vars.len().checked_sub(1).map(|level| level_var(self.rows.kernel, &key, level)) else {
            return 0.0;
        };
        let row =
            self.rows.kernel.vars[last].size.map_or(f64::INFINITY, |size| size as f64 * tensor.dtype.size() as f64);
        if self.sums.contains(&last) { 0.0 } else { (row / PAGE).min(1.0) }
    }
}
