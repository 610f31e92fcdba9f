//! `belay mcp` and clients that are old, broken or evil.

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::world::World;

#[test]
fn every_version_that_clients_speak_is_answered_in_kind() {
    let world = World::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (mut client, greeting) = Client::greet(world.command(&["mcp"]), version);
        assert_eq!(greeting["result"]["protocolVersion"], json!(version));
        client.ok("snapshots_list", json!({}));
        let (_, well) = client.end();
        assert!(well, "{version}");
    }
    let (_, greeting) = Client::greet(world.command(&["mcp"]), "1999-01-01");
    let offered = greeting["result"]["protocolVersion"].as_str().expect("a version of the server's own");
    assert!(offered.starts_with("202"), "{greeting}");
}

#[test]
fn garbage_huge_lines_and_wrong_shapes_do_no_harm() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n");
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-06-18");
    client.ok("snapshots_create", json!({"name": "base"}));
    for line in [
        &b"garbage"[..],
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"2.0\"}",
        b"{\"jsonrpc\":\"1.0\",\"id\":900,\"method\":\"tools/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"snapshots_delete\",\"arguments\":{\"checkpoint\":\"base\"}}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody\",\"params\":[1,2]}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4711}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"tools/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
    ] {
        client.write(line);
    }
    client.write(&vec![b'['; 300_000]);
    let mut huge = b"{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":\"tools/call\",\"params\":{\"name\":\"".to_vec();
    huge.extend(std::iter::repeat_n(b'x', 32 << 20));
    client.write(&huge);
    for (tool, arguments) in [
        ("snapshots_list", json!({"start_index": -1})),
        ("snapshots_list", json!({"max_length": 1e99})),
        ("snapshots_create", json!({"name": ["a"]})),
        ("snapshots_create", json!({"name": "x".repeat(100_000)})),
        ("snapshots_create", json!({"name": "a\u{0}b"})),
        ("snapshots_create", json!({"name": "\u{1b}[2J"})),
        ("snapshots_create", json!({"nam": "a"})),
        ("snapshots_revert", json!({"path": "\u{0}"})),
        ("snapshots_revert", json!({"path": "a/../../../etc/passwd"})),
        ("snapshots_compact", json!({"checkpoints": "cp-10"})),
        ("belay_undo", json!({"step": "@turn-1", "command": 1})),
    ] {
        client.refused(tool, arguments);
    }
    for (method, params, code) in [
        ("tools/call", json!({"name": "snapshots_list", "arguments": [1]}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "nobody"}), -32602),
        ("nobody/knows", json!({}), -32601),
    ] {
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], json!(code), "{method}: {answer}");
    }
    assert_eq!(client.ok("snapshots_list", json!({})).1["total"], json!(1), "nothing came, nothing went");
    assert!(client.end().1);
}

#[test]
fn many_calls_at_once_are_all_answered_and_in_order_of_nothing() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n");
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-06-18");
    client.ok("snapshots_create", json!({"name": "base"}));
    let call = |tool: &str, arguments: Value| json!({ "name": tool, "arguments": arguments });
    let mut ids = Vec::new();
    for number in 0..60 {
        ids.push(client.request("tools/call", call("snapshots_list", json!({}))));
        ids.push(client.request("tools/call", call("snapshot_create", json!({"name": format!("n{number}")}))));
        ids.push(client.request("tools/call", call("snapshots_changes", json!({}))));
    }
    for id in ids {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    assert_eq!(client.ok("snapshots_list", json!({})).1["total"], json!(61));
}

#[test]
fn what_was_asked_before_the_input_ends_is_still_answered() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n");
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-06-18");
    let id = client.request("tools/call", json!({"name": "snapshots_create", "arguments": {"name": "last"}}));
    let (rest, well) = client.end();
    assert!(well && rest.iter().any(|message| message["id"] == json!(id)), "{rest:?}");
}

#[test]
fn a_cancelled_call_is_not_answered_and_the_next_one_is() {
    let world = World::new();
    for number in 0..400 {
        world.workspace.file(format!("d{}/f{number}", number % 7), "x".repeat(5000));
    }
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-06-18");
    let mut cancelled = Vec::new();
    for number in 0..5 {
        let arguments = json!({"name": format!("c{number}")});
        let id = client.request("tools/call", json!({"name": "snapshot_create", "arguments": arguments}));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        cancelled.push(id);
    }
    client.ok("snapshots_create", json!({"name": "after"}));
    let listed = client.ok("snapshots_list", json!({})).1;
    let (rest, well) = client.end();
    assert!(well);
    let answered = |id: &u64| rest.iter().any(|message| message["id"] == json!(id));
    assert!(cancelled.iter().any(|id| !answered(id)), "at least one was cancelled before it ended: {rest:?}");
    assert!(listed.to_string().contains("after"));
}

#[test]
fn long_lists_come_in_pages_that_are_whole() {
    let world = World::new();
    for number in 0..120 {
        world.workspace.file(format!("file-{number:03}\n\"quoted\".txt"), "x");
    }
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-06-18");
    client.ok("snapshots_create", json!({"name": "base"}));
    for number in 0..120 {
        world.workspace.file(format!("file-{number:03}\n\"quoted\".txt"), "changed");
    }
    let (mut seen, mut next) = (Vec::new(), json!(0));
    while let Some(start) = next.as_u64() {
        let arguments = json!({"start_index": start, "max_length": 900, "format": "json"});
        let (text, data) = client.ok("snapshots_changes", arguments);
        let parsed: Value = serde_json::from_str(&text).expect("each page is JSON");
        assert_eq!(parsed, data);
        assert!(text.len() < 1400, "{}", text.len());
        seen.extend(data["changes"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()));
        next = data["next_index"].clone();
    }
    assert_eq!(seen.len(), 120);
    assert!(seen.is_sorted() && seen[0] == "file-000\\n\"quoted\".txt", "{}", seen[0]);
}
