//! LLVM's library is loaded to compile a kernel, and not to run one whose code was kept.

use crate::common::{Folder, Output};

const RUN: &str = "run 'y(i) = exp(A(i,j)) * x(j)' -f A:csr -d i:50 -d j:50 -g 'A:sparse(0.1)' -g x:ones --check";

/// Runs the command where LLVM's library has another name.
fn without_library(folder: &Folder, line: &str) -> Output {
    folder.run_with(line, &[("LACUNAR_LLVM", "/there/is/no/library.so")])
}

#[test]
fn code_that_was_kept_runs_without_the_library() {
    let folder = Folder::new();
    let missing = without_library(&folder, RUN);
    assert!(missing.code == 2 && missing.err.contains("error[E1306]: LLVM 19 was not found"), "{missing:?}");
    assert!(missing.err.contains("libllvm19") && missing.err.contains("--backend c"), "{missing:?}");
    let other = folder.run_with(RUN, &[("LACUNAR_LLVM", "libc.so.6")]);
    assert!(other.code == 2 && other.err.contains("libc.so.6 is another library"), "{other:?}");
    let made = folder.succeed(RUN);
    let found = without_library(&folder, RUN);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(made.contains("agrees") && found.out.contains("agrees"), "{found:?}");
    // Neither the C back end nor the interpreter asks for it.
    for backend in ["c", "interp"] {
        assert_eq!(without_library(&folder, &format!("{RUN} --backend {backend}")).code, 0);
    }
}
