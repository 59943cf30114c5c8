//! A line of a script as words: plain ones, texts in quotes, patterns between slashes; a `#` begins a remark.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptWord {
    Plain(String),
    Text(Vec<u8>),
    Pattern(Vec<u8>),
}

impl fmt::Display for ScriptWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptWord::Plain(word) => write!(f, "`{word}`"),
            ScriptWord::Text(text) => write!(f, "the text \"{}\"", text.escape_ascii()),
            ScriptWord::Pattern(pattern) => write!(f, "the pattern /{}/", pattern.escape_ascii()),
        }
    }
}

pub(super) fn split(line: &str) -> Result<Vec<ScriptWord>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let (word, after) = match first {
            '"' => text(&rest[1..])?,
            '/' => pattern(&rest[1..])?,
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (ScriptWord::Plain(rest[..end].to_owned()), &rest[end..])
            }
        };
        if !after.is_empty() && !after.starts_with(|c: char| c.is_whitespace() || c == '#') {
            return Err(format!("there is no space behind {word}"));
        }
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

/// Up to the quote that ends it, and what comes after.
fn text(rest: &str) -> Result<(ScriptWord, &str), String> {
    let mut bytes = Vec::new();
    let mut at = rest.char_indices();
    while let Some((place, next)) = at.next() {
        match next {
            '"' => return Ok((ScriptWord::Text(bytes), &rest[place + 1..])),
            '\\' => {
                let (place, escaped) = at.next().ok_or("the text does not end")?;
                bytes.push(match escaped {
                    'n' => b'\n',
                    'r' => b'\r',
                    't' => b'\t',
                    '0' => 0,
                    '\\' => b'\\',
                    '"' => b'"',
                    'x' => {
                        let digits = rest.get(place + 1..place + 3).unwrap_or_default();
                        let byte = u8::from_str_radix(digits, 16);
                        at.next();
                        at.next();
                        byte.map_err(|_| "\\x is followed by two hexadecimal digits")?
                    }
                    other => {
                        return Err(format!(
                            "\\{other} means nothing in a text; there are: \\n \\r \\t \\0 \\\\ \\\" \\xHH"
                        ));
                    }
                });
            }
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Err("the text does not end: a \" is missing".to_owned())
}

/// Up to the slash that ends it; `\/` is a slash.
fn pattern(rest: &str) -> Result<(ScriptWord, &str), String> {
    let mut bytes = Vec::new();
    let mut escaped = false;
    for (place, next) in rest.char_indices() {
        match (escaped, next) {
            (false, '/') => return Ok((ScriptWord::Pattern(bytes), &rest[place + 1..])),
            (false, '\\') => escaped = true,
            (true, '/') => {
                bytes.push(b'/');
                escaped = false;
            }
            (was, next) => {
                if was {
                    bytes.push(b'\\');
                }
                escaped = false;
                bytes.extend(next.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    Err("the pattern does not end: a / is missing".to_owned())
}
