//! The numbers of elements that fit into trees of nodes, and the split of a subtensor's elements into those of a node and of its children.
//!
//! For each node type and height (how many nodes lie below one another, but for those of lists) there is a least and a
//! greatest number of elements. A subtensor gets the least height that holds it; a node takes as many elements as it may, and its
//! children get about the same each, so that leaves are full.
//!
//! ```text
//! btree<3>    leaves 1 ..= 3;  height 1: 3 ..= 15;  height 2: 7 ..= 63
//! 20 elements: height 2, one element in the root, and children of 11 and 8, of which all leaves lie at the same depth
//! ```
//!
//! A type whose children are all there or else end the tree has all leaves at the same depth: its children are of the height below.
//! A type with one child that is no array, behind all elements, is a list: its node is filled, and the rest goes on behind it. Any other
//! node waits while a child is visited, and so trees have no more heights than nodes may wait.

use lacunar_formats::Schema;
use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Step, Target};

use super::counts::Counts;

/// More elements than any tensor has.
pub(super) const MANY: u64 = 1 << 62;

/// The most heights that are told apart.
const HEIGHTS: usize = Schema::DEPTH;

/// The least and the greatest number of elements; the greatest is the smaller one if there is no such tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub least: u64,
    pub most: u64,
}

/// No tree at all.
pub(super) const NONE: Bounds = Bounds { least: MANY, most: 0 };

impl Bounds {
    fn or(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// The children of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Children {
    /// None.
    Zero,
    /// One, in a field that is no array, behind all elements: the node does not wait while it is visited.
    One,
    /// Several, or one that is visited before some element.
    Many,
}

/// A size field: its bounds, and the arrays of its length.
#[derive(Debug)]
pub(super) struct Size {
    /// The number of the field.
    pub field: usize,
    pub least: u64,
    /// The length that is not passed when nodes are made.
    pub most: u64,
    /// The number of arrays of elements that are all used, and of such that are used as need be.
    pub full: u64,
    pub open: u64,
    /// True if arrays of children have this length.
    pub is_coupled: bool,
}

/// The elements and children of a node type.
#[derive(Debug)]
pub(super) struct Type {
    pub children: Children,
    /// Elements that are always used, and places that may be, of fields that no size tells the length of.
    pub full: u64,
    pub open: u64,
    pub sizes: Vec<Size>,
    /// True if some child is there in all nodes that are not at the bottom.
    has_needed: bool,
    /// By height.
    pub bounds: Vec<Bounds>,
    pub counts: Vec<Counts>,
}

/// The node types of a schema, with the numbers of their elements.
#[derive(Debug)]
pub(super) struct Shapes {
    pub schema: &'static Schema,
    pub types: Vec<Type>,
    /// By supertype, then by node type: the number of a leaf's elements at most, and of those between two leaves.
    grains: Vec<(u64, u64)>,
    /// The same: the bounds of children, by height.
    table: Vec<Vec<Bounds>>,
    /// True if arrays without a bound have room for more than they hold.
    pub grows: bool,
    /// The same without the numbers between the bounds that no tree has, if there are any, or children that are absent have none.
    pub counts: Option<Vec<Vec<Counts>>>,
}

/// A node that is to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Its type.
    pub number: usize,
    /// Its height.
    pub height: usize,
}

/// The split of a subtree's elements at its root node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deal {
    /// The lengths, by size field.
    pub lengths: [u32; Schema::SIZES],
    /// The number of used places among those that may be unused.
    pub open: u64,
    /// The number of elements that go to children.
    pub rest: u64,
}

/// The items of a field of children: their number, their type, and a flag that is true if they are all there.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub count: u64,
    pub to: Target,
    pub nonempty: bool,
}

