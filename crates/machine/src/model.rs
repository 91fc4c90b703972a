//! The model: costs of instructions in cycles, of memory, and of threads; and the limits that kernels derive from them.
//!
//! Costs of instructions are reciprocal throughputs, measured where the operands are in the nearest cache: the cycles that one more of
//! them takes among many that do not wait for each other. A question to the model is a method, which says how the answer follows from
//! the costs. Answers are discrete, so that small differences between measurements do not make other code.
//!
//! Costs of named processors are those of A. Fog, *Instruction tables*, and of A. Abel and J. Reineke, *uops.info* (ASPLOS 2019);
//! those of `zen5`, and of scattered elements on `zen4`, are what the probes measured on one.
//! Shipped kernels are made for the generic machines: a choice that loses little anywhere. Their vectors are filled by loads and
//! inserts, because a gather costs up to three times as much on the processors that are bad at it, and saves a third on those that
//! are good.

use serde::{Deserialize, Serialize};

/// A processor with its caches, and the costs of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// A name that people know it by.
    pub name: String,
    /// The instructions that code may consist of.
    pub instructions: InstructionSet,
    /// The nanoseconds of a cycle.
    pub cycle: f64,
    /// The cycles that a branch costs which goes the other way than predicted.
    pub missed_branch: f64,
    /// The nanoseconds in which a loop is handed to threads that are awake, and they report back.
    pub fork: f64,
    /// The costs of vector instructions.
    pub vectors: Vectors,
    /// The caches.
    pub caches: Caches,
}

/// The instructions that code may consist of: the levels of the x86-64 psABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum InstructionSet {
    /// SSE2, or the instructions of every processor of another architecture.
    #[serde(rename = "baseline")]
    Baseline,
    /// SSE4.2.
    #[serde(rename = "x86-64-v2")]
    V2,
    /// AVX2 and fused multiply-adds.
    #[serde(rename = "x86-64-v3")]
    V3,
    /// AVX-512 with masks (F, BW, CD, DQ, VL).
    #[serde(rename = "x86-64-v4")]
    V4,
    /// All that the processor has which the process runs on.
    #[serde(rename = "host")]
    Host,
}

impl InstructionSet {
    /// True if the processor of this process has them, by the features that the standard library detects.
    ///
    /// ```
    /// use lacunar_machine::InstructionSet;
    /// assert!(InstructionSet::Host.runs_here() && InstructionSet::Baseline.runs_here());
    /// ```
    pub fn runs_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            InstructionSet::V2 => is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt"),
            InstructionSet::V3 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("movbe")
            }
            InstructionSet::V4 => {
                is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            InstructionSet::Baseline | InstructionSet::Host => true,
        }
        #[cfg(not(target_arch = "x86_64"))]
        matches!(self, InstructionSet::Baseline | InstructionSet::Host)
    }
}

/// Cycles of vector instructions. Instructions that a processor does not have cost 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// An element of 8 bytes that is gathered by an instruction for 4.
    pub gather_4: f64,
    /// An element of 8 bytes that is gathered by an instruction for 8, under a mask.
    pub gather_8: f64,
    /// An element of 8 bytes that is loaded by itself, with its index, and inserted.
    pub insert: f64,
    /// An element of 8 bytes that the widest such instruction gathers from beyond the second level, while indices and factors come from
    /// memory; 0 where that is not known.
    #[serde(default)]
    pub gather_scattered: f64,
    /// The same element, loaded by itself and inserted.
    #[serde(default)]
    pub insert_scattered: f64,
    /// A fused multiply-add of 32 bytes (of 16 where there are no wider vectors).
    pub multiply_add_32: f64,
    /// A fused multiply-add of 64 bytes.
    pub multiply_add_64: f64,
    /// A load of the widest vector under a mask.
    pub masked_load: f64,
    /// A store of the widest vector under a mask.
    pub masked_store: f64,
}

/// Sizes of caches in bytes, as one core has them, and bandwidths of one core in gigabytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// The first level, for data.
    pub level_1: u64,
    /// The second level.
    pub level_2: u64,
    /// The third level, which cores share; 0 if there is none.
    pub level_3: u64,
    /// Reading from the second level.
    pub from_level_2: f64,
    /// Reading from beyond the second level.
    pub from_beyond: f64,
    /// The time of sums over short segments beyond the second level, each of which prefetches a later one, over the time without prefetches;
    /// 0 where that is not known.
    #[serde(default)]
    pub asked_ahead: f64,
}

