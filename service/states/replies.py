"""Replies of a server that is asked by a state, kept as they come.

A session is one opening of an endpoint: its replies are in one file until it ends well. One that
was killed, or whose server failed, is resumed within a day: what was answered is not asked again,
and the record has the moment of its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

RESUMED_FOR = timedelta(days=1)
"""Age of a session that is no longer resumed: the model behind the address may be another."""


class Session:
    """Replies by key, with the moment when the session began.

    Args:
        file: one reply a line; None: in memory only.

    Attributes:
        moment: ISO 8601, UTC.
        resumed: number of replies of an earlier attempt.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.moment, self._found = _read(file)
        self.resumed = len(self._found)
        if file is not None:
            # Written again as a whole: the last line of a killed process may be incomplete.
            file.write_text(json.dumps({"moment": self.moment}) + "\n", encoding="utf-8")
            self.put(self._found)

    def get(self, key: str) -> Any:
        """The reply of a key; None if it has not come yet."""
        return self._found.get(key)

    def put(self, found: Mapping[str, Any]) -> None:
        """Keep replies, at once."""
        self._found.update(found)
        if self._file is not None:
            lines = "".join(json.dumps([key, value]) + "\n" for key, value in found.items())
            with self._file.open("a", encoding="utf-8") as out:
                out.write(lines)


@contextmanager
def session(file: Path) -> Iterator[Session]:
    """A session in a file, which is deleted when the block ends without an error.

    While another process has a session of the same file, this one is in memory.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{file}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield Session()
        return
    try:
        yield Session(file)
        file.unlink(missing_ok=True)
    finally:
        lock.release()


def _read(file: Path | None) -> tuple[str, dict[str, Any]]:
    """Moment and replies of a file, or those of a new session."""
    now = datetime.now(UTC)
    new = now.isoformat(timespec="seconds")
    if file is None or not file.is_file():
        return new, {}
    try:
        head, *lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        moment = str(json.loads(head)["moment"])
        if now - datetime.fromisoformat(moment) > RESUMED_FOR:
            return new, {}
        pairs = [json.loads(line) for line in lines if line.endswith("\n")]
        return moment, {str(key): value for key, value in pairs}
    except (ValueError, KeyError, TypeError):
        return new, {}
