//! Levels of nodes on the command line: formats that name schemas, and schemas of a file or a program.

use crate::common::Folder;

const COUNTED: &str = "# a tree of blocks\nparam K = 3\n\
    def counted { l: counted  e: elem[B] nonempty  r: counted  up: parent  n: uint64  B: size in [1,K]  seq = l, {e}, r }\n\
    def counted_root { t: counted }\n";

#[test]
fn formats_name_schemas() {
    let folder = Folder::new();
    let text = folder.succeed("info a.mtx -f 'd{btree}'");
    assert!(text.starts_with("a.mtx as d{btree}: 5 entries, "), "{text}");
    assert!(text.contains("level 2: btree, root 3 x u32, node "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&folder.succeed("info a.mtx -f '{bst}s' --json")).unwrap();
    assert_eq!((&json["entries"], &json["values"]), (&5.into(), &5.into()));
    assert_eq!(json["levels"][0]["arrays"][1]["length"], 16);
    folder.succeed("convert a.mtx b.mtx -f 'd{blist<2>}:1,0'");
    assert!(folder.read("b.mtx").contains("\n1 1 1.0\n3 1 4.0\n1 3 2.0\n"), "{}", folder.read("b.mtx"));
    folder.succeed("plot a.mtx -o a.svg -f 'd{bst}'");
    let layouts = folder.succeed("compile 'y(i) = A(i,j) * x(j)' -f 'A:d{bst}' --emit nodes");
    assert!(layouts.starts_with("# bst\nbst: 4 words, 1 position\n  word 0 "), "{layouts}");
    let wrong = folder.run("info a.mtx -f 'd{btre}'");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("error[E0410]") && wrong.err.contains("did you mean `{btree}`?"), "{}", wrong.err);
    assert!(folder.succeed("run --help").contains("pactree<K=64,L=32>"));
}

#[test]
fn schemas_are_those_of_files_and_programs() {
    let folder = Folder::new();
    folder.write("counted.node", COUNTED);
    let text = folder.succeed("info a.mtx --schema counted.node -f 'd{counted<2>}'");
    assert!(text.contains("level 2: counted<2>"), "{text}");
    let run = "run 'y(i) = A(i,j) * x(j)' -f 'A:d{counted}' -i A:a.mtx -i x:x.mtx --schema counted.node --check --backend interp -o y:-";
    let text = folder.succeed(run);
    assert!(text.contains("1 201.0\n2 3000.0\n3 504.0\n"), "{text}");
    folder.write(
        "p.lac",
        &format!("-f 'A:d{{counted}}' -i A:a.mtx -i x:x.mtx\n{COUNTED}y(i) = A(i,j) * x(j)\nprint y\n"),
    );
    assert!(folder.succeed("run p.lac --backend interp").contains("y = [201, 3000, 504]"));
    folder.write("wrong.node", "def t {\n  e: elem\n  l: tt\n}\n");
    for line in [
        "info a.mtx -f '{t}s' --schema wrong.node",
        "convert a.mtx b.mtx --schema wrong.node",
        "run 'y = 1' --schema wrong.node",
    ] {
        let wrong = folder.run(line);
        assert_eq!(wrong.code, 2, "{line}");
        assert!(
            wrong.err.contains("error[E1603]: `tt` is no type") && wrong.err.contains("wrong.node:3:6"),
            "{}",
            wrong.err
        );
    }
    assert_eq!(folder.run("info a.mtx --schema nowhere.node -f csr").code, 3);
    let wrong = folder.run("run 'def bst { e: elem }; y = 1'");
    assert!(wrong.err.contains("error[E1615]") && wrong.err.contains("expression:1:5"), "{}", wrong.err);
}

#[test]
fn what_is_printed_defines_its_schemas() {
    let folder = Folder::new();
    let text = "def counted { l: counted  e: elem[B] nonempty  r: counted  B: size in [1,4]  seq = l, {e}, r }\n\
                def counted_root { t: counted }\ny(i) = A(i,j) * x(j)\n";
    folder.write("sum.lac", text);
    let flags = "-f 'A:d{counted}' -g A:ones -g x:ones -d A:3,3";
    for stage in ["program", "concrete"] {
        let printed = folder.succeed(&format!("compile sum.lac {flags} --emit {stage}"));
        assert_eq!(printed.matches("def counted {").count(), 1, "{printed}");
        folder.write("again.lac", &printed);
        let again = folder.succeed(&format!("run again.lac {flags}"));
        assert!(again.contains("y(0) = 3"), "{again}");
    }
}
