"""Gates on a score, against a stored edit, and how they are written."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import MetricValue, Score, SideEffects
from thinkeval.service.reports import comparison, gate
from thinkeval.service.reports.gate import Limit, check, not_worse, pairs_of, parse
from thinkeval.service.scoring import intervals

METRICS = ("efficacy", "ifr", "preservation", "subject_retention")
DB: Any = None


def _score(method: str, rewrite: str = "r", measure: str = "likelihood", **numbers: Any) -> Score:
    values: list[MetricValue] = []
    for metric, value in numbers.items():
        value, low, high = value if isinstance(value, tuple) else (value, None, None)
        values.append(
            MetricValue(metric=metric, measure=measure, value=value, n=4, low=low, high=high)
        )
        if metric == "ifr":
            values.append(
                MetricValue(metric="ifr_by_steps", measure=measure, step=2, value=value, n=4)
            )
    return Score(
        edit=f"{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s", relation="r",
        prompt="{} r", target_true="o", target_new="n", model="m", method=method,
        values=values, n_facts=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("ifr<=.2", Limit("ifr", "<=", 0.2)),
        (" efficacy >= 0.9 ", Limit("efficacy", ">=", 0.9)),
        ("ifr.high<=.3", Limit("ifr", "<=", 0.3, "high")),
        ("generalization.low>=1e-1", Limit("generalization", ">=", 0.1, "low")),
        ("perplexity_ratio<=1.1", Limit("perplexity_ratio", "<=", 1.1)),
    ],
)
def test_a_gate_names_a_metric_a_sign_and_a_number(text: str, limit: Limit) -> None:
    assert parse(text) == limit


@pytest.mark.parametrize("text", ["ifr", "ifr=.2", "ifr<.2", "speed<=1", "ifr.mean<=1", "", "<=1"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no limit on a metric"):
        parse(text)
    with pytest.raises(UsageError, match="'low' in the gate is no number"):
        parse("ifr<=low")


def test_a_limit_on_an_end_of_the_interval() -> None:
    sampled = _score("a", measure="p", ifr=(0.2, 0.1, 0.35), efficacy=(0.9, None, None))
    texts = ["ifr<=.2", "ifr.high<=.3", "ifr.low<=.1", "efficacy.low>=.5", "preservation>=.9"]
    found = check(sampled, [parse(text) for text in texts], "p")
    assert [each.met for each in found] == [True, False, True, False, False]
    assert found[1].gate == "ifr.high <= 0.3"
    assert found[1].line == (
        "gate: a-r: IFR (high end of its 95 % interval) 0.3500 > 0.3 over 4 chains; see `thinkeval"
        " results chains a-r --surviving`"
    )
    assert "efficacy (low end of its 95 % interval) is undefined: it has no" in found[3].line
    exact = check(_score("a", ifr=0.2), [parse("ifr.high<=.2")], "likelihood")
    assert exact[0].met, "an exact likelihood has no sampling error"


def test_side_effects_have_gates() -> None:
    effects = SideEffects(kl=0.01, kl_low=0.005, kl_high=0.03, perplexity_ratio=1.2, texts=64)
    found = check(
        _score("a").model_copy(update={"side_effects": effects}),
        [parse(t) for t in ("kl<=.02", "kl.high<=.02", "perplexity_ratio<=1.1", "update_norm<=1")],
        "likelihood",
    )
    assert [each.met for each in found] == [True, False, False, False]
    assert found[2].line == "gate: a-r: perplexity ratio 1.2000 > 1.1 over 64 texts"
    assert found[3].line == "gate: a-r: update norm is undefined: no update"


def test_an_exact_edit_is_worse_beyond_the_margin() -> None:
    base = _score("base", efficacy=0.9, ifr=0.2, preservation=0.95)
    new = _score("new", efficacy=0.89, ifr=0.215, preservation=1.0, subject_retention=0.1)
    found = {each.gate.split()[0]: each for each in not_worse(DB, [(new, base)], "likelihood")}
    assert {metric: each.met for metric, each in found.items()} == {
        "efficacy": True, "ifr": False, "preservation": True,
    }  # fmt: skip
    assert found["ifr"].line == "gate: new-r: ifr +0.015 against base-r: worse"
    (_, ifr, _) = not_worse(DB, [(new, base)], "likelihood", margin=0.02)
    assert ifr.met
    (lost,) = not_worse(DB, [(_score("new"), _score("base", ifr=0.2))], "likelihood")
    assert (lost.met, lost.text) == (False, "ifr is undefined")


def test_a_sampled_edit_is_worse_if_its_interval_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    base = _score("base", measure="p", efficacy=0.9, ifr=0.2)
    new = _score("new", measure="p", efficacy=0.5, ifr=0.6)
    bounds = {("efficacy", None): (-0.7, 0.1), ("ifr", None): (0.2, 0.6)}
    monkeypatch.setattr(intervals, "difference_intervals", lambda *_: bounds)
    efficacy, ifr = not_worse(DB, [(new, base)], "p")
    assert efficacy.met
    assert efficacy.text == "efficacy -0.400 [-0.70, 0.10] against base-r"
    assert not ifr.met


def test_runs_that_are_no_pair_do_not_pass() -> None:
    base = _score("base", ifr=0.2).model_copy(update={"provenance": {"seed": 1}})
    new = _score("new", ifr=0.1).model_copy(update={"provenance": {"seed": 0}})
    (found,) = not_worse(DB, [(new, base)], "likelihood")
    assert (found.met, found.gate) == (False, "not worse than base-r")
    assert found.text == "not paired: new-r and base-r differ in seed 0 and 1"


@pytest.mark.parametrize(
    ("n", "worse_by", "met"),
    [(9, 0.0, True), (9, 0.3, False), (9, -0.3, True), (4, 0.3, False), (4, 0.0, True)],
)
def test_several_edits_are_paired_over_families(
    monkeypatch: pytest.MonkeyPatch, n: int, worse_by: float, met: bool
) -> None:
    """Fewer than six families cannot show a difference; a gate then goes by the value."""

    def own(_: object, scores: list[Score]) -> dict[str, str]:
        return {score.edit: score.rewrite for score in scores}

    monkeypatch.setattr(comparison, "families", own)
    old = [_score("old", f"r{i}", ifr=0.3 + i / 50) for i in range(n)]
    new = [_score("new", f"r{i}", ifr=0.3 + i / 50 + worse_by) for i in range(n)]
    pairs = list(zip(new, old, strict=True))
    (found,) = not_worse(DB, pairs, "likelihood")
    assert found.met is met
    assert found.edit == f"{n} edits by new"
    assert found.gate == f"ifr not worse than old, {n} stored edits"


def test_a_stored_edit_is_paired_with_the_score_of_its_rewrite() -> None:
    one, two, base = _score("new", "r1"), _score("new", "r2"), _score("base", "r2")
    assert pairs_of([one, two], [base]) == [(two, base)]
    with pytest.raises(UsageError, match="which is not scored"):
        pairs_of([one], [base])
    with pytest.raises(UsageError, match="which is scored by several methods"):
        pairs_of([two, _score("other", "r2")], [base])


def test_junit_and_markdown_have_every_gate() -> None:
    found = check(_score("a", ifr=0.4, efficacy=1.0), [parse("ifr<=.2"), parse("efficacy>=.9")],
                  "likelihood")  # fmt: skip
    error = "failed: rome on r1: it broke | badly <x>"
    suite = ElementTree.fromstring(gate.junit(found, [error]))
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "1", "errors": "1",
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite}
    assert set(cases) == {"ifr <= 0.2", "efficacy >= 0.9", "rome on r1"}
    failure, broken = cases["ifr <= 0.2"].find("failure"), cases["rome on r1"].find("error")
    assert failure is not None
    assert "IFR 0.4000 > 0.2" in (failure.get("message") or "")
    assert broken is not None
    assert broken.get("message") == error
    text = gate.markdown(found, [error]).decode()
    assert text.startswith("### ThinkEval: 2 of 3 gates missed\n")
    assert "| **missed** | a-r | ifr <= 0.2 | IFR 0.4000 > 0.2 over 4 chains" in text
    assert "it broke \\| badly" in text
    assert gate.markdown(found[1:]).decode().startswith("### ThinkEval: 1 of 1 gate met\n")
