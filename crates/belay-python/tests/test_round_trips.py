"""Any tree comes back: random names, contents, modes, links and edits."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import belay
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import world

NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name).filter(
    lambda name: name not in (b".", b"..", b".git", b".gitignore")
)
LEAVES = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=300), st.sampled_from([0o644, 0o600, 0o755, 0o400])),
    st.tuples(st.just("link"), st.binary(min_size=1, max_size=40).filter(lambda text: b"\0" not in text), st.just(0)),
    st.tuples(st.just("fifo"), st.just(b""), st.just(0o640)),
)
TREES = st.recursive(
    LEAVES, lambda inner: st.tuples(st.just("dir"), st.dictionaries(NAMES, inner, max_size=4), st.just(0o755)), max_leaves=8
)


def plant(tree, at: bytes) -> None:
    kind, content, mode = tree
    if kind == "dir":
        os.mkdir(at)
        for name, inner in content.items():
            plant(inner, at + b"/" + name)
        os.chmod(at, mode)
    elif kind == "file":
        with open(at, "wb") as file:
            file.write(content)
        os.chmod(at, mode)
    elif kind == "link":
        os.symlink(content, at)
    else:
        os.mkfifo(at, mode)


def clear(top: bytes) -> None:
    for name in os.listdir(top):
        path = top + b"/" + name
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(NAMES, TREES, max_size=4), min_size=2, max_size=4), st.randoms())
def test_every_state_comes_back(states, random):
    with tempfile.TemporaryDirectory() as place:
        top = os.fsencode(place) + b"/tracked"
        os.mkdir(top)
        manager = belay.SnapshotManager(place + "/session", [os.fsdecode(top)], belay.ExclusionConfig(False))
        seen = []
        for number, state in enumerate(states):
            clear(top)
            for name, tree in state.items():
                plant(tree, top + b"/" + name)
            manifest = manager.create_baseline() if number == 0 else manager.create_incremental()[0]
            seen.append(world(top))
            regular = {path for path, (kind, *_) in seen[-1].items() if stat.S_ISREG(kind)}
            assert {os.path.relpath(os.fsencode(path), top) for path in manifest.files} == regular
        order = list(range(len(states)))
        random.shuffle(order)
        for number in order:
            planned = {(change.path, change.change_type) for change in manager.compute_restore_diff(number)}
            done = {(change.path, change.change_type) for change in manager.restore_to(number)}
            assert world(top) == seen[number]
            assert planned == done
            assert manager.restore_to(number) == []


@given(st.text(max_size=30), st.lists(st.text(max_size=20)), st.lists(st.dictionaries(st.text(), st.integers())))
def test_metadata_round_trips(identifier, command, events):
    meta = belay.SessionMetadata(identifier, command, command)
    meta.set_network_events(events)
    again = belay.SessionMetadata.from_json(meta.to_json())
    assert again == meta and (again.command, again.network_events) == (command, events)
