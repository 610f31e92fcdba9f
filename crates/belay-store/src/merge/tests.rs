//! Merges of whole trees, judged by what the grafted tree holds.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::diff::{Scope, Sides, diff};
use crate::history::find_path;
use crate::manifest::{Coverage, Links, Manifest};
use crate::planted::{Garden, Leaf, Plants, Thing, files};
use crate::tree::{Meta, Opaque};

type World = BTreeMap<String, String>;

struct Outcome {
    world: World,
    merged: Merged,
    grafted: Manifest,
    links: Links,
}

impl Outcome {
    fn conflicts(&self) -> Vec<(String, Clash, Option<String>)> {
        let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
        let one = |conflict: &Conflict| (text(&conflict.path), conflict.clash, conflict.beside.as_ref().map(text));
        self.merged.conflicts.iter().map(one).collect()
    }
}

/// What is at each path: a file's text, a link's target, or a slash for a directory.
fn world(garden: &Garden, key: &crate::hash::Hash) -> World {
    let mut world = World::new();
    let view = View::stored(&garden.store);
    find_path(&garden.store, key, &|_| true, &mut |path, entry| {
        let text = match &entry.kind {
            Kind::File { size, content } => String::from_utf8(view.bytes(*size, content)?).unwrap(),
            Kind::Symlink(target) => format!("-> {}", String::from_utf8_lossy(target)),
            Kind::Dir { .. } => "/".to_owned(),
            other => format!("{other:?}"),
        };
        world.insert(String::from_utf8(path.to_vec()).unwrap(), text);
        Ok(())
    })
    .unwrap();
    world
}

fn changes(garden: &Garden, base: &Manifest, theirs: &Manifest) -> Vec<Change> {
    let view = View::stored(&garden.store);
    let sides = Sides { before: view, before_root: &base.root, after: view, after_root: &theirs.root };
    let mut changes = Vec::new();
    diff(&sides, &Scope::default(), &mut |change| {
        changes.push(change);
        Ok(())
    })
    .unwrap();
    changes
}

struct Case<'a> {
    base: Plants,
    ours: Plants,
    theirs: Plants,
    theirs_links: Links,
    is_meant: &'a dyn Fn(&[u8]) -> bool,
    is_doubtful: &'a dyn Fn(&[u8]) -> bool,
    is_removed: &'a dyn Fn(&[u8]) -> bool,
}

impl Case<'_> {
    fn new(base: Plants, ours: Plants, theirs: Plants) -> Case<'static> {
        let (links, no) = (Links::default(), &|_: &[u8]| false);
        Case { base, ours, theirs, theirs_links: links, is_meant: &|_| true, is_doubtful: no, is_removed: no }
    }

    fn run(&self) -> Outcome {
        let garden = Garden::new();
        let (_, base) = garden.plant(&self.base);
        let (_, ours) = garden.plant(&self.ours);
        let (_, theirs) = garden.plant_with(&self.theirs, &self.theirs_links, &Coverage::default());
        let view = View::stored(&garden.store);
        let side = |manifest: &'static Manifest| Side { view, root: &manifest.root };
        let leak = |manifest: &Manifest| -> &'static Manifest { Box::leak(Box::new(manifest.clone())) };
        let read = |_: &[u8], entry: &Entry| Side { view, root: &ours.root }.bytes(entry);
        let trees =
            Trees { base: side(leak(&base)), ours: side(leak(&ours)), theirs: side(leak(&theirs)), read: &read };
        let changes = changes(&garden, &base, &theirs);
        let Case { is_meant, is_doubtful, is_removed, .. } = *self;
        let step = Inverse {
            changes: &changes,
            is_meant,
            is_doubtful,
            share: &|_, _| None,
            is_removed,
            ousted: &[],
            suffix: b"old",
        };
        let merged = merge(&trees, &step).unwrap();
        let batch = garden.store.begin().unwrap();
        let mut worker = batch.worker();
        let (key, grafted) = graft(&garden.store, &mut worker, &ours, &theirs, &merged.edits, &Carried::new()).unwrap();
        worker.done().unwrap();
        batch.finish().unwrap();
        assert_eq!(Manifest::read(&garden.store, &key).unwrap(), grafted);
        let links = grafted.links(&garden.store).unwrap();
        Outcome { world: world(&garden, &key), merged, grafted, links }
    }
}

