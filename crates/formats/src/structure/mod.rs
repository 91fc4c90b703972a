//! Facts about a tensor's elements that hold before any is given: the elements that are 0, and those that follow from others.
//!
//! A [`Structure`] is a set of *unique* elements, and a map of *redundant* ones, each to a unique one with a coefficient; all other
//! elements are 0 (the fill value of the tensor is 0). The size of each dimension is a parameter of both, after which others may follow.
//! So an upper triangle is a set without a map, and a symmetric matrix has both:
//!
//! ```text
//! upper       unique [m, n] -> { [i, j] : 0 <= i <= j < n and i < m }
//! symmetric   unique [m, n] -> { [i, j] : 0 <= i <= j < n }           (m = n)
//!             redundant [m, n] -> { [i, j] -> [j, i] : 0 <= j < i < n }
//! skew        unique [m, n] -> { [i, j] : 0 <= i < j < n }
//!             redundant [m, n] -> { [i, j] -> -1 * [j, i] : 0 <= j < i < n }
//! ```
//!
//! Of some unique elements it may be known besides that they equal a multiple of themselves: those on the diagonal of a Hermitian matrix
//! are real.
//!
//! Invariants: both lie in the tensor's box; no redundant element is unique; every redundant one maps to a unique one. With the unique
//! elements, mapped to themselves, the map is the *closed* map, which is idempotent: an element is its coefficient times the element that
//! it maps to. `named.rs` is the library of structures that have names.
//!
//! A structure in which all coordinates can be exchanged is known by that: its map sorts coordinates, and has a piece for each of their
//! orders, `n!` in `n` dimensions (`exchange.rs`). It is made when somebody asks for the pieces; most questions are answered without, by
//! sorting, or by the exchanges of neighboring dimensions, from which all others follow ([`Structure::relations`]).
//!
//! Paper: Ghorbani, Huot, Hashemian and Shaikhha, *Compiling Structured Tensor Algebra* (OOPSLA 2023), §4: their `T_U` and `T_R`. There
//! a coefficient is a number; here it may conjugate, so that Hermitian matrices have a structure.

mod exchange;
mod named;

use std::fmt;
use std::sync::OnceLock;

use lacunar_sets::{Affine, Answer, Coefficient, Map, MapPiece, Piece, Set, Space};

pub use exchange::order_of;
pub use named::{Named, NamedFault};

/// The structure of a tensor: its unique elements, those that follow from these, and those that are 0: all others.
///
/// ```
/// use lacunar_formats::structure::Named;
/// use lacunar_sets::Coefficient;
/// let skew = Named::find("skew").unwrap().structure(2, &[]).unwrap();
/// assert_eq!(skew.element(&[4, 4], &[2, 1]), Some(Some((vec![1, 2], Coefficient::new(-1, 1, false).unwrap()))));
/// assert_eq!(skew.element(&[4, 4], &[1, 1]), Some(None));
/// ```
#[derive(Clone, Debug)]
pub struct Structure {
    order: usize,
    context: Piece,
    unique: Set,
    /// Set from the beginning, unless all coordinates can be exchanged.
    redundancy: OnceLock<Map>,
    is_symmetric: bool,
    /// Unique elements that equal a multiple of themselves.
    tied: Option<Box<(Set, Coefficient)>>,
    /// The words by which somebody declared it, in parts between which the name of the tensor stands.
    said: Option<Box<[Box<str>]>>,
}

impl PartialEq for Structure {
    fn eq(&self, other: &Structure) -> bool {
        let (own, its) = ((self.order, &self.context, &self.unique), (other.order, &other.context, &other.unique));
        // Of two that are symmetric, the maps follow from the contexts.
        own == its && ((self.is_symmetric && other.is_symmetric) || self.redundancy() == other.redundancy())
    }
}

/// The reason why a set and a map are no structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StructureFault {
    /// They are not of one space, or it has too few parameters.
    Space,
    /// An element may be both unique and redundant.
    Both,
    /// A redundant element may map to one that is not unique.
    NotUnique,
    /// It can't be told if they are.
    Unknown,
}

