//! One statement again, on the reference interpreter: as it is, or for a sample of coordinates of its result.
//!
//! A sample keeps some coordinates of a variable of the result: each operand that carries the variable is filtered, and
//! the coordinates that are left are numbered from 0. So the statement has the same text on smaller tensors:
//!
//! ```text
//! y(i) = A(i,j) * x(j), i in {2, 7, 9}     y(i) = A_1(i,j) * x(j), A_1 made of rows 2, 7 and 9 of A
//! ```

use std::collections::{BTreeMap, BTreeSet};

use lacunar::{Backend, Coo, DType, Diagnostic, DynTensor, Error, Format, Kernel, Options, StorageError};
use lacunar_notation::{Access, Assignment, BinaryFn, Expr, ExprKind, Literal, Program, Role, UnaryFn, VarId};
use lacunar_oracle::entries::Entries;
use lacunar_runtime::{Coordinates, Values};

use crate::check::{Expected, entries_of};
use crate::failure::Failure;
use crate::flops;

/// A statement of a program that has been run.
pub struct Statement<'a> {
    /// The program.
    pub kernel: &'a Kernel,
    /// The number of the statement.
    pub place: usize,
    /// The program's inputs.
    pub given: &'a [(&'a str, &'a DynTensor)],
    /// The program's results.
    pub results: &'a [(String, DynTensor)],
}

/// The interpreter's values of a statement, and those that were found.
pub struct Comparison {
    /// The interpreter's values.
    pub reference: Expected,
    /// The values found at the same coordinates.
    pub found: Entries,
    /// The coordinates that were kept along each dimension of the result; `None` where all were.
    kept: Vec<Option<Vec<u64>>>,
    /// The way of the comparison, in words.
    pub how: String,
}

/// The coordinates that are kept of each variable that is restricted, ascending.
type Sample = BTreeMap<VarId, Vec<u64>>;

impl Comparison {
    /// A coordinate of the sample in the whole result.
    pub fn origin(&self, at: &[u64]) -> Vec<u64> {
        let whole = |(&c, kept): (&u64, &Option<Vec<u64>>)| kept.as_ref().map_or(c, |kept| kept[c as usize]);
        at.iter().zip(&self.kept).map(whole).collect()
    }
}

