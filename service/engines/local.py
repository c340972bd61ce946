"""The engine `local`: executors are child processes of this one, each with a pipe.

    parent → child    ("run", job, lease), ("cancel", lease, lost)
    child → parent    ("ready", about), ("begun",), ("state", state), ("ended", outcome, result)

The end of the pipe, however it came, ends the child: it queues its job again and exits.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..base import processes
from ..base.leases import Lease, this_process
from .engine import ALIVE_S, END_S, Heard, Report

if TYPE_CHECKING:
    from ...cypher import rows
    from .executor import Executor, Make

log = logging.getLogger("thinkeval.engine")

TICK_S = 0.25
"""Interval at which an executor looks whether its state has changed."""
STUCK = 3
"""Exit code of an executor whose job did not stop within the grace period."""


@dataclass(slots=True)
class _Child:
    process: BaseProcess
    pipe: Connection
    heard: Heard
    number: int
    idle: bool = False
    """It can be given a job."""


class LocalEngine:
    """Executors as child processes, from `start` to `close`.

    Args:
        make: makes an executor in its process: a function of a module, which that can import.
        several: executors share the machine's GPUs: each has one of them where the setting is
            `auto`.
    """

    def __init__(self, make: Make, *, several: bool = False) -> None:
        self._make, self._several = make, several
        self._children: dict[str, _Child] = {}
        self._wakes, self._waker = Pipe(duplex=False)
        self._waking = threading.Lock()

    def start(self, name: str) -> None:
        """Start a child process.

        Raises:
            OSError, EOFError: it cannot be started.
        """
        here, there = Pipe()
        # The least free number, so that the successor of one that died has its GPU.
        taken = {child.number for child in self._children.values()}
        number = next(i for i in range(len(taken) + 1) if i not in taken)
        with there:
            process = self._process(name, there, number)
            process.start()
        self._children[name] = _Child(process, here, Heard(time.monotonic()), number)

    def _process(self, name: str, pipe: Connection, number: int) -> BaseProcess:
        own = number if self._several else None
        # A daemon, so that this process can exit while one does not: its pipe ends it.
        return processes.context().Process(
            target=_execute, args=(self._make, pipe, own), name=name, daemon=True
        )

    @property
    def room(self) -> int:
        """One executor for each processor."""
        return os.cpu_count() or 1

    def ready(self) -> list[str]:
        """The executors that can be given a job."""
        return [name for name, child in self._children.items() if child.idle]

    def run(self, name: str, job: rows.ClaimJobRow, lease: Lease) -> None:
        """Give a ready executor a job."""
        child = self._children[name]
        child.idle = False
        child.heard = Heard(time.monotonic(), about=child.heard.about)
        _send(child.pipe, "run", job, lease)

    def wait(self, timeout_s: float) -> list[Report]:
        """The jobs and executors that ended; waits until there is news, or `wake` is called."""
        by_pipe = {child.pipe: name for name, child in self._children.items()}
        by_end = {child.process.sentinel: name for name, child in self._children.items()}
        news = wait([self._wakes, *by_pipe, *by_end], timeout_s)
        reports: list[Report] = []
        for each in news:
            if each is self._wakes:
                self._wakes.recv_bytes()
            elif isinstance(each, Connection):
                self._receive(by_pipe[each], reports)
        # After the pipes: the last message of a child may be the end of its job.
        reports += [self._buried(by_end[each]) for each in news if each in by_end]
        return reports

    def _receive(self, name: str, reports: list[Report]) -> None:
        child = self._children[name]
        with suppress(EOFError, OSError):  # its sentinel tells that it died
            while child.pipe.poll():
                self._told(name, child, reports, *child.pipe.recv())
            return
        wait([child.process.sentinel], ALIVE_S)  # a closed pipe is ready all the time

    def _told(self, name: str, child: _Child, reports: list[Report], what: str, *told: Any) -> None:
        child.heard.at = time.monotonic()
        match what:
            case "ready":
                child.idle, child.heard.about = True, told[0]
            case "begun":
                child.heard.begun = True
            case "state":
                child.heard.state = told[0]
            case "ended":
                child.idle, child.heard.begun = True, False
                reports.append(Report(name, told[0], result=told[1]))

    def _buried(self, name: str) -> Report:
        child = self._children.pop(name)
        child.process.join()
        child.pipe.close()
        pid, code = child.process.pid, child.process.exitcode
        return Report(name, "died", f"process {pid} ended with code {code}", child.heard.begun)

    def heard(self, name: str) -> Heard:
        """The last message of an executor that was started and has not died."""
        return self._children[name].heard

    def cancel(self, name: str, lease: Lease, *, lost: bool) -> None:
        """Ask an executor to stop the job of a lease."""
        _send(self._children[name].pipe, "cancel", lease, lost)

    def kill(self, name: str) -> None:
        """End an executor for sure; `wait` reports that it died."""
        process = self._children[name].process
        log.warning("executor %s does not stop: killing process %s", name, process.pid)
        process.kill()

    def wake(self) -> None:
        """End `wait` at once; may be called from any thread."""
        with self._waking, suppress(OSError):
            self._waker.send_bytes(b"")

    def close(self) -> None:
        """End the child processes; each queues its job again."""
        children = list(self._children.values())
        for child in children:
            child.pipe.close()
        deadline = time.monotonic() + END_S
        for child in children:
            child.process.join(max(0.1, deadline - time.monotonic()))
            if child.process.is_alive():
                child.process.kill()
                child.process.join(5)
        self._children.clear()


def _send(pipe: Connection, *message: Any) -> None:
    with suppress(OSError):  # the other side is just dying; its end is noticed elsewhere
        pipe.send(message)


def _execute(make: Make, pipe: Connection, number: int | None) -> None:
    """Run an executor in this process, which was started for it; with a number, on its device."""
    executor = make()
    if number is not None:
        from ...editing.models import device_of_worker  # imports torch

        executor.settings.device = device_of_worker(executor.settings.device, number)
    serve(executor, pipe)


def serve(executor: Executor, pipe: Connection) -> None:
    """Run the jobs that arrive on a pipe, in this thread, until the pipe or the process shall end.

    In the main thread of a process SIGTERM and SIGINT stop it: the job under way is queued again.
    """
    todo: queue.SimpleQueue[tuple[rows.ClaimJobRow, Lease] | None] = queue.SimpleQueue()
    sending = threading.Lock()
    ended = threading.Event()
    sent: list[object] = [None]

    def send(*message: Any) -> None:
        with sending:
            _send(pipe, *message)

    def tell() -> None:
        state = executor.state()
        if state is not None:
            sent[0] = state
            send("state", state)

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                what, *told = pipe.recv()
                if what == "run":
                    todo.put((told[0], told[1]))
                else:
                    executor.interrupt(told[0], lost=told[1])
        stop()

    def stop(number: int = 0, frame: FrameType | None = None) -> None:
        executor.stop()  # a flag and nothing else: the main thread may hold any lock now
        todo.put(None)

    def tick() -> None:
        at = 0.0
        while not ended.wait(TICK_S):
            if executor.state() != sent[0] or time.monotonic() - at > ALIVE_S:
                at = time.monotonic()
                tell()
            asked = executor.asked_at
            grace_s = executor.settings.stop_grace_s
            # The dispatcher kills an executor that does not stop; here there may be none any more.
            if executor.stopping and asked is not None and time.monotonic() - asked > grace_s:
                log.error("the job has not stopped after %s s: exiting", grace_s)
                executor.release()
                logging.shutdown()
                os._exit(STUCK)

    if threading.current_thread() is threading.main_thread():
        for signaled in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signaled, stop)
    executor.on_stage = tell
    threads = [threading.Thread(target=each, daemon=True) for each in (listen, tick)]
    with executor.runtime:
        for thread in threads:
            thread.start()
        send("ready", this_process(executor.settings.device))
        while (given := todo.get()) is not None:  # one that shall stop queues it again
            send("begun")
            ended_as = executor.run(*given)
            sent[0] = None
            send("ended", *ended_as)
        ended.set()
