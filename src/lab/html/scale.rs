//! Round numbers along an axis.

/// At most about `wanted` round places in `low..=high`: 1, 2 or 5 times a power of ten apart.
pub(super) fn ticks(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let rough = span / wanted;
    let power = 10.0_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| *step >= rough * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0 * power);
    // Adding 0 makes a zero of -0.
    let first = (low / step - 1e-9).ceil() + 0.0;
    let last = (high / step + 1e-9).floor();
    let mut places = Vec::new();
    let mut at = first;
    while at <= last {
        places.push(at * step);
        at += 1.0;
    }
    places
}

/// The powers of ten in `low..=high`, which are above 0.
pub(super) fn decades(low: f64, high: f64) -> Vec<f64> {
    let mut place = 10.0_f64.powf(low.log10().ceil());
    let mut places = Vec::new();
    while place <= high * (1.0 + 1e-9) && places.len() < 40 {
        places.push(place);
        place *= 10.0;
    }
    places
}

/// A number as people write it: no more digits than it needs.
pub(super) fn written(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    };
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    thousands(&text)
}

/// `12,345` for `12345`; years and the like stay as they are.
fn thousands(text: &str) -> String {
    let (whole, rest) = text
        .split_once('.')
        .map_or((text, ""), |(whole, rest)| (whole, rest));
    let digits = whole.trim_start_matches('-');
    if digits.len() < 5 || !rest.is_empty() {
        return text.to_owned();
    }
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if whole.starts_with('-') { "-" } else { "" };
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_round() {
        assert_eq!(
            ticks(0.0, 1000.0, 5.0),
            [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
        );
        assert_eq!(ticks(0.0, 730.0, 5.0), [0.0, 200.0, 400.0, 600.0]);
        assert_eq!(ticks(3.0, 3.0, 5.0), [3.0]);
        assert_eq!(decades(1.0, 5000.0), [1.0, 10.0, 100.0, 1000.0]);
        let small: Vec<String> = ticks(0.0, 0.4, 4.0).into_iter().map(written).collect();
        assert_eq!(small, ["0", "0.1", "0.2", "0.3", "0.4"]);
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let numbers = [0.0, 0.125, 12.34, 123.4, 1234.0, 123_456.0, -98_765.0];
        let written = numbers.map(written);
        assert_eq!(
            written,
            ["0", "0.125", "12.3", "123", "1234", "123,456", "-98,765"]
        );
    }
}
