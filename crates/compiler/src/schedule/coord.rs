//! `coord(ip, ic)`: from a strip of positions back to the coordinates they hold.
//!
//! Demands: `ip` is a variable over positions, or split off one. Relation: coord.
//!
//! ```text
//! forall(ip0, forall(ip1, body))  ->  forall(ip0, forall(ic, body))       coord(ip1, ic)
//! ```
//!
//! The loop over `ic` visits coordinates again, so that operands can be merged inside strips that were balanced by positions.
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;

use super::nest::replace_loops;
use super::{Forward, Transformed, new_var, refuse, replaceable};
use crate::iterate::iterators::AccessKey;
use crate::iterate::position_space::{driver, pos_levels};

pub(super) fn coord(kernel: &Kernel, name: &Name, coordinate: &Name) -> Transformed {
    let position = replaceable(kernel, name)?;
    let originals = kernel.provenance.originals(position);
    let inner = match kernel.provenance.origin(position) {
        Some(Relation::Pos { .. }) => true,
        Some(Relation::Split { inner, .. } | Relation::Divide { inner, .. }) => *inner == position,
        _ => false,
    };
    if !inner || driver(kernel, position).is_none() {
        let message = format!("`{name}` does not run over positions, or not up to the last of them");
        return Err(refuse("E1205", name.span, message, "not a loop over positions"));
    }
    if originals.len() != 1 {
        let message = format!("the positions of `{name}` belong to several variables");
        return Err(
            refuse("E1205", name.span, message, "fused").hint("only the positions of one level have one coordinate")
        );
    }
    if let Some(access) = driver(kernel, position) {
        let key = AccessKey::from(access);
        let level = pos_levels(kernel, &key, &originals).start;
        let info = &kernel.tensors[key.tensor];
        if !info.format.levels()[level].properties().compact {
            let message = format!("not every position of `{}` ({}) has a coordinate", info.name, info.format);
            return Err(refuse("E1205", name.span, message, "positions that are not used"));
        }
    }
    let mut made = kernel.clone();
    let coordinate = new_var(&mut made, coordinate, None);
    made.provenance.relations.push(Relation::Coord { position, coordinate });
    made.stmt = replace_loops(made.stmt, position, &mut |body| Stmt::Forall(coordinate, Box::new(body)));
    Ok((made, Forward::default().replaced(position, [coordinate])))
}
