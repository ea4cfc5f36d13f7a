//! What is printed, and where.

use std::io::{self, IsTerminal, Write};

/// Prints a line on standard output.
///
/// # Errors
/// Whatever the system says; a broken pipe ends the program quietly.
pub(super) fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Prints a value as JSON on one line.
///
/// # Errors
/// As [`say`].
pub(super) fn say_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    say(&serde_json::to_string(value)?)?;
    Ok(())
}

/// Prints a line on standard error; what cannot be said there cannot be said at all.
pub(super) fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether a person looks at standard output.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// `line` cut to what one row of the terminal holds, so that drawing over it leaves nothing behind.
pub(super) fn one_row(line: &str) -> String {
    let columns = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    line.chars().take(columns.saturating_sub(1)).collect()
}

/// A table for people: a head and rows, columns aligned, without a frame.
pub(super) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(head);
    for row in rows {
        table.add_row(row);
    }
    let lines = table.to_string();
    lines
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}
