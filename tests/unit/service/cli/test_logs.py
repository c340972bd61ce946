"""`-v`, `-q` and `--log-file`: what commands say on standard error."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinkeval.service.cli import main, output


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    output.set_up_logs()


def work(folder: Path) -> None:
    """A command's work: a notice, a stage, a line, a file, and a log of another room."""
    with output.ProgressBars(lines=True) as progress:
        progress.note("a notice")
        progress(0, 2, "editing: loss 0.3")
        progress.line("1 of 2: rome")
        logging.getLogger("thinkeval.worker").debug("a detail")
    output.write_bytes(folder / "out.csv", b"1")


SAID = ["a notice", "1 of 2: rome", "Wrote "]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, SAID),
        ({"quiet": True}, []),
        ({"verbose": True}, [SAID[0], "thinkeval.cli: editing", SAID[1], "a detail", SAID[2]]),
    ],
)
def test_standard_error_has_notices_with_v_also_stages_and_with_q_nothing(
    options: dict[str, bool], wanted: list[str], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output.set_up_logs(**options)
    work(tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(wanted)
    assert all(part in line for part, line in zip(wanted, lines, strict=True))


def test_a_log_file_has_all_of_it_with_times_also_where_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.log"
    output.set_up_logs(quiet=True, file=file)
    work(tmp_path)
    assert capsys.readouterr().err == ""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all(
        re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (INFO|DEBUG) thinkeval", x) for x in lines
    )
    assert [x.partition(": ")[2] for x in lines] == [
        "a notice", "editing: loss 0.3 (0 of 2)", "1 of 2: rome", "a detail",
        f"Wrote {tmp_path / 'out.csv'}",
    ]  # fmt: skip


def test_an_error_is_printed_once_also_with_q_and_is_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.log"
    for options in (["-q"], ["-v"], []):
        with pytest.raises(SystemExit) as ended:
            main.main([*options, "--log-file", str(file), "model", "methods", "rmoe"])
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ")
        assert file.read_text(encoding="utf-8").splitlines()[-1].endswith(line)


def test_logs_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, part in (
        (["-v", "-q"], "exclude each other"),
        (["--log-file", str(tmp_path / "no" / "run.log")], "cannot be written"),
    ):
        with pytest.raises(SystemExit) as ended:
            main.main([*words, "model", "methods"])
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert part in line
