//! `landfall check`: reads the options, watches the check, prints what was found.

mod args;
mod fit;
mod flags;
pub(crate) mod render;
mod sealing;
mod settings;
mod summary;
mod watcher;

pub(crate) use args::{CheckArgs, duration};
pub(crate) use flags::take as take_compiler_flags;
pub(crate) use settings::with_settings;
pub(crate) use watcher::Watcher;

use crate::exit::Exit;

pub(crate) fn run(args: &CheckArgs) -> Exit {
    landfall::watch_interrupts();
    // What is no text is not written down.
    let words = std::env::args_os().skip(1).map(|word| word.into_string());
    let words = words.collect::<Result<Vec<_>, _>>().unwrap_or_default();
    let mut watcher = Watcher::new(args);
    let checked = landfall::check(&args.target(), &args.options(words), &mut watcher);
    drop(watcher);
    match checked {
        Ok(run) => summary::print(&run, args),
        Err(error) => {
            eprintln!("landfall: {error}");
            error.kind().into()
        }
    }
}
