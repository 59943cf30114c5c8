//! Names for what is a number in a trace: source positions, call stacks, parts of persistent memory.

use crate::sources::SourceTexts;
use landfall_finding::{Member, Place};
use landfall_native::members::{CalledFunction, FunctionAt, Members, StackVariable};
use landfall_native::{
    Activation, ClientScript, Execution, Origin, Position, Record, RecordKind, Server, Sites,
    Symbols,
};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A position, with its path as somebody in that directory would write it.
pub(crate) fn place_at(at: &Position, here: &Path) -> Place {
    let file = match landfall_native::compiler::pmdk::library(&at.file) {
        Some(_) => without_detours(&at.file),
        // Compilers find their own headers by detours.
        None if at.file.starts_with("/usr/") => without_detours(&at.file),
        None => at.file.clone(),
    };
    let relative = Path::new(&file).strip_prefix(here);
    let file = relative.map_or_else(|_| file.clone(), |path| path.display().to_string());
    Place {
        // `__FILE__` is what was typed; debug information leaves it out.
        file: file.trim_start_matches("./").to_owned(),
        line: at.line,
        column: at.column,
        function: at.function.clone(),
    }
}

/// `a/b/../c` as `a/c`: makefiles find their way so. Not where a directory may be a link.
fn without_detours(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// In the same function, whose name may come with its parameters there.
fn same_function(place: &Place, frame: &Place) -> bool {
    let rest = frame.function.strip_prefix(place.function.as_str());
    place.file == frame.file && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

/// To a member: the function, its variable, and the members that lead from it.
type Lead = (String, String, Vec<String>);

/// What one server knows about the addresses and sites of its runs.
#[derive(Debug)]
pub(crate) struct ProgramNames {
    sites: Sites,
    pub(crate) symbols: Symbols,
    /// Paths are told as from there.
    here: PathBuf,
    client: Option<ClientScript>,
    /// Read when first asked for.
    members: OnceCell<Option<Members>>,
    /// Source files, read when first asked for.
    files: RefCell<HashMap<String, Option<landfall_repair::StoresOfFile>>>,
    named: RefCell<HashMap<Lead, Option<Member>>>,
    /// By addresses of code in the executable's file.
    functions: RefCell<HashMap<u64, Option<FunctionAt>>>,
    /// Names of variables that are always there, read when first asked for.
    always: RefCell<Option<HashSet<String>>>,
    /// By a return address, how far from the stack pointer there, and where the frame is.
    locals: RefCell<HashMap<(u64, u64, u64), Option<StackVariable>>>,
}

impl ProgramNames {
    pub(crate) fn of(server: &Server) -> ProgramNames {
        ProgramNames {
            sites: server.sites().clone(),
            symbols: server.symbols(),
            here: server.directory(),
            client: server.client().cloned(),
            members: OnceCell::new(),
            files: RefCell::default(),
            named: RefCell::default(),
            functions: RefCell::default(),
            always: RefCell::default(),
            locals: RefCell::default(),
        }
    }

    /// Who talks to the program.
    pub(crate) fn client(&self) -> Option<&ClientScript> {
        self.client.as_ref()
    }

    /// A line of the client's script.
    pub(crate) fn client_line(&self, line: u32) -> Option<Place> {
        let script = self.client.as_ref()?;
        Some(self.at(&Position {
            file: script.path.display().to_string(),
            line,
            column: 1,
            function: String::new(),
        }))
    }

    /// The text of the sources that places are in.
    pub(crate) fn sources(&self) -> SourceTexts {
        SourceTexts::new(self.here.clone())
    }

    /// A position as a place.
    pub(crate) fn at(&self, at: &Position) -> Place {
        place_at(at, &self.here)
    }

    /// What stands there in the source.
    pub(crate) fn source_line(&self, at: &Place) -> Option<String> {
        let text = std::fs::read_to_string(self.here.join(&at.file)).ok()?;
        let line = text.lines().nth(at.line.checked_sub(1)? as usize)?;
        Some(landfall_finding::text::plain(line.trim()))
    }

    /// The member that the store at a place of the source stores to.
    pub(crate) fn member(&self, at: &Place) -> Option<Member> {
        let mut files = self.files.borrow_mut();
        let file = files.entry(at.file.clone()).or_insert_with(|| {
            let language = match at.file.ends_with(".c") {
                true => landfall_repair::SourceLanguage::C,
                false => landfall_repair::SourceLanguage::Cxx,
            };
            let text = std::fs::read_to_string(self.here.join(&at.file)).ok()?;
            landfall_repair::StoresOfFile::of(text, language)
        });
        let path = file.as_ref()?.path(landfall_repair::Place {
            line: at.line,
            column: at.column,
        })?;
        let key = (at.function.clone(), path.variable, path.members);
        let mut named = self.named.borrow_mut();
        let member = named.entry(key).or_insert_with_key(|key| {
            let members = self.members.get_or_init(|| self.symbols.members());
            let found = members.as_ref()?.member(&landfall_native::members::Path {
                function: &key.0,
                variable: &key.1,
                members: &key.2,
            })?;
            Some(Member {
                of: found.of,
                name: found.name,
                offset: found.offset,
                size: found.size,
                declared: found.declared.map(|(file, line)| {
                    self.at(&Position {
                        file,
                        line,
                        column: 0,
                        function: String::new(),
                    })
                }),
            })
        });
        member.clone()
    }

    /// The part of a variable at this address: `fork[2]`, `queue.head`.
    pub(crate) fn variable(&self, address: u64) -> Option<String> {
        let name = self.symbols.variable(address)?;
        let members = self.members.get_or_init(|| self.symbols.members());
        let part = members
            .as_ref()
            .and_then(|members| self.symbols.part_of_variable(address, members));
        let Some(part) = part else {
            return Some(name);
        };
        // `app::box` and `f.counter` say more than `box` and `counter`.
        let short = part.split(['.', '[', '+']).next().unwrap_or(&part);
        Some(match name.strip_suffix(short) {
            Some(scope) => format!("{scope}{part}"),
            None => part,
        })
    }

    /// Has the program a variable of this name that is always there?
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        let members = self.members.get_or_init(|| self.symbols.members());
        let mut known = self.always.borrow_mut();
        let known = known.get_or_insert_with(|| {
            let members = members.as_ref();
            members.map_or_else(HashSet::new, Members::variables)
        });
        known.contains(name)
    }

    /// What of the stack of a function, while it is being called, lies at an address: one of its variables, or something without a
    /// name.
    pub(crate) fn local(&self, activation: &Activation, address: u64) -> Option<StackVariable> {
        let key = (
            activation.code,
            address.wrapping_sub(activation.pointer),
            activation.frame.wrapping_sub(activation.pointer),
        );
        if let Some(known) = self.locals.borrow().get(&key) {
            return known.clone();
        }
        let found = self.find_local(activation, address);
        self.locals.borrow_mut().insert(key, found.clone());
        found
    }

    fn find_local(&self, activation: &Activation, address: u64) -> Option<StackVariable> {
        let members = self
            .members
            .get_or_init(|| self.symbols.members())
            .as_ref()?;
        let at = self.symbols.in_file(activation.code)?.checked_sub(1)?;
        let mut functions = self.functions.borrow_mut();
        let function = functions
            .entry(at)
            .or_insert_with(|| members.function_at(at));
        let called = CalledFunction {
            at,
            stack_pointer: activation.pointer,
            frame_pointer: (activation.frame != 0).then_some(activation.frame),
        };
        members.local((*function)?, &called, address)
    }

    /// The function that is being called there.
    pub(crate) fn function_called(&self, activation: &Activation) -> Option<String> {
        let members = self
            .members
            .get_or_init(|| self.symbols.members())
            .as_ref()?;
        let at = self.symbols.in_file(activation.code)?.checked_sub(1)?;
        let mut functions = self.functions.borrow_mut();
        let function = functions
            .entry(at)
            .or_insert_with(|| members.function_at(at));
        members.name_of((*function)?)
    }

    /// What leads from an object of that type, or from the first of several, to a byte: `->stop_`, `[2].next`.
    pub(crate) fn part_of_type(&self, of: &str, offset: u64) -> Option<String> {
        let members = self
            .members
            .get_or_init(|| self.symbols.members())
            .as_ref()?;
        let at = members.type_named(of)?;
        let size = members.size_of(at).filter(|&size| size > 0)?;
        let path = members.path(at, offset % size);
        Some(match (offset / size, path.strip_prefix('.')) {
            (0, Some(member)) => format!("->{member}"),
            (0, None) => path,
            (index, _) => format!("[{index}]{path}"),
        })
    }

    /// Where in the source an event comes from: for library functions, the call.
    pub(crate) fn place(&self, event: &Record) -> Option<Place> {
        self.origin(event.origin)
    }

    pub(crate) fn origin(&self, origin: Origin) -> Option<Place> {
        let at = self.sites.position(origin).cloned();
        let at = at.or_else(|| self.symbols.caller(origin.caller))?;
        (at.line > 0).then(|| place_at(&at, &self.here))
    }

    /// Every place that could tell of an access.
    pub(crate) fn instrumented(&self) -> impl Iterator<Item = Place> + '_ {
        self.sites.positions().map(|at| self.at(at))
    }

    pub(crate) fn site(&self, site: u32) -> Option<Place> {
        let origin = landfall_native::Origin { site, caller: 0 };
        self.sites.position(origin).map(|at| self.at(at))
    }

    /// The library function that caused an event, if one did.
    pub(crate) fn library(&self, event: &Record) -> Option<&str> {
        self.function(event.origin)
    }

    /// Its name, as the source has it.
    pub(crate) fn function(&self, origin: Origin) -> Option<&str> {
        self.sites.library(origin)
    }

    /// Return addresses as places, innermost first; what has no line in the source is left out.
    pub(crate) fn frames(&self, stack: &[u64]) -> Vec<Place> {
        let known = |frame: &u64| self.symbols.return_addresses(*frame);
        stack
            .iter()
            .flat_map(known)
            .filter(|at| at.line > 0)
            .map(|at| self.at(&at))
            .collect()
    }

    /// The call stack at an event of an execution that was run with stacks: the innermost frame is the event's own place.
    pub(crate) fn stack_at(&self, execution: &Execution, at: usize) -> Vec<Place> {
        let before = || execution.events[..at].iter().rev();
        let step = before().find(|event| event.kind == RecordKind::Step);
        // What leaves a store buffer was called from elsewhere, long ago.
        let buffered = step.is_some_and(Record::is_of_store_buffer);
        let stack = before().find(|event| event.kind == RecordKind::Stack && !buffered);
        let stack = stack.and_then(|event| execution.stacks.get(event.value as usize));
        let mut frames = self.frames(stack.map_or(&[][..], Vec::as_slice));
        let event = execution.events.get(at);
        let event = event.filter(|event| !event.kind.is_aside());
        if let Some(place) = event.and_then(|event| self.place(event)) {
            // The innermost return address lies in the function itself, after the event.
            match frames.first_mut() {
                Some(first) if same_function(&place, first) => {
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
