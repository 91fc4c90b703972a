//! The text form of a function, which [`crate::parse()`] reads back.
//!
//! Definitions carry their types. A constant shows its type unless it is `i64` (`3`), `f64` (`3.0`) or `bool` (`true`):
//! `3u32`, `3.0f32`, `c128(1.0, -2.0)`, `f64.inf`, `-f32.inf`, `f64.nan`, and a NaN with other bits
//! `f64.bits(0x7ff8000000000001)`. Symbols bind as in C; `-(3)` is the negation of 3 and `-3` the constant. Local
//! arrays and lists of parts are declared at the start of the body. A loop that is not serial says so behind its
//! bounds: `parallel`, `vector`, `vector(8)`, `unroll`, `unroll(4)`. A parameter array that is known to have `n`
//! elements at least shows `f64[n ..]`.
//!
//! ```text
//! kernel rowsum(in A_pos: u32[], in A_vals: f64[], out y_vals: f64[], m: i64) {
//!   local seen: bool[];
//!   alloc seen[m] = 0;
//!   for i in 0 .. m {
//!     let p0: u32 = A_pos[i];
//!     if i64(p0) < 7 & !(m == 0) {
//!       y_vals[i] += 1.0;
//!     }
//!   }
//! }
//! ```
//!
//! The printer takes functions that break the verifier's rules too (errors quote them): a handle that leads nowhere
//! prints as `<?>`.

use std::fmt::{self, Display, Write};

use lacunar_formats::DType;

use crate::ir::{
    Arg, ArrayId, ArrayRole, BinaryOp, Callee, CompareOp, Const, Expr, ExprId, Function, Lanes, LoopKind, Param, Stmt,
    Turns, UnaryOp, VarId,
};

impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strict = if self.strict { "strict " } else { "" };
        write!(f, "{strict}kernel {}(", self.name)?;
        for (k, &param) in self.params.iter().enumerate() {
            f.write_str(if k == 0 { "" } else { ", " })?;
            f.write_str(&self.param_text(param))?;
        }
        f.write_str(") {\n")?;
        for (_, array) in self.arrays.iter().filter(|(_, array)| !array.role.is_parameter()) {
            writeln!(f, "  {} {}: {}[];", array.role.name(), array.name, array.elem)?;
        }
        let mut text = String::new();
        Printer { function: self, text: &mut text }.block(&self.body, 1)?;
        write!(f, "{text}}}")
    }
}

/// A constant with its type, as it stands in the text of a function.
///
/// ```
/// use lacunar_formats::DType;
/// use lacunar_imp::{Const, print::constant_text};
/// assert_eq!(constant_text(Const::real(DType::F32, 0.5)), "0.5f32");
/// ```
pub fn constant_text(Const { ty, bits, imag }: Const) -> String {
    match ty {
        DType::Bool | DType::Pattern => (bits != 0).to_string(),
        DType::I64 => (bits as i64).to_string(),
        DType::I8 | DType::I16 | DType::I32 => format!("{}{ty}", bits as i64),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => format!("{bits}{ty}"),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => real_text(ty, bits),
        DType::C64 | DType::C128 => format!("{ty}({}, {})", real_text(ty.part(), bits), real_text(ty.part(), imag)),
    }
}

/// A real constant; `{:?}` of a float is the shortest text that reads back to it.
fn real_text(ty: DType, bits: u64) -> String {
    let value = Const { ty, bits, imag: 0 }.re();
    let quiet_nan = Const::real(ty, f64::NAN).bits;
    let finite = match ty {
        DType::F64 => format!("{value:?}"),
        // The shortest text of an `f32`; of shorter types, too.
        _ => format!("{:?}{ty}", value as f32),
    };
    if value.is_finite() {
        finite
    } else if value.is_infinite() {
        format!("{}{ty}.inf", if value < 0.0 { "-" } else { "" })
    } else if bits == quiet_nan {
        format!("{ty}.nan")
    } else {
        format!("{ty}.bits({bits:#x})")
    }
}

