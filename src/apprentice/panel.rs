//! Several learners over the same instances: each is validated, one is followed.

use super::checkpoint::{MemberCheckpoint, PanelCheckpoint};
use super::dense;
use super::explain::Parts;
use super::frozen::LinkView;
use super::ftrl;
use super::instance::{Instance, sigmoid};
use super::leader::Leader;
use super::learner::Learner;
use super::nb;
use super::saved::{SavedLearner, SavedPanel};
use super::source_relevance;
use super::validation::{LearnerFigures, Validation};
use crate::features::{LinkVector, Namespace};
use crate::url::UrlId;

/// What a learner sees of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// All that the crawl's features give.
    All,
    /// <t, d> alone, as the paper's learner had it (WWW 2002, section 3.4).
    Text,
}

/// A learner of a panel, for those who look on.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LearnerReport {
    /// Its name.
    pub name: &'static str,
    /// Whether the frontier follows it.
    pub is_followed: bool,
    /// How well it has predicted.
    pub figures: LearnerFigures,
}

/// A [`LearnerReport`] as it is read: the name has still to be that of a learner.
#[derive(serde::Deserialize)]
struct WrittenReport {
    name: String,
    is_followed: bool,
    figures: LearnerFigures,
}

impl<'de> serde::Deserialize<'de> for LearnerReport {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = WrittenReport::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("no learner {:?}", written.name));
        let mut known = [ftrl::NAME, nb::NAME, source_relevance::NAME].into_iter();
        let name = known.find(|known| *known == written.name);
        Ok(Self {
            name: name.ok_or_else(unknown)?,
            is_followed: written.is_followed,
            figures: written.figures,
        })
    }
}

struct Member {
    learner: Box<dyn Learner>,
    view: View,
    validation: Validation,
}

/// See the module.
pub struct Panel {
    members: Vec<Member>,
    leader: Leader,
    /// Whether another one may be followed.
    follows_best: bool,
    seen: Instance,
    losses: Vec<f32>,
}

impl Panel {
    /// Follows the first of `learners`, for good.
    pub fn following_first(learners: Vec<(Box<dyn Learner>, View)>) -> Self {
        let members: Vec<Member> = learners
            .into_iter()
            .map(|(learner, view)| Member {
                learner,
                view,
                validation: Validation::default(),
            })
            .collect();
        Self {
            leader: Leader::new(0, members.len()),
            losses: Vec::with_capacity(members.len()),
            members,
            follows_best: false,
            seen: Instance::default(),
        }
    }

    /// Begins with the first of `learners`, and follows another one when that has predicted better.
    pub fn following_best(learners: Vec<(Box<dyn Learner>, View)>) -> Self {
        Self {
            follows_best: true,
            ..Self::following_first(learners)
        }
    }

    /// The score of the learner that is followed.
    pub(super) fn predict(&mut self, instance: &Instance) -> f32 {
        let at = self.leader.now();
        self.members.get(at).map_or(0.0, |member| {
            let seen = member.view.of(instance, &mut self.seen);
            member.learner.predict(seen)
        })
    }

    /// The same of a link whose features need not be written down; they are to `scratch` if they must.
    pub(super) fn predict_link(&mut self, link: &LinkView<'_>, scratch: &mut Instance) -> f32 {
        let member = self.members.get(self.leader.now());
        let all = member.filter(|member| member.view == View::All);
        if let Some(score) = all.and_then(|member| member.learner.predict_link(link)) {
            return score;
        }
        link.instance(scratch);
        self.predict(scratch)
    }

    /// The same in parts.
    pub(super) fn explain(&mut self, instance: &Instance) -> Parts {
        let at = self.leader.now();
        self.members.get(at).map_or_else(Parts::new, |member| {
            let seen = member.view.of(instance, &mut self.seen);
            member.learner.explain(seen)
        })
    }

    /// The scores of all, and which of them is followed.
    pub(super) fn predict_all(&mut self, instance: &Instance) -> Vec<f32> {
        let members = self.members.iter();
        members
            .map(|member| {
                let seen = member.view.of(instance, &mut self.seen);
                member.learner.predict(seen)
            })
            .collect()
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        let members = self.members.iter();
        members
            .map(|member| member.learner.name().to_owned())
            .collect()
    }

    /// The scores that learners of these names gave, in the order of this panel; `None` if one of its
    /// learners gave none.
    pub(super) fn in_order(&self, names: &[String], scores: &[f32]) -> Option<Vec<f32>> {
        let score_of = |member: &Member| {
            let at = names.iter().position(|name| name == member.learner.name());
            at.and_then(|at| scores.get(at).copied())
        };
        self.members.iter().map(score_of).collect()
    }

