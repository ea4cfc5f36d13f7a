//! Which features a learner gets.

use crate::features::key::Namespace;
use crate::text::unknown_name;

/// The widest window that can be asked for.
pub const D_MAX_MOST: u8 = 15;
/// The window of the paper (WWW 2002, section 3.4).
pub const D_MAX_DEFAULT: u8 = 5;

/// Numbers that an apprentice adds to the sparse features; they have no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Extra {
    /// the critic's log odds of the source page
    Relevance = 32,
    /// what became of the page's other links
    Success = 33,
    /// what the target's host and folder have given so far
    Priors = 34,
    /// what the critic's words say of the link's text and URL
    Words = 35,
    /// how many other known pages have the link
    Parents = 36,
    /// how large a share of the host's other known pages has the same link at the same place
    Template = 37,
}

/// The groups of features that can be switched, with their names.
const GROUPS: [(&str, u64); 18] = [
    ("text", mask(&[Namespace::Text])),
    ("ranges", mask(&[Namespace::TextRange, Namespace::TextNear])),
    ("class", mask(&[Namespace::SourceClass])),
    ("cocitation", mask(&[Namespace::CoCitation])),
    ("url", mask(&[Namespace::UrlToken])),
    (
        "host",
        mask(&[Namespace::TargetHost, Namespace::PathPrefix]),
    ),
    ("tags", mask(&[Namespace::TagPath, Namespace::LinkKind])),
    ("title", mask(&[Namespace::SourceTitle])),
    ("anchor", mask(&[Namespace::AnchorText])),
    ("heading", mask(&[Namespace::Heading])),
    ("table", mask(&[Namespace::TableHead])),
    ("attributes", mask(&[Namespace::Attribute])),
    ("relevance", 1 << Extra::Relevance as u8),
    ("success", 1 << Extra::Success as u8),
    ("priors", 1 << Extra::Priors as u8),
    ("words", 1 << Extra::Words as u8),
    ("parents", 1 << Extra::Parents as u8),
    ("template", 1 << Extra::Template as u8),
];

/// Groups that are off unless they are asked for: they cost something, and where they were measured
/// they did not help (docs/experiments.md, "Groups of features").
const OFF: [&str; 4] = ["heading", "table", "attributes", "parents"];

/// Names of sets of groups: what is on unless something else is said, and all that there is.
const SETS: [&str; 2] = ["default", "all"];

/// A window and a set of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSpec {
    d_max: u8,
    groups: u64,
    /// Whether the offset is part of <t, d>; without it the window is a bag of words, the paper's
    /// control (section 3.4).
    offsets: bool,
}

/// A spec that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureSpecError {
    /// A window that is too wide.
    #[error("d_max is {0}; it has to be 0 (the link itself alone) to {D_MAX_MOST}")]
    Window(i64),
    /// A group that there is not.
    #[error("no group of features {}", unknown_name(.name, &names()))]
    Group {
        /// As given.
        name: String,
    },
}

fn group_names() -> Vec<&'static str> {
    GROUPS.iter().map(|(name, _)| *name).collect()
}

fn names() -> Vec<&'static str> {
    group_names().into_iter().chain(SETS).collect()
}

impl Default for FeatureSpec {
    /// The groups that help, the default window.
    fn default() -> Self {
        let on = GROUPS.iter().filter(|(name, _)| !OFF.contains(name));
        Self {
            d_max: D_MAX_DEFAULT,
            groups: on.fold(0, |all, (_, group)| all | group),
            offsets: true,
        }
    }
}

const fn mask(namespaces: &[Namespace]) -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < namespaces.len() {
        mask |= 1 << namespaces[at] as u8;
        at += 1;
    }
    mask
}

impl FeatureSpec {
    /// What the paper's apprentice had: <t, d> alone (the relevance of the page does not enter its
    /// prediction; it is what orders the frontier before the first epoch).
    pub fn paper() -> Self {
        Self {
            groups: mask(&[Namespace::Text]) | 1 << Extra::Relevance as u8,
            ..Self::default()
        }
    }

