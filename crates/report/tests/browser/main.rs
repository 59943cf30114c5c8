//! The page in a real browser. Chromium is driven through its debugging pipe: no driver, no port, no network.

mod chromium;
mod sample;

use chromium::Chromium;
use serde_json::json;

#[test]
fn a_reader_finds_their_way() {
    let mut browser = Chromium::open(&sample::page(), 1280, 800);
    // Opens without a complaint, with the first finding open and the second closed.
    assert_eq!(
        browser.value("document.querySelectorAll('.finding').length"),
        json!(2)
    );
    assert_eq!(
        browser.value("document.querySelector('#B1').open"),
        json!(true)
    );
    assert_eq!(
        browser.value("document.querySelector('#B2').open"),
        json!(false)
    );

    browser.click("#B2 > summary");
    assert_eq!(
        browser.value("document.querySelector('#B2').open"),
        json!(true)
    );

    // Lanes fold and unfold.
    browser.click("#B1 .lane > summary");
    assert_eq!(
        browser.value("document.querySelector('#B1 .lane').open"),
        json!(false)
    );
    browser.click("#B1 .lane > summary");
    assert_eq!(
        browser.value("document.querySelector('#B1 .lane').open"),
        json!(true)
    );

    // The keyboard shows who read a store.
    browser.value("document.querySelector('#B1-row0').focus()");
    let related = "[...document.querySelectorAll('.related')].map(e => e.id)";
    assert_eq!(browser.value(related), json!(["B1-row3"]));

    browser.click("#B1 .copy");
    assert_eq!(
        browser.eventually("document.getElementById('said').textContent", "copied"),
        json!("copied")
    );

    // Dark and back.
    let paper = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(paper);
    browser.click("#theme");
    assert_ne!(browser.value(paper), light);
    browser.click("#theme");
    assert_eq!(browser.value(paper), light);

    // One kind only.
    browser.click(".filter button[data-kind='robustness']");
    assert_eq!(
        browser.value("document.querySelector('#B1').hidden"),
        json!(true)
    );
    assert_eq!(
        browser.value("document.querySelector('#B2').hidden"),
        json!(false)
    );

    // The hostile source line is there, as text.
    assert_eq!(
        browser.value("document.body.textContent.includes('<script>hostile()')"),
        json!(true)
    );
    assert_eq!(browser.value("document.scripts.length"), json!(1));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// On a phone nothing is wider than the screen but what scrolls by itself.
#[test]
fn a_phone_needs_no_sideways_scrolling() {
    let mut browser = Chromium::open(&sample::page(), 390, 800);
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.value(wider), json!(0));
}

/// A huge report is ready soon after it is opened. Counted in the browser's own work, not by the clock: what is folded is neither laid out nor
/// styled, so that 500 findings cost the first layout little more than two.
#[test]
fn a_huge_report_opens() {
    let page = sample::huge();
    assert!(page.len() < 5_000_000, "{}", page.len());
    let mut small = Chromium::open(&sample::page(), 1280, 800);
    let mut huge = Chromium::open(&page, 1280, 800);
    assert_eq!(huge.value("document.readyState"), json!("complete"));
    let findings = huge.value("document.querySelectorAll('.finding, .rest li').length");
    assert_eq!(findings, json!(500));
    let layouts = |browser: &mut Chromium| browser.counter("LayoutCount");
    assert!(layouts(&mut huge) <= 3.0 * layouts(&mut small) + 4.0);
    let boxes = |browser: &mut Chromium| browser.counter("LayoutObjects");
    let (few, many) = (boxes(&mut small), boxes(&mut huge));
    assert!(many < 500.0 * 30.0 + few, "{many} boxes, against {few}");
    // Ten thousand behaviours are one line, which opens.
    assert_eq!(
        huge.value("document.querySelectorAll('.outcome').length"),
        json!(1)
    );
    huge.click(".outcome > summary");
    let rows = huge.value("document.querySelectorAll('.outcome[open] tr').length");
    assert_eq!(rows, json!(100));
    // A finding in the middle opens as fast as any.
    huge.click("#B100 > summary");
    assert_eq!(
        huge.value("document.querySelector('#B100').open"),
        json!(true)
    );
    assert_eq!(huge.complaints(), Vec::<String>::new());
}
