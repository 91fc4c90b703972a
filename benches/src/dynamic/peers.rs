//! PAM, CPAM and Aspen, on one thread without their schedulers, on several with them: headers alone, from folders that variables of the
//! environment name; without them they are left out.
//!
//! | peer | variable | its folder has | besides |
//! |---|---|---|---|
//! | PAM | `LACUNAR_PAM` | `include/pam/pam.h` | `LACUNAR_PARLAY`, with `include/parlay/primitives.h` |
//! | CPAM | `LACUNAR_CPAM` | `include/cpam/cpam.h` | the same |
//! | Aspen | `LACUNAR_ASPEN` | `code/graph/api.h` | |

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::peers::program::{Peer, Program, compile};

/// The programs that could be built.
#[derive(Default)]
pub struct Peers {
    programs: Vec<(&'static str, Program)>,
    threads: usize,
}

/// Flags of all.
const FLAGS: [&str; 5] = ["-std=c++17", "-mcx16", "-pthread", "-DNDEBUG", "-DUSEMALLOC"];

impl Peers {
    /// Builds them for a number of threads, and says which are left out.
    pub fn build(folder: &Path, threads: usize) -> Peers {
        let mut peers = Peers { threads, ..Peers::default() };
        for (name, source, includes, flags) in [
            ("pam", "dynamic_maps.cpp", [("LACUNAR_PAM", "include"), ("LACUNAR_PARLAY", "include")], "-DPAM"),
            ("cpam", "dynamic_maps.cpp", [("LACUNAR_CPAM", "include"), ("LACUNAR_PARLAY", "include")], "-DCPAM"),
            ("aspen", "dynamic_aspen.cpp", [("LACUNAR_ASPEN", "code"), ("LACUNAR_ASPEN", "code")], "-DEDGELONG"),
        ] {
            match build(&folder.join(name), source, &includes, flags, threads) {
                Ok(mut program) => {
                    for variable in ["PARLAY_NUM_THREADS", "NUM_THREADS"] {
                        program.environment.push((variable, threads.to_string().into()));
                    }
                    peers.programs.push((name, program));
                }
                Err(error) => println!("{name} is left out: {error:#}"),
            }
        }
        peers
    }

    /// Starts all on a file of entries.
    pub fn start(&self, entries: &Path) -> Result<Vec<(&'static str, Peer)>> {
        let start = |(name, program): &(&'static str, Program)| {
            Ok((*name, Peer::start(name, program, entries, name, self.threads)?))
        };
        self.programs.iter().map(start).collect()
    }
}

/// Builds one program.
fn build(program: &Path, source: &str, includes: &[(&str, &str)], flag: &str, threads: usize) -> Result<Program> {
    let mut flags: Vec<String> = FLAGS.map(str::to_string).into();
    let scheduler = if threads == 1 { "-DPARLAY_SEQUENTIAL" } else { "-DHOMEGROWN" };
    flags.extend([flag.to_string(), scheduler.to_string()]);
    for (variable, below) in includes {
        let root = env::var_os(variable).filter(|root| !root.is_empty());
        let root = root.with_context(|| format!("the environment variable {variable} does not name its folder"))?;
        flags.push(format!("-I{}", PathBuf::from(root).join(below).display()));
    }
    compile("c++", source, &flags, program)?;
    Ok(Program::new(program))
}
