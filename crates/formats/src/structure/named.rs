//! Structures that have names.
//!
//! Each is a line of [`Named::ALL`] and a few lines of text in the notation of `lacunar_sets`: a condition for the unique elements, and for
//! redundant ones a target with a condition. The box of the tensor is added to all. Matrices have the dimensions `i` and `j`, of the sizes
//! `m` and `n`; structures that are defined for every order have `i0`, `i1`, ... of the sizes `n0`, `n1`, ...
//!
//! ```text
//! banded(2, 1)    unique -2 <= j - i <= 1
//! toeplitz        unique i = 0 or j = 0; [i, j] -> [0, j - i] where 0 < i <= j, [i - j, 0] where 0 < j < i
//! ```
//!
//! Ghorbani et al. 2023, Fig. 8, have zero, general, one-hot, row, column, diagonal, triangles and symmetric; the others are of their
//! §4 and §7 and of Golub and Van Loan, *Matrix Computations*, ch. 4.

use lacunar_sets::{Coefficient, Formula, Map, Piece, Set, Space, TextError};

use super::{Structure, StructureFault};

/// A structure with a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// Its arguments, as they are written behind the name: `(below, above)`.
    pub arguments: &'static str,
    /// The structure in a few words.
    pub meaning: &'static str,
    build: fn(usize, &[i64]) -> Result<Structure, NamedFault>,
}

/// The reason why a name gives no structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedFault {
    /// It is not defined for tensors of this order; these have it.
    Order(&'static str),
    /// It takes other arguments.
    Arguments,
    /// Its condition is no structure.
    Structure(StructureFault),
    /// Its condition is not read.
    Text(TextError),
}

impl From<TextError> for NamedFault {
    fn from(error: TextError) -> NamedFault {
        NamedFault::Text(error)
    }
}

/// A redundant part of a matrix: coefficient and target, and the condition of its elements.
type Part<'a> = (&'a str, &'a str);

const MATRICES: &str = "matrices";

