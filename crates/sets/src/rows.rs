//! Rows of constraints in their simplest form: the common part of [`Piece`](crate::Piece) and the emptiness test.
//!
//! On exit of [`tidy`] no row is a number, none can be divided, no two inequalities have the same direction, and two that leave one value
//! are an equality. Nothing is lost: the rows hold of the same integers.
//!
//! ```text
//! 2i - 3 >= 0,  i <= 9,  i <= 7,  2j - 4k = 6      i - 2 >= 0,  i <= 7,  j - 2k = 3
//! ```

use crate::affine::Affine;

/// Simplifies rows `form = 0` and `form >= 0`. False if one of them, or two together, can never hold.
pub(crate) fn tidy(equalities: &mut Vec<Affine>, inequalities: &mut Vec<Affine>) -> bool {
    let mut bounds: Vec<Affine> = Vec::with_capacity(inequalities.len());
    for row in inequalities.drain(..) {
        if row.is_constant() {
            if row.offset() < 0 {
                return false;
            }
            continue;
        }
        let row = row.divided(row.content());
        match bounds.iter_mut().find(|other| other.factors() == row.factors()) {
            Some(other) if other.offset() <= row.offset() => {}
            Some(other) => *other = row,
            None => bounds.push(row),
        }
    }
    if !meet(&mut bounds, equalities) {
        return false;
    }
    *inequalities = bounds;
    tidy_equalities(equalities)
}

/// Turns two opposite inequalities that leave one value into an equality. False if they leave none.
fn meet(bounds: &mut Vec<Affine>, equalities: &mut Vec<Affine>) -> bool {
    let mut place = 0;
    while let Some(row) = bounds.get(place) {
        let is_opposite = |other: &Affine| {
            let (ours, theirs) = (row.factors(), other.factors());
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.checked_neg() == Some(*b))
        };
        let Some(behind) = bounds.iter().skip(place + 1).position(is_opposite) else {
            place += 1;
            continue;
        };
        let other = place + 1 + behind;
        let room = i128::from(row.offset()) + i128::from(bounds[other].offset());
        if room < 0 {
            return false;
        }
        if room > 0 {
            place += 1;
            continue;
        }
        equalities.push(row.clone());
        bounds.remove(other);
        bounds.remove(place);
    }
    true
}

/// Divides equalities, gives them a sign, and leaves out those said already. False if one has no solution.
fn tidy_equalities(equalities: &mut Vec<Affine>) -> bool {
    let mut kept: Vec<Affine> = Vec::with_capacity(equalities.len());
    for row in equalities.drain(..) {
        let content = row.content();
        let rest = if content == 0 { row.offset().unsigned_abs() } else { row.offset().unsigned_abs() % content };
        if rest != 0 {
            return false;
        }
        let row = row.divided(content);
        let leads_down = row.terms().next().is_some_and(|(_, factor)| factor < 0);
        let row = if leads_down { row.negated().unwrap_or(row) } else { row };
        if !row.is_constant() && !kept.contains(&row) {
            kept.push(row);
        }
    }
    *equalities = kept;
    true
}
