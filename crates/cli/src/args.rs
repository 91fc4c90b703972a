//! The command line: subcommands and flags, with their help.
//!
//! The values of `-f -t -d -i -g -o` are read by [`crate::request`]; taco's spelling `-f=A:ds` means the same.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use lacunar_runtime::io::IndexBase;

const EXAMPLES: &str = "\
Examples:
  lacunar run 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand -o y:y.tns
  lacunar run 'C(i,k) = A(i,j) * B(j,k)' -f C:csr -i A:a.mtx -i B:b.mtx --time 20 --check
  lacunar run program.lac --json
  lacunar compile 'y(i) = A(i,j) * x(j)' -f A:csr --emit c
  lacunar tune 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand
  lacunar info matrix.mtx
  lacunar convert matrix.mtx matrix.tns.gz
  lacunar plot matrix.mtx -o spy.png

Exit codes: 0 done; 1 a difference found by --check, or a property found by --check-algebra that does not hold; 2 a mistake
in what was written; 3 a file that can't be read or is malformed; 4 out of memory or a size that does not fit; 70 an internal error.";

const RUN_EXAMPLES: &str = "\
A program is one or more statements, separated by `;` or new lines, with loops, conditions, `swap`, `print`, `read` and
`write` around them (docs/programs.md). A file PROGRAM.lac holds a program, comments (`#`), and lines that begin with `-`, which are flags as on the command line (quoted as in a shell); flags on the command
line come after those in the file. Names of files are relative to the current folder, wherever they stand.
A file PROGRAM.stur holds rules in the language of StructTensor (docs/rules.md), comments and flags; -d n:8 gives a symbol its value.

An input that is read from a file has, unless -f says otherwise, the format csr (order 2) or csf (higher) if the file
lists entries, and dense if it is an array or of order 1; -f A:auto chooses the format from the entries, for 1000 uses,
-f 'A:auto(20)' for 20, and --explain says why; its element type is the file's unless -t says otherwise: f64
(also for a pattern, as ones; -t A:pattern keeps no values), i64 or c128, or any of an array of NumPy. A matrix of one row
or column serves as a vector.
Lines of two columns are the edges of a graph (.el .csv .tsv .txt), with a third one its weights: a square matrix unless -d says
otherwise. Their indices, and those of .tns files, start at 1, or with --base 0 at 0.

Times are in milliseconds (ms), in --json too, where names say so (median_ms); nnz counts entries, stored also what fills up
blocks, diagonals and dense levels; a kB is 1000 bytes.

flops counts, for each term of a sum, the points at which its sparse factors are all stored (counted for one sparse factor
and for two that share one variable, else estimated as for independent uniform coordinates), times the operators between
the factors that are summed over plus one for the sum; other factors count once a result. bytes_touched is every input and
every result once.

Examples:
  lacunar run 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand -o y:y.tns
  lacunar run 'y(i) = alpha * A(i,j) * x(j)' -i A:matrix.mtx -i alpha=2.5 -g x:ones --time 100
  lacunar run 'C(i,j) = A(i,j) + B(i,j)' -g 'A:sparse(0.01)' -g 'B:sparse(0.01)' -d A:1000,1000 --check
  lacunar run 'y(i) = A(i,j) * x(j)' -f=A:ds -t=A:float -i=A:matrix.mtx -g=x:d
  lacunar run 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand -s 'split(i,i0,i1,64), parallelize(i0,cpu,none)'";

const COMPILE_EXAMPLES: &str = "\
-o FILE writes the kernels for use in another program, and a C header beside it: .c (C99), .o (an object), .so (a shared
library), .s (assembly) or .ll (LLVM IR). Machine code holds versions for several processors and chooses one when it is
called first. The kernel has the name of the file.

Examples:
  lacunar compile 'y(i) = A(i,j) * x(j)' -f A:csr
  lacunar compile 'y(i) = A(i,j) * x(j)' -f A:csr -o spmv.o
  lacunar compile 'C(i,k) = A(i,j) * B(j,k)' -f A:csr -f B:csr -f C:csr --emit all --explain
  lacunar compile 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx --backend c -o spmv.so";