impl Type {
    /// The type of a node, whose arrays have the lengths that conversions give them as a rule, if that is asked for.
    fn of(node: &Node, is_usual: bool) -> Type {
        let elems = |size: Option<usize>, nonempty: bool| {
            let fits = |field: &&Field| match (&field.kind, size) {
                (FieldKind::Elem { array: Some(Extent::Size(own)), nonempty: other }, Some(size)) => {
                    (*own, *other) == (size, nonempty)
                }
                (FieldKind::Elem { array: None | Some(Extent::Const(_)), nonempty: other }, None) => *other == nonempty,
                _ => false,
            };
            let count = |field: &Field| match field.array() {
                Some(Extent::Const(count)) => u64::from(count),
                _ => 1,
            };
            node.fields.iter().filter(fits).map(count).sum()
        };
        let sizes = node.fields.iter().enumerate().filter_map(|(field, described)| {
            let FieldKind::Size { least, most, about } = described.kind else { return None };
            let is_own = |other: &Field| other.array() == Some(Extent::Size(field));
            let is_coupled = node.children().any(|(_, other)| is_own(other));
            // Without a bound, arrays of children are as long as a line of the cache.
            let usual = if is_coupled { USUAL } else { MANY };
            let most = about.filter(|_| is_usual).or(most).map_or(usual, u64::from);
            let (full, open) = (elems(Some(field), true), elems(Some(field), false));
            Some(Size { field, least: least.into(), most: most.max(least.into()), full, open, is_coupled })
        });
        let children = match node.children().map(|(number, _)| number).collect::<Vec<_>>().as_slice() {
            [] => Children::Zero,
            [field] if node.seq.last() == Some(&Step::One(*field)) => Children::One,
            _ => Children::Many,
        };
        let has_needed = node.children().any(|(_, field)| field.is_nonempty());
        let (full, open) = (elems(None, true), elems(None, false));
        Type { children, full, open, sizes: sizes.collect(), has_needed, bounds: Vec::new(), counts: Vec::new() }
    }

    /// The least and the greatest number of elements of a node itself, with these lengths of coupled arrays.
    pub fn own(&self, coupled: impl Fn(usize) -> u64) -> Bounds {
        let mut own = Bounds { least: self.full, most: self.full + self.open };
        for (place, size) in self.sizes.iter().enumerate() {
            let (least, most) =
                if size.is_coupled { (coupled(place), coupled(place)) } else { (size.least, size.most) };
            own.least += least * size.full;
            own.most = own.most.saturating_add(most.saturating_mul(size.full + size.open)).min(MANY);
        }
        own
    }
}

/// The length of arrays of children that have no bound.
const USUAL: u64 = 16;

impl Shapes {
    pub fn new(schema: &'static Schema) -> Shapes {
        let usual = Shapes::with_lengths(schema, true);
        let has_usual = |field: &Field| matches!(field.kind, FieldKind::Size { about: Some(_), .. });
        if usual.most() > u64::from(u32::MAX) || !schema.nodes().iter().any(|node| node.fields.iter().any(has_usual)) {
            return usual;
        }
        // Nodes of the usual lengths do not hold all that nodes may.
        let long = Shapes::with_lengths(schema, false);
        if long.most() > usual.most() { long } else { usual }
    }

    /// The most elements of a tree.
    fn most(&self) -> u64 {
        (0..self.heights()).map(|height| self.bounds(self.schema.entry(), height).most).max().unwrap_or(0)
    }

