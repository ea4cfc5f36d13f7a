//! What people give as examples of one topic: lists of URLs or files, tables, folders, pages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::taxonomy::{Example, ExampleFile, ExampleFolder, ExampleTable, TableError};
use crate::url::CanonicalUrl;

/// The longest list or page, in bytes.
const BYTES_MAX: u64 = 16 << 20;
/// Files in a folder that are taken, and folders in folders.
const FILES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 16;

/// Examples, by where their pages come from.
pub(super) struct Given {
    /// URLs, with text or without.
    pub(super) table: ExampleTable,
    /// Pages in files.
    pub(super) files: ExampleFolder,
    /// Lines of lists that are neither, and why.
    pub(super) refused: Vec<(String, String)>,
}

/// Reads what `paths` name as examples of `topic`.
pub(super) fn read(paths: &[PathBuf], topic: &str) -> anyhow::Result<Given> {
    let mut given = Given {
        table: ExampleTable::default(),
        files: ExampleFolder {
            files: Vec::new(),
            outside: Vec::new(),
        },
        refused: Vec::new(),
    };
    for path in paths {
        if path.is_dir() {
            given.take_folder(path, topic, 0)?;
        } else {
            given.take_file(path, topic)?;
        }
    }
    Ok(given)
}

impl Given {
    fn take_folder(&mut self, folder: &Path, topic: &str, depth: usize) -> anyhow::Result<()> {
        anyhow::ensure!(depth < DEPTH_MAX, "{}: folders too deep", folder.display());
        let cannot = || format!("{}: cannot be read", folder.display());
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with('.') {
                paths.push(path.clone());
            }
        }
        paths.sort();
        for path in paths {
            if !path.is_dir() {
                self.take_page(&path, topic)?;
            } else if !path.is_symlink() {
                self.take_folder(&path, topic, depth + 1)?;
            }
        }
        Ok(())
    }

    fn take_page(&mut self, path: &Path, topic: &str) -> anyhow::Result<()> {
        let files = &mut self.files.files;
        anyhow::ensure!(
            files.len() < FILES_MAX,
            "more than {FILES_MAX} files of examples"
        );
        files.push(ExampleFile {
            topic: topic.to_owned(),
            path: path.to_owned(),
        });
        Ok(())
    }

    /// A page, a table or a list: what it begins with tells.
    fn take_file(&mut self, path: &Path, topic: &str) -> anyhow::Result<()> {
        let cannot = || format!("{}: cannot be read", path.display());
        let size = fs::metadata(path).with_context(cannot)?.len();
        anyhow::ensure!(
            size <= BYTES_MAX,
            "{}: {size} bytes; at most {BYTES_MAX} are read",
            path.display()
        );
        let bytes = fs::read(path).with_context(cannot)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = first else {
            anyhow::bail!("{}: no examples in it", path.display());
        };
        let columns: Vec<String> = first
            .split(',')
            .map(|name| name.trim().trim_matches('"').to_lowercase())
            .collect();
        if first.starts_with('<') {
            self.take_page(path, topic)
        } else if columns.iter().any(|name| name == "topic") {
            self.take_table(path, topic)
        } else if columns.iter().any(|name| name == "url") {
            self.take_column(path, text, topic)
        } else if is_url(first) || beside(path, first).exists() {
            self.take_list(path, text, topic)
        } else {
            // Text that is no list is a page of text.
            self.take_page(path, topic)
        }
    }

    /// A table of topics: the rows of this one.
    fn take_table(&mut self, path: &Path, topic: &str) -> anyhow::Result<()> {
        let table = ExampleTable::open(path)?;
        let others: std::collections::BTreeSet<&str> = table
            .examples
            .iter()
            .map(|row| row.topic.as_str())
            .take(1_000)
            .collect();
        let others: Vec<&str> = others.into_iter().take(10).collect();
        let none = format!(
            "{}: no row with the topic {topic:?}; it has {}",
            path.display(),
            others.join(", ")
        );
        let before = self.table.examples.len();
        let rows = table.examples.iter().filter(|row| row.topic == topic);
        self.table.examples.extend(rows.cloned());
        anyhow::ensure!(self.table.examples.len() > before, none);
        Ok(())
    }

    /// A table of one topic, without a column for it.
    fn take_column(&mut self, path: &Path, text: &str, topic: &str) -> anyhow::Result<()> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let wrong = |error: csv::Error| TableError::Row {
            path: path.to_owned(),
            line: error.position().map_or(1, csv::Position::line),
            problem: error.to_string(),
        };
        let head = reader.headers().map_err(wrong)?.clone();
        let column = |name: &str| {
            head.iter()
                .position(|column| column.trim().eq_ignore_ascii_case(name))
        };
        let columns = ["url", "title", "description", "text"].map(column);
        for row in reader.records() {
            let row = row.map_err(wrong)?;
            let field = |place: Option<usize>| {
                let field = place.and_then(|place| row.get(place));
                field.unwrap_or_default().trim().to_owned()
            };
            self.table.examples.push(Example {
                topic: topic.to_owned(),
                url: field(columns[0]),
                title: field(columns[1]),
                description: field(columns[2]),
                text: field(columns[3]),
                line: row.position().map_or(0, csv::Position::line),
            });
        }
        Ok(())
    }

    fn take_list(&mut self, path: &Path, text: &str, topic: &str) -> anyhow::Result<()> {
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let file = beside(path, line);
            if is_url(line) {
                self.table.examples.push(Example {
                    topic: topic.to_owned(),
                    url: line.to_owned(),
                    line: number,
                    ..Example::default()
                });
            } else if file.is_file() {
                self.take_page(&file, topic)?;
            } else {
                let place = format!("{}, line {number}: {line}", path.display());
                self.refused
                    .push((place, "neither a URL nor a file".to_owned()));
            }
        }
        Ok(())
    }
}

