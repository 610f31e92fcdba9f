//! Archives: what goes out comes back as the very same snapshot, plain `tar` agrees, and nobody's archive is believed.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use belay_session::store::{Algorithm, GapKind, Hash, Packing as StorePacking};
use belay_session::{
    Consent, Error, Home, HomeOptions, ImportRequest, Imported, Packing, Snapshot, SnapshotRequest, Sources,
};
use belay_testkit::{Ignore, assert_same_tree, is_root, skip, walk};

use crate::bed::{Bed, work};

fn export(bed: &Bed, snapshot: &Snapshot, name: &str) -> PathBuf {
    let to = bed.ws.outside().join(name);
    let packing = Packing::of(&to).unwrap();
    bed.open().export(snapshot, &to, packing, false, work()).unwrap();
    to
}

fn import(bed: &Bed, from: &Path) -> Result<Imported, Error> {
    bed.open().import(from, ImportRequest::default(), work())
}

/// Bytes that do not compress, the same every time.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// A workspace with everything that a file system can hold.
fn full_bed() -> Bed {
    let bed = Bed::new();
    bed.ws.every_kind("kinds");
    bed.ws.odd_names("names");
    bed.ws.deep("deep", 2000);
    bed.ws.file("large", noise(5 << 20)).file("empty", "").dir("nothing");
    bed.ws.sparse("holes", 20 << 20, &[(0, b"begin"), (12 << 20, b"middle")]).sparse("hole", 1 << 20, &[]);
    bed.ws.file("a", "one file").hard_link("b/c", "a").hard_link("z", "a");
    bed.ws.mtime("a", -5, 250_000_000).mtime("empty", 4_000_000_000, 1);
    bed.ws.xattr("large", "user.odd=name%3D", b"\0=\n\xff");
    bed
}

#[test]
fn what_goes_out_comes_back_as_the_same_snapshot() {
    let bed = full_bed();
    let taken = bed.snap();
    for name in ["out.tar", "out.tar.gz", "out.tar.zst"] {
        let file = export(&bed, &taken, name);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let imported = import(&bed, &file).unwrap();
        assert!(imported.is_verified);
        assert_eq!(imported.snapshot.root, taken.root, "{name}");
        assert_eq!((imported.snapshot.files, imported.snapshot.bytes), (taken.files, taken.bytes));
    }
    let (there, back) = (bed.ws.outside().join("there"), bed.ws.outside().join("back"));
    bed.open().extract(&taken, &[], &there, work()).unwrap();
    bed.open().extract(&bed.open().resolve("@latest").unwrap(), &[], &back, work()).unwrap();
    assert_same_tree(&there, &back, Ignore::default());
}

#[test]
fn a_root_hash_is_checked_in_a_store_of_another_hash_and_packing_too() {
    let bed = full_bed();
    // Pieces of more than one chunk, between holes.
    let piece = noise(7 << 20);
    bed.ws.sparse("wide", 30 << 20, &[(0, &piece), (16 << 20, &piece[1000..])]);
    let taken = bed.snap();
    let file = export(&bed, &taken, "out.tar");
    let forged = bed.ws.outside().join("forged.tar");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(8).position(|window| window == b"one file").unwrap();
    bytes[at] = b'O';
    std::fs::write(&forged, bytes).unwrap();
    let (elsewhere, mut roots) = (bed.ws.base().join("elsewhere"), Vec::new());
    for (number, (algorithm, packing)) in [
        (Algorithm::Blake3, StorePacking::Small),
        (Algorithm::Blake3, StorePacking::Swift),
        (Algorithm::Sha256, StorePacking::Small),
        (Algorithm::Sha256, StorePacking::Swift),
    ]
    .into_iter()
    .enumerate()
    {
        let options = HomeOptions { algorithm, packing, ..crate::bed::options(&bed.seconds, 7) };
        let home = Home::open(&elsewhere.join(number.to_string()), options).unwrap();
        let workspace = home.create(bed.ws.path(), Consent::default(), &Sources::default()).unwrap();
        let imported = workspace.import(&file, ImportRequest::default(), work()).unwrap();
        assert!(imported.is_verified, "{algorithm:?} {packing:?}");
        let captured = workspace.snapshot(&SnapshotRequest::default(), work()).unwrap().snapshot;
        assert_eq!(imported.snapshot.root, captured.root, "{algorithm:?} {packing:?}");
        roots.push(captured.root);
        let refused = workspace.import(&forged, ImportRequest::default(), work());
        assert!(matches!(refused, Err(Error::Archive { .. })), "{algorithm:?} {packing:?}");
    }
    assert_eq!((roots[0], roots[2]), (roots[1], roots[3]), "how it is packed does not change what it is");
}

