//! The house rule: a module imports only what stands below it in `LAYERS`.
//!
//! Within one crate the compiler accepts any cycle of modules, so this test is the fence. It reads
//! every `crate::NAME` and `crate::{NAME, ..}` outside comments; tests beside the code are read as
//! well, since a test that reaches up is a hint that the thing under test stands too low.

use std::fs;
use std::path::{Path, PathBuf};

/// Top to bottom, as in docs/architecture.md.
const LAYERS: &[&str] = &[
    "cli",
    "daemon",
    "dashboard",
    "control",
    "lab",
    "registry",
    "collect",
    "crawl",
    "frontier",
    "apprentice",
    "booking",
    "critic",
    "features",
    "fetch",
    "page",
    "taxonomy",
    "archive",
    "measure",
    "store",
    "text",
    "url",
    "clock",
    "proto",
];

#[test]
fn modules_import_downwards_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap();
        let owner = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let owner = owner.trim_end_matches(".rs");
        if matches!(owner, "lib" | "main") {
            continue;
        }
        let rank = LAYERS.iter().position(|layer| *layer == owner);
        let Some(rank) = rank else {
            wrong.push(format!(
                "src/{owner} is in no layer: give it its place in LAYERS"
            ));
            continue;
        };
        let text = fs::read_to_string(&file).unwrap();
        if text.contains("super::super::") {
            wrong.push(format!(
                "src/{}: write crate:: instead of super::super::",
                inside.display()
            ));
        }
        for (root, name) in imports(&text) {
            match LAYERS.iter().position(|layer| *layer == name) {
                Some(target) if target < rank => wrong.push(format!(
                    "src/{}: {owner} may not import {name}, which stands above it",
                    inside.display()
                )),
                None if root == "crate::" && name.starts_with(char::is_uppercase) => {
                    wrong.push(format!(
                        "src/{}: import {name} by its module, not through lib.rs",
                        inside.display()
                    ));
                }
                _ => {}
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} breaches:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The first path segment after each `crate::` and `super::`, groups opened one level.
///
/// `super::` counts because in a file directly under src/ it is the crate's root.
fn imports(text: &str) -> Vec<(&'static str, String)> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n");
    let after = |root: &'static str| {
        code.split(root)
            .skip(1)
            .flat_map(|rest| heads(rest).into_iter().map(move |name| (root, name)))
            .collect::<Vec<_>>()
    };
    [after("crate::"), after("super::")].concat()
}

/// `a::b` gives `a`; `{a::b, c}` gives `a` and `c`.
fn heads(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![first_word(rest)];
    };
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, sign) in group.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                names.push(first_word(&group[start..at]));
                start = at + 1;
            }
            '}' => {
                names.push(first_word(&group[start..at]));
                break;
            }
            _ => {}
        }
    }
    names
}

fn first_word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
