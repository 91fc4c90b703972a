//! Packed storage: a tensor with a structure is stored by its unique elements alone, level by level in intervals of coordinates.
//!
//! ```text
//! packed(symmetric)      1 2 3       unique elements, row by row:     1 2 3 | 5 6 | 9
//!                        2 5 6       row i has the columns            i .. n
//!                        3 6 9
//! packed(banded(1,0))    1 . .       row i has the columns            i - 1 .. i + 1
//!                        4 5 .
//!                        . 7 8
//! ```
//!
//! Every structure can be packed whose unique elements have, under each coordinate of the levels above, an interval of coordinates: that is
//! asked of its set, for all sizes at once. The outermost level is dense, and all others are banded ones, whose arrays follow from the sizes
//! of the tensor ([`Packing::intervals`]). A tensor in such a format is the whole one; what is not stored is 0 or follows from what is.
//!
//! On entry: the name of a structure. On exit: a [`Packing`], which stays until the program ends, as level kinds do, so that it can be copied.
//!
//! Papers: Ghorbani et al., *Compiling Structured Tensor Algebra* (OOPSLA 2023), §4.2 (compressed tensors); Anderson et al., *LAPACK
//! Users' Guide*, §5.3.2 (packed storage), §5.3.3 (band storage).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock};

use lacunar_sets::{Affine, Answer, Bound, Count, Level, MapPiece, Nest, Piece, Relation, Set, Space};

use crate::stretch::{Stretch, stretch};
use crate::structure::{Named, NamedFault, Structure, bounds};

/// The storage of a structure's unique elements: a dense level, and banded ones under it.
///
/// ```
/// use lacunar_formats::Packing;
/// let lower = Packing::parse("lower", 2).unwrap();
/// let mut rows = Vec::new();
/// lower.intervals(&[3, 3], &mut |level, interval| rows.push((level, interval))).unwrap();
/// assert_eq!(rows, [(1, 0..1), (1, 0..2), (1, 0..3)]);
/// assert!(Packing::parse("chess", 2).is_err());
/// ```
#[derive(Clone, Copy)]
pub struct Packing(&'static Packed);

/// The facts about a packing.
struct Packed {
    named: &'static Named,
    arguments: Vec<i64>,
    /// The dimension that each level stores.
    modes: Vec<usize>,
    structure: Structure,
    /// Loops over the unique elements in the order of the levels, for each piece of them.
    nests: Vec<Nest>,
    /// The number of positions of each level, if that is a polynomial of the sizes.
    counts: Vec<Option<Count>>,
    /// For each level its runs, if they are alike.
    runs: Vec<Option<Runs>>,
    /// Neighboring rows that are alike.
    stretch: Option<Stretch>,
    /// For each level the coordinate that all others follow from, if every element follows from one that has these coordinates.
    sources: Option<Vec<Option<i64>>>,
    /// True if no element is 0 by its place.
    is_full: bool,
}

/// The runs of a level that have all the same length, so that positions can be computed from those of parents.
///
/// ```text
/// diagonal       row i has the column i            position = i
/// fixed(1,3)     row i of a plane: (i, 3)          position = i;     below it, n positions for each
/// fixed(0,3)     the rows of plane 3 alone         position = (i - 3) * n + j
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The position of the first parent with coordinates.
    pub parent: i64,
    /// The number of coordinates that each parent has from there on; `None` for all of the dimension, which begin at 0.
    pub length: Option<i64>,
    /// The first coordinate, if it is the same for all parents or there is one for each.
    pub first: i64,
}

/// The reason why a structure cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackingFault {
    /// There is no structure of this name.
    Unknown(String),
    /// Arguments that are no whole numbers.
    Text(String),
    /// The structure is not one of tensors of this order, or takes other arguments.
    Structure(NamedFault),
    /// A tensor of this order has no level under another one.
    Order(usize),
    /// The unique elements are no interval of this dimension, under the coordinates of those before it.
    Gaps(usize),
    /// It can't be told if they are.
    TooHard,
}

