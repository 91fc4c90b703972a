//! Rules for sets and maps to structures.
//!
//! A rule's set is the union of its terms, a term's the intersection of its factors, with variables that are not in the head projected
//! out. Parameters of a structure are the sizes of the tensor's dimensions, then the program's symbols; the rule for dimensions says which
//! size is which expression of symbols. A redundancy map is solved for the indices of the target, which follow from equations.

use std::collections::BTreeMap;

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::Structure;
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set, Space};

use super::error::Error;
use super::{Access, Factor, Index, Part, Program, Rule, Term};

/// Terms with more factors or names are refused: bounds the time of all questions about them.
const MOST_FACTORS: usize = 64;
/// The most quotients inside of each other in the target of a map.
const MOST_ROUNDED: usize = 8;

/// The sets of the rules so far, over the symbols.
pub(super) type Sets = BTreeMap<(String, Part), Result<Set, Error>>;

impl Program {
    /// The structures of all tensors with a rule for unique elements, by name. Symbols are parameters, behind the sizes of dimensions.
    ///
    /// # Errors
    /// The first rule that does not make sense: E1523 to E1531.
    pub fn structures(&self) -> Result<BTreeMap<String, Structure>, Diagnostic> {
        let mut sets = Sets::new();
        let mut maps: BTreeMap<String, (Map, Span)> = BTreeMap::new();
        let mut unique: Vec<(&Rule, String)> = Vec::new();
        for rule in &self.rules {
            let name = rule.head.tensor.clone();
            match rule.head.part {
                Part::Values => continue,
                Part::Redundant => {
                    let map = self.map(rule, &sets).map_err(Error::into_diagnostic)?;
                    maps.insert(name, (map, rule.span));
                    continue;
                }
                Part::Unique => unique.push((rule, name.clone())),
                Part::Dimensions => {}
            }
            self.learn(rule, &mut sets).map_err(Error::into_diagnostic)?;
        }
        let mut structures = BTreeMap::new();
        for (rule, name) in unique {
            // A tensor without elements has nothing to tell.
            let dimensions = sets.get(&(name.clone(), Part::Dimensions)).and_then(|set| set.as_ref().ok());
            if dimensions.is_some_and(|set| set.pieces().is_empty()) {
                continue;
            }
            let map = maps.get(&name);
            let structure = self.structure(rule, &sets, map).map_err(Error::into_diagnostic)?;
            structures.insert(name, structure);
        }
        Ok(structures)
    }

    /// The structure of a tensor from the sets of its rules.
    fn structure(&self, rule: &Rule, sets: &Sets, map: Option<&(Map, Span)>) -> Result<Structure, Error> {
        let (tensor, span) = (&rule.head.tensor, rule.span);
        let too_hard = || Error::TooHard { span };
        let missing = || Error::Dimensions { span: rule.head.span, tensor: tensor.clone() };
        let of = |part| sets.get(&(tensor.clone(), part)).and_then(|set| set.as_ref().ok());
        let dimensions = of(Part::Dimensions).ok_or_else(missing)?;
        let unique = of(Part::Unique).ok_or_else(missing)?;
        let order = unique.space().dims.len();
        let [dimensions] = dimensions.pieces() else { return Err(missing()) };
        if dimensions.dims() != order {
            return Err(Error::Indices { span: rule.head.span, tensor: tensor.clone(), expected: dimensions.dims() });
        }
        if let Some((_, span)) = map.filter(|(map, _)| map.space().dims.len() != order) {
            return Err(Error::Indices { span: *span, tensor: tensor.clone(), expected: 2 * order });
        }
        let symbols = self.symbols.len();
        let sizes = unique.space().dims.iter().map(|dim| format!("n_{dim}"));
        let space = Space::new(sizes.chain(self.symbols.iter().cloned()), unique.space().dims.clone());
        let mut context = Piece::universe(order + symbols, 0);
        for dim in 0..order {
            let size = size(dimensions, dim).ok_or_else(missing)?;
            let size = size.renumbered(|symbol| order + symbol).ok_or_else(too_hard)?;
            context.equal(size.minus(&Affine::variable(dim)).ok_or_else(too_hard)?);
        }
        let columns: Vec<Affine> = (0..symbols + order).map(|column| Affine::variable(order + column)).collect();
        let unique = unique.preimage(space.clone(), &columns).ok_or_else(too_hard)?;
        let mut redundancy = Map::empty(space.clone(), space.dims.clone());
        for piece in map.map(|(map, _)| map.pieces()).unwrap_or_default() {
            let pulled = piece.pulled(&space.universe(), &columns).ok_or_else(too_hard)?;
            let part = MapPiece { domain: pulled.0, target: pulled.1, coefficient: piece.coefficient };
            redundancy.add(part).ok_or_else(too_hard)?;
        }
        let place = map.map_or(span, |(_, span)| *span);
        Structure::new(&unique, &redundancy, &context).map_err(|fault| Error::Fault { span: place, fault })
    }

