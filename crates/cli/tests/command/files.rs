//! `compile`, `convert`, `info`, `plot`, help and version.

use crate::common::Folder;
use serde_json::Value;

#[test]
fn every_stage_is_printed() {
    let folder = Folder::new();
    let text = |flags: &str| folder.succeed(&format!("compile 'y(i) = A(i,j) * x(j)' -f A:csr {flags}"));
    assert!(text("").contains("#include"));
    assert!(text("--emit notation").starts_with("y(i) = A(i,j) * x(j)\n"));
    assert!(text("--emit concrete").contains("forall i"));
    assert!(text("--emit graph").starts_with("digraph"));
    assert!(text("--emit imp,c").contains("======== imp ========"));
    let all = text("--emit all");
    for stage in ["notation", "concrete", "graph", "lattice", "passes", "imp", "c"] {
        assert!(all.contains(&format!("======== {stage} ========\n")), "{stage}");
    }
    assert!(text("--explain").contains("loop order i, j"));
    let json: Value = serde_json::from_str(&text("--json --emit imp")).unwrap();
    assert!(json["stages"]["imp"].as_str().unwrap().contains("compute_y"));
    // Sizes and formats of files are known to the planner.
    assert!(folder.succeed("compile 'y(i) = A(i,j)' -i A:a.mtx --emit notation").contains("A: f64 csr input 3x4"));
}

#[test]
fn stages_are_written_into_a_folder() {
    let folder = Folder::new();
    assert_eq!(folder.succeed("compile 'y(i) = A(i,j) * x(j)' -f A:csr --emit-to out/stages"), "");
    for name in
        ["notation.txt", "concrete.txt", "graph.dot", "graph.svg", "lattice.txt", "passes.txt", "imp.txt", "kernel.c"]
    {
        assert!(!folder.read(&format!("out/stages/{name}")).is_empty(), "{name}");
    }
    assert!(folder.read("out/stages/graph.svg").contains("<svg"));
}

#[test]
fn files_are_converted() {
    let folder = Folder::new();
    folder.write("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 1\n1 2 2\n2 1 3\n");
    folder.succeed("convert b.mtx b.tns");
    assert_eq!(folder.read("b.tns"), "2 2 1.0\n1 2 2.0\n2 1 3.0\n");
    folder.succeed("convert b.mtx b.tns -f csr");
    assert_eq!(folder.read("b.tns"), "1 2 2.0\n2 1 3.0\n2 2 1.0\n");
    folder.succeed("convert b.mtx b.tns -f csc");
    assert_eq!(folder.read("b.tns"), "2 1 3.0\n1 2 2.0\n2 2 1.0\n");
    let route = folder.succeed("convert b.mtx b.tns -f bcsr(2,1) --explain");
    assert_eq!(
        route.lines().collect::<Vec<_>>(),
        [
            "a list of 3 entries, 2 x 2",
            "  csr              pack: sort by level 1 (2 bins), then each bin; a sorted list is taken as it is",
            "  bcsr(2,1)        place: find which coordinates level 2 has, then put every value in its place",
        ]
    );
    folder.fail("convert b.mtx b.tns --explain", 2, "-f");
    folder.succeed("convert b.mtx c.mtx.gz -f dense");
    folder.succeed("convert c.mtx.gz c.mtx");
    assert_eq!(folder.read("c.mtx"), "%%MatrixMarket matrix array real general\n2 2\n0.0\n3.0\n2.0\n1.0\n");
    folder.fail("convert t.tns t.mtx", 3, "t.mtx");
}

#[test]
fn zeros_are_kept_until_they_are_pruned() {
    let folder = Folder::new();
    folder.write("z.tns", "1 1 1.0\n1 2 0.0\n2 1 -0.0\n2 2 3.0\n2 2 -3.0\n");
    folder.succeed("convert z.tns -f csr kept.tns");
    assert_eq!(folder.read("kept.tns").lines().count(), 4);
    folder.succeed("convert z.tns -f csr --prune pruned.tns");
    assert_eq!(folder.read("pruned.tns"), "1 1 1.0\n");
}

