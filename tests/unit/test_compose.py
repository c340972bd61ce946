"""The Docker files: read as Docker reads them, because CI has no Docker engine to start them."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from thinkeval.service.base.settings import PREFIX, Settings

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


def test_service_and_worker_wait_for_a_healthy_database(services: dict[str, Any]) -> None:
    for name in ("service", "worker"):
        assert services[name]["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
        assert services[name]["environment"]["THINKEVAL_NEO4J_URI"] == "bolt://neo4j:7687"


def test_ports_are_open_to_this_machine_only(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]
    ports = ("7474", "7687", "8000")
    assert sorted(published) == sorted(f"127.0.0.1:{port}:{port}" for port in ports)
    assert not any("network_mode" in service for service in services.values())


@pytest.mark.parametrize(
    ("name", "uses"), [("THINKEVAL_NEO4J_PASSWORD", 2), ("THINKEVAL_API_TOKEN", 1)]
)
def test_secrets_are_required_and_none_is_baked_in(name: str, uses: int) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    used = re.findall(rf"\$\{{{name}([^}}]*)\}}", text)
    assert len(used) == uses
    assert all(tail.startswith(":?") for tail in used)  # unset or empty stops compose
    assert not re.search(r"NEO4J_AUTH: *(none|neo4j/[^$])", text)


def test_service_is_told_to_listen_where_the_port_is_published(services: dict[str, Any]) -> None:
    service = services["service"]
    options = dict(zip(service["command"][1::2], service["command"][2::2], strict=True))
    assert service["command"][0] == "serve"
    assert options == {"--host": "0.0.0.0", "--port": "8000"}
    assert service["ports"][0].endswith(f":{options['--port']}")


def test_the_gpu_worker_is_a_profile_and_the_service_can_do_without_its_own(
    services: dict[str, Any],
) -> None:
    assert [name for name, each in services.items() if "profiles" in each] == ["worker"]
    worker = services["worker"]
    assert worker["profiles"] == ["gpu"]
    assert worker["command"] == ["db", "worker", "--device", "cuda"]
    (device,) = worker["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}
    workers = services["service"]["environment"]["THINKEVAL_WORKERS"]
    assert workers == "${THINKEVAL_WORKERS:-1}"
    # One volume for both, so that a model is trained or downloaded once.
    assert worker["volumes"] == services["service"]["volumes"]


def test_our_environment_variables_are_settings_of_ours(services: dict[str, Any]) -> None:
    given = {key for service in services.values() for key in service["environment"]}
    ours = {key for key in given if key.startswith("THINKEVAL_")}
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    assert ours <= known, ours - known


@pytest.mark.parametrize("name", ["neo4j", "service", "worker"])
def test_no_container_gains_rights(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"privileged", "cap_add", "user", "devices", "pid", "ipc"}
    assert not any("docker.sock" in volume for volume in service["volumes"])
    if name != "neo4j":  # its image starts as root, gives /data away and steps down by itself
        assert service["cap_drop"] == ["ALL"]


def test_images_are_of_a_named_release(services: dict[str, Any], dockerfile: list[str]) -> None:
    foreign = [each["image"] for each in services.values() if "build" not in each]
    assert all(re.search(r":\d+\.\d+", image) for image in foreign)
    assert any(re.fullmatch(r"ARG PYTHON=3\.\d+", line) for line in dockerfile)
    bases = [line.split()[1] for line in dockerfile if line.startswith("FROM ")]
    assert set(bases) == {"python:${PYTHON}-slim"}


@contextmanager
def answering(status: int) -> Iterator[int]:
    """A server on a port of its own that gives this status for /health, and 404 elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (404, False)])
def test_health_check_of_the_service_follows_its_answer(
    services: dict[str, Any], status: int, healthy: bool
) -> None:
    kind, program, *arguments = services["service"]["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    with answering(status) as port:
        command = [part.replace(":8000/", f":{port}/") for part in arguments]
        done = subprocess.run([sys.executable, *command], capture_output=True, timeout=30)
    assert (done.returncode == 0) is healthy, done.stderr


def test_health_check_of_the_service_fails_where_nothing_listens(services: dict[str, Any]) -> None:
    _, _, *arguments = services["service"]["healthcheck"]["test"]
    with answering(200) as port:
        pass
    command = [part.replace(":8000/", f":{port}/") for part in arguments]
    assert subprocess.run([sys.executable, *command], capture_output=True, timeout=30).returncode


def test_docker_compose_itself_accepts_the_file() -> None:
    compose = _compose()
    secrets = {"THINKEVAL_NEO4J_PASSWORD": "eight-chars", "THINKEVAL_API_TOKEN": "x" * 16}
    command = [*compose, "--profile", "gpu", "config", "--format", "json"]
    env = {key: value for key, value in os.environ.items() if key not in secrets}
    done = subprocess.run(
        command, cwd=ROOT, env=env | secrets, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)["services"]
    assert set(read) == {"neo4j", "service", "worker"}
    assert read["service"]["environment"]["THINKEVAL_WORKERS"] == "1"
    published = [port for each in read.values() for port in each.get("ports", [])]
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}
    refused = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    assert "set it to" in refused.stderr


def _compose() -> list[str]:
    """Return the command of Docker Compose; `config` needs no Docker engine."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            told = subprocess.run(
                [*command, "version", "--short"], capture_output=True, text=True, timeout=30
            )
            if told.returncode == 0 and int(told.stdout.strip().lstrip("v").split(".")[0]) >= 2:
                return command
    pytest.skip("Docker Compose 2 is not installed here")


def test_image_is_built_in_stages_and_runs_without_root(dockerfile: list[str]) -> None:
    stages = [i for i, line in enumerate(dockerfile) if line.startswith("FROM ")]
    assert len(stages) == 2
    final = dockerfile[stages[1] :]
    users = [line.split()[1] for line in final if line.startswith("USER ")]
    assert users
    assert users[-1] not in ("0", "root")
    assert not any("pip install" in line for line in final)
    assert final.index("USER 10001") < final.index('ENTRYPOINT ["thinkeval"]')
    assert "EXPOSE 8000" in final


def test_wheels_of_torch_are_chosen_without_naming_a_registry(dockerfile: list[str]) -> None:
    assert 'ARG TORCH_INDEX=""' in dockerfile
    installs = [line for line in dockerfile if "pip install" in line]
    assert all('${TORCH_INDEX:+--extra-index-url "${TORCH_INDEX}"}' in line for line in installs)
    for name in ("Dockerfile", "docker-compose.yml"):
        hosts = set(re.findall(r"https?://([\w.-]+)", (ROOT / name).read_text()))
        assert hosts <= {"127.0.0.1"}


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
    with (ROOT / "pyproject.toml").open("rb") as file:
        folders = tomllib.load(file)["tool"]["setuptools"]["package-dir"].values()
    for folder in folders:
        if "/" not in folder:  # service/public is inside service
            assert f"COPY {folder} ./{folder}" in dockerfile
