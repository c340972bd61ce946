"""RECT's mask entry by entry, and that it is MEMIT's update the mask is laid on."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.methods import memit, rect
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}"))
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
]
VALUES = {
    "layers": [0, 1],
    "v_num_grad_steps": 3,
    "v_lr": 0.1,
    "v_weight_decay": 1e-3,
    "clamp_norm_factor": 0.75,
    "kl_factor": 0.0625,
    "mom2_update_weight": 5,
    "mom2_ridge": 1e-2,
}


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 2, [0, 1])


@pytest.fixture
def settings(pair):
    generator = torch.Generator().manual_seed(1)
    size = pair[0].config.hidden_size
    targets = {r.id: torch.randn(size, generator=generator) for r in REQUESTS}
    return {"context_templates": GROUPS, "targets": targets}


def hyperparams(**changes):
    return rect.HyperParams.from_dict({**VALUES, **changes})


def expected_mask(delta, weight, k_percent, mask):
    """One entry after the other, in Python's own float64."""
    pairs = list(zip(delta.flatten().tolist(), weight.flatten().tolist(), strict=True))
    if mask == "paper":
        change = [abs(d / w) for d, w in pairs]
        best = sorted(range(len(change)), key=lambda i: -change[i])
        kept = set(best[: round(len(change) * k_percent / 100)])
        flags = [i in kept for i in range(len(change))]
    else:
        change = [abs(d / (w + 1e-8)) for d, w in pairs]
        threshold = sorted(change)[int(len(change) * (1 - k_percent / 100)) - 1]
        flags = [c >= threshold for c in change]
    return torch.tensor(flags).view_as(delta)


@pytest.mark.parametrize("mask", ["paper", "published_code"])
@pytest.mark.parametrize("k_percent", [40, 12.5])
def test_each_matrix_keeps_its_largest_relative_changes(pair, moments, settings, mask, k_percent):
    model, tokenizer = pair
    plain = memit.execute(
        model, tokenizer, REQUESTS, memit.HyperParams.from_dict(VALUES), moments, **settings
    )
    h = hyperparams(k_percent=k_percent, mask=mask)
    effect = rect.execute(model, tokenizer, REQUESTS, h, moments, **settings)
    assert set(effect.deltas) == set(plain.deltas)
    for name, delta in plain.deltas.items():
        keeps = expected_mask(delta, model.get_parameter(name), k_percent, mask)
        assert torch.equal(effect.deltas[name], torch.where(keeps, delta, 0.0))
        extra = mask == "published_code"
        count = delta.numel() * k_percent / 100
        assert abs(int((effect.deltas[name] != 0).sum()) - count - extra) < 1
    assert not effect.factors


def test_the_masks_differ_by_one_entry():
    generator = torch.Generator().manual_seed(0)
    delta, weight = torch.randn(2, 20, 50, generator=generator)
    paper = rect.retained(delta, weight, 40, "paper")
    code = rect.retained(delta, weight, 40, "published_code")
    assert paper.sum() == 400
    assert code.sum() == 401
    assert (code | paper).equal(code)


def test_all_of_it_can_be_kept():
    delta, weight = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(0))
    for mask in ("paper", "published_code"):
        assert rect.retained(delta, weight, 100, mask).all()


def test_a_weight_of_zero_changes_without_bound_unless_it_stays_zero():
    delta = torch.tensor([[1e-9, 0.0, 1.0, 5.0]])
    weight = torch.tensor([[0.0, 0.0, 10.0, 10.0]])
    assert rect.retained(delta, weight, 25, "paper").tolist() == [[True, False, False, False]]
    assert rect.retained(delta, weight, 50, "paper").tolist() == [[True, False, False, True]]
    # 1e-9 / 1e-8 = .1 and 1 / 10 = .1 up to rounding: the code's epsilon bounds what 0 can do.
    assert rect.retained(delta, weight, 25, "published_code")[0, 3]
    assert not rect.retained(delta, weight, 25, "published_code")[0, 1]


def test_the_weight_is_that_before_this_batch(pair, moments, settings):
    """In a sequence W carries the earlier update, not the unedited weight alone."""
    model, tokenizer = pair
    h = hyperparams()
    first = rect.execute(model, tokenizer, REQUESTS[:1], h, moments, **settings)
    with applied(model, first):
        plain = memit.execute(
            model, tokenizer, REQUESTS[1:], memit.HyperParams.from_dict(VALUES), moments, **settings
        )
        second = rect.execute(model, tokenizer, REQUESTS[1:], h, moments, **settings)
        edited = {name: model.get_parameter(name).clone() for name in first.deltas}
    for name, delta in plain.deltas.items():
        now = expected_mask(delta, edited[name], 40, "paper")
        unedited = expected_mask(delta, model.get_parameter(name), 40, "paper")
        assert not torch.equal(now, unedited)
        assert torch.equal(second.deltas[name] != 0, now)


@pytest.mark.parametrize("k_percent", [0, -1, 101])
def test_a_share_out_of_range_is_refused(k_percent):
    with pytest.raises(HparamsError, match="k_percent"):
        hyperparams(k_percent=k_percent)


def test_only_the_two_masks_exist():
    with pytest.raises(HparamsError, match="'paper' or 'published_code'"):
        hyperparams(mask="top")
