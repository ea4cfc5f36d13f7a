use proptest::prelude::*;

use super::*;

fn allows(file: impl AsRef<[u8]>, path: &str) -> bool {
    let url = CanonicalUrl::parse(&format!("http://h.test{path}")).unwrap();
    RobotsRules::parse(file.as_ref()).allows(&url)
}

fn delay(file: &str) -> Option<u64> {
    let rules = RobotsRules::parse(file.as_bytes());
    rules.crawl_delay().map(|delay| delay.as_secs())
}

#[test]
fn our_group_is_found_whatever_follows_the_token() {
    for agent in [
        "apprentice",
        "Apprentice",
        "APPRENTICE/2.1",
        "apprentice/0.1 (+http://x)",
        "apprentice (bot)",
        "apprentice # us",
        "apprentice*",
    ] {
        let file = format!("User-agent: {agent}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n");
        assert!(!allows(&file, "/a"), "{agent}");
        assert!(allows(&file, "/b"), "{agent}");
    }
    for agent in [
        "apprentices",
        "apprentice-news",
        "the apprentice",
        "app",
        "apprentice_x/1",
    ] {
        let file = format!("User-agent: {agent}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n");
        assert!(allows(&file, "/a"), "{agent}");
        assert!(!allows(&file, "/b"), "{agent}");
    }
}

#[test]
fn a_crawl_delay_between_agent_lines_ends_no_group() {
    let file = "User-agent: apprentice\nCrawl-delay: 7\nUser-agent: other\nDisallow: /a\n";
    assert!(!allows(file, "/a"));
    assert_eq!(delay(file), Some(7));
    let file = "User-agent: other\nCrawl-delay: 7\nUser-agent: apprentice\nDisallow: /a\n";
    assert!(!allows(file, "/a"));
    assert_eq!(delay(file), Some(7));
    let file =
        "User-agent: apprentice\nDisallow: /a\nCrawl-delay: 7\n\nUser-agent: o\nDisallow: /b";
    assert!(!allows(file, "/a") && allows(file, "/b"));
    assert_eq!(delay(file), Some(7));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 3"), Some(3));
}

#[test]
fn a_crawl_delay_is_read_within_reason() {
    let of = |value: &str| delay(&format!("User-agent: *\nCrawl-delay: {value}\n"));
    assert_eq!(of("2.5"), Some(2));
    assert_eq!(of("1e9"), Some(86_400));
    for nonsense in ["-1", "NaN", "inf", "soon", ""] {
        assert_eq!(of(nonsense), None, "{nonsense}");
    }
}

#[test]
fn marks_line_ends_and_foreign_bytes_are_tolerated() {
    let rules = "User-agent: *\nDisallow: /a\nDisallow: /b\n";
    for ends in ["\n", "\r\n", "\r", "\r\r\n", "\n\r"] {
        let file = rules.replace('\n', ends);
        assert!(!allows(&file, "/a") && !allows(&file, "/b"), "{ends:?}");
        assert!(allows(&file, "/c"), "{ends:?}");
    }
    assert!(!allows(format!("\u{feff}{rules}"), "/a"));
    assert!(!allows(format!("\u{feff}\r\n{rules}"), "/a"));
    let latin1 =
        b"# caf\xe9\r\nUser-agent: caf\xe9\rDisallow: /\n\nUser-agent: *\nDisallow: /caf\xe9\n";
    assert!(!allows(latin1, "/caf%E9"));
    assert!(allows(latin1, "/other"));
    assert!(allows([0xff, 0xfe, 0, b'x', 0], "/"));
    assert!(allows("", "/"));
    assert!(allows("<html><body>Not found: disallow</body></html>", "/"));
}

#[test]
fn the_rules_of_rfc_9309_hold() {
    let file = "User-agent: *\nDisallow: /dir/\nAllow: /dir/page\nDisallow: /*.pdf$\nDisallow:\n";
    assert!(!allows(file, "/dir/x"));
    assert!(allows(file, "/dir/page"));
    assert!(!allows(file, "/x/y.pdf"));
    assert!(allows(file, "/x/y.pdf?v=1"));
    assert!(allows("User-agent: *\nDisallow: /\n", "/robots.txt"));
    assert!(!allows("User-agent: *\nDisallow: /~x/\n", "/%7Ex/"));
    assert!(allows("Disallow: /\n", "/a"), "a rule of no group");
    // All groups of ours are one, and that of * is none of them.
    let file = "User-agent: apprentice\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\n\
                User-agent: apprentice\nDisallow: /c\n";
    assert!(!allows(file, "/a") && allows(file, "/b") && !allows(file, "/c"));
}

