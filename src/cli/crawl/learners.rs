//! `apprentice crawl learners`

use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::cli::words::count;
use crate::proto::v1;

/// Which crawl, and how much of it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// One line an epoch and learner, as CSV
    #[arg(long, conflicts_with = "json")]
    over_time: bool,

    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::GetLearnersRequest { name: args.name };
    let report = client.get_learners(request).await?.into_inner();
    if args.json {
        say_json(&report)?;
    } else if args.over_time {
        say(&over_time(&report.epochs))?;
    } else {
        say(&render(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(report: &v1::GetLearnersResponse) -> String {
    if report.learners.is_empty() {
        return format!("the order {} learns nothing", report.order);
    }
    let head = [
        "LEARNER",
        "",
        "INSTANCES",
        "LOG LOSS",
        "LATELY",
        "AUC",
        "WITHIN PAGES",
        "CALIBRATION",
    ];
    let mut text = table(&head, report.learners.iter().map(row));
    if let Some(exploration) = &report.exploration {
        let v1::Exploration {
            differed,
            explored,
            saved,
            cost,
        } = *exploration;
        let words = format!(
            "\nlearner and baseline differed at {} fetches; {} went to the baseline's link; saved so far about {saved:.0} pages, spent on finding out {cost:.1}",
            count(differed),
            count(explored),
        );
        text.push_str(&words);
    }
    text
}

fn row(learner: &v1::Learner) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
    vec![
        learner.name.clone(),
        if learner.followed { "followed" } else { "" }.to_owned(),
        count(learner.instances),
        format!("{:.3}", learner.log_loss),
        format!("{:.3}", learner.log_loss_lately),
        share(learner.auc),
        share(learner.auc_within_page),
        format!("{:.3}", learner.calibration_error),
    ]
}

fn over_time(epochs: &[v1::LearnersAt]) -> String {
    let head = "pages,learner,followed,instances,log_loss,log_loss_lately,auc,auc_within_page,calibration_error";
    let mut lines = vec![head.to_owned()];
    for at in epochs {
        for learner in &at.learners {
            let share = |share: Option<f64>| share.map_or(String::new(), |x| format!("{x:.4}"));
            lines.push(format!(
                "{},{},{},{},{:.4},{:.4},{},{},{:.4}",
                at.pages,
                learner.name,
                u8::from(learner.followed),
                learner.instances,
                learner.log_loss,
                learner.log_loss_lately,
                share(learner.auc),
                share(learner.auc_within_page),
                learner.calibration_error,
            ));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> v1::GetLearnersResponse {
        let learner = |name: &str, followed, auc| v1::Learner {
            name: name.to_owned(),
            followed,
            instances: 1234,
            log_loss: 0.25,
            log_loss_lately: 0.125,
            auc,
            auc_within_page: None,
            calibration_error: 0.031,
        };
        let learners = vec![
            learner("ftrl", true, Some(0.912)),
            learner("baseline", false, None),
        ];
        v1::GetLearnersResponse {
            order: "auto".to_owned(),
            epochs: vec![v1::LearnersAt {
                pages: 10,
                learners: learners.clone(),
            }],
            learners,
            exploration: Some(v1::Exploration {
                differed: 900,
                explored: 31,
                saved: 120.4,
                cost: 6.04,
            }),
        }
    }

    #[test]
    fn the_table_says_who_is_followed_and_what_exploration_has_cost() {
        insta::assert_snapshot!(render(&report()));
        let idle = v1::GetLearnersResponse {
            order: "baseline".to_owned(),
            ..Default::default()
        };
        assert_eq!(render(&idle), "the order baseline learns nothing");
    }

    #[test]
    fn a_line_an_epoch_and_learner() {
        let csv = over_time(&report().epochs);
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "10,ftrl,1,1234,0.2500,0.1250,0.9120,,0.0310");
        assert_eq!(lines[0].split(',').count(), lines[2].split(',').count());
    }
}
