//! Parts of a recovery in which reads are judged in another way.

use landfall_model::event::Mark;

/// How reads are judged at some point of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Region {
    #[default]
    Judged,
    /// Held back until the checksum is accepted, dropped when it is rejected.
    Checksum,
    Ignored,
}

impl Region {
    pub fn after(self, mark: Mark) -> Region {
        match (self, mark) {
            (_, Mark::IgnoreBegin) => Region::Ignored,
            (Region::Ignored, Mark::IgnoreEnd) => Region::Judged,
            // What is ignored stays so, whatever is promised inside.
            (Region::Ignored, _) => Region::Ignored,
            (_, Mark::ChecksumBegin) => Region::Checksum,
            (Region::Checksum, Mark::ChecksumAccepted | Mark::ChecksumRejected) => Region::Judged,
            (region, _) => region,
        }
    }
}
