//! Shipped kernels in somebody else's program: a sample of the corpus, compiled to objects, libraries and C, linked with a small
//! program in C by `cc`, and run there, in every version that this machine can run, without Lacunar's runtime.
//!
//! The program has the operands' arrays in it, calls the kernel that its argument names, and writes the result's arrays as
//! bytes, one array a line.
//!
//! `LACUNAR_SHIP=n` takes one instance in n; `LACUNAR_INSTANCE` leaves those with a text in their id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use half::{bf16, f16};
use lacunar::{Backend, DynTensor, Kernel, Optimization, Options, Search, Shape, Step};
use lacunar_compiler::lower::Binding;
use lacunar_formats::{DType, One};
use lacunar_imp::{ArrayRole, Param};
use lacunar_notation::TensorId;
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, StorageError};
use lacunar_testing::data;
use lacunar_testing::day::{chosen, today};
use lacunar_testing::entries::Entries;
use lacunar_testing::instance::Instance;
use lacunar_testing::passed::{Digest, Passed};
use lacunar_testing::runner::{Engine, Failure, Found, Job, Reference, Results, verify};
use lacunar_testing::suite::{arguments, corpus_instances, is_wanted};
use libtest_mimic::{Failed, Trial};
use num_complex::Complex;

/// One instance of the corpus in so many.
const ONE_IN: u64 = 800;

fn main() -> ExitCode {
    let one_in = std::env::var("LACUNAR_SHIP").ok().and_then(|text| text.parse().ok()).unwrap_or(ONE_IN);
    let passed = Arc::new(Passed::open(env!("CARGO_TARGET_TMPDIR"), "ship"));
    let is_chosen = |id: &str| is_wanted(id) && chosen(&format!("ship {id}"), today(), one_in);
    let all = corpus_instances(&is_chosen).unwrap_or_else(|fault| panic!("{fault}"));
    let runs = |instance: &Instance| {
        let setup = &instance.setup;
        // A program without Lacunar's runtime has nobody who completes tensors.
        let is_whole = instance.declarations.unique.is_empty();
        is_whole && !setup.phases && setup.refused.is_none()
    };
    let trials = all.into_iter().filter(runs).flat_map(|instance| trials_of(instance, &passed)).collect();
    let arguments = arguments();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        let (linked, refused) = (LINKED.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed));
        println!(
            "{linked} programs linked and run, {refused} refused because they need the runtime or a driver; {passed}"
        );
        if let Err(error) = passed.keep() {
            println!("what passed cannot be kept: {error}");
        }
        // About half are, of all instances.
        if refused > 2 * linked {
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}

