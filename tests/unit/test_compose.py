"""The Docker files: read as Docker reads them, because CI has no Docker engine to start them."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


@pytest.fixture(scope="module")
def dockerfile() -> list[str]:
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_database_is_the_neo4j_the_queries_are_written_for(services: dict[str, Any]) -> None:
    assert re.fullmatch(r"neo4j:5\.26[\w.-]*", services["neo4j"]["image"])
    assert "enterprise" not in services["neo4j"]["image"]


def test_health_check_sends_a_query_with_the_real_password(
    services: dict[str, Any], tmp_path: Path
) -> None:
    kind, script = services["neo4j"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    # Stands in for the image's client, to see what the script calls it with.
    client = tmp_path / "cypher-shell"
    client.write_text('#!/bin/sh\nprintf "%s\\n" "$NEO4J_USERNAME" "$NEO4J_PASSWORD" "$@"\n')
    client.chmod(0o755)
    password = "a/b c'$d"
    done = subprocess.run(
        ["/bin/sh", "-c", script.replace("$$", "$")],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NEO4J_AUTH": f"neo4j/{password}"},
        capture_output=True,
        text=True,
        check=True,
    )
    user, received, *arguments = done.stdout.splitlines()
    assert (user, received) == ("neo4j", password)
    assert "bolt://127.0.0.1:7687" in arguments
    assert arguments[-1] == "RETURN 1"


def test_health_check_gives_up_later_than_a_slow_start(services: dict[str, Any]) -> None:
    check = services["neo4j"]["healthcheck"]
    seconds = {key: int(check[key].removesuffix("s")) for key in ("interval", "start_period")}
    assert seconds["start_period"] + seconds["interval"] * check["retries"] >= 90


def test_application_waits_for_a_healthy_database(services: dict[str, Any]) -> None:
    app = services["app"]
    assert app["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
    assert app["environment"]["THINKEVAL_NEO4J_URI"] == "bolt://neo4j:7687"


def test_ports_are_open_to_this_machine_only(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert sorted(published) == ["127.0.0.1:7474:7474", "127.0.0.1:7687:7687"]


def test_no_password_is_baked_in() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    used = re.findall(r"\$\{THINKEVAL_NEO4J_PASSWORD([^}]*)\}", text)
    assert len(used) == 2  # the database's and the application's
    assert all(tail.startswith(":?") for tail in used)  # unset or empty stops compose
    assert not re.search(r"NEO4J_AUTH: *(none|neo4j/[^$])", text)


def test_image_is_built_in_stages_and_runs_without_root(dockerfile: list[str]) -> None:
    stages = [i for i, line in enumerate(dockerfile) if line.startswith("FROM ")]
    assert len(stages) == 2
    final = dockerfile[stages[1] :]
    users = [line.split()[1] for line in final if line.startswith("USER ")]
    assert users
    assert users[-1] not in ("0", "root")
    assert not any("pip install" in line for line in final)
    assert final.index("USER 10001") < final.index('ENTRYPOINT ["thinkeval"]')


def test_everything_the_image_copies_is_there_and_reaches_the_build(dockerfile: list[str]) -> None:
    kept = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for line in dockerfile:
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch.fnmatch(source, pattern) for pattern in kept), source


def test_image_contains_every_package(dockerfile: list[str]) -> None:
    packages = re.search(r"packages = \[(.*)\]", (ROOT / "pyproject.toml").read_text())
    assert packages
    for package in re.findall(r'"(\w+)"', packages[1]):
        assert f"COPY {package} ./{package}" in dockerfile
