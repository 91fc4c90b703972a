//! Conversion between every two formats, of generated tensors and of the files of `../shared/data/small`, where they are
//! beside the repository. A table of the report says how many were right for each pair.
//!
//! Some of the generated tensors and some of the files are taken, others every day; all of them, if a test is named. A file is converted
//! from every format to the first compressed one and back, as long as none takes more than `MANY` places; a few files with no more entries
//! than `FEW` go through all pairs. With `LACUNAR_PAIRS=all`, all go through all pairs, and more is stored.
//!
//! Conversions that passed before with the same sources are not run again; the table is made if all conversions were
//! run.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use lacunar_formats::{DType, Format};
use lacunar_runtime::coo::Coo;
use lacunar_runtime::io::{self, Data, IndexBase, ReadOptions};
use lacunar_runtime::{Buffer, Tensor};
use lacunar_testing::data;
use lacunar_testing::day::{chosen, is_turn, today};
use lacunar_testing::entries::repeating;
use lacunar_testing::pairs::conversions::{Pairs, convert};
use lacunar_testing::pairs::table::Table;
use lacunar_testing::pairs::{all_wanted, keep, of_order};
use lacunar_testing::passed::{Digest, Passed};
use lacunar_testing::suite::{are_named, arguments};
use libtest_mimic::{Failed, Trial};

/// The largest order of which there are tensors.
const ORDERS: usize = 4;
/// The most places of a file that is converted through all pairs, and of any other.
const FEW: u64 = 1 << 16;
/// One in so many of the tensors that are made is taken on a day.
const MADE_ONE_IN: u64 = 3;
/// One in so many files with few entries is converted through all pairs on a day.
const FILES_ONE_IN: u64 = 30;
/// One in so many files is taken on a day, and of those of at least `LARGE` bytes.
const SMALL_ONE_IN: u64 = 4;
const LARGE_ONE_IN: u64 = 24;
const LARGE: usize = 1 << 15;
const MANY: u64 = 1 << 21;
/// The same bound if all pairs are wanted.
const MOST: u64 = 1 << 24;

type Tables = Arc<[OnceLock<Table>; ORDERS]>;

fn main() -> ExitCode {
    let arguments = arguments();
    let tables: Tables = Arc::default();
    let passed = Arc::new(Passed::open(env!("CARGO_TARGET_TMPDIR"), "conversions"));
    let mut trials = generated(&tables, &passed);
    match files() {
        Some(files) => trials.extend(files.into_iter().filter_map(|path| file_trial(path, &tables, &passed))),
        None => eprintln!("SKIPPED: there are no files beside the repository (../shared/data/small)"),
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        println!("{passed}");
    }
    if let Err(error) = passed.keep() {
        println!("what passed cannot be kept: {error}");
    }
    if arguments.filter.is_some() || arguments.list || passed.spared() > 0 {
        return conclusion.exit_code();
    }
    let shown: Vec<&Table> = tables.iter().filter_map(OnceLock::get).collect();
    let report: String = shown.iter().map(|table| format!("{table}\n")).collect();
    if let Err(error) = keep(&report, env!("CARGO_TARGET_TMPDIR"), "conversions.txt") {
        println!("the table cannot be kept: {error}");
    }
    match shown.iter().find_map(|table| table.missing()) {
        Some(pair) => {
            println!("no conversion of a pair was right: {pair}");
            ExitCode::FAILURE
        }
        None => conclusion.exit_code(),
    }
}

/// The table of tensors of an order.
fn table(tables: &Tables, order: usize) -> Result<&Table, Failed> {
    let slot = order.checked_sub(1).and_then(|place| tables.get(place));
    let slot = slot.ok_or_else(|| Failed::from(format!("a tensor of order {order}")))?;
    Ok(slot.get_or_init(|| {
        let names: Vec<String> = of_order(order).into_iter().map(|named| named.name).collect();
        let title = format!("Conversions of tensors of order {order}, from the row's format to the column's");
        Table::new(title, names.clone(), names)
    }))
}

