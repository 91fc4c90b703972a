//! The grammar of schemas: text to definitions with their places. Names mean nothing yet.
//!
//! ```text
//! schema   ::= ( param | super )* node+                    in any order
//! param    ::= 'param' NAME '=' CONST                      a constant that formats may give another value
//! super    ::= 'def' 'supertype' NAME
//! node     ::= 'def' NAME [ ':' NAME ] '{' ( field | seq )+ '}'
//! field    ::= NAME ':' ( elem | child | size | meta | 'parent' )
//! elem     ::= 'elem' [ array ] [ 'nonempty' ]
//! child    ::= NAME [ array ] [ 'nonempty' ]               a node type or a supertype
//! array    ::= '[' ( NAME | CONST ) ']'                    a size field of the node, or a parameter
//! size     ::= 'size' [ 'in' '[' const ',' ( const | '*' ) ']' ] [ 'about' const ]
//! meta     ::= 'bool' | ( 'int' | 'uint' ) ( '8' | '16' | '32' | '64' )
//! seq      ::= 'seq' '=' entry ( ',' entry )*
//! entry    ::= NAME | '{' NAME ( ',' NAME )* '}'
//! const    ::= CONST | NAME                                a parameter
//! ```

use lacunar_base::Span;

use super::token::{Kind, Token, tokens};
use super::{Meta, Schema, SchemaError};

/// A name and its place.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub text: String,
    pub span: Span,
}

/// A constant as written.
#[derive(Clone, Debug)]
pub(super) enum Const {
    Number(u32, Span),
    Named(Name),
}

impl Const {
    /// Its place.
    pub fn span(&self) -> Span {
        match self {
            Const::Number(_, span) => *span,
            Const::Named(name) => name.span,
        }
    }
}

/// A parameter and its default value.
#[derive(Clone, Debug)]
pub(super) struct RawParam {
    pub name: Name,
    pub value: u32,
    pub place: Span,
    /// The place of all of it.
    pub span: Span,
}

/// A supertype, and the place of its definition.
#[derive(Clone, Debug)]
pub(super) struct RawSupertype {
    pub name: Name,
    pub span: Span,
}

/// The type of a field.
#[derive(Clone, Debug)]
pub(super) enum RawKind {
    Elem { array: Option<Const>, nonempty: bool },
    Child { to: Name, array: Option<Const>, nonempty: bool },
    Size { least: Option<Const>, most: Option<Const>, about: Option<Const> },
    Meta(Meta),
    Parent,
}

/// A field.
#[derive(Clone, Debug)]
pub(super) struct RawField {
    pub name: Name,
    pub kind: RawKind,
    /// The place of its type.
    pub span: Span,
}

/// An entry of `seq`: names, in braces or not.
#[derive(Clone, Debug)]
pub(super) struct RawEntry {
    pub names: Vec<Name>,
    pub braced: bool,
}

/// A node type.
#[derive(Clone, Debug)]
pub(super) struct RawNode {
    pub name: Name,
    pub supertype: Option<Name>,
    pub fields: Vec<RawField>,
    pub seq: Option<Vec<RawEntry>>,
    /// The place of all of it.
    pub span: Span,
}

/// All definitions of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    pub params: Vec<RawParam>,
    pub supertypes: Vec<RawSupertype>,
    pub nodes: Vec<RawNode>,
}

/// Words that are no names.
const RESERVED: [&str; 13] =
    ["def", "supertype", "param", "elem", "size", "parent", "seq", "nonempty", "in", "about", "bool", "int", "uint"];

/// The type of metadata that a word is.
fn meta(word: &str) -> Option<Meta> {
    let bits = |digits: &str| ["8", "16", "32", "64"].contains(&digits).then(|| digits.parse().ok()).flatten();
    match word {
        "bool" => Some(Meta::Bool),
        _ => match word.strip_prefix("uint") {
            Some(digits) => bits(digits).map(Meta::Uint),
            None => bits(word.strip_prefix("int")?).map(Meta::Int),
        },
    }
}