#[test]
fn edge_lists_are_read_from_either_base() {
    let folder = Folder::new();
    folder.write("g.csv", "from,to\n0,1\n1,2\n2,0\n");
    folder.fail(
        "info g.csv",
        3,
        "error[E1102]: g.csv:2: expected a row index from 1, found \"0\"\n = hint: if the indices",
    );
    let info: Value = serde_json::from_str(&folder.succeed("info g.csv --base 0 --json")).unwrap();
    assert_eq!((&info["format"], &info["field"], &info["nnz"]), (&"edge list".into(), &"pattern".into(), &3.into()));
    assert_eq!(info["dims"], serde_json::json!([3, 3]));
    folder.succeed("convert g.csv g.mtx --base 0");
    assert!(folder.read("g.mtx").ends_with("3 3 3\n1 2 1.0\n2 3 1.0\n3 1 1.0\n"));
    folder.succeed("plot g.csv -o g.png --base 0");
    let triangles = "run 't = A(i,j) * A(j,k) * A(k,i)' -i A:g.csv -o t:-";
    assert_eq!(folder.succeed(&format!("{triangles} --base 0")), "3.0\n");
    folder.fail(triangles, 3, "--base 0");
    assert_eq!(folder.succeed("run 'y(i) = A(i,j)' -i A:g.csv -d A:3,9 --base 0 -o y:-").lines().count(), 3);
    // Wherever .tns files have it.
    folder.write("z.tns", "0 0 0 1.5\n");
    assert_eq!(folder.succeed("run 's = B(i,j,k)' -i B:z.tns --base 0 -o s:-"), "1.5\n");
    folder.fail("convert a.mtx g.csv", 3, "only read");
}

#[test]
fn arrays_of_numpy_are_files_like_others() {
    let folder = Folder::new();
    folder.succeed("convert a.mtx a.npz");
    folder.succeed("convert a.npz b.mtx");
    assert_eq!(folder.read("b.mtx").lines().nth(1), folder.read("a.mtx").lines().nth(1));
    folder.fail("convert a.mtx a.npy", 3, "E1104");
    folder.succeed("convert a.mtx a.npy -f dense");
    let spmv = "run 'y(i) = A(i,j) * x(j)' -i x:x.mtx";
    for file in ["a.npy", "a.npz"] {
        let info: Value = serde_json::from_str(&folder.succeed(&format!("info {file} --json"))).unwrap();
        // Zeros of an array are no entries.
        assert_eq!((&info["nnz"], &info["dims"]), (&5.into(), &serde_json::json!([3, 4])), "{file}");
        assert_eq!(folder.succeed(&format!("{spmv} -i A:{file} -o y:-")), "1 201.0\n2 3000.0\n3 504.0\n");
    }
    folder.succeed(&format!("{spmv} -i A:a.mtx -o y:y.npy"));
    assert_eq!(folder.succeed("run 's = y(i)' -i y:y.npy -o s:-"), "3705.0\n");
    folder.write("no.npy", "\u{1}NUMPY");
    folder.fail("info no.npy", 3, "error[E1102]: no.npy: array: expected an array of NumPy");
}

#[test]
fn enormous_dimensions_without_values_are_nothing_to_do() {
    let folder = Folder::new();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 0), }}", i64::MAX);
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    std::fs::write(folder.path("a.npy"), bytes).unwrap();
    folder.succeed("convert a.npy a.npz");
    for file in ["a.npy", "a.npz"] {
        assert!(folder.succeed(&format!("info {file}")).contains("9223372036854775807x0, 0 entries"), "{file}");
        folder.succeed(&format!("convert {file} a.tns"));
        for format in ["", "-f A:csc", "-f A:coo"] {
            let line = format!("run 'y(j) = A(i,j)' -i A:{file} {format} --backend interp");
            assert!(folder.succeed(&line).contains("nnz 0"), "{file} {format}");
        }
    }
}

