use landfall_native::*;
fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let mut program = Program::new(arguments.next().expect("a program")).arguments(arguments);
    program.pm_dir = std::env::var_os("PM_DIR").map(Into::into);
    if let Some(_) = std::env::var_os("PM_HEAP") {
        program.pm_heap = Some(MallocMetadata::Modelled);
    }
    program.isolation = match std::env::var("ISO").as_deref() {
        Ok("restart") => Isolation::Restart,
        Ok("auto") => Isolation::Auto,
        _ => Isolation::Fork,
    };
    let mut server = match Server::start(&program) {
        Ok(s) => s,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    };
    let n: usize = std::env::var("N")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    let mut job = Job {
        search_foreign: std::env::var_os("NOSEARCH").is_none(),
        audit: std::env::var_os("AUDIT").is_some(),
        ..Job::default()
    };
    if let Ok(w) = std::env::var("WALL") {
        job.limits.wall = std::time::Duration::from_millis(w.parse().unwrap());
    }
    if let Ok(w) = std::env::var("EVENTS") {
        job.limits.events = w.parse().unwrap();
    }
    let t = std::time::Instant::now();
    let mut first: Option<Execution> = None;
    for _ in 0..n {
        let execution = server.run(&job).unwrap();
        if let Some(first) = &first {
            if *first != execution {
                println!("DIFFERENT {:?}\n{:?}", first.outcome, execution.outcome);
            }
        } else {
            first = Some(execution);
        }
    }
    let el = t.elapsed();
    let execution = first.unwrap();
    for event in execution.events.iter().take(100) {
        let at = server
            .sites()
            .position(event.origin)
            .map(|p| format!("{}:{}", p.file.rsplit('/').next().unwrap(), p.line))
            .or(server
                .sites()
                .library(event.origin)
                .map(|s| format!("{s} from {:x}", event.origin.caller)));
        println!(
            "{:?} {:#x} mask {:08b} flags {:#x} value {:#x}  {}",
            event.op,
            event.offset,
            event.mask,
            event.flags,
            event.value,
            at.unwrap_or_default()
        );
    }
    println!(
        "{} events, {} bytes; {:?}",
        execution.events.len(),
        execution.trace_bytes,
        execution.outcome
    );
    println!("stack {:x?}", execution.stack);
    println!(
        "stdout: {:?}\nstderr: {:?}",
        String::from_utf8_lossy(&execution.stdout),
        String::from_utf8_lossy(&execution.stderr)
    );
    println!(
        "foreign {:?} damaged {:?}",
        execution.foreign, execution.damaged
    );
    println!(
        "{n} runs, {:?} each; runs {:?} fallback {:?}",
        el / n as u32,
        server.runs(),
        server.fallback()
    );
}
