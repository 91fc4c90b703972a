//! Programs of actions in files: the examples, each against a reference that is computed here by other means, and the flags.

use std::path::Path;

use lacunar_base::day::is_turn;
use serde_json::Value;

use crate::common::Folder;

/// A folder with the examples and their data.
fn examples() -> Folder {
    let folder = Folder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::create_dir_all(folder.path("examples/data")).unwrap();
    for (from, to) in [(source.clone(), "examples"), (source.join("data"), "examples/data")] {
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            std::fs::copy(entry.path(), folder.path(to).join(entry.file_name())).unwrap();
        }
    }
    folder
}

/// Runs an example and gives a result of order 1, of this size.
fn vector(folder: &Folder, flags: &str, name: &str, size: usize) -> Vec<f64> {
    let text = folder.succeed(&format!("run examples/{flags} -o {name}:-"));
    let mut values = vec![0.0; size];
    for line in text.lines() {
        let (place, value) = line.split_once(' ').unwrap();
        values[place.parse::<usize>().unwrap() - 1] = value.parse().unwrap();
    }
    values
}

/// The entries of a matrix of the examples, from 0, mirrored if the file says so.
fn entries(folder: &Folder, file: &str) -> (usize, Vec<(usize, usize, f64)>) {
    let text = folder.read(&format!("examples/data/{file}"));
    let is_symmetric = text.lines().next().unwrap().contains("symmetric");
    let mut lines = text.lines().filter(|line| !line.starts_with('%'));
    let size = lines.next().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let mut found = Vec::new();
    for line in lines {
        let words: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let (i, j) = (words[0] as usize - 1, words[1] as usize - 1);
        let value = words.get(2).copied().unwrap_or(1.0);
        found.push((i, j, value));
        if is_symmetric && i != j {
            found.push((j, i, value));
        }
    }
    (size, found)
}

/// Solves `matrix x = right` by elimination.
fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for k in 0..size {
        let pivot = (k..size).max_by(|&a, &b| matrix[a][k].abs().total_cmp(&matrix[b][k].abs())).unwrap();
        matrix.swap(k, pivot);
        right.swap(k, pivot);
        let (pivots, of_pivots) = (matrix[k].clone(), right[k]);
        for (row, value) in
            matrix.iter_mut().zip(&mut right).enumerate().filter(|(row, _)| *row != k).map(|(_, row)| row)
        {
            let factor = row[k] / pivots[k];
            row.iter_mut().zip(&pivots).for_each(|(element, pivot)| *element -= factor * pivot);
            *value -= factor * of_pivots;
        }
    }
    (0..size).map(|k| right[k] / matrix[k][k]).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{k}: {a} is not {b}");
    }
}

#[test]
fn pagerank_solves_its_linear_system() {
    let folder = examples();
    let (n, links) = entries(&folder, "karate.mtx");
    let mut matrix = vec![vec![0.0; n]; n];
    let degree = |j: usize| links.iter().filter(|link| link.1 == j).count() as f64;
    (0..n).for_each(|i| matrix[i][i] = 1.0);
    links.iter().for_each(|&(i, j, _)| matrix[i][j] -= 0.85 / degree(j));
    let expected = solved(matrix, vec![0.15 / n as f64; n]);
    assert_close(&vector(&folder, "pagerank.lac", "p", n), &expected, 1e-10);
}

#[test]
fn searches_find_the_distances_of_floyd_and_warshall() {
    let folder = examples();
    let distances = |file: &str, unit: bool| {
        let (n, links) = entries(&folder, file);
        let mut far = vec![vec![f64::INFINITY; n]; n];
        (0..n).for_each(|i| far[i][i] = 0.0);
        links.iter().for_each(|&(i, j, length)| far[i][j] = if unit { 1.0 } else { length });
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    far[i][j] = f64::min(far[i][j], far[i][k] + far[k][j]);
                }
            }
        }
        far
    };
    let hops: Vec<f64> = distances("karate.mtx", true)[0].iter().map(|hops| hops + 1.0).collect();
    assert_eq!(vector(&folder, "bfs.lac", "v", hops.len()), hops);
    let lengths = &distances("roads.mtx", false)[0];
    assert_eq!(lengths.iter().filter(|length| length.is_infinite()).count(), 2);
    let found = vector(&folder, "sssp.lac", "d", lengths.len());
    let reached = |(length, found): (&f64, &f64)| if length.is_finite() { *found } else { *length };
    assert_eq!(&lengths.iter().zip(&found).map(reached).collect::<Vec<_>>(), lengths);
}

