//! Vector loops of every length around the widths, on processors with and without masks, compared with the interpreter.

#![allow(clippy::unwrap_used)]

use crate::common::run;
use lacunar_backend_llvm::{CompileOptions, assembly, compile, llvm_ir};
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, Const, Function, Memory, Verified, generate, interpret, parse, verify};
use lacunar_machine::{Filling, Machine, Tuning};

fn function(text: &str) -> Verified<Function> {
    verify(parse(text).unwrap_or_else(|error| panic!("{error:?}:\n{text}"))).unwrap()
}

/// `len` small numbers of a type; reals are whole, so that sums in any order agree.
fn numbers(ty: DType, len: usize) -> ArrayData {
    let value = |k: usize| {
        let number = (k * 7 % 11) as i64 - if ty.kind() == lacunar_formats::Kind::Unsigned { 0 } else { 4 };
        if ty.is_float() {
            Const::real(ty, number as f64)
        } else {
            lacunar_imp::arith::cast(ty, Const::int(DType::I64, number))
        }
    };
    ArrayData::from_values(ty, &(0..len).map(value).collect::<Vec<_>>()).unwrap()
}

/// This processor, with gathers and with inserts, and the named machines whose code it runs.
fn processors() -> Vec<CompileOptions> {
    let fillings = [Filling::Gathers, Filling::Inserts];
    let here = fillings.map(|filling| Tuning { filling, ..Tuning::default() });
    let mut options = here.map(|tuning| CompileOptions { tuning, ..CompileOptions::default() }).to_vec();
    let named = lacunar_machine::model::NAMES.iter().filter_map(|name| Machine::named(name));
    options
        .extend(named.filter(|machine| machine.instructions.runs_here()).map(|machine| CompileOptions::of(&machine)));
    options
}

fn check(text: &str, arrays: &[ArrayData], scalars: &[&[i64]]) {
    let function = function(text);
    for options in processors() {
        let kernel = compile(&function, &options).unwrap();
        for scalars in scalars {
            let mut expected = Memory { arrays: arrays.to_vec(), scalars: scalars.to_vec() };
            let mut actual = expected.clone();
            assert_eq!(interpret(&function, &mut expected).unwrap(), None);
            assert_eq!(run(&kernel, &function, &mut actual), 0);
            if let Err(difference) = generate::compare(&actual, &expected, 1e-12) {
                panic!("{difference} with {scalars:?} on {options:?}:\n{text}");
            }
        }
    }
}

const LENGTHS: [&[i64]; 13] = [
    &[0, 0],
    &[0, 1],
    &[1, 0],
    &[3, 10],
    &[0, 7],
    &[0, 8],
    &[2, 19],
    &[5, 36],
    &[0, 31],
    &[0, 32],
    &[1, 34],
    &[0, 70],
    &[7, 100],
];

#[test]
fn sums_of_every_type_and_operation() {
    for ty in ["f64", "f32", "i64", "i32", "u8", "i16", "u64"] {
        for (start, combine) in [("0", "t + v"), ("1", "t * v"), ("5", "min(t, v)"), ("5", "max(t, v)")] {
            for width in ["", "(2)", "(16)"] {
                let text = format!(
                    "kernel sum(in a: {ty}[], out y: {ty}[], b: i64, e: i64) {{
                      var t: {ty} = {ty}({start});
                      for k in b .. e vector{width} {{ let v: {ty} = a[k]; t = {combine}; }}
                      y[0] = t;
                    }}"
                );
                let ty = DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
                check(&text, &[numbers(ty, 100), numbers(ty, 1)], &LENGTHS);
            }
        }
    }
    for combine in ["t & v", "t | v", "t ^ v"] {
        let text = format!(
            "kernel bits(in a: bool[], in c: u32[], out y: bool[], out z: u32[], b: i64, e: i64) {{
              var t: bool = true;
              for k in b .. e vector {{ let v: bool = a[k]; t = {combine}; }}
              y[0] = t;
              var t_2: u32 = 6u32;
              for k_2 in b .. e vector {{ let v_2: u32 = c[k_2]; t_2 = {}; }}
              z[0] = t_2;
            }}",
            combine.replace('t', "t_2").replace('v', "v_2")
        );
        let (bits, one) = (numbers(DType::Bool, 100), numbers(DType::Bool, 1));
        check(&text, &[bits, numbers(DType::U32, 100), one, numbers(DType::U32, 1)], &LENGTHS);
    }
}

