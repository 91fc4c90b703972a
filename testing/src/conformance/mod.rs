//! Cases from other systems' own tests, where they are at hand (`../shared/conformance` beside the repository).
//!
//! Each case is translated to an [`Instance`] with the result that the other suite checks, or to the name of the
//! feature that Lacunar lacks; nothing is left out in silence.

pub mod comet;
pub mod taco;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::instance::Instance;
use crate::runner::Reference;

/// The outcome of translating a case.
pub enum Translation {
    /// It can be run.
    Run(Box<Runnable>),
    /// It needs something that is not built, by name.
    Missing(String),
}

/// A case to run.
pub struct Runnable {
    /// The program, its data and the expected results.
    pub instance: Instance,
    /// The reference that engines are compared with: the oracle, if it can enumerate the instance.
    pub reference: Reference,
    /// True if it came with a schedule.
    pub scheduled: bool,
    /// The reason why its schedule is not applied, if it is not: the result must be the same.
    pub unscheduled: Option<String>,
}

/// A case under its name.
pub struct ConformanceCase {
    /// The other suite's name for it.
    pub id: String,
    /// Its translation; an error is a fault of the translation or of the front end.
    pub translation: Result<Translation, String>,
}

/// The file of cases of a system; `None` where it is not at hand.
pub fn file(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/conformance")).join(name);
    path.is_file().then_some(path)
}

/// The outcome of a suite: the number of cases that ran, and the missing features.
#[derive(Default)]
pub struct Summary {
    /// Cases that are run.
    pub run: usize,
    /// The cases among these with a schedule that is applied.
    pub scheduled: usize,
    /// Cases that are run without their schedule, under the reason.
    pub unscheduled: BTreeMap<String, Vec<String>>,
    /// Cases that need something that is not built, under its name.
    pub missing: BTreeMap<String, Vec<String>>,
    /// Cases that could not be translated.
    pub untranslated: usize,
}

impl Summary {
    /// Counts the cases of a suite.
    pub fn of(cases: &[ConformanceCase]) -> Summary {
        let mut summary = Summary::default();
        for case in cases {
            match &case.translation {
                Ok(Translation::Run(runnable)) => {
                    summary.run += 1;
                    match &runnable.unscheduled {
                        Some(why) => summary.unscheduled.entry(why.clone()).or_default().push(case.id.clone()),
                        None => summary.scheduled += usize::from(runnable.scheduled),
                    }
                }
                Ok(Translation::Missing(what)) => {
                    summary.missing.entry(what.clone()).or_default().push(case.id.clone());
                }
                Err(_) => summary.untranslated += 1,
            }
        }
        summary
    }
}

/// A table: `run`, those without their schedule by reason, then each missing feature with the number and names of its cases.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:5} run ({} of them with their schedule)", self.run, self.scheduled)?;
        for (why, ids) in &self.unscheduled {
            writeln!(f, "  {:5} run without their schedule: {why}: {}", ids.len(), ids.join(" "))?;
        }
        writeln!(f, "  {:5} not translated", self.untranslated)?;
        for (what, ids) in &self.missing {
            writeln!(f, "  {:5} missing: {what}: {}", ids.len(), ids.join(" "))?;
        }
        Ok(())
    }
}
