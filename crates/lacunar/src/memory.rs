//! The memory of the machine.

/// The memory of the machine, with its swap space, in bytes; `None` if it is not known.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) fn installed() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_add(info.totalswap)?.checked_mul(u64::from(info.mem_unit))
}

/// The memory of the machine, with its swap space, in bytes; `None` if it is not known.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn installed() -> Option<u64> {
    None
}