    /// Where naive Bayes cuts; see [`Learner::cut`].
    pub(super) fn cut(&self) -> Option<f32> {
        self.members.iter().find_map(|member| member.learner.cut())
    }

    pub(super) fn set_cut(&mut self, cut: f32) {
        for member in &mut self.members {
            member.learner.set_cut(cut);
        }
    }

    /// Where the one that is followed stands among them.
    pub(super) fn followed(&self) -> usize {
        self.leader.now()
    }

    /// The target of `instances` was judged. `predictions` are what [`predict_all`](Self::predict_all) gave
    /// for each when it was leased, `sources` the pages that they stand on.
    pub(super) fn learn(
        &mut self,
        instances: &[Instance],
        sources: &[UrlId],
        predictions: &[Vec<f32>],
        log_odds: f32,
    ) {
        let label = sigmoid(log_odds);
        if instances.is_empty() {
            return;
        }
        self.losses.clear();
        self.losses.resize(self.members.len(), 0.0);
        let share = 1.0 / instances.len() as f32;
        for (source, scores) in sources.iter().zip(predictions) {
            for ((member, score), sum) in self.members.iter_mut().zip(scores).zip(&mut self.losses)
            {
                *sum += share * member.validation.add(*source, *score, label);
            }
        }
        // Where nothing was predicted, nothing is validated.
        if predictions.len() == instances.len() {
            self.leader.add(&self.losses);
        }
        for instance in instances {
            for member in &mut self.members {
                let weight = member.view.weight_of(instance);
                let seen = member.view.of(instance, &mut self.seen);
                member.learner.learn(seen, label, weight);
            }
        }
    }

    /// Puts what was learned in force.
    pub(super) fn publish(&mut self) {
        for member in &mut self.members {
            member.learner.publish();
        }
        if self.follows_best {
            let before = self.leader.now();
            if self.leader.choose() {
                let name = |at: usize| self.members.get(at).map_or("", |m| m.learner.name());
                tracing::info!(
                    from = name(before),
                    to = name(self.leader.now()),
                    "another learner has predicted better lately"
                );
            }
        }
    }

    /// What they have learned.
    pub(super) fn save(&self) -> SavedPanel {
        let learners = self.members.iter().map(|member| SavedLearner {
            name: member.learner.name().to_owned(),
            text_only: member.view == View::Text,
            calibrator: member.validation.calibrator().clone(),
            weights: member.learner.weights(),
        });
        let followed = self.members.get(self.leader.now());
        SavedPanel {
            followed: followed.map_or_else(String::new, |member| member.learner.name().to_owned()),
            learners: learners.collect(),
        }
    }

    /// Each begins with what the saved one of its name and view had learned; the one is followed that was,
    /// if there is a choice.
    pub(super) fn begin_with(&mut self, saved: &SavedPanel) {
        let mut first = self.leader.now();
        for (at, member) in self.members.iter_mut().enumerate() {
            let Some(found) = saved.of(member.learner.name(), member.view == View::Text) else {
                continue;
            };
            member.validation.set_calibrator(found.calibrator.clone());
            member.learner.set_weights(&found.weights);
            if self.follows_best && saved.followed() == found.name {
                first = at;
            }
        }
        self.leader = Leader::new(first, self.members.len());
    }

    /// What gives all that it is now, when it has just been [published](Self::publish).
    pub(super) fn checkpoint_later(&self) -> impl FnOnce() -> PanelCheckpoint + Send + use<> {
        let members = self.members.iter().map(|member| {
            let name = member.learner.name().to_owned();
            let text_only = member.view == View::Text;
            let validation = member.validation.clone();
            (name, text_only, validation, member.learner.weights_later())
        });
        let (members, leader) = (members.collect::<Vec<_>>(), self.leader.clone());
        move || PanelCheckpoint {
            members: members
                .into_iter()
                .map(|(name, text_only, validation, weights)| MemberCheckpoint {
                    name,
                    text_only,
                    weights: weights(),
                    validation,
                })
                .collect(),
            leader,
        }
    }

    /// Becomes the panel that it was. In words why it cannot: it has other learners.
    pub(super) fn restore(&mut self, was: PanelCheckpoint) -> Result<(), String> {
        let same = |(now, was): (&Member, &MemberCheckpoint)| {
            now.learner.name() == was.name && (now.view == View::Text) == was.text_only
        };
        if was.members.len() != self.members.len()
            || !self.members.iter().zip(&was.members).all(same)
            || !was.leader.leads(was.members.len())
        {
            return Err("it has other learners".to_owned());
        }
        for (member, was) in self.members.iter_mut().zip(was.members) {
            was.weights.check()?;
            member.learner.set_weights(&was.weights);
            member.validation = was.validation;
        }
        self.leader = was.leader;
        Ok(())
    }

