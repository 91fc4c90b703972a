//! The repository keeps its own rules.
//!
//! Every Rust file has a head comment and at most [`MOST_LINES`] lines; `unsafe` stands only where [`MAY_BE_UNSAFE`]
//! lets it, with its reason beside it; a crate depends only on the crates [`MAY_DEPEND`] names; and no text holds an
//! unfinished end ([`UNFINISHED_CODE`], [`UNFINISHED_TEXT`]), a reference to talk elsewhere
//! ([`REFERENCES`]) or a path of somebody's machine ([`MACHINE_PATHS`]).
//!
//! Each rule is a function from a file's text to the lines that break it, and is itself tested on snippets that break
//! it. Words inside comments and strings are not code, so [`code_of`] blanks them first:
//!
//! ```text
//! let s = "unsafe"; // unsafe      ->      let s = "      ";
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// A file that is longer is to be split.
const MOST_LINES: usize = 1000;

/// The crates that call machine code, foreign libraries or raw memory.
const MAY_BE_UNSAFE: [&str; 5] = ["runtime", "backend-llvm", "machine", "python", "dist"];

/// The one file elsewhere that calls machine code.
const LAUNCHES: &str = "crates/lacunar/src/launch.rs";

/// For each folder of `crates` the crates it may depend on. Tests may use others.
const MAY_DEPEND: [(&str, &[&str]); 18] = [
    ("base", &[]),
    ("draw", &[]),
    ("machine", &[]),
    ("sets", &["base"]),
    ("formats", &["base", "sets"]),
    ("notation", &["base", "formats", "sets"]),
    ("front", &["base", "formats", "sets", "notation"]),
    ("imp", &["base", "formats"]),
    ("compiler", &["base", "formats", "sets", "notation", "imp", "machine"]),
    ("backend-c", &["base", "formats", "imp"]),
    ("backend-llvm", &["base", "formats", "imp", "machine"]),
    ("runtime", &["base", "formats", "sets"]),
    ("oracle", &["base", "formats", "sets", "notation", "front", "runtime"]),
    ("macros", &["base", "formats", "sets", "notation", "front"]),
    ("lacunar", BELOW_LACUNAR),
    // The command checks results with the dense oracle, shows plans and counts operations.
    ("cli", &["base", "draw", "formats", "sets", "notation", "front", "compiler", "runtime", "oracle", "lacunar"]),
    ("python", ABOVE_LACUNAR),
    ("dist", ABOVE_LACUNAR),
];

const BELOW_LACUNAR: &[&str] = &[
    "base",
    "formats",
    "sets",
    "notation",
    "front",
    "imp",
    "compiler",
    "backend-c",
    "backend-llvm",
    "machine",
    "runtime",
    "macros",
];

const ABOVE_LACUNAR: &[&str] = &["base", "formats", "sets", "front", "machine", "runtime", "lacunar"];

/// Code that says "later", with its spaces removed.
const UNFINISHED_CODE: [&str; 5] = ["todo!", "unimplemented!", "dbg!", "#[ignore", "allow(dead_code"];

/// Words that say "later" wherever they stand (written in two halves here, so that this file passes).
const UNFINISHED_TEXT: [&str; 5] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK"), concat!("W", "IP")];

/// Beginnings of paths that exist on one machine only, likewise.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Beginnings of references to conversations elsewhere, likewise: facts that are worth knowing are said where they matter.
const REFERENCES: [&str; 3] = [concat!("issue", " #"), concat!("pull request", " #"), concat!("PR", " #")];

/// Files whose text is read by people or machines as part of the source.
const TEXT_KINDS: [&str; 12] = ["rs", "toml", "md", "sh", "py", "yml", "yaml", "lac", "txt", "mtx", "tns", "json"];

// ---- the rules over the repository -----------------------------------------------------------

#[test]
fn rust_files_follow_the_rules() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for path in files(&root()).into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let source = read(&path);
        let may_be_unsafe =
            path.ends_with(LAUNCHES) || crate_of(&path).is_some_and(|name| MAY_BE_UNSAFE.contains(&name.as_str()));
        let broken =
            [too_long(&source), headless(&source), unsafe_faults(&source, may_be_unsafe), unfinished_code(&source)];
        faults.extend(broken.into_iter().flatten().map(|fault| located(&path, &fault)));
        seen += 1;
    }
    assert!(seen > 20, "only {seen} Rust files were found under {}", root().display());
    assert_no(&faults);
}

