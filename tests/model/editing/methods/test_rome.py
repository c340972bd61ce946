"""ROME against the paper's formulas in float64, on tiny models of both weight orientations."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, applied, preserved
from thinkeval.editing.errors import EditFailedError, HparamsError
from thinkeval.editing.key_value.keys import projection_at_subject
from thinkeval.editing.key_value.tokens import prompt_row
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.methods import rome
from thinkeval.loaders.records import RewriteRequest

TEMPLATES = ["{}", "In fact, {}", "The mother. {}", "I studied at Hogwarts. {}"]
LAYER = 1


def request(subject="Harry Potter", prompt="{} studied at", new="Ilvermorny", name="harry"):
    return RewriteRequest(name, "test", prompt, subject, "studied at", "Hogwarts", new)


def hparams(**changes):
    values = {
        "layers": [LAYER],
        "v_num_grad_steps": 8,
        "v_lr": 0.05,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 4,
        "kl_factor": 0.0625,
        "mom2_adjustment": True,
    }
    return rome.HyperParams.from_dict({**values, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=3, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 8, [LAYER], dtype="float64")


def optimised(pair, h, templates=TEMPLATES, site="mlp", req=None):
    model, tokenizer = pair
    with preserved(model):
        found = optimise(
            adapter_for(model),
            tokenizer,
            [req or request()],
            h,
            (tuple(templates),),
            layer=h.layers[-1],
            site=site,
        )
    return found.vectors["harry"], found.n_steps["harry"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"v_num_grad_steps": 2},
        {"kl_factor": 5.0},
        {"v_weight_decay": 0.5},
        {"v_lr": 0.5, "clamp_norm_factor": 0.1},
        {"v_num_grad_steps": 1},
    ],
    ids=["published", "one update", "kl", "decay", "clamp", "no update"],
)
def test_the_value_is_that_of_a_float64_loop(pair, changes):
    h = hparams(**changes)
    value, steps = optimised(pair, h)
    expected, expected_steps = Reference(*pair).optimise(request(), TEMPLATES, h, LAYER, "mlp")
    assert steps == expected_steps == h.v_num_grad_steps - 1
    assert close(value, expected, 2e-3)


def moved(pair, h):
    """Return the change of δ: comparisons of v* alone would be blind where δ is small beside v0."""
    start = Reference(*pair).value(LAYER, request().prompt, request().subject)
    return optimised(pair, h)[0].double() - start


def test_the_update_itself_is_that_of_a_float64_loop(pair):
    h = hparams(kl_factor=5.0, v_num_grad_steps=6, v_lr=0.5)
    reference = Reference(*pair)
    start = reference.value(LAYER, request().prompt, request().subject)
    expected = reference.optimise(request(), TEMPLATES, h, LAYER, "mlp")[0] - start
    assert close(moved(pair, h), expected, 2e-3)


def test_kl_is_of_the_new_against_the_initial_distribution(pair):
    """The reverse direction gives another δ, so that the test above tells them apart."""

    class Reversed(Reference):
        def loss(self, module, req, templates, delta, v0, start, h, loss_layer=None):
            total, begin = super().loss(
                module, req, templates, delta, v0, start, hparams(kl_factor=0), loss_layer
            )
            place = self.place("{} is a", req.subject)
            with self.adding(module, place, delta):
                now = self.logits(self.tokens(f"{req.subject} is a"))[place].log_softmax(-1)
            return total + h.kl_factor * (begin.exp() * (begin - now)).sum(), begin

    h = hparams(kl_factor=5.0, v_num_grad_steps=6, v_lr=0.5)
    reference = Reversed(*pair)
    start = reference.value(LAYER, request().prompt, request().subject)
    other = reference.optimise(request(), TEMPLATES, h, LAYER, "mlp")[0] - start
    ours = moved(pair, h)
    assert (ours - other).norm() > 0.01 * other.norm()


def test_it_stops_as_soon_as_the_whole_loss_is_small(pair):
    h = hparams(v_lr=0.5, v_num_grad_steps=30, v_weight_decay=0.0)
    reference = Reference(*pair)
    losses = []
    original = reference.loss

    def watched(*arguments):
        loss, start = original(*arguments)
        losses.append(loss.item())
        return loss, start

    reference.loss = watched
    reference.optimise(request(), ["{}"], h, LAYER, "mlp")
    # A threshold between the losses of two steps: no rounding can decide it.
    falls = [i for i in range(1, len(losses)) if losses[i] < min(losses[:i]) - 1e-3]
    assert falls, "the loss never fell; the test model is of no use"
    last = falls[-1]
    threshold = (losses[last] + min(losses[:last])) / 2
    value, steps = optimised(pair, hparams(**{**vary(h), "v_stop_loss": threshold}), ["{}"])
    assert steps == last
    expected = Reference(*pair).optimise(
        request(), ["{}"], hparams(**{**vary(h), "v_stop_loss": threshold}), LAYER, "mlp"
    )
    assert expected[1] == last
    assert close(value, expected[0], 2e-3)


def vary(h):
    return {key: value for key, value in h.as_dict().items() if value is not None}


def test_delta_is_clamped_onto_the_sphere(pair):
    h = hparams(v_lr=0.5, clamp_norm_factor=0.1)
    reference = Reference(*pair)
    start = reference.value(LAYER, request().prompt, request().subject)
    length = moved(pair, h).norm() / start.norm()
    assert length == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("consistent", [False, True])
def test_the_update_is_the_papers_rank_one(pair, moments, consistent):
    model, tokenizer = pair
    reference = Reference(*pair)
    generator = torch.Generator().manual_seed(0)
    value = torch.randn(model.config.hidden_size, generator=generator)
    effect = rome.execute(
        model,
        tokenizer,
        [request()],
        hparams(consistent_key=consistent, mom2_ridge=1e-3),
        moments,
        context_templates=TEMPLATES,
        targets={"harry": value},
    )
    c = moments[reference.name(LAYER)].double()
    c = c + 1e-3 * c.diagonal().mean() * torch.eye(len(c), dtype=torch.float64)
    mean_key = reference.mean_key(LAYER, request(), [TEMPLATES])
    direction = torch.linalg.solve(c, mean_key)
    direction /= direction.norm()
    key = mean_key if consistent else reference.key(LAYER, request().prompt, request().subject)
    bias = reference.projection(LAYER).bias if reference.gpt2 else 0.0
    output = reference.matrix(LAYER) @ key + bias
    expected = torch.outer(value.double() - output, direction) / (key @ direction)
    name = f"{reference.name(LAYER)}.weight"
    assert list(effect.deltas) == [name]
    assert close(effect.deltas[name], reference.stored(expected), 1e-4)
    assert effect.n_steps == {"harry": 0}
    assert torch.equal(effect.targets["harry"], value)


def test_without_covariance_the_direction_is_the_mean_key(pair):
    model, tokenizer = pair
    reference = Reference(*pair)
    effect = rome.execute(
        model,
        tokenizer,
        [request()],
        hparams(mom2_adjustment=False, v_num_grad_steps=4),
        None,
        context_templates=TEMPLATES,
    )
    delta = reference.stored(effect.deltas[f"{reference.name(LAYER)}.weight"].double())
    mean_key = reference.mean_key(LAYER, request(), [TEMPLATES])
    expected = torch.outer(delta @ mean_key / mean_key.norm() ** 2, mean_key)
    assert close(delta, expected, 1e-5)


def test_the_edited_layer_gives_the_value_at_the_bare_prompt(pair, moments):
    model, tokenizer = pair
    effect = rome.execute(
        model,
        tokenizer,
        [request()],
        hparams(mom2_ridge=1e-3),
        moments,
        context_templates=TEMPLATES,
    )
    rows = [prompt_row(tokenizer, request())]
    with applied(model, effect):
        _, output = projection_at_subject(adapter_for(model), tokenizer, rows, LAYER)
    assert close(output[0], effect.targets["harry"], 1e-4)


def test_several_requests_are_edited_one_after_the_other(pair, moments):
    """The second request's edit is the one it gets on the model that carries the first."""
    model, tokenizer = pair
    two = [request(), request("France", "The capital of {} is", "Warsaw", "france")]
    settings = {"context_templates": TEMPLATES}
    h = hparams(mom2_ridge=1e-3)
    both = rome.execute(model, tokenizer, two, h, moments, **settings)
    first = rome.execute(model, tokenizer, two[:1], h, moments, **settings)
    with applied(model, first):
        second = rome.execute(model, tokenizer, two[1:], h, moments, **settings)
    (name,) = both.deltas
    assert close(both.deltas[name], first.deltas[name] + second.deltas[name], 1e-5)
    assert close(both.targets["france"], second.targets["france"], 1e-5)
    assert set(both.n_steps) == {"harry", "france"}


