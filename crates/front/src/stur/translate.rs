//! Rules to statements: the text of a program of rules in the language of statements, and where each part of it is from.
//!
//! A rule for values becomes an assignment, a term a sum over the variables that are not in the head, and a comparison a factor. A variable of
//! statements has one size, so that variables of one name and several sizes get several names; an index that is smaller than its dimension is
//! written as a sum.
//!
//! ```text
//! C(i) := u(i) + v(p) * (p = i - n)      n = 3, m = 2      C[i] = u[i + 0] + sum(p, v[p] * (p + 3 == i))
//! ```
//!
//! On exit the text has no mistake of syntax, but may be too long or too deep; checks of names, sizes and types follow.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use lacunar_base::Span;

use super::error::Error;
use super::extents::Extents;
use super::form::{Atom, Form};
use super::meaning::flattened;
use super::product::{Head, Product, Read};
use super::ranges::{Condition, Ranges, Sign};
use super::{Part, Program, Rule};

/// Words that would mean something else as the name of a variable.
const WORDS: &[&str] = &["inf", "true", "false", "size", "wrap", "clamp"];

/// Statements in the place of rules.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub text: String,
    /// Parts of the text, each with the place in the rules that it is from. A part comes behind those in it.
    pub places: Vec<(Span, Span)>,
    /// The sizes of variables.
    pub sizes: IndexMap<String, u64>,
    /// For each statement the variables of its rule by their names there.
    pub variables: Vec<BTreeMap<String, BTreeSet<String>>>,
}

impl Statements {
    /// Of a program without symbols.
    pub fn of(program: &Program, extents: &Extents) -> Result<Statements, Vec<Error>> {
        let rules = || program.rules.iter().filter(|rule| rule.head.part == Part::Values);
        let tensors: BTreeSet<String> = rules().flat_map(Rule::accesses).map(|access| access.tensor.clone()).collect();
        let taken = tensors.into_iter().chain(WORDS.iter().map(|word| (*word).to_string())).collect();
        let mut writer = Writer { statements: Statements::default(), taken, names: BTreeMap::new(), inverse: None };
        let inverts = |rule: &Rule| rule.accesses().any(|access| access.inverse);
        if rules().any(inverts) {
            let name = writer.free("inverse");
            // Where nothing is stored, or a zero, there is nothing to be inverted.
            writer.put(&format!("op {name}(a) {{ present 1 / a }}\n"));
            writer.inverse = Some(name);
        }
        let errors: Vec<Error> = rules().filter_map(|rule| writer.rule(rule, extents).err()).collect();
        if errors.is_empty() { Ok(writer.statements) } else { Err(errors) }
    }

    /// The place in the rules that a part of the text is from: that of the smallest known part around it.
    pub fn place(&self, span: Span) -> Span {
        let around = |part: &&(Span, Span)| part.0.start <= span.start && span.end <= part.0.end;
        let smallest = self.places.iter().filter(around).min_by_key(|(part, _)| part.end - part.start);
        smallest.map_or(Span::NONE, |(_, place)| *place)
    }
}

struct Writer {
    statements: Statements,
    /// The names that a variable can't have.
    taken: BTreeSet<String>,
    /// The names of variables, by those in the rules and the sizes.
    names: BTreeMap<(String, i64), String>,
    /// The name of the operator that inverts elements.
    inverse: Option<String>,
}

