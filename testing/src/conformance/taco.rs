//! taco's test suite: one JSON object a line, with its expression, operands and the result its test checks.
//!
//! Expressions are index notation nearly as ours; a quotient of integers is C's, which truncates (`idiv`). A scheduled
//! case is run with its loops, in concrete notation, but for those with windows.

use std::collections::BTreeMap;

use lacunar_formats::{DType, FormatSpec};
use lacunar_front::Declarations;
use lacunar_front::einsum::{BinaryOp, Declared, Expr, ExprKind, Number};
use num_complex::Complex;
use serde::Deserialize;
use serde_json::Value;

use crate::conformance::{ConformanceCase, Runnable, Translation};
use crate::entries::Entries;
use crate::instance::{Instance, parse_dtype};
use crate::runner::Reference;
use crate::scalar::Scalar;

#[derive(Deserialize)]
struct TacoCase {
    id: String,
    expr: Option<String>,
    windows: Vec<Window>,
    operands: BTreeMap<String, TacoTensor>,
    results: BTreeMap<String, TacoTensor>,
    scheduled: bool,
    concrete: Option<String>,
}

/// The part of a tensor's mode that an access is of: the coordinates from `lo` to `hi`, by steps; or those of a set.
#[derive(Clone, Deserialize)]
struct Window {
    tensor: String,
    mode: usize,
    lo: Option<u64>,
    hi: Option<u64>,
    stride: Option<u64>,
    set: Option<Vec<u64>>,
}

#[derive(Deserialize)]
struct TacoTensor {
    dims: Vec<u64>,
    format: String,
    ordering: Vec<usize>,
    #[serde(rename = "type")]
    dtype: String,
    fill: String,
    /// Coordinates and values; left out where there are very many.
    coo: Option<Vec<(Vec<u64>, Value)>>,
}

/// Functions that taco's tests define themselves, in C++, as operators: by the regions that these visit, and the values that they compute
/// there. `xor` is of stored entries, not of bits; conditions are numbers.
const CUSTOM: [(&str, &str); 9] = [
    ("testOp", "op testOp(b, c, d) { at (b, c) b * c + d, at (b, d) b * c + d, at (c, d) b * c + d }"),
    ("specialOp", "op specialOp(b, c, d) { at (b, c) b * c, at (b, d) d - b, at (c, d) c + d }"),
    (
        "compUnion",
        "op compUnion(b, c, d) { at () 0, at (c) c, at (d) d, at (b, c) b + c, at (b, d) b + d, at (c, d) c + d, \
         at (b, c, d) b + c + d }",
    ),
    ("bfsMask", "op bfsMask(a, mask) { left a }"),
    ("Plus", "op Plus(a, b) = a + b { annihilator inf, commutative, associative }"),
    ("And", "op And(a, b) = f64(and(bool(a), bool(b))) { annihilator 0, commutative, associative }"),
    ("either", "op either(a, b) { left a, right b }"),
    ("Or", "op Or(a, b) = f64(or(bool(a), bool(b))) { identity 0, commutative, associative }"),
    ("Min", "op Min(a, b) = min(a, b) { identity inf, commutative, associative, idempotent }"),
];

/// taco's concrete notation shows no windows.
const WITHOUT_WINDOWS: &str = "its loops are written without their windows";

/// Translates all cases of the file's text.
pub fn cases(text: &str) -> Vec<ConformanceCase> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let case = |line: &str| match serde_json::from_str::<TacoCase>(line) {
        Ok(case) => ConformanceCase { id: case.id.clone(), translation: translate(&case) },
        Err(error) => ConformanceCase { id: "?".to_string(), translation: Err(error.to_string()) },
    };
    lines.map(case).collect()
}

/// The first thing that a case needs and Lacunar lacks.
fn missing(case: &TacoCase) -> Option<String> {
    let tensors = || case.operands.values().chain(case.results.values());
    if tensors().any(|tensor| fill(tensor).is_none()) {
        return Some("fill values that are not real".to_string());
    }
    if tensors().any(|tensor| tensor.coo.is_none()) {
        return Some("(the data are not in the file)".to_string());
    }
    match &case.expr {
        None if case.concrete.is_none() => Some("(neither expression nor loops are in the file)".to_string()),
        None => None,
        Some(_) => None,
    }
}

