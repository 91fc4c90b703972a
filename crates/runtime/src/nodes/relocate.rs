//! Trees that are moved as they are: those of a level one behind the other, the nodes of each from the root on, depth by depth.
//!
//! Nodes that updates have made lie where there was room. A conversion to a plain level and back lays them out in order, full and
//! balanced, but goes through every element a few times. Where trees are small, full and balanced enough, their nodes are copied as they
//! are. In large trees each search passes many nodes, so that balance is worth more, and room behind a tree is not near its nodes.
//!
//! ```text
//! bst of three    node  . 3 . .   2 12 8 2   5 0 0 0   0 0 0 1      coordinate, left, right, position; the root lies at word 4
//! moved           node  . 3 . .   2 8 12 0   0 0 0 1   5 0 0 2      values are moved from 2 1 0 to 0 1 2
//! ```
//!
//! A first pass goes through all trees for their sizes, which tell where each begins; a second one copies them, parent position by parent
//! position, by several threads. Each lists the nodes of some neighboring trees: roots, their children, and so on, so that it is known early
//! which nodes come next, and their memory is prefetched. A node stands behind its holder, and writes its own handle there.
//!
//! On entry: a level that has been checked, with one value for each position. On exit: a new level of the same trees with the same values, and
//! room for nodes to come (`gaps.rs`); nodes that no tree has are left out. The old arrays are as they were.

use std::collections::TryReserveError;
use std::ops::Range;

use lacunar_formats::Schema;
use lacunar_formats::schema::{Field, FieldKind, Node, Step, Target};

use super::build::Forms;
use super::gaps::Gaps;
use super::shape::Shapes;
use super::{View, holder_word};
use crate::array::{Array, Plain};
use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::error::{AllocError, StorageError};
use crate::moved::fetch_to_read;
use crate::parallel;
use crate::storage::LevelStorage;

/// The number of parent positions whose trees one task moves.
const TREES: usize = 1 << 10;

/// The number of nodes between the one that is copied and the one whose memory is prefetched.
const AHEAD: usize = 16;

/// The most words that a level has for each of its trees, if trees are moved as they are.
const SMALL: usize = 1 << 8;

/// The most words that these trees take for each word that new ones would take.
const LOOSE: f64 = 1.25;

/// The most by which the mean depth of their nodes exceeds that of balanced binary trees.
const DEEPER: f64 = 0.5;

/// A level of the same trees in order, and the values at its positions. The level has room to grow by `growth` words for each of its words.
/// `None` if trees are large, or new ones would be considerably smaller or less deep.
///
/// # Errors
/// Memory is refused, or words or positions are more than 32 bits count.
pub(crate) fn relocate(
    level: &LevelStorage,
    values: &Buffer,
    growth: f64,
) -> Result<Option<(LevelStorage, Buffer)>, StorageError> {
    let Some(view) = View::of(level) else { return Ok(None) };
    let trees = view.root.iter().filter(|root| **root != 0).count();
    if view.node.len() / SMALL > trees {
        return Ok(None);
    }
    let kinds: Vec<Kind> = view.schema.nodes().iter().map(|node| Kind::of(view.schema, node)).collect();
    let source = Source { view, kinds: &kinds };
    let sizes = Sizes::all(source)?;
    if !are_good(view.schema, &sizes) {
        return Ok(None);
    }
    moved(source, (level, values), &sizes, growth).map(Some)
}

/// The same of a level whose trees have these sizes, whatever these are.
fn moved(
    source: Source,
    (level, values): (&LevelStorage, &Buffer),
    sizes: &[Sizes],
    growth: f64,
) -> Result<(LevelStorage, Buffer), StorageError> {
    let parents = source.view.root.len();
    let tree = |parent: usize| &sizes[parent / TREES].trees[parent % TREES];
    let first = u64::from(source.view.schema.align());
    let mut words = parallel::edges(parents, |parent| tree(parent).words.into())?;
    let mut slots = parallel::edges(parents, |parent| tree(parent).slots.into())?;
    let elements: u64 = sizes.iter().flat_map(|some| &some.trees).map(|tree| u64::from(tree.elements)).sum();
    let gaps = Gaps::of_growing((&mut words, &mut slots), first, (elements, growth));
    let (mut moved, values) = with_word!(values.dtype(), V => {
        let (moved, to) = copied::<V>(source, level, values.as_words(), (&words, &slots))?;
        (moved, Buffer::from_words(to, values.dtype()))
    });
    moved.set_laid_out(elements, gaps);
    Ok((moved, values))
}

