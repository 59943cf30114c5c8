//! The page that a real check wrote, in a real browser.

#[path = "../../report/tests/browser/chromium.rs"]
mod chromium;

use chromium::Chromium;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The page of a check of this program.
fn page(name: &str, program: &str, options: &[&str]) -> String {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("browser")
        .join(name);
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).unwrap();
    fs::write(scratch.join("program.c"), program).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .arg("check")
        .args(options)
        .arg("program.c")
        .current_dir(&scratch)
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    fs::read_to_string(scratch.join("landfall-out/report.html")).unwrap()
}

/// Every text it has would be a script if it could.
const HOSTILE: &str = r#"#include <landfall.h>
#include <stdio.h>
#include <stdlib.h>
/* </pre><script>document.title = "broken out"</script> */
static void loses(long *pm) { pm[0] = 1; /* <img src=x onerror='document.title="broken out"'> */
}
int main(void) {
  long *pm = lf_pm(4096);
  if (pm[8] && !pm[0]) { puts("</pre><script>document.title = 'broken out'</script>"); fflush(stdout); exit(7); }
  if (pm[24] && !pm[16]) { puts("<svg onload=\"document.title='broken out'\">"); fflush(stdout); exit(8); }
  loses(pm);
  pm[8] = 1;
  lf_persist(pm, 128);
  pm[16] = 2;
  pm[24] = 2;
  lf_persist(pm + 16, 128);
  return 0;
}
"#;

#[test]
fn a_real_report_is_at_hand_and_harmless() {
    let mut browser = Chromium::open(&page("hostile", HOSTILE, &["--checks", "crash"]), 1280, 900);
    let count = |browser: &mut Chromium, what: &str| {
        browser.value(&format!("document.querySelectorAll('{what}').length"))
    };
    assert_eq!(count(&mut browser, ".finding"), json!(2));
    // The first is open; the second opens by a click.
    assert_eq!(
        browser.value("document.querySelector('#B2').open"),
        json!(false)
    );
    browser.click("#B2 > summary");
    assert_eq!(
        browser.value("document.querySelector('#B2').open"),
        json!(true)
    );
    // A power failure across, rows on both sides, the fatal one marked.
    assert_eq!(count(&mut browser, "#B1 td.failure"), json!(1));
    assert_ne!(count(&mut browser, "#B1 tr.before"), json!(0));
    assert_ne!(count(&mut browser, "#B1 tr.recovery"), json!(0));
    assert_eq!(count(&mut browser, "#B1 tr.failed"), json!(1));
    assert_eq!(count(&mut browser, "#B1 li.version.lost"), json!(1));
    // Lanes fold and unfold.
    browser.click("#B1 .lane > summary");
    assert_eq!(
        browser.value("document.querySelector('#B1 .lane').open"),
        json!(false)
    );
    // The store that was kept says who read it, to the keyboard as well.
    browser.value("document.querySelector('#B1 tr.kept').focus()");
    let readers = "getComputedStyle(document.querySelector('#B1 tr.kept .readers')).display";
    assert_eq!(browser.value(readers), json!("inline"));
    let related = "[...document.querySelectorAll('tr.related')].map(e => e.className)";
    assert_eq!(browser.value(related), json!(["recovery related"]));
    // The command to see it again.
    browser.click("#B1 h3:last-of-type + .command .copy");
    let said = "document.getElementById('said').textContent";
    assert_eq!(browser.eventually(said, "copied"), json!("copied"));
    // A patch, coverage with its lines, the search as a drawing.
    assert_ne!(count(&mut browser, "#B1 .diff .added"), json!(0));
    browser.click("#coverage .file > summary");
    assert_ne!(count(&mut browser, "#coverage tr.covered"), json!(0));
    assert_ne!(count(&mut browser, "#search svg path"), json!(0));
    // Dark.
    let paper = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(paper);
    browser.click("#theme");
    assert_ne!(browser.value(paper), light);
    // Nothing of the program has become markup.
    let title = browser.value("document.title");
    assert!(title.as_str().unwrap().starts_with("Landfall: "), "{title}");
    assert_eq!(browser.value("document.scripts.length"), json!(1));
    assert_eq!(count(&mut browser, "img, svg[onload]"), json!(0));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_real_report_fits_a_phone() {
    let mut browser = Chromium::open(&page("phone", HOSTILE, &[]), 390, 800);
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.value(wider), json!(0));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
