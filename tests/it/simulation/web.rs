//! A web from a seed: what each host answers, how often it is capricious, and what it asks for.

use std::fmt::Write;
use std::time::Duration;

use apprentice::clock::{Chance, chance};
use apprentice::fetch::{FetchError, Outcome, Redirect, Response};
use apprentice::url::CanonicalUrl;
use rand::RngExt;

/// A host's robots.txt.
pub(super) enum Robots {
    Missing,
    /// Forbids `/p1*` if so, and asks for this many seconds between two requests.
    Rules {
        forbids: bool,
        delay_secs: u64,
    },
    /// Cannot be had so many times, then is missing; may name a time to come again.
    Down {
        times: u32,
        retry_after: Option<Duration>,
    },
    /// Lies behind a redirect to each of these hosts in turn; forbids `/p1*` if so.
    Moved {
        through: Vec<usize>,
        forbids: bool,
    },
}

impl Robots {
    /// Whether `/p1*` may not be asked for.
    pub(super) fn forbids_p1(&self) -> bool {
        match self {
            Self::Rules { forbids, .. } => *forbids,
            // What lies behind more than five redirects counts as missing.
            Self::Moved { through, forbids } => *forbids && through.len() <= 5,
            Self::Missing | Self::Down { .. } => false,
        }
    }

    /// Redirects to follow until the answer is there; a crawler follows five.
    pub(super) fn redirects(&self) -> usize {
        match self {
            Self::Moved { through, .. } => through.len().min(5),
            _ => 0,
        }
    }
}

/// What a URL answers.
pub(super) enum Answer {
    Page(String),
    Moved(CanonicalUrl),
    /// Fails so many times, then is that page.
    Flaky(u32, FetchError, String),
    Fails(FetchError),
}

pub(super) struct Host {
    pub(super) robots: Robots,
    /// Never answers a request for a page.
    pub(super) is_dead: bool,
    answers: Vec<Answer>,
}

pub(super) struct Web {
    pub(super) hosts: Vec<Host>,
}

pub(super) fn url(host: usize, page: usize) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://h{host}.test/p{page}")).unwrap()
}

/// Where hop `hop` (from 1) of the robots.txt of `host` leads, at host `at`.
fn moved_to(at: usize, host: usize, hop: usize) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://h{at}.test/robots-of-{host}-{hop}")).unwrap()
}

/// Host and page of a URL of this web; what is no page is a robots.txt.
pub(super) fn place(url: &CanonicalUrl) -> (usize, Option<usize>) {
    let text = url.as_str().trim_start_matches("http://h");
    let (host, path) = text.split_once(".test/").unwrap();
    let page = path.strip_prefix('p').map(|page| page.parse().unwrap());
    (host.parse().unwrap(), page)
}

/// Whose robots.txt it is, after how many redirects.
pub(super) fn robots_of(url: &CanonicalUrl) -> (usize, usize) {
    let moved = url.as_str().split_once("/robots-of-");
    let moved = moved.and_then(|(_, rest)| rest.split_once('-'));
    moved.map_or((place(url).0, 0), |(host, hop)| {
        (host.parse().unwrap(), hop.parse().unwrap())
    })
}

impl Web {
    pub(super) fn generate(seed: u64) -> Self {
        let hat = &mut chance(seed, "web");
        let mut hosts = hat.random_range(1..6);
        let mut pages = hat.random_range(1..12);
        let mut links_max = 9;
        if chance(seed, "size").random_bool(0.15) {
            hosts += 2;
            pages = hat.random_range(40..70);
            links_max = 40;
        }
        let hosts = (0..hosts).map(|_| Host::generate(hat, (hosts, pages), links_max));
        Self {
            hosts: hosts.collect(),
        }
    }

    /// So large that a bound on waiting links can be passed.
    pub(super) fn is_large(&self) -> bool {
        self.hosts
            .iter()
            .map(|host| host.answers.len())
            .sum::<usize>()
            > 100
    }

    /// Every URL that can be asked for, also those that are not there.
    pub(super) fn urls(&self) -> Vec<CanonicalUrl> {
        let hosts = self.hosts.iter().enumerate();
        hosts
            .flat_map(|(at, host)| (0..=host.answers.len()).map(move |page| url(at, page)))
            .collect()
    }

    /// The answer to the request number `before` + 1 for a URL.
    pub(super) fn answer(&self, url: &CanonicalUrl, before: u32) -> Outcome {
        let (host, page) = place(url);
        let Some(page) = page else {
            let (host, hop) = robots_of(url);
            return self.robots_txt(host, hop, before);
        };
        let Some(host) = self.hosts.get(host) else {
            return Outcome::Failure(status(404, None));
        };
        if host.is_dead {
            return Outcome::Failure(FetchError::Connect("refused".into()));
        }
        match host.answers.get(page) {
            None => Outcome::Failure(status(404, None)),
            Some(Answer::Flaky(times, error, _)) if before < *times => {
                Outcome::Failure(error.clone())
            }
            Some(Answer::Page(html) | Answer::Flaky(_, _, html)) => response(html),
            Some(Answer::Fails(error)) => Outcome::Failure(error.clone()),
            Some(Answer::Moved(target)) => redirect(target.clone()),
        }
    }

