"""Schemas of the OpenAPI document have public names, also those of row types and records."""

from __future__ import annotations

import json
import re
from typing import Any

from thinkeval.cypher import rows
from thinkeval.service.api.openapi import SCHEMA_NAMES
from thinkeval.service.depedit.schemas import SetWithQuestions


def test_names_are_public_and_without_module_paths(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert not [name for name in schemas if "__" in name]
    assert set(SCHEMA_NAMES.values()) <= set(schemas)
    assert not set(SCHEMA_NAMES) & set(schemas)
    assert all(schemas[name]["title"] == name for name in SCHEMA_NAMES.values())


def test_every_reference_has_its_schema(document: dict[str, Any]) -> None:
    found = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert found <= set(document["components"]["schemas"])
    assert found >= {"LinkOut", "SetOut", "QuestionOut", "MeanOut"}


def test_columns_that_are_not_public_are_left_out(document: dict[str, Any]) -> None:
    assert "body" not in document["components"]["schemas"]["SetOut"]["properties"]
    row = rows.KnowledgeSetRow(
        "one", "atlas", "CQ_DT", 0, "stored", "r1", "If …", "2026-01-01T00:00:00Z",
        2, 0, 1, 1, 0, content_digest="abc", body="{}",
    )  # fmt: skip
    extended = SetWithQuestions.extend(row, questions=[])
    assert extended.id == "one"
    assert not hasattr(extended, "body")
