//! A progress bar that shows only where someone watches and waits, in builds with the feature `progress`: a library draws none.
//!
//! It stays hidden for the first second and wherever standard error is not a terminal, so short reads and scripts see
//! nothing. Dropping the helper clears the bar.

#[cfg(feature = "progress")]
pub(super) use shown::Progress;

#[cfg(not(feature = "progress"))]
pub(super) use hidden::Progress;

#[cfg(not(feature = "progress"))]
mod hidden {
    /// The progress of one transfer, which nobody sees.
    pub(in crate::io) struct Progress {
        #[cfg(test)]
        pub(in crate::io) steps: u64,
    }

    impl Progress {
        /// Starts counting.
        pub(in crate::io) fn start(_label: String, _total: u64, _wanted: bool) -> Progress {
            Progress {
                #[cfg(test)]
                steps: 0,
            }
        }

        /// Counts more steps.
        #[cfg_attr(not(test), expect(clippy::unused_self))]
        pub(in crate::io) fn advance(&mut self, _steps: u64) {
            #[cfg(test)]
            {
                self.steps += _steps;
            }
        }
    }
}

#[cfg(feature = "progress")]
mod shown {
    use std::io::IsTerminal;
    use std::time::{Duration, Instant};

    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

    /// The time for which a transfer runs before its bar appears.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The progress of one transfer, counted in steps of the caller's choice.
    pub(in crate::io) struct Progress {
        bar: Option<ProgressBar>,
        started: Instant,
        shown: bool,
        #[cfg(test)]
        pub(in crate::io) steps: u64,
    }

    impl Progress {
        /// Starts counting towards `total`. Nothing is ever shown if `wanted` is false or nobody watches.
        pub(in crate::io) fn start(label: String, total: u64, wanted: bool) -> Progress {
            let bar = (wanted && std::io::stderr().is_terminal()).then(|| {
                let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
                // The template is a constant; should it ever be wrong, the default style does.
                if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {eta}") {
                    bar.set_style(style);
                }
                bar.set_message(label);
                bar
            });
            Progress {
                bar,
                started: Instant::now(),
                shown: false,
                #[cfg(test)]
                steps: 0,
            }
        }

        /// Counts `steps` more.
        pub(in crate::io) fn advance(&mut self, steps: u64) {
            #[cfg(test)]
            {
                self.steps += steps;
            }
            let Some(bar) = &self.bar else { return };
            if !self.shown && self.started.elapsed() >= PATIENCE {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                self.shown = true;
            }
            bar.inc(steps);
        }
    }

    impl Drop for Progress {
        fn drop(&mut self) {
            if let Some(bar) = &self.bar {
                bar.finish_and_clear();
            }
        }
    }
}
