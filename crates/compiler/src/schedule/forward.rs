//! Forwards of names: the loops that stand in the place of a loop before a command, and the accesses that are read afterwards.
//!
//! ```text
//! split(i, i0, i1, 32)               i -> i0, i1
//! fuse(i, j, f)                      i -> f,  j -> f
//! precompute(b(i) * c(i), i, iw)     i -> i, iw,  b(i) -> b(iw),  c(i) -> c(iw)
//! ```
//!
//! The forwards of several commands in a row are joined ([`Forward::then`]). A refusal uses them to tell the fate of a name that
//! is gone; with debug assertions, [`Forward::check`] tests for every command that nothing of the kernel before is lost.
//!
//! Paper: Ikarashi et al., *Exocompilation for Productive Programming of Hardware Accelerators* (PLDI 2022), and Exo's cursors,
//! which follow the code that they point at through transformations.

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::CommandKind;
use lacunar_notation::{Access, VarId};

use super::nest::loops;

/// The names of a kernel that changed, each with its successors. All other names have stayed as they were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forward {
    /// Variables of loops, each with those of the loops that stand in the place of its own.
    loops: Vec<(VarId, Vec<VarId>)>,
    /// Accesses, each with the access that is read in its place.
    accesses: Vec<(Access, Access)>,
}

impl Forward {
    /// Records that the loop over a variable became loops over others.
    pub(super) fn replaced(mut self, var: VarId, by: impl Into<Vec<VarId>>) -> Forward {
        self.loops.push((var, by.into()));
        self
    }

    /// Records that an access became another one.
    pub(super) fn redirected(mut self, access: &Access, to: &Access) -> Forward {
        if !self.accesses.iter().any(|(known, _)| is_same(known, access)) {
            self.accesses.push((access.clone(), to.clone()));
        }
        self
    }

    /// The variables of the loops that stand where that over a variable stood.
    pub fn loops_of(&self, var: VarId) -> Vec<VarId> {
        let found = self.loops.iter().find(|(known, _)| *known == var);
        found.map_or_else(|| vec![var], |(_, now)| now.clone())
    }

    /// The access that is read in the place of an access.
    pub fn access<'a>(&'a self, access: &'a Access) -> &'a Access {
        let found = self.accesses.iter().find(|(known, _)| is_same(known, access));
        found.map_or(access, |(_, now)| now)
    }

    /// The forward of names by this and then by `next`.
    #[must_use]
    pub fn then(mut self, next: &Forward) -> Forward {
        for (_, now) in &mut self.loops {
            *now = now.iter().flat_map(|var| next.loops_of(*var)).collect();
        }
        for (_, now) in &mut self.accesses {
            *now = next.access(now).clone();
        }
        for (var, now) in &next.loops {
            if !self.loops.iter().any(|(known, _)| known == var) {
                self.loops.push((*var, now.clone()));
            }
        }
        for (access, now) in &next.accesses {
            self = self.redirected(access, now);
        }
        self
    }

    /// The successors of names that a command uses and that are gone, in words.
    pub(super) fn gone(&self, kernel: &Kernel, command: &CommandKind) -> Vec<String> {
        let name = |var: &VarId| format!("`{}`", kernel.vars[*var].name);
        let used = command.effect().uses;
        let vars = self
            .loops
            .iter()
            .filter(|(var, now)| !now.contains(var) && used.iter().any(|used| used.text == kernel.vars[*var].name));
        let vars = vars.map(|(var, now)| {
            let now: Vec<String> = now.iter().map(name).collect();
            format!("the loop over {} became {}", name(var), now.join(", "))
        });
        let named = command.accesses();
        let accesses = self.accesses.iter().filter(|(access, _)| named.iter().any(|named| is_same(named, access)));
        let accesses = accesses
            .map(|(access, now)| format!("`{}` became `{}`", kernel.access_text(access), kernel.access_text(now)));
        vars.chain(accesses).collect()
    }

    /// Checks that the loops and accesses of one kernel are, forwarded, those of another.
    ///
    /// # Errors
    /// The loops or accesses that are missing, in words.
    pub(super) fn check(&self, before: &Kernel, after: &Kernel) -> Result<(), String> {
        let (old, new) = (loops(&before.stmt), loops(&after.stmt));
        let forwarded: Vec<VarId> = old.iter().flat_map(|var| self.loops_of(*var)).collect();
        let strange = forwarded.iter().find(|var| !new.contains(var));
        if let Some(var) = strange.or_else(|| new.iter().find(|var| !forwarded.contains(var))) {
            return Err(format!("nothing tells where the loop over `{}` comes from or goes to", after.vars[*var].name));
        }
        let new = accesses(&after.stmt);
        let lost = accesses(&before.stmt).into_iter().find(|access| {
            let now = self.access(access);
            !new.iter().any(|new| is_same(new, now))
        });
        match lost {
            Some(access) => Err(format!("nothing tells what `{}` became", before.access_text(access))),
            None => Ok(()),
        }
    }
}

/// The accesses that a statement reads.
fn accesses(stmt: &Stmt) -> Vec<&Access> {
    let mut found = Vec::new();
    stmt.visit_assigns(&mut |assign| found.extend(assign.rhs.accesses()));
    found
}

/// True if two accesses read the same, wherever they stand.
fn is_same(a: &Access, b: &Access) -> bool {
    a.tensor == b.tensor && a.vars == b.vars
}
