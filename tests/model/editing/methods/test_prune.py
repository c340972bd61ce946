"""PRUNE's spectrum by a dense decomposition in float64, in both applications, over a sequence."""

from __future__ import annotations

import math

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import EditFailedError, EditingError, HparamsError
from thinkeval.editing.methods import memit, prune
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}"))
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]
BATCHES = [REQUESTS[:2], REQUESTS[2:]]
VALUES = {
    "layers": [0, 1],
    "v_num_grad_steps": 3,
    "v_lr": 0.1,
    "v_weight_decay": 1e-3,
    "clamp_norm_factor": 0.75,
    "kl_factor": 0.0625,
    "mom2_update_weight": 1e-3,
    "mom2_ridge": 1e-2,
}


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 2, [0, 1], dtype="float64")


@pytest.fixture
def settings(pair):
    """Targets so far away that the updates exceed the weights' own spectrum."""
    generator = torch.Generator().manual_seed(1)
    size = pair[0].config.hidden_size
    targets = {r.id: 300 * torch.randn(size, generator=generator) for r in REQUESTS}
    return {"context_templates": GROUPS, "targets": targets}


def hyperparams(**changes):
    return prune.HyperParams.from_dict({**VALUES, **changes})


def restrained(d, w0, base):
    """D' from full decompositions of D and of W0."""
    u, s, vh = torch.linalg.svd(d.double(), full_matrices=False)
    top = torch.linalg.svdvals(w0.double())[0].item()
    new = [x if x <= top else math.log(x, base) - math.log(top, base) + top for x in s.tolist()]
    assert any(x > top for x in s.tolist())  # else there would be nothing to see
    return u @ torch.diag(torch.tensor(new, dtype=torch.float64)) @ vh


def memit_batch(reference, batch, targets, moments):
    """MEMIT's dense solve on a model edited in place (as in the tests of MEMIT)."""
    h = memit.HyperParams.from_dict(VALUES)
    z = torch.stack([targets[r.id] for r in batch]).double()
    for i, layer in enumerate(h.layers):
        k = torch.stack([reference.mean_key(layer, r, GROUPS) for r in batch]).T
        now = torch.stack(
            [reference.layer_output(h.layers[-1], r.prompt, r.subject) for r in batch]
        )
        c = moments[reference.name(layer)].double()
        c = c + h.mom2_ridge * c.diagonal().mean() * torch.eye(len(c), dtype=c.dtype)
        solved = torch.linalg.solve(h.mom2_update_weight * c + k @ k.T, k)
        residual = (z - now).T / (len(h.layers) - i)
        reference.projection(layer).weight.data += reference.stored(residual @ solved.T)


def expected(pair, targets, moments, application, base, n_batches):
    """Return the update of W0 after so many batches of unrestrained MEMIT."""
    reference = Reference(*pair)
    names = [f"{reference.name(layer)}.weight" for layer in VALUES["layers"]]
    w0 = {name: reference.model.get_parameter(name).clone() for name in names}
    for batch in BATCHES[:n_batches]:
        memit_batch(reference, batch, targets, moments)
    totals = {}
    for name in names:
        d = reference.model.get_parameter(name) - w0[name]
        new = restrained(d, w0[name], base)
        totals[name] = new if application == "paper" else d + new
    return totals


@pytest.mark.parametrize("application", ["paper", "published_code"])
@pytest.mark.parametrize("base", [None, 1.2])
def test_the_spectrum_is_restrained_over_a_sequence(pair, moments, settings, application, base):
    """After each batch the sum of the increments is that of a sequence that ended there."""
    model, tokenizer = pair
    h = hyperparams(application=application, restraint=base)
    first = prune.execute(model, tokenizer, BATCHES[0], h, moments, **settings)
    with applied(model, first):
        second = prune.execute(
            model, tokenizer, BATCHES[1], h, moments, state=first.state, **settings
        )
    goal = (settings["targets"], moments, application, base or math.e)
    one, two = (expected(pair, *goal, n) for n in (1, 2))
    assert set(first.deltas) == set(one)
    for name in one:
        assert close(first.deltas[name], one[name], 1e-4)
        both = first.deltas[name].double() + second.deltas[name].double()
        assert close(both, two[name], 1e-4)


