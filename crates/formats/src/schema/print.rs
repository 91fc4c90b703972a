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

use super::{Extent, Field, FieldKind, Meta, Node, Schema, Target};

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
