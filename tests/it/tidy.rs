//! House rules that no lint knows: how long a file may be, that it says what it is, that no file
//! is forgotten, that comments are ASCII, that links in the documents lead somewhere.
//!
//! Each rule is a function from text to complaints, tried below on made-up text, and then applied
//! to the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A file of more lines, its `#[cfg(test)]` part left out, holds two things.
const LINES_MAX: usize = 500;

/// Files that may be longer, and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// The crate's roots: no `mod` names them.
const ROOTS: &[&str] = &[
    "src/lib.rs",
    "src/main.rs",
    "tests/it/main.rs",
    // A library of its own, built by its test.
    "tests/it/power/layer.rs",
];

#[test]
fn sources_keep_the_house_rules() {
    let mut complaints = Vec::new();
    for path in sources() {
        let text = read(&path);
        complaints.extend(length(&path, &text, LONG_FILES));
        complaints.extend(first_comment(&path, &text));
        complaints.extend(loose_ends(&path, &text));
        complaints.extend(comments_in_ascii(&path, &text));
    }
    for (path, _) in LONG_FILES {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        if lines_without_tests(&text) <= LINES_MAX {
            complaints.push(format!(
                "{path}: needs no exception, take it out of LONG_FILES"
            ));
        }
    }
    report(&complaints);
}

#[test]
fn every_source_is_named_by_a_mod() {
    let files: Vec<(String, String)> = sources()
        .into_iter()
        .map(|path| {
            let text = read(&path);
            (path, text)
        })
        .collect();
    report(&orphans(&files, ROOTS));
}

#[test]
fn links_in_the_documents_resolve() {
    let mut complaints = Vec::new();
    let mut documents = files_below("docs", "md");
    documents.push("README.md".to_owned());
    for document in documents {
        for target in dangling(&document, &read(&document), |path| {
            root().join(path).exists()
        }) {
            complaints.push(format!("{document}: the link to {target} leads nowhere"));
        }
    }
    report(&complaints);
}

/// The file is longer than it may be.
fn length(path: &str, text: &str, exceptions: &[(&str, &str)]) -> Option<String> {
    let lines = lines_without_tests(text);
    let excepted = exceptions.iter().any(|(file, _)| *file == path);
    // A file of tests alone may be as long as the thing that it tests.
    if lines <= LINES_MAX || excepted || path.ends_with("/tests.rs") {
        return None;
    }
    Some(format!(
        "{path}: {lines} lines without tests, more than {LINES_MAX}: it is two files"
    ))
}

/// The lines before the unit tests at the end of a file; attributes may stand between.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens = |at: usize| {
        let next = lines[at + 1..].iter().take(6);
        lines[at] == "#[cfg(test)]" && next.copied().any(|line| line == "mod tests {")
    };
    (0..lines.len())
        .find(|at| opens(*at))
        .unwrap_or(lines.len())
}

/// The file does not say what it is.
fn first_comment(path: &str, text: &str) -> Option<String> {
    // A tests.rs is told by the file that it stands beside.
    if path.ends_with("/tests.rs") {
        return None;
    }
    let says = text.lines().take(5).any(|line| {
        line.strip_prefix("//!")
            .is_some_and(|rest| !rest.trim().is_empty())
    });
    (!says).then(|| format!("{path}: no //! in its first five lines says what it is"))
}

/// Marks of unfinished work.
fn loose_ends(path: &str, text: &str) -> Vec<String> {
    // Spelled in pieces, or this file would complain about itself.
    let marks = [
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["X", "XX"].concat(),
        ["todo", "!("].concat(),
        ["unimplemented", "!("].concat(),
    ];
    let mut complaints = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for mark in &marks {
            if has_word(line, mark) {
                complaints.push(format!(
                    "{path}:{number}: {mark}: finish it or file an issue"
                ));
            }
        }
    }
    complaints
}

/// Whether `word` stands in `line` and is no part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open = word.ends_with('(');
        !before.is_some_and(joins) && (open || !after.is_some_and(joins))
    })
}

/// A comment that is not ASCII.
///
/// A comment is taken to start at the first `//` of a line that is not inside a string literal of
/// that line; a string over several lines should hold no `//` with such characters behind it.
fn comments_in_ascii(path: &str, text: &str) -> Vec<String> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !comment_of(line).is_ascii())
        .map(|(number, _)| format!("{path}:{number}: a comment that is not ASCII"))
        .collect()
}

/// The comment at the end of `line`, or "".
fn comment_of(line: &str) -> &str {
    let mut in_string = false;
    let mut escaped = false;
    let mut previous = ' ';
    for (at, sign) in line.char_indices() {
        match sign {
            '"' if escaped || (previous == '\'' && line[at + 1..].starts_with('\'')) => {}
            '"' => in_string = !in_string,
            '/' if !in_string && line[at..].starts_with("//") => return &line[at..],
            _ => {}
        }
        escaped = sign == '\\' && !escaped;
        previous = sign;
    }
    ""
}

/// Source files that no `mod` names.
fn orphans(files: &[(String, String)], roots: &[&str]) -> Vec<String> {
    let mut named: BTreeSet<String> = roots.iter().map(|&root| root.to_owned()).collect();
    for (path, text) in files {
        let folder = module_folder(path, roots);
        for module in text.lines().filter_map(module_of) {
            named.insert(format!("{folder}/{module}.rs"));
            named.insert(format!("{folder}/{module}/mod.rs"));
        }
    }
    files
        .iter()
        .filter(|(path, _)| !named.contains(path))
        .map(|(path, _)| format!("{path}: no mod names it, so it is never compiled"))
        .collect()
}

