//! Names for what is a number in a trace: source positions, call stacks, parts of persistent memory.

use crate::screen::plain;
use landfall_native::members::{Member, Members};
use landfall_native::{Event, Execution, Op, Origin, Position, Server, Sites, Symbols};
use serde_json::{Value, json};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A place in the source, with its path as the user would write it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) function: String,
}

/// The working directory. It does not change once there are places.
fn here() -> &'static Path {
    static HERE: OnceLock<PathBuf> = OnceLock::new();
    HERE.get_or_init(|| std::env::current_dir().unwrap_or_default())
}

impl Place {
    pub(crate) fn new(at: &Position) -> Place {
        let relative = Path::new(&at.file).strip_prefix(here());
        let file = relative.map_or_else(|_| at.file.clone(), |path| path.display().to_string());
        Place {
            // `__FILE__` is what was typed; debug information leaves it out.
            file: file.trim_start_matches("./").to_owned(),
            line: at.line,
            column: at.column,
            function: at.function.clone(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({"file": self.file, "line": self.line, "column": self.column, "function": self.function})
    }

    /// `file:line:column`, or without the column where none is known.
    pub(crate) fn colons(&self) -> String {
        let file = plain(&self.file);
        match self.column {
            0 => format!("{file}:{}", self.line),
            column => format!("{file}:{}:{column}", self.line),
        }
    }

    pub(crate) fn same_line(&self, other: &Place) -> bool {
        self.file == other.file && self.line == other.line
    }

    /// In the same function, whose name may come with its parameters there.
    fn names(&self, frame: &Place) -> bool {
        let rest = frame.function.strip_prefix(self.function.as_str());
        self.file == frame.file && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
    }

    /// How to refer to this place from one in `other`: its line, with its file where that differs.
    pub(crate) fn seen_from(&self, other: Option<&Place>) -> String {
        match other {
            Some(other) if other.file == self.file => format!("line {}", self.line),
            _ => format!("{}:{}", plain(&self.file), self.line),
        }
    }
}

/// To a member: the function, its variable, and the members that lead from it.
type Lead = (String, String, Vec<String>);

/// What one server knows about the addresses and sites of its runs.
#[derive(Debug)]
pub(crate) struct Names {
    sites: Sites,
    pub(crate) symbols: Symbols,
    /// Read when first asked for.
    members: OnceCell<Option<Members>>,
    /// Source files, read when first asked for.
    files: RefCell<HashMap<String, Option<landfall_repair::Stores>>>,
    named: RefCell<HashMap<Lead, Option<Member>>>,
}

impl Names {
    pub(crate) fn of(server: &Server) -> Names {
        Names {
            sites: server.sites().clone(),
            symbols: server.symbols(),
            members: OnceCell::new(),
            files: RefCell::default(),
            named: RefCell::default(),
        }
    }

    /// The member that the store at a place of the source stores to.
    pub(crate) fn member(&self, at: &Place) -> Option<Member> {
        let mut files = self.files.borrow_mut();
        let file = files.entry(at.file.clone()).or_insert_with(|| {
            let language = match at.file.ends_with(".c") {
                true => landfall_repair::Language::C,
                false => landfall_repair::Language::Cxx,
            };
            let text = std::fs::read_to_string(&at.file).ok()?;
            landfall_repair::Stores::of(text, language)
        });
        let path = file.as_ref()?.path(landfall_repair::Place {
            line: at.line,
            column: at.column,
        })?;
        let key = (at.function.clone(), path.variable, path.members);
        let mut named = self.named.borrow_mut();
        let member = named.entry(key).or_insert_with_key(|key| {
            let members = self.members.get_or_init(|| self.symbols.members());
            members.as_ref()?.member(&landfall_native::members::Path {
                function: &key.0,
                variable: &key.1,
                members: &key.2,
            })
        });
        member.clone()
    }

    /// Where in the source an event comes from: for library functions, the call.
    pub(crate) fn place(&self, event: &Event) -> Option<Place> {
        self.origin(event.origin)
    }

    pub(crate) fn origin(&self, origin: Origin) -> Option<Place> {
        let at = self.sites.position(origin).cloned();
        let at = at.or_else(|| self.symbols.caller(origin.caller))?;
        Some(Place::new(&at))
    }

    /// Every place that could tell of an access.
    pub(crate) fn instrumented(&self) -> impl Iterator<Item = Place> + '_ {
        self.sites.positions().iter().map(Place::new)
    }

    pub(crate) fn site(&self, site: u32) -> Option<Place> {
        let origin = landfall_native::Origin { site, caller: 0 };
        self.sites.position(origin).map(Place::new)
    }

    /// The library function that caused an event, if one did.
    pub(crate) fn library(&self, event: &Event) -> Option<&'static str> {
        self.sites.library(event.origin)
    }

    /// Return addresses as places, innermost first; what has no line in the source is left out.
    pub(crate) fn frames(&self, stack: &[u64]) -> Vec<Place> {
        let known = |frame: &u64| self.symbols.return_address(*frame).filter(|at| at.line > 0);
        stack
            .iter()
            .filter_map(known)
            .map(|at| Place::new(&at))
            .collect()
    }

    /// The call stack at an event of an execution that was run with stacks: the innermost frame is the event's own place.
    pub(crate) fn stack_at(&self, execution: &Execution, at: usize) -> Vec<Place> {
        let before = || execution.events[..at].iter().rev();
        let step = before().find(|event| event.op == Op::Step);
        // What leaves a store buffer was called from elsewhere, long ago.
        let buffered = step.is_some_and(Event::is_of_store_buffer);
        let stack = before().find(|event| event.op == Op::Stack && !buffered);
        let stack = stack.and_then(|event| execution.stacks.get(event.value as usize));
        let mut frames = self.frames(stack.map_or(&[][..], Vec::as_slice));
        if let Some(place) = execution.events.get(at).and_then(|event| self.place(event)) {
            // The innermost return address lies in the function itself, after the event.
            match frames.first_mut() {
                Some(first) if place.names(first) => {
                    (first.line, first.column) = (place.line, place.column);
                }
                _ => frames.insert(0, place),
            }
        }
        frames
    }
}

/// A place in persistent memory, by the part it lies in.
pub(crate) fn address(offset: u64) -> String {
    let (name, within) = landfall_native::part_of_memory(offset);
    format!("{name}+{within:#x}")
}
