//! Programs under `tests/programs/channels` print what calls on pipes, sockets, events and sets answer: inside a run, in a fork and in
//! place, they print what they print on the machine itself.

use crate::support::{Scratch, build, programs, sources};
use landfall_native::{Isolation, Job, Outcome, Program, Server};
use std::process::Command;

#[test]
fn answers_are_the_kernel_s() {
    let scratch = Scratch::new("channels");
    for source in sources(&programs().join("channels")) {
        let name = source.display();
        let plain = scratch.0.join("plain");
        let compiled = Command::new("clang-19")
            .args(["-w", "-o"])
            .args([&plain, &source])
            .status()
            .expect("clang-19");
        assert!(compiled.success(), "{name}");
        // With no descriptor that somebody left open.
        let closes = "for n in /proc/self/fd/*; do n=${n##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; exec \"$0\"";
        let real = Command::new("bash")
            .args(["-c", closes])
            .arg(&plain)
            .current_dir(&scratch.0)
            .output()
            .expect("it runs");
        assert!(real.status.success(), "{name}: {:?}", real.status);
        let wanted = String::from_utf8(real.stdout).expect("text");
        assert!(wanted.lines().count() > 20, "{name} prints next to nothing");
        let built = build(&source, &scratch.0);
        for isolation in [Isolation::Fork, Isolation::Restart] {
            let mut program = Program::new(&built);
            program.isolation = isolation;
            program.directory = Some(scratch.0.clone());
            let mut server = Server::start(&program).expect("it starts");
            let mut job = Job::default();
            job.limits.output_bytes = 1 << 20;
            for _ in 0..3 {
                let run = server.run(&job).expect("it answers");
                let found = String::from_utf8_lossy(&run.stdout);
                for (at, (wanted, found)) in wanted.lines().zip(found.lines()).enumerate() {
                    assert_eq!(found, wanted, "{name}: line {} of its output", at + 1);
                }
                assert_eq!(run.outcome, Outcome::Exited { code: 0 }, "{name}");
                assert_eq!(found, wanted, "{name}");
                let why = server.fallback();
                assert_eq!(
                    run.in_place,
                    isolation == Isolation::Restart,
                    "{name}: {why:?}"
                );
            }
        }
    }
}
