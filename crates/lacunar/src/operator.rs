//! Operators that are made of Rust closures.
//!
//! A closure is called once, with operands that record the operations on them ([`Traced`]): its result is the body of the operator, as if
//! it were written in a program. So it is compiled into kernels, in vector registers and in every back end, and shipped with them.
//! Conditions of Rust see no values; [`Traced::select`] chooses between two. A function whose body nobody knows can be an operator as well
//! ([`Operator::external`]): kernels call it, for one value at a time.
//!
//! ```
//! use lacunar::{Kernel, Operator, Options};
//! # fn main() -> Result<(), lacunar::Error> {
//! let soft = Operator::binary("soft", |a, b| (a.clone() - b.clone()).max(0.0) - (-a - b).max(0.0));
//! let kernel = Kernel::compile("y(i) = soft(x(i), 0.75)", &Options::new().operator(&soft)?)?;
//! let y: Vec<f64> = kernel.call(&[("x", &[-1.0, 0.5, 2.0])])?;
//! assert_eq!(y, [-0.25, 0.0, 1.25]);
//! # Ok(())
//! # }
//! ```

use std::ops::{Add, Div, Mul, Neg, Sub};

use lacunar_front::einsum::operators::declared;
use lacunar_notation as notation;

use crate::error::Error;

/// An operator: its name, its operands, its body or those of its regions, and its claims.
#[derive(Clone, Debug)]
pub struct Operator {
    name: String,
    params: Vec<String>,
    body: Option<String>,
    items: Vec<String>,
}

/// An operand of an operator, or a value that was computed of some.
///
/// Numbers stand beside it in the type that it has; whole ones leave integers integers.
#[derive(Clone, Debug)]
pub struct Traced(String);

impl Operator {
    /// An operator of one operand.
    pub fn unary(name: &str, body: impl FnOnce(Traced) -> Traced) -> Operator {
        let operator = Operator::of(name, &["a"]);
        Operator { body: Some(body(operand("a")).0), ..operator }
    }

    /// An operator of two operands.
    pub fn binary(name: &str, body: impl FnOnce(Traced, Traced) -> Traced) -> Operator {
        let operator = Operator::of(name, &["a", "b"]);
        Operator { body: Some(body(operand("a"), operand("b")).0), ..operator }
    }

    /// An operator of several operands with these names, whose regions follow ([`Operator::region`]).
    ///
    /// ```
    /// use lacunar::{Kernel, Operator, Options};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let merged = Operator::of("merged", &["a", "b"])
    ///     .region(&["a", "b"], |of| of[0].clone() * of[1].clone())
    ///     .region(&["a"], |of| of[0].clone());
    /// let kernel = Kernel::compile("y(i) = merged(x(i), z(i))", &Options::new().operator(&merged)?)?;
    /// let y: Vec<f64> = kernel.call(&[("x", &[1.0, 2.0, 0.0]), ("z", &[5.0, 0.0, 7.0])])?;
    /// assert_eq!(y, [5.0, 2.0, 0.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn of(name: &str, params: &[&str]) -> Operator {
        let params = params.iter().map(|param| (*param).to_string()).collect();
        Operator { name: name.to_string(), params, body: None, items: Vec::new() }
    }

    /// An operator whose body is the function of its name.
    pub(crate) fn of_function(name: &str, params: &[&str]) -> Operator {
        Operator { body: Some("extern".to_string()), ..Operator::of(name, params) }
    }

    /// The body of the region in which the operands of these names are present, and the others not. The closure gets all operands.
    pub fn region(self, present: &[&str], body: impl FnOnce(&[Traced]) -> Traced) -> Operator {
        let operands: Vec<Traced> = self.params.iter().map(|param| operand(param)).collect();
        let body = body(&operands).0;
        self.item(format!("at ({}) {body}", present.join(", ")))
    }

    /// Claims that a value leaves the other operand as it is.
    pub fn identity(self, value: f64) -> Operator {
        self.item(format!("identity {}", number(value)))
    }

    /// Claims that a value makes the result this value.
    pub fn annihilator(self, value: f64) -> Operator {
        self.item(format!("annihilator {}", number(value)))
    }

    /// Claims that operands may be exchanged.
    pub fn commutative(self) -> Operator {
        self.item("commutative".to_string())
    }

    /// Claims that three values may be combined in either order.
    pub fn associative(self) -> Operator {
        self.item("associative".to_string())
    }

    /// Claims that a value with itself is itself.
    pub fn idempotent(self) -> Operator {
        self.item("idempotent".to_string())
    }

    fn item(mut self, item: String) -> Operator {
        self.items.push(item);
        self
    }

    /// The line that declares it in a program.
    ///
    /// ```
    /// use lacunar::Operator;
    /// let largest = Operator::binary("largest", |a, b| a.max(b)).identity(f64::NEG_INFINITY).commutative().associative();
    /// assert_eq!(largest.text(), "op largest(a, b) = max(a, b) { identity -inf, commutative, associative }");
    /// assert!(lacunar::check_algebra(&largest.text())?.violations.is_empty());
    /// # Ok::<(), lacunar::Error>(())
    /// ```
    pub fn text(&self) -> String {
        let mut text = format!("op {}({})", self.name, self.params.join(", "));
        if let Some(body) = &self.body {
            text += &format!(" = {body}");
        }
        if !self.items.is_empty() {
            text += &format!(" {{ {} }}", self.items.join(", "));
        }
        text
    }

    /// The operator as programs know it.
    pub(crate) fn declared(&self) -> Result<Vec<notation::Operator>, Error> {
        let text = self.text();
        let operators = declared(&text).map_err(|diagnostics| Error::program(&text, diagnostics))?;
        // A name that is none is read as something else.
        match operators.as_slice() {
            [operator] if operator.name() == self.name => Ok(operators),
            _ => Err(Error::Argument(format!("`{}` is no name of an operator", self.name))),
        }
    }
}

