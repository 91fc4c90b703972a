//! Linking of ELF objects on x86-64: sections are copied into memory of their own, and relocated there.
//!
//! ```text
//! pages that are run      .text, then a jump for each function of the process that is called
//! pages that are read     .rodata, .data.rel.ro, then the addresses that code loads (a global offset table)
//! pages that are written  .data, .bss
//! ```
//!
//! A call has a distance of 32 bits, and functions of the process may be farther away: so jumps and the table stand beside the code.
//! The code throws no exceptions: tables for unwinding are left out.
//!
//! Source: *System V Application Binary Interface, AMD64 Architecture Processor Supplement*, §4.4 (relocation types).
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::ptr;

use object::elf::{
    R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PC64, R_X86_64_PLT32,
    R_X86_64_REX_GOTPCRELX, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE,
};
use object::{
    File, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex,
};

use lacunar_formats::External;

use crate::LlvmError;

/// The bytes of a page, for which access is granted.
const PAGE: usize = 4096;
/// The most bytes of a linked object: calls and data are in reach of each other.
const MOST: usize = 1 << 30;
/// `jmp *2(%rip)`, two bytes of nothing, and the address.
const JUMP: [u8; 8] = [0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x90, 0x90];
/// The bytes of a jump with its address, and of an address in the table.
const JUMP_BYTES: usize = 16;
const ADDRESS_BYTES: usize = 8;

/// An object in memory.
#[derive(Debug)]
pub(crate) struct Linked {
    memory: Memory,
    /// The places of its symbols.
    symbols: HashMap<String, usize>,
}

/// Memory of the process, from the system.
#[derive(Debug)]
struct Memory {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is owned, and written to before the value is shared only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Linked {
    /// Links an object.
    pub(crate) fn new(object: &[u8]) -> Result<Linked, LlvmError> {
        let file = File::parse(object).map_err(|error| fault(&error.to_string()))?;
        let mut layout = Layout::of(&file)?;
        let memory = Memory::new(layout.bytes)?;
        for section in file.sections() {
            let Some(&place) = layout.sections.get(&section.index()) else { continue };
            let data = section.data().map_err(|error| fault(&error.to_string()))?;
            memory.write(place, data)?;
            for (offset, relocation) in section.relocations() {
                let at = usize::try_from(offset).ok().and_then(|offset| place.checked_add(offset));
                let at = at.ok_or_else(|| fault("a relocation outside of its section"))?;
                layout.relocate(&file, &memory, at, &relocation)?;
            }
        }
        memory.protect(0, layout.run, libc::PROT_READ | libc::PROT_EXEC)?;
        memory.protect(layout.run, layout.read, libc::PROT_READ)?;
        let mut symbols = HashMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
            if let (Ok(name), Some(place)) = (symbol.name(), layout.place(&symbol)) {
                symbols.insert(name.to_string(), place);
            }
        }
        Ok(Linked { memory, symbols })
    }

    /// The address of a symbol of the object.
    pub(crate) fn address(&self, symbol: &CStr) -> Result<usize, LlvmError> {
        let place = self.symbols.get(&*symbol.to_string_lossy());
        let place = place.ok_or_else(|| fault(&format!("the object has no `{}`", symbol.to_string_lossy())))?;
        Ok(self.memory.address(*place))
    }
}

/// The places of an object's parts in memory, as distances from its beginning.
struct Layout {
    sections: HashMap<SectionIndex, usize>,
    /// The end of the pages that are run, and of those that are read.
    run: usize,
    read: usize,
    bytes: usize,
    /// The places for jumps, and for addresses, that are not taken yet.
    next_jump: usize,
    next_address: usize,
    jumps: HashMap<SymbolIndex, usize>,
    addresses: HashMap<SymbolIndex, usize>,
}

