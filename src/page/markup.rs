//! Small languages inside attributes: `rel`, `meta robots`, `meta refresh`.

/// The name that a page may address this crawler by in `<meta name=..>`, beside `robots`.
const OWN_NAME: &str = "apprentice";

/// Whether `rel` holds one of `wanted` among its tokens.
pub(super) fn has_token(rel: &str, wanted: &[&str]) -> bool {
    rel.split_ascii_whitespace()
        .any(|token| wanted.iter().any(|name| token.eq_ignore_ascii_case(name)))
}

/// Whether a link with this `rel` asks not to be followed.
pub(super) fn is_nofollow(rel: &str) -> bool {
    has_token(rel, &["nofollow", "ugc", "sponsored"])
}

/// Whether a `meta` of this name speaks to crawlers, or to this one.
pub(super) fn is_robots(name: &str) -> bool {
    let name = name.trim();
    name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(OWN_NAME)
}

/// Whether a `meta robots` forbids `what` (`noindex` or `nofollow`), by name or by `none`.
pub(super) fn forbids(content: &str, what: &str) -> bool {
    says(content, what) || says(content, "none")
}

/// Whether a `meta robots` has `rule` among its rules.
pub(super) fn says(content: &str, rule: &str) -> bool {
    content
        .split(|c: char| c == ',' || c.is_ascii_whitespace())
        .any(|said| said.eq_ignore_ascii_case(rule))
}

/// The URL in the content of a `meta refresh`, by the "shared declarative refresh steps" of the
/// HTML standard (4.2.5.3); `None` if the page is only to be loaded again.
pub(super) fn refresh_target(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if after.len() == rest.len() {
        return None;
    }
    let spaced = after.trim_ascii_start();
    let url = match spaced.strip_prefix([';', ',']) {
        Some(url) => url,
        None if spaced.len() < after.len() => spaced,
        None => return None,
    };
    let url = url.trim_ascii_start();
    let url = unprefixed(url).unwrap_or(url);
    let url = match url.chars().next()? {
        quote @ ('"' | '\'') => url[1..].split(quote).next().unwrap_or_default(),
        _ => url,
    };
    let url = url.trim_ascii();
    (!url.is_empty()).then_some(url)
}

/// What follows `url =`, if `text` begins so.
fn unprefixed(text: &str) -> Option<&str> {
    let head = text.get(..3)?;
    if !head.eq_ignore_ascii_case("url") {
        return None;
    }
    let rest = text[3..].trim_ascii_start().strip_prefix('=')?;
    Some(rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_is_read_with_and_without_quotes() {
        for content in [
            "0; URL=/x/",
            "0;url='/x/'",
            "5 ; url = \"/x/\" ",
            "0,/x/",
            "0 url=/x/",
            ".5;'/x/",
            "0;url=/x/ ",
        ] {
            assert_eq!(refresh_target(content), Some("/x/"), "{content}");
        }
    }

    #[test]
    fn a_refresh_without_a_url_goes_nowhere() {
        for content in [
            "",
            "30",
            "30;",
            "0;url=",
            "0;url=''",
            "url=/x/",
            "x;url=/x/",
            "0;'",
        ] {
            assert_eq!(refresh_target(content), None, "{content}");
        }
        assert_eq!(refresh_target("0; \u{fc}"), Some("\u{fc}"));
    }

    #[test]
    fn rel_and_robots_are_lists_of_tokens() {
        assert!(is_nofollow("external NoFollow"));
        assert!(is_nofollow("ugc"));
        assert!(!is_nofollow("nofollowing dofollow"));
        assert!(forbids("noarchive,NOINDEX", "noindex"));
        assert!(forbids("none", "nofollow"));
        assert!(says("index,NoArchive", "noarchive") && !says("none", "noarchive"));
        assert!(!forbids("index, follow", "nofollow"));
        assert!(is_robots(" Robots ") && is_robots("Apprentice") && !is_robots("googlebot"));
    }
}
