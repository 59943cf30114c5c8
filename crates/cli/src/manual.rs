//! `landfall man` and `landfall completions`: made from the same table as `--help`, so that they cannot say anything else.

use crate::exit::Exit;
use anyhow::Context;
use clap::CommandFactory;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The manual page, or all pages into a directory
///
/// Without DIR, landfall(1) goes to standard output: `landfall man | man -l -`. With DIR, there is also one page per command.
#[derive(clap::Args, Debug)]
pub(crate) struct Man {
    /// Where to put landfall.1, landfall-check.1 …
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Completions for a shell, on standard output
///
/// For bash: `landfall completions bash > ~/.local/share/bash-completion/completions/landfall`.
#[derive(clap::Args, Debug)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn man(options: &Man) -> Exit {
    let written = match &options.directory {
        Some(directory) => pages(directory),
        None => page(),
    };
    match written {
        Ok(()) => Exit::Clean,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

fn page() -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(crate::args::Args::command().disable_help_subcommand(true))
        .render(&mut text)?;
    out(&text)
}

fn pages(directory: &Path) -> anyhow::Result<()> {
    let place = || directory.display().to_string();
    std::fs::create_dir_all(directory).with_context(place)?;
    clap_mangen::generate_to(crate::args::Args::command(), directory).with_context(place)
}

pub(crate) fn completions(options: &Completions) -> Exit {
    let mut text = Vec::new();
    let mut command = crate::args::Args::command();
    clap_complete::generate(options.shell, &mut command, "landfall", &mut text);
    match out(&text) {
        Ok(()) => Exit::Clean,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

/// A reader that went away is no error.
fn out(text: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
