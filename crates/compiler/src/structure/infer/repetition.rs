//! Repetition: a result with variables that its value does not use.
//!
//! `T(x, r) = M(x)`: along `r` all values are that at `r = 0`. So the rows of `T(i,j) = v(j)` are identical (Ghorbani et al. 2023, §5.1; their
//! rule needs a range that is not empty, which a point in it says).

use lacunar_notation::VarId;
use lacunar_sets::{Affine, Map, MapPiece};

use super::Context;
use super::closed::{Closed, together};

/// A value over more variables, along which it does not change.
pub(super) fn repeated(context: &Context<'_>, closed: Closed, over: &[VarId]) -> Option<Closed> {
    let vars = together(&closed.vars, over);
    if vars.len() == closed.vars.len() {
        return Some(closed);
    }
    let support = closed.support_over(context, &vars)?;
    let lifted = closed.map_over(context, &vars)?;
    let mut map = Map::empty(lifted.space().clone(), lifted.target_dims().to_vec());
    for piece in lifted.pieces() {
        let at = |(var, form): (&VarId, &Affine)| {
            if closed.vars.contains(var) { form.clone() } else { Affine::default() }
        };
        let target = vars.iter().zip(&piece.target).map(at).collect();
        map.add_apart(MapPiece { target, ..piece.clone() })?;
    }
    Closed::new(vars, support, map)
}
