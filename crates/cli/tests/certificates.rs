//! Certificates of `landfall prove`: `landfall verify` accepts what was written, and nothing that was changed. The tests of verdicts
//! (`prove`, `prove_random`) have every proof of theirs verified with [`verified`].

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

/// Is every proof of this answer one that the checker accepts? `answer` is what `prove --format json --certificate folder` said.
pub(crate) fn verified(answer: &Value, folder: &Path) -> Result<(), String> {
    let mut properties = answer["properties"].as_array().into_iter().flatten();
    let proved = properties.any(|p| p["verdict"] == "proved");
    match (answer["certificate"].is_string(), &answer["no_certificate"]) {
        (true, _) => {
            let checked = landfall_verify::verify(folder).map_err(|why| why.0)?;
            match checked.questions.is_empty() {
                true => Err("a certificate without a proof".to_owned()),
                false => Ok(()),
            }
        }
        (false, why) if proved => match why.as_str() {
            Some(why) if why.contains("nothing left to prove") => Ok(()),
            why => Err(format!("proved without certificate: {why:?}")),
        },
        _ => Ok(()),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of its own, gone in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("landfall-certificate-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&folder);
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A certificate of a program with threads, whose robustness takes a state that another execution shows.
fn certificate(folder: &Path) {
    let output = Command::new(LANDFALL)
        .args(["prove", "examples/prove/flit/ldld.c", "--certificate"])
        .arg(folder)
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("certificate: landfall verify "), "{said}");
}

fn verify(folder: &Path) -> (Option<i32>, String) {
    let output = Command::new(LANDFALL)
        .arg("verify")
        .arg(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all.sort();
    all
}

#[test]
fn a_certificate_is_verified_and_told() {
    let scratch = Scratch::new("told");
    certificate(&scratch.0);
    let (code, said) = verify(&scratch.0);
    assert_eq!(code, Some(0), "{said}");
    for what in [
        "program examples/prove/flit/ldld.c\n",
        "invariant: proved\n",
        "robust: proved\n",
        "1 states shown",
        "\nverified\n",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let meaning = files(&scratch.0);
    let meaning = meaning.iter().find(|f| f.ends_with("meaning.txt")).unwrap();
    let meaning = fs::read_to_string(meaning).unwrap();
    assert!(meaning.contains("ldld.c:"), "{meaning}");
    // Again over what is there; but not over what is no certificate.
    certificate(&scratch.0);
    fs::remove_file(scratch.0.join("certificate.txt")).unwrap();
    let (code, said) = verify(&scratch.0);
    assert_eq!(code, Some(2), "{said}");
    let again = Command::new(LANDFALL)
        .args(["prove", "examples/prove/flit/ldld.c", "--certificate"])
        .arg(&scratch.0)
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(
        again.status.code() == Some(2) && said.contains("is no certificate"),
        "{said}"
    );
}

#[test]
fn a_certificate_with_one_bit_changed_is_refused() {
    let scratch = Scratch::new("bits");
    certificate(&scratch.0);
    landfall_verify::verify(&scratch.0).unwrap();
    for file in files(&scratch.0) {
        let whole = fs::read(&file).unwrap();
        // All of the contents, a part of the rest.
        let step = if file.ends_with("certificate.txt") {
            1
        } else {
            whole.len() / 40 + 1
        };
        for at in (0..whole.len()).step_by(step) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&file, &changed).unwrap();
            let answer = landfall_verify::verify(&scratch.0);
            assert!(answer.is_err(), "{}: byte {at}", file.display());
        }
        fs::write(&file, &whole).unwrap();
    }
    landfall_verify::verify(&scratch.0).unwrap();
}

/// Makes the sums right again: what is left to refuse it is the proof itself.
fn mend_sums(folder: &Path) {
    let sum = |bytes: &[u8], from: u64| {
        let mix = |sum: u64, &b: &u8| (sum ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
        bytes.iter().fold(from, mix)
    };
    const FNV: u64 = 0xcbf2_9ce4_8422_2325;
    let contents = fs::read_to_string(folder.join("certificate.txt")).unwrap();
    let mut lines: Vec<String> = contents.lines().map(str::to_owned).collect();
    lines.pop();
    for line in &mut lines {
        if let Some(rest) = line.strip_prefix("file ") {
            let name = rest.split_once(' ').unwrap().1.to_owned();
            let now = sum(&fs::read(folder.join(&name)).unwrap(), FNV);
            *line = format!("file {now:016x} {name}");
        }
    }
    let all = lines[1..]
        .iter()
        .fold(FNV, |from, line| sum(line.as_bytes(), from));
    lines.push(format!("sum {all:016x}"));
    fs::write(folder.join("certificate.txt"), lines.join("\n") + "\n").unwrap();
}

#[test]
fn a_forged_certificate_is_refused() {
    let scratch = Scratch::new("forged");
    certificate(&scratch.0);
    mend_sums(&scratch.0);
    landfall_verify::verify(&scratch.0).expect("mended as it was written");
    let mut forged = 0;
    let mut refused = |file: &Path, whole: &str, lines: Vec<String>, what: &str| {
        forged += 1;
        fs::write(file, lines.join("\n") + "\n").unwrap();
        mend_sums(&scratch.0);
        let answer = landfall_verify::verify(&scratch.0);
        assert!(answer.is_err(), "{}: {what}: {answer:?}", file.display());
        fs::write(file, whole).unwrap();
    };
    for file in files(&scratch.0) {
        let whole = fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        let mut with = |at: usize, line: Option<String>, what: &str| {
            let mut lines = lines.clone();
            match line {
                Some(line) => lines[at] = line,
                None => _ = lines.remove(at),
            }
            refused(&file, &whole, lines, what);
        };
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for (at, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            match (name.as_str(), words[0]) {
                // A cycle without its first edge; a clause that says more than the cycle does.
                ("proof.txt", "t") => {
                    let end = words.iter().position(|w| *w == "0").unwrap();
                    let open = [&words[..=end], &words[end + 2..]].concat().join(" ");
                    with(at, Some(open), "a cycle that is open");
                    let stronger = [&words[..2], &words[3..]].concat().join(" ");
                    with(at, Some(stronger), "a literal of a cycle is gone");
                }
                // Out of the blue.
                ("proof.txt", "f" | "s" | "d") => {}
                ("proof.txt", _) => {
                    let end = words.iter().position(|w| *w == "0").unwrap();
                    let alone = [&words[..=end], &["0"]].concat().join(" ");
                    with(at, Some(alone), "a step from nothing");
                }
                // Literal 1 is true.
                ("states.txt", _) => {
                    let line = line.replacen('1', "-1", 1);
                    with(at, Some(line), "a state that is no execution");
                    with(at, None, "a state that is gone");
                }
                ("places.txt", _) => {
                    let wrong: Vec<String> = words
                        .iter()
                        .enumerate()
                        .map(|(n, w)| match w.parse::<i64>() {
                            Ok(number) if n > 1 && n % 2 == 1 => (-number).to_string(),
                            _ => (*w).to_owned(),
                        })
                        .collect();
                    with(at, Some(wrong.join(" ")), "places that are others");
                }
                _ => {}
            }
        }
        if name == "proof.txt" {
            let empty = lines
                .iter()
                .position(|l| l.split(' ').nth(1) == Some("0"))
                .unwrap();
            with(empty, None, "the end is gone");
        }
    }
    assert!(forged > 50, "{forged}");
}

/// A folder that names files elsewhere, or what is no certificate at all.
#[test]
fn nonsense_is_refused() {
    let scratch = Scratch::new("nonsense");
    fs::create_dir_all(&scratch.0).unwrap();
    let contents = [
        "",
        "landfall certificate 2\n",
        "landfall certificate 1\n",
        "landfall certificate 1\nfile 0 ../../etc/passwd\n",
        "landfall certificate 1\nquestion /\nsum 0\n",
    ];
    for text in contents {
        fs::write(scratch.0.join("certificate.txt"), text).unwrap();
        let (code, said) = verify(&scratch.0);
        assert!(
            code == Some(100) && said.contains("is no proof"),
            "{text:?}: {said}"
        );
    }
}
