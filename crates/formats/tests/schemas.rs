//! Schemas of nodes: those of every program, their printed text, layouts, orders, and the mistakes that are found.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use lacunar_formats::schema::{FieldKind, Step, Target};
use lacunar_formats::{Format, FormatError, FormatSpec, Level, LevelKind, Schema, Template};

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

#[test]
fn schemas_of_every_program_are_read_and_printed_back() {
    let names: Vec<&str> = Template::every_program().iter().map(Template::name).collect();
    // The rules of the paper, and others that follow from them.
    let known = [
        "list",
        "blist",
        "blist_holes",
        "blist_sparse",
        "blist_unsorted",
        "vblist",
        "bst",
        "ttree",
        "rbtree",
        "ctree",
        "btree",
        "pactree",
    ];
    assert!(known.iter().all(|name| names.contains(name)), "{names:?}");
    for template in Template::every_program() {
        let schema = template.with(&[]).unwrap();
        assert_eq!(Schema::parse(schema.text()).unwrap(), schema);
        if known.contains(&template.name()) {
            assert_eq!(schema.is_ordered(), template.name() != "blist_unsorted", "{schema}");
            assert_eq!(schema.is_transparent(), template.name() != "ctree");
        }
        let kind = LevelKind::nodes_named(template.name()).unwrap();
        assert_eq!(kind.schema(), Some(&schema));
        assert_eq!(kind, LevelKind::nodes(schema).unwrap());
        let text = format!("d{{{}}}:1,0", template.name());
        assert_eq!(format(&text, 2).to_string(), text);
    }
    assert_eq!(LevelKind::every_nodes().len(), names.len());
}

#[test]
fn capacities_are_arguments() {
    assert_eq!(format("{blist<16>}s", 2), format("{blist}s", 2));
    assert_eq!(format("{blist<64>}s", 2).to_string(), "{blist<64>}s");
    assert_eq!(format("{pactree<64,16>}", 1).to_string(), "{pactree<64,16>}");
    assert_eq!(format("{pactree<128,32>}", 1).to_string(), "{pactree<128>}");
    assert_eq!(format("{BST}{ctree}", 2).to_string(), "{bst}{ctree}");
    let kind = format("{ttree<7>}", 1).levels()[0].kind;
    assert_eq!(kind.info().name, "ttree<7>");
    assert!(kind.schema().unwrap().text().contains("size in [1,7]"));
    for (text, hint) in [
        ("d{btre}", "did you mean `{btree}`?"),
        ("d{bst<3>}", "`bst` has no parameters: write `{bst}`"),
        ("d{blist<x>}", "write a number for each of its parameters, as in `{blist<K=16>}`"),
        ("d{pactree<8>}", "it is `{pactree<K=64,L=32>}`; here `B` is in [32,8], where no length of 1 or more is"),
    ] {
        let error = text.parse::<FormatSpec>().unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
    }
    let open = "d{btree".parse::<FormatSpec>();
    assert_eq!(open, Err(FormatError::Schema { name: "btree".to_string(), place: 1, closed: false }));
    let open = "packed(symmetric".parse::<FormatSpec>();
    assert_eq!(open, Err(FormatError::Open { format: "packed(symmetric".to_string(), place: 6 }));
    assert!("d{bst}16".parse::<FormatSpec>().unwrap_err().to_string().contains("have 32 bits"));
    assert!("d{bst}@64".parse::<FormatSpec>().is_err());
}

