//! The graphs that were named, read or generated.

use std::path::Path;

use crate::cli::output::complain;
use crate::lab::Labels;
use crate::lab::experiment::GraphFiles;
use crate::lab::graph::{
    Dropped, Graph, GraphParams, GraphSource, GraphWorld, SourceFile, Worth, generate,
    read_archive, read_tables, read_wikispeedia,
};

/// Graphs by name, and what reports say of them, in the same order.
#[derive(Default)]
pub(super) struct Worlds {
    pub(super) graphs: Vec<(String, Graph)>,
    pub(super) told: Vec<GraphWorld>,
}

/// Makes all graphs that `files` names.
pub(super) fn worlds_of(files: &GraphFiles) -> anyhow::Result<Worlds> {
    let mut worlds = Worlds::default();
    if let (Some(nodes), Some(edges)) = (&files.nodes, &files.edges) {
        let made = read_tables(nodes, edges)?;
        let source = GraphSource::Tables {
            nodes: SourceFile::of(nodes)?,
            edges: SourceFile::of(edges)?,
        };
        worlds.add(&file_name(edges), source, made)?;
    }
    worlds.add_articles(files)?;
    worlds.add_archive(files)?;
    for seed in &files.generate {
        let params = GraphParams {
            nodes: files.generate_nodes,
            degree: files.generate_degree,
            topical: files.generate_topical,
            seed: *seed,
            ..GraphParams::default()
        };
        let name = format!("generated-{seed}");
        worlds.add(&name, GraphSource::Generator(params), generate(&params)?)?;
    }
    anyhow::ensure!(
        !worlds.graphs.is_empty(),
        "no graph; give --nodes FILE --edges FILE, --articles FILE --keyword WORD, --archive FILE --keyword WORD, or --generate SEED \
         (in a file: nodes and edges, articles and keyword, archive and keyword, or generate)"
    );
    Ok(worlds)
}

impl Worlds {
    fn add_articles(&mut self, files: &GraphFiles) -> anyhow::Result<()> {
        let Some(path) = &files.articles else {
            return Ok(());
        };
        let words = files.keyword.iter().map(|word| (word.as_str(), None));
        let categories = files.category.iter().map(|category| {
            let word = category.rsplit(['/', '_']).next().unwrap_or_default();
            (word, Some(category.as_str()))
        });
        for (word, category) in words.chain(categories) {
            let made = read_wikispeedia(path, word, category)?;
            let source = GraphSource::Articles {
                articles: SourceFile::of(path)?,
                keyword: word.to_owned(),
                category: category.map(str::to_owned),
            };
            self.add(category.unwrap_or(word), source, made)?;
        }
        Ok(())
    }

    fn add_archive(&mut self, files: &GraphFiles) -> anyhow::Result<()> {
        if files.archive.is_empty() || files.keyword.is_empty() {
            return Ok(());
        }
        let archive = crate::cli::archive::open(&files.archive)?;
        let labels = files.labels.as_deref().map(Labels::open).transpose()?;
        let named: Vec<SourceFile> = files
            .archive
            .iter()
            .map(|path| SourceFile::of(path))
            .collect::<Result<_, _>>()?;
        for word in &files.keyword {
            let worth = match &labels {
                Some(labels) => Worth::Labels {
                    labels,
                    topic: word,
                },
                None => Worth::Keyword,
            };
            let made = read_archive(&archive, word, worth)?;
            let source = GraphSource::Archive {
                archive: named.clone(),
                keyword: word.clone(),
                labels: files.labels.as_deref().map(SourceFile::of).transpose()?,
            };
            // Articles may have a graph of the same word.
            let name = match &files.articles {
                Some(_) => format!("archive-{word}"),
                None => word.clone(),
            };
            self.add(&name, source, made)?;
        }
        Ok(())
    }

    /// Takes a graph in, and says what it is. Crawls are told apart by their graph's name.
    fn add(
        &mut self,
        name: &str,
        source: GraphSource,
        (graph, dropped): (Graph, Dropped),
    ) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.told.iter().any(|other| other.name == name),
            "two graphs are called {name:?}; name each keyword, category and seed once"
        );
        let world = GraphWorld::of(name, source, &graph, dropped);
        complain(&format!(
            "{name}: {} nodes ({} with a score), {} edges ({} with a score); left out {} self loops, {} double edges",
            world.nodes,
            world.scored,
            world.edges,
            world.scored_edges,
            dropped.self_loops,
            dropped.doubles
        ));
        self.told.push(world);
        self.graphs.push((name.to_owned(), graph));
        Ok(())
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
