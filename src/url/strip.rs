//! Takes off a link what does not tell pages apart: session ids, and parameters that only say by
//! which way somebody came.

use std::borrow::Cow;

use super::CanonicalUrl;

/// Parameters that say by which way somebody came; a name that ends in `*` is a beginning.
const TRACKING: &[&str] = &[
    "utm_*",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "fbclid",
    "msclkid",
    "yclid",
    "ysclid",
    "twclid",
    "ttclid",
    "igshid",
    "igsh",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "__hstc",
    "__hssc",
    "__hsfp",
    "hsctatracking",
    "_openstat",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "s_cid",
    "vero_id",
    "wickedid",
    "ml_subscriber",
    "ml_subscriber_hash",
];

/// Parameters that name a visit, whatever their value.
const SESSION: &[&str] = &[
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "cftoken",
    "oscsid",
    "zenid",
];

/// Parameters that name a visit if their value looks drawn by lot.
const PERHAPS_SESSION: &[&str] = &[
    "sid",
    "sess",
    "sessid",
    "session",
    "sessionid",
    "session_id",
];

/// From this many letters and digits on a value looks drawn by lot.
const LOT_BYTES_MIN: usize = 16;

/// How the URLs of links are changed before they are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UrlRules {
    /// Session ids and tracking parameters stay.
    pub keeps_tracking: bool,
    /// The parameters of a query are put in order.
    pub sorts_query: bool,
    /// Percent escapes are written in capitals (RFC 3986, section 6.2.2.1).
    pub capital_escapes: bool,
}

impl UrlRules {
    /// The URL under these rules; applied twice they change nothing more. What is left of the query
    /// stays as it was, byte for byte.
    pub fn apply(self, url: CanonicalUrl) -> CanonicalUrl {
        let text = url.as_str();
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        let path = if self.keeps_tracking {
            Cow::Borrowed(path)
        } else {
            path_without_sessions(path)
        };
        let query = query.and_then(|query| self.query(query));
        let mut changed = match query {
            Some(query) => format!("{path}?{query}"),
            None => path.into_owned(),
        };
        if self.capital_escapes {
            changed = with_capital_escapes(&changed);
        }
        if changed == text {
            return url;
        }
        // What was taken away leaves a URL; if it ever did not, the page has its own name.
        CanonicalUrl::parse(&changed).unwrap_or(url)
    }

    /// What is left of a query; `None` if nothing is, not even its mark.
    fn query(self, query: &str) -> Option<Cow<'_, str>> {
        let all = query.split('&').count();
        let mut parts: Vec<&str> = query
            .split('&')
            .filter(|part| self.keeps_tracking || !is_of_visit(part))
            .collect();
        if parts.is_empty() {
            return None;
        }
        if self.sorts_query {
            parts.sort_unstable();
        } else if parts.len() == all {
            return Some(Cow::Borrowed(query));
        }
        Some(Cow::Owned(parts.join("&")))
    }
}

/// The text with the letters of its percent escapes as capitals.
fn with_capital_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut all, part| {
        all.push('%');
        match part.split_at_checked(2) {
            Some((hex, rest)) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                all.push_str(&hex.to_ascii_uppercase());
                all.push_str(rest);
            }
            _ => all.push_str(part),
        }
        all
    })
}

/// Whether a parameter is about the visit and not about the page.
fn is_of_visit(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let name = name.to_ascii_lowercase();
    let is_listed = |list: &[&str]| {
        list.iter().any(|listed| match listed.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *listed,
        })
    };
    is_listed(TRACKING) || is_listed(SESSION) || is_listed(PERHAPS_SESSION) && is_by_lot(value)
}

fn is_by_lot(value: &str) -> bool {
    value.len() >= LOT_BYTES_MIN
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// A path without `;jsessionid=..` and the `/(S(..))` of ASP.NET.
fn path_without_sessions(path: &str) -> Cow<'_, str> {
    if !path.contains([';', '(']) {
        return Cow::Borrowed(path);
    }
    let segments = path
        .split('/')
        .filter(|segment| !is_asp_session(segment))
        .map(|segment| {
            let mut parts = segment.split(';');
            let first = parts.next().unwrap_or_default();
            parts
                .filter(|part| !is_of_visit(part))
                .fold(Cow::Borrowed(first), |segment, part| segment + ";" + part)
        });
    Cow::Owned(segments.collect::<Vec<_>>().join("/"))
}

