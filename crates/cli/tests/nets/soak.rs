//! One program after the other, with a table at the end and a file for each difference.

use super::command::{Line, run, source_name};
use super::compare::{Compared, Difference, compare, compare_built};
use super::draw::{Dice, draw};
use super::program::{Language, Program};
use super::shrink::shrink;
use super::text::{Knowing, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Programs that are built together.
const TOGETHER: u64 = 8;
/// Command lines for each of them.
const LINES: usize = 3;
/// Comparisons that making a difference small may take.
const TRIES: usize = 250;

/// A number from the surroundings.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    let asked = std::env::var(name).ok().filter(|text| !text.is_empty());
    asked.map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: a number is wanted"))
    })
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
    pub(crate) landfall: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) programs: u64,
    checks: u64,
    too_large: u64,
    late: u64,
    limited: BTreeMap<String, u64>,
    shapes: BTreeMap<String, Counts>,
    options: BTreeMap<String, Counts>,
    pub(crate) differences: Vec<String>,
    /// Of differences that are known.
    sorts: BTreeSet<String>,
}

impl Soak {
    pub(crate) fn new(seed: u64, name: &str) -> Soak {
        let landfall = std::env::var_os("LANDFALL").unwrap_or_else(|| {
            option_env!("CARGO_BIN_EXE_landfall")
                .unwrap_or("landfall")
                .into()
        });
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
            sorts: BTreeSet::new(),
        }
    }

    /// Removes what was built.
    pub(crate) fn clear(self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// The next few programs: most are built together and checked under a few command lines each, some alone, from their sources.
    pub(crate) fn next(&mut self) {
        let drawn: Vec<(u64, Program)> = (self.seed..self.seed + TOGETHER)
            .map(|seed| (seed, draw(seed)))
            .collect();
        self.seed += TOGETHER;
        for language in [Language::C, Language::Cpp] {
            let (alone, together): (Vec<_>, Vec<_>) = (drawn.iter())
                .filter(|(_, program)| program.language == language)
                .partition(|(seed, program)| program.has_constructor() || seed % TOGETHER == 3);
            for (seed, program) in alone {
                self.alone(*seed, program);
            }
            if !together.is_empty() {
                self.together(&together);
            }
        }
    }

    fn alone(&mut self, seed: u64, program: &Program) {
        let mut dice = Dice::new(!seed);
        let directory = self.directory.join("work");
        let mut looked_at = false;
        for number in 0..2 {
            let line = Line {
                built: number > 0,
                ..Line::draw(&mut dice, program)
            };
            let compared = compare(&self.landfall, program, &line, &directory);
            looked_at |= self.count(&format!("{seed}-{number}"), program, &line, compared);
        }
        self.count_program(looked_at, program);
    }

    fn together(&mut self, some: &[&(u64, Program)]) {
        let directory = self.directory.join("work");
        let _ = fs::create_dir_all(&directory);
        let programs: Vec<&Program> = some.iter().map(|(_, program)| program).collect();
        let (seed, first) = some[0];
        let building = Line::draw(&mut Dice::new(!seed), first);
        let source = text(&programs, &Knowing::Arguments);
        fs::write(directory.join(source_name(first)), source).expect("writable");
        let built = run(&self.landfall, &[building.build(first)], &directory);
        assert_eq!(built.exit, Some(0), "{}", built.said);
        for (number, (seed, program)) in some.iter().enumerate() {
            let mut dice = Dice::new(!seed);
            let mut looked_at = false;
            for line in 0..LINES {
                let name = format!("{seed}-{line}");
                let Line {
                    optimise,
                    no_builtin,
                    ..
                } = building;
                let line = Line {
                    built: true,
                    optimise,
                    no_builtin,
                    ..Line::draw(&mut dice, program)
                };
                let compared = compare_built(&self.landfall, (number, program), &line, &directory);
                looked_at |= self.count(&name, program, &line, compared);
            }
            self.count_program(looked_at, program);
        }
    }

    fn count_program(&mut self, looked_at: bool, program: &Program) {
        if looked_at {
            self.programs += 1;
            for shape in program.shapes() {
                self.shapes.entry(shape.to_owned()).or_default().programs += 1;
            }
        }
    }

    /// Was it small enough for brute force?
    fn count(&mut self, name: &str, program: &Program, line: &Line, compared: Compared) -> bool {
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
        let mut still = |program: &Program, line: &Line| match compare(
            &self.landfall,
            program,
            line,
            &directory,
        ) {
            Compared::Different(now) if now.kind == difference.kind => {
                last = now;
                true
            }
            _ => false,
        };
        let again = still(program, line);
        // One of each sort is made small.
        let sort = sort(&difference);
        let tries = match again && !self.sorts.contains(&sort) {
            true => TRIES,
            false => 0,
        };
        let (small, short) = shrink(program.clone(), line.clone(), tries, &mut still);
        // The text as it was compared.
        let _ = still(&small, &short);
        let kept = self.directory.join("differences").join(name);
        let _ = fs::create_dir_all(&kept);
        let source = source_name(&small);
        let _ = fs::copy(directory.join(source), kept.join(source));
        if !again {
            // Only among others: then those are needed, too.
            let _ = fs::copy(
                self.directory.join("work").join(source),
                kept.join(format!("together-{source}")),
            );
        }
        let typed: Vec<String> = (short.commands(&small).iter())
            .map(|words| format!("landfall {}", words.join(" ")))
            .collect();
        let told = format!(
            "{}: {}\n{}\n\nfrom program {name}; seen again by itself: {again}\n{small:?}\n{line:?}\n",
            last.kind,
            last.what,
            typed.join("\n"),
        );
        let _ = fs::write(kept.join("difference.txt"), &told);
        self.sorts.insert(sort);
        self.differences.push(format!(
            "{}: {}: {}\n    {}",
            kept.display(),
            last.kind,
            last.what,
            typed.join(" && ")
        ));
    }
}

/// Differences that probably have one cause.
fn sort(difference: &Difference) -> String {
    let words = difference
        .what
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(60);
    words.fold(format!("{}: ", difference.kind), |all, c| {
        all + &c.to_string()
    })
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
        writeln!(
            out,
            "too large for brute force: {}; stopped for time: {}; limited: {:?}",
            self.too_large, self.late, self.limited
        )?;
        for (name, table) in [("shape", &self.shapes), ("option", &self.options)] {
            writeln!(
                out,
                "\n{name:<28} {:>9} {:>9} {:>11}",
                "programs", "checks", "differences"
            )?;
            for (name, counts) in table.iter() {
                let programs = match counts.programs {
                    0 => String::new(),
                    n => n.to_string(),
                };
                writeln!(
                    out,
                    "{name:<28} {programs:>9} {:>9} {:>11}",
                    counts.checks, counts.different
                )?;
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
    let directory = std::env::var_os("SOAK_DIR")
        .map_or_else(|| std::env::temp_dir().join("landfall-soak"), PathBuf::from);
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
        let _ = fs::write(directory.join("table.txt"), soak.to_string());
    }
    println!("{soak}");
    soak.differences.is_empty()
}

/// Where the last soak stopped.
fn next_seed(directory: &Path) -> Option<u64> {
    let _ = fs::create_dir_all(directory);
    fs::read_to_string(directory.join("next-seed"))
        .ok()?
        .trim()
        .parse()
        .ok()
}