/// Every word of a node has one meaning, and every element one position.
#[test]
fn layouts_give_every_item_a_place_of_its_own() {
    for template in Template::every_program() {
        let schema = template.with(&[]).unwrap();
        for (node, room) in schema.nodes().iter().flat_map(|node| [(node, 0), (node, 1), (node, 8)]) {
            let mut words = vec![0; node.words(room) as usize];
            let mut slots = vec![0; node.slots(room) as usize];
            for field in &node.fields {
                let length = match (field.array(), &field.kind) {
                    (None, FieldKind::Meta(lacunar_formats::schema::Meta::Uint(64))) => 2,
                    (None, _) => 1,
                    (Some(lacunar_formats::schema::Extent::Const(length)), _) => length,
                    (Some(lacunar_formats::schema::Extent::Size(size)), _) => match node.fields[size].kind {
                        FieldKind::Size { most, .. } => most.unwrap_or(room),
                        _ => unreachable!(),
                    },
                };
                (0..length).for_each(|k| words[field.word(room, k) as usize] += 1);
                if matches!(field.kind, FieldKind::Elem { .. }) {
                    (0..length).for_each(|k| slots[field.slot(room, k) as usize] += 1);
                }
            }
            node.layout.slot.into_iter().chain(node.layout.room).for_each(|word| words[word as usize] += 1);
            assert!(words.iter().all(|count| *count <= 1), "{}: {words:?}", node.name);
            assert!(slots.iter().all(|count| *count == 1), "{}: {slots:?}", node.name);
            assert_eq!(words.len() % schema.align() as usize, 0);
        }
    }
    let layout = |name: &str, node: usize| Schema::builtin(name, &[]).unwrap().nodes()[node].clone();
    let bst = layout("bst", 0);
    assert_eq!((bst.words(0), bst.fields[0].offset, bst.fields[1].offset, bst.fields[2].offset), (4, 0, 1, 2));
    assert_eq!(bst.layout.slot, Some(3));
    let ctree = layout("ctree", 0);
    assert_eq!((ctree.layout.words, ctree.layout.room, ctree.words(3), ctree.slots(3)), (6, Some(4), 16, 4));
    // Twelve elements, their number and the position of the first.
    assert_eq!((layout("blist", 0).words(0), layout("btree", 1).words(0)), (20, 20));
}

#[test]
fn orders_and_holders_are_those_of_the_text() {
    let btree = Schema::builtin("btree", &[]).unwrap();
    let internal = &btree.nodes()[0];
    assert_eq!(internal.seq, [Step::Together(vec![1, 0]), Step::One(2)]);
    assert_eq!((btree.nodes()[1].tag, btree.types(Target::Super(0))), (1, &[0, 1][..]));
    assert_eq!(btree.entry(), Target::Super(0));
    assert_eq!((btree.type_of(btree.entry(), 17), btree.type_of(btree.entry(), 18)), (Some(1), None));
    let rbtree = Schema::builtin("rbtree", &[]).unwrap();
    assert_eq!(rbtree.nodes()[0].holder, Some(Target::Node(0)));
    let ctree = Schema::builtin("ctree", &[]).unwrap();
    assert_eq!((ctree.root(), ctree.entry()), (1, Target::Node(1)));
    // Without a complete order, elements are visited before children, and nothing is known of coordinates.
    let some = Schema::parse("def t { l: t  e: elem nonempty  r: t }").unwrap();
    assert_eq!(some.nodes()[0].seq, [Step::One(1), Step::One(0), Step::One(2)]);
    assert!(!some.is_ordered() && !some.is_transparent());
    assert_eq!(Schema::parse(some.text()).unwrap(), some);
    // A type of more subtypes than usual needs handles with more low bits.
    let many: String = (0..9).map(|k| format!("def t{k} : t {{ e{k}: elem nonempty }}\n")).collect();
    assert_eq!(Schema::parse(&format!("def supertype t {many} def all_root {{ r: t }}")).unwrap().align(), 16);
}

#[test]
fn names_are_those_of_one_schema() {
    let text = "def mine { e: elem nonempty  n: mine  seq = e, n }";
    let kind = LevelKind::nodes(Schema::parse(text).unwrap()).unwrap();
    assert_eq!(
        LevelKind::nodes(Schema::parse("def mine { e: elem nonempty n: mine seq = {e}, n }").unwrap()),
        Ok(kind)
    );
    assert_eq!(format("d{mine}", 2).levels()[1], Level { kind, unique: true });
    let other = Schema::parse("def mine { e: elem  n: mine  seq = e, n }").unwrap();
    assert!(LevelKind::nodes(other).unwrap_err().to_string().contains("the name `mine`"));
    assert_eq!(Template::define("def bst { e: elem }").unwrap_err()[0].code, "E1615");
    assert_eq!(Template::define("def delta { e: elem }").unwrap_err()[0].code, "E1615");
    let defined =
        Template::define("param K = 4  def own_head { h: own }  def own { e: elem[K]  n: own  seq = {e}, n }");
    assert_eq!(defined.unwrap().title(), "own<K=4>");
    assert_eq!(format("{own<8>}", 1).to_string(), "{own<8>}");
}

/// The code, the line, the column and a part of the message or hint of a mistake.
type Mistake = (&'static str, u32, u32, &'static str);

