//! Topic paths.

/// The longest topic path, in bytes.
pub const TOPIC_BYTES_MAX: usize = 512;

/// Why a string is no topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicFault {
    /// Nothing, or white space only.
    #[error("the topic is empty")]
    Empty,
    /// Longer than [`TOPIC_BYTES_MAX`].
    #[error("the topic has {0} bytes, {TOPIC_BYTES_MAX} is the most")]
    TooLong(usize),
    /// `a//b`, `/a` or `a/`.
    #[error("the topic has an empty part (write `a/b`, without `/` at its ends)")]
    EmptyPart,
    /// A line break, a NUL or the like.
    #[error("the topic has a control character in it")]
    Control,
}

/// Checks that `topic` can be the name of a class.
pub fn check_topic(topic: &str) -> Result<(), TopicFault> {
    if topic.trim().is_empty() {
        Err(TopicFault::Empty)
    } else if topic.len() > TOPIC_BYTES_MAX {
        Err(TopicFault::TooLong(topic.len()))
    } else if topic.chars().any(char::is_control) {
        Err(TopicFault::Control)
    } else if topic.split('/').any(|part| part.trim().is_empty()) {
        Err(TopicFault::EmptyPart)
    } else {
        Ok(())
    }
}

/// The topic above `topic`; `None` right below the root.
pub fn parent(topic: &str) -> Option<&str> {
    topic.rsplit_once('/').map(|(above, _)| above)
}

/// Whether `below` is `above` itself or lies anywhere under it.
pub fn covers(above: &str, below: &str) -> bool {
    below
        .strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_covers_itself_and_what_lies_under_it_but_no_longer_name() {
        assert!(covers("a/b", "a/b"));
        assert!(covers("a/b", "a/b/c/d"));
        assert!(!covers("a/b", "a/bc"));
        assert!(!covers("a/b", "a"));
    }

    #[test]
    fn paths_that_are_no_topics_are_told_apart() {
        assert_eq!(check_topic("Computers/Data Bases"), Ok(()));
        assert_eq!(check_topic("  "), Err(TopicFault::Empty));
        assert_eq!(check_topic("a//b"), Err(TopicFault::EmptyPart));
        assert_eq!(check_topic("/a"), Err(TopicFault::EmptyPart));
        assert_eq!(check_topic("a\nb"), Err(TopicFault::Control));
        assert_eq!(
            check_topic(&"x".repeat(TOPIC_BYTES_MAX + 1)),
            Err(TopicFault::TooLong(TOPIC_BYTES_MAX + 1))
        );
    }

    #[test]
    fn the_parent_of_a_top_topic_is_the_root() {
        assert_eq!(parent("a/b/c"), Some("a/b"));
        assert_eq!(parent("a"), None);
    }
}
