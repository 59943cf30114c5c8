//! Accesses that are no transitions are told once: a loop does the same again and again, and between two transitions once says
//! it all.

use landfall_explore::schedule::Trailing;

/// Accesses of a thread that are remembered.
const PLACES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct ToldAccesses {
    /// Some of the last ones of each thread, with the run they are of in place of where.
    accesses: Vec<Option<Trailing>>,
}

impl ToldAccesses {
    /// It was not told before, as far as that is remembered.
    pub(super) fn first_time(&mut self, access: &Trailing, run: u32) -> bool {
        let place = access.object ^ access.site.rotate_left(3) ^ u32::from(access.write);
        let place = usize::from(access.thread) * PLACES + place as usize % PLACES;
        if place >= self.accesses.len() {
            self.accesses.resize(place + 1, None);
        }
        let alike = Trailing {
            after: run,
            ..*access
        };
        self.accesses[place].replace(alike) != Some(alike)
    }
}
