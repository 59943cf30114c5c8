//! How front ends write programs: a [`Path`] walks through a thread and leaves events behind.

use crate::program::*;
use crate::term::Term;

impl ProofProgram {
    pub fn add_line(&mut self) -> LineId {
        self.lines += 1;
        LineId(self.lines - 1)
    }

    /// A cell that holds this constant at first.
    pub fn add_location(&mut self, name: &str, width: u8, home: Home, init: u64) -> LocId {
        let init = self.terms.constant(width, init);
        self.locations.push(Location {
            name: name.to_owned(),
            width,
            home,
            init,
            at: None,
        });
        LocId(self.locations.len() as u32 - 1)
    }

    /// A value that nothing decides.
    pub fn add_input(&mut self, name: &str, width: u8) -> Term {
        let input = self.terms.input(width);
        self.inputs.push((name.to_owned(), input));
        input
    }

    /// A thread that is there from the beginning.
    pub fn add_thread(&mut self, name: &str) -> Path {
        self.threads.push(name.to_owned());
        Path {
            thread: ThreadId(self.threads.len() as u32 - 1),
            condition: self.terms.truth(true),
        }
    }

    /// What a location holds when all threads have ended and nothing failed.
    pub fn at_the_end(&mut self, loc: LocId) -> Term {
        let width = self.location(loc).width;
        self.terms.at_the_end(loc, width)
    }
}

/// A place in a thread, and the condition under which the thread comes there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    pub thread: ThreadId,
    pub condition: Term,
}

impl Path {
    /// Any event, here.
    pub fn event(
        &self,
        program: &mut ProofProgram,
        kind: ProofEventKind,
        label: &str,
    ) -> ProofEventId {
        program.events.push(ProofEvent {
            thread: self.thread,
            guard: self.condition,
            kind,
            joined: false,
            block: None,
            label: label.to_owned(),
            place: None,
        });
        ProofEventId(program.events.len() as u32 - 1)
    }

    pub fn load(&self, program: &mut ProofProgram, loc: LocId, label: &str) -> Term {
        let event = self.event(program, ProofEventKind::Load { loc }, label);
        let width = program.location(loc).width;
        program.terms.loaded(event, width)
    }

    pub fn store(&self, program: &mut ProofProgram, loc: LocId, value: Term, label: &str) {
        self.event(program, ProofEventKind::Store { loc, value }, label);
    }

    /// A locked instruction; `effect` gives, from what it read, whether it writes and what. Returns what it read.
    pub fn rmw(
        &self,
        program: &mut ProofProgram,
        loc: LocId,
        label: &str,
        effect: impl FnOnce(&mut crate::term::Terms, Term) -> (Term, Term),
    ) -> Term {
        let next = ProofEventId(program.events.len() as u32);
        let width = program.location(loc).width;
        let old = program.terms.loaded(next, width);
        let (when, value) = effect(&mut program.terms, old);
        self.event(program, ProofEventKind::Rmw { loc, when, value }, label);
        old
    }

    /// Compare-and-swap; returns what it read and whether it wrote.
    pub fn cas(
        &self,
        program: &mut ProofProgram,
        loc: LocId,
        (expected, desired): (Term, Term),
        label: &str,
    ) -> (Term, Term) {
        let old = self.rmw(program, loc, label, |terms, old| {
            (terms.eq(old, expected), desired)
        });
        (old, program.terms.eq(old, expected))
    }

    pub fn flush(&self, program: &mut ProofProgram, line: LineId, kind: FlushKind, label: &str) {
        self.event(program, ProofEventKind::Flush { line, kind }, label);
    }

    pub fn assert(&self, program: &mut ProofProgram, holds: Term, label: &str) {
        self.event(program, ProofEventKind::Assert { holds }, label);
    }

    /// The thread goes on only if this holds. What it did before stays done.
    pub fn assume(&mut self, program: &mut ProofProgram, holds: Term) {
        self.condition = program.terms.and(self.condition, holds);
    }

    /// A loop was unrolled as far as this: a thread that would go round again stops, and the proof says so.
    pub fn bound(&mut self, program: &mut ProofProgram, within: Term, label: &str) {
        self.event(program, ProofEventKind::Bound { within }, label);
        self.assume(program, within);
    }

    /// The way on which this holds.
    #[must_use]
    pub fn when(&self, program: &mut ProofProgram, holds: Term) -> Path {
        let mut path = *self;
        path.assume(program, holds);
        path
    }

