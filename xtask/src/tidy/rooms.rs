//! Rules on crates: who may depend on whom, and on how much.

use super::Complaint;

const PACKAGES_MAX: usize = 250;

/// Each crate with the crates of this project that it may depend on; arrows point down only.
const ROOMS: [(&str, &[&str]); 14] = [
    ("belay-sys", &[]),
    ("belay-event", &[]),
    ("belay-store", &["belay-sys"]),
    ("belay-journal", &["belay-event"]),
    ("belay-trace", &["belay-event", "belay-sys"]),
    ("belay-jail", &["belay-sys"]),
    ("belay-session", &["belay-event", "belay-jail", "belay-journal", "belay-store", "belay-sys", "belay-trace"]),
    ("belay-server", &["belay-event", "belay-session"]),
    ("belay", &["belay-conformance", "belay-event", "belay-server", "belay-session"]),
    ("belay-python", &["belay-session", "belay-store"]),
    ("belay-conformance", &[]),
    ("belay-testkit", &["belay-conformance"]),
    ("xtask", &[]),
    (
        "bench",
        &["belay-event", "belay-jail", "belay-journal", "belay-session", "belay-store", "belay-sys", "belay-trace"],
    ),
];

/// Crates that others should not reach for, and what to use.
const UNWANTED: [(&str, &str); 6] = [
    ("anyhow", "Write a thiserror enum with the operation and its operands"),
    ("chrono", "Use jiff"),
    ("figment", "Use toml and serde-saphyr"),
    ("mockall", "Test with the real thing, or with a fake of the world outside"),
    ("notify", "Use belay-sys; notify lost 28,000 of 30,000 events when it was tried"),
    ("serde_yaml", "Use serde-saphyr"),
];

/// Complaints about a `Cargo.toml`.
pub(crate) fn manifest(path: &str, text: &str) -> Vec<Complaint> {
    let complain = |what: String, instead| Complaint { path: path.to_owned(), line: 1, what, instead };
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![complain(format!("not TOML: {error}"), "Mend it")],
    };
    let Some(name) = table.get("package").and_then(|package| package.get("name")?.as_str()) else {
        return Vec::new();
    };
    let mut complaints = Vec::new();
    if table.get("lints").and_then(|lints| lints.get("workspace")?.as_bool()) != Some(true) {
        complaints.push(complain(format!("{name} does without the lints"), "Add [lints] workspace = true"));
    }
    let Some((_, below)) = ROOMS.iter().find(|(room, _)| *room == name) else {
        let instead = "Add it to ROOMS in xtask and to ARCHITECTURE.md, with what it may depend on";
        complaints.push(complain(format!("{name} is a room that nobody planned"), instead));
        return complaints;
    };
    for (section, dependency) in dependencies(&table) {
        let ours = ROOMS.iter().any(|(room, _)| *room == dependency);
        let harness = section == "dev-dependencies" && dependency == "belay-testkit";
        if ours && !harness && !below.contains(&dependency) {
            let instead = "Move what both need into a crate below both, or pass it as a parameter";
            complaints.push(complain(format!("{name} depends on {dependency}"), instead));
        }
        if let Some((_, instead)) = UNWANTED.iter().find(|(unwanted, _)| *unwanted == dependency) {
            complaints.push(complain(format!("{name} depends on {dependency}"), instead));
        }
    }
    complaints
}

/// Every dependency with the section that it stands in.
fn dependencies(table: &toml::Table) -> Vec<(&str, &str)> {
    const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let mut targets = vec![table];
    if let Some(by_target) = table.get("target").and_then(toml::Value::as_table) {
        targets.extend(by_target.values().filter_map(toml::Value::as_table));
    }
    let mut found = Vec::new();
    for table in targets {
        for section in SECTIONS {
            if let Some(names) = table.get(section).and_then(toml::Value::as_table) {
                found.extend(names.keys().map(|name| (section, name.as_str())));
            }
        }
    }
    found
}

/// Complaints about `Cargo.lock`.
pub(crate) fn lock(path: &str, text: &str) -> Vec<Complaint> {
    let packages = text.lines().filter(|line| *line == "[[package]]").count();
    if packages <= PACKAGES_MAX {
        return Vec::new();
    }
    let what = format!("{packages} packages are locked, more than {PACKAGES_MAX}");
    let instead = "Drop a dependency, or switch off features with default-features = false";
    vec![Complaint { path: path.to_owned(), line: 1, what, instead }]
}