/// Texts and their mistakes.
const BROKEN: [(&str, &[Mistake]); 44] = [
    ("", &[("E1601", 1, 1, "the end of the text stands where")]),
    ("list { e: elem }", &[("E1601", 1, 1, "`list` stands where `def` or `param`")]),
    ("def t { e elem }", &[("E1601", 1, 11, "`elem` stands where `:`")]),
    ("def t { e: elem", &[("E1601", 1, 16, "the name of a field")]),
    ("def t { }", &[("E1601", 1, 5, "no fields")]),
    ("def t { e: 7 }", &[("E1601", 1, 12, "the type of a field")]),
    ("def t { e: elem[-1] }", &[("E1601", 1, 17, "`-` stands where a number")]),
    ("def t { e: elem[99999999999] }", &[("E1601", 1, 17, "more than 32 bits")]),
    ("def t { e: elem[B] B: size in [1 2] }", &[("E1601", 1, 34, "`,`")]),
    ("def t {\n  e: elem\n  seq = {e }  n }", &[("E1601", 3, 15, "`n` stands where `,`, `}` or another field")]),
    ("def t {\n  e: elem\ndef u { e: elem }", &[("E1601", 3, 1, "`def` stands where a field or `}`")]),
    ("def t { e: elem seq = e\ndef u { e: elem }", &[("E1601", 2, 1, "`def` stands where a field or `}`")]),
    ("def t { e: elem[B] B: int in [1,2] }", &[("E1601", 1, 23, "`int` stands where the type of a field")]),
    ("def t { elem: elem }", &[("E1602", 1, 9, "`elem` is a word of the language")]),
    ("def seq { e: elem }", &[("E1602", 1, 5, "give a node type another name")]),
    ("def t { e: elem\n  e: elem }", &[("E1602", 2, 3, "two definitions of `e`")]),
    ("def t { e: elem } def t { e: elem }", &[("E1602", 1, 23, "two definitions of `t`")]),
    ("def Tree { e: elem }", &[("E1602", 1, 5, "can't be the name of a level kind")]),
    ("def t { e: elem nonempty  l: tt }", &[("E1603", 1, 30, "`tt` is no type")]),
    ("def t { e: elem[C]  B: size }", &[("E1603", 1, 17, "size field of `t`")]),
    ("def tree { e: elem  l: tree  seq = l, f }", &[("E1603", 1, 39, "`f` is no field of `tree`")]),
    ("def t : s { e: elem }", &[("E1603", 1, 9, "`s` is no supertype")]),
    ("def t { e: elem[B]  B: size in [1,K] }", &[("E1603", 1, 35, "`K` is no parameter")]),
    ("def a { e: elem  n: b }\ndef b { e: elem  n: a }", &[("E1604", 1, 5, "`def a_root { r: a }`")]),
    ("def a { e: elem }\ndef b { e: elem }", &[("E1604", 2, 5, "`b` is a root besides `a`")]),
    ("def supertype s def a : s { e: elem  n: s } def b : s { n: s }", &[("E1604", 1, 21, "`def s_root { r: s }`")]),
    (
        "def t_root { h: t } def t { e: elem } def u { e: elem v: v } def v { u: u }",
        &[("E1605", 1, 43, "no node of type `u`"), ("E1605", 1, 66, "no node of type `v`")],
    ),
    ("def supertype s def t : s { e: elem }", &[("E1605", 1, 15, "no child is a `s`")]),
    ("def t { e: elem[c]  c: uint32 }", &[("E1606", 1, 17, "`c` is no size field")]),
    ("def t { e: elem  B: size }", &[("E1606", 1, 18, "no array of `t` has the length `B`")]),
    ("def t { e: elem l: t seq = e, l, e }", &[("E1607", 1, 34, "`e` is in the order twice")]),
    ("def t { e: elem[B] B: size seq = {e}, B }", &[("E1607", 1, 39, "neither an element nor a child")]),
    ("def t { e: elem seq = e seq = e }", &[("E1607", 1, 25, "two orders")]),
    ("def t { e: elem[2]  c: t[3]  seq = {c, e} }", &[("E1608", 1, 40, "`e` is not as long as `c`")]),
    ("def t { e: elem[2]  c: t  seq = {e, c} }", &[("E1608", 1, 37, "`c` is no array of `t`")]),
    ("def t { e: elem p: parent q: parent }", &[("E1609", 1, 27, "a second field for the parent")]),
    ("def r { a: a b: b } def a { n: c } def b { n: c } def c { p: parent e: elem }", &[("E1609", 1, 62, "held by")]),
    ("def t { e: elem nonempty  n: t nonempty }", &[("E1610", 1, 5, "children without end")]),
    (
        "def r { h: a[2048] nonempty  seq = {h} }\ndef a { b: b[1024] nonempty  seq = {b} }\ndef b { e: elem  seq = e }",
        &[("E1610", 1, 5, "more than 1048576 others")],
    ),
    ("def supertype s\ndef t { e: elem }", &[("E1611", 1, 15, "no node type is a `s`")]),
    ("def a { e: elem n: b } def b : a { e: elem }", &[("E1611", 1, 32, "`a` is a node type and no supertype")]),
    ("def t { e: elem[B]  B: size in [3,2] }", &[("E1612", 1, 35, "`B` is in [3,2]")]),
    ("def t { e: elem[0] }", &[("E1612", 1, 17, "no items")]),
    ("def t { n: t }", &[("E1613", 1, 5, "no type holds elements")]),
];