#[test]
fn plain_tar_unpacks_the_same_tree() {
    if Command::new("tar").arg("--version").output().is_err() {
        return skip("no tar");
    }
    let bed = full_bed();
    let taken = bed.snap();
    let (file, to) = (export(&bed, &taken, "out.tar.gz"), bed.ws.outside().join("to"));
    std::fs::create_dir(&to).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--xattrs", "--xattrs-include=*", "-xpf"]).arg(&file).arg("-C").arg(&to);
    let said = tar.output().unwrap();
    let complaints = String::from_utf8_lossy(&said.stderr);
    // It wonders about files from before 1970 and from the future, and unpacks them right.
    let is_strange = complaints.lines().any(|line| !line.contains("time stamp"));
    assert!(said.status.success() && !is_strange, "{complaints}");
    let expected = bed.ws.outside().join("expected");
    bed.open().extract(&taken, &[], &expected, work()).unwrap();
    for socket in walk(&expected).into_iter().filter(|(_, seen)| seen.kind == belay_testkit::Kind::Socket) {
        std::fs::remove_file(expected.join(std::str::from_utf8(&socket.0).unwrap())).unwrap();
    }
    assert_same_tree(&expected, &to, Ignore { directory_mtime: true, ..Ignore::default() });
}

#[test]
fn an_archive_of_tar_is_read_with_everything_in_it() {
    let bed = full_bed();
    let taken = bed.snap();
    for (form, name) in [("posix", "posix.tar"), ("gnu", "gnu.tar.gz")] {
        let file = bed.ws.outside().join(name);
        let mut tar = Command::new("tar");
        tar.args(["--xattrs", "--xattrs-include=*", "-S", "--sort=name", "-caf"]).arg(&file);
        tar.arg(format!("--format={form}")).arg("-C").arg(bed.ws.path()).arg(".");
        // Attributes are known to one of the forms only.
        let said = if form == "gnu" { tar.arg("--no-xattrs").output() } else { tar.output() };
        let Ok(said) = said else { return skip("no tar") };
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let imported = import(&bed, &file).unwrap();
        assert!(!imported.is_verified);
        // Sockets have no place in tar, and the older form has none for attributes.
        let sockets =
            walk(bed.ws.path()).values().filter(|seen| seen.kind == belay_testkit::Kind::Socket).count() as u64;
        assert_eq!(imported.snapshot.files, taken.files - sockets, "{form}");
        assert_eq!(imported.snapshot.bytes, taken.bytes, "{form}");
    }
}

#[test]
fn an_import_is_in_the_timeline_and_the_workspace_is_untouched() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("only-then", "x");
    let taken = bed.snap();
    let file = export(&bed, &taken, "out.tar.zst");
    bed.ws.file("a", "2").remove("only-then").file("only-now", "y");
    let now = bed.snap();
    let before = bed.ws.walk();
    let imported = import(&bed, &file).unwrap().snapshot;
    belay_testkit::assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    let timeline = bed.open().timeline().unwrap();
    assert_eq!(timeline.latest().unwrap().id, imported.id);
    assert_eq!(timeline.base().unwrap().id, now.id, "an import is no state that the workspace was in");
    bed.rollback(&imported);
    assert_eq!(std::fs::read(bed.ws.join("a")).unwrap(), b"1");
    assert!(bed.ws.join("only-then").exists() && !bed.ws.join("only-now").exists());
}

