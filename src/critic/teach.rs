//! A critic that is told of single pages what they are about.
//!
//! A page that was marked counts as one more training page of its class, no more and no less: its words
//! are added to the class's counts. So a mark weighs much for the words that the class has hardly had,
//! which are those that misled the critic, and little for the others; and a critic that was taught a page
//! is the one that would have come of training on it, over the same vocabulary.

use std::sync::Arc;

use crate::critic::judge::{ClassId, PageJudge};
use crate::critic::model::{ClassRecord, CriticModel, TrainingRecord};
use crate::critic::reserve::sum_up;
use crate::critic::sparse::Bag;
use crate::page::Page;

/// One page that was marked: its terms, and the class that they are counted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    url: String,
    class: ClassId,
    bag: Bag,
}

/// A judge that can be taught.
pub trait Teachable: Send + Sync {
    /// Its version, as its verdicts carry it.
    fn version(&self) -> u64;

    /// Whether pages of the class are relevant.
    fn in_focus(&self, class: ClassId) -> bool;

    /// The best class for a page among those in the focus, or among the others.
    fn best_class(&self, page: &Page, in_focus: bool) -> ClassId;

    /// What `page`, found at `url`, teaches when it is counted in `class`. A class that is none teaches
    /// nothing.
    fn lesson(&self, url: &str, page: &Page, class: ClassId) -> Lesson;

    /// This judge with `lessons` learned, under another version. Lessons that this judge itself has
    /// learned before are not taken back: it has to be the one that they are all learned on.
    fn taught(
        &self,
        lessons: &mut dyn Iterator<Item = &Lesson>,
        version: u64,
    ) -> Arc<dyn PageJudge>;

    /// The content of a model file of this judge.
    ///
    /// # Errors
    /// If the model is larger than a file may be.
    fn model_bytes(&self) -> std::io::Result<Vec<u8>>;
}

impl CriticModel {
    pub(super) fn lesson(&self, url: &str, page: &Page, class: ClassId) -> Lesson {
        Lesson {
            url: url.to_owned(),
            class,
            bag: self.bag(page),
        }
    }

    /// The model with `lessons` counted.
    pub(super) fn taught(&self, lessons: &mut dyn Iterator<Item = &Lesson>, version: u64) -> Self {
        let mut bayes = self.bayes().clone();
        let mut classes: Vec<ClassRecord> = self.classes().to_vec();
        let mut learned = 0_u64;
        let mut changed = vec![false; classes.len()];
        for lesson in lessons {
            let place = usize::from(lesson.class.0);
            let both = bayes.classes.get_mut(place).zip(classes.get_mut(place));
            let Some((counts, class)) = both else {
                continue;
            };
            counts.documents = counts.documents.saturating_add(1);
            let terms = lesson.bag.iter().map(|(term, n)| (*term, u64::from(*n)));
            counts.terms.extend(terms);
            class.documents = class.documents.saturating_add(1);
            if !class.examples.contains(&lesson.url) {
                class.examples.push(lesson.url.clone());
            }
            changed[place] = true;
            learned += 1;
        }
        for (class, changed) in bayes.classes.iter_mut().zip(changed) {
            if changed {
                sum_up(&mut class.terms);
            }
        }
        let training = TrainingRecord {
            notes: format!(
                "{}; version {} + {learned} pages marked in a crawl",
                self.training().notes,
                self.version()
            ),
            ..self.training().clone()
        };
        Self::new(
            version,
            classes,
            self.vocabulary().to_vec(),
            bayes,
            training,
        )
        .with_reserve(self.reserve().cloned())
    }
}
