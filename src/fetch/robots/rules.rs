//! The rules of one robots.txt, as they hold for this crawler.
//!
//! robotxt does the work. What it reads otherwise than RFC 9309 says is mended before it sees the file
//! ([`mend`]) and the path that is asked for ([`path_of`]).

use std::time::Duration;

use robotxt::Robots;

use crate::fetch::PRODUCT_TOKEN;
use crate::url::CanonicalUrl;

/// So much of a robots.txt is read (RFC 9309, 2.5 asks for at least this).
pub const ROBOTS_BYTES_MAX: usize = robotxt::BYTE_LIMIT;

/// No site may stop a crawl for longer than this with one line.
const CRAWL_DELAY_MAX: Duration = Duration::from_hours(24);

/// More sitemaps than are kept of one file.
const SITEMAPS_MAX: usize = 1000;

/// The rules of one robots.txt.
#[derive(Debug, PartialEq, Eq)]
pub struct RobotsRules {
    robots: Robots,
    /// As it came, cut at the bound.
    file: Box<[u8]>,
}

impl RobotsRules {
    /// Reads a file. Whatever cannot be read says nothing; no file fails as a whole.
    pub fn parse(file: &[u8]) -> Self {
        let mended = mend(file);
        Self {
            robots: Robots::parse(&mended, PRODUCT_TOKEN),
            // A byte past the bound says that there is more.
            file: file.get(..=ROBOTS_BYTES_MAX).unwrap_or(file).into(),
        }
    }

    /// Whether `url` may be fetched.
    pub fn allows(&self, url: &CanonicalUrl) -> bool {
        path_of(url).is_some_and(|path| self.robots.is_allowed(&path))
    }

    /// The rule that decides about `url`, as written in the file (but a `$` that is none of the marks
    /// as `%24`); `None` if none speaks of it.
    pub fn deciding_rule(&self, url: &CanonicalUrl) -> Option<String> {
        let rule = self.robots.matching_rule(&path_of(url)?)?;
        let verb = if rule.is_allow() { "Allow" } else { "Disallow" };
        Some(format!("{verb}: {}", rule.pattern()))
    }

    /// The pause between requests that the site asks for, at most a day.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.robots
            .crawl_delay()
            .map(|delay| delay.min(CRAWL_DELAY_MAX))
    }

    /// The sitemaps that the site names, as far as they can be crawled.
    pub fn sitemaps(&self) -> Vec<CanonicalUrl> {
        self.robots
            .sitemaps()
            .iter()
            .filter_map(|url| CanonicalUrl::parse(url.as_str()).ok())
            .take(SITEMAPS_MAX)
            .collect()
    }

    /// The file that was read, cut at [`ROBOTS_BYTES_MAX`].
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// About what the rules hold in memory, in bytes: the file, and as much again for what it says.
    pub fn bytes(&self) -> usize {
        2 * self.file.len()
    }
}

