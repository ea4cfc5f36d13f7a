//! The crawlers of graphs by name.

use super::bandit::{Bandit, Policy};
use super::bfs::Bfs;
use super::crawl::{Settings, Steering};
use super::estimator::Estimator;
use super::first_level::{FirstLevel, Parents};
use super::model::Graph;
use super::nr::NavigationalRank;
use super::opic::Opic;
use super::oracle::Oracle;
use super::queue::Ranked;
use super::regression::{FirstLevelRegression, SecondLevelRegression};
use super::second_level::{SecondLevel, Siblings};
use crate::text::unknown_name;

/// The largest batch.
const BATCH_MAX: u64 = 1024;
/// How far a navigational rank reaches.
const ETA: f64 = 0.5;

/// Every single estimator. A new one gets a name here and a line in [`estimator`].
const ESTIMATORS: &[&str] = &[
    "bfs",
    "random",
    "oracle",
    "opic",
    "opic_plain",
    "nr",
    "fl_deg",
    "fl_n",
    "fl_e",
    "fl_ne",
    "sl_n",
    "sl_e",
    "sl_ne",
    "lr_fl",
    "lr_sl",
];
/// What bandits choose among: the paper's first-level estimators.
const ARMS: &[&str] = &["fl_n", "fl_e", "fl_ne", "lr_fl"];
/// The bandits.
const BANDITS: &[&str] = &[
    "mab_eps",
    "mab_eps_inverted",
    "mab_first",
    "mab_reset",
    "mab_var_0.1_1000",
    "mab_var_0.2_200",
];

/// The names of all crawlers, in the order of the tables.
pub fn crawler_names() -> impl Iterator<Item = &'static str> {
    ESTIMATORS.iter().chain(BANDITS).copied()
}

/// The names of the estimators that every bandit chooses among.
pub fn arm_names() -> &'static [&'static str] {
    ARMS
}

fn estimator<'g>(name: &str, graph: &'g Graph) -> Box<dyn Estimator + 'g> {
    let nodes = graph.nodes() as usize;
    match name {
        "oracle" => Box::new(Oracle(graph)),
        "opic" => Box::new(Opic::new(true, nodes)),
        "opic_plain" => Box::new(Opic::new(false, nodes)),
        "nr" => Box::new(NavigationalRank::new(ETA, nodes)),
        "fl_deg" => Box::new(FirstLevel::new(Parents::Degree, nodes)),
        "fl_n" => Box::new(FirstLevel::new(Parents::Nodes, nodes)),
        "fl_e" => Box::new(FirstLevel::new(Parents::Edges, nodes)),
        "fl_ne" => Box::new(FirstLevel::new(Parents::Both, nodes)),
        "sl_n" => Box::new(SecondLevel::new(Siblings::Nodes, nodes)),
        "sl_e" => Box::new(SecondLevel::new(Siblings::Edges, nodes)),
        "sl_ne" => Box::new(SecondLevel::new(Siblings::Both, nodes)),
        "lr_fl" => Box::new(FirstLevelRegression::new(nodes)),
        "lr_sl" => Box::new(SecondLevelRegression::new(nodes)),
        // `random` draws from all waiting nodes, in whatever order they stand.
        _ => Box::new(Bfs::new(nodes)),
    }
}

/// A crawler: an estimator or a bandit over several, the steering, and the size of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphCrawler {
    label: String,
    name: &'static str,
    batch: u64,
    q: f64,
    zeta: f64,
}

impl GraphCrawler {
    /// The crawler that `text` describes: a name of [`crawler_names`] and, each after a slash, `b=32`
    /// (nodes fetched before anything is learned of them), `q=0.8` and `zeta=0.2` (altered greedy).
    ///
    /// # Errors
    /// Words that say what is wrong and what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.trim().split('/');
        let name = parts.next().unwrap_or_default();
        let names: Vec<&'static str> = crawler_names().collect();
        let Some(name) = names.iter().find(|known| **known == name) else {
            return Err(format!("no crawler {}", unknown_name(name, &names)));
        };
        let mut crawler = Self {
            label: text.trim().to_owned(),
            name,
            batch: 1,
            q: if *name == "random" { 0.0 } else { 1.0 },
            zeta: 0.0,
        };
        for part in parts {
            crawler.set(part)?;
        }
        Ok(crawler)
    }

    /// Greedy by the true score.
    pub(in crate::lab) fn oracle() -> Self {
        Self {
            label: "oracle".to_owned(),
            name: "oracle",
            batch: 1,
            q: 1.0,
            zeta: 0.0,
        }
    }

    fn set(&mut self, part: &str) -> Result<(), String> {
        let wrong = || {
            format!(
                "crawler {}: {part:?} is none of b=1..{BATCH_MAX}, q=0..1, zeta=0..1",
                self.label
            )
        };
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let share = || {
            value
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
        };
        match key {
            "b" => {
                let batch = value.parse().ok().filter(|b| (1..=BATCH_MAX).contains(b));
                self.batch = batch.ok_or_else(wrong)?;
            }
            "q" => self.q = share().ok_or_else(wrong)?,
            "zeta" => self.zeta = share().ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// As it was written: the name in every table.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// It chooses among estimators and has no estimate of its own.
    pub fn is_bandit(&self) -> bool {
        BANDITS.contains(&self.name)
    }

    pub(super) fn batch(&self) -> u64 {
        self.batch
    }

    pub(super) fn steering(&self) -> Steering {
        if self.q >= 1.0 {
            return Steering::Greedy;
        }
        Steering::Altered {
            q: self.q,
            zeta: self.zeta,
        }
    }

    pub(super) fn arms<'g>(&self, graph: &'g Graph) -> Vec<Ranked<'g>> {
        let names = if self.is_bandit() { ARMS } else { &[self.name] };
        let nodes = graph.nodes() as usize;
        let arms = names
            .iter()
            .map(|name| Ranked::new(estimator(name, graph), nodes));
        arms.collect()
    }

    pub(super) fn bandit(&self, settings: Settings) -> Bandit {
        let first = |epsilon, round| Policy::EpsilonFirst { epsilon, round };
        let policy = match self.name {
            "mab_eps" => Policy::EpsilonGreedy { epsilon: 0.1 },
            "mab_eps_inverted" => Policy::EpsilonGreedy { epsilon: 0.9 },
            "mab_first" => first(0.1, settings.budget),
            "mab_reset" => first(0.1, 1000),
            "mab_var_0.1_1000" => Policy::VariableReset {
                epsilon: 0.1,
                base: 1000,
            },
            "mab_var_0.2_200" => Policy::VariableReset {
                epsilon: 0.2,
                base: 200,
            },
            _ => return Bandit::new(Policy::EpsilonGreedy { epsilon: 0.0 }, 1, settings.seed),
        };
        Bandit::new(policy, ARMS.len(), settings.seed)
    }
}