/// The way to fill a vector with elements that lie apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filling {
    /// By an instruction that gathers.
    #[default]
    Gathers,
    /// By a load for each element, and inserts.
    Inserts,
}

/// The answers that code depends on: two machines with the same get the same code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// The way to fill a vector with elements that lie apart.
    pub filling: Filling,
    /// The same for elements that lie scattered over the third level of caches, while all else comes from memory.
    pub filling_scattered: Filling,
    /// The bytes of the widest vectors that are worth using.
    pub vector_bytes: u32,
}

impl Default for Tuning {
    /// Whatever the processor has is worth using.
    fn default() -> Tuning {
        Tuning { filling: Filling::Gathers, filling_scattered: Filling::Gathers, vector_bytes: 64 }
    }
}

/// Limits that kernels compare sizes with while they run: the capacities of caches, and the number from which on bits are read faster than
/// lists are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    /// The bytes from which on a result is stored past the caches, and an operand whose rows are met in no order prefetched.
    pub kept: u64,
    /// The largest operand, in bytes, whose rows are not prefetched if each is read often; never less than `kept`.
    pub near: u64,
    /// The lines that may be prefetched before they are read.
    pub lines_ahead: u64,
    /// The bytes from which on a loop over short segments prefetches later ones.
    pub asks_from: u64,
    /// The bytes from which on operands come from memory each time that a kernel runs.
    pub from_memory: u64,
    /// The bytes from which on an array whose elements are chosen here and there lies beyond the second level.
    pub scattered_from: u64,
    /// The bytes up to which the third level keeps such an array while other operands come from memory.
    pub scattered_to: u64,
    /// The additions to a workspace up to which its coordinates are put on a list, which is sorted.
    pub listed: u64,
}

impl Reach {
    /// The reach of caches that keep nothing, so that small operands are treated as large ones are.
    pub const NOTHING: Reach = Reach {
        kept: 0,
        near: 0,
        lines_ahead: 128,
        asks_from: 0,
        from_memory: 0,
        scattered_from: 0,
        scattered_to: u64::MAX,
        listed: 0,
    };
}

/// The part of the second level's bandwidth from which on a third level is a fast one.
const FAST: f64 = 0.45;

/// The part of the time from which on a loop is slower for certain.
const SLOWER: f64 = 1.05;

/// Sorting so many coordinates by insertion takes no longer than reading a few words of marks.
const LISTED: u64 = 24;

/// The way to fill a vector by the costs of an element gathered, which is 0 where nothing gathers, and inserted: inserts unless the other
/// takes no more than a part of their cost.
fn cheaper(gather: f64, insert: f64, part: f64) -> Filling {
    if gather > 0.0 && gather <= insert * part { Filling::Gathers } else { Filling::Inserts }
}

/// The names that [`Machine::named`] knows.
pub const NAMES: [&str; 7] = ["generic", "generic-v2", "generic-v3", "generic-v4", "icelake", "zen4", "zen5"];

impl Machine {
    /// The machine of a name, one of [`NAMES`].
    ///
    /// ```
    /// use lacunar_machine::{InstructionSet, Machine, model};
    /// assert_eq!(Machine::named("generic-v3").unwrap().instructions, InstructionSet::V3);
    /// assert!(model::NAMES.iter().all(|name| Machine::named(name).is_some_and(|machine| machine.name == *name)));
    /// assert!(Machine::named("abacus").is_none());
    /// ```
    pub fn named(name: &str) -> Option<Machine> {
        let kib = |size: u64| size << 10;
        let generic = Machine { name: name.to_string(), ..Machine::generic() };
        let caches = generic.caches;
        let v3 = Vectors { gather_4: 2.0, multiply_add_32: 0.5, ..generic.vectors };
        let v4 = Vectors { gather_8: 2.0, multiply_add_64: 1.0, masked_load: 0.5, masked_store: 1.0, ..v3 };
        Some(match name {
            "generic" => generic,
            "generic-v2" => Machine { instructions: InstructionSet::V2, ..generic },
            "generic-v3" => Machine { instructions: InstructionSet::V3, vectors: v3, ..generic },
            "generic-v4" => Machine { instructions: InstructionSet::V4, vectors: v4, ..generic },
            "icelake" => Machine {
                instructions: InstructionSet::V4,
                missed_branch: 17.0,
                vectors: Vectors { gather_4: 1.0, gather_8: 0.75, insert: 1.25, ..v4 },
                caches: Caches { level_1: kib(48), level_2: kib(1280), level_3: kib(24 << 10), ..caches },
                ..generic
            },
            "zen4" => Machine {
                instructions: InstructionSet::V4,
                cycle: 0.25,
                missed_branch: 13.0,
                vectors: Vectors {
                    gather_4: 3.0,
                    gather_8: 3.0,
                    insert: 1.0,
                    gather_scattered: 3.7,
                    insert_scattered: 4.8,
                    ..v4
                },
                caches: Caches {
                    level_2: kib(1024),
                    level_3: kib(32 << 10),
                    from_level_2: 80.0,
                    asked_ahead: 1.15,
                    ..caches
                },
                ..generic
            },
            "zen5" => Machine {
                instructions: InstructionSet::V4,
                cycle: 0.245,
                missed_branch: 25.0,
                fork: 500.0,
                vectors: Vectors {
                    gather_4: 1.3,
                    gather_8: 0.95,
                    insert: 0.75,
                    multiply_add_32: 0.5,
                    multiply_add_64: 0.5,
                    masked_load: 1.0,
                    masked_store: 1.0,
                    ..v4
                },
                caches: Caches {
                    level_1: kib(48),
                    level_2: kib(1024),
                    level_3: kib(32 << 10),
                    from_level_2: 130.0,
                    from_beyond: 100.0,
                    asked_ahead: 0.9,
                },
                ..generic
            },
            _ => return None,
        })
    }

