//! A program of rules to a checked program: symbols become numbers, rules statements, which are checked as others are.
//!
//! Mistakes that are found in statements are told at the places of the rules that they are from.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use lacunar_base::{Diagnostic, Span};
use lacunar_formats::{DType, Kind};
use lacunar_notation::{Program as Checked, Role, Structure};

use super::error::Error;
use super::extents::Extents;
use super::symbols::{symbols, unknown, with_numbers};
use super::translate::Statements;
use super::{Factor, Part, Program, Term, names, parse_with};
use crate::einsum::{self, Declarations, Language};

/// A program of rules in the language of statements.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The statements.
    pub text: String,
    /// The declarations of their tensors and variables.
    pub declarations: Declarations,
    /// The orders of loops that the program asks for, each as a command of a schedule.
    pub orders: Vec<String>,
    /// The structures of tensors with rules for unique elements. Parameters are the sizes of their dimensions.
    pub structures: BTreeMap<String, Structure>,
    /// The tensors that are computed for the user, if the program says so.
    pub outputs: Vec<String>,
}

/// Turns a program of rules into statements. The declarations are those of the rules' tensors, and of symbols as if they were variables.
///
/// # Errors
/// All mistakes in the text, or the first that keep it from being computed: E1521 to E1539.
///
/// ```
/// use lacunar_front::{Declarations, stur};
/// let rules = "symbols: n\nA:D(i,j) := (0 <= i < n) * (0 <= j < n)\nx:D(i) := (0 <= i < n)\ny:D(i) := (0 <= i < n)\n\
///     y(i) := A(i,j) * (j <= i) * x(j)\n";
/// let translated = stur::translate(rules, &Declarations::new().size("n", 5)).unwrap();
/// assert_eq!(translated.text, "y[i] = sum(j, A[i,j] * x[j] * (i >= j))\n");
/// assert_eq!(translated.declarations.dims["A"], [5, 5]);
/// ```
pub fn translate(source: &str, declarations: &Declarations) -> Result<Translated, Vec<Diagnostic>> {
    parts(source, declarations).map(|(translated, _)| translated)
}

/// The sizes of the tensors whose rules for dimensions have symbols that are declared, or that follow from declared sizes, and no others.
///
/// ```
/// use lacunar_front::{Declarations, stur};
/// let rules = "symbols: n, m\nA:D(i,j) := (0 <= i < n) * (0 <= j < 2*n)\nx:D(i) := (0 <= i < m)\n";
/// let sizes = stur::sizes(rules, &Declarations::new().size("n", 5));
/// assert_eq!((sizes.len(), sizes["A"].as_slice()), (1, [5, 10].as_slice()));
/// ```
pub fn sizes(source: &str, declarations: &Declarations) -> BTreeMap<String, Vec<u64>> {
    let Ok(written) = names(source) else { return BTreeMap::new() };
    let Ok(known) = symbols(&written, declarations) else { return BTreeMap::new() };
    let Ok(mut program) = parse_with(source, &|name| known.get(name).copied()) else { return BTreeMap::new() };
    let open: Vec<String> = program.symbols.iter().filter(|symbol| !known.contains_key(*symbol)).cloned().collect();
    program = with_numbers(&program, &known);
    program
        .rules
        .retain(|rule| rule.head.part == Part::Dimensions && unknown(std::slice::from_ref(rule), &open).is_none());
    let sizes = Extents::of(&program, declarations).map(|extents| extents.dims).unwrap_or_default();
    let unsigned = |dims: Vec<i64>| dims.into_iter().map(|size| u64::try_from(size).unwrap_or(0)).collect();
    sizes.into_iter().map(|(name, dims)| (name, unsigned(dims))).collect()
}

