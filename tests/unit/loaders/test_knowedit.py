"""KnowEdit and the results of EasyEdit: small files of our own, and a real sample of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, LoadedGraph

ANNA: dict[str, Any] = {
    "subject": "Anna Berg",
    "prompt": "The name of the country of Anna Berg is",
    "target_new": "Austria",
    "ground_truth": "Norway",
    "rephrase": "Anna Berg is a citizen of",
    "portability": {
        "Reasoning": [
            {
                "prompt": "The capital of Anna Berg's country is",
                "ground_truth": [["Vienna", "Wien"]],
            }
        ],
        "Subject_Aliasing": [{"prompt": "A. Berg is from", "ground_truth": ["Austria"]}],
        "Logical_Generalization": [{"prompt": "?", "ground_truth": ""}],
    },
    "locality": {
        "Relation_Specificity": [
            {"prompt": "The gender of Anna Berg is", "ground_truth": "female"}
        ],
        "Forgetfulness": [
            {
                "prompt": "The name of the country of Anna Berg, which is not Austria, is",
                "ground_truth": [["Kingdom of Norway", "Norway"]],
            }
        ],
    },
}
LISTS = {
    "portability": {
        "reasoning": {
            "prompt": ["The capital of Anna Berg's country is", "Its currency is"],
            "ground_truth": ["Vienna", "euro"],
        }
    },
    "locality": {},
}
RESULT: dict[str, Any] = {
    "case_id": 3,
    "requested_rewrite": {**ANNA, **LISTS, "rephrase_prompt": "Anna Berg lives in"},
    "pre": {
        "rewrite_acc": [0.0],
        "portability": {"reasoning_acc": [0.25, 0.5]},
        "fluency": {"ngram_entropy": 6.1},
    },
    "post": {
        "rewrite_acc": [1.0],
        "rephrase_acc": [0.5],
        "portability": {"reasoning_acc": [0.75, 1.0]},
        "locality": {},
        "fluency": {"ngram_entropy": 5.9},
    },
    "time": 1.5,
}


def load(tmp_path: Path, records: Any) -> LoadedGraph:
    path = tmp_path / "edits.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return formats.load(path)


def test_a_record_becomes_a_request_with_its_questions_as_checks(tmp_path: Path) -> None:
    loaded = load(tmp_path, [ANNA])
    assert loaded.report.format == "knowedit"
    assert loaded.report.read == {"records": 1, "checks": 4}
    (request,) = loaded.graph.rewrites
    assert (request.prompt, request.relation) == (
        "The name of the country of {} is",
        "the-name-of-the-country-of-is",
    )
    assert (request.target_true, request.target_new) == ("Norway", "Austria")
    assert request.paraphrases == ("{} is a citizen of",)
    kept = ("Kingdom of Norway", "Norway")
    assert request.checks == (
        Check("portability/Reasoning", "The capital of Anna Berg's country is", ("Vienna", "Wien")),
        Check("portability/Subject_Aliasing", "A. Berg is from", ("Austria",)),
        Check(
            "locality/Relation_Specificity",
            "The gender of Anna Berg is",
            ("female",),
            old_answers=("female",),
        ),
        Check(
            "locality/Forgetfulness",
            "The name of the country of Anna Berg, which is not Austria, is",
            kept,
            old_answers=kept,
        ),
    )


@pytest.mark.parametrize("truth", ["<|endoftext|>", "", None, []])
def test_the_old_object_is_what_forgetfulness_asks_for_where_none_is_stated(
    tmp_path: Path, truth: object
) -> None:
    if truth == []:
        with pytest.raises(SchemaError, match="ground_truth: is empty"):
            load(tmp_path, [ANNA | {"ground_truth": truth}])
        return
    loaded = load(tmp_path, [ANNA | {"ground_truth": truth}])
    assert loaded.graph.rewrites[0].target_true == "Kingdom of Norway"
    assert "1 records" in {n.where for n in loaded.report.notes if n.kind == "repaired"}


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        ({"ground_truth": "<s>", "locality": {}}, "ground_truth", "is no old object"),
        ({"ground_truth": "austria"}, "", "target_new and the old object are the same"),
        ({"subject": "Ben"}, "prompt", "does not name the subject 'Ben'"),
        ({"target_new": {}}, "target_new", "expected text, found an object"),
        ({"portability": []}, "", ""),
        ({"portability": ["a"]}, "portability", "expected an object, found a list"),
        ({"portability": {"R": [{}]}}, "portability, R, 0", "the field 'prompt' is missing"),
        (
            {"locality": {"R": {"prompt": ["a"], "ground_truth": []}}},
            "locality, R",
            "1 prompts, but 0 ground truths",
        ),
    ],
)
def test_a_bad_record_is_refused_and_the_rest_is_read(
    tmp_path: Path, change: dict[str, Any], where: str, reason: str
) -> None:
    other = ANNA | {"target_new": "Italy"}
    loaded = load(tmp_path, [ANNA | change, other])
    refused = [n for n in loaded.report.notes if n.kind == "refused"]
    assert "Italy" in {r.target_new for r in loaded.graph.rewrites}
    if not reason:
        assert refused == []
        return
    (note,) = refused
    assert note.where == f"record 0, {where}".removesuffix(", ")
    assert reason in note.reason


def test_stored_results_are_beside_the_questions(tmp_path: Path) -> None:
    loaded = load(tmp_path, [RESULT])
    assert loaded.report.format == "easyedit_results"
    (request,) = loaded.graph.rewrites
    assert [(c.criterion, c.prompt, c.answers[:1], c.pre, c.post) for c in request.checks] == [
        ("rewrite", "The name of the country of Anna Berg is", ("Austria",), 0.0, 1.0),
        ("rephrase", "Anna Berg is a citizen of", ("Austria",), None, 0.5),
        ("rephrase", "Anna Berg lives in", ("Austria",), None, None),
        (
            "portability/reasoning",
            "The capital of Anna Berg's country is",
            ("Vienna",),
            0.25,
            0.75,
        ),
        ("portability/reasoning", "Its currency is", ("euro",), 0.5, 1.0),
        ("fluency", "The name of the country of Anna Berg is", (), 6.1, 5.9),
    ]
    assert [n for n in loaded.report.notes if n.kind == "flagged"] == []


def test_results_without_a_question_are_flagged_and_others_than_numbers_refused(
    tmp_path: Path,
) -> None:
    more = RESULT | {"post": {"portability": {"reasoning_acc": [1, 1, 1]}}}
    loaded = load(tmp_path, [more, RESULT | {"post": {"rewrite_acc": ["high"]}}])
    reasons = {n.kind: (n.where, n.reason) for n in loaded.report.notes}
    assert reasons["flagged"][0] == "1 records"
    assert "belong to none of their questions" in reasons["flagged"][1]
    assert reasons["refused"] == ("record 1, post, rewrite_acc", "expected numbers")


def test_the_real_results_are_those_of_the_file(data_dir: Path) -> None:
    path = data_dir / "others" / "easyedit_result_ROME_counterfact_first12.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    loaded = formats.load(path)
    # No record states its old object; six have a question of Forgetfulness, which names it.
    named = [r for r in records if "Forgetfulness" in r["requested_rewrite"]["locality"]]
    assert loaded.report.read["records"] == len(records) == 12
    assert loaded.report.kept["rewrites"] == len(named) == 6
    assert len([n for n in loaded.report.notes if n.kind == "refused"]) == 6
    by_subject = {r.subject: r for r in loaded.graph.rewrites}
    for record in named:
        request = by_subject[record["requested_rewrite"]["subject"]]
        for side in ("pre", "post"):
            stated = {"rewrite": record[side]["rewrite_acc"]}
            for group in ("portability", "locality"):
                for kind, values in record[side].get(group, {}).items():
                    stated[f"{group}/{kind.removesuffix('_acc')}"] = values
            for criterion, values in stated.items():
                assert [
                    getattr(c, side) for c in request.checks if c.criterion == criterion
                ] == values
