//! Any bytes are a sitemap, which names no more than it may.
#![no_main]

use apprentice::fetch::sitemap::{SITEMAP_URLS_MAX, Sitemap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sitemap = Sitemap::parse(bytes);
    assert!(sitemap.pages.len() + sitemap.sitemaps.len() <= SITEMAP_URLS_MAX);
});
