//! A digest of the sources, which is part of the key of code that is kept: another compiler makes other code. It also makes
//! the jumps to functions of LLVM's library (`src/library.rs`), where that is loaded when it is needed.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    find(Path::new("src"), &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.to_string_lossy().as_bytes());
        hasher.write(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=LACUNAR_BACK_END={:016x}", hasher.finish());
    let names = fs::read_to_string("src/library/names.txt")?;
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("library.rs"), library(&names.lines().collect::<Vec<_>>()))
}

/// The names of functions, and a jump for each, for x86-64 and the calling convention of System V.
fn library(names: &[&str]) -> String {
    let mut text = String::from("const NAMES: &[&CStr] = &[\n");
    for name in names {
        text += &format!("    c\"{name}\",\n");
    }
    text += "];\nstd::arch::global_asm!(r#\"\n.text\n";
    for (number, name) in names.iter().enumerate() {
        text += &format!(
            ".globl {name}\n.hidden {name}\n.type {name},@function\n\
             {name}: jmpq *lacunar_llvm_table+{place}(%rip)\n\
             .Llacunar_llvm_{number}: pushq ${number}\n jmp .Llacunar_llvm_look_up\n",
            place = 8 * number
        );
    }
    text += LOOK_UP;
    text += ".section .data.lacunar_llvm,\"aw\",@progbits\n.balign 8\n\
             .globl lacunar_llvm_table\n.hidden lacunar_llvm_table\nlacunar_llvm_table:\n";
    for number in 0..names.len() {
        text += &format!(".quad .Llacunar_llvm_{number}\n");
    }
    text + ".text\n\"#, options(att_syntax));\n"
}

/// Entered by a jump, with the function's number on the stack above the return address: keeps the registers that arguments are in.
/// The stack is aligned to 16 bytes again after the number, seven registers and 136 bytes.
const LOOK_UP: &str = "
.Llacunar_llvm_look_up:
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax
    subq $136, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq 192(%rsp), %rdi
    call lacunar_llvm_function
    movq %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    addq $136, %rsp
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    addq $8, %rsp
    jmpq *%r11
";

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