#[test]
fn several_sums_begin_with_what_was_there() {
    let text = "kernel sums(in a: f64[], out y: f64[], out z: i64[], b: i64, e: i64) {
      var t: f64 = 3.0;
      var least: f64 = -2.0;
      var n: i64 = 7;
      for k in b .. e vector {
        let v: f64 = a[k];
        t = t + v;
        least = min(least, v);
        n = n + 2;
      }
      y[0] = t;
      y[1] = least;
      z[0] = n;
    }";
    check(text, &[numbers(DType::F64, 100), numbers(DType::F64, 2), numbers(DType::I64, 1)], &LENGTHS);
}

#[test]
fn segments_that_are_gathered_by_ask_for_what_stands_ahead() {
    let asked = |access: &str| {
        let text = format!(
            "kernel rows(in pos: i64[], in crd: u32[], in a: f64[], in x: f64[], out y: f64[], n: i64) {{
              for i in 0 .. n {{
                var t: f64 = 0.0;
                let begin: i64 = pos[i];
                let end: i64 = pos[i + 1];
                for p in begin .. end vector {{
                  let j: u32 = crd[p];
                  let v: f64 = a[p];
                  let w: f64 = {access};
                  t = t + v * w;
                }}
                y[i] = t;
              }}
            }}"
        );
        let ir = llvm_ir(&function(&text), &CompileOptions::default()).unwrap();
        let distances = ir.matches("i64 512, i64 0").count();
        (ir.matches("call void @llvm.prefetch").count(), distances)
    };
    // The coordinates and the values, once for each row, far ahead if it is short; nothing for loads that the processor foresees by itself.
    assert_eq!((asked("x[i64(j)]"), asked("x[p]")), ((2, 1), (0, 0)));
}

#[test]
fn scattered_elements_are_gathered_where_that_is_cheaper() {
    let text = |hint: &str| {
        format!(
            "kernel dot(in crd: u32[], in a: f64[], in x: f64[], out y: f64[], b: i64, e: i64) {{
              var t: f64 = 0.0;
              for p in b .. e vector{hint} {{
                let j: u32 = crd[p];
                let v: f64 = a[p];
                let w: f64 = x[i64(j)];
                t = t + v * w;
              }}
              y[0] = t;
            }}"
        )
    };
    let arrays = [numbers(DType::U32, 100), numbers(DType::F64, 100), numbers(DType::F64, 100), numbers(DType::F64, 1)];
    check(&text(" scattered"), &arrays, &LENGTHS);
    check(&text(" steady near scattered"), &arrays, &LENGTHS);
    let gathers = |hint: &str, machine: &str| {
        let machine = Machine::named(machine).unwrap();
        assembly(&function(&text(hint)), &CompileOptions::of(&machine)).unwrap().contains("gather")
    };
    if cfg!(target_arch = "x86_64") {
        assert_eq!(["zen4", "zen5", "icelake"].map(|machine| gathers("", machine)), [false, false, true]);
        assert_eq!(["zen4", "zen5", "icelake"].map(|machine| gathers(" scattered", machine)), [true, false, true]);
    }
}

#[test]
fn lanes_take_loops_and_branches_together() {
    let text = "kernel walk(in a: f64[], in x: f64[], out y: f64[], b: i64, e: i64) {
      for k in 0 .. 90 vector {
        var t: f64 = f64(k);
        var turns: i64 = 0;
        for p in b .. e {
          let v: f64 = a[p];
          let w: f64 = x[k + p % 8];
          if v > 0.0 { t = t + v * w; } else { turns = turns + 1; }
          if e - p > 5 { turns = turns + p; } else { turns = turns + k; }
        }
        if b < e & turns > 3 { t = t + 1.0; }
        if b > 1 { y[k] = t + f64(turns); } else { y[k] += t; }
      }
    }";
    check(text, &[numbers(DType::F64, 100), numbers(DType::F64, 100), numbers(DType::F64, 100)], &LENGTHS);
    // A reduction of the vector loop inside of a serial one, and a loop that some lanes leave out.
    let text = "kernel sums(in a: f64[], out y: f64[], b: i64, e: i64) {
      var total: f64 = 1.0;
      for k in 0 .. e vector {
        let own: f64 = a[k];
        if own > 1.0 {
          for p in b .. e { let v: f64 = a[p]; total = total + v * own; y[k] += v; }
        }
      }
      y[99] = total;
    }";
    check(text, &[numbers(DType::F64, 100), numbers(DType::F64, 100)], &LENGTHS[..12]);
}

