//! Hostile and huge runs, in every format.

use landfall_finding::{
    Action, Coverage, Diff, Finding, Fix, Kind, Lane, LaneVersion, LineCoverage, Phase, Place, Row,
    RowRead, Run, Sample, Severity, Stats, Store, StoreRole, Survival, Timeline, Turn, TurnLine,
    TurnReason, Verdict,
};
use landfall_report::{Sources, junit, page, sarif};
use std::collections::BTreeMap;

const HOSTILE: &str =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{0}\u{1b}]]>";

fn place(line: u32) -> Place {
    Place {
        file: "queue.c".into(),
        line,
        column: 3,
        function: HOSTILE.into(),
    }
}

fn finding(number: usize) -> Finding {
    let row = |phase, text: &str| Row {
        phase,
        kind: "store".into(),
        text: text.into(),
        at: Some(place(2)),
        why: Some(HOSTILE.into()),
        role: Some("lost".into()),
        read: Some(RowRead {
            from: vec![0, 99],
            others: vec![HOSTILE.into()],
        }),
        thread: 7,
        ..Row::default()
    };
    Finding {
        id: format!("B{number}"),
        at: Some(place(3)),
        crash_at: Some(place(1_000_000)),
        stores: vec![Store {
            role: StoreRole::Lost,
            at: Some(place(1)),
            bytes: 8,
            address: HOSTILE.into(),
            offset: 0,
            inside: false,
            stack: Vec::new(),
            member: None,
            thread: None,
        }],
        fix: vec![Fix {
            after: Some(place(1)),
            before: Some(place(2)),
            bytes: Some(8),
            ..Fix::new(Action::FlushFence, true)
        }],
        executions: 12,
        witness: Some(HOSTILE.into()),
        notes: vec![HOSTILE.into()],
        timeline: Some(Timeline {
            threads: vec![HOSTILE.into(), "recovery".into()],
            rows: (0..60)
                .map(|i| {
                    let phase = match i {
                        20 => Phase::Failure,
                        21 => Phase::Omitted,
                        0..=19 => Phase::Before,
                        _ => Phase::Recovery,
                    };
                    row(phase, HOSTILE)
                })
                .collect(),
            lanes: vec![Lane {
                name: HOSTILE.into(),
                versions: [
                    Survival::Overwritten,
                    Survival::Survived,
                    Survival::Lost,
                    Survival::Possible,
                ]
                .map(|state| LaneVersion {
                    text: HOSTILE.into(),
                    state,
                    row: Some(1),
                })
                .into(),
            }],
        }),
        diffs: vec![Diff {
            title: "t".into(),
            text: format!("@@\n-{HOSTILE}\n+b"),
        }],
        output: HOSTILE.into(),
        schedule: Some(vec![Turn {
            thread: HOSTILE.into(),
            reason: TurnReason::Race,
            object: Some(HOSTILE.into()),
            deeds: vec![TurnLine {
                stack: Vec::new(),
                at: Some(HOSTILE.into()),
                text: HOSTILE.into(),
                fails: false,
            }],
        }]),
        ..Finding::new(Kind::Assertion, Severity::Error, HOSTILE)
    }
}

fn run(findings: usize) -> (Run, Sources) {
    let run = Run {
        tool: "landfall".into(),
        version: "0".into(),
        verdict: Verdict::Findings,
        complete: true,
        findings: (1..=findings).map(finding).collect(),
        stats: Stats {
            runs: 10_000,
            events: 10_000_000,
            seconds: 1.5,
            ..Stats::default()
        },
        warnings: vec![HOSTILE.into()],
        command: HOSTILE.into(),
        coverage: Coverage(BTreeMap::from([(
            "queue.c".into(),
            (1..=100_000)
                .map(|line| {
                    let stores = u64::from(line % 2);
                    (
                        line,
                        LineCoverage {
                            stores,
                            ..LineCoverage::default()
                        },
                    )
                })
                .collect(),
        )])),
        progress: (0..10_000u32)
            .map(|i| Sample {
                seconds: f64::from(i) / 100.0,
                runs: i.into(),
                behaviours: i.into(),
                nodes: u64::from(i) * 3,
                estimate: (i > 10).then_some(if i == 20 { f64::INFINITY } else { 10_000.0 }),
                ..Sample::default()
            })
            .collect(),
        ..Run::default()
    };
    let sources = Sources::from([("queue.c".to_owned(), format!("{HOSTILE}\n").repeat(4))]);
    (run, sources)
}

/// Exactly our own tags may be there: one script, no image, no handler.
#[test]
fn hostile_text_stays_text() {
    let (run, sources) = run(3);
    let page = page(&run, &sources);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!page.contains('\u{0}'));
    assert_eq!(page.matches("class=\"finding\"").count(), 3);
}

#[test]
fn the_bare_page_is_small_and_a_huge_run_stays_under_five_megabytes() {
    let empty = page(&Run::default(), &Sources::new());
    assert!(empty.len() < 300_000, "{}", empty.len());
    let (run, sources) = run(500);
    let page = page(&run, &sources);
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains(" more, by their headings"));
}

#[test]
fn sarif_has_both_sides_and_our_rule() {
    let (run, _) = run(1);
    let log: serde_json::Value = serde_json::from_str(&sarif(&run)).unwrap();
    let result = &log["runs"][0]["results"][0];
    let rule = result["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(
        log["runs"][0]["tool"]["driver"]["rules"][rule]["id"],
        "assertion"
    );
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 1);
    let related: Vec<u64> = result["relatedLocations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| {
            at["physicalLocation"]["region"]["startLine"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(related, [1_000_000, 3]);
}

#[test]
fn junit_is_well_formed_whatever_the_program_printed() {
    let (mut run, _) = run(2);
    let xml = junit(&run);
    assert!(xml.contains("errors=\"2\""), "{xml}");
    assert!(!xml.contains('\u{0}') && !xml.contains('\u{1b}'));
    assert!(!xml.contains("<script"), "{xml}");
    run.findings.clear();
    run.complete = false;
    run.limits = vec![landfall_finding::Limit::Time];
    assert!(junit(&run).contains("incomplete: time"));
}