#[cfg(feature = "binsparse")]
#[test]
fn binsparse_files_keep_levels() {
    let folder = Folder::new();
    folder.succeed("convert a.mtx a.bsp.h5 -f csc");
    assert!(folder.succeed("info a.bsp.h5").starts_with("a.bsp.h5: 3x4, 5 entries, f64 (Binsparse, real; 5 stored"));
    folder.succeed("run 'C(i,j) = 2 * A(i,j)' -i A:a.bsp.h5 -f A:csr -f C:dcsr -o C:c.h5");
    folder.succeed("convert c.h5 c.tns");
    assert!(folder.read("c.tns").starts_with("1 1 2.0\n1 3 4.0\n"));
    folder.succeed("convert c.h5 c.h5.gz");
    folder.succeed("convert c.h5.gz d.tns");
    assert_eq!(folder.read("c.tns"), folder.read("d.tns"));
    folder.fail("convert a.mtx c.h5:group", 3, "E1104");
    folder.fail("info c.h5:group", 3, "E1102");
    folder.write("no.h5", "rubbish");
    folder.fail("info no.h5", 3, "error[E1102]: no.h5: file: expected a file of HDF5");
}

#[cfg(not(feature = "binsparse"))]
#[test]
fn a_build_without_hdf5_names_the_feature() {
    let folder = Folder::new();
    std::fs::write(folder.path("unnamed"), b"\x89HDF\r\n\x1a\n").unwrap();
    let lines =
        ["convert a.mtx a.bsp.h5", "info a.hdf5", "info a.h5:group", "info unnamed", "run 'y = A(i,j)' -i A:a.h5"];
    for line in lines {
        folder.fail(line, 3, "E1106");
        folder.fail(line, 3, "need a build with the feature `binsparse`");
    }
    assert!(!folder.path("a.bsp.h5").exists());
}

#[test]
fn one_file_tells_a_compilation_of_sizes() {
    let folder = Folder::new();
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 1\n1 2 2\n2 1 3\n");
    let text = folder.succeed("compile 'y(i) = A(i,j) * x(j)' -i A:a.mtx --explain");
    assert!(text.contains("loop order i, j"), "{text}");
    folder.fail("run 'y(i) = A(i,j) * x(j)' -i A:a.mtx", 2, "`x` has no value");
}

#[test]
fn files_are_described() {
    let folder = Folder::new();
    let info = |file: &str| -> Value { serde_json::from_str(&folder.succeed(&format!("info {file} --json"))).unwrap() };
    let a = info("a.mtx");
    assert_eq!((&a["nnz"], &a["dims"], &a["field"]), (&5.into(), &serde_json::json!([3, 4]), &"real".into()));
    let matrix = &a["matrix"];
    assert_eq!((&matrix["bandwidth"], &matrix["diagonal"]), (&serde_json::json!([2, 2]), &2.into()));
    assert_eq!((&matrix["rows"]["max"], &matrix["columns"]["empty"]), (&2.into(), &1.into()));
    assert_eq!(matrix["pattern_symmetric"], false);
    folder.write("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n");
    let s = info("s.mtx");
    assert_eq!((&s["stored"], &s["nnz"], &s["matrix"]["pattern_symmetric"]), (&2.into(), &3.into(), &true.into()));
    let t = info("t.tns");
    assert_eq!(t["modes"][1], serde_json::json!({"size": 3, "slices": 2, "fibers": 2}));
    assert!(folder.succeed("info a.mtx").contains("bandwidth   2 below the diagonal, 2 above"));
    assert!(folder.succeed("info x.mtx").contains("4x1, 4 entries"));
}

