//! HTML in which untrusted text cannot become markup: tags and raw text are constants of this crate, the rest is escaped, and
//! every element that is opened is closed.

/// A page under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Html(String);

/// An attribute: its name is ours, its value may be anything.
pub(crate) type Attribute<'a> = (&'static str, &'a str);

impl Html {
    pub(crate) fn finish(self) -> String {
        self.0
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Markup of our own, known when this crate is compiled.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0);
        self
    }

    fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
        self.0.push('>');
    }

    pub(crate) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        inside: impl FnOnce(&mut Html),
    ) -> &mut Self {
        self.open(tag, attributes);
        inside(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// An element with nothing but text in it.
    pub(crate) fn say(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        text: &str,
    ) -> &mut Self {
        self.element(tag, attributes, |html| {
            html.text(text);
        })
    }

    /// A command with a button that copies it.
    pub(crate) fn command(&mut self, command: &str) -> &mut Self {
        self.element("div", &[("class", "command")], |html| {
            html.say("code", &[], command);
            let label = format!("Copy: {command}");
            let attributes = [
                ("type", "button"),
                ("class", "copy"),
                ("data-copy", command),
                ("aria-label", &label),
            ];
            html.say("button", &attributes, "copy");
        })
    }
}

/// Text for element content and double-quoted attributes. Control characters have no business in a page.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_bidi_override(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// They would let a source line show other than it is.
fn is_bidi_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_stays_text() {
        let mut html = Html::default();
        html.say(
            "p",
            &[("title", "\" onload='x'")],
            "<script>&\u{1b}[31m\u{202e}",
        );
        assert_eq!(
            html.finish(),
            "<p title=\"&quot; onload=&#39;x&#39;\">&lt;script&gt;&amp;\u{fffd}[31m\u{fffd}</p>"
        );
    }
}
