//! Why a link scores as it does, in words: the parts of its scores under the names of their features.

use std::collections::BTreeMap;

use super::url_report::{TroubleOf, report};
use crate::apprentice::{Explanation, FeatureRef};
use crate::booking::{Event, PageBooking, Reference};
use crate::clock::Timestamp;
use crate::crawl::{Handle, LinkReasons};
use crate::features::{FeatureSpec, LinkNames};
use crate::frontier::StoreFailure;
use crate::page::{Link, Page};
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// The words of a link's text that are shown.
const ANCHOR_WORDS_MAX: usize = 24;

/// The explanation of `url`; `top` features of each page are named (0: all).
///
/// # Errors
/// [`StoreFailure`] if the log cannot be read.
pub(super) fn explain(
    crawl: &Handle,
    url: &CanonicalUrl,
    reasons: Option<LinkReasons>,
    top: usize,
    now: Timestamp,
    trouble: TroubleOf<'_>,
) -> Result<v1::LinkExplanation, StoreFailure> {
    let Some(reasons) = reasons else {
        return Ok(v1::LinkExplanation {
            report: Some(report(crawl, url, None, now, trouble)?),
            ..Default::default()
        });
    };
    let parents = reasons.parents.iter();
    let parents =
        parents.map(|(at, said)| parent(crawl, *at, said.as_ref(), &reasons.features, top));
    Ok(v1::LinkExplanation {
        parents: parents.collect::<Result<_, _>>()?,
        report: Some(report(crawl, url, Some(reasons.known), now, trouble)?),
        order: reasons.order.to_owned(),
        combine: reasons.combine.name().to_owned(),
        epoch: reasons.epoch,
        rescoring: reasons.is_rescoring,
        leased_priority: reasons.leased_priority.map(f64::from),
    })
}

fn parent(
    crawl: &Handle,
    at: Reference,
    said: Option<&Explanation>,
    spec: &FeatureSpec,
    top: usize,
) -> Result<v1::ParentExplanation, StoreFailure> {
    let store = crawl.store();
    let event = store.event(at.seq)?;
    let (Some(said), Some(Event::Page(booking))) = (said, event) else {
        return Ok(v1::ParentExplanation {
            url: store.link_url(at)?.as_str().to_owned(),
            link: at.link.saturating_add(1),
            ..Default::default()
        });
    };
    let page = store.page(at.seq)?;
    let place = at.link as usize;
    let class = class_of(crawl, &booking);
    let names = LinkNames::new(&page, class.as_deref(), place, spec);
    let (features, others) = named(said, &names, top);
    let link = page.links.get(place);
    Ok(v1::ParentExplanation {
        found_on: booking.lease.url.as_str().to_owned(),
        url: link.map_or(String::new(), |link| link.target.as_str().to_owned()),
        link: at.link.saturating_add(1),
        links: u32::try_from(page.links.len()).unwrap_or(u32::MAX),
        anchor: link.map_or(String::new(), |link| anchor(&page, link)),
        inside_of: link.map_or(Vec::new(), |link| link.tag_path.clone()),
        score: f64::from(said.score),
        features,
        others: others.0,
        others_weight: others.1,
    })
}

fn class_of(crawl: &Handle, booking: &PageBooking) -> Option<String> {
    let (class, _) = booking.judgement.best.first()?;
    crawl.class_names().get(usize::from(*class)).cloned()
}

fn anchor(page: &Page, link: &Link) -> String {
    let leaves = link.first_leaf as usize..=link.last_leaf as usize;
    let leaves = leaves.filter(|leaf| *leaf < page.leaf_ends.len());
    let words = leaves.flat_map(|leaf| page.leaf_words(leaf));
    let words = words.filter_map(|word| page.vocabulary.get(*word as usize));
    let words: Vec<&str> = words
        .map(String::as_str)
        .take(ANCHOR_WORDS_MAX + 1)
        .collect();
    match words.get(..ANCHOR_WORDS_MAX) {
        Some(shown) if words.len() > ANCHOR_WORDS_MAX => format!("{} ..", shown.join(" ")),
        _ => words.join(" "),
    }
}

/// The parts by name, the largest first; beyond `top` of them, their number and sum.
fn named(
    said: &Explanation,
    names: &LinkNames,
    top: usize,
) -> (Vec<v1::FeatureWeight>, (u32, f64)) {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (feature, part) in &said.parts {
        let name = match feature {
            FeatureRef::Number(name) => (*name).to_owned(),
            FeatureRef::Key(key) => names
                .name(*key)
                .unwrap_or_else(|| format!("feature {key:016x}")),
        };
        *sums.entry(name).or_default() += f64::from(*part);
    }
    sums.retain(|_, sum| *sum != 0.0);
    let mut all: Vec<(String, f64)> = sums.into_iter().collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let rest = match top {
        0 => Vec::new(),
        top => all.split_off(top.min(all.len())),
    };
    let others = (
        u32::try_from(rest.len()).unwrap_or(u32::MAX),
        rest.iter().map(|(_, weight)| weight).sum(),
    );
    let features = all.into_iter();
    let features = features.map(|(name, weight)| v1::FeatureWeight { name, weight });
    (features.collect(), others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_name_are_one_and_the_rest_is_added_up() {
        let said = Explanation {
            score: 0.75,
            parts: vec![
                (FeatureRef::Number("a"), 0.5),
                (FeatureRef::Number("b"), -2.0),
                (FeatureRef::Number("c"), 0.0),
                (FeatureRef::Number("a"), 2.0),
                (FeatureRef::Key(7), 0.25),
            ],
        };
        let names = LinkNames::new(&Page::default(), None, 0, &FeatureSpec::default());
        let (features, others) = named(&said, &names, 1);
        assert_eq!((features[0].name.as_str(), features[0].weight), ("a", 2.5));
        assert_eq!((features.len(), others), (1, (2, -1.75)));
        let (all, others) = named(&said, &names, 0);
        let shown: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(shown, ["a", "b", "feature 0000000000000007"]);
        assert_eq!(others, (0, 0.0));
    }
}
