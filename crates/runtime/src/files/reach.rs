//! How far a system call reaches while it is performed: further than the program does.

use crate::memory::protections;
use crate::state::run;

/// What a system call may reach while it is performed: a file that is mapped or not, protected or not.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    pub(super) files: u32,
    /// While a file grows: its new part is zeroed before it belongs to it.
    pub(super) growing_to: u64,
    /// What the program protected is open.
    pub(super) open: bool,
}

impl Reach {
    pub(crate) const NONE: Reach = Reach {
        files: 0,
        growing_to: 0,
        open: false,
    };

    /// To read a file.
    pub(crate) fn reading(file: u8) -> Reach {
        Reach {
            files: 1 << file,
            ..Reach::NONE
        }
    }

    pub(crate) fn writing(file: u8) -> Reach {
        Reach {
            open: true,
            ..Reach::reading(file)
        }
    }

    /// Is what the program protected open?
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }
}

pub(crate) fn reach(further: Reach) {
    run().reach.set(further);
    if further.open {
        protections::lift();
    }
}

/// No further than the program again.
pub(crate) fn withdraw() -> Reach {
    let before = run().reach.replace(Reach::NONE);
    if before.open {
        protections::lower();
    }
    before
}