impl Statement<'_> {
    /// About how much work the statement is: operations, entries of operands, entries of the result.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn work(&self) -> Result<f64, Failure> {
        let program = self.kernel.program();
        let flops = flops::of_statement(program, self.place, &|name| self.read(name))?;
        let statement = self.statement();
        let accesses = std::iter::once(&statement.lhs).chain(statement.rhs.accesses());
        let stored: u64 = accesses.filter_map(|access| self.tensor_of(access)).map(DynTensor::nnz).sum();
        Ok(flops + stored as f64)
    }

    /// Runs the statement on the interpreter: all of it, or about a fraction of it.
    ///
    /// # Errors
    /// Memory is refused; the interpreter refuses the statement.
    pub fn compare(&self, fraction: Option<f64>, seed: u64) -> Result<Comparison, Failure> {
        let sample = self.sample(fraction.unwrap_or(1.0), seed);
        let statement = self.statement();
        let mut program = self.kernel.program().clone();
        let result = &mut program.tensors[statement.lhs.tensor];
        result.structure = None;
        if result.format.packing().is_some() {
            result.format = sampled(&result.format);
        }
        let mut smaller = statement.clone();
        let mut operands: Vec<(String, DynTensor)> = Vec::new();
        smaller.rhs = self.restrict_operands(smaller.rhs, &sample, &mut program, &mut operands)?;
        let name = program.tensors[statement.lhs.tensor].name.clone();
        // The smaller statement reads operands under names of their own. It needs the old value of its result to combine with it alone.
        if statement.op.monoid().is_some()
            && let Some((_, before)) = self.given.iter().find(|(given, _)| *given == name)
        {
            operands.push((name.clone(), restricted(before, &statement.lhs, &sample)?));
        }
        let sizes = self.sizes(&sample);
        program.statements = vec![smaller];
        let reference = interpreted(&program, &operands, &sizes, &name)?;
        let found = self.tensor(&name).ok_or_else(|| internal(format!("`{name}` has no value")))?;
        let found = entries_of(&restricted(found, &statement.lhs, &sample)?)?;
        let kept: Vec<Option<Vec<u64>>> = statement.lhs.vars.iter().map(|var| sample.get(var).cloned()).collect();
        Ok(Comparison { reference, found, how: self.description(&sample), kept })
    }

    fn statement(&self) -> &Assignment {
        &self.kernel.program().statements[self.place]
    }

    fn tensor(&self, name: &str) -> Option<&DynTensor> {
        let results = self.results.iter().map(|(name, tensor)| (name.as_str(), tensor));
        results.chain(self.given.iter().copied()).find(|(other, _)| *other == name).map(|(_, tensor)| tensor)
    }

    /// A tensor that the statement reads: as it was given, where no earlier statement assigns to it.
    fn read(&self, name: &str) -> Option<&DynTensor> {
        let program = self.kernel.program();
        let is_assigned = |earlier: &Assignment| program.tensors[earlier.lhs.tensor].name == name;
        if !program.statements[..self.place].iter().any(is_assigned)
            && let Some((_, given)) = self.given.iter().find(|(other, _)| *other == name)
        {
            return Some(given);
        }
        self.tensor(name)
    }

    fn tensor_of(&self, access: &Access) -> Option<&DynTensor> {
        self.read(&self.kernel.program().tensors[access.tensor].name)
    }

    /// The size of each variable of the statement that some tensor tells, or that is declared.
    fn whole_sizes(&self) -> BTreeMap<VarId, u64> {
        let statement = self.statement();
        let accesses = std::iter::once(&statement.lhs).chain(statement.rhs.accesses());
        let mut sizes = BTreeMap::new();
        for access in accesses {
            match self.tensor_of(access) {
                Some(tensor) => sizes.extend(access.vars.iter().copied().zip(tensor.dims().iter().copied())),
                // A variable that stands as a value.
                None => sizes.extend(access.vars.iter().filter_map(|var| Some((*var, self.declared(*var)?)))),
            }
        }
        sizes
    }

    fn declared(&self, var: VarId) -> Option<u64> {
        self.kernel.program().vars[var].size
    }

    /// The sizes of the statement's variables under their names, in the sample.
    fn sizes(&self, sample: &Sample) -> Vec<(String, u64)> {
        let size = |(var, size): (VarId, u64)| {
            let kept = sample.get(&var).map_or(size, |kept| kept.len() as u64);
            (self.kernel.program().vars[var].name.clone(), kept)
        };
        self.whole_sizes().into_iter().map(size).collect()
    }

    /// Keeps about a fraction of the result's coordinates: one at random in each of so many equal parts of a variable's
    /// range, for one variable after the other until the fraction is reached.
    fn sample(&self, mut fraction: f64, seed: u64) -> Sample {
        let mut random = fastrand::Rng::with_seed(seed);
        let sizes = self.whole_sizes();
        let mut sample = Sample::new();
        // The coordinates of a sample are counted anew, so that a variable that stands as a value, or in an index, keeps all of them.
        let is_value = |access: &&&Access| self.kernel.program().tensors[access.tensor].role.is_computed();
        let accesses = self.statement().rhs.accesses();
        let values: Vec<VarId> = accesses.iter().filter(is_value).flat_map(|access| access.vars.clone()).collect();
        for var in self.statement().lhs.vars.iter().filter(|var| !values.contains(var)) {
            let size = sizes.get(var).copied().unwrap_or(0);
            if fraction >= 1.0 || size < 2 {
                continue;
            }
            let count = ((size as f64 * fraction) as u64).clamp(1, size);
            let border = |part: u64| (u128::from(part) * u128::from(size) / u128::from(count)) as u64;
            sample.insert(*var, (0..count).map(|part| random.u64(border(part)..border(part + 1))).collect());
            fraction *= size as f64 / count as f64;
        }
        sample
    }

    fn description(&self, sample: &Sample) -> String {
        let sizes = self.whole_sizes();
        let parts: Vec<String> = sample
            .iter()
            .map(|(var, kept)| {
                let name = &self.kernel.program().vars[*var].name;
                format!("{} of {} coordinates of `{name}`", kept.len(), sizes.get(var).copied().unwrap_or(0))
            })
            .collect();
        match parts.as_slice() {
            [] => "the reference interpreter".to_string(),
            parts => format!("the reference interpreter on a sample: {}", parts.join(", ")),
        }
    }

    /// The expression with an operand of its own for each access, restricted to the sample.
    fn restrict_operands(
        &self,
        expr: Expr,
        sample: &Sample,
        program: &mut Program,
        operands: &mut Vec<(String, DynTensor)>,
    ) -> Result<Expr, Failure> {
        let mut fault = None;
        let found = self.rename(expr, &mut |access| {
            // Values that are indices are taken as they are.
            if let Some(of) = program.tensors[access.tensor].gathered() {
                let name = program.tensors[of].name.clone();
                if let Some(tensor) = self.read(&name).filter(|_| operands.iter().all(|(known, _)| *known != name)) {
                    match tensor.try_clone() {
                        Ok(tensor) => operands.push((name, tensor)),
                        Err(error) => fault = Some(StorageError::from(error).into()),
                    }
                }
            }
            let Some(tensor) = self.tensor_of(&access) else { return access };
            let mut declared = self.kernel.program().tensors[access.tensor].clone();
            declared.role = Role::Input;
            declared.format = sampled(&declared.format);
            declared.structure = None;
            let taken = |name: &str| {
                program.tensors.iter().any(|(_, tensor)| tensor.name == name)
                    || program.vars.iter().any(|(_, var)| var.name == name)
            };
            declared.name =
                (1..).map(|number| format!("{}_{number}", declared.name)).find(|name| !taken(name)).unwrap_or_default();
            match restricted(tensor, &access, sample) {
                Ok(tensor) => operands.push((declared.name.clone(), tensor)),
                Err(failure) => fault = Some(failure),
            }
            Access { tensor: program.tensors.push(declared), ..access }
        });
        fault.map_or(Ok(found), Err)
    }

    fn rename(&self, expr: Expr, access: &mut impl FnMut(Access) -> Access) -> Expr {
        match expr.kind {
            ExprKind::Access(found) => Expr { kind: ExprKind::Access(access(found)), ..expr },
            _ => expr.map_children(&mut |child| self.rename(child, access)),
        }
    }
}

