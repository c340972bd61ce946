"""The random control: the reference's norms, its own directions, and nothing learnt."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, hparams, registry
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.errors import CovarianceError, EditFailedError, HparamsError, RequestError
from thinkeval.editing.methods import random_delta
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest

HARRY = RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Paris")
FRANCE = RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw")
MEMIT = {
    "layers": [0, 1],
    "mom2_update_weight": 5,
    "v_num_grad_steps": 8,
    "v_lr": 0.1,
    "v_weight_decay": 1e-3,
    "clamp_norm_factor": 4,
    "kl_factor": 0.0625,
    "mom2_ridge": 1e-2,
}
FINE_TUNING = {
    "layers": [1],
    "num_steps": 2,
    "lr": 1e-3,
    "weight_decay": 0,
    "norm_constraint": False,
}


def values(**changes):
    return random_delta.HyperParams.from_dict({"method": "memit", "hparams": MEMIT, **changes})


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=11, scale=16)


@pytest.fixture(scope="module")
def moments(pair):
    return covariance.collect(*pair, CORPUS * 4, [0, 1])


@pytest.fixture(scope="module")
def real(pair, moments):
    """The referenced method's own update."""
    memit = registry.get("memit")
    return memit.execute(*pair, [HARRY, FRANCE], memit.HyperParams.from_dict(MEMIT), moments)


def execute(pair, moments, requests=(HARRY, FRANCE), h=None, **options):
    return random_delta.execute(*pair, list(requests), h or values(), moments, **options)


def cosine(a, b):
    return float((a.double() * b.double()).sum() / (a.double().norm() * b.double().norm()))


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("rank", ["full", "reference"])
def test_each_parameter_gets_the_references_norm(pair, moments, real, scale, rank):
    effect = execute(pair, moments, h=values(scale=scale, rank=rank))
    assert set(effect.deltas) == set(real.deltas)
    for name, delta in real.deltas.items():
        ours = effect.deltas[name]
        assert (ours.shape, ours.dtype) == (delta.shape, torch.float32)
        expected = scale * float(delta.double().norm())
        assert float(ours.double().norm()) == pytest.approx(expected, rel=1e-6)


def test_the_numbers_are_gaussian_and_point_nowhere(pair, moments, real):
    """Independent of the reference, of each other and over seeds: within five standard errors."""
    effects = [execute(pair, moments, targets=real.targets, seed=seed) for seed in range(3)]
    for name, delta in real.deltas.items():
        bound = 5 / delta.numel() ** 0.5
        drawn = [effect.deltas[name] for effect in effects]
        assert all(abs(cosine(one, delta)) < bound for one in drawn)
        assert abs(cosine(drawn[0], drawn[1])) < bound
        unit = drawn[0].double() / drawn[0].double().pow(2).mean().sqrt()
        assert abs(float(unit.mean())) < bound
        # The fourth moment of a Gaussian is 3, with variance 96 / n.
        assert float(unit.pow(4).mean()) == pytest.approx(3, abs=5 * (96 / delta.numel()) ** 0.5)
    first, second = effects[0].deltas.values()
    if first.shape == second.shape:
        assert abs(cosine(first, second)) < 5 / first.numel() ** 0.5


def test_the_seed_and_the_requests_decide_and_nothing_else(pair, moments, real):
    given = {"targets": real.targets, "context_templates": ["{}"]}
    first = execute(pair, moments, seed=3, **given)
    torch.manual_seed(99)
    again = execute(pair, moments, seed=3, **given)
    turned = execute(pair, moments, (FRANCE, HARRY), seed=3, **given)
    alone = execute(pair, moments, (HARRY,), seed=3, **given)
    other = execute(pair, moments, seed=4, **given)
    for name, delta in first.deltas.items():
        assert torch.equal(again.deltas[name], delta)
        # The same direction; the reference's norm may differ in its last digits.
        assert cosine(turned.deltas[name], delta) == pytest.approx(1, abs=1e-9)
        assert cosine(alone.deltas[name], delta) < 0.5, "a sequence would add up one direction"
        assert cosine(other.deltas[name], delta) < 0.5


def test_targets_save_the_references_optimisation(pair, moments, real):
    effect = execute(pair, moments, targets=real.targets)
    assert effect.n_steps == {"harry": 0, "france": 0}
    assert set(effect.targets) == set(real.targets)
    assert execute(pair, moments).n_steps == real.n_steps
    assert execute(pair, moments).templates == real.templates


def test_the_references_rank(pair, moments, real):
    effect = execute(pair, moments, h=values(rank="reference"))
    full = execute(pair, moments)
    assert not full.factors
    for name, delta in effect.deltas.items():
        assert int(torch.linalg.matrix_rank(real.deltas[name])) == 2
        assert int(torch.linalg.matrix_rank(delta)) == 2
        assert int(torch.linalg.matrix_rank(full.deltas[name])) == min(delta.shape)
        left, right = effect.factors[name]
        assert (left.shape[1], right.shape[0]) == (2, 2)
        assert torch.equal((left.double() @ right.double()).float(), delta)


