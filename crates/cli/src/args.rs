//! The command line. What it says about itself (`--help`) is written here and nowhere else.

use clap::{Parser, Subcommand, ValueEnum};
use landfall_model::order::Platform;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("LANDFALL_COMMIT"),
    ")"
);

/// Tries every power failure and every schedule of persistent-memory programs.
#[derive(Parser, Debug)]
#[command(name = "landfall", version = VERSION, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Check(Box<crate::check::CheckArgs>),
    Replay(crate::replay::ReplayArgs),
    Litmus(LitmusArgs),
    Prove(crate::prove::ProveArgs),
    Verify(crate::verify::Verify),
    Fix(crate::fix::FixArgs),
    Report(crate::report::ReportArgs),
    Explain(crate::explain::Explain),
    /// clang with Landfall's instrumentation: a drop-in C compiler (CC="landfall cc" make)
    #[command(disable_help_flag = true)]
    Cc(ForClang),
    /// clang++ with Landfall's instrumentation: a drop-in C++ compiler
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(ForClang),
    Pmdk(crate::pmdk::PmdkArgs),
    /// What is installed, what is missing, how to get it
    Doctor,
    Man(crate::manual::Man),
    Completions(crate::manual::Completions),
    #[command(hide = true)]
    Run(crate::run::RunArgs),
}

/// For the list of commands only: `cc` and `c++` are dealt with before arguments are parsed.
#[derive(clap::Args, Debug)]
pub(crate) struct ForClang {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

/// Every outcome of litmus tests, against what their files expect.
///
/// Reads Landfall's .lit files and herd7's X86 .litmus files, and searches directories for both. A list of verdicts (--expect)
/// goes before what the files say: one line per test, `NAME Allowed`, `Required` or `Forbidden`, or Dat3M's `FILE,1` (what the
/// file asks is so) and `FILE,0` (it is not). Exit code: 0 all as
/// expected, 100 some test differs, 5 the limit on states was reached, 2 a file cannot be read, 1 internal error.
#[derive(clap::Args, Debug)]
pub(crate) struct LitmusArgs {
    /// Litmus tests, or directories of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,

    /// A list of tests and their verdicts, for files that only ask (`exists`) and do not say what the answer is
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,

    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Show every outcome, and for each expected one an execution that produces it
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Where persistence begins: at the memory (adr) or at the caches (eadr) [default: as the test says, or adr]
    #[arg(long, value_enum)]
    pub(crate) platform: Option<PlatformArg>,

    /// Compare with the axiomatic definition however large the test is
    #[arg(long)]
    pub(crate) both: bool,

    /// Give up on a test after this many states
    #[arg(long, value_name = "N", default_value = "10000000")]
    pub(crate) states: NonZeroUsize,

    /// Tests to run at the same time [default: one per processor]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PlatformArg {
    Adr,
    Eadr,
}

impl From<PlatformArg> for Platform {
    fn from(arg: PlatformArg) -> Platform {
        match arg {
            PlatformArg::Adr => Platform::Adr,
            PlatformArg::Eadr => Platform::Eadr,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

impl From<Colour> for anstream::ColorChoice {
    fn from(colour: Colour) -> anstream::ColorChoice {
        match colour {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        }
    }
}
