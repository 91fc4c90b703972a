//! Binary trees that are balanced again.
//!
//! A path that is longer than balanced trees have, has a node with a child that has most of the nodes below it: that subtree is linked
//! anew so that both halves are equal. It is a scapegoat tree, which needs no field for it: an element that is put in costs O(log n)
//! steps, taken over many. Nodes keep their elements, so that no value moves.
//!
//! ```text
//! 1         3
//!  2       1  4        nodes that hold many elements, and leaves of another type, are linked in the same way
//!   3       2
//!    4
//! ```
//!
//! It concerns types with two children, which may be absent, around elements ([`Shape::binary`](super::free::Shape)). B-trees keep
//! their depth by splitting, and lists have none.
//!
//! Paper: Galperin and Rivest, *Scapegoat Trees* (SODA 1993).

use lacunar_formats::schema::{FieldKind, Target};

use super::edit::Editor;
use crate::error::StorageError;

/// The depth at which nothing more is put into a tree that cannot be balanced.
pub(crate) const DEEPEST: usize = 60;

/// A node is out of balance if one of its children has more than this part of the nodes under it.
const HEAVY: (usize, usize) = (2, 3);

/// A node of a tree, by its first word and its type.
type Found = (u32, usize);

impl Editor<'_> {
    /// Balances the tree at the end of the path, if it is too deep, or would be with so many more levels.
    ///
    /// # Errors
    /// Memory is refused for a list of nodes.
    pub fn balance(&mut self, more: usize) -> Result<(), StorageError> {
        let depth = self.depth() + more;
        if depth <= self.depth_limit() {
            return Ok(());
        }
        // The number of nodes under the last one; and then, going up, under each.
        let Some(mut below) = self.path.last().map(|last| (last.base, self.under(last.base, last.ty()))) else {
            return Ok(());
        };
        for level in (self.fixed..self.path.len().saturating_sub(1)).rev() {
            let visit = self.path[level];
            let Some((first, last)) = self.shape(visit.ty()).binary else { return Ok(()) };
            let mut all = 1;
            for field in [first, last] {
                match self.child(visit.base, visit.ty(), field) {
                    Some((base, _)) if base == below.0 => all += below.1,
                    Some((base, ty)) => all += self.under(base, ty),
                    None => {}
                }
            }
            if below.1 * HEAVY.1 > all * HEAVY.0 && all > 2 {
                let link = self.link_of(level);
                if let Some(nodes) = self.in_order(visit.base, visit.ty(), link.to) {
                    if let Some((base, ty)) = self.relink(&nodes) {
                        self.connect(link, base, ty);
                    }
                    self.path.truncate(level);
                    return Ok(());
                }
            }
            below = (visit.base, all);
        }
        Ok(())
    }

    /// The depth that no tree exceeds: log n to the base 3/2, where n is the number of positions.
    pub fn depth_limit(&self) -> usize {
        let bits = u64::BITS - self.payload.positions().leading_zeros();
        (bits as usize * 12).div_ceil(7).min(DEEPEST) + 1
    }

    /// The child that a field of a node refers to.
    pub fn child(&self, base: u32, ty: usize, field: usize) -> Option<Found> {
        let field = &self.schema.nodes()[ty].fields[field];
        match field.kind {
            FieldKind::Child { to, .. } => {
                self.follow(self.word(u64::from(base) + field.word(self.room(base, ty), 0)), to)
            }
            _ => None,
        }
    }

    /// The number of nodes from a node on downward.
    fn under(&self, base: u32, ty: usize) -> usize {
        let mut waiting = vec![(base, ty)];
        let mut count = 0;
        while let Some((base, ty)) = waiting.pop() {
            count += 1;
            for (field, _) in self.schema.nodes()[ty].children() {
                waiting.extend(self.child(base, ty, field));
            }
        }
        count
    }

    /// The nodes of a tree in order; `None` if some cannot be linked anew under a reference.
    fn in_order(&self, base: u32, ty: usize, to: Target) -> Option<Vec<Found>> {
        let types = self.schema.types(to);
        let mut nodes = Vec::new();
        // Nodes, each with a flag that is true if everything before it has been met.
        let mut waiting = vec![((base, ty), false)];
        while let Some(((base, ty), is_met)) = waiting.pop() {
            let shape = self.shape(ty);
            match shape.binary {
                _ if !types.contains(&ty) => return None,
                Some((first, _)) if !is_met => {
                    waiting.push(((base, ty), true));
                    waiting.extend(self.child(base, ty, first).map(|child| (child, false)));
                }
                Some((_, last)) => {
                    nodes.push((base, ty));
                    waiting.extend(self.child(base, ty, last).map(|child| (child, false)));
                }
                None if shape.is_leaf => nodes.push((base, ty)),
                None => return None,
            }
        }
        // Every child of a node in the tree may be any of its types.
        let all = |ty: usize| {
            self.schema.nodes()[ty].children().all(|(_, field)| match field.kind {
                FieldKind::Child { to, .. } => self.schema.types(to) == types,
                _ => false,
            })
        };
        nodes.iter().all(|(_, ty)| all(*ty)).then_some(nodes)
    }

    /// Links nodes that are in order to a tree with equal halves, and gives its root. No two leaves follow each other.
    fn relink(&mut self, nodes: &[Found]) -> Option<Found> {
        let half = nodes.len() / 2;
        let is_inner = |at: &usize| nodes.get(*at).is_some_and(|(_, ty)| self.shape(*ty).binary.is_some());
        let at = [half, half + 1, half.wrapping_sub(1)].into_iter().find(is_inner);
        let Some(at) = at else { return nodes.first().copied() };
        let (base, ty) = nodes[at];
        let (first, last) = self.shape(ty).binary?;
        let holder = (ty, self.handle(base, ty));
        for (field, part) in [(first, &nodes[..at]), (last, &nodes[at + 1..])] {
            let child = self.relink(part);
            let word = child.map_or(0, |(base, ty)| self.handle(base, ty));
            let place = u64::from(base) + self.schema.nodes()[ty].fields[field].word(self.room(base, ty), 0);
            self.set(place, word);
            if let Some((base, ty)) = child {
                self.set_holder(base, ty, Some(holder));
            }
        }
        Some((base, ty))
    }
}
