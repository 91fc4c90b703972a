//! The pass runner's record: each stage by name, its time, and its text.
//!
//! ```
//! use lacunar_base::Trace;
//! let mut trace = Trace::new();
//! let n = trace.time("count", || 3);
//! trace.print("count", || format!("{n}"));
//! assert_eq!(trace.text("count"), None); // printing is off unless asked for
//! ```

use std::time::{Duration, Instant};

/// Times of the stages of one compilation, and the text of those stages that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    times: Vec<(&'static str, Duration)>,
    wanted: Vec<String>,
    texts: Vec<(&'static str, String)>,
}

impl Trace {
    /// A trace that records times only.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// A trace that also keeps the text of the named stages (`all` for every one).
    pub fn wanting(stages: impl IntoIterator<Item = impl Into<String>>) -> Trace {
        Trace { wanted: stages.into_iter().map(Into::into).collect(), ..Trace::default() }
    }

    /// Runs a stage and records its time.
    pub fn time<R>(&mut self, stage: &'static str, run: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = run();
        self.times.push((stage, start.elapsed()));
        result
    }

    /// True if the text of `stage` was asked for.
    pub fn wants(&self, stage: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted == stage || wanted == "all")
    }

    /// Keeps the text of a stage, if it was asked for.
    pub fn print(&mut self, stage: &'static str, text: impl FnOnce() -> String) {
        if self.wants(stage) {
            let text = text();
            self.texts.push((stage, text));
        }
    }

    /// The text of a stage; `None` if it was not asked for or not reached.
    pub fn text(&self, stage: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| *name == stage).map(|(_, text)| text.as_str())
    }

    /// All texts, in the order of the stages.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts.iter().map(|(stage, text)| (*stage, text.as_str()))
    }

    /// The stages with their times, in order.
    pub fn times(&self) -> &[(&'static str, Duration)] {
        &self.times
    }

    /// The time of all stages whose name passes `filter`.
    pub fn total(&self, filter: impl Fn(&str) -> bool) -> Duration {
        self.times.iter().filter(|(stage, _)| filter(stage)).map(|(_, time)| *time).sum()
    }
}
