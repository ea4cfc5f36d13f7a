//! What stands over a link: headings, and the heads of table columns and rows.
//!
//! The walk tells of each element as it begins and ends. Tables are read as they are written: a cell
//! counts for as many columns as its `colspan` says, and cells that reach down from a row above
//! (`rowspan`) are not followed.

use html5ever::local_name;

use super::arena::Element;
use super::{ATTRIBUTES_MAX, LeafSpan, LinkContext};

/// A cell of more leaves is no head: the table is there for the layout.
const HEAD_LEAVES_MAX: u32 = 8;
/// The HTML standard has the same bound (4.9.11).
const COLSPAN_MAX: u32 = 1000;
/// The longest token of an attribute, in bytes.
const TOKEN_BYTES_MAX: usize = 40;

/// See the module.
#[derive(Default)]
pub(super) struct Surroundings {
    heading: Option<LeafSpan>,
    /// The tables that the walk is inside of, the innermost last.
    tables: Vec<Table>,
}

#[derive(Default)]
struct Table {
    /// Rows begun.
    rows: u32,
    /// The column of the next cell, or of the one that is open.
    column: u32,
    span: u32,
    /// The cells of the first row: first column, and leaves if it can be a head.
    heads: Vec<(u32, Option<LeafSpan>)>,
    /// The first cell of the row, when it has ended.
    row_head: Option<LeafSpan>,
}

impl Surroundings {
    /// An element begins.
    pub(super) fn enter(&mut self, element: &Element) {
        if !element.is_html {
            return;
        }
        if element.name == local_name!("table") {
            self.tables.push(Table::default());
            return;
        }
        let Some(table) = self.tables.last_mut() else {
            return;
        };
        if element.name == local_name!("tr") {
            table.rows = table.rows.saturating_add(1);
            table.column = 0;
            table.row_head = None;
        } else if is_cell(element) {
            let span = element.attribute(&local_name!("colspan"));
            let span = span.and_then(|span| span.trim().parse().ok());
            table.span = span.unwrap_or(1).clamp(1, COLSPAN_MAX);
        }
    }

    /// An element ends; its leaves are those from `first` up to, not with, `end`.
    pub(super) fn leave(&mut self, element: &Element, first: u32, end: u32) {
        if !element.is_html {
            return;
        }
        let leaves = (first < end).then(|| LeafSpan {
            first,
            last: end - 1,
        });
        match element.name {
            local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6") => self.heading = leaves.or(self.heading),
            local_name!("table") => {
                self.tables.pop();
            }
            _ if is_cell(element) => {
                if let Some(table) = self.tables.last_mut() {
                    table.end_cell(leaves.filter(|leaves| end - leaves.first <= HEAD_LEAVES_MAX));
                }
            }
            _ => {}
        }
    }

    /// What stands over a link that begins here.
    pub(super) fn of(&self, link: &Element) -> LinkContext {
        let table = self.tables.last();
        LinkContext {
            heading: self.heading,
            column_head: table.and_then(Table::column_head),
            row_head: table.and_then(|table| table.row_head),
            attributes: attributes(link),
        }
    }
}

impl Table {
    fn end_cell(&mut self, leaves: Option<LeafSpan>) {
        if self.rows <= 1 {
            self.heads.push((self.column, leaves));
        }
        if self.column == 0 {
            self.row_head = leaves;
        }
        self.column = self.column.saturating_add(self.span);
        self.span = 1;
    }

    fn column_head(&self) -> Option<LeafSpan> {
        if self.rows <= 1 {
            return None;
        }
        let behind = self
            .heads
            .partition_point(|(column, _)| *column <= self.column);
        self.heads[..behind].last().and_then(|(_, leaves)| *leaves)
    }
}

fn is_cell(element: &Element) -> bool {
    matches!(element.name, local_name!("td") | local_name!("th"))
}

fn attributes(link: &Element) -> Vec<String> {
    let attributes = [
        ("rel", local_name!("rel")),
        ("id", local_name!("id")),
        ("class", local_name!("class")),
    ];
    let mut tokens = Vec::new();
    for (name, attribute) in attributes {
        let value = link.attribute(&attribute).unwrap_or_default();
        for token in value.split_ascii_whitespace() {
            if tokens.len() == ATTRIBUTES_MAX {
                return tokens;
            }
            tokens.push(without_digits(name, token));
        }
    }
    tokens
}

/// The name of an attribute and a token of it in small letters, each number in it as `#`:
/// `menu-item-17` is one of many.
fn without_digits(name: &str, token: &str) -> String {
    let mut text = String::with_capacity(name.len() + 1 + token.len().min(TOKEN_BYTES_MAX));
    text.push_str(name);
    text.push(':');
    let head = text.len();
    for c in token.chars() {
        let c = if c.is_ascii_digit() {
            '#'
        } else {
            c.to_ascii_lowercase()
        };
        if c == '#' && text[head..].ends_with('#') {
            continue;
        }
        if text.len() - head + c.len_utf8() > TOKEN_BYTES_MAX {
            break;
        }
        text.push(c);
    }
    text
}
