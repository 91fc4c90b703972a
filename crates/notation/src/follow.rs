//! Results of which only some elements are computed: the others follow from them.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j)       computed where j - i >= 0;  C(i,j) = C(j,i) where i - j > 0
//! ```
//!
//! A result in a packed format stores these elements alone, and no others are computed.
//!
//! This is data of a kernel beside its statement, which defines all elements: a kernel that computes all of them is right too.
//! Paper: Ghorbani et al. 2023, §5 (unique sets and redundancy maps).

use lacunar_sets::Coefficient;

/// The elements of a result that are computed, and the maps by which the others follow from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Followers {
    /// The conditions of all elements that are computed. More may be: their values are right, whoever computes them.
    pub computed: Vec<Condition>,
    /// The others.
    pub parts: Vec<Follower>,
    /// True if the others have no place, as the result's format is packed: nothing may be written there.
    pub is_packed: bool,
}

/// Elements that follow from others by one permutation of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Follower {
    /// The conditions of these elements.
    pub conditions: Vec<Condition>,
    /// Element `x` follows from that at `(x[from[0]], x[from[1]], ..)`.
    pub from: Vec<usize>,
    /// The number that the other is multiplied by: 1 or -1, of the conjugate or not.
    pub coefficient: Coefficient,
}

/// A condition of an element's coordinates: a sum of them times -1, 0 or 1, of sizes of dimensions, and a number, is at least 0, or is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// By dimension.
    pub factors: Vec<i64>,
    /// By dimension, those of the sizes.
    pub sizes: Vec<i64>,
    /// The number.
    pub constant: i64,
    /// True if the sum is 0.
    pub is_equation: bool,
}
