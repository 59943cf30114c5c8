//! Executions, what recoveries read of them, and the verdict: one file each under `tests/cases`. The thesis's own examples
//! (Gorjiara 2022) are `figure-*`; the others are ours.

use crate::support::{Doing, Program, Tree, piece};
use landfall_check::checker::Fate;
use landfall_check::finding::{At, Finding, Fix, Kind, Window};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Races, Robustness, Wasted, races, walk};
use landfall_model::event::{Action, Atomicity, Event, EventId, Fence, FirstRead, How, Mark, Read};
use landfall_model::image::Image;
use landfall_model::line::Addr;
use landfall_model::order::Platform;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;

/// A statement of an execution or a recovery, with its number as the site.
#[derive(Clone, Debug)]
struct Statement {
    thread: u16,
    site: u32,
    text: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Store(String, u64, How, Atomicity),
    /// Whatever the newest store of another thread to the variable is.
    Observe(String),
    Clflush(String),
    Clwb(String),
    Fence(Fence),
    Read(String),
    StopUnless(String, u64),
    Mark(Mark),
    /// Accepted if the variable has this value, else rejected.
    AcceptIf(String, u64),
}

#[derive(Debug, Default)]
struct Case {
    variables: BTreeMap<String, u64>,
    run: Vec<Statement>,
    /// By the number of failures.
    recover: BTreeMap<usize, Vec<Statement>>,
    judge: Vec<String>,
    cut_at_end: bool,
    failures: usize,
    expected: String,
}

fn what(words: &[&str]) -> What {
    let mark = |mark| What::Mark(mark);
    match *words {
        [name, eq, value] if eq.starts_with('=') && eq != "==" => {
            let (how, atomic) = match eq {
                "=" => (How::Cached, Atomicity::Plain),
                "=relaxed" => (How::Cached, Atomicity::Relaxed),
                "=release" => (How::Cached, Atomicity::Release),
                "=nt" => (How::NonTemporal, Atomicity::Relaxed),
                "=at-once" => (How::AtOnce, Atomicity::Plain),
                _ => panic!("unknown store {eq}"),
            };
            What::Store(name.into(), value.parse().unwrap(), how, atomic)
        }
        ["observe", name] => What::Observe(name.into()),
        ["clflush", name] => What::Clflush(name.into()),
        ["clwb", name] => What::Clwb(name.into()),
        ["sfence"] => What::Fence(Fence::Store),
        ["mfence"] => What::Fence(Fence::Full),
        ["read", name] => What::Read(name.into()),
        ["stop", "unless", name, "==", value] => {
            What::StopUnless(name.into(), value.parse().unwrap())
        }
        ["checksum", "begin"] => mark(Mark::ChecksumBegin),
        ["checksum", "accept", "if", name, "==", value] => {
            What::AcceptIf(name.into(), value.parse().unwrap())
        }
        ["ignore", "begin"] => mark(Mark::IgnoreBegin),
        ["ignore", "end"] => mark(Mark::IgnoreEnd),
        _ => panic!("cannot read {words:?}"),
    }
}

impl Case {
    fn parse(text: &str) -> Case {
        let mut case = Case {
            failures: 1,
            ..Case::default()
        };
        let mut section = String::new();
        let mut sites = 0;
        for line in text.lines() {
            if section == "expect" {
                case.expected += line;
                case.expected.push('\n');
                continue;
            }
            let line = line.split('#').next().unwrap().trim();
            if line.is_empty() {
                continue;
            }
            if let Some((key, value)) = line.split_once(':')
                && !key.trim().chars().all(|c| c.is_ascii_digit())
            {
                match (key, value.trim()) {
                    ("lines", value) => {
                        for (number, line) in value.split('|').enumerate() {
                            for (at, name) in line.split_whitespace().enumerate() {
                                // `name@8` puts it somewhere else in its line.
                                let (name, at) = match name.split_once('@') {
                                    Some((name, at)) => (name, at.parse().unwrap()),
                                    None => (name, at as u64 * 8),
                                };
                                let address = number as u64 * 64 + at;
                                case.variables.insert(name.into(), address);
                            }
                        }
                    }
                    ("cut", "end") => case.cut_at_end = true,
                    ("judge", value) => {
                        case.judge = value.split(',').map(|w| w.trim().into()).collect();
                    }
                    (name, "") => section = name.into(),
                    _ => panic!("unknown setting {line}"),
                }
                continue;
            }
            let (thread, text) = match line.split_once(':') {
                Some((thread, text)) => (thread.trim().parse().unwrap(), text.trim()),
                None => (0, line),
            };
            let words: Vec<&str> = text.split_whitespace().collect();
            sites += 1;
            let statement = Statement {
                thread,
                site: sites,
                text: words.join(" "),
                what: what(&words),
            };
            match section.as_str() {
                "run" => case.run.push(statement),
                "recover" => case.recover.entry(1).or_default().push(statement),
                "recover again" => {
                    case.failures = 2;
                    case.recover.entry(2).or_default().push(statement);
                }
                other => panic!("unknown section {other}"),
            }
        }
        case
    }

