//! Why something can be reached or not: the decision, and the rule that made it.

use std::path::{Path, PathBuf};

use belay_jail::{Access, DeniedCall, denied_call};

use super::{Ground, Profile};

/// What somebody asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A path, absolute.
    Path(PathBuf),
    /// A host on the network.
    Host(String),
    /// A system call.
    Call(String),
    /// A variable of the environment.
    Variable(String),
}

/// A decision and what made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// What can be done, in a word or two.
    pub decision: String,
    /// The rule, as it is written.
    pub rule: String,
    /// Which profile or flag says so; none if it always holds.
    pub origin: Option<String>,
    /// How to have it otherwise; none if that cannot be had.
    pub instead: Option<String>,
}

impl Profile {
    /// Why something is as it is under this profile.
    pub fn why(&self, subject: &Subject, ground: &Ground<'_>) -> Why {
        match subject {
            Subject::Path(path) => self.why_path(path, ground),
            Subject::Host(host) => self.why_host(host),
            Subject::Call(name) => why_call(name, denied_call(name)),
            Subject::Variable(name) => self.why_variable(name),
        }
    }

    fn why_path(&self, path: &Path, ground: &Ground<'_>) -> Why {
        let own = |name: &str| path.starts_with(name);
        if own("/proc") || own("/dev") {
            return always("the jail's own", "/proc and /dev are made for each jail");
        }
        if path.starts_with(ground.belay) {
            return always(word(Access::Hidden), "belay's own directory is out of reach for every command");
        }
        let grants = self.grants(ground);
        let covers = grants.iter().filter(|(grant, _)| path.starts_with(&grant.path));
        let Some((grant, rule)) = covers.max_by_key(|(grant, _)| grant.path.components().count()) else {
            let path = path.display();
            return Why {
                decision: word(Access::Hidden).to_owned(),
                rule: "no rule names it".to_owned(),
                origin: None,
                instead: Some(format!("--ro {path} or --rw {path}")),
            };
        };
        let decision = word(grant.access).to_owned();
        let Some(rule) = rule else {
            let instead = Some(format!("--hide {}", path.display()));
            return Why { decision, rule: "the workspace can be written".to_owned(), origin: None, instead };
        };
        let flag = if grant.access == Access::Read { "--rw" } else { "--ro" };
        Why {
            decision,
            rule: rule.path.clone(),
            origin: Some(rule.origin.clone()),
            instead: (grant.access != Access::Write).then(|| format!("{flag} {}", path.display())),
        }
    }

    fn why_host(&self, host: &str) -> Why {
        let (shared, origin) = &self.shared_network;
        let (decision, rule) = match (shared, is_loopback(host)) {
            (true, _) => ("reachable", "the machine's network is shared"),
            (false, true) => ("the jail's own", "there is no network but a loopback of the jail's own"),
            (false, false) => ("not reachable", "there is no network"),
        };
        let instead = if *shared { "--profile strict" } else { "a profile whose network.mode is \"shared\"" };
        Why {
            decision: decision.to_owned(),
            rule: rule.to_owned(),
            origin: Some(origin.clone()),
            instead: Some(instead.to_owned()),
        }
    }

    fn why_variable(&self, name: &str) -> Why {
        let patterns: Vec<&str> = self.variables.iter().map(|(pattern, _)| pattern.as_str()).collect();
        let passes = |patterns: &[&str]| !belay_jail::scrub([(name.as_bytes(), &b""[..])], patterns).is_empty();
        let passed = passes(&patterns);
        // The one pattern that decides: whichever passes it alone, or whichever bans what all others pass.
        let decides = self.variables.iter().find(|(pattern, _)| match pattern.strip_prefix('!') {
            Some(banned) => !passed && passes(&[banned]),
            None => passed && passes(&[pattern]),
        });
        Why {
            decision: if passed { "passed on" } else { "not passed on" }.to_owned(),
            rule: decides.map_or_else(|| "no rule names it".to_owned(), |(pattern, _)| pattern.clone()),
            origin: decides.map(|(_, origin)| origin.clone()),
            instead: None,
        }
    }
}

fn always(decision: &str, rule: &str) -> Why {
    Why { decision: decision.to_owned(), rule: rule.to_owned(), origin: None, instead: None }
}

fn why_call(name: &str, denied: Option<&DeniedCall>) -> Why {
    match denied {
        Some(call) => {
            let when = if call.when.is_empty() { String::new() } else { format!(" ({})", call.when) };
            always(&format!("refused{when}"), call.why)
        }
        None => always("allowed", &format!("nothing names {name}, and what is not named is allowed")),
    }
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Hidden => "hidden",
        Access::Read => "can be read",
        Access::Write => "can be written",
        Access::Private => "a private copy, changes end with the run",
        Access::Empty => "private and empty at first",
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
