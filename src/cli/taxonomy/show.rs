//! `apprentice taxonomy show`

use std::path::PathBuf;
use std::process::ExitCode;

use super::reading;
use crate::cli::exit;
use crate::cli::output::{complain, say, say_json};
use crate::cli::words::{count, count_of};
use crate::taxonomy::{TopicNode, TopicTree};

/// Which taxonomy, and how much of it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The taxonomy: any file or folder that import takes, or a model
    taxonomy: PathBuf,

    /// Only this topic and those under it
    topic: Option<String>,

    /// Levels that are shown
    #[arg(short, long, value_name = "N", default_value_t = 2)]
    depth: usize,

    /// Print each topic as JSON, one a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let tree = reading::count(&args.taxonomy)?.tree;
    let (nodes, above) = match &args.topic {
        None => (tree.nodes(), 0),
        Some(topic) => {
            let nodes = tree.subtree(topic.trim().trim_matches('/'));
            let Some(first) = nodes.first() else {
                return Ok(unknown(&tree, topic));
            };
            (nodes, first.level - 1)
        }
    };
    let level_max = above.saturating_add(args.depth);
    for node in nodes.iter().filter(|node| node.level <= level_max) {
        if args.json {
            say_json(node)?;
        } else {
            say(&line(node, above, node.level == level_max))?;
        }
    }
    if !args.json && args.topic.is_none() {
        say(&format!(
            "{}, {}",
            count_of(nodes.len() as u64, "topic"),
            count_of(tree.examples(), "example")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `  Music  1,204 (12 of its own, 30 topics under it)`
fn line(node: &TopicNode, above: usize, last: bool) -> String {
    let level = node.level - above;
    let name = if level == 1 { &node.topic } else { node.name() };
    let mut more = Vec::new();
    if node.own > 0 && node.own < node.examples {
        more.push(format!("{} of its own", count(node.own)));
    }
    if last && node.topics > 0 {
        more.push(format!("{} under it", count_of(node.topics, "topic")));
    }
    let more = match more.as_slice() {
        [] => String::new(),
        more => format!(" ({})", more.join(", ")),
    };
    let indent = "  ".repeat(level - 1);
    format!("{indent}{name}  {}{more}", count(node.examples))
}

fn unknown(tree: &TopicTree, topic: &str) -> ExitCode {
    let near: Vec<&str> = tree
        .find(topic)
        .into_iter()
        .take(3)
        .map(|node| node.topic.as_str())
        .collect();
    let near = match near.as_slice() {
        [] => "; `apprentice taxonomy show` without a topic lists all".to_owned(),
        near => format!("; did you mean `{}`?", near.join("` or `")),
    };
    complain(&format!("error: no topic `{topic}`{near}"));
    ExitCode::from(exit::NOT_FOUND)
}
