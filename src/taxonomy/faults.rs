//! What a reader found wrong and read over: counted, the first few with their lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many places of each kind are kept.
const PLACES_MAX: usize = 3;
/// What is quoted of a fault, in characters.
const QUOTE_CHARS_MAX: usize = 120;

/// A kind of fault that does not end the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A control character; it is read as a space.
    ControlCharacter,
    /// Bytes that are no UTF-8; they are read as U+FFFD.
    BadUtf8,
    /// An ampersand that begins no reference; it is read as an ampersand.
    Ampersand,
    /// A `<` that begins no tag, a tag without its end, an attribute without its quote.
    Markup,
    /// A title, a description or a text longer than is kept; it is cut.
    LongText,
    /// A URL that is longer than is taken; the example is left out.
    LongUrl,
    /// A page without a URL; the example is left out.
    NoUrl,
    /// A page without a topic: taken under the topic that lists it, else left out.
    NoTopic,
    /// A topic that can be none; the example is left out.
    BadTopic,
    /// A page without a URL, a title or a text; the example is left out.
    NoText,
    /// More topics for one page than are taken; the rest is left out.
    ManyTopics,
    /// A topic links to a page that the dump does not describe; taken with its URL alone.
    LinkWithoutPage,
    /// Links to narrower topics lead in a circle; the tree is by path, so they change nothing.
    NarrowCycle,
    /// A file beside the folders of a folder; it belongs to no topic and is left out.
    OutsideTopics,
    /// The file ends too early; what stands before the cut is taken.
    Truncated,
}

impl FaultKind {
    /// What it is and what was done about it, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::ControlCharacter => "control characters (read as spaces)",
            Self::BadUtf8 => "bytes that are no UTF-8 (replaced)",
            Self::Ampersand => "unescaped ampersands (taken as they are)",
            Self::Markup => "broken markup (read over)",
            Self::LongText => "texts longer than is kept (cut)",
            Self::LongUrl => "URLs longer than is taken (left out)",
            Self::NoUrl => "pages without a URL (left out)",
            Self::NoTopic => "pages without a topic",
            Self::BadTopic => "topics that can be none (left out)",
            Self::NoText => "pages without URL, title and text (left out)",
            Self::ManyTopics => "pages of too many topics (the rest left out)",
            Self::LinkWithoutPage => "links of a topic to no described page (taken without text)",
            Self::NarrowCycle => "circles of narrower topics (the path decides)",
            Self::OutsideTopics => "files outside of topics (left out)",
            Self::Truncated => "the file ends too early (taken up to there)",
        }
    }
}

/// Where a fault was found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The line, from 1; 0 in a folder.
    pub line: u64,
    /// What stands there.
    pub what: String,
}

/// How often a fault was found, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// How often.
    pub count: u64,
    /// The first few.
    pub first: Vec<Place>,
}

/// All faults of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Faults {
    path: PathBuf,
    kinds: BTreeMap<FaultKind, Fault>,
}

impl Faults {
    /// None as yet, of the source at `path`.
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            kinds: BTreeMap::new(),
        }
    }

    /// Books one more.
    pub(super) fn add(&mut self, kind: FaultKind, line: u64, what: &str) {
        let fault = self.kinds.entry(kind).or_default();
        fault.count += 1;
        if fault.first.len() < PLACES_MAX {
            let what = what.chars().take(QUOTE_CHARS_MAX).collect();
            fault.first.push(Place { line, what });
        }
    }

    /// The source.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Each kind that was found.
    pub fn kinds(&self) -> impl Iterator<Item = (FaultKind, &Fault)> {
        self.kinds.iter().map(|(kind, fault)| (*kind, fault))
    }

    /// How often a kind was found.
    pub fn count(&self, kind: FaultKind) -> u64 {
        self.kinds.get(&kind).map_or(0, |fault| fault.count)
    }

    /// Lines for people: one a kind, and below it the first places as `file:line: what`.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, fault) in &self.kinds {
            lines.push(format!("{} {}", fault.count, kind.words()));
            for place in &fault.first {
                let at = match place.line {
                    0 => String::new(),
                    line => format!(":{line}"),
                };
                lines.push(format!("  {}{at}: {}", self.path.display(), place.what));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_and_the_first_few_named() {
        let mut faults = Faults::of(Path::new("c.rdf"));
        for line in 1..=5 {
            faults.add(FaultKind::Ampersand, line, "A & B");
        }
        assert_eq!(faults.count(FaultKind::Ampersand), 5);
        assert_eq!(faults.count(FaultKind::Markup), 0);
        assert_eq!(
            faults.lines(),
            [
                "5 unescaped ampersands (taken as they are)",
                "  c.rdf:1: A & B",
                "  c.rdf:2: A & B",
                "  c.rdf:3: A & B"
            ]
        );
    }
}
