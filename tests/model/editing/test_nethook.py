"""Hooks: recorded, changed, stopped early, and always gone."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch import nn

from thinkeval.editing import nethook


class Pair(nn.Module):
    """A layer in the old form: a tuple with the hidden states first."""

    def forward(self, x):
        return x + 1, "cache"


@pytest.fixture
def model():
    return nn.Sequential(nn.Identity(), nn.Linear(2, 2), nn.Identity())


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_inputs_and_outputs_are_recorded(model):
    x = torch.ones(1, 3, 2)
    with nethook.recording(inputs={"in": model[1]}, outputs={"out": model[1]}) as seen:
        y = model(x)
    assert torch.equal(seen.inputs["in"], x)
    assert torch.equal(seen.outputs["out"], y)
    assert hooks(model) == 0


def test_inputs_are_read_as_their_modules_run_and_none_is_kept():
    model, x = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)), torch.ones(3, 2)
    found, alive = {}, []

    def read(name, tensor):
        found[name] = tensor.detach().clone()
        alive.append(weakref.ref(tensor))

    modules = {"second": model[1], "third": model[2]}
    with torch.no_grad():
        with nethook.reading(modules, read), nethook.recording(stop_before=model[2]):
            model(x)
        assert list(found) == ["second", "third"]
        assert torch.equal(found["second"], model[0](x))
        assert torch.equal(found["third"], model[1](model[0](x)))
    assert all(reference() is None for reference in alive)
    assert hooks(model) == 0


class InPlace(nn.Module):
    """As Falcon's layer: what the MLP returned is added to in place afterwards."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Linear(2, 2)

    def forward(self, x):
        out = self.mlp(x)
        out += 5
        return out


def test_an_output_is_recorded_as_it_left_its_module():
    model, x = InPlace(), torch.ones(1, 3, 2)
    with nethook.recording(outputs={"mlp": model.mlp}) as seen:
        model(x)
    assert torch.equal(seen.outputs["mlp"], model.mlp(x))
    (gradient,) = torch.autograd.grad(seen.outputs["mlp"].sum(), model.mlp.bias)
    assert gradient.tolist() == [3, 3]


@pytest.mark.parametrize(("where", "recorded"), [("stop_before", []), ("stop_after", ["out"])])
def test_a_forward_ends_early(model, where, recorded):
    with nethook.recording(outputs={"out": model[1]}, **{where: model[1]}) as seen:
        model(torch.ones(1, 3, 2))
        pytest.fail("the forward went on")
    assert list(seen.outputs) == recorded
    assert hooks(model) == 0


def test_a_stop_ends_its_own_block_only(model):
    with nethook.recording(outputs={"in": model[0]}, stop_after=model[2]) as outer:
        with nethook.recording(stop_after=model[1]):
            model(torch.ones(1, 3, 2))
        assert list(outer.outputs) == ["in"]
        model(torch.ones(1, 3, 2))
        pytest.fail("the outer stop was lost")


def test_errors_pass_and_leave_no_hook(model):
    def broken(output):
        raise ValueError("broken")

    with (
        pytest.raises(ValueError, match="broken"),
        nethook.changing(model[0], broken),
        nethook.recording(inputs={"in": model[1]}, stop_after=model[2]),
    ):
        model(torch.ones(1, 3, 2))
    assert hooks(model) == 0


def test_tuples_are_read_and_given_back_as_tuples():
    module = Pair()
    x = torch.zeros(1, 2, 2)
    with (
        nethook.changing(module, lambda h: h * 10),
        nethook.recording(outputs={"h": module}) as seen,
    ):
        out = module(x)
    assert torch.equal(out[0], torch.full((1, 2, 2), 10.0))
    assert out[1] == "cache"
    assert torch.equal(seen.outputs["h"], out[0])


def test_add_at_touches_only_its_places():
    out = torch.zeros(2, 3, 2)
    got = nethook.add_at(
        out, torch.tensor([0, 1]), torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    )
    assert not out.any()
    assert got[0, 2].tolist() == [1, 2]
    assert got[1, 0].tolist() == [3, 4]
    assert got.sum() == 10


@pytest.mark.parametrize("own", [False, True])
def test_answering_computes_nothing_and_gives_the_forward_back(model, own):
    """Also a forward that somebody set on the instance; hooks see the answer."""
    x, given = torch.ones(1, 3, 2), torch.full((1, 3, 2), 7.0)
    if own:
        model[1].forward = lambda x: x * 2
    before = dict(vars(model[1]))
    with (
        nethook.recording(outputs={"out": model[1]}) as seen,
        nethook.answering([model[1]], given),
    ):
        assert torch.equal(model(x), given)
    assert torch.equal(seen.outputs["out"], given)
    assert seen.sizes == {"out": 0}
    assert vars(model[1]) == before


def test_answering_a_tuple_has_its_size():
    module, x = Pair(), torch.ones(1, 2, 2)
    with nethook.recording(outputs={"h": module}) as seen:
        module(x)
    with nethook.answering([module], x, seen.sizes["h"]):
        assert module(x * 5) == (x, None)


def test_at_places_only_equals_the_module_there_and_passes_gradients(model):
    x = torch.randn(2, 3, 2, requires_grad=True)
    whole = model[1](x)
    with nethook.at_places_only(model[1], torch.tensor([1, 5])):
        some = model[1](x)
    assert torch.allclose(some[0, 1], whole[0, 1])
    assert torch.allclose(some[1, 2], whole[1, 2])
    assert some[0, 0].tolist() == some[1, 1].tolist() == [0, 0]
    (gradient,) = torch.autograd.grad(some.sum(), x)
    assert gradient.flatten(0, 1).any(1).nonzero().flatten().tolist() == [1, 5]
    assert "forward" not in vars(model[1])
