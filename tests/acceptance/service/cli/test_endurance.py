"""A long sequence that is killed goes on to the numbers of an undisturbed one; an alarm ends it."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from support.commands import Cli, Mine


def arguments(mine: Mine, batch: int) -> tuple[str, ...]:
    return (
        "lab", "endurance", "harry-potter--was-sorted", "-g", mine.graph, "--model", mine.model,
        "--edits", "60", "--batch", f"{batch}", "--every", "20", "--save-every", f"{2 * batch}",
        "--sample", "8", "--max-steps", "2",
    )  # fmt: skip


def test_a_killed_sequence_goes_on_to_the_same_numbers(
    thinkeval: Cli, mine: Mine, environment: dict[str, str]
) -> None:
    args = (*arguments(mine, 2), "--json")
    stored = Path(environment["THINKEVAL_HOME"]) / "endurance"
    others = set(stored.glob("*.safetensors"))
    whole = thinkeval.process(*args).json
    (mine_only,) = set(stored.glob("*.safetensors")) - others
    assert [point["edits"] for point in whole["points"]] == [2, 20, 40, 60]
    seconds = random.Random().uniform(0, 2)
    with thinkeval.start(*args, "--force") as process:
        try:
            deadline = time.monotonic() + 300
            while mine_only.exists() and process.poll() is None:
                time.sleep(0.01)  # the first run's file is removed when the second begins
            while not mine_only.exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=120)
        finally:
            process.kill()
    again = thinkeval.process(*args).json
    assert again["resumed"] >= 2, f"killed {seconds:.2f} s after the first write"
    assert again["points"] == whole["points"], f"killed {seconds:.2f} s after the first write"


def test_an_alarm_ends_it_with_exit_code_1(thinkeval: Cli, mine: Mine, tmp_path: Path) -> None:
    figure, table = tmp_path / "curve.svg", tmp_path / "curve.csv"
    args = (*arguments(mine, 4), "--gate", "kept>=1.01", "--figure", f"{figure}")
    done = thinkeval(*args, "-f", "csv", "-o", f"{table}", code=1)
    assert "alarm: after 4 edits kept " in done.err
    assert "< 1.01" in done.err
    header, row = table.read_text(encoding="utf-8").splitlines()
    assert header.startswith("edits,efficacy,n efficacy")
    assert row.startswith("4,")
    assert "<svg" in figure.read_text(encoding="utf-8")
    printed = thinkeval(*args, code=1)
    assert "4 edits, 4 at a time, of" in printed.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--gate", "kl<=.1"), "is no limit on a metric"),
        (("--every", "7"), "multiples of --batch"),
        (("--figure", "curve.txt"), "has no format of figures"),
        (("-f", "docx"), "docx"),
    ],
)
def test_bad_options_are_one_line(
    thinkeval: Cli, mine: Mine, more: tuple[str, ...], message: str
) -> None:
    assert message in thinkeval(*arguments(mine, 2), *more, code=2).error
