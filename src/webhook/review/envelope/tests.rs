use bumpalo::Bump;
use rstest::rstest;

use super::*;

const FULL: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
  "uid":"705ab4f5","kind":{"group":"autoscaling","version":"v1","kind":"Scale"},
  "resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale",
  "requestKind":{"group":"autoscaling","version":"v1","kind":"Scale"},
  "requestResource":{"group":"apps","version":"v1beta1","resource":"deployments"},"requestSubResource":"scale",
  "name":"web","namespace":"shop","operation":"UPDATE",
  "userInfo":{"username":"a\u0064min","uid":"014fbff9","groups":["g1","g\n2"],"extra":{"k":["v"]}},
  "object":{"n": 1e999, "a": [ 1.0 ]},"oldObject":null,"dryRun":true,"options":{"kind":"UpdateOptions"},
  "later":{"versions":["may add fields"]}}}"#;

#[test]
fn every_field_is_read_and_objects_stay_raw() {
    let memory = Bump::new();
    let review = parse(FULL.as_bytes(), &memory).unwrap();
    assert_eq!(review.version, ReviewVersion::V1);
    let request = review.request;
    assert_eq!(request.uid, "705ab4f5");
    assert_eq!(request.kind, GroupVersionKind { group: "autoscaling", version: "v1", kind: "Scale" });
    assert_eq!(request.resource.resource, "deployments");
    assert_eq!(request.request_resource.map(|resource| resource.version), Some("v1beta1"));
    assert_eq!((request.sub_resource, request.request_sub_resource), ("scale", Some("scale")));
    assert_eq!((request.name, request.namespace), ("web", "shop"));
    assert_eq!(request.operation, Operation::Update);
    assert_eq!(request.user_info.username, "admin");
    assert_eq!(request.user_info.groups, ["g1", "g\n2"]);
    assert_eq!(request.user_info.extra, Some(r#"{"k":["v"]}"#));
    assert_eq!(request.object, Some(r#"{"n": 1e999, "a": [ 1.0 ]}"#));
    assert_eq!((request.old_object, request.dry_run), (None, true));
    assert_eq!(request.options, Some(r#"{"kind":"UpdateOptions"}"#));
}

#[test]
fn any_prefix_is_refused_with_the_uid_as_soon_as_it_is_complete() {
    let memory = Bump::new();
    let uid_ends = FULL.find(r#"705ab4f5""#).unwrap() + 9;
    for end in 0..FULL.len() {
        let refusal = parse(&FULL.as_bytes()[..end], &memory).unwrap_err();
        assert_eq!(refusal.uid, (end >= uid_ends).then_some("705ab4f5"), "{end}");
    }
}

#[test]
fn a_uid_is_echoed_up_to_16_kib_and_refused_beyond() {
    let memory = Bump::new();
    for (length, ok) in [(16 * 1024, true), (16 * 1024 + 1, false)] {
        let text = FULL.replace("705ab4f5", &"u".repeat(length));
        let uid = match parse(text.as_bytes(), &memory) {
            Ok(review) => Some(review.request.uid),
            Err(refusal) => {
                assert_eq!(refusal.message, "request.uid: longer than 16384 bytes");
                refusal.uid
            }
        };
        assert_eq!(uid.map(str::len), ok.then_some(length));
    }
}

#[rstest]
#[case::empty("", "invalid JSON at byte 0: found the end")]
#[case::null("null", "expected `{`: an object")]
#[case::list("[]", "expected `{`: an object")]
#[case::no_request(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}"#, "request: missing")]
#[case::no_uid(
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"operation":"CREATE"}}"#,
    "request.uid: missing"
)]
#[case::empty_uid(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"","operation":"CREATE"}}"#, "request.uid: missing or empty")]
#[case::uid_number(
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}}"#,
    "request.uid: invalid JSON"
)]
#[case::two_uids(
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a","uid":"b"}}"#,
    "request.uid: given more than once"
)]
fn without_a_uid_there_is_nothing_to_answer_to(#[case] body: &str, #[case] message: &str) {
    let memory = Bump::new();
    let refusal = parse(body.as_bytes(), &memory).unwrap_err();
    assert_eq!(refusal.uid, None);
    assert!(refusal.message.contains(message), "{}", refusal.message);
}

