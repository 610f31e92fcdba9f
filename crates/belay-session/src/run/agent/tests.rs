//! What is asked over the socket of an agent, also by one who means harm.

use std::os::unix::net::UnixStream;

use belay_testkit::fuzz;

use super::*;

/// Answers with the words themselves.
fn echo(_run: &str, call: &AgentCall) -> Command {
    use std::os::unix::ffi::OsStringExt;
    let mut command = Command::new("printf");
    command.arg("%s\n").args(call.argv.iter().map(|word| std::ffi::OsString::from_vec(word.bytes().to_vec())));
    command
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    listen(dir.path(), "run_00000000", (echo, Helpers::default()), None, channel().0).unwrap();
    let socket = dir.path().join(SOCKET);
    (dir, socket)
}

fn words(words: &[&str]) -> AgentCall {
    AgentCall { argv: words.iter().map(|word| Raw::from(*word)).collect(), ..AgentCall::default() }
}

/// What is answered to these bytes, up to the end.
fn send(socket: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn a_question_is_a_line_and_so_is_its_answer() {
    let (_dir, socket) = place();
    let text = send(&socket, b"{\"argv\":[\"one\",\"two\"]}\n{\"argv\":[[255]],\"cwd\":\"/\",\"color\":true}\n");
    assert_eq!(
        text,
        "{\"done\":{\"code\":0,\"out\":\"one\\ntwo\\n\",\"err\":\"\"}}\n{\"done\":{\"code\":0,\"out\":[255,10],\"err\":\"\"}}\n"
    );
    let done = ask_run(&socket, &words(&["x"]), None).unwrap();
    assert_eq!(done, AgentAnswer::Done { code: 0, out: "x\n".into(), err: "".into(), cut: false });
}

#[test]
fn nonsense_is_refused_and_harms_nobody() {
    let (_dir, socket) = place();
    for nonsense in
        [&b"\n"[..], b"{}\n", b"{\"argv\":[],\"more\":1}\n", b"{\"argv\":[\"x\"]}", b"\xff\xfe\n", b"[[[[\n"]
    {
        assert!(send(&socket, nonsense).starts_with("{\"refused\":"), "{nonsense:?}");
    }
    assert_eq!(send(&socket, b""), "");
    let endless = vec![b'['; 1 << 20];
    assert!(matches!(send(&socket, &endless).as_str(), "" | "{\"refused\":\"the line is too long, or has no end\"}\n"));
    assert!(matches!(ask_run(&socket, &words(&["a\0b"]), None), Ok(AgentAnswer::Refused(_))));
    assert!(matches!(ask_run(&socket, &words(&["still there"]), None), Ok(AgentAnswer::Done { .. })));
}

#[test]
fn many_clients_are_served_and_too_many_are_told_so() {
    let (_dir, socket) = place();
    let idle: Vec<UnixStream> = (0..CLIENTS_MAX).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let mut refused = false;
    for _ in 0..100 {
        refused |= matches!(ask_run(&socket, &words(&["x"]), None), Ok(AgentAnswer::Refused(_)) | Err(_));
    }
    assert!(refused, "more than {CLIENTS_MAX} are served at once");
    drop(idle);
    let patient = |number: usize| {
        let call = words(&[&number.to_string()]);
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            matches!(ask_run(&socket, &call, None), Ok(AgentAnswer::Done { out, .. }) if out.lossy().trim() == number.to_string())
        })
    };
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..20).map(|number| scope.spawn(move || patient(number))).collect();
        assert!(asking.into_iter().all(|one| one.join().unwrap()));
    });
}

#[test]
fn a_long_answer_is_cut_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    fn endless(_run: &str, _call: &AgentCall) -> Command {
        let mut command = Command::new("head");
        command.args(["-c", "9000000", "/dev/zero"]);
        command
    }
    listen(dir.path(), "run_00000000", (endless, Helpers::default()), None, channel().0).unwrap();
    let Ok(AgentAnswer::Done { out, cut, .. }) = ask_run(&dir.path().join(SOCKET), &words(&[]), None) else {
        panic!("no answer");
    };
    assert_eq!((out.bytes().len(), cut), (TEXT_BYTES_MAX, true));
}

#[test]
fn damaged_questions_never_panic() {
    let valid: Vec<Vec<u8>> =
        [words(&["snapshot", "--label", "näme"]), AgentCall { cwd: Raw::from(&b"/\xff"[..]), ..words(&[]) }]
            .iter()
            .map(|call| [serde_json::to_vec(call).unwrap(), b"\n".to_vec()].concat())
            .collect();
    fuzz("questions", &valid, |bytes| {
        if let Ok(Some(call)) = read_call(&mut &*bytes) {
            let again = serde_json::to_vec(&call).unwrap();
            assert_eq!(serde_json::from_slice::<AgentCall>(&again).unwrap(), call);
        }
    });
}
