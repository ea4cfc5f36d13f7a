//! Which name was meant?

/// Below this similarity (0 to 1) a name is no near match.
const SIMILARITY_MIN: f64 = 0.75;

/// `` `fttl`; did you mean `ftrl`? There are nb, ftrl``: words for a name that is none of `known`.
pub fn unknown_name(name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN);
    let all = known.join(", ");
    match nearest {
        Some((_, near)) => format!("`{name}`; did you mean `{near}`? There are {all}"),
        None => format!("`{name}`; there are {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_answered_with_what_was_meant() {
        let known = ["baseline", "nb", "ftrl"];
        assert_eq!(
            unknown_name("ftlr", &known),
            "`ftlr`; did you mean `ftrl`? There are baseline, nb, ftrl"
        );
        assert_eq!(
            unknown_name("zzz", &known),
            "`zzz`; there are baseline, nb, ftrl"
        );
    }
}
