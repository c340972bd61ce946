"""PEAK files: requests to append an answer, and what is irregular about them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import LoadedGraph

RECORD: dict[str, Any] = {
    "case_id": 7,
    "requested_rewrite": {
        "prompt": "{} publishes",
        "relation_id": "P1",
        "target_new": {"str": "Third Tale"},
        "target_true": {"str": "First Tale"},
        "subject": "Quill House",
    },
    "postive_list": ["First Tale", "Second Tale (film)", "Fourth Tale"],
    "negtive_list": ["Other Tale", "Another Tale"],
    "negtive_random_list": ["Harbour", "Mountain"],
    "para_add_prompts": ["A book of Quill House is"],
    "neighborhood_prompts": [["Ink House publishes", "Fifth Tale"]],
}


def record(**changes: Any) -> dict[str, Any]:
    """The record with other values; dots lead into `requested_rewrite`."""
    made = copy.deepcopy(RECORD)
    for key, value in changes.items():
        place = made["requested_rewrite"] if key in made["requested_rewrite"] else made
        place[key] = value
    return made


def load(tmp_path: Path, *records: dict[str, Any]) -> LoadedGraph:
    file = tmp_path / "PEAK_own.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    assert formats.detect(file) == "peak"
    return formats.load(file)


def test_a_record_is_a_request_to_append(tmp_path: Path) -> None:
    loaded = load(tmp_path, RECORD)
    (request,) = loaded.graph.rewrites
    assert request.kind == "append"
    assert (request.target_true, request.target_new) == ("First Tale", "Third Tale")
    assert request.correct == ("First Tale", "Second Tale (film)", "Fourth Tale")
    assert (request.hard, request.random) == (
        ("Other Tale", "Another Tale"),
        ("Harbour", "Mountain"),
    )
    assert request.paraphrases == ("A book of {} is",)
    assert request.neighbors == (("Ink House publishes", "Fifth Tale"),)


def test_correct_answers_are_facts_and_false_ones_are_not(tmp_path: Path) -> None:
    graph = load(tmp_path, RECORD).graph
    assert {fact.object for fact in graph.facts} == set(RECORD["postive_list"])
    assert not {"Other Tale", "Harbour"} & {entity.name for entity in graph.entities}


def irregular(loaded: LoadedGraph) -> list[str]:
    return [note.reason.split(":")[0] for note in loaded.report.notes if note.kind == "flagged"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"target_new": {"str": "Fourth Tale"}}, "target_new is a correct answer already"),
        ({"target_new": {"str": "Other Tale"}}, "target_new is among the false answers"),
        ({"negtive_list": ["Fourth Tale", "x"]}, "a name is both correct and hard"),
        ({"negtive_random_list": ["Fourth Tale"]}, "a name is both correct and random"),
        ({"negtive_list": ["Other", "Other"]}, "a list repeats a name"),
        ({"negtive_list": ["fourth  tale"]}, "two names differ only in case or spaces"),
        ({"para_add_prompts": ["Third Tale is of Quill House, as is"]}, "a paraphrase holds"),
    ],
)
def test_an_irregular_request_is_kept_and_reported(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    loaded = load(tmp_path, record(**changes))
    assert len(loaded.graph.rewrites) == 1
    assert any(reason.startswith(problem) for reason in irregular(loaded))


def test_a_regular_request_is_not_reported(tmp_path: Path) -> None:
    assert irregular(load(tmp_path, RECORD)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"postive_list": []}, "there are 0"),
        ({"postive_list": ["First Tale"]}, "there are 1"),
        ({"negtive_list": []}, "no hard false answer"),
        ({"prompt": "who publishes"}, "{}"),
        ({"neighborhood_prompts": [["only a prompt"]]}, "not a pair"),
        ({"negtive_list": [3]}, "negtive_list"),
    ],
)
def test_a_record_without_what_it_needs_is_refused_with_its_place(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    loaded = load(tmp_path, RECORD, record(case_id=8, **changes))
    assert len(loaded.graph.rewrites) == 1
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert "record 1" in note.where
    assert problem in f"{note.where} {note.reason}"
    with pytest.raises(SchemaError):
        load(tmp_path, record(**changes))


def test_a_record_that_repeats_another_is_merged(tmp_path: Path) -> None:
    loaded = load(tmp_path, RECORD, RECORD)
    (request,) = loaded.graph.rewrites
    assert request.n_records == 2


@pytest.mark.parametrize(
    ("file", "counts", "flagged"),
    [
        (
            "PEAK_counter.json",
            (1962, 26512, 3344, 10760, 24043, 19619, 32),
            {"target_new is a correct answer already": 7, "a name is both correct and hard": 35},
        ),
        ("PEAK_time.json", (993, 7759, 1995, 6207, 7879, 9929, 9), {}),
    ],
)
def test_the_published_files_have_the_counts_that_were_counted(
    data_dir: Path, file: str, counts: tuple[int, ...], flagged: dict[str, int]
) -> None:
    loaded = formats.load(data_dir / "peak" / file)
    read = loaded.report.read
    keys = ("records", "correct", "paraphrases", "neighborhood", "hard", "random")
    relations = {request.relation for request in loaded.graph.rewrites}
    assert (*(read[key] for key in keys), len(relations)) == counts
    assert len(loaded.graph.rewrites) == counts[0]
    notes = [n for n in loaded.report.notes if n.kind == "flagged"]
    every = {n.reason.split(":")[0]: n.where for n in notes if n.where.endswith("requests")}
    every.pop("two names differ only in case or spaces", None)
    assert every == {problem: f"{n} requests" for problem, n in flagged.items()}
    alone = Counter(n.reason.split(":")[0] for n in notes if n.where.startswith("request "))
    assert alone == flagged, "each irregular edit is listed with its names"
    assert all(r.target_true == r.correct[0] for r in loaded.graph.rewrites)


def test_names_keep_the_spelling_of_the_file(tmp_path: Path) -> None:
    written = record(target_new={"str": "USA"}, target_true={"str": "usa"}, subject="Usa")
    loaded = load(
        tmp_path, record(postive_list=["Usa", "x"]), written | {"postive_list": ["usa"] * 2}
    )
    own = next(r for r in loaded.graph.rewrites if r.subject == "Usa")
    assert (own.target_true, own.target_new, own.correct[0]) == ("usa", "USA", "usa")
    assert {"Usa", "usa", "USA"} <= {entity.name for entity in loaded.graph.entities}
    assert "have several spellings that differ only in case" in " ".join(
        note.reason for note in loaded.report.notes
    )
