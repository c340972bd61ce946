"""TOFU and RWKU: requests to forget, from small files of our own in their layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats, graph_yaml
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, LoadedGraph

NAME = "Mira Al-Sol"
BORN = {
    "task_id": "1",
    "question": f"In which town was {NAME} born?",
    "answer": f"{NAME} was born in Port Nil.",
    "paraphrased_question": f"What is {NAME}'s town of birth?",
    "paraphrased_answer": f"The town of {NAME}'s birth is Port Nil.",
    "perturbed_answer": ["It is Ulm.", "It is Bern."],
}
GENRE = {"question": f"What does {NAME} write?", "answer": "Mira Al-Sol writes sea novels."}
PRIZE = {"question": "Did Mira Al-Sol's Port Nil win?", "answer": "It won in Port Nil."}
UNNAMED = {"question": "Who was born in Port Nil on 1 May?", "answer": f"It is {NAME}."}


def load(tmp_path: Path, records: list[Any], name: str = "forget01.json") -> LoadedGraph:
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return formats.load(path)


def test_a_tofu_question_is_a_request_to_forget_its_answer(tmp_path: Path) -> None:
    loaded = load(tmp_path, [BORN, GENRE, PRIZE])
    assert loaded.report.format == "tofu"
    assert loaded.report.read == {"records": 3, "checks": 5}
    assert loaded.report.kept == {"facts": 3, "entities": 4, "rewrites": 3}
    born = next(r for r in loaded.graph.rewrites if r.checks[0].prompt == BORN["question"])
    assert (born.kind, born.subject, born.target_new) == ("forget", NAME, "")
    assert (born.prompt, born.target_true) == ("In which town was {} born?", BORN["answer"])
    assert born.paraphrases == ("What is {}'s town of birth?",)
    assert born.id.startswith("mira-al-sol--in-which-town-was-born--forget-mira-al-sol-was")
    assert born.checks == (
        Check("answer", born.filled_prompt, (born.target_true,)),
        Check("paraphrased", f"What is {NAME}'s town of birth?", (born.target_true,)),
        Check(
            "truth_ratio",
            born.filled_prompt,
            (f"The town of {NAME}'s birth is Port Nil.",),
            wrong=("It is Ulm.", "It is Bern."),
        ),
    )
    (note,) = [n for n in loaded.report.notes if n.kind == "repaired"]
    assert (note.where, note.reason[-15:]) == ("3 subjects", "Mira Al-Sol (3)")
    assert "" not in {entity.name for entity in loaded.graph.entities}


@pytest.mark.parametrize(
    ("bad", "where", "reason"),
    [
        (UNNAMED, "question", f"does not name the subject '{NAME}'"),
        (
            {"question": "Who is Ben Ali?", "answer": "A man."},
            "question",
            "names no subject that 3",
        ),
        ({"question": "Who?"}, "answer", "expected text, found null"),
        ({"answer": "A man."}, "", "the field 'question' is missing"),
        (BORN | {"perturbed_answer": "one"}, "perturbed_answer", "expected a list"),
        (BORN | {"subject": "Ben"}, "question", "does not name the subject 'Ben'"),
        (BORN | {"answer": "x" * 1001}, "answer", "at most 1,000 characters"),
        (["a"], "", "expected an object, found a list"),
    ],
)
def test_a_bad_tofu_record_is_refused_and_the_rest_is_read(
    tmp_path: Path, bad: Any, where: str, reason: str
) -> None:
    path = tmp_path / "forget.json"
    path.write_text(json.dumps([BORN, GENRE, PRIZE, bad]), encoding="utf-8")
    loaded = formats.load(path, format="tofu")
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert note.where == f"record 3, {where}".removesuffix(", ")
    assert reason in note.reason
    assert len(loaded.graph.rewrites) == 3


def test_a_subject_is_the_longest_name_and_every_contradiction_is_named(tmp_path: Path) -> None:
    wars = ["World War I", "World War II", "the Second Punic War", "the Third Punic War"]
    records = [
        {"question": text.format(war), "answer": f"{text[:4]} {war} {i}."}
        for war in wars
        for i, text in enumerate(["When did {} end?", "Who won {}?", "Who won {}?"])
    ]
    loaded = load(tmp_path, [*records, BORN, GENRE, PRIZE])
    found = {fact.subject for fact in loaded.graph.facts}
    assert found == {NAME, *(war.removeprefix("the ") for war in wars)}
    contradictions = [n for n in loaded.report.findings if n.code == "contradicting-objects"]
    assert len(contradictions) == len(wars)


def test_a_subject_that_is_stated_needs_no_other_question(tmp_path: Path) -> None:
    loaded = load(tmp_path, [{"question": "Who is Ben?", "answer": "A man.", "subject": "Ben"}])
    assert [(r.subject, r.prompt) for r in loaded.graph.rewrites] == [("Ben", "Who is {}?")]
    with pytest.raises(SchemaError, match="give the record a field 'subject'"):
        load(tmp_path, [{"question": "Who is Ben Ali?", "answer": "A man."}])


def probe(level: object, query: str, answer: str = "Port Nil", **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": answer, "subject": NAME, "level": level} | more


FIRST = probe("1", f"{NAME} was born in ___ in spring.")
SECOND = probe(2, f"In which town was {NAME} born?")
THIRD = probe("3", "Play a clerk: her town?", type="role play")


def test_rwku_probes_are_requests_with_their_levels_as_checks(tmp_path: Path) -> None:
    loaded = load(tmp_path, [FIRST, SECOND, THIRD], "probes.jsonl")
    assert loaded.report.format == "rwku"
    assert loaded.report.read == {"records": 3, "checks": 3}
    assert [(r.prompt, r.question, r.target_true, r.kind) for r in loaded.graph.rewrites] == [
        ("In which town was {} born?", SECOND["query"], "Port Nil", "forget"),
        ("{} was born in", None, "Port Nil", "forget"),
    ]
    assert loaded.graph.rewrites[0].checks == (
        Check("forget_level2", SECOND["query"], ("Port Nil",)),
    )
    assert loaded.graph.rewrites[1].checks == (
        Check("forget_level1", FIRST["query"], ("Port Nil",)),
        Check("forget_level3/role play", THIRD["query"], ("Port Nil",)),
    )


@pytest.mark.parametrize(
    ("bad", "where", "reason"),
    [
        (probe("4", f"Who is {NAME}?"), ", level", "'4' is none of the levels 1, 2, 3"),
        (probe("2", "Who is her neighbour?"), ", query", "does not name the subject"),
        (probe("1", f"___ was {NAME}'s town."), ", query", "does not name the subject"),
        (probe("3", "What?", "Ulm"), "", "join the files of the levels to one"),
        (probe("2", f"Who is {NAME}?", "N/A"), ", answer", "is a placeholder"),
    ],
)
def test_a_bad_probe_is_refused_and_the_rest_is_read(
    tmp_path: Path, bad: dict[str, Any], where: str, reason: str
) -> None:
    loaded = load(tmp_path, [FIRST, bad])
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert note.where == f"record 1{where}"
    assert reason in note.reason
    assert len(loaded.graph.rewrites) == 1


def test_level_3_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="records: a probe of level 3 belongs to a request"):
        load(tmp_path, [THIRD])


def test_a_request_to_forget_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "relations: {in: {prompt: '{} is in'}}\nfacts: {Anna: {in: Norway}}\n"
        "rewrites: [{subject: Anna, relation: in, forget: true}]\n",
        encoding="utf-8",
    )
    (request,) = graph_yaml.load(path).graph.rewrites
    assert (request.kind, request.id) == ("forget", "anna--in--forget-norway")
    for wrong in ("forget: no", "forget: true, target_new: Rome"):
        bad = path.with_name("bad.yaml")
        bad.write_text(path.read_text("utf-8").replace("forget: true", wrong), "utf-8")
        with pytest.raises(SchemaError, match=r"rewrites\[0\], forget: expected true"):
            graph_yaml.load(bad)
