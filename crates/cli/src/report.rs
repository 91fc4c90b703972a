//! Reports of a run: text for people, one JSON object for programs.

use std::fmt::Write;

use lacunar::{DynTensor, Error, Kernel, Search, Signature, Stage, median};
use serde::Serialize;

use crate::args::ProgramArgs;
use crate::check::Verdict;
use crate::failure::Failure;
use crate::inputs::{Input, LoadTimes, sizes_text};
use crate::measure::{Sum, first_entries, min, ms, number, sum_and_norm};
use crate::output;
use crate::request::Request;
use lacunar_base::amounts::bytes_text;
use lacunar_notation::{Action, Role};

/// The most entries of a result that are shown.
const SHOWN: usize = 8;

/// Everything that is known after a run.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The compiled program.
    pub kernel: &'a Kernel,
    /// The request of the flags.
    pub request: &'a Request,
    /// The tensors that were given.
    pub inputs: &'a [Input],
    /// The results, by name.
    pub results: &'a [(String, DynTensor)],
    /// The times that it took to get the inputs.
    pub load: LoadTimes,
    /// Milliseconds of each measured run's kernels.
    pub times: &'a [f64],
    /// Milliseconds of each measured run's conversions.
    pub converts: &'a [f64],
    /// Milliseconds of each measured run as a whole.
    pub totals: &'a [f64],
    /// Scalar operations.
    pub flops: f64,
    /// The outcome of `--check`.
    pub verdict: Option<&'a Verdict>,
}

/// The keys of `--json`.
#[derive(Debug, Serialize)]
struct Json<'a> {
    expression: String,
    formats: serde_json::Map<String, serde_json::Value>,
    schedule: String,
    backend: &'static str,
    threads: usize,
    inputs: Vec<JsonTensor<'a>>,
    result: Option<JsonResult<'a>>,
    plan_ms: f64,
    compile_ms: f64,
    load_ms: f64,
    assemble_ms: f64,
    convert_ms: f64,
    times_ms: &'a [f64],
    kernel_ms: f64,
    total_ms: f64,
    median_ms: f64,
    min_ms: f64,
    flops: f64,
    bytes_touched: u64,
    gflops: f64,
    gbytes_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'a Verdict>,
}

#[derive(Debug, Serialize)]
struct JsonTensor<'a> {
    name: &'a str,
    dims: &'a [u64],
    nnz: u64,
    stored: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonResult<'a> {
    name: &'a str,
    dims: &'a [u64],
    nnz: u64,
    stored: u64,
    sum: Sum,
    norm: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<String>,
}

