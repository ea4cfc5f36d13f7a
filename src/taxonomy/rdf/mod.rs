//! Example pages from a DMOZ/Curlie dump: `content.rdf.u8`, and the tree of `structure.rdf.u8`.
//!
//! In `content.rdf.u8` a `Topic` lists its URLs (`link r:resource=`), and an `ExternalPage` for each
//! of them follows with title, description and topic. `structure.rdf.u8` has the topics alone, with
//! links to narrower ones. Both are read the same way; known faults are counted and read over
//! ([`FaultKind`]). Topics are paths without `Top` ([`topic_path`]).

mod chars;
mod tokens;
mod topics;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};
use std::path::Path;

use self::chars::Flaws;
use self::tokens::{Token, Tokens};
use self::topics::Topics;
use crate::taxonomy::example::{Example, URL_BYTES_MAX, cut};
use crate::taxonomy::faults::{FaultKind, Faults};
use crate::taxonomy::topic::{TopicFault, topic_path};

/// What is kept of a title, in bytes.
const TITLE_BYTES_MAX: usize = 1_024;
/// What is kept of a description, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 1 << 14;
/// URLs of topics that wait for their page; more than these are given without it.
const WAITING_MAX: usize = 4_000_000;

/// Reads the examples of a dump, one after the other.
pub(super) struct RdfReader<R> {
    tokens: Tokens<R>,
    faults: Faults,
    topics: Topics,
    /// The topic of the last `Topic` element.
    topic: Option<u32>,
    /// Whether that element is still open.
    in_topic: bool,
    page: Option<Draft>,
    field: Option<Field>,
    waiting: HashMap<u64, Waiting>,
    ready: VecDeque<Example>,
    /// `</RDF>` was read.
    closed: bool,
    ended: bool,
}

/// An `ExternalPage` as far as it was read.
struct Draft {
    example: Example,
    /// As written.
    topic: Vec<u8>,
}

/// Where the next text goes.
#[derive(Clone, Copy)]
enum Field {
    Title,
    Description,
    Topic,
}

/// A URL that a topic lists, without its page as yet.
struct Waiting {
    topic: u32,
    url: Box<str>,
    line: u64,
}

impl<R: BufRead> RdfReader<R> {
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self {
            tokens: Tokens::new(input),
            faults: Faults::of(path),
            topics: Topics::default(),
            topic: None,
            in_topic: false,
            page: None,
            field: None,
            waiting: HashMap::new(),
            ready: VecDeque::new(),
            closed: false,
            ended: false,
        }
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The topics with an element of their own, whether they have examples or not.
    pub(super) fn declared(&self) -> impl Iterator<Item = &str> {
        self.topics.declared()
    }