/// Reads a text.
///
/// # Errors
/// The first thing in it that the grammar has no place for.
pub(super) fn read(text: &str) -> Result<Raw, SchemaError> {
    let mut parser = Parser { text, tokens: tokens(text), at: 0 };
    let mut raw = Raw::default();
    while parser.peek().kind != Kind::End {
        let start = parser.peek().span;
        if parser.takes_word("param") {
            let name = parser.name("a parameter")?;
            parser.sign('=')?;
            let place = parser.peek().span;
            let value = parser.number()?;
            raw.params.push(RawParam { name, value, place, span: start.to(place) });
        } else if parser.takes_word("def") {
            if parser.takes_word("supertype") {
                let name = parser.name("a supertype")?;
                raw.supertypes.push(RawSupertype { span: start.to(name.span), name });
            } else {
                raw.nodes.push(parser.node(start)?);
            }
        } else {
            return Err(parser.unexpected("`def` or `param`", "a schema is a list of `def NAME { .. }`"));
        }
    }
    if raw.nodes.is_empty() {
        return Err(parser.unexpected("`def`", "a schema defines one node type at least: `def NAME { .. }`"));
    }
    Ok(raw)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        // The last token is the end of the text, which is never passed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// The kind of the token after the next one.
    fn next(&self) -> Option<&Kind> {
        self.tokens.get(self.at + 1).map(|token| &token.kind)
    }

    /// True if a definition begins here, and no field whose name is a word of the language.
    fn is_definition(&self) -> bool {
        let Kind::Word(word) = &self.peek().kind else { return false };
        ["def", "param"].contains(&word.as_str()) && self.next() != Some(&Kind::Sign(':'))
    }

    fn unexpected(&self, expected: &str, hint: &str) -> SchemaError {
        let token = self.peek();
        let message = format!("{} stands where {expected} is expected", token.shown());
        SchemaError::new(self.text, "E1601", token.span, message, hint)
    }

    fn takes(&mut self, kind: &Kind) -> bool {
        let takes = self.peek().kind == *kind;
        self.at += usize::from(takes);
        takes
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(&Kind::Word(word.to_string()))
    }

    fn takes_sign(&mut self, sign: char) -> bool {
        self.takes(&Kind::Sign(sign))
    }

    fn sign(&mut self, sign: char) -> Result<(), SchemaError> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{sign}`"), &format!("write `{sign}` here")))
    }

    fn name(&mut self, what: &str) -> Result<Name, SchemaError> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Word(text) if RESERVED.contains(&text.as_str()) || meta(&text).is_some() => {
                let message = format!("`{text}` is a word of the language and no name");
                Err(SchemaError::new(self.text, "E1602", token.span, message, format!("give {what} another name")))
            }
            Kind::Word(text) => {
                self.at += 1;
                Ok(Name { text, span: token.span })
            }
            _ => Err(self.unexpected(&format!("the name of {what}"), "names have letters, digits and `_`")),
        }
    }

    fn number(&mut self) -> Result<u32, SchemaError> {
        match self.peek().kind {
            Kind::Number(Some(number)) => {
                self.at += 1;
                Ok(number)
            }
            _ => Err(self.unexpected("a number", &format!("constants are whole numbers up to {}", Schema::LARGEST))),
        }
    }

    fn constant(&mut self) -> Result<Const, SchemaError> {
        match self.peek().kind {
            Kind::Word(_) => Ok(Const::Named(self.name("a constant")?)),
            _ => {
                let span = self.peek().span;
                Ok(Const::Number(self.number()?, span))
            }
        }
    }

    fn node(&mut self, start: Span) -> Result<RawNode, SchemaError> {
        let name = self.name("a node type")?;
        let supertype = if self.takes_sign(':') { Some(self.name("a supertype")?) } else { None };
        self.sign('{')?;
        let (mut fields, mut seq) = (Vec::new(), None);
        let mut end = self.peek().span;
        while !self.takes_sign('}') {
            let start = self.peek().span;
            if self.is_definition() {
                let hint = format!("end node type `{}` with `}}` before it", name.text);
                return Err(self.unexpected("a field or `}`", &hint));
            }
            if self.takes_word("seq") {
                let again = seq.is_some();
                seq = Some(self.seq()?);
                if again {
                    let message = format!("`{}` has two orders", name.text);
                    return Err(SchemaError::new(self.text, "E1607", start, message, "join them to one `seq = ..`"));
                }
                end = self.peek().span;
                let is_name = matches!(&self.peek().kind, Kind::Word(word) if word != "seq");
                if is_name && !self.is_definition() && self.next() != Some(&Kind::Sign(':')) {
                    let hint = "entries of an order have commas between them: `seq = {e}, n`";
                    return Err(self.unexpected("`,`, `}` or another field", hint));
                }
                continue;
            }
            fields.push(self.field()?);
            self.takes_sign(',');
            end = self.peek().span;
        }
        if fields.is_empty() {
            let message = format!("node type `{}` has no fields", name.text);
            let hint = "write what a node holds: `e: elem nonempty`, `n: TYPE`";
            return Err(SchemaError::new(self.text, "E1601", name.span, message, hint));
        }
        Ok(RawNode { name, supertype, fields, seq, span: start.to(end) })
    }

    fn field(&mut self) -> Result<RawField, SchemaError> {
        let name = self.name("a field")?;
        self.sign(':')?;
        let span = self.peek().span;
        let kind = self.kind()?;
        Ok(RawField { name, kind, span })
    }

    fn kind(&mut self) -> Result<RawKind, SchemaError> {
        let Kind::Word(word) = self.peek().kind.clone() else {
            let hint = "types are `elem`, a node type, `size`, `parent`, `bool`, `int32`, `uint64` and so on";
            return Err(self.unexpected("the type of a field", hint));
        };
        if let Some(meta) = meta(&word) {
            self.at += 1;
            return Ok(RawKind::Meta(meta));
        }
        match word.as_str() {
            "parent" => {
                self.at += 1;
                Ok(RawKind::Parent)
            }
            "size" => {
                self.at += 1;
                self.size()
            }
            "elem" => {
                self.at += 1;
                Ok(RawKind::Elem { array: self.array()?, nonempty: self.takes_word("nonempty") })
            }
            "int" | "uint" => {
                let hint = format!("lengths are `size`, other whole numbers `{word}8` to `{word}64`");
                Err(self.unexpected("the type of a field", &hint))
            }
            _ => {
                let to = self.name("the type of a child")?;
                Ok(RawKind::Child { to, array: self.array()?, nonempty: self.takes_word("nonempty") })
            }
        }
    }

    fn array(&mut self) -> Result<Option<Const>, SchemaError> {
        if !self.takes_sign('[') {
            return Ok(None);
        }
        let length = self.constant()?;
        self.sign(']')?;
        Ok(Some(length))
    }

    fn size(&mut self) -> Result<RawKind, SchemaError> {
        let (mut least, mut most) = (None, None);
        if self.takes_word("in") {
            self.sign('[')?;
            least = Some(self.constant()?);
            self.sign(',')?;
            if !self.takes_sign('*') {
                most = Some(self.constant()?);
            }
            self.sign(']')?;
        }
        let about = if self.takes_word("about") { Some(self.constant()?) } else { None };
        Ok(RawKind::Size { least, most, about })
    }

    fn seq(&mut self) -> Result<Vec<RawEntry>, SchemaError> {
        self.sign('=')?;
        let mut entries = Vec::new();
        loop {
            let braced = self.takes_sign('{');
            let mut names = vec![self.name("a field")?];
            while braced && self.takes_sign(',') {
                names.push(self.name("a field")?);
            }
            if braced {
                self.sign('}')?;
            }
            entries.push(RawEntry { names, braced });
            if !self.takes_sign(',') {
                return Ok(entries);
            }
        }
    }
}
