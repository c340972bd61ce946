"""AlphaEdit against the published dense formula in float64, alone and in a sequence."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.covariance.projector import null_space
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import EditFailedError, EditingError, HparamsError
from thinkeval.editing.methods import alphaedit, memit
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}", "I studied at Hogwarts. {}"))
LAYERS = [0, 1]

REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]
FIRST, SECOND = REQUESTS[:2], REQUESTS[2:]


def values(**changes):
    return {
        "layers": LAYERS,
        "v_num_grad_steps": 7,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 0.75,
        "kl_factor": 0.0625,
        "L2": 2,
        **changes,
    }


def hyperparams(**changes):
    given = values(**changes)
    if "nullspace_threshold" not in given:
        given.setdefault("nullspace_relative", 0.1)
    return alphaedit.HyperParams.from_dict(given)


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 8, LAYERS, dtype="float64")


@pytest.fixture
def targets(pair):
    """Any vectors will do for the closed form."""
    generator = torch.Generator().manual_seed(1)
    size = pair[0].config.hidden_size
    return {r.id: torch.randn(size, generator=generator) for r in REQUESTS}


def settings(targets):
    return {"context_templates": GROUPS, "targets": targets}


def projector(c, h):
    """P from the left singular vectors of C, as published."""
    u, s, _ = torch.linalg.svd(c.double())
    bound = h.nullspace_threshold or h.nullspace_relative * c.double().trace() / len(c)
    small = u[:, s < bound]
    assert 0 < small.shape[1] < len(c)
    return small @ small.T


def dense(reference, batches, h, targets, moments):
    """X = (P (K Kᵀ + past) + L2 I)⁻¹ P K Rᵀ for batch after batch, the model edited in place.

    Returns the updates of each batch and the sums of K Kᵀ.
    """
    names = {layer: reference.name(layer) for layer in h.layers}
    p = {layer: projector(moments[name], h) for layer, name in names.items()}
    past = {layer: torch.zeros_like(p[layer]) for layer in h.layers}
    found = []

    def keys(layer, batch):
        return torch.stack([reference.mean_key(layer, r, GROUPS) for r in batch]).T

    for batch in batches:
        before = {layer: reference.matrix(layer).clone() for layer in h.layers}
        z = torch.stack([targets[r.id] for r in batch]).double()
        for i, layer in enumerate(h.layers):
            k = keys(layer, batch)
            now = torch.stack(
                [reference.layer_output(h.layers[-1], r.prompt, r.subject) for r in batch]
            )
            residual = (z - now).T / (len(h.layers) - i)
            left = p[layer] @ (k @ k.T + past[layer]) + h.L2 * torch.eye(len(k), dtype=k.dtype)
            x = torch.linalg.solve(left, p[layer] @ k @ residual.T)
            reference.projection(layer).weight.data += reference.stored(x.T)
        for layer in h.layers:
            k = keys(layer, batch)
            past[layer] = past[layer] + k @ k.T
        found.append(
            {
                f"{name}.weight": reference.stored(reference.matrix(layer) - before[layer])
                for layer, name in names.items()
            }
        )
    return found, {names[layer]: total for layer, total in past.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"nullspace_relative": 0.1},
        {"nullspace_relative": 0.06, "L2": 1e-3},
        {"nullspace_threshold": 0.3},
    ],
)
def test_the_updates_are_those_of_the_dense_formula(pair, moments, targets, changes):
    h = hyperparams(**changes)
    effect = alphaedit.execute(*pair, REQUESTS, h, moments, **settings(targets))
    (expected,), past = dense(Reference(*pair), [REQUESTS], h, targets, moments)
    assert set(effect.deltas) == set(expected)
    for name, delta in expected.items():
        assert close(effect.deltas[name], delta, 1e-4)
    for name, total in past.items():
        keys = effect.state["past_keys"][name]
        assert keys.shape == (len(total), 3)
        assert close(keys @ keys.T, total, 1e-4)


def test_in_a_sequence_the_past_keys_are_minded(pair, moments, targets):
    """The second batch, on the model with the first, knows the first one's keys."""
    model, tokenizer = pair
    h = hyperparams()
    options = settings(targets)
    one = alphaedit.execute(model, tokenizer, FIRST, h, moments, **options)
    with applied(model, one):
        two = alphaedit.execute(model, tokenizer, SECOND, h, moments, state=one.state, **options)
        forgetful = alphaedit.execute(model, tokenizer, SECOND, h, moments, **options)
    (first, second), past = dense(Reference(*pair), [FIRST, SECOND], h, targets, moments)
    for name in first:
        assert close(one.deltas[name], first[name], 1e-4)
        assert close(two.deltas[name], second[name], 1e-4)
        apart = (forgetful.deltas[name].double() - second[name]).norm() / second[name].norm()
        assert apart > 1e-2
    for name, total in past.items():
        keys = two.state["past_keys"][name]
        assert keys.shape[1] == 3
        assert close(keys @ keys.T, total, 1e-4)
        assert one.state["past_keys"][name].shape[1] == 2


def test_nothing_changes_for_keys_outside_of_the_null_space(pair, moments, targets):
    """ΔW k = 0 for every k that P removes: that is what the method promises."""
    h = hyperparams()
    effect = alphaedit.execute(*pair, REQUESTS, h, moments, **settings(targets))
    for name, c in moments.items():
        delta = effect.deltas[f"{name}.weight"].double()
        delta = delta.T if len(delta) == len(c) else delta
        removed = torch.eye(len(c), dtype=c.dtype) - projector(c, h)
        assert (delta @ removed).norm() < 1e-6 * delta.norm()


