"""Edits in sequence against the same edits made by hand, for every kind of method."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, registry
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.errors import EditFailedError, RequestError
from thinkeval.editing.models import weights_digest
from thinkeval.editing.sequence import combined, edit_in_sequence
from thinkeval.loaders.records import RewriteRequest

TEMPLATES = ["{}", "In fact, {}"]
HARRY, FRANCE, PADMA, SIRIUS = (
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
    RewriteRequest("sirius", "test", "{} is the godfather of", "Sirius Black", "r", "H", "Ron"),
)
BATCHES = [[HARRY, FRANCE], [PADMA], [SIRIUS]]

VALUES = {
    "v_num_grad_steps": 3,
    "v_lr": 0.5,
    "v_weight_decay": 1e-3,
    "clamp_norm_factor": 4,
    "kl_factor": 0.0625,
}
FAMILY = {"layers": [0, 1], "mom2_update_weight": 0.05, "mom2_ridge": 1e-2, **VALUES}
HPARAMS = {
    "memit": FAMILY,
    "alphaedit": {"layers": [0, 1], "L2": 1, "nullspace_relative": 0.3, **VALUES},
    "rect": FAMILY,
    "prune": FAMILY,
    "rome": {"layers": [1], "mom2_adjustment": True, "mom2_ridge": 1e-2, **VALUES},
    "fine_tuning": {
        "layers": [1],
        "num_steps": 3,
        "lr": 1e-3,
        "weight_decay": 0,
        "norm_constraint": 1e-3,
    },
    "ultraedit": {"layers": [0, 1], "eta": 1e-3},
    "none": {},
}


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=11, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS, [0, 1])


def hparams(name):
    return registry.get(name).HyperParams.from_dict(HPARAMS[name])


def run(pair, name, moments, batches=BATCHES, **options):
    options.setdefault("context_templates", TEMPLATES)
    return edit_in_sequence(*pair, batches, registry.get(name), hparams(name), moments, **options)


def by_hand(pair, name, moments):
    """{weight: W after the batch} for each batch: one edit on the other, as the contract says."""
    model, tokenizer = pair
    method, state, states = registry.get(name), None, []
    on: list[EditEffect] = []

    def go(rest):
        nonlocal state
        if not rest:
            return
        effect = method.execute(
            model,
            tokenizer,
            rest[0],
            hparams(name),
            moments,
            context_templates=TEMPLATES,
            state=state,
        )
        state = effect.state or state
        with applied(model, effect):
            on.append(effect)
            states.append({k: model.get_parameter(k).detach().clone() for k in effect.deltas})
            go(rest[1:])

    go(BATCHES)
    return states, on


@pytest.mark.parametrize("name", HPARAMS)
def test_each_yield_is_the_whole_edit_so_far(pair, moments, name):
    model, _ = pair
    before = weights_digest(model)
    weights, effects = by_hand(pair, name, moments)
    count = 0
    for got, expected, single in zip(run(pair, name, moments), weights, effects, strict=True):
        assert weights_digest(model) == before
        with applied(model, got):
            for key, weight in expected.items():
                assert (model.get_parameter(key) - weight).norm() <= 1e-5 * weight.norm()
        for key, weight in expected.items():
            assert close(got.deltas[key], weight - model.get_parameter(key), 1e-3)
        assert weights_digest(model) == before
        count += 1
        ids = [request.id for batch in BATCHES[:count] for request in batch]
        assert list(got.n_steps) == ids
        for request_id, vector in single.targets.items():
            assert close(got.targets[request_id], vector, 1e-3)
    assert count == 3
    assert weights_digest(model) == before


@pytest.mark.parametrize("name", ["alphaedit", "memit", "rome"])
def test_the_factors_of_the_sum_give_it_to_the_bit(pair, moments, name):
    for count, effect in enumerate(run(pair, name, moments)):
        assert set(effect.factors) == set(effect.deltas)
        for key, (left, right) in effect.factors.items():
            assert left.shape[1] == 2 + count
            assert torch.equal((left.double() @ right.double()).float(), effect.deltas[key])


def test_alphaedits_state_grows_with_the_sequence_and_changes_it(pair, moments):
    *_, last = run(pair, "alphaedit", moments)
    for keys in last.state["past_keys"].values():
        assert keys.shape[1] == 4
    method, h = registry.get("alphaedit"), hparams("alphaedit")

    def forgetful(*args, **options):
        return method.execute(*args, **(options | {"state": None}))

    careless = SimpleNamespace(execute=forgetful)
    *_, other = edit_in_sequence(*pair, BATCHES, careless, h, moments, context_templates=TEMPLATES)
    for key, delta in last.deltas.items():
        assert (other.deltas[key] - delta).norm() > 1e-3 * delta.norm()


def test_prune_restrains_the_sum_and_not_each_batch(pair, moments):
    model, _ = pair
    generator = torch.Generator().manual_seed(1)
    size = model.config.hidden_size
    far = {r.id: 300 * torch.randn(size, generator=generator) for batch in BATCHES for r in batch}
    *_, last = run(pair, "prune", moments, targets=far)
    exceeded = 0
    for key, delta in last.deltas.items():
        raw = last.state["spectra"][key]
        top = torch.linalg.svdvals(model.get_parameter(key).detach().double())[0]
        exceeded += int((raw.s > top).sum())
        expected = torch.where(raw.s > top, raw.s.log() - top.log() + top, raw.s)
        found = torch.linalg.svdvals(delta.double())[: len(expected)]
        assert close(found, expected.sort(descending=True).values, 1e-4)
    assert exceeded


def test_templates_are_sampled_once_from_the_unedited_model(pair, moments):
    model, tokenizer = pair
    effects = list(run(pair, "memit", moments, context_templates=None, seed=3))
    alone = registry.get("memit").execute(
        model, tokenizer, BATCHES[0], hparams("memit"), moments, seed=3
    )
    assert effects[0].templates == effects[1].templates == effects[2].templates == alone.templates


def test_given_targets_are_used(pair, moments):
    size = pair[0].config.hidden_size
    given = {"padma": torch.ones(size), "sirius": -torch.ones(size)}
    *_, last = run(pair, "memit", moments, targets=given)
    assert {i for i, n in last.n_steps.items() if n == 0} == {"padma", "sirius"}
    assert torch.equal(last.targets["sirius"], -torch.ones(size))


def test_after_the_sequence_all_batches_are_seen(pair, moments):
    """The last layer's output has moved to z for each of the requests, not only for the last."""
    *_, last = run(pair, "memit", moments)
    before, after = Reference(*pair), Reference(*pair)
    for key, delta in last.deltas.items():
        after.model.get_parameter(key).data += delta.double()
    for request in (HARRY, FRANCE, PADMA, SIRIUS):
        z = last.targets[request.id].double()
        was, now = (r.layer_output(1, request.prompt, request.subject) for r in (before, after))
        assert (now - z).norm() < 0.9 * (was - z).norm()