    /// The machine with the instructions of every processor of its architecture.
    ///
    /// ```
    /// use lacunar_machine::Machine;
    /// assert_eq!(Machine::named("generic"), Some(Machine::generic()));
    /// ```
    pub fn generic() -> Machine {
        Machine {
            name: "generic".to_string(),
            instructions: InstructionSet::Baseline,
            cycle: 0.3,
            missed_branch: 16.0,
            fork: 2000.0,
            vectors: Vectors {
                gather_4: 0.0,
                gather_8: 0.0,
                insert: 1.0,
                gather_scattered: 0.0,
                insert_scattered: 5.0,
                multiply_add_32: 1.0,
                multiply_add_64: 0.0,
                masked_load: 0.0,
                masked_store: 0.0,
            },
            caches: Caches {
                level_1: 32 << 10,
                level_2: 512 << 10,
                level_3: 8 << 20,
                from_level_2: 40.0,
                from_beyond: 20.0,
                asked_ahead: 1.0,
            },
        }
    }

    /// The way to fill a vector with elements that lie apart: by loads and inserts unless the instruction is clearly cheaper.
    ///
    /// Costs are those of elements in the nearest cache. Further away a gather loses more than single loads do, because it ends with
    /// the last of its elements. (On Zen 5, where an element costs 0.94 cycles gathered and 0.76 inserted, products of matrices in `csr`
    /// with a vector take 1.1 to 1.8 times as long with gathers.)
    pub fn filling(&self) -> Filling {
        let Vectors { gather_4, gather_8, insert, .. } = self.vectors;
        let gather = if self.vector_bytes() == 64 { gather_8 } else { gather_4 };
        const CLEARLY: f64 = 0.8;
        cheaper(gather, insert, CLEARLY)
    }

    /// The way to fill a vector with elements that lie scattered over the third level of caches, while all else comes from memory: as
    /// [`Machine::filling`] says, unless the instruction that gathers is cheaper there.
    ///
    /// On Zen 4, a product of a matrix in `csr` (1,000,000 x 1,000,000 with 16 entries in each row, columns at random) with a vector takes
    /// 0.67 to 0.8 of the time with gathers, though a gather of near elements costs more. Single loads that miss the second level seem to
    /// fetch neighbors that nobody asks for. Where the columns are neighbors, or the matrix is in the caches, gathers lose.
    ///
    /// ```
    /// use lacunar_machine::{Machine, model::Filling};
    /// let zen4 = Machine::named("zen4").unwrap();
    /// assert_eq!((zen4.filling(), zen4.filling_scattered()), (Filling::Inserts, Filling::Gathers));
    /// ```
    pub fn filling_scattered(&self) -> Filling {
        const CHEAPER: f64 = 0.9;
        let Vectors { gather_scattered, insert_scattered, .. } = self.vectors;
        match self.filling() {
            Filling::Gathers => Filling::Gathers,
            Filling::Inserts => cheaper(gather_scattered, insert_scattered, CHEAPER),
        }
    }

