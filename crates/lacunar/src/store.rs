//! The findings of tuning, on disk: the schedule that won for a program on data of a class.
//!
//! A file `tuned/HASH.json` in the cache folder holds one [`Entry`]; `HASH` is that of its [`Key`], which stands in the file
//! again and is compared. The key is the program with its formats and types, the options and the processor that it is
//! compiled for, and the *class* of its data: sizes and numbers of values by their order of magnitude, the share of the
//! heaviest row by powers of 4.
//!
//! ```text
//! 12,345 x 20,000, 80,000 values, 300 in the heaviest row  ->  10,000 x 10,000, 10,000, less than 1 in 64
//! 12,345 x 32                                              ->  10,000 x 32: kernels are made for small sizes
//! ```
//!
//! A file is written beside its place and renamed, so that processes see it whole or not at all, and the last one wins.
//! A file that can't be read, or says something else, is left alone: a note tells of it, and the planner chooses.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use lacunar_compiler::plan::Search;
use lacunar_notation::{Program, Role, Tensor};
use lacunar_runtime::io::{self, IoError};
use lacunar_runtime::pool;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::compile::{Backend, Choice, check_schedule};
use crate::error::Error;
use crate::options::Options;

/// The longest file that is read: none that was written here comes near.
const LONGEST: u64 = 1 << 20;
/// Up to this size kernels are made for the size itself.
const SMALL: u64 = 128;

/// The record that is stored for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub key: Key,
    /// The winner of each statement; none where that is the planner's choice.
    pub statements: Vec<Option<Winner>>,
    /// Median seconds of a run with the winners, and with the planner's choices.
    pub seconds: f64,
    pub planner_seconds: f64,
}

/// A schedule, as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Winner {
    /// True if the planner chooses everything that the commands leave open; else nobody does.
    pub planned: bool,
    pub schedule: String,
}

/// The circumstances for which a schedule was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Key {
    version: String,
    cpu: String,
    backend: String,
    threads: usize,
    strict: bool,
    specialize: bool,
    machine: String,
    grain: Option<u64>,
    phase: String,
    statements: Vec<String>,
    tensors: Vec<Class>,
}

/// A tensor, and the class of its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Class {
    name: String,
    format: String,
    dtype: String,
    fill: String,
    sizes: Vec<Option<u64>>,
    values: Option<u64>,
    /// The ratio of all values to those of the heaviest row, as a power of 4, at most the third.
    balance: Option<u32>,
}

/// The choices of tuning for a program's statements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuned {
    /// The schedule of each statement that has one.
    pub choices: Vec<Option<Choice>>,
    /// The origin of the choices, for people.
    pub notes: Vec<String>,
}

impl Tuned {
    fn ignored(path: &Path, why: &dyn std::fmt::Display) -> Tuned {
        let note = format!("what tuning stored in {} is ignored: {why}", path.display());
        Tuned { choices: Vec::new(), notes: vec![note] }
    }
}

/// The stored choices for a program with these options; none if its data are not known, or it was never tuned.
pub(crate) fn find(program: &Program, options: &Options) -> Tuned {
    let (Some(key), Some(folder)) = (key(program, options), folder(options)) else { return Tuned::default() };
    let path = file(&folder, &key);
    let entry = match read(&path, &key) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Tuned::default(),
        Err(why) => return Tuned::ignored(&path, &why),
    };
    match choices(program, &entry) {
        Ok(choices) => Tuned { choices, notes: vec![note(&entry)] },
        Err(why) => Tuned::ignored(&path, &why),
    }
}

/// Stores an entry; the file that holds it.
///
/// # Errors
/// There is no folder for it, or it can't be written.
pub(crate) fn save(entry: &Entry, options: &Options) -> Result<PathBuf, Error> {
    let folder = folder(options).ok_or_else(|| {
        Error::Argument("there is no folder for caches here; name one with the variable LACUNAR_CACHE".to_string())
    })?;
    let path = file(&folder, &entry.key);
    let failed = |source: std::io::Error| Error::Io(IoError::Write { file: path.clone(), source });
    let text = serde_json::to_string_pretty(entry).map_err(|error| failed(error.into()))?;
    std::fs::create_dir_all(path.parent().unwrap_or(&folder)).map_err(failed)?;
    io::replace(&path, text.as_bytes()).map_err(failed)?;
    Ok(path)
}

