"""Evaluation mode: every module's own training flag is restored, whoever enters the mode."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from support.edit_methods import HARRY
from support.tiny_architectures import saved_and_loaded
from thinkeval.editing.architectures import _self_check, adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.evaluation_mode import evaluating
from thinkeval.editing.probe import ProbeItem, ProbeSettings, free_text, greedy, probe


def flags(model: nn.Module) -> list[bool]:
    return [module.training for module in model.modules()]


@pytest.fixture
def mixed():
    """A model in training mode whose every third module is in evaluation mode."""
    loaded = saved_and_loaded("gpt2")
    for number, module in enumerate(loaded.model.modules()):
        module.training = number % 3 != 1
    before = flags(loaded.model)
    assert {True, False} == set(before)
    yield loaded
    assert flags(loaded.model) == before
    loaded.model.eval()


def test_the_block_evaluates_and_restores(mixed):
    with evaluating(mixed.model):
        assert not any(flags(mixed.model))


def test_an_inner_block_restores_the_modes_of_the_outer_one(mixed):
    with evaluating(mixed.model):
        with evaluating(mixed.model):
            mixed.model.train()
        assert not any(flags(mixed.model))


def test_an_exception_restores(mixed):
    with pytest.raises(ValueError, match="stop"), evaluating(mixed.model):
        raise ValueError("stop")


def test_a_guarded_model_is_restored(mixed):
    with preserved(mixed.model):
        assert not any(flags(mixed.model))


def test_the_self_check_restores(mixed):
    _self_check._checked.discard(mixed.model)
    before = torch.random.get_rng_state()
    _self_check.check_once(adapter_for(mixed.model))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_probe_restores(mixed):
    item = ProbeItem("a", HARRY.prompt.replace("{}", HARRY.subject), HARRY.target_new)
    probe(mixed, [item], ProbeSettings(measures=("likelihood",)))


def test_greedy_answers_and_free_texts_restore(mixed):
    greedy.answers(mixed, ["The mother of Harry is"], max_new_tokens=2)
    free_text.generate(mixed, ["The mother of Harry is"], seed=1, max_tokens=12)
