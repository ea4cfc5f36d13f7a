//! The hosts that misbehave, each in one way.

use crate::support::site::{self, HTML, Then, gzip, ok, redirect, with};

/// How the page ends that the host misbehaves on, `/NAME`.
pub(super) enum Ends {
    /// As a page, moved, or with this cause.
    As(&'static str),
    /// `/forbidden` is never asked for; there is no such page.
    Unasked,
}

/// Whether its robots.txt can be had.
pub(super) enum Robots {
    Had,
    Unreachable,
}

pub(super) struct Host {
    pub(super) name: &'static str,
    pub(super) robots: Robots,
    pub(super) ends: Ends,
}

const fn ends(name: &'static str, cause: &'static str) -> Host {
    Host {
        name,
        robots: Robots::Had,
        ends: Ends::As(cause),
    }
}

const fn forbids(name: &'static str) -> Host {
    Host {
        name,
        robots: Robots::Had,
        ends: Ends::Unasked,
    }
}

const fn closed(name: &'static str) -> Host {
    Host {
        name,
        robots: Robots::Unreachable,
        ends: Ends::Unasked,
    }
}

/// All hosts on the one site; see [`answer`] and `support::site`.
pub(super) const HOSTS: [Host; 55] = [
    ends("page", "page"),
    ends("large", "page"),
    ends("empty", "page"),
    ends("unstated", "page"),
    ends("image", "content-type"),
    ends("unstated-binary", "content-type"),
    ends("hang", "timeout-first-byte"),
    ends("hang-in-head", "timeout-first-byte"),
    ends("hang-in-body", "timeout-total"),
    ends("drip", "timeout-total"),
    ends("stream", "timeout-total"),
    ends("drop", "broken"),
    ends("drop-in-head", "broken"),
    ends("drop-before-body", "broken"),
    ends("half", "page"),
    ends("too-long", "page"),
    ends("chunk-broken", "page"),
    ends("chunk-first-broken", "broken"),
    ends("chunk-last-missing", "page"),
    ends("odd-lines", "page"),
    ends("garbage", "protocol"),
    ends("huge-headers", "protocol"),
    ends("many-headers", "protocol"),
    ends("moved", "moved"),
    ends("loop", "moved"),
    ends("chain", "moved"),
    ends("lost", "bad-redirect"),
    ends("astray", "bad-redirect"),
    ends("inwards", "moved"),
    ends("choices", "status-300"),
    ends("private", "status-401"),
    ends("missing", "status-404"),
    ends("busy", "status-503"),
    ends("busy-date", "status-429"),
    ends("busy-garbage", "status-429"),
    ends("gzip", "page"),
    ends("gzip-twice", "page"),
    ends("gzip-lie", "page"),
    ends("gzip-cut", "page"),
    ends("gzip-bomb", "bomb"),
    ends("gzip-nothing", "decode"),
    ends("wrong-coding", "decode"),
    ends("nul", "page"),
    ends("robots-401", "page"),
    ends("robots-html", "page"),
    ends("robots-binary", "page"),
    ends("robots-loop", "page"),
    forbids("robots-huge"),
    forbids("robots-bom"),
    forbids("robots-gzip"),
    closed("robots-429"),
    closed("robots-500"),
    closed("robots-503"),
    closed("robots-drop"),
    closed("robots-hang"),
];

/// What the site sends.
pub(super) fn answer(host: &str, path: &str) -> (Vec<u8>, Then) {
    let name = host.strip_suffix(".test").unwrap_or(host);
    match path {
        "/robots.txt" => robots(name),
        "/" => {
            let links = ["/forbidden", "/after"].map(|to| format!("<a href={to}>x</a>"));
            let page = format!("<a href=/{name}>x</a>{}", links.concat());
            (ok(HTML, page.as_bytes()), Then::KeepAlive)
        }
        "/after" => (ok(HTML, b"good"), Then::KeepAlive),
        "/nul" => (ok(HTML, b"<p>\0a\0<a href=\"/\0\">x</a>"), Then::KeepAlive),
        "/wrong-coding" => {
            let headers = format!("{HTML}Content-Encoding: br\r\n");
            (ok(&headers, &gzip(b"hello")), Then::KeepAlive)
        }
        "/inwards" => (redirect(b"http://10.0.0.1/"), Then::KeepAlive),
        path if path.starts_with("/chain") => {
            let next = format!("{path}x");
            (redirect(next.as_bytes()), Then::KeepAlive)
        }
        path if path.starts_with("/robots-") => (ok(HTML, b"good"), Then::KeepAlive),
        path => site::answer(path),
    }
}

fn robots(name: &str) -> (Vec<u8>, Then) {
    const RULES: &str = "User-agent: *\nDisallow: /forbidden\n";
    let bytes = match name {
        "robots-401" => with("401 Unauthorized", "", b""),
        "robots-429" => with("429 Slow Down", "", b""),
        "robots-500" => with("500 Broken", HTML, b"<p>User-agent: *"),
        "robots-503" => with("503 Busy", "Retry-After: 3600\r\n", b""),
        "robots-html" => ok(HTML, b"<p>User-agent: *<p>Disallow: /"),
        "robots-binary" => ok("", &[0xff, 0xfe, 0, 1, 2, 0x80]),
        "robots-loop" => redirect(b"/robots.txt"),
        "robots-huge" => {
            let filler = "# filler\n".repeat(100_000);
            ok("", format!("{RULES}{filler}Allow: /\n").as_bytes())
        }
        "robots-bom" => ok("", format!("\u{feff}{RULES}").as_bytes()),
        "robots-gzip" => ok("Content-Encoding: gzip\r\n", &gzip(RULES.as_bytes())),
        "robots-hang" => return (Vec::new(), Then::Hang),
        "robots-drop" => return (Vec::new(), Then::Close),
        _ => with("404 Not Found", "", b""),
    };
    (bytes, Then::KeepAlive)
}