#[test]
fn elements_are_gathered_scattered_and_masked() {
    let text = "kernel walk(in crd: u32[], in a: f64[], out y: f64[], out z: i32[], out w: bool[], b: i64, e: i64) {
      let scale: f64 = 0.5;
      var t: f64 = 1.0;
      for p in b .. e vector {
        let j: u32 = crd[p];
        let v: f64 = a[i64(j)];
        let one: f64 = a[b];
        var x: f64 = v * scale;
        if v > one {
          x = x + f64(p);
          t = t + x;
          y[i64(j)] += x;
        } else {
          if j > 50u32 { x = one; }
          w[p - b] = v == one | x < 1.0;
        }
        z[99 - p] = i32(x) + i32(p);
        z[99 - p] -= select(x > 0.0, 1i32, i32(scale));
      }
      y[0] += t;
    }";
    // A permutation, so that no two iterations meet.
    let crd = ArrayData::U32((0..100).map(|k| k * 37 % 100).collect());
    let arrays =
        [crd, numbers(DType::F64, 101), numbers(DType::F64, 100), numbers(DType::I32, 100), numbers(DType::Bool, 100)];
    check(text, &arrays, &LENGTHS);
}

#[test]
fn elements_at_a_distance_are_counted_up() {
    // Distances that are known and not, up and down, loaded and stored, of two indices at once.
    let text = "kernel walk(in a: f64[], out y: f64[], out z: f64[], s: i64, b: i64, e: i64) {
      for k in b .. e { let v: f64 = a[k * 9 + 5]; y[k] = v * 2.0; }
      for k_2 in b .. e { let v_2: f64 = a[900 - k_2 * 9]; let own: f64 = a[(s + k_2) * s]; y[k_2 + 100] = v_2 - own; }
      for k_3 in b .. e { let v_3: f64 = a[k_3]; z[k_3 * 20 + s] = v_3; }
      for k_4 in b .. e { let v_4: f64 = a[k_4 * s]; z[k_4 * s + 1] = v_4 + 1.0; }
    }";
    let arrays = [numbers(DType::F64, 4000), numbers(DType::F64, 200), numbers(DType::F64, 4000)];
    let scalars: Vec<Vec<i64>> = LENGTHS.iter().flat_map(|ends| [1, 13].map(|s| [&[s], *ends].concat())).collect();
    check(text, &arrays, &scalars.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let ir = llvm_ir(&function(text), &CompileOptions::default()).unwrap();
    assert!(ir.contains("groups"), "{ir}");
    // LLVM makes vectors of the results, and has them filled by loads also where others are gathered.
    let diagonal = "kernel diagonal(in a: f64[], in b: f64[], out y: f64[], s: i64, e: i64) {
      for i in 0 .. e { let v: f64 = a[i]; let w: f64 = b[(i * s + i) * s + i]; y[i] = v * w; }
    }";
    let icelake = CompileOptions::of(&Machine::named("icelake").unwrap());
    assert!(!assembly(&function(diagonal), &icelake).unwrap().contains("gather"));
}

#[test]
fn values_are_converted_in_lanes() {
    let types = ["f64", "f32", "i64", "i32", "u8", "i16", "u64", "bool"];
    for from in types {
        for to in types {
            let text = format!(
                "kernel cast(in a: {from}[], out y: {to}[], b: i64, e: i64) {{
                  for k in b .. e vector {{ let v: {from} = a[k]; y[k] = {to}(v); }}
                }}"
            );
            let find = |ty: &str| DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
            check(&text, &[numbers(find(from), 100), numbers(find(to), 100)], &[&[1, 38]]);
        }
    }
}

