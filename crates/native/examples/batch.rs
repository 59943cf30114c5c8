use landfall_native::*;
fn main() {
    let mut program = Program::new(std::env::args_os().nth(1).expect("a program"));
    program.isolation = Isolation::Restart;
    let mut server = Server::start(&program).expect("starts");
    let jobs = vec![Job::default(); 50000];
    for _ in 0..6 {
        let t = std::time::Instant::now();
        let mut events = 0;
        server
            .run_all(&jobs, |_, execution| events += execution.events.len())
            .expect("runs");
        println!(
            "{:?} per run, {} events, runs {:?} {:?}",
            t.elapsed() / jobs.len() as u32,
            events / jobs.len(),
            server.runs(),
            server.fallback()
        );
    }
}
