//! Runs the command in a folder of its own, with a few small files in it.
//!
//! ```text
//! a.mtx  3 x 4:  1 . 2 .      x.mtx  4 x 1, an array:  1 10 100 1000
//!                . . . 3
//!                4 . 5 .      t.tns  2 x 3 x 2:  (0,0,0) = 1, (1,2,1) = 2
//! ```

use std::path::PathBuf;
use std::process::Command;

/// The outcome of a run of the command.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A folder with files in which the command runs.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let matrix = "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1\n1 3 2\n2 4 3\n3 1 4\n3 3 5\n";
        folder.write("a.mtx", matrix);
        folder.write("x.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n10\n100\n1000\n");
        folder.write("t.tns", "1 1 1 1.0\n2 3 2 2.0\n");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs the command; the line is split as by a shell.
    pub fn run(&self, line: &str) -> Output {
        self.run_with(line, &[])
    }

    /// Runs the command with variables in its environment.
    pub fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let words = shlex::split(line).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_lacunar"))
            .args(words)
            .current_dir(self.0.path())
            .env("NO_COLOR", "1")
            .env("LACUNAR_CACHE", self.path("cache"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the command, which must succeed, and gives its standard output.
    pub fn succeed(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.code, 0, "{line}\n{}{}", output.out, output.err);
        output.out
    }

    /// Runs the command, which must fail with this code and name this in its message.
    pub fn fail(&self, line: &str, code: i32, message: &str) {
        let output = self.run(line);
        assert!(output.code == code && output.err.contains(message), "{line}\n{output:#?}");
    }
}
