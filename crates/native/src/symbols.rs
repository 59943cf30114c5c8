//! Source positions of code addresses, from the debug information of the program and its libraries.

use crate::schedule::is_called;
use crate::sites::Position;
use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// One file mapped into a server.
#[derive(Debug)]
struct Mapped {
    start: u64,
    end: u64,
    /// Where the file's address zero lies.
    bias: u64,
    path: String,
}

/// Looks code addresses up; files are read when first needed.
pub struct Symbols {
    mapped: Vec<Mapped>,
    load_address: u64,
    executable: String,
    loaders: RefCell<HashMap<String, Option<Loader>>>,
    /// What was looked up already: by file, then by address.
    known: RefCell<HashMap<String, HashMap<u64, Option<Position>>>>,
    /// Calls before return addresses.
    calls: RefCell<HashMap<u64, Vec<Position>>>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols")
            .field("executable", &self.executable)
            .finish_non_exhaustive()
    }
}

impl Symbols {
    /// Of the process with this id, whose executable was loaded at `load_address`.
    pub(crate) fn new(process: u32, executable: String, load_address: u64) -> Symbols {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let mapped = maps.lines().filter_map(parse).collect();
        Symbols {
            mapped,
            load_address,
            executable,
            loaders: RefCell::default(),
            known: RefCell::default(),
            calls: RefCell::default(),
        }
    }

    /// The position of the call before this return address, as an origin has it.
    pub fn caller(&self, offset: u32) -> Option<Position> {
        if let Some(address) = landfall_vocab::record::address_of_library_call(offset) {
            return self.return_address(address).filter(|at| at.line > 0);
        }
        (offset != 0)
            .then(|| self.look_up(&self.executable, u64::from(offset) - 1))
            .flatten()
    }

    /// The position of the call before a return address.
    pub fn return_address(&self, address: u64) -> Option<Position> {
        let address = address.checked_sub(1)?;
        let (path, offset) = self.locate(address)?;
        self.look_up(path, offset)
    }

    /// The calls before a return address, innermost first: of what was inlined there, and of the function itself.
    pub fn return_addresses(&self, address: u64) -> Vec<Position> {
        if let Some(known) = self.calls.borrow().get(&address) {
            return known.clone();
        }
        let own = self.return_address(address);
        let located = address.checked_sub(1).and_then(|at| self.locate(at));
        let mut all = located.map_or_else(Vec::new, |(path, offset)| self.inlined(path, offset));
        match (all.last_mut(), own) {
            (Some(last), Some(own)) => last.function = own.function,
            (_, own) => all.extend(own),
        }
        self.calls.borrow_mut().insert(address, all.clone());
        all
    }

