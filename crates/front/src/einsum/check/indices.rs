//! Step 0: indices that are no variables.
//!
//! An index may be a sum of variables, of elements of tensors and of lists, each times a number, and a number. On exit every index is a
//! variable: each other one has got a variable of its own, which an [indicator](lacunar_notation::indicator) ties to those that it
//! is made of; an element in an index has got one, too. An operand is summed over these variables; a term that is assigned is multiplied by
//! the indicators.
//!
//! ```text
//! y(i) = x(2*i + 1)            y(i) = sum(i_at, [i_at == 2 i + 1] * x(i_at))
//! y(i + k) += x(i) * w(k)      y(i_at) += [i_at == i + k] * x(i) * w(k)
//! y(i) = x(p(i) - 1)           y(i) = sum(p_at_at, p_at, [p_at_at == p_at - 1] * [p_at == p(i)] * x(p_at_at))
//! y(p(i)) += x(i)              y(p_at) += [p_at == p(i)] * x(i)
//! y(i) = x(wrap(i - 1))        y(i) = sum(i_at, [i_at == (i - 1) mod n] * x(i_at))
//! ```
//!
//! An index that is written as a sum is one, even `i + 0`: the variable need not have the size of the dimension. An index of another
//! form stays, and is refused where names are resolved.

mod borders;
mod bracketed;
pub(super) mod extents;
mod replaced;

use indexmap::{IndexMap, IndexSet};
use lacunar_base::Span;
use lacunar_notation::gather::{is_distinct, room_for};
use lacunar_notation::{AssignOp, Border, Equation, Function, Gather, Indicator, Inequality, Monoid, Source, UnaryFn};

use super::super::action::Action;
use super::super::affine::{Affine, affine};
use super::super::ast::{Ast, BinaryOp, Callee, Expr, ExprKind, MAX_HEIGHT, Name, Statement};
use super::super::declarations::Declarations;
use super::super::error::{AccessMistake, Error, Meeting, StatementMistake, SyntaxMistake};
use super::names::{Meaning, Names, meaning};
use crate::words;
use replaced::Replaced;
pub(crate) use replaced::tells;

/// The indicators that were made, by their names.
pub(super) type Indicators = IndexMap<String, Made>;

/// An indicator of an index.
pub(super) struct Made {
    pub relation: Relation,
    /// True if the index is of a tensor whose values are replaced, so that its size may follow from the others'. The size of an
    /// operand is given, and that of a tensor whose values are combined may be.
    pub replaced: bool,
    /// True if the index is of a tensor that is assigned.
    pub is_target: bool,
    /// The size of the last dimension, if it is none of a tensor: the values are summands of an index.
    pub size: Option<u64>,
}

/// The relation that an indicator is made of.
pub(crate) enum Relation {
    Equation(Equation),
    Inequality(Inequality),
    /// The values of a tensor.
    Values(Name),
    List(Vec<u64>),
    Border(Border),
}

impl Relation {
    /// True if it is that a variable is a sum of others.
    pub(crate) fn is_equation(&self) -> bool {
        matches!(self, Relation::Equation(_))
    }

    /// True if it tells the coordinate of a dimension, of so many, by those of the others.
    pub(crate) fn tells(&self, dimension: usize, order: usize) -> bool {
        match self {
            Relation::Equation(_) => true,
            Relation::Inequality(_) => false,
            Relation::Values(_) | Relation::Border(_) => dimension + 1 == order,
            Relation::List(values) => dimension + 1 == order || is_distinct(values),
        }
    }

    /// The sum that one variable is, if it is one, or stays inside of a dimension.
    fn sum(&self) -> Option<&Equation> {
        match self {
            Relation::Equation(equation) | Relation::Border(Border { equation, .. }) => Some(equation),
            Relation::Inequality(_) | Relation::Values(_) | Relation::List(_) => None,
        }
    }
}

impl Made {
    fn new(relation: Relation) -> Made {
        Made { relation, replaced: false, is_target: false, size: None }
    }

