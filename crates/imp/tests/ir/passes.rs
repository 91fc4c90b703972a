//! Passes keep the meaning: random functions before and after each, and each pass shown on one function.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_imp::{Function, Limits, generate, interpret_within, optimize, parse, passes, verify};

type Pass = fn(Function) -> Function;

/// The passes, and all of them in order.
const PASSES: [(&str, Pass); 6] = [
    ("simplify", passes::simplify),
    ("remove_repeated", passes::remove_repeated),
    ("hoist_invariant", passes::hoist_invariant),
    ("promote_scalars", passes::promote_scalars),
    ("remove_dead", passes::remove_dead),
    ("optimize", optimize),
];

#[test]
fn random_functions_keep_their_meaning() {
    let limits = Limits { steps: Some(5_000_000), ..Limits::default() };
    let mut changed = [0; PASSES.len()];
    for seed in 0..1500 {
        let (function, memory) = generate::function(seed);
        let text = function.to_string();
        let mut expected = memory.clone();
        let outcome = interpret_within(&verify(function.clone()).unwrap(), &mut expected, limits).unwrap();
        for ((name, pass), changed) in PASSES.into_iter().zip(&mut changed) {
            let after = pass(function.clone());
            let after_text = after.to_string();
            let says = |what: &str| format!("{name}, seed {seed}: {what}\n{text}\n->\n{after_text}");
            // One pass may make work for another, so all in order may find more to do.
            if name != "optimize" {
                assert_eq!(pass(after.clone()).to_string(), after_text, "{}", says("not idempotent"));
            }
            let after = verify(after).unwrap_or_else(|error| panic!("{}", says(&error.to_string())));
            let mut memory = memory.clone();
            let after_outcome = interpret_within(&after, &mut memory, limits)
                .unwrap_or_else(|error| panic!("{}", says(&error.to_string())));
            assert_eq!(after_outcome, outcome, "{}", says("another outcome"));
            generate::compare(&expected, &memory, 0.0).unwrap_or_else(|what| panic!("{}", says(&what)));
            *changed += usize::from(after_text != text);
        }
    }
    for ((name, _), changed) in PASSES.iter().zip(changed) {
        assert!(changed > 50, "{name} has something to do: {changed}");
    }
}

/// `tests/passes/NAME.imp` holds a function and, after a line of dashes, what the pass makes of it.
#[test]
fn each_pass_on_one_function() {
    let cases = [
        ("simplify", include_str!("passes/simplify.imp")),
        ("remove_repeated", include_str!("passes/remove_repeated.imp")),
        ("hoist_invariant", include_str!("passes/hoist_invariant.imp")),
        ("promote_scalars", include_str!("passes/promote_scalars.imp")),
        ("remove_dead", include_str!("passes/remove_dead.imp")),
        ("optimize", include_str!("passes/optimize.imp")),
    ];
    for (name, case) in cases {
        let (before, after) = case.split_once("\n---\n").unwrap();
        let (_, pass) = PASSES.into_iter().find(|(known, _)| *known == name).unwrap();
        let before = parse(before).unwrap_or_else(|error| panic!("{}", error.render(before, name, false)));
        let done = pass(verify(before).unwrap().into_inner());
        assert_eq!(done.to_string(), after.trim_end(), "{name}");
        verify(done).unwrap();
    }
}
