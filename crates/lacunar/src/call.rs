//! Running a compiled program: on tensors by name or in their order, into new memory or such as is there.

use std::io::Write;
use std::time::Duration;

use lacunar_formats::DType;
use lacunar_notation::{Role, TensorId};
use lacunar_runtime::{Element, StorageError, Tensor as DynTensor};

use crate::bind::{Slot, declare_type};
use crate::error::Error;
use crate::evaluate::Times;
use crate::kernel::Kernel;
use crate::operand::{Destination, FromResult, Operand, TensorView, views};
use crate::tensor::Tensor;

/// The results and the times of a run.
#[derive(Debug)]
pub struct Run {
    /// Every result by name, in order of the program: of one that says which are its outputs, those.
    pub results: Vec<(String, DynTensor)>,
    /// The other results.
    pub others: Vec<(String, DynTensor)>,
    /// Time of conversions that the plan demands.
    pub convert: Duration,
    /// Time of the kernels, with their results allocated and assembled.
    pub kernel: Duration,
    /// Time of the whole run: with loops, conditions, files and prints around the kernels.
    pub total: Duration,
    /// The number of times that each statement was carried out.
    pub counts: Vec<u64>,
}

/// A result that goes into a tensor.
struct Taken<'d> {
    id: TensorId,
    destination: &'d mut dyn Destination,
}

impl Kernel {
    /// Runs the program on tensors given by name, results with values to add to included. Printed text goes to standard output.
    ///
    /// # Errors
    /// A tensor is missing, unknown or does not fit; memory is refused; a size overflows; a file that the program names can't be
    /// read or written.
    pub fn run_named(&self, given: &[(&str, &DynTensor)]) -> Result<Run, Error> {
        self.run_printing(given, &mut std::io::stdout())
    }

    /// Runs the program as [`Kernel::run_named`] does; its printed text goes to `out`.
    ///
    /// ```
    /// use lacunar::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let kernel = Kernel::compile("for k in 0 .. 3 { x(i) = 2 * x(i) }; print x", &Options::new())?;
    /// let (x, mut printed) = (Tensor::from(vec![1.0, 5.0]).into_dyn(), Vec::new());
    /// kernel.run_printing(&[("x", &x)], &mut printed)?;
    /// assert_eq!(printed, b"x = [8, 40]\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Kernel::run_named`]; `out` can't be written to.
    pub fn run_printing(&self, given: &[(&str, &DynTensor)], out: &mut dyn Write) -> Result<Run, Error> {
        self.run_into_printing(given, Vec::new(), out)
    }

    /// Runs the program on operands given by name, and gives the result of its last statement that has one for the caller.
    ///
    /// ```
    /// use lacunar::{Format, Kernel, Options, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr()))?;
    /// let a = Tensor::from_triplets([2, 2], &[0, 1], &[1, 0], &[2.0, 3.0], Format::csr())?;
    /// let y: Vec<f64> = kernel.call(&[("A", &a), ("x", &[1.0, 10.0])])?;
    /// assert_eq!(y, [20.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Kernel::run_named`]; the result cannot become an `R`.
    pub fn call<R: FromResult>(&self, given: &[(&str, &dyn Operand)]) -> Result<R, Error> {
        let views = views(given)?;
        let given: Vec<(&str, &DynTensor)> = views.iter().map(|(name, view)| (*name, &**view)).collect();
        let mut run = self.run_named(&given)?;
        let assigned = self.program().statements.iter().map(|statement| statement.lhs.tensor);
        let last = assigned.rev().find(|id| self.program().is_output(*id)).map(|id| &self.program().tensors[id].name);
        let place = run.results.iter().position(|(name, _)| Some(name) == last);
        let place = place.ok_or_else(|| Error::Argument("the program has no statement".to_string()))?;
        R::from_result(run.results.swap_remove(place).1)
    }

    /// Runs a program of one result on its inputs, in the order of [`Kernel::inputs`]: `&[&a, &x]` where all are of one Rust
    /// type, else `&[&a as &dyn Operand, &x]`. `result` is replaced, or added to where the program says
    /// `+=`; the memory of a dense one is used again. If the operands do not fit the kernel, it keeps its values; after an error
    /// while the kernel runs it holds zeros or nothing.
    ///
    /// # Errors
    /// As [`Kernel::run_named`].
    pub fn run<T: Element, O: Operand>(&self, result: &mut Tensor<T>, inputs: &[O]) -> Result<(), Error> {
        let id = self.result_of(inputs.len())?;
        let views = inputs.iter().map(Operand::as_tensor).collect::<Result<Vec<TensorView>, Error>>()?;
        let mut slots: Vec<Slot<'_>> = self.program().tensors.iter().map(|_| Slot::Empty).collect();
        for ((id, _), view) in self.wanted().zip(&views) {
            slots[id.index()] = Slot::Borrowed(view);
        }
        self.check_type(id, T::DTYPE, |name| declare_type(name, T::DTYPE))?;
        let mut taken = [Taken { id, destination: result }];
        self.run_slots(&mut slots, &mut taken, &mut std::io::stdout()).map(|_| ())
    }

