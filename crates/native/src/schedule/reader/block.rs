//! Atomic blocks: beginning one is a transition that is in conflict with every access of others, because it may do anything. So is a place
//! where the program asks that others may go on (`lf_preempt`). Taking memory away is a block, too; where a program does that, a store is a
//! transition already when it goes into the buffer: the memory may be gone by then.

use super::{TraceReader, word};
use landfall_explore::schedule::{Access, Act, Orders, Step, ThreadsError, Trace};
use landfall_vocab::record::{Traced, access, step};
use landfall_vocab::shared::BLOCKS;

impl TraceReader {
    /// A block begins or ends.
    pub(super) fn block(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let issues = record.flags & (access::READ | access::WRITE) == access::READ;
        if record.flags & access::WRITE == 0 && !issues {
            self.threads[thread].in_block = false;
            return Ok(());
        }
        self.block_seen |= !issues;
        self.mapping_seen |= !issues && word(record, 2) != 0;
        let site = self.site(record);
        self.threads[thread].site = site;
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut step = self.skeleton(&open, site, trace);
        (step.object, step.mask) = (self.objects.of(BLOCKS), 1);
        if issues {
            step.access = Access::Read;
            return self.finish(&open, step, trace);
        }
        if open.kind == step::PREEMPT {
            // It does nothing, wherever it comes.
            step.access = Access::Write;
            return self.finish(&open, step, trace);
        }
        (step.act, step.access) = (Act::Rmw, Access::Write);
        step.orders = Orders::strongest(Act::Rmw, true);
        (step.found, step.left) = (word(record, 0), word(record, 1));
        self.finish(&open, step, trace)?;
        self.threads[thread].in_block = true;
        Ok(())
    }

    /// An access of memory comes before or after each block.
    pub(super) fn concerns_blocks(&mut self, step: &mut Step, trace: &mut Trace) {
        let reads = matches!(
            step.act,
            Act::Load | Act::Store | Act::Commit | Act::Rmw | Act::Cas
        );
        if !self.blocks || !(reads || step.more != 0) {
            return;
        }
        let blocks = self.objects.of(BLOCKS);
        // Of a block, too: with it, what it depends on is looked for among all that came before.
        step.more = match step.more {
            0 => trace.sets.watch(&[(blocks, 1)]),
            more => {
                let mut set = trace.sets.watched[more as usize].clone();
                if !set.contains(&(blocks, 1)) {
                    set.push((blocks, 1));
                }
                trace.sets.watch(&set)
            }
        };
    }
}
