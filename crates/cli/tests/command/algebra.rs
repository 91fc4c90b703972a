//! `--check-algebra`: properties that hold, properties that do not, and mistakes in declarations.

use crate::common::Folder;

#[test]
fn properties_that_hold_are_told() {
    let folder = Folder::new();
    folder.write("p.lac", "-f A:csr\nop joined(a, b) = a + b { identity 0, commutative }\ny(i) = joined(A(i,j), 0)\n");
    let text = folder.succeed("run p.lac --check-algebra");
    assert_eq!(text, "2 properties hold of all values that were tried: `joined`\n");
    let text = folder.succeed("compile 'y(i) = x(i)' --check-algebra");
    assert_eq!(text, "no operator is declared with a property\n");
}

#[test]
fn one_that_does_not_hold_ends_with_1() {
    let folder = Folder::new();
    folder.write("p.lac", "op most(a, b) = max(a, b) { identity 0 }\n");
    folder.fail("run p.lac --check-algebra", 1, "`most` is declared with `identity`, which does not hold on i8");
    folder.fail("run 'op odd(a, b) = xor(a, b) { idempotent }' --check-algebra", 1, "odd(true, true) is false");
    folder.fail("run 'op f(a) = b' --check-algebra", 2, "E0615");
}
