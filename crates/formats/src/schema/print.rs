//! Schemas as text: one line a node type, fields in their order, constants in the place of parameters.
//!
//! ```
//! use lacunar_formats::Schema;
//! let text = Schema::parse("param K = 3  def blist_head { h: blist }
//!     def blist { e: elem[B] nonempty, n: blist, seq = {e}, n  B: size in [0, K] }  # a list").unwrap().to_string();
//! assert_eq!(text, "def blist_head { h: blist }\n\
//!     def blist { e: elem[B] nonempty  n: blist  B: size in [0,3]  seq = {e}, n }\n");
//! ```

use std::fmt::Write;

use super::{Extent, Field, FieldKind, Layout, Meta, Node, Schema, Target};

/// The text of a schema.
pub(super) fn text(schema: &Schema) -> String {
    let mut text = String::new();
    for supertype in &schema.supertypes {
        text += &format!("def supertype {}\n", supertype.name);
    }
    for node in &schema.nodes {
        let supertype = node.supertype.map(|number| format!(" : {}", schema.supertypes[number].name));
        let fields = node.fields.iter().map(|field| format!("{}: {}  ", field.name, kind(schema, node, field)));
        let _ = write!(text, "def {}{} {{ {}", node.name, supertype.unwrap_or_default(), fields.collect::<String>());
        text += &seq(node).map(|seq| format!("seq = {seq}  ")).unwrap_or_default();
        text.truncate(text.trim_end().len());
        text += " }\n";
    }
    text
}

impl Schema {
    /// The text of a field's type.
    pub fn field_type(&self, node: &Node, field: &Field) -> String {
        kind(self, node, field)
    }

    /// The layouts of all node types: the words and positions of each field of a node.
    ///
    /// ```
    /// use lacunar_formats::Schema;
    /// let text = Schema::builtin("bst", &[]).unwrap().layouts();
    /// assert!(text.starts_with("bst: 4 words, 1 position\n"), "{text}");
    /// assert!(text.contains("  word 3          slot   the first position"), "{text}");
    /// ```
    pub fn layouts(&self) -> String {
        self.nodes
            .iter()
            .filter(|node| !(self.is_transparent() && node.number == self.root))
            .map(|node| layout(self, node))
            .collect()
    }
}

/// A number with a word, and the room that arrays without a bound take besides.
fn counted(count: u32, rooms: usize, word: &str) -> String {
    let room = match rooms {
        0 => String::new(),
        1 => " + room".to_string(),
        rooms => format!(" + {rooms} room"),
    };
    format!("{count}{room} {word}{}", if count == 1 && rooms == 0 { "" } else { "s" })
}

fn layout(schema: &Schema, node: &Node) -> String {
    let Layout { words, slot, slots, room, unbounded, slot_rooms, align } = &node.layout;
    let tag = node.supertype.map(|number| format!(" : {}, tag {}", schema.supertypes[number].name, node.tag));
    let positions = counted(*slots, *slot_rooms as usize, "position");
    let mut text = format!("{}{}: {}", node.name, tag.unwrap_or_default(), counted(*words, unbounded.len(), "word"));
    text += &match unbounded.last() {
        None => String::new(),
        Some(last) if node.is_padded(*last) => {
            format!(", {} in multiples of {}, all in multiples of {align}", node.fields[*last].name, Schema::VECTOR)
        }
        Some(_) => format!(", in multiples of {align}"),
    };
    text += &format!(", {positions}\n");
    let is_unbounded = |number: usize| unbounded.contains(&number);
    let length = |field: &Field| match field.array() {
        None if matches!(field.kind, FieldKind::Meta(Meta::Int(64) | Meta::Uint(64))) => 2,
        None => 1,
        Some(Extent::Const(length)) => length,
        Some(Extent::Size(size)) => match node.fields[size].kind {
            FieldKind::Size { most, .. } => most.unwrap_or_default(),
            _ => 0,
        },
    };
    let range = |first: u32, rooms: u32, field: &Field, open: bool| {
        let start = match rooms {
            0 => first.to_string(),
            1 => format!("{first} + room"),
            rooms => format!("{first} + {rooms} room"),
        };
        if open { format!("{start} ..") } else { format!("{start} ..= {}", first + length(field).max(1) - 1) }
    };
    let mut lines: Vec<(u32, u32, String)> = Vec::new();
    for (number, field) in node.fields.iter().enumerate() {
        let open = is_unbounded(number);
        let one = !open && length(field) == 1;
        let place = if one {
            format!("word {}", field.offset)
        } else {
            format!("words {}", range(field.offset, field.rooms, field, open))
        };
        let at = match field.kind {
            FieldKind::Elem { .. } if one => format!("   position slot + {}", field.slot),
            FieldKind::Elem { .. } => {
                format!("   positions slot + {}", range(field.slot, field.slot_rooms, field, open))
            }
            _ => String::new(),
        };
        let line = format!("  {place:<15} {:<6} {}{at}\n", field.name, kind(schema, node, field));
        lines.push((field.offset, field.rooms, line));
    }
    lines.extend(slot.map(|word| (word, 0, format!("  {:<15} slot   the first position\n", format!("word {word}")))));
    lines.extend(room.map(|word| {
        (word, 0, format!("  {:<15} room   the length of arrays without a bound\n", format!("word {word}")))
    }));
    lines.sort();
    text + &lines.into_iter().map(|(_, _, line)| line).collect::<String>()
}

fn kind(schema: &Schema, node: &Node, field: &Field) -> String {
    let length = |array: Option<Extent>| match array {
        Some(Extent::Const(length)) => format!("[{length}]"),
        Some(Extent::Size(size)) => format!("[{}]", node.fields[size].name),
        None => String::new(),
    };
    let nonempty = if field.is_nonempty() { " nonempty" } else { "" };
    match field.kind {
        FieldKind::Elem { array, .. } => format!("elem{}{nonempty}", length(array)),
        FieldKind::Child { to: Target::Node(number), array, .. } => {
            format!("{}{}{nonempty}", schema.nodes[number].name, length(array))
        }
        FieldKind::Child { to: Target::Super(number), array, .. } => {
            format!("{}{}{nonempty}", schema.supertypes[number].name, length(array))
        }
        FieldKind::Size { least, most, about } => {
            let bounds = match (least, most) {
                (0, None) => String::new(),
                (least, most) => format!(" in [{least},{}]", most.map_or("*".to_string(), |most| most.to_string())),
            };
            format!("size{bounds}{}", about.map(|about| format!(" about {about}")).unwrap_or_default())
        }
        FieldKind::Meta(Meta::Bool) => "bool".to_string(),
        FieldKind::Meta(Meta::Int(bits)) => format!("int{bits}"),
        FieldKind::Meta(Meta::Uint(bits)) => format!("uint{bits}"),
        FieldKind::Parent => "parent".to_string(),
    }
}

/// The order of a node's fields, as far as it is told.
fn seq(node: &Node) -> Option<String> {
    let entry = |(fields, braced): &(Vec<usize>, bool)| {
        let names = fields.iter().map(|field| node.fields[*field].name.as_str()).collect::<Vec<_>>().join(", ");
        if *braced { format!("{{{names}}}") } else { names }
    };
    (!node.written.is_empty()).then(|| node.written.iter().map(entry).collect::<Vec<_>>().join(", "))
}