#[test]
fn what_a_snapshot_did_not_claim_it_does_not_claim_after_a_journey() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", "node_modules/\n").file("package.json", "{}").file("node_modules/x/i.js", "x");
    bed.ws.file("a", "1").file("secret", "s").mode("secret", 0o000);
    let taken = bed.snap();
    let imported = import(&bed, &export(&bed, &taken, "out.tar.zst")).unwrap().snapshot;
    assert_eq!(imported.gaps, taken.gaps);
    bed.ws.file("a", "2");
    bed.rollback(&imported);
    assert!(bed.ws.join("node_modules/x/i.js").exists() && bed.ws.join("secret").exists());
    let workspace = bed.open();
    let coverage = workspace.tree(&imported).unwrap().coverage(bed.home.store()).unwrap();
    assert!(coverage.gaps.iter().any(|gap| gap.kind == GapKind::Regenerable));
}

#[test]
fn a_directory_is_imported_wherever_it_lies() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let taken = bed.snap();
    let copy = bed.ws.outside().join("copy");
    bed.open().extract(&taken, &[], &copy, work()).unwrap();
    assert_eq!(import(&bed, &copy).unwrap().snapshot.root, taken.root);
    assert!(matches!(import(&bed, bed.ws.home()), Err(Error::InsideHome { .. })));
}

#[test]
fn an_export_overwrites_nothing_and_leaves_nothing_behind() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let taken = bed.snap();
    let file = export(&bed, &taken, "out.tar");
    let again = |force| bed.open().export(&taken, &file, Packing::Plain, force, work());
    assert!(matches!(again(false), Err(Error::Exists(_))));
    again(true).unwrap();
    let inside = bed.ws.home().join("out.tar");
    let refused = bed.open().export(&taken, &inside, Packing::Plain, false, work());
    assert!(matches!(refused, Err(Error::InsideHome { .. })));
    let names = walk(bed.ws.outside());
    assert!(!names.keys().any(|name| name.starts_with(b".belay")), "{names:?}");
}

#[test]
fn an_export_removes_what_a_killed_one_left_and_nothing_else() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let taken = bed.snap();
    let place = |name: &str| bed.ws.outside().join(name);
    let [dead, alive, dir] = [".belay-export-dead", ".belay-export-alive", ".belay-export-dir"].map(place);
    std::fs::write(&dead, "half").unwrap();
    let written_now = std::fs::File::create(&alive).unwrap();
    written_now.lock().unwrap();
    std::fs::create_dir(&dir).unwrap();
    let file = export(&bed, &taken, "out.tar");
    assert!(!dead.exists() && alive.exists() && dir.exists());
    bed.open().export(&taken, &file, Packing::Plain, true, work()).unwrap();
    assert_eq!(walk(bed.ws.outside()).len(), 4, "the directory itself, the archive and what is not abandoned");
}

#[test]
fn further_names_of_sockets_pipes_and_devices_travel_along() {
    let bed = Bed::new();
    bed.ws.file("a", "1").socket("s/one").hard_link("s/two", "s/one").hard_link("three", "s/one");
    bed.ws.fifo("p/one").hard_link("p/two", "p/one").symlink("l/one", "nowhere").hard_link("l/two", "l/one");
    if is_root() {
        bed.ws.null_device("d/one").hard_link("d/two", "d/one");
    }
    let taken = bed.snap();
    let (file, to) = (export(&bed, &taken, "out.tar.gz"), bed.ws.outside().join("to"));
    let imported = import(&bed, &file).unwrap();
    assert!(imported.is_verified);
    assert_eq!(imported.snapshot.root, taken.root);
    std::fs::create_dir(&to).unwrap();
    let Ok(said) = Command::new("tar").arg("-xpf").arg(&file).arg("-C").arg(&to).output() else {
        return skip("no tar");
    };
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(to.join("p/two").exists() && !to.join("three").exists());
    bed.ws.remove("s").remove("p").remove("l").remove("three");
    bed.rollback(&imported.snapshot);
    let inode = |name: &str| std::os::unix::fs::MetadataExt::ino(&bed.ws.join(name).symlink_metadata().unwrap());
    assert_eq!([inode("s/two"), inode("three")], [inode("s/one"); 2]);
}