    /// Adds the set of a rule to those of the rules before it.
    pub(super) fn learn(&self, rule: &Rule, sets: &mut Sets) -> Result<(), Error> {
        if !matches!(rule.head.part, Part::Dimensions | Part::Unique) {
            return Ok(());
        }
        let set = self.set(rule, sets);
        sets.insert((rule.head.tensor.clone(), rule.head.part), set.clone());
        set.map(|_| ())
    }

    /// The points of a rule in pieces, no two of which have a point in common, each with its coefficient. The pieces of a redundancy map
    /// have the coordinates of a point, then those of its target.
    pub(super) fn pieces(&self, rule: &Rule, sets: &Sets) -> Result<Vec<(Piece, Coefficient)>, Error> {
        let too_hard = || Error::TooHard { span: rule.span };
        if rule.head.part != Part::Redundant {
            let set = self.set(rule, sets)?.disjoint().ok_or_else(too_hard)?;
            return Ok(set.pieces().iter().map(|piece| (piece.clone(), Coefficient::ONE)).collect());
        }
        let map = self.map(rule, sets)?;
        let joint = Space { params: self.symbols.clone(), dims: names(&rule.head)? };
        let own: Vec<Affine> = (0..self.symbols.len() + map.space().dims.len()).map(Affine::variable).collect();
        let side_by_side = |piece: &MapPiece| {
            let (mut domain, target) = piece.pulled(&joint.universe(), &own)?;
            for (place, form) in target.iter().enumerate() {
                domain.equal(form.minus(&Affine::variable(own.len() + place))?);
            }
            Some((domain, piece.coefficient))
        };
        map.pieces().iter().map(|piece| side_by_side(piece).ok_or_else(too_hard)).collect()
    }

    /// The set of a rule, over the symbols and the indices of its head.
    fn set(&self, rule: &Rule, sets: &Sets) -> Result<Set, Error> {
        let space = Space { params: self.symbols.clone(), dims: names(&rule.head)? };
        let mut all = Set::empty(space.clone());
        for term in flattened(&rule.terms)? {
            let (set, coefficient) = self.term(&term, &space, sets)?;
            if coefficient.numerator() != 0 {
                all = all.union(&set).ok_or(Error::TooHard { span: term.span })?;
            }
        }
        Ok(all.coalesced())
    }

    /// The points of a term, and the product of its numbers.
    fn term(&self, term: &Term, space: &Space, sets: &Sets) -> Result<(Set, Coefficient), Error> {
        let mut inner = space.clone();
        for name in term.names() {
            if !inner.params.iter().chain(&inner.dims).any(|other| other == name) {
                inner.dims.push(name.to_string());
            }
        }
        let too_hard = || Error::TooHard { span: term.span };
        if term.factors.len() > MOST_FACTORS || inner.params.len() + inner.dims.len() > MOST_FACTORS {
            return Err(too_hard());
        }
        let mut set = Set::universe(inner.clone());
        let mut coefficient = Coefficient::ONE;
        for factor in &term.factors {
            match factor {
                Factor::Comparison { condition, .. } => {
                    set = set.intersect(&condition.set(&inner).map_err(Error::Condition)?).ok_or_else(too_hard)?;
                }
                Factor::Access(access) => {
                    set = set.intersect(&self.access(access, &inner, sets)?).ok_or_else(too_hard)?
                }
                Factor::Number { text, inverse, span } => {
                    let number = fraction(text, *inverse).ok_or(Error::Coefficient { span: *span })?;
                    coefficient = coefficient.times(number).ok_or(Error::Coefficient { span: *span })?;
                }
                // Sums are taken apart before.
                Factor::Sum(_) => return Err(too_hard()),
            }
        }
        let bound: Vec<usize> = (space.dims.len()..inner.dims.len()).collect();
        Ok((set.project_out(&bound).ok_or_else(too_hard)?, coefficient))
    }

