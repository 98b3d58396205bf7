//! More to do than there is time for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use usher::engine::{Decision, Query, Request};
use usher::webhook::Admit;

use super::client::review;
use super::server::{Decide, Server};

/// Reviews with the uid `slow` take so long, unless they are interrupted; all others take no time.
fn sometimes_slow(takes: Duration) -> impl Admit {
    Decide(move |request: &Request<'_>, query: &Query<'_>| {
        let end = Instant::now() + takes;
        while request.uid == "slow" && Instant::now() < end && !(query.interrupt)() {
            std::hint::spin_loop();
        }
        Decision::default()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expensive_evaluations_do_not_hold_up_cheap_ones() {
    let server = Arc::new(Server::start(sometimes_slow(Duration::from_millis(250))).await);
    let mut slow = JoinSet::new();
    for _ in 0..8 {
        let mut client = server.connect().await;
        slow.spawn(async move { client.post("/validate", review("slow")).await.unwrap().status });
    }
    let mut cheap = server.connect().await;
    let mut took = Vec::new();
    let mut answered = 0;
    while !slow.is_empty() {
        let start = Instant::now();
        assert_eq!(cheap.post("/validate", review("cheap")).await.unwrap().response()["allowed"], true);
        took.push(start.elapsed());
        while let Some(status) = slow.try_join_next() {
            assert_eq!(status.unwrap(), 200);
            answered += 1;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(answered, 8);
    took.sort();
    let tail = took[took.len() * 99 / 100];
    println!(
        "{} cheap requests: median {:?}, 99% within {tail:?}, all within {:?}",
        took.len(),
        took[took.len() / 2],
        took[took.len() - 1]
    );
    // Each of the eight would have held one of the two threads for a quarter of a second.
    assert!(tail < Duration::from_millis(100), "{tail:?}");
    assert_eq!(server.metric("usher_admission_slow_total", &["time"]), 8.0);
    drop(cheap);
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_decided_in_time_is_told_to_come_back_and_nothing_is_late() {
    let server = Arc::new(Server::start(sometimes_slow(Duration::from_millis(250))).await);
    // So that the server knows what to expect.
    for _ in 0..4 {
        assert_eq!(server.post("/validate", review("slow")).await.status, 200);
    }
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let mut client = server.connect().await;
        callers.spawn(async move {
            let start = Instant::now();
            // Of two seconds, one is the reserve.
            let answer = client.post("/validate?timeout=2s", review("slow")).await.unwrap();
            (answer, start.elapsed())
        });
    }
    let (mut answered, mut sent_away) = (0, 0);
    while let Some(ended) = callers.join_next().await {
        let (answer, elapsed) = ended.unwrap();
        assert!(elapsed < Duration::from_millis(1_900), "{elapsed:?}");
        if answer.status == 429 {
            assert!(matches!(answer.header("retry-after"), Some("1" | "2")));
            sent_away += 1;
        } else {
            assert_eq!(answer.response()["allowed"], true);
            answered += 1;
        }
    }
    assert!(answered >= 1 && sent_away >= 10, "{answered} were answered, {sent_away} sent away");
    assert_eq!(server.metric("usher_admission_shed_total", &["deadline"]), f64::from(sent_away));
    // Cheap ones are none of that.
    assert_eq!(server.post("/validate?timeout=2s", review("cheap")).await.response()["allowed"], true);
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_stops_when_its_caller_has_gone() {
    let (stopped, runs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (has_stopped, is_running) = (Arc::clone(&stopped), Arc::clone(&runs));
    let server = Server::start(Decide(move |_: &Request<'_>, query: &Query<'_>| {
        let start = Instant::now();
        while !(query.interrupt)() {
            // Past the first slice.
            runs.store(start.elapsed() > Duration::from_millis(50), Relaxed);
            std::hint::spin_loop();
        }
        stopped.store(is_running_long(start), Relaxed);
        Decision::default()
    }))
    .await;
    let mut client = server.connect().await;
    let length = review("u").len();
    let head = format!("POST /validate HTTP/1.1\r\nHost: usher\r\nContent-Length: {length}\r\n\r\n");
    client.send(format!("{head}{}", review("u"))).await.unwrap();
    let until = async |flag: &AtomicBool| {
        let end = Instant::now() + Duration::from_secs(5);
        while !flag.load(Relaxed) {
            assert!(Instant::now() < end, "not within 5 s, of the 9 s that the caller had given");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    until(&is_running).await;
    drop(client);
    until(&has_stopped).await;
    server.stop().await;
}

fn is_running_long(start: Instant) -> bool {
    start.elapsed() > Duration::from_millis(50)
}