/// The key of a program; none if its data are not known.
pub(crate) fn key(program: &Program, options: &Options) -> Option<Key> {
    let known = |tensor: &Tensor| tensor.role != Role::Input || tensor.nnz.is_some();
    let all_known = program.tensors.iter().all(|(_, tensor)| known(tensor));
    let operators = program.operators.iter().map(|operator| operator.declaration().text.clone());
    let statements = program.statements.iter().map(|statement| program.statement_text(statement));
    all_known.then(|| Key {
        version: env!("CARGO_PKG_VERSION").to_string(),
        cpu: match options.backend {
            Backend::Llvm => processor(),
            Backend::C | Backend::Interpreter => std::env::consts::ARCH.to_string(),
        },
        backend: options.backend.name().to_string(),
        threads: options.threads.unwrap_or_else(pool::threads),
        strict: options.strict,
        specialize: options.specialize,
        machine: options.machine.clone().unwrap_or_default(),
        grain: options.grain,
        phase: format!("{:?}", options.phase),
        statements: operators.chain(statements).collect(),
        tensors: program.tensors.iter().map(|(_, tensor)| class(tensor)).collect(),
    })
}

fn class(tensor: &Tensor) -> Class {
    let balance = |(values, heaviest): (u64, u64)| (values / heaviest.max(1)).checked_ilog2().map_or(0, |log| log / 2);
    Class {
        name: tensor.name.clone(),
        format: tensor.format.to_string(),
        dtype: tensor.dtype.to_string(),
        fill: tensor.fill().to_string(),
        sizes: tensor.dims.iter().map(|size| size.map(|size| if size > SMALL { decade(size) } else { size })).collect(),
        values: tensor.nnz.map(decade),
        balance: tensor.nnz.zip(tensor.heaviest).map(|pair| balance(pair).min(3)),
    }
}

/// The largest power of 10 that is not above a number.
fn decade(number: u64) -> u64 {
    number.checked_ilog10().map_or(0, |log| 10u64.pow(log))
}

/// The processor and its features, as far as the build can tell.
pub(crate) fn processor() -> String {
    #[cfg(feature = "llvm")]
    if let Ok(processor) = lacunar_backend_llvm::processor() {
        return processor;
    }
    std::env::consts::ARCH.to_string()
}

/// The folder of the cache.
pub(crate) fn folder(options: &Options) -> Option<PathBuf> {
    let named = || std::env::var_os("LACUNAR_CACHE").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    options.cache.clone().or_else(named).or_else(|| Some(dirs::cache_dir()?.join("lacunar")))
}

fn file(folder: &Path, key: &Key) -> PathBuf {
    let mut hasher = FxHasher::default();
    hasher.write(format!("{key:?}").as_bytes());
    folder.join("tuned").join(format!("{:016x}.json", hasher.finish()))
}

