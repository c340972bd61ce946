"""Fine-tuning of models in bfloat16 and float16: float32 training, and a bound that holds."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.deltas import applied, rounding_kept
from thinkeval.editing.methods import fine_tuning
from thinkeval.editing.training.weights import towards
from thinkeval.loaders.records import RewriteRequest

REQUEST = RewriteRequest("h", "t", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny")
TYPES = [torch.bfloat16, torch.float16]


def hparams(bound, lr=5e-4, steps=25):
    values = {"layers": [1], "num_steps": steps, "lr": lr, "weight_decay": 0}
    return fine_tuning.HyperParams.from_dict({**values, "norm_constraint": bound, "stop_loss": 0})


def changes(model, effect):
    """{parameter: what the applied effect changes, in float64}, and the distance to neighbours."""
    before = {name: model.get_parameter(name).detach().clone() for name in effect.deltas}
    with applied(model, effect):
        after = {name: model.get_parameter(name).detach().clone() for name in effect.deltas}
    for name, weight in before.items():
        yield name, weight, after[name].double() - weight.double()


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bound", [5e-5, 5e-4, 2e-3])
def test_the_bound_holds_for_every_applied_weight(architecture, dtype, bound):
    model, tokenizer = build_tiny(architecture, seed=7)
    effect = fine_tuning.execute(model.to(dtype), tokenizer, [REQUEST], hparams(bound))
    for name, _, change in changes(model, effect):
        assert change.abs().max() <= torch.tensor(bound, dtype=torch.float32).double()
        # What is recorded is what is applied.
        assert change.equal(effect.deltas[name].double())


@pytest.mark.parametrize("dtype", TYPES)
def test_weights_end_at_the_furthest_number_within_the_bound(dtype):
    """Adam carries nearly all to the border, so the box is used up as far as the type allows."""
    bound = 1e-3
    model, tokenizer = build_tiny("llama", seed=7)
    effect = fine_tuning.execute(model.to(dtype), tokenizer, [REQUEST], hparams(bound))
    moved = 0
    for _, weight, change in changes(model, effect):
        for sign in (1, -1):
            edge = torch.full_like(weight, torch.inf) * sign
            further = torch.nextafter((weight.double() + change).to(dtype), edge)
            full = (further.double() - weight.double()).abs() > bound
            moved += (full & (change * sign > 0)).sum().item() / weight.numel()
    assert moved > 0.5


def test_small_steps_add_up():
    """Steps below half the distance between two numbers are lost if the weights are bfloat16."""
    model, tokenizer = build_tiny("llama", seed=7)
    h = hparams(False, lr=2e-5, steps=40)
    exact = fine_tuning.execute(model, tokenizer, [REQUEST], h)
    half = fine_tuning.execute(model.to(torch.bfloat16), tokenizer, [REQUEST], h)
    for name, weight, change in changes(model, half):
        delta = exact.deltas[name]
        # Trained in float32 and rounded once, by what applies it.
        assert float((half.deltas[name] - delta).norm() / delta.norm()) < 0.3
        assert 0.001 < abs(rounding_kept(model, half) - 1) < 0.2
        spacing = torch.nextafter(weight.abs(), torch.full_like(weight, torch.inf)) - weight.abs()
        big = delta.abs() > spacing.float()
        assert big.float().mean() > 0.1
        assert (change[big] != 0).float().mean() > 0.9


@pytest.mark.parametrize("dtype", TYPES)
def test_the_next_number_is_torchs(dtype):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(4096, generator=generator).to(dtype)
    aims = torch.randn(4096, generator=generator).to(dtype)
    differ = (values != aims) & (values != 0)
    expected = torch.nextafter(values, aims)
    assert towards(values, aims)[differ].equal(expected[differ])