/// Checks a program of rules.
pub(crate) fn check(source: &str, declarations: &Declarations) -> Result<Checked, Vec<Diagnostic>> {
    let (translated, statements) = parts(source, declarations)?;
    let (mut ast, mut mistakes) = einsum::parse_with(&translated.text, &declarations.operators, true);
    let place = |span: Span| statements.place(span);
    let labels = mistakes.iter_mut().flat_map(|mistake| &mut mistake.labels);
    labels.for_each(|label| label.span = place(label.span));
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    ast.move_spans(&place);
    let mut checked = einsum::check_tree(ast, &translated.declarations)?;
    let outputs = checked.tensors.iter().filter(|(_, tensor)| translated.outputs.contains(&tensor.name));
    checked.outputs = outputs.map(|(id, _)| id).collect();
    for (name, structure) in translated.structures {
        let input = checked.tensors.iter().find(|(_, tensor)| tensor.name == name && tensor.role == Role::Input);
        // Declarations beside the rules come first.
        let Some(id) = input.filter(|(_, tensor)| tensor.structure.is_none()).map(|(id, _)| id) else { continue };
        let tensor = &mut checked.tensors[id];
        if structure.space().params.len() == tensor.order() && tensor.fill().is_zero() {
            tensor.is_unique = declarations.unique.contains(&name);
            tensor.structure = Some(Box::new(structure));
        }
    }
    Ok(checked)
}

/// The statements, and their places.
fn parts(source: &str, declarations: &Declarations) -> Result<(Translated, Statements), Vec<Diagnostic>> {
    let written = names(source)?;
    let told = |errors: Vec<Error>| errors.into_iter().map(Error::into_diagnostic).collect::<Vec<_>>();
    let one = |error| told(vec![error]);
    arranged(&written).map_err(told)?;
    let known = symbols(&written, declarations).map_err(one)?;
    let parsed = parse_with(source, &|name| known.get(name).copied()).map_err(|mistakes| {
        // Where a number has to stand, so may a symbol whose value is known.
        let symbol = mistakes.first().and_then(|mistake| mistake.labels.first()).and_then(|label| {
            let name = source.get(label.span.start as usize..label.span.end as usize)?;
            let is_open = written.symbols.iter().any(|symbol| symbol == name) && !known.contains_key(name);
            is_open.then(|| Error::Symbol { span: label.span, name: name.to_string() })
        });
        symbol.map_or(mistakes, one)
    })?;
    let program = with_numbers(&parsed, &known);
    if let Some(error) = unknown(&program.rules, &written.symbols) {
        return Err(one(error));
    }
    let extents = Extents::of(&program, declarations).map_err(one)?;
    let types = types(&written, declarations);
    let statements = Statements::of(&program, &extents, &types).map_err(told)?;
    let structures = program.structures().map_err(|error| vec![error])?;
    let mut declarations = declared(&written, &extents, &statements, declarations);
    declarations.dtypes.extend(types);
    let orders = orders(&written, &statements);
    let (text, mut outputs) = (statements.text.clone(), written.outputs.clone());
    if outputs.is_empty() && (!statements.indices.is_empty() || statements.unused.is_some()) {
        outputs = written.assigned().map(str::to_string).collect();
    }
    Ok((Translated { text, declarations, orders, structures, outputs }, statements))
}