fn is_url(line: &str) -> bool {
    CanonicalUrl::parse(line).is_ok()
}

/// A path as a list names it: beside the list.
fn beside(list: &Path, line: &str) -> PathBuf {
    list.parent().unwrap_or(Path::new(".")).join(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(content: &str) -> anyhow::Result<Given> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("page.html"), "<p>finch</p>").unwrap();
        let file = folder.path().join("examples");
        fs::write(&file, content).unwrap();
        read(&[file], "birds")
    }

    fn urls(given: &Given) -> Vec<&str> {
        given
            .table
            .examples
            .iter()
            .map(|example| example.url.as_str())
            .collect()
    }

    #[test]
    fn a_list_names_urls_and_files_beside_it_and_tells_of_the_rest() {
        let given = given("# birds\nhttp://a.test/\n\npage.html\nnothing\n").unwrap();
        assert_eq!(urls(&given), ["http://a.test/"]);
        assert_eq!(given.files.files.len(), 1);
        assert!(
            given.refused[0].0.ends_with("line 5: nothing"),
            "{:?}",
            given.refused
        );
    }

    #[test]
    fn of_a_table_of_topics_the_rows_of_this_one_are_taken() {
        let table = "topic,url\nbirds,http://a.test/\nfish,http://b.test/\n";
        assert_eq!(urls(&given(table).unwrap()), ["http://a.test/"]);
        let error = given("topic,url\nfish,http://b.test/\n").err().unwrap();
        assert!(error.to_string().contains("it has fish"), "{error}");
    }

    #[test]
    fn a_table_without_topics_is_of_this_one() {
        let given = given("url,title\nhttp://a.test/,Finches\n").unwrap();
        assert_eq!(urls(&given), ["http://a.test/"]);
        assert_eq!(
            given.table.examples[0].own_text().as_deref(),
            Some("Finches")
        );
    }

    #[test]
    fn html_and_running_text_are_pages_themselves() {
        for page in ["<html><p>finch</p>", "Finches are small birds.\nThey sing."] {
            let given = given(page).unwrap();
            assert!(given.table.examples.is_empty());
            assert_eq!(given.files.files.len(), 1);
        }
        assert!(given("\n# nothing\n").is_err());
    }
}