    /// The event of a statement that is one.
    fn event(&self, statement: &Statement, before: &[Event]) -> Option<Event> {
        let address = |name: &String| self.variables[name];
        let line = |name: &String| Addr(address(name)).line();
        let action = match &statement.what {
            What::Store(name, value, how, atomic) => Action::Store {
                piece: piece(address(name), &value.to_le_bytes()),
                how: *how,
                atomic: *atomic,
            },
            What::Observe(name) => {
                let stores = |e: &Event| e.piece().is_some_and(|p| p.addr.0 == address(name));
                let event = before.iter().rposition(stores).unwrap() as u32;
                Action::Observe {
                    event: EventId(event),
                }
            }
            What::Clflush(name) => Action::Clflush(line(name)),
            What::Clwb(name) => Action::Clwb(line(name)),
            What::Fence(fence) => Action::Fence(*fence),
            _ => return None,
        };
        Some(Event {
            thread: statement.thread,
            site: statement.site,
            ..Event::new(action)
        })
    }

    fn first(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for statement in &self.run {
            let event = self.event(statement, &events);
            events.extend(event);
        }
        events
    }

    fn text(&self, site: u32) -> &str {
        let all = self.run.iter().chain(self.recover.values().flatten());
        all.into_iter()
            .find(|s| s.site == site)
            .map_or("?", |s| &s.text)
    }

    fn name(&self, addr: Addr) -> &str {
        let named = self.variables.iter().find(|(_, a)| **a == addr.0);
        named.map_or("?", |(name, _)| name)
    }
}

impl Program for Case {
    fn resume(&self, failures: usize, values: &[u64]) -> Doing {
        let mut doing = Doing::default();
        let mut known: BTreeMap<&str, u64> = BTreeMap::new();
        let mut values = values.iter();
        for statement in self.recover.get(&failures).into_iter().flatten() {
            match &statement.what {
                What::Read(name) | What::StopUnless(name, _) | What::AcceptIf(name, _) => {
                    if !known.contains_key(name.as_str()) {
                        let word = Addr(self.variables[name]);
                        let Some(&value) = values.next() else {
                            doing.next = Some((word, 0xff));
                            return doing;
                        };
                        known.insert(name, value);
                        doing.marks.clear();
                        let read = FirstRead { word, mask: 0xff };
                        doing.events.push(Event {
                            thread: statement.thread,
                            site: statement.site,
                            ..Event::read(Read { read, value })
                        });
                    }
                    let value = known[name.as_str()];
                    match statement.what {
                        What::StopUnless(_, wanted) if value != wanted => return doing,
                        What::AcceptIf(_, wanted) => doing.marks.push(if value == wanted {
                            Mark::ChecksumAccepted
                        } else {
                            Mark::ChecksumRejected
                        }),
                        _ => {}
                    }
                }
                What::Mark(mark) => doing.marks.push(*mark),
                other => {
                    if let What::Store(name, value, ..) = other {
                        known.insert(name, *value);
                    }
                    let event = self.event(statement, &doing.events);
                    doing.events.extend(event);
                }
            }
        }
        doing
    }
}

