//! Labels of a source in assembly: those that are jumped back to are heads of loops, which may wait; others that have a name of their own
//! are functions, or may be. One that is both is a function: who comes there may have come from anywhere.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LabelKind {
    Head,
    Function,
    Other,
}

/// Labels by their names, and which time each is defined: those that are numbers are defined again and again.
#[derive(Debug, Default)]
pub(super) struct AsmLabels {
    heads: HashSet<(String, usize)>,
    functions: HashSet<String>,
    met: HashMap<String, usize>,
}

impl AsmLabels {
    pub(super) fn of(text: &str) -> AsmLabels {
        let mut labels = AsmLabels::default();
        let mut defined: HashMap<&str, usize> = HashMap::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            for part in line.split(';') {
                let mut rest = part.trim();
                if let Some(names) = rest.strip_prefix(".globl").or(rest.strip_prefix(".global")) {
                    let names = names.split(',').map(|name| name.trim().to_owned());
                    labels.functions.extend(names);
                }
                while let Some((label, behind)) = super::assembly::label_of(rest) {
                    *defined.entry(label).or_default() += 1;
                    rest = behind.trim_start();
                }
                let Some((name, target)) = rest.split_once(char::is_whitespace) else {
                    continue;
                };
                let jumps = name.starts_with('j') || name.starts_with("loop");
                let target = target.trim();
                if name.starts_with("call") {
                    labels.functions.insert(target.to_owned());
                }
                let number = target
                    .strip_suffix('b')
                    .filter(|number| number.chars().all(|c| c.is_ascii_digit()));
                // Whatever is defined by now is behind.
                let target = number.unwrap_or(target);
                if let Some(&times) = defined.get(target).filter(|_| jumps) {
                    labels.heads.insert((target.to_owned(), times));
                }
            }
        }
        labels
    }

    /// The label is defined here.
    pub(super) fn next_label(&mut self, label: &str) -> LabelKind {
        let times = self.met.entry(label.to_owned()).or_default();
        *times += 1;
        let of_its_own = !label.starts_with(|c: char| c == '.' || c.is_ascii_digit());
        match self.heads.contains(&(label.to_owned(), *times)) {
            _ if self.functions.contains(label) => LabelKind::Function,
            true => LabelKind::Head,
            false if of_its_own => LabelKind::Function,
            false => LabelKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_jumped_back_to() {
        let text = ".globl take\ntake: movl $1, %eax\n1: pause; cmpl $0, (%rdi); jne 1b\n jmp 1f\n1: ret\nagain: jmp again\nafter: jmp last\nlast: ret\n";
        let mut labels = AsmLabels::of(text);
        let kinds =
            ["take", "1", "1", "again", "after", "last"].map(|name| labels.next_label(name));
        use LabelKind::{Function, Head, Other};
        assert_eq!(kinds, [Function, Head, Other, Head, Function, Function]);
    }
}
