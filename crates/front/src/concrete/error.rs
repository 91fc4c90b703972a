//! The mistakes that a statement of concrete notation can have besides those of its expressions, and the words for each. The codes
//! are explained in `docs/errors.md`.

use lacunar_base::{Diagnostic, Span};

use crate::schedule;

/// A mistake in a statement of concrete notation.
#[derive(Clone, Debug)]
pub(crate) enum Mistake {
    /// In the arguments of a relation.
    Relation(Box<schedule::Error>),
    /// A word that is no tag.
    Tag {
        span: Span,
        word: String,
    },
    /// A command that makes no variables.
    NoRelation {
        span: Span,
    },
    /// A variable that a relation makes and that is there already.
    Taken {
        span: Span,
        name: String,
    },
    /// An index without a loop around that tells it.
    NoLoop {
        span: Span,
        name: String,
    },
    /// A loop over a variable that has one around already.
    TwoLoops {
        span: Span,
        name: String,
    },
    /// A loop over a variable that others have replaced.
    Replaced {
        span: Span,
        name: String,
    },
    /// A loop over a part of a variable whose other parts have none.
    Part {
        span: Span,
        part: String,
    },
    /// An index of a tensor of the program that is a part of a variable.
    PartIndex {
        span: Span,
        part: String,
        tensor: String,
    },
    /// The value of a part of a variable.
    PartValue {
        span: Span,
        part: String,
    },
    /// A workspace that is read before it is filled.
    NotFilled {
        span: Span,
        name: String,
    },
    /// A place of a value where the loops do not tell whose.
    NoPlace {
        span: Span,
        name: String,
    },
    /// A list of places of values.
    PlaceKind {
        span: Span,
        name: String,
    },
    /// A variable that has indices.
    ScalarKind {
        span: Span,
        name: String,
        indices: usize,
    },
    /// A workspace that nothing reads.
    NotRead {
        span: Span,
        name: String,
    },
    /// A workspace that is read with other parts of variables than it is filled with.
    OtherParts {
        span: Span,
        name: String,
    },
    /// A workspace with the name of a tensor of another statement.
    Clash {
        span: Span,
        name: String,
        other: Span,
    },
    /// `=` in a loop over a variable that the target has not.
    Overwritten {
        span: Span,
        name: String,
        var: String,
    },
    /// A tensor that is assigned to by several statements that do not combine by one operation.
    Mixed {
        span: Span,
        name: String,
    },
    /// No tensor is left that is a result, or several are.
    Results {
        span: Span,
        names: Vec<String>,
    },
    Reduction {
        span: Span,
    },
    /// The statement in index notation is too long.
    TooLong {
        span: Span,
    },
    /// A line for a tensor that is not understood.
    Line {
        span: Span,
        expected: &'static str,
    },
    /// The structure in a line for a tensor is none.
    Structure {
        span: Span,
        error: Box<Diagnostic>,
    },
    /// Brackets that hold no relation of index variables.
    Bracket {
        span: Span,
    },
    /// A line for an operand in a packed format whose other elements follow from those that are stored.
    Packed {
        span: Span,
        name: String,
    },
    /// A line for a tensor whose stored dimensions the loops go through.
    Stored {
        span: Span,
        name: String,
    },
    /// A line for an operand of which the loops read the unique elements alone.
    Unique {
        span: Span,
        name: String,
    },
    /// A line for a workspace that says that it is another tensor.
    Filled {
        span: Span,
        name: String,
    },
    /// A line for a workspace that no statement has.
    NoWorkspace {
        span: Span,
        name: String,
    },
}