/// The declarations of the operators that an expression uses, and the expression, which calls them by these names.
fn with_operators(expr: &str) -> String {
    let expr = expr.replace("xor(", "either(");
    let is_used = |name: &str| expr.contains(&format!("{name}(")) || expr.contains(&format!(" {name}= "));
    let used = CUSTOM.iter().filter(|(name, _)| is_used(name)).map(|(_, declaration)| format!("{declaration}\n"));
    used.collect::<String>() + &expr
}

fn translate(case: &TacoCase) -> Result<Translation, String> {
    // Loops are taken as they are.
    let (None, Some(text)) = (missing(case), case.expr.as_ref().or(case.concrete.as_ref())) else {
        return Ok(Translation::Missing(missing(case).unwrap_or_default()));
    };
    let mut declarations = Declarations::new();
    let mut dtypes = BTreeMap::new();
    // The lists of index sets are operands in taco.
    let is_named = |name: &str| !is_set(case, name, text);
    for (name, tensor) in case.operands.iter().chain(&case.results).filter(|(name, _)| is_named(name)) {
        let dtype = dtype(tensor)?;
        let format = format!("{}:{}", tensor.format, join(&tensor.ordering));
        let spec = if tensor.dims.is_empty() { "scalar" } else { &format };
        let spec: FormatSpec = spec.parse().map_err(|fault| format!("{name}: {fault}"))?;
        declarations = declarations.format(name, spec).dtype(name, dtype).dims(name, tensor.dims.iter().copied());
        if let Some(fill) = fill(tensor).filter(|fill| *fill != 0.0) {
            declarations = declarations.fill(name, lacunar_formats::Scalar::real(DType::F64, fill));
        }
        dtypes.insert(name.clone(), dtype);
    }
    let mut windows = case.windows.clone();
    let mut sizes = Vec::new();
    let source = match case.expr {
        Some(_) => source(&with_operators(text), &dtypes, &mut |tensor, indices| {
            placed(&mut windows, &mut sizes, tensor, indices)
        })?,
        None => text.clone(),
    };
    declarations = sizes.into_iter().fold(declarations, |all, (var, size)| all.size(var, size));
    let operands = case.operands.iter().filter(|(name, _)| is_named(name));
    let given = operands.map(|(name, tensor)| Ok((name.clone(), entries(tensor)?)));
    let given = given.collect::<Result<BTreeMap<_, _>, String>>()?;
    let mut instance = Instance::new(format!("taco/{}", case.id), source, declarations.clone(), given)?;
    for (name, tensor) in &case.results {
        instance.expected.insert(name.clone(), entries(tensor)?);
    }
    let reference = match instance.is_small() {
        true => Reference::Oracle,
        false => Reference::Expected,
    };
    let left_out = (!case.windows.is_empty()).then(|| WITHOUT_WINDOWS.to_string());
    let unscheduled = match (&case.concrete, left_out) {
        _ if !case.scheduled || case.expr.is_none() => None,
        (_, Some(why)) => Some(why),
        (None, None) => Some("its concrete notation is not in the file".to_string()),
        (Some(text), None) => {
            let loops = Instance::new(instance.id.clone(), text.clone(), declarations, instance.given.clone())?;
            instance = Instance { expected: instance.expected, ..loops };
            None
        }
    };
    Ok(Translation::Run(Box::new(Runnable { instance, reference, scheduled: case.scheduled, unscheduled })))
}

/// True if an operand is the list of an index set, which no text names.
fn is_set(case: &TacoCase, name: &str, text: &str) -> bool {
    case.windows.iter().any(|window| window.set.is_some()) && !text.contains(name)
}

