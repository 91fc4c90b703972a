//! Targets behind the front end: texts of imperative functions, which are read, verified and interpreted; functions that are put together
//! wrongly, for the verifier; and arrays that somebody says are a tensor.

use lacunar_formats::LevelKind;
use lacunar_imp::{
    ArrayId, ArrayRole, Block, ExprId, Function, Limits, Param, Stmt, VarId, generate, interpret_within, parse, verify,
};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Tensor};

use super::{Input, Target, answer, text};

/// The number of random functions that are seeds.
const FUNCTIONS: u64 = 60;
/// Statements that the interpreter may execute, and bytes that an array of a function may take.
const STEPS: u64 = 20_000;
const BYTES: usize = 1 << 24;

pub(super) const IMP: Target = Target {
    name: "imp",
    seeds: || (0..FUNCTIONS).map(|seed| generate::function(seed).0.to_string().into_bytes()).collect(),
    words: &[
        "for ",
        "while ",
        "if ",
        "break;",
        "let ",
        "var ",
        " = ",
        "i64",
        "f64",
        "bool",
        "[",
        "]",
        "{",
        "}",
        ";",
        "alloc ",
        "grow ",
        "0",
        "-1",
        "9223372036854775807",
        "min(",
        "parallel ",
        "vector ",
        "atomic ",
        " += ",
        "kernel ",
        "in ",
        "out ",
        "select(",
        "else ",
    ],
    run: |bytes| {
        let text = text(bytes, 1 << 14);
        let function = match parse(&text) {
            Ok(function) => function,
            Err(found) => return answer(&found.message),
        };
        let function = match verify(function) {
            Ok(function) => function,
            Err(error) => return answer(&error.to_string()),
        };
        let printed = function.to_string();
        let again = parse(&printed).unwrap_or_else(|found| panic!("{} in\n{printed}", found.message));
        assert_eq!(again.to_string(), printed, "read back otherwise");
        interpreted(&function)
    },
};

pub(super) const VERIFIER: Target = Target {
    name: "verifier",
    seeds: || (0..FUNCTIONS as u8).map(|seed| vec![seed, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]).collect(),
    words: &["\u{0}", "\u{1}", "\u{7f}"],
    run: |bytes| {
        let mut input = Input(bytes);
        let mut function = generate::function(u64::from(input.byte()) % FUNCTIONS).0;
        while !input.0.is_empty() {
            disturb(&mut function, &mut input);
        }
        match verify(function) {
            Ok(function) => interpreted(&function),
            Err(error) => answer(&error.to_string()),
        }
    },
};

/// Changes a function in one place.
fn disturb(function: &mut Function, input: &mut Input<'_>) {
    let var = VarId::from_index(input.below(function.vars.len()));
    let array = ArrayId::from_index(input.below(function.arrays.len()));
    let expr = ExprId::from_index(input.below(function.exprs.len()));
    if function.vars.is_empty() || function.arrays.is_empty() || function.exprs.is_empty() {
        return;
    }
    match input.below(12) {
        0 => function.vars[var].mutable ^= true,
        1 => function.vars[var].ty = function.arrays[array].elem,
        2 => function.arrays[array].role = [ArrayRole::Input, ArrayRole::Output, ArrayRole::Grown][input.below(3)],
        3 => function.params.truncate(input.below(8)),
        4 => function.params.push(Param::Array(array)),
        5 => function.strict ^= true,
        _ => {
            let mut body = std::mem::take(&mut function.body);
            misplace(&mut body, (var, array, expr), input);
            function.body = body;
        }
    }
}