impl Named {
    /// All names.
    pub const ALL: &'static [Named] = &[
        named("zero", "", "no element", |order, a| of_order(order, a, "false")),
        named("general", "", "every element", |order, a| of_order(order, a, "true")),
        named("onehot", "(i, j, ..)", "the one element at these coordinates", onehot),
        named(
            "fixed",
            "(dimension, at, ..)",
            "the elements whose coordinate in a dimension, counted from 0, is a number; of several dimensions, in each",
            fixed,
        ),
        named("row", "(i)", "one row", |order, a| matrix(order, a, 1, &format!("i = {}", at(a, 0)), &[], false)),
        named("column", "(j)", "one column", |order, a| matrix(order, a, 1, &format!("j = {}", at(a, 0)), &[], false)),
        named(
            "diagonal",
            "",
            "elements whose coordinates are all equal, or those in some dimensions, counted from 0",
            diagonal,
        ),
        named("upper", "", "coordinates do not descend: i <= j", |order, a| of_order(order, a, &chain(order, "<="))),
        named("lower", "", "coordinates do not ascend: i >= j", |order, a| of_order(order, a, &chain(order, ">="))),
        named("strictly_upper", "", "coordinates ascend: i < j", |order, a| of_order(order, a, &chain(order, "<"))),
        named("strictly_lower", "", "coordinates descend: i > j", |order, a| of_order(order, a, &chain(order, ">"))),
        named("simplex", "", "coordinates do not descend, in cubes of any order", |order, a| {
            of_order(order, a, &chain(order, "<="))
        }),
        named("symmetric", "", "coordinates can be exchanged, in cubes of any order", symmetric),
        named("skew", "", "A(j,i) = -A(i,j)", |order, a| {
            matrix(order, a, 0, "i < j", &[("-1 * [j, i]", "j < i")], true)
        }),
        named("hermitian", "", "A(j,i) = conj(A(i,j))", |order, a| conjugated(order, a, "conj", 1)),
        named("skew_hermitian", "", "A(j,i) = -conj(A(i,j))", |order, a| conjugated(order, a, "-conj", -1)),
        named("banded", "(below, above)", "so many diagonals below and above the main one", banded),
        named("hessenberg", "", "an upper triangle and one diagonal below", |order, a| {
            matrix(order, a, 0, "i <= j + 1", &[], false)
        }),
        named("toeplitz", "", "diagonals are constant", toeplitz),
        named("hankel", "", "antidiagonals are constant", hankel),
        named("circulant", "", "each row is the one above, turned by one", circulant),
        named("block_diagonal", "(size)", "square blocks on the diagonal", block_diagonal),
        named("persymmetric", "", "symmetric about the antidiagonal", persymmetric),
        named("centrosymmetric", "", "symmetric about the center", centrosymmetric),
        named("antidiagonal", "", "i + j = n - 1", |order, a| matrix(order, a, 0, "i + j = n - 1", &[], true)),
        named("arrow", "(width)", "the diagonal, and the first rows and columns", arrow),
        named("chess", "", "elements with i + j even", |order, a| matrix(order, a, 0, "(i + j) mod 2 = 0", &[], false)),
        named("leslie", "", "the first row and the diagonal below the main one", |order, a| {
            matrix(order, a, 0, "i = 0 or i = j + 1", &[], false)
        }),
        named("identical_rows", "", "every row is the first", |order, a| {
            matrix(order, a, 0, "i = 0", &[("[0, j]", "i > 0")], false)
        }),
        named("identical_columns", "", "every column is the first", |order, a| {
            matrix(order, a, 0, "j = 0", &[("[i, 0]", "j > 0")], false)
        }),
        named("constant", "", "every element is the first", constant),
    ];

    /// The structure of a name.
    pub fn find(name: &str) -> Option<&'static Named> {
        Named::ALL.iter().find(|named| named.name == name)
    }

    /// The structure of a tensor of an order, with arguments.
    ///
    /// # Errors
    /// The order or the arguments are not those of the name.
    ///
    /// ```
    /// use lacunar_formats::structure::{Named, NamedFault};
    /// let banded = Named::find("banded").unwrap();
    /// assert_eq!(banded.structure(2, &[2, 1]).unwrap().unique().contains(&[5, 5], &[3, 1]), Some(true));
    /// assert_eq!(banded.structure(3, &[2, 1]), Err(NamedFault::Order("matrices")));
    /// ```
    pub fn structure(&self, order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
        (self.build)(order, arguments)
    }
}

const fn named(
    name: &'static str,
    arguments: &'static str,
    meaning: &'static str,
    build: fn(usize, &[i64]) -> Result<Structure, NamedFault>,
) -> Named {
    Named { name, arguments, meaning, build }
}

/// An argument; those that are missing are noticed by who counts them.
fn at(arguments: &[i64], place: usize) -> i64 {
    arguments.get(place).copied().unwrap_or(0)
}

/// The space of a tensor: sizes as parameters, and dimensions.
fn space(order: usize) -> Space {
    match order {
        1 => Space::new(["n"], ["i"]),
        2 => Space::new(["m", "n"], ["i", "j"]),
        _ => {
            let names = |letter: &str| (0..order).map(|dim| format!("{letter}{dim}")).collect::<Vec<_>>();
            Space::new(names("n"), names("i"))
        }
    }
}

/// A structure without redundancy of any order.
fn of_order(order: usize, arguments: &[i64], unique: &str) -> Result<Structure, NamedFault> {
    if !arguments.is_empty() {
        return Err(NamedFault::Arguments);
    }
    build(&space(order), unique, &[], "true")
}

