//! Answers of three values: a question about integers may be too hard, or its numbers too large.
//!
//! ```
//! use lacunar_sets::Answer;
//! assert_eq!(Answer::Yes.and(Answer::Unknown), Answer::Unknown);
//! assert_eq!(Answer::No.and(Answer::Unknown), Answer::No);
//! ```

/// Yes, no, or not known. The first two are never wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// The computation was given up.
    Unknown,
}

impl Answer {
    /// True if it holds for certain.
    pub fn is_yes(self) -> bool {
        self == Answer::Yes
    }

    /// True if it does not hold, for certain.
    pub fn is_no(self) -> bool {
        self == Answer::No
    }

    /// The answer to the opposite question.
    pub fn opposite(self) -> Answer {
        match self {
            Answer::Yes => Answer::No,
            Answer::No => Answer::Yes,
            Answer::Unknown => Answer::Unknown,
        }
    }

    /// Yes if both hold.
    pub fn and(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::Yes, Answer::Yes) => Answer::Yes,
            _ => Answer::Unknown,
        }
    }

    /// Yes if all hold. Answers behind a "no" are not asked for.
    pub fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
        let mut all = Answer::Yes;
        for answer in answers {
            all = all.and(answer);
            if all.is_no() {
                break;
            }
        }
        all
    }
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Answer {
        if holds { Answer::Yes } else { Answer::No }
    }
}