impl Outcome<'_> {
    /// One JSON object, on one line. `result` is the tensor that the last statement assigns to, of those that the program is for.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn json(&self) -> Result<String, Failure> {
        let (plan_ms, compile_ms) = compile_times(self.kernel);
        let inputs = self.inputs.iter().map(|input| JsonTensor {
            name: &input.name,
            dims: input.tensor.dims(),
            nnz: input.tensor.entries(),
            stored: input.tensor.nnz(),
            bytes: input.tensor.bytes(),
            fill: fill_text(&input.tensor),
        });
        let program = self.kernel.program();
        let assigned = program.statements.iter().map(|statement| statement.lhs.tensor);
        let last = assigned.rev().find(|id| program.is_output(*id)).map(|id| &program.tensors[id].name);
        let result = match self.results.iter().find(|(name, _)| Some(name) == last) {
            None => None,
            Some((name, tensor)) => {
                let (sum, norm) = sum_and_norm(tensor)?;
                let (nnz, stored, fill) = (tensor.entries(), tensor.nnz(), fill_text(tensor));
                Some(JsonResult { name, dims: tensor.dims(), nnz, stored, sum, norm, fill })
            }
        };
        let object = Json {
            expression: expression(self.kernel),
            formats: formats(self.kernel),
            schedule: schedule(self.kernel, self.request),
            backend: self.request.backend.name(),
            threads: self.kernel.threads(),
            inputs: inputs.collect(),
            result,
            plan_ms,
            compile_ms,
            load_ms: ms(self.load.read),
            assemble_ms: ms(self.load.pack),
            convert_ms: median(self.converts),
            times_ms: self.times,
            kernel_ms: median(self.times),
            total_ms: median(self.totals),
            median_ms: median(self.times),
            min_ms: min(self.times),
            flops: self.flops,
            bytes_touched: self.bytes_touched(),
            gflops: per_second(self.flops, self.times),
            gbytes_per_s: per_second(self.bytes_touched() as f64, self.times),
            check: self.verdict,
        };
        to_line(&object)
    }

    /// The text for people after a run: times and results.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn text(&self) -> Result<String, Failure> {
        let mut text = String::new();
        section(&mut text, "times", &self.time_rows());
        let mut rows = Vec::new();
        for (name, tensor) in self.results {
            let (sum, norm) = sum_and_norm(tensor)?;
            let mut row = described(name, tensor);
            row.push(format!("sum {sum}"));
            row.push(format!("norm {}", number(norm)));
            rows.push(row);
        }
        section(&mut text, "results", &rows);
        for (name, tensor) in self.results {
            for line in first_entries(name, tensor, SHOWN)? {
                text += &format!("  {line}\n");
            }
        }
        Ok(text)
    }

    fn time_rows(&self) -> Vec<Vec<String>> {
        let (plan_ms, compile_ms) = compile_times(self.kernel);
        let row = |name: &str, ms: f64, note: String| vec![name.to_string(), format!("{} ms", number(ms)), note];
        let mut rows = vec![
            row("read", ms(self.load.read), String::new()),
            row("pack", ms(self.load.pack), String::new()),
            row("plan", plan_ms, String::new()),
            row("compile", compile_ms, self.request.backend.name().to_string()),
        ];
        if self.converts.iter().any(|&ms| ms > 0.001) {
            rows.push(row("convert", median(self.converts), "operands or results, as the plan demands".to_string()));
        }
        let runs = self.times.len();
        let median_of = (runs > 1).then(|| format!("median of {runs}, min {} ms", number(min(self.times))));
        // In loops, and of tensors that actions change, nobody knows the work before it is done.
        let is_known = self.kernel.program().body.iter().all(|action| matches!(action, Action::Assign(_)));
        let rates = is_known.then(|| {
            let (flops, bytes) = (self.flops, self.bytes_touched() as f64);
            let [flops, bytes] = [flops, bytes].map(|amount| number(per_second(amount, self.times)));
            format!("{flops} GFLOP/s, {bytes} GB/s")
        });
        let note = median_of.into_iter().chain(rates).collect::<Vec<_>>().join("; ");
        rows.push(row("kernel", median(self.times), note));
        rows
    }

    fn bytes_touched(&self) -> u64 {
        let inputs = self.inputs.iter().map(|input| input.tensor.bytes());
        inputs.chain(self.results.iter().map(|(_, tensor)| tensor.bytes())).sum()
    }
}

/// The text for people before a run: the statements, the inputs, and the order of the loops of each statement.
pub fn before(kernel: &Kernel, inputs: &[Input]) -> String {
    let mut text = kernel.program().actions_text();
    let mut rows = Vec::new();
    for Input { name, tensor, origin, .. } in inputs {
        let mut row = described(name, tensor);
        row.push(origin.clone());
        rows.push(row);
    }
    section(&mut text, "inputs", &rows);
    let mut plans = Vec::new();
    let is_alone = kernel.statements().nth(1).is_none();
    for step in kernel.statements() {
        let result = (!is_alone).then(|| step.kernel().tensors[step.result()].name.clone());
        let orders = step.plan().notes.iter().filter(|note| note.starts_with("loop order"));
        plans.extend(orders.map(|note| result.iter().chain([note]).cloned().collect::<Vec<_>>()));
    }
    section(&mut text, "plan", &plans);
    text
}

/// The text for people after a check that found no difference.
pub fn agreement(verdict: &Verdict) -> String {
    let mut text = String::new();
    section(&mut text, "check", &[vec![verdict.agreement()]]);
    text
}

/// The JSON object of `compile`: the facts that are known without running, and the texts of the stages.
///
/// # Errors
/// It can't be written as JSON.
pub fn compiled_json(
    kernel: &Kernel,
    stages: &[Stage],
    (request, inputs): (&Request, &[Input]),
    args: &ProgramArgs,
    shipped: &[Signature],
) -> Result<String, Failure> {
    let (plan_ms, compile_ms) = compile_times(kernel);
    let texts: serde_json::Map<String, serde_json::Value> =
        stages.iter().filter_map(|stage| Some((stage.0.to_string(), kernel.text(stage.0)?.into()))).collect();
    let mut object = serde_json::json!({
        "expression": expression(kernel),
        "formats": formats(kernel),
        "schedule": schedule(kernel, request),
        "backend": request.backend.name(),
        "threads": kernel.threads(),
        "plan_ms": plan_ms,
        "compile_ms": compile_ms,
        "stages": texts,
    });
    if args.explain {
        let of_inputs = inputs.iter().flat_map(Input::notes);
        object["explain"] = of_inputs.chain(kernel.explain()).collect::<Vec<_>>().into();
    }
    if !shipped.is_empty() {
        object["signatures"] = serde_json::json!(shipped);
    }
    to_line(&object)
}

