"""FT-L against a float64 loop of its own: position, bias, clamp, stopping, targets."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from support.unbounded import unbounded
from thinkeval.editing.errors import EditFailedError, HparamsError
from thinkeval.editing.methods import fine_tuning
from thinkeval.loaders.records import RewriteRequest

LAYER = 1
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]


def hparams(**changes):
    values = {
        "layers": [LAYER],
        "num_steps": 6,
        "lr": 5e-3,
        "weight_decay": 0,
        "norm_constraint": False,
    }
    return fine_tuning.HyperParams.from_dict({**values, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=7, scale=16)


def names(reference):
    name = reference.name(LAYER)
    return [f"{name}.weight", f"{name}.bias"] if reference.gpt2 else [f"{name}.weight"]


def loss_of(reference, request, in_place):
    ids, target = reference.tokens(request.filled_prompt), reference.target(request.target_new)
    if in_place:
        log_p = reference.logits([*ids, *target[:-1]]).log_softmax(-1)[len(ids) - 1 :]
        return -torch.stack([log_p[k, token] for k, token in enumerate(target)]).mean()
    return -reference.logits(ids)[-1].log_softmax(-1)[target].mean()


def trained(reference, requests, h, in_place=False):
    """{parameter: change} and the number of updates: Adam, then the box, as published."""
    parameters = {n: reference.model.get_parameter(n) for n in names(reference)}
    start = {name: p.detach().clone() for name, p in parameters.items()}
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    adam = torch.optim.Adam(parameters.values(), lr=h.lr, weight_decay=h.weight_decay)
    updates = 0
    for _ in range(h.num_steps):
        total = 0.0
        for i in range(0, len(requests), h.batch_size):
            chunk = requests[i : i + h.batch_size]
            loss = torch.stack([loss_of(reference, r, in_place) for r in chunk]).mean()
            total += loss.item() * len(chunk)
            if loss.item() >= h.stop_loss:
                adam.zero_grad()
                loss.backward()
                adam.step()
                updates += 1
            if h.norm_constraint:
                for name, parameter in parameters.items():
                    parameter.data.clamp_(
                        start[name] - h.norm_constraint, start[name] + h.norm_constraint
                    )
        if total / len(requests) < h.stop_loss:
            break
    return {name: (p - start[name]).detach() for name, p in parameters.items()}, updates


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm_constraint": 2e-3}, {"weight_decay": 0.1}, {"batch_size": 2}],
    ids=["unconstrained", "constrained", "weight decay", "batches"],
)
def test_the_weights_are_those_of_a_float64_loop(pair, changes):
    h = hparams(**changes)
    effect = fine_tuning.execute(*pair, REQUESTS, h)
    reference = Reference(*pair)
    expected, _ = trained(reference, REQUESTS, h)
    assert list(effect.deltas) == names(reference)
    for name, delta in expected.items():
        # Adam divides by the gradient's size: where that is near 0, rounding decides the sign.
        assert close(effect.deltas[name], delta, 5e-3)


def test_the_box_holds_for_every_weight_and_is_reached(pair):
    effect = fine_tuning.execute(*pair, REQUESTS, hparams(norm_constraint=2e-3))
    largest = max(delta.abs().max().item() for delta in effect.deltas.values())
    assert largest == pytest.approx(2e-3, rel=1e-3)


@pytest.mark.parametrize("bound", [False, None])
def test_without_a_bound_nothing_is_clamped(pair, bound):
    effect = fine_tuning.execute(*pair, REQUESTS, hparams(norm_constraint=bound))
    assert max(delta.abs().max().item() for delta in effect.deltas.values()) > 1e-2


def test_the_loss_is_read_at_the_one_last_position(pair):
    """FT-L trains all target tokens as alternatives there; FT-M trains each in its place."""
    last = fine_tuning.execute(*pair, REQUESTS, hparams())
    in_place = fine_tuning.execute(*pair, REQUESTS, hparams(objective_optimization="target_new"))
    expected, _ = trained(Reference(*pair), REQUESTS, hparams(), in_place=True)
    for name, delta in expected.items():
        assert close(in_place.deltas[name], delta, 5e-3)
        assert (last.deltas[name] - delta).norm() > 0.1 * delta.norm()


def test_it_stops_when_the_loss_is_small(pair):
    """One-token target, so that the loss can fall below the threshold at all."""
    model, tokenizer = pair
    one = RewriteRequest("one", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "is")
    assert len(tokenizer(" is", add_special_tokens=False)["input_ids"]) == 1
    h = hparams(num_steps=100, lr=5e-3, stop_loss=2.0)
    effect = fine_tuning.execute(model, tokenizer, [one], h)
    _, updates = trained(Reference(*pair), [one], h)
    assert effect.n_steps == {"one": updates}
    assert 3 < updates < 100


def test_padding_and_bos_are_no_targets(pair):
    """A short target beside a long one is trained like alone: the loss is a mean over its own."""
    model, tokenizer = pair
    short = RewriteRequest("s", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "is")
    h = hparams(num_steps=1)
    batch = fine_tuning._Batch
    from thinkeval.editing.architectures import adapter_for

    adapter = adapter_for(model)
    name = names(Reference(*pair))[0]
    weights = {name: model.get_parameter(name).detach().clone()}
    together = batch(adapter, tokenizer, [short, *REQUESTS], h).losses(adapter, weights)[0]
    alone = loss_of(Reference(*pair), short, in_place=False)
    assert together.item() == pytest.approx(alone.item(), rel=1e-4)


def test_order_within_a_batch_does_not_matter(pair):
    ahead = fine_tuning.execute(*pair, REQUESTS, hparams(num_steps=2))
    back = fine_tuning.execute(*pair, REQUESTS[::-1], hparams(num_steps=2))
    for name, delta in ahead.deltas.items():
        assert close(back.deltas[name], delta, 5e-3)


def test_published_names_say_what_is_trained(pair):
    """GPT-2's published template ends at the module (weight and bias), Llama's at the weight."""
    model, tokenizer = pair
    path = (
        "transformer.h.{}.mlp.c_proj" if Reference(*pair).gpt2 else "model.layers.{}.mlp.down_proj"
    )
    for template, expected in (
        (path, names(Reference(*pair))),
        (path + ".weight", names(Reference(*pair))[:1]),
    ):
        h = hparams(num_steps=1, rewrite_module_tmp=template)
        assert list(fine_tuning.execute(model, tokenizer, REQUESTS, h).deltas) == expected
    with pytest.raises(HparamsError, match="nowhere"):
        fine_tuning.execute(model, tokenizer, REQUESTS, hparams(rewrite_module_tmp="nowhere.{}"))


def test_an_exploding_loss_names_its_request(pair):
    with pytest.raises(EditFailedError, match=r"request '(harry|france|padma)'"):
        fine_tuning.execute(*pair, REQUESTS, unbounded(hparams(), lr=1e36))
