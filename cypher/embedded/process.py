"""The embedded server's process: start it, recognise it, query it, read its log.

Process numbers are reused, so a process is recognised as the server only if its command line names
the server's main class and the data directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

from ..driver import neo4j
from ..driver_errors import PANIC
from ..errors import EmbeddedServerError
from .config import JAVA_REMEDY, LOOPBACK, write_private

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
CALENDAR_MAIN_CLASS = "org.neo4j.server.Neo4jCommunity"
"""The main class of calendar releases, such as 2026.08."""
USER = "neo4j"
_ADMIN_CLASS = "org.neo4j.cli.AdminTool"
_ADMIN_TIMEOUT_S = 120

# Run by a short-lived intermediate Python process, so that the server is not a child of the caller:
# it outlives the caller, gets none of its signals, and leaves no zombie in a long-lived one. The
# command is passed as input: as arguments it would make this Python look like the server.
_DETACH = """\
import json, os, subprocess, sys
log, command = json.load(sys.stdin)
with open(log, "wb") as output:
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True)
print(server.pid, flush=True)
os._exit(0)
"""


def environment() -> dict[str, str]:
    """The environment for Java: that of this process, but always with UTF-8 file names."""
    env = dict(os.environ)
    if sys.platform.startswith("linux"):
        env["LC_ALL"] = "C.UTF-8"
    return env


def set_initial_password(java: Path, jars: Path, home: Path, password: str) -> None:
    """Set the password of user ``neo4j`` in a home whose server has never run.

    The password is passed in a private file, because every user of the machine can read another
    process's command line.

    Raises:
        EmbeddedServerError: Neo4j's admin tool failed; quotes its output.
    """
    arguments = ["-cp", f"{jars}/*", _ADMIN_CLASS, "dbms", "set-initial-password", password]
    file = home / "conf" / "set-password.args"
    quoted = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    write_private(file, "\n".join(f'"{argument}"' for argument in quoted))
    env = environment() | {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")}
    try:
        done = subprocess.run(
            [str(java), "-XX:TieredStopAtLevel=1", f"@{file}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=env,
            check=False,
            timeout=_ADMIN_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        # Not str(error): that of a timeout contains the complete command.
        reason = getattr(error, "strerror", None) or f"no answer within {_ADMIN_TIMEOUT_S} s"
        raise EmbeddedServerError(f"{java} cannot be run: {reason}.", remedy=JAVA_REMEDY) from error
    finally:
        file.unlink(missing_ok=True)
    if done.returncode:
        output = "\n".join(error_lines(f"{done.stdout}\n{done.stderr}"))
        raise EmbeddedServerError(
            f"The password of the new database in {home} could not be set"
            f" (exit code {done.returncode}):\n{output.replace(password, '***')}",
            remedy=JAVA_REMEDY,
        )


def spawn(command: Sequence[str], *, cwd: Path, log: Path) -> int:
    """Start a process that is independent of this one; returns its number.

    Its output goes to ``log`` (emptied first), its input is empty, and it runs in a separate
    session: neither Ctrl-C nor the end of the starter reaches it.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _DETACH],
            input=json.dumps([str(log), list(command)]),
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environment(),
            start_new_session=True,
            check=True,
        )
        return int(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        output = getattr(error, "stderr", "") or str(error)
        raise EmbeddedServerError(
            f"{command[0]} could not be started: {output.strip().splitlines()[-1]}"
        ) from error


def is_alive(process: psutil.Process) -> bool:
    """Return True if this process has not ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_server(process: psutil.Process, home: Path) -> bool:
    """Return True if this process is alive and is the server of this data directory.

    False also of a server that is being started: its command line is empty for a moment.
    """
    try:
        command = process.cmdline() if is_alive(process) else []
    except psutil.Error:
        return False
    named = MAIN_CLASS in command or CALENDAR_MAIN_CLASS in command
    return named and f"--home-dir={home}" in command


def find(home: Path, pid: int | None, create_time: float | None) -> psutil.Process | None:
    """The running server of a data directory, or None.

    The recorded process is checked first. All others are searched only if it is not the server:
    the record may be lost, or its writer may have been killed before writing it.
    """
    if pid is not None and create_time is not None:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if abs(process.create_time() - create_time) < 1 and is_server(process, home):
                return process
    for process in psutil.process_iter():
        if is_server(process, home):
            return process
    return None


def listens_on(process: psutil.Process, ports: Iterable[int]) -> bool:
    """Return True if the process listens on all these ports, so that no other gets the password."""
    try:
        open_ports = {
            connection.laddr.port
            for connection in process.net_connections(kind="tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr
        }
    except psutil.Error:
        return False
    return open_ports.issuperset(ports)


def end(process: psutil.Process, home: Path, *, timeout_s: float, force: bool) -> bool:
    """Terminate the server and wait; True once it is gone.

    Args:
        process: the server.
        home: its data directory.
        timeout_s: how long to wait, after the request and again after the kill.
        force: kill it if it has not ended in time.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _is_gone(process, home, timeout_s) and force:
            process.kill()
    return _is_gone(process, home, timeout_s if force else 0)


def _is_gone(process: psutil.Process, home: Path, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while is_server(process, home):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True


def answers(port: int, password: str) -> bool:
    """Return True if a server on this port accepts the password and runs ``RETURN 1``.

    Raises:
        neo4j.exceptions.AuthError: it runs and refuses the password.
    """
    refused = _refused(port, password)
    if isinstance(refused, neo4j.exceptions.AuthError):
        raise refused
    return refused is None


def has_panicked(port: int, password: str) -> bool:
    """Return True if a server on this port says that its database has to be started again."""
    return PANIC in str(_refused(port, password))


def _refused(port: int, password: str) -> Exception | None:
    """Ask a server ``RETURN 1``; return its error, or None if it answers."""
    try:
        with (
            neo4j.GraphDatabase.driver(
                f"bolt://{LOOPBACK}:{port}",
                auth=(USER, password),
                connection_timeout=5,
                connection_acquisition_timeout=5,
                telemetry_disabled=True,
            ) as driver,
            driver.session() as session,
        ):
            session.run("RETURN 1 AS one").consume()
            return None
    except (OSError, neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
        return error


def error_lines(text: str, limit: int = 8) -> list[str]:
    """The last meaningful lines of a log: errors if there are any, no stack frames."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not re.match(r"(at [\w.$/<>]+\(|\.\.\. \d+ more)", line)]
    if len(lines) > limit:
        marks = re.compile(r"ERROR|FATAL|Exception|Error|Caused by")
        lines = [line for line in lines if marks.search(line)] or lines
    return lines[-limit:]
