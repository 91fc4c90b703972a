//! The options of compiling a program: the declarations of its tensors, and the kind of code.
//!
//! ```
//! use lacunar::{Backend, Format, Options};
//! let options = Options::new().format("A", Format::csr()).size("i", 100).backend(Backend::Interpreter);
//! assert_eq!(options.declarations.sizes["i"], 100);
//! ```

use std::path::PathBuf;

use lacunar_compiler::lower::Phase;
use lacunar_compiler::plan::Search;
use lacunar_formats::{DType, FormatSpec, Scalar};
use lacunar_front::{Declarations, Language, structure};
use lacunar_machine::Reach;
use lacunar_runtime::io::IndexBase;
use lacunar_runtime::{Element, Tensor, scalar_of};

use crate::choose::{Needs, restore};
use crate::compile::Backend;
use crate::error::Error;
use crate::operator::Operator;
use crate::schedule::Schedule;

/// The declarations of a program's tensors, and the choices for making its kernels.
#[derive(Clone, Debug)]
pub struct Options {
    /// Formats, types and sizes.
    pub declarations: Declarations,
    /// The back end, which turns the imperative IR into something that runs.
    pub backend: Backend,
    /// It decides everything that the schedule leaves open.
    pub search: Search,
    /// Transformations of the loops.
    pub schedule: Schedule,
    /// The most threads that a run may use; unless given, the environment variable `LACUNAR_THREADS` says it, or else it
    /// is the number of processors.
    pub threads: Option<usize>,
    /// Tells if results are assembled, computed, or both.
    pub phase: Phase,
    /// True if sums are formed in an order that depends neither on the processor nor on the number of threads, and not
    /// contracted with products. (Chunks of a long sum are added up one after the other.)
    pub strict: bool,
    /// True if small sizes that are declared become constants of the kernel, which is then faster and fits those sizes only.
    pub specialize: bool,
    /// The number of scalar iterations that are worth handing to a thread; unless given, the machine's.
    pub grain: Option<u64>,
    /// The sizes from which on results are stored past the caches, and operands prefetched; unless given, the machine's.
    pub reach: Option<Reach>,
    /// The machine that kernels are made for: a name of [`Machine::named`](lacunar_machine::Machine::named), or a file that describes
    /// one; unless given, the environment variable `LACUNAR_MACHINE` says it, or else it is the one at hand, which is measured once and
    /// kept in the folder for later processes. Code for another one can be printed and shipped, and run if the processor has the
    /// instructions.
    pub machine: Option<String>,
    /// The effort of the back end on the code.
    pub optimization: Optimization,
    /// True if, without a schedule, one that [`crate::tune`] has stored for such a program on such data is taken. Tuning
    /// itself stores nothing where this is not set.
    pub tuned: bool,
    /// True if code of the same kernel that was made before is taken, in this process or, with LLVM, in an earlier one.
    pub reuse: bool,
    /// The folder for data that later processes use; unless given, `LACUNAR_CACHE` names it, or else it is the folder
    /// `lacunar` in the user's folder for caches (`XDG_CACHE_HOME`).
    pub cache: Option<PathBuf>,
    /// The first index of the tensor files (`.tns`) and edge lists that the program itself reads and writes.
    pub base: IndexBase,
    /// True if operands are not compared with their structures: somebody has done that.
    pub structures_hold: bool,
    /// True if kernels are to be shipped ([`crate::Kernel::ship`]): operands are not converted before a kernel only to make it faster.
    pub alone: bool,
    /// Stages whose text is kept ([`crate::Kernel::text`]): `notation`, `concrete`, ..., or `all`.
    pub emit: Vec<String>,
}

/// The effort of a back end on the code of a kernel. The interpreter does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimization {
    /// As little as possible: kernels that run once on little data are there the soonest.
    Least,
    /// The passes that matter for kernels.
    #[default]
    Usual,
    /// All passes that the back end has.
    Most,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            declarations: Declarations::default(),
            backend: Backend::default(),
            search: Search::default(),
            schedule: Schedule::default(),
            threads: None,
            phase: Phase::Fused,
            strict: false,
            specialize: true,
            grain: None,
            reach: None,
            machine: None,
            optimization: Optimization::default(),
            tuned: true,
            reuse: true,
            cache: None,
            base: IndexBase::default(),
            structures_hold: false,
            alone: false,
            emit: Vec::new(),
        }
    }
}

impl Options {
    /// Nothing declared, the default back end.
    pub fn new() -> Options {
        Options::default()
    }

    /// Declares a tensor's format. One that is chosen from the entries ([`Format::auto`]) stays open until [`Options::tensor`] tells
    /// the format that was; [`Options::choose`] chooses it.
    ///
    /// [`Format::auto`]: crate::Format::auto
    pub fn format(mut self, tensor: &str, format: impl Into<FormatSpec>) -> Options {
        self.declarations.formats.insert(tensor.to_string(), format.into());
        self
    }