#[test]
fn access_control_lists_of_tar_are_kept() {
    let bed = Bed::new();
    bed.ws.file_mode("plain", "1", 0o640).file("listed", "2").dir("dir");
    let setfacl = |args: &[&str]| Command::new("setfacl").args(args).current_dir(bed.ws.path()).output();
    let set = setfacl(&["-m", "u:daemon:rw,u:54321:r,g:daemon:x", "listed"]);
    let set = set.and_then(|said| Ok((said, setfacl(&["-d", "-m", "u:54321:rwx", "dir"])?)));
    match set {
        Ok((one, two)) if one.status.success() && two.status.success() => {}
        _ => return skip("no setfacl, or no access control lists on this disk"),
    }
    let taken = bed.snap();
    for options in [&["--acls"][..], &["--acls", "--numeric-owner"]] {
        let file = bed.ws.outside().join("acl.tar");
        let mut tar = Command::new("tar");
        tar.args(options).args(["--format=posix", "-cf"]).arg(&file).arg("-C").arg(bed.ws.path()).arg(".");
        assert!(tar.status().unwrap().success());
        let imported = import(&bed, &file).unwrap().snapshot;
        assert_eq!((imported.root, imported.gaps), (taken.root, 0), "{options:?}");
    }
}

#[test]
fn tar_sets_the_access_control_lists_of_an_export() {
    let bed = Bed::new();
    bed.ws.file("listed", "2").dir("dir").file("dir/inner", "3");
    let setfacl = |args: &[&str]| Command::new("setfacl").args(args).current_dir(bed.ws.path()).output();
    let set = setfacl(&["-m", "u:daemon:rw,u:54321:r,g:daemon:x,m:rx", "listed", "dir"]);
    let set = set.and_then(|said| Ok((said, setfacl(&["-d", "-m", "u:54321:rwx", "dir"])?)));
    match set {
        Ok((one, two)) if one.status.success() && two.status.success() => {}
        _ => return skip("no setfacl, or no access control lists on this disk"),
    }
    let taken = bed.snap();
    let file = export(&bed, &taken, "out.tar.gz");
    for (name, options) in [
        ("lists", &["--acls", "-xpf"][..]),
        ("both", &["--acls", "--xattrs", "--xattrs-include=*", "-xpf"]),
        ("attributes", &["--xattrs", "--xattrs-include=*", "-xpf"]),
    ] {
        let to = bed.ws.outside().join(name);
        std::fs::create_dir(&to).unwrap();
        let said = Command::new("tar").args(options).arg(&file).arg("-C").arg(&to).output().unwrap();
        assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
        assert_same_tree(bed.ws.path(), &to, Ignore { directory_mtime: true, ..Ignore::default() });
    }
    let imported = import(&bed, &file).unwrap();
    assert!(imported.is_verified && imported.snapshot.root == taken.root);
}

