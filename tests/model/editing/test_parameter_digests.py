"""Digests of parameters: computed once, and again whenever a parameter was written to."""

from __future__ import annotations

import copy
import gc
import hashlib
from typing import Any

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing import parameter_digests
from thinkeval.editing.deltas import EditEffect, applied, unedited_digest
from thinkeval.editing.models import weights_digest

NAME = "transformer.h.1.mlp.c_proj.weight"


@pytest.fixture
def model() -> Any:
    return build_tiny("gpt2")[0]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the parameters that were hashed."""
    names: list[str] = []
    original = parameter_digests._digest

    def counted(name: str, parameter: torch.Tensor) -> bytes:
        names.append(name)
        return original(name, parameter)

    monkeypatch.setattr(parameter_digests, "_digest", counted)
    return names


def by_hand(model: Any) -> str:
    """The digest, computed without any memory of earlier ones."""
    parts = []
    for name, parameter in sorted(model.named_parameters(), key=lambda pair: pair[0]):
        value = parameter.detach().contiguous()
        head = f"{name}|{value.dtype}|{tuple(value.shape)}|".encode()
        parts.append(hashlib.sha256(head + value.view(-1).view(torch.uint8).numpy().tobytes()))
    return hashlib.sha256(b"".join(part.digest() for part in parts)).hexdigest()


def test_an_unchanged_model_is_hashed_once(model: Any, hashed: list[str]):
    first = weights_digest(model)
    assert first == by_hand(model)
    assert len(hashed) == len(list(model.parameters()))
    hashed.clear()
    assert weights_digest(model) == unedited_digest(model) == first
    assert hashed == []


def test_an_edit_costs_the_edited_parameters_only(model: Any, hashed: list[str]):
    before = weights_digest(model)
    delta = torch.full_like(model.get_parameter(NAME), 0.5)
    hashed.clear()
    with applied(model, EditEffect({NAME: delta})):
        assert weights_digest(model) == by_hand(model) != before
        assert unedited_digest(model) == before
    assert weights_digest(model) == before
    assert set(hashed) == {NAME}


def test_an_edit_that_is_not_restored_is_seen(model: Any):
    before = weights_digest(model)
    with torch.no_grad():
        model.get_parameter(NAME)[0, 0] += 1
    assert weights_digest(model) == by_hand(model) != before


@pytest.mark.parametrize("way", ["state dict", "optimiser", "new data", "types", "new parameter"])
def test_every_counted_write_is_seen(model: Any, way: str):
    before, parameter = weights_digest(model), model.get_parameter(NAME)
    if way == "state dict":
        model.load_state_dict(build_tiny("gpt2", seed=1)[0].state_dict())
    elif way == "optimiser":
        parameter.grad = torch.ones_like(parameter)
        torch.optim.Adam([parameter]).step()
    elif way == "new data":
        parameter.data = parameter.data + 1
    elif way == "types":
        model.to(torch.bfloat16).to(torch.float32)
    else:
        model.transformer.h[1].mlp.c_proj.weight = torch.nn.Parameter(parameter.detach() + 1)
    assert weights_digest(model) == by_hand(model) != before


def test_copies_have_digests_of_their_own(model: Any):
    before = weights_digest(model)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_parameter(NAME).add_(1)
    assert weights_digest(other) == by_hand(other) != before == weights_digest(model)


def test_a_models_digests_end_with_it(model: Any):
    gc.collect()
    before = len(parameter_digests._KEPT)
    other = build_tiny("llama")[0]
    weights_digest(other)
    assert len(parameter_digests._KEPT) > before
    del other
    gc.collect()
    assert len(parameter_digests._KEPT) == before
