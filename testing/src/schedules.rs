//! Random schedules that are meant to be legal: each command is made from the program and the commands before it alone. Numbers
//! are small or huge. A few schedules are *daring*: positions are asked for wherever an operand has some, which is often refused.
//!
//! The maker tracks the nest of loops as it stands after each command: the variables of the statement from which a loop
//! derives, and its values: coordinates, positions, or a part of either. This tells which commands can come next. If a
//! command depends on the order of the loops, a leading `reorder` of all of them has fixed it.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      reorder(i, j), fuse(i, j, s1), pos(s1, s2, A(i,j)), split(s2, s3, s4, 3), parallelize(s3, cpu, auto)
//! ```
//!
//! A compiler may still refuse some: the places of workspaces are not known here.

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::{Format, Term as Stored};
use lacunar_notation::{Access, AssignOp, Assignment, BinaryFn, Expr, ExprKind, Program, Role, Tensor, UnaryFn, VarId};
use lacunar_oracle::operators::Operation;
use lacunar_oracle::sums::{self, Index, Node, Term};

/// The most commands for one statement.
const LONGEST: usize = 5;
/// Variables of this size and above are those of elements that are added to other terms of an index.
const UNBOUNDED: u64 = 1 << 40;
/// Numbers with which sizes could wrap around.
const HUGE: [u64; 7] = [1 << 31, 1 << 32, 1 << 62, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, u64::MAX];
/// Only loops of at most so many iterations are unrolled by a command without a number.
const LONGEST_UNROLLED: u64 = 5;

/// A random schedule for a program: commands in order, each with its statement where there are several.
pub fn schedule(rng: &mut Rng, program: &Program) -> Vec<String> {
    let several = program.statements.len() > 1;
    let mut commands = Vec::new();
    let mut names = 0;
    for (number, statement) in program.statements.iter().enumerate() {
        if several && rng.bool() {
            continue;
        }
        let mut maker = Maker::new(rng, program, statement, names);
        maker.commands();
        names = maker.names;
        let prefix = if several { format!("{}: ", number + 1) } else { String::new() };
        commands.extend(maker.made.into_iter().map(|command| prefix.clone() + &command));
    }
    commands
}

/// A loop of the nest.
#[derive(Clone, Debug)]
struct Loop {
    name: String,
    /// The variables of the statement that it derives from, outermost first.
    vars: Vec<VarId>,
    /// True if it is a variable of the statement, or several fused.
    whole: bool,
    /// True if it runs over positions, or strips of them.
    positions: bool,
    /// The number of its iterations, if the schedule tells it.
    count: Option<u64>,
    /// True if it is shared out to threads.
    parallel: bool,
}

struct Maker<'a> {
    rng: &'a mut Rng,
    program: &'a Program,
    statement: &'a Assignment,
    /// The loops, outermost first; in that order where `ordered` says so.
    loops: Vec<Loop>,
    ordered: bool,
    /// True if the loops hold one assignment and nothing else.
    flat: bool,
    /// True if positions are asked for where they may be refused.
    daring: bool,
    /// Operands that every value needs.
    factors: Vec<&'a Access>,
    /// Accesses whose positions are looped over, as the variables of their levels.
    positioned: Vec<Vec<VarId>>,
    names: usize,
    made: Vec<String>,
}

