//! Source positions, from debug metadata.

use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlaceId(pub u32);

/// A place in a source file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The metadata that positions are made of, by number.
#[derive(Clone, Default, Debug)]
pub(crate) struct DebugPlaces {
    locations: FxHashMap<u32, (u32, u32, u32)>,
    /// Of a scope: its file, or the scope around it.
    scopes: FxHashMap<u32, (Option<u32>, Option<u32>)>,
    files: FxHashMap<u32, String>,
}

impl DebugPlaces {
    /// A line `!17 = …`.
    pub(crate) fn read(&mut self, line: &str) {
        let Some((number, rest)) = line
            .strip_prefix('!')
            .and_then(|line| line.split_once(" = "))
        else {
            return;
        };
        let Ok(number) = number.parse() else {
            return;
        };
        let rest = rest.strip_prefix("distinct ").unwrap_or(rest);
        let value = |key: &str| {
            let at = rest.find(key)? + key.len();
            let text = &rest[at..];
            let end = text.find(|c: char| !c.is_ascii_digit());
            text[..end.unwrap_or(text.len())].parse::<u32>().ok()
        };
        if rest.starts_with("!DILocation(") {
            let found = (value("line: "), value("scope: !"));
            if let (Some(line), Some(scope)) = found {
                let column = value("column: ").unwrap_or(0);
                self.locations.insert(number, (line, column, scope));
            }
        } else if rest.starts_with("!DISubprogram(") || rest.starts_with("!DILexicalBlock") {
            let parts = (value("file: !"), value("scope: !"));
            self.scopes.insert(number, parts);
        } else if rest.starts_with("!DIFile(")
            && let Some(start) = rest.find("filename: \"")
        {
            let text = &rest[start + 11..];
            let name = text.split('"').next().unwrap_or_default();
            self.files.insert(number, name.to_owned());
        }
    }

    pub(crate) fn get(&self, id: PlaceId) -> Option<Place> {
        let &(line, column, mut scope) = self.locations.get(&id.0)?;
        // Scopes lead outwards; a file that makes them go round is not ours to follow.
        for _ in 0..100 {
            match self.scopes.get(&scope)? {
                (Some(file), _) => {
                    return Some(Place {
                        file: self.files.get(file)?.clone(),
                        line,
                        column,
                    });
                }
                (None, outer) => scope = (*outer)?,
            }
        }
        None
    }
}
