"""Several states of a comparison, paired with the first one over its requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports import comparison
from thinkeval.service.scoring import record
from thinkeval.service.states import kind

DB: Any = None


def _score(state: str, rewrite: int, ifr: float) -> Score:
    values = [
        MetricValue(metric="efficacy", measure="likelihood", value=0.2, n=1),
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=3),
        MetricValue(metric="ifr_by_steps", measure="likelihood", step=2, value=ifr, n=3),
    ]
    return Score(
        edit=f"{state}-{rewrite}", dataset="d", rewrite=f"r{rewrite}", subject=f"s{rewrite}",
        relation="r", prompt="{} r", target_true="o", target_new="n", model="m",
        method=f"compare:{state}", values=values, n_facts=1, provenance={"comparison": {}},
    )  # fmt: skip


def _tables(monkeypatch: pytest.MonkeyPatch, scores: list[Score], states: int) -> list[Any]:
    def own(_: object, found: list[Score]) -> dict[str, str]:
        return {score.edit: score.rewrite for score in found}

    monkeypatch.setattr(record, "scores", lambda _, edits: [s for s in scores if s.edit in edits])
    monkeypatch.setattr(comparison, "families", own)
    each = len(scores) // states
    out: Any = SimpleNamespace(
        states=[
            SimpleNamespace(
                requests=[SimpleNamespace(edit=s.edit) for s in scores[i * each : (i + 1) * each]]
            )
            for i in range(states)
        ]
    )
    return kind._paired(DB, out, "likelihood")


def test_each_later_state_is_paired_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though no state took, as a state that is compared need not install anything."""
    scores = [
        _score(state, i, 0.1 + i / 50 + gap)
        for state, gap in (("a", 0.0), ("b", 0.3), ("c", 0.0))
        for i in range(9)
    ]
    (table,) = _tables(monkeypatch, scores, 3)
    assert "Each method minus compare:a" in table.title
    rows = {row.first: row for row in table.rows if row.metric == "ifr"}
    assert set(rows) == {"compare:b", "compare:c"}
    assert rows["compare:b"].value == pytest.approx(0.3)
    assert rows["compare:b"].answer == "real"
    assert rows["compare:c"].answer == "no difference: equal on 9 rewrites"


def test_one_state_or_one_request_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _tables(monkeypatch, [_score("a", i, 0.1) for i in range(9)], 1) == []
    assert _tables(monkeypatch, [_score("a", 0, 0.1), _score("b", 0, 0.4)], 2) == []
