//! ELF objects of 64 bits, little-endian: reads the functions of one, and makes one that has nothing but names of functions.
//!
//! ```text
//! header | .symtab: null, a symbol for each function | .strtab | .shstrtab | section headers: null, .text, these three
//! ```
//!
//! `.text` has no content, but the address and the length of the code in memory; the addresses of symbols count from its beginning.

use object::elf::{SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, STT_FUNC};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, SectionIndex, SymbolKind};

use super::Visible;

const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// `ALLOC` and `EXECINSTR`: it is code in memory.
const CODE: u64 = 6;
/// The alignment of the beginning of `.text`.
const ALIGNMENT: u64 = 16;

/// A function in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) section: SectionIndex,
    /// The offset in its section.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The functions of an object; `None` if it is not an ELF object.
pub(super) fn functions(object: &[u8]) -> Option<Vec<Function>> {
    let file = ElfFile64::<LittleEndian>::parse(object).ok()?;
    let symbols = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    symbols
        .map(|symbol| {
            let name = String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned();
            let section = symbol.section_index()?;
            Some(Function { name, section, offset: symbol.address(), bytes: symbol.size() })
        })
        .collect()
}

/// An object with the names and places of functions in memory, for the machine that `like` is for; `None` if there are none.
pub(super) fn symbols(like: &[u8], functions: &[Visible]) -> Option<Vec<u8>> {
    let begin = functions.iter().map(|function| function.address).min()?;
    let end = functions.iter().map(|function| function.address + function.bytes).max()?;
    let (mut strtab, mut symtab) = (vec![0], vec![0; SYMBOL]);
    for function in functions {
        symtab.extend((strtab.len() as u32).to_le_bytes());
        // Global; in section 1.
        symtab.extend([1 << 4 | STT_FUNC, 0, 1, 0]);
        symtab.extend((function.address - begin).to_le_bytes());
        symtab.extend(function.bytes.to_le_bytes());
        strtab.extend(function.name.bytes().filter(|&byte| byte != 0).chain([0]));
    }
    let shstrtab = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
    let mut object = like.get(..HEADER)?.to_vec();
    let at = |object: &Vec<u8>| object.len() as u64;
    let mut headers = vec![0; SECTION];
    headers.extend(header(1, SHT_NOBITS, CODE, [begin, HEADER as u64, end - begin], [0, 0], ALIGNMENT));
    // The names are in section 3; one symbol, the null one, is local.
    headers.extend(header(7, SHT_SYMTAB, 0, [0, at(&object), symtab.len() as u64], [3, 1], 8));
    object.extend(symtab);
    headers.extend(header(15, SHT_STRTAB, 0, [0, at(&object), strtab.len() as u64], [0, 0], 1));
    object.extend(strtab);
    headers.extend(header(23, SHT_STRTAB, 0, [0, at(&object), shstrtab.len() as u64], [0, 0], 1));
    object.extend(shstrtab);
    object.resize(object.len().next_multiple_of(8), 0);
    let place = at(&object);
    object[40..48].copy_from_slice(&place.to_le_bytes());
    // Five sections, the last of which has their names.
    object[60..64].copy_from_slice(&[5, 0, 4, 0]);
    object.extend(headers);
    Some(object)
}

/// The header of a section. `place` is its address in memory, its offset in the object and its length.
fn header(name: u32, kind: u32, flags: u64, place: [u64; 3], [link, info]: [u32; 2], alignment: u64) -> Vec<u8> {
    let mut header = [name.to_le_bytes(), kind.to_le_bytes()].concat();
    header.extend(flags.to_le_bytes());
    header.extend(place.iter().flat_map(|number| number.to_le_bytes()));
    header.extend([link.to_le_bytes(), info.to_le_bytes()].concat());
    header.extend(alignment.to_le_bytes());
    let each = if kind == SHT_SYMTAB { SYMBOL as u64 } else { 0 };
    header.extend(each.to_le_bytes());
    header
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut like = vec![0; HEADER];
        like[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        // The version, and the bytes of a section's header.
        (like[20], like[58]) = (1, SECTION as u8);
        let function = |name: &str, address, bytes| Visible { name: name.to_string(), address, bytes };
        let given = [function("lacunar::compute y(i)=x(i)", 0x7000_0010, 32), function("other", 0x7000_0040, 5)];
        let object = symbols(&like, &given).unwrap();
        let read =
            |name: &str, offset, bytes| Function { name: name.to_string(), section: SectionIndex(1), offset, bytes };
        let expected = vec![read("lacunar::compute y(i)=x(i)", 0, 32), read("other", 0x30, 5)];
        assert_eq!(functions(&object), Some(expected));
        assert_eq!(symbols(&like, &[]), None);
        // Objects that end before the headers that are needed (all but the last), and bytes that are no object.
        for end in 0..object.len() - SECTION {
            assert_eq!(functions(&object[..end]), None, "{end}");
        }
    }
}
