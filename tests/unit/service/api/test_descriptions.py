"""Every field, parameter and schema of the OpenAPI document says what it is."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.service.api.app import create_app
from thinkeval.service.api.reference import descriptions
from thinkeval.service.api.reference.schema_fields import SCHEMA_FIELDS
from thinkeval.service.api.reference.shared_fields import PARAMETERS, SHARED_FIELDS
from thinkeval.service.settings import Settings

REMEDY = (
    "Describe them: Field(description=…), a line under Attributes: in the model's docstring, or an"
    " entry in service/api/reference (schema_fields; shared_fields if the name means the same"
    " everywhere): "
)


def test_every_field_has_a_description(document: dict[str, Any]) -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
        if len(part.get("description", "").strip()) < 3
    ]
    assert not silent, REMEDY + ", ".join(silent)


def test_every_parameter_has_a_description(document: dict[str, Any]) -> None:
    silent = [
        f"{operation['operationId']}.{parameter['name']}"
        for operations in document["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
        if len(parameter.get("description", "").strip()) < 3
    ]
    assert not silent, (
        "Describe them: Query(description=…), or PARAMETERS in service/api/reference/shared_fields:"
        f" {', '.join(silent)}"
    )


def test_every_schema_has_a_description_without_a_list_of_its_fields(
    document: dict[str, Any],
) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), f"{name}: give the model a docstring"
        assert "Attributes:" not in schema["description"], name


def test_attributes_of_docstrings_are_fields(document: dict[str, Any]) -> None:
    """A line about a field that was renamed or removed would be shown nowhere."""
    plain = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)
    told: dict[str, dict[str, str]] = {}

    def noted(each: dict[str, Any]) -> None:
        for name, schema in each["components"]["schemas"].items():
            told[name] = descriptions.attributes(schema.get("description", ""))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptions, "fill", noted)
        plain.openapi()
    assert sum(map(len, told.values())) > 200
    for name, found in told.items():
        unknown = found.keys() - document["components"]["schemas"][name]["properties"].keys()
        assert not unknown, f"Attributes: of {name} names what is no field: {sorted(unknown)}"


def test_the_tables_have_no_entry_for_what_is_gone(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    tables: dict[int, tuple[dict[str, str], set[str]]] = {}
    for name, table in SCHEMA_FIELDS.items():
        assert name in schemas, f"schema_fields describes {name}, which is no schema"
        tables.setdefault(id(table), (table, set()))[1].update(schemas[name]["properties"])
    for table, fields in tables.values():
        assert not table.keys() - fields, f"no such field: {sorted(table.keys() - fields)}"
    everywhere = {field for schema in schemas.values() for field in schema.get("properties", ())}
    assert not SHARED_FIELDS.keys() - everywhere
    parameters = {
        name
        for operations in document["paths"].values()
        for operation in operations.values()
        for each in operation.get("parameters", ())
        for name in (each["name"], f"{operation['operationId']}.{each['name']}")
    }
    assert not PARAMETERS.keys() - parameters


def test_attributes_are_read_as_the_docstrings_write_them() -> None:
    docstring = """A cut.

Attributes:
    cost, bound: no cut costs less
        than the bound.
    edit: None for a rewrite; `True` and False too

Further text.
"""
    assert descriptions.attributes(docstring) == {
        "cost": "no cut costs less than the bound.",
        "bound": "no cut costs less than the bound.",
        "edit": "None for a rewrite; `True` and False too",
    }
    assert descriptions.attributes("No section.") == {}
    assert descriptions.sentence("None for a rewrite") == "Null for a rewrite."
    assert descriptions.sentence("post / pre; None if pre is 0") == "Post / pre; null if pre is 0."


def test_a_form_is_named_by_its_operation(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert "UploadGraphBody" in schemas
    assert not [name for name in schemas if name.startswith("Body_")]
    assert all(schema["title"] == name for name, schema in schemas.items())
