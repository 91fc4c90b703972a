//! The names of formats, and those that are taken for one: of other libraries, of kinds of levels, and misspelled ones.
//!
//! ```
//! use lacunar_formats::FormatSpec;
//! let error = "csx".parse::<FormatSpec>().unwrap_err().to_string();
//! assert!(error.starts_with("no format is called `csx` (hint: did you mean `csr`?)"));
//! ```

use lacunar_base::words::nearest;

use crate::format::FormatSpec;
use crate::level::{Level, LevelInfo, LevelKind};
use crate::packing::PackingFault;
use crate::schema::Template;
use crate::structure::{Named, NamedFault};

/// The names of formats, those with sizes as examples.
pub(crate) const NAMES: [&str; 20] = [
    "dense",
    "coo",
    "csr",
    "csc",
    "csr(unordered)",
    "csc(unordered)",
    "dcsr",
    "dcsc",
    "csf",
    "sv",
    "scalar",
    "dia",
    "bcsr(4,4)",
    "csb(64)",
    "hicoo(64)",
    "ell",
    "sell(8)",
    "sell(8,64)",
    "packed(symmetric)",
    "auto",
];

impl FormatSpec {
    /// The names of formats, those with sizes as examples.
    pub const NAMES: [&str; 20] = NAMES;

    /// The format that somebody may have meant who wrote a word that is none, in words; or how formats are written.
    ///
    /// ```
    /// use lacunar_formats::FormatSpec;
    /// assert_eq!(FormatSpec::hint("csx"), "did you mean `csr`?");
    /// assert!(FormatSpec::hint("bitmap").starts_with("`bitmap` is a kind of level, whose letter is `b`"));
    /// ```
    pub fn hint(word: &str) -> String {
        hint(word)
    }

    /// The hint of what to do about braces around a name that no schema has.
    ///
    /// ```
    /// use lacunar_formats::FormatSpec;
    /// assert_eq!(FormatSpec::schema_hint("btre"), "did you mean `{btree}`?");
    /// assert_eq!(FormatSpec::schema_hint("bst<4>"), "`bst` has no parameters: write `{bst}`");
    /// ```
    pub fn schema_hint(name: &str) -> String {
        schema_hint(name)
    }

    /// The hint of what to do about a structure that cannot be packed.
    ///
    /// ```
    /// use lacunar_formats::{FormatSpec, Packing};
    /// let fault = Packing::parse("chess", 2).unwrap_err();
    /// assert!(FormatSpec::packing_hint("chess", &fault).starts_with("store the tensor in `csr`"));
    /// ```
    pub fn packing_hint(structure: &str, fault: &PackingFault) -> String {
        packing_hint(structure, fault)
    }

    /// The name here of a format that other libraries call so. Such a word is never read as letters of levels: `crs` would be
    /// three levels that nobody means.
    ///
    /// ```
    /// use lacunar_formats::{FormatError, FormatSpec};
    /// assert_eq!(FormatSpec::means("crs"), Some("csr"));
    /// assert_eq!("crs".parse::<FormatSpec>(), Err(FormatError::Unknown("crs".to_string())));
    /// ```
    pub fn means(word: &str) -> Option<&'static str> {
        FOREIGN.into_iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(word)).map(|(_, own)| own)
    }
}

/// Names that sizes follow.
pub(crate) const SIZED: [&str; 5] = ["bcsr", "csb", "hicoo", "packed", "sell"];

/// True if a word means something else than the levels that its letters are: a format of another library, or a kind of level.
pub(crate) fn is_misleading(word: &str) -> bool {
    FormatSpec::means(word).is_some() || word.len() > 2 && LevelKind::named(word).is_some()
}

/// Names of other libraries, and those here.
const FOREIGN: [(&str, &str); 9] = [
    ("crs", "csr"),
    ("ccs", "csc"),
    ("bsr", "bcsr"),
    ("bcrs", "bcsr"),
    ("coordinate", "coo"),
    ("dcrs", "dcsr"),
    ("dccs", "dcsc"),
    ("diagonal", "dia"),
    ("ellpack", "ell"),
];

