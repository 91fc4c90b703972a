//! A term of a rule for values, made ready to be summed: variables that equations tell are replaced, each other one has a size, and
//! comparisons that hold anyway are left out.
//!
//! A variable that is not in the head is summed over. Its size is that of the smallest dimension that it is an index of; of one that is no
//! index, comparisons tell the range, whose beginning is moved to 0. Elements outside of a tensor are absent, so that comparisons need not
//! say that an index stays inside.
//!
//! ```text
//! C(i) := u(p) * (p = q) * (q = i - 1) * (0 <= p < n)       p: 0 .. n
//! C(i)  = sum(p, u(p) * (i - p - 1 == 0))
//! ```
//!
//! An index that an equation tells has no loop if its loop would be the longest: it is *placed*, a value that follows from others.
//!
//! ```text
//! C(i,j) := u(s) * (s = i*(i - 1)/2 + j)                    s placed at ((i - 1) * i) / 2 + j
//! C(q) := A(i,j) * (q = n*i + j)                            q placed at n*i + j
//! ```

use lacunar_base::Span;
use lacunar_notation::Equation;
use lacunar_sets::Set;

use super::error::Error;
use super::extents::{Extents, Within, conditions, eliminate};
use super::form::Form;
use super::ranges::{Condition, Holds, Range, Ranges, Sign, propagate};
use super::{Access, Factor, Index, Part, Rule, Term};

/// An element of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub tensor: String,
    /// True if its inverse is meant.
    pub inverse: bool,
    pub indices: Vec<Form>,
    pub span: Span,
}

/// A product that is summed over some variables.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The numbers, multiplied.
    pub number: f64,
    pub reads: Vec<Read>,
    pub conditions: Vec<Condition>,
    /// The variables that are summed over, in the order of the text.
    pub summed: Vec<String>,
    /// The values of each variable, from 0 on.
    pub ranges: Ranges,
    /// Indices that are values.
    pub placed: Vec<Placed>,
    pub span: Span,
}

/// An index whose value follows from variables.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub name: String,
    /// Its value, where that is a coordinate: of variables that have loops.
    pub form: Form,
    /// The number of coordinates.
    pub size: i64,
    pub span: Span,
}

impl Placed {
    /// The conditions that it is a coordinate. Outside of a dimension, sums lead to nothing; other values are looked up, so that they have to be
    /// inside.
    fn is_inside(&self) -> Option<Vec<Condition>> {
        if self.form.is_affine() {
            return Some(Vec::new());
        }
        let above = Form::constant(self.size.checked_sub(1)?).plus(&self.form, -1)?;
        let inside = |form| Condition { form, sign: Sign::AtLeast, span: self.span };
        Some(vec![inside(self.form.clone()), inside(above)])
    }
}

/// The variables of a rule's head, one for each dimension, and the conditions of their places.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub names: Vec<String>,
    pub sizes: Vec<i64>,
    /// The points that have values, in pieces.
    points: Vec<Within>,
}

impl Head {
    /// The head of a rule whose tensor has a size.
    pub fn of(rule: &Rule, extents: &Extents) -> Result<Head, Error> {
        let Access { tensor, indices, span, inverse, .. } = &rule.head;
        if *inverse {
            return Err(Error::Inverse { span: *span, tensor: tensor.clone() });
        }
        let sizes = extents.dims.get(tensor).cloned().unwrap_or_default();
        let mut head = Head { names: Vec::new(), sizes, points: Vec::new() };
        let mut told_by_places = Vec::new();
        for (number, index) in indices.iter().enumerate() {
            let told = match index {
                Index::Name(name, _) if !head.names.contains(name) => {
                    head.names.push(name.clone());
                    continue;
                }
                Index::Name(name, _) => Form::name(name),
                Index::Number(value, _) => Form::constant(*value),
            };
            // A name that no text has.
            let own = format!("d{number}'");
            let form = Form::name(&own).plus(&told, -1).ok_or(Error::Large { span: *span })?;
            told_by_places.push(Condition { form, sign: Sign::Equal, span: *span });
            head.names.push(own);
        }
        let forms: Vec<Form> = head.names.iter().map(|name| Form::name(name)).collect();
        head.points = extents.at(tensor, Part::Dimensions, &forms, *span)?;
        head.points.iter_mut().for_each(|piece| piece.conditions.extend(told_by_places.iter().cloned()));
        Ok(head)
    }

