//! Verdicts that a list gives to tests, in place of what their own files expect: `SB Allowed`, `litmus/X86/amd3.litmus,0`.

use crate::expect::{Expectation, Prop, Quantifier};
use crate::parse::ParseError;
use crate::program::Test;

/// What is said of a test's condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListedVerdict {
    /// Some outcome satisfies it.
    Allowed,
    /// Every outcome does.
    Required,
    /// None does.
    Forbidden,
    /// What the file asks of it is so: `exists`, `~exists` or `forall`.
    Holds,
    /// What the file asks of it is not so.
    Fails,
}

/// A line of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// A test's name, or (part of) the path of its file.
    pub test: String,
    pub verdict: ListedVerdict,
    /// Where the list says so, 1-based.
    pub line: usize,
}

const A_LINE: &str = "a test (its name or its file), then `,`, `:` or a blank, then `Allowed`, `Required` or `Forbidden`, or `1` (what the file asks is so) or `0` (it is not)";

/// The lines of a list. Empty ones, and those that begin with `#` or `//`, say nothing.
pub fn read(text: &str) -> Result<Vec<Listed>, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
    });
    lines.map(|(at, line)| listed(at + 1, line)).collect()
}

fn listed(line: usize, text: &str) -> Result<Listed, ParseError> {
    let separates = |c: char| c == ',' || c == ':' || c.is_whitespace();
    let trimmed = text.trim_end();
    // Names may have blanks: what counts is the last word.
    let start = trimmed
        .char_indices()
        .rev()
        .find(|(_, c)| separates(*c))
        .map_or(0, |(at, c)| at + c.len_utf8());
    let word = &trimmed[start..];
    let test = trimmed[..start].trim_start().trim_end_matches(separates);
    let verdict = match word.to_ascii_lowercase().as_str() {
        "allowed" | "allow" => Some(ListedVerdict::Allowed),
        "required" | "require" => Some(ListedVerdict::Required),
        "forbidden" | "forbid" => Some(ListedVerdict::Forbidden),
        "1" => Some(ListedVerdict::Holds),
        "0" => Some(ListedVerdict::Fails),
        _ => None,
    };
    let error = |column: usize, found: String| ParseError {
        line,
        column,
        found,
        expected: A_LINE.to_owned(),
    };
    let column = |at: usize| trimmed[..at].chars().count() + 1;
    match verdict {
        Some(verdict) if !test.is_empty() => Ok(Listed {
            test: test.to_owned(),
            verdict,
            line,
        }),
        Some(_) => Err(error(1, "a verdict and no test".to_owned())),
        None => Err(error(column(start), crate::parse::quoted(word))),
    }
}

/// What a test expects under a verdict of a list, or why that verdict says nothing about it.
pub fn expect(test: &Test, verdict: ListedVerdict) -> Result<Vec<Expectation>, String> {
    match test.expect.as_slice() {
        [] => Err("it has no condition".to_owned()),
        [only] => {
            let asked = test.asked.as_ref().unwrap_or(&only.quantifier);
            Ok(vec![only.under(verdict, asked)])
        }
        all if verdict == ListedVerdict::Holds => Ok(all.to_vec()),
        several => Err(format!("it has {} conditions", several.len())),
    }
}

