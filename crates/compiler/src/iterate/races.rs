//! Races: the tensors that the iterations of a loop write to together.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))     nothing over i; over j, every iteration adds to y(i)
//! forall(i, forall(j, { C(i,j) += t;  C(j,i) += s }))
//!                                                 over i, C: iterations 0 and 1 both write to C(0,1);
//!                                                 nothing, if both are written where i >= j alone
//! ```
//!
//! Assignments to different places, each of which tells the iteration, meet unless conditions of coordinates, under which alone they
//! are carried out, rule that out: integer sets say so. The unique elements of a packed operand are such a condition: of a symmetric matrix,
//! `C(i,j) += A(i,j); C(j,i) += A(i,j)` never meet, as i <= j.
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_formats::Scalar;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, Indicator, TensorId, UnaryFn, VarId};
use lacunar_sets::{Affine, Constraint, Piece, Relation};

use super::residual::residual;
use crate::algebra::{background, without};

/// The tensors from outside a loop over a leaf that several of its iterations may write to at one place: results and
/// workspaces whose variables do not tell the iteration.
pub fn written_together(kernel: &Kernel, var: VarId, body: &Stmt) -> Vec<TensorId> {
    let originals = kernel.provenance.originals(var);
    let inside = filled_inside(body);
    let mut found = Vec::new();
    body.visit_assigns(&mut |assign| {
        let (tensor, vars) = (assign.lhs.tensor, &assign.lhs.vars);
        // A workspace may also be indexed by the loop's own variable, or by the variable that this was split from.
        let follows = |original: &VarId| vars.contains(original) || is_told(kernel, assign, *original);
        let tells = originals.iter().all(follows)
            || vars.iter().any(|own| kernel.provenance.derives(var, *own) && !originals.contains(own));
        // A workspace that puts coordinates on a list has one list.
        let listed = kernel.tensors[tensor].role.is_listed();
        if (!tells || listed) && !inside.contains(&tensor) && !found.contains(&tensor) {
            found.push(tensor);
        }
    });
    let mut places: Vec<(TensorId, Vec<VarId>)> = Vec::new();
    body.visit_assigns(&mut |assign| {
        let place = (assign.lhs.tensor, assign.lhs.vars.clone());
        if !places.contains(&place) && !found.contains(&place.0) && !inside.contains(&place.0) {
            places.push(place);
        }
    });
    for (at, (tensor, vars)) in places.iter().enumerate() {
        let meets = |(own, other): &(TensorId, Vec<VarId>)| {
            own == tensor && may_meet(kernel, body, &originals, (*tensor, vars), other)
        };
        if !found.contains(tensor) && places[..at].iter().any(meets) {
            found.push(*tensor);
        }
    }
    found
}

/// True if iterations in which a loop's original variables have different values may write to one element of a tensor, one by an
/// assignment to a place, the other by one to another place.
fn may_meet(kernel: &Kernel, body: &Stmt, originals: &[VarId], (tensor, a): (TensorId, &[VarId]), b: &[VarId]) -> bool {
    let both = [conditions(kernel, body, tensor, a), conditions(kernel, body, tensor, b)];
    let stored = unique(kernel, body);
    let of_conditions = both.iter().flatten().flat_map(|(vars, _)| vars);
    let of_elements = stored.iter().flat_map(|(access, _)| &access.vars);
    let mut vars: Vec<VarId> =
        originals.iter().chain(a).chain(b).chain(of_conditions).chain(of_elements).copied().collect();
    vars.sort_unstable();
    vars.dedup();
    // Two columns of a variable, for the two iterations.
    let column = |var: &VarId, iteration: usize| vars.binary_search(var).unwrap_or_default() + iteration * vars.len();
    let mut meeting = Meeting { piece: Piece::universe(0, 2 * vars.len()), is_known: true };
    for (iteration, conditions) in both.iter().enumerate() {
        for (vars, indicator) in conditions {
            let columns: Vec<usize> = vars.iter().map(|var| column(var, iteration)).collect();
            meeting.add(&columns, indicator);
        }
    }
    for (iteration, (access, piece)) in
        [0, 1].into_iter().flat_map(|iteration| stored.map(|stored| (iteration, stored)))
    {
        let columns: Vec<usize> = access.vars.iter().map(|var| column(var, iteration)).collect();
        meeting.stored(&columns, piece);
    }
    for (x, y) in a.iter().zip(b) {
        meeting.same(column(x, 0), column(y, 1));
    }
    let inside = loops(kernel, body);
    for var in vars.iter().filter(|var| !originals.contains(var) && !inside.contains(var)) {
        meeting.same(column(var, 0), column(var, 1));
    }
    originals.iter().any(|var| {
        let (first, second) = (column(var, 0), column(var, 1));
        meeting.is_possible(first, second) || meeting.is_possible(second, first)
    })
}

