//! The sizes of tensors, and the sets of points that rules speak of, in a program without symbols.
//!
//! A set is a list of conjunctions of comparisons, over the places of a tensor's indices; no two of them hold at one point, so that a
//! product with the set is a sum of products with each. Coordinates begin at 0, so that the upper bounds of its dimensions give a
//! tensor's size.
//!
//! ```text
//! A:D(i,j) := (0 <= i < 6) * (0 <= j <= i)      #0 >= 0, 5 - #0 >= 0, #1 >= 0, #0 - #1 >= 0      A: 6 x 6
//! E:U(i) := (i < 4) + (i = 2*k)                 #0 >= 0, 3 - #0 >= 0;   #0 - 4 >= 0, #0 - 2 (#0 / 2) = 0
//! ```
//!
//! A set of one term whose variables are all told keeps the comparisons as they are written. Others are made disjoint, without variables
//! that only exist, by the algebra of sets. A redundancy map is the set of its points and targets side by side, with the coefficient as
//! its value.

use std::collections::BTreeMap;

use lacunar_base::Span;
use lacunar_sets::{Affine, Coefficient, Comparison, Formula, Piece, Relation};

use super::error::Error;
use super::form::Form;
use super::meaning::{Sets, flattened, word};
use super::ranges::{Condition, Range, Ranges, Sign, propagate};
use super::{Access, Factor, Index, Part, Program, Rule};
use crate::einsum::Declarations;

/// Points of a tensor: those of one of these pieces, no two of which have a point in common.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub order: usize,
    pub pieces: Vec<Within>,
}

