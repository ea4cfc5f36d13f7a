//! Many hosts on one server that were never asked before.

use std::net::IpAddr;
use std::sync::Mutex;

use super::*;
use crate::fetch::Request;

/// Every host stands at one address. Notes how many requests are under way at once.
#[derive(Clone)]
struct OneServer {
    inner: ScriptedSource,
    clock: SimulatedClock,
    /// Requests under way, and the most of them.
    under_way: Arc<Mutex<(u32, u32)>>,
    asked: Arc<Mutex<Vec<Timestamp>>>,
}

impl OneServer {
    fn of(crawl: &Crawl) -> Self {
        Self {
            inner: crawl.source.clone(),
            clock: crawl.clock.clone(),
            under_way: Arc::default(),
            asked: Arc::default(),
        }
    }

    fn most(&self) -> u32 {
        self.under_way.lock().unwrap().1
    }
}

impl Source for OneServer {
    async fn fetch(&self, request: Request) -> Outcome {
        self.asked.lock().unwrap().push(self.clock.now());
        {
            let mut under_way = self.under_way.lock().unwrap();
            under_way.0 += 1;
            under_way.1 = under_way.1.max(under_way.0);
        }
        // Whoever else may go goes.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.under_way.lock().unwrap().0 -= 1;
        self.inner.fetch(request).await
    }

    async fn locate(&self, _: &Request) -> Option<IpAddr> {
        Some([192, 0, 2, 1].into())
    }
}

async fn most_at_once(per_address: u32, robots: RobotsPolicy) -> u32 {
    let seeds: Vec<String> = (0..20).map(|n| format!("h{n}/1")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let mut crawl = Crawl::new(&seeds);
    crawl.robots = robots;
    crawl.limits().in_flight_max = 32;
    crawl.limits().requests_per_address_max = per_address;
    for seed in &seeds {
        crawl.page(seed, "reef", &[]);
    }
    let server = OneServer::of(&crawl);
    let (engine, _handle) = Engine::open(crawl.parts(server.clone(), Pace::Replay)).unwrap();
    let progress = engine.run().await.unwrap();
    assert_eq!(progress.pages, 20);
    server.most()
}

#[tokio::test]
async fn their_first_contacts_share_the_limit_of_the_server() {
    let obey = || RobotsPolicy::Obey(RobotsCache::default());
    assert_eq!(Box::pin(most_at_once(0, obey())).await, 4);
    assert_eq!(Box::pin(most_at_once(1, obey())).await, 1);
    assert_eq!(Box::pin(most_at_once(7, obey())).await, 7);
    // Also where robots.txt is known, or nobody's business.
    assert_eq!(Box::pin(most_at_once(2, RobotsPolicy::Ignore)).await, 2);
}

#[tokio::test]
async fn the_server_gets_so_many_first_contacts_a_delay() {
    let seeds: Vec<String> = (0..6).map(|n| format!("h{n}/1")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let mut crawl = Crawl::new(&seeds);
    crawl.limits().in_flight_max = 32;
    crawl.limits().delay_ms_min = Some(1_000);
    crawl.limits().requests_per_address_max = 2;
    let server = OneServer::of(&crawl);
    let (engine, _handle) = Engine::open(crawl.parts(server.clone(), Pace::Replay)).unwrap();
    engine.run().await.unwrap();
    let asked = server.asked.lock().unwrap().clone();
    let since_start: Vec<i64> = asked.iter().map(|at| at.0 - asked[0].0).collect();
    // Nothing has ended before the first two, which take no time; then two every second.
    assert_eq!(since_start, [0, 0, 500, 1_000, 1_500, 2_000]);
}
