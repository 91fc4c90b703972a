//! Inputs: tensors read from files, given on the command line, or made up, each stored as its format says.
//!
//! On exit each tensor has the order of its accesses, the sizes that were declared for it, and its declared type and
//! format, or else those that follow from where it comes from (see the help of `run`).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use lacunar::{
    Category, Choice, DType, Diagnostic, DynTensor, Error, Format, FormatSpec, Needs, Options, StorageError, restore,
};
use lacunar_base::words::count;
use lacunar_front::Declarations;
use lacunar_front::einsum::{Action, ActionKind, Ast};
use lacunar_front::options::Scalar;
use lacunar_notation::{self as notation, Structure};
use lacunar_runtime::Buffer;
use lacunar_runtime::io::{self, Data, Integers, PatternValues, ReadOptions};
use lacunar_runtime::random::generate_filled;
use num_complex::Complex;

use crate::failure::Failure;
use crate::program::{Program, indices_of, names_in_actions, order_of};
use crate::request::{Given, Origin, Request};
use crate::structured;

/// A tensor that is given to the program.
#[derive(Debug)]
pub struct Input {
    /// Its name in the program.
    pub name: String,
    /// Its values.
    pub tensor: DynTensor,
    /// The file, the kind of made-up values, or the value.
    pub origin: String,
    /// The choice of its format, if it is declared `auto`.
    pub choice: Option<Choice>,
    /// The structure from whose unique elements, which are stored alone, all others follow.
    pub unique_of: Option<Structure>,
    /// The reason, in words, why all elements are stored although they follow from others.
    pub whole: Option<String>,
}

impl Input {
    /// The way in which it is stored, and why, in words, where that was chosen.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let chosen = self
            .choice
            .as_ref()
            .map(|choice| format!("`{}` is stored as {}: {}", self.name, choice.format(), choice.reason()));
        chosen.into_iter().chain(self.whole.clone())
    }
}

/// The times that it took to get the inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadTimes {
    /// Reading files.
    pub read: Duration,
    /// Making up values, packing, converting.
    pub pack: Duration,
}

/// Reads the inputs that have values of their own: files and scalars. The values of some tensors are indices: these are integers.
///
/// # Errors
/// A file can't be read or does not fit its accesses and declarations; memory is refused.
pub fn load(
    ast: &Ast,
    (request, indices): (&Request, &BTreeSet<String>),
    progress: bool,
    times: &mut LoadTimes,
) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for (name, given) in &request.givens {
        let known = order_of(ast, &request.declarations, name);
        // A name that is not in the program is told by the check.
        if known.is_none() && !names_in_actions(ast).contains(&name.as_str()) {
            continue;
        }
        let is_index = indices.contains(name);
        let wanted = |order| Wanted { ast, request, name, given, order, is_index };
        let (tensor, origin) = match &given.origin {
            Origin::File(file) => {
                let data = wanted(known.unwrap_or(0)).content(file, known, progress, times)?;
                let order = known.unwrap_or(dims_of(&data).len());
                (wanted(order).read(data, file, times)?, file.clone())
            }
            Origin::Value(scalar) => (wanted(known.unwrap_or(0)).scalar(*scalar)?, "given".to_string()),
            Origin::Generated(_) => continue,
        };
        inputs.push(Input { name: name.clone(), tensor, origin, choice: None, unique_of: None, whole: None });
    }
    Ok(inputs)
}

/// Makes up the other inputs. `checked` is the program with the sizes of those that were read.
///
/// # Errors
/// Nothing tells a size; a size does not fit, memory is refused.
pub fn make(
    program: &Program,
    checked: &notation::Program,
    request: &Request,
    seed: u64,
    times: &mut LoadTimes,
) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    let mut missing = Vec::new();
    for (place, (name, given)) in request.givens.iter().enumerate() {
        let (Origin::Generated(kind), Some(declared)) = (&given.origin, tensor_of(checked, name)) else { continue };
        let Some(dims) = declared.dims.iter().copied().collect::<Option<Vec<u64>>>() else {
            missing.push(unknown_size(declared));
            continue;
        };
        let format = match request.declarations.formats.get(name).filter(|spec| spec.uses().is_none()) {
            Some(_) => declared.format.clone(),
            None if declared.dtype == DType::Pattern => pattern_format(dims.len()),
            None => kind.format(dims.len()),
        };
        let start = Instant::now();
        // Two inputs of one kind and size differ, as do those of two seeds.
        let seed = seed.wrapping_mul(1 << 16).wrapping_add(place as u64);
        let made = generate_filled(kind, dims, declared.dtype, &format, declared.fill(), seed);
        let tensor = made.map_err(|error| unstored(name, &format, error))?;
        times.pack += start.elapsed();
        inputs.push(Input {
            name: name.clone(),
            tensor,
            origin: kind.to_string(),
            choice: None,
            unique_of: None,
            whole: None,
        });
    }
    if missing.is_empty() { Ok(inputs) } else { Err(program.mistakes(missing)) }
}

