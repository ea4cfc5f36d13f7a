//! `apprentice archive info --charsets`

use std::collections::BTreeMap;

use serde::Serialize;

use crate::archive::{Archive, ArchiveError};
use crate::cli::output::table;
use crate::cli::words::count;
use crate::page::{CharsetWay, DocumentKind, Page, PageSource};

/// Pages whose character set was found in the same way and is the same.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    way: &'static str,
    charset: &'static str,
    pages: u64,
    /// Of these, the ones with bytes that mean nothing in it.
    malformed: u64,
    /// One of those, or of all if there is none.
    example: String,
}

/// Reads every page of an archive; those that are no page are left out. Blocks.
pub(super) fn of_archive(archive: &Archive) -> Result<Vec<Row>, ArchiveError> {
    let mut rows: BTreeMap<(CharsetWay, &str), Row> = BTreeMap::new();
    for url in archive.urls() {
        let Some(answer) = archive.get(&url)? else {
            continue;
        };
        let content_type = answer.content_type.as_deref();
        let Some(kind) = DocumentKind::of(content_type, &answer.body) else {
            continue;
        };
        let source = PageSource {
            url: &url,
            content_type,
            body: &answer.body,
        };
        let charset = Page::charset_of(&source, kind);
        let row = rows.entry((charset.way, charset.name)).or_insert(Row {
            way: charset.way.name(),
            charset: charset.name,
            pages: 0,
            malformed: 0,
            example: String::new(),
        });
        row.pages += 1;
        if row.example.is_empty() || charset.is_malformed && row.malformed == 0 {
            url.as_str().clone_into(&mut row.example);
        }
        row.malformed += u64::from(charset.is_malformed);
    }
    Ok(rows.into_values().collect())
}

/// As a table for people.
pub(super) fn render(rows: Vec<Row>) -> String {
    let rows = rows.into_iter().map(|row| {
        vec![
            row.way.to_owned(),
            row.charset.to_owned(),
            count(row.pages),
            count(row.malformed),
            row.example,
        ]
    });
    table(
        &["FOUND BY", "CHARSET", "PAGES", "MALFORMED", "EXAMPLE"],
        rows,
    )
}
