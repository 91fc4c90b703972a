//! A kernel with its tensors: the checks before a call of its code are made once.
//!
//! ```text
//! kernel.run(&mut y, &[&a, &x])      formats, sizes and memory are compared at each run
//! bound.run()                        the arguments lie where they were
//! ```
//!
//! A product of small tensors takes less time than such questions. The tensors belong to the bound kernel, so that their arrays stay
//! where they are; their values can be changed in between.
//!
//! On entry: tensors as for [`Kernel::run`]. On exit of each run: the result is in its tensor. The first run asks everything; where more
//! has to be done than to call one kernel, all do.

use lacunar_runtime::{Element, Tensor as DynTensor};

use crate::error::Error;
use crate::kernel::Kernel;
use crate::launch::Held;
use crate::tensor::Tensor;

/// A kernel of one result with the tensors that it runs on.
///
/// ```
/// use lacunar::{Kernel, Options, Tensor};
/// # fn main() -> Result<(), lacunar::Error> {
/// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new())?;
/// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).into_dyn();
/// let x = Tensor::from(vec![1.0, 1.0]).into_dyn();
/// let mut bound = kernel.bind(Tensor::<f64>::from(vec![0.0, 0.0]), vec![a, x])?;
/// bound.run()?;
/// assert_eq!(bound.result().values(), [3.0, 7.0]);
/// bound.values_mut::<f64>("x").unwrap()[1] = 10.0;
/// bound.run()?;
/// assert_eq!(bound.result().values(), [21.0, 43.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Bound<'k, T: Element> {
    kernel: &'k Kernel,
    held: Held<'k, T>,
    has_run: bool,
}

impl Kernel {
    /// The kernel with a tensor for its result and its inputs, in the order of [`Kernel::inputs`].
    ///
    /// # Errors
    /// There are other inputs, or the program has several results. The first run tells if the tensors fit.
    pub fn bind<T: Element>(&self, result: Tensor<T>, inputs: Vec<DynTensor>) -> Result<Bound<'_, T>, Error> {
        self.result_of(inputs.len())?;
        Ok(Bound { kernel: self, held: Held::new(result, inputs), has_run: false })
    }
}

impl<T: Element> Bound<'_, T> {
    /// Runs the kernel.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run(&mut self) -> Result<(), Error> {
        match self.held.run() {
            Some(Ok(())) => return Ok(()),
            Some(Err(status)) => return Err(self.held.failure(status)),
            None => {}
        }
        let (result, inputs) = self.held.tensors();
        self.kernel.run(result, inputs)?;
        if !self.has_run {
            self.has_run = true;
            self.kernel.hold(&mut self.held)?;
        }
        Ok(())
    }

    /// The result of the last run.
    pub fn result(&self) -> &Tensor<T> {
        self.held.result()
    }

    /// The stored values of a tensor by its name, for writing: of an input, or of the result, to which a kernel may add. `None` if there is no
    /// such tensor, or its elements are of another type.
    pub fn values_mut<E: Element>(&mut self, name: &str) -> Option<&mut [E]> {
        match self.kernel.inputs().position(|input| input == name) {
            Some(place) => self.held.input_mut(place)?.into_slice::<E>(),
            None if self.kernel.results().any(|result| result == name) => self.held.result_mut().into_slice::<E>(),
            None => None,
        }
    }

    /// The result and the inputs.
    pub fn into_tensors(self) -> (Tensor<T>, Vec<DynTensor>) {
        self.held.into_tensors()
    }
}