#[test]
fn a_list_that_means_nothing_here_is_named_and_not_lost_in_silence() {
    let bed = Bed::new();
    let list = record("SCHILY.acl.access", b"user::rw-,user:nobody-of-that-name:r--,group::r--,mask::r--,other::r--");
    let entries: &[Forged<'_>] = &[(b'0', "a", "", b"1"), (b'x', "h", "", &list), (b'0', "b", "", b"2")];
    let imported = import(&bed, &forge(&bed, entries)).unwrap().snapshot;
    assert_eq!(imported.gaps, 1);
    let coverage = bed.open().tree(&imported).unwrap().coverage(bed.home.store()).unwrap();
    assert_eq!((coverage.gaps[0].path.as_slice(), coverage.gaps[0].kind), (&b"b"[..], GapKind::Attributes));
    assert!(coverage.gaps[0].detail.contains("nobody-of-that-name"), "{}", coverage.gaps[0].detail);
    bed.rollback(&imported);
    assert_eq!((bed.text("a").as_str(), bed.text("b").as_str()), ("1", "2"));
}

#[test]
fn attributes_that_no_kernel_takes_are_refused() {
    let long = format!("SCHILY.xattr.user.{}", "n".repeat(251));
    let fits = format!("SCHILY.xattr.user.{}", "n".repeat(250));
    let cases: &[(&str, &[u8], bool)] = &[
        (&long, b"v", false),
        (&fits, b"v", true),
        ("SCHILY.xattr.nameless", b"v", false),
        ("SCHILY.xattr.user.", b"v", false),
        ("SCHILY.xattr..x", b"v", false),
        ("SCHILY.xattr.user.a\0b", b"v", false),
        ("SCHILY.xattr.user.a", &[b'v'; (64 << 10) + 1], false),
        ("SCHILY.xattr.user.a", &[b'v'; 64 << 10], true),
        ("SCHILY.xattr.btrfs.compression", b"zstd", true),
    ];
    for (key, value, is_good) in cases {
        let bed = Bed::new();
        let header = record(key, value);
        match import(&bed, &forge(&bed, &[(b'x', "h", "", &header), (b'0', "f", "", b"x")])) {
            Ok(_) => assert!(is_good, "{key} was taken"),
            Err(Error::Archive { why, .. }) => {
                assert!(!is_good && why.contains("attribute that no kernel takes"), "{key}: {why}");
            }
            Err(other) => panic!("{key}: {other}"),
        }
    }
}

#[test]
fn what_lies_beside_a_workspace_inside_is_left_alone_whatever_an_archive_says() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let [before, whole] = [bed.snap(), bed.snap_all()];
    bed.ws.file("deep/.belay-snapshots/copy_x/kept", "k").file(".belay-snapshots/copy_y/kept", "k").file("a", "2");
    let entries: &[Forged<'_>] = &[(b'0', "a", "", b"3"), (b'0', ".belay-snapshots/copy_y/kept", "", b"evil")];
    let imported = import(&bed, &forge(&bed, entries)).unwrap().snapshot;
    for (target, text) in [(&before, "1"), (&imported, "3"), (&whole, "1")] {
        bed.rollback(target);
        let kept = ["deep/.belay-snapshots/copy_x/kept", ".belay-snapshots/copy_y/kept"].map(|path| bed.text(path));
        assert_eq!((bed.text("a").as_str(), kept), (text, ["k".to_owned(), "k".to_owned()]));
    }
    let taken = bed.snap_all();
    let paths = bed.open().tree(&taken).unwrap().coverage(bed.home.store()).unwrap().gaps;
    assert_eq!(taken.files, 1);
    assert_eq!(paths.iter().filter(|gap| gap.path.ends_with(b".belay-snapshots")).count(), 2, "it is said: {paths:?}");
}

/// An entry of an archive: its type, its name, a link's text and its content.
type Forged<'a> = (u8, &'a str, &'a str, &'a [u8]);

