//! Schedules: transformations of a kernel's loops, as text or made command by command.
//!
//! The commands are those of the language that `docs/schedules.md` describes; each method is one of them. Names are looked
//! up when the program is compiled.
//!
//! ```
//! use lacunar::{Format, Kernel, Options, Race, Schedule, Unit};
//! let schedule = Schedule::new().split("i", "i0", "i1", 32).parallelize("i0", Unit::CpuThread, Race::None);
//! assert_eq!(schedule.to_string(), "split(i, i0, i1, 32), parallelize(i0, cpu, none)");
//! assert_eq!(schedule, Schedule::from(schedule.to_string()));
//! ```

use std::fmt;

pub use lacunar_notation::WorkspaceKind;
pub use lacunar_notation::schedule::{Assembly, BoundKind, Merge, Parts, Race, Unit};

/// Commands in the order of their application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    text: String,
}

impl Schedule {
    /// No command.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// True if there is no command.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The commands as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Loops that are nested directly get this order.
    pub fn reorder<S: AsRef<str>>(self, vars: impl IntoIterator<Item = S>) -> Schedule {
        self.command(format!("reorder({})", list(vars)))
    }

    /// Two loops that are nested directly become one over all pairs.
    pub fn fuse(self, outer: &str, inner: &str, fused: &str) -> Schedule {
        self.command(format!("fuse({outer}, {inner}, {fused})"))
    }

    /// A loop becomes one over strips of a size, and one inside a strip.
    pub fn split(self, var: &str, outer: &str, inner: &str, size: u64) -> Schedule {
        self.command(format!("split({var}, {outer}, {inner}, {size})"))
    }

    /// A loop becomes one over so many strips, and one inside a strip.
    pub fn divide(self, var: &str, outer: &str, inner: &str, parts: impl Into<Parts>) -> Schedule {
        self.command(format!("divide({var}, {outer}, {inner}, {})", parts.into()))
    }

    /// A loop over coordinates becomes one over the positions at which `access`, such as `A(i,j)`, stores them.
    pub fn pos(self, var: &str, position: &str, access: &str) -> Schedule {
        self.command(format!("pos({var}, {position}, {access})"))
    }

    /// A loop over positions becomes one over the coordinates that they hold.
    pub fn coord(self, position: &str, coordinate: &str) -> Schedule {
        self.command(format!("coord({position}, {coordinate})"))
    }

    /// The iterations of a loop are shared out.
    pub fn parallelize(self, var: &str, unit: Unit, race: Race) -> Schedule {
        self.command(format!("parallelize({var}, {}, {})", unit.name(), race.name()))
    }

    /// The body of a loop is repeated so often; 0: for every iteration.
    pub fn unroll(self, var: &str, times: u32) -> Schedule {
        self.command(if times == 0 { format!("unroll({var})") } else { format!("unroll({var}, {times})") })
    }

    /// Loops that are nested directly, around statements that stand one after the other, become loops over each of them.
    pub fn fission<S: AsRef<str>>(self, vars: impl IntoIterator<Item = S>) -> Schedule {
        self.command(format!("fission({})", list(vars)))
    }

    /// A promise about the size of a dimension.
    pub fn bound(self, var: &str, bounded: &str, size: u64, kind: BoundKind) -> Schedule {
        self.command(format!("bound({var}, {bounded}, {size}, {})", kind.name()))
    }

    /// A part of the expression is computed into a workspace over `vars`, which are called `into` in the loops that fill it.
    pub fn precompute<S: AsRef<str>, T: AsRef<str>>(
        self,
        expr: &str,
        vars: impl IntoIterator<Item = S>,
        into: impl IntoIterator<Item = T>,
    ) -> Schedule {
        self.command(format!("precompute({expr}, {{{}}}, {{{}}})", list(vars), list(into)))
    }

    /// Like [`Schedule::precompute`], into a workspace of a kind.
    pub fn precompute_into<S: AsRef<str>, T: AsRef<str>>(
        self,
        expr: &str,
        vars: impl IntoIterator<Item = S>,
        into: impl IntoIterator<Item = T>,
        kind: WorkspaceKind,
    ) -> Schedule {
        self.command(format!("precompute({expr}, {{{}}}, {{{}}}, {})", list(vars), list(into), kind.name()))
    }

    /// Chooses the way in which a sparse result is assembled.
    pub fn assemble(self, result: &str, how: Assembly) -> Schedule {
        self.command(format!("assemble({result}, {})", how.name()))
    }

    /// Chooses the way in which the operands of a loop are merged.
    pub fn mergeby(self, var: &str, strategy: Merge) -> Schedule {
        self.command(format!("mergeby({var}, {})", strategy.name()))
    }

    /// One command as text, for one statement of a program of several: `of("y", "parallelize(i, cpu)")`. A statement is named
    /// by its result, or by its number from 1.
    pub fn of(self, statement: &str, command: &str) -> Schedule {
        self.command(format!("{statement}: {command}"))
    }

    fn command(mut self, command: String) -> Schedule {
        if !self.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(&command);
        self
    }
}

impl From<&str> for Schedule {
    fn from(text: &str) -> Schedule {
        Schedule { text: text.to_string() }
    }
}

impl From<String> for Schedule {
    fn from(text: String) -> Schedule {
        Schedule { text }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().map(|name| name.as_ref().to_string()).collect::<Vec<_>>().join(", ")
}
