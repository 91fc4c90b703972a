//! The structure of the lowering keeps its own rules, read from its syntax.
//!
//! Between the files of `compiler/src/lower` functions call each other in one direction, but for the recursion over statements: a file may
//! call [`RECURSION`] of the folder's `mod.rs`, and nothing else of it. No file has more than [`MOST_LINES`] lines, no function more than
//! [`MOST_LINES_OF_FUNCTION`], and no struct that is not copied has more than [`MOST_FIELDS`] fields.
//!
//! ```text
//! loops/merge.rs   use super::dense;  dense::over(..)      merge -> dense
//! loops/dense.rs   use super::merge;  merge::emit(..)      dense -> merge: a cycle
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::Visit;

/// The only function that files call of the folder's own `mod.rs`.
const RECURSION: &str = "statement";
const MOST_LINES: usize = 500;
const MOST_LINES_OF_FUNCTION: usize = 80;
const MOST_FIELDS: usize = 8;

/// The path of a module below the folder; empty for the folder itself.
type Module = Vec<String>;

#[test]
fn functions_of_the_lowering_call_in_one_direction() {
    let files = files();
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut calls: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    let mut faults = Vec::new();
    for (module, text) in files.iter().filter(|(module, _)| !module.is_empty()) {
        // A variable may have the name of a module.
        for path in called(module, &parse(text)).into_iter().filter(|path| !modules.contains(path)) {
            let Some((function, of)) = path.split_last() else { continue };
            match of {
                [] if function != RECURSION => faults.push(format!("{} calls {function} of mod.rs", module.join("/"))),
                [] => {}
                _ if of == module || !modules.contains(of) => {}
                _ => {
                    calls.entry(module.clone()).or_default().insert(of.to_vec());
                }
            }
        }
    }
    assert!(calls.len() > 20, "only {} files call others", calls.len());
    faults.extend(cycle(&calls).map(|cycle| format!("a cycle: {cycle}")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_functions_and_structs_of_the_lowering_are_small() {
    let mut faults = Vec::new();
    for (module, text) in files() {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            faults.push(format!("{}: {lines} lines", module.join("/")));
        }
        let mut sizes = Sizes::default();
        sizes.visit_file(&parse(&text));
        faults.extend(sizes.faults.into_iter().map(|fault| format!("{}: {fault}", module.join("/"))));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The files of the folder with their modules and texts.
fn files() -> Vec<(Module, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/compiler/src/lower");
    let mut found = Vec::new();
    let mut folders: Vec<(Module, PathBuf)> = vec![(Vec::new(), root)];
    while let Some((module, folder)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("its entries can be read").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let inner = [module.clone(), vec![name.clone()]].concat();
            if path.is_dir() {
                folders.push((inner, path));
            } else {
                let text = fs::read_to_string(&path).expect("its files can be read");
                found.push((if name == "mod" { module.clone() } else { inner }, text));
            }
        }
    }
    found
}

fn parse(text: &str) -> syn::File {
    syn::parse_file(text).expect("the file is Rust")
}

/// The paths below the folder of all functions that a module names.
fn called(module: &Module, file: &syn::File) -> Vec<Module> {
    let mut names = Names { module, bound: BTreeMap::new(), paths: Vec::new() };
    for item in &file.items {
        match item {
            syn::Item::Use(item) => names.bind(&mut Vec::new(), &item.tree),
            syn::Item::Mod(item) => {
                let own = [module.clone(), vec![item.ident.to_string()]].concat();
                names.bound.insert(item.ident.to_string(), own);
            }
            _ => {}
        }
    }
    names.visit_file(file);
    let is_function = |path: &Module| path.iter().all(|name| !name.starts_with(|c: char| c.is_uppercase()));
    names.paths.into_iter().filter(is_function).collect()
}

/// The meanings of names in a file, and the paths that its expressions name.
struct Names<'a> {
    module: &'a Module,
    bound: BTreeMap<String, Module>,
    paths: Vec<Module>,
}

impl Names<'_> {
    /// Binds the names of a `use`.
    fn bind(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.bind(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => self.know(before, before.last().cloned()),
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.know(&[before.clone(), vec![name.clone()]].concat(), Some(name));
            }
            syn::UseTree::Rename(rename) => {
                let path = [before.clone(), vec![rename.ident.to_string()]].concat();
                self.know(&path, Some(rename.rename.to_string()));
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.bind(before, tree)),
            syn::UseTree::Glob(_) => {}
        }
    }

    fn know(&mut self, path: &[String], name: Option<String>) {
        if let (Some(path), Some(name)) = (self.below(path), name) {
            self.bound.insert(name, path);
        }
    }

    /// The path below the folder that a path stands for, if it does.
    fn below(&self, path: &[String]) -> Option<Module> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        if ups > 0 {
            let kept = self.module.len().checked_sub(ups)?;
            return Some([&self.module[..kept], &path[ups..]].concat());
        }
        match path {
            [first, second, rest @ ..] if first == "crate" && second == "lower" => Some(rest.to_vec()),
            [first, rest @ ..] => self.bound.get(first).map(|own| [own.as_slice(), rest].concat()),
            [] => None,
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.extend(self.below(&names));
        syn::visit::visit_expr_path(self, path);
    }
}