    fn robots_txt(&self, host: usize, hop: usize, before: u32) -> Outcome {
        let robots = self.hosts.get(host).map(|host| &host.robots);
        match robots {
            Some(Robots::Down { times, retry_after }) if before < *times => {
                let code = retry_after.map_or(500, |_| 503);
                Outcome::Failure(status(code, *retry_after))
            }
            None | Some(Robots::Missing | Robots::Down { .. }) => {
                Outcome::Failure(status(404, None))
            }
            Some(Robots::Rules {
                forbids,
                delay_secs,
            }) => rules(*forbids, *delay_secs),
            Some(Robots::Moved { through, forbids }) => match through.get(hop) {
                Some(next) => redirect(moved_to(*next, host, hop + 1)),
                None => rules(*forbids, 0),
            },
        }
    }
}

impl Host {
    fn generate(hat: &mut Chance, (hosts, pages): (usize, usize), links_max: usize) -> Self {
        let robots = match hat.random_range(0..12) {
            0..4 => Robots::Missing,
            4..8 => Robots::Rules {
                forbids: hat.random_bool(0.5),
                delay_secs: hat.random_range(0..100),
            },
            8 | 9 => Robots::Down {
                times: hat.random_range(1..5),
                retry_after: hat
                    .random_bool(0.5)
                    .then(|| Duration::from_mins(hat.random_range(1..60))),
            },
            _ => {
                let redirects = hat.random_range(1..8);
                let through = (0..redirects).map(|_| hat.random_range(0..=hosts));
                Robots::Moved {
                    through: through.collect(),
                    forbids: hat.random_bool(0.5),
                }
            }
        };
        let is_dead = hat.random_bool(0.1);
        let answers = (0..pages).map(|_| answer(hat, (hosts, pages), links_max));
        Self {
            robots,
            is_dead,
            answers: answers.collect(),
        }
    }
}

fn rules(forbids: bool, delay_secs: u64) -> Outcome {
    let rule = if forbids { "Disallow: /p1\n" } else { "" };
    response(&format!("User-agent: *\n{rule}Crawl-delay: {delay_secs}\n"))
}

fn redirect(target: CanonicalUrl) -> Outcome {
    Outcome::Redirect(Redirect {
        status: 301,
        target,
        answer_time: Duration::ZERO,
    })
}

fn answer(hat: &mut Chance, (hosts, pages): (usize, usize), links_max: usize) -> Answer {
    let target = |hat: &mut Chance| {
        // One beyond the last of each is not there.
        url(hat.random_range(0..=hosts), hat.random_range(0..=pages))
    };
    match hat.random_range(0..20) {
        0 | 1 => Answer::Moved(target(hat)),
        2 => {
            let times = hat.random_range(1..6);
            let error = failure(hat);
            Answer::Flaky(times, error, page(hat, target, links_max))
        }
        3 => Answer::Fails(failure(hat)),
        _ => Answer::Page(page(hat, target, links_max)),
    }
}

fn page(
    hat: &mut Chance,
    target: impl Fn(&mut Chance) -> CanonicalUrl,
    links_max: usize,
) -> String {
    let word = ["reef", "sand", "reef sand", "tide"][hat.random_range(0..4)];
    let mut html = format!("<title>{word}</title><p>{word}</p>");
    for _ in 0..hat.random_range(0..links_max) {
        let rel = if hat.random_bool(0.1) {
            " rel=nofollow"
        } else {
            ""
        };
        write!(html, "<a{rel} href=\"{}\">on</a>", target(hat)).unwrap();
    }
    html
}

fn failure(hat: &mut Chance) -> FetchError {
    let second = Duration::from_secs(1);
    match hat.random_range(0..8) {
        0 => status(500, None),
        1 => status(503, None),
        2 => status(429, Some(hat.random_range(1..200) * second)),
        3 => status(503, Some(hat.random_range(1..200) * second)),
        4 => FetchError::TimeoutTotal(60 * second),
        5 => FetchError::ContentType("image/png".into()),
        6 => FetchError::Address([10, 0, 0, 1].into()),
        _ => FetchError::Tls("expired".into()),
    }
}

fn status(code: u16, retry_after: Option<Duration>) -> FetchError {
    FetchError::Status { code, retry_after }
}

fn response(body: &str) -> Outcome {
    Outcome::Response(Response {
        status: 200,
        content_type: Some("text/html; charset=utf-8".to_owned()),
        robots_tag: None,
        body: body.to_owned().into(),
        truncated: false,
        answer_time: Duration::ZERO,
    })
}
