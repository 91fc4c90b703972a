//! A statement of concrete notation to a kernel of it: names become handles, expressions get their types.
//!
//! On entry its meaning has been checked. On exit the kernel's first tensors and variables are those of the program, with the same
//! handles; a workspace whose kind no line says is `sorted` (or a variable), and it is left to the planner to choose.

use lacunar_base::Span;
use lacunar_formats::{DType, Scalar};
use lacunar_notation::concrete::{Assign, Kernel, Stmt as Made};
use lacunar_notation::index::values_name;
use lacunar_notation::provenance::{Provenance, Relation as Known};
use lacunar_notation::schedule::{Assembly, BoundKind, Parts};
use lacunar_notation::{
    Access, Assignment, Expr, ExprKind, IndexVar, Monoid, Program, Role, Tensor, TensorId, VarId, WorkspaceKind,
};

use super::ast::{Nest, RelationKind, Stmt};
use super::error::Mistake;
use super::lines::{Line, LineRole};
use super::terms::{index_name, visit};
use crate::einsum::{Error, Typing};

/// The kernel of a statement whose result is `result`.
///
/// # Errors
/// The mistakes in the types of workspaces, and a relation or a line about a tensor that is not there.
pub(crate) fn resolve(
    program: &Program,
    statement: &Assignment,
    nest: &Nest,
    lines: &[Line],
) -> Result<Kernel, Vec<Error>> {
    let result = statement.lhs.tensor;
    let mut kernel = Kernel { tensors: program.tensors.clone(), vars: program.vars.clone(), ..Kernel::default() };
    for tensor in program.tensors.handles() {
        let role = &mut kernel.tensors[tensor].role;
        *role = match *role {
            computed if computed.is_computed() => computed,
            _ if tensor == result => Role::Result,
            _ => Role::Input,
        };
    }
    // A variable comes before the variables that derive from it.
    let made: Vec<VarId> = nest.provenance.relations.iter().flat_map(Known::children).collect();
    let is_made = |place: usize| made.contains(&VarId::from_index(place));
    let originals = (0..nest.vars.len()).filter(|place| !is_made(*place)).map(VarId::from_index);
    let mut vars = vec![VarId::from_index(0); nest.vars.len()];
    for own in originals.chain(made.iter().copied()) {
        if let Some((name, span)) = nest.vars.get_index(own.index()) {
            vars[own.index()] = var(&mut kernel, name, *span);
        }
    }
    let of_result = Line::of(lines, &program.tensors[result].name, statement.span).map(|line| line.role);
    kernel.updates = of_result == Some(LineRole::Updated);
    if nest.is_inserted || of_result == Some(LineRole::Inserted) {
        kernel.assembly = Assembly::Insert;
    }
    let mut indices = Vec::new();
    statement.rhs.visit(&mut |expr| match &expr.kind {
        ExprKind::Reduce(monoid, vars, _) if monoid.compared().is_some() => indices.extend(vars),
        _ => {}
    });
    let span = statement.span;
    let mut resolver = Resolver { nest, lines, span, kernel, vars, workspaces: Vec::new(), indices };
    resolver.add_workspaces();
    resolver.add_values(&nest.body);
    resolver.kernel.provenance = resolver.provenance().map_err(|mistake| vec![mistake.into()])?;
    resolver.size();
    resolver.kernel.stmt = resolver.typed()?;
    resolver.settle()?;
    Ok(resolver.kernel)
}

/// The loops around a statement.
#[derive(Default)]
struct Around {
    loops: Vec<VarId>,
    /// Workspaces whose consumer and producer are around, and the number of loops around these.
    begun: Vec<(TensorId, usize)>,
}

impl Around {
    /// The loops around all that a tensor is used for.
    fn outside(&self, tensor: TensorId) -> &[VarId] {
        let begun = self.begun.iter().rev().find(|(own, _)| *own == tensor);
        &self.loops[..begun.map_or(0, |(_, count)| *count)]
    }
}

