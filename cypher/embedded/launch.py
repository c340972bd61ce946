"""Starting the embedded server's process, and the error if it does not start."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from ..driver_errors import PANIC
from ..errors import DiskFullError, EmbeddedServerError, GraphError
from ..room import LEAST_BYTES
from . import artifacts, config, lock
from . import process as embedded_process
from .artifacts import MIN_FREE_BYTES, Progress
from .home import Home, Record

_MIN_FREE_TO_RESTART_BYTES = 100 * 10**6
_REMEDIES = {
    "Unrecognized setting": "This is an error of ThinkEval's own configuration: please report it.",
    "already in use": "End the program that has the port, or unset THINKEVAL_BOLT_PORT"
    " and THINKEVAL_HTTP_PORT so that free ports are chosen.",
    "OutOfMemoryError": "Give the server more memory: THINKEVAL_NEO4J_HEAP={more}. If that does not"
    " help after a full disk or a crash: `thinkeval db repair`.",
    "Could not reserve enough space": "{less}.",
    "exceeds physical memory": "{less}.",
    "UnsupportedClassVersionError": "THINKEVAL_JAVA names a Java that is too old; unset it.",
    "No space left on device": "Free some space on this disk, or choose another: THINKEVAL_HOME.",
    "FileLockException": "Another program has this database open: end it.",
}


SALVAGE = {"internal.dbms.tx_log.fail_on_corrupted_log_files": "false"}
"""Setting of a start that cuts off what cannot be read at the end of the transaction log."""
STOPPED = "Database panic"
_BROKEN = (
    "Error reading transaction logs",
    "Unable to start `",
    "Exception occurred while starting",
)


class PortTakenError(EmbeddedServerError):
    """A port was taken between the check and the server's start; a retry may succeed."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Options of a start; the fields are those of `thinkeval.cypher.embedded.EmbeddedServer`."""

    cache: Path
    bolt_port: int | None = None
    http_port: int | None = None
    heap: str = "512m"
    page_cache: str = "128m"
    java: Path | None = None
    jvm_args: tuple[str, ...] = ()
    settings: dict[str, str] | None = None
    repositories: dict[str, str] | None = None
    release: str = lock.LTS


def launch(
    home: Home, options: LaunchOptions, progress: Progress, *, standard_ports: bool = True
) -> tuple[psutil.Process, int]:
    """Download missing files, prepare the home, start the server; the caller holds the home's lock.

    Returns:
        The process, which does not answer yet, and the length its log had before.

    Raises:
        PortTakenError, EmbeddedServerError: it could not be downloaded or started.
    """
    ports = config.choose_ports(options.bolt_port, options.http_port, standard=standard_ports)
    lts = options.release == lock.LTS
    settings = config.configuration(
        ports,
        heap=options.heap,
        page_cache=options.page_cache,
        settings=({} if lts else config.CALENDAR) | (options.settings or {}),
    )
    home.stored_password()  # report a lost password before a download
    bundle = lock.of_release(options.release)
    require_not_newer(home, bundle.version)
    java = config.java_binary(options.java)
    jars = artifacts.ensure(
        options.cache, bundle=bundle, repositories=options.repositories, progress=progress
    )
    room = _MIN_FREE_TO_RESTART_BYTES if home.has_store else MIN_FREE_BYTES
    artifacts.require_space(home.path, room, "for the database")
    home.make_folders()
    home.write_configuration(settings)
    home.ensure_password(java, jars)
    record = Record(ports.bolt, ports.http, bundle.version)
    home.write_record(record)
    offset = home.log_size()
    pid = embedded_process.spawn(
        command(java, jars, home, options), cwd=home.path, log=home.console
    )
    try:
        process = psutil.Process(pid)
        born = process.create_time()
    except psutil.NoSuchProcess:
        raise failure(home, options, offset) from None
    home.write_record(replace(record, pid=pid, create_time=born))
    return process, offset


def require_not_newer(home: Home, version: str) -> None:
    """Refuse to start a database that a newer release of Neo4j has opened: none goes back.

    Raises:
        EmbeddedServerError: the release of the last start is newer than this one.
    """
    record = home.read_record()
    if record is None or not home.has_store or _numbers(record.version) <= _numbers(version):
        return
    raise EmbeddedServerError(
        f"The database in {home.path} is of Neo4j {record.version}, and {version} is older: it"
        " cannot open it. Nothing was changed.",
        remedy=f"Set THINKEVAL_NEO4J_RELEASE={record.version.rpartition('.')[0]}. To go back, make"
        " a file of the data with it by `thinkeval db backup`, and restore that file into a new"
        " THINKEVAL_HOME with the older one.",
    )


