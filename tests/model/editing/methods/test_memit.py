"""MEMIT against a dense float64 solve, and the joint value optimisation against single ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.errors import DeviceMemoryError, EditFailedError, HparamsError, RequestError
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.methods import memit
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}", "I studied at Hogwarts. {}"))
FLAT = [template for group in GROUPS for template in group]
LAYERS = [0, 1]

REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]


def hparams(**changes):
    values = {
        "layers": LAYERS,
        "v_num_grad_steps": 7,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 0.75,
        "kl_factor": 0.0625,
        "mom2_update_weight": 5,
    }
    return memit.HyperParams.from_dict({**values, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 8, LAYERS, dtype="float64")


def dense(reference, requests, h, targets, moments):
    """MEMIT algorithm 1 with the d × d solve of its equation 14, on a model edited in place."""
    original = {layer: reference.matrix(layer).clone() for layer in h.layers}
    z = torch.stack([targets[request.id] for request in requests]).double()
    for i, layer in enumerate(h.layers):
        keys = torch.stack([reference.mean_key(layer, r, GROUPS) for r in requests]).T
        now = torch.stack(
            [reference.layer_output(h.layers[-1], r.prompt, r.subject) for r in requests]
        )
        residual = (z - now).T / (len(h.layers) - i)
        c = moments[reference.name(layer)].double()
        c = c + h.mom2_ridge * c.diagonal().mean() * torch.eye(len(c), dtype=c.dtype)
        solved = torch.linalg.solve(h.mom2_update_weight * c + keys @ keys.T, keys)
        reference.projection(layer).weight.data += reference.stored(residual @ solved.T)
    return {
        f"{reference.name(layer)}.weight": reference.stored(
            reference.matrix(layer) - original[layer]
        )
        for layer in h.layers
    }


@pytest.mark.parametrize("ridge", [0.0, 1e-2])
def test_the_updates_are_those_of_a_dense_solve(pair, moments, ridge):
    model, tokenizer = pair
    generator = torch.Generator().manual_seed(1)
    size = model.config.hidden_size
    targets = {r.id: torch.randn(size, generator=generator) for r in REQUESTS}
    h = hparams(mom2_ridge=ridge)
    effect = memit.execute(
        model, tokenizer, REQUESTS, h, moments, context_templates=GROUPS, targets=targets
    )
    expected = dense(Reference(*pair), REQUESTS, h, targets, moments)
    assert set(effect.deltas) == set(expected)
    for name, delta in expected.items():
        assert close(effect.deltas[name], delta, 1e-4)


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_the_median_request_reaches_its_share_in_every_layer(pair, moments, share):
    """λ by numpy: a = kᵀC⁻¹k of the median request, and a / (λ + a) is the share."""
    targets = {r.id: torch.randn(pair[0].config.hidden_size) for r in REQUESTS}
    given = {"context_templates": GROUPS, "targets": targets}
    h = hparams(mom2_update_weight=None, update_share=share, layers=[0])
    effect = memit.execute(*pair, REQUESTS, h, moments, **given)
    reference = Reference(*pair)
    keys = torch.stack([reference.mean_key(0, r, GROUPS) for r in REQUESTS]).double().numpy()
    inverse = np.linalg.inv(moments[reference.name(0)].double().numpy())
    sizes = [float(key @ inverse @ key) for key in keys]
    weight = sorted(sizes)[1] * (1 - share) / share
    expected = memit.execute(
        *pair, REQUESTS, hparams(mom2_update_weight=weight, layers=[0]), moments, **given
    )
    for name, delta in expected.deltas.items():
        assert close(effect.deltas[name], delta, 1e-4)
    alone = memit.execute(*pair, REQUESTS[:1], h, moments, **given)
    assert alone.state["share_reached"][reference.name(0)] == pytest.approx(share, rel=1e-6)
    small = memit.execute(
        *pair, REQUESTS[:1], hparams(mom2_update_weight=99 * sizes[0], layers=[0]), moments, **given
    )
    assert small.state["share_reached"][reference.name(0)] == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update_share": 0.9}, "exactly one of 'mom2_update_weight', 'update_share'"),
        ({"mom2_update_weight": None}, "exactly one of"),
        ({"mom2_update_weight": None, "update_share": 1}, "'update_share' must be between 0 and 1"),
        ({"v_step": 0.1}, "exactly one of 'v_lr', 'v_step'"),
        ({"v_stop_probability": 1.0}, "'v_stop_probability' must be between"),
        ({"mom2_update_weight": 0}, "'mom2_update_weight' must be positive"),
    ],
)
def test_a_rule_and_the_value_it_replaces_exclude_each_other(changes, message):
    with pytest.raises(HparamsError, match=message):
        hparams(**changes)


def test_the_first_step_is_a_fraction_of_the_clamp(pair):
    """Adam's first step has one length in every coordinate, so its norm needs no gradient."""
    model, tokenizer = pair
    h = hparams(v_lr=None, v_step=0.1, v_num_grad_steps=2, clamp_norm_factor=2)
    with preserved(model):
        adapter = adapter_for(model)
        (vector,) = optimise(
            adapter, tokenizer, REQUESTS[:1], h, GROUPS, layer=1, site="layer"
        ).vectors.values()
    start = Reference(*pair).layer_output(1, REQUESTS[0].prompt, REQUESTS[0].subject)
    moved = (vector.double() - start).norm()
    assert float(moved) == pytest.approx(0.1 * 2 * float(start.norm()), rel=1e-3)


