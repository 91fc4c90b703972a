//! Facts about a statement that may surprise whoever wrote it.
//!
//! ```text
//! y(i) = P(i,j)            P is a pattern: y(i) says whether the row has an entry, not how many
//! C(k + 10, j) = A(k,j)    C has 5 rows: nothing is assigned
//! y(0) = 1; y(1) = 2       y(0) is 0 again
//! d(j) min= A(i,j) + d(i)  A is sparse: an element that is not stored is an edge of length 0
//! ```

use lacunar_formats::DType;
use lacunar_notation::{
    Access, Action, AssignOp, Assignment, BinaryFn, Equation, Expr, ExprKind, Monoid, Program, Tensor, TensorId,
    UnaryFn,
};

/// The warnings about a statement of a program by its number, which is also given in reduction notation. The type of its result may be
/// declared.
pub(crate) fn of_statement(program: &Program, number: usize, explicit: &Assignment, is_declared: bool) -> Vec<String> {
    let counted = if is_declared { None } else { of_patterns(program, explicit) };
    let statement = &program.statements[number];
    let outside = outside(program, statement);
    outside.into_iter().chain(lost(program, number)).chain(of_gaps(program, explicit)).chain(counted).collect()
}

/// A statement that assigns a part of a tensor whose elements have just been assigned, and not been read since: all others get
/// the value of elements that are not stored.
fn lost(program: &Program, number: usize) -> Option<String> {
    let statement = &program.statements[number];
    let is_index = |access: &&Access| {
        let indicator = program.tensors[access.tensor].indicator.as_deref();
        let of_result = access.vars.last().is_some_and(|last| statement.lhs.vars.contains(last));
        of_result && indicator.is_some_and(|own| own.equation().is_some()) && is_factor(&statement.rhs, access)
    };
    if statement.op != AssignOp::Set {
        return None;
    }
    statement.rhs.accesses().into_iter().find(is_index)?;
    // The tensors with a value that nothing has read, before each action in the order of the text.
    let mut unread: Vec<TensorId> = Vec::new();
    let mut is_lost = false;
    Action::visit(&program.body, &mut |action| match action {
        Action::Assign(other) => {
            let (lhs, rhs) = (program.statements[*other].lhs.tensor, &program.statements[*other].rhs);
            unread.retain(|tensor| rhs.accesses().iter().all(|access| access.tensor != *tensor));
            is_lost |= *other == number && unread.contains(&lhs);
            unread.push(lhs);
        }
        Action::Fill(tensor, _) | Action::Random { tensor, .. } | Action::Read(tensor, _) => unread.push(*tensor),
        _ => unread.clear(),
    });
    let name = &program.tensors[statement.lhs.tensor].name;
    let text = program.statement_text(statement);
    is_lost.then(|| {
        format!("`{text}` assigns all of `{name}`: elements that had values before and are not at its indices lose them; `+=` adds to those that are there, `min=` takes the lesser ones")
    })
}

/// A statement all of whose values go to places outside of its result.
fn outside(program: &Program, statement: &Assignment) -> Option<String> {
    let is_outside = |access: &&Access| {
        let equation = program.tensors[access.tensor].indicator.as_deref().and_then(|indicator| indicator.equation());
        let sizes: Option<Vec<u64>> = access.vars.iter().map(|var| program.vars[*var].size).collect();
        let is_index = access.vars.last().is_some_and(|last| statement.lhs.vars.contains(last));
        let never = equation.zip(sizes).is_some_and(|(equation, sizes)| never_holds(equation, &sizes));
        is_index && never && is_factor(&statement.rhs, access)
    };
    statement.rhs.accesses().into_iter().find(is_outside)?;
    let target = &program.tensors[statement.lhs.tensor];
    let sizes: Vec<String> = target.dims.iter().flatten().map(u64::to_string).collect();
    Some(format!(
        "`{}` assigns no element: its indices lie outside of `{}`, whose sizes are {}",
        program.statement_text(statement),
        target.name,
        sizes.join("x")
    ))
}

