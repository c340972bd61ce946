"""MQuAKE: cases of our own in its layout, and the real file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import Check, LoadedGraph

RELATIONS = {
    "P27": ("{} is a citizen of", "Of which country is {} a citizen?", "citizen of"),
    "P36": ("The capital of {} is", "What is the capital of {}?", "capital"),
}


def hop(subject: str, relation: str, answer: str, *aliases: str) -> dict[str, Any]:
    cloze, question, _ = RELATIONS[relation]
    return {
        "cloze": cloze.replace("{}", subject),
        "question": question.replace("{}", subject),
        "answer": answer,
        "answer_alias": list(aliases),
    }


def edit(subject: str, relation: str, true: str, new: str) -> dict[str, Any]:
    cloze, question, _ = RELATIONS[relation]
    return {
        "prompt": cloze,
        "relation_id": relation,
        "subject": subject,
        "question": question.replace("{}", subject),
        "target_true": {"str": true, "id": "Q1"},
        "target_new": {"str": new, "id": "Q2"},
    }


def case(**changed: Any) -> dict[str, Any]:
    """Anna moves from Norway to Austria, whose capital moves to Graz."""
    before = [("Anna", "P27", "Norway"), ("Norway", "P36", "Oslo")]
    after = [("Anna", "P27", "Austria"), ("Austria", "P36", "Graz")]
    return {
        "case_id": 7,
        "requested_rewrite": [
            edit("Anna", "P27", "Norway", "Austria"),
            edit("Austria", "P36", "Vienna", "Graz"),
        ],
        "questions": [f"Question {i} on the capital of Anna's country?" for i in range(3)],
        "answer": "Oslo",
        "answer_alias": ["Kristiania"],
        "new_answer": "Graz",
        "new_answer_alias": [],
        "single_hops": [hop(*before[0], "NO"), hop(*before[1], "Kristiania")],
        "new_single_hops": [hop(*each) for each in after],
        "orig": {
            "triples": [[f"Q{s}", r, f"Q{o}"] for s, r, o in before],
            "triples_labeled": [[s, RELATIONS[r][2], o] for s, r, o in before],
            "new_triples": [[f"Q{s}", r, f"Q{o}"] for s, r, o in after],
            "new_triples_labeled": [[s, RELATIONS[r][2], o] for s, r, o in after],
        },
    } | changed


def load(tmp_path: Path, records: Any) -> LoadedGraph:
    path = tmp_path / "MQuAKE-own.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return formats.load(path)


def test_a_case_is_a_chain_and_its_edits_are_requests_with_its_id(tmp_path: Path) -> None:
    loaded = load(tmp_path, [case()])
    assert (loaded.report.format, loaded.graph.name) == ("mquake", "mquake-own")
    assert loaded.report.read == {"records": 1, "rewrites": 2, "questions": 3}
    assert loaded.report.kept == {"facts": 3, "entities": 6, "rewrites": 2}
    ids = ("case-7--anna--p27--austria", "case-7--austria--p36--graz")
    assert tuple(r.id for r in loaded.graph.rewrites) == ids
    assert {(f.subject, f.relation, f.object): f.cases for f in loaded.graph.facts} == {
        ("Anna", "P27", "Norway"): ids,
        ("Norway", "P36", "Oslo"): ids,
        ("Austria", "P36", "Vienna"): ids,
    }
    anna = next(f for f in loaded.graph.facts if f.subject == "Anna")
    assert (anna.prompt, anna.questions) == (
        "{} is a citizen of",
        ("Of which country is Anna a citizen?",),
    )
    assert loaded.graph.aliases("Norway") == ("NO",)


def test_the_multi_hop_questions_are_one_group_and_every_hop_is_asked(tmp_path: Path) -> None:
    first, second = load(tmp_path, [case()]).graph.rewrites
    assert first.checks == second.checks
    multi, single = first.checks[:3], first.checks[3:]
    assert multi[1] == Check(
        "multi_hop",
        "Question 1 on the capital of Anna's country?",
        ("Graz",),
        group="case-7",
        old_answers=("Oslo", "Kristiania"),
    )
    assert [(c.criterion, c.prompt, c.answers, c.old_answers, c.every) for c in single] == [
        (
            "single_hop",
            "Of which country is Anna a citizen?",
            ("Austria",),
            ("Norway", "NO"),
            True,
        ),
        ("single_hop", "What is the capital of Austria?", ("Graz",), (), True),
    ]


def test_cases_with_the_same_id_are_kept_apart(tmp_path: Path) -> None:
    loaded = load(tmp_path, [case(), case()])
    assert len(loaded.graph.rewrites) == 4
    assert sum(r.id.startswith("case-7-2--") for r in loaded.graph.rewrites) == 2
    assert "case-7 (2 records)" in next(
        n.reason for n in loaded.report.notes if n.where == "1 case ids"
    )


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        ({"requested_rewrite": []}, "requested_rewrite", "is empty"),
        ({"requested_rewrite": {}}, "requested_rewrite", "expected a list, found an object"),
        (
            {"requested_rewrite": [edit("Anna", "P27", "Norway", "Norway")]},
            "requested_rewrite[0]",
            "are the same",
        ),
        (
            {"requested_rewrite": [edit("Anna", "P27", "Norway", "Austria")] * 2},
            "requested_rewrite[1]",
            "listed twice",
        ),
        ({"single_hops": []}, "", "single_hops has 0 hops, orig has 2 triples and 2"),
        ({"single_hops": [hop("Ben", "P27", "a")] * 2}, "single_hops[0], cloze", "'Anna'"),
        ({"orig": {}}, "orig", "the field 'triples' is missing"),
        ({"questions": "one"}, "questions", "expected a list"),
        ({"new_answer": None}, "new_answer", "expected text, found null"),
    ],
)
def test_a_bad_case_is_refused_and_the_rest_is_read(
    tmp_path: Path, change: dict[str, Any], where: str, reason: str
) -> None:
    loaded = load(tmp_path, [case(**change), case(case_id=8)])
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert note.where == f"record 0, {where}".removesuffix(", ")
    assert reason in note.reason
    assert {r.id[:6] for r in loaded.graph.rewrites} == {"case-8"}
    with pytest.raises(SchemaError, match="none of the 1 can be used"):
        load(tmp_path, [case(**change)])


def test_the_real_file_has_its_counts(data_dir: Path) -> None:
    path = data_dir / "mquake" / "MQuAKE-hard.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    loaded = formats.load(path)
    assert loaded.report.read == {"records": 429, "rewrites": 429 * 4, "questions": 429 * 3}
    stated = {
        (labeled[0], ids[1], labeled[2])
        for record in records
        for ids, labeled in zip(
            record["orig"]["triples"], record["orig"]["triples_labeled"], strict=True
        )
    }
    edits = [edit for record in records for edit in record["requested_rewrite"]]
    replaced = {(e["subject"], e["relation_id"], e["target_true"]["str"]) for e in edits}
    (itself,) = [(s, r, o) for s, r, o in stated | replaced if s == o]
    facts = {(f.subject, f.relation, f.object): f for f in loaded.graph.facts}
    assert set(facts) == (stated | replaced) - {itself}
    assert loaded.report.kept == {"facts": len(facts), "entities": 1120, "rewrites": 1716}
    by_case: dict[str, set[tuple[str, str, str]]] = {}
    for rewrite in loaded.graph.rewrites:
        number = rewrite.id.split("--")[0]
        edited = (rewrite.subject, rewrite.relation, rewrite.target_new)
        by_case.setdefault(number, set()).add(edited)
        assert [c.criterion for c in rewrite.checks] == ["multi_hop"] * 3 + ["single_hop"] * 4
    assert by_case == {
        f"case-{record['case_id']}": {
            (e["subject"], e["relation_id"], e["target_new"]["str"])
            for e in record["requested_rewrite"]
        }
        for record in records
    }
    for record in records:
        case_ids = {r for r in by_case if r == f"case-{record['case_id']}"}
        for ids, labeled in zip(
            record["orig"]["triples"], record["orig"]["triples_labeled"], strict=True
        ):
            key = (labeled[0], ids[1], labeled[2])
            if key != itself:
                assert case_ids <= {of.split("--")[0] for of in facts[key].cases}
