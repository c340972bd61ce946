"""A model that accelerate has spread over two devices gives the numbers of the CPU."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import torch

from support.edit_methods import ALL, FRANCE, HARRY, HPARAMS, WITHOUT_UPDATE, execute
from support.own_process import reported
from support.tiny_models import ARCHITECTURES, CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.deltas import applied
from thinkeval.editing.models import wrap
from thinkeval.editing.probe import own_samples
from thinkeval.editing.probe.edited_states import likelihoods_of_states
from thinkeval.editing.probe.likelihood import likelihoods
from thinkeval.editing.probe.prompts import Query, Rendered
from thinkeval.editing.probe.sampled import Sampling, sample

METHODS = [name for name in ALL if name not in WITHOUT_UPDATE]
OPTIONS = {"context_templates": ["{}", "Then {}"]}
LAYERS = {"rome": [2], "fine_tuning": [1, 2], "mend": [1, 2]}
"""Of four layers; the second device has 2 and 3."""


def _changes(method: str) -> dict[str, Any]:
    if method == "kn":
        return {}
    layers = {"layers": LAYERS.get(method, [1, 2])}
    return {"hparams": {**HPARAMS["memit"], **layers}} if method == "random_delta" else layers


def _spread(machine: Any, model: Any) -> None:
    """Put a model's layers on two devices, as `from_pretrained(device_map="auto")` does."""
    from accelerate import big_modeling

    layers, top = ("model.layers", ("model.embed_tokens", "model.rotary_emb"))
    end: tuple[str, ...] = ("model.norm", "lm_head")
    if hasattr(model, "transformer"):  # GPT-2's head is its embeddings, on the first device
        layers, top = "transformer.h", ("transformer.wte", "transformer.wpe", "transformer.drop")
        end = ("transformer.ln_f",)
    places = dict.fromkeys((*top, f"{layers}.0", f"{layers}.1"), 0)
    places |= dict.fromkeys((f"{layers}.2", f"{layers}.3", *end), 1)
    for name, index in places.items():
        machine.move(model.get_submodule(name), index)
    model.tie_weights()
    places = {"lm_head": 0, **places}
    # It knows tied weights by their address, which emulated tensors do not have.
    big_modeling.find_tied_parameters = lambda _: []
    big_modeling.dispatch_model(
        model,
        {name: machine.device(index) for name, index in places.items()},
        main_device=machine.device(0),
        skip_keys=model._skip_keys_device_placement,
    )


def _measured(pair: Any, to_cpu: Any) -> dict[str, Any]:
    """Numbers of probes, and tensors of a covariance and of every method's update."""
    loaded, found = wrap(*pair, name="tiny"), {}
    texts = ("Harry Potter studied at", "The capital of France is")
    names = ("Hogwarts", "Paris, in France")
    asked = [Query(t, Rendered(t, special=True, lead=None, seed_text=t), names) for t in texts]
    found["likelihoods"] = [list(each) for each in likelihoods(loaded, asked)]
    found["samples"] = [each.answers for each in sample(loaded, asked, Sampling(4, 1.0, 6, 0))]
    own = own_samples.sample(loaded, texts=3, length=8)
    found["texts"] = own.texts
    moments = covariance.collect(*pair, CORPUS * 4, [1, 2], dtype="float64")
    found["covariance"] = dict(moments)
    for name in METHODS:
        options = {"changes": _changes(name), **OPTIONS}
        effect = execute(name, pair, [HARRY], moments, **options)
        found[name] = {key: to_cpu(delta) for key, delta in effect.deltas.items()}
        if name in ("alphaedit", "prune", "ultraedit"):
            with applied(pair[0], effect):
                later = execute(name, pair, [FRANCE], moments, state=effect.state, **options)
            found[f"{name}, second"] = {key: to_cpu(d) for key, d in later.deltas.items()}
        if name == "rome":
            changed = own_samples.changes(loaded, effect, own, own_samples.hidden(loaded, own))
            found["changes"] = torch.tensor([[each.kl, each.nll] for each in changed])
            states = likelihoods_of_states(loaded, [[], [effect]], asked)
            found["states"] = torch.tensor(states)
    return found


def _difference(one: Any, other: Any) -> float:
    """Largest difference of the numbers of tensors; 0 or 1 of anything else."""
    if isinstance(one, dict):
        assert set(one) == set(other)
        return max(_difference(value, other[key]) for key, value in one.items())
    if isinstance(one, torch.Tensor):
        return float((other - one).abs().max())
    return float(one != other)


def _report(architecture: str) -> dict[str, float]:
    from support.emulated import emulated, to_cpu

    def pair() -> Any:
        made = build_tiny(architecture, n_layers=4)
        made[0].set_attn_implementation("eager")  # SDPA makes its mask on the first device
        return made

    plain = _measured(pair(), to_cpu)
    with emulated("cuda", devices=2) as machine:
        spread = pair()
        _spread(machine, spread[0])
        assert wrap(*spread, name="tiny").info.device == "gpu:0, gpu:1"
        again = _measured(spread, to_cpu)
    return {name: _difference(value, again[name]) for name, value in plain.items()}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_probes_and_methods_on_two_devices(architecture):
    """In a process of its own, since the emulated devices are for the whole process."""
    found = reported(__file__, architecture)
    for same in ("likelihoods", "samples", "texts", "covariance"):
        assert found[same] == 0, same
    assert {name: value for name, value in found.items() if value > 1e-6} == {}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report(sys.argv[1])))