#[test]
fn mistakes_have_a_code_a_place_and_a_hint() {
    let mut failed = Vec::new();
    for (text, expected) in BROKEN {
        let found = Schema::parse(text).err().unwrap_or_default();
        let fits = found.len() == expected.len()
            && found.iter().zip(expected).all(|(error, (code, line, column, part))| {
                (error.code, error.line, error.column) == (*code, *line, *column)
                    && error.to_string().contains(part)
                    && !error.hint.is_empty()
            });
        if !fits {
            failed.push(format!("{text}\n{}", found.iter().map(|error| format!("  {error}\n")).collect::<String>()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.concat());
    let bounds = "def t { e: elem[B]  B: size in [1,4] about 5  f: elem[C]  C: size in [1,70000] }";
    let codes: Vec<&str> = Schema::parse(bounds).unwrap_err().iter().map(|error| error.code).collect();
    assert_eq!(codes, ["E1612", "E1612"]);
    let sizes: String = (0..9).map(|k| format!("e{k}: elem[B{k}] B{k}: size ")).collect();
    assert_eq!(Schema::parse(&format!("def t {{ {sizes} }}")).unwrap_err()[0].code, "E1612");
    let list = Template::every_program().iter().find(|template| template.name() == "list").unwrap();
    assert_eq!(list.with(&[1]).unwrap_err()[0].code, "E1614");
}

/// Every code of this crate's schemas is explained, and made by some text here.
#[test]
fn codes_are_explained() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(root.join("../../docs/errors.md")).unwrap();
    let explained = docs.lines().filter_map(|line| line.strip_prefix("### ")?.split(':').next());
    let explained: BTreeSet<String> = explained.filter(|code| code.starts_with("E16")).map(str::to_string).collect();
    let mut used = BTreeSet::new();
    for entry in std::fs::read_dir(root.join("src/schema")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            used.extend(text.split('"').filter(|word| word.len() == 5 && word.starts_with("E16")).map(str::to_string));
        }
    }
    assert_eq!(used, explained);
    let tried: BTreeSet<String> =
        BROKEN.iter().flat_map(|(_, errors)| errors.iter().map(|error| error.0.to_string())).collect();
    let others = BTreeSet::from(["E1614".to_string(), "E1615".to_string()]);
    assert_eq!(used.difference(&tried).cloned().collect::<BTreeSet<_>>(), others);
}

/// A text may have several schemas, and a program any, whose places are those in the text.
#[test]
fn several_schemas_are_told_apart() {
    let text = "# two\nparam K = 4\ndef supertype of_two\ndef two_in : of_two { e: elem[B] nonempty  c: of_two[B]  B: size in [1,K] \
                seq = {c, e} }  def one { e: elem  n: one  seq = e, n }\ndef two_root { r: of_two }";
    let names = |templates: &[Template]| templates.iter().map(Template::title).collect::<Vec<_>>();
    assert_eq!(names(&Template::define_all(text).unwrap()), ["two<K=4>", "one"]);
    let program = format!("{text}; y(i) = A(i,j) * x(j)\n  def three {{ a: elem\n b: elem }}\nz(i) = def(i)\n");
    let (rest, templates) = Template::in_program(&program);
    assert_eq!(names(&templates.unwrap()), ["two<K=4>", "one", "three"]);
    assert_eq!(rest.len(), program.len());
    assert_eq!(rest.split_whitespace().collect::<Vec<_>>().join(" "), "# two ; y(i) = A(i,j) * x(j) z(i) = def(i)");
    let (_, wrong) = Template::in_program("x = 1\ndef t { e: elm }\ny = 2");
    assert_eq!((wrong.clone().unwrap_err()[0].line, wrong.unwrap_err()[0].column), (2, 12));
    assert_eq!(Template::in_program("def = 2\nparam(i) = x(i)").0, "def = 2\nparam(i) = x(i)");
}
