//! The shared parts of the tests: kernels to print, and a C program that runs kernels on given data and prints the
//! results.
//!
//! The program is plain C built from the printed kernels as one file, so that a test exercises the printed text alone:
//! no Rust calls into it. Its output has a line for each status and each array.

use std::path::Path;
use std::process::Command;

use lacunar_backend_c::CSource;
use lacunar_formats::DType;
use lacunar_imp::{
    Arg, ArrayData, ArrayRole, BinaryOp, Builder, Callee, CompareOp, Const, Function, Memory, Param, Status, Stmt,
    UnaryOp, Verified, verify,
};

pub fn verified(function: Function) -> Verified<Function> {
    verify(function).expect("the test's kernel is well-formed")
}

/// Row sums of a CSR matrix.
pub fn rowsum() -> Verified<Function> {
    let mut b = Builder::new("rowsum");
    let pos = b.array_param("A_pos", DType::U32, ArrayRole::Input);
    let vals = b.array_param("A_vals", DType::F64, ArrayRole::Input);
    let y = b.array_param("y_vals", DType::F64, ArrayRole::Output);
    let m = b.scalar_param("m");
    let (zero, one) = (b.int(0), b.int(1));
    b.comment("each row is a run of positions");
    b.for_loop("i", zero, m, |b, i| {
        let begin = b.load_index("begin", pos, i);
        let next = b.add(i, one);
        let end = b.load_index("end", pos, next);
        let start = b.constant(Const::zero(DType::F64));
        let total = b.declare("total", start);
        b.for_loop("p", begin, end, |b, p| {
            let v = b.load("v", vals, p);
            let old = b.var(total);
            let sum = b.add(old, v);
            b.assign(total, sum);
        });
        let total = b.var(total);
        b.store(y, i, total);
    });
    verified(b.finish())
}

/// The coordinates and values of a dense vector's elements that are not zero.
pub fn compress() -> Verified<Function> {
    let mut b = Builder::new("compress");
    let x = b.array_param("x", DType::I32, ArrayRole::Input);
    let crd = b.array_param("y_crd", DType::U32, ArrayRole::Grown);
    let vals = b.array_param("y_vals", DType::I32, ArrayRole::Grown);
    let count = b.array_param("count", DType::U64, ArrayRole::Output);
    let n = b.scalar_param("n");
    let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
    let p = b.declare("p", zero);
    b.for_loop("i", zero, n, |b, i| {
        let v = b.load("v", x, i);
        let nothing = b.constant(Const::zero(DType::I32));
        let there = b.compare(CompareOp::Ne, v, nothing);
        b.if_then(there, |b| {
            let here = b.var(p);
            let next = b.add(here, one);
            b.grow(crd, next, one, false);
            b.grow(vals, next, two, true);
            b.store_index(crd, here, i);
            let first = b.mul(here, two);
            let square = b.mul(v, v);
            b.store(vals, first, square);
            b.assign(p, next);
        });
    });
    let p = b.var(p);
    b.store_index(count, zero, p);
    verified(b.finish())
}

/// The distinct entries of a list, ascending, found through marks; sizes below 0 fail.
pub fn distinct() -> Verified<Function> {
    let mut b = Builder::new("distinct");
    let a = b.array_param("a", DType::U64, ArrayRole::Input);
    let y = b.array_param("y", DType::I64, ArrayRole::Output);
    let (n, size) = (b.scalar_param("n"), b.scalar_param("size"));
    let marks = b.local_array("marks", DType::Bool);
    let list = b.local_array("list", DType::I64);
    let (zero, one) = (b.int(0), b.int(1));
    b.alloc(marks, size, true);
    b.alloc(list, size, false);
    let count = b.declare("count", zero);
    b.for_loop("p", zero, n, |b, p| {
        let k = b.load_index("k", a, p);
        let beyond = b.compare(CompareOp::Ge, k, size);
        b.if_then(beyond, |b| b.fail(Status::SizeOverflow));
        let marked = b.load("marked", marks, k);
        let fresh = b.unary(UnaryOp::Not, marked);
        b.if_then(fresh, |b| {
            let yes = b.bool(true);
            b.store(marks, k, yes);
            let here = b.var(count);
            b.store(list, here, k);
            let next = b.add(here, one);
            b.assign(count, next);
        });
    });
    let found = b.var(count);
    let args = vec![Arg::Array(list), Arg::Scalar(found), Arg::Array(marks), Arg::Scalar(size)];
    b.call(Callee::SortMarked, args);
    let found = b.var(count);
    b.for_loop("e", zero, found, |b, e| {
        let k = b.load("k_sorted", list, e);
        b.store(y, e, k);
    });
    verified(b.finish())
}

