//! Which topics, which examples? Readers, pruning, the tree of topics, the focus.
//!
//! A topic is a path with `/` between its parts. [`open`] reads examples from any source that the
//! field uses; [`TableFile`] writes them as the one kind of file that everything else takes.
//! Reading never prunes: what stands in the table or the folder is what a critic is trained on.

mod distinct;
mod example;
mod faults;
mod focus;
mod folder;
mod input;
mod json_lines;
mod prune;
mod rdf;
mod source;
mod stats;
mod table;
mod table_file;
mod topic;
mod tree;

pub use distinct::{Distinct, SharedRule, SharedUrl};
pub use example::Example;
pub use faults::{Fault, FaultKind, Faults, Place};
pub use focus::{Focus, FocusError};
pub use folder::{ExampleFile, ExampleFolder, FolderError};
pub(crate) use input::open_input;
pub use json_lines::JsonLinesError;
pub use prune::{
    FOCUS_EXAMPLES_MIN, OTHER, PruneError, PruneParams, PruneStep, Pruned, TaxonomySize, prune,
};
pub use source::{Source, SourceError, SourceKind, open};
pub use stats::{LevelSize, Quantile, TaxonomyStats};
pub use table::{ExampleTable, TableError};
pub use table_file::{TableFile, TableFileError};
pub use topic::{TOPIC_BYTES_MAX, TopicFault, check_topic, covers, parent, topic_path};
pub use tree::{TopicNode, TopicTree};
