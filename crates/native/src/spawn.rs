//! Starting servers. All of them are started by one thread that lives as long as this process: the kernel's "die with your
//! parent" means the parent *thread*, and worker threads come and go.

use crate::program::Program;
use landfall_vocab::shared::{CONTROL_FD, PLAIN_PROCESSOR, PROCESSOR, SERVE};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

type Start = Box<dyn FnOnce() -> io::Result<Child> + Send>;

struct Request {
    start: Start,
    reply: Sender<io::Result<Child>>,
}

static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();

/// Starts a program as a server on the given shared memory.
pub(crate) fn spawn(program: &Program, control: i32, errors: std::fs::File) -> io::Result<Child> {
    let program = program.clone();
    on_the_spawner(move || spawn_here(&program, control, errors))
}

/// Starts a process on the thread that lives as long as this process.
pub(crate) fn on_the_spawner(
    start: impl FnOnce() -> io::Result<Child> + Send + 'static,
) -> io::Result<Child> {
    let spawner = SPAWNER.get_or_init(|| {
        let (requests, incoming) = channel::<Request>();
        let thread = std::thread::Builder::new().name("landfall-spawner".into());
        let started = thread.spawn(move || {
            for request in incoming {
                // The requester waits; if it is gone, dropping the reply is all there is to do.
                let _ = request.reply.send((request.start)());
            }
        });
        drop(started);
        requests
    });
    let (reply, answer) = channel();
    let start = Box::new(start);
    let gone = || io::Error::other("the thread that starts programs is gone");
    spawner.send(Request { start, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

fn spawn_here(program: &Program, control: i32, errors: std::fs::File) -> io::Result<Child> {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments);
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    command
        .env_clear()
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .env(PROCESSOR, PLAIN_PROCESSOR)
        .env(SERVE, "1");
    command
        .stdin(match &program.stdin {
            Some(input) => input.stdin()?,
            None => Stdio::null(),
        })
        .stdout(Stdio::null())
        .stderr(errors);
    let parent = std::process::id();
    // SAFETY: runs between fork and exec; only calls that are safe there, and nothing allocates.
    unsafe {
        command.pre_exec(move || {
            // A group of its own: Ctrl-C on the terminal is the checker's to handle, and the whole group can be killed.
            libc::setpgid(0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(127);
            }
            if libc::personality(libc::ADDR_NO_RANDOMIZE as u64) < 0 {
                return Err(io::Error::last_os_error());
            }
            limit(libc::RLIMIT_CORE, 0);
            first_to_go();
            // The program has 1024; what is above is for the runtime, which keeps the run's files there.
            limit_both(libc::RLIMIT_NOFILE, 1024, 2048);
            limit(libc::RLIMIT_FSIZE, 1 << 30);
            // What somebody left open is none of the program's business, and would give its own other numbers.
            const AT_EXEC: u32 = 4; // CLOSE_RANGE_CLOEXEC
            libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, AT_EXEC);
            if libc::dup2(control, CONTROL_FD) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command.spawn()
}

/// If the machine runs out of memory, the program under test is to blame, not the checker.
fn first_to_go() {
    // SAFETY: system calls on constants; nothing depends on their success.
    unsafe {
        let fd = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
        if fd >= 0 {
            libc::write(fd, c"1000".as_ptr().cast(), 4);
            libc::close(fd);
        }
    }
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    limit_both(resource, most, most);
}

fn limit_both(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: a system call on a value of ours.
    unsafe { libc::setrlimit(resource, &raw const limit) };
}