/// The error of memory that was refused for a list.
fn refused(_: TryReserveError) -> AllocError {
    AllocError { bytes: (TREES * size_of::<Met>()) as u64 }
}

/// The types of a level's nodes, and its arrays.
#[derive(Clone, Copy)]
struct Source<'a> {
    view: View<'a>,
    kinds: &'a [Kind],
}

/// A type of nodes: what is done with its fields, so that nobody looks for it in each node.
struct Kind {
    node: &'static Node,
    /// The words before arrays, in pieces.
    head: usize,
    /// All arrays, and those of elements.
    arrays: Vec<&'static Field>,
    blocks: Vec<&'static Field>,
    /// The elements in fields that are no arrays, and the number of those that are always used.
    elems: Vec<&'static Field>,
    used: usize,
    /// The fields of children in the order of visits, each with the type of a child by its tag.
    children: Vec<(&'static Field, Vec<u32>)>,
    /// True if several children may be there: they are deeper than the node.
    branches: bool,
    /// The words and the positions of a node without room for arrays that have no bound.
    least: (u32, u32),
}

/// The words of a piece, of which the words of all nodes are a multiple.
const PIECE: usize = 4;

impl Kind {
    fn of(schema: &'static Schema, node: &'static Node) -> Kind {
        let arrays: Vec<&Field> = node.fields.iter().filter(|field| field.array().is_some()).collect();
        let (blocks, elems): (Vec<&Field>, Vec<&Field>) =
            node.elems().map(|(_, field)| field).partition(|field| field.array().is_some());
        let in_order = node.seq.iter().flat_map(|step| match step {
            Step::One(field) => std::slice::from_ref(field),
            Step::Together(fields) => fields.as_slice(),
        });
        let child = |number: &usize| {
            let field = &node.fields[*number];
            let FieldKind::Child { to, .. } = field.kind else { return None };
            let of_tag = |tag: u32| match to {
                Target::Node(ty) => ty as u32,
                Target::Super(_) => schema.type_of(to, tag).unwrap_or_default() as u32,
            };
            Some((field, (0..schema.align()).map(of_tag).collect()))
        };
        let children: Vec<(&Field, Vec<u32>)> = in_order.filter_map(child).collect();
        let head = arrays.iter().map(|field| field.offset).min().unwrap_or(node.layout.words) as usize;
        Kind {
            node,
            head: head.next_multiple_of(PIECE),
            branches: children.len() > 1 || children.iter().any(|(field, _)| field.array().is_some()),
            least: (node.words(0) as u32, node.slots(0) as u32),
            used: elems.iter().filter(|field| field.is_nonempty()).count(),
            arrays,
            blocks,
            elems,
            children,
        }
    }

    /// The words and the positions of a node with so much room.
    #[inline(always)]
    fn size(&self, room: u32) -> (u32, u32) {
        if room == 0 { self.least } else { (self.node.words(room) as u32, self.node.slots(room) as u32) }
    }
}

/// A node that was met.
#[derive(Clone, Copy)]
struct Met {
    /// Its type, and its first word.
    ty: u32,
    base: u32,
    /// The number of the tree, and the first word and the first position that the node gets, counted from those of the tree.
    tree: u32,
    word: u32,
    slot: u32,
    /// The number of its holder in the list, and the word there that refers to it, counted from the holder's first; the number of the node
    /// itself, if it is a root.
    holder: u32,
    link: u32,
    /// The number of nodes above it that several nodes may hang below.
    depth: u32,
}

impl<'a> Source<'a> {
    #[inline(always)]
    fn kind(&self, met: &Met) -> &'a Kind {
        &self.kinds[met.ty as usize]
    }

    #[inline(always)]
    fn room(&self, met: &Met) -> u32 {
        self.view.room(self.kind(met).node, met.base as usize)
    }

    /// The first item of a field of a node, counted from its first word, and the number of items.
    #[inline(always)]
    fn items(&self, met: &Met, field: &Field) -> Range<usize> {
        let first = field.word(self.room(met), 0) as usize;
        first..first + self.view.length(self.kind(met).node, met.base as usize, field) as usize
    }