    pub(super) fn reports(&self) -> Vec<LearnerReport> {
        let members = self.members.iter().enumerate();
        members
            .map(|(at, member)| LearnerReport {
                name: member.learner.name(),
                is_followed: at == self.leader.now(),
                figures: member.validation.figures(),
            })
            .collect()
    }
}

impl View {
    /// What a lesson counts. The block that many pages of a host have in common says the same again and
    /// again: one that all of them have counts half. The paper's learner knows no such thing.
    fn weight_of(self, instance: &Instance) -> f32 {
        match self {
            Self::All => 1.0 / (1.0 + instance.dense[dense::TEMPLATE]),
            Self::Text => 1.0,
        }
    }

    /// The instance as this view has it; `scratch` holds it if it is another one.
    fn of<'a>(self, instance: &'a Instance, scratch: &'a mut Instance) -> &'a Instance {
        if self == Self::All {
            return instance;
        }
        text_of(&instance.vector, &mut scratch.vector);
        scratch.dense = instance.dense;
        scratch
    }
}

fn text_of(all: &LinkVector, text: &mut LinkVector) {
    text.clear();
    for (key, value) in all.iter() {
        if Namespace::of(key) == Some(Namespace::Text) {
            text.push(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apprentice::{Ftrl, FtrlParams, SourceRelevance, TwoClassBayes};
    use crate::features::key;

    fn panel() -> Panel {
        let ftrl = Ftrl::new(FtrlParams {
            bits: 10,
            ..FtrlParams::default()
        });
        Panel::following_best(vec![
            (Box::new(ftrl), View::All),
            (Box::new(SourceRelevance), View::All),
            (Box::new(TwoClassBayes::new()), View::Text),
        ])
    }

    /// A target whose relevance shows in the page alone; a word says the contrary of what it said before.
    fn link(turn: u64, is_relevant: bool) -> Instance {
        let mut instance = Instance::default();
        let word = u64::from(is_relevant) ^ (turn / 7 % 2);
        instance
            .vector
            .push(key(Namespace::Text, 0, word << 20), 1.0);
        instance.dense[dense::OWN_WORDS] = if turn.is_multiple_of(3) { 3.0 } else { -3.0 };
        instance.dense[dense::RELEVANCE] = if is_relevant { 2.0 } else { -2.0 };
        instance
    }

    #[test]
    fn where_the_words_mislead_the_baseline_is_followed() {
        let mut panel = panel();
        for turn in 0..300 {
            let is_relevant = turn % 2 == 0;
            let instance = link(turn, is_relevant);
            let scores = panel.predict_all(&instance);
            assert_eq!(scores.len(), 3);
            let odds = if is_relevant { 9.0 } else { -9.0 };
            panel.learn(&[instance], &[UrlId(turn)], &[scores], odds);
            if turn % 10 == 9 {
                panel.publish();
            }
        }
        let reports = panel.reports();
        let followed: Vec<_> = reports.iter().filter(|report| report.is_followed).collect();
        assert_eq!(followed.len(), 1);
        assert_eq!(followed[0].name, "baseline", "{reports:?}");
        assert_eq!(followed[0].figures.instances, 300);
        let score = panel.predict(&link(0, true));
        assert!((score - 2.0).abs() < 1e-6, "{score}");
    }

    #[test]
    fn a_link_of_a_template_teaches_less() {
        let taught = |template: f32| {
            let mut panel = panel();
            let mut instance = link(1, true);
            instance.dense[dense::TEMPLATE] = template;
            let scores = panel.predict_all(&instance);
            panel.learn(&[instance], &[UrlId(1)], &[scores], 9.0);
            panel.publish();
            // What the word alone has come to say.
            let word = Instance {
                vector: link(1, true).vector,
                ..Instance::default()
            };
            let scores = panel.predict_all(&word);
            (scores[0], scores[2])
        };
        let (once, in_menu) = (taught(0.0), taught(0.9));
        assert!(
            in_menu.0 > 0.0 && in_menu.0 < once.0,
            "{in_menu:?} {once:?}"
        );
        assert_eq!(
            in_menu.1.to_bits(),
            once.1.to_bits(),
            "of the paper's learner"
        );
    }

    #[test]
    fn the_text_view_shows_no_other_namespace() {
        let mut instance = Instance::default();
        instance.vector.push(key(Namespace::UrlToken, 0, 7), 1.0);
        instance.vector.push(key(Namespace::Text, 2, 7), 0.5);
        let mut scratch = Instance::default();
        let seen = View::Text.of(&instance, &mut scratch);
        assert_eq!(seen.vector.keys, [key(Namespace::Text, 2, 7)]);
    }
}
