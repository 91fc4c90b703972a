//! Rows of any lengths, whose ends are read from memory, and which are only stored.
//!
//! They begin anywhere in a line, and are stored by vectors of half of a line, of which each second one crosses into the next line, where
//! those of whole lines all would. The rest of such a row is stored by a vector that ends where the row does, some values a second time;
//! where values are added, by ever shorter vectors, as a store under a mask costs more than two.
//!
//! ```text
//! while counter + 8 <= end { two vectors of 4 }; if counter + 4 <= end { one };
//! values are stored    if counter < end { the vector from end - 4 }          in a row of less than 4 as below
//! values are added     if counter + 2 <= end { one of 2 }; if counter < end { one value }
//! ```

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue};
use lacunar_imp::{ArrayId, BinaryOp, Block, Expr, ExprId, Function, Stmt, UnaryOp};

use super::known::Known;
use super::{Running, stores_alone};
use crate::LlvmError;
use crate::emit::Emitter;

/// The bytes of a vector: half of a cache line.
pub(super) const BYTES: usize = 32;

impl<'ctx> Emitter<'ctx, '_> {
    /// True for a loop whose ends are read from memory, as those of rows of any lengths, that only stores cheap values, or adds them.
    pub(super) fn stores_row(
        &self,
        known: &Known,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        body: &Block,
    ) -> bool {
        (is_read(begin) || is_read(end))
            && stores_alone(known)
            && body.iter().all(|stmt| match stmt {
                Stmt::Define { value, .. } => is_cheap(self.source, *value),
                Stmt::Store { index, value, .. } => {
                    known.stride(self.source, *index) == Some(1) && is_cheap(self.source, *value)
                }
                Stmt::Load { .. } | Stmt::Comment(_) => true,
                _ => false,
            })
    }

    /// The iterations that two vectors at once leave of a row.
    pub(super) fn rest_of_row(
        &mut self,
        known: &Known,
        (begin, rest, end): (IntValue<'ctx>, IntValue<'ctx>, IntValue<'ctx>),
        width: u32,
        body: &Block,
    ) -> Result<(), LlvmError> {
        if !replaces(body) {
            return self.shorter_vectors(known, (rest, end), width, body);
        }
        let rest = self.vector_if_left(known, (rest, end), width, body)?;
        let any = self.builder.build_int_compare(IntPredicate::SLT, rest, end, "")?;
        let (some, last, short) = (self.new_block("some_left"), self.new_block("last"), self.new_block("short"));
        let after = self.new_block("none_left");
        self.builder.build_conditional_branch(any, some, after)?;
        self.builder.position_at_end(some);
        let first = self.builder.build_int_sub(end, self.index(i64::from(width)), "first")?;
        let is_long = self.builder.build_int_compare(IntPredicate::SLE, begin, first, "")?;
        self.builder.build_conditional_branch(is_long, last, short)?;
        self.builder.position_at_end(last);
        self.begin_statement();
        self.vector_iteration(known, width, first, Running::All, &[], body)?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(short);
        self.begin_statement();
        self.shorter_vectors(known, (rest, end), width / 2, body)?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        self.begin_statement();
        Ok(())
    }

    /// One vector, if so many iterations are left, then one of half its width, down to a single iteration.
    fn shorter_vectors(
        &mut self,
        known: &Known,
        (mut rest, end): (IntValue<'ctx>, IntValue<'ctx>),
        mut width: u32,
        body: &Block,
    ) -> Result<(), LlvmError> {
        while width > 0 {
            rest = self.vector_if_left(known, (rest, end), width, body)?;
            width /= 2;
        }
        Ok(())
    }
}

/// True for a value of sums, differences and products alone: its vectors take no longer than a store.
fn is_cheap(function: &Function, value: ExprId) -> bool {
    match function.exprs[value] {
        Expr::Const(_) | Expr::Var(_) => true,
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
            is_cheap(function, a) && is_cheap(function, b)
        }
        Expr::Unary(UnaryOp::Neg, a) | Expr::Cast(_, a) => is_cheap(function, a),
        _ => false,
    }
}

/// True for a body whose stores do not depend on earlier values: iterations can be carried out twice.
fn replaces(body: &Block) -> bool {
    let is_stored =
        |array: ArrayId| body.iter().any(|stmt| matches!(stmt, Stmt::Store { array: own, .. } if *own == array));
    body.iter().all(|stmt| match stmt {
        Stmt::Store { reduce, .. } => reduce.is_none(),
        Stmt::Load { array, .. } => !is_stored(*array),
        Stmt::Define { .. } | Stmt::Comment(_) => true,
        _ => false,
    })
}

/// True for a number that was read from memory, perhaps as a narrower one.
fn is_read(value: IntValue<'_>) -> bool {
    let Some(instruction) = value.as_instruction() else { return false };
    match instruction.get_opcode() {
        InstructionOpcode::Load => true,
        InstructionOpcode::ZExt | InstructionOpcode::SExt => {
            let operand = instruction.get_operand(0).and_then(|operand| operand.value());
            operand.is_some_and(|operand| operand.is_int_value() && is_read(operand.into_int_value()))
        }
        _ => false,
    }
}
