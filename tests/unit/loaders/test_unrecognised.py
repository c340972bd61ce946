"""Messages about files that no loader can read: encoding, separator, columns, layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import LoaderError, UnknownFormatError

ROWS = "Entity,Relationship,Attribute\nZürich,lies in,Switzerland\n"


def refusal(tmp_path: Path, name: str, content: str | bytes) -> LoaderError:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(LoaderError) as caught:
        formats.load(path)
    assert str(path) in caught.value.detail
    return caught.value


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "name;type\na;b\n", "its columns are name, type; expected subject, relation"),
        ("a.tsv", "a\tb\tc\n", "its columns are a, b, c; expected subject, relation, object"),
        ("a.txt", "a|b|c\n", "its columns are a, b, c; expected subject, relation, object"),
        ("a.csv", "Zürich,Köln,\n".encode("utf-16"), "its columns are Zürich, Köln; expected"),
        ("a.csv", ROWS.encode() + b"K\xf6ln,lies in,x", "(0xF6) is not UTF-8 text; in Latin-1"),
        ("a.csv", ROWS.encode()[:60] + b"\xc3", "(0xC3) is not UTF-8 text"),
        ("a.xlsx", b"PK\x03\x04", "a spreadsheet's own format is not read"),
        ("a.txt", "Towns, and more\n", "its columns are Towns, and more; expected subject"),
        ("a.txt", "Towns and more\n", "no format recognises it"),
        ("a.yaml", "Basel:\n\tlies in: [Switzerland]\n", "line 2: indented by a tab"),
        ("a.yaml", "towns: [Basel]\n", "this one has towns"),
        ("a.yaml", "alg_name: ROME\nmodel_name: x\n", "it has hyperparameters of an editing"),
        ("a.json", json.dumps([{"town": "Basel"}]), "no format recognises its records, whose keys"),
        ("a.json", json.dumps([{"question": "?", "choices": []}]), "seems to be WMDP"),
        ("a.json", json.dumps({"rows": [{"town": 1}]}), "its records, whose keys are rows, town"),
        ("a.json", json.dumps({"Anna Berg": ["She was"]}), "it has lists of texts by name, which"),
        ("a.md", "# Towns; and more\n", "no format recognises it"),
    ],
)  # fmt: skip
def test_a_refused_file_is_told_why(
    tmp_path: Path, name: str, content: str | bytes, told: str
) -> None:
    assert told in refusal(tmp_path, name, content).detail


def test_a_letter_cut_in_the_middle_of_the_head_is_no_other_encoding(tmp_path: Path) -> None:
    detail = refusal(tmp_path, "a.csv", "ü" * 65536).detail
    assert "UTF-8" not in detail


def test_a_folder_without_data_is_told_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(UnknownFormatError, match=r"this folder, which has notes\.txt"):
        formats.load(tmp_path)
