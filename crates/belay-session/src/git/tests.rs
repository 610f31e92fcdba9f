//! Against what the real git writes, and against what nobody should write.

use std::path::Path;

use belay_store::Root;
use belay_testkit::{Swapper, TempWorkspace, fuzz, git, repository};

use super::id::{Format, Kind};
use super::place::Repository;
use super::tree::{Commit, decode_tag, decode_tree, encode_tree};
use super::{id, ids, index, objects, pack};

fn said(directory: &Path, arguments: &[&str]) -> String {
    let output = git(directory).args(arguments).output().expect("git is installed by scripts/setup");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn open(directory: &Path) -> Repository {
    Repository::of(&Root::open(directory).unwrap(), directory, false).unwrap().expect("a repository")
}

#[test]
fn every_object_that_git_wrote_is_read_whether_packed_or_not() {
    for format in ["sha1", "sha256"] {
        let dir = tempfile::tempdir().unwrap();
        said(dir.path(), &["init", "-q", &format!("--object-format={format}")]);
        for version in 0..8 {
            let text: String = (0..3_000).map(|line| format!("{line} {}\n", line * (version + 1) / 7)).collect();
            std::fs::write(dir.path().join("text"), text).unwrap();
            std::fs::write(dir.path().join(format!("file-{version}")), [version as u8; 300]).unwrap();
            said(dir.path(), &["add", "-A"]);
            said(dir.path(), &["commit", "-qm", "a change"]);
        }
        said(dir.path(), &["tag", "-a", "t", "-m", "a tag"]);
        for packed in [false, true] {
            if packed {
                said(dir.path(), &["repack", "-adfq", "--depth=20"]);
                said(dir.path(), &["prune-packed"]);
                assert!(said(dir.path(), &["count-objects"]).starts_with("0 objects"), "all are packed");
            }
            let repository = open(dir.path());
            let all = said(dir.path(), &["cat-file", "--batch-all-objects", "--batch-check"]);
            assert!(all.lines().count() > 30);
            for line in all.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let id = id::GitId::from_hex(repository.objects.format(), words[0].as_bytes()).unwrap();
                let (kind, bytes) = repository.objects.read(&id, 1 << 20).unwrap();
                assert_eq!((kind.name(), bytes.len().to_string()), (words[1], words[2].to_owned()), "{line}");
                assert!(repository.objects.has(&id).unwrap());
            }
            assert!(repository.find_ref("HEAD").unwrap().is_some());
            let tag = repository.find_ref("refs/tags/t").unwrap().unwrap();
            assert_eq!(repository.commit(&tag).unwrap().0, repository.find_ref("HEAD").unwrap().unwrap());
        }
    }
}

#[test]
fn a_damaged_object_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let head = said(dir.path(), &["rev-parse", "HEAD"]).trim().to_owned();
    let other = said(dir.path(), &["rev-parse", "HEAD~1"]).trim().to_owned();
    let place = |id: &str| dir.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(place(&head)).unwrap();
    std::fs::copy(place(&other), place(&head)).unwrap();
    let id = id::GitId::from_hex(Format::Sha1, head.as_bytes()).unwrap();
    let error = open(dir.path()).objects.read(&id, 1 << 20).unwrap_err();
    assert!(error.to_string().contains("its hash is another"), "{error}");
}

#[test]
fn a_directory_that_turns_into_a_link_leads_no_object_outside() {
    let workspace = TempWorkspace::new();
    repository(workspace.path());
    let outside = workspace.outside();
    let first = workspace.join(".git/objects/e6");
    std::fs::create_dir_all(&first).unwrap();
    std::fs::create_dir_all(outside.join("target")).unwrap();
    let swapper = Swapper::with_symlink(&first, &outside.join("decoy"), &outside.join("target"));
    let (mut done, mut refused, mut number) = (0, 0, 0u32);
    while (done + refused < 40 || swapper.swaps() < 200) && number < 1_000_000 {
        number += 1;
        let bytes = number.to_string().into_bytes();
        let id = Format::Sha1.name(Kind::Blob, &bytes).unwrap();
        if id.as_bytes()[0] == 0xe6 {
            let added = open(workspace.path())
                .objects
                .add(&id, Kind::Blob, bytes.len() as u64, &|take| take(&bytes).map_err(crate::error::Error::Output));
            *(if added.is_ok() { &mut done } else { &mut refused }) += 1;
        }
    }
    drop(swapper);
    assert_eq!(std::fs::read_dir(outside.join("target")).unwrap().count(), 0, "{done} added, {refused} refused");
    assert!(done > 0, "none was added, so that nothing was proven");
}

#[test]
fn the_index_is_read_in_every_version() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    for name in ["a", "a.b/c", "a/b", "über/x y", "a/bb"] {
        let path = dir.path().join("n").join(name.replace("a/", "d/"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    said(dir.path(), &["add", "-A"]);
    std::fs::write(dir.path().join("later"), "").unwrap();
    for version in ["2", "3", "4"] {
        if version == "3" {
            said(dir.path(), &["add", "--intent-to-add", "later"]);
        }
        said(dir.path(), &["update-index", "--index-version", version]);
        let tracked = open(dir.path()).tracked().unwrap();
        let listed = said(dir.path(), &["ls-files", "-z"]);
        let names: Vec<&[u8]> = tracked.paths.iter().map(Vec::as_slice).collect();
        assert_eq!(names.join(&0), listed.trim_end_matches('\0').as_bytes(), "version {version}");
        assert!(!tracked.is_partial);
    }
    said(dir.path(), &["update-index", "--split-index"]);
    assert!(open(dir.path()).tracked().unwrap().is_partial);
}

#[test]
fn no_bytes_make_a_reader_of_git_panic() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    said(dir.path(), &["update-index", "--index-version", "4"]);
    let of_index = std::fs::read(dir.path().join(".git/index")).unwrap();
    let id = Format::Sha1.name(Kind::Blob, b"").unwrap();
    let entry = super::tree::TreeEntry { name: b"name".to_vec(), mode: super::tree::Mode::File, id };
    let of_tree = encode_tree(vec![entry]);
    let of_commit =
        Commit { tree: id, at: 7, message: b"m\n".to_vec(), extra: vec![("belay-filter".into(), "00".into())] }
            .encode();
    let change = vec![11, 8, 0x91, 6, 5, 3, b'!', b'!', b'!'];
    let config = b"[core]\n\tworktree = \"a\\tb\" # c\n[extensions]\n\tobjectformat = sha256\n".to_vec();
    fuzz("git", &[of_index, of_tree, of_commit, change, config], |bytes| {
        for format in [Format::Sha1, Format::Sha256] {
            let _ = index::parse(format, bytes);
            let _ = ids::parse(format, bytes);
            let _ = decode_tag(format, bytes);
            if let Some(commit) = Commit::decode(format, bytes) {
                let _ = commit.header("belay-filter").and_then(super::unhex);
            }
            if let Some(entries) = decode_tree(format, bytes) {
                assert!(entries.iter().all(|entry| !entry.name.contains(&b'/') && entry.name != b".."));
            }
        }
        let _ = super::config::layout(bytes);
        let _ = super::excludes_file(bytes);
        let _ = objects::parse_loose(bytes, 1 << 16);
        if let Some(out) = pack::apply(b"hello world", bytes, 1 << 10) {
            assert!(out.len() <= 1 << 10);
        }
    });
}
