//! The whole of what an equation leaves of a variable: where no end of the dimension cuts it off, it has a constant length.
//!
//! ```text
//! d == i - j, d below 16      j in i - 15 .. i + 1
//! ```

use lacunar_notation::{TensorId, VarId};

use crate::iterate::iterators::Iterator;
use crate::lower::Lowerer;
use crate::lower::scope::{Fact, InStrip, Scope};
use crate::lower::sizes::constant;

/// The values of a variable that an equation leaves, all of which are coordinates.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Whole {
    /// The variable.
    pub var: VarId,
    /// The indicator that is the equation.
    pub by: TensorId,
    /// The variable that the first value follows from, `step` times it and `rest`.
    pub of: VarId,
    pub step: i64,
    pub rest: i64,
    /// The third variable of the equation, which has as many values.
    pub told: VarId,
    /// The number of values.
    pub len: u64,
}

/// Confines a variable to all values that an equation leaves, if nothing else confines it, and these are known to be coordinates.
pub(super) fn confine(cx: &mut Lowerer<'_>, var: VarId, confining: &[Iterator], scope: &mut Scope) -> bool {
    let [Iterator { access, .. }] = confining else { return false };
    let known = |fact: &Fact| if let Fact::Whole(whole) = fact { Some(*whole) } else { None };
    let Some(whole) = scope.facts().filter_map(known).find(|whole| {
        let is_of = |own: VarId| access.vars.contains(&own);
        whole.var == var && whole.by == access.tensor && is_of(whole.of) && is_of(whole.told)
    }) else {
        return false;
    };
    let Some(of) = scope.value(whole.of) else { return false };
    let (step, rest) = (cx.b.int(whole.step), cx.b.int(whole.rest));
    let (term, len) = (cx.b.mul(of, step), constant(&mut cx.b, whole.len));
    let begin = cx.b.add(term, rest);
    let begin = cx.b.define("first", begin);
    scope.know(Fact::Region(var, (begin, cx.b.add(begin, len))));
    scope.know(Fact::InStrip(var, InStrip { place: None, begin, len }));
    true
}
