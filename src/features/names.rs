//! What the keys of a link's features mean: words again, from the page that they were hashed from.

use std::collections::{BTreeMap, BTreeSet};

use crate::features::key::{Key, Namespace, kept_of, offset_of, term_hash, term_of};
use crate::features::sketch::kinds;
use crate::features::spec::FeatureSpec;
use crate::features::url_terms::{
    extension, for_each_token, path_and_query, prefix_hash, prefixes,
};
use crate::features::vector::{LEAF_WORDS_MAX, whole_with};
use crate::page::{Link, Page};
use crate::url::registrable_domain;

/// The words of a link's whole text that are shown.
const WHOLE_WORDS_MAX: usize = 12;

/// The words behind the hashes that the features of one link are made of.
///
/// A key holds a hash of its term alone, so that its name needs the page. What two terms of the page
/// have in common is named by both: `'a' or 'b'`.
#[derive(Clone, Debug)]
pub struct LinkNames {
    terms: BTreeMap<(Namespace, u64), BTreeSet<String>>,
    has_offsets: bool,
}

impl LinkNames {
    /// The names for link `at` of `page`, whose best class is `class`; without such a link none but
    /// those that need no page.
    pub fn new(page: &Page, class: Option<&str>, at: usize, spec: &FeatureSpec) -> Self {
        let mut names = Self {
            terms: BTreeMap::new(),
            has_offsets: spec.has_offsets(),
        };
        for word in &page.vocabulary {
            let quoted = format!("'{word}'");
            names.add(Namespace::Text, term_hash(word), quoted);
        }
        let mut topic = class;
        while let Some(name) = topic {
            names.add(Namespace::SourceClass, term_hash(name), name.to_owned());
            topic = name.rsplit_once('/').map(|(above, _)| above);
        }
        for (kind, words) in kinds() {
            names.add(Namespace::LinkKind, kind, words);
        }
        if let Some(link) = page.links.get(at) {
            names.add_link(page, link);
        }
        names
    }

    fn add(&mut self, namespace: Namespace, term: u64, name: String) {
        let names = self.terms.entry((namespace, kept_of(term))).or_default();
        names.insert(name);
    }

    fn add_link(&mut self, page: &Page, link: &Link) {
        for_each_token(&link.target, |token| {
            let name = match token {
                "#" => "a number".to_owned(),
                word => format!("'{word}'"),
            };
            self.add(Namespace::UrlToken, term_hash(token), name);
        });
        let host = link.target.host_key();
        let domain = registrable_domain(&host).to_owned();
        let hashed = term_hash(host.as_str());
        let (path, _) = path_and_query(&link.target);
        for prefix in prefixes(path) {
            let name = format!("{}/{prefix}/", host.as_str());
            self.add(Namespace::PathPrefix, prefix_hash(hashed, prefix), name);
        }
        self.add(Namespace::TargetHost, hashed, host.as_str().to_owned());
        self.add(Namespace::TargetHost, term_hash(&domain), domain);
        let ending = extension(path);
        let name = match ending.as_str() {
            "" => "no extension".to_owned(),
            ending => format!("extension .{ending}"),
        };
        self.add(Namespace::LinkKind, term_hash(&ending), name);
        for token in &link.context.attributes {
            self.add(Namespace::Attribute, term_hash(token), token.clone());
        }
        for tag in &link.tag_path {
            self.add(Namespace::TagPath, term_hash(tag), format!("<{tag}>"));
        }
        let words = inside(page, link);
        let whole = words
            .iter()
            .fold(0, |whole, word| whole_with(whole, term_hash(word)));
        let shown = words.get(..WHOLE_WORDS_MAX).unwrap_or(&words).join(" ");
        self.add(Namespace::AnchorText, whole, format!("'{shown}'"));
    }

