"""Everyday use: a snapshot around a block of code, in the home that the command ``belay`` uses."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Literal

from . import _belay
from ._belay import Change, Snapshot


def default_home() -> Path:
    """Where the command keeps its snapshots: ``$BELAY_HOME``, else ``$XDG_DATA_HOME/belay``, else beneath the home."""
    if home := os.environ.get("BELAY_HOME"):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data and os.path.isabs(data) else Path.home() / ".local" / "share") / "belay"


class Workspace(_belay.Workspace):
    """A directory with the timeline that ``belay snapshots`` lists."""

    def __new__(cls, path: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Workspace:
        return super().__new__(cls, path, default_home() if home is None else home)


class Guard:
    """A snapshot around a block: ``with snapshot(path) as guard:``."""

    def __init__(self, workspace: Workspace, label: str | None, rollback: Literal["on_error", "always", "never"]):
        if rollback not in ("on_error", "always", "never"):
            raise ValueError("rollback is 'on_error', 'always' or 'never'")
        self.workspace = workspace
        self._label = label
        self._rollback = rollback
        self._taken: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that was taken when the block was entered."""
        if self._taken is None:
            raise _belay.BelayError("the block was not entered, so there is no snapshot yet")
        return self._taken

    def changes(self) -> list[Change]:
        """What changed since the block was entered."""
        return self.workspace.changes(self.snapshot.id)

    def rollback(self) -> list[Change]:
        """Takes the directory back to where it was when the block was entered."""
        return self.workspace.rollback(self.snapshot.id)

    def __enter__(self) -> Guard:
        self._taken = self.workspace.snapshot(self._label)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._rollback == "always" or (self._rollback == "on_error" and kind is not None):
            self.rollback()


def snapshot(
    path: str | os.PathLike[str] = ".",
    label: str | None = None,
    *,
    rollback: Literal["on_error", "always", "never"] = "on_error",
    home: str | os.PathLike[str] | None = None,
) -> Guard:
    """Takes a snapshot of a directory around a block, and goes back to it if the block raises.

    >>> with snapshot("project") as guard:      # doctest: +SKIP
    ...     run_the_agent()
    ...     print(guard.changes())

    Going back loses nothing: what the block did is captured first, and ``guard.workspace.undo()`` brings it back.
    """
    return Guard(Workspace(path, home), label, rollback)
