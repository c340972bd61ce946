"""`benchmarks/service/frozen.py compare` tells apart equal, intended and unintended outputs."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "service"
SHORT = {"covariance": "collect", "crawl": "run"}
"""Commands that are short for one of their own commands."""
Compared = Callable[..., tuple[int, list[str]]]
SCORE = {
    "argv": ["score"],
    "exit": 0,
    "output": [{"edit": "a", "ifr": 0.1}, {"edit": "b", "ifr": 0.25, "n": 3}],
}


@pytest.fixture
def compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Compared:
    """Exit code and lines of a comparison of SCORE with another output of the step."""
    monkeypatch.syspath_prepend(str(FOLDER))
    frozen = importlib.import_module("frozen")

    def compare(new: Any, globs: str = "") -> tuple[int, list[str]]:
        for name, step in (("old", SCORE), ("new", new)):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "score.json").write_text(json.dumps(step), encoding="utf-8")
        intended = tmp_path / "intended"
        intended.write_text(globs, encoding="utf-8")
        code = frozen.compare(tmp_path / "old", tmp_path / "new", intended)
        return code, capsys.readouterr().out.splitlines()

    return compare


def changed(**values: Any) -> dict[str, Any]:
    first, second = SCORE["output"]
    return SCORE | {"output": [first, second | values]}


def test_last_digits_and_spelling_of_the_command_are_no_difference(compared: Compared) -> None:
    assert compared(changed(ifr=0.25 * (1 + 5e-10)) | {"argv": ["edit"]}) == (0, [])


@pytest.mark.parametrize(
    ("new", "line"),
    [
        (changed(ifr=0.25 * (1 + 2e-9)), "score: output.b.ifr: 0.25 → 0.2500000005"),
        (changed(n=True), "score: output.b.n: 3 → true"),
        (changed(low=None), "score: output.b.low: (absent) → null"),
        (SCORE | {"output": SCORE["output"][1:]},
         'score: output.a: {"edit": "a", "ifr": 0.1} → (absent)'),
        (SCORE | {"output": SCORE["output"][::-1]},
         'score: output.order: ["a", "b"] → ["b", "a"]'),
        (SCORE | {"exit": 2}, "score: exit: 0 → 2"),
    ],
)  # fmt: skip
def test_a_difference_is_printed_and_fails(compared: Compared, new: Any, line: str) -> None:
    assert compared(new) == (1, [line])


def test_only_intended_differences_pass(compared: Compared) -> None:
    both = changed(ifr=0.5, n=4)
    assert compared(both, "# counts\nscore:output.*.n  # a row more\n") == (
        1, ["score: output.b.ifr: 0.25 → 0.5", "intended score: output.b.n: 3 → 4"],
    )  # fmt: skip
    assert compared(both, "score:output.*\n")[0] == 0


def test_times_addresses_and_folders_are_marked_and_ids_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    frozen = importlib.import_module("frozen")
    found = {
        "edit": "rome-harry-potter-b791e5f997",
        "created_at": "2026-11-26T16:00:53+00:00",
        "seconds": {"probe": 1.25, "unit": "seconds"},
        "columns": {"seconds": "time of 2 probes together"},
        "source": "/home/a/b/hogwarts.yaml",
        "link": "http://127.0.0.1:40667/v1/edits/a",
    }
    assert frozen.marked(found) == found | {
        "created_at": frozen.MARK,
        "seconds": {"probe": frozen.MARK, "unit": "seconds"},
        "source": "‹path›/hogwarts.yaml",
        "link": f"{frozen.MARK}/v1/edits/a",
    }


def test_every_step_names_a_command_and_a_route_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    frozen = importlib.import_module("frozen")
    surface = json.loads(
        (FOLDER.parents[1] / "tests" / "unit" / "public_surface.json").read_text("utf-8")
    )
    lines = [line for lines in surface.values() for line in lines if isinstance(line, str)]
    commands = {line.partition(" --")[0] for line in lines if line.startswith("thinkeval ")}
    routes = {line for line in lines if re.match("(GET|POST) /", line)}
    patterns = [re.compile(re.sub(r"\\{\w+\\}", ".+", re.escape(line))) for line in routes]
    names = [name for name, _ in frozen.steps()]
    assert len(set(names)) == len(names)
    for name, argv in frozen.steps():
        if argv[0] in ("GET", "POST"):
            if name == "rest-catalogue-unknown" or argv[1] == "/openapi.json":
                continue
            asked = f"{argv[0]} {argv[1].partition('?')[0]}"
            assert any(pattern.fullmatch(asked) for pattern in patterns), (name, asked)
        else:
            known = {f"thinkeval {' '.join(argv[:n])}" for n in (1, 2, 3)}
            # `covariance` is short for `covariance collect`, `crawl` for `crawl run`.
            known |= {f"thinkeval {' '.join(argv[:2])} {word}" for word in ("collect", "run")}
            assert known & commands, (name, argv)
        for step in re.findall(r"<([\w-]+):", " ".join(argv)):
            assert names.index(step) < names.index(name), (name, step)
