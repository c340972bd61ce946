"""Answers to the checks of a data set: the outcome in Cypher against brute force, and deletion."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pytest

from support.stored_edits import probed, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.errors import IncompleteWriteError
from thinkeval.cypher.run import Database
from thinkeval.service.scoring import checks, record

VERDICTS = (True, False, None)


def question(draw: random.Random, place: int) -> dict[str, Any]:
    """A question of one of three criteria; two of these have groups."""
    criterion = draw.choice(("multi_hop", "Compositionality_I", "locality/Forgetfulness"))
    item = f"question {place}" if criterion.startswith("loc") else f"case {draw.randint(1, 4)}"
    sides = [f"{name}_{side}" for name in ("right", "old") for side in ("pre", "post")]
    stated = draw.random() < 0.3
    return {
        "criterion": criterion, "item": item, "every": criterion.startswith("Comp"),
        "place": place, "prompt": f"q{place}?", "answers": draw.choice(([], ["a", "b"])),
        "met": draw.choices(VERDICTS, (6, 1, 1))[0],
        "text_pre": f"pre {place}", "text_post": f"post {place}",
        "stated_pre": draw.random() if stated else None,
        "stated_post": draw.random() if stated else None,
        "ratio_pre": None, "ratio_post": None,
    } | {name: draw.choice(VERDICTS) for name in sides}  # fmt: skip


def of_item(asked: Sequence[dict[str, Any]], name: str) -> float | None:
    """The verdict on an item: all questions, or one of them; None where they decide neither way."""
    verdicts = [q[name] for q in asked]
    wanted = not asked[0]["every"]  # the verdict that decides alone
    if wanted in verdicts:
        return float(wanted)
    return None if None in verdicts else float(not wanted)


def mean(values: Sequence[float | None]) -> tuple[Any, int]:
    """The mean of the values that are there, and their number."""
    found = [value for value in values if value is not None]
    return (pytest.approx(fmean(found)) if found else None), len(found)


@pytest.fixture
def edit(db: Database, graph_id: str) -> str:
    facts = [
        probed(("s", "r", "o"), 0.9, 0.1, "target_true"),
        probed(("s", "r", "n"), 0.1, 0.9, "target_new", listed=False),
    ]
    return store_edit(db, f"{graph_id}-edit", facts, dataset=graph_id).edit


def store(db: Database, owner: str, asked: Sequence[dict[str, Any]]) -> None:
    db.write(rows.WrittenRow, "checks/write", owner=owner, rows=asked)


@pytest.mark.parametrize("seed", range(8))
def test_the_outcome_of_checks_equals_brute_force(db: Database, edit: str, seed: int) -> None:
    draw = random.Random(seed)
    asked = [question(draw, place) for place in range(draw.choice((1, 12, 60)))]
    store(db, edit, asked)
    store(db, edit, asked)  # replaces itself
    by_item: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in asked:
        by_item[each["criterion"]][each["item"]].append(each)
    found = {row.criterion: row for row in checks.measured(db, edit)}
    assert found.keys() == by_item.keys()
    for criterion, items in by_item.items():
        row = found[criterion]
        counted = [qs for qs in items.values() if all(q["met"] is True for q in qs)]
        assert (row.items, row.left_out) == (len(counted), len(items) - len(counted))
        assert (row.right_pre, row.n_pre) == mean([of_item(qs, "right_pre") for qs in counted])
        assert (row.right, row.n) == mean([of_item(qs, "right_post") for qs in counted])
        assert (row.old_pre, row.n_old_pre) == mean([of_item(qs, "old_pre") for qs in counted])
        assert (row.old, row.n_old) == mean([of_item(qs, "old_post") for qs in counted])
        every = [q for qs in counted for q in qs]
        assert row.stated_pre == mean([q["stated_pre"] for q in every])[0]
        assert (row.stated, row.n_stated) == mean([q["stated_post"] for q in every])
        shown = {(a.prompt, a.accepted, a.before, a.after) for a in row.answers}
        assert len(shown) == min(3, len(every))
        assert shown <= {
            (q["prompt"], next(iter(q["answers"]), None), q["text_pre"], q["text_post"])
            for q in every
        }


def test_they_are_deleted_with_the_edit_and_never_written_without_one(
    db: Database, edit: str
) -> None:
    asked = [question(random.Random(0), 0)]
    store(db, edit, asked)
    record.delete(db, edit)
    assert checks.measured(db, edit) == []
    with pytest.raises(IncompleteWriteError):
        store(db, edit, asked)
