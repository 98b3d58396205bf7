use super::*;
use crate::eval::{Arena, Value};

#[test]
fn a_document_comes_back_as_it_was() {
    let text = r#"{"a":[1,-2.5,true,null,"x\n"],"b":{"c":{}},"d":[]}"#;
    let arena = Arena::default();
    let value = parse(text, &arena, Options::default()).unwrap();
    let mut out = Vec::new();
    write(&value, &mut out, WriteOptions::default()).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), text);
    assert!(matches!(value, Value::Map(_)));
}
