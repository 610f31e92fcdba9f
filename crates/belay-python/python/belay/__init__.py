"""Snapshots of directories that an AI agent works on, and the way back.

``SnapshotManager`` keeps numbered snapshots of several directories in a session directory. ``snapshot`` and
``Workspace`` are for everyday use, over the same home that the command ``belay`` uses.
"""

from ._belay import (
    BelayError,
    Change,
    ContentHash,
    ExclusionConfig,
    FileState,
    IntegrityError,
    LimitError,
    Snapshot,
    SnapshotManager,
    SnapshotManifest,
)
from ._everyday import Guard, Workspace, default_home, snapshot
from ._metadata import SessionMetadata

__all__ = [
    "BelayError",
    "Change",
    "ContentHash",
    "ExclusionConfig",
    "FileState",
    "Guard",
    "IntegrityError",
    "LimitError",
    "SessionMetadata",
    "Snapshot",
    "SnapshotManager",
    "SnapshotManifest",
    "Workspace",
    "default_home",
    "snapshot",
]
