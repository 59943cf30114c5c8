//! What threads did to each other that is no step of a schedule.

use landfall_vocab::record::Origin;
use landfall_vocab::record::unseen;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnseenKind {
    /// Assembly that nobody took apart.
    Assembly,
    /// Memory that others may use was unmapped, protected, moved or emptied.
    Mapping,
    Signal,
    Timer,
    /// Files, pipes, sockets.
    File,
    /// State inside libc.
    Library,
    /// Memory that another thread uses was handed to a function which nobody knows.
    Handed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unseen {
    pub what: UnseenKind,
    pub origin: Origin,
}

impl Unseen {
    pub(super) fn new(code: u8, origin: Origin) -> Unseen {
        let what = match code {
            unseen::ASSEMBLY => UnseenKind::Assembly,
            unseen::MAPPING => UnseenKind::Mapping,
            unseen::SIGNAL => UnseenKind::Signal,
            unseen::TIMER => UnseenKind::Timer,
            unseen::FILE => UnseenKind::File,
            _ => UnseenKind::Library,
        };
        Unseen { what, origin }
    }
}