/// The failure of an input that cannot be stored: if there is no memory for it, it is named.
fn unstored(name: &str, format: &Format, error: StorageError) -> Failure {
    let error = Error::from(error);
    if error.category() != Category::Memory {
        return error.into();
    }
    let message = format!("`{name}` cannot be stored as {format}: {error}");
    let hint = format!("choose a format that stores less, such as `-f {name}:csf`, or fewer or smaller values");
    Failure::plain(Diagnostic::error(error.code().unwrap_or_default(), message).category(Category::Memory).hint(hint))
}

/// A tensor of a checked program by its name.
pub fn tensor_of<'a>(program: &'a notation::Program, name: &str) -> Option<&'a notation::Tensor> {
    program.tensors.iter().map(|(_, tensor)| tensor).find(|tensor| tensor.name == name)
}

/// The format of a list of entries where none is declared.
pub fn listed_format(order: usize) -> Format {
    match order {
        0 | 1 => Format::dense(order),
        2 => Format::csr(),
        _ => Format::csf(order),
    }
}

/// Chooses the format of an input that is declared `auto`, for the loops of the program; gives true if it is.
///
/// # Errors
/// The program has mistakes, memory is refused.
pub fn choose_format(
    (program, request): (&Program, &Request),
    options: &Options,
    input: &mut Input,
    times: &mut LoadTimes,
) -> Result<bool, Failure> {
    let spec = request.declarations.formats.get(&input.name).filter(|spec| spec.uses().is_some());
    let Some(spec) = spec else { return Ok(false) };
    let start = Instant::now();
    let needs = Needs { program: &program.text, tensor: &input.name, options };
    // An empty one takes its place for a moment.
    let tensor = std::mem::replace(&mut input.tensor, DynTensor::scalar(0.0));
    let chosen = restore(tensor, spec, Some(needs)).map_err(|error| program.failure(request, error))?;
    (input.tensor, input.choice) = chosen;
    times.pack += start.elapsed();
    Ok(true)
}

/// The format of a pattern that has none.
pub fn pattern_format(order: usize) -> Format {
    if order == 1 { Format::sv() } else { listed_format(order) }
}

/// Gives a format that can hold a pattern to every input, and to every tensor that the program reads, if it is declared a pattern
/// and has no format: without values, nothing in dense storage tells the entries. A scalar has no such format; the check says so.
pub fn choose_pattern_formats(ast: &Ast, request: &mut Request) {
    let Declarations { formats, dtypes, .. } = &mut request.declarations;
    let mut read = Vec::new();
    Action::visit(&ast.body, &mut |action| {
        if let ActionKind::Read(name, _) = &action.kind {
            read.push(&name.text);
        }
    });
    for name in request.givens.keys().chain(read).filter(|name| dtypes.get(*name) == Some(&DType::Pattern)) {
        let Some(order @ 1..) = indices_of(ast, name).map(|indices| indices.len()) else { continue };
        formats.entry(name.clone()).or_insert_with(|| pattern_format(order).into());
    }
}

/// Declares of tensors what the program's actions on files tell, where nothing else is declared: types and orders from files that
/// it reads, formats of what it inserts into.
pub fn declare_by_actions(ast: &Ast, indices: &BTreeSet<String>, request: &Request, declarations: &mut Declarations) {
    declare_late_reads(ast, indices, request, declarations);
    declare_inserted(ast, request, declarations);
}