/// Path and query of `url` as they are compared: `*` and `$` encoded, for that is how a rule names
/// these characters when it does not mean the marks (RFC 9309, 2.2.3), and robotxt 0.7 takes `%2A` and
/// `*` for different octets. `None` only for a damaged URL.
fn path_of(url: &CanonicalUrl) -> Option<String> {
    let url = url.to_url().ok()?;
    let path = &url[::url::Position::BeforePath..::url::Position::AfterQuery];
    Some(path.replace('*', "%2A").replace('$', "%24"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Agent,
    Rule,
    Delay,
    Other,
}

/// Every spelling that robotxt 0.7 takes for a line that matters to grouping.
const SPELLINGS: &[(&str, Line)] = &[
    ("user-agent", Line::Agent),
    ("user agent", Line::Agent),
    ("useragent", Line::Agent),
    ("allow", Line::Rule),
    ("alow", Line::Rule),
    ("allaw", Line::Rule),
    ("disallow", Line::Rule),
    ("dissallow", Line::Rule),
    ("dissalow", Line::Rule),
    ("disalow", Line::Rule),
    ("diasllow", Line::Rule),
    ("disallaw", Line::Rule),
    ("crawl-delay", Line::Delay),
    ("crawl delay", Line::Delay),
    ("crawldelay", Line::Delay),
];

/// Rewrites what robotxt 0.7 reads otherwise than RFC 9309 says.
///
/// - An agent line with more than the product token (`Apprentice/2.1`, `apprentice (a crawler)`) names
///   us all the same (2.2.1): the rest of the line goes.
/// - Only a rule ends the list of agents (2.1), not a Crawl-delay: one between two agent lines is
///   moved behind the last of them.
/// - A `$` that does not end a pattern is the character: it is encoded like those of the path.
fn mend(file: &[u8]) -> Vec<u8> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut mended = Vec::with_capacity(file.len().min(ROBOTS_BYTES_MAX) + 64);
    let mut held: Vec<&[u8]> = Vec::new();
    let mut in_agents = false;
    let file = whole_lines(file);
    for line in file.split(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        let kind = kind(line);
        match kind {
            Line::Delay if in_agents => {
                held.push(line);
                continue;
            }
            Line::Agent => in_agents = true,
            Line::Rule => {
                in_agents = false;
                push_all(&mut mended, &mut held);
            }
            Line::Delay | Line::Other => {}
        }
        if kind == Line::Agent && names_us(line) {
            push(
                &mut mended,
                format!("user-agent: {PRODUCT_TOKEN}").as_bytes(),
            );
        } else if kind == Line::Rule {
            push_rule(&mut mended, line);
        } else {
            push(&mut mended, line);
        }
    }
    push_all(&mut mended, &mut held);
    mended
}

/// The lines that end within the bound: a cut rule must not apply, nor a cut line be moved.
fn whole_lines(file: &[u8]) -> &[u8] {
    match file.get(..ROBOTS_BYTES_MAX) {
        None => file,
        Some(window) => {
            let end = window
                .iter()
                .rposition(|byte| matches!(byte, b'\n' | b'\r' | 0));
            file.get(..end.unwrap_or(0)).unwrap_or_default()
        }
    }
}

fn push(mended: &mut Vec<u8>, line: &[u8]) {
    mended.extend_from_slice(line);
    mended.push(b'\n');
}

fn push_rule(mended: &mut Vec<u8>, line: &[u8]) {
    let ends = |rest: &[u8]| {
        let next = rest.trim_ascii_start().first();
        next.is_none_or(|next| *next == b'#')
    };
    let mut parts = line.split(|byte| *byte == b'$');
    mended.extend_from_slice(parts.next().unwrap_or_default());
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        // What follows an empty part is another `$`.
        let is_mark = ends(part) && (!part.trim_ascii().is_empty() || parts.peek().is_none());
        mended.extend_from_slice(if is_mark { b"$" } else { b"%24" });
        mended.extend_from_slice(part);
    }
    mended.push(b'\n');
}

fn push_all(mended: &mut Vec<u8>, held: &mut Vec<&[u8]>) {
    for line in held.drain(..) {
        push(mended, line);
    }
}

fn kind(line: &[u8]) -> Line {
    let line = line.trim_ascii_start();
    SPELLINGS
        .iter()
        .find(|(spelling, _)| value_after(line, spelling).is_some())
        .map_or(Line::Other, |(_, kind)| *kind)
}

/// What stands behind `spelling` and its colon (or, as robotxt has it, white space).
fn value_after<'a>(line: &'a [u8], spelling: &str) -> Option<&'a [u8]> {
    let (key, rest) = line.split_at_checked(spelling.len())?;
    let starts = rest
        .first()
        .is_none_or(|byte| matches!(byte, b':' | b' ' | b'\t'));
    if !key.eq_ignore_ascii_case(spelling.as_bytes()) || !starts {
        return None;
    }
    let rest = rest.trim_ascii_start();
    Some(rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start())
}

/// Whether the product token of an agent line is ours, whatever follows it.
fn names_us(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let agents = SPELLINGS.iter().filter(|(_, kind)| *kind == Line::Agent);
    agents
        .filter_map(|(spelling, _)| value_after(line, spelling))
        .any(|value| {
            let is_token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
            let end = value.iter().position(|byte| !is_token(byte));
            let token = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
            token.eq_ignore_ascii_case(PRODUCT_TOKEN.as_bytes())
        })
}

#[cfg(test)]
mod tests;
