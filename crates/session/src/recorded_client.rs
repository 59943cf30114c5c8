//! The client of a witness: its script, and what its commands said.

use anyhow::Context;
use landfall_finding::{RecordedClient, Word};
use landfall_native::ClientScript;
use std::fmt::Write;

pub(crate) fn recorded_client(client: &ClientScript) -> RecordedClient {
    RecordedClient {
        file: Word::new(client.path.as_os_str()),
        script: client.text.to_string(),
        replies: hexadecimal(&client.replies()),
    }
}

pub(crate) fn client_of(recorded: &RecordedClient) -> anyhow::Result<ClientScript> {
    let file = recorded.file.path();
    let parsed = ClientScript::parse(file.clone(), &recorded.script);
    let script =
        parsed.map_err(|e| anyhow::anyhow!("the client of the witness: {}:{e}", file.display()))?;
    let replies = bytes_of(&recorded.replies)
        .context("what the commands of the witness's client said is not hexadecimal")?;
    Ok(script.with_replies(replies))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            &[high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of(&hexadecimal(&all)), Some(all));
        assert_eq!(bytes_of("0"), None);
        assert_eq!(bytes_of("0g"), None);
        assert_eq!(bytes_of("é"), None);
    }
}
