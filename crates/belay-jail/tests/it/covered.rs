//! What is hidden or protected stays so when somebody outside puts another file in its place.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use belay_jail::{Access, Grant};

use crate::world::{World, has_namespaces};

/// Says for each line that it reads what it can reach.
const LOOK: &str = "while read line; do \
    cat .env 2>/dev/null && echo SEEN; \
    (echo x > .git/hooks/made) 2>/dev/null && echo WRITTEN; \
    mv .git .git2 2>/dev/null && echo MOVED; \
    echo over; done";

/// Opens a directory when it is told to, and says then what it can reach by that.
const REACH: &str = "while read line; do case $line in \
    open) exec 9<.git;; \
    *) (echo x > /proc/self/fd/9/config) 2>/dev/null && echo WRITTEN; \
       cat /proc/self/fd/9/secret 2>/dev/null && echo SEEN; \
       (cd /proc/self/fd/9 && echo x > config) 2>/dev/null && echo ENTERED;; \
    esac; echo over; done";

/// Sends a line and returns what is said until it is over.
fn look(stream: &mut BufReader<UnixStream>) -> String {
    say(stream, "look")
}

fn say(stream: &mut BufReader<UnixStream>, line: &str) -> String {
    stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut said = String::new();
    while !said.ends_with("over\n") {
        assert_ne!(stream.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    said
}

#[test]
fn what_is_replaced_outside_is_covered_again() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let copy = || theirs.try_clone().unwrap().into();
    let null = File::options().write(true).open("/dev/null").unwrap().into();
    let launch = world.launch(&["/bin/sh", "-c", LOOK], Some([copy(), copy(), null]));
    let mut held = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap();
    let mut covers = held.take_covers().expect("something is hidden in a tree that others change");
    let _running = held.release().unwrap();
    let mut stream = BufReader::new(ours);
    assert_eq!(look(&mut stream), "over\n");
    assert_eq!(covers.mend().unwrap(), Vec::<std::path::PathBuf>::new(), "nothing is to be mended");

    // As editors save, and as git writes its settings.
    fs::write(world.path("workspace/new"), "other secret").unwrap();
    fs::rename(world.path("workspace/new"), world.path("workspace/.env")).unwrap();
    assert!(
        look(&mut stream).contains("SEEN"),
        "the kernel took it away; if it no longer does, nothing is to be mended"
    );
    assert_eq!(covers.mend().unwrap(), [world.path("workspace/.env")]);
    assert_eq!(look(&mut stream), "over\n");

    fs::remove_dir_all(world.path("workspace/.git")).unwrap();
    covers.mend().unwrap();
    fs::create_dir_all(world.path("workspace/.git/hooks")).unwrap();
    let mended = covers.mend().unwrap();
    assert_eq!(mended, [world.path("workspace/.git"), world.path("workspace/.git/hooks")]);
    assert_eq!(look(&mut stream), "over\n");
    assert_eq!(fs::read_dir(world.path("workspace/.git/hooks")).unwrap().count(), 0);

    // Removed and made again, many times: a number may be the same as before.
    for _ in 0..20 {
        fs::remove_file(world.path("workspace/.env")).unwrap();
        fs::write(world.path("workspace/.env"), "again").unwrap();
        covers.mend().unwrap();
        assert_eq!(look(&mut stream), "over\n");
    }
}

#[test]
fn a_directory_that_was_opened_before_it_was_covered_again_does_not_lead_past_the_cover() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let git = world.path("workspace/.git");
    let grant = |name: &str, access| Grant::new(git.join(name), access);
    world.policy.grants.extend([grant("config", Access::Read), grant("secret", Access::Hidden)]);
    let make = |directory: &std::path::Path| {
        fs::create_dir_all(directory.join("hooks")).unwrap();
        fs::write(directory.join("config"), "good").unwrap();
        fs::write(directory.join("secret"), "secret").unwrap();
    };
    make(&git);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let copy = || theirs.try_clone().unwrap().into();
    let null = File::options().write(true).open("/dev/null").unwrap().into();
    let launch = world.launch(&["/bin/sh", "-c", REACH], Some([copy(), copy(), null]));
    let mut held = belay_jail::hold(&world.policy, launch, |_| Ok(())).unwrap();
    let mut covers = held.take_covers().expect("something is protected in a tree that others change");
    let _running = held.release().unwrap();
    let mut stream = BufReader::new(ours);
    say(&mut stream, "open");
    assert_eq!(look(&mut stream), "over\n");

    // Another directory takes its place, and is opened before anybody looks.
    make(&world.path("workspace/new"));
    fs::rename(&git, world.path("other/old")).unwrap();
    fs::rename(world.path("workspace/new"), &git).unwrap();
    say(&mut stream, "open");
    assert!(
        look(&mut stream).contains("WRITTEN"),
        "in between it stands open; if it no longer does, say so in the docs"
    );
    covers.mend().unwrap();
    assert_eq!(look(&mut stream), "over\n");
    // Once more, through the directory as it is covered now.
    say(&mut stream, "open");
    fs::write(world.path("workspace/fresh"), "good").unwrap();
    fs::rename(world.path("workspace/fresh"), git.join("config")).unwrap();
    covers.mend().unwrap();
    assert_eq!(look(&mut stream), "over\n");
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "good");
}
