//! What is in memory when a run is over, in one number: variables of the program itself and, where the heap is looked at, blocks that nobody
//! has freed. Stacks, libraries and what was freed are nobody's business by then.

use crate::memory::heap;
use crate::memory::heap_checks;
use crate::run::shared;
use crate::state::{run, server};
use landfall_vocab::digest;
use landfall_vocab::shared::job;

unsafe extern "C" {
    static __data_start: u8;
    static _end: u8;
    static __start_lf_state: u8;
    static __stop_lf_state: u8;
}

/// If it is asked for.
pub(super) fn tell() {
    if shared::job().flags & job::STATE != 0 {
        let state = variables(digest::NOTHING);
        let state = match heap_checks::on() && heap::shadowed() {
            true => blocks(state),
            false => state,
        };
        // SAFETY: a run has a slot from its beginning.
        unsafe { (*run().slot.get()).final_state = state };
    }
}

/// Of the executable; not the tables of ours in between.
fn variables(mut state: u64) -> u64 {
    let ours = (
        &raw const __start_lf_state as usize,
        &raw const __stop_lf_state as usize,
    );
    let low = server().sites_low.get();
    let sites = (low, low + server().sites_len.get());
    let end = &raw const _end as usize;
    let mut at = &raw const __data_start as usize;
    while at + 8 <= end {
        match [sites, ours]
            .into_iter()
            .find(|(start, stop)| (*start..*stop).contains(&at))
        {
            Some((_, stop)) => at = stop.next_multiple_of(8),
            None => {
                // SAFETY: it is in the executable's own data.
                state = digest::with(state, unsafe { *(at as *const u64) });
                at += 8;
            }
        }
    }
    state
}

fn blocks(mut state: u64) -> u64 {
    heap::each_used(|start, end| {
        let mut at = start.next_multiple_of(heap_checks::GRAIN);
        while at < end {
            // SAFETY: the shadow of all of the heap is mapped, and so is the heap as far as it was used.
            unsafe {
                let room = usize::from(*heap_checks::shadow(at));
                if (1..=heap_checks::GRAIN).contains(&room) {
                    state = digest::with(state, at as u64);
                    for byte in at..at + room {
                        state = digest::with(state, (*(byte as *const u8)).into());
                    }
                }
            }
            at += heap_checks::GRAIN;
        }
    });
    state
}
