//! `apprentice critic counts`: pages as the counts that a critic sees, for other programs.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::examples::ExampleArgs;
use crate::cli::output::complain;
use crate::critic::CriticModel;

/// Which pages, by the vocabulary of which critic.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model whose words are counted
    model: PathBuf,

    #[command(flatten)]
    examples: ExampleArgs,

    /// Folder for counts.svm (svmlight: class, then word:count from word 0 on, then `# URL`),
    /// classes.txt and words.txt (one a line, in the order of their numbers)
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let model = CriticModel::open_or_general(&args.model)?;
    let beside = |name: &str| args.out.join(name);
    let failed = || format!("{}: cannot be written", args.out.display());
    fs::create_dir_all(&args.out).with_context(failed)?;
    let lines = |names: &[String]| names.join("\n") + "\n";
    fs::write(beside("classes.txt"), lines(model.class_names())).with_context(failed)?;
    fs::write(beside("words.txt"), lines(model.vocabulary())).with_context(failed)?;
    let file = File::create(beside("counts.svm")).with_context(failed)?;
    let mut file = BufWriter::new(file);
    let (mut written, mut left_out) = (0_u64, 0_u64);
    args.examples.read(|example| {
        let (Ok(page), Some(class)) = (&example.page, model.class_of(&example.topic)) else {
            left_out += 1;
            return Ok(());
        };
        write!(file, "{class}").with_context(failed)?;
        for (term, count) in model.bag(page) {
            write!(file, " {term}:{count}").with_context(failed)?;
        }
        // A URL has no line break in it; a path may.
        let name = example.url.replace(['\n', '\r'], " ");
        writeln!(file, " # {name}").with_context(failed)?;
        written += 1;
        Ok(())
    })?;
    file.flush().with_context(failed)?;
    complain(&format!(
        "{written} pages in {}; {left_out} left out (no page, or no class of the model)",
        beside("counts.svm").display()
    ));
    Ok(ExitCode::SUCCESS)
}