fn is_asp_session(segment: &str) -> bool {
    let inner = segment
        .strip_prefix("(S(")
        .or_else(|| segment.strip_prefix("(s("));
    inner
        .and_then(|inner| inner.strip_suffix("))"))
        .is_some_and(is_by_lot)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn under(rules: UrlRules, text: &str) -> String {
        let url = CanonicalUrl::parse(text).unwrap();
        rules.apply(url).as_str().to_owned()
    }

    #[test]
    fn what_is_of_the_visit_is_taken_off_and_the_rest_stays_as_it_was() {
        for (url, left) in [
            (
                "http://h.test/x?utm_source=a&id=%7e1&UTM_medium=b",
                "http://h.test/x?id=%7e1",
            ),
            ("http://h.test/x?gclid=1&fbclid=2", "http://h.test/x"),
            (
                "http://h.test/x;jsessionid=0A1B?b=1&a=2",
                "http://h.test/x?b=1&a=2",
            ),
            (
                "http://h.test/a;v=2;JSESSIONID=77/b",
                "http://h.test/a;v=2/b",
            ),
            ("http://h.test/?PHPSESSID=abc&p=&&q", "http://h.test/?p=&&q"),
            (
                "http://h.test/?sid=0123456789abcdef0123456789abcdef",
                "http://h.test/",
            ),
            (
                "http://h.test/(S(lit3py55t21z5v55vlm25s55))/x.aspx",
                "http://h.test/x.aspx",
            ),
        ] {
            assert_eq!(under(UrlRules::default(), url), left, "{url}");
            let keeps = UrlRules {
                keeps_tracking: true,
                ..UrlRules::default()
            };
            assert_eq!(under(keeps, url), url);
        }
    }

    #[test]
    fn what_may_tell_pages_apart_stays() {
        for url in [
            "http://h.test/?",
            "http://h.test/?sid=12",
            "http://h.test/?session=spring-of-the-year-2020",
            "http://h.test/?ref=home&page=2",
            "http://h.test/f(x);y",
            "http://h.test/a;b=c/(S(short))/",
            "http://h.test/?q=utm_source",
        ] {
            assert_eq!(under(UrlRules::default(), url), url);
        }
    }

    #[test]
    fn a_query_is_sorted_if_the_rules_say_so() {
        let sorts = UrlRules {
            sorts_query: true,
            ..UrlRules::default()
        };
        assert_eq!(
            under(sorts, "http://h.test/?b=1&a=2&utm_id=3"),
            "http://h.test/?a=2&b=1"
        );
    }

    #[test]
    fn escapes_are_written_in_capitals_if_the_rules_say_so() {
        let capitals = UrlRules {
            capital_escapes: true,
            ..UrlRules::default()
        };
        for (url, one) in [
            ("http://h.test/%c3%a9?q=%e2", "http://h.test/%C3%A9?q=%E2"),
            ("http://h.test/%7ename/%zz%4", "http://h.test/%7Ename/%zz%4"),
            ("http://h.test/%%ab%", "http://h.test/%%AB%"),
        ] {
            assert_eq!(under(capitals, url), one, "{url}");
            assert_eq!(under(UrlRules::default(), url), url);
        }
    }

    proptest! {
        #[test]
        fn rules_applied_twice_change_nothing_more(
            rest in "[/;?&=()](S\\()?(utm_|sid|jsessionid|;|/|&|=|\\?|%|[a-z0-9]{0,20}|\\)\\)){0,12}",
            keeps_tracking in any::<bool>(),
            sorts_query in any::<bool>(),
            capital_escapes in any::<bool>(),
        ) {
            let rules = UrlRules { keeps_tracking, sorts_query, capital_escapes };
            if let Ok(url) = CanonicalUrl::parse(&format!("http://h.test/{rest}")) {
                let once = rules.apply(url);
                prop_assert_eq!(rules.apply(once.clone()), once);
            }
        }
    }
}