impl Structure {
    /// A structure of a tensor: the parts of a set and of a map that lie in its box, where `context` holds of the parameters, of which the
    /// first are the tensor's sizes.
    ///
    /// # Errors
    /// The invariant that does not hold, or cannot be told to hold.
    ///
    /// ```
    /// use lacunar_formats::structure::{Structure, StructureFault};
    /// let unique = "[m, n] -> { [i, j] : i <= j }".parse().unwrap();
    /// let swap: lacunar_sets::Map = "[m, n] -> { [i, j] -> [j, i] : j <= i }".parse().unwrap();
    /// let square: lacunar_sets::Set = "[m, n] -> { [] : m = n }".parse().unwrap();
    /// assert_eq!(Structure::new(&unique, &swap, &square.pieces()[0]), Err(StructureFault::Both)); // the diagonal
    /// ```
    pub fn new(unique: &Set, redundancy: &Map, context: &Piece) -> Result<Structure, StructureFault> {
        let space = unique.space();
        let order = space.dims.len();
        let context_fits = context.params() == space.params.len() && context.dims() == 0;
        let fits = redundancy.space().is_like(space) && redundancy.target_dims().len() == order;
        if !fits || !context_fits || space.params.len() < order {
            return Err(StructureFault::Space);
        }
        let within = bounds(space, context).ok_or(StructureFault::Unknown)?;
        let unique = unique.intersect(&within).ok_or(StructureFault::Unknown)?.coalesced();
        let redundancy = redundancy.restricted(&within).ok_or(StructureFault::Unknown)?;
        let structure = Structure::made(context, unique, redundancy);
        structure.check()?;
        Ok(structure)
    }

    fn made(context: &Piece, unique: Set, redundancy: Map) -> Structure {
        let order = unique.space().dims.len();
        let redundancy = OnceLock::from(redundancy);
        Structure { order, context: context.clone(), unique, redundancy, is_symmetric: false, tied: None, said: None }
    }

    /// The most dimensions of a structure in which all coordinates can be exchanged: one of 7 has 5,040 orders of coordinates.
    pub const MOST_SYMMETRIC: usize = 7;

    /// The structure in which all coordinates can be exchanged. The first parameters of the space are the sizes of its dimensions; there are
    /// no others, and the sizes are equal.
    ///
    /// ```
    /// use lacunar_formats::Structure;
    /// use lacunar_sets::Space;
    /// let cube = Structure::symmetric(&Space::new(["l", "m", "n"], ["i", "j", "k"])).unwrap();
    /// assert_eq!(cube.element(&[5, 5, 5], &[4, 1, 3]).unwrap().unwrap().0, [1, 3, 4]);
    /// assert_eq!((cube.parts(), cube.redundancy().pieces().len()), (5, 5));
    /// ```
    ///
    /// # Errors
    /// The space has other parameters or too many dimensions, or numbers do not fit.
    pub fn symmetric(space: &Space) -> Result<Structure, StructureFault> {
        let order = space.dims.len();
        if space.params.len() != order || order > Structure::MOST_SYMMETRIC {
            return Err(StructureFault::Space);
        }
        let (context, unique) = exchange::sorted(space).ok_or(StructureFault::Unknown)?;
        Ok(Structure {
            order,
            context,
            unique,
            redundancy: OnceLock::new(),
            is_symmetric: true,
            tied: None,
            said: None,
        })
    }

    fn check(&self) -> Result<(), StructureFault> {
        let both = self.redundancy().domain().intersect(&self.unique).ok_or(StructureFault::Unknown)?.is_empty();
        let all_unique = self.redundancy().leads_to(&self.unique);
        match (both, all_unique) {
            (Answer::No, _) => Err(StructureFault::Both),
            (_, Answer::No) => Err(StructureFault::NotUnique),
            (Answer::Yes, Answer::Yes) => Ok(()),
            _ => Err(StructureFault::Unknown),
        }
    }

    /// The structure of a tensor from its support and its closed map, whose domain is the support: an element that maps to itself is
    /// unique, and so is one without a target in the support. `None` if that can't be told.
    pub fn from_closed(support: &Set, closed: &Map, context: &Piece) -> Option<Structure> {
        let mut redundancy = closed.restricted(&closed.domain().subtract(&closed.fixed()?)?)?;
        redundancy = redundancy.restricted(support)?;
        let unique = support.subtract(&redundancy.domain())?.coalesced();
        Some(Structure::made(context, unique, redundancy))
    }

