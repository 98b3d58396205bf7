//! Reviews that other projects wrote.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::server::{Server, allow};

/// `shared/corpus` beside one of the directories above this package.
fn corpus(name: &str) -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|directory| directory.join("shared/corpus").join(name)).find(|file| file.is_file())
}

#[tokio::test]
async fn every_review_of_the_corpus_gets_a_well_formed_answer_with_its_uid() {
    let Some(file) = corpus("requests.jsonl") else {
        eprintln!("skipped: there is no shared/corpus/requests.jsonl above {}", env!("CARGO_MANIFEST_DIR"));
        return;
    };
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let text = std::fs::read_to_string(file).unwrap();
    let (mut rows, mut allowed) = (0, 0);
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let review = &row["review"];
        for path in ["/mutate", "/validate?timeout=5s"] {
            let answer = client.post(path, review.to_string()).await.unwrap();
            match review["request"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
                Some(uid) => {
                    let response = answer.response();
                    assert_eq!(response["uid"], uid, "{}", row["id"]);
                    allowed += usize::from(response["allowed"] == true);
                    if row["completeness"] == "full" {
                        assert_eq!(response["allowed"], true, "{}: {response}", row["id"]);
                    }
                }
                None => assert_eq!(answer.status, 400, "{}: {}", row["id"], answer.text()),
            }
        }
        rows += 1;
    }
    assert!(rows > 0 && allowed > 0);
    drop(client);
    server.stop().await;
}
