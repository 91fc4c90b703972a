//! Random choices, under one set of names for all that draws programs, formats, schedules and functions from a seed.
//!
//! A generator says how it draws a number below a bound; choices follow from that. The same seed gives the same choices on
//! every machine.
//!
//! ```
//! use lacunar_base::random::{Draw, SplitMix};
//! let mut random = SplitMix(7);
//! let size = 1 + random.below(6);
//! let unit = random.pick(&["cpu", "vector"]);
//! let strict = random.one_in(8);
//! # assert!(size <= 6 && unit.is_some());
//! # let _ = strict;
//! ```

/// A generator of random choices.
pub trait Draw {
    /// A number below `bound`; 0 if there is none.
    fn below(&mut self, bound: u64) -> u64;

    /// True once in `count` times.
    fn one_in(&mut self, count: u32) -> bool {
        self.below(u64::from(count)) == 0
    }

    /// True so many times in 100.
    fn percent(&mut self, times: u32) -> bool {
        self.below(100) < u64::from(times)
    }

    /// One of some things, each as often as the others; `None` if there are none.
    fn pick<T: Copy>(&mut self, things: &[T]) -> Option<T> {
        things.get(self.below(things.len() as u64) as usize).copied()
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); its number is the seed of the numbers to come.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Draw for SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }
}

impl Draw for fastrand::Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.u64(..bound.max(1))
    }

    // 32 bits are enough for these, and take fewer of the generator's.
    fn one_in(&mut self, count: u32) -> bool {
        self.u32(..count.max(1)) == 0
    }

    fn percent(&mut self, times: u32) -> bool {
        self.u32(..100) < times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(random: &mut impl Draw) {
        assert_eq!((random.below(0), random.below(1), random.pick::<u8>(&[])), (0, 0, None));
        assert!(random.one_in(0) && random.one_in(1) && random.percent(100) && !random.percent(0));
        let mut seen = [0; 3];
        for _ in 0..300 {
            seen[random.pick(&[0, 1, 2]).unwrap_or(0)] += 1;
        }
        assert!(seen.iter().all(|count| (60..140).contains(count)), "{seen:?}");
        let often = (0..1000).filter(|_| random.one_in(4)).count();
        assert!((180..320).contains(&often), "{often}");
    }

    #[test]
    fn generators_choose_alike() {
        choices(&mut SplitMix(1));
        choices(&mut fastrand::Rng::with_seed(1));
    }
}
