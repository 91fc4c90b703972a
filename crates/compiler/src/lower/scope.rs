//! The facts that are known at a place of the nest: a list, to which loops and statements add.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))     A: csr
//!   around all       y goes to its values                                     a sink
//!   inside of i      i has a value; level 0 of A stands at position i
//!   inside of j      j has a value, loaded from A; level 1 of A stands at p
//! ```
//!
//! A [`Scope`] is a pointer to the newest fact, which points to those before it, and the number of loops over original variables around.
//! Adding a fact copies no other, and a later fact about the same thing hides an earlier one. Facts say nothing of the code that is emitted.

use std::rc::Rc;

use lacunar_imp::ExprId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{TensorId, VarId};

use super::count::Additions;
use super::nest::Pending;
use super::region::whole::Whole;
use super::room::Room;
use super::sinks::bitmap::Walk;
use super::sinks::carried::Carry;
use super::sinks::piece::Slab;
use super::sinks::{Append, Sink};
pub(super) use super::uncertain::{Reading, Uncertain};
use super::{MutableVar, TensorCode};
use crate::iterate::iterators::AccessKey;
use crate::levels::Position;

/// First value, and one past the last.
pub(super) type Interval = (ExprId, ExprId);

/// One thing that is known.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// A variable has a value.
    Value(VarId, ExprId),
    /// The most copies that the loops around make of their body.
    Copies(u64),
    /// A level of an access stands at a position.
    At(AccessKey, usize, Position),
    /// An access is present, or may be absent.
    Presence(AccessKey, Option<Uncertain>),
    /// The value of an access was read.
    Read(AccessKey, ExprId),
    /// The values that a variable of the provenance graph takes here.
    Range(VarId, Interval),
    /// The values of this inner variable of a fused pair by which the outer one advances, fixed where the first loop over pairs begins.
    Width(VarId, ExprId),
    /// The size of the strips that a variable is divided into, fixed likewise.
    Strip(VarId, ExprId),
    /// The part of its values that the loop over a variable is confined to.
    Region(VarId, Interval),
    /// The values of a variable that are the coordinates of a run of a packed result.
    Run(VarId, Interval),
    /// An equation leaves one value of a variable at most; `there` is the region that has one for certain, if that is known.
    Single { var: VarId, there: Option<Interval> },
    /// The condition of this number, of the elements of the result that are computed, holds here.
    Computed(usize),
    /// An equation of the elements that are computed leaves a value of the variable that is bound last, where the equation `by` holds.
    Solvable { equation: usize, by: Option<usize> },
    /// The positions that an iterator is confined to.
    Window(AccessKey, usize, Interval),
    /// The loop over a variable stands for those over the variables that derive from it.
    Pending(VarId, Option<Pending>),
    /// The leaf that finishes an original variable: tags of its loop hold for that over the variable.
    Leaf(VarId, VarId),
    /// The first loop over an original variable is around this place.
    Started(VarId),
    /// The strip that this place inside of strips counts is a whole one.
    WholeStrip(VarId),
    /// The strip around is the last one, and may be shorter than the others.
    LastStrip,
    /// The values of a variable are those of a whole strip.
    InStrip(VarId, InStrip),
    /// A loop takes all values that an equation leaves.
    Whole(Whole),
    /// The block of a recovered variable is known to lie inside of the dimension.
    WholeBlock(VarId),
    /// This is the last block of some recovered variable, of which a part may lie outside.
    LastBlock,
    /// The number of times that a value is added here.
    Times(ExprId),
    /// This place is inside a loop that threads share.
    Shared,
    /// The condition that a dense operand is more than caches keep.
    Far(AccessKey, ExprId),
    /// The condition that the rows of a level of nodes are more than caches keep.
    FarRows(AccessKey, ExprId),
    /// The number of chunks that the work of the kernel is worth.
    MostChunks(ExprId),
    /// The additions of the loops here are counted, and not made.
    Counted(Additions),
    /// The loops here have no lanes: they add to a tensor with marks, which neighbors share.
    Serial,
    /// The arrays that the loops of this thread ask for.
    Room(Rc<Room>),
    /// A tensor has arrays of its own here: a workspace, or the piece of a result that a thread assembles.
    Code(TensorId, Rc<TensorCode>),
    /// The sink for the values assigned to a tensor.
    Sink(TensorId, Rc<dyn Sink>),
    /// The sink that writes the result, whatever sinks hide it.
    Result(Rc<dyn Sink>),
    /// The loop over the coordinates of a workspace takes them where they are read off.
    Walk(Walk),
    /// Room for the values of the innermost group of the result was made before the loops around this place.
    Reserved,
    /// A loop around tells the coordinate of the innermost group, and sets its edge.
    Told,
    /// The assignment gives the result a value, whatever is known of its operands.
    Given,
    /// The position in the innermost group of the result, where it is not the group's counter.
    Slot(ExprId),
    /// A variable that is true if the block of the result that is filled here was given anything.
    BlockGiven(MutableVar),
    /// The slab of the result that is assembled here.
    Slab(Slab),
    /// The carry of a chunk, until the loop over its positions has taken it.
    Carry(Option<Rc<Carry>>),
}

