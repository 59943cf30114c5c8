//! What turns of loops left behind: the server's runs know, in memory that they share.

use super::NativeThreads;
use landfall_explore::schedule::Leftovers;

impl NativeThreads<'_> {
    /// A search begins in which they are overlooked, or not.
    pub(super) fn begin_leftovers(&mut self, on: bool) {
        self.ahead.forget(self.server);
        self.server.forget_leftovers(false);
        let process = self.server.process();
        // One that had to be started again knows nothing of what the first saw.
        let lost = self.leftovers_of != 0 && self.leftovers_of != process;
        self.job.threads.leftovers = on && !lost;
        if on && !lost {
            self.leftovers_of = process;
        }
    }

    pub(super) fn leftover_news(&self) -> Option<Leftovers> {
        let (some, wrong) = self.server.leftovers();
        let lost = self.job.threads.leftovers && self.leftovers_of != self.server.process();
        match (wrong || lost, some) {
            (true, _) => Some(Leftovers::Wrong),
            (false, true) => Some(Leftovers::Some),
            (false, false) => None,
        }
    }
}
