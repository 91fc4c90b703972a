//! Shows machine code by name to other programs: the profiler perf, and the debugger gdb.
//!
//! Code in the process belongs to no file in which these could look symbols up. perf reads `/tmp/perf-PID.map` when it reports,
//! a line for each function; gdb is told of an object in memory by its JIT interface ([`gdb`]). The addresses of the functions
//! follow from the linked object, made now or kept by an earlier process, and from the address of its entry. Linux only.
//!
//! ```text
//! LACUNAR_PERF=1     7f21c0a53000 1a4 lacunar::compute y(i)=A(i,j)*x(j)
//!                    7f21c0a531b0 2f0 lacunar::compute y(i)=A(i,j)*x(j) [parallel]
//! LACUNAR_GDB=1      the same functions, as symbols
//! ```

mod elf;
mod gdb;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A function of loaded code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Visible {
    name: String,
    address: u64,
    bytes: u64,
}

/// Keeps the code visible while it lives.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    _registered: Option<gdb::Registered>,
}

/// Shows the functions of a linked object under a name, to the programs that the environment asks for; `symbol` names its entry.
pub(crate) fn show(object: &[u8], symbol: &str, entry: u64, name: &str) -> Shown {
    let asked = |variable: &str| std::env::var_os(variable).is_some_and(|value| value == "1");
    let (perf, gdb) = (asked("LACUNAR_PERF"), asked("LACUNAR_GDB"));
    if !(perf || gdb) {
        return Shown::default();
    }
    let functions = functions(object, symbol, entry, name);
    if perf {
        // Code runs without its name as well.
        let _ = tell_perf(&functions);
    }
    Shown { _registered: gdb.then(|| elf::symbols(object, &functions)).flatten().map(gdb::Registered::new) }
}

/// The functions in the section of an object's entry: their distance from the entry is the same in memory as in the object.
fn functions(object: &[u8], symbol: &str, entry: u64, name: &str) -> Vec<Visible> {
    let all = elf::functions(object).unwrap_or_default();
    let Some(own) = all.iter().find(|function| function.name == symbol) else { return Vec::new() };
    let beside = all.iter().filter(|function| function.section == own.section);
    beside
        .map(|function| {
            let part = function.name.strip_prefix(symbol).unwrap_or(&function.name).trim_start_matches('.');
            let name = if part.is_empty() { name.to_string() } else { format!("{name} [{part}]") };
            let address = entry.wrapping_sub(own.offset).wrapping_add(function.offset);
            Visible { name, address, bytes: function.bytes }
        })
        .collect()
}

/// Appends lines to the file that perf reads. Other compilers in the process may write to it, too.
fn tell_perf(functions: &[Visible]) -> io::Result<()> {
    static FILE: OnceLock<Mutex<Option<File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| Mutex::new(perf_map().ok()));
    let lines: String =
        functions.iter().map(|Visible { name, address, bytes }| format!("{address:x} {bytes:x} {name}\n")).collect();
    match file.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(file) => file.write_all(lines.as_bytes()),
        None => Ok(()),
    }
}

/// The file of this process. Other users can put links into its folder, so no link is followed.
fn perf_map() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o644).custom_flags(libc::O_NOFOLLOW);
    options.open(format!("/tmp/perf-{}.map", std::process::id()))
}
