"""Methods are compared over the rewrites that all of them have; families of rewrites."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.comparison import NAMED, common, components
from thinkeval.service.reports.table import method_table


def _score(method: str, rewrite: str, ifr: float, model: str = "m") -> Score:
    values = [
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=1),
        MetricValue(metric="ifr_by_steps", measure="likelihood", step=1, value=ifr, n=1),
    ]
    return Score(
        edit=f"{model}-{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s",
        relation="r", prompt="{} r", target_true="o", target_new="n", model=model, method=method,
        values=values, n_facts=1,
    )  # fmt: skip


def _scores(has: dict[str, Iterable[str]], model: str = "m") -> list[Score]:
    """IFR is 0.1 times the number of the rewrite, whatever the method: they do not differ."""
    return [
        _score(method, name, 0.1 * int(name[1:]), model)
        for method, of in has.items()
        for name in of
    ]


SIX = [f"r{i}" for i in range(1, 7)]


def test_a_method_on_one_rewrite_is_compared_on_that_rewrite() -> None:
    scores = _scores({"memit": SIX, "alphaedit": ["r6"]})
    pooled = method_table(scores, "likelihood").set_index("Method")["IFR"]
    assert pooled["memit"] < pooled["alphaedit"], "over different rewrites they seem to differ"
    found = common(scores, "likelihood")
    rows = method_table(found.scores, "likelihood").set_index("Method")
    assert rows["IFR"].tolist() == pytest.approx([0.6, 0.6])
    assert rows["rewrites"].tolist() == [1, 1]
    assert found.left_out == {"m": SIX[:5]}
    assert found.comparable
    (warning,) = found.warnings
    assert "(alphaedit 1, memit 6 of 6)" in warning
    assert "Compared over the 1 rewrite that all have; left out: 5 rewrites (r1, r2" in warning


def test_all_can_be_asked_for_and_the_warning_stays() -> None:
    scores = _scores({"memit": SIX, "alphaedit": ["r6"]})
    found = common(scores, "likelihood", "all")
    assert found.scores == scores
    assert not found.comparable
    assert "Each row is over its own rewrites" in found.warnings[0]


def test_methods_on_the_same_rewrites_have_no_warning() -> None:
    found = common(_scores({"memit": SIX, "rome": SIX}), "likelihood")
    assert (found.warnings, found.left_out, found.comparable) == ((), {}, True)


def test_without_a_common_rewrite_all_are_shown_as_not_comparable() -> None:
    scores = _scores({"memit": ["r1"], "rome": ["r2"]})
    found = common(scores, "likelihood")
    assert found.scores == scores
    assert not found.comparable
    assert "the rows cannot be compared" in found.warnings[0]


def test_models_are_compared_each_by_itself_and_the_difference_is_said() -> None:
    scores = _scores({"memit": SIX, "rome": SIX}) + _scores({"memit": ["r1"]}, model="other")
    found = common(scores, "likelihood")
    assert found.scores == scores
    assert found.warnings == (
        "The models were scored on different rewrites; compare within a model.",
    )


def test_a_method_without_the_measure_limits_nothing() -> None:
    sampled = _score("ike", "r1", 0.5)
    values = [value.model_copy(update={"measure": "p"}) for value in sampled.values]
    scores = [*_scores({"memit": SIX}), sampled.model_copy(update={"values": values})]
    found = common(scores, "likelihood")
    assert (found.scores, found.warnings) == (scores, ())


def test_a_long_list_is_cut_and_counted() -> None:
    many = [f"r{i}" for i in range(1, 31)]
    (warning,) = common(_scores({"memit": many, "rome": ["r1"]}), "likelihood").warnings
    assert f"and {29 - NAMED} more" in warning


def test_families_are_the_connected_components() -> None:
    facts = {"a": {"1", "2"}, "b": {"3"}, "c": {"2", "4"}, "d": {"4"}, "e": set(), "f": set()}
    assert components(facts) == {"a": "a", "b": "b", "c": "a", "d": "a", "e": "e", "f": "f"}


def test_families_linked_late_are_one() -> None:
    facts = {"a": {"1"}, "b": {"2"}, "c": {"3"}, "d": {"1", "2", "3"}}
    assert set(components(facts).values()) == {"a"}


def test_a_comparison_of_states_is_no_method_and_shrinks_nothing() -> None:
    edits = _scores({"memit": SIX, "rome": SIX})
    other = _scores({"compare:later": ["r1"]})
    states = [s.model_copy(update={"provenance": {"comparison": {}}}) for s in other]
    found = common([*edits, *states], "likelihood")
    assert {score.method for score in found.scores} == {"memit", "rome"}
    assert (len(found.scores), found.comparable) == (2 * len(SIX), True)
    assert "1 comparison of two states left out" in found.warnings[0]
    assert len(common(states, "likelihood").scores) == 1, "by itself it has its table"
