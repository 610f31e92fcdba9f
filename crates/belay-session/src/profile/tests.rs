//! Profiles inherit, merge, refuse nonsense and explain themselves.

use super::*;

fn ground() -> Ground<'static> {
    Ground {
        workspace: Path::new("/home/ada/project"),
        home: Path::new("/home/ada"),
        belay: Path::new("/home/ada/.local/share/belay"),
    }
}

fn own(texts: &[(&str, &str)]) -> Profiles {
    Profiles { own: texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect() }
}

fn access(profile: &Profile, path: &str) -> Option<Access> {
    let policy = profile.policy(&ground(), Identity { uid: 1000, gid: 1000 });
    policy.decides(Path::new(path)).map(|grant| grant.access)
}

#[test]
fn every_built_in_profile_is_whole() {
    let profiles = Profiles::default();
    assert_eq!(profiles.names().len(), BUILT_IN.len());
    for name in profiles.names() {
        let profile = profiles.get(name).unwrap();
        assert!(!profile.description.is_empty(), "{name}");
        assert_eq!(profile.lineage.last().map(String::as_str), Some(name));
        assert!(profile.lineage.contains(&"default".to_owned()), "{name}");
        assert_eq!(access(&profile, "/home/ada/project/src"), Some(Access::Write), "{name}");
        assert_eq!(access(&profile, "/home/ada/project/.git/hooks/x"), Some(Access::Read), "{name}");
        assert_eq!(access(&profile, "/home/ada/.local/share/belay/store"), Some(Access::Hidden), "{name}");
        assert_eq!(access(&profile, "/usr/bin/env"), Some(Access::Read), "{name}");
        assert_eq!(access(&profile, "/home/ada/.ssh/id_ed25519"), Some(Access::Empty), "{name}");
        assert_eq!(access(&profile, "/home/you"), None, "{name}");
    }
    for (_, name) in SUITS {
        assert!(profiles.get(name).is_ok());
    }
}

#[test]
fn what_is_nearer_counts_more() {
    let profiles = own(&[
        (
            "mine",
            "inherits = ['strict']\n[paths]\nwrite = ['~/.cache/x']\nread = ['.env']\n[network]\nmode = 'shared'\n",
        ),
        ("wide", "[paths]\nwrite = ['~/.local/share/belay/store', '~']\n"),
    ]);
    let mine = profiles.get("mine").unwrap();
    assert_eq!(mine.lineage, ["default", "strict", "mine"]);
    assert_eq!(access(&mine, "/home/ada/.cache/x/y"), Some(Access::Write));
    assert_eq!(access(&mine, "/home/ada/project/.env"), Some(Access::Read));
    assert_eq!(access(&mine, "/home/ada/project/.envrc"), Some(Access::Hidden));
    assert_eq!(mine.shared_network, (true, "mine".to_owned()));
    assert_eq!(mine.limits.processes, Some(4096));
    let wide = profiles.get("wide").unwrap();
    assert_eq!(access(&wide, "/home/ada/.local/share/belay/store/packs"), Some(Access::Hidden));
    assert!(!wide.shared_network.0, "whoever does not say gets no network");
}

#[test]
fn nonsense_is_refused_by_name() {
    let profiles = own(&[("a", "inherits = ['b']"), ("b", "inherits = ['a']")]);
    assert_eq!(profiles.get("a").unwrap_err().to_string(), "the profile a inherits from itself");
    assert_eq!(profiles.get("c").unwrap_err().to_string(), "there is no profile c");
    for (text, error) in [
        ("[paths]\nreads = ['/x']", "the profile x cannot be read"),
        ("[paths]\nread = ['../x']", "in the profile x, \"../x\" leads upwards"),
        ("[paths]\nhide = ['*.pem']", "in the profile x, \"*.pem\" is a pattern, and only paths can be granted"),
        ("[paths]\nwrite = ['~bob/x']", "in the profile x, \"~bob/x\" names somebody else's home"),
        ("[paths]\nwrite = ['/']", "in the profile x, \"/\" is always the jail's own"),
        ("[paths]\nwrite = ['/dev/sda']", "in the profile x, \"/dev/sda\" is always the jail's own"),
        ("inherits = ['nobody']", "there is no profile nobody"),
    ] {
        assert_eq!(profiles.check("x", text).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_decision_names_its_rule() {
    let profiles = Profiles::default();
    let why = |name: &str, subject| profiles.get(name).unwrap().why(&subject, &ground());
    let path = |path: &str| Subject::Path(PathBuf::from(path));

    let hooks = why("claude", path("/home/ada/project/.git/hooks/pre-commit"));
    assert_eq!((hooks.decision.as_str(), hooks.rule.as_str()), ("can be read", ".git/hooks"));
    assert_eq!(hooks.origin.as_deref(), Some("default"));
    let settings = why("claude", path("/home/ada/.claude/settings.json"));
    assert_eq!(settings.decision, "a private copy, changes end with the run");
    assert_eq!(settings.origin.as_deref(), Some("claude"));
    assert_eq!(why("default", path("/home/you")).instead.as_deref(), Some("--ro /home/you or --rw /home/you"));
    assert_eq!(why("default", path("/home/ada/.local/share/belay")).instead, None);

    assert_eq!(why("strict", Subject::Host("example.com".into())).decision, "not reachable");
    assert_eq!(why("default", Subject::Host("example.com".into())).decision, "reachable");
    assert_eq!(why("default", Subject::Call("mount".into())).decision, "refused");
    assert_eq!(why("default", Subject::Call("read".into())).decision, "allowed");
    assert_eq!(why("rust", Subject::Variable("CARGO_REGISTRY_TOKEN".into())).rule, "!CARGO_REGISTRY_TOKEN");
    assert_eq!(why("rust", Subject::Variable("CARGO_HOME".into())).rule, "CARGO_*");
    assert_eq!(why("rust", Subject::Variable("AWS_SECRET_ACCESS_KEY".into())).decision, "not passed on");
}

#[test]
fn a_command_gets_the_profile_that_suits_it() {
    assert_eq!(suits(b"claude"), "claude");
    assert_eq!([&b"opencode"[..], b"copilot", b"cursor-agent"].map(suits), ["opencode", "copilot", "cursor"]);
    assert_eq!(suits(b"/usr/local/bin/npm"), "node");
    assert_eq!(suits(b"make"), "default");
}
