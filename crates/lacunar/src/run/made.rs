//! Tensors that a program makes up: of one number, or of random ones.
//!
//! ```text
//! fill x 1.5                        every element of x is 1.5
//! random A sparse(0.01) seed 7      one in a hundred places of A has an entry; the same ones in every run
//! ```
//!
//! Sizes are those that are declared, those of the value before, or those of tensors that have the same indices.

use lacunar_formats::{DType, Generator};
use lacunar_imp::arith;
use lacunar_notation::{Access, Condition, TensorId, VarId};
use lacunar_runtime::Tensor;
use lacunar_runtime::random::{generate, generate_filled};

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
        let seed = self.number(seed)?.bits;
        let dims = self.dims(tensor)?;
        let made = generate_filled(kind, dims, declared.dtype, &declared.format, declared.fill(), seed)?;
        self.slots[tensor.index()] = Slot::Owned(made);
        Ok(())
    }

    /// The sizes of a tensor that gets elements: those that are known, or that it has, or that tensors with a value have which statements
    /// read or assign by the same variables.
    pub(super) fn dims(&self, tensor: TensorId) -> Result<Vec<u64>, Error> {
        let declared = &self.program.tensors[tensor];
        let of_value = self.slots[tensor.index()].get().map(Tensor::dims);
        let own = of_value.filter(|_| declared.dims.contains(&None));
        let dims = declared.dims.iter().enumerate().map(|(dimension, known)| {
            let of_value = || own.and_then(|dims| dims.get(dimension).copied());
            known.or_else(of_value).or_else(|| self.size_by_variables(tensor, dimension))
        });
        let dims: Option<Vec<u64>> = dims.collect();
        dims.ok_or_else(|| Error::NoSizes { name: declared.name.clone(), order: declared.order() })
    }

    /// The size of a dimension, by the variables that are its indices.
    fn size_by_variables(&self, tensor: TensorId, dimension: usize) -> Option<u64> {
        let statements = self.program.statements.iter();
        let accesses: Vec<&Access> =
            statements.flat_map(|statement| [vec![&statement.lhs], statement.rhs.accesses()].concat()).collect();
        let own = accesses.iter().filter(|access| access.tensor == tensor);
        let vars: Vec<VarId> = own.filter_map(|access| access.vars.get(dimension).copied()).collect();
        accesses.iter().find_map(|access| {
            let place = access.vars.iter().position(|var| vars.contains(var))?;
            self.slots[access.tensor.index()].get()?.dims().get(place).copied()
        })
    }
}
