"""Worlds to test in: a tracked directory, a session beside it, and an observer that shares no code with belay."""

import hashlib
import os
import stat
from pathlib import Path

import belay
import pytest


@pytest.fixture
def tracked(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "a.txt").write_text("hello\n")
    (directory / "src").mkdir()
    (directory / "src" / "main.py").write_text("print(1)\n")
    return directory


@pytest.fixture
def session_dir(tmp_path: Path) -> str:
    return str(tmp_path / "session")


@pytest.fixture
def manager(session_dir: str, tracked: Path) -> belay.SnapshotManager:
    return belay.SnapshotManager(session_dir=session_dir, tracked_paths=[str(tracked)])


def world(root: "str | os.PathLike[str]") -> dict[bytes, tuple[object, ...]]:
    """Everything beneath a directory: type, mode, content or text, group of hard links, extended attributes."""
    seen: dict[bytes, tuple[object, ...]] = {}
    links: dict[tuple[int, int], bytes] = {}
    top = os.fsencode(root)
    paths = [top]
    for here, directories, files in os.walk(top):
        paths += [os.path.join(here, name) for name in directories + files]
    for path in sorted(paths):
        info = os.lstat(path)
        content: object = None
        if stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
            first = links.setdefault((info.st_dev, info.st_ino), path)
            content = (content, os.path.relpath(first, top) if info.st_nlink > 1 else None)
        elif stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        names = sorted(os.listxattr(path, follow_symlinks=False))
        attributes = tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
        mode = None if stat.S_ISLNK(info.st_mode) else info.st_mode
        seen[os.path.relpath(path, top)] = (stat.S_IFMT(info.st_mode), mode, content, attributes)
    return seen


def told(changes: list[belay.Change], root: Path) -> dict[str, str]:
    """Changes as a table of relative path and type."""
    return {os.path.relpath(change.path, root): change.change_type for change in changes}