impl Case {
    fn render(&self, executions: &[Vec<Event>], name: &str, finding: &Finding, out: &mut String) {
        let store = |at: At| self.text(executions[at.execution][at.event.index()].site);
        let _ = match finding.kind {
            Kind::Robustness {
                lost,
                kept,
                reading,
            } => writeln!(
                out,
                "{name}: lost `{}` kept `{}` {reading:?}",
                store(lost),
                store(kept)
            ),
            Kind::PersistencyRace { store: at, .. } => writeln!(out, "{name}: `{}`", store(at)),
            Kind::MissingSnapshot { store: at, why } => {
                writeln!(out, "{name}: `{}` {why:?}", store(at))
            }
            Kind::RedundantFlush { site, why } => {
                writeln!(
                    out,
                    "{name}: `{}` {why:?} x{}",
                    self.text(site),
                    finding.times
                )
            }
            Kind::RedundantFence { site, why } => {
                writeln!(
                    out,
                    "{name}: `{}` {why:?} x{}",
                    self.text(site),
                    finding.times
                )
            }
        };
        for fix in &finding.fixes {
            let between = |w: &Window| {
                let event = |event| At {
                    execution: w.execution,
                    event,
                    entry: 0,
                    site: 0,
                };
                let rank = if w.primary { "primary" } else { "secondary" };
                format!(
                    "after `{}` before `{}` ({rank})",
                    store(event(w.after)),
                    store(event(w.before))
                )
            };
            let _ = match fix {
                Fix::FlushFence { addr, window, .. } => {
                    writeln!(out, "  flush {} {}", self.name(*addr), between(window))
                }
                Fix::Fence { window } => writeln!(out, "  fence {}", between(window)),
                Fix::CoLocate { apart, .. } => writeln!(out, "  co-locate, {apart} bytes apart"),
                Fix::Align { apart, .. } => writeln!(out, "  align, {apart} bytes apart"),
                Fix::MakeAtomic { addr, .. } => {
                    writeln!(out, "  make {} atomic", self.name(*addr))
                }
            };
        }
    }

    /// What each recovery after the first failure reads, where nobody objects.
    fn outcomes(&self, tree: &Tree<'_, Case>, out: &mut String) {
        for (failures, values) in tree.ended.take() {
            if failures != 1 {
                continue;
            }
            let mut read = Vec::new();
            for count in 0..values.len() {
                let next = self.resume(1, &values[..count]).next;
                read.push(format!("{}={}", self.name(next.unwrap().0), values[count]));
            }
            let _ = writeln!(out, "outcome: {}", read.join(" "));
        }
    }

    fn judged(&self) -> String {
        let events = self.first();
        let (execution, _) = Execution::logged(events.clone(), Platform::Adr);
        let first = Rc::new(execution);
        let end = first.end();
        let cuts = (if self.cut_at_end { end } else { 0 }, end);
        let tree = Tree::new(self, Platform::Adr);
        // Recoveries here do the same whatever they read, as far as findings point into them.
        let values = vec![1; 64];
        let executions = [events.clone(), self.resume(1, &values).events];
        let mut out = String::new();
        for name in &self.judge {
            let mut checker: Box<dyn Checker> = match name.as_str() {
                "robustness" => Box::new(Robustness::default()),
                "races" => Box::new(Races::new(races::Window::Prefix)),
                "races-at-cut" => Box::new(Races::new(races::Window::Cut)),
                "outcomes" => Box::new(Races::default()),
                "flushes" => {
                    let mut wasted = Wasted::default();
                    wasted.logged(&events, Fate::MayCrash);
                    for values in [vec![0; 64], vec![1; 64]] {
                        let mut recovery = self.resume(1, &values).events;
                        recovery.truncate(64);
                        wasted.logged(&recovery, Fate::RunsToItsEnd);
                    }
                    wasted.search_complete();
                    Box::new(wasted)
                }
                other => panic!("unknown checker {other}"),
            };
            let limits = Limits {
                failures: self.failures,
                ..Limits::default()
            };
            let base = Image::default();
            let mut checkers: [&mut dyn Checker; 1] = [&mut *checker];
            let walked = walk(&tree, &base, first.clone(), cuts, limits, &mut checkers);
            assert!(walked.is_complete());
            if name == "outcomes" {
                self.outcomes(&tree, &mut out);
                continue;
            }
            let mut parts: Vec<String> = Vec::new();
            for finding in checker.findings() {
                let mut part = String::new();
                self.render(&executions, name, &finding, &mut part);
                parts.push(part);
            }
            parts.sort();
            if parts.is_empty() {
                let _ = writeln!(out, "{name}: nothing");
            }
            out.extend(parts);
        }
        out
    }
}

#[test]
fn every_case_has_the_verdict_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut failed = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 20, "cases are missing");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let case = Case::parse(&text);
        let found = case.judged();
        if found.trim() != case.expected.trim() {
            // `BLESS=1` writes the verdicts down, to be looked at.
            if std::env::var_os("BLESS").is_some() {
                let (asked, _) = text.split_once("expect:\n").unwrap();
                std::fs::write(&file, format!("{asked}expect:\n{found}")).unwrap();
            }
            failed.push(format!("{}:\n{found}", file.display()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