/// The variables of a term.
struct Term<'a> {
    head: &'a Head,
    product: &'a Product,
    extents: &'a Extents,
    /// Their names in statements, by those in the rules.
    names: BTreeMap<String, String>,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.statements.text += text;
    }

    /// Writes a part that is from a place of the rules.
    fn part(&mut self, place: Span, write: impl FnOnce(&mut Writer)) {
        let start = self.statements.text.len();
        write(self);
        self.statements.places.push((Span::new(start, self.statements.text.len()), place));
    }

    /// A name that nothing has yet.
    fn free(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}{number}");
        }
        name
    }

    /// The variable of statements for one of rules.
    fn variable(&mut self, name: &str, size: i64) -> String {
        let key = (name.to_string(), size);
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let own = self.free(name.trim_end_matches('\''));
        self.names.insert(key, own.clone());
        self.statements.sizes.insert(own.clone(), u64::try_from(size).unwrap_or(0));
        own
    }

    fn rule(&mut self, rule: &Rule, extents: &Extents) -> Result<(), Error> {
        let head = Head::of(rule, extents)?;
        let mut products = Vec::new();
        for term in flattened(&rule.terms)? {
            products.extend(Product::of(&term, &head, extents)?);
        }
        let mut names = BTreeMap::new();
        for (name, size) in head.names.iter().zip(&head.sizes) {
            names.insert(name.clone(), self.variable(name, *size));
        }
        self.part(rule.span, |writer| {
            let indices: Vec<&str> = head.names.iter().filter_map(|name| names.get(name)).map(String::as_str).collect();
            let indices = indices.join(",");
            writer.part(rule.head.span, |writer| writer.put(&format!("{}[{indices}]", rule.head.tensor)));
            writer.put(" = ");
            for (number, product) in products.iter().enumerate() {
                writer.put(if number > 0 { " + " } else { "" });
                let mut names = names.clone();
                for name in &product.summed {
                    names.insert(name.clone(), writer.variable(name, product.size(name)));
                }
                let term = Term { head: &head, product, extents, names };
                writer.part(product.span, |writer| writer.term(&term));
            }
            writer.put(if products.is_empty() { "0.0" } else { "" });
        });
        self.note(&head, &names, &products);
        self.put("\n");
        Ok(())
    }

    /// Notes which variables of the statement are which of the rule.
    fn note(&mut self, head: &Head, names: &BTreeMap<String, String>, products: &[Product]) {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in &head.names {
            all.entry(name.clone()).or_default().extend(names.get(name).cloned());
        }
        for product in products {
            for name in &product.summed {
                all.entry(name.clone()).or_default().insert(self.variable(name, product.size(name)));
            }
        }
        self.statements.variables.push(all);
    }

    fn term(&mut self, term: &Term<'_>) {
        let Product { number, reads, conditions, summed, .. } = term.product;
        if !summed.is_empty() {
            let names: Vec<&str> = summed.iter().map(|name| term.name(name)).collect();
            self.put(&format!("sum({}, ", names.join(", ")));
        }
        let mut separator = "";
        // A product of comparisons alone would be a truth value.
        if *number != 1.0 || reads.is_empty() {
            self.put(&format!("{number:?}"));
            separator = " * ";
        }
        for read in reads {
            self.put(separator);
            self.part(read.span, |writer| writer.read(read, term));
            separator = " * ";
        }
        for condition in conditions {
            self.put(separator);
            self.part(condition.span, |writer| writer.put(&term.condition(condition)));
            separator = " * ";
        }
        self.put(if summed.is_empty() { "" } else { ")" });
    }

    fn read(&mut self, read: &Read, term: &Term<'_>) {
        let dims = term.extents.dims.get(&read.tensor).into_iter().flatten();
        let index = |(form, size): (&Form, &i64)| match form.as_name() {
            Some(name) if term.size(name) == *size => term.name(name).to_string(),
            Some(name) => format!("{} + 0", term.name(name)),
            None => term.form(form),
        };
        let indices: Vec<String> = read.indices.iter().zip(dims).map(index).collect();
        let access = format!("{}[{}]", read.tensor, indices.join(","));
        match &self.inverse {
            Some(name) if read.inverse => self.put(&format!("{name}({access})")),
            _ => self.put(&access),
        }
    }
}

impl Term<'_> {
    /// The name of a variable in statements.
    fn name<'n>(&'n self, name: &'n str) -> &'n str {
        self.names.get(name).map_or(name, String::as_str)
    }

    fn size(&self, name: &str) -> i64 {
        let in_head = self.head.names.iter().position(|own| own == name);
        in_head.and_then(|place| self.head.sizes.get(place).copied()).unwrap_or_else(|| self.product.size(name))
    }

    /// `(i + 2 * j <= k + 3)`, with what is subtracted on the right.
    fn condition(&self, condition: &Condition) -> String {
        let sign = match condition.sign {
            Sign::AtLeast => ">=",
            Sign::Equal => "==",
            Sign::Unequal => "!=",
        };
        let (left, right) = self.sides(&condition.form);
        format!("({left} {sign} {right})")
    }

    fn form(&self, form: &Form) -> String {
        match self.sides(form) {
            (left, right) if right == "0" => left,
            (left, right) => format!("{left} - ({right})"),
        }
    }

    /// The sum of what is added, and of what is subtracted.
    fn sides(&self, form: &Form) -> (String, String) {
        let mut sides = [Vec::new(), Vec::new()];
        let mut constant = i128::from(form.constant);
        for (atom, factor) in &form.terms {
            let (text, beyond) = self.atom(atom);
            constant += beyond * i128::from(*factor);
            let times = factor.unsigned_abs();
            let text = if times == 1 { text } else { format!("{times}*{text}") };
            sides[usize::from(*factor < 0)].push(text);
        }
        if constant != 0 {
            sides[usize::from(constant < 0)].push(constant.unsigned_abs().to_string());
        }
        let [left, right] = sides.map(|side| if side.is_empty() { "0".to_string() } else { side.join(" + ") });
        (left, right)
    }

    /// An atom, less a number that comes back with it: divisions of statements round towards zero, so that what is divided is made
    /// positive before.
    fn atom(&self, atom: &Atom) -> (String, i128) {
        match atom {
            Atom::Name(name) => (self.name(name).to_string(), 0),
            Atom::Product(a, b) => (format!("({})*({})", self.form(a), self.form(b)), 0),
            Atom::Quotient(inner, by) => {
                let (text, times) = self.raised(inner, *by);
                (format!("idiv({text}, {by})"), -times)
            }
            Atom::Remainder(inner, by) => (format!("mod({}, {by})", self.raised(inner, *by).0), 0),
        }
    }

    /// A form that is not negative, by so many times a number more than another.
    fn raised(&self, inner: &Form, by: i64) -> (String, i128) {
        let ranges: &Ranges = &self.product.ranges;
        let low = inner.bounds(ranges).0.unwrap_or(0);
        let times = if low < 0 { -low.div_euclid(i128::from(by)) } else { 0 };
        let more = i64::try_from(times * i128::from(by)).ok().and_then(|more| inner.shifted(more));
        (self.form(more.as_ref().unwrap_or(inner)), times)
    }
}
