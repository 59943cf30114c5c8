//! Names for the numbers in a trace.

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

/// The source sites of a program and its libraries.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    positions: Vec<Position>,
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
        let position = |entry: &[u8]| Position {
            file: text(number(entry, 0)),
            function: text(number(entry, 4)),
            line: number(entry, 8),
            column: number(entry, 12),
        };
        Sites {
            positions: table.chunks_exact(16).map(position).collect(),
        }
    }

    /// The source position of an event, if instrumented code caused it.
    pub fn position(&self, origin: Origin) -> Option<&Position> {
        self.positions.get(origin.site as usize)
    }

    /// The library function that caused an event, if one did.
    pub fn library(&self, origin: Origin) -> Option<&'static str> {
        builtin::name(origin.site)
    }

    /// Every place that was instrumented.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}
