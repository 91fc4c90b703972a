//! The costs of a processor: the machine model of Lacunar, and the probes that measure it.
//!
//! The same instruction costs one processor a cycle and another ten: AMD's Zen 4 gathers at three cycles an element where Intel's Ice
//! Lake takes less than one, unless its microcode guards against speculation. So Lacunar chooses
//! instructions by their measured cost. A [`Machine`] holds these costs ([`model`]); the planner and the LLVM back end
//! ask it questions, such as how a vector is filled from scattered places ([`Machine::filling`]). It comes from one of three places:
//!
//! - a name, such as `zen4` or `generic-v3` ([`Machine::named`]), for a processor that is not at hand;
//! - a text in TOML, which a person may change ([`Machine::from_toml`]);
//! - measurements, which take some milliseconds ([`measure`]).
//!
//! ```
//! use lacunar_machine::{Filling, Machine};
//! let zen4 = Machine::named("zen4").unwrap();
//! assert_eq!(zen4.filling(), Filling::Inserts);
//! assert_eq!(Machine::named("icelake").unwrap().filling(), Filling::Gathers);
//! assert_eq!(Machine::from_toml(&zen4.to_toml()).unwrap(), zen4);
//! ```

pub mod model;
mod probe;
#[cfg(target_arch = "x86_64")]
mod scattered;
mod text;

pub use model::{Caches, Filling, InstructionSet, Machine, Reach, Tuning, Vectors};
pub use probe::measure;
pub use text::MachineError;
