//! `cargo run -p landfall-report --example screenshots -- PAGE NAME`: a report as a desk and a phone show it, in NAME-1280.png and NAME-phone.png.

#[path = "../tests/browser/chromium.rs"]
mod chromium;

use chromium::Chromium;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(page), Some(name)) = (arguments.next(), arguments.next()) else {
        panic!("screenshots PAGE NAME");
    };
    let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{page}: {e}"));
    for (size, width, height) in [("1280", 1280, 2400), ("phone", 390, 1800)] {
        let mut browser = Chromium::open(&text, width, height);
        let path = format!("{name}-{size}.png");
        std::fs::write(&path, browser.screenshot()).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}
