//! The root nodes of parent positions that come next, which are asked for before they are read.
//!
//! ```text
//! d{blist<16>}     root = root[p]     prefetch node[root .. root + 20]     slot = node[root + 2]     prefetch vals[slot .. slot + 16]
//! ```

use lacunar_formats::schema::Node;
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, ExprId, Stmt};

use super::Nodes;

impl Nodes {
    /// The words and the positions of a root node that are worth asking for: those that its type, or the larger of its types, has in any case.
    pub fn root_extent(&self) -> (u64, u64) {
        let types = self.types();
        let most = |of: fn(&Node) -> u32| types.iter().map(|node| of(node)).max().unwrap_or(0).into();
        (most(|node| node.layout.words), most(|node| node.layout.slots))
    }

    /// The types of root nodes.
    fn types(&self) -> Vec<&'static Node> {
        let schema = self.visit.schema;
        schema.types(schema.entry()).iter().map(|number| &schema.nodes()[*number]).collect()
    }

    /// Asks for the root node of a parent position.
    pub fn prefetch_root(&self, b: &mut Builder, parent: ExprId) {
        let (words, root) = (b.int(self.root_extent().0 as i64), b.load_index("ahead", self.root, parent));
        let end = b.add(root, words);
        b.push(Stmt::Prefetch { array: self.node, begin: root, end });
    }

    /// Asks for the values of the root node of a parent position, which tells where they are.
    pub fn prefetch_values(&self, b: &mut Builder, values: ArrayId, parent: ExprId) {
        let (zero, mask) = (b.int(0), b.int(i64::from(self.visit.schema.align()) - 1));
        let root = b.load_index("ahead", self.root, parent);
        let tag = b.binary(BinaryOp::And, root, mask);
        let types = self.types();
        let word = |node: &&Node| i64::from(node.layout.slot.unwrap_or(0)) - i64::from(node.tag);
        let last = types.last().map_or(0, word);
        let mut offset = b.int(last);
        for node in &types[..types.len().saturating_sub(1)] {
            let (own, number) = (b.int(word(node)), b.int(node.tag.into()));
            let is_own = b.compare(CompareOp::Eq, tag, number);
            offset = b.select(is_own, own, offset);
        }
        // There is no node 0: a word that is there stands for its own.
        let (is_some, at) = (b.compare(CompareOp::Ne, root, zero), b.add(root, offset));
        let at = b.select(is_some, at, zero);
        let slot = b.load_index("ahead", self.node, at);
        let slots = b.int(self.root_extent().1 as i64);
        let end = b.add(slot, slots);
        b.push(Stmt::Prefetch { array: values, begin: slot, end });
    }
}