/// True if the sum of an equation is 0 at no coordinate of dimensions of these sizes, each of which has some: it is on one side of 0.
fn never_holds(equation: &Equation, sizes: &[u64]) -> bool {
    let most = |sign: i128| {
        let terms = equation.factors.iter().zip(sizes).map(|(factor, size)| {
            let last = i128::from(*size) - 1;
            (sign * i128::from(*factor)).max(0) * last
        });
        terms.sum::<i128>() + sign * i128::from(equation.constant)
    };
    !sizes.contains(&0) && (most(1) < 0 || most(-1) < 0)
}

/// True if an expression is absent wherever one of its operands is.
fn is_factor(expr: &Expr, of: &Access) -> bool {
    match &expr.kind {
        ExprKind::Access(access) => access.is_same_element(of),
        ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) | ExprKind::Unary(UnaryFn::Neg | UnaryFn::Prune, a) => {
            is_factor(a, of)
        }
        ExprKind::Binary(BinaryFn::Mul, a, b) => is_factor(a, of) || is_factor(b, of),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) => is_factor(a, of) && is_factor(b, of),
        // Confined by its indices, a value is else that which changes nothing.
        ExprKind::Select(operands) => is_factor(&operands[0], of),
        _ => false,
    }
}

/// A minimum of sums or products, or a maximum of sums, that reads a sparse tensor of fill value 0. Elements that are not stored take part as 0.
fn of_gaps(program: &Program, explicit: &Assignment) -> Option<String> {
    let is_gappy = |access: &&Access| {
        let tensor = program.tensors.get(access.tensor);
        tensor.is_some_and(|tensor| {
            let is_number = !matches!(tensor.dtype, DType::Bool | DType::Pattern);
            let has_gaps = !tensor.format.is_dense() && tensor.format.packing().is_none();
            is_number && has_gaps && !tensor.role.is_computed() && tensor.fill().is_zero()
        })
    };
    let mut found = None;
    explicit.rhs.visit(&mut |expr| {
        let ExprKind::Reduce(monoid, _, body) = &expr.kind else { return };
        let is_surprising = match &body.kind {
            ExprKind::Binary(BinaryFn::Add, ..) => matches!(monoid.name(), "min" | "max"),
            ExprKind::Binary(BinaryFn::Mul, ..) => monoid.name() == "min",
            _ => false,
        };
        if is_surprising && found.is_none() {
            let own = body.accesses().into_iter().find(is_gappy).map(|access| &program.tensors[access.tensor]);
            found = own.map(|tensor| (tensor, monoid.name()));
        }
    });
    let (Tensor { name, dtype, .. }, reduction) = found?;
    let neutral = if reduction == "min" { "inf" } else { "-inf" };
    // Whole numbers have no infinity.
    let of_reals = if dtype.is_float() { String::new() } else { format!("-t {name}:f64 ") };
    Some(format!(
        "elements that `{name}` does not store are 0, and take part in `{reduction}`; `{of_reals}--fill {name}:{neutral}` leaves them out"
    ))
}

/// A sum over a pattern that is a truth value because nothing in it is a number.
fn of_patterns(program: &Program, explicit: &Assignment) -> Option<String> {
    let target = &program.tensors[explicit.lhs.tensor];
    if target.dtype != DType::Bool {
        return None;
    }
    let mut found = None;
    explicit.rhs.visit(&mut |expr| {
        if let ExprKind::Reduce(Monoid::SUM, _, body) = &expr.kind
            && expr.dtype == DType::Bool
        {
            let is_pattern = |access: &&Access| {
                let tensor = program.tensors.get(access.tensor);
                // Variables of sums inside of sums may have got other names.
                access.vars.iter().all(|var| program.vars.get(*var).is_some())
                    && tensor.is_some_and(|tensor| tensor.dtype == DType::Pattern && !tensor.role.is_computed())
            };
            found = found.or(body.accesses().into_iter().find(is_pattern));
        }
    });
    let access = found?;
    let (name, pattern) = (&target.name, &program.tensors[access.tensor].name);
    let vars: Vec<&str> = access.vars.iter().map(|var| program.vars[*var].name.as_str()).collect();
    let text = format!("{pattern}({})", vars.join(","));
    Some(format!(
        "`{name}` is of truth values: a sum over the pattern `{pattern}` says whether there is an entry; write `f64({text})` to count \
         entries, or declare the type, `-t {name}:bool`"
    ))
}
