//! Conversions as data: the legs from one way of storing a tensor to another are decided first, then carried out.
//!
//! [`decide`] is pure. It knows the [`Facts`] of the source (sizes, format, how many entries at most) and the format
//! that is wanted, and answers with a list of [`Leg`]s. [`execute`] carries out one leg after the other. No leg decides
//! on another: a leg is a function of this crate that calls no conversion. [`print`] prints a route.
//!
//! ```text
//! csr (i, j) to csc (j, i):        Count             rows and values go straight to where the result has them
//! (i, j, k) to (k, j, i):          Sort              by keys of k and j; i is in order under each pair
//! csr to coo, to dcsr:             Columns           no sort
//! list to bcsr(2,2):               Pack, Place       by rows, then every value to its place in its block
//! csr to sell(2,4):                Rank, Place, KeepRanking
//! dia to hashed rows:              Count, Spread     by rows, then into slots of hash tables
//! ```
//!
//! Sizes in facts are exact for the source. After a leg they are bounds: zeros of padding are left out on the way, and
//! coordinates that repeat are added up. Widths of index arrays are therefore chosen as legs are carried out.
//!
//! Zeros with which levels of the source filled up (all bytes zero) are left out, unless the target is dense throughout. Zeros that a
//! compressed format stores are entries, and stay. A tensor with another fill value than 0 is masked on the way ([`crate::fill`]).
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020).

mod decide;
mod execute;
mod print;

use lacunar_formats::{DType, Format, LevelKind, Scalar};

use crate::coo::{Coo, Coordinates};
use crate::error::StorageError;
use crate::fill::{fill_of, filled_scalar};
use crate::fits::{check_type, widen};
use crate::placed::Placing;
use crate::tensor::Tensor;

/// The facts that are known of a tensor before it is converted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// The size of each dimension; for the coordinates that a map stores, the sizes of the stored dimensions.
    pub dims: Vec<u64>,
    pub dtype: DType,
    pub stored: Stored,
    /// The number of stored values, at most.
    pub entries: u64,
    /// The number of bytes that it takes, about.
    pub bytes: u64,
    /// True if the fill value is other than 0.
    pub filled: bool,
    /// True if stored zeros are padding.
    pub padded: bool,
}

/// The storage of entries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    /// As a coordinate list, in any order, with repeats.
    List,
    /// As levels.
    Levels(Format),
}

impl Facts {
    /// The facts of a tensor.
    pub fn of(tensor: &Tensor) -> Facts {
        Facts {
            dims: tensor.dims().to_vec(),
            dtype: tensor.dtype(),
            stored: Stored::Levels(tensor.format().clone()),
            entries: tensor.nnz(),
            bytes: tensor.bytes(),
            filled: !tensor.fill().is_zero(),
            padded: tensor.format().is_padded(),
        }
    }

    /// The facts of a list; elements that it does not have are `fill`.
    pub fn of_list(list: &Coo, fill: Scalar) -> Facts {
        let of_width = |column: &Coordinates| match column {
            Coordinates::U32(v) => size_of_val(v.as_slice()) as u64,
            Coordinates::U64(v) => size_of_val(v.as_slice()) as u64,
        };
        let (entries, dtype) = (list.len() as u64, list.values.dtype());
        Facts {
            dims: list.dims.clone(),
            dtype,
            stored: Stored::List,
            entries,
            bytes: list.coords.iter().map(of_width).sum::<u64>() + entries * dtype.size() as u64,
            filled: !fill.is_zero(),
            padded: false,
        }
    }

    /// The format, if the entries are stored as levels.
    pub fn format(&self) -> Option<&Format> {
        match &self.stored {
            Stored::List => None,
            Stored::Levels(format) => Some(format),
        }
    }

    /// True if the entries are stored in a format, and only its own levels are padded.
    fn is(&self, format: &Format) -> bool {
        let wide = widen(format, &self.dims, self.entries);
        self.format() == Some(&wide) && self.padded == wide.is_padded()
    }

    /// The same entries in a format.
    fn store(&mut self, format: &Format) {
        let format = widen(format, &self.dims, self.entries);
        self.padded = format.is_padded();
        self.bytes = bytes_of(&format, self);
        self.stored = Stored::Levels(format);
    }

