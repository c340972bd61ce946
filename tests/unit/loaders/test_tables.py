"""Tables of facts as people have them: separators, encodings, names of columns, JSON records."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import LoaderError, SchemaError, UnreadableFileError

ROWS = "subject,relation,object\nZürich,lies in,Switzerland\nDoubs,flows through,Basel\n"
FACTS = {("Zürich", "lies in", "Switzerland"), ("Doubs", "flows through", "Basel")}


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def facts(path: Path, **options: object) -> set[tuple[str, str, str]]:
    graph = formats.load(path, **options).graph
    return {(fact.subject, fact.relation, fact.object) for fact in graph.facts}


@pytest.mark.parametrize(
    ("name", "content", "layout"),
    [
        ("a.csv", ROWS, "commas, UTF-8"),
        ("a.csv", b"\xef\xbb\xbf" + ROWS.encode(), "commas, UTF-8"),
        ("a.csv", ROWS.replace("\n", "\r\n"), "commas, UTF-8"),
        ("a.csv", ROWS.replace(",", ";"), "semicolons, UTF-8"),
        ("a.csv", "sep=;\n" + ROWS.replace(",", ";"), "semicolons, UTF-8"),
        ("a.csv", ROWS.replace(",", "|"), "bars, UTF-8"),
        ("a.tsv", ROWS.replace(",", "\t"), "tabs, UTF-8"),
        ("a.tab", ROWS.replace(",", "\t"), "tabs, UTF-8"),
        ("a.txt", ROWS.replace(",", "\t").encode("utf-16"), "tabs, UTF-16"),
        ("a.csv", ROWS.encode("utf-16-le"), "commas, UTF-16"),
        ("a.csv", ROWS.encode("utf-16-be"), "commas, UTF-16"),
        ("a.csv", ROWS.encode("cp1252"), "commas, Windows-1252"),
        ("a.csv", ROWS.replace("\n", ",\n"), "commas, UTF-8"),
        ("a.csv", ROWS.replace("\n", ",,\n") + ",,,,\n", "commas, UTF-8"),
        ("a.csv", ROWS.replace("\nZ", "\n0,Z").replace("\nD", "\n1,D").replace("s", ",s", 1),
         "commas, UTF-8"),
        ("a.csv", ROWS.replace(",", '","').replace("\n", '"\n"')[:-1].replace("s", '"s', 1),
         "commas, UTF-8"),
    ],
)  # fmt: skip
def test_separator_and_encoding_are_found_and_named(
    tmp_path: Path, name: str, content: str | bytes, layout: str
) -> None:
    path = written(tmp_path / name, content)
    assert facts(path) == FACTS
    (found,) = formats.load(path).report.layouts
    assert found.startswith(f"{name}: {layout}; subject is 'subject', relation is 'relation'")


@pytest.mark.parametrize(
    "header",
    [
        "Subject,RELATION,Object",
        "subject,predicate,object",
        "Entity,Relationship,Attribute",
        "entity,attribute,value",
        "head,relation,tail",
        "Beginning Object,predicate,ending-object",
        "subject,property,value",
        "subject,relation,target_true",
    ],
)
def test_usual_names_of_columns(tmp_path: Path, header: str) -> None:
    path = written(tmp_path / "a.csv", ROWS.replace("subject,relation,object", header))
    assert facts(path) == FACTS


def test_a_header_with_other_separators_in_a_name(tmp_path: Path) -> None:
    text = "Subject;Relation;Object;note (a, b, c, or d)\nAda;works at;Lumen, Porto;x\n"
    assert facts(written(tmp_path / "a.csv", text)) == {("Ada", "works at", "Lumen, Porto")}


def test_a_decimal_comma_between_quotes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'subject,relation,object\nAda,has height,"1,85"\n')
    assert facts(path) == {("Ada", "has height", "1,85")}


def test_a_guessed_encoding_is_a_note_with_a_word(tmp_path: Path) -> None:
    (note,) = (
        each
        for each in formats.load(written(tmp_path / "a.csv", ROWS.encode("cp1252"))).report.notes
        if each.where == "a.csv"
    )
    assert note.kind == "repaired"
    assert "Windows-1252, which is a guess: check 'Zürich'" in note.reason


def test_map_names_the_columns(tmp_path: Path) -> None:
    text = ROWS.replace("subject,relation,object", "Stadt,was,Wo").replace(",", ";")
    path = written(tmp_path / "a.csv", text)
    with pytest.raises(LoaderError) as caught:
        formats.load(path)
    assert 'Name the columns: --map "COLUMN=subject"' in caught.value.remedy
    assert "its columns are Stadt, was, Wo" in caught.value.detail
    assert facts(path, map=["Stadt=subject", "WAS=relation", "Wo=object"]) == FACTS
    (layout,) = formats.load(
        path, map=["Stadt=subject", "was=relation", "Wo=object"]
    ).report.layouts
    assert (
        layout == "a.csv: semicolons, UTF-8; subject is 'Stadt', relation is 'was', object is 'Wo'"
    )


def test_map_overrules_a_name_and_the_rest_is_named_as_not_read(tmp_path: Path) -> None:
    text = "subject,relation,object,real object,id\nAda,works at,wrong,Lumen,7\n"
    loaded = formats.load(written(tmp_path / "a.csv", text), map=["real object=object"])
    assert [fact.object for fact in loaded.graph.facts] == ["Lumen"]
    assert loaded.report.layouts[0].endswith("not read: object, id")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["town=subject"], "there is no such column"),
        (["subject=thing"], "names no role"),
        (["subject"], "names no role"),
        (["subject=object", "relation=object"], "to two columns"),
    ],
)
def test_a_wrong_map_is_refused(tmp_path: Path, given: list[str], told: str) -> None:
    with pytest.raises(LoaderError, match=told) as caught:
        formats.load(written(tmp_path / "a.csv", ROWS), map=given)
    assert caught.value.remedy


def test_map_belongs_to_tables(tmp_path: Path) -> None:
    with pytest.raises(LoaderError, match="has no option 'map'"):
        formats.load(written(tmp_path / "a.json", "[]"), format="counterfact", map=["a=subject"])


def test_new_objects_are_rewrite_requests(tmp_path: Path) -> None:
    text = (
        "Subject;Relation;Object;Target New;Prompt;Question;paraphrase1\n"
        "Ada;works at;Lumen;Harbour;{} works at;Where does Ada work?;Ada's employer is\n"
        "Ben;works at;Lumen;;;;\n"
        "Cy;works at;Lumen;Lumen;;;\n"
    )
    loaded = formats.load(written(tmp_path / "a.csv", text))
    (rewrite,) = loaded.graph.rewrites
    assert (rewrite.target_true, rewrite.target_new) == ("Lumen", "Harbour")
    assert (rewrite.prompt, rewrite.question) == ("{} works at", "Where does Ada work?")
    assert rewrite.paraphrases == ("{}'s employer is",)
    assert len(loaded.graph.facts) == 3
    (note,) = (each for each in loaded.report.notes if each.kind == "refused")
    assert (note.where, note.reason.split(",")[0]) == (
        "a.csv, line 4",
        "target_new and target_true are the same",
    )


def test_without_a_relation_it_is_the_slug_of_the_prompt(tmp_path: Path) -> None:
    text = "subject,prompt,target_true,target_new\nAda,Ada works at,Lumen,Harbour\nBen,He is,a,b\n"
    loaded = formats.load(written(tmp_path / "a.csv", text))
    assert [(f.relation, f.prompt) for f in loaded.graph.facts] == [("works-at", "{} works at")]
    assert loaded.graph.rewrites[0].relation == "works-at"
    (note,) = (each for each in loaded.report.notes if each.kind == "refused")
    assert (note.where, note.reason) == (
        "a.csv, line 3, prompt",
        "does not name 'Ben' once: 'He is'",
    )


@pytest.mark.parametrize("layout", ["list", "lines", "object"])
def test_json_records_in_every_layout(tmp_path: Path, layout: str) -> None:
    records = [dict(zip(("subject", "relation", "object"), fact, strict=True)) for fact in FACTS]
    lines = "\n".join(map(json.dumps, records))
    content = {"list": json.dumps(records), "lines": lines, "object": json.dumps({"data": records})}
    assert facts(written(tmp_path / "a.json", content[layout])) == FACTS
    assert facts(written(tmp_path / "a.jsonl", content[layout])) == FACTS


def test_json_records(tmp_path: Path) -> None:
    records = [
        {"head": "Ada", "relation": "born in", "tail": 1815, "paraphrases": ["{}'s birth year is"]},
        {"head": "Ben", "relation": "born in", "tail": None},
    ]  # fmt: skip
    path = written(tmp_path / "a.json", json.dumps(records))
    loaded = formats.load(path)
    (fact,) = loaded.graph.facts
    assert (fact.object, fact.prompt) == ("1815", "{}'s birth year is")
    (note,) = (each for each in loaded.report.notes if each.kind == "refused")
    assert (note.where, note.reason) == ("a.json, record 1, tail", "is empty")


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        (ROWS + "a,b\n", SchemaError, "line 4: 2 cells where the header has 3"),
        (ROWS + "a,b,c,d\n", SchemaError, "line 4: 4 cells where the header has 3"),
        (ROWS + '"a,b,c\n', UnreadableFileError, "line 4"),
        ("subject,relation,object\n,,x\n", SchemaError, "line 2, subject: is empty"),
    ],
)
def test_a_broken_table_names_its_line(
    tmp_path: Path, content: str, error: type[LoaderError], told: str
) -> None:
    with pytest.raises(error, match=told):
        formats.load(written(tmp_path / "a.csv", content))


def test_a_large_table_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    with path.open("w", encoding="utf-16", newline="") as stream:
        rows = csv.writer(stream, delimiter="\t")
        rows.writerow(["Head", "Relation", "Tail"])
        rows.writerows([f"s {i}", "is before", f"s {i + 1}"] for i in range(5000))
    assert len(facts(path)) == 5000
