//! Passes keep the meaning: random functions before and after each, and each pass shown on one function.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_base::Trace;
use lacunar_imp::passes::{AddTo, PASSES, abreast, flatten, in_turn};
use lacunar_imp::{
    ArrayData, ArrayId, Function, Limits, Memory, generate, interpret, interpret_within, optimize, parse, verify,
};

/// The result of a pass, or of `optimize`, for a function.
fn run(name: &str, function: Function) -> Function {
    match PASSES.into_iter().find(|pass| pass.name == name) {
        Some(pass) => (pass.run)(function),
        None => optimize(verify(function).unwrap(), &mut Trace::new()).unwrap().into_inner(),
    }
}

/// The passes, each once, and all of them in order.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = PASSES.iter().map(|pass| pass.name).chain(["optimize"]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn random_functions_keep_their_meaning() {
    let limits = Limits { steps: Some(5_000_000), ..Limits::default() };
    let names = names();
    let mut changed = vec![0; names.len()];
    for seed in 0..1500 {
        let (function, memory) = generate::function(seed);
        let text = function.to_string();
        let mut expected = memory.clone();
        let outcome = interpret_within(&verify(function.clone()).unwrap(), &mut expected, limits).unwrap();
        for (name, changed) in names.iter().copied().zip(&mut changed) {
            let after = run(name, function.clone());
            let after_text = after.to_string();
            let says = |what: &str| format!("{name}, seed {seed}: {what}\n{text}\n->\n{after_text}");
            // One pass may make work for another, so all in order may find more to do.
            if name != "optimize" {
                assert_eq!(run(name, after.clone()).to_string(), after_text, "{}", says("not idempotent"));
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
    for (name, changed) in names.iter().zip(changed) {
        assert!(changed > 50, "{name} has something to do: {changed}");
    }
}

/// `tests/passes/NAME.imp` holds a function and, after a line of dashes, the result of the pass.
#[test]
fn each_pass_on_one_function() {
    let cases = [
        ("simplify", include_str!("passes/simplify.imp")),
        ("remove_repeated", include_str!("passes/remove_repeated.imp")),
        ("hoist_invariant", include_str!("passes/hoist_invariant.imp")),
        ("promote_scalars", include_str!("passes/promote_scalars.imp")),
        ("leave_early", include_str!("passes/leave_early.imp")),
        ("remove_dead", include_str!("passes/remove_dead.imp")),
        ("optimize", include_str!("passes/optimize.imp")),
    ];
    for (name, case) in cases {
        let (before, after) = case.split_once("\n---\n").unwrap();
        let before = parse(before).unwrap_or_else(|error| panic!("{}", error.render(before, name, false)));
        let done = run(name, verify(before).unwrap().into_inner());
        assert_eq!(done.to_string(), after.trim_end(), "{name}");
        verify(done).unwrap();
    }
}

/// `in_turn.imp` holds a function and, after a line of dashes, the result of the pass: loops whose iterations meet, and loops that are left as
/// they are.
#[test]
fn vector_loops_whose_iterations_meet_are_serial() {
    let (before, after) = include_str!("passes/in_turn.imp").split_once("\n---\n").unwrap();
    let before = parse(before).unwrap_or_else(|error| panic!("{}", error.render(before, "in_turn", false)));
    let done = in_turn(before.clone());
    assert_eq!(done.to_string(), after.trim_end());
    let arrays = [ArrayData::U32(vec![0, 2]), ArrayData::F64(vec![0.5; 9])];
    let run = |function| {
        let mut memory = Memory { arrays: arrays.to_vec(), scalars: vec![1, 4] };
        interpret(&verify(function).unwrap(), &mut memory).map(|_| memory.arrays[1].clone())
    };
    assert!(run(before).is_err());
    assert_eq!(run(done).unwrap(), ArrayData::F64(vec![0.5, 2.5, 22.5, 16.5, 13.5, 13.5, 13.5, 0.5, 0.5]));
}

/// `flatten.imp` holds a function and, after a line of dashes, the result of the pass where its arrays `pos` and `inner` ascend.
#[test]
fn loops_over_segments_behind_each_other_are_one() {
    let (before, after) = include_str!("passes/flatten.imp").split_once("\n---\n").unwrap();
    let before = parse(before).unwrap_or_else(|error| panic!("{}", error.render(before, "flatten", false)));
    let ascending = before.arrays.iter().filter(|(_, array)| ["pos", "inner"].contains(&array.name.as_str()));
    let ascending: Vec<ArrayId> = ascending.map(|(array, _)| array).collect();
    let done = flatten(before.clone(), &ascending);
    assert_eq!(done.to_string(), after.trim_end());
    assert_eq!(flatten(before.clone(), &[]).to_string(), before.to_string());
    let arrays = [
        ArrayData::U32(vec![0, 2, 2, 5, 9, 9, 14]),
        ArrayData::U32((0..14).map(|k| k * 7 % 10).collect()),
        ArrayData::F64((0..14).map(f64::from).collect()),
        ArrayData::U32(Vec::new()),
        ArrayData::F64(Vec::new()),
        ArrayData::U32(vec![77; 7]),
        ArrayData::F64(vec![0.5; 14]),
        ArrayData::U32(vec![0, 1, 1, 4, 4, 5, 9, 9, 9, 10, 12, 13, 15, 16, 20]),
        ArrayData::F64(vec![0.5; 20]),
    ];
    let functions = [before, done].map(|function| verify(function).unwrap());
    for (from, to) in [(0, 6), (1, 4), (2, 2), (5, 3), (0, 1), (5, 6)] {
        let [expected, found] = functions.each_ref().map(|function| {
            let mut memory = Memory { arrays: arrays.to_vec(), scalars: vec![from, to] };
            assert_eq!(interpret(function, &mut memory).unwrap(), None);
            memory
        });
        generate::compare(&expected, &found, 0.0).unwrap();
    }
}

/// The file holds a function and, after a line of dashes, the result of the pass, which computes the same from runs of 0 to 9 elements.
fn are_taken_abreast(text: &str, add_to: AddTo) {
    let (before, after) = text.split_once("\n---\n").unwrap();
    let before = parse(before).unwrap_or_else(|error| panic!("{}", error.render(before, "abreast", false)));
    let done = abreast(before.clone(), add_to);
    assert_eq!(done.to_string(), after.trim_end());
    let n = 3;
    let arrays = [
        ArrayData::U32(vec![0, 1, 3, 6, 10, 10, 19]),
        ArrayData::U32(vec![2, 0, 1, 3, 4, 0]),
        ArrayData::F64((0..11 * n).map(|k| (k * 7 % 10) as f64 / 3.0).collect()),
        ArrayData::F64((0..19).map(f64::from).collect()),
    ];
    let functions = [before, done].map(|function| verify(function).unwrap());
    let [expected, found] = functions.each_ref().map(|function| {
        let mut memory = Memory { arrays: arrays.to_vec(), scalars: vec![6, n] };
        assert_eq!(interpret(function, &mut memory).unwrap(), None);
        memory
    });
    generate::compare(&expected, &found, 0.0).unwrap();
}

#[test]
fn sums_of_neighbors_are_taken_abreast() {
    are_taken_abreast(include_str!("passes/abreast.imp"), AddTo::Elements);
}

#[test]
fn iterations_that_add_to_a_row_are_taken_abreast() {
    are_taken_abreast(include_str!("passes/abreast_row.imp"), AddTo::Row);
}

/// A row of constant length may be registers, and elements that the loop loads otherwise change on the way.
#[test]
fn other_rows_are_left_as_they_are() {
    let text = |bound: &str, loaded: &str| {
        format!(
            "kernel f(in x: f64[], out c: f64[], n: i64, m: i64) {{
               for p in 0 .. n {{ for t in 0 .. {bound} vector {{ let a: f64 = {loaded}; c[t] += a; }} }}
             }}"
        )
    };
    for (bound, loaded, changes) in
        [("m", "x[p]", true), ("8", "x[p]", false), ("m", "c[p]", false), ("p", "x[t]", false)]
    {
        let before = parse(&text(bound, loaded)).unwrap();
        let done = abreast(before.clone(), AddTo::Row);
        assert_eq!(done.to_string() != before.to_string(), changes, "{bound} {loaded}");
    }
}

