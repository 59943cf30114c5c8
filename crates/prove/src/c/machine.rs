//! The state of following a program: what was made of it so far, and where each path is.

use super::flow::Flow;
use super::knowledge::{CallContext, Knowledge, ObjectKind, ValueSet};
use super::waiting::Waiting;
use super::{Bounds, Lines, Refusal};
use crate::program::*;
use crate::term::Term;
use landfall_ir::{Constant, Function, Layout, Module, Place, PlaceId, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Before the power failure, or after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CPhase {
    Before,
    After,
}

/// Why a path is not followed further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// It ends here.
    Ended,
    Refused(Refusal),
}

pub(super) type Go<T> = Result<T, Stop>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CValue {
    Int(Term),
    Many(Vec<CValue>),
}

/// A place on the way: the condition under which the thread comes here, and what it knows of memory.
#[derive(Clone, Debug)]
pub(super) struct CState {
    pub(super) condition: Term,
    /// By cell: its content, where this thread knows it.
    pub(super) memory: Rc<BTreeMap<u64, Term>>,
}

/// A thread that was followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) number: usize,
    pub(super) created: Term,
    /// Where it ended, if it can.
    pub(super) ended: Option<CState>,
    pub(super) result: Option<CValue>,
    pub(super) joined: bool,
}

pub(super) struct CMachine<'m> {
    pub(super) module: &'m Module,
    pub(super) bounds: &'m Bounds,
    lines: Lines<'m>,
    pub(super) knowledge: &'m mut Knowledge,
    pub(super) flows: &'m mut FxHashMap<String, Rc<Flow>>,
    pub(super) program: ProofProgram,
    pub(super) phase: CPhase,
    /// The thread that is followed, and the one of the program it is.
    pub(super) thread: usize,
    pub(super) thread_ids: FxHashMap<usize, ThreadId>,
    /// By thread: threads it started that may be running.
    pub(super) running: FxHashMap<usize, u32>,
    pub(super) parents: FxHashMap<usize, usize>,
    pub(super) followed: Vec<Followed>,
    pub(super) waiting: Vec<Waiting>,
    /// When waits for conditions end for no reason.
    pub(super) woken: Vec<Term>,
    /// For how many threads barriers wait.
    pub(super) parties: FxHashMap<u64, u64>,
    /// By attribute: the type of mutexes that are made with it. And mutexes that were made recursive.
    pub(super) mutex_types: FxHashMap<u64, u64>,
    pub(super) recursive: FxHashSet<u64>,
    /// Locks that were initialised, and when.
    pub(super) renewed: Vec<(u64, Term)>,
    /// Where the whole process ends in the middle.
    pub(super) exits: Vec<Term>,
    /// Did the program ask how often the power failed?
    pub(super) asked: bool,
    /// Paths that left their thread in the middle.
    pub(super) left: Vec<(CState, Option<CValue>)>,
    pub(super) calls: Vec<String>,
    /// Locals of the functions that are being followed.
    pub(super) allocas: Vec<u64>,
    /// By cell and width: what stands for its content where nobody wrote it.
    pub(super) garbage: FxHashMap<(u64, u8), Term>,
    pub(super) garbage_terms: FxHashSet<Term>,
    pub(super) globals: FxHashMap<String, u64>,
    pub(super) functions: Vec<String>,
    pub(super) locations: FxHashMap<u64, LocId>,
    /// By location: its cell.
    pub(super) cell_of: Vec<u64>,
    lines_of_memory: FxHashMap<u64, LineId>,
    labels: FxHashMap<PlaceId, String>,
    places: FxHashMap<PlaceId, Option<Arc<Place>>>,
    pub(super) domains: FxHashMap<Term, Option<Rc<ValueSet>>>,
    /// Where the present instruction is.
    pub(super) here: Option<PlaceId>,
    pub(super) steps: usize,
    /// Rounds after which a loop whose own condition goes on and on is given up, and the first that was.
    pub(super) patience: u32,
    pub(super) endless: Option<Refusal>,
    /// Reads of the recovery from here on are inside a region of a checksum, or ignored.
    pub(super) unjudged: usize,
    /// The atomic block that is followed.
    pub(super) block: super::blocks::FollowedBlock,
    /// What the built-in function just called returned.
    pub(super) answer: Option<CValue>,
}

/// Addresses of functions.
pub(super) const CODE: u64 = 0x40_0000;

