//! Text files of matrices and tensors.
//!
//! Matrix Market (Boisvert, Pozo and Remington, "The Matrix Market exchange formats", NIST 1996) and FROSTT's `.tns`
//! (Smith et al., 2017), both with coordinates from 1. Values are written with the fewest digits that read back as the
//! same number. A symmetric matrix has its lower triangle written:
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric
//! % how it was made
//! 2 2 2
//! 1 1 4.0
//! 2 1 -1.0
//! ```

use crate::fem::{SymmetricMatrix, Tensor3};
use std::io::{Result, Write};

/// Writes an `n` by `n` symmetric matrix; `comment` may have several lines.
pub fn write_symmetric(out: &mut impl Write, comment: &str, n: usize, matrix: &SymmetricMatrix) -> Result<()> {
    write_head(out, "coordinate real symmetric", comment)?;
    writeln!(out, "{n} {n} {}", matrix.len())?;
    for ([row, column], value) in matrix {
        writeln!(out, "{} {} {value:?}", row + 1, column + 1)?;
    }
    Ok(())
}

/// Writes a vector as a dense matrix of one column.
pub fn write_vector(out: &mut impl Write, comment: &str, vector: &[f64]) -> Result<()> {
    write_head(out, "array real general", comment)?;
    writeln!(out, "{} 1", vector.len())?;
    vector.iter().try_for_each(|value| writeln!(out, "{value:?}"))
}

/// Writes a tensor of order 3. The format has no sizes: they are the largest coordinates.
pub fn write_tensor(out: &mut impl Write, comment: &str, tensor: &Tensor3) -> Result<()> {
    for line in comment.lines() {
        writeln!(out, "# {line}")?;
    }
    for ([i, j, k], value) in tensor {
        writeln!(out, "{} {} {} {value:?}", i + 1, j + 1, k + 1)?;
    }
    Ok(())
}

/// Writes the first line of a Matrix Market file of this `kind` and the comment below it.
pub fn write_head(out: &mut impl Write, kind: &str, comment: &str) -> Result<()> {
    writeln!(out, "%%MatrixMarket matrix {kind}")?;
    comment.lines().try_for_each(|line| writeln!(out, "% {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_matrix() {
        let mut text = Vec::new();
        let matrix = SymmetricMatrix::from([([0, 0], 4.0), ([1, 0], -0.1)]);
        write_symmetric(&mut text, "one\ntwo", 2, &matrix).expect("memory can be written");
        let expected = "%%MatrixMarket matrix coordinate real symmetric\n% one\n% two\n2 2 2\n1 1 4.0\n2 1 -0.1\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }

    #[test]
    fn vector_and_tensor() {
        let mut text = Vec::new();
        write_vector(&mut text, "", &[0.5, 1e-20]).expect("memory can be written");
        write_tensor(&mut text, "made", &Tensor3::from([([0, 1, 2], 3.0)])).expect("memory can be written");
        let expected = "%%MatrixMarket matrix array real general\n2 1\n0.5\n1e-20\n# made\n1 2 3 3.0\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
}
