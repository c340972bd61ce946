"""A Ctrl-C that a library turns into an error of its own ends a command as a Ctrl-C does."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

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