/// The number of trials that ran a program, and of those that had none.
static LINKED: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// One trial for each kind of code that an instance can be shipped as; none where it needs the runtime.
fn trials_of(instance: Instance, passed: &Arc<Passed>) -> Vec<Trial> {
    let mut shapes = vec![(Backend::C, Shape::Source), (Backend::C, Shape::Object)];
    if cfg!(feature = "llvm") {
        shapes.extend([Shape::Object, Shape::Library, Shape::Assembly].map(|shape| (Backend::Llvm, shape)));
    }
    // One of the slower ways for each instance, and always the object.
    let other = data::seed(&[&instance.id]) as usize % shapes.len();
    let picked = |&(number, way): &(usize, _)| number == other || way == (Backend::Llvm, Shape::Object);
    let ways: Vec<_> = shapes.into_iter().enumerate().filter(picked).map(|(_, way)| way).collect();
    let trial = |(backend, shape): (Backend, Shape)| {
        let (instance, passed) = (instance.clone(), passed.clone());
        let name = format!("{}.{}: {}", backend.name(), shape.extension(), instance.id);
        Trial::test(name, move || {
            let key = key(&instance, backend, shape);
            if key.is_some_and(|key| passed.knows(key)) {
                LINKED.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            match Program::build(&instance, backend, shape) {
                Ok(program) => {
                    LINKED.fetch_add(1, Ordering::Relaxed);
                    verify(&instance, &program.engines(), Reference::Oracle, &Passed::none()).map_err(Failed::from)?;
                    key.into_iter().for_each(|key| passed.add(key));
                    Ok(())
                }
                Err(Unbuilt::NeedsRuntime) => {
                    REFUSED.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }
                Err(Unbuilt::Fault(fault)) => Err(Failed::from(fault)),
            }
        })
    };
    ways.into_iter().map(trial).collect()
}

/// The options with which an instance is compiled. The code of this process is not used, since shipped code is another
/// one.
fn options(instance: &Instance, backend: Backend) -> Options {
    let setup = &instance.setup;
    Options {
        declarations: instance.declarations.clone(),
        backend,
        search: if setup.plain { Search::Plain } else { Search::Cost },
        schedule: setup.schedule_text().into(),
        strict: setup.strict,
        optimization: Optimization::Least,
        grain: Some(1),
        tuned: false,
        ..Options::new()
    }
}

/// The hash of all that a shipped program's results depend on.
fn key(instance: &Instance, backend: Backend, shape: Shape) -> Option<u64> {
    let kernel = Kernel::compile(&instance.source, &options(instance, Backend::Interpreter)).ok()?;
    let mut digest = Digest::default();
    write!(digest, "{backend:?} {shape:?} {} {:?}", instance.to_case_text(), instance.expected).ok()?;
    // The code is shipped with the checks of its arguments.
    if let Ok(shipment) = kernel.ship("taken", Shape::Source) {
        digest.write_str(&String::from_utf8_lossy(&shipment.content)).ok()?;
    }
    for step in kernel.steps() {
        let parameters: Vec<_> = step.parameters().map(|(_, binding)| binding).collect();
        write!(digest, "{} {parameters:?} {:?}", **step.function(), step.kernel()).ok()?;
    }
    Some(digest.finish())
}

/// The reason why there is no program.
enum Unbuilt {
    /// Something is converted, or there are several statements, whose temporaries the program would have to carry.
    NeedsRuntime,
    Fault(String),
}

fn fault(fault: impl ToString) -> Unbuilt {
    Unbuilt::Fault(fault.to_string())
}

/// A program in C around a kernel.
struct Program {
    folder: tempfile::TempDir,
    kernel: Kernel,
    sizes: Vec<u64>,
    symbols: Vec<String>,
}

impl Program {
    fn build(instance: &Instance, backend: Backend, shape: Shape) -> Result<Arc<Program>, Unbuilt> {
        let kernel = Kernel::compile(&instance.source, &options(instance, backend)).map_err(fault)?;
        let shipment = match kernel.ship("taken", shape) {
            Ok(shipment) if shipment.symbols.len() == 1 => shipment,
            Ok(_) => return Err(Unbuilt::NeedsRuntime),
            Err(error) if error.to_string().contains("E1018") => return Err(Unbuilt::NeedsRuntime),
            Err(error) => return Err(fault(error)),
        };
        let [step] = kernel.steps() else { return Err(Unbuilt::NeedsRuntime) };
        // Sizes of stored dimensions are for the runtime to find.
        if !step.kernel().stored.sizes.is_empty() {
            return Err(Unbuilt::NeedsRuntime);
        }
        let updated = instance.given.contains_key(&kernel.program().tensors[step.result()].name)
            || step.plan().conversions.iter().any(|conversion| conversion.source == step.result());
        if updated && !step.kernel().tensors[step.result()].format.is_dense() {
            return Err(Unbuilt::NeedsRuntime);
        }
        let folder = tempfile::tempdir().map_err(fault)?;
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).map_err(fault);
        write("taken.h", shipment.header.as_bytes())?;
        let code = format!("{}taken.{}", if shape == Shape::Library { "lib" } else { "" }, shape.extension());
        write(&code, &shipment.content)?;
        let runnable = shipment.versions.into_iter().filter(|(_, runs)| *runs).map(|(symbol, _)| symbol);
        let symbols: Vec<String> = shipment.symbols.into_iter().chain(runnable).collect();
        let sizes: Vec<u64> =
            kernel.program().vars.iter().map(|(var, _)| size_of(instance, &kernel, var.index())).collect();
        let program = Program { folder, kernel, sizes, symbols };
        let text = program.main(instance, &program.kernel.steps()[0])?;
        std::fs::write(program.folder.path().join("main.c"), text).map_err(fault)?;
        let mut cc = Command::new("cc");
        cc.current_dir(program.folder.path()).args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-fopenmp"]);
        let output = cc.args(["-o", "main", "main.c", &code, "-lm", "-pthread", "-Wl,-rpath,$ORIGIN"]).output();
        let output = output.map_err(fault)?;
        if !output.status.success() {
            return Err(fault(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(Arc::new(program))
    }

    fn engines(self: Arc<Program>) -> Vec<Box<dyn Engine>> {
        let engine = |symbol: &String| {
            let called = Called { program: Arc::clone(&self), symbol: symbol.clone() };
            Box::new(called) as Box<dyn Engine>
        };
        self.symbols.iter().map(engine).collect()
    }

    /// The text of the program.
    fn main(&self, instance: &Instance, step: &Step) -> Result<String, Unbuilt> {
        let mut arrays = String::new();
        let mut fields = String::new();
        let mut packed: HashMap<TensorId, DynTensor> = HashMap::new();
        for (param, binding) in step.parameters() {
            let array = match *param {
                Param::Scalar(var) => {
                    let value = match binding {
                        Binding::Size(var) => self.sizes[var.index()],
                        Binding::Threads => instance.setup.threads.unwrap_or(3) as u64,
                        other => return Err(fault(format!("{other:?}"))),
                    };
                    // Writing to a string does not fail.
                    let _ = writeln!(fields, "    args.{} = {value};", step.function().vars[var].name);
                    continue;
                }
                Param::Array(id) => &step.function().arrays[id],
            };
            let (Binding::Values(tensor) | Binding::Level(tensor, ..)) = binding else {
                return Err(fault(format!("{binding:?}")));
            };
            if array.role == ArrayRole::Grown {
                continue;
            }
            let name = &array.name;
            let bytes = if tensor == step.result() && array.role == ArrayRole::Output {
                self.result_before(instance, step)?
            } else {
                let operand = match packed.entry(tensor) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(self.operand(instance, step, tensor)?),
                };
                let buffer = match binding {
                    Binding::Level(_, level, part) => operand.levels()[level].array(part.name),
                    _ => Some(operand.values()),
                };
                buffer.ok_or_else(|| fault("an array is missing"))?.as_bytes().to_vec()
            };
            let text: String = bytes.iter().map(|byte| format!("{byte},")).collect();
            let _ = writeln!(
                arrays,
                "static unsigned char {name}[{}] __attribute__((aligned(16))) = {{{text}}};",
                bytes.len().max(1)
            );
            let _ = writeln!(fields, "    args.{name} = (void *){name};");
            let _ = writeln!(fields, "    args.{name}_capacity = {};", bytes.len() / array.elem.size());
        }
        let versions: String = self.symbols.iter().map(|s| format!("int32_t {s}(struct taken_args *);\n")).collect();
        let calls: String = self
            .symbols
            .iter()
            .map(|s| format!("    if (strcmp(argv[1], \"{s}\") == 0) status = {s}(&args);\n"))
            .collect();
        Ok(format!(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"taken.h\"\n\n{versions}{arrays}\n\
             static void show(const void *array, uint64_t bytes)\n{{\n    \
             for (uint64_t k = 0; k < bytes; k++) printf(\"%02x\", ((const unsigned char *)array)[k]);\n    \
             printf(\"\\n\");\n}}\n\n\
             int main(int argc, char **argv)\n{{\n    struct taken_args args = {{0}};\n{fields}    int32_t status = -1;\n    \
             if (argc != 2) return 1;\n{calls}    if (status != LACUNAR_OK) return 2;\n{}    return 0;\n}}\n",
            self.prints(step)
        ))
    }

    /// An operand as the kernel takes it.
    fn operand(&self, instance: &Instance, step: &Step, tensor: TensorId) -> Result<DynTensor, Unbuilt> {
        let declared = &step.kernel().tensors[tensor];
        let source = step.plan().conversions.iter().find(|conversion| conversion.tensor == tensor);
        let source = source.map_or(tensor, |conversion| conversion.source);
        // Without given values, a result had the fill value everywhere.
        let blank = || Entries::empty(self.dims(step), declared.dtype).with_fill(declared.fill().into());
        let given = match instance.given.get(&self.kernel.program().tensors[source].name) {
            None if source == step.plan().result => blank(),
            given => given.ok_or_else(|| fault(format!("`{}` is not given", declared.name)))?.clone(),
        };
        given.packed(&declared.format).map_err(fault)
    }

    /// The bytes of a dense result before the run: the given ones, or some that are nobody's result.
    fn result_before(&self, instance: &Instance, step: &Step) -> Result<Vec<u8>, Unbuilt> {
        let declared = &step.kernel().tensors[step.result()];
        let entries = instance.given.get(&self.kernel.program().tensors[step.result()].name);
        if let Some(entries) = entries {
            let tensor = entries.packed(&declared.format).map_err(fault)?;
            return Ok(tensor.values().as_bytes().to_vec());
        }
        if step.kernel().updates {
            // Without given values, the result has the fill value everywhere.
            let before = Entries::empty(self.dims(step), declared.dtype).with_fill(declared.fill().into());
            return Ok(before.packed(&declared.format).map_err(fault)?.values().as_bytes().to_vec());
        }
        let len: u64 = self.dims(step).iter().product();
        Ok(vec![1; len as usize * declared.dtype.size()])
    }

    fn dims(&self, step: &Step) -> Vec<u64> {
        step.plan().statement.lhs.vars.iter().map(|var| self.sizes[var.index()]).collect()
    }

    /// The arrays of the result among the parameters: their bindings, and their names and types.
    fn result_arrays<'s>(&self, step: &'s Step) -> impl Iterator<Item = (Binding, &'s str, DType)> {
        let params = step.parameters();
        params.filter_map(|(param, binding)| match (param, binding) {
            (Param::Array(id), Binding::Values(tensor) | Binding::Level(tensor, ..)) if tensor == step.result() => {
                let array = &step.function().arrays[*id];
                Some((binding, array.name.as_str(), array.elem))
            }
            _ => None,
        })
    }

    /// Statements that write the result's arrays, each with all that there is room for.
    fn prints(&self, step: &Step) -> String {
        let print = |(_, name, _)| format!("    show(args.{name}, args.{name}_capacity * sizeof *args.{name});\n");
        self.result_arrays(step).map(print).collect()
    }

    /// The result that the program has written.
    fn read(&self, step: &Step, output: &str) -> Result<DynTensor, String> {
        let (result, dims) = (step.result(), self.dims(step));
        let declared = &step.kernel().tensors[result];
        let mut written: HashMap<Binding, Buffer> = HashMap::new();
        for ((binding, _, dtype), line) in self.result_arrays(step).zip(output.lines()) {
            written.insert(binding, buffer(dtype, line)?);
        }
        let mut take = |wanted: Binding, len: u64| -> Result<Buffer, StorageError> {
            let argument = |what: &'static str| StorageError::Length { what: what.into(), found: 0, expected: len };
            let mut buffer = written.remove(&wanted).ok_or_else(|| argument("an array that the kernel made"))?;
            let len = usize::try_from(len).ok().filter(|&len| len <= buffer.len());
            buffer.truncate(len.ok_or_else(|| argument("the elements that the kernel wrote"))?);
            Ok(buffer)
        };
        let (mut levels, mut positions) = (Vec::new(), 1);
        for (number, level) in declared.format.levels().iter().enumerate() {
            let size = dims[declared.format.mode_order()[number]];
            let mut of_level = |part, len| take(Binding::Level(result, number, part), len);
            let received = LevelStorage::receive(level.kind, size, positions, &mut of_level);
            let (storage, count) = received.map_err(|error| error.to_string())?;
            levels.push(storage);
            positions = count;
        }
        let values = match declared.dtype {
            // The places are all there is.
            DType::Pattern => {
                Buffer::from_vec(vec![One; usize::try_from(positions).map_err(|error| error.to_string())?])
            }
            _ => take(Binding::Values(result), positions).map_err(|error| error.to_string())?,
        };
        DynTensor::from_parts(dims, &declared.format, levels, values).map_err(|error| error.to_string())
    }
}

/// The size of an index variable: declared, or that of a dimension which is given; or the number of values that an index of the result
/// takes.
fn size_of(instance: &Instance, kernel: &Kernel, var: usize) -> u64 {
    let program = &instance.program;
    let tied = program.statements.iter().flat_map(|statement| statement.rhs.accesses()).find_map(|access| {
        let sizes: Vec<Option<u64>> = access.vars.iter().map(|own| program.vars[*own].size).collect();
        let (place, size) = program.tensors[access.tensor].indicator.as_ref()?.inferred(&sizes)?;
        (access.vars[place].index() == var).then_some(size)
    });
    let (_, var) = kernel.program().vars.iter().nth(var).unwrap_or_else(|| panic!("a variable of the program"));
    let declared = instance.program.vars.iter().find(|(_, other)| other.name == var.name);
    var.size.or(declared.and_then(|(_, var)| var.size)).or(tied).unwrap_or_else(|| panic!("{}: no size", instance.id))
}

/// Elements from their bytes in hexadecimal.
fn buffer(dtype: DType, hex: &str) -> Result<Buffer, String> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|error| error.to_string());
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect::<Result<_, _>>()?;
    macro_rules! read {
        ($($variant:ident $ty:ty),*) => {
            match dtype {
                $(DType::$variant => Buffer::from_vec(numbers(&bytes, <$ty>::from_ne_bytes)),)*
                DType::Bool => Buffer::from_vec(bytes.iter().map(|&byte| byte != 0).collect::<Vec<bool>>()),
                DType::Pattern => Buffer::from_vec(vec![One; bytes.len()]),
                DType::C64 => Buffer::from_vec(pairs(&numbers(&bytes, f32::from_ne_bytes))),
                DType::C128 => Buffer::from_vec(pairs(&numbers(&bytes, f64::from_ne_bytes))),
            }
        };
    }
    Ok(read!(
        I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F16 f16, BF16 bf16, F32 f32, F64 f64
    ))
}

