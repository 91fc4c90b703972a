//! Conversion into and out of formats that store a dimension by the ranks of its coordinates.
//!
//! A tensor `A` that is stored by ranks is the tensor `P` with `P(k, ..) = A(ranking[k], ..)`, stored by coordinates in
//! the [format of ranks](Format::of_ranks), and the ranking beside it. So everything is done with `P`: a conversion
//! takes the rows of `A` in the order of ranks, and converts `P` as any tensor; or the other way round. If rows of a
//! matrix go into slots or come out of them, that order is all there is of `P`; in other cases it is made.
//!
//! ```text
//! csr to sell(2,4)    how many entries each row has (attribute query); rows sorted by it in windows of 4: the ranking;
//!                     csr, with its rows in that order, to sell(2); the ranking put beside the slots
//! sell(2,4) to coo    sell(2), each row from where its rank is, to csr; that to coo
//! ```
//!
//! Rows with equally many entries keep their order. Arrays from outside may have any order inside of the windows: it is
//! only checked that the ranking names each coordinate of a window once.
//!
//! Papers: Kreutzer et al., *A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector Multiplication on
//! Modern Processors with Wide SIMD Units* (SISC 2014), §3.2; Chou et al. 2020, §5 (attribute queries).

use lacunar_formats::{Format, Map, One, Part, Ranked};

use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::dispatch::with_word;
use crate::error::{AllocError, StorageError};
use crate::fits::widen;
use crate::index_array::index_array;
use crate::parallel::{self, GRAIN};
use crate::sort;
use crate::storage::LevelStorage;
use crate::tensor::Tensor;

/// The ranked dimension of a tensor, and the coordinate of each rank; `None` if no dimension of it is stored by ranks.
pub fn of(tensor: &Tensor) -> Option<(Ranked, Indices<'_>)> {
    let ranked = tensor.format().map()?.ranked()?;
    let ranking = tensor.levels().get(ranked.level)?.array(Part::RANKING.name)?.indices()?;
    Some((ranked, ranking))
}

/// The rank of each coordinate of a tensor that is stored by ranks.
///
/// # Errors
/// Memory is refused.
pub fn ranks(tensor: &Tensor) -> Result<Array<u64>, StorageError> {
    let (ranked, ranking) = of(tensor).ok_or(StorageError::Astray)?;
    let mut ranks = Array::<u64>::zeroed(ranking.len())?;
    // Every coordinate is in the window of its rank.
    parallel::fill_chunks(&mut ranks, grain(u64::from(ranked.window)), |first, ranks| {
        for rank in first..first + ranks.len() {
            ranks[ranking.get(rank) as usize - first] = rank as u64;
        }
    });
    Ok(ranks)
}

/// The tensor in a format that is stored by ranks, made of one in the [format of ranks](Format::of_ranks) whose rows
/// are in the order of a ranking.
///
/// # Errors
/// Memory is refused.
pub fn keep(by_rank: Tensor, ranking: &[u64], format: &Format) -> Result<Tensor, StorageError> {
    let ranked = format.map().and_then(Map::ranked).ok_or(StorageError::Astray)?;
    let (dims, of_ranks, mut levels, values) = by_rank.into_parts();
    let width = widen(format, &dims, values.len() as u64).coordinates(ranked.level);
    let format = format.clone().with_widths_of(&of_ranks).with_coordinates(ranked.level, width);
    if let Some(level) = levels.get_mut(ranked.level) {
        let slots = std::mem::replace(level, LevelStorage::dense(0));
        let size = slots.size();
        let kind = format.levels()[ranked.level].kind;
        let mut arrays = slots.into_arrays();
        arrays.push(index_array(ranking.len(), width, |rank| ranking[rank])?);
        *level = LevelStorage::new(kind, size, arrays);
    }
    Ok(Tensor::assemble(dims, format, levels, values))
}

/// Checks a ranking from outside: it names every coordinate of the dimension once, each in its window.
///
/// # Errors
/// The first fault.
pub fn check(tensor: &Tensor) -> Result<(), StorageError> {
    let Some((Ranked { level, dimension, window }, ranking)) = of(tensor) else { return Ok(()) };
    let size = tensor.dims()[dimension];
    let (found, window) = (ranking.len() as u64, u64::from(window));
    if found != size {
        let what = format!("array {} of level {level}", Part::RANKING.name);
        return Err(StorageError::Length { what, found, expected: size });
    }
    let mut seen = Array::<bool>::zeroed(ranking.len())?;
    let grain = grain(window);
    let faults = parallel::map(seen.chunks_mut(grain).enumerate(), |_, (chunk, seen)| {
        let first = chunk * grain;
        (first..first + seen.len()).find_map(|rank| {
            let (entry, coordinate) = (rank as u64, ranking.get(rank));
            if coordinate >= size {
                return Some(StorageError::OutOfRange { dimension, entry, coordinate, size });
            }
            if coordinate / window != entry / window {
                return Some(StorageError::Window { level, place: entry, coordinate, window });
            }
            // A chunk is made of whole windows.
            let again = std::mem::replace(&mut seen[coordinate as usize - first], true);
            again.then_some(StorageError::Duplicate { level, place: entry })
        })
    });
    faults.into_iter().flatten().next().map_or(Ok(()), Err)
}

/// The number of ranks that one task handles: whole windows.
fn grain(window: u64) -> usize {
    let window = usize::try_from(window).unwrap_or(usize::MAX);
    window.saturating_mul((GRAIN / window).max(1))
}