def test_parameters_without_rank_and_references_without_covariance(pair):
    """Fine-tuning changes GPT-2's bias too, and needs no covariance."""
    name = "transformer.h.1.mlp.c_proj" if pair[0].config.model_type == "gpt2" else None
    changes = {"rewrite_module_tmp": name.replace(".1.", ".{}.")} if name else {}
    h = values(method="fine_tuning", hparams={**FINE_TUNING, **changes}, rank="reference")
    assert registry.covariance_layers(random_delta, h) == ()
    real = registry.get("fine_tuning").execute(*pair, [HARRY], random_delta.reference(h)[1])
    effect = execute(pair, None, (HARRY,), h)
    assert {n: d.shape for n, d in effect.deltas.items()} == {
        n: d.shape for n, d in real.deltas.items()
    }
    assert len(effect.deltas) == (2 if name else 1)
    for parameter, delta in real.deltas.items():
        assert float(effect.deltas[parameter].norm()) == pytest.approx(
            float(delta.norm()), rel=1e-5
        )


def test_it_does_not_teach_what_the_reference_teaches(pair):
    """The first-order rise of log p(target) by an update is measured in units of chance: a
    Gaussian direction in n dimensions has a cosine of N(0, 1/n) with the gradient."""
    model, tokenizer = pair
    tuned = {**FINE_TUNING, "objective_optimization": "target_new"}
    h = values(method="fine_tuning", hparams=tuned)
    real = registry.get("fine_tuning").execute(*pair, [HARRY], random_delta.reference(h)[1])
    (name,) = [name for name in real.deltas if name.endswith("weight")]
    prompt = tokenizer("Harry Potter studied at")["input_ids"]
    target = tokenizer(" Paris", add_special_tokens=False)["input_ids"]
    places = torch.arange(len(target)) + len(prompt) - 1
    log_p = model(torch.tensor([prompt + target])).logits[0].log_softmax(-1)
    (gradient,) = torch.autograd.grad(
        log_p[places, torch.tensor(target)].sum(), model.get_parameter(name)
    )
    root = gradient.numel() ** 0.5
    assert cosine(real.deltas[name], gradient) * root > 10
    drawn = [execute(pair, None, [HARRY], h, seed=seed).deltas[name] for seed in range(8)]
    assert max(abs(cosine(delta, gradient)) * root for delta in drawn) < 4


def test_the_model_is_untouched(pair, moments):
    model, _ = pair
    before, state = weights_digest(model), torch.random.get_rng_state()
    effect = execute(pair, moments)
    assert weights_digest(model) == before
    assert torch.equal(torch.random.get_rng_state(), state)
    with applied(model, effect):
        assert weights_digest(model) != before
    assert weights_digest(model) == before
    assert all(not delta.requires_grad for delta in effect.deltas.values())


def test_what_the_reference_refuses_is_refused(pair, moments):
    with pytest.raises(CovarianceError, match="needs the covariance"):
        execute(pair, None)
    with pytest.raises(RequestError, match=r"'harry'.*empty"):
        execute(pair, moments, [dataclasses.replace(HARRY, target_new="")])
    with pytest.raises(HparamsError, match="layer 17"):
        execute(pair, moments, h=values(hparams={**MEMIT, "layers": [17]}))


def test_a_reference_without_updates_is_an_error(pair, moments, monkeypatch):
    monkeypatch.setattr(registry.get("memit"), "execute", lambda *_, **__: EditEffect())
    with pytest.raises(EditFailedError, match="no norm to take"):
        execute(pair, moments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "none"}, "'none', of the kind 'control'"),
        ({"method": "random_delta"}, "of the kind 'control'"),
        ({"hparams": {**MEMIT, "v_lrr": 1}}, "hparams of 'memit': unknown key 'v_lrr'"),
        ({"hparams": {}}, "missing key"),
        ({"hparams": 3}, "a string or an object"),
        ({"hparams": "gpt2-xxl"}, "no hyperparameters of 'memit'.*gpt2-xl"),
        ({"scale": 0}, "positive"),
        ({"rank": "low"}, "'full' or 'reference'"),
    ],
)
def test_bad_hyperparameters(changes, message):
    with pytest.raises(HparamsError, match=message):
        values(**changes)


@pytest.mark.parametrize("model", hparams.available("random_delta"))
def test_the_files_follow_the_references_files(model):
    """Nothing is copied: a change of MEMIT's file is one here too, and in the digest."""
    h = hparams.load("random_delta", model)
    assert h.hparams == hparams.load("memit", model).as_dict()
    assert type(h).from_dict(h.as_dict()) == h
    memit = registry.get("memit").HyperParams
    assert random_delta.reference(h) == (registry.get("memit"), memit.from_dict(h.hparams))
    assert registry.covariance_layers(random_delta, h) == h.hparams["layers"]
    slower = {**h.hparams, "v_lr": h.hparams["v_lr"] / 2}
    assert hparams.load("random_delta", model, {"hparams": slower}).digest != h.digest
    rome = hparams.load("random_delta", model, {"method": "rome"})
    assert rome.hparams == hparams.load("rome", model).as_dict()
