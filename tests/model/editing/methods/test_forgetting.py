"""Methods that forget, against float64 losses and gradients derived without the code under test."""

from __future__ import annotations

import math

import pytest
import torch

from support.edit_methods import FRANCE, HARRY, RETAIN, hparams
from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from thinkeval.editing import registry
from thinkeval.editing.errors import RequestError
from thinkeval.editing.methods.npo import npo_loss
from thinkeval.editing.methods.rmu import unit_vector

LAYERS = (0, 1)
REQUESTS = [HARRY, FRANCE]
STEPS = 4


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=7, scale=16)


def values(name, **changes):
    return hparams(name, **{"layers": list(LAYERS), "num_steps": STEPS, "lr": 5e-3, **changes})


def names(reference):
    found = []
    for layer in LAYERS:
        name = reference.name(layer)
        found += [f"{name}.weight", f"{name}.bias"] if reference.gpt2 else [f"{name}.weight"]
    return found


def log_p(reference, prompt, answer):
    """log π(answer | prompt), token by token."""
    ids, target = reference.tokens(prompt), reference.target(answer)
    found = reference.logits([*ids, *target])
    total = 0
    for k, token in enumerate(target):
        row = found[len(ids) - 1 + k]
        total = total + row[token] - torch.logsumexp(row, 0)
    return total


def activations(reference, prompt, answer):
    ids = [*reference.tokens(prompt), *reference.target(answer)]
    kept = {}

    def hook(_, __, output):
        kept["h"] = (output if torch.is_tensor(output) else output[0])[0]

    handle = reference.layers[LAYERS[-1]].register_forward_hook(hook)
    reference.logits(ids)
    handle.remove()
    return kept["h"]


def asked():
    return [(r.filled_prompt, r.target_true) for r in REQUESTS]


def mean(parts):
    return torch.stack(list(parts)).mean()


def ascent_loss(reference, h, start):
    forget = [-log_p(reference, *each) for each in asked()]
    kept = mean(-log_p(reference, *each) for each in RETAIN)
    ascent = sum((-loss for loss in forget if loss.item() < h.forget_bound), torch.tensor(0.0))
    return ascent / len(forget) + h.retain_weight * kept


def negative_loss(reference, h, start):
    """As the paper's other form: (2/β) log(1 + (π_θ/π_ref)^β)."""
    if "log_p" not in start:
        start["log_p"] = [log_p(reference, *each).detach() for each in asked()]
    parts = [
        2 / h.beta * torch.log(1 + torch.exp(h.beta * (log_p(reference, *each) - before)))
        for each, before in zip(asked(), start["log_p"], strict=True)
    ]
    return mean(parts) + h.retain_weight * mean(-log_p(reference, *each) for each in RETAIN)


def steering_loss(reference, h, start):
    if "h" not in start:
        start["h"] = [activations(reference, *each).detach().clone() for each in RETAIN]
    size = start["h"][0].shape[-1]
    drawn = torch.rand(size, generator=torch.Generator().manual_seed(3)).double()
    aim = h.steering_coeff * drawn / drawn.square().sum().sqrt()
    forget = [((activations(reference, *each) - aim) ** 2).sum(-1) / size for each in asked()]
    moved = [
        ((activations(reference, *each) - before) ** 2).sum(-1) / size
        for each, before in zip(RETAIN, start["h"], strict=True)
    ]
    return mean(f.mean() for f in forget) + h.alpha * mean(m.mean() for m in moved)


LOSSES = {"gradient_ascent": ascent_loss, "npo": negative_loss, "rmu": steering_loss}


def trained(reference, name, h):
    """{parameter: change}: AdamW written out, in float64."""
    parameters = {
        n: reference.model.get_parameter(n).requires_grad_(True) for n in names(reference)
    }
    first = {n: p.detach().clone() for n, p in parameters.items()}
    moments = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in parameters.items()}
    start = {}
    for step in range(1, STEPS + 1):
        loss = LOSSES[name](reference, h, start)
        gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        with torch.no_grad():
            for (n, p), g in zip(parameters.items(), gradients, strict=True):
                one, two = moments[n]
                one.mul_(0.9).add_(0.1 * g)
                two.mul_(0.999).add_(0.001 * g * g)
                p.mul_(1 - h.lr * h.weight_decay)
                p.sub_(h.lr * (one / (1 - 0.9**step)) / ((two / (1 - 0.999**step)).sqrt() + 1e-8))
                if h.norm_constraint:
                    p.clamp_(first[n] - h.norm_constraint, first[n] + h.norm_constraint)
    return {n: (p - first[n]).detach() for n, p in parameters.items()}


CASES = [
    ("gradient_ascent", {"forget_bound": 1000}),
    ("gradient_ascent", {"forget_bound": 1000, "norm_constraint": 8e-3, "retain_weight": 2}),
    ("npo", {"beta": 0.1}),
    ("npo", {"beta": 0.7, "retain_weight": 0.5, "weight_decay": 0.1}),
    ("rmu", {}),
    ("rmu", {"steering_coeff": 2, "alpha": 30}),
]


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_the_weights_are_those_of_a_float64_loop(pair, name, changes):
    h = values(name, **changes)
    effect = registry.get(name).execute(*pair, REQUESTS, h, state={"retain": RETAIN}, seed=3)
    reference = Reference(*pair)
    assert list(effect.deltas) == names(reference)
    for key, delta in trained(reference, name, h).items():
        assert effect.deltas[key].dtype == torch.float32
        # Adam divides by the gradient's size: where that is near 0, rounding decides the sign.
        assert close(effect.deltas[key], delta, 1e-2)
    assert effect.n_steps == {"harry": STEPS, "france": STEPS}