fn operand(name: &str) -> Traced {
    Traced(name.to_string())
}

/// A constant as text; whole numbers without a fraction.
fn number(value: f64) -> String {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    if is_whole { format!("{value:.0}") } else { format!("{value:?}") }
}

impl Traced {
    /// A call of a function of the language, or of an operator that is declared before.
    ///
    /// ```
    /// use lacunar::Operator;
    /// let norm = Operator::binary("norm", |a, b| (a.clone() * a + b.clone() * b).call("cbrt", []));
    /// assert_eq!(norm.text(), "op norm(a, b) = cbrt(((a * a) + (b * b)))");
    /// ```
    pub fn call<const N: usize>(self, function: &str, others: [Traced; N]) -> Traced {
        let operands: Vec<String> = std::iter::once(self).chain(others).map(|operand| operand.0).collect();
        Traced(format!("{function}({})", operands.join(", ")))
    }

    /// The first value where this one is true or not 0, else the second.
    pub fn select(self, then: impl Into<Traced>, otherwise: impl Into<Traced>) -> Traced {
        self.call("select", [then.into(), otherwise.into()])
    }

    /// The absolute value.
    pub fn abs(self) -> Traced {
        self.call("abs", [])
    }

    /// The square root.
    pub fn sqrt(self) -> Traced {
        self.call("sqrt", [])
    }

    /// The exponential.
    pub fn exp(self) -> Traced {
        self.call("exp", [])
    }

    /// The natural logarithm.
    pub fn log(self) -> Traced {
        self.call("log", [])
    }

    /// The smaller of two values.
    pub fn min(self, other: impl Into<Traced>) -> Traced {
        self.call("min", [other.into()])
    }

    /// The larger of two values.
    pub fn max(self, other: impl Into<Traced>) -> Traced {
        self.call("max", [other.into()])
    }

    /// The value to a power.
    pub fn pow(self, exponent: impl Into<Traced>) -> Traced {
        self.call("pow", [exponent.into()])
    }

    /// True if it is less than another value.
    pub fn lt(self, other: impl Into<Traced>) -> Traced {
        self.between("<", other.into())
    }

    /// True if it is greater than another value.
    pub fn gt(self, other: impl Into<Traced>) -> Traced {
        self.between(">", other.into())
    }

    /// True if it equals another value.
    pub fn is(self, other: impl Into<Traced>) -> Traced {
        self.between("==", other.into())
    }

    fn between(self, sign: &str, other: Traced) -> Traced {
        Traced(format!("({} {sign} {})", self.0, other.0))
    }
}

impl From<f64> for Traced {
    fn from(value: f64) -> Traced {
        Traced(number(value))
    }
}

impl Neg for Traced {
    type Output = Traced;

    fn neg(self) -> Traced {
        Traced(format!("(-{})", self.0))
    }
}

macro_rules! signs {
    ($($operation:ident $method:ident $sign:literal),*) => {
        $(impl<T: Into<Traced>> $operation<T> for Traced {
            type Output = Traced;

            fn $method(self, other: T) -> Traced {
                self.between($sign, other.into())
            }
        }

        impl $operation<Traced> for f64 {
            type Output = Traced;

            fn $method(self, other: Traced) -> Traced {
                Traced::from(self).between($sign, other)
            }
        })*
    };
}

signs!(Add add "+", Sub sub "-", Mul mul "*", Div div "/");
