//! What is found is said at once, in a line each, where a search takes long: it may be hours until it is told in full.

use super::finding::{failing_place, kind, what};
use super::options::Check;
use crate::args::Format;
use crate::names::{Names, Place};
use crate::screen::{Screen, plain};
use landfall_native::{Execution, Server};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Who waits no longer than that is told everything soon enough.
const SHORT: Duration = Duration::from_secs(1);
/// More lines nobody reads while they wait.
const MOST: usize = 50;

#[derive(Debug)]
pub(super) struct Notices {
    screen: Option<Screen>,
    pub(super) names: Names,
    started: Instant,
    said: HashSet<(&'static str, Option<String>)>,
    /// Says what was found early, once the search has taken long.
    speaker: Option<Speaker>,
}

#[derive(Debug)]
struct Speaker {
    lines: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Notices {
    /// Of a search that runs this program.
    pub(super) fn new(options: &Check, server: &Server, started: Instant) -> Notices {
        let spoken = !options.quiet && options.format == Format::Human;
        Notices {
            screen: spoken.then(|| Screen::new(options.color)),
            names: Names::of(server),
            started,
            said: HashSet::new(),
            speaker: None,
        }
    }

    /// A recovery failed.
    pub(super) fn failed(&mut self, execution: &Execution) {
        if self.screen.is_some() && self.said.len() < MOST {
            let at = failing_place(execution, &self.names);
            let what = what(&execution.outcome, &self.names);
            let message = format!("recovery fails: {what}");
            self.say(kind(&execution.outcome), at.as_ref(), &message);
        }
    }

    /// Says it, unless it was said or all will be told soon.
    pub(super) fn say(&mut self, kind: &'static str, at: Option<&Place>, message: &str) {
        let place = at.map(Place::colons);
        let Some(screen) = self.screen else { return };
        if self.said.len() >= MOST || !self.said.insert((kind, place.clone())) {
            return;
        }
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        let seconds = self.started.elapsed().as_secs_f64();
        let text = plain(&format!("found[{kind}]{place}: {message}"));
        let line = format!("{text} ({seconds:.0} s; told in full at the end)\n");
        let from = self.started + SHORT;
        let speaker = (self.speaker).get_or_insert_with(|| Speaker::new(screen, from));
        if let Some(lines) = &speaker.lines {
            // Where nobody can speak, all is told in the end.
            let _ = lines.send(line);
        }
    }
}

impl Speaker {
    fn new(screen: Screen, from: Instant) -> Speaker {
        let (lines, heard) = channel();
        let speak = move || speak(screen, from, &heard);
        Speaker {
            lines: Some(lines),
            thread: std::thread::Builder::new().spawn(speak).ok(),
        }
    }
}

impl Drop for Speaker {
    /// The search is over: nothing is said any more.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Holds lines back until the search has taken long; if it ends before, they are not needed.
fn speak(screen: Screen, from: Instant, lines: &Receiver<String>) {
    let mut early = Vec::new();
    loop {
        let left = from.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => early.push(line),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    // In place of the line that tells how far the search is.
    let clear = match std::io::stderr().is_terminal() {
        true => "\r\x1b[2K",
        false => "",
    };
    for line in early.into_iter().chain(lines) {
        screen.err(&format!("{clear}{line}"));
    }
}