    /// The points at which a set of another rule has an access.
    fn access(&self, access: &Access, space: &Space, sets: &Sets) -> Result<Set, Error> {
        let tensor = access.tensor.clone();
        if !matches!(access.part, Part::Unique | Part::Dimensions) {
            return Err(Error::Values { span: access.span, tensor });
        }
        let unknown = || Error::Unknown { span: access.span, name: format!("{tensor}:{}", word(access.part)) };
        let set = sets.get(&(tensor.clone(), access.part)).ok_or_else(unknown)?.as_ref().map_err(Clone::clone)?;
        let expected = set.space().dims.len();
        if access.indices.len() != expected {
            return Err(Error::Indices { span: access.span, tensor, expected });
        }
        let mut columns: Vec<Affine> = (0..self.symbols.len()).map(Affine::variable).collect();
        for index in &access.indices {
            columns.push(match index {
                Index::Number(number, _) => Affine::constant(*number),
                Index::Name(name, span) => {
                    let place = space.params.iter().chain(&space.dims).position(|other| other == name);
                    Affine::variable(place.ok_or(Error::Unknown { span: *span, name: name.clone() })?)
                }
            });
        }
        set.preimage(space.clone(), &columns).ok_or(Error::TooHard { span: access.span })
    }

    /// The map of a rule for redundant elements.
    fn map(&self, rule: &Rule, sets: &Sets) -> Result<Map, Error> {
        let dims = names(&rule.head)?;
        let order = dims.len() / 2;
        if dims.len() % 2 != 0 {
            let tensor = rule.head.tensor.clone();
            return Err(Error::Indices { span: rule.head.span, tensor, expected: dims.len() + 1 });
        }
        let joint = Space { params: self.symbols.clone(), dims };
        let (own, target) = joint.dims.split_at(order);
        let space = Space { params: self.symbols.clone(), dims: own.to_vec() };
        let mut map = Map::empty(space, own.to_vec());
        for term in flattened(&rule.terms)? {
            let (set, coefficient) = self.term(&term, &joint, sets)?;
            for piece in set.pieces() {
                for part in solved(piece, order, coefficient, target, term.span)? {
                    map.add(part).ok_or(Error::TooHard { span: term.span })?;
                }
            }
        }
        Ok(map)
    }
}

/// A relation of points and targets, with the targets solved for.
fn solved(
    piece: &Piece,
    order: usize,
    coefficient: Coefficient,
    names: &[String],
    span: Span,
) -> Result<Vec<MapPiece>, Error> {
    let Some(tidy) = piece.tidied() else { return Ok(Vec::new()) };
    let mut equalities = tidy.equalities().to_vec();
    let columns: Vec<usize> = (order..2 * order).map(|dim| piece.column(dim)).collect();
    let mut target: Vec<Option<Affine>> = vec![None; order];
    for _ in 0..order {
        let open = |place: &usize| target[*place].is_none();
        let found = (0..order).filter(open).find_map(|place| {
            let row = equalities.iter().position(|row| row.factor(columns[place]).unsigned_abs() == 1)?;
            Some((place, row))
        });
        let Some((place, row)) = found else { break };
        let row = equalities.remove(row);
        let value = row.without(columns[place]).times(-row.factor(columns[place]));
        let value = value.ok_or(Error::TooHard { span })?;
        let replaced = |form: &Affine| form.substituted(columns[place], &value).ok_or(Error::TooHard { span });
        equalities = equalities.iter().map(replaced).collect::<Result<_, _>>()?;
        target = target.iter().map(|form| form.as_ref().map(replaced).transpose()).collect::<Result<_, _>>()?;
        target[place] = Some(value);
    }
    let gone: Vec<usize> = (order..2 * order).collect();
    let domains = piece.project_out(&gone).ok_or(Error::TooHard { span })?;
    let relation = Related { piece: &tidy, order, target: &target };
    let mut parts = Vec::new();
    for mut domain in domains {
        let mut forms = Vec::new();
        for (form, name) in target.iter().zip(names) {
            let form = form.as_ref().and_then(|form| relation.of_point(form, &mut domain, MOST_ROUNDED));
            forms.push(form.ok_or_else(|| Error::Target { span, name: name.clone() })?);
        }
        parts.push(MapPiece { domain, target: forms, coefficient });
    }
    Ok(parts)
}

