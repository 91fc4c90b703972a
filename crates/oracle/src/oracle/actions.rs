//! Actions, one after the other, and the values of all tensors between them.

use std::collections::BTreeSet;

use lacunar_formats::{DType, Format};
use lacunar_notation::TensorId;
use lacunar_runtime::random::generate_filled;

use super::{
    Lookup, MANY, MAX_WORK, Outcome, Program, Question, Run, collect, coordinates, inexactness, infer_fill, run,
    total_work,
};
use crate::entries::Entries;
use crate::read::{Action, COUNT};
use crate::scalar::Scalar;
use crate::sums::Term;

/// The values of all tensors at a point of a program.
pub(super) struct State<'a> {
    program: &'a Program,
    question: &'a Question<'a>,
    stored: Vec<Option<Lookup>>,
    fills: Vec<Scalar>,
    /// The largest distance that the values of each result may have from the true ones.
    inexact: Vec<f64>,
    /// The statements whose target has a value that another action gave it.
    continued: BTreeSet<usize>,
    /// The tensors that have got a value so far, in that order: results, and inputs that an action made.
    pub outcomes: Vec<Outcome>,
    /// The nodes that were evaluated, and the rounds of loops.
    work: u64,
}

impl<'a> State<'a> {
    /// Before the first action, with these values and fill values.
    pub fn new(
        program: &'a Program,
        question: &'a Question<'a>,
        (stored, fills): (Vec<Option<Lookup>>, Vec<Scalar>),
    ) -> State<'a> {
        let inexact = vec![0.0; stored.len()];
        let target = |statement: usize| program.reading.statements[statement].target;
        let continued = Action::continued(&program.reading.body, &target, &mut BTreeSet::new());
        State { program, question, stored, fills, inexact, continued, outcomes: Vec::new(), work: 0 }
    }

    /// Carries out actions.
    ///
    /// # Errors
    /// All of them together are more work than [`MAX_WORK`]; a value is missing.
    pub fn actions(&mut self, actions: &[Action]) -> Result<(), String> {
        actions.iter().try_for_each(|action| self.action(action))
    }

    fn action(&mut self, action: &Action) -> Result<(), String> {
        self.spend(1)?;
        match action {
            Action::Assign(statement) => return self.statement(*statement),
            Action::Swap(a, b) => return self.swap(*a, *b),
            Action::Snapshot(a, b) => {
                let name = self.program.tensor(*a).name.clone();
                self.outcomes.retain(|outcome| outcome.name != name);
                if let Some(taken) = self.current(*b)? {
                    self.outcomes.push(Outcome { name, ..taken });
                }
                self.stored[a.index()] = self.stored[b.index()].clone();
                self.fills[a.index()] = self.fills[b.index()];
                self.inexact[a.index()] = self.inexact[b.index()];
            }
            Action::Change(tensor) => {
                return Err(format!("`{}` changes by what is in a file", self.program.tensor(*tensor).name));
            }
            Action::Read(tensor, is_first) => {
                let name = &self.program.tensor(*tensor).name;
                if !is_first {
                    return Err(format!("`{name}` is read from several files"));
                }
                let given = self.question.given.get(name).ok_or_else(|| format!("`{name}` is in a file"))?;
                let entries = given.clone().with_fill(self.fills[tensor.index()]);
                self.give(*tensor, entries)?;
            }
            Action::Fill(tensor, value) => {
                let value = self.number(value)?;
                let mut entries = self.blank(*tensor)?;
                for at in coordinates(&entries.dims.clone()) {
                    self.spend(1)?;
                    if value != entries.fill {
                        entries.values.insert(at, value);
                    }
                }
                self.give(*tensor, entries)?;
            }
            Action::Random(tensor, kind, seed) => {
                let Scalar::Int(seed) = self.number(seed)? else { return Err("a seed is no integer".to_string()) };
                let blank = self.blank(*tensor)?;
                let order = blank.dims.len();
                let format = if order == 0 { Format::dense(0) } else { Format::coo(order) };
                let fill = blank.fill.fill(blank.dtype);
                let made = generate_filled(kind, blank.dims.clone(), blank.dtype, &format, fill, seed as u64);
                let list = made.and_then(|made| made.to_coo()).map_err(|error| error.to_string())?;
                self.give(*tensor, Entries::from_coo(&list)?.with_fill(blank.fill))?;
            }
            Action::For { counter, range: [from, to], body } => {
                let (Scalar::Int(from), Scalar::Int(to)) = (self.number(from)?, self.number(to)?) else {
                    return Err("a range is not of integers".to_string());
                };
                for number in from..to {
                    self.spend(1)?;
                    self.set(*counter, number)?;
                    self.actions(body)?;
                }
            }
            Action::While(condition, body) => {
                while !self.number(condition)?.is_zero() {
                    self.spend(1)?;
                    self.actions(body)?;
                }
            }
            Action::If(condition, then, otherwise) => {
                let body = if self.number(condition)?.is_zero() { otherwise } else { then };
                self.actions(body)?;
            }
        }
        Ok(())
    }

    /// Counts work.
    fn spend(&mut self, work: u64) -> Result<(), String> {
        self.work = self.work.saturating_add(work);
        if self.work > MAX_WORK { Err("the program takes too many rounds to be evaluated".to_string()) } else { Ok(()) }
    }

    /// The value of a term of numbers.
    fn number(&mut self, term: &Term) -> Result<Scalar, String> {
        for (place, tensor) in self.program.reading.tensors.iter().enumerate() {
            let Some(counted) = tensor.name.strip_prefix(COUNT) else { continue };
            let count = self.count(counted) as i128;
            self.stored[place] = Some(Lookup::new(&number(count))?);
        }
        Ok(Run::new(self.program, &self.stored, &self.fills).value(term).scalar())
    }

    /// The number of a tensor's entries: for one in dense storage, of elements that are not its fill value.
    fn count(&self, name: &str) -> usize {
        let place = self.program.reading.tensors.iter().position(|tensor| tensor.name == name);
        let differing = |values: &mut dyn Iterator<Item = &Scalar>, format: Option<&Format>, fill: Scalar| {
            let is_dense = format.is_none_or(Format::is_dense);
            values.filter(|value| !is_dense || **value != fill).count()
        };
        if let Some((place, lookup)) = place.and_then(|place| Some((place, self.stored[place].as_ref()?))) {
            let format = Some(&self.program.formats[place]);
            return differing(&mut lookup.values.values(), format, self.fills[place]);
        }
        let given = self.question.given.get(name);
        given
            .map_or(0, |entries| differing(&mut entries.values.values(), self.question.formats.get(name), entries.fill))
    }

    /// Sets a counter.
    fn set(&mut self, counter: TensorId, value: i128) -> Result<(), String> {
        let name = &self.program.tensor(counter).name;
        self.outcomes.retain(|outcome| outcome.name != *name);
        let entries = number(value);
        self.stored[counter.index()] = Some(Lookup::new(&entries)?);
        self.outcomes.push(Outcome::known(name, entries));
        Ok(())
    }

    /// A tensor without entries, with the sizes and the fill value of one of the program.
    fn blank(&self, tensor: TensorId) -> Result<Entries, String> {
        let dims = self.program.dims[tensor.index()].clone();
        let elements = dims.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        if elements.is_none_or(|elements| elements > MAX_WORK) {
            return Err(format!("`{}` is too large to be made up", self.program.tensor(tensor).name));
        }
        Ok(Entries::empty(dims, self.program.tensor(tensor).dtype).with_fill(self.fills[tensor.index()]))
    }

    /// Gives a tensor other entries.
    fn give(&mut self, tensor: TensorId, entries: Entries) -> Result<(), String> {
        let known = self.program.tensor(tensor);
        self.outcomes.retain(|outcome| outcome.name != known.name);
        self.stored[tensor.index()] = Some(Lookup::new(&entries.stored_in(&self.program.formats[tensor.index()])?)?);
        self.inexact[tensor.index()] = 0.0;
        self.outcomes.push(Outcome::known(&known.name, entries));
        Ok(())
    }

    /// Takes the value of a tensor so far, where it is computed, made or given.
    fn take(&mut self, tensor: TensorId) -> Result<Option<Outcome>, String> {
        let name = &self.program.tensor(tensor).name;
        if let Some(place) = self.outcomes.iter().position(|outcome| outcome.name == *name) {
            return Ok(Some(self.outcomes.remove(place)));
        }
        self.current(tensor)
    }

    /// The value of a tensor so far, where it is computed, made or given.
    fn current(&self, tensor: TensorId) -> Result<Option<Outcome>, String> {
        let name = &self.program.tensor(tensor).name;
        if let Some(outcome) = self.outcomes.iter().find(|outcome| outcome.name == *name) {
            return Ok(Some(outcome.clone()));
        }
        let Some(entries) = self.question.given.get(name) else { return Ok(None) };
        let entries = entries.clone().with_fill(self.fills[tensor.index()]);
        Ok(Some(Outcome::known(name, entries.stored_in(&self.program.formats[tensor.index()])?)))
    }

    fn swap(&mut self, a: TensorId, b: TensorId) -> Result<(), String> {
        let values = [self.take(a)?, self.take(b)?];
        for (value, other) in values.into_iter().zip([b, a]) {
            let name = self.program.tensor(other).name.clone();
            self.outcomes.extend(value.map(|value| Outcome { name, ..value }));
        }
        self.stored.swap(a.index(), b.index());
        self.inexact.swap(a.index(), b.index());
        Ok(())
    }

    fn statement(&mut self, number: usize) -> Result<(), String> {
        let program = self.program;
        let statement = &program.reading.statements[number];
        self.spend(total_work(program, statement, &program.whole(statement)).unwrap_or(0))?;
        let tensor = program.tensor(statement.target);
        let has_none = self.outcomes.iter().all(|outcome| outcome.name != tensor.name);
        let is_first = has_none && !self.continued.contains(&number);
        infer_fill(program, statement, (is_first, &mut self.fills));
        let mut read = Vec::new();
        collect(&statement.rhs, &mut read);
        let reads = |outcome: &Outcome| read.iter().any(|(id, _)| program.tensor(*id).name == outcome.name);
        let moot = self.outcomes.iter().any(|outcome| !outcome.moot.is_empty() && reads(outcome));
        // Fill values that may be stored in an operand may be stored where a result is computed with them.
        let is_loose = self.outcomes.iter().any(|outcome| outcome.is_loose && reads(outcome));
        let before = self.take(statement.target)?;
        let mut outcome = run(program, statement, (&self.stored, &self.fills, &self.inexact), before)?;
        outcome.is_loose |= is_loose;
        let target = statement.target.index();
        let own = inexactness(program, &self.inexact, &statement.rhs);
        self.inexact[target] = own.max(self.inexact[target]);
        if moot && outcome.entries.dims.iter().any(|&size| size >= MANY) {
            return Err(format!("too many elements of `{}` are moot", statement.text));
        } else if moot {
            outcome.moot = coordinates(&outcome.entries.dims).collect();
        }
        self.stored[target] = Some(Lookup::of_result(&outcome, &program.formats[target])?);
        self.outcomes.push(outcome);
        Ok(())
    }
}

/// An `i64` of order 0.
fn number(value: i128) -> Entries {
    let mut entries = Entries::empty(Vec::new(), DType::I64);
    entries.values.insert(Vec::new(), Scalar::Int(value));
    entries
}