/// Tells of possible surprises, unless the explanation does.
pub fn warn(kernel: &Kernel, args: &ProgramArgs) {
    if !args.explain {
        kernel.warnings().iter().for_each(|warning| output::tell(&format!("warning: {warning}\n")));
    }
}

/// The planner's choices and their reasons.
pub fn explanation(kernel: &Kernel, request: &Request, inputs: &[Input]) -> String {
    let mut rows = vec![vec![format!("schedule {}", schedule(kernel, request))]];
    rows.extend(inputs.iter().flat_map(Input::notes).map(|note| vec![note]));
    rows.extend(kernel.explain().into_iter().map(|note| vec![note]));
    let mut text = String::new();
    section(&mut text, "explanation", &rows);
    text
}

/// An object of JSON on a line.
///
/// # Errors
/// It can't be written as JSON.
pub fn to_line(object: &impl Serialize) -> Result<String, Failure> {
    let internal =
        |error: serde_json::Error| Error::program("", vec![lacunar::Diagnostic::internal(error.to_string())]);
    let mut line = serde_json::to_string(object).map_err(internal)?;
    line.push('\n');
    Ok(line)
}

/// The statements, on one line; a program of other actions on its lines.
fn expression(kernel: &Kernel) -> String {
    let program = kernel.program();
    if !program.is_sequence() {
        return program.actions_text();
    }
    program.statements.iter().map(|s| program.statement_text(s)).collect::<Vec<_>>().join("; ")
}

fn formats(kernel: &Kernel) -> serde_json::Map<String, serde_json::Value> {
    let tensors = kernel.program().tensors.iter().filter(|(_, tensor)| tensor.role != Role::Index);
    tensors.map(|(_, tensor)| (tensor.name.clone(), tensor.format.to_string().into())).collect()
}

/// The commands that transformed the loops, given or chosen; where there are none, the word for that.
fn schedule(kernel: &Kernel, request: &Request) -> String {
    let schedule = kernel.schedule();
    match request.search {
        _ if !schedule.is_empty() => schedule.to_string(),
        Search::Cost => "auto".to_string(),
        Search::Plain => "none".to_string(),
    }
}

/// Milliseconds of planning (with the checks of the program) and of making code.
fn compile_times(kernel: &Kernel) -> (f64, f64) {
    let plans = |stage: &str| matches!(stage, "check" | "plan");
    (ms(kernel.trace().total(plans)), ms(kernel.trace().total(|stage| !plans(stage))))
}

/// Billions a second at the median time; 0 where no time passed.
fn per_second(amount: f64, times: &[f64]) -> f64 {
    let seconds = median(times) / 1e3;
    if seconds > 0.0 { amount / seconds / 1e9 } else { 0.0 }
}

/// The fill value of a tensor, where it has elements that are not stored and these are not 0.
fn fill_text(tensor: &DynTensor) -> Option<String> {
    let filled = !tensor.fill().is_zero() && !tensor.format().is_dense();
    filled.then(|| tensor.fill().to_string())
}

fn described(name: &str, tensor: &DynTensor) -> Vec<String> {
    let fill = fill_text(tensor).map_or(String::new(), |fill| format!(", else {fill}"));
    let (entries, stored) = (tensor.entries(), tensor.nnz());
    let stored = if stored == entries { String::new() } else { format!(", {stored} stored") };
    vec![
        name.to_string(),
        tensor.dtype().to_string(),
        tensor.format().to_string(),
        sizes_text(tensor.dims()),
        format!("nnz {entries}{stored}{fill}"),
        bytes_text(tensor.bytes()),
    ]
}

/// A headline and rows with aligned columns; nothing if there are no rows.
pub fn section(text: &mut String, title: &str, rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    text.push_str(title);
    text.push('\n');
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a `String` cannot fail.
            let _ = write!(line, " {cell:width$} ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