/// A relation of points and targets, with forms for these.
struct Related<'a> {
    piece: &'a Piece,
    /// The number of dimensions of a point.
    order: usize,
    target: &'a [Option<Affine>],
}

impl Related<'_> {
    /// A form of the relation as one of points alone, over a piece that gets the quotients which are in it; `None` if it depends on itself,
    /// or on more of them than may be nested.
    fn of_point(&self, form: &Affine, domain: &mut Piece, nested: usize) -> Option<Affine> {
        let nested = nested.checked_sub(1)?;
        let mut own = Affine::constant(form.offset());
        for (column, factor) in form.terms() {
            let part = if column < self.piece.column(self.order) {
                Affine::variable(column)
            } else if let Some(quotient) = column.checked_sub(self.piece.outer()) {
                let div = self.piece.divs().get(quotient)?;
                let numerator = self.of_point(&div.numerator, domain, nested)?;
                domain.floor(&numerator, div.denominator)?
            } else {
                let told = self.target.get(column - self.piece.column(self.order))?.as_ref()?;
                self.of_point(told, domain, nested)?
            };
            own = own.plus(&part.times(factor)?)?;
        }
        Some(own)
    }
}

/// Terms without sums in them: products are multiplied out.
pub(super) fn flattened(terms: &[Term]) -> Result<Vec<Term>, Error> {
    let mut found = Vec::new();
    for term in terms {
        let mut products = vec![Term { factors: Vec::new(), span: term.span }];
        for factor in &term.factors {
            let Factor::Sum(inner) = factor else {
                products.iter_mut().for_each(|product| product.factors.push(factor.clone()));
                continue;
            };
            let inner = flattened(inner)?;
            if products.len() * inner.len() > Set::MOST_PIECES {
                return Err(Error::TooHard { span: term.span });
            }
            let times = |product: &Term| {
                let with = |term: &Term| [product.factors.clone(), term.factors.clone()].concat();
                inner.iter().map(with).map(|factors| Term { factors, span: product.span }).collect::<Vec<_>>()
            };
            products = products.iter().flat_map(times).collect();
        }
        found.extend(products);
    }
    Ok(found)
}

/// The size of a dimension, by its upper bound, or by its only coordinate.
fn size(dimensions: &Piece, dim: usize) -> Option<Affine> {
    let column = dimensions.column(dim);
    let is_alone = |form: &&Affine| form.without(column).factors().len() <= dimensions.params();
    let is_bound = |form: &&Affine| form.factor(column) == -1 && is_alone(form);
    if let Some(bound) = dimensions.inequalities().iter().find(is_bound) {
        return bound.without(column).shifted(1);
    }
    let is_told = |form: &&Affine| form.factor(column).abs() == 1 && is_alone(form);
    let equation = dimensions.equalities().iter().find(is_told)?;
    equation.without(column).times(-equation.factor(column))?.shifted(1)
}

/// The names of a head's indices.
fn names(head: &Access) -> Result<Vec<String>, Error> {
    let name = |index: &Index| match index {
        Index::Name(name, _) => Ok(name.clone()),
        Index::Number(_, span) => Err(Error::Syntax {
            span: *span,
            found: "a number".to_string(),
            expected: "a name in the head of a set".to_string(),
        }),
    };
    head.indices.iter().map(name).collect()
}

/// The letter of a part in the text.
pub(super) fn word(part: Part) -> &'static str {
    match part {
        Part::Values => "",
        Part::Dimensions => "D",
        Part::Unique => "U",
        Part::Redundant => "R",
    }
}

/// `-1`, `0.25`, or its inverse, as a fraction.
fn fraction(text: &str, inverse: bool) -> Option<Coefficient> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let denominator = 10_i64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let numerator: i64 = format!("{whole}{decimals}").parse().ok()?;
    if inverse {
        Coefficient::new(denominator, numerator, false)
    } else {
        Coefficient::new(numerator, denominator, false)
    }
}
