//! Tensors that a program makes up: of one number, or of random ones.
//!
//! ```text
//! fill x 1.5                        every element of x is 1.5
//! random A sparse(0.01) seed 7      one in a hundred places of A has an entry; the same ones in every run
//! ```
//!
//! Sizes are those that are declared or follow from other tensors, or those of the value before.

use lacunar_formats::{DType, Format, Generator};
use lacunar_imp::arith;
use lacunar_notation::{Condition, TensorId};
use lacunar_runtime::Tensor;
use lacunar_runtime::random::generate;

use super::Runner;
use crate::bind::Slot;
use crate::error::Error;

impl Runner<'_, '_> {
    /// Gives every element of a tensor the value of a condition.
    pub(super) fn fill(&mut self, tensor: TensorId, value: &Condition) -> Result<(), Error> {
        let declared = &self.program.tensors[tensor];
        let number = self.number(value)?;
        let dims = self.dims(tensor)?;
        let made = match declared.dtype {
            DType::Pattern if number.is_zero() => Tensor::zeros(dims, &declared.format, DType::Pattern)?,
            DType::Pattern => generate(&Generator::Ones, dims, DType::Pattern, &declared.format, 0)?,
            dtype => Tensor::constant(dims, &declared.format, arith::cast(dtype, number), declared.fill())?,
        };
        self.slots[tensor.index()] = Slot::Owned(made);
        Ok(())
    }

    /// Makes up the elements of a tensor.
    pub(super) fn random(&mut self, tensor: TensorId, kind: &Generator, seed: &Condition) -> Result<(), Error> {
        let declared = &self.program.tensors[tensor];
        let seed = self.number(seed)?.bits as u64;
        let dims = self.dims(tensor)?;
        let made = if declared.order() == 0 || declared.fill().is_zero() {
            generate(kind, dims, declared.dtype, &declared.format, seed)?
        } else {
            let listed = generate(kind, dims, declared.dtype, &Format::coo(declared.order()), seed)?;
            listed.with_fill(declared.fill())?.convert(&declared.format)?
        };
        self.slots[tensor.index()] = Slot::Owned(made);
        Ok(())
    }

    /// The sizes of a tensor that gets elements: those that are known, or those that it has.
    pub(super) fn dims(&self, tensor: TensorId) -> Result<Vec<u64>, Error> {
        let declared = &self.program.tensors[tensor];
        let known: Option<Vec<u64>> = declared.dims.iter().copied().collect();
        let of_value = || self.slots[tensor.index()].get().map(|value| value.dims().to_vec());
        known.or_else(of_value).ok_or_else(|| Error::NoSizes { name: declared.name.clone(), order: declared.order() })
    }
}