impl Mistake {
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Mistake::Relation(error) => error.into_diagnostic(),
            Mistake::Tag { .. } | Mistake::NoRelation { .. } | Mistake::Taken { .. } => self.of_variables(),
            Mistake::NoLoop { .. }
            | Mistake::TwoLoops { .. }
            | Mistake::Replaced { .. }
            | Mistake::Part { .. }
            | Mistake::PartIndex { .. }
            | Mistake::PartValue { .. } => self.of_loops(),
            _ => self.of_tensors(),
        }
    }

    fn of_variables(self) -> Diagnostic {
        match self {
            Mistake::Tag { span, word } => Diagnostic::error("E1401", format!("`{word}` is not said of loops"))
                .label(span, "not a tag")
                .hint("tags are `cpu, none`, `vector, ignore`, `unroll 4`, `gallop`, and their kin"),
            Mistake::NoRelation { span } => Diagnostic::error("E1402", "this is no relation of variables")
                .label(span, "makes no variables")
                .hint("relations are split, divide, fuse, pos, coord, bound and rename"),
            Mistake::Taken { span, name } => Diagnostic::error("E1402", format!("`{name}` cannot be made here"))
                .label(span, "a variable already")
                .hint("let each relation make variables of new names, before others are made of these"),
            other => other.of_tensors(),
        }
    }

    fn of_loops(self) -> Diagnostic {
        match self {
            Mistake::NoLoop { span, name } => Diagnostic::error("E1403", format!("`{name}` has no value here"))
                .label(span, "no loop around tells it")
                .hint(format!(
                    "put the assignment inside `forall({name}, ...)`, or in loops over all parts of `{name}`"
                )),
            Mistake::TwoLoops { span, name } => Diagnostic::error("E1404", format!("`{name}` is bound by two loops"))
                .label(span, "inside of a loop over it")
                .hint("remove one of them, or take another variable"),
            Mistake::Replaced { span, name } => {
                Diagnostic::error("E1404", format!("`{name}` is replaced by others and has no loop of its own"))
                    .label(span, "a loop over it")
                    .hint("loop over the variables that the relations make of it")
            }
            Mistake::Part { span, part } => {
                Diagnostic::error("E1405", format!("`{part}` is a part of a variable, whose other parts are missing"))
                    .label(span, "its loop")
                    .hint("put the assignment inside loops over all parts, or combine parts by one operation alone")
            }
            Mistake::PartIndex { span, part, tensor } => {
                Diagnostic::error("E1405", format!("`{part}` is a part of a variable, and no coordinate of `{tensor}`"))
                    .label(span, "a part")
                    .hint("write the variable that the relations take apart; loops over its parts tell it")
            }
            Mistake::PartValue { span, part } => {
                Diagnostic::error("E1405", format!("`{part}` is a part of a variable, and no value"))
                    .label(span, "a part")
                    .hint("write the variable that the relations take apart; loops over its parts tell it")
            }
            other => other.of_tensors(),
        }
    }

    fn of_tensors(self) -> Diagnostic {
        match self {
            Mistake::NotFilled { span, name } => {
                Diagnostic::error("E1406", format!("workspace `{name}` is read before it is filled"))
                    .label(span, "read here")
                    .hint(format!(
                        "write `where(consumer, producer)`: the producer fills `{name}`, the consumer reads it"
                    ))
            }
            Mistake::NoPlace { span, name } => Diagnostic::error(
                "E1413",
                format!("the loops do not tell which variable's place `{name}` holds"),
            )
            .label(span, "the place of a value")
            .hint(
                "the target of `argmin=` and `argmax=` is inside of the loop over one variable that it does not have",
            ),
            Mistake::PlaceKind { span, name } => {
                Diagnostic::error("E1413", format!("`{name}` holds places of values, which no list has room for"))
                    .label(span, "the place of a value")
                    .hint("such a workspace is `dense`, or `scalar`")
            }
            Mistake::ScalarKind { span, name, indices } => Diagnostic::error(
                "E1410",
                format!("a `scalar` workspace has one value, and `{name}` has {indices} indices"),
            )
            .label(span, "with indices")
            .hint(format!("leave out the line for `{name}`, or let it say `dense`")),
            Mistake::NotRead { span, name } => {
                Diagnostic::error("E1406", format!("`{name}` is filled by a producer, and no consumer reads it"))
                    .label(span, "this statement")
                    .hint(format!("read `{name}` in the consumer of `where`, or remove its producer"))
            }
            Mistake::OtherParts { span, name } => {
                Diagnostic::error("E1405", format!("`{name}` is read with other variables than it is filled with"))
                    .label(span, "parts of other variables")
                    .hint("use the same parts of a variable where a workspace is filled and where it is read")
            }
            Mistake::Clash { span, name, other } => {
                Diagnostic::error("E1411", format!("`{name}` is a workspace here, and a tensor elsewhere"))
                    .label(span, "fills a workspace of this name")
                    .secondary(other, "a tensor")
                    .hint("give the workspace a name of its own")
            }
            Mistake::Overwritten { span, name, var } => {
                Diagnostic::error("E1407", format!("`{name}` is assigned again for each value of `{var}`"))
                    .label(span, format!("in a loop over `{var}`, which `{name}` does not have"))
                    .hint("use `+=`, `min=` or another way to combine values")
            }
            Mistake::Mixed { span, name } => {
                Diagnostic::error("E1407", format!("`{name}` is assigned in ways that do not fit together"))
                    .label(span, "this one")
                    .hint("after the first, combine all values by one operation")
            }
            Mistake::Results { span, names } => {
                let found = match names.as_slice() {
                    [] => "there is none".to_string(),
                    names => format!("there are {}", names.join(", ")),
                };
                Diagnostic::error("E1408", format!("a statement has one result; {found}"))
                    .label(span, "this statement")
                    .hint("what a producer fills is read by its consumer; exactly one tensor is left that is not read")
            }
            Mistake::Reduction { span } => Diagnostic::error("E1409", "concrete notation has no reductions")
                .label(span, "a reduction")
                .hint("write the loop: `where(... t ..., forall(j, t += ...))`"),
            Mistake::TooLong { span } => Diagnostic::error("E1409", "this statement is too long in index notation")
                .label(span, "written out")
                .hint("split it into several statements"),
            Mistake::Line { span, expected } => Diagnostic::error("E1410", format!("expected {expected}"))
                .label(span, "in this line for a tensor")
                .hint("a line for a tensor looks like `A: f64 csr input 5x7`"),
            Mistake::Filled { span, name } => Diagnostic::error(
                "E1410",
                format!("`{name}` is a workspace: a producer fills it, and its consumer reads it"),
            )
            .label(span, "a line for another tensor")
            .hint(format!("let it say `{name}: f64 scalar workspace`, or another kind, or remove it")),
            Mistake::NoWorkspace { span, name } => {
                Diagnostic::error("E1410", format!("no statement fills a workspace `{name}`"))
                    .label(span, "its line")
                    .hint("remove the line, or fill the workspace in a producer of `where`")
            }
            Mistake::Packed { span, name } => {
                Diagnostic::error("E1415", format!("loops over `{name}` would be over its unique elements alone"))
                    .label(span, "packed: other elements follow from those that are stored")
                    .hint("write the statement without loops, or declare another format")
            }
            Mistake::Stored { span, name } => Diagnostic::error(
                "E1415",
                format!("the loops are over the stored dimensions of `{name}`"),
            )
            .label(span, "blocks or diagonals, not rows and columns")
            .hint("write the statement without loops, or declare a format whose dimensions are those of the tensor"),
            Mistake::Unique { span, name } => {
                Diagnostic::error("E1415", format!("the loops read an element of `{name}` for all that follow from it"))
                    .label(span, "its unique elements alone")
                    .hint("write the statement without loops, and the structure behind its name (`-p`)")
            }
            Mistake::Structure { span, error } => {
                let mut error = *error;
                error.labels.iter_mut().for_each(|label| label.span = span);
                error
            }
            Mistake::Bracket { span } => Diagnostic::error(
                "E1414",
                "no relation of index variables stands in these brackets",
            )
            .label(span, "not a relation")
            .hint(
                "relations are `[d == i + 1]`, `[d == p(i)]`, `[d == {3, 1}(i)]`, `[d == wrap(i + 1)]`, `[i - j >= 0]`",
            ),
            other => other.into_diagnostic(),
        }
    }
}
