//! The entries of a tensor under a structure: those that are unique, and those that follow from others.
//!
//! ```text
//! symmetric      | u u . |   u unique: the upper triangle
//!                | d u u |   d derived from them
//!                | . d u |
//! ```

use lacunar::inside::front::structure;
use lacunar::{Category, Coo, Diagnostic, DynTensor, Error, Format, StructureError, Structured};
use lacunar_base::Span;
use lacunar_draw::words::grouped;
use lacunar_notation::Structure;

use crate::failure::Failure;

/// The entries of a tensor that has a structure.
#[derive(Debug)]
pub struct Derived {
    /// The unique entries, which are stored.
    pub unique: Coo,
    /// The redundant entries, which follow from unique ones.
    pub derived: Coo,
    /// The name of each kind, with its number of entries.
    pub captions: [String; 2],
}

impl Derived {
    /// The entries of the tensor in a file, of which a value of `-p` says the structure.
    ///
    /// # Errors
    /// A mistake in the value, an element that contradicts it, or memory is refused.
    pub fn of(coo: &Coo, value: &str, file: &str) -> Result<Derived, Failure> {
        let (structure, params) = declared(value, &coo.dims)?;
        let order = coo.dims.len();
        let tensor =
            DynTensor::from_coo(coo.clone().pruned(lacunar::Scalar::zero(coo.values.dtype())), &Format::csf(order))?;
        tensor.check_structure(&structure, &params).map_err(|error| contradicts(error, value, file))?;
        let unique = tensor.keep_unique(&structure, &params).map_err(Error::from)?;
        let mut derived = Coo::empty(coo.dims.clone(), lacunar::DType::Pattern);
        let mut walk = tensor.walk();
        let mut count = 0;
        while let Some((coordinates, _)) = walk.next_entry() {
            if unique.position_of(coordinates).is_none() {
                derived.coords.iter_mut().zip(coordinates).for_each(|(column, &coordinate)| column.push(coordinate));
                count += 1;
            }
        }
        derived.values = lacunar::Values::Pattern(vec![lacunar::One; count]);
        let captions =
            [format!("{} unique", grouped(unique.nnz())), format!("{} derived from them", grouped(count as u64))];
        Ok(Derived { unique: unique.to_coo()?, derived, captions })
    }
}

/// The structure that a value of `-p` says a tensor of these sizes has, and the values of its parameters, which are the sizes.
fn declared(value: &str, dims: &[u64]) -> Result<(Structure, Vec<i64>), Failure> {
    let in_flag = |diagnostic: Diagnostic| Failure::text(value, "-p", diagnostic);
    let (_, spec) = structure::parse(value).map_err(in_flag)?;
    let structure = spec.resolve(dims.len()).map_err(in_flag)?;
    if let Some(name) = structure.space().params.get(dims.len()) {
        let diagnostic = Diagnostic::error("E1309", format!("the structure depends on `{name}`, which has no value"))
            .label(Span::new(0, value.len()), "a name besides the dimensions")
            .hint("write a number in its place");
        return Err(in_flag(diagnostic));
    }
    let params = dims.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
    Ok((structure, params))
}

/// The words for a tensor that does not have the structure that is said.
fn contradicts(error: StructureError, value: &str, file: &str) -> Failure {
    let label = match &error {
        StructureError::Element(_) => "the structure that is declared",
        StructureError::Context { .. } => "of tensors of other sizes",
        _ => return Error::from(error).into(),
    };
    let error = Error::from(error);
    let diagnostic = Diagnostic::error(error.code().unwrap_or("E1308"), format!("{file}: {error}"))
        .category(if error.category() == Category::File { Category::File } else { Category::User })
        .label(Span::new(0, value.len()), label)
        .hint(format!("`lacunar info {file}` names the structures that a file has"));
    Failure::text(value, "-p", diagnostic)
}
