//! Ready-made pieces of a workspace: odd names, paths too long for the kernel, a virtual environment, one of everything.

use crate::TempWorkspace;
use crate::at::join;

impl TempWorkspace {
    /// Makes files whose names break careless programs, beneath `directory`, and returns their paths.
    #[track_caller]
    pub fn odd_names(&self, directory: &str) -> Vec<Vec<u8>> {
        let longest = vec![b'n'; 255];
        let names: [&[u8]; 24] = [
            b" leading and trailing ",
            b"-rf",
            b"--help",
            b"...",
            b"~",
            b"$HOME",
            b"`touch canary`",
            b"quote'and\"quote",
            b"back\\slash",
            b"star*question?[bracket]",
            b"new\nline",
            b"carriage\rreturn",
            b"tab\tstop",
            b"escape\x1b[31mred\x1b[0m\x1b]0;title\x07",
            b"bell\x07and\x7fdelete",
            b"not-utf8-\xff\xfe",
            b"overlong-\xc0\xaf",
            "ü-composed".as_bytes(),
            "u\u{308}-decomposed".as_bytes(),
            "right-to-left-\u{202e}gpj.exe".as_bytes(),
            "\u{1f9d7}".as_bytes(),
            b"target-is-not-target",
            b"Case",
            b"case",
        ];
        let mut paths = Vec::new();
        for name in names.into_iter().chain([&longest[..]]) {
            let path = join(directory.as_bytes(), name);
            self.file(&path, name);
            paths.push(path);
        }
        paths
    }

    /// Makes a file at a path of more than `bytes` bytes beneath `directory`, and returns that path.
    #[track_caller]
    pub fn deep(&self, directory: &str, bytes: usize) -> Vec<u8> {
        let level = [b'd'; 200];
        let mut path = directory.as_bytes().to_vec();
        while path.len() <= bytes {
            path = join(&path, &level);
        }
        let path = join(&path, b"bottom");
        self.file(&path, "at the bottom\n");
        path
    }

    /// Makes a Python virtual environment as `python -m venv` does, absolute link included.
    #[track_caller]
    pub fn venv(&self, directory: &str) -> &Self {
        let inside = |name: &str| format!("{directory}/{name}");
        self.file(inside("pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = false\n")
            .symlink(inside("bin/python3"), "/usr/bin/python3")
            .symlink(inside("bin/python"), "python3")
            .file_mode(inside("bin/activate"), "deactivate () { :; }\n", 0o644)
            .file(inside("lib/python3.11/site-packages/six.py"), "import sys\n")
            .symlink(inside("lib64"), "lib")
    }

    /// Makes one path of each kind and property beneath `directory`: what a snapshot must bring back.
    ///
    /// Devices, owners and trusted attributes are added when the tests run as root.
    #[track_caller]
    pub fn every_kind(&self, directory: &str) -> &Self {
        let inside = |name: &str| format!("{directory}/{name}");
        self.file(inside("plain"), "plain\n")
            .file(inside("empty"), "")
            .file_mode(inside("program"), "#!/bin/sh\n", 0o755)
            .file_mode(inside("set-id"), "#!/bin/sh\n", 0o6755)
            .file_mode(inside("read-only"), "r\n", 0o444)
            .file(inside("large"), vec![7; 3_000_000])
            .sparse(inside("sparse"), 8 << 20, &[(1 << 20, b"island"), (6 << 20, b"coast")])
            .sparse(inside("only-a-hole"), 1 << 20, &[])
            .dir(inside("empty-directory"))
            .dir(inside("sticky"))
            .mode(inside("sticky"), 0o1777)
            .symlink(inside("to-plain"), "plain")
            .symlink(inside("dangling"), "nowhere/at/all")
            .symlink(inside("absolute"), "/usr/bin/env")
            .symlink(inside("link-loop"), "link-loop")
            .hard_link(inside("plain-twin"), inside("plain"))
            .hard_link(inside("sub/plain-triplet"), inside("plain"))
            .fifo(inside("fifo"))
            .socket(inside("socket"))
            .file(inside("old"), "old\n")
            .mtime(inside("old"), 1_000_000_000, 123_456_789)
            .file(inside("before-1970"), "older\n")
            .mtime(inside("before-1970"), -86_400, 1)
            .mtime(inside("dangling"), 1_100_000_000, 5);
        if !self.xattr(inside("plain"), "user.colour", "blue") {
            crate::skip("extended attributes: the filesystem has none");
        }
        self.xattr(inside("empty-directory"), "user.empty", "");
        self.acl(inside("program").as_bytes());
        if crate::is_root() {
            self.null_device(inside("null")).owner(inside("old"), 12_345, 23_456).owner(
                inside("to-plain"),
                12_345,
                23_456,
            );
            self.xattr(inside("large"), "trusted.root", "only");
        }
        self.file(inside("shut/inside"), "inside\n").mode(inside("shut"), 0o555)
    }

    /// Gives user 1 an entry `rwx` in the path's ACL, in the kernel's own form.
    fn acl(&self, path: &[u8]) {
        const NO_ID: u32 = u32::MAX;
        let entries: [(u16, u16, u32); 5] =
            [(0x01, 7, NO_ID), (0x02, 7, 1), (0x04, 5, NO_ID), (0x10, 7, NO_ID), (0x20, 5, NO_ID)];
        let mut acl = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            acl.extend(tag.to_le_bytes());
            acl.extend(permissions.to_le_bytes());
            acl.extend(id.to_le_bytes());
        }
        if !self.xattr(path, "system.posix_acl_access", acl) {
            crate::skip("access control lists: the filesystem has none");
        }
    }
}
