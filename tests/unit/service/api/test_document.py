"""The OpenAPI document: names that generated clients can use, and a description for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from thinkeval.cypher import rows
from thinkeval.service.base.errors import CODES, KNOWN_ERRORS, code_of
from thinkeval.service.models.depedit import SetWithQuestions
from thinkeval.service.web.app import CORE

ROOT = Path(__file__).parents[4]


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


def test_the_core_comes_first_and_fits_one_screen(document: dict[str, Any]) -> None:
    core = [
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if operation["tags"] == ["core"]
    ]
    assert sorted(core) == sorted(CORE), "each is an operation"
    assert len(core) <= 20
    assert document["tags"][0]["name"] == "core"


def test_every_list_that_has_pages_has_the_same_ones(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        asked = {each["name"] for each in operations.get("get", {}).get("parameters", ())}
        assert not asked & {"skip", "offset", "page"}, path
        assert "limit" in asked or "cursor" not in asked, path


def test_every_code_of_a_problem_is_in_the_documentation(document: dict[str, Any]) -> None:
    page = (ROOT / "docs/how-to/serve-and-rest.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page, re.M)) == CODES
    described = document["components"]["schemas"]["ProblemOut"]["properties"]["code"]["description"]
    assert all(code in described for code in CODES)
    kinds = {code_of(kind) for base in KNOWN_ERRORS for kind in (base, *base.__subclasses__())}
    assert kinds <= set(CODES)
    assert "internal" not in kinds
