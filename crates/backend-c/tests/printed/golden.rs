//! The printed text itself, and that compilers have nothing to say about it.
//!
//! The expected texts are in `snapshots/`; `INSTA_UPDATE=always` writes them anew.

use crate::common;
use lacunar_backend_c::{COptions, CSource, print, print_all};
use lacunar_formats::DType;

fn printed(function: &lacunar_imp::Verified<lacunar_imp::Function>) -> CSource {
    print(function, &COptions::default())
}

/// The kernel without the parts that all files share.
fn own_text(source: &CSource) -> String {
    let start = source.header.find("\n/*\n * ").expect("an explanation");
    format!("{}\n// ---\n\n{}", source.header[start..].trim_start(), source.source)
}

#[test]
fn whole_file() {
    insta::assert_snapshot!(printed(&common::rowsum()).single_file());
}

#[test]
fn grown_arrays() {
    insta::assert_snapshot!(own_text(&printed(&common::compress())));
}

#[test]
fn local_arrays_and_failures() {
    insta::assert_snapshot!(own_text(&printed(&common::distinct())));
}

#[test]
fn names_and_remarks() {
    let source = printed(&common::awkward());
    assert_eq!(source.symbol(), "printf_");
    insta::assert_snapshot!(own_text(&source));
}

#[test]
fn loops_on_threads() {
    let source = printed(&common::chunks());
    assert!(source.openmp && !printed(&common::rowsum()).openmp);
    insta::assert_snapshot!(own_text(&source));
}

#[test]
fn text_is_not_longer_than_the_function() {
    let source = printed(&common::doubled()).source;
    assert!(source.contains("const uint64_t shared = v + v + (v + v) + (v + v + (v + v));"), "{source}");
    assert!(source.len() < 20_000);
    let nested = |line: &str| line.chars().filter(|&c| c == '(').count();
    assert!(source.lines().map(nested).max() < Some(200));
}

#[test]
fn without_comments() {
    let options = COptions { comments: false, file_name: Some("my kernels/x".to_string()), ..COptions::default() };
    let source = print(&common::rowsum(), &options);
    assert_eq!(source.file_name, "my_kernels_x");
    assert!(source.source.starts_with("#include \"my_kernels_x.h\"\n"));
    assert!(!source.source.contains("each row"));
    assert!(!source.header.contains("Arguments"));
}

#[test]
fn no_warnings_at_any_level() {
    let kernels =
        [common::rowsum(), common::compress(), common::distinct(), common::combine(DType::F32), common::awkward()]
            .into_iter()
            .chain([common::chunks()]);
    let kernels: Vec<_> = kernels.collect();
    let one_file = print_all(&kernels, &COptions::default()).single_file();
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("kernels.c");
    std::fs::write(&path, one_file).expect("the source is written");
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        common::cc(&path, &folder.path().join("kernels.o"), &["-c", "-pedantic", "-Wconversion", level])
            .unwrap_or_else(|message| panic!("{level}: {message}"));
    }
    // The common dialect of compilers has more names than ISO C.
    common::cc(&path, &folder.path().join("kernels.o"), &["-c", "-std=gnu99", "-O1"]).expect("no warning in GNU C");
}

#[test]
fn headers_go_together() {
    let (one, two) = (printed(&common::rowsum()), printed(&common::compress()));
    let folder = tempfile::tempdir().expect("a folder for the test");
    for source in [&one, &two] {
        let path = folder.path().join(format!("{}.h", source.file_name));
        std::fs::write(path, &source.header).expect("the header is written");
    }
    let user = folder.path().join("user.c");
    let text = "#include \"rowsum.h\"\n#include \"compress.h\"\n#include \"rowsum.h\"\nint unused;\n";
    std::fs::write(&user, text).expect("the user is written");
    common::cc(&user, &folder.path().join("user.o"), &["-c", "-pedantic"]).expect("both headers in one file");
}
