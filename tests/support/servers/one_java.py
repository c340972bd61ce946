"""The databases of several test processes in one Java, which compiles what they run only once.

Each process has a Neo4j server for itself: home, ports, password and store. Half of the processor
time of a server in the tests is Java compiling Neo4j, so two of them in one Java take little more
than one. Jetty, which is part of Neo4j, reads what to start from an XML file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import psutil
from filelock import FileLock

from support.distribution import helper_of
from support.servers import java
from support.servers.ports import free_port
from thinkeval.cypher.embedded import artifacts, config, lock, process
from thinkeval.cypher.embedded.home import Home, Record

MAIN_CLASS = "org.eclipse.jetty.xml.XmlConfiguration"
HEAP = "1g"
READY_TIMEOUT_S = 180.0
"""The machine may be busy with other tests."""

_FILE = "servers.json"
_START = """\
  <Call class="org.neo4j.server.NeoBootstrapper" name="start">
    <Arg><New class="org.neo4j.server.CommunityBootstrapper"/></Arg>
    <Arg><Array type="java.lang.String">
      <Item>--home-dir={home}</Item>
      <Item>--config-dir={home}/conf</Item>
    </Array></Arg>
  </Call>
"""


def start(count: int, folder: Path, cache: Path, settings: dict[str, str]) -> dict[str, Any]:
    """Start the servers of this run, unless they were started before; they do not answer yet.

    Args:
        count: number of test processes.
        folder: of all processes of this run.
        cache: of Neo4j's program files.
        settings: of Neo4j, by name.

    Returns:
        Java's process id, and the server of each process that has one.

    Raises:
        EmbeddedServerError: Neo4j cannot be downloaded.
    """
    file = folder / _FILE
    with FileLock(folder / f"{_FILE}.lock"):
        if not file.exists():
            workers = [f"gw{i}" for i in range(count) if f"gw{i}" != helper_of(count)]
            file.write_text(json.dumps(_start(workers, folder, cache, settings)), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def server_of(
    worker: str, count: int, home: Path, folder: Path, cache: Path, settings: dict[str, str]
) -> dict[str, str]:
    """Environment variables that lead to a test process's server.

    Args:
        worker: the process, as pytest-xdist names it.
        home: where an embedded server of this process has its files; becomes a link.

    Others are those of `start`.

    Returns:
        The variables; empty for a process that replaces one that crashed.
    """
    servers = start(count, folder, cache, settings)
    if worker not in servers["of"]:
        return {}
    found = servers["of"][worker]
    _await(psutil.Process(servers["pid"]), found, folder)
    home.symlink_to(folder / f"neo4j-{worker}")
    return {
        "THINKEVAL_NEO4J_URI": f"bolt://{config.LOOPBACK}:{found['bolt']}",
        "THINKEVAL_NEO4J_USER": process.USER,
        "THINKEVAL_NEO4J_PASSWORD": found["password"],
        "THINKEVAL_BROWSER_URL": f"http://{config.LOOPBACK}:{found['http']}/browser/",
    }


def stop(folder: Path) -> None:
    """End the servers of this run, if any was started."""
    try:
        servers = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        running = psutil.Process(servers["pid"])
        if MAIN_CLASS not in running.cmdline():
            return
        running.terminate()
    except (OSError, psutil.NoSuchProcess):
        return
    try:
        running.wait(30)
    except psutil.TimeoutExpired:
        running.kill()


def _start(
    workers: Sequence[str], folder: Path, cache: Path, settings: dict[str, str]
) -> dict[str, Any]:
    jars, binary = artifacts.ensure(cache), config.java_binary()
    servers, xml = {}, []
    for worker in workers:
        home = Home(folder / f"neo4j-{worker}")
        ports = config.Ports(free_port(), free_port())
        home.make_folders()
        home.write_configuration(
            config.configuration(ports, heap="512m", page_cache="64m", settings=settings)
        )
        password = home.ensure_password(binary, jars)
        home.write_record(Record(ports.bolt, ports.http, lock.read().version))
        servers[worker] = {"bolt": ports.bolt, "http": ports.http, "password": password}
        xml.append(_START.format(home=escape(str(home.path))))
    file = folder / "servers.xml"
    file.write_text(
        f'<Configure class="java.util.ArrayList">\n{"".join(xml)}</Configure>\n', encoding="utf-8"
    )
    command = [
        str(binary),
        f"-Xmx{HEAP}",
        "-Dfile.encoding=UTF-8",
        "-XX:+ExitOnOutOfMemoryError",
        "-Dorg.eclipse.jetty.xml.XmlParser.Validating=false",
        *java.LONG,
        "-cp",
        f"{jars}/*",
        MAIN_CLASS,
        str(file),
    ]
    pid = process.spawn(command, cwd=folder, log=folder / "servers.log")
    return {"pid": pid, "of": servers}


def _await(running: psutil.Process, server: dict[str, Any], folder: Path) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not (
        process.listens_on(running, (server["bolt"], server["http"]))
        and process.answers(server["bolt"], server["password"])
    ):
        if time.monotonic() > deadline or not running.is_running():
            raise RuntimeError((folder / "servers.log").read_text(errors="replace")[-5000:])
        time.sleep(0.2)