/// Runs a whole program on the interpreter, for one of its results.
///
/// # Errors
/// Memory is refused; the interpreter refuses the program.
pub fn whole(kernel: &Kernel, given: &[(&str, &DynTensor)], result: &str) -> Result<Expected, Failure> {
    let copy = |(name, tensor): &(&str, &DynTensor)| {
        Ok(((*name).to_string(), tensor.try_clone().map_err(StorageError::from)?))
    };
    let operands = given.iter().map(copy).collect::<Result<Vec<_>, Failure>>()?;
    let sizes =
        kernel.program().vars.iter().filter_map(|(_, var)| Some((var.name.clone(), var.size?))).collect::<Vec<_>>();
    interpreted(kernel.program(), &operands, &sizes, result)
}

/// Runs a program on the interpreter, and again on absolute values for the size of the numbers on the way.
fn interpreted(
    program: &Program,
    operands: &[(String, DynTensor)],
    sizes: &[(String, u64)],
    result: &str,
) -> Result<Expected, Failure> {
    let entries = run(program, operands, sizes, result, None)?;
    let mut scale = BTreeMap::new();
    if entries.dtype.is_float()
        // Values that are not stored may be larger than any stored value.
        && operands.iter().all(|(_, tensor)| tensor.fill().is_zero())
        && let Some(bound) = bounding(program)
    {
        let indices = program.tensors.iter().filter_map(|(_, tensor)| tensor.gathered());
        let indices: Vec<&str> = indices.map(|of| program.tensors[of].name.as_str()).collect();
        let sized = operands.iter().map(|(name, tensor)| match indices.contains(&name.as_str()) {
            true => Ok((name.clone(), tensor.try_clone().map_err(StorageError::from)?)),
            false => Ok((name.clone(), magnitudes(tensor)?)),
        });
        let operands = sized.collect::<Result<Vec<_>, Failure>>()?;
        let bounds = run(&bound, &operands, sizes, result, Some(DType::F64))?;
        scale = bounds.values.into_iter().map(|(at, value)| (at, value.magnitude())).collect();
    }
    Ok(Expected { name: result.to_string(), entries, scale })
}

