use super::*;

proptest! {
    #[test]
    fn skipping_accepts_exactly_what_the_reference_accepts(text in nearly_json()) {
        let mut scanner = Scanner::new(&text);
        let skipped = scanner.skip().and_then(|raw| scanner.finish().map(|()| raw));
        match serde_json::from_str::<Json>(&text) {
            Ok(_) => prop_assert_eq!(skipped.unwrap(), text.trim()),
            // The range of numbers is left to who reads them.
            Err(error) if error.to_string().starts_with("number out of range") => {}
            Err(error) => prop_assert!(skipped.is_err(), "{:?} was skipped, but {}", text, error),
        }
    }

    #[test]
    fn members_come_in_order_with_their_raw_text(json in any_json()) {
        let text = Json::from_iter([("x\"\\\n", json.clone()), ("y", Json::Null)]).to_string();
        let mut scanner = Scanner::new(&text);
        scanner.begin_object().unwrap();
        prop_assert_eq!(scanner.next_key().unwrap(), Some("x\"\\\n".into()));
        let (raw, number) = (scanner.skip().unwrap(), json.to_string());
        prop_assert_eq!(raw, number);
        prop_assert_eq!(scanner.next_key().unwrap(), Some("y".into()));
        prop_assert!(scanner.null().unwrap());
        prop_assert_eq!(scanner.next_key().unwrap(), None);
        scanner.finish().unwrap();
    }
}

#[test]
fn every_type_can_be_read() {
    let text =
        r#" { "s" : "a\u0062" , "t":true,"f":false,"i":-12, "n":null, "l":[1,[],{}, 2], "o":{"x":{}} } "#;
    let mut scanner = Scanner::new(text);
    assert_eq!(scanner.kind().unwrap(), Kind::Object);
    scanner.begin_object().unwrap();
    let mut keys = String::new();
    while let Some(key) = scanner.next_key().unwrap() {
        keys.push_str(&key);
        match (&*key, scanner.kind().unwrap()) {
            ("s", Kind::String) => assert_eq!(scanner.string().unwrap(), "ab"),
            ("t", Kind::Bool) => assert!(scanner.bool().unwrap()),
            ("f", Kind::Bool) => assert!(!scanner.bool().unwrap()),
            ("i", Kind::Number) => assert_eq!(scanner.int().unwrap(), -12),
            ("n", Kind::Null) => assert!(scanner.null().unwrap()),
            ("l", Kind::Array) => {
                let mut items = Vec::new();
                scanner.begin_array().unwrap();
                while scanner.next_item().unwrap() {
                    items.push(scanner.skip().unwrap());
                }
                assert_eq!(items, ["1", "[]", "{}", "2"]);
            }
            ("o", Kind::Object) => {
                assert!(!scanner.null().unwrap());
                assert_eq!(scanner.skip().unwrap(), r#"{"x":{}}"#);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(keys, "stfinlo");
    scanner.finish().unwrap();
}

#[test]
fn a_value_of_another_type_is_an_error_with_its_place() {
    let at_value = || {
        let mut scanner = Scanner::new(r#"{"uid":1.5}"#);
        scanner.begin_object().unwrap();
        scanner.next_key().unwrap();
        scanner
    };
    let place = "invalid JSON at byte 7: found '1', expected ";
    assert_eq!(at_value().string().unwrap_err().to_string(), format!("{place}a string"));
    assert_eq!(at_value().bool().unwrap_err().to_string(), format!("{place}`true` or `false`"));
    assert_eq!(at_value().int().unwrap_err().to_string(), format!("{place}an integer of 64 bits"));
    assert_eq!(at_value().begin_object().unwrap_err().to_string(), format!("{place}`{{`: an object"));
    assert_eq!(at_value().begin_array().unwrap_err().to_string(), format!("{place}`[`: an array"));
    assert!(!at_value().null().unwrap());
}

#[test]
fn commas_are_required_between_and_refused_after() {
    for text in
        [r#"{"a":1 "b":2}"#, r#"{"a":1,}"#, r#"{,"a":1}"#, r#"{"a":1,,"b":2}"#, r#"{"a":1]"#, r#"{"a":1"#]
    {
        let mut scanner = Scanner::new(text);
        scanner.begin_object().unwrap();
        let result = (|| {
            while scanner.next_key()?.is_some() {
                scanner.skip()?;
            }
            scanner.clone().finish()
        })();
        assert!(result.is_err(), "{text}");
    }
}
