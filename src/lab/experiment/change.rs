//! What has changed in an experiment since its folder was last used.

/// The fields in which two files of an experiment differ; empty if they say the same.
///
/// A file that is no TOML differs in all that it says.
pub fn changes(before: &str, now: &str) -> Vec<String> {
    let read = |text: &str| text.parse::<toml::Table>().unwrap_or_default();
    let (before, now) = (read(before), read(now));
    let mut changes = Vec::new();
    for name in before.keys().chain(now.keys()) {
        let (was, is) = (before.get(name), now.get(name));
        if was != is && !changes.contains(name) {
            changes.push(name.clone());
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_says_counts() {
        let was = "# one\nbudget = 10\ntopics = ['a']\n[world]\narchive = ['x']";
        let same = "topics = [\"a\"]\nbudget = 10 # fetches\nworld = { archive = ['x'] }";
        assert_eq!(changes(was, same), Vec::<String>::new());
        let other = "budget = 20\nseed = 1\n[world]\narchive = ['x']";
        assert_eq!(changes(was, other), ["budget", "topics", "seed"]);
    }
}
