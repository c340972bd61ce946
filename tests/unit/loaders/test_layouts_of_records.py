"""Records in any layout (a list, JSON lines, the list of an object) are the same data set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import LoaderError, SchemaError, UnreadableFileError
from thinkeval.loaders.reading import json_stream

Record = dict[str, Any]


def counterfact(i: int) -> Record:
    target = {"target_true": {"str": f"Old {i}"}, "target_new": {"str": f"New {i}"}}
    rewrite = {"subject": f"Town {i}", "prompt": "{} lies in", "relation_id": "in"} | target
    return {"case_id": i, "requested_rewrite": rewrite, "paraphrase_prompts": [f"Town {i} is in"]}


def zsre(i: int) -> Record:
    asked = {"src": f"Where is Town {i}?", "rephrase": f"In what is Town {i}?"}
    return {"subject": f"Town {i}", "alt": f"New {i}", "answers": [f"Old {i}"]} | asked


def peak(i: int) -> Record:
    lists = {"postive_list": ["A", "B"], "negtive_list": ["C"], "negtive_random_list": ["D"]}
    return counterfact(i) | lists


def knowgic(i: int) -> Record:
    link = {
        "questions": ["?"],
        "answers": [f"Old {i}"],
        "prompts": ["{} is in"],
        "subjects": [f"Town {i}"],
    }
    rewrite = counterfact(i)["requested_rewrite"]
    return {"requested_rewrite": [rewrite], "chain": link, "broader_context": link}


SETS: dict[str, Callable[[int], Record]] = {
    "counterfact": counterfact,
    "zsre": zsre,
    "peak": peak,
    "knowgic": knowgic,
}
LAYOUTS: dict[str, Callable[[list[Record]], str]] = {
    "lines.jsonl": lambda records: "".join(json.dumps(each) + "\n" for each in records),
    "lines.json": lambda records: "\r\n".join(json.dumps(each) for each in records),
    "spread.json": lambda records: "\n".join(json.dumps(each, indent=1) for each in records),
    "data.json": lambda records: json.dumps({"data": records}),
    "late.json": lambda records: json.dumps({"version": "1.0", "n": 3, "rows": records, "by": "x"}),
    "bom.json": lambda records: "\ufeff" + json.dumps({"data": records}, indent=1),
}


@pytest.mark.parametrize("chunk", [500, json_stream.CHUNK])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", SETS)
def test_every_layout_gives_the_graph_of_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, layout: str, chunk: int
) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    records = [SETS[key](i) for i in range(3)]
    plain, other = tmp_path / "list.json", tmp_path / layout
    plain.write_text(json.dumps(records), encoding="utf-8")
    other.write_text(LAYOUTS[layout](records), encoding="utf-8")
    assert formats.detect(other) == key
    found = formats.load(other, name="x")
    assert found.graph == formats.load(plain, name="x").graph
    assert (len(found.graph.rewrites), found.report.read["records"]) == (3, 3)


@pytest.mark.parametrize("key", SETS)
def test_one_record_is_a_file_of_one_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(SETS[key](0)), encoding="utf-8")
    assert len(formats.load(path).graph.rewrites) == 1


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ('{"a": 1}\n{"a": 2', UnreadableFileError, "record 1: the file seems cut off"),
        ('{"a": 1}\n{"a" 2}', UnreadableFileError, "record 1: not valid JSON"),
        ('{"a": 1}\n[2]}', UnreadableFileError, "record 1: not valid JSON .expected one object a"),
        ('{"a": [{"b": 1}, {"b"', UnreadableFileError, "record 1: the file seems cut off"),
        ('{"a": [{"b": 1}', UnreadableFileError, "record 1: the file seems cut off"),
        ('{"a": [{"b": 1}] "c"}', UnreadableFileError, "record 1: not valid JSON"),
        ('{"a": [{"b": 1}], "c" 1}', UnreadableFileError, "record 1: not valid JSON"),
        ("3", SchemaError, "top level: expected a list of records"),
    ],
)
def test_a_broken_layout_is_refused_with_its_record(
    tmp_path: Path, text: str, error: type[LoaderError], problem: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=problem):
        list(json_stream.items(path))


def test_two_lists_in_one_large_object_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"train": [{"a": 1}], "test": [{"a": 2}]}), encoding="utf-8")
    assert [item.value for item in json_stream.items(path)] == [
        {"train": [{"a": 1}], "test": [{"a": 2}]}
    ]
    monkeypatch.setattr(json_stream, "CHUNK", 20)
    with pytest.raises(SchemaError, match="has several lists"):
        list(json_stream.items(path))


def test_only_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\nbroken', encoding="utf-8")
    assert [item.value for item in json_stream.items(path, 2)] == [{"a": 1}, {"a": 2}]


def test_a_value_that_cannot_be_used_costs_only_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": 1, "a": 2}\n{"a": 3}\n', encoding="utf-8")
    assert [(item.value, item.problem is None) for item in json_stream.items(path)] == [
        ({"a": 1}, True),
        (None, False),
        ({"a": 3}, True),
    ]


def test_numbers_are_names_and_one_note_says_so(tmp_path: Path) -> None:
    edit, question = counterfact(0), zsre(0)
    edit["requested_rewrite"]["target_true"] = {"str": 1962}
    edit["requested_rewrite"]["target_new"] = {"str": 19.5}
    for record, target in ((edit, ("1962", "19.5")), (question | {"answers": [7]}, ("7", "New 0"))):
        path = tmp_path / "numbers.json"
        path.write_text(json.dumps([record]), encoding="utf-8")
        loaded = formats.load(path)
        (rewrite,) = loaded.graph.rewrites
        assert (rewrite.target_true, rewrite.target_new) == target
        (note,) = [note for note in loaded.report.notes if note.kind == "repaired"]
        assert "are numbers in the file and are read as text: record 0, " in note.reason
    edit["requested_rewrite"]["target_new"] = {"str": True}
    path.write_text(json.dumps([edit, counterfact(1)]), encoding="utf-8")
    (note,) = [note for note in formats.load(path).report.notes if note.kind == "refused"]
    assert "expected text, found true/false" in note.reason


def test_optional_fields_may_be_absent_and_a_rewrite_in_a_list(tmp_path: Path) -> None:
    edit = counterfact(0)
    del edit["paraphrase_prompts"], edit["case_id"]
    listed = {"requested_rewrite": [counterfact(1)["requested_rewrite"]]}
    two = {"requested_rewrite": [counterfact(i)["requested_rewrite"] for i in (2, 3)]}
    path = tmp_path / "edits.json"
    path.write_text(json.dumps([edit, listed, two]), encoding="utf-8")
    loaded = formats.load(path)
    assert loaded.report.format == "counterfact"
    assert [r.subject for r in loaded.graph.rewrites] == ["Town 0", "Town 1"]
    (note,) = [note for note in loaded.report.notes if note.kind == "refused"]
    assert (note.where, note.reason) == (
        "record 2, requested_rewrite",
        "expected one rewrite, found 2",
    )
    bare = {key: value for key, value in zsre(0).items() if key != "rephrase"}
    path.write_text(json.dumps([bare]), encoding="utf-8")
    assert formats.load(path).graph.rewrites[0].paraphrases == ()
