"""Objectives in fine-tuning's training loss, against a float64 loop with one pass per answer."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.references.objective_reference import log_p, terms
from support.tiny_models import build_tiny
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.methods import fine_tuning
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.editing.objectives.app import App
from thinkeval.loaders.records import RewriteRequest

LAYER = 1
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]
CORRECT = {"harry": ("Hogwarts", "America"), "france": ("Paris",), "padma": ("Parvati Patil",)}
HARD = {"harry": ("London", "Poland"), "france": ("Marie Curie",), "padma": ("Harry Potter",)}
WEIGHTS = (0.2, 0.5, 0.2)


def hparams(**changes):
    numbers = {
        "layers": [LAYER],
        "num_steps": 5,
        "lr": 5e-3,
        "weight_decay": 0,
        "norm_constraint": False,
        "batch_size": 2,
    }
    return fine_tuning.HyperParams.from_dict({**numbers, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=7, scale=16)


def nll(reference, request, name, in_place):
    """FT-M: each token at its own position; FT-L: all at the last of the prompt."""
    if in_place:
        return -log_p(reference, request, name)
    last = reference.logits(reference.tokens(request.filled_prompt))[-1].log_softmax(-1)
    return -last[reference.target(name)].mean()


def losses(reference, requests, before, kind, in_place):
    found = []
    for r in requests:
        loss = nll(reference, r, r.target_new, in_place)
        if kind == "app":
            now = [[log_p(reference, r, n) for n in lists[r.id]] for lists in (CORRECT, HARD)]
            parts = terms(*now, *before[r.id])
            loss = loss + sum(w * part for w, part in zip(WEIGHTS, parts, strict=True))
        else:
            more = [nll(reference, r, name, in_place) for name in CORRECT[r.id]]
            loss = torch.stack([loss, *more]).mean()
        found.append(loss)
    return torch.stack(found)


def trained(reference, h, kind, in_place):
    names = [
        n for n, _ in reference.model.named_parameters() if n.startswith(reference.name(LAYER))
    ]
    parameters = {n: reference.model.get_parameter(n) for n in names}
    start = {n: p.detach().clone() for n, p in parameters.items()}
    with torch.no_grad():
        before = {
            r.id: [[log_p(reference, r, n) for n in lists[r.id]] for lists in (CORRECT, HARD)]
            for r in REQUESTS
        }
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    adam = torch.optim.Adam(parameters.values(), lr=h.lr)
    for _ in range(h.num_steps):
        for i in range(0, len(REQUESTS), h.batch_size):
            loss = losses(reference, REQUESTS[i : i + h.batch_size], before, kind, in_place).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    return {n: (p - start[n]).detach() for n, p in parameters.items()}


@pytest.mark.parametrize("kind", ["app", "all answers"])
@pytest.mark.parametrize("in_place", [False, True], ids=["FT-L", "FT-M"])
def test_the_weights_are_those_of_a_loop_over_answers(pair, kind, in_place):
    """Two batches: log P0 of the second's answers is that before the first's updates."""
    h = hparams(objective_optimization="target_new" if in_place else "prompt_last")
    objective = App(*WEIGHTS, CORRECT, HARD) if kind == "app" else AllAnswers(CORRECT)
    effect = fine_tuning.execute(*pair, REQUESTS, h, objective=objective)
    expected = trained(Reference(*pair), h, kind, in_place)
    assert set(effect.deltas) == set(expected)
    for name, delta in expected.items():
        assert close(effect.deltas[name], delta, 2e-3)


class Undefined(App):
    def loss(self, request, nll, now, start):
        return nll + float("nan") * now.sum()


def test_a_loss_that_is_not_finite_is_an_error(pair):
    with pytest.raises(
        EditFailedError, match="the loss of the answers of 'harry', 'france' became"
    ):
        fine_tuning.execute(*pair, REQUESTS, hparams(), objective=Undefined(1, 1, 1, CORRECT, HARD))
