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

/// Compiles a program in C with more files, and gives its output.
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

/// The messages of a C++ compiler for a program; `None` if there is no such compiler.
fn cpp(folder: &Folder, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("g++");
    command.current_dir(folder.path(".")).args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    let Ok(output) = command.args(arguments).output() else {
        eprintln!("SKIPPED: there is no g++");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn headers_are_valid_cpp_whatever_the_types() {
    let folder = Folder::new();
    for (name, dtype) in [("one", "c64"), ("two", "c128"), ("three", "f16"), ("four", "bool")] {
        let program = "compile 'y(i) = A(i,j) * x(j)' -f A:csr";
        folder.succeed(&format!("{program} -t A:{dtype} -t x:{dtype} -t y:{dtype} -o {name}.c"));
    }
    let includes = "#include \"one.h\"\n#include \"two.h\"\n#include \"three.h\"\n#include \"four.h\"\n";
    folder.write("both.cc", &format!("{includes}{includes}#include <complex>\n"));
    assert_eq!(cpp(&folder, &["-fsyntax-only", "both.cc"]).unwrap_or_default(), "");
    // And in C, where numbers are C's own.
    folder.write("both.c", includes);
    let output = Command::new("cc")
        .current_dir(folder.path("."))
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "both.c", "one.c", "two.c"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Numbers of C++ go in and out.
    let program = "#include \"dot.h\"\n#include <cstdio>\nint main() {\n\
         std::complex<double> x[] = {{1, 2}, {3, -1}}, y[1];\n\
         struct dot_args args = {};\n\
         args.i_size = 2; args.x_vals = x; args.x_vals_capacity = 2; args.y_vals = y; args.y_vals_capacity = 1;\n\
         int32_t status = dot(&args);\n\
         std::printf(\"%d %g %g\", int(status), y[0].real(), y[0].imag());\n}\n";
    folder.write("main.cc", program);
    folder.succeed("compile 'y = x(i) * x(i)' -t x:c128 -s none -o dot.o");
    if cpp(&folder, &["main.cc", "dot.o", "-o", "main", "-lm", "-pthread"]).is_some_and(|said| {
        assert_eq!(said, "");
        true
    }) {
        let output = Command::new(folder.path("main")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0 5 -2");
    }
}

#[test]
fn names_that_mean_something_are_changed() {
    let folder = Folder::new();
    let mut all = String::new();
    for name in [
        "int",
        "main",
        "double",
        "class",
        "co_await",
        "fortran",
        "sqrtl",
        "_Bool",
        "lac_x",
        "I",
        "errno",
        "pthread_create",
    ] {
        folder.succeed(&format!("compile 'y = a * b' -o {name}.c"));
        let header = folder.read(&format!("{name}.h"));
        let symbol = header.split("int32_t ").last().unwrap().split('(').next().unwrap();
        assert_ne!(symbol, name);
        assert!(folder.read(&format!("{name}.c")).contains(&format!("int32_t {symbol}(struct {symbol}_args *args)")));
        all += &format!("#include \"{name}.h\"\n");
    }
    folder.write("all.cc", &all);
    assert_eq!(cpp(&folder, &["-fsyntax-only", "all.cc"]).unwrap_or_default(), "");
    // One name whatever the kind of file.
    if cfg!(feature = "llvm") {
        for file in ["int.o", "int.so", "int.ll", "int.s"] {
            folder.succeed(&format!("compile 'y = a * b' -o {file}"));
            assert!(folder.read("int.h").contains("int32_t int_(struct int__args *args);"), "{file}");
        }
        assert!(folder.read("int.ll").contains("@int_("));
    }
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

#[test]
fn what_a_kernel_takes_is_told_as_text_and_as_data() {
    let folder = Folder::new();
    let json =
        folder.succeed("compile 'C(i,j) = A(i,j) + B(i,j)' -f A:csr -f B:csr -f C:csr -d i:4000 -o add.c --json");
    let header = folder.read("add.h");
    for line in [
        " *   C(i,j) = A(i,j) + B(i,j)\n *   C: f64, csr, 4000 x ?\n",
        " *   j_size           int64_t: the size of index variable j\n",
        " *   A2_crd           array of uint32_t: `crd` of level 2 of A; only read\n",
    ] {
        assert!(header.contains(line), "{header}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let signature = &json["signatures"][0];
    assert_eq!((&signature["symbol"], &signature["computes"]), (&"add".into(), &"all".into()));
    let parameters = signature["parameters"].as_array().unwrap();
    let vals = parameters.iter().find(|parameter| parameter["name"] == "C_vals").unwrap();
    assert_eq!(
        *vals,
        serde_json::json!({
            "name": "C_vals", "capacity": "C_vals_capacity", "dtype": "f64", "access": "made", "meaning": "the values of C"
        })
    );
}