impl<'m> CMachine<'m> {
    pub(super) fn new(
        module: &'m Module,
        bounds: &'m Bounds,
        lines: Lines<'m>,
        knowledge: &'m mut Knowledge,
        flows: &'m mut FxHashMap<String, Rc<Flow>>,
    ) -> CMachine<'m> {
        CMachine {
            module,
            bounds,
            lines,
            knowledge,
            flows,
            program: ProofProgram::default(),
            phase: CPhase::Before,
            thread: 0,
            thread_ids: FxHashMap::default(),
            running: FxHashMap::default(),
            parents: FxHashMap::default(),
            followed: Vec::new(),
            waiting: Vec::new(),
            woken: Vec::new(),
            parties: FxHashMap::default(),
            mutex_types: FxHashMap::default(),
            recursive: FxHashSet::default(),
            renewed: Vec::new(),
            exits: Vec::new(),
            asked: false,
            left: Vec::new(),
            calls: Vec::new(),
            allocas: Vec::new(),
            garbage: FxHashMap::default(),
            garbage_terms: FxHashSet::default(),
            globals: FxHashMap::default(),
            functions: module.functions.iter().map(|f| f.name.clone()).collect(),
            locations: FxHashMap::default(),
            cell_of: Vec::new(),
            block: Default::default(),
            lines_of_memory: FxHashMap::default(),
            labels: FxHashMap::default(),
            places: FxHashMap::default(),
            domains: FxHashMap::default(),
            here: None,
            steps: 0,
            patience: 0,
            endless: None,
            answer: None,
            unjudged: 0,
        }
    }

    pub(super) fn begin(&mut self, phase: CPhase) {
        self.phase = phase;
        self.thread = 0;
        self.followed.clear();
        self.left.clear();
        self.renewed.clear();
        self.running.clear();
        self.calls.clear();
        self.allocas.clear();
        self.here = None;
        if phase == CPhase::Before {
            self.program.threads.push("main".to_owned());
            self.thread_ids.insert(0, ThreadId(0));
        }
    }

    pub(super) fn main(&mut self, main: &'m Function, context: CallContext) -> Go<()> {
        let truth = self.program.terms.truth(true);
        let state = CState {
            condition: truth,
            memory: Rc::default(),
        };
        self.make_globals(context)?;
        self.assumes("the program is what clang makes of it without optimisation (-O0)");
        if self.bounds.sv_comp {
            self.assumes("stores reach memory at once (--sv-comp)");
        }
        if self.phase == CPhase::After {
            self.assumes("the power fails once at most");
        }
        let arguments = self.command_line();
        let arguments = arguments.into_iter().take(main.parameters.len()).collect();
        let mut state = state;
        for constructor in self.constructors() {
            if let Some(function) = self.module.function(&constructor) {
                match self.run(function, Vec::new(), state, context)? {
                    Some((after, _)) => state = after,
                    None => return Ok(()),
                }
            }
        }
        let returned = self.run(main, arguments, state, context)?;
        if let Some((state, Some(CValue::Int(code)))) = &returned {
            self.leaves_with(state, *code)?;
        }
        if self.phase == CPhase::Before {
            let mut gone = self.program.terms.truth(false);
            gone = returned.map_or(gone, |(state, _)| state.condition);
            for at in 0..self.exits.len() {
                gone = self.program.terms.or(gone, self.exits[at]);
            }
            self.deadlocks(gone);
        }
        Ok(())
    }

    /// Functions that run before `main`, as C++ has them for objects at file scope.
    fn constructors(&self) -> Vec<String> {
        let list = self
            .module
            .globals
            .iter()
            .find(|g| g.name == "llvm.global_ctors");
        let Some(Constant::Aggregate(entries)) = list.and_then(|g| g.initial.clone()) else {
            return Vec::new();
        };
        let name = |entry: &(Type, Constant)| match &entry.1 {
            Constant::Aggregate(fields) => fields.iter().find_map(|(_, field)| match field {
                Constant::Global(name) => Some(name.clone()),
                _ => None,
            }),
            _ => None,
        };
        entries.iter().filter_map(name).collect()
    }

    pub(super) fn touches_persistent_memory(&self) -> bool {
        let mut cells = self.knowledge.cells.keys();
        cells.any(|&cell| super::knowledge::is_persistent(cell))
    }

    pub(super) fn finish(mut self) -> ProofProgram {
        std::mem::take(&mut self.program)
    }

    pub(super) fn layout(&self) -> Layout<'m> {
        self.module.layout()
    }

    pub(super) fn refuse<T>(&self, what: impl Into<String>) -> Go<T> {
        Err(Stop::Refused(Refusal {
            place: self.here.and_then(|id| self.module.place(id)),
            what: what.into(),
        }))
    }

    /// The source line of the present instruction, with its place.
    pub(super) fn label(&mut self) -> String {
        let Some(here) = self.here else {
            return "somewhere".to_owned();
        };
        if let Some(known) = self.labels.get(&here) {
            return known.clone();
        }
        let label = match self.module.place(here) {
            None => "somewhere".to_owned(),
            Some(place) => {
                let file = place.file.rsplit('/').next().unwrap_or_default();
                match (self.lines)(&place) {
                    Some(text) => format!("{} ({file}:{})", text.trim(), place.line),
                    None => format!("{file}:{}", place.line),
                }
            }
        };
        self.labels.insert(here, label.clone());
        label
    }

    fn place(&mut self) -> Option<Arc<Place>> {
        let here = self.here?;
        let module = self.module;
        let known = self.places.entry(here);
        known
            .or_insert_with(|| module.place(here).map(Arc::new))
            .clone()
    }

    pub(super) fn event(
        &mut self,
        guard: Term,
        kind: ProofEventKind,
        joined: bool,
    ) -> Go<ProofEventId> {
        if self.program.events.len() >= self.bounds.events {
            return self.refuse(format!(
                "the program has more than {} events up to here",
                self.bounds.events
            ));
        }
        let label = self.label();
        let place = self.place();
        let thread = self.thread_ids[&self.thread];
        self.program.events.push(ProofEvent {
            thread,
            guard,
            kind,
            joined,
            block: self.block.number(),
            label,
            place,
        });
        Ok(ProofEventId(self.program.events.len() as u32 - 1))
    }

    /// Something that must hold if this path comes here.
    pub(super) fn check(&mut self, state: &CState, holds: Term, what: &str) -> Go<()> {
        if self.program.terms.constant_of(holds) == Some(1) {
            return Ok(());
        }
        let label = format!("{what}: {}", self.label());
        match self.phase {
            CPhase::Before => {
                let id = self.event(state.condition, ProofEventKind::Assert { holds }, false)?;
                self.program.events[id.index()].label = label;
            }
            CPhase::After => self.program.recovery.checks.push(Check {
                guard: state.condition,
                holds,
                label,
            }),
        }
        Ok(())
    }

    /// A path that was unrolled as far as it is.
    pub(super) fn bound(&mut self, state: &CState) -> Go<()> {
        let within = self.program.terms.truth(false);
        let label = self.label();
        match self.phase {
            CPhase::Before => {
                self.event(state.condition, ProofEventKind::Bound { within }, false)?;
            }
            CPhase::After => self.program.recovery.bounds.push(Check {
                guard: state.condition,
                holds: within,
                label,
            }),
        }
        Ok(())
    }

    pub(super) fn assume(&mut self, state: &mut CState, holds: Term) -> Go<()> {
        state.condition = self.program.terms.and(state.condition, holds);
        match self.program.terms.constant_of(state.condition) {
            Some(0) => Err(Stop::Ended),
            _ => Ok(()),
        }
    }

    pub(super) fn line(&mut self, address: u64) -> LineId {
        let number = address / 64;
        if let Some(&known) = self.lines_of_memory.get(&number) {
            return known;
        }
        let line = self.program.add_line();
        self.lines_of_memory.insert(number, line);
        line
    }

    /// Where two ways meet.
    pub(super) fn meet(&mut self, a: CState, b: CState) -> CState {
        let first = self.first_way(a.condition, b.condition);
        let condition = self.program.terms.either_path(a.condition, b.condition);
        if Rc::ptr_eq(&a.memory, &b.memory) {
            return CState {
                condition,
                memory: a.memory,
            };
        }
        let mut memory = BTreeMap::new();
        let cells: std::collections::BTreeSet<u64> =
            a.memory.keys().chain(b.memory.keys()).copied().collect();
        for cell in cells {
            let of = |memory: &BTreeMap<u64, Term>| memory.get(&cell).copied();
            let value = match (of(&a.memory), of(&b.memory)) {
                (Some(x), Some(y)) if x == y => x,
                // A local of a function that was left on one way: nobody asks for it.
                (None, _) | (_, None) if self.has_left(cell) => continue,
                (x, y) => {
                    let (x, y) = (
                        x.unwrap_or_else(|| self.untouched(cell)),
                        y.unwrap_or_else(|| self.untouched(cell)),
                    );
                    // A local of a function that was left on one way has no size any more; nobody asks for it.
                    if self.program.terms.width(x) != self.program.terms.width(y) {
                        continue;
                    }
                    self.program.terms.choose(first, x, y)
                }
            };
            memory.insert(cell, value);
        }
        CState {
            condition,
            memory: Rc::new(memory),
        }
    }

    /// Is it a local of a function of this thread that has returned?
    pub(super) fn has_left(&self, cell: u64) -> bool {
        let object = self.knowledge.object(cell, 1);
        let own = |kind| matches!(kind, ObjectKind::Local { thread } if thread == self.thread);
        object.is_some_and(|(base, object)| own(object.kind) && !self.allocas.contains(&base))
    }

    /// Where two ways meet, what says that it was the first.
    pub(super) fn first_way(&mut self, a: Term, b: Term) -> Term {
        let terms = &mut self.program.terms;
        let of_b = terms.conjuncts(b);
        let own: Vec<Term> = terms
            .conjuncts(a)
            .into_iter()
            .filter(|t| !of_b.contains(t))
            .collect();
        // One condition and its negation say all there is to say.
        for &condition in &own {
            let not = terms.not(condition);
            if of_b.contains(&not) {
                return condition;
            }
        }
        terms.conjunction(&own)
    }

    pub(super) fn choose(&mut self, condition: Term, a: &CValue, b: &CValue) -> Option<CValue> {
        Some(match (a, b) {
            (CValue::Int(a), CValue::Int(b)) => {
                let terms = &mut self.program.terms;
                if terms.width(*a) != terms.width(*b) {
                    return None;
                }
                CValue::Int(terms.choose(condition, *a, *b))
            }
            (CValue::Many(a), CValue::Many(b)) if a.len() == b.len() => {
                let mut all = Vec::new();
                for (a, b) in a.iter().zip(b) {
                    all.push(self.choose(condition, a, b)?);
                }
                CValue::Many(all)
            }
            _ => return None,
        })
    }
}
