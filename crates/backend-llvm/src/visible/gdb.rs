//! gdb's interface for code that is made in a process: a list of objects in memory, and a function that the process calls when it
//! changes the list; the debugger has a breakpoint in it. LLVM's library has a list of its own, which the debugger looks at as well.
//! LLVM's plugin is not used: its entries stay when the code is gone, and have the symbols that objects have.
//!
//! See "JIT Compilation Interface" in the manual of gdb.

#![allow(unsafe_code)]

use std::ptr;
use std::sync::{Mutex, PoisonError};

/// An object in memory.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    object: *const u8,
    bytes: u64,
}

/// The list, and its last change.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

const NOTHING: u32 = 0;
const ADDED: u32 = 1;
const REMOVED: u32 = 2;

/// gdb finds the list by this name.
// SAFETY: gdb's manual prescribes the name and the layout. Other libraries define it as a weak symbol of the same layout.
#[unsafe(no_mangle)]
static mut __jit_debug_descriptor: Descriptor =
    Descriptor { version: 1, action: NOTHING, relevant: ptr::null_mut(), first: ptr::null_mut() };

/// gdb finds the function by this name, and stops in it. It must not vanish, nor calls of it.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __jit_debug_register_code() {
    std::hint::black_box(());
}

/// Held while the list is changed. Only this file fills the list in this process: LLVM would if it were asked to, and it is not.
static LIST: Mutex<()> = Mutex::new(());

/// An object that gdb knows while this value lives.
#[derive(Debug)]
pub(super) struct Registered {
    entry: *mut Entry,
    /// The object that the entry points to.
    _object: Vec<u8>,
}

// SAFETY: the entry is used under the lock only, and the object is not changed.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    /// Tells gdb of an object.
    pub(super) fn new(object: Vec<u8>) -> Registered {
        let entry = Entry {
            next: ptr::null_mut(),
            previous: ptr::null_mut(),
            object: object.as_ptr(),
            bytes: object.len() as u64,
        };
        let entry = Box::into_raw(Box::new(entry));
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the list is changed under the lock; its entries live until they are taken out of it, and the new one, which
        // is no part of it yet, is a box's.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            let first = (*list).first;
            (*entry).next = first;
            if !first.is_null() {
                (*first).previous = entry;
            }
            (*list).first = entry;
            tell(list, entry, ADDED);
        }
        Registered { entry, _object: object }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the list is changed under the lock; the entry is in it, and so are its neighbors; it came from a box, which
        // is released once, when it is in the list no more.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            let Entry { next, previous, .. } = *self.entry;
            if previous.is_null() {
                (*list).first = next;
            } else {
                (*previous).next = next;
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
            tell(list, self.entry, REMOVED);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Tells gdb that an entry of the list was added or removed.
///
/// # Safety
/// The lock is held, the list is the one of the process, and the entry was added or removed.
unsafe fn tell(list: *mut Descriptor, entry: *mut Entry, action: u32) {
    // SAFETY: by the caller's promise. gdb reads the list while the function is called.
    unsafe {
        (*list).relevant = entry;
        (*list).action = action;
        __jit_debug_register_code();
        (*list).action = NOTHING;
        (*list).relevant = ptr::null_mut();
    }
}