    /// Declares an operator, which the program may call from then on.
    ///
    /// # Errors
    /// The operator is not one that a program could declare: its name is taken, or what is claimed of it does not fit.
    ///
    /// ```
    /// use lacunar::{Operator, Options};
    /// let options = Options::new().operator(&Operator::unary("half", |a| a / 2.0))?;
    /// assert!(options.operator(&Operator::unary("max", |a| a)).is_err());
    /// # Ok::<(), lacunar::Error>(())
    /// ```
    pub fn operator(mut self, operator: &Operator) -> Result<Options, Error> {
        self.declarations.operators.extend(operator.declared()?);
        Ok(self)
    }

    /// Declares a tensor's element type.
    pub fn dtype(mut self, tensor: &str, dtype: DType) -> Options {
        self.declarations.dtypes.insert(tensor.to_string(), dtype);
        self
    }

    /// Declares the value of a tensor's elements that are not stored, in its type or one that converts to it.
    ///
    /// ```
    /// use lacunar::{DType, Options};
    /// let options = Options::new().dtype("A", DType::F32).fill("A", f64::INFINITY);
    /// assert_eq!(options.declarations.fills["A"].to_string(), "inf");
    /// ```
    pub fn fill<T: Element>(self, tensor: &str, fill: T) -> Options {
        self.filled(tensor, scalar_of(fill))
    }

    fn filled(mut self, tensor: &str, fill: Scalar) -> Options {
        self.declarations.fills.insert(tensor.to_string(), fill);
        self
    }

    /// Declares the structure of a tensor's elements before any is given, in the text of `-p`: a name such as `symmetric` or
    /// `banded(1,2)`, or a rule over dimensions. Loops leave out elements that are known to be 0. Operands are compared with it
    /// before a kernel runs, unless [`Options::structures_hold`] says that they need not be.
    ///
    /// ```
    /// use lacunar::{Error, Kernel, Options, Tensor};
    /// let options = Options::new().structure("A:lower")?.structure("x(i): i >= 1")?;
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
    /// let (a, x) = (Tensor::from([[1.0, 0.0], [2.0, 3.0]]), Tensor::from(vec![0.0, 10.0]));
    /// let y: Vec<f64> = kernel.call(&[("A", &a), ("x", &x)])?;
    /// assert_eq!(y, [0.0, 30.0]);
    /// let upper = Tensor::from([[1.0, 2.0], [0.0, 3.0]]);
    /// assert!(kernel.call::<Vec<f64>>(&[("A", &upper), ("x", &x)]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The text has a mistake.
    pub fn structure(mut self, text: &str) -> Result<Options, Error> {
        let (name, structure) = structure::parse(text).map_err(|found| Error::program(text, vec![found]))?;
        self.declarations.structures.insert(name, structure);
        Ok(self)
    }

