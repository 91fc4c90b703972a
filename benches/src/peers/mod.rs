//! Other engines, each in a process of its own that answers one request at a time (`peers/peer.h`).
//!
//! oneMKL, Eigen, SuiteSparse:GraphBLAS and librsb are libraries, for which there are programs of ours; SciPy is used by a
//! script; taco is a command, which is asked for code. All are compiled with `-O3 -march=native` and run on huge pages.
//! [`places`] says where they are looked for. Kernels written by hand (`floor/`) are started in the same way, but are no peers.

mod places;
pub mod program;
pub mod room;
pub mod taco;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::case::Case;
use crate::engine::Engine;
use crate::peers::places::{Python, include, library};
use crate::peers::program::{Peer, Program, compile, sources};
use crate::peers::room::Room;
use crate::record::FLOOR;
use crate::wire;

/// The folders below a root in which libraries lie.
const LIBRARIES: [&str; 6] =
    ["lib", "lib/intel64", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "suitesparse_graphblas.libs"];

/// The peers that are there.
#[derive(Default)]
pub struct Peers {
    /// By the name they have in definitions.
    programs: BTreeMap<&'static str, Program>,
    /// Kernels written by hand.
    floor: Option<Program>,
    /// Their variants that could not be started, which are reported once.
    missing: RefCell<BTreeSet<String>>,
    taco: Option<String>,
    folder: PathBuf,
    /// taco's programs by kernel and variant; the reason where there is none.
    taco_programs: RefCell<BTreeMap<(String, bool), Result<Program, String>>>,
}

impl Peers {
    /// No peers, with a folder for programs and tensors.
    pub fn none(folder: &Path) -> Peers {
        Peers { folder: folder.to_path_buf(), ..Peers::default() }
    }

    /// Looks for peers and builds their programs. `say` is told which are left out, and why.
    pub fn find(&mut self, mut say: impl FnMut(&str)) {
        let python = Python::find();
        let folder = self.folder.as_path();
        let found = [
            ("eigen", eigen(&python, folder)),
            ("graphblas", graphblas(&python, folder)),
            ("librsb", librsb(&python, folder)),
            ("mkl", mkl(&python, folder)),
            ("scipy", scipy(&python)),
        ];
        for (name, program) in found {
            match program {
                Ok(program) => {
                    self.programs.insert(name, program);
                }
                Err(error) => say(&format!("{name} is left out: {error:#}")),
            }
        }
        self.taco = taco::command();
        if self.taco.is_none() {
            say("taco is left out: the environment variable TACO does not name its command");
        }
    }

    /// Builds the kernels written by hand.
    pub fn build_floor(&mut self) -> Result<()> {
        let program = self.folder.join(FLOOR);
        compile("c++", "../floor/floor.cpp", &["-std=c++20".to_string()], &program)?;
        self.floor = Some(Program::new(&program));
        Ok(())
    }

    /// The number of programs of peers for a case.
    fn variants(&self, case: &Case) -> usize {
        let definition = case.definition;
        let of_peers = self.programs.keys().filter_map(|name| definition.peers.get(*name)).map(Vec::len).sum::<usize>();
        let of_taco =
            self.taco.iter().flat_map(|_| &definition.taco).map(|how| 1 + usize::from(!how.schedule.is_empty()));
        of_peers + of_taco.sum::<usize>()
    }

    /// The number of variants written by hand for a case.
    fn floor_variants(&self, case: &Case) -> usize {
        self.floor.iter().map(|_| case.definition.floor.len()).sum()
    }

