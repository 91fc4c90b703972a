//! The schemas that have names: those of every program, which are the text files beside this one, and those that a program defines.
//!
//! A text with parameters is a *template*: formats give them values, as in `{blist<64>}`. A new data structure is a new text file in the
//! folder `builtin`, and nothing else; or a text that a program defines.
//!
//! ```
//! use lacunar_formats::{FormatSpec, Template};
//! assert!(Template::every_program().iter().any(|template| template.name() == "btree"));
//! Template::define("def pairs { e: elem[2]  n: pairs  seq = {e}, n }  def pairs_head { p: pairs }").unwrap();
//! assert_eq!("d{pairs}".parse::<FormatSpec>().unwrap().to_string(), "d{pairs}");
//! ```

use std::sync::{LazyLock, PoisonError, RwLock};

use super::syntax::read;
use super::{Schema, SchemaError, check};

/// A schema that has a name, and may have parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    name: String,
    text: String,
    /// The names and the default values of the parameters.
    params: Vec<(String, u32)>,
}

/// The texts that every program has: all files of the folder beside this one (`build.rs`).
const TEXTS: &[&str] = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

static EVERY_PROGRAM: LazyLock<Vec<Template>> =
    LazyLock::new(|| TEXTS.iter().filter_map(|text| Template::parse(text).ok()).collect());

/// The schemas that the program defined.
static DEFINED: RwLock<Vec<Template>> = RwLock::new(Vec::new());

impl Template {
    /// The schemas that every program has.
    pub fn every_program() -> &'static [Template] {
        &EVERY_PROGRAM
    }

    /// Reads a text and checks it.
    ///
    /// # Errors
    /// The mistakes in it.
    pub fn parse(text: &str) -> Result<Template, Vec<SchemaError>> {
        let name = check::schema(text, &[])?.name;
        let raw = read(text).map_err(|error| vec![error])?;
        let params = raw.params.into_iter().map(|param| (param.name.text, param.value)).collect();
        Ok(Template { name, text: text.to_string(), params })
    }

    /// Reads a text, and makes its name known to formats for as long as the program runs.
    ///
    /// # Errors
    /// The mistakes in it; the name is that of another schema or kind of levels, whose text is another.
    pub fn define(text: &str) -> Result<Template, Vec<SchemaError>> {
        let template = Template::parse(text)?;
        let mut defined = DEFINED.write().unwrap_or_else(PoisonError::into_inner);
        match defined.iter().chain(Template::every_program()).find(|other| other.name == template.name) {
            Some(other) if other.is_same(&template) => return Ok(other.clone()),
            None if crate::LevelKind::named(&template.name).is_none_or(|kind| template.is_kind(kind)) => {}
            _ => return Err(vec![template.taken()]),
        }
        defined.push(template.clone());
        Ok(template)
    }

    /// The schemas that the program defined, in that order.
    pub fn defined() -> Vec<Template> {
        DEFINED.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn taken(&self) -> SchemaError {
        let root = check::schema(&self.text, &[]).ok().map(|schema| schema.nodes[schema.root].name.clone());
        let place = root.as_ref().and_then(|root| self.text.find(root)).unwrap_or_default();
        let span = lacunar_base::Span::new(place, place + root.map_or(0, |root| root.len()));
        let message = format!("there is another level kind with the name `{}`", self.name);
        SchemaError::new(&self.text, "E1615", span, message, "give the type of the root another name")
    }

    /// True if a kind that is known is one of this schema.
    fn is_kind(&self, kind: crate::LevelKind) -> bool {
        let schema = self.with(&[]);
        kind.schema().is_some_and(|known| schema.is_ok_and(|schema| schema == *known))
    }

    /// True if schemas of both are the same.
    fn is_same(&self, other: &Template) -> bool {
        self.params == other.params && self.with(&[]) == other.with(&[])
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters and their default values.
    pub fn parameters(&self) -> &[(String, u32)] {
        &self.params
    }

    /// The name with its parameters: `blist<K=16>`.
    pub fn title(&self) -> String {
        let params: Vec<String> = self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if params.is_empty() { self.name.clone() } else { format!("{}<{}>", self.name, params.join(",")) }
    }

    /// The values that a text gives to the first parameters, in their order or by their names: `64`, `K=64`. `None` if it gives one
    /// twice, or to a parameter that is not there.
    ///
    /// ```
    /// use lacunar_formats::Template;
    /// let all = Template::every_program();
    /// let list = all.iter().find(|template| template.name() == "blist").unwrap();
    /// assert_eq!((list.arguments("8"), list.arguments("k = 8"), list.arguments("")), (Some(vec![8]), Some(vec![8]), Some(vec![])));
    /// assert_eq!((list.arguments("8, K=9"), list.arguments("size=8")), (None, None));
    /// ```
    pub fn arguments(&self, text: &str) -> Option<Vec<u32>> {
        let mut values: Vec<Option<u32>> = Vec::new();
        for (place, word) in text.split(',').map(str::trim).filter(|word| !word.is_empty()).enumerate() {
            let named = word.split_once('=').map(|(name, number)| (name.trim(), number.trim()));
            let is_named = |name: &str| self.params.iter().position(|(own, _)| own.eq_ignore_ascii_case(name));
            let (at, number) = match named {
                Some((name, number)) => (is_named(name)?, number),
                None => (place, word),
            };
            values.resize(values.len().max(at + 1), None);
            if values[at].replace(number.parse().ok()?).is_some() {
                return None;
            }
        }
        let defaults = self.params.iter().map(|(_, value)| *value).chain(std::iter::repeat(0));
        Some(values.into_iter().zip(defaults).map(|(value, default)| value.unwrap_or(default)).collect())
    }

    /// The schema in which the first parameters have these values.
    ///
    /// # Errors
    /// They are too many, or nodes cannot be so large.
    pub fn with(&self, arguments: &[u32]) -> Result<Schema, Vec<SchemaError>> {
        check::schema(&self.text, arguments)
    }
}

/// The template of a name.
pub(crate) fn named(name: &str) -> Option<Template> {
    let known = Template::every_program().iter().find(|template| template.name == name).cloned();
    known.or_else(|| Template::defined().into_iter().find(|template| template.name == name))
}