/// Points for which all of these hold.
#[derive(Clone, Debug)]
pub(super) struct Within {
    /// Over [`place`]s.
    pub conditions: Vec<Condition>,
    /// The value of the set there: 1, or a coefficient.
    pub value: f64,
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

/// The comparisons of neighbors in a chain; `meaning` gives the forms that names stand for.
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
    /// The extents of a program without symbols.
    pub fn of(program: &Program, declarations: &Declarations) -> Result<Extents, Error> {
        let mut extents = Extents::default();
        let mut sets = Sets::new();
        for rule in &program.rules {
            if rule.head.part != Part::Values {
                let set = extents.points(program, rule, &sets);
                // A mistake in it is told where the set is read.
                _ = program.learn(rule, &mut sets);
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

    /// The conditions of the points of a part of a tensor, with these indices; none, if no rule gives the dimensions.
    pub fn at(&self, tensor: &str, part: Part, indices: &[Form], span: Span) -> Result<Vec<Within>, Error> {
        let points = match self.sets.get(&(tensor.to_string(), part)) {
            Some(points) => points.as_ref().map_err(Clone::clone)?,
            None if part == Part::Dimensions && self.dims.contains_key(tensor) => {
                return Ok(vec![Within { conditions: Vec::new(), value: 1.0 }]);
            }
            None => return Err(Error::Unknown { span, name: format!("{tensor}:{}", word(part)) }),
        };
        if points.order != indices.len() {
            return Err(Error::Indices { span, tensor: tensor.to_string(), expected: points.order });
        }
        let meaning = |name: &str| indices.get(name.strip_prefix('#')?.parse::<usize>().ok()?).cloned();
        let moved = |condition: &Condition| {
            let form = condition.form.substituted(&meaning).ok_or(Error::Large { span })?;
            Ok(Condition { form, span, ..*condition })
        };
        let within = |piece: &Within| {
            let conditions = piece.conditions.iter().map(moved).collect::<Result<_, Error>>()?;
            Ok(Within { conditions, value: piece.value })
        };
        points.pieces.iter().map(within).collect()
    }

    /// The points of a rule for a set or a map.
    fn points(&self, program: &Program, rule: &Rule, sets: &Sets) -> Result<Points, Error> {
        let order = rule.head.indices.len();
        let pieces = match self.told(rule)? {
            Some(conditions) => vec![Within { conditions, value: 1.0 }],
            None => {
                let within = |(piece, value): (Piece, Coefficient)| {
                    let conditions = of_piece(&piece, rule.span).ok_or(Error::TooHard { span: rule.span })?;
                    Ok(Within { conditions, value: value.number() })
                };
                program.pieces(rule, sets)?.into_iter().map(within).collect::<Result<_, Error>>()?
            }
        };
        Ok(Points { order, pieces })
    }

    /// The comparisons of a set of one term, unless there is a variable that only exists.
    fn told(&self, rule: &Rule) -> Result<Option<Vec<Condition>>, Error> {
        let terms = flattened(&rule.terms)?;
        let ([term], Part::Dimensions | Part::Unique) = (terms.as_slice(), rule.head.part) else { return Ok(None) };
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut all = Vec::new();
        for (number, index) in rule.head.indices.iter().enumerate() {
            all.push(Condition { form: Form::name(&place(number)), sign: Sign::AtLeast, span: rule.span });
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
                    let pieces = self.at(&access.tensor, access.part, &indices, access.span)?;
                    let [piece] = pieces.as_slice() else { return Ok(None) };
                    all.extend(piece.conditions.iter().cloned());
                }
                Factor::Number { text, .. } if text.parse() == Ok(0.0) => return Ok(None),
                // Sums are taken apart before, and other numbers of a set say nothing.
                Factor::Number { .. } | Factor::Sum(_) => {}
            }
        }
        let too_large = || Error::Large { span: rule.span };
        eliminate(&mut all, &|name| name.starts_with('#'), &mut |_, _| Some(true)).ok_or_else(too_large)?;
        let is_own = |condition: &Condition| condition.form.names().iter().all(|name| name.starts_with('#'));
        Ok(all.iter().all(is_own).then_some(all))
    }
}

/// The comparisons of a piece without parameters, over the places of its dimensions.
fn of_piece(piece: &Piece, span: Span) -> Option<Vec<Condition>> {
    let mut columns: Vec<Form> = (0..piece.dims()).map(|dim| Form::name(&place(dim))).collect();
    for div in piece.divs() {
        let form = of_affine(&div.numerator, &columns)?.quotient(div.denominator)?;
        columns.push(form);
    }
    let within = |dim| Condition { form: Form::name(&place(dim)), sign: Sign::AtLeast, span };
    let mut found: Vec<Condition> = (0..piece.dims()).map(within).collect();
    for constraint in piece.constraints() {
        let sign = match constraint.relation {
            Relation::Equal => Sign::Equal,
            Relation::AtLeast => Sign::AtLeast,
        };
        found.push(Condition { form: of_affine(&constraint.form, &columns)?, sign, span });
    }
    Some(found)
}

fn of_affine(affine: &Affine, columns: &[Form]) -> Option<Form> {
    let constant = Form::constant(affine.offset());
    affine.terms().try_fold(constant, |sum, (column, factor)| sum.plus(columns.get(column)?, factor))
}

fn name(rule: &Rule) -> String {
    rule.head.tensor.clone()
}

/// The sizes of the smallest box around some points, if they have bounds.
fn sizes(points: &Points) -> Option<Vec<i64>> {
    let mut most = vec![0; points.order];
    for piece in &points.pieces {
        let start = |at| (place(at), Range { low: Some(0), high: None });
        let mut ranges: Ranges = (0..points.order).map(start).collect();
        propagate(&piece.conditions, &mut ranges);
        for (at, most) in most.iter_mut().enumerate() {
            *most = (*most).max(ranges.get(&place(at))?.high?.saturating_add(1));
        }
    }
    Some(most)
}

/// The sizes that are declared of a tensor of so many dimensions.
pub(super) fn declared(declarations: &Declarations, tensor: &str, order: usize) -> Option<Vec<i64>> {
    let one = declarations.sizes.get(tensor).map(std::slice::from_ref);
    let dims = declarations.dims.get(tensor).map(Vec::as_slice).or(one).filter(|dims| dims.len() == order)?;
    dims.iter().map(|size| i64::try_from(*size).ok()).collect()
}

impl Access {
    /// The indices; `meaning` gives the forms that names stand for.
    pub(super) fn forms(&self, meaning: &dyn Fn(&str) -> Form) -> Vec<Form> {
        let form = |index: &Index| match index {
            Index::Name(name, _) => meaning(name),
            Index::Number(value, _) => Form::constant(*value),
        };
        self.indices.iter().map(form).collect()
    }
}
