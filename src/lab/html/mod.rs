//! A report as one HTML file that can be sent to anyone: nothing is loaded from elsewhere.

mod chart;
mod scale;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(in crate::lab) use chart::{Curve, Figure};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// See the module.
#[derive(Clone, Debug, Default)]
pub(in crate::lab) struct Html {
    /// Its title.
    pub(in crate::lab) title: String,
    /// What is wrong with it, if something is.
    pub(in crate::lab) warning: Option<String>,
    /// What a reader is told first.
    pub(in crate::lab) lead: Vec<String>,
    /// Its parts.
    pub(in crate::lab) parts: Vec<Part>,
    /// What it was made with: names and values.
    pub(in crate::lab) made_with: Vec<(String, String)>,
    /// The exact specification, as text.
    pub(in crate::lab) spec: String,
}

/// A part of a report under a heading.
#[derive(Clone, Debug, Default)]
pub(in crate::lab) struct Part {
    /// The heading.
    pub(in crate::lab) title: String,
    /// Its contents.
    pub(in crate::lab) blocks: Vec<Block>,
}

/// What a part holds.
#[derive(Clone, Debug)]
pub(in crate::lab) enum Block {
    /// A paragraph.
    Words(String),
    /// Curves.
    Figure(Figure),
    /// A table.
    Table(Table),
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(in crate::lab) struct Table {
    /// What it shows.
    pub(in crate::lab) caption: String,
    /// The names of its columns; the first is that of the rows.
    pub(in crate::lab) head: Vec<String>,
    /// The rows: a name and the cells.
    pub(in crate::lab) rows: Vec<(String, Vec<Cell>)>,
}

/// A cell: a number with something small beside it.
#[derive(Clone, Debug, Default)]
pub(in crate::lab) struct Cell {
    /// What it says.
    pub(in crate::lab) text: String,
    /// Its spread or the like.
    pub(in crate::lab) beside: String,
    /// It is the best of its column.
    pub(in crate::lab) is_best: bool,
}

impl Cell {
    /// A cell that says `text` alone.
    pub(in crate::lab) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Marks the best cell of each column by its value; ties are all marked, a column without two values
/// is left alone.
pub(in crate::lab) fn mark_best(
    rows: &mut [(String, Vec<Cell>)],
    column: usize,
    values: &[Option<f64>],
    is_less_better: bool,
) {
    let known = || values.iter().flatten().copied();
    if known().count() < 2 {
        return;
    }
    let best = if is_less_better {
        known().fold(f64::INFINITY, f64::min)
    } else {
        known().fold(f64::NEG_INFINITY, f64::max)
    };
    for ((_, cells), value) in rows.iter_mut().zip(values) {
        if let (Some(cell), Some(value)) = (cells.get_mut(column), value) {
            cell.is_best = value.total_cmp(&best).is_eq();
        }
    }
}

impl Html {
    /// The file.
    pub(in crate::lab) fn render(&self) -> String {
        let mut figures = 0;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        h1 { (self.title) }
                        @if let Some(warning) = &self.warning {
                            p.warning role="alert" { (warning) }
                        }
                        @for words in &self.lead { p { (words) } }
                        @if self.parts.len() > 2 { (self.contents()) }
                        @for (at, part) in self.parts.iter().enumerate() {
                            section id=(anchor(at)) {
                                h2 { (part.title) }
                                @for block in &part.blocks { (block.render(&mut figures)) }
                            }
                        }
                        section {
                            h2 { "How it was made" }
                            dl.made {
                                @for (name, value) in &self.made_with {
                                    dt { (name) }
                                    dd { (value) }
                                }
                            }
                            h3 { "Specification" }
                            pre { (self.spec) }
                        }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }

    fn contents(&self) -> Markup {
        html! {
            nav {
                @for (at, part) in self.parts.iter().enumerate() {
                    a href=(format!("#{}", anchor(at))) { (part.title) }
                    " "
                }
            }
        }
    }
}

fn anchor(part: usize) -> String {
    format!("part-{}", part + 1)
}

impl Block {
    fn render(&self, figures: &mut usize) -> Markup {
        match self {
            Self::Words(words) => html! { p { (words) } },
            Self::Figure(figure) => {
                *figures += 1;
                figure.render(*figures)
            }
            Self::Table(table) => table.render(),
        }
    }
}

impl Table {
    fn render(&self) -> Markup {
        html! {
            p.caption { (self.caption) }
            div.wide tabindex="0" {
                table aria-label=(self.caption) {
                    thead { tr {
                        @for name in &self.head { th scope="col" { (name) } }
                    } }
                    tbody {
                        @for (name, cells) in &self.rows {
                            tr {
                                th scope="row" { (name) }
                                @for cell in cells {
                                    td.best[cell.is_best] {
                                        (cell.text)
                                        @if !cell.beside.is_empty() { " " small { (cell.beside) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
