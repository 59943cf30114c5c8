//! What each form of writing means: each file in `tests/parse_forms` has beside it, in `.printed`, the test it holds as
//! `.lit` text, and how its expectations were understood. A new case is a new file, with `BLESS=1` as for errors.

use super::judge;
use landfall_litmus::parse::parse;
use landfall_litmus::print::to_lit;
use landfall_litmus::program::Test;

#[test]
fn every_form_means_what_stands_beside_it() {
    judge("parse_forms", "printed", 10, |name, text| {
        let test = match parse(name, text) {
            Ok(test) => test,
            Err(error) => return format!("{error}\n"),
        };
        let printed = to_lit(&test);
        let again = parse("printed.lit", &printed).map(without_wording);
        let meant = Ok(without_wording(test.clone()));
        assert_eq!(again, meant, "{name} as\n{printed}");
        let understood = test
            .expect
            .iter()
            .map(|e| format!("{:?} {:?}\n", e.quantifier, e.prop));
        printed
            + &understood
                .map(|line| format!("# {line}"))
                .collect::<String>()
    });
}

/// A `.litmus` file may name a register by another of its aliases in the condition, which `.lit` files do not know.
fn without_wording(mut test: Test) -> Test {
    for expectation in &mut test.expect {
        expectation.text.clear();
    }
    // Neither do they know a question whose answer is another.
    test.asked = None;
    test
}