    /// The same entries as a list; zeros that fill up are no entries.
    fn list(&mut self) {
        let width = |size: &u64| if *size <= 1 << 32 { 4 } else { 8 };
        let each = self.dims.iter().map(width).sum::<u64>() + self.dtype.size() as u64;
        self.bytes = self.entries.saturating_mul(each);
        self.stored = Stored::List;
        self.padded = false;
    }
}

/// About how many bytes entries take in a format, each with a position of its own where levels are not dense.
fn bytes_of(format: &Format, facts: &Facts) -> u64 {
    let (mut positions, mut bytes) = (1u64, 0u64);
    for (level, stored) in format.levels().iter().enumerate() {
        let size = format.mode_order().get(level).and_then(|mode| facts.dims.get(*mode)).copied();
        if stored.kind == LevelKind::DENSE {
            positions = positions.saturating_mul(size.filter(|_| format.map().is_none()).unwrap_or(1));
            continue;
        }
        let (edge, coordinate) =
            (u64::from(format.positions(level).bits() / 8), u64::from(format.coordinates(level).bits() / 8));
        if stored.kind != LevelKind::SINGLETON {
            bytes = bytes.saturating_add(positions.saturating_add(1).saturating_mul(edge));
        }
        positions = facts.entries;
        bytes = bytes.saturating_add(positions.saturating_mul(coordinate));
    }
    bytes.saturating_add(positions.saturating_mul(facts.dtype.size() as u64))
}

/// One leg of a route. `drop` says that zeros only fill up, and are left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Leg {
    /// Combines each value with the fill value by exclusive or, which turns one into the other's zero and back.
    Mask,
    /// Puts compressed levels in the place of those that are not plain ([`crate::spread`]).
    Plain { format: Format },
    /// Clears the values outside of the dimensions ([`crate::outside`]).
    Clear,
    /// Lists the entries.
    List { drop: bool },
    /// Puts every value at its place among all ([`crate::dense`]).
    Dense { format: Format, drop: bool },
    /// Sorts by the outermost levels, so many, by counting ([`crate::transpose`]).
    Count { format: Format, levels: usize, drop: bool },
    /// Makes levels of columns of coordinates, which are in order.
    Columns { format: Format },
    /// Sorts keys of coordinates ([`crate::reorder`]).
    Sort { format: Format, drop: bool },
    /// Sorts keys of the coordinates that a format with a map stores; the result has the stored dimensions, of these sizes.
    SortStored { format: Format, sizes: Vec<u64>, drop: bool },
    /// Makes a tensor of these dimensions of one of the stored ones ([`crate::remap`]).
    Restore { dims: Vec<u64>, format: Format },
    /// Makes levels of any kind of plain ones ([`crate::spread`]).
    Spread { format: Format },
    /// Puts every entry straight to its place, by attribute queries; the rows in the order of the ranking, if `ranked` ([`crate::placed`]).
    Place { placing: Placing, ranked: bool },
    /// Takes rows out of slots ([`crate::placed`]), each from where its rank is, if there are ranks.
    Rows { placing: Placing },
    /// Finds the rank of each coordinate of a dimension that is stored by ranks ([`crate::ranking`]).
    Unrank,
    /// Sorts rows by their numbers of entries, in windows: finds the ranking, which is the coordinate of each rank.
    Rank { window: u32 },
    /// Puts rows into the order of the ranking, if `ranked`; back into their own, otherwise.
    Reorder { ranked: bool },
    /// Keeps the ranking beside rows that are in its order.
    KeepRanking { format: Format },
    /// Lists the coordinates that a format with a map stores.
    StoreList { format: Format },
    /// Puts the entries of a list into a level that takes them in any order ([`crate::insert`]).
    Insert { format: Format },
    /// Puts the elements that follow from those of a packed tensor beside them ([`crate::structure`]).
    Unpack { format: Format },
    /// Compares all elements with the structure of a packed format, and keeps those that are unique ([`crate::structure`]).
    Keep { format: Format },
    /// Adds every value of a list at its place among all ([`crate::dense`]).
    PackDense { format: Format },
    /// Sorts a list, unless it is sorted, and adds up repeated coordinates ([`crate::pack`]).
    Pack { format: Format, sorting: Sorting },
}

