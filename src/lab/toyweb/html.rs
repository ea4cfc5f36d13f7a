//! A page as HTML: three layouts, by host.

use std::fmt::Write;

use rand::RngExt;

use crate::clock::{Chance, chance};

use super::links::{Block, BlockKind, Link};
use super::text::Mixture;
use super::{ToyKind, ToyPage, ToyWeb};

impl ToyWeb {
    /// The bytes of `page`; the same each time.
    pub(super) fn html_of(&self, page: &ToyPage) -> String {
        let rng = chance(self.seed, &format!("toy web: text of {}", page.url));
        let mut writer = Writer {
            web: self,
            page,
            mixture: Mixture::default(),
            rng,
            out: String::new(),
        };
        writer.mixture = writer.draw_mixture();
        writer.page();
        writer.out
    }
}

/// Writes one page.
struct Writer<'a> {
    web: &'a ToyWeb,
    page: &'a ToyPage,
    mixture: Mixture,
    rng: Chance,
    out: String,
}

impl<'a> Writer<'a> {
    /// Most pages keep to their topic, one in eight strays far into another.
    fn draw_mixture(&mut self) -> Mixture {
        let lexicon = &self.web.lexicon;
        let strays = self.rng.random_range(0..8) == 0;
        let other = match self.page.kind {
            ToyKind::Hub => self.page.other_topic_at,
            _ => lexicon.draw(|topic| lexicon.topics[topic].share, &mut self.rng),
        };
        let (topic_percent, other_percent) = match (self.page.kind, strays) {
            (ToyKind::Front | ToyKind::About | ToyKind::Listing, _) => (28, 8),
            (ToyKind::Hub, _) => (22, 14),
            (_, true) => (22, 16),
            (_, false) => (30, 6),
        };
        Mixture {
            topic: self.page.topic_at,
            topic_percent,
            other,
            other_percent,
        }
    }

