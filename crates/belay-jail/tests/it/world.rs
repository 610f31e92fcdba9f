//! A machine in small: a home with secrets, a store, a workspace, and a policy that grants the usual.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use belay_jail::{Access, Grant, Held, Identity, Launch, Limits, Network, Policy, hold};
use tempfile::TempDir;

/// What a program in the jail said, and how it ended.
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) struct World {
    directory: TempDir,
    pub(crate) policy: Policy,
}

impl World {
    pub(crate) fn new() -> World {
        let directory = TempDir::with_prefix("belay-jail-").unwrap();
        let root = directory.path();
        for path in ["home/.config/agent", "home/.ssh", "store/packs", "workspace/.git/hooks", "other"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in [
            "home/.config/agent/settings",
            "home/.agent.json",
            "home/.ssh/key",
            "store/packs/one",
            "workspace/.git/hooks/pre-commit",
            "workspace/.env",
            "workspace/code",
            "other/file",
        ] {
            fs::write(root.join(path), path).unwrap();
        }
        let mut grants: Vec<Grant> = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/sys/devices/system"]
            .map(|path| Grant::new(path, Access::Read))
            .into();
        grants.push(Grant::new("/tmp", Access::Empty));
        let at = |path: &str, access| Grant::new(root.join(path), access);
        grants.extend([
            at("home", Access::Empty),
            at("home/.config/agent", Access::Private),
            at("home/.agent.json", Access::Private),
            at("workspace", Access::Write),
            at("workspace/.git/hooks", Access::Read),
            at("workspace/.env", Access::Hidden),
        ]);
        let policy = Policy {
            grants,
            sealed: Vec::new(),
            kept: Vec::new(),
            shown: Vec::new(),
            replaced: Vec::new(),
            network: Network::None,
            identity: Identity::Own { uid: 1000, gid: 1000 },
            limits: Limits::default(),
            host_name: "jail".into(),
            tells_refusals: false,
            tells_paths: false,
            without_namespaces: false,
        };
        World { directory, policy }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Everything outside of the workspace, to be compared with later.
    pub(crate) fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for part in ["home", "store", "other"] {
            collect(&self.path(part), &mut found);
        }
        found.sort();
        found
    }

    pub(crate) fn launch(&self, argv: &[&str], stdio: Option<[OwnedFd; 3]>) -> Launch {
        let variable = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        Launch {
            argv: argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
            env: vec![
                variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
                variable("HOME", &self.path("home").to_string_lossy()),
                variable("ROOT", &self.directory.path().to_string_lossy()),
            ],
            directory: self.workspace(),
            stdio,
            foreground: true,
            dies_with_parent: false,
            tracer: None,
        }
    }

    /// Runs a program in the jail and returns what it said.
    #[track_caller]
    pub(crate) fn run(&self, argv: &[&str]) -> Said {
        let mut out = tempfile::tempfile().unwrap();
        let mut err = tempfile::tempfile().unwrap();
        let copy = |file: &File| OwnedFd::from(file.try_clone().unwrap());
        let stdio = [File::open("/dev/null").unwrap().into(), copy(&out), copy(&err)];
        let held = hold(&self.policy, self.launch(argv, Some(stdio)), |_| Ok(())).unwrap();
        let status = held.release().unwrap().wait().unwrap();
        let read = |file: &mut File| {
            let mut text = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        };
        Said { status, out: read(&mut out), err: read(&mut err) }
    }

    #[track_caller]
    pub(crate) fn shell(&self, script: &str) -> Said {
        self.run(&["/bin/sh", "-c", script])
    }

    /// Runs a script that must succeed, and returns what it wrote.
    #[track_caller]
    pub(crate) fn says(&self, script: &str) -> String {
        let said = self.shell(script);
        assert!(said.status.success(), "{script}\n{:?}\n{}{}", said.status, said.out, said.err);
        said.out.trim_end().to_owned()
    }

    /// Runs lines of Python that end by calling `answer`, and returns the name of the error that they got, or `none`.
    #[track_caller]
    pub(crate) fn error_of(&self, lines: &str) -> String {
        const BEFORE: &str = include_str!("before.py");
        let said = self.run(&["/usr/bin/python3", "-c", &format!("{BEFORE}\n{lines}")]);
        assert!(said.status.success(), "{lines}\n{:?}\n{}{}", said.status, said.out, said.err);
        said.out.trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn held(&self, argv: &[&str]) -> Held {
        hold(&self.policy, self.launch(argv, None), |_| Ok(())).unwrap()
    }
}

fn collect(path: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

/// Whether this machine lets anybody make namespaces, asked of somebody else; said aloud if not.
pub(crate) fn has_namespaces() -> bool {
    let answer = Command::new("unshare").args(["--user", "--mount", "--pid", "--fork", "true"]).output().unwrap();
    if !answer.status.success() {
        belay_testkit::skip(&format!("no namespaces: {}", String::from_utf8_lossy(&answer.stderr).trim_end()));
    }
    answer.status.success()
}
