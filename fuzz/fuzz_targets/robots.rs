//! Any bytes are a robots.txt, and every question to it has an answer.
#![no_main]

use apprentice::fetch::robots::RobotsRules;
use apprentice::url::CanonicalUrl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let rules = RobotsRules::parse(bytes);
    for path in ["", "a", "a/b?c=d", "%7Ea", "robots.txt"] {
        let url = CanonicalUrl::parse(&format!("http://h.test/{path}")).expect("a URL");
        let _ = rules.allows(&url);
    }
    let _ = (rules.crawl_delay(), rules.sitemaps());
});