#[test]
fn functions_and_what_vectors_cannot_do() {
    let text = "kernel calls(in a: f64[], in c: c64[], out y: f64[], out z: c64[], b: i64, e: i64) {
      for k in b .. e vector {
        let v: f64 = a[k];
        y[k] = sqrt(abs(v)) + floor(v / 3.0) - ceil(-v) + max(v, 2.0);
      }
      for k_2 in b .. e vector(4) {
        let v_2: f64 = a[k_2];
        let c_2: c64 = c[k_2];
        y[k_2] += exp(v_2 / 10.0) + f64(k_2 / 3);
        z[k_2] = c_2 * c_2;
      }
      for k_3 in b .. e vector {
        for s in 0 .. 3 { y[k_3] += f64(s); }
      }
      for k_4 in b .. e vector { let v_4: f64 = a[k_4]; y[0] += v_4; }
    }";
    let complex = ArrayData::C64((0..100).map(|k| num_complex::Complex::new(k as f32, 1.0)).collect());
    check(text, &[numbers(DType::F64, 100), complex.clone(), numbers(DType::F64, 100), complex], &LENGTHS);
}

#[test]
fn loops_of_constant_length_are_straight_code() {
    for (count, width) in [(1, ""), (5, ""), (8, ""), (27, ""), (32, "(8)"), (33, "(2)"), (300, "")] {
        let text = format!(
            "kernel tile(in a: f64[], in b: f64[], out y: f64[], p: i64, q: i64) {{
              local acc: f64[];
              alloc acc[{count}] = 0;
              for r in p .. q {{
                let s: f64 = a[r];
                for k in 0 .. {count} vector{width} {{ let v: f64 = b[r + k]; acc[k] += s * v; }}
              }}
              for k_2 in 0 .. {count} vector{width} {{ let v_2: f64 = acc[k_2]; y[k_2] = v_2; }}
              var t: f64 = 0.0;
              for k_3 in 0 .. {count} vector{width} {{ let v_3: f64 = acc[k_3]; t = t + v_3; }}
              y[{count}] = t;
            }}"
        );
        let arrays = [numbers(DType::F64, 100), numbers(DType::F64, 500), numbers(DType::F64, 400)];
        check(&text, &arrays, &[&[0, 0], &[0, 1], &[2, 60]]);
    }
}

#[test]
fn short_loops_inside_are_repeated() {
    let text = "kernel blocks(in a: f64[], out y: f64[], out z: f64[], b: i64, e: i64) {
      var t: f64 = 0.0;
      for k in b .. e vector {
        var s: f64 = 0.0;
        for r in 0 .. 3 unroll {
          let v: f64 = a[r * 100 + k];
          s = s + v * f64(r + 1);
          if v > 3.0 { z[k] += f64(r); }
          t = t + v;
        }
        y[k] = s;
      }
      y[99] = t;
    }";
    check(text, &[numbers(DType::F64, 300), numbers(DType::F64, 100), numbers(DType::F64, 100)], &LENGTHS);
    let ir = llvm_ir(&function(text), &CompileOptions::default()).unwrap();
    assert!(ir.contains("reduce.fadd") && !ir.contains("gather"), "{ir}");
}

#[test]
fn an_accumulated_row_stays_in_registers() {
    let text = |columns: u32| {
        format!(
            "kernel tile(in a: f64[], in b: f64[], out y: f64[], p: i64, q: i64) {{
              local acc: f64[];
              alloc acc[{columns}];
              fill acc[0 .. {columns}] = 0.0;
              for r in p .. q {{
                let s: f64 = a[r];
                for k in 0 .. {columns} vector {{ let v: f64 = b[r * {columns} + k]; acc[k] += s * v; }}
              }}
              var t: f64 = 0.0;
              for k_2 in 0 .. {columns} vector {{ let v_2: f64 = acc[k_2]; y[k_2] = v_2; t = t + v_2; }}
              y[{columns}] = t;
            }}"
        )
    };
    for options in processors() {
        // As many vectors as 16 registers hold, where these are the shortest.
        let ir = llvm_ir(&function(&text(24)), &options).unwrap();
        assert!(!ir.contains("alloca"), "{ir}");
    }
    if cfg!(target_arch = "x86_64") && std::is_x86_feature_detected!("avx512vl") {
        // One tile of four vectors in turn with another one, and by itself for the rest.
        let code = assembly(&function(&text(32)), &CompileOptions::default()).unwrap();
        assert_eq!(code.lines().filter(|line| line.contains("vfmadd") && line.contains("zmm")).count(), 12, "{code}");
    }
}

