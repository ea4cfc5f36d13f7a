//! Which links are taken in.

use regex::{Regex, RegexSet};

use super::prefixes::PREFIX_COPIES_MAX;
use super::spec::SpecError;
use crate::booking::{Refusal, Withheld};
use crate::fetch::{GuardRules, RobotsTag};
use crate::page::PageMeta;
use crate::proto::v1;
use crate::url::{CanonicalUrl, UrlRules, trap_of};

/// Patterns of one kind at most; each costs time for every link.
const PATTERNS_MAX: usize = 1000;

/// A checked scope.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the spec"
)]
pub struct Scope {
    allow: RegexSet,
    deny: RegexSet,
    /// Fetches of one host at most.
    pub pages_per_host_max: Option<u64>,
    /// Fetches of all hosts under one registrable domain at most.
    pub pages_per_domain_max: Option<u64>,
    /// Links from a seed at most.
    depth_max: Option<u16>,
    /// Outlinks only of pages whose best class lies in the focus or under its parent.
    hard_focus: bool,
    /// Whose nofollow is ignored.
    ignored: Nofollow,
    /// Pages may be kept although they say `noarchive`.
    ignores_noarchive: bool,
    /// The sitemaps of seeds' hosts give seeds as well.
    pub sitemaps: bool,
    /// Address ranges that may be crawled although they are special.
    pub allow_addresses: Vec<String>,
    /// How the URLs of links are changed.
    pub urls: UrlRules,
    follow_traps: bool,
    /// Also the links of a page whose bytes were booked before.
    pub follows_copies: bool,
    /// Copies under a path prefix, more than are made up for; `None` is without end.
    pub prefix_copies_max: Option<u32>,
}

/// Who asks that a link is not followed; each can be ignored by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nofollow {
    /// The link: `rel=nofollow`.
    pub by_link: bool,
    /// Its page: `meta robots`.
    pub by_page: bool,
    /// The server: `X-Robots-Tag`.
    pub by_server: bool,
}

/// A link as the scope sees it.
#[derive(Clone, Copy, Debug)]
pub struct LinkView<'a> {
    /// Its target.
    pub url: &'a CanonicalUrl,
    /// Links from a seed to it.
    pub depth: u16,
    /// Who says nofollow of it.
    pub nofollow: Nofollow,
    /// Its page's best class lies in the focus or under its parent.
    pub near_focus: bool,
}

impl Scope {
    pub(super) fn check(scope: &v1::Scope) -> Result<Self, SpecError> {
        let hard_focus = match scope.focus.as_str() {
            "" | "soft" => false,
            "hard" => true,
            other => {
                return Err(SpecError::new(
                    "scope.focus",
                    format!("{other:?}; use `soft` or `hard`"),
                ));
            }
        };
        GuardRules::parse(&scope.allow_addresses)
            .map_err(|error| SpecError::new("scope.allow_addresses", error.to_string()))?;
        Ok(Self {
            allow: patterns("scope.allow", &scope.allow)?,
            deny: patterns("scope.deny", &scope.deny)?,
            pages_per_host_max: Some(scope.pages_per_host_max).filter(|max| *max > 0),
            pages_per_domain_max: Some(scope.pages_per_domain_max).filter(|max| *max > 0),
            depth_max: depth_max(scope.depth_max)?,
            hard_focus,
            ignored: Nofollow {
                by_link: scope.ignore_nofollow,
                by_page: scope.ignore_meta_robots,
                by_server: scope.ignore_robots_tag,
            },
            ignores_noarchive: scope.ignore_noarchive,
            sitemaps: scope.sitemaps,
            allow_addresses: scope.allow_addresses.clone(),
            urls: UrlRules {
                keeps_tracking: scope.keep_tracking,
                sorts_query: scope.sort_query,
                capital_escapes: scope.capital_escapes,
            },
            follow_traps: scope.follow_traps,
            follows_copies: scope.follow_copies,
            prefix_copies_max: match (scope.follow_traps, scope.prefix_copies_max) {
                (true, _) => None,
                (false, 0) => Some(PREFIX_COPIES_MAX),
                (false, max) => Some(max),
            },
        })
    }