    /// Where two ways of one thread meet.
    #[must_use]
    pub fn meet(&self, program: &mut ProofProgram, other: &Path) -> Path {
        Path {
            thread: self.thread,
            condition: program.terms.either_path(self.condition, other.condition),
        }
    }

    /// Reads through a pointer: one event for each target, under the condition that the pointer is that. The targets must
    /// cover every value the pointer can have.
    pub fn load_any(
        &self,
        program: &mut ProofProgram,
        targets: &[(Term, LocId)],
        label: &str,
    ) -> Term {
        let mut value = None;
        for &(is_target, loc) in targets {
            let here = self.when(program, is_target);
            let loaded = here.load(program, loc, label);
            value = Some(match value {
                None => loaded,
                Some(others) => program.terms.choose(is_target, loaded, others),
            });
        }
        value.expect("a pointer has a target")
    }

    pub fn store_any(
        &self,
        program: &mut ProofProgram,
        targets: &[(Term, LocId)],
        value: Term,
        label: &str,
    ) {
        for &(is_target, loc) in targets {
            self.when(program, is_target)
                .store(program, loc, value, label);
        }
    }

    /// Creates a thread: everything before is ordered before everything it does.
    pub fn create(&self, program: &mut ProofProgram, name: &str) -> Path {
        let created = self.event(program, ProofEventKind::Sync, &format!("create {name}"));
        program.threads.push(name.to_owned());
        let child = Path {
            thread: ThreadId(program.threads.len() as u32 - 1),
            condition: self.condition,
        };
        let begins = child.event(program, ProofEventKind::Sync, &format!("{name} begins"));
        program.orders.push((created, begins));
        child
    }

    /// Waits for a thread whose last place is `ended`.
    pub fn join(&mut self, program: &mut ProofProgram, ended: &Path) {
        let name = program.threads[ended.thread.index()].clone();
        let ends = ended.event(program, ProofEventKind::Sync, &format!("{name} ends"));
        self.assume(program, ended.condition);
        let joins = self.event(program, ProofEventKind::Sync, &format!("join {name}"));
        program.orders.push((ends, joins));
    }
}

/// Walks through the recovery routine. It runs alone on what the power failure left, so its memory is a table of terms.
#[derive(Clone, Debug)]
pub struct Recovering {
    pub condition: Term,
    memory: Vec<Option<Term>>,
}

impl Recovering {
    pub fn new(program: &mut ProofProgram) -> Recovering {
        Recovering {
            condition: program.terms.truth(true),
            memory: Vec::new(),
        }
    }

    /// Reads a location, under a further condition (a pointer's being this target, say).
    pub fn load(&mut self, program: &mut ProofProgram, loc: LocId, when: Term) -> Term {
        let guard = program.terms.and(self.condition, when);
        program.recovery.reads.push(Observation { loc, guard });
        self.held(program, loc)
    }

    fn held(&mut self, program: &mut ProofProgram, loc: LocId) -> Term {
        let locations = program.locations.len();
        self.memory.resize(locations.max(self.memory.len()), None);
        let location = program.location(loc);
        let (width, home, init) = (location.width, location.home, location.init);
        match (self.memory[loc.index()], home) {
            (Some(value), _) => value,
            (None, Home::Persistent(_)) => program.terms.recovered(loc, width),
            (None, Home::Volatile | Home::Lock | Home::Lifetime) => init,
        }
    }

    pub fn store(&mut self, program: &mut ProofProgram, loc: LocId, value: Term, when: Term) {
        let old = self.held(program, loc);
        let happens = program.terms.and(self.condition, when);
        self.memory[loc.index()] = Some(program.terms.choose(happens, value, old));
    }

    pub fn assert(&self, program: &mut ProofProgram, holds: Term, label: &str) {
        program.recovery.checks.push(Check {
            guard: self.condition,
            holds,
            label: label.to_owned(),
        });
    }

    pub fn assume(&mut self, program: &mut ProofProgram, holds: Term) {
        self.condition = program.terms.and(self.condition, holds);
    }

    /// As [`Path::bound`].
    pub fn bound(&mut self, program: &mut ProofProgram, within: Term, label: &str) {
        program.recovery.bounds.push(Check {
            guard: self.condition,
            holds: within,
            label: label.to_owned(),
        });
        self.assume(program, within);
    }
}
