"""Output of the demo in a shell that does not find the program by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.service.cli.demo import not_on_path


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program of a virtual environment that is not on the path."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "activate").touch()
    (folder / "thinkeval").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return folder / "thinkeval"


def test_an_environment_that_is_not_activated_is_named(program: Path) -> None:
    assert not_on_path(program) == f". {program.parent / 'activate'}"


def test_nothing_is_said_where_the_shell_finds_it_or_there_is_no_environment(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_on_path(program.with_name("other") / "thinkeval") is None
    monkeypatch.setenv("PATH", str(program.parent))
    assert not_on_path(program) is None
