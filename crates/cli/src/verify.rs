//! `landfall verify`: is a certificate of `landfall prove` a proof?

use crate::exit::Exit;
use crate::screen::plain;
use std::fmt::Write;
use std::path::PathBuf;

/// Checks a certificate that `landfall prove --certificate` wrote, step by step, without solver.
///
/// Every clause of the proof must follow from clauses before it, and every ordering that it excludes must have a cycle. What is trusted
/// is that the formulas are about the program (meaning.txt, beside each), and the few hundred lines of crates/verify. Exit code: 0 it is
/// a proof, 100 it is not, 2 there is no certificate.
#[derive(clap::Args, Debug)]
pub(crate) struct Verify {
    /// The folder that was given to --certificate
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(options: &Verify) -> Exit {
    let shown = plain(&options.folder.to_string_lossy());
    if !options.folder.join("certificate.txt").is_file() {
        eprintln!(
            "error: {shown}: no certificate.txt there; `landfall prove FILE --certificate DIR` writes one"
        );
        return Exit::Usage;
    }
    match landfall_verify::verify(&options.folder) {
        Ok(checked) => {
            print!("{}", told(&checked));
            Exit::Clean
        }
        Err(landfall_verify::NoProof(why)) => {
            eprintln!("error: {shown} is no proof: {}", plain(&why));
            Exit::Findings
        }
    }
}

fn told(checked: &landfall_verify::Checked) -> String {
    let mut text = String::new();
    for line in &checked.about {
        let line = line.strip_prefix("about: ").unwrap_or(line);
        let _ = writeln!(text, "{}", plain(line));
    }
    for question in &checked.questions {
        let _ = write!(
            text,
            "  {}: {} clauses, {} cycles, ",
            plain(&question.name),
            question.clauses,
            question.lemmas
        );
        if question.states > 0 {
            let _ = write!(text, "{} states shown, ", question.states);
        }
        let _ = writeln!(text, "{} steps: follows", question.derived);
    }
    text += "verified\n";
    text
}
