//! Checks certificates of `landfall prove`: that no execution which a formula and an ordering describe exists. It trusts neither the
//! solver nor the theory that took part in its search. What a certificate is made of: README.md.
//!
//! For every question: a formula, an ordering (edges, each there while its literals are true), and a proof. A step of the proof is
//! - a clause of the formula, given the number that later steps call it by;
//! - a *lemma*: edges that close a cycle are not all there;
//! - a *shown state* (robustness alone): an execution of the second formula shows what the clause excludes;
//! - a *derived* clause: unit propagation through the clauses it names, in turn, ends in a contradiction.
//!
//! The last derived clause is empty.

mod shown;

use shown::{Shown, shows};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path};

/// Why a certificate proves nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoProof(pub String);

/// A question whose proof was checked, and how long it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedQuestion {
    pub name: String,
    pub clauses: usize,
    pub lemmas: usize,
    pub states: usize,
    pub derived: usize,
}

/// What a certificate says it is about, line by line, and the questions that were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    pub about: Vec<String>,
    pub questions: Vec<CheckedQuestion>,
}

type Result<T> = std::result::Result<T, NoProof>;

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(NoProof(why.into()))
}

/// Checks all that the folder says it proves.
pub fn verify(folder: &Path) -> Result<Checked> {
    let (mut about, mut questions, mut sum) = (Vec::new(), Vec::new(), FNV);
    let mut lines = lines(&folder.join("certificate.txt"))?;
    if lines.next().transpose()?.as_deref() != Some("landfall certificate 1") {
        return refuse("certificate.txt does not begin with `landfall certificate 1`");
    }
    let mut whole = false;
    for line in lines {
        let line = line?;
        if whole {
            return refuse("certificate.txt goes on behind its sum");
        }
        match line.split_once(' ') {
            Some(("file", rest)) => check_sum(folder, rest)?,
            Some(("question", name)) => questions.push(name.to_owned()),
            Some(("sum", said)) => whole = said == format!("{sum:016x}"),
            _ => about.push(line.clone()),
        }
        sum = fnv(sum, line.as_bytes());
    }
    if !whole {
        return refuse("certificate.txt is not as it was written");
    }
    let questions = questions.into_iter().map(|name| {
        check_question(&inside(folder, &name)?, &name)
            .map_err(|NoProof(why)| NoProof(format!("{name}: {why}")))
    });
    Ok(Checked {
        about,
        questions: questions.collect::<Result<_>>()?,
    })
}

/// A path that leads nowhere else.
fn inside(folder: &Path, name: &str) -> Result<std::path::PathBuf> {
    let within = |part: Component| matches!(part, Component::Normal(_));
    match Path::new(name).components().all(within) {
        true => Ok(folder.join(name)),
        false => refuse(format!("`{name}` leads out of the folder")),
    }
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Against accidents; against malice there is the proof.
fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    let mix = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(sum, mix)
}

fn check_sum(folder: &Path, line: &str) -> Result<()> {
    let Some((said, name)) = line.split_once(' ') else {
        return refuse("a file without a sum");
    };
    let (mut file, mut sum) = (open(&inside(folder, name)?)?, FNV);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => sum = fnv(sum, &buffer[..count]),
            Err(error) => return refuse(format!("{name}: {error}")),
        }
    }
    match said == format!("{sum:016x}") {
        true => Ok(()),
        false => refuse(format!("{name} is not as it was written")),
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| NoProof(format!("{}: {error}", path.display())))
}

fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let file = BufReader::new(open(path)?);
    Ok(file.lines().map(|l| l.map_err(|e| NoProof(e.to_string()))))
}

/// Numbers in groups that end in 0.
fn groups(text: &str) -> Result<Vec<Vec<i64>>> {
    let mut all = vec![Vec::new()];
    for word in text.split_ascii_whitespace() {
        match (word.parse(), all.last_mut()) {
            (Ok(0), _) => all.push(Vec::new()),
            (Ok(number), Some(last)) => last.push(number),
            _ => return refuse(format!("`{word}` is no number")),
        }
    }
    match all.pop() {
        Some(rest) if rest.is_empty() => Ok(all),
        _ => refuse("a line without its end"),
    }
}

struct Formula {
    variables: usize,
    clauses: Vec<Vec<i64>>,
}

impl Formula {
    fn read(path: &Path) -> Result<Formula> {
        let (mut variables, mut clauses) = (None, Vec::new());
        for line in lines(path)? {
            let line = line?;
            if let Some(sizes) = line.strip_prefix("p cnf ") {
                variables = sizes.split(' ').next().and_then(|n| n.parse().ok());
            } else if !line.starts_with('c') {
                clauses.extend(groups(&line)?);
            }
        }
        match variables {
            Some(variables) if variables < 1 << 31 => Ok(Formula { variables, clauses }.checked()?),
            _ => refuse("a formula that does not say how many variables it has"),
        }
    }

