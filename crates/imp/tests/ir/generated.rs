//! The generator keeps its promises: functions verify, run without a fault, and together use everything there is.

use std::collections::BTreeSet;

use lacunar_formats::DType;
use lacunar_imp::{Expr, Lanes, Limits, LoopKind, Stmt, Turns, generate, interpret_within, verify};

const SEEDS: u64 = 400;

#[test]
fn every_function_verifies_and_runs() {
    let limits = Limits { steps: Some(2_000_000), ..Limits::default() };
    let mut ended = 0;
    for seed in 0..SEEDS {
        let (function, mut memory) = generate::function(seed);
        let text = function.to_string();
        let function = verify(function).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let outcome = interpret_within(&function, &mut memory, limits)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        ended += u64::from(outcome.status.is_none());
    }
    assert!(ended > SEEDS / 2 && ended < SEEDS, "some fail and most do not: {ended}");
}

#[test]
fn everything_occurs() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (function, _) = generate::function(seed);
        for (id, expr) in function.exprs.iter() {
            seen.insert(match expr {
                Expr::Const(constant) => format!("constant {}", constant.ty),
                Expr::Var(var) => format!("variable {}", function.vars[*var].ty),
                Expr::Unary(op, a) => format!("{} {}", op.name(), function.type_of(*a)),
                Expr::Binary(op, ..) => format!("{} {}", op.name(), function.type_of(id)),
                Expr::Compare(op, a, _) => format!("{} {}", op.name(), function.type_of(*a)),
                Expr::Select(..) => format!("select {}", function.type_of(id)),
                Expr::Cast(ty, a) => format!("cast {} {ty}", function.type_of(*a)),
                Expr::Word(op, word, _) => format!("{} {}", op.name(), function.type_of(*word)),
                Expr::Extern(external, ..) => format!("extern {}", external.name()),
            });
        }
        statements(&function.body, &mut seen);
    }
    for ty in DType::ALL.into_iter().filter(|ty| ty.size() > 0) {
        for kind in ["constant", "variable", "select"] {
            assert!(seen.contains(&format!("{kind} {ty}")), "{kind} {ty}");
        }
        for op in lacunar_imp::UnaryOp::ALL.into_iter().filter(|op| op.accepts(ty)) {
            assert!(seen.contains(&format!("{} {ty}", op.name())), "{op:?} {ty}");
        }
        for op in lacunar_imp::BinaryOp::ALL.into_iter().filter(|op| op.accepts(ty)) {
            assert!(seen.contains(&format!("{} {ty}", op.name())), "{op:?} {ty}");
        }
        for op in lacunar_imp::CompareOp::ALL.into_iter().filter(|op| op.accepts(ty)) {
            assert!(seen.contains(&format!("{} {ty}", op.name())), "{op:?} {ty}");
        }
        for op in lacunar_imp::WordOp::ALL.into_iter().filter(|op| op.accepts(ty)) {
            assert!(seen.contains(&format!("{} {ty}", op.name())), "{op:?} {ty}");
        }
    }
    let kinds =
        ["define", "assign", "load", "store", "accumulate", "for", "while", "break", "if", "alloc", "grow", "fill"];
    let kinds = kinds.into_iter().chain(["store past the caches", "prefetch"]);
    let kinds = kinds.chain(["parallel", "vector", "vector of a width", "unroll", "unroll so often"]);
    let kinds = kinds.chain(["vector that loads behind its end", "vector over steady segments"]);
    let kinds = kinds.chain(["vector over what is near", "vector that gathers what is scattered"]);
    let kinds = kinds.chain(["atomic", "deposit", "collect", "collect with lengths"]);
    for kind in kinds.chain([
        "lower_bound",
        "sort_marked",
        "sort_combine",
        "unpack",
        "marks",
        "take",
        "raised",
        "length",
        "fail",
        "comment",
    ]) {
        assert!(seen.contains(kind), "{kind}");
    }
}

fn statements(block: &[Stmt], seen: &mut BTreeSet<String>) {
    for stmt in block {
        let name = match stmt {
            Stmt::Define { .. } => "define",
            Stmt::Assign { .. } => "assign",
            Stmt::Load { .. } => "load",
            Stmt::Store { past: Some(_), .. } => "store past the caches",
            Stmt::Prefetch { .. } => "prefetch",
            Stmt::Store { reduce: None, .. } => "store",
            Stmt::Store { .. } => "accumulate",
            Stmt::For { loads: Some(_), .. } => "vector that loads behind its end",
            Stmt::For { kind, .. } => match kind {
                LoopKind::Serial => "for",
                LoopKind::Parallel => "parallel",
                LoopKind::Vector(Lanes { steady: true, .. }) => "vector over steady segments",
                LoopKind::Vector(Lanes { near: true, .. }) => "vector over what is near",
                LoopKind::Vector(Lanes { scattered: true, .. }) => "vector that gathers what is scattered",
                LoopKind::Vector(Lanes { width: 0, .. }) => "vector",
                LoopKind::Vector(_) => "vector of a width",
                LoopKind::Unrolled(Turns { times: 0, .. }) => "unroll",
                LoopKind::Unrolled(_) => "unroll so often",
            },
            Stmt::While { .. } => "while",
            Stmt::Break => "break",
            Stmt::If { .. } => "if",
            Stmt::Alloc { .. } => "alloc",
            Stmt::Grow { .. } => "grow",
            Stmt::Fill { .. } => "fill",
            Stmt::Atomic { .. } => "atomic",
            Stmt::Deposit { .. } => "deposit",
            Stmt::Collect { bias: None, .. } => "collect",
            Stmt::Collect { .. } => "collect with lengths",
            Stmt::Call { callee, .. } => callee.name(),
            Stmt::Fail(_) => "fail",
            Stmt::Comment(_) => "comment",
        };
        seen.insert(name.to_string());
        match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => statements(body, seen),
            Stmt::If { then, otherwise, .. } => {
                statements(then, seen);
                statements(otherwise, seen);
            }
            _ => {}
        }
    }
}
