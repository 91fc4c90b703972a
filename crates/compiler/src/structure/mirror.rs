//! Symmetry read once: elements that follow from others are taken from these, in the same loops.
//!
//! A tensor of which the unique elements alone are stored is walked through once. Beside each product that a unique element takes part in
//! stand the products of all elements that follow from it: the variables of the statement's term are permuted as the structure's map
//! permutes coordinates, so that only the unique element itself is read.
//!
//! ```text
//! y(i) = A(i,j) * x(j)         A symmetric, i <= j stored
//!   forall(i, where(y(i) += t, forall(j, { t += A(i,j) * x(j);  y(j) += select(j > i, A(i,j) * x(i), 0) })))
//! s = x(i) * A(i,j) * x(j)     A skew, i < j stored
//!   forall(i, forall(j, { s += x(i) * A(i,j) * x(j);  s += x(j) * -A(i,j) * x(i) }))
//! ```
//!
//! A term is *mirrored* in this way if it is a sum of products in which the tensor stands once, whose other operands have no gaps, and
//! which goes to a result without gaps that has all of its variables. Other variables than the tensor's stay as they are; beside a matrix
//! there may be none, as whole rows of a product are summed up in registers, which spares more than half of the matrix. All else reads the
//! whole tensor ([`settle`]).
//!
//! ```text
//! D(i,r) = T(i,j,k) * B(j,r) * C(k,r)     T symmetric: up to six products of each entry of T, for every r
//! ```
//!
//! On entry: a statement in reduction notation; loops made of it for the stored elements. On exit: the same loops with more assignments.
//! Papers: Ghorbani et al. 2023, §5.5; Patel, Ahrens and Amarasinghe, *SySTeC: A Symmetric Sparse Tensor Compiler* (CGO 2025).

use lacunar_base::{Arena, Diagnostic};
use lacunar_formats::{DType, Format};
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::index::{read_by, values_name};
use lacunar_notation::structure::bounds;
use lacunar_notation::{
    Access, Action, AssignOp, Assignment, BinaryFn, Expr, ExprKind, Literal, Monoid, Program, Role, Structure, Tensor,
    TensorId, UnaryFn, VarId,
};
use lacunar_sets::{Affine, Coefficient, Constraint, MapPiece, Relation};

use crate::concretize::{additive_terms, flatten};
use crate::plan::convert::rename;
use crate::reduction::make_explicit;
use crate::structure::obstacle::obstacle;
use crate::structure::reads_unique_alone;

/// Tensors of which more elements follow from one are read whole: each takes a product of its own in the kernel.
const MOST_PARTS: usize = 120;

/// Takes those tensors as whole whose statements can't be mirrored: they are completed before the statements run. Gives each with the
/// reason, in words.
pub fn settle(program: &mut Program) -> Vec<(TensorId, String)> {
    let mut whole = Vec::new();
    for id in program.tensors.handles().filter(|id| program.tensors[*id].is_unique).collect::<Vec<_>>() {
        if let Some(why) = needs_whole(program, id) {
            program.tensors[id].is_unique = false;
            whole.push((id, format!("`{}` is stored whole: {why}", program.tensors[id].name)));
        }
    }
    whole
}

/// The reason why all elements of a tensor are needed; `None` if its unique ones are enough.
fn needs_whole(program: &Program, id: TensorId) -> Option<String> {
    let tensor = &program.tensors[id];
    let mut is_taken = false;
    Action::visit(&program.body, &mut |action| is_taken |= takes_whole(action, id));
    if tensor.role != Role::Input {
        return Some("statements or actions change it".to_string());
    }
    if is_taken {
        return Some("an action prints, writes, counts or copies it".to_string());
    }
    if !program.loops.is_empty() {
        return Some("the program has loops of its own".to_string());
    }
    let is_mirrored = |statement: &&Assignment| {
        let explicit = make_explicit(statement, &mut program.vars.clone());
        !has_conditions(&program.tensors, &explicit.rhs) && mirrors(&program.tensors, &explicit).is_some()
    };
    let is_enough =
        |statement: &&Assignment| statement.lhs.tensor != id && reads_unique_alone(&program.tensors, statement, id);
    let mut reading = program.statements.iter().filter(|statement| reads(&program.tensors, &statement.rhs, id));
    let statement = reading.find(|statement| !is_enough(statement) && !is_mirrored(statement))?;
    Some(match is_plain(&tensor.format) {
        true => {
            let mut vars = program.vars.clone();
            let explicit = make_explicit(statement, &mut vars);
            let why = obstacle(&program.tensors, &vars, &explicit, id);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            format!("`{}` needs all of its elements{why}", program.statement_text(statement))
        }
        false => format!("loops over {} are not loops over its own dimensions", tensor.format),
    })
}

