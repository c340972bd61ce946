"""Processes of the program: how they start, their logs, and their garbage collector."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from types import FrameType


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
