//! Structure of data: the structures that `info` finds in files, and their pictures by `plot`.

use crate::common::Folder;

/// A matrix file of entries that are counted from 1.
fn matrix(folder: &Folder, name: &str, dims: [u64; 2], field: &str, entries: &[&str]) {
    let [rows, columns] = dims;
    let head = format!("%%MatrixMarket matrix coordinate {field}\n{rows} {columns} {}\n", entries.len());
    folder.write(name, &(head + &entries.join("\n") + "\n"));
}

/// A symmetric matrix with a narrow band.
fn mesh(folder: &Folder) {
    let entries = ["1 1 2", "2 1 -1", "2 2 3", "3 2 -1", "3 3 2", "4 3 -5", "4 4 2"];
    matrix(folder, "mesh.mtx", [4, 4], "real symmetric", &entries);
}

#[test]
fn info_names_structures() {
    let folder = Folder::new();
    mesh(&folder);
    let text = folder.succeed("info mesh.mtx");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("structure")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("structure   -p A:symmetric      "), "{text}");
    assert!(lines[1].starts_with("structure   -p 'A:banded(1,1)'  so many diagonals below and above"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&folder.succeed("info mesh.mtx --json")).unwrap();
    let flags: Vec<&str> =
        json["structures"].as_array().unwrap().iter().map(|one| one["flag"].as_str().unwrap()).collect();
    assert_eq!(flags, ["A:symmetric", "A:banded(1,1)"]);
    assert_eq!(json["structures"][1]["name"], "banded");
    assert_eq!(json["structures"][1]["arguments"], serde_json::json!([1, 1]));
    matrix(&folder, "skew.mtx", [3, 3], "real skew-symmetric", &["2 1 7", "3 1 1", "3 2 4"]);
    assert!(folder.succeed("info skew.mtx").contains("-p A:skew "));
    matrix(&folder, "hermitian.mtx", [2, 2], "complex hermitian", &["1 1 1 0", "2 1 3 4"]);
    assert!(folder.succeed("info hermitian.mtx").contains("-p A:hermitian "));
    matrix(&folder, "none.mtx", [2, 2], "real general", &["1 1 1", "1 2 2", "2 1 3", "2 2 4"]);
    assert!(!folder.succeed("info none.mtx").contains("structure"));
    folder.write("v.tns", "2 1.5\n4 1.5\n");
    folder.succeed("info v.tns");
    folder.write("c.tns", "1 1 1 2\n2 2 2 3\n");
    assert!(folder.succeed("info c.tns").contains("-p A:diagonal "));
}

#[test]
fn diagonals_of_hermitian_matrices_are_real() {
    let folder = Folder::new();
    matrix(&folder, "a.mtx", [2, 2], "complex general", &["1 1 1 -1", "1 2 2 0", "2 1 2 0", "2 2 3 1"]);
    assert!(!folder.succeed("info a.mtx").contains("hermitian"));
    let expected = "element (0, 0) is 1-1i, but by its structure it is 1";
    folder.fail("run 'x(i,j) = A(i,j)' -i A:a.mtx -p A:hermitian", 3, expected);
    folder.fail("run 'x(i,j) = A(i,j)' -i A:a.mtx -p 'A(i,j): A(j,i) = conj(A(i,j))'", 3, expected);
    folder.fail("convert a.mtx b.mtx -f 'packed(hermitian)'", 3, expected);
    for format in ["dense", "csr"] {
        let made = format!(
            "run 'x = max(i, abs(imag(A(i,i)))); print x' -g A:rand -d A:3,3 -t A:c128 -f A:{format} -p A:hermitian -q"
        );
        assert_eq!(folder.succeed(&made).trim(), "x = 0", "{format}");
    }
}

