//! Files that the command writes: their rights, and their state after an interruption; two results do not go into one file.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Folder;

#[test]
fn two_results_do_not_go_into_one_file() {
    let folder = Folder::new();
    let run = "run 'y(i) = A(i,j) * x(j); z(j) = A(i,j) * y(i)' -i A:a.mtx -i x:x.mtx";
    folder.write("old.tns", "1 1\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("old.tns", folder.path("link.tns")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("new.tns", folder.path("dangling.tns")).unwrap();
    let here = folder.path("r.tns").display().to_string();
    let mut pairs = vec![["r.tns", "r.tns"], ["r.tns", "./r.tns"], [here.as_str(), "r.tns"], ["-", "-"]];
    if cfg!(unix) {
        pairs.extend([["old.tns", "link.tns"], ["new.tns", "./dangling.tns"]]);
    }
    let files = folder.files();
    for [a, b] in pairs {
        folder.fail(&format!("{run} -o y:{a} -o z:{b}"), 2, "E1019");
        assert_eq!(folder.files(), files);
    }
    folder.fail("compile 'y = a' -o k.c -o ./k.c", 2, "E1019");
    // Source and object have one header, and one result may go into two files.
    folder.succeed("compile 'y = a' -o k.c -o k.o");
    folder.succeed(&format!("{run} -o y:r.tns -o z:link.tns -o z:dangling.tns"));
    assert_eq!(folder.read("new.tns"), folder.read("old.tns"));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o7777;
    let commands = [
        ("run 'y(i) = x(i)' -i x:x.mtx -o y:y.tns", "y.tns"),
        ("convert a.mtx b.tns.gz", "b.tns.gz"),
        ("compile 'y = a' -o k.c", "k.c"),
        ("plot a.mtx -o a.svg", "a.svg"),
    ];
    // The usual permissions of a new file, under the mask of the tests.
    folder.write("new", "");
    let usual = mode("new");
    for (line, name) in commands {
        folder.succeed(line);
        assert_eq!(mode(name), usual, "{name}");
        for rights in [0o640, 0o600, 0o666, 0o755] {
            std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(rights)).unwrap();
            folder.succeed(line);
            assert_eq!(mode(name), rights, "{name}");
        }
    }
}

/// The command, with interruptions that end it: a shell's job in the background ignores them, and so do its children.
#[cfg(unix)]
fn interruptible() -> Command {
    let lacunar = env!("CARGO_BIN_EXE_lacunar");
    let default = ["--default-signal=INT", "--"];
    if !Command::new("env").args(default).arg("true").stderr(Stdio::null()).status().is_ok_and(|it| it.success()) {
        return Command::new(lacunar); // Not GNU's `env`.
    }
    let mut command = Command::new("env");
    command.args(default).arg(lacunar);
    command
}

/// Starts the command in a folder whose `tmp` is the system's folder for temporary files.
#[cfg(unix)]
fn start(folder: &Folder, line: &str, cc: &str) -> Child {
    std::fs::create_dir_all(folder.path("tmp")).unwrap();
    interruptible()
        .args(shlex::split(line).unwrap())
        .current_dir(folder.path("."))
        .env("TMPDIR", folder.path("tmp"))
        .env("CC", cc)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until something is there.
#[cfg(unix)]
fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends a command by a signal, and asks that it ended by it.
#[cfg(unix)]
fn interrupt(mut child: Child, signal: i32) {
    use std::os::unix::process::ExitStatusExt;
    assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(signal));
}

