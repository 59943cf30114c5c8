//! How to keep a store from being overtaken (seed 000 §4.3.2).

use crate::execution::Execution;
use crate::finding::{Fix, Window};
use landfall_model::event::{Action, EventId, How};
use landfall_model::line::LINE_BYTES;

/// Fixes for `lost` having been overtaken by `kept`, both of one execution; the best first.
pub fn fixes(execution: &Execution, index: usize, lost: EventId, kept: EventId) -> Vec<Fix> {
    let (Some(lost_piece), Some(kept_piece)) =
        (execution.event(lost).piece(), execution.event(kept).piece())
    else {
        return Vec::new();
    };
    let mut fixes = Vec::new();
    for window in windows(execution, index, lost, kept) {
        fixes.push(match unfenced(execution, lost, &window) {
            Some(flush) => Fix::Fence {
                window: Window {
                    after: flush,
                    sites: (execution.event(flush).site, window.sites.1),
                    ..window
                },
            },
            None => Fix::FlushFence {
                addr: lost_piece.addr,
                bytes: lost_piece.bytes().len() as u32,
                window,
            },
        });
    }
    let (lost, kept) = (lost_piece.addr, kept_piece.addr);
    if lost.line() != kept.line() {
        let apart = lost.0.abs_diff(kept.0);
        let later = if lost.0 > kept.0 {
            lost_piece
        } else {
            kept_piece
        };
        let span = apart + later.bytes().len() as u64;
        fixes.push(if span <= LINE_BYTES as u64 {
            Fix::Align { lost, kept, apart }
        } else {
            Fix::CoLocate { lost, kept, apart }
        });
    }
    fixes
}

/// For each thread, from the first event that happens after `lost` to the last that happens before `kept`.
fn windows(execution: &Execution, index: usize, lost: EventId, kept: EventId) -> Vec<Window> {
    let owner = execution.event(lost).thread;
    let clock = execution.clock(lost);
    let mut windows = Vec::new();
    for thread in 0..execution.threads() as u16 {
        let events = execution.of_thread(thread);
        let first = events.partition_point(|&e| execution.known(e, owner) < clock);
        let Some(last) = execution.known(kept, thread).checked_sub(1) else {
            continue;
        };
        // Something must be before which to flush, and after which.
        if first < last as usize {
            let (after, before) = (events[first], events[last as usize]);
            windows.push(Window {
                execution: index,
                thread,
                after,
                before,
                sites: (execution.event(after).site, execution.event(before).site),
                primary: thread == owner,
            });
        }
    }
    windows.sort_by_key(|w| (!w.primary, w.thread));
    windows
}

/// A write-back of the lost store's line inside the window that no fence completes there.
fn unfenced(execution: &Execution, lost: EventId, window: &Window) -> Option<EventId> {
    let line = execution.event(lost).piece()?.addr.line();
    let events = execution.of_thread(window.thread);
    let from = execution.clock(window.after) as usize;
    let to = execution.clock(window.before) as usize - 1;
    // A non-temporal store needs no flush.
    let own = matches!(
        execution.event(lost).action,
        Action::Store {
            how: How::NonTemporal,
            ..
        }
    );
    let mut flush = (own && window.after == lost).then_some(lost);
    for &event in events.get(from..to)? {
        match execution.event(event).action {
            Action::Clwb(flushed) if flushed == line => flush = Some(event),
            Action::Fence(_) => flush = None,
            _ => {}
        }
    }
    flush
}
