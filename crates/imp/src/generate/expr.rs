//! Random expressions. Integers and `Bool` are exact and take any operation; floating point keeps to the operations
//! that [`super::Worth`] allows: `exp(a) + b * 0.5` is rounded and may be stored, `-a < 2.0` is exact and may decide a
//! branch.

use lacunar_base::random::Draw;
use lacunar_formats::DType;

use super::{Generator, Known, LEN, Worth};
use crate::ir::{BinaryOp, CompareOp, ExprId, UnaryOp, WordOp};

impl Generator {
    /// An index within all arrays.
    pub(super) fn index(&mut self) -> ExprId {
        if self.rng.one_in(3) {
            let index = self.rng.below(LEN as u64) as i64;
            return self.b.int(index);
        }
        let value = self.exact(DType::I64, 1);
        let mask = self.b.int(LEN - 1);
        self.b.binary(BinaryOp::And, value, mask)
    }

    /// A bound that is no more than `LEN`.
    pub(super) fn bound(&mut self) -> ExprId {
        let index = self.index();
        if self.loops == 0 {
            return index;
        }
        let four = self.b.int(4);
        self.b.binary(BinaryOp::Min, index, four)
    }

    /// A value that may be stored; never a sum that is not `linear`.
    pub(super) fn value(&mut self, ty: DType) -> (ExprId, Worth) {
        if !ty.is_float() || self.rng.one_in(4) { (self.exact(ty, 2), Worth::Exact) } else { self.rounded(ty, 3) }
    }

    /// A variable of at least this worth, or a constant.
    fn leaf(&mut self, ty: DType, worth: Worth) -> ExprId {
        let fits = |known: &&Known| known.ty == ty && (known.worth >= worth || !ty.is_float());
        let fitting: Vec<ExprId> = self.known.iter().filter(fits).map(|known| known.expr).collect();
        match self.rng.pick(&fitting) {
            Some(expr) if !self.rng.one_in(3) => expr,
            _ => {
                let constant = self.constant(ty);
                self.b.constant(constant)
            }
        }
    }

    /// A value that is the same on every machine.
    pub(super) fn exact(&mut self, ty: DType, depth: u32) -> ExprId {
        if depth == 0 || self.rng.one_in(4) {
            return self.leaf(ty, Worth::Exact);
        }
        match self.rng.below(8) {
            0 => self.select(ty, depth),
            1 if ty == DType::Bool => self.comparison(depth),
            2 if ty == DType::Bool && self.rng.one_in(2) => self.comparison(depth),
            2 if ty == DType::Bool => self.word(WordOp::Bit, depth),
            1 if ty == DType::I64 && self.rng.one_in(2) => self.word(WordOp::Rank, depth),
            1 | 2 if !ty.is_complex() => {
                let from = self.dtype();
                let from = if ty.is_real() && from.is_float() && !from.is_storage() { DType::I16 } else { from };
                let value = self.exact(from, depth - 1);
                self.b.cast(ty, value)
            }
            3 | 4 => {
                let exact = |op: &UnaryOp| {
                    let float = matches!(op, UnaryOp::Neg | UnaryOp::Conj)
                        || (ty.is_real()
                            && matches!(op, UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Sign));
                    op.accepts(ty) && (!ty.is_float() || float)
                };
                let ops: Vec<UnaryOp> = UnaryOp::ALL.into_iter().filter(exact).collect();
                let value = self.exact(ty, depth - 1);
                self.rng.pick(&ops).map_or(value, |op| self.b.unary(op, value))
            }
            5 if ty.is_real() && !ty.is_storage() => {
                let complex = if ty == DType::F32 { DType::C64 } else { DType::C128 };
                let value = self.leaf(complex, Worth::Exact);
                let op = if self.rng.one_in(2) { UnaryOp::Real } else { UnaryOp::Imag };
                self.b.unary(op, value)
            }
            _ => {
                let exact =
                    |op: &BinaryOp| op.accepts(ty) && (!ty.is_float() || matches!(op, BinaryOp::Min | BinaryOp::Max));
                let ops: Vec<BinaryOp> = BinaryOp::ALL.into_iter().filter(exact).collect();
                let (a, b) = (self.exact(ty, depth - 1), self.exact(ty, depth - 1));
                self.rng.pick(&ops).map_or(a, |op| self.b.binary(op, a, b))
            }
        }
    }

