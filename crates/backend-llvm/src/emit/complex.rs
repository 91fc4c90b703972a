//! Complex arithmetic on pairs of reals.
//!
//! Products are the textbook formula, quotients Smith's (R. L. Smith, "Algorithm 116: Complex division", CACM 1962), which
//! does not overflow where the quotient does not. Functions are the textbook formulas in terms of real functions; at
//! infinities they follow those formulas, not C's Annex G.

use inkwell::FloatPredicate;
use inkwell::values::{FloatValue, IntValue};
use lacunar_imp::{BinaryOp, UnaryOp};

use super::Emitter;
use super::arith::NOT_ON_TYPE;
use super::value::Value;
use crate::LlvmError;

/// Real and imaginary part.
type Pair<'ctx> = (FloatValue<'ctx>, FloatValue<'ctx>);

impl<'ctx> Emitter<'ctx, '_> {
    /// A function of one complex number.
    pub(super) fn complex_unary(&mut self, op: UnaryOp, z: Pair<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        let (re, im) = z;
        let (re, im) = match op {
            UnaryOp::Abs => return Ok(Value::Real(self.libm("hypot", &[re, im])?)),
            UnaryOp::Real => return Ok(Value::Real(re)),
            UnaryOp::Imag => return Ok(Value::Real(im)),
            UnaryOp::Neg => (self.builder.build_float_neg(re, "")?, self.builder.build_float_neg(im, "")?),
            UnaryOp::Conj => (re, self.builder.build_float_neg(im, "")?),
            UnaryOp::Sqrt => self.complex_sqrt(z)?,
            UnaryOp::Exp => self.complex_exp(z)?,
            UnaryOp::Log => self.complex_log(z)?,
            // sin(a + bi) = sin a cosh b + i cos a sinh b
            UnaryOp::Sin => {
                let (sin, cos, sinh, cosh) = self.circular_hyperbolic(re, im)?;
                (self.times(sin, cosh)?, self.times(cos, sinh)?)
            }
            // cos(a + bi) = cos a cosh b - i sin a sinh b
            UnaryOp::Cos => {
                let (sin, cos, sinh, cosh) = self.circular_hyperbolic(re, im)?;
                (self.times(cos, cosh)?, self.builder.build_float_neg(self.times(sin, sinh)?, "")?)
            }
            // sinh(a + bi) = sinh a cos b + i cosh a sin b
            UnaryOp::Sinh => {
                let (sin, cos, sinh, cosh) = self.circular_hyperbolic(im, re)?;
                (self.times(sinh, cos)?, self.times(cosh, sin)?)
            }
            // cosh(a + bi) = cosh a cos b + i sinh a sin b
            UnaryOp::Cosh => {
                let (sin, cos, sinh, cosh) = self.circular_hyperbolic(im, re)?;
                (self.times(cosh, cos)?, self.times(sinh, sin)?)
            }
            UnaryOp::Tan => self.tangents(re, im)?,
            // tanh(z) = -i tan(iz)
            UnaryOp::Tanh => {
                let (circular, hyperbolic) = self.tangents(im, re)?;
                (hyperbolic, circular)
            }
            UnaryOp::Not
            | UnaryOp::Cbrt
            | UnaryOp::Log10
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Asinh
            | UnaryOp::Acosh
            | UnaryOp::Atanh
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Sign
            | UnaryOp::CountOnes
            | UnaryOp::TrailingZeros => return Err(NOT_ON_TYPE),
        };
        Ok(Value::Complex(re, im))
    }

    /// An operation on two complex numbers.
    pub(super) fn complex_binary(
        &mut self,
        op: BinaryOp,
        a: Pair<'ctx>,
        b: Pair<'ctx>,
    ) -> Result<Pair<'ctx>, LlvmError> {
        match op {
            BinaryOp::Add => Ok((self.plus(a.0, b.0)?, self.plus(a.1, b.1)?)),
            BinaryOp::Sub => Ok((self.minus(a.0, b.0)?, self.minus(a.1, b.1)?)),
            BinaryOp::Mul => self.complex_product(a, b),
            BinaryOp::Div => self.complex_quotient(a, b),
            BinaryOp::Pow => self.complex_power(a, b),
            BinaryOp::Rem
            | BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::Atan2
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr => Err(NOT_ON_TYPE),
        }
    }

    fn complex_product(&self, a: Pair<'ctx>, b: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let re = self.minus(self.times(a.0, b.0)?, self.times(a.1, b.1)?)?;
        let im = self.plus(self.times(a.0, b.1)?, self.times(a.1, b.0)?)?;
        Ok((re, im))
    }

    /// Smith's formula: with `p` the larger part of the divisor, `q` the smaller and `r = q / p`, the quotient's parts are
    /// `(s + t r) / (p + q r)` and `±(t - s r) / (p + q r)`, where `s, t` are the dividend's parts, exchanged if the
    /// divisor's are.
    fn complex_quotient(&self, a: Pair<'ctx>, b: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let (b_re, b_im) = (self.magnitude(b.0)?, self.magnitude(b.1)?);
        let exchanged = self.holds(FloatPredicate::OLT, b_re, b_im)?;
        let p = self.choose(exchanged, b.1, b.0)?;
        let q = self.choose(exchanged, b.0, b.1)?;
        let s = self.choose(exchanged, a.1, a.0)?;
        let t = self.choose(exchanged, a.0, a.1)?;
        let ratio = self.over(q, p)?;
        let divisor = self.plus(p, self.times(q, ratio)?)?;
        let re = self.over(self.plus(s, self.times(t, ratio)?)?, divisor)?;
        let im = self.over(self.minus(t, self.times(s, ratio)?)?, divisor)?;
        Ok((re, self.choose(exchanged, self.builder.build_float_neg(im, "")?, im)?))
    }

    /// `exp(b log a)`, and 1 for `b = 0`.
    fn complex_power(&self, a: Pair<'ctx>, b: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let power = self.complex_exp(self.complex_product(b, self.complex_log(a)?)?)?;
        let zero = b.0.get_type().const_zero();
        let re_zero = self.holds(FloatPredicate::OEQ, b.0, zero)?;
        let im_zero = self.holds(FloatPredicate::OEQ, b.1, zero)?;
        let trivial = self.builder.build_and(re_zero, im_zero, "")?;
        let one = b.0.get_type().const_float(1.0);
        Ok((self.choose(trivial, one, power.0)?, self.choose(trivial, zero, power.1)?))
    }

    /// `e^a (cos b + i sin b)`. If a part is infinite or no number: a real argument has a real power, and `e^-inf` is 0
    /// whatever the angle.
    fn complex_exp(&self, z: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let (zero, infinity) = (z.0.get_type().const_zero(), z.0.get_type().const_float(f64::INFINITY));
        let radius = self.real_intrinsic("llvm.exp", &[z.0])?;
        let re = self.times(radius, self.real_intrinsic("llvm.cos", &[z.1])?)?;
        let im = self.times(radius, self.real_intrinsic("llvm.sin", &[z.1])?)?;
        let is_real = self.holds(FloatPredicate::OEQ, z.1, zero)?;
        let (re, im) = (self.choose(is_real, radius, re)?, self.choose(is_real, z.1, im)?);
        // An angle that is infinite or no number is the only way for the products to lose an infinite real part.
        let magnitude = self.magnitude(z.1)?;
        let no_angle = self.builder.build_not(self.holds(FloatPredicate::OLT, magnitude, infinity)?, "")?;
        let at = |bound: FloatValue<'ctx>| -> Result<IntValue<'ctx>, LlvmError> {
            let there = self.holds(FloatPredicate::OEQ, z.0, bound)?;
            Ok(self.builder.build_and(there, no_angle, "")?)
        };
        let vanishes = at(z.0.get_type().const_float(f64::NEG_INFINITY))?;
        let (re, im) = (self.choose(vanishes, zero, re)?, self.choose(vanishes, zero, im)?);
        Ok((self.choose(at(infinity)?, infinity, re)?, im))
    }

    /// `log |z| + i arg z`.
    fn complex_log(&self, z: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let modulus = self.libm("hypot", &[z.0, z.1])?;
        Ok((self.real_intrinsic("llvm.log", &[modulus])?, self.libm("atan2", &[z.1, z.0])?))
    }

    /// With `u = sqrt((|a| + |z|) / 2)`, the root of `z = a + bi` is `u + i b/2u` for `a >= 0` and `|b|/2u ± iu` otherwise,
    /// the sign being that of `b`.
    fn complex_sqrt(&self, z: Pair<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let (zero, half) = (z.0.get_type().const_zero(), z.0.get_type().const_float(0.5));
        let sum = self.plus(self.magnitude(z.0)?, self.libm("hypot", &[z.0, z.1])?)?;
        let long = self.real_intrinsic("llvm.sqrt", &[self.times(sum, half)?])?;
        let short = self.over(self.times(self.magnitude(z.1)?, half)?, long)?;
        let is_zero = self.holds(FloatPredicate::OEQ, long, zero)?;
        let short = self.choose(is_zero, zero, short)?;
        let right = self.holds(FloatPredicate::OGE, z.0, zero)?;
        let re = self.choose(right, long, short)?;
        let im = self.choose(right, short, long)?;
        Ok((re, self.real_intrinsic("llvm.copysign", &[im, z.1])?))
    }

    /// Sine and cosine of one number, hyperbolic sine and cosine of another.
    fn circular_hyperbolic(
        &self,
        circular: FloatValue<'ctx>,
        hyperbolic: FloatValue<'ctx>,
    ) -> Result<(FloatValue<'ctx>, FloatValue<'ctx>, FloatValue<'ctx>, FloatValue<'ctx>), LlvmError> {
        Ok((
            self.real_intrinsic("llvm.sin", &[circular])?,
            self.real_intrinsic("llvm.cos", &[circular])?,
            self.libm("sinh", &[hyperbolic])?,
            self.libm("cosh", &[hyperbolic])?,
        ))
    }

    /// The parts of `tan(a + bi)`, which do not overflow: with t = tan a and h = tanh b, they are t / (cosh^2 b (1 + t^2 h^2)) and
    /// h (1 + t^2) / (1 + t^2 h^2).
    fn tangents(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Result<Pair<'ctx>, LlvmError> {
        let (t, h, cosh) = (self.libm("tan", &[a])?, self.libm("tanh", &[b])?, self.libm("cosh", &[b])?);
        let one = a.get_type().const_float(1.0);
        let (square, product) = (self.times(t, t)?, self.times(t, h)?);
        let divisor = self.plus(one, self.times(product, product)?)?;
        let re = self.over(self.over(t, self.times(cosh, cosh)?)?, divisor)?;
        let im = self.over(self.times(h, self.plus(one, square)?)?, divisor)?;
        Ok((re, im))
    }

    fn plus(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(self.builder.build_float_add(a, b, "")?)
    }

    fn minus(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(self.builder.build_float_sub(a, b, "")?)
    }

    fn times(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(self.builder.build_float_mul(a, b, "")?)
    }

    fn over(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(self.builder.build_float_div(a, b, "")?)
    }

    fn magnitude(&self, a: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        self.real_intrinsic("llvm.fabs", &[a])
    }

    fn holds(
        &self,
        predicate: FloatPredicate,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        Ok(self.builder.build_float_compare(predicate, a, b, "")?)
    }

    fn choose(
        &self,
        condition: IntValue<'ctx>,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(self.builder.build_select(condition, a, b, "")?.into_float_value())
    }
}
