//! A command line that cannot be understood, told on one line like every other error.

use std::process::ExitCode;

/// The command line cannot be understood.
const MISUSED: u8 = 2;

/// Prints what clap has to say: help and version as they are, an error on one line.
pub(super) fn report(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        super::output::complain(&one_line(&error.render().to_string()));
        return ExitCode::from(MISUSED);
    }
    // Whoever closed the pipe has seen enough of the help.
    let _ = error.print();
    ExitCode::SUCCESS
}

/// The paragraphs of clap's words as one line, with the help of the subcommand that was meant.
fn one_line(words: &str) -> String {
    let mut line = String::new();
    let mut command = String::new();
    for part in words
        .lines()
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.starts_with("For more information"))
    {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            command = command_of(usage);
            break;
        }
        let between = match part {
            _ if line.is_empty() => "",
            _ if line.ends_with(':') => " ",
            _ if part.starts_with("tip:") || part.starts_with('[') => "; ",
            _ => ", ",
        };
        line.push_str(between);
        line.push_str(part.strip_prefix("tip: ").unwrap_or(part));
    }
    if command.is_empty() {
        return format!("{line}; see --help");
    }
    format!("{line}; see `{command} --help`")
}

/// The program and its subcommands at the beginning of a usage.
fn command_of(usage: &str) -> String {
    let names = usage.split(' ').take_while(|word| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !word.starts_with('-')
    });
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn line(args: &str) -> String {
        let error = crate::cli::Args::try_parse_from(args.split(' ')).unwrap_err();
        one_line(&error.render().to_string())
    }

    #[test]
    fn a_wrong_flag_is_told_with_the_right_one_and_where_help_is() {
        assert_eq!(
            line("apprentice crawl start x --budgte 3"),
            "error: unexpected argument '--budgte' found; a similar argument exists: '--budget'; \
             see `apprentice crawl start --help`"
        );
    }

    #[test]
    fn what_is_missing_is_listed() {
        let line = line("apprentice lab run");
        let begin = "error: the following required arguments were not provided: --archive ";
        assert!(line.starts_with(begin), "{line}");
        assert!(line.contains(", --topic ") && line.ends_with("; see `apprentice lab run --help`"));
    }

    #[test]
    fn a_wrong_value_is_told_where_clap_gives_no_usage() {
        let line = line("apprentice crawl frontier x -k 0");
        assert_eq!(
            line,
            "error: invalid value '0' for '--k <K>': 0 is not in 1..=10000; see --help"
        );
    }
}