/// A structure of matrices with `count` arguments.
fn matrix(
    order: usize,
    arguments: &[i64],
    count: usize,
    unique: &str,
    redundant: &[Part<'_>],
    square: bool,
) -> Result<Structure, NamedFault> {
    if order != 2 {
        return Err(NamedFault::Order(MATRICES));
    }
    if arguments.len() != count || arguments.iter().any(|&argument| argument < 0) {
        return Err(NamedFault::Arguments);
    }
    build(&space(2), unique, redundant, if square { "m = n" } else { "true" })
}

/// Mirror images are conjugates, with a sign; those of the diagonal are their own.
fn conjugated(order: usize, arguments: &[i64], factor: &str, sign: i64) -> Result<Structure, NamedFault> {
    let structure = matrix(order, arguments, 0, "i <= j", &[(&format!("{factor} * [j, i]"), "j < i")], true)?;
    let diagonal = Formula::parse("i = j")?.set(&space(2))?;
    let coefficient = Coefficient::new(sign, 1, true).ok_or(NamedFault::Structure(StructureFault::Unknown))?;
    Ok(structure.with_tied(diagonal, coefficient))
}

fn build(space: &Space, unique: &str, redundant: &[Part<'_>], context: &str) -> Result<Structure, NamedFault> {
    let unique = Formula::parse(unique)?.set(space)?;
    let dims = space.dims.join(", ");
    let mut redundancy = Map::empty(space.clone(), space.dims.clone());
    for (target, condition) in redundant {
        let part: Map = format!("[{}] -> {{ [{dims}] -> {target} : {condition} }}", space.params.join(", ")).parse()?;
        for piece in part.pieces() {
            redundancy.add_apart(piece.clone()).ok_or(NamedFault::Structure(StructureFault::Unknown))?;
        }
    }
    let params = Space::new(space.params.clone(), Vec::<String>::new());
    let context: Set = Formula::parse(context)?.set(&params)?;
    let nothing_known = Piece::universe(params.params.len(), 0);
    let context = context.pieces().first().unwrap_or(&nothing_known);
    Structure::new(&unique, &redundancy, context).map_err(NamedFault::Structure)
}

/// All dimensions with a sign between neighbors.
fn chain(order: usize, sign: &str) -> String {
    if order < 2 { "true".to_string() } else { space(order).dims.join(&format!(" {sign} ")) }
}

fn onehot(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    if arguments.len() != order || arguments.iter().any(|&argument| argument < 0) {
        return Err(NamedFault::Arguments);
    }
    let space = space(order);
    let always = std::iter::once("true".to_string());
    let parts = always.chain(space.dims.iter().zip(arguments).map(|(dim, at)| format!("{dim} = {at}")));
    build(&space, &parts.collect::<Vec<_>>().join(" and "), &[], "true")
}

fn fixed(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let space = space(order);
    let (pairs, []) = arguments.as_chunks::<2>() else { return Err(NamedFault::Arguments) };
    let dims = apart(&space, &pairs.iter().map(|[dim, _]| *dim).collect::<Vec<_>>())?;
    if pairs.is_empty() || pairs.iter().any(|[_, at]| *at < 0) {
        return Err(NamedFault::Arguments);
    }
    let parts: Vec<String> = dims.iter().zip(pairs).map(|(dim, [_, at])| format!("{dim} = {at}")).collect();
    build(&space, &parts.join(" and "), &[], "true")
}

fn diagonal(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let space = space(order);
    match apart(&space, arguments)?.as_slice() {
        [] => of_order(order, &[], &chain(order, "=")),
        [_] => Err(NamedFault::Arguments),
        dims => build(&space, &dims.join(" = "), &[], "true"),
    }
}

/// The dimensions that numbers name, each once.
fn apart<'a>(space: &'a Space, numbers: &[i64]) -> Result<Vec<&'a str>, NamedFault> {
    let is_once = |place: usize| !numbers[..place].contains(&numbers[place]);
    let named = |number: &i64| space.dims.get(usize::try_from(*number).ok()?).map(String::as_str);
    let dims = numbers.iter().map(named).collect::<Option<Vec<_>>>().ok_or(NamedFault::Arguments)?;
    if (0..numbers.len()).all(is_once) { Ok(dims) } else { Err(NamedFault::Arguments) }
}