#[test]
fn texts_are_finished_and_name_no_machine() {
    let mut faults = Vec::new();
    for path in files(&root()).into_iter().filter(|path| is_text(path)) {
        let text = read(&path);
        let broken = [unfinished_text(&text), references(&text), machine_paths(&text)];
        faults.extend(broken.into_iter().flatten().map(|fault| located(&path, &fault)));
    }
    assert_no(&faults);
}

#[test]
fn crates_depend_in_one_direction() {
    let mut faults = Vec::new();
    let folder = root().join("crates");
    for entry in fs::read_dir(&folder).expect("the folder of crates can be read") {
        let path = entry.expect("its entries can be read").path().join("Cargo.toml");
        if let Some(name) = crate_of(&path)
            && path.exists()
        {
            faults.extend(dependency_faults(&name, &read(&path)).into_iter().map(|fault| located(&path, &fault)));
        }
    }
    assert_no(&faults);
}

#[test]
fn rule_table_has_no_cycle() {
    // Each crate is allowed only crates whose own allowances it has too, and never itself.
    for (name, allowed) in MAY_DEPEND {
        assert!(!allowed.contains(&name), "{name} may depend on itself");
        for &below in allowed {
            let (_, its_own) = MAY_DEPEND.iter().find(|(other, _)| *other == below).expect("the crate is in the table");
            assert!(!its_own.contains(&name), "{name} and {below} may depend on each other");
        }
    }
}

// ---- one function for each rule --------------------------------------------------------------

/// A line, counted from 1, and its fault.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    what: String,
}

fn fault(line: usize, what: impl Into<String>) -> Fault {
    Fault { line, what: what.into() }
}

fn too_long(source: &str) -> Vec<Fault> {
    let lines = source.lines().count();
    if lines > MOST_LINES { vec![fault(lines, format!("more than {MOST_LINES} lines"))] } else { Vec::new() }
}

fn headless(source: &str) -> Vec<Fault> {
    let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if first.starts_with("//!") { Vec::new() } else { vec![fault(1, "no head comment (//!)")] }
}

fn unfinished_code(source: &str) -> Vec<Fault> {
    let code = code_of(source);
    let mut faults = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let dense: String = line.split_whitespace().collect();
        faults
            .extend(UNFINISHED_CODE.iter().filter(|word| dense.contains(**word)).map(|word| fault(number + 1, *word)));
    }
    faults
}

fn unfinished_text(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        faults.extend(words.find(|word| UNFINISHED_TEXT.contains(word)).map(|word| fault(number + 1, word)));
    }
    faults
}

fn references(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let to_number = |word: &str| {
            line.match_indices(word).any(|(at, _)| line[at + word.len()..].starts_with(|c: char| c.is_ascii_digit()))
        };
        faults.extend(REFERENCES.into_iter().filter(|word| to_number(word)).map(|word| fault(number + 1, word)));
    }
    faults
}

fn machine_paths(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for path in MACHINE_PATHS {
            // Inside a longer path, such as a folder of the repository or an address, it is no machine's.
            let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
            if line.match_indices(path).any(|(at, _)| begins(at)) {
                faults.push(fault(number + 1, path));
            }
        }
    }
    faults
}

/// Every `unsafe` in a crate that may not have it, and every one without its reason: a `SAFETY` comment (or the section
/// `# Safety` of a function's documentation) within a few lines above, not counting comments and attributes.
fn unsafe_faults(source: &str, allowed: bool) -> Vec<Fault> {
    const NEAR: usize = 4;
    let code = code_of(source);
    let lines: Vec<&str> = source.lines().collect();
    let mut faults = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (at, _) in line.match_indices("unsafe") {
            let after = &line[at + "unsafe".len()..];
            let is_part_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
            if line[..at].ends_with(is_part_of_a_name) || after.starts_with(is_part_of_a_name) || is_type(after) {
                continue;
            }
            if !allowed {
                faults.push(fault(number + 1, "unsafe in a crate that may not use it"));
            } else if !has_reason(&lines[..=number], NEAR) {
                faults.push(fault(number + 1, "unsafe without a SAFETY comment"));
            }
        }
    }
    faults
}

/// True if the text after `unsafe` makes it the type of a function, as in `unsafe extern "C" fn(u32)`, which does
/// nothing.
fn is_type(after_unsafe: &str) -> bool {
    let Some((between, rest)) = after_unsafe.split_once("fn") else { return false };
    !between.contains(['{', '(', ';']) && rest.trim_start().starts_with('(')
}

