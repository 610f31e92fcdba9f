//! Profiles: what a confined command may reach, as data that inherits, merges and explains itself.
//!
//! Invariants: nothing in a workspace is a profile; what a profile does not name is hidden; belay's own directory is
//! hidden whatever a profile says; every rule knows which profile it stands in.

mod explain;
mod text;

use std::path::{Path, PathBuf};

use belay_jail::{Access, Grant, Identity, Limits, Network, Policy};

pub use explain::{Subject, Why};
pub use text::ProfileError;

const BUILT_IN: [(&str, &str); 13] = [
    ("claude", include_str!("profile/built_in/claude.toml")),
    ("codex", include_str!("profile/built_in/codex.toml")),
    ("copilot", include_str!("profile/built_in/copilot.toml")),
    ("cursor", include_str!("profile/built_in/cursor.toml")),
    ("default", include_str!("profile/built_in/default.toml")),
    ("gemini", include_str!("profile/built_in/gemini.toml")),
    ("go", include_str!("profile/built_in/go.toml")),
    ("node", include_str!("profile/built_in/node.toml")),
    ("opencode", include_str!("profile/built_in/opencode.toml")),
    ("python", include_str!("profile/built_in/python.toml")),
    ("rust", include_str!("profile/built_in/rust.toml")),
    ("shell", include_str!("profile/built_in/shell.toml")),
    ("strict", include_str!("profile/built_in/strict.toml")),
];

/// Programs and the profile that suits them, if nobody says which.
const SUITS: [(&str, &str); 34] = [
    ("aider", "python"),
    ("bash", "shell"),
    ("bun", "node"),
    ("cargo", "rust"),
    ("claude", "claude"),
    ("codex", "codex"),
    ("conda", "python"),
    ("copilot", "copilot"),
    ("corepack", "node"),
    ("cursor-agent", "cursor"),
    ("deno", "node"),
    ("fish", "shell"),
    ("gemini", "gemini"),
    ("go", "go"),
    ("gofmt", "go"),
    ("node", "node"),
    ("npm", "node"),
    ("npx", "node"),
    ("opencode", "opencode"),
    ("pip", "python"),
    ("pip3", "python"),
    ("pnpm", "node"),
    ("poetry", "python"),
    ("pytest", "python"),
    ("python", "python"),
    ("python3", "python"),
    ("rustc", "rust"),
    ("rustup", "rust"),
    ("tmux", "shell"),
    ("tsx", "node"),
    ("uv", "python"),
    ("uvx", "python"),
    ("yarn", "node"),
    ("zsh", "shell"),
];

/// A profile with everything that it inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The profiles that it inherits from, nearest last, itself last of all.
    pub lineage: Vec<String>,
    /// Rules on paths; of two for the same path the later one counts.
    pub rules: Vec<Rule>,
    /// Patterns of variables that are passed on, each with the profile that it stands in.
    pub variables: Vec<(String, String)>,
    /// Whether the machine's network is there, and which profile says so.
    pub shared_network: (bool, String),
    /// What may be used up.
    pub limits: Limits,
}

/// A rule on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The path as written: absolute, beginning with `~`, or in the workspace.
    pub path: String,
    /// How it can be reached.
    pub access: Access,
    /// The profile that it stands in, or the flag that it was given by.
    pub origin: String,
}

/// Where things are for one run.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The workspace.
    pub workspace: &'a Path,
    /// The person's home.
    pub home: &'a Path,
    /// belay's own directory.
    pub belay: &'a Path,
}

/// Profiles by their names: built in, or files that the person wrote.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// Names and texts of the person's own.
    pub own: Vec<(String, String)>,
}

impl Profiles {
    /// Every name, sorted.
    pub fn names(&self) -> Vec<&str> {
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        let mut names: Vec<&str> = self.own.iter().map(|(name, _)| name.as_str()).chain(built_in).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The profile of that name.
    pub fn get(&self, name: &str) -> Result<Profile, ProfileError> {
        text::assemble(name, &|name| self.text(name))
    }

    /// What is written in the profile of that name alone.
    pub fn text(&self, name: &str) -> Option<&str> {
        let own = self.own.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str());
        own.or_else(|| BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text))
    }

    /// The profile that a text would be, if it were stored under that name.
    pub fn check(&self, name: &str, text: &str) -> Result<Profile, ProfileError> {
        text::assemble(name, &|wanted| if wanted == name { Some(text) } else { self.text(wanted) })
    }
}

/// The name of the profile that suits a command.
pub fn suits(program: &[u8]) -> &'static str {
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or(program);
    SUITS.iter().find(|(program, _)| program.as_bytes() == name).map_or("default", |(_, profile)| profile)
}

impl Profile {
    /// Adds rules that were given for this run alone.
    pub fn add(&mut self, path: impl Into<String>, access: Access, flag: &str) {
        self.rules.push(Rule { path: path.into(), access, origin: flag.to_owned() });
    }

    /// The policy that this profile means here.
    pub fn policy(&self, ground: &Ground<'_>, identity: Identity) -> Policy {
        let network = if self.shared_network.0 { Network::Shared } else { Network::None };
        let grants = self.grants(ground).into_iter().map(|(grant, _)| grant).collect();
        Policy {
            grants,
            sealed: vec![ground.belay.to_owned()],
            kept: Vec::new(),
            shown: Vec::new(),
            replaced: Vec::new(),
            network,
            identity,
            limits: self.limits,
            host_name: "belay".to_owned(),
            tells_refusals: false,
            tells_paths: false,
            without_namespaces: true,
        }
    }

    /// The rule that says what becomes of exactly this path, if one does.
    pub(crate) fn rule_at(&self, path: &Path, ground: &Ground<'_>) -> Option<&Rule> {
        let grants = self.grants(ground).into_iter().rev();
        grants.filter(|(grant, _)| grant.path == path).find_map(|(_, rule)| rule)
    }

    /// Every grant with the rule that it comes from; what nobody can change has none.
    fn grants(&self, ground: &Ground<'_>) -> Vec<(Grant, Option<&Rule>)> {
        let rule = |rule| (Grant::new(place(rule, ground), rule.access), Some(rule));
        let (inside, outside): (Vec<&Rule>, Vec<&Rule>) = self.rules.iter().partition(|rule| is_inside(rule));
        let mut grants: Vec<(Grant, Option<&Rule>)> = outside.into_iter().map(rule).collect();
        grants.push((Grant::new(ground.workspace, Access::Write), None));
        grants.extend(inside.into_iter().map(rule));
        grants.push((Grant::new(ground.belay, Access::Hidden), None));
        // A rule beneath belay's directory would open what the last one hides.
        grants.retain(|(grant, rule)| rule.is_none() || !grant.path.starts_with(ground.belay));
        grants
    }
}

fn is_inside(rule: &Rule) -> bool {
    !rule.path.starts_with(['/', '~'])
}

fn place(rule: &Rule, ground: &Ground<'_>) -> PathBuf {
    match rule.path.strip_prefix('~') {
        Some(rest) => match rest.trim_start_matches('/') {
            "" => ground.home.to_owned(),
            rest => ground.home.join(rest),
        },
        None => ground.workspace.join(&rule.path),
    }
}

#[cfg(test)]
mod tests;