    /// The size of the dimension that a variable is the index of.
    pub fn size(&self, name: &str) -> Option<i64> {
        self.names.iter().position(|own| own == name).and_then(|place| self.sizes.get(place).copied())
    }
}

impl Product {
    /// The products that a term without sums is, one for each choice of a piece of every set; those that are 0 everywhere are left out.
    pub fn of(term: &Term, head: &Head, extents: &Extents) -> Result<Vec<Product>, Error> {
        let span = term.span;
        let start = |piece: &Within| Product {
            number: 1.0,
            reads: Vec::new(),
            conditions: piece.conditions.clone(),
            summed: Vec::new(),
            ranges: Ranges::new(),
            placed: Vec::new(),
            span,
        };
        let mut products: Vec<Product> = head.points.iter().map(start).collect();
        for factor in &term.factors {
            products = Product::multiplied(products, factor, extents)?;
            if products.len() > Set::MOST_PIECES {
                return Err(Error::TooHard { span });
            }
        }
        let mut found = Vec::new();
        for mut product in products {
            for name in term.names() {
                if !head.names.iter().chain(&product.summed).any(|known| known == name) {
                    product.summed.push(name.to_string());
                }
            }
            found.extend(product.settled(head, extents)?);
        }
        Ok(found)
    }

    /// The product with all of its variables told, or `None` if it is 0 everywhere.
    fn settled(mut self, head: &Head, extents: &Extents) -> Result<Option<Product>, Error> {
        let span = self.span;
        let too_large = || Error::Large { span };
        self.eliminate(head).ok_or_else(too_large)?;
        if !self.confine(head, extents)? {
            return Ok(None);
        }
        while self.place(head).ok_or_else(too_large)? {}
        self.keep_conditions()?;
        self.count();
        Ok((self.number != 0.0).then_some(self))
    }

    /// Each product times a factor.
    fn multiplied(mut products: Vec<Product>, factor: &Factor, extents: &Extents) -> Result<Vec<Product>, Error> {
        match factor {
            Factor::Number { text, inverse, span } => {
                let number: f64 = text.parse().unwrap_or(f64::NAN);
                let number = if *inverse { number.recip() } else { number };
                for product in &mut products {
                    product.number *= number;
                    if !product.number.is_finite() {
                        return Err(Error::Number { span: *span });
                    }
                }
            }
            Factor::Comparison { condition, span, .. } => {
                let told = conditions(condition, *span, &|name| Form::name(name))?;
                products.iter_mut().for_each(|product| product.conditions.extend(told.iter().cloned()));
            }
            Factor::Access(access) => {
                let Access { tensor, inverse, part, span, .. } = access;
                let (indices, inverse, span) = (access.forms(&|name| Form::name(name)), *inverse, *span);
                let set = if *part == Part::Values { Part::Dimensions } else { *part };
                let pieces = extents.at(tensor, set, &indices, span)?;
                let with = |product: &Product, piece: &Within| {
                    let mut product = product.clone();
                    product.conditions.extend(piece.conditions.iter().cloned());
                    product.number *= piece.value;
                    if *part == Part::Values {
                        let indices = indices.clone();
                        product.reads.push(Read { tensor: tensor.clone(), inverse, indices, span });
                    }
                    product
                };
                let all = |product: &Product| pieces.iter().map(|piece| with(product, piece)).collect::<Vec<_>>();
                products = products.iter().flat_map(all).collect();
            }
            // Terms have none.
            Factor::Sum(terms) => {
                return Err(Error::TooHard { span: terms.first().map_or(Span::NONE, |term| term.span) });
            }
        }
        Ok(products)
    }