/// Where the modules that `path` declares lie.
fn module_folder<'a>(path: &'a str, roots: &[&str]) -> &'a str {
    if roots.contains(&path) || path.ends_with("/mod.rs") {
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    } else {
        path.trim_end_matches(".rs")
    }
}

/// `pub(crate) mod name;` gives `name`.
fn module_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let declared = line.split_once("mod ").filter(|(before, _)| {
        before.is_empty() || before.trim() == "pub" || before.starts_with("pub(")
    })?;
    declared.1.strip_suffix(';')
}

/// The relative targets of Markdown links in `text` that `exists` does not know.
fn dangling(document: &str, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(document).parent().unwrap();
    let mut missing = Vec::new();
    for target in link_targets(text) {
        let path = target.split(['#', '?']).next().unwrap();
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        if elsewhere || path.is_empty() {
            continue;
        }
        if !exists(&normal(&folder.join(path))) {
            missing.push(target.to_owned());
        }
    }
    missing
}

/// What stands in the round brackets of `[text](target)`, outside code.
fn link_targets(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        for (at, piece) in line.split('`').enumerate() {
            if at % 2 == 0 {
                targets.extend(
                    piece
                        .split("](")
                        .skip(1)
                        .filter_map(|rest| rest.split([')', ' ']).next()),
                );
            }
        }
    }
    targets
}

/// `a/../b` gives `b`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn sources() -> Vec<String> {
    let folders = ["src", "tests"];
    folders
        .iter()
        .flat_map(|folder| files_below(folder, "rs"))
        .collect()
}

/// Files below `folder` with that extension, as paths from the root with `/`; none if the folder
/// does not exist.
fn files_below(folder: &str, extension: &str) -> Vec<String> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(root().join(folder)) else {
        return files;
    };
    for entry in entries {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if root().join(&path).is_dir() {
            files.extend(files_below(&path, extension));
        } else if Path::new(&name)
            .extension()
            .is_some_and(|is| is == extension)
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn report(complaints: &[String]) {
    let count = complaints.len();
    assert!(count == 0, "{count} complaints:\n{}", complaints.join("\n"));
}

#[test]
fn a_long_file_is_told_and_its_tests_do_not_count() {
    let code = "fn f() {}\n".repeat(LINES_MAX);
    assert_eq!(length("src/a.rs", &code, &[]), None);
    let tested = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
    assert_eq!(length("src/a.rs", &tested, &[]), None);
    let long = format!("{code}fn g() {{}}\n");
    assert!(
        length("src/a.rs", &long, &[])
            .unwrap()
            .contains("501 lines")
    );
    assert_eq!(length("src/a.rs", &long, &[("src/a.rs", "a table")]), None);
    assert_eq!(length("src/a/tests.rs", &long, &[]), None);
}

#[test]
fn a_file_without_a_first_comment_is_told() {
    assert!(first_comment("src/a.rs", "use b;\n").is_some());
    assert!(first_comment("src/a.rs", "//!\nuse b;\n").is_some());
    assert!(first_comment("src/a.rs", "\n\n\n\n\n//! Late.\n").is_some());
    assert_eq!(first_comment("src/a.rs", "//! A thing.\n"), None);
}

#[test]
fn loose_ends_are_told_and_words_that_hold_them_are_not() {
    let mark = ["TO", "DO"].concat();
    let told = loose_ends("src/a.rs", &format!("fn f() {{}}\n// {mark}: more\n"));
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("src/a.rs:2: "));
    assert_eq!(
        loose_ends("a", &format!("let {mark}S = 1;")),
        Vec::<String>::new()
    );
    assert_eq!(loose_ends("a", &["    todo", "!()"].concat()).len(), 1);
}

#[test]
fn only_comments_have_to_be_ascii() {
    let told = |line| comments_in_ascii("a", line).len();
    assert_eq!(told("let x = 1; // caf\u{e9}"), 1);
    assert_eq!(told("/// \u{201c}quoted\u{201d}"), 1);
    assert_eq!(told("let x = \"caf\u{e9}\"; // plain"), 0);
    assert_eq!(told("let x = \"http://caf\u{e9}\";"), 0);
    assert_eq!(told("let x = \"\\\"//\u{e9}\";"), 0);
    assert_eq!(told("let x = '\"'; // caf\u{e9}"), 1);
}

#[test]
fn a_file_that_no_mod_names_is_told() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("src/lib.rs", "//! x\npub mod a;\nmod b;\n"),
        file("src/a/mod.rs", "pub(crate) mod c;\n// mod d;\n"),
        file("src/a/c.rs", "#[cfg(test)]\nmod tests;\n"),
        file("src/a/c/tests.rs", ""),
        file("src/a/d.rs", ""),
        file("src/b.rs", "mod e;\n"),
        file("src/b/e.rs", ""),
        file("src/e.rs", ""),
    ];
    let told = orphans(&files, &["src/lib.rs"]);
    let told: Vec<&str> = told
        .iter()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(told, ["src/a/d.rs", "src/e.rs"]);
}

#[test]
fn a_dangling_link_is_told_and_links_elsewhere_are_not() {
    let text = "\
        [a](b.md) [c](../README.md#top) [d](https://x.example/) [e](#here)\n\
        [f](gone.md) `[g](code.md)` [h](b.md \"title\")\n\
        ```\n[i](fenced.md)\n```\n";
    let exists = |path: &Path| path == Path::new("docs/b.md") || path == Path::new("README.md");
    assert_eq!(dangling("docs/a.md", text, exists), ["gone.md"]);
}
