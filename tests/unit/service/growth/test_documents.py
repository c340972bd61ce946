"""Documents and forget sets as texts; each kind of bad file is an error that names the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.growth.texts import LONGEST, read


def file(folder: Path, name: str, body: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return path


def test_a_document_is_read_as_it_is(tmp_path: Path) -> None:
    [text] = read([file(tmp_path, "notes.md", "\ufeff# Title\n\nÉmile works at Renault.\n")])
    assert (text.name, text.text) == ("notes.md", "# Title\n\nÉmile works at Renault.\n")


def test_a_forget_set_gives_the_sentence_of_each_record(tmp_path: Path) -> None:
    records = [
        {"question": "Who?", "answer": "The author is\nJaime Vasquez."},
        {"text": "Paris is in France.", "answer": "No."},
    ]
    lines = "\n".join(map(json.dumps, records)) + "\n\n"
    expected = "The author is Jaime Vasquez.\nParis is in France."
    for name, body in (("a.jsonl", lines), ("a.json", json.dumps(records))):
        assert read([file(tmp_path, name, body)])[0].text == expected


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("a.txt", " \n", "has no text"),
        ("a.txt", b"\xff\xfe\x00", "not text in UTF-8"),
        ("a.txt", "x" * (LONGEST + 1), "at most 2,000,000"),
        ("a.jsonl", '{"text": "x"}\n{"tex": "y"}', "record 2: has no text"),
        ("a.json", "[1]", "record 1: has no text"),
        ("a.json", "[", "is not JSON"),
        ("a.jsonl", '{"text": "x"}\n{', "a.jsonl, line 2 is not JSON"),
        ("a.jsonl", '{"text": "x"}\n' + "[" * 20_000, "a.jsonl, line 2 is nested too deeply"),
        ("a.json", "[" * 20_000, "a.json is nested too deeply"),
        ("a.jsonl", '{"text": "x"}\n{"text": "\\ud800"}', "record 2: its text has half of a"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, name: str, body: str | bytes, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read([file(tmp_path, name, body)])
    with pytest.raises(UsageError, match="cannot be read"):
        read([tmp_path / "missing.txt"])