#[test]
fn components_are_those_of_merged_sets() {
    let folder = examples();
    let (n, links) = entries(&folder, "links.mtx");
    let mut of: Vec<usize> = (0..n).collect();
    for (i, j, _) in links {
        let (a, b) = (of[i], of[j]);
        of.iter_mut().filter(|of| **of == a).for_each(|of| *of = b);
    }
    let least = |i: usize| (0..n).filter(|&j| of[j] == of[i]).min().unwrap() as f64;
    let expected: Vec<f64> = (0..n).map(least).collect();
    assert_eq!(vector(&folder, "components.lac", "c", n), expected);
    assert!(folder.succeed("run examples/triangles.lac").contains("\nt = 45\n"));
}

#[test]
fn solvers_solve() {
    let folder = examples();
    for (file, shift) in [("cg.lac", 1.0), ("bicgstab.lac", 2.0)] {
        let (n, entries) = entries(&folder, "stiffness.mtx");
        let b = vec![1.0; n];
        let ones: String = (1..=n).map(|k| format!("{k} 1.0\n")).collect();
        folder.write("ones.tns", &ones);
        let text = folder.read(&format!("examples/{file}")).replace("-g b:rand", "-i b:ones.tns");
        folder.write(&format!("examples/{file}"), &text);
        let x = vector(&folder, file, "x", n);
        let mut product: Vec<f64> = x.iter().map(|x| shift * x).collect();
        entries.iter().for_each(|&(i, j, value)| product[i] += value * x[j]);
        assert_close(&product, &b, 1e-8);
    }
}

#[test]
fn trusses_are_those_of_counted_triangles() {
    let folder = examples();
    let (n, links) = entries(&folder, "karate.mtx");
    let mut left = vec![vec![false; n]; n];
    links.iter().for_each(|&(i, j, _)| left[i][j] = true);
    let count = loop {
        let triangles = |i: usize, j: usize| (0..n).filter(|&k| left[i][k] && left[k][j]).count();
        let next: Vec<Vec<bool>> =
            (0..n).map(|i| (0..n).map(|j| left[i][j] && triangles(i, j) >= 2).collect()).collect();
        if next == left {
            break left.iter().flatten().filter(|left| **left).count();
        }
        left = next;
    };
    assert!(folder.succeed("run examples/ktruss.lac").contains(&format!("\nleft = {count}\n")));
}

#[test]
fn betweenness_is_that_of_counted_paths() {
    let folder = examples();
    let (n, links) = entries(&folder, "karate.mtx");
    let from = |source: usize| {
        let (mut depth, mut paths) = (vec![usize::MAX; n], vec![0.0; n]);
        (depth[source], paths[source]) = (0, 1.0);
        for level in 0..n {
            for &(i, j, _) in links.iter().filter(|(i, ..)| depth[*i] == level).collect::<Vec<_>>() {
                if depth[j] > level {
                    depth[j] = level + 1;
                    paths[j] += paths[i];
                }
            }
        }
        (depth, paths)
    };
    let all: Vec<(Vec<usize>, Vec<f64>)> = (0..n).map(from).collect();
    let mut expected = vec![0.0; n];
    for s in 0..n {
        for t in (0..n).filter(|&t| t != s) {
            for v in (0..n).filter(|&v| v != s && v != t && all[s].0[v] + all[v].0[t] == all[s].0[t]) {
                expected[v] += all[s].1[v] * all[v].1[t] / all[s].1[t];
            }
        }
    }
    assert_close(&vector(&folder, "betweenness.lac", "total", n), &expected, 1e-10);
}

#[test]
fn a_tensor_of_rank_3_is_taken_apart() {
    let folder = examples();
    let text = folder.succeed("run examples/cpals.lac");
    let error = text.lines().rev().find_map(|line| line.strip_prefix("error = ")?.parse::<f64>().ok());
    assert!(error.is_some_and(|error| error < 1e-3), "{text}");
}

#[test]
fn clusters_are_stable() {
    let folder = examples();
    let counts = vector(&folder, "kmeans.lac", "n", 4);
    assert_eq!(counts.iter().sum::<f64>(), 300.0);
    let change = folder.succeed("run examples/kmeans.lac --check");
    assert!(change.contains("agrees with the dense oracle"), "{change}");
}

