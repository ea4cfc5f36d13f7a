//! What the web answers.

use std::fmt::Write;

use crate::clock::chance;
use crate::url::CanonicalUrl;

use super::plan::has_rules;
use super::{
    BROKEN_HOST, EXAMPLES_HOST, REDIRECT_HOST, SLOW_HOST, TRAP_HOST, ToyKind, ToyPage, ToyWeb,
};

/// An answer over HTTP, not yet sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToyAnswer {
    /// The status.
    pub status: u16,
    /// Headers, without Content-Length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How long the server takes before it answers, in ms.
    pub delay_ms: u64,
}

impl ToyAnswer {
    fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
            body: body.into(),
            delay_ms: 0,
        }
    }

    fn html(status: u16, title: &str, body: &str) -> Self {
        let html = format!(
            "<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n\
             <body><h1>{title}</h1>\n{body}\n</body></html>\n"
        );
        Self::new(status, "text/html; charset=utf-8", html)
    }

    fn not_found() -> Self {
        Self::html(404, "Not found", "<p>There is no such page.</p>")
    }

    fn redirect(status: u16, location: &str) -> Self {
        let mut answer = Self::html(status, "Moved", "<p>It is elsewhere.</p>");
        answer
            .headers
            .push(("Location".to_owned(), location.to_owned()));
        answer
    }

    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }
}

impl ToyWeb {
    /// The answer to a GET of `url`; 404 for what is not there, on whatever host.
    pub fn answer(&self, url: &CanonicalUrl) -> ToyAnswer {
        let mut answer = self.answer_at_once(url);
        if self.params.slow && url.host_key().as_str() == SLOW_HOST {
            answer.delay_ms = 50 + url.id().0 % 101;
        }
        answer
    }

    fn answer_at_once(&self, url: &CanonicalUrl) -> ToyAnswer {
        if let Some(page) = self.page(url) {
            return ToyAnswer::new(200, "text/html; charset=utf-8", self.html_of(page));
        }
        let Some((host, path)) = host_and_path(url) else {
            return ToyAnswer::not_found();
        };
        let faults = self.params.faults;
        match (host, path) {
            (_, "/robots.txt") => self.robots(host),
            (TRAP_HOST, path) if self.params.trap => self.month(path),
            (REDIRECT_HOST, path) if faults => self.moved(path),
            (BROKEN_HOST, _) if faults => ToyAnswer::html(500, "Error", "<p>Something broke.</p>"),
            (EXAMPLES_HOST, _) => ToyAnswer::not_found(),
            (host, "/files/handbook.pdf") if faults && self.is_host(host) => {
                ToyAnswer::new(200, "application/pdf", "%PDF-1.4\n% a handbook\n%%EOF\n")
            }
            (host, "/logo.png") if self.is_host(host) => {
                ToyAnswer::new(200, "image/png", b"\x89PNG\r\n\x1a\n".as_slice())
            }
            _ => ToyAnswer::not_found(),
        }
    }

    fn is_host(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.name == name)
    }

    fn robots(&self, name: &str) -> ToyAnswer {
        let place = self.hosts.iter().position(|host| host.name == name);
        match place {
            Some(place) if self.params.faults && has_rules(place) => ToyAnswer::new(
                200,
                "text/plain",
                "# The committee's papers are not for robots.\nUser-agent: *\nDisallow: /private/\n",
            ),
            _ => ToyAnswer::not_found(),
        }
    }

    /// `/month/N`: a page for every N, each with links to the next ones.
    fn month(&self, path: &str) -> ToyAnswer {
        let number = path
            .strip_prefix("/month/")
            .and_then(|n| n.parse::<u64>().ok());
        let Some(number) = number.filter(|n| path == format!("/month/{n}")) else {
            return ToyAnswer::not_found();
        };
        let mut body = String::from("<p>No events this month. Notices go to the office.</p>\n<p>");
        // Writing to a String cannot fail.
        for (text, step) in [("Next month", 1), ("The month after", 2), ("Next year", 12)] {
            let next = number.saturating_add(step);
            let _ = writeln!(body, "<a href=\"/month/{next}\">{text}</a>");
        }
        if let Some(host) = self.hosts.first() {
            let _ = write!(body, "<a href=\"http://{}/\">Back</a></p>", host.name);
        }
        ToyAnswer::html(200, &format!("Events of month {number}"), &body)
    }

    /// `/chain/K/1` leads by way of `/2` and `/3` to an article; `/loop/a` and `/loop/b` to each
    /// other.
    fn moved(&self, path: &str) -> ToyAnswer {
        match path {
            "/loop/a" => return ToyAnswer::redirect(302, "/loop/b"),
            "/loop/b" => return ToyAnswer::redirect(302, "/loop/a"),
            _ => {}
        }
        let chain = path
            .strip_prefix("/chain/")
            .and_then(|rest| rest.split_once('/'));
        match chain {
            Some((chain, "1")) => ToyAnswer::redirect(301, &format!("/chain/{chain}/2")),
            Some((chain, "2")) => ToyAnswer::redirect(302, &format!("3?of={chain}")),
            Some((chain, last)) if last == format!("3?of={chain}") => match self.chain_end(chain) {
                Some(page) => ToyAnswer::redirect(308, page.url.as_str()),
                None => ToyAnswer::not_found(),
            },
            _ => ToyAnswer::not_found(),
        }
    }

    /// The article that the redirects of a chain end at.
    fn chain_end(&self, chain: &str) -> Option<&ToyPage> {
        let mut rng = chance(self.seed, &format!("toy web: chain {chain}"));
        let articles: Vec<&ToyPage> = self
            .pages
            .iter()
            .filter(|page| page.kind == ToyKind::Article)
            .collect();
        super::lexicon::pick(&articles, &mut rng).copied()
    }
}

/// The host and the path with its query.
fn host_and_path(url: &CanonicalUrl) -> Option<(&str, &str)> {
    let rest = url.as_str().strip_prefix("http://")?;
    let slash = rest.find('/')?;
    Some(rest.split_at(slash))
}
