//! `landfall cc` and `landfall c++`: clang 19 with the pass loaded and the runtime linked in.
//!
//! The command line stays the user's: Landfall's options are put around it, clang replaces this process, and so its
//! diagnostics, its exit code and its reaction to signals are its own.

mod asm_labels;
mod assembly;
mod clang;
mod plan;
pub mod pmdk;
mod response;
mod toolbox;

pub use clang::find_clang;
pub(crate) use toolbox::RUNTIME;
pub use toolbox::{Toolbox, is_ours};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cxx,
}

#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    #[error(
        "clang 19 was not found: `make setup` installs it, `landfall doctor` shows what is missing"
    )]
    NoClang,
    #[error("the compiler's parts could not be unpacked to {}: {source}", directory.display())]
    Unpack {
        directory: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "the {name} sanitizer and Landfall claim the same memory: leave out `-fsanitize={name}`"
    )]
    Sanitizer { name: &'static str },
    #[error("{} could not be run: {source}", program.display())]
    Run {
        program: PathBuf,
        source: std::io::Error,
    },
    #[error("--pmdk: {0}")]
    Pmdk(#[from] pmdk::PmdkError),
}

/// What to run, and what to tell the person first.
#[derive(Debug)]
pub struct Compilation {
    pub command: Command,
    pub remarks: Vec<String>,
}

/// The clang command that compiles what `arguments` ask for, instrumented.
///
/// Options of ours are taken away from clang: `--as-compiled` watches the accesses the optimiser left instead of those the source
/// wrote, `--pmdk` compiles against an instrumented PMDK and links it, `--kernel` adds the machine that kernels run on.
pub fn command(language: Language, arguments: &[OsString]) -> Result<Compilation, CompilerError> {
    command_in(None, language, arguments)
}

/// The clang command for somebody who works in that directory, as clang will see it.
pub fn command_in(
    directory: Option<&Path>,
    language: Language,
    arguments: &[OsString],
) -> Result<Compilation, CompilerError> {
    let clang = find_clang(language)?;
    let toolbox = Toolbox::unpack()?;
    let mut compilation = plan::compilation(&clang, &toolbox, directory, arguments)?;
    if let Some(directory) = directory {
        // clang believes PWD where it can.
        let command = &mut compilation.command;
        command.current_dir(directory).env("PWD", directory);
    }
    Ok(compilation)
}

/// The clang command that writes the program as LLVM IR, uninstrumented and unoptimised, to its output. Several sources become one.
pub fn intermediate(
    language: Language,
    options: &[OsString],
    sources: &[PathBuf],
) -> Result<Command, CompilerError> {
    let clang = find_clang(language)?;
    let toolbox = Toolbox::unpack()?;
    let mut command = Command::new(clang);
    command
        .args(["--start-no-unused-arguments", "-g"])
        .args(options)
        .args([
            "-O0",
            "-S",
            "-emit-llvm",
            "-o",
            "-",
            "-D__LANDFALL__=1",
            "-isystem",
        ])
        .arg(toolbox.include());
    if let Some((last, others)) = sources.split_last() {
        for source in others {
            command.arg("-include").arg(source);
        }
        command.arg(last);
    }
    command.arg("--end-no-unused-arguments");
    Ok(command)
}
