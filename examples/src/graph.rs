//! Zachary's karate club.
//!
//! W. W. Zachary, "An Information Flow Model for Conflict and Fission in Small Groups", Journal of Anthropological
//! Research 33 (1977), observed for three years which of the 34 members of a university's karate club met outside
//! of it. Member 1 was the instructor, member 34 the president; after a quarrel the club split between the two. The
//! 78 pairs are the usual first example of community detection.

use crate::files::write_head;
use std::io::{Result, Write};

/// The number of members.
pub const MEMBERS: usize = 34;

/// For each member the ones with a greater number that he met; members are counted from 1.
const MET: [(usize, &[usize]); 26] = [
    (1, &[2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32]),
    (2, &[3, 4, 8, 14, 18, 20, 22, 31]),
    (3, &[4, 8, 9, 10, 14, 28, 29, 33]),
    (4, &[8, 13, 14]),
    (5, &[7, 11]),
    (6, &[7, 11, 17]),
    (7, &[17]),
    (9, &[31, 33, 34]),
    (10, &[34]),
    (14, &[34]),
    (15, &[33, 34]),
    (16, &[33, 34]),
    (19, &[33, 34]),
    (20, &[34]),
    (21, &[33, 34]),
    (23, &[33, 34]),
    (24, &[26, 28, 30, 33, 34]),
    (25, &[26, 28, 32]),
    (26, &[32]),
    (27, &[30, 34]),
    (28, &[34]),
    (29, &[32, 34]),
    (30, &[33, 34]),
    (31, &[33, 34]),
    (32, &[33, 34]),
    (33, &[34]),
];

/// The pairs, the greater member first, counted from 1: the lower triangle of the adjacency matrix by columns.
pub fn karate() -> impl Iterator<Item = (usize, usize)> {
    MET.iter().flat_map(|&(member, met)| met.iter().map(move |&other| (other, member)))
}

/// Writes the adjacency matrix as a Matrix Market pattern.
pub fn write_karate(out: &mut impl Write) -> Result<()> {
    write_head(
        out,
        "coordinate pattern symmetric",
        "Zachary's karate club: who of its 34 members met outside the club.\n\
         W. W. Zachary, \"An Information Flow Model for Conflict and Fission in Small Groups\",\n\
         Journal of Anthropological Research 33 (1977), 452-473.\n\
         Written by: cargo run -p lacunar-examples --bin karate",
    )?;
    writeln!(out, "{MEMBERS} {MEMBERS} {}", karate().count())?;
    for (row, column) in karate() {
        writeln!(out, "{row} {column}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_and_triangles_are_the_published_ones() {
        let pairs: Vec<_> = karate().collect();
        assert_eq!(pairs.len(), 78);
        let met = |a: usize, b: usize| pairs.contains(&(a.max(b), a.min(b)));
        let degrees: Vec<usize> = (1..=MEMBERS).map(|a| (1..=MEMBERS).filter(|&b| met(a, b)).count()).collect();
        let expected =
            [16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2, 2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17];
        assert_eq!(degrees, expected);
        let triangles = pairs.iter().map(|&(a, b)| (a + 1..=MEMBERS).filter(|&c| met(a, c) && met(b, c)).count());
        assert_eq!(triangles.sum::<usize>(), 45);
    }
}
