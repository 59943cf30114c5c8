use landfall_litmus::operational::*;
use landfall_litmus::*;
use landfall_model::order::Platform;
fn main() {
    let t = parse::parse(
        "a.lit",
        &std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap(),
    )
    .unwrap();
    let s = std::time::Instant::now();
    let r = explore(
        &t.program,
        &t.observe,
        &Model::px86(Platform::Adr),
        &Options {
            max_states: 5_000_000,
            ..Default::default()
        },
    );
    match r {
        Ok(e) => println!(
            "{} states {} steps {} outcomes {:?}",
            e.states,
            e.steps,
            e.outcomes.len(),
            s.elapsed()
        ),
        Err(e) => println!("{e} {:?}", s.elapsed()),
    }
}
