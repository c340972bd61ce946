"""ELKEN: events of our own in its layout, and the real file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, LoadedGraph


def asked(
    question: str, subject: str, relation: str, answer: str, *aliases: str, **more: Any
) -> dict[str, Any]:
    return {
        "question": question,
        "subject": {"id": "Q1", "name": subject},
        "answer": {"id": "Q2", "name": answer, "alias": list(aliases)},
        "rel_id": relation,
    } | more


def tendency(question: str, answer: str) -> dict[str, Any]:
    return {
        "question": question,
        "candidate": "(A) Increase  (B) Decrease (C) No change",
        "answer": answer,
    }


def event(
    changed: list[Any] | None = None, local: list[Any] | None = None, **changes: Any
) -> dict[str, Any]:
    return {
        "event_type": "move",
        "event": "Varo Mills moves to Ulm.",
        "fact": {"qas": changed or [], "local_qas": local or []},
        "tendency": {
            "qas": [tendency("How may the rents in Ulm change?", "A")],
            "local_qas": [tendency("How may the rain in Ulm change?", "C")],
        },
    } | changes


SEAT = asked("In which town does Varo Mills sit?", "Varo Mills", "P159", "Ulm", "Ulm, Germany")
FORMER = asked("In which town does Varo Mills sit?", "Varo Mills", "P159", "Bern")
HEAD = asked("Who leads Varo Mills?", "Varo Mills", "P169", "unknown", "unknown")
OWNER = asked("Who owns Varo Mills?", "Varo Mills", "P127", "Lia Roth")
TRADE = asked("In which trade is Varo Mills?", "Varo Mills", "P452", "flour", "flour milling")


def load(tmp_path: Path, records: Any) -> LoadedGraph:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return formats.load(path)


def test_the_changed_facts_of_an_event_are_requests_with_all_its_questions(tmp_path: Path) -> None:
    moved = event([SEAT, HEAD | {"target_true": "Ben Ali"}, OWNER], [TRADE])
    loaded = load(tmp_path, [moved, event(local=[FORMER])])
    assert (loaded.report.format, loaded.graph.name) == ("elken", "events")
    assert loaded.report.read == {"records": 2, "questions": 9}
    assert loaded.report.kept == {"facts": 3, "entities": 5, "rewrites": 2}
    assert {(f.subject, f.relation, f.object, f.prompt) for f in loaded.graph.facts} == {
        ("Varo Mills", "P452", "flour", "In which trade is {}?"),
        ("Varo Mills", "P159", "Bern", "In which town does {} sit?"),
        ("Varo Mills", "P169", "Ben Ali", "Who leads {}?"),
    }
    seat, head = loaded.graph.rewrites
    assert (seat.id, seat.kind) == ("case-0--varo-mills--p159--ulm", "replace")
    assert (seat.target_true, seat.target_new, seat.question) == (
        "Bern",
        "Ulm",
        SEAT["question"],
    )
    assert (head.id, head.kind) == ("case-0--varo-mills--p169--forget-ben-ali", "forget")
    assert (
        seat.checks
        == head.checks
        == (
            Check(
                "reliability/fact",
                SEAT["question"],
                ("Ulm", "Ulm, Germany"),
                old_answers=("Bern",),
            ),
            Check("reliability/unknown", HEAD["question"], ("unknown",), old_answers=("Ben Ali",)),
            Check("reliability/fact", OWNER["question"], ("Lia Roth",)),
            Check(
                "locality/fact",
                TRADE["question"],
                ("flour", "flour milling"),
                old_answers=("flour", "flour milling"),
            ),
            Check(
                "reliability/tendency",
                "Options: Increase; Decrease; No change. How may the rents in Ulm change?",
                ("Increase",),
                wrong=("Decrease", "No change"),
            ),
            Check(
                "locality/tendency",
                "Options: Increase; Decrease; No change. How may the rain in Ulm change?",
                ("No change",),
                wrong=("Increase", "Decrease"),
            ),
        )
    )
    assert loaded.graph.aliases("flour") == ("flour milling",)
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert note.where == "record 0, fact.qas"
    assert note.reason.startswith("1 of 3 questions: each states no old object")
    assert "add 'target_true' to the question: 'Who owns Varo Mills?'" in note.reason


@pytest.mark.parametrize(
    ("bad", "where", "reason"),
    [
        (event([TRADE | {"subject": {"id": "Q1"}}]), "fact.qas[0], subject", "'name' is missing"),
        (event([TRADE | {"answer": "Ulm"}]), "fact.qas[0], answer", "expected an object"),
        (event([TRADE | {"question": "Where?"}]), "fact.qas[0], question", "does not name the"),
        (event(local=["a"]), "fact.local_qas[0]", "expected an object, found text"),
        (event(), "fact.qas", "the event changes tendencies only"),
        (event(fact=3), "fact", "expected an object, found a number"),
        (event([SEAT], event=""), "event", "is empty"),
        (
            event([SEAT], tendency={"qas": [tendency("How?", "D")]}),
            "tendency.qas[0], answer",
            "is none of the options '(A) Increase",
        ),
    ],
)
def test_an_unusable_question_or_event_is_refused_and_the_rest_is_read(
    tmp_path: Path, bad: dict[str, Any], where: str, reason: str
) -> None:
    loaded = load(tmp_path, [event(local=[TRADE]), bad])
    notes = [n for n in loaded.report.notes if n.kind == "refused"]
    assert any(n.where == f"record 1, {where}" and reason in n.reason for n in notes), notes
    assert [fact.object for fact in loaded.graph.facts] == ["flour"]


def test_events_without_an_old_object_anywhere_are_refused_with_what_to_add(
    tmp_path: Path,
) -> None:
    with pytest.raises(SchemaError, match=r"record 0, fact\.qas: .*add 'target_true' to the"):
        load(tmp_path, [event([OWNER])])


def test_the_other_name_of_a_subject_is_read(tmp_path: Path) -> None:
    owner = OWNER | {"subject": {"id": "Q1", "ent2name": "Varo Mills"}, "target_true": "Bo Lind"}
    (request,) = load(tmp_path, [event([owner])]).graph.rewrites
    assert (request.subject, request.target_true) == ("Varo Mills", "Bo Lind")


def test_the_real_events_change_no_fact_and_say_so(data_dir: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        formats.load(data_dir / "others" / "elken_train_first4.json")
    told = "none of the 4 can be used: record 0, fact.qas: is empty, and so is fact.local_qas"
    assert told in caught.value.detail
