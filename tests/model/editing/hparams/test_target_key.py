"""Sharing of a target vector by two methods: every input of its optimisation is in the key."""

from __future__ import annotations

import dataclasses

import pytest

from thinkeval.editing import hparams
from thinkeval.editing.hparams.common import ModuleNames, ValueHyperParams

OTHER = {
    "v_num_grad_steps": 7,
    "v_lr": 0.123,
    "v_step": 0.123,
    "v_weight_decay": 0.123,
    "clamp_norm_factor": 1.5,
    "kl_factor": 0.123,
    "kl_direction": "initial_new",
    "v_loss_layer": 3,
    "v_stop_loss": 0.123,
    "v_stop_probability": 0.123,
    "context_template_length_params": ((3, 4),),
    "context_templates": ("In fact, {}",),
}
WITHOUT_EFFECT = {
    "mom2_ridge": 0.5,
    "mom2_dataset": "other",
    "mom2_n_samples": 5,
    "mom2_dtype": "float64",
    **{item.name: "other" for item in dataclasses.fields(ModuleNames)},
}
ONE_VALUE = {"fact_token"}


@pytest.fixture
def memit():
    return hparams.load("memit", "gpt2-xl")


@pytest.mark.parametrize("name", OTHER)
def test_what_changes_a_vector_changes_its_key(memit, name):
    instead = {"v_lr": None} if name == "v_step" else {}
    changed = dataclasses.replace(memit, **{name: OTHER[name]}, **instead)
    assert changed.target_key("layer") != memit.target_key("layer")


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_does_not_change_a_vector_is_no_part_of_its_key(memit, name):
    changed = dataclasses.replace(memit, **{name: WITHOUT_EFFECT[name]})
    assert changed.target_key("layer") == memit.target_key("layer")


def test_every_field_is_in_one_of_the_two_lists():
    names = {item.name for item in dataclasses.fields(ValueHyperParams)}
    assert names == {*OTHER, *WITHOUT_EFFECT, *ONE_VALUE, "layers"}


def test_site_and_last_layer_are_in_the_key(memit):
    last = memit.layers[-1]
    fewer = dataclasses.replace(memit, layers=(last,))
    assert fewer.target_key("layer") == memit.target_key("layer")
    assert fewer.target_key("layer") != memit.target_key("mlp")
    moved = dataclasses.replace(memit, layers=(last + 1,))
    assert moved.target_key("layer") != memit.target_key("layer")


def test_the_family_shares_vectors(memit):
    for method in ("alphaedit", "rect", "prune"):
        values = hparams.load(method, "gpt2-xl")
        assert values.target_key("layer") == memit.target_key("layer")


def test_joint_targets_are_keyed_apart_and_are_off(memit):
    assert memit.joint_targets is False
    joint = dataclasses.replace(memit, joint_targets=True)
    assert joint.target_key("layer") != memit.target_key("layer")
    assert not hasattr(hparams.load("rome", "gpt2-xl"), "joint_targets"), "ROME edits one by one"