def _numbers(version: str) -> list[int]:
    """The release of a version: [5, 26] of 5.26.30; [] of an unknown one."""
    return [int(part) for part in version.split(".")[:2] if part.isdigit()]


def command(java: Path, jars: Path, home: Home, options: LaunchOptions) -> list[str]:
    """The server's command line; it names the home, by which the process is recognised."""
    if os.pathsep in str(jars):
        raise EmbeddedServerError(
            f"{jars}: Java does not accept a path with {os.pathsep!r} in it.",
            remedy="Choose another cache folder with THINKEVAL_CACHE.",
        )
    lts = options.release == lock.LTS
    return [
        str(java),
        f"-Xmx{options.heap}",
        "-Dfile.encoding=UTF-8",
        # A server without memory must end, to be restarted, rather than run in a broken state.
        "-XX:+ExitOnOutOfMemoryError",
        *options.jvm_args,
        "-cp",
        f"{jars}/*",
        embedded_process.MAIN_CLASS if lts else embedded_process.CALENDAR_MAIN_CLASS,
        f"--home-dir={home.path}",
        f"--config-dir={home.conf}",
    ]


def broken(home: Home, process: psutil.Process) -> str | None:
    """Return the line of the log that says the database, not the server, has stopped; else None.

    The server's process continues, and answers no query. A database that is still starting has no
    such line. On a full disk the log may lack it; then the server is asked.
    """
    try:
        born = process.create_time()
    except psutil.Error:
        return None
    # The time of a process is known to a second; the server before may have written until then.
    lines = home.debug_since(born + 1.5)
    found = (line for mark in (STOPPED, *_BROKEN) for line in lines if mark in line)
    if line := next(found, None):
        return line
    record, password = home.read_record(), home.stored_password()
    if (
        record
        and password
        and embedded_process.listens_on(process, (record.bolt_port,))
        and embedded_process.has_panicked(record.bolt_port, password)
    ):
        return f"{STOPPED}: {PANIC}"
    return None


def not_started(home: Home, line: str) -> GraphError:
    """The error for a database that has stopped (`broken`), while its server runs."""
    said = next((mark for mark in _BROKEN[:1] if mark in line), line.partition("] ")[2][:300])
    free = shutil.disk_usage(home.path).free
    if STOPPED in line and free < LEAST_BYTES:
        return DiskFullError(
            f"The database in {home.path} has stopped, as its disk is full: {free // 10**6} MB are"
            " free.",
            remedy=f"Free {LEAST_BYTES // 10**6} MB there and repeat the command: it starts the"
            " database again, with everything that was committed.",
        )
    return EmbeddedServerError(
        f"The database in {home.path} does not start: {said}",
        remedy="`thinkeval db repair` copies the data, then starts it without the part of its log"
        f" that cannot be read; everything committed before stays. Log: {home.debug}",
    )


def failure(home: Home, options: LaunchOptions, offset: int) -> EmbeddedServerError:
    """The error for a server that ended while starting, quoting the log from ``offset`` on."""
    text = home.log_since(offset)
    quoted = "\n".join(embedded_process.error_lines(text))
    if "already in use" in text and None in (options.bolt_port, options.http_port):
        return PortTakenError(f"Neo4j found a port taken:\n{quoted}")
    heap, least = config.heap_megabytes(options.heap), config.MIN_HEAP_MB
    less = f"Ask for less memory: THINKEVAL_NEO4J_HEAP={_size(max(least, heap // 2))}"
    if heap == least:
        less = (
            f"End other programs: the server needs a heap of {least} MB, which this machine lacks"
        )
    found = next((remedy for mark, remedy in _REMEDIES.items() if mark in text), "")
    remedy = found.format(more=_size(2 * heap), less=less)
    if not quoted:
        remedy = config.JAVA_REMEDY
    return EmbeddedServerError(
        f"Neo4j did not start. Its log:\n{quoted or '(empty)'}",
        remedy=f"{remedy} Log: {home.log}".strip(),
    )


def _size(megabytes: int) -> str:
    return f"{megabytes}m" if megabytes % 1024 else f"{megabytes // 1024}g"
