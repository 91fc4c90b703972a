//! The names of a schema: parameters, types and fields are found by them, each is defined once, and constants get their values.

use lacunar_base::Span;
use lacunar_base::words::nearest;

use super::syntax::{Const, Name, Raw, RawEntry, RawField, RawKind, RawNode, RawSupertype};
use super::{Extent, Field, FieldKind, Schema, SchemaError, Supertype, Target};

/// Names of a schema, and the mistakes that were found.
pub(super) struct Names<'r> {
    text: &'r str,
    raw: &'r Raw,
    /// The values of the parameters.
    values: Vec<u32>,
    pub errors: Vec<SchemaError>,
}

impl<'r> Names<'r> {
    /// The names of a schema whose first parameters have these values.
    pub fn new(text: &'r str, raw: &'r Raw, arguments: &[u32]) -> Names<'r> {
        let mut names = Names { text, raw, values: Vec::new(), errors: Vec::new() };
        for (place, param) in raw.params.iter().enumerate() {
            let value = arguments.get(place).copied().unwrap_or(param.value);
            let given = arguments.len() > place;
            let value = names.in_bounds(value, if given { param.name.span } else { param.place });
            names.values.push(value);
        }
        if arguments.len() > raw.params.len() {
            let message = format!("{} values are given to {} parameters", arguments.len(), raw.params.len());
            let place = raw.params.last().map_or(Span::NONE, |param| param.name.span);
            names.error("E1614", place, message, "leave the last ones out, or declare `param NAME = CONST`");
        }
        names.once();
        names
    }

    /// Notes a mistake.
    pub fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.errors.push(SchemaError::new(self.text, code, span, message, hint));
    }

    fn in_bounds(&mut self, value: u32, span: Span) -> u32 {
        if value <= Schema::LARGEST {
            return value;
        }
        let message = format!("{value} is too large for a constant of a schema");
        self.error(
            "E1612",
            span,
            message,
            format!("constants are {} at most; arrays may be without bound", Schema::LARGEST),
        );
        1
    }

    /// Checks that no two parameters or types have the same name, and no two fields of a type.
    fn once(&mut self) {
        let raw = self.raw;
        let params = raw.params.iter().map(|param| &param.name);
        let types = raw.supertypes.iter().map(|it| &it.name).chain(raw.nodes.iter().map(|node| &node.name));
        self.distinct(&params.clone().chain(types).collect::<Vec<_>>());
        for node in &raw.nodes {
            let fields = node.fields.iter().map(|field| &field.name);
            self.distinct(&params.clone().chain(fields).collect::<Vec<_>>());
        }
    }

    fn distinct(&mut self, names: &[&Name]) {
        for (place, name) in names.iter().enumerate() {
            let before = names[..place].iter().any(|other| other.text == name.text && other.span != name.span);
            // A name that is twice in the text at the same place is not there twice.
            if before && !self.errors.iter().any(|error| error.span == name.span) {
                let message = format!("there are two definitions of `{}`", name.text);
                self.error("E1602", name.span, message, "give one of them another name");
            }
        }
    }

    fn unknown<'n>(&mut self, name: &Name, what: &str, known: impl Iterator<Item = &'n str> + Clone) {
        let hint = match nearest(&name.text, known.clone()) {
            Some(found) => format!("did you mean `{found}`?"),
            None => match known.clone().count() {
                0 => "there are none".to_string(),
                _ => format!("there are {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
            },
        };
        self.error("E1603", name.span, format!("`{}` is no {what}", name.text), hint);
    }

    /// The value of a constant.
    fn value(&mut self, constant: &Const) -> u32 {
        match constant {
            Const::Number(number, span) => self.in_bounds(*number, *span),
            Const::Named(name) => {
                let params = self.raw.params.iter().map(|param| param.name.text.as_str());
                let found = params.clone().position(|param| param == name.text);
                match found.and_then(|place| self.values.get(place).copied()) {
                    Some(value) => value,
                    None if params.clone().next().is_none() => {
                        let hint = format!("declare it before the types: `param {} = 16`", name.text);
                        self.error("E1603", name.span, format!("`{}` is no parameter", name.text), hint);
                        1
                    }
                    None => {
                        self.unknown(name, "parameter", params);
                        1
                    }
                }
            }
        }
    }

    /// The supertypes.
    pub fn supertypes(&mut self) -> Vec<Supertype> {
        let raw = self.raw;
        let subtypes = |supertype: &Name| -> Vec<usize> {
            let is_sub = |node: &RawNode| node.supertype.as_ref().is_some_and(|name| name.text == supertype.text);
            raw.nodes.iter().enumerate().filter(|(_, node)| is_sub(node)).map(|(number, _)| number).collect()
        };
        for RawSupertype { name: supertype, .. } in &raw.supertypes {
            if subtypes(supertype).is_empty() {
                let message = format!("no node type is a `{}`", supertype.text);
                self.error(
                    "E1611",
                    supertype.span,
                    message,
                    format!("define `def NAME : {} {{ .. }}`", supertype.text),
                );
            }
        }
        raw.supertypes.iter().map(|it| Supertype { name: it.name.text.clone(), subtypes: subtypes(&it.name) }).collect()
    }

    /// The number of a node type's supertype.
    pub fn supertype(&mut self, node: &RawNode) -> Option<usize> {
        let name = node.supertype.as_ref()?;
        let raw = self.raw;
        let found = raw.supertypes.iter().position(|supertype| supertype.name.text == name.text);
        if found.is_none() && raw.nodes.iter().any(|node| node.name.text == name.text) {
            let message = format!("`{}` is a node type and no supertype", name.text);
            self.error("E1611", name.span, message, "declare a name for both: `def supertype NAME`");
        } else if found.is_none() {
            self.unknown(name, "supertype", raw.supertypes.iter().map(|it| it.name.text.as_str()));
        }
        found
    }

    fn target(&mut self, name: &Name) -> Target {
        let raw = self.raw;
        if let Some(number) = raw.nodes.iter().position(|node| node.name.text == name.text) {
            return Target::Node(number);
        }
        match raw.supertypes.iter().position(|supertype| supertype.name.text == name.text) {
            Some(number) => Target::Super(number),
            None => {
                let types = raw.nodes.iter().map(|node| &node.name).chain(raw.supertypes.iter().map(|it| &it.name));
                self.unknown(
                    name,
                    "type",
                    types.map(|name| name.text.as_str()).chain(["elem", "size", "parent", "bool"]),
                );
                Target::Node(0)
            }
        }
    }

    fn extent(&mut self, node: &RawNode, array: &Const) -> Extent {
        let Const::Named(name) = array else {
            let value = self.value(array);
            return self.some(value, array.span());
        };
        let found = node.fields.iter().position(|field| field.name.text == name.text);
        match found.map(|number| (number, &node.fields[number].kind)) {
            Some((number, RawKind::Size { .. })) => Extent::Size(number),
            Some(_) => {
                let message = format!("`{}` is no size field, and can't be the length of an array", name.text);
                self.error("E1606", name.span, message, format!("write `{}: size`, or a number", name.text));
                Extent::Const(1)
            }
            None if self.raw.params.iter().any(|param| param.name.text == name.text) => {
                let value = self.value(array);
                self.some(value, name.span)
            }
            None => {
                let sizes = node.fields.iter().filter(|field| matches!(field.kind, RawKind::Size { .. }));
                let known = sizes.map(|field| field.name.text.as_str());
                let params = self.raw.params.iter().map(|param| param.name.text.as_str());
                let what = format!("size field of `{}`", node.name.text);
                self.unknown(name, &what, known.chain(params));
                Extent::Const(1)
            }
        }
    }

    /// The length of an array that is a constant.
    fn some(&mut self, value: u32, span: Span) -> Extent {
        if value == 0 {
            self.error("E1612", span, "an array of no items", "leave the field out, or give it a length of 1 or more");
        }
        Extent::Const(value.max(1))
    }

    /// A field of a node type; places in nodes are given to it later.
    pub fn field(&mut self, node: &RawNode, field: &RawField) -> Field {
        let kind = match &field.kind {
            RawKind::Elem { array, nonempty } => {
                let array = array.as_ref().map(|array| self.extent(node, array));
                FieldKind::Elem { array, nonempty: *nonempty }
            }
            RawKind::Child { to, array, nonempty } => {
                let array = array.as_ref().map(|array| self.extent(node, array));
                FieldKind::Child { to: self.target(to), array, nonempty: *nonempty }
            }
            RawKind::Size { least, most, about } => self.size(field, least.as_ref(), most.as_ref(), about.as_ref()),
            RawKind::Meta(meta) => FieldKind::Meta(*meta),
            RawKind::Parent => FieldKind::Parent,
        };
        Field { name: field.name.text.clone(), kind, offset: 0, rooms: 0, slot: 0, slot_rooms: 0 }
    }

    fn size(
        &mut self,
        field: &RawField,
        least: Option<&Const>,
        most: Option<&Const>,
        about: Option<&Const>,
    ) -> FieldKind {
        let [low, high, wanted] = [least, most, about].map(|bound| bound.map(|bound| self.value(bound)));
        let (low, name) = (low.unwrap_or(0), &field.name.text);
        if let Some(high) = high.filter(|high| *high < low.max(1)) {
            let message = format!("`{name}` is in [{low},{high}], where no length of 1 or more is");
            let place = most.map_or(field.span, Const::span);
            self.error("E1612", place, message, "write the least length first, then the greatest; `*` is no bound");
        }
        let outside = |wanted: &u32| *wanted < low.max(1) || high.is_some_and(|high| *wanted > high);
        if let Some(wanted) = wanted.filter(outside) {
            let message = format!("`{name}` is never {wanted}");
            let place = about.map_or(field.span, Const::span);
            self.error("E1612", place, message, "a length behind `about` lies between the bounds, and is not 0");
        }
        FieldKind::Size { least: low, most: high, about: wanted }
    }

    /// The number of a field that `seq` names.
    pub fn in_seq(&mut self, node: &RawNode, entry: &RawEntry) -> Vec<usize> {
        let mut numbers = Vec::new();
        for name in &entry.names {
            match node.fields.iter().position(|field| field.name.text == name.text) {
                Some(number) => numbers.push(number),
                None => {
                    let fields = node.fields.iter().map(|field| field.name.text.as_str());
                    self.unknown(name, &format!("field of `{}`", node.name.text), fields);
                }
            }
        }
        numbers
    }
}