def broken_at(name, n):
    """A method that fails at its n-th batch."""
    method, calls = registry.get(name), []

    def execute(model, *args, **options):
        calls.append(1)
        if len(calls) < n:
            return method.execute(model, *args, **options)
        raise EditFailedError("request 'padma': the loss exploded")

    return SimpleNamespace(execute=execute)


def test_a_failing_batch_leaves_the_model_and_the_earlier_yields(pair, moments):
    model, _ = pair
    before = weights_digest(model)
    going = edit_in_sequence(
        *pair,
        BATCHES,
        broken_at("memit", 2),
        hparams("memit"),
        moments,
        context_templates=TEMPLATES,
    )
    first = next(going)
    with pytest.raises(EditFailedError, match="'padma'"):
        next(going)
    assert set(first.targets) == {"harry", "france"}
    assert weights_digest(model) == before


def test_a_sequence_that_is_given_up_leaves_the_model(pair, moments):
    model, _ = pair
    before, names = weights_digest(model), sorted(vars(model))
    going = run(pair, "memit", moments)
    next(going)
    next(going)
    going.close()
    assert weights_digest(model) == before
    assert sorted(vars(model)) == names


@pytest.mark.parametrize("name", ["memit", "none"])
def test_a_bad_request_in_the_last_batch_is_found_before_the_first_edit(pair, moments, name):
    bad = dataclasses.replace(SIRIUS, target_new=" ")
    with pytest.raises(RequestError, match="'sirius'"):
        run(pair, name, moments, [*BATCHES, [bad]])
    with pytest.raises(RequestError, match="no rewrite request"):
        run(pair, name, moments, [*BATCHES, []])


def scripted(effects, seen):
    """A method whose effects are written down; keeps what it was called with."""
    queue = iter(effects)

    def execute(model, tokenizer, requests, h, c, **options):
        seen.append((requests, options))
        return next(queue)

    return SimpleNamespace(execute=execute)


def test_prompt_changes_are_all_made_and_states_and_seeds_passed_on(pair):
    seen: list = []
    effects = [
        EditEffect(prompt_change=lambda text: f"One. {text}"),
        EditEffect(state={"mark": 2}),
        EditEffect(prompt_change=lambda text: f"Two. {text}"),
    ]
    found = list(
        edit_in_sequence(
            *pair,
            (batch for batch in BATCHES),
            scripted(effects, seen),
            None,
            None,
            state={"demonstrations": ("d",)},
            context_templates=TEMPLATES,
            seed=5,
        )
    )
    assert [effect.prompt_change("Who?") for effect in found] == [
        "One. Who?",
        "One. Who?",
        "One. Two. Who?",
    ]
    assert [options["seed"] for _, options in seen] == [5, 6, 7]
    states = [{"demonstrations": ("d",)}, {"demonstrations": ("d",)}, {"mark": 2}]
    assert [options["state"] for _, options in seen] == states
    assert [options["context_templates"] for _, options in seen] == [TEMPLATES] * 3
    assert [requests for requests, _ in seen] == BATCHES


def test_effects_on_different_parameters_are_joined():
    generator = torch.Generator().manual_seed(0)

    def low_rank(rows, columns, r):
        left = torch.randn(rows, r, generator=generator, dtype=torch.float64)
        right = torch.randn(r, columns, generator=generator, dtype=torch.float64)
        return left, right

    a, b, dense = low_rank(8, 12, 1), low_rank(8, 12, 1), torch.randn(4, 5, generator=generator)
    one = EditEffect(
        deltas={"w": (a[0] @ a[1]).float(), "v": dense}, factors={"w": a}, n_steps={"x": 1}
    )
    two = EditEffect(deltas={"w": (b[0] @ b[1]).float(), "v": dense, "u": dense}, factors={"w": b})
    both = combined(one, two)
    assert torch.equal(both.deltas["v"], 2 * dense)
    assert torch.equal(both.deltas["u"], dense)
    assert close(both.deltas["w"], a[0] @ a[1] + b[0] @ b[1], 1e-6)
    assert [part.shape for part in both.factors["w"]] == [(8, 2), (2, 12)]
    assert set(both.factors) == {"w"}
    assert both.n_steps == {"x": 1}
    for _ in range(3):
        both = combined(both, two)
    # Rank 5 of 8 x 12: as large as the matrix, so it is kept whole.
    assert not both.factors
    assert close(both.deltas["w"], a[0] @ a[1] + 4 * (b[0] @ b[1]), 1e-6)
