"""Every field, parameter and schema of the OpenAPI document has a text; examples are valid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from thinkeval.service.growth.schemas import GrowthIn
from thinkeval.service.models.depedit import RunsIn, SetIn
from thinkeval.service.models.edit import EditIn
from thinkeval.service.models.experiment import SweepIn
from thinkeval.service.models.leakcut import CoEditIn
from thinkeval.service.operations.rules import WrittenRule
from thinkeval.service.states.schemas import ComparisonIn
from thinkeval.service.states.spec import StateIn
from thinkeval.service.web.graphs import ImportIn


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def test_every_field_has_a_description(document: dict[str, Any]) -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
        if len(part.get("description", "").strip()) < 3 and part.keys() != {"$ref"}
    ]
    assert not silent, f"Describe them with Field(description=…): {', '.join(silent)}"


def test_every_parameter_has_a_description(document: dict[str, Any]) -> None:
    silent = [
        f"{operation['operationId']}.{parameter['name']}"
        for operation in operations(document)
        for parameter in operation.get("parameters", ())
        if len(parameter.get("description", "").strip()) < 3
    ]
    assert not silent, f"Describe them with Query(description=…): {', '.join(silent)}"


def test_every_model_has_a_description_without_a_list_of_its_fields(
    document: dict[str, Any],
) -> None:
    for name, schema in document["components"]["schemas"].items():
        if not name.startswith("Body_"):  # FastAPI's name of a form
            assert schema.get("description"), f"{name}: give the model a docstring"
            assert "Attributes:" not in schema["description"], name


@pytest.mark.parametrize(
    "model",
    [
        CoEditIn,
        ComparisonIn,
        EditIn,
        GrowthIn,
        ImportIn,
        RunsIn,
        SetIn,
        StateIn,
        SweepIn,
        WrittenRule,
    ],
)
def test_examples_are_shown_and_valid(document: dict[str, Any], model: type[BaseModel]) -> None:
    examples = document["components"]["schemas"][model.__name__]["examples"]
    assert examples
    for example in examples:
        sent = model.model_validate(example)
        assert sent.model_dump(by_alias=True, mode="json").keys() >= example.keys()