/// The pairs of iterations that write to one element.
struct Meeting {
    piece: Piece,
    /// False if a number did not fit.
    is_known: bool,
}

impl Meeting {
    /// Adds the condition that an indicator is.
    fn add(&mut self, columns: &[usize], indicator: &Indicator) {
        let Some(sum) = indicator.sum() else { return };
        let mut terms = columns.iter().zip(&sum.factors).map(|(column, factor)| Affine::term(*column, *factor));
        let form = terms.try_fold(Affine::constant(sum.constant), |form, term| form.plus(&term));
        match form {
            Some(form) if indicator.equation().is_some() => self.piece.equal(form),
            Some(form) => self.piece.at_least(form),
            None => self.is_known = false,
        }
    }

    /// Adds the conditions of coordinates, without those of sizes, of the points of a piece.
    fn stored(&mut self, columns: &[usize], piece: &Piece) {
        let first = piece.params();
        for Constraint { form, relation } in piece.constraints() {
            if form.terms().any(|(column, _)| column < first || column >= first + columns.len()) {
                continue;
            }
            let mut terms = form.terms().map(|(column, factor)| Affine::term(columns[column - first], factor));
            match (terms.try_fold(Affine::constant(form.offset()), |form, term| form.plus(&term)), relation) {
                (Some(form), Relation::Equal) => self.piece.equal(form),
                (Some(form), Relation::AtLeast) => self.piece.at_least(form),
                (None, _) => self.is_known = false,
            }
        }
    }

    /// Two columns are the same.
    fn same(&mut self, a: usize, b: usize) {
        match Affine::variable(a).minus(&Affine::variable(b)) {
            Some(form) => self.piece.equal(form),
            None => self.is_known = false,
        }
    }

    /// True if there may be such iterations with less in a column than in another.
    fn is_possible(&self, less: usize, more: usize) -> bool {
        let apart = Affine::variable(more).minus(&Affine::variable(less)).and_then(|form| form.shifted(-1));
        let Some(apart) = apart.filter(|_| self.is_known) else { return true };
        let mut piece = self.piece.clone();
        piece.at_least(apart);
        !piece.is_empty().is_yes()
    }
}

/// The conditions under which alone a loop's body assigns to a place of a tensor: relations of coordinates without which no such assignment
/// is left.
fn conditions<'k>(
    kernel: &'k Kernel,
    body: &Stmt,
    tensor: TensorId,
    place: &[VarId],
) -> Vec<(Vec<VarId>, &'k Indicator)> {
    let mut found: Vec<(Vec<VarId>, &Indicator)> = Vec::new();
    body.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            let indicator = kernel.tensors[access.tensor].indicator.as_deref();
            let Some(indicator) = indicator.filter(|indicator| indicator.gather().is_none()) else { continue };
            let mut is_left = false;
            if let Some(rest) = residual(&kernel.tensors, body, &|other: &Access| other.is_same_element(access)) {
                rest.visit_assigns(&mut |own| is_left |= own.lhs.tensor == tensor && own.lhs.vars == place);
            }
            let condition = (access.vars.clone(), indicator);
            if !is_left && !found.contains(&condition) {
                found.push(condition);
            }
        }
    });
    found
}