    /// Replaces variables that equations tell: an index by another variable or a number, others by any form.
    fn eliminate(&mut self, head: &Head) -> Option<()> {
        let Product { reads, conditions, summed, .. } = self;
        eliminate(conditions, &|name| head.names.iter().any(|own| own == name), &mut |name, value| {
            let is_index = |read: &Read| read.indices.iter().any(|index| index.as_name() == Some(name));
            if reads.iter().any(is_index) && value.as_name().is_none() && value.as_number().is_none() {
                return Some(false);
            }
            for index in reads.iter_mut().flat_map(|read| &mut read.indices) {
                *index = index.substituted(&|other| (other == name).then(|| value.clone()))?;
            }
            summed.retain(|own| own != name);
            Some(true)
        })
    }

    /// Gives each variable a size, and leaves out conditions that hold for all values; false if nothing holds.
    fn confine(&mut self, head: &Head, extents: &Extents) -> Result<bool, Error> {
        let mut ranges: Ranges =
            head.names.iter().zip(&head.sizes).map(|(name, size)| (name.clone(), Range::of_size(*size))).collect();
        for read in &self.reads {
            let dims = extents.dims.get(&read.tensor).into_iter().flatten();
            for (index, size) in read.indices.iter().zip(dims) {
                if let Some(name) = index.as_name() {
                    let own = ranges.entry(name.to_string()).or_default();
                    *own = own.meet(Range::of_size(*size));
                }
            }
        }
        // Comparisons tell the ranges of variables that are no index.
        let mut told = ranges.clone();
        propagate(&self.conditions, &mut told);
        if told.values().any(|range| range.is_empty()) {
            return Ok(false);
        }
        for name in &self.summed {
            if ranges.contains_key(name) {
                continue;
            }
            let Some(Range { low: Some(low), high: Some(high) }) = told.get(name).copied() else {
                return Err(Error::Unbounded { span: self.span, name: name.clone() });
            };
            let moved = Form::name(name).shifted(low).ok_or(Error::Large { span: self.span })?;
            for condition in &mut self.conditions {
                let meaning = |other: &str| (other == name).then(|| moved.clone());
                condition.form = condition.form.substituted(&meaning).ok_or(Error::Large { span: condition.span })?;
            }
            ranges.insert(name.clone(), Range { low: Some(0), high: high.checked_sub(low) });
        }
        self.ranges = ranges;
        self.keep_conditions()?;
        let never = |condition: &Condition| condition.holds(&self.ranges) == Holds::Never;
        if self.conditions.iter().any(never) {
            return Ok(false);
        }
        Ok(true)
    }

    /// Places an index that an equation tells; false if there is none.
    fn place(&mut self, head: &Head) -> Option<bool> {
        let mut found: Option<(usize, String, Form)> = None;
        for (at, Condition { form, sign, .. }) in self.conditions.iter().enumerate() {
            if *sign != Sign::Equal {
                continue;
            }
            for name in form.names() {
                let is_better = found.as_ref().is_none_or(|(_, known, _)| {
                    let weight = |name: &str| (self.loop_size(head, name), head.size(name).is_none());
                    weight(name) > weight(known)
                });
                if is_better && self.is_placeable(head, form, name) {
                    found = Some((at, name.to_string(), form.without(name).times(-form.factor(name))?));
                }
            }
        }
        let Some((at, name, form)) = found else { return Some(false) };
        let Condition { span, .. } = self.conditions.remove(at);
        let size = self.loop_size(head, &name);
        let meaning = |other: &str| (other == name).then(|| form.clone());
        for other in &mut self.conditions {
            other.form = other.form.substituted(&meaning)?;
        }
        for placed in &mut self.placed {
            let was_affine = placed.form.is_affine();
            placed.form = placed.form.substituted(&meaning)?;
            if was_affine {
                self.conditions.extend(placed.is_inside()?);
            }
        }
        let placed = Placed { name, form, size, span };
        self.conditions.extend(placed.is_inside()?);
        self.summed.retain(|own| *own != placed.name);
        self.placed.push(placed);
        Some(true)
    }

