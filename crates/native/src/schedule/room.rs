//! What a search did not expect of the program, and has to start over with: more threads, streams, signals.

use super::NativeThreads;
use crate::job::Threading;
use std::sync::Arc;

impl NativeThreads<'_> {
    /// Was there too little room for the last execution? Then this says how much there must be, of threads (`most` of them) and of
    /// streams, to start over, and what threads do.
    pub fn makes_room(
        &self,
        most: usize,
        (threads, streams): (&mut usize, &mut usize),
        threading: &mut Threading,
    ) -> bool {
        match (self.more_threads, self.more_streams) {
            _ if self.mistaken => threading.run_all = true,
            (Some(more), _) if more <= most => {
                *threads = more;
                threading.creations |= self.several_create();
                threading.blocks |= self.reader.block_seen;
                threading.mappings |= self.reader.mapping_seen;
                threading.transactions |= self.reader.transaction_seen;
                threading.again |= self.reader.again_seen;
            }
            _ if self.learned_of_signals() => {
                let known = threading.signals.take().unwrap_or_default();
                threading.signals = Some(Arc::new(self.reader.signals.with(&known)));
            }
            (_, Some(more)) => {
                *streams = more;
                threading.non_temporal |= self.reader.non_temporal.1;
                let known = threading.streamed.take();
                let mut lines = known.map_or_else(Vec::new, |known| known.to_vec());
                lines.extend(&self.reader.more_lines);
                threading.streamed = Some(Arc::new(lines));
            }
            _ => return false,
        }
        true
    }

    /// Several threads create others, and the search did not expect it: start over with [`Threading::creations`].
    pub fn several_create(&self) -> bool {
        self.reader.creators.1 && !self.reader.creations
    }

    /// A thread has the number of another one, and the search did not expect it: start over with [`Threading::again`].
    pub(super) fn sees_numbers_again(&self) -> bool {
        self.reader.again_seen && !self.reader.again
    }

    /// Signals may arrive at any time, or more is known of them than the search expected: start over with [`Threading::signals`].
    pub(super) fn learned_of_signals(&self) -> bool {
        let unexpected = self.job.threads.signals.is_none() && self.server.signals();
        unexpected || !self.reader.signals.is_known()
    }

    /// How many threads of the program there is room for.
    pub fn room_for_threads(&self) -> usize {
        match self.reader.transactions {
            true => self.threads / 2,
            false => self.threads,
        }
    }

    /// There are hardware transactions, and the search did not expect it: start over with [`Threading::transactions`].
    pub(super) fn sees_transactions(&self) -> bool {
        self.reader.transaction_seen && !self.reader.transactions
    }

    /// There are atomic blocks, or memory is taken away, and the search did not expect it: start over with [`Threading::blocks`].
    pub(super) fn sees_blocks(&self) -> bool {
        self.reader.block_seen && !self.reader.blocks
            || self.reader.mapping_seen && !self.reader.mappings
    }
}
