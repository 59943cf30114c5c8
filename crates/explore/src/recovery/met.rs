//! Which behaviours were met, for searches that do not keep one tree.

use super::{Behaviour, Searched};
use crate::subject::{Ended, Read};
use landfall_model::crash::PowerFailure;
use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Behaviours by what was read, as 128 bits of it.
#[derive(Debug, Default)]
pub(super) struct Met {
    by_path: FxHashMap<(usize, u64, u64), usize>,
}

impl Met {
    /// Enters a behaviour, or counts it once more.
    pub(super) fn meet(
        &mut self,
        found: &mut Searched,
        reads: impl Iterator<Item = Read>,
        ended: Ended,
        run: u32,
        crashes: impl FnOnce() -> Vec<PowerFailure>,
        level: usize,
    ) {
        let (mut a, mut b) = (DefaultHasher::new(), DefaultHasher::new());
        b.write_u8(1);
        for read in reads {
            read.hash(&mut a);
            read.hash(&mut b);
        }
        let key = (level, a.finish(), b.finish());
        if let Some(&at) = self.by_path.get(&key) {
            found.behaviours[at].times += 1;
            return;
        }
        self.by_path.insert(key, found.behaviours.len());
        found.behaviours.push(Behaviour {
            ended,
            run,
            crashes: crashes().into(),
            times: 1,
        });
    }
}
