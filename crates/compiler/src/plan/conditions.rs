//! Conditions of coordinates that statements read in different orders of their loops.
//!
//! Nothing is stored for a condition, so its levels come in the order of the loops. One that two nests read in two orders is two tensors:
//!
//! ```text
//! {forall(i, forall(j, C(i,j) += [i <= j] * A(i,j))); forall(j, forall(i, C(j,i) += [i <= j] * A(i,j)))}
//!   ->  the second reads the same condition with its levels in the order j, i
//! ```
//!
//! On entry: a kernel whose nests have the order that they keep. On exit: loops come to the levels of each condition from the outermost
//! inwards.

use lacunar_base::{Arena, Span};
use lacunar_formats::{DType, Format};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, Tensor, TensorId};

use super::convert::{free_name, rename};
use super::given::known_orders;
use super::storage::{concordant_format, is_concordant};
use crate::iterate::iterators::AccessKey;

/// Gives each assignment conditions that the loops around it can follow.
pub(crate) fn arrange(kernel: &mut Kernel) {
    let orders = known_orders(kernel);
    // The condition that takes the place of one in an order.
    let mut made: Vec<(TensorId, Format, TensorId)> = Vec::new();
    let mut wanted = Vec::new();
    for (assign, order) in &orders {
        let mut own: Vec<(AccessKey, TensorId)> = Vec::new();
        for access in assign.rhs.accesses() {
            let key = AccessKey::from(access);
            if !kernel.tensors[key.tensor].is_in_any_order() || is_concordant(kernel, &key, order) {
                continue;
            }
            let format = concordant_format(kernel, &key, order);
            let known = made.iter().find(|(tensor, other, _)| *tensor == key.tensor && *other == format);
            let tensor = match known {
                Some((.., tensor)) => *tensor,
                None => {
                    let tensor = copy(&mut kernel.tensors, key.tensor, &format);
                    made.push((key.tensor, format, tensor));
                    tensor
                }
            };
            own.push((key, tensor));
        }
        wanted.push(own);
    }
    let mut wanted = wanted.into_iter();
    kernel.stmt.visit_assigns_mut(&mut |assign| {
        let own = wanted.next().unwrap_or_default();
        let instead = |access: &Access| {
            let key = AccessKey::from(access);
            own.iter().find(|(other, _)| *other == key).map(|(_, tensor)| *tensor)
        };
        let rhs = std::mem::replace(&mut assign.rhs, Expr::zero(DType::Bool));
        assign.rhs = rename(rhs, &instead);
    });
}

/// Another tensor for a condition, with its levels in another order.
fn copy(tensors: &mut Arena<Tensor>, of: TensorId, format: &Format) -> TensorId {
    let own = tensors[of].clone();
    let name = free_name(tensors, &own.name);
    tensors.push(Tensor { name, format: format.clone(), span: Span::NONE, ..own })
}
