//! A small in-process subject: what it reads, stores and flushes next depends on everything it has read so far.

pub mod judging;
pub mod straight;

use landfall_explore::subject::{Ended, Execution, Job, RunDetail, Subject, SubjectError};
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::event::{Event, FirstRead, Mark, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, pieces};
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
use proptest::prelude::*;
use std::collections::BTreeSet;

pub const LINES: u64 = 3;

pub type Path = Vec<Read>;

#[derive(Clone, Debug)]
pub struct Toy {
    pub seed: u64,
    pub steps: u32,
    /// It stores and flushes, too.
    pub writes: bool,
    /// Each of its stores is cached and has a value of its own.
    pub apart: bool,
    /// Every run: power failures before it, and what it read.
    pub runs: Vec<(u32, Path)>,
}

impl Toy {
    pub fn new(seed: u64, steps: u32, writes: bool) -> Toy {
        Toy {
            seed,
            steps,
            writes,
            apart: false,
            runs: Vec::new(),
        }
    }

    pub fn execute(&self, line: impl Fn(Line) -> LineBytes, failures: u32) -> Execution {
        let mut hash = self.seed.wrapping_add(u64::from(failures) << 32) | 1;
        let mut memory: Vec<LineBytes> = (0..LINES).map(|l| line(Line(l))).collect();
        let mut mine = vec![0u64; LINES as usize];
        let mut events = Vec::new();
        let mut stores = 0;
        for _ in 0..self.steps {
            hash ^= hash << 13;
            hash ^= hash >> 7;
            hash ^= hash << 17;
            let at = (hash >> 20) % LINES;
            let word = Addr(at * 64 + (hash >> 40) % 2 * 8);
            let seen = (mine[at as usize] >> word.offset()) & 0xff;
            if self.writes && (hash >> 8).is_multiple_of(3) {
                // Sizes from a byte to three words, some across words, some in copies.
                let start = Addr(word.0 + (hash >> 44) % 6);
                let len = [1, 4, 8, 13][((hash >> 52) % 4) as usize];
                stores += 1;
                let value = match self.apart {
                    true => 64 * failures as u8 + stores,
                    false => 1 + (hash >> 58) as u8 % 2,
                };
                let bytes = [value; 13];
                let copy = len == 13;
                events.extend(copy.then_some(Event::mark(Mark::CopyBegin)));
                for piece in pieces(start, &bytes[..len]) {
                    piece.write_to(&mut memory[at as usize]);
                    let from = piece.addr.offset();
                    mine[at as usize] |= ((1 << piece.bytes().len()) - 1) << from;
                    events.push(match (hash >> 11) % 4 {
                        0 if !self.apart => Event::nt_store(piece),
                        _ => Event::store(piece),
                    });
                }
                events.extend(copy.then_some(Event::mark(Mark::CopyEnd)));
                continue;
            }
            if self.writes && (hash >> 8) % 3 == 1 {
                let line = Line((hash >> 30) % LINES);
                events.push(match (hash >> 11) % 4 {
                    0 => Event::clflush(line),
                    1 => Event::clwb(line),
                    _ => Event::fence(),
                });
                continue;
            }
            let wanted = [0xff, 0x0f, 0x01, 0xf0][((hash >> 50) % 4) as usize];
            let mask = wanted & !(seen as u8);
            if mask == 0 {
                continue;
            }
            mine[at as usize] |= u64::from(mask) << word.offset();
            let read = FirstRead { word, mask };
            let value = read.value(&memory[at as usize]);
            events.push(Event::read(Read { read, value }));
            hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ value.wrapping_mul(31) ^ word.0;
            if value == 0 && hash.is_multiple_of(7) {
                break;
            }
        }
        Execution::new(events, Ended::Well)
    }
}

impl Subject for Toy {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let mut execution = self.execute(|line| job.line(line), job.failures);
        self.runs.push((job.failures, execution.reads.clone()));
        if job.wanted == RunDetail::Reads {
            execution.events.clear();
        }
        Ok(execution)
    }
}

/// Every recovery after up to so many failures, by every cut and every image: failures and what was read.
pub fn brute_force(
    toy: &Toy,
    base: &Image,
    log: &Log,
    platform: Platform,
    failures: u32,
) -> BTreeSet<(u32, Path)> {
    let mut all = BTreeSet::new();
    let mut images = BTreeSet::new();
    crash(
        toy,
        base,
        log,
        platform,
        (1, failures),
        &mut all,
        &mut images,
    );
    all
}

type Bytes = Vec<LineBytes>;

fn crash(
    toy: &Toy,
    base: &Image,
    log: &Log,
    platform: Platform,
    (level, failures): (u32, u32),
    all: &mut BTreeSet<(u32, Path)>,
    done: &mut BTreeSet<(u32, Bytes)>,
) {
    for cut in 0..=log.end().0 {
        let state = CrashState::new(base, [Crashed { log, cut: Cut(cut) }]);
        state.images(&mut |image| {
            let bytes: Bytes = (0..LINES).map(|l| image.line(Line(l))).collect();
            if done.insert((level, bytes)) {
                let execution = toy.execute(|line| image.line(line), level);
                all.insert((level, execution.reads.clone()));
                if level < failures {
                    let log = execution.log(platform);
                    crash(toy, image, &log, platform, (level + 1, failures), all, done);
                }
            }
            true
        });
    }
}

pub fn event() -> impl Strategy<Value = Event> {
    let word = (0..LINES, 0u64..2).prop_map(|(line, word)| line * 64 + word * 8);
    let store = (
        word,
        0u8..3,
        prop_oneof![Just(0u64), Just(4)],
        any::<bool>(),
    )
        .prop_map(|(word, value, at, wide)| {
            let bytes = [value; 4];
            let len = if wide { 4 } else { 1 };
            pieces(Addr(word + at), &bytes[..len]).next().unwrap()
        });
    let line = || (0..LINES).prop_map(Line);
    prop_oneof![
        6 => store.clone().prop_map(Event::store),
        1 => store.prop_map(Event::nt_store),
        2 => line().prop_map(Event::clflush),
        2 => line().prop_map(Event::clwb),
        2 => Just(Event::fence()),
    ]
}

pub fn platform() -> impl Strategy<Value = Platform> {
    prop_oneof![4 => Just(Platform::Adr), 1 => Just(Platform::Eadr)]
}

pub fn base(seed: u64) -> Image {
    let mut base = Image::default();
    base.write(Addr(seed % (LINES * 8) * 8), &[1, 2]);
    base
}

/// How many random programs: more when asked for.
pub fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|c| c.parse().ok()).unwrap_or(usual),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