/// A cycle of calls, if there is one.
fn cycle(calls: &BTreeMap<Module, BTreeSet<Module>>) -> Option<String> {
    fn follow(
        calls: &BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<String> {
        let here = way.last()?.clone();
        for next in calls.get(&here).into_iter().flatten() {
            if let Some(place) = way.iter().position(|other| other == next) {
                let names = way[place..].iter().chain([next]).map(|module| module.join("/"));
                return Some(names.collect::<Vec<_>>().join(" -> "));
            }
            if !done.contains(next) {
                way.push(next.clone());
                let found = follow(calls, way, done);
                way.pop();
                if found.is_some() {
                    return found;
                }
            }
        }
        done.insert(here);
        None
    }
    let mut done = BTreeSet::new();
    calls.keys().find_map(|first| follow(calls, &mut vec![first.clone()], &mut done))
}

/// The functions and structs that are too large.
#[derive(Default)]
struct Sizes {
    faults: Vec<String>,
}

impl Sizes {
    fn function(&mut self, name: &syn::Ident, block: &syn::Block) {
        let lines = block.span().end().line - block.span().start().line + 1;
        if lines > MOST_LINES_OF_FUNCTION {
            self.faults.push(format!("{name} has {lines} lines"));
        }
    }
}

impl<'ast> Visit<'ast> for Sizes {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let is_copied = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("derive")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("Copy"))
        });
        if !is_copied && item.fields.len() > MOST_FIELDS {
            self.faults.push(format!("{} has {} fields", item.ident, item.fields.len()));
        }
    }
}

#[test]
fn a_cycle_is_seen() {
    let module = |name: &str| vec![name.to_string()];
    let calls = |pairs: &[(&str, &str)]| {
        let mut calls: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in pairs {
            calls.entry(module(from)).or_default().insert(module(to));
        }
        calls
    };
    assert_eq!(cycle(&calls(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    assert_eq!(cycle(&calls(&[("a", "b"), ("b", "c"), ("c", "b")])).as_deref(), Some("b -> c -> b"));
}

#[test]
fn names_are_followed() {
    let file = parse(
        "use super::{dense, iter::{open, self}}; fn f() { dense::over(); open(); iter::traits(); super::super::statement(); Kind::of(); }",
    );
    let found = called(&vec!["loops".to_string(), "merge".to_string()], &file);
    let found: BTreeSet<String> = found.iter().map(|path| path.join("/")).collect();
    let wanted = ["loops/dense/over", "loops/iter/open", "loops/iter/traits", "statement"];
    assert_eq!(found, wanted.map(str::to_string).into());
}

#[test]
fn sizes_are_seen() {
    let long = format!("fn f() {{{}}}", "\n".repeat(MOST_LINES_OF_FUNCTION));
    let mut sizes = Sizes::default();
    sizes.visit_file(&parse(&long));
    sizes.visit_file(&parse("struct S { a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8 }"));
    sizes.visit_file(&parse(
        "#[derive(Clone, Copy)] struct S { a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8 }",
    ));
    assert_eq!(sizes.faults, [format!("f has {} lines", MOST_LINES_OF_FUNCTION + 1), "S has 9 fields".to_string()]);
}