/// Moves, drops or changes a statement of a block, or of one inside.
fn misplace(block: &mut Block, (other, wrong, expr): (VarId, ArrayId, ExprId), input: &mut Input<'_>) {
    let (at, to) = (input.below(block.len()), input.below(block.len()));
    let Some(stmt) = block.get_mut(at) else { return };
    match (input.below(6), stmt) {
        (0, _) => block.swap(at, to),
        (1, _) => drop(block.remove(at)),
        (2, stmt) => {
            let again = stmt.clone();
            block.insert(to, again);
        }
        (_, Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::If { then: body, .. }) if !input.0.is_empty() => {
            misplace(body, (other, wrong, expr), input);
        }
        (3, Stmt::Define { value, .. } | Stmt::Assign { value, .. } | Stmt::Store { value, .. }) => *value = expr,
        (4, Stmt::Define { var, .. } | Stmt::Assign { var, .. } | Stmt::Load { var, .. }) => *var = other,
        (_, Stmt::Load { array, index, .. } | Stmt::Store { array, index, .. }) => (*array, *index) = (wrong, expr),
        _ => block.push(Stmt::Break),
    }
}

/// Runs a function on the memory of a generated one with the same parameters. Most mutated functions have such
/// parameters; others are not run.
fn interpreted(function: &lacunar_imp::Verified<Function>) -> String {
    let same = |seed: &u64| generate::function(*seed).0.params == function.params;
    let Some(seed) = (0..FUNCTIONS).find(same) else { return "other parameters".to_string() };
    let mut memory = generate::function(seed).1;
    let limits = Limits { steps: Some(STEPS), array_bytes: BYTES, ..Limits::default() };
    match interpret_within(function, &mut memory, limits) {
        Ok(outcome) => format!("ended with {:?}", outcome.status),
        Err(error) => answer(&error.to_string()),
    }
}

pub(super) const ARRAYS: Target = Target {
    name: "arrays",
    seeds: || {
        let formats: Vec<u8> = (0..64).collect();
        formats
            .into_iter()
            .map(|format| [&[format][..], &[2, 0, 3, 4, 0, 2, 2, 0, 1, 2, 1, 0, 2, 3, 1, 5, 9].repeat(3)].concat())
            .collect()
    },
    words: &["\u{0}", "\u{1}", "\u{2}", "\u{3}\u{3}", "\u{7f}"],
    run: arrays,
};

/// Arrays of numbers from the input as a tensor of some format: refused, or whole.
fn arrays(bytes: &[u8]) -> String {
    let mut input = Input(bytes);
    let order = 1 + input.below(3);
    let named = crate::pairs::of_order(order);
    let format = named[input.below(named.len())].format(order);
    let Ok(format) = format else { return "no format".to_string() };
    let dims: Vec<u64> = (0..order).map(|_| input.number()).collect();
    let format = format.fitted(&dims.iter().copied().map(Some).collect::<Vec<_>>(), 0);
    let mut levels = Vec::new();
    for level in format.levels() {
        let size = input.number();
        let arrays = (0..level.kind.info().parts.len()).map(|_| array(&mut input));
        levels.push(storage(level.kind, size, arrays.collect()));
    }
    let values = Buffer::from_vec((0..input.below(40)).map(|_| f64::from(input.byte())).collect::<Vec<f64>>());
    match Tensor::from_parts(dims, &format, levels, values) {
        Err(error) => format!("{} {}", named.len(), answer(&error.to_string())),
        Ok(tensor) => {
            let list =
                tensor.to_coo().unwrap_or_else(|error| panic!("{format}: accepted, and not enumerated: {error}"));
            let again = Tensor::from_coo(list, &lacunar_formats::Format::coo(order));
            assert!(again.is_ok(), "{format}: accepted, and its entries are refused: {again:?}");
            format!("a tensor of {format}")
        }
    }
}

fn storage(kind: LevelKind, size: u64, arrays: Vec<Buffer>) -> LevelStorage {
    LevelStorage::new(kind, size, arrays)
}

/// A few numbers of some width.
fn array(input: &mut Input<'_>) -> Buffer {
    let (width, len) = (input.below(6), input.below(24));
    let numbers: Vec<u64> = (0..len).map(|_| input.number()).collect();
    match width {
        0 => Buffer::from_vec(numbers.into_iter().map(|n| n as u8).collect::<Vec<_>>()),
        1 => Buffer::from_vec(numbers.into_iter().map(|n| n as u16).collect::<Vec<_>>()),
        2 => Buffer::from_vec(numbers),
        _ => Buffer::from_vec(numbers.into_iter().map(|n| n as u32).collect::<Vec<_>>()),
    }
}