    /// Whether the URL's text is within the patterns.
    pub fn covers(&self, url: &CanonicalUrl) -> bool {
        let text = url.as_str();
        (self.allow.is_empty() || self.allow.is_match(text)) && !self.deny.is_match(text)
    }

    /// Why a page is not to be kept that says `by_page` itself (`meta robots`), and whose server says
    /// `by_server` (`X-Robots-Tag`); `None` if it may be.
    pub fn withholds(&self, by_page: &PageMeta, by_server: RobotsTag) -> Option<Withheld> {
        let says = |page: bool, server: bool| {
            page && !self.ignored.by_page || server && !self.ignored.by_server
        };
        if says(by_page.noindex, by_server.noindex) {
            return Some(Withheld::Noindex);
        }
        let is_heard = says(by_page.noarchive, by_server.noarchive) && !self.ignores_noarchive;
        is_heard.then_some(Withheld::Noarchive)
    }

    /// Why the link is not taken in; `None` if it is.
    pub fn refusal(&self, link: &LinkView<'_>) -> Option<Refusal> {
        let asked = link.nofollow;
        let ignored = self.ignored;
        if asked.by_link && !ignored.by_link
            || asked.by_page && !ignored.by_page
            || asked.by_server && !ignored.by_server
        {
            return Some(Refusal::Nofollow);
        }
        if self.hard_focus && !link.near_focus {
            return Some(Refusal::HardFocus);
        }
        if self.depth_max.is_some_and(|max| link.depth > max) {
            return Some(Refusal::Depth);
        }
        if !self.covers(link.url) {
            return Some(Refusal::Scope);
        }
        (!self.follow_traps && trap_of(link.url).is_some()).then_some(Refusal::Trap)
    }
}

fn depth_max(given: u32) -> Result<Option<u16>, SpecError> {
    match u16::try_from(given) {
        Ok(0) => Ok(None),
        Ok(max) => Ok(Some(max)),
        Err(_) => Err(SpecError::new(
            "scope.depth_max",
            format!(
                "{given} links; at most {} can be counted (0: no limit)",
                u16::MAX
            ),
        )),
    }
}