    /// The number of elements of a node.
    #[inline(always)]
    fn elements(&self, met: &Met) -> u32 {
        let kind = self.kind(met);
        let words = &self.view.node[met.base as usize..];
        let is_used = |word: &u32| *word != Schema::UNUSED;
        let single = match kind.used == kind.elems.len() {
            true => kind.used,
            false => kind.elems.iter().filter(|field| is_used(&words[field.offset as usize])).count(),
        };
        let in_blocks = kind.blocks.iter().map(|field| {
            let items = self.items(met, field);
            if field.is_nonempty() { items.len() } else { words[items].iter().filter(|word| is_used(word)).count() }
        });
        (single + in_blocks.sum::<usize>()) as u32
    }
}

/// The size of one tree.
#[derive(Clone, Copy, Default)]
struct Tree {
    nodes: u32,
    words: u32,
    slots: u32,
    elements: u32,
}

/// The trees of some neighboring parent positions, and their nodes: the roots, then the children of these, then those of the next depth.
#[derive(Default)]
struct Trees {
    trees: Vec<Tree>,
    nodes: Vec<Met>,
}

impl Trees {
    fn of(source: Source, share: Range<usize>) -> Result<Trees, TryReserveError> {
        let (mut trees, mut nodes) = (Vec::new(), Vec::new());
        trees.try_reserve_exact(share.len())?;
        trees.resize(share.len(), Tree::default());
        nodes.try_reserve(share.len())?;
        let view = source.view;
        for (tree, handle) in view.root[share].iter().enumerate() {
            if let Some((ty, base)) = view.open(view.schema.entry(), *handle) {
                let (ty, base, holder) = (ty as u32, base as u32, nodes.len() as u32);
                nodes.push(Met { ty, base, tree: tree as u32, word: 0, slot: 0, holder, link: 0, depth: 0 });
            }
        }
        let mask = view.schema.align() - 1;
        let mut number = 0;
        while number < nodes.len() {
            if let Some(next) = nodes.get(number + AHEAD) {
                fetch_to_read(view.node.as_ptr().wrapping_add(next.base as usize));
            }
            let met = &mut nodes[number];
            let (kind, tree) = (source.kind(met), &mut trees[met.tree as usize]);
            (met.word, met.slot) = (tree.words, tree.slots);
            let (words, slots) = kind.size(source.room(met));
            (tree.nodes, tree.elements) = (tree.nodes + 1, tree.elements + source.elements(met));
            (tree.words, tree.slots) = (tree.words + words, tree.slots + slots);
            let met = *met;
            let depth = met.depth + u32::from(kind.branches);
            for (field, types) in &kind.children {
                let items = match field.array() {
                    None => field.offset as usize..field.offset as usize + 1,
                    Some(_) => source.items(&met, field),
                };
                nodes.try_reserve(items.len())?;
                for link in items {
                    let handle = view.node[met.base as usize + link];
                    if handle != 0 {
                        let (ty, base) = (types[(handle & mask) as usize], handle & !mask);
                        nodes.push(Met { ty, base, holder: number as u32, link: link as u32, depth, ..met });
                    }
                }
            }
            number += 1;
        }
        Ok(Trees { trees, nodes })
    }
}

/// The sizes of some trees.
struct Sizes {
    trees: Vec<Tree>,
    /// The number of their nodes, the sum of the depths of these, and what it would be if all were balanced binary trees.
    nodes: u64,
    depth: u64,
    balanced: u64,
}

impl Sizes {
    /// The sizes of all trees, share by share.
    fn all(source: Source) -> Result<Vec<Sizes>, StorageError> {
        let sizes = |_, share| Trees::of(source, share).map(Sizes::of);
        let sizes = parallel::map(parallel::chunks(source.view.root.len(), TREES), sizes).into_iter();
        Ok(sizes.collect::<Result<Vec<Sizes>, TryReserveError>>().map_err(refused)?)
    }

    fn of(Trees { trees, nodes }: Trees) -> Sizes {
        Sizes {
            nodes: nodes.len() as u64,
            depth: nodes.iter().map(|met| u64::from(met.depth)).sum(),
            balanced: trees.iter().map(|tree| balanced(tree.nodes.into())).sum(),
            trees,
        }
    }
}

/// The sum of the depths of so many nodes of a balanced binary tree: the logarithms of 1, 2 .. nodes.
fn balanced(nodes: u64) -> u64 {
    let depth = u64::from(nodes.checked_ilog2().unwrap_or(0));
    (nodes + 1) * depth + 2 - (2 << depth)
}

