"""Stands for Python in a command line: has a process forked, passes signals on, ends as it does.

Called with the address of the process that forks, and what follows `python` in a command line.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.forking import Forks

OPTIONS = ("-u", "-B")
"""Given by pytest-xdist: unbuffered, which its own streams are, and no bytecode, which a variable
says too."""
PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Wait for the forked process; killing this one kills it too."""
    address, *arguments = sys.argv[1:]
    command = [argument for argument in arguments if argument not in OPTIONS]
    forked = Forks(address).start(command, os.environ, Path.cwd(), (0, 1, 2))
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: forked.send_signal(number))
    # The other ends of its streams are closed when the forked process ends, and not later.
    with open(os.devnull, "r+b", buffering=0) as nowhere:
        for stream in range(3):
            os.dup2(nowhere.fileno(), stream)
    code = forked.wait()
    if code < 0:
        if -code in PASSED_ON:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