/// Tensors of different sizes, densities and types.
fn generated(tables: &Tables, passed: &Arc<Passed>) -> Vec<Trial> {
    let sizes: [&[u64]; 16] = [
        &[1],
        &[9],
        &[70],
        &[130],
        &[0, 3],
        &[4, 0],
        &[1, 1],
        &[1, 40],
        &[33, 1],
        &[12, 12],
        &[17, 70],
        &[64, 9],
        &[5, 4, 3],
        &[2, 13, 9],
        &[3, 2, 4, 5],
        &[1, 6, 1, 8],
    ];
    let types = [
        DType::F64,
        DType::F32,
        DType::I64,
        DType::U8,
        DType::C128,
        DType::Bool,
        DType::F16,
        DType::I16,
        DType::Pattern,
        DType::C64,
        DType::BF16,
    ];
    let mut trials = Vec::new();
    for (k, dims) in sizes.into_iter().enumerate() {
        for (d, density) in [0.0, 0.03, 0.2, 0.7, 1.0].into_iter().enumerate() {
            let (tables, dtype) = (tables.clone(), types[(3 * k + d) % types.len()]);
            let name = format!("generated/{dims:?}-{density}-{dtype}");
            if !are_named() && !is_turn(k + d, MADE_ONE_IN) {
                continue;
            }
            trials.push(once(&name, [&[], &[]], passed, move || {
                let seed = data::seed(&["conversions", &k.to_string(), &d.to_string()]);
                let entries = data::entries(seed, dims, dtype, density, true);
                let coo = if d % 2 == 1 { repeating(entries) } else { entries }.to_coo();
                let formats = of_order(dims.len());
                convert(&coo, &formats, Pairs::All, MANY, table(&tables, dims.len())?).map_err(Failed::from)
            }));
        }
    }
    trials
}

/// The files, in order.
fn files() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/small");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    Some(files)
}

/// A trial that is not run where it has passed before, on the same content and to the same extent.
fn once(
    name: &str,
    of: [&[u8]; 2],
    passed: &Arc<Passed>,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let (mut digest, passed) = (Digest::default(), passed.clone());
    of.into_iter().for_each(|bytes| digest.bytes(bytes));
    let key = write!(digest, "{name} {}", all_wanted()).map(|()| digest.finish());
    Trial::test(name, move || {
        if key.is_ok_and(|key| passed.knows(key)) {
            return Ok(());
        }
        run()?;
        key.into_iter().for_each(|key| passed.add(key));
        Ok(())
    })
}

/// The trial of a file, unless it is left to another day.
fn file_trial(path: PathBuf, tables: &Tables, passed: &Arc<Passed>) -> Option<Trial> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (tables, content) = (tables.clone(), std::fs::read(&path).unwrap_or_default());
    let one_in = if content.len() >= LARGE { LARGE_ONE_IN } else { SMALL_ONE_IN };
    if !are_named() && !all_wanted() && !chosen(&format!("taken {name}"), today(), one_in) {
        return None;
    }
    let is_chosen = chosen(&name, today(), FILES_ONE_IN);
    Some(once(&name.clone(), [&content, &[u8::from(is_chosen)]], passed, move || {
        // Matrices of unassembled elements are not read.
        if name.ends_with(".pse") {
            return match io::read(&path, &options(&name)) {
                Err(error) if error.to_string().contains("unassembled") => Ok(()),
                other => Err(Failed::from(format!("{:?}", other.map(|_| "was read")))),
            };
        }
        let coo = entries(&path, &name)?;
        let order = coo.dims.len();
        let formats = of_order(order);
        let center = formats.iter().position(|named| ["csr", "csf", "sparse"].contains(&named.name.as_str()));
        let few = coo.len() as u64 <= FEW / 16 && coo.dims.iter().all(|&size| size <= FEW / 16);
        let (pairs, most) = match center {
            _ if all_wanted() => (Pairs::All, MOST),
            Some(center) if !few => (Pairs::Around(center), MANY),
            Some(center) if !is_chosen => (Pairs::Around(center), FEW),
            _ => (Pairs::All, FEW),
        };
        convert(&coo, &formats, pairs, most, table(&tables, order)?).map_err(Failed::from)
    }))
}

fn options(name: &str) -> ReadOptions {
    let base = if name.contains("zeroidx") { IndexBase::Zero } else { IndexBase::One };
    ReadOptions { base, progress: false, ..ReadOptions::default() }
}

/// The entries of a file.
fn entries(path: &Path, name: &str) -> Result<Coo, Failed> {
    match io::read(path, &options(name)).map_err(|error| Failed::from(error.to_string()))? {
        Data::Coordinate(coo) => Ok(coo),
        Data::Dense(dense) => {
            let list = Format::coo(dense.dims.len());
            let tensor = Tensor::from_dense(dense.dims, Buffer::from_values(dense.values), &list);
            tensor.and_then(|tensor| tensor.to_coo()).map_err(|error| Failed::from(error.to_string()))
        }
    }
}