#[test]
fn a_graph_that_grows_is_that_of_its_file() {
    let folder = examples();
    let (n, links) = entries(&folder, "karate.mtx");
    let degree = |j: usize| links.iter().filter(|link| link.1 == j).count() as f64;
    let mut rank = vec![1.0 / n as f64; n];
    for _ in 0..20 {
        let mut next = vec![0.15 / n as f64; n];
        links.iter().for_each(|&(i, j, _)| next[i] += 0.85 * rank[j] / degree(j));
        rank = next;
    }
    // The formats of command lines take precedence over those of the file.
    for flags in ["", "-f A:csr -f B:csr", "-f 'A:{bst}{blist<2>}' -f 'B:{bst}{blist<2>}' --backend c"] {
        assert_close(&vector(&folder, &format!("stream.lac {flags}"), "r", n), &rank, 1e-12);
        let text = folder.succeed(&format!("run examples/stream.lac {flags}"));
        assert!(text.contains("links = 26\nlinks = 52\nlinks = 78\nlinks = 104\n"), "{text}");
        assert!(text.contains("late = 78\nleft = 130\n"), "{text}");
    }
    folder.write("new.tns", "1 2 1.5\n2 1 2.5\n");
    let program = "insert A \"new.tns\"; A(i,j) = 2 * A(i,j); insert A \"new.tns\" 0 .. 1; print A";
    let text = folder.succeed(&format!("run '{program}' -d A:2,2 -f A:d{{bst}}"));
    assert!(text.contains("A = [[0, 1.5], [5, 0]]"), "{text}");
    folder.write("wide.tns", "1 40 1.0\n");
    let refused = folder.run("run 'insert A \"wide.tns\"; y(i) = A(i,j) * x(j)' -f 'A:d{bst}' -d A:34,34 -g x:ones");
    assert_ne!(refused.code, 0, "{}", refused.err);
    let unknown = folder.run("run 'insert A \"wide.tns\"; s = sum(i, sum(j, A(i,j)))' -f 'A:d{bst}'");
    assert_ne!(unknown.code, 0, "{}", unknown.err);
    assert!(unknown.err.contains("sizes"), "{}", unknown.err);
}

#[test]
fn examples_are_short_and_agree_with_the_oracle() {
    let folder = examples();
    assert!(folder.succeed("run examples/torus.lac").contains("alive = 5\nmoved = false\n"));
    for name in ["betweenness", "cpals", "cg", "bicgstab", "life", "torus"] {
        assert!(folder.read(&format!("examples/{name}.lac")).lines().count() <= 30, "{name}");
    }
    for (number, name) in ["pagerank", "bfs", "components", "triangles", "kmeans", "ktruss"].into_iter().enumerate() {
        assert!(folder.read(&format!("examples/{name}.lac")).lines().count() <= 30, "{name}");
        let ways = ["", "--backend c", "--threads 2 --strict"].into_iter().enumerate();
        for (_, flags) in ways.filter(|(way, _)| is_turn(number + way, 3)) {
            let text = folder.succeed(&format!("run examples/{name}.lac --check {flags}"));
            assert!(text.contains("agrees with the dense oracle"), "{text}");
        }
    }
    folder.fail("run examples/cg.lac --check", 2, "E1021");
}

#[test]
fn programs_in_files_print_read_and_write() {
    let folder = Folder::new();
    let program = "-f A:csr -g x:ones\nread A \"a.mtx\"\nfor k in 0 .. 2 {\n  y(i) = A(i,j) * x(j)\n  print y\n}\nwrite y \"y.tns\"\n";
    folder.write("p.lac", program);
    let text = folder.succeed("run p.lac");
    assert!(text.contains("\ny = [3, 3, 9]\ny = [3, 3, 9]\n"), "{text}");
    assert_eq!(folder.read("y.tns"), "1 3.0\n2 3.0\n3 9.0\n");
    let output = folder.run("run p.lac --json --time 3");
    assert_eq!(output.err, "y = [3, 3, 9]\ny = [3, 3, 9]\n");
    let json: Value = serde_json::from_str(&output.out).unwrap();
    assert!(json["total_ms"].as_f64().unwrap() >= json["kernel_ms"].as_f64().unwrap());
    assert_eq!(json["flops"].as_f64(), Some(2.0 * 2.0 * 5.0));
    let emitted = folder.succeed("compile p.lac --emit program");
    assert_eq!(emitted, program.split_once('\n').unwrap().1);
    // A flag gives the tensor instead of the file.
    folder.write("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 7\n");
    assert!(folder.succeed("run p.lac -i A:b.mtx").contains("\ny = [7, 0, 0]\n"));
    folder.fail("run 'while c > 0 { y(i) = x(i) }' -g x:ones -d x:2", 2, "E0203");
}

