//! `landfall fix`: findings become a patch. Every patch that is shown was built and checked before.

use crate::check::Watcher;
use crate::exit::Exit;
use landfall::{FixOptions, Fixed};
use std::path::PathBuf;

/// Turns the findings of a check into a patch, and checks the patch.
///
/// Each finding is repaired in a copy in the way the file already flushes and fences; the copy is built and checked, and the
/// patch is printed only if the finding is gone and none is new. Where blocks of the persistent heap lie is luck, so it is
/// checked with all of them moved, too. Nothing is removed without --perf. Exit code: 0 all findings are repaired, 100 some are not (they are
/// named, with the reason), 101 the program did not build, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct FixArgs {
    /// The --out directory of a check, or its run.json
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Write the patch into the files (the old ones stay as FILE.orig), and check again
    #[arg(long)]
    apply: bool,

    /// Also remove flushes and fences that do nothing
    #[arg(long)]
    perf: bool,

    /// How to make memory durable, with {addr} and {size} [default: as the file does it]
    #[arg(long, value_name = "CODE")]
    template: Option<String>,

    /// How to build the program, where the check was given one that was built before
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
}

pub(crate) fn run(args: &FixArgs) -> Exit {
    // The check that runs at that time ends by itself, and what was made for it is removed.
    landfall::watch_interrupts();
    let options = FixOptions {
        apply: args.apply,
        perf: args.perf,
        template: args.template.clone(),
        build: args.build.clone(),
    };
    match landfall::fix(&args.run, &options, &mut Watcher::of_line(true)) {
        Ok(fixed) => print(args, &fixed),
        Err(error) => {
            eprintln!("landfall: {error}");
            error.kind().into()
        }
    }
}

fn print(args: &FixArgs, fixed: &Fixed) -> Exit {
    if !fixed.wanted {
        eprintln!(
            "{}: nothing to repair",
            landfall::run_file(&args.run).display()
        );
        return Exit::Clean;
    }
    for step in &fixed.steps {
        eprintln!("{step}");
    }
    for diff in &fixed.diffs {
        print!("{diff}");
    }
    for (title, why) in &fixed.stuck {
        eprintln!("{title} stuck: {why}");
    }
    for line in &fixed.written {
        eprintln!("{line}");
    }
    if let Some(why) = &fixed.failed {
        eprintln!("landfall: {why}");
        return Exit::Usage;
    }
    let (left, also) = (remaining(fixed.left), &fixed.also);
    if !fixed.written.is_empty() {
        eprintln!("checked again: {left}{also}");
    } else if !fixed.diffs.is_empty() {
        eprintln!("checked: with this patch {left}{also}");
        eprintln!("`landfall fix {} --apply` writes it", args.run.display());
    }
    match fixed.left {
        0 => Exit::Clean,
        _ => Exit::Findings,
    }
}

fn remaining(left: usize) -> String {
    match left {
        0 => "the check is clean".to_owned(),
        1 => "1 finding remains".to_owned(),
        n => format!("{n} findings remain"),
    }
}
