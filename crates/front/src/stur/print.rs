//! Rules to text, which is read back as the same program but for places.

use std::fmt;

use super::{Access, Factor, Index, Part, Program, Rule, Term};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, names) in [("symbols", &self.symbols), ("outputs", &self.outputs)] {
            if !names.is_empty() {
                writeln!(f, "{word}: {}", names.join(", "))?;
            }
        }
        if !self.iterators.is_empty() {
            let each = self.iterators.iter().map(|(tensor, vars)| format!("{tensor} -> {}", vars.join(", ")));
            writeln!(f, "iters: {}", each.collect::<Vec<_>>().join("; "))?;
        }
        let mut prepares = false;
        for rule in &self.rules {
            if rule.prepares != prepares {
                writeln!(f, "{}", if rule.prepares { "@preprocess_start" } else { "@preprocess_end" })?;
                prepares = rule.prepares;
            }
            writeln!(f, "{rule}")?;
        }
        if prepares { writeln!(f, "@preprocess_end") } else { Ok(()) }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} := ", self.head)?;
        write_terms(f, &self.terms)
    }
}

fn write_terms(f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
    for (place, term) in terms.iter().enumerate() {
        if place > 0 {
            f.write_str(" + ")?;
        }
        for (place, factor) in term.factors.iter().enumerate() {
            if place > 0 {
                f.write_str(" * ")?;
            }
            match factor {
                Factor::Access(access) => write!(f, "{access}")?,
                Factor::Comparison { text, .. } => write!(f, "({text})")?,
                Factor::Number { text, inverse, .. } => write!(f, "{text}{}", if *inverse { "^-1" } else { "" })?,
                Factor::Sum(terms) => {
                    f.write_str("(")?;
                    write_terms(f, terms)?;
                    f.write_str(")")?;
                }
            }
        }
    }
    Ok(())
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Values => "",
            Part::Dimensions => ":D",
            Part::Unique => ":U",
            Part::Redundant => ":R",
        };
        let index = |index: &Index| match index {
            Index::Name(name, _) => name.clone(),
            Index::Number(number, _) => number.to_string(),
        };
        let indices: Vec<String> = self.indices.iter().map(index).collect();
        write!(f, "{}{}{part}({})", self.tensor, if self.inverse { "^-1" } else { "" }, indices.join(", "))
    }
}