    /// The next example; an error only where the system refuses to read.
    pub(super) fn next(&mut self) -> io::Result<Option<Example>> {
        loop {
            if let Some(example) = self.ready.pop_front() {
                return Ok(Some(example));
            }
            if self.ended {
                return Ok(None);
            }
            match self.tokens.next() {
                Ok(Some(token)) => self.take(token),
                Ok(None) => self.end(None),
                Err(error) if is_damage(&error) => self.end(Some(&error)),
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, token: Token) {
        if self.tokens.broken {
            let quote = String::from_utf8_lossy(self.tokens.text()).into_owned();
            self.fault(FaultKind::Markup, quote.trim());
        }
        match token {
            Token::Text => self.take_text(),
            Token::Open => self.open(),
            Token::Empty => {
                self.open();
                self.close();
            }
            Token::Close => self.close(),
        }
    }

    fn open(&mut self) {
        self.field = None;
        match self.tokens.name() {
            b"Topic" => self.open_topic(),
            b"ExternalPage" => self.open_page(),
            b"Title" if self.page.is_some() => self.field = Some(Field::Title),
            b"Description" if self.page.is_some() => self.field = Some(Field::Description),
            b"topic" if self.page.is_some() => self.field = Some(Field::Topic),
            name if self.in_topic => match without_digits(name) {
                b"link" | b"pdf" | b"rss" | b"atom" => self.list(),
                b"narrow" => self.narrow(),
                _ => {}
            },
            _ => {}
        }
    }

    fn close(&mut self) {
        self.field = None;
        match self.tokens.name() {
            b"Topic" => self.in_topic = false,
            b"ExternalPage" => self.close_page(),
            b"RDF" => self.closed = true,
            _ => {}
        }
    }

    fn open_topic(&mut self) {
        self.close_page();
        self.in_topic = true;
        self.topic = None;
        let path = self.attribute(b"id").unwrap_or_default();
        match topic_path(&path) {
            Ok(topic) => {
                self.topic = self.topics.number(&topic);
                match self.topic {
                    Some(number) => self.topics.declare(number),
                    None => self.fault(FaultKind::BadTopic, &format!("{path}: too many topics")),
                }
            }
            // The root has no name, and is no topic.
            Err(TopicFault::Empty) => {}
            Err(fault) => self.fault(FaultKind::BadTopic, &format!("{path}: {fault}")),
        }
    }

    /// A URL that the open topic lists.
    fn list(&mut self) {
        let url = self.attribute(b"resource").unwrap_or_default();
        let Some(topic) = self.topic.filter(|_| self.is_usable(&url)) else {
            return;
        };
        let waiting = Waiting {
            topic,
            url: url.into(),
            line: self.tokens.line(),
        };
        if self.waiting.len() < WAITING_MAX {
            let key = key(topic, &waiting.url);
            self.waiting.entry(key).or_insert(waiting);
        } else {
            self.give_without_page(waiting);
        }
    }

    fn narrow(&mut self) {
        let below = self.attribute(b"resource").unwrap_or_default();
        let below = topic_path(&below).ok();
        let below = below.and_then(|below| self.topics.number(&below));
        if let (Some(from), Some(to)) = (self.topic, below) {
            self.topics.link(from, to, self.tokens.line());
        }
    }

    fn open_page(&mut self) {
        self.close_page();
        self.in_topic = false;
        let url = self.attribute(b"about").unwrap_or_default();
        if !self.is_usable(&url) {
            return;
        }
        self.page = Some(Draft {
            example: Example {
                url,
                line: self.tokens.line(),
                ..Example::default()
            },
            topic: Vec::new(),
        });
    }

    fn take_text(&mut self) {
        let (Some(field), Some(page)) = (self.field, &mut self.page) else {
            return;
        };
        if let Field::Topic = field {
            page.topic.extend_from_slice(self.tokens.text());
            return;
        }
        let mut flaws = Flaws::default();
        let mut text = chars::text(self.tokens.text(), &mut flaws);
        let (into, bytes_max) = match field {
            Field::Title => (&mut page.example.title, TITLE_BYTES_MAX),
            _ => (&mut page.example.description, DESCRIPTION_BYTES_MAX),
        };
        let long = cut(&mut text, bytes_max) || self.tokens.cut;
        let begin = text.clone();
        // A second element of the kind is not the first one's rest.
        if into.is_empty() {
            *into = text;
        }
        self.flawed(flaws, &begin);
        if long {
            let begin: String = begin.chars().take(40).collect();
            self.fault(FaultKind::LongText, &format!("{begin}.."));
        }
    }

    /// Gives the page that was being read.
    fn close_page(&mut self) {
        self.field = None;
        let Some(page) = self.page.take() else {
            return;
        };
        let Draft { mut example, topic } = page;
        let mut flaws = Flaws::default();
        let path = chars::text(&topic, &mut flaws);
        self.flawed(flaws, &path);
        let number = match topic_path(&path) {
            Ok(topic) => self.topics.number(&topic),
            Err(_) if path.is_empty() => {
                let listed = self
                    .topic
                    .filter(|topic| self.waiting.contains_key(&key(*topic, &example.url)));
                let name = listed.map_or("", |topic| self.topics.name(topic));
                let what = match name {
                    "" => format!("{}: left out", example.url),
                    name => format!("{}: listed by {name}", example.url),
                };
                self.faults.add(FaultKind::NoTopic, example.line, &what);
                listed
            }
            Err(fault) => {
                let what = format!("{path}: {fault}");
                self.faults.add(FaultKind::BadTopic, example.line, &what);
                None
            }
        };
        if let Some(number) = number {
            self.waiting.remove(&key(number, &example.url));
            self.topics.name(number).clone_into(&mut example.topic);
            self.ready.push_back(example);
        }
    }

    /// The end of the file, or of what can be read of it.
    fn end(&mut self, damage: Option<&io::Error>) {
        self.ended = true;
        // A page that the cut goes through may have lost its title or topic.
        if let Some(page) = self.page.take() {
            let what = format!("within the page {}, which is left out", page.example.url);
            self.fault(FaultKind::Truncated, &what);
        } else if let Some(damage) = damage {
            self.fault(FaultKind::Truncated, &damage.to_string());
        } else if self.tokens.is_cut_off() || !self.closed {
            self.fault(FaultKind::Truncated, "no </RDF> at the end");
        }
        let mut waiting: Vec<Waiting> = std::mem::take(&mut self.waiting).into_values().collect();
        waiting.sort_by(|a, b| (a.line, &a.url).cmp(&(b.line, &b.url)));
        for waiting in waiting {
            self.give_without_page(waiting);
        }
        let (count, first) = self.topics.circles();
        for circle in &first {
            self.faults
                .add(FaultKind::NarrowCycle, circle.line, &circle.path);
        }
        for _ in first.len() as u64..count {
            self.faults.add(FaultKind::NarrowCycle, 0, "");
        }
    }

    fn give_without_page(&mut self, waiting: Waiting) {
        let topic = self.topics.name(waiting.topic).to_owned();
        let what = format!("{topic}: {}", waiting.url);
        self.faults
            .add(FaultKind::LinkWithoutPage, waiting.line, &what);
        self.ready.push_back(Example {
            topic,
            url: waiting.url.into(),
            line: waiting.line,
            ..Example::default()
        });
    }

    /// Whether `url` can be taken; books the fault if not.
    fn is_usable(&mut self, url: &str) -> bool {
        if url.is_empty() {
            let tag = String::from_utf8_lossy(self.tokens.text()).into_owned();
            self.fault(FaultKind::NoUrl, &format!("<{tag}>"));
        } else if url.len() > URL_BYTES_MAX {
            self.fault(FaultKind::LongUrl, url);
        } else {
            return true;
        }
        false
    }

    /// An attribute of the present tag as text; its flaws are booked.
    fn attribute(&mut self, name: &[u8]) -> Option<String> {
        let mut flaws = Flaws::default();
        let value = chars::text(self.tokens.attribute(name)?, &mut flaws);
        self.flawed(flaws, &value);
        Some(value)
    }

    fn flawed(&mut self, flaws: Flaws, text: &str) {
        for (flawed, kind) in [
            (flaws.bad_utf8, FaultKind::BadUtf8),
            (flaws.control, FaultKind::ControlCharacter),
            (flaws.ampersand, FaultKind::Ampersand),
        ] {
            if flawed {
                self.fault(kind, text);
            }
        }
    }

    fn fault(&mut self, kind: FaultKind, what: &str) {
        self.faults.add(kind, self.tokens.line(), what);
    }
}

/// What a topic's URL is found by.
fn key(topic: u32, url: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(url.as_bytes(), u64::from(topic))
}

/// Whether an error is in the compressed data: what was read before stands.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | InvalidInput | InvalidData | Other
    )
}

/// `link` of `link1`.
fn without_digits(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| !byte.is_ascii_digit());
    &name[..end.map_or(0, |end| end + 1)]
}