/// Work and memory go with the entries: of a matrix that would take gigabytes as csr, and of one that nothing would hold.
#[test]
fn large_matrices_with_few_entries_are_described() {
    let folder = Folder::new();
    for size in [1u64 << 29, i64::MAX as u64] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{size} {size} 2\n1 {size} 1\n{size} 3 2\n");
        folder.write("large.mtx", &text);
        let start = std::time::Instant::now();
        let info: Value = serde_json::from_str(&folder.succeed("info large.mtx --json")).unwrap();
        assert!(start.elapsed().as_secs() < 5);
        assert_eq!(info["matrix"]["bandwidth"], serde_json::json!([size - 3, size - 1]));
        for lengths in [&info["matrix"]["rows"], &info["matrix"]["columns"]] {
            let found = ["empty", "min", "median", "max"].map(|what| lengths[what].as_u64());
            assert_eq!(found, [size - 2, 0, 0, 1].map(Some));
        }
        assert_eq!(info["recommended"][0]["format"], "dcsr");
        assert!(folder.succeed("info large.mtx").contains("recommended dcsr: 2 of "));
        folder.fail("info large.mtx --measure", 4, "E1020");
    }
}

/// Formats that are chosen from entries, in every place where a format is named.
#[test]
fn formats_are_chosen_from_entries() {
    let folder = Folder::new();
    let mut blocks = "%%MatrixMarket matrix coordinate real general\n240 240 2160\n".to_string();
    for (i, b, j) in (0..240).flat_map(|i| (0..3).flat_map(move |b| (0..3).map(move |j| (i, b, j)))) {
        blocks += &format!("{} {} {}\n", i + 1, (i / 3 * 7 + b * 11) % 80 * 3 + j + 1, i + j + 1);
    }
    folder.write("b.mtx", &blocks);
    let run = "run 'y(i) = A(i,j) * x(j)' -i A:b.mtx -g x:rand";
    // The machine at hand was measured while other tests ran, so its best format is not always the same.
    let on_a_known_machine = |line: &str| {
        let output = folder.run_with(line, &[("LACUNAR_MACHINE", "generic-v3")]);
        assert_eq!(output.code, 0, "{line}: {}", output.err);
        output.out
    };
    let text = on_a_known_machine(&format!("{run} -f A:auto --explain --check"));
    assert!(text.contains("`A` is stored as bcsr(3,3): blocks of 3 x 3 are 100% full; "), "{text}");
    assert!(on_a_known_machine("info b.mtx").contains("recommended bcsr(3,3): blocks of 3 x 3 are 100% full; "));
    let json: Value = serde_json::from_str(&folder.succeed(&format!("{run} -f 'A:auto(1)' --json"))).unwrap();
    assert_eq!(json["formats"]["A"], "csr");
    let made = "run 'y(i) = A(i,j) * x(j)' -g 'A:sparse(0.1)' -d A:200,200 -g x:rand -f A:auto -f x:auto --check";
    assert!(folder.succeed(made).contains("check"));
    folder.write("p.lac", "-f A:auto\n-i A:b.mtx\ny(i) = A(i,j) * x(j)\n-g x:ones\n");
    folder.succeed("run p.lac --check");
    let text = folder.succeed("compile 'y(j) = A(i,j) * x(i)' -i A:b.mtx -f A:auto --explain");
    assert!(text.contains("`A` is stored as "), "{text}");
    let text = on_a_known_machine("convert b.mtx c.mtx -f auto --explain");
    assert!(text.starts_with("bcsr(3,3): blocks of 3 x 3 are 100% full; "), "{text}");
    assert!(folder.succeed("info c.mtx").contains("2160 entries"));
    // A pattern is never taken as an array, not even before its entries are known.
    folder.write("v.tns", "2 1\n3 1\n");
    for given in ["-i v:v.tns -d v:4", "-g 'v:sparse(0.5)'", "-g v:ones"] {
        folder.succeed(&format!("run 'y(i) = A(i,j) * v(j)' -i A:a.mtx -t v:pattern -f v:auto {given} --check"));
    }
    folder.fail(&format!("{run} -f A:csr -f y:auto"), 2, "E0409");
    folder.fail("compile 'y(i) = A(i,j) * x(j)' -f A:auto", 2, "E0409");
    folder.fail("compile 'y(i) = A(i,j) * x(j)' -g A:rand -f A:auto", 2, "E0409");
    folder.fail(&format!("{run} -f 'A:auto(0)'"), 2, "E0405");
    for (kind, order) in [("rand", ""), ("ones", "i"), ("'sparse(0.2)'", "i,j,k")] {
        let dims = if order.is_empty() { "" } else { "-d i:5 -d j:6 -d k:7" };
        let access = if order.is_empty() { "a".to_string() } else { format!("a({order})") };
        let dims = dims.split(" -d").take(order.split(',').count()).collect::<Vec<_>>().join(" -d");
        folder.succeed(&format!("run 'y = 2 * {access}' -g a:{kind} -f a:auto {dims} --check"));
    }
}