impl fmt::Display for PackingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackingFault::Unknown(name) => write!(f, "`{name}` is not a structure"),
            PackingFault::Text(text) => write!(f, "`{text}` is not a structure with whole numbers for arguments"),
            PackingFault::Structure(NamedFault::Order(of)) => write!(f, "it is a structure of {of}"),
            PackingFault::Structure(NamedFault::Arguments) => f.write_str("it takes other arguments"),
            PackingFault::Structure(NamedFault::Structure(_) | NamedFault::Text(_)) => {
                f.write_str("it is no structure of tensors of this order")
            }
            PackingFault::Order(order) => {
                write!(f, "rows that are cut short take two dimensions, and the tensor has {order}")
            }
            PackingFault::Gaps(dimension) => {
                write!(
                    f,
                    "its unique elements are not neighbors along dimension {dimension}, so that storage would have gaps"
                )
            }
            PackingFault::TooHard => f.write_str("it can't be told which elements are neighbors"),
        }
    }
}

/// The packings that are in use.
static KNOWN: RwLock<Vec<&'static Packed>> = RwLock::new(Vec::new());

impl Packing {
    /// The packing of the structure that a text names, of tensors of an order.
    ///
    /// # Errors
    /// There is no such structure, or its unique elements are no intervals.
    pub fn parse(text: &str, order: usize) -> Result<Packing, PackingFault> {
        let (named, arguments) = read(text)?;
        Packing::of(named, &arguments, &(0..order).collect::<Vec<_>>())
    }

