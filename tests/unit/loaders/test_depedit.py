"""DepEdit's JSONL: ours comes back as it was, the published schema is read, bad lines are told."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import depedit, graphs, rules
from thinkeval.loaders.depedit_records import from_json, rule_from_json, rule_to_json, to_json
from thinkeval.loaders.errors import SchemaError, UnreadableFileError
from thinkeval.loaders.graph_yaml import load
from thinkeval.loaders.knowledge_sets import SETTINGS, KnowledgeSet
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.depedit.sets import SetOptions, draw, material_of

ATLAS = material_of(load(graphs.path("atlas")).graph)
_PATH = rules.path("atlas")
assert _PATH is not None
RULES = load_rules(_PATH)


def built(setting: str = "CQ_DT", law: int = 0, seed: int = 0) -> KnowledgeSet:
    return draw(ATLAS, RULES[law], SetOptions(setting=setting, seed=seed))


def fact(q: str | None, s: str, r: str, o: str, is_update: bool = False) -> dict[str, Any]:
    return {"q": q, "a": o, "trips": [s, r, o], "is_update": is_update}


def phase(
    franklin: str, updated: bool, follows: str | None, *, ann: str = "York"
) -> dict[str, Any]:
    """Two people, two cities: as the authors' README shows a phase."""
    facts = [
        fact("Which city was Franklin from?", "Franklin", "city", franklin, updated),
        fact("Which city was Ann from?", "Ann", "city", ann),
        fact("Which country is York in?", "York", "country", "England"),
        fact("Which country is Nice in?", "Nice", "country", "France"),
        fact(None, "Rome", "country", "Italy"),
    ]
    rephrased = [
        {"q": f"{f['trips'][0]}: {f['trips'][1]}?", "a": f["a"], "is_update": f["is_update"]}
        for f in facts
    ]
    implied = [
        {"q": "Which country is Ann from?", "a": "England", "trips": ["Ann", "home", "England"]},
        {
            "q": follows and "Which country is Franklin from?",
            "a": follows,
            "trips": ["Franklin", "home", follows],
            "is_update": updated,
        },
    ]
    return {
        "facts": facts,
        "rule": {
            "pre1": "[City A] is located in [Country A].",
            "pre2": "[Person A] is from [City A].",
            "imp": "[Person A] is from [Country A].",
        },
        "queries": {
            "original": {"facts": facts, "inference": implied},
            "semantic-equiv": {"facts": rephrased, "inference": implied},
        },
    }


def published() -> dict[str, Any]:
    """A record without any key of ours: one copy updates, one loses an implication."""
    return {
        "init": phase("York", True, "England"),
        "0": phase("Nice", True, "France"),
        "1": phase("Rome", True, None),
        "score": [5, 4],
    }


