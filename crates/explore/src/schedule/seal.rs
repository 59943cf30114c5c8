//! Preemption sealing: which functions may be preempted in (Blum 2018, §3.4.1).

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Directive {
    /// Preempt where the function is on the stack.
    Within,
    Without,
}

/// May a thread be preempted with these functions on its stack? The last directive that matches any of them decides. Where
/// none does, it may unless some directive says where to.
pub fn may_preempt<'a>(
    directives: &[(Directive, &str)],
    stack: impl Iterator<Item = &'a str> + Clone,
) -> bool {
    let matching = directives
        .iter()
        .rev()
        .find(|(_, name)| stack.clone().any(|function| function == *name));
    match matching {
        Some((directive, _)) => *directive == Directive::Within,
        None => directives
            .iter()
            .all(|(directive, _)| *directive == Directive::Without),
    }
}

#[cfg(test)]
mod tests {
    use super::Directive::{Within, Without};
    use super::*;

    /// The examples of Blum 2018, §3.4.1.
    #[test]
    fn the_last_match_decides() {
        let stacks = [
            ["mutex_lock", "malloc", "thr_create", "main"],
            ["mutex_lock", "cond_wait", "thr_join", "main"],
        ];
        let cases = [
            (
                vec![(Within, "mutex_lock"), (Without, "malloc")],
                [false, true],
            ),
            (vec![(Within, "thr_join")], [false, true]),
            (vec![(Without, "cond_wait")], [true, false]),
            (
                vec![(Without, "main"), (Within, "mutex_lock")],
                [true, true],
            ),
            (vec![], [true, true]),
        ];
        for (directives, expected) in cases {
            let found = stacks.map(|stack| may_preempt(&directives, stack.into_iter()));
            assert_eq!(found, expected, "{directives:?}");
        }
    }
}
