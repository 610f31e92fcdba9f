"""What is known about a session beside its snapshots."""

from __future__ import annotations

import json as _json
from datetime import datetime, timezone
from typing import Any

from ._belay import ContentHash


class SessionMetadata:
    """Metadata of a session: its command, its chain of Merkle roots, and what it did on the network.

    ``ended``, ``snapshot_count`` and ``exit_code`` may be set; the rest is given at the start or added by a method.
    """

    def __init__(self, session_id: str, command: list[str], tracked_paths: list[str]) -> None:
        self._session_id = session_id
        self._started = datetime.now(timezone.utc).isoformat()
        self._command = list(command)
        self._tracked_paths = list(tracked_paths)
        self._merkle_roots: list[ContentHash] = []
        self._network_events: list[dict[str, Any]] = []
        self.ended: str | None = None
        self.snapshot_count: int = 0
        self.exit_code: int | None = None

    @property
    def session_id(self) -> str:
        """The session's identifier."""
        return self._session_id

    @property
    def started(self) -> str:
        """When the session started, in ISO 8601 and UTC."""
        return self._started

    @property
    def command(self) -> list[str]:
        """The command that was executed."""
        return list(self._command)

    @property
    def tracked_paths(self) -> list[str]:
        """The tracked directories."""
        return list(self._tracked_paths)

    @property
    def merkle_roots(self) -> list[ContentHash]:
        """The Merkle root of each snapshot, in order; ``add_merkle_root`` appends to it."""
        return list(self._merkle_roots)

    @property
    def network_events(self) -> list[dict[str, Any]]:
        """What the session did on the network; ``set_network_events`` sets it."""
        return [dict(event) for event in self._network_events]

    def add_merkle_root(self, root: ContentHash) -> None:
        """Appends a Merkle root to the chain."""
        if not isinstance(root, ContentHash):
            raise TypeError("a Merkle root is a ContentHash")
        self._merkle_roots.append(root)

    def set_network_events(self, events: list[dict[str, Any]]) -> None:
        """Sets the network events; whatever JSON can hold may be in them."""
        copied = _json.loads(_json.dumps(list(events)))
        if not all(isinstance(event, dict) for event in copied):
            raise TypeError("a network event is a dict")
        self._network_events = copied

    def to_json(self) -> str:
        """The metadata as JSON text."""
        return _json.dumps(
            {
                "session_id": self._session_id,
                "started": self._started,
                "ended": self.ended,
                "command": self._command,
                "tracked_paths": self._tracked_paths,
                "snapshot_count": self.snapshot_count,
                "exit_code": self.exit_code,
                "merkle_roots": [root.hex() for root in self._merkle_roots],
                "network_events": self._network_events,
            },
            indent=2,
        )

    @staticmethod
    def from_json(json: str) -> SessionMetadata:
        """Reads what ``to_json`` wrote; ``ValueError`` if it is something else."""
        try:
            table = _json.loads(json)
        except (TypeError, RecursionError) as error:
            raise ValueError(f"not the metadata of a session: {error}") from error
        if not isinstance(table, dict):
            raise ValueError("not the metadata of a session: it is no object")
        meta = SessionMetadata(
            _text(table, "session_id"), _texts(table, "command"), _texts(table, "tracked_paths")
        )
        meta._started = _text(table, "started")
        meta.ended = None if table.get("ended") is None else _text(table, "ended")
        meta.snapshot_count = _number(table, "snapshot_count") if "snapshot_count" in table else 0
        if meta.snapshot_count < 0:
            raise ValueError("not the metadata of a session: snapshot_count is negative")
        meta.exit_code = None if table.get("exit_code") is None else _number(table, "exit_code")
        meta._merkle_roots = [ContentHash(root) for root in _texts(table, "merkle_roots", [])]
        events = table.get("network_events", [])
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            raise _unlike("network_events", "a list of objects")
        meta._network_events = events
        return meta

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionMetadata) and self.to_json() == other.to_json()

    def __repr__(self) -> str:
        return f"SessionMetadata(session_id={self._session_id!r}, snapshot_count={self.snapshot_count})"


def _unlike(key: str, kind: str) -> ValueError:
    return ValueError(f"not the metadata of a session: {key} is not {kind}")


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise _unlike(key, "a text")
    return value


def _texts(table: dict[str, Any], key: str, default: list[str] | None = None) -> list[str]:
    value = table.get(key, default)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _unlike(key, "a list of texts")
    return value


def _number(table: dict[str, Any], key: str) -> int:
    value = table.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unlike(key, "a whole number")
    return value