impl<'a> Maker<'a> {
    fn new(rng: &'a mut Rng, program: &'a Program, statement: &'a Assignment, names: usize) -> Maker<'a> {
        let whole = with_sums(statement);
        let mut sums = Vec::new();
        summed(&whole, &mut sums);
        let distinct = (1..sums.len()).all(|n| !sums[..n].contains(&sums[n]));
        let free = sums.iter().all(|var| !statement.lhs.vars.contains(var));
        let mut vars = statement.lhs.vars.clone();
        if distinct && free {
            vars.extend(&sums);
        }
        // The loops over an element in an index would visit more values than can be visited, if they were split.
        vars.retain(|var| {
            program.vars[*var].size.is_none_or(|size| size < UNBOUNDED) || statement.lhs.vars.contains(var)
        });
        let fresh = |var: &VarId| Loop {
            name: program.vars[*var].name.clone(),
            vars: vec![*var],
            whole: true,
            positions: false,
            count: None,
            parallel: false,
        };
        let own = statement.rhs.accesses().iter().any(|access| access.tensor == statement.lhs.tensor);
        let sparse = !program.tensors[statement.lhs.tensor].format.is_dense();
        let split = own || (sparse && statement.op != AssignOp::Set);
        let daring = rng.one_in(10);
        let mut factors = Vec::new();
        match daring {
            true => factors = statement.rhs.accesses(),
            false => collect_factors(&statement.rhs, &mut factors),
        }
        Maker {
            rng,
            program,
            statement,
            loops: vars.iter().map(fresh).collect(),
            ordered: vars.len() < 2,
            flat: distinct && free && !split && one_sum(&whole),
            daring,
            factors,
            positioned: Vec::new(),
            names,
            made: Vec::new(),
        }
    }

    fn commands(&mut self) {
        if self.loops.is_empty() {
            return;
        }
        if self.loops.len() > 1 && self.rng.u8(..10) < 7 {
            self.rng.shuffle(&mut self.loops);
            self.reordered();
            self.ordered = true;
        }
        let wanted = self.rng.usize(..=LONGEST);
        for _ in 0..4 * LONGEST {
            if self.made.len() >= wanted {
                return;
            }
            self.command();
        }
    }

    /// Tries one command; not every one is possible where it is drawn.
    fn command(&mut self) {
        match self.rng.u8(..25) {
            0..=3 => self.split(),
            4 | 5 => self.divide(),
            6 | 7 => self.reorder(),
            8..=10 => self.fuse(),
            11..=13 => self.pos(),
            14 => self.coord(),
            15..=17 => self.share(),
            18 => self.vector(),
            19 => self.unroll(),
            20 => self.bound(),
            21 => self.assemble(),
            22 => self.mergeby(),
            23 => self.fission(),
            _ => self.precompute(),
        }
    }

    fn name(&mut self) -> String {
        loop {
            self.names += 1;
            let name = format!("s{}", self.names);
            let taken = self.program.vars.iter().any(|(_, var)| var.name == name)
                || self.program.tensors.iter().any(|(_, tensor)| tensor.name == name);
            if !taken {
                return name;
            }
        }
    }

    fn any(&mut self) -> usize {
        self.rng.usize(..self.loops.len())
    }

    fn reordered(&mut self) {
        let names: Vec<&str> = self.loops.iter().map(|own| own.name.as_str()).collect();
        self.made.push(format!("reorder({})", names.join(", ")));
    }

    fn is_sparse(&self) -> bool {
        !self.program.tensors[self.statement.lhs.tensor].format.is_dense()
    }

    fn is_summed(&self, own: &Loop) -> bool {
        own.vars.iter().any(|var| !self.statement.lhs.vars.contains(var))
    }

    /// Replaces a loop by one over strips and one inside of a strip.
    fn strips(&mut self, at: usize, outer: String, inner: String, counts: (Option<u64>, Option<u64>)) {
        let old = self.loops[at].clone();
        let part = |name, count| Loop { name, whole: false, count, ..old.clone() };
        self.loops.splice(at..=at, [part(outer, counts.0), part(inner, counts.1)]);
    }

    /// A number from 1 up to some small one, or a huge one.
    fn number(&mut self, most: u64) -> u64 {
        match self.rng.u8(..20) {
            0 => HUGE[self.rng.usize(..HUGE.len())],
            _ => self.rng.u64(1..=most),
        }
    }

    fn split(&mut self) {
        let (at, size) = (self.any(), self.number(5));
        if self.loops[at].parallel {
            return;
        }
        let (outer, inner) = (self.name(), self.name());
        self.made.push(format!("split({}, {outer}, {inner}, {size})", self.loops[at].name));
        self.strips(at, outer, inner, (None, Some(size)));
        // Inner halves meet other loops in fused ones.
        if self.rng.one_in(4) && at + 2 < self.loops.len() {
            self.fuse_at(at + 1);
        }
    }

    fn divide(&mut self) {
        let (at, parts) = (self.any(), self.number(4));
        if self.loops[at].parallel {
            return;
        }
        let (outer, inner) = (self.name(), self.name());
        let (text, count) = match self.rng.u8(..3) {
            0 => (format!("{parts} threads"), None),
            _ => (parts.to_string(), Some(parts).filter(|parts| *parts <= 4)),
        };
        self.made.push(format!("divide({}, {outer}, {inner}, {text})", self.loops[at].name));
        self.strips(at, outer, inner, (count, None));
    }

    /// Another order of all loops that keeps positions below the loops that they lie under.
    fn reorder(&mut self) {
        if !(self.flat && self.ordered) || self.loops.len() < 2 {
            return;
        }
        let before = self.loops.clone();
        self.rng.shuffle(&mut self.loops);
        let kept = self.positioned.iter().all(|levels| self.is_concordant(levels));
        let same = before.iter().zip(&self.loops).all(|(a, b)| a.name == b.name);
        if kept && !same {
            self.reordered();
        } else {
            self.loops = before;
        }
    }

    /// True if the variables of levels become known in the order of the levels.
    fn is_concordant(&self, levels: &[VarId]) -> bool {
        let known = |var: &VarId| self.loops.iter().rposition(|own| own.vars.contains(var)).unwrap_or(0);
        levels.windows(2).all(|pair| known(&pair[0]) <= known(&pair[1]))
    }

    fn fuse(&mut self) {
        if self.loops.len() >= 2 {
            let at = self.rng.usize(..self.loops.len() - 1);
            self.fuse_at(at);
        }
    }

    fn fuse_at(&mut self, at: usize) {
        if !(self.flat && self.ordered) {
            return;
        }
        let (outer, inner) = (self.loops[at].clone(), self.loops[at + 1].clone());
        let mixed = self.is_sparse() && self.is_summed(&outer) != self.is_summed(&inner);
        if outer.positions || inner.positions || outer.parallel || inner.parallel || mixed {
            return;
        }
        let name = self.name();
        self.made.push(format!("fuse({}, {}, {name})", outer.name, inner.name));
        let fused = Loop {
            name,
            vars: [outer.vars, inner.vars].concat(),
            whole: outer.whole && inner.whole,
            positions: false,
            count: None,
            parallel: false,
        };
        self.loops.splice(at..=at + 1, [fused]);
    }

    /// The variables of an access in the order of its levels, if each is there once. If the format has a map, they are
    /// in the order in which the map first stores something of each dimension.
    fn levels(&self, access: &Access) -> Option<Vec<VarId>> {
        let format: &Format = &self.program.tensors[access.tensor].format;
        let mut modes = Vec::new();
        match format.map() {
            Some(map) => {
                let whole =
                    map.terms().iter().filter(|term| !term.is_ordinal() && !matches!(term, Stored::Difference(..)));
                modes.extend(whole.map(|term| term.dimension()).chain(0..map.order()));
                let all = modes.clone();
                let mut place = 0..;
                modes.retain(|mode| place.next().is_some_and(|place| !all[..place].contains(mode)));
            }
            None => modes.extend_from_slice(format.mode_order()),
        }
        let levels: Vec<VarId> = modes.iter().map(|&mode| access.vars[mode]).collect();
        (1..levels.len()).all(|n| !levels[..n].contains(&levels[n])).then_some(levels)
    }

    fn pos(&mut self) {
        if !(self.daring || self.flat && self.ordered) || self.factors.is_empty() {
            return;
        }
        let (at, access) = (self.any(), self.factors[self.rng.usize(..self.factors.len())]);
        if self.program.tensors[access.tensor].role == Role::Index {
            return;
        }
        let own = self.loops[at].clone();
        let Some(levels) = self.levels(access) else { return };
        let stored = levels.windows(own.vars.len()).any(|levels| levels == own.vars);
        let fitting = self.daring || self.is_concordant(&levels);
        if !(own.whole || self.daring) || own.positions || own.parallel || !stored || !fitting {
            return;
        }
        let name = self.name();
        self.made.push(format!("pos({}, {name}, {})", own.name, self.access_text(access)));
        self.loops[at] = Loop { name, whole: false, positions: true, count: None, ..own };
        self.positioned.push(levels);
    }

    fn coord(&mut self) {
        let positions: Vec<usize> = (0..self.loops.len()).filter(|&at| self.loops[at].positions).collect();
        let Some(&at) = positions.get(self.rng.usize(..positions.len().max(1))) else { return };
        let own = self.loops[at].clone();
        // Strips of positions stand for coordinates together.
        let alone = self.loops.iter().filter(|other| other.vars == own.vars).count() == 1;
        if own.vars.len() == 1 && alone && !own.parallel {
            let name = self.name();
            self.made.push(format!("coord({}, {name})", own.name));
            self.loops[at] = Loop { name, positions: false, count: None, ..own };
        }
    }

    /// The outermost loop for threads, or now and then another one.
    fn share(&mut self) {
        if !self.ordered || self.loops.iter().any(|own| own.parallel) {
            return;
        }
        let inner = !self.is_sparse() && self.rng.one_in(5);
        let at = if inner { self.any() } else { 0 };
        let own = &self.loops[at];
        if self.is_sparse() {
            let result = &self.statement.lhs;
            let format = &self.program.tensors[result.tensor].format;
            let first = format.mode_order().first().filter(|_| format.map().is_none()).map(|&mode| result.vars[mode]);
            if first.is_none_or(|first| own.vars != [first]) {
                return;
            }
        }
        let races: &[&str] = match self.is_summed(own) {
            true => &["auto", "temporary", "atomics"],
            false => &["auto", "none"],
        };
        let race = races[self.rng.usize(..races.len())];
        self.made.push(format!("parallelize({}, cpu, {race})", own.name));
        self.loops[at].parallel = true;
    }

    fn vector(&mut self) {
        let last = self.loops.len() - 1;
        if self.ordered && self.flat && !self.loops[last].parallel {
            self.made.push(format!("parallelize({}, vector, auto)", self.loops[last].name));
            self.loops[last].parallel = true;
        }
    }

    fn unroll(&mut self) {
        let at = self.any();
        let name = &self.loops[at].name;
        let command = match (self.loops[at].count, self.rng.bool()) {
            (Some(..=LONGEST_UNROLLED), true) => format!("unroll({name})"),
            _ => format!("unroll({name}, {})", self.rng.u64(2..=4)),
        };
        self.made.push(command);
    }

    /// Loops for each term of a sum, or for each element that follows from another. Most loops hold one statement and refuse it, so it is
    /// seldom tried.
    fn fission(&mut self) {
        if self.rng.one_in(8) {
            let at = self.any();
            let count = if self.rng.bool() { 1 } else { 2 };
            let names: Vec<&str> = self.loops[at..].iter().take(count).map(|own| own.name.as_str()).collect();
            self.made.push(format!("fission({})", names.join(", ")));
        }
    }

    /// A promise that holds.
    fn bound(&mut self) {
        let at = self.any();
        let own = self.loops[at].clone();
        let [var] = own.vars[..] else { return };
        let size = self.program.vars[var].size.unwrap_or(0);
        if !own.whole || own.parallel || size == 0 {
            return;
        }
        let name = self.name();
        let promise = match self.rng.u8(..3) {
            0 => format!("{size}, maxexact"),
            1 => format!("{}, maxconstraint", self.number(4).saturating_add(size - 1)),
            _ => "0, minexact".to_string(),
        };
        self.made.push(format!("bound({}, {name}, {promise})", own.name));
        self.loops[at].name = name;
    }

    fn assemble(&mut self) {
        if self.is_sparse() {
            let how = ["append", "insert"][self.rng.usize(..2)];
            let result = &self.program.tensors[self.statement.lhs.tensor].name;
            self.made.push(format!("assemble({result}, {how})"));
        }
    }

    fn mergeby(&mut self) {
        let at = self.any();
        let strategy = ["coiterate", "gallop", "bitmap"][self.rng.usize(..3)];
        self.made.push(format!("mergeby({}, {strategy})", self.loops[at].name));
    }

    /// Some operands of the product, or of the sum, of the whole statement.
    fn precompute(&mut self) {
        if !(self.flat && self.ordered) || self.loops.iter().any(|own| own.parallel) {
            return;
        }
        let (symbol, mut operands) = operands(&self.statement.rhs);
        self.rng.shuffle(&mut operands);
        let taken = operands.split_off(self.rng.usize(..operands.len()));
        let Some(taken) = taken.into_iter().map(as_access).collect::<Option<Vec<_>>>() else { return };
        let uses = |own: &Loop, vars: &[VarId]| own.vars.iter().any(|var| vars.contains(var));
        let part: Vec<VarId> = taken.iter().flat_map(|access| access.vars.clone()).collect();
        let mut rest = self.statement.lhs.vars.clone();
        operands.iter().for_each(|operand| rest.extend(operand.free_vars()));
        // The workspace stands inside of some loops, and outside of those of sums that only the part needs.
        let alone = self.loops.iter().position(|own| uses(own, &part) && !uses(own, &rest));
        let place = self.rng.usize(..=self.loops.len()).min(alone.unwrap_or(self.loops.len()));
        let inside: Vec<Loop> =
            self.loops[place..].iter().filter(|own| uses(own, &part) && uses(own, &rest)).cloned().collect();
        let vars: Vec<&str> = inside.iter().map(|own| own.name.as_str()).collect();
        let renames = self.rng.bool();
        let into: Vec<String> = inside.iter().map(|own| if renames { self.name() } else { own.name.clone() }).collect();
        let texts: Vec<String> = taken.iter().map(|access| self.access_text(access)).collect();
        let kind = match self.rng.u8(..4) {
            _ if vars.is_empty() => "",
            0 | 1 => "",
            // Every element of a dense workspace is read, and stored.
            2 if !self.is_sparse() => ", dense",
            // Marks and stamps are for one dimension.
            _ if vars.len() == 1 => [", sorted", ", hashed", ", marked", ", bitmap", ", stamped"][self.rng.usize(..5)],
            _ => [", sorted", ", hashed"][self.rng.usize(..2)],
        };
        let (vars, into) = (vars.join(", "), into.join(", "));
        self.made.push(format!("precompute({}, {{{vars}}}, {{{into}}}{kind})", texts.join(symbol)));
        self.flat = false;
    }

    fn access_text(&self, access: &Access) -> String {
        let vars: Vec<&str> = access.vars.iter().map(|&var| self.program.vars[var].name.as_str()).collect();
        let Tensor { name, role, .. } = &self.program.tensors[access.tensor];
        if *role == Role::Index {
            return vars.join(",");
        }
        if vars.is_empty() { name.clone() } else { format!("{name}({})", vars.join(",")) }
    }
}

/// The value of a statement with its implicit sums.
fn with_sums(statement: &Assignment) -> Term {
    let operation = statement.op.monoid().map_or(BinaryFn::Add, |monoid| monoid.function());
    sums::with_reductions(&term(&statement.rhs), &statement.lhs.vars, &Operation::Function(operation))
}

/// An expression whose sums are those that are written. Constants are not looked at.
fn term(expr: &Expr) -> Term {
    let node = match &expr.kind {
        ExprKind::Literal(_) => Node::Constant(None),
        ExprKind::Access(access) => {
            Node::Element(access.tensor, access.vars.iter().copied().map(Index::from).collect())
        }
        ExprKind::Unary(function, a) => Node::Unary(*function, Box::new(term(a))),
        ExprKind::Binary(function, a, b) => Node::Binary(*function, Box::new(term(a)), Box::new(term(b))),
        ExprKind::Select(operands) => Node::Select(Box::new(operands.each_ref().map(term))),
        // Its values are not looked at.
        ExprKind::Apply(_, operands) => operands.iter().fold(Node::Constant(None), |node, operand| {
            Node::Binary(BinaryFn::Max, Box::new(Term { node, dtype: expr.dtype }), Box::new(term(operand)))
        }),
        ExprKind::Cast(a) => Node::Cast(Box::new(term(a))),
        ExprKind::Reduce(monoid, vars, body) => {
            let reduce = |body, &var: &VarId| sums::reduce(Operation::Function(monoid.function()), body, var, true);
            let body = body.as_at().map_or(&**body, |(value, _)| value);
            return vars.iter().rev().fold(term(body), reduce);
        }
    };
    Term { node, dtype: expr.dtype }
}

/// The variables of all sums.
fn summed(term: &Term, found: &mut Vec<VarId>) {
    match &term.node {
        Node::Constant(_) | Node::Element(..) | Node::Index(_) | Node::Related(..) | Node::Operand(_) => {}
        Node::Unary(_, a) | Node::Cast(a) => summed(a, found),
        Node::Binary(_, a, b) => {
            summed(a, found);
            summed(b, found);
        }
        Node::Select(operands) => operands.iter().for_each(|operand| summed(operand, found)),
        Node::Apply(_, operands) => operands.iter().for_each(|operand| summed(operand, found)),
        Node::Reduce { var, body, .. } => {
            found.push(*var);
            summed(body, found);
        }
    }
}

/// True if all sums stand around everything else but factors.
fn one_sum(term: &Term) -> bool {
    let sums = |term: &Term| {
        let mut found = Vec::new();
        summed(term, &mut found);
        !found.is_empty()
    };
    match &term.node {
        Node::Reduce { body, .. } => one_sum(body),
        Node::Binary(BinaryFn::Mul, a, b) if !sums(b) => one_sum(a),
        Node::Binary(BinaryFn::Mul, a, b) if !sums(a) => one_sum(b),
        _ => !sums(term),
    }
}

/// Operands without which there is no value.
fn collect_factors<'e>(expr: &'e Expr, found: &mut Vec<&'e Access>) {
    match &expr.kind {
        ExprKind::Access(access) => found.push(access),
        ExprKind::Unary(UnaryFn::Neg, a) | ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => collect_factors(a, found),
        ExprKind::Binary(BinaryFn::Mul, a, b) => {
            collect_factors(a, found);
            collect_factors(b, found);
        }
        ExprKind::Binary(BinaryFn::Div, a, _) => collect_factors(a, found),
        _ => {}
    }
}

