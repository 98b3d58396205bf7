use serde_json::Value;

use super::*;

/// `checks.jsonl` is what the API server's code says about expressions of a policy: the first line of the error, or the result's type.
#[test]
fn variables_have_the_types_that_kubernetes_declares() {
    let mut env = Env::new().with_mutation_types();
    env.declare_typed("request", policy_request_type());
    for slot in [NAMESPACE_OBJECT, AUTHORIZER, AUTHORIZER_REQUEST_RESOURCE] {
        env.declare_typed(NAMES[slot as usize], type_of(slot));
    }
    let rows: Vec<Value> = include_str!("checks.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a check is JSON"))
        .collect();
    assert!(rows.len() > 100, "only {} checks", rows.len());
    let mut misses = Vec::new();
    for row in &rows {
        let expression = row["expr"].as_str().expect("an expression");
        let expected = row["error"].as_str().or(row["type"].as_str()).expect("an answer");
        let found = match env.compile(expression) {
            Ok(program) => program.result_type().to_string(),
            Err(issues) => issues.to_string().lines().next().unwrap_or_default().to_owned(),
        };
        if found != expected {
            misses.push(format!("{expression}\n    {found}\n    want {expected}"));
        }
    }
    assert!(misses.is_empty(), "{} of {} differ:\n{}", misses.len(), rows.len(), misses.join("\n"));
}

#[test]
fn only_rules_of_usher_have_the_objects_in_the_request() {
    assert!(base_env().compile("has(request.object) && request.oldObject == null").is_ok());
    assert!(base_env().compile("request.uid == ''").is_err());
}
