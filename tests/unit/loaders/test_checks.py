"""Checks: the questions that a data set asks after an edit, in records, digests and YAML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thinkeval.loaders import graph_yaml
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, KnowledgeGraph, RewriteRequest, canonical

FULL = Check(
    criterion="Compositionality_I",
    prompt="The capital of Anna's country is",
    answers=("Vienna", "Wien"),
    further=(("Bern",), ("Rome", "Roma")),
    group="case-1",
    every=True,
    old_answers=("Oslo",),
    wrong=("Berlin",),
    conditions=(Check("condition", "The capital of Austria is", ("Vienna",), old_answers=("X",)),),
    pre=0.0,
    post=0.25,
)
REQUEST = RewriteRequest("r", "d", "{} is in", "Anna", "in", "Norway", "Austria")


@pytest.mark.parametrize("check", [FULL, Check("fluency", "Anna is", ()), *FULL.conditions])
def test_a_check_is_the_same_after_json(check: Check) -> None:
    assert Check.of_json(canonical(check.stated)) == check
    assert hash(check)
    assert {"criterion", "prompt", "answers"} <= set(check.stated)
    assert set(FULL.stated) == {*Check.__dataclass_fields__}
    assert set(Check("fluency", "Anna is", (), pre=0.0).stated) == {
        "criterion",
        "prompt",
        "answers",
        "pre",
    }


def test_checks_are_part_of_the_digests_of_a_request() -> None:
    assert "checks" not in REQUEST.identity
    graph = KnowledgeGraph("d", (), (), (REQUEST,))
    with_checks = replace(REQUEST, checks=(FULL,))
    assert with_checks.identity["checks"] == [FULL.stated]
    assert replace(graph, rewrites=(with_checks,)).content_digest != graph.content_digest


YAML = """
name: d
relations: {in: {prompt: "{} is in"}}
facts: {Anna: {in: Norway}}
rewrites:
- subject: Anna
  relation: in
  target_new: Austria
  checks:
  - {criterion: Compositionality_I, prompt: "The capital of Anna's country is",
     answers: [Vienna, Wien], further: [[Bern], [Rome, Roma]], group: case-1, every: true,
     old_answers: [Oslo], wrong: [Berlin], pre: 0, post: 0.25,
     conditions: [{criterion: condition, prompt: The capital of Austria is, answers: [Vienna],
                   old_answers: [X]}]}
"""


def load(tmp_path: Path, text: str) -> tuple[Check, ...]:
    path = tmp_path / "d.yaml"
    path.write_text(text, encoding="utf-8")
    return graph_yaml.load(path).graph.rewrites[0].checks


def test_a_graph_in_yaml_has_checks(tmp_path: Path) -> None:
    assert load(tmp_path, YAML) == (FULL,)
    named = YAML.replace("  relation: in\n", "  relation: in\n  id: case-1--anna\n")
    (tmp_path / "n.yaml").write_text(named, encoding="utf-8")
    assert graph_yaml.load(tmp_path / "n.yaml").graph.rewrites[0].id == "case-1--anna"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("answers: [Vienna, Wien]", "answer: [Vienna]", "rewrites[0], checks, 0: unknown key"),
        ("answers: [Vienna, Wien],", "", "the field 'answers' is missing"),
        ("[Vienna, Wien]", "Vienna", "checks, 0, answers: expected a list, found text"),
        ("pre: 0", "pre: much", "checks, 0, pre: expected a number, found 'much'"),
        ("[[Bern], ", "[Bern, ", "checks, 0, further, 0: expected a list"),
        (
            "  target_new: Austria",
            "  target_new: Austria\n  id: 'own:a'",
            "id: 'own:a' has a colon",
        ),
        ("[X]", "['']", "checks, 0, conditions, 0, old_answers, 0: is empty"),
    ],
)
def test_a_wrong_check_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, where: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, YAML.replace(old, new))
    assert where in caught.value.detail
