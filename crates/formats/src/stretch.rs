//! Stretches of packed rows: neighbors that store as many coordinates each, and begin where a form says. What a loop over them needs to know
//! of a row is computed, where an array would have to be read.
//!
//! ```text
//! leslie           row 0: 0 .. n        rows 1 .. n: one coordinate, i - 1
//! banded(2,1)      rows 2 .. n - 1: four coordinates, from i - 2 on          other rows: fewer
//! fixed(0,3)       row 3 of a matrix alone, of which the whole is stored: none, as its length is a size
//! onehot(3,5)      row 3: one coordinate, 5                                   other rows: none
//! ```
//!
//! On entry: loops over the unique elements of a structure. On exit: one stretch at most, of the level under the outermost one.

use lacunar_sets::{Affine, Bound, Level, Nest, Piece, Relation};

/// Neighboring rows of a packed tensor that are alike.
///
/// ```
/// use lacunar_formats::Packing;
/// let band = Packing::parse("banded(2,1)", 2).unwrap().stretch().unwrap();
/// assert_eq!((band.length, band.are_others_empty), (4, false));
/// assert_eq!(band.first.at(&[9, 9, 5]), Some(3)); // of a matrix of 9 x 9, row 5 begins at column 3
/// assert!(Packing::parse("symmetric", 2).unwrap().stretch().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// No row of it is below the value of one of these forms of the sizes of dimensions.
    pub from: Vec<Affine>,
    /// No row of it is above the value of one of these.
    pub to: Vec<Affine>,
    /// There is no row of it unless these forms of sizes are at least 0.
    pub conditions: Vec<Affine>,
    /// The number of coordinates of a row.
    pub length: i64,
    /// The first of them, by the sizes of dimensions and the coordinate of the row.
    pub first: Affine,
    /// Other rows have no coordinate.
    pub are_others_empty: bool,
}

/// A stretch of a structure whose unique elements these loops visit; there are as many `sizes` as dimensions.
pub(crate) fn stretch(nests: &[Nest], context: &Piece, sizes: usize) -> Option<Stretch> {
    (0..nests.len()).find_map(|number| {
        let [rows, level, ..] = nests[number].levels.as_slice() else { return None };
        let is_plain = |level: &Level| level.divs.is_empty() && level.strides.is_empty() && level.guards.is_empty();
        if !is_plain(rows) || !is_plain(level) {
            return None;
        }
        let pairs = level.lower.iter().flat_map(|lower| level.upper.iter().map(move |upper| (lower, upper)));
        let mut found = pairs.filter_map(|pair| between(&nests[number], pair, sizes));
        found.find_map(|stretch| {
            let others = nests.iter().enumerate().filter(|(other, _)| *other != number);
            let rows = rows_of(&stretch, context, sizes)?;
            let are_apart = others.clone().all(|(_, other)| are_apart(&rows, other, sizes));
            let is_alone = nests.len() == 1;
            are_apart.then_some(Stretch { are_others_empty: stretch.are_others_empty && is_alone, ..stretch })
        })
    })
}

/// The stretch of the rows of a piece that end at two of their bounds.
fn between(nest: &Nest, (lower, upper): (&Bound, &Bound), sizes: usize) -> Option<Stretch> {
    let [rows, level, ..] = nest.levels.as_slice() else { return None };
    let (first, last) = (whole(lower)?, whole(upper)?);
    let length = last.minus(first)?.shifted(1)?;
    if !length.is_constant() || length.offset() < 1 {
        return None;
    }
    let mut made = Stretch {
        from: rows.lower.iter().map(|bound| whole(bound).cloned()).collect::<Option<_>>()?,
        to: rows.upper.iter().map(|bound| whole(bound).cloned()).collect::<Option<_>>()?,
        conditions: Vec::new(),
        length: length.offset(),
        first: first.clone(),
        are_others_empty: level.lower.len() == 1 && level.upper.len() == 1,
    };
    for other in level.lower.iter().filter(|other| *other != lower) {
        made.confine(&first.minus(whole(other)?)?, sizes)?;
    }
    for other in level.upper.iter().filter(|other| *other != upper) {
        made.confine(&whole(other)?.minus(last)?, sizes)?;
    }
    for constraint in nest.condition.constraints() {
        let is_plain = nest.condition.divs().is_empty() && constraint.relation == Relation::AtLeast;
        made.conditions.push(Some(constraint.form).filter(|_| is_plain)?);
    }
    Some(made)
}

