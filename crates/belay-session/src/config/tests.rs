//! Tests of the settings and their layers.

use super::*;

fn toml(text: &str) -> Text {
    Text { name: "config.toml".into(), format: Format::Toml, text: text.into() }
}

fn yaml(text: &str) -> Text {
    Text { name: "belay.yaml".into(), format: Format::Yaml, text: text.into() }
}

fn user(text: Text) -> Sources {
    Sources { user: Some(text), ..Sources::default() }
}

fn shown(settings: &Settings, key: &str) -> (String, Layer) {
    let all = settings.list();
    let found = all.iter().find(|setting| setting.key == key).unwrap();
    (found.value.clone(), found.layer.clone())
}

#[test]
fn the_defaults_name_every_key_once_and_are_what_the_promises_say() {
    let text = toml(include_str!("../defaults.toml"));
    let mut found: Vec<String> = flatten(&text).unwrap().into_iter().map(|(name, _)| name).collect();
    let mut keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    found.sort();
    keys.sort();
    assert_eq!(found, keys);
    let settings = Settings::resolve(&Sources::default()).unwrap();
    assert_eq!(settings.pools(), PoolSizes { auto_max: 10, manual_max: 12 });
    assert_eq!(settings.limits().new_bytes_max, Limits::default().new_bytes_max);
    assert_eq!(settings.limits().entries_max, Limits::default().entries_max);
    assert_eq!(settings.filter(), Filter::default());
    assert_eq!(settings.number("snapshots.retention.budget"), 5 << 30);
}

#[test]
fn layers_win_in_their_order_and_each_value_knows_its_origin() {
    let given =
        |name: &str, key: &str, value: &str| Override { name: name.into(), key: key.into(), value: value.into() };
    let sources = Sources {
        user: Some(toml("snapshots = { auto_max = 1, manual_max = 1, max_entries = 1, auto_interval = 1 }")),
        env: vec![
            given("BELAY_SNAPSHOTS__MANUAL_MAX", "snapshots.manual_max", "2"),
            given("BELAY_SNAPSHOTS__MAX_ENTRIES", "snapshots.max_entries", "2"),
            given("BELAY_SNAPSHOTS__AUTO_INTERVAL", "snapshots.auto_interval", "2"),
        ],
        flags: vec![
            given("--max-entries", "snapshots.max_entries", "3"),
            given("--auto-interval", "snapshots.auto_interval", "3"),
        ],
        corporate: Some(Text { name: "corp.toml".into(), ..toml("snapshots.auto_interval = 4") }),
        ..Sources::default()
    };
    let settings = Settings::resolve(&sources).unwrap();
    assert_eq!(shown(&settings, "snapshots.auto_max"), ("1".into(), Layer::User("config.toml".into())));
    assert_eq!(shown(&settings, "snapshots.manual_max").1, Layer::Env("BELAY_SNAPSHOTS__MANUAL_MAX".into()));
    assert_eq!(shown(&settings, "snapshots.max_entries").1, Layer::Flag("--max-entries".into()));
    assert_eq!(shown(&settings, "snapshots.auto_interval"), ("4".into(), Layer::Corporate("corp.toml".into())));
    assert_eq!(shown(&settings, "snapshots.max_bytes"), ("\"2GiB\"".into(), Layer::Default));
}

#[test]
fn the_seeds_yaml_is_understood() {
    let text = "snapshots:\n  triggers:\n    disable_idle: true\n  exclude:\n    ignore_gitignore: true\n    additional:\n      - \"secrets/\"\n      - \".env.local\"\n  retention:\n    max_count: 3\ntracing:\n";
    let settings = Settings::resolve(&user(yaml(text))).unwrap();
    assert!(settings.flag("snapshots.triggers.disable_idle"));
    let filter = settings.filter();
    assert_eq!((filter.gitignored, filter.additional.len()), (Ignored::Capture, 2));
    for empty in ["", "# nothing\n", "snapshots:\n"] {
        assert!(Settings::resolve(&user(yaml(empty))).is_ok(), "{empty:?}");
    }
}