def written(path: Path, *records: Any) -> Path:
    path.write_text(
        "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records),
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("law", range(3))
@pytest.mark.parametrize("setting", SETTINGS)
def test_what_is_written_is_read_back(setting: str, law: int, tmp_path: Path) -> None:
    sets = [built(setting, law, seed) for seed in range(2)]
    path = tmp_path / "sets.jsonl"
    path.write_text(depedit.write(sets), encoding="utf-8")
    loaded = depedit.read(path, strict=True)
    assert list(loaded.sets) == sets
    assert loaded.refused == loaded.notes == ()
    assert depedit.write(loaded.sets) == path.read_text(encoding="utf-8")


def test_a_set_that_loses_and_gains_implications_comes_back(tmp_path: Path) -> None:
    record = depedit.read(written(tmp_path / "a.jsonl", published())).sets[0]
    assert record.copies[1].lost
    assert from_json(to_json(record)) == record


def test_a_rule_comes_back() -> None:
    for law in RULES:
        again = rule_from_json(json.loads(json.dumps(rule_to_json(law))))
        assert again == law
        assert again.id == law.id


def test_our_files_hold_the_published_schema() -> None:
    knowledge = built("ICQ_DT")
    record = to_json(knowledge)
    assert [key for key in record if key.isdecimal()] == ["0", "1", "2"]
    for key in ("init", "0", "1", "2"):
        part = record[key]
        assert len(part["facts"]) == 24
        assert {"q", "a", "trips", "is_update"} <= set(part["facts"][0])
        assert set(part["rule"]) == {"pre1", "pre2", "imp"}
        assert set(part["queries"]) - {"irre"} == {"original", "semantic-equiv"}
        assert len(part["queries"]["original"]["inference"]) >= 12
    assert sum(f["is_update"] for f in record["0"]["facts"]) == 20
    asked = record["0"]["queries"]["semantic-equiv"]["facts"]
    assert all(one["q"] != two["q"] for one, two in zip(record["0"]["facts"], asked, strict=True))
    assert len(record["init"]["queries"]["irre"]) == 5


def test_our_files_are_read_as_published_ones_too(tmp_path: Path) -> None:
    """Without what we add, all but the wording of implications' edits can be told."""
    for law in range(3):
        knowledge = built("ICQ_DT", law)
        record = to_json(knowledge)
        del record["thinkeval"]
        path = written(tmp_path / "plain.jsonl", record)
        again = depedit.read(path, setting="ICQ_DT").sets[0]
        assert again.rule.relations == knowledge.rule.relations
        assert again.rule.inverse == knowledge.rule.inverse
        assert [q.question for q in again.specific] == [q.question for q in knowledge.specific]
        assert again.specific == knowledge.specific
        assert [i.premises for i in again.implications] == [
            i.premises for i in knowledge.implications
        ]
        for one, two in zip(again.copies, knowledge.copies, strict=True):
            assert (one.kept, one.lost, one.updates) == (two.kept, two.lost, two.updates)
            assert [i.qa.key for i in one.updated] == [i.qa.key for i in two.updated]


def test_the_published_schema_is_read(tmp_path: Path) -> None:
    loaded = depedit.read(written(tmp_path / "De P.jsonl", published() | {"gp_id": "12_3"}))
    knowledge = loaded.sets[0]
    assert knowledge.id == "de-p-12-3"
    assert knowledge.rule.relations == ("city", "country", "home")
    assert knowledge.rule.inverse == (False, False)
    assert knowledge.rule.text() == (
        "If [Person A] is from [City A], and [City A] is located in [Country A], then [Person A]"
        " is from [Country A]."
    )
    assert dict(knowledge.rule.words) == {"x": "Person A", "y": "City A", "z": "Country A"}
    assert [qa.object for qa in knowledge.specific] == ["York", "York", "England", "France"]
    assert knowledge.specific[0].prompt == "Which city was {} from?"
    assert knowledge.specific[0].question == "Which city was Franklin from?"
    ann, franklin = knowledge.implications
    assert franklin.premises == (("Franklin", "city"), ("York", "country"))
    updates, loses = knowledge.copies
    assert [qa.object for qa in updates.updates] == ["Nice"]
    assert [(i.qa.key, i.qa.object) for i in updates.updated] == [(("Franklin", "home"), "France")]
    assert updates.kept == (ann.qa.key,)
    assert (loses.kept, loses.lost) == ((ann.qa.key,), (franklin.qa.key,))
    assert knowledge.unrelated == ()


def test_inconsistent_questions_are_the_rephrased_ones(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", _no_nulls(published()))
    knowledge = depedit.read(path, setting="ICQ_DT").sets[0]
    assert knowledge.specific[0].prompt == "Which city was {} from?"
    assert knowledge.specific[0].question == "Franklin: city?"


def _no_nulls(record: dict[str, Any]) -> dict[str, Any]:
    for part in record.values():
        if isinstance(part, dict):
            part["facts"] = [f for f in part["facts"] if f["q"]]
            for name in ("original", "semantic-equiv"):
                asked = part["queries"][name]["facts"]
                part["queries"][name]["facts"] = asked[: len(part["facts"])]
    return record


def test_implications_without_triples_are_found_by_what_they_name(tmp_path: Path) -> None:
    record = published()
    for part in ("init", "0", "1"):
        for name in ("original", "semantic-equiv"):
            for item in record[part]["queries"][name]["inference"]:
                item.pop("trips", None)
    knowledge = depedit.read(written(tmp_path / "a.jsonl", record)).sets[0]
    assert [i.qa.subject for i in knowledge.implications] == ["Ann", "Franklin"]
    assert [i.qa.object for i in knowledge.copies[0].updated] == ["France"]
    assert [key[0] for key in knowledge.copies[1].lost] == ["Franklin"]


def test_unrelated_facts_are_drawn_from_a_line_that_shares_no_relation(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", published(), to_json(built()))
    first, second = depedit.read(path).sets
    assert len(first.unrelated) == 5
    assert {(q.key, q.object) for q in first.unrelated} <= {
        (q.key, q.object) for q in second.specific
    }
    assert depedit.read(path).sets[0] == first
    assert depedit.read(path, seed=1).sets[0].unrelated != first.unrelated
    notes = depedit.read(path).notes
    assert [(note.line, note.reason) for note in notes if "drawn" in note.reason] == [
        (1, "5 unrelated facts drawn from other lines")
    ]


def test_unrelated_facts_that_were_sampled_beforehand_are_taken(tmp_path: Path) -> None:
    record = published()
    record["init"]["queries"]["irre"] = [fact("Who leads Tesla?", "Tesla", "ceo", "Elon")]
    knowledge = depedit.read(written(tmp_path / "a.jsonl", record)).sets[0]
    assert [(q.question, q.object) for q in knowledge.unrelated] == [("Who leads Tesla?", "Elon")]


def _broken(change: Any) -> dict[str, Any]:
    record = copy.deepcopy(published())
    change(record)
    return record


BAD = {
    "not JSON": ('{"init": ', r"line 2: column \d+: not valid JSON"),
    "a list": ("[]", "line 2: expected an object, found a list"),
    "no init": (_broken(lambda r: r.pop("init")), "line 2: the field 'init' is missing"),
    "no copy": (_broken(lambda r: (r.pop("0"), r.pop("1"))), "line 2: there is no updated copy"),
    "no rule": (_broken(lambda r: r["init"].pop("rule")), "line 2, init: the field 'rule'"),
    "a number": (
        _broken(lambda r: r["0"]["facts"][0].update(a=7)),
        "line 2, 0, facts, 0, a: expected text, found a number",
    ),
    "two parts": (
        _broken(lambda r: r["init"]["facts"][0].update(trips=["a", "b"])),
        "line 2, init, facts, 0, trips: has 2 parts",
    ),
    "strange fact": (
        _broken(lambda r: r["0"]["facts"][0].update(trips=["Zoe", "city", "Nice"])),
        "line 2, 0: the fact 'Zoe', 'city' is not among those of init",
    ),
    "two answers": (
        _broken(lambda r: r["init"]["facts"].append(fact("q?", "Ann", "city", "Nice"))),
        "line 2: two answers to one question: 'Ann', 'city'",
    ),
    "nothing follows": (
        _broken(lambda r: r["init"].update(facts=r["init"]["facts"][2:])),
        "line 2: no rule over its facts' relations",
    ),
    "ours, damaged": (
        {"init": {}, "thinkeval": {"id": "a"}},
        "line 2: has the key 'thinkeval', but not its schema",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_told_by_number_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    bad, says = BAD[name]
    good = [to_json(built(law=law)) for law in (0, 1)]
    path = written(tmp_path / "a.jsonl", good[0], bad, "", good[1])
    loaded = depedit.read(path)
    assert [knowledge.id for knowledge in loaded.sets] == [
        record["thinkeval"]["id"] for record in good
    ]
    assert [note.line for note in loaded.refused] == [2]
    with pytest.raises(SchemaError, match=says):
        depedit.read(path, strict=True)
    assert f"{path}: " not in loaded.refused[0].reason


def test_a_changed_record_of_ours_is_refused(tmp_path: Path) -> None:
    record = to_json(built())
    record["0"]["facts"][0]["a"] = "Atlantis"
    with pytest.raises(SchemaError, match="contradict each other"):
        depedit.read(written(tmp_path / "a.jsonl", record))


def test_the_same_set_twice_is_refused_once(tmp_path: Path) -> None:
    record = to_json(built())
    loaded = depedit.read(written(tmp_path / "a.jsonl", record, record))
    assert len(loaded.sets) == 1
    assert "is that of line 1" in loaded.refused[0].reason


def test_a_flag_that_the_answers_contradict_is_noted(tmp_path: Path) -> None:
    record = published()
    record["0"]["facts"][1]["is_update"] = True
    loaded = depedit.read(written(tmp_path / "a.jsonl", record))
    assert [qa.subject for qa in loaded.sets[0].copies[0].updates] == ["Franklin"]
    assert "copy 0: is_update contradicts the answers" in [n.reason for n in loaded.notes]


def test_files_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        depedit.read(tmp_path / "missing.jsonl")
    with pytest.raises(SchemaError, match="no line is a knowledge set; line 1"):
        depedit.read(written(tmp_path / "a.jsonl", "{"))
    with pytest.raises(SchemaError, match="not one of CQ_DT"):
        depedit.read(written(tmp_path / "b.jsonl", published()), setting="DT")


# --- lines that no reader may fail on -------------------------------------------------------------

LONG = "9" * 5000


def test_endless_number_costs_only_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", f'{{"gp_id": {LONG}}}', published())
    found = depedit.read(path)
    assert len(found.sets) == 1
    ((line, reason),) = [(note.line, note.reason) for note in found.refused]
    assert line == 1
    assert "number 999999999999…: has 5,000 digits" in reason


@pytest.mark.parametrize("bad", ["gp_id", "subject", "question"])
def test_names_and_texts_are_checked(tmp_path: Path, bad: str) -> None:
    record = published()
    if bad == "gp_id":
        record["gp_id"] = "a" * 60_000
    elif bad == "subject":
        record["init"]["facts"][0]["trips"][0] = "Frank\ud800lin"
    else:
        record["init"]["facts"][0]["q"] = "Which city\0 was Franklin from?"
    found = depedit.read(written(tmp_path / "a.jsonl", record, published()))
    assert len(found.sets) == 1
    (note,) = found.refused
    assert note.line == 1
    assert len(note.reason) < 500
    assert note.reason.isprintable()


def test_number_of_a_copy_has_few_digits(tmp_path: Path) -> None:
    record = published()
    record[LONG] = record["0"]
    (knowledge,) = depedit.read(written(tmp_path / "a.jsonl", record)).sets
    assert len(knowledge.copies) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", 10**30), ("seed", "1"), ("id", "a\0"), ("id", 3), ("dataset", "a" * 60_000)],
)
def test_own_record_is_checked_too(tmp_path: Path, key: str, value: object) -> None:
    record = to_json(built())
    record["thinkeval"][key] = value
    with pytest.raises(SchemaError) as caught:
        depedit.read(written(tmp_path / "a.jsonl", record), strict=True)
    assert len(caught.value.detail) < 500


def test_line_separators_in_a_text_end_no_line(tmp_path: Path) -> None:
    record = published()
    for name in ("init", "0", "1"):
        record[name]["rule"]["pre1"] += "\u2028\x85."
    text = json.dumps(record, ensure_ascii=False)
    assert len(depedit.read(written(tmp_path / "a.jsonl", text)).sets) == 1


@pytest.mark.parametrize(("n", "relations"), [(1001, 1), (51, 51)])
@pytest.mark.parametrize("name", ["init", "0"])
def test_a_set_has_few_facts(tmp_path: Path, name: str, n: int, relations: int) -> None:
    """The rule of a published set is searched among all pairs of relations and facts."""
    record = published()
    record[name]["facts"] = [fact("q?", f"s{i}", f"r{i % relations}", "o") for i in range(n)]
    (note,) = depedit.read(written(tmp_path / "a.jsonl", record, published())).refused
    assert f"{n:,} facts of {relations} relations" in note.reason
    assert f"{name}, " in note.reason
