//! Where a parser stands in a text, and the token that lies there. Both formats are cut into the same tokens.

use super::ParseError;
use crate::program::Value;

/// A position, 1-based, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextSpot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl TextSpot {
    pub(crate) const START: TextSpot = TextSpot { line: 1, column: 1 };

    /// The spot behind this text, if the text starts here.
    pub(crate) fn after(self, text: &str) -> TextSpot {
        text.chars().fold(self, |spot, c| match c {
            '\n' => TextSpot {
                line: spot.line + 1,
                column: 1,
            },
            _ => TextSpot {
                column: spot.column + 1,
                ..spot
            },
        })
    }

    pub(crate) fn error(self, found: impl Into<String>, expected: impl Into<String>) -> ParseError {
        ParseError {
            line: self.line,
            column: self.column,
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// What counts as a comment, and what the end of the text is called in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LitmusDialect {
    /// One line of a `.lit` file, its `#` comment already cut off.
    LitLine,
    /// A `.litmus` file: nested `(* … *)`, and `//` to the end of the line.
    Herd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LitmusToken<'a> {
    Word(&'a str),
    Number {
        value: Value,
        text: &'a str,
    },
    Sign(&'static str),
    /// Starts like a number and is none, or does not fit 64 bits.
    NotANumber(&'a str),
    Other(char),
    UnclosedComment,
    End(LitmusDialect),
}

impl LitmusToken<'_> {
    /// How a message calls it.
    pub(crate) fn describe(&self) -> String {
        match self {
            LitmusToken::Word(text) | LitmusToken::Number { text, .. } => quote(text),
            LitmusToken::Sign(text) => quote(text),
            LitmusToken::NotANumber(text) => format!("{}, which is no 64-bit number", quote(text)),
            LitmusToken::Other(c) => format!("`{}`", c.escape_debug()),
            LitmusToken::UnclosedComment => "a comment `(*` that nothing closes".into(),
            LitmusToken::End(LitmusDialect::LitLine) => "the end of the line".into(),
            LitmusToken::End(LitmusDialect::Herd) => "the end of the file".into(),
        }
    }
}

/// Quotes what the file says, shortened: a message stays a line even if the file is one endless word.
pub(crate) fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    let shown: String = text.chars().take(LONGEST).collect();
    let dots = if text.chars().count() > LONGEST {
        "…"
    } else {
        ""
    };
    format!("`{}{dots}`", shown.escape_debug())
}

/// Longer ones first, so that `==` is not read as two `=`.
const SIGNS: [&str; 24] = [
    "/\\", "\\/", "=>", "==", "!=", "<>", "(", ")", "[", "]", "{", "}", ";", ",", "|", "=", ":",
    "$", "~", "+", "-", "&", "^", "*",
];

#[derive(Clone, Debug)]
pub(crate) struct TextCursor<'a> {
    rest: &'a str,
    spot: TextSpot,
    dialect: LitmusDialect,
}

impl<'a> TextCursor<'a> {
    pub(crate) fn new(text: &'a str, spot: TextSpot, dialect: LitmusDialect) -> Self {
        TextCursor {
            rest: text,
            spot,
            dialect,
        }
    }

    /// The text from the next token on.
    pub(crate) fn rest(&mut self) -> &'a str {
        self.skip_blank();
        self.rest
    }

    pub(crate) fn spot(&mut self) -> TextSpot {
        self.skip_blank();
        self.spot
    }

    pub(crate) fn peek(&mut self) -> LitmusToken<'a> {
        self.skip_blank();
        self.token().0
    }

    pub(crate) fn next(&mut self) -> LitmusToken<'a> {
        self.skip_blank();
        let (token, length) = self.token();
        self.advance(length);
        token
    }

    /// The token after the next one.
    pub(crate) fn peek_second(&self) -> LitmusToken<'a> {
        let mut ahead = self.clone();
        ahead.next();
        ahead.peek()
    }

    pub(crate) fn at_end(&mut self) -> bool {
        matches!(self.peek(), LitmusToken::End(_))
    }

    /// Takes the sign if it comes next.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let here = matches!(self.peek(), LitmusToken::Sign(s) if s == sign);
        if here {
            self.next();
        }
        here
    }

    /// Takes the word if it comes next, in any case.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), LitmusToken::Word(w) if w.eq_ignore_ascii_case(word));
        if here {
            self.next();
        }
        here
    }

    pub(crate) fn expect(&mut self, sign: &str, expected: &str) -> Result<(), ParseError> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    pub(crate) fn word(&mut self, expected: &str) -> Result<(&'a str, TextSpot), ParseError> {
        let spot = self.spot();
        match self.peek() {
            LitmusToken::Word(word) => {
                self.next();
                Ok((word, spot))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A constant: decimal or hexadecimal, with or without a minus.
    pub(crate) fn value(&mut self, expected: &str) -> Result<Value, ParseError> {
        let start = self.clone();
        let negative = self.take("-");
        match self.peek() {
            LitmusToken::Number { value, .. } => {
                self.next();
                Ok(if negative {
                    value.wrapping_neg()
                } else {
                    value
                })
            }
            // A lone minus is what is wrong, not what follows it.
            LitmusToken::Word(_) | LitmusToken::Sign(_) if negative => {
                *self = start;
                Err(self.unexpected(expected))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    pub(crate) fn end(&mut self, expected: &str) -> Result<(), ParseError> {
        if self.at_end() {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// The error that says the next token is not what belongs here.
    pub(crate) fn unexpected(&mut self, expected: impl Into<String>) -> ParseError {
        let found = self.peek().describe();
        self.spot().error(found, expected)
    }

    /// Moves on by so many bytes, whatever they hold.
    pub(crate) fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.spot = self.spot.after(passed);
        self.rest = rest;
    }

    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.advance(blank);
            if self.dialect != LitmusDialect::Herd {
                return;
            }
            if self.rest.starts_with("//") {
                self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else {
                match comment_length(self.rest) {
                    Some(length) => self.advance(length),
                    None => return,
                }
            }
        }
    }

    /// The token at the cursor and its length in bytes; blanks are skipped already.
    fn token(&self) -> (LitmusToken<'a>, usize) {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return (LitmusToken::End(self.dialect), 0);
        };
        if self.dialect == LitmusDialect::Herd && rest.starts_with("(*") {
            return (LitmusToken::UnclosedComment, rest.len());
        }
        if first.is_ascii_alphanumeric() || first == '_' {
            let length = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
                .unwrap_or(rest.len());
            let text = rest.get(..length).unwrap_or(rest);
            let token = match (first.is_ascii_digit(), number(text)) {
                (false, _) => LitmusToken::Word(text),
                (true, Some(value)) => LitmusToken::Number { value, text },
                (true, None) => LitmusToken::NotANumber(text),
            };
            return (token, length);
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => (LitmusToken::Sign(sign), sign.len()),
            None => (LitmusToken::Other(first), first.len_utf8()),
        }
    }
}

/// Up to `u64::MAX`, the upper half standing for negative numbers as the processor sees them.
fn number(text: &str) -> Option<Value> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let unsigned = match hex {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => text.parse::<u64>().ok()?,
    };
    Some(unsigned as Value)
}

/// The length of the comment that starts here, if one does and it is closed. Comments nest.
fn comment_length(text: &str) -> Option<usize> {
    if !text.starts_with("(*") {
        return None;
    }
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        if rest.starts_with("(*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*)") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, dialect: LitmusDialect) -> Vec<LitmusToken<'_>> {
        let mut cursor = TextCursor::new(text, TextSpot::START, dialect);
        let mut all = Vec::new();
        while !cursor.at_end() {
            all.push(cursor.next());
        }
        all
    }

    #[test]
    fn signs_are_read_longest_first() {
        assert_eq!(
            tokens("a==1", LitmusDialect::LitLine),
            [
                LitmusToken::Word("a"),
                LitmusToken::Sign("=="),
                LitmusToken::Number {
                    value: 1,
                    text: "1"
                }
            ]
        );
    }

    #[test]
    fn comments_nest_and_slashes_end_with_the_line() {
        let text = "x (* a (* b *) c *) // d /\\ e\n /\\ y";
        assert_eq!(
            tokens(text, LitmusDialect::Herd),
            [
                LitmusToken::Word("x"),
                LitmusToken::Sign("/\\"),
                LitmusToken::Word("y")
            ]
        );
    }

    #[test]
    fn an_open_comment_is_one_token_and_ends_the_text() {
        assert_eq!(
            tokens("x (* (* *)", LitmusDialect::Herd),
            [LitmusToken::Word("x"), LitmusToken::UnclosedComment]
        );
    }

    #[test]
    fn columns_count_characters() {
        let mut cursor = TextCursor::new("\u{e9}\u{e9} x", TextSpot::START, LitmusDialect::LitLine);
        cursor.next();
        cursor.next();
        assert_eq!(cursor.spot(), TextSpot { line: 1, column: 4 });
    }

    #[test]
    fn numbers_wrap_at_64_bits_and_no_further() {
        assert_eq!(number("0xffffffffffffffff"), Some(-1));
        assert_eq!(number("18446744073709551616"), None);
        let mut cursor = TextCursor::new(
            "-9223372036854775808",
            TextSpot::START,
            LitmusDialect::LitLine,
        );
        assert_eq!(cursor.value("a number"), Ok(Value::MIN));
    }
}
