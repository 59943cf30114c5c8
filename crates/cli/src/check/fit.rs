//! Findings on a narrow screen: lines that are too long are broken where words end and go on under their own text; source lines and rows of
//! tables are cut.
//! What is meant to be pasted stays in one piece.

/// Breaks a text to at most so many columns, as far as words allow.
pub(super) fn fit(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        if columns(line) <= width || plain(line).starts_with("   = replay: ") {
            out.push_str(line);
        } else {
            long(line, width, &mut out);
        }
        out.push('\n');
    }
    out
}

fn long(line: &str, width: usize, out: &mut String) {
    let bare = plain(line);
    if let Some((gutter, label)) = underlined(line) {
        // Below the underline, where it has the whole width.
        let cut = byte_at(line, width).min(label);
        out.push_str(&line[..cut]);
        if cut < label && line.contains('\x1b') {
            out.push_str("\x1b[0m");
        }
        let text = &line[label..];
        out.push('\n');
        let dashes = bare.find('-').unwrap_or(gutter);
        let indent = dashes - gutter;
        let lead = format!("{}{}", &line[..byte_at(line, gutter)], " ".repeat(indent));
        wrap(text.trim_start(), &lead, &lead, width, out);
    } else if is_source(&bare) || bare.starts_with("  | ") {
        out.push_str(&line[..byte_at(line, width - 1)]);
        out.push('…');
    } else if let Some(at) = line.find("   (recovery, after ") {
        // The place stays clickable.
        out.push_str(&line[..at]);
        out.push('\n');
        wrap(line[at..].trim_start(), "      ", "      ", width, out);
    } else {
        let indent = bare.len() - bare.trim_start().len();
        // `= note: ` and `error[kind]: ` are what the rest hangs from.
        let hang = match bare.trim_start().split_once(": ") {
            Some((word, _)) if bare.trim_start().starts_with("= ") => indent + word.len() + 2,
            _ if indent == 0 => 2,
            _ => indent,
        };
        let first = " ".repeat(indent);
        wrap(line.trim_start(), &first, &" ".repeat(hang), width, out);
    }
}

/// Words, with `first` before the first line and `then` before the others.
fn wrap(text: &str, first: &str, then: &str, width: usize, out: &mut String) {
    out.push_str(first);
    let mut at = columns(first);
    let start = at;
    let mut fresh = true;
    for word in text.split(' ') {
        let wide = columns(word);
        if !fresh && at + 1 + wide > width && at > start.min(columns(then)) {
            out.push('\n');
            out.push_str(then);
            at = columns(then);
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += wide;
        fresh = false;
    }
}

/// `   17 | text`
fn is_source(bare: &str) -> bool {
    let digits = bare.trim_start();
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < digits.len() && rest.starts_with(" | ")
}

/// Of `      |     ------ label`: the columns before the text, and the byte at which the label begins.
fn underlined(line: &str) -> Option<(usize, usize)> {
    let bare = plain(line);
    let bar = bare
        .find("| ")
        .filter(|&bar| bare[..bar].trim().is_empty())?;
    let dashes = bare[bar + 2..].trim_start();
    if !dashes.starts_with('-') {
        return None;
    }
    let first = bare.len() - dashes.len();
    let end = first + dashes.len() - dashes.trim_start_matches('-').len();
    let mut label = byte_at(line, end);
    // The end of the underline's colour belongs to it.
    while let Some(length) = line[label..]
        .strip_prefix('\x1b')
        .and_then(|rest| rest.find('m'))
    {
        label += length + 2;
    }
    Some((bar + 2, label))
}

/// Where a column is in a text with colours in it.
fn byte_at(line: &str, column: usize) -> usize {
    let (mut seen, mut escape) = (0, false);
    for (at, c) in line.char_indices() {
        match (escape, c) {
            (false, '\x1b') => {
                if seen == column {
                    return at;
                }
                escape = true;
            }
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, _) => {
                if seen == column {
                    return at;
                }
                seen += 1;
            }
        }
    }
    line.len()
}

/// Without colours.
fn plain(text: &str) -> String {
    let mut escape = false;
    let keep = |c: &char| {
        let (inside, ends) = (escape || *c == '\x1b', escape && *c == 'm');
        escape = inside && !ends;
        !inside
    };
    text.chars().filter(keep).collect()
}

fn columns(text: &str) -> usize {
    plain(text).chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_where_words_end_and_hang_from_what_they_belong_to() {
        let text = "error[assertion]: recovery fails: `a` is false
  --> queue.c:88:5   (recovery, after a power failure at queue.c:41:3)
   41 |   q->tail = node; /* a long remark about it */
      |   --------------- this store reached persistent memory …
   = fix: flush `node->next` (8 bytes) and fence after queue.c:39
   = replay: landfall replay landfall-out/a-very-long-name/B1.json
";
        let narrow = "error[assertion]: recovery fails: `a` is
  false
  --> queue.c:88:5
      (recovery, after a power failure
      at queue.c:41:3)
   41 |   q->tail = node; /* a long rem…
      |   ---------------
      |   this store reached persistent
      |   memory …
   = fix: flush `node->next` (8 bytes)
          and fence after queue.c:39
   = replay: landfall replay landfall-out/a-very-long-name/B1.json
";
        assert_eq!(fit(text, 40), narrow);
        assert_eq!(fit(text, 200), text);
    }

    #[test]
    fn colours_take_no_room() {
        let text = "\x1b[1merror\x1b[0m: one two three\n";
        assert_eq!(fit(text, 20), text);
        assert_eq!(fit(text, 16), "\x1b[1merror\x1b[0m: one two\n  three\n");
    }
}