    fn checked(self) -> Result<Formula> {
        let known = |l: &i64| *l != 0 && l.unsigned_abs() as usize <= self.variables;
        match self.clauses.iter().flatten().all(known) {
            true => Ok(self),
            false => refuse("a clause about an unknown variable"),
        }
    }
}

struct Edge {
    from: i64,
    to: i64,
    when: Vec<i64>,
}

/// `from to 0 literals 0` on a line each.
fn edges(path: &Path) -> Result<Vec<Edge>> {
    let mut all = Vec::new();
    for line in lines(path)? {
        match <[Vec<i64>; 2]>::try_from(groups(&line?)?) {
            Ok([ends, when]) if ends.len() == 2 => all.push(Edge {
                from: ends[0],
                to: ends[1],
                when,
            }),
            _ => return refuse("an edge without two ends"),
        }
    }
    Ok(all)
}

fn check_question(folder: &Path, name: &str) -> Result<CheckedQuestion> {
    let formula = Formula::read(&folder.join("formula.cnf"))?;
    let edges = edges(&folder.join("ordering.txt"))?;
    let mut shown = None;
    let mut known = HashMap::new();
    let mut values = vec![0i8; formula.variables + 1];
    let mut question = CheckedQuestion {
        name: name.to_owned(),
        clauses: formula.clauses.len(),
        lemmas: 0,
        states: 0,
        derived: 0,
    };
    let mut done = false;
    for line in lines(&folder.join("proof.txt"))? {
        let line = line?;
        if let Some(gone) = line.strip_prefix("d ") {
            for id in groups(gone)?.iter().flatten() {
                known.remove(id);
            }
            continue;
        }
        let (kind, rest) = match line.split_at_checked(2) {
            Some((kind @ ("f " | "t " | "s "), rest)) => (kind, rest),
            _ => ("", line.as_str()),
        };
        let Ok([mut clause, why]) = <[Vec<i64>; 2]>::try_from(groups(rest)?) else {
            return refuse("a step without clause or reason");
        };
        if clause.is_empty() {
            return refuse("a step without a number");
        }
        let id = clause.remove(0);
        if clause
            .iter()
            .any(|l| l.unsigned_abs() as usize >= values.len())
        {
            return refuse(format!("step {id}: an unknown variable"));
        }
        let holds = match kind {
            "f " => {
                let number = why
                    .first()
                    .and_then(|n| usize::try_from(n.checked_sub(1)?).ok());
                let given = number.and_then(|number| formula.clauses.get(number));
                clause = given.cloned().unwrap_or_default();
                given.is_some()
            }
            "t " => is_cycle(&edges, &clause, &why),
            "s " => match &mut shown {
                Some(shown) => shows(shown, &clause, &why)?,
                none => shows(none.insert(Shown::read(folder)?), &clause, &why)?,
            },
            _ => follows(&known, &mut values, &clause, &why),
        };
        if !holds {
            return refuse(format!("step {id} does not follow"));
        }
        match kind {
            "f " => {}
            "t " => question.lemmas += 1,
            "s " => question.states += 1,
            _ => question.derived += 1,
        }
        done |= clause.is_empty();
        if known.insert(id, clause).is_some() {
            return refuse(format!("step {id} is there twice"));
        }
    }
    match done {
        true => Ok(question),
        false => refuse("the proof does not come to an end"),
    }
}

/// Are these edges a cycle, and does the clause say that one of their literals is false?
fn is_cycle(edges: &[Edge], clause: &[i64], cycle: &[i64]) -> bool {
    let edge = |number: i64| edges.get(usize::try_from(number.checked_sub(1)?).ok()?);
    let next = cycle.iter().cycle().skip(1);
    !cycle.is_empty()
        && cycle.iter().zip(next).all(|(&here, &next)| {
            let (Some(here), Some(next)) = (edge(here), edge(next)) else {
                return false;
            };
            here.to == next.from && here.when.iter().all(|literal| clause.contains(&-literal))
        })
}

/// Does unit propagation through these clauses contradict the negation of this one?
fn follows(
    known: &HashMap<i64, Vec<i64>>,
    values: &mut [i8],
    clause: &[i64],
    through: &[i64],
) -> bool {
    let mut trail: Vec<i64> = clause.iter().map(|l| -l).collect();
    for literal in &trail {
        values[literal.unsigned_abs() as usize] = literal.signum() as i8;
    }
    let mut contradiction = clause.iter().any(|literal| clause.contains(&-literal));
    for id in through {
        let Some(reason) = known.get(id) else {
            break;
        };
        let value = |l: &i64| values[l.unsigned_abs() as usize] * l.signum() as i8;
        let mut open = reason.iter().filter(|l| value(l) >= 0);
        match (open.next(), open.next()) {
            (None, _) => contradiction = true,
            (Some(&unit), None) => {
                values[unit.unsigned_abs() as usize] = unit.signum() as i8;
                trail.push(unit);
            }
            _ => break,
        }
    }
    for literal in trail {
        values[literal.unsigned_abs() as usize] = 0;
    }
    contradiction
}