#[test]
fn tiles_in_several_copies_hold_the_same_sums() {
    let in_copies = [(8, 0..100), (8, 0..7), (16, 3..64), (32, 0..33), (5, 0..41), (32, 9..9)];
    // More than the registers hold.
    let large = [(64, 0..50), (100, 1..12), (128, 2..5), (128, 0..99), (256, 0..8), (300, 4..13)];
    for (columns, rows) in in_copies.into_iter().chain(large) {
        let text = format!(
            "kernel tile(in a: f64[], in b: f64[], out y: f64[], p: i64, q: i64) {{
              local acc: f64[];
              alloc acc[{columns}];
              fill acc[0 .. {columns}] = 0.5;
              for r in p .. q {{
                let s: f64 = a[r];
                for k in 0 .. {columns} vector {{ let v: f64 = b[r * {columns} + k]; acc[k] += s * v; }}
              }}
              for k_2 in 0 .. {columns} vector {{ let v_2: f64 = acc[k_2]; y[k_2] = v_2; }}
            }}"
        );
        // Sums of small integers are the same in any order.
        let numbers = |count: i64| ArrayData::F64((0..count).map(|k| (k % 7 - 3) as f64).collect());
        let arrays = vec![numbers(100), numbers(100 * columns), numbers(columns)];
        let memory = Memory { arrays, scalars: vec![rows.start, rows.end] };
        let source = function(&text);
        let mut expected = memory.clone();
        interpret(&source, &mut expected).unwrap();
        for options in processors() {
            let kernel = compile(&source, &options).unwrap();
            let mut memory = memory.clone();
            assert_eq!(run(&kernel, &source, &mut memory), 0);
            assert_eq!(memory.arrays[2], expected.arrays[2], "{columns} columns, rows {rows:?}");
        }
    }
}

#[test]
fn lanes_without_an_element_are_left_out_with_and_without_masks() {
    let text = "kernel slots(in crd: u32[], in a: f64[], in x: f64[], out y: f64[], p: i64, q: i64) {
      local w: f64[];
      alloc w[8];
      fill w[0 .. 8] = 0.0;
      for s in p .. q {
        for k in 0 .. 8 vector {
          let j: u32 = crd[s * 8 + k];
          let v: f64 = a[s * 8 + k];
          if i64(j) != 4294967295 { let e: f64 = x[i64(j)]; w[k] += v * e; }
        }
      }
      for k_2 in 0 .. 8 vector { let w_v: f64 = w[k_2]; y[k_2] = w_v; }
    }";
    let coordinates = (0..80u32).map(|k| if k % 3 == 0 || k >= 72 { u32::MAX } else { k * 5 % 16 }).collect();
    let crd = ArrayData::U32(coordinates);
    check(text, &[crd, numbers(DType::F64, 80), numbers(DType::F64, 16), numbers(DType::F64, 8)], &[&[0, 10], &[3, 3]]);
    for options in processors() {
        let ir = llvm_ir(&function(text), &options).unwrap();
        assert!(!ir.contains("alloca"), "{ir}");
    }
}

#[test]
fn lanes_ask_words() {
    // One word for all lanes, whose bits are a mask over neighbors; a word and a place of each lane's own; narrow words.
    let mask = "kernel mask(in w: u64[], in a: f64[], out y: f64[], out z: f64[], b: i64, e: i64) {
      let word: u64 = w[0];
      for k in 0 .. e vector {
        if bit(word, k) {
          let v: f64 = a[3 + rank(word, k)];
          y[k] = v;
          z[rank(word, k) + 1] = v;
          z[100 + rank(word, k)] = v;
        }
      }
    }";
    let own = |ty: &str| {
        format!(
            "kernel own(in w: {ty}[], out y: i64[], out z: bool[], b: i64, e: i64) {{
              for k in b .. e vector {{
                let word: {ty} = w[k];
                y[k] = rank(word, k * 3 - 5);
                z[k] = bit(word, k - 20);
              }}
            }}"
        )
    };
    let words = ArrayData::U64(vec![0x8421_0ff0_1234_5679]);
    let (a, y, z) = (numbers(DType::F64, 80), ArrayData::F64(vec![0.0; 80]), ArrayData::F64(vec![0.0; 180]));
    check(mask, &[words, a, y, z], &[&[0, 0], &[0, 1], &[0, 8], &[0, 31], &[0, 50], &[0, 64]]);
    for ty in [DType::U8, DType::U16, DType::U32, DType::U64] {
        let words: Vec<Const> =
            (0..100).map(|k: i64| Const::int(ty, k.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64))).collect();
        let words = words.into_iter().map(|word| lacunar_imp::arith::wrap(ty, word.bits)).collect::<Vec<_>>();
        let words = ArrayData::from_values(ty, &words).unwrap();
        check(&own(ty.name()), &[words, ArrayData::I64(vec![0; 100]), ArrayData::Bool(vec![false; 100])], &LENGTHS);
    }
}