    fn select(&mut self, ty: DType, depth: u32) -> ExprId {
        let condition = self.exact(DType::Bool, depth - 1);
        let (a, b) = (self.exact(ty, depth - 1), self.exact(ty, depth - 1));
        self.b.select(condition, a, b)
    }

    fn comparison(&mut self, depth: u32) -> ExprId {
        let ty = self.operand_type();
        let ops: Vec<CompareOp> = CompareOp::ALL.into_iter().filter(|op| op.accepts(ty)).collect();
        let (a, b) = (self.exact(ty, depth - 1), self.exact(ty, depth - 1));
        let op = self.rng.pick(&ops).unwrap_or(CompareOp::Eq);
        self.b.compare(op, a, b)
    }

    fn word(&mut self, op: WordOp, depth: u32) -> ExprId {
        let ty = self.rng.pick(&[DType::U8, DType::U16, DType::U32, DType::U64]).unwrap_or(DType::U64);
        let (word, place) = (self.exact(ty, depth - 1), self.exact(DType::I64, depth - 1));
        self.b.word(op, word, place)
    }

    /// A floating-point value that may be rounded, and its worth.
    fn rounded(&mut self, ty: DType, depth: u32) -> (ExprId, Worth) {
        if depth == 0 || self.rng.one_in(5) {
            return (self.leaf(ty, Worth::Rounded), Worth::Rounded);
        }
        if ty.is_storage() {
            let value = self.rounded(ty.arithmetic(), depth - 1).0;
            return (self.b.cast(ty, value), Worth::Rounded);
        }
        let value = match self.rng.below(6) {
            0 | 1 => {
                let ops: Vec<UnaryOp> = UnaryOp::ALL.into_iter().filter(|op| op.accepts(ty)).collect();
                // The operand of a mathematical function is a number as it stands, so that its sign of zero is known.
                let value = self.number(ty);
                let ops: Vec<UnaryOp> = ops.into_iter().filter(|op| op.result_type(ty) == ty).collect();
                self.rng.pick(&ops).map_or(value, |op| self.b.unary(op, value))
            }
            2 => {
                let ops = [BinaryOp::Div, BinaryOp::Rem, BinaryOp::Pow, BinaryOp::Atan2];
                let ops: Vec<BinaryOp> = ops.into_iter().filter(|op| op.accepts(ty)).collect();
                let (a, b) = (self.number(ty), self.number(ty));
                self.rng.pick(&ops).map_or(a, |op| self.b.binary(op, a, b))
            }
            3 => self.conversion(ty, depth),
            _ => {
                let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];
                let (a, b) = (self.rounded(ty, depth - 1).0, self.rounded(ty, depth - 1).0);
                let op = self.rng.pick(&ops).unwrap_or(BinaryOp::Add);
                // Products of complex variables could overflow; those of numbers do not.
                if op == BinaryOp::Mul && ty.is_complex() {
                    let (a, b) = (self.number(ty), self.number(ty));
                    self.b.mul(a, b)
                } else {
                    self.b.binary(op, a, b)
                }
            }
        };
        (value, Worth::Rounded)
    }

    /// A constant, or an element of an input array if one has been loaded.
    pub(super) fn number(&mut self, ty: DType) -> ExprId {
        let inputs: Vec<_> = self.inputs.iter().filter(|(_, elem)| *elem == ty).map(|(array, _)| *array).collect();
        match self.rng.pick(&inputs) {
            Some(array) if self.rng.one_in(2) => {
                let index = self.index();
                self.b.load("x", array, index)
            }
            _ => {
                let constant = self.constant(ty);
                self.b.constant(constant)
            }
        }
    }

    fn conversion(&mut self, ty: DType, depth: u32) -> ExprId {
        let complex = ty.is_complex();
        match self.rng.below(4) {
            0 if !complex => {
                let from = if ty == DType::F32 { DType::C64 } else { DType::C128 };
                let value = self.number(from);
                self.b.unary(UnaryOp::Abs, value)
            }
            1 => {
                let from = self.rng.pick(&[DType::F32, DType::F64, DType::C64, DType::C128]).unwrap_or(ty);
                // A value rounded in single precision would differ by more than a double may.
                let widened = ty.part() == DType::F64 && from.part() == DType::F32;
                let value = if complex || widened { self.number(from) } else { self.rounded(from, depth - 1).0 };
                self.b.cast(ty, value)
            }
            _ => {
                let from = self.rng.pick(&[DType::I8, DType::U8, DType::Bool]).unwrap_or(DType::I8);
                let value = self.exact(from, depth - 1);
                self.b.cast(ty, value)
            }
        }
    }
}
