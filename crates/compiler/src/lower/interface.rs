//! The parameters of a kernel: the sizes of variables, the arrays of tensors, and the number of threads.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: csr       i_size, j_size;  A2_pos, A2_crd, A_vals;  x_vals;  y_vals
//! ```
//!
//! A size that follows from others is computed, and a small one that is known is a constant. The levels of views have no arrays:
//! they follow from the map of another tensor ([`super::views`]).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Format};
use lacunar_imp::{ArrayId, ArrayRole, Builder, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Indicator, Role, Source, Tensor, TensorId, VarId};
use rustc_hash::FxHashMap;

use super::region::recovered::{stored_size, with_sources};
use super::sinks::given::placed_by;
use super::sizes::derived_size;
use super::units::threads::must_be_serial;
use super::views;
use super::{Found, Lowerer, Options, Parameters, Phase, SPECIALIZED_SIZE, TensorCode};
use crate::levels::{LevelCode, Part, border, gathered, indicator, level_code};

/// The meaning of a parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// The number of values of an index variable.
    Size(VarId),
    /// An index array of a level.
    Level(TensorId, usize, Part),
    /// The values of a tensor.
    Values(TensorId),
    /// The number of values of a result whose pattern is given.
    Stored(TensorId),
    /// The number of threads that the kernel is run with; at least 1.
    Threads,
}

/// The meaning of each parameter of a kernel, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// One for each parameter.
    pub bindings: Vec<Binding>,
}

/// A kernel of which nothing is lowered yet but its parameters.
pub(super) fn prepare<'k>(kernel: &'k Kernel, options: &'k Options) -> Result<Lowerer<'k>, Diagnostic> {
    let mut b = Builder::new(&options.name);
    b.set_strict(options.strict);
    let mut so_far = Declared { kernel, options, b, interface: Interface::default(), packed: Vec::new() };
    let sizes = so_far.sizes();
    let mut tensors: Vec<Arrays> = Vec::new();
    let vars = dimension_vars(kernel);
    let used = [kernel.reads(), kernel.stmt.writes()].concat();
    for (id, tensor) in kernel.tensors.iter() {
        let is_parameter = used.contains(&id) && !matches!(tensor.role, Role::Workspace(_));
        tensors.push(match vars.get(&id) {
            Some(vars) if is_parameter => so_far.arrays(id, tensor, vars, &sizes)?,
            _ => Arrays::default(),
        });
    }
    so_far.gathers(&used, &mut tensors, (&vars, &sizes));
    so_far.views(&used, &mut tensors, &sizes)?;
    let stored = tensors.iter().rev().find_map(|arrays| arrays.stored);
    let code = |arrays: Arrays| Rc::new(TensorCode { levels: arrays.levels, values: arrays.values });
    let Declared { b, interface, .. } = so_far;
    Ok(Lowerer {
        kernel,
        options,
        serial: must_be_serial(kernel, options.phase),
        parameters: Parameters { sizes, code: tensors.into_iter().map(code).collect(), stored },
        b,
        interface,
        threads: None,
        found: Found::default(),
    })
}

/// The parameters of one tensor.
#[derive(Default)]
struct Arrays {
    levels: Vec<Rc<dyn LevelCode>>,
    values: Option<ArrayId>,
    /// The number of its values, if its pattern is given.
    stored: Option<ExprId>,
}

/// The parameters so far.
struct Declared<'k> {
    kernel: &'k Kernel,
    options: &'k Options,
    b: Builder,
    interface: Interface,
    /// The levels of packed tensors that are seen as arrays, by format and the variables of dimensions: they follow from these.
    packed: Vec<Packed>,
}

/// A packed format, the variables of dimensions, and the levels of the first tensor of both.
type Packed = (Format, Vec<VarId>, Vec<Rc<dyn LevelCode>>);

