//! Schemas of nodes: those of every program, what is printed, layouts, orders, and the mistakes that are found.
#![allow(clippy::unwrap_used)]

use lacunar_formats::schema::{FieldKind, Step, Target};
use lacunar_formats::{Format, FormatError, FormatSpec, Level, LevelKind, Schema, Template};

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

#[test]
fn schemas_of_every_program_are_read_and_printed_back() {
    let names: Vec<&str> = Template::every_program().iter().map(Template::name).collect();
    let all = [
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
    assert_eq!(names, all);
    for template in Template::every_program() {
        let schema = template.with(&[]).unwrap();
        assert_eq!(Schema::parse(schema.text()).unwrap(), schema);
        assert_eq!(schema.is_ordered(), template.name() != "blist_unsorted", "{schema}");
        assert_eq!(schema.is_transparent(), template.name() != "ctree");
        let kind = LevelKind::nodes_named(template.name()).unwrap();
        assert_eq!(kind.schema(), Some(&schema));
        assert_eq!(kind, LevelKind::nodes(schema).unwrap());
        let text = format!("d{{{}}}:1,0", template.name());
        assert_eq!(format(&text, 2).to_string(), text);
    }
    assert_eq!(LevelKind::every_nodes().len(), all.len());
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
        ("d{blist<x>}", "write numbers for its parameters: `{blist<K=16>}`"),
        ("d{pactree<8>}", "it is `{pactree<K=64,L=32>}`; here `B` is in [32,8], where no length of 1 or more is"),
    ] {
        let error = text.parse::<FormatSpec>().unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
    }
    let open = "d{btree".parse::<FormatSpec>();
    assert_eq!(open, Err(FormatError::Schema { name: "btree".to_string(), place: 1, closed: false }));
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
    assert_eq!((ctree.layout.words, ctree.layout.room, ctree.words(3), ctree.slots(3)), (6, Some(4), 12, 4));
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
