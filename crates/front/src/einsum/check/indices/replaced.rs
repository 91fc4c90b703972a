//! Indices on the left of statements that replace values: no element may be assigned twice.

use indexmap::IndexSet;
use lacunar_base::Span;

use crate::einsum::affine::Affine;
use crate::einsum::error::{Error, StatementMistake};

/// The indices of a tensor whose values are replaced.
pub(in crate::einsum::check) struct Replaced {
    pub(super) span: Span,
    /// The sums that the indices are, and those that tell the place of a number on a list, each with the name of this number.
    pub(super) forms: Vec<(Option<String>, Affine)>,
}

impl Replaced {
    /// Checks that no element is assigned twice, if variables have these sizes: the indices tell the variables.
    pub fn check(&self, size: &dyn Fn(&str) -> Option<u64>) -> Result<(), Error> {
        let all = || self.forms.iter().flat_map(|(_, form)| form.terms.keys());
        if all().any(|name| size(name) == Some(0)) {
            return Ok(());
        }
        let mut known: IndexSet<&str> = IndexSet::new();
        loop {
            let before = known.len();
            for (number, form) in &self.forms {
                if number.as_ref().is_some_and(|number| !known.contains(number.as_str())) {
                    continue;
                }
                let mut open: Vec<(&str, u64)> = Vec::new();
                for (name, factor) in form.terms.iter().filter(|(name, _)| !known.contains(name.as_str())) {
                    open.push((name, factor.unsigned_abs()));
                }
                if tells_all(&mut open, size) {
                    known.extend(open.into_iter().map(|(name, _)| name));
                }
            }
            if known.len() == before {
                break;
            }
        }
        match all().find(|name| !known.contains(name.as_str())) {
            Some(variable) => Err(StatementMistake::Overlapping { span: self.span, variable: variable.clone() }.into()),
            None => Ok(()),
        }
    }
}

/// True if indices tell all variables in them, each of which has a size: sums of variables, each times a number.
pub(crate) fn tells(indices: &[Vec<(String, i64)>], size: &dyn Fn(&str) -> Option<u64>) -> bool {
    let form = |terms: &Vec<(String, i64)>| (None, Affine { terms: terms.iter().cloned().collect(), constant: 0 });
    Replaced { span: Span::NONE, forms: indices.iter().map(form).collect() }.check(size).is_ok()
}

/// True if a sum of variables times factors tells each of them, as the digits of a number do: every factor is larger than all that the
/// terms with smaller ones come to.
fn tells_all(terms: &mut [(&str, u64)], size: &dyn Fn(&str) -> Option<u64>) -> bool {
    terms.sort_by_key(|(_, factor)| *factor);
    let mut most = Some(0u64);
    // A variable of one value is known.
    terms.iter().filter(|(name, _)| size(name).is_none_or(|size| size > 1)).all(|(name, factor)| {
        let is_larger = most.is_some_and(|most| *factor > most);
        let own = size(name).map(|size| size.saturating_sub(1).saturating_mul(*factor));
        most = most.zip(own).map(|(most, own)| most.saturating_add(own));
        is_larger
    })
}
