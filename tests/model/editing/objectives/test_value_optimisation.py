"""Objectives in the value optimisation against float64 loops, one forward pass per answer."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.references.objective_reference import AllAnswersReference, AppReference, log_p
from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.key_value import values
from thinkeval.editing.key_value.value_batches import entry_for, units_of, value_batch
from thinkeval.editing.key_value.value_prefix import prefix_of
from thinkeval.editing.key_value.values import batch_of, optimise
from thinkeval.editing.methods import memit
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.editing.objectives.app import App
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "I studied at Hogwarts. {}"))
FLAT = [template for group in GROUPS for template in group]
LAYER = 1
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]
CORRECT = {
    "harry": ("Hogwarts", "Hogwarts in Scotland", "America"),  # a name that begins another
    "france": ("Paris",),
    "padma": ("Parvati Patil", "Hermione"),
}
HARD = {
    "harry": ("London", "Poland"),
    "france": ("Marie Curie", "Poland", "London"),
    "padma": ("Harry Potter",),
}
WEIGHTS = (0.6, 1.0, 0.3)
APP, PLUS = App(*WEIGHTS, CORRECT, HARD), AllAnswers(CORRECT)


def hparams(**changes):
    numbers = {
        "layers": [0, LAYER],
        "v_num_grad_steps": 6,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 0.75,
        "kl_factor": 0.0625,
        "mom2_update_weight": 5,
    }
    return memit.HyperParams.from_dict({**numbers, **changes})


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


def found(pair, objective, h=None, requests=REQUESTS, site="layer", **options):
    model, tokenizer = pair
    with preserved(model):
        return optimise(
            adapter_for(model),
            tokenizer,
            requests,
            h or hparams(),
            GROUPS,
            layer=LAYER,
            site=site,
            objective=objective,
            **options,
        )


@pytest.mark.parametrize("site", ["mlp", "layer"], ids=["rome", "memit"])
@pytest.mark.parametrize("objective", [APP, PLUS], ids=["app", "all answers"])
def test_vectors_are_those_of_a_loop_over_answers(pair, site, objective):
    ours = found(pair, objective, site=site)
    bare = found(pair, None, site=site)
    if objective is APP:
        reference = AppReference(*pair, WEIGHTS, CORRECT, HARD)
    else:
        reference = AllAnswersReference(*pair, CORRECT)
    for request in REQUESTS:
        expected, steps = reference.optimise(request, FLAT, hparams(), LAYER, site)
        module = reference.projection(LAYER) if site == "mlp" else reference.layers[LAYER]
        start = reference.seen(module, request.prompt, request.subject)[1]
        assert ours.n_steps[request.id] == steps == 5
        assert close(ours.vectors[request.id].double() - start, expected - start, 2e-3)
        moved = ours.vectors[request.id] - bare.vectors[request.id]
        assert moved.norm() > 0.02 * (expected - start).norm(), "the case tells nothing"


def seen(pair, objective, deltas):
    """(values at δ, values at 0, δ, entries, solver) of the code under test."""
    model, tokenizer = pair
    solver = values._Solver(adapter_for(model), tokenizer, hparams(), LAYER, "layer", objective)
    entries = [entry_for(tokenizer, request, GROUPS, objective) for request in REQUESTS]
    batch = value_batch(units_of(entries, None), tokenizer, solver.device)
    rows = batch_of([row for e in entries for row in e.rows], tokenizer, solver.device)
    delta = deltas.float().requires_grad_(True)
    with preserved(model), torch.enable_grad():
        prefix = prefix_of(solver.adapter, rows, solver.first_layer, batch.after)
        start = solver._forward(batch, prefix, torch.zeros_like(delta)).detached()
        now = solver._forward(batch, prefix, delta)
    return solver, entries, start, now, delta


@pytest.mark.parametrize("term", [0, 1, 2], ids=["L1", "L2", "L3"])
def test_gradients_are_those_of_float64(pair, term):
    assert check_gradients(pair, term, 2) > 1e-3, "the case tells nothing"


@pytest.mark.parametrize("term", [0, 1, 2], ids=["L1", "L2", "L3"])
def test_gradients_on_the_organism_are_those_of_float64(organism, term):
    """At δ of several sizes: what the organism answers, so which maxima are not 0, is trained, and
    differs in the last digits between processors."""
    pair = organism.loaded.model, organism.loaded.tokenizer
    norms = [check_gradients(pair, term, size) for size in (2, 8, 32)]
    assert max(norms) > 1e-3, "the case tells nothing"


def check_gradients(pair, term, size):
    """The largest norm of a gradient, once each is compared.

    Each term alone, at a δ away from the maxima's corners; by finite differences on gpt2.

    transformers computes Llama's norm in float32 whatever the model's type, so that differences of
    its float64 copy are rounding; there the gradient of the loop itself is compared.
    """
    weights = [float(i == term) for i in range(3)]
    generator = torch.Generator().manual_seed(3)
    width = pair[0].config.hidden_size
    deltas = size * torch.randn(3, width, generator=generator)
    solver, entries, start, now, delta = seen(pair, App(*weights, CORRECT, HARD), deltas)
    only = solver._fit(entries, now, start) - now.nll
    (gradient,) = torch.autograd.grad(only.sum(), delta)
    reference = AppReference(*pair, weights, CORRECT, HARD)
    module = reference.layers[LAYER]
    for i, request in enumerate(REQUESTS):
        here = deltas[i].double().requires_grad_(True)
        loss = reference.app(module, request, here)
        assert float(only[i].detach()) == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-5)
        if not float(loss.detach()):  # every maximum is 0
            assert not gradient[i].any()
            continue
        (exact,) = torch.autograd.grad(loss, here)
        assert close(gradient[i], exact, 1e-4)
        for _ in range(3 if reference.gpt2 else 0):
            step = torch.randn(width, generator=generator, dtype=torch.float64)
            slope = slope_of(reference, module, request, here.detach(), step)
            assert float(gradient[i].double() @ step) == pytest.approx(slope, rel=1e-4, abs=1e-6)
    return float(gradient.norm(dim=1).max())


def slope_of(reference, module, request, place, step, h=1e-5):
    with torch.no_grad():
        ahead = reference.app(module, request, place + h * step)
        behind = reference.app(module, request, place - h * step)
    return float((ahead - behind) / (2 * h))


def test_answers_are_scored_token_by_token_at_the_bare_prompt(pair):
    """A name that begins another, names of one and of several tokens: each by its own pass."""
    deltas = torch.zeros(3, pair[0].config.hidden_size)
    _, entries, start, now, _ = seen(pair, APP, deltas)
    reference = Reference(*pair)
    names = [(r, name) for r in REQUESTS for name in (*CORRECT[r.id], *HARD[r.id])]
    with torch.no_grad():
        expected = torch.stack([log_p(reference, r, name) for r, name in names])
    assert close(start.answers, expected, 1e-5)
    assert torch.equal(now.answers.detach(), start.answers), "log P0 is the first pass"
    rows = sum(len(entry.rows) - entry.n_contexts - 1 for entry in entries)
    assert rows < len(names), "answers share rows"


@pytest.mark.parametrize("objective", [APP, PLUS], ids=["app", "all answers"])
def test_several_requests_give_what_each_gives_alone(pair, objective, monkeypatch):
    """Also after requests have left the batch at different steps."""
    losses = []
    finite = torch.isfinite
    with monkeypatch.context() as patch:
        patch.setattr(torch, "isfinite", lambda loss: losses.append(loss.tolist()) or finite(loss))
        found(pair, objective)
    low, middle, _ = sorted(losses[3])
    h = hparams(v_stop_loss=(low + middle) / 2)
    together = found(pair, objective, h)
    assert len(set(together.n_steps.values())) > 1, "the case tells nothing"
    for request in REQUESTS:
        alone = found(pair, objective, h, [request])
        assert alone.n_steps[request.id] == together.n_steps[request.id]
        assert close(together.vectors[request.id], alone.vectors[request.id], 1e-4)
    apart = found(pair, objective, h, token_budget=1)
    for name, vector in apart.vectors.items():
        assert close(together.vectors[name], vector, 1e-4)


def test_the_total_loss_decides_when_to_stop(pair):
    """L_e alone is low from the start here; the margin is not."""
    h = hparams(v_stop_loss=1e3)
    assert set(found(pair, None, h).n_steps.values()) == {0}
    assert set(found(pair, App(1e4, 0, 0, CORRECT, HARD), h).n_steps.values()) == {5}


def test_many_pairs_are_no_loop_of_passes(pair):
    """120 correct × 120 false answers: the forward passes of the bare method."""
    model, _ = pair
    names = tuple(f"{a}{b}" for a in "ABCDEFGHIJ" for b in "abcdefghijklmnopqrstuvwx")
    calls = []
    handle = adapter_for(model).layer_module(2).register_forward_hook(lambda *_: calls.append(1))
    h = hparams(v_num_grad_steps=2)
    found(pair, None, h, REQUESTS[:1])
    bare = len(calls)
    objective = App(1, 1, 1, {"harry": names[:120]}, {"harry": names[120:]})
    found(pair, objective, h, REQUESTS[:1])
    handle.remove()
    assert len(calls) == 2 * bare


class Undefined(App):
    def loss(self, request, nll, now, start):
        return nll + float("nan") * now.sum()


def test_a_loss_that_is_not_finite_names_the_request(pair):
    with pytest.raises(EditFailedError, match=r"request '.*': the loss of its target became NaN"):
        found(pair, Undefined(1, 1, 1, CORRECT, HARD))
