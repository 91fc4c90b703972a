//! `lacunar run`: every flag, results on the usual small files, JSON, checks.

use lacunar_base::day::is_turn;
use serde_json::Value;

use crate::common::Folder;

/// `A` times `x`, of the files in [`crate::common`].
const PRODUCT: &str = "1 201.0\n2 3000.0\n3 504.0\n";
const SPMV: &str = "run 'y(i) = A(i,j) * x(j)' -i A:a.mtx -i x:x.mtx";

#[test]
fn a_product_in_every_format_on_every_back_end() {
    let folder = Folder::new();
    for format in ["csr", "csc", "dcsr", "dcsc", "coo", "dense", "ds", "ss:1,0"] {
        assert_eq!(folder.succeed(&format!("{SPMV} -f A:{format} -o y:-")), PRODUCT, "{format}");
    }
    for flags in ["--backend c", "--backend interp", "--strict", "-s none", "-s auto", "--threads 3", "-d i:3 -d j:4"] {
        assert_eq!(folder.succeed(&format!("{SPMV} {flags} -o y:-")), PRODUCT, "{flags}");
    }
}

#[test]
fn taco_spelling_means_the_same() {
    let folder = Folder::new();
    let line =
        "run 'y(i) = A(i,j) * x(j)' -f=A:ds:0,1 -t=A:float -t=x:double -d=i:3 -i=A:a.mtx -i=x:x.mtx -s=auto -o=y:-";
    assert_eq!(folder.succeed(line), PRODUCT);
    folder.succeed("run 'y(i) = A(i,j) * x(j)' -i=A:a.mtx -g=x:d -o=y:y.tns");
    assert_eq!(folder.read("y.tns"), "1 4.0\n2 9.0\n3 10.0\n");
    let scheduled = format!("{SPMV} -o y:- -s=\"parallelize(i,CPUThread,NoRaces)\" --threads 2");
    assert_eq!(folder.succeed(&scheduled), PRODUCT);
}

#[test]
fn schedules_are_shown_as_they_are_given() {
    let folder = Folder::new();
    let schedule = |flags: &str| {
        let json: Value = serde_json::from_str(&folder.succeed(&format!("{SPMV} --json {flags}"))).unwrap();
        (json["schedule"].as_str().unwrap().to_string(), json["threads"].as_u64().unwrap())
    };
    assert_eq!(schedule("-s none"), ("none".to_string(), 1));
    let text = "parallelize(i, cpu, none)";
    assert_eq!(schedule("-s 'parallelize(i,CPUThread,NoRaces)' --threads 2"), (text.to_string(), 2));
    // Several flags add up, after the last that begins anew.
    let text = "parallelize(i, cpu, none), unroll(j, 2)";
    let flags = "-s 'unroll(i,8)' -s none -s 'parallelize(i,cpu,none)' -s='unroll(j,2)' --threads 1";
    assert_eq!(schedule(flags), (text.to_string(), 1));
    let chosen = schedule("").0;
    assert_eq!(schedule(&format!("-s '{chosen}'")).0, chosen);

    let two = "compile 'y(i) = A(i,j) * x(j); z(i) = 2 * y(i)' -s 'y: unroll(i,2), unroll(j,4); z: unroll(i,3)'";
    let text = folder.succeed(&format!("{two} --emit schedule"));
    assert_eq!(text, "y: unroll(i, 2)\ny: unroll(j, 4)\n\nz: unroll(i, 3)\n");
    assert!(folder.succeed(&format!("{two} --explain")).contains("schedule y: unroll(i, 2), y: unroll(j, 4), z: "));
    let output = folder.run("compile 'y(i) = A(i,j) * x(j)' -s 'unroll(i,2)' -s 'parallelize(i,cpus)'");
    assert!(output.err.contains("-s:1:28") && output.err.contains("did you mean `cpu`?"), "{}", output.err);
}

