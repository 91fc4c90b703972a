//! Several schemas in one text, and schemas in the text of a program.
//!
//! Types that refer to each other, directly or by others, are one schema; so a text may define any number. In a program, definitions
//! begin where a statement could, and end with their brace.
//!
//! ```
//! use lacunar_formats::Template;
//! let text = "def queue { e: elem nonempty  n: queue  seq = e, n }\ny(i) = A(i,j) * x(j)";
//! let (rest, templates) = Template::in_program(text);
//! assert_eq!(rest.trim(), "y(i) = A(i,j) * x(j)");
//! assert_eq!(templates.unwrap()[0].name(), "queue");
//! ```

use std::ops::Range;

use super::syntax::{Const, Raw, RawKind, read};
use super::token::{Kind, Token, tokens};
use super::{SchemaError, Template};

impl Template {
    /// Makes all schemas of a text known; see [`Template::define`]. Places of mistakes are those in the text.
    ///
    /// # Errors
    /// The mistakes in them.
    pub fn define_all(text: &str) -> Result<Vec<Template>, Vec<SchemaError>> {
        let raw = read(text).map_err(|error| vec![error])?;
        let (mut templates, mut errors) = (Vec::new(), Vec::new());
        for own in schemas(&raw) {
            match Template::define(&only(text, &own)) {
                Ok(template) => templates.push(template),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(templates) } else { Err(errors) }
    }

    /// A program's text without the definitions of schemas in it, in the place of which there are blanks; and the schemas, which are
    /// made known.
    ///
    /// # Errors
    /// Beside the text: the mistakes in the schemas.
    pub fn in_program(text: &str) -> (String, Result<Vec<Template>, Vec<SchemaError>>) {
        let found = definitions(text);
        if found.is_empty() {
            return (text.to_string(), Ok(Vec::new()));
        }
        let rest = blanked(text, |place| !found.iter().any(|own| own.contains(&place)));
        (rest, Template::define_all(&only(text, &found)))
    }
}

/// A text in which all but some ranges is blank; lines stay lines.
fn only(text: &str, ranges: &[Range<usize>]) -> String {
    blanked(text, |place| ranges.iter().any(|range| range.contains(&place)))
}

fn blanked(text: &str, keeps: impl Fn(usize) -> bool) -> String {
    let blank = |(place, c): (usize, char)| match c {
        '\n' => "\n".to_string(),
        c if keeps(place) => c.to_string(),
        c => " ".repeat(c.len_utf8()),
    };
    text.char_indices().map(blank).collect()
}

/// The places of each schema's definitions: types that refer to each other, and the parameters that they name.
fn schemas(raw: &Raw) -> Vec<Vec<Range<usize>>> {
    let supers = raw.supertypes.len();
    let place_of = |name: &str| {
        let among = raw.supertypes.iter().position(|supertype| supertype.name.text == name);
        among.or_else(|| Some(supers + raw.nodes.iter().position(|node| node.name.text == name)?))
    };
    // Every type's group; joined until types that refer to each other are in one.
    let mut groups: Vec<usize> = (0..supers + raw.nodes.len()).collect();
    for (number, node) in raw.nodes.iter().enumerate() {
        let children = node.fields.iter().filter_map(|field| match &field.kind {
            RawKind::Child { to, .. } => Some(to),
            _ => None,
        });
        for other in children.chain(&node.supertype).filter_map(|name| place_of(&name.text)) {
            let (from, to) = (groups[other], groups[supers + number]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    let mut order: Vec<usize> = groups.clone();
    order.sort_unstable();
    order.dedup();
    // In the order of their first definitions.
    order.sort_by_key(|group| groups.iter().position(|other| other == group));
    let own = |group: &usize| {
        let is_own = |place: usize| groups[place] == *group;
        let supertypes = raw.supertypes.iter().enumerate().filter(|(place, _)| is_own(*place));
        let nodes = raw.nodes.iter().enumerate().filter(|(place, _)| is_own(supers + place));
        let mut named: Vec<&str> = Vec::new();
        for field in nodes.clone().flat_map(|(_, node)| &node.fields) {
            let constants: Vec<&Const> = match &field.kind {
                RawKind::Elem { array, .. } | RawKind::Child { array, .. } => array.iter().collect(),
                RawKind::Size { least, most, about } => [least, most, about].into_iter().flatten().collect(),
                RawKind::Meta(_) | RawKind::Parent => Vec::new(),
            };
            named.extend(constants.into_iter().filter_map(|constant| match constant {
                Const::Named(name) => Some(name.text.as_str()),
                Const::Number(..) => None,
            }));
        }
        let is_named = |name: &str| named.contains(&name) || order.len() == 1;
        let params = raw.params.iter().filter(|param| is_named(&param.name.text)).map(|param| param.span.range());
        let supertypes = supertypes.map(|(_, supertype)| supertype.span.range());
        params.chain(supertypes).chain(nodes.map(|(_, node)| node.span.range())).collect()
    };
    order.iter().map(own).collect()
}

/// The places of definitions in a program's text.
fn definitions(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while let Some(behind) = text.get(start..) {
        let at = start + (behind.len() - behind.trim_start_matches([' ', '\t', ';']).len());
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        match definition(&text[at..]) {
            Some(length) => {
                found.push(at..at + length);
                start = at + length;
            }
            None if end == text.len() => break,
            None => start = end,
        }
    }
    found
}

/// The length of the definition that a text begins with.
fn definition(text: &str) -> Option<usize> {
    if !text.starts_with("def") && !text.starts_with("param") {
        return None;
    }
    let tokens = tokens(text);
    let word = |place: usize| match tokens.get(place).map(|token| &token.kind) {
        Some(Kind::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let end = |token: &Token| token.span.end as usize;
    word(1)?;
    match word(0)? {
        "param" => tokens.get(3).map(end),
        "def" if word(1) == Some("supertype") => tokens.get(2).map(end),
        "def" => {
            let mut depth = 0;
            let closes = |token: &&Token| {
                depth += match token.kind {
                    Kind::Sign('{') => 1,
                    Kind::Sign('}') => -1,
                    _ => 0,
                };
                token.kind == Kind::Sign('}') && depth <= 0 || token.kind == Kind::End
            };
            tokens.iter().find(closes).map(end)
        }
        _ => None,
    }
}
