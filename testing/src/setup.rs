//! The way in which a program is compiled and run: its schedule, threads, phases, and other options.

/// Choices that must not change a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Commands, in order; where there is none, the planner chooses.
    pub schedule: Vec<String>,
    /// The number of threads that share a parallel loop; unless it matters, as many as the engine likes.
    pub threads: Option<usize>,
    /// True if sums keep their order.
    pub strict: bool,
    /// True if the loops are ordered without a search for the cheapest order.
    pub plain: bool,
    /// True if one kernel assembles the results, and another computes their values.
    pub phases: bool,
    /// The code of the error with which the schedule is refused.
    pub refused: Option<String>,
}

impl Setup {
    /// The schedule as one text.
    pub fn schedule_text(&self) -> String {
        self.schedule.join(", ")
    }

    /// The setup as lines of a case of the corpus.
    pub fn to_case_text(&self) -> String {
        let mut lines = Vec::new();
        if !self.schedule.is_empty() {
            lines.push(format!("schedule = {:?}", self.schedule_text()));
        }
        lines.extend(self.threads.map(|threads| format!("threads = {threads}")));
        for (name, set) in [("strict", self.strict), ("plain", self.plain), ("phases", self.phases)] {
            if set {
                lines.push(format!("{name} = true"));
            }
        }
        lines.extend(self.refused.as_ref().map(|code| format!("error = {code:?}")));
        lines.into_iter().map(|line| line + "\n").collect()
    }
}
