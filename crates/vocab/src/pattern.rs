//! Patterns of a client's script: a small language of regular expressions, matched against all of a line. The checker says whether
//! one is well-formed, the runtime matches.
//!
//! A pattern is a sequence of items: a character, `.`, `\d \s \w` and `\` before anything else, `[a-z_]` and `[^…]`, each perhaps
//! followed by `*`, `+` or `?`. There are no groups: what else may come is another pattern.

/// Why a text is no pattern: where, and what is wrong.
pub fn check(pattern: &[u8]) -> Result<(), (usize, &'static str)> {
    let mut at = 0;
    while at < pattern.len() {
        if matches!(pattern[at], b'*' | b'+' | b'?') {
            return Err((at, "there is nothing before it that could repeat"));
        }
        if matches!(pattern[at], b'(' | b')' | b'|' | b'{' | b'}' | b'^' | b'$') {
            return Err((
                at,
                "it means nothing here (a pattern is of a whole line, without groups); write a backslash before it",
            ));
        }
        at = item_end(pattern, at).ok_or((at, "it does not end"))?;
        at += usize::from(matches!(pattern.get(at), Some(b'*' | b'+' | b'?')));
    }
    Ok(())
}

/// Where the item that begins there ends.
fn item_end(pattern: &[u8], at: usize) -> Option<usize> {
    match *pattern.get(at)? {
        b'\\' => (at + 1 < pattern.len()).then_some(at + 2),
        b'[' => {
            let mut end = at + 1;
            end += usize::from(pattern.get(end) == Some(&b'^'));
            // A bracket that comes first is one of the class.
            end += 1;
            while *pattern.get(end)? != b']' {
                end += if pattern[end] == b'\\' { 2 } else { 1 };
            }
            Some(end + 1)
        }
        _ => Some(at + 1),
    }
}

fn is_class(name: u8, byte: u8) -> bool {
    match name {
        b'd' => byte.is_ascii_digit(),
        b's' => byte.is_ascii_whitespace(),
        b'w' => byte.is_ascii_alphanumeric() || byte == b'_',
        name => escaped(name) == byte,
    }
}

fn escaped(name: u8) -> u8 {
    match name {
        b't' => b'\t',
        b'r' => b'\r',
        b'n' => b'\n',
        other => other,
    }
}

/// Does the item match a byte?
fn is_one_of(item: &[u8], byte: u8) -> bool {
    match item[0] {
        b'.' => true,
        b'\\' => is_class(item[1], byte),
        b'[' => {
            let negated = item.get(1) == Some(&b'^');
            let inside = &item[1 + usize::from(negated)..item.len() - 1];
            is_inside(inside, byte) != negated
        }
        own => own == byte,
    }
}

fn is_inside(class: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < class.len() {
        if class[at] == b'\\' && at + 1 < class.len() {
            if is_class(class[at + 1], byte) {
                return true;
            }
            at += 2;
        } else if class.get(at + 1) == Some(&b'-') && at + 2 < class.len() {
            if (class[at]..=class[at + 2]).contains(&byte) {
                return true;
            }
            at += 3;
        } else {
            if class[at] == byte {
                return true;
            }
            at += 1;
        }
    }
    false
}

