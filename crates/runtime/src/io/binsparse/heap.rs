//! Reads a text of variable length without the library.
//!
//! An attribute keeps a reference to such a text: its length, the address of a collection of texts, and its number in the
//! collection. Versions of HDF5 that are in use (1.10, of Debian) trust all three; if a file is damaged, they read out of bounds
//! or never end. So the few structures on the way are read here, and each number is checked against the file:
//!
//! ```text
//! header of the group   messages, and continuations that have more of them
//! attribute message     version, sizes, name, type, space, then the reference: length (4), address (8), number (4)
//! collection            "GCOL", version, size, then texts: number (2), references (2), 0 (4), size (8), bytes, padded to 8
//! ```
//!
//! HDF5 stores attributes outside of the header if a group has many; such attributes are not found.
//!
//! Reference: HDF5 File Format Specification, version 3.0: II (superblock), III.E (global heap), IV.A (object headers).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::MAGIC;

/// The most bytes of a part of a header, and of a text.
const LONGEST: u64 = 1 << 20;
/// The most parts of a header that are read.
const MOST_PARTS: usize = 256;
/// The types of messages.
const ATTRIBUTE: u16 = 0x0c;
const CONTINUATION: u16 = 0x10;

/// Reads the text of an attribute of the object whose header is at an address; `None` if it is damaged or is not found.
pub(super) fn text(file: File, header: u64, attribute: &str) -> Option<Vec<u8>> {
    let bytes = file.metadata().ok()?.len();
    let mut file = Bytes { file, base: 0, bytes };
    file.find_superblock()?;
    let reference = file.reference(header, attribute)?;
    file.heap_text(
        u64::from(number::<4>(&reference, 0)? as u32),
        number::<8>(&reference, 4)?,
        number::<4>(&reference, 12)?,
    )
}

/// The number in `SIZE` bytes at a place.
fn number<const SIZE: usize>(bytes: &[u8], place: usize) -> Option<u64> {
    let found = bytes.get(place..place.checked_add(SIZE)?)?;
    Some(found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The bytes of a file; every read checks that the file has the bytes.
struct Bytes {
    file: File,
    /// The place that addresses count from.
    base: u64,
    bytes: u64,
}

impl Bytes {
    fn at(&mut self, address: u64, len: u64) -> Option<Vec<u8>> {
        let start = self.base.checked_add(address)?;
        if len > LONGEST || start.checked_add(len)? > self.bytes {
            return None;
        }
        let mut found = vec![0; usize::try_from(len).ok()?];
        self.file.seek(SeekFrom::Start(start)).ok()?;
        self.file.read_exact(&mut found).ok()?;
        Some(found)
    }

    /// Finds the superblock, behind bytes that others may have put before it, and checks that addresses have 8 bytes.
    fn find_superblock(&mut self) -> Option<()> {
        let mut place = 0;
        let block = loop {
            let block = self.at(place, 16)?;
            if block.starts_with(MAGIC) {
                break block;
            }
            place = if place == 0 { 512 } else { place.checked_mul(2)? };
        };
        self.base = place;
        let sizes = if block[8] < 2 { &block[13..15] } else { &block[9..11] };
        (sizes == [8, 8]).then_some(())
    }

    /// Finds the reference that an attribute keeps among the messages of a header.
    fn reference(&mut self, header: u64, attribute: &str) -> Option<[u8; 16]> {
        let start = self.at(header, 16)?;
        let is_second = start.starts_with(b"OHDR");
        // The place at which messages begin, their number of bytes, and the number of bytes before the content of each.
        let (first, before) = if is_second {
            let flags = start[5];
            let times = if flags & 0x20 == 0 { 0 } else { 16 };
            let phases = if flags & 0x10 == 0 { 0 } else { 4 };
            let place = 6 + times + phases;
            let size = self.at(header.checked_add(place)?, 8)?;
            let width = 1usize << (flags & 3);
            let len = number::<8>(&[&size[..width], &[0; 8]].concat(), 0)?;
            let order = if flags & 4 == 0 { 0 } else { 2 };
            ((header.checked_add(place + width as u64)?, len), 4 + order)
        } else {
            ((header.checked_add(16)?, number::<4>(&start, 8)?), 8)
        };
        let mut parts = vec![first];
        let mut next = 0;
        while let Some(&(address, len)) = parts.get(next).filter(|_| next < MOST_PARTS) {
            next += 1;
            let part = self.at(address, len)?;
            let mut place = 0;
            while place + before <= part.len() {
                let (kind, size) = match is_second {
                    true => (number::<1>(&part, place)?, number::<2>(&part, place + 1)?),
                    false => (number::<2>(&part, place)?, number::<2>(&part, place + 2)?),
                };
                place += before;
                let Some(content) = part.get(place..place + size as usize) else { break };
                place += size as usize;
                match kind as u16 {
                    ATTRIBUTE => {
                        if let Some(found) = reference_of(content, attribute) {
                            return Some(found);
                        }
                    }
                    CONTINUATION => {
                        let (address, len) = (number::<8>(content, 0)?, number::<8>(content, 8)?);
                        // In the second version a continuation begins with a word and ends with a checksum.
                        let inside =
                            if is_second { (address.checked_add(4)?, len.checked_sub(8)?) } else { (address, len) };
                        parts.push(inside);
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// The text with the number `wanted` in a collection, of length `len`.
    fn heap_text(&mut self, len: u64, collection: u64, wanted: u64) -> Option<Vec<u8>> {
        let start = self.at(collection, 16)?;
        let size = number::<8>(&start, 8).filter(|_| start.starts_with(b"GCOL\x01"))?;
        let mut place = 16u64;
        while place.checked_add(16)? <= size {
            let head = self.at(collection.checked_add(place)?, 16)?;
            let (found, bytes) = (number::<2>(&head, 0)?, number::<8>(&head, 8)?);
            let end = place.checked_add(16)?.checked_add(bytes)?;
            if found == 0 || end > size {
                return None;
            }
            if found == wanted {
                return if len <= bytes { self.at(collection.checked_add(place + 16)?, len) } else { None };
            }
            place = end.checked_next_multiple_of(8)?;
        }
        None
    }
}

/// The reference in the message of an attribute; `None` if the attribute has another name.
fn reference_of(message: &[u8], attribute: &str) -> Option<[u8; 16]> {
    let version = number::<1>(message, 0)?;
    let sizes = [number::<2>(message, 2)?, number::<2>(message, 4)?, number::<2>(message, 6)?];
    // The third version also has the encoding of the name; only the first pads the parts.
    let start = if version == 3 { 9 } else { 8 };
    let padded = |size: u64| if version == 1 { size.next_multiple_of(8) as usize } else { size as usize };
    let name = message.get(start..start + sizes[0] as usize)?;
    let content = start + sizes.map(padded).iter().sum::<usize>();
    let found = message.get(content..content + 16)?.try_into().ok()?;
    (name.strip_suffix(b"\0") == Some(attribute.as_bytes())).then_some(found)
}
