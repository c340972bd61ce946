"""The installed program as a process forked from one that has imported what it imports.

`thinkeval serve` imports for three seconds, and the process that forks its workers imports torch
for as long again; tests start it some ten times. Here one process of a session imports once and
forks: what it forks runs the installed script with arguments, environment, working directory and
streams of its own, and what Python would start as a fork server is forked too. Tests of how it
starts, and of what a killed service leaves, start it as a user does. Only on Linux (`available`).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import IO, Any

FILE = Path(__file__).resolve()
MESSAGE = 1 << 20
"""Bytes of a request at most: arguments and an environment."""


def available() -> bool:
    """Whether programs can be forked here: by Linux's process descriptors."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


class Forked:
    """A forked program: what `subprocess.Popen` offers of one that was started.

    Args:
        pid: its process id.
        ended: reading end of a pipe, into which its exit code is written when it has ended.
        stderr: what it writes to standard error.
    """

    def __init__(self, pid: int, ended: int, stderr: IO[str]) -> None:
        self.pid, self.stderr = pid, stderr
        self.returncode: int | None = None
        self._ended = ended

    def poll(self) -> int | None:
        """Its exit code; None while it runs, minus the signal's number if it was killed."""
        return self._code(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def _code(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._ended, selectors.EVENT_READ)
                if not selector.select(timeout):
                    return None
            code = os.read(self._ended, 100)
            os.close(self._ended)
            # Nothing is written if the process that forks has died.
            self.returncode = int(code) if code else -signal.SIGKILL
        return self.returncode


class Forks:
    """The process that imports and forks, as its starter sees it; it ends with this process."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                # Safe path: modules of this folder are not to be found by their bare names.
                [sys.executable, "-P", str(FILE), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def start(self, program: Path, args: list[str], env: Mapping[str, str], cwd: Path) -> Forked:
        """A script of Python's with these arguments; its standard error goes into a pipe."""
        request = {"program": str(program), "args": args, "env": dict(env), "cwd": str(cwd)}
        err, err_theirs = os.pipe()
        ended, ended_theirs = os.pipe()
        fds = [0, 1, err_theirs, ended_theirs]
        socket.send_fds(self._socket, [json.dumps(request).encode()], fds)
        os.close(err_theirs)
        os.close(ended_theirs)
        pid = int(self._socket.recv(100) or 0)
        assert pid, "the process that forks programs has ended"
        return Forked(pid, ended, os.fdopen(err, encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """End it; programs that run go on."""
        self._socket.close()
        self._process.wait(30)


@cache
def _forks() -> Forks:
    return Forks()


def program(
    script: Path, args: list[str], env: Mapping[str, str], cwd: Path, *, forked: bool = True
) -> Forked | subprocess.Popen[str]:
    """An installed program with these arguments, forked if it can be; its stderr is a pipe."""
    if forked and available():
        return _forks().start(script, args, env, cwd)
    return subprocess.Popen(
        [str(script), *args], env=dict(env), cwd=cwd, stderr=subprocess.PIPE, text=True
    )


# What follows runs in the process that forks, and in what it forks.


def _import() -> None:
    """Import what the program and its workers need."""
    from thinkeval.cypher.driver_tables import leave_out_tables

    leave_out_tables()  # as the program does, before the driver is imported
    from thinkeval.service.processes import PRELOADED

    for name in ("thinkeval.service.cli", "thinkeval.service.api.app", *PRELOADED[1:]):
        importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()


def _fork_as_asked(asks: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork for each request; returns in what is forked, and with None when nobody asks any more."""
    running: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(asks, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not asks:
                    descriptor = key.fd
                    selector.unregister(descriptor)
                    pid, ended = running.pop(descriptor)
                    os.close(descriptor)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with suppress(BrokenPipeError):
                        os.write(ended, str(code).encode())
                    os.close(ended)
                    continue
                message, fds, _, _ = socket.recv_fds(asks, MESSAGE, 4)
                if not message:
                    return None
                *streams, ended = fds
                pid = os.fork()
                if pid == 0:
                    for descriptor, (_, other) in running.items():
                        os.close(descriptor)
                        os.close(other)
                    os.close(ended)
                    asks.close()
                    return json.loads(message), streams
                for stream in streams:
                    os.close(stream)
                descriptor = os.pidfd_open(pid)
                running[descriptor] = (pid, ended)
                selector.register(descriptor, selectors.EVENT_READ)
                asks.send(str(pid).encode())


def _fork_server_in_advance() -> None:
    """Have the fork server that multiprocessing starts be a fork of this process too.

    It is forked now, while there is one thread, and waits to be given its descriptors.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _be_fork_server(theirs)
    theirs.close()
    spawn = util.spawnv_passfds

    def start(path: Any, args: Any, fds: Any) -> int:
        if "multiprocessing.forkserver" not in args[-1]:
            return spawn(path, args, fds)
        util.spawnv_passfds = spawn  # a second one is started as usual
        request = {"code": args[-1], "numbers": fds, "env": dict(os.environ)}
        with ours:
            socket.send_fds(ours, [json.dumps(request).encode()], fds)
        return pid

    util.spawnv_passfds = start  # type: ignore[assignment]


def _be_fork_server(asks: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    message, fds, _, _ = socket.recv_fds(asks, MESSAGE, 8)
    if not message:  # the program has ended without one
        os._exit(0)
    asks.close()
    request = json.loads(message)
    # Out of the way of the numbers that its command names.
    high = [fd + 200 for fd in fds]
    for fd, at in zip(fds, high, strict=True):
        os.dup2(fd, at)
        os.close(fd)
    for number, at in zip(request["numbers"], high, strict=True):
        os.dup2(at, number)
        os.close(at)
    os.environ.clear()
    os.environ.update(request["env"])
    exec(request["code"], {"__name__": "__main__"})
    sys.exit()


def _main() -> None:
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    asks = socket.socket(fileno=int(sys.argv[1]))
    _import()
    asked = _fork_as_asked(asks)
    if asked is None:
        return
    request, streams = asked
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, interrupt)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    _fork_server_in_advance()
    sys.argv[:] = [request["program"], *request["args"]]
    runpy.run_path(request["program"], run_name="__main__")


if __name__ == "__main__":
    _main()
