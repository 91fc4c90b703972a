//! The processor: its name, also as the name of a file, and its caches, as Linux tells them.
//!
//! Virtual machines often give names that fit many processors, so the name of a file ends in the signature that the instruction
//! `cpuid` gives, of family, model and stepping:
//!
//! ```text
//! Intel(R) Xeon(R) Processor, family 6, model 143, stepping 8    ->    intel-xeon-processor-806f8
//! ```

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// Its name; empty where the system does not tell.
    pub name: String,
    /// Family, model and stepping in one number, in hexadecimal digits; empty where there are none.
    pub signature: String,
    /// The caches for data: their levels, from 1 on, and their sizes in bytes.
    pub caches: Vec<(u32, u64)>,
    /// The number of processors of the system.
    pub count: usize,
}

impl Processor {
    /// The processor at hand.
    pub fn at_hand() -> Processor {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        Processor { caches, count, ..Processor::parse(&text) }
    }

    /// The first processor in the text of `/proc/cpuinfo`.
    fn parse(text: &str) -> Processor {
        let value = |name: &str| {
            let (_, value) =
                text.lines().find_map(|line| Some(line.split_once(':')?).filter(|(key, _)| key.trim() == name))?;
            Some(value.trim())
        };
        let number = |name| value(name)?.parse::<u32>().ok();
        let signature = || Some(signature(number("cpu family")?, number("model")?, number("stepping")?));
        // Processors of ARM have numbers instead of names.
        let part = || Some(format!("ARM {} {}", value("CPU implementer")?, value("CPU part")?));
        let name = value("model name").map(str::to_string).or_else(part).unwrap_or_default();
        Processor { name, signature: signature().unwrap_or_default(), ..Processor::default() }
    }

    /// The name as that of a file: lower-case words and the signature.
    pub fn file_name(&self) -> String {
        let plain = self.name.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
        // A frequency follows an `@`.
        let plain = plain.split('@').next().unwrap_or_default();
        let words = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != "cpu");
        let words: Vec<&str> = words.chain((!self.signature.is_empty()).then_some(self.signature.as_str())).collect();
        if words.is_empty() { std::env::consts::ARCH.to_string() } else { words.join("-") }
    }

    /// The name and the signature, as people read them.
    pub fn title(&self) -> String {
        let name = if self.name.is_empty() { std::env::consts::ARCH } else { self.name.as_str() };
        if self.signature.is_empty() { name.to_string() } else { format!("{name}, signature {}", self.signature) }
    }
}

/// The number that `cpuid` gives (Intel, Software Developer's Manual, volume 2, CPUID, leaf 1).
fn signature(family: u32, model: u32, stepping: u32) -> String {
    let extended = family.saturating_sub(15);
    format!("{:x}", extended << 20 | model >> 4 << 16 | (family - extended) << 8 | (model & 15) << 4 | stepping & 15)
}

/// The caches for data that a folder of the system describes.
fn caches(folder: &Path) -> Vec<(u32, u64)> {
    let one = |index: usize| {
        let read = |name: &str| fs::read_to_string(folder.join(format!("index{index}")).join(name)).ok();
        let level = read("level")?.trim().parse().ok()?;
        let kibibytes: u64 = read("size")?.trim().strip_suffix('K')?.parse().ok()?;
        (read("type")?.trim() != "Instruction").then_some((level, kibibytes << 10))
    };
    let mut caches: Vec<(u32, u64)> = (0..8).filter_map(one).collect();
    caches.sort_unstable();
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        Processor::parse(text).file_name()
    }

    #[test]
    fn names_of_files_are_short_and_tell_processors_apart() {
        let xeon = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Processor\nstepping\t: 8\n";
        assert_eq!(named(xeon), "intel-xeon-processor-806f8");
        let epyc = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9R14\nstepping\t: 1\n";
        assert_eq!(named(epyc), "amd-epyc-9r14-a10f11");
        let core =
            "cpu family\t: 6\nmodel\t\t: 158\nmodel name\t: Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz\nstepping\t: 10\n";
        assert_eq!(named(core), "intel-core-i7-8700-906ea");
        assert_eq!(named("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n"), "arm-0x41-0xd40");
        assert_eq!(named(""), std::env::consts::ARCH);
    }

    #[test]
    fn caches_are_those_for_data() {
        let folder = tempfile::tempdir().expect("a folder");
        for (index, level, kind, size) in
            [(0, 1, "Data", "48K"), (1, 1, "Instruction", "64K"), (2, 2, "Unified", "2048K")]
        {
            let own = folder.path().join(format!("index{index}"));
            fs::create_dir(&own).expect("made");
            for (name, text) in [("level", level.to_string()), ("type", kind.to_string()), ("size", size.to_string())] {
                fs::write(own.join(name), text + "\n").expect("written");
            }
        }
        assert_eq!(caches(folder.path()), [(1, 48 << 10), (2, 2 << 20)]);
    }
}