#[rstest]
#[case::version(r#""apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE"}"#, r#"found "admission.k8s.io/v2""#)]
#[case::kind(
    r#""apiVersion":"admission.k8s.io/v1","kind":"Pod","request":{"uid":"u","operation":"CREATE"}"#,
    r#"expected "AdmissionReview", found "Pod""#
)]
#[case::response(
    r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}"#,
    "request: missing"
)]
#[case::operation(r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"PATCH"}"#, r#"request.operation: expected CREATE, UPDATE, DELETE or CONNECT, found "PATCH""#)]
#[case::two_objects(r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{},"object":{"a":1}}"#, "request.object: given more than once")]
#[case::two_requests(r#""request":{"uid":"u"},"request":{"uid":"v"}"#, "request: given more than once")]
#[case::two_kinds(
    r#""request":{"uid":"u","kind":{"kind":"Pod","kind":"Node"}}"#,
    "request.kind.kind: given more than once"
)]
#[case::not_a_number(r#""request":{"uid":"u","object":{"a":NaN}}"#, "request.object: invalid JSON")]
#[case::object_text(r#""request":{"uid":"u","object":"text"}"#, "request.object: invalid JSON at byte")]
#[case::groups(r#""request":{"uid":"u","userInfo":{"groups":"one"}}"#, "request.userInfo.groups")]
fn what_has_a_uid_is_refused_with_it(#[case] members: &str, #[case] message: &str) {
    let memory = Bump::new();
    let body = format!("{{{members}}}");
    let refusal = parse(body.as_bytes(), &memory).unwrap_err();
    assert_eq!(refusal.uid, Some("u"));
    assert!(refusal.message.contains(message), "{}", refusal.message);
}

#[test]
fn what_follows_the_review_is_refused() {
    let memory = Bump::new();
    let body = format!("{FULL}x");
    let refusal = parse(body.as_bytes(), &memory).unwrap_err();
    assert_eq!(refusal.uid, Some("705ab4f5"));
}

#[test]
fn broken_text_encoding_is_refused_with_the_uid() {
    let memory = Bump::new();
    let mut body = FULL.as_bytes().to_vec();
    let at = body.len() - 8;
    body[at] = 0xff;
    let refusal = parse(&body, &memory).unwrap_err();
    assert_eq!(refusal.uid, Some("705ab4f5"));
    assert!(refusal.message.contains(&format!("invalid UTF-8 at byte {at}")), "{}", refusal.message);

    let marked = format!("\u{feff}{FULL}");
    let refusal = parse(marked.as_bytes(), &memory).unwrap_err();
    assert_eq!(refusal.uid, Some("705ab4f5"));
    assert!(refusal.message.contains("byte order mark"), "{}", refusal.message);
}

#[test]
fn the_older_version_is_known() {
    let memory = Bump::new();
    let body = FULL.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1");
    assert_eq!(parse(body.as_bytes(), &memory).unwrap().version, ReviewVersion::V1Beta1);
}

#[test]
fn a_null_is_a_missing_key() {
    let memory = Bump::new();
    let body =
        FULL.replace(r#""name":"web""#, r#""name":null"#).replace(r#""dryRun":true"#, r#""dryRun":null"#);
    let request = parse(body.as_bytes(), &memory).unwrap().request;
    assert_eq!((request.name, request.dry_run), ("", false));
}

#[test]
fn an_object_may_be_as_deep_as_the_api_server_takes_it() {
    let body = |levels: usize| {
        let object = format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
        let members = format!(r#""uid":"u","operation":"CREATE","object":{object}"#);
        format!(r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{{members}}}}}"#)
    };
    let memory = Bump::new();
    for levels in [127, 129, 1000, 10_000] {
        let body = body(levels);
        assert!(parse(body.as_bytes(), &memory).is_ok(), "{levels}");
    }
    for levels in [10_001, 1_000_000] {
        let body = body(levels);
        let refusal = parse(body.as_bytes(), &memory).unwrap_err();
        assert_eq!(refusal.uid, Some("u"), "{levels}");
    }
}

proptest::proptest! {
    #[test]
    fn no_damage_makes_up_a_uid_or_panics(at in 0..FULL.len(), len in 0..8_usize, bytes in proptest::collection::vec(0..=255_u8, 0..4)) {
        let mut body = FULL.as_bytes().to_vec();
        let end = (at + len).min(body.len());
        body.splice(at..end, bytes);
        let memory = Bump::new();
        let uid = match parse(&body, &memory) {
            Ok(review) => Some(review.request.uid),
            Err(refusal) => refusal.uid,
        };
        let uid_range = FULL.find("705ab4f5").map(|start| start..start + 8).unwrap();
        // Damage behind the uid leaves it as it was.
        if at > uid_range.end {
            proptest::prop_assert!(uid == Some("705ab4f5") || uid.is_none(), "{uid:?}");
        }
    }
}
