//! The `landfall` command. Everything it knows comes from the crates below it; this one reads arguments and files,
//! prints, and chooses the exit code.

mod args;
mod cc;
mod doctor;
mod exit;
mod litmus;
mod run;
mod screen;

use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = cc::intercept() {
        return exit;
    }
    let args = args::Args::parse();
    // A panic would leave with 101, which means "the program did not build".
    let exit = std::panic::catch_unwind(|| match args.command {
        args::Command::Litmus(options) => litmus::run(&options),
        args::Command::Doctor => doctor::run(),
        args::Command::Run(options) => run::run(&options),
    });
    exit.unwrap_or(Exit::Internal).into()
}