#[test]
fn files_that_are_wrong_are_shown_where_the_program_names_them() {
    let folder = Folder::new();
    folder.write("long.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 5 1\n");
    folder.write("half.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0.5\n");
    // Files that are read before anything is compiled, and such that are read later.
    for (before, line) in [("", 2), ("b = 1\n", 3)] {
        let program = |file: &str| format!("-f A:csr\n{before}read A \"{file}\"\ny(i) = sum(j, A(i,j))\nprint y\n");
        for (file, flags, exit, code) in [
            ("none.mtx", "", 3, "E1101"),
            ("long.mtx", "", 3, "E1102"),
            ("half.mtx", "-d A:7,7", 2, "E1012"),
            ("half.mtx", "-t A:i32", 2, "E0506"),
        ] {
            folder.write("p.lac", &program(file));
            let output = folder.run(&format!("run p.lac {flags}"));
            let has = |text: &str| output.err.contains(text);
            assert!(output.code == exit && has(code) && has(&format!("p.lac:{line}:1\n")), "{file}: {output:#?}");
        }
    }
    folder.fail("run 'y(i) = x(i); insert y \"none.tns\"' -g x:ones -d x:3", 3, "expression:1:14");
    folder.fail("run 'y(i) = x(i); write y \"y.none\"' -g x:ones -d x:3", 3, "expression:1:14");
}

#[test]
fn what_entries_are_put_into_is_0_elsewhere() {
    let folder = Folder::new();
    let prints = |line: &str, expected: &str| {
        let text = folder.succeed(line);
        assert!(text.contains(expected), "{line}: {text}");
    };
    folder.write("two.tns", "1 1 1\n1 2 2\n");
    let flags = "-f A:csr -d A:2,2";
    for (insert, combined) in [("insert A", "*= 2"), ("b = 1; read A", "*= 2"), ("insert A", "+= A(i,j)")] {
        let program = format!("run '{insert} \"two.tns\"; A(i,j) {combined}; y(i) = sum(j, A(i,j)); print y' {flags}");
        prints(&program, "\ny = [6, 0]\n");
    }
    prints(&format!("run 'insert A \"two.tns\"; A(i,j) min= 2; y(i) = A(i,j); print y' {flags}"), "\ny = [3, 0]\n");
}

#[test]
fn entries_are_put_into_a_sparse_tensor_unless_another_format_is_named() {
    let folder = Folder::new();
    folder.write("two.tns", "1 1 1\n2 2 2\n");
    let program = "insert A \"two.tns\"\ny(i) = sum(j, A(i,j))\nprint y\nwrite A \"out.mtx\"\n";
    folder.write("p.lac", program);
    // A dense matrix would take 72 terabytes.
    let text = folder.succeed("run p.lac -d A:3000000,3000000 -d y:3000000");
    assert!(text.contains("(0) 1, (1) 2, (2) 0"), "{text}");
    folder.write(
        "q.lac",
        "insert A \"two.tns\"; snapshot B, A; remove A \"two.tns\"; fill a nnz(A); fill b nnz(B); print a; print b",
    );
    assert!(folder.succeed("run q.lac -d A:3,3 -d B:3,3").contains("\na = 0\nb = 2\n"));
    for format in ["d{btree}", "{bst}{btree}", "csr", "dcsr"] {
        let flags = format!("-f A:{format} -d A:100000,4000000000 --fill A:2");
        let text = folder.succeed(&format!("run 'fill A 2; insert A \"two.tns\"; fill n nnz(A); print n' {flags}"));
        assert!(text.contains("\nn = 2\n"), "{format}: {text}");
    }
    std::fs::remove_file(folder.path("out.mtx")).unwrap();
    // Nothing is run or written.
    folder.fail("run p.lac -d A:3,3 --check", 2, "E1021");
    assert!(!folder.path("out.mtx").exists());
    folder.fail("run 'insert A \"two.tns\" -1 .. 2; y(i) = A(i,j)' -d A:3,3", 2, "E0607");
}

#[test]
fn types_follow_from_what_tensors_are_for() {
    let folder = Folder::new();
    folder.write("p.tns", "1 1\n2 0\n");
    folder.write("z.tns", "1 2.5\n2 7\n");
    let prints = |line: &str, expected: &str| {
        let text = folder.succeed(line);
        assert!(text.contains(expected), "{line}: {text}");
    };
    // Values that are indices are integers, whatever gives them.
    prints("run 'y(i) = z(p(i)); print y' -i z:z.tns -i p:p.tns", "\ny = [7, 2.5]\n");
    prints("run 'random p arange; y(i) = z(p(i)); print y' -i z:z.tns -d p:2", "\ny = [2.5, 7]\n");
    prints("run 'b = 1; read p \"p.tns\"; y(i) = z(p(i)); print y' -i z:z.tns", "\ny = [7, 2.5]\n");
    folder.fail("run 'y(i) = z(p(i))' -i z:z.tns -i p:z.tns", 2, "E0506");
    // A tensor that an action gives values to is none that looks like a function.
    prints("run 'fill q 1; y(j) = q(p(j)); print y' -i p:p.tns -d q:2", "\ny = [1, 1]\n");
    // A snapshot has the type of its tensor.
    prints("run 'a = 3; snapshot b, a; print b'", "\nb = 3\n");
    prints("run 'y(i) = z(i) > 3; snapshot b, y; print b' -i z:z.tns", "\nb = [false, true]\n");
    // A tensor that only `nnz` names has the dimensions of its file.
    prints("run 'n = 1; if nnz(z) > 1 { n += 1 }; print n' -i z:z.tns -f z:sv", "\nn = 2\n");
}

