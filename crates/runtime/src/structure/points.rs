//! Structures at given sizes, compiled to tests of points.
//!
//! On entry: a structure, the values of its parameters, and the sizes of a tensor. Parameters become numbers, constraints that hold in the
//! whole tensor are left out, and so are pieces without an element in it. It is shown once, by the ranges of all coordinates, that no form
//! leaves 64 bits; so a test is a few multiplications and comparisons, with no check of an overflow and no memory of its own.
//!
//! ```text
//! [m, n] -> { [i, j] : 0 <= i <= j < n and i < m }    of 4 x 4    j - i >= 0
//! ```

use lacunar_formats::Structure;
use lacunar_formats::structure::order_of;
use lacunar_sets::{Affine, Coefficient, MapPiece, Piece, Set};

use super::error::StructureError;

/// The least and the largest value of a column.
pub(super) type Range = (i64, i64);

/// Affine forms over columns, none of which leaves 64 bits at any point of a box.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    width: usize,
    /// For each form the factor of each column.
    factors: Vec<i64>,
    constants: Vec<i64>,
}

impl Forms {
    /// No forms, over so many columns.
    pub fn over(width: usize) -> Forms {
        Forms { width, ..Forms::default() }
    }

    /// Adds a form; `None` if its values may not fit.
    pub fn push(&mut self, form: &Affine, ranges: &[Range]) -> Option<Range> {
        let range = range(form, ranges)?;
        self.factors.extend((0..self.width).map(|column| form.factor(column)));
        self.constants.push(form.offset());
        Some(range)
    }

    /// The number of forms.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// The factor of a column in one of them.
    fn factor(&self, place: usize, column: usize) -> i64 {
        self.factors[place * self.width + column]
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// The value of one of them. Columns that it does not use may be anything.
    #[inline(always)]
    pub fn value(&self, place: usize, columns: &[i64]) -> i64 {
        let factors = &self.factors[place * self.width..(place + 1) * self.width];
        let terms = factors.iter().zip(columns).map(|(factor, column)| factor.wrapping_mul(*column));
        terms.fold(self.constants[place], i64::wrapping_add)
    }
}

/// The least and the largest value of a form; `None` if a partial sum may leave 64 bits.
fn range(form: &Affine, ranges: &[Range]) -> Option<Range> {
    let constant = i128::from(form.offset());
    let (mut low, mut high, mut reach) = (constant, constant, constant.abs());
    for (column, factor) in form.terms() {
        let &(first, last) = ranges.get(column)?;
        let ends = [first, last].map(|end| i128::from(factor) * i128::from(end));
        low = low.checked_add(ends[0].min(ends[1]))?;
        high = high.checked_add(ends[0].max(ends[1]))?;
        reach = reach.checked_add(ends[0].abs().max(ends[1].abs()))?;
    }
    (reach <= i128::from(i64::MAX)).then_some((low as i64, high as i64))
}

/// Rounded quotients, each of a column behind those that it uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotients {
    /// The column of the first.
    first: usize,
    numerators: Forms,
    denominators: Vec<i64>,
}

impl Quotients {
    /// No quotients; the first will have the column `first`, of at most `width`.
    pub fn from(first: usize, width: usize) -> Quotients {
        Quotients { first, numerators: Forms::over(width), denominators: Vec::new() }
    }

    /// Adds one, and its range behind those of the columns before it.
    pub fn push(&mut self, numerator: &Affine, denominator: i64, ranges: &mut Vec<Range>) -> Option<()> {
        let (low, high) = self.numerators.push(numerator, ranges)?;
        self.denominators.push(denominator);
        ranges.push((low.div_euclid(denominator), high.div_euclid(denominator)));
        Some(())
    }

    /// Sets their columns from those before them.
    #[inline(always)]
    pub fn set(&self, columns: &mut [i64]) {
        for (place, denominator) in self.denominators.iter().enumerate() {
            columns[self.first + place] = self.numerators.value(place, columns).div_euclid(*denominator);
        }
    }

    /// The number of quotients.
    pub fn len(&self) -> usize {
        self.denominators.len()
    }
}

/// A piece in a box.
#[derive(Clone, Debug)]
pub(super) struct Region {
    quotients: Quotients,
    zero: Forms,
    positive: Forms,
}

/// The part of a box that lies in a piece.
pub(super) enum Left {
    Nothing,
    Region(Region),
}

