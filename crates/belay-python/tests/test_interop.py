"""One store: what the command takes Python reads, and the other way round."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import belay
import pytest

from conftest import told, world

COMMAND = os.environ.get("BELAY_COMMAND") or shutil.which("belay")
needs_command = pytest.mark.skipif(COMMAND is None, reason="no belay command to test against (BELAY_COMMAND)")


def command(home: "str | Path", *arguments: str) -> str:
    environment = {**os.environ, "BELAY_HOME": str(home), "NO_COLOR": "1"}
    done = subprocess.run([COMMAND, *arguments], env=environment, check=True, capture_output=True, text=True)
    return done.stdout


@needs_command
def test_the_command_lists_and_restores_what_python_took(manager, session_dir, tracked):
    manifest = manager.create_baseline()
    before = world(tracked)
    (tracked / "a.txt").write_text("2")
    manager.create_incremental()
    lines = command(session_dir, "-C", str(tracked), "snapshots", "--json").splitlines()
    listed = [json.loads(line) for line in lines]
    rows = listed[0]["snapshots"] if "snapshots" in listed[0] else listed
    labels = {row["label"]: row for row in rows}
    assert set(labels) == {"session-0", "session-1"}
    assert labels["session-0"]["root"] == manifest.merkle_root.hex()
    assert command(session_dir, "-C", str(tracked), "cat", "session-0", str(tracked / "a.txt")) == "hello\n"
    command(session_dir, "-C", str(tracked), "rollback", "-y", "session-0")
    assert world(tracked) == before
    command(session_dir, "verify", "--deep")
    assert manager.snapshot_count() == 2


@needs_command
@pytest.mark.parametrize("algorithm", ["blake3", "sha256"])
def test_python_reads_and_restores_what_the_command_took(tmp_path, tracked, algorithm):
    home = tmp_path / "home"
    identifier = command(home, "-C", str(tracked), "snapshot", "-q", "--hash", algorithm, "--label", "one").split()[0]
    before = world(tracked)
    workspace = belay.Workspace(tracked, home)
    assert [(one.id, one.label, one.type) for one in workspace.snapshots()] == [(identifier, "one", "manual")]
    manifest = workspace.manifest("one")
    assert manifest.files[str(tracked / "a.txt")].hash.hex() == (
        "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    )
    assert workspace.read("one", "a.txt") == b"hello\n"
    (tracked / "a.txt").write_text("2")
    assert told(workspace.changes("one"), tracked) == {"a.txt": "modified"}
    assert told(workspace.rollback("one"), tracked) == {"a.txt": "modified"}
    assert world(tracked) == before
    assert "safety" in command(home, "-C", str(tracked), "snapshots")
    command(home, "-C", str(tracked), "undo", "-y")
    assert (tracked / "a.txt").read_text() == "2"


@needs_command
def test_the_ring_comes_round_and_goes_on_after_sigkill(tmp_path, tracked):
    home = tmp_path / "home"
    settings = {"AUTO_MAX": "2", "AUTO_INTERVAL": "1", "TRIGGERS__DISABLE_IDLE": "true"}
    environment = {**os.environ, "BELAY_HOME": str(home), **{f"BELAY_SNAPSHOTS__{key}": settings[key] for key in settings}}
    workspace = belay.Workspace(tracked, home)
    for turn in range(2):
        subprocess.run([COMMAND, "-C", tracked, "watch", "-q", "--detach"], env=environment, check=True)
        records = [json.loads(path.read_text()) for path in home.glob("runs/*/run.json")]
        (supervisor,) = [run["supervisor"]["pid"] for run in records if run["state"] == "running"]
        try:
            # Ids that were there before, and as many new ones that one of them took the place of the first.
            known = {one.id for one in workspace.snapshots() if one.type == "auto"}
            seen, deadline = set(), time.monotonic() + 60
            while len(seen - known) < 3 and time.monotonic() < deadline:
                (tracked / "a.txt").write_text(f"{turn} {time.monotonic()}\n")
                time.sleep(0.1)
                autos = [one.id for one in workspace.snapshots() if one.type == "auto"]
                assert len(autos) <= 2
                seen.update(autos)
            assert len(seen - known) >= 3
        finally:
            os.kill(supervisor, signal.SIGKILL)
            # Until it is gone the directory counts as watched.
            deadline = time.monotonic() + 30
            while Path(f"/proc/{supervisor}").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        for one in workspace.snapshots():
            assert workspace.read(one.id, "a.txt")
    newest = [one for one in workspace.snapshots() if one.type == "auto"][-1]
    workspace.rollback(newest.id)
    assert (tracked / "a.txt").read_bytes() == workspace.read(newest.id, "a.txt")
    command(home, "verify", "--deep")


def test_a_block_that_raises_is_rolled_back(tmp_path, tracked):
    before = world(tracked)
    with pytest.raises(KeyError):
        with belay.snapshot(tracked, "risky", home=tmp_path / "home") as guard:
            (tracked / "a.txt").unlink()
            assert told(guard.changes(), tracked) == {"a.txt": "deleted"}
            raise KeyError
    assert world(tracked) == before
    assert guard.snapshot.label == "risky"
    guard.workspace.undo()
    assert not (tracked / "a.txt").exists()


def test_a_directory_that_the_block_removed_is_made_again(tmp_path, tracked):
    tracked.chmod(0o750)
    before = world(tracked)
    with pytest.raises(KeyError):
        with belay.snapshot(tracked, home=tmp_path / "home") as guard:
            shutil.rmtree(tracked)
            assert told(guard.changes(), tracked) == {"a.txt": "deleted", "src/main.py": "deleted"}
            raise KeyError
    assert world(tracked) == before
    shutil.rmtree(tracked)
    with pytest.raises(belay.BelayError):
        guard.workspace.rollback("no-such-snapshot")
    assert not tracked.exists()
    assert told(guard.rollback(), tracked) == {"a.txt": "created", "src/main.py": "created"}
    assert world(tracked) == before


def test_a_block_that_ends_well_is_kept(tmp_path, tracked):
    with belay.snapshot(tracked, home=tmp_path / "home") as guard:
        (tracked / "a.txt").write_text("better")
    assert (tracked / "a.txt").read_text() == "better"
    assert told(guard.rollback(), tracked) == {"a.txt": "modified"}
    with belay.snapshot(tracked, rollback="always", home=tmp_path / "home"):
        (tracked / "a.txt").write_text("tried")
    assert (tracked / "a.txt").read_text() == "hello\n"
    with pytest.raises(ValueError):
        belay.snapshot(tracked, rollback="perhaps", home=tmp_path / "home")


def test_the_home_is_the_commands(monkeypatch, tmp_path):
    monkeypatch.setenv("BELAY_HOME", str(tmp_path / "x"))
    assert belay.default_home() == tmp_path / "x"
    monkeypatch.delenv("BELAY_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert belay.default_home() == tmp_path / "belay"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert belay.default_home() == tmp_path / ".local" / "share" / "belay"
