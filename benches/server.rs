//! CPU time of the server per request, as ratios to a no-op on the same accept loop: `make bench`.
//!
//! Each contestant serves on a thread of its own; a client thread sends the same review over keep-alive connections, several in
//! flight, and what the server's thread spent is read from the kernel's scheduler. Wall clock does not count, so that a busy
//! machine changes little. Rounds of all contestants alternate, and each is judged by its best round.

#[path = "server/client.rs"]
mod client;
#[path = "server/contestant.rs"]
mod contestant;
#[path = "server/memory.rs"]
mod memory;
#[path = "server/rules.rs"]
mod rules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contestant::Contestant;

/// The allocator of the binary, for every contestant.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds per contestant; the best one counts. Many short ones, so that each contestant has some that nothing disturbed.
const ROUNDS: usize = 61;
const REQUESTS_PER_ROUND: usize = 480;
/// What ten thousand guarded rules may cost, as a ratio to ten.
const GUARDED_GOAL: f64 = 1.1;
/// Resident memory of the idle server, in MiB.
const MEMORY_GOAL: f64 = 25.0;

fn main() -> ExitCode {
    let workload = workload();
    let review = review(workload.as_deref());
    let requests = std::env::var("REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(REQUESTS_PER_ROUND);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut contestants = contestant::all(directory.path(), workload.as_deref());
    println!("{} bytes a review, {ROUNDS} rounds of {requests} requests", review.len());
    let mut best = vec![f64::INFINITY; contestants.len()];
    for round in 0..=ROUNDS {
        for (contestant, best) in contestants.iter_mut().zip(&mut best) {
            // The first round is for the caches.
            let micros = contestant.round(&review, requests);
            if round > 0 {
                *best = best.min(micros);
            }
        }
    }
    let floor = best[0];
    println!("{:<44} {:>10} {:>8} {:>8}", "server", "CPU µs/req", "ratio", "goal");
    let mut is_met = true;
    for (contestant, micros) in contestants.iter().zip(&best) {
        let ratio = micros / floor;
        let goal = contestant.goal.map_or_else(String::new, |goal| format!("≤ {goal}"));
        is_met &= contestant.goal.is_none_or(|goal| ratio <= goal);
        println!("{:<44} {micros:>10.2} {ratio:>8.2} {goal:>8}", contestant.name);
    }
    let [.., few, many] = &best[..] else { return ExitCode::FAILURE };
    let ratio = many / few;
    is_met &= ratio <= GUARDED_GOAL;
    println!(
        "{:<44} {:>10} {ratio:>8.2} {:>8}",
        "10,000 guarded rules over 10",
        "",
        format!("≤ {GUARDED_GOAL}")
    );
    contestants.into_iter().for_each(Contestant::stop);
    let mib = memory::idle_with(rules::thousand_written());
    is_met &= mib <= MEMORY_GOAL;
    println!("{:<44} {mib:>6.1} MiB {:>8} {:>8}", "idle memory, 1,000 rules", "", format!("≤ {MEMORY_GOAL}"));
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where the common workload is, above this package.
fn workload() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|directory| directory.join("shared/bench")).find(|directory| directory.is_dir())
}

/// The review of the common workload, or, where that is not at hand, one of its size and shape.
fn review(workload: Option<&Path>) -> Vec<u8> {
    workload.and_then(|workload| std::fs::read(workload.join("review-good.json")).ok()).unwrap_or_else(|| {
        println!("no shared/bench/review-good.json above this package; using a made-up Pod");
        made_up_review()
    })
}

fn made_up_review() -> Vec<u8> {
    let container = |n: usize| {
        format!(
            r#"{{"name":"c{n}","image":"registry.example/app/c{n}:1.2.{n}","resources":{{"limits":{{"memory":"64Mi"}}}},"env":[{}]}}"#,
            (0..20)
                .map(|e| format!(r#"{{"name":"VARIABLE_{e}","value":"value number {e}"}}"#))
                .collect::<Vec<_>>()
                .join(",")
        )
    };
    let containers = [container(0), container(1), container(2)].join(",");
    let fields = (0..150)
        .map(|f| format!(r#""f:field{f}":{{"f:inner":{{}},"f:other":{{}}}}"#))
        .collect::<Vec<_>>()
        .join(",");
    let object = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"web","namespace":"default","managedFields":[{{"manager":"kubectl","fieldsV1":{{{fields}}}}}]}},"spec":{{"containers":[{containers}]}}}}"#
    );
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"00000000-0000-0000-0000-000000000000","kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},"name":"web","namespace":"default","operation":"CREATE","userInfo":{{"username":"kubernetes-admin","groups":["system:masters"]}},"object":{object},"oldObject":null,"dryRun":false,"options":{{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}}}}"#
    )
    .into_bytes()
}