    /// Positions in functions that were inlined, and in the one around them; nothing where none was.
    fn inlined(&self, path: &str, offset: u64) -> Vec<Position> {
        let loaders = self.loaders.borrow();
        let loader = loaders.get(path).and_then(Option::as_ref);
        let Some(Ok(mut frames)) = loader.map(|loader| loader.find_frames(offset)) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let at = frame.location;
            let name = frame
                .function
                .and_then(|of| Some(demangled(&of.raw_name().ok()?)));
            all.push(Position {
                file: at
                    .as_ref()
                    .and_then(|at| at.file)
                    .unwrap_or_default()
                    .to_owned(),
                line: at.as_ref().and_then(|at| at.line).unwrap_or(0),
                column: at.as_ref().and_then(|at| at.column).unwrap_or(0),
                function: name.unwrap_or_default(),
            });
        }
        if all.len() < 2 { Vec::new() } else { all }
    }

    /// The functions that a return address lies in, the inlined ones first.
    pub fn functions(&self, address: u64) -> Vec<String> {
        let located = address.checked_sub(1).and_then(|at| self.locate(at));
        let Some((path, offset)) = located else {
            return Vec::new();
        };
        let mut loaders = self.loaders.borrow_mut();
        let loader = loaders
            .entry(path.to_owned())
            .or_insert_with(|| Loader::new(path).ok());
        let Some(loader) = loader else {
            return Vec::new();
        };
        let mut names = Vec::new();
        if let Ok(mut frames) = loader.find_frames(offset) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame
                    .function
                    .and_then(|f| f.raw_name().ok().map(|n| demangled(&n)));
                names.extend(name);
            }
        }
        // What has no debug information has a symbol.
        names.extend(loader.find_symbol(offset).map(demangled));
        names
    }

    /// Is there a function that a user calls this, in the program or in its libraries?
    pub fn has_function(&self, name: &str) -> bool {
        let inlined = || {
            self.members()
                .is_some_and(|members| members.has_function(name))
        };
        let mut paths: Vec<&str> = self
            .mapped
            .iter()
            .map(|mapped| mapped.path.as_str())
            .collect();
        paths.dedup();
        paths.into_iter().any(|path| defines(path, name)) || inlined()
    }

    /// Source files of the executable that were not compiled with `landfall cc`, by their names.
    pub fn from_elsewhere(&self) -> Vec<String> {
        let Ok(file) = std::fs::read(&self.executable) else {
            return Vec::new();
        };
        object::File::parse(&*file).map_or_else(|_| Vec::new(), |object| not_ours(&object))
    }

    /// One line about a return address.
    pub fn describe(&self, address: u64) -> String {
        match self.return_address(address) {
            Some(at) if at.line > 0 => format!("{} {}:{}", at.function, at.file, at.line),
            Some(at) => at.function,
            None => format!("{address:#x}"),
        }
    }

    /// Whether a return address lies in the runtime, which is nobody's business but ours.
    pub fn is_runtime(&self, address: u64) -> bool {
        self.return_address(address).is_some_and(|at| {
            at.function.starts_with("landfall_runtime::") || at.function.starts_with("__lf_")
        })
    }

    /// Types of the program, by its debug information.
    pub fn members(&self) -> Option<crate::members::Members> {
        crate::members::Members::read(std::path::Path::new(&self.executable))
    }

    /// The file that code at this address belongs to.
    pub fn file_of(&self, address: u64) -> Option<&str> {
        Some(self.locate(address)?.0)
    }

    /// Is this file the program itself?
    pub fn is_executable(&self, file: &str) -> bool {
        file == self.executable
    }

    /// Where the executable's file has this address of its code.
    pub fn in_file(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.load_address)
    }

    /// The part of a variable that lies at this address, as the source writes it.
    pub fn part_of_variable(
        &self,
        address: u64,
        members: &crate::members::Members,
    ) -> Option<String> {
        members.variable_at(address.checked_sub(self.load_address)?)
    }

    /// The variable of the executable that lies at this address, or the one before it.
    pub fn variable(&self, address: u64) -> Option<String> {
        let offset = address.checked_sub(self.load_address)?;
        if offset > u64::from(u32::MAX) {
            return None;
        }
        let mut loaders = self.loaders.borrow_mut();
        let loader = loaders
            .entry(self.executable.clone())
            .or_insert_with(|| Loader::new(&self.executable).ok())
            .as_ref()?;
        let name = demangled(loader.find_symbol(offset)?);
        (!name.starts_with("__")).then_some(name)
    }

    fn locate(&self, address: u64) -> Option<(&str, u64)> {
        let mapped = self
            .mapped
            .iter()
            .find(|mapped| (mapped.start..mapped.end).contains(&address))?;
        let bias = if mapped.path == self.executable {
            self.load_address
        } else {
            mapped.bias
        };
        Some((&mapped.path, address.checked_sub(bias)?))
    }

    fn look_up(&self, path: &str, offset: u64) -> Option<Position> {
        let mut known = self.known.borrow_mut();
        if let Some(found) = known.get(path).and_then(|known| known.get(&offset)) {
            return found.clone();
        }
        let found = self.find(path, offset);
        let of_file = known.entry(path.to_owned()).or_default();
        of_file.insert(offset, found.clone());
        found
    }

    fn find(&self, path: &str, offset: u64) -> Option<Position> {
        let mut loaders = self.loaders.borrow_mut();
        let loader = loaders
            .entry(path.to_owned())
            .or_insert_with(|| Loader::new(path).ok())
            .as_ref()?;
        let mut position = Position {
            file: String::new(),
            function: String::new(),
            line: 0,
            column: 0,
        };
        if let Ok(Some(found)) = loader.find_location(offset) {
            position.file = found.file.unwrap_or_default().to_owned();
            position.line = found.line.unwrap_or(0);
            position.column = found.column.unwrap_or(0);
        }
        let symbol = loader.find_symbol(offset)?;
        position.function = demangled(symbol);
        Some(position)
    }
}

