//! The figures of an evaluation, for people.

use crate::cli::output::table;
use crate::critic::{Figures, FocusCalibration, Share};

/// Accuracy, a table of the classes, and the most frequent confusions.
pub(super) fn render(of: &str, figures: &Figures) -> String {
    let head = ["TOPIC", "PAGES", "PRECISION", "RECALL", "F1"];
    let rows = figures.classes.iter().map(|class| {
        vec![
            class.topic.clone(),
            class.recall.of.to_string(),
            share(&class.precision),
            share(&class.recall),
            format!("{:.3}", class.f1),
        ]
    });
    let mut text = format!(
        "accuracy on {} {of}: {} (95 %: {:.3} to {:.3}), macro F1 {:.3}\n\
         log loss {:.3}, calibrated {:.3}; expected calibration error {:.3}, calibrated {:.3} \
         (of the best class; 15 bins of equal width; of equal mass {:.3}, {:.3})\n\n{}",
        figures.accuracy.of,
        share(&figures.accuracy),
        figures.accuracy.low,
        figures.accuracy.high,
        figures.macro_f1,
        figures.log_loss,
        figures.log_loss_calibrated,
        figures.ece,
        figures.ece_calibrated,
        figures.ece_equal_mass,
        figures.ece_calibrated_equal_mass,
        table(&head, rows)
    );
    for confusion in &figures.confusions {
        text = format!(
            "{text}\n{} of {} taken for {}",
            confusion.pages, confusion.topic, confusion.taken_for
        );
    }
    text
}

fn share(share: &Share) -> String {
    if share.of == 0 {
        return "-".to_owned();
    }
    format!("{:.3}", share.value)
}

/// Precision, recall and calibration of one focus.
pub(super) fn render_focus(of: &FocusCalibration) -> String {
    format!(
        "{} pages, {:.3} of them in the focus\n\
         relevance 0.5 and above: precision {} (95 %: {:.3} to {:.3}), recall {} ({:.3} to {:.3})\n\
         expected calibration error of the relevance {:.3}, calibrated {:.3}, and at the class \
         shares of these pages {:.3}",
        of.pages,
        of.share_seen,
        share(&of.precision),
        of.precision.low,
        of.precision.high,
        share(&of.recall),
        of.recall.low,
        of.recall.high,
        of.raw.ece(),
        of.calibrated.ece(),
        of.shifted.ece(),
    )
}
