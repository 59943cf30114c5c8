//! Names for the numbers in a trace.

use crate::symbols::demangled;
use landfall_vocab::builtin;
use landfall_vocab::record::Origin;

/// A source position.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    pub file: String,
    pub function: String,
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// Functions of libraries are among the sites, too: names without a place.
    fn is_source(&self) -> bool {
        self.line != 0 || !self.file.is_empty()
    }
}

/// The source sites of a program and its libraries.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    positions: Vec<Position>,
}

/// Was it code of PMDK that somebody else compiled?
pub fn is_inside_pmdk(origin: Origin) -> bool {
    origin.site == builtin::Builtin::pmdk.site()
}

impl Sites {
    pub(crate) fn parse(table: &[u8], strings: &[u8]) -> Sites {
        let text = |at: u32| {
            let rest = strings.get(at as usize..).unwrap_or_default();
            let end = rest
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).into_owned()
        };
        let number = |entry: &[u8], at: usize| {
            u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
        };
        let position = |entry: &[u8]| {
            let mut at = Position {
                file: text(number(entry, 0)),
                function: text(number(entry, 4)),
                line: number(entry, 8),
                column: number(entry, 12),
            };
            if !at.is_source() {
                at.function = demangled(&at.function);
            }
            at
        };
        Sites {
            positions: table.chunks_exact(16).map(position).collect(),
        }
    }

    /// The source position of an event, if instrumented code caused it.
    pub fn position(&self, origin: Origin) -> Option<&Position> {
        let at = self.positions.get(origin.site as usize);
        at.filter(|at| at.is_source())
    }

    /// The library function that caused an event, if one did.
    pub fn library(&self, origin: Origin) -> Option<&str> {
        let at = self.positions.get(origin.site as usize);
        let import = at.filter(|at| !at.is_source());
        let import = import.map(|at| at.function.as_str());
        import.or_else(|| builtin::name(origin.site))
    }

    /// Every place that was instrumented.
    pub fn positions(&self) -> impl Iterator<Item = &Position> {
        self.positions.iter().filter(|at| at.is_source())
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}