/// The variable of a name, made if the program has none.
fn var(kernel: &mut Kernel, name: &str, span: Span) -> VarId {
    let known = kernel.vars.iter().find(|(_, var)| var.name == name).map(|(id, _)| id);
    known.unwrap_or_else(|| kernel.vars.push(IndexVar { name: name.to_string(), size: None, span }))
}

struct Resolver<'a> {
    nest: &'a Nest,
    lines: &'a [Line],
    /// The statement, behind which its lines stand.
    span: Span,
    kernel: Kernel,
    /// The kernel's variable of each of the nest's.
    vars: Vec<VarId>,
    workspaces: Vec<TensorId>,
    /// The variables whose values the statement asks for.
    indices: Vec<VarId>,
}

impl Resolver<'_> {
    fn var(&self, name: &str) -> VarId {
        self.nest.var(name).map_or_else(|| VarId::from_index(0), |var| self.vars[var.index()])
    }

    fn line(&self, name: &str) -> Option<&Line> {
        Line::of(self.lines, name, self.span)
    }

    /// Adds the workspaces, in the order of their lines.
    fn add_workspaces(&mut self) {
        let place = |name: &String| self.lines.iter().position(|line| line.name == **name).unwrap_or(usize::MAX);
        let mut names = self.nest.workspaces.clone();
        names.sort_by_key(place);
        for name in names {
            let filled = first_assignment(&self.nest.body, &name);
            let order = filled.map_or(0, |(vars, _)| vars.len());
            let kind = if order == 0 { WorkspaceKind::Scalar } else { WorkspaceKind::Sorted };
            let kind = match self.line(&name).map(|line| line.role) {
                Some(LineRole::Workspace(kind)) => kind,
                _ => kind,
            };
            let dtype = self.line(&name).map_or(DType::F64, |line| line.dtype);
            let dims = filled.map_or_else(Vec::new, |(vars, _)| vec![None; vars.len()]);
            let fill = lacunar_formats::Scalar::zero(dtype);
            let span = filled.map_or(Span::NONE, |(_, span)| span);
            self.workspaces.push(self.kernel.tensors.push(Tensor::workspace(name, kind, dims, fill, span)));
        }
    }

    /// Adds the values of variables that the loops read and the statement's meaning does not. After `y(i) += i`, the meaning of
    /// `y(j) += j` has `i` in place of `j`.
    fn add_values(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(statement) => visit(&statement.rhs, &mut |name, _| {
                let values = values_name(name);
                if let Some(own) = self.nest.var(name).filter(|_| self.tensor(name).is_none())
                    && self.tensor(&values).is_none()
                {
                    let IndexVar { size, span, .. } = self.kernel.vars[self.vars[own.index()]];
                    self.kernel.tensors.push(Tensor::values_of(values, size, span));
                }
            }),
            Stmt::Forall { body, .. } => self.add_values(body),
            Stmt::Where { consumer, producer } => {
                self.add_values(producer);
                self.add_values(consumer);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| self.add_values(stmt)),
        }
    }

    fn tensor(&self, name: &str) -> Option<TensorId> {
        self.kernel.tensors.iter().find(|(_, tensor)| tensor.name == name).map(|(id, _)| id)
    }

    fn provenance(&self) -> Result<Provenance, Mistake> {
        let map = |var: VarId| self.vars[var.index()];
        let mut made = Provenance::default();
        for (relation, written) in self.nest.provenance.relations.iter().zip(&self.nest.relations) {
            made.relations.push(match *relation {
                Known::Pos { coordinate, position, .. } => {
                    let access = self.position(&written.kind)?;
                    Known::Pos { coordinate: map(coordinate), position: map(position), access }
                }
                _ => relation.map(map),
            });
        }
        self.tags(&self.nest.body, &mut made);
        Ok(made)
    }

    /// The access of a `pos`, which is one of the statement.
    fn position(&self, kind: &RelationKind) -> Result<Access, Mistake> {
        let RelationKind::Pos { tensor, vars } = kind else {
            return Ok(Access { tensor: TensorId::from_index(0), vars: Vec::new(), span: Span::NONE });
        };
        let no_relation = Mistake::NoRelation { span: tensor.span };
        let found = self.tensor(&tensor.text).filter(|found| self.kernel.tensors[*found].order() == vars.len());
        let found = found.ok_or(no_relation)?;
        if let Some(unknown) = vars.iter().find(|var| self.nest.var(&var.text).is_none()) {
            return Err(Mistake::NoLoop { span: unknown.span, name: unknown.text.clone() });
        }
        let vars = vars.iter().map(|var| self.var(&var.text)).collect();
        Ok(Access { tensor: found, vars, span: tensor.span })
    }

    fn tags(&self, stmt: &Stmt, made: &mut Provenance) {
        match stmt {
            Stmt::Assign(_) => {}
            Stmt::Forall { var, tags, body } => {
                let var = self.var(&var.text);
                // All loops over a variable have the same tags, which one of them may have twice.
                let known = made.tags.clone();
                made.tags.extend(tags.iter().map(|tag| (var, *tag)).filter(|tagged| !known.contains(tagged)));
                self.tags(body, made);
            }
            Stmt::Where { consumer, producer } => {
                self.tags(producer, made);
                self.tags(consumer, made);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| self.tags(stmt, made)),
        }
    }

    /// Gives sizes to the variables that relations make, where they follow from those that are known.
    fn size(&mut self) {
        let vars = &mut self.kernel.vars;
        for relation in &self.kernel.provenance.relations {
            match *relation {
                Known::Split { inner, size, .. } => vars[inner].size = Some(size),
                Known::Divide { outer, parts: Parts::Count(count), .. } => vars[outer].size = Some(count),
                Known::Fuse { outer, inner, fused } => {
                    vars[fused].size = vars[outer].size.zip(vars[inner].size).and_then(|(a, b)| a.checked_mul(b));
                }
                Known::Bound { bounded, size, kind: BoundKind::MaxExact, .. } => vars[bounded].size = Some(size),
                Known::Bound { parent, bounded: var, .. } | Known::Rename { parent, copy: var } => {
                    vars[var].size = vars[parent].size;
                }
                Known::Divide { .. } | Known::Pos { .. } | Known::Coord { .. } => {}
            }
        }
    }

    /// The statement with types, and the types of the workspaces.
    fn typed(&mut self) -> Result<Made, Vec<Error>> {
        let open: Vec<TensorId> = self
            .workspaces
            .iter()
            .copied()
            .filter(|&made| self.line(&self.kernel.tensors[made].name).is_none())
            .collect();
        let mut decided: Vec<(TensorId, DType)> = Vec::new();
        loop {
            let still = open.iter().copied().filter(|made| decided.iter().all(|(known, _)| known != made)).collect();
            let mut typing = Typing::new(&self.kernel.tensors, &self.kernel.vars, still);
            let made = self.stmt(&self.nest.body, &mut Around::default(), &mut typing)?;
            let dtypes: Vec<(TensorId, DType)> = open.iter().filter_map(|&id| Some((id, typing.dtype(id)?))).collect();
            for &(id, dtype) in &dtypes {
                self.kernel.tensors[id].dtype = dtype.arithmetic();
            }
            // Values that are only stored so are computed otherwise, and not rounded on the way.
            let stored: Vec<_> = dtypes.into_iter().filter(|(_, dtype)| dtype.is_storage()).collect();
            if stored.is_empty() {
                return Ok(made);
            }
            decided.extend(stored);
        }
    }

    /// A statement inside of loops.
    fn stmt(&self, stmt: &Stmt, around: &mut Around, typing: &mut Typing) -> Result<Made, Vec<Error>> {
        Ok(match stmt {
            Stmt::Assign(statement) => {
                let tensor = self.tensor(&statement.name.text).unwrap_or_else(|| TensorId::from_index(0));
                let vars = statement.indices.iter().map(|index| self.var(index_name(index))).collect();
                let lhs = Access { tensor, vars, span: statement.lhs_span };
                let compares = statement.op.monoid().is_some_and(|monoid| monoid.compared().is_some());
                let (op, rhs) = match compares && self.workspaces.contains(&tensor) {
                    true => (statement.op, self.beside_index(typing.place(statement, tensor)?, &lhs, around)?),
                    false => typing.value(statement, tensor)?,
                };
                let identity = op.monoid().and_then(|monoid| monoid.identity(rhs.dtype));
                let rhs = match identity {
                    Some(identity) if !identity.is_zero() => chosen(rhs, identity),
                    _ => rhs,
                };
                Made::Assign(Assign { lhs, op, rhs })
            }
            Stmt::Forall { var, body, .. } => {
                let var = self.var(&var.text);
                around.loops.push(var);
                let body = self.stmt(body, around, typing)?;
                around.loops.pop();
                Made::Forall(var, Box::new(body))
            }
            Stmt::Where { consumer, producer } => {
                let outside = around.begun.len();
                self.begin(producer, around);
                let producer = Box::new(self.stmt(producer, around, typing)?);
                around.begun.truncate(outside);
                Made::Where { consumer: Box::new(self.stmt(consumer, around, typing)?), producer }
            }
            Stmt::Sequence(stmts) => {
                Made::Sequence(stmts.iter().map(|stmt| self.stmt(stmt, around, typing)).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Notes that the workspaces which a producer fills begin here.
    fn begin(&self, producer: &Stmt, around: &mut Around) {
        match producer {
            Stmt::Assign(statement) => {
                let filled = self.tensor(&statement.name.text).filter(|filled| self.workspaces.contains(filled));
                around.begun.extend(filled.map(|filled| (filled, around.loops.len())));
            }
            Stmt::Forall { body, .. } => self.begin(body, around),
            Stmt::Where { consumer, producer } => {
                self.begin(producer, around);
                self.begin(consumer, around);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| self.begin(stmt, around)),
        }
    }

    /// A value beside the index that it is of: the one variable, of those whose values are asked for, that loops around the value tell, and
    /// neither the target nor loops around all of its values. If there is none, a workspace of indices has them beside already.
    fn beside_index(&self, value: Expr, lhs: &Access, around: &Around) -> Result<Expr, Vec<Error>> {
        let provenance = &self.kernel.provenance;
        let original = |mut var: VarId| {
            while let Some(Known::Rename { parent, .. }) = provenance.origin(var) {
                var = *parent;
            }
            var
        };
        let is_meant = |var: &VarId| {
            let is_asked = self.indices.contains(&original(*var)) && !lhs.vars.contains(var);
            is_asked
                && provenance.is_known(*var, &around.loops)
                && !provenance.is_known(*var, around.outside(lhs.tensor))
        };
        let mut meant = self.kernel.vars.handles().filter(is_meant);
        let found = match (meant.next(), meant.next()) {
            // A copy stands for its original.
            (Some(var), other) if other.is_none_or(|other| original(other) == original(var)) => other.unwrap_or(var),
            (None, _) if matches!(&value.kind, ExprKind::Access(read) if self.holds_indices(read.tensor)) => {
                return Ok(value);
            }
            _ => {
                let name = self.kernel.tensors[lhs.tensor].name.clone();
                return Err(vec![Mistake::NoPlace { span: lhs.span, name }.into()]);
            }
        };
        let name = values_name(&self.kernel.vars[original(found)].name);
        let Some(tensor) = self.tensor(&name) else {
            return Err(vec![Mistake::NoPlace { span: lhs.span, name }.into()]);
        };
        let access = Access { tensor, vars: vec![found], span: value.span };
        let index = Expr { kind: ExprKind::Access(access), dtype: DType::I64, span: value.span };
        Ok(Expr::at(value, index))
    }

    /// True for a workspace that is filled with indices.
    fn holds_indices(&self, tensor: TensorId) -> bool {
        let name = &self.kernel.tensors[tensor].name;
        self.workspaces.contains(&tensor) && compares(&self.nest.body, name)
    }

    /// Sizes and fill values of the workspaces; relations between the names by which they are filled and read.
    fn settle(&mut self) -> Result<(), Vec<Error>> {
        let mut sizes: Vec<Option<u64>> = self.kernel.vars.iter().map(|(_, var)| var.size).collect();
        self.kernel.share_sizes(&mut sizes);
        for (var, size) in self.kernel.vars.handles().zip(sizes) {
            self.kernel.vars[var].size = size;
        }
        for &id in &self.workspaces {
            let name = self.kernel.tensors[id].name.clone();
            let mut monoid = None;
            let mut vars = Vec::new();
            self.kernel.stmt.visit_assigns(&mut |assign| {
                if assign.lhs.tensor == id {
                    monoid = monoid.or(assign.op.monoid());
                    vars.clone_from(&assign.lhs.vars);
                }
            });
            let dims = vars.iter().map(|var| self.kernel.vars[*var].size).collect();
            let dtype = self.kernel.tensors[id].dtype;
            let said = self.line(&name).map(|line| line.role);
            // A tensor that is only stored is not combined with: its line alone tells.
            let declared = self.line(&name).and_then(|line| line.fill).filter(|fill| fill.ty == dtype);
            let identity = monoid.or(declared.is_none().then_some(Monoid::SUM)).and_then(|own| own.identity(dtype));
            let fill = identity.or(declared).unwrap_or(lacunar_formats::Scalar::zero(dtype));
            let tensor = &self.kernel.tensors[id];
            let Role::Workspace(kind) = tensor.role else { continue };
            let is_place = monoid.is_some_and(|monoid| monoid.compared().is_some());
            if is_place && said.is_some() && tensor.role.is_listed() {
                return Err(vec![Mistake::PlaceKind { span: tensor.span, name }.into()]);
            }
            if kind == WorkspaceKind::Scalar && !vars.is_empty() {
                return Err(vec![Mistake::ScalarKind { span: tensor.span, name, indices: vars.len() }.into()]);
            }
            let kind = kind.for_order(vars.len());
            self.kernel.tensors[id] = Tensor::workspace(name, kind, dims, fill, tensor.span);
            if said.is_some() {
                self.kernel.provenance.stored.push(id);
            }
        }
        Ok(())
    }
}

/// True if a tensor is assigned the places of least or greatest values.
fn compares(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::Assign(statement) => {
            statement.name.text == name && statement.op.monoid().is_some_and(|monoid| monoid.compared().is_some())
        }
        Stmt::Forall { body, .. } => compares(body, name),
        Stmt::Where { consumer, producer } => compares(consumer, name) || compares(producer, name),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| compares(stmt, name)),
    }
}

/// The variables and the place of the first assignment to a tensor.
fn first_assignment<'s>(stmt: &'s Stmt, name: &str) -> Option<(&'s [crate::einsum::Expr], Span)> {
    match stmt {
        Stmt::Assign(statement) => {
            (statement.name.text == name).then_some((statement.indices.as_slice(), statement.lhs_span))
        }
        Stmt::Forall { body, .. } => first_assignment(body, name),
        Stmt::Where { consumer, producer } => {
            first_assignment(producer, name).or_else(|| first_assignment(consumer, name))
        }
        Stmt::Sequence(stmts) => stmts.iter().find_map(|stmt| first_assignment(stmt, name)),
    }
}

/// The value that a reduction combines. A `select` that yields the identity of the reduction contributes nothing there, as zero in a sum.
fn chosen(expr: Expr, identity: Scalar) -> Expr {
    let ExprKind::Select(operands) = expr.kind else { return expr };
    let [condition, a, b] = *operands;
    let or_nothing = |own: Expr| match own.kind {
        ExprKind::Literal(literal) if literal.value(own.dtype).equals(identity) => {
            Expr { span: own.span, ..Expr::fill(identity) }
        }
        _ => chosen(own, identity),
    };
    Expr { span: expr.span, ..Expr::select(condition, or_nothing(a), or_nothing(b)) }
}