    /// The packing of a structure by levels that store these dimensions.
    ///
    /// # Errors
    /// The unique elements are no intervals in this order of the dimensions.
    pub(crate) fn of(named: &'static Named, arguments: &[i64], modes: &[usize]) -> Result<Packing, PackingFault> {
        let is_same = |packed: &&&'static Packed| {
            packed.named.name == named.name && packed.arguments == arguments && packed.modes == modes
        };
        // A panic leaves no change behind: the last step of every change is to add the packing.
        if let Some(known) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).iter().find(is_same) {
            return Ok(Packing(known));
        }
        let structure = named.structure(modes.len(), arguments).map_err(PackingFault::Structure)?;
        if modes.len() < 2 {
            return Err(PackingFault::Order(modes.len()));
        }
        let unique = in_order(&structure, modes).ok_or(PackingFault::TooHard)?;
        let counts = check_intervals(&unique, structure.context(), modes)?;
        let nests = unique.pieces().iter().map(|piece| piece.nest(structure.context())).collect::<Option<_>>();
        let nests = nests.ok_or(PackingFault::TooHard)?;
        let nests: Vec<Nest> = nests;
        let runs = runs(&nests, modes);
        let stretch = stretch(&nests, structure.context(), modes.len());
        let is_full = is_full(&structure);
        let sources = sources(&structure, modes).filter(|_| is_full);
        let (arguments, modes) = (arguments.to_vec(), modes.to_vec());
        let packed = Packed { named, arguments, modes, structure, nests, counts, runs, stretch, sources, is_full };
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(is_same) {
            return Ok(Packing(same));
        }
        let packed: &'static Packed = Box::leak(Box::new(packed));
        known.push(packed);
        Ok(Packing(packed))
    }

    /// The packing of the same structure by levels that store other dimensions.
    ///
    /// # Errors
    /// The unique elements are no intervals in this order of the dimensions.
    pub(crate) fn with_modes(self, modes: &[usize]) -> Result<Packing, PackingFault> {
        Packing::of(self.0.named, &self.0.arguments, modes)
    }

    /// The structure: what is stored, and what follows from it.
    pub fn structure(self) -> &'static Structure {
        &self.0.structure
    }

    /// True if every element of a tensor is stored, or follows from one that is.
    ///
    /// ```
    /// use lacunar_formats::Packing;
    /// assert_eq!(["symmetric", "lower"].map(|name| Packing::parse(name, 2).unwrap().is_full()), [true, false]);
    /// ```
    pub fn is_full(self) -> bool {
        self.0.is_full
    }

    /// The number of elements that a tensor of these sizes stores, if a formula tells.
    ///
    /// ```
    /// use lacunar_formats::Packing;
    /// assert_eq!(Packing::parse("symmetric", 3).unwrap().count(&[100, 100, 100]), Some(171_700));
    /// ```
    pub fn count(self, dims: &[u64]) -> Option<u64> {
        self.positions(dims, self.0.modes.len() - 1)
    }

    /// The number of positions of a level, likewise.
    ///
    /// ```
    /// use lacunar_formats::Packing;
    /// let plane = Packing::parse("fixed(1,3)", 3).unwrap();
    /// assert_eq!([0, 1, 2].map(|level| plane.positions(&[10, 10, 10], level)), [Some(10), Some(10), Some(100)]);
    /// ```
    pub fn positions(self, dims: &[u64], level: usize) -> Option<u64> {
        if level == 0 {
            return dims.get(*self.0.modes.first()?).copied();
        }
        let params: Vec<i64> = dims.iter().map(|size| i64::try_from(*size).ok()).collect::<Option<_>>()?;
        u64::try_from(self.0.counts.get(level)?.as_ref()?.at(&params)?).ok()
    }

    /// The runs of a level under the outermost one, if they are alike: of coordinates that are stored, positions need no arrays then.
    ///
    /// ```
    /// use lacunar_formats::Packing;
    /// assert_eq!(Packing::parse("diagonal", 2).unwrap().runs(1).unwrap().length, Some(1));
    /// assert!(Packing::parse("symmetric", 2).unwrap().runs(1).is_none());
    /// ```
    pub fn runs(self, level: usize) -> Option<Runs> {
        self.0.runs.get(level).copied().flatten()
    }

    /// For each level the coordinate that elements at all others follow from, if that says where the value of every element is: one that has
    /// these coordinates, and its own in the other levels.
    ///
    /// ```
    /// use lacunar_formats::Packing;
    /// let of = |name: &str| Packing::parse(name, 2).unwrap().sources().map(<[_]>::to_vec);
    /// assert_eq!(of("identical_rows"), Some(vec![Some(0), None]));
    /// assert_eq!((of("constant"), of("symmetric")), (Some(vec![Some(0), Some(0)]), None));
    /// ```
    pub fn sources(self) -> Option<&'static [Option<i64>]> {
        self.0.sources.as_deref()
    }

    /// Neighboring rows of which each has as many coordinates, if that can be told for all sizes.
    pub fn stretch(self) -> Option<&'static Stretch> {
        self.0.stretch.as_ref()
    }

    /// The intervals of coordinates that are stored in a tensor of these sizes, for each level under the outermost one: the number of the
    /// level, and the interval under each parent in its order. `None` if the structure is not one of tensors of these sizes, or a number does
    /// not fit.
    pub fn intervals(self, dims: &[u64], each: &mut dyn FnMut(usize, std::ops::Range<u64>)) -> Option<()> {
        let params: Vec<i64> = dims.iter().map(|size| i64::try_from(*size).ok()).collect::<Option<_>>()?;
        if params.len() != self.0.modes.len() || self.0.structure.context().contains(&params, &[]) != Some(true) {
            return None;
        }
        let mut alive = Vec::new();
        for (number, nest) in self.0.nests.iter().enumerate() {
            if nest.condition.contains(&params, &[])? {
                alive.push(number);
            }
        }
        let rows = params[*self.0.modes.first()?];
        let mut walk = Walk { packed: self.0, columns: params, each };
        for row in 0..rows {
            walk.under(1, row, &alive)?;
        }
        Some(())
    }
}

/// True if the elements that are stored, and those that follow, are all there are.
fn is_full(structure: &Structure) -> bool {
    let outside = || bounds(structure.space(), structure.context())?.subtract(&structure.support()?);
    structure.is_symmetric() || outside().is_some_and(|outside| outside.is_empty().is_yes())
}

