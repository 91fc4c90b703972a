//! Schedules: every spelling, which statement a command is about, and that printed schedules read back.

use lacunar_base::Span;
use lacunar_formats::Format;
use lacunar_front::{Declarations, check, schedule};
use lacunar_notation::schedule::{Command, CommandKind, Schedule};
use lacunar_notation::{Access, Expr, ExprKind, Program};
use proptest::prelude::*;

fn program(source: &str) -> Program {
    check(source, &Declarations::new().format("A", Format::csr())).expect("a program")
}

/// The schedule of each statement, printed.
fn texts(source: &str, text: &str) -> Vec<String> {
    let program = program(source);
    match schedule::check(text, &program) {
        Ok(schedules) => schedules.iter().map(|schedule| program.schedule_text(schedule)).collect(),
        Err(errors) => panic!("{}", errors.iter().map(|error| error.render(text, "-s", false)).collect::<String>()),
    }
}

/// The codes of the mistakes in a schedule.
fn codes(source: &str, text: &str) -> Vec<&'static str> {
    let errors = schedule::check(text, &program(source)).expect_err("mistakes");
    errors.into_iter().map(|error| error.code).collect()
}

const SPMV: &str = "y(i) = A(i,j) * x(j)";

#[test]
fn every_command_in_every_spelling() {
    for (written, expected) in [
        ("reorder(j,i)", "reorder(j, i)"),
        ("FUSE(i,j,f)", "fuse(i, j, f)"),
        ("split(i,i0,i1,32)", "split(i, i0, i1, 32)"),
        ("divide(i,i0,i1,4)", "divide(i, i0, i1, 4)"),
        ("divide(i,i0,i1,threads)", "divide(i, i0, i1, threads)"),
        ("divide(i,i0,i1, 1 Threads)", "divide(i, i0, i1, threads)"),
        ("divide(i,i0,i1,4 threads)", "divide(i, i0, i1, 4 threads)"),
        ("pos(j,p,A(i,j))", "pos(j, p, A(i,j))"),
        ("pos(j,p,A[i,j])", "pos(j, p, A(i,j))"),
        ("pos(j,p,A)", "pos(j, p, A(i,j))"),
        ("pos(j,p,x)", "pos(j, p, x(j))"),
        ("pos(j,p,A), coord(p,j2)", "pos(j, p, A(i,j)), coord(p, j2)"),
        ("parallelize(i,cpu)", "parallelize(i, cpu)"),
        ("parallelize(i,cpu,auto)", "parallelize(i, cpu)"),
        ("parallelize(i,CPUThread,NoRaces)", "parallelize(i, cpu, none)"),
        ("parallelize(i,CPUVector,IgnoreRaces)", "parallelize(i, vector, ignore)"),
        ("parallelize(i,GPUBlock,Atomics)", "parallelize(i, gpublock, atomics)"),
        ("parallelize(i,GPUWarp,Temporary)", "parallelize(i, gpuwarp, temporary)"),
        ("parallelize(i,GPUThread,ParallelReduction)", "parallelize(i, gputhread, reduction)"),
        ("parallelize(i,NotParallel,NoRaces)", ""),
        ("unroll(i,4)", "unroll(i, 4)"),
        ("unroll(i)", "unroll(i)"),
        ("bound(i,ib,16,MaxExact)", "bound(i, ib, 16, maxexact)"),
        ("bound(i,ib,0,minconstraint)", "bound(i, ib, 0, minconstraint)"),
        ("precompute(A(i,j)*x(j),j,jw)", "precompute(A(i,j) * x(j), j, jw)"),
        ("precompute(A(i,j)*x(j),{i,j},[i,jw],Dense)", "precompute(A(i,j) * x(j), {i, j}, {i, jw}, dense)"),
        ("precompute(A(i,j)*x(j),{},[])", "precompute(A(i,j) * x(j), {}, {})"),
        ("precompute(x(j),j,j,sorted)", "precompute(x(j), j, j, sorted)"),
        ("assemble(y,Insert)", "assemble(y, insert)"),
        ("assemble(y,append,false)", "assemble(y, append)"),
        ("mergeby(j,TwoFinger)", "mergeby(j, coiterate)"),
        ("mergeby(j,Gallop)", "mergeby(j, gallop)"),
        ("mergeby(j,bitmap)", "mergeby(j, bitmap)"),
    ] {
        assert_eq!(texts(SPMV, written), [expected], "{written}");
        assert_eq!(texts(SPMV, expected), [expected], "{expected}");
    }
}