fn reverse(base: &[(&str, &str)], ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> Outcome {
    Case::new(files(base), files(ours), files(theirs)).run()
}

fn is(list: &[(&str, &str)]) -> World {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_step_is_taken_back_and_what_came_later_stays() {
    let outcome = reverse(
        &[("a", "2"), ("made", "x"), ("same", "s")],
        &[("a", "2"), ("later", "l"), ("made", "x"), ("same", "S")],
        &[("a", "1"), ("gone", "g"), ("same", "s")],
    );
    assert_eq!(outcome.world, is(&[("a", "1"), ("gone", "g"), ("later", "l"), ("same", "S")]));
    assert_eq!(outcome.conflicts(), []);
}

#[test]
fn text_is_merged_by_lines() {
    let outcome = reverse(&[("a", "1\n2\n3\nX\n")], &[("a", "0\n1\n2\n3\nX\n")], &[("a", "1\n2\n3\n4\n")]);
    assert_eq!(outcome.world, is(&[("a", "0\n1\n2\n3\n4\n")]));
    assert_eq!(outcome.merged.edits.len(), 1);
    let empty = reverse(&[("a", "x\n")], &[("a", "x\n")], &[("a", "")]);
    assert_eq!(empty.world, is(&[("a", "")]));
}

#[test]
fn a_conflict_keeps_both_and_finds_a_free_name() {
    let outcome = reverse(&[("d/a", "2\n")], &[("d/a", "3\n"), ("d/a.old", "mine")], &[("d/a", "1\n")]);
    assert_eq!(outcome.conflicts(), [("d/a".into(), Clash::BothChanged, Some("d/a.old-2".into()))]);
    assert_eq!(outcome.world, is(&[("d", "/"), ("d/a", "3\n"), ("d/a.old", "mine"), ("d/a.old-2", "1\n")]));
}

#[test]
fn what_the_step_made_and_others_changed_stays() {
    let outcome = reverse(&[("a", "2\n")], &[("a", "3\n")], &[]);
    assert_eq!(outcome.conflicts(), [("a".into(), Clash::MadeThenChanged, None)]);
    assert_eq!(outcome.world, is(&[("a", "3\n")]));
    let outcome = reverse(&[("a", "2\n")], &[], &[("a", "1\n")]);
    assert_eq!(outcome.conflicts(), [("a".into(), Clash::RemovedLater, Some("a.old".into()))]);
    let binary = reverse(&[("a", "\0two")], &[("a", "\0three")], &[("a", "\0one")]);
    assert_eq!(binary.conflicts()[0].1, Clash::NotText);
}

#[test]
fn directories_come_back_with_what_was_in_them_and_go_when_they_are_empty() {
    let outcome = reverse(
        &[("made/x", "1"), ("made/deep/y", "1"), ("kept/z", "1")],
        &[("made/x", "1"), ("made/deep/y", "1"), ("kept/z", "1"), ("kept/later", "l")],
        &[("gone/a/b", "1")],
    );
    let wanted = [("gone", "/"), ("gone/a", "/"), ("gone/a/b", "1"), ("kept", "/"), ("kept/later", "l")];
    assert_eq!(outcome.world, is(&wanted));
    assert_eq!(outcome.conflicts(), []);
    assert_eq!(outcome.grafted.counts.files, 2);
}

#[test]
fn a_file_whose_directory_was_removed_later_gets_it_back() {
    let outcome = reverse(&[("d/keep", "1")], &[], &[("d/keep", "1"), ("d/gone", "g")]);
    assert_eq!(outcome.world, is(&[("d", "/"), ("d/gone", "g")]));
    let blocked = reverse(&[("d/keep", "1")], &[("d", "a file")], &[("d/keep", "1"), ("d/gone", "g")]);
    assert_eq!(blocked.conflicts(), [("d/gone".into(), Clash::Retyped, Some("gone.old".into()))]);
    assert_eq!(blocked.world, is(&[("d", "a file"), ("gone.old", "g")]));
}

#[test]
fn a_changed_type_is_taken_back_only_if_it_is_as_it_was_left() {
    let outcome = reverse(&[("p", "file")], &[("p", "file")], &[("p/a", "1"), ("p/b", "2")]);
    assert_eq!(outcome.world, is(&[("p", "/"), ("p/a", "1"), ("p/b", "2")]));
    let outcome = reverse(&[("p/a", "1"), ("p/b", "2")], &[("p/a", "1"), ("p/b", "2")], &[("p", "file")]);
    assert_eq!(outcome.world, is(&[("p", "file")]));
    let outcome = reverse(&[("p/a", "1")], &[("p/a", "1"), ("p/new", "n")], &[("p", "file")]);
    assert_eq!(outcome.conflicts(), [("p".into(), Clash::Retyped, Some("p.old".into()))]);
    assert_eq!(outcome.world, is(&[("p", "/"), ("p.old", "file"), ("p/a", "1"), ("p/new", "n")]));
    let outcome = reverse(&[("p", "file")], &[("p", "other")], &[("p/a", "1")]);
    assert_eq!(outcome.world, is(&[("p", "other"), ("p.old", "/"), ("p.old/a", "1")]));
}

#[test]
fn a_changed_type_stays_if_others_had_a_hand_in_what_lies_beneath() {
    let step = [("p/a", "1"), ("p/theirs", "t")];
    for doubtful in [false, true] {
        let case = Case {
            is_meant: &|path| doubtful || path != b"p/theirs",
            is_doubtful: &|path| doubtful && path == b"p/theirs",
            ..Case::new(files(&step), files(&step), files(&[("p", "file")]))
        };
        let outcome = case.run();
        assert_eq!(outcome.conflicts(), [("p".into(), Clash::Doubtful, Some("p.old".into()))]);
        assert_eq!((&*outcome.world["p/theirs"], &*outcome.world["p.old"]), ("t", "file"));
    }
}

#[test]
fn what_was_made_again_is_of_the_same_type() {
    let outcome = reverse(&[], &[("a", "2")], &[("a", "1")]);
    assert_eq!(outcome.conflicts(), [("a".into(), Clash::MadeAgain, Some("a.old".into()))]);
    assert_eq!(outcome.world, is(&[("a", "2"), ("a.old", "1")]));
}

#[test]
fn links_and_modes_are_merged_too() {
    let leaf = |mode, text: &str| Leaf {
        meta: Meta { mode, ..Meta::default() },
        thing: Thing::File(text.as_bytes().to_vec()),
    };
    let one = |leaf: Leaf| Plants::from([(b"a".to_vec(), leaf)]);
    let outcome = Case::new(one(leaf(0o755, "1\n")), one(leaf(0o755, "2\n")), one(leaf(0o644, "1\n"))).run();
    assert_eq!(outcome.world, is(&[("a", "2\n")]));
    assert_eq!(outcome.merged.edits[0].after.as_ref().unwrap().meta.mode, 0o644);
    let link = |text: &str| one(Thing::Symlink(text.as_bytes().to_vec()).into());
    assert_eq!(Case::new(link("x"), link("x"), link("y")).run().world, is(&[("a", "-> y")]));
    let clash = Case::new(link("x"), link("z"), link("y")).run();
    assert_eq!(clash.world, is(&[("a", "-> z"), ("a.old", "-> y")]));
    let retyped = Case::new(link("x"), link("x"), files(&[("a", "1")])).run();
    assert_eq!(retyped.world, is(&[("a", "1")]));
}

#[test]
fn only_what_is_meant_is_taken_back_and_doubt_is_a_conflict() {
    let case = Case {
        is_meant: &|path| path != b"b",
        is_doubtful: &|path| path == b"c",
        ..Case::new(
            files(&[("a", "2"), ("b", "2"), ("c", "2")]),
            files(&[("a", "2"), ("b", "2"), ("c", "2")]),
            files(&[("a", "1"), ("b", "1"), ("c", "1")]),
        )
    };
    let outcome = case.run();
    assert_eq!(outcome.world, is(&[("a", "1"), ("b", "2"), ("c", "2"), ("c.old", "1")]));
    assert_eq!(outcome.conflicts(), [("c".into(), Clash::Doubtful, Some("c.old".into()))]);
}

#[test]
fn what_the_step_removed_comes_back_where_it_was_even_if_others_had_changed_it() {
    let then = files(&[("d/gone", "1"), ("d/kept", "1"), ("d/again", "1"), ("db", "1"), ("db-wal", "1")]);
    let case = Case {
        is_doubtful: &|path| path != b"d",
        is_removed: &|path| path != b"d/kept",
        ..Case::new(files(&[]), files(&[("d/again", "2")]), then)
    };
    let outcome = case.run();
    let files = [("d/again", "2"), ("d/again.old", "1"), ("d/gone", "1"), ("d/kept.old", "1")];
    assert_eq!(outcome.world, is(&[&files[..], &[("d", "/"), ("db", "1"), ("db-wal", "1")]].concat()));
    let beside = |path: &str| {
        let found = outcome.conflicts().into_iter().find(|(conflict, ..)| conflict == path);
        found.map(|(_, clash, beside)| (clash, beside.unwrap()))
    };
    assert_eq!(beside("d/gone"), Some((Clash::Doubtful, "d/gone".into())));
    assert_eq!(beside("d/kept"), Some((Clash::Doubtful, "d/kept.old".into())));
    assert_eq!(beside("d/again"), Some((Clash::Doubtful, "d/again.old".into())));
    assert_eq!(beside("db-wal"), Some((Clash::Doubtful, "db-wal".into())));
}

#[test]
fn a_repository_goes_back_as_a_whole_or_not_at_all() {
    let then = [("r/.git/HEAD", "1"), ("r/a", "1")];
    let step = [("r/.git/HEAD", "2"), ("r/.git/objects/x", "x"), ("r/a", "2")];
    let outcome = reverse(&step, &step, &then);
    assert_eq!(outcome.world, is(&[("r", "/"), ("r/.git", "/"), ("r/.git/HEAD", "1"), ("r/a", "1")]));
    let later = [("r/.git/HEAD", "3"), ("r/.git/objects/x", "x"), ("r/.git/objects/y", "y"), ("r/a", "2")];
    let outcome = reverse(&step, &later, &then);
    assert_eq!(outcome.conflicts(), [("r/.git".into(), Clash::Repository, None)]);
    assert_eq!(outcome.world["r/a"], "1");
    assert_eq!((&*outcome.world["r/.git/HEAD"], &*outcome.world["r/.git/objects/x"]), ("3", "x"));
    let shared =
        Case { is_meant: &|path| path != b"r/.git/objects/x", ..Case::new(files(&step), files(&step), files(&then)) };
    assert_eq!(shared.run().conflicts(), [("r/.git".into(), Clash::Repository, None)]);
    let unmeant = Case { is_meant: &|path| path == b"r/a", ..Case::new(files(&step), files(&later), files(&then)) };
    assert_eq!(unmeant.run().conflicts(), []);
}

#[test]
fn a_repository_that_was_only_removed_comes_back_whoever_else_had_a_hand_in_it() {
    let then = [("r/.git/HEAD", "1"), ("r/.git/objects/x", "x"), ("r/.git/hooks/h", "h")];
    for step in [&[("r/b", "b")][..], &[("r/.git/hooks/h", "h"), ("r/b", "b")]] {
        let shared =
            Case { is_meant: &|path| path != b"r/.git/HEAD", ..Case::new(files(step), files(step), files(&then)) };
        let outcome = shared.run();
        assert_eq!(outcome.conflicts(), []);
        assert_eq!((&*outcome.world["r/.git/HEAD"], &*outcome.world["r/.git/objects/x"]), ("1", "x"));
        let older =
            Case { is_doubtful: &|path| path == b"r/.git/HEAD", ..Case::new(files(step), files(step), files(&then)) };
        let outcome = older.run();
        assert_eq!(outcome.conflicts(), [("r/.git".into(), Clash::Doubtful, Some("r/.git".into()))]);
        assert_eq!(&*outcome.world["r/.git/HEAD"], "1");
        let again = [step, &[("r/.git/HEAD", "2")]].concat();
        let later = Case::new(files(step), files(&again), files(&then)).run();
        assert_eq!(later.conflicts(), [("r/.git".into(), Clash::Repository, None)]);
        assert_eq!(&*later.world["r/.git/HEAD"], "2");
    }
}

#[test]
fn a_database_and_its_log_stay_together() {
    let outcome = reverse(
        &[("x.db", "\0two"), ("x.db-wal", "\0two")],
        &[("x.db", "\0two"), ("x.db-wal", "\0three")],
        &[("x.db", "\0one"), ("x.db-wal", "\0one")],
    );
    let clashes: Vec<Clash> = outcome.conflicts().into_iter().map(|(_, clash, _)| clash).collect();
    assert_eq!(clashes, [Clash::NotText, Clash::Database]);
    assert_eq!((&*outcome.world["x.db"], &*outcome.world["x.db.old"]), ("\0two", "\0one"));
}

#[test]
fn what_was_not_captured_is_left_alone() {
    let opaque = Plants::from([(b"a".to_vec(), Thing::Opaque(Opaque::Unreadable).into())]);
    let outcome = Case::new(files(&[("a", "2")]), files(&[("a", "2")]), opaque.clone()).run();
    assert_eq!(outcome.conflicts(), [("a".into(), Clash::NotCaptured, None)]);
    assert_eq!(outcome.world, is(&[("a", "2")]));
    let outcome = Case::new(files(&[("a", "2")]), opaque, files(&[("a", "1")])).run();
    assert_eq!(outcome.merged.edits, []);
}

#[test]
fn hard_links_come_back_when_all_their_files_do() {
    let links = Links::normalised(vec![vec![b"a".to_vec(), b"b".to_vec()]]);
    let case = |ours: &[(&str, &str)]| Case {
        theirs_links: links.clone(),
        ..Case::new(files(&[("a", "2"), ("b", "1")]), files(ours), files(&[("a", "1"), ("b", "1")]))
    };
    assert_eq!(case(&[("a", "2"), ("b", "1")]).run().links, links);
    assert_eq!(case(&[("a", "2"), ("b", "3")]).run().links, Links::default());
}

fn tree() -> impl Strategy<Value = BTreeMap<String, String>> {
    let path = proptest::sample::select(vec!["a", "b", "d/a", "d/b", "d/e/a", "f", ".git/x", ".git/y"]);
    let text =
        proptest::sample::select(vec!["1\n", "2\n", "1\n2\n3\n4\n5\n", "1\n2\n3\n4\n6\n", "0\n1\n2\n3\n4\n5\n", ""]);
    proptest::collection::btree_map(path.prop_map(str::to_owned), text.prop_map(str::to_owned), 0..6)
}

fn plants(tree: &BTreeMap<String, String>) -> Plants {
    files(&tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Taking a step back where nothing came later leads exactly to where it began.
    #[test]
    fn without_later_changes_it_is_a_restore(base in tree(), theirs in tree()) {
        let outcome = Case::new(plants(&base), plants(&base), plants(&theirs)).run();
        let direct = Case::new(plants(&theirs), plants(&theirs), plants(&theirs)).run();
        prop_assert_eq!(outcome.conflicts(), vec![]);
        prop_assert_eq!(outcome.world, direct.world);
        prop_assert_eq!(outcome.grafted.identity, direct.grafted.identity);
    }

    /// Whatever the three are: a step that did nothing changes nothing, no file of the present is lost unless it is as
    /// the step left it, and a second time there is nothing to do.
    #[test]
    fn nothing_of_the_present_is_lost(base in tree(), ours in tree(), theirs in tree()) {
        let idle = Case::new(plants(&base), plants(&ours), plants(&base)).run();
        prop_assert_eq!(idle.merged, Merged::default());
        let outcome = Case::new(plants(&base), plants(&ours), plants(&theirs)).run();
        for (path, text) in ours.iter().filter(|(path, text)| base.get(*path) != Some(*text)) {
            let now = outcome.world.get(path);
            prop_assert!(now.is_some(), "{} is gone", path);
            let is_merged = outcome.merged.edits.iter().any(|edit| edit.path == path.as_bytes() && edit.bytes.is_some());
            prop_assert!(is_merged || now == Some(text), "{}", path);
        }
        for (_, _, beside) in outcome.conflicts() {
            prop_assert!(beside.is_none_or(|beside| outcome.world.contains_key(&beside)));
        }
    }
}

#[test]
fn what_runs_as_another_has_no_content_that_nobody_gave_that_to() {
    let leaf = |mode, text: &str| Leaf {
        meta: Meta { mode, ..Meta::default() },
        thing: Thing::File(text.as_bytes().to_vec()),
    };
    let plants = |leaf: Leaf| Plants::from([(b"tool".to_vec(), leaf)]);
    let (root, plain) = ("1\n2\n3\n4\n", "1\n2\n3\nX\n");
    // The step took the right away and something later changed the content; or the step changed one end of it, and
    // something later the other.
    for (base, ours) in
        [(leaf(0o755, root), leaf(0o755, plain)), (leaf(0o755, "0\n2\n3\n4\n"), leaf(0o755, "0\n2\n3\nX\n"))]
    {
        let outcome = Case::new(plants(base), plants(ours.clone()), plants(leaf(0o4755, root))).run();
        let after = |path: &str| outcome.merged.edits.iter().find(|edit| edit.path == path.as_bytes()).unwrap();
        assert_eq!(outcome.conflicts(), [("tool".to_owned(), Clash::BothChanged, Some("tool.old".to_owned()))]);
        assert_eq!(after("tool.old").after.as_ref().unwrap().meta.mode, 0o4755);
        assert_eq!(outcome.world["tool.old"], root, "the version of before has its own content");
        assert!(outcome.merged.edits.iter().all(|edit| edit.path != b"tool"));
    }
    let outcome = Case::new(plants(leaf(0o755, root)), plants(leaf(0o755, root)), plants(leaf(0o4755, root))).run();
    assert_eq!(outcome.merged.edits[0].after.as_ref().unwrap().meta.mode, 0o4755, "the same content may have it again");
}