impl Expectation {
    /// This condition with another claim.
    fn under(&self, verdict: ListedVerdict, asked: &Quantifier) -> Expectation {
        let with = |quantifier: Quantifier| Expectation {
            quantifier,
            ..self.clone()
        };
        match (verdict, asked) {
            (ListedVerdict::Allowed, _) => with(Quantifier::Exists),
            (ListedVerdict::Forbidden, _) => with(Quantifier::Never),
            (ListedVerdict::Required, _) => with(Quantifier::Always),
            (ListedVerdict::Holds, asked) => with(asked.clone()),
            (ListedVerdict::Fails, Quantifier::Exists) => with(Quantifier::Never),
            (ListedVerdict::Fails, Quantifier::Never) => with(Quantifier::Exists),
            (ListedVerdict::Fails, Quantifier::Always) => Expectation {
                quantifier: Quantifier::Exists,
                prop: Prop::Not(Box::new(self.prop.clone())),
                text: format!("~({})", self.text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (String, ListedVerdict) {
        let mut all = read(text).unwrap();
        assert_eq!(all.len(), 1);
        let Listed { test, verdict, .. } = all.remove(0);
        (test, verdict)
    }

    #[test]
    fn the_last_word_is_the_verdict_and_the_rest_the_test() {
        let cases = [
            ("SB Allowed", "SB", ListedVerdict::Allowed),
            ("SB: forbid", "SB", ListedVerdict::Forbidden),
            (
                "litmus/X86/a,b.litmus,0",
                "litmus/X86/a,b.litmus",
                ListedVerdict::Fails,
            ),
            (
                "  x86-m4 (X86MFour)\tRequired \r",
                "x86-m4 (X86MFour)",
                ListedVerdict::Required,
            ),
            ("amd3 , 1", "amd3", ListedVerdict::Holds),
        ];
        for (text, test, verdict) in cases {
            assert_eq!(one(text), (test.to_owned(), verdict), "{text}");
        }
    }

    #[test]
    fn remarks_and_empty_lines_say_nothing_and_lines_keep_their_numbers() {
        let all = read("\u{feff}# a remark\n\n// another\nSB Allowed\n").unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].line, 4);
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert!(
            message("SB Allowed\nMP maybe\n").starts_with("2:4: found `maybe`, expected a test")
        );
        assert!(message("Allowed\n").starts_with("1:1: found a verdict and no test"));
        assert!(message("MP 2\n").starts_with("1:4: found `2`"));
    }

    fn test(condition: &str) -> Test {
        let text = format!("X86 t\n{{ }}\n P0          ;\n MOV EAX,[x] ;\n{condition}\n");
        crate::parse::parse("t.litmus", &text).unwrap()
    }

    #[test]
    fn a_verdict_is_about_the_condition_whatever_the_file_says_of_it() {
        let some = [vec![0], vec![1]].into_iter().collect();
        let all = [vec![1]].into_iter().collect();
        let none = [vec![2]].into_iter().collect();
        let always = "forall (0:EAX=1)";
        let answered = "final (0:EAX=1) with tso: ~exists;";
        let cases = [
            (always, ListedVerdict::Allowed, [true, true, false]),
            (always, ListedVerdict::Required, [false, true, false]),
            (always, ListedVerdict::Forbidden, [false, false, true]),
            (always, ListedVerdict::Holds, [false, true, false]),
            (always, ListedVerdict::Fails, [true, false, true]),
            (
                "exists (0:EAX=1)",
                ListedVerdict::Fails,
                [false, false, true],
            ),
            (
                "~exists (0:EAX=1)",
                ListedVerdict::Fails,
                [true, true, false],
            ),
            // The question is `exists`; that the file also knows the answer does not change it.
            (answered, ListedVerdict::Holds, [true, true, false]),
            (answered, ListedVerdict::Fails, [false, false, true]),
            (answered, ListedVerdict::Allowed, [true, true, false]),
        ];
        for (condition, verdict, wanted) in cases {
            let expectation = expect(&test(condition), verdict).unwrap().remove(0);
            let found = [&some, &all, &none].map(|outcomes| expectation.holds(outcomes));
            assert_eq!(found, wanted, "{condition} {verdict:?}");
        }
        let fails = expect(&test(always), ListedVerdict::Fails)
            .unwrap()
            .remove(0);
        assert_eq!(fails.text, "~(0:EAX=1)");
    }

    #[test]
    fn one_verdict_is_for_one_condition() {
        assert!(expect(&test(""), ListedVerdict::Holds).is_err());
        let text = "name: t\nlines: x\nT0: x = 1\nfinal: x\nallowed: x=1\nforbidden: x=0\n";
        let two = crate::parse::parse("t.lit", text).unwrap();
        assert!(expect(&two, ListedVerdict::Allowed).is_err());
        assert_eq!(expect(&two, ListedVerdict::Holds).unwrap(), two.expect);
    }
}
