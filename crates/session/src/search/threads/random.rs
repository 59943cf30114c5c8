//! Random schedules (`--random N --seed S`): for programs with too many to try all. Power failures of each are tried all the same.

use crate::options::{Asked, ScheduleDraw};
use crate::search::threads::Ending;
use crate::search::threads::causes::ScheduleFindings;
use crate::search::threads::power::Crashing;
use landfall_explore::schedule::saturate::add_racing;
use landfall_explore::schedule::{
    End, Explored, Options as SearchOptions, Points, Replayed, Threads, ThreadsError, Trace,
};
use landfall_finding::{DrawnSchedules, Limit};
use landfall_native::{Draw, NativeThreads, Policy};
use std::num::NonZeroU64;
use std::time::Instant;

/// Schedules that were drawn.
#[derive(Default)]
pub(crate) struct RandomSchedules {
    pub(crate) executions: u64,
    /// Ended by an assumption, and not among those.
    pub(crate) assumed: u64,
    /// The limit that ended it, if one did.
    pub(crate) reached: Option<Limit>,
    /// Steps of the longest, and how many schedules were drawn when it was known; processes of one.
    longest: u32,
    drawn_since: i32,
    processes: u32,
}

impl RandomSchedules {
    fn meet(&mut self, trace: &Trace) {
        let steps = u32::try_from(trace.steps.len()).unwrap_or(u32::MAX);
        match steps > self.longest {
            true => (self.longest, self.drawn_since) = (steps, 0),
            false => self.drawn_since = self.drawn_since.saturating_add(1),
        }
        let mut processes: Vec<_> = trace.steps.iter().map(|step| step.process).collect();
        processes.sort_unstable();
        processes.dedup();
        self.processes = self.processes.max(processes.len() as u32);
        match trace.end == End::Assumed {
            true => self.assumed += 1,
            false => self.executions += 1,
        }
    }

    /// What schedules by ranks promise. Those count that were drawn when it was known how long they get.
    pub(crate) fn promise(&self, options: &Asked) -> Option<DrawnSchedules> {
        let ScheduleDraw::Pct(depth) = options.draw else {
            return None;
        };
        let exponent = i32::try_from(depth).unwrap_or(i32::MAX) - 1;
        let ways = f64::from(self.processes.max(1)) * f64::from(self.longest.max(1)).powi(exponent);
        Some(DrawnSchedules {
            depth,
            processes: self.processes,
            steps: self.longest,
            probability: 1.0 - (1.0 - 1.0 / ways).powi(self.drawn_since),
        })
    }
}

/// So many schedules, the same for the same seed.
pub(crate) fn random(
    options: &Asked,
    started: Instant,
    (native, points): (&mut NativeThreads<'_>, &Points),
    limits: SearchOptions,
    seen: &mut ScheduleFindings<'_>,
    crashing: &mut Option<Crashing<'_>>,
) -> Result<RandomSchedules, ThreadsError> {
    let mut ending = Ending::new(options, started);
    let order = native.order(limits.persistency);
    let mut met = RandomSchedules::default();
    for number in 0..options.random.unwrap_or(0) {
        let how = match options.draw {
            ScheduleDraw::Uniform => Draw::Uniform,
            ScheduleDraw::Pct(depth) => Draw::Ranks {
                depth,
                length: met.longest,
            },
            ScheduleDraw::Pos => Draw::Order,
        };
        native.prefer(Policy::Dice(dice(options.seed, number), how));
        let execution = match Replayed::run(native, order, &[], points) {
            Err(ThreadsError::Stopped) => {
                let _ = ending.stop(native.runs);
                break;
            }
            ran => ran?,
        };
        met.meet(execution.trace());
        seen.look(native, &execution);
        // Where accesses that are no steps race, it is not known what happens before what.
        let racy = points != &Points::Everywhere && add_racing(&execution, &mut Vec::new());
        if let Some(crashing) = crashing.as_mut().filter(|_| !racy)
            && crashing.look(native, &execution).is_break()
        {
            return Ok(met);
        }
        if ending.stop(native.runs).is_break() {
            break;
        }
    }
    met.reached = ending.reached;
    Ok(met)
}

/// Where the dice of a schedule begin (splitmix64).
fn dice(seed: u64, number: u32) -> NonZeroU64 {
    let mut z = seed.wrapping_add(u64::from(number) + 1);
    z = z.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    NonZeroU64::new(z ^ (z >> 31)).unwrap_or(NonZeroU64::MAX)
}