/// One result of a program on the interpreter; all results have the type `dtype`, or else those of the program.
fn run(
    program: &Program,
    operands: &[(String, DynTensor)],
    sizes: &[(String, u64)],
    result: &str,
    dtype: Option<DType>,
) -> Result<Entries, Failure> {
    let text: Vec<String> = program.statements.iter().map(|s| program.statement_text(s)).collect();
    let text = text.join("\n");
    let mut options = Options::new().backend(Backend::Interpreter);
    options.declarations.inputs = Some(Default::default());
    options.declarations.operators.extend(program.operators.iter().cloned());
    // Variables of indices that are no variables are not in the text.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !is_word(c)).collect();
    for (name, size) in sizes.iter().filter(|(name, _)| words.contains(name.as_str())) {
        options = options.size(name, *size);
    }
    for (name, tensor) in operands {
        options = options.tensor(name, tensor);
        options.declarations = options.declarations.input(name.clone());
    }
    for statement in &program.statements {
        let declared = &program.tensors[statement.lhs.tensor];
        options = options.format(&declared.name, declared.format.clone());
        options.declarations.fills.insert(declared.name.clone(), declared.fill());
        options = options.dtype(&declared.name, dtype.unwrap_or(declared.dtype));
    }
    let kernel = Kernel::compile(&text, &options)?;
    let given: Vec<(&str, &DynTensor)> = operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let found = kernel.run_named(&given)?.results.into_iter().find(|(name, _)| name == result);
    let (_, tensor) = found.ok_or_else(|| internal(format!("`{result}` has no value")))?;
    entries_of(&tensor)
}

/// A program whose results bound, for the absolute values of the inputs, every number that occurs on the way; `None`
/// where functions hinder it.
fn bounding(program: &Program) -> Option<Program> {
    let mut bound = program.clone();
    for statement in &mut bound.statements {
        statement.rhs = bounding_expr(&statement.rhs)?;
    }
    Some(bound)
}