#[test]
fn neighbors_lie_side_by_side_under_a_name_too() {
    let text = "kernel named(in a: f64[], out y: f64[], b: i64, e: i64) {
      for k in b .. e vector {
        let at: i64 = k + 2;
        let same: i64 = b + 1;
        let v: f64 = a[at];
        let w: f64 = a[same];
        if v > 1.0 { let next: i64 = at + same; y[next - same] = v + w; }
      }
    }";
    check(text, &[numbers(DType::F64, 120), ArrayData::F64(vec![0.0; 120])], &LENGTHS);
    let llvm = llvm_ir(&function(text), &CompileOptions::default()).unwrap();
    assert!(!llvm.contains("llvm.masked.gather"), "{llvm}");
}

#[test]
fn strict_sums_are_in_order() {
    let text = |strict: &str| {
        format!(
            "{strict} kernel sum(in a: f64[], out y: f64[], b: i64, e: i64) {{
              var t: f64 = 0.0;
              for k in b .. e vector {{ let v: f64 = a[k]; t = t + v; }}
              y[0] = t;
            }}"
        )
    };
    let a = ArrayData::F64((0..100).map(|k| if k % 2 == 0 { 1e16 } else { -1e16 + k as f64 }).collect());
    let mut memory = Memory { arrays: vec![a, ArrayData::F64(vec![0.0])], scalars: vec![0, 100] };
    let mut expected = memory.clone();
    let strict = function(&text("strict"));
    interpret(&strict, &mut expected).unwrap();
    let kernel = compile(&strict, &CompileOptions::default()).unwrap();
    assert_eq!(run(&kernel, &strict, &mut memory), 0);
    assert_eq!(memory.arrays[1], expected.arrays[1]);
    let vectors = |text: &str| llvm_ir(&function(text), &CompileOptions::default()).unwrap().contains("reduce.fadd");
    assert!(!vectors(&text("strict")) && vectors(&text("")));
}

#[test]
fn repeated_bodies_are_what_they_repeat() {
    for kind in ["unroll", "unroll(4)", "unroll(3)"] {
        for bounds in ["b .. e", "2 .. 9", "0 .. 0"] {
            let text = format!(
                "kernel repeat(in a: i64[], out y: i64[], b: i64, e: i64) {{
                  var t: i64 = 0;
                  for k in {bounds} {kind} {{
                    let v: i64 = a[k];
                    if v > 2 {{ t = t * 3 + v; }}
                    y[k] = t;
                  }}
                }}"
            );
            check(&text, &[numbers(DType::I64, 100), numbers(DType::I64, 100)], &LENGTHS);
        }
    }
}

#[test]
fn bodies_are_repeated_as_often_as_asked() {
    let text = |kind: &str| {
        format!(
            "kernel repeat(in a: f64[], out y: f64[], n: i64) {{
              var t: f64 = 0.0;
              for k in 0 .. n {kind} {{ let v: f64 = a[k]; t = (t + v) / 3.0; y[k] = t; }}
            }}"
        )
    };
    let divisions = |text: &str| {
        let ir = llvm_ir(&function(text), &CompileOptions::default()).unwrap();
        ir.lines().filter(|line| line.contains("fdiv")).count()
    };
    assert_eq!(divisions(&text("")), 1);
    assert!(divisions(&text("unroll(4)")) >= 4);
}