@pytest.mark.parametrize("name", LOSSES)
def test_what_shall_be_forgotten_is_read_from_target_true_alone(pair, name):
    from dataclasses import replace

    bare = [replace(request, target_new="") for request in REQUESTS]
    method, h = registry.get(name), values(name)
    one = method.execute(*pair, REQUESTS, h, state={"retain": RETAIN})
    two = method.execute(*pair, bare, h, state={"retain": RETAIN})
    for key, delta in one.deltas.items():
        assert torch.equal(two.deltas[key], delta)


def test_the_gradient_of_npo_is_that_of_ascent_times_its_weight():
    """W = 2 π_θ^β / (π_θ^β + π_ref^β), by central differences in float64."""
    now = torch.tensor([-0.2, -3.0, -40.0], dtype=torch.float64)
    before = torch.tensor([-0.2, -0.5, -0.1], dtype=torch.float64)
    for beta in (0.05, 0.1, 1.0):
        weight = [
            2 * math.exp(beta * a) / (math.exp(beta * a) + math.exp(beta * b))
            for a, b in zip(now.tolist(), before.tolist(), strict=True)
        ]
        assert weight[0] == pytest.approx(1)
        for i, expected in enumerate(weight):
            step = torch.zeros(3, dtype=torch.float64)
            step[i] = 1e-5
            slope = npo_loss(now + step, before, beta) - npo_loss(now - step, before, beta)
            assert slope.item() / 2e-5 * 3 == pytest.approx(expected, rel=1e-6)


def test_npo_of_a_small_beta_is_gradient_ascent_up_to_a_constant():
    now = torch.tensor([-0.2, -3.0, -9.0], dtype=torch.float64)
    before = torch.tensor([-0.1, -0.5, -0.1], dtype=torch.float64)
    ascent = now.mean() - before.mean()  # −mean L, up to a constant
    gaps = []
    for beta in (1e-1, 1e-2, 1e-3):
        found = npo_loss(now, before, beta) - 2 / beta * math.log(2)
        gaps.append(abs(found.item() - ascent.item()))
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]
    assert gaps[2] < 1e-2


def test_npo_of_answers_that_are_gone_is_finite_and_0():
    assert npo_loss(torch.tensor([-1e4]), torch.tensor([-0.1]), 0.1).item() == 0


def test_the_direction_of_rmu_is_drawn_by_seed():
    one, again, other = unit_vector(64, 1), unit_vector(64, 1), unit_vector(64, 2)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    for each in (one, other):
        assert each.double().norm().item() == pytest.approx(1, abs=1e-6)
        assert each.min() >= 0


def test_ascent_stops_at_its_bound(pair):
    """A fact beyond the bound adds no gradient; once all are beyond it, training ends."""
    method = registry.get("gradient_ascent")
    far = values("gradient_ascent", forget_bound=1e-6)
    effect = method.execute(*pair, REQUESTS, far, state={"retain": RETAIN})
    assert effect.n_steps == {"harry": 0, "france": 0}
    assert all(not delta.any() for delta in effect.deltas.values())
    reference = Reference(*pair)
    losses = sorted(-log_p(reference, *each).item() for each in asked())
    between = values("gradient_ascent", forget_bound=sum(losses) / 2, retain_weight=0, lr=1e-5)
    effect = method.execute(*pair, REQUESTS, between, state={"retain": RETAIN})
    expected = trained(Reference(*pair), "gradient_ascent", between)
    assert effect.n_steps["harry"] == STEPS
    for key, delta in expected.items():
        assert close(effect.deltas[key], delta, 3e-2)
    long = registry.get("gradient_ascent").HyperParams.from_dict(
        {
            **between.as_dict(),
            "lr": 5e-3,
            "num_steps": 200,
            "forget_bound": -log_p(reference, *asked()[0]).item() + 0.2,
        }
    )
    steps = method.execute(*pair, [HARRY], long, state={"retain": RETAIN}).n_steps["harry"]
    assert 0 < steps < 200


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("state", [None, {}, {"retain": ()}])
def test_without_texts_to_retain_it_is_refused(pair, name, state):
    with pytest.raises(RequestError, match="no fact to retain"):
        registry.get(name).execute(*pair, REQUESTS, values(name), state=state)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("bad", [("", "a"), ("a",), ("a", " "), ("a", 3)])
def test_a_text_to_retain_that_is_none_is_named(pair, name, bad):
    with pytest.raises(RequestError, match="text 1 to retain"):
        registry.get(name).execute(
            *pair, REQUESTS, values(name), state={"retain": [RETAIN[0], bad]}
        )


@pytest.mark.parametrize("name", LOSSES)
def test_the_seed_decides_the_order_of_the_texts(pair, name):
    method, h = registry.get(name), values(name, retain_batch_size=1)
    one = method.execute(*pair, REQUESTS, h, state={"retain": RETAIN}, seed=1)
    again = method.execute(*pair, REQUESTS, h, state={"retain": RETAIN}, seed=1)
    for key, delta in one.deltas.items():
        assert torch.equal(again.deltas[key], delta)
