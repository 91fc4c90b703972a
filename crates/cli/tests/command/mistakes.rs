//! Every way to fail: exit codes and messages.

use crate::common::Folder;

#[test]
fn mistakes_in_what_was_written_end_in_2() {
    let folder = Folder::new();
    folder.write("large.tns", "1 1 300\n");
    folder.write("fraction.tns", "1 1 2.5\n");
    for (line, message) in [
        ("run 'y(i) = A(i,j)' -i A:large.tns -t A:u8", "the value 300"),
        ("run 'y(i) = A(i,j)' -i A:fraction.tns -t A:i64", "the value 2.5"),
        ("run 'y(i) = A(i,j) * x(k'", "E0103"),
        ("run ''", "E0106"),
        ("run '\\0\u{1}€ = )('", "error"),
        ("run 'y(i) = x(i)'", "E0203"),
        ("run 'y(i) = x(i)' -i x:a.mtx", "E1011"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -f A:xyz", "E0402"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -f A:sss", "E0401"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -f A", "E0701"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -t A:float33", "E0504"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -d A:4,4", "E1012"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -d A:3", "E0303"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -d A:x", "E0703"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -g A:ones", "E1004"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -i B:a.mtx", "E0208"),
        ("run 'y(i) = A(i,j) * x(j)' -i A:a.mtx -g x:ones -d x:5", "E0301"),
        ("run 'y(i) = x(i)' -g x:rand", "E1009"),
        ("run 'y(i) = x(i)' -g x:randm -d i:3", "E0705"),
        ("run 'y(i) = x(i)' -i x=2", "E1010"),
        ("run 'y = x' -i x=two", "E0704"),
        ("run 'y = x' -i x=1+2i -t x:f64", "E0506"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx -t A:i32 --fill A:inf", "E0507"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx --fill A:many", "E0704"),
        ("run 'y(i) = A(i,j)' -i A:a.mtx --fill B:1", "E0208"),
        ("run 'y = x' -i x=2 -o z:z.tns", "E1013"),
        ("run 'y = x' -i x=2 -o y:- --json", "E1006"),
        ("run 'y = x' -i x=2 -s 'split(i,i0,i1,32)'", "E0906"),
        ("run 'y(i) = x(i)' -i x:x.mtx -s 'splitt(i,i0,i1,32)'", "E0902"),
        ("compile 'y(i) = x(i)' -s 'split(i,i0,i1,0)'", "E0904"),
        ("run 'y(i) = A(i,j) * x(j)' -g A:rand -g x:rand -d A:3,3 -p 'A(i,j): i - j <= w'", "E1510"),
        ("run 'y(i) = A(i,j) * x(j)' -g A:rand -g x:rand -d A:3,3 -t A:u8 -p A:skew", "E1511"),
        ("run 'y(i) = A(i,j) * x(j)' -g A:rand -g x:rand -d A:3,4 -p A:symmetric", "E1512"),
        ("run 'y(i) = A(i,j) * x(j)' -g A:rand -g x:rand -d A:3,3 -p A:lower -p A:upper", "E1022"),
        ("run 'y(i) = A(i,j) * x(j)' -g A:rand -g x:rand -d A:3,3 --unique A", "E1023"),
        ("run 'C(i,j) = A(i,k) * A(k,j)' -g A:rand -d A:9,9 -p C:lower", "E1310"),
        ("run 'insert A \"a.mtx\"; y(i) = A(i,j)'", "E1311"),
        ("run 'insert A \"a.mtx\"; y(i) = A(i,j)' -d A:2,2", "E1012"),
        ("run 'insert A \"large.tns\"; read A \"a.mtx\"; print A' -d A:4,4", "E1012"),
        ("run 'insert A \"fraction.tns\"; print A' -d A:4,4 -t A:i8", "E0506"),
        ("run 'insert A \"a.mtx\"; s = A(i)' -d A:4", "E1011"),
        ("run 'n = u64(18446744073709551615); for k in 0 .. n { c = 1 }'", "E0607"),
        ("run 'fill x 1; y(i) = x(i)'", "E1311"),
        ("run 'n = nnz(A)' -i A:a.mtx", "E0623"),
        ("run 'y = x' -i x=2 -p x:toeplitz", "E1502"),
        ("run 'y = x' -i x=2 -p z:symmetric", "E0208"),
        ("run 'y = x' -i x=2 --emit cuda", "E1001"),
        ("run 'y = x' -i x=2 --emit nonsense", "E1005"),
        ("run 'y = x' -i x=2 --backend cuda", "E1002"),
        ("run 'y = x' -i x=2 --backend gcc", "E1003"),
        ("run 'y = x' -i x=2 --threads 0", "threads"),
        ("run 'y = x' -i x=2 --time 0", "time"),
        ("run 'y = x' -i x=2 --nonsense", "--nonsense"),
        ("run", "EXPR"),
        ("nonsense", "nonsense"),
        ("'y = x' -i x=2", "subcommand"),
        ("convert a.mtx b.tns -f xyz", "E0402"),
        ("convert a.mtx b.tns -f csf:0,1,2", "E0401"),
        ("plot a.mtx -o a.gif", "E1015"),
        ("plot t.tns -o t.png --mode 3", "E1016"),
    ] {
        folder.fail(line, 2, message);
    }
    // The name of a schema without its braces is letters, which may have another number of levels.
    folder.fail("run 'y(i) = A(i,j)' -i A:a.mtx -f A:btree", 2, "stands in braces, as in `d{btree}`");
    // The place is underlined, and there is a hint.
    let output = folder.run("run 'y(i) = A(i,j) * x(k)' -i A:a.mtx");
    assert!(output.err.contains("^^^^ read here") && output.err.contains("hint:"), "{}", output.err);
}

#[test]
fn files_that_cannot_be_read_end_in_3() {
    let folder = Folder::new();
    folder.write("short.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1\n");
    folder.write("outside.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n4 1 1\n");
    folder.write("words.tns", "1 1 one\n");
    folder.write("noise.bin", "\u{1}\u{2}\u{3}");
    for (line, message) in [
        ("run 'y(i) = A(i,j)' -i A:missing.mtx", "missing.mtx"),
        ("run 'y(i) = A(i,j)' -i A:.", "."),
        ("run 'y(i) = A(i,j)' -i A:short.mtx", "short.mtx:3: expected 5 entries"),
        ("run 'y(i) = A(i,j)' -i A:outside.mtx", "outside.mtx:3: expected a row index from 1 to 3"),
        ("run 'y(i) = A(i,j)' -i A:words.tns", "words.tns:1:"),
        ("run 'y(i) = A(i,j)' -i A:noise.bin", "noise.bin"),
        ("info missing.mtx", "missing.mtx"),
        ("convert missing.mtx b.tns", "missing.mtx"),
        ("convert a.mtx b.rb", "b.rb"),
        ("plot missing.mtx -o a.png", "missing.mtx"),
        ("plot a.mtx -o none/a.png", "none"),
        ("compile 'y = x' --emit-to a.mtx", "a.mtx"),
    ] {
        folder.fail(line, 3, message);
    }
}

#[test]
fn a_format_without_a_tensor_is_shown_as_it_was_written() {
    let folder = Folder::new();
    for (format, marked) in [("A:csr", "│ A:csr"), ("csx", "│ csx"), ("bsr", "did you mean `bcsr(4,4)`?")] {
        let output = folder.run(&format!("convert a.mtx b.tns -f {format}"));
        assert!(output.code == 2 && output.err.contains(marked) && !output.err.contains("A:A:"), "{output:#?}");
        assert!(output.err.contains("-f:1:"), "{output:#?}");
    }
}

#[test]
fn sizes_that_do_not_fit_end_in_4() {
    let folder = Folder::new();
    folder.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1000000000000000 4 1\n1 1 1\n");
    for line in [
        "run 'y(i) = x(i)' -g x:rand -d i:1000000000000000000",
        "run 'y(i,j) = x(i) * z(j)' -g x:ones -g z:ones -d i:100000 -d j:100000000000000",
        "run 'C(i,j) = x(i) * z(j)' -g x:ones -g z:ones -d i:9000000 -d j:9000000",
        "run 'y(i) = A(i,j)' -g 'A:sparse(0.5)' -d A:10000000000,10000000000",
        "run 'y(i) = A(i,j)' -i A:wide.mtx",
    ] {
        folder.fail(line, 4, "error");
    }
    let output = folder.run("run 'y(i) = x(i)' -g x:rand -d i:18446744073709551615");
    assert!(output.err.contains("out of memory: more bytes than") && !output.err.contains("551615"), "{output:?}");
    // The same matrix without a dense dimension.
    assert_eq!(folder.succeed("run 'y = A(i,j)' -i A:wide.mtx -f A:dcsr -o y:-"), "1.0\n");
}

#[test]
fn variables_of_sums_on_the_left_need_sizes() {
    let folder = Folder::new();
    for text in ["y(n + j) += x(j)", "y(2*n) = x(0)", "y(n - j) max= x(j)", "y(n) = x(0)"] {
        let message = "nothing tells the size of `n`";
        folder.fail(&format!("run '{text}' -g x:ones -d x:3"), 2, message);
        folder.fail(&format!("run '{text}' -g x:ones -d x:3 --json"), 2, "E0302");
    }
    let text = folder.succeed("run 'y(n + j) += x(j); print y' -g x:ones -d x:3 -d n:2");
    assert!(text.contains("\ny = [1, 2, 2, 1]\n"), "{text}");
}

#[test]
fn messages_name_what_can_be_done() {
    let folder = Folder::new();
    folder.write("p.tns", "1 1\n2 7\n");
    folder.fail("run 'y(i) = x(p(i))' -i x:p.tns -i p:p.tns", 3, "in `y(i) = x(p(i))`: confine it with `clamp`");
    let empty = folder.run("run 'y(i) = x(clamp(i))' -g x:ones -d x:0 -d i:3");
    assert!(empty.err.contains("E1307") && !empty.err.contains("confine it"), "{empty:?}");
    let names = "names end in .mtx, .mm, .tns, .npy, .npz, .h5 or .hdf5";
    folder.fail("run 'y(i) = x(i)' -i x:p.tns -o y:y.foo", 3, names);
    folder.fail("run 'P(i,j) = A(i,j)' -i A:a.mtx -f P:csr -o P:p.npy", 3, "store the tensor as `dense`");
    folder.fail("run 's = 1; read A \"a.mtx\"; y(i) = A(i,j)' -f A:auto", 2, "at the beginning, before all statements");
    folder.fail("run 'c = 1; c += 0.5 * x' -i x=3.0", 2, "begin with `1.0`");
}
