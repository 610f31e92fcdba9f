//! Texts before and after: what is not ours is the same to the last byte.

use serde_json::json;

use super::*;

const FULL: &str = r#"{
  // Mine.
  "model": "opus", /* keep */
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "say done" }] } // loud
    ],
  },
  "env": {},
}
"#;

#[test]
fn a_member_is_added_and_removed_without_a_trace() {
    for text in [FULL, "{}", "{\n}\n", "{ \"a\": 1 }", "{\n  \"a\": [1, 2]\n}\n", "{\n  // only a comment\n}\n"] {
        let with = set(text, &["statusLine"], &json!({"type": "command"})).unwrap();
        assert_eq!(get(&with, &["statusLine", "type"]).unwrap(), Some(json!("command")), "{with}");
        assert_eq!(get(&with, &["a"]).unwrap(), get(text, &["a"]).unwrap());
        let back = remove(&with, &["statusLine"]).unwrap();
        assert_eq!(get(&back, &[]).unwrap(), get(text, &[]).unwrap(), "{back}");
        assert_eq!(back.matches("//").count(), text.matches("//").count(), "comments stay: {back}");
    }
}

#[test]
fn comments_order_and_spaces_of_others_stay() {
    let with = push(FULL, &["hooks", "Stop"], &json!({"hooks": [{"command": "belay"}]})).unwrap();
    for piece in
        ["// Mine.", "/* keep */", "{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }", "// loud"]
    {
        assert!(with.contains(piece), "{piece} is gone: {with}");
    }
    assert_eq!(get(&with, &["hooks", "Stop"]).unwrap().unwrap().as_array().unwrap().len(), 2);
    let back = remove(&with, &["hooks", "Stop", "1"]).unwrap();
    assert_eq!(get(&back, &[]).unwrap(), get(FULL, &[]).unwrap());
    assert!(back.contains("// loud"), "{back}");
}

#[test]
fn missing_objects_on_the_way_are_made() {
    let with = push(FULL, &["hooks", "PreToolUse"], &json!({"matcher": "Bash"})).unwrap();
    assert_eq!(get(&with, &["hooks", "PreToolUse"]).unwrap(), Some(json!([{"matcher": "Bash"}])));
    let deep = set("{}", &["a", "b", "c"], &json!(1)).unwrap();
    assert_eq!(deep, "{\n  \"a\": { \"b\": { \"c\": 1 } }\n}");
    let long = set("{}", &["a"], &json!([{"b": "x".repeat(100), "c": ["y".repeat(100)]}])).unwrap();
    let (x, y) = ("x".repeat(100), "y".repeat(100));
    assert_eq!(long, format!("{{\n  \"a\": [\n    {{\n      \"b\": \"{x}\",\n      \"c\": [\"{y}\"]\n    }}\n  ]\n}}"));
    assert_eq!(set(&deep, &["a", "b", "c"], &json!([2])).unwrap().matches('2').count(), 1);
}

#[test]
fn the_middle_the_first_and_the_last_can_go() {
    for (gone, rest) in [("a", json!({"b": 2, "c": 3})), ("b", json!({"a": 1, "c": 3})), ("c", json!({"a": 1, "b": 2}))]
    {
        for text in [
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n",
            "{\"a\":1,\"b\":2,\"c\":3,}",
        ] {
            let left = remove(text, &[gone]).unwrap();
            assert_eq!(get(&left, &[]).unwrap(), Some(rest.clone()), "{left}");
        }
    }
}

#[test]
fn what_is_no_json_is_named_by_its_line() {
    for (text, line) in [
        ("", 1),
        ("{", 1),
        ("{\n\"a\": }", 2),
        ("{\n\"a\": 1\n\"b\": 2}", 3),
        ("{\"a\": tru}", 1),
        ("{} x", 1),
        ("{\"a\": 1, \"a\": 2}", 1),
        ("/* {", 1),
        ("{'a': 1}", 1),
    ] {
        assert_eq!(parse(text).unwrap_err().line, line, "{text:?}");
    }
    assert!(set("[]", &["a"], &json!(1)).is_err() && push("{\"a\": 1}", &["a"], &json!(1)).is_err());
    assert!(parse(&"[".repeat(10_000)).is_err());
}

#[test]
fn what_goes_takes_no_remark_and_nothing_behind_one_with_it() {
    for (text, gone, left) in [
        ("{ // c\n  \"a\": 1 }", "a", "{ // c\n }"),
        ("{\n  // c\n  \"a\": 1, \"b\": 2\n}\n", "a", "{\n  // c\n \"b\": 2\n}\n"),
        ("{ \"a\": 1, // c\n  \"b\": 2 }", "b", "{ \"a\": 1 // c\n }"),
        ("{\n  \"a\": 1 /* c */, // d\n  \"b\": 2\n}", "a", "{\n /* c */ // d\n  \"b\": 2\n}"),
        ("{\n  \"a\": 1, // c\n  \"b\": 2, // d\n}\n", "b", "{\n  \"a\": 1, // c\n // d\n}\n"),
        ("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n", "b", "{\r\n  \"a\": 1\r\n}\r\n"),
        ("{\n  \"a\": 1\n  // c\n  ,\n  \"b\": 2\n}\n", "a", "{\n  // c\n  \n  \"b\": 2\n}\n"),
        ("{\"a\": [1, {\"x\": 2}, 3]}", "b", "{\"a\": [1, {\"x\": 2}, 3]}"),
    ] {
        let now = remove(text, &[gone]).unwrap();
        assert_eq!(now, left, "{text}");
        let mut expected = get(text, &[]).unwrap().unwrap();
        expected.as_object_mut().unwrap().remove(gone);
        assert_eq!(get(&now, &[]).unwrap(), Some(expected), "{text}");
    }
    assert_eq!(remove("{\"a\": [1, {\"x\": [2, 3]}]}", &["a", "1", "x", "0"]).unwrap(), "{\"a\": [1, {\"x\": [ 3]}]}");
}

#[test]
fn pieces_are_all_that_a_text_says_and_no_blank_between() {
    let said = pieces("{ // c \n \"a b, c\": [1,2,],/*x*/}\n").unwrap();
    assert_eq!(said, ["{", "// c", "\"a b, c\"", ":", "[", "1", "2", "]", "/*x*/", "}"]);
    assert_ne!(pieces("{\"a\": \"x y\"}").unwrap(), pieces("{\"a\": \"xy\"}").unwrap());
    assert!(is_bare("{\"a\": { }}", &["a"]).unwrap() && !is_bare("{\"a\": { /**/ }}", &["a"]).unwrap());
}
