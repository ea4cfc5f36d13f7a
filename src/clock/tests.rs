use super::*;

/// What every clock promises.
async fn conforms(clock: impl Clock) {
    let start = clock.now();
    clock.sleep_until(Timestamp(start.0 - 1000)).await;
    let until = clock.now().after(Duration::from_millis(20));
    clock.sleep_until(until).await;
    assert!(clock.now() >= until);
    assert!(clock.clone().now() >= until);
}

#[tokio::test]
async fn both_clocks_keep_the_contract() {
    conforms(SystemClock::new()).await;
    conforms(SimulatedClock::starting_at(Timestamp(0))).await;
}

#[tokio::test]
async fn a_simulated_hour_takes_no_time() {
    let clock = SimulatedClock::starting_at(Timestamp(5));
    clock.sleep_until(Timestamp(3_600_005)).await;
    assert_eq!(clock.now(), Timestamp(3_600_005));
    clock.advance_to(Timestamp(7));
    assert_eq!(clock.now(), Timestamp(3_600_005));
}

#[test]
fn chance_differs_by_purpose_and_repeats_by_seed() {
    use rand::RngExt;
    let draw = |seed, purpose| -> u64 { chance(seed, purpose).random() };
    assert_eq!(draw(1, "a"), draw(1, "a"));
    assert_ne!(draw(1, "a"), draw(1, "b"));
    assert_ne!(draw(1, "a"), draw(2, "a"));
}
