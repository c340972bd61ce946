"""Python processes forked from one that has imported what they import.

Importing torch, transformers and the service takes ten seconds of a processor, which the processes
of pytest-xdist, the services that tests start and the processes that fork their workers would each
spend. One process of a test run imports once and forks (support/forking/preloaded.py): what it
forks has arguments, environment, working directory and streams of its own. Tests of how a program
starts, and of what a killed service leaves, start it as a user does. Only on Linux (`available`).
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

ADDRESS = "FORKING_PROCESS"
"""Environment variable with the path of the socket at which the process that forks is asked."""

_PRELOADED = Path(__file__).resolve().with_name("preloaded.py")
_INTERPRETER = _PRELOADED.with_name("interpreter.py")


def available() -> bool:
    """Return True if programs can be forked here: by Linux's process descriptors."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


class Forked:
    """A forked process: what `subprocess.Popen` offers of one that was started.

    Args:
        pid: its process id.
        ended: reading end of a pipe, into which its exit code is written when it has ended.
        stderr: its standard error, if that goes into a pipe.
    """

    def __init__(self, pid: int, ended: int, stderr: IO[str] | None = None) -> None:
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
    """A connection to the process that forks; what was forked for it is killed when it closes.

    Args:
        address: path of its socket.
    """

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(address)
        atexit.register(self._socket.close)

    def start(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        streams: Sequence[int],
        stderr: IO[str] | None = None,
    ) -> Forked:
        """Run what follows `python` in a command line.

        Ctrl-C is ignored in what is forked if it is here, as in a process that is started.

        Args:
            command: a script, or `-c` and code; and the arguments.
            env: its environment.
            cwd: its working directory.
            streams: descriptors of its standard input, output and error.
            stderr: where its starter reads its standard error.
        """
        request = {
            "command": list(command),
            "env": dict(env),
            "cwd": str(cwd),
            "interrupted": signal.getsignal(signal.SIGINT) is not signal.SIG_IGN,
        }
        ended, ended_theirs = os.pipe()
        socket.send_fds(self._socket, [json.dumps(request).encode()], [*streams, ended_theirs])
        os.close(ended_theirs)
        pid = int(self._socket.recv(100) or 0)
        assert pid, "the process that forks programs has ended"
        return Forked(pid, ended, stderr)


def logging_program(
    script: Path, args: Sequence[str], env: Mapping[str, str], log: Path
) -> Forked | subprocess.Popen[bytes]:
    """An installed program with these arguments, forked if it can be; it writes to a file.

    Settings that libraries read from the environment as they are imported stay as they are here.
    """
    command = [str(script), *args]
    with log.open("wb") as output:
        if not available():
            return subprocess.Popen(command, env=env, stdout=output, stderr=output)
        number = output.fileno()
        return _forks().start(command, env, Path.cwd(), (0, number, number))


def program(
    script: Path, args: Sequence[str], env: Mapping[str, str], cwd: Path, *, forked: bool = True
) -> Forked | subprocess.Popen[str]:
    """An installed program with these arguments, forked if it can be; its stderr is a pipe.

    Unlike a command line that begins with `python()`, its process id is the program's own.
    """
    if not (forked and available()):
        return subprocess.Popen(
            [str(script), *args], env=dict(env), cwd=cwd, stderr=subprocess.PIPE, text=True
        )
    err, err_theirs = os.pipe()
    stderr = os.fdopen(err, encoding="utf-8", errors="replace")
    process = _forks().start([str(script), *args], env, cwd, (0, 1, err_theirs), stderr)
    os.close(err_theirs)
    return process


def python() -> list[str]:
    """The beginning of a command line: Python that has imported already, where it can be forked."""
    if not available():
        return [sys.executable]
    return [sys.executable, "-P", str(_INTERPRETER), address()]


def address() -> str:
    """Path of the socket of the process that forks; starts one if none was started before.

    It ends with the process that started it, and the processes that it forked end with it.
    """
    if started := os.environ.get(ADDRESS):
        return started
    folder = tempfile.mkdtemp(prefix="forks")
    path = os.environ[ADDRESS] = f"{folder}/socket"
    # The pipe's other end is closed when this process ends, however it does.
    reading, needed = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        # Safe path: modules of this folder are not to be found by their bare names.
        command = [sys.executable, "-P", str(_PRELOADED), str(listener.fileno()), str(reading)]
        process = subprocess.Popen(command, pass_fds=[listener.fileno(), reading])
    os.close(reading)

    def end() -> None:
        os.close(needed)
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return path


@cache
def _forks() -> Forks:
    return Forks(address())
