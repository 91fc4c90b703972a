//! `lacunar convert`: a file's tensor in another format of files.

use std::io::IsTerminal;
use std::path::Path;

use lacunar::{Choice, Coo, Demand, Diagnostic, DynTensor, Error, Format, FormatError, FormatSpec, Scalar, choose};
use lacunar_base::Span;
use lacunar_front::options;
use lacunar_runtime::io::{self, Data, ReadOptions, WriteOptions};
use lacunar_runtime::{Buffer, Route};

use crate::args::{ConvertArgs, FileArgs};
use crate::failure::Failure;
use crate::inputs::dims_of;

/// Converts a file. Entries keep the order of the file unless a format is named.
///
/// # Errors
/// A file can't be read or written, the format does not fit.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    io::check_output(&args.output, None)?;
    let data = read(&args.input, args.files)?;
    let (mut data, format) = match &args.format {
        None => (data, None),
        Some(format) => {
            let Stored { tensor, route, choice } = stored(data, format)?;
            if args.explain {
                if let Some(choice) = &choice {
                    println!("{}: {}", choice.format(), choice.reason());
                }
                println!("{route}");
            }
            (Data::of(&tensor)?, Some(tensor.format().clone()))
        }
    };
    if args.prune {
        let list = list_of(data)?;
        let zero = Scalar::zero(list.values.dtype());
        data = Data::Coordinate(list.pruned(zero));
    }
    Ok(io::write(&args.output, &data, &WriteOptions { format, base: args.files.base(), ..WriteOptions::default() })?)
}

/// Reads a file, with a progress bar where someone watches.
///
/// # Errors
/// It can't be read or is malformed.
pub fn read(path: &Path, files: FileArgs) -> Result<Data, Failure> {
    Ok(io::read(path, &read_options(files))?)
}

/// The options to read files with that are not inputs of a program.
pub fn read_options(files: FileArgs) -> ReadOptions {
    ReadOptions { progress: std::io::stderr().is_terminal(), base: files.base(), ..ReadOptions::default() }
}

/// The entries of a file; of an array, the values that are not zero.
///
/// # Errors
/// Memory is refused.
pub fn list_of(data: Data) -> Result<Coo, Failure> {
    match data {
        Data::Coordinate(coo) => Ok(coo),
        Data::Dense(dense) => {
            let order = dense.dims.len();
            let array = array_of(dense)?;
            // The element of a scalar is there, whatever it is.
            Ok(if order == 0 { array.to_coo()? } else { array.convert(&Format::coo(order))?.to_coo()? })
        }
    }
}

/// A tensor as the value of `-f` says.
pub struct Stored {
    /// The tensor.
    pub tensor: DynTensor,
    /// The route of its conversion.
    pub route: Route,
    /// The choice of its format, if the value is `auto`.
    pub choice: Option<Choice>,
}

/// The tensor as the value of `-f` says, and its route.
///
/// # Errors
/// The text names no format that the tensor can have, or memory is refused.
pub fn stored(data: Data, text: &str) -> Result<Stored, Failure> {
    let spec = options::bare_format(text).map_err(|error| Failure::text(text, "-f", error))?;
    if let Some(uses) = spec.uses() {
        return chosen(data, uses);
    }
    let format: Format = spec.resolve(dims_of(&data).len()).map_err(|error| {
        if let FormatError::Packing { structure, fault } = &error {
            let diagnostic = Diagnostic::error("E0411", format!("`{structure}` cannot be packed: {fault}"));
            return Failure::text(text, "-f", diagnostic.hint(FormatSpec::packing_hint(structure, fault)));
        }
        let diagnostic = Diagnostic::error("E0401", error.to_string());
        let hint = "name a format that has one level for each dimension; `coo` and `dense` fit any";
        Failure::text(text, "-f", diagnostic.hint(hint))
    })?;
    let (tensor, route) = match data {
        Data::Coordinate(coo) => {
            let route = Route::of_list(&coo, &format)?;
            (DynTensor::from_coo(coo, &format).map_err(|error| unlike(text, error))?, route)
        }
        Data::Dense(dense) => {
            let tensor = array_of(dense)?;
            let route = tensor.route(&format)?;
            let is_there = route.is_empty();
            let stored =
                if is_there { tensor } else { tensor.convert(&format).map_err(|error| unlike(text, error))? };
            (stored, route)
        }
    };
    Ok(Stored { tensor, route, choice: None })
}

/// An error about a tensor that cannot have the format of `-f`: with its place, if the tensor does not have the structure of that.
fn unlike(text: &str, error: impl Into<Error>) -> Failure {
    let error = error.into();
    // One that is too hard to compare with tells nothing about the tensor.
    let (Some(code @ ("E1308" | "E1309")), Error::Structure { error: found, .. }) = (error.code(), &error) else {
        return Failure::Library(error);
    };
    let message = format!("the tensor does not have the structure of `{text}`: {found}");
    let hint = "name a format that stores all of it; `lacunar info` names the structures that a file has";
    let diagnostic = Diagnostic::error(code, message).category(error.category()).hint(hint);
    Failure::text(text, "-f", diagnostic.label(Span::new(0, text.len()), ""))
}

/// The tensor in the format that is chosen for so many uses.
fn chosen(data: Data, uses: u64) -> Result<Stored, Failure> {
    let listed = match data {
        Data::Coordinate(coo) => {
            let format = lacunar::plain_format(&coo.dims, coo.values.len() as u64);
            DynTensor::from_coo(coo, &format)?
        }
        Data::Dense(dense) => array_of(dense)?,
    };
    let choice = choose(&listed, &Demand::of(uses))?;
    let route = listed.route(choice.format())?;
    let tensor = if route.is_empty() { listed } else { listed.convert(choice.format())? };
    Ok(Stored { tensor, route, choice: Some(choice) })
}

fn array_of(dense: io::Dense) -> Result<DynTensor, Failure> {
    let natural = Format::dense(dense.dims.len());
    Ok(DynTensor::from_dense(dense.dims, Buffer::from_values(dense.values), &natural)?)
}