/// A whole strip of a variable's values.
#[derive(Clone, Copy, Debug)]
pub(super) struct InStrip {
    /// The place inside of the strip, if the schedule has a variable for it.
    pub place: Option<VarId>,
    /// The first value.
    pub begin: ExprId,
    /// The number of values: a constant.
    pub len: ExprId,
}

/// The facts that are known at a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    newest: Option<Rc<Known>>,
    /// The number of loops over original variables around this place.
    pub depth: usize,
}

#[derive(Debug)]
struct Known {
    fact: Fact,
    before: Option<Rc<Known>>,
}

impl Scope {
    /// Adds a fact.
    pub fn know(&mut self, fact: Fact) {
        self.newest = Some(Rc::new(Known { fact, before: self.newest.take() }));
    }

    /// The scope with a fact more.
    pub fn with(&self, fact: Fact) -> Scope {
        let mut scope = self.clone();
        scope.know(fact);
        scope
    }

    /// The scope inside one more loop over an original variable.
    pub fn deeper(&self) -> Scope {
        Scope { newest: self.newest.clone(), depth: self.depth + 1 }
    }

    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        std::iter::successors(self.newest.as_deref(), |known| known.before.as_deref()).map(|known| &known.fact)
    }

    fn find<'s, T>(&'s self, wanted: impl FnMut(&'s Fact) -> Option<T>) -> Option<T> {
        self.facts().find_map(wanted)
    }

    /// The value of a variable.
    pub fn value(&self, var: VarId) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Value(own, value) if *own == var => Some(*value),
            _ => None,
        })
    }

    /// The variables that have a value.
    pub fn bound(&self) -> Vec<VarId> {
        let bound = self.facts().filter_map(|fact| match fact {
            Fact::Value(var, _) => Some(*var),
            _ => None,
        });
        bound.collect()
    }

    /// The condition that a dense operand is more than caches keep, if its rows are chosen by a sparse one.
    pub fn far(&self, access: &AccessKey) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Far(own, far) if own == access => Some(*far),
            _ => None,
        })
    }

    /// The condition that the rows of a level of nodes are more than caches keep, if they are in order.
    pub fn far_rows(&self, access: &AccessKey) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::FarRows(own, far) if own == access => Some(*far),
            _ => None,
        })
    }

    /// The position that a level of an access stands at.
    pub fn position(&self, access: &AccessKey, level: usize) -> Option<Position> {
        self.find(|fact| match fact {
            Fact::At(key, own, position) if *own == level && key == access => Some(*position),
            _ => None,
        })
    }

    /// The position that a level of an access stands at where another access of the tensor has it: by the same variables down to
    /// this level.
    pub fn position_by_another(&self, kernel: &Kernel, access: &AccessKey, level: usize) -> Option<Position> {
        let modes = &kernel.tensors[access.tensor].format.mode_order()[..=level];
        self.find(|fact| match fact {
            Fact::At(key, own, position)
                if *own == level
                    && key.tensor == access.tensor
                    && modes.iter().all(|&mode| key.vars[mode] == access.vars[mode])
                    && self.uncertain(key).is_none() =>
            {
                Some(*position)
            }
            _ => None,
        })
    }

    /// An iterator stands on the coordinate of its loop.
    pub fn bind(&mut self, access: &AccessKey, level: usize, position: Position) {
        self.know(Fact::At(access.clone(), level, position));
        if self.uncertain(access).is_some() {
            self.know(Fact::Presence(access.clone(), None));
        }
    }

    /// Makes an access uncertain: it is present if a condition holds.
    pub fn doubt(&mut self, access: &AccessKey, present: ExprId, reading: Reading) {
        self.know(Fact::Presence(access.clone(), Some(Uncertain { present, reading })));
    }

    /// The condition under which an access is present, if it may be absent.
    pub fn uncertain(&self, access: &AccessKey) -> Option<Uncertain> {
        self.find(|fact| match fact {
            Fact::Presence(key, uncertain) if key == access => Some(*uncertain),
            _ => None,
        })
        .flatten()
    }

    /// The value of an access, if it was read.
    pub fn read(&self, access: &AccessKey) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Read(key, value) if key == access => Some(*value),
            _ => None,
        })
    }

    /// The values that a variable takes, if that was found.
    pub fn range(&self, var: VarId) -> Option<Interval> {
        self.find(|fact| if let Fact::Range(own, interval) = fact { (*own == var).then_some(*interval) } else { None })
    }

    /// The number of values of an inner variable of a pair by which the outer one advances, if that is fixed.
    pub fn width(&self, inner: VarId) -> Option<ExprId> {
        self.find(|fact| if let Fact::Width(own, width) = fact { (*own == inner).then_some(*width) } else { None })
    }

    /// The size of the strips of a variable, if that is fixed.
    pub fn strip(&self, parent: VarId) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Strip(own, size) if *own == parent => Some(*size),
            _ => None,
        })
    }

    /// The part of its values that the loop over a variable is confined to.
    pub fn region(&self, var: VarId) -> Option<Interval> {
        self.find(|fact| match fact {
            Fact::Region(own, interval) if *own == var => Some(*interval),
            _ => None,
        })
    }

    /// The positions that an iterator is confined to.
    pub fn window(&self, access: &AccessKey, level: usize) -> Option<Interval> {
        self.find(|fact| match fact {
            Fact::Window(key, own, interval) if *own == level && key == access => Some(*interval),
            _ => None,
        })
    }

    /// All windows, the newest of each iterator.
    pub fn windows(&self) -> Vec<(&AccessKey, usize, Interval)> {
        let mut windows: Vec<(&AccessKey, usize, Interval)> = Vec::new();
        for fact in self.facts() {
            if let Fact::Window(key, level, interval) = fact
                && !windows.iter().any(|(other, own, _)| *other == key && own == level)
            {
                windows.push((key, *level, *interval));
            }
        }
        windows
    }

    /// The loop that the loop over a variable stands for.
    pub fn pending(&self, var: VarId) -> Option<Pending> {
        self.find(|fact| match fact {
            Fact::Pending(own, pending) if *own == var => Some(pending.clone()),
            _ => None,
        })
        .flatten()
    }

    /// The leaf that finishes a variable, or the variable.
    pub fn leaf(&self, var: VarId) -> VarId {
        self.find(|fact| match fact {
            Fact::Leaf(own, leaf) if *own == var => Some(*leaf),
            _ => None,
        })
        .unwrap_or(var)
    }

    /// True if the strip that this place inside of strips counts is a whole one.
    pub fn is_whole_strip(&self, place: VarId) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::WholeStrip(own) if *own == place))
    }

    /// True if a strip around is the last one.
    pub fn is_last_strip(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::LastStrip))
    }

    /// The whole strip that the values of a variable are.
    pub fn in_strip(&self, var: VarId) -> Option<InStrip> {
        self.find(|fact| match fact {
            Fact::InStrip(own, strip) if *own == var => Some(*strip),
            _ => None,
        })
    }

    /// True if the first loop over an original variable is around.
    pub fn is_started(&self, var: VarId) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Started(own) if *own == var))
    }

    /// The first loops over some original variables begin.
    pub fn start(&mut self, vars: impl IntoIterator<Item = VarId>) {
        vars.into_iter().for_each(|var| self.know(Fact::Started(var)));
    }

    /// True if the block of a recovered variable is known to lie inside of the dimension.
    pub fn is_whole_block(&self, var: VarId) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::WholeBlock(own) if *own == var))
    }

    /// True if the block of any recovered variable is known to lie inside of its dimension.
    pub fn has_whole_blocks(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::WholeBlock(_)))
    }

    /// True if this is the last block of some recovered variable.
    pub fn is_last_block(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::LastBlock))
    }

    /// The number of times that a value is added here.
    pub fn times(&self) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Times(times) => Some(*times),
            _ => None,
        })
    }

    /// True if this place is inside a loop that threads share.
    pub fn is_shared(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Shared))
    }

    /// The number of chunks that the work of the kernel is worth.
    pub fn most_chunks(&self) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::MostChunks(worth) => Some(*worth),
            _ => None,
        })
    }

    /// The additions that are counted here.
    pub fn counted(&self) -> Option<Additions> {
        self.find(|fact| match fact {
            Fact::Counted(counted) => Some(*counted),
            _ => None,
        })
    }

    /// True if no loop here has lanes.
    pub fn is_serial(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Serial))
    }

    /// The arrays that the loops of this thread ask for.
    pub fn room(&self) -> Option<Rc<Room>> {
        self.find(|fact| match fact {
            Fact::Room(room) => Some(room.clone()),
            _ => None,
        })
    }

    /// The arrays that a tensor has of its own here.
    pub fn code(&self, tensor: TensorId) -> Option<&Rc<TensorCode>> {
        self.find(|fact| match fact {
            Fact::Code(own, code) if *own == tensor => Some(code),
            _ => None,
        })
    }

    /// The sink for the values assigned to a tensor.
    pub fn sink(&self, tensor: TensorId) -> Option<Rc<dyn Sink>> {
        self.find(|fact| match fact {
            Fact::Sink(own, sink) if *own == tensor => Some(sink.clone()),
            _ => None,
        })
    }

    /// The sink that writes the result.
    pub fn result(&self) -> Option<Rc<dyn Sink>> {
        self.find(|fact| match fact {
            Fact::Result(sink) => Some(sink.clone()),
            _ => None,
        })
    }

    /// The scope in which the result is written by a sink.
    pub fn writing(&self, tensor: TensorId, sink: Rc<dyn Sink>) -> Scope {
        let mut scope = self.with(Fact::Result(sink.clone()));
        scope.know(Fact::Sink(tensor, sink));
        scope
    }

    /// The result that is assembled by appending.
    pub fn appended(&self) -> Option<&Append> {
        self.find(|fact| match fact {
            Fact::Result(sink) => Some(sink.as_append()),
            _ => None,
        })
        .flatten()
    }

    /// True if a loop around tells the coordinate of the result's innermost group, and sets its edge.
    pub fn is_told(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Told))
    }

    /// True if room for appended values was made before the loops around.
    pub fn is_reserved(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Reserved))
    }

    /// True if the assignment gives the result a value, whatever is known of its operands.
    pub fn is_given(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Given))
    }

    /// The position in the innermost group of the result, where it is not the group's counter.
    pub fn slot(&self) -> Option<ExprId> {
        self.find(|fact| match fact {
            Fact::Slot(position) => Some(*position),
            _ => None,
        })
    }

    /// The variable that is true if the block that is filled here was given anything.
    pub fn block_given(&self) -> Option<MutableVar> {
        self.find(|fact| match fact {
            Fact::BlockGiven(given) => Some(*given),
            _ => None,
        })
    }

    /// The slab of the result that is assembled here.
    pub fn slab(&self) -> Option<&Slab> {
        self.find(|fact| match fact {
            Fact::Slab(slab) => Some(slab),
            _ => None,
        })
    }

    /// The carry of the chunk.
    pub fn carry(&self) -> Option<Rc<Carry>> {
        self.find(|fact| match fact {
            Fact::Carry(carry) => Some(carry.clone()),
            _ => None,
        })
        .flatten()
    }
}
