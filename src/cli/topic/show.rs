//! The report on a topic that was added, for people.

use crate::critic::{ExtendReport, Share, TopicCount};

pub(super) fn render(report: &ExtendReport) -> String {
    let mut lines = vec![(
        "examples",
        format!(
            "{} counted, {} duplicates, {} left out; {} words became terms",
            report.examples,
            report.duplicates,
            report.skipped.len(),
            report.new_terms
        ),
    )];
    lines.push((
        "recall",
        format!(
            "{}: examples taken for it, each judged by a class made of the others{}",
            share(&report.recall),
            list("; the rest for ", &report.taken_for)
        ),
    ));
    match &report.rest {
        Some(rest) => {
            lines.push((
                "precision",
                format!(
                    "{}: of the pages taken for it, at the shares of {} pages of the other topics \
                     (an example each) to {} examples",
                    share(&rest.precision),
                    rest.pages,
                    report.examples
                ),
            ));
            lines.push((
                "the rest",
                format!(
                    "{} of {} pages of other topics are taken for it{}",
                    rest.taken.count,
                    rest.pages,
                    list(": ", &rest.taken_of)
                ),
            ));
            lines.push((
                "others",
                format!(
                    "{:.3} of those pages are judged right with it, {:.3} without",
                    rest.right_after.value, rest.right_before.value
                ),
            ));
        }
        None => lines.push((
            "precision",
            "not measured: no pages of the other topics; give --archive with those that the model \
             was trained on"
                .to_owned(),
        )),
    }
    let near = report.nearest.iter();
    let near: Vec<String> = near
        .map(|class| format!("{} {:.2}", class.topic, class.nats_a_word))
        .collect();
    lines.push((
        "nearest",
        format!("{} (nats a word that tell them from it)", near.join(", ")),
    ));
    let mut text: Vec<String> = lines
        .into_iter()
        .map(|(name, value)| format!("{name:<9} {value}"))
        .collect();
    let findings = report.findings.iter();
    text.extend(findings.map(|finding| format!("{:<9} {finding}", "note")));
    text.join("\n")
}

fn share(share: &Share) -> String {
    format!(
        "{:.2} ({} of {}; 95 %: {:.2} to {:.2})",
        share.value, share.count, share.of, share.low, share.high
    )
}

fn list(before: &str, counts: &[TopicCount]) -> String {
    let named = counts.iter().take(4);
    let named: Vec<String> = named
        .map(|count| format!("{} {}", count.topic, count.pages))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("{before}{}", named.join(", "))
    }
}