    /// The bytes of the vectors that loops are made of: 64 where an operation on them costs no more than two on half of them.
    pub fn vector_bytes(&self) -> u32 {
        let Vectors { multiply_add_32, multiply_add_64, .. } = self.vectors;
        let is_wide = multiply_add_64 > 0.0 && multiply_add_64 <= multiply_add_32 * 2.5;
        match self.instructions {
            InstructionSet::Baseline | InstructionSet::V2 => 16,
            InstructionSet::V4 | InstructionSet::Host if is_wide => 64,
            InstructionSet::V3 | InstructionSet::V4 | InstructionSet::Host => 32,
        }
    }

    /// A tile of sums that stays in the registers: its rows, and the bytes of each.
    ///
    /// Each row has two vectors, which are loaded once for all rows, and multiplied by one number of each row. There are 32 registers where
    /// vectors have 64 bytes, and 16 otherwise; sixteen sums under way are enough for any processor.
    ///
    /// ```
    /// use lacunar_machine::Machine;
    /// assert_eq!(Machine::named("zen4").unwrap().tile(), (8, 128));
    /// assert_eq!(Machine::named("generic-v3").unwrap().tile(), (6, 64));
    /// ```
    pub fn tile(&self) -> (u64, u64) {
        const VECTORS: u64 = 2;
        const MOST_SUMS: u64 = 16;
        let bytes = u64::from(self.vector_bytes());
        let registers = if bytes == 64 { 32 } else { 16 };
        // Beside the sums there are the vectors of a row, and the number.
        let rows = (registers - VECTORS - 1) / VECTORS;
        (rows.min(MOST_SUMS / VECTORS), VECTORS * bytes)
    }

