"""Training texts of a fine-tune from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.states.finetune import read


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        ("a.txt", "One.\n Two. \n", (("", "One."), ("", "Two."))),
        ("a.txt", "One\ngoes on.\n\n\n Two.\n", (("", "One\ngoes on."), ("", "Two."))),
        ("a.txt", "One.\r\nTwo.", (("", "One."), ("", "Two."))),
        ("a.txt", "\n\nOne.\nTwo.\n\n", (("", "One."), ("", "Two."))),
        (
            "a.jsonl",
            '{"text": " One. "}\n\n{"prompt": "Two is", "answer": "2", "more": 1}\n',
            (("", "One."), ("Two is", "2")),
        ),
    ],
)
def test_lines_paragraphs_and_json(
    tmp_path: Path, name: str, text: str, pairs: tuple[tuple[str, str], ...]
) -> None:
    (tmp_path / name).write_text(text)
    found = read(tmp_path / name)
    assert (found.name, found.pairs) == (name, pairs)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", " \n\n", "is empty"),
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", '{"text": "a"}\n{"prompt": "b"}', "Line 2 of a.jsonl is neither"),
        ("a.jsonl", '{"text": ""}', "Line 1 of a.jsonl has an empty text"),
        ("a.jsonl", '{"prompt": "", "answer": "b"}', "has an empty text"),
        ("a.jsonl", '{"text": 3}', "is neither"),
        ("a.jsonl", "[1]", "is neither"),
        ("a.jsonl", "not JSON", "is neither"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=problem):
        read(tmp_path / name)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.txt")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "b.txt")
