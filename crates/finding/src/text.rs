//! Text that comes from the program under test, made harmless.

/// Text on one line: its control characters would move the cursor or change colours.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// `1 byte`, `8 bytes`.
pub fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    }
}

/// `1 schedule`, `7 schedules`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
