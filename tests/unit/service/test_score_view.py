"""A score by metric shows the entries of its flat list, each once, and is not stored."""

from __future__ import annotations

import json

from thinkeval.cypher.catalog import names, query
from thinkeval.service.models.edit import KNOWN, KNOWN_CHAIN, MetricValue, Score, ScoringOptions

VALUES = [
    MetricValue(metric="efficacy", measure="likelihood", value=0.98, n=1),
    MetricValue(metric="ifr_by_steps", measure="p", step=2, value=0.25, n=4, low=0.1, high=0.5),
    MetricValue(metric="ifr", measure="p", value=0.5, n=8, excluded=3, low=0.3, high=0.7),
    MetricValue(metric="ifr_by_steps", measure="p", step=3, value=None, n=0, excluded=2),
    MetricValue(metric="ifr", measure="likelihood", value=0.4, n=11),
    MetricValue(metric="chains_by_steps", measure="p", step=1, value=1, n=1),
]
SCORE = Score(
    edit="rome-a", dataset="hogwarts", rewrite="r", subject="s", relation="r", prompt="{}",
    target_true="a", target_new="b", model="m", method="rome", values=VALUES, n_facts=3,
)  # fmt: skip


def test_every_entry_is_found_once_with_all_its_numbers() -> None:
    shown = json.loads(SCORE.model_dump_json())
    found = []
    for metric, measures in shown["by_metric"].items():
        for measure, view in measures.items():
            steps = view.pop("by_steps")
            if view["n"] is not None:
                found.append({"metric": metric, "measure": measure, "step": None} | view)
            for step, value in steps.items():
                name = f"{metric}_by_steps"
                found.append({"metric": name, "measure": measure, "step": int(step)} | value)

    def order(entry: dict[str, object]) -> str:
        return json.dumps(entry, sort_keys=True)

    assert sorted(found, key=order) == sorted(shown["values"], key=order)


def test_a_metric_holds_its_values_by_steps_beside_the_overall_one() -> None:
    ifr = SCORE.by_metric["ifr"]
    assert (ifr["p"].value, ifr["p"].n, ifr["p"].excluded) == (0.5, 8, 3)
    assert (ifr["p"].low, ifr["p"].high) == (0.3, 0.7)
    assert {step: each.value for step, each in ifr["p"].by_steps.items()} == {2: 0.25, 3: None}
    assert (ifr["likelihood"].value, ifr["likelihood"].by_steps) == (0.4, {})
    chains = SCORE.by_metric["chains"]["p"]
    assert (chains.value, chains.n, chains.by_steps[1].value) == (None, None, 1)


def test_what_is_stored_is_the_list_alone() -> None:
    stored = json.loads(SCORE.stored())
    assert "by_metric" not in stored
    assert len(stored["values"]) == len(VALUES)
    for text in (SCORE.stored(), SCORE.model_dump_json()):
        assert Score.model_validate_json(text) == SCORE


def test_by_the_papers_rule_all_that_is_not_0_counts() -> None:
    papers = ScoringOptions(rule="papers")
    assert papers.counted == {"rule": "papers", "known": 0.0, "known_chain": 0.0}
    assert "papers' rule" in papers.rule_text
    assert ScoringOptions(known=0.2).counted == {
        "rule": "known", "known": 0.2, "known_chain": 0.01,
    }  # fmt: skip


def test_the_rule_has_one_constant_in_python_and_cypher() -> None:
    for name in names():
        params = query(name).params
        if "known" in params and params["known"].type == "FLOAT":
            assert params["known"].default == KNOWN, name
        for threshold in ("known_chain", "floor"):
            if threshold in params:
                assert params[threshold].default == KNOWN_CHAIN, name
