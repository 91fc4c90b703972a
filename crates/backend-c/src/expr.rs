//! Expressions as C text, with as few parentheses as a reader (and a compiler's warnings) can do with.
//!
//! Every text has the value that the IR's expression has. Its C type may be wider: C computes on types shorter than
//! `int` in `int`, which keeps the value wherever this printer uses an operator of C. Operators are used on reals and
//! complex numbers, on `uint32_t` and `uint64_t`, on indices (see [`crate::facts`]) and on `bool`; other integer
//! arithmetic calls a [`Helper`].
//!
//! ```text
//! (i * n) + j        i * n + j
//! a + (b + c)        a + (b + c)             the order of additions is kept
//! v + w  (i8)        lac_add_i8(v, w)
//! x / 4  (i32)       x / 4                   the divisor is known to be harmless
//! u >= 0 (u32)       true                    see crate::known
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_imp::{BinaryOp, Const, Expr, ExprId, UnaryOp};

use crate::helpers::{Helper, wraps_by_function};
use crate::kernel::KernelPrinter;
use crate::types::{c_type, integer_value, literal};

/// The precedence of C's operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// `a ? b : c`
    Conditional,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`, `^`, `&`
    Bits,
    /// `==`, `<`
    Comparison,
    /// `+`, `-`
    Sum,
    /// `*`, `/`, `%`
    Product,
    /// `-a`, `!a`, `(type)a`
    Prefix,
    /// Names, literals, calls.
    Primary,
}

/// The text of an expression and how tightly its outermost operator binds.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Its outermost operator.
    pub binding: Binding,
}

impl Text {
    /// A text that needs no parentheses anywhere.
    pub fn primary(text: impl Into<String>) -> Text {
        Text { text: text.into(), binding: Binding::Primary }
    }

    /// The text, in parentheses unless it binds at least as tightly as `binding`.
    pub(crate) fn at_least(&self, binding: Binding) -> String {
        if self.binding >= binding { self.text.clone() } else { format!("({})", self.text) }
    }
}

fn call(function: &str, arguments: &[&Text]) -> Text {
    let arguments: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    Text::primary(format!("{function}({})", arguments.join(", ")))
}

/// An operator whose operands on the left may be operations of the same kind, without parentheses.
fn infix(operator: &str, binding: Binding, a: &Text, b: &Text) -> Text {
    let tighter = if binding == Binding::Sum { Binding::Product } else { Binding::Prefix };
    Text { text: format!("{} {operator} {}", a.at_least(binding), b.at_least(tighter)), binding }
}

/// An operator whose operands stand in parentheses unless they bind tightly enough for everyone to know it. Chains of
/// one logical operator need none.
fn infix_alone(operator: &str, binding: Binding, a: &Text, b: &Text) -> Text {
    let logical = matches!(binding, Binding::And | Binding::Or);
    let inner = match binding {
        Binding::Comparison => Binding::Sum,
        _ if logical => Binding::Comparison,
        _ => Binding::Prefix,
    };
    let operand = |text: &Text| {
        if logical && text.binding == binding {
            text.text.clone()
        } else if !logical && text.text.starts_with('!') {
            // `!a == b` is right, but compilers take it for a mistake.
            format!("({})", text.text)
        } else {
            text.at_least(inner)
        }
    };
    Text { text: format!("{} {operator} {}", operand(a), operand(b)), binding }
}

fn prefix(operator: &str, a: &Text) -> Text {
    let operand = if a.text.starts_with('-') { format!("({})", a.text) } else { a.at_least(Binding::Prefix) };
    Text { text: format!("{operator}{operand}"), binding: Binding::Prefix }
}

fn cast(ty: DType, a: &Text) -> Text {
    Text { text: format!("({}){}", c_type(ty), a.at_least(Binding::Prefix)), binding: Binding::Prefix }
}

impl KernelPrinter<'_> {
    /// An expression as text.
    pub fn expr(&mut self, id: ExprId) -> Text {
        if let Some(name) = self.temporaries.get(&id) {
            return Text::primary(name.clone());
        }
        if let Some(value) = self.facts.known(id) {
            return self.constant(value);
        }
        let ty = self.facts.type_of(id);
        match self.function.exprs[id] {
            Expr::Const(constant) => self.constant(constant),
            Expr::Var(var) => Text::primary(self.var_name(var)),
            Expr::Unary(op, a) => {
                let value = self.expr(a);
                self.unary(op, self.facts.type_of(a), &value, self.is_plain_index(id, &[a]))
            }
            Expr::Binary(op, a, b) => self.binary_expr(id, op, a, b),
            Expr::Compare(op, a, b) => {
                let (left, right) = (self.expr(a), self.expr(b));
                infix_alone(op.name(), Binding::Comparison, &left, &right)
            }
            Expr::Select(condition, a, b) => {
                if let Some(chosen) = self.facts.chosen(self.function.exprs[id]) {
                    return self.expr(chosen);
                }
                let (condition, a, b) = (self.expr(condition), self.wide_expr(a), self.expr(b));
                let [condition, a, b] = [condition, a, b].map(|text| text.at_least(Binding::Or));
                Text { text: format!("{condition} ? {a} : {b}"), binding: Binding::Conditional }
            }
            Expr::Cast(to, a) if to == self.facts.type_of(a) => self.expr(a),
            Expr::Cast(_, a) => {
                let value = self.expr(a);
                self.conversion(ty, self.facts.type_of(a), &value)
            }
            Expr::Extern(function, a, b) => {
                let helper = self.helpers.name(Helper::Extern(function));
                let operands: Vec<Text> = std::iter::once(a).chain(b).map(|operand| self.expr(operand)).collect();
                call(&helper, &operands.iter().collect::<Vec<_>>())
            }
            Expr::Word(op, word, place) => {
                let helper = self.helpers.name(Helper::Word(op, self.facts.type_of(word)));
                let (word, place) = (self.expr(word), self.expr(place));
                call(&helper, &[&word, &place])
            }
        }
    }

    /// An expression as text that has the IR's type in C too: small constants of type `I64` would be an `int`, which
    /// matters where no other operand is 64 bits wide.
    fn wide_expr(&mut self, id: ExprId) -> Text {
        match self.facts.known(id) {
            Some(c) if c.ty == DType::I64 && !self.facts.is_value(id) => {
                let text = self.constant(c);
                call("INT64_C", &[&text])
            }
            _ => self.expr(id),
        }
    }

    /// An index into an array: without the cast that an unsigned coordinate has in the IR. C takes it as it is.
    pub(crate) fn index(&mut self, id: ExprId) -> String {
        self.without_widening(id, DType::U64.size()).text
    }

    /// A bound of a loop: without the cast of a shorter unsigned number, which C widens by itself.
    pub(crate) fn bound(&mut self, id: ExprId) -> Text {
        self.without_widening(id, DType::U32.size())
    }

    fn without_widening(&mut self, id: ExprId, size: usize) -> Text {
        match self.function.exprs[id] {
            Expr::Cast(DType::I64, a) if self.is_unsigned_variable(a) && self.facts.type_of(a).size() <= size => {
                self.expr(a)
            }
            _ => self.expr(id),
        }
    }

    fn is_unsigned_variable(&self, id: ExprId) -> bool {
        self.facts.type_of(id).kind() == Kind::Unsigned && matches!(self.function.exprs[id], Expr::Var(_))
    }

    fn constant(&mut self, constant: Const) -> Text {
        if constant.ty.is_complex() {
            self.helpers.name(Helper::Make(constant.ty));
        }
        let (text, single) = literal(constant);
        if text.contains("NAN") || text.contains("INFINITY") {
            self.helpers.include("math.h");
        }
        Text { text, binding: if single { Binding::Primary } else { Binding::Prefix } }
    }

    /// A call of a function of `math.h` or `complex.h`: `sqrt`, `sqrtf`, `csqrt` or `csqrtf`, by the type.
    fn math(&mut self, name: &str, ty: DType, arguments: &[&Text]) -> Text {
        self.helpers.include(if ty.is_complex() { "complex.h" } else { "math.h" });
        let complex = if ty.is_complex() && name != "conj" { "c" } else { "" };
        let single = if ty.part() == DType::F32 { "f" } else { "" };
        call(&format!("{complex}{name}{single}"), arguments)
    }

    /// True if an `I64` operation is index arithmetic, done with C's operators. Operations on constants alone are not:
    /// in C they would be done in `int`.
    fn is_plain_index(&self, result: ExprId, operands: &[ExprId]) -> bool {
        self.facts.type_of(result) == DType::I64
            && !self.facts.is_value(result)
            && !operands.iter().all(|&operand| self.facts.is_constant(operand))
    }

    fn unary(&mut self, op: UnaryOp, ty: DType, a: &Text, plain: bool) -> Text {
        let helper = match op {
            UnaryOp::Neg if wraps_by_function(ty) && !plain => Helper::Neg(ty),
            UnaryOp::Neg => return prefix("-", a),
            UnaryOp::Not => return prefix("!", a),
            UnaryOp::Abs if ty.kind() == Kind::Unsigned => return a.clone(),
            UnaryOp::Abs if ty.is_integer() => Helper::Abs(ty),
            UnaryOp::Abs if ty.is_real() => return self.math("fabs", ty, &[a]),
            UnaryOp::Sign => Helper::Sign(ty),
            UnaryOp::CountOnes => Helper::CountOnes(ty),
            UnaryOp::TrailingZeros => Helper::TrailingZeros(ty),
            _ => return self.math(op.name(), ty, &[a]),
        };
        call(&self.helpers.name(helper), &[a])
    }

    fn binary_expr(&mut self, id: ExprId, op: BinaryOp, a: ExprId, b: ExprId) -> Text {
        let ty = self.facts.type_of(id);
        let divisor = self.facts.known(b).filter(|_| ty.is_integer()).map(integer_value);
        let harmless = divisor.is_some_and(|divisor| divisor != 0 && divisor != -1);
        let (left, right) = (self.expr(a), self.expr(b));
        if harmless && !self.facts.is_constant(a) && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            return infix(op.name(), Binding::Product, &left, &right);
        }
        let plain = self.is_plain_index(id, &[a, b]);
        self.binary(op, ty, &left, &right, plain)
    }

    /// An operation on two operands of type `ty`; `plain` if it is on indices, with C's operators.
    pub fn binary(&mut self, op: BinaryOp, ty: DType, a: &Text, b: &Text, plain: bool) -> Text {
        if ty == DType::Bool {
            return match op {
                BinaryOp::Add | BinaryOp::Max | BinaryOp::Or => infix_alone("||", Binding::Or, a, b),
                BinaryOp::Mul | BinaryOp::Min | BinaryOp::And => infix_alone("&&", Binding::And, a, b),
                _ => infix_alone("!=", Binding::Comparison, a, b),
            };
        }
        let by_function = wraps_by_function(ty) && !plain;
        let integer = ty.is_integer();
        let helper = match op {
            BinaryOp::Add if by_function => Helper::Add(ty),
            BinaryOp::Sub if by_function => Helper::Sub(ty),
            BinaryOp::Mul if by_function => Helper::Mul(ty),
            BinaryOp::Div if integer => Helper::Div(ty),
            BinaryOp::Rem if integer => Helper::Rem(ty),
            BinaryOp::Pow if integer => Helper::Pow(ty),
            BinaryOp::Min => Helper::Min(ty),
            BinaryOp::Max => Helper::Max(ty),
            BinaryOp::Shl => Helper::Shl(ty),
            BinaryOp::Shr => Helper::Shr(ty),
            BinaryOp::Add | BinaryOp::Sub => return infix(op.name(), Binding::Sum, a, b),
            BinaryOp::Mul | BinaryOp::Div => return infix(op.name(), Binding::Product, a, b),
            BinaryOp::Rem => return self.math("fmod", ty, &[a, b]),
            BinaryOp::Pow | BinaryOp::Atan2 => return self.math(op.name(), ty, &[a, b]),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => return infix_alone(op.name(), Binding::Bits, a, b),
        };
        call(&self.helpers.name(helper), &[a, b])
    }

    /// A value of type `from` converted to type `to`.
    fn conversion(&mut self, to: DType, from: DType, a: &Text) -> Text {
        if from.is_storage() {
            let wide = call(&self.helpers.name(Helper::Widen(from)), &[a]);
            return if to == DType::F32 { wide } else { self.conversion(to, DType::F32, &wide) };
        }
        if to.is_storage() {
            let single = if from == DType::F32 { a.clone() } else { self.conversion(DType::F32, from, a) };
            return call(&self.helpers.name(Helper::Narrow(to)), &[&single]);
        }
        match (from.kind(), to.kind()) {
            (_, Kind::Bool) => infix_alone("!=", Binding::Comparison, a, &Text::primary("0")),
            (Kind::Complex, Kind::Real | Kind::Signed | Kind::Unsigned) => {
                let real = self.math("real", from, &[a]);
                if from.part() == to { real } else { self.conversion(to, from.part(), &real) }
            }
            (Kind::Real, Kind::Signed | Kind::Unsigned) => call(&self.helpers.name(Helper::ToInteger(to)), &[a]),
            _ => cast(to, a),
        }
    }
}