#[test]
fn a_wrong_key_is_named_with_its_neighbours() {
    let Err(Error::ConfigKey { key, nearest, .. }) = Settings::resolve(&user(toml("snapshots.auto_maks = 3"))) else {
        panic!("there is no such key")
    };
    assert_eq!((key.as_str(), nearest[0].as_str()), ("snapshots.auto_maks", "snapshots.auto_max"));
    assert!(Settings::resolve(&user(toml("[colours]\nred = true"))).is_err());
}

#[test]
fn a_wrong_value_is_named_with_what_it_should_be() {
    let wrong = [
        ("snapshots.disabled = 1", "true or false"),
        ("snapshots.auto_max = -1", "a whole number up to 10000"),
        ("snapshots.max_bytes = \"lots\"", "a size such as 2GiB, 500MB or 1024"),
        ("snapshots.exclude.gitignored = \"some\"", "skip or regenerable or capture"),
        ("snapshots.exclude.additional = \"x\"", "a list of texts"),
        ("snapshots.auto_max = { x = 1 }", "a whole number up to 10000"),
    ];
    for (text, wanted) in wrong {
        let Err(Error::ConfigValue { expected, .. }) = Settings::resolve(&user(toml(text))) else { panic!("{text}") };
        assert_eq!(expected, wanted, "{text}");
    }
    assert!(matches!(Settings::resolve(&user(toml("x = = 1"))), Err(Error::ConfigSyntax { .. })));
    assert!(matches!(Settings::resolve(&user(yaml("- 1"))), Err(Error::ConfigSyntax { .. })));
}

const WORKSPACE: &str = r#"
snapshots.disabled = true
snapshots.auto_interval = 120
snapshots.triggers.disable_idle = false
snapshots.exclude.gitignored = "capture"
snapshots.exclude.additional = ["src/"]
snapshots.exclude.force_include = ["data/"]
snapshots.retention.budget = "1KiB"
nonsense = 1
"#;

#[test]
fn keys_that_other_tools_know_mean_the_same() {
    let text = "[vm.snapshots]\nauto_max = 3\nmanual_max = 4\nauto_interval = 60";
    let settings = Settings::resolve(&user(toml(text))).unwrap();
    assert_eq!(settings.pools(), PoolSizes { auto_max: 3, manual_max: 4 });
    assert_eq!(shown(&settings, "snapshots.auto_interval").0, "60");
    let Err(Error::ConfigKey { key, nearest, .. }) = Settings::resolve(&user(toml("vm.snapshots.auto_maxx = 1")))
    else {
        panic!("an unknown key must be an error")
    };
    assert_eq!((key.as_str(), nearest[0].as_str()), ("vm.snapshots.auto_maxx", "vm.snapshots.auto_max"));
}

#[test]
fn the_keys_of_triggers_and_tracing_are_off_or_on_by_name() {
    let wrong = [
        ("snapshots.triggers.disable_git_commit = true", "snapshots.triggers.disable_git_commits"),
        ("snapshots.triggers.build_pattern = []", "snapshots.triggers.build_patterns"),
        ("tracing.disable_file = true", "tracing.disable_files"),
        ("tracing.disabled_exec = true", "tracing.disable_exec"),
    ];
    for (text, wanted) in wrong {
        let Err(Error::ConfigKey { nearest, .. }) = Settings::resolve(&user(toml(text))) else { panic!("{text}") };
        assert_eq!(nearest[0], wanted, "{text}");
    }
    let engine = Settings::resolve(&user(toml("tracing.engine = 'ebpf'")));
    assert!(
        matches!(engine, Err(Error::ConfigValue { expected, .. }) if expected == "unprivileged or auto or privileged")
    );
    let own = OwnText {
        text: toml("snapshots.triggers.build_patterns = ['tox']\ntracing.disable_files = true"),
        trusted: false,
    };
    let settings = Settings::resolve_with(&Sources::default(), Some(&own)).unwrap();
    assert_eq!(settings.texts("snapshots.triggers.build_patterns"), ["tox"]);
    assert!(!settings.flag("tracing.disable_files"));
}