def test_it_stops_at_the_probability_whatever_the_other_terms_of_the_loss_are(pair):
    model, tokenizer = pair
    far = {"v_lr": None, "v_step": 0.05, "clamp_norm_factor": 4, "v_num_grad_steps": 200}
    h = hparams(**far, v_weight_decay=0.0, kl_factor=0.0, v_stop_probability=5e-4)
    with preserved(model):
        found = optimise(
            adapter_for(model), tokenizer, REQUESTS[1:2], h, (("{}",),), layer=1, site="layer"
        )
    (steps,) = found.n_steps.values()
    assert 0 < steps < 199
    decayed = hparams(**far, v_weight_decay=1e-9, kl_factor=1e-9, v_stop_loss=0.0)
    with preserved(model):
        on = optimise(
            adapter_for(model), tokenizer, REQUESTS[1:2], decayed, (("{}",),), layer=1, site="layer"
        )
    assert on.n_steps["france"] == 199


def test_a_plain_mapping_serves_as_covariance(pair, moments):
    model, tokenizer = pair
    h = hparams(v_num_grad_steps=3)
    settings = {"context_templates": GROUPS}
    ours = memit.execute(model, tokenizer, REQUESTS, h, moments, **settings)
    plain = {name: moment.numpy() for name, moment in moments.items()}
    plain = {name: torch.tensor(moment) for name, moment in plain.items()}
    theirs = memit.execute(model, tokenizer, REQUESTS, h, plain, **settings)
    for name, delta in ours.deltas.items():
        assert torch.equal(delta, theirs.deltas[name])


@pytest.mark.parametrize(("layer", "loss_layer"), [(1, None), (1, 2), (0, 1), (0, None)])
def test_z_is_that_of_a_float64_loop(pair, layer, loss_layer):
    """The three-layer model read at its last layer (2, null) or before it (1)."""
    model, tokenizer = pair
    h = hparams(v_loss_layer=loss_layer)
    with preserved(model):
        found = optimise(
            adapter_for(model), tokenizer, REQUESTS, h, GROUPS, layer=layer, site="layer"
        )
    reference = Reference(*pair)
    for request in REQUESTS:
        expected, steps = reference.optimise(
            request, FLAT, h, layer, "layer", 1 if loss_layer == 1 else None
        )
        start = reference.layer_output(layer, request.prompt, request.subject)
        assert found.n_steps[request.id] == steps
        assert close(found.vectors[request.id].double() - start, expected - start, 2e-3)


def test_requests_together_give_what_each_gives_alone(pair):
    """Also when they end at different steps, and when a budget splits them."""
    model, tokenizer = pair
    base = hparams(v_num_grad_steps=12, v_lr=0.5, v_weight_decay=0.0, clamp_norm_factor=4)
    adapter = adapter_for(model)

    def solve(requests, h, **options):
        with preserved(model):
            return optimise(
                adapter, tokenizer, requests, h, GROUPS, layer=1, site="layer", **options
            )

    # A threshold that the requests reach at different steps, and not all of them.
    for threshold in (8.3, 8.2, 8.1, 8.0, 7.9, 7.8, 7.7, 7.6, 7.5):
        h = hparams(**{**values(base), "v_stop_loss": threshold})
        alone = {r.id: solve([r], h) for r in REQUESTS}
        steps = {i: found.n_steps[i] for i, found in alone.items()}
        if len(set(steps.values())) == 3:
            break
    else:
        pytest.fail(f"no threshold parts the requests (last: {steps})")
    together, split = solve(REQUESTS, h), solve(REQUESTS, h, token_budget=1)
    assert together.n_steps == split.n_steps == steps
    for request in REQUESTS:
        assert close(together.vectors[request.id], alone[request.id].vectors[request.id], 2e-3)
        assert torch.equal(split.vectors[request.id], alone[request.id].vectors[request.id])


def test_each_request_is_clamped_by_its_own_length(pair):
    model, tokenizer = pair
    h = hparams(v_lr=0.5, clamp_norm_factor=0.1)
    adapter = adapter_for(model)
    with preserved(model):
        found = optimise(adapter, tokenizer, REQUESTS, h, GROUPS, layer=1, site="layer")
    reference = Reference(*pair)
    for request in REQUESTS:
        start = reference.layer_output(1, request.prompt, request.subject)
        moved = found.vectors[request.id].double() - start
        assert moved.norm() / start.norm() == pytest.approx(0.1, rel=1e-3)