#[test]
fn of_equally_long_rules_the_one_that_allows_decides() {
    for file in [
        "User-agent: *\nDisallow: /a\nAllow: /a\n",
        "User-agent: *\nAllow: /a\nDisallow: /a\n",
    ] {
        assert!(allows(file, "/a/b"), "{file}");
    }
}

#[test]
fn paths_are_compared_octet_by_octet() {
    // crawler-commons 389, 195, 215: Unicode as it is, marks that are meant literally, no path.
    for (rule, path, is_allowed) in [
        ("/\u{fc}ber", "/%C3%BCber", false),
        ("/%c3%bcber", "/%C3%BCber", false),
        ("/a%2Ab", "/a*b", false),
        ("/a%2Ab", "/axb", true),
        ("/a%24", "/a$", false),
        ("/a%24", "/a", true),
        ("/a%2a", "/a%2Ab", false),
        ("/a*b", "/a*b", false),
        ("/a$", "/a$", true),
        ("/a$b", "/a$b", false),
        ("/a$b$ # two", "/a$bc", true),
        ("/a$b$ # two", "/a$b", false),
        ("/a$$", "/a$", false),
        ("/a%2Fb", "/a/b", true),
        ("/?q", "?q=1", false),
        ("/Private", "/private", true),
    ] {
        let file = format!("User-agent: *\nDisallow: {rule}\n");
        assert_eq!(allows(&file, path), is_allowed, "{rule} {path}");
    }
}

#[test]
fn only_a_rule_ends_the_agents_of_a_group() {
    // crawler-commons 114, 390, 430: what stands between two agents.
    for between in [
        "\n",
        "# note\n",
        "Sitemap: http://h.test/s\n",
        "Unheard-of: x\n\n",
    ] {
        let file = format!("User-agent: apprentice\n{between}User-agent: o\nDisallow: /a\n");
        assert!(!allows(&file, "/a"), "{between:?}");
        let file =
            format!("User-agent: apprentice\n{between}Disallow: /a\n{between}Disallow: /b\n");
        assert!(!allows(&file, "/a") && !allows(&file, "/b"), "{between:?}");
    }
    // crawler-commons 590: nothing that is said to all holds for who is named.
    let file =
        "User-agent: *\nCrawl-delay: 9\nDisallow: /\n\nUser-agent: apprentice\nDisallow: /a\n";
    assert_eq!(delay(file), None);
    assert!(allows(file, "/b"));
}

#[test]
fn the_deciding_rule_and_the_sitemaps_are_told() {
    let file = b"Sitemap: http://h.test/s.xml\nSitemap: ftp://h.test/no\nUser-agent: *\n\
                 Sitemap: https://o.test/t.xml\nDisallow: /a\n";
    let rules = RobotsRules::parse(file);
    let sitemaps: Vec<_> = rules.sitemaps().iter().map(ToString::to_string).collect();
    assert_eq!(sitemaps, ["http://h.test/s.xml", "https://o.test/t.xml"]);
    let url = CanonicalUrl::parse("http://h.test/a/b").unwrap();
    assert_eq!(rules.deciding_rule(&url).as_deref(), Some("Disallow: /a"));
}

#[test]
fn what_lies_beyond_500_kib_is_not_read() {
    let filler = "# filler\n".repeat(ROBOTS_BYTES_MAX / 9 - 4);
    let inside = format!("{filler}User-agent: *\nDisallow: /\n");
    assert!(inside.len() < ROBOTS_BYTES_MAX);
    assert!(!allows(&inside, "/a"));
    let cut = format!("User-agent: *\nDisallow: /x\n{filler}Allow: /a\nDisallow: /abc\n");
    assert!(cut.len() > ROBOTS_BYTES_MAX);
    assert!(allows(&cut, "/abc") && !allows(&cut, "/x"));
}

proptest! {
    #[test]
    fn no_file_breaks_the_reader(file in proptest::collection::vec(any::<u8>(), 0..300)) {
        allows(&file, "/a?b");
    }

    /// Mending changes nothing in a file that needs no mending.
    #[test]
    fn ordinary_files_are_read_as_robotxt_reads_them(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("User-agent: *"), Just("User-agent: apprentice"), Just("User-agent: foo"),
                Just("Disallow: /a"), Just("Allow: /a/b"), Just("# note"), Just(""),
                Just("Disallow: /*c$"), Just("Sitemap: http://h.test/s"),
            ],
            0..20,
        ),
        path in "/[abc/]{0,6}",
    ) {
        let file = lines.join("\n");
        let plain = Robots::parse(file.as_bytes(), PRODUCT_TOKEN);
        prop_assert_eq!(allows(&file, &path), plain.is_allowed(&path));
    }
}
