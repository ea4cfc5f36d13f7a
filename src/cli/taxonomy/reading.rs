//! Reading a taxonomy: what all subcommands share.

use std::collections::HashMap;
use std::path::Path;

use crate::critic::CriticModel;
use crate::taxonomy::{
    Distinct, Faults, SharedRule, SharedUrl, Source, SourceError, TopicTree, open,
};

/// How many examples each topic has.
pub(super) struct Counted {
    pub(super) tree: TopicTree,
    pub(super) distinct: Distinct,
    /// What was read over.
    pub(super) faults: Option<Faults>,
}

/// Counts the examples of a source, or the pages that a model was trained from.
pub(super) fn count(path: &Path) -> anyhow::Result<Counted> {
    let mut source = match open(path) {
        Ok(source) => source,
        Err(error @ SourceError::Unknown { .. }) => {
            // A model has a taxonomy in it. If it is none, the first error is the one to tell.
            let model = CriticModel::open(path).map_err(|_| error)?;
            return Ok(of_model(&model));
        }
        Err(error) => return Err(error.into()),
    };
    let mut distinct = Distinct::new(SharedRule::Keep);
    let mut counts: HashMap<String, u64> = HashMap::new();
    for example in source.by_ref() {
        let example = example?;
        if distinct.take(&example) {
            *counts.entry(example.topic).or_default() += 1;
        }
    }
    // A dump of the structure alone has topics, and no examples.
    let declared = source.declared().into_iter();
    let declared = declared.map(|topic| (topic.to_owned(), 0));
    Ok(Counted {
        tree: TopicTree::of(declared.chain(counts)),
        distinct,
        faults: source.faults().cloned(),
    })
}

fn of_model(model: &CriticModel) -> Counted {
    let classes = model.classes().iter();
    Counted {
        tree: TopicTree::of(classes.map(|class| (class.topic.clone(), class.documents))),
        distinct: Distinct::default(),
        faults: None,
    }
}

/// What a source is called.
pub(super) fn kind(source: &Source) -> &'static str {
    use crate::taxonomy::SourceKind::{Folder, JsonLines, Rdf, Table};
    match source.kind() {
        Rdf => "DMOZ dump",
        Table => "table",
        JsonLines => "JSON lines",
        Folder => "folder",
    }
}

/// `URL: in A, and in B (line 7)`.
pub(super) fn shared_words(shared: &SharedUrl) -> String {
    let SharedUrl {
        url,
        first,
        also,
        line,
    } = shared;
    format!("  {url}: in {first}, and in {also} (line {line})")
}