/// True if a reason stands in the last of `lines` or above it, with at most `near` lines of code between.
fn has_reason(lines: &[&str], near: usize) -> bool {
    let is_aside = |line: &str| line.starts_with("//") || line.starts_with("#[");
    let mut code_between = 0;
    for line in lines.iter().rev().map(|line| line.trim()) {
        if line.contains("SAFETY") || line.contains("# Safety") {
            return true;
        }
        code_between += usize::from(!is_aside(line));
        if code_between > near {
            return false;
        }
    }
    false
}

/// The dependencies, in a crate's `Cargo.toml`, on crates of this repository that [`MAY_DEPEND`] does not allow.
fn dependency_faults(name: &str, manifest: &str) -> Vec<Fault> {
    let Some((_, allowed)) = MAY_DEPEND.iter().find(|(known, _)| *known == name) else {
        return vec![fault(1, format!("the crate {name} is not in the table of who may depend on whom"))];
    };
    let manifest: toml::Table = match manifest.parse() {
        Ok(table) => table,
        Err(error) => return vec![fault(1, error.to_string())],
    };
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let sections = targets.into_iter().flatten().filter_map(|(_, section)| section.as_table()).chain([&manifest]);
    let kinds = sections.flat_map(|section| ["dependencies", "build-dependencies"].map(|kind| section.get(kind)));
    let mut faults = Vec::new();
    for (key, value) in kinds.flatten().filter_map(toml::Value::as_table).flatten() {
        let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
        let Some(below) = package.strip_prefix("lacunar") else { continue };
        let below = if below.is_empty() { "lacunar" } else { below.trim_start_matches('-') };
        if !allowed.contains(&below) {
            faults.push(fault(1, format!("{name} may not depend on {below}")));
        }
    }
    faults
}

// ---- reading Rust ----------------------------------------------------------------------------

/// The source with everything inside comments, strings and character literals replaced by spaces, line for line.
fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word_before = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if let Some(length) = raw_string_length(rest).filter(|_| !word_before) {
            length
        } else if first == '"' {
            quoted_length(rest, '"')
        } else if first == '\'' && is_character(rest) {
            quoted_length(rest, '\'')
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = &rest[length..];
    }
    code
}

