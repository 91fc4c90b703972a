//! Small changes of an input: bytes, numbers, words, and pieces of other inputs.
//!
//! ```text
//! y(i) = A(i,j) * x(j)    ->    y(i) = A(i,j) sum(* x(j)    ->    y(i) = A(i,,j) sum(* x(
//! ```

use fastrand::Rng;

/// The longest input.
const LONGEST: usize = 1 << 12;

/// Changes an input in a few places; `others` are inputs to take pieces of.
pub(super) fn mutate(rng: &mut Rng, input: &[u8], others: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 << rng.u32(0..4) {
        let at = rng.usize(..=bytes.len());
        let end = (at + rng.usize(..=8)).min(bytes.len());
        match rng.u8(..10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            1 if at < bytes.len() => bytes[at] = rng.u8(..),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = rng.usize(..=bytes.len());
                bytes.splice(to..to, piece);
            }
            4 | 5 if !words.is_empty() => {
                let word = words[rng.usize(..words.len())];
                let until = if rng.bool() { at } else { end };
                bytes.splice(at..until, word.bytes());
            }
            6 if !others.is_empty() => {
                let other = &others[rng.usize(..others.len())];
                let from = rng.usize(..=other.len());
                let to = (from + rng.usize(..=24)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            7 => {
                // A number in place of one that is there.
                let digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(first) = bytes.iter().skip(at).position(digit).map(|place| place + at) {
                    let len = bytes[first..].iter().take_while(|byte| digit(byte)).count();
                    let number =
                        [0, 1, 2, 3, 5, 64, 255, 256, 1 << 31, 1 << 32, u64::MAX >> 1, u64::MAX][rng.usize(..12)];
                    bytes.splice(first..first + len, number.to_string().bytes());
                }
            }
            8 if bytes.len() > 1 && rng.u8(..8) == 0 => bytes.truncate(at),
            _ if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(if rng.bool() { 1 } else { 255 }),
            _ => {}
        }
    }
    bytes.truncate(LONGEST);
    bytes
}
