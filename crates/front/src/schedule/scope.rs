//! The variables that a statement has after each command of its schedule.
//!
//! A variable of the statement is *live* until a command replaces it by new ones. Names are never used twice: accesses
//! keep the names of the statement's variables after their loops have been replaced.
//!
//! ```text
//! split(i, i0, i1, 32)     i: replaced by i0, i1     i0, i1: live, made of i
//! ```

use std::collections::BTreeSet;

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_notation::schedule::{CommandKind, Effect, Name};
use lacunar_notation::{Assignment, Program, VarId};

use super::error::Error;

/// The variables of one statement.
pub(super) struct Scope {
    vars: IndexMap<String, Entry>,
}

/// The state of a variable.
struct Entry {
    /// The variables of the statement that it derives from.
    originals: BTreeSet<VarId>,
    /// The place of the command that made it; `None`: it is one of the statement.
    made: Option<Span>,
    /// The command that replaced it, and its successors.
    replaced: Option<(Span, Vec<String>)>,
}

impl Scope {
    /// The scope of a statement before its schedule.
    pub fn new(program: &Program, statement: &Assignment) -> Scope {
        let mut vars = statement.lhs.vars.clone();
        vars.extend(statement.rhs.reduced_vars());
        for access in statement.rhs.accesses() {
            vars.extend(&access.vars);
        }
        let entry = |var: VarId| Entry { originals: BTreeSet::from([var]), made: None, replaced: None };
        Scope { vars: vars.into_iter().map(|var| (program.vars[var].name.clone(), entry(var))).collect() }
    }

    /// True if the statement has, or had, a variable.
    pub fn knows(&self, name: &str) -> bool {
        self.vars.contains_key(name)
    }

    /// True if a variable is one of the statement.
    pub fn is_original(&self, name: &str) -> bool {
        self.vars.get(name).is_some_and(|entry| entry.made.is_none())
    }

    /// The variables that have loops.
    pub fn live(&self) -> impl Iterator<Item = &str> {
        self.vars.iter().filter(|(_, entry)| entry.replaced.is_none()).map(|(name, _)| name.as_str())
    }

    /// The variables of the statement that a variable derives from.
    pub fn originals(&self, name: &str) -> BTreeSet<VarId> {
        self.vars.get(name).map(|entry| entry.originals.clone()).unwrap_or_default()
    }

    /// Takes the effect of a command that stands at `span`, all of whose variables the scope knows.
    pub fn apply(&mut self, program: &Program, kind: &CommandKind, span: Span) -> Result<(), Error> {
        let Effect { uses, replaces, makes } = kind.effect();
        self.check(program, &uses, &makes)?;
        let into: Vec<String> = makes.iter().map(|name| name.text.clone()).collect();
        let mut originals = BTreeSet::new();
        for used in &uses {
            if let Some(entry) = self.vars.get_mut(&used.text) {
                originals.extend(&entry.originals);
                if replaces {
                    entry.replaced = Some((span, into.clone()));
                }
            }
        }
        // A name in the loops that fill a workspace is one variable's alone.
        let renamed = |made: &Name| match kind {
            CommandKind::Precompute { vars, into, .. } => {
                vars.iter().zip(into).find(|(_, into)| *into == made).map(|(var, _)| self.originals(&var.text))
            }
            _ => None,
        };
        let entries: Vec<(String, Entry)> = makes
            .iter()
            .map(|made| {
                let originals = renamed(made).unwrap_or_else(|| originals.clone());
                (made.text.clone(), Entry { originals, made: Some(made.span), replaced: None })
            })
            .collect();
        self.vars.extend(entries);
        Ok(())
    }

    /// Checks that the variables which are named have loops, that new names are new, and that none occurs twice.
    fn check(&self, program: &Program, uses: &[&Name], makes: &[&Name]) -> Result<(), Error> {
        for names in [uses, makes] {
            for (place, name) in names.iter().enumerate() {
                if let Some(first) = names[..place].iter().find(|first| first == &name) {
                    return Err(Error::Repeated { span: name.span, name: name.text.clone(), first: first.span });
                }
            }
        }
        for name in uses {
            if let Some(Entry { replaced: Some((by, into)), .. }) = self.vars.get(&name.text) {
                let (by, into) = (*by, into.clone());
                return Err(Error::Replaced { span: name.span, name: name.text.clone(), by, into });
            }
        }
        for made in makes {
            let taken = |what, before| Error::Taken { span: made.span, name: made.text.clone(), what, before };
            if program.tensors.iter().any(|(_, tensor)| tensor.name == made.text) {
                return Err(taken("a tensor", None));
            }
            if let Some(Entry { made: Some(before), .. }) = self.vars.get(&made.text) {
                return Err(taken("a variable that an earlier command made", Some(*before)));
            }
            if program.vars.iter().any(|(_, var)| var.name == made.text) {
                return Err(taken("a variable of the program", None));
            }
        }
        Ok(())
    }
}
