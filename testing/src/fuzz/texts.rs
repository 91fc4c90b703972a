//! Targets that are texts: expressions, formats and options, schedules, programs.

use std::sync::LazyLock;

use lacunar::{Backend, Category, Diagnostic, Error, Kernel, Options};
use lacunar_formats::FormatSpec;
use lacunar_front::{Declarations, check, options, schedule};
use lacunar_notation::{Program, Role};

use super::{Input, Target, answer, text};
use crate::day::{all_wanted, chosen, today};
use crate::instance::Instance;
use crate::suite::corpus_instances;

/// The texts of an instance of the corpus that seeds are made of.
struct Known {
    id: String,
    /// Its program.
    source: String,
    /// The formats of its tensors.
    formats: String,
    schedule: String,
}

/// One in eight instances of the corpus, others every day.
static CORPUS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let known = |instance: Instance| Known {
        formats: instance.formats().into_iter().map(|(name, format)| format!("{name}:{format} ")).collect(),
        schedule: instance.setup.schedule_text(),
        id: instance.id,
        source: instance.source,
    };
    let of_the_day = |id: &str| all_wanted() || chosen(id, today(), 8);
    corpus_instances(&of_the_day).unwrap_or_default().into_iter().map(known).collect()
});

/// Longer texts of programs are not compiled: nothing is promised about the time that takes.
const LONG: usize = 600;

pub(super) const EXPRESSIONS: Target = Target {
    name: "expressions",
    seeds: || programs().into_iter().map(String::into_bytes).collect(),
    words: &[
        "sum(",
        "min(",
        "i64(",
        "f16(",
        "cast<float>(",
        "A(i,j)",
        "x(i)",
        "y(i) = ",
        " += ",
        "; ",
        "1e308",
        "-",
        "(",
        ")",
        "0x",
        "18446744073709551615",
        "not(",
        "true",
        ",",
        "\u{e9}",
        "\n",
        "#",
        "heaviside(",
        "op f(a, b) = ",
        "op g(a) { present ",
        " { identity 0, commutative, associative }\n",
        " { both a * b, left a }\n",
        "at (a) ",
        "f(x(i), 2)",
        " f= ",
        "[d == i + 1]",
        "[d == p(i)]",
        "[2 * i - j >= 1]",
        "forall(i, ",
        "forall(d, y(i) += [d == i + 1] * x(d))",
        "where(",
    ],
    run: |bytes| {
        let text = text(bytes, 1 << 14);
        let program = match check(&text, &Declarations::new()) {
            Ok(program) => program,
            Err(found) => return codes(&found),
        };
        let print = Program::actions_text;
        let printed = print(&program);
        let again = check(&printed, &declared(&program));
        let again = again.unwrap_or_else(|found| panic!("`{printed}` is printed and refused: {}", codes(&found)));
        assert_eq!(print(&again), printed, "read back otherwise");
        format!("{} statements", program.statements.len())
    },
};

/// The declarations of a program's inputs, which lines of its text may hold: printed actions leave them out.
fn declared(program: &Program) -> Declarations {
    let tensors = program.tensors.iter().map(|(_, tensor)| tensor);
    let inputs = tensors.filter(|tensor| tensor.role == Role::Input && tensor.indicator.is_none());
    inputs.fold(Declarations::new(), |all, tensor| {
        let all = all.dtype(&tensor.name, tensor.dtype).format(&tensor.name, tensor.format.clone());
        tensor.fill.into_iter().fold(all, |all, fill| all.fill(&tensor.name, fill))
    })
}

pub(super) const FORMATS: Target = Target {
    name: "formats",
    seeds: || {
        let formats = (1..=4).flat_map(crate::pairs::of_order).map(|named| named.text);
        let options = ["A:csr", "A:bcsr(4,4)", "x:f32", "A:10,20", "A:a.mtx", "A:rand:0.1", "y:out.tns", "A:inf"];
        formats.chain(options.map(str::to_string)).map(String::into_bytes).collect()
    },
    words: &[
        "csr",
        "d",
        "s",
        "u",
        "q",
        "c",
        ":",
        ",",
        "0/4",
        "1%4",
        "1-0",
        "#",
        "(",
        ")",
        "bcsr(",
        "sell(",
        "{bst}",
        "{blist<",
        ">}",
        "{",
        "4294967296",
        "0",
    ],
    run: |bytes| {
        let text = text(bytes, 1 << 12);
        let option = [
            options::format(&text).map(drop),
            options::dtype(&text).map(drop),
            options::fill(&text).map(drop),
            options::sizes(&text).map(drop),
            options::input(&text).map(drop),
            options::generator(&text).map(drop),
            options::output(&text).map(drop),
        ];
        let option = option.map(|outcome| outcome.err().map_or("ok", |found| found.code));
        let Ok(spec) = text.parse::<FormatSpec>() else { return format!("{option:?}") };
        let mut orders = 0;
        for order in 0..=6 {
            let Ok(format) = spec.resolve(order) else { continue };
            orders += 1;
            let printed = format.to_string();
            let again = printed.parse::<FormatSpec>().ok().and_then(|spec| spec.resolve(order).ok());
            assert_eq!(again.as_ref(), Some(&format), "`{printed}` is read back otherwise");
        }
        format!("{option:?} of {orders} orders")
    },
};

