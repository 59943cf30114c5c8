//! Pages to open.

use landfall_finding::{OutcomePlace, Place, RecoveryOutcome, Run};
use landfall_report::Sources;

const RUN: &str = include_str!("queue.json");
const QUEUE: &str = "#include <assert.h>\n/* <script>hostile()</script> */\nvoid push(struct queue *q, struct node *node) {\n    node->next = 0;\n    q->tail = node;\n    persist(&q->tail);\n}\n\nint main(void) {\n    struct queue *q = open_queue();\n    if (lf_failures()) {\n        assert(q->tail == last(q));\n        return 0;\n    }\n    push(q, make(1));\n    push(q, make(2));\n}\n";

fn run() -> Run {
    serde_json::from_str(RUN).unwrap()
}

pub(crate) fn page() -> String {
    page_of(&run())
}

fn page_of(run: &Run) -> String {
    landfall_report::page(
        run,
        &Sources::from([("queue.c".to_owned(), QUEUE.to_owned())]),
    )
}

/// 500 findings, 10,000 behaviours.
pub(crate) fn huge() -> String {
    let mut run = run();
    let finding = run.findings[0].clone();
    run.findings = (1..=500)
        .map(|number| {
            let mut finding = finding.clone();
            finding.id = format!("B{number}");
            finding
        })
        .collect();
    run.outcomes = vec![RecoveryOutcome {
        kind: "well".into(),
        text: "ended well".into(),
        behaviours: 10_000,
        at: (1..=5_000)
            .map(|line| OutcomePlace {
                at: Some(Place {
                    file: "queue.c".into(),
                    line,
                    ..Place::default()
                }),
                behaviours: 2,
            })
            .collect(),
    }];
    run.stats.behaviours = 10_000;
    run.stats.events = 10_000_000;
    page_of(&run)
}
