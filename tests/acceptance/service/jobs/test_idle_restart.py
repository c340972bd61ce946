"""A remote Neo4j that is killed and started again under an idle service: no request fails for good.

The service is told an address and starts no server itself, as beside a server of somebody else.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from support.commands import Mine
from support.servers.java import QUICK
from support.servers.ports import free_port
from support.serving import Service, serving, until
from thinkeval.cypher.embedded import EmbeddedServer, ServerInfo, config
from thinkeval.service.base.settings import Settings

REWRITE = "harry-potter--studied-at"


@pytest.fixture
def remote(tmp_path: Path, test_settings: Settings) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(
        tmp_path / "remote",
        cache=test_settings.cache / "neo4j",
        bolt_port=free_port(),
        jvm_args=QUICK,
        release=test_settings.neo4j_release,
        ready_timeout_s=180,
    )
    yield server
    server.stop(force=True)


def environment(info: ServerInfo, mine: Mine, folder: Path) -> dict[str, str]:
    return {
        "THINKEVAL_NEO4J_URI": info.bolt.replace("bolt", "neo4j"),
        "THINKEVAL_NEO4J_USER": info.user,
        "THINKEVAL_NEO4J_PASSWORD": info.password,
        "THINKEVAL_HOME": str(folder),
        "THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent),
        "OMP_NUM_THREADS": "1",
    }


def kill(server: EmbeddedServer) -> None:
    """Kill a running server, and wait until its port is free."""
    info = server.ensure_running()
    os.kill(info.pid, signal.SIGKILL)
    until(lambda: config.is_free(server.options.bolt_port or 0))


def asked(service: Service) -> list[httpx.Response]:
    return [service.http.get(path) for path in ("/v1/graphs", "/v1/edits", "/v1/sweeps")]


def test_a_remote_database_restarts_under_an_idle_service(
    remote: EmbeddedServer, mine: Mine, tmp_path: Path
) -> None:
    info = remote.ensure_running()
    with serving(environment(info, mine, tmp_path), tmp_path) as service:
        service.ready()
        service.post("/v1/graphs/import", source="hogwarts")
        post = partial(service.post, graph="hogwarts", model=mine.model, rewrite=REWRITE)
        first = post(method="none", samples=0, seed=1)["id"]
        assert service.ended(first)["status"] == "succeeded"

        # Nobody asks while it is away: connections of the pool are dead, and nobody knows.
        kill(remote)
        assert remote.ensure_running().pid != info.pid
        answers = asked(service)
        while any(answer.status_code != 200 for answer in answers):
            refused = [answer for answer in answers if answer.status_code != 200]
            assert {answer.status_code for answer in refused} == {503}
            assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
            service.ready()
            answers = asked(service)
        assert [graph["id"] for graph in answers[0].json()["items"]].count("hogwarts") == 1
        second = post(method="none", samples=0, seed=2)["id"]
        assert service.ended(second)["status"] == "succeeded"

        # It is asked while it is away.
        kill(remote)
        refused = until(lambda: [each for each in asked(service) if each.status_code != 200])
        assert {answer.status_code for answer in refused} == {503}
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
        remote.ensure_running()
        service.ready()
        assert {answer.status_code for answer in asked(service)} == {200}
        third = post(method="none", samples=0, seed=3)["id"]
        assert service.ended(third)["status"] == "succeeded"
        assert len(service.get("/v1/edits", limit=10)["items"]) == 3
