//! Where threads may be preempted: functions on the call stack decide (`--within`, `--without`; Blum 2018, §3.4.1).

use crate::symbols::Symbols;
use landfall_explore::schedule::seal::{Directive, may_preempt};
use std::collections::HashMap;

/// Directives, and what they mean for the call stacks seen so far.
#[derive(Debug)]
pub struct Sealing {
    directives: Vec<(Directive, String)>,
    symbols: Symbols,
    /// By return addresses.
    known: HashMap<Vec<u64>, bool>,
}

impl Sealing {
    pub fn new(directives: Vec<(Directive, String)>, symbols: Symbols) -> Sealing {
        Sealing {
            directives,
            symbols,
            known: HashMap::new(),
        }
    }

    /// Names of directives that no function of the program has.
    pub fn strangers(&self) -> impl Iterator<Item = &str> {
        let names = self.directives.iter().map(|(_, name)| name.as_str());
        names.filter(|name| !self.symbols.has_function(name))
    }

    /// Is a thread with these return addresses on its stack (as in a trace: little-endian words) to be left alone?
    pub(super) fn seals(&mut self, stack: &[u8]) -> bool {
        let words = stack.as_chunks::<8>().0.iter();
        let stack: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
        if let Some(&known) = self.known.get(&stack) {
            return known;
        }
        let functions: Vec<String> = stack
            .iter()
            .flat_map(|&address| self.symbols.functions(address))
            .collect();
        let asked = |name: &str| functions.iter().any(|function| is_called(function, name));
        // As names of directives, which is what decides.
        let names = self.directives.iter().map(|(_, name)| name.as_str());
        let on_stack: Vec<&str> = names.filter(|name| asked(name)).collect();
        let directives: Vec<(Directive, &str)> = (self.directives.iter())
            .map(|(directive, name)| (*directive, name.as_str()))
            .collect();
        let sealed = !may_preempt(&directives, on_stack.into_iter());
        self.known.insert(stack, sealed);
        sealed
    }
}

/// Does a user who writes `name` mean this function? `push`, `Queue::push` and `Queue::push(int)` are one.
pub(crate) fn is_called(function: &str, name: &str) -> bool {
    let bare = function.split('(').next().unwrap_or(function);
    let plain = bare.split('<').next().unwrap_or(bare);
    let last = plain.rsplit("::").next().unwrap_or(plain);
    [function, bare, plain, last].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn functions_go_by_several_names() {
        for name in ["push", "Queue::push", "Queue::push(int)"] {
            assert!(is_called("Queue::push(int)", name), "{name}");
        }
        assert!(is_called("swap<int>(int*)", "swap"));
        assert!(is_called("main", "main"));
        for name in ["Queue", "pus", "push(", ""] {
            assert!(!is_called("Queue::push(int)", name), "{name}");
        }
    }
}
