//! The library as others use it: nothing of the command line.

use landfall::finding::{Kind, Limit, Place, Verdict};
use landfall::{Cancel, Check, ErrorKind, FixOptions, Observer, Progress};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A flag that may reach persistent memory before what it stands for.
const BROKEN: &str = "#include <landfall.h>
int main(void) {
  long *pm = lf_pm(4096);
  if (pm[8]) return pm[0] == 1 ? 0 : 1;
  pm[0] = 1;
  pm[8] = 1;
  lf_persist(pm, 128);
  return 0;
}
";

fn folder(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("library")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.c"), source).unwrap();
    folder
}

fn check(folder: &Path) -> Check {
    let mut check = Check::new("a.c");
    check.options.directory = Some(folder.to_owned());
    check
}

#[derive(Default)]
struct Heard {
    found: Vec<(Kind, Option<u32>)>,
    progress: usize,
}

impl Observer for Heard {
    fn progress(&mut self, _: &Progress) {
        self.progress += 1;
    }

    fn found(&mut self, kind: Kind, at: Option<&Place>, _: &str, _: Duration) {
        self.found.push((kind, at.map(|at| at.line)));
    }
}

#[test]
fn findings_are_values_and_whoever_watches_hears_of_them_first() {
    let folder = folder("values", BROKEN);
    let mut heard = Heard::default();
    let run = check(&folder).watched(&mut heard).unwrap();
    assert_eq!(run.verdict, Verdict::Findings);
    let finding = &run.findings[0];
    assert_eq!(finding.kind, Kind::Exit);
    let lines = [finding.lost(), finding.kept()].map(|store| {
        let at = store.and_then(|store| store.at.as_ref());
        at.map(|at| (at.file.clone(), at.line))
    });
    let at = |line| Some(("a.c".to_owned(), line));
    assert_eq!(lines, [at(5), at(6)]);
    assert_eq!(heard.found.first().map(|(kind, _)| *kind), Some(Kind::Exit));
    assert!(heard.progress > 0);
    // The files say the same.
    let (_, read) = landfall::read_run(&folder.join("landfall-out")).unwrap();
    assert_eq!(landfall::json(&read), landfall::json(&run));
}

#[test]
fn a_bug_is_run_again_and_repaired_without_a_command_line() {
    let folder = folder("repaired", BROKEN);
    check(&folder).run().unwrap();
    let again = landfall::replay(&folder.join("landfall-out/B1.json")).unwrap();
    assert_eq!(again.difference(), None);
    assert!(again.text(false).contains("the power fails"));
    drop(again);
    let options = FixOptions {
        apply: true,
        ..FixOptions::default()
    };
    let fixed = landfall::fix(&folder.join("landfall-out"), &options, &mut ()).unwrap();
    assert_eq!((fixed.left, fixed.failed), (0, None));
    assert!(
        fixed.diffs[0].contains("+  lf_persist("),
        "{:?}",
        fixed.diffs
    );
    let run = check(&folder).run().unwrap();
    assert_eq!(run.verdict, Verdict::Clean);
}

#[test]
fn who_cancels_gets_what_is_known() {
    struct Impatient(Cancel);
    impl Observer for Impatient {
        fn found(&mut self, _: Kind, _: Option<&Place>, _: &str, _: Duration) {
            self.0.cancel();
        }
    }
    // Far more power failures than anybody waits for.
    let many = "#include <landfall.h>
int main(void) {
  volatile char *pm = lf_pm(1 << 20);
  long sum = 0;
  for (int i = 0; i < 4096; i++) sum += pm[i * 64];
  if (sum > 3) return 1;
  for (int i = 0; i < 4096; i++) pm[i * 64] = 1;
  return 0;
}
";
    let folder = folder("cancelled", many);
    let cancel = Cancel::new();
    let check = check(&folder).cancelled_by(cancel);
    let run = check.watched(&mut Impatient(cancel)).unwrap();
    assert_eq!(run.limits, [Limit::Interrupt]);
    assert_eq!(run.findings[0].kind, Kind::Exit);
}

#[test]
fn what_cannot_be_done_says_whose_matter_it_is() {
    let folder = folder("refused", "int main(void) { return 0; }");
    let refused = |source: &str| {
        std::fs::write(folder.join("a.c"), source).unwrap();
        check(&folder).run().unwrap_err().kind()
    };
    assert_eq!(refused("int main(void) { return 0; }"), ErrorKind::Nothing);
    let mut broken = check(&folder);
    broken.options.quiet_compiler = true;
    std::fs::write(folder.join("a.c"), "int main(void) { return }").unwrap();
    assert_eq!(broken.run().unwrap_err().kind(), ErrorKind::Build);
    let missing = Check::new(folder.join("missing.c")).run().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Usage);
    assert!(missing.to_string().contains("no such source file"));
}