#[test]
fn kernels_read_each_element_once() {
    let folder = Folder::new();
    mesh(&folder);
    let run = "run 'y(i) = A(i,j) * x(j)' -i A:mesh.mtx -g x:rand --check";
    let whole: serde_json::Value = serde_json::from_str(&folder.succeed(&format!("{run} --json"))).unwrap();
    let once: serde_json::Value =
        serde_json::from_str(&folder.succeed(&format!("{run} --json -p A:symmetric"))).unwrap();
    let entries = |outcome: &serde_json::Value| outcome["inputs"][0]["nnz"].as_u64();
    assert_eq!((entries(&whole), entries(&once)), (Some(10), Some(7)));
    let explained = folder.succeed(&format!("{run} -p A:symmetric --explain"));
    assert!(explained.contains("`A` is read once"), "{explained}");
    // A product with a tensor that has gaps reads all of it.
    let whole = folder.succeed("run 'C(i,j) = A(i,k) * A(k,j)' -i A:mesh.mtx -p A:symmetric --check --explain");
    assert!(!whole.contains("is read once"), "{whole}");
    assert!(whole.contains("`A` is stored whole: `C(i,j) = A(i,k) * A(k,j)` needs all of its elements"), "{whole}");
    let line = "-i A:mesh.mtx -p A:symmetric -g x:rand -g d:rand -d x:4 -d d:4 --check --explain";
    for (statement, why) in [
        ("r(i) = A(i,j) * x(j) / d(i)", "the sum with `A` is an operand of something else; as a statement of its own"),
        ("C(i,k) = A(i,j) * x(k) * d(j)", "`k` is no index of `A`"),
        ("s = A(i,j) * A(j,i) * x(i) * d(j)", "`A` stands more than once in a term"),
        ("r(i) = max(j, A(i,j) * x(j)) + d(i)", "the products are reduced by `max`, not added"),
        ("r(i) = exp(A(i,j)) * x(j) * d(j)", "`A` is no factor and no dividend there"),
    ] {
        let whole = folder.succeed(&format!("run '{statement}' {line}"));
        assert!(whole.contains(&format!("needs all of its elements: {why}")), "{whole}");
    }
    for (more, format, why) in [
        ("", "dia", "loops over dia are not loops over its own dimensions"),
        ("; print A", "csr", "an action prints, writes, counts or copies it"),
    ] {
        let line = format!("run 'y(i) = A(i,j) * x(j){more}' -i A:mesh.mtx -g x:rand -p A:symmetric -f A:{format}");
        let whole = folder.succeed(&format!("{line} --check --explain"));
        assert!(whole.contains(&format!("`A` is stored whole: {why}")), "{whole}");
    }
    // A format is chosen for the whole tensor, of which half is stored where the format allows it.
    for shape in ["-g 'A:sparse(0.3)' -d A:100,100", "-i A:mesh.mtx", "-g A:rand -d A:40,40"] {
        folder.succeed(&format!("run 'y(i) = A(i,j) * x(j)' {shape} -g x:rand -p A:symmetric -f A:auto --check"));
    }
    // A loop ends where the triangle does.
    let line = "run 'y(i) = A(i,j) * x(j)' -g A:rand -d A:9,9 -g x:rand -p A:lower --check --emit imp";
    let loops = folder.succeed(line);
    assert!(loops.contains("for j in 0 .. j_high") && loops.contains("nnz 45"), "{loops}");
    folder.succeed("run 'y(i) = A(i,j) * x(j)' -g A:rand -d A:9,9 -d w:2 -g x:rand -p 'A(i,j): i - j <= w' --check");
}

#[test]
fn files_are_compared_with_their_structures() {
    let folder = Folder::new();
    mesh(&folder);
    let line = "run 'y(i) = A(i,j) * x(j)' -i A:mesh.mtx -g x:rand -p A:upper";
    let expected = "error[E1308]: mesh.mtx does not have the structure that is declared of `A`: element (1, 0) is -1";
    folder.fail(line, 3, expected);
    folder.write("loop.lac", "read A \"mesh.mtx\"\ny(i) = A(i,j) * x(j)\nprint y\n");
    folder.succeed("run loop.lac -g x:ones -p A:symmetric");
    folder.fail("run loop.lac -g x:ones -p A:skew", 3, "by its structure");
}