    /// What a key of the link means; `None` if the link has no such feature.
    pub fn name(&self, key: Key) -> Option<String> {
        let namespace = Namespace::of(key)?;
        let offset = offset_of(key);
        let term = |namespace| {
            let names = self.terms.get(&(namespace, term_of(key)))?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Some(names.join(" or "))
        };
        Some(match namespace {
            Namespace::Text if !self.has_offsets => {
                format!("{} in or around the link", term(Namespace::Text)?)
            }
            Namespace::Text => format!("{} {}", term(Namespace::Text)?, at(offset)),
            Namespace::TextRange => format!("{} {}", term(Namespace::Text)?, range(offset)),
            Namespace::TextNear => format!("{} in or around the link", term(Namespace::Text)?),
            Namespace::SourceTitle => {
                format!("{} in the title of the page", term(Namespace::Text)?)
            }
            Namespace::Heading => format!("{} in the heading above", term(Namespace::Text)?),
            Namespace::TableHead => {
                let head = if offset == 0 { "column" } else { "row" };
                format!("{} in the head of the {head}", term(Namespace::Text)?)
            }
            Namespace::Attribute => format!("attribute {}", term(namespace)?),
            Namespace::SourceClass => format!("source class {}", term(namespace)?),
            Namespace::CoCitation => {
                let page = match term_of(key) {
                    0 => "an irrelevant page",
                    _ => "a relevant page",
                };
                format!("a link to {page} {}", at(offset))
            }
            Namespace::UrlToken => format!("{} in the URL", term(namespace)?),
            Namespace::TargetHost if offset == 1 => format!("target domain {}", term(namespace)?),
            Namespace::TargetHost => format!("target host {}", term(namespace)?),
            Namespace::PathPrefix => format!("target under {}", term(namespace)?),
            Namespace::TagPath => format!("inside of {}, {} up", term(namespace)?, offset + 1),
            Namespace::LinkKind => format!("link: {}", term(namespace)?),
            Namespace::AnchorText => format!("the link's whole text {}", term(namespace)?),
        })
    }
}

/// The words of a link's own leaves that become features.
fn inside<'a>(page: &'a Page, link: &Link) -> Vec<&'a str> {
    let last = page.leaf_ends.len().saturating_sub(1);
    let leaves = (link.first_leaf as usize).min(last)..=(link.last_leaf as usize).min(last);
    let leaves = leaves.filter(|leaf| *leaf < page.leaf_ends.len());
    let words = leaves.flat_map(|leaf| page.leaf_words(leaf).iter().take(LEAF_WORDS_MAX));
    words
        .filter_map(|word| page.vocabulary.get(*word as usize))
        .map(String::as_str)
        .collect()
}

fn at(offset: i8) -> String {
    let leaves = if offset.unsigned_abs() == 1 {
        "leaf"
    } else {
        "leaves"
    };
    match offset {
        0 => "inside the link".to_owned(),
        left if left < 0 => format!("{} {leaves} left", left.unsigned_abs()),
        right => format!("{right} {leaves} right"),
    }
}

