"""Questions of a data set in comparisons: the outcome of a score, one table, a stored result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.scored_walk import Walk, walked
from thinkeval.cypher.rows.checks import CheckCounts
from thinkeval.loaders.records import Check
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import ComparisonIn, ComparisonOut
from thinkeval.service.states.spec import StateIn

CLOZE = "Harry Potter studied at"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 17) as walk:
        yield walk


@pytest.fixture(scope="module")
def edit(walk: Walk) -> Score:
    old, new = walk.rewrite.target_true, walk.rewrite.target_new
    asked = (
        Check("rewrite", CLOZE, (new,), old_answers=(old,)),
        Check("locality/x", "Ron Weasley studied at", (old,), old_answers=(old,)),
        Check("unmet", "Dobby is", (new,), conditions=(Check("c", CLOZE, ("nowhere",)),)),
        Check("truth_ratio", CLOZE, (old,), wrong=(new,)),
    )
    rewrite = replace(walk.rewrite, checks=asked)
    return walk.score("rome", rewrite=rewrite, samples=0, side_effects=False)


def posted(walk: Walk, *after: str) -> ComparisonIn:
    base = walk.model.source
    return ComparisonIn(
        base=StateIn(model=base), states=[f"{base}{each}" for each in after], graph=walk.graph,
        samples=0, rewrites=[walk.rewrite.id],
    )  # fmt: skip


@pytest.fixture(scope="module")
def compared(walk: Walk, edit: Score) -> ComparisonOut:
    return compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", ""))


def outcome(walk: Walk, compared: ComparisonOut, place: int) -> dict[str, CheckCounts]:
    (request,) = compared.states[place].requests
    return {row.criterion: row for row in record.get_score(walk.runtime.db, request.edit).checks}


def test_an_edit_as_a_state_answers_as_its_score_says(
    walk: Walk, edit: Score, compared: ComparisonOut
) -> None:
    found = outcome(walk, compared, 0)
    assert found == {row.criterion: row for row in edit.checks}
    assert any(a.before != a.after for row in found.values() for a in row.answers)
    assert (found["unmet"].items, found["unmet"].left_out) == (0, 1)


def test_the_base_as_a_state_answers_the_same(walk: Walk, compared: ComparisonOut) -> None:
    for row in outcome(walk, compared, 1).values():
        assert (row.right, row.old) == (row.right_pre, row.old_pre)


def test_the_tables_have_a_column_a_state_and_the_forget_quality(
    walk: Walk, compared: ComparisonOut
) -> None:
    further = {each.name: each for each in COMPARISON.further(walk.runtime.db, compared, None)}
    checks, quality = further["checks"], further["truth-ratio"]
    headers = [column.header for column in checks.columns]
    assert headers[:2] == ["criterion", "before"]
    assert len(headers) == 6
    assert not any(header.startswith("compare:") for header in headers)
    changed, same = quality.rows
    assert (same.distance, same.forget_quality) == (0.0, 1.0)
    assert (changed.distance, changed.n) == (1.0, 1)
    assert changed.ratio > changed.ratio_pre


def test_another_comparison_finds_the_stored_one(walk: Walk, edit: Score) -> None:
    again = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", ""))
    assert again.reused
