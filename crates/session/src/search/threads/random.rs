//! Random schedules (`--random N --seed S`): for programs with too many to try all. Power failures of each are tried all the same.

use crate::options::Asked;
use crate::search::threads::Ending;
use crate::search::threads::causes::ScheduleFindings;
use crate::search::threads::power::Crashing;
use landfall_explore::schedule::saturate::add_racing;
use landfall_explore::schedule::{
    End, Explored, Options as SearchOptions, Points, Replayed, Threads, ThreadsError,
};
use landfall_finding::Limit;
use landfall_native::{NativeThreads, Policy};
use std::num::NonZeroU64;
use std::time::Instant;

/// So many schedules, the same for the same seed. Says how many there were, how many an assumption ended, and which limit
/// ended it if one did.
pub(crate) fn random(
    options: &Asked,
    started: Instant,
    (native, points): (&mut NativeThreads<'_>, &Points),
    limits: SearchOptions,
    seen: &mut ScheduleFindings<'_>,
    crashing: &mut Option<Crashing<'_>>,
) -> Result<(u64, u64, Option<Limit>), ThreadsError> {
    let mut ending = Ending::new(options, started);
    let order = native.order(limits.persistency);
    let tries = options.random.unwrap_or(0);
    let mut assumed = 0;
    for number in 0..tries {
        native.prefer(Policy::Dice(dice(options.seed, number)));
        let execution = match Replayed::run(native, order, &[], points) {
            Err(ThreadsError::Stopped) => {
                let _ = ending.stop(native.runs);
                return Ok((u64::from(number) - assumed, assumed, ending.reached));
            }
            ran => ran?,
        };
        assumed += u64::from(execution.trace().end == End::Assumed);
        seen.look(native, &execution);
        // Where accesses that are no steps race, it is not known what happens before what.
        let racy = points != &Points::Everywhere && add_racing(&execution, &mut Vec::new());
        if let Some(crashing) = crashing.as_mut().filter(|_| !racy)
            && crashing.look(native, &execution).is_break()
        {
            return Ok((u64::from(number) + 1 - assumed, assumed, None));
        }
        if ending.stop(native.runs).is_break() {
            return Ok((u64::from(number) + 1 - assumed, assumed, ending.reached));
        }
    }
    Ok((u64::from(tries) - assumed, assumed, None))
}

/// Where the dice of a schedule begin (splitmix64).
fn dice(seed: u64, number: u32) -> NonZeroU64 {
    let mut z = seed.wrapping_add(u64::from(number) + 1);
    z = z.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    NonZeroU64::new(z ^ (z >> 31)).unwrap_or(NonZeroU64::MAX)
}
