"""`thinkeval serve` as a process of its own, and requests of tests to it."""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
from pydantic import SecretStr

from support import holding
from support.commands import PROGRAM
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import edit as store

T = TypeVar("T")

Start = Callable[..., AbstractContextManager["Service"]]
"""Starts a service for the time of a block; see `serving`."""

ENDED = ("succeeded", "failed", "cancelled")


def settings_of(server: Mapping[str, str], **more: Any) -> Settings:
    """The settings that name a test's server."""
    return Settings(
        neo4j_uri=server["THINKEVAL_NEO4J_URI"],
        neo4j_user=server["THINKEVAL_NEO4J_USER"],
        neo4j_password=SecretStr(server["THINKEVAL_NEO4J_PASSWORD"]),
        **more,
    )


def until(look: Callable[[], T | None], timeout_s: float = 120.0, pause_s: float = 0.1) -> T:
    """Return the first true value of `look`; fail after the time.

    Each look that queries takes processor time from what is waited for: the longer that lasts, the
    longer are the pauses, up to four times the first one.
    """
    deadline = time.monotonic() + timeout_s
    longest = 4 * pause_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"nothing after {timeout_s} s: {look}"
        time.sleep(pause_s)
        pause_s = min(1.2 * pause_s, longest)


def in_stage(db: Database, edit: str, stage: str) -> None:
    """Wait until the edit has entered a stage: the record of it is kept with the edit."""
    until(lambda: any(f'"stage": "{stage}"' in told for told in store.job_of(db, edit).events))


class Service:
    """A running service, its address and a client.

    Args:
        hold: the file that names the stage in which its workers stay.
        verify: trusts its certificate, where it serves https.
    """

    def __init__(
        self, process: subprocess.Popen[str], hold: Path, verify: ssl.SSLContext | bool = True
    ) -> None:
        self.process = process
        self._hold = hold
        self.log: list[str] = []
        self._told = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._told.wait(60), self.text
        assert self.url, self.text
        self.http = httpx.Client(base_url=self.url, timeout=30, verify=verify)

    @property
    def text(self) -> str:
        return "".join(self.log)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"(https?://\S+?)/? \(REST", line)
            if found:
                self.url = found[1]
                self._told.set()
        self._told.set()

    def ready(self) -> dict[str, Any]:
        """Wait until the database is there."""

        def look() -> dict[str, Any] | None:
            answer = self.http.get("/ready")
            return answer.json() if answer.status_code == 200 else None

        return until(look, 180, 0.1)

    def get(self, path: str, **params: Any) -> Any:
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.json()

    def post(self, path: str = "/v1/edits", **body: Any) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code in (200, 201, 202), (path, answer.status_code, answer.text)
        return answer.json()

    def workers(self) -> list[psutil.Process]:
        """The worker processes alive."""
        service, alive = self.process.pid, []
        for child in psutil.Process(service).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it ended while we looked
                # Forked by another process of the service, or started by itself beside a GPU.
                if child.ppid() != service or "--multiprocessing-fork" in child.cmdline():
                    alive.append(child)
        return alive

    def hold(self, *stages: str) -> None:
        """Workers that enter one of these stages stay there; to be called inside `held`."""
        new = self._hold.with_name("hold.new")
        new.write_text("\n".join(stages), encoding="utf-8")
        new.replace(self._hold)

    @contextmanager
    def held(self, stage: str) -> Iterator[None]:
        """Workers that enter this stage stay there for the time of the block."""
        self.hold(stage)
        try:
            yield
        finally:
            self._hold.unlink()

    def ended(self, edit: str, timeout_s: float = 180) -> dict[str, Any]:
        """The edit once it has ended."""

        def look() -> dict[str, Any] | None:
            answer = self.http.get(f"/v1/edits/{edit}")
            told = answer.json()
            return told if told.get("status") in ENDED else None

        return until(look, timeout_s, 0.1)

    def close(self) -> None:
        """Let go of it, however it ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.http.close()
        self._reader.join(30)
        if self.process.stderr:
            self.process.stderr.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it, and wait for it."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        assert "Traceback" not in self.text, self.text
        return code


@contextmanager
def serving(
    env: dict[str, str],
    cwd: Path,
    *options: str,
    holding_workers: bool = False,
    verify: ssl.SSLContext | bool = True,
) -> Iterator[Service]:
    """The service on any free port, for the time of a block.

    Workers are killed here on purpose: who waits for the next one shall not wait for half a minute.
    A folder in the working directory has the package's name: no process may import it.

    Args:
        holding_workers: they stay in the stages that `Service.held` names.
    """
    hold = cwd / "hold"
    (cwd / "thinkeval").mkdir(exist_ok=True)
    (cwd / "thinkeval" / "__init__.py").write_text("raise SystemExit('not this one')\n")
    # Safe path: modules beside the script are not to be found by their bare names.
    program = [sys.executable, "-P", holding.__file__] if holding_workers else [str(PROGRAM)]
    process = subprocess.Popen(
        [*program, "serve", "--port", "0", *options],
        env=os.environ | {"THINKEVAL_RESTART_PAUSE_S": "1", holding.HOLD: str(hold)} | env,
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
    )
    service = Service(process, hold, verify)
    try:
        yield service
        service.stop()
    finally:
        service.close()