    /// Sets the window.
    ///
    /// # Errors
    /// [`FeatureSpecError::Window`] beyond 0 to [`D_MAX_MOST`].
    pub fn with_d_max(mut self, d_max: i64) -> Result<Self, FeatureSpecError> {
        self.d_max = u8::try_from(d_max)
            .ok()
            .filter(|d_max| *d_max <= D_MAX_MOST)
            .ok_or(FeatureSpecError::Window(d_max))?;
        Ok(self)
    }

    /// Leaves the offset out of <t, d>.
    #[must_use]
    pub fn without_offsets(mut self) -> Self {
        self.offsets = false;
        self
    }

    /// Keeps the groups with these names only; `default` and `all` stand for those that are on
    /// unless something else is said, and for all.
    ///
    /// # Errors
    /// [`FeatureSpecError::Group`] names the first that there is not.
    pub fn with_groups<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, FeatureSpecError> {
        self.groups = 0;
        for name in names {
            self.groups |= group(name)?;
        }
        Ok(self)
    }

    /// Takes the group with this name out.
    ///
    /// # Errors
    /// [`FeatureSpecError::Group`] if there is none.
    pub fn without_group(mut self, name: &str) -> Result<Self, FeatureSpecError> {
        self.groups &= !group(name)?;
        Ok(self)
    }

    /// The window: terms up to this many leaves away.
    pub fn d_max(&self) -> u8 {
        self.d_max
    }

    /// Whether <t, d> has its offset.
    pub fn has_offsets(&self) -> bool {
        self.offsets
    }

    /// Whether features of this namespace are wanted.
    pub fn has(&self, namespace: Namespace) -> bool {
        self.groups & mask(&[namespace]) != 0
    }

    /// Whether these numbers are wanted.
    pub fn has_extra(&self, extra: Extra) -> bool {
        self.groups & (1 << extra as u8) != 0
    }

    /// The names of the groups that are on.
    pub fn groups(&self) -> Vec<&'static str> {
        let on = GROUPS.iter().filter(|(_, group)| self.groups & group != 0);
        on.map(|(name, _)| *name).collect()
    }
}

fn group(name: &str) -> Result<u64, FeatureSpecError> {
    match name {
        "default" => return Ok(FeatureSpec::default().groups),
        "all" => return Ok(GROUPS.iter().fold(0, |all, (_, group)| all | group)),
        _ => {}
    }
    GROUPS
        .iter()
        .find(|(group, _)| *group == name)
        .map(|(_, bits)| *bits)
        .ok_or_else(|| FeatureSpecError::Group {
            name: name.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_switched_by_name() {
        let spec = FeatureSpec::default().with_groups(["all"]).unwrap();
        assert_eq!(spec.groups(), group_names());
        let off: Vec<&str> = (group_names().into_iter())
            .filter(|name| !FeatureSpec::default().groups().contains(name))
            .collect();
        assert_eq!(off, OFF);
        let more = spec.with_groups(["default", OFF[0]]).unwrap();
        assert_eq!(
            more.groups().len(),
            FeatureSpec::default().groups().len() + 1
        );
        let spec = spec.without_group("url").unwrap();
        assert!(!spec.has(Namespace::UrlToken) && spec.has(Namespace::TargetHost));
        let spec = spec.with_groups(["text", "class"]).unwrap();
        assert_eq!(spec.groups(), ["text", "class"]);
        assert_eq!(FeatureSpec::paper().groups(), ["text", "relevance"]);
        let error = spec.without_group("urls").unwrap_err().to_string();
        assert!(
            error.contains("`urls`") && error.contains("cocitation"),
            "{error}"
        );
    }

    #[test]
    fn the_window_has_bounds() {
        let spec = FeatureSpec::default();
        assert_eq!(spec.with_d_max(0).unwrap().d_max(), 0);
        assert_eq!(spec.with_d_max(15).unwrap().d_max(), 15);
        for wrong in [-1, 16, 256] {
            let error = spec.with_d_max(wrong).unwrap_err();
            assert_eq!(error, FeatureSpecError::Window(wrong));
        }
    }
}
