//! Round trips through `faer`, and which of them copy: a program of its own, as `faer` takes long to build.

use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseColMat, Triplet};
use lacunar::{Error, Format, Tensor};

/// The rows 0 1 2, with the entries (0,1) 2, (2,0) 3, (2,3) 4.
fn triplets() -> [Triplet<usize, usize, f64>; 3] {
    [Triplet::new(0, 1, 2.0), Triplet::new(2, 0, 3.0), Triplet::new(2, 3, 4.0)]
}

const DENSE: [f64; 12] = [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0];

#[test]
fn sparse_round_trips() -> Result<(), Error> {
    let columns = SparseColMat::<usize, f64>::try_new_from_triplets(3, 4, &triplets()).expect("columns");
    let values = columns.val().as_ptr();
    let csc = Tensor::from_faer_csc(columns)?;
    assert_eq!(csc.values().as_ptr(), values);
    assert_eq!(csc.to_dense()?, DENSE);
    assert_eq!(csc.as_faer_csc::<u64>()?.val().as_ptr(), values);
    assert!(csc.as_faer_csc::<u32>().is_err() && csc.as_faer_csr::<u64>().is_err());

    let rows = SparseRowMat::<usize, f64>::try_new_from_triplets(3, 4, &triplets()).expect("rows");
    let csr = Tensor::from_faer_csr(rows)?.convert(Format::csr())?;
    assert_eq!(csr.to_dense()?, DENSE);
    assert_eq!(csr.as_faer_csr::<u32>()?.row_ptr(), [0, 1, 1, 3]);
    let copy = csr.to_faer_csc::<usize>()?;
    assert_eq!(copy.col_ptr(), [0, 1, 2, 2, 3]);
    assert_eq!(copy.row_idx(), [2, 0, 2]);
    assert_eq!(copy.val(), [3.0, 2.0, 4.0]);
    Ok(())
}

#[test]
fn gaps_and_unsorted() -> Result<(), Error> {
    // Two columns with room for two entries each, of which one is taken; and room behind the last.
    let symbolic = SymbolicSparseColMat::<u32>::new_checked(3, 2, vec![0, 2, 4], Some(vec![1, 1]), vec![2, 0, 1, 0, 0]);
    let gaps = SparseColMat::new(symbolic, vec![5.0, -1.0, 6.0, -1.0, -1.0]);
    assert_eq!(Tensor::from_faer_csc(gaps)?.to_dense()?, [0.0, 0.0, 0.0, 6.0, 5.0, 0.0]);
    let symbolic = SymbolicSparseColMat::<u32>::new_unsorted_checked(3, 1, vec![0, 2], None, vec![2, 0]);
    let unsorted = SparseColMat::new(symbolic, vec![1.0, 2.0]);
    assert!(Tensor::from_faer_csc(unsorted).expect_err("unsorted").to_string().contains("not sorted"));
    Ok(())
}

#[test]
fn dense_round_trips() -> Result<(), Error> {
    let matrix = faer::Mat::from_fn(2, 3, |i, j| (10 * i + j) as f64);
    let tensor = Tensor::from_faer_mat(matrix.as_ref())?;
    assert_eq!(tensor.to_dense()?, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    assert_eq!(tensor.as_faer_mat()?.as_ptr(), tensor.values().as_ptr());
    assert_eq!(tensor.as_faer_mat()?, matrix.as_ref());
    let columns = tensor.convert(Format::dense(2).with_mode_order(vec![1, 0]).expect("a format"))?;
    assert_eq!(columns.as_faer_mat()?, matrix.as_ref());
    assert!(tensor.convert(Format::csr())?.as_faer_mat().is_err());
    Ok(())
}
