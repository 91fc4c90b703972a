//! Positions beyond 2^31 and 2^32, without memory for so many entries: arrays are pages that are mapped again and again, or that
//! nobody has touched.
//!
//! ```text
//! repeated   | 0 1 2 .. 65535 | 0 1 2 .. 65535 | ..       rows of a full matrix: the same pages, so many times
//! untouched  5 _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 7       pages that read as zeros, and take no memory until they are written to
//! ```
//!
//! Conversions of so many entries are not run, as their results would take the memory; their routes are asked for.

#![allow(unsafe_code, clippy::unwrap_used)]

use std::sync::Arc;

use lacunar::{Buffer, DType, DynTensor, Element, Format, FormatSpec, Kernel, LevelStorage, One, Options, Tensor};

/// The columns of a full row of 16-bit coordinates.
const COLUMNS: u64 = 1 << 16;

/// Memory that is mapped until it is dropped.
struct Mapping {
    data: *mut u8,
    bytes: usize,
}

// SAFETY: nobody writes to it once it is shared.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// So many bytes that read as zeros; `None` if the system does not map so many without memory for them.
    fn untouched(bytes: usize) -> Option<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, anywhere.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        (data != libc::MAP_FAILED).then_some(Mapping { data: data.cast(), bytes })
    }

    /// The bytes so many times, one behind the other; they are whole pages.
    fn repeated(content: &[u8], times: usize) -> Option<Mapping> {
        let all = Mapping::untouched(content.len() * times)?;
        // SAFETY: the file is new, and all of it is written before it is mapped, in place of pages of this mapping.
        unsafe {
            let file = libc::memfd_create(c"repeated".as_ptr(), 0);
            let written = libc::write(file, content.as_ptr().cast(), content.len());
            let mut whole = file >= 0 && written == content.len() as isize;
            for k in 0..times {
                let (at, flags) = (all.data.add(k * content.len()), libc::MAP_SHARED | libc::MAP_FIXED);
                let mapped = libc::mmap(at.cast(), content.len(), libc::PROT_READ, flags, file, 0);
                whole &= mapped != libc::MAP_FAILED;
            }
            libc::close(file);
            whole.then_some(all)
        }
    }

    /// Writes an element before the memory is shared.
    fn set<T: Element>(&mut self, place: usize, value: T) {
        assert!((place + 1) * size_of::<T>() <= self.bytes);
        // SAFETY: it is inside.
        unsafe { self.data.cast::<T>().add(place).write(value) };
    }

    fn buffer<T: Element>(self, len: usize) -> Buffer {
        assert!(len * size_of::<T>() <= self.bytes);
        // SAFETY: zeros and numbers are elements; the memory lives as long as the owner.
        Buffer::borrow(Arc::new(self), |mapping| unsafe { std::slice::from_raw_parts(mapping.data.cast::<T>(), len) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and given back once.
        unsafe { libc::munmap(self.data.cast(), self.bytes) };
    }
}

/// A full matrix of ones with so many rows of 16-bit columns, and positions of this type.
fn full<P: Element>(rows: u64, position: impl Fn(u64) -> P, format: &str) -> Option<Result<DynTensor, lacunar::Error>> {
    // 16 rows fill a huge page.
    let times = rows.div_ceil(16) as usize;
    let content: Vec<u8> = (0..16).flat_map(|_| (0..=u16::MAX).flat_map(u16::to_ne_bytes)).collect();
    let entries = (rows * COLUMNS) as usize;
    let columns = Mapping::repeated(&content, times)?.buffer::<u16>(entries);
    let starts = Buffer::from_vec((0..=rows).map(|row| position(row * COLUMNS)).collect());
    let ones = Buffer::borrow(Arc::new(()), |_| {
        // SAFETY: its elements have no size.
        unsafe { std::slice::from_raw_parts(std::ptr::NonNull::<One>::dangling().as_ptr(), entries) }
    });
    let levels = vec![LevelStorage::dense(rows), LevelStorage::compressed(starts, columns)];
    let format = format.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    Some(DynTensor::from_parts(vec![rows, COLUMNS], &format, levels, ones).map_err(lacunar::Error::from))
}

/// Says loudly that a test could not be run.
fn skipped() {
    eprintln!("SKIPPED: the system does not map pages without memory for them");
}

fn checks_rows(a: &DynTensor) {
    let rows = a.dims()[0];
    assert_eq!((a.nnz(), a.heaviest()), (rows * COLUMNS, Some(COLUMNS)));
    assert_eq!(a.level_counts(), [rows, rows * COLUMNS]);
    assert_eq!(a.position_of(&[rows - 1, 7]), Some(((rows - 1) * COLUMNS + 7) as usize));
    let x: Vec<f64> = (0..COLUMNS).map(|j| if j % 1000 == 0 { 1.0 + j as f64 } else { 0.0 }).collect();
    let sum: f64 = x.iter().sum();
    let x = Tensor::from_slice(&[COLUMNS], &x).unwrap();
    let mut y = Tensor::<f64>::zeros(&[rows], Format::dense(1)).unwrap();
    let options = Options::new().tensor("A", a).tensor("x", x.as_dyn());
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap();
    kernel.run(&mut y, &[a, x.as_dyn()]).unwrap();
    assert!(y.values().iter().all(|found| *found == sum));
    // Counters of 32 bits would not do: no leg of the way counts so many.
    let route = a.route(&Format::csc()).unwrap().to_string();
    assert_eq!(route.contains("count: "), a.nnz() <= u64::from(u32::MAX), "{route}");
}

#[test]
fn rows_beyond_2_to_the_31() {
    let Some(a) = full((1 << 15) + 1, |start| start as u32, "ds16") else { return skipped() };
    checks_rows(&a.unwrap());
}

#[test]
fn rows_beyond_2_to_the_32() {
    let rows = (1 << 16) + 1;
    let Some(a) = full(rows, |start| start as i64, "ds16@64") else { return skipped() };
    checks_rows(&a.unwrap());
    // Rows whose starts wrap around are no rows, and neither are those that do not begin at the first entry.
    let Some(wrapped) = full(rows, |start| start as u32, "ds16") else { return skipped() };
    assert!(wrapped.unwrap_err().to_string().contains("positions descend"));
    let Some(late) = full(1, |start| start + 5_000_000_000, "ds16@64") else { return skipped() };
    assert!(late.unwrap_err().to_string().contains("the first position is not 0"));
}

/// Loose rows have unused places between them: few entries, at positions up to 5,000,000,003.
#[test]
fn loose_rows_beyond_2_to_the_32() {
    const FAR: usize = 5_000_000_000;
    let (Some(mut crd), Some(mut values)) = (Mapping::untouched(4 * (FAR + 4)), Mapping::untouched(8 * (FAR + 4)))
    else {
        return skipped();
    };
    for (k, (place, column)) in [(0, 1u32), (1, 4), (FAR, 0), (FAR + 1, 2), (FAR + 2, 5)].into_iter().enumerate() {
        crd.set(place, column);
        values.set(place, 1.0 + k as f64);
    }
    let pos = Buffer::from_vec(vec![0u64, FAR as u64, FAR as u64 + 4]);
    let end = Buffer::from_vec(vec![2u64, FAR as u64 + 3]);
    let loose = "dl@64".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    let level = LevelStorage::new(loose.levels()[1].kind, 6, vec![pos, end, crd.buffer::<u32>(FAR + 4)]);
    let levels = vec![LevelStorage::dense(2), level];
    let a = DynTensor::from_parts(vec![2, 6], &loose, levels, values.buffer::<f64>(FAR + 4)).unwrap();
    assert_eq!(a.position_of(&[1, 5]), Some(FAR + 2));
    let x = Tensor::from_slice(&[6], &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5]).unwrap();
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1)).unwrap();
    let options = Options::new().tensor("A", &a).tensor("x", x.as_dyn());
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap();
    kernel.run(&mut y, &[&a, x.as_dyn()]).unwrap();
    assert_eq!(y.values(), [20_010.0, 500_403.0]);
}