#[test]
fn zeros_that_are_made_up_are_elements() {
    let folder = Folder::new();
    for format in ["sv", "d", "h", "r"] {
        let flags = format!("-f x:{format} --fill x:2 -d x:3");
        let text = folder.succeed(&format!("run 'random x arange; print x; y(i) = x(i)' {flags}"));
        assert!(text.contains("x = [0, 1, 2]"), "{format}: {text}");
        let given = folder.succeed(&format!("run 'y(i) = x(i); print y' -g x:arange {flags}"));
        assert!(given.contains("y = [0, 1, 2]"), "{format}: {given}");
    }
}

#[test]
fn what_fills_up_is_no_entry() {
    let folder = Folder::new();
    folder.write("a.tns", "1 1 1\n1 2 2\n1 3 4\n2 1 7\n");
    for format in
        ["csr", "ell", "sell(2)", "sell(4)", "sell(2,4)", "dd{blist<4>}:0/3,0%3,1", "bcsr(2,2)", "dia", "dl", "dh"]
    {
        let line =
            format!("run 'read A \"a.tns\"; c = 0; fill c nnz(A); print c; y(i) = A(i,j)' -f 'A:{format}' -d A:5,3");
        let text = folder.succeed(&line);
        assert!(text.contains("c = 4\n") && text.contains("  nnz 4"), "{format}: {text}");
    }
    // A value that stands for several elements is as many entries.
    folder.write("r.tns", "1 1 5\n1 2 5\n1 3 5\n");
    let text = folder.succeed("run 'read A \"r.tns\"; c = 0; fill c nnz(A); print c; y(i) = A(i,j)' -f A:dg -d A:2,3");
    assert!(text.contains("c = 3\n"), "{text}");
}

#[test]
fn what_is_shown_of_a_structured_tensor_is_all_of_it() {
    let folder = Folder::new();
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n1 2 2\n2 1 2\n2 3 4\n3 2 4\n");
    for format in ["csr", "dense", "dd:1,0", "d{btree}"] {
        let text = folder.succeed(&format!(
            "run 'read A \"a.mtx\"; print A; fill n nnz(A); print n; write A \"o.tns\"; y(i) = A(i,j) * x(j)' \
             -p A:symmetric -f A:{format} -g x:ones"
        ));
        assert!(
            text.contains("A = [[1, 2, 0], [2, 0, 4], [0, 4, 0]]\n") && text.contains("n = 5\n"),
            "{format}: {text}"
        );
        let written = folder.read("o.tns");
        let is_entry = |line: &&str| !line.starts_with('#') && !line.ends_with(" 0.0");
        assert_eq!(written.lines().filter(is_entry).count(), 5, "{format}: {written}");
    }
}

#[test]
fn sparse_tensors_of_different_fill_values_are_not_swapped() {
    let folder = Folder::new();
    folder.write("z.tns", "1 2.5\n2 7\n");
    let program = "'x(i+1) *= z(i); y(i+1) = z(i); swap x, y; x(i+1) = z(i); print x; print y'";
    let line = |flags: &str| format!("run {program} -i z:z.tns -d x:3 -d y:3 {flags}");
    folder.fail(&line("-f x:sv -f y:sv"), 2, "E0610");
    folder.succeed(&line("-f x:sv -f y:sv --fill x:0"));
    folder.succeed(&line(""));
}

#[test]
fn what_a_loop_without_a_round_assigns_has_no_value() {
    let folder = Folder::new();
    folder.write("z.tns", "1 2.5\n2 7\n");
    folder.fail("run 'n = 0; for k in 5 .. n { y(i) += k * x(i) }; print y' -i x:z.tns", 2, "E0203");
    folder.fail("run 'n = 0; for k in 0 .. n { a = k }; y(i) = k * x(i)' -i x:z.tns", 2, "E0203");
}

#[test]
fn mistakes_in_types_and_sizes_wait_for_files() {
    let folder = Folder::new();
    folder.write("z.tns", "1 2.5\n2 7\n");
    let text = folder.succeed("run 'x(i) *= 2; swap x, y; print x' -i x:z.tns -i y:z.tns");
    assert!(text.contains("x = [2.5, 7]\n"), "{text}");
    folder.succeed("run 'snapshot b, x; x(i) *= 2; print b' -i x:z.tns");
    folder.fail("run 'x(i) *= 2; swap x, y; print x' -i x:z.tns -i y:z.tns -t x:f32 -t y:f64", 2, "E0610");
    folder.write("a.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n");
    let text = folder.succeed("run 'y(3*i + j) = A(i,j); print y' -i A:a.mtx");
    assert!(text.contains("y = [1, 2, 3, 4, 5, 6]\n"), "{text}");
    folder.fail("run 'y(2*i + j) = A(i,j); print y' -i A:a.mtx", 2, "E0612");
}

