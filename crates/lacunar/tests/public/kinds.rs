//! What level kinds are, what they store and the code for them are linked from two crates, which know each other by name.

use lacunar_compiler::levels::CODES;
use lacunar_formats::LevelKind;
use lacunar_runtime::storage::STORAGE;

#[test]
fn every_kind_is_stored_once() {
    for kind in LevelKind::all() {
        let found = STORAGE.iter().filter(|storage| storage.kind() == kind).count();
        assert_eq!(found, 1, "{kind:?}");
    }
    assert_eq!(STORAGE.len(), LevelKind::all().len());
}

/// Code for a name that is no kind's would be seen by nothing but conversions.
#[test]
fn code_is_that_of_a_kind() {
    let kinds = LevelKind::all();
    for coder in CODES {
        assert!(kinds.iter().any(|kind| kind.info().name == coder.kind), "`{}` is none of {kinds:?}", coder.kind);
        let found = CODES.iter().filter(|other| other.kind == coder.kind).count();
        assert_eq!(found, 1, "{}", coder.kind);
    }
}
