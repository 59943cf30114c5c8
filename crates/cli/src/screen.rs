//! Standard output and standard error. A reader that went away (`landfall litmus … | head`) is no error: what it did
//! not want to see is dropped, and the exit code still tells the verdict.

use crate::args::Colour;
use anstream::{AutoStream, ColorChoice};
pub(crate) use landfall::finding::text::plain;
use std::io::{self, IsTerminal, Write};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen(ColorChoice);

impl Screen {
    pub(crate) fn new(colour: Colour) -> Screen {
        Screen(colour.into())
    }

    /// Prints text whose colours are dropped where nobody would see them.
    pub(crate) fn out(self, text: &str) -> io::Result<()> {
        let mut out = AutoStream::new(io::stdout().lock(), self.0);
        gone_is_fine(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Columns that there are: of the terminal, or as COLUMNS says where there is none. Less than 40 is nothing to write in.
    pub(crate) fn width(self) -> Option<usize> {
        let said = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = match io::stdout().is_terminal() {
            true => terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into()),
            false => said(),
        };
        width.map(|width: usize| width.max(40))
    }

    pub(crate) fn err(self, text: &str) {
        // Where even the error stream is closed there is nobody left to tell.
        let _ = AutoStream::new(io::stderr().lock(), self.0).write_all(text.as_bytes());
    }
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