fn bounding_expr(expr: &Expr) -> Option<Expr> {
    let kind = match &expr.kind {
        ExprKind::Access(_) => expr.kind.clone(),
        ExprKind::Literal(Literal::Int(value)) => ExprKind::Literal(Literal::Float((*value as f64).abs())),
        ExprKind::Literal(Literal::Float(value)) => ExprKind::Literal(Literal::Float(value.abs())),
        ExprKind::Literal(_) => return None,
        ExprKind::Unary(UnaryFn::Neg | UnaryFn::Abs, operand) => return bounding_expr(operand),
        ExprKind::Cast(operand) if expr.dtype.is_float() => return bounding_expr(operand),
        ExprKind::Unary(..) | ExprKind::Cast(_) | ExprKind::Select(_) | ExprKind::Apply(..) => return None,
        ExprKind::Binary(function, left, right) => {
            let function = match function {
                BinaryFn::Add | BinaryFn::Sub | BinaryFn::Max | BinaryFn::Min => BinaryFn::Add,
                BinaryFn::Mul => BinaryFn::Mul,
                _ => return None,
            };
            ExprKind::Binary(function, Box::new(bounding_expr(left)?), Box::new(bounding_expr(right)?))
        }
        // Nothing is known of the sizes of what a declared operator computes.
        ExprKind::Reduce(op, ..) if matches!(op.function(), BinaryFn::User(_)) => return None,
        ExprKind::Reduce(op, vars, operand) => ExprKind::Reduce(*op, vars.clone(), Box::new(bounding_expr(operand)?)),
    };
    Some(Expr { kind, dtype: DType::F64, ..expr.clone() })
}

/// The absolute values of a tensor's entries.
fn magnitudes(tensor: &DynTensor) -> Result<DynTensor, Failure> {
    if tensor.dtype().is_complex() {
        let mut coo = tensor.cast(DType::C128)?.to_coo()?;
        if let Values::C128(values) = &coo.values {
            coo.values = Values::F64(values.iter().map(|value| value.norm()).collect());
        }
        return Ok(DynTensor::from_coo(coo, tensor.format())?);
    }
    let mut real = tensor.cast(DType::F64)?;
    for value in real.values_mut().into_slice::<f64>().unwrap_or_default() {
        *value = value.abs();
    }
    Ok(real)
}

/// A tensor restricted to the sample along the dimensions of an access.
fn restricted(tensor: &DynTensor, access: &Access, sample: &Sample) -> Result<DynTensor, Failure> {
    let kept: Vec<Option<&Vec<u64>>> = access.vars.iter().map(|var| sample.get(var)).collect();
    if kept.iter().all(Option::is_none) {
        return Ok(tensor.convert(&sampled(tensor.format()))?);
    }
    let coo = tensor.to_coo()?;
    let mut places = Vec::new();
    let mut coords: Vec<Coordinates> = Vec::new();
    let dims: Vec<u64> =
        coo.dims.iter().zip(&kept).map(|(&size, kept)| kept.map_or(size, |kept| kept.len() as u64)).collect();
    coords.extend(dims.iter().map(|&size| Coordinates::for_size(size)));
    let mut at = vec![0; dims.len()];
    for place in 0..coo.len() {
        let inside = at.iter_mut().zip(&coo.coords).zip(&kept).all(|((at, column), kept)| {
            let Some(c) = column.get(place) else { return false };
            match kept.map(|kept| kept.binary_search(&c)) {
                None => *at = c,
                Some(Ok(number)) => *at = number as u64,
                Some(Err(_)) => return false,
            }
            true
        });
        if inside {
            places.push(place);
            coords.iter_mut().zip(&at).for_each(|(column, &c)| column.push(c));
        }
    }
    let values = picked(&coo.values, &places);
    Ok(DynTensor::from_coo_filled(Coo { dims, coords, values }, &sampled(tensor.format()), tensor.fill())?)
}

/// The format of a part of a tensor: that of the whole, unless a map or a structure determines it, which need not suit a part.
fn sampled(format: &Format) -> Format {
    let is_of_whole = format.map().is_some() || format.packing().is_some();
    if is_of_whole { Format::coo(format.order()) } else { format.clone() }
}

/// The values at some places.
fn picked(values: &Values, places: &[usize]) -> Values {
    macro_rules! pick {
        ($($kind:ident)*) => {
            match values {
                $(Values::$kind(values) => Values::$kind(places.iter().map(|&place| values[place]).collect()),)*
            }
        };
    }
    pick!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F16 BF16 F32 F64 C64 C128 Pattern)
}

fn internal(message: String) -> Failure {
    Failure::Library(Error::program("", vec![Diagnostic::internal(message)]))
}