fn patterns(field: &str, texts: &[String]) -> Result<RegexSet, SpecError> {
    if texts.len() > PATTERNS_MAX {
        return Err(SpecError::new(
            field,
            format!("{} patterns; at most {PATTERNS_MAX} are taken", texts.len()),
        ));
    }
    for (at, text) in texts.iter().enumerate() {
        if let Err(error) = Regex::new(text) {
            let line = error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned();
            return Err(SpecError::new(
                format!("{field}[{at}]"),
                format!("{text:?} is no regular expression: {line}"),
            ));
        }
    }
    RegexSet::new(texts).map_err(|error| SpecError::new(field, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(change: impl FnOnce(&mut v1::Scope)) -> Scope {
        let mut scope = v1::Scope::default();
        change(&mut scope);
        Scope::check(&scope).unwrap()
    }

    fn refusal(
        scope: &Scope,
        url: &str,
        change: impl FnOnce(&mut LinkView<'_>),
    ) -> Option<Refusal> {
        let url = CanonicalUrl::parse(url).unwrap();
        let mut link = LinkView {
            url: &url,
            depth: 1,
            nofollow: Nofollow::default(),
            near_focus: true,
        };
        change(&mut link);
        scope.refusal(&link)
    }

    #[test]
    fn an_empty_scope_takes_everything_but_nofollow() {
        let scope = scope(|_| ());
        assert_eq!(refusal(&scope, "http://a.test/x", |_| ()), None);
        assert_eq!(refusal(&scope, "http://a.test/x", |l| l.depth = 900), None);
        assert_eq!(
            refusal(&scope, "http://a.test/x", |l| l.nofollow.by_link = true),
            Some(Refusal::Nofollow)
        );
    }

    /// What `scope` makes of a page and a server that say `noindex` (true) or `noarchive` (false).
    fn withheld(scope: &Scope, by_page: Option<bool>, by_server: Option<bool>) -> Option<Withheld> {
        let page = PageMeta {
            noindex: by_page == Some(true),
            noarchive: by_page == Some(false),
            ..PageMeta::default()
        };
        let server = RobotsTag {
            noindex: by_server == Some(true),
            noarchive: by_server == Some(false),
            ..RobotsTag::default()
        };
        scope.withholds(&page, server)
    }

    #[test]
    fn noindex_and_noarchive_are_obeyed_unless_who_says_so_is_ignored() {
        let usual = scope(|_| ());
        let without_page = scope(|s| s.ignore_meta_robots = true);
        let without_server = scope(|s| s.ignore_robots_tag = true);
        assert_eq!(withheld(&usual, None, None), None);
        for (said, name) in [(true, Withheld::Noindex), (false, Withheld::Noarchive)] {
            let said = Some(said);
            assert_eq!(withheld(&usual, said, None), Some(name));
            assert_eq!(withheld(&usual, None, said), Some(name));
            assert_eq!(withheld(&without_page, said, None), None);
            assert_eq!(withheld(&without_page, said, said), Some(name));
            assert_eq!(withheld(&without_server, None, said), None);
            assert_eq!(withheld(&without_server, said, said), Some(name));
        }
        assert_eq!(
            withheld(&usual, Some(false), Some(true)),
            Some(Withheld::Noindex)
        );
    }

    #[test]
    fn noarchive_can_be_ignored_alone() {
        let ignores = scope(|s| s.ignore_noarchive = true);
        assert_eq!(withheld(&ignores, Some(false), Some(false)), None);
        assert_eq!(
            withheld(&ignores, Some(true), None),
            Some(Withheld::Noindex)
        );
    }

    #[test]
    fn a_trap_is_refused_unless_it_is_asked_for() {
        let url = "http://a.test/x/x/x/";
        assert_eq!(refusal(&scope(|_| ()), url, |_| ()), Some(Refusal::Trap));
        let follows = scope(|s| s.follow_traps = true);
        assert_eq!(refusal(&follows, url, |_| ()), None);
    }

    #[test]
    fn deny_goes_before_allow() {
        let scope = scope(|s| {
            s.allow = vec![r"^https?://([^/]*\.)?a\.test/".into()];
            s.deny = vec![r"\.pdf$".into()];
        });
        assert_eq!(refusal(&scope, "http://www.a.test/x", |_| ()), None);
        assert_eq!(
            refusal(&scope, "http://b.test/", |_| ()),
            Some(Refusal::Scope)
        );
        assert_eq!(
            refusal(&scope, "http://a.test/x.pdf", |_| ()),
            Some(Refusal::Scope)
        );
    }

    #[test]
    fn a_depth_that_cannot_be_counted_is_refused_and_not_taken_for_none() {
        let too_deep = v1::Scope {
            depth_max: 70_000,
            ..Default::default()
        };
        let error = Scope::check(&too_deep).unwrap_err();
        assert!(error.to_string().contains("65535"), "{error}");
    }

    #[test]
    fn hard_focus_and_depth_refuse_by_the_page() {
        let scope = scope(|s| {
            s.focus = "hard".into();
            s.depth_max = 2;
        });
        assert_eq!(refusal(&scope, "http://a.test/", |l| l.depth = 2), None);
        assert_eq!(
            refusal(&scope, "http://a.test/", |l| l.depth = 3),
            Some(Refusal::Depth)
        );
        assert_eq!(
            refusal(&scope, "http://a.test/", |l| l.near_focus = false),
            Some(Refusal::HardFocus)
        );
    }
}