/// True if an action needs all elements of a tensor: it shows or counts them, or lets another tensor have them, which may be read otherwise.
fn takes_whole(action: &Action, id: TensorId) -> bool {
    let counts = action.conditions().iter().any(|condition| condition.counted.contains(&id));
    counts
        || match action {
            Action::Print(tensor) | Action::Write(tensor, _) => *tensor == id,
            Action::Swap(a, b) | Action::Snapshot(a, b) => [*a, *b].contains(&id),
            _ => false,
        }
}

/// True if there are conditions of indices in an expression: they would be of other indices in a product beside it. Conditions of structures
/// come later, and are of the stored elements.
pub(crate) fn has_conditions(tensors: &Arena<Tensor>, expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        found |= match &part.kind {
            ExprKind::Access(access) => tensors[access.tensor].role == Role::Indicator,
            ExprKind::Binary(function, ..) => function.is_comparison(),
            _ => false,
        };
    });
    found
}

fn reads(tensors: &Arena<Tensor>, expr: &Expr, tensor: TensorId) -> bool {
    read_by(tensors, expr).contains(&tensor)
}

/// The products of the elements that follow from one.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    /// The access of the unique element.
    pub access: Access,
    /// The way in which products are combined with the result.
    pub monoid: Monoid,
    /// The product that it takes part in.
    body: Expr,
    parts: Vec<Part>,
}

/// The product of an element that follows from another.
#[derive(Clone, Debug)]
struct Part {
    lhs: Access,
    /// True if it goes to the place to which the product of the unique element goes.
    is_at_home: bool,
    /// The product, of the unique element.
    product: Expr,
    /// The conditions under which there is such an element.
    conditions: Vec<Condition>,
}

/// A condition of coordinates: the sum of variables times numbers, and a number, compared with 0.
#[derive(Clone, Debug)]
struct Condition {
    relation: Relation,
    terms: Vec<(VarId, i64)>,
    constant: i64,
}

/// The products that have to stand beside those of a statement in reduction notation; `None` if some term can't be mirrored.
pub(crate) fn mirrors(tensors: &Arena<Tensor>, statement: &Assignment) -> Option<Vec<Mirror>> {
    let result = &tensors[statement.lhs.tensor];
    let rhs = flatten(tensors, statement.rhs.clone());
    let mut found = Vec::new();
    for term in additive_terms(&rhs) {
        let unique: Vec<Access> =
            term.accesses().into_iter().filter(|access| tensors[access.tensor].is_unique).cloned().collect();
        match unique.as_slice() {
            [] => {}
            [access] => found.push(mirror(tensors, statement, &term, access)?),
            _ => return None,
        }
    }
    // Every place of the result is combined with, in any order.
    let monoid = found.first().map(|mirror| mirror.monoid);
    let is_only = additive_terms(&rhs).len() == 1 || monoid == Some(Monoid::SUM);
    let op_fits = match statement.op {
        AssignOp::Set => true,
        AssignOp::Reduce(own) => Some(own) == monoid,
    };
    let has_all = result.format.packing().is_none();
    let is_array = result.format.is_dense() && has_all && is_plain(&result.format) && !result.dtype.is_storage();
    let is_same = rhs.dtype == result.dtype && !reads(tensors, &rhs, statement.lhs.tensor);
    // A map of an operand in any term makes a sum over its own dimensions of all terms.
    let are_plain = rhs.accesses().into_iter().all(|access| is_plain(&tensors[access.tensor].format));
    (found.is_empty() || (is_only && op_fits && is_array && is_same && are_plain)).then_some(found)
}

/// The products beside those of one term.
fn mirror(tensors: &Arena<Tensor>, statement: &Assignment, term: &Expr, access: &Access) -> Option<Mirror> {
    let (monoid, body) = match &term.kind {
        ExprKind::Reduce(monoid, _, body) => (*monoid, &**body),
        _ => (Monoid::SUM, term),
    };
    let tensor = &tensors[access.tensor];
    let structure = tensor.structure.as_deref()?;
    let is_neutral =
        monoid.compared().is_none() && monoid.identity(term.dtype).is_some_and(|identity| identity.is_zero());
    let has_all = |vars: &[VarId]| access.vars.len() > 2 || vars.iter().all(|var| access.vars.contains(var));
    let others = body.accesses().into_iter().filter(|other| *other != access);
    let are_full = others.into_iter().all(|other| is_full(&tensors[other.tensor]));
    let vars = body.free_vars();
    let is_everywhere = statement.lhs.vars.iter().all(|var| vars.contains(var));
    let is_once = (1..access.vars.len()).all(|place| !access.vars[..place].contains(&access.vars[place]));
    let fits = is_neutral
        && is_once
        && is_everywhere
        && are_full
        && structure.parts() <= MOST_PARTS
        && is_plain(&tensor.format)
        && is_product(body, access)
        && body.reduced_vars().is_empty()
        && has_all(&vars)
        && has_all(&statement.lhs.vars);
    if !fits {
        return None;
    }
    let pieces = structure.redundancy().pieces().iter();
    let parts = pieces.map(|piece| part(tensors, (structure, piece), statement, body, access));
    let parts = parts.collect::<Option<Vec<_>>>()?;
    Some(Mirror { access: access.clone(), monoid, body: body.clone(), parts })
}

