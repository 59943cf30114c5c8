//! The exit codes, a promise to scripts.

use landfall::ErrorKind;
use std::process::ExitCode;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(
    dead_code,
    reason = "the whole promise in one place, also the part that later commands keep"
)]
pub(crate) enum Exit {
    /// Searched exhaustively within the stated limits, and all is as expected.
    Clean = 0,
    /// An error in Landfall itself.
    Internal = 1,
    /// Bad arguments, or input that cannot be read. clap leaves with the same code.
    Usage = 2,
    /// No access to persistent memory and one thread: nothing to check.
    Nothing = 4,
    /// A limit was reached, and nothing was found up to there.
    Limit = 5,
    /// Something was found.
    Findings = 100,
    /// The program under test did not build.
    Build = 101,
    /// The program under test is not deterministic under control.
    Uncontrolled = 102,
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Nothing => Exit::Nothing,
            ErrorKind::Build => Exit::Build,
            ErrorKind::Uncontrolled => Exit::Uncontrolled,
            ErrorKind::Interrupted => Exit::Limit,
            ErrorKind::Internal => Exit::Internal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