impl Function {
    /// An expression as text.
    pub fn expr_text(&self, expr: ExprId) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = Printer { function: self, text: &mut text }.expr(expr, 0);
        text
    }

    /// A statement as text, with the blocks in it, ending in a line break.
    pub fn stmt_text(&self, stmt: &Stmt) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = Printer { function: self, text: &mut text }.stmt(stmt, 0);
        text
    }

    fn var_name(&self, var: VarId) -> &str {
        self.vars.get(var).map_or("<?>", |var| var.name.as_str())
    }

    fn array_name(&self, array: ArrayId) -> &str {
        self.arrays.get(array).map_or("<?>", |array| array.name.as_str())
    }

    fn param_text(&self, param: Param) -> String {
        match param {
            Param::Array(array) => self.arrays.get(array).map_or_else(
                || "<?>".to_string(),
                |array| {
                    let len = if array.min_len == 0 { String::new() } else { format!("{} ..", array.min_len) };
                    format!("{} {}: {}[{len}]", array.role.name(), array.name, array.elem)
                },
            ),
            Param::Scalar(var) => {
                format!("{}: {}", self.var_name(var), self.vars.get(var).map_or("<?>", |var| var.ty.name()))
            }
        }
    }
}

impl ArrayRole {
    /// Its word in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            ArrayRole::Input => "in",
            ArrayRole::Output => "out",
            ArrayRole::Grown => "grown",
            ArrayRole::Local => "local",
            ArrayRole::Parts => "parts",
        }
    }

    /// True if arrays of this role are parameters; the others are declared in the body.
    pub const fn is_parameter(self) -> bool {
        matches!(self, ArrayRole::Input | ArrayRole::Output | ArrayRole::Grown)
    }
}

/// As it stands behind the bounds of a loop: with a blank before it, or nothing.
impl Display for LoopKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoopKind::Serial => Ok(()),
            LoopKind::Parallel => f.write_str(" parallel"),
            LoopKind::Vector(Lanes { width, steady, near, scattered }) => {
                f.write_str(" vector")?;
                if *width > 0 {
                    write!(f, "({width})")?;
                }
                f.write_str(if *steady { " steady" } else { "" })?;
                f.write_str(if *near { " near" } else { "" })?;
                f.write_str(if *scattered { " scattered" } else { "" })
            }
            LoopKind::Unrolled(Turns { times, near }) => {
                f.write_str(" unroll")?;
                if *times > 0 {
                    write!(f, "({times})")?;
                }
                f.write_str(if *near { " near" } else { "" })
            }
        }
    }
}

struct Printer<'a> {
    function: &'a Function,
    text: &'a mut String,
}

/// Tighter than any symbol, as the operand of `-` and `!` must bind.
const UNARY: u8 = 7;

