//! Schemas of nodes: texts that are refused, or read back from their printed form; and trees of them that are checked, or refused.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use lacunar_formats::{DType, Format, Level, LevelKind, Schema, Template};
use lacunar_runtime::{Coo, StorageError, Tensor, Values};

use super::{Target, text};

/// Kinds stay, so that only so many are made.
const KINDS: usize = 4000;

/// Larger nodes are not made.
const WORDS: u64 = 1 << 12;

pub(super) const SCHEMAS: Target = Target {
    name: "schemas",
    seeds: || {
        let texts = Template::every_program().iter().map(|template| template.text().to_string());
        let others = [
            "def row_big { e: elem nonempty l: row_big r: row_big seq = l, e, r } def row { B: size in [0,4] e: elem[B] r: row_big }",
            "def supertype s def a : s { x: elem y: elem nonempty n: s p: parent } def b : s { e: elem[3] n: s[2] } def s_root { r: s }",
            "param K = 2 def w { x: elem[N] nonempty c: w[N] z: uint64 N: size in [0,*] about K seq = {c, x} }",
        ];
        texts.chain(others.map(str::to_string)).map(String::into_bytes).collect()
    },
    words: &[
        "def ",
        "supertype ",
        "param K = 3 ",
        "elem",
        "elem[B]",
        "elem[2]",
        " nonempty",
        "B: size",
        " in [0,3]",
        " in [2,*]",
        " about 2",
        ": parent ",
        ": bool ",
        ": uint64 ",
        "seq = ",
        "{e}",
        "{c, e}",
        " : s ",
        "{",
        "}",
        ", ",
        "def t_root { r: t }",
    ],
    run: |bytes| {
        let text = text(bytes, 1 << 12);
        let (rest, _) = if text.len() < 64 { Template::in_program(&text) } else { (text.clone(), Ok(Vec::new())) };
        assert!(rest.len() <= text.len());
        let schema = match Schema::parse(&text) {
            Ok(schema) => schema,
            Err(errors) => {
                let codes: BTreeSet<&str> = errors.iter().map(|error| error.code).collect();
                return format!("{codes:?}");
            }
        };
        let again = Schema::parse(schema.text());
        assert_eq!(again.as_ref(), Ok(&schema), "`{schema}` is read back otherwise");
        assert!(!schema.layouts().is_empty());
        format!("a schema {} {}", schema.nodes().len(), built(schema))
    },
};

/// The fate of a few elements that are stored in levels of a schema.
fn built(schema: Schema) -> String {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let is_large = schema.nodes().iter().any(|node| node.words(0) > WORDS);
    if is_large || MADE.fetch_add(1, Ordering::Relaxed) >= KINDS {
        return String::new();
    }
    let Ok(kind) = LevelKind::nodes(schema) else { return "of a name that is taken".to_string() };
    let Ok(format) = Format::new(vec![Level { kind, unique: true }], vec![0]) else { return String::new() };
    let mut outcomes = BTreeSet::new();
    for count in [0u64, 1, 2, 3, 7, 40] {
        let mut list = Coo::empty(vec![100], DType::F64);
        (0..count).for_each(|at| list.coords.iter_mut().for_each(|column| column.push(2 * at)));
        list.values = Values::F64((0..count).map(|at| at as f64 + 1.0).collect());
        outcomes.insert(match Tensor::from_coo(list.clone(), &format) {
            Ok(tensor) => {
                let back = tensor.to_coo().unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(back.values, list.values, "{}", kind.schema().map(Schema::text).unwrap_or_default());
                let (dims, format, levels, values) = tensor.into_parts();
                Tensor::from_parts(dims, &format, levels, values).unwrap_or_else(|error| panic!("{error}"));
                "built"
            }
            Err(StorageError::NotRepresentable { .. }) => "refused",
            Err(error) => panic!("{error}"),
        });
    }
    format!("{outcomes:?}")
}
