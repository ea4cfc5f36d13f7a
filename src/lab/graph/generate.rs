//! Large graphs out of a seed, with the locality of topics: rich people have rich friends.

use rand::RngExt;

use super::model::{Dropped, Edge, Graph, GraphSizeError, NodeId};
use crate::clock::{Chance, chance};

/// Edges of one node at most, before doubles are taken out.
const DEGREE_MAX: f64 = 5_000.0;

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct GraphParams {
    /// Nodes.
    pub nodes: NodeId,
    /// Mean edges of a node, before doubles are taken out; above 0.
    pub degree: f64,
    /// Nodes of a community; each node's topic is its community's.
    pub community: NodeId,
    /// Share of edges that stay in the community, 0 to 1.
    pub locality: f64,
    /// Share of communities that are about the topic, 0 to 1; their neighbours in the numbering are
    /// half so.
    pub topical: f64,
    /// Seed of all chance.
    pub seed: u64,
}

impl Default for GraphParams {
    fn default() -> Self {
        Self {
            nodes: 100_000,
            degree: 17.5,
            community: 200,
            locality: 0.6,
            topical: 0.02,
            seed: 0,
        }
    }
}

/// Why a graph cannot be generated.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum GraphParamsError {
    /// A setting is out of its range.
    #[error("{field} is {value}, but has to be {range}")]
    Range {
        /// Which.
        field: &'static str,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// Too many nodes.
    #[error(transparent)]
    Size(#[from] GraphSizeError),
}

impl GraphParams {
    fn check(&self) -> Result<(), GraphParamsError> {
        let range = |field, value, range| GraphParamsError::Range {
            field,
            value,
            range,
        };
        if self.nodes < 2 {
            return Err(range("nodes", f64::from(self.nodes), "2 or more"));
        }
        if self.community < 2 {
            return Err(range("community", f64::from(self.community), "2 or more"));
        }
        if !(0.1..=1000.0).contains(&self.degree) {
            return Err(range("degree", self.degree, "from 0.1 to 1000"));
        }
        for (field, value) in [("locality", self.locality), ("topical", self.topical)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(range(field, value, "from 0 to 1"));
            }
        }
        Ok(())
    }
}

/// Generates a graph. Degrees and popularity are heavy-tailed. In a topical community nearly half of
/// the nodes have a score, elsewhere one in 200; an edge into a scored node has a score of its own
/// one time in two, another one in 50.
///
/// # Errors
/// [`GraphParamsError`].
pub fn generate(params: &GraphParams) -> Result<(Graph, Dropped), GraphParamsError> {
    params.check()?;
    let mut luck = chance(params.seed, "graph nodes");
    let beta = betas(params, &mut luck);
    let scored: Vec<bool> = beta.iter().map(|beta| *beta > 0.0).collect();
    let mut luck = chance(params.seed, "graph edges");
    let made = Graph::from_rows(beta, |node, row| {
        for _ in 0..degree(params, &mut luck) {
            let target = target(params, node, &mut luck);
            let odds = if scored[target as usize] { 0.5 } else { 0.02 };
            let alpha = if luck.random::<f64>() < odds {
                log_count(&mut luck)
            } else {
                0.0
            };
            row.push(Edge { target, alpha });
        }
    });
    Ok(made?)
}

fn betas(params: &GraphParams, luck: &mut Chance) -> Vec<f32> {
    let communities = params.nodes.div_ceil(params.community);
    let topical: Vec<bool> = (0..communities)
        .map(|_| luck.random::<f64>() < params.topical)
        .collect();
    let is_topical = |at: usize| topical.get(at).copied().unwrap_or(false);
    (0..params.nodes)
        .map(|node| {
            let at = (node / params.community) as usize;
            let odds = if is_topical(at) {
                0.45
            } else if is_topical(at + 1) || at.checked_sub(1).is_some_and(is_topical) {
                0.1
            } else {
                0.005
            };
            if luck.random::<f64>() < odds {
                log_count(luck)
            } else {
                0.0
            }
        })
        .collect()
}

/// log(1 + a count of 1 or more, half as likely each further one).
fn log_count(luck: &mut Chance) -> f32 {
    let zeros = luck.random::<u32>().trailing_zeros().min(16);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "at most 16; small numbers are exact"
    )]
    let count = f64::from(zeros + 1) as f32;
    count.ln_1p()
}

/// A Pareto number of exponent 2, whose mean is twice its least, rounded at random.
fn degree(params: &GraphParams, luck: &mut Chance) -> u64 {
    let uniform: f64 = 1.0 - luck.random::<f64>();
    let wanted = (params.degree / 2.0 / uniform.sqrt()).min(DEGREE_MAX);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to DEGREE_MAX"
    )]
    let whole = (wanted + luck.random::<f64>()) as u64;
    whole
}

/// A node of the same community, of one of the two beside it, or any; low numbers are popular.
fn target(params: &GraphParams, node: NodeId, luck: &mut Chance) -> NodeId {
    let squared = luck.random::<f64>().powi(2);
    if luck.random::<f64>() >= params.locality {
        // Any: popular places are spread over all communities.
        let communities = params.nodes.div_ceil(params.community);
        let first = luck.random_range(0..communities) * params.community;
        return within(first, squared, params);
    }
    let first = node / params.community * params.community;
    let first = match luck.random_range(0..10_u32) {
        0 => first.saturating_sub(params.community),
        1 if first + params.community < params.nodes => first + params.community,
        _ => first,
    };
    within(first, squared, params)
}

/// The place at the share `part` (0 to below 1) of the community that begins at `first`.
fn within(first: NodeId, part: f64, params: &GraphParams) -> NodeId {
    let size = params.community.min(params.nodes - first);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to below the size"
    )]
    let place = (part * f64::from(size)) as NodeId;
    first + place.min(size - 1)
}
