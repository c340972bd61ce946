"""Processes of the program: how they start, their logs, their garbage collector, their limits."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def set_up() -> None:
    """Begin to log."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)  # we tell of its errors ourselves
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)  # a line for each request says nothing


# Frequency of Python's garbage collector in the program and in its workers.

THRESHOLDS = (20_000, 20, 20)
"""Python's own are (700, 10, 10). Importing torch and transformers makes some million objects that
live as long as the process, and each run looks at them: a tenth of the processor time of a start
(4.8 against 4.3 s for importing transformers' GPT-2)."""


def collect_seldom() -> None:
    """Run the collector less often from now on, in this process; objects in cycles live longer."""
    gc.set_threshold(*THRESHOLDS)


# Processes that work with models: on Linux forked from one that has imported torch before.
#
# Importing torch and transformers takes four seconds of a processor; a forked process has them at
# once, and shares their memory. The process that forks imports and does nothing else, so that
# neither threads nor a GPU are forked. It is not used beside a GPU, nor on other systems.

PRELOADED = (
    "__main__",
    "thinkeval.service.worker",
    "thinkeval.editing.models",
    "transformers.modeling_layers",
    "transformers.generation",
)
"""Imports of the process that forks: modules that every worker or every model needs."""

_GPUS = ("/dev/nvidiactl", "/dev/kfd")
_starting = threading.Lock()


def context() -> ForkServerContext | SpawnContext:
    """Return the context that makes processes; the forking one is started by the first call."""
    if sys.platform != "linux" or any(Path(gpu).exists() for gpu in _GPUS):
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    with _starting:
        found.set_forkserver_preload(list(PRELOADED))
        before = os.environ.get("PYTHONSAFEPATH")
        # A folder named `thinkeval` in the working directory is not imported.
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            forkserver.ensure_running()
        finally:
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before
    return found


UNINTERRUPTED = ("torch", "transformers")
"""Packages whose import prints a traceback of its own at Ctrl-C, as their C++ calls Python."""


def interrupt_after_imports() -> None:
    """Let Ctrl-C wait while one of these packages is being imported; in the main thread only."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, frame: FrameType | None) -> None:
    if any(map(_is_being_imported, UNINTERRUPTED)):
        again = threading.Timer(0.1, _interrupt_main)
        again.daemon = True
        again.start()
        return
    signal.default_int_handler(number, frame)


def _interrupt_main() -> None:
    """Send Ctrl-C to the main thread, whose waiting ends by it; Windows can raise it here only."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _is_being_imported(package: str) -> bool:
    spec = getattr(sys.modules.get(package), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


# A call in a process of its own, which ends at a limit of time or memory.
#
# It is a new interpreter, which imports what the call needs and nothing else: neither the script of
# a notebook nor torch.


def apart(call: Callable[..., T], *args: Any, seconds: int, memory: int) -> T:
    """Call a function in another process, and return what it returns.

    Args:
        call: of a module; it is sent by its name, its arguments and result by their values.
        seconds: of a processor, where the system counts them; on a busy machine, or where it does
            not, twice as much of time.
        memory: bytes that the process may allocate, where the system counts them (Linux).

    Raises:
        TimeoutError, MemoryError: a limit was exceeded.
        ChildProcessError: the process ended without an answer.
        Exception: as the call.
    """
    program = f"from {__name__} import _answer; _answer()"
    sent = pickle.dumps((call, args, seconds, memory))
    command = [sys.executable, "-P", "-c", program]
    try:
        done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, timeout=2 * seconds)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"it took more than {2 * seconds} s") from error
    if done.returncode == -getattr(signal, "SIGXCPU", 0) != 0:
        raise TimeoutError(f"it took more than {seconds} s of a processor")
    if done.returncode == _OUT_OF_MEMORY:
        raise MemoryError(f"it took more than {memory:,} bytes of memory")
    if done.returncode != 0:
        raise ChildProcessError(f"the process ended with {done.returncode}")
    failed, value = pickle.loads(done.stdout)  # of our own process
    if failed:
        raise value
    return value


_OUT_OF_MEMORY = 79
"""Exit status of a process that may not allocate more."""


def _answer() -> None:
    """Run the call that the standard input names, and write its answer to the standard output."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: the caller reports it
        call, args, seconds, memory = pickle.load(sys.stdin.buffer)
        collect_seldom()
        _limit("RLIMIT_CPU", seconds)
        _limit("RLIMIT_DATA", memory)
        try:
            answer = pickle.dumps((False, call(*args)))
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)  # any other answer takes memory too
        except Exception as error:
            error.add_note(traceback.format_exc())
            answer = pickle.dumps((True, error))
        out.write(answer)


def _limit(name: str, most: int) -> None:
    """Set a limit of this process, where the system has it."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
