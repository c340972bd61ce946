"""Forms of asking over the edits of several methods: means, intervals, protocols, the table."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from thinkeval.service.base.statistics import wilson
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.models.forms import FormAccuracy, FormOut
from thinkeval.service.reports.comparison import common, one_protocol
from thinkeval.service.reports.formats import render
from thinkeval.service.reports.forms import (
    by_method,
    methods_table,
    paired_forms,
    paired_table,
)
from thinkeval.service.reports.table import scores_frame

FORM = "question/3-shot"
PROTOCOL = f"{FORM}:02abde/likelihood/v1"
PROBE = {
    "samples": 5, "ask": "cloze", "measures": ["likelihood"], "max_new_tokens": 16,
    "temperature": 1.0, "seed": 0, "paraphrases": False, "chat": "never", "batch_tokens": None,
}  # fmt: skip


def _form(wins: float | None, protocol: str = PROTOCOL, **changes: Any) -> FormOut:
    unedited = FormAccuracy(
        form=FORM, protocol=protocol, n=60, excluded=0, accuracy=0.9, low=0.8, high=0.95,
        chance=0.25, p=0.6, margin=1.0, measurable=True, by_probability=True,
    )  # fmt: skip
    names = FormOut.model_fields.keys() - {"answers", "undecided", "undecided_pre", "further_is"}
    fields = dict.fromkeys(names) | {
        "form": FORM, "protocol": protocol, "n": 1, "excluded": 0, "facts": 4, "wins_pre": 0.0,
        "wins": wins, "margin": 2.0, "p_new": 0.5, "right": 0.5, "unedited": unedited,
    }  # fmt: skip
    return FormOut.model_validate(fields | changes)


def _score(method: str, rewrite: str, forms: list[FormOut], **probe: Any) -> Score:
    return Score(
        edit=f"{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s", relation="r",
        prompt="{} r", target_true="o", target_new="n", model="m", method=method,
        values=[MetricValue(metric="ifr", measure="likelihood", value=0.5, n=1)], n_facts=1,
        forms=forms, provenance={"probe": PROBE | probe},
    )  # fmt: skip


WINS = {"a": (1.0, 0.0), "b": (1.0,), "c": (1.0, 1.0, 0.0)}
"""Outcomes of rewrites by their family."""
EDITS = [
    (_score("rome", f"{family}{i}", [_form(value)]), family)
    for family, values in WINS.items()
    for i, value in enumerate(values)
]
FAMILIES = {score.edit: family for score, family in EDITS}


def test_the_mean_has_the_cluster_t_interval_over_families() -> None:
    (row,), refused = by_method([score for score, _ in EDITS], FAMILIES)
    assert refused == []
    values = [value for each in WINS.values() for value in each]
    mean = sum(values) / len(values)
    error = sum((sum(v) - mean * len(v)) ** 2 for v in WINS.values()) * 3 / 2
    half = stats.t.ppf(0.975, 2) * math.sqrt(error) / len(values)
    assert row.wins == pytest.approx(mean)
    assert (row.low, row.high) == pytest.approx((max(0, mean - half), min(1, mean + half)))
    assert (row.rewrites, row.families, row.asked, row.facts) == (6, 3, 6, 24)
    assert (row.margin, row.p_new, row.right, row.reason) == (2.0, 0.5, 0.5, None)


def test_equal_outcomes_have_the_interval_of_so_many_families() -> None:
    edits = [_score("rome", f"r{i}", [_form(1.0)]) for i in range(4)]
    (row,), _ = by_method(edits, {})
    assert (row.low, row.high) == wilson(1.0, 4)
    (row,), _ = by_method(edits[:1], {})
    assert (row.low, row.high) == (None, None), "one family has no interval"


def test_a_form_without_efficacy_says_why_and_has_no_mean() -> None:
    edits = [_score("rome", "r1", [_form(None, margin=None, p_new=None, reason="too few")])]
    (row,), _ = by_method(edits, {})
    assert (row.rewrites, row.asked, row.wins, row.margin, row.reason) == (
        0,
        1,
        None,
        None,
        "too few",
    )
    table = methods_table([row])
    assert table is not None
    assert "| question/3-shot | – | – | 0 of 1 |" in render(table, "markdown")


def test_an_undefined_margin_is_not_left_out_of_its_mean() -> None:
    edits = [_score("rome", "r1", [_form(1.0)]), _score("rome", "r2", [_form(1.0, margin=None)])]
    (row,), _ = by_method(edits, {})
    assert (row.wins, row.margin) == (1.0, None)


def test_figures_of_another_protocol_are_left_out_by_name() -> None:
    other = f"{FORM}:beef00/likelihood/v1"
    edits = [_score("rome", f"r{i}", [_form(1.0)]) for i in range(3)]
    edits.append(_score("memit", "r1", [_form(0.0, other)]))
    rows, (said,) = by_method(edits, {})
    assert [row.method for row in rows] == ["rome"]
    assert (
        said
        == f"m, {FORM}: 1 edit left out, asked by {other}, which is not comparable with {PROTOCOL}."
    )
    table = methods_table(rows, [said])
    assert table is not None
    assert table.note.startswith(said)


def test_one_column_a_method_and_one_row_a_form() -> None:
    edits = [_score("rome", "r1", [_form(1.0)]), _score("memit", "r1", [_form(0.0, margin=-2.0)])]
    table = methods_table(*by_method(edits, {}))
    assert table is not None
    assert "| question/3-shot | 0.000 | 1.000 (+2.0) | 0.000 (-2.0) | 1 of 1 |" in render(
        table, "markdown"
    )
    assert methods_table(*by_method([_score("rome", "r1", [])], {})) is None


def test_one_row_an_edit_has_the_form_and_its_protocol() -> None:
    (row,) = scores_frame([_score("rome", "r1", [_form(1.0)])], "likelihood").to_dict("records")
    assert row["protocol"] == "cloze/plain/likelihood/v2"
    assert row[f"{FORM}.wins"] == 1.0
    assert row[f"{FORM}.protocol"] == PROTOCOL


def test_a_table_of_methods_is_of_one_protocol() -> None:
    plain = [_score(method, f"r{i}", []) for method in ("rome", "memit") for i in range(2)]
    chat = _score("alphaedit", "r1", [], chat="always")
    found = common([*plain, chat], "likelihood")
    assert found.scores == plain
    assert found.warnings[0] == (
        "m: 1 edit left out, asked by cloze/chat/likelihood/v2, which is not comparable with"
        " cloze/plain/likelihood/v2."
    )


def test_a_protocol_names_the_way_of_asking_and_of_sampling() -> None:
    values = [MetricValue(metric="ifr", measure=m, value=0.5, n=1) for m in ("likelihood", "p")]
    score = _score("rome", "r1", [], ask="question", chat="always", paraphrases=True)
    found = score.model_copy(update={"values": values}).protocols
    assert found == {
        "likelihood": "question+paraphrases/chat/likelihood/v2",
        "p": "question+paraphrases/chat/p:5x16@1/v3",
    }
    older = score.model_copy(update={"provenance": {"probe": PROBE, "probe_digest": "0" * 16}})
    assert older.protocols == {"likelihood": "cloze/plain/likelihood/older"}
    assert score.model_copy(update={"provenance": {}}).protocols == {}
    assert one_protocol([]) == ({}, [])


def _two(of_memit: list[float]) -> list[Score]:
    return [
        _score(method, f"r{i}", [_form(wins)])
        for i, value in enumerate(of_memit)
        for method, wins in (("rome", 1.0), ("memit", value))
    ]


def test_a_difference_in_a_form_is_tested_by_exchange_of_families() -> None:
    (row,) = paired_forms(_two([0.0] * 8), {})
    assert (row.first, row.second, row.metric, row.n, row.families) == (
        "memit", "rome", FORM, 8, 8,
    )  # fmt: skip
    assert (row.value, row.p, row.p_adjusted, row.beyond_rewrites) == (
        -1.0,
        2 / 2**8,
        2 / 2**8,
        True,
    )
    assert row.flips is not None
    assert (row.flips.gained, row.flips.lost, row.flips.p) == (0, 8, 2 / 2**8)
    edits = _two([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    families = {score.edit: score.rewrite if score.rewrite > "r1" else "r0" for score in edits}
    (row,) = paired_forms(edits, families)
    assert row.families == 5
    assert row.value == pytest.approx(-1 / 3)
    assert row.p == 1.0, "the one family that differs can be exchanged"


def test_equal_methods_do_not_differ_and_p_is_adjusted_over_forms() -> None:
    (row,) = paired_forms(_two([1.0] * 6), {})
    assert (row.value, row.p, row.answer) == (0.0, 1.0, "no difference: equal on 6 rewrites")
    edits = [
        score.model_copy(
            update={
                "forms": [*score.forms, *(f.model_copy(update={"form": "x"}) for f in score.forms)]
            }
        )
        for score in _two([0.0] * 6)
    ]
    rows = paired_forms(edits, {})
    assert [row.comparisons for row in rows] == [2, 2]
    assert [row.p_adjusted for row in rows] == [4 / 2**6] * 2
    assert [row.beyond_rewrites for row in rows] == [None, None], "G = 6 cannot reach .05 over two"
    table = paired_table(edits, {}, {"memit": "later"})
    assert table is not None
    assert "later | question/3-shot | -1.000" in render(table, "markdown")
    assert paired_table(_two([])[:1], {}) is None