/// True if an operand has a value everywhere, or is a condition of the stored elements.
pub(super) fn is_full(tensor: &Tensor) -> bool {
    if tensor.role == Role::Indicator {
        return true;
    }
    let is_given = matches!(tensor.role, Role::Index | Role::Input | Role::Result);
    // A packed operand that is read as an array has a place for every element only if one coordinate stands for all others.
    let has_all = tensor.format.packing().is_none_or(|packing| packing.sources().is_some());
    is_given && !tensor.is_unique && tensor.format.is_dense() && has_all && is_plain(&tensor.format)
}

/// True if the stored entries are walked through by the tensor's own dimensions, each entry once.
fn is_plain(format: &Format) -> bool {
    format.map().is_none()
}

/// True if an expression is 0 where an element is absent: a product with it.
pub(super) fn is_product(expr: &Expr, access: &Access) -> bool {
    match &expr.kind {
        ExprKind::Access(own) => own == access,
        ExprKind::Binary(BinaryFn::Mul | BinaryFn::And, a, b) => is_product(a, access) || is_product(b, access),
        ExprKind::Binary(BinaryFn::Div, a, _) | ExprKind::Unary(UnaryFn::Neg, a) | ExprKind::Cast(a) => {
            is_product(a, access)
        }
        _ => false,
    }
}

/// The product of the elements of one piece of a structure's map. `None` if the piece does more than permute coordinates, or has conditions
/// that are not of coordinates alone.
fn part(
    tensors: &Arena<Tensor>,
    (structure, piece): (&Structure, &MapPiece),
    statement: &Assignment,
    body: &Expr,
    access: &Access,
) -> Option<Part> {
    let sizes = structure.space().params.len();
    let order = structure.order();
    // An element `x` follows from `u`, where `u(k) = x(from[k])`.
    let from: Vec<usize> = piece.target.iter().map(|form| coordinate(form, sizes, order)).collect::<Option<_>>()?;
    let place = |dim: usize| from.iter().position(|own| *own == dim);
    let to: Vec<usize> = (0..from.len()).map(place).collect::<Option<_>>()?;
    let moved = |var: VarId| -> Option<VarId> {
        match access.vars.iter().position(|own| *own == var) {
            Some(dim) => access.vars.get(*to.get(dim)?).copied(),
            None => Some(var),
        }
    };
    let vars = |vars: &[VarId]| vars.iter().map(|var| moved(*var)).collect::<Option<Vec<_>>>();
    let lhs = Access { vars: vars(&statement.lhs.vars)?, ..statement.lhs.clone() };
    let is_moved = |other: &Access| other != access && tensors[other.tensor].role != Role::Indicator;
    let product = permuted(body.clone(), (access, piece.coefficient), &is_moved, &vars)?;
    let conditions = conditions(structure, piece, &to)?;
    let conditions = conditions.into_iter().map(|condition| of_variables(&condition, sizes, access));
    let is_at_home = lhs.vars == statement.lhs.vars;
    Some(Part { lhs, is_at_home, product, conditions: conditions.collect::<Option<_>>()? })
}

/// The dimension that a form is the coordinate of.
pub(super) fn coordinate(form: &Affine, sizes: usize, order: usize) -> Option<usize> {
    let mut terms = form.terms();
    let (column, factor) = terms.next()?;
    let is_plain = terms.next().is_none() && factor == 1 && form.offset() == 0;
    column.checked_sub(sizes).filter(|dim| is_plain && *dim < order)
}