/// For each level the coordinate that all others follow from, if redundant elements differ from their unique ones in nothing else, and unique
/// ones have it.
fn sources(structure: &Structure, modes: &[usize]) -> Option<Vec<Option<i64>>> {
    if structure.is_symmetric() {
        return None;
    }
    let space = structure.space();
    let sizes = space.params.len();
    let (first, others) = structure.redundancy().pieces().split_first()?;
    let is_same = |piece: &MapPiece| piece.target == first.target && piece.coefficient.is_one();
    if !is_same(first) || !others.iter().all(is_same) {
        return None;
    }
    let mut seen = space.universe();
    let mut found = vec![None; modes.len()];
    for (dim, form) in first.target.iter().enumerate() {
        let own = Affine::variable(sizes + dim);
        if form.is_constant() {
            let level = modes.iter().position(|mode| *mode == dim)?;
            found[level] = Some(form.offset());
            seen.equal(own.shifted(-form.offset())?);
        } else if *form != own {
            return None;
        }
    }
    structure.unique().is_subset(&Set::of_piece(space.clone(), seen)).is_yes().then_some(found)
}

/// The runs of each level, as far as they are alike.
fn runs(nests: &[Nest], modes: &[usize]) -> Vec<Option<Runs>> {
    let mut found = vec![None; modes.len()];
    let ([Nest { levels, .. }], sizes) = (nests, modes.len()) else { return found };
    // The first coordinate of the outermost level with something below it, whose positions are its coordinates.
    let is_plain = |level: &&Level| level.divs.is_empty() && level.strides.is_empty() && level.guards.is_empty();
    let outermost = levels.first().filter(is_plain).and_then(|level| end(&level.lower, sizes));
    let Some(End::Number(mut parent)) = outermost else { return found };
    for (number, level) in levels.iter().enumerate().skip(1) {
        let ends = (end(&level.lower, sizes), end(&level.upper, sizes));
        let own = match ends {
            (Some(End::Number(0)), Some(End::Last(mode))) if mode == modes[number] => {
                Runs { parent, length: None, first: 0 }
            }
            (Some(End::Number(low)), Some(End::Number(high))) if low <= high => {
                Runs { parent, length: Some(high - low + 1), first: low }
            }
            (Some(End::Beside(low)), Some(End::Beside(high))) if low == high => {
                Runs { parent, length: Some(1), first: 0 }
            }
            _ => return found,
        };
        if !is_plain(&level) {
            return found;
        }
        found[number] = Some(own);
        // Positions below are those of what is stored alone.
        parent = 0;
    }
    found
}

/// A bound of a run.
#[derive(PartialEq, Eq)]
enum End {
    Number(i64),
    /// The last coordinate of the dimension.
    Last(usize),
    /// A coordinate above, and a number.
    Beside((usize, i64)),
}

/// The one bound that there is, if it is of these kinds; columns are the sizes of dimensions, then coordinates.
fn end(bounds: &[Bound], sizes: usize) -> Option<End> {
    let [Bound { form, denominator: 1 }] = bounds else { return None };
    let terms: Vec<(usize, i64)> = form.terms().collect();
    match (terms.as_slice(), form.offset()) {
        ([], number) => Some(End::Number(number)),
        ([(size, 1)], -1) if *size < sizes => Some(End::Last(*size)),
        ([(column, 1)], by) if *column >= sizes => Some(End::Beside((column - sizes, by))),
        _ => None,
    }
}

/// A walk through all that is stored of a tensor.
struct Walk<'a> {
    packed: &'static Packed,
    /// The sizes of dimensions, and the coordinates of the levels so far.
    columns: Vec<i64>,
    each: &'a mut dyn FnMut(usize, std::ops::Range<u64>),
}

