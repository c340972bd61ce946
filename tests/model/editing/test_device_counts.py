"""Count the device memory of an edit's factors, its copies, and the waits of the host.

Counted on the emulated device, in a process of its own.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from support.edit_methods import HARRY, execute, hparams
from support.own_process import reported
from support.tiny_models import CORPUS, build_tiny, build_tokenizer

LAYERS = [0, 1, 2, 3, 4]
STEPS = (4, 9)


def _memit(machine: Any) -> dict[str, Any]:
    """MEMIT of five layers on the device, against the CPU."""
    from support.emulated import to_cpu
    from thinkeval.editing import covariance

    pair = build_tiny("llama", n_layers=5)
    pair[0].set_attn_implementation("eager")
    moments = covariance.collect(*pair, CORPUS * 8, LAYERS)
    options: dict[str, Any] = {"changes": {"layers": LAYERS}, "context_templates": ["{}"]}
    plain = execute("memit", pair, [HARRY], covariance.Covariance(dict(moments)), **options)
    machine.move(pair[0])
    moments = covariance.Covariance(dict(moments))
    machine.counts.clear()
    found = execute("memit", pair, [HARRY], moments, **options)
    copied = {k: n for k, n in machine.counts.bytes_at.items() if "statistics" in k}
    return {
        "factors": len(moments._factors),
        "on the device": sum(lu.device.type != "cpu" for lu, _ in moments._factors.values()),
        "copied": sum(copied.values()),
        "matrices": sum(each.nbytes for each in moments.values()),
        "change": max(
            float((to_cpu(found.deltas[n]) - d).norm() / d.norm()) for n, d in plain.deltas.items()
        ),
    }


def _waits(machine: Any) -> list[dict[str, int]]:
    """Waits of `optimise` by place, for each number of `STEPS`."""
    from thinkeval.editing.architectures import adapter_for
    from thinkeval.editing.deltas import preserved
    from thinkeval.editing.key_value.values import optimise

    pair = build_tiny("llama")
    pair[0].set_attn_implementation("eager")
    machine.move(pair[0])
    found = []
    for steps in STEPS:
        wanted = hparams("memit", v_num_grad_steps=steps, v_stop_loss=-1)
        with preserved(pair[0]):
            machine.counts.clear()
            optimise(
                adapter_for(pair[0]), pair[1], [HARRY], wanted, (("{}",),), layer=1, site="layer"
            )
        found.append(dict(machine.counts.waits_at))
    return found


def _sampling(machine: Any) -> int:
    """The most bytes that a place in the code copies for a token of 64 own texts."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from thinkeval.editing.models import wrap
    from thinkeval.editing.probe.own_samples import sample

    config = LlamaConfig(
        vocab_size=8192, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    config._attn_implementation = "eager"
    model: Any = LlamaForCausalLM(config).eval()
    loaded = wrap(machine.move(model), build_tokenizer(bos=True), name="tiny")
    machine.counts.clear()
    sample(loaded, texts=64, length=8)
    return max(machine.counts.bytes_at.values()) // 8


def _report() -> dict[str, Any]:
    from support.emulated import emulated

    with emulated("cuda", code=str(Path(__file__).parents[3] / "editing")) as machine:
        return {
            "memit": _memit(machine), "waits": _waits(machine), "sampling": _sampling(machine)
        }  # fmt: skip


@cache
def counted() -> dict[str, Any]:
    return reported(__file__)


def test_five_layers_leave_one_factor_and_copy_each_covariance_once() -> None:
    found = counted()["memit"]
    assert (found["factors"], found["on the device"]) == (1, 1)
    read = found["copied"] - found["matrices"]  # single numbers: an error code, a comparison
    assert 0 <= read < 100
    assert found["change"] < 1e-4


def test_a_step_of_the_value_optimisation_waits_at_most_twice() -> None:
    few, many = counted()["waits"]
    more = {place: n - few.get(place, 0) for place, n in many.items() if n > few.get(place, 0)}
    assert sum(more.values()) <= 2 * (STEPS[1] - STEPS[0]), more


def test_sampling_own_texts_copies_no_distribution() -> None:
    assert counted()["sampling"] < 2**20


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report()))