/// A program reads a file as `-i` does, wherever it does so, and reads back its own files.
#[test]
fn files_are_read_alike_everywhere_in_a_program() {
    let folder = Folder::new();
    let prints = |line: &str, expected: &str| {
        let text = folder.succeed(line);
        assert!(text.contains(expected), "{line}: {text}");
    };
    // The base of indices is that of all files.
    folder.write("e.tns", "1 2 5\n0 1 7\n");
    let row = "y(i) = A(i,j); print y' -f 'A:d{btree}' -d A:3,4 -t A:f64 --base 0";
    prints(&format!("run 'insert A \"e.tns\"; {row}"), "\ny = [7, 5, 0]\n");
    prints(&format!("run 'insert A \"e.tns\"; remove A \"e.tns\" 0 .. 1; {row}"), "\ny = [7, 0, 0]\n");
    // `remove` needs the coordinates of a file, and no values.
    folder.write("half.tns", "0 1 2.5\n");
    let taken = "insert A \"e.tns\"; remove A \"half.tns\"; y(i) = A(i,j); print y";
    prints(&format!("run '{taken}' -f 'A:d{{btree}}' -d A:3,4 -t A:i8 --base 0"), "\ny = [0, 5, 0]\n");
    prints(&format!("run 's = 1; read A \"e.tns\"; {row}"), "\ny = [7, 5, 0]\n");
    folder.succeed("run 'write x \"w.tns\"; y(i) = x(i)' -i x:x.mtx -f x:sv --base 0 -o y:y.tns");
    assert!(folder.read("w.tns").starts_with("0 1.0\n1 10.0\n") && folder.read("y.tns").starts_with("0 1.0\n"));
    folder.succeed("convert e.tns f.tns --base 0");
    assert_eq!(folder.read("f.tns"), "1 2 5.0\n0 1 7.0\n");
    // Values are read exactly, or not at all.
    folder.write("u.tns", "1 300\n2 2.5\n");
    folder.fail("run 's = 1; read q \"u.tns\"; y(i) = q(i)' -t q:i64", 2, "E0506");
    folder.fail("run 'insert q \"u.tns\" 0 .. 1; y(i) = q(i)' -t q:u8 -d q:4", 2, "E0506");
    folder.write("c.mtx", "%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 4\n");
    folder.fail("run 's = 1; read q \"c.mtx\"; y(i,j) = q(i,j)' -t q:f64", 2, "E0506");
    // A read gives the values that the program has written, not the ones from before it began.
    folder.write("t.tns", "1 10\n2 20\n");
    let again = "read A \"t.tns\"; B(i) = A(i) * 2; write B \"t.tns\"; read A \"./t.tns\"; y(i) = A(i); print y";
    prints(&format!("run '{again}'"), "\ny = [20, 40]\n");
    prints(&format!("run 'for k in 0 .. 2 {{ {again} }}'"), "\ny = [80, 160]\n");
    prints("run 's = 1; read A \"a.mtx\"; n = sum(i,j, A(i,j)); print n' -t A:pattern -d i:3 -d j:4", "\nn = ");
}

#[test]
fn places_of_what_a_program_writes_are_checked_first() {
    let folder = Folder::new();
    folder.fail("run 'y(i) = A(i,j); print y; write y \"none/y.tns\"' -i A:a.mtx", 3, "E1014");
    let output = folder.run("run 'B(i,j) = 2 * A(i,j); print B; write B \"b.npy\"' -i A:a.mtx -f B:csr");
    assert!(output.err.contains("E1104") && !output.out.contains("B ="), "{output:?}");
}

