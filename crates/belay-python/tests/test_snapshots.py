"""Each class and method as it is documented, and each place where an original loses data."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import belay
import pytest

from conftest import told, world


def test_baseline_holds_number_parent_root_and_files(manager, tracked):
    manifest = manager.create_baseline()
    assert manifest.number == 0
    assert manifest.parent is None
    assert len(manifest.merkle_root.hex()) == 64
    assert set(manifest.files) == {str(tracked / "a.txt"), str(tracked / "src" / "main.py")}
    state = manifest.files[str(tracked / "a.txt")]
    assert state.hash.hex() == hashlib.sha256(b"hello\n").hexdigest()
    assert (state.size, state.permissions) == (6, stat.S_IMODE(os.stat(tracked / "a.txt").st_mode))
    assert state.mtime == int(os.stat(tracked / "a.txt").st_mtime)


def test_timestamp_is_iso_8601(manager):
    moment = datetime.fromisoformat(manager.create_baseline().timestamp)
    assert moment.tzinfo is not None
    assert abs(moment.timestamp() - time.time()) < 60


def test_content_hashes_are_values(manager, tracked):
    (tracked / "twin").write_text("hello\n")
    files = manager.create_baseline().files
    one, two = files[str(tracked / "a.txt")].hash, files[str(tracked / "twin")].hash
    assert one == two and hash(one) == hash(two) and len({one, two}) == 1
    assert one != files[str(tracked / "src" / "main.py")].hash
    assert belay.ContentHash(one.hex()) == one and str(one) == one.hex()
    with pytest.raises(ValueError):
        belay.ContentHash("abc")
    with pytest.raises(AttributeError):
        one.anything = 1


def test_incremental_tells_what_changed(manager, tracked):
    manager.create_baseline()
    (tracked / "a.txt").write_text("hello, world\n")
    (tracked / "new").write_text("n")
    (tracked / "src" / "main.py").unlink()
    (tracked / "src").chmod(0o700)
    manifest, changes = manager.create_incremental()
    assert (manifest.number, manifest.parent) == (1, 0)
    assert told(changes, tracked) == {
        "a.txt": "modified",
        "new": "created",
        "src": "permissions_changed",
        "src/main.py": "deleted",
    }
    deltas = {os.path.relpath(change.path, tracked): change.size_delta for change in changes}
    assert (deltas["a.txt"], deltas["new"], deltas["src/main.py"]) == (7, 1, -9)


def test_nothing_changed_is_nothing_told_and_the_same_root(manager):
    first = manager.create_baseline()
    second, changes = manager.create_incremental()
    assert changes == [] and second.merkle_root == first.merkle_root


def test_incremental_needs_a_baseline(manager):
    with pytest.raises(belay.BelayError, match="create_baseline"):
        manager.create_incremental()


def test_a_second_baseline_overwrites_nothing(manager, tracked):
    first = manager.create_baseline()
    (tracked / "a.txt").write_text("other")
    second = manager.create_baseline()
    assert (second.number, second.parent, manager.snapshot_count()) == (1, None, 2)
    assert manager.load_manifest(0).merkle_root == first.merkle_root


def test_restore_brings_back_and_takes_away(manager, tracked):
    before = world(tracked)
    manager.create_baseline()
    (tracked / "a.txt").write_text("broken")
    (tracked / "src" / "main.py").unlink()
    (tracked / "new").mkdir()
    (tracked / "new" / "file").write_text("n")
    expected = {"a.txt": "modified", "new/file": "deleted", "src/main.py": "created"}
    assert told(manager.compute_restore_diff(0), tracked) == expected
    assert (tracked / "a.txt").read_text() == "broken"
    assert told(manager.restore_to(0), tracked) == expected
    assert world(tracked) == before
    assert manager.restore_to(0) == []
    assert manager.snapshot_count() == 1


def test_undo_of_a_restore(manager, tracked):
    manager.create_baseline()
    (tracked / "work").write_text("never captured by a number")
    after = world(tracked)
    manager.restore_to(0)
    assert not (tracked / "work").exists()
    assert told(manager.undo(), tracked) == {"work": "created"}
    assert world(tracked) == after
    with pytest.raises(belay.BelayError, match="nothing to undo"):
        manager.undo()


def test_undo_takes_back_the_last_restore_and_no_other(tmp_path):
    roots = [tmp_path / name for name in ("one", "two", "three")]
    for root in roots:
        root.mkdir()
        (root / "file").write_text("0")
    manager = belay.SnapshotManager(tmp_path / "session", [str(root) for root in roots])
    manager.create_baseline()
    (roots[0] / "file").write_text("first")
    assert len(manager.restore_to(0)) == 1
    (roots[1] / "file").write_text("second")
    assert len(manager.restore_to(0)) == 1
    assert manager.restore_to(0) == []
    assert [change.path for change in manager.undo()] == [str(roots[1] / "file")]
    assert [(root / "file").read_text() for root in roots] == ["0", "second", "0"]
    again = belay.SnapshotManager(tmp_path / "session", [str(root) for root in roots])
    assert [change.path for change in again.undo()] == [str(roots[0] / "file")]
    assert [(root / "file").read_text() for root in roots] == ["first", "second", "0"]
    with pytest.raises(belay.BelayError, match="nothing to undo"):
        again.undo()


def test_undo_of_several_directories_brings_all_of_them_back(tmp_path):
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
        (root / "file").write_text("0")
    manager = belay.SnapshotManager(tmp_path / "session", [str(root) for root in roots])
    manager.create_baseline()
    for root in roots:
        (root / "file").write_text("work")
    manager.create_incremental()
    manager.restore_to(0)
    assert len(manager.undo()) == 2
    assert [(root / "file").read_text() for root in roots] == ["work", "work"]


def test_undo_of_directories_that_lie_in_each_other(tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (outer / "file").write_text("0")
    (inner / "file").write_text("0")
    manager = belay.SnapshotManager(tmp_path / "session", [str(outer), str(inner)])
    manager.create_baseline()
    (outer / "file").write_text("work")
    (inner / "file").write_text("work")
    manager.restore_to(0)
    manager.undo()
    assert [(outer / "file").read_text(), (inner / "file").read_text()] == ["work", "work"]


def test_the_preview_of_a_restore_is_what_it_does(manager, tracked):
    (tracked / "shut").mkdir()
    (tracked / "shut" / "file").write_text("1")
    os.link(tracked / "a.txt", tracked / "linked")
    (tracked / "sparse").write_bytes(b"")
    os.truncate(tracked / "sparse", 1 << 20)
    manager.create_baseline()
    (tracked / "linked").unlink()
    (tracked / "linked").write_text("hello\n")
    (tracked / "sparse").write_bytes(bytes(1 << 20))
    (tracked / "shut").chmod(0o500)
    (tracked / "src").rename(tracked / "moved")
    os.chmod(tracked, 0o711)
    try:
        os.setxattr(tracked / "a.txt", "user.note", b"1")
        os.setxattr(tracked / "a.txt", "trusted.note", b"1")
        os.chown(tracked / "a.txt", 12345, 12345)
    except OSError:
        pass

    def rows(changes):
        return [(change.path, change.change_type, change.size_delta) for change in changes]

    planned = rows(manager.compute_restore_diff(0))
    assert planned and rows(manager.restore_to(0)) == planned
    assert manager.compute_restore_diff(0) == [] == manager.restore_to(0)
    for root, directories, _ in os.walk(tracked):
        for name in directories:
            os.chmod(os.path.join(root, name), 0o700)
    subprocess.run(["rm", "-rf", str(tracked)], check=True)
    planned = rows(manager.compute_restore_diff(0))
    assert planned and rows(manager.restore_to(0)) == planned
    assert manager.compute_restore_diff(0) == [] == manager.restore_to(0)


def test_modes_links_empty_directories_and_attributes_are_reported_and_restored(manager, tracked):
    os.symlink("/nowhere/at/all", tracked / "link")
    (tracked / "empty").mkdir(mode=0o750)
    os.link(tracked / "a.txt", tracked / "hard")
    os.mkfifo(tracked / "pipe")
    os.setxattr(tracked / "a.txt", "user.note", b"\0\xff")
    before = world(tracked)
    manifest = manager.create_baseline()
    assert manifest.others[str(tracked / "link")] == "symlink"
    assert manifest.others[str(tracked / "empty")] == "directory"
    assert manifest.others[str(tracked / "pipe")] == "fifo"
    (tracked / "link").unlink()
    os.symlink("elsewhere", tracked / "link")
    (tracked / "empty").rmdir()
    (tracked / "another").mkdir()
    (tracked / "hard").unlink()
    (tracked / "hard").write_text("hello\n")
    (tracked / "src" / "main.py").chmod(0o4755)
    os.removexattr(tracked / "a.txt", "user.note")
    _, changes = manager.create_incremental()
    seen = told(changes, tracked)
    assert seen["link"] == "modified"
    assert seen["empty"] == "deleted" and seen["another"] == "created"
    assert seen["src/main.py"] == "permissions_changed"
    assert seen["hard"] in ("modified", "permissions_changed")
    assert "a.txt" in seen
    assert set(seen.values()) <= {"created", "modified", "deleted", "permissions_changed"}
    manager.restore_to(0)
    assert world(tracked) == before


def test_a_same_size_edit_with_a_forged_time_is_found(manager, tracked):
    manager.create_baseline()
    info = os.stat(tracked / "a.txt")
    (tracked / "a.txt").write_text("HELLO\n")
    os.utime(tracked / "a.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
    _, changes = manager.create_incremental()
    assert told(changes, tracked) == {"a.txt": "modified"}


def test_names_that_are_not_utf_8(session_dir, tmp_path):
    directory = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(directory)
    with open(directory + b"/\xff\xfe", "wb") as file:
        file.write(b"x")
    manager = belay.SnapshotManager(session_dir, [os.fsdecode(directory)])
    manifest = manager.create_baseline()
    assert list(manifest.files) == [os.fsdecode(directory + b"/\xff\xfe")]
    os.unlink(directory + b"/\xff\xfe")
    _, changes = manager.create_incremental()
    assert [change.path for change in changes] == [os.fsdecode(directory + b"/\xff\xfe")]
    manager.restore_to(0)
    assert os.listdir(directory) == [b"\xff\xfe"]
    again = belay.SnapshotManager(session_dir, [os.fsdecode(directory)])
    assert again.load_manifest(1).files == {}


def test_sparse_and_large_files_have_the_hash_of_their_bytes(manager, tracked):
    with open(tracked / "sparse", "wb") as file:
        file.seek(3 << 20)
        file.write(b"end")
    (tracked / "large").write_bytes(os.urandom(5 << 20))
    files = manager.create_baseline().files
    for name in ("sparse", "large"):
        expected = hashlib.sha256((tracked / name).read_bytes()).hexdigest()
        assert files[str(tracked / name)].hash.hex() == expected


def test_an_edit_of_a_large_file_costs_a_part_of_it(manager, session_dir, tracked):
    def room():
        return sum(path.stat().st_size for path in Path(session_dir).rglob("*") if path.is_file())

    content = bytearray(os.urandom(9 << 20))
    (tracked / "large").write_bytes(content)
    manager.create_baseline()
    before = room()
    content[5 << 20] ^= 1
    (tracked / "large").write_bytes(content)
    (tracked / "twin").write_bytes(content)
    manifest, _ = manager.create_incremental()
    assert room() - before < 2 << 20
    assert manifest.files[str(tracked / "twin")].hash.hex() == hashlib.sha256(content).hexdigest()
    manager.restore_to(0)
    manager.restore_to(1)
    assert (tracked / "large").read_bytes() == content


def test_gitignore_is_respected_and_what_it_names_survives_a_restore(session_dir, tracked):
    (tracked / ".gitignore").write_text("*.log\n.env\n")
    (tracked / ".env").write_text("SECRET")
    (tracked / "x.log").write_text("l")
    manager = belay.SnapshotManager(session_dir, [str(tracked)], exclusion=belay.ExclusionConfig())
    files = manager.create_baseline().files
    assert str(tracked / ".env") not in files and str(tracked / "x.log") not in files
    # The filter is the snapshot's: another process, and other rules, change nothing about what it claimed.
    (tracked / ".gitignore").unlink()
    (tracked / "later.log").write_text("l")
    other = belay.SnapshotManager(session_dir, [str(tracked)], belay.ExclusionConfig(use_gitignore=False))
    other.restore_to(0)
    assert (tracked / ".env").read_text() == "SECRET"
    assert (tracked / "later.log").exists() and (tracked / ".gitignore").exists()


def test_exclusions(session_dir, tracked):
    (tracked / ".gitignore").write_text("*.log\n")
    for name in ("keep.log", "x.log", "b.tmp", "c.txt"):
        (tracked / name).write_text("x")
    (tracked / "cache").mkdir()
    (tracked / "cache" / "big").write_text("x")
    config = belay.ExclusionConfig(
        use_gitignore=True, exclude_patterns=["cache"], exclude_globs=["*.tmp"], force_include=["keep.log"]
    )
    assert (config.use_gitignore, config.exclude_patterns, config.exclude_globs) == (True, ["cache"], ["*.tmp"])
    assert config.force_include == ["keep.log"]
    files = belay.SnapshotManager(session_dir, [str(tracked)], config).create_baseline().files
    names = {os.path.relpath(path, tracked) for path in files}
    assert names == {".gitignore", "a.txt", "c.txt", "keep.log", "src/main.py"}


def test_a_pattern_is_a_component_or_a_part_of_a_path(session_dir, tracked):
    for name in ("build/x", "rebuild/x", "src/gen/x", "lib/src/gen/y", "src/general/z", "build.txt"):
        (tracked / name).parent.mkdir(parents=True, exist_ok=True)
        (tracked / name).write_text("x")
    config = belay.ExclusionConfig(exclude_patterns=["build", "src/gen/"])
    files = belay.SnapshotManager(session_dir, [str(tracked)], config).create_baseline().files
    names = {os.path.relpath(path, tracked) for path in files}
    assert names == {"a.txt", "src/main.py", "rebuild/x", "src/general/z", "build.txt"}


def test_without_an_exclusion_ignored_files_are_protected(manager, tracked):
    (tracked / ".gitignore").write_text(".env\n")
    (tracked / ".env").write_text("SECRET")
    manager.create_baseline()
    (tracked / ".env").unlink()
    manager.restore_to(0)
    assert (tracked / ".env").read_text() == "SECRET"


def test_a_bad_pattern_is_named(session_dir, tracked):
    manager = belay.SnapshotManager(session_dir, [str(tracked)], belay.ExclusionConfig(exclude_globs=["["]))
    with pytest.raises(ValueError, match=r"\["):
        manager.create_baseline()


def test_several_roots_each_with_its_own_ignore_file(session_dir, tmp_path):
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
        (root / "x.log").write_text("1")
        (root / "y.txt").write_text("1")
    (roots[0] / ".gitignore").write_text("*.log\n")
    tracked = [str(root) for root in roots]
    manager = belay.SnapshotManager(session_dir, tracked, belay.ExclusionConfig())
    manifest = manager.create_baseline()
    assert str(roots[0] / "x.log") not in manifest.files and str(roots[1] / "x.log") in manifest.files
    for root in roots:
        (root / "y.txt").write_text("2")
    later, changes = manager.create_incremental()
    assert [change.path for change in changes] == [str(root / "y.txt") for root in roots]
    assert later.merkle_root != manifest.merkle_root
    manager.restore_to(0)
    assert [(root / "y.txt").read_text() for root in roots] == ["1", "1"]
    again, _ = manager.create_incremental()
    assert again.merkle_root == manifest.merkle_root


def test_the_root_hash_is_the_trees_and_not_the_times(session_dir, tmp_path):
    roots = []
    for name in ("one", "two"):
        directory = tmp_path / name
        directory.mkdir(mode=0o755)
        (directory / "f").write_text("same")
        os.utime(directory / "f", (len(roots), len(roots)))
        roots.append(belay.SnapshotManager(session_dir + name, [str(directory)]).create_baseline().merkle_root)
    assert roots[0] == roots[1]


def test_a_session_goes_on_in_another_process(session_dir, tracked, manager):
    first = manager.create_baseline()
    (tracked / "a.txt").write_text("2")
    manager.create_incremental()
    program = (
        "import belay, sys\n"
        "m = belay.SnapshotManager(sys.argv[1], [sys.argv[2]])\n"
        "n, changes = m.create_incremental()\n"
        "print(m.snapshot_count(), n.number, n.parent, len(changes), m.load_manifest(0).merkle_root.hex())\n"
    )
    (tracked / "b").write_text("b")
    said = subprocess.run([sys.executable, "-c", program, session_dir, tracked], check=True, capture_output=True)
    assert said.stdout.decode().split() == ["3", "2", "1", "1", first.merkle_root.hex()]
    assert manager.snapshot_count() == 3


def test_load_manifest_of_a_number_that_is_not_there(manager):
    manager.create_baseline()
    assert manager.load_manifest(0).number == 0
    with pytest.raises(belay.BelayError, match="no snapshot 7"):
        manager.load_manifest(7)
    with pytest.raises(belay.BelayError, match="no snapshot 7"):
        manager.restore_to(7)


def test_limits_are_errors_that_leave_no_number(session_dir, tracked):
    for index in range(20):
        (tracked / f"f{index}").write_text("y" * 100)
    few = belay.SnapshotManager(session_dir, [str(tracked)], max_entries=5)
    with pytest.raises(belay.LimitError, match="limit: 5") as caught:
        few.create_baseline()
    assert caught.value.path.startswith(str(tracked))
    assert few.snapshot_count() == 0
    small = belay.SnapshotManager(session_dir, [str(tracked)], max_bytes=300)
    with pytest.raises(belay.LimitError, match="limit: 300"):
        small.create_baseline()
    wide = belay.SnapshotManager(session_dir, [str(tracked)])
    assert wide.create_baseline().number == 0


def test_a_session_directory_inside_of_what_it_tracks_is_refused(tracked):
    for inside in (tracked / "session", tracked, tracked / "src" / "deep" / "session"):
        before = world(tracked)
        with pytest.raises(belay.BelayError, match="lies inside") as caught:
            belay.SnapshotManager(str(inside), [str(tracked)])
        assert caught.value.path == str(inside)
        assert world(tracked) == before
    os.symlink(tracked, str(tracked) + "-link")
    with pytest.raises(belay.BelayError, match="lies inside"):
        belay.SnapshotManager(str(tracked) + "-link/session", [str(tracked)])


def test_a_tracked_path_that_is_missing_or_no_directory(session_dir, tracked):
    with pytest.raises(FileNotFoundError) as caught:
        belay.SnapshotManager(session_dir, [str(tracked / "none")]).create_baseline()
    assert caught.value.filename == str(tracked / "none")
    with pytest.raises(NotADirectoryError):
        belay.SnapshotManager(session_dir, [str(tracked / "a.txt")]).create_baseline()
    with pytest.raises(ValueError):
        belay.SnapshotManager(session_dir, []).create_baseline()


def test_a_tracked_directory_that_was_removed_comes_back(manager, tracked):
    before = world(tracked)
    manager.create_baseline()
    subprocess.run(["rm", "-rf", tracked], check=True)
    assert told(manager.compute_restore_diff(0), tracked) == {"a.txt": "created", "src/main.py": "created"}
    assert not tracked.exists()
    manager.restore_to(0)
    assert world(tracked) == before


def test_a_changed_record_is_not_restored_from(manager, session_dir, tracked):
    manager.create_baseline()
    (tracked / "a.txt").write_text("2")
    manager.create_incremental()
    records = sorted(Path(session_dir, "session", "snapshots").glob("*.json"))
    first, second = (json.loads(path.read_text()) for path in records)
    good = records[0].read_text()
    first["roots"] = second["roots"]
    records[0].write_text(json.dumps(first))
    present = world(tracked)
    for act in (manager.restore_to, manager.compute_restore_diff, manager.load_manifest):
        with pytest.raises(belay.IntegrityError, match="root hash"):
            act(0)
    first["merkle_root"] = "0" * 64
    records[0].write_text(json.dumps(first))
    with pytest.raises(belay.IntegrityError):
        manager.restore_to(0)
    assert world(tracked) == present
    records[0].write_text(good)
    assert manager.restore_to(0)


def test_a_flipped_bit_in_the_store_is_found_and_nothing_is_written(session_dir, tracked):
    (tracked / "data").write_bytes(os.urandom(400_000))
    manager = belay.SnapshotManager(session_dir, [str(tracked)])
    manager.create_baseline()
    (tracked / "data").write_bytes(b"overwritten")
    pack = max(Path(session_dir, "store", "packs").iterdir(), key=lambda path: path.stat().st_size)
    bytes_ = bytearray(pack.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(bytes_)
    fresh = belay.SnapshotManager(session_dir, [str(tracked)])
    with pytest.raises(belay.IntegrityError):
        fresh.restore_to(0)
    assert (tracked / "data").read_bytes() == b"overwritten"


def test_the_session_is_private(manager, session_dir):
    os.umask(0)
    manager.create_baseline()
    os.umask(0o022)
    for path in [Path(session_dir), *Path(session_dir).rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_metadata_round_trip(manager, session_dir, tracked):
    manifest = manager.create_baseline()
    meta = belay.SessionMetadata("s-1", ["python", "agent.py"], [str(tracked), os.fsdecode(b"/x/\xff")])
    assert datetime.fromisoformat(meta.started).tzinfo is not None
    assert (meta.ended, meta.snapshot_count, meta.exit_code) == (None, 0, None)
    meta.add_merkle_root(manifest.merkle_root)
    meta.set_network_events([{"host": "example.org", "allowed": True}])
    meta.ended, meta.snapshot_count, meta.exit_code = "2026-01-01T00:00:00+00:00", 1, 3
    manager.save_session_metadata(meta)
    loaded = belay.SnapshotManager.load_session_metadata(session_dir)
    assert loaded == meta and belay.SessionMetadata.from_json(meta.to_json()) == meta
    assert loaded.merkle_roots == [manifest.merkle_root]
    assert loaded.network_events == [{"host": "example.org", "allowed": True}]
    assert loaded.tracked_paths[1] == os.fsdecode(b"/x/\xff")
    with pytest.raises(AttributeError):
        meta.session_id = "other"
    with pytest.raises(TypeError):
        meta.add_merkle_root("00")
    assert belay.SessionMetadata.from_json(json=meta.to_json()) == meta
    for text in ("{}", "[]", '{"session_id": 1}', "not json"):
        with pytest.raises(ValueError):
            belay.SessionMetadata.from_json(text)
    with pytest.raises(FileNotFoundError):
        belay.SnapshotManager.load_session_metadata(session_dir + "-none")


def test_a_block_is_captured_from_its_beginning_to_its_end(session_dir, tracked):
    with pytest.raises(KeyError):
        with belay.SnapshotManager(session_dir, [str(tracked)]) as manager:
            (tracked / "a.txt").write_text("from the block")
            raise KeyError
    assert manager.snapshot_count() == 2
    manager.restore_to(0)
    assert (tracked / "a.txt").read_text() == "hello\n"
    manager.restore_to(1)
    assert (tracked / "a.txt").read_text() == "from the block"


def test_other_threads_run_while_belay_works(session_dir, tracked):
    (tracked / "large").write_bytes(os.urandom(64 << 20))
    manager = belay.SnapshotManager(session_dir, [str(tracked)])
    steps = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            steps[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    manager.create_baseline()
    made = steps[0] - before
    done.set()
    thread.join()
    # Held throughout, the lock would let it make one step; how many it makes without depends on the machine.
    assert made > 3, made


def test_a_signal_ends_the_work(session_dir, tracked):
    for index in range(24):
        (tracked / f"large-{index}").write_bytes(os.urandom(8 << 20))
    program = (
        "import belay, sys\n"
        "m = belay.SnapshotManager(sys.argv[1], [sys.argv[2]])\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    m.create_baseline()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', m.snapshot_count(), flush=True)\n"
        "else:\n"
        "    print('too late', flush=True)\n"
    )
    arguments = [sys.executable, "-c", program, session_dir, tracked]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        said = child.stdout.readline()
    assert said in ("interrupted 0\n", "too late\n")
    assert belay.SnapshotManager(session_dir, [str(tracked)]).create_baseline().files


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.08, 0.2])
def test_a_session_survives_sigkill(session_dir, tracked, delay):
    for index in range(200):
        (tracked / f"f{index}").write_bytes(os.urandom(5000))
    manager = belay.SnapshotManager(session_dir, [str(tracked)])
    manager.create_baseline()
    before = world(tracked)
    program = (
        "import belay, sys, os\n"
        "m = belay.SnapshotManager(sys.argv[1], [sys.argv[2]])\n"
        "print('ready', flush=True)\n"
        "for i in range(10 ** 6):\n"
        "    for j in range(0, 200, 7):\n"
        "        open(f'{sys.argv[2]}/f{j}', 'wb').write(os.urandom(5000))\n"
        "    m.create_incremental()\n"
        "    m.restore_to(0)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, session_dir, tracked], stdout=subprocess.PIPE)
    child.stdout.readline()
    time.sleep(delay)
    child.kill()
    child.communicate()
    again = belay.SnapshotManager(session_dir, [str(tracked)])
    count = again.snapshot_count()
    for number in range(count):
        assert again.load_manifest(number).files
    again.restore_to(0)
    assert world(tracked) == before
    assert again.create_incremental()[0].number == count


def test_everything_public_says_what_it_is():
    for name in belay.__all__:
        item = getattr(belay, name)
        assert item.__doc__, name
        members = vars(item).items() if isinstance(item, type) else ()
        for member, value in members:
            if not member.startswith("_") and (callable(value) or isinstance(value, property) or hasattr(value, "__get__")):
                assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("inside", ["", "sub", "sub/deeper/still"])
def test_a_session_directory_is_refused_by_whatever_path_it_lies_inside(tmp_path, tracked, inside):
    (tracked / "sub").mkdir()
    os.symlink(tracked / "sub", tmp_path / "to-sub")
    os.symlink(tracked, tmp_path / "to-all")
    before = world(tracked)
    ways = [tracked / inside, tmp_path / "to-all" / inside]
    if inside:
        ways += [tmp_path / "to-sub" / Path(inside).relative_to("sub"), tmp_path / "x" / ".." / "to-sub" / "s"]
        (tmp_path / "x").mkdir()
    for way in ways:
        with pytest.raises(belay.BelayError, match="lies inside"):
            belay.SnapshotManager(session_dir=way, tracked_paths=[str(tracked)])
    assert world(tracked) == before
    session = tmp_path / "around"
    (session / "project").mkdir(parents=True)
    os.symlink(session / "project", tmp_path / "to-project")
    for way in (session / "project", tmp_path / "to-project"):
        with pytest.raises(belay.BelayError, match="lies inside"):
            belay.SnapshotManager(session_dir=session, tracked_paths=[str(way)])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session_id", 1),
        ("session_id", None),
        ("started", 5),
        ("ended", 5),
        ("command", "ls"),
        ("command", ["ls", 1]),
        ("tracked_paths", {"a": 1}),
        ("snapshot_count", "1"),
        ("snapshot_count", True),
        ("snapshot_count", None),
        ("snapshot_count", -1),
        ("exit_code", 1.5),
        ("exit_code", False),
        ("merkle_roots", "ab" * 32),
        ("merkle_roots", [1]),
        ("merkle_roots", ["short"]),
        ("network_events", {}),
        ("network_events", [1]),
        (None, []),
        (None, 7),
    ],
)
def test_metadata_of_other_types_is_refused(key, value):
    table = json.loads(belay.SessionMetadata("s", ["ls"], ["/tmp"]).to_json())
    if key is not None:
        table[key] = value
    with pytest.raises(ValueError):
        belay.SessionMetadata.from_json(json.dumps(table if key is not None else value))