def test_published_number_of_templates(pair):
    model, tokenizer = pair
    effect = rome.execute(
        model, tokenizer, [request()], hparams(mom2_adjustment=False, v_num_grad_steps=1), None
    )
    (group,) = effect.templates
    assert len(group) == 21
    assert group[0] == "{}"
    assert all(t.endswith(". {}") and t.count("{") == 1 for t in group[1:])
    assert not any("<|" in template for template in group)


def test_one_layer_only():
    with pytest.raises(HparamsError, match="one layer"):
        hparams(layers=[0, 1])


def test_a_singular_covariance_is_named(pair):
    model, tokenizer = pair
    reference = Reference(*pair)
    size = reference.matrix(LAYER).shape[1]
    flat = {reference.name(LAYER): torch.zeros(size, size)}
    with pytest.raises(EditFailedError, match="singular") as caught:
        rome.execute(model, tokenizer, [request()], hparams(), flat, context_templates=TEMPLATES)
    assert "mom2_ridge" in caught.value.remedy


def test_the_effect_can_be_saved_weights_again(pair):
    """`applied` puts on W0 + delta, and nothing else."""
    model, tokenizer = pair
    effect = rome.execute(
        model,
        tokenizer,
        [request()],
        hparams(mom2_adjustment=False, v_num_grad_steps=3),
        None,
        context_templates=TEMPLATES,
    )
    before = {name: p.clone() for name, p in model.named_parameters()}
    with applied(model, EditEffect(effect.deltas)):
        for name, parameter in model.named_parameters():
            expected = before[name] + effect.deltas.get(name, torch.zeros(()))
            assert torch.equal(parameter, expected)
