//! A judge that is a table: `url,topic` and columns `p_TOPIC`.
//!
//! A gain that only the guiding critic sees is no gain, so a replay is judged by this table as well:
//! by the column `p_TOPIC` where there is one, else by topic = TOPIC. It judges every URL that it
//! has, HTML or not; one that it lacks has relevance 0.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::url::{CanonicalUrl, UrlId};

/// A table of judgements.
#[derive(Debug)]
pub struct Labels {
    path: PathBuf,
    /// Names of the `p_` columns.
    columns: Vec<String>,
    topics: Vec<String>,
    rows: HashMap<UrlId, Row>,
    /// Rows whose URL cannot be crawled.
    pub skipped: u64,
}

#[derive(Debug)]
struct Row {
    topic: u32,
    probabilities: Box<[f32]>,
}

/// Why a table of labels cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// It cannot be read as CSV.
    #[error("{path}: {error}", path = .path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        error: csv::Error,
    },
    /// A column is missing.
    #[error("{path}: no column `{column}` in its head; a table of labels has url,topic and may have p_TOPIC", path = .path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// Which column.
        column: &'static str,
    },
    /// A value is no probability.
    #[error("{path}, line {line}: {value:?} in column {column} is no number from 0 to 1", path = .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// The table knows no such topic.
    #[error("{path}: no topic {topic:?}; it has {known}", path = .path.display())]
    Topic {
        /// The file.
        path: PathBuf,
        /// The topic asked for.
        topic: String,
        /// Those that there are.
        known: String,
    },
}

impl Labels {
    /// Reads a table.
    ///
    /// # Errors
    /// [`LabelsError`] names the file, and the line where one is at fault.
    pub fn open(path: &Path) -> Result<Self, LabelsError> {
        let csv = |error| LabelsError::Csv {
            path: path.to_path_buf(),
            error,
        };
        let mut reader = csv::Reader::from_path(path).map_err(csv)?;
        let head = reader.headers().map_err(csv)?.clone();
        let column = |name: &'static str| {
            let at = head.iter().position(|column| column.trim() == name);
            at.ok_or_else(|| LabelsError::Column {
                path: path.to_path_buf(),
                column: name,
            })
        };
        let (url_at, topic_at) = (column("url")?, column("topic")?);
        let judged: Vec<(usize, String)> = head
            .iter()
            .enumerate()
            .filter_map(|(at, name)| Some((at, name.trim().strip_prefix("p_")?.to_owned())))
            .collect();
        let mut labels = Self {
            path: path.to_path_buf(),
            columns: judged.iter().map(|(_, name)| name.clone()).collect(),
            topics: Vec::new(),
            rows: HashMap::new(),
            skipped: 0,
        };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for record in reader.records() {
            let record = record.map_err(csv)?;
            let line = record.position().map_or(0, csv::Position::line);
            let Ok(url) = CanonicalUrl::parse(record.get(url_at).unwrap_or_default()) else {
                labels.skipped += 1;
                continue;
            };
            let topic = record.get(topic_at).unwrap_or_default().to_owned();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let topic = *numbers.entry(topic).or_insert_with_key(|name| {
                labels.topics.push(name.clone());
                next
            });
            let probabilities = judged
                .iter()
                .map(|(at, name)| {
                    probability(path, line, name, record.get(*at).unwrap_or_default())
                })
                .collect::<Result<_, _>>()?;
            labels.rows.insert(
                url.id(),
                Row {
                    topic,
                    probabilities,
                },
            );
        }
        Ok(labels)
    }

    /// The judgements for one topic.
    ///
    /// # Errors
    /// [`LabelsError::Topic`] if the table has neither the column nor the topic.
    pub fn judge(&self, topic: &str) -> Result<TableJudge<'_>, LabelsError> {
        let column = self.columns.iter().position(|name| name == topic);
        let number = self.topics.iter().position(|name| name == topic);
        if column.is_none() && number.is_none() {
            return Err(LabelsError::Topic {
                path: self.path.clone(),
                topic: topic.to_owned(),
                known: self.topics.join(", "),
            });
        }
        Ok(TableJudge {
            labels: self,
            column,
            number,
        })
    }
}

fn probability(path: &Path, line: u64, column: &str, value: &str) -> Result<f32, LabelsError> {
    let parsed = value.trim().parse::<f32>().ok();
    parsed
        .filter(|p| (0.0..=1.0).contains(p))
        .ok_or_else(|| LabelsError::Value {
            path: path.to_path_buf(),
            line,
            column: format!("p_{column}"),
            value: value.to_owned(),
        })
}

/// The table as the judge of one topic.
#[derive(Clone, Copy, Debug)]
pub struct TableJudge<'a> {
    labels: &'a Labels,
    column: Option<usize>,
    number: Option<usize>,
}

impl TableJudge<'_> {
    /// The relevance of every URL that the table has.
    pub fn all(&self) -> HashMap<UrlId, f32> {
        let urls = self.labels.rows.keys();
        urls.map(|url| (*url, self.relevance(*url))).collect()
    }

    /// The relevance of a URL, in [0, 1].
    pub fn relevance(&self, url: UrlId) -> f32 {
        let Some(row) = self.labels.rows.get(&url) else {
            return 0.0;
        };
        match self.column {
            Some(column) => row.probabilities[column],
            None => f32::from(u8::from(self.number == Some(row.topic as usize))),
        }
    }

    /// What it judges by, in words.
    pub fn describe(&self, topic: &str) -> String {
        match self.column {
            Some(_) => format!("column p_{topic}"),
            None => format!("topic = {topic}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Result<Labels, LabelsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Labels::open(file.path())
    }

    fn id(url: &str) -> UrlId {
        CanonicalUrl::parse(url).unwrap().id()
    }

    #[test]
    fn the_column_goes_before_the_topic() {
        let labels =
            labels("url,topic,p_a\nhttp://x.test/1,a,0.25\nhttp://x.test/2,b,0.75\n").unwrap();
        let a = labels.judge("a").unwrap();
        assert!((a.relevance(id("http://x.test/1")) - 0.25).abs() < 1e-6);
        assert!((a.relevance(id("http://x.test/2")) - 0.75).abs() < 1e-6);
        let b = labels.judge("b").unwrap();
        assert!(b.relevance(id("http://x.test/1")) < 0.5);
        assert!(b.relevance(id("http://x.test/2")) > 0.5);
        assert!(b.relevance(id("http://x.test/3")) < 0.5);
    }

    #[test]
    fn faults_are_named() {
        assert!(
            labels("url\nx\n")
                .unwrap_err()
                .to_string()
                .contains("`topic`")
        );
        let wrong = labels("url,topic,p_a\nhttp://x.test/,a,2\n")
            .unwrap_err()
            .to_string();
        assert!(wrong.contains("line 2") && wrong.contains("p_a"), "{wrong}");
        let none = labels("url,topic\nhttp://x.test/,a\n").unwrap();
        assert!(
            none.judge("z")
                .unwrap_err()
                .to_string()
                .contains("it has a")
        );
    }
}
