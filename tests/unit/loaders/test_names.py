"""Names that are none, names in several spellings, and rows and files that do not belong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import LoadedGraph
from thinkeval.loaders.texts import folded, is_placeholder, name_flaw, tidy


def load(tmp_path: Path, name: str, text: str) -> LoadedGraph:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return formats.load(tmp_path / name)


def table(*rows: str) -> str:
    return "\n".join(("Entity,Relationship,Attribute", *rows)) + "\n"


def notes(loaded: LoadedGraph) -> dict[str, str]:
    return {f"{note.kind} {note.where}": note.reason for note in loaded.report.notes}


def record(subject: str, true: str, new: str, relation: str = "P1") -> dict[str, object]:
    rewrite = {
        "prompt": "{} plays for",
        "relation_id": relation,
        "subject": subject,
        "target_true": {"str": true},
        "target_new": {"str": new},
    }
    return {"requested_rewrite": rewrite, "paraphrase_prompts": []}


# --- Placeholders ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "N/A",
        "#n/a",
        "Unknown",
        "NaN",
        "NA",
        "–",
        "--",
        "?",
        "…",
        "NULL",
        "not  available",
        "undefined",
    ],
)
def test_placeholder(name: str) -> None:
    assert is_placeholder(name)


@pytest.mark.parametrize("name", ["Nan", "Na", "No", "0", "Unknown Mortal Orchestra", "X-", "!!!"])
def test_no_placeholder(name: str) -> None:
    assert not is_placeholder(name)


def test_rows_with_a_placeholder_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = ("Ada,born in,London", "Bob,born in,#N/A", "unknown,born in,Rome", "Eve,born in,--")
    loaded = load(tmp_path, "people.csv", table(*rows))
    assert loaded.report.kept["facts"] == 1
    reason = notes(loaded)["refused 3 facts"]
    assert "'#N/A', 'unknown', '--'" in reason
    assert "people.csv, line 3" in reason


def test_null_is_a_surname_where_other_rows_have_names(tmp_path: Path) -> None:
    names = ("Bob,surname,Null", "Ada,surname,Smith", "Eve,surname,Moore")
    ages = ("Bob,age,Null", "Ada,age,12", "Eve,age,undefined")
    loaded = load(tmp_path, "people.csv", table(*names, *ages))
    kept = [(fact.subject, fact.object) for fact in loaded.graph.facts]
    assert kept == [("Ada", "12"), ("Ada", "Smith"), ("Bob", "Null"), ("Eve", "Moore")]
    found = notes(loaded)
    assert found["flagged object of 'surname'"].startswith("Null is kept as a name: 2 other rows")
    assert "'undefined', 'Null'" in found["refused 2 facts"]


def test_a_file_of_placeholders_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="line 2: every fact has a placeholder: 'TBD'"):
        load(tmp_path, "people.csv", table("Bob,born in,TBD"))


GRAPH = """
relations: {title: {prompt: "A song by {} is"}}
facts: {Portishead: {title: [Unknown, Roads]}}
"""


def test_aliases_are_of_the_entity_in_whatever_case_they_name_it(tmp_path: Path) -> None:
    named = "entities: {PORTISHEAD: {aliases: [The Trio]}}\n"
    loaded = load(tmp_path, "songs.yaml", GRAPH + named)
    assert loaded.graph.aliases("Portishead") == ("The Trio",)
    assert "'PORTISHEAD' for 'Portishead'" in notes(loaded)["repaired 1 alias entries"]


def test_a_declared_entity_is_a_name(tmp_path: Path) -> None:
    loaded = load(tmp_path, "songs.yaml", GRAPH)
    assert [fact.object for fact in loaded.graph.facts] == ["Roads"]
    assert "facts, 'Portishead', 'title'" in notes(loaded)["refused 1 facts"]
    declared = load(tmp_path, "songs.yaml", GRAPH + "entities: {Unknown: {kind: song}}\n")
    assert [fact.object for fact in declared.graph.facts] == ["Roads", "Unknown"]
    assert not notes(declared)


@pytest.mark.parametrize("name", ["<|im_end|>", "</s>", "[PAD]", "Oslo<|eot_id|>", "<pad>"])
def test_a_special_token_is_no_name(tmp_path: Path, name: str) -> None:
    records = [record("Ada", "Ajax", "Arsenal"), record("Bob", name, "Chelsea")]
    loaded = load(tmp_path, "edits.json", json.dumps(records))
    assert loaded.report.kept["rewrites"] == 1
    reason = notes(loaded)["refused record 1, requested_rewrite, target_true.str"]
    assert "is a special token of a tokenizer" in reason
    with pytest.raises(SchemaError, match=r"line 2, Attribute: .* special token"):
        load(tmp_path, "people.csv", table(f"Bob,born in,{name}"))


@pytest.mark.parametrize("name", ["[Verse 1]", "a < b > c", "<3", "[PAD] system", "S"])
def test_brackets_in_names(name: str) -> None:
    assert name_flaw(name) is None


def test_a_record_with_a_placeholder_is_refused_with_its_field(tmp_path: Path) -> None:
    records = [record("Ada", "Ajax", "Arsenal"), record("Bob", "Chelsea", "n/a")]
    found = notes(load(tmp_path, "edits.json", json.dumps(records)))
    assert "'n/a' is a placeholder" in found["refused record 1, requested_rewrite, target_new.str"]


# --- Spellings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Mu\u0308nchen", "M\xfcnchen"),
        ("San\xa0Jose", "San Jose"),
        ("San \u2009 Jose", "San Jose"),
        ("San\u200b Jose\ufeff", "San Jose"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)  # fmt: skip
def test_tidy(written: str, name: str) -> None:
    assert tidy(written) == name
    assert folded(written) == folded(name.upper())


def test_spellings_of_one_name_are_one_entity(tmp_path: Path) -> None:
    rows = (
        "Ada,lives in,Mu\u0308nchen",
        "M\xfcnchen,lies in,Upper\xa0Bavaria",
        "Upper  Bavaria,lies in,Germany",
    )
    loaded = load(tmp_path, "places.csv", table(*rows))
    names = {entity.name: entity.aliases for entity in loaded.graph.entities}
    assert set(names) == {"Ada", "M\xfcnchen", "Upper Bavaria", "Germany"}
    assert names["M\xfcnchen"] == ("Mu\u0308nchen",)
    reason = notes(loaded)["merged entity 'Upper Bavaria'"]
    assert r"'Upper\xa0Bavaria'" in reason
    assert "spaces" in reason


@pytest.mark.parametrize(("usual", "other"), [("chess", "Chess"), ("Chess", "chess")])
def test_the_spelling_of_most_facts_is_the_name(tmp_path: Path, usual: str, other: str) -> None:
    rows = (f"Ada,plays,{other}", f"Bob,plays,{usual}", f"Eve,plays,{usual}")
    loaded = load(tmp_path, "games.csv", table(*rows))
    names = {entity.name: entity.aliases for entity in loaded.graph.entities}
    assert names[usual] == (other,)
    assert other not in names
    assert {fact.object for fact in loaded.graph.facts} == {usual}


def test_one_spelling_is_stored_clean(tmp_path: Path) -> None:
    loaded = load(tmp_path, "places.csv", table("Ada,lives\xa0in,New\xa0York"))
    (fact,) = loaded.graph.facts
    assert (fact.relation, fact.object) == ("lives in", "New York")
    assert r"'New\xa0York'" in notes(loaded)["repaired 1 names"]


# --- Contradicting records ------------------------------------------------------------------------


def test_records_that_contradict_each_other_are_noted(tmp_path: Path) -> None:
    records = [
        record("Ada", "Ajax", "Arsenal"),
        record("ada", "Chelsea", "Arsenal"),
        record("Ada", "Ajax", "Bayern", relation="P2"),
        record("Bob", "AJAX", "Bayern"),
        record("Bob", "Ajax", "Bayern"),
    ]
    loaded = load(tmp_path, "edits.json", json.dumps(records))
    (found,) = loaded.report.findings
    assert (found.code, found.where) == ("contradicting-objects", "'Ada' 'P1'")
    assert found.reason == "has 2 (Ajax, Chelsea): a request replaces its object"
    assert loaded.report.kept["rewrites"] == 5


# --- Empty cells, and statements of another data set ----------------------------------------------


def test_a_row_with_an_empty_cell_is_refused_alone(tmp_path: Path) -> None:
    loaded = load(tmp_path, "people.csv", table("Ada,born in,London", "Bob,,Rome", ",born in,Oslo"))
    assert loaded.report.kept["facts"] == 1
    found = notes(loaded)
    assert found["refused people.csv, line 3, Relationship"] == "is empty"
    assert found["refused people.csv, line 4, Entity"] == "is empty"
    with pytest.raises(SchemaError, match="line 2, Attribute: is empty"):
        load(tmp_path, "people.csv", table("Bob,born in,"))


STATED = "beginning_object,ending_object,predicate,statement1\n"
OWN = "Ada,London,born in,Ada saw the light of day in\n"
OTHERS = "Bob,Rome,born in,Bob came from\nEve,Oslo,born in,Eve is of\n"


def test_statements_of_another_data_set_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "town_samples.csv").write_text(STATED + OWN + OTHERS, encoding="utf-8")
    loaded = load(tmp_path, "people.yaml", "Ada:\n  born in: [London]\n")
    assert loaded.graph.facts[0].prompt == "{} was born in"
    assert "only 1 of its 3 rows" in notes(loaded)["flagged town_samples.csv"]
    assert "statements" not in loaded.report.read


@pytest.mark.parametrize(
    ("name", "rows"), [("people_samples.csv", OWN + OTHERS), ("samples.csv", OWN + OTHERS[:31])]
)
def test_statements_belong_by_name_or_content(tmp_path: Path, name: str, rows: str) -> None:
    (tmp_path / name).write_text(STATED + rows, encoding="utf-8")
    loaded = load(tmp_path, "people.yaml", "Ada:\n  born in: [London]\n")
    assert loaded.graph.facts[0].prompt == "{} saw the light of day in"