    /// Starts every variant of every peer that has the kernel, and every kernel written by hand, as far as there is room.
    pub fn start(&self, case: &Case, tensors: &Path, threads: usize, room: &Room) -> Vec<Result<Box<dyn Engine>>> {
        let start = |engine: &str, program: &Program, kernel: &str| -> Result<Box<dyn Engine>> {
            let peer = Peer::start(engine, program, tensors, kernel, threads);
            Ok(Box::new(peer.with_context(|| format!("{engine} {kernel}"))?))
        };
        let mut engines = Vec::new();
        if !room.for_peers {
            return engines;
        }
        for (name, program) in &self.programs {
            for kernel in case.definition.peers.get(*name).into_iter().flatten() {
                engines.push(start(name, program, kernel));
            }
        }
        if let Some(program) = self.floor.as_ref().filter(|_| room.for_floor) {
            for kernel in case.definition.floor.iter().filter(|kernel| !self.missing.borrow().contains(*kernel)) {
                let engine = start(FLOOR, program, kernel);
                if engine.is_err() {
                    self.missing.borrow_mut().insert(kernel.clone());
                }
                engines.push(engine);
            }
        }
        let Some(how) = self.taco.as_ref().and(case.definition.taco.as_ref()) else { return engines };
        let variants: &[bool] = if how.schedule.is_empty() { &[false] } else { &[false, true] };
        for &scheduled in variants {
            let kernel = format!("{}{}", case.definition.name, if scheduled { ":scheduled" } else { "" });
            let program = self.taco_program(case, scheduled).map_err(|error| anyhow!("taco {kernel}: {error}"));
            engines.push(program.and_then(|program| start("taco", &program, &kernel)));
        }
        engines
    }

    /// taco's program for a kernel, made when it is first asked for.
    fn taco_program(&self, case: &Case, scheduled: bool) -> Result<Program, String> {
        let (Some(taco), Some(how)) = (&self.taco, &case.definition.taco) else { return Err("not there".to_string()) };
        let name = &case.definition.name;
        let mut programs = self.taco_programs.borrow_mut();
        let made = programs.entry((name.clone(), scheduled)).or_insert_with(|| {
            let program = self.folder.join(format!("taco-{name}-{}", u8::from(scheduled)));
            taco::build(taco, how, scheduled, case, &program).map_err(|error| format!("{error:#}"))
        });
        made.clone()
    }

    /// Writes the tensors of a case where its peers can read them; nothing where it has none.
    pub fn write_tensors(&self, case: &Case) -> Result<PathBuf> {
        let path = self.folder.join("tensors");
        let has_peer = self.programs.keys().any(|name| case.definition.peers.contains_key(*name));
        let has_floor = self.floor.is_some() && !case.definition.floor.is_empty();
        if has_peer || has_floor || (self.taco.is_some() && case.definition.taco.is_some()) {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
            wire::write(&mut out, (&case.result_dims, &case.result_format), &case.inputs)?;
            out.flush()?;
        }
        Ok(path)
    }
}

fn eigen(python: &Python, folder: &Path) -> Result<Program> {
    let header = "Eigen/SparseCore";
    let place = include("EIGEN_ROOT", python, &["include/eigen3", "include", "."], header).context("no header")?;
    let program = folder.join("eigen");
    compile("c++", "eigen.cpp", &[format!("-I{}", place.display()), "-DNDEBUG".to_string()], &program)?;
    Ok(Program::new(&program))
}

fn mkl(python: &Python, folder: &Path) -> Result<Program> {
    let place = include("MKLROOT", python, &["include", "include/mkl"], "mkl_spblas.h").context("no header")?;
    let library = library("MKLROOT", python, &LIBRARIES, "libmkl_rt").context("no library")?;
    let program = folder.join("mkl");
    let mut flags = linked(&library);
    flags.push(format!("-I{}", place.display()));
    compile("cc", "mkl.c", &flags, &program)?;
    Ok(beside(&library, Program::new(&program)))
}

fn graphblas(python: &Python, folder: &Path) -> Result<Program> {
    let library = library("GRAPHBLAS_ROOT", python, &LIBRARIES, "libgraphblas").context("no library")?;
    let program = folder.join("graphblas");
    compile("cc", "graphblas.c", &linked(&library), &program)?;
    let mut program = Program::new(&program);
    // The library may compile kernels as it runs; it keeps them here instead of in the user's home.
    program.environment.push(("GRAPHBLAS_CACHE_PATH", folder.join("graphblas-cache").into()));
    Ok(program)
}

