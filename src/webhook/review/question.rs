//! A review that is asked to see whether a server answers.

use serde_json::{Value, json};

use super::ReviewVersion;

/// The text of a review: somebody would make a ConfigMap, as a dry run, so that nobody has to do anything about it.
pub fn question(uid: &str) -> String {
    let name = "usher-ping";
    let review = json!({
        "apiVersion": ReviewVersion::V1.api_version(),
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "name": name,
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": name},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}},
            "dryRun": true,
        },
    });
    review.to_string()
}

/// Whether the server that was asked has allowed the request.
///
/// # Errors
/// What the text is instead of an answer to this uid.
pub fn answer_to(uid: &str, text: &str) -> Result<bool, String> {
    let review: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let response = &review["response"];
    let Some(allowed) = response["allowed"].as_bool() else {
        return Err("no AdmissionReview with a response".to_owned());
    };
    if response["uid"] != uid {
        return Err(format!("an answer to another request: {}", response["uid"]));
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::super::parse;
    use super::*;

    #[test]
    fn the_question_is_a_review_that_the_server_can_read() {
        let text = question("u");
        let memory = Bump::new();
        let review = parse(text.as_bytes(), &memory).unwrap();
        assert_eq!((review.version, review.request.uid), (ReviewVersion::V1, "u"));
        assert!(review.request.dry_run);
    }

    #[test]
    fn only_an_answer_to_the_question_is_one() {
        let answer = |uid: &str| json!({"response": {"uid": uid, "allowed": false}}).to_string();
        assert_eq!(answer_to("u", &answer("u")), Ok(false));
        for (text, told) in [
            (answer("v").as_str(), "another request"),
            ("{}", "no AdmissionReview"),
            ("<html>", "no JSON"),
            (question("u").as_str(), "no AdmissionReview"),
        ] {
            assert!(answer_to("u", text).unwrap_err().contains(told), "{text}");
        }
    }
}
