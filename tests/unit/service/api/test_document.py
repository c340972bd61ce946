"""The OpenAPI document: names that generated clients can use, and a description for each."""

from __future__ import annotations

from typing import Any


def test_schema_names_carry_no_module_path(document: dict[str, Any]) -> None:
    for name in document["components"]["schemas"]:
        assert name.isidentifier(), name
        assert "__" not in name, name


def test_every_operation_has_a_summary_and_a_description(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"].strip(), (method, path)
            assert operation["description"].strip(), (method, path)
