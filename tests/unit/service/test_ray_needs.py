"""Room for executors on the nodes of a cluster: processors, GPUs, memory and labels."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.ray import Needs, require_room


def node(alive: bool = True, labels: dict[str, str] | None = None, **resources: float) -> Any:
    return {"Alive": alive, "Resources": resources, "Labels": labels}


NODES = [
    node(CPU=16, GPU=4, memory=100e9, labels={"zone": "a", "kind": "H100"}),
    node(CPU=8, GPU=2, memory=30e9, labels={"zone": "b"}),
    node(CPU=64, memory=500e9),
    node(CPU=16, GPU=8, memory=900e9, alive=False),
]
CASES = [
    ({}, True, 6),
    ({}, False, 88),
    ({"executor_memory_gb": 24}, True, 5),
    ({"executor_memory_gb": 24}, False, 4 + 1 + 20),
    ({"executor_labels": "zone=b"}, True, 2),
    ({"executor_labels": "zone=a,kind=H100", "executor_memory_gb": 60}, True, 1),
]


@pytest.mark.parametrize(("values", "gpus", "room"), CASES)
def test_room_is_counted_node_by_node(values: dict[str, Any], gpus: bool, room: int) -> None:
    assert require_room(NODES, None, Needs.of(Settings(**values), gpus)) == room


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"executor_memory_gb": 200}, "a GPU, 200 GB of memory"),
        ({"executor_labels": "zone=a,kind=A100"}, "the label zone=a, the label kind=A100"),
    ],
)
def test_an_impossible_need_is_named(values: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        require_room(NODES, 1, Needs.of(Settings(**values), True))
    assert require_room(NODES, 0, Needs.of(Settings(**values), True)) == 0


def test_labels_that_are_no_pairs_are_refused() -> None:
    for text in ("zone", "zone=a,", "=a", "zone=a b"):
        with pytest.raises(UsageError, match="THINKEVAL_EXECUTOR_LABELS"):
            Settings(executor_labels=text)
