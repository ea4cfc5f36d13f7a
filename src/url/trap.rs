//! URLs that a server makes without end, seen from their text alone.

use super::CanonicalUrl;

/// Segments of a path at most: relative links that miss their base grow a segment a hop.
const SEGMENTS_MAX: usize = 20;

/// A run of one to four segments that comes this often in a row is a loop.
const REPEATS_MAX: usize = 3;

/// A segment may come this often anywhere in a path.
const SAME_SEGMENT_MAX: usize = 5;

/// Parameters of a query at most.
const PARAMETERS_MAX: usize = 24;

/// Bytes of a query at most.
const QUERY_BYTES_MAX: usize = 1024;

/// A parameter with the same value may come this often.
const SAME_PARAMETER_MAX: usize = 2;

/// No page is about a day after this year: a calendar that turns its leaves for whoever asks.
const YEAR_MAX: u32 = 2100;

/// What a URL looks like that no end is to be seen of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// its path is too deep
    Depth,
    /// segments of its path repeat
    Repeats,
    /// its query is too long, or repeats
    Query,
    /// a day in a far year
    Calendar,
}

/// The trap that the URL looks like, if it does.
pub fn trap_of(url: &CanonicalUrl) -> Option<Trap> {
    let rest = url.as_str().split_once("://").map_or("", |(_, rest)| rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // The first is the authority; a last slash ends the segment before it.
    let path: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    if path.len() > SEGMENTS_MAX {
        return Some(Trap::Depth);
    }
    if repeats(&path) {
        return Some(Trap::Repeats);
    }
    let parameters: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    if query.len() > QUERY_BYTES_MAX || parameters.len() > PARAMETERS_MAX || doubles(&parameters) {
        return Some(Trap::Query);
    }
    let is_far = path.windows(2).any(|pair| is_far_month(pair[0], pair[1]))
        || parameters
            .iter()
            .any(|parameter| is_far_parameter(parameter));
    is_far.then_some(Trap::Calendar)
}

fn repeats(path: &[&str]) -> bool {
    let in_a_row = (1..=4).any(|run| {
        path.windows(run * REPEATS_MAX).any(|part| {
            let (first, rest) = part.split_at(run);
            // Numbers repeat by chance: 1/1/1.
            first.iter().any(|segment| !is_number(segment))
                && rest.chunks(run).all(|chunk| chunk == first)
        })
    });
    in_a_row
        || path.iter().any(|segment| {
            let same = path.iter().filter(|other| *other == segment).count();
            !is_number(segment) && same > SAME_SEGMENT_MAX
        })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether one parameter comes again and again.
fn doubles(parameters: &[&str]) -> bool {
    parameters.iter().any(|parameter| {
        let same = parameters
            .iter()
            .filter(|other| *other == parameter)
            .count();
        same > SAME_PARAMETER_MAX
    })
}

/// `/7749/02`
fn is_far_month(year: &str, month: &str) -> bool {
    is_far_year(year)
        && is_number(month)
        && month
            .parse()
            .is_ok_and(|month: u32| (1..=12).contains(&month))
}

/// `year=7749`, `date=7749-02-01`
fn is_far_parameter(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let dated = ["year", "date", "month", "calendar", "yr"];
    if !dated.iter().any(|word| name.contains(word)) {
        return false;
    }
    is_far_year(value.split('-').next().unwrap_or_default())
}

fn is_far_year(text: &str) -> bool {
    text.len() == 4 && is_number(text) && text.parse().is_ok_and(|year: u32| year > YEAR_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trap(rest: &str) -> Option<Trap> {
        trap_of(&CanonicalUrl::parse(&format!("http://h.test/{rest}")).unwrap())
    }

    #[test]
    fn what_grows_without_end_is_a_trap() {
        let numbers = |count| (0..count).map(|n: u32| n.to_string()).collect::<Vec<_>>();
        let deep = numbers(21).join("/");
        let wide = numbers(25).join("&");
        for (rest, expected) in [
            (deep.as_str(), Trap::Depth),
            // MarginaliaSearch 110: a relative link on a server that answers any path.
            ("a/b/a/b/a/b/", Trap::Repeats),
            ("x/dir/dir/dir/y", Trap::Repeats),
            ("a/1/a/2/a/3/a/4/a/5/a/6", Trap::Repeats),
            (&format!("?{wide}"), Trap::Query),
            (&format!("?q={}", "x".repeat(1100)), Trap::Query),
            ("?add=1&add=1&add=1", Trap::Query),
            // yasserg/crawler4j 31: statistics of the year 7749.
            ("stats?year=7749&month=2", Trap::Calendar),
            ("?caldate=7749-02-01", Trap::Calendar),
            ("archive/7749/02/", Trap::Calendar),
        ] {
            assert_eq!(trap(rest), Some(expected), "{rest}");
        }
    }

    #[test]
    fn what_pages_are_called_is_no_trap() {
        for rest in [
            "",
            "a/b/a/b/",
            "2024/01/01/01/",
            "1/1/1/1",
            "dir/dir/file",
            "?tag=a&tag=b&tag=c",
            "?year=1066&month=10",
            "product/7749/13",
            "7749/",
            "?id=7749",
            "?q=one+two&page=3",
        ] {
            assert_eq!(trap(rest), None, "{rest}");
        }
    }

    proptest! {
        #[test]
        fn no_url_panics(rest in "[a-z0-9/?&=%.-]{0,60}") {
            let _ = trap(&rest);
        }
    }
}
