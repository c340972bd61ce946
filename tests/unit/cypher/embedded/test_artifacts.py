"""Fetching the server's files: from a small Maven repository on this machine, over real HTTP."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from thinkeval.cypher.embedded import artifacts
from thinkeval.cypher.embedded import lock as embedded_lock
from thinkeval.cypher.embedded.lock import Bundle, Jar
from thinkeval.cypher.errors import EmbeddedServerError
from thinkeval.service.base.settings import Settings

FETCH = """
import sys
from pathlib import Path
from thinkeval.cypher.embedded import artifacts, lock
path, cache, url = sys.argv[1:]
artifacts.ensure(
    Path(cache), bundle=lock.read(Path(path)), repositories={"test": url}
)
"""


class Repository(ThreadingHTTPServer):
    """A Maven repository that can misbehave; counts what is asked of it."""

    daemon_threads = True
    files: dict[str, bytes]
    asked: Counter[str]
    drop_once: set[str]
    limit_once: set[str]
    replace_all: bytes | None = None
    seconds_per_file = 0.0
    connections = 0


class Handler(BaseHTTPRequestHandler):
    server: Repository
    protocol_version = "HTTP/1.1"  # a connection stays open, as those of real repositories do

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        self.server.asked[name] += 1
        if name in self.server.limit_once:
            self.server.limit_once.discard(name)
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self.server.files.get(self.path)
        if content is not None and self.server.replace_all is not None:
            content = self.server.replace_all
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = len(content) // 2
        self.wfile.write(content[:half])
        if name in self.server.drop_once:
            self.server.drop_once.discard(name)
            self.close_connection = True
            return  # the connection ends in the middle
        time.sleep(self.server.seconds_per_file)
        self.wfile.write(content[half:])

    def log_message(self, format: str, *args: object) -> None:
        del format, args


class Setting(NamedTuple):
    repository: Repository
    url: str
    bundle: Bundle
    cache: Path
    lock: Path

    def fetch(self, **options: object) -> Path:
        return artifacts.ensure(
            self.cache,
            bundle=self.bundle,
            repositories={"test": self.url},
            **options,  # type: ignore[arg-type]
        )

    @property
    def requests(self) -> Counter[str]:
        """The number of requests for each jar."""
        return Counter({k: n for k, n in self.repository.asked.items() if k.endswith(".jar")})


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(artifacts, "_PAUSE_S", 0.02)
    repository = Repository(("127.0.0.1", 0), Handler)
    repository.files, repository.asked = {}, Counter()
    repository.drop_once, repository.limit_once = set(), set()
    lines = ["# neo4j 0.1"]
    for i in range(12):
        jar = tmp_path / "jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("content", os.urandom(20_000 + i))
        content, classifier = jar.read_bytes(), ":linux" if i == 3 else ""
        coordinate = f"org.example.group:part{i}:1.{i}{classifier}"
        digest = hashlib.sha256(content).hexdigest()
        lines.append(f"{digest} {len(content)} {coordinate}")
        path = Jar(coordinate, digest, len(content)).filename
        repository.files[f"/org/example/group/part{i}/1.{i}/{path}"] = content
    (lock := tmp_path / "test.lock").write_text("\n".join(lines) + "\n")
    threading.Thread(target=repository.serve_forever, args=(0.05,), daemon=True).start()
    url = f"http://127.0.0.1:{repository.server_port}"
    yield Setting(repository, url, embedded_lock.read(lock), tmp_path / "cache", lock)
    repository.shutdown()
    repository.server_close()


def test_a_fetch_brings_every_file_and_nothing_else(setting: Setting) -> None:
    folder = setting.fetch()
    assert folder == setting.cache / setting.bundle.folder
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(jar.filename for jar in setting.bundle.jars)
    assert "part3-1.3-linux.jar" in names
    assert all(zipfile.ZipFile(path).testzip() is None for path in folder.iterdir())
    assert not artifacts.damaged(folder, setting.bundle)


def test_what_is_there_is_not_fetched_again(setting: Setting) -> None:
    setting.fetch()
    setting.repository.shutdown()
    before = setting.requests
    assert setting.fetch().is_dir()
    assert setting.requests == before


def test_nothing_is_written_to_the_maven_folder_of_the_user(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    setting.fetch()
    assert not (tmp_path / "m2").exists()
    assert not (tmp_path / "user").exists()


def test_progress_grows_to_the_total(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, str]] = []
    monkeypatch.setattr(artifacts, "_MB", 1000)  # the files here are small
    setting.fetch(progress=lambda *args: told.append(args))
    done = [args[0] for args in told]
    total = -(-setting.bundle.total_bytes // 1000)
    assert {args[1] for args in told} == {total}
    assert done == sorted(done)
    assert done[-1] in (total, total - 1)
    assert "downloading Neo4j 0.1" in told[0][2]


@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_a_damaged_file_is_noticed_and_replaced(setting: Setting, damage: str) -> None:
    folder = setting.fetch()
    victim = folder / "part5-1.5.jar"
    content = victim.read_bytes()
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(content[:100] if damage == "truncated" else b"x" + content[1:])
    before = setting.requests
    setting.fetch()
    assert victim.read_bytes() == content
    assert setting.requests - before == Counter({"part5-1.5.jar": 1})


def test_a_broken_connection_is_tried_again(setting: Setting) -> None:
    setting.repository.drop_once = {"part2-1.2.jar", "part7-1.7.jar"}
    folder = setting.fetch()
    assert not artifacts.damaged(folder, setting.bundle)
    assert setting.requests["part2-1.2.jar"] == 2


def test_a_lower_rate_is_kept_when_it_is_demanded(setting: Setting) -> None:
    jar = setting.bundle.jars[5].filename
    setting.repository.limit_once.add(jar)
    setting.fetch()
    assert setting.requests[jar] == 2
    assert set((setting.requests - Counter([jar])).values()) == {1}


def test_connections_are_kept_from_one_file_to_the_next(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "_CONNECTIONS", 2)
    setting.fetch()
    assert setting.requests.total() == 12
    assert setting.repository.connections <= 2


def test_a_page_of_a_proxy_is_not_taken_for_a_jar(setting: Setting) -> None:
    setting.repository.replace_all = b"<html>please log in</html>"
    with pytest.raises(EmbeddedServerError, match="checksum"):
        setting.fetch()
    folder = setting.cache / setting.bundle.folder
    assert list(folder.iterdir()) == []
    setting.repository.replace_all = None
    assert not artifacts.damaged(setting.fetch(), setting.bundle)


@pytest.mark.heavy
def test_a_killed_fetch_is_taken_up_where_it_stopped(setting: Setting) -> None:
    setting.repository.seconds_per_file = 0.3
    command = [sys.executable, "-c", FETCH, str(setting.lock), str(setting.cache), setting.url]
    folder = setting.cache / setting.bundle.folder
    with subprocess.Popen(command) as child:
        deadline = time.monotonic() + 30
        while not list(folder.glob("*.jar")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)  # into the next files
        child.send_signal(signal.SIGKILL)
    whole = {path.name for path in folder.glob("*.jar")}
    assert 0 < len(whole) < 12
    assert {jar.filename for jar in artifacts.damaged(folder, setting.bundle)} == {
        jar.filename for jar in setting.bundle.jars
    } - whole
    assert (folder / ".partial").exists()  # halves lie there, and only there

    setting.repository.seconds_per_file = 0.0
    setting.repository.asked.clear()
    setting.fetch()
    assert set(setting.requests) == {jar.filename for jar in setting.bundle.jars} - whole
    assert not (folder / ".partial").exists()
    assert not artifacts.damaged(folder, setting.bundle)


@pytest.mark.heavy
def test_two_processes_download_once(setting: Setting) -> None:
    setting.repository.seconds_per_file = 0.1
    command = [sys.executable, "-c", FETCH, str(setting.lock), str(setting.cache), setting.url]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert setting.requests == Counter({jar.filename: 1 for jar in setting.bundle.jars})


def test_a_repository_that_cannot_be_reached(setting: Setting) -> None:
    setting.repository.shutdown()
    setting.repository.server_close()
    started = time.monotonic()
    with pytest.raises(EmbeddedServerError) as caught:
        setting.fetch()
    assert time.monotonic() - started < 20
    assert setting.url in caught.value.detail
    assert "part" in caught.value.detail
    for way in ("HTTPS_PROXY", "THINKEVAL_MAVEN_URL", "THINKEVAL_NEO4J_URI", "docker compose"):
        assert way in caught.value.remedy


def test_a_file_that_no_repository_has(setting: Setting) -> None:
    gone = next(path for path in setting.repository.files if "part9" in path)
    del setting.repository.files[gone]
    with pytest.raises(EmbeddedServerError, match=r"part9-1\.9\.jar could not be downloaded"):
        setting.fetch()


def test_a_full_disk_is_said_before_the_download(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(setting.lock)._replace(free=599_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(EmbeddedServerError, match="599 MB free") as caught:
        setting.fetch()
    assert "THINKEVAL_CACHE" in caught.value.remedy
    assert not setting.requests


def test_a_cache_that_cannot_be_written(setting: Setting, tmp_path: Path) -> None:
    setting.cache.write_text("a file is in the way")
    with pytest.raises(EmbeddedServerError, match="Not a directory") as caught:
        setting.fetch()
    assert "THINKEVAL_CACHE" in caught.value.remedy


def test_the_mirror_of_the_environment_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKEVAL_MAVEN_URL", "https://mirror.example/maven/")
    assert artifacts.default_repositories() == {"thinkeval": "https://mirror.example/maven"}
    monkeypatch.delenv("THINKEVAL_MAVEN_URL")
    assert "central" in artifacts.default_repositories()


RELEASES = get_args(Settings.model_fields["neo4j_release"].annotation)


@pytest.mark.parametrize("release", RELEASES)
def test_a_shipped_lock_file_names_a_whole_server(release: str) -> None:
    bundle = embedded_lock.of_release(release)
    assert bundle.version.rpartition(".")[0] == release
    parts = {jar.parts[:3] for jar in bundle.jars}
    assert ("org.neo4j", "neo4j", bundle.version) in parts
    assert ("org.neo4j.app", "neo4j-server", bundle.version) in parts
    assert ("org.neo4j.client", "neo4j-browser", "5.24.0") in parts
    assert len({jar.filename for jar in bundle.jars}) == len(bundle.jars)
    assert 140e6 < bundle.total_bytes < 200e6
    assert bundle.folder.startswith(f"neo4j-{bundle.version}-")


def test_the_setting_has_each_release_that_is_shipped() -> None:
    assert {embedded_lock.lock_file(release) for release in RELEASES} == set(
        embedded_lock.lock_file().parent.glob("*.lock")
    )
    assert Settings.model_fields["neo4j_release"].default == embedded_lock.LTS
    with pytest.raises(EmbeddedServerError, match=r"'4\.4' is no release") as caught:
        embedded_lock.of_release("4.4")
    assert caught.value.remedy.endswith(f"one of: {', '.join(sorted(RELEASES))}.")


@pytest.mark.parametrize(
    "text", ["", "# neo4j\n", "# neo4j 1\nabc 12 g:a:v\n", f"# neo4j 1\n{'0' * 64} x g:a:v\n"]
)
def test_a_damaged_lock_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.lock"
    path.write_text(text)
    with pytest.raises(EmbeddedServerError, match="not a lock file") as caught:
        embedded_lock.read(path)
    assert "Reinstall" in caught.value.remedy
    with pytest.raises(EmbeddedServerError):
        embedded_lock.read(tmp_path / "missing.lock")
