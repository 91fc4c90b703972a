//! ELF objects of 64 bits, little-endian: reads the functions of one, and makes one that has nothing but names of functions.
//!
//! ```text
//! header | .symtab: null, a symbol for each function | .strtab | .shstrtab | section headers: null, .text, these three
//! ```
//!
//! `.text` has no content, but the address and the length of the code in memory; the addresses of symbols count from its beginning.

use super::Visible;

const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
const FUNCTION: u8 = 2;
/// `ALLOC` and `EXECINSTR`: it is code in memory.
const CODE: u64 = 6;
/// The alignment of the beginning of `.text`.
const ALIGNMENT: u64 = 16;

/// A function in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) section: u16,
    /// The offset in its section.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The functions of an object; `None` if it is not an ELF object.
pub(super) fn functions(object: &[u8]) -> Option<Vec<Function>> {
    // 64 bits, little-endian.
    if object.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (first, count) = (usize::try_from(long(object, 40)?).ok()?, usize::from(short(object, 60)?));
    let section = |number: usize| {
        let begin = number.checked_mul(SECTION)?.checked_add(first)?;
        object.get(begin..begin.checked_add(SECTION)?)
    };
    let content = |header: &[u8]| {
        let (offset, bytes) = (usize::try_from(long(header, 24)?).ok()?, usize::try_from(long(header, 32)?).ok()?);
        object.get(offset..offset.checked_add(bytes)?)
    };
    let symtab = (0..count).filter_map(section).find(|header| word(header, 4) == Some(SYMTAB))?;
    let names = content(section(usize::try_from(word(symtab, 40)?).ok()?)?)?;
    let symbols = content(symtab)?.chunks_exact(SYMBOL).filter(|symbol| symbol[4] & 15 == FUNCTION);
    symbols
        .map(|symbol| {
            let name = names.get(usize::try_from(word(symbol, 0)?).ok()?..)?.split(|&byte| byte == 0).next()?;
            Some(Function {
                name: String::from_utf8_lossy(name).into_owned(),
                section: short(symbol, 6)?,
                offset: long(symbol, 8)?,
                bytes: long(symbol, 16)?,
            })
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
        symtab.extend([1 << 4 | FUNCTION, 0, 1, 0]);
        symtab.extend((function.address - begin).to_le_bytes());
        symtab.extend(function.bytes.to_le_bytes());
        strtab.extend(function.name.bytes().filter(|&byte| byte != 0).chain([0]));
    }
    let shstrtab = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
    let mut object = like.get(..HEADER)?.to_vec();
    let at = |object: &Vec<u8>| object.len() as u64;
    let mut headers = vec![0; SECTION];
    headers.extend(header(1, NOBITS, CODE, [begin, HEADER as u64, end - begin], [0, 0], ALIGNMENT));
    // The names are in section 3; one symbol, the null one, is local.
    headers.extend(header(7, SYMTAB, 0, [0, at(&object), symtab.len() as u64], [3, 1], 8));
    object.extend(symtab);
    headers.extend(header(15, STRTAB, 0, [0, at(&object), strtab.len() as u64], [0, 0], 1));
    object.extend(strtab);
    headers.extend(header(23, STRTAB, 0, [0, at(&object), shstrtab.len() as u64], [0, 0], 1));
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
    let each = if kind == SYMTAB { SYMBOL as u64 } else { 0 };
    header.extend(each.to_le_bytes());
    header
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut like = vec![0; HEADER];
        like[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let function = |name: &str, address, bytes| Visible { name: name.to_string(), address, bytes };
        let given = [function("lacunar::compute y(i)=x(i)", 0x7000_0010, 32), function("other", 0x7000_0040, 5)];
        let object = symbols(&like, &given).unwrap();
        let read = |name: &str, offset, bytes| Function { name: name.to_string(), section: 1, offset, bytes };
        let expected = vec![read("lacunar::compute y(i)=x(i)", 0, 32), read("other", 0x30, 5)];
        assert_eq!(functions(&object), Some(expected));
        assert_eq!(symbols(&like, &[]), None);
        // Objects that end before the headers that are needed (all but the last), and bytes that are no object.
        for end in 0..object.len() - SECTION {
            assert_eq!(functions(&object[..end]), None, "{end}");
        }
    }
}
