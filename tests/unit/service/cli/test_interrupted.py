"""A Ctrl-C that a library turns into an error of its own ends a command as a Ctrl-C does."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from thinkeval.service.base.errors import UsageError, is_interrupt
from thinkeval.service.cli import main


def half_imported() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise ImportError("interrupted in the middle") from error


def refused_meanwhile() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        raise UsageError("No.", remedy="Another.")


def defect() -> None:
    raise ImportError("a defect")


@pytest.mark.parametrize("run", [half_imported, refused_meanwhile])
def test_an_error_of_an_interrupt_is_one(
    run: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "_command", lambda: lambda **_: run())
    with pytest.raises(SystemExit) as ended:
        main.main([])
    assert ended.value.code == 130
    assert capsys.readouterr().err.startswith("Interrupted: the model is as it was")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "delta.safetensors"),
        RuntimeError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_an_error_with_a_remedy(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        raise error

    monkeypatch.setattr(main, "_command", lambda: lambda **_: run())
    with pytest.raises(SystemExit) as ended:
        main.main([])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "No space left on device" in line
    assert "THINKEVAL_HOME" in line
    assert "run it again" in line


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_command", lambda: lambda **_: defect())
    with pytest.raises(ImportError, match="a defect"):
        main.main([])


def test_a_chain_of_errors_that_closes_is_followed_once() -> None:
    one, other = ValueError(), ValueError()
    one.__context__, other.__context__ = other, one
    assert not is_interrupt(one)
    other.__cause__ = KeyboardInterrupt()
    assert is_interrupt(one)


PACKAGE = """
import sys, time, traceback
print("begun", flush=True)
try:
    time.sleep(1.5)
except BaseException:  # as C++ does that calls Python
    traceback.print_exc()
    raise
print("whole", flush=True)
"""


def test_ctrl_c_waits_for_the_import_of_torch(tmp_path: Path) -> None:
    """It printed a traceback of torch's own beside the line."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(PACKAGE)
    program = (
        "import sys, time; sys.path.insert(0, sys.argv.pop())\n"
        "from thinkeval.service.cli import main\n"
        "def run(**_):\n"
        "    import torch\n"
        "    time.sleep(20)\n"
        "main._command = lambda: run\n"
        "main.main([])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=15)
    assert (process.returncode, out) == (130, "whole\n")
    assert err.startswith("Interrupted: ")
    assert err.count("\n") == 1