/// A `read` behind a statement takes the type of its file, as one at the beginning does.
#[test]
fn late_reads_have_the_types_of_their_files() {
    let folder = Folder::new();
    let prints = |line: &str, expected: &str| {
        let text = folder.succeed(line);
        assert!(text.contains(expected), "{line}: {text}");
    };
    folder.write("c.mtx", "%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 4\n");
    folder.succeed("convert c.mtx c.npy");
    for file in ["c.mtx", "c.npy"] {
        let sum = format!("read c \"{file}\"; t = sum(i,j, imag(c(i,j))); print t");
        prints(&format!("run '{sum}'"), "\nt = 6\n");
        prints(&format!("run 's = 1; {sum}'"), "\nt = 6\n");
    }
    // Sums of bytes are bytes.
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len() + 1).unwrap().to_le_bytes());
    bytes.extend(format!("{header}\n").bytes().chain([200, 100]));
    std::fs::write(folder.path("u.npy"), bytes).unwrap();
    prints("run 's = 1; read u \"u.npy\"; t = sum(i, u(i)); print t'", "\nt = 44\n");
    prints("run 's = 1; read u \"u.npy\"; t = sum(i, u(i)); print t' -t u:f64", "\nt = 300\n");
    // A type that a statement gives before stays, and a written file has the type of its tensor.
    folder.fail("run 'c(i,j) = 1.5 * x(i,j); read c \"c.mtx\"; t(i,j) = c(i,j)' -i x:x.mtx", 2, "E0506");
    folder.write("w.mtx", "%%MatrixMarket matrix array complex general\n4 1\n1 2\n3 4\n1 2\n3 4\n");
    prints(
        "run 'y(i,j) = x(i,j); write y \"w.mtx\"; read z \"./w.mtx\"; t = sum(i,j, z(i,j)); print t' -i x:x.mtx",
        "\nt = 1111\n",
    );
}

#[test]
fn what_is_filled_alone_is_a_number() {
    let folder = Folder::new();
    let text = folder.succeed("run 'y(i) = A(i,j); fill n nnz(A); print n' -i A:a.mtx");
    assert!(text.contains("\nn = 5\n"), "{text}");
    let text = folder.succeed("run 'fill n 2; snapshot m, n; print m'");
    assert!(text.contains("\nm = 2\n"), "{text}");
    folder.fail("run 'random n ones; fill n 2; print n'", 2, "E0609");
}

#[test]
fn lines_of_a_statement_are_no_flags() {
    let folder = Folder::new();
    folder.write("p.lac", "-i x:x.mtx   # (\ny(i) = x(i) * (1 # )\n - x(i)) -\n  -x(i)\nprint y\n");
    let text = folder.succeed("run p.lac");
    assert!(text.contains("\ny = [1, -80, -9800, -998000]\n"), "{text}");
}

#[test]
fn lines_for_tensors_say_how_files_are_read() {
    let folder = Folder::new();
    folder.write(
        "k.lac",
        "forall i\n  forall j\n    y(i) += A(i,j) * x(j)\ny: f64 dense result\nA: f32 csc input\nx: f64 dense input\n",
    );
    let text = folder.succeed("run k.lac -i A:a.mtx -g x:ones --explain --check");
    assert!(text.contains("  A  f32  csc ") && text.contains("`A` (csc) is converted to csr"), "{text}");
    // A flag says otherwise.
    let text = folder.succeed("run k.lac -i A:a.mtx -g x:ones -f A:csr -t A:f64 --check");
    assert!(text.contains("  A  f64  csr "), "{text}");
}

#[test]
fn each_file_is_read() {
    let folder = Folder::new();
    folder.write("a.tns", "1 2.5\n2 7\n");
    folder.write("b.tns", "1 5\n2 7\n");
    let text = folder.succeed("run 'read x \"a.tns\"; print x; read x \"b.tns\"; print x; read x \"a.tns\"; print x'");
    assert!(text.contains("\nx = [2.5, 7]\nx = [5, 7]\nx = [2.5, 7]\n"), "{text}");
}

#[test]
fn a_tensor_that_is_read_and_assigned_keeps_its_index_arrays() {
    let folder = Folder::new();
    folder.write("a.tns", "1 1 2\n2 3 4\n");
    folder.write(
        "p.lac",
        "-f B:csr -f M:ds@64 -d B:3,3 -d M:3,3\nread B \"a.tns\"\nread M \"a.tns\"\nB(i,j) = 2 * B(i,j)\n\
         C(i,j) = B(i,j) + M(i,j)\n",
    );
    folder.succeed("run p.lac -o C:c.tns --check");
    assert_eq!(folder.read("c.tns"), "1 1 6.0\n2 3 12.0\n");
}

#[test]
fn counts_and_numbers_of_no_statement_are_checked() {
    let folder = Folder::new();
    let dense = "-g B:arange -d B:2,2 --check";
    folder.succeed(&format!("run 'n = 1; if nnz(B) > 3 {{ n = 2 }}; y(i) = B(i,j)' {dense}"));
    folder.succeed(&format!("run 'fill x nnz(B); y(i) = x(i)' -d x:3 {dense}"));
    folder.succeed(&format!("run 'fill n 3; y(i) = B(i,j)' {dense}"));
    let masked = folder.succeed(&format!("run 'fill n nnz(B); C(i,j) = B(i,j) * (i < j); print n; print C' {dense}"));
    assert!(masked.contains("\nn = 3\nC = [[0, 1], [0, 0]]\n"), "{masked}");
}

