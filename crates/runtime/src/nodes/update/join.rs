//! Nodes that have too few elements, and another node beside them.
//!
//! ```text
//! siblings   [20 40]                  [40]              B-trees: two children of a node and the element between
//!            [5] [] [50]       ->     [5 20] [50]       are one node, or share elements around a new separator
//! chain      a b -> c -> ..    ->     a b c -> ..       blocks of lists: a node and its last child
//! few        []  of at least 2 ->     a tree of nodes that may be smaller, such as those of PaC-trees
//! ```
//!
//! A node above that loses a separator by this is planned in the same way, before anything is written.

use lacunar_formats::schema::Target;

use super::edit::Editor;
use super::items::{Fit, Item, Source, elems};
use super::rebalance::DEEPEST;
use super::remove::Plan;
use crate::error::StorageError;

/// A change of a node with another.
pub(crate) enum Join {
    /// All items go to the first of two siblings.
    Siblings { first: u32, second: u32, ty: usize, all: Vec<Item>, fit: Fit, above: Plan },
    /// Two siblings share items around another separator.
    Share { first: u32, second: u32, ty: usize, parts: [(Vec<Item>, Fit); 2], above: Vec<Item>, above_fit: Fit },
    /// A node takes in the items of its last child.
    TakeIn { level: usize, all: Vec<Item>, fit: Fit, child: (u32, usize) },
    /// A node and its last child share items.
    Even { level: usize, own: Vec<Item>, fit: Fit, child: (u32, usize), back: Vec<Item>, back_fit: Fit },
    /// A tree takes the place of the node.
    Tree(Sketch),
}

/// A tree that is to be made.
pub(crate) struct Sketch {
    ty: usize,
    items: Vec<Item>,
    /// The children among the items, in order.
    children: Vec<Sketch>,
}

