//! The registry of level kinds: those that every program has, and those that were made while it runs.
//!
//! [`LevelKind::intern`] makes a kind of a [`Description`]. The same description always gives the same kind, from whatever
//! thread; a new one is refused unless its name and letters are free and its family's code can implement it. Kinds stay until the
//! program ends, so that a [`LevelKind`] is a reference that can be copied; there are no more of them than letters, and schemas.
//!
//! ```
//! use lacunar_formats::{Description, Level, LevelKind};
//! let delta = LevelKind::named("delta").unwrap();
//! let steps = Description { name: "steps", letter: 'z', ..delta.info().clone() };
//! let kind = LevelKind::intern(&steps).unwrap();
//! assert!(kind != delta && kind == LevelKind::intern(&steps).unwrap());
//! assert_eq!(Level::from_letter('z').unwrap().kind, kind);
//! ```

use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::kinds::{self, Family, KINDS};
use crate::level::{DescribedPart, Description, Holds, LevelInfo, LevelKind, Part};
use crate::schema::{Schema, named};

/// The reason why a description is not that of a new kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindError {
    /// A name that is no word: of the kind or of one of its arrays.
    Word(String),
    /// A letter that formats cannot be written with.
    Letter(char),
    /// The name of another kind.
    NameTaken(String),
    /// A letter of another kind, whose name this is; or twice the same letter.
    LetterTaken(char, String),
    /// Arrays that one level cannot have together.
    Parts {
        /// The kind.
        kind: String,
        /// The mistake.
        reason: String,
    },
    /// The family's code cannot implement the description.
    Family {
        /// The kind.
        kind: String,
        /// The mistake.
        reason: String,
    },
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KindError::Word(word) => {
                write!(f, "`{word}` is no name: names have small letters, digits and `_`, and begin with a letter")
            }
            KindError::Letter(letter) => write!(f, "`{letter}` is no letter of a level kind: those are `a` to `z`"),
            KindError::NameTaken(name) => write!(f, "there is another level kind with the name `{name}`"),
            KindError::LetterTaken(letter, name) => write!(f, "`{letter}` is the letter of {name} levels"),
            KindError::Parts { kind, reason } | KindError::Family { kind, reason } => {
                write!(f, "there can be no {kind} levels: {reason}")
            }
        }
    }
}

impl std::error::Error for KindError {}

/// The kinds that are known.
pub(crate) struct Registry {
    /// The kinds that were made while the program runs.
    made: RwLock<Vec<&'static LevelInfo>>,
}

/// The registry of the program.
pub(crate) static REGISTRY: Registry = Registry { made: RwLock::new(Vec::new()) };

impl Registry {
    /// All kinds.
    pub(crate) fn all(&self) -> Vec<LevelKind> {
        let mut all = Vec::new();
        self.find(|kind| {
            all.push(kind);
            false
        });
        all
    }

    /// The first kind that `holds` accepts.
    pub(crate) fn find(&self, mut holds: impl FnMut(LevelKind) -> bool) -> Option<LevelKind> {
        self.find_map(|kind| holds(kind).then_some(kind))
    }

    /// The first value that `of` gives for a kind.
    pub(crate) fn find_map<T>(&self, mut of: impl FnMut(LevelKind) -> Option<T>) -> Option<T> {
        let every_program = KINDS.iter().find_map(|info| of(LevelKind(info)));
        // A panic leaves no change behind: the last step of every change is to add the kind.
        let made = || self.made.read().unwrap_or_else(PoisonError::into_inner);
        every_program.or_else(|| made().iter().find_map(|info| of(LevelKind(info))))
    }

    /// The kind that describes itself so; see [`LevelKind::intern`].
    pub(crate) fn intern(&self, described: &Description<'_>) -> Result<LevelKind, KindError> {
        // Held from the first look on, so that of two threads with one description the second finds what the first has made.
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<&'static LevelInfo> = KINDS.iter().chain(made.iter()).copied().collect();
        if let Some(same) = known.iter().find(|info| **info == described) {
            return Ok(LevelKind(same));
        }
        check(described)?;
        check_free(described, &known)?;
        let kept = kept(described);
        made.push(kept);
        Ok(LevelKind(kept))
    }
}