/// The indices of an access, those of windows among them: the first that are left of its tensor, one a mode. A variable in a window
/// runs over its coordinates.
fn placed(
    windows: &mut Vec<Window>,
    sizes: &mut Vec<(String, u64)>,
    tensor: &str,
    indices: Vec<String>,
) -> Vec<String> {
    let place = |(mode, index): (usize, String)| {
        let own = windows.iter().position(|window| window.tensor == tensor && window.mode == mode);
        match own.map(|own| windows.remove(own)) {
            Some(Window { set: Some(set), .. }) => format!("{{{}}}({index})", join(&set)),
            Some(Window { lo: Some(lo), hi: Some(hi), stride, .. }) => {
                let stride = stride.unwrap_or(1);
                sizes.push((index.clone(), (hi - lo).div_ceil(stride)));
                format!("{stride}*{index} + {lo}")
            }
            _ => index,
        }
    };
    indices.into_iter().enumerate().map(place).collect()
}

fn join<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn dtype(tensor: &TacoTensor) -> Result<DType, String> {
    parse_dtype(&tensor.dtype)
}

/// The fill value, if it is real, or a complex zero.
fn fill(tensor: &TacoTensor) -> Option<f64> {
    if tensor.fill == "(0,0)" { Some(0.0) } else { tensor.fill.parse().ok() }
}

fn entries(tensor: &TacoTensor) -> Result<Entries, String> {
    let dtype = dtype(tensor)?;
    let mut entries = Entries::empty(tensor.dims.clone(), dtype);
    for (coordinate, value) in tensor.coo.iter().flatten() {
        let value = value_of(value).ok_or_else(|| format!("{value} is not a value"))?;
        entries.values.insert(coordinate.clone(), value.cast(dtype));
    }
    Ok(entries)
}

fn value_of(value: &Value) -> Option<Scalar> {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Some(Scalar::Int(i128::from(integer))),
            None => number.as_f64().map(Scalar::Real),
        },
        Value::Bool(value) => Some(Scalar::Bool(*value)),
        Value::String(text) => text.parse().ok().map(Scalar::Real),
        Value::Array(parts) => match parts.as_slice() {
            [re, im] => Some(Scalar::Complex(Complex::new(re.as_f64()?, im.as_f64()?))),
            _ => None,
        },
        _ => None,
    }
}

/// Gives the indices of an access.
type Placed<'a> = &'a mut dyn FnMut(&str, Vec<String>) -> Vec<String>;

/// The program's text in our notation.
fn source(expr: &str, dtypes: &BTreeMap<String, DType>, placed: Placed<'_>) -> Result<String, String> {
    let (ast, mistakes) = lacunar_front::parse(expr);
    if let Some(mistake) = mistakes.first() {
        return Err(format!("{expr}: {mistake}"));
    }
    let declared = |declared: &Declared| declared.operator.declaration().text.clone();
    let mut lines: Vec<String> = ast.operators.iter().map(declared).collect();
    for statement in &ast.statements {
        let indices = placed(&statement.name.text, statement.indices.iter().filter_map(name).collect());
        let lhs = apply(&statement.name.text, indices);
        let (rhs, _) = render(&statement.rhs, dtypes, placed).ok_or_else(|| format!("{expr}: an unknown type"))?;
        let op = statement.op.monoid().map_or("=", |monoid| monoid.sign());
        lines.push(format!("{lhs} {op} {rhs}"));
    }
    Ok(lines.join("\n"))
}

fn name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        _ => None,
    }
}

fn apply(name: &str, args: Vec<String>) -> String {
    if args.is_empty() { name.to_string() } else { format!("{name}({})", args.join(",")) }
}