impl Editor<'_> {
    /// The change of a node of the path that has too few items, together with others.
    pub fn join(&mut self, level: usize, items: &[Item]) -> Option<Join> {
        if let Some(join) = self.join_sibling(level, items) {
            return Some(join);
        }
        if let Some(join) = self.take_in_next(level, items).or_else(|| self.even_next(level, items)) {
            return Some(join);
        }
        if let Some(join) = level.checked_sub(1).and_then(|above| self.join_above(above, level, items)) {
            return Some(join);
        }
        if items.is_empty() || !items.iter().all(Item::is_elem) {
            return None;
        }
        self.sketch(level, items).map(Join::Tree)
    }

    /// The same with the sibling before or behind.
    fn join_sibling(&mut self, level: usize, items: &[Item]) -> Option<Join> {
        let visit = self.path[level];
        let above = self.path[level.checked_sub(1)?];
        let around = self.read(above.base, above.ty());
        let own = around.iter().position(|item| item.is_child(visit.base))?;
        let mut shared = None;
        for (other, separator, is_behind) in
            [(own.checked_sub(2), own.checked_sub(1), false), (Some(own + 2), Some(own + 1), true)]
        {
            let (Some(other), Some(separator)) = (other, separator) else { continue };
            let (Some(Item::Child { base, ty }), Some(separator @ Item::Elem { .. })) =
                (around.get(other).copied(), around.get(separator).copied())
            else {
                continue;
            };
            if ty != visit.ty() {
                continue;
            }
            let its = self.read(base, ty);
            let (before, behind) = if is_behind { (items, its.as_slice()) } else { (its.as_slice(), items) };
            let all = [before, &[separator], behind].concat();
            let (first, second) = if is_behind { (visit.base, base) } else { (base, visit.base) };
            let range = own.min(other)..=own.max(other);
            if let Some(fit) = self.fit(ty, &all).filter(|fit| fit.room <= self.room(first, ty)) {
                let mut next = around.clone();
                next.splice(range, [Item::Child { base: first, ty }]);
                if let Some(above) = self.plan(level - 1, next) {
                    return Some(Join::Siblings { first, second, ty, all, fit, above });
                }
            } else if shared.is_none()
                && let Some(middle) = self.middle(ty, &all)
            {
                shared = Some((first, second, all, middle, range));
            }
        }
        let (first, second, all, middle, range) = shared?;
        let ty = visit.ty();
        let separator = self.held(all[middle]);
        let mut next = around;
        next.splice(range, [Item::Child { base: first, ty }, separator, Item::Child { base: second, ty }]);
        let above_fit = self.fit(above.ty(), &next)?;
        let (front, back) = (all[..middle].to_vec(), all[middle + 1..].to_vec());
        let (front_fit, back_fit) = (self.fit(ty, &front)?, self.fit(ty, &back)?);
        if front_fit.room > self.room(first, ty) || back_fit.room > self.room(second, ty) {
            return None;
        }
        Some(Join::Share { first, second, ty, parts: [(front, front_fit), (back, back_fit)], above: next, above_fit })
    }

    /// The item with its value held beside.
    fn held(&mut self, item: Item) -> Item {
        match item {
            Item::Elem { coordinate, value: Source::At(position) } => {
                Item::Elem { coordinate, value: Source::Held(self.payload.hold(u64::from(position))) }
            }
            other => other,
        }
    }

    /// The change by which a node of a chain takes in the next one, which is its last child, if there is room to spare.
    pub fn take_in_next(&self, level: usize, items: &[Item]) -> Option<Join> {
        let ty = self.path[level].ty();
        let (own, child) = self.with_next(ty, items)?;
        let next = self.read(child.0, child.1);
        let all = [own, &next].concat();
        let fit = self.fit_short(ty, &all).filter(|fit| fit.room <= self.room(self.path[level].base, ty))?;
        // An element that is put in next fits as well.
        let has_room = elems(&all) * 4 <= self.usual(ty) as usize * 3 || self.fit(ty, items).is_none();
        has_room.then_some(Join::TakeIn { level, all, fit, child })
    }

    /// The change by which a node of a chain shares items with the next one.
    fn even_next(&self, level: usize, items: &[Item]) -> Option<Join> {
        let ty = self.path[level].ty();
        let (own, child) = self.with_next(ty, items)?;
        let all = [own, &self.read(child.0, child.1)].concat();
        self.evened(level, &all, child)
    }

    /// The items before the last child, and that, if the node's type is of chains, and its children are.
    fn with_next<'i>(&self, ty: usize, items: &'i [Item]) -> Option<(&'i [Item], (u32, usize))> {
        self.shape(ty).last?;
        let (Item::Child { base, ty: next }, own) = items.split_last()? else { return None };
        (self.shape(ty).is_linear && self.shape(*next).is_linear && !self.shape(*next).is_leaf)
            .then_some((own, (*base, *next)))
    }

    /// The items of a node and of its last child, cut anew.
    fn evened(&self, level: usize, all: &[Item], child: (u32, usize)) -> Option<Join> {
        let ty = self.path[level].ty();
        let half = all.len() / 2;
        let cuts = (0..all.len()).map(|k| if k % 2 == 0 { half + k / 2 } else { half.wrapping_sub(k / 2 + 1) });
        for cut in cuts.filter(|cut| *cut < all.len()) {
            let mut own = all[..cut].to_vec();
            own.push(Item::Child { base: child.0, ty: child.1 });
            let back = all[cut..].to_vec();
            if let (Some(fit), Some(back_fit)) = (self.fit(ty, &own), self.fit(child.1, &back))
                && fit.room <= self.room(self.path[level].base, ty)
                && back_fit.room <= self.room(child.0, child.1)
            {
                return Some(Join::Even { level, own, fit, child, back, back_fit });
            }
        }
        None
    }

    /// The change by which the node above takes in a node of a chain, or shares items with it.
    fn join_above(&self, above: usize, level: usize, items: &[Item]) -> Option<Join> {
        let (holder, visit) = (self.path[above], self.path[level]);
        let around = self.read(holder.base, holder.ty());
        let (own, child) = self.with_next(holder.ty(), &around)?;
        if child != (visit.base, visit.ty()) {
            return None;
        }
        let all = [own, items].concat();
        match self.fit(holder.ty(), &all).filter(|fit| fit.room <= self.room(holder.base, holder.ty())) {
            Some(fit) => Some(Join::TakeIn { level: above, all, fit, child }),
            None => self.evened(above, &all, child),
        }
    }

    /// The number of elements that nodes of a type usually take.
    pub fn usual(&self, ty: usize) -> u32 {
        self.shape(ty).block.map_or(0, |block| block.usual)
    }

    /// A tree of elements in the place of a node of the path; `None` if no type that may be there takes them, or it would be too deep.
    pub fn sketch(&self, level: usize, items: &[Item]) -> Option<Sketch> {
        let above = self.depth_of(&self.path[..level]);
        let sketch = self.sketch_within(self.link_of(level).to, items, &mut Vec::new());
        sketch.filter(|sketch| above + sketch.depth() <= DEEPEST)
    }

    /// The same, with the numbers of elements of which no tree was found. Each is tried once: else a node of many elements that halves
    /// do not fit either would be cut in more ways than can be tried.
    fn sketch_within(&self, to: Target, items: &[Item], refused: &mut Vec<usize>) -> Option<Sketch> {
        if refused.contains(&items.len()) {
            return None;
        }
        if let Some((ty, _)) = self.choose(to, items, usize::MAX) {
            return Some(Sketch { ty, items: items.to_vec(), children: Vec::new() });
        }
        let mut parts = 2..=MOST_PARTS.min(items.len());
        let found = parts.find_map(|parts| self.sketch_of(to, items, parts, refused));
        if found.is_none() {
            refused.push(items.len());
        }
        found
    }

    /// The same with so many children of the root, and the elements between them.
    fn sketch_of(&self, to: Target, items: &[Item], parts: usize, refused: &mut Vec<usize>) -> Option<Sketch> {
        let (mut own, mut children) = (Vec::new(), Vec::new());
        let (left, separators) = (items.len() + 1 - parts, parts - 1);
        let mut from = 0;
        for part in 0..parts {
            let len = left * (part + 1) / parts - left * part / parts;
            if len > 0 {
                let child = self.sketch_within(to, &items[from..from + len], refused)?;
                own.push(Item::Child { base: 0, ty: child.ty });
                children.push(child);
            }
            from += len;
            if part < separators {
                own.push(items[from]);
                from += 1;
            }
        }
        let (ty, _) = self.choose(to, &own, usize::MAX)?;
        Some(Sketch { ty, items: own, children })
    }

    /// Makes a tree; its first word.
    fn make_tree(&mut self, sketch: Sketch) -> Result<(u32, usize), StorageError> {
        let Sketch { ty, mut items, children } = sketch;
        let mut made = Vec::new();
        for child in children {
            made.push(self.make_tree(child)?);
        }
        let places = items.iter_mut().filter(|item| !item.is_elem());
        places.zip(made).for_each(|(item, (base, ty))| *item = Item::Child { base, ty });
        let fit = self.fit(ty, &items).unwrap_or_default();
        Ok((self.make_of(ty, &items, &fit)?, ty))
    }

    /// Carries out a change.
    pub fn carry_join(&mut self, level: usize, join: Join) -> Result<(), StorageError> {
        match join {
            Join::Siblings { first, second, ty, all, fit, above } => {
                self.write(first, ty, &all, &fit);
                self.discard(second, ty);
                self.carry_plan(level - 1, above)
            }
            Join::Share { first, second, ty, parts: [(front, front_fit), (back, back_fit)], above, above_fit } => {
                // Each has items of the other: all values are held before one is written.
                let (front, back) = (self.all_held(&front), self.all_held(&back));
                self.write(first, ty, &front, &front_fit);
                self.write(second, ty, &back, &back_fit);
                self.rewrite(level - 1, &above, &above_fit)
            }
            Join::TakeIn { level, all, fit, child } => {
                let all = self.all_held(&all);
                self.rewrite(level, &all, &fit)?;
                self.discard(child.0, child.1);
                Ok(())
            }
            Join::Even { level, own, fit, child, back, back_fit } => {
                let (own, back) = (self.all_held(&own), self.all_held(&back));
                self.write(child.0, child.1, &back, &back_fit);
                self.rewrite(level, &own, &fit)
            }
            Join::Tree(sketch) => self.replace_by_tree(level, sketch),
        }
    }

    /// Puts a tree of elements in the place of a node of the path, which had some of them.
    ///
    /// # Errors
    /// Memory is refused; nothing has been changed.
    pub fn replace_by_tree(&mut self, level: usize, sketch: Sketch) -> Result<(), StorageError> {
        let visit = self.path[level];
        let link = self.link_of(level);
        self.reserve(sketch.nodes(), super::free::LONG)?;
        let (base, ty) = self.make_tree(sketch)?;
        self.connect(link, base, ty);
        self.discard(visit.base, visit.ty());
        self.path[level] = super::edit::Visit { base, ty: ty as u32, link: link.at };
        self.balance(FEW_LEVELS)
    }

    fn all_held(&mut self, items: &[Item]) -> Vec<Item> {
        items.iter().map(|item| self.held(*item)).collect()
    }
}

impl Sketch {
    /// The number of nodes.
    fn nodes(&self) -> u64 {
        1 + self.children.iter().map(Sketch::nodes).sum::<u64>()
    }

    /// The number of nodes on the longest way down.
    fn depth(&self) -> usize {
        1 + self.children.iter().map(Sketch::depth).max().unwrap_or_default()
    }
}

/// The most children of the root of a small tree.
const MOST_PARTS: usize = 9;

/// The most additional levels of a tree that is made of a block that is too small.
const FEW_LEVELS: usize = 6;
