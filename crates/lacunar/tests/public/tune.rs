//! Tuning through the public interface: the measurements, the stored schedules and their use.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use lacunar::{DynTensor, Effort, Format, Kernel, Options, Tensor, Tuning, tune};

/// A matrix of `size` rows with three values each, and a vector of ones.
fn operands(size: u64) -> (Tensor<f64>, Tensor<f64>) {
    let entries: Vec<([u64; 2], f64)> =
        (0..3 * size).map(|at| ([at / 3, (at * 7 + at % 3) % size], 1.0 + (at % 5) as f64)).collect();
    let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
    let a = Tensor::from_entries(&[size, size], &entries, Format::csr()).unwrap();
    let x = Tensor::from_slice(&[size], &vec![1.0; size as usize]).unwrap();
    (a, x)
}

fn short() -> Effort {
    Effort { time: Duration::from_millis(1), rounds: 3, exhaustive: false }
}

fn tuned(source: &str, options: &Options, given: &[(&str, &DynTensor)], effort: &Effort) -> Tuning {
    let mut parts = Vec::new();
    let tuning = tune(source, options, given, effort, &mut |progress| parts.push(progress.done)).unwrap();
    assert!(parts.is_sorted() && parts.iter().all(|part| (0.0..=1.0).contains(part)), "{parts:?}");
    tuning
}

#[test]
fn every_candidate_computes_the_same_and_the_winner_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let (a, x) = operands(500);
    let given = [("A", a.as_dyn()), ("x", x.as_dyn())];
    let options = Options::new().tensor("A", a.as_dyn()).tensor("x", x.as_dyn()).cache(folder.path()).threads(2);
    let source = "y(i) = A(i,j) * x(j)";
    let expected = Kernel::compile(source, &options).unwrap().run_named(&given).unwrap().results;
    let tuning = tuned(source, &options, &given, &Effort { exhaustive: true, ..short() });
    let [statement] = tuning.statements.as_slice() else { panic!("{tuning:?}") };
    assert!(statement.candidates.len() >= 4 && statement.planner().idea == "the planner's choice");
    for candidate in &statement.candidates {
        assert!(candidate.runs >= 3 && candidate.seconds > 0.0, "{candidate:?}");
        assert!(statement.best().seconds <= candidate.seconds / 0.97, "{statement:?}");
        let options = Options { search: candidate.search, ..options.clone() }.tuned(false);
        let kernel = Kernel::compile(source, &options.schedule(candidate.schedule.clone())).unwrap();
        let found = kernel.run_named(&given).unwrap().results;
        assert_eq!(found[0].1.to_coo().unwrap(), expected[0].1.to_coo().unwrap(), "{candidate:?}");
    }
    let file = tuning.stored.unwrap().unwrap();
    assert!(file.starts_with(folder.path()) && std::fs::read_to_string(&file).unwrap().contains("\"planner_seconds\""));
    let kernel = Kernel::compile(source, &options).unwrap();
    assert!(kernel.explain()[0].contains("data of this class"), "{:?}", kernel.explain());
    assert_eq!(kernel.schedule(), statement.best().schedule);
    assert!(!Kernel::compile(source, &options.tuned(false)).unwrap().explain()[0].contains("data of this class"));
}

#[test]
fn a_program_of_several_statements_is_tuned_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (a, x) = operands(300);
    let given = [("A", a.as_dyn()), ("x", x.as_dyn())];
    let options = Options::new().cache(folder.path()).threads(2).schedule("y: unroll(j, 8)");
    let source = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)";
    let tuning = tuned(source, &options, &given, &short());
    assert_eq!(tuning.statements.len(), 2);
    let [first, second] = tuning.statements.as_slice() else { panic!("{tuning:?}") };
    assert!(first.candidates.iter().any(|candidate| candidate.idea == "as given"), "{first:?}");
    assert!(second.candidates.iter().all(|candidate| candidate.idea != "as given"), "{second:?}");
    assert!(second.statement.starts_with("z(i)") && second.candidates.len() > 1, "{second:?}");
    let options = Options::new().tensor("A", a.as_dyn()).tensor("x", x.as_dyn()).cache(folder.path()).threads(2);
    let kernel = Kernel::compile(source, &options).unwrap();
    assert!(kernel.explain()[0].contains("data of this class"), "{:?}", kernel.explain());
    for (step, text) in [first, second].into_iter().enumerate() {
        let step = &kernel.steps()[step];
        let plan = step.plan().commands();
        let shown = text.best().schedule.text();
        assert!(plan.iter().all(|command| shown.contains(command)), "{plan:?} {shown}");
    }
}

#[test]
fn nothing_is_stored_where_that_is_not_wanted_or_not_possible() {
    let folder = tempfile::tempdir().unwrap();
    let (a, x) = operands(20);
    let given = [("A", a.as_dyn()), ("x", x.as_dyn())];
    let source = "y(i) = A(i,j) * x(j)";
    let options = Options::new().cache(folder.path()).tuned(false);
    assert!(tuned(source, &options, &given, &short()).stored.is_none());
    assert!(!folder.path().join("tuned").exists());
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let tuning = tuned(source, &Options::new().cache(&file), &given, &short());
    assert!(tuning.stored.unwrap().unwrap_err().to_string().contains("cannot write"));
}

#[test]
fn mistakes_are_told_as_when_compiling() {
    let (a, _) = operands(20);
    let refused = |source: &str, options: &Options| {
        tune(source, options, &[("A", a.as_dyn())], &short(), &mut |_| ()).unwrap_err().to_string()
    };
    let options = Options::new().tuned(false);
    assert!(refused("y(i) = A(i,j) *", &options).contains("expected"));
    assert!(refused("y(i) = A(i,j) * x(j)", &options).contains('x'));
    assert!(refused("y(i) = A(i,j)", &options.schedule("unroll(k, 2)")).contains('k'));
}
