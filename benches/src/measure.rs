//! Rounds: every engine has its turn in each, so that disturbances of the machine affect all.
//!
//! Between turns nothing runs for a moment, because threads of the engine before may still be looking for work.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lacunar::median;

use crate::engine::{Check, Engine};

/// A turn lasts about this long, in milliseconds.
const TURN: f64 = 25.0;
/// A turn has at most this many runs.
const LARGEST_TURN: usize = 64;
/// A turn has at least this many runs, so that its median is of one that found the caches as it left them.
const LEAST_TURN: usize = 3;
/// An engine has at least this many turns, and no more once they have taken [`LONG`].
const FEWEST_TURNS: usize = 3;
/// Milliseconds of one engine on one input after which the median is good enough.
const LONG: f64 = 10_000.0;
/// An engine whose first run takes longer is warm after it.
const SLOW: Duration = Duration::from_secs(2);
/// Longer than the threads of any engine spin when they have nothing to do: 300,000 pauses of some 140 cycles in libgomp.
const REST: Duration = Duration::from_millis(60);

/// The measurement of one engine.
pub struct Measurement {
    /// The engine.
    pub engine: String,
    /// The time of each of its turns: the median of the turn's runs; or why there are none.
    pub times_ms: Result<Vec<f64>>,
    /// Its result.
    pub check: Check,
    /// The time of its analysis of the inputs beforehand, in milliseconds.
    pub inspection_ms: f64,
}

/// Measures all engines. One whose result disagrees with the first engine's is not measured further.
pub fn take_turns(engines: &mut [Box<dyn Engine + '_>], rounds: usize) -> Vec<Measurement> {
    let mut reference: Option<Check> = None;
    let mut measurements = Vec::new();
    let mut turns = Vec::new();
    for engine in engines.iter_mut() {
        let prepared = prepare(engine.as_mut(), reference);
        let (times_ms, check, turn) = match prepared {
            Ok((check, turn)) => (Ok(Vec::new()), check, turn),
            Err(error) => (Err(error), Check::default(), 0),
        };
        if times_ms.is_ok() {
            reference.get_or_insert(check);
        }
        let (name, inspection_ms) = (engine.name().to_string(), engine.inspection_ms());
        measurements.push(Measurement { engine: name, times_ms, check, inspection_ms });
        turns.push(turn);
    }
    for _ in 0..rounds {
        for ((engine, measurement), &turn) in engines.iter_mut().zip(&mut measurements).zip(&turns) {
            if let Ok(times) = &mut measurement.times_ms {
                if times.len() >= FEWEST_TURNS && times.iter().sum::<f64>() * turn as f64 > LONG {
                    continue;
                }
                sleep(REST);
                match engine.run(turn) {
                    Ok(runs) => times.push(median(&runs)),
                    Err(error) => measurement.times_ms = Err(error),
                }
            }
        }
    }
    measurements
}

/// Checks the result and finds how many runs make a turn.
fn prepare(engine: &mut dyn Engine, reference: Option<Check>) -> Result<(Check, usize)> {
    let start = Instant::now();
    let check = engine.check()?;
    if let Some(reference) = reference
        && !check.agrees(&reference)
    {
        bail!("its result differs: {check:?} instead of {reference:?}");
    }
    if start.elapsed() > SLOW {
        return Ok((check, 1));
    }
    let time = median(&engine.run(2)?).max(1e-3);
    Ok((check, ((TURN / time) as usize).clamp(LEAST_TURN, LARGEST_TURN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the results it is told to.
    struct Told(&'static str, f64);

    impl Engine for Told {
        fn name(&self) -> &str {
            self.0
        }
        fn run(&mut self, times: usize) -> Result<Vec<f64>> {
            Ok(vec![self.1; times])
        }
        fn check(&mut self) -> Result<Check> {
            Ok(sum(self.1))
        }
    }

    fn sum(value: f64) -> Check {
        Check { values: 1, sum: value, magnitude: value.abs(), placed: value }
    }

    #[test]
    fn a_wrong_engine_is_not_measured() {
        let mut engines: Vec<Box<dyn Engine>> =
            vec![Box::new(Told("a", 2.0)), Box::new(Told("b", 3.0)), Box::new(Told("c", 2.0))];
        let measurements = take_turns(&mut engines, 3);
        let medians: Vec<Option<f64>> = measurements
            .iter()
            .map(|measurement| measurement.times_ms.as_ref().ok().map(|times| median(times)))
            .collect();
        assert_eq!(medians, [Some(2.0), None, Some(2.0)]);
    }
}
