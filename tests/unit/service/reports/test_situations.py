"""Situations in which numbers look better than the edit is: the verdict says what happened."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.service.reports.test_chain_tree import chain

from thinkeval.cypher.rows import ChangedFact, DriftCounts
from thinkeval.service.models.edit import (
    DriftLine,
    KnownDrift,
    MetricValue,
    Score,
    SideEffects,
)
from thinkeval.service.reports.gate import check, parse
from thinkeval.service.reports.verdict import (
    Verdict,
    best_method,
    in_a_word,
    next_steps,
    took,
    verdict,
)

GOOD: dict[str, float | None] = {
    "efficacy": 0.98, "efficacy_before": 0.01, "known_before": 0.9, "generalization": 0.9,
    "ifr": 0.03, "preservation": 0.98, "preservation_symmetric": 0.97, "subject_retention": 0.98,
}  # fmt: skip
"""An edit that took, kept the model, and leaves nothing."""


def drifted(kept: int, lost: int, median: float) -> KnownDrift:
    counts: dict[str, Any] = dict.fromkeys(DriftCounts.model_fields, 0)
    counts |= {"n": kept + lost, "kept": kept, "lost": lost, "mean_moved": 0.1, "mean_shift": 0.0}
    line = DriftLine(label="far", **counts | {"median_change": median})
    return KnownDrift(total=line, far=line, excluded=0, unasked=0)


def scored(effects: SideEffects | None = None, method: str = "rome", **values: Any) -> Score:
    found = GOOD | values
    return Score(
        edit=f"{method}-e", dataset="d", rewrite="r", subject="Tower", relation="is in",
        prompt="{} is in", target_true="Paris", target_new="Rome", model="m", method=method,
        n_facts=9, side_effects=effects or SideEffects(),
        values=[
            MetricValue(metric=name, measure="likelihood", value=value, n=0 if value is None else 6)
            for name, value in found.items()
        ],
        provenance={"model": {"given": "m"}},
    )  # fmt: skip


def judged(score: Score, changed: list[ChangedFact] | None = None) -> Verdict:
    rows = [chain("SAO", ratio=0.9), chain("SBO", ratio=0.0)]
    return verdict(score, "likelihood", rows, changed or [])


RUINED = SideEffects(kl=3.0, texts=16, perplexity_ratio=20.0, drift=drifted(0, 65, 0.001))

SITUATIONS: dict[str, tuple[Score, str, str]] = {
    # A ruined model has forgotten nothing.
    "ruined, nothing left": (scored(RUINED, ifr=0.0), "broke", "because their facts broke"),
    "ruined, not taken": (scored(RUINED, efficacy=0.1, ifr=0.0), "broke", "and broke the model"),
    "ruined by known facts alone": (
        scored(SideEffects(kl=0.01, texts=16, drift=drifted(2, 40, 0.2)), ifr=0.0),
        "broke", "known facts away from the subject keep 20 %",
    ),
    "own texts changed, facts kept": (
        scored(SideEffects(kl=0.4, texts=16, drift=drifted(101, 6, 1.0))),
        "broke", "KL 0.400 a token on its own texts",
    ),
    "neighbours lost, IFR low": (
        scored(preservation=0.17, preservation_symmetric=0.17), "broke", "keep 17 %"
    ),
    "neighbours inflated": (
        scored(preservation=1.3, preservation_symmetric=0.55), "broke", "keep 55 %"
    ),
    "subject lost, IFR low": (scored(subject_retention=0.01), "broke", "facts about Tower keep 1"),
    "few neighbours lost": (scored(preservation_symmetric=0.69), "broke", "keep 69 %"),
    # An edit took only if it changed the answer.
    "the new object was likely before": (
        scored(efficacy=0.8, efficacy_before=0.8, ifr=1.0), "nothing", "was the answer before"
    ),
    "the new object gained a little": (
        scored(efficacy=0.52, efficacy_before=0.45), "nothing", "did not take"
    ),
    "the new object was the answer, and is more so": (
        scored(efficacy=0.99, efficacy_before=0.6), "nothing", "changed nothing"
    ),
    "nothing installed": (scored(efficacy=0.01, ifr=1.0), "nothing", "did not take"),
    "installed in part": (scored(efficacy=0.3), "leaks", "took in part"),
    # Gone needs more than one wording.
    "one wording only": (scored(generalization=None), "worked", "asked in one wording only"),
    "other wordings answer otherwise": (
        scored(generalization=0.02), "leaks", "in 6 other wordings the model answers Rome with 0.02"
    ),
    # What is left.
    "all is well": (scored(), "worked", "can hardly be deduced any more."),
    "a little left": (scored(ifr=0.1), "worked", "a little of the old fact"),
    "much left": (scored(ifr=0.3), "leaks", "much of the old fact"),
    "more than before": (scored(ifr=1.3), "leaks", "more easily than before"),
    "no neighbour known": (
        scored(preservation=None, preservation_symmetric=None), "worked", "hardly be deduced"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_verdict_of_a_situation(name: str) -> None:
    score, kind, said = SITUATIONS[name]
    found = judged(score)
    assert found.kind == in_a_word(score, "likelihood").kind == kind, found.headline
    assert said in found.headline
    if kind != "worked":
        assert "worked" not in found.headline
        assert not next_steps(score, "likelihood") or kind != "leaks"
    if kind in ("broke", "nothing"):
        steps = next_steps(score, "likelihood")
        assert steps, "a next step always"
        assert all(command.startswith("thinkeval ") for _, command in steps)


def test_what_changed_most_is_named_with_what_the_model_says_now() -> None:
    fact = ChangedFact(
        fact="1", subject="Lyon", relation="speaks", object="French", before=0.8, after=0.001,
        prompt="The language of {} is", change="replaced",
        says_before="French", says_after="German",
    )  # fmt: skip
    weak = fact.model_copy(update={"change": "weakened", "says_after": None, "after": 0.3})
    found = judged(scored(), [fact, weak])
    assert found.headline.endswith(
        "Changed most: The language of Lyon is German (was French); The language of Lyon is French"
        " weakened, 0.800 → 0.300."
    )


def test_a_barely_known_fact_is_said_beside_ifr() -> None:
    assert (
        "hardly knew the fact before: p 0.065" in judged(scored(known_before=0.065)).left.sentence
    )
    assert "hardly knew" not in judged(scored(known_before=0.2)).left.sentence


def test_an_edit_that_changed_nothing_never_ranks_before_one_that_took() -> None:
    idle = scored(method="none", efficacy=0.99, efficacy_before=0.6, ifr=0.0)
    real = scored(ifr=0.6)
    assert not took(idle, "likelihood")
    (gate,) = check(idle, [parse("efficacy>=.5")], "likelihood")
    assert "it changed no answer" in gate.text
    assert best_method([idle, real], "likelihood").score == real


def test_a_fact_is_not_forgotten_in_one_wording() -> None:
    score = scored(forgetting=0.99, leak_at_1=0.01, generalization=None)
    found = judged(score.model_copy(update={"target_new": None}))
    assert "asked in one wording only" in found.answer
