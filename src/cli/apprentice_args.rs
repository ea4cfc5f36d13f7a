//! What an apprentice is to look at, as `crawl start` and `lab run` are told.

use crate::proto::v1;

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Apprentice (orders nb and ftrl)")]
pub(super) struct ApprenticeArgs {
    /// Terms up to this many DOM leaves away from a link, 0 to 15 [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    d_max: Option<i32>,

    /// Groups of features: text, ranges, class, cocitation, url, host, tags, title, anchor, heading,
    /// table, attributes, relevance, success, priors, words, parents, template; `default` and `all`
    /// stand for several [default: default for ftrl, text,relevance for nb]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    features: Vec<String>,

    /// Groups of features to leave out
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    without_features: Vec<String>,

    /// How the predictions of several pages that have a link become one: best, mean, noisy-or or first
    /// [default: best]
    #[arg(long, value_name = "HOW")]
    combine: Option<String>,

    /// Which lost fetches are learned as pages of relevance 0: gone (404 and the like, refused content
    /// types), all or none [default: gone]
    #[arg(long, value_name = "WHICH")]
    learn_failures: Option<String>,

    /// Whose relevance a page teaches: the critic's raw one or the calibrated [default: raw]
    #[arg(long, value_name = "WHOSE")]
    learn_labels: Option<String>,
}

impl ApprenticeArgs {
    /// Puts what was said over what `apprentice` says.
    pub(super) fn put_over(self, apprentice: &mut Option<v1::Apprentice>) {
        let says_nothing = self.d_max.is_none()
            && self.features.is_empty()
            && self.without_features.is_empty()
            && self.combine.is_none()
            && self.learn_failures.is_none()
            && self.learn_labels.is_none();
        if says_nothing {
            return;
        }
        let apprentice = apprentice.get_or_insert_default();
        apprentice.d_max = self.d_max.or(apprentice.d_max);
        if !self.features.is_empty() {
            apprentice.features = self.features;
        }
        if !self.without_features.is_empty() {
            apprentice.without = self.without_features;
        }
        if let Some(combine) = self.combine {
            apprentice.combine = combine;
        }
        if let Some(failures) = self.learn_failures {
            apprentice.failures = failures;
        }
        if let Some(labels) = self.learn_labels {
            apprentice.labels = labels;
        }
    }
}
