//! The sizes of tensors, and the sets of points that rules speak of, in a program without symbols.
//!
//! A set is a conjunction of comparisons, over the places of a tensor's indices. Coordinates begin at 0, so that a tensor's size is what upper
//! bounds of its dimensions say.
//!
//! ```text
//! A:D(i,j) := (0 <= i < 6) * (0 <= j <= i)      #0 >= 0, 5 - #0 >= 0, #1 >= 0, #0 - #1 >= 0      A: 6 x 6
//! ```

use std::collections::BTreeMap;

use lacunar_base::Span;
use lacunar_sets::{Comparison, Formula};

use super::error::Error;
use super::form::Form;
use super::meaning::flattened;
use super::ranges::{Condition, Range, Ranges, Sign, propagate};
use super::{Access, Factor, Index, Part, Program, Rule};
use crate::einsum::Declarations;

/// Points of a tensor: those for which all of these hold.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub order: usize,
    /// Over [`place`]s.
    pub conditions: Vec<Condition>,
}

/// The sizes and sets of a program without symbols.
#[derive(Debug, Default)]
pub(super) struct Extents {
    sets: BTreeMap<(String, Part), Result<Points, Error>>,
    /// The sizes of tensors.
    pub dims: BTreeMap<String, Vec<i64>>,
}

/// The name of an index of a set, by its place.
pub(super) fn place(place: usize) -> String {
    format!("#{place}")
}

/// The comparisons of neighbors in a chain, in which `meaning` says what names stand for.
pub(super) fn conditions(
    formula: &Formula,
    span: Span,
    meaning: &dyn Fn(&str) -> Form,
) -> Result<Vec<Condition>, Error> {
    let Formula::Chain(first, rest) = formula else { return Err(Error::Large { span }) };
    let form = |expression| Form::of(expression, meaning).ok_or(Error::Large { span });
    let mut left = form(first)?;
    let mut found = Vec::new();
    for (comparison, next) in rest {
        let right = form(next)?;
        let (form, sign) = match comparison {
            Comparison::AtMost => (right.plus(&left, -1), Sign::AtLeast),
            Comparison::Less => (right.plus(&left, -1).and_then(|form| form.shifted(-1)), Sign::AtLeast),
            Comparison::AtLeast => (left.plus(&right, -1), Sign::AtLeast),
            Comparison::Greater => (left.plus(&right, -1).and_then(|form| form.shifted(-1)), Sign::AtLeast),
            Comparison::Equal => (left.plus(&right, -1), Sign::Equal),
            Comparison::Unequal => (left.plus(&right, -1), Sign::Unequal),
        };
        found.push(Condition { form: form.ok_or(Error::Large { span })?, sign, span });
        left = right;
    }
    Ok(found)
}

/// Takes out names that equations tell, but for those that stay. `substitute` may refuse to replace a name.
pub(super) fn eliminate(
    conditions: &mut Vec<Condition>,
    stays: &dyn Fn(&str) -> bool,
    substitute: &mut dyn FnMut(&str, &Form) -> Option<bool>,
) -> Option<()> {
    'again: loop {
        for at in 0..conditions.len() {
            let Some(Condition { form, sign: Sign::Equal, .. }) = conditions.get(at).cloned() else { continue };
            for name in form.names() {
                let (factor, rest) = (form.factor(name), form.without(name));
                if factor.unsigned_abs() != 1 || stays(name) || rest.names().contains(name) {
                    continue;
                }
                let value = rest.times(-factor)?;
                if !substitute(name, &value)? {
                    continue;
                }
                conditions.remove(at);
                for condition in conditions.iter_mut() {
                    let meaning = |other: &str| (other == name).then(|| value.clone());
                    condition.form = condition.form.substituted(&meaning)?;
                }
                continue 'again;
            }
        }
        return Some(());
    }
}

impl Extents {
    /// Of a program without symbols.
    pub fn of(program: &Program, declarations: &Declarations) -> Result<Extents, Error> {
        let mut extents = Extents::default();
        for rule in &program.rules {
            if matches!(rule.head.part, Part::Dimensions | Part::Unique) {
                let set = extents.points(rule);
                if let (Part::Dimensions, Ok(points)) = (rule.head.part, &set) {
                    let dims = sizes(points).ok_or_else(|| Error::Bounds { span: rule.span, tensor: name(rule) })?;
                    let declared = declared(declarations, &rule.head.tensor, points.order);
                    if let Some(declared) = declared.filter(|declared| *declared != dims) {
                        let (span, tensor) = (rule.head.span, name(rule));
                        return Err(Error::Sizes { span, tensor, told: dims, declared });
                    }
                    extents.dims.insert(name(rule), dims);
                }
                if rule.head.part == Part::Dimensions {
                    set.as_ref().map_err(Clone::clone)?;
                }
                extents.sets.insert((name(rule), rule.head.part), set);
            }
        }
        let accesses = program.rules.iter().filter(|rule| rule.head.part == Part::Values).flat_map(Rule::accesses);
        for access in accesses {
            let order = access.indices.len();
            let declared = || declared(declarations, &access.tensor, order);
            let dims = match extents.dims.get(&access.tensor).cloned().or_else(declared) {
                Some(dims) => dims,
                None if order == 0 => Vec::new(),
                None => return Err(Error::Dimensions { span: access.span, tensor: access.tensor.clone() }),
            };
            if dims.len() != order {
                let (span, tensor, expected) = (access.span, access.tensor.clone(), dims.len());
                return Err(Error::Indices { span, tensor, expected });
            }
            extents.dims.insert(access.tensor.clone(), dims);
        }
        Ok(extents)
    }