/// The packed operand of which every assignment of a loop's body has an element for a factor, so that loops come to its unique elements
/// alone, which are stored; and these.
fn unique<'k, 's>(kernel: &'k Kernel, body: &'s Stmt) -> Option<(&'s Access, &'k Piece)> {
    let mut assigns = Vec::new();
    body.visit_assigns(&mut |assign| assigns.push(assign));
    let of =
        |assign: &&'s Assign| assign.rhs.accesses().into_iter().find_map(|own| Some((own, elements(kernel, own)?)));
    let found = assigns.first().and_then(of)?;
    assigns.iter().all(|assign| is_factor(&assign.rhs, found.0)).then_some(found)
}

/// True if an expression is 0 where an access has no element.
fn is_factor(expr: &Expr, access: &Access) -> bool {
    match &expr.kind {
        ExprKind::Access(own) => own.is_same_element(access),
        ExprKind::Binary(BinaryFn::Mul, a, b) => is_factor(a, access) || is_factor(b, access),
        ExprKind::Binary(BinaryFn::Div, a, _) => is_factor(a, access),
        ExprKind::Unary(UnaryFn::Neg | UnaryFn::Conj, a) | ExprKind::Cast(a) => is_factor(a, access),
        ExprKind::Select(operands) => {
            is_factor(&operands[1], access) && operands[2].kind == Expr::zero(expr.dtype).kind
        }
        _ => false,
    }
}

/// The unique elements of a packed operand, if these alone are stored, and are one piece.
fn elements<'k>(kernel: &'k Kernel, access: &Access) -> Option<&'k Piece> {
    let tensor = &kernel.tensors[access.tensor];
    let is_stored = tensor.is_unique && tensor.format.packing().is_some();
    match tensor.structure.as_deref().filter(|_| is_stored)?.unique().pieces() {
        [piece] => Some(piece),
        _ => None,
    }
}

/// The original variables of the loops inside of a statement.
fn loops(kernel: &Kernel, stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(var, body) => [kernel.provenance.originals(*var), loops(kernel, body)].concat(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(|stmt| loops(kernel, stmt)).collect(),
        Stmt::Where { consumer, producer } => [loops(kernel, consumer), loops(kernel, producer)].concat(),
    }
}

/// True if the place that an assignment writes to tells the value of a variable: a factor of the value is an indicator of it and of
/// variables of the place.
fn is_told(kernel: &Kernel, assign: &Assign, var: VarId) -> bool {
    assign.rhs.accesses().into_iter().any(|access| {
        let of_place = |own: &VarId| *own == var || assign.lhs.vars.contains(own);
        let place = access.vars.iter().position(|own| *own == var);
        access.vars.len() > 1
            && place.is_some_and(|place| kernel.tensors[access.tensor].tells(place))
            && access.vars.iter().all(of_place)
            && combines_nothing(kernel, assign, access)
    })
}

/// True if an assignment changes nothing where an access of its value is absent.
pub(crate) fn combines_nothing(kernel: &Kernel, assign: &Assign, access: &Access) -> bool {
    let rest = without(&kernel.tensors, &assign.rhs, &|other: &Access| other.tensor == access.tensor);
    let is_dense = kernel.tensors[assign.lhs.tensor].format.is_dense();
    let identity = assign.op.monoid().and_then(|monoid| monoid.identity(rest.dtype));
    // A number that is written makes an element of a sparse result.
    rest.is_absent() || is_dense && identity.is_some_and(|identity| is_always(kernel, &rest, identity))
}

/// True if a value is a number that is written, whatever conditions hold.
fn is_always(kernel: &Kernel, value: &Expr, number: Scalar) -> bool {
    if let ExprKind::Select(operands) = &value.kind {
        return operands[1..].iter().all(|operand| is_always(kernel, operand, number));
    }
    value.accesses().is_empty() && background(&kernel.tensors, value).is_some_and(|found| found.value.equals(number))
}

/// Workspaces that are filled and read inside a statement.
pub fn filled_inside(stmt: &Stmt) -> Vec<TensorId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(_, body) => filled_inside(body),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(filled_inside).collect(),
        Stmt::Where { consumer, producer } => {
            let read = consumer.reads();
            let own = producer.writes().into_iter().filter(|tensor| read.contains(tensor));
            own.chain(filled_inside(consumer)).chain(filled_inside(producer)).collect()
        }
    }
}