    fn page(&mut self) {
        let host = &self.web.hosts[self.page.host].title;
        let (title, host) = (escaped(&self.page.title), escaped(host));
        self.put(&format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title} - {host}</title>\n\
             <style>body {{ max-width: 60em }} .box a {{ color: navy }}</style>\n\
             <script>var visits = 1; if (visits < 2) {{ visits += 1; }}</script>\n\
             </head>\n<body>\n\
             <header><a href=\"/\"><img src=\"/logo.png\" alt=\"{host}\"></a></header>\n"
        ));
        self.blocks(BlockKind::Navigation);
        match self.page.host % 3 {
            0 => self.main_then_box(),
            1 => self.box_then_main(),
            _ => self.two_columns(),
        }
        self.put(&format!(
            "<footer><p>&copy; {host}, run by volunteers. <a href=\"#top\">Top</a>\n\
             <a href=\"mailto:office@example.org\">Write to us</a></p></footer>\n\
             </body>\n</html>\n"
        ));
    }

    fn main_then_box(&mut self) {
        self.put("<main>\n");
        self.main();
        self.put("</main>\n");
        self.blocks(BlockKind::Around);
    }

    fn box_then_main(&mut self) {
        self.put("<aside>\n");
        self.blocks(BlockKind::Around);
        self.put("</aside>\n<div id=\"content\">\n");
        self.main();
        self.put("</div>\n");
    }

    /// As pages were laid out in 1999.
    fn two_columns(&mut self) {
        self.put("<table width=\"100%\"><tr><td valign=\"top\">\n");
        self.main();
        self.put("</td>\n<td valign=\"top\" bgcolor=\"#eeeeee\">\n");
        self.blocks(BlockKind::Around);
        self.put("</td></tr></table>\n");
    }

    fn main(&mut self) {
        let title = escaped(&self.page.title);
        self.put(&format!("<h1>{title}</h1>\n"));
        let paragraphs = match self.page.kind {
            ToyKind::Article | ToyKind::Private | ToyKind::Example => self.rng.random_range(3..=6),
            ToyKind::About => 3,
            ToyKind::Hub | ToyKind::Front | ToyKind::Listing => 2,
        };
        let mut inline = self.inline_links();
        for paragraph in 0..paragraphs {
            if paragraph == 2 {
                self.aside_of_facts();
            }
            self.paragraph(inline.next());
        }
        for link in inline {
            self.paragraph(Some(link));
        }
        self.blocks(BlockKind::Related);
        self.blocks(BlockKind::Table);
    }

    /// Two to four sentences, with a link in the middle of them if there is one.
    fn paragraph(&mut self, link: Option<&Link>) {
        let sentences = self.rng.random_range(2..=4);
        let link_after = self.rng.random_range(0..sentences);
        self.put("<p>");
        for sentence in 0..sentences {
            let words = self.rng.random_range(7..=14);
            let text = self.sentence(words);
            self.put(&text);
            if let (Some(link), true) = (link, sentence == link_after) {
                let lead = self.sentence(3);
                self.put(&format!(" {} ", lead.trim_end_matches('.')));
                self.anchor(link);
                self.put(".");
            }
            self.put(if sentence + 1 == sentences { "" } else { "\n" });
        }
        self.put("</p>\n");
    }

    /// A list or a table of words, under a heading of its own.
    fn aside_of_facts(&mut self) {
        let heading = self.sentence(3);
        self.put(&format!("<h2>{}</h2>\n", heading.trim_end_matches('.')));
        let rows = self.rng.random_range(2..=4);
        if self.rng.random_range(0..2) == 0 {
            self.put("<ul>\n");
            for _ in 0..rows {
                let item = self.sentence(4);
                self.put(&format!("<li>{item}</li>\n"));
            }
            self.put("</ul>\n");
        } else {
            self.put("<table border=\"1\">\n");
            for row in 1..=rows {
                let (name, value) = (self.sentence(2), row * self.rng.random_range(2..40));
                self.put(&format!("<tr><th>{name}</th><td>{value}</td></tr>\n"));
            }
            self.put("</table>\n");
        }
    }

    fn sentence(&mut self, words: usize) -> String {
        self.mixture
            .sentence(&self.web.lexicon, words, &mut self.rng)
    }

    fn blocks(&mut self, kind: BlockKind) {
        let page = self.page;
        for block in page.blocks.iter().filter(|block| block.kind == kind) {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        let heading = escaped(&block.heading);
        let (open, before, after, close) = match block.kind {
            BlockKind::Navigation => (
                "<nav class=\"site-nav\"><ul>",
                "<li>",
                "</li>",
                "</ul></nav>",
            ),
            BlockKind::Related => ("<ul class=\"related\">", "<li>", "</li>", "</ul>"),
            BlockKind::Around => ("<div class=\"box\">", "<br>", "", "</div>"),
            BlockKind::Table => ("<table>", "<tr><td>", "</td></tr>", "</table>"),
            BlockKind::Inline => ("", "", " ", ""),
        };
        if !heading.is_empty() {
            self.put(&format!("<h3>{heading}</h3>\n"));
        }
        self.put(&format!("{open}\n"));
        for link in &block.links {
            self.put(before);
            self.anchor(link);
            self.put(&format!("{after}\n"));
        }
        self.put(&format!("{close}\n"));
    }

    fn anchor(&mut self, link: &Link) {
        let (href, text) = (escaped(&link.href), escaped(&link.text));
        // Writing to a String cannot fail.
        let _ = write!(self.out, "<a href=\"{href}\">{text}</a>");
    }

    fn inline_links(&self) -> impl Iterator<Item = &'a Link> + use<'a> {
        let blocks = self.page.blocks.iter();
        let inline = blocks.filter(|block| block.kind == BlockKind::Inline);
        inline.flat_map(|block| &block.links)
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }
}

/// `text` as it may stand in an element or between double quotes.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
