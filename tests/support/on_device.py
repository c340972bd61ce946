"""Run commands of the program in one process whose models live on an emulated accelerator.

    python -m support.on_device KIND DEVICES COMMANDS.json

COMMANDS.json holds {name: list of arguments}; {name: output} is printed as one line of JSON. The
kind `cpu` runs the same commands on the CPU.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import time
import traceback
from pathlib import Path

from support import emulated  # before the first backward pass


def run(arguments: list[str]) -> str:
    """Run one command in this process; return its standard output.

    Raises:
        RuntimeError: it ended with another exit code than 0.
    """
    from thinkeval.service.cli.main import app

    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        try:
            app(arguments, standalone_mode=False)
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{arguments} ended with {ended.code}") from ended
    return written.getvalue()


def main() -> None:
    kind, devices, path = sys.argv[1:]
    found: dict[str, dict[str, object]] = {}
    with contextlib.ExitStack() as stack:
        if kind != "cpu":
            root = str(Path(__file__).resolve().parents[2])
            stack.enter_context(emulated.emulated(kind, int(devices), code=root))  # type: ignore[arg-type]
            from thinkeval.editing import linear_algebra, models

            if kind == "mps":
                linear_algebra.WITHOUT_FLOAT64 = frozenset({emulated.NAME})
            models.placement = lambda device: {}  # type: ignore[assignment]
            os.environ["THINKEVAL_DEVICE"] = f"{emulated.NAME}:0"
        for name, arguments in json.loads(Path(path).read_text("utf-8")).items():
            begun = time.process_time()
            try:
                found[name] = {"output": run([_filled(each, found) for each in arguments])}
            except BaseException as error:
                found[name] = {"error": f"{error}\n{traceback.format_exc()[-3000:]}"}
            found[name]["seconds"] = round(time.process_time() - begun, 1)
            sys.stderr.write(f"{name} {found[name]}"[:200] + "\n")
    sys.stdout.write(json.dumps(found) + "\n")


def _filled(argument: str, found: dict[str, dict[str, object]]) -> str:
    """Replace `{NAME/METHOD}` by the id of that method's edit in the output of a command."""
    parts = re.split(r"\{(\w+)/(\w+)\}", argument)
    if len(parts) == 1:
        return argument
    before, name, method, after = parts
    scores = json.loads(str(found[name]["output"]))
    return before + next(x["edit"] for x in scores if x["method"] == method) + after


if __name__ == "__main__":
    main()
