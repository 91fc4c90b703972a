//! Kernels over positions beyond 2^31 and 2^32, without memory for so many entries: arrays whose pages nobody has touched read as
//! zeros, and take no memory until they are written to.
//!
//! ```text
//! 5 _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 7       two pages are there
//! ```

#![allow(clippy::unwrap_used)]

use lacunar::{Buffer, DType, DynTensor, Element, Format, FormatSpec, Kernel, LevelStorage, Options, Tensor};

/// An array of zeros, but for some elements; `None`, loudly, if the system does not map so many pages without memory for them.
fn mostly_zeros<T: Element>(len: usize, others: &[(usize, T)]) -> Option<Buffer> {
    let Ok(mut array) = Buffer::zeroed(T::DTYPE, len as u64) else {
        eprintln!("SKIPPED: the system does not map pages without memory for them");
        return None;
    };
    let elements = array.as_mut_slice::<T>().unwrap();
    others.iter().for_each(|(place, value)| elements[*place] = *value);
    Some(array)
}

fn format(text: &str) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(2).unwrap()
}

/// The product of a matrix of whole numbers with 1, 10, 100, ..
fn product(a: &DynTensor) -> Vec<i64> {
    let columns = a.dims()[1];
    let x: Vec<i64> = (0..columns).map(|j| 10i64.pow(j as u32)).collect();
    let x = Tensor::from_slice(&[columns], &x).unwrap();
    let mut y = Tensor::<i64>::zeros(&a.dims()[..1], Format::dense(1)).unwrap();
    let options = Options::new().tensor("A", a).tensor("x", x.as_dyn());
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap();
    kernel.run(&mut y, &[a, x.as_dyn()]).unwrap();
    y.values().to_vec()
}

/// Loose rows have unused places between them: few entries, at positions up to 5,000,000,003.
#[test]
fn loose_rows_beyond_2_to_the_32() {
    const FAR: usize = 5_000_000_000;
    let columns = [(0, 1u8), (1, 4), (FAR, 0), (FAR + 1, 2), (FAR + 2, 5)];
    let values: Vec<(usize, i8)> = columns.iter().zip(1..).map(|((place, _), value)| (*place, value)).collect();
    let (Some(crd), Some(values)) = (mostly_zeros(FAR + 4, &columns), mostly_zeros(FAR + 4, &values)) else { return };
    let pos = Buffer::from_vec(vec![0u64, FAR as u64, FAR as u64 + 4]);
    let end = Buffer::from_vec(vec![2u64, FAR as u64 + 3]);
    let loose = format("dl8@64");
    let level = LevelStorage::new(loose.levels()[1].kind, 6, vec![pos, end, crd]);
    let a = DynTensor::from_parts(vec![2, 6], &loose, vec![LevelStorage::dense(2), level], values).unwrap();
    assert_eq!(a.position_of(&[1, 5]), Some(FAR + 2));
    assert_eq!(product(&a), [20_010, 500_403]);
}

/// An array of 3,000,000,000 elements, of which three are not zero.
#[test]
fn elements_beyond_2_to_the_31() {
    const LEN: usize = 3_000_000_000;
    let Some(values) = mostly_zeros(LEN, &[(5, 1i8), ((1 << 31) + 7, 20), (LEN - 1, 100)]) else { return };
    let array = DynTensor::from_dense(vec![3, LEN as u64 / 3], values, &Format::dense(2)).unwrap();
    let mut sums = Tensor::<i64>::zeros(&[3], Format::dense(1)).unwrap();
    let options = Options::new().tensor("A", &array).dtype("y", DType::I64);
    let kernel = Kernel::compile("y(i) = i64(A(i,j))", &options).unwrap();
    kernel.run(&mut sums, &[&array]).unwrap();
    assert_eq!(sums.values(), [1, 0, 120]);
}

/// Files that promise more entries than there is memory for, and hold few.
#[test]
fn files_that_promise_entries_beyond_memory() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &[u8], reason: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let error = Tensor::<f64>::read(&path, Format::csr()).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    };
    let many = 10_000_000_000u64;
    let list = format!("%%MatrixMarket matrix coordinate real general\n{many} {many} {many}\n1 1 1\n");
    refused("list.mtx", list.as_bytes(), "expected 10000000000 entries as announced, of which 1 are there");
    let array = format!("%%MatrixMarket matrix array real general\n{many} {many}\n1\n");
    refused("array.mtx", array.as_bytes(), "too large: an array of 10000000000 x 10000000000 values");
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({many}, 1), }}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend([0; 16]);
    refused("array.npy", &npy, "array.npy");
    let boeing = format!(
        "{:<72}{:<8}\n{:14}{:14}{:14}{:14}{:14}\n{:<14}{:14}{:14}{:14}{:14}\n{:<16}{:<16}{:<20}{:<20}\n1 2\n1\n1.0\n",
        "promised", "key", 3, 1, 1, 1, 0, "rua", many, many, many, 0, "(2I20)", "(1I20)", "(1E20.8)", ""
    );
    refused("matrix.rua", boeing.as_bytes(), "matrix.rua");
}