def test_an_update_within_the_weights_spectrum_is_memits(pair, moments, settings):
    model, tokenizer = pair
    near = {i: z / 3000 for i, z in settings["targets"].items()}
    options = settings | {"targets": near}
    changes = {"mom2_update_weight": 1000}
    h = memit.HyperParams.from_dict({**VALUES, **changes})
    plain = memit.execute(model, tokenizer, REQUESTS, h, moments, **options)
    ours, code = (
        prune.execute(
            model, tokenizer, REQUESTS, hyperparams(application=a, **changes), moments, **options
        )
        for a in ("paper", "published_code")
    )
    for name, delta in plain.deltas.items():
        largest = torch.linalg.svdvals(model.get_parameter(name).detach())[0]
        assert torch.linalg.svdvals(delta)[0] < largest
        assert close(ours.deltas[name], delta, 1e-6)
        assert close(code.deltas[name], 2 * delta, 1e-6)


def test_the_paper_bounds_what_the_published_code_does_not(pair, moments, settings):
    """log(s / σ) + σ against s + log(s / σ) + σ at the largest value."""
    model, tokenizer = pair
    sizes = {}
    for application in ("paper", "published_code"):
        h = hyperparams(application=application)
        effect = prune.execute(model, tokenizer, REQUESTS, h, moments, **settings)
        sizes[application] = {n: torch.linalg.svdvals(d)[0] for n, d in effect.deltas.items()}
    for name, spectrum in effect.state["spectra"].items():
        s = float(spectrum.s[0])
        top = torch.linalg.svdvals(model.get_parameter(name).detach().double())[0].item()
        assert s > top
        assert spectrum.largest == pytest.approx(top, rel=1e-9)
        assert sizes["paper"][name].item() == pytest.approx(math.log(s / top) + top, rel=1e-5)
        assert sizes["published_code"][name].item() == pytest.approx(
            s + math.log(s / top) + top, rel=1e-5
        )


def test_the_restraint_by_hand():
    values = torch.tensor([40.0, 10.0, 4.0, 2.0], dtype=torch.float64)
    by_e = prune.restrained(values, 4.0)
    by_two = prune.restrained(values, 4.0, 2.0)
    assert by_e.tolist() == pytest.approx([4 + math.log(10), 4 + math.log(2.5), 4, 2])
    assert by_two.tolist() == pytest.approx([4 + math.log2(10), 4 + math.log2(2.5), 4, 2])


def test_a_spectrum_does_not_outgrow_the_matrix():
    generator = torch.Generator().manual_seed(4)
    weight = torch.randn(6, 9, generator=generator)
    total, spectrum = torch.zeros(6, 9, dtype=torch.float64), None
    for _ in range(5):
        left = torch.randn(6, 2, generator=generator, dtype=torch.float64)
        right = torch.randn(2, 9, generator=generator, dtype=torch.float64)
        total += left @ right
        spectrum = prune.summed(spectrum, (left, right), weight)
    assert spectrum.s.shape == (6,)
    assert close(spectrum.s, torch.linalg.svdvals(total), 1e-12)
    assert close(spectrum.u @ torch.diag(spectrum.s) @ spectrum.vh, total, 1e-12)


def test_the_first_updates_factors_give_it_to_the_bit(pair, moments, settings):
    effect = prune.execute(*pair, REQUESTS, hyperparams(), moments, **settings)
    for name, (left, right) in effect.factors.items():
        assert torch.equal((left.double() @ right.double()).float(), effect.deltas[name])
    assert set(effect.factors) == set(effect.deltas)


def test_a_state_of_something_else_is_refused(pair, moments, settings):
    model, tokenizer = pair
    state = prune.execute(model, tokenizer, BATCHES[0], hyperparams(), moments, **settings).state
    other = hyperparams(restraint=1.5)
    with pytest.raises(EditingError, match="other hyperparameters"):
        prune.execute(model, tokenizer, BATCHES[1], other, moments, state=state, **settings)
    name, spectrum = next(iter(state["spectra"].items()))
    for key, kept in (("h.0.nothing", spectrum), (name, spectrum._replace(u=spectrum.u[:-1]))):
        with pytest.raises(EditingError, match="the state has updates of"):
            prune.execute(
                model,
                tokenizer,
                BATCHES[1],
                hyperparams(),
                moments,
                state={**state, "spectra": {key: kept}},
                **settings,
            )


def test_a_weight_of_zeros_cannot_restrain_anything(pair, moments, settings):
    model, tokenizer = pair
    name = next(iter(moments))
    with torch.no_grad():
        model.get_parameter(f"{name}.weight").zero_()
    with pytest.raises(EditFailedError, match="all zeros"):
        prune.execute(model, tokenizer, REQUESTS, hyperparams(), dict(moments), **settings)


@pytest.mark.parametrize("base", [1, 0.5, -2])
def test_a_base_that_would_not_restrain_is_refused(base):
    with pytest.raises(HparamsError, match="restraint"):
        hyperparams(restraint=base)