/// True if new trees of the same elements would not be considerably smaller or less deep.
fn are_good(schema: &'static Schema, sizes: &[Sizes]) -> bool {
    let sum = |of: fn(&Sizes) -> u64| sizes.iter().map(of).sum::<u64>() as f64;
    let nodes = sum(|some| some.nodes);
    if sum(|some| some.depth) > sum(|some| some.balanced) + nodes * DEEPER {
        return false;
    }
    let trees = || sizes.iter().flat_map(|some| &some.trees);
    let counts = || trees().map(|tree| u64::from(tree.elements));
    let Ok(forms) = Forms::new(&Shapes::new(schema).growing(true), counts()) else { return false };
    let new: u64 = counts().map(|count| forms.of(count).words).sum();
    let old: u64 = trees().map(|tree| u64::from(tree.words)).sum();
    old as f64 <= new as f64 * LOOSE
}

/// A level of copies of trees, each of which begins with so many words and positions before it, and the values at its positions.
fn copied<V: Plain>(
    source: Source,
    level: &LevelStorage,
    from: &[V],
    (words, slots): (&[u64], &[u64]),
) -> Result<(LevelStorage, Array<V>), StorageError> {
    let (parents, first) = (source.view.root.len(), u64::from(source.view.schema.align()));
    let end = first + words[parents];
    if end > 1 << 32 || slots[parents] >= u64::from(u32::MAX) {
        return Err(StorageError::overflow("the number of words of nodes"));
    }
    let mut root = Array::<u32>::zeroed(parents)?;
    let mut node = Array::<u32>::cleared(end as usize)?;
    let mut values = Array::<V>::cleared(slots[parents] as usize)?;
    node[Schema::POSITIONS] = slots[parents] as u32;
    let shares: Vec<Range<usize>> = parallel::chunks(parents, TREES).collect();
    let lengths = |edges: &[u64]| -> Vec<usize> {
        shares.iter().map(|share| (edges[share.end] - edges[share.start]) as usize).collect()
    };
    let parts = parallel::split(&mut node[first as usize..], &lengths(words)).into_iter();
    let parts = parts.zip(parallel::split(&mut values, &lengths(slots)));
    let parts = parts.zip(root.chunks_mut(TREES)).zip(&shares);
    let done = parallel::map(parts, |_, (((node, values), root), share)| {
        let mut trees = Trees::of(source, share.clone())?;
        let (words, slots) = (&words[share.start..], &slots[share.start..]);
        Copies { source, from, first, words, slots, node, values }.all(&mut trees.nodes, root);
        Ok(())
    });
    done.into_iter().collect::<Result<(), TryReserveError>>().map_err(refused)?;
    let arrays = vec![Buffer::from_array(root), Buffer::from_array(node)];
    Ok((LevelStorage::new(level.kind(), level.size(), arrays), values))
}

/// Copies of the nodes of neighboring parent positions.
struct Copies<'a, V> {
    source: Source<'a>,
    from: &'a [V],
    /// The first word of all new trees, and the words and the positions before each of these.
    first: u64,
    words: &'a [u64],
    slots: &'a [u64],
    /// The words and the values of these trees.
    node: &'a mut [u32],
    values: &'a mut [V],
}