    /// The one result of a program that takes so many inputs.
    pub(crate) fn result_of(&self, inputs: usize) -> Result<TensorId, Error> {
        let mut results = self.outputs();
        let (Some((id, _)), None) = (results.next(), results.next()) else {
            return Err(Error::Argument("the program has several results; use `run_named`".to_string()));
        };
        let expected = self.wanted().count();
        if expected != inputs {
            let names: Vec<&str> = self.inputs().collect();
            return Err(Error::Argument(format!("{expected} inputs are needed ({}), not {inputs}", names.join(", "))));
        }
        Ok(id)
    }

    /// Runs the program on tensors given by name; some results go into tensors, whose memory is used again if it is
    /// dense. The others are given back.
    pub(crate) fn run_into(
        &self,
        given: &[(&str, &DynTensor)],
        into: Vec<(&str, &mut dyn Destination)>,
    ) -> Result<Run, Error> {
        self.run_into_printing(given, into, &mut std::io::stdout())
    }

    fn run_into_printing(
        &self,
        given: &[(&str, &DynTensor)],
        into: Vec<(&str, &mut dyn Destination)>,
        out: &mut dyn Write,
    ) -> Result<Run, Error> {
        let find = |name: &str| {
            let found = self.program().tensors.iter().find(|(_, declared)| declared.name == name);
            found.map(|(id, _)| id).ok_or_else(|| Error::Argument(format!("the program has no tensor `{name}`")))
        };
        let mut slots: Vec<Slot<'_>> = self.program().tensors.iter().map(|_| Slot::Empty).collect();
        for (name, tensor) in given {
            let slot = &mut slots[find(name)?.index()];
            if !matches!(slot, Slot::Empty) {
                return Err(Error::Argument(format!("`{name}` is given twice; a tensor has one value in a run")));
            }
            *slot = Slot::Borrowed(tensor);
        }
        let mut taken = Vec::new();
        for (name, destination) in into {
            let id = find(name)?;
            let found = destination.tensor().dtype();
            self.check_type(id, found, |_| format!("convert what is assigned, as in `{found}(A(i,j))`"))?;
            taken.push(Taken { id, destination });
        }
        let Times { convert, kernel, total, counts } = self.run_slots(&mut slots, &mut taken, out)?;
        let (mut results, mut others) = (Vec::new(), Vec::new());
        for (id, declared) in self.declared(Role::Result) {
            let tensor = match std::mem::replace(&mut slots[id.index()], Slot::Empty) {
                Slot::Owned(tensor) => tensor,
                // The caller's own, which was swapped for it, or which nothing has changed.
                Slot::Borrowed(tensor) => tensor.try_clone().map_err(StorageError::from)?,
                Slot::Empty => continue,
            };
            let list = if self.program().is_output(id) { &mut results } else { &mut others };
            list.push((declared.name.clone(), tensor));
        }
        Ok(Run { results, others, convert, kernel, total, counts })
    }

    /// Checks that a tensor with elements of a type can take a result; `hint` gives the advice for a result with this name.
    fn check_type(&self, result: TensorId, found: DType, hint: impl Fn(&str) -> String) -> Result<(), Error> {
        let declared = &self.program().tensors[result];
        let (name, expected) = (&declared.name, declared.dtype);
        let refuse = || Err(Error::Argument(format!("`{name}` is of type {expected}, not {found}; {}", hint(name))));
        if expected == found { Ok(()) } else { refuse() }
    }

    /// Runs the program with the tensors of some results in their places, and puts the tensors back afterwards, also
    /// after an error.
    fn run_slots(&self, slots: &mut [Slot<'_>], taken: &mut [Taken<'_>], out: &mut dyn Write) -> Result<Times, Error> {
        for Taken { id, destination } in &mut *taken {
            slots[id.index()] = Slot::Owned(destination.take());
        }
        let outcome = self.evaluate(slots, out);
        for Taken { id, destination } in taken {
            if let Slot::Owned(tensor) = std::mem::replace(&mut slots[id.index()], Slot::Empty) {
                destination.put(tensor)?;
            }
        }
        outcome
    }
}
