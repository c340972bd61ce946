"""Measured keys of the demo graph's facts, on the model that was trained on them."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference
from thinkeval.cypher import rows
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.leakcut.keys import by_subject, measure
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.resolved import Resolved, resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def resolved_for(runtime: Runtime, organism: RuntimeModel, graph: str, method: str) -> Resolved:
    rewrite = datasets.list_rewrites(runtime.db, graph)[0]
    return resolve(
        runtime, ScoreRequest.of(rewrite, graph=graph, method=method, model=organism.source)
    )


def test_keys_are_those_of_a_float64_pass(
    runtime: Runtime, organism: RuntimeModel, hogwarts: str
) -> None:
    """Against the keys of each fact by itself; facts of a subject that begins them are one key."""
    resolved = resolved_for(runtime, organism, hogwarts, "memit")
    facts = runtime.db.read(rows.FactRow, "graph/facts", graph=hogwarts)[:60]
    keys = measure(runtime, resolved, facts)
    loaded = resolved.model.loaded
    reference = Reference(loaded.model, loaded.tokenizer)
    layer = resolved.hparams.layers[-1]
    found = torch.stack([reference.key(layer, fact.prompt, fact.subject) for fact in facts])
    units = found / found.norm(dim=1, keepdim=True)
    cosines = (units @ units.T).tolist()
    for i, fact in enumerate(facts):
        near = {other.id for j, other in enumerate(facts) if j != i and cosines[i][j] > 0.95}
        assert set(keys.near[fact.id]) == near
    for fact, others in keys.near.items():
        assert not others or any({fact, *others} <= group for group in keys.groups)
    assert keys.groups
    assert all(len(group) > 1 for group in keys.groups)
    begins = [fact for fact in facts if fact.prompt.startswith("{}")]
    for group in by_subject(begins).groups:
        assert any(group <= measured for measured in keys.groups)
    assert measure(runtime, resolved, facts) is keys, "measured once more"
    records = [datasets.to_fact(row) for row in facts]
    again = measure(runtime, resolved, records)
    assert [len(group) for group in again.groups] == [len(group) for group in keys.groups]
    assert set(again.near) == {record.id for record in records}


def test_a_method_without_layers_is_refused(
    runtime: Runtime, organism: RuntimeModel, hogwarts: str
) -> None:
    resolved = resolved_for(runtime, organism, hogwarts, "none")
    with pytest.raises(UsageError, match="'none' names no edited layer"):
        measure(runtime, resolved, [])