/// Gives the tensors that a program reads from files behind other actions the types of these files, unless a type is declared, a
/// statement assigns to the tensor before, or the program writes the file before. A tensor whose values are indices is of
/// integers, whatever its file holds; one that no statement has, and of which nothing is declared, has the order of its file. Files that
/// can't be read now are left for the program to tell.
fn declare_late_reads(ast: &Ast, indices: &BTreeSet<String>, request: &Request, declarations: &mut Declarations) {
    let (mut settled, mut written) = (BTreeSet::new(), BTreeSet::new());
    settled.extend(request.givens.keys().map(String::as_str));
    Action::visit(&ast.body, &mut |action| match &action.kind {
        ActionKind::Assign(statement) => {
            settled.insert(&ast.statements[*statement].name.text);
        }
        ActionKind::Write(_, file) => {
            written.insert(io::place_of(Path::new(file)));
        }
        ActionKind::Read(name, file) if settled.insert(&name.text) => {
            let path = Path::new(file);
            if written.contains(&io::place_of(path)) {
                return;
            }
            if order_of(ast, declarations, &name.text).is_none()
                && let Ok(data) = io::read(path, &ReadOptions { progress: false, ..ReadOptions::default() })
            {
                let format = match data {
                    Data::Coordinate(list) => listed_format(list.dims.len()),
                    Data::Dense(array) => Format::dense(array.dims.len()),
                };
                declarations.formats.insert(name.text.clone(), format.into());
            }
            if !declarations.dtypes.contains_key(&name.text)
                && let Ok(dtype) = io::dtype(path)
                && !(indices.contains(&name.text) && dtype.is_float())
            {
                declarations.dtypes.insert(name.text.clone(), dtype);
            }
        }
        _ => {}
    });
}

/// Gives a tensor that a program inserts into, before it has a value, the format that it would have if it were read from a file; a
/// declared format stays.
fn declare_inserted(ast: &Ast, request: &Request, declarations: &mut Declarations) {
    let mut settled: BTreeSet<&str> = request.givens.keys().map(String::as_str).collect();
    Action::visit(&ast.body, &mut |action| match &action.kind {
        ActionKind::Assign(statement) => _ = settled.insert(&ast.statements[*statement].name.text),
        ActionKind::Read(name, _)
        | ActionKind::Fill(name, _)
        | ActionKind::Random { tensor: name, .. }
        | ActionKind::Snapshot(name, _) => _ = settled.insert(&name.text),
        ActionKind::Change { tensor, .. } if settled.insert(&tensor.text) => {
            if let Some(order) = order_of(ast, declarations, &tensor.text) {
                declarations.formats.entry(tensor.text.clone()).or_insert_with(|| listed_format(order).into());
            }
        }
        _ => {}
    });
}

fn unknown_size(tensor: &notation::Tensor) -> Diagnostic {
    let name = &tensor.name;
    let unknown: Vec<String> =
        (0..tensor.dims.len()).filter(|&d| tensor.dims[d].is_none()).map(|d| d.to_string()).collect();
    let (noun, places) = (if unknown.len() == 1 { "dimension" } else { "dimensions" }, unknown.join(", "));
    let sizes = vec!["100"; tensor.dims.len()].join(",");
    Diagnostic::error("E1009", format!("nothing tells the size of {noun} {places} of `{name}`, which is made up"))
        .label(tensor.span, "no other tensor shares the index")
        .hint(format!("declare the sizes, for example `-d {name}:{sizes}`"))
}

/// An input as the program and the flags ask for it.
struct Wanted<'a> {
    ast: &'a Ast,
    request: &'a Request,
    name: &'a str,
    given: &'a Given,
    order: usize,
    /// True if its values are indices.
    is_index: bool,
}

