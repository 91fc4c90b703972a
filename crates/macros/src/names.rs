//! The names of an `einsum!` against its program: every operand is one of the program's tensors, each that is read is given,
//! none twice.
//!
//! On entry: the program's text and the arguments. On exit: the effect of the program on the tensors that results are put into; or
//! the first mistake, at the argument's place in the Rust code or at the program's, with the program shown.

use lacunar_base::Diagnostic;
use lacunar_front::einsum::{carried, tensors};
use lacunar_notation::{AssignOp, Role};
use proc_macro2::Span;

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `name = value`.
    Operand,
    /// `name = &mut tensor`.
    Target,
    /// `name: format`.
    Format,
}

/// The name of an argument.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place.
    pub span: Span,
    /// The kind of argument.
    pub kind: Kind,
}

/// A mistake and its place; `None` for the program's.
#[derive(Debug)]
pub struct Mistake {
    /// The mistake in words.
    pub message: String,
    /// The argument's place.
    pub span: Option<Span>,
}

/// The facts about a program and its arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Checked {
    /// For each argument, true if it is a tensor whose values are added to or read.
    pub adds: Vec<bool>,
    /// True if the result of the last statement is put into a tensor.
    pub puts_last: bool,
}

/// Checks the names of the arguments.
///
/// # Errors
/// The first mistake.
pub fn check(source: &str, arguments: &[Name]) -> Result<Checked, Mistake> {
    let in_program = |errors: Vec<Diagnostic>| {
        let rendered = errors.iter().map(|error| error.for_library().render(source, "expression", false));
        Mistake { message: rendered.collect::<String>().trim_end().to_string(), span: None }
    };
    let at = |name: &Name, what: String| Mistake { message: format!("{what}\n\n  {source}"), span: Some(name.span) };
    let known = tensors(source, None).map_err(in_program)?;
    let carried = carried(source).map_err(in_program)?;
    let (ast, _) = lacunar_front::parse(source);
    let adds = |name: &Name| {
        let first = ast.statements.iter().find(|statement| statement.name.text == name.text);
        carried.contains(&name.text) || first.is_some_and(|statement| statement.op != AssignOp::Set)
    };
    let role = |name: &Name| known.iter().find(|(tensor, _)| *tensor == name.text).map(|(_, role)| *role);
    for (place, name) in arguments.iter().enumerate() {
        let is_format = |name: &Name| name.kind == Kind::Format;
        if arguments[..place].iter().any(|other| other.text == name.text && is_format(other) == is_format(name)) {
            return Err(at(name, format!("`{}` is given twice", name.text)));
        }
        match role(name) {
            None => {
                let all: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
                let what =
                    format!("there is no tensor `{}` in the expression, which has {}", name.text, all.join(", "));
                return Err(at(name, what));
            }
            Some(Role::Result) if name.kind == Kind::Operand && !adds(name) => {
                let what =
                    format!("`{0}` is a result of the expression; `{0} = &mut ...` puts it into a tensor", name.text);
                return Err(at(name, what));
            }
            Some(Role::Result) => {}
            Some(_) if name.kind == Kind::Target => {
                let what =
                    format!("`{}` is given to be written to (`&mut`), but the expression only reads it", name.text);
                return Err(at(name, what));
            }
            Some(_) => {}
        }
    }
    let given = arguments.iter().filter(|name| name.kind == Kind::Operand || name.kind == Kind::Target && adds(name));
    let given: Vec<&str> = given.map(|name| name.text.as_str()).collect();
    tensors(source, Some(&given)).map_err(in_program)?;
    let last = ast.statements.last().map(|statement| statement.name.text.as_str());
    let puts_last = arguments.iter().any(|name| name.kind == Kind::Target && Some(name.text.as_str()) == last);
    let adds = arguments.iter().map(|name| name.kind == Kind::Target && adds(name)).collect();
    Ok(Checked { adds, puts_last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(source: &str, arguments: &[(&str, Kind)]) -> Result<Checked, String> {
        let name =
            |(text, kind): &(&str, Kind)| Name { text: (*text).to_string(), span: Span::call_site(), kind: *kind };
        check(source, &arguments.iter().map(name).collect::<Vec<_>>()).map_err(|mistake| mistake.message)
    }

    const PRODUCT: &str = "y(i) = A(i,j) * x(j)";

    #[test]
    fn names_that_fit() {
        use Kind::{Format, Operand, Target};
        let usual = Checked { adds: vec![false, false], puts_last: false };
        assert_eq!(checked(PRODUCT, &[("A", Operand), ("x", Operand)]), Ok(usual));
        let given = [("A", Operand), ("x", Operand), ("y", Target), ("y", Format)];
        assert_eq!(checked(PRODUCT, &given), Ok(Checked { adds: vec![false; 4], puts_last: true }));
        let adding = checked("y(i) += x(i)", &[("x", Operand), ("y", Target)]);
        assert_eq!(adding, Ok(Checked { adds: vec![false, true], puts_last: true }));
        assert!(checked("y(i) += x(i)", &[("x", Operand), ("y", Operand)]).is_ok());
        assert!(checked("y(i) += x(i)", &[("x", Operand)]).is_ok());
        let earlier = checked("t(i) = x(i); s = t(i) * t(i)", &[("x", Operand), ("t", Target)]);
        assert_eq!(earlier, Ok(Checked { adds: vec![false; 2], puts_last: false }));
    }

    #[test]
    fn names_that_do_not_fit_are_told_with_the_expression() {
        use Kind::{Operand, Target};
        let both = [("A", Operand), ("x", Operand)];
        let with = |name: &'static str, kind: Kind| [&both[..], &[(name, kind)]].concat();
        for (arguments, message) in [
            (vec![("A", Operand)], "`x` has no value: it is neither given nor assigned before"),
            (vec![("A", Operand)], "hint: give it a value under its name"),
            (with("z", Operand), "there is no tensor `z` in the expression, which has `y`, `A`, `x`"),
            (with("x", Operand), "`x` is given twice"),
            (with("y", Operand), "`y` is a result of the expression; `y = &mut ...` puts it into a tensor"),
            (vec![("A", Operand), ("x", Target)], "but the expression only reads it"),
        ] {
            let found = checked(PRODUCT, &arguments).expect_err(message);
            assert!(found.contains(message) && found.contains(PRODUCT), "{found}");
        }
        assert!(checked("y(i) = A(i,j", &[]).is_err());
    }
}
