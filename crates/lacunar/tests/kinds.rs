//! Level kinds are linked from two crates, which know each other by name.

use lacunar_compiler::levels::CODES;
use lacunar_formats::LevelKind;

/// A name that is none would only be seen by the conversions that it leads to.
#[test]
fn code_is_that_of_a_kind() {
    let names: Vec<&str> = LevelKind::all().into_iter().map(|kind| kind.info().name).collect();
    assert!(names.len() > 3 && CODES.len() >= 3);
    for coder in CODES {
        assert!(names.contains(&coder.kind), "there is code for `{}`, and no such kind: {names:?}", coder.kind);
        let own = CODES.iter().filter(|other| other.kind == coder.kind).count();
        assert_eq!(own, 1, "code for `{}`", coder.kind);
    }
}
