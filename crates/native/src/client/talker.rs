//! A command of the client's, running: its standard input and output are ours. It is told something, and has answered once it waits to be
//! told more, or has ended.

use crate::deadline::Deadline;
use crate::memory_file::memory_file;
use crate::spawn::on_the_spawner;
use landfall_vocab::reply::LISTENS;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer no command may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How much one may say.
const MOST_SAID: usize = 1 << 20;
/// Of what it complains of, what a report shows.
const MOST_SHOWN: usize = 400;

#[derive(Debug)]
pub(super) struct Talker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    complaints: File,
}

/// What it said, and how it goes on: with which status it has ended, or that it listens.
pub(super) struct Answered {
    pub(super) said: Vec<u8>,
    pub(super) status: u32,
    pub(super) complaint: String,
}

impl Talker {
    pub(super) fn start(command: &str, directory: &Path) -> Result<Talker, String> {
        let started = || -> io::Result<Talker> {
            let complaints = memory_file(c"landfall-client")?;
            let for_child = complaints.try_clone()?;
            let (command, directory) = (command.to_owned(), directory.to_owned());
            let mut child = on_the_spawner(move || spawn_here(&command, &directory, for_child))?;
            let missing = || io::Error::other("it has no standard input and output");
            let stdin = child.stdin.take().ok_or_else(missing)?;
            let stdout = child.stdout.take().ok_or_else(missing)?;
            does_not_wait(stdin.as_raw_fd())?;
            does_not_wait(stdout.as_raw_fd())?;
            Ok(Talker {
                child,
                stdin: Some(stdin),
                stdout,
                complaints,
            })
        };
        started().map_err(|e| format!("it cannot be started: {e}"))
    }

    /// Tells it more, or that there is no more (`None`), and waits for what it says to that.
    pub(super) fn tell(
        &mut self,
        told: Option<&[u8]>,
        until: Deadline,
    ) -> Result<Answered, String> {
        let mut left = told.unwrap_or_default();
        if told.is_none() {
            self.stdin = None;
        }
        let started = Instant::now();
        let mut said = Vec::new();
        let mut before = None;
        let mut pause = Duration::from_micros(100);
        loop {
            left = self.write(left);
            let heard = self.hear(&mut said)?;
            if let Ok(Some(status)) = self.child.try_wait() {
                // What it wrote before its end; whoever it left behind may still hold the pipe.
                self.hear(&mut said)?;
                return Ok(self.ended(said, status));
            }
            let now = (left.is_empty() && !heard)
                .then(|| self.listens())
                .flatten();
            if now.is_some() && now == before {
                return Ok(Answered {
                    said,
                    status: LISTENS,
                    complaint: String::new(),
                });
            }
            before = now;
            if until.reached().is_some() {
                return Err("there is no time left".to_owned());
            }
            if started.elapsed() > ANSWERS_WITHIN {
                return Err(format!(
                    "it neither reads nor ends: it was given {} s",
                    ANSWERS_WITHIN.as_secs()
                ));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Writes as much as the pipe takes. Who does not read gets nothing.
    fn write<'a>(&mut self, mut left: &'a [u8]) -> &'a [u8] {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !left.is_empty()) {
            match stdin.write(left) {
                Ok(written) => left = &left[written..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return &[],
            }
        }
        left
    }

    /// Reads what it has said since; whether it said something.
    fn hear(&mut self, said: &mut Vec<u8>) -> Result<bool, String> {
        let before = said.len();
        let mut chunk = [0; 4096];
        loop {
            match self.stdout.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => said.extend(&chunk[..read]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            if said.len() > MOST_SAID {
                return Err("it says more than 1 MiB at once".to_owned());
            }
        }
        Ok(said.len() > before)
    }

    /// All of its processes sleep, one of them until there is something to read, and there is nothing that they have not read. A number
    /// that is another one as soon as any of them has done something in between.
    fn listens(&self) -> Option<u64> {
        if let Some(stdin) = &self.stdin
            && unread(stdin.as_raw_fd()) > 0
        {
            return None;
        }
        let mut reads = self.stdin.is_none();
        let mut switches = 0u64;
        for process in members_of(self.child.id()) {
            for thread in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
                let thread = thread.ok()?.path();
                let status = std::fs::read_to_string(thread.join("status")).ok()?;
                match field(&status, "State:")?.chars().next()? {
                    'S' => {}
                    'Z' | 'X' => continue,
                    _ => return None,
                }
                let count: u64 = field(&status, "voluntary_ctxt_switches:")?.parse().ok()?;
                switches = switches.wrapping_mul(31).wrapping_add(count + 1);
                let call = std::fs::read_to_string(thread.join("syscall")).ok()?;
                match call.split(' ').next()?.parse().ok()? {
                    libc::SYS_nanosleep | libc::SYS_clock_nanosleep => return None,
                    libc::SYS_read
                    | libc::SYS_readv
                    | libc::SYS_recvfrom
                    | libc::SYS_recvmsg
                    | libc::SYS_poll
                    | libc::SYS_ppoll
                    | libc::SYS_select
                    | libc::SYS_pselect6
                    | libc::SYS_epoll_wait
                    | libc::SYS_epoll_pwait => reads = true,
                    _ => {}
                }
            }
        }
        reads.then_some(switches)
    }

    fn ended(&mut self, said: Vec<u8>, status: ExitStatus) -> Answered {
        let mut text = Vec::new();
        let _ = self.complaints.rewind();
        let _ = (&self.complaints).take(1 << 16).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let last = text.trim_end().lines().next_back().unwrap_or_default();
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => status.to_string(),
        };
        let complaint = match last.trim() {
            "" => how,
            last => format!("{how}: {last}"),
        };
        Answered {
            said,
            // Never the number that means something else.
            status: status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u32 & 0xffff,
            complaint: complaint.chars().take(MOST_SHOWN).collect(),
        }
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        // SAFETY: the group was created for this command, whose process is reaped only below.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn_here(command: &str, directory: &Path, complaints: File) -> io::Result<Child> {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", command])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(complaints);
    let parent = std::process::id();
    // SAFETY: runs between fork and exec; only calls that are safe there, and nothing allocates.
    unsafe {
        shell.pre_exec(move || {
            // A group of its own: what it starts is ended with it.
            libc::setpgid(0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(127);
            }
            Ok(())
        });
    }
    shell.spawn()
}

fn does_not_wait(file: i32) -> io::Result<()> {
    // SAFETY: a system call on a descriptor that is open.
    let done = unsafe { libc::fcntl(file, libc::F_SETFL, libc::O_NONBLOCK) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Bytes in a pipe.
fn unread(file: i32) -> i32 {
    let mut count = 0;
    // SAFETY: the kernel writes one number, ours.
    let done = unsafe { libc::ioctl(file, libc::FIONREAD, &raw mut count) };
    match done {
        0 => count,
        _ => 0,
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim())
}

/// The processes of a group.
fn members_of(group: u32) -> Vec<u32> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return vec![group];
    };
    let number = |entry: io::Result<std::fs::DirEntry>| -> Option<u32> {
        entry.ok()?.file_name().to_str()?.parse().ok()
    };
    let belongs = |&process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // Behind its name, which may have anything in it: state, parent, group.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(2) == Some(&group.to_string())
    };
    all.filter_map(number).filter(belongs).collect()
}
