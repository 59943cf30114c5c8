//! `landfall replay`: a found bug once more, from scratch, told event by event.

use crate::args::Colour;
use crate::exit::Exit;
use crate::screen::Screen;
use landfall::Error;
use std::path::PathBuf;

/// Runs a found bug again, and tells what happens.
///
/// BUG is a file that `landfall check` left in its output directory. Everything is run from scratch: the program, each power
/// failure, the recovery. Exit code: 100 the same failure happened, 102 something else happened (the first difference is
/// named), 2 the file or the program cannot be used.
#[derive(clap::Args, Debug)]
pub(crate) struct ReplayArgs {
    /// A bug found by `landfall check`: landfall-out/B1.json
    #[arg(value_name = "BUG")]
    bug: PathBuf,

    /// Open gdb on the failing execution, at the point where it fails
    #[arg(long)]
    gdb: bool,

    /// With --gdb: a command for gdb, instead of its prompt (more than one in this order)
    #[arg(long, value_name = "COMMAND", requires = "gdb")]
    ex: Vec<String>,

    /// Tell every event
    #[arg(short, long)]
    verbose: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
}

pub(crate) fn run(args: &ReplayArgs) -> Exit {
    match replay(args) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("landfall: {error}");
            Exit::Usage
        }
    }
}

fn replay(args: &ReplayArgs) -> Result<Exit, Error> {
    let again = landfall::replay(&args.bug)?;
    if args.gdb {
        if let Some(difference) = again.difference() {
            eprintln!("landfall: not the same: {difference}");
            return Ok(Exit::Uncontrolled);
        }
        again.debug(&args.ex)?;
        return Ok(Exit::Findings);
    }
    let screen = Screen::new(args.color);
    let name = args.bug.display();
    let (last, exit) = match again.difference() {
        None => (
            format!("reproduced: the same failure as in {name}\n"),
            Exit::Findings,
        ),
        Some(_) => (String::new(), Exit::Uncontrolled),
    };
    if let Err(error) = screen.out(&(again.text(args.verbose) + &last)) {
        screen.err(&format!("landfall: standard output: {error}\n"));
        return Ok(Exit::Internal);
    }
    if let Some(difference) = again.difference() {
        let bug = std::fs::canonicalize(&args.bug).unwrap_or_else(|_| args.bug.clone());
        screen.err(&format!(
            "landfall: {}: not the same: {difference}\n",
            bug.display()
        ));
    }
    Ok(exit)
}
