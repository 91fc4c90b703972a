//! Parallel loops on several threads, on both runtimes, compared with the interpreter, which runs the iterations one
//! after the other.

#![allow(clippy::unwrap_used)]

use crate::common::{Runtime, run_with, set_budget, set_pattern};
use lacunar_backend_llvm::{CompileOptions, compile, llvm_ir};
use lacunar_imp::{ArrayData, Function, Memory, Status, Verified, interpret, parse, verify};
use lacunar_machine::Machine;
use lacunar_runtime::pool;

fn function(text: &str) -> Verified<Function> {
    verify(parse(text).unwrap()).unwrap()
}

/// Runs a function on any number of threads, and expects the interpreter's results, which it gives.
fn check(text: &str, arrays: Vec<ArrayData>, scalars: &[i64]) -> (i32, Vec<ArrayData>) {
    set_pattern(0);
    let function = function(text);
    let start = Memory { arrays, scalars: scalars.to_vec() };
    let mut expected = start.clone();
    let status = interpret(&function, &mut expected).unwrap().map_or(0, Status::code);
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    for threads in [1, 2, 4] {
        for runtime in [Runtime::Checking, Runtime::Real] {
            let mut actual = start.clone();
            let outcome = pool::with_threads(threads, || run_with(runtime, &kernel, &function, &mut actual));
            assert_eq!(outcome, status, "{threads} threads, {runtime:?}");
            if status != 0 {
                continue;
            }
            for (actual, expected) in actual.arrays.iter_mut().zip(&expected.arrays) {
                assert!(actual.len() >= expected.len());
                actual.resize(expected.len()).unwrap();
                assert_eq!(actual, expected, "{threads} threads, {runtime:?}");
            }
        }
    }
    (status, expected.arrays)
}

#[test]
fn iterations_have_arrays_of_their_own_and_what_stands_around() {
    let text = "kernel rows(in a: f64[], out y: f64[], out z: c128[], m: i64, n: i64) {
      local outer: f64[];
      local row: f64[];
      local small: f64[];
      var scale: f64 = 2.0;
      let positive: bool = m > 3;
      if positive { scale = 3.0; }
      let factor: c128 = c128(scale);
      alloc outer[n] = 0;
      outer[1] = 5.0;
      for i in 0 .. m parallel {
        alloc row[n] = 0;
        alloc small[4] = 0;
        var t: f64 = scale;
        for k in 0 .. n {
          let v: f64 = a[i * n + k];
          row[k] = v * scale;
          small[k % 4] += v;
          let r: f64 = row[k];
          t = t + r;
        }
        let s: f64 = small[3];
        let o: f64 = outer[1];
        y[i] = select(positive, t + s + o, 0.0);
        z[i] = factor * c128(t);
      }
    }";
    let a: Vec<f64> = (0..500).map(f64::from).collect();
    let zeros = ArrayData::C128(vec![Default::default(); 50]);
    let (status, _) = check(text, vec![ArrayData::F64(a), ArrayData::F64(vec![0.0; 50]), zeros], &[50, 10]);
    assert_eq!(status, 0);
}

#[test]
fn loops_nest_and_private_arrays_with_them() {
    let text = "kernel nest(out y: i64[], m: i64, n: i64) {
      local a: i64[];
      local b: i64[];
      for i in 0 .. m parallel {
        alloc a[n] = 0;
        for j in 0 .. n parallel {
          grow b[(j + 1) * 1] = 0;
          b[j] = i * j;
          let x: i64 = b[j];
          a[j] = x + m;
        }
        for j_2 in 0 .. n {
          let x_2: i64 = a[j_2];
          y[i * n + j_2] = x_2;
        }
      }
    }";
    for (m, n) in [(0, 5), (1, 5), (30, 7), (5, 0)] {
        let y = ArrayData::I64(vec![-1; (m * n) as usize]);
        let (status, arrays) = check(text, vec![y], &[m, n]);
        let expected = (0..m * n).map(|k| (k / n) * (k % n) + m).collect();
        assert_eq!((status, &arrays[0]), (0, &ArrayData::I64(expected)));
    }
}

#[test]
fn iterations_meet_in_elements() {
    let types = [("i8", "add"), ("u16", "add"), ("i32", "min"), ("u64", "max"), ("f32", "add"), ("f64", "min")];
    for (ty, op) in types {
        let op = if op == "add" { "+".to_string() } else { op.to_string() };
        let text = format!(
            "kernel meet(out y: {ty}[], m: i64) {{
              for i in 0 .. m parallel {{
                for k in 0 .. 200 {{ atomic y[k % 3] {op}= {ty}((i * 7 + k) % 5 - 1); }}
              }}
            }}"
        );
        let dtype = lacunar_formats::DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
        let start = lacunar_imp::Const::zero(dtype);
        let y = ArrayData::from_values(dtype, &[start; 3]).unwrap();
        check(&text, vec![y], &[40]);
    }
    let text = "kernel flags(out y: bool[], out z: c64[], out w: u32[], m: i64) {
      for i in 0 .. m parallel {
        atomic y[0] |= i == 17;
        atomic y[1] &= i != 17;
        atomic z[0] += c64(1.0f32, 2.0f32);
        atomic w[0] ^= u32(i);
      }
    }";
    let (_, arrays) = check(
        text,
        vec![ArrayData::Bool(vec![false, true]), ArrayData::C64(vec![Default::default()]), ArrayData::U32(vec![5])],
        &[100],
    );
    assert_eq!(arrays[0], ArrayData::Bool(vec![true, false]));
}

