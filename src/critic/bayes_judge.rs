//! The Bayes critic as a judge of pages: a model and a focus.

use std::sync::Arc;

use crate::critic::bayes::best;
use crate::critic::judge::{ClassId, PageJudge, Verdict};
use crate::critic::model::CriticModel;
use crate::critic::posterior::{FocusClasses, verdict};
use crate::critic::teach::{Lesson, Teachable};
use crate::critic::weights::narrow;
use crate::page::Page;
use crate::taxonomy::{Focus, FocusError};

/// A model with a focus; cheap to make, since judges over one model share its weights.
#[derive(Clone, Debug)]
pub struct BayesJudge {
    model: Arc<CriticModel>,
    focus: FocusClasses,
}

/// Why a focus cannot be judged by a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// A topic that the model does not have.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// Nothing is left to tell the focus from.
    #[error(
        "the focus covers all {0} classes of the critic, so that every page would be relevant; \
         leave a topic out"
    )]
    CoversAll(usize),
}

impl BayesJudge {
    /// Checks `focus` against the classes of `model`.
    pub fn new(model: Arc<CriticModel>, focus: &Focus) -> Result<Self, JudgeError> {
        let inside = focus.members(model.class_names())?;
        if !inside.contains(&false) {
            return Err(JudgeError::CoversAll(inside.len()));
        }
        let names = model.class_names().iter();
        let near = names.map(|name| focus.is_near(name)).collect();
        Ok(Self {
            model,
            focus: FocusClasses { inside, near },
        })
    }

    /// The share of the focus in the examples, at which calibrated log odds are right.
    pub fn focus_share(&self) -> f64 {
        self.model.share_of(&self.focus.inside)
    }

    /// The model.
    pub fn model(&self) -> &CriticModel {
        &self.model
    }
}

impl PageJudge for BayesJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let mut scores = Vec::with_capacity(self.model.class_names().len());
        pages
            .iter()
            .map(|page| {
                let length = self.model.score(page, &mut scores);
                let mut verdict = verdict(&scores, &self.focus, self.model.version());
                if let Some(calibration) = self.model.calibration() {
                    calibration.apply(length, &mut scores);
                    verdict.calibrated_log_odds = self.focus.log_odds(&scores);
                }
                verdict
            })
            .collect()
    }

    fn class_names(&self) -> &[String] {
        self.model.class_names()
    }

    fn term_weights(&self) -> Vec<(String, f32)> {
        let bayes = self.model.bayes();
        let terms = bayes.terms();
        // [rest, focus]: the sum over its classes of Pr(term | class), and how many there are.
        let mut shares = [vec![0.0_f64; terms], vec![0.0_f64; terms]];
        let (mut unseen, mut classes) = ([0.0_f64; 2], [0.0_f64; 2]);
        for (class, inside) in bayes.classes().iter().zip(&self.focus.inside) {
            let total: f64 = class.terms.iter().map(|(_, n)| *n as f64).sum();
            let total = total + bayes.alpha() * terms as f64;
            let side = usize::from(*inside);
            classes[side] += 1.0;
            unseen[side] += bayes.alpha() / total;
            for (term, n) in &class.terms {
                shares[side][*term as usize] += *n as f64 / total;
            }
        }
        let share = |side: usize, term: usize| (shares[side][term] + unseen[side]) / classes[side];
        let words = self.model.vocabulary().iter().enumerate();
        words
            .map(|(term, word)| (word.clone(), narrow((share(1, term) / share(0, term)).ln())))
            .collect()
    }

    fn teachable(&self) -> Option<&dyn Teachable> {
        Some(self)
    }
}

impl Teachable for BayesJudge {
    fn version(&self) -> u64 {
        self.model.version()
    }

    fn in_focus(&self, class: ClassId) -> bool {
        let inside = self.focus.inside.get(usize::from(class.0));
        inside.copied().unwrap_or(false)
    }

    fn best_class(&self, page: &Page, in_focus: bool) -> ClassId {
        let mut scores = Vec::new();
        self.model.score(page, &mut scores);
        for (score, inside) in scores.iter_mut().zip(&self.focus.inside) {
            if *inside != in_focus {
                *score = f64::NEG_INFINITY;
            }
        }
        let best = best(scores.into_iter());
        ClassId(u16::try_from(best).unwrap_or(u16::MAX))
    }

    fn lesson(&self, url: &str, page: &Page, class: ClassId) -> Lesson {
        self.model.lesson(url, page, class)
    }

    fn taught(
        &self,
        lessons: &mut dyn Iterator<Item = &Lesson>,
        version: u64,
    ) -> Arc<dyn PageJudge> {
        Arc::new(Self {
            model: Arc::new(self.model.taught(lessons, version)),
            focus: self.focus.clone(),
        })
    }

    fn model_bytes(&self) -> std::io::Result<Vec<u8>> {
        self.model.to_bytes()
    }
}