/// `info` tells the memory that packing takes.
#[test]
fn memory_is_that_of_packed_tensors() {
    let folder = Folder::new();
    let info: Value = serde_json::from_str(&folder.succeed("info a.mtx --json")).unwrap();
    for entry in info["memory"].as_array().unwrap() {
        let format = entry["format"].as_str().unwrap();
        let run = folder.succeed(&format!("run 'y = A(i,j)' -i A:a.mtx -f A:{format} --json"));
        let run: Value = serde_json::from_str(&run).unwrap();
        assert_eq!(run["inputs"][0]["bytes"], entry["bytes"], "{format}");
    }
}

#[test]
fn pictures_are_drawn() {
    let folder = Folder::new();
    folder.succeed("plot a.mtx -o a.svg --title Dots");
    assert!(folder.read("a.svg").contains("<svg"));
    folder.succeed("plot t.tns -o t.png --pixels 600 --mode 1 --at 0,2");
    assert!(std::fs::read(folder.path("t.png")).unwrap().starts_with(b"\x89PNG"));
    folder.succeed("plot x.mtx -o x.png");
    folder.succeed("plot a.mtx -o blocks.svg -f 'bcsr(2,2)'");
    assert!(folder.read("blocks.svg").contains("stored places are entries"));
    folder.succeed("plot t.tns -o t.png -f 'hicoo(2)'");
}

#[test]
fn help_and_version() {
    let folder = Folder::new();
    assert_eq!(folder.succeed("--version"), format!("lacunar {}\n", env!("CARGO_PKG_VERSION")));
    assert!(folder.succeed("--help").contains("lacunar run 'y(i) = A(i,j) * x(j)'"));
    for flag in ["-f", "-t", "-d", "-i", "-g", "-o", "-s", "-p", "--threads", "--backend", "--strict", "--emit"] {
        assert!(folder.succeed("run --help").contains(flag), "{flag}");
    }
    for subcommand in ["compile", "convert", "info", "plot"] {
        folder.succeed(&format!("{subcommand} --help"));
    }
}

#[test]
fn what_only_fills_up_is_not_written() {
    let folder = Folder::new();
    folder.write("s.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 3\n1 1 1\n2 3 2\n4 1 3\n");
    for format in ["bcsr(2,2)", "dia", "ell", "'sell(2)'", "csb(2)", "csr", "hicoo(2)"] {
        folder.succeed(&format!("convert s.mtx out.tns -f {format}"));
        assert_eq!(folder.read("out.tns").lines().count(), 3, "{format}");
        folder.succeed(&format!("run 'B(i,j) = A(i,j)' -i A:s.mtx -f A:csr -f B:{format} -o B:out.tns"));
        assert_eq!(folder.read("out.tns").lines().count(), 3, "{format}");
    }
}
