//! The kernels over packed tensors that are measured, and their inputs.
//!
//! ```text
//! symmv     y(i) = A(i,j) * x(j)                       A packed(symmetric)
//! lrc       C(i,j) = f(i) * f(j)                       C packed(symmetric): creation of a covariance matrix;  lra: a sum of two
//! pr2c      C(i,j,k,l) = f(i) * f(j) * f(k) * f(l)     of a tensor of degree 2;  pr2a: a sum of two
//! ```
//!
//! Values follow from places, so that peers make the same ones: the value at place `p` of a tensor's storage is `(1 + p mod 13) / 16`.
//! Names and sizes are those of Ghorbani et al. 2023, Fig. 12 (`lr`, `pr2`) and Fig. 13 (`ttm`, `thp`, `mttkrp`).

use anyhow::{Context, Result};
use lacunar::{Buffer, DType, DynTensor, Format, FormatSpec};

/// A kernel.
pub struct Kernel {
    /// Its name, for filters and peers.
    pub name: &'static str,
    /// The program.
    pub text: &'static str,
    /// Operands: names, formats, and the dimensions, all of the same size.
    pub operands: &'static [(&'static str, &'static str, usize)],
    /// The format of the result.
    pub result: (&'static str, &'static str),
    /// Sizes of dimensions; the first is that of quick runs.
    pub sizes: &'static [u64],
    /// NumPy takes part up to this size: whole tensors of larger ones do not fit.
    pub whole_up_to: u64,
}

/// All kernels.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "symmv",
        text: "y(i) = A(i,j) * x(j)",
        operands: &[("A", "packed(symmetric)", 2), ("x", "dense", 1)],
        result: ("y", "dense"),
        sizes: &[1024, 4096],
        whole_up_to: 4096,
    },
    Kernel {
        name: "trimv",
        text: "y(i) = A(i,j) * x(j)",
        operands: &[("A", "packed(lower)", 2), ("x", "dense", 1)],
        result: ("y", "dense"),
        sizes: &[1024, 4096],
        whole_up_to: 4096,
    },
    Kernel {
        name: "cov",
        text: "C(i,j) = X(t,i) * X(t,j)",
        operands: &[("X", "dense", 2)],
        result: ("C", "packed(symmetric)"),
        sizes: &[200, 500],
        whole_up_to: 500,
    },
    Kernel {
        name: "lrc",
        text: "C(i,j) = f(i) * f(j)",
        operands: &[("f", "dense", 1)],
        result: ("C", "packed(symmetric)"),
        sizes: &[1024, 4096],
        whole_up_to: 4096,
    },
    Kernel {
        name: "lra",
        text: "C(i,j) = A(i,j) + B(i,j)",
        operands: &[("A", "packed(symmetric)", 2), ("B", "packed(symmetric)", 2)],
        result: ("C", "packed(symmetric)"),
        sizes: &[1024, 4096],
        whole_up_to: 4096,
    },
    Kernel {
        name: "pr2c",
        text: "C(i,j,k,l) = f(i) * f(j) * f(k) * f(l)",
        operands: &[("f", "dense", 1)],
        result: ("C", "packed(symmetric)"),
        sizes: &[64, 100],
        whole_up_to: 64,
    },
    Kernel {
        name: "pr2a",
        text: "C(i,j,k,l) = A(i,j,k,l) + B(i,j,k,l)",
        operands: &[("A", "packed(symmetric)", 4), ("B", "packed(symmetric)", 4)],
        result: ("C", "packed(symmetric)"),
        sizes: &[64, 100],
        whole_up_to: 64,
    },
    Kernel {
        name: "ttm-half",
        text: "D(i,j,l) = A(i,j,k) * B(k,l)",
        operands: &[("A", "packed(simplex)", 3), ("B", "dense", 2)],
        result: ("D", "dense"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
    Kernel {
        name: "ttm-fixed-j",
        text: "D(i,j,l) = A(i,j,k) * B(k,l)",
        operands: &[("A", "packed(fixed(1,3))", 3), ("B", "dense", 2)],
        result: ("D", "dense"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
    Kernel {
        name: "thp-diagonal",
        text: "C(i,j,k) = A(i,j,k) * B(i,j,k)",
        operands: &[("A", "packed(diagonal)", 3), ("B", "dense", 3)],
        result: ("C", "packed(diagonal)"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
    Kernel {
        name: "thp-fixed-i",
        text: "C(i,j,k) = A(i,j,k) * B(i,j,k)",
        operands: &[("A", "packed(fixed(0,3))", 3), ("B", "dense", 3)],
        result: ("C", "packed(fixed(0,3))"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
    Kernel {
        name: "mttkrp-fixed-i",
        text: "D(i,r) = A(i,j,k) * B(j,r) * C(k,r)",
        operands: &[("A", "packed(fixed(0,3))", 3), ("B", "dense", 2), ("C", "dense", 2)],
        result: ("D", "dense"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
    Kernel {
        name: "mttkrp-fixed-j",
        text: "D(i,r) = A(i,j,k) * B(j,r) * C(k,r)",
        operands: &[("A", "packed(fixed(1,3))", 3), ("B", "dense", 2), ("C", "dense", 2)],
        result: ("D", "dense"),
        sizes: &[100, 250],
        whole_up_to: 250,
    },
];

/// The value at a place of a tensor's storage.
fn value(place: u64) -> f64 {
    (1 + place % 13) as f64 / 16.0
}

/// A tensor whose dimensions have all the same size.
pub fn tensor(format: &str, order: usize, size: u64) -> Result<DynTensor> {
    let (dims, format) = (vec![size; order], format.parse::<FormatSpec>()?.resolve(order)?);
    // In the memory of tensors, whose pages are huge, as those of the peers are.
    let made = |count: u64| -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(DType::F64, count)?;
        let values = buffer.as_mut_slice::<f64>().context("a buffer of its own")?;
        values.iter_mut().zip(0..).for_each(|(own, place)| *own = value(place));
        Ok(buffer)
    };
    if format == Format::dense(order) {
        return Ok(DynTensor::from_dense(dims.clone(), made(dims.iter().product())?, &format)?);
    }
    let (format, levels, count) = DynTensor::packed_levels(&dims, &format)?;
    Ok(DynTensor::from_parts(dims, &format, levels, made(count)?)?)
}