    /// Says that a structured tensor is given by its unique elements alone, as [`Structured::keep_unique`](crate::Structured::keep_unique)
    /// leaves them. Kernels then read each once, and compute the elements that follow from it beside it; if the program needs the whole
    /// tensor for something, it is completed first, at every run.
    ///
    /// ```
    /// use lacunar::{Error, Format, Kernel, Options, Tensor};
    /// let options = Options::new().format("A", Format::csr()).structure("A:symmetric")?.unique("A");
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
    /// let upper = Tensor::from([[1.0, 2.0], [0.0, 3.0]]).convert(Format::csr())?; // of [[1, 2], [2, 3]]
    /// let y: Vec<f64> = kernel.call(&[("A", &upper), ("x", &[1.0, 10.0])])?;
    /// assert_eq!(y, [21.0, 32.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique(mut self, tensor: &str) -> Options {
        self.declarations.unique.insert(tensor.to_string());
        self
    }

    /// Says that operands have the structures that are declared of them: they are not compared before a kernel runs. Results are
    /// unspecified where they have not.
    pub fn structures_hold(mut self) -> Options {
        self.structures_hold = true;
        self
    }

    /// Declares a tensor's sizes.
    pub fn dims(mut self, tensor: &str, dims: &[u64]) -> Options {
        self.declarations.dims.insert(tensor.to_string(), dims.to_vec());
        self
    }

    /// Declares an index variable's size.
    pub fn size(mut self, variable: &str, size: u64) -> Options {
        self.declarations.sizes.insert(variable.to_string(), size);
        self
    }

    /// Declares everything that a tensor says of itself: format, type, fill value, sizes, number of values; and that it is
    /// given. Tensors of which nothing is said may be given as well.
    pub fn tensor(mut self, name: &str, tensor: &Tensor) -> Options {
        self.declarations.nnz.insert(name.to_string(), tensor.nnz());
        if let Some(heaviest) = tensor.heaviest() {
            self.declarations.heaviest.insert(name.to_string(), heaviest);
        }
        if let Some(steady) = tensor.is_steady() {
            self.declarations.steady.insert(name.to_string(), steady);
        }
        if let Some(scattered) = tensor.is_scattered() {
            self.declarations.scattered.insert(name.to_string(), scattered);
        }
        self.declarations.given.insert(name.to_string());
        let declared = self.format(name, tensor.format().clone()).dtype(name, tensor.dtype()).dims(name, tensor.dims());
        declared.filled(name, tensor.fill())
    }

    /// Declares a tensor's format, chosen from its entries for the loops of a program, if it is declared `auto`; gives the tensor in
    /// that format, and everything about it declared as by [`Options::tensor`].
    ///
    /// ```
    /// use lacunar::{Format, Kernel, Options, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let program = "y(j) = A(i,j) * x(i)";
    /// let a = Tensor::from_triplets([2, 3], &[0, 1], &[2, 0], &[1.0, 2.0], Format::csr())?.into_dyn();
    /// let (options, a) = Options::new().format("A", Format::auto()).choose(program, "A", a)?;
    /// let kernel = Kernel::compile(program, &options)?;
    /// let y = kernel.run_named(&[("A", &a), ("x", Tensor::from_slice(&[2], &[1.0, 10.0])?.as_dyn())])?.results.swap_remove(0).1;
    /// assert_eq!(y.to_dense::<f64>()?, [20.0, 0.0, 1.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The program has a mistake, memory is refused.
    pub fn choose(self, program: &str, name: &str, tensor: Tensor) -> Result<(Options, Tensor), Error> {
        let stored = match self.declarations.formats.get(name) {
            Some(format) => {
                let options = self.clone().tensor(name, &tensor);
                restore(tensor, format, Some(Needs { program, tensor: name, options: &options }))?.0
            }
            None => tensor,
        };
        Ok((self.tensor(name, &stored), stored))
    }

    /// Takes the program's text as rules, in the language of StructTensor. Its symbols are declared by [`Options::size`], or follow from
    /// the sizes of tensors.
    ///
    /// ```
    /// use lacunar::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let rules = "symbols: n\nx:D(i) := (0 <= i < n)\ny:D(i) := (0 <= i < n)\ny(i) := x(j) * (j <= i < n)\n";
    /// let kernel = Kernel::compile(rules, &Options::new().rules().size("n", 3))?;
    /// let y: Vec<f64> = kernel.call(&[("x", &[1.0, 10.0, 100.0])])?;
    /// assert_eq!(y, [1.0, 11.0, 111.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rules(mut self) -> Options {
        self.declarations.language = Language::Rules;
        self
    }

    /// Chooses the back end.
    pub fn backend(mut self, backend: Backend) -> Options {
        self.backend = backend;
        self
    }

    /// Transforms the loops: by commands as text, or by a [`Schedule`].
    pub fn schedule(mut self, schedule: impl Into<Schedule>) -> Options {
        self.schedule = schedule.into();
        self
    }

    /// Limits the number of threads of a run.
    pub fn threads(mut self, threads: usize) -> Options {
        self.threads = Some(threads);
        self
    }

    /// Chooses whether results are assembled, computed, or both.
    pub fn phase(mut self, phase: Phase) -> Options {
        self.phase = phase;
        self
    }

    /// Chooses whether schedules that tuning has stored are taken.
    pub fn tuned(mut self, tuned: bool) -> Options {
        self.tuned = tuned;
        self
    }

    /// Chooses whether code of the same kernel that was made before is taken.
    pub fn reuse(mut self, reuse: bool) -> Options {
        self.reuse = reuse;
        self
    }

    /// Chooses the folder for data that later processes use.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Options {
        self.cache = Some(folder.into());
        self
    }

    /// Says at which index the tensor files (`.tns`) and edge lists begin that the program reads and writes: at 1, unless this is said.
    ///
    /// ```
    /// use lacunar::{Kernel, Options, Tensor, io::IndexBase};
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("y.tns");
    /// let program = format!("y(i) = 2 * x(i); write y \"{}\"", file.display());
    /// let kernel = Kernel::compile(&program, &Options::new().base(IndexBase::Zero))?;
    /// kernel.run_named(&[("x", Tensor::from(vec![1.0, 5.0]).as_dyn())])?;
    /// assert_eq!(std::fs::read_to_string(&file)?, "0 2.0\n1 10.0\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn base(mut self, base: IndexBase) -> Options {
        self.base = base;
        self
    }

    /// Chooses the machine that kernels are made for, by a name or a file.
    ///
    /// ```
    /// use lacunar::{Format, Kernel, Options};
    /// let options = Options::new().format("A", Format::csr()).machine("generic-v3").emit("asm");
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
    /// assert!(!kernel.text("asm").is_some_and(|text| text.contains("zmm")));
    /// # Ok::<(), lacunar::Error>(())
    /// ```
    pub fn machine(mut self, machine: impl Into<String>) -> Options {
        self.machine = Some(machine.into());
        self
    }

    /// Keeps the text of a stage.
    pub fn emit(mut self, stage: &str) -> Options {
        self.emit.push(stage.to_string());
        self
    }
}