#[test]
fn a_tensor_that_is_swapped_in_is_a_result() {
    let folder = Folder::new();
    folder.succeed("run 'A(i,j) = 2*A(i,j); swap B, A' -g A:ones -g B:arange -d A:2,2 -d B:2,2 -o A:a.tns -o B:b.tns");
    assert_eq!((folder.read("a.tns").lines().count(), folder.read("b.tns").lines().count()), (4, 4));
    assert!(folder.read("a.tns").ends_with("2 2 3.0\n"), "{}", folder.read("a.tns"));
    folder.fail("run 'if 0 { y(i) = x(i) }; z(i) = x(i)' -g x:ones -d x:2 -o z:z.tns -o y:y.tns", 2, "E0203");
    assert!(!folder.files().iter().any(|file| file == "z.tns" || file == "y.tns"));
}

#[test]
fn a_late_file_tells_the_order_of_a_tensor() {
    let folder = Folder::new();
    folder.write("r.tns", "1 1 1\n2 2 2\n");
    for program in ["n = 1; read A \"r.tns\"; print A", "if 1 > 0 { read A \"r.tns\" }; print A"] {
        let text = folder.succeed(&format!("run '{program}'"));
        assert!(text.contains("\nA = [[1, 0], [0, 2]]\n"), "{text}");
    }
}

#[test]
fn a_statement_that_begins_anew_is_warned_of() {
    let folder = Folder::new();
    let lost = folder.run("run 'y(0) = 1; y(1) = 2; print y' -d y:3");
    assert!(lost.err.contains("warning: `y(1) = 2` assigns all of `y`"), "{}", lost.err);
    let kept = folder.run("run 'y(0) = 1; y(1) += 2; z(i) = y(i); y(2) = 3; print z' -d y:3");
    assert!(!kept.err.contains("warning") && kept.out.contains("\nz = [1, 2, 0]\n"), "{}{}", kept.err, kept.out);
}

#[test]
fn elements_that_are_not_stored_are_told_where_they_count_as_edges() {
    let folder = Folder::new();
    let given = "-f A:csr -g 'A:sparse(0.3)' -d A:5,5 -g x:rand";
    for (line, warns) in [
        (format!("run 'd(j) min= A(i,j) + x(i)' {given}"), true),
        (format!("run 'd(j) = min(i, A(i,j) * x(i))' {given}"), true),
        (format!("run 'd(j) = max(i, A(i,j) + x(i))' {given}"), true),
        (format!("run 'd(j) min= A(i,j) + x(i)' {given} --fill A:inf"), false),
        (format!("run 'd(j) = max(i, A(i,j) * x(i))' {given}"), false),
        (format!("run 'd(j) = A(i,j) * x(i)' {given}"), false),
        ("run 'd(j) min= A(i,j) + x(i)' -f A:packed(symmetric) -g A:rand -d A:5,5 -g x:rand".to_string(), false),
    ] {
        let run = folder.run(&line);
        let warning = "warning: elements that `A` does not store are 0, and take part in";
        assert_eq!(run.err.contains(warning), warns, "{line}: {}", run.err);
    }
    // The advice is one that can be followed, for whole numbers too.
    let run = folder.run(&format!("run 'd(j) min= A(i,j) + x(i)' {given} -t A:i64"));
    assert!(run.err.contains("`-t A:f64 --fill A:inf` leaves them out"), "{}", run.err);
    folder.succeed(&format!("run 'd(j) min= A(i,j) + x(i)' {given} -t A:f64 --fill A:inf"));
}

#[test]
fn operations_over_far_coordinates_are_counted_in_little_memory() {
    let folder = Folder::new();
    folder.write("far.tns", "5 1 2\n104924426112 2 3\n");
    folder.write("z.tns", "5 2\n104924426112 4\n");
    let dims = "-d A:1099511627776,10 -d z:1099511627776";
    let text =
        folder.succeed(&format!("run 'R(j) = A(i,j) * z(i)' -i A:far.tns -i z:z.tns -f A:ss -f z:sv {dims} -o R:-"));
    assert!(text.contains("1 4.0\n2 12.0\n"), "{text}");
}

#[test]
fn quietly_it_prints_what_the_program_prints() {
    let folder = Folder::new();
    let run = "run 'y(i) = 2 * x(i); s = y(i); print s' -g x:ones -d x:2 -q";
    assert_eq!(folder.succeed(run), "s = 4\n");
    let piped = folder.run(&format!("{run} -o s:-"));
    assert_eq!((piped.out.as_str(), piped.err.as_str()), ("4.0\n", "s = 4\n"));
    folder.fail(&format!("{run} --json"), 2, "cannot be used with");
}
