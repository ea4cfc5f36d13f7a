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

/// Names of a root that stands above all topics and says nothing.
const ROOTS: [&str; 4] = ["Top", "subject", "Subject", "Root"];
/// What may stand between the parts of a path whose root is one of [`ROOTS`].
const SEPARATORS: [&str; 6] = ["/", ".", ">", ":", "|", "\\"];

/// A topic from a path in another system's manner.
///
/// The rule: if the path begins with the name of a root (`Top`, `subject`, `Root`) and a separator
/// (one of `/ . > : | \`, with white space around it or not), the root is dropped and that separator
/// stands between all parts; else the separator is `/`. White space around parts and empty parts are
/// dropped; a root by itself is the empty path.
///
/// So `Top/Arts/Music` is `Arts/Music`, `subject.Science.Biology.Birds` is `Science/Biology/Birds`,
/// `Top > Arts` is `Arts`, and `Computers/Node.js` stays as it is.
///
/// # Errors
/// [`TopicFault`] if what comes out is no topic; [`TopicFault::Empty`] for a root by itself.
pub fn topic_path(path: &str) -> Result<String, TopicFault> {
    let (separator, rest) = without_root(path.trim());
    let parts: Vec<String> = rest
        .split(separator)
        .map(str::trim)
        .filter(|part| !part.is_empty())
        // A slash within a part would make two of it.
        .map(|part| part.replace('/', "-"))
        .collect();
    let topic = parts.join("/");
    check_topic(&topic)?;
    Ok(topic)
}

/// The separator, and the path after the root.
fn without_root(path: &str) -> (&'static str, &str) {
    for root in ROOTS {
        let Some(rest) = path.strip_prefix(root) else {
            continue;
        };
        let rest = rest.trim_start();
        if rest.is_empty() {
            return ("/", "");
        }
        for separator in SEPARATORS {
            if let Some(rest) = rest.strip_prefix(separator) {
                return (separator, rest);
            }
        }
    }
    ("/", path)
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
    fn paths_of_other_systems_lose_their_root_and_keep_their_parts() {
        let path = |path| topic_path(path).unwrap();
        assert_eq!(path("Top/Arts/Music"), "Arts/Music");
        assert_eq!(
            path("subject.Science.Biology.Birds"),
            "Science/Biology/Birds"
        );
        assert_eq!(path("Top > Arts > Music"), "Arts/Music");
        assert_eq!(path("Root|TCP/IP|Tools"), "TCP-IP/Tools");
        // Neither a root nor a separator.
        assert_eq!(path("Topology/Knots"), "Topology/Knots");
        assert_eq!(path("Computers/Node.js"), "Computers/Node.js");
        assert_eq!(path("/Science//Birds/"), "Science/Birds");
        assert_eq!(topic_path("Top"), Err(TopicFault::Empty));
        assert_eq!(topic_path("Top/"), Err(TopicFault::Empty));
        assert_eq!(topic_path("a\u{1}b"), Err(TopicFault::Control));
    }

    #[test]
    fn the_parent_of_a_top_topic_is_the_root() {
        assert_eq!(parent("a/b/c"), Some("a/b"));
        assert_eq!(parent("a"), None);
    }
}
