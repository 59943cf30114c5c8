//! Inline assembly: the spellings of flushes and fences.

use super::machine::{CMachine, CState, CValue, Go};
use crate::program::{FlushKind, Kind};

impl CMachine<'_> {
    /// Inline assembly: the spellings of flushes and fences.
    pub(super) fn assembly(
        &mut self,
        state: &mut CState,
        text: &str,
        constraints: &str,
        values: &[CValue],
    ) -> Go<()> {
        let _ = constraints;
        let words: Vec<String> = text
            .to_ascii_lowercase()
            .split([' ', '\t', '\n', ';', ',', '(', ')'])
            .filter(|w| !w.is_empty() && !w.starts_with('$') && !w.starts_with('%'))
            .map(str::to_owned)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let flush = match words.as_slice() {
            [] | ["nop"] | ["pause"] | ["rep", "nop"] | ["lfence"] => return Ok(()),
            ["sfence"] => return self.fence(state, Kind::Sfence),
            ["mfence"] => return self.fence(state, Kind::Mfence),
            ["clflush"] => FlushKind::Clflush,
            // With the prefix it is another instruction, for assemblers that do not know it.
            ["clflushopt"] | [".byte", "0x66", "clflush"] => FlushKind::Clflushopt,
            ["clwb"] | [".byte", "0x66", "xsaveopt"] => FlushKind::Clwb,
            _ => {
                return self.refuse(format!("inline assembly `{}` is not modelled", text.trim()));
            }
        };
        let p = self.number(values, 0)?;
        self.flush(state, p, 1, flush)
    }
}
