//! Handwritten kernels, one for each thing that kernels do, compared with results by definition.

mod common;

use common::compile_and_run;
use lacunar_formats::DType;
use lacunar_imp::{
    ArrayData, ArrayRole, Builder, Function, Memory, Verified, verify,
};
use num_complex::Complex;

fn checked(builder: Builder) -> Verified<Function> {
    verify(builder.finish()).unwrap()
}

fn memory(arrays: Vec<ArrayData>, scalars: Vec<i64>) -> Memory {
    Memory { arrays, scalars }
}

/// `y(i) = A(i,j) * x(j)` with `A` in CSR.
fn spmv() -> Verified<Function> {
    let mut b = Builder::new("spmv");
    let pos = b.array_param("A_pos", DType::U32, ArrayRole::Input);
    let crd = b.array_param("A_crd", DType::U32, ArrayRole::Input);
    let vals = b.array_param("A_vals", DType::F64, ArrayRole::Input);
    let x = b.array_param("x", DType::F64, ArrayRole::Input);
    let y = b.array_param("y", DType::F64, ArrayRole::Output);
    let m = b.scalar_param("m");
    let (zero, one) = (b.int(0), b.int(1));
    b.for_loop("i", zero, m, |b, i| {
        let begin = b.load_index("begin", pos, i);
        let next = b.add(i, one);
        let end = b.load_index("end", pos, next);
        let nothing = b.constant(lacunar_imp::Const::real(DType::F64, 0.0));
        let sum = b.declare("sum", nothing);
        b.for_loop("p", begin, end, |b, p| {
            let j = b.load_index("j", crd, p);
            let (a, v) = (b.load("a", vals, p), b.load("v", x, j));
            let product = b.mul(a, v);
            let old = b.var(sum);
            let new = b.add(old, product);
            b.assign(sum, new);
        });
        let sum = b.var(sum);
        b.store(y, i, sum);
    });
    checked(b)
}

#[test]
fn spmv_sums_rows() {
    let mut memory = memory(
        vec![
            ArrayData::U32(vec![0, 2, 2, 5]),
            ArrayData::U32(vec![0, 3, 1, 2, 3]),
            ArrayData::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0]),
            ArrayData::F64(vec![1.0, 10.0, 100.0, 1000.0]),
            ArrayData::F64(vec![-1.0; 3]),
        ],
        vec![3],
    );
    assert_eq!(compile_and_run(&spmv(), &mut memory), 0);
    assert_eq!(memory.arrays[4], ArrayData::F64(vec![2001.0, 0.0, 5430.0]));
}
