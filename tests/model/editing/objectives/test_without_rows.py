"""An objective that names no answers leaves every bit of an update as it is."""

from __future__ import annotations

import pytest
import torch

from support.edit_methods import FRANCE, HARRY, execute, hparams
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, registry
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.editing.objectives.app import App
from thinkeval.editing.sequence import edit_in_sequence

CORRECT = {"harry": ("Hogwarts", "Ilvermorny"), "france": ("Paris",)}
HARD = {"harry": ("London",), "france": ("Scotland", "Poland")}
WITHOUT = {
    "zero weights": App(0, 0, 0, CORRECT, HARD),
    "no lists": App(1, 1, 1),
    "lists of others": App(1, 1, 1, {"other": ("Hogwarts",)}, {"other": ("London",)}),
    "margin without false answers": App(1, 0, 0, CORRECT),
    "the target alone": AllAnswers({"harry": ("Paris",)}),
}
METHODS = ("rome", "memit", "rect", "prune", "alphaedit", "fine_tuning", "random_delta")


@pytest.fixture(scope="module")
def pair():
    return build_tiny("gpt2", seed=11, scale=16)


@pytest.fixture(scope="module")
def moments(pair):
    return covariance.collect(*pair, CORPUS * 4, [0, 1])


@pytest.fixture(scope="module")
def bare(pair, moments):
    return {name: execute(name, pair, [HARRY, FRANCE], moments) for name in METHODS}


def same(first, second):
    assert first.n_steps == second.n_steps
    assert set(first.deltas) == set(second.deltas)
    assert set(first.targets) == set(second.targets)
    return all(torch.equal(first.deltas[k], second.deltas[k]) for k in first.deltas) and all(
        torch.equal(first.targets[k], second.targets[k]) for k in first.targets
    )


@pytest.mark.parametrize("objective", WITHOUT.values(), ids=WITHOUT)
@pytest.mark.parametrize("name", ["rome", "memit", "fine_tuning"])
def test_every_bit_is_as_before(pair, moments, bare, name, objective):
    effect = execute(name, pair, [HARRY, FRANCE], moments, objective=objective)
    assert same(effect, bare[name])


@pytest.mark.parametrize("name", METHODS)
def test_with_answers_the_update_is_another(pair, moments, bare, name):
    """So the comparison above can fail, and every method of `TAKES_OBJECTIVE` reads it."""
    effect = execute(name, pair, [HARRY, FRANCE], moments, objective=App(1, 1, 1, CORRECT, HARD))
    assert not same(effect, bare[name])
    more = execute(name, pair, [HARRY, FRANCE], moments, objective=AllAnswers(CORRECT))
    assert not same(more, bare[name])


def test_a_request_without_answers_is_edited_as_before_beside_one_with(pair, moments, bare):
    """ROME edits in order: the first request has no answers."""
    objective = App(1, 1, 1, {"france": ("Paris",)}, {"france": ("Scotland",)})
    effect = execute("rome", pair, [HARRY, FRANCE], moments, objective=objective)
    assert torch.equal(effect.targets["harry"], bare["rome"].targets["harry"])
    assert not torch.equal(effect.targets["france"], bare["rome"].targets["france"])


def test_a_sequence_passes_its_objective_to_every_batch(pair, moments):
    objective, h = App(1, 1, 1, CORRECT, HARD), hparams("memit")
    method = registry.get("memit")
    steps = list(
        edit_in_sequence(*pair, [[HARRY], [FRANCE]], method, h, moments, objective=objective)
    )
    first = execute("memit", pair, [HARRY], moments, objective=objective)
    assert same(steps[0], first)
    plain = list(edit_in_sequence(*pair, [[HARRY], [FRANCE]], method, h, moments))
    assert not torch.equal(steps[1].targets["france"], plain[1].targets["france"])


def test_a_method_without_objectives_refuses_one_as_a_reference(pair, moments):
    changes = {"method": "mend", "hparams": {"layers": [1], "rank": 4, "edit_lr": -1e-2}}
    with pytest.raises(HparamsError, match="'mend' takes no objective"):
        execute("random_delta", pair, [HARRY], moments, changes=changes, objective=App(1, 1, 1))
