//! From a run-time element type to a compile-time one.

/// Evaluates the body with `$T` standing for the Rust type of element type `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use ::lacunar_formats::DType as D;
        match $dtype {
            D::Bool => {
                type $T = bool;
                $body
            }
            D::I8 => {
                type $T = i8;
                $body
            }
            D::I16 => {
                type $T = i16;
                $body
            }
            D::I32 => {
                type $T = i32;
                $body
            }
            D::I64 => {
                type $T = i64;
                $body
            }
            D::U8 => {
                type $T = u8;
                $body
            }
            D::U16 => {
                type $T = u16;
                $body
            }
            D::U32 => {
                type $T = u32;
                $body
            }
            D::U64 => {
                type $T = u64;
                $body
            }
            D::F16 => {
                type $T = ::half::f16;
                $body
            }
            D::BF16 => {
                type $T = ::half::bf16;
                $body
            }
            D::F32 => {
                type $T = f32;
                $body
            }
            D::F64 => {
                type $T = f64;
                $body
            }
            D::C64 => {
                type $T = ::num_complex::Complex<f32>;
                $body
            }
            D::C128 => {
                type $T = ::num_complex::Complex<f64>;
                $body
            }
            D::Pattern => {
                type $T = ::lacunar_formats::One;
                $body
            }
        }
    }};
}

/// Evaluates the body with `$vec` bound to the vector inside `$values`.
macro_rules! with_values {
    ($values:expr, $vec:ident => $body:expr) => {{
        use $crate::values::Values as V;
        match $values {
            V::Bool($vec) => $body,
            V::I8($vec) => $body,
            V::I16($vec) => $body,
            V::I32($vec) => $body,
            V::I64($vec) => $body,
            V::U8($vec) => $body,
            V::U16($vec) => $body,
            V::U32($vec) => $body,
            V::U64($vec) => $body,
            V::F16($vec) => $body,
            V::BF16($vec) => $body,
            V::F32($vec) => $body,
            V::F64($vec) => $body,
            V::C64($vec) => $body,
            V::C128($vec) => $body,
            V::Pattern($vec) => $body,
        }
    }};
}

/// Evaluates the body with `$V` standing for a plain word as large as elements of `$dtype` and no stricter aligned:
/// enough to move elements, with fewer copies of the code than [`with_element`] makes.
macro_rules! with_word {
    ($dtype:expr, $V:ident => $body:expr) => {{
        use ::lacunar_formats::DType as D;
        match $dtype {
            D::Bool | D::I8 | D::U8 => {
                type $V = u8;
                $body
            }
            D::I16 | D::U16 | D::F16 | D::BF16 => {
                type $V = u16;
                $body
            }
            D::I32 | D::U32 | D::F32 => {
                type $V = u32;
                $body
            }
            D::I64 | D::U64 | D::F64 | D::C64 => {
                type $V = [u32; 2];
                $body
            }
            D::C128 => {
                type $V = [u64; 2];
                $body
            }
            D::Pattern => {
                type $V = ::lacunar_formats::One;
                $body
            }
        }
    }};
}

/// Evaluates the body with `$N` standing for the type of the numbers of an index array of width `$width`.
macro_rules! with_width {
    ($width:expr, $N:ident => $body:expr) => {{
        use ::lacunar_formats::IndexWidth as W;
        match $width {
            W::W8 => {
                type $N = u8;
                $body
            }
            W::W16 => {
                type $N = u16;
                $body
            }
            W::W32 => {
                type $N = u32;
                $body
            }
            W::W64 => {
                type $N = u64;
                $body
            }
        }
    }};
}

pub(crate) use {with_element, with_values, with_width, with_word};
