//! `compile -o`: objects and sources for other programs.

use std::process::Command;

use crate::common::Folder;

const MAIN: &str = r#"
#include <stdio.h>
#include "spmv.h"
int main(void)
{
    uint32_t pos[] = {0, 2, 3}, crd[] = {0, 2, 1};
    double a[] = {2, 1, 3}, x[] = {1, 10, 100}, y[2] = {-1, -1};
    struct spmv_args args = {.i_size = 2, .j_size = 3, .threads = 2, .y_vals = y, .y_vals_capacity = 2,
        .A2_pos = pos, .A2_pos_capacity = 3, .A2_crd = crd, .A2_crd_capacity = 3, .A_vals = a, .A_vals_capacity = 3,
        .x_vals = x, .x_vals_capacity = 3};
    int32_t status = spmv(&args);
    printf("%d %g %g\n", (int)status, y[0], y[1]);
    return 0;
}
"#;

/// Compiles a program in C with more files, and gives what it prints.
fn linked(folder: &Folder, code: &str) -> String {
    folder.write("main.c", MAIN);
    let mut cc = Command::new("cc");
    cc.current_dir(folder.path(".")).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "main.c", code]);
    let output = cc.args(["-o", "main", "-lm", "-pthread", "-fopenmp"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.path("main")).current_dir(folder.path(".")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_kind_of_code_runs_in_another_program() {
    let mut kinds = vec!["spmv.c", "spmv.o --backend c", "spmv.so --backend c"];
    if cfg!(feature = "llvm") {
        kinds.extend(["spmv.o", "spmv.so", "spmv.s"]);
    }
    for kind in kinds {
        let folder = Folder::new();
        let output = folder.run(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o {kind}"));
        assert_eq!((output.code, output.out.as_str()), (0, ""), "{kind}: {}", output.err);
        let file = kind.split(' ').next().unwrap();
        assert_eq!(output.err, format!("wrote {file}\nwrote spmv.h\n"));
        let file = if file == "spmv.so" { "./spmv.so" } else { file };
        assert_eq!(linked(&folder, file), "0 102 30\n", "{kind}");
    }
}

#[test]
fn a_file_keeps_its_content_where_nothing_is_made() {
    let folder = Folder::new();
    folder.write("add.o", "before");
    folder.fail("compile 'C(i,j) = A(i,j) + B(i,j)' -f A:csr -f B:csc -f C:csr -o add.o", 2, "E1018");
    assert_eq!(folder.read("add.o"), "before");
    folder.fail("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o nowhere/spmv.c", 3, "E1014");
    folder.fail("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o spmv.exe", 2, "E1017");
    folder.fail("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o spmv.s --backend c", 2, "llvm");
}

#[test]
fn names_become_identifiers() {
    let folder = Folder::new();
    let header = |file: &str, name: &str| {
        folder.succeed(&format!("compile 'y = a * b; z = y + a' -o {file}"));
        folder.read(name)
    };
    let text = header("2-steps.c", "2-steps.h");
    assert!(text.contains("int32_t kernel_2_steps_1(struct kernel_2_steps_1_args *args);"), "{text}");
    assert!(text.contains("int32_t kernel_2_steps_2("), "{text}");
    assert!(folder.read("2-steps.c").contains("#include \"2-steps.h\""));
}
