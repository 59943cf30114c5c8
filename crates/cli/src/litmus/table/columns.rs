//! How wide each column is, so that a row fits an old terminal.

use super::TableRow;

pub(super) const PAGE: usize = 80;
const GAP: &str = "  ";
/// Below these, a name or an expectation can no longer be recognised.
const SHORTEST_NAME: usize = 24;
const SHORTEST_EXPECTATION: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnCut {
    ToFit,
    Never,
}

/// Which end of a text too long for its column stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnKeep {
    Start,
    End,
}

#[derive(Debug)]
pub(super) struct Widths {
    test: usize,
    outcomes: usize,
    expectation: usize,
    verdict: usize,
}

impl Widths {
    pub(super) fn of(rows: &[TableRow], cut: ColumnCut) -> Widths {
        let widest = |title: &str, text: fn(&TableRow) -> &str| {
            let widths = rows.iter().map(|row| width(text(row)));
            widths.max().unwrap_or(0).max(width(title))
        };
        let mut widths = Widths {
            test: widest("test", |row| &row.test),
            outcomes: widest("outcomes", |row| &row.outcomes),
            expectation: widest("expectation", |row| &row.expectation),
            verdict: widest("verdict", |row| row.verdict),
        };
        if cut == ColumnCut::ToFit {
            // Names give way first, down to what still tells them apart; then expectations; then names for good.
            widths.test -= widths
                .excess()
                .min(widths.test.saturating_sub(SHORTEST_NAME));
            let spare = widths.expectation.saturating_sub(SHORTEST_EXPECTATION);
            widths.expectation -= widths.excess().min(spare);
        }
        widths
    }

    fn excess(&self) -> usize {
        let total = self.test + self.outcomes + self.expectation + self.verdict + 3 * GAP.len();
        total.saturating_sub(PAGE)
    }

    pub(super) fn heading(&self) -> String {
        let (test, outcomes, expectation) = (self.test, self.outcomes, self.expectation);
        format!(
            "{:test$}{GAP}{:outcomes$}{GAP}{:expectation$}{GAP}verdict\n",
            "test", "outcomes", "expectation"
        )
    }

    pub(super) fn line(&self, row: &TableRow) -> String {
        let (test, outcomes, expectation) = (self.test, self.outcomes, self.expectation);
        let (style, verdict) = (row.style, row.verdict);
        format!(
            "{:test$}{GAP}{:>outcomes$}{GAP}{:expectation$}{GAP}{style}{verdict}{style:#}\n",
            cut(&row.test, test, row.keep),
            row.outcomes,
            cut(&row.expectation, expectation, ColumnKeep::Start),
        )
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A file is recognised by the end of its path, everything else by its beginning.
fn cut(text: &str, columns: usize, keep: ColumnKeep) -> String {
    let Some(excess) = width(text)
        .checked_sub(columns)
        .filter(|&excess| excess > 0)
    else {
        return text.to_owned();
    };
    match keep {
        ColumnKeep::Start => text
            .chars()
            .take(columns.saturating_sub(1))
            .chain(['…'])
            .collect(),
        ColumnKeep::End => ['…']
            .into_iter()
            .chain(text.chars().skip(excess + 1))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::Style;

    fn row(test: &str, expectation: &str) -> TableRow {
        TableRow {
            test: test.to_owned(),
            keep: ColumnKeep::Start,
            outcomes: "4".to_owned(),
            expectation: expectation.to_owned(),
            verdict: "ok",
            style: Style::new(),
        }
    }

    #[test]
    fn long_rows_fit_the_page() {
        let rows = [row(&"n".repeat(90), &"é".repeat(90)), row("short", "x=1")];
        let widths = Widths::of(&rows, ColumnCut::ToFit);
        for row in &rows {
            assert!(width(widths.line(row).trim_end()) <= PAGE);
        }
        assert!(width(widths.heading().trim_end()) <= PAGE);
    }

    #[test]
    fn either_end_can_stay() {
        assert_eq!(cut("abcdef", 4, ColumnKeep::Start), "abc…");
        assert_eq!(cut("abcdef", 4, ColumnKeep::End), "…def");
        assert_eq!(cut("abcd", 4, ColumnKeep::End), "abcd");
    }

    #[test]
    fn nothing_is_cut_on_request_or_without_need() {
        let rows = [row(&"n".repeat(90), &"e".repeat(90))];
        assert!(
            !Widths::of(&rows, ColumnCut::Never)
                .line(&rows[0])
                .contains('…')
        );
        let rows = [row("MP+clflush", "forbidden f=1 x=0")];
        assert!(
            !Widths::of(&rows, ColumnCut::ToFit)
                .line(&rows[0])
                .contains('…')
        );
    }
}
