//! Writes a dump in DMOZ's manner, with its known faults, of any size: to measure the readers with.
//!
//! `cargo run --release --example dmoz_dump -- DIR [TOPICS] [URLS] [SEED] [gz]` writes
//! `structure.rdf.u8` and `content.rdf.u8` (with `.gz`, compressed) into DIR. All names, titles and
//! descriptions are made up of syllables. Of each thousand pages five have a fault: a control
//! character, a byte that is no UTF-8, a bare ampersand, a link without its page, a page without a
//! topic; two have the URL of the page before, under another topic or the same; and a few links to
//! narrower topics lead back up.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use apprentice::clock::{Chance, chance};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::RngExt;

const TOPS: [&str; 15] = [
    "Arts",
    "Business",
    "Computers",
    "Games",
    "Health",
    "Home",
    "Kids_and_Teens",
    "News",
    "Recreation",
    "Reference",
    "Regional",
    "Science",
    "Shopping",
    "Society",
    "Sports",
];
const SYLLABLES: [&str; 24] = [
    "ka", "ro", "mi", "ten", "sul", "bra", "vo", "len", "dis", "pa", "gor", "ni", "fer", "qua",
    "lo", "stin", "me", "ral", "tu", "cho", "ban", "del", "wi", "ox",
];
const HEAD: &str = "<?xml version='1.0' encoding='UTF-8' ?>\n<RDF xmlns:r='http://www.w3.org/TR/RDF/' \
    xmlns:d='http://purl.org/dc/elements/1.0/' xmlns='http://dmoz.org/rdf'>\n";
const DEPTH_MAX: usize = 12;

/// A topic: its path below `Top`, the topics under it, how often the random walk meets it.
struct Topic {
    path: String,
    depth: usize,
    under: Vec<usize>,
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| -> anyhow::Result<u64> {
        let arg = args.get(at).map(|arg| arg.parse());
        Ok(arg.transpose().context("a number")?.unwrap_or(default))
    };
    let folder = args.first().context("DIR [TOPICS] [URLS] [SEED] [gz]")?;
    let (topics, urls) = (number(1, 270_000)?, number(2, 1_700_000)?);
    let mut chance = chance(number(3, 1)?, "example/dmoz-dump");
    let gzip = args.get(4).is_some_and(|arg| arg == "gz");
    let tree = tree(usize::try_from(topics)?, &mut chance);
    write(folder, "structure.rdf.u8", gzip, |out| {
        structure(&tree, out, &mut chance)
    })?;
    write(folder, "content.rdf.u8", gzip, |out| {
        content(&tree, urls, out, &mut chance)
    })
}

fn write(
    folder: &str,
    name: &str,
    gzip: bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let path: PathBuf = Path::new(folder).join(if gzip {
        format!("{name}.gz")
    } else {
        name.to_owned()
    });
    let mut file = BufWriter::new(File::create(&path)?);
    if gzip {
        let mut encoder = GzEncoder::new(&mut file, Compression::fast());
        fill(&mut encoder)?;
        encoder.finish()?;
    } else {
        fill(&mut file)?;
    }
    file.flush()?;
    Ok(())
}

/// Topics under the tops, each below one that was there before, few of them deep.
fn tree(count: usize, chance: &mut Chance) -> Vec<Topic> {
    let mut tree: Vec<Topic> = Vec::with_capacity(count);
    for number in 0..count {
        if let Some(top) = TOPS.get(number) {
            tree.push(Topic {
                path: (*top).to_owned(),
                depth: 1,
                under: Vec::new(),
            });
            continue;
        }
        let above = loop {
            let above = chance.random_range(0..number);
            if tree[above].depth < DEPTH_MAX {
                break above;
            }
        };
        let mut name = word(chance);
        name[..1].make_ascii_uppercase();
        let path = format!("{}/{name}_{number}", tree[above].path);
        tree[above].under.push(number);
        tree.push(Topic {
            path,
            depth: tree[above].depth + 1,
            under: Vec::new(),
        });
    }
    tree
}

