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
    let policy = profile.policy(&ground(), Identity::Own { uid: 1000, gid: 1000 });
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
        assert_eq!(access(&profile, "/nix/var/nix/daemon-socket/socket"), Some(Access::Hidden), "{name}");
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
    let why = |name: &str, subject| profiles.get(name).unwrap().why(&subject);
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

#[test]
fn the_page_about_profiles_tells_of_every_key_and_its_example_is_one() {
    let page = include_str!("../../../../docs/profiles.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let profile = Profiles::default().check("company", example).unwrap();
    assert!(profile.shared_network.0 && profile.limits.processes == Some(4096));
    // A wrong key is answered with the right ones, so the page is compared with what the reader knows.
    for (section, prefix) in [
        ("", ""),
        ("[paths]", ""),
        ("[environment]", "environment."),
        ("[network]", "network."),
        ("[limits]", "limits."),
    ] {
        let error = Profiles::default().check("wrong", &format!("{section}\nno_such_key = 1")).unwrap_err();
        let said = std::error::Error::source(&error).unwrap().to_string();
        let known: Vec<&str> = said.split('`').skip(3).step_by(2).filter(|word| !word.contains('\n')).collect();
        assert!(!known.is_empty(), "{said}");
        let sections = ["paths", "environment", "network", "limits"];
        for key in known.iter().filter(|key| !sections.contains(key)) {
            assert!(
                page.contains(&format!("\n| `{prefix}{key}` |")),
                "docs/profiles.md does not tell of {prefix}{key}"
            );
        }
    }
}
