//! What no rule is proposed for, however often a command asks for it: keys, credentials, and what commands the machine.
//!
//! Invariant: nothing is hidden by this list; it only keeps belay from talking somebody into opening what it names.

use std::ffi::OsStr;
use std::path::Path;

const KEYS: &str = "it holds keys or passwords";
const LIFE: &str = "it holds what you typed or where you are logged in";
const COMMANDS: &str = "whoever reaches it commands the machine or your session";

/// In the home.
const IN_HOME: [(&str, &str); 34] = [
    (".ssh", KEYS),
    (".gnupg", KEYS),
    (".pki", KEYS),
    (".aws", KEYS),
    (".azure", KEYS),
    (".kube", KEYS),
    (".docker", KEYS),
    (".netrc", KEYS),
    (".npmrc", KEYS),
    (".pypirc", KEYS),
    (".pgpass", KEYS),
    (".my.cnf", KEYS),
    (".vault-token", KEYS),
    (".git-credentials", KEYS),
    (".password-store", KEYS),
    (".terraform.d", KEYS),
    (".cargo/credentials", KEYS),
    (".cargo/credentials.toml", KEYS),
    (".config/git/credentials", KEYS),
    (".config/gcloud", KEYS),
    (".config/gh", KEYS),
    (".config/hub", KEYS),
    (".config/op", KEYS),
    (".local/share/keyrings", KEYS),
    (".local/share/kwalletd", KEYS),
    (".mozilla", LIFE),
    (".thunderbird", LIFE),
    (".config/chromium", LIFE),
    (".config/google-chrome", LIFE),
    (".config/BraveSoftware", LIFE),
    (".bash_history", LIFE),
    (".zsh_history", LIFE),
    (".python_history", LIFE),
    (".psql_history", LIFE),
];

/// Anywhere.
const ABSOLUTE: [(&str, &str); 10] = [
    ("/run/docker.sock", COMMANDS),
    ("/var/run/docker.sock", COMMANDS),
    ("/run/containerd", COMMANDS),
    ("/run/podman", COMMANDS),
    ("/run/dbus", COMMANDS),
    ("/run/systemd/private", COMMANDS),
    ("/run/user", COMMANDS),
    ("/tmp/.X11-unix", COMMANDS),
    ("/boot", COMMANDS),
    ("/sys/kernel/debug", COMMANDS),
];

const STEMS: [&str; 8] =
    ["credentials", "credential", "secrets", "secret", "token", "id_rsa", "id_ecdsa", "id_ed25519"];
const ENDINGS: [&str; 7] = ["pem", "key", "p12", "pfx", "kdbx", "jks", "keytab"];

/// Why a path stays closed, if it does.
pub(crate) fn closed(path: &Path, home: &Path) -> Option<&'static str> {
    let listed = IN_HOME.iter().find(|(place, _)| path.starts_with(home.join(place)));
    let listed = listed.or_else(|| ABSOLUTE.iter().find(|(place, _)| path.starts_with(place)));
    listed.map(|(_, why)| *why).or_else(|| is_key_by_name(path).then_some(KEYS))
}

/// Whether something that stays closed lies, or may lie, beneath a directory.
pub(crate) fn holds_closed(directory: &Path, home: &Path) -> bool {
    closed(directory, home).is_some()
        || IN_HOME.iter().any(|(place, _)| home.join(place).starts_with(directory))
        || ABSOLUTE.iter().any(|(place, _)| Path::new(place).starts_with(directory))
}

fn is_key_by_name(path: &Path) -> bool {
    let is_one_of = |part: Option<&OsStr>, all: &[&str]| {
        part.and_then(OsStr::to_str).is_some_and(|part| all.contains(&part.to_ascii_lowercase().as_str()))
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_environment = name == ".env" || name == ".envrc" || name.starts_with(".env.");
    is_environment || is_one_of(path.file_stem(), &STEMS) || is_one_of(path.extension(), &ENDINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_closed_and_what_holds_them_is_not_opened_for_others() {
        let home = Path::new("/home/ada");
        for path in
            ["/home/ada/.ssh/x", "/srv/server.pem", "/srv/.env.local", "/run/user/1000/bus", "/x/credentials.json"]
        {
            assert!(closed(Path::new(path), home).is_some(), "{path}");
        }
        for path in ["/home/ada/.config/app/settings", "/srv/.environment", "/home/you/.sshd", "/srv/keys/readme"] {
            assert!(closed(Path::new(path), home).is_none(), "{path}");
        }
        assert!(holds_closed(Path::new("/home/ada/.config"), home));
        assert!(!holds_closed(Path::new("/home/ada/.config/app"), home));
    }
}
