"""RippleEdits: small files of our own in its layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats, ripple_edits
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, LoadedGraph
from thinkeval.loaders.texts import MAX_NAME

COUNTRY = "The name of the country of {} is"
GENDER = "The gender of {} is"


def query(
    prompt: str, *answers: str, subject: str = "Q1", relation: str = "COUNTRY", **more: Any
) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "answers": [{"value": each, "aliases": [f"{each} (alias)", "x"]} for each in answers],
        "query_type": "regular",
        "subject_id": subject,
        "relation": relation,
        "target_ids": [f"Q-{each}" for each in answers],
        "phrase": None,
    } | more


def case_of(*queries: dict[str, Any], how: str = "OR", conditions: Any = ()) -> dict[str, Any]:
    return {"test_queries": [*queries], "test_condition": how, "condition_queries": [*conditions]}


def record(name: str = "Anna Berg", new: str = "United Mexican States", **changed: Any) -> Any:
    """An edit of a person's country. The objects share their first word."""
    subject = f"Q{name}"
    gender = query(GENDER.format(name), "female", subject=subject, relation="GENDER")
    fact = {"subject_id": subject, "relation": "COUNTRY"}
    stem = COUNTRY.format(name)
    old = {"prompt": f"{stem} United Kingdom.", "target_id": "Q-old"} | fact
    return {
        "example_type": "popular",
        "edit": {"prompt": f"{stem} {new}.", "target_id": "Q-new", "original_fact": old} | fact,
        "Relation_Specificity": [case_of(gender, conditions=[gender])],
        "Compositionality_I": [
            case_of(
                query("The capital of her country is", "Mexico City", query_type="two_hop"),
                query("Its currencies are", "peso", "dollar", query_type="two_hop"),
                how="AND",
            )
        ],
        "Subject_Aliasing": [
            case_of(
                query(COUNTRY.format(" ".join(reversed(name.split()))), "Mexico", subject=subject)
            )
        ],
        "Logical_Generalization": [],
        "Compositionality_II": [],
        "Forgetfulness": [],
    } | changed


PEOPLE = ("Anna Berg", "Ben Ali", "Carl is Olsen")


def load(tmp_path: Path, records: Any) -> LoadedGraph:
    path = tmp_path / "popular.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return formats.load(path)


def test_names_come_from_the_prompts_of_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, [record(name) for name in PEOPLE])
    assert (loaded.report.format, loaded.graph.name) == ("ripple_edits", "popular")
    assert loaded.report.read == {"records": 3, "checks": 12}
    assert [r.subject for r in loaded.graph.rewrites] == [*PEOPLE[:2], "Carl is Olsen"]
    for request in loaded.graph.rewrites:
        assert (request.prompt, request.relation) == (COUNTRY, "COUNTRY")
        assert (request.target_true, request.target_new) == (
            "United Kingdom",
            "United Mexican States",
        )


def test_names_come_from_the_labels_of_the_record(tmp_path: Path) -> None:
    both = query("Who and what?", "United Mexican States", "Anna Berg", query_type="two_hop")
    both["second_hop_target_ids"] = ["Q-new", "QAnna Berg"]
    (request,) = load(tmp_path, [record(Forgetfulness=[case_of(both)])]).graph.rewrites
    assert (request.subject, request.target_true) == ("Anna Berg", "United Kingdom")


def test_queries_are_checks_with_their_conditions(tmp_path: Path) -> None:
    anna = load(tmp_path, [record(name) for name in PEOPLE]).graph.rewrites[0]
    female = ("female", "female (alias)")
    gender = "The gender of Anna Berg is"
    group = "Compositionality_I/0"
    assert anna.checks == (
        Check(
            "Relation_Specificity",
            gender,
            female,
            conditions=(Check("condition", gender, female),),
        ),
        Check(
            "Compositionality_I",
            "The capital of her country is",
            ("Mexico City", "Mexico City (alias)"),
            group=group,
            every=True,
        ),
        Check(
            "Compositionality_I",
            "Its currencies are",
            ("peso", "peso (alias)"),
            (("dollar", "dollar (alias)"),),
            group,
            every=True,
        ),
        Check(
            "Subject_Aliasing",
            "The name of the country of Berg Anna is",
            ("Mexico", "Mexico (alias)"),
        ),
    )


def test_queries_without_an_answer_and_with_an_id_are_flagged(tmp_path: Path) -> None:
    odd = case_of(query("Nobody is"), query("The mother of Q42 is", "Eva"))
    loaded = load(tmp_path, [record(name, Forgetfulness=[odd]) for name in PEOPLE])
    notes = {n.where: n.reason for n in loaded.report.notes if n.where == "3 queries"}
    reasons = [n.reason for n in loaded.report.notes if n.where in notes]
    assert any("have no answer and are left out" in reason for reason in reasons)
    assert any("have an id in place of a name" in reason for reason in reasons)
    last = loaded.graph.rewrites[0].checks[-1]
    assert (last.criterion, last.prompt, last.group) == (
        "Forgetfulness",
        "The mother of Q42 is",
        "",
    )


def edit(**changed: Any) -> dict[str, Any]:
    made = record()["edit"] | changed
    return {"edit": {key: value for key, value in made.items() if value is not None}}


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        (edit(original_fact=None), "edit", "no old object to replace: import popular.json or"),
        (edit(prompt="Anna Berg lives in Mexico."), "edit, prompt", "no end of 'Anna Berg lives"),
        (edit(prompt=None), "edit", "the field 'prompt' is missing"),
        ({"edit": []}, "edit", "expected an object, found a list"),
        ({"Forgetfulness": [case_of(how="XOR")]}, "Forgetfulness[0], test_condition", "'XOR'"),
        (
            {"Forgetfulness": [case_of(query("a", "b", answers=["b"]))]},
            "Forgetfulness[0], test_queries[0], answers[0]",
            "expected an object, found text",
        ),
        ({"Forgetfulness": [3]}, "Forgetfulness[0]", "expected an object, found a number"),
    ],
)
def test_a_bad_record_is_refused_and_the_rest_is_read(
    tmp_path: Path, change: dict[str, Any], where: str, reason: str
) -> None:
    bad, *others = [record(name) for name in PEOPLE]
    loaded = load(tmp_path, [bad | change, *others, record("Dora Lund")])
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert note.where == f"record 0, {where}"
    assert reason in note.reason
    assert len(loaded.graph.rewrites) == 3


def test_names_that_cannot_be_known_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="fewer than three subjects of the file show"):
        load(tmp_path, [record(name) for name in PEOPLE[:2]])


def test_a_long_prompt_is_not_tried_at_each_of_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt of 40 kB took two seconds, one of 400 kB minutes."""
    tried = 0
    subject = ripple_edits._Phrase.subject

    def counted(phrase: Any, stem: Any) -> str:
        nonlocal tried
        tried += 1
        return subject(phrase, stem)

    monkeypatch.setattr(ripple_edits._Phrase, "subject", counted)
    records = [record(name) for name in PEOPLE]
    long = records[0]["edit"]
    long["prompt"] = "Words " * 5000 + long["prompt"]
    assert len(load(tmp_path, records).graph.rewrites) == 2
    assert tried < MAX_NAME + 100
