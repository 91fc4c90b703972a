//! Products of a tensor with itself, sums of which may be symmetric: compilers compute half of them.

use lacunar_notation::BinaryFn;

use super::{FAR, Generator};
use crate::sketch::Tree;

impl Generator<'_> {
    /// A tensor, mostly dense, times itself at other coordinates: a sum of such products may be symmetric.
    pub(super) fn with_itself(&mut self) -> Option<Tree> {
        let mut vars: Vec<usize> = (0..self.vars).filter(|&var| self.sketch.sizes[var] < FAR).collect();
        self.rng.shuffle(&mut vars);
        let (&first, rest) = vars.split_first()?;
        let other = rest.iter().find(|&&var| self.sketch.sizes[var] == self.sketch.sizes[first]).copied()?;
        let summed = rest.iter().copied().find(|&var| var != other)?;
        let (name, dtype) = (format!("T{}", self.sketch.tensors.len()), self.dtype());
        let tensor = self.tensor(name, &[summed, first], Some(dtype), true, false);
        let [a, b] = [first, other].map(|var| Box::new(Tree::Access(tensor, vec![summed, var])));
        Some(Tree::Binary(BinaryFn::Mul, a, b))
    }
}
