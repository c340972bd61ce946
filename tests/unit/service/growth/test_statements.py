"""Statements of an answer."""

from __future__ import annotations

import pytest

from thinkeval.service.growth.elicit import statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so. That is not!", ["It is so.", "That is not!"]),
        ("1. A is B.\n2) C is D.\n(3) E is F.", ["A is B.", "C is D.", "E is F."]),
        ("- A is B\n* C is D\n• E is F", ["A is B", "C is D", "E is F"]),
        ("Step 1: A is B.\nstep 2. C is D.", ["A is B.", "C is D."]),
        ("**1. A** is `B`.", ["A is B."]),
        ("## Answer\n\nA is B.", ["Answer", "A is B."]),
        ("J. K. Rowling wrote it. Mr. Weasley read it.", None),
        ("A. Dumbledore taught there.", ["A. Dumbledore taught there."]),
        ("St. Mungo's is a hospital. It heals.", ["St. Mungo's is a hospital.", "It heals."]),
        ("a) A is B.\nb) C is D.", ["A is B.", "C is D."]),
        ("1998 was the year.", ["1998 was the year."]),
        ("He was born in 1980. She too.", ["He was born in 1980.", "She too."]),
        ("...\n---\n", []),
        ("", []),
    ],
)
def test_sentences_without_list_markers(text: str, expected: list[str] | None) -> None:
    if expected is None:
        expected = ["J. K. Rowling wrote it.", "Mr. Weasley read it."]
    assert statements(text) == expected