    /// The indicator, of so many dimensions.
    pub fn indicator(&self, order: usize, names: &Names) -> Indicator {
        let source = match &self.relation {
            Relation::Equation(equation) => return Indicator::Equation(equation.clone()),
            Relation::Inequality(inequality) => return Indicator::Inequality(inequality.clone()),
            Relation::Values(tensor) => Source::Tensor(names.tensor(&tensor.text)),
            Relation::List(values) => Source::List(values.clone()),
            Relation::Border(border) => Source::Border(border.clone()),
        };
        Indicator::Gather(Gather { source, order })
    }
}

/// A statement without indices that are no variables.
pub(super) struct Expanded {
    pub ast: Ast,
    pub indicators: Indicators,
    /// The indices on the left of statements that replace values.
    pub replaced: Vec<Replaced>,
}

/// Gives a variable to each index that is none. If the program is not `sized`, the sizes in indices may be any.
pub(super) fn expand(ast: Ast, declarations: &Declarations, sized: bool) -> Result<Expanded, Vec<Error>> {
    let mut taken: IndexSet<String> = IndexSet::new();
    for statement in &ast.statements {
        taken.insert(statement.name.text.clone());
        statement.indices.iter().chain([&statement.rhs]).for_each(|expr| all_words(expr, &mut taken));
    }
    taken.extend(declarations.tensor_names().into_iter().chain(declarations.sized_names()).map(str::to_string));
    let tensors = declarations.inputs.as_ref().map(|inputs| {
        let targets = ast.statements.iter().map(|statement| &statement.name.text);
        let mut tensors: IndexSet<String> = inputs.iter().chain(&declarations.given).chain(targets).cloned().collect();
        Action::visit(&ast.body, &mut |action| tensors.extend(action.given().map(|name| name.text.clone())));
        tensors
    });
    let (indicators, replaced) = (bracketed::indicators(&ast), Vec::new());
    let declarations = sized.then_some(declarations);
    let mut expansion = Expansion { declarations, taken, tensors, indicators, replaced, errors: Vec::new() };
    let statements = ast.statements.into_iter().map(|statement| expansion.statement(statement)).collect();
    let Expansion { indicators, replaced, errors, .. } = expansion;
    let ast = Ast { statements, ..ast };
    if errors.is_empty() { Ok(Expanded { ast, indicators, replaced }) } else { Err(errors) }
}

/// All words of an expression.
fn all_words(expr: &Expr, found: &mut IndexSet<String>) {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
        ExprKind::Name(name) => _ = found.insert(name.clone()),
        ExprKind::Apply { name, args, .. } => {
            found.insert(name.text.clone());
            args.iter().for_each(|arg| all_words(arg, found));
        }
        ExprKind::List { index, .. } => index.iter().for_each(|index| all_words(index, found)),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => all_words(operand, found),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|operand| all_words(operand, found)),
    }
}

struct Expansion<'d> {
    /// Nothing, if sizes are not looked at.
    declarations: Option<&'d Declarations>,
    /// Names that a new tensor or variable cannot have.
    taken: IndexSet<String>,
    /// The tensors that have values or are assigned, if they are known.
    tensors: Option<IndexSet<String>>,
    indicators: Indicators,
    replaced: Vec<Replaced>,
    errors: Vec<Error>,
}

/// An index that got a variable.
struct Tied {
    /// Its variable.
    variable: Expr,
    /// The accesses of the indicators, that of its own variable first.
    indicators: Vec<Expr>,
    /// Its variable, and those of the elements in it.
    bound: Vec<Expr>,
}