impl Region {
    /// A piece without parameters, in the box whose sides are `ranges`. Ranges of its divisions are added. `None` if a number may not fit.
    pub fn of(piece: &Piece, ranges: &mut Vec<Range>) -> Option<Left> {
        let columns = piece.columns();
        let mut region = Region {
            quotients: Quotients::from(piece.outer(), columns),
            zero: Forms::over(columns),
            positive: Forms::over(columns),
        };
        for div in piece.divs() {
            region.quotients.push(&div.numerator, div.denominator, ranges)?;
        }
        for form in piece.equalities() {
            match range(form, ranges)? {
                (0, 0) => {}
                (low, high) if low > 0 || high < 0 => return Some(Left::Nothing),
                _ => drop(region.zero.push(form, ranges)?),
            }
        }
        for form in piece.inequalities() {
            match range(form, ranges)? {
                (0.., _) => {}
                (_, high) if high < 0 => return Some(Left::Nothing),
                _ => drop(region.positive.push(form, ranges)?),
            }
        }
        Some(Left::Region(region))
    }

    /// All points, in the space of a piece.
    fn everywhere(piece: &Piece) -> Region {
        let none = || Forms::over(piece.columns());
        Region { quotients: Quotients::from(piece.outer(), piece.columns()), zero: none(), positive: none() }
    }

    /// True if a point is in it. Behind the point's coordinates there is room for the quotients, which are set.
    #[inline(always)]
    pub fn contains(&self, columns: &mut [i64]) -> bool {
        self.quotients.set(columns);
        (0..self.positive.len()).all(|place| self.positive.value(place, columns) >= 0)
            && (0..self.zero.len()).all(|place| self.zero.value(place, columns) == 0)
    }
}

/// Redundant elements, with the elements that they follow from.
#[derive(Clone, Debug)]
pub(super) struct Part {
    region: Region,
    target: Forms,
    /// The coefficient of the unique element.
    pub by: Coefficient,
    /// The same without parameters.
    pub piece: MapPiece,
}

impl Part {
    /// The unique element that a point of the part follows from; its columns are those that [`Points::place`] has set.
    #[inline]
    pub fn target(&self, columns: &[i64], target: &mut [u64]) {
        for (place, slot) in target.iter_mut().enumerate() {
            *slot = self.target.value(place, columns) as u64;
        }
    }
}

/// The kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is 0.
    Outside,
    /// It has a value of its own.
    Unique,
    /// It follows from another, by this part.
    Redundant(usize),
}

/// A structure at given sizes.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// The largest coordinate of each dimension, after the least.
    pub ranges: Vec<Range>,
    unique: Vec<Region>,
    /// The redundant elements.
    pub parts: Vec<Part>,
    /// Unique elements that equal themselves times a coefficient.
    tied: Option<(Vec<Region>, Coefficient)>,
    /// The number of columns that a point and quotients take.
    pub columns: usize,
    /// True if parts are found by sorting coordinates.
    is_symmetric: bool,
}

impl Points {
    /// Compiles a structure for a tensor of these sizes, where its parameters have these values.
    ///
    /// # Errors
    /// It is of tensors of another order or of other sizes, parameters are missing, or numbers may not fit.
    pub fn new(structure: &Structure, params: &[i64], dims: &[u64]) -> Result<Points, StructureError> {
        fits(structure, params, dims)?;
        // A dimension of size 0 has no point to be tested.
        let largest = |size: &u64| i64::try_from(size.saturating_sub(1)).map(|last| (0, last));
        let ranges =
            dims.iter().map(largest).collect::<Result<Vec<Range>, _>>().map_err(|_| StructureError::TooHard)?;
        let columns: Vec<Affine> = params.iter().map(|&number| Affine::constant(number)).collect();
        let columns: Vec<Affine> = columns.into_iter().chain((0..dims.len()).map(Affine::variable)).collect();
        Points::compiled(structure, &columns, ranges).ok_or(StructureError::TooHard)
    }

    fn compiled(structure: &Structure, columns: &[Affine], ranges: Vec<Range>) -> Option<Points> {
        let onto = Piece::universe(0, ranges.len());
        let is_symmetric = structure.is_symmetric();
        let (unique, tied) = (Vec::new(), None);
        let mut points = Points { columns: ranges.len(), ranges, unique, parts: Vec::new(), tied, is_symmetric };
        points.unique = points.regions(structure.unique(), columns)?;
        if let Some((elements, coefficient)) = structure.tied() {
            points.tied = Some((points.regions(elements, columns)?, *coefficient));
        }
        for piece in structure.redundancy().pieces() {
            let (domain, target) = piece.pulled(&onto, columns)?;
            let mut ranges = points.ranges.clone();
            let tidied = domain.tidied();
            let (domain, region) = if is_symmetric {
                // The order of coordinates tells the number of the part, so that none is left out.
                let region = Region::everywhere(&domain);
                (tidied.unwrap_or(domain), region)
            } else {
                let Some(domain) = tidied else { continue };
                let Left::Region(region) = Region::of(&domain, &mut ranges)? else { continue };
                (domain, region)
            };
            let mut forms = Forms::over(domain.columns());
            for form in &target {
                forms.push(form, &ranges)?;
            }
            points.columns = points.columns.max(domain.columns());
            let by = piece.coefficient;
            points.parts.push(Part { region, target: forms, by, piece: MapPiece { domain, target, coefficient: by } });
        }
        Some(points)
    }