#[test]
fn stores_past_the_caches_store_the_same() {
    // From every place in a line on: an alignment that is not there would be a fault. `e` is the first element.
    let places: Vec<Vec<i64>> = (0..20).flat_map(|first| [vec![1, first], vec![0, first]]).collect();
    let places: Vec<&[i64]> = places.iter().map(Vec::as_slice).collect();
    for ty in ["f64", "f32", "i16", "u8"] {
        let dtype = DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
        for len in (1..=40).chain([64, 100, 128]) {
            let text = format!(
                "kernel straight(in a: {ty}[], out y: {ty}[], b: i64, e: i64) {{
                  for k in 0 .. {len} vector {{ let v: {ty} = a[k]; y[e + k] = v + v past b > 0; }}
                }}"
            );
            check(&text, &[numbers(dtype, 128), numbers(dtype, 200)], &places);
        }
    }
    let text = "kernel rows(in a: f64[], in c: f32[], out y: f64[], out z: f32[], b: i64, e: i64) {
      for n in 0 .. 3 parallel {
        for k in b .. e vector {
          let v: f64 = a[k];
          let w: f32 = c[k];
          y[n * 104 + k] = v past n < 2;
          if v > 1.0 { z[n * 104 + k] = w past e > b; } else { z[n * 104 + k] = w + w past v > 0.5; }
        }
      }
    }";
    let arrays = [(DType::F64, 100), (DType::F32, 100), (DType::F64, 320), (DType::F32, 320)];
    check(text, &arrays.map(|(ty, len)| numbers(ty, len)), &LENGTHS);
}

#[test]
fn long_loops_begin_to_stream_at_a_whole_line() {
    let places: Vec<Vec<i64>> = (0..12).flat_map(|first| [vec![first, 3 * first], vec![2 * first, first]]).collect();
    let places: Vec<&[i64]> = places.iter().map(Vec::as_slice).collect();
    for (ty, len) in [("f64", 160), ("f64", 500), ("f32", 300), ("f32", 1111), ("i16", 600), ("u8", 2100), ("c64", 161)]
    {
        let dtype = DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
        for end in ["n", &len.to_string()] {
            let text = format!(
                "kernel lines(in a: {ty}[], out y: {ty}[], out t: {ty}[], b: i64, e: i64) {{
                  let n: i64 = max(b, {len});
                  var sum: {ty} = {ty}(0);
                  for k in b .. {end} vector {{ let v: {ty} = a[k]; y[e + k] = v + v past e >= 0; sum = sum + v; }}
                  t[0] = sum;
                }}"
            );
            check(&text, &[numbers(dtype, len + 64), numbers(dtype, len + 64), numbers(dtype, 1)], &places);
        }
    }
}

#[test]
fn whole_lines_are_stored_past_the_caches() {
    let count = |text: &str| {
        let ir = llvm_ir(&function(text), &CompileOptions::default()).unwrap();
        (ir.matches("!nontemporal").count(), ir.matches("llvm.x86.sse.sfence()").count().min(1))
    };
    let store = |len: i64, index: &str, past: &str| {
        count(&format!(
            "kernel f(in a: f64[], out y: f64[], e: i64) {{
              for k in 0 .. {len} vector {{ let v: f64 = a[k]; y[{index}] = v{past}; }}
            }}"
        ))
    };
    let (some, fence) = store(32, "e + k", " past e > 5");
    assert!(some > 0 && (fence > 0 || !cfg!(target_arch = "x86_64")));
    assert_eq!(store(32, "e + k", ""), (0, 0));
    assert_eq!(store(33, "e + k", " past e > 5"), (0, 0));
    assert!(store(500, "e + k", " past e > 5").0 > 0);
    assert_eq!(store(32, "e + 2 * k", " past e > 5"), (0, 0));
    assert_eq!(store(32, "e + k", " past k > 5"), (0, 0));
}

#[test]
fn prefetched_elements_need_not_be_there() {
    let text = "kernel f(in a: f64[], out y: f64[], b: i64, e: i64) {
      for k in 0 .. 100 {
        prefetch a[k * e .. k * e + 32];
        prefetch a[b - 7 .. e];
        let v: f64 = a[k];
        y[k] = v;
      }
    }";
    check(text, &[numbers(DType::F64, 100), numbers(DType::F64, 100)], &LENGTHS);
}
