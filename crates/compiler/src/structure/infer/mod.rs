//! The structure of a result, by rules over the expression.
//!
//! On entry: a statement in reduction notation, and structures of some tensors; others may be anything. On exit: the structure of the result,
//! whose parameters are the sizes of its dimensions, then those of summed variables. Values are never looked at, and nothing is assumed of
//! sizes but that a tensor's dimension has one.
//!
//! A rule is a function from an expression to the structure of its value ([`Closed`]); it may have no answer. [`RULES`] are asked in order,
//! the most special first; an expression that no rule knows has no structure. A rule states the conditions on the algebra that it needs:
//! coefficients go through a function that is linear in the operand, absent operands annihilate products alone, and sorting needs a
//! commutative operation.
//!
//! Soundness of every rule is one sentence: `T(x) = c T(x')` for every point `x` with target `x'` and coefficient `c`, `T(x) = 0` outside of
//! the support, and `x'` is its own target. The tests hold results against values at random.

mod access;
mod closed;
mod pointwise;
mod product;
mod projection;
mod repetition;
mod self_product;
mod symmetry;
mod unary;

use std::collections::BTreeMap;

use lacunar_base::Arena;
use lacunar_notation::{AssignOp, Assignment, Expr, IndexVar, Role, Structure, Tensor, TensorId, VarId};
use lacunar_sets::{Affine, Piece, Space};

pub use closed::Closed;
pub(super) use symmetry::is_symmetric;

/// A way to know the structure of some expressions.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The structure of an expression; `None` if the rule does not apply to it, or the sets are too hard.
    pub apply: fn(&Context<'_>, &Expr) -> Option<Closed>,
}

/// All rules, the most special first.
pub const RULES: &[Rule] = &[
    Rule { name: "constant", apply: access::constant },
    Rule { name: "access", apply: access::access },
    Rule { name: "comparison", apply: access::comparison },
    Rule { name: "self-product", apply: self_product::self_product },
    Rule { name: "symmetry", apply: symmetry::symmetry },
    Rule { name: "product", apply: product::product },
    Rule { name: "sum", apply: pointwise::sum },
    Rule { name: "projection", apply: projection::projection },
    Rule { name: "unary", apply: unary::unary },
    Rule { name: "pointwise", apply: pointwise::pointwise },
];

/// The facts about a statement that rules use.
#[derive(Clone)]
pub struct Context<'a> {
    tensors: &'a Arena<Tensor>,
    vars: &'a Arena<IndexVar>,
    structures: &'a BTreeMap<TensorId, Structure>,
    /// The parameter that is the size of a variable. Variables that must have one size share it.
    sizes: BTreeMap<VarId, usize>,
    /// The names of all parameters: sizes, then the further parameters of structures.
    params: Vec<String>,
    /// True if a 0 that is computed or written counts as a value. Otherwise it counts as none, as do differences of equal values, which
    /// are 0 where the values are finite.
    computed: bool,
}

/// The structure of a statement's result. `None` if it adds to earlier values, or the sets are too hard.
///
/// ```
/// use std::collections::BTreeMap;
/// use lacunar_compiler::{reduction, structure::infer};
/// use lacunar_notation::structure::Named;
/// let mut program = lacunar_front::check("C(i,j) = L(i,k) * M(k,j)", &lacunar_front::Declarations::new()).unwrap();
/// let statement = reduction::make_explicit(&program.statements[0].clone(), &mut program.vars);
/// let lower = Named::find("lower").unwrap().structure(2, &[]).unwrap();
/// let inputs = program.tensors.handles().filter(|tensor| program.tensors[*tensor].name != "C");
/// let structures: BTreeMap<_, _> = inputs.map(|tensor| (tensor, lower.clone())).collect();
/// let found = infer(&statement, &program.tensors, &program.vars, &structures).unwrap();
/// assert_eq!(found.unique().contains(&[4, 4, 4], &[1, 2]), Some(false));
/// assert_eq!(found.unique().contains(&[4, 4, 4], &[2, 1]), Some(true));
/// ```
pub fn infer(
    statement: &Assignment,
    tensors: &Arena<Tensor>,
    vars: &Arena<IndexVar>,
    structures: &BTreeMap<TensorId, Structure>,
) -> Option<Structure> {
    inferred(&Context::new(statement, tensors, vars, structures), statement)
}

/// The same of the values that are computed: the difference of equal numbers may be none, and is no 0 that need not be computed.
pub(in crate::structure) fn infer_computed(
    statement: &Assignment,
    tensors: &Arena<Tensor>,
    vars: &Arena<IndexVar>,
    structures: &BTreeMap<TensorId, Structure>,
) -> Option<Structure> {
    let context = Context { computed: true, ..Context::new(statement, tensors, vars, structures) };
    inferred(&context, statement)
}

fn inferred(context: &Context<'_>, statement: &Assignment) -> Option<Structure> {
    if statement.op != AssignOp::Set {
        return None;
    }
    let closed = match context.reads_fills_beside(&statement.rhs) {
        true => Closed::general(context, statement.rhs.free_vars())?,
        false => context.infer(&statement.rhs)?,
    };
    let closed = repetition::repeated(context, closed, &statement.lhs.vars)?;
    context.result(&closed, &statement.lhs.vars)
}

