//! `landfall pmdk`: PMDK's libraries, instrumented, for `landfall check --pmdk`.

use crate::exit::Exit;
use landfall_native::compiler::Toolbox;
use landfall_native::compiler::pmdk::{self, Pmdk, PmdkError};
use std::path::PathBuf;
use std::time::Instant;

/// PMDK with Landfall's instrumentation, for programs that use libpmemobj
///
/// PMDK's own makefiles are run on a copy of its sources, with `landfall cc`; the libraries, their headers and sources stay in the
/// cache, and `landfall check --pmdk` uses them. It takes make, binutils and half a minute. Exit code: 0 it is there, 101 it did not build, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct PmdkArgs {
    #[command(subcommand)]
    command: PmdkCommand,
}

#[derive(clap::Subcommand, Debug)]
enum PmdkCommand {
    /// Builds it, in place of one that was built before
    Build {
        /// PMDK's sources, as unpacked or cloned [default: Debian's source package, by apt-get source]
        #[arg(value_name = "SOURCE")]
        source: Option<PathBuf>,
    },
    /// What is built, and where it lies
    Show,
}

pub(crate) fn run(args: &PmdkArgs) -> Exit {
    let toolbox = match Toolbox::unpack() {
        Ok(toolbox) => toolbox,
        Err(error) => {
            eprintln!("landfall: {error}");
            return Exit::Usage;
        }
    };
    let began = Instant::now();
    let found = match &args.command {
        PmdkCommand::Show => Pmdk::find(&toolbox),
        PmdkCommand::Build { source } => match std::env::current_exe() {
            Ok(landfall) => pmdk::build(&toolbox, source.as_deref(), &landfall),
            Err(error) => {
                eprintln!("landfall: the command itself cannot be found: {error}");
                return Exit::Internal;
            }
        },
    };
    match found {
        Ok(pmdk) => {
            let took = match args.command {
                PmdkCommand::Show => String::new(),
                PmdkCommand::Build { .. } => {
                    format!(", built in {:.1} s", began.elapsed().as_secs_f64())
                }
            };
            println!("PMDK {} from {}{took}", pmdk.version, pmdk.from);
            println!("in {}", pmdk.directory().display());
            println!("landfall check --pmdk compiles and links with it");
            Exit::Clean
        }
        Err(error) => {
            eprintln!("landfall: {error}");
            match error {
                PmdkError::Build { .. } => Exit::Build,
                _ => Exit::Usage,
            }
        }
    }
}