/// See `range_of` in `vector`.
fn range(range: i8) -> String {
    let side = if range < 0 { "left" } else { "right" };
    let leaves = match range.unsigned_abs() {
        0 => return "inside the link (range)".to_owned(),
        1 => "next to it",
        2 => "2 or 3 leaves",
        _ => "4 leaves or more",
    };
    format!("{leaves} {side} (range)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::{LinkVector, PageSketch, SourceFacts, TermWeights, key};
    use crate::page::{DocumentKind, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    const CLASS: &str = "Science/Biology";

    fn page(html: &str) -> (Page, PageSketch) {
        let url = CanonicalUrl::parse("http://a.test/dir/page.html").unwrap();
        let source = PageSource {
            url: &url,
            content_type: Some("text/html; charset=utf-8"),
            body: html.as_bytes(),
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        let facts = SourceFacts::new(2.0, Some(CLASS), 1);
        let sketch = PageSketch::new(&url, &page, facts, &TermWeights::default());
        (page, sketch)
    }

    fn names(html: &str, link: usize, spec: FeatureSpec) -> Vec<String> {
        let (page, sketch) = page(html);
        let mut vector = LinkVector::default();
        sketch.vector(link, &spec, &mut vector);
        let names = LinkNames::new(&page, Some(CLASS), link, &spec);
        let name = |key: &Key| names.name(*key).unwrap();
        vector.keys.iter().map(name).collect()
    }

    const PAGE: &str = "<title>Sea</title><ul class=m><li>far<i>near</i>\
         <a href='/x/y7/z.PDF?q'>big <b>fish</b></a>after";

    #[test]
    fn every_feature_of_a_link_has_its_words() {
        let expected = [
            "'near' 1 leaf left",
            "'far' 2 leaves left",
            "'big' inside the link",
            "'fish' inside the link",
            "'after' 1 leaf right",
            "the link's whole text 'big fish'",
            "source class Science/Biology",
            "source class Science",
            "'sea' in the title of the page",
            "'x' in the URL",
            "'y' in the URL",
            "a number in the URL",
            "'z' in the URL",
            "'pdf' in the URL",
            "'q' in the URL",
            "target host a.test",
            "target domain a.test",
            "target under a.test/x/",
            "target under a.test/x/y7/",
            "inside of <li>, 1 up",
            "inside of <ul.m>, 2 up",
            "inside of <body>, 3 up",
            "inside of <html>, 4 up",
            "link: an anchor",
            "link: to the same host",
            "link: the URL's path has 2 folders",
            "link: the URL has a query",
            "link: extension .pdf",
        ];
        let spec = FeatureSpec::default().without_group("ranges").unwrap();
        assert_eq!(names(PAGE, 0, spec), expected);
    }

    #[test]
    fn heads_and_attributes_have_their_words() {
        let page =
            "<h2>Sea</h2><table><tr><th>Name<th>Notes<tr><td>Ada<td><a rel=next href=x>x</a>";
        let spec = FeatureSpec::default();
        let spec = spec
            .with_groups(["heading", "table", "attributes"])
            .unwrap();
        let expected = [
            "'sea' in the heading above",
            "'notes' in the head of the column",
            "'ada' in the head of the row",
            "attribute rel:next",
        ];
        assert_eq!(names(page, 0, spec), expected);
    }

    #[test]
    fn ranges_and_bags_of_words_say_what_they_are() {
        let spec = FeatureSpec::default().with_groups(["ranges"]).unwrap();
        let ranges = names(PAGE, 0, spec.with_d_max(1).unwrap());
        assert!(ranges.contains(&"'near' next to it left (range)".to_owned()));
        assert!(ranges.contains(&"'near' in or around the link".to_owned()));
        let spec = FeatureSpec::default().with_groups(["text"]).unwrap();
        let bag = names(PAGE, 0, spec.without_offsets());
        assert_eq!(bag[0], "'near' in or around the link");
    }

    #[test]
    fn what_two_terms_share_is_named_by_both() {
        let (page, _) = page(PAGE);
        let spec = FeatureSpec::default();
        let mut names = LinkNames::new(&page, None, 0, &spec);
        names.add(Namespace::Text, term_hash("fish"), "'twin'".to_owned());
        let name = names.name(key(Namespace::Text, 0, term_hash("fish")));
        assert_eq!(name.as_deref(), Some("'fish' or 'twin' inside the link"));
        // What another page has is no feature of this link.
        let foreign = key(Namespace::Text, 0, term_hash("elsewhere"));
        assert_eq!(names.name(foreign), None);
    }

    #[test]
    fn a_judged_neighbour_is_named_without_a_page() {
        let names = LinkNames::new(&Page::default(), None, 0, &FeatureSpec::default());
        let name = |offset, bucket| names.name(key(Namespace::CoCitation, offset, bucket));
        let expected = "a link to a relevant page 2 leaves left";
        assert_eq!(name(-2, 1 << 63).as_deref(), Some(expected));
        assert!(name(1, 0).unwrap().contains("irrelevant page 1 leaf right"));
    }

    proptest! {
        #[test]
        fn whatever_the_page_every_key_has_a_name(
            body in "(<p>|</p>|<h2>|</h2>|<table>|<td>|<tr>|<th>|<a rel=[a-z]{1,3} class='[a-z ]{0,5}' href='[a-z/0-9?=.]{0,9}'>|</a>|<br>|[a-z]{1,5} ){0,60}",
            d_max in 0_i64..=15,
            offsets: bool,
        ) {
            let (page, sketch) = page(&body);
            let all = FeatureSpec::default().with_groups(["all"]).unwrap();
            let mut spec = all.with_d_max(d_max).unwrap();
            if !offsets {
                spec = spec.without_offsets();
            }
            let mut vector = LinkVector::default();
            for link in 0..sketch.links.len() {
                sketch.vector(link, &spec, &mut vector);
                let names = LinkNames::new(&page, Some(CLASS), link, &spec);
                for key in &vector.keys {
                    prop_assert!(names.name(*key).is_some(), "{:x}", key);
                }
            }
        }
    }
}