const TUNE_EXAMPLES: &str = "\
Each candidate is one line: the median time of a run, its ratio to that of the planner's choice, how often it was run, what
it does otherwise, and the flags of `run` that choose it. The fastest is stored in the folder that LACUNAR_CACHE names (or
else in the user's folder for caches), for this program, processor and number of threads, and for data of this order of
magnitude. From then on `run`, and the library, take it. Each -s is one more candidate; one that cannot be run is told, and
the others are measured.

Examples:
  lacunar tune 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand
  lacunar tune 'C(i,k) = A(i,j) * B(j,k)' -i A:a.mtx -g B:rand -d k:32 --exhaustive --json
  lacunar tune 'y(i) = A(i,j) * x(j)' -i A:matrix.mtx -g x:rand -s 'split(i,i0,i1,64), parallelize(i0,cpu,none)'";

/// Lacunar: a compiler for tensors with gaps.
#[derive(Debug, Parser)]
#[command(name = "lacunar", version, after_help = EXAMPLES, args_override_self = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a program and run it.
    #[command(after_help = RUN_EXAMPLES, args_override_self = true)]
    Run(Box<ProgramArgs>),
    /// Compile a program and print what it becomes, or write what other programs can be linked with.
    #[command(after_help = COMPILE_EXAMPLES, args_override_self = true)]
    Compile(Box<ProgramArgs>),
    /// Measure a handful of schedules for a program on its data, and store the fastest for later runs.
    #[command(after_help = TUNE_EXAMPLES, args_override_self = true)]
    Tune(Box<TuneArgs>),
    /// Convert a file to another format: .mtx, .tns, .npy, .npz, .h5, each also .gz or .zst.
    #[command(args_override_self = true)]
    Convert(ConvertArgs),
    /// Describe the tensor in a file, or the machine.
    #[command(args_override_self = true)]
    Info(InfoArgs),
    /// Draw where the entries of the tensor in a file are.
    #[command(args_override_self = true)]
    Plot(PlotArgs),
}

/// The arguments of `run`, `compile` and `tune`. `--check` and `--time` have no effect on `compile`; `-o`, `--check`,
/// `--emit`, `--emit-to` and `--explain` have none on `tune`.
#[derive(Args, Debug)]
pub struct ProgramArgs {
    /// Statements such as 'y(i) = A(i,j) * x(j)', or a file PROGRAM.lac, or one PROGRAM.stur of rules
    #[arg(value_name = "EXPR|FILE")]
    pub program: String,

    /// Its help is made by `formats()`.
    #[arg(short = 'f', value_name = "NAME:LEVELS[:ORDER]", help = formats())]
    pub formats: Vec<String>,

    /// Element type: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128, pattern (no values: ones), or C's names (float, double, ...)
    #[arg(short = 't', value_name = "NAME:TYPE")]
    pub types: Vec<String>,

    /// Fill value: what the elements are that are not stored (A:inf); 0 unless given
    #[arg(long = "fill", value_name = "NAME:VALUE", allow_hyphen_values = true)]
    pub fills: Vec<String>,

    /// Sizes, of a tensor (A:5,10) or of an index variable (i:5); the value of a symbol of rules (n:5)
    #[arg(short = 'd', value_name = "NAME:SIZES")]
    pub sizes: Vec<String>,

    /// Input from a file (A:matrix.mtx), or the value of a scalar (alpha=2.5)
    #[arg(short = 'i', value_name = "NAME:FILE|NAME=VALUE")]
    pub inputs: Vec<String>,

    /// The options of reading the files of inputs.
    #[command(flatten)]
    pub files: FileArgs,

    /// Schemas that formats may name.
    #[command(flatten)]
    pub schemas: SchemaArgs,

    /// Made-up input: rand, ones, arange, sparse(DENSITY), uniform(ENTRIES PER ROW); or taco's letters d r u s h
    #[arg(short = 'g', value_name = "NAME:KIND")]
    pub generators: Vec<String>,

    /// File for a result (y:y.tns), or standard output (y:-). With `compile`: file for the code (spmv.o)
    #[arg(short = 'o', value_name = "NAME:FILE|FILE")]
    pub outputs: Vec<String>,

    /// Schedule: commands such as split(i,i0,i1,32), parallelize(i0,cpu) (several flags add up; for `tune`, each is a
    /// candidate); or auto (the planner's choice), or none (the plain loop nest); or @FILE, which holds one of these
    #[arg(short = 's', value_name = "SCHEDULE|@FILE")]
    pub schedules: Vec<String>,