impl<V: Plain> Copies<'_, V> {
    /// Copies all nodes, and tells the handles of roots. New places are counted from the first word and position of these trees then.
    fn all(&mut self, nodes: &mut [Met], root: &mut [u32]) {
        let (schema, first) = (self.source.view.schema, self.first + self.words[0]);
        let handle = |met: &Met, kind: &Kind| (first as u32 + met.word) | kind.node.tag;
        for number in 0..nodes.len() {
            if let Some(next) = nodes.get(number + AHEAD) {
                let slot = self.source.view.slot(self.source.kind(next).node, next.base as usize);
                fetch_to_read(self.from.as_ptr().wrapping_add(slot as usize));
            }
            let met = &mut nodes[number];
            let tree = met.tree as usize;
            met.word += (self.words[tree] - self.words[0]) as u32;
            met.slot += (self.slots[tree] - self.slots[0]) as u32;
            let (met, kind) = (*met, self.source.kind(met));
            self.copy_values(&met, kind);
            self.copy_words(&met, kind);
            let holder = (met.holder as usize != number).then(|| {
                let holder = &nodes[met.holder as usize];
                self.node[(holder.word + met.link) as usize] = handle(&met, kind);
                (holder.ty as usize, handle(holder, self.source.kind(holder)))
            });
            if holder.is_none() {
                root[tree] = handle(&met, kind);
            }
            if let Some(parent) = kind.node.parent() {
                self.node[(met.word + parent.offset) as usize] = holder_word(schema, kind.node, holder);
            }
        }
    }

    /// Copies the words of a node that are used, and writes its position.
    #[inline(always)]
    fn copy_words(&mut self, met: &Met, kind: &Kind) {
        let (from, to) = (&self.source.view.node[met.base as usize..], &mut self.node[met.word as usize..]);
        let pieces = from[..kind.head].chunks_exact(PIECE).zip(to[..kind.head].chunks_exact_mut(PIECE));
        pieces.for_each(|(from, to)| to.copy_from_slice(from));
        for field in &kind.arrays {
            let items = self.source.items(met, field);
            to[items.clone()].copy_from_slice(&from[items]);
        }
        if let Some(word) = kind.node.layout.slot {
            to[word as usize] = self.slots[0] as u32 + met.slot;
        }
    }

    /// Copies the values of a node's elements.
    #[inline(always)]
    fn copy_values(&mut self, met: &Met, kind: &Kind) {
        let before = self.source.view.slot(kind.node, met.base as usize) as usize;
        let (from, to) = (&self.from[before..], &mut self.values[met.slot as usize..]);
        for field in &kind.elems {
            to[field.slot as usize] = from[field.slot as usize];
        }
        for field in &kind.blocks {
            let first = field.slot(self.source.room(met), 0) as usize;
            let items = first..first + self.source.items(met, field).len();
            to[items.clone()].copy_from_slice(&from[items]);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use lacunar_base::day::is_turn;
    use lacunar_formats::{DType, FormatSpec, Template};

    use super::super::walk::{Run, Visitor, runs};
    use super::*;
    use crate::random::SplitMix;
    use crate::tensor::Tensor;

    fn empty(format: &str, dims: &[u64]) -> Tensor {
        let format = format.parse::<FormatSpec>().unwrap().resolve(dims.len()).unwrap();
        Tensor::zeros(dims.to_vec(), &format, DType::F64).unwrap()
    }

    /// The types, lengths and rooms of the nodes that a walk comes to, and the elements with their values, between these.
    struct Shape<'a> {
        view: View<'a>,
        values: &'a [f64],
        found: Vec<(u64, f64)>,
    }

    impl Visitor for Shape<'_> {
        fn node(&mut self, ty: usize, base: usize) -> bool {
            let node = &self.view.schema.nodes()[ty];
            let lengths = node.fields.iter().map(|field| self.view.length(node, base, field));
            let facts = [ty as u32, self.view.room(node, base)].into_iter().chain(lengths);
            self.found.extend(facts.map(|fact| (u64::from(fact), -1.0)));
            true
        }

        fn run(&mut self, run: Run) {
            let used = run.coordinates.iter().zip(run.position..).filter(|(own, _)| **own != Schema::UNUSED);
            self.found.extend(used.map(|(own, at)| (u64::from(*own), self.values[at as usize])));
        }
    }

    fn shape(tensor: &Tensor) -> Vec<(u64, f64)> {
        let view = View::of(tensor.levels().last().unwrap()).unwrap();
        let mut shape = Shape { view, values: tensor.values().as_slice().unwrap(), found: Vec::new() };
        for parent in 0..view.root.len() {
            shape.found.push((parent as u64, -2.0));
            assert!(runs(view, parent as u64, &mut shape));
        }
        shape.found
    }

    /// The tensor with the trees of its last level moved, which may have any sizes.
    fn with_moved(tensor: &Tensor, growth: f64) -> Tensor {
        let mut other = tensor.try_clone().unwrap();
        let (_, _, levels, values) = other.parts_mut();
        let level = levels.last_mut().unwrap();
        let view = View::of(level).unwrap();
        let kinds: Vec<Kind> = view.schema.nodes().iter().map(|node| Kind::of(view.schema, node)).collect();
        let source = Source { view, kinds: &kinds };
        let sizes = Sizes::all(source).unwrap();
        (*level, *values) = moved(source, (level, values), &sizes, growth).unwrap();
        other
    }

    fn is_moved(tensor: &Tensor) -> bool {
        relocate(tensor.levels().last().unwrap(), tensor.values(), 0.5).unwrap().is_some()
    }

    #[test]
    fn trees_keep_their_shapes_and_values_and_lie_in_order() {
        let programs = Template::every_program().iter().map(Template::name);
        let formats = programs.flat_map(|name| ["d{_}", "s{_}", "{_}"].map(|format| format.replace('_', name)));
        let small = ["d{btree<3>}", "d{ctree<4>}", "d{blist_holes<4>}", "{ttree<4>}", "d{rbtree}:1,0"];
        let formats = formats.chain(small.map(str::to_string)).enumerate();
        for (_, format) in formats.filter(|(number, _)| is_turn(*number, 4)) {
            let is_vector = format.starts_with('{');
            let dims = if is_vector { vec![9000] } else { vec![400, 90] };
            let (mut tensor, mut rng) = (empty(&format, &dims), SplitMix(4));
            let mut map = BTreeMap::new();
            let at = |rng: &mut SplitMix| -> Vec<u64> { dims.iter().map(|size| rng.below(*size)).collect() };
            for step in 0..6000 {
                let at = at(&mut rng);
                if step % 4 == 3 {
                    assert_eq!(tensor.remove::<f64>(&at).unwrap(), map.remove(&at), "{format}");
                } else {
                    let value = f64::from(step + 1);
                    assert_eq!(tensor.insert(&at, value).unwrap(), map.insert(at, value), "{format}");
                }
            }
            let before = shape(&tensor);
            for growth in [0.0, 0.5] {
                let mut moved = with_moved(&tensor, growth);
                moved.validate().unwrap();
                assert_eq!(shape(&moved), before, "{format}");
                assert_eq!(moved.levels().last().unwrap().kept().laid_out, map.len() as u64, "{format}");
                // It is changed like any other tensor.
                let mut map = map.clone();
                for step in 0..2000 {
                    let at = at(&mut rng);
                    if step % 2 == 0 {
                        assert_eq!(moved.remove::<f64>(&at).unwrap(), map.remove(&at), "{format}");
                    } else {
                        assert_eq!(moved.insert(&at, 0.5).unwrap(), map.insert(at, 0.5), "{format}");
                    }
                }
                moved.validate().unwrap();
                assert!(map.iter().all(|(at, value)| moved.insert(at, 0.0).unwrap() == Some(*value)), "{format}");
            }
            // The tensor itself is as it was.
            assert_eq!(shape(&tensor), before, "{format}");
        }
    }

    #[test]
    fn room_is_left_and_free_nodes_are_not_kept() {
        let mut tensor = empty("d{bst}", &[3000, 50]);
        (0..30_000).for_each(|k| assert_eq!(tensor.insert(&[k % 3000, k / 3000], 1.0).unwrap(), None));
        tensor.compact().unwrap();
        let words = |tensor: &Tensor| tensor.levels()[1].nodes().unwrap().2.len();
        assert_eq!(words(&tensor), 4 * 30_000 + 4);
        for k in (0..30_000).step_by(2) {
            assert_eq!(tensor.remove::<f64>(&[k % 3000, k / 3000]).unwrap(), Some(1.0));
        }
        // Three quarters as many nodes may come as are left.
        let moved = with_moved(&tensor, 0.5);
        assert!((100_000..106_000).contains(&words(&moved)), "{}", words(&moved));
        let mut gaps = moved.levels()[1].kept().gaps.clone();
        assert!(gaps.take(20_000, 4, 1).is_some());
    }

    #[test]
    fn large_and_deep_trees_and_blocks_with_few_elements_are_not_moved() {
        let mut rng = SplitMix(9);
        // Rows of a few elements, in any order.
        for format in ["d{bst}", "d{rbtree}", "d{btree}", "d{blist<64>}", "d{ctree}"] {
            let mut rows = empty(format, &[3000, 1000]);
            for _ in 0..12_000 {
                rows.insert(&[rng.below(3000), rng.below(1000)], 1.0).unwrap();
            }
            assert!(is_moved(&rows), "{format}");
        }
        // Rows that grow at their ends: chains, as far as depth allows, and blocks that are halves.
        for format in ["d{bst}", "d{btree<4>}"] {
            let mut rows = empty(format, &[200, 30]);
            (0..6000).for_each(|k| assert_eq!(rows.insert(&[k % 200, k / 200], 1.0).unwrap(), None));
            assert!(!is_moved(&rows), "{format}");
            rows.compact().unwrap();
            assert!(is_moved(&rows), "{format}");
        }
        // One large tree, however good it is.
        let mut row = empty("{bst}", &[1000]);
        (0..1000).for_each(|at| assert_eq!(row.insert(&[at], 1.0).unwrap(), None));
        row.compact().unwrap();
        assert!(!is_moved(&row));
        assert_eq!([0, 1, 2, 3, 4, 7, 8].map(balanced), [0, 0, 1, 2, 4, 10, 13]);
    }
}