impl Layout {
    fn of(file: &File<'_>) -> Result<Layout, LlvmError> {
        let loaded = |flags: u64| flags & u64::from(SHF_ALLOC) != 0;
        let mut kinds: [Vec<(SectionIndex, u64, u64)>; 3] = Default::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags: flags } = section.flags() else {
                return Err(fault("it is no ELF object"));
            };
            if loaded(flags) && section.name() != Ok(".eh_frame") {
                let is_constant = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
                let kind = match () {
                    () if flags & u64::from(SHF_EXECINSTR) != 0 => 0,
                    () if flags & u64::from(SHF_WRITE) != 0 && !is_constant => 2,
                    () => 1,
                };
                kinds[kind].push((section.index(), section.size(), section.align()));
            }
        }
        let symbols = file.symbols().count();
        let mut sections = HashMap::new();
        let mut end = 0usize;
        let mut ends = [0; 3];
        let mut spare = [0; 3];
        for (kind, own) in kinds.iter().enumerate() {
            for &(index, size, align) in own {
                let (size, align) = (usize::try_from(size).unwrap_or(MOST), align.max(1));
                let align = usize::try_from(align).ok().filter(|align| align.is_power_of_two() && *align <= PAGE);
                let place = end.next_multiple_of(align.ok_or_else(|| fault("an alignment beyond a page"))?);
                sections.insert(index, place);
                end = place.saturating_add(size);
                if end > MOST {
                    return Err(LlvmError::Load("the code is too large".to_string()));
                }
            }
            spare[kind] = end.next_multiple_of(JUMP_BYTES);
            end = spare[kind] + symbols * [JUMP_BYTES, ADDRESS_BYTES, 0][kind];
            end = end.next_multiple_of(PAGE);
            ends[kind] = end;
        }
        let (jumps, addresses) = (HashMap::new(), HashMap::new());
        let (next_jump, next_address) = (spare[0], spare[1]);
        Ok(Layout { sections, run: ends[0], read: ends[1], bytes: end, next_jump, next_address, jumps, addresses })
    }

    /// The place of a symbol that the object defines.
    fn place<'data>(&self, symbol: &impl ObjectSymbol<'data>) -> Option<usize> {
        let section = self.sections.get(&symbol.section_index()?)?;
        section.checked_add(usize::try_from(symbol.address()).ok()?).filter(|place| *place <= self.bytes)
    }

    /// Writes the value of a relocation at its place.
    fn relocate(
        &mut self,
        file: &File<'_>,
        memory: &Memory,
        at: usize,
        relocation: &Relocation,
    ) -> Result<(), LlvmError> {
        let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(index)) =
            (relocation.flags(), relocation.target())
        else {
            return Err(fault("a relocation without a symbol"));
        };
        let symbol = file.symbol_by_index(index).map_err(|error| fault(&error.to_string()))?;
        let own = self.place(&symbol).map(|place| memory.address(place));
        let target = match own {
            Some(address) => address,
            None => in_process(symbol.name().unwrap_or_default())?,
        };
        let target = match r_type {
            R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                let (next, known) = (&mut self.next_address, &mut self.addresses);
                reserve(index, next, known, ADDRESS_BYTES, |place| memory.write(place, &target.to_ne_bytes()))
                    .map(|place| memory.address(place))?
            }
            R_X86_64_PLT32 | R_X86_64_PC32 if own.is_none() => {
                let code = [&JUMP[..], &target.to_ne_bytes()].concat();
                let (next, known) = (&mut self.next_jump, &mut self.jumps);
                reserve(index, next, known, JUMP_BYTES, |place| memory.write(place, &code))
                    .map(|place| memory.address(place))?
            }
            _ => target,
        };
        let value = (target as i64).wrapping_add(relocation.addend());
        let distance = value.wrapping_sub(memory.address(at) as i64);
        match r_type {
            R_X86_64_64 => memory.write(at, &value.to_ne_bytes()),
            R_X86_64_PC64 => memory.write(at, &distance.to_ne_bytes()),
            R_X86_64_PC32 | R_X86_64_PLT32 | R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                let distance = i32::try_from(distance).map_err(|_| fault("a distance beyond 32 bits"))?;
                memory.write(at, &distance.to_ne_bytes())
            }
            other => Err(fault(&format!("a relocation of type {other}"))),
        }
    }
}

