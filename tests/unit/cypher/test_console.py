"""Plans of queries that the console refuses, which no server of the tests can be asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.cypher.console import _require_reading
from thinkeval.cypher.errors import ReadOnlyError


def planned(details: str, kind: str = "r") -> Any:
    call = {"operatorType": "ProcedureCall@neo4j", "args": {"Details": details}}
    plan = {"operatorType": "ProduceResults@neo4j", "args": {}, "children": [call]}
    return SimpleNamespace(query_type=kind, plan=plan)


def test_procedures_of_plugins_are_refused_although_they_count_as_reading() -> None:
    with pytest.raises(ReadOnlyError, match=r"calls apoc\.load\.json"):
        _require_reading(planned("apoc.load.json($autostring_0) :: (value :: MAP)"))
    _require_reading(planned("db.labels() :: (label :: STRING)"))


@pytest.mark.parametrize("kind", ["w", "rw", "s", None, "x"])
def test_every_other_type_of_query_is_refused(kind: str) -> None:
    with pytest.raises(ReadOnlyError):
        _require_reading(planned("db.labels()", kind))


def test_without_a_plan_nothing_is_run() -> None:
    with pytest.raises(ReadOnlyError):
        _require_reading(SimpleNamespace(query_type="r", plan=None))  # type: ignore[arg-type]