fn librsb(python: &Python, folder: &Path) -> Result<Program> {
    let place = include("LIBRSB_ROOT", python, &["include"], "rsb.h").context("no header")?;
    let library = library("LIBRSB_ROOT", python, &LIBRARIES, "librsb").context("no library")?;
    let program = folder.join("librsb");
    let mut flags = linked(&library);
    flags.push(format!("-I{}", place.display()));
    compile("cc", "librsb.c", &flags, &program)?;
    Ok(Program::new(&program))
}

fn scipy(python: &Python) -> Result<Program> {
    if !python.has("scipy.sparse") {
        return Err(anyhow!("`{}` has no module scipy (PYTHON names another interpreter)", python.command));
    }
    let command: Vec<OsString> = vec![python.command.clone().into(), sources().join("scipy_peer.py").into()];
    Ok(Program { command, environment: vec![("NUMPY_MADVISE_HUGEPAGE", "1".into())] })
}

/// Links a library by its path, and finds it there again.
fn linked(library: &Path) -> Vec<String> {
    let folder = library.parent().unwrap_or(Path::new(".")).display().to_string();
    vec![library.display().to_string(), format!("-Wl,-rpath,{folder}")]
}

/// Lets a program's libraries load others from their own folder.
fn beside(library: &Path, mut program: Program) -> Program {
    let mut folders: Vec<PathBuf> = library.parent().map(Path::to_path_buf).into_iter().collect();
    folders.extend(env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths));
    if let Ok(joined) = env::join_paths(folders) {
        program.environment.push(("LD_LIBRARY_PATH", joined));
    }
    program
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::data::Source;
    use crate::definition::{Definition, KERNELS};
    use crate::lacunar_engine::LacunarEngine;

    /// A square matrix whose rows have from 0 to 39 entries, its file.
    fn uneven(folder: &Path) -> PathBuf {
        let size = 301;
        let row = |row: usize| (0..row * 7 % 40).map(move |k| (row, (row * 13 + k * 11) % size, k + 1));
        let entries: Vec<(usize, usize, usize)> = (0..size).flat_map(row).collect();
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n{size} {size} {}\n", entries.len());
        for (row, column, value) in entries {
            text += &format!("{} {} {value}\n", row + 1, column + 1);
        }
        let path = folder.join("uneven.mtx");
        std::fs::write(&path, text).expect("written");
        path
    }

    #[test]
    fn kernels_written_by_hand_agree() {
        let folder = tempfile::tempdir().unwrap();
        let mut peers = Peers::none(folder.path());
        if std::process::Command::new("c++").arg("--version").output().is_err() {
            println!("SKIPPED: there is no C++ compiler");
            return;
        }
        peers.build_floor().unwrap();
        let source = Source::File(uneven(folder.path()));
        let entries = source.read().unwrap();
        let mut agreed = 0;
        for definition in
            Definition::read_all(KERNELS).unwrap().iter().filter(|definition| !definition.floor.is_empty())
        {
            let case = Case::new(definition, &source, &entries).unwrap().unwrap();
            let tensors = peers.write_tensors(&case).unwrap();
            let expected = LacunarEngine::new(&case, lacunar::Backend::Interpreter, 1).unwrap().check().unwrap();
            for threads in [1, 2] {
                for engine in peers.start(&case, &tensors, threads, &Room::of(&case, expected.values, &peers)) {
                    // A processor may lack the instructions of a variant, but not of all.
                    let Ok(mut engine) = engine else { continue };
                    for _ in 0..2 {
                        let check = engine.check().unwrap();
                        assert!(
                            check.agrees(&expected),
                            "{} {}: {check:?} {expected:?}",
                            definition.name,
                            engine.name()
                        );
                        assert_eq!(check.values, expected.values, "{} {}", definition.name, engine.name());
                    }
                    agreed += 1;
                }
            }
        }
        assert!(agreed > 40, "{agreed}");
    }
}