impl Expansion<'_> {
    fn statement(&mut self, statement: Statement) -> Statement {
        // Loops are taken as they are.
        if statement.nest.is_some() {
            self.plain(&statement.rhs);
            self.variables(&statement.indices);
            self.bracketed(&statement);
            return statement;
        }
        let mut rhs = self.expression(statement.rhs);
        let mut indices = statement.indices;
        let tied: Vec<Option<Tied>> = indices.iter().map(|index| self.tie(index)).collect();
        if statement.op == AssignOp::Set && tied.iter().any(Option::is_some) {
            self.replace(&indices, &tied, statement.lhs_span);
        }
        for (index, tied) in indices.iter_mut().zip(tied).rev() {
            let Some(Tied { variable, indicators, .. }) = tied else { continue };
            if let Some(made) = indicators.first().and_then(|indicator| self.made(indicator)) {
                (made.replaced, made.is_target) = (statement.op == AssignOp::Set, true);
            }
            for indicator in indicators.iter().rev() {
                rhs = self.confined(rhs, indicator, statement.op);
            }
            *index = variable;
        }
        Statement { indices, rhs, ..statement }
    }

    /// The relation of the indicator that an access is of.
    fn relation<'i>(indicators: &'i Indicators, indicator: &Expr) -> Option<&'i Relation> {
        let ExprKind::Apply { name, .. } = &indicator.kind else { return None };
        indicators.get(&name.text).map(|made| &made.relation)
    }

    /// The indicator of an access.
    fn made(&mut self, indicator: &Expr) -> Option<&mut Made> {
        let ExprKind::Apply { name, .. } = &indicator.kind else { return None };
        self.indicators.get_mut(&name.text)
    }

    /// Notes the indices on the left of a statement that replaces values. Indices that are values of a tensor may meet.
    fn replace(&mut self, indices: &[Expr], tied: &[Option<Tied>], span: Span) {
        let mut forms = Vec::new();
        for (index, tied) in indices.iter().zip(tied) {
            let Some(tied) = tied else {
                forms.extend(affine(index).and_then(Result::ok).map(|form| (None, form)));
                continue;
            };
            for (place, indicator) in tied.indicators.iter().enumerate() {
                let ExprKind::Apply { args, .. } = &indicator.kind else { continue };
                let Some((last, others)) = args.split_last() else { continue };
                let own = (place > 0).then(|| last.variable().unwrap_or_default().to_string());
                let mut form = Affine::default();
                match Expansion::relation(&self.indicators, indicator) {
                    // A tensor without dimensions has one value, which is a place as a number is.
                    Some(Relation::Values(_)) if others.is_empty() => {}
                    Some(Relation::Values(name)) => {
                        let why = Meeting::Values(name.text.clone());
                        self.errors.push(StatementMistake::Scattered { span: index.span, why }.into());
                    }
                    Some(Relation::Border(border)) => {
                        let why = Meeting::Border(border.rule.name());
                        self.errors.push(StatementMistake::Scattered { span: index.span, why }.into());
                    }
                    Some(Relation::List(values)) if !is_distinct(values) => {
                        self.errors.push(StatementMistake::Scattered { span: index.span, why: Meeting::Listed }.into());
                    }
                    Some(Relation::Equation(equation)) => {
                        let names = others.iter().filter_map(Expr::variable).map(str::to_string);
                        form.terms.extend(names.zip(equation.factors.iter().copied()));
                    }
                    _ => form.terms.extend(others.iter().filter_map(Expr::variable).map(|name| (name.to_string(), 1))),
                }
                forms.push((own, form));
            }
        }
        self.replaced.push(Replaced { span, forms });
    }

    /// Asks that all indices in an expression are variables.
    fn plain(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => {}
            // It is no value.
            ExprKind::List { .. } => {}
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => self.plain(operand),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|operand| self.plain(operand)),
            ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
                Meaning::Access => self.variables(args),
                _ => args.iter().for_each(|arg| self.plain(arg)),
            },
        }
    }

    fn variables(&mut self, indices: &[Expr]) {
        let is_other = |index: &&Expr| has_atom(index) || (index.variable().is_none() && affine(index).is_some());
        let sums = indices.iter().filter(is_other);
        self.errors.extend(sums.map(|index| Error::from(AccessMistake::IndexInLoops { span: index.span })));
    }

    /// An expression with each of its terms multiplied by an indicator. If values are combined otherwise than by sums, the whole
    /// expression is the identity of the monoid where the indicator does not hold.
    fn confined(&mut self, expr: Expr, indicator: &Expr, op: AssignOp) -> Expr {
        confined(expr, indicator, op, &mut |kind, span| self.node(kind, span))
    }

    /// An expression whose accesses have variables as indices.
    fn expression(&mut self, expr: Expr) -> Expr {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Apply { name, args, callee } => {
                if matches!(meaning(&name.text, &args, callee), Meaning::Access) {
                    return self.access(name, args, callee, span);
                }
                let args = args.into_iter().map(|arg| self.expression(arg)).collect();
                ExprKind::Apply { name, args, callee }
            }
            ExprKind::Cast { dtype, operand } => ExprKind::Cast { dtype, operand: Box::new(self.expression(*operand)) },
            ExprKind::Neg(a) => ExprKind::Neg(Box::new(self.expression(*a))),
            ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(op, Box::new(self.expression(*a)), Box::new(self.expression(*b)))
            }
            kind => kind,
        };
        self.node(kind, span)
    }

    /// An access; if some of its indices are no variables, the sum over theirs.
    fn access(&mut self, name: Name, mut args: Vec<Expr>, callee: Callee, span: Span) -> Expr {
        // A function that there is none of, of an element, is no gather.
        if args.iter().any(has_element) && callee == Callee::Named && !self.may_be_tensor(&name.text) {
            return self.node(ExprKind::Apply { name, args, callee }, span);
        }
        let tied: Vec<Option<Tied>> = args.iter().map(|index| self.tie(index)).collect();
        let mut bound = Vec::new();
        let mut indicators = Vec::new();
        for (index, tied) in args.iter_mut().zip(tied) {
            let Some(own) = tied else { continue };
            *index = own.variable;
            bound.extend(own.bound);
            indicators.extend(own.indicators);
        }
        let mut body = self.node(ExprKind::Apply { name, args, callee }, span);
        if bound.is_empty() {
            return body;
        }
        for indicator in indicators.into_iter().rev() {
            body = self.node(ExprKind::Binary(BinaryOp::Mul, Box::new(indicator), Box::new(body)), span);
        }
        bound.push(body);
        let name = Name { text: Monoid::SUM.name().to_string(), span };
        self.node(ExprKind::Apply { name, args: bound, callee: Callee::Named }, span)
    }

    /// True if a name with elements in parentheses can be a tensor's. If no tensors are declared, a name that looks like a
    /// function is none.
    fn may_be_tensor(&self, name: &str) -> bool {
        match &self.tensors {
            Some(tensors) => tensors.contains(name),
            None => {
                // Short names are near to many functions.
                let is_meant = |function: &&str| name.len() > 3 || name.eq_ignore_ascii_case(function);
                name != "relu" && words::nearest(name, Function::names()).filter(is_meant).is_none()
            }
        }
    }

    /// The variable and the indicators of an index; `None` for one that is a variable, or is not of the form.
    fn tie(&mut self, index: &Expr) -> Option<Tied> {
        index.variable().is_none().then_some(())?;
        let index = &match extents::numbered(index, self.declarations) {
            Ok(index) => index,
            Err(error) => {
                self.errors.push(error);
                return None;
            }
        };
        let (mut atoms, span) = (Vec::new(), index.span);
        let border = borders::of(index);
        let sum = match border {
            Some((_, [sum])) => self.without_atoms(sum, &mut atoms)?,
            Some((rule, args)) => {
                let (name, found) = (rule.name().to_string(), args.len());
                self.errors.push(AccessMistake::Arguments { name, span, expected: 1, found }.into());
                return None;
            }
            None => self.without_atoms(index, &mut atoms)?,
        };
        if sum.variable().is_some() && border.is_none() {
            return atoms.pop();
        }
        let Affine { terms, constant } = match affine(&sum)? {
            Ok(affine) => affine,
            Err(error) => {
                self.errors.push(error);
                return None;
            }
        };
        // An element times 0 is none of the sum, and yet its own indices are variables of the term.
        let is_summand = |atom: &Tied| atom.variable.variable().is_some_and(|name| terms.contains_key(name));
        if !atoms.iter().all(is_summand) {
            self.errors.push(AccessMistake::NotAnIndex { span }.into());
            return None;
        }
        let size = Gather::summand_size(terms.values().copied());
        for atom in &atoms {
            let made = atom.indicators.first().and_then(|indicator| self.made(indicator));
            if let Some(made) = made {
                made.size = Some(match &made.relation {
                    Relation::List(values) => room_for(values),
                    _ => size,
                });
            }
        }
        let base = terms.keys().next().map_or("at".to_string(), |name| format!("{name}_at"));
        let (vars, mut factors): (Vec<String>, Vec<i64>) = terms.into_iter().unzip();
        factors.push(-1);
        let vars = vars.into_iter().map(|name| Expr { kind: ExprKind::Name(name), span, height: 1 }).collect();
        let equation = Equation { factors, constant };
        let relation = match border {
            Some((rule, _)) => Relation::Border(Border { rule, equation }),
            None => Relation::Equation(equation),
        };
        let mut tied = self.tied(&base, vars, relation, span);
        for atom in atoms {
            tied.indicators.extend(atom.indicators);
            tied.bound.extend(atom.bound);
        }
        Some(tied)
    }

    /// A new variable, which a relation ties to others.
    fn tied(&mut self, base: &str, vars: Vec<Expr>, relation: Relation, span: Span) -> Tied {
        let own = self.free(base);
        let name = self.free(&format!("{own}_is"));
        self.indicators.insert(name.clone(), Made::new(relation));
        let variable = Expr { kind: ExprKind::Name(own), span, height: 1 };
        let args = vars.into_iter().chain([variable.clone()]).collect();
        let kind = ExprKind::Apply { name: Name { text: name, span }, args, callee: Callee::Tensor };
        Tied { indicators: vec![Expr { kind, span, height: 1 }], bound: vec![variable.clone()], variable }
    }

    /// An index with a variable in the place of each element of a tensor or list in it; `None` if it is not of the form.
    fn without_atoms(&mut self, index: &Expr, atoms: &mut Vec<Tied>) -> Option<Expr> {
        let span = index.span;
        let kind = match &index.kind {
            ExprKind::Apply { name, args, callee } => {
                if let Some((rule, _)) = borders::of(index) {
                    self.errors.push(AccessMistake::BorderInside { span, name: rule.name() }.into());
                    return None;
                }
                matches!(meaning(&name.text, args, *callee), Meaning::Access).then_some(())?;
                let relation = Relation::Values(name.clone());
                return self.atom(&format!("{}_at", name.text), args, (relation, span), atoms);
            }
            ExprKind::List { values, index: place } => {
                let place = match place {
                    Some(place) => (**place).clone(),
                    None => Expr { kind: ExprKind::Name(self.free("place")), span, height: 1 },
                };
                return self.atom("listed", &[place], (Relation::List(values.clone()), span), atoms);
            }
            ExprKind::Neg(a) => ExprKind::Neg(Box::new(self.without_atoms(a, atoms)?)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.without_atoms(a, atoms)?, self.without_atoms(b, atoms)?);
                ExprKind::Binary(*op, Box::new(a), Box::new(b))
            }
            kind => kind.clone(),
        };
        Some(Expr { kind, ..index.clone() })
    }

    /// The variable of an element in an index, whose indices get variables, too.
    fn atom(
        &mut self,
        base: &str,
        args: &[Expr],
        (relation, span): (Relation, Span),
        atoms: &mut Vec<Tied>,
    ) -> Option<Expr> {
        let mut inner = Vec::new();
        let mut vars = Vec::new();
        for index in args {
            let tied = self.tie(index);
            vars.push(tied.as_ref().map_or_else(|| index.clone(), |tied| tied.variable.clone()));
            inner.extend(tied);
        }
        let mut tied = self.tied(base, vars, relation, span);
        for other in inner {
            tied.indicators.extend(other.indicators);
            tied.bound.extend(other.bound);
        }
        let variable = tied.variable.clone();
        atoms.push(tied);
        Some(variable)
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

    fn node(&mut self, kind: ExprKind, span: Span) -> Expr {
        let highest = match &kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => 0,
            ExprKind::List { index, .. } => index.as_ref().map_or(0, |index| index.height),
            ExprKind::Apply { args, .. } => {
                let nested = args.iter().any(|arg| !matches!(arg.kind, ExprKind::Name(_)));
                let highest = args.iter().map(|arg| arg.height).max().unwrap_or(0);
                if nested { highest + args.len() - 1 } else { 0 }
            }
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => operand.height,
            ExprKind::Binary(_, a, b) => a.height.max(b.height),
        };
        if highest >= MAX_HEIGHT && self.errors.is_empty() {
            self.errors.push(SyntaxMistake::TooDeep { span }.into());
        }
        Expr { kind, span, height: highest + 1 }
    }
}

