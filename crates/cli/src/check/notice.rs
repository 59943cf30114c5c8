//! What is found is said at once, in a line each, where a search takes long: it may be hours until it is told in full.

use super::finding::{failing_place, kind, what};
use super::options::Check;
use crate::args::Format;
use crate::names::{Names, Place};
use crate::screen::{Screen, plain};
use landfall_native::{Execution, Server};
use std::collections::HashSet;
use std::io::IsTerminal;
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
        let passed = self.started.elapsed();
        if passed < SHORT || self.said.len() >= MOST || !self.said.insert((kind, place.clone())) {
            return;
        }
        if let Some(screen) = self.screen {
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            let seconds = passed.as_secs_f64();
            let text = plain(&format!("found[{kind}]{place}: {message}"));
            // In place of the line that tells how far the search is.
            let clear = match std::io::stderr().is_terminal() {
                true => "\r\x1b[2K",
                false => "",
            };
            screen.err(&format!(
                "{clear}{text} ({seconds:.0} s; told in full at the end)\n"
            ));
        }
    }
}
