"""The embedded Neo4j for real: a server of its own in a new home, from start to stop."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import neo4j
import psutil
import pytest
from neo4j.exceptions import AuthError, ClientError, Neo4jError

from support.servers.java import QUICK
from support.serving import until
from thinkeval.cypher.embedded import EmbeddedServer, ServerInfo, config, lock
from thinkeval.cypher.embedded import process as embedded_process
from thinkeval.cypher.errors import EmbeddedServerError
from thinkeval.service.base.settings import Settings

CACHE, RELEASE = Settings().cache / "neo4j", Settings().neo4j_release
START = """
import dataclasses, json, sys
from pathlib import Path
from thinkeval.cypher.embedded import EmbeddedServer
home, cache, release, *jvm_args = sys.argv[1:]
server = EmbeddedServer(Path(home), cache=Path(cache), jvm_args=tuple(jvm_args),
                        release=release, ready_timeout_s=180)
print(json.dumps(dataclasses.asdict(server.ensure_running()), default=str))
"""


def server_of(home: Path, release: str = RELEASE) -> EmbeddedServer:
    # 180 s instead of 60: the machine may be busy with other tests.
    return EmbeddedServer(home, cache=CACHE, jvm_args=QUICK, release=release, ready_timeout_s=180)


def starter(home: Path) -> subprocess.Popen[str]:
    """A process of its own (and a process group of its own) that starts the server of a home."""
    command = [sys.executable, "-c", START, str(home), str(CACHE), RELEASE, *QUICK]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A background job of a shell ignores Ctrl-C, and so would the starter.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def servers_of(home: Path) -> list[int]:
    return [p.pid for p in psutil.process_iter() if embedded_process.is_server(p, home)]


def connect(info: ServerInfo, password: str | None = None) -> neo4j.Driver:
    return neo4j.GraphDatabase.driver(info.bolt, auth=(info.user, password or info.password))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a space and an umlaut in its name; what runs there is ended afterwards."""
    home = tmp_path_factory.mktemp("embedded") / "Neo4j für uns"
    yield home
    server_of(home).stop(force=True)


@pytest.fixture
def info(home: Path) -> ServerInfo:
    return server_of(home).ensure_running()


def test_two_processes_that_start_it_at_once_share_one_server(home: Path) -> None:
    starters = [starter(home), starter(home)]
    said = [process.communicate(timeout=300) for process in starters]
    assert [process.returncode for process in starters] == [0, 0], said
    first, second = (json.loads(output) for output, _ in said)
    assert first == second
    assert servers_of(home) == [first["pid"]]  # and it outlived both of its starters


def test_a_running_server_is_reused(home: Path, info: ServerInfo) -> None:
    assert server_of(home).ensure_running() == info
    assert servers_of(home) == [info.pid]


def test_info_and_status_lead_any_client_to_it(home: Path, info: ServerInfo) -> None:
    with connect(info) as driver:
        records, _, _ = driver.execute_query("CALL dbms.components() YIELD name, versions, edition")
        kernel = {"name": "Neo4j Kernel", "versions": [info.version], "edition": "community"}
        assert kernel in [record.data() for record in records]
    with urllib.request.urlopen(info.browser, timeout=30) as page:
        assert b"Neo4j Browser" in page.read()
    status = server_of(home).status()
    assert status.running
    for field in ("bolt", "http", "browser", "user", "password_file", "home", "pid", "version"):
        assert getattr(status, field) == getattr(info, field), field
    assert status.log.is_file()
    assert info.password == status.password_file.read_text().strip()


