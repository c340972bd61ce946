"""Who works on an edit: a process of some machine, told from others by its start time.

A process id comes back after a while, together with its start time it does not. So whether the
owner of an edit still lives can be seen on its own machine without asking it; of other machines
only its beats tell.
"""

from __future__ import annotations

import os
import socket
from functools import cache


@cache
def this_process() -> str:
    """The name of this process: `host/pid/start`."""
    return name_of(os.getpid())


def name_of(pid: int) -> str:
    """The name of a process of this machine that is alive."""
    import psutil

    return f"{socket.gethostname()}/{pid}/{psutil.Process(pid).create_time():.2f}"


def is_gone(owner: str) -> bool | None:
    """Whether that process has ended; None where it is of another machine."""
    import psutil

    host, _, rest = owner.partition("/")
    if host != socket.gethostname():
        return None
    try:
        process = psutil.Process(int(rest.partition("/")[0]))
        ended = process.status() == psutil.STATUS_ZOMBIE
        return ended or f"{process.create_time():.2f}" != rest.partition("/")[2]
    except (psutil.Error, ValueError):
        return True