/// An archive by hand.
fn forge(bed: &Bed, entries: &[Forged<'_>]) -> PathBuf {
    let mut bytes = Vec::new();
    for (kind, name, link, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(tar::EntryType::new(*kind));
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    let file = bed.ws.outside().join("forged.tar");
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn a_hostile_archive_is_refused() {
    let cases: &[(&str, &[Forged<'_>])] = &[
        ("absolute", &[(b'0', "/etc/passwd", "", b"x")]),
        ("leads out", &[(b'0', "a/../../b", "", b"x")]),
        ("leads out", &[(b'5', "..", "", b"")]),
        ("comes twice", &[(b'0', "a", "", b"x"), (b'0', "./a", "", b"y")]),
        ("no directory", &[(b'2', "link", "/etc", b""), (b'0', "link/passwd", "", b"x")]),
        ("no directory", &[(b'0', "link/passwd", "", b"x"), (b'2', "link", "/etc", b"")]),
        ("absolute", &[(b'1', "a", "/etc/passwd", b"")]),
        ("hard link to nothing", &[(b'1', "a", "b", b"")]),
        ("leads out", &[(b'1', "a", "../b", b"")]),
        ("absolute", &[(b'0', "a", "", b""), (b'1', "b", "/a", b"")]),
        ("unknown type", &[(b'M', "a", "", b"x")]),
        ("leads nowhere", &[(b'2', "a", "", b"")]),
        ("has content", &[(b'5', "a/", "", b"x")]),
        ("not readable", &[(b'x', "h", "", b"12 path=a\n"), (b'0', "b", "", b"")]),
        ("no path beneath", &[(b'x', "h", "", b"11 path=a\0b"), (b'0', "b", "", b"")]),
        ("empty, or no tar", &[]),
    ];
    for (why, entries) in cases {
        let bed = Bed::new();
        let file = forge(&bed, entries);
        let refused = match import(&bed, &file) {
            Err(Error::Archive { why, .. }) => why,
            other => panic!("{entries:?} gave {:?}", other.map(|imported| imported.snapshot)),
        };
        assert!(refused.contains(why) || refused.contains("not readable"), "{entries:?}: {refused}");
        assert!(bed.open().timeline().unwrap().snapshots().is_empty());
        assert_eq!(walk(bed.ws.path()).len(), 1, "nothing was unpacked");
    }
}

#[test]
fn a_link_out_is_only_text() {
    let bed = Bed::new();
    let imported = import(&bed, &forge(&bed, &[(b'2', "passwd", "../../../../etc/passwd", b"")])).unwrap().snapshot;
    bed.rollback(&imported);
    assert_eq!(std::fs::read_link(bed.ws.join("passwd")).unwrap(), Path::new("../../../../etc/passwd"));
}

#[test]
fn a_bomb_is_refused_before_it_grows() {
    let bed = Bed::new().with(&[("snapshots.max_bytes", "1MiB"), ("snapshots.max_entries", "50")]);
    let file = bed.ws.outside().join("bomb.tar.zst");
    let mut zstd = zstd::stream::write::Encoder::new(std::fs::File::create(&file).unwrap(), 1).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_path("zeros").unwrap();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(4 << 30);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    zstd.write_all(header.as_bytes()).unwrap();
    (0..64).for_each(|_| zstd.write_all(&vec![0; 1 << 20]).unwrap());
    zstd.finish().unwrap();
    assert!(matches!(import(&bed, &file), Err(Error::Archive { why, .. }) if why.contains("more than 1048576 bytes")));
    let names: Vec<String> = (0..100).map(|number| format!("f{number}")).collect();
    let many: Vec<Forged<'_>> = names.iter().map(|name| (b'0', name.as_str(), "", &b""[..])).collect();
    assert!(matches!(import(&bed, &forge(&bed, &many)), Err(Error::Archive { why, .. }) if why.contains("50 entries")));
    let mut long = tar::Header::new_gnu();
    long.set_entry_type(tar::EntryType::XHeader);
    long.set_size(1 << 40);
    long.set_cksum();
    std::fs::write(&file, long.as_bytes()).unwrap();
    assert!(matches!(import(&bed, &file), Err(Error::Archive { why, .. }) if why.contains("larger than any")));
}

/// A record of an extended header.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let len = (1..9).map(|digits| rest + digits).find(|len| rest + len.to_string().len() == *len).unwrap();
    [format!("{len} {key}=").as_bytes(), value, b"\n"].concat()
}

#[test]
fn names_and_attributes_cannot_fill_the_memory() {
    let deep = record("path", format!("{}f", "a/".repeat(2_000_000)).as_bytes());
    let large = record("SCHILY.xattr.user.a", &vec![b'v'; 22 << 20]);
    let many: Vec<u8> = (0..20_000).flat_map(|n| record(&format!("SCHILY.xattr.user.{n}"), b"v")).collect();
    let long = record("linkpath", &vec![b'l'; 5000]);
    let file: Forged<'_> = (b'0', "f", "", b"x");
    let cases: &[(&str, &[Forged<'_>])] = &[
        ("names and attributes take more than", &[(b'x', "h", "", &deep), file]),
        ("larger than any name", &[(b'x', "h", "", &large), (b'x', "h", "", &large), (b'x', "h", "", &large), file]),
        ("too many attributes", &[(b'x', "h", "", &many), file]),
        ("longer than any", &[(b'x', "h", "", &long), (b'2', "l", "x", b"")]),
    ];
    for (why, entries) in cases {
        let bed = Bed::new();
        match import(&bed, &forge(&bed, entries)) {
            Err(Error::Archive { why: refused, .. }) => assert!(refused.contains(why), "{why}: {refused}"),
            other => panic!("{why} gave {:?}", other.map(|imported| imported.snapshot)),
        }
    }
}

/// Capabilities of a program in a form of the kernel's, and of a length.
fn capabilities(form: u32, len: usize) -> Vec<u8> {
    let mut value = form.to_le_bytes().to_vec();
    value.resize(len, 0);
    value[5] = 4;
    value
}

#[test]
fn capabilities_that_no_kernel_takes_are_refused_with_the_whole_archive() {
    let good = [capabilities(0x0200_0001, 20), capabilities(0x0200_0000, 20)];
    let bad =
        [capabilities(0x0200_0001, 24), capabilities(0x0700_0000, 20), b"garbage".to_vec(), vec![], vec![0xff; 20]];
    let file: Forged<'_> = (b'0', "bin/tool", "", b"x");
    for (value, is_good) in good.iter().map(|one| (one, true)).chain(bad.iter().map(|one| (one, false))) {
        let bed = Bed::new();
        bed.ws.file("mine", "1");
        let taken = bed.snap();
        let header = record("SCHILY.xattr.security.capability", value);
        let imported = import(&bed, &forge(&bed, &[(b'0', "a", "", b"1"), (b'x', "h", "", &header), file]));
        if is_good {
            // Whoever may not set them gets the file without them.
            let outcome = bed.rollback(&imported.unwrap().snapshot);
            assert!(outcome.left.is_empty() || !is_root(), "{:?}", outcome.left);
            assert_eq!(std::fs::read(bed.ws.join("bin/tool")).unwrap(), b"x");
            continue;
        }
        let why = match imported {
            Err(Error::Archive { why, .. }) => why,
            other => panic!("{value:?} gave {:?}", other.map(|imported| imported.snapshot)),
        };
        assert!(why.contains("bin/tool has capabilities that no kernel takes"), "{why}");
        assert_eq!(bed.ids(), [taken.id], "nothing was imported");
        assert_eq!(bed.text("mine"), "1");
    }
}

#[test]
fn an_attribute_that_the_kernel_does_not_take_is_named_and_the_rest_comes_back() {
    let bed = Bed::new();
    // No list of this form exists.
    let header = record("SCHILY.xattr.system.posix_acl_access", b"no list");
    let entries: &[Forged<'_>] = &[(b'0', "a", "", b"1"), (b'x', "h", "", &header), (b'0', "b", "", b"2")];
    let imported = import(&bed, &forge(&bed, entries)).unwrap().snapshot;
    bed.ws.file("mine", "m");
    let outcome = bed.rollback(&imported);
    assert_eq!(outcome.left.iter().map(|left| left.path.as_slice()).collect::<Vec<_>>(), [b"b"]);
    assert_eq!((bed.text("a").as_str(), bed.text("b").as_str()), ("1", "2"));
    bed.rewind(belay_session::Goal::Undo).unwrap();
    assert_eq!(bed.text("mine"), "m");
}

#[test]
fn lengths_that_overflow_are_refused() {
    let bed = Bed::new();
    let number = |field: &mut [u8; 12], value: u64| {
        field[0] = 0x80;
        field[4..].copy_from_slice(&value.to_be_bytes());
    };
    let mut header = tar::Header::new_gnu();
    header.set_path("holes").unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    let gnu = header.as_gnu_mut().unwrap();
    number(&mut gnu.size, u64::MAX);
    number(&mut gnu.realsize, 4096);
    for (at, one) in gnu.sparse.iter_mut().take(2).enumerate() {
        number(&mut one.offset, at as u64 * 512);
        number(&mut one.numbytes, 1 << 63);
    }
    header.set_cksum();
    let file = bed.ws.outside().join("overflow.tar");
    std::fs::write(&file, [header.as_bytes().as_slice(), &[0; 2048]].concat()).unwrap();
    assert!(matches!(import(&bed, &file), Err(Error::Archive { .. })));
    assert!(bed.open().timeline().unwrap().snapshots().is_empty());
}

#[test]
fn a_file_that_no_disk_can_hold_harms_nothing_else() {
    let bed = Bed::new();
    bed.ws.file("mine", "m");
    let map = [b"1\n0\n1\n".as_slice(), &[0; 506], b"x"].concat();
    let form: Vec<u8> = [("major", "1"), ("minor", "0"), ("name", "huge"), ("realsize", "576460752303423488")]
        .iter()
        .flat_map(|(key, value)| record(&format!("GNU.sparse.{key}"), value.as_bytes()))
        .collect();
    let file = forge(&bed, &[(b'x', "h", "", &form), (b'0', "huge", "", &map), (b'0', "mine", "", b"other")]);
    let imported = import(&bed, &file).unwrap().snapshot;
    let before = bed.ws.walk();
    // Where the filesystem cannot hold it the rollback says so, and all is as before or all but that is there.
    match bed.rewind(belay_session::Goal::To(Some(imported.id))) {
        Ok(_) => assert_eq!(bed.text("mine"), "other"),
        Err(_) => belay_testkit::assert_same_world(&before, &bed.ws.walk(), belay_testkit::Ignore::default()),
    }
    std::fs::remove_file(bed.ws.join("huge")).ok();
}

#[test]
fn no_flipped_byte_goes_unnoticed() {
    let bed = Bed::new();
    bed.ws.file("a", "some text\n").file("b/c", "more\n").symlink("l", "a").mode("a", 0o640);
    let taken = bed.snap();
    let file = export(&bed, &taken, "out.tar");
    let good = std::fs::read(&file).unwrap();
    let identity = |bytes: &[u8]| -> Option<Hash> {
        std::fs::write(&file, bytes).unwrap();
        import(&bed, &file).ok().map(|imported| imported.snapshot.root)
    };
    for at in (0..good.len()).step_by(97) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x21;
        // Owners and times are no part of the root hash; whatever else was touched is refused.
        assert!(identity(&bytes).is_none_or(|root| root == taken.root), "a change of byte {at} went unnoticed");
    }
    for end in (0..good.len() - 1024).step_by(301) {
        assert!(identity(&good[..end]).is_none_or(|root| root != taken.root) || end == 0, "cut at {end}");
    }
    assert_eq!(identity(&good), Some(taken.root));
}

#[test]
fn an_ordinary_user_imports_what_only_root_could_make() {
    let bed = Bed::new();
    let mut header = tar::Header::new_ustar();
    header.set_path("null").unwrap();
    header.set_entry_type(tar::EntryType::Char);
    header.set_mode(0o666);
    header.set_uid(12345);
    header.set_gid(54321);
    header.set_mtime(7);
    header.set_size(0);
    header.set_device_major(1).unwrap();
    header.set_device_minor(3).unwrap();
    header.set_cksum();
    let file = bed.ws.outside().join("device.tar");
    std::fs::write(&file, [header.as_bytes().as_slice(), &[0; 1024]].concat()).unwrap();
    let imported = import(&bed, &file).unwrap().snapshot;
    let workspace = bed.open();
    let tree = workspace.tree(&imported).unwrap();
    let entry = workspace.entry(&tree, b"null").unwrap().unwrap();
    assert_eq!((entry.meta.uid, entry.meta.gid, entry.meta.mtime.sec), (12345, 54321, 7));
    assert_eq!(entry.kind, belay_session::store::Kind::CharDevice(259), "whoever imports it: root is {}", is_root());
}