/// The place that a symbol has among those from `next` on; it is filled the first time.
fn reserve(
    symbol: SymbolIndex,
    next: &mut usize,
    known: &mut HashMap<SymbolIndex, usize>,
    bytes: usize,
    fill: impl FnOnce(usize) -> Result<(), LlvmError>,
) -> Result<usize, LlvmError> {
    if let Some(place) = known.get(&symbol) {
        return Ok(*place);
    }
    let place = *next;
    fill(place)?;
    *next += bytes;
    known.insert(symbol, place);
    Ok(place)
}

/// The address of a function that an operator is, or of one of the C library or its mathematics.
fn in_process(name: &str) -> Result<usize, LlvmError> {
    let missing = || LlvmError::Load(format!("there is no function `{name}` in the process"));
    if let Some(own) = name.strip_prefix(External::SYMBOLS) {
        return External::find(own).map(External::address).ok_or_else(missing);
    }
    let symbol = CString::new(name).map_err(|_| missing())?;
    // SAFETY: a look-up by a C string.
    let mut address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    if address.is_null() {
        // A program that computes no exponentials itself may not have the library of mathematics.
        // SAFETY: the library is the C library's own, and stays; the look-up is by a C string.
        unsafe {
            let library = libc::dlopen(c"libm.so.6".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
            if !library.is_null() {
                address = libc::dlsym(library, symbol.as_ptr());
            }
        }
    }
    if address.is_null() { Err(missing()) } else { Ok(address as usize) }
}

impl Memory {
    /// Memory that is written to, and not run yet.
    fn new(bytes: usize) -> Result<Memory, LlvmError> {
        let bytes = bytes.max(PAGE);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory, wherever the system has room for it.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(LlvmError::Load("there is no memory for the code".to_string()));
        }
        Ok(Memory { start: start.cast(), bytes })
    }

    fn address(&self, place: usize) -> usize {
        (self.start as usize).wrapping_add(place)
    }

    fn write(&self, place: usize, data: &[u8]) -> Result<(), LlvmError> {
        if place.checked_add(data.len()).is_none_or(|end| end > self.bytes) {
            return Err(fault("a part lies outside of it"));
        }
        // SAFETY: the bytes lie in the memory, which is this value's own and not shared or protected yet.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.start.add(place), data.len()) };
        Ok(())
    }

    /// Sets the access to the pages from one place to another, at which pages begin.
    fn protect(&self, begin: usize, end: usize, access: libc::c_int) -> Result<(), LlvmError> {
        if begin == end {
            return Ok(());
        }
        // SAFETY: pages of this value's own memory, which is `end` bytes long at least.
        let done = unsafe { libc::mprotect(self.start.add(begin).cast(), end - begin, access) };
        if done == 0 { Ok(()) } else { Err(LlvmError::Load("the system does not let code be run".to_string())) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory came from `mmap` with this length, and is given back once.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// An object that is not as this crate makes them.
fn fault(what: &str) -> LlvmError {
    LlvmError::Load(format!("the object is damaged: {what}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use lacunar_imp::{parse, verify};

    use super::Linked;
    use crate::{CompileOptions, object};

    #[test]
    fn damaged_objects_are_refused_or_linked() {
        let text = "kernel f(in x: f64[], out y: f64[], n: i64) {
          for k in 0 .. n vector { let v: f64 = x[k]; y[k] = exp(v) * 3.25; }
        }";
        let whole = object(&verify(parse(text).unwrap()).unwrap(), &CompileOptions::default()).unwrap();
        let linked = Linked::new(&whole).unwrap();
        assert!(linked.address(c"f").is_ok() && linked.address(c"g").is_err());
        for at in 0..whole.len() {
            assert!(at > whole.len() / 2 || Linked::new(&whole[..at]).is_err(), "cut at {at}");
            for bit in [0x01, 0x80] {
                let mut damaged = whole.clone();
                damaged[at] ^= bit;
                // The code is not run: some damage cannot be seen.
                let _ = Linked::new(&damaged);
            }
        }
    }
}
