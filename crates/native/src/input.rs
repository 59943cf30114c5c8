//! What a program reads from its standard input: kept in memory once, the same for every run.

use crate::interrupt::interrupted;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

/// More than this is taken for a stream without an end.
const MOST: u64 = 4 << 30;
/// Whoever waits for longer is told why.
const PATIENCE: i32 = 2_000;
const PIECE: usize = 1 << 16;

#[derive(Clone, Debug)]
pub struct Input {
    file: Arc<File>,
    length: u64,
}

impl Input {
    /// Our own standard input, to its end; none if there is nothing in it. `waits` is called if that takes long.
    pub fn standard(waits: impl FnOnce()) -> io::Result<Option<Input>> {
        let mut waits = Some(waits);
        let mut stdin = io::stdin().lock();
        let input = Input::copied(&mut stdin, || {
            while !ready(if waits.is_some() { PATIENCE } else { 200 })? {
                if interrupted() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if let Some(waits) = waits.take() {
                    waits();
                }
            }
            Ok(())
        });
        match input {
            // Nobody gave us one.
            Err(e) if e.raw_os_error() == Some(libc::EBADF) => Ok(None),
            input => input.map(|input| Some(input).filter(|input| input.length > 0)),
        }
    }

    /// A file.
    pub fn open(path: &Path) -> io::Result<Input> {
        Input::copied(&mut File::open(path)?, || Ok(()))
    }

    fn copied(
        from: &mut impl Read,
        mut before: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Input> {
        let mut file = memory_file()?;
        let (mut piece, mut length) = (vec![0; PIECE], 0u64);
        loop {
            before()?;
            let read = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted && !interrupted() => continue,
                Err(e) => return Err(e),
            };
            length += read as u64;
            if length > MOST {
                return Err(io::Error::other(
                    "more than 4 GiB: it has no end, or is a disk",
                ));
            }
            file.write_all(&piece[..read])?;
        }
        Ok(Input {
            file: Arc::new(file),
            length,
        })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// A copy that can be opened again.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        io::copy(&mut self.rewound()?, &mut File::create(path)?).map(drop)
    }

    /// With a position of its own.
    fn rewound(&self) -> io::Result<File> {
        File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    pub(crate) fn stdin(&self) -> io::Result<Stdio> {
        self.rewound().map(Stdio::from)
    }
}

/// Can standard input be read, or is it at its end?
fn ready(milliseconds: i32) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: 0,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: a system call on a value of ours.
    match unsafe { libc::poll(&raw mut poll, 1, milliseconds) } {
        0 => Ok(false),
        1 if poll.revents & libc::POLLNVAL != 0 => Err(io::Error::from_raw_os_error(libc::EBADF)),
        1 => Ok(true),
        _ => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
    }
}

fn memory_file() -> io::Result<File> {
    // SAFETY: a fresh descriptor, owned by the file from here on.
    unsafe {
        match libc::memfd_create(c"landfall-stdin".as_ptr(), libc::MFD_CLOEXEC) {
            ..0 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}
