"""The native part of the package."""

import os
from types import TracebackType
from typing import Literal, final

from typing_extensions import Self

_Path = str | os.PathLike[str]

class BelayError(RuntimeError):
    """Something that belay refuses or cannot do."""

    path: str

class LimitError(BelayError):
    """The tracked directories exceed ``max_entries`` or ``max_bytes``."""

class IntegrityError(BelayError):
    """What is stored is not what was written; nothing was restored."""

@final
class ContentHash:
    """A SHA-256 hash. Immutable and hashable."""

    def __new__(cls, hex: str) -> ContentHash: ...
    def hex(self) -> str:
        """The hash in 64 hexadecimal characters."""
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class FileState:
    """The state of one file within a snapshot."""

    @property
    def hash(self) -> ContentHash:
        """The SHA-256 of the content."""
    @property
    def size(self) -> int:
        """The length in bytes."""
    @property
    def mtime(self) -> int:
        """The modification time in seconds since the epoch."""
    @property
    def permissions(self) -> int:
        """The permission bits, 0o7777."""

@final
class Change:
    """One path that differs between two states."""

    @property
    def path(self) -> str:
        """The path, absolute."""
    @property
    def change_type(self) -> Literal["created", "modified", "deleted", "permissions_changed"]:
        """How it differs."""
    @property
    def size_delta(self) -> int | None:
        """By how many bytes the file grew; ``None`` where nothing has a size."""

@final
class ExclusionConfig:
    """What a snapshot leaves out."""

    def __new__(
        cls,
        use_gitignore: bool = True,
        exclude_patterns: list[str] | None = None,
        exclude_globs: list[str] | None = None,
        force_include: list[str] | None = None,
    ) -> ExclusionConfig: ...
    @property
    def use_gitignore(self) -> bool:
        """Whether to leave out what ``.gitignore`` files say."""
    @property
    def exclude_patterns(self) -> list[str]:
        """Names of path components, or parts of paths if they contain a slash."""
    @property
    def exclude_globs(self) -> list[str]:
        """Globs matched against file names."""
    @property
    def force_include(self) -> list[str]:
        """Patterns that override all exclusions."""

@final
class SnapshotManifest:
    """The state of all tracked files at one moment."""

    @property
    def number(self) -> int:
        """The sequence number; 0 is the baseline."""
    @property
    def timestamp(self) -> str:
        """When it was taken, in ISO 8601 and UTC."""
    @property
    def parent(self) -> int | None:
        """The number of the snapshot before it."""
    @property
    def merkle_root(self) -> ContentHash:
        """One hash over everything captured but times and owners."""
    @property
    def files(self) -> dict[str, FileState]:
        """Every regular file by its path."""
    @property
    def others(self) -> dict[str, Literal["directory", "symlink", "fifo", "socket", "device"]]:
        """Everything else that was captured, by its path."""

@final
class SnapshotManager:
    """Numbered snapshots of directories, kept in a session directory."""

    def __new__(
        cls,
        session_dir: _Path,
        tracked_paths: list[str] | list[os.PathLike[str]],
        exclusion: ExclusionConfig | None = None,
        max_entries: int = 300_000,
        max_bytes: int = 2_147_483_648,
    ) -> SnapshotManager: ...
    def create_baseline(self) -> SnapshotManifest:
        """Captures the present state as the beginning of a chain of snapshots."""
    def create_incremental(self) -> tuple[SnapshotManifest, list[Change]]:
        """Captures the present state, and tells what changed since the last snapshot."""
    def restore_to(self, snapshot_number: int) -> list[Change]:
        """Takes everything tracked back to a snapshot; returns what that changed."""
    def compute_restore_diff(self, snapshot_number: int) -> list[Change]:
        """What ``restore_to`` would change; nothing is written."""
    def undo(self) -> list[Change]:
        """Takes the last ``restore_to`` back; returns what that changed."""
    def load_manifest(self, number: int) -> SnapshotManifest:
        """The snapshot of that number."""
    def snapshot_count(self) -> int:
        """How many snapshots were taken, in this process and before."""
    def save_session_metadata(self, meta: SessionMetadata) -> None:
        """Keeps the metadata in the session directory."""
    @staticmethod
    def load_session_metadata(session_dir: _Path) -> SessionMetadata:
        """The metadata that was kept in a session directory."""
    def __enter__(self) -> SnapshotManager: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]: ...

@final
class Snapshot:
    """One snapshot in a workspace's timeline."""

    @property
    def id(self) -> str:
        """``snap_`` and six characters."""
    @property
    def number(self) -> int:
        """Its number in the timeline, counted from 1."""
    @property
    def type(self) -> str:
        """Why it was taken: "manual", "pre-run", "safety" and so on."""
    @property
    def label(self) -> str | None:
        """The name that somebody gave it."""
    @property
    def timestamp(self) -> str:
        """When it was taken, in ISO 8601 and UTC."""
    @property
    def merkle_root(self) -> ContentHash:
        """One hash over everything captured but times and owners."""
    @property
    def partial(self) -> bool:
        """Whether something could not be captured."""

class Workspace:
    """A directory with its timeline."""

    def __new__(cls, path: _Path, home: _Path) -> Self: ...
    @property
    def path(self) -> os.PathLike[str]:
        """The directory."""
    def snapshot(self, label: str | None = None, description: str | None = None) -> Snapshot:
        """Takes a snapshot."""
    def snapshots(self) -> list[Snapshot]:
        """The snapshots that exist, oldest first."""
    def manifest(self, name: str = "@latest") -> SnapshotManifest:
        """The files of a snapshot, by any of its names."""
    def changes(self, before: str = "@latest", after: str | None = None) -> list[Change]:
        """What changed from a snapshot to another, or to the present."""
    def rollback(self, name: str = "@latest") -> list[Change]:
        """Takes the workspace back to a snapshot; returns what that changed."""
    def undo(self) -> list[Change]:
        """Takes the last rollback back; returns what that changed."""
    def read(self, name: str, path: _Path) -> bytes:
        """The bytes of a file as they are in a snapshot."""

from ._metadata import SessionMetadata
