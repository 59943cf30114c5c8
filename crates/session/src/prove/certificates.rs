//! Proofs as files: a folder for each property and bound, and certificate.txt, which says what they prove and has a sum of each.

use crate::prove::{Answers, ProveOptions};
use landfall_prove::certificate::Certificates;
use landfall_prove::prove::ProofVerdict;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What the folder of certificates has in it beside the proofs.
const CONTENTS: &str = "certificate.txt";

/// Sums of files by their names in the folder.
type Sums = Rc<RefCell<BTreeMap<String, u64>>>;

/// Where `landfall prove` keeps proofs while it asks. Every bound has folders of its own: a later one may not be decided.
pub(crate) struct CertificateFolder {
    root: PathBuf,
    sums: Sums,
    error: Option<io::Error>,
}

/// May proofs be written there? What is there of an earlier certificate is taken away.
pub(crate) fn prepare(root: &Path) -> Result<(), String> {
    let shown = root.display();
    let failed = |error: io::Error| format!("the folder for certificates, {shown}: {error}");
    match fs::read_dir(root) {
        Ok(mut entries) => match root.join(CONTENTS).is_file() || entries.next().is_none() {
            true => fs::remove_dir_all(root).map_err(failed)?,
            false => return Err(format!("{shown} is there already and is no certificate")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    fs::create_dir_all(root).map_err(failed)
}

impl CertificateFolder {
    pub(crate) fn new(root: &Path) -> CertificateFolder {
        CertificateFolder {
            root: root.to_owned(),
            sums: Sums::default(),
            error: None,
        }
    }

    /// Keeps what proves the answers, and says what that is.
    pub(crate) fn finish(
        mut self,
        files: &[PathBuf],
        options: &ProveOptions,
        all: &Answers,
    ) -> Result<PathBuf, String> {
        let kept: Vec<String> = kept(all);
        let gone = |name: &str| {
            !kept
                .iter()
                .any(|part| name.starts_with(&format!("{part}/")))
        };
        let mut sums = std::mem::take(&mut *self.sums.borrow_mut());
        let of = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let mut away: Vec<String> = sums
            .keys()
            .filter(|name| gone(name))
            .map(|n| of(n))
            .collect();
        away.dedup();
        for part in away {
            let removed = fs::remove_dir_all(self.root.join(part));
            self.keep(removed);
        }
        sums.retain(|name, _| !gone(name));
        let nothing = match self.error.take() {
            Some(error) => Some(error.to_string()),
            None if kept.is_empty() => Some("nothing was proved".to_owned()),
            None if sums.is_empty() => {
                Some("once the program was followed, there was nothing left to prove".to_owned())
            }
            None => None,
        };
        let written = match nothing {
            Some(why) => Err(why),
            None => fs::write(
                self.root.join(CONTENTS),
                contents(files, options, all, &sums),
            )
            .map_err(|error| error.to_string()),
        };
        written.map(|()| self.root.clone()).inspect_err(|_| {
            // Half a certificate is none.
            _ = fs::remove_dir_all(&self.root);
        })
    }

    fn create(&self, question: &str, name: &str) -> io::Result<SummedFile> {
        fs::create_dir_all(self.root.join(question))?;
        let name = format!("{question}/{name}");
        let file = File::create(self.root.join(&name))?;
        self.sums.borrow_mut().insert(name.clone(), FNV);
        Ok(SummedFile {
            file,
            name,
            sums: self.sums.clone(),
        })
    }

    fn keep(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.error.get_or_insert(error);
        }
    }
}

fn folder(part: &str, unroll: u32) -> String {
    format!("{part}-{unroll}")
}

/// The folders of what was proved.
fn kept(all: &Answers) -> Vec<String> {
    let mut kept = Vec::new();
    for answer in &all.answers {
        if matches!(answer.verdict, ProofVerdict::Proved) {
            kept.push(folder(answer.property, answer.unroll));
            if !answer.is_bounded() {
                kept.push(folder("bounds", answer.unroll));
            }
        }
    }
    kept
}

fn contents(
    files: &[PathBuf],
    options: &ProveOptions,
    all: &Answers,
    sums: &BTreeMap<String, u64>,
) -> String {
    let mut text = "landfall certificate 1\n".to_owned();
    let line = |what: &str| what.replace(char::is_control, "?");
    for file in files {
        _ = writeln!(text, "about: program {}", line(&file.to_string_lossy()));
    }
    let flags: Vec<_> = options
        .compiler_flags
        .iter()
        .map(|f| f.to_string_lossy())
        .collect();
    if !flags.is_empty() {
        _ = writeln!(text, "about: compiled with {}", line(&flags.join(" ")));
    }
    for answer in &all.answers {
        if matches!(answer.verdict, ProofVerdict::Proved) {
            let so_far = match answer.is_bounded() {
                true => format!(
                    "holds as far as loops were followed ({} rounds)",
                    answer.unroll
                ),
                false => "proved".to_owned(),
            };
            _ = writeln!(text, "about: {}: {so_far}", answer.property);
        }
    }
    for assumption in &all.assumptions {
        _ = writeln!(text, "about: assuming that {}", line(assumption));
    }
    let question = |name: &String| name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let mut questions: Vec<String> = sums.keys().filter_map(question).collect();
    questions.dedup();
    for question in questions {
        _ = writeln!(text, "question {question}");
    }
    for (name, sum) in sums {
        _ = writeln!(text, "file {sum:016x} {name}");
    }
    // The first line is not of the sum: it says how to read it.
    let rest = text
        .lines()
        .skip(1)
        .fold(FNV, |sum, line| fnv(sum, line.as_bytes()));
    _ = writeln!(text, "sum {rest:016x}");
    text
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    let mix = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(sum, mix)
}

/// The certificates of one property, or of the bounds; of nothing if nobody asked for any.
pub(crate) struct PartOfFolder<'f> {
    name: String,
    all: Option<&'f mut CertificateFolder>,
}

impl<'f> PartOfFolder<'f> {
    /// With loops followed this far.
    pub(crate) fn new(
        all: Option<&'f mut CertificateFolder>,
        part: &str,
        unroll: u32,
    ) -> PartOfFolder<'f> {
        PartOfFolder {
            name: folder(part, unroll),
            all,
        }
    }
}

impl Certificates for PartOfFolder<'_> {
    fn file(&mut self, question: &str, name: &str) -> Option<Box<dyn Write>> {
        let all = self.all.as_mut()?;
        match all.create(&format!("{}/{question}", self.name), name) {
            Ok(file) => Some(Box::new(BufWriter::with_capacity(1 << 16, file))),
            Err(error) => {
                all.keep(Err(error));
                None
            }
        }
    }

    fn failed(&mut self, error: io::Error) {
        if let Some(all) = &mut self.all {
            all.keep(Err(error));
        }
    }
}

/// A file whose sum is known when it is written.
struct SummedFile {
    file: File,
    name: String,
    sums: Sums,
}

impl Write for SummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(sum) = self.sums.borrow_mut().get_mut(&self.name) {
            *sum = fnv(*sum, &bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
