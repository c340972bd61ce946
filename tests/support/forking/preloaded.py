"""The process that imports what tests and services import, and forks for those that ask.

Run as a script with two descriptors: the socket at which it is asked, and a pipe whose other end is
closed when it shall end. It imports nothing of the tests.
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
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from thinkeval.service.base.processes import LastExit

MESSAGE = 1 << 20
"""Bytes of a request at most: arguments and an environment."""

OF_TESTS = (
    "hypothesis",
    "matplotlib.figure",
    "pandas",
    "playwright.sync_api",
    "schemathesis",
    "scipy.optimize",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.llama.modeling_llama",
)
"""Modules that take long to import and that several files of the tests need."""


def main() -> None:
    """Import, and fork until the pipe is closed; runs what was asked for in what is forked."""
    # First of all, so that it runs last: of some hundred processes, each would look at all objects
    # of torch and transformers, for a second and a half of a processor.
    last = LastExit()
    last.code = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import()
    asked = _Forking(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])).serve()
    if asked is None:
        return
    request = asked.request
    if request["interrupted"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(asked.streams):
        os.dup2(stream, number)
        os.close(stream)
    _move(request)
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    _fork_server_in_advance()
    try:
        _run(*request["command"])
    except SystemExit as ended:
        last.code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    except BaseException:
        last.code = None
        raise


def _move(request: dict[str, Any]) -> None:
    """Take the working directory and the environment that were asked for."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])


def _run(what: str, *arguments: str) -> None:
    """Run a script, or code after `-c`, as Python does."""
    if what == "-c":
        code, *arguments = arguments
        sys.argv[:] = [what, *arguments]
        main_module = sys.modules["__main__"] = ModuleType("__main__")
        exec(code, vars(main_module))
    else:
        sys.argv[:] = [what, *arguments]
        sys.path.insert(0, os.path.dirname(what))
        runpy.run_path(what, run_name="__main__")


def _import() -> None:
    """Import the modules that the program, its workers and the tests need."""
    from thinkeval.cypher.driver_tables import leave_out_tables

    leave_out_tables()  # as the program does, before the driver is imported
    from thinkeval.service.base.processes import PRELOADED

    for name in (
        "thinkeval.service.cli.main",
        "thinkeval.service.web.app",
        *PRELOADED[1:],
        *OF_TESTS,
    ):
        importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()
    # Given back at exit, when libraries tell of objects that nobody collected.
    atexit.register(gc.unfreeze)


@dataclass
class _Asked:
    """The program that a forked process shall run, and the descriptors of its three streams."""

    request: dict[str, Any]
    streams: list[int]


@dataclass(frozen=True)
class _Running:
    """A forked process; its exit code is written to `ended`."""

    pid: int
    ended: int
    asker: socket.socket


class _Forking:
    """Forks for all who connect, and tells each how what was forked for it has ended."""

    def __init__(self, listener: socket.socket, needed: int) -> None:
        self._listener, self._needed = listener, needed
        self._askers: list[socket.socket] = []
        self._running: dict[int, _Running] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(needed, selectors.EVENT_READ)

    def serve(self) -> _Asked | None:
        """Returns in what is forked, and with None when it is not needed any more."""
        while True:
            for key, _ in self._selector.select():
                if key.fd == self._needed:
                    for running in self._running.values():
                        os.kill(running.pid, signal.SIGKILL)
                    return None
                if key.fileobj is self._listener:
                    asker, _ = self._listener.accept()
                    self._askers.append(asker)
                    self._selector.register(asker, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    if (asked := self._answer(key.fileobj)) is not None:
                        return asked
                else:
                    self._end(key.fd)

    def _answer(self, asker: socket.socket) -> _Asked | None:
        message, fds, _, _ = socket.recv_fds(asker, MESSAGE, 4)
        if not message:
            for running in self._running.values():
                if running.asker is asker:
                    os.kill(running.pid, signal.SIGKILL)
            self._selector.unregister(asker)
            self._askers.remove(asker)
            asker.close()
            return None
        *streams, ended = fds
        pid = os.fork()
        if pid == 0:
            os.close(ended)
            self._close()
            return _Asked(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        descriptor = os.pidfd_open(pid)
        self._running[descriptor] = _Running(pid, ended, asker)
        self._selector.register(descriptor, selectors.EVENT_READ)
        asker.send(str(pid).encode())
        return None

    def _end(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        running = self._running.pop(descriptor)
        os.close(descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(running.pid, 0)[1])
        with suppress(BrokenPipeError):
            os.write(running.ended, str(code).encode())
        os.close(running.ended)

    def _close(self) -> None:
        """Let go of all descriptors, in what is forked."""
        self._selector.close()
        self._listener.close()
        os.close(self._needed)
        for asker in self._askers:
            asker.close()
        for descriptor, running in self._running.items():
            os.close(descriptor)
            os.close(running.ended)


def _fork_server_in_advance() -> None:
    """Have the fork server that multiprocessing starts be a fork of this process too.

    It is forked now, while there is one thread, and waits to be given its descriptors.
    """
    from multiprocessing import util  # later than `LastExit`, so that it cleans up before that

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _be_fork_server(theirs)
    theirs.close()
    atexit.register(ours.close)
    spawn = util.spawnv_passfds

    def start(path: Any, args: Any, fds: Any) -> int:
        if "multiprocessing.forkserver" not in args[-1]:
            return spawn(path, args, fds)
        util.spawnv_passfds = spawn  # a second one is started as usual
        environment = {"env": dict(os.environ), "cwd": os.getcwd()}
        request = {"code": args[-1], "numbers": fds, **environment}
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
    _move(request)
    exec(request["code"], {"__name__": "__main__"})
    sys.exit()


if __name__ == "__main__":
    main()