/// Sorts and combines `n` entries with two keys; their number is left in `count`.
pub fn combine(ty: DType) -> Verified<Function> {
    let mut b = Builder::new("combine");
    let rows = b.array_param("rows", DType::I64, ArrayRole::Output);
    let cols = b.array_param("cols", DType::I64, ArrayRole::Output);
    let vals = b.array_param("vals", ty, ArrayRole::Output);
    let count = b.array_param("count", DType::I64, ArrayRole::Output);
    let n = b.scalar_param("n");
    let zero = b.int(0);
    let args = vec![Arg::Scalar(n), Arg::Array(vals), Arg::Array(rows), Arg::Array(cols)];
    let left = b.call_value("left", Callee::SortCombine, args);
    b.store(count, zero, left);
    verified(b.finish())
}

/// Names that C does not take, remarks that would break out of a comment, and complex arithmetic.
pub fn awkward() -> Verified<Function> {
    let mut b = Builder::new("printf");
    let i = b.array_param("linux", DType::C128, ArrayRole::Output);
    let complex = b.array_param("double_t", DType::I64, ArrayRole::Output);
    let errno = b.scalar_param("errno");
    let zero = b.int(0);
    b.comment("*/ the end? \\\nnext ??/\n\u{202e}backwards\u{7} /* and more");
    b.for_loop("args", zero, errno, |b, at| {
        let v = b.load("creal", i, at);
        let imaginary = b.constant(Const::complex(DType::C128, 0.0, 1.0));
        let turned = b.mul(v, imaginary);
        b.accumulate(i, at, BinaryOp::Add, turned);
        let w = b.load("status", complex, at);
        let large = b.int(i64::MAX);
        let sum = b.add(w, large);
        b.accumulate(complex, at, BinaryOp::Mul, sum);
    });
    verified(b.finish())
}

/// An expression that doubles 60 times: as a tree it would have 2^60 leaves.
pub fn doubled() -> Verified<Function> {
    let mut b = Builder::new("doubled");
    let y = b.array_param("y", DType::U64, ArrayRole::Output);
    let zero = b.int(0);
    let mut sum = b.load("v", y, zero);
    for _ in 0..60 {
        sum = b.add(sum, sum);
    }
    b.store(y, zero, sum);
    let mut deep = b.load("w", y, zero);
    for k in 0..300 {
        let term = b.constant(Const::int(DType::U64, k));
        deep = b.binary(BinaryOp::Sub, term, deep);
    }
    let one = b.int(1);
    b.store(y, one, deep);
    let none = b.constant(Const::zero(DType::U64));
    let never = b.compare(CompareOp::Lt, deep, none);
    let full = b.compare(CompareOp::Ne, sum, deep);
    let cond = b.or(never, full);
    b.while_loop(cond, |b| b.push(Stmt::Break));
    verified(b.finish())
}

