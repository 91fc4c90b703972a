//! Loops with names of their own in the producer of a workspace: copies of the variables and relations that they derive from.
//!
//! ```text
//! consumer                                 producer, i1 named p
//! i --split 4--> i0, i1                    i2 --split 4--> i0, p         i2: i by another name
//! forall(i0, where(forall(i1, y(i) = w(i1)),  forall(p, w(p) = x(i2) * z(i2))))
//! ```
//!
//! Loops around the producer and the consumer belong to both derivations (`i0`), and so do variables that they tell: they count the same strips. Variables of the
//! statement that have a value in those loops keep their names. On entry: the new names are not names of variables. On exit: the
//! relations of the copies come after the relations that were copied.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;
use lacunar_notation::{Expr, IndexVar, VarId};
use rustc_hash::FxHashMap;

use super::part::rename;
use super::refuse;
use crate::reduction::fresh_name;

/// An expression as the producer that was made last has it: with the copies of the statement's variables, if loops derive from
/// them. Schedules do not know the names of such copies.
pub(super) fn behind_copies(kernel: &Kernel, expr: &Expr) -> Expr {
    kernel.provenance.relations.iter().rev().fold(expr.clone(), |expr, relation| match *relation {
        Relation::Rename { parent, copy } if kernel.provenance.uses(copy).next().is_some() => {
            rename(expr, parent, copy)
        }
        _ => expr,
    })
}

/// Variables with their copies, and the kernel that has both.
pub(super) struct Copy<'a> {
    pub(super) kernel: Kernel,
    /// The loops around the producer and the consumer.
    around: &'a [VarId],
    /// The loops of the producer.
    loops: &'a [VarId],
    /// Leaves, with the names of their copies.
    names: Vec<(VarId, &'a Name)>,
    copies: FxHashMap<VarId, VarId>,
}

impl<'a> Copy<'a> {
    /// Copies the variables of the statement that the named leaves derive from and that have no value inside of `around`. If a loop
    /// goes over positions of an access with a copied variable, the variables that this loop derives from are copied as well.
    pub(super) fn new(
        kernel: &Kernel,
        around: &'a [VarId],
        loops: &'a [VarId],
        names: Vec<(VarId, &'a Name)>,
    ) -> Copy<'a> {
        let mut copy = Copy { kernel: kernel.clone(), around, loops, names, copies: FxHashMap::default() };
        for (leaf, _) in copy.names.clone() {
            copy.originals_of(leaf);
        }
        let mut known = 0;
        while copy.copies.len() > known {
            known = copy.copies.len();
            for relation in &kernel.provenance.relations {
                let Relation::Pos { position, access, .. } = relation else { continue };
                if access.vars.iter().any(|var| copy.copies.contains_key(var)) {
                    let below = loops.iter().filter(|leaf| kernel.provenance.derives(**leaf, *position));
                    below.for_each(|leaf| copy.originals_of(*leaf));
                }
            }
        }
        copy
    }

    /// Copies the variables of the statement that a leaf derives from and that have no value yet.
    fn originals_of(&mut self, leaf: VarId) {
        for original in self.kernel.provenance.originals(leaf) {
            if self.kernel.provenance.is_known(original, self.around) || self.copies.contains_key(&original) {
                continue;
            }
            let named = self.names.iter().find(|(named, _)| *named == original);
            let name = named.map_or_else(|| self.fresh(original), |(_, name)| name.text.clone());
            let renamed = self.push(original, name);
            self.kernel.provenance.relations.push(Relation::Rename { parent: original, copy: renamed });
        }
    }

    /// Copies the relations under copied variables, down to the leaves. The leaves in `over` have loops in the consumer too.
    ///
    /// # Errors
    /// E1212: a loop of both producer and consumer would derive from the variable and from its copy.
    pub(super) fn relations(&mut self, over: &[VarId]) -> Result<(), Diagnostic> {
        let relations = self.kernel.provenance.relations.clone();
        for relation in relations.iter().filter(|relation| !matches!(relation, Relation::Rename { .. })) {
            if !relation.parents().iter().any(|parent| self.copies.contains_key(parent)) {
                continue;
            }
            for child in relation.children() {
                if self.kernel.provenance.is_known(child, self.around) {
                    continue;
                }
                let name = match self.names.iter().find(|(leaf, _)| *leaf == child) {
                    Some((_, name)) => name.text.clone(),
                    None if over.contains(&child) => return Err(self.shared(child)),
                    // Only the producer has its loop.
                    None if self.loops.contains(&child) => self.kernel.vars[child].name.clone(),
                    None => self.fresh(child),
                };
                self.push(child, name);
            }
            let copied = self.copied(relation);
            self.kernel.provenance.relations.push(copied);
        }
        Ok(())
    }

    /// The copy of a variable; the variable itself, if it has none.
    pub(super) fn of(&self, var: VarId) -> VarId {
        self.copies.get(&var).copied().unwrap_or(var)
    }

    /// The variables of accesses that have copies, each with its copy.
    pub(super) fn originals(&self) -> impl Iterator<Item = (VarId, VarId)> {
        self.kernel.provenance.relations.iter().filter_map(|relation| match *relation {
            Relation::Rename { parent, copy } if self.copies.get(&parent) == Some(&copy) => Some((parent, copy)),
            _ => None,
        })
    }

    /// The variables of loops that have copies, each with its copy.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (VarId, VarId)> {
        let is_leaf = |var: VarId| self.kernel.provenance.uses(var).all(|use_| matches!(use_, Relation::Rename { .. }));
        let mut found: Vec<(VarId, VarId)> = self.copies.iter().map(|(var, copy)| (*var, *copy)).collect();
        found.retain(|(var, _)| is_leaf(*var));
        found.sort_unstable();
        found.into_iter()
    }

    fn fresh(&self, var: VarId) -> String {
        fresh_name(&self.kernel.vars, &self.kernel.vars[var].name)
    }

    fn push(&mut self, var: VarId, name: String) -> VarId {
        let of = &self.kernel.vars[var];
        let copy = IndexVar { name, size: of.size, span: of.span };
        let copy = self.kernel.vars.push(copy);
        self.copies.insert(var, copy);
        copy
    }

    /// A relation between copies.
    fn copied(&self, relation: &Relation) -> Relation {
        match *relation {
            // The copy's own name stays.
            Relation::Rename { parent, copy } => Relation::Rename { parent: self.of(parent), copy },
            _ => relation.map(|var| self.of(var)),
        }
    }

    /// The error for a loop of both producer and consumer that cannot keep its name.
    fn shared(&self, var: VarId) -> Diagnostic {
        let name = &self.kernel.vars[var].name;
        let (leaf, with) = self
            .names
            .first()
            .map_or(("", Default::default()), |(leaf, name)| (self.kernel.vars[*leaf].name.as_str(), name.span));
        let message =
            format!("`{leaf}` gets another name and `{name}` keeps its own, but both derive from the same variable");
        refuse("E1212", with, message, "a new name").hint(format!("give `{name}` another name as well"))
    }
}
