//! One line on the terminal while a long run goes on; gone when it ends, and never in a pipe or a log.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shorter runs need no line: it would only flicker.
const PATIENCE: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(100);
const ERASE: &str = "\r\x1b[K";

#[derive(Debug)]
pub(super) struct LitmusProgress {
    total: usize,
    started: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl LitmusProgress {
    pub(super) fn new(total: usize) -> LitmusProgress {
        LitmusProgress {
            total,
            started: Instant::now(),
            shown: None,
            terminal: io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&mut self, done: usize) {
        let pace = self.shown.is_none_or(|shown| shown.elapsed() >= PACE);
        if self.terminal && pace && self.started.elapsed() >= PATIENCE {
            self.shown = Some(Instant::now());
            // Progress that cannot be shown is not worth an error.
            let _ = write!(io::stderr(), "{ERASE}{done} of {} tests …", self.total);
        }
    }
}

impl Drop for LitmusProgress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "{ERASE}");
        }
    }
}