impl Wanted<'_> {
    /// The data of a file, for a tensor of an order if that is known.
    fn content(
        &self,
        file: &str,
        order: Option<usize>,
        progress: bool,
        times: &mut LoadTimes,
    ) -> Result<Data, Failure> {
        let declared = self.request.declared_dims(self.ast, self.name);
        // A list of entries cannot say that it is a number.
        let number = (order == Some(0)).then(Vec::new);
        let options = ReadOptions {
            dims: declared.filter(|dims| order.is_none_or(|order| dims.len() == order)).or(number),
            progress,
            base: self.request.base,
            pattern: match self.request.declarations.dtypes.get(self.name) {
                Some(DType::Pattern) => PatternValues::Places,
                _ => PatternValues::Ones,
            },
            integers: self.request.declarations.dtypes.get(self.name).copied().and_then(Integers::of),
        };
        let start = Instant::now();
        let data = io::read(Path::new(file), &options)?;
        times.read += start.elapsed();
        Ok(data)
    }

    /// The tensor that is in a file.
    fn read(&self, mut data: Data, file: &str, times: &mut LoadTimes) -> Result<DynTensor, Failure> {
        let declared = self.request.declared_dims(self.ast, self.name);
        let found = dims_of(&data).to_vec();
        if !drop_dimensions(&mut data, self.order) {
            return Err(self.wrong_order(file, &found));
        }
        let sizes = dims_of(&data);
        if let Some(declared) = declared.filter(|declared| declared.len() == self.order && declared != sizes) {
            return Err(self.wrong_sizes(file, sizes, &declared));
        }
        let start = Instant::now();
        let format = match &data {
            Data::Coordinate(_) if self.declared_format().is_none() => listed_format(self.order),
            // The entries tell more than their number once they are packed.
            Data::Coordinate(coo) => self.format(lacunar::plain_format(&coo.dims, coo.values.len() as u64))?,
            Data::Dense(_) => self.format(Format::dense(self.order))?,
        };
        // Unique elements alone are no whole tensor, as a packed one is, before they are completed.
        let format = match format.packing() {
            Some(_) if self.request.unique.contains(self.name) => listed_format(self.order),
            _ => format,
        };
        // A declared fill value is set first, and the format applied then, because padding gets the fill value.
        let filled = self.request.declarations.fills.contains_key(self.name) && self.order > 0;
        let tensor = match data {
            Data::Coordinate(coo) if filled => DynTensor::from_coo(coo, &Format::coo(self.order))?,
            Data::Coordinate(coo) => {
                DynTensor::from_coo(coo, &format).map_err(|error| self.unstored(file, &format, error))?
            }
            Data::Dense(dense) => {
                let array = if filled { Format::dense(self.order) } else { format.clone() };
                let tensor = DynTensor::from_dense(dense.dims, Buffer::from_values(dense.values), &array);
                tensor.map_err(|error| self.unstored(file, &array, error))?
            }
        };
        let tensor = self.typed(tensor, file)?;
        let tensor = if filled { self.filled(tensor)?.convert(&format)? } else { tensor };
        times.pack += start.elapsed();
        Ok(tensor)
    }

    /// The failure of a file that cannot be stored: it may not have the structure of a packed format.
    fn unstored(&self, file: &str, format: &Format, error: StorageError) -> Failure {
        match error {
            StorageError::Structure(error) => structured::contradicted(self.name, file, *error),
            error => unstored(self.name, format, error),
        }
    }

    /// The tensor with its declared fill value.
    fn filled(&self, tensor: DynTensor) -> Result<DynTensor, Failure> {
        let Some(declared) = self.request.declarations.fills.get(self.name) else { return Ok(tensor) };
        let (name, dtype) = (self.name, tensor.dtype());
        match declared.to(dtype) {
            Some(fill) => Ok(tensor.with_fill(fill)?),
            None => {
                let message = format!("the fill value {declared} of `{name}` is no value of type {dtype}");
                let hint = format!("declare another type, for example `-t {name}:f64`");
                Err(self.given.mistake(format!("of type {dtype}"), Diagnostic::error("E0507", message).hint(hint)))
            }
        }
    }

    fn scalar(&self, value: Scalar) -> Result<DynTensor, Failure> {
        if self.order != 0 {
            let indices = count(self.order, "index", "indices");
            let diagnostic =
                Diagnostic::error("E1010", format!("`{}` has {indices}, but one value is given", self.name))
                    .hint(format!("read it from a file, `-i {0}:FILE`, or make it up, `-g {0}:ones`", self.name));
            return Err(self.given.mistake(format!("`{}` is not a scalar", self.name), diagnostic));
        }
        let tensor = match value {
            Scalar::Bool(value) => DynTensor::scalar(value),
            Scalar::Int(value) => match i64::try_from(value) {
                Ok(value) => DynTensor::scalar(value),
                // The flag's reader accepts numbers that fit in one of the two.
                Err(_) => DynTensor::scalar(value as u64),
            },
            Scalar::Float(value) => DynTensor::scalar(value),
            Scalar::Complex(re, im) => DynTensor::scalar(Complex::new(re, im)),
        };
        self.typed(tensor, "the value")
    }

    fn declared_format(&self) -> Option<&FormatSpec> {
        self.request.declarations.formats.get(self.name)
    }

    /// The declared format; the other one, if none is declared or one is to be chosen.
    fn format(&self, otherwise: Format) -> Result<Format, Failure> {
        let Some(spec) = self.declared_format().filter(|spec| spec.uses().is_none()) else { return Ok(otherwise) };
        spec.resolve(self.order).map_err(|error| {
            let diagnostic = Diagnostic::error("E0401", format!("{error}: `{}`", self.name));
            Failure::plain(diagnostic.hint(error.order_hint()))
        })
    }

    /// The tensor with its declared type.
    fn typed(&self, tensor: DynTensor, source: &str) -> Result<DynTensor, Failure> {
        let dtype: DType = match self.request.declarations.dtypes.get(self.name) {
            Some(&dtype) if dtype != tensor.dtype() => dtype,
            None if self.is_index && tensor.dtype().is_float() => DType::I64,
            _ => return Ok(tensor),
        };
        let said = match self.is_index && !self.request.declarations.dtypes.contains_key(self.name) {
            true => format!("the values of `{}` are indices", self.name),
            false => format!("`{}` is declared {dtype}", self.name),
        };
        if tensor.dtype().is_complex() && !dtype.is_complex() && dtype != DType::Pattern {
            let message = format!("the complex numbers of {source} cannot be converted to {dtype}");
            let diagnostic = Diagnostic::error("E0506", message).hint(format!(
                "declare `-t {}:c128` and take a part in the program, with `real(x)` or `abs(x)`",
                self.name
            ));
            return Err(self.given.mistake(said, diagnostic));
        }
        let converted = tensor.cast(dtype)?;
        if dtype.is_integer()
            && let Some(value) = tensor.values().first_changed(converted.values()).map_err(StorageError::from)?
        {
            let message = format!("the value {value} of {source} is none of type {dtype}");
            let diagnostic = Diagnostic::error("E0506", message)
                .hint("declare a type that holds all values, or convert them in the program");
            return Err(self.given.mistake(said, diagnostic));
        }
        Ok(converted)
    }

    fn wrong_order(&self, file: &str, found: &[u64]) -> Failure {
        let (name, order) = (self.name, self.order);
        let message = format!(
            "{file} holds a tensor of {} dimensions, but `{name}` has {}",
            found.len(),
            count(order, "index", "indices")
        );
        let indices: Vec<&str> = ["i", "j", "k", "l", "m", "n"].into_iter().cycle().take(found.len().min(6)).collect();
        let diagnostic = Diagnostic::error("E1011", message).hint(match order {
            1 if found.len() == 2 => "only a matrix of one row or one column serves as a vector".to_string(),
            _ => format!("access it as `{name}({})`", indices.join(",")),
        });
        let label = format!("{} in the program, {} in the file", count(order, "index", "indices"), sizes_text(found));
        self.given.mistake(label, diagnostic)
    }

    fn wrong_sizes(&self, file: &str, found: &[u64], declared: &[u64]) -> Failure {
        let (found, declared) = (sizes_text(found), sizes_text(declared));
        let message = format!("{file} holds a tensor of sizes {found}, but {declared} is declared for `{}`", self.name);
        let diagnostic = Diagnostic::error("E1012", message).hint(format!("leave `-d` away, or declare {found}"));
        self.given.mistake(format!("{found} in the file"), diagnostic)
    }
}

/// Sizes as people write them: `3x4`.
pub fn sizes_text(dims: &[u64]) -> String {
    match dims {
        [] => "scalar".to_string(),
        dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}

/// The sizes of a file's content.
pub fn dims_of(data: &Data) -> &[u64] {
    match data {
        Data::Coordinate(coo) => &coo.dims,
        Data::Dense(dense) => &dense.dims,
    }
}

/// Drops dimensions of size 1 of a matrix until `order` are left, the last first. Returns true if that many are left.
fn drop_dimensions(data: &mut Data, order: usize) -> bool {
    while dims_of(data).len() > order && dims_of(data).len() <= 2 {
        let Some(single) = dims_of(data).iter().rposition(|&size| size == 1) else { break };
        match data {
            Data::Coordinate(coo) => {
                coo.dims.remove(single);
                coo.coords.remove(single);
            }
            Data::Dense(dense) => {
                dense.dims.remove(single);
            }
        }
    }
    dims_of(data).len() == order
}
