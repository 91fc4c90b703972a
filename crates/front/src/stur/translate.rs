//! Rules to statements: the text of a program of rules in the language of statements, and the origin of each part of it.
//!
//! A rule for values becomes an assignment, a term a sum over the variables that are not in the head, and a comparison a factor. A variable of
//! statements has one size, so that variables of one name and several sizes get several names; an index that is smaller than its dimension is
//! written as a sum.
//!
//! ```text
//! C(i) := u(i) + v(p) * (p = i - n)      n = 3, m = 2      C[i] = u[i + 0] + sum(p, v[p] * (p + 3 == i))
//! ```
//!
//! A placed index is written as the sum that it is. Other values are a tensor of their own, by which elements are gathered. If an index of
//! the result is placed, elements are added there.
//!
//! ```text
//! p(s) := A(i,j) * (s = i*j)             s_at[i,j] = (i)*(j)
//!                                        p[s_at[i,j]] += A[i,j]
//! ```
//!
//! On exit the text has no mistake of syntax, but may be too long or too deep; checks of names, sizes and types follow.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_formats::{DType, Kind};

use super::error::Error;
use super::extents::Extents;
use super::form::{Atom, Form};
use super::meaning::flattened;
use super::product::{Head, Placed, Product, Read};
use super::ranges::{Condition, Range, Ranges, Sign};
use super::{Access, Part, Program, Rule};
use crate::einsum;

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
    /// For each rule the variables of its statements by their names there.
    pub variables: Vec<BTreeMap<String, BTreeSet<String>>>,
    /// For each rule the number of its first statement, from 1.
    pub numbers: Vec<usize>,
    /// The tensors with the values of placed indices.
    pub indices: BTreeSet<String>,
    /// The number that mentions tensors, if there is one.
    pub unused: Option<String>,
    /// The number of statements.
    count: usize,
}

impl Statements {
    /// The statements of a program without symbols. `types` are those of the tensors that its rules assign.
    pub fn of(program: &Program, extents: &Extents, types: &IndexMap<String, DType>) -> Result<Statements, Vec<Error>> {
        let rules = || program.rules.iter().filter(|rule| rule.head.part == Part::Values);
        let tensors: BTreeSet<String> = rules().flat_map(Rule::accesses).map(|access| access.tensor.clone()).collect();
        let taken = tensors.into_iter().chain(WORDS.iter().map(|word| (*word).to_string())).collect();
        let mut writer = Writer {
            statements: Statements::default(),
            taken,
            types,
            names: BTreeMap::new(),
            inverse: None,
            made: BTreeMap::new(),
            written: BTreeSet::new(),
        };
        let inverts = |rule: &Rule| rule.accesses().any(|access| access.inverse);
        if rules().any(inverts) {
            let name = writer.free("inverse");
            // Where nothing is stored, or a zero, there is nothing to be inverted.
            writer.put(&format!("op {name}(a) {{ present 1 / a }}\n"));
            writer.inverse = Some(name);
        }
        let errors: Vec<Error> = rules().filter_map(|rule| writer.rule(rule, extents).err()).collect();
        let read: Vec<(&str, &Access)> =
            rules().flat_map(Rule::accesses).map(|access| (access.tensor.as_str(), access)).collect();
        writer.mention(&read.into_iter().collect());
        let Writer { mut statements, .. } = writer;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = statements.text.split(|c| !is_word(c)).collect();
        statements.sizes.retain(|name, _| words.contains(name.as_str()));
        if errors.is_empty() { Ok(statements) } else { Err(errors) }
    }

    /// The place in the rules that a part of the text is from: that of the smallest known part around it.
    pub fn place(&self, span: Span) -> Span {
        let around = |part: &&(Span, Span)| part.0.start <= span.start && span.end <= part.0.end;
        let smallest = self.places.iter().filter(around).min_by_key(|(part, _)| part.end - part.start);
        smallest.map_or(Span::NONE, |(_, place)| *place)
    }
}

struct Writer<'a> {
    statements: Statements,
    /// The types of the tensors that are assigned.
    types: &'a IndexMap<String, DType>,
    /// The names that a variable can't have.
    taken: BTreeSet<String>,
    /// The names of variables, by those in the rules and the sizes.
    names: BTreeMap<(String, i64), String>,
    /// The name of the operator that inverts elements.
    inverse: Option<String>,
    /// The tensors of values of indices, by their definitions.
    made: BTreeMap<String, String>,
    /// The tensors of rules that are in the text.
    written: BTreeSet<String>,
}

