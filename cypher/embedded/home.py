"""A data directory of the embedded server: files, password, and record of the last start.

::

    home/  password      the password of user neo4j, mode 0600
           server.json   process and ports of the last start
           server.lock   lock file during a start or stop of the server
           conf/ data/ import/ logs/ plugins/ run/
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from ..errors import EmbeddedServerError
from . import artifacts, config, process
from .config import Ports

_FOLDERS = ("conf", "data", "import", "logs", "plugins", "run")
_LOG_TAIL_BYTES = 64_000
_DEBUG_TAIL_BYTES = 1_000_000
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4}")


def _plain(line: str) -> str:
    """The line of a log as 5.26 writes it; calendar releases write an object of JSON a line."""
    if line.startswith("{"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            return f"{said['time']} {said['level']}  [{said['category']}] {said['message']}"
    return line


@dataclass(frozen=True, slots=True)
class Record:
    """``server.json``. ``pid`` and ``create_time`` are None until the process exists.

    ``version`` is '' where it is not known, as the file was lost.
    """

    bolt_port: int
    http_port: int
    version: str = ""
    pid: int | None = None
    create_time: float | None = None

    @property
    def ports(self) -> Ports:
        """The ports of the last start."""
        return Ports(self.bolt_port, self.http_port)


@dataclass(frozen=True, slots=True)
class Home:
    """The files of one data directory; starts and stops nothing."""

    path: Path

    @property
    def password_file(self) -> Path:
        """The file with the password, readable by its owner only."""
        return self.path / "password"

    @property
    def lock(self) -> Path:
        """The lock file, locked during a start or stop of the server."""
        return self.path / "server.lock"

    @property
    def conf(self) -> Path:
        """The folder of ``neo4j.conf``."""
        return self.path / "conf"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.path / "logs" / "neo4j.log"

    @property
    def console(self) -> Path:
        """The output of the last start: failures before the log exists."""
        return self.path / "logs" / "console.log"

    @property
    def debug(self) -> Path:
        """The log of the databases."""
        return self.path / "logs" / "debug.log"

    def debug_since(self, moment: float) -> list[str]:
        """The lines at the end of `debug` that were written since a time (seconds since 1970)."""
        try:
            with self.debug.open("rb") as log:
                log.seek(max(0, self.debug.stat().st_size - _DEBUG_TAIL_BYTES))
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return []
        lines = [_plain(line) for line in text.splitlines()]
        for place, line in enumerate(lines):
            time = _TIME.match(line)
            if time and datetime.fromisoformat(time[0]).timestamp() >= moment:
                return lines[place:]
        return []

    @property
    def has_store(self) -> bool:
        """Return True if a server ever ran here; from then on the password is part of the store."""
        return (self.path / "data" / "databases" / "system").is_dir()

    def make_folders(self) -> None:
        """Create missing folders; only the owner may enter."""
        artifacts.make_folder(self.path, 0o700)
        for name in _FOLDERS:
            artifacts.make_folder(self.path / name)

    def write_configuration(self, text: str) -> None:
        """Write ``neo4j.conf``; the user's own settings at its end stay."""
        path = self.conf / "neo4j.conf"
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        path.write_text(config.with_own(text, before), encoding="utf-8")

    def stored_password(self) -> str | None:
        """The password, or None if there is none yet.

        Raises:
            EmbeddedServerError: the database exists and its password file is lost or unreadable.
        """
        try:
            password = self.password_file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            password = ""
        except OSError as error:
            raise EmbeddedServerError(
                f"{self.password_file} cannot be read ({error.strerror}).",
                remedy="Make it readable for your user: it contains the database's password.",
            ) from error
        if password:
            return password
        if self.has_store:
            raise EmbeddedServerError(
                f"{self.password_file} is lost or empty, and the database in {self.path} opens"
                " with that password only.",
                remedy=f"Restore the file from a backup; or `thinkeval db stop`, move {self.path}"
                " away, and import the graphs again into a new database.",
            )
        return None

    def ensure_password(self, java: Path, jars: Path) -> str:
        """The password; on a new home a generated one, set before the server's first start."""
        password = self.stored_password()
        if password is None:
            password = config.new_password()
            config.write_private(self.password_file, password + "\n")
        if not self.has_store:
            process.set_initial_password(java, jars, self.path, password)
        return password

    def read_record(self) -> Record | None:
        """The record of the last start, from ``neo4j.conf`` if ``server.json`` is unreadable."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Record(**json.loads((self.path / "server.json").read_text(encoding="utf-8")))
        with contextlib.suppress(OSError, AttributeError):
            text = (self.conf / "neo4j.conf").read_text(encoding="utf-8")
            bolt, http = (
                int(re.search(rf"{name}\.listen_address=.*:(\d+)$", text, re.MULTILINE)[1])  # type: ignore[index]
                for name in ("bolt", "http")
            )
            return Record(bolt, http)
        return None

    def write_record(self, record: Record) -> None:
        """Store the record of a start."""
        config.write_private(self.path / "server.json", json.dumps(asdict(record)) + "\n")

    def log_size(self) -> int:
        """The present length of the log, an offset for `log_since`."""
        return self.log.stat().st_size if self.log.exists() else 0

    def log_since(self, offset: int) -> str:
        """Output of the last start, and its log from ``offset`` on (at most the end of each)."""
        text = []
        for path, start in ((self.console, 0), (self.log, offset)):
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(max(start, path.stat().st_size - _LOG_TAIL_BYTES))
                text.append(file.read().decode(errors="replace"))
        return "\n".join(text)