/// An array of 3,000,000,000 elements, of which three are not zero.
#[test]
fn elements_beyond_2_to_the_31() {
    const LEN: usize = 3_000_000_000;
    let Some(mut values) = Mapping::untouched(LEN) else { return skipped() };
    for (place, value) in [(5, 1i8), ((1 << 31) + 7, 20), (LEN - 1, 100)] {
        values.set(place, value);
    }
    let array = DynTensor::from_dense(vec![3, LEN as u64 / 3], values.buffer::<i8>(LEN), &Format::dense(2)).unwrap();
    let mut sums = Tensor::<i64>::zeros(&[3], Format::dense(1)).unwrap();
    let options = Options::new().tensor("A", &array).dtype("y", DType::I64);
    let kernel = Kernel::compile("y(i) = i64(A(i,j))", &options).unwrap();
    kernel.run(&mut sums, &[&array]).unwrap();
    assert_eq!(sums.values(), [1, 0, 120]);
}

/// Files that promise more entries than there is memory for, and hold few.
#[test]
fn files_that_promise_entries_beyond_memory() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &[u8], reason: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let error = Tensor::<f64>::read(&path, Format::csr()).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    };
    let many = 10_000_000_000u64;
    let list = format!("%%MatrixMarket matrix coordinate real general\n{many} {many} {many}\n1 1 1\n");
    refused("list.mtx", list.as_bytes(), "expected 10000000000 entries as announced, of which 1 are there");
    let array = format!("%%MatrixMarket matrix array real general\n{many} {many}\n1\n");
    refused("array.mtx", array.as_bytes(), "too large: an array of 10000000000 x 10000000000 values");
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({many}, 1), }}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend([0; 16]);
    refused("array.npy", &npy, "array.npy");
    let boeing = format!(
        "{:<72}{:<8}\n{:14}{:14}{:14}{:14}{:14}\n{:<14}{:14}{:14}{:14}{:14}\n{:<16}{:<16}{:<20}{:<20}\n1 2\n1\n1.0\n",
        "promised", "key", 3, 1, 1, 1, 0, "rua", many, many, many, 0, "(2I20)", "(1I20)", "(1E20.8)", ""
    );
    refused("matrix.rua", boeing.as_bytes(), "matrix.rua");
}
