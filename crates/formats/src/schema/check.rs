//! From a schema's text to the checked schema: names are resolved, rules checked, nodes laid out, the canonical text printed.

use super::layout::{ALIGN, lay_out};
use super::names::Names;
use super::rules::Types;
use super::syntax::{Raw, read};
use super::{Layout, Node, Schema, SchemaError, print};

/// Reads a schema whose first parameters have these values.
///
/// # Errors
/// The mistakes in it, in the order of their places.
pub(super) fn schema(text: &str, arguments: &[u32]) -> Result<Schema, Vec<SchemaError>> {
    let raw = read(text).map_err(|error| vec![error])?;
    let mut names = Names::new(text, &raw, arguments);
    let checked = checked(&raw, arguments, &mut names);
    let mut errors = names.errors;
    if errors.is_empty() {
        return Ok(checked);
    }
    errors.sort_by_key(|error| error.span.start);
    Err(errors)
}

/// The schema, which means something only if there are no errors.
fn checked(raw: &Raw, arguments: &[u32], names: &mut Names) -> Schema {
    let supertypes = names.supertypes();
    let nodes = raw.nodes.iter().enumerate().map(|(number, node)| {
        let supertype = names.supertype(node);
        let is_own = |subtypes: &Vec<usize>| subtypes.iter().position(|other| *other == number);
        let tag = supertype.and_then(|supertype| is_own(&supertypes[supertype].subtypes)).unwrap_or_default();
        let fields = node.fields.iter().map(|field| names.field(node, field)).collect();
        let name = node.name.text.clone();
        let (seq, written, tag) = (Vec::new(), Vec::new(), tag as u32);
        Node { number, name, supertype, tag, fields, seq, written, holder: None, layout: Layout::default() }
    });
    let nodes = nodes.collect();
    let mut types = Types { raw, nodes, supertypes };
    let mut schema = Schema {
        name: String::new(),
        text: String::new(),
        nodes: Vec::new(),
        supertypes: Vec::new(),
        root: 0,
        is_ordered: false,
        align: ALIGN,
    };
    if !names.errors.is_empty() {
        return schema;
    }
    types.sizes(names);
    let orders: Vec<_> = (0..types.nodes.len()).map(|number| types.seq(number, names)).collect();
    schema.is_ordered = orders.iter().all(|seq| seq.told);
    types.nodes.iter_mut().zip(orders).for_each(|(node, seq)| (node.seq, node.written) = (seq.steps, seq.written));
    let Some(root) = types.root(names) else { return schema };
    types.reach(root, names);
    schema.root = root;
    schema.nodes.clone_from(&types.nodes);
    schema.name = name(raw, root, arguments, names);
    let holder = |number: usize| types.holder(number, root, schema.is_transparent(), names);
    let holders: Vec<_> = (0..types.nodes.len()).map(holder).collect();
    types.nodes.iter_mut().zip(holders).for_each(|(node, holder)| node.holder = holder);
    let most = types.supertypes.iter().map(|supertype| supertype.subtypes.len()).max().unwrap_or_default();
    schema.align = ALIGN.max(most.next_power_of_two() as u32);
    types.nodes.iter_mut().for_each(|node| lay_out(node, schema.align));
    (schema.nodes, schema.supertypes) = (types.nodes, types.supertypes);
    schema.text = print::text(&schema);
    schema
}

/// The name of a schema: that of the root type without its ending, and with the values of parameters up to the last one that is not
/// the default.
fn name(raw: &Raw, root: usize, arguments: &[u32], names: &mut Names) -> String {
    let root = &raw.nodes[root].name;
    let stem = ["_root", "_head"].into_iter().find_map(|ending| root.text.strip_suffix(ending)).unwrap_or(&root.text);
    let is_word =
        stem.starts_with(|c: char| c.is_ascii_lowercase()) && !stem.contains(|c: char| c.is_ascii_uppercase());
    if !is_word {
        let message = format!("`{}` can't be the name of a level kind", root.text);
        let hint = "the root's type begins with a small letter and has none that are large: formats know no difference";
        names.error("E1602", root.span, message, hint);
    }
    let is_other = |(param, value): (&super::syntax::RawParam, &u32)| param.value != *value;
    let told = raw.params.iter().zip(arguments).rposition(is_other).map_or(0, |last| last + 1);
    let values: Vec<String> = arguments.iter().take(told).map(u32::to_string).collect();
    if values.is_empty() { stem.to_string() } else { format!("{stem}<{}>", values.join(",")) }
}