fn symmetric(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    if !arguments.is_empty() {
        return Err(NamedFault::Arguments);
    }
    if !(2..=Structure::MOST_SYMMETRIC).contains(&order) {
        return Err(NamedFault::Order("tensors of 2 to 7 dimensions"));
    }
    Structure::symmetric(&space(order)).map_err(NamedFault::Structure)
}

fn banded(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let (below, above) = match *arguments {
        [width] => (width, width),
        [below, above] => (below, above),
        _ => return if order == 2 { Err(NamedFault::Arguments) } else { Err(NamedFault::Order(MATRICES)) },
    };
    matrix(order, &[below, above], 2, &format!("i - {below} <= j <= i + {above}"), &[], false)
}

fn toeplitz(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let parts = [("[0, j - i]", "0 < i <= j"), ("[i - j, 0]", "0 < j < i")];
    matrix(order, arguments, 0, "i = 0 or j = 0", &parts, false)
}

fn hankel(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let parts = [
        ("[0, i + j]", "0 < i and i + j <= n - 1 and j < n - 1"),
        ("[i + j - n + 1, n - 1]", "j < n - 1 and i + j > n - 1"),
    ];
    matrix(order, arguments, 0, "i = 0 or j = n - 1", &parts, false)
}

fn circulant(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let parts = [("[0, j - i]", "0 < i <= j"), ("[0, j - i + n]", "i > 0 and j < i")];
    matrix(order, arguments, 0, "i = 0", &parts, true)
}

fn block_diagonal(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let size = at(arguments, 0);
    if order == 2 && size < 1 {
        return Err(NamedFault::Arguments);
    }
    matrix(order, arguments, 1, &format!("floor(i/{0}) = floor(j/{0})", size.max(1)), &[], false)
}

fn persymmetric(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    matrix(order, arguments, 0, "i + j <= n - 1", &[("[n - 1 - j, n - 1 - i]", "i + j > n - 1")], true)
}

fn centrosymmetric(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let unique = "2 i < m - 1 or (2 i = m - 1 and 2 j <= n - 1)";
    let redundant = "2 i > m - 1 or (2 i = m - 1 and 2 j > n - 1)";
    matrix(order, arguments, 0, unique, &[("[m - 1 - i, n - 1 - j]", redundant)], false)
}

fn arrow(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    let width = if arguments.is_empty() { 1 } else { at(arguments, 0) };
    if arguments.len() > 1 && order == 2 {
        return Err(NamedFault::Arguments);
    }
    matrix(order, &[width], 1, &format!("i = j or i < {width} or j < {width}"), &[], false)
}