/// An expression that is assigned where an indicator holds, of nodes that are made so.
pub(crate) fn confined(
    expr: Expr,
    indicator: &Expr,
    op: AssignOp,
    node: &mut dyn FnMut(ExprKind, Span) -> Expr,
) -> Expr {
    let span = expr.span;
    if let AssignOp::Reduce(monoid) = op
        && monoid != Monoid::SUM
    {
        let otherwise = Expr { kind: ExprKind::Identity(monoid), span, height: 1 };
        let name = Name { text: Function::Select.name().to_string(), span };
        let args = vec![indicator.clone(), expr, otherwise];
        return node(ExprKind::Apply { name, args, callee: Callee::Named }, span);
    }
    let kind = match expr.kind {
        // It stays outermost.
        ExprKind::Apply { name, args, callee: Callee::Named } if is_prune(&name.text) => {
            let args = args.into_iter().map(|arg| confined(arg, indicator, op, node)).collect();
            ExprKind::Apply { name, args, callee: Callee::Named }
        }
        ExprKind::Neg(a) => ExprKind::Neg(Box::new(confined(*a, indicator, op, node))),
        // A number beside a value has the value's type, which it would lose beside an indicator.
        ExprKind::Binary(sign @ (BinaryOp::Add | BinaryOp::Sub), a, b) if !is_number(&a) && !is_number(&b) => {
            let (a, b) = (confined(*a, indicator, op, node), confined(*b, indicator, op, node));
            ExprKind::Binary(sign, Box::new(a), Box::new(b))
        }
        kind => ExprKind::Binary(BinaryOp::Mul, Box::new(indicator.clone()), Box::new(Expr { kind, ..expr })),
    };
    node(kind, span)
}

/// True for the name of the function that chooses the stored values of a result.
fn is_prune(name: &str) -> bool {
    Function::parse(name) == Some(Function::Unary(UnaryFn::Prune))
}

/// True for a constant, which has no type of its own.
fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_) => true,
        ExprKind::Neg(a) => is_number(a),
        ExprKind::Binary(_, a, b) => is_number(a) && is_number(b),
        _ => false,
    }
}

/// True if an index has an element of a tensor or list in it, or in its border.
fn has_element(index: &Expr) -> bool {
    match borders::of(index) {
        Some((_, args)) => args.iter().any(has_element),
        None => has_atom(index),
    }
}

/// True if an index has an element of a tensor or list in it.
fn has_atom(index: &Expr) -> bool {
    match &index.kind {
        ExprKind::Apply { name, args, callee } => matches!(meaning(&name.text, args, *callee), Meaning::Access),
        ExprKind::List { .. } => true,
        ExprKind::Neg(a) => has_atom(a),
        ExprKind::Binary(_, a, b) => has_atom(a) || has_atom(b),
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) | ExprKind::Cast { .. } => {
            false
        }
    }
}