impl Registry {
    /// The kind of a schema; see [`LevelKind::nodes`].
    pub(crate) fn nodes(&self, schema: Schema) -> Result<LevelKind, KindError> {
        let taken = || KindError::NameTaken(schema.name().to_string());
        let (stem, arguments) = schema.name().split_once('<').unwrap_or((schema.name(), ""));
        // The name of a template is that of no other schema, even if no format has used it yet.
        if let Some(template) = named(stem) {
            let values = arguments.trim_end_matches('>').split(',').filter_map(|value| value.parse().ok());
            if template.with(&values.collect::<Vec<u32>>()).ok().as_ref() != Some(&schema) {
                return Err(taken());
            }
        }
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = |info: &&&'static LevelInfo| matches!(info.family, Family::Nodes(known) if *known == schema);
        if let Some(same) = made.iter().find(is_same) {
            return Ok(LevelKind(same));
        }
        if KINDS.iter().chain(made.iter()).any(|info| info.name == schema.name()) {
            return Err(taken());
        }
        let kept: &'static LevelInfo = Box::leak(Box::new(kinds::nodes(Box::leak(Box::new(schema)))));
        made.push(kept);
        Ok(LevelKind(kept))
    }
}

/// A description that stays.
fn kept(described: &Description<'_>) -> &'static LevelInfo {
    let text = |text: &str| -> &'static str { String::from(text).leak() };
    let parts: Vec<Part> =
        described.parts.iter().map(|part| Part { name: text(part.name), holds: part.holds }).collect();
    Box::leak(Box::new(Description {
        name: text(described.name),
        parts: parts.leak(),
        family: described.family.clone(),
        ..*described
    }))
}

/// True if a text can be the name of a kind, and a part of the name of an array in a kernel.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Checks all of a description that does not depend on other descriptions.
fn check(described: &Description<'_>) -> Result<(), KindError> {
    let names = described.parts.iter().map(|part| part.name);
    if let Some(wrong) = std::iter::once(described.name).chain(names).find(|name| !is_word(name)) {
        return Err(KindError::Word(wrong.to_string()));
    }
    // Formats are read without regard to case.
    if let Some(wrong) = letters(described).find(|letter| !letter.is_ascii_lowercase()) {
        return Err(KindError::Letter(wrong));
    }
    check_parts(described)?;
    check_family(described)
}

fn letters(described: &Description<'_>) -> impl Iterator<Item = char> {
    std::iter::once(described.letter).chain(described.repeating)
}

fn check_parts(described: &Description<'_>) -> Result<(), KindError> {
    let wrong = |reason: String| Err(KindError::Parts { kind: described.name.to_string(), reason });
    let parts = described.parts;
    let again = |(place, part): (usize, &DescribedPart<'_>)| parts[..place].iter().any(|other| other.name == part.name);
    if let Some((_, part)) = parts.iter().enumerate().find(|part| again(*part)) {
        return wrong(format!("two arrays have the name `{}`", part.name));
    }
    let count = |holds: Holds| parts.iter().filter(|part| part.holds == holds).count();
    if count(Holds::Ranking) > 1 {
        return wrong("a dimension has one ranking".to_string());
    }
    if described.capabilities.append && count(Holds::Words) > 1 {
        return wrong("what is appended to has one array of words at most".to_string());
    }
    Ok(())
}

/// Checks that the family's code does what the description says: the code of every family was written for the properties, the
/// capabilities and the arrays of its own kind.
fn check_family(described: &Description<'_>) -> Result<(), KindError> {
    let wrong = |reason: String| Err(KindError::Family { kind: described.name.to_string(), reason });
    let Some(own) = described.family.own_kind() else {
        return wrong("a schema describes them".to_string());
    };
    if [Family::Dense, Family::Compressed, Family::Singleton].contains(&described.family) && described != own {
        return wrong(format!("all others are converted through {} levels, which are of one kind", own.name));
    }
    let differs = [
        ("properties", described.properties != own.properties),
        ("capabilities", described.capabilities != own.capabilities),
        ("arrays", described.parts != own.parts),
        ("letters", described.repeating.is_some() != own.repeating.is_some()),
    ];
    match differs.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => wrong(format!("their {what} are not those of {} levels, whose code they have", own.name)),
        None => Ok(()),
    }
}

/// Checks that no other kind has a name or a letter of the description.
fn check_free(described: &Description<'_>, known: &[&'static LevelInfo]) -> Result<(), KindError> {
    if known.iter().any(|info| info.name == described.name) {
        return Err(KindError::NameTaken(described.name.to_string()));
    }
    if described.repeating == Some(described.letter) {
        return Err(KindError::LetterTaken(described.letter, described.name.to_string()));
    }
    let taken = |letter: char| known.iter().find(|info| letters(info).any(|own| own == letter)).map(|by| (letter, by));
    match letters(described).find_map(taken) {
        Some((letter, by)) => Err(KindError::LetterTaken(letter, by.name.to_string())),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::level::Capabilities;

    /// A registry that stays, as its kinds do: nothing leaks.
    fn empty() -> &'static Registry {
        static ALL: RwLock<Vec<&'static Registry>> = RwLock::new(Vec::new());
        let registry = Box::leak(Box::new(Registry { made: RwLock::default() }));
        ALL.write().unwrap().push(registry);
        registry
    }

    /// The description of a family's own kind under another name.
    fn another<'t>(of: &str, name: &'t str, letter: char) -> Description<'t> {
        Description { name, letter, ..LevelKind::named(of).unwrap().info().clone() }
    }

    #[test]
    fn kinds_of_every_program_are_well_described() {
        for (place, info) in KINDS.iter().enumerate() {
            check(info).unwrap();
            check_free(info, &KINDS[..place]).unwrap();
            assert!(info.family.own_kind().is_some_and(|own| std::ptr::eq(*info, own)), "{}", info.name);
        }
    }

    #[test]
    fn the_same_description_is_the_same_kind() {
        let registry = empty();
        let made = registry.intern(&another("runs", "stretches", 'z')).unwrap();
        assert_eq!(registry.intern(&another("runs", "stretches", 'z')), Ok(made));
        assert_eq!(registry.intern(made.info()), Ok(made));
        assert_eq!(registry.find(|kind| kind.info().letter == 'z'), Some(made));
        assert_eq!(registry.all().len(), KINDS.len() + 1);
        let runs = LevelKind::named("runs").unwrap();
        assert_ne!(made, runs);
        assert_eq!(registry.intern(&runs.info().clone()), Ok(runs));
        assert_eq!(registry.intern(&LevelKind::DENSE.info().clone()), Ok(LevelKind::DENSE));
        assert_eq!(LevelKind::named("stretches"), None, "other registries know nothing of it");
    }

    #[test]
    fn threads_get_the_same_kinds() {
        let registry = empty();
        let intern = |thread: usize| {
            // Each thread begins with another kind.
            let mut kinds: Vec<LevelKind> = (0..8)
                .map(|k| {
                    let number = (k + thread) % 8;
                    let (name, letter) = (format!("kind_{number}"), b"afijmxvw"[number] as char);
                    let kind = registry.intern(&another("delta", &name, letter)).unwrap();
                    assert_eq!(registry.find(|other| other.info().name == name), Some(kind));
                    kind
                })
                .collect();
            kinds.rotate_right(thread % 8);
            kinds
        };
        let kinds: Vec<Vec<LevelKind>> = std::thread::scope(|scope| {
            let intern = &intern;
            let threads: Vec<_> = (0..16).map(|thread| scope.spawn(move || intern(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(kinds.iter().all(|own| *own == kinds[0]), "{kinds:?}");
        assert_eq!(registry.all().len(), KINDS.len() + 8);
    }

    #[test]
    fn what_is_not_that_of_a_new_kind_is_refused() {
        let registry = empty();
        registry.intern(&another("loose", "airy", 'z')).unwrap();
        let refused = |described: Description<'_>| registry.intern(&described).unwrap_err().to_string();
        for word in ["", "Airy", "two words", "1st", "größer", "a-b"] {
            assert!(refused(another("loose", word, 'y')).contains("is no name"), "{word}");
        }
        for letter in ['Y', '0', '@', 'ß', '*'] {
            assert!(refused(another("loose", "other", letter)).contains("is no letter"), "{letter}");
        }
        assert!(refused(another("loose", "airy", 'y')).contains("the name `airy`"));
        assert!(refused(another("loose", "delta", 'y')).contains("the name `delta`"));
        assert!(refused(another("loose", "other", 'z')).contains("airy levels"));
        assert!(refused(another("loose", "other", 'c')).contains("singleton levels"), "that of a variant");
        for plain in ["dense", "compressed", "singleton"] {
            assert!(refused(another(plain, "other", 'y')).contains("converted through"), "{plain}");
        }
        let own = another("loose", "other", 'y');
        assert!(refused(Description { repeating: Some('x'), ..own.clone() }).contains("letters"));
        assert!(refused(Description { capabilities: Capabilities::NONE, ..own.clone() }).contains("capabilities"));
        assert!(refused(Description { parts: &own.parts[1..], ..own.clone() }).contains("arrays"));
        assert!(refused(Description { family: Family::Delta, ..own.clone() }).contains("delta levels"));
        assert_eq!(registry.all().len(), KINDS.len() + 1);
    }

    #[test]
    fn arrays_that_cannot_be_together_are_refused() {
        let words = |name| Part { name, holds: Holds::Words };
        let appended = another("bitmap", "other", 'y');
        let with = |parts: &[Part]| {
            let described = Description { parts, ..appended.clone() };
            empty().intern(&described).unwrap_err().to_string()
        };
        assert!(with(&[words("bits"), Part::POSITIONS, Part::POSITIONS]).contains("two arrays have the name `pos`"));
        assert!(with(&[words("bits"), words("more")]).contains("one array of words"));
        assert!(with(&[Part::RANKING, Part { name: "again", ..Part::RANKING }]).contains("one ranking"));
        assert!(with(&[words("no word")]).contains("`no word` is no name"));
    }
}
