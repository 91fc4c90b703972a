//! Programs of rules in files: sizes from files and flags, outputs, orders of loops, mistakes.

use serde_json::Value;

use crate::common::Folder;

/// A symmetric matrix, of which the upper half is read, times twice a vector.
const PROGRAM: &str = "\
-g x:ones
symbols: n
outputs: y
iters: y -> j, i
A:D(i, j) := (0 <= i < n) * (0 <= j < n)
x:D(i) := (0 <= i < n)
z:D(i) := (0 <= i < n)
y:D(i) := (0 <= i < n)
z(i) := 2 * x(i)
y(i) := A(i, j) * z(j) * (i <= j) + A(j, i) * z(j) * (j < i)
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.stur", PROGRAM);
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n1 3 10\n3 1 100\n");
    folder.write("a.tns", "1 1 1\n1 3 10\n3 1 100\n");
    folder
}

#[test]
fn inputs_have_the_structure_that_rules_say() {
    let folder = Folder::new();
    let rules = "symbols: n\nA:D(i, j) := (0 <= i < n) * (0 <= j < n)\nA:U(i, j) := (0 <= i <= j < n)\n\
        A:R(i, j, ip, jp) := (0 <= j < i < n) * (ip = j) * (jp = i)\nx:D(i) := (0 <= i < n)\ny:D(i) := (0 <= i < n)\n\
        y(i) := A(i, j) * x(j)\n";
    folder.write("once.stur", rules);
    let text = folder.succeed("run once.stur -g A:rand -g x:rand -d n:7 --check --explain");
    assert!(text.contains("`A` is read once") && text.contains("nnz 28"), "{text}");
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n");
    folder.fail("run once.stur -i A:a.mtx -g x:rand", 3, "by its structure");
}

#[test]
fn a_declared_structure_of_a_result_is_contradicted_by_an_element() {
    let folder = Folder::new();
    let square = |name: &str| format!("{name}:D(i, j) := (0 <= i < n) * (0 <= j < n)\n");
    let upper = |name: &str| format!("{}{name}:U(i, j) := (0 <= i <= j < n)\n", square(name));
    let rules = format!("symbols: n\n{}{}{}C(i, j) := A(i, k) * B(k, j)\n", upper("A"), upper("B"), square("C"));
    folder.write("two.stur", &rules);
    folder.succeed("run two.stur -g A:rand -g B:rand -d n:6 -p C:upper --check");
    for size in [3, 6, 50] {
        let line = format!("run two.stur -g A:rand -g B:rand -d n:{size} -p C:lower");
        folder.fail(&line, 2, &format!("of {size} x {size}, element (0, 1) is not known to be 0"));
    }
}

#[test]
fn the_size_of_a_file_tells_symbols_and_a_symbol_the_size_of_a_file() {
    let folder = folder();
    assert_eq!(folder.succeed("run p.stur -i A:a.mtx -o y:- --check"), "1 22.0\n2 0.0\n3 20.0\n");
    assert_eq!(folder.succeed("run p.stur -i A:a.tns -d n:4 -o y:-"), "1 22.0\n2 0.0\n3 20.0\n4 0.0\n");
}

#[test]
fn outputs_are_shown_and_others_are_written_where_that_is_asked_for() {
    let folder = folder();
    let shown = folder.succeed("run p.stur -i A:a.mtx --check");
    assert!(shown.contains("y(0) = 22") && !shown.contains("z(0)"), "{shown}");
    assert!(shown.contains("agrees with the dense oracle"), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed("run p.stur -g A:rand -d n:50 --json --check")).unwrap();
    assert_eq!((json["result"]["name"].as_str(), json["result"]["dims"][0].as_u64()), (Some("y"), Some(50)));
    assert_eq!(json["check"]["different"].as_u64(), Some(0));
    assert_eq!(folder.succeed("run p.stur -i A:a.mtx -o z:-"), "1 2.0\n2 2.0\n3 2.0\n");
}

#[test]
fn programs_for_nothing_compare_nothing() {
    let folder = Folder::new();
    let rules = "symbols: n\noutputs: C\nC:D(i, j) := (0 <= i < n) * (0 <= j < n)\nB:D(i, j) := (0 <= i < n) * (0 <= j < n)\n\
        B:U(i, j) := (0 <= i <= j < n)\nC(i, j) := B(i, j) * (i < 0)\n";
    folder.write("nothing.stur", rules);
    for (size, values) in [(0, 0), (1, 1), (4, 16)] {
        let text = folder.succeed(&format!("run nothing.stur -g B:rand -d n:{size} --check"));
        assert!(text.contains(&format!(": {values} values, ")), "{text}");
    }
}

#[test]
fn loops_have_the_order_that_is_asked_for() {
    let folder = folder();
    let shown = folder.succeed("compile p.stur -d n:8 --explain");
    assert!(shown.contains("loop order j, i (given)"), "{shown}");
    let own = folder.succeed("compile p.stur -d n:8 --explain -s 'y: reorder(i, j)'");
    assert!(own.contains("loop order i, j (given)"), "{own}");
    let printed = folder.succeed("compile p.stur -d n:8 --emit notation");
    assert!(printed.starts_with("z(i) = 2.0 * x(i)\n"), "{printed}");
}

#[test]
fn mistakes_point_into_the_file() {
    let folder = folder();
    folder.fail("run p.stur -g A:rand", 2, "error[E1532]");
    folder.fail("run p.stur -g A:rand", 2, "p.stur:5:24");
    folder.fail("run p.stur -g A:rand", 2, "-d n:8");
    folder.fail("run p.stur -d n:3", 2, "p.stur:10:9");
    folder.fail("run p.stur -g A:rand -g q:rand -d n:3", 2, "error[E0208]");
    folder.write("q.stur", "y(i) := x(i) + \n");
    folder.fail("run q.stur -g x:rand", 2, "error[E1521]");
}
