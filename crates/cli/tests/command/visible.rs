//! perf and gdb see machine code in the process by name.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::Folder;

const NAME: &str = "lacunar::compute y(i)=A(i,j)*x(j)";

/// The command that runs a kernel on 2000 rows, with its code kept in a folder.
fn arguments() -> Vec<String> {
    let line = "run 'y(i) = A(i,j) * x(j)' -f A:csr -d i:2000 -d j:2000 -g 'A:sparse(0.1)' -g x:ones --threads 2";
    shlex::split(line).unwrap()
}

/// The functions that a process tells perf of when it runs a kernel: address, length and name of each.
fn told(folder: &Folder, asked: &str) -> Option<Vec<(u64, u64, String)>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lacunar"));
    command.args(arguments()).env("LACUNAR_CACHE", folder.path("cache")).env("LACUNAR_PERF", asked);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let file = format!("/tmp/perf-{}.map", child.id());
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(&file).ok()?;
    fs::remove_file(&file).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        (number(words[0]), number(words[1]), words[2].to_string())
    };
    Some(text.lines().map(line).collect())
}

#[test]
fn perf_is_told_where_kernels_are() {
    let folder = Folder::new();
    // Code that is made, and then code that was kept.
    for _ in 0..2 {
        let mut functions = told(&folder, "1").unwrap();
        functions.sort();
        let names: Vec<&str> = functions.iter().map(|(.., name)| name.as_str()).collect();
        assert_eq!(names, [NAME, &format!("{NAME} [parallel]")]);
        assert!(functions.iter().all(|(begin, bytes, _)| *begin > 0 && *bytes > 0));
        assert!(functions[0].0 + functions[0].1 <= functions[1].0, "{functions:x?}");
    }
    assert!(fs::read_dir(folder.path("cache/code")).unwrap().count() > 0);
    assert_eq!(told(&folder, "0"), None);
}

#[test]
fn gdb_stops_in_a_kernel() {
    let folder = Folder::new();
    let mut command = Command::new("gdb");
    command.args(["-nx", "-q", "-batch", "-ex", "set breakpoint pending on", "-ex", &format!("break '{NAME}'")]);
    command.args(["-ex", "run", "-ex", "info symbol $pc", "--args", env!("CARGO_BIN_EXE_lacunar")]).args(arguments());
    command.env("LACUNAR_CACHE", folder.path("cache")).env("LACUNAR_GDB", "1").env("DEBUGINFOD_URLS", "");
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED: there is no gdb");
        return;
    };
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if ["ptrace", "personality", "startup"].iter().any(|refused| said.contains(refused)) {
        eprintln!("SKIPPED: gdb may not start a process here: {said}");
        return;
    }
    assert!(text.contains(&format!("{NAME} in section .text of <in-memory")), "{text}\n{said}");
}