impl Walk<'_> {
    /// Gives the interval of a level under a coordinate of the level above, and those of all levels below it. `alive` are the pieces that
    /// have the coordinates above.
    fn under(&mut self, level: usize, coordinate: i64, alive: &[usize]) -> Option<()> {
        self.columns.push(coordinate);
        let mut here = Vec::new();
        for &piece in alive {
            if self.has(piece, level - 1)? {
                here.push(piece);
            }
        }
        let (first, end) = self.interval(level, &here)?;
        (self.each)(level, u64::try_from(first).ok()?..u64::try_from(end).ok()?);
        if level + 1 < self.packed.modes.len() {
            for next in first..end {
                self.under(level + 1, next, &here)?;
            }
        }
        self.columns.pop();
        Some(())
    }

    /// The first coordinate of a level that some piece has, and the one behind the last.
    fn interval(&mut self, level: usize, alive: &[usize]) -> Option<(i64, i64)> {
        let (mut first, mut last, mut is_exact) = (i64::MAX, i64::MIN, true);
        for &piece in alive {
            let own = &self.packed.nests[piece].levels[level];
            let values = self.values(own, level)?;
            let low = own.lower.iter().map(|bound| rounded(bound, &values, true)).collect::<Option<Vec<_>>>()?;
            let high = own.upper.iter().map(|bound| rounded(bound, &values, false)).collect::<Option<Vec<_>>>()?;
            let (low, high) = (low.into_iter().max()?, high.into_iter().min()?);
            if low <= high {
                (first, last) = (first.min(low), last.max(high));
                is_exact &= own.strides.is_empty() && own.guards.is_empty();
            }
        }
        // Bounds may be rounded, or be none of a piece that has no coordinate here.
        while !is_exact && first <= last && !self.is_in(alive, level, first)? {
            first += 1;
        }
        while !is_exact && first <= last && !self.is_in(alive, level, last)? {
            last -= 1;
        }
        Some(if first <= last { (first, last.checked_add(1)?) } else { (0, 0) })
    }

    /// True if a piece has a coordinate of a level under those above.
    fn is_in(&mut self, alive: &[usize], level: usize, coordinate: i64) -> Option<bool> {
        self.columns.push(coordinate);
        let mut found = false;
        for &piece in alive {
            found = found || self.has(piece, level)?;
        }
        self.columns.pop();
        Some(found)
    }

    /// The values of the columns of a level: sizes, coordinates, and quotients. The coordinate of the level itself may be missing, for forms
    /// that do not use it.
    fn values(&self, own: &Level, level: usize) -> Option<Vec<i64>> {
        let mut values = self.columns.clone();
        values.resize(self.packed.modes.len() + level + 1, 0);
        for div in &own.divs {
            values.push(div.numerator.at(&values)?.div_euclid(div.denominator));
        }
        Some(values)
    }

    /// True if a piece has the last coordinate, which is one of a level, under those above.
    fn has(&self, piece: usize, level: usize) -> Option<bool> {
        let own = &self.packed.nests[piece].levels[level];
        let values = self.values(own, level)?;
        let coordinate = *self.columns.last()?;
        for bound in &own.lower {
            if coordinate < rounded(bound, &values, true)? {
                return Some(false);
            }
        }
        for bound in &own.upper {
            if coordinate > rounded(bound, &values, false)? {
                return Some(false);
            }
        }
        for stride in &own.strides {
            let apart = coordinate.checked_sub(stride.offset.at(&values)?)?;
            if apart.rem_euclid(stride.modulus) != 0 {
                return Some(false);
            }
        }
        for guard in &own.guards {
            let value = guard.form.at(&values)?;
            let holds = if guard.relation == Relation::Equal { value == 0 } else { value >= 0 };
            if !holds {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The value of a bound: rounded up as a lower one, down as an upper one.
fn rounded(bound: &Bound, values: &[i64], is_lower: bool) -> Option<i64> {
    let value = bound.form.at(values)?;
    Some(match is_lower {
        true => value.div_euclid(bound.denominator) + i64::from(value.rem_euclid(bound.denominator) != 0),
        false => value.div_euclid(bound.denominator),
    })
}

/// The unique elements of a structure, whose dimensions are in the order of levels.
fn in_order(structure: &Structure, modes: &[usize]) -> Option<Set> {
    let space = structure.space();
    let sizes = space.params.len();
    let dims = modes.iter().map(|&dim| space.dims[dim].clone());
    let ordered = Space::new(space.params.clone(), dims.collect::<Vec<_>>());
    let level = |dim: usize| modes.iter().position(|mode| *mode == dim);
    let dims = (0..modes.len()).map(|dim| Some(Affine::variable(sizes + level(dim)?))).collect::<Option<Vec<_>>>()?;
    let columns: Vec<Affine> = (0..sizes).map(Affine::variable).chain(dims).collect();
    Some(structure.unique().preimage(ordered, &columns)?.coalesced().simplified())
}

/// Checks that the points of a set have an interval of coordinates of each dimension, under those of the dimensions before it. The numbers of
/// the points that are left of each level and those above, as far as formulas tell.
fn check_intervals(unique: &Set, context: &Piece, modes: &[usize]) -> Result<Vec<Option<Count>>, PackingFault> {
    let mut counts = vec![None];
    let space = unique.space();
    let (sizes, order) = (space.params.len(), space.dims.len());
    for (level, &mode) in modes.iter().enumerate().skip(1) {
        let behind: Vec<usize> = (level + 1..order).collect();
        let seen = unique.project_out(&behind).ok_or(PackingFault::TooHard)?;
        counts.push(seen.count());
        // Coordinates above, then three of the level: a point of the set, one that is none, and a point of it.
        let names = space.dims[..level].iter().cloned().chain(["first".into(), "between".into(), "last".into()]);
        let wide = Space::new(space.params.clone(), names.collect::<Vec<_>>());
        let at = |place: usize| -> Vec<Affine> {
            (0..sizes + level).map(Affine::variable).chain([Affine::variable(sizes + level + place)]).collect()
        };
        let is_less = |set: Set, low: usize, high: usize| {
            let mut half = wide.universe();
            let (low, high) = (Affine::variable(sizes + level + low), Affine::variable(sizes + level + high));
            half.at_least(high.minus(&low)?.shifted(-1)?);
            set.intersect(&Set::of_piece(wide.clone(), half))
        };
        let params: Vec<Affine> = (0..sizes).map(Affine::variable).collect();
        let gaps = || -> Option<Set> {
            let known = Set::of_piece(wide.clone(), context.pulled(&wide.universe(), &params)?);
            let first = seen.preimage(wide.clone(), &at(0))?.intersect(&seen.preimage(wide.clone(), &at(2))?)?;
            let around = is_less(is_less(first.intersect(&known)?, 0, 1)?, 1, 2)?;
            around.subtract(&seen.preimage(wide.clone(), &at(1))?)
        };
        let gaps = gaps().ok_or(PackingFault::TooHard)?;
        let has_none = gaps.is_empty();
        if has_none == Answer::Unknown {
            return Err(PackingFault::TooHard);
        }
        if has_none.is_no() {
            return Err(PackingFault::Gaps(mode));
        }
    }
    Ok(counts)
}

/// The structure that a text names, and its arguments.
pub(crate) fn read(text: &str) -> Result<(&'static Named, Vec<i64>), PackingFault> {
    let text = text.trim();
    let wrong = || PackingFault::Text(text.to_string());
    let (name, arguments) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, inside)) => {
            let inside = inside.strip_suffix(')').ok_or_else(wrong)?;
            let numbers = inside.split(',').map(|part| part.trim().parse::<i64>().map_err(|_| wrong()));
            (name.trim(), numbers.collect::<Result<_, _>>()?)
        }
    };
    let named = Named::find(name).ok_or_else(|| PackingFault::Unknown(name.to_string()))?;
    Ok((named, arguments))
}

/// The name of the structure, with its arguments.
impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self.0.named.name, &self.0.arguments).fmt(f)
    }
}

/// A structure as it is written: its name and its arguments.
pub(crate) struct Shown<'a>(pub &'a str, pub &'a [i64]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(name, arguments) = self;
        f.write_str(name)?;
        match arguments {
            [] => Ok(()),
            arguments => write!(f, "({})", arguments.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packing({self} by {:?})", self.0.modes)
    }
}

impl Packing {
    /// The key by which packings are told apart.
    fn key(&self) -> (&str, &[i64], &[usize]) {
        (self.0.named.name, &self.0.arguments, &self.0.modes)
    }
}

impl PartialEq for Packing {
    fn eq(&self, other: &Packing) -> bool {
        std::ptr::eq(self.0, other.0) || self.key() == other.key()
    }
}

impl Eq for Packing {}

impl Hash for Packing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Packing {
    fn partial_cmp(&self, other: &Packing) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Packing {
    fn cmp(&self, other: &Packing) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests;
