//! Values: expressions evaluated and assignments stored.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, Const, ExprId, UnaryOp};
use lacunar_notation::concrete::Assign;
use lacunar_notation::{Access, AssignOp, BinaryFn, Expr, ExprKind, Literal, ReduceOp, Role, UnaryFn, WorkspaceKind};

use super::{Lowerer, Scope, Uncertain, Written, workspace_kind};
use crate::iterate::iterators::AccessKey;
use crate::levels::Position;

/// Whether an expression has a value at a place, or is a structural zero.
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
        let presence = self.presence(&assign.rhs, scope);
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
        let value = self.expr(&assign.rhs, scope)?;
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
            ExprKind::Literal(literal) => Ok(self.b.constant(constant(*literal, value_type(expr.dtype)))),
            ExprKind::Access(access) => self.read(access, scope),
            // What a pattern has at a place is whether there is something.
            ExprKind::Cast(a) if expr.dtype == DType::Pattern => {
                let present = self.presence(a, scope);
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
                Ok(self.unary(*function, a))
            }
            ExprKind::Binary(function, a, b) => {
                let value = (self.expr(a, scope)?, self.expr(b, scope)?);
                let value = self.binary(*function, value.0, value.1);
                // An absent operand makes the result absent even where the other is NaN or infinite.
                let (kills_a, kills_b) = function.annihilates();
                let uncertain = (kills_a && self.is_uncertain(a, scope)) || (kills_b && self.is_uncertain(b, scope));
                match uncertain.then(|| self.presence(expr, scope)) {
                    Some(Presence::If(present)) => {
                        let zero = self.b.constant(Const::zero(expr.dtype));
                        Ok(self.b.select(present, value, zero))
                    }
                    _ => Ok(value),
                }
            }
            ExprKind::Reduce(..) => Err(Diagnostic::internal("a reduction is left in concrete notation")),
        }
    }

    fn read(&mut self, access: &Access, scope: &Scope) -> Result<ExprId, Diagnostic> {
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
        let zero = Const::zero(self.kernel.tensors[access.tensor].dtype);
        match scope.uncertain.get(&key) {
            None => Ok(self.b.load(&name, values, at)),
            Some(Uncertain { present, readable: true }) => {
                let value = self.b.load(&name, values, at);
                let zero = self.b.constant(zero);
                Ok(self.b.select(*present, value, zero))
            }
            Some(Uncertain { present, readable: false }) => {
                let zero = self.b.constant(zero);
                let variable = self.b.declare(&name, zero);
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

    fn unary(&mut self, function: UnaryFn, a: ExprId) -> ExprId {
        let ty = self.b.type_of(a);
        let op = match function {
            UnaryFn::Square => return self.b.mul(a, a),
            UnaryFn::Cube => {
                let square = self.b.mul(a, a);
                return self.b.mul(square, a);
            }
            // The real part of a real number is the number; its imaginary part is zero.
            UnaryFn::Real | UnaryFn::Conj if !ty.is_complex() => return a,
            UnaryFn::Imag if !ty.is_complex() => return self.b.constant(Const::zero(ty)),
            UnaryFn::Abs if matches!(ty.kind(), lacunar_formats::Kind::Unsigned | lacunar_formats::Kind::Bool) => {
                return a;
            }
            UnaryFn::Sign if ty == DType::Bool => return a,
            UnaryFn::Floor | UnaryFn::Ceil if !ty.is_float() => return a,
            UnaryFn::Neg => UnaryOp::Neg,
            UnaryFn::Not => UnaryOp::Not,
            UnaryFn::Abs => UnaryOp::Abs,
            UnaryFn::Real => UnaryOp::Real,
            UnaryFn::Imag => UnaryOp::Imag,
            UnaryFn::Conj => UnaryOp::Conj,
            UnaryFn::Sqrt => UnaryOp::Sqrt,
            UnaryFn::Cbrt => UnaryOp::Cbrt,
            UnaryFn::Exp => UnaryOp::Exp,
            UnaryFn::Log => UnaryOp::Log,
            UnaryFn::Log10 => UnaryOp::Log10,
            UnaryFn::Sin => UnaryOp::Sin,
            UnaryFn::Cos => UnaryOp::Cos,
            UnaryFn::Tan => UnaryOp::Tan,
            UnaryFn::Asin => UnaryOp::Asin,
            UnaryFn::Acos => UnaryOp::Acos,
            UnaryFn::Atan => UnaryOp::Atan,
            UnaryFn::Sinh => UnaryOp::Sinh,
            UnaryFn::Cosh => UnaryOp::Cosh,
            UnaryFn::Tanh => UnaryOp::Tanh,
            UnaryFn::Asinh => UnaryOp::Asinh,
            UnaryFn::Acosh => UnaryOp::Acosh,
            UnaryFn::Atanh => UnaryOp::Atanh,
            UnaryFn::Floor => UnaryOp::Floor,
            UnaryFn::Ceil => UnaryOp::Ceil,
            UnaryFn::Sign => UnaryOp::Sign,
        };
        self.b.unary(op, a)
    }

    fn binary(&mut self, function: BinaryFn, a: ExprId, b: ExprId) -> ExprId {
        let op = match function {
            BinaryFn::Eq => return self.b.compare(CompareOp::Eq, a, b),
            BinaryFn::Ne => return self.b.compare(CompareOp::Ne, a, b),
            BinaryFn::Lt => return self.b.compare(CompareOp::Lt, a, b),
            BinaryFn::Le => return self.b.compare(CompareOp::Le, a, b),
            BinaryFn::Gt => return self.b.compare(CompareOp::Gt, a, b),
            BinaryFn::Ge => return self.b.compare(CompareOp::Ge, a, b),
            BinaryFn::Heaviside => return self.heaviside(a, b),
            BinaryFn::Add => BinaryOp::Add,
            BinaryFn::Sub => BinaryOp::Sub,
            BinaryFn::Mul => BinaryOp::Mul,
            BinaryFn::Div | BinaryFn::IntDiv => BinaryOp::Div,
            BinaryFn::Rem => BinaryOp::Rem,
            BinaryFn::Min => BinaryOp::Min,
            BinaryFn::Max => BinaryOp::Max,
            BinaryFn::Pow => BinaryOp::Pow,
            BinaryFn::Atan2 => BinaryOp::Atan2,
            BinaryFn::And => BinaryOp::And,
            BinaryFn::Or => BinaryOp::Or,
            BinaryFn::Xor => BinaryOp::Xor,
        };
        self.b.binary(op, a, b)
    }

    /// `x < 0 ? 0 : x == 0 ? h : x > 0 ? 1 : x`; the last is NaN.
    fn heaviside(&mut self, x: ExprId, at_zero: ExprId) -> ExprId {
        let ty = self.b.type_of(x);
        let (zero, one) = (self.b.constant(Const::zero(ty)), self.b.constant(Const::one(ty)));
        let above = self.b.compare(CompareOp::Gt, x, zero);
        let above = self.b.select(above, one, x);
        let equal = self.b.compare(CompareOp::Eq, x, zero);
        let from_zero = self.b.select(equal, at_zero, above);
        let below = self.b.compare(CompareOp::Lt, x, zero);
        self.b.select(below, zero, from_zero)
    }

    /// Whether an expression has a value here. Every access that is left in it is present, except that one may be uncertain
    /// in this scope, and that a workspace may have been given nothing.
    pub(super) fn presence(&mut self, expr: &Expr, scope: &Scope) -> Presence {
        match &expr.kind {
            ExprKind::Literal(Literal::Absent) => Presence::Never,
            ExprKind::Literal(_) => Presence::Always,
            ExprKind::Access(access) => match scope.uncertain.get(&AccessKey::from(access)) {
                Some(uncertain) => Presence::If(uncertain.present),
                None => self.workspace_presence(access.tensor),
            },
            ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => self.presence(a, scope),
            ExprKind::Unary(function, a) if function.keeps_zero() => self.presence(a, scope),
            ExprKind::Unary(..) => Presence::Always,
            ExprKind::Binary(function, a, b) => {
                let (a, b) = (self.presence(a, scope), self.presence(b, scope));
                match function.annihilates() {
                    (true, true) => self.all_present(a, b),
                    (true, false) => a,
                    (false, true) => b,
                    (false, false) if function.keeps_zero() => self.any_present(a, b),
                    (false, false) => Presence::Always,
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

/// A literal as a constant of a type.
fn constant(literal: Literal, ty: DType) -> Const {
    match literal {
        Literal::Absent => Const::zero(ty),
        Literal::Bool(value) if ty.is_float() => Const::real(ty, f64::from(u8::from(value))),
        Literal::Bool(value) => Const::int(ty, i64::from(value)),
        Literal::Int(value) if ty.is_float() => Const::real(ty, value as f64),
        Literal::Int(value) if ty == DType::Bool => Const::bool(value != 0),
        Literal::Int(value) => Const::int(ty, value as i64),
        Literal::Float(value) if ty.is_float() => Const::real(ty, value),
        Literal::Float(value) if ty == DType::Bool => Const::bool(value != 0.0),
        Literal::Float(value) => Const::int(ty, value as i64),
    }
}