#[test]
fn commands_are_separated_in_several_ways() {
    let expected = ["split(i, i0, i1, 8), unroll(i1, 4)"];
    for text in [
        "split(i,i0,i1,8),unroll(i1,4)",
        "split(i,i0,i1,8);unroll(i1,4);",
        "; split(i,i0,\n  i1,8)\nunroll(i1,4) # twice\n",
        "split(i,i0,i1,8), // strips\n unroll(i1,4)",
    ] {
        assert_eq!(texts(SPMV, text), expected);
    }
    assert_eq!(texts(SPMV, ""), [""]);
}

#[test]
fn a_command_is_about_the_statement_that_has_its_names() {
    let two = "y(i) = A(i,j) * x(j)\nz(i) = 2 * y(i)";
    assert_eq!(texts(two, "split(j,j0,j1,4), unroll(j1)"), ["split(j, j0, j1, 4), unroll(j1)", ""]);
    assert_eq!(
        texts(two, "z: split(i,i0,i1,4), parallelize(i0,cpu)"),
        ["", "split(i, i0, i1, 4), parallelize(i0, cpu)"]
    );
    assert_eq!(texts(two, "1: unroll(i,2); 2: unroll(i,3)"), ["unroll(i, 2)", "unroll(i, 3)"]);
    assert_eq!(
        texts(two, "assemble(z,append); precompute(y(i),i,iw)")[1],
        "assemble(z, append), precompute(y(i), i, iw)"
    );
    // Both have strips of the same names.
    let strips = "y: split(i,i0,i1,4), z: split(i,i0,i1,8)";
    assert_eq!(texts(two, strips), ["split(i, i0, i1, 4)", "split(i, i0, i1, 8)"]);
    assert_eq!(codes(two, &format!("{strips}, unroll(i1)")), ["E0911"]);
    let updated = "y(i) = A(i,j) * x(j)\ny(i) += z(i)";
    assert_eq!(codes(updated, "y: unroll(i,2)"), ["E0911"]);
    assert_eq!(texts(updated, "2: unroll(i,2)"), ["", "unroll(i, 2)"]);
}

#[test]
fn an_access_is_found_by_the_variable() {
    let product = "C(i,j) = A(i,k) * A(k,j)";
    assert_eq!(texts(product, "pos(i,p,A)"), ["pos(i, p, A(i,k))"]);
    assert_eq!(texts(product, "split(j,j0,j1,4), pos(j1,p,A)")[0], "split(j, j0, j1, 4), pos(j1, p, A(k,j))");
    assert_eq!(texts(product, "fuse(i,k,f), pos(f,p,A)")[0], "fuse(i, k, f), pos(f, p, A(i,k))");
    assert_eq!(codes(product, "pos(k,p,A)"), ["E0911"]);
}

#[test]
fn all_mistakes_are_found_but_not_those_that_follow() {
    assert_eq!(
        codes(SPMV, "splitt(i,i0,i1,4), unroll(i0), unroll(k), parallelize(i,cpus)"),
        ["E0902", "E0906", "E0905"]
    );
    assert_eq!(codes(SPMV, "split(i,i0,i1,), unroll(i,), reorder(i,j)"), ["E0901", "E0901"]);
    assert_eq!(codes(SPMV, "split(i,$,i1,2)"), ["E0101"]);
    assert_eq!(codes(SPMV, "split(i,i0,i1,99999999999999999999)"), ["E0104"]);
    assert_eq!(codes("y(i) = A(i + 1,i) * x(i)", "precompute(A(i + 1,i), i, w)"), ["E0904"]);
    assert_eq!(codes("y(i) = A(i + 1,i) * x(i)", "pos(i, p, A(2*i,i))"), ["E0904"]);
    assert_eq!(codes(SPMV, "unroll(i,4294967296)"), ["E0904"]);
    assert_eq!(codes(SPMV, "precompute(A(i,j)+)"), ["E0901"]);
    assert_eq!(codes(SPMV, "precompute(A(i)*x(j),j,jw)"), ["E0202"]);
    assert_eq!(codes(SPMV, "split(i,i0,i1,2"), ["E0103"]);
}

/// The schedule without places.
fn without_spans(schedule: Schedule) -> Schedule {
    fn bare(old: Expr) -> Expr {
        let new = old.map_children(&mut bare);
        let kind = match new.kind {
            ExprKind::Access(access) => ExprKind::Access(Access { span: Span::NONE, ..access }),
            kind => kind,
        };
        Expr { kind, span: Span::NONE, ..new }
    }
    let command = |command: Command| {
        let kind = match command.kind {
            CommandKind::Pos { var, position, access } => {
                CommandKind::Pos { var, position, access: Access { span: Span::NONE, ..access } }
            }
            CommandKind::Precompute { expr, vars, into, kind } => {
                CommandKind::Precompute { expr: bare(expr), vars, into, kind }
            }
            kind => kind,
        };
        Command { kind, span: Span::NONE }
    };
    Schedule { commands: schedule.commands.into_iter().map(command).collect() }
}

