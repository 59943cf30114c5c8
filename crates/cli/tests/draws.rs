//! `--random N --draw HOW`: random schedules find what they promise to find, and are the same for the same seed.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

fn check(program: &str, arguments: &[&str]) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draws");
    let out = std::env::temp_dir().join(format!("landfall-draws-{}-{program}", std::process::id()));
    let output = Command::new(LANDFALL)
        .args(["check", "--checks", "crash", "--format", "json", "--out"])
        .arg(&out)
        .args(arguments)
        .arg(program)
        .current_dir(folder)
        .output()
        .expect("landfall runs");
    _ = std::fs::remove_dir_all(&out);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
}

fn found(run: &Value) -> bool {
    run["findings"]
        .as_array()
        .is_some_and(|all| !all.is_empty())
}

/// In no fewer seeds than the probabilities that are printed add up to.
#[test]
fn ranks_keep_their_promise() {
    for program in ["between.c", "far-apart.c"] {
        let (mut promised, mut seeds) = (0.0, 0);
        for seed in 1..=12 {
            let run = check(
                program,
                &[
                    "--random",
                    "60",
                    "--draw",
                    "pct=2",
                    "--seed",
                    &seed.to_string(),
                ],
            );
            let drawn = &run["stats"]["drawn"];
            assert_eq!(drawn["depth"], 2, "{run}");
            promised += drawn["probability"].as_f64().expect("a probability");
            seeds += u32::from(found(&run));
            assert_eq!(run["complete"], false);
        }
        assert!(promised > 1.0, "{program}: {promised} promises nothing");
        assert!(
            f64::from(seeds) >= promised,
            "{program}: {seeds} of {promised}"
        );
    }
}

/// Every way to draw finds it, replays it before it is told, and does the same again.
#[test]
fn every_way_to_draw_finds_it_and_is_repeatable() {
    for how in ["uniform", "pct", "pct=4", "pos"] {
        let arguments = ["--random", "600", "--draw", how];
        let (one, two) = (
            check("far-apart.c", &arguments),
            check("far-apart.c", &arguments),
        );
        assert!(found(&one), "{how}");
        for what in ["findings", "limits"] {
            assert_eq!(one[what], two[what], "{how}");
        }
        for what in ["schedules", "runs", "drawn"] {
            assert_eq!(one["stats"][what], two["stats"][what], "{how}");
        }
    }
}

#[test]
fn nonsense_is_refused() {
    for (arguments, why) in [
        (["--draw", "pct"].as_slice(), "--random"),
        (&["--random", "5", "--draw", "pct=0"], "from 1 to 8"),
        (
            &["--random", "5", "--draw", "often"],
            "uniform, pct, pct=D or pos",
        ),
    ] {
        let output = Command::new(LANDFALL)
            .arg("check")
            .args(arguments)
            .arg("between.c")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && said.contains(why),
            "{said}"
        );
    }
}
