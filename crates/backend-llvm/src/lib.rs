//! LLVM back end of Lacunar: native code in the process, assembly, objects.
