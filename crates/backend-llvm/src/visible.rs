//! Machine code that other programs see by name: the profiler perf, and the debugger gdb.
//!
//! Code in the process belongs to no file in which these could look symbols up. perf reads `/tmp/perf-PID.map` when it reports,
//! a line for each function; gdb is told of an object in memory by its JIT interface ([`gdb`]). Where the functions are follows
//! from the object that was linked, whether it was made now or kept by an earlier process, and from where its entry is. Linux only.
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

/// What lasts as long as the code is seen.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    _registered: Option<gdb::Registered>,
}

/// Shows the functions of a linked object under a name, to whom the environment asks for; `symbol` is that of its entry.
pub(crate) fn show(object: &[u8], symbol: &str, entry: u64, name: &str) -> Shown {
    let asked = |variable: &str| std::env::var_os(variable).is_some_and(|value| value == "1");
    let (perf, gdb) = (asked("LACUNAR_PERF"), asked("LACUNAR_GDB"));
    if !(perf || gdb) {
        return Shown::default();
    }
    let functions = functions(object, symbol, entry, name);
    if perf {
        // Code runs as well without its name.
        let _ = tell_perf(&functions);
    }
    Shown { _registered: gdb.then(|| elf::symbols(object, &functions)).flatten().map(gdb::Registered::new) }
}

/// The functions of an object that are in its entry's section, and so as far from it in memory as in the object.
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

/// Appends lines to the file that perf reads: other compilers in the process may write to it, too.
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

/// The file of this process, in a folder where others can put links.
fn perf_map() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o644).custom_flags(libc::O_NOFOLLOW);
    options.open(format!("/tmp/perf-{}.map", std::process::id()))
}
