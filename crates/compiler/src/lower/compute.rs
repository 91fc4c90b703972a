//! Values: expressions evaluated and assignments stored.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::ExprId;
use lacunar_notation::concrete::Assign;
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, ReduceOp, Role, WorkspaceKind};

use super::{Lowerer, Reading, Scope, Uncertain, Written, workspace_kind};
use crate::algebra::{Meet, background, meet, rests};
use crate::functions;
use crate::iterate::iterators::AccessKey;
use crate::levels::Position;

/// Whether an expression differs from its background at a place, or an assignment has something to assign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Never,
    Always,
    /// Where a condition holds.
    If(ExprId),
}

impl Lowerer<'_> {
    /// An assignment; says under which condition the result got a value.
    pub(super) fn assign(&mut self, assign: &Assign, scope: &Scope) -> Result<Written, Diagnostic> {
        let presence = match rests(&self.kernel.tensors, assign) {
            true => self.presence(&assign.rhs, scope),
            false => Presence::Always,
        };
        let tensor = &self.kernel.tensors[assign.lhs.tensor];
        if let Some(kind) = workspace_kind(tensor.role) {
            self.fill_workspace(kind, assign, presence, scope)?;
            return Ok(None);
        }
        let written = match presence {
            Presence::If(condition) => Some(condition),
            Presence::Always => None,
            Presence::Never => Some(self.b.bool(false)),
        };
        if let Some(given) = self.block_given.filter(|_| self.appended_tensor() == Some(assign.lhs.tensor)) {
            let yes = written.unwrap_or_else(|| self.b.bool(true));
            let so_far = self.b.var(given);
            let now = self.b.or(so_far, yes);
            self.b.assign(given, now);
        }
        let Some(values) = self.tensors[assign.lhs.tensor.index()].values else { return Ok(written) };
        let value = self.addend(assign, scope)?;
        let key = AccessKey::from(&assign.lhs);
        let at = self.value_position(&key, scope)?;
        match assign.op {
            AssignOp::Set => self.b.store(values, at, value),
            AssignOp::Reduce(ReduceOp::Add) => self.add_to(&key, at, value, scope)?,
        }
        Ok(written)
    }

    /// The position of an access's value.
    pub(super) fn value_position(&mut self, access: &AccessKey, scope: &Scope) -> Result<ExprId, Diagnostic> {
        let tensor = &self.kernel.tensors[access.tensor];
        if tensor.role == Role::Workspace(WorkspaceKind::Marked) {
            // Values lie at their coordinate, whatever the order of the list.
            return self.coordinate(access.vars[0], scope);
        }
        match self.position(access, tensor.order().checked_sub(1), scope)? {
            Position::One(position) => Ok(position),
            Position::Range(..) => {
                Err(Diagnostic::internal(format!("the last level of `{}` repeats a coordinate", tensor.name)))
            }
        }
    }

    /// Evaluates an expression where `scope` holds.
    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope) -> Result<ExprId, Diagnostic> {
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(self.b.constant(functions::constant(*literal, value_type(expr.dtype)))),
            ExprKind::Access(access) => self.read(access, scope),
            // What a pattern has at a place is whether there is something.
            ExprKind::Cast(a) if expr.dtype == DType::Pattern => {
                let absent = background(&self.kernel.tensors, a).is_some_and(|background| background.absent);
                let present = if absent { self.presence(a, scope) } else { Presence::Always };
                Ok(match present {
                    Presence::If(condition) => condition,
                    Presence::Always => self.b.bool(true),
                    Presence::Never => self.b.bool(false),
                })
            }
            ExprKind::Cast(a) => {
                let a = self.expr(a, scope)?;
                Ok(self.b.cast(expr.dtype, a))
            }
            ExprKind::Unary(function, a) => {
                let a = self.expr(a, scope)?;
                Ok(functions::unary(&mut self.b, *function, a))
            }
            ExprKind::Binary(function, a, b) => {
                let value = (self.expr(a, scope)?, self.expr(b, scope)?);
                let value = functions::binary(&mut self.b, *function, value.0, value.1);
                // An absent operand makes the result absent even where the other is NaN or infinite.
                let uncertain = match meet(&self.kernel.tensors, *function, a, b) {
                    Meet::Both => self.is_uncertain(a, scope) || self.is_uncertain(b, scope),
                    Meet::Left => self.is_uncertain(a, scope),
                    Meet::Right => self.is_uncertain(b, scope),
                    Meet::Either => false,
                };
                let background = background(&self.kernel.tensors, expr).filter(|_| uncertain);
                match background.map(|background| (background.value, self.presence(expr, scope))) {
                    Some((absent, Presence::If(present))) => {
                        let absent = self.b.constant(absent);
                        Ok(self.b.select(present, value, absent))
                    }
                    _ => Ok(value),
                }
            }
            ExprKind::Reduce(..) => Err(Diagnostic::internal("a reduction is left in concrete notation")),
        }
    }

    pub(super) fn read(&mut self, access: &Access, scope: &Scope) -> Result<ExprId, Diagnostic> {
        if let Some(value) = self.scalar_workspace(access.tensor) {
            return Ok(value);
        }
        let key = AccessKey::from(access);
        if self.kernel.tensors[access.tensor].dtype == DType::Pattern {
            let present = scope.uncertain.get(&key).map(|uncertain| uncertain.present);
            return Ok(present.unwrap_or_else(|| self.b.bool(true)));
        }
        let at = self.value_position(&key, scope)?;
        let name = format!("{}_v", self.name(access.tensor));
        let values = self.values_of(access.tensor)?;
        let fill = self.kernel.tensors[access.tensor].fill();
        match scope.uncertain.get(&key) {
            None => Ok(self.b.load(&name, values, at)),
            Some(Uncertain { reading: Reading::Done(value), .. }) => Ok(*value),
            Some(Uncertain { present, reading: Reading::Ignored }) => {
                let value = self.b.load(&name, values, at);
                let fill = self.b.constant(fill);
                Ok(self.b.select(*present, value, fill))
            }
            Some(Uncertain { present, reading: Reading::Guarded }) => {
                let fill = self.b.constant(fill);
                let variable = self.b.declare(&name, fill);
                self.b.begin_block();
                let value = self.b.load(&name, values, at);
                self.b.assign(variable, value);
                let then = self.b.end_block();
                self.b.push(lacunar_imp::Stmt::If { cond: *present, then, otherwise: Vec::new() });
                Ok(self.b.var(variable))
            }
        }
    }

    /// Whether an expression reads an access that may be absent.
    fn is_uncertain(&self, expr: &Expr, scope: &Scope) -> bool {
        !scope.uncertain.is_empty()
            && expr.accesses().into_iter().any(|access| scope.uncertain.contains_key(&AccessKey::from(access)))
    }

    /// Whether an expression differs from its background here. Every access that is left in it is present, except that one may be
    /// uncertain in this scope, and that a workspace may have been given nothing.
    pub(super) fn presence(&mut self, expr: &Expr, scope: &Scope) -> Presence {
        match &expr.kind {
            ExprKind::Literal(_) => Presence::Never,
            ExprKind::Access(access) => match scope.uncertain.get(&AccessKey::from(access)) {
                Some(uncertain) => Presence::If(uncertain.present),
                None => self.workspace_presence(access.tensor),
            },
            ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => self.presence(a, scope),
            ExprKind::Binary(function, left, right) => {
                let (a, b) = (self.presence(left, scope), self.presence(right, scope));
                match meet(&self.kernel.tensors, *function, left, right) {
                    Meet::Both => self.all_present(a, b),
                    Meet::Left => a,
                    Meet::Right => b,
                    Meet::Either => self.any_present(a, b),
                }
            }
        }
    }

    fn all_present(&mut self, a: Presence, b: Presence) -> Presence {
        match (a, b) {
            (Presence::Never, _) | (_, Presence::Never) => Presence::Never,
            (Presence::Always, other) | (other, Presence::Always) => other,
            (Presence::If(a), Presence::If(b)) => Presence::If(self.b.and(a, b)),
        }
    }

    fn any_present(&mut self, a: Presence, b: Presence) -> Presence {
        match (a, b) {
            (Presence::Always, _) | (_, Presence::Always) => Presence::Always,
            (Presence::Never, other) | (other, Presence::Never) => other,
            (Presence::If(a), Presence::If(b)) => Presence::If(self.b.or(a, b)),
        }
    }
}

/// The type of the values of an expression: those of a pattern are truth values.
fn value_type(dtype: DType) -> DType {
    if dtype == DType::Pattern { DType::Bool } else { dtype }
}