    /// Structure of a tensor: a name (symmetric, lower, banded(1,2), ...), or a rule over dimensions ('A(i,j): i <= j'); given files are
    /// compared with it, and what is known of elements is not computed again
    #[arg(short = 'p', value_name = "NAME:STRUCTURE")]
    pub structures: Vec<String>,

    /// Tensor with a structure that is given by its unique elements alone: the half with i <= j of a symmetric matrix. A file has no others,
    /// and a kernel that is shipped takes no others
    #[arg(long, value_name = "NAME")]
    pub unique: Vec<String>,

    /// Threads that a kernel may use; unless given, as many as LACUNAR_THREADS says, or as there are processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,

    /// Back end that makes the code: llvm, c, interp (the reference interpreter)
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,

    /// Machine that kernels are made for: generic, generic-v2, generic-v3, generic-v4, icelake, zen4, zen5, or a file such as
    /// `info --machine` prints; unless given, as LACUNAR_MACHINE says, or the one at hand
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// Form sums in an order that depends neither on the processor nor on the number of threads, and contract no multiply-adds
    #[arg(long)]
    pub strict: bool,

    /// Leave aside what `tune` has stored, and store nothing
    #[arg(long)]
    pub no_tuned: bool,

    /// Compile anew, also what was compiled before, and keep no code
    #[arg(long)]
    pub no_cache: bool,

    /// Seed of made-up inputs, and of the sample that --check takes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Print a stage: program structure nodes notation schedule concrete provenance graph lattice loops passes imp c llvm asm, or all
    #[arg(long, value_name = "STAGE", value_delimiter = ',')]
    pub emit: Vec<String>,

    /// Write the stages of --emit (or all) into files of this folder instead
    #[arg(long, value_name = "DIR")]
    pub emit_to: Option<PathBuf>,

    /// Say what the planner chose and why
    #[arg(long)]
    pub explain: bool,

    /// Compare every result with the dense oracle, or with the reference interpreter where that is too large
    #[arg(long)]
    pub check: bool,

    /// Try the properties that the program declares of its operators, and do nothing else: exit code 1 if one does not hold
    #[arg(long)]
    pub check_algebra: bool,

    /// Run N times after warm-up, and say how long that took
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub time: Option<u32>,

    /// Print one JSON object on standard output, and nothing else there
    #[arg(long)]
    pub json: bool,

    /// Print what the program prints, and results that go to standard output, alone
    #[arg(short = 'q', long, conflicts_with = "json")]
    pub quiet: bool,
}

/// Schemas of nodes that formats may name.
#[derive(Args, Clone, Debug, Default)]
pub struct SchemaArgs {
    /// File of schemas of nodes, which formats may then name (A:d{NAME}): `def NAME { .. }` (docs/dynamic.md); a PROGRAM.lac may have
    /// them itself
    #[arg(long = "schema", value_name = "FILE")]
    pub schemas: Vec<String>,
}

/// The options of reading and writing files.
#[derive(Args, Clone, Copy, Debug)]
pub struct FileArgs {
    /// Index of the first row, column or slice in .tns files and edge lists, read or written, which do not tell
    #[arg(long, value_name = "0|1", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub base: u8,
}

impl FileArgs {
    /// The index base that the reader is given.
    pub fn base(self) -> IndexBase {
        if self.base == 0 { IndexBase::Zero } else { IndexBase::One }
    }
}

/// The arguments of `tune`: those of `run`, except that `--time` is the number of rounds, and each schedule that is
/// given is one more candidate.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// The program that is tuned, and its data.
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Measure every candidate in every round, however slow it is
    #[arg(long)]
    pub exhaustive: bool,

    /// About how long to measure; 10 unless given
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub seconds: Option<u32>,
}

/// The arguments of `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// The file to read
    pub input: PathBuf,
    /// The file to write; its name tells the format
    pub output: PathBuf,
    /// Sort entries as this format stores them (csr: by rows; csc: by columns), adding up repeated ones; dense writes every
    /// entry
    #[arg(short = 'f', value_name = "FORMAT")]
    pub format: Option<String>,
    /// Leave out entries that are 0; with -f, once repeated ones are added up
    #[arg(long)]
    pub prune: bool,
    /// Print how entries get into the format: how they are sorted, counted, put in place
    #[arg(long, requires = "format")]
    pub explain: bool,
    /// The options of reading the file.
    #[command(flatten)]
    pub files: FileArgs,
    /// Schemas that the format may name.
    #[command(flatten)]
    pub schemas: SchemaArgs,
}