    /// The structure with unique elements that equal themselves times a coefficient: those on the diagonal of a Hermitian matrix equal
    /// their conjugates. Data are compared with this; what is inferred of results does not say it.
    pub fn with_tied(self, elements: Set, coefficient: Coefficient) -> Structure {
        Structure { tied: Some(Box::new((elements, coefficient))), ..self }
    }

    /// Unique elements that equal themselves times a coefficient, if there are such.
    ///
    /// ```
    /// use lacunar_formats::structure::Named;
    /// let hermitian = Named::find("hermitian").unwrap().structure(2, &[]).unwrap();
    /// let (elements, coefficient) = hermitian.tied().unwrap();
    /// assert_eq!(elements.contains(&[4, 4], &[2, 2]), Some(true));
    /// assert!(coefficient.conjugate);
    /// ```
    pub fn tied(&self) -> Option<&(Set, Coefficient)> {
        self.tied.as_deref()
    }

    /// The structure with the words by which somebody declared it, of a tensor of that name.
    pub fn declared(self, words: &str, name: &str) -> Structure {
        // Rules have the name before indices; the names of structures have arguments behind them, too.
        let is_rule = words.starts_with('(');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (mut said, mut begin): (Vec<Box<str>>, usize) = (Vec::new(), 0);
        for (at, _) in words.match_indices(name).filter(|_| is_rule) {
            let behind = at + name.len();
            if !words[..at].ends_with(is_word) && words[behind..].trim_start().starts_with('(') {
                said.push(words[begin..at].into());
                begin = behind;
            }
        }
        said.push(words[begin..].into());
        Structure { said: Some(said.into()), ..self }
    }

    /// The words by which somebody declared it, as they are of a tensor of that name.
    ///
    /// ```
    /// use lacunar_formats::structure::Named;
    /// let symmetric = Named::find("symmetric").unwrap().structure(2, &[]).unwrap();
    /// let declared = symmetric.declared("(i,j): A(j,i) = A(i,j)", "A");
    /// assert_eq!(declared.said("AA").unwrap(), "(i,j): AA(j,i) = AA(i,j)");
    /// ```
    pub fn said(&self, name: &str) -> Option<String> {
        self.said.as_ref().map(|parts| parts.join(name))
    }

