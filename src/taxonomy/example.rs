//! One example page of a topic, as the readers give it.

/// The longest URL that is taken, in bytes.
pub(super) const URL_BYTES_MAX: usize = 8_192;

/// One example: a row of a table, a page of a dump, a line of JSON, a file of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The topic; as written in a table or a folder, by [`topic_path`](crate::taxonomy::topic_path)
    /// elsewhere.
    pub topic: String,
    /// The address, as written; of a folder's file, its path within the folder.
    pub url: String,
    /// Empty if the source has none.
    pub title: String,
    /// Empty if the source has none.
    pub description: String,
    /// Empty if the source has none.
    pub text: String,
    /// The line where it begins in its file, from 1; 0 in a folder.
    pub line: u64,
}

impl Example {
    /// Title, description and text in lines of their own, or `None` if there are none of them
    /// and the page has to come from elsewhere.
    pub fn own_text(&self) -> Option<String> {
        let parts: Vec<&str> = [&self.title, &self.description, &self.text]
            .into_iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }
}

/// Cuts `text` to at most `bytes_max` bytes at the border of a character; whether it was longer.
pub(super) fn cut(text: &mut String, bytes_max: usize) -> bool {
    if text.len() <= bytes_max {
        return false;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = "a\u{e9}b".to_owned();
        assert!(!cut(&mut text, 4));
        assert!(cut(&mut text, 2));
        assert_eq!(text, "a");
    }
}
