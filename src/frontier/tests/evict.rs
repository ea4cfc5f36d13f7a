//! A frontier with a bound.

use std::cmp::Reverse;

use super::*;

fn bounded(max: u64) -> Crawl {
    Crawl::new(FrontierParams {
        links_max: Some(max),
        delay: Duration::ZERO,
        ..params()
    })
}

impl Crawl {
    /// Drops what is too much; the URLs, worst first.
    fn evict(&mut self) -> Vec<String> {
        let links = self.frontier.surplus();
        let names = links.iter().map(|id| {
            let url = self.urls[id].as_str();
            url.trim_start_matches("http://").replacen(".test", "", 1)
        });
        let names = names.collect();
        let at = self.now;
        self.book(Event::Evicted(EvictedEvent { links, at }));
        names
    }
}

#[test]
fn the_least_promising_links_go_and_of_equal_ones_the_later() {
    let mut crawl = bounded(3);
    crawl.seed(&["a/1", "a/2"], 1.0);
    crawl.seed(&["b/1"], -1.0);
    assert_eq!(crawl.evict(), Vec::<String>::new());
    crawl.seed(&["c/1", "c/2"], 1.0);
    assert_eq!(crawl.evict(), ["b/1", "c/2"]);
    let seq = Seq(crawl.log.len() as u64);
    let evicted = LinkState::Refused(Refusal::Evicted, seq);
    assert_eq!(crawl.state("b/1"), Some(evicted));
    let counts = crawl.frontier.counts(crawl.now);
    assert_eq!((counts.waiting, counts.refused), (3, 2));
    crawl.assert_equals_its_log();
    assert_eq!(crawl.drain(), ["a/1", "a/2", "c/1"]);
}

#[test]
fn a_link_that_went_may_return_and_one_on_its_way_does_not_go() {
    let mut crawl = bounded(1);
    crawl.seed(&["a/1"], -5.0);
    let lease = crawl.lease();
    crawl.seed(&["b/1", "c/1"], 1.0);
    assert_eq!(crawl.evict(), ["c/1"]);
    assert_eq!(crawl.state("a/1"), Some(LinkState::Leased));
    let seq = crawl.page(lease, &[("c/1", 9.0, None)]);
    assert_eq!(crawl.evict(), ["b/1"]);
    let back = crawl.waiting("c/1");
    assert_eq!((back.references, back.parents), (vec![at(seq.0, 0)], 1));
    crawl.assert_equals_its_log();
    assert_eq!(crawl.drain(), ["c/1"]);
}

#[test]
fn of_many_links_just_the_worst_go() {
    let mut crawl = bounded(20_000);
    let mut priorities = Vec::new();
    for number in 0..20_001_u32 {
        // Each priority twice, in an order that means nothing.
        let priority = (number * 7_919 % 20_011 / 2) as f32;
        let name = format!("h{}/{number}", number % 50);
        crawl.seed(&[&name], priority);
        priorities.push((priority, Reverse(number), name));
    }
    priorities.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let worst = priorities.iter().map(|(_, _, name)| name.as_str());
    let gone = crawl.evict();
    assert_eq!(gone.len(), 313, "one, and a sixty-fourth");
    assert!(gone.iter().eq(worst.take(gone.len())));
    assert!(crawl.evict().is_empty());
}
