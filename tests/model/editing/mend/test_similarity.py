"""Cosines of gradients against autograd, fact by fact, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from support.tiny_models import ARCHITECTURES, build_tiny
from thinkeval.editing.errors import EditingError
from thinkeval.editing.mend import similarity
from thinkeval.loaders.records import RewriteRequest

FACTS = (
    ("{} was born in", "Marie Curie", "Warsaw"),
    ("The capital of {} is", "Poland", "Warsaw"),
    ("{} studied at", "Ron Weasley", "Hogwarts"),
    ("{} is located in", "Hogwarts", "Scotland"),
    ("The headmaster of Hogwarts, in the land of {}, is", "Scotland", "Albus Dumbledore"),
)
PAIRS = [(a, b) for a in range(len(FACTS)) for b in range(a, len(FACTS))]


def _rows(tokenizer: Any) -> list[similarity.TargetRow]:
    requests = [
        RewriteRequest(str(i), "", prompt, subject, "r", "", target)
        for i, (prompt, subject, target) in enumerate(FACTS)
    ]
    return similarity.rows_of(tokenizer, requests)


def _by_autograd(model: Any, rows: list[similarity.TargetRow], names: set[str]) -> list[Tensor]:
    """Each fact's gradient of log P(answer | question), alone and unpadded."""
    chosen = [p for name, p in model.named_parameters() if name in names]
    found = []
    for row in rows:
        ids = torch.tensor([[*row.prompt, *row.target]])
        log_p = model(input_ids=ids).logits[0].log_softmax(-1)
        start = len(row.prompt) - 1
        loss = torch.stack([log_p[start + k, token] for k, token in enumerate(row.target)]).sum()
        flat = torch.autograd.grad(loss, chosen)
        found.append(torch.cat([g.reshape(-1) for g in flat]))
    return found


@pytest.mark.parametrize("parameters", similarity.PARAMETERS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cosines_are_those_of_autograd(
    architecture: str, parameters: similarity.Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "BATCH_ROWS", 2)
    monkeypatch.setattr(similarity, "_MAX_BYTES", 1e5)
    model, tokenizer = build_tiny(architecture, seed=0)
    model = model.double()
    rows = _rows(tokenizer)
    names = {
        f"{name}.{kind}" for name in similarity.linear_maps(model) for kind in ("weight", "bias")
    }
    if parameters == "all":
        names = {name for name, _ in model.named_parameters()}
    whole = _by_autograd(model, rows, names)
    right = [float(torch.cosine_similarity(whole[a], whole[b], dim=0)) for a, b in PAIRS]
    found = similarity.cosines(model, tokenizer, rows, PAIRS, parameters=parameters)
    assert found == pytest.approx(right, abs=1e-10)
    assert all(found[i] == pytest.approx(1) for i, (a, b) in enumerate(PAIRS) if a == b)
    assert len({round(value, 6) for value in right}) > 8  # not all alike: the test can fail


def test_the_model_is_as_it_was(tiny_gpt2: tuple[Any, Any]) -> None:
    model, tokenizer = tiny_gpt2
    model.train()
    before = {name: p.clone() for name, p in model.named_parameters()}
    similarity.cosines(model, tokenizer, _rows(tokenizer), PAIRS)
    assert model.training
    assert all(p.requires_grad for p in model.parameters())
    assert all(torch.equal(before[name], p) for name, p in model.named_parameters())
    assert all(p.grad is None for p in model.parameters())


def test_other_parameters_are_refused(tiny_gpt2: tuple[Any, Any]) -> None:
    model, tokenizer = tiny_gpt2
    with pytest.raises(EditingError, match="'some'"):
        similarity.cosines(model, tokenizer, [], [], parameters="some")  # type: ignore[arg-type]