/// Checks that each tensor has one rule for each part, which comes before it is read, and that outputs are assigned.
fn arranged(program: &Program) -> Result<(), Vec<Error>> {
    let mut errors = Vec::new();
    let mut heads: BTreeMap<(&str, Part), Span> = BTreeMap::new();
    for rule in &program.rules {
        let (name, span) = (&rule.head.tensor, rule.head.span);
        if let Some(first) = heads.insert((name, rule.head.part), span) {
            errors.push(Error::Twice { span, first, name: name.clone() });
        }
    }
    let mut open: BTreeSet<&str> = program.assigned().collect();
    for rule in program.rules.iter().filter(|rule| rule.head.part == Part::Values) {
        let early = rule.accesses().skip(1).filter(|access| open.contains(access.tensor.as_str()));
        errors.extend(early.map(|access| Error::Early { span: access.span, name: access.tensor.clone() }));
        open.remove(rule.head.tensor.as_str());
    }
    if program.assigned().next().is_none() {
        errors.push(Error::Nothing);
    }
    let assigned: BTreeSet<&str> = program.assigned().collect();
    let missing = program.outputs.iter().filter(|name| !assigned.contains(name.as_str()));
    errors.extend(missing.map(|name| Error::Output { name: name.clone() }));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The declarations of the statements' tensors and variables, in the place of symbols.
fn declared(written: &Program, extents: &Extents, statements: &Statements, given: &Declarations) -> Declarations {
    let mut declarations = Declarations { language: Language::Statements, ..given.clone() };
    for symbol in &written.symbols {
        declarations.dims.shift_remove(symbol);
        declarations.sizes.shift_remove(symbol);
    }
    for (tensor, dims) in &extents.dims {
        declarations.sizes.shift_remove(tensor);
        let dims = dims.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
        let is_read = written.rules.iter().flat_map(super::Rule::accesses).any(|access| access.tensor == *tensor);
        if is_read {
            declarations.dims.insert(tensor.clone(), dims);
        } else {
            declarations.dims.shift_remove(tensor);
        }
    }
    declarations.sizes.extend(statements.sizes.clone());
    declarations.dtypes.extend(statements.indices.iter().map(|name| (name.clone(), DType::I64)));
    declarations
}

/// The types of the tensors that rules assign, by all of their terms: the one that all elements which are read mix into, with fractions where a
/// term has a number, or an inverse. So a tensor has the same type whatever numbers the symbols are: for some of these, terms are left out, or
/// become statements of their own. Types that are declared stay.
fn types(written: &Program, given: &Declarations) -> IndexMap<String, DType> {
    let mut found: IndexMap<String, DType> = IndexMap::new();
    for rule in written.rules.iter().filter(|rule| rule.head.part == Part::Values) {
        let read: Vec<DType> = rule
            .accesses()
            .skip(1)
            .map(|access| {
                let own = found.get(&access.tensor).or_else(|| given.dtypes.get(&access.tensor));
                own.copied().unwrap_or(DType::F64)
            })
            .collect();
        let is_fraction = rule.terms.iter().any(has_fraction);
        let dtype = match read.into_iter().reduce(DType::promote) {
            Some(mixed) if !is_fraction || matches!(mixed.kind(), Kind::Real | Kind::Complex) => mixed,
            _ => DType::F64,
        };
        let name = &rule.head.tensor;
        found.insert(name.clone(), given.dtypes.get(name).copied().unwrap_or(dtype));
    }
    found
}

/// True if a term has a number, an inverse, or no element.
fn has_fraction(term: &Term) -> bool {
    let is_element = |factor: &Factor| matches!(factor, Factor::Access(access) if access.part == Part::Values);
    let is_fraction = |factor: &Factor| match factor {
        Factor::Number { .. } => true,
        Factor::Access(access) => access.inverse || access.part == Part::Redundant,
        Factor::Sum(terms) => terms.iter().any(has_fraction),
        Factor::Comparison { .. } => false,
    };
    let has_sum = term.factors.iter().any(|factor| matches!(factor, Factor::Sum(_)));
    term.factors.iter().any(is_fraction) || !(has_sum || term.factors.iter().any(is_element))
}

/// The loops that are asked for, as commands.
fn orders(written: &Program, statements: &Statements) -> Vec<String> {
    let mut orders = Vec::new();
    for (tensor, variables) in &written.iterators {
        let Some(place) = written.assigned().position(|name| name == tensor) else { continue };
        let known = statements.variables.get(place).zip(statements.numbers.get(place));
        let Some((known, number)) = known else { continue };
        let names: Vec<&str> =
            variables.iter().filter_map(|name| known.get(name)).flatten().map(String::as_str).collect();
        if names.len() > 1 {
            orders.push(format!("{number}: reorder({})", names.join(", ")));
        }
    }
    orders
}

impl Program {
    /// The tensors whose values rules assign, in order.
    pub fn assigned(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| rule.head.part == Part::Values).map(|rule| rule.head.tensor.as_str())
    }

    /// All tensors with values, each with its number of indices and its role, in the order of the text.
    ///
    /// ```
    /// use lacunar_front::stur;
    /// use lacunar_notation::Role;
    /// let tensors = stur::names("y(i) := A(i,j) * x(j)").unwrap().tensors();
    /// assert_eq!(tensors[1], ("A".to_string(), 2, Role::Input));
    /// ```
    pub fn tensors(&self) -> Vec<(String, usize, Role)> {
        let assigned: BTreeSet<&str> = self.assigned().collect();
        let mut found: Vec<(String, usize, Role)> = Vec::new();
        for access in self.rules.iter().flat_map(super::Rule::accesses) {
            if !found.iter().any(|(name, ..)| *name == access.tensor) {
                let role = if assigned.contains(access.tensor.as_str()) { Role::Result } else { Role::Input };
                found.push((access.tensor.clone(), access.indices.len(), role));
            }
        }
        found
    }
}
