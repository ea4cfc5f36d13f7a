//! Figures and moments as words.

use jiff::Timestamp;

/// `2026-11-28T12:00:00Z`, in UTC.
pub(super) fn moment(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => format!("{ms} ms"),
    }
}

/// `12,345`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 topic`, `12,345 topics`; the plural takes an `s`.
pub(super) fn count_of(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
        assert_eq!(count_of(1, "topic"), "1 topic");
        assert_eq!(count_of(1000, "topic"), "1,000 topics");
    }

    #[test]
    fn moments_are_in_utc() {
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!(moment(1_795_824_000_000), "2026-11-28T00:00:00Z");
    }
}
