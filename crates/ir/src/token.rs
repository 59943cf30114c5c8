//! A line of IR as tokens.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// `define`, `i32`, `noundef`, `-5`, `x`
    Word(String),
    /// `%name`
    Local(String),
    /// `@name`
    Global(String),
    /// `!17`, `!DILocation`, `!{`…
    Meta(String),
    /// `#3`
    Group,
    /// `"text"`, with its escapes resolved
    Text(Vec<u8>),
    /// `c"bytes"`
    Bytes(Vec<u8>),
    Mark(char),
}

/// The tokens of a line, up to its comment.
pub(crate) fn tokens(line: &str) -> Vec<Token> {
    let bytes = line.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let c = bytes[at];
        match c {
            b';' => break,
            b' ' | b'\t' => at += 1,
            b'"' => out.push(Token::Text(quoted(bytes, &mut at))),
            b'c' if bytes.get(at + 1) == Some(&b'"') => {
                at += 1;
                out.push(Token::Bytes(quoted(bytes, &mut at)));
            }
            b'%' | b'@' => {
                at += 1;
                let name = name(bytes, &mut at);
                out.push(match c {
                    b'%' => Token::Local(name),
                    _ => Token::Global(name),
                });
            }
            b'!' => {
                at += 1;
                out.push(Token::Meta(name(bytes, &mut at)));
            }
            b'#' => {
                at += 1;
                name(bytes, &mut at);
                out.push(Token::Group);
            }
            _ if is_word(c) => out.push(Token::Word(name(bytes, &mut at))),
            _ => {
                out.push(Token::Mark(char::from(c)));
                at += 1;
            }
        }
    }
    out
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-' | b'$')
}

/// A name, plain or in quotes; moves behind it.
fn name(bytes: &[u8], at: &mut usize) -> String {
    if bytes.get(*at) == Some(&b'"') {
        return String::from_utf8_lossy(&quoted(bytes, at)).into_owned();
    }
    let start = *at;
    while *at < bytes.len() && is_word(bytes[*at]) {
        *at += 1;
    }
    String::from_utf8_lossy(&bytes[start..*at]).into_owned()
}

/// A string in quotes, `\xx` resolved; moves behind it.
fn quoted(bytes: &[u8], at: &mut usize) -> Vec<u8> {
    let mut out = Vec::new();
    *at += 1;
    while *at < bytes.len() && bytes[*at] != b'"' {
        let digits = bytes.get(*at + 1..*at + 3);
        let code = digits
            .filter(|_| bytes[*at] == b'\\')
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        match code {
            Some(code) => {
                out.push(code);
                *at += 3;
            }
            None => {
                out.push(bytes[*at]);
                *at += 1;
            }
        }
    }
    *at += 1;
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_falls_into_tokens() {
        let found = tokens("  %3 = call ptr @lf_pm(i64 noundef -72) #3, !dbg !49 ; why");
        let words: Vec<String> = found
            .iter()
            .map(|token| match token {
                Token::Word(w) => w.clone(),
                Token::Local(n) => format!("%{n}"),
                Token::Global(n) => format!("@{n}"),
                Token::Meta(n) => format!("!{n}"),
                Token::Group => "#".to_owned(),
                Token::Text(_) | Token::Bytes(_) => "text".to_owned(),
                Token::Mark(c) => c.to_string(),
            })
            .collect();
        assert_eq!(
            words.join(" "),
            "%3 = call ptr @lf_pm ( i64 noundef -72 ) # , !dbg !49"
        );
    }

    #[test]
    fn escapes_and_quoted_names() {
        assert_eq!(
            tokens(r#"c"a\00\22b" %"a b""#),
            [
                Token::Bytes(b"a\0\"b".to_vec()),
                Token::Local("a b".to_owned())
            ]
        );
        assert_eq!(tokens("\"open"), [Token::Text(b"open".to_vec())]);
    }
}