/// The way to sort a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sorting {
    /// By counting all levels but the innermost, so many ([`crate::pack_counted`]).
    Count { levels: usize },
    /// By keys of at most so many bits.
    Keys { bits: u32 },
    /// By one column after the other.
    Columns,
}

/// The steps that bring a tensor or a list into a format.
///
/// ```
/// use lacunar_formats::Format;
/// use lacunar_runtime::{Buffer, Tensor};
/// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]);
/// let rows = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
/// let route = rows.route(&Format::csc()).unwrap();
/// assert_eq!(route.len(), 1);
/// println!("{route}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    from: Facts,
    to: Format,
    legs: Vec<Leg>,
}

impl Route {
    /// The route from facts to a format of the tensor's order.
    ///
    /// # Errors
    /// The format cannot store the elements, or its sizes do not fit into 64 bits.
    pub(crate) fn new(from: Facts, to: &Format) -> Result<Route, StorageError> {
        let order = from.dims.len();
        if to.order() != order {
            return Err(StorageError::Order { format: to.clone(), levels: to.order(), order });
        }
        check_type(from.dtype, to)?;
        let sizes = to.map().map_or(Some(Vec::new()), |map| map.stored_dims(&from.dims));
        sizes.ok_or_else(|| StorageError::overflow("the number of diagonals"))?;
        let legs = decide::legs(from.clone(), to)?;
        Ok(Route { from, to: to.clone(), legs })
    }

    /// The route by which [`Tensor::from_coo`] brings a list into a format.
    ///
    /// # Errors
    /// The list contradicts itself, or the format has another order, or cannot store the elements.
    pub fn of_list(list: &Coo, format: &Format) -> Result<Route, StorageError> {
        list.check(format)?;
        Route::new(Facts::of_list(list, Scalar::zero(list.values.dtype())), format)
    }

    /// The number of legs; 0, if nothing is to be done.
    pub fn len(&self) -> usize {
        self.legs.len()
    }

    /// True if nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.legs.is_empty()
    }
}

impl Tensor {
    /// The route by which [`Tensor::convert`] comes to a format.
    ///
    /// # Errors
    /// The format has another order, or cannot store the elements.
    pub fn route(&self, format: &Format) -> Result<Route, StorageError> {
        Route::new(Facts::of(self), format)
    }

    /// The same tensor in another format.
    ///
    /// # Errors
    /// The format has another order, cannot hold the entries, or memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]);
    /// let rows = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
    /// let columns = rows.convert(&Format::csc()).unwrap();
    /// assert_eq!(columns.values().as_slice::<f64>(), Some(&[1.0, 3.0, 2.0][..]));
    /// ```
    pub fn convert(&self, format: &Format) -> Result<Tensor, StorageError> {
        Ok(self.route(format)?.take_tensor(self)?.checked_if_debug())
    }

    /// Packs a coordinate list: sorts it, adds up values of equal coordinates, and builds the levels.
    ///
    /// Index arrays are wider than the format says where dimensions or the number of entries need it.
    ///
    /// # Errors
    /// The list contradicts itself, does not fit the format, or memory is refused.
    pub fn from_coo(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
        let fill = Scalar::zero(coo.values.dtype());
        Tensor::from_coo_filled(coo, format, fill)
    }

    /// Packs like [`Tensor::from_coo`], for elements that are `fill` if the list does not have them.
    ///
    /// # Errors
    /// The errors of `from_coo`; the fill value is of another type than the elements, or not 0 in a packed format.
    pub fn from_coo_filled(coo: Coo, format: &Format, fill: Scalar) -> Result<Tensor, StorageError> {
        coo.check(format)?;
        let fill = fill_of(fill, coo.values.dtype(), format)?;
        if coo.dims.is_empty() && coo.is_empty() {
            return filled_scalar(fill);
        }
        Ok(Route::new(Facts::of_list(&coo, fill), format)?.take_list(coo, fill)?.checked_if_debug())
    }
}
