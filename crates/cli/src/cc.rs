//! `landfall cc` and `landfall c++`: becomes clang.

use landfall_native::compiler::{self, Compilation, CompilerError, Language};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Deals with `landfall cc …` and `landfall c++ …` before any argument is parsed: all arguments belong to clang.
/// None for every other command.
pub(crate) fn intercept() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let language = match arguments.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cxx,
        _ => return None,
    };
    Some(run(language, &arguments.collect::<Vec<OsString>>()))
}

fn run(language: Language, arguments: &[OsString]) -> ExitCode {
    match compiler::command(language, arguments) {
        Ok(Compilation {
            mut command,
            remarks,
        }) => {
            for remark in remarks {
                eprintln!("landfall: {remark}");
            }
            // Returns only if clang could not be started.
            let error = command.exec();
            eprintln!(
                "landfall: {} could not be run: {error}",
                command.get_program().to_string_lossy()
            );
        }
        Err(error @ CompilerError::Sanitizer { .. }) => {
            eprintln!("landfall: {error}");
            return ExitCode::FAILURE;
        }
        Err(error) => eprintln!("landfall: {error}"),
    }
    // What a shell says of a command it cannot start; clang itself never does.
    ExitCode::from(127)
}
