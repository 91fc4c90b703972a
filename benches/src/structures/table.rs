//! The kernels that are measured.
//!
//! Names and sizes are those of Ghorbani et al. 2023, Fig. 12 (`lr`, `pr2`, `pr3`), Fig. 13 (`ttm`, `thp`, `mttkrp`) and Fig. 14 (`lr-13`
//! and the like: a table with keys into three others, joined with these, as Retailer with 13 attributes and Favorita with 6 are).

use super::kernels::Size::{self, N, Of};
use super::kernels::{Kernel, Operand, Values};

/// All kernels.
pub fn all() -> impl Iterator<Item = Kernel> {
    [MATRICES, CREATION, ORDER_3, PRODUCTS, JOINS].into_iter().flatten().copied()
}

/// Products of matrices with vectors, and a covariance.
const MATRICES: &[Kernel] = &[
    kernel("symmv", "y(i) = A(i,j) * x(j)", &[SYMMETRIC, dense("x", &[N])], ("y", "dense"), &[1024, 4096]),
    kernel(
        "trimv",
        "y(i) = A(i,j) * x(j)",
        &[stored("A", "packed(lower)", &[N, N]), dense("x", &[N])],
        ("y", "dense"),
        &[1024, 4096],
    ),
    kernel("cov", "C(i,j) = X(t,i) * X(t,j)", &[dense("X", &[N, N])], ("C", "packed(symmetric)"), &[200, 500]),
];

/// Creation of symmetric tensors, and sums of them.
const CREATION: &[Kernel] = &[
    kernel("lrc", "C(i,j) = f(i) * f(j)", &[dense("f", &[N])], ("C", "packed(symmetric)"), &[1024, 4096]),
    kernel(
        "lra",
        "C(i,j) = A(i,j) + B(i,j)",
        &[SYMMETRIC, stored("B", "packed(symmetric)", &[N, N])],
        ("C", "packed(symmetric)"),
        &[1024, 4096],
    ),
    Kernel {
        whole_up_to: 64,
        ..kernel(
            "pr2c",
            "C(i,j,k,l) = f(i) * f(j) * f(k) * f(l)",
            &[dense("f", &[N])],
            ("C", "packed(symmetric)"),
            &[64, 100],
        )
    },
    Kernel {
        whole_up_to: 64,
        ..kernel(
            "pr2a",
            "C(i,j,k,l) = A(i,j,k,l) + B(i,j,k,l)",
            &[stored("A", "packed(symmetric)", &[N; 4]), stored("B", "packed(symmetric)", &[N; 4])],
            ("C", "packed(symmetric)"),
            &[64, 100],
        )
    },
    kernel(
        "pr3c",
        "C(i,j,k,l,m,n) = f(i) * f(j) * f(k) * f(l) * f(m) * f(n)",
        &[dense("f", &[N])],
        ("C", "packed(symmetric)"),
        &[16],
    ),
    kernel(
        "pr3a",
        "C(i,j,k,l,m,n) = A(i,j,k,l,m,n) + B(i,j,k,l,m,n)",
        &[stored("A", "packed(symmetric)", &[N; 6]), stored("B", "packed(symmetric)", &[N; 6])],
        ("C", "packed(symmetric)"),
        &[16],
    ),
];

const TTM: &str = "D(i,j,l) = A(i,j,k) * B(k,l)";
const THP: &str = "C(i,j,k) = A(i,j,k) * B(i,j,k)";
const MTTKRP: &str = "D(i,r) = A(i,j,k) * B(j,r) * C(k,r)";

/// Tensors of order 3 of which a part is there.
const ORDER_3: &[Kernel] = &[
    ttm("ttm-diagonal", &[stored("A", "packed(diagonal(0,1))", &[N; 3]), MATRIX], &[("A", "dsd")]),
    ttm("ttm-fixed-j", &[FIXED_J, MATRIX], &[("A", "dsd")]),
    ttm("ttm-half", &[stored("A", "packed(simplex)", &[N; 3]), MATRIX], &[("A", "dss")]),
    thp(
        "thp-diagonal",
        &[stored("A", "packed(diagonal)", &[N; 3]), CUBE],
        "packed(diagonal)",
        &[("A", "dss"), ("C", "dss")],
    ),
    thp("thp-fixed-i", &[FIXED_I, CUBE], "packed(fixed(0,3))", &[("A", "sdd"), ("C", "sdd")]),
    thp("thp-fixed-j", &[FIXED_J, CUBE], "packed(fixed(1,3))", &[("A", "dsd"), ("C", "dsd")]),
    mttkrp(
        "mttkrp-fixed-ij",
        &[stored("A", "packed(fixed(0,3,1,3))", &[N; 3]), MATRIX, dense("C", &[N, N])],
        &[("A", "ssd")],
    ),
    mttkrp("mttkrp-fixed-i", &[FIXED_I, MATRIX, dense("C", &[N, N])], &[("A", "sdd")]),
    mttkrp("mttkrp-fixed-j", &[FIXED_J, MATRIX, dense("C", &[N, N])], &[("A", "dsd")]),
];