    /// What holds of the points of a part of a tensor, with these indices; nothing, if no rule says of the dimensions anything.
    pub fn at(&self, tensor: &str, part: Part, indices: &[Form], span: Span) -> Result<Vec<Condition>, Error> {
        let points = match self.sets.get(&(tensor.to_string(), part)) {
            Some(points) => points.as_ref().map_err(Clone::clone)?,
            None if part == Part::Dimensions && self.dims.contains_key(tensor) => return Ok(Vec::new()),
            None => {
                let word = if part == Part::Unique { "U" } else { "D" };
                return Err(Error::Unknown { span, name: format!("{tensor}:{word}") });
            }
        };
        if points.order != indices.len() {
            return Err(Error::Indices { span, tensor: tensor.to_string(), expected: points.order });
        }
        let meaning = |name: &str| indices.get(name.strip_prefix('#')?.parse::<usize>().ok()?).cloned();
        let moved = |condition: &Condition| {
            let form = condition.form.substituted(&meaning).ok_or(Error::Large { span })?;
            Ok(Condition { form, span, ..*condition })
        };
        points.conditions.iter().map(moved).collect()
    }

    /// The points of a rule for a set.
    fn points(&self, rule: &Rule) -> Result<Points, Error> {
        let terms = flattened(&rule.terms)?;
        let [term] = terms.as_slice() else {
            return Err(Error::Union { span: rule.span, tensor: name(rule) });
        };
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut all = Vec::new();
        for (number, index) in rule.head.indices.iter().enumerate() {
            let form = match index {
                Index::Number(value, _) => Form::constant(*value),
                Index::Name(name, _) => match places.get(name.as_str()) {
                    Some(known) => Form::name(&place(*known)),
                    None => {
                        places.insert(name, number);
                        continue;
                    }
                },
            };
            let form = Form::name(&place(number)).plus(&form, -1).ok_or(Error::Large { span: rule.span })?;
            all.push(Condition { form, sign: Sign::Equal, span: rule.span });
        }
        let meaning = |name: &str| Form::name(&places.get(name).map_or_else(|| name.to_string(), |at| place(*at)));
        for factor in &term.factors {
            match factor {
                Factor::Comparison { condition, span, .. } => all.extend(conditions(condition, *span, &meaning)?),
                Factor::Access(Access { tensor, part: Part::Values, span, .. }) => {
                    return Err(Error::Values { span: *span, tensor: tensor.clone() });
                }
                Factor::Access(access) => {
                    let indices = access.forms(&meaning);
                    all.extend(self.at(&access.tensor, access.part, &indices, access.span)?);
                }
                // Sums are taken apart before, and the numbers of a set say nothing.
                Factor::Number { .. } | Factor::Sum(_) => {}
            }
        }
        let too_large = || Error::Large { span: rule.span };
        eliminate(&mut all, &|name| name.starts_with('#'), &mut |_, _| Some(true)).ok_or_else(too_large)?;
        let mut ranges = Ranges::new();
        propagate(&all, &mut ranges);
        let is_own = |condition: &Condition| condition.form.names().iter().all(|name| name.starts_with('#'));
        if rule.head.part == Part::Unique && !all.iter().all(is_own) {
            return Err(Error::Union { span: rule.span, tensor: name(rule) });
        }
        if let Some(exists) = all.iter().find(|condition| !is_own(condition)) {
            return Err(Error::Exists { span: exists.span, tensor: name(rule) });
        }
        Ok(Points { order: rule.head.indices.len(), conditions: all })
    }
}

fn name(rule: &Rule) -> String {
    rule.head.tensor.clone()
}

/// The sizes of the smallest box around some points, if they have bounds.
fn sizes(points: &Points) -> Option<Vec<i64>> {
    let start = |at| (place(at), Range { low: Some(0), high: None });
    let mut ranges: Ranges = (0..points.order).map(start).collect();
    propagate(&points.conditions, &mut ranges);
    let size = |at| Some(ranges.get(&place(at))?.high?.saturating_add(1).max(0));
    (0..points.order).map(size).collect()
}

/// The sizes that are declared of a tensor of so many dimensions.
pub(super) fn declared(declarations: &Declarations, tensor: &str, order: usize) -> Option<Vec<i64>> {
    let one = declarations.sizes.get(tensor).map(std::slice::from_ref);
    let dims = declarations.dims.get(tensor).map(Vec::as_slice).or(one).filter(|dims| dims.len() == order)?;
    dims.iter().map(|size| i64::try_from(*size).ok()).collect()
}

impl Access {
    /// The indices, in which `meaning` says what names stand for.
    pub(super) fn forms(&self, meaning: &dyn Fn(&str) -> Form) -> Vec<Form> {
        let form = |index: &Index| match index {
            Index::Name(name, _) => meaning(name),
            Index::Number(value, _) => Form::constant(*value),
        };
        self.indices.iter().map(form).collect()
    }
}