def test_the_password_is_needed_and_kept_private(home: Path, info: ServerInfo) -> None:
    assert stat.S_IMODE(info.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert info.password not in repr(info)
    assert not any(info.password in word for word in psutil.Process(info.pid).cmdline())
    with connect(info, "neo4j") as driver, pytest.raises(AuthError):
        driver.execute_query("RETURN 1")
    with (
        neo4j.GraphDatabase.driver(info.bolt) as driver,
        pytest.raises((AuthError, ClientError)),
    ):
        driver.execute_query("RETURN 1")


def test_it_listens_on_the_loopback_interface_only(info: ServerInfo) -> None:
    listening = {
        connection.laddr
        for connection in psutil.Process(info.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    assert {f":{address.port}" for address in listening} == {
        url[url.rindex(":") :] for url in (info.bolt, info.http)
    }


def test_a_query_reads_no_file_of_the_user(info: ServerInfo, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n")
    with connect(info) as driver, pytest.raises(Neo4jError):
        driver.execute_query("LOAD CSV FROM $url AS line RETURN line", url=secret.as_uri())


def test_a_wrong_password_file_is_an_error_that_names_it(home: Path, info: ServerInfo) -> None:
    info.password_file.write_text("not-the-password\n")
    try:
        with pytest.raises(EmbeddedServerError, match="refuses the password") as caught:
            server_of(home).ensure_running()
        assert str(info.password_file) in caught.value.detail
    finally:
        info.password_file.write_text(info.password + "\n")


def test_a_lost_record_does_not_lead_to_a_second_server(home: Path, info: ServerInfo) -> None:
    (home / "server.json").unlink()
    found = server_of(home).ensure_running()
    assert dataclasses.replace(found, pid=0) == dataclasses.replace(info, pid=0)
    assert servers_of(home) == [info.pid]


def test_nothing_committed_is_lost_when_it_is_killed_and_its_starter_is_interrupted(
    home: Path, info: ServerInfo
) -> None:
    """Neo4j is killed, and started again by a command that Ctrl-C ends; the next one takes over."""
    with connect(info) as driver:
        driver.execute_query("UNWIND range(1, 1000) AS i CREATE (:Kept {i: i})")
        session = driver.session()
        transaction = session.begin_transaction()
        transaction.run("CREATE (:Kept {i: 0})").consume()
        os.kill(info.pid, signal.SIGKILL)
        with pytest.raises(neo4j.exceptions.DriverError):
            transaction.commit()
        with pytest.raises(neo4j.exceptions.DriverError):
            session.run("RETURN 1").consume()
        session.close()
    process = starter(home)
    pids = until(lambda: servers_of(home), timeout_s=60, pause_s=0.02)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    process.communicate(timeout=60)
    assert process.returncode != 0
    again = server_of(home).ensure_running()
    assert [again.pid] == pids != [info.pid]  # taken over while still starting
    assert again.password == info.password
    assert kept(again) == {"n": 1000, "least": 1}


def kept(info: ServerInfo) -> dict[str, int]:
    with connect(info) as driver:
        records, _, _ = driver.execute_query(
            "MATCH (k:Kept) RETURN count(k) AS n, min(k.i) AS least"
        )
    return records[0].data()


def test_stop_leaves_nothing_running(home: Path, info: ServerInfo) -> None:
    server = server_of(home)
    assert server.stop() is True  # it ended by itself
    assert servers_of(home) == []
    for url in (info.bolt, info.http):
        assert config.is_free(int(url.rsplit(":", 1)[1]))
    assert server.stop() is False
    status = server.status()
    assert (status.running, status.pid, status.bolt) == (False, None, None)


def test_a_port_lost_while_starting_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_of(home).stop()
    with socket.create_server(("127.0.0.1", 0)) as rival:
        taken = rival.getsockname()[1]
        # The port looks free when it is chosen: the rival comes between that and Neo4j's start.
        monkeypatch.setattr(config, "DEFAULT_BOLT_PORT", taken)
        monkeypatch.setattr(config, "is_free", lambda port: port == taken)
        info = server_of(home).ensure_running()
        assert f"/127.0.0.1:{taken}" in server_of(home).status().log.read_text()  # it was tried
        assert info.bolt != f"bolt://127.0.0.1:{taken}"
        assert servers_of(home) == [info.pid]
        monkeypatch.undo()
        with pytest.raises(EmbeddedServerError, match=f"{taken} on 127.0.0.1 is taken"):
            EmbeddedServer(home.with_name("other"), cache=CACHE, bolt_port=taken).ensure_running()
    server_of(home).stop()


@pytest.mark.skipif(RELEASE != lock.LTS, reason="the database is one of the calendar release")
def test_a_newer_release_takes_the_database_over_and_the_older_one_refuses_it(home: Path) -> None:
    assert server_of(home).home.read_record().version.startswith(lock.LTS)
    newer = server_of(home, "2026.08")
    info = newer.ensure_running()
    assert info.version.startswith("2026.08.")
    assert kept(info) == {"n": 1000, "least": 1}
    said = newer.home.debug.read_text()
    assert '"Fleet discovery' not in said  # it tells nobody of itself
    newer.stop()
    with pytest.raises(EmbeddedServerError, match="of Neo4j 2026") as caught:
        server_of(home).ensure_running()
    assert "THINKEVAL_NEO4J_RELEASE=2026.08." in caught.value.remedy
