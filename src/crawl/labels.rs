//! What a fetch teaches the apprentice: the label of the pairs (u, v) that led to it.

use super::spec::SpecError;
use crate::booking::Judgement;
use crate::fetch::FetchError;
use crate::proto::v1;
use crate::text::unknown_name;

/// Log odds of the relevance of a page that is not there: 0 to the last bit that matters.
pub(super) const LOST: f32 = -30.0;

/// Whose relevance a page teaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PageLabel {
    /// the critic's own
    #[default]
    Raw,
    /// the calibrated one
    Calibrated,
}

/// Which lost fetches teach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FailureLabel {
    /// those whose answer speaks of the URL itself
    #[default]
    Gone,
    /// all
    All,
    /// none
    None,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    page: PageLabel,
    failure: FailureLabel,
}

impl Labels {
    /// As a spec has them.
    ///
    /// # Errors
    /// [`SpecError`] names the field and the names that it knows.
    pub(super) fn check(told: Option<&v1::Apprentice>) -> Result<Self, SpecError> {
        let page = match told.map_or("", |told| &told.labels) {
            "" | "raw" => PageLabel::Raw,
            "calibrated" => PageLabel::Calibrated,
            name => return Err(wrong("apprentice.labels", name, &["raw", "calibrated"])),
        };
        let failure = match told.map_or("", |told| &told.failures) {
            "" | "gone" => FailureLabel::Gone,
            "all" => FailureLabel::All,
            "none" => FailureLabel::None,
            name => return Err(wrong("apprentice.failures", name, &["gone", "all", "none"])),
        };
        Ok(Self { page, failure })
    }

    /// For a spec; what is usual is not said.
    pub(super) fn told(self) -> v1::Apprentice {
        let mut told = v1::Apprentice::default();
        if self.page == PageLabel::Calibrated {
            "calibrated".clone_into(&mut told.labels);
        }
        match self.failure {
            FailureLabel::Gone => {}
            FailureLabel::All => "all".clone_into(&mut told.failures),
            FailureLabel::None => "none".clone_into(&mut told.failures),
        }
        told
    }

    /// The log odds that a judged page teaches.
    pub(super) fn of_page(self, judgement: &Judgement) -> f32 {
        match self.page {
            PageLabel::Raw => judgement.log_odds,
            PageLabel::Calibrated => judgement.calibrated_log_odds,
        }
    }

    /// Whether a fetch that was lost for good teaches that its URL is worth nothing. What a server says
    /// of itself, or of who asks, is nothing that the words around a link could tell.
    pub(super) fn teaches(self, error: &FetchError) -> bool {
        match self.failure {
            FailureLabel::Gone => is_of_the_url(error),
            FailureLabel::All => true,
            FailureLabel::None => false,
        }
    }
}

fn is_of_the_url(error: &FetchError) -> bool {
    match error {
        FetchError::Status { code, .. } => matches!(code, 400 | 404 | 405 | 406 | 410 | 414),
        FetchError::ContentType(_) | FetchError::TooLarge(_) | FetchError::BadRedirect { .. } => {
            true
        }
        _ => false,
    }
}

fn wrong(field: &str, name: &str, known: &[&str]) -> SpecError {
    SpecError::new(field, unknown_name(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(labels: &str, failures: &str) -> Result<Labels, String> {
        let told = v1::Apprentice {
            labels: labels.to_owned(),
            failures: failures.to_owned(),
            ..v1::Apprentice::default()
        };
        Labels::check(Some(&told)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_label_is_the_critics_unless_the_calibrated_one_is_asked_for() {
        let judgement = Judgement {
            log_odds: 9.0,
            calibrated_log_odds: 1.5,
            best: Vec::new(),
            near_focus: true,
            version: 1,
        };
        assert_eq!(Labels::check(None), Ok(Labels::default()));
        let both = told("calibrated", "none").unwrap();
        assert_eq!(Labels::check(Some(&both.told())), Ok(both));
        assert!((told("", "").unwrap().of_page(&judgement) - 9.0).abs() < 1e-6);
        assert!((told("calibrated", "").unwrap().of_page(&judgement) - 1.5).abs() < 1e-6);
        let typo = told("calibrate", "").unwrap_err();
        assert!(
            typo.contains("apprentice.labels") && typo.contains("calibrated"),
            "{typo}"
        );
        assert!(told("", "some").unwrap_err().contains("gone"));
    }

    #[test]
    fn only_what_is_said_of_the_url_itself_is_a_lesson() {
        let labels = told("", "gone").unwrap();
        let status = |code| FetchError::Status {
            code,
            retry_after: None,
        };
        for code in [404, 410] {
            assert!(labels.teaches(&status(code)), "{code}");
            assert!(!told("", "none").unwrap().teaches(&status(code)), "{code}");
        }
        for code in [401, 403, 408, 429, 500, 503] {
            assert!(!labels.teaches(&status(code)), "{code}");
        }
        assert!(labels.teaches(&FetchError::ContentType("image/png".to_owned())));
        assert!(!labels.teaches(&FetchError::NotInArchive));
        let broken = FetchError::Broken(String::new());
        assert!(!labels.teaches(&broken) && told("", "all").unwrap().teaches(&broken));
    }
}