#[test]
fn schedules_are_read_from_files() {
    let folder = Folder::new();
    folder.write("s.txt", "split(i, i0, i1, 2)  # rows in pairs\n\nreorder(i0, i1, j)  # as before");
    let spmv = "run 'y(i) = A(i,j) * x(j)' -i A:a.mtx -i x:x.mtx";
    let text = folder.succeed(&format!("{spmv} --explain -s @s.txt -s 'unroll(j,2)'"));
    assert!(text.contains("schedule split(i, i0, i1, 2), reorder(i0, i1, j), unroll(j, 2)"), "{text}");
    folder.write("none.txt", "none\n");
    assert!(folder.succeed(&format!("{spmv} --explain -s @none.txt")).contains("schedule none"));
    folder.write("bad.txt", "unroll(j,2)\nunroll(q,2)\n");
    folder.fail(&format!("{spmv} -s @bad.txt"), 2, "bad.txt:2:8");
    folder.fail(&format!("{spmv} -s @missing.txt"), 3, "E1007");
}

#[test]
fn patterns_get_a_format_that_can_hold_them() {
    let folder = Folder::new();
    let triangles = folder.succeed("run 't = A(i,j)' -i A:a.mtx -t A:pattern -t t:i64 -o t:-");
    assert_eq!(triangles, "5\n");
    let run = |flags: &str| folder.succeed(&format!("run {flags} -t t:i64 -o t:-"));
    assert_eq!(run("'t = B(i,j,k)' -i B:t.tns -t B:pattern"), "2\n");
    assert_eq!(run("'t = x(i)' -i x:x.mtx -t x:pattern"), "4\n");
    assert_eq!(run("'t = A(i,j)' -g 'A:uniform(2)' -d A:3,4 -t A:pattern"), "6\n");
    let json: Value = serde_json::from_str(&folder.succeed("run 't = A(i,j)' -i A:a.mtx -t A:pattern --json")).unwrap();
    assert_eq!(json["formats"]["A"], "csr");
    folder.fail("run 't = A(i,j)' -i A:a.mtx -t A:pattern -f A:dense", 2, "E0407");
}

#[test]
fn provenance_is_drawn() {
    let folder = Folder::new();
    folder.succeed("compile 'y(i) = x(i)' -s 'unroll(i,4)' --emit provenance --emit-to stages");
    assert!(folder.read("stages/provenance.dot").starts_with("digraph provenance {"));
    assert!(folder.read("stages/provenance.svg").contains("<svg"));
}

#[test]
fn inputs_of_every_kind() {
    let folder = Folder::new();
    // A row serves as a vector, a matrix of one cell as a scalar.
    folder.write("row.mtx", "%%MatrixMarket matrix coordinate integer general\n1 4 2\n1 2 3\n1 4 5\n");
    assert_eq!(folder.succeed("run 'y(i) = x(i)' -i x:row.mtx -o y:-"), "1 0\n2 3\n3 0\n4 5\n");
    folder.write("one.mtx", "%%MatrixMarket matrix array real general\n1 1\n7\n");
    assert_eq!(folder.succeed("run 'y = 2 * x' -i x:one.mtx -o y:-"), "14.0\n");
    folder.succeed("run 'y = 2 * x' -i x:one.mtx -o y:number.tns");
    assert_eq!(folder.succeed("run 'z = y - 1' -i y:number.tns -o z:-"), "13.0\n");
    assert_eq!(folder.succeed("run 'y = -a' -i a=2.5 -o y:-"), "-2.5\n");
    assert_eq!(folder.succeed("run 'y = a' -i a=2 -t a:f64 -o y:-"), "2.0\n");
    assert_eq!(folder.succeed("run 'y = B(i,j,k)' -i B:t.tns -o y:-"), "3.0\n");
    assert_eq!(folder.succeed("run 'y(i) = B(i,j,k)' -i B:t.tns -d i:4 -d j:3 -d k:2 -o y:-").lines().count(), 4);
    assert_eq!(folder.succeed("run 'y = x(i)' -g x:ones -d i:5 -o y:-"), "5.0\n");
    assert_eq!(folder.succeed("run 'y = x(i)' -g x:arange -d x:5 -t x:i64 -o y:-"), "10\n");
    assert_eq!(folder.succeed("run 'y = A(i,j)' -g 'A:uniform(2)' -d A:6,5 -t A:bool -t y:i64 -o y:-").trim(), "12");
    assert_eq!(folder.succeed("run 'y(i) += x(i)' -i x:x.mtx -i y:x.mtx -o y:-").lines().next(), Some("1 2.0"));
    // Values depend on the seed alone.
    let made = |seed: u32| folder.succeed(&format!("run 'y(i) = x(i)' -g x:rand -d i:3 --seed {seed} -o y:-"));
    assert_eq!(made(1), made(1));
    assert_ne!(made(1), made(2));
    // Two inputs of one kind are not the same.
    assert_ne!(folder.succeed("run 'y = x(i) - z(i)' -g x:rand -g z:rand -d i:3 -o y:-"), "0.0\n");
}

