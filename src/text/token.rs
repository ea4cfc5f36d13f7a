//! Words of a text.

/// Longer runs are no words but keys, hashes and base64; they are dropped.
pub const WORD_BYTES_MAX: usize = 40;

/// The words of `text`, in order: lower-cased maximal runs of alphanumeric characters of 2 to
/// [`WORD_BYTES_MAX`] bytes, with at least one letter; stop words are kept (see
/// [`is_stop_word`](super::is_stop_word)).
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| (2..=WORD_BYTES_MAX).contains(&run.len()))
        .filter(|run| run.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
}
