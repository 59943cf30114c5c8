//! Programs before they have registers and values, drawn at random.

use proptest::prelude::*;

/// An instruction before it has registers and values.
#[derive(Clone, Copy, Debug)]
pub enum Draft {
    Load(u8),
    Store(u8),
    StoreRead(u8),
    FetchAdd(u8),
    Exchange(u8),
    Cas(u8, u64),
    Fence,
    /// Skips the next instruction if the last read returned this.
    SkipIf(u64),
    /// The draft after it runs under a lock.
    Locked(u8),
    /// The rest of the thread runs under a lock.
    LockRest(u8),
    /// Spins until the variable holds this.
    Await(u8, u64),
    /// Spins until the variable held 0 and is exchanged for 1.
    SpinLock(u8),
    /// Spins until two variables, one read after the other, add up to this.
    AwaitSum(u8, u8, u64),
    /// Spins until the variable, read under a lock, holds this.
    AwaitLocked(u8, u8, u64),
    /// Spins until the second variable holds this, read while the first one is 1: exchanged for that, and stored back.
    AwaitSpinning(u8, u8, u64),
    /// The same with stores behind a fence: 9, and 0 again.
    Keep(u8, u8, u64),
    /// Adds one by a compare-and-swap, until it succeeds.
    Count(u8),
    /// Exchanges the first variable for 9 and looks at the second, and puts 0 back unless that holds this.
    Announce(u8, u8, u64),
    /// The same with two looks, that are added.
    AnnounceTwice(u8, u8, u64),
    /// Tries to take a lock, and gives it back if it did.
    Try(u8),
    /// Adds one without a lock: a load and a store of one instruction.
    Update(u8),
    /// Takes the first two variables away.
    Unmap,
}

pub fn draft(vars: u8, locks: u8) -> impl Strategy<Value = Draft> {
    let var = move || 0..vars;
    prop_oneof![
        5 => var().prop_map(Draft::Store),
        5 => var().prop_map(Draft::Load),
        1 => var().prop_map(Draft::StoreRead),
        1 => var().prop_map(Draft::FetchAdd),
        1 => var().prop_map(Draft::Exchange),
        2 => (var(), 0u64..3).prop_map(|(v, e)| Draft::Cas(v, e)),
        1 => Just(Draft::Fence),
        1 => (0u64..2).prop_map(Draft::SkipIf),
        1 => (0..locks).prop_map(Draft::Locked),
        1 => (0..locks).prop_map(Draft::LockRest),
    ]
}

/// Those, read-modify-writes without a lock, and memory that is taken away.
pub fn draft_of_all(vars: u8, locks: u8) -> impl Strategy<Value = Draft> {
    prop_oneof![
        8 => draft(vars, locks),
        4 => (0..vars).prop_map(Draft::Update),
        1 => Just(Draft::Unmap),
    ]
}

pub fn shape(threads: usize, instrs: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    (1u8..=3).prop_flat_map(move |vars| {
        prop::collection::vec(
            prop::collection::vec(draft(vars, 2), 0..=instrs),
            2..=threads,
        )
    })
}
