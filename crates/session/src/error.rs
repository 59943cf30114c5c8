//! Why there is no result.

use std::fmt;

/// Why there is no result: what was asked cannot be done, or went wrong.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    why: String,
}

/// Whose matter it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// What was asked for cannot be done, or a file cannot be read.
    Usage,
    /// The program touches no persistent memory and creates no threads.
    Nothing,
    /// The program did not build.
    Build,
    /// The program is not deterministic under control.
    Uncontrolled,
    /// Somebody did not want to wait: Ctrl-C, or a [`crate::Cancel`].
    Interrupted,
    /// An error of Landfall's own.
    Internal,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, why: impl fmt::Display) -> Error {
        Error {
            kind,
            why: why.to_string(),
        }
    }

    /// Of something that the user can mend.
    pub(crate) fn usage(why: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Usage, why)
    }

    /// The program could not be run at all.
    pub(crate) fn cannot_run(error: landfall_native::SubjectError) -> Error {
        let kind = match error {
            landfall_native::SubjectError::Killed { .. } => ErrorKind::Internal,
            _ => ErrorKind::Usage,
        };
        Error::new(kind, error)
    }

    /// Whose matter it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Error {}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(error) => error,
            Err(_) if landfall_native::interrupted() => {
                Error::new(ErrorKind::Interrupted, "interrupted")
            }
            Err(error) => Error::usage(format!("{error:#}")),
        }
    }
}