/// The arguments of `info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// The file to describe
    #[arg(required_unless_present = "machine")]
    pub file: Option<PathBuf>,
    /// Describe instead the machine that kernels are made for, or another one, as `--machine` and LACUNAR_MACHINE take it
    #[arg(long, value_name = "NAME|FILE", num_args = 0..=1, conflicts_with_all = ["file", "measure"])]
    pub machine: Option<Option<String>>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Measure the product with a vector in each format that may suit a matrix
    #[arg(long)]
    pub measure: bool,
    /// Say what a format stores: the arrays of each level, and their bytes
    #[arg(short = 'f', value_name = "FORMAT", conflicts_with = "machine")]
    pub format: Option<String>,
    /// The options of reading the file.
    #[command(flatten)]
    pub files: FileArgs,
    /// Schemas that the format may name.
    #[command(flatten)]
    pub schemas: SchemaArgs,
}

/// The arguments of `plot`.
#[derive(Args, Debug)]
pub struct PlotArgs {
    /// The file to read
    pub file: PathBuf,
    /// The picture to write: .png or .svg
    #[arg(short = 'o', value_name = "FILE")]
    pub output: PathBuf,
    /// Show what this format stores besides the entries, such as blocks and diagonals: csr 'bcsr(4,4)' dia ..
    #[arg(short = 'f', value_name = "FORMAT")]
    pub format: Option<String>,
    /// Show which entries follow from others by this structure, in a second color: A:symmetric 'A:banded(2,1)' 'A(i,j): A(j,i) = -A(i,j)' ..
    #[arg(short = 'p', value_name = "NAME:STRUCTURE")]
    pub structure: Option<String>,
    /// Heading; the name of the file unless given
    #[arg(long)]
    pub title: Option<String>,
    /// About how many pixels the longer side of a .png has, from 600 to 8000
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(600..=8000))]
    pub pixels: u32,
    /// The mode that a tensor of order 3 or more is sliced along, from 0
    #[arg(long, default_value_t = 0)]
    pub mode: usize,
    /// Cut that mode into at most so many runs of neighboring slices
    #[arg(long, value_name = "N", default_value_t = 9, conflicts_with = "at")]
    pub runs: u64,
    /// Draw these slices alone, counted from 0
    #[arg(long, value_name = "K,...", value_delimiter = ',')]
    pub at: Vec<u64>,
    /// The options of reading the file.
    #[command(flatten)]
    pub files: FileArgs,
    /// Schemas that the format may name.
    #[command(flatten)]
    pub schemas: SchemaArgs,
}

/// The help of `-f`, with the letter of every level kind.
fn formats() -> String {
    let letters = lacunar_formats::Level::alphabet();
    let schemas: Vec<String> = lacunar_formats::Template::every_program().iter().map(|own| own.title()).collect();
    let schemas = schemas.join(" ");
    format!(
        "Format: a name: dense sv coo csr csc dcsr dcsc csf bcsr(4,4) csb(b) hicoo(b) dia ell sell(8) sell(8,64); or level letters ({letters}) and names of schemas of nodes in braces (A:d{{btree}}; {schemas}) with an optional mode order (A:ds:1,0) or map (A:dsdd:0/4,1/4,0%4,1%4); see docs/formats.md"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Cli, Command};
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn both_spellings_mean_the_same() {
        let parse = |words: &[&str]| match Cli::try_parse_from(words).unwrap().command {
            Command::Run(args) => (args.formats, args.inputs),
            other => panic!("{other:?}"),
        };
        let expected = (vec!["A:ds:1,0".to_string()], vec!["alpha=-2".to_string()]);
        assert_eq!(parse(&["lacunar", "run", "y = alpha", "-f", "A:ds:1,0", "-i", "alpha=-2"]), expected);
        assert_eq!(parse(&["lacunar", "run", "y = alpha", "-f=A:ds:1,0", "-i=alpha=-2"]), expected);
    }
}
