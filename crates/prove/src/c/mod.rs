//! C programs as programs: clang's IR, followed symbolically.
//!
//! `main` is followed twice: with no power failure so far (its threads become events), and after one, where it runs alone on
//! what the failure left (its reads and assertions become the recovery). Addresses are numbers: every object has a place of its
//! own, and a pointer is a term whose possible values are known, so an access through it is one event for each. Functions are
//! inlined; loops are unrolled until their condition says so, or up to a bound.
//!
//! The program is followed again and again until nothing new is learnt about its memory ([`knowledge`]): which bytes are written
//! together (they become one location), who writes and reads them (what only one thread writes needs no event to be read by
//! it), which values those that addresses are made of can have.
//!
//! Choices, where C or the hardware leave some: a variable or block that nobody wrote holds anything, persistent memory and
//! variables at file scope zeros; `malloc` does not fail; memory that was freed is not given out again.

mod access;
mod arithmetic;
mod assembly;
mod blocks;
mod bytes;
mod cplusplus;
mod domain;
mod flow;
mod globals;
mod instruction;
mod intrinsic;
mod knowledge;
mod library;
mod lifetime;
mod machine;
mod meeting;
mod objects;
mod operand;
mod pointer;
mod rounds;
mod run;
mod sight;
mod sorting;
mod threads;
mod waiting;
mod wide;

use crate::program::ProofProgram;
use knowledge::{CallContext, Knowledge};
use landfall_ir::{Module, Place};
use machine::{CMachine, CPhase, Stop};

/// How much is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Rounds of a loop whose number its own conditions do not tell.
    pub unroll: u32,
    /// Events after which a program is too large.
    pub events: usize,
    /// As in SV-COMP: stores reach memory at once, `reach_error` is not to be called, `abort` is an assumption, and exit codes mean nothing.
    pub sv_comp: bool,
    /// How many waits for a condition may end for no reason in one execution.
    pub spurious: u32,
    /// What the program is called with, besides its name.
    pub arguments: Vec<Vec<u8>>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            unroll: 4,
            events: 20_000,
            sv_comp: false,
            spurious: 1,
            arguments: Vec::new(),
        }
    }
}

/// What cannot be modelled, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub place: Option<Place>,
    pub what: String,
}

/// Is it an address of volatile memory? The real program has that elsewhere.
pub fn is_volatile(address: u64) -> bool {
    (knowledge::VOLATILE..knowledge::VOLATILE << 1).contains(&address)
}

/// Source text for labels: the line of a place.
pub type Lines<'a> = &'a dyn Fn(&Place) -> Option<String>;

/// Rounds after which a loop does not end.
const ENDLESS: u32 = 20_000;
/// Passes after which a program whose memory is still not understood is given up.
const PASSES: usize = 60;

/// A module with a `main`, as a program.
pub fn translate(module: &Module, bounds: &Bounds, lines: Lines) -> Result<ProofProgram, Refusal> {
    let Some(main) = module.function("main") else {
        return Err(Refusal {
            place: None,
            what: "there is no `main` in it".to_owned(),
        });
    };
    let mut knowledge = Knowledge::new();
    let mut flows = Default::default();
    // Before its memory is understood a program may seem to loop for ever.
    let mut patience = 64;
    for _ in 0..PASSES {
        knowledge.learnt = false;
        let mut machine = CMachine::new(module, bounds, lines, &mut knowledge, &mut flows);
        machine.patience = patience;
        let mut outcome = Ok(());
        for (number, phase) in [CPhase::Before, CPhase::After].into_iter().enumerate() {
            // What touches no persistent memory, and asks for no failure, begins anew as it began.
            let again = machine.asked || machine.touches_persistent_memory();
            if outcome.is_ok() && (phase == CPhase::Before || again) {
                machine.begin(phase);
                outcome = machine.main(main, CallContext(number as u32));
            }
        }
        machine.learn_values();
        let endless = machine.endless.take();
        let program = machine.finish();
        if knowledge.learnt {
            continue; // what went wrong may have gone wrong for want of knowledge
        }
        if endless.is_some() && patience < ENDLESS {
            patience = (patience * 8).min(ENDLESS);
            continue;
        }
        return match (outcome, endless) {
            (Err(Stop::Refused(refusal)), _) | (_, Some(refusal)) => Err(refusal),
            _ => Ok(program),
        };
    }
    Err(Refusal {
        place: None,
        what: "which memory its pointers lead to could not be settled".to_owned(),
    })
}