fn numbers<T, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok()).map(read).collect()
}

fn pairs<T: Copy>(parts: &[T]) -> Vec<Complex<T>> {
    parts.chunks_exact(2).map(|pair| Complex { re: pair[0], im: pair[1] }).collect()
}

/// One function of a program, as an engine.
struct Called {
    program: Arc<Program>,
    symbol: String,
}

impl Engine for Called {
    fn name(&self) -> &str {
        &self.symbol
    }

    fn prepare<'a>(&'a self, _: &'a Instance) -> Result<Job<'a>, Failure> {
        Ok(Job { key: None, run: Box::new(|| self.run()) })
    }
}

impl Called {
    fn run(&self) -> Result<Vec<Results>, Failure> {
        let failure = |message: String| Failure { stage: "run".to_string(), message };
        let path = self.program.folder.path().join("main");
        let output = Command::new(&path).arg(&self.symbol).output().map_err(|error| failure(error.to_string()))?;
        if !output.status.success() {
            return Err(failure(format!("{}", output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let step = &self.program.kernel.steps()[0];
        let tensor = self.program.read(step, &text).map_err(failure)?;
        let result = &self.program.kernel.program().tensors[step.result()];
        let coo = tensor.to_coo().map_err(|error| failure(error.to_string()))?;
        let found = Found { coo, fill: result.fill().into() };
        Ok(vec![Results { how: String::new(), tensors: vec![(result.name.clone(), found)] }])
    }
}