#[test]
fn a_program_file_holds_statements_and_flags() {
    let folder = Folder::new();
    folder.write("p.lac", "# a comment\n-i A:a.mtx -f 'A:csr'\n  -g x:ones\nt(i) = A(i,j) * x(j)\ny(i) = 2 * t(i)\n");
    assert_eq!(folder.succeed("run p.lac -o y:-"), "1 6.0\n2 6.0\n3 18.0\n");
    // The command line has the last word.
    folder.write("p.lac", "-i A:none.mtx -t x:f32\n-o y:-\ny(i) = A(i,j) * x(j)\n");
    assert_eq!(folder.succeed("run p.lac -i A:a.mtx -i x:x.mtx"), PRODUCT);
    folder.write("p.lac", "-i A:a.mtx\n\ny(i) = A(i,j) * )\n");
    folder.fail("run p.lac", 2, "p.lac:3:");
    folder.fail("run missing.lac", 3, "missing.lac");
}

#[test]
fn mistakes_in_flags_have_their_places() {
    let folder = Folder::new();
    let product = "y(i) = A(i,j) * x(j)\n";
    for (flags, line, message) in [
        ("# a comment\r\n-f 'A:csr\r\n", "", "p.lac:2:1"),
        ("# a comment\r\n-i A:a.mtx -p 'A:symetric'\r\n", "-g x:ones", "p.lac:2:18"),
        ("-i A:a.mtx -pA:symetric\n-f A:csr -p A:symmetric\n", "-g x:ones", "p.lac:1:16"),
        ("-i A:a.mtx --formats A:csr\n", "", "error[E1000]: in the flags of p.lac: unexpected argument '--formats'"),
        ("-i A:a.mtx\n", "--formats A:csr", "error[E1000]: unexpected argument '--formats'"),
        ("-i A:a.mtx\n", "-g x:ones -p A:symetric", "-p:1:3"),
        // The file has the value of the command line's flag as a part of a word, which is another value.
        ("-i A:a.mtx -p A:general\n", "-g x:ones -p A:gener", "-p:1:3"),
    ] {
        folder.write("p.lac", &format!("{flags}{product}"));
        folder.fail(&format!("run p.lac {line}"), 2, message);
    }
}

#[test]
fn json_has_its_keys_and_nothing_else_is_printed() {
    let folder = Folder::new();
    let output = folder.run(&format!("{SPMV} --json --time 4 --emit imp --explain --check"));
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(output.out.trim().lines().count(), 1);
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let keys = "expression formats schedule backend threads inputs result plan_ms compile_ms load_ms assemble_ms \
                times_ms median_ms min_ms flops bytes_touched gflops gbytes_per_s";
    for key in keys.split_whitespace() {
        assert!(!json[key].is_null(), "{key} in {json:#}");
    }
    assert_eq!(json["expression"], "y(i) = A(i,j) * x(j)");
    assert_eq!(json["formats"]["A"], "csr");
    assert_eq!(json["times_ms"].as_array().unwrap().len(), 4);
    let a = &json["inputs"][0];
    assert_eq!((&a["name"], &a["dims"], &a["nnz"]), (&"A".into(), &serde_json::json!([3, 4]), &5.into()));
    assert_eq!(a["bytes"], 4 * 4 + 5 * (4 + 8));
    let result = &json["result"];
    assert_eq!((&result["name"], &result["sum"], &result["nnz"]), (&"y".into(), &3705.0.into(), &3.into()));
    assert!((result["norm"].as_f64().unwrap() - f64::hypot(f64::hypot(201.0, 3000.0), 504.0)).abs() < 1e-9);
    assert_eq!(json["flops"], 10.0);
    assert_eq!(json["bytes_touched"], 76 + 32 + 24);
    assert_eq!(json["check"]["different"], 0);
    assert!(output.err.contains("loop order"));
}

