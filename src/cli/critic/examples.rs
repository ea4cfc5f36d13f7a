//! Where example pages come from: the flags that training and testing share.

use std::path::PathBuf;

use crate::critic::examples::{ReadExample, read_folder, read_source};
use crate::taxonomy::{ExampleFolder, open};

/// Example pages: a table (with its text, or an archive), or a folder.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Examples")]
pub(super) struct ExampleArgs {
    /// Examples: a table (CSV with a head: topic,url and, if it holds the text, title,description,text),
    /// JSON lines or a DMOZ dump, each plain, gzip or zstd
    #[arg(long, value_name = "FILE", conflicts_with = "folder")]
    examples: Option<PathBuf>,

    /// WARC files that hold the pages of the table's URLs
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "examples")]
    archive: Vec<PathBuf>,

    /// Folder with a folder of pages for each topic
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ExampleArgs {
    /// Whether any were named.
    pub(super) fn are_given(&self) -> bool {
        self.examples.is_some() || self.folder.is_some()
    }

    /// The files, as a model's record of its training names them.
    pub(super) fn sources(&self) -> Vec<String> {
        let files = self
            .examples
            .iter()
            .chain(&self.archive)
            .chain(&self.folder);
        // Their names alone: a model is handed to others.
        files
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    /// Reads all examples, in order.
    pub(super) fn read(
        &self,
        mut take: impl FnMut(ReadExample) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if let Some(folder) = &self.folder {
            return read_folder(&ExampleFolder::open(folder)?, take);
        }
        let Some(path) = &self.examples else {
            anyhow::bail!(
                "no examples; give --examples FILE with --archive FILE.., or --folder DIR"
            );
        };
        let mut source = open(path)?;
        let archive = match self.archive.as_slice() {
            [] => None,
            files => Some(crate::cli::archive::open(files)?),
        };
        let mut failed = 0_u64;
        let mut of = 0_u64;
        read_source(&mut source, archive.as_ref(), |example| {
            of += 1;
            if let Err(reason) = &example.page {
                failed += 1;
                tracing::info!(url = example.url, reason, "example left out");
            }
            take(example)
        })?;
        for line in source.faults().iter().flat_map(|faults| faults.lines()) {
            tracing::warn!("{line}");
        }
        if failed > 0 {
            tracing::warn!("{failed} of {of} examples have no page (-v names them)");
        }
        Ok(())
    }
}