fn structure(tree: &[Topic], out: &mut dyn Write, chance: &mut Chance) -> io::Result<()> {
    writeln!(out, "{HEAD}<Topic r:id=\"Top\">\n<catid>1</catid>")?;
    for top in &TOPS[..TOPS.len().min(tree.len())] {
        writeln!(out, "  <narrow r:resource=\"Top/{top}\"/>")?;
    }
    writeln!(out, "</Topic>")?;
    for (number, topic) in tree.iter().enumerate() {
        let (path, name) = (
            &topic.path,
            topic.path.rsplit('/').next().unwrap_or_default(),
        );
        writeln!(
            out,
            "<Topic r:id=\"Top/{path}\">\n  <catid>{}</catid>",
            number + 2
        )?;
        writeln!(
            out,
            "  <d:Title>{name}</d:Title>\n  <lastUpdate>2011-01-01 00:00:00</lastUpdate>"
        )?;
        writeln!(
            out,
            "  <d:Description>{}.</d:Description>",
            words(12, chance)
        )?;
        for under in &topic.under {
            writeln!(out, "  <narrow r:resource=\"Top/{}\"/>", tree[*under].path)?;
        }
        // Back to the root of its branch.
        if topic.depth > 2 && chance.random_ratio(1, 50_000) {
            let top = path.split('/').next().unwrap_or_default();
            writeln!(out, "  <narrow2 r:resource=\"Top/{top}\"/>")?;
        }
        let other = &tree[chance.random_range(0..tree.len())].path;
        writeln!(
            out,
            "  <symbolic r:resource=\"Link:Top/{other}\"/>\n</Topic>"
        )?;
    }
    writeln!(out, "</RDF>")
}

fn content(tree: &[Topic], urls: u64, out: &mut dyn Write, chance: &mut Chance) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    let mut left = urls;
    for (number, topic) in tree.iter().enumerate() {
        // Many topics are small, few are large; the last one takes what is left.
        let topics_left = (tree.len() - number) as u64;
        let mean = left / topics_left.max(1);
        let size = match topics_left {
            1 => left,
            _ => skewed(mean, chance).min(left),
        };
        left -= size;
        let pages: Vec<String> = (0..size).map(|_| url(chance)).collect();
        writeln!(
            out,
            "<Topic r:id=\"Top/{}\">\n  <catid>{}</catid>",
            topic.path,
            number + 2
        )?;
        for page in &pages {
            writeln!(out, "  <link r:resource=\"{page}\"></link>")?;
        }
        if size > 0 && chance.random_ratio(1, 150) {
            writeln!(out, "  <link r:resource=\"{}\"></link>", url(chance))?;
        }
        writeln!(out, "</Topic>")?;
        for page in &pages {
            external_page(page, &topic.path, out, chance)?;
            if chance.random_ratio(1, 1_000) {
                let other = &tree[chance.random_range(0..tree.len())].path;
                external_page(page, other, out, chance)?;
            }
            if chance.random_ratio(1, 1_000) {
                external_page(page, &topic.path, out, chance)?;
            }
        }
    }
    writeln!(out, "</RDF>")
}

/// A size with that mean: the square of an even number has a third of its greatest for a mean.
fn skewed(mean: u64, chance: &mut Chance) -> u64 {
    let even: f64 = chance.random();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and three times the mean"
    )]
    let size = (3.0 * mean as f64 * even * even + 0.5) as u64;
    size
}

fn external_page(
    url: &str,
    topic: &str,
    out: &mut dyn Write,
    chance: &mut Chance,
) -> io::Result<()> {
    let count = chance.random_range(2..6);
    let mut title = words(count, chance);
    let mut description = words(chance.random_range(8..25), chance);
    match chance.random_range(0..1_000) {
        0 => title.push('\u{b}'),
        1 => title.push_str(" & Co"),
        _ => {}
    }
    write!(out, "<ExternalPage about=\"{url}\">\n  <d:Title>{title}")?;
    if chance.random_ratio(1, 1_000) {
        out.write_all(b" caf\xe9")?;
    }
    description.push_str(" &quot;quoted&quot; &amp; more.");
    writeln!(
        out,
        "</d:Title>\n  <d:Description>{description}</d:Description>"
    )?;
    if !chance.random_ratio(1, 1_000) {
        writeln!(out, "  <topic>Top/{topic}</topic>")?;
    }
    writeln!(out, "</ExternalPage>")
}

fn url(chance: &mut Chance) -> String {
    let (host, path) = (word(chance) + &word(chance), word(chance));
    let number = chance.random_range(0..10_000_000_u32);
    format!("http://www.{host}.example/{path}/{number}.html")
}

fn words(count: usize, chance: &mut Chance) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let between = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{between}{}", word(chance));
    }
    text
}

fn word(chance: &mut Chance) -> String {
    let count = chance.random_range(2..4);
    (0..count)
        .map(|_| SYLLABLES[chance.random_range(0..SYLLABLES.len())])
        .collect()
}
