//! Which topics, which examples? Focus, folder and table readers.
//!
//! A topic is a path with `/` between its parts, written as its author wrote it. Reading never
//! prunes: what stands in the table or the folder is what a critic is trained on.

mod focus;
mod folder;
mod table;
mod topic;

pub use focus::{Focus, FocusError};
pub use folder::{ExampleFile, ExampleFolder, FolderError};
pub use table::{Example, ExampleTable, TableError};
pub use topic::{TOPIC_BYTES_MAX, TopicFault, check_topic, covers, parent};
