//! Why something can be reached or not: the decision, and the rule that made it.

use belay_jail::{DeniedCall, denied_call, sets_modes};

use super::Profile;

/// What somebody asks about, if it is not a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
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
    /// Why nothing is proposed that would open it.
    pub closed: Option<String>,
}

impl Why {
    /// What holds whatever a profile says.
    pub(crate) fn always(decision: &str, rule: &str) -> Why {
        let (decision, rule) = (decision.to_owned(), rule.to_owned());
        Why { decision, rule, origin: None, instead: None, closed: None }
    }
}

impl Profile {
    /// Why something is as it is under this profile.
    pub fn why(&self, subject: &Subject) -> Why {
        match subject {
            Subject::Host(host) => self.why_host(host),
            Subject::Call(name) => why_call(name, denied_call(name)),
            Subject::Variable(name) => self.why_variable(name),
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
        let (origin, instead) = (Some(origin.clone()), Some(instead.to_owned()));
        Why { origin, instead, ..Why::always(decision, rule) }
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
        let rule = decides.map_or("no rule names it", |(pattern, _)| pattern.as_str());
        let decision = if passed { "passed on" } else { "not passed on" };
        Why { origin: decides.map(|(_, origin)| origin.clone()), ..Why::always(decision, rule) }
    }
}

fn why_call(name: &str, denied: Option<&DeniedCall>) -> Why {
    match denied {
        Some(call) => {
            let when = if call.when.is_empty() { String::new() } else { format!(" ({})", call.when) };
            Why::always(&format!("refused{when}"), call.why)
        }
        None if sets_modes(name) => Why::always(
            "allowed, but as root not with the bit that makes a file run as its owner",
            "such a file would be root's outside of the jail",
        ),
        None => Why::always("allowed", &format!("nothing names {name}, and what is not named is allowed")),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