/// The kind of level whose name a word is, or begins.
fn kind(word: &str) -> Option<&'static LevelInfo> {
    let kinds = LevelKind::all().into_iter().map(LevelKind::info);
    kinds.filter(|kind| word.len() > 2 && kind.name.starts_with(word)).min_by_key(|kind| kind.name.len())
}

/// True if a word, in small letters, looks like a name and not like letters of levels: some of its letters are those of no level,
/// and it is nearly a name, or there are several.
pub(crate) fn is_misspelled(word: &str) -> bool {
    let others = word.chars().filter(|&c| Level::from_letter(c).is_none()).count();
    let is_near = || nearest(word, NAMES).is_some() || kind(word).is_some();
    word.len() > 2 && word.chars().all(|c| c.is_ascii_alphabetic()) && others > 0 && (others > 1 || is_near())
}

/// See [`FormatSpec::schema_hint`].
fn schema_hint(name: &str) -> String {
    let (stem, arguments) = name.split_once('<').unwrap_or((name, ""));
    let templates = || Template::every_program().iter().cloned().chain(Template::defined());
    if let Some(template) = templates().find(|template| template.name() == stem.trim()) {
        if template.parameters().is_empty() {
            return format!("`{stem}` has no parameters: write `{{{stem}}}`");
        }
        let wrong = arguments.strip_suffix('>').and_then(|values| template.arguments(values));
        let reason = wrong.and_then(|values| template.with(&values).err()).and_then(|errors| errors.into_iter().next());
        return match reason {
            Some(error) => format!("it is `{{{}}}`; here {}", template.title(), error.message),
            None => format!("write a number for each of its parameters, as in `{{{}}}`", template.title()),
        };
    }
    let names: Vec<String> = templates().map(|template| template.name().to_string()).collect();
    match nearest(stem, names.iter().map(String::as_str)) {
        Some(found) => format!("did you mean `{{{found}}}`?"),
        None => format!("schemas are {}; a program defines others by `def NAME {{ .. }}`", names.join(", ")),
    }
}

/// See [`FormatSpec::packing_hint`].
fn packing_hint(structure: &str, fault: &PackingFault) -> String {
    match fault {
        PackingFault::Unknown(name) => {
            let names = || Named::ALL.iter().map(|named| named.name);
            match nearest(name, names()) {
                Some(found) => format!("did you mean `packed({found})`?"),
                None => format!("structures are {}", names().collect::<Vec<_>>().join(" ")),
            }
        }
        PackingFault::Text(_) => "write, for example, `packed(banded(2,1))`".to_string(),
        PackingFault::Structure(NamedFault::Arguments) => {
            match Named::find(structure.split('(').next().unwrap_or("")) {
                Some(named) if !named.arguments.is_empty() => {
                    format!("it is `packed({}{})`", named.name, named.arguments)
                }
                _ => "it takes no arguments".to_string(),
            }
        }
        PackingFault::Order(_) => "store the tensor as `dense`".to_string(),
        PackingFault::Structure(_) | PackingFault::Gaps(_) | PackingFault::TooHard => {
            format!(
                "store the tensor in `csr` or `csf`, which keep what is not 0 wherever it is, and declare the structure: `-p A:{structure}`"
            )
        }
    }
}

/// See [`FormatSpec::hint`].
pub(crate) fn hint(word: &str) -> String {
    let (name, sizes) = word.split_at(word.find('(').unwrap_or(word.len()));
    if let Some(own) = FormatSpec::means(name) {
        let sizes = if sizes.is_empty() && own == "bcsr" { "(4,4)" } else { sizes };
        return format!("did you mean `{own}{sizes}`?");
    }
    if let Some(LevelInfo { name, letter, .. }) = kind(&name.to_ascii_lowercase()) {
        return format!(
            "`{name}` is a kind of level, whose letter is `{letter}`; a format has one letter for each dimension, e.g. `d{letter}`"
        );
    }
    match nearest(word, NAMES) {
        Some(found) => format!("did you mean `{found}`?"),
        None => "use a name, or one letter for each dimension, e.g. `ds`".to_string(),
    }
}
