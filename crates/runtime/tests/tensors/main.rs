//! Files and stored tensors, from outside.
//!
//! One program: each that links LLVM or all of the runtime takes seconds to link.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod huge;
mod io_edges;
mod io_files;
mod io_numpy;
mod io_properties;
mod io_shared;
mod snapshots;
mod storage_convert;
mod storage_corrupted;
mod storage_import;
mod storage_mapped;
mod storage_nodes;
mod storage_outside;
mod storage_packed;
mod storage_roundtrip;
mod storage_spread;
mod storage_walk;
mod updates;