def test_the_factors_give_the_update_to_the_bit(pair, moments, targets):
    effect = alphaedit.execute(*pair, REQUESTS, hyperparams(), moments, **settings(targets))
    assert set(effect.factors) == set(effect.deltas)
    for name, (left, right) in effect.factors.items():
        assert left.shape[1] == right.shape[0] == 3
        assert torch.equal((left.double() @ right.double()).float(), effect.deltas[name])


def test_more_past_keys_than_dimensions_are_kept_in_d_columns():
    generator = torch.Generator().manual_seed(2)
    keys = torch.randn(10, 35, generator=generator, dtype=torch.float64)
    total = torch.empty(10, 0, dtype=torch.float64)
    for part in keys.split(4, dim=1):
        total = alphaedit.joined(total, part)
        assert total.shape[1] <= 10
    assert close(total @ total.T, keys @ keys.T, 1e-12)


def test_rank_and_bound_are_reported(pair, moments, targets):
    h = hyperparams()
    state = alphaedit.execute(*pair, REQUESTS, h, moments, **settings(targets)).state
    for name, c in moments.items():
        bound = 0.1 * c.trace().item() / len(c)
        assert state["nullspace_rank"][name] == int((torch.linalg.eigvalsh(c) < bound).sum())
        assert state["nullspace_bound"][name] == pytest.approx(bound)


def test_the_order_of_requests_does_not_matter(pair, moments, targets):
    options = settings(targets)
    ahead = alphaedit.execute(*pair, REQUESTS, hyperparams(), moments, **options)
    back = alphaedit.execute(*pair, REQUESTS[::-1], hyperparams(), moments, **options)
    assert list(back.targets) == [r.id for r in REQUESTS[::-1]]
    for name, delta in ahead.deltas.items():
        assert close(back.deltas[name], delta, 1e-4)
    for name, keys in ahead.state["past_keys"].items():
        assert close(back.state["past_keys"][name].flip(1), keys, 1e-4)


def test_its_targets_are_those_of_memit(pair, moments):
    options = {"context_templates": GROUPS}
    shared = {k: v for k, v in values(mom2_update_weight=5).items() if k != "L2"}
    theirs = memit.execute(*pair, REQUESTS, memit.HyperParams.from_dict(shared), moments, **options)
    ours = alphaedit.execute(*pair, REQUESTS, hyperparams(), moments, **options)
    assert alphaedit.TARGET_SITE == memit.TARGET_SITE == "layer"
    assert ours.n_steps == theirs.n_steps
    for request in REQUESTS:
        assert torch.equal(ours.targets[request.id], theirs.targets[request.id])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nullspace_relative": 1e-12}, "rank 0"),
        ({"nullspace_threshold": 1e9}, "full rank"),
    ],
)
def test_a_null_space_of_no_use_is_refused_before_the_optimisation(
    pair, moments, monkeypatch, changes, message
):
    from thinkeval.editing.key_value import layerwise

    monkeypatch.setattr(layerwise, "optimise", lambda *_, **__: pytest.fail("optimised"))
    if "nullspace_relative" in changes:  # of a small C even the smallest eigenvalue may be 0
        eye = {n: c + torch.eye(len(c), dtype=c.dtype) for n, c in moments.items()}
        moments = covariance.Covariance(eye)
    with pytest.raises(HparamsError, match=message) as caught:
        alphaedit.execute(*pair, REQUESTS, hyperparams(**changes), moments)
    assert "nullspace_" in caught.value.remedy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nullspace_threshold": 0.02, "nullspace_relative": 0.1}, "exactly one of"),
        ({"nullspace_relative": None}, "exactly one of"),
        ({"nullspace_relative": 0}, "positive"),
        ({"nullspace_threshold": -1.0}, "positive"),
        ({"L2": -1}, "L2"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(changes, message):
    with pytest.raises(HparamsError, match=message):
        hyperparams(**changes)


def test_a_singular_solve_is_an_error(pair, moments, targets):
    """Twice the same key and no L2: no unique solution, and nothing to hide that."""
    twin = RewriteRequest("twin", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Paris")
    size = pair[0].config.hidden_size
    given = targets | {"twin": torch.ones(size)}
    with pytest.raises(EditFailedError, match="could not be solved"):
        alphaedit.execute(*pair, [REQUESTS[0], twin], hyperparams(L2=0), moments, **settings(given))


def test_another_models_state_is_refused(pair, moments, targets):
    name = next(iter(moments))
    for past in (torch.zeros(3, 2), torch.full((len(moments[name]), 1), torch.nan)):
        with pytest.raises(EditingError, match="past keys"):
            alphaedit.execute(
                *pair,
                REQUESTS,
                hyperparams(),
                moments,
                **settings(targets),
                state={"past_keys": {name: past}},
            )


def test_the_projector_is_made_once_for_all_edits(pair, moments, targets, monkeypatch):
    h = hyperparams()
    alphaedit.execute(*pair, REQUESTS, h, moments, **settings(targets))
    monkeypatch.setattr(torch.linalg, "eigh", lambda _: pytest.fail("computed again"))
    alphaedit.execute(*pair, FIRST, h, moments, **settings(targets))
    name, c = next(iter(moments.items()))
    found = null_space(moments, name, torch.device("cpu"), relative=0.1)
    assert found.basis.numel() <= len(c) ** 2 / 2
