//! Tools that people use to go back, called as a careful person would call them.

use crate::tool::Tool;

/// A tool that is known by its name.
#[derive(Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The program that must be there.
    pub program: &'static str,
    snapshot: &'static str,
    restore: &'static str,
    set: &'static [(&'static str, &'static str)],
}

const GIT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_AUTHOR_NAME", "Ada"),
    ("GIT_AUTHOR_EMAIL", "ada@example.org"),
    ("GIT_COMMITTER_NAME", "Ada"),
    ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Every tool that is known by its name, but for belay itself.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "cp",
        program: "cp",
        snapshot: "cp -a . {store}/copy",
        restore: "find . -mindepth 1 -delete && cp -a {store}/copy/. .",
        set: &[],
    },
    Preset {
        name: "tar",
        program: "tar",
        snapshot: "tar --acls --xattrs --sparse -cf {store}/snapshot.tar .",
        restore: "find . -mindepth 1 -delete && tar --acls --xattrs -xpf {store}/snapshot.tar",
        set: &[],
    },
    Preset {
        name: "rsync",
        program: "rsync",
        snapshot: "rsync -aHAXS --numeric-ids ./ {store}/copy/",
        restore: "rsync -aHAXS --numeric-ids --delete --checksum {store}/copy/ ./",
        set: &[],
    },
    Preset {
        name: "git-stash",
        program: "git",
        snapshot: "git rev-parse -q --verify HEAD || { git init -q && git add -A && git commit -qm start; }; \
                   git stash push -q --include-untracked --keep-index; git stash apply -q --index",
        restore: "git reset -q --hard && git clean -qfd && git stash apply -q --index",
        set: GIT,
    },
    Preset {
        name: "git-ref",
        program: "git",
        snapshot: "test -e .git || git init -q; export GIT_INDEX_FILE={store}/index; git add --all && \
                   git update-ref refs/sandbox/snapshots/s \"$(git commit-tree -m s \"$(git write-tree)\")\"",
        restore: "git ls-files -z --cached --others --exclude-standard | sort -zu >{store}/now; \
                  export GIT_INDEX_FILE={store}/index; git read-tree refs/sandbox/snapshots/s && \
                  git checkout-index -a -f && git ls-files -z | sort -zu >{store}/then && \
                  comm -z -23 {store}/now {store}/then | xargs -0 -r rm -rf --",
        set: GIT,
    },
    Preset {
        name: "restic",
        program: "restic",
        snapshot: "restic -q init && restic -q backup .",
        restore: "find . -mindepth 1 -delete && restic -q restore latest --target .",
        set: &[
            ("RESTIC_REPOSITORY", "{store}/restic"),
            ("RESTIC_PASSWORD", "conformance"),
            ("RESTIC_CACHE_DIR", "{store}/cache"),
        ],
    },
    Preset {
        name: "borg",
        program: "borg",
        snapshot: "borg init -e none {store}/borg && borg create --sparse {store}/borg::s .",
        restore: "find . -mindepth 1 -delete && borg extract --sparse {store}/borg::s",
        set: &[("BORG_BASE_DIR", "{store}/base"), ("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes")],
    },
];

impl Preset {
    /// The tool of that name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The tool as it is called.
    pub fn tool(&self) -> Tool {
        let mut tool = Tool::of_lines(self.name, self.snapshot, self.restore);
        tool.set = self.set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        tool
    }
}
