"""Joint targets: one z for all requests of a key, against a float64 loop over the sum of losses."""

from __future__ import annotations

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from support.unbounded import unbounded
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.key_value.value_batches import entry_for, groups_within, units_of
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.methods import memit
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}"))
FLAT = [template for group in GROUPS for template in group]


def request(name, prompt, subject, new):
    return RewriteRequest(name, "test", prompt, subject, "r", "old", new)


HARRY = [
    request("studied", "{} studied at", "Harry Potter", "Ilvermorny"),
    request("friend", "{} has a friend, who is", "Harry Potter", "Warsaw in Poland"),
    request("mother", "The mother of {} is", "Harry Potter", "Lily"),
]
FRANCE = request("france", "The capital of {} is", "France", "Warsaw")
REQUESTS = [HARRY[0], FRANCE, *HARRY[1:]]
JOINT = [["studied", "friend", "mother"], ["france"]]


def hparams(**changes):
    values = {
        "layers": [0, 1],
        "v_num_grad_steps": 6,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 4,
        "kl_factor": 0.5,
        "mom2_update_weight": 5,
    }
    return memit.HyperParams.from_dict({**values, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


def found(pair, h, requests=REQUESTS, joint=JOINT, **options):
    model, tokenizer = pair
    options = {"layer": 1, "site": "layer", "joint": joint, **options}
    with preserved(model):
        return optimise(adapter_for(model), tokenizer, requests, h, GROUPS, **options)


@pytest.mark.parametrize(
    "changes", [{}, {"clamp_norm_factor": 0.1, "v_lr": 0.5}, {"kl_direction": "initial_new"}]
)
@pytest.mark.parametrize("site", ["mlp", "layer"])
def test_the_vector_is_that_of_a_float64_loop_over_the_sum(pair, site, changes):
    """Prompts with and without words before the subject, so that v0 and essence differ."""
    h = hparams(**changes)
    ours = found(pair, h, site=site)
    reference = Reference(*pair)
    expected, steps = reference.optimise_joint(HARRY, FLAT, h, 1, site)
    module = reference.projection(1) if site == "mlp" else reference.layers[1]
    start = sum(reference.seen(module, r.prompt, r.subject)[1] for r in HARRY) / len(HARRY)
    assert list(ours.vectors) == [r.id for r in REQUESTS]
    for each in HARRY:
        assert torch.equal(ours.vectors[each.id], ours.vectors["studied"])
        assert ours.n_steps[each.id] == steps == 5
    assert close(ours.vectors["studied"].double() - start, expected - start, 2e-3)
    alone = found(pair, h, [FRANCE], None, site=site)
    assert close(ours.vectors["france"], alone.vectors["france"], 1e-4)


def test_it_ends_once_every_loss_is_small():
    """The unit leaves the batch at its own step, that of its slowest request."""
    pair = build_tiny("gpt2", seed=5, scale=16)
    requests, joint = [FRANCE, *HARRY[:2]], [["france"], ["studied", "friend"]]
    wide = {"v_num_grad_steps": 12, "v_lr": 0.5, "v_weight_decay": 0.0, "kl_factor": 0.0}
    for threshold in (8.0, 7.95, 7.9, 7.85, 7.8, 7.75):
        h = hparams(**wide, v_stop_loss=threshold)
        ours = found(pair, h, requests, joint)
        if 0 < ours.n_steps["studied"] < 11 and ours.n_steps["france"] != ours.n_steps["studied"]:
            break
    else:
        pytest.fail("no threshold parts the units")
    _, steps = Reference(*pair).optimise_joint(HARRY[:2], FLAT, h, 1, "layer")
    assert ours.n_steps["studied"] == ours.n_steps["friend"] == steps
    split = found(pair, h, requests, joint, token_budget=1)
    assert split.n_steps == ours.n_steps
    for name, vector in split.vectors.items():
        assert close(ours.vectors[name], vector, 2e-3)


def test_it_minimises_the_sum():
    """Its slope is 0 there; single ones, and their mean, leave a larger sum."""
    pair = build_tiny("gpt2", seed=5, scale=16)
    h = hparams(v_num_grad_steps=150, v_lr=0.2, v_weight_decay=0.0, kl_factor=0.0)
    two = HARRY[:2]
    joint = found(pair, h, two, [["studied", "friend"]]).vectors["studied"]
    single = found(pair, h, two, None).vectors
    reference = Reference(*pair)
    module = reference.layers[1]
    start = reference.layer_output(1, two[0].prompt, two[0].subject)

    def total(vector):
        delta = (vector.double() - start).requires_grad_()
        losses = [reference.loss(module, r, FLAT, delta, start, None, h)[0] for r in two]
        return sum(losses), torch.autograd.grad(sum(losses), delta)[0].norm()

    reached, slope = total(joint)
    assert slope < 0.1 * total(start)[1]
    for vector in (*single.values(), (single["studied"] + single["friend"]) / 2):
        assert total(vector)[0] > reached + 0.1


def test_a_partition_into_single_requests_changes_no_bit(pair):
    h = hparams(v_stop_loss=5.0, v_lr=0.5)
    plain = found(pair, h, joint=None)
    parted = found(pair, h, joint=[[r.id] for r in REQUESTS])
    assert parted.n_steps == plain.n_steps
    for name, vector in plain.vectors.items():
        assert torch.equal(parted.vectors[name], vector)


def test_an_objectives_answers_stay_with_their_request(pair):
    """Of the requests of a unit, only the named one has answers; the other unit's are its own."""
    answers = {"friend": ("Lily", "Hogwarts"), "france": ("Paris",)}
    joint = found(pair, hparams(), objective=AllAnswers(answers))
    alone = found(pair, hparams(), [FRANCE], None, objective=AllAnswers(answers))
    assert close(joint.vectors["france"], alone.vectors["france"], 1e-4)
    without = found(pair, hparams(), objective=AllAnswers({"france": ("Paris",)}))
    assert not torch.equal(joint.vectors["studied"], without.vectors["studied"])
    assert torch.equal(joint.vectors["studied"], joint.vectors["friend"])


def test_units_stay_together_whatever_their_lengths():
    _, tokenizer = build_tiny("gpt2")
    long = request("long", "{}" + 4 * " and she also studied at the school", "H", "Lily")
    entries = [entry_for(tokenizer, each, GROUPS) for each in (*REQUESTS, long)]
    units = units_of(entries, [["studied", "long"], ["france"], ["friend", "mother"]])
    names = [[e.request.id for u in group for e in u.entries] for group in groups_within(units, 1)]
    assert sorted(names) == [["france"], ["friend", "mother"], ["studied", "long"]]
    assert units[0].n_tokens >= entries[0].n_tokens + entries[-1].n_tokens


def test_the_request_that_fails_is_named(pair):
    with pytest.raises(EditFailedError, match=r"request '(studied|friend|mother)'"):
        found(
            pair,
            unbounded(hparams(), v_lr=1e30, clamp_norm_factor=1e38),
            HARRY,
            [[r.id for r in HARRY]],
        )
