//! `lacunar tune`: its measurements and output, and the use of stored schedules by later runs.

use crate::common::Folder;
use serde_json::Value;

const SPMV: &str = "'y(i) = A(i,j) * x(j)' -i A:a.mtx -i x:x.mtx --threads 2";

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.succeed(line)).unwrap()
}

/// The file in which the winner stands.
fn stored(found: &Value) -> String {
    found["stored"].as_str().unwrap().to_string()
}

#[test]
fn candidates_are_shown_with_the_flags_that_choose_them() {
    let folder = Folder::new();
    let text = folder.succeed(&format!("tune {SPMV} --time 3"));
    for part in ["the planner's choice", "x 1.000", "-s none", "\ntuned\n", "stored in "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = json(&folder, &format!("tune {SPMV} --time 3 --exhaustive --json -s 'unroll(j,4)'"));
    let statement = &found["statements"][0];
    let candidates = statement["candidates"].as_array().unwrap();
    assert!(candidates.len() >= 3, "{found}");
    assert!(statement["planner_over_best"].as_f64().unwrap() >= 1.0 && found["exhaustive"] == true, "{found}");
    assert!(candidates.iter().any(|one| one["idea"] == "as given" && one["schedule"] == "unroll(j, 4)"), "{found}");
    for one in candidates {
        assert!(one["runs"].as_u64().unwrap() >= 3 && one["ratio"].as_f64().unwrap() > 0.0, "{one}");
        // Each can be passed back.
        let flags = if one["search"] == "none" { "-s none" } else { "-s auto" };
        let line = format!("run {SPMV} {flags} -s '{}' -o y:-", one["schedule"].as_str().unwrap());
        assert_eq!(folder.succeed(&line), "1 201.0\n2 3000.0\n3 504.0\n", "{one}");
    }
}

#[test]
fn the_next_run_takes_the_winner() {
    let folder = Folder::new();
    let explained = |flags: &str| folder.succeed(&format!("run {SPMV} --explain {flags}"));
    assert!(!explained("").contains("data of this class"));
    let file = stored(&json(&folder, &format!("tune {SPMV} --time 3 --json")));
    assert!(explained("").contains("data of this class"));
    for other in ["--no-tuned", "--strict", "--threads 3", "-s none", "-f A:csc"] {
        assert!(!explained(other).contains("data of this class"), "{other}");
    }
    // The fastest schedule depends on the machine; here the test chooses it.
    let mut entry: Value = serde_json::from_str(&folder.read(&file)).unwrap();
    entry["statements"][0] = serde_json::json!({ "planned": true, "schedule": "unroll(j, 3)" });
    folder.write(&file, &entry.to_string());
    assert!(explained("").contains("schedule from tuning on data of this class"));
    let run = json(&folder, &format!("run {SPMV} --json"));
    assert_eq!(run["schedule"], "unroll(j, 3)");
    assert_eq!(folder.succeed(&format!("run {SPMV} -o y:-")), "1 201.0\n2 3000.0\n3 504.0\n");
    folder.write(&file, "{ broken");
    assert!(explained("").contains("is ignored"));
    assert_eq!(folder.succeed(&format!("run {SPMV} -o y:-")), "1 201.0\n2 3000.0\n3 504.0\n");
}

#[test]
fn a_program_file_brings_its_flags() {
    let folder = Folder::new();
    folder.write("p.lac", "-i A:a.mtx -i x:x.mtx\ny(i) = A(i,j) * x(j)\nz(i) = 2 * y(i)\n");
    let found = json(&folder, "tune p.lac --json --time 3 --seconds 1");
    assert_eq!(found["statements"].as_array().unwrap().len(), 2);
    assert!(folder.succeed("run p.lac --explain").contains("data of this class"));
    assert!(folder.succeed("tune p.lac --time 3 --no-tuned").contains("not stored"));
}

#[test]
fn what_cannot_be_stored_or_read_is_told() {
    let folder = Folder::new();
    folder.write("cache", "a file where the folder would be");
    let output = folder.run(&format!("tune {SPMV} --time 3"));
    assert!(output.code == 3 && output.out.contains("not stored") && output.err.contains("cannot write"), "{output:?}");
    folder.fail("tune 'y(i) = A(i,j)' -i A:missing.mtx", 3, "missing.mtx");
    folder.fail("tune 'y(i) = A(i,j) *' -i A:a.mtx", 2, "E0102");
}

#[test]
fn each_schedule_that_is_given_is_a_candidate() {
    let folder = Folder::new();
    folder.write("s.txt", "# by hand\nsplit(i, i0, i1, 2)\nunroll(j, 2)\n");
    let line = format!("tune {SPMV} --time 3 --no-tuned --json");
    let found = json(&folder, &format!("{line} -s 'unroll(j,4)' -s @s.txt -s 'parallelize(j,cpu,none)'"));
    let candidates = found["statements"][0]["candidates"].as_array().unwrap();
    let given = candidates.iter().filter(|one| one["idea"] == "as given");
    let given: Vec<&str> = given.map(|one| one["schedule"].as_str().unwrap()).collect();
    assert_eq!(given, ["unroll(j, 4)", "split(i, i0, i1, 2), unroll(j, 2)"]);
    assert_eq!(found["refused"], serde_json::json!(["parallelize(j,cpu,none)"]));
    let output = folder.run(&format!("tune {SPMV} --time 3 --no-tuned -s 'unroll(j,4)' -s 'unroll(q,4)'"));
    assert!(output.code == 0 && output.out.contains("\nrefused\n  -s 'unroll(q,4)'\n"), "{output:?}");
    assert!(output.err.contains("error[E09"), "{output:?}");
    // Nothing is left to be measured.
    folder.fail(&format!("{line} -s 'parallelize(j,cpu,none)' -s 'unroll(q,4)'"), 2, "unroll(q,4)");
    folder.fail(&format!("{line} -s 'parallelize(j,cpu,none)'"), 2, "a race");
}

#[test]
fn nothing_is_written() {
    let folder = Folder::new();
    folder.fail("tune 'y(i) = A(i,j) * x(j)' -i A:a.mtx -g x:ones -o y:y.tns", 2, "writes no results");
}

#[test]
fn the_runs_that_are_measured_print_and_write_nothing() {
    let folder = Folder::new();
    let program = "-i A:a.mtx -i x:x.mtx\nclock t\nfor k in 0 .. 2 {\n  y(i) = A(i,j) * x(j)\n  print y\n}\nelapsed t\n\
                   write y \"y.tns\"\nwrite y \"again.tns\"\nread z \"again.tns\"\nw(i) = 2 * z(i)\n";
    folder.write("p.lac", program);
    let text = folder.succeed("tune p.lac --time 3 --seconds 1");
    assert!(!text.contains("y = ") && !text.contains("t: "), "{text}");
    let files = folder.files();
    assert!(!files.contains(&"y.tns".to_string()) && files.contains(&"again.tns".to_string()), "{files:?}");
    folder.write("r.lac", "-d z:9\nrandom z seed 7\nw(i) = 2 * z(i)\n");
    assert!(folder.succeed("tune r.lac --time 3 --seconds 1").contains("not stored: the class"));
}
