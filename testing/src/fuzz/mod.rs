//! Entrances of the product that take anything: texts, files, kernels, arrays. No input may panic, hang or be believed.
//!
//! A [`Target`] is a function of bytes that panics where a promise is broken. It gives the words in which the input was answered;
//! an input with an answer that is new is worth mutating further. The driver of this repository ([`drive`]) calls targets with
//! mutated seeds for some seconds; the crate in `fuzz/` hands them to libFuzzer, which sees the branches that are taken.
//!
//! ```
//! let target = lacunar_testing::fuzz::target("formats").unwrap();
//! assert_ne!((target.run)(b"csr"), (target.run)(b"nothing"));
//! ```

pub mod drive;
mod files;
mod kernels;
mod mutate;
mod schemas;
mod texts;

/// A function that is called with any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces that mean something, to be put in.
    pub words: &'static [&'static str],
    /// Takes an input; gives the words in which it was answered.
    pub run: fn(&[u8]) -> String,
}

/// All targets.
pub const TARGETS: [Target; 14] = [
    texts::EXPRESSIONS,
    texts::FORMATS,
    texts::SCHEDULES,
    texts::PROGRAMS,
    schemas::SCHEMAS,
    files::MATRIX_MARKET,
    files::FROSTT,
    files::EDGE_LIST,
    files::NUMPY,
    files::NUMPY_ARCHIVE,
    files::HARWELL_BOEING,
    kernels::IMP,
    kernels::VERIFIER,
    kernels::ARRAYS,
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// An input taken apart from its beginning; zeros where it has ended.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// A number as sizes and coordinates are: mostly small, now and then of any size.
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=0xdf => u64::from(small % 12),
            0xe0..=0xef => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            shift => (1u64 << (4 * (shift - 0xf0))).wrapping_add(u64::from(self.byte())).wrapping_sub(2),
        }
    }
}

/// The bytes as text, which need not be long.
fn text(bytes: &[u8], most: usize) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).into_owned()
}

/// An answer without the parts that are particular to an input: its words, but none that it quotes.
fn answer(message: &str) -> String {
    let own = message.split(['`', '"', '\'']).step_by(2);
    let words =
        own.flat_map(str::split_whitespace).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == ','));
    words.take(24).collect::<Vec<_>>().join(" ")
}