/// Products with other structures: symmetric twice, of identical rows, skew, Toeplitz (stored once a diagonal), Leslie.
const PRODUCTS: &[Kernel] = &[
    kernel(
        "sym-sym",
        "C(i,k) = A(i,j) * B(j,k)",
        &[SYMMETRIC, stored("B", "packed(symmetric)", &[N, N])],
        ("C", "dense"),
        &[200, 1000],
    ),
    kernel(
        "sym-rows",
        "C(i,j) = A(i,j) * B(i,j)",
        &[SYMMETRIC, stored("B", "packed(identical_rows)", &[N, N])],
        ("C", "dense"),
        &[1000, 4000],
    ),
    kernel(
        "skew-cov",
        "C(i,j) = X(t,i) * X(t,j)",
        &[stored("X", "packed(skew)", &[N, N])],
        ("C", "packed(symmetric)"),
        &[200, 500],
    ),
    Kernel {
        variables: &[("i", N)],
        ..kernel(
            "toeplitz",
            "y(i) = a(i - j) * x(j)",
            &[dense("a", &[Of(16)]), dense("x", &[N])],
            ("y", "dense"),
            &[8000],
        )
    },
    kernel("leslie-mv", "y(i) = L(i,j) * x(j)", &[LESLIE, dense("x", &[N])], ("y", "dense"), &[1000, 8000]),
    kernel("leslie-mm", "D(i,k) = L(i,j) * B(j,k)", &[LESLIE, dense("B", &[N, N])], ("D", "dense"), &[200, 1000]),
];

const JOIN_13: &str = "X(t,i) = F(t,i + 0) + G(p(t),i - 4) + H(q(t),i - 7) + K(r(t),i - 10)";
const JOIN_6: &str = "X(t,i) = F(t,i + 0) + G(p(t),i - 3) + H(q(t),i - 4) + K(r(t),i - 5)";
const TABLES_13: &[Operand] = &[
    dense("F", &[N, Of(4)]),
    dense("G", &[Of(5000), Of(3)]),
    dense("H", &[Of(500), Of(3)]),
    dense("K", &[Of(100), Of(3)]),
    keys("p", 5000),
    keys("q", 500),
    keys("r", 100),
];
const TABLES_6: &[Operand] = &[
    dense("F", &[N, Of(3)]),
    dense("G", &[Of(5000), Of(1)]),
    dense("H", &[Of(500), Of(1)]),
    dense("K", &[Of(100), Of(1)]),
    keys("p", 5000),
    keys("q", 500),
    keys("r", 100),
];
const LR: (&str, &str) = ("C(i,j) = X(t,i) * X(t,j)", "C(i,j) += X(t,i) * X(t,j)");
const PR2: (&str, &str) =
    ("C(i,j,k,l) = X(t,i) * X(t,j) * X(t,k) * X(t,l)", "C(i,j,k,l) += X(t,i) * X(t,j) * X(t,k) * X(t,l)");

/// Joins, and covariances of them.
const JOINS: &[Kernel] = &[
    join("join-13", JOIN_13, TABLES_13, &[("i", Of(13))]),
    covariance("lr-13", LR, &[stored("X", "dense:1,0", &[N, Of(13)]).made_by("join-13")]),
    covariance("pr2-13", PR2, &[stored("X", "dense:1,0", &[N, Of(13)]).made_by("join-13")]),
    join("join-6", JOIN_6, TABLES_6, &[("i", Of(6))]),
    covariance("lr-6", LR, &[stored("X", "dense:1,0", &[N, Of(6)]).made_by("join-6")]),
    covariance("pr2-6", PR2, &[stored("X", "dense:1,0", &[N, Of(6)]).made_by("join-6")]),
];

const SYMMETRIC: Operand = stored("A", "packed(symmetric)", &[N, N]);
const LESLIE: Operand = stored("L", "packed(leslie)", &[N, N]);
const MATRIX: Operand = dense("B", &[N, N]);
const CUBE: Operand = dense("B", &[N; 3]);
const FIXED_I: Operand = stored("A", "packed(fixed(0,3))", &[N; 3]);
const FIXED_J: Operand = stored("A", "packed(fixed(1,3))", &[N; 3]);

const fn kernel(
    name: &'static str,
    text: &'static str,
    operands: &'static [Operand],
    result: (&'static str, &'static str),
    sizes: &'static [u64],
) -> Kernel {
    Kernel { name, text, operands, result, variables: &[], sizes, whole_up_to: u64::MAX, plain: None, taco: &[] }
}

/// Formats by the names of tensors.
type Formats = &'static [(&'static str, &'static str)];

const fn ttm(name: &'static str, operands: &'static [Operand], taco: Formats) -> Kernel {
    Kernel { taco, ..kernel(name, TTM, operands, ("D", "dense"), &[100, 250]) }
}

const fn thp(name: &'static str, operands: &'static [Operand], result: &'static str, taco: Formats) -> Kernel {
    Kernel { taco, ..kernel(name, THP, operands, ("C", result), &[100, 250]) }
}

const fn mttkrp(name: &'static str, operands: &'static [Operand], taco: Formats) -> Kernel {
    Kernel { taco, ..kernel(name, MTTKRP, operands, ("D", "dense"), &[100, 250]) }
}

/// A quarter of a million rows, and all of a million.
const ROWS: &[u64] = &[250_000, 1_000_000];

const fn join(
    name: &'static str,
    text: &'static str,
    operands: &'static [Operand],
    variables: &'static [(&'static str, Size)],
) -> Kernel {
    Kernel { variables, ..kernel(name, text, operands, ("X", "dense:1,0"), ROWS) }
}

const fn covariance(name: &'static str, texts: (&'static str, &'static str), operands: &'static [Operand]) -> Kernel {
    Kernel { plain: Some(texts.1), ..kernel(name, texts.0, operands, ("C", "packed(symmetric)"), ROWS) }
}

const fn dense(name: &'static str, dims: &'static [Size]) -> Operand {
    stored(name, "dense", dims)
}

const fn keys(name: &'static str, rows: u64) -> Operand {
    Operand { values: Values::Keys(rows), ..dense(name, &[N]) }
}

const fn stored(name: &'static str, format: &'static str, dims: &'static [Size]) -> Operand {
    Operand { name, format, dims, values: Values::Places }
}
