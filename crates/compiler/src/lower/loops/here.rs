//! A loop over a variable of the statement, and the circumstances that it is in.

use lacunar_imp::LoopKind;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::Lattice;
use crate::lower::iter::Traits;
use crate::lower::scope::Scope;
use crate::lower::storage::code;
use crate::lower::strategy::Circumstances;
use crate::lower::{Lowerer, region, sinks};

/// A loop over a variable of the statement.
#[derive(Clone, Copy)]
pub(super) struct Loop<'a> {
    pub var: VarId,
    pub body: &'a Stmt,
    pub lattice: &'a Lattice,
    pub traits: &'a [Traits],
    pub scope: &'a Scope,
}

impl Loop<'_> {
    /// The same loop, where more is known.
    pub fn within<'s>(&'s self, scope: &'s Scope) -> Loop<'s> {
        Loop { scope, ..*self }
    }

    /// The kind of the loop, with one iteration for each coordinate. Lanes would write one word of bits together.
    pub fn kind(&self, cx: &Lowerer<'_>) -> LoopKind {
        let kind = cx.loop_kind(self.var, self.scope);
        let Some(appended) = self.scope.appended() else { return kind };
        let tensor = appended.access.tensor;
        let own = code(cx, tensor, self.scope);
        let sets_bits = appended.groups.iter().any(|group| {
            level_var(cx.kernel, &appended.access, group.tail) == self.var
                && own.levels.get(group.tail).is_some_and(|level| level.takes_words())
        });
        let is_shared = matches!(kind, LoopKind::Vector(_)) && sets_bits && self.body.writes().contains(&tensor);
        if is_shared { LoopKind::Serial } else { kind }
    }

    /// The scope inside of the loop, with room made in the result for all that it can visit.
    pub fn entered(&self, cx: &mut Lowerer<'_>, most: sinks::Most<'_>) -> Scope {
        sinks::enter(cx, self.var, self.body, self.scope, most)
    }
}

/// The circumstances of a loop, which decide how it is run.
pub(super) fn circumstances(cx: &Lowerer<'_>, l: &Loop<'_>) -> Circumstances {
    let (kernel, leaf) = (cx.kernel, l.scope.leaf(l.var));
    let mut is_uncertain = false;
    l.body.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses().into_iter().map(AccessKey::from) {
            let is_own = l.lattice.iterators.iter().any(|it| it.access == access);
            is_uncertain |= !is_own && l.scope.uncertain(&access).is_some();
        }
    });
    let kind = cx.loop_kind(l.var, l.scope);
    Circumstances {
        kind,
        merge: kernel.provenance.merge(leaf),
        is_whole: region::is_whole(kernel, l.var, l.scope),
        reduces: matches!(l.body, Stmt::Assign(assign) if !assign.lhs.vars.contains(&l.var)),
        is_innermost: matches!(l.body, Stmt::Assign(_)),
        is_uncertain,
        has_borders: super::borders::has(kernel, l.var, l.body, l.scope),
        has_parts: kind == LoopKind::Serial && super::parts::has(kernel, l.var, l.body, l.scope),
    }
}