/// A product whose variables are permuted, but for those of the unique element, which is multiplied by a coefficient, and of conditions
/// of stored elements.
fn permuted(
    expr: Expr,
    (access, coefficient): (&Access, Coefficient),
    is_moved: &impl Fn(&Access) -> bool,
    vars: &impl Fn(&[VarId]) -> Option<Vec<VarId>>,
) -> Option<Expr> {
    if matches!(&expr.kind, ExprKind::Access(own) if own == access) {
        return multiplied(expr, coefficient);
    }
    // Nothing is computed in types for storage.
    let is_converted =
        |inner: &Expr| inner.dtype.is_storage() && matches!(&inner.kind, ExprKind::Access(own) if own == access);
    if matches!(&expr.kind, ExprKind::Cast(inner) if is_converted(inner)) {
        return multiplied(expr, coefficient);
    }
    if let ExprKind::Access(own) = &expr.kind {
        if !is_moved(own) {
            return Some(expr);
        }
        let own = Access { vars: vars(&own.vars)?, ..own.clone() };
        return Some(Expr { kind: ExprKind::Access(own), ..expr });
    }
    let mut fits = true;
    let made = expr.map_children(&mut |child| {
        let otherwise = child.clone();
        permuted(child, (access, coefficient), is_moved, vars).unwrap_or_else(|| {
            fits = false;
            otherwise
        })
    });
    fits.then_some(made)
}

/// An element times a coefficient.
fn multiplied(element: Expr, coefficient: Coefficient) -> Option<Expr> {
    let dtype = element.dtype;
    let unary = |function, a: Expr| Expr { span: a.span, kind: ExprKind::Unary(function, Box::new(a)), dtype };
    let is_conjugate = coefficient.conjugate && dtype.is_complex();
    let element = if is_conjugate { unary(UnaryFn::Conj, element) } else { element };
    match (coefficient.numerator(), coefficient.denominator()) {
        (1, 1) => Some(element),
        (-1, 1) => Some(unary(UnaryFn::Neg, element)),
        _ => None,
    }
}

/// The conditions under which an element follows from a unique one, of the coordinates of the unique one; without those that hold of every
/// unique element.
fn conditions(structure: &Structure, piece: &MapPiece, to: &[usize]) -> Option<Vec<Constraint>> {
    let space = structure.space();
    let sizes = space.params.len();
    let columns: Vec<Affine> = (0..sizes).chain(to.iter().map(|dim| sizes + dim)).map(Affine::variable).collect();
    let domain = piece.domain.pulled(&space.universe(), &columns)?;
    let mut context = bounds(space, structure.context())?.pieces().first()?.clone();
    if let [unique] = structure.unique().pieces() {
        context = context.intersect(unique)?;
    }
    Some(domain.gist(&context).constraints().collect())
}

/// A condition of the variables of an access. `None` if it is of sizes or of divisions too.
fn of_variables(condition: &Constraint, sizes: usize, access: &Access) -> Option<Condition> {
    let term = |(column, factor): (usize, i64)| Some((*access.vars.get(column.checked_sub(sizes)?)?, factor));
    let terms = condition.form.terms().map(term).collect::<Option<_>>()?;
    Some(Condition { relation: condition.relation, terms, constant: condition.form.offset() })
}

/// A statement's expression as the sum of terms whose signs are inside of their sums: each is formed in one place, and added to the result.
pub(crate) fn as_terms(tensors: &Arena<Tensor>, rhs: &Expr) -> Expr {
    let flat = flatten(tensors, rhs.clone());
    let dtype = flat.dtype;
    let terms = additive_terms(&flat).into_iter();
    terms.reduce(|a, b| Expr::binary(BinaryFn::Add, a, b, dtype)).unwrap_or(flat)
}

/// Puts the products beside those of the unique elements, in a kernel whose loops are made for these. An assignment with `=` then
/// combines with its target, because products go to other places in any order, or because the statement updates its result. `read` gives
/// the tensor that is read in place of one.
///
/// # Errors
/// An internal error if an element is read nowhere.
pub(crate) fn beside(
    kernel: &mut Kernel,
    mirrors: &[Mirror],
    read: &impl Fn(&Access) -> TensorId,
) -> Result<(), Diagnostic> {
    let Some(monoid) = mirrors.first().map(|mirror| mirror.monoid) else { return Ok(()) };
    let (mut stmt, mut goes_elsewhere) = (std::mem::take(&mut kernel.stmt), false);
    for mirror in mirrors {
        let tensor = read(&mirror.access);
        let renamed = |expr: &Expr| rename(expr.clone(), &|access| (*access == mirror.access).then_some(tensor));
        let mut rest = mirror.parts.iter().map(|part| (part, part.value(kernel, renamed(&part.product)))).collect();
        let body = renamed(&mirror.body);
        let access = Access { tensor, ..mirror.access.clone() };
        stmt = with_beside(stmt, &access, &mut |assign| {
            let is_whole = assign.rhs == body && matches!(assign.op, AssignOp::Reduce(_));
            let parts: Vec<(&Part, Expr)> = std::mem::take(&mut rest);
            let assigns = parts.into_iter().map(|(part, rhs)| match is_whole && part.is_at_home {
                true => Assign { rhs, ..assign.clone() },
                false => {
                    goes_elsewhere = true;
                    Assign { lhs: part.lhs.clone(), op: AssignOp::Reduce(mirror.monoid), rhs }
                }
            });
            assigns.map(Stmt::Assign).collect()
        });
        if !rest.is_empty() {
            let name = &kernel.tensors[tensor].name;
            return Err(Diagnostic::internal(format!("no loop reads `{name}`, from which elements follow")));
        }
    }
    stmt.visit_assigns_mut(&mut |assign| {
        let is_set = kernel.tensors[assign.lhs.tensor].role == Role::Result && assign.op == AssignOp::Set;
        if is_set && (goes_elsewhere || kernel.updates) {
            assign.op = AssignOp::Reduce(monoid);
        }
    });
    kernel.stmt = stmt;
    Ok(())
}