/// The length of the comment `/* ... */`, in which others may nest.
fn comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of a raw string such as `br#"..."#`, if `text` begins with one.
fn raw_string_length(text: &str) -> Option<usize> {
    let after_prefix = ["br", "cr", "r"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let body = after_prefix.trim_start_matches('#');
    let hashes = &after_prefix[..after_prefix.len() - body.len()];
    let end = format!("\"{hashes}");
    let content = body.strip_prefix('"')?;
    let begin = text.len() - content.len();
    Some(content.find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

/// The length of a literal between two `quote`s, where a backslash protects the next character.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut protected = false;
    for (at, c) in text.char_indices().skip(1) {
        if protected {
            protected = false;
        } else if c == '\\' {
            protected = true;
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

/// True if the quote that `text` begins with starts a character literal and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut after = text.chars().skip(1);
    after.next() == Some('\\') || after.next() == Some('\'')
}

// ---- reading the repository ------------------------------------------------------------------

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file below `folder`, without build outputs and without hidden folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the repository can be read") {
        let entry = entry.expect("its entries can be read");
        let name = entry.file_name();
        let kind = entry.file_type().expect("the kind of a file can be read");
        if kind.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn is_text(path: &Path) -> bool {
    match path.extension() {
        Some(kind) => TEXT_KINDS.iter().any(|text| kind == *text),
        None => path.file_name().is_some_and(|name| name == "x"),
    }
}

/// The folder below `crates` that `path` lies in.
fn crate_of(path: &Path) -> Option<String> {
    let below = path.strip_prefix(root().join("crates")).ok()?;
    Some(below.components().next()?.as_os_str().to_string_lossy().into_owned())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn located(path: &Path, fault: &Fault) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    format!("{}:{}: {}", path.display(), fault.line, fault.what)
}

#[track_caller]
fn assert_no(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

// ---- the rules can be broken -----------------------------------------------------------------

/// The lines in which faults were found.
fn lines(faults: &[Fault]) -> Vec<usize> {
    faults.iter().map(|fault| fault.line).collect()
}

#[test]
fn code_without_comments_and_strings() {
    let blank = |source: &str| code_of(source).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(blank("a // b\nc"), "a c");
    assert_eq!(blank("a /* b /* c */ d */ e"), "a e");
    assert_eq!(blank(r#"a "b \" c" d"#), "a d");
    assert_eq!(blank(r###"a r#"b " c"# br"d" e"###), "a e");
    assert_eq!(blank(r"a '\'' '{' b"), "a b");
    assert_eq!(blank("fn f<'a>(x: &'a str) -> &'a str"), "fn f<'a>(x: &'a str) -> &'a str");
    assert_eq!(blank("for\" x \"var\"y\""), "for var");
    assert_eq!(code_of("\"a\nb\"\nc").lines().count(), 3);
    assert_eq!(blank("a \"never ends"), "a");
}

#[test]
fn length_and_head() {
    assert_eq!(lines(&too_long(&"\n".repeat(MOST_LINES + 1))), [MOST_LINES + 1]);
    assert!(too_long(&"\n".repeat(MOST_LINES)).is_empty());
    assert_eq!(lines(&headless("use std::fs;\n//! late")), [1]);
    assert_eq!(lines(&headless("")), [1]);
    assert!(headless("\n//! A file.").is_empty());
}

#[test]
fn unsafe_needs_a_reason() {
    let bare = "fn f() {\n    unsafe { g() }\n}";
    assert_eq!(lines(&unsafe_faults(bare, true)), [2]);
    let reasoned = "fn f() {\n    // SAFETY: g asks for nothing.\n    unsafe { g() }\n}";
    assert!(unsafe_faults(reasoned, true).is_empty());
    assert_eq!(lines(&unsafe_faults(reasoned, false)), [3]);
    let far = format!("// SAFETY: far away\n{}unsafe {{ g() }}", "h();\n".repeat(9));
    assert_eq!(lines(&unsafe_faults(&far, true)), [11]);
    let documented = format!("/// # Safety\n{}unsafe fn g() {{}}", "/// Long.\n".repeat(20));
    assert!(unsafe_faults(&documented, true).is_empty());
    assert_eq!(lines(&unsafe_faults("unsafe impl Send for A {}", true)), [1]);
    assert_eq!(lines(&unsafe_faults("unsafe extern \"C\" {}", true)), [1]);
    assert_eq!(lines(&unsafe_faults("unsafe extern \"C\" fn g() {}", true)), [1]);
}

#[test]
fn unsafe_in_name_type_or_text_is_nothing() {
    for harmless in [
        "#![allow(unsafe_code)]",
        "type F = unsafe extern \"C\" fn(u32) -> u32;",
        "// unsafe",
        "let s = \"unsafe { g() }\";",
        "fn not_unsafe() {}",
    ] {
        assert!(unsafe_faults(harmless, false).is_empty(), "{harmless}");
    }
}

#[test]
fn unfinished_ends() {
    for end in
        ["todo!()", "unimplemented!()", "dbg!(x)", "#[ignore]", "#[ ignore = \"slow\" ]", "#![allow( dead_code )]"]
    {
        assert_eq!(lines(&unfinished_code(&format!("a\n{end}"))), [2], "{end}");
    }
    assert!(unfinished_code("// no todo!() here").is_empty());
    for word in UNFINISHED_TEXT {
        assert_eq!(lines(&unfinished_text(&format!("a\n# {word}: b"))), [2]);
        assert!(unfinished_text(&format!("a{word}")).is_empty(), "part of a word");
    }
}

#[test]
fn references_to_conversations() {
    for word in REFERENCES {
        assert_eq!(lines(&references(&format!("a\nsee {word}12"))), [2]);
        assert!(references(&format!("an {word}, in general")).is_empty());
    }
}

#[test]
fn paths_of_machines() {
    for path in MACHINE_PATHS {
        assert_eq!(lines(&machine_paths(&format!("open {path}a"))), [1]);
        assert_eq!(lines(&machine_paths(&format!("\"{path}a\""))), [1]);
        assert!(machine_paths(&format!("docs{path}a")).is_empty());
    }
}

#[test]
fn dependencies_against_the_direction() {
    let faults = |name, manifest: &str| dependency_faults(name, manifest).len();
    assert_eq!(faults("formats", "[dependencies]\nlacunar-base = {}\nserde = \"1\""), 0);
    assert_eq!(faults("base", "[dependencies]\nlacunar-formats = { workspace = true }"), 1);
    assert_eq!(faults("imp", "[dependencies]\nlacunar-notation = {}\n[build-dependencies]\nlacunar = {}"), 2);
    assert_eq!(faults("runtime", "[target.'cfg(unix)'.dependencies]\nlacunar-imp = {}"), 1);
    assert_eq!(faults("runtime", "[dependencies]\nother = { package = \"lacunar-imp\" }"), 1);
    assert_eq!(faults("runtime", "[dev-dependencies]\nlacunar-imp = {}"), 0);
    assert_eq!(faults("unheard-of", ""), 1);
    assert_eq!(faults("base", "not a manifest"), 1);
}
