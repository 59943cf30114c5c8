//! Commands that work for us: what interrupts us interrupts them, and they do not outlive us.

use crate::interrupt::{hand_on, interrupted};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

/// Runs a command to its end, in a process group of its own. Ctrl-C and SIGTERM, if they are watched, are handed on to the group.
pub fn run_below(command: &mut Command) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    // SAFETY: runs between fork and exec; one system call, and nothing allocates.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    let group = child.id() as i32;
    hand_on(Some(group));
    if interrupted() {
        // It came before there was anyone to hand it on to.
        // SAFETY: a system call; the group is there until its leader, our child, was waited for.
        unsafe { libc::kill(-group, libc::SIGTERM) };
    }
    let output = collected(&mut child);
    hand_on(None);
    let status = child.wait()?;
    let (stdout, stderr) = output?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// What it prints until its end. Its number stays taken: whoever sends it signals hits nobody else.
fn collected(child: &mut Child) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    let read = std::thread::scope(|scope| {
        let other = scope.spawn(|| stderr.map(|mut pipe| pipe.read_to_end(&mut errors)));
        let read = stdout.map(|mut pipe| pipe.read_to_end(&mut said));
        let gone = |_| io::Error::other("a thread that reads a pipe is gone");
        let other = other.join().map_err(gone)?;
        read.transpose().and(other.transpose())
    });
    await_end(child.id())?;
    read?;
    Ok((said, errors))
}

/// Waits for the end of a child without burying it.
fn await_end(child: u32) -> io::Result<()> {
    loop {
        // SAFETY: a system call that writes to a value of ours.
        let waited = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let how = libc::WEXITED | libc::WNOWAIT;
            libc::waitid(libc::P_PID, child, &raw mut info, how)
        };
        match io::Error::last_os_error() {
            _ if waited == 0 => return Ok(()),
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_and_how_it_ends() {
        let output = run_below(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]));
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            (&output.stdout[..], &output.stderr[..]),
            (&b"one\n"[..], &b"two\n"[..])
        );
        assert!(run_below(&mut Command::new("/no/such/program")).is_err());
    }
}
