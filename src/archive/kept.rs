//! A fetched page as the records that keep it, made before anybody knows where they will stand.

use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;

use sha1::{Digest, Sha1};

use super::member::{Member, digest, digest_text, format_date, member, member_named, one_line};
use super::response::read_http_head;
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// The profile of a revisit whose payload is the same to the byte (ISO 28500:2017, 6.7.2).
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// A request and its answer as they went over the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireExchange<'a> {
    /// The URL that was asked for.
    pub url: &'a CanonicalUrl,
    /// When the answer was there.
    pub fetched: Timestamp,
    /// The request's head.
    pub request: &'a [u8],
    /// The answer, in the syntax of HTTP/1.1.
    pub response: &'a [u8],
    /// Whether it went over HTTP/2, so that the head was written anew.
    pub is_h2: bool,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The answer went on beyond what was recorded.
    pub is_cut: bool,
}

/// The records of one page, zipped, but for the judgement, which comes later.
#[derive(Debug)]
pub struct KeptPage {
    pub(super) url: CanonicalUrl,
    pub(super) date: String,
    response: Member,
    request: Member,
    /// The head of the answer: all that a revisit record holds.
    answer_head: Vec<u8>,
    /// Of the payload, if there is one: what a revisit is known by.
    pub(super) payload: Option<[u8; 20]>,
    common: Vec<(&'static str, String)>,
}

/// Headers that several records of an exchange share.
fn common(exchange: &WireExchange<'_>) -> Vec<(&'static str, String)> {
    let mut common = vec![("WARC-Target-URI", exchange.url.as_str().to_owned())];
    if let Some(address) = exchange.address {
        common.push(("WARC-IP-Address", address.to_string()));
    }
    if exchange.is_h2 {
        common.push(("WARC-Protocol", "h2".to_owned()));
    }
    common
}

fn with<const N: usize>(
    common: &[(&'static str, String)],
    own: &[(&'static str, String); N],
) -> Vec<(&'static str, String)> {
    let [kind, rest @ ..] = &own[..] else {
        return common.to_vec();
    };
    let parts = [std::slice::from_ref(kind), common, rest];
    parts.concat()
}

impl KeptPage {
    /// Makes the records. Costs some milliseconds: it zips.
    ///
    /// # Errors
    /// What zipping fails with.
    pub fn new(exchange: &WireExchange<'_>) -> io::Result<Self> {
        let common = common(exchange);
        let date = format_date(exchange.fetched);
        let answer = without_interim(exchange.response);
        let (answer_head, payload) = split(answer);
        let mut head = with(
            &common,
            &[
                ("WARC-Type", "response".to_owned()),
                (
                    "Content-Type",
                    "application/http; msgtype=response".to_owned(),
                ),
            ],
        );
        if !payload.is_empty() {
            head.push(("WARC-Payload-Digest", digest(payload)));
        }
        if exchange.is_cut {
            head.push(("WARC-Truncated", "length".to_owned()));
        }
        let response = member(&head, &date, answer)?;
        let request = member(
            &with(
                &common,
                &[
                    ("WARC-Type", "request".to_owned()),
                    ("WARC-Concurrent-To", response.id.clone()),
                    (
                        "Content-Type",
                        "application/http; msgtype=request".to_owned(),
                    ),
                ],
            ),
            &date,
            exchange.request,
        )?;
        let whole = !payload.is_empty() && !exchange.is_cut;
        Ok(Self {
            url: exchange.url.clone(),
            date,
            response,
            request,
            answer_head: answer_head.to_vec(),
            payload: whole.then(|| Sha1::digest(payload).into()),
            common,
        })
    }

    /// Bytes that it takes in memory, roughly.
    pub fn bytes(&self) -> usize {
        self.response.bytes.len() + self.request.bytes.len() + self.answer_head.len() + 512
    }

    /// The records for the file, one after another. With `earlier` (URL and date of a record with the
    /// same payload) the answer becomes a revisit record; `judgement` are the fields of a metadata
    /// record.
    ///
    /// # Errors
    /// What zipping fails with.
    pub(super) fn members(
        self,
        earlier: Option<&(CanonicalUrl, String)>,
        judgement: &[(&str, String)],
    ) -> io::Result<Vec<u8>> {
        let response = match (earlier, self.payload) {
            (Some(earlier), Some(payload)) => self.revisit(earlier, payload)?,
            _ => self.response.bytes,
        };
        let mut fields = String::new();
        for (name, value) in judgement {
            // Writing to a string cannot fail.
            let _ = write!(fields, "{name}: {}\r\n", one_line(value));
        }
        let metadata = member(
            &with(
                &self.common[..1],
                &[
                    ("WARC-Type", "metadata".to_owned()),
                    ("WARC-Concurrent-To", self.response.id.clone()),
                    ("Content-Type", "application/warc-fields".to_owned()),
                ],
            ),
            &self.date,
            fields.as_bytes(),
        )?;
        Ok([response, self.request.bytes, metadata.bytes].concat())
    }

    /// The answer as a reference to the one that `earlier` names; it has the name that the whole
    /// record would have had, which the request refers to.
    fn revisit(
        &self,
        (url, date): &(CanonicalUrl, String),
        payload: [u8; 20],
    ) -> io::Result<Vec<u8>> {
        let own = [
            ("WARC-Type", "revisit".to_owned()),
            ("WARC-Profile", IDENTICAL.to_owned()),
            ("WARC-Refers-To-Target-URI", url.as_str().to_owned()),
            ("WARC-Refers-To-Date", date.clone()),
            ("WARC-Payload-Digest", digest_text(&payload)),
            (
                "Content-Type",
                "application/http; msgtype=response".to_owned(),
            ),
        ];
        let head = with(&self.common, &own);
        let revisit = member_named(
            self.response.id.clone(),
            &head,
            &self.date,
            &self.answer_head,
        )?;
        Ok(revisit.bytes)
    }
}

/// An answer without the interim ones (100 to 199) that were sent before it.
fn without_interim(mut answer: &[u8]) -> &[u8] {
    loop {
        let mut rest = answer;
        match read_http_head(&mut rest) {
            Ok(head) if head.status < 200 => answer = rest,
            _ => return answer,
        }
    }
}

/// The head of an answer with its empty line, and what follows it.
///
/// The standard's payload is the body without the framing of chunks (6.3.2), but the tools that
/// check digests (warcio, `FastWARC`) and the crawlers that write them take it as it was sent.
fn split(answer: &[u8]) -> (&[u8], &[u8]) {
    let mut body = answer;
    match read_http_head(&mut body) {
        Ok(_) => answer.split_at(answer.len() - body.len()),
        Err(_) => (answer, &[]),
    }
}
