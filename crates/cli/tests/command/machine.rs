//! The machine that kernels are made for: `--machine`, `LACUNAR_MACHINE` and `info --machine`.

use crate::common::Folder;

const SPMV: &str = "'y(i) = A(i,j) * x(j)' -i A:a.mtx -i x:x.mtx";
const PRODUCT: &str = "1 201.0\n2 3000.0\n3 504.0\n";

/// The machines that are known by name, with the choices that follow from their costs.
const CHOICES: [(&str, &str); 7] = [
    ("generic", "vectors of 16 bytes, filled from scattered places by loads and inserts; 20000 scalar"),
    ("generic-v2", "vectors of 16 bytes, filled from scattered places by loads and inserts; 20000 scalar"),
    ("generic-v3", "vectors of 32 bytes, filled from scattered places by loads and inserts; 20000 scalar"),
    ("generic-v4", "vectors of 64 bytes, filled from scattered places by loads and inserts; 20000 scalar"),
    ("icelake", "vectors of 64 bytes, filled from scattered places by an instruction that gathers; 20000 scalar"),
    (
        "zen4",
        "vectors of 64 bytes, filled from scattered places by loads and inserts (from the third level of caches by \
         gathers); 20000 scalar",
    ),
    ("zen5", "vectors of 64 bytes, filled from scattered places by loads and inserts; 10000 scalar"),
];

#[test]
fn choices_differ_by_machine_and_results_do_not() {
    let folder = Folder::new();
    for (name, choice) in CHOICES {
        let explained = folder.succeed(&format!("compile {SPMV} --machine {name} --explain"));
        assert!(explained.contains(&format!("code for `{name}`: {choice}")), "{name}: {explained}");
        let output = folder.run(&format!("run {SPMV} --machine {name} -o y:-"));
        let variable = folder.run_with(&format!("run {SPMV} -o y:-"), &[("LACUNAR_MACHINE", name)]);
        assert_eq!((&output.out, output.code), (&variable.out, variable.code));
        // Code for a machine whose instructions the processor lacks is not run.
        if output.code == 2 {
            assert!(output.err.contains("E1305") && name != "generic", "{output:?}");
        } else {
            assert_eq!(output.out, PRODUCT, "{name}: {output:?}");
        }
    }
}

#[test]
#[cfg(all(feature = "llvm", target_arch = "x86_64"))]
fn instructions_are_those_of_the_machine() {
    let folder = Folder::new();
    let assembly =
        |name: &str| folder.succeed(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr --machine {name} --emit asm"));
    let has = |name: &str| {
        let text = assembly(name);
        ["vgatherqpd", "zmm", "ymm", "xmm"].map(|part| text.contains(part))
    };
    assert_eq!(has("icelake"), [true, true, true, true]);
    assert_eq!(has("zen4")[..1], [false]);
    assert_eq!(has("generic-v3")[..3], [false, false, true]);
    assert_eq!(has("generic-v2"), [false, false, false, true]);
}

#[test]
fn a_machine_is_printed_and_read_back() {
    let folder = Folder::new();
    let here = folder.succeed("info --machine");
    assert!(here.contains("instructions = \"host\"") && here.contains("[caches]"), "{here}");
    // It was measured once, and kept.
    assert_eq!(here, folder.succeed("info --machine"));
    let text = folder.succeed("info --machine zen4");
    folder.write("mine.toml", &text.replace("\"zen4\"", "\"mine\"").replace("fork = 2000.0", "fork = 8000.0"));
    let explained = folder.succeed(&format!("compile {SPMV} --machine mine.toml --explain"));
    assert!(explained.contains("code for `mine`") && explained.contains("80000 scalar"), "{explained}");
    let json = folder.succeed("info --machine icelake --json");
    assert!(json.starts_with("{\"name\":\"icelake\"") && json.contains("\"gather_8\":0.75"), "{json}");
    folder.write("broken.toml", &text.replace("gather_8", "gather_9"));
    for (line, code) in [
        (format!("run {SPMV} --machine broken.toml"), "E1304"),
        (format!("run {SPMV} --machine abacus"), "E1304"),
        ("info --machine abacus".to_string(), "E1304"),
    ] {
        folder.fail(&line, 2, code);
    }
    assert!(folder.run("info").code == 2 && folder.run("info a.mtx --machine zen4").code == 2);
}

#[test]
fn a_schedule_is_good_on_machines_whose_cheapest_loops_differ() {
    let folder = Folder::new();
    let fast = folder.succeed("info --machine zen5");
    let slow: Vec<&str> =
        fast.lines().map(|line| if line.starts_with("from_beyond") { "from_beyond = 4.0" } else { line }).collect();
    folder.write("slow.toml", &slow.join("\n"));
    let compile = |options: &str| {
        folder.succeed(&format!(
            "compile 'D(i,k) = A(i,j) * B(j,k) + E(i,k)' -f A:csr -d A:4,5 -d B:5,3 -d E:4,3 --explain {options}"
        ))
    };
    let order = |options: &str| {
        let explained = compile(options);
        let line = explained.lines().find(|line| line.contains("loop order")).unwrap_or_default();
        line.trim().chars().take_while(|char| *char != '(').collect::<String>()
    };
    assert_ne!(order("--machine zen5"), order("--machine slow.toml"));
    let precompute = "-s 'precompute(A(i,j) * B(j,k), k, k)'";
    assert_eq!(order(&format!("--machine zen5 {precompute}")), order(&format!("--machine slow.toml {precompute}")));
}

#[test]
fn dense_products_have_tiles_or_strips_whatever_their_sizes() {
    let folder = Folder::new();
    for machine in ["zen4", "generic-v2"] {
        for (rows, sum) in [(50, 300), (150, 300), (200, 1000), (250, 300), (300, 1000), (40, 20_000)] {
            let line = format!(
                "compile 'C(i,j) = A(i,k) * B(k,j)' -f A:dense -f B:dense -d A:{rows},{sum} -d B:{sum},{rows} --machine {machine} --explain"
            );
            let text = folder.succeed(&line);
            assert!(text.contains("precompute(") || text.contains("unroll("), "{line}: {text}");
        }
    }
}