def test_a_full_device_halves_the_batch_and_then_says_whose_request_does_not_fit(pair):
    """The layer refuses batches above a size, as a full device would."""
    model, tokenizer = pair
    adapter, h = adapter_for(model), hparams()
    rows = len(FLAT) + 1

    def solve(limit):
        def full(_, inputs):
            if len(inputs[0]) > limit:
                raise torch.OutOfMemoryError("full")

        handle = adapter.mlp_out(0).module.register_forward_pre_hook(full)
        try:
            with preserved(model):
                return optimise(adapter, tokenizer, REQUESTS, h, GROUPS, layer=1, site="layer")
        finally:
            handle.remove()

    whole, halved = solve(rows * len(REQUESTS)), solve(rows)
    for request in REQUESTS:
        assert close(halved.vectors[request.id], whole.vectors[request.id], 1e-4)
    with pytest.raises(DeviceMemoryError, match=r"'(harry|france|padma)'"):
        solve(len(FLAT) - 1)


def values(h):
    return {key: value for key, value in h.as_dict().items() if value is not None}


def test_the_order_of_requests_does_not_matter(pair, moments):
    model, tokenizer = pair
    settings = {"context_templates": GROUPS}
    ahead = memit.execute(model, tokenizer, REQUESTS, hparams(), moments, **settings)
    back = memit.execute(model, tokenizer, REQUESTS[::-1], hparams(), moments, **settings)
    assert list(back.targets) == [r.id for r in REQUESTS[::-1]]
    for request in REQUESTS:
        assert close(back.targets[request.id], ahead.targets[request.id], 1e-4)
    for name, delta in ahead.deltas.items():
        assert close(back.deltas[name], delta, 1e-3)


def test_given_targets_are_used_and_the_others_optimised(pair, moments):
    model, tokenizer = pair
    settings = {"context_templates": GROUPS}
    full = memit.execute(model, tokenizer, REQUESTS, hparams(), moments, **settings)
    some = {"harry": full.targets["harry"], "nobody": torch.zeros(3)}
    again = memit.execute(model, tokenizer, REQUESTS, hparams(), moments, targets=some, **settings)
    assert again.n_steps == {"harry": 0, "france": 6, "padma": 6}
    assert torch.equal(again.targets["harry"], full.targets["harry"])
    for name, delta in full.deltas.items():
        assert close(again.deltas[name], delta, 1e-3)
    with pytest.raises(RequestError, match="'harry'"):
        memit.execute(
            model, tokenizer, REQUESTS, hparams(), moments, targets={"harry": torch.zeros(3)}
        )


def test_a_flat_list_of_templates_is_grouped_as_published(pair, moments):
    model, tokenizer = pair
    h = hparams(v_num_grad_steps=1)
    flat = memit.execute(model, tokenizer, REQUESTS[:1], h, moments, context_templates=FLAT)
    assert flat.templates == GROUPS
    sampled = memit.execute(model, tokenizer, REQUESTS[:1], h, moments)
    assert [len(group) for group in sampled.templates] == [1, 5]


def test_z_is_reached_better_with_a_smaller_weight_on_the_old(pair, moments):
    """Meaning of λ: with λ → 0 the edited model shows z at the last layer, with λ → ∞ nothing."""
    model, tokenizer = pair
    gaps = []
    for weight in (1e-3, 1e5):
        effect = memit.execute(
            model,
            tokenizer,
            REQUESTS[:1],
            hparams(mom2_update_weight=weight, mom2_ridge=1e-2, layers=[1]),
            moments,
            context_templates=[["{}"]],
        )
        reference = Reference(*pair)
        was = reference.layer_output(1, REQUESTS[0].prompt, REQUESTS[0].subject)
        for name, delta in effect.deltas.items():
            reference.model.get_parameter(name).data += delta.double()
        now = reference.layer_output(1, REQUESTS[0].prompt, REQUESTS[0].subject)
        z = effect.targets["harry"].double()
        gaps.append(((now - z).norm() / (was - z).norm()).item())
    assert gaps[0] < 0.01
    assert gaps[1] > 0.9


def test_bad_layers_and_singular_covariance(pair, moments):
    model, tokenizer = pair
    with pytest.raises(HparamsError, match="v_loss_layer"):
        memit.execute(model, tokenizer, REQUESTS, hparams(v_loss_layer=47), moments)
    with pytest.raises(HparamsError, match="layer 9"):
        memit.execute(model, tokenizer, REQUESTS, hparams(layers=[1, 9]), moments)
    flat = {name: torch.zeros_like(moment) for name, moment in moments.items()}
    with pytest.raises(EditFailedError, match="singular"):
        memit.execute(model, tokenizer, REQUESTS, hparams(v_num_grad_steps=1), flat)
