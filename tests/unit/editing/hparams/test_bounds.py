"""Bounds of hyperparameters: every number has some, they hold, and are known without torch."""

from __future__ import annotations

import json
import typing
from dataclasses import fields
from importlib.resources import files

import pytest

from thinkeval.editing import registry
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.hparams import available, entries

METHODS = sorted(registry._built_in())


def numbers(hint: object) -> bool:
    """Return True if a type is a number, or has one in it."""
    return hint in (int, float) or any(map(numbers, typing.get_args(hint)))


@pytest.mark.parametrize("method", METHODS)
def test_every_number_of_a_method_has_bounds_and_nothing_else_has(method: str) -> None:
    kind = registry.hyperparams(method)
    hints = typing.get_type_hints(kind)
    wanted = {item.name for item in fields(kind) if numbers(hints[item.name])}
    assert set(kind.bounds()) == wanted
    assert all(least < largest for least, largest in kind.bounds().values())
    said = entries(method)
    assert all(" to " in said[key].default for key in wanted)


@pytest.mark.parametrize("method", METHODS)
def test_what_ships_is_within_the_bounds(method: str) -> None:
    kind = registry.hyperparams(method)
    for name in available(method):
        path = files("thinkeval.editing.hparams") / method / f"{name}.json"
        assert kind.from_dict(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("method", "key", "value", "said"),
    [
        ("rome", "v_num_grad_steps", 10**9, "'v_num_grad_steps' is 1000000000; it must be from 1"),
        ("memit", "layers", [10**9], "'layers' is 1000000000; it must be from 0 to 9,999"),
        ("memit", "context_template_length_params", [[10, 10**9]], "is 1000000000; it must be"),
        ("fine_tuning", "norm_constraint", -1.0, "'norm_constraint' is -1.0; it must be from 0"),
        ("mend", "max_iters", 0, "'max_iters' is 0; it must be from 1 to 10,000,000"),
        ("rome", "v_lr", "fast", "'v_lr' is 'fast' (str); it must be a number"),
        ("rome", "__class__", 1, "unknown key '__class__'"),
        ("rome", "v_num_grad_step", 1, "did you mean 'v_num_grad_steps'?"),
        ("none", "v_lr", 1, "unknown key 'v_lr'"),
    ],
)
def test_a_single_key_is_refused_by_its_name_value_and_bounds(
    method: str, key: str, value: object, said: str
) -> None:
    with pytest.raises(HparamsError) as caught:
        registry.hyperparams(method).require_valid({key: value}, source="overrides")
    assert said in caught.value.detail


def test_bounds_hold_for_a_file_too() -> None:
    path = files("thinkeval.editing.hparams") / "rome" / "organism-gpt2.json"
    values = json.loads(path.read_text()) | {"v_num_grad_steps": 10**9}
    with pytest.raises(HparamsError, match="must be from 1 to 10,000"):
        registry.hyperparams("rome").from_dict(values)
