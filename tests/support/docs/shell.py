"""A shell for the blocks of one page, in which `thinkeval` runs inside the tests' process.

Whatever stands around it (pipes, variables, redirections, `&&`) is bash's; the program itself does
not start anew for each command, which would read torch again. Variables, folders and functions are
kept from command to command, as in a terminal.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.commands import Cli, Done

PRELUDE = r"""
set -o pipefail
thinkeval() {
  local call code
  call=$(mktemp -d "$PAGE_CALLS/XXXXXX") && mkfifo "$call/code"
  if (($#)); then printf '%s\0' "$@" >"$call/args"; else : >"$call/args"; fi
  env -0 >"$call/env"
  pwd >"$call/cwd"
  echo "$call" >"$PAGE_CALLS/asked"
  read -r code <"$call/code"
  cat "$call/out"
  cat "$call/err" >&2
  return "$code"
}
curl() { command curl -sS --fail-with-body "$@"; }
export -f thinkeval curl
"""

Inside = Callable[[Cli, list[str], dict[str, str]], Done]


class PageShell:
    """One bash.

    Args:
        folder: where its commands run.
        calls: a folder of its own for what passes between bash and this process.
        inside: runs `thinkeval` with arguments, and the variables the shell has set.
    """

    def __init__(self, folder: Path, calls: Path, env: Mapping[str, str], inside: Inside) -> None:
        self._calls, self._inside = calls, inside
        self._base = os.environ | dict(env) | {"PAGE_CALLS": str(calls)}
        self._base["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self._base['PATH']}"
        os.mkfifo(calls / "asked")
        # Open for writing too, so that it never ends while nobody writes.
        self._asked = os.open(calls / "asked", os.O_RDWR)
        self._env = dict(env)
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._base,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._write(PRELUDE)

    def _write(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(text)
        self._bash.stdin.flush()

    def run(self, command: str, timeout_s: float = 300) -> Done:
        """A command, and its output; code 124 if it did not end in time, or ended bash."""
        out, err = self._calls / "stdout", self._calls / "stderr"
        self._write(
            f"{{\n{command}\n}} </dev/null >'{out}' 2>'{err}'\n"
            f"echo \"ended $?\" >'{self._calls / 'asked'}'\n"
        )
        deadline = time.monotonic() + timeout_s
        for asked in self._lines(deadline):
            if asked.startswith("ended "):
                return Done(int(asked.split()[1]), _text(out), _text(err))
            self._answer(Path(asked))
        return Done(124, _text(out), _text(err))

    def _lines(self, deadline: float) -> Iterator[str]:
        """Yield the requests of bash, until it has ended or the time is over."""
        rest = b""
        while time.monotonic() < deadline and self._bash.poll() is None:
            if not select.select([self._asked], [], [], 0.5)[0]:
                continue
            rest += os.read(self._asked, 4096)
            *lines, rest = rest.split(b"\n")
            yield from (line.decode() for line in lines)

    def _answer(self, call: Path) -> None:
        args = [each.decode() for each in (call / "args").read_bytes().split(b"\0")[:-1]]
        pairs = (call / "env").read_bytes().decode(errors="replace").split("\0")
        env = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        set_here = {
            key: value
            for key, value in env.items()
            if self._base.get(key) != value and not key.startswith(("_", "BASH_FUNC", "SHLVL"))
        }
        cwd = Path((call / "cwd").read_text(encoding="utf-8").rstrip("\n"))
        done = self._inside(Cli(self._env, cwd), args, set_here)
        (call / "out").write_text(done.out, encoding="utf-8", newline="")
        (call / "err").write_text(done.err, encoding="utf-8", newline="")
        (call / "code").write_text(f"{done.code}\n", encoding="utf-8")

    def close(self) -> None:
        """End bash, and its processes in the background."""
        self._bash.kill()
        self._bash.wait()
        if self._bash.stdin:
            self._bash.stdin.close()
        os.close(self._asked)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def page_shell(
    folder: Path, calls: Path, env: Mapping[str, str], inside: Inside
) -> Iterator[PageShell]:
    """The shell of a page, for the time of a block."""
    shell = PageShell(folder, calls, env, inside)
    try:
        yield shell
    finally:
        shell.close()