#[test]
fn an_untrusted_workspace_can_only_strengthen() {
    let sources = user(toml("snapshots.exclude.force_include = ['.env']\nsnapshots.triggers.disable_idle = true"));
    let own = OwnText { text: toml(WORKSPACE), trusted: false };
    let settings = Settings::resolve_with(&sources, Some(&own)).unwrap();
    let filter = settings.filter();
    assert_eq!(filter.gitignored, Ignored::Capture);
    assert_eq!(filter.force_include, [".env", "data/"]);
    assert_eq!(filter.additional, Vec::<String>::new());
    assert!(settings.disabled_by().is_none());
    assert!(!settings.flag("snapshots.triggers.disable_idle"));
    assert_eq!(settings.number("snapshots.auto_interval"), 120);
    let ignored = ["snapshots.disabled", "snapshots.exclude.additional", "snapshots.retention.budget", "nonsense"];
    let mut found = settings.ignored().to_vec();
    found.sort_by_key(|key| ignored.iter().position(|name| name == key));
    assert_eq!(found, ignored);
}

#[test]
fn an_untrusted_workspace_cannot_weaken_or_break() {
    let sources = user(toml("snapshots.exclude.gitignored = 'capture'"));
    for text in ["snapshots.exclude.gitignored = 'skip'", "snapshots.auto_interval = 0", "not toml at all ["] {
        let own = OwnText { text: toml(text), trusted: false };
        let settings = Settings::resolve_with(&sources, Some(&own)).unwrap();
        assert_eq!(settings.filter().gitignored, Ignored::Capture);
        assert_eq!(settings.number("snapshots.auto_interval"), 300);
        assert_eq!(settings.ignored().len(), 1, "{text}");
    }
}

#[test]
fn a_trusted_workspace_counts_in_full_and_its_mistakes_are_errors() {
    let good = WORKSPACE.replace("nonsense = 1", "");
    let settings =
        |text: &str| Settings::resolve_with(&Sources::default(), Some(&OwnText { text: toml(text), trusted: true }));
    assert!(settings(&good).unwrap().disabled_by().is_some());
    assert!(matches!(settings(WORKSPACE), Err(Error::ConfigKey { .. })));
}

#[test]
fn variables_name_keys_with_double_underscores() {
    assert_eq!(Settings::key_of_variable("SNAPSHOTS__AUTO_MAX").as_deref(), Some("snapshots.auto_max"));
    assert_eq!(Settings::key_of_variable("HOME"), None);
    let lists = Override { name: "BELAY_X".into(), key: "snapshots.exclude.additional".into(), value: "a/, b".into() };
    let sources = Sources { env: vec![lists], ..Sources::default() };
    assert_eq!(Settings::resolve(&sources).unwrap().filter().additional, ["a/", "b"]);
}

/// The table of keys as `docs/config.md` has it.
fn table() -> String {
    let defaults = Settings::resolve_with(&Sources::default(), None).unwrap();
    let row = |key: &Key| {
        let untrusted = match key.strengthens {
            Strengthens::Never => "no".to_owned(),
            Strengthens::Being(value) => format!("to {value}"),
            Strengthens::DownTo(least) => format!("lower, down to {least}"),
            Strengthens::Later => "further right".to_owned(),
            Strengthens::Adding => "by adding".to_owned(),
        };
        let (value, _) = shown(&defaults, key.name);
        format!("| `{}` | {} | `{value}` | {untrusted} | {} |\n", key.name, key.shape.expected(), key.help)
    };
    KEYS.iter().map(row).collect()
}

#[test]
fn the_page_about_configuration_has_every_key_and_every_backend() {
    let page = include_str!("../../../../docs/config.md");
    let of_keys = |line: &&str| KEYS.iter().any(|key| line.starts_with(&format!("| `{}` |", key.name)));
    let found: String = page.lines().filter(of_keys).map(|line| format!("{line}\n")).collect();
    assert_eq!(found, table(), "docs/config.md is not what the keys say; take the right side");
    for backend in crate::backend::BackendChoice::NAMES {
        assert!(page.contains(&format!("\n| `{backend}` |")), "docs/config.md does not tell of the backend {backend}");
    }
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let settings = Settings::resolve_with(&user(toml(example)), None).unwrap();
    assert_eq!(shown(&settings, "snapshots.retention.budget").0, "\"10GiB\"");
}
