"""Answers in forms: accuracy and outcome in Cypher against brute force, and their deletion."""

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
from thinkeval.cypher.rows.forms import FormCounts
from thinkeval.cypher.run import Database
from thinkeval.service.scoring import battery, record

FORMS = ("cloze/0-shot", "generated/chat", "negated/0-shot", "question/3-shot")
ENDS = ("pre", "post")
SIDES = ("p", "p_old", "margin", "right", "further")


def unit(draw: random.Random, place: int) -> dict[str, Any]:
    """A unit with zeros, ties and undefined numbers."""

    def number(name: str) -> float | None:
        if name == "margin":
            return draw.choice((None, -2.0, 0.5, 3.0)) if draw.random() < 0.2 else draw.random()
        if name in ("p_old", "further") and draw.random() < 0.1:
            return None
        if name == "right":
            return None if is_written and draw.random() < 0.3 else float(draw.randint(0, 1))
        return draw.choice((0.0, 0.2, 0.7))

    form = draw.choice(FORMS)
    is_written = form.startswith("generated")
    ends = {
        f"{name}_{side}": value if is_written else None
        for side in ENDS
        for name, value in (("text", f"{side} {place}"), ("length", draw.randint(1, 64)))
    }
    return {
        "form": form, "protocol": f"{form}/likelihood/v1", "fact": f"f{place // 3}",
        "subject": "s", "relation": "r", "object": "o",
        "role": ("edited", "subject", "chain")[place // 3 % 3], "place": place,
        "known": draw.random() < 0.8, "given": draw.choice((None, 3)),
        "chance": draw.choice((0.25, 0.5)),
    } | {f"{name}_{side}": number(name) for name in SIDES for side in ENDS} | ends  # fmt: skip


def mean(units: Sequence[dict[str, Any]], name: str, *, whole: bool = False) -> float | None:
    """The mean of the values that are there; with `whole` None where one is missing."""
    values = [u[name] for u in units if u[name] is not None]
    if not values or (whole and len(values) < len(units)):
        return None
    return fmean(values)


def by_form(units: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in units:
        found[each["form"]].append(each)
    return found


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value)


def store(db: Database, owner: str, units: Sequence[dict[str, Any]]) -> None:
    db.atomically(lambda tx: battery.write(tx, owner, units))


@pytest.fixture
def edit(db: Database, graph_id: str) -> str:
    facts = [
        probed(("s", "r", "o"), 0.9, 0.1, "target_true"),
        probed(("s", "r", "n"), 0.1, 0.9, "target_new", listed=False),
    ]
    return store_edit(db, f"{graph_id}-edit", facts, dataset=graph_id).edit


@pytest.mark.parametrize("seed", range(6))
def test_accuracy_equals_brute_force(
    db: Database, edit: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    units = [unit(draw, place) for place in range(draw.choice((1, 7, 60)))]
    monkeypatch.setattr(battery, "BATCH", 25)
    store(db, edit, units)
    store(db, edit, units)  # replaces itself
    found = {row.form: row for row in db.read(rows.FormAccuracyRow, "forms/accuracy", owner=edit)}
    assert found.keys() == by_form(units).keys()
    for form, asked in by_form(units).items():
        known = [u for u in asked if u["known"]]
        row = found[form]
        assert (row.asked, row.n, row.protocol) == (len(asked), len(known), asked[0]["protocol"])
        assert row.accuracy == near(mean(known, "right_pre"))
        assert row.chance == near(mean(known, "chance"))
        assert row.p == near(mean(known, "p_pre"))
        assert row.margin == near(mean(known, "margin_pre", whole=True))
        assert row.further == near(mean(known, "further_pre", whole=True))
        assert row.likely == sum(u["p_pre"] >= 0.2 for u in known)
        assert row.undecided == sum(u["right_pre"] is None for u in known)
        assert row.length == near(mean(known, "length_pre"))


@pytest.mark.parametrize("seed", range(6))
def test_the_outcome_of_an_edit_equals_brute_force(db: Database, edit: str, seed: int) -> None:
    draw = random.Random(seed)
    units = [unit(draw, place) for place in range(draw.choice((2, 9, 60)))]
    store(db, edit, units)
    found = {row.form: row for row in db.read(FormCounts, "forms/outcome", owner=edit)}
    assert found.keys() == by_form(units).keys()
    for form, asked in by_form(units).items():
        own = [u for u in asked if u["role"] == "edited"]
        known = [u for u in own if u["known"]]
        others = [u for u in asked if u["role"] != "edited" and u["known"]]
        row = found[form]
        assert (row.n, row.excluded) == (len(known), len(own) - len(known))
        assert row.facts == len({u["fact"] for u in others})
        for side, end in (("pre", "_pre"), ("post", "")):
            assert getattr(row, f"p_new{end}") == near(mean(known, f"p_{side}"))
            assert getattr(row, f"p_old{end}") == near(mean(known, f"p_old_{side}"))
            assert getattr(row, f"wins{end}") == near(mean(known, f"right_{side}"))
            for name in ("margin", "further"):
                expected = mean(known, f"{name}_{side}", whole=True)
                assert getattr(row, f"{name}{end}") == near(expected)
            assert getattr(row, f"right{end}") == near(mean(others, f"right_{side}"))
            assert getattr(row, f"p{end}") == near(mean(others, f"p_{side}"))
            missing = sum(u[f"right_{side}"] is None for u in others)
            assert getattr(row, f"undecided{end}") == missing
        order = sorted(
            [*known, *others], key=lambda u: (u["role"] != "edited", u["fact"], u["place"])
        )
        assert [(a.subject, a.before, a.after) for a in row.answers] == [
            ("s", u["text_pre"], u["text_post"]) for u in order if u["text_post"]
        ][:3]


def test_answers_of_no_owner_are_refused_and_those_of_an_edit_go_with_it(
    db: Database, edit: str
) -> None:
    units = [unit(random.Random(1), place) for place in range(4)]
    with pytest.raises(IncompleteWriteError):
        store(db, f"{edit}-none", units)
    store(db, edit, units)
    assert db.read(rows.FormAccuracyRow, "forms/accuracy", owner=edit)
    record.delete(db, edit)
    assert not db.read(rows.FormAccuracyRow, "forms/accuracy", owner=edit)