    /// The answers that code depends on.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            filling: self.filling(),
            filling_scattered: self.filling_scattered(),
            vector_bytes: self.vector_bytes(),
        }
    }

    /// The answers in words.
    ///
    /// ```
    /// let text = lacunar_machine::Machine::named("zen4").unwrap().explain();
    /// assert!(text.starts_with("code for `zen4`: vectors of 64 bytes, filled from scattered places by loads and inserts"));
    /// ```
    pub fn explain(&self) -> String {
        let filled = match (self.filling(), self.filling_scattered()) {
            (Filling::Gathers, _) => "an instruction that gathers",
            (Filling::Inserts, Filling::Inserts) => "loads and inserts",
            (Filling::Inserts, Filling::Gathers) => "loads and inserts (from the third level of caches by gathers)",
        };
        format!(
            "code for `{}`: vectors of {} bytes, filled from scattered places by {filled}; {} scalar iterations are worth a thread",
            self.name,
            self.vector_bytes(),
            self.grain()
        )
    }

    /// The number of scalar iterations that are worth handing to a thread: those that take some times as long as handing them over.
    ///
    /// ```
    /// assert_eq!(lacunar_machine::Machine::named("generic").unwrap().grain(), 20_000);
    /// ```
    pub fn grain(&self) -> u64 {
        // Ten iterations take a nanosecond's fork five times as long. Powers of two apart, so that measurements agree.
        const USUAL: f64 = 20_000.0;
        let steps = (self.fork * 10.0 / USUAL).log2().round().clamp(-1.0, 2.0);
        (USUAL * steps.exp2()) as u64
    }

    /// The work of a cache line that comes from beyond the second level, in scalar iterations.
    ///
    /// ```
    /// assert_eq!(lacunar_machine::Machine::named("generic").unwrap().line_work(), 4.0);
    /// ```
    pub fn line_work(&self) -> f64 {
        // A scalar iteration of a kernel takes about 0.8 nanoseconds.
        let nanoseconds = 64.0 / self.caches.from_beyond.max(1e-3);
        // Half powers of two apart, so that measurements agree.
        let steps = ((nanoseconds / 0.8).clamp(1.0, 64.0).log2() * 2.0).round();
        (steps / 2.0).exp2()
    }

    /// The reach of the caches.
    ///
    /// A result of several times the second level is stored past the caches: its lines would be loaded, put others out, and be
    /// written back. (On results of 16 MB and more, an Intel processor whose second level has 2 MB takes 0.7 to 0.97 of the time;
    /// below 10 MB, up to 1.2 times as long. So it is with prefetches of rows of 4 to 16 lines: 0.8 to 0.95, and 1.2.) The third level
    /// counts where it is small: a large one is shared by many cores. Prefetches are so far ahead that their lines take a quarter of the
    /// first level.
    ///
    /// Where the third level gives about half of what the second one does, half of it is near: rows that are there, and that many entries
    /// choose, come as fast without prefetches. (Zen 3, SpMM with 128 columns, prefetched and not: 30 to 68 entries a row of 5 to 11 MB,
    /// `bcsstk16`, `bcsstk17` and `bcsstk33`, 1.1 to 1.6 times as long; 6 to 16 entries, or more than 16 MB, 0.6 to 1.0.)
    ///
    /// A loop over short segments prefetches later ones. On a processor that is slower with these prefetches if the data are in its caches, the
    /// loop prefetches only data that exceed them. (Zen 4, sums over segments of 5 elements: the prefetches take 1.13 times as long with 4 MB,
    /// 0.78 times with 64 MB.)
    ///
    /// An array of which a loop reads scattered elements, while other operands come from memory, has half of the second level and a quarter
    /// of the third. (Zen 4, products with vectors: gathers take less time than loads and inserts from 0.5 to 12 MB, and more from 16 MB on,
    /// half of the third level.)
    ///
    /// ```
    /// use lacunar_machine::Machine;
    /// let reach = Machine::named("zen4").unwrap().reach();
    /// assert_eq!((reach.scattered_from, reach.scattered_to, reach.from_memory), (512 << 10, 8 << 20, 16 << 20));
    /// assert_eq!((reach.kept, reach.near, reach.lines_ahead), (8 << 20, 8 << 20, 128));
    /// assert_eq!(Machine::named("zen5").unwrap().reach().near, 16 << 20);
    /// assert_eq!((reach.asks_from, Machine::named("zen5").unwrap().reach().asks_from), (16 << 20, 0));
    /// ```
    pub fn reach(&self) -> Reach {
        let Caches { level_1, level_2, level_3, from_level_2, from_beyond, asked_ahead } = self.caches;
        let shared = if level_3 == 0 { u64::MAX } else { level_3 };
        let lines = (level_1 / 64 / 4).max(1);
        let kept = level_2.saturating_mul(8).min(shared);
        let near = if from_beyond >= FAST * from_level_2 { kept.max(level_3 / 2) } else { kept };
        let from_memory = self.shared_bytes() as u64;
        let asks_from = if asked_ahead > SLOWER { from_memory } else { 0 };
        let (scattered_from, scattered_to) = (level_2 / 2, level_3 / 4);
        Reach {
            kept,
            near,
            lines_ahead: 1 << lines.ilog2(),
            asks_from,
            from_memory,
            scattered_from,
            scattered_to,
            listed: LISTED,
        }
    }

    /// The number of cache lines of 64 bytes that are near: the capacity of the second level, in powers of two, and half of it at
    /// that, for other data use it as well.
    pub fn near_lines(&self) -> f64 {
        let lines = (self.caches.level_2 / 64 / 2).max(1);
        (1u64 << lines.ilog2()) as f64
    }

    /// The bytes that stay in the third level: half of it, for it is shared; of the second level where there is no third.
    ///
    /// ```
    /// assert_eq!(lacunar_machine::Machine::named("zen4").unwrap().shared_bytes(), f64::from(16 << 20));
    /// ```
    pub fn shared_bytes(&self) -> f64 {
        let Caches { level_2, level_3, .. } = self.caches;
        (level_3.max(level_2) / 2) as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Filling, Machine, NAMES};

    #[test]
    fn answers_follow_from_costs() {
        let answers = NAMES.map(|name| {
            let machine = Machine::named(name).unwrap();
            (machine.filling(), machine.vector_bytes())
        });
        use Filling::{Gathers, Inserts};
        assert_eq!(
            answers,
            [(Inserts, 16), (Inserts, 16), (Inserts, 32), (Inserts, 64), (Gathers, 64), (Inserts, 64), (Inserts, 64)]
        );
        let mut halves = Machine::named("icelake").unwrap();
        halves.vectors.multiply_add_64 = 2.0;
        assert_eq!((halves.vector_bytes(), halves.filling()), (32, Gathers));
        halves.vectors.gather_4 = 2.0;
        assert_eq!(halves.filling(), Inserts);
    }

    #[test]
    fn small_differences_change_no_answer() {
        let mut machine = Machine::named("generic").unwrap();
        for (fork, grain) in [(1000.0, 10_000), (1500.0, 20_000), (2500.0, 20_000), (1e9, 80_000), (0.0, 10_000)] {
            machine.fork = fork;
            assert_eq!(machine.grain(), grain, "{fork}");
        }
        for (bytes, lines) in [(512 << 10, 4096.0), (900 << 10, 4096.0), (2 << 20, 16384.0), (0, 1.0)] {
            machine.caches.level_2 = bytes;
            assert_eq!(machine.near_lines(), lines);
        }
    }
}