#[test]
fn entries_are_counted_without_what_fills_up_storage() {
    let folder = Folder::new();
    for (format, stored) in [("csr", ""), ("bcsr(2,2)", ", 16 stored"), ("dia", ", 9 stored"), ("dense", ", 12 stored")]
    {
        let text = folder.succeed(&format!("{SPMV} -f 'A:{format}'"));
        assert!(text.contains(&format!("  3x4  nnz 5{stored}  ")), "{text}");
        let json: Value = serde_json::from_str(&folder.succeed(&format!("{SPMV} -f 'A:{format}' --json"))).unwrap();
        let a = &json["inputs"][0];
        assert!(a["nnz"] == 5 && (a["stored"] == 5) == stored.is_empty(), "{json}");
        assert!(format == "dense" || json["flops"] == 10.0, "{json}");
    }
}

#[test]
fn people_see_times_results_and_entries() {
    let folder = Folder::new();
    let text = folder.succeed(&format!("{SPMV} --time 3 --check --explain --emit concrete"));
    for part in
        ["y(i) = A(i,j) * x(j)", "forall", "explanation", "loop order", "median of 3", "GB/s", "y(1) = 3000", "oracle"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn the_plan_is_shown_before_the_run() {
    let folder = Folder::new();
    // The result does not fit: the run fails, and the messages before it stay.
    let line = "run 'C(i,j) = x(i) * z(j)' -g x:ones -g z:ones -d i:9000000 -d j:9000000 --explain";
    let output = folder.run(line);
    assert!(output.code == 4 && output.out.starts_with("explanation\n"), "{output:?}");
    assert!(output.out.contains("\ninputs\n  x  f64") && output.out.contains("\nplan\n  loop order"), "{output:?}");
    assert!(!output.out.contains("times"), "{output:?}");
    let text = folder.succeed(&format!("{SPMV} --check"));
    let order = ["inputs\n", "plan\n", "times\n", "results\n", "check\n"].map(|title| text.find(title).unwrap());
    assert!(order.is_sorted(), "{text}");
}

#[test]
fn outputs_are_whole_or_not_there() {
    let folder = Folder::new();
    folder.succeed(&format!("{SPMV} -o y:y.mtx -o y:y.tns.gz"));
    assert!(folder.read("y.mtx").starts_with("%%MatrixMarket matrix array real general\n3 1\n201"));
    folder.succeed("run 'C(i,j) = 2 * A(i,j)' -i A:a.mtx -o C:c.mtx");
    assert!(folder.read("c.mtx").starts_with("%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 2"));
    folder.write("old.mtx", "old");
    let before = folder.files();
    folder.fail("run 'y = x(i)' -g x:ones -d i:3 -o y:old.xyz", 3, "old.xyz");
    folder.fail("run 'y(i,j,k) = B(i,j,k)' -i B:t.tns -o y:old.mtx", 3, "old.mtx");
    folder.fail("run 'y(i) = x(i)' -i x:x.mtx -o y:none/y.tns", 3, "none");
    assert_eq!(folder.read("old.mtx"), "old");
    assert_eq!(folder.files(), before);
}

#[test]
fn checks_pass_with_the_oracle_and_with_the_interpreter() {
    let folder = Folder::new();
    let lines = [
        "'C(i,k) = A(i,j) * B(j,k)' -g 'A:sparse(0.2)' -g 'B:sparse(0.2)' -d i:20 -d j:30 -d k:25 -f C:csr",
        "'y(i) = A(i,j) * x(j) - z(i)' -g 'A:uniform(4)' -g x:rand -g z:rand -d A:60000,90000",
        "'C(i,j) = A(i,j) + B(j,i)' -g 'A:uniform(4)' -g 'B:uniform(4)' -d A:30000,30000 -t A:c128",
        "'t(i) = A(i,j) * x(j); y(k) = A(i,k) * t(i)' -g 'A:uniform(6)' -g x:rand -d A:40000,40000",
        "'y(i) = A(i,j) * x(j); y(i) += x(i)' -g 'A:uniform(2)' -g x:rand -d A:50000,50000",
        "'y(i) += A(i,j)' -g 'A:uniform(20)' -g y:rand -d A:60000,100",
        "'y = A(i,j)' -g 'A:uniform(20)' -d A:1000,12000 -t A:i64",
        "'op most(a, b) = max(a, b) { identity 0, commutative, associative }; y(j) = most(i, x(i) * A(i,j))' \
         -g 'A:uniform(4)' -g x:rand -d A:60000,60000",
        "'op own(a) = a * a; y(i) = own(A(i,j)) * x(j)' -g 'A:uniform(4)' -g x:rand -d A:60000,60000",
        // An input that is assigned to: its given values are compared, not those that the statement has left.
        "'A(i,j) = A(i,j) * B(i,j)' -g 'A:uniform(20)' -g 'B:uniform(20)' -d A:30000,1000",
        "'x(i) = 2 * x(i); y(i) = x(i) - A(i,j)' -g x:rand -g 'A:uniform(20)' -d A:12000,1000",
    ];
    for (_, line) in lines.into_iter().enumerate().filter(|(number, _)| is_turn(*number, 3)) {
        let text = folder.succeed(&format!("run {line} --check --json"));
        let json: Value = serde_json::from_str(&text).unwrap();
        assert!(json["check"]["compared"].as_u64().unwrap() > 0, "{line}: {}", json["check"]);
    }
}

#[test]
fn operands_whose_rows_would_be_searched_for_are_read_by_rows() {
    let folder = Folder::new();
    let line = "'C(i,j) = A(i,k) * A(k,j)' -g 'A:uniform(8)' -d A:3000,3000 -f C:csr --explain --check";
    for format in ["dcsr", "dcsc", "coo", "{btree}{btree}"] {
        let text = folder.succeed(&format!("run {line} -f 'A:{format}'"));
        let note = format!("`A` ({format}) is converted to csr: its rows are looked up again and again");
        assert!(text.contains(&note), "{format}: {text}");
    }
    assert!(!folder.succeed(&format!("run {line} -f A:csr")).contains("is converted"));
    let line = "'C(i,j) = A(i,j) + A(j,i)' -g 'A:uniform(8)' -d A:1000,1000 -f A:dh -f C:csr --explain --check";
    let text = folder.succeed(&format!("run {line}"));
    assert_eq!(text.matches("`A` (dh) is converted to ").count(), 2, "looked up at all coordinates: {text}");
    // The schedule names the operand that is looked up by its own name, so that it can be given.
    let line = "'t = A(i,j) * A(j,k) * A(i,k)' -g 'A:uniform(8)' -d A:1000,1000 --check --json";
    for format in ["coo", "csb(64)"] {
        let json: Value = serde_json::from_str(&folder.succeed(&format!("run {line} -f 'A:{format}'"))).unwrap();
        let schedule = json["schedule"].as_str().unwrap();
        assert!(!schedule.contains("by_order"), "{format}: {schedule}");
        folder.succeed(&format!("run {line} -f 'A:{format}' -s '{schedule}'"));
    }
    // So it does with the operand that holds coordinates.
    folder.write("p.tns", "1 2\n3 1\n4 2\n");
    let line = "'y(i) = x(p(i))' -t p:i64 -f p:b -i p:p.tns -d p:5 -f x:sv -g x:rand -d x:4 --check --json";
    let json: Value = serde_json::from_str(
        &folder.succeed(&format!("run {line} -s 'precompute(f64([p_at == p(i)]) * x(p_at), i, i)'")),
    )
    .unwrap();
    folder.succeed(&format!("run {line} -s '{}'", json["schedule"].as_str().unwrap()));
}

#[test]
fn fill_values_are_those_of_what_a_file_does_not_list() {
    let folder = Folder::new();
    folder.write("p.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 4\n1 3 1\n2 2 7\n");
    folder.write("q.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2\n2 3 5\n");
    let given = "-i P:p.mtx -i Q:q.mtx --fill P:inf --fill=Q:inf -f C:csr --check -o C:-";
    let both = folder.succeed(&format!("run 'C(i,j) = P(i,j) + Q(i,j)' {given}"));
    assert_eq!(both, "1 1 6.0\n");
    let either = folder.succeed(&format!("run 'C(i,j) = min(P(i,j), Q(i,j))' {given}"));
    assert_eq!(either, "1 1 2.0\n1 3 1.0\n2 2 7.0\n2 3 5.0\n");
    for format in ["csr", "csc", "bcsr(2,2)", "dense"] {
        let sums =
            folder.succeed(&format!("run 'y(i) = P(i,j)' -i P:p.mtx --fill P:-1 -f 'P:{format}' --check -o y:-"));
        assert_eq!(sums, "1 4.0\n2 5.0\n", "{format}");
    }
    let json: Value = serde_json::from_str(
        &folder.succeed(&format!("run 'C(i,j) = P(i,j) + Q(i,j)' {} --json", given.trim_end_matches(" -o C:-"))),
    )
    .unwrap();
    assert_eq!((json["inputs"][0]["fill"].as_str(), json["result"]["fill"].as_str()), (Some("inf"), Some("inf")));
    let text = folder
        .succeed("compile 'C(i,j) = P(i,j) + Q(i,j)' -f P:csr -f Q:csr -f C:csr --fill P:1 --fill Q:2 --emit notation");
    assert!(text.contains("C: f64 csr result fill 3") && text.contains("P: f64 csr input fill 1"), "{text}");
}

#[test]
fn a_full_result_is_warned_of_and_an_agreement_is_told() {
    let folder = Folder::new();
    let line = |expr: &str| format!("run '{expr}' -f A:csr -f C:csr -g 'A:sparse(0.3)' -d A:9,9 --check");
    let full = folder.run(&line("C(i,j) = A(i,j) + 1"));
    assert!(full.err.contains("warning: `C` (csr) gets every element: `1.0` is 1"), "{}", full.err);
    assert!(full.out.contains("agrees with the dense oracle: 81 values"), "{}", full.out);
    let sparse = folder.run(&line("C(i,j) = max(A(i,j), 0)"));
    assert_eq!((sparse.err.as_str(), sparse.code), ("", 0), "{}", sparse.out);
    assert!(sparse.out.contains("agrees with the dense oracle"), "{}", sparse.out);
}

#[test]
fn a_dense_result_larger_than_memory_is_refused() {
    let folder = Folder::new();
    folder.write("far.tns", "35184372088832 1 1.0\n");
    let line = "run 'y(i) = A(i,j)' -f A:dcsr -i A:far.tns -o y:y.tns";
    folder.fail(line, 4, "error[E1302]: `y` gets every element, 281474976710656 bytes");
    // No address space holds these.
    let line = "run 'y(i) = A(i,j)' -g A:rand -d A:67108864,67108864";
    folder.fail(line, 4, "error[E1302]: `A` cannot be stored as dense: out of memory: 36028797018963968 bytes");
    assert!(!folder.path("y.tns").exists());
}

#[test]
fn printed_plans_of_several_statements_and_of_numbers_run_again() {
    let folder = Folder::new();
    folder.write("x.tns", "1 3\n2 -3\n3 2\n");
    for (program, expected) in [
        ("y(i) = x(i) * 2; y(i) += x(i)", "y(0) = 9"),
        ("y(i) = A(i,j) * x(j); y(i) += x(i)", "y(0) = 5"),
        ("s = max(1, x(0)); s = max(s, 2) + s", "s = 6"),
    ] {
        let flags = "-i x:x.tns -g A:ones -d A:3,3";
        let flags = if program.contains("A(") { flags } else { "-i x:x.tns" };
        let plan = folder.succeed(&format!("compile '{program}' {flags} --emit concrete"));
        let again = folder.succeed(&format!("run '{plan}' {flags}"));
        assert!(again.contains(expected), "{plan}{again}");
    }
}