/// The entry in a file; none where there is no file, or it is of another key.
fn read(path: &Path, key: &Key) -> Result<Option<Entry>, String> {
    let info = match std::fs::metadata(path) {
        Ok(info) => info,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !info.is_file() || info.len() > LONGEST {
        return Err("it is no file that tuning wrote".to_string());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let entry: Entry = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(Some(entry).filter(|entry| entry.key == *key))
}

/// The schedules of an entry, read.
fn choices(program: &Program, entry: &Entry) -> Result<Vec<Option<Choice>>, String> {
    let read = |(number, winner): (usize, &Option<Winner>)| -> Result<Option<Choice>, String> {
        let Some(winner) = winner else { return Ok(None) };
        let search = if winner.planned { Search::Cost } else { Search::Plain };
        let read = check_schedule(&winner.schedule, program);
        let schedules = read.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        Ok(schedules.into_iter().nth(number).map(|schedule| Choice { search, schedule }))
    };
    entry.statements.iter().enumerate().map(read).collect()
}

fn note(entry: &Entry) -> String {
    let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
    let (tuned, planned) = (ms(entry.seconds), ms(entry.planner_seconds));
    match entry.statements.iter().any(Option::is_some) {
        true => format!("schedule from tuning on data of this class: {tuned}, the planner's choice {planned}"),
        false => format!("the planner's choice won when this was tuned on data of this class: {planned}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Entry, Winner, class, decade, file, find, key, save};
    use crate::{Format, Kernel, Options, Tensor};

    const SPMV: &str = "y(i) = A(i,j) * x(j)";

    /// Options for a matrix with a diagonal of `size` values.
    fn options(size: u64, folder: &std::path::Path) -> Options {
        let entries: Vec<([u64; 2], f64)> = (0..size).map(|at| ([at, at], 1.0)).collect();
        let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
        let a = Tensor::from_entries(&[size, size], &entries, Format::csr()).unwrap();
        let x = Tensor::<f64>::zeros(&[size], Format::dense(1)).unwrap();
        Options::new().tensor("A", a.as_dyn()).tensor("x", x.as_dyn()).cache(folder)
    }

    fn stored(options: &Options, statements: Vec<Option<Winner>>) -> Entry {
        let kernel = Kernel::compile(SPMV, options).unwrap();
        let key = key(kernel.program(), options).unwrap();
        Entry { key, statements, seconds: 1e-3, planner_seconds: 2e-3 }
    }

    fn explained(options: &Options) -> (String, String) {
        let kernel = Kernel::compile(SPMV, options).unwrap();
        (kernel.schedule().to_string(), kernel.explain().join("\n"))
    }

    #[test]
    fn a_stored_schedule_is_taken_for_data_of_its_class() {
        let folder = tempfile::tempdir().unwrap();
        let three_hundred = options(300, folder.path());
        let planned = explained(&three_hundred).0;
        let winner = Winner { planned: true, schedule: "reorder(i, j), unroll(j, 4)".to_string() };
        let path = save(&stored(&three_hundred, vec![Some(winner.clone())]), &three_hundred).unwrap();
        assert!(path.starts_with(folder.path()));
        for same in [300, 700] {
            let (schedule, notes) = explained(&options(same, folder.path()));
            assert_eq!(schedule, winner.schedule);
            assert!(notes.contains("from tuning on data of this class: 1.000 ms, the planner's choice 2.000 ms"));
        }
        let others = [
            options(2000, folder.path()),
            options(300, folder.path()).tuned(false),
            Options { strict: true, ..options(300, folder.path()) },
            options(300, folder.path()).threads(77),
            options(300, folder.path()).schedule(planned.as_str()),
        ];
        for other in others {
            assert!(!explained(&other).1.contains("tuning"), "{other:?}");
        }
        // If the planner won, it chooses.
        save(&stored(&three_hundred, vec![None]), &three_hundred).unwrap();
        let (schedule, notes) = explained(&three_hundred);
        assert!(schedule == planned && notes.contains("the planner's choice won"), "{schedule}\n{notes}");
    }

    #[test]
    fn what_is_broken_is_ignored_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(300, folder.path());
        let (planned, _) = explained(&options);
        let entry = |text: &str| stored(&options, vec![Some(Winner { planned: true, schedule: text.to_string() })]);
        let path = save(&entry("unroll(j, 2)"), &options).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let broken = [
            String::new(),
            whole[..whole.len() / 2].to_string(),
            "[1, 2]".to_string(),
            whole.replace("unroll(j, 2)", "unroll(q, 2)"),
            whole.replace("unroll(j, 2)", "parallelize(i, cpu), parallelize(j, cpu)"),
        ];
        for text in broken {
            std::fs::write(&path, &text).unwrap();
            let (schedule, notes) = explained(&options);
            assert!(schedule == planned && (notes.contains("ignored") || notes.contains("refused")), "{text}\n{notes}");
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(explained(&options).1.contains("ignored"));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(explained(&options).1.contains("ignored"));
        assert!(save(&entry("unroll(j, 2)"), &options).is_err());
    }

    #[test]
    fn another_key_with_the_same_hash_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(300, folder.path());
        let mut entry = stored(&options, vec![None]);
        let path = file(folder.path(), &entry.key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        entry.key.threads += 1;
        std::fs::write(&path, serde_json::to_string(&entry).unwrap()).unwrap();
        let kernel = Kernel::compile(SPMV, &options).unwrap();
        assert!(find(kernel.program(), &options).notes.is_empty());
    }

    #[test]
    fn classes_are_orders_of_magnitude() {
        assert_eq!([decade(0), decade(1), decade(9), decade(10), decade(u64::MAX)], [0, 1, 1, 10, 10u64.pow(19)]);
        let folder = tempfile::tempdir().unwrap();
        let kernel = Kernel::compile(SPMV, &options(100, folder.path())).unwrap();
        let found = kernel.program().tensors.iter().map(|(_, tensor)| class(tensor)).find(|class| class.name == "A");
        let found = found.unwrap();
        assert_eq!((found.sizes, found.values, found.balance), (vec![Some(100), Some(100)], Some(100), Some(3)));
    }
}