/// Does the pattern match all of the text? One that is not well-formed matches nothing.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if pattern.is_empty() {
        return text.is_empty();
    }
    let Some(end) = item_end(pattern, 0) else {
        return false;
    };
    let item = &pattern[..end];
    let here = |at: usize| text.get(at).is_some_and(|&byte| is_one_of(item, byte));
    let (least, most, rest) = match pattern.get(end) {
        Some(b'*') => (0, usize::MAX, &pattern[end + 1..]),
        Some(b'+') => (1, usize::MAX, &pattern[end + 1..]),
        Some(b'?') => (0, 1, &pattern[end + 1..]),
        _ => (1, 1, &pattern[end..]),
    };
    let mut taken = 0;
    while taken < least {
        if !here(taken) {
            return false;
        }
        taken += 1;
    }
    loop {
        if matches(rest, &text[taken..]) {
            return true;
        }
        if taken == most || !here(taken) {
            return false;
        }
        taken += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_lines() {
        for (pattern, text, holds) in [
            ("VALUE a [0-9]+ 1", "VALUE a 17 1", true),
            ("VALUE a [0-9]+ 1", "VALUE a  1", false),
            ("VALUE a [0-9]+ 1", "VALUE a 17 12", false),
            (r"\d\d*\.\d?", "12.", true),
            (r"\d\d*\.\d?", "12x3", false),
            ("[^a-c]x", "dx", true),
            ("[^a-c]x", "bx", false),
            ("[]a]+", "]a]", true),
            (".*end", "the very end", true),
            ("", "", true),
            ("", "x", false),
            (r"\w+ \[\]", "none []", true),
        ] {
            assert_eq!(check(pattern.as_bytes()), Ok(()), "{pattern}");
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                holds,
                "{pattern} {text}"
            );
        }
        for (pattern, at) in [("*a", 0), ("a[bc", 1), ("(a)", 0), ("a\\", 1), ("a**", 2)] {
            assert_eq!(
                check(pattern.as_bytes()).map_err(|why| why.0),
                Err(at),
                "{pattern}"
            );
        }
    }

    /// All texts that a pattern matches, as far as they are short, from the pattern's own items.
    fn says(pattern: &[u8], text: &[u8]) -> bool {
        // Places of the pattern that can be reached, by how much of the text was read.
        let mut places = [false; 32];
        places[0] = true;
        let close = |places: &mut [bool; 32]| {
            let mut at = 0;
            while at < pattern.len() {
                let end = item_end(pattern, at).unwrap();
                let after = end + usize::from(matches!(pattern.get(end), Some(b'*' | b'+' | b'?')));
                if places[at] && matches!(pattern.get(end), Some(b'*' | b'?')) {
                    places[after] = true;
                }
                at = after;
            }
        };
        close(&mut places);
        for &byte in text {
            let mut next = [false; 32];
            let mut at = 0;
            while at < pattern.len() {
                let end = item_end(pattern, at).unwrap();
                let after = end + usize::from(matches!(pattern.get(end), Some(b'*' | b'+' | b'?')));
                if places[at] && is_one_of(&pattern[at..end], byte) {
                    next[after] = true;
                    // It may come once more; for `+` that is no longer a duty, but going on is the same.
                    if matches!(pattern.get(end), Some(b'*' | b'+')) {
                        next[at] = true;
                    }
                }
                at = after;
            }
            places = next;
            close(&mut places);
        }
        places[pattern.len()]
    }

    #[test]
    fn matching_agrees_with_sets_of_places() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut dice = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % most as u64) as usize
        };
        const ITEMS: [&[u8]; 5] = [b"a", b"b", b".", b"[ab]", b"[^a]"];
        const AGAIN: [&[u8]; 5] = [b"", b"", b"*", b"+", b"?"];
        let mut matched = 0;
        for _ in 0..20_000 {
            let (mut pattern, mut length) = ([0u8; 32], 0);
            for _ in 0..dice(5) {
                for part in [ITEMS[dice(5)], AGAIN[dice(5)]] {
                    pattern[length..length + part.len()].copy_from_slice(part);
                    length += part.len();
                }
            }
            let mut text = [0u8; 6];
            let read = dice(7);
            for byte in &mut text[..read] {
                *byte = b"abc"[dice(3)];
            }
            let (pattern, text) = (&pattern[..length], &text[..read]);
            assert_eq!(
                matches(pattern, text),
                says(pattern, text),
                "{pattern:?} {text:?}"
            );
            matched += usize::from(matches(pattern, text));
        }
        assert!(matched > 500, "{matched}");
    }
}
