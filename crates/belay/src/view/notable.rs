//! Paths that a reviewer must not miss: what is executed or believed outside of the jail, by others than who applies it.

/// What runs or believes a path, if something does.
pub(crate) fn notable(path: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(path);
    let parts: Vec<&str> = text.split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    let within = |outer: &str, inner: &str| parts.windows(2).any(|pair| pair == [outer, inner]);
    let is_in = |directory: &str| parts[..parts.len() - 1].contains(&directory);
    match () {
        () if within(".git", "hooks") && parts.len() > 2 && name != "hooks" && !name.ends_with(".sample") => {
            Some("git runs it")
        }
        () if is_in(".git") && (name == "config" || name == "config.worktree" || within("info", "attributes")) => {
            Some("git believes it")
        }
        () if is_in(".husky") || matches!(name, ".pre-commit-config.yaml" | "lefthook.yml" | ".lefthook.yml") => {
            Some("git's hooks run it")
        }
        () if name == ".gitmodules" || name == ".gitattributes" => Some("git believes it"),
        () if matches!(name, "belay.toml" | "belay.yaml" | "belay.yml") => Some("belay believes it"),
        () if within(".github", "workflows") || within(".github", "actions") || is_in(".circleci") => {
            Some("CI runs it")
        }
        () if is_in(".buildkite") || is_in(".woodpecker") || is_ci(name) => Some("CI runs it"),
        () if is_in(".vscode") || is_in(".idea") || is_in(".devcontainer") => Some("editors believe it"),
        () if name == ".envrc" => Some("direnv runs it"),
        () => None,
    }
}

fn is_ci(name: &str) -> bool {
    const FILES: [&str; 9] = [
        ".gitlab-ci.yml",
        ".travis.yml",
        ".drone.yml",
        ".woodpecker.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "appveyor.yml",
        "cloudbuild.yaml",
    ];
    FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_settings_and_workflows_are_not_missed() {
        for (path, who) in [
            (".git/hooks/post-checkout", Some("git runs it")),
            ("vendor/x/.git/hooks/pre-push", Some("git runs it")),
            (".git/hooks/pre-push.sample", None),
            (".git/hooks", None),
            (".git/config", Some("git believes it")),
            (".git/modules/x/config", Some("git believes it")),
            ("config", None),
            (".github/workflows/ci.yml", Some("CI runs it")),
            (".github/FUNDING.yml", None),
            ("sub/.gitlab-ci.yml", Some("CI runs it")),
            ("belay.toml", Some("belay believes it")),
            ("src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(notable(path.as_bytes()), who, "{path}");
        }
    }
}
