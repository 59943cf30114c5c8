//! How executions end, in words.

use landfall_native::{ClientWhy, Outcome, Symbols};

/// What a signal means that is not about an address.
pub(crate) fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        4 => {
            "an instruction that there is not (SIGILL): __builtin_trap, or the end of a function that should have returned"
        }
        5 => "a trap for a debugger (SIGTRAP)",
        6 => "aborted (SIGABRT)",
        8 => "arithmetic that has no result (SIGFPE): a division by zero, or one that overflows",
        31 => "a system call that there is not (SIGSYS)",
        _ => return None,
    })
}

/// What a client is not content with. `line` is what it says.
pub(crate) fn client(line: &str, why: ClientWhy, received: &[u8]) -> String {
    let shown = received.escape_ascii();
    match why {
        ClientWhy::Differs => format!("{line} gets \"{shown}\""),
        ClientWhy::Nobody => format!("{line}: nobody listens there"),
        ClientWhy::Failed => format!("{line} fails: {}", String::from_utf8_lossy(received)),
        _ => {
            let so_far = match received.is_empty() {
                true => "nothing".to_owned(),
                false => format!("only \"{shown}\""),
            };
            let then = match why {
                ClientWhy::Closed => "the connection is closed",
                ClientWhy::Ended => "the server has ended",
                _ => "the server waits for more",
            };
            format!("{line} gets {so_far}: {then}")
        }
    }
}

/// How an execution ended.
pub fn describe(outcome: &Outcome, symbols: &Symbols) -> String {
    match outcome {
        Outcome::Exited { code } => format!("exited with {code}"),
        Outcome::Assertion {
            expression,
            file,
            line,
            ..
        } => format!("assertion failed: `{expression}` at {file}:{line}"),
        Outcome::Abort => "aborted".into(),
        Outcome::Reached => "`reach_error` is called".into(),
        Outcome::Assumed => "ended by an assumption that does not hold".into(),
        Outcome::Signal {
            signal,
            address,
            pc,
            ..
        } => {
            let what = match signal_name(*signal) {
                Some(name) => name.to_owned(),
                None => format!("signal {signal} at address {address:#x}"),
            };
            // A hook that faults does so for its caller, which the stack names.
            if *pc == 0 || symbols.is_runtime(*pc + 1) {
                what
            } else {
                format!("{what}, {}", symbols.describe(*pc + 1))
            }
        }
        Outcome::SignalUnsafe {
            called,
            interrupted,
        } => format!("a handler that interrupts `{interrupted}` calls `{called}`"),
        Outcome::Client {
            line,
            why,
            received,
        } => client(
            &format!("line {line} of the client's script"),
            *why,
            received,
        ),
        Outcome::Terminate { exception } if exception.is_empty() => {
            "std::terminate is called, and not for an exception".into()
        }
        Outcome::Terminate { exception } => {
            format!(
                "uncaught exception {}",
                landfall_native::type_name(exception)
            )
        }
        Outcome::NoFunction { deleted: false } => {
            "a pure virtual function is called: the object is not of the class it was made as"
                .into()
        }
        Outcome::NoFunction { deleted: true } => "a deleted virtual function is called".into(),
        Outcome::StackOverflow { .. } => "stack overflow".into(),
        Outcome::Hang { why, .. } => format!("hang: {why}"),
        Outcome::Exhausted { why, .. } | Outcome::Stuck { why } => format!("stopped: {why}"),
        Outcome::Deadlock { why } => format!("deadlock: {why}"),
        Outcome::Heap {
            error,
            address,
            bytes,
            block,
            ..
        } => crate::diagnose::heap::describe(*error, *address, *bytes, block.as_ref()),
        Outcome::Thread { why } | Outcome::Forbidden { why, .. } => format!("refused: {why}"),
        Outcome::Asleep => "stopped: what follows is known".into(),
        Outcome::InVain => "stopped: a thread looked in vain".into(),
        Outcome::Limit => "stopped after its limit of steps".into(),
        Outcome::Strayed => "strayed: the schedule asks for a thread that cannot go on".into(),
        Outcome::Wedged => "did not answer and was killed".into(),
        Outcome::Died { status } => format!("died (wait status {status})"),
        Outcome::Internal { why } => format!("internal error: {why}"),
    }
}
