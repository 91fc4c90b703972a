//! Carries out the legs of a route, one after the other.
//!
//! On entry the source is as the route's facts say. On exit the tensor is stored in the route's format, with index
//! arrays as wide as its sizes need. Memory that a leg does not need any more is given back before the next one.

use lacunar_formats::Scalar;

use super::{Leg, Route};
use crate::array::Array;
use crate::coo::{self, Coo};
use crate::error::StorageError;
use crate::fill::{mask, mask_list};
use crate::tensor::Tensor;
use crate::{dense, insert, outside, pack, placed, ranking, remap, reorder, structure, transpose};

/// The entries between two legs.
enum Held<'a> {
    Borrowed(&'a Tensor),
    Owned(Tensor),
    List(Coo),
}

impl Held<'_> {
    fn tensor(&self) -> Result<&Tensor, StorageError> {
        match self {
            Held::Borrowed(tensor) => Ok(tensor),
            Held::Owned(tensor) => Ok(tensor),
            Held::List(_) => Err(StorageError::Astray),
        }
    }

    fn into_tensor(self) -> Result<Tensor, StorageError> {
        match self {
            Held::Borrowed(tensor) => Ok(tensor.try_clone()?),
            Held::Owned(tensor) => Ok(tensor),
            Held::List(_) => Err(StorageError::Astray),
        }
    }

    fn into_list(self) -> Result<Coo, StorageError> {
        match self {
            Held::List(list) => Ok(list),
            Held::Borrowed(_) | Held::Owned(_) => Err(StorageError::Astray),
        }
    }
}

impl Route {
    /// The tensor, which the route's facts are of, in the route's format.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub(crate) fn take_tensor(&self, tensor: &Tensor) -> Result<Tensor, StorageError> {
        self.execute(Held::Borrowed(tensor), tensor.fill())
    }

    /// The list, which the route's facts are of, in the route's format; elements that it does not have are `fill`.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub(crate) fn take_list(&self, list: Coo, fill: Scalar) -> Result<Tensor, StorageError> {
        self.execute(Held::List(list), fill)
    }

    fn execute(&self, source: Held, fill: Scalar) -> Result<Tensor, StorageError> {
        let (mut held, mut rows) = (source, Rows::default());
        for leg in &self.legs {
            held = go(held, leg, fill, &mut rows).map_err(|error| self.refused(error))?;
        }
        Ok(held.into_tensor()?.filled(fill))
    }

    /// The error of a leg, told of the route's format: nobody asked for the formats on the way.
    fn refused(&self, error: StorageError) -> StorageError {
        match error {
            StorageError::NotRepresentable { above, reason, .. } => {
                StorageError::NotRepresentable { format: Box::new(self.to.clone()), above, reason }
            }
            other => other,
        }
    }
}

/// The order of the rows, if a dimension is stored by ranks.
#[derive(Default)]
struct Rows {
    /// The rank of each coordinate of the source.
    ranks: Option<Array<u64>>,
    /// The coordinate of each rank of the target.
    ranking: Option<Array<u64>>,
}

/// The entries after a leg.
fn go<'a>(held: Held<'a>, leg: &Leg, fill: Scalar, rows: &mut Rows) -> Result<Held<'a>, StorageError> {
    let tensor = match leg {
        Leg::Unrank => {
            rows.ranks = Some(ranking::ranks(held.tensor()?)?);
            return Ok(held);
        }
        Leg::Rank { window } => {
            rows.ranking = Some(ranking::sorted_rows(held.tensor()?, *window)?);
            return Ok(held);
        }
        Leg::Clear => return Ok(outside::cleared(held.tensor()?)?.map_or(held, Held::Owned)),
        Leg::List { drop } => return Ok(Held::List(coo::entries(held.tensor()?, *drop)?)),
        Leg::StoreList { format } => return Ok(Held::List(remap::to_stored(held.into_list()?, format)?)),
        Leg::Mask => match held {
            Held::List(list) => return Ok(Held::List(mask_list(list, fill)?)),
            levels => mask(levels.tensor()?, fill)?,
        },
        Leg::Spread { format } => match held {
            Held::Borrowed(tensor) => tensor.to_spread(format)?,
            other => remap::spread(other.into_tensor()?, format)?,
        },
        Leg::Restore { dims, format } => remap::restore(dims.clone(), held.into_tensor()?, format)?,
        Leg::KeepRanking { format } => {
            let ranking = rows.ranking.take().ok_or(StorageError::Astray)?;
            ranking::keep(held.into_tensor()?, &ranking, format)?
        }
        Leg::Unpack { .. } => structure::whole(held.tensor()?)?,
        Leg::Keep { format } => structure::keep(held.tensor()?, format, false)?,
        Leg::Insert { format } => insert::pack(held.into_list()?, format)?,
        Leg::PackDense { format } => dense::pack(held.into_list()?, format)?,
        Leg::Pack { format, sorting } => pack::pack(held.into_list()?, format, *sorting)?,
        Leg::Plain { .. } => held.tensor()?.to_plain()?,
        Leg::Dense { format, drop } => dense::place(held.tensor()?, format, *drop)?,
        Leg::Count { format, levels, drop } => transpose::convert(held.tensor()?, format, *levels, *drop)?,
        Leg::Columns { format } => reorder::by_columns(held.tensor()?, format)?,
        Leg::Sort { format, drop } => reorder::by_keys(held.tensor()?, format, *drop)?,
        Leg::SortStored { format, sizes, drop } => reorder::by_stored_keys(held.tensor()?, format, sizes, *drop)?,
        Leg::Place { placing, ranked } => placing.place(held.tensor()?, rows.ranking.as_deref().filter(|_| *ranked))?,
        Leg::Rows { placing } => placed::rows(held.tensor()?, placing, rows.ranks.take().as_deref())?,
        Leg::Reorder { ranked: true } => {
            ranking::in_order(held.tensor()?, rows.ranking.as_deref().ok_or(StorageError::Astray)?)?
        }
        Leg::Reorder { ranked: false } => {
            ranking::in_order(held.tensor()?, &rows.ranks.take().ok_or(StorageError::Astray)?)?
        }
    };
    Ok(Held::Owned(tensor))
}