impl Stretch {
    /// Leaves the rows at which a form is at least 0. `None` if that is no bound of rows.
    fn confine(&mut self, form: &Affine, sizes: usize) -> Option<()> {
        let rest = form.without(sizes);
        match form.factor(sizes) {
            0 => self.conditions.push(rest),
            1 => self.from.push(rest.negated()?),
            -1 => self.to.push(rest),
            _ => return None,
        }
        Some(())
    }
}

/// A bound that is no quotient.
fn whole(bound: &Bound) -> Option<&Affine> {
    (bound.denominator == 1).then_some(&bound.form)
}

/// The rows of a stretch.
fn rows_of(stretch: &Stretch, context: &Piece, sizes: usize) -> Option<Piece> {
    let universe = Piece::universe(sizes, 1);
    let params: Vec<Affine> = (0..sizes).map(Affine::variable).collect();
    let mut rows = context.pulled(&universe, &params)?;
    let row = Affine::variable(sizes);
    for form in &stretch.from {
        rows.at_least(row.minus(form)?);
    }
    for form in &stretch.to {
        rows.at_least(form.minus(&row)?);
    }
    stretch.conditions.iter().for_each(|form| rows.at_least(form.clone()));
    Some(rows)
}

/// True if another piece has none of some rows.
fn are_apart(rows: &Piece, other: &Nest, sizes: usize) -> bool {
    let both = || {
        let level = other.levels.first().filter(|level| level.divs.is_empty())?;
        let (mut both, row) = (rows.clone(), Affine::variable(sizes));
        for bound in &level.lower {
            both.at_least(row.times(bound.denominator)?.minus(&bound.form)?);
        }
        for bound in &level.upper {
            both.at_least(bound.form.minus(&row.times(bound.denominator)?)?);
        }
        Some(both)
    };
    both().is_some_and(|both| both.is_empty().is_yes())
}

#[cfg(test)]
mod tests {
    use crate::Packing;

    #[test]
    fn stretches_say_what_is_stored() {
        let texts = [
            "leslie",
            "toeplitz",
            "diagonal",
            "antidiagonal",
            "banded(2,1)",
            "banded(0,0)",
            "hankel",
            "circulant",
            "constant",
            "onehot(3,5)",
            "column(2)",
            "fixed(1,2)",
            "fixed(0,1,1,2)",
            "identical_columns",
            "identical_rows",
            "symmetric",
            "lower",
            "general",
            "zero",
            "row(1)",
        ];
        let (mut found, mut with_rows) = (0, 0);
        for text in texts {
            let Ok(packing) = Packing::parse(text, 2) else { continue };
            let Some(stretch) = packing.stretch() else { continue };
            found += 1;
            for dims in [[0, 3], [1, 4], [4, 1], [3, 3], [4, 4], [5, 8], [8, 5], [9, 9]] {
                let mut rows = Vec::new();
                if packing.intervals(&dims, &mut |_, interval| rows.push(interval)).is_none() {
                    continue;
                }
                let sizes: Vec<i64> = dims.iter().map(|size| *size as i64).collect();
                let at = |form: &lacunar_sets::Affine| form.at(&sizes).expect("a small number");
                let is_there = stretch.conditions.iter().all(|form| at(form) >= 0);
                for (row, interval) in (0..).zip(rows) {
                    let is_in = stretch.from.iter().all(|form| row >= at(form))
                        && stretch.to.iter().all(|form| row <= at(form));
                    let first = stretch.first.at(&[&sizes[..], &[row]].concat()).expect("a small number");
                    if is_there && is_in {
                        with_rows += 1;
                        let wanted = first as u64..(first + stretch.length) as u64;
                        assert_eq!(interval, wanted, "row {row} of {text} of {dims:?}");
                    } else if stretch.are_others_empty {
                        assert!(interval.is_empty(), "row {row} of {text} of {dims:?}");
                    }
                }
            }
        }
        assert!(found > 8 && with_rows > 100, "{found} {with_rows}");
    }
}