impl<'a> Context<'a> {
    fn new(
        statement: &Assignment,
        tensors: &'a Arena<Tensor>,
        vars: &'a Arena<IndexVar>,
        structures: &'a BTreeMap<TensorId, Structure>,
    ) -> Context<'a> {
        let mut classes = Classes::default();
        let mut accesses = statement.rhs.accesses();
        accesses.push(&statement.lhs);
        for access in &accesses {
            for (dim, &var) in access.vars.iter().enumerate() {
                let place = classes.of_dimension(access.tensor, dim);
                classes.join(place, Member::Var(var));
            }
            let alike = structures.get(&access.tensor).map(equal_sizes).unwrap_or_default();
            for (a, b) in alike {
                let place = classes.of_dimension(access.tensor, a);
                classes.join(place, Member::Dimension(access.tensor, b));
            }
        }
        let mut params = Vec::new();
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut sizes = BTreeMap::new();
        let mut all_vars = statement.lhs.vars.clone();
        all_vars.extend(accesses.iter().flat_map(|access| access.vars.iter().copied()));
        for var in all_vars {
            let class = classes.of(Member::Var(var));
            let number = *numbers.entry(class).or_insert_with(|| {
                params.push(format!("n_{}", vars[var].name));
                params.len() - 1
            });
            sizes.insert(var, number);
        }
        for structure in structures.values() {
            let others = structure.space().params.iter().skip(structure.order());
            for name in others {
                if !params.contains(name) {
                    params.push(name.clone());
                }
            }
        }
        Context { tensors, vars, structures, sizes, params, computed: false }
    }

    /// The structure of an expression's value, by the first rule that applies.
    pub fn infer(&self, expr: &Expr) -> Option<Closed> {
        let known = RULES.iter().find_map(|rule| (rule.apply)(self, expr)?.bounded(self));
        known.or_else(|| Closed::general(self, expr.free_vars()))
    }

    /// True if an index that is a sum may be outside of a tensor whose fill value, which it reads there, is not 0.
    fn reads_fills_beside(&self, expr: &Expr) -> bool {
        let accesses = expr.accesses();
        let any = |is: fn(&Tensor) -> bool| accesses.iter().any(|access| is(&self.tensors[access.tensor]));
        any(|tensor| tensor.role == Role::Indicator) && any(|tensor| !tensor.fill().is_zero())
    }

    /// The space of points over variables.
    pub fn space(&self, vars: &[VarId]) -> Space {
        Space { params: self.params.clone(), dims: vars.iter().map(|var| self.vars[*var].name.clone()).collect() }
    }

    /// The parameter that is the size of a variable.
    pub fn size(&self, var: VarId) -> Option<usize> {
        self.sizes.get(&var).copied()
    }

    /// The structure of a result with these dimensions.
    fn result(&self, closed: &Closed, vars: &[VarId]) -> Option<Structure> {
        // Sizes of the result's dimensions come first; two that are one parameter are two that are equal.
        let mut space = self.space(vars);
        let own: Vec<usize> = vars.iter().map(|var| self.size(*var)).collect::<Option<_>>()?;
        let others: Vec<usize> = (0..self.params.len()).filter(|param| !own.contains(param)).collect();
        let order: Vec<usize> = own.iter().chain(&others).copied().collect();
        space.params = vars.iter().map(|var| format!("n_{}", self.vars[*var].name)).collect();
        space.params.extend(others.iter().map(|&param| self.params[param].clone()));
        let mut context = Piece::universe(order.len(), 0);
        let place = |param: usize| order.iter().position(|&other| other == param);
        for (dim, &param) in own.iter().enumerate() {
            let first = place(param)?;
            if first != dim {
                context.equal(Affine::variable(first).minus(&Affine::variable(dim))?);
            }
        }
        let params =
            (0..self.params.len()).map(|param| place(param).map(Affine::variable)).collect::<Option<Vec<_>>>()?;
        let (support, map) = closed.arranged(&space, params, vars)?;
        let whole = lacunar_notation::structure::bounds(&space, &context)?;
        Structure::from_closed(&support.intersect(&whole)?, &map.restricted(&whole)?, &context)
    }
}

/// The pairs of dimensions whose sizes a structure's context says to be equal.
fn equal_sizes(structure: &Structure) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for form in structure.context().equalities() {
        let terms: Vec<(usize, i64)> = form.terms().collect();
        if let ([(a, p), (b, q)], 0) = (terms.as_slice(), form.offset())
            && *p == -*q
            && *a < structure.order()
            && *b < structure.order()
        {
            found.push((*a, *b));
        }
    }
    found
}

/// A variable or a dimension: both have a size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Var(VarId),
    Dimension(TensorId, usize),
}

/// Members that have one size, as classes with numbers.
#[derive(Default)]
struct Classes {
    class: BTreeMap<Member, usize>,
    count: usize,
}

impl Classes {
    fn of(&mut self, member: Member) -> usize {
        *self.class.entry(member).or_insert_with(|| {
            self.count += 1;
            self.count - 1
        })
    }

    fn of_dimension(&mut self, tensor: TensorId, dim: usize) -> usize {
        self.of(Member::Dimension(tensor, dim))
    }

    fn join(&mut self, class: usize, member: Member) {
        let other = self.of(member);
        self.class.values_mut().filter(|of| **of == other).for_each(|of| *of = class);
    }
}