/// The rows of a dense level over compressed ones, sorted in windows by their numbers of entries: the coordinate of each rank.
///
/// # Errors
/// Memory is refused.
pub fn sorted_rows(tensor: &Tensor, window: u32) -> Result<Array<u64>, StorageError> {
    let mut last = Array::<u64>::of(rows(tensor)? + 1, |row| row as u64)?;
    for level in &tensor.levels()[1..] {
        let pos = level.numbers(0);
        parallel::fill_chunks(&mut last, GRAIN, |_, chunk| {
            chunk.iter_mut().for_each(|edge| *edge = pos.get(*edge as usize));
        });
    }
    // In a window, the order is that of numbers with the missing entries above and the place inside below.
    let most = u64::from(u32::MAX);
    let size = u64::from(window);
    let mut ranking = Array::<u64>::of(last.len() - 1, |row| {
        let entries = (last[row + 1] - last[row]).min(most);
        (most - entries) << u32::BITS | (row as u64 % size)
    })?;
    drop(last);
    let window = window as usize;
    let in_window =
        |first: usize, rows: &mut [u64]| rows.iter_mut().for_each(|row| *row = (*row & most) + first as u64);
    if window > GRAIN {
        for (number, rows) in ranking.chunks_mut(window).enumerate() {
            // Nothing travels with the numbers.
            let nothing = Buffer::from_vec(vec![One; rows.len()]);
            let (sorted, _) = sort::sort(Array::copy_of(rows)?, &nothing, 0, u64::MAX)?;
            rows.copy_from_slice(&sorted);
            in_window(number * window, rows);
        }
    } else {
        parallel::fill_chunks(&mut ranking, grain(size), |start, chunk| {
            for (number, rows) in chunk.chunks_mut(window).enumerate() {
                rows.sort_unstable();
                in_window(start + number * window, rows);
            }
        });
    }
    Ok(ranking)
}

/// The number of coordinates of the outermost level.
fn rows(tensor: &Tensor) -> Result<usize, StorageError> {
    let rows = usize::try_from(tensor.levels()[0].size()).ok().filter(|rows| *rows < usize::MAX);
    rows.ok_or_else(|| StorageError::overflow("the size of a dimension"))
}

/// The positions of each row in one level, and the places that they go to.
struct Moves {
    begin: Array<u64>,
    end: Array<u64>,
    /// The first place of each row, and the end of all.
    start: Array<u64>,
}

impl Moves {
    /// The moves of rows whose positions are `begin .. end`, one behind the other.
    fn new(begin: Array<u64>, end: Array<u64>) -> Result<Moves, StorageError> {
        let start = parallel::edges(begin.len(), |row| end[row] - begin[row])?;
        Ok(Moves { begin, end, start })
    }

    /// The elements of all rows where they go.
    fn apply(&self, from: &Buffer) -> Result<Buffer, AllocError> {
        let dtype = from.dtype();
        with_word!(dtype, V => Ok(Buffer::from_words(self.words(from.as_words::<V>(), |_, word| word)?, dtype)))
    }

    /// The same of words: `change` gives each from its row and the old word.
    fn words<V: Plain>(&self, from: &[V], change: impl Fn(usize, V) -> V + Sync) -> Result<Array<V>, AllocError> {
        let mut to = Array::<V>::zeroed(self.start[self.begin.len()] as usize)?;
        let (shares, lengths) = parallel::shares(&self.start);
        let tasks = shares.into_iter().zip(parallel::split(&mut to, &lengths));
        parallel::each(tasks, |_, (rows, own)| {
            let mut slots = own;
            for row in rows {
                let elements = &from[self.begin[row] as usize..self.end[row] as usize];
                let (here, behind) = std::mem::take(&mut slots).split_at_mut(elements.len());
                here.iter_mut().zip(elements).for_each(|(slot, element)| *slot = change(row, *element));
                slots = behind;
            }
        });
        Ok(to)
    }
}

/// A tensor of a dense level over compressed ones with its rows in another order: row `k` is row `order[k]` of it.
///
/// # Errors
/// Memory is refused.
pub fn in_order(tensor: &Tensor, order: &[u64]) -> Result<Tensor, StorageError> {
    let mut moves = Moves::new(Array::copy_of(order)?, Array::of(order.len(), |row| order[row] + 1)?)?;
    let mut levels = vec![LevelStorage::dense(order.len() as u64)];
    for level in &tensor.levels()[1..] {
        let pos = level.numbers(0);
        let below = |edge: &Array<u64>| Array::<u64>::of(edge.len(), |row| pos.get(edge[row] as usize));
        let under = Moves::new(below(&moves.begin)?, below(&moves.end)?)?;
        let pos_of = Array::of(pos.len(), |k| pos.get(k))?;
        let edges = moves.words(&pos_of, |row, edge| edge - under.begin[row] + under.start[row])?;
        let last = under.start[order.len()];
        let edges = index_array(edges.len() + 1, pos.width(), |k| edges.get(k).copied().unwrap_or(last))?;
        // Levels below a dense one are compressed, which have coordinates.
        let coordinates = match level.crd() {
            Some(crd) => under.apply(crd)?,
            None => Buffer::from_vec(Vec::<u64>::new()),
        };
        levels.push(LevelStorage::compressed(edges, coordinates));
        moves = under;
    }
    let values = moves.apply(tensor.values())?;
    Ok(Tensor::assemble(tensor.dims().to_vec(), tensor.format().clone(), levels, values))
}