#[test]
fn packed_formats_store_half() {
    let folder = Folder::new();
    mesh(&folder);
    let run = "run 'y(i) = A(i,j) * x(j)' -i A:mesh.mtx -g x:rand --check";
    let half = folder.succeed(&format!("{run} -f 'A:packed(symmetric)' --explain"));
    assert!(half.contains("`A` is read once") && half.contains("packed(symmetric)  4x4  nnz 7, 10 stored"), "{half}");
    let whole =
        folder.succeed("run 'C(i,j) = A(i,k) * A(k,j)' -i A:mesh.mtx -f 'A:packed(symmetric)' --check --explain");
    assert!(whole.contains("`A` (packed(symmetric)) is completed: the statement reads all of it"), "{whole}");
    // A file with a result has all of it.
    let line = "run 'C(i,j) = A(i,j) + A(i,j)' -i A:mesh.mtx -f 'A:packed(symmetric)' -f 'C:packed(symmetric)' -o C:c.mtx --check";
    let text = folder.succeed(&format!("{line} --explain"));
    assert!(text.contains("of `C` the unique elements alone are computed"), "{text}");
    assert!(folder.succeed("info c.mtx").contains("10 entries"));
    assert!(folder.succeed("info c.mtx").contains("-p A:symmetric"));
    let json: serde_json::Value = serde_json::from_str(&folder.succeed(&format!("{line} --json"))).unwrap();
    assert_eq!(
        (json["result"]["nnz"].as_u64(), json["inputs"][0]["bytes"].as_u64()),
        (Some(7), Some(10 * 8 + 20 + 16))
    );
    // The whole result is compared, which has no structure for all that is known of the operand then.
    let line = "run 'C(i,j) = 2 * A(i,j)' -g A:rand -d A:4,4 -p A:lower -f 'C:packed(lower)' --check";
    let checked = folder.succeed(line);
    assert!(checked.contains("agrees with the dense oracle"), "{checked}");
    let route = folder.succeed("convert mesh.mtx whole.mtx -f 'packed(banded(1,1))' --explain");
    assert!(route.contains("packed(banded(1,1)) unique: compare all elements with the structure"), "{route}");
    assert_eq!(folder.succeed("info whole.mtx").lines().nth(1), folder.succeed("info mesh.mtx").lines().nth(1));
    folder.succeed("plot mesh.mtx -o mesh.svg -f 'packed(symmetric)'");
    folder.succeed("run 'C(i,j) = X(t,i) * X(t,j)' -g X:rand -d X:3,5 -f 'C:packed(symmetric)' --check");
    // An operand that has every element makes a dense result.
    let line = "run 'C(i,j) = A(i,k) * A(k,j)' -i A:mesh.mtx -f 'A:packed(symmetric)' --check --json";
    let squared: serde_json::Value = serde_json::from_str(&folder.succeed(line)).unwrap();
    assert_eq!(squared["formats"]["C"], "dense");
}

#[test]
fn packed_formats_that_do_not_fit() {
    let folder = Folder::new();
    mesh(&folder);
    let run = "run 'y(i) = A(i,j) * x(j)' -i A:mesh.mtx -g x:rand";
    let expected = "error[E1308]: mesh.mtx does not have the structure that is declared of `A`: element (1, 0) is -1";
    folder.fail(&format!("{run} -f 'A:packed(upper)'"), 3, expected);
    folder.fail(&format!("{run} -f 'A:packed(chess)'"), 2, "E0411");
    folder.fail(
        "convert mesh.mtx upper.mtx -f 'packed(upper)'",
        3,
        "the tensor does not have the structure of `packed(upper)`: element (1, 0) is -1, but by its structure it is 0",
    );
    matrix(&folder, "wide.mtx", [2, 3], "real general", &["1 3 1"]);
    for line in ["convert wide.mtx half.mtx -f 'packed(symmetric)'", "info wide.mtx -f 'packed(symmetric)'"] {
        folder.fail(line, 2, "error[E1309]: the tensor does not have the structure of `packed(symmetric)`");
        folder.fail(line, 2, "-f:1:1");
    }
    folder.fail("convert mesh.mtx chess.mtx -f 'packed(chess)'", 2, "E0411");
    folder.fail(
        "run 'C(i,j) = A(i,k) * B(k,j)' -g A:rand -g B:rand -d A:3,3 -d B:3,3 -f 'C:packed(symmetric)'",
        2,
        "E1310",
    );
}

