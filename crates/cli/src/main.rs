//! The `landfall` command. Everything it knows comes from the crates below it; this one reads arguments and files,
//! prints, and chooses the exit code.

mod args;
mod exit;
mod litmus;
mod screen;

use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    // A panic would leave with 101, which means "the program did not build".
    let exit = std::panic::catch_unwind(|| match args.command {
        args::Command::Litmus(options) => litmus::run(&options),
    });
    exit.unwrap_or(Exit::Internal).into()
}