impl Printer<'_> {
    fn block(&mut self, block: &[Stmt], depth: usize) -> fmt::Result {
        block.iter().try_for_each(|stmt| self.stmt(stmt, depth))
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> fmt::Result {
        if let Stmt::Comment(text) = stmt {
            return self.comment(text, depth);
        }
        self.indent(depth)?;
        match stmt {
            Stmt::For { var, begin, end, loads, kind, body } => {
                write!(self.text, "for {} in ", self.function.var_name(*var))?;
                self.range(*begin, *end)?;
                write!(self.text, "{kind}")?;
                if let Some(loads) = loads {
                    self.text.write_str(" loads ")?;
                    self.expr(*loads, 0)?;
                }
                self.body(body, depth)?;
            }
            Stmt::While { cond, body } => {
                self.text.write_str("while ")?;
                self.expr(*cond, 0)?;
                self.body(body, depth)?;
            }
            Stmt::If { cond, then, otherwise } => {
                self.text.write_str("if ")?;
                self.expr(*cond, 0)?;
                self.body(then, depth)?;
                if !otherwise.is_empty() {
                    self.text.write_str(" else")?;
                    self.body(otherwise, depth)?;
                }
            }
            _ => {
                self.simple(stmt)?;
                self.text.write_char(';')?;
            }
        }
        self.text.write_char('\n')
    }

    /// A statement that has no other inside, without its semicolon.
    fn simple(&mut self, stmt: &Stmt) -> fmt::Result {
        let f = self.function;
        match stmt {
            Stmt::Define { var, value } => {
                let word = if f.vars.get(*var).is_some_and(|var| var.mutable) { "var" } else { "let" };
                self.definition(word, *var)?;
                self.expr(*value, 0)
            }
            Stmt::Assign { var, value } => {
                write!(self.text, "{} = ", f.var_name(*var))?;
                self.expr(*value, 0)
            }
            Stmt::Load { var, array, index } => {
                self.definition("let", *var)?;
                self.element(*array, *index)
            }
            Stmt::Store { array, index, value, reduce, past } => {
                self.element(*array, *index)?;
                write!(self.text, " {}= ", reduce.map_or("", BinaryOp::name))?;
                self.expr(*value, 0)?;
                past.map_or(Ok(()), |past| {
                    self.text.write_str(" past ")?;
                    self.expr(past, 0)
                })
            }
            Stmt::Prefetch { array, begin, end } => {
                write!(self.text, "prefetch {}[", f.array_name(*array))?;
                self.range(*begin, *end)?;
                self.text.write_str("]")
            }
            Stmt::Break => self.text.write_str("break"),
            Stmt::Alloc { array, len, zeroed } => {
                self.text.write_str("alloc ")?;
                self.element(*array, *len)?;
                self.zeroed(*zeroed)
            }
            Stmt::Grow { array, count, block, zeroed } => {
                write!(self.text, "grow {}[", f.array_name(*array))?;
                // Blocks of one element go without saying, unless their number looks like a product with others.
                let is_product = matches!(f.exprs[*count], Expr::Binary(BinaryOp::Mul, ..));
                match f.exprs[*block] {
                    Expr::Const(one) if one == Const::one(DType::I64) && !is_product => self.expr(*count, 0)?,
                    _ => self.operands("*", 6, *count, *block)?,
                }
                self.text.write_char(']')?;
                self.zeroed(*zeroed)
            }
            Stmt::Atomic { array, index, value, op } => {
                self.text.write_str("atomic ")?;
                self.element(*array, *index)?;
                write!(self.text, " {}= ", op.name())?;
                self.expr(*value, 0)
            }
            Stmt::Deposit { parts, slot, array, len } => {
                self.text.write_str("deposit ")?;
                self.element(*parts, *slot)?;
                write!(self.text, " = {}[.. ", f.array_name(*array))?;
                self.expr(*len, 0)?;
                self.text.write_char(']')
            }
            Stmt::Collect { array, at, parts, bias, result } => {
                self.definition("let", *result)?;
                write!(self.text, "collect {}[", f.array_name(*array))?;
                self.expr(*at, 0)?;
                write!(self.text, " ..] = {}", f.array_name(*parts))?;
                bias.map_or(Ok(()), |bias| write!(self.text, " + {}", f.array_name(bias)))
            }
            Stmt::Fill { array, begin, end, value } => {
                write!(self.text, "fill {}[", f.array_name(*array))?;
                self.range(*begin, *end)?;
                self.text.write_str("] = ")?;
                self.expr(*value, 0)
            }
            Stmt::Call { callee, args, result } => {
                result.map_or(Ok(()), |var| self.definition("let", var))?;
                self.call(*callee, args)
            }
            Stmt::Fail(status) => write!(self.text, "fail {}", status.name()),
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } | Stmt::Comment(_) => Ok(()),
        }
    }

    /// An element of an array.
    fn element(&mut self, array: ArrayId, index: ExprId) -> fmt::Result {
        write!(self.text, "{}[", self.function.array_name(array))?;
        self.expr(index, 0)?;
        self.text.write_char(']')
    }

    fn zeroed(&mut self, zeroed: bool) -> fmt::Result {
        self.text.write_str(if zeroed { " = 0" } else { "" })
    }

    /// One line of text is one line of the remark; control characters would break the lines.
    fn comment(&mut self, text: &str, depth: usize) -> fmt::Result {
        for line in text.split('\n') {
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.indent(depth)?;
            writeln!(self.text, "{}", format!("// {}", line.trim()).trim_end())?;
        }
        Ok(())
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        write!(self.text, "{:width$}", "", width = 2 * depth)
    }

    fn body(&mut self, block: &[Stmt], depth: usize) -> fmt::Result {
        self.text.write_str(" {\n")?;
        self.block(block, depth + 1)?;
        self.indent(depth)?;
        self.text.write_str("}")
    }

    fn definition(&mut self, word: &str, var: VarId) -> fmt::Result {
        let ty = self.function.vars.get(var).map_or("<?>", |var| var.ty.name());
        write!(self.text, "{word} {}: {ty} = ", self.function.var_name(var))
    }

    fn range(&mut self, begin: ExprId, end: ExprId) -> fmt::Result {
        self.expr(begin, 0)?;
        self.text.write_str(" .. ")?;
        self.expr(end, 0)
    }

    fn call(&mut self, callee: Callee, args: &[Arg]) -> fmt::Result {
        write!(self.text, "{}(", callee.name())?;
        for (k, &arg) in args.iter().enumerate() {
            self.text.write_str(if k == 0 { "" } else { ", " })?;
            match arg {
                Arg::Array(array) => self.text.write_str(self.function.array_name(array))?,
                Arg::Scalar(value) => self.expr(value, 0)?,
            }
        }
        self.text.write_char(')')
    }

    /// Prints an expression, in parentheses if it binds less tightly than `at_least`.
    fn expr(&mut self, id: ExprId, at_least: u8) -> fmt::Result {
        let Some(&expr) = self.function.exprs.get(id) else { return self.text.write_str("<?>") };
        if expr.operands().any(|operand| operand >= id) {
            // The verifier refuses this; printing it would not end.
            return self.text.write_str("<?>");
        }
        let precedence = precedence(&expr);
        if precedence < at_least {
            self.text.write_str("(")?;
            self.expr(id, 0)?;
            return self.text.write_str(")");
        }
        match expr {
            Expr::Const(constant) => self.text.write_str(&constant_text(constant)),
            Expr::Var(var) => self.text.write_str(self.function.var_name(var)),
            Expr::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), a) => {
                self.text.write_str(op.name())?;
                // A minus sign before a number would read as a constant.
                let is_const = matches!(self.function.exprs.get(a), Some(Expr::Const(_)));
                self.expr(a, if is_const && op == UnaryOp::Neg { u8::MAX } else { UNARY })
            }
            Expr::Unary(op, a) => self.function_call(op.name(), &[a]),
            Expr::Binary(op, a, b) => match op.precedence() {
                Some(precedence) => self.operands(op.name(), precedence, a, b),
                None => self.function_call(op.name(), &[a, b]),
            },
            Expr::Compare(op, a, b) => {
                // Comparisons do not chain.
                self.expr(a, CompareOp::PRECEDENCE + 1)?;
                write!(self.text, " {} ", op.name())?;
                self.expr(b, CompareOp::PRECEDENCE + 1)
            }
            Expr::Select(condition, then, otherwise) => self.function_call("select", &[condition, then, otherwise]),
            Expr::Cast(ty, a) => self.function_call(ty.name(), &[a]),
            Expr::Word(op, word, place) => self.function_call(op.name(), &[word, place]),
            Expr::Extern(function, a, b) => {
                let operands: Vec<ExprId> = std::iter::once(a).chain(b).collect();
                self.function_call(&format!("extern {}", function.name()), &operands)
            }
        }
    }

    fn operands(&mut self, symbol: &str, precedence: u8, a: ExprId, b: ExprId) -> fmt::Result {
        self.expr(a, precedence)?;
        write!(self.text, " {symbol} ")?;
        self.expr(b, precedence + 1)
    }

    fn function_call(&mut self, name: &str, args: &[ExprId]) -> fmt::Result {
        write!(self.text, "{name}(")?;
        for (k, &arg) in args.iter().enumerate() {
            self.text.write_str(if k == 0 { "" } else { ", " })?;
            self.expr(arg, 0)?;
        }
        self.text.write_str(")")
    }
}

fn precedence(expr: &Expr) -> u8 {
    match expr {
        Expr::Binary(op, ..) => op.precedence().unwrap_or(UNARY),
        Expr::Compare(..) => CompareOp::PRECEDENCE,
        _ => UNARY,
    }
}
