//! Retraining through the program: a crawl is given a learner, a crash in between leaves what was booked,
//! and one can go back.

use apprentice::proto::v1;

use crate::support::daemon::{Home, Web, create, finished, toy};

fn epochs(home: &Home) -> Vec<v1::Epoch> {
    let said = home.run(&["crawl", "epochs", "bees", "--json"]);
    serde_json::from_str(said.done()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_retrained_and_goes_back_and_a_crash_forgets_neither() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut spec = home.spec("bees", &toy());
    spec.budget = 12;
    "baseline".clone_into(&mut spec.order);
    let mut client = daemon.client().await;
    create(&mut client, spec).await;
    finished(&mut client, "bees").await;
    let none = home.run(&["crawl", "epochs", "bees"]);
    assert_eq!(none.done(), "crawl bees has no epoch yet\n");
    let idle = home.run(&["crawl", "retrain", "bees"]);
    assert_ne!(idle.code, Some(0));
    assert!(idle.err.contains("name a learner"), "{}", idle.err);
    let typo = home.run(&["crawl", "retrain", "bees", "--learner", "ftlr"]);
    assert!(typo.err.contains("did you mean `ftrl`?"), "{}", typo.err);

    let said = home.run(&[
        "crawl",
        "retrain",
        "bees",
        "--learner",
        "ftrl",
        "--d-max",
        "2",
    ]);
    assert!(
        said.done().contains("epoch 1 orders the waiting links"),
        "{}",
        said.out
    );
    daemon.kill();
    drop(daemon);

    let mut daemon = home.daemon_on(&web).await;
    let said = home.run(&["crawl", "status", "bees"]);
    assert!(
        said.done().contains("order     ftrl\nepoch     1\n"),
        "{}",
        said.out
    );
    let said = home.run(&["crawl", "retrain", "bees", "--learner", "nb"]);
    assert!(said.done().contains("retrained"), "{}", said.out);
    let said = home.run(&["crawl", "use-epoch", "bees", "1"]);
    assert!(said.done().contains("returned to 1"), "{}", said.out);
    let unknown = home.run(&["crawl", "use-epoch", "bees", "9"]);
    assert!(
        unknown.error(4).contains("there are 1 to 3"),
        "{}",
        unknown.err
    );
    let before = epochs(&home);
    daemon.kill();
    drop(daemon);

    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let after = epochs(&home);
    let facts = |epochs: &[v1::Epoch]| -> Vec<_> {
        let rows = epochs.iter();
        rows.map(|row| (row.number, row.learner.clone(), row.instances, row.in_force))
            .collect()
    };
    assert_eq!(facts(&after), facts(&before));
    assert_eq!((after[0].instances, after.len()), (after[2].instances, 3));
    assert_eq!(after[0].apprentice.as_ref().unwrap().d_max, Some(2));
    home.run(&["crawl", "set", "bees", "--budget", "20"]).done();
    finished(&mut client, "bees").await;
    daemon.stop().await;
}
