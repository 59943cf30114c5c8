//! The `landfall` command. Everything it knows comes from the crates below it; this one reads arguments and files,
//! prints, and chooses the exit code.

mod args;
mod cc;
mod check;
mod doctor;
mod exit;
mod explain;
mod fix;
mod litmus;
mod manual;
mod pmdk;
mod prove;
mod replay;
mod report;
mod run;
mod screen;
mod verify;

use clap::Parser;
use exit::Exit;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = cc::intercept() {
        return exit;
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    let checking = arguments.get(1).is_some_and(|command| command == "check");
    let proving = arguments.get(1).is_some_and(|command| command == "prove");
    let (arguments, compiler_flags) = match checking || proving {
        true => match check::take_compiler_flags(arguments) {
            Ok(taken) => taken,
            Err(why) => {
                eprintln!("landfall: {why}");
                return Exit::Usage.into();
            }
        },
        false => (arguments, Vec::new()),
    };
    let arguments = match checking {
        true => match check::with_settings(arguments, Path::new("")) {
            Ok(arguments) => arguments,
            Err(why) => {
                eprintln!("landfall: {why}");
                return Exit::Usage.into();
            }
        },
        false => arguments,
    };
    let args = args::Args::parse_from(arguments);
    // A panic would leave with 101, which means "the program did not build".
    let exit = std::panic::catch_unwind(move || match args.command {
        args::Command::Check(mut options) => {
            options.compiler_flags = compiler_flags;
            check::run(&options)
        }
        // Only reached by a spelling that `cc::intercept` does not know.
        args::Command::Cc(_) | args::Command::Cxx(_) => Exit::Usage,
        args::Command::Replay(options) => replay::run(&options),
        args::Command::Litmus(options) => litmus::run(&options),
        args::Command::Prove(mut options) => {
            options.compiler_flags = compiler_flags;
            prove::run(&options)
        }
        args::Command::Verify(options) => verify::run(&options),
        args::Command::Fix(options) => fix::run(&options),
        args::Command::Report(options) => report::run(&options),
        args::Command::Explain(options) => explain::run(&options),
        args::Command::Doctor => doctor::run(),
        args::Command::Pmdk(options) => pmdk::run(&options),
        args::Command::Man(options) => manual::man(&options),
        args::Command::Completions(options) => manual::completions(&options),
        args::Command::Run(options) => run::run(&options),
    });
    exit.unwrap_or(Exit::Internal).into()
}
