//! Who waits is told how far a check has come: on a terminal by a live line with the time it may still take, and anywhere by a line
//! for what is found, for it may be hours until that is told in full.

use super::CheckArgs;
use crate::args::Format;
use crate::screen::{Screen, plain};
use landfall::finding::{Kind, Place};
use landfall::{Observer, Progress};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Who waits no longer than that is told everything soon enough.
const SHORT: Duration = Duration::from_secs(1);
/// Before this a guess at the time left would jump about.
const SETTLED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Watcher {
    /// Where it is said what was found.
    screen: Option<Screen>,
    /// Says what was found early, once the search has taken long.
    speaker: Option<Speaker>,
    /// Somebody looks at a live line.
    live: bool,
}

#[derive(Debug)]
struct Speaker {
    lines: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(crate) fn new(args: &CheckArgs) -> Watcher {
        let spoken = !args.quiet && args.format == Format::Human;
        Watcher {
            screen: spoken.then(|| Screen::new(args.color)),
            speaker: None,
            live: spoken && std::io::stderr().is_terminal(),
        }
    }

    /// Of something that has but a live line.
    pub(crate) fn of_line(wanted: bool) -> Watcher {
        Watcher {
            screen: None,
            speaker: None,
            live: wanted && std::io::stderr().is_terminal(),
        }
    }
}

impl Observer for Watcher {
    fn progress(&mut self, progress: &Progress) {
        if self.live {
            // Where nobody reads it, nobody misses it.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{}", line(progress));
            let _ = std::io::stderr().flush();
        }
    }

    fn found(&mut self, kind: Kind, at: Option<&Place>, message: &str, after: Duration) {
        let Some(screen) = self.screen else { return };
        let place = at.map_or_else(String::new, |at| format!(" at {}", at.colons()));
        let text = plain(&format!("found[{kind}]{place}: {message}"));
        let seconds = after.as_secs_f64();
        let line = format!("{text} ({seconds:.0} s; told in full at the end)\n");
        let from = Instant::now() + SHORT.saturating_sub(after);
        let speaker = (self.speaker).get_or_insert_with(|| Speaker::new(screen, from));
        if let Some(lines) = &speaker.lines {
            // Where nobody can speak, all is told in the end.
            let _ = lines.send(line);
        }
    }

    fn remark(&mut self, text: &str) {
        eprintln!("landfall: {text}");
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

/// How far it is, in a line; nothing when a part is done.
fn line(progress: &Progress) -> String {
    match *progress {
        Progress::PowerFailures {
            executions,
            behaviours,
            tried,
            known,
            elapsed,
        } => {
            let known = known.max(1);
            let percent = 100 * tried / known;
            let left = match tried {
                1.. if elapsed >= SETTLED => {
                    let left = elapsed.as_secs_f64() * (known - tried) as f64 / tried as f64;
                    format!(", about {} left", time(left))
                }
                _ => String::new(),
            };
            format!(
                "{executions} executions, {behaviours} behaviours, power failures {tried}/{known} ({percent} %){left}"
            )
        }
        Progress::Schedules {
            share,
            estimate,
            work,
            elapsed,
        } => {
            let percent = (share * 100.0).min(100.0) as u32;
            let left = match work {
                work if work > 0.0 && elapsed >= SETTLED => {
                    let left = elapsed.as_secs_f64() * (1.0 / work - 1.0).max(0.0);
                    format!(", {} left", time(left))
                }
                _ => String::new(),
            };
            format!("[ {percent}% of ~{} schedules{left} ]", estimate.round())
        }
        Progress::Loops { rounds } => format!("loops up to {rounds} …"),
        Progress::Done => String::new(),
    }
}

fn time(seconds: f64) -> String {
    match seconds as u64 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_far_and_how_long() {
        let crashes = |elapsed| Progress::PowerFailures {
            executions: 12,
            behaviours: 7,
            tried: 1,
            known: 4,
            elapsed,
        };
        let expected =
            "12 executions, 7 behaviours, power failures 1/4 (25 %), about 1:30 min left";
        assert_eq!(line(&crashes(Duration::from_secs(30))), expected);
        assert!(!line(&crashes(Duration::from_millis(1))).contains("left"));
        assert_eq!(time(7260.0), "2:01 h");
        let schedules = |seconds| {
            line(&Progress::Schedules {
                share: 0.344,
                estimate: 150.2,
                work: 0.5,
                elapsed: Duration::from_secs(seconds),
            })
        };
        assert_eq!(schedules(12), "[ 34% of ~150 schedules, 12 s left ]");
        assert_eq!(schedules(0), "[ 34% of ~150 schedules ]");
        assert_eq!(time(90.0), "1:30 min");
    }
}
