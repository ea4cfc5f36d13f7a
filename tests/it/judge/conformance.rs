//! What every judge of pages must keep to, near or far.

use std::sync::Arc;
use std::time::Duration;

use apprentice::critic::examples::page_of_bytes;
use apprentice::critic::{
    BEST_CLASSES_MAX, FarJudge, JudgeAddress, PageFacts, PageJudge, RemoteJudge, RemoteOptions,
    Verdict, page_to_judge,
};
use apprentice::page::Page;
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;

use crate::support::daemon::{TOPIC, toy};
use crate::support::judge::{Judge, bayes, model};

/// A hundred pages of the generated web, one without a word, one with nothing but strange ones and one
/// of a million characters.
fn pages() -> Vec<(CanonicalUrl, Page)> {
    let web = toy();
    let mut pages: Vec<_> = web
        .examples()
        .into_iter()
        .take(100)
        .map(|(_, url)| {
            let page = page_of_bytes(&url, &web.answer(&url).body).unwrap();
            (url, page)
        })
        .collect();
    let url = CanonicalUrl::parse("http://strange.example/").unwrap();
    let long = format!(
        "<title>{}</title>{}",
        "long & ".repeat(1000),
        "honey ".repeat(200_000)
    );
    for html in [
        "<html></html>",
        "<p>xyzzy \u{1F41D} \u{0416}\u{0443}\u{043A} <b>&lt;p&gt;",
        &long,
    ] {
        pages.push((url.clone(), page_of_bytes(&url, html.as_bytes()).unwrap()));
    }
    pages
}

/// Asks the judge and holds its verdicts against the contract; gives them.
pub(super) async fn conforms(
    judge: impl AsyncFn(&[(CanonicalUrl, Page)]) -> Vec<Verdict>,
    classes: impl Fn() -> usize,
) -> Vec<Verdict> {
    let pages = pages();
    let verdicts = judge(&pages).await;
    assert_eq!(verdicts.len(), pages.len(), "one verdict a page");
    for (verdict, (url, _)) in verdicts.iter().zip(&pages) {
        assert!(verdict.log_odds.is_finite(), "{url}: {verdict:?}");
        assert!((0.0..=1.0).contains(&verdict.relevance()));
        assert!(verdict.best.len() <= BEST_CLASSES_MAX);
        assert!(
            verdict
                .best
                .is_sorted_by(|a, b| a.log_posterior >= b.log_posterior),
            "{url}: {verdict:?}"
        );
        for score in &verdict.best {
            assert!(score.log_posterior <= 0.0, "{url}: {verdict:?}");
            assert!(usize::from(score.class.0) < classes(), "{url}: {verdict:?}");
        }
    }
    assert_eq!(judge(&pages).await, verdicts, "asked again");
    for place in [0, 50, pages.len() - 3, pages.len() - 1] {
        let alone = judge(&pages[place..=place]).await;
        assert_eq!(alone, verdicts[place..=place], "alone");
    }
    let best = |at: usize| verdicts[at].relevance();
    assert!((0..100).any(|at| best(at) > 0.9) && (0..100).any(|at| best(at) < 0.1));
    verdicts
}

/// As the engine does it.
pub(super) async fn ask(judge: &RemoteJudge, pages: &[(CanonicalUrl, Page)]) -> Vec<Verdict> {
    let shown: Vec<v1::JudgePage> = pages
        .iter()
        .map(|(url, page)| {
            let facts = PageFacts {
                url,
                content_type: Some("text/html"),
                body_digest: 1,
                truncated: false,
            };
            page_to_judge(page, &facts)
        })
        .collect();
    judge
        .judge(&shown.iter().collect::<Vec<_>>())
        .await
        .unwrap()
}

pub(super) fn remote(address: &str, topic: &str) -> RemoteJudge {
    RemoteJudge::new(RemoteOptions {
        address: JudgeAddress::parse(address).unwrap(),
        ca_file: None,
        token_file: None,
        deadline: Duration::from_mins(1),
        pages_max: 1000,
        topics: vec![topic.to_owned()],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_critic_and_the_same_critic_behind_grpc_conform_and_agree() {
    let near = bayes(&model(), &[TOPIC.to_owned()]).unwrap();
    let near_judge = async |pages: &[(CanonicalUrl, Page)]| {
        near.judge_batch(&pages.iter().map(|(_, page)| page).collect::<Vec<_>>())
    };
    let nears = conforms(near_judge, || near.class_names().len()).await;
    let server = Judge::on_tcp(None);
    let far = Arc::new(remote(&server.address, TOPIC));
    let far_judge = async |pages: &[(CanonicalUrl, Page)]| ask(&far, pages).await;
    let fars = conforms(far_judge, || far.class_names().len()).await;
    // A judge elsewhere says one value; the calibrated one stays with the critic.
    let said = nears.into_iter().map(|verdict| Verdict {
        calibrated_log_odds: verdict.log_odds,
        ..verdict
    });
    // The last page is cut on its way.
    assert!(said.take(102).eq(fars.into_iter().take(102)));
    assert_eq!(far.class_names().to_vec(), near.class_names());
}