/// An expression as text, and a flag that is true if its value is an integer in taco, as that of an index variable is; `None` if it
/// is converted to a type that we do not know.
fn render(expr: &Expr, dtypes: &BTreeMap<String, DType>, placed: Placed<'_>) -> Option<(String, bool)> {
    Some(match &expr.kind {
        ExprKind::Identity(_) | ExprKind::List { .. } => return None,
        ExprKind::Number(Number::Int(value)) => (value.to_string(), true),
        ExprKind::Number(Number::Float(value)) => (format!("{value:?}"), false),
        ExprKind::Bool(value) => (value.to_string(), false),
        ExprKind::Name(name) => (name.clone(), dtypes.get(name).is_none_or(|dtype| dtype.is_integer())),
        ExprKind::Apply { name: called, args, .. } => match dtypes.get(&called.text) {
            Some(dtype) => {
                let indices = placed(&called.text, args.iter().filter_map(name).collect());
                (apply(&called.text, indices), dtype.is_integer())
            }
            None => {
                let args: Vec<(String, bool)> =
                    args.iter().map(|arg| render(arg, dtypes, placed)).collect::<Option<_>>()?;
                let integer = args.iter().all(|(_, integer)| *integer);
                (apply(&called.text, args.into_iter().map(|(text, _)| text).collect()), integer)
            }
        },
        ExprKind::Cast { dtype, operand } => {
            let to = DType::parse(&dtype.text)?;
            (format!("{}({})", to.name(), render(operand, dtypes, placed)?.0), to.is_integer())
        }
        ExprKind::Neg(operand) => {
            let (text, integer) = render(operand, dtypes, placed)?;
            (format!("(-{text})"), integer)
        }
        ExprKind::Binary(op, a, b) => {
            let ((a, left), (b, right)) = (render(a, dtypes, placed)?, render(b, dtypes, placed)?);
            let text = match op {
                BinaryOp::Add => format!("({a} + {b})"),
                BinaryOp::Sub => format!("({a} - {b})"),
                BinaryOp::Mul => format!("({a} * {b})"),
                BinaryOp::Div if left && right => format!("idiv({a}, {b})"),
                BinaryOp::Div => format!("({a} / {b})"),
                other => {
                    let sign = other.function().symbol()?;
                    return Some((format!("({a} {sign} {b})"), true));
                }
            };
            (text, left && right)
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    const LINE: &str = r#"{"id": "t", "expr": "a(i) = cast<double>(b(i) / b(i))", "ops": [], "windows": [],
        "operands": {"b": {"dims": [3], "format": "s", "ordering": [0], "type": "int32_t", "fill": "0", "coo": [[[1], 7]]}},
        "results": {"a": {"dims": [3], "format": "d", "ordering": [0], "type": "double", "fill": "0", "coo": [[[1], 1]]}},
        "concrete": "suchthat(forall(i0, forall(i1, a(i) = b(i))), split(i, i0, i1, 2))", "scheduled": false}"#;

    #[test]
    fn a_quotient_of_integers_truncates() {
        let cases = cases(&LINE.replace('\n', " "));
        let Ok(Translation::Run(runnable)) = &cases[0].translation else { panic!("not translated") };
        assert_eq!(runnable.instance.source, "a(i) = f64(idiv(b(i), b(i)))");
        assert!(!runnable.scheduled);
        crate::runner::verify(&runnable.instance, &[], Reference::Oracle, &crate::passed::Passed::none()).unwrap();
    }

    #[test]
    fn operators_of_the_tests_are_declared() {
        let line = LINE
            .replace('\n', " ")
            .replace("cast<double>(b(i) / b(i))", "xor(b(i), b(i))")
            .replace("a(i) = x", "a(i) Min= x");
        let cases = cases(&line.replace("int32_t", "double"));
        let Ok(Translation::Run(runnable)) = &cases[0].translation else { panic!("not translated") };
        let text = &runnable.instance.source;
        assert!(text.starts_with("op either(a, b) {") && text.ends_with("a(i) Min= either(b(i),b(i))"), "{text}");
    }

    #[test]
    fn a_scheduled_case_is_run_with_its_loops() {
        let cases = cases(&LINE.replace('\n', " ").replace("false}", "true}"));
        let Ok(Translation::Run(runnable)) = &cases[0].translation else { panic!("not translated") };
        assert!(runnable.scheduled && runnable.instance.setup.schedule.is_empty());
        assert_eq!(runnable.instance.program.loops.len(), 1);
    }

    #[test]
    fn what_is_missing_has_a_name() {
        let cases = cases(&LINE.replace('\n', " ").replace("\"fill\": \"0\"", "\"fill\": \"(1,0)\""));
        let Ok(Translation::Missing(found)) = &cases[0].translation else { panic!("it is run") };
        assert!(found.contains("fill"), "{found}");
    }
}