#[test]
fn sizes_that_the_text_does_not_name_are_explained() {
    let folder = Folder::new();
    let text = folder.succeed("compile 'y(i) = a(i - j) * x(j)' --emit structure");
    assert!(
        text.contains("[n_i, n_j, n_i_at]") && text.ends_with("n_i_at: the size of dimension 0 of `a`\n"),
        "{text}"
    );
    let plain = folder.succeed("compile 'y(i) = A(i,j) * x(j)' --emit structure");
    assert!(!plain.contains("the size of"), "{plain}");
}

#[test]
fn plot_shows_what_follows() {
    let folder = Folder::new();
    mesh(&folder);
    folder.succeed("plot mesh.mtx -o mesh.svg -p A:symmetric");
    let picture = folder.read("mesh.svg");
    assert!(picture.contains("7 unique") && picture.contains("3 derived from them"), "{picture}");
    folder.succeed("plot mesh.mtx -o mesh.png -p 'A(i,j): A(j,i) = A(i,j); i - j <= 1' -f csr");
    folder.succeed("plot mesh.mtx -o band.svg -p 'A:banded(1)'");
    assert!(folder.read("band.svg").contains("0 derived from them"));
    let lines = [
        (
            "plot mesh.mtx -o mesh.svg -p A:upper",
            "error[E1308]: mesh.mtx: element (1, 0) is -1, but by its structure it is 0",
        ),
        (
            "plot mesh.mtx -o mesh.svg -p A:skew",
            "error[E1308]: mesh.mtx: element (0, 0) is 2, but by its structure it is 0",
        ),
    ];
    lines.into_iter().for_each(|(line, message)| folder.fail(line, 3, message));
    folder.fail("plot mesh.mtx -o mesh.svg -p A:symetric", 2, "E1501");
    folder.fail("plot mesh.mtx -o mesh.svg -p 'A(i,j): i <= k'", 2, "E1309");
    matrix(&folder, "wide.mtx", [2, 3], "real general", &["1 3 1"]);
    folder.fail("plot wide.mtx -o wide.svg -p A:symmetric", 2, "E1309");
    folder.write("c.tns", "1 1 1 2\n2 2 2 3\n");
    folder.succeed("plot c.tns -o c.svg -p A:symmetric");
}

#[test]
fn a_file_may_have_the_unique_elements_alone() {
    let folder = Folder::new();
    matrix(&folder, "upper.mtx", [3, 3], "real general", &["1 1 2", "1 3 1", "2 2 5", "2 3 4"]);
    matrix(&folder, "lower.mtx", [3, 3], "real general", &["1 1 2", "3 1 1"]);
    let line = "run 'y(i) = A(i,j) * x(j)' -g x:ones -o y:-";
    for format in ["csr", "dense", "coo", "auto", "bcsr(2,2)", "packed(symmetric)"] {
        let flags = format!("-f 'A:{format}' -p A:symmetric --unique A -i A:upper.mtx --check");
        assert_eq!(folder.succeed(&format!("{line} {flags}")), "1 3.0\n2 9.0\n3 5.0\n", "{format}");
    }
    folder.succeed("run 'y(i) = A(i,j) * x(j)' -g x:ones -g A:rand -d A:3,3 -p A:symmetric --unique A --check");
    folder.fail(&format!("{line} -p A:symmetric --unique A -i A:lower.mtx"), 3, "element (2, 0) is 1");
    folder.fail(&format!("{line} -p A:symmetric -i A:upper.mtx"), 3, "`--unique A`");
}