    fn with_lengths(schema: &'static Schema, are_usual: bool) -> Shapes {
        let types = schema.nodes().iter().map(|node| Type::of(node, are_usual)).collect();
        let mut shapes = Shapes { schema, types, grains: Vec::new(), table: Vec::new(), grows: false, counts: None };
        for height in 0..HEIGHTS {
            shapes.types.iter_mut().for_each(|it| it.bounds.push(NONE));
            // Lists are as long as those they go on with: their bounds follow from each other.
            for round in 0..=shapes.types.len() + 1 {
                let is_last = round == shapes.types.len() + 1;
                let next: Vec<Bounds> =
                    (0..shapes.types.len()).map(|number| shapes.bounds_at(number, height)).collect();
                for (it, next) in shapes.types.iter_mut().zip(next) {
                    // A bound that still grows is infinite.
                    let grows = is_last && next.most > it.bounds[height].most;
                    it.bounds[height] = if grows { Bounds { most: MANY, ..next } } else { next };
                }
            }
            shapes.count(height);
            // No level has more elements than positions can be told apart.
            if shapes.bounds(schema.entry(), height).most > u64::from(u32::MAX) {
                break;
            }
        }
        let targets = (0..schema.supertypes().len()).map(Target::Super);
        let targets = targets.chain((0..schema.nodes().len()).map(Target::Node)).collect::<Vec<_>>();
        shapes.grains = targets.iter().map(|target| shapes.grain_of(*target)).collect();
        let heights = shapes.heights();
        let by_height = |target: &Target| (0..heights).map(|height| shapes.bounds_of(*target, height)).collect();
        shapes.table = targets.iter().map(by_height).collect();
        let counts = |target: &Target| (0..heights).map(|height| shapes.counts_of(*target, height)).collect();
        let counts: Vec<Vec<Counts>> = targets.iter().map(counts).collect();
        shapes.counts = shapes.has_gaps(&counts).then_some(counts);
        shapes
    }

    /// True if children have not all numbers of elements between the least and the greatest; those that may be absent have none as well.
    fn has_gaps(&self, counts: &[Vec<Counts>]) -> bool {
        let all = (0..self.types.len()).flat_map(|number| self.groups(number, |_| 1));
        let nullable: Vec<usize> = all.filter(|group| !group.nonempty).map(|group| self.place_of(group.to)).collect();
        let has_gaps = |place: usize, own: &Counts| {
            own.has_gaps() || nullable.contains(&place) && own.or(&Counts::between(0, 0)).has_gaps()
        };
        counts.iter().enumerate().any(|(place, own)| own.iter().any(|own| has_gaps(place, own)))
    }

    /// The same for trees that are going to get more elements.
    pub fn growing(self, grows: bool) -> Shapes {
        Shapes { grows, ..self }
    }

    /// True if there is a tree of any number of elements.
    pub fn holds_all(&self) -> bool {
        let entry = self.schema.entry();
        let counts = (0..self.heights()).map(|height| self.counts_of(entry, height));
        counts.fold(Counts::default(), |all, own| all.or(&own)).holds_between(1, u64::from(u32::MAX))
    }

    /// The number of heights that are told apart.
    pub fn heights(&self) -> usize {
        self.types.first().map_or(0, |it| it.bounds.len())
    }

