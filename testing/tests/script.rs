//! The script `x`, run in a workspace of its own with stand-ins for cargo, the C compiler and apt-get.
//!
//! The stand-in for cargo writes each of its calls to a file `calls`; "building" copies a shell script to
//! `target/release/lacunar`, "testing" to `target/debug/lacunar`, that prints its folder and its arguments, one a line. So these tests see
//! the decisions of `x` (what to install, when to build, how, what to run) within milliseconds. Only the tools that `x` needs are on its
//! PATH, whatever else this machine has.
#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

const CARGO: &str = r#"#!/bin/sh
printf '%s\n' "$*" >>"$WORKSPACE/calls"
case $1 in
    build)
        if [ -e "$WORKSPACE/broken" ]; then exit 101; fi
        cp "$WORKSPACE/crates/lacunar.sh" "$WORKSPACE/target/release/lacunar" ;;
    test)
        mkdir -p "$WORKSPACE/target/debug"
        cp "$WORKSPACE/crates/lacunar.sh" "$WORKSPACE/target/debug/lacunar"
        if [ -e "$WORKSPACE/broken" ]; then
            echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out'
            exit 101
        fi
        echo 'test result: ok. 30 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'
        echo 'test result: ok. 4 passed; 0 failed; 5 ignored; 0 measured; 0 filtered out' ;;
esac
"#;

const LACUNAR: &str = r#"#!/bin/sh
pwd -P
printf '%s\n' "$@"
exit "${EXIT_CODE:-0}"
"#;

const APT_GET: &str = r#"#!/bin/sh
printf 'apt-get %s\n' "$*" >>"$WORKSPACE/calls"
case "$*" in
    *install*build-essential*) printf '#!/bin/sh\n' >"$WORKSPACE/bin/cc"; chmod +x "$WORKSPACE/bin/cc" ;;
esac
"#;

const README: &str = "# Name\n\n```sh\n$ ./x run 'y(i) = A(i,j)' \\\n    -f A:csr\n./x test\n```\n";

/// One test at a time: a program that one test has just written cannot be started while a process that another test
/// starts at that moment still holds it open for writing.
static ALONE: Mutex<()> = Mutex::new(());

/// A workspace with the script, and its stand-ins in `bin`.
struct Workspace {
    root: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Workspace {
    fn new(name: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("script").join(name);
        if root.exists() {
            fs::remove_dir_all(&root).expect("the last run's folder can be removed");
        }
        for folder in ["bin", "crates", "elsewhere", "llvm/bin", "target/release"] {
            fs::create_dir_all(root.join(folder)).expect("a folder can be made");
        }
        let workspace = Self { root: root.canonicalize().expect("the folder is there"), _alone: alone };
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../x"), root.join("x")).expect("the script is there");
        for tool in [
            "awk", "cat", "chmod", "cp", "date", "dirname", "env", "find", "head", "mkdir", "mktemp", "mv", "readlink",
            "rm", "sh", "tee",
        ] {
            symlink(found(tool), root.join("bin").join(tool)).expect("a link can be made");
        }
        workspace.program("bin/cargo", CARGO);
        workspace.program("bin/cc", "#!/bin/sh\n");
        workspace.program("bin/id", "#!/bin/sh\necho 0\n");
        workspace.program("llvm/bin/llvm-config", "#!/bin/sh\n");
        workspace.program("crates/lacunar.sh", LACUNAR);
        workspace.write("README.md", README);
        workspace
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.join(name), text).expect("a file can be written");
    }

    fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.root.join(name), mode).expect("a file can be made a program");
    }

    /// Makes the command print `changed` from its next build on.
    fn change_source(&self) {
        // Times of files are as coarse as the system's clock ticks, up to 10 ms.
        sleep(Duration::from_millis(20));
        self.program("crates/lacunar.sh", "#!/bin/sh\necho changed\n");
    }

    /// The script, to be called from the folder `elsewhere`.
    fn x(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.root.join("x"));
        command
            .args(arguments)
            .current_dir(self.root.join("elsewhere"))
            .env_clear()
            .env("PATH", self.root.join("bin"))
            .env("HOME", self.root.join("elsewhere"))
            .env("WORKSPACE", &self.root)
            .env("LLVM_SYS_191_PREFIX", self.root.join("llvm"));
        command
    }

    /// The calls of the stand-ins since this was last asked.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.root.join("calls")).unwrap_or_default();
        self.write("calls", "");
        calls.lines().map(str::to_owned).collect()
    }
}

/// The path of a tool on this machine.
fn found(tool: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("there is a PATH");
    env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.exists()).expect("the tool is on PATH")
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the script can be started")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const BUILD: &str = "build --release -p lacunar-cli";

#[test]
fn arguments_folder_and_exit_code_are_the_commands_own() {
    let workspace = Workspace::new("arguments");
    let arguments = ["run", "y(i) = A(i,j) * x(j)", "-f", "A:csr", "", "it's \"$HOME\" * \\n", "two\nlines"];
    let output = run(workspace.x(&arguments).env("EXIT_CODE", "3"));
    let folder = workspace.root.join("elsewhere");
    assert_eq!(out(&output), format!("{}\n{}\n", folder.display(), arguments.join("\n")));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn builds_only_when_something_changed() {
    let workspace = Workspace::new("builds");
    run(&mut workspace.x(&["--version"]));
    assert_eq!(workspace.calls(), [BUILD]);
    let quiet = run(&mut workspace.x(&["--version"]));
    assert_eq!((workspace.calls(), err(&quiet)), (Vec::new(), String::new()));
    workspace.change_source();
    assert_eq!(out(&run(&mut workspace.x(&["info"]))), "changed\n");
    assert_eq!(workspace.calls(), [BUILD]);
    fs::remove_file(workspace.root.join("target/release/lacunar")).expect("the command is there");
    run(&mut workspace.x(&["info"]));
    assert_eq!(workspace.calls(), [BUILD]);
}

#[test]
fn a_failed_build_runs_nothing_and_is_tried_again() {
    let workspace = Workspace::new("failed_build");
    run(&mut workspace.x(&["info"]));
    workspace.write("broken", "");
    workspace.change_source();
    for _ in 0..2 {
        let output = run(&mut workspace.x(&["info"]));
        assert_eq!((output.status.code(), out(&output)), (Some(69), String::new()));
    }
    fs::remove_file(workspace.root.join("broken")).expect("the file is there");
    assert_eq!(out(&run(&mut workspace.x(&["info"]))), "changed\n");
}

#[test]
fn llvm_can_be_left_out() {
    let workspace = Workspace::new("no_llvm");
    let without = format!("{BUILD} --no-default-features");
    let output = run(workspace.x(&["info"]).env("LACUNAR_NO_LLVM", "1"));
    assert!(output.status.success());
    run(workspace.x(&["info"]).env("LACUNAR_NO_LLVM", "1"));
    assert_eq!(workspace.calls(), [without.as_str()]);
    run(&mut workspace.x(&["info"]));
    assert_eq!(workspace.calls(), [BUILD]);
}

#[test]
fn cargo_is_found_at_home_or_asked_for() {
    let workspace = Workspace::new("no_cargo");
    let home = workspace.root.join("elsewhere/.cargo/bin");
    fs::create_dir_all(&home).expect("a folder can be made");
    fs::rename(workspace.root.join("bin/cargo"), home.join("cargo")).expect("the stand-in is there");
    assert!(run(&mut workspace.x(&["info"])).status.success());
    assert_eq!(workspace.calls(), [BUILD]);
    workspace.change_source();
    let output = run(workspace.x(&["info"]).env("HOME", "/nowhere"));
    assert_eq!(output.status.code(), Some(69));
    assert!(err(&output).contains("https://rustup.rs"), "{}", err(&output));
}

#[test]
fn a_missing_compiler_is_installed_or_asked_for() {
    let workspace = Workspace::new("no_compiler");
    fs::remove_file(workspace.root.join("bin/cc")).expect("the stand-in is there");
    let output = run(&mut workspace.x(&["info"]));
    assert_eq!(output.status.code(), Some(69));
    assert!(err(&output).contains("a C compiler is missing"), "{}", err(&output));
    assert_eq!(workspace.calls(), [""; 0]);

    workspace.program("bin/apt-get", APT_GET);
    workspace.program("bin/id", "#!/bin/sh\necho 1000\n");
    let output = run(&mut workspace.x(&["info"]));
    assert_eq!((output.status.code(), workspace.calls()), (Some(69), Vec::new()));
    assert!(err(&output).contains("that needs root, and there is no sudo"), "{}", err(&output));

    workspace.program("bin/id", "#!/bin/sh\necho 0\n");
    let output = run(&mut workspace.x(&["info"]));
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("installing with apt-get: build-essential"), "{}", err(&output));
    let calls = workspace.calls();
    assert!(calls.contains(&"apt-get -qq -y install build-essential".to_owned()), "{calls:?}");
    assert_eq!(calls.last().map(String::as_str), Some(BUILD));
}

