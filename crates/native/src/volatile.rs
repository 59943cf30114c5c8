//! Addresses that mean something in one run only.

use landfall_vocab::window;

/// Is the content of what an address leads to gone with the run? Another run has its own code and variables at the same place.
pub fn goes_with_the_run(address: u64) -> bool {
    window::VOLATILE_HEAP.contains(&address) || window::VOLATILE_STACKS.contains(&address)
}

/// What an address of a run leads to that goes with the run.
pub fn volatile(address: u64) -> Option<&'static str> {
    if window::VOLATILE_HEAP.contains(&address) {
        Some("its volatile heap")
    } else if window::VOLATILE_STACKS.contains(&address) {
        Some("its stack")
    } else if window::CODE.iter().any(|range| range.contains(&address)) {
        Some("its code or variables, which another run may have elsewhere")
    } else {
        None
    }
}