/// Only what says that it is mangled: the name `f` of a C function is also the mangled form of `float`.
/// The name of a C++ type, as people write it, from how the compiler does (`St13runtime_error`).
pub fn type_name(mangled: &str) -> String {
    let name = demangled(&format!("_ZTI{mangled}"));
    let name = name.strip_prefix("typeinfo for ").map(str::to_owned);
    name.unwrap_or_else(|| mangled.to_owned())
}

/// The name of a function, as people write it.
pub fn demangled(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        return addr2line::demangle_auto(symbol.into(), None).into_owned();
    }
    symbol.to_owned()
}

/// Has this file a symbol for a function that is called so?
fn defines(path: &str, name: &str) -> bool {
    let Ok(file) = std::fs::read(path) else {
        return false;
    };
    let Ok(object) = object::File::parse(&*file) else {
        return false;
    };
    let mut symbols = object.symbols().chain(object.dynamic_symbols());
    symbols.any(|symbol| {
        symbol.kind() == SymbolKind::Text
            && symbol.is_definition()
            && symbol
                .name()
                .is_ok_and(|found| is_called(&demangled(found), name))
    })
}

/// Parts of a C program that come with the compiler and libc.
const STARTUP: [&str; 6] = [
    "crtstuff.c",
    "libgcc2.c",
    "atexit.c",
    "at_quick_exit.c",
    "pthread_atfork.c",
    "stack_chk_fail_local.c",
];

/// Source files of what is linked to every program.
fn of_the_runtime() -> HashSet<String> {
    let bytes = crate::compiler::RUNTIME;
    let members = object::read::archive::ArchiveFile::parse(bytes).map(|archive| archive.members());
    let members = members.into_iter().flatten().flatten();
    let mut names = HashSet::new();
    for member in members {
        let object = member.data(bytes).map(object::File::parse);
        if let Ok(Ok(object)) = object {
            let files = object.symbols().filter(|s| s.kind() == SymbolKind::File);
            names.extend(files.filter_map(|file| Some(file.name().ok()?.to_owned())));
        }
    }
    names
}

/// Local symbols stand behind that of their source file. Every function that we compile has a record of a source position.
fn not_ours(object: &object::File<'_>) -> Vec<String> {
    let mut names: Vec<(String, bool)> = Vec::new();
    for symbol in object.symbols() {
        let name = symbol.name().unwrap_or_default();
        match (symbol.kind(), names.last_mut()) {
            (SymbolKind::File, _) => names.push((name.to_owned(), false)),
            (_, Some((_, ours))) if symbol.is_local() => *ours |= name.starts_with("landfall.site"),
            _ => {}
        }
    }
    let is_source = |name: &str| {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        matches!(ending, Some("c" | "cc" | "cpp" | "cxx" | "C" | "c++"))
    };
    let came_along = of_the_runtime();
    let strange = names.into_iter().filter(|(name, ours)| {
        let known = STARTUP.contains(&name.as_str()) || came_along.contains(name);
        !ours && is_source(name) && !known
    });
    strange.map(|(name, _)| name).collect()
}

fn parse(line: &str) -> Option<Mapped> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    let offset = number(fields.nth(1)?)?;
    let path = fields.nth(2)?.to_owned();
    path.starts_with('/').then(|| Mapped {
        start,
        end,
        bias: start.wrapping_sub(offset),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::{demangled, type_name};

    #[test]
    fn types_have_the_names_people_give_them() {
        assert_eq!(type_name("i"), "int");
        assert_eq!(type_name("St13runtime_error"), "std::runtime_error");
        assert_eq!(type_name("?"), "?");
    }

    #[test]
    fn plain_names_stay() {
        let names = [
            ("f", "f"),
            ("h", "h"),
            ("main", "main"),
            ("St", "St"),
            ("_Z1fi", "f(int)"),
            ("_ZN1a1bEv", "a::b()"),
            ("_RNvC1a4main", "a::main"),
        ];
        for (symbol, shown) in names {
            assert_eq!(demangled(symbol), shown);
        }
    }
}