    /// A structure without redundant elements.
    ///
    /// # Errors
    /// See [`Structure::new`].
    pub fn of_support(support: &Set, context: &Piece) -> Result<Structure, StructureFault> {
        let none = Map::empty(support.space().clone(), support.space().dims.clone());
        Structure::new(support, &none, context)
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The names of parameters, of which the first are sizes, and of dimensions.
    pub fn space(&self) -> &Space {
        self.unique.space()
    }

    /// The conditions of the parameters: that a matrix is square, for example.
    pub fn context(&self) -> &Piece {
        &self.context
    }

    /// The unique elements: those that have to be stored.
    pub fn unique(&self) -> &Set {
        &self.unique
    }

    /// The redundant elements, each with the unique one that it follows from.
    pub fn redundancy(&self) -> &Map {
        self.redundancy.get_or_init(|| exchange::sorting(self.space(), &self.context))
    }

    /// The number of pieces of the map of redundant elements.
    pub fn parts(&self) -> usize {
        if self.is_symmetric { (1..=self.order).product::<usize>() - 1 } else { self.redundancy().pieces().len() }
    }

    /// True if all coordinates can be exchanged, and it is known by that.
    pub fn is_symmetric(&self) -> bool {
        self.is_symmetric
    }

    /// Maps of which a tensor has the structure, if the elements outside of its support are 0: each element is its coefficient times the
    /// one that it is mapped to. Of a symmetric one, they are the exchanges of neighboring dimensions; of others, the map of redundant
    /// elements. `None` if numbers do not fit.
    pub fn relations(&self) -> Option<Vec<Map>> {
        if self.is_symmetric {
            exchange::neighbors(self.space(), &self.context)
        } else {
            Some(vec![self.redundancy().clone()])
        }
    }

    /// The coefficients by which elements follow from others, perhaps several times.
    pub fn coefficients(&self) -> Vec<Coefficient> {
        if self.is_symmetric {
            return vec![Coefficient::ONE];
        }
        self.redundancy().pieces().iter().map(|piece| piece.coefficient).collect()
    }

    /// True if no element is redundant.
    pub fn is_without_redundancy(&self) -> bool {
        !self.is_symmetric && self.redundancy().pieces().is_empty()
    }

    /// All elements that may be other than 0. `None` if there are too many pieces.
    pub fn support(&self) -> Option<Set> {
        if self.is_symmetric {
            return bounds(self.space(), &self.context);
        }
        self.unique.union(&self.redundancy().domain())
    }

    /// Each element of the support with the unique one that it follows from, which may be itself. `None` if there are too many pieces.
    pub fn closed(&self) -> Option<Map> {
        let mut closed = Map::identity(&self.unique)?;
        for piece in self.redundancy().pieces() {
            closed.add_apart(piece.clone())?;
        }
        Some(closed)
    }

    /// The unique element that an element follows from, with its coefficient; `Some(None)` if it is 0. `None` if a number does not fit.
    pub fn element(&self, params: &[i64], point: &[i64]) -> Option<Option<lacunar_sets::Target>> {
        if self.unique.contains(params, point)? {
            return Some(Some((point.to_vec(), Coefficient::ONE)));
        }
        if self.is_symmetric {
            let is_inside = self.context.contains(params, &[])? && exchange::is_inside(params, point);
            return Some(is_inside.then(|| (exchange::ascending(point), Coefficient::ONE)));
        }
        self.redundancy().at(params, point)
    }

    /// The structure with numbers in the places of its last parameters, so many as there are numbers. `None` if one does not fit, or if it
    /// can't be told which elements they leave.
    ///
    /// ```
    /// use lacunar_formats::Structure;
    /// let support = "[m, n, w] -> { [i, j] : i - j <= w }".parse().unwrap();
    /// let band = Structure::of_support(&support, &lacunar_sets::Piece::universe(3, 0)).unwrap().with_parameters(&[2]).unwrap();
    /// assert_eq!(band.unique().contains(&[9, 9], &[5, 3]), Some(true));
    /// assert_eq!(band.unique().contains(&[9, 9], &[5, 2]), Some(false));
    /// ```
    pub fn with_parameters(&self, numbers: &[i64]) -> Option<Structure> {
        if numbers.is_empty() {
            return Some(self.clone());
        }
        let all = self.space().params.len();
        let kept = all.checked_sub(numbers.len())?;
        let space = Space { params: self.space().params[..kept].to_vec(), dims: self.space().dims.clone() };
        let params = (0..kept).map(Affine::variable).chain(numbers.iter().map(|number| Affine::constant(*number)));
        let context = self.context.pulled(&Piece::universe(kept, 0), &params.clone().collect::<Vec<_>>())?;
        let columns: Vec<Affine> = params.chain((0..self.order).map(|dim| Affine::variable(kept + dim))).collect();
        let unique = self.unique.preimage(space.clone(), &columns)?;
        let mut redundancy = Map::empty(space.clone(), space.dims.clone());
        for piece in self.redundancy().pieces() {
            let (domain, target) = piece.pulled(&space.universe(), &columns)?;
            redundancy.add(MapPiece { domain, target, coefficient: piece.coefficient })?;
        }
        Structure::new(&unique, &redundancy, &context).ok()
    }

    /// Tells if two structures have the same unique elements and the same map.
    pub fn equals(&self, other: &Structure) -> Answer {
        if self.order != other.order {
            return Answer::No;
        }
        if self.is_symmetric && other.is_symmetric && self.context == other.context {
            return Answer::Yes;
        }
        self.unique.equals(&other.unique).and(self.redundancy().equals(other.redundancy()))
    }
}

/// The box of a tensor whose sizes are the first parameters, as far as a condition on parameters holds.
pub fn bounds(space: &Space, context: &Piece) -> Option<Set> {
    let params: Vec<Affine> = (0..space.params.len()).map(Affine::variable).collect();
    let mut within = context.pulled(&space.universe(), &params)?;
    for dim in 0..space.dims.len() {
        let at = Affine::variable(within.column(dim));
        within.at_least(Affine::variable(dim).minus(&at)?.shifted(-1)?);
        within.at_least(at);
    }
    Some(Set::of_piece(space.clone(), within))
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unique {}", self.unique.simplified())?;
        if !self.is_without_redundancy() {
            write!(f, "\nredundant {}", self.redundancy())?;
        }
        Ok(())
    }
}