/// The entries of a CSR matrix that are not zero, by chunks of rows on threads: each makes its coordinates, values and
/// ends of rows, which are put behind each other; on the way entries are counted by column, and the largest is found.
pub fn chunks() -> Verified<Function> {
    let text = "kernel chunks(in A_pos: u32[], in A_crd: u32[], in A_vals: f64[], grown C_pos: u32[], grown C_crd: u32[],
        grown C_vals: f64[], out count: i64[], out most: f64[], out seen: bool[], out total: c128[], m: i64, size: i64) {
      local ends: u32[];
      local crd: u32[];
      local vals: f64[];
      parts C_pos_parts: u32[];
      parts C_crd_parts: u32[];
      parts C_vals_parts: f64[];
      let chunks: i64 = (m + size - 1) / size;
      alloc C_pos_parts[chunks];
      alloc C_crd_parts[chunks];
      alloc C_vals_parts[chunks];
      for c in 0 .. chunks parallel {
        let first: i64 = c * size;
        let last: i64 = min(first + size, m);
        var n: i64 = 0;
        alloc ends[last - first];
        for i in first .. last {
          let begin: u32 = A_pos[i];
          let end: u32 = A_pos[i + 1];
          for p in i64(begin) .. i64(end) {
            let j: u32 = A_crd[p];
            let v: f64 = A_vals[p];
            if v != 0.0 {
              grow crd[(n + 1) * 1];
              grow vals[(n + 1) * 1];
              crd[n] = j;
              vals[n] = v;
              n = n + 1;
              atomic count[i64(j)] += 1;
              atomic most[0] max= v;
              atomic seen[i64(j)] |= true;
              atomic total[0] += c128(v);
            }
            if v < 0.0 {
              fail size_overflow;
            }
          }
          ends[i - first] = u32(n);
        }
        var sum: f64 = 0.0;
        for q in 0 .. n vector(8) {
          let w: f64 = vals[q];
          sum = sum + w;
        }
        for r in 0 .. 4 unroll {
          if sum > 1000.0 {
            fail size_overflow;
          }
        }
        deposit C_pos_parts[c] = ends[.. last - first];
        deposit C_crd_parts[c] = crd[.. n];
        deposit C_vals_parts[c] = vals[.. n];
      }
      grow C_pos[1 * 1];
      C_pos[0] = 0u32;
      let rows: i64 = collect C_pos[1 ..] = C_pos_parts + C_crd_parts;
      let stored: i64 = collect C_crd[0 ..] = C_crd_parts;
      let stored_2: i64 = collect C_vals[0 ..] = C_vals_parts;
    }";
    verified(lacunar_imp::parse(text).expect("the text is well-formed"))
}

/// Runs the C compiler as strictly as a reader of the printed files might, and gives its complaints.
pub fn cc(source: &Path, output: &Path, flags: &[&str]) -> Result<(), String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words).args(["-std=c99", "-Wall", "-Wextra", "-Werror"]).args(flags);
    let result = command.arg(source).arg("-o").arg(output).arg("-lm").output().expect("the C compiler starts");
    if result.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&result.stderr).into_owned()) }
}

/// A kernel with the data it is to be run on.
pub type Case<'c> = (&'c Function, &'c Memory);

/// Compiles and runs a program that calls each kernel on its data, without a runtime. Gives status and memory.
pub fn run(source: &CSource, cases: &[Case], flags: &[&str]) -> Vec<(i32, Memory)> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (path, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&path, program_text(source, cases)).expect("the program is written");
    cc(&path, &program, flags).unwrap_or_else(|message| panic!("{message}\n{}", source.single_file()));
    let output = Command::new(&program).output().expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the program ended with {}: {complaint}\n{}", output.status, source.single_file());
    let text = String::from_utf8(output.stdout).expect("the program prints text");
    let mut lines = text.lines();
    cases.iter().map(|case| read_case(case, &mut lines)).collect()
}