impl Declared<'_> {
    /// The size of each variable: a parameter, unless it is known or follows from others.
    fn sizes(&mut self) -> Vec<ExprId> {
        let kernel = self.kernel;
        let used: Vec<VarId> =
            loop_vars(&kernel.stmt).into_iter().flat_map(|var| kernel.provenance.ancestors(var)).collect();
        let used = with_sources(kernel, used);
        let mut sizes = Vec::new();
        for (var, info) in kernel.vars.iter() {
            let small = info.size.filter(|size| self.options.specialize && *size <= SPECIALIZED_SIZE);
            let size = if let Some(size) = derived_size(&mut self.b, kernel, var, &sizes) {
                size
            } else if let Some(size) = small {
                self.b.int(size as i64)
            } else if !used.contains(&var) {
                self.b.int(0)
            } else if let Some(size) = stored_size(&mut self.b, kernel, var, &sizes) {
                size
            } else {
                self.interface.bindings.push(Binding::Size(var));
                self.b.scalar_param(&format!("{}_size", info.name))
            };
            sizes.push(size);
        }
        sizes
    }

    /// The arrays of a tensor, whose dimensions `vars` walk through.
    fn arrays(
        &mut self,
        id: TensorId,
        tensor: &Tensor,
        vars: &[VarId],
        sizes: &[ExprId],
    ) -> Result<Arrays, Diagnostic> {
        if let Some(indicator) = &tensor.indicator {
            let sizes: Vec<ExprId> = vars.iter().map(|var| sizes[var.index()]).collect();
            let levels = match &**indicator {
                Indicator::Equation(equation) => {
                    indicator::levels(&mut self.b, equation, tensor.format.mode_order(), &sizes)
                }
                Indicator::Inequality(inequality) => {
                    indicator::levels_on_one_side(&mut self.b, inequality, tensor.format.mode_order(), &sizes)
                }
                // The parameters of the tensor whose values they are have to be there before.
                Indicator::Gather(_) => Vec::new(),
            };
            return Ok(Arrays { levels, ..Arrays::default() });
        }
        let phase = self.options.phase;
        let role = match tensor.role {
            Role::Input | Role::Index => ArrayRole::Input,
            _ if tensor.format.is_dense() => ArrayRole::Output,
            _ => ArrayRole::Grown,
        };
        let is_compared = self.options.compared && phase == Phase::Compute;
        let is_read = is_compared || placed_by(self.kernel, phase).is_some();
        let is_alongside = tensor.role == Role::Result && self.kernel.pattern_of.is_some();
        let has_indices = !is_alongside && (role != ArrayRole::Grown || phase.assembles() || is_read);
        // A pattern that is given is only read.
        let is_given = tensor.format.packing().is_some() || (role == ArrayRole::Grown && is_read);
        let index_role = if is_given { ArrayRole::Input } else { role };
        let mut arrays = Arrays::default();
        let is_packed_array = tensor.format.packing().is_some() && tensor.format.is_dense();
        let alike = |(format, of, _): &&Packed| is_packed_array && *format == tensor.format && of == vars;
        if let Some((_, _, levels)) = self.packed.iter().find(alike) {
            arrays.levels = levels.clone();
        }
        let has_own = has_indices && arrays.levels.is_empty();
        for level in (0..tensor.order()).filter(|level| has_own && views::is_stored(tensor, *level)) {
            let size = sizes[vars[tensor.format.mode_order()[level]].index()];
            let mut array = |part, name: &str, width| {
                self.interface.bindings.push(Binding::Level(id, level, part));
                self.b.array_param(name, width, index_role)
            };
            arrays.levels.push(level_code(tensor, level, size, true, &mut array));
        }
        if is_packed_array && has_own {
            self.packed.push((tensor.format.clone(), vars.to_vec(), arrays.levels.clone()));
        }
        if tensor.role == Role::Index
            || tensor.dtype == DType::Pattern
            || (role != ArrayRole::Input && !phase.computes())
        {
            return Ok(arrays);
        }
        let is_given = phase == Phase::Compute && role == ArrayRole::Grown;
        let role = if is_given { ArrayRole::Output } else { role };
        // A tensor of order 0 has exactly one value.
        let at_least = u64::from(tensor.order() == 0);
        let name = format!("{}_vals", tensor.name);
        arrays.values = Some(self.b.array_param_with_len(&name, tensor.dtype, role, at_least));
        self.interface.bindings.push(Binding::Values(id));
        if is_given {
            arrays.stored = Some(self.b.scalar_param(&format!("{}_stored", tensor.name)));
            self.interface.bindings.push(Binding::Stored(id));
        }
        Ok(arrays)
    }

    /// The levels of indicators that gather coordinates.
    fn gathers(
        &mut self,
        used: &[TensorId],
        tensors: &mut [Arrays],
        (vars, sizes): (&FxHashMap<TensorId, Vec<VarId>>, &[ExprId]),
    ) {
        for (id, tensor) in self.kernel.tensors.iter().filter(|(id, _)| used.contains(id)) {
            let Some(Indicator::Gather(gather)) = tensor.indicator.as_deref() else { continue };
            let dims: Vec<ExprId> = vars[&id].iter().map(|var| sizes[var.index()]).collect();
            tensors[id.index()].levels = match &gather.source {
                Source::List(list) => gathered::of_list(&mut self.b, tensor, list, &dims),
                Source::Border(border) => border::levels(&mut self.b, border, tensor.format.mode_order(), &dims),
                Source::Tensor(of) => match tensors[of.index()].values {
                    Some(values) => gathered::of_values(tensor, values, &dims),
                    None => Vec::new(),
                },
            };
        }
    }

    /// The levels of views. They may go through an array of another tensor, which is there even where that is read converted.
    fn views(&mut self, used: &[TensorId], tensors: &mut [Arrays], sizes: &[ExprId]) -> Result<(), Diagnostic> {
        let kernel = self.kernel;
        let mut rankings: FxHashMap<TensorId, ArrayId> = FxHashMap::default();
        for (id, tensor) in kernel.tensors.iter().filter(|(id, _)| used.contains(id)) {
            let stored = std::mem::take(&mut tensors[id.index()].levels);
            let mut ranking = |b: &mut Builder, ranked: TensorId, level: usize| {
                let own = tensors[ranked.index()].levels.get(level).and_then(|code| code.array(Part::RANKING));
                own.unwrap_or_else(|| {
                    *rankings.entry(ranked).or_insert_with(|| {
                        let info = &kernel.tensors[ranked];
                        self.interface.bindings.push(Binding::Level(ranked, level, Part::RANKING));
                        let name = format!("{}{}_{}", info.name, level + 1, Part::RANKING.name);
                        b.array_param(&name, info.format.coordinates(level).dtype(), ArrayRole::Input)
                    })
                })
            };
            let seen = views::seen(&mut self.b, (kernel, tensor), stored, sizes, &mut ranking)?;
            tensors[id.index()].levels = seen;
        }
        Ok(())
    }
}

/// For each tensor, the variable of each dimension in one of its accesses (all have the same sizes).
pub(super) fn dimension_vars(kernel: &Kernel) -> FxHashMap<TensorId, Vec<VarId>> {
    let mut vars = FxHashMap::default();
    kernel.stmt.visit_assigns(&mut |assign| {
        vars.entry(assign.lhs.tensor).or_insert_with(|| assign.lhs.vars.clone());
        for access in assign.rhs.accesses() {
            vars.entry(access.tensor).or_insert_with(|| access.vars.clone());
            if let (Some(of), Some((_, others))) = (kernel.tensors[access.tensor].gathered(), access.vars.split_last())
            {
                vars.entry(of).or_insert_with(|| others.to_vec());
            }
        }
    });
    vars
}

/// The variables that a statement has loops over.
fn loop_vars(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(var, body) => [vec![*var], loop_vars(body)].concat(),
        Stmt::Where { consumer, producer } => [loop_vars(consumer), loop_vars(producer)].concat(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(loop_vars).collect(),
    }
}
