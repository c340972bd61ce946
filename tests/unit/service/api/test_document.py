"""The OpenAPI document: names that generated clients can use, and a description for each."""

from __future__ import annotations

from typing import Any

from thinkeval.cypher import rows
from thinkeval.service.models.depedit import SetWithQuestions


def test_schema_names_carry_no_module_path(document: dict[str, Any]) -> None:
    for name in document["components"]["schemas"]:
        assert name.isidentifier(), name
        assert "__" not in name, name


def test_every_operation_has_a_summary_and_a_description(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"].strip(), (method, path)
            assert operation["description"].strip(), (method, path)


def test_columns_that_are_not_public_are_left_out(document: dict[str, Any]) -> None:
    assert "body" not in document["components"]["schemas"]["StoredSet"]["properties"]
    row = rows.KnowledgeSetRow(
        "one", "atlas", "CQ_DT", 0, "stored", "r1", "If …", "2026-01-01T00:00:00Z",
        2, 0, 1, 1, 0, content_digest="abc", body="{}",
    )  # fmt: skip
    extended = SetWithQuestions.extend(row, questions=[])
    assert extended.id == "one"
    assert not hasattr(extended, "body")
