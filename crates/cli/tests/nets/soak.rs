//! One program after the other, with a table at the end and a file for each difference.

use super::command::{Line, source_name};
use super::compare::{Compared, Difference, compare};
use super::draw::{Dice, draw};
use super::program::Program;
use super::shrink::shrink;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Comparisons that making a difference small may take.
const TRIES: usize = 400;

/// A number from the surroundings.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    let asked = std::env::var(name).ok().filter(|text| !text.is_empty());
    asked.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number is wanted")))
}

#[derive(Debug, Default)]
struct Counts {
    programs: u64,
    checks: u64,
    different: u64,
}

pub(crate) struct Soak {
    /// Of the next program.
    seed: u64,
    landfall: PathBuf,
    directory: PathBuf,
    programs: u64,
    checks: u64,
    too_large: u64,
    late: u64,
    limited: BTreeMap<String, u64>,
    shapes: BTreeMap<String, Counts>,
    options: BTreeMap<String, Counts>,
    pub(crate) differences: Vec<String>,
}

impl Soak {
    pub(crate) fn new(seed: u64, name: &str) -> Soak {
        let landfall = std::env::var_os("LANDFALL").unwrap_or_else(|| option_env!("CARGO_BIN_EXE_landfall").unwrap_or("landfall").into());
        let directory = match std::env::var_os("SOAK_DIR") {
            Some(directory) => directory.into(),
            None => std::env::temp_dir().join(format!("landfall-{name}-{}", std::process::id())),
        };
        fs::create_dir_all(&directory).expect("a directory");
        Soak {
            seed,
            landfall: landfall.into(),
            directory,
            programs: 0,
            checks: 0,
            too_large: 0,
            late: 0,
            limited: BTreeMap::new(),
            shapes: BTreeMap::new(),
            options: BTreeMap::new(),
            differences: Vec::new(),
        }
    }

    /// The next program, under a command line or two.
    pub(crate) fn next(&mut self) {
        let seed = self.seed;
        self.seed += 1;
        let program = draw(seed);
        let mut dice = Dice::new(!seed);
        let first = Line::draw(&mut dice, &program);
        let second = Line::draw(&mut dice, &program);
        let mut looked_at = false;
        for (number, line) in [first, second].into_iter().enumerate() {
            looked_at |= self.check(&format!("{seed}-{number}"), &program, &line);
        }
        if looked_at {
            self.programs += 1;
            for shape in program.shapes() {
                self.shapes.entry(shape.to_owned()).or_default().programs += 1;
            }
        }
    }

    /// Was it small enough for brute force?
    fn check(&mut self, name: &str, program: &Program, line: &Line) -> bool {
        let directory = self.directory.join("work");
        let compared = compare(&self.landfall, program, line, &directory);
        let mut different = 0;
        match compared {
            Compared::TooLarge => {
                self.too_large += 1;
                return false;
            }
            Compared::Same => {}
            Compared::Late => self.late += 1,
            Compared::Limited(why) => *self.limited.entry(why).or_default() += 1,
            Compared::Different(difference) => {
                different = 1;
                self.keep(name, program, line, difference);
            }
        }
        self.checks += 1;
        for shape in program.shapes() {
            let counts = self.shapes.entry(shape.to_owned()).or_default();
            counts.checks += 1;
            counts.different += different;
        }
        for option in line.options() {
            let counts = self.options.entry(option).or_default();
            counts.checks += 1;
            counts.different += different;
        }
        true
    }

    /// Makes it small and writes it down.
    fn keep(&mut self, name: &str, program: &Program, line: &Line, difference: Difference) {
        let directory = self.directory.join("smaller");
        let mut last = difference.clone();
        let (small, short) = shrink(program.clone(), line.clone(), TRIES, &mut |program, line| {
            match compare(&self.landfall, program, line, &directory) {
                Compared::Different(now) if now.kind == difference.kind => {
                    last = now;
                    true
                }
                _ => false,
            }
        });
        // The text as it was compared.
        let _ = compare(&self.landfall, &small, &short, &directory);
        let kept = self.directory.join("differences").join(name);
        let _ = fs::create_dir_all(&kept);
        let source = source_name(&small);
        let _ = fs::copy(directory.join(source), kept.join(source));
        let typed: Vec<String> = (short.commands(&small).iter()).map(|words| format!("landfall {}", words.join(" "))).collect();
        let told = format!(
            "{}: {}\n{}\n\nfrom program {name}:\n{:?}\n{line:?}\n",
            last.kind,
            last.what,
            typed.join("\n"),
            small
        );
        let _ = fs::write(kept.join("difference.txt"), &told);
        self.differences.push(format!("{}: {}: {}\n    {}", kept.display(), last.kind, last.what, typed.join(" && ")));
    }
}

impl fmt::Display for Soak {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} programs, {} checks, {} differences; next seed {}",
            self.programs,
            self.checks,
            self.differences.len(),
            self.seed
        )?;
        writeln!(out, "too large for brute force: {}; stopped for time: {}; limited: {:?}", self.too_large, self.late, self.limited)?;
        for (name, table) in [("shape", &self.shapes), ("option", &self.options)] {
            writeln!(out, "\n{name:<28} {:>9} {:>9} {:>11}", "programs", "checks", "differences")?;
            for (name, counts) in table.iter() {
                let programs = match counts.programs {
                    0 => String::new(),
                    n => n.to_string(),
                };
                writeln!(out, "{name:<28} {programs:>9} {:>9} {:>11}", counts.checks, counts.different)?;
            }
        }
        for difference in &self.differences {
            writeln!(out, "\n{difference}")?;
        }
        Ok(())
    }
}

/// For as long as the surroundings say; are there no differences?
pub(crate) fn soak() -> bool {
    let minutes = number("SOAK_MINUTES", 60);
    let most = number("SOAK_PROGRAMS", u64::MAX);
    let directory = std::env::var_os("SOAK_DIR").map_or_else(|| std::env::temp_dir().join("landfall-soak"), PathBuf::from);
    let next = next_seed(&directory);
    let seed = number("SOAK_SEED", next.unwrap_or(1_000_000));
    println!("seed {seed}; differences go to {}", directory.display());
    let mut soak = Soak::new(seed, "soak");
    soak.directory.clone_from(&directory);
    let (begun, limit) = (Instant::now(), Duration::from_secs(60 * minutes));
    while begun.elapsed() < limit && soak.programs < most {
        let known = soak.differences.len();
        soak.next();
        for difference in &soak.differences[known..] {
            println!("{difference}");
        }
        let _ = fs::write(directory.join("next-seed"), soak.seed.to_string());
        if soak.checks % 50 == 0 {
            let _ = fs::write(directory.join("table.txt"), soak.to_string());
        }
    }
    let _ = fs::write(directory.join("table.txt"), soak.to_string());
    println!("{soak}");
    soak.differences.is_empty()
}

/// Where the last soak stopped.
fn next_seed(directory: &Path) -> Option<u64> {
    let _ = fs::create_dir_all(directory);
    fs::read_to_string(directory.join("next-seed")).ok()?.trim().parse().ok()
}
