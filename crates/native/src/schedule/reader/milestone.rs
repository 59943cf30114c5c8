//! What a run repeats of the one before is not taken in again: before some choices the state of the reader is kept, and a run
//! that is known to begin like the last one goes on from the newest of these that it shares with it.
//!
//! Here everything is named that one execution changes, field by field: a new one does not compile before somebody said whether it
//! is to be kept.

use super::{Open, ReaderThread, StoredAs, TraceReader};
use landfall_explore::schedule::{
    Birth, Process, Processes, SourceFence, ThreadFailure, Trace, Trailing, WriteBack,
};

/// Choices from one milestone to the next, at least: fewer are read sooner than a state is copied.
const APART: usize = 2;
/// Kept at one time.
const MOST: usize = 24;

#[derive(Clone, Debug, Default)]
struct Milestone {
    /// Choices and bytes of the trace before it.
    choices: usize,
    bytes: usize,
    threads: Vec<ReaderThread>,
    /// Synchronisation objects that were used, and their words.
    words: Vec<(u32, u64)>,
    arrivals: Vec<(u32, u64, Process, u32)>,
    open: Option<Open>,
    at: usize,
    created: usize,
    creators: (usize, bool),
    others: Vec<(usize, u64)>,
    apart: usize,
    stored_as: StoredAs,
    trailing: Vec<Trailing>,
    fences: Vec<SourceFence>,
    write_backs: Vec<WriteBack>,
    births: Vec<Birth>,
    failures: Vec<ThreadFailure>,
    assumed: Processes,
}

/// Those of the last run, by their place in it; and some whose memory is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Milestones {
    kept: Vec<Milestone>,
    spare: Vec<Milestone>,
}

impl Clone for ReaderThread {
    fn clone(&self) -> ReaderThread {
        let mut copy = ReaderThread::default();
        copy.clone_from(self);
        copy
    }

    /// Without allocating, once there is room.
    fn clone_from(&mut self, from: &ReaderThread) {
        let ReaderThread {
            tick,
            stepped,
            born,
            inherited,
            joined,
            joined_set,
            meets,
            drained,
            buffer,
            pushed,
            committed,
            own,
            entries,
            epoch,
            floor,
            watches,
            site,
            sealed,
            in_block,
            unjudged,
            section,
            questions,
        } = from;
        (self.tick, self.stepped, self.born) = (*tick, *stepped, *born);
        self.inherited = *inherited;
        self.joined.clone_from(joined);
        self.joined_set = *joined_set;
        (self.meets, self.drained) = (*meets, *drained);
        self.buffer.clear();
        self.buffer.extend(buffer.iter().copied());
        (self.pushed, self.committed) = (*pushed, *committed);
        self.own.clone_from(own);
        self.entries.clone_from(entries);
        self.epoch = *epoch;
        self.floor.clone_from(floor);
        self.watches.clone_from(watches);
        (self.site, self.sealed, self.in_block) = (*site, *sealed, *in_block);
        (self.section, self.unjudged) = (*section, *unjudged);
        self.questions.clone_from(questions);
    }
}

impl TraceReader {
    /// A run that shares so many choices with the last one begins: takes up the newest milestone among them. Choices and bytes of
    /// the trace that need not be read.
    pub(in super::super) fn go_back(
        &mut self,
        choices: usize,
        trace: &mut Trace,
    ) -> (usize, usize) {
        let kept = &mut self.milestones.kept;
        while let Some(later) = kept.pop_if(|milestone| milestone.choices > choices) {
            self.milestones.spare.push(later);
        }
        let Some(milestone) = kept.last() else {
            return (0, 0);
        };
        let Milestone {
            choices,
            bytes,
            threads,
            words,
            arrivals,
            open,
            at,
            created,
            creators,
            others,
            apart,
            stored_as,
            trailing,
            fences,
            write_backs,
            births,
            failures,
            assumed,
        } = milestone;
        self.threads.clone_from(threads);
        for &(object, word) in words {
            self.words[object as usize] = word;
            self.used.push(object);
        }
        self.arrivals.clone_from(arrivals);
        (self.open, self.at, self.stored_as) = (*open, *at, *stored_as);
        (self.created, self.creators) = (*created, *creators);
        self.others.clone_from(others);
        self.apart = *apart;
        for access in trailing {
            self.told.first_time(access, self.run);
        }
        trace.trailing.clone_from(trailing);
        trace.fences.clone_from(fences);
        trace.write_backs.clone_from(write_backs);
        trace.births.clone_from(births);
        trace.failures.clone_from(failures);
        trace.assumed.clone_from(assumed);
        (*choices, *bytes)
    }

    /// The next record is a choice, and the next run may share what is before it.
    pub(in super::super) fn keep_milestone(&mut self, choices: usize, bytes: usize, trace: &Trace) {
        let Milestones { kept, spare } = &mut self.milestones;
        if kept.last().map_or(0, |last| last.choices) + APART > choices {
            return;
        }
        if kept.len() == MOST {
            spare.push(kept.remove(MOST / 2));
        }
        let mut milestone = spare.pop().unwrap_or_default();
        for thread in &mut self.threads {
            thread.entries.share();
        }
        let TraceReader {
            threads,
            words,
            used,
            arrivals,
            open,
            at,
            created,
            creators,
            others,
            apart,
            stored_as,
            // Nobody is in a critical section of one transition where there is a choice.
            accessed: _,
            signalled: _,
            trailing_before: _,
            stores: _,
            // Of the whole search.
            objects: _,
            sites: _,
            creations: _,
            again_seen: _,
            again: _,
            companions: _,
            members: _,
            touched: _,
            non_temporal: _,
            more_lines: _,
            all_stream: _,
            crowd: _,
            block_seen: _,
            blocks: _,
            mapping_seen: _,
            mappings: _,
            transaction_seen: _,
            transactions: _,
            atomics: _,
            late: _,
            buffered: _,
            most: _,
            streams: _,
            wanted: _,
            foreign: _,
            unseen: _,
            observed: _,
            handed: _,
            guessed: _,
            naming: _,
            whole: _,
            // What the job says.
            keep: _,
            known: _,
            // Known from what was told.
            run: _,
            told: _,
            milestones: _,
            // At the end of a run.
            signals: _,
            last_others: _,
        } = &*self;
        let Trace {
            // The search keeps these.
            steps: _,
            enabled: _,
            sets: _,
            transaction_stores: _,
            attempts: _,
            trailing,
            fences,
            write_backs,
            births,
            failures,
            assumed,
            // The search begins anew.
            broken: _,
            // At the end of a run.
            blocked: _,
            end: _,
            alike: _,
        } = trace;
        (milestone.choices, milestone.bytes) = (choices, bytes);
        milestone.threads.clone_from(threads);
        milestone.words.clear();
        let words = used.iter().map(|&object| (object, words[object as usize]));
        milestone.words.extend(words);
        milestone.arrivals.clone_from(arrivals);
        (milestone.open, milestone.at, milestone.stored_as) = (*open, *at, *stored_as);
        (milestone.created, milestone.creators) = (*created, *creators);
        milestone.others.clone_from(others);
        milestone.apart = *apart;
        milestone.trailing.clone_from(trailing);
        milestone.fences.clone_from(fences);
        milestone.write_backs.clone_from(write_backs);
        milestone.births.clone_from(births);
        milestone.failures.clone_from(failures);
        milestone.assumed.clone_from(assumed);
        self.milestones.kept.push(milestone);
    }
}
