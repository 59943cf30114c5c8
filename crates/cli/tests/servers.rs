//! Servers and their clients: each program under `tests/servers` says in its first lines what must come out.
//!
//! ```text
//! // flags --failures 2     options for `landfall check`
//! // exit 100               the exit code
//! // says TEXT              the answer has this in it
//! // silent TEXT            and this not
//! // eager                  with --eager the exit code is the same
//! /* client                 the script, up to the end of the remark; without one, there is none
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn check(folder: &Path, source: &Path, script: Option<&str>, flags: &[&str]) -> Output {
    std::fs::create_dir_all(folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_landfall"));
    command
        .args(["check", "--out", "out", "--time", "120s"])
        .args(flags)
        .current_dir(folder)
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        );
    if let Some(script) = script {
        std::fs::write(folder.join("client.txt"), script).unwrap();
        command.args(["--client", "client.txt"]);
    }
    command.arg(source).output().unwrap()
}

fn case(source: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(source).unwrap();
    let said = |what: &str| -> Vec<&str> {
        let prefix = format!("// {what}");
        let lines = text.lines().take_while(|line| line.starts_with("//"));
        lines
            .filter_map(|line| line.strip_prefix(&prefix))
            .map(str::trim)
            .collect()
    };
    let name = source.file_stem().unwrap().to_string_lossy().into_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("servers")
        .join(&name);
    let script = text.split_once("/* client\n").map(|(_, rest)| {
        let (script, _) = rest.split_once("*/").expect("its end");
        script
    });
    let flags: Vec<&str> = said("flags")
        .iter()
        .flat_map(|f| f.split_whitespace())
        .collect();
    let wanted: i32 = said("exit")[0].parse().unwrap();
    let output = check(&folder, source, script, &flags);
    let all = [&output.stdout[..], &output.stderr].concat();
    let all = String::from_utf8_lossy(&all).into_owned();
    if output.status.code() != Some(wanted) {
        return Err(format!(
            "{name}: {:?}, not {wanted}\n{all}",
            output.status.code()
        ));
    }
    for text in said("says") {
        if !all.contains(text) {
            return Err(format!("{name} does not say `{text}`\n{all}"));
        }
    }
    for text in said("silent") {
        if all.contains(text) {
            return Err(format!("{name} says `{text}`\n{all}"));
        }
    }
    if !said("eager").is_empty() {
        let eager = [&flags[..], &["--eager"]].concat();
        let output = check(&folder, source, script, &eager);
        if output.status.code() != Some(wanted) {
            let all = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(format!(
                "{name} with --eager: {:?}\n{all}",
                output.status.code()
            ));
        }
    }
    Ok(())
}

#[test]
fn servers_get_their_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c" || e == "cc"))
        .collect();
    sources.sort();
    assert!(sources.len() > 10);
    let wrong: Vec<String> = sources
        .iter()
        .filter_map(|source| case(source).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a command said is in the witness: the command need not be there when the finding is replayed.
#[test]
fn replay_needs_no_command() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("servers/without_command");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/command_waits.c");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("says.sh"),
        "printf q; cat > /dev/null; exit 7\n",
    )
    .unwrap();
    let script = "connect unix:/tmp/s\nrun \"sh says.sh\"\n";
    let output = check(&folder, &source, Some(script), &[]);
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    std::fs::remove_file(folder.join("says.sh")).unwrap();
    let replayed = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["replay", "out/B1.json"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&replayed.stdout);
    assert!(said.contains("reproduced: the same failure"), "{said}");
    assert!(said.contains("fails: exit code 7"), "{said}");
}

/// A random program: stores to three variables, flushes, fences and promises; what it finds after a power failure it reports by failing
/// where some condition of these holds.
fn random_program(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut dice = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    let variable = |number: u64| ["a->x", "a->y", "a->z"][number as usize];
    let mut body = String::new();
    for _ in 0..4 + dice(6) {
        let line = match dice(5) {
            0 | 1 => format!("{} = {};", variable(dice(3)), 1 + dice(3)),
            2 => format!("lf_flush(&{}, 8);", variable(dice(3))),
            3 => "lf_fence();".to_owned(),
            _ => format!("lf_ack(\"{}\");", ["one", "two"][dice(2) as usize]),
        };
        body += &format!("    {line}\n");
    }
    let condition = |number: u64, value: u64| match number {
        0..3 => format!("{} == {value}", variable(number)),
        3 => format!("lf_acked(\"one\") == {value}"),
        _ => format!("lf_acked(\"two\") == {value}"),
    };
    let wrong: Vec<String> = (0..3).map(|_| condition(dice(5), dice(3))).collect();
    format!(
        "#include <assert.h>\n#include <landfall.h>\n\
         struct a {{ _Alignas(64) long x; _Alignas(64) long y; long z; }};\n\
         int main(void) {{\n  struct a *a = lf_pm(sizeof *a);\n  if (lf_failures())\n    assert(!({}));\n  else {{\n{body}  }}\n  return 0;\n}}\n",
        wrong.join(" && ")
    )
}

/// What was acknowledged when the power failed is exact: a search by what recoveries read, and one that runs each on every state that
/// can be left, come to the same.
#[test]
fn acknowledgements_agree_with_brute_force() {
    let cases: u64 = std::env::var("LANDFALL_CASES").map_or(24, |n| n.parse().unwrap());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("servers/random");
    std::fs::create_dir_all(&folder).unwrap();
    let mut failing = 0;
    for seed in 1..=cases {
        let program = random_program(seed);
        let source = folder.join("random.c");
        std::fs::write(&source, &program).unwrap();
        let found = |flags: &[&str]| -> (Option<i32>, serde_json::Value) {
            let flags = [&["--format", "json", "--checks", "crash"], flags].concat();
            let output = check(&folder, &source, None, &flags);
            let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            (output.status.code(), run["stats"]["behaviours"].clone())
        };
        let (by_reads, eager) = (found(&["--all"]), found(&["--all", "--eager"]));
        assert_eq!(by_reads, eager, "seed {seed}\n{program}");
        failing += u64::from(eager.0 == Some(100));
    }
    assert!(failing > 0 && failing < cases, "{failing} of {cases} fail");
}
