//! Level kinds are files that no `mod` line names: only their folder tells that there is a new one.

fn main() {
    println!("cargo::rerun-if-changed=src/storage");
}
