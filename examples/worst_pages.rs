//! What the worst pages cost: processor time and peak memory of one process a page.
//!
//! `cargo run --release --example worst_pages`

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::Command;

use apprentice::page::{DocumentKind, Page, PageLimits, PageSource};
use apprentice::url::CanonicalUrl;

/// A name, and how many bytes of it.
const PAGES: &[(&str, usize)] = &[
    ("nested-div", 1 << 20),
    ("nested-b", 1 << 20),
    ("nested-table", 1 << 20),
    ("nested-svg", 1 << 20),
    ("misnested-b-i", 1 << 20),
    ("formatting-paragraphs", 1 << 20),
    ("attributes", 1 << 20),
    ("attributes-of-body", 1 << 20),
    ("comment", 1 << 20),
    ("unclosed-quote", 1 << 20),
    ("links", 1 << 20),
    ("foster-parented", 1 << 20),
    ("select", 1 << 20),
    ("entities", 1 << 20),
    ("text", 100 << 20),
];

fn page(name: &str, bytes: usize) -> String {
    let repeat = |part: &str| part.repeat(bytes / part.len());
    let numbered = |start: &str, part: &dyn Fn(usize) -> String| {
        let mut html = start.to_owned();
        for n in 0.. {
            if html.len() >= bytes {
                break;
            }
            html += &part(n);
        }
        html
    };
    match name {
        "nested-div" => repeat("<div>"),
        "nested-b" => repeat("<b>"),
        "nested-table" => repeat("<table><td>"),
        "nested-svg" => repeat("<svg><foreignObject>"),
        "misnested-b-i" => repeat("<b><i>x</b>y<p></i>"),
        "formatting-paragraphs" => {
            let fonts = (0..400).fold(String::new(), |mut html, n| {
                let _ = write!(html, "<font color=c{n}>");
                html
            });
            fonts + &"</p><p>x".repeat(bytes / 8)
        }
        "attributes" => numbered("<a href=x", &|n| format!(" n{n}")) + ">text</a>",
        "attributes-of-body" => numbered("<p>", &|n| format!("<body n{n}>")),
        "comment" => "<!--".to_owned() + &repeat("x -"),
        "unclosed-quote" => "<a href=\"".to_owned() + &repeat("x <p> "),
        "links" => numbered("", &|n| format!("<a href={n}>")),
        "foster-parented" => "<table>".to_owned() + &repeat("<a href=x>x<tr>"),
        "select" => repeat("<select><option>"),
        "entities" => repeat("&notin;&#1114111;"),
        _ => repeat("All that a page says in words. "),
    }
}

/// Processor time of this process so far, to 10 ms (proc(5): utime and stime, in ticks of 1/100 s).
fn processor_ms() -> Result<u64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no /proc/self/stat")?;
    let ticks: Result<Vec<u64>, _> = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect();
    Ok(ticks?.iter().sum::<u64>() * 10)
}

/// Reads one page and prints what it cost.
fn read(name: &str, bytes: usize) -> Result<(), Box<dyn std::error::Error>> {
    let html = page(name, bytes);
    let url = CanonicalUrl::parse("http://h.test/dir/page")?;
    let source = PageSource {
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        body: html.as_bytes(),
    };
    let start = processor_ms()?;
    let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
    let ms = processor_ms()? - start;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .unwrap_or_default()
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    writeln!(
        io::stdout(),
        "{name:22} {:4} MB {ms:6} ms {:5} MiB {:6} leaves {:5} links{}",
        bytes >> 20,
        kib >> 10,
        page.leaf_ends.len(),
        page.links.len(),
        if page.flattened { ", flattened" } else { "" }
    )?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(wanted) = std::env::args().nth(1) {
        let known = PAGES.iter().find(|(name, _)| *name == wanted);
        let (name, bytes) = known.ok_or("no such page")?;
        return read(name, *bytes);
    }
    let program = std::env::current_exe()?;
    for (name, _) in PAGES {
        let status = Command::new(&program).arg(name).status()?;
        if !status.success() {
            return Err(format!("{name}: {status}").into());
        }
    }
    Ok(())
}