/// The rows of a matrix that is shifted lie under a level with one coordinate.
#[test]
fn loops_of_one_iteration_do_not_part_segments() {
    let shifted =
        "kernel f(in pos: u32[], in a: f64[], out b: f64[], out pos_2: u32[], from: i64, to: i64, shift: i64) {
      var n: i64 = 0;
      for i in from .. to {
        for q in shift + i .. shift + i + 1 {
          let begin: u32 = pos[q];
          let end: u32 = pos[q + 1];
          for p in i64(begin) .. i64(end) {
            let v: f64 = a[p];
            b[n] = v;
            n = n + 1;
          }
        }
        pos_2[i - from] = u32(n);
      }
    }";
    let before = parse(shifted).unwrap();
    let pos = before.arrays.iter().find(|(_, array)| array.name == "pos").map(|(array, _)| array);
    let done = flatten(before.clone(), &[pos.unwrap()]);
    assert!(done.to_string().contains("for p in i64(first) .. i64(last) {"), "{done}");
    let functions = [before, done].map(|function| verify(function).unwrap());
    let [expected, found] = functions.each_ref().map(|function| {
        let arrays = vec![
            ArrayData::U32(vec![0, 2, 2, 5, 9]),
            ArrayData::F64((0..9).map(f64::from).collect()),
            ArrayData::F64(vec![0.5; 9]),
            ArrayData::U32(vec![77; 3]),
        ];
        let mut memory = Memory { arrays, scalars: vec![2, 5, -1] };
        assert_eq!(interpret(function, &mut memory).unwrap(), None);
        memory
    });
    generate::compare(&expected, &found, 0.0).unwrap();
}

#[test]
fn changes_are_recorded_by_pass() {
    let texts = |text: &str| {
        let mut trace = Trace::wanting(["passes"]);
        optimize(verify(parse(text).unwrap()).unwrap(), &mut trace).unwrap();
        let times: Vec<&str> = trace.times().iter().map(|(name, _)| *name).collect();
        assert_eq!(times, PASSES.iter().map(|pass| pass.name).chain(["verify"]).collect::<Vec<_>>());
        trace.text("passes").unwrap().to_string()
    };
    let changed = texts("kernel f(out y: i64[]) { let k: i64 = 1 + 2; y[k] = 0; }");
    let expected = "simplify
@@ -1,4 +1,4 @@
 kernel f(out y: i64[]) {
-  let k: i64 = 1 + 2;
-  y[k] = 0;
+  let k: i64 = 3;
+  y[3] = 0;
 }
remove_dead
@@ -1,4 +1,3 @@
 kernel f(out y: i64[]) {
-  let k: i64 = 3;
   y[3] = 0;
 }
";
    assert_eq!(changed, expected);
    assert_eq!(texts("kernel f(out y: i64[]) { y[0] = 0; }"), "no pass changes anything\n");
}
