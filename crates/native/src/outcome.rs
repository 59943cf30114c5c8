//! From the report in shared memory to an outcome.

use crate::execution::{ClientWhy, Outcome};
use landfall_vocab::shared::End;

pub(crate) fn outcome(raw: &landfall_vocab::shared::Outcome) -> Outcome {
    let length = (raw.text_len as usize).min(raw.text.len());
    let text = String::from_utf8_lossy(&raw.text[..length]).into_owned();
    let site = u32::try_from(raw.site).ok();
    match End::from_number(raw.end) {
        Some(End::Exited) => Outcome::Exited { code: raw.code },
        Some(End::Assertion) => {
            let mut parts = text.split('\0').map(str::to_owned);
            let mut part = || parts.next().unwrap_or_default();
            let (expression, file, function) = (part(), part(), part());
            Outcome::Assertion {
                expression,
                file,
                function,
                line: raw.code.max(0) as u32,
            }
        }
        Some(End::Abort) => Outcome::Abort,
        Some(End::Signal) => Outcome::Signal {
            signal: raw.code,
            address: raw.address,
            pc: raw.pc,
            // Of an access that was announced; from 1 on.
            site: raw
                .site
                .checked_sub(1)
                .and_then(|site| u32::try_from(site).ok()),
        },
        Some(End::SignalUnsafe) => {
            let (called, interrupted) = text.split_once('\0').unwrap_or((&text, ""));
            Outcome::SignalUnsafe {
                called: called.to_owned(),
                interrupted: interrupted.to_owned(),
            }
        }
        Some(End::Client) => {
            let received = raw.text[..length].iter().position(|&byte| byte == 0);
            let (why, received) = raw.text[..length].split_at(received.unwrap_or(length));
            Outcome::Client {
                line: raw.code.max(0) as u32,
                why: ClientWhy::of(why),
                received: received.get(1..).unwrap_or_default().to_vec(),
            }
        }
        Some(End::Terminate) => Outcome::Terminate { exception: text },
        Some(End::NoFunction) => Outcome::NoFunction {
            deleted: raw.code != 0,
        },
        Some(End::StackOverflow) => Outcome::StackOverflow {
            address: raw.address,
        },
        Some(End::Hang) => Outcome::Hang { why: text, site },
        Some(End::Budget) => Outcome::Exhausted { why: text, site },
        Some(End::Stuck) => Outcome::Stuck { why: text },
        Some(End::Deadlock) => Outcome::Deadlock { why: text },
        Some(End::Heap) => crate::heap::outcome(raw.code, raw.address, site, &text),
        Some(End::Thread) => Outcome::Thread { why: text },
        Some(End::Forbidden) => Outcome::Forbidden {
            why: text,
            syscall: raw.code,
        },
        Some(End::Internal) => Outcome::Internal {
            why: format!("{text} ({})", raw.code),
        },
        Some(End::Died) => Outcome::Died { status: raw.code },
        Some(End::Assumed) => Outcome::Assumed,
        Some(End::Reached) => Outcome::Reached,
        Some(End::Asleep) => Outcome::Asleep,
        Some(End::InVain) => Outcome::InVain,
        Some(End::Limit) => Outcome::Limit,
        Some(End::Strayed) => Outcome::Strayed,
        Some(End::NeedsFork) => Outcome::Internal {
            why: format!("not repeated in a fork: {text}"),
        },
        None => Outcome::Internal {
            why: format!("unknown outcome {}", raw.end),
        },
    }
}
