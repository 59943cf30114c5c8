//! Hardware transactions: one transition each, what was accessed in it is known at its end; before it questions, whether it is aborted for no
//! reason, and who answers them. As in `landfall_testkit::interpret`, which the tests hold it against.

use super::super::numbers::is_persistent;
use super::{Open, TraceReader, word};
use landfall_explore::schedule::{
    Access, Act, Process, SectionKey, Step, ThreadsError, Trace, Trailing, TransactionStore,
};
use landfall_model::event::Atomicity;
use landfall_vocab::record::{Traced, access, step};

impl TraceReader {
    /// Threads, of the first processes as the runtime numbers them: spoilers are in the upper half of its numbers.
    pub(super) fn threads_of(&self, processes: u64) -> u64 {
        if !self.transactions {
            return processes;
        }
        let spoilers = processes >> (self.companions / 2);
        processes & ((1 << (self.companions / 2)) - 1) | spoilers << (self.most / 2)
    }

    /// The thread, or spoiler, that a record is of.
    pub(super) fn thread_of(&self, number: usize, record: &Traced<'_>) -> usize {
        match self.transactions && record.is_step(step::SPOIL) {
            true => (number + self.most / 2).saturating_sub(self.companions / 2),
            false => number,
        }
    }

    /// How many threads may have records like this one.
    pub(super) fn room(&self, record: &Traced<'_>) -> usize {
        match self.transactions && !record.is_step(step::SPOIL) {
            true => self.most / 2,
            false => self.most,
        }
    }

    /// What a thread's next transition comes after, as far as that is not said by its tick.
    fn next_of(&self, thread: usize) -> Vec<(Process, u32)> {
        let known = &self.threads[thread];
        let mut set: Vec<(Process, u32)> = known.born.to_vec();
        set.push((thread as Process, known.tick));
        set.push((self.companion(thread), known.drained));
        set.extend_from_slice(&known.floor);
        set.retain(|(_, tick)| *tick != 0);
        set.sort_unstable();
        set.dedup();
        set
    }

    /// A thread has asked its question of that number, and has not gone on since.
    fn asked(&mut self, thread: usize, number: usize, trace: &mut Trace) -> (u32, u32) {
        if self.threads[thread].questions.len() <= number {
            let joined = self.joined(thread, trace);
            let after = trace.sets.come_after(&self.next_of(thread));
            self.threads[thread].questions.resize(number, (0, 0));
            self.threads[thread].questions.push((after, joined));
        }
        self.threads[thread].questions[number]
    }

    /// A thread looks whether its attempt fails.
    pub(super) fn asks(
        &mut self,
        open: &Open,
        (object, answer): (u32, u64),
        site: u32,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        self.asked(open.thread, question(open.object), trace);
        let mut step = self.skeleton(open, site, trace);
        (step.object, step.mask, step.found) = (object, 1, answer);
        step.access = Access::Read;
        self.finish(open, step, trace)
    }

    /// Who answers it.
    pub(super) fn spoils(&mut self, open: &Open, step: &mut Step, trace: &mut Trace) {
        let of = open.thread.saturating_sub(self.most / 2);
        (step.behind, step.joined) = self.asked(of, question(open.object), trace);
        (step.object, step.mask) = (self.objects.of(open.object), 1);
        step.access = Access::Write;
    }

    pub(super) fn transaction_begins(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        self.transaction_seen = true;
        let site = self.site(record);
        self.threads[thread].site = site;
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut step = self.skeleton(&open, site, trace);
        (step.act, step.access) = (Act::Transaction, Access::Read);
        self.finish(&open, step, trace)?;
        self.accessed.clear();
        self.stores.clear();
        self.trailing_before = trace.trailing.len();
        self.threads[thread].section = Some(self.at as u32 - 1);
        // What is atomic in there is so beside others, too.
        self.threads[thread].in_block = true;
        Ok(())
    }

    /// The bytes that an access inside of a section or transaction is in conflict about: of persistent memory, stores to one line are.
    pub(super) fn whole_lines(&self, thread: usize, object: u32, mask: u64, write: bool) -> u64 {
        let persistent = || self.objects.word(object).is_some_and(is_persistent);
        match write && self.threads[thread].in_block && persistent() {
            true => u64::MAX,
            false => mask,
        }
    }

    /// A thread stores; if it is in a transaction, and that commits, this is kept.
    pub(super) fn transaction_stores(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        (object, mask): (u32, u64),
        site: u32,
    ) {
        let persistent = self.objects.word(object).is_some_and(is_persistent);
        let Some(begun) = self.threads[thread].section.filter(|_| persistent) else {
            return;
        };
        self.stores.push(TransactionStore {
            at: begun,
            object,
            mask,
            value: word(record, 1),
            atomic: match record.flags & (access::ORDERING | access::LOCKED) {
                0 => self.stored_as.atomic,
                _ => Atomicity::Release,
            },
            site,
        });
    }

    /// It commits, or is aborted: then it has only read.
    pub(super) fn transaction_ends(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) {
        self.threads[thread].in_block = false;
        let Some(begun) = self.threads[thread].section.take() else {
            return;
        };
        if word(record, 1) == 0 {
            self.accessed.retain(|access| !access.2);
            let own = |access: &Trailing| usize::from(access.thread) == thread && access.write;
            let (mut at, from) = (0, self.trailing_before);
            trace.trailing.retain(|access| {
                at += 1;
                at <= from || !own(access)
            });
        }
        if begun as usize >= self.keep {
            let step = &mut trace.steps[begun as usize];
            let writes = self.accessed.iter().any(|access| access.2);
            step.access = if writes { Access::Write } else { Access::Read };
            let key = SectionKey::of(step);
            step.section = trace.sets.transaction(key, &mut self.accessed);
            (step.found, step.left) = (word(record, 0), word(record, 1));
            if step.commits() {
                settle(&mut self.stores);
                trace.transaction_stores.append(&mut self.stores);
            }
        }
    }
}

/// Of stores to one word only what they come to is kept, in as few pieces as it is in: one version of each line has all of them.
fn settle(stores: &mut Vec<TransactionStore>) {
    let word = |store: &TransactionStore| (store.object, store.mask.trailing_zeros() / 8);
    let mut settled: Vec<TransactionStore> = Vec::with_capacity(stores.len());
    for store in stores.drain(..) {
        // Bytes of the word that were stored before, and what they hold.
        let (mut mask, mut bytes) = (0u64, [0u8; 64]);
        let mut put = |store: &TransactionStore| {
            mask |= store.mask;
            let from = store.mask.trailing_zeros() as usize;
            let count = store.mask.count_ones() as usize;
            bytes[from..from + count].copy_from_slice(&store.value.to_le_bytes()[..count]);
        };
        settled.retain(|before| {
            let same = word(before) == word(&store);
            if same {
                put(before);
            }
            !same
        });
        put(&store);
        while mask != 0 {
            let from = mask.trailing_zeros();
            let count = (mask >> from).trailing_ones().min(8);
            let piece = (u64::MAX >> (64 - count)) << from;
            let mut value = [0; 8];
            let of = &bytes[from as usize..(from + count) as usize];
            value[..of.len()].copy_from_slice(of);
            settled.push(TransactionStore {
                mask: piece,
                value: u64::from_le_bytes(value),
                ..store
            });
            mask &= !piece;
        }
    }
    *stores = settled;
}

/// The number of a question, by where it is answered.
fn question(place: u64) -> usize {
    (place >> 3) as usize & ((1 << 20) - 1)
}