/// The programs that schedules are for.
const SCHEDULED: [&str; 4] = [
    "y(i) = A(i,j) * x(j)",
    "C(i,k) = A(i,j) * B(j,k)",
    "A(i,j) = B(i,j) + C(i,j)",
    "a(i) = b(i); y(j) = C(j,i) * a(i)",
];

pub(super) const SCHEDULES: Target = Target {
    name: "schedules",
    seeds: || {
        let mut texts: Vec<String> = CORPUS.iter().map(|known| known.schedule.clone()).collect();
        texts.sort();
        texts.dedup();
        let texts = texts.into_iter().filter(|text| !text.is_empty()).enumerate();
        texts.map(|(number, text)| [&[number as u8, number as u8 / 4], text.as_bytes()].concat()).collect()
    },
    words: &[
        "split(i, i0, i1, 4)",
        "divide(",
        "reorder(",
        "fuse(i, j, f)",
        "pos(j, p, A(i,j))",
        "coord(",
        "bound(",
        "unroll(j, 2)",
        "precompute(",
        "parallelize(i, cpu, none)",
        "mergeby(j, gallop)",
        "assemble(",
        ", ",
        "i",
        "j",
        "k",
        "1: ",
        "18446744073709551615",
        "vector",
        "atomics",
        "temporary",
        "{",
        "}",
        "threads",
        "maxexact",
    ],
    run: |bytes| {
        let mut input = Input(bytes);
        let (source, format) =
            (SCHEDULED[input.below(SCHEDULED.len())], ["csr", "dense", "csc", "coo"][input.below(4)]);
        let commands = text(input.0, LONG);
        let declared =
            ["A", "B", "C"].into_iter().fold(Options::new(), |options, name| match format.parse::<FormatSpec>() {
                Ok(format) => options.format(name, format),
                Err(_) => options,
            });
        let program = check(source, &declared.declarations);
        if let Ok(program) = &program
            && let Err(found) = schedule::check(&commands, program)
        {
            return codes(&found);
        }
        compiled(source, &declared.schedule(commands.as_str()))
    },
};

pub(super) const PROGRAMS: Target = Target {
    name: "programs",
    seeds: || {
        let mut seen = std::collections::HashSet::new();
        let new = CORPUS.iter().filter(|known| seen.insert((&known.source, known.id.len() % 4)));
        new.map(|known| format!("{}\n{}", known.formats, known.source).into_bytes()).collect()
    },
    words: &[
        "A:csr ",
        "B:coo ",
        "x:sv ",
        "C:dense ",
        "A:bcsr(2,2) ",
        "A(i,j)",
        "x(j)",
        " * ",
        " + ",
        " = ",
        "sum(j, ",
        "max(",
        "i",
        "; ",
        "y(i)",
        " += ",
        "/",
        "pow(",
        "h",
        "t",
        "b",
        "r",
    ],
    run: |bytes| {
        let text = text(bytes, LONG);
        let Some((formats, source)) = text.split_once('\n') else { return "no line".to_string() };
        let mut declared = Options::new();
        for word in formats.split_whitespace() {
            match options::format(word) {
                Ok((name, format)) => declared = declared.format(&name, format),
                Err(found) => return found.code.to_string(),
            }
        }
        compiled(source, &declared)
    },
};

/// Compiles a program; whatever is wrong with it has to be the user's doing.
fn compiled(source: &str, options: &Options) -> String {
    let options = Options { tuned: false, ..options.clone().backend(Backend::Interpreter) };
    match Kernel::compile(source, &options) {
        Ok(kernel) => {
            let loops: usize = kernel.steps().iter().map(|step| step.function().vars.len()).sum();
            format!("{} kernels of about {} variables", kernel.steps().len(), loops.next_power_of_two())
        }
        Err(Error::Program { diagnostics, .. } | Error::Schedule { diagnostics, .. }) => {
            let internal = diagnostics.iter().find(|found| found.category == Category::Internal);
            assert!(internal.is_none(), "{internal:?}");
            codes(&diagnostics)
        }
        Err(error) => panic!("{error}"),
    }
}

fn codes(found: &[Diagnostic]) -> String {
    let mut codes: Vec<String> =
        found.iter().map(|found| format!("{} {}", found.code, answer(&found.message))).collect();
    codes.dedup();
    codes.truncate(3);
    codes.join(", ")
}

/// The programs of the corpus, each once.
fn programs() -> Vec<String> {
    let mut texts: Vec<String> = CORPUS.iter().map(|known| known.source.clone()).collect();
    texts.sort();
    texts.dedup();
    texts
}