    /// True if an index can be placed by an equation. It should be if that saves the longest loop; for an equation between two variables,
    /// or between those of the result, the loops are good enough as they are.
    fn is_placeable(&self, head: &Head, form: &Form, name: &str) -> bool {
        let is_index = |read: &Read| read.indices.iter().any(|index| index.as_name() == Some(name));
        let is_result = head.names.iter().any(|own| own == name);
        let (factor, rest) = (form.factor(name), form.without(name));
        let others = rest.names();
        let is_known = self.placed.iter().any(|placed| placed.name == name);
        if factor.unsigned_abs() != 1
            || others.contains(name)
            || is_known
            || !(is_result || self.reads.iter().any(is_index))
        {
            return false;
        }
        let is_small = |number: i64| number.unsigned_abs() <= Equation::MOST.unsigned_abs();
        let are_small = is_small(rest.constant) && rest.terms.iter().all(|(_, factor)| is_small(*factor));
        match rest.is_affine() {
            false => true,
            true if !are_small => false,
            true => !is_result || (others.len() > 1 && self.summed.iter().any(|own| others.contains(own.as_str()))),
        }
    }

    /// The number of values of a variable of the rule.
    fn loop_size(&self, head: &Head, name: &str) -> i64 {
        head.size(name).unwrap_or_else(|| self.size(name))
    }

    /// Leaves out comparisons that hold for all values, and those that are there already.
    fn keep_conditions(&mut self) -> Result<(), Error> {
        let mut kept: Vec<Condition> = Vec::new();
        for condition in std::mem::take(&mut self.conditions) {
            let (Some(_), Some(_)) = condition.form.bounds(&self.ranges) else {
                return Err(Error::Large { span: condition.span });
            };
            let is_known = |own: &Condition| own.form == condition.form && own.sign == condition.sign;
            if condition.holds(&self.ranges) != Holds::Always && !kept.iter().any(is_known) {
                kept.push(condition);
            }
        }
        self.conditions = kept;
        Ok(())
    }

    /// Multiplies by the number of values of each variable that nothing depends on, in the place of the sum over it.
    fn count(&mut self) {
        let occurs = |name: &String| {
            let in_conditions = self.conditions.iter().any(|condition| condition.form.names().contains(name.as_str()));
            let forms = || self.reads.iter().flat_map(|read| &read.indices);
            let in_places = self.placed.iter().any(|placed| placed.form.names().contains(name.as_str()));
            in_conditions || in_places || forms().any(|index| index.names().contains(name.as_str()))
        };
        let (left, counted): (Vec<String>, Vec<String>) = self.summed.iter().cloned().partition(occurs);
        for name in &counted {
            let Range { low, high } = self.ranges.get(name).copied().unwrap_or_default();
            let count = high.zip(low).map_or(0, |(high, low)| high.saturating_sub(low).saturating_add(1));
            self.number *= count as f64;
        }
        self.summed = left;
    }

    /// The number of values of a variable that is summed over.
    pub fn size(&self, name: &str) -> i64 {
        self.ranges.get(name).and_then(|range| range.high).map_or(0, |high| high.saturating_add(1).max(0))
    }
}

impl Rule {
    /// The accesses of values, that of the head first.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &Access> {
        let mut found = vec![&self.head];
        gather(&self.terms, &mut found);
        found.into_iter().filter(|access| access.part == Part::Values)
    }
}

fn gather<'a>(terms: &'a [Term], found: &mut Vec<&'a Access>) {
    for factor in terms.iter().flat_map(|term| &term.factors) {
        match factor {
            Factor::Access(access) => found.push(access),
            Factor::Sum(terms) => gather(terms, found),
            Factor::Comparison { .. } | Factor::Number { .. } => {}
        }
    }
}