    /// The parts of a set's pieces that lie in the tensor.
    fn regions(&mut self, set: &Set, columns: &[Affine]) -> Option<Vec<Region>> {
        let onto = Piece::universe(0, self.ranges.len());
        let mut regions = Vec::new();
        for piece in set.pieces() {
            let Some(piece) = piece.pulled(&onto, columns)?.tidied() else { continue };
            if let Left::Region(region) = Region::of(&piece, &mut self.ranges.clone())? {
                self.columns = self.columns.max(piece.columns());
                regions.push(region);
            }
        }
        Some(regions)
    }

    /// True if unique elements may equal multiples of themselves.
    pub fn has_multiples(&self) -> bool {
        self.tied.is_some()
    }

    /// The coefficient by which a unique element is a multiple of itself, if it is known to be one.
    #[inline]
    pub fn multiple(&self, columns: &mut [i64]) -> Option<Coefficient> {
        let (regions, by) = self.tied.as_ref()?;
        regions.iter().any(|region| region.contains(columns)).then_some(*by)
    }

    /// The kind of the element whose coordinates are the first columns. The others are set.
    #[inline]
    pub fn place(&self, columns: &mut [i64]) -> Place {
        if self.is_symmetric {
            return order_of(&columns[..self.ranges.len()]).checked_sub(1).map_or(Place::Unique, Place::Redundant);
        }
        if self.unique.iter().any(|region| region.contains(columns)) {
            return Place::Unique;
        }
        match self.parts.iter().position(|part| part.region.contains(columns)) {
            Some(part) => Place::Redundant(part),
            None => Place::Outside,
        }
    }

    /// True if forms of coordinates alone tell the kind of an element, without rounded quotients.
    pub fn is_affine(&self) -> bool {
        let mut regions = self.unique.iter().chain(self.parts.iter().map(|part| &part.region));
        regions.all(|region| region.quotients.len() == 0)
    }

    /// The coordinates in a dimension, in order, from which on elements may be something else, for the others that the columns have. Only of
    /// affine ones.
    pub fn breaks(&self, columns: &mut [i64], dim: usize, breaks: &mut Vec<i64>) {
        breaks.clear();
        columns[dim] = 0;
        let mut root = |at: i64| breaks.extend([at, at + 1]);
        if self.is_symmetric {
            (0..self.ranges.len()).filter(|other| *other != dim).for_each(|other| root(columns[other]));
        }
        for region in self.unique.iter().chain(self.parts.iter().map(|part| &part.region)) {
            for forms in [&region.zero, &region.positive] {
                for place in 0..forms.len() {
                    match (forms.factor(place, dim), forms.value(place, columns)) {
                        (0, _) => {}
                        (factor @ 1.., rest) => root((-rest).div_euclid(factor)),
                        (factor, rest) => root(rest.div_euclid(-factor)),
                    }
                }
            }
        }
        breaks.sort_unstable();
    }

    /// Columns for [`Points::place`].
    pub fn scratch(&self) -> Vec<i64> {
        vec![0; self.columns]
    }
}

/// Checks that a structure is one of tensors of these sizes.
fn fits(structure: &Structure, params: &[i64], dims: &[u64]) -> Result<(), StructureError> {
    let names = &structure.space().params;
    if structure.order() != dims.len() {
        return Err(StructureError::Order { structure: structure.order(), order: dims.len() });
    }
    if names.len() != params.len() {
        return Err(StructureError::Parameters { needed: names.clone(), given: params.len() });
    }
    if let Some(dimension) = (0..dims.len()).find(|&dim| u64::try_from(params[dim]) != Ok(dims[dim])) {
        return Err(StructureError::Size { dimension, size: dims[dimension], parameter: params[dimension] });
    }
    match structure.context().contains(params, &[]) {
        Some(true) => Ok(()),
        Some(false) => {
            let space = lacunar_sets::Space::new(names.clone(), Vec::<String>::new());
            let context = lacunar_sets::Set::of_piece(space, structure.context().clone()).conditions();
            Err(StructureError::Context { context, dims: dims.to_vec() })
        }
        None => Err(StructureError::TooHard),
    }
}