/// The variables of a term.
struct Term<'a> {
    head: &'a Head,
    product: &'a Product,
    extents: &'a Extents,
    /// The values that they take in loops: those of the head all of a dimension, though an element that is read may be absent for some.
    ranges: Ranges,
    /// Their names in statements, by those in the rules.
    names: BTreeMap<String, String>,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.statements.text += text;
    }

    /// Writes a part that is from a place of the rules.
    fn part(&mut self, place: Span, write: impl FnOnce(&mut Self)) {
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
        let mut terms = Vec::new();
        let mut variables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for product in &products {
            let mut names = self.named(&head);
            for name in &product.summed {
                names.insert(name.clone(), self.variable(name, product.size(name)));
            }
            for (name, own) in &names {
                variables.entry(name.clone()).or_default().insert(own.clone());
            }
            let mut ranges = product.ranges.clone();
            ranges.extend(head.names.iter().cloned().zip(head.sizes.iter().map(|size| Range::of_size(*size))));
            let mut term = Term { head: &head, product, extents, ranges, names };
            self.places(&mut term);
            terms.push(term);
        }
        self.statements.variables.push(variables);
        self.statements.numbers.push(self.statements.count + 1);
        let (plain, scattered): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| !term.is_scattered());
        if let ([], [only]) = (plain.as_slice(), scattered.as_slice())
            && only.is_told()
        {
            self.statement(rule, (&head, &only.names), "=", &scattered);
            return Ok(());
        }
        if !plain.is_empty() || scattered.is_empty() {
            let names = self.named(&head);
            self.statement(rule, (&head, &names), "=", &plain);
        }
        for term in &scattered {
            self.statement(rule, (&head, &term.names), "+=", std::slice::from_ref(term));
        }
        Ok(())
    }

    /// Mentions the tensors of which all terms are 0, so that they are given as others are.
    fn mention(&mut self, accesses: &BTreeMap<&str, &Access>) {
        let missing = accesses.iter().filter(|(tensor, _)| !self.written.contains(**tensor));
        let elements: Vec<(Span, String)> = missing
            .map(|(tensor, access)| (access.span, format!("{tensor}[{}]", vec!["0"; access.indices.len()].join(","))))
            .collect();
        let Some((first, _)) = elements.first() else { return };
        let name = self.free("unused");
        self.part(*first, |writer| {
            writer.put(&format!("{name}[] = select(false, "));
            for (number, (span, element)) in elements.iter().enumerate() {
                writer.put(if number > 0 { " + " } else { "" });
                writer.part(*span, |writer| writer.put(element));
            }
            writer.put(", 0.0)");
        });
        self.put("\n");
        self.statements.unused = Some(name);
    }

    /// The variables of a head.
    fn named(&mut self, head: &Head) -> BTreeMap<String, String> {
        head.names.iter().zip(&head.sizes).map(|(name, size)| (name.clone(), self.variable(name, *size))).collect()
    }

    /// Makes the tensors with the values of a term's placed indices, whose elements take the places of names.
    fn places(&mut self, term: &mut Term<'_>) {
        for Placed { name, form, size, span } in &term.product.placed {
            let value = term.form(form);
            if form.is_affine() {
                // A variable of another size is written as a sum, and so is one that stands in two indices of the result.
                let is_of_result = term.head.names.contains(name);
                let is_other = form.as_name().is_some_and(|own| is_of_result || term.size(own) != *size);
                term.names.insert(name.clone(), if is_other { value + " + 0" } else { value });
                continue;
            }
            let names: BTreeSet<&str> = form.names().into_iter().map(|name| term.name(name)).collect();
            let indices = names.into_iter().collect::<Vec<_>>().join(",");
            let (low, high) = form.bounds(&term.ranges);
            let is_inside = low.is_some_and(|low| low >= 0) && high.is_some_and(|high| high < i128::from(*size));
            let value = match is_inside {
                true => value,
                false => format!("select(and({value} >= 0, {value} < {size}), {value}, 0)"),
            };
            let tensor = match self.made.get(&value) {
                Some(known) => known.clone(),
                None => {
                    let own = self.free(&format!("{}_at", name.trim_end_matches('\'')));
                    self.part(*span, |writer| writer.put(&format!("{own}[{indices}] = {value}")));
                    self.put("\n");
                    self.statements.count += 1;
                    self.made.insert(value, own.clone());
                    self.statements.indices.insert(own.clone());
                    own
                }
            };
            term.names.insert(name.clone(), format!("{tensor}[{indices}]"));
        }
    }

    fn statement(
        &mut self,
        rule: &Rule,
        (head, names): (&Head, &BTreeMap<String, String>),
        sign: &str,
        terms: &[Term<'_>],
    ) {
        self.written.insert(rule.head.tensor.clone());
        self.part(rule.span, |writer| {
            let indices: Vec<&str> = head.names.iter().filter_map(|name| names.get(name)).map(String::as_str).collect();
            let indices = indices.join(",");
            writer.part(rule.head.span, |writer| writer.put(&format!("{}[{indices}]", rule.head.tensor)));
            writer.put(&format!(" {sign} "));
            for (number, term) in terms.iter().enumerate() {
                writer.put(if number > 0 { " + " } else { "" });
                writer.part(term.product.span, |writer| writer.term(&rule.head.tensor, term));
            }
            if terms.is_empty() {
                let is_bool = writer.types.get(&rule.head.tensor) == Some(&DType::Bool);
                writer.put(if is_bool { "false" } else { "0" });
            }
        });
        self.put("\n");
        self.statements.count += 1;
    }

    fn term(&mut self, tensor: &str, term: &Term<'_>) {
        let Product { reads, conditions, .. } = term.product;
        let summed = term.summed();
        if !summed.is_empty() {
            self.put(&format!("sum({}, ", summed.join(", ")));
        }
        let mut separator = "";
        if let Some(number) = self.number(tensor, term) {
            self.put(&number);
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

    /// The number of a product, as the rule's type has it: in one of whole numbers, it can only be that of the values that a variable has which
    /// is nowhere read, and truth values are the same however often they are added.
    fn number(&self, tensor: &str, term: &Term<'_>) -> Option<String> {
        let Product { number, reads, .. } = term.product;
        let kind = self.types.get(tensor).map(|dtype| dtype.kind());
        match kind {
            // A product of comparisons alone would be a truth value.
            _ if reads.is_empty() => Some(format!("{number:?}")),
            Some(Kind::Bool) => None,
            _ if *number == 1.0 => None,
            Some(Kind::Unsigned | Kind::Signed) => Some(number.to_string()),
            _ => Some(format!("{number:?}")),
        }
    }

    fn read(&mut self, read: &Read, term: &Term<'_>) {
        let dims = term.extents.dims.get(&read.tensor).into_iter().flatten();
        let index = |(form, size): (&Form, &i64)| match form.as_name() {
            Some(name) if term.size(name) == *size => term.name(name).to_string(),
            Some(name) => format!("{} + 0", term.name(name)),
            None => term.form(form),
        };
        let indices: Vec<String> = read.indices.iter().zip(dims).map(index).collect();
        self.written.insert(read.tensor.clone());
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
        self.head.size(name).unwrap_or_else(|| self.product.size(name))
    }

    /// True if an index of the result is placed.
    fn is_scattered(&self) -> bool {
        self.product.placed.iter().any(|placed| self.head.names.contains(&placed.name))
    }

    /// True if the indices of the result tell all variables in them, so that no element is assigned twice.
    fn is_told(&self) -> bool {
        let mut forms = Vec::new();
        for name in &self.head.names {
            let placed = self.product.placed.iter().find(|placed| placed.name == *name);
            let form = placed.map_or_else(|| Form::name(name), |placed| placed.form.clone());
            if !form.is_affine() {
                return false;
            }
            forms.push(form.names().into_iter().map(|name| (name.to_string(), form.factor(name))).collect());
        }
        einsum::tells(&forms, &|name| u64::try_from(self.size(name)).ok())
    }

    /// The variables that a sum is taken over. Variables in the indices of the result have loops without a sum.
    fn summed(&self) -> Vec<&str> {
        let of_result = self.product.placed.iter().filter(|placed| self.head.names.contains(&placed.name));
        let outside: BTreeSet<&str> = of_result.flat_map(|placed| placed.form.names()).collect();
        let summed = self.product.summed.iter().filter(|name| !outside.contains(name.as_str()));
        summed.map(|name| self.name(name)).collect()
    }

    /// `(i + 2 * j <= k + 3)`, with the negative terms on the right.
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

    /// The sum of the positive terms, and that of the negative ones.
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

    /// An atom, less a number that the caller adds again: divisions of statements round towards zero, so that their dividends are
    /// made positive before.
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
        let low = inner.bounds(&self.ranges).0.unwrap_or(0);
        let times = if low < 0 { -low.div_euclid(i128::from(by)) } else { 0 };
        let more = i64::try_from(times * i128::from(by)).ok().and_then(|more| inner.shifted(more));
        (self.form(more.as_ref().unwrap_or(inner)), times)
    }
}