/// One unique element at the origin; every other is cut off from it by its first coordinate that is not 0.
fn constant(order: usize, arguments: &[i64]) -> Result<Structure, NamedFault> {
    if !arguments.is_empty() {
        return Err(NamedFault::Arguments);
    }
    let space = space(order);
    let all_zero = |dims: &[String]| dims.iter().map(|dim| format!("{dim} = 0")).collect::<Vec<_>>();
    let zeros = format!("[{}]", vec!["0"; order].join(", "));
    let cut = |(place, dim): (usize, &String)| {
        [all_zero(&space.dims[..place]), vec![format!("{dim} > 0")]].concat().join(" and ")
    };
    let conditions: Vec<String> = space.dims.iter().enumerate().map(cut).collect();
    let parts: Vec<Part<'_>> = conditions.iter().map(|condition| (zeros.as_str(), condition.as_str())).collect();
    let unique = [vec!["true".to_string()], all_zero(&space.dims)].concat().join(" and ");
    build(&space, &unique, &parts, "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar_sets::Coefficient;

    /// The element of a matrix at `(i, j)`: a value that two elements share if one follows from the other, with its sign and a flag
    /// that is true if it is conjugated; `None` for 0.
    type Element = Option<(Vec<i64>, i64, bool)>;

    fn plain(key: Vec<i64>) -> Element {
        Some((key, 1, false))
    }

    /// A structure of matrices: its name, its arguments, a flag that is true if it is square, and the elements of an m by n matrix.
    type Case = (&'static str, &'static [i64], bool, fn(i64, i64, i64, i64) -> Element);

    fn cases() -> Vec<Case> {
        fn only(holds: bool, i: i64, j: i64) -> Element {
            holds.then_some((vec![i, j], 1, false))
        }
        fn turned(i: i64, j: i64, sign: i64, conjugate: bool) -> Element {
            let upper = i <= j;
            Some((vec![i.min(j), i.max(j)], if upper { 1 } else { sign }, !upper && conjugate))
        }
        vec![
            ("zero", &[], false, |_, _, _, _| None),
            ("general", &[], false, |_, _, i, j| plain(vec![i, j])),
            ("onehot", &[2, 1], false, |_, _, i, j| only((i, j) == (2, 1), i, j)),
            ("fixed", &[1, 2], false, |_, _, i, j| only(j == 2, i, j)),
            ("row", &[1], false, |_, _, i, j| only(i == 1, i, j)),
            ("column", &[1], false, |_, _, i, j| only(j == 1, i, j)),
            ("diagonal", &[], false, |_, _, i, j| only(i == j, i, j)),
            ("upper", &[], false, |_, _, i, j| only(i <= j, i, j)),
            ("simplex", &[], false, |_, _, i, j| only(i <= j, i, j)),
            ("lower", &[], false, |_, _, i, j| only(i >= j, i, j)),
            ("strictly_upper", &[], false, |_, _, i, j| only(i < j, i, j)),
            ("strictly_lower", &[], false, |_, _, i, j| only(i > j, i, j)),
            ("symmetric", &[], true, |_, _, i, j| turned(i, j, 1, false)),
            ("skew", &[], true, |_, _, i, j| turned(i, j, -1, false).filter(|_| i != j)),
            ("hermitian", &[], true, |_, _, i, j| turned(i, j, 1, true)),
            ("skew_hermitian", &[], true, |_, _, i, j| turned(i, j, -1, true)),
            ("banded", &[2, 1], false, |_, _, i, j| only(i - j <= 2 && j - i <= 1, i, j)),
            ("banded", &[1], false, |_, _, i, j| only((i - j).abs() <= 1, i, j)),
            ("hessenberg", &[], false, |_, _, i, j| only(i <= j + 1, i, j)),
            ("toeplitz", &[], false, |_, _, i, j| plain(vec![i - i.min(j), j - i.min(j)])),
            ("hankel", &[], false, |_, n, i, j| {
                let row = (i + j - (n - 1)).max(0);
                plain(vec![row, i + j - row])
            }),
            ("circulant", &[], true, |_, n, i, j| plain(vec![0, (j - i).rem_euclid(n.max(1))])),
            ("block_diagonal", &[2], false, |_, _, i, j| only(i / 2 == j / 2, i, j)),
            ("persymmetric", &[], true, |_, n, i, j| {
                plain(if i + j < n { vec![i, j] } else { vec![n - 1 - j, n - 1 - i] })
            }),
            ("centrosymmetric", &[], false, |m, n, i, j| plain(vec![i, j].min(vec![m - 1 - i, n - 1 - j]))),
            ("antidiagonal", &[], true, |_, n, i, j| only(i + j == n - 1, i, j)),
            ("arrow", &[], false, |_, _, i, j| only(i == j || i == 0 || j == 0, i, j)),
            ("arrow", &[2], false, |_, _, i, j| only(i == j || i < 2 || j < 2, i, j)),
            ("chess", &[], false, |_, _, i, j| only((i + j) % 2 == 0, i, j)),
            ("leslie", &[], false, |_, _, i, j| only(i == 0 || i == j + 1, i, j)),
            ("identical_rows", &[], false, |_, _, _, j| plain(vec![0, j])),
            ("identical_columns", &[], false, |_, _, i, _| plain(vec![i, 0])),
            ("constant", &[], false, |_, _, _, _| plain(vec![0, 0])),
        ]
    }

    #[test]
    fn matrices_have_the_elements_of_their_definitions() {
        let cases = cases();
        for named in Named::ALL {
            assert!(cases.iter().any(|(name, ..)| *name == named.name), "{} is not tried", named.name);
        }
        for (name, arguments, square, element) in cases {
            let structure = Named::find(name).unwrap().structure(2, arguments).unwrap();
            for (m, n) in (0..6).flat_map(|m| (0..6).map(move |n| (m, n))).filter(|(m, n)| !square || m == n) {
                for (i, j) in (-1..=m).flat_map(|i| (-1..=n).map(move |j| (i, j))) {
                    let inside = (0..m).contains(&i) && (0..n).contains(&j);
                    let expected = element(m, n, i, j)
                        .filter(|_| inside)
                        .map(|(target, sign, conjugate)| (target, Coefficient::new(sign, 1, conjugate).unwrap()));
                    let found = structure.element(&[m, n], &[i, j]).unwrap();
                    assert_eq!(found, expected, "{name}{arguments:?} of {m} by {n} at ({i}, {j})");
                }
            }
        }
    }

    #[test]
    fn cubes_have_the_elements_of_their_definitions() {
        let of = |name: &str, arguments: &[i64]| Named::find(name).unwrap().structure(3, arguments).unwrap();
        let points = || (0..64).map(|number| vec![number / 16, number / 4 % 4, number % 4]);
        let sizes = [4, 4, 4];
        let symmetric = of("symmetric", &[]);
        for point in points() {
            let mut sorted = point.clone();
            sorted.sort();
            let found = symmetric.element(&sizes, &point).unwrap();
            assert_eq!(found, Some((sorted.clone(), Coefficient::ONE)), "{point:?}");
            let simplex = of("simplex", &[]).element(&sizes, &point).unwrap();
            assert_eq!(simplex.is_some(), sorted == point);
            assert_eq!(of("fixed", &[1, 2]).element(&sizes, &point).unwrap().is_some(), point[1] == 2);
            let diagonal = of("diagonal", &[]).element(&sizes, &point).unwrap();
            assert_eq!(diagonal.is_some(), point[0] == point[1] && point[1] == point[2]);
            let plane = of("diagonal", &[0, 2]).element(&sizes, &point).unwrap();
            assert_eq!(plane.is_some(), point[0] == point[2]);
            let line = of("fixed", &[1, 2, 0, 3]).element(&sizes, &point).unwrap();
            assert_eq!(line.is_some(), point[..2] == [3, 2]);
            assert_eq!(of("constant", &[]).element(&sizes, &point).unwrap().unwrap().0, [0, 0, 0]);
        }
    }

    #[test]
    fn wrong_orders_and_arguments_are_told() {
        let fault =
            |name: &str, order, arguments: &[i64]| Named::find(name).unwrap().structure(order, arguments).unwrap_err();
        assert_eq!(fault("toeplitz", 3, &[]), NamedFault::Order(MATRICES));
        assert_eq!(fault("banded", 1, &[1, 2]), NamedFault::Order(MATRICES));
        assert_eq!(fault("symmetric", 9, &[]), NamedFault::Order("tensors of 2 to 7 dimensions"));
        assert_eq!(fault("row", 2, &[]), NamedFault::Arguments);
        assert_eq!(fault("banded", 2, &[-1, 1]), NamedFault::Arguments);
        assert_eq!(fault("block_diagonal", 2, &[0]), NamedFault::Arguments);
        assert_eq!(fault("onehot", 2, &[1]), NamedFault::Arguments);
        for wrong in [&[2, 1][..], &[], &[0], &[0, 1, 0, 2], &[0, -1]] {
            assert_eq!(fault("fixed", 2, wrong), NamedFault::Arguments);
        }
        for wrong in [&[0][..], &[0, 0], &[1, 2]] {
            assert_eq!(fault("diagonal", 2, wrong), NamedFault::Arguments);
        }
    }
}