/// Appends to each part as many numbers as its iteration's number says, and the end of each part.
const APPEND: &str = "kernel append(grown crd: u32[], grown pos: u32[], out size: i64[], m: i64, shift: i64) {
  local own: u32[];
  local end: u32[];
  parts crd_parts: u32[];
  parts end_parts: u32[];
  grow pos[1 * 1];
  pos[0] = 0u32;
  alloc crd_parts[m];
  alloc end_parts[m];
  for c in 0 .. m parallel {
    for k in 0 .. c {
      grow own[(k + 1) * 1];
      own[k] = u32(c * 100 + k);
    }
    grow end[1 * 1];
    end[0] = u32(c + shift);
    deposit end_parts[c] = end[.. 1];
    deposit crd_parts[c] = own[.. c];
  }
  let rows: i64 = collect pos[1 ..] = end_parts + crd_parts;
  let stored: i64 = collect crd[0 ..] = crd_parts;
  size[0] = stored;
  size[1] = rows;
}";

#[test]
fn parts_are_collected_in_order() {
    for m in [0, 1, 2, 9, 400] {
        let arrays = vec![ArrayData::U32(vec![]), ArrayData::U32(vec![]), ArrayData::I64(vec![0; 2])];
        let (status, arrays) = check(APPEND, arrays, &[m, 0]);
        assert_eq!((status, &arrays[2]), (0, &ArrayData::I64(vec![m * (m - 1) / 2, m + 1])));
    }
}

#[test]
fn positions_that_do_not_fit_and_failing_iterations_are_statuses() {
    let empty = || vec![ArrayData::U32(vec![]), ArrayData::U32(vec![]), ArrayData::I64(vec![0; 2])];
    let overflow = Status::SizeOverflow.code();
    assert_eq!(check(APPEND, empty(), &[10, (1 << 32) - 20]).0, overflow);
    assert_eq!(check(APPEND, empty(), &[3, (1 << 32) - 4]).0, 0);

    let text = "kernel fails(out y: i64[], m: i64) {
      local w: i64[];
      for i in 0 .. m parallel {
        alloc w[select(i == 77, -1, 10)];
        w[0] = i;
        let x: i64 = w[0];
        y[i] = x;
      }
      y[0] = 5;
    }";
    assert_eq!(check(text, vec![ArrayData::I64(vec![0; 70])], &[70]).0, 0);
    assert_eq!(check(text, vec![ArrayData::I64(vec![0; 300])], &[300]).0, overflow);
}

#[test]
fn running_out_of_memory_in_an_iteration_leaves_nothing_behind() {
    let function = function(APPEND);
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    let mut statuses = Vec::new();
    for budget in (0..120).step_by(7) {
        set_budget(budget);
        let arrays = vec![ArrayData::U32(vec![]), ArrayData::U32(vec![]), ArrayData::I64(vec![0; 2])];
        let mut memory = Memory { arrays, scalars: vec![20, 0] };
        statuses.push(pool::with_threads(3, || run_with(Runtime::Checking, &kernel, &function, &mut memory)));
    }
    assert!(statuses.iter().all(|&status| status == 0 || status == Status::OutOfMemory.code()), "{statuses:?}");
    assert!(statuses[0] != 0 && statuses.last() == Some(&0), "{statuses:?}");
}

#[test]
fn large_fills_take_all_threads() {
    for (ty, value) in [("f64", "1.5"), ("u8", "7u8"), ("c128", "c128(1.0, 2.0)"), ("bool", "true")] {
        let text = format!(
            "kernel fills(grown y: {ty}[], n: i64) {{ grow y[(n + 2) * 1] = 0; fill y[1 .. n + 1] = {value}; }}"
        );
        let dtype = lacunar_formats::DType::ALL.into_iter().find(|dtype| dtype.to_string() == ty).unwrap();
        for n in [0, 1, 1000, 300_000] {
            check(&text, vec![ArrayData::empty(dtype)], &[n]);
        }
    }
}

#[test]
fn arrays_that_iterations_share_are_no_tiles() {
    // A tile that is summed in copies is stored whole, so that it would overwrite the additions of other iterations to their elements.
    let tiles = |kind: &str| {
        let text = format!(
            "kernel sums(in parts: f64[], out y: f64[], n: i64) {{
              local w: f64[];
              alloc w[32] = 0;
              for piece in 0 .. 2{kind} {{
                for c in 0 .. n {{
                  for p in 0 .. 16 vector {{
                    let part: f64 = parts[c * 32 + piece * 16 + p];
                    w[piece * 16 + p] += part;
                  }}
                }}
              }}
              for q in 0 .. 32 {{ let s: f64 = w[q]; y[q] = s; }}
            }}"
        );
        let numbers = (0..32 * 40).map(|k| f64::from(k % 13)).collect();
        check(&text, vec![ArrayData::F64(numbers), ArrayData::F64(vec![0.0; 32])], &[40]);
        let machine = Machine::named("zen4").unwrap(); // Its registers hold the tile, whatever the processor here.
        llvm_ir(&function(&text), &CompileOptions::of(&machine)).unwrap().matches("alloca [32 x double]").count()
    };
    assert_eq!(tiles(" parallel"), 1);
    assert!(tiles("") > 1, "the loop itself is summed in copies");
}