/// A statement with the assignments that `more` gives beside each that reads an access.
fn with_beside(stmt: Stmt, access: &Access, more: &mut impl FnMut(&Assign) -> Vec<Stmt>) -> Stmt {
    match stmt {
        Stmt::Assign(assign) => {
            let beside = match assign.rhs.accesses().contains(&access) {
                true => more(&assign),
                false => Vec::new(),
            };
            let own = Stmt::Assign(assign);
            if beside.is_empty() { own } else { Stmt::Sequence([vec![own], beside].concat()) }
        }
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(with_beside(*body, access, more))),
        Stmt::Where { consumer, producer } => {
            let producer = Box::new(with_beside(*producer, access, more));
            Stmt::Where { consumer: Box::new(with_beside(*consumer, access, more)), producer }
        }
        Stmt::Sequence(stmts) => {
            Stmt::Sequence(stmts.into_iter().map(|stmt| with_beside(stmt, access, more)).collect())
        }
    }
}

impl Part {
    /// The value that is combined with the result: the product where there is such an element.
    fn value(&self, kernel: &mut Kernel, product: Expr) -> Expr {
        let conditions = self.conditions.iter().map(|condition| condition.holds(kernel));
        let Some(holds) = conditions.reduce(|a, b| Expr::binary(BinaryFn::And, a, b, DType::Bool)) else {
            return product;
        };
        let dtype = product.dtype;
        Expr::new(ExprKind::Select(Box::new([holds, product, Expr::zero(dtype)])), dtype)
    }
}

impl Condition {
    /// The condition as an expression of the values of variables.
    fn holds(&self, kernel: &mut Kernel) -> Expr {
        let number = |number: i64| Expr::new(ExprKind::Literal(Literal::Int(number.into())), DType::I64);
        // Positive terms are compared with the others, so that no number need be negative.
        let (mut left, mut right) = (None, None);
        for &(var, factor) in &self.terms {
            let value = value_of(kernel, var);
            let side = if factor > 0 { &mut left } else { &mut right };
            let term = match factor.checked_abs() {
                Some(1) | None => value,
                Some(factor) => Expr::binary(BinaryFn::Mul, number(factor), value, DType::I64),
            };
            *side = Some(
                side.take()
                    .map_or_else(|| term.clone(), |sum| Expr::binary(BinaryFn::Add, sum, term.clone(), DType::I64)),
            );
        }
        let left = left.unwrap_or_else(|| number(0));
        let left = if self.constant == 0 {
            left
        } else {
            Expr::binary(BinaryFn::Add, left, number(self.constant), DType::I64)
        };
        let function = if self.relation == Relation::Equal { BinaryFn::Eq } else { BinaryFn::Ge };
        Expr::binary(function, left, right.unwrap_or_else(|| number(0)), DType::Bool)
    }
}

/// The value of a variable: an element of the tensor that holds its values.
fn value_of(kernel: &mut Kernel, var: VarId) -> Expr {
    let info = &kernel.vars[var];
    let (size, span, name) = (info.size, info.span, values_name(&info.name));
    let known =
        kernel.tensors.iter().find(|(_, tensor)| tensor.role == Role::Index && tensor.name == name).map(|(id, _)| id);
    let tensor = known.unwrap_or_else(|| kernel.tensors.push(Tensor::values_of(name, size, span)));
    let access = Access { tensor, vars: vec![var], span };
    Expr { kind: ExprKind::Access(access), dtype: DType::I64, span }
}
