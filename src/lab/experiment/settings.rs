//! The contests of an experiment: one for each start, world and cap.

use std::time::Duration;

use super::file::{Given, StartName};
use super::wrong::Wrong;
use crate::lab::contest::{ContestSpec, Setting};
use crate::lab::start::Start;
use crate::url::CanonicalUrl;

/// What may stand in `worlds`.
const WORLDS: [&str; 2] = ["closed", "open"];

/// All contests of `spec`'s topics and crawlers that the file asks for.
pub(super) fn settings(given: &Given<'_>, spec: &ContestSpec) -> Result<Vec<Setting>, Wrong> {
    let file = &given.file;
    let mut starts = Vec::new();
    for start in file.starts.iter().flatten() {
        starts.push(start_of(given, start)?);
    }
    if starts.is_empty() {
        starts.push(("examples".to_owned(), Start::Examples));
    }
    let mut worlds = Vec::new();
    for name in file.worlds.iter().flatten() {
        if !WORLDS.contains(&name.get_ref().as_str()) {
            let problem = crate::text::unknown_name(name.get_ref(), &WORLDS);
            return Err(given.wrong(&name.span(), "worlds", format!("no world {problem}")));
        }
        worlds.push(name.get_ref().as_str());
    }
    if worlds.is_empty() {
        worlds.push("closed");
    }
    let mut caps: Vec<Option<u64>> = Vec::new();
    for cap in file.host_caps.iter().flatten() {
        caps.push(Some(*cap).filter(|cap| *cap > 0));
    }
    if caps.is_empty() {
        caps.push(None);
    }
    let mut settings = Vec::new();
    for (start_name, start) in &starts {
        for world in &worlds {
            for cap in &caps {
                let world_name = if worlds.len() > 1 {
                    format!("-{world}")
                } else {
                    String::new()
                };
                let cap_name = cap.map_or(String::new(), |cap| format!("-cap{cap}"));
                let name = format!("{start_name}{world_name}{cap_name}");
                settings.push(Setting {
                    name,
                    spec: ContestSpec {
                        start: start.clone(),
                        closed_world: *world == "closed",
                        host_cap: *cap,
                        ..spec.clone()
                    },
                });
            }
        }
    }
    for (at, setting) in settings.iter().enumerate() {
        if settings.iter().take(at).any(|one| one.name == setting.name) {
            let problem = format!(
                "`{}` is there twice; a contest has one folder",
                setting.name
            );
            return Err(given.wrong(&(0..0), "starts, worlds, host_caps", problem));
        }
    }
    Ok(settings)
}

fn start_of(given: &Given<'_>, start: &toml::Spanned<StartName>) -> Result<(String, Start), Wrong> {
    let wrong = |problem: String| given.wrong(&start.span(), "starts", problem);
    match start.get_ref() {
        StartName::Kind(name) => match Start::from_name(name) {
            Ok(kind) => Ok((name.clone(), kind)),
            Err(problem) => Err(wrong(format!("{problem}, or a list of URLs"))),
        },
        StartName::Urls(urls) if urls.is_empty() => Err(wrong("an empty list of URLs".to_owned())),
        StartName::Urls(urls) => {
            let parsed = urls.iter().map(|url| {
                CanonicalUrl::parse(url).map_err(|error| wrong(format!("{url:?}: {error}")))
            });
            let number = given.url_lists_before(start) + 1;
            Ok((
                format!("urls{number}"),
                Start::Urls(parsed.collect::<Result<_, _>>()?),
            ))
        }
    }
}

/// What all contests of a file have in common.
pub(super) fn common(given: &Given<'_>) -> Result<ContestSpec, Wrong> {
    let file = &given.file;
    let topics = given.needed(file.topics.clone(), "topics", "name at least one topic")?;
    let twice = |topic: &&String| topics.iter().filter(|one| one == topic).count() > 1;
    if let Some(topic) = topics.iter().find(twice) {
        return Err(given.wrong_field("topics", format!("`{topic}` stands there twice")));
    }
    Ok(ContestSpec {
        crawlers: given.crawlers()?,
        apprentice: file.apprentice.clone(),
        begin: None,
        topics,
        without: file.without.clone().unwrap_or_default(),
        budget: given.budget()?,
        seed_sets: given.seed_sets()?,
        keywords: given.keywords()?,
        start: Start::Examples,
        start_pages: given.start_pages()?,
        within: given.within()?,
        closed_world: true,
        host_cap: None,
        in_flight: given.in_flight()?,
        delay: Duration::from_millis(file.delay_ms.unwrap_or(0)),
        seed: file.seed.unwrap_or(0),
        workers: 1,
    })
}