/// The operands of the product or the sum that an expression is, and the sign between them.
fn operands(expr: &Expr) -> (&'static str, Vec<&Expr>) {
    fn collect<'e>(expr: &'e Expr, function: BinaryFn, found: &mut Vec<&'e Expr>) {
        match &expr.kind {
            ExprKind::Binary(own, a, b) if *own == function => {
                collect(a, function, found);
                collect(b, function, found);
            }
            ExprKind::Reduce(_, _, a) => collect(a, function, found),
            _ => found.push(expr),
        }
    }
    let (function, symbol) = match &expr.kind {
        ExprKind::Binary(BinaryFn::Add, ..) => (BinaryFn::Add, " + "),
        _ => (BinaryFn::Mul, " * "),
    };
    let mut found = Vec::new();
    collect(expr, function, &mut found);
    (symbol, found)
}

fn as_access(expr: &Expr) -> Option<&Access> {
    match &expr.kind {
        ExprKind::Access(access) => Some(access),
        ExprKind::Cast(a) => as_access(a),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn names_are_right_and_all_commands_occur() {
        let mut all = String::new();
        for seed in 0..1000 {
            let (_, instance) = generate(seed).expect("a program that checks");
            let mut rng = Rng::with_seed(seed);
            let text = schedule(&mut rng, &instance.program).join(", ");
            let checked = lacunar_front::schedule::check(&text, &instance.program);
            assert!(checked.is_ok(), "{}\n{text}\n{checked:?}", instance.source);
            all += &text;
        }
        for command in [
            "reorder",
            "fuse",
            "split",
            "divide",
            "pos",
            "coord",
            "parallelize",
            "vector",
            "unroll",
            "bound",
            "precompute",
            "assemble",
            "mergeby",
        ] {
            assert!(all.contains(command), "no schedule has `{command}`");
        }
    }
}
