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

/// The kinds of code that are made, as the value of `-o` and more arguments.
fn kinds() -> Vec<&'static str> {
    let mut kinds = vec!["spmv.c", "spmv.o --backend c", "spmv.so --backend c"];
    if cfg!(feature = "llvm") {
        kinds.extend(["spmv.o", "spmv.so", "spmv.s"]);
    }
    kinds
}

/// Compiles a program in C with the code of a kind, and returns its output.
fn linked(folder: &Folder, main: &str, kind: &str) -> String {
    let file = kind.split(' ').next().unwrap();
    let code = if file == "spmv.so" { "./spmv.so" } else { file };
    folder.write("main.c", main);
    let mut cc = Command::new("cc");
    cc.current_dir(folder.path(".")).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "main.c", code]);
    let output = cc.args(["-o", "main", "-lm", "-pthread", "-fopenmp"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.path("main")).current_dir(folder.path(".")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_kind_of_code_runs_in_another_program() {
    for kind in kinds() {
        let folder = Folder::new();
        let output = folder.run(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o {kind}"));
        assert_eq!((output.code, output.out.as_str()), (0, ""), "{kind}: {}", output.err);
        let file = kind.split(' ').next().unwrap();
        assert_eq!(output.err, format!("wrote {file}\nwrote spmv.h\n"));
        assert_eq!(linked(&folder, MAIN, kind), "0 102 30\n", "{kind}");
    }
}

/// The product of `[[2, 0, 1], [0, 3, 0], [1, 0, 0]]`, of which the main program has the upper half, with `(1, 10, 100)`.
#[test]
fn a_kernel_may_take_the_unique_elements_alone() {
    let main = MAIN.replace("{0, 2, 3}, crd", "{0, 2, 3, 3}, crd").replace("y[2] = {-1, -1}", "y[3]");
    let main = main.replace(".i_size = 2", ".i_size = 3").replace(".y_vals_capacity = 2", ".y_vals_capacity = 3");
    let main = main.replace(".A2_pos_capacity = 3", ".A2_pos_capacity = 4");
    let main = main.replace("%d %g %g", "%d %g %g %g").replace("y[1]);", "y[1], y[2]);");
    for kind in kinds() {
        let folder = Folder::new();
        folder.succeed(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr -p A:symmetric --unique A -o {kind}"));
        assert!(
            folder.read("spmv.h").contains("A has these elements alone: [m, n] -> { [i, j] : m = n and 0 <= i <= j")
        );
        assert_eq!(linked(&folder, &main, kind), "0 102 30 1\n", "{kind}");
    }
    let folder = Folder::new();
    // Sizes and numbers of values are known, but nothing can be converted before the kernel runs.
    let entries: Vec<String> =
        (1..=400).map(|i| format!("{i} {} 1\n{i} {} 1\n", i % 400 + 1, (7 * i) % 400 + 1)).collect();
    folder.write("s.mtx", &format!("%%MatrixMarket matrix coordinate real general\n400 400 800\n{}", entries.concat()));
    folder.succeed("compile 't = A(i,j) * A(j,k) * A(i,k)' -f A:coo -i A:s.mtx -o t.so");
    let whole = "compile 'C(i,k) = A(i,j) * B(j,k)' -f A:csr -p A:symmetric --unique A -o c.so";
    folder.fail(whole, 2, "completed before the kernel runs");
}

/// Calls a kernel with arguments that cannot be right, one mistake a line: the status, and whether the result is as it was.
const MISTAKES: &str = r#"
#include <stdio.h>
#include "spmv.h"
static uint32_t pos[] = {0, 2, 3}, crd[] = {0, 2, 1};
static double a[] = {2, 1, 3}, x[] = {1, 10, 100}, y[2];
static void call(const char *what, struct spmv_args args)
{
    y[0] = y[1] = -1;
    int32_t status = spmv(&args);
    printf("%s %d %s\n", what, (int)status, y[0] == -1 && y[1] == -1 ? "untouched" : "written");
}
#define TRY(change) do { struct spmv_args args = right; args.change; call(#change, args); } while (0)
int main(void)
{
    struct spmv_args right = {.i_size = 2, .j_size = 3, .threads = 2, .y_vals = y, .y_vals_capacity = 2,
        .A2_pos = pos, .A2_pos_capacity = 3, .A2_crd = crd, .A2_crd_capacity = 3, .A_vals = a, .A_vals_capacity = 3,
        .x_vals = x, .x_vals_capacity = 3};
    TRY(threads = 1);
    TRY(y_vals_capacity = 1);
    TRY(A2_pos_capacity = 2);
    TRY(A2_crd_capacity = 2);
    TRY(A_vals_capacity = 2);
    TRY(x_vals_capacity = 2);
    TRY(i_size = 3);
    TRY(j_size = 4);
    TRY(y_vals = NULL);
    TRY(A2_pos = NULL);
    TRY(A2_crd = NULL);
    TRY(A_vals = NULL);
    TRY(x_vals = NULL);
    TRY(i_size = -1);
    TRY(j_size = INT64_MIN);
    TRY(y_vals_capacity = LACUNAR_F64(2));
    TRY(y_vals_capacity = LACUNAR_F32(4));
    TRY(A2_pos_capacity = LACUNAR_U32(3));
    TRY(A2_pos_capacity = LACUNAR_U32(2));
    TRY(A2_pos_capacity = LACUNAR_U64(3));
    TRY(A2_crd_capacity = LACUNAR_U16(3));
    TRY(A_vals_capacity = LACUNAR_I64(3));
    TRY(x_vals_capacity = LACUNAR_C128(3));
    TRY(x_vals_capacity = (uint64_t)-1);
    return 0;
}
"#;

const ANSWERS: &str = "\
    threads = 1 0 written\n\
    y_vals_capacity = 1 4 untouched\n\
    A2_pos_capacity = 2 4 untouched\n\
    A2_crd_capacity = 2 4 untouched\n\
    A_vals_capacity = 2 4 untouched\n\
    x_vals_capacity = 2 4 untouched\n\
    i_size = 3 4 untouched\n\
    j_size = 4 4 untouched\n\
    y_vals = NULL 4 untouched\n\
    A2_pos = NULL 4 untouched\n\
    A2_crd = NULL 4 untouched\n\
    A_vals = NULL 4 untouched\n\
    x_vals = NULL 4 untouched\n\
    i_size = -1 6 untouched\n\
    j_size = INT64_MIN 6 untouched\n\
    y_vals_capacity = LACUNAR_F64(2) 0 written\n\
    y_vals_capacity = LACUNAR_F32(4) 5 untouched\n\
    A2_pos_capacity = LACUNAR_U32(3) 0 written\n\
    A2_pos_capacity = LACUNAR_U32(2) 4 untouched\n\
    A2_pos_capacity = LACUNAR_U64(3) 5 untouched\n\
    A2_crd_capacity = LACUNAR_U16(3) 5 untouched\n\
    A_vals_capacity = LACUNAR_I64(3) 5 untouched\n\
    x_vals_capacity = LACUNAR_C128(3) 5 untouched\n\
    x_vals_capacity = (uint64_t)-1 5 untouched\n";

#[test]
fn arguments_that_cannot_be_right_are_refused_before_anything_is_written() {
    for kind in kinds() {
        let folder = Folder::new();
        folder.succeed(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr -o {kind}"));
        assert_eq!(linked(&folder, MISTAKES, kind), ANSWERS, "{kind}");
    }
}

/// A sparse result, which the kernel makes, and a dense one that no memory could hold.
const MADE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "spmv.h"
int main(void)
{
    uint32_t pos[] = {0, 2, 3}, crd[] = {0, 2, 1};
    double a[] = {2, 1, 3};
    struct spmv_args right = {.i_size = 2, .j_size = 3, .A2_pos = pos, .A2_pos_capacity = 3, .A2_crd = crd,
        .A2_crd_capacity = 3, .A_vals = a, .A_vals_capacity = 3}, args = right;
    int32_t status = spmv(&args);
    printf("%d %u %g\n", (int)status, (unsigned)args.C2_pos[2], args.C_vals[2]);
    free(args.C2_pos);
    free(args.C2_crd);
    free(args.C_vals);
    args = right;
    args.C_vals_capacity = 1;
    status = spmv(&args);
    printf("%d %d\n", (int)status, args.C2_pos == NULL && args.C2_crd == NULL && args.C_vals == NULL);
    args = right;
    args.C2_crd_capacity = LACUNAR_U32(0);
    status = spmv(&args);
    printf("%d %d\n", (int)status, args.C2_pos == NULL && args.C2_crd == NULL && args.C_vals == NULL);
    return 0;
}
"#;

const ENORMOUS: &str = r#"
#include <stdio.h>
#include "spmv.h"
int main(void)
{
    double a[] = {2}, c[] = {-1};
    struct spmv_args args = {.i_size = INT64_C(1) << 40, .j_size = INT64_C(1) << 40, .A_vals = a, .A_vals_capacity = 1,
        .C_vals = c, .C_vals_capacity = 1};
    int32_t status = spmv(&args);
    args.i_size = INT64_MAX;
    args.j_size = 1;
    printf("%d %d %g\n", (int)status, (int)spmv(&args), c[0]);
    return 0;
}
"#;

#[test]
fn what_a_kernel_makes_is_not_there_before_and_sizes_do_not_wrap_around() {
    for kind in kinds() {
        let folder = Folder::new();
        folder.succeed(&format!("compile 'C(i,j) = 2 * A(i,j)' -f A:csr -f C:csr -s none -o {kind}"));
        assert_eq!(linked(&folder, MADE, kind), "0 3 6\n4 1\n5 1\n", "{kind}");
        folder.succeed(&format!("compile 'C(i,j) = 2 * A(i,j)' -s none -o {kind}"));
        assert_eq!(linked(&folder, ENORMOUS, kind), "4 4 -1\n", "{kind}");
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
            "name": "C_vals", "capacity": "C_vals_capacity", "dtype": "f64", "type_code": null, "access": "made",
            "meaning": "the values of C"
        })
    );
    let crd = parameters.iter().find(|parameter| parameter["name"] == "A2_crd").unwrap();
    assert!(header.contains(&format!(
        "#define LACUNAR_U32(length) ((uint64_t)(length) | (uint64_t){} << 56)\n",
        crd["type_code"]
    )));
    // The statuses are those of the header, and of the documentation.
    let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shipping.md")).unwrap();
    let statuses = signature["statuses"].as_array().unwrap();
    assert_eq!(statuses.len(), 7);
    for status in statuses {
        let line = format!("    {} = {},", status["name"].as_str().unwrap(), status["code"]);
        assert!(header.contains(&line), "{header}");
        let row = format!("| `{}` | {} | ", status["name"].as_str().unwrap(), status["code"]);
        assert!(documented.contains(&row), "{row}");
    }
}

#[test]
fn a_program_with_loops_is_no_kernel() {
    let folder = Folder::new();
    folder.fail("compile 'x = 1.0; while x < 100 { x = 2 * x }' -o w.o", 2, "E1018");
    folder.fail("compile 'y(i) = x(i); swap x, y' -d x:3 -o w.o", 2, "E1018");
    assert!(!folder.files().iter().any(|file| file.starts_with("w.")));
}