    fn node(&self, number: usize) -> &'static Node {
        &self.schema.nodes()[number]
    }

    /// The fields of children of a node with these lengths of coupled arrays.
    pub fn groups(&self, number: usize, coupled: impl Fn(usize) -> u64) -> impl Iterator<Item = Group> {
        let sizes = &self.types[number].sizes;
        self.node(number).children().filter_map(move |(_, field)| {
            let FieldKind::Child { to, array, nonempty } = field.kind else { return None };
            let count = match array {
                None => 1,
                Some(Extent::Const(count)) => count.into(),
                Some(Extent::Size(size)) => coupled(sizes.iter().position(|own| own.field == size)?),
            };
            Some(Group { count, to, nonempty })
        })
    }

    /// True if all leaves of trees of a type are at the same depth.
    pub fn is_levelled(&self, target: Target) -> bool {
        self.schema.types(target).iter().any(|number| {
            let it = &self.types[*number];
            it.children == Children::Many && it.has_needed
        })
    }

    /// The bounds of a child of a height at most, or of just this height if it is levelled.
    pub fn bounds(&self, target: Target, height: usize) -> Bounds {
        match self.table.get(self.place_of(target)) {
            Some(by_height) => by_height[height],
            None => self.bounds_of(target, height),
        }
    }

    fn bounds_of(&self, target: Target, height: usize) -> Bounds {
        let levelled = self.is_levelled(target);
        let of = |number: &usize| {
            let bounds = &self.types[*number].bounds;
            let from = if levelled { height } else { 0 };
            bounds[from..bounds.len().min(height + 1)].iter().fold(NONE, |all, own| all.or(*own))
        };
        self.schema.types(target).iter().map(of).fold(NONE, Bounds::or)
    }

    /// The bounds of a node of a height.
    fn bounds_at(&self, number: usize, height: usize) -> Bounds {
        let it = &self.types[number];
        match it.children {
            // A leaf at the bottom; of levelled trees at no other height.
            Children::Zero if height == 0 => it.own(|place| it.sizes[place].most),
            Children::Zero => NONE,
            Children::One => {
                let own = it.own(|place| it.sizes[place].most);
                let group = self.groups(number, |_| 1).next();
                let Some(Group { to, nonempty, .. }) = group else { return own };
                let below = self.bounds(to, height);
                let least = if nonempty { own.least.saturating_add(below.least).min(MANY) } else { own.least };
                let most = own.most.saturating_add(below.most).min(MANY);
                if nonempty && below == NONE { NONE } else { Bounds { least, most } }
            }
            Children::Many if height == 0 => {
                let short = |place: usize| it.sizes[place].least;
                let needs = self.groups(number, short).any(|group| group.nonempty && group.count > 0);
                if needs { NONE } else { it.own(short) }
            }
            Children::Many => {
                let mut all = it.own(|place| it.sizes[place].most);
                let needed = self.groups(number, |place| it.sizes[place].least).filter(|group| group.nonempty);
                all.least = it.own(|place| it.sizes[place].least).least;
                for group in needed {
                    let below = self.bounds(group.to, height - 1);
                    if below == NONE {
                        return NONE;
                    }
                    all.least = all.least.saturating_add(below.least.saturating_mul(group.count)).min(MANY);
                }
                for group in self.groups(number, |place| it.sizes[place].most) {
                    let below = self.bounds(group.to, height - 1);
                    all.most = all.most.saturating_add(below.most.saturating_mul(group.count)).min(MANY);
                }
                all
            }
        }
    }

    /// The most elements of a leaf, and the number of elements between two of them.
    fn grain_of(&self, target: Target) -> (u64, u64) {
        let leaves = self.schema.types(target).iter().filter(|number| self.types[**number].bounds[0] != NONE);
        let leaf = leaves.max_by_key(|number| self.types[**number].bounds[0].most);
        let Some(leaf) = leaf else { return (1, 0) };
        let between = u64::from(self.types[*leaf].children == Children::Zero);
        (self.types[*leaf].bounds[0].most.max(1), between)
    }

    fn grain(&self, target: Target) -> (u64, u64) {
        self.grains[self.place_of(target)]
    }

    /// The place of a target in tables.
    pub fn place_of(&self, target: Target) -> usize {
        match target {
            Target::Super(number) => number,
            Target::Node(number) => self.schema.supertypes().len() + number,
        }
    }

    /// The height of children.
    pub fn below(&self, choice: Choice) -> Option<usize> {
        match self.types[choice.number].children {
            Children::One => Some(choice.height),
            _ => choice.height.checked_sub(1),
        }
    }

    /// Deals out so many elements at a node; none if it can't be done.
    pub fn deal(&self, choice: Choice, count: u64) -> Option<Deal> {
        let it = &self.types[choice.number];
        let below = self.below(choice);
        let bounds = |to: Target| below.map_or(NONE, |height| self.bounds(to, height));
        let mut lengths: [u64; Schema::SIZES] = [0; Schema::SIZES];
        it.sizes.iter().zip(&mut lengths).for_each(|(size, length)| *length = size.least);
        let most_below = |lengths: &[u64]| {
            let groups = self.groups(choice.number, |place| lengths[place]);
            groups.fold(0u64, |all, group| all.saturating_add(bounds(group.to).most.saturating_mul(group.count)))
        };
        // As few children as hold the elements.
        for place in (0..it.sizes.len()).filter(|place| it.sizes[*place].is_coupled && below.is_some()) {
            let enough = |length: u64, lengths: &mut [u64; Schema::SIZES]| {
                lengths[place] = length;
                it.own(|place| lengths[place]).most.saturating_add(most_below(&lengths[..])) >= count
            };
            let (mut low, mut high) = (it.sizes[place].least, it.sizes[place].most);
            while low < high {
                let middle = low + (high - low) / 2;
                if enough(middle, &mut lengths) { high = middle } else { low = middle + 1 }
            }
            lengths[place] = low;
        }
        let own = it.own(|place| lengths[place]);
        let needed: u64 = self
            .groups(choice.number, |place| lengths[place])
            .filter(|group| group.nonempty)
            .map(|group| bounds(group.to).least.saturating_mul(group.count))
            .sum();
        let most = own.most.min(count.checked_sub(needed)?);
        let least = own.least.max(count.saturating_sub(most_below(&lengths)));
        if least > most {
            return None;
        }
        let rest = match (&self.counts, below) {
            (Some(_), Some(_)) => {
                self.children(choice, &lengths).from(count - most).filter(|rest| *rest <= count - least)?
            }
            _ => self.filled(choice.number, count - most, |to| bounds(to).least).min(count - least),
        };
        let mut deal = self.realize(choice.number, count - rest, own.least, lengths);
        deal.rest += rest;
        let fits = deal.rest <= most_below(&lengths) && deal.rest >= needed;
        fits.then_some(deal)
    }

    /// The numbers of elements of all children of a node of these lengths.
    fn children(&self, choice: Choice, lengths: &[u64; Schema::SIZES]) -> Counts {
        let Some(below) = self.below(choice) else { return Counts::between(0, 0) };
        let of = |group: Group| self.counts_below(group, below).times(group.count);
        let groups = self.groups(choice.number, |place| lengths[place]);
        groups.fold(Counts::between(0, 0), |all, group| all.plus(&of(group)))
    }

    /// The numbers of elements of the children of a node that come in the order of the schema behind so many others.
    fn children_behind(&self, choice: Choice, deal: &Deal, passed: u64) -> Counts {
        let Some(below) = self.below(choice) else { return Counts::between(0, 0) };
        let node = self.node(choice.number);
        let (mut passed, mut all) = (passed, Counts::between(0, 0));
        for step in &node.seq {
            let fields = match step {
                Step::One(field) => std::slice::from_ref(field),
                Step::Together(fields) => fields.as_slice(),
            };
            let children = fields.iter().filter_map(|field| match node.fields[*field].kind {
                FieldKind::Child { to, nonempty, .. } => Some((to, nonempty)),
                _ => None,
            });
            let length = u64::from(self.length(choice.number, deal, &node.fields[fields[0]]));
            let here = children.clone().count() as u64;
            for (number, (to, nonempty)) in (0..here).zip(children) {
                // Items of arrays alternate.
                let count = length - (passed + here - 1 - number).checked_div(here).unwrap_or_default().min(length);
                all = all.plus(&self.counts_below(Group { count, to, nonempty }, below).times(count));
            }
            passed = passed.saturating_sub(here * length);
        }
        all
    }

    /// The number of items of a field.
    pub fn length(&self, number: usize, deal: &Deal, field: &Field) -> u32 {
        match field.array() {
            None => 1,
            Some(Extent::Const(length)) => length,
            Some(Extent::Size(size)) => {
                let place = self.types[number].sizes.iter().position(|own| own.field == size);
                place.map_or(0, |place| deal.lengths[place])
            }
        }
    }

    /// The rest that goes to children, if it is more than none but fewer than any child has.
    fn filled(&self, number: usize, rest: u64, least: impl Fn(Target) -> u64) -> u64 {
        let fewest = self.groups(number, |_| 1).map(|group| least(group.to)).min().unwrap_or_default();
        if rest == 0 || fewest == MANY { rest } else { rest.max(fewest) }
    }

    /// Lengths and used places of a node that takes so many elements itself, or as many below that as can be.
    fn realize(&self, number: usize, own: u64, least: u64, mut lengths: [u64; Schema::SIZES]) -> Deal {
        let it = &self.types[number];
        let (mut left, mut open) = (own.saturating_sub(least), it.open);
        for (size, length) in it.sizes.iter().zip(&mut lengths) {
            if !size.is_coupled {
                let wanted = left.checked_div(size.full).unwrap_or_else(|| left.div_ceil(size.open.max(1)));
                let more = wanted.min(size.most - size.least);
                *length += more;
                left -= more * size.full;
            }
            open += *length * size.open;
        }
        let open = open.min(left);
        Deal { lengths: lengths.map(|length| length.min(u64::from(u32::MAX)) as u32), open, rest: left - open }
    }

    /// The number of a node's remaining elements that go to the next child, if those behind it take `behind`. `None` if it can't be.
    pub fn share(&self, at: &ChildPlace, rest: u64, to_come: u64, behind: Bounds) -> Option<u64> {
        let own = at.bounds;
        let even = rest.div_ceil(to_come.max(1));
        let (leaf, between) = self.grain(at.to);
        // Full leaves, with an element between two of them.
        let full = (even + between).div_ceil(leaf + between).saturating_mul(leaf + between) - between;
        let wanted = if leaf >= MANY { even } else { full.min(rest) };
        if let (Some(_), Some(below)) = (&self.counts, self.below(at.choice)) {
            let counts = self.counts_below(Group { count: 1, to: at.to, nonempty: at.nonempty }, below);
            let total: u64 = self.to_come(at.choice, at.deal).0;
            let others = self.children_behind(at.choice, at.deal, total - to_come + 1);
            return counts.nearest(wanted, rest, &others);
        }
        let least = if at.nonempty { own.least } else { 0 };
        let least = least.max(rest.saturating_sub(behind.most));
        let most = own.most.min(rest.saturating_sub(behind.least));
        let share = wanted.min(most).max(least);
        // A child that need not be there has as many as it needs, or none.
        let is_few = !at.nonempty && share < own.least && share > 0;
        let share = if is_few && least == 0 {
            0
        } else if is_few {
            own.least
        } else {
            share
        };
        (share <= rest).then_some(share)
    }

    /// The place of a child in a node that was chosen.
    pub fn place<'d>(&self, choice: Choice, deal: &'d Deal, to: Target, nonempty: bool) -> ChildPlace<'d> {
        let bounds = self.below(choice).map_or(NONE, |height| self.bounds(to, height));
        ChildPlace { choice, deal, to, nonempty, bounds }
    }

    /// The number of children of a node of these lengths, and the elements that they take at least and at most.
    pub fn to_come(&self, choice: Choice, deal: &Deal) -> (u64, Bounds) {
        let below = self.below(choice);
        let groups = self.groups(choice.number, |place| deal.lengths[place].into());
        groups.fold((0, Bounds { least: 0, most: 0 }), |(count, all), group| {
            let own = below.map_or(NONE, |height| self.bounds(group.to, height));
            let least = if group.nonempty { own.least.saturating_mul(group.count) } else { 0 };
            let most = own.most.saturating_mul(group.count);
            let bounds =
                Bounds { least: all.least.saturating_add(least), most: all.most.saturating_add(most).min(MANY) };
            (count + group.count, bounds)
        })
    }
}

/// A place for a child of a node.
#[derive(Clone, Copy)]
pub(super) struct ChildPlace<'d> {
    pub choice: Choice,
    pub deal: &'d Deal,
    pub to: Target,
    pub nonempty: bool,
    pub bounds: Bounds,
}
