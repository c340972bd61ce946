"""The OpenAPI document against the running service: what it describes is what is answered.

Schemathesis makes requests that fit the document and requests that break it; every answer must be
described there, and none may be a 5xx. What was accepted is taken back at once, so that nobody
scores it. The requests are the same at every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from support import openapi
from support.commands import Cli, Mine
from support.serving import Service, serving
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.rules import store

DOCUMENT = openapi.document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations()}
HOLDS = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]
FACT = "harry-potter--studied-at"
HOSTILE = ("\x00", "a|b", "..", "%2e%2e%2f", "'\"`{}$", "𝒳" * 40, "-1", "9" * 60, " ", "null")


@pytest.fixture(scope="module")
def edit(thinkeval: Cli, mine: Mine) -> str:
    """A scored edit."""
    done = thinkeval(
        "score", "-g", mine.graph, "--model", mine.model, FACT, "-m", "rome", "--samples", "1",
        "--json",
    )  # fmt: skip
    return done.json[0]["edit"]


@pytest.fixture(scope="module")
def service(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with serving(environment, tmp_path_factory.mktemp("schema"), "--workers", "0") as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def rule_id(db: Database, mine: Mine) -> str:
    """A rule of the graph; the graph takes it along when it goes."""
    house = rule(
        (Atom("student", "was sorted into", "house"), Atom("house", "is a house at", "school")),
        Atom("student", "studied at", "school"),
    )
    store.save(db, mine.graph, [house], status="kept")
    return house.id


@pytest.fixture
def names(edit: str, mine: Mine, rule_id: str) -> dict[str, tuple[str, ...]]:
    """Values of path parameters that lead somewhere, and some that shall lead nowhere."""
    return {
        "edit": (edit, *HOSTILE),
        "a": (edit, *HOSTILE),
        "b": (edit, *HOSTILE),
        "graph": (mine.graph, "hogwarts", edit, *HOSTILE),
        "sweep": HOSTILE,
        "rule": (rule_id, *HOSTILE),
        "knowledge_set": HOSTILE,
        "run": HOSTILE,
        "job": HOSTILE,
        "candidate": HOSTILE,
        "name": ("metrics/ifr", "chains/leakage", "jobs/heartbeat", "rome", "ifr", *HOSTILE),
    }


TAKING = [label for label, each in OPERATIONS.items() if any(each.iter_parameters()) or each.body]
"""Operations that can be asked wrongly: they take something."""
CASES = [(label, GenerationMode.POSITIVE) for label in OPERATIONS] + [
    (label, GenerationMode.NEGATIVE) for label in TAKING
]


@pytest.mark.parametrize(("label", "mode"), CASES)
def test_what_is_answered_is_what_is_described(
    label: str,
    mode: GenerationMode,
    service: Service,
    names: dict[str, tuple[str, ...]],
    db: Database,
) -> None:
    operation = OPERATIONS[label]
    removes = operation.method.upper() == "DELETE"

    @settings(
        max_examples=6,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def ask(case: schemathesis.Case, data: st.DataObject) -> None:
        for name in case.path_parameters:
            if name in names:
                known = HOSTILE if removes else names[name]
                case.path_parameters[name] = data.draw(st.sampled_from(known), label=name)
        answer = case.call(base_url=service.url, timeout=30)
        try:
            case.validate_response(answer, checks=HOLDS)
        finally:
            take_back(service, db, label, answer)

    ask()


def take_back(service: Service, db: Database, label: str, answer: Any) -> None:
    """Remove what a request brought about, before anybody's worker takes it up."""
    told = answer.json() if answer.status_code in (201, 202) else {}
    if label == "POST /v1/edits" and answer.status_code == 202:
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=told["id"])
    if label == "POST /v1/sweeps" and answer.status_code == 202:
        for each in told["parts"]:
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=each)
        db.write(int, "jobs/delete_sweep", id=told["id"])
    if label == "POST /v1/depedit/runs" and answer.status_code == 202:
        db.write(int, "jobs/delete", id=told["id"])
    if label.startswith("POST /v1/depedit/sets"):
        for each in told.get("items", ()):
            db.write(rows.DeleteSetRow, "depedit/delete_set", id=each["id"])
    elif answer.status_code == 201 and told.get("graph", "hogwarts") != "hogwarts":
        service.http.delete(f"/v1/graphs/{told['graph']}")


def test_every_operation_is_described() -> None:
    ids = [each["operationId"] for part in DOCUMENT["paths"].values() for each in part.values()]
    assert len(set(ids)) == len(ids) == len(OPERATIONS)
    assert not any("_v1_" in each for each in ids)
    for path, part in DOCUMENT["paths"].items():
        for method, each in part.items():
            assert each["summary"], (method, path)
            assert each["description"], (method, path)
            assert each["tags"], (method, path)
            problem = each["responses"]["default"]["content"]
            assert list(problem) == ["application/problem+json"]
            assert "422" not in each["responses"], (method, path)
    schemas = DOCUMENT["components"]["schemas"]
    assert {"type", "title", "status", "detail", "remedy"} <= set(
        schemas["ProblemOut"]["properties"]
    )
    assert "HTTPValidationError" not in schemas
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"token", "cookie"}


def test_every_reference_leads_somewhere() -> None:
    def references(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for each in part.values():
                yield from references(each)
        elif isinstance(part, list):
            for each in part:
                yield from references(each)

    found = set(references(DOCUMENT))
    assert found
    for reference in found:
        at: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            at = at[step]


def test_the_document_is_served_with_its_page(service: Service) -> None:
    answer = service.http.get("/openapi.json")
    assert (answer.status_code, answer.json()["openapi"][:2]) == (200, "3.")
    page = service.http.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert service.http.get("/redoc").status_code == 404


def test_no_answer_was_a_defect(service: Service) -> None:
    assert "Traceback" not in service.text, service.text[-3000:]
    assert httpx.get(f"{service.url}/health").status_code == 200