#[cfg(unix)]
fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(unix)]
#[test]
fn nothing_is_left_of_what_is_interrupted() {
    use std::os::unix::fs::PermissionsExt;
    let (int, alarm, term) = (2, 14, 15);
    let folder = Folder::new();
    folder.write("y.tns.gz", "before");
    let files = || folder.files().into_iter().filter(|name| name != "tmp").collect::<Vec<_>>();
    let before = files();
    for signal in [int, alarm, term] {
        let writing = start(&folder, "run 'y(i) = x(i)' -g x:rand -d i:20000000 -o y:y.tns.gz", "cc");
        wait_for("a part of the file", || files().len() > before.len());
        interrupt(writing, signal);
        assert_eq!((files(), folder.read("y.tns.gz").as_str()), (before.clone(), "before"));
    }
    // A compiler that takes its time.
    folder.write("slow", "#!/bin/sh\n: > started\nexec sleep 100\n");
    std::fs::set_permissions(folder.path("slow"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (signal, line) in [(int, "run 'y = x' -i x=2 --backend c"), (term, "compile 'y = x' -o k.so --backend c")] {
        let compiling = start(&folder, line, &folder.path("slow").display().to_string());
        wait_for("the compiler", || folder.path("started").exists());
        assert!(!is_empty(&folder.path("tmp")));
        interrupt(compiling, signal);
        assert!(is_empty(&folder.path("tmp")), "{line}");
        std::fs::remove_file(folder.path("started")).unwrap();
    }
    // One that fails.
    assert_eq!(start(&folder, "run 'y = x' -i x=2 --backend c", "false").wait().unwrap().code(), Some(2));
    assert!(is_empty(&folder.path("tmp")));
}

#[cfg(unix)]
#[test]
fn nothing_is_left_of_a_file_that_is_larger_than_allowed() {
    let folder = Folder::new();
    folder.write("y.tns", "before");
    let before = folder.files();
    for (name, options) in
        [("y.tns", ""), ("y.tns.gz", ""), ("y.npy", ""), ("y.npz", ""), ("y.mtx", "--backend interp")]
    {
        let command = env!("CARGO_BIN_EXE_lacunar");
        let line =
            format!("ulimit -f 64; exec '{command}' run 'y(i) = x(i)' -g x:rand -d i:400000 -o y:{name} {options}");
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {:?} {said}", output.status);
        assert!(said.contains("E1014") && said.contains("too large"), "{said}");
        assert_eq!((folder.files(), folder.read("y.tns").as_str()), (before.clone(), "before"), "{name}");
    }
}

#[test]
fn places_for_outputs_are_checked_before_anything_runs() {
    let folder = Folder::new();
    let files = folder.files();
    let spmv = "'y(i) = A(i,j) * x(j)' -i A:a.mtx -i x:x.mtx";
    for (line, message) in [
        (format!("run {spmv} -o y:none/y.tns"), "error[E1014]: cannot write none/y.tns: there is no folder"),
        (format!("run {spmv} -o y:a.mtx/y.tns"), "is no folder"),
        (format!("run {spmv} -o y:cache.tns"), "it is a folder"),
        (format!("run {spmv} -o y:y.foo"), "E1103"),
        (format!("run {spmv} -o y:y.rb"), "E1104"),
        ("run 'T(i,j,k) = B(i,j,k)' -i B:t.tns -o T:t.mtx".to_string(), "no tensors of order 3; write .tns"),
        (format!("run {spmv} --emit-to a.mtx/stages"), "E1014"),
        (format!("compile {spmv} -o none/y.so"), "E1014"),
        ("convert missing.mtx none/y.tns".to_string(), "E1014"),
        ("convert missing.mtx y.foo".to_string(), "E1103"),
        ("plot missing.mtx -o none/y.png".to_string(), "E1014"),
    ] {
        std::fs::create_dir_all(folder.path("cache.tns")).unwrap();
        let output = folder.run(&line);
        assert!(output.code == 3 && output.err.contains(message), "{line}\n{output:#?}");
        // Neither was anything computed nor is a temporary file named or left.
        assert!(output.out.is_empty() && !output.err.contains(".part"), "{line}\n{output:#?}");
        std::fs::remove_dir(folder.path("cache.tns")).unwrap();
        assert_eq!(folder.files(), files, "{line}");
    }
    // The format of a result is known when the program is compiled.
    let output = folder.run("run 'C(i,j) = 2 * A(i,j)' -i A:a.mtx -f C:csr -o C:c.npy");
    assert!(output.code == 3 && output.out.is_empty() && output.err.contains("write .npz instead"), "{output:#?}");
}

#[test]
fn messages_that_nobody_can_be_told_change_no_exit_code() {
    for (line, code) in [("run 'y(i) = A(i,j'", 2), ("run 'y(i) = x(i)' -g x:ones -d x:3 --explain -q", 0)] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lacunar"));
        command.args(shlex::split(line).unwrap()).stdout(Stdio::null()).stderr(full);
        assert_eq!(command.status().unwrap().code(), Some(code), "{line}");
    }
}
