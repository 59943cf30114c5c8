//! A smaller program and a shorter command line that still differ in the same way.

use super::command::{Failing, Line, Way};
use super::meaning::{Model, Platform};
use super::program::{Language, Phase, Program, Source, Stmt};

/// Takes what `still` says differs, as long as something smaller does, at most `tries` times.
pub(crate) fn shrink(
    program: Program,
    line: Line,
    mut tries: usize,
    still: &mut dyn FnMut(&Program, &Line) -> bool,
) -> (Program, Line) {
    let (mut program, mut line) = (program, line);
    loop {
        let lines = lines(&line).into_iter().map(|line| (program.clone(), line));
        let programs = programs(&program)
            .into_iter()
            .map(|program| (program, line.clone()));
        let mut smaller = None;
        for candidate in lines.chain(programs) {
            if tries == 0 {
                break;
            }
            // One thread that fails before the power does ends the search: then nothing is said of recoveries.
            let ends_first = candidate.0.phases[0].threads.is_empty();
            if ends_first && candidate.1.failing == Failing::All {
                continue;
            }
            tries -= 1;
            if still(&candidate.0, &candidate.1) {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(candidate) => (program, line) = candidate,
            None => return (program, line),
        }
    }
}

fn lines(line: &Line) -> Vec<Line> {
    let plain = Line::plain();
    let changes: [fn(&mut Line, &Line); 11] = [
        |line, plain| line.failures = plain.failures,
        |line, _| line.failures = 2.min(line.failures),
        |line, _| line.model = Model::Tso,
        |line, _| line.platform = Platform::Adr,
        |line, _| line.way = Way::Shared,
        |line, _| line.failing = Failing::Recoveries,
        |line, plain| line.crash_only = plain.crash_only,
        |line, plain| line.jobs = plain.jobs,
        |line, _| (line.everywhere, line.preempt_first) = (false, false),
        |line, plain| line.built = plain.built,
        |line, _| (line.optimise, line.no_builtin) = (0, false),
    ];
    let changed = changes.iter().map(|change| {
        let mut candidate = line.clone();
        change(&mut candidate, &plain);
        candidate
    });
    changed.filter(|candidate| candidate != line).collect()
}

fn programs(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        if candidate != *program {
            all.push(candidate);
        }
    };
    add(&|program| program.constructor.clear());
    add(&|program| program.phases.truncate(2));
    for phase in 0..program.phases.len() {
        add(&|program| program.phases[phase] = Phase::default());
        for thread in 0..program.phases[phase].threads.len() {
            add(&|program| _ = program.phases[phase].threads.remove(thread));
        }
    }
    for number in 0.. {
        let mut candidates = Vec::new();
        if !at_list(program, number, &mut |list| candidates = lists(list)) {
            break;
        }
        for candidate in candidates {
            let mut changed = program.clone();
            change_list(&mut changed, number, candidate);
            all.push(changed);
        }
    }
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        if candidate != *program {
            all.push(candidate);
        }
    };
    add(&|program| program.language = Language::C);
    add(&|program| program.source = Source::Region);
    all
}

/// The lists of statements that are not inside of others.
fn all_lists(program: &mut Program) -> Vec<&mut Vec<Stmt>> {
    let mut lists = vec![&mut program.constructor];
    for phase in &mut program.phases {
        lists.push(&mut phase.before);
        lists.extend(phase.threads.iter_mut());
        lists.push(&mut phase.meanwhile);
        lists.push(&mut phase.after);
    }
    lists
}

fn at_list(program: &Program, number: usize, visit: &mut dyn FnMut(&[Stmt])) -> bool {
    let mut copy = program.clone();
    let lists = all_lists(&mut copy);
    let list = lists.get(number);
    if let Some(list) = list {
        visit(list);
    }
    list.is_some()
}

fn change_list(program: &mut Program, number: usize, to: Vec<Stmt>) {
    if let Some(list) = all_lists(program).into_iter().nth(number) {
        *list = to;
    }
}

/// Half of it, all but one, and what is inside of one instead of it.
fn lists(list: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    if list.len() > 3 {
        let (first, second) = list.split_at(list.len() / 2);
        all.extend([first.to_vec(), second.to_vec()]);
    }
    for at in 0..list.len() {
        let without = |put: &[Stmt]| [&list[..at], put, &list[at + 1..]].concat();
        all.push(without(&[]));
        match &list[at] {
            Stmt::If {
                register,
                is,
                then,
                otherwise,
            } => {
                all.extend([without(then), without(otherwise)]);
                for (then, otherwise) in [(lists(then), None), (lists(otherwise), Some(then))]
                    .into_iter()
                    .flat_map(|(some, then)| some.into_iter().map(move |list| (list, then)))
                    .map(|(list, then)| match then {
                        None => (list, otherwise.clone()),
                        Some(then) => (then.clone(), list),
                    })
                {
                    let stmt = Stmt::If {
                        register: *register,
                        is: *is,
                        then,
                        otherwise,
                    };
                    all.push(without(&[stmt]));
                }
            }
            Stmt::Locked(inner) => {
                all.push(without(inner));
                all.extend(
                    lists(inner)
                        .into_iter()
                        .map(|inner| without(&[Stmt::Locked(inner)])),
                );
            }
            _ => {}
        }
    }
    all
}