fn program_text(source: &CSource, cases: &[Case]) -> String {
    let mut text = source.single_file();
    text.push_str("\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
    // The data is copied to memory of its exact size, where a sanitizer notices accesses outside.
    text.push_str(
        "static void *copy(const unsigned char *bytes, size_t size)\n{\n    void *memory = malloc(size + (size == 0));\n\
         if (memory != NULL) {\n        memcpy(memory, bytes, size);\n    }\n    return memory;\n}\n\
         static void show(const void *memory, size_t size)\n{\n    for (size_t k = 0; k < size; k++) {\n\
         printf(\"%02x\", ((const unsigned char *)memory)[k]);\n    }\n    printf(\"\\n\");\n}\n",
    );
    for (number, (case, symbol)) in cases.iter().zip(&source.symbols).enumerate() {
        text.push_str(&case_text(number, case, symbol));
    }
    let calls: String = (0..cases.len()).map(|number| format!("    case_{number}();\n")).collect();
    text + &format!("int main(void)\n{{\n{calls}    return 0;\n}}\n")
}

/// The words of the argument structure are filled by their place, so that the test does not depend on names.
fn case_text(number: usize, (function, memory): &Case, symbol: &str) -> String {
    let mut data = String::new();
    let mut words = vec!["0".to_string()];
    let mut after = String::new();
    let (mut arrays, mut scalars) = (memory.arrays.iter(), memory.scalars.iter());
    for param in &function.params {
        match param {
            Param::Scalar(_) => words.push(format!("(uint64_t){}ll", scalars.next().expect("a scalar"))),
            Param::Array(id) => {
                let (array, place) = (arrays.next().expect("an array"), words.len());
                let size = function.arrays[*id].elem.size();
                if function.arrays[*id].role == ArrayRole::Grown {
                    words.extend(["0".to_string(), "0".to_string()]);
                } else {
                    let bytes: Vec<String> = bytes(array).iter().map(|byte| format!("{byte},")).collect();
                    let name = format!("data_{place}");
                    data.push_str(&format!("    static const unsigned char {name}[] = {{{}0}};\n", bytes.concat()));
                    words.push(format!("(uint64_t)copy({name}, sizeof {name} - 1)"));
                    words.push(array.len().to_string());
                }
                after.push_str(&format!("    show((void *)words[{place}], words[{place} + 1] * {size});\n"));
                after.push_str(&format!("    free((void *)words[{place}]);\n"));
            }
        }
    }
    format!(
        "static void case_{number}(void)\n{{\n{data}    uint64_t words[] = {{{}}};\n    struct {symbol}_args args;\n    \
         memcpy(&args, words, sizeof args);\n    printf(\"%d\\n\", (int){symbol}(&args));\n    \
         memcpy(words, &args, sizeof args);\n{after}}}\n",
        words.join(", ")
    )
}

fn read_case<'l>((function, memory): &Case, lines: &mut impl Iterator<Item = &'l str>) -> (i32, Memory) {
    let status = lines.next().and_then(|line| line.parse().ok()).expect("a status");
    let mut left = Memory { arrays: Vec::new(), scalars: memory.scalars.clone() };
    for param in &function.params {
        if let Param::Array(id) = param {
            left.arrays.push(parse(function.arrays[*id].elem, lines.next().expect("an array")));
        }
    }
    (status, left)
}

/// The elements as they lie in memory.
fn bytes(array: &ArrayData) -> Vec<u8> {
    let (size, part) = (array.dtype().size(), array.dtype().part().size());
    let values = (0..array.len()).filter_map(|index| array.get(index));
    values
        .flat_map(|value| {
            let imaginary = if size > part { value.imag.to_le_bytes()[..part].to_vec() } else { Vec::new() };
            [value.bits.to_le_bytes()[..part].to_vec(), imaginary].concat()
        })
        .collect()
}

fn parse(ty: DType, hex: &str) -> ArrayData {
    let bytes: Vec<u8> =
        (0..hex.len() / 2).map(|k| u8::from_str_radix(&hex[2 * k..2 * k + 2], 16).expect("hexadecimal")).collect();
    let part = ty.part().size();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let values: Vec<Const> = bytes
        .chunks(ty.size())
        .map(|bytes| Const { ty, bits: word(&bytes[..part]), imag: word(&bytes[part..]) })
        .collect();
    ArrayData::from_values(ty, &values).expect("memory for a small array")
}