/// A schedule of `SPMV` in which every name is right, from random numbers: each picks a command and its variables.
fn scheduled(picks: &[(u8, u64)]) -> String {
    let mut live = vec!["i".to_string(), "j".to_string()];
    let mut commands = Vec::new();
    for (number, &(kind, size)) in picks.iter().enumerate() {
        let place = size as usize % live.len();
        let (a, b) = (format!("a{number}"), format!("b{number}"));
        let size = size.max(1);
        let (command, made) = match kind % 14 {
            0 => (format!("split({}, {a}, {b}, {size})", live.remove(place)), vec![a, b]),
            1 => (format!("divide({}, {a}, {b}, {size})", live.remove(place)), vec![a, b]),
            2 => (format!("divide({}, {a}, {b}, {size} threads)", live.remove(place)), vec![a, b]),
            3 if live.len() > 1 => (format!("fuse({}, {}, {a})", live.remove(0), live.remove(0)), vec![a]),
            4 => (format!("pos({}, {a}, A(i,j))", live.remove(place)), vec![a]),
            5 => (format!("coord({}, {a})", live.remove(place)), vec![a]),
            6 => (format!("bound({}, {a}, {size}, minexact)", live.remove(place)), vec![a]),
            7 => (format!("parallelize({}, cpu, temporary)", live[place]), vec![]),
            8 => (format!("unroll({}, {})", live[place], size % 9 + 1), vec![]),
            9 => (format!("unroll({})", live[place]), vec![]),
            10 => (format!("mergeby({}, bitmap)", live[place]), vec![]),
            11 => (format!("precompute(2 * A(i,j) / -x(j), {}, {a}, marked)", live[place]), vec![a]),
            12 => (format!("precompute(x(j), {{{}}}, {{{}}})", live.join(","), live.join(",")), vec![]),
            _ => (format!("reorder({})", live.join(",")), vec![]),
        };
        live.extend(made);
        commands.push(command);
    }
    commands.join("; ")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn printed_schedules_read_back(picks in prop::collection::vec(any::<(u8, u64)>(), 0..12)) {
        let program = program(SPMV);
        let text = scheduled(&picks);
        let read = |text: &str| match schedule::check(text, &program) {
            Ok(schedules) => schedules.into_iter().map(without_spans).collect::<Vec<_>>(),
            Err(errors) => panic!("{}", errors.iter().map(|e| e.render(text, "-s", false)).collect::<String>()),
        };
        let first = read(&text);
        prop_assert_eq!(first[0].commands.len(), picks.len());
        prop_assert_eq!(&read(&program.schedule_text(&first[0])), &first);
    }

    #[test]
    fn random_schedules_do_no_harm(
        words in prop::collection::vec(prop::sample::select(WORDS.split(' ').collect::<Vec<_>>()), 0..40),
        text in "\\PC{0,60}",
    ) {
        let program = program("y(i) = A(i,j) * x(j)\nz(i) = y(i) * alpha");
        for text in [words.join(" "), words.concat(), text] {
            let (_, errors) = schedule::parse(&text);
            for error in errors.into_iter().chain(schedule::check(&text, &program).err().unwrap_or_default()) {
                prop_assert!(error.hint.is_some(), "{}", error);
                for label in &error.labels {
                    prop_assert!(text.get(label.span.range()).is_some(), "{} at {:?}", error, label.span);
                }
                prop_assert!(error.render(&text, "-s", false).contains(error.code));
            }
        }
    }
}

const WORDS: &str = "split reorder fuse pos precompute parallelize assemble unroll ( ( ( ) ) ) { } [ ] , , , ; : i j i0 i1 \
                     A y z 1 2 8 threads cpu none dense A(i,j) x(j) A(i,j)*x(j) alpha sum(j,A(i,j)) \n # 1.5 + split(i,i0,i1,2) \
                     y: 2: pos(j,p,A) f32(x(j)) A(i0,j)";

#[test]
fn deep_and_long_schedules_do_no_harm() {
    let program = program(SPMV);
    for piece in ["(", "{", "[", "precompute(", "a:", "split(i,", "unroll(i),", ",", ";", "-", "1 threads,", "{i},"] {
        for times in [100, 201, 5000, 70000] {
            for text in [piece.repeat(times), format!("reorder({}", piece.repeat(times))] {
                let errors = schedule::check(&text, &program).err().unwrap_or_default();
                assert!(errors.len() <= 20, "{} errors", errors.len());
            }
        }
    }
    let splits: Vec<String> = (0..2000).map(|k| format!("split(v{k},v{},w{k},2)", k + 1)).collect();
    let text = format!("split(i,v0,w,2),{}", splits.join(","));
    assert!(schedule::check(&text, &program).is_ok());
}