#[test]
fn without_arguments_it_says_what_it_can_do() {
    let output = run(&mut Workspace::new("usage").x(&[]));
    assert_eq!((output.status.code(), out(&output)), (Some(2), String::new()));
    assert!(err(&output).starts_with("Usage: ./x SUBCOMMAND"));
}

#[test]
fn test_runs_every_stage_and_sums_the_results() {
    let workspace = Workspace::new("test");
    // Two test stages of 34 each, with LLVM and without; the second one on one day in three, `faer` on another one.
    for (day, sum) in [("20784", "68 passed, 0 failed"), ("20785", "34 passed, 0 failed")] {
        let output = run(workspace.x(&["test"]).env("LACUNAR_DAY", day));
        assert!(output.status.success(), "{:?}{:?}", out(&output), err(&output));
        assert_eq!(out(&output).lines().last(), Some(sum));
    }
    let text = out(&run(workspace.x(&["test"]).env("LACUNAR_DAY", "20786")));
    assert!(text.contains("\nrun\ny(i) = A(i,j)\n-f\nA:csr\n"), "README's first command was not run: {text:?}");
    let calls = workspace.calls();
    assert!(!calls.contains(&BUILD.to_string()), "built for users, too: {calls:?}");
    let format = "fmt --all --check";
    let lints = "clippy --workspace --all-targets -- -D warnings";
    let lints_of_faer = "clippy --workspace --features lacunar/faer --all-targets -- -D warnings";
    for call in [format, lints, lints_of_faer, "doc --lib --no-deps --workspace"] {
        assert!(calls.iter().any(|made| made == call), "{call} is not among {calls:?}");
    }
}

#[test]
fn test_of_all_builds_what_users_have() {
    let workspace = Workspace::new("test_all");
    let output = run(&mut workspace.x(&["test", "--all"]));
    assert!(output.status.success(), "{:?}", err(&output));
    assert!(out(&output).contains("\nrun\ny(i) = A(i,j)\n"));
    assert!(workspace.calls().contains(&BUILD.to_string()));
}

#[test]
fn test_ends_at_the_first_failing_stage() {
    let workspace = Workspace::new("failing_test");
    workspace.write("broken", "");
    let output = run(&mut workspace.x(&["test"]));
    let text = out(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text.lines().last(), Some("1 passed, 2 failed"));
    assert!(text.contains("== tests: FAILED with exit code 101"), "{text:?}");
    assert!(!text.contains("== documentation"), "{text:?}");
}

#[test]
fn test_without_llvm_says_what_it_skipped() {
    let output = run(Workspace::new("test_no_llvm").x(&["test"]).env("LACUNAR_NO_LLVM", "1"));
    let text = out(&output);
    assert_eq!(text.lines().last(), Some("34 passed, 0 failed"));
    assert!(text.contains("SKIPPED"), "{text:?}");
}
