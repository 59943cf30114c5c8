//! What is kept of a run that is told to people: who called, and where blocks of the heap come from.

use super::activations::Activations;
use landfall_explore::schedule::{Process, Step};
use landfall_vocab::record::{RecordKind, Traced};
use std::collections::HashMap;

/// A block of the heap, and the return addresses of who asked for it, innermost first.
#[derive(Clone, Debug, Default)]
pub struct NamedBlock {
    pub address: u64,
    pub length: u64,
    pub stack: Vec<u64>,
}

/// Call stacks of one execution.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// In the order in which they were handed out.
    pub blocks: Vec<NamedBlock>,
    /// Of each transition; none of what a store buffer does.
    pub stacks: Vec<Vec<u64>>,
    /// Of the first transition at each site.
    pub at_site: HashMap<u32, Vec<u64>>,
    /// Of what each thread last accessed at a site, where that is no transition.
    accesses: HashMap<(usize, u32), Vec<u64>>,
    /// Who had what on stacks.
    pub activations: Activations,
    /// What each thread announced last.
    last: Vec<Vec<u64>>,
    /// The first thread that failed, and whom it had joined since its last transition.
    failed: Option<(Process, Vec<(Process, u32)>)>,
}

impl Naming {
    pub(super) fn begin(&mut self) {
        *self = Naming::default();
    }

    pub(in super::super) fn record(&mut self, record: &Traced<'_>) {
        self.activations.record(record);
        let thread = usize::from(record.thread);
        match record.kind {
            RecordKind::Stack if record.flags != 0 => {
                if self.last.len() <= thread {
                    self.last.resize(thread + 1, Vec::new());
                }
                let (words, _) = record.payload.as_chunks::<8>();
                self.last[thread] = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            }
            RecordKind::Block => self.blocks.push(NamedBlock {
                address: record.value,
                length: record.offset,
                stack: self.last.get(thread).cloned().unwrap_or_default(),
            }),
            _ => {}
        }
    }

    pub(super) fn step(&mut self, step: &Step, commits: bool) {
        let last = self.last.get(usize::from(step.process));
        let stack = last.filter(|_| !commits).cloned().unwrap_or_default();
        if !stack.is_empty() {
            let known = self.at_site.entry(step.site);
            known.or_insert_with(|| stack.clone());
        }
        self.stacks.push(stack);
    }

    /// A thread has accessed something, and that is no transition.
    pub(super) fn access(&mut self, thread: usize, site: u32) {
        if let Some(stack) = self.last.get(thread) {
            self.accesses.insert((thread, site), stack.clone());
        }
    }

    /// Who called when a thread accessed something there that was no transition.
    pub fn accessed(&self, thread: usize, site: u32) -> Option<&Vec<u64>> {
        self.accesses.get(&(thread, site))
    }

    /// A thread fails, having joined these since its last transition.
    pub(super) fn fails(&mut self, thread: usize, joined: &[(Process, u32)]) {
        (self.failed).get_or_insert_with(|| (thread as Process, joined.to_vec()));
    }

    /// The first thread that failed, and whom it had joined since its last transition: processes, and up to which tick.
    pub fn failed(&self) -> Option<(Process, &[(Process, u32)])> {
        let (thread, joined) = self.failed.as_ref()?;
        Some((*thread, joined))
    }

    /// Where a thread is that could not go on: who called what it announced last.
    pub fn announced(&self, thread: usize) -> Option<&Vec<u64>> {
        self.last.get(thread).filter(|stack| !stack.is_empty())
    }

    /// The block that an address lies in, the newest if several have been there, and its number.
    pub fn block(&self, address: u64) -> Option<(usize, &NamedBlock)> {
        let inside = |(_, block): &(usize, &NamedBlock)| {
            (block.address..block.address + block.length.max(1)).contains(&address)
        };
        self.blocks.iter().enumerate().rev().find(inside)
    }
}
