"""Edits on shapes, beside real runs that torch counts, and values by hand."""

from __future__ import annotations

import copy
import resource
from typing import Any

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from support import edit_methods
from support.tiny_architectures import moments, pair_of
from thinkeval.editing import registry, shapes
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.key_value import sites


def skeleton(config) -> torch.nn.Module:
    with torch.device("meta"):
        made = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    return made.eval()


def estimated(name: str, **changes: object) -> shapes.Cost:
    model, tokenizer = pair_of("llama")
    return shapes.edit(
        registry.get(name),
        skeleton(model.config),
        tokenizer,
        edit_methods.HARRY,
        edit_methods.hparams(name, **changes),
        edit_methods.RETAIN,
    )


@pytest.mark.parametrize("name", sorted(set(edit_methods.ALL) - {"kn"}))
def test_products_are_those_that_torch_counts_in_a_real_edit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = sites.sample

    def of_one_length(*args: Any, **options: Any) -> list[str]:
        # Drawn as ever; but another model's texts are read as other numbers of tokens.
        return ["The Dark Lord. {}" for _ in drawn(*args, **options)]

    monkeypatch.setattr(sites, "sample", of_one_length)
    model, tokenizer = copy.deepcopy(pair_of("llama"))
    model.set_attn_implementation("eager")
    adapter_for(model)  # checks itself by a forward pass, once
    given = dict(moments("llama"))
    with FlopCounterMode(display=False) as counter:
        edit_methods.execute(name, (model, tokenizer), [edit_methods.HARRY], given)
    found = estimated(name)
    products = sum(n for kind, n in found.flops.items() if kind not in ("eigh", "lu"))
    assert products == pytest.approx(counter.get_total_flops(), rel=0.02)


def test_every_method_is_estimated_or_says_why() -> None:
    assert set(registry.names()) <= set(edit_methods.ALL)
    assert estimated("kn").kernels
    assert not estimated("none").kernels


def test_further_steps_are_multiplied() -> None:
    name = "fine_tuning"
    few, more = (estimated(name, num_steps=n) for n in (3, 6))
    whole = shapes._edit(
        registry.get(name),
        skeleton(pair_of("llama")[0].config),
        pair_of("llama")[1],
        edit_methods.HARRY,
        edit_methods.hparams(name, num_steps=6),
        (),
    )
    assert more.kernels == whole.kernels
    assert more.copied == whole.copied
    assert more.peak == whole.peak
    assert sum(few.kernels.values()) < sum(more.kernels.values())


def test_bytes_operations_and_copies_by_hand() -> None:
    model = torch.nn.Linear(100, 200, bias=False, device="meta")
    with shapes.on_shapes(model) as cost, torch.no_grad():
        rows = torch.ones(50, 100).to(shapes.DEVICE)  # 20 kB, copied
        first = model(rows)  # 40 kB
        second = first + 1  # 40 kB: the peak
        del rows, first
        assert second.sum().item() == 1.0  # nothing is known of a product
    assert cost.peak == 80_000 + 20_000 + 40_000 + 40_000
    assert cost.parts["weights"] == 80_000
    assert cost.flops == {"float32": 2 * 50 * 100 * 200}
    assert cost.copied == 20_000 + 4  # to the device, and the sum from it
    assert cost.kernels[shapes.Kernel("float32", 2e6, 80_000 + 20_000 + 40_000)] == 1
    speed = shapes.Speed(1e6, 1e12, 1.0, 1.0, 1.0, 0.0, 1e12)
    assert cost.seconds(speed) == pytest.approx(2.0, rel=1e-3)


def test_numbers_of_the_program_are_known_and_those_of_weights_are_assumed() -> None:
    model = torch.nn.Linear(4, 4, device="meta")
    with shapes.on_shapes(model):
        places = torch.tensor([3, 1, 2], device=shapes.DEVICE)
        assert places.device == shapes.DEVICE
        assert (places + 1).tolist() == [4, 2, 3]
        assert places[places > 1].shape == (2,)
        loss = model(torch.ones(3, 4, device=shapes.DEVICE)).sum(1)
        assert bool((loss > 5).all())
        assert bool((loss < 5).all())
        assert not torch.isnan(loss).any()


def test_no_tensor_of_the_size_of_a_weight_is_allocated() -> None:
    width, inner = 4096, 16384
    config = transformers.LlamaConfig(
        hidden_size=width, intermediate_size=inner, num_hidden_layers=3, vocab_size=420,
        num_attention_heads=4, num_key_value_heads=4,
    )  # fmt: skip
    _, tokenizer = pair_of("llama")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = shapes.edit(
        registry.get("memit"),
        skeleton(config),
        tokenizer,
        edit_methods.HARRY,
        edit_methods.hparams("memit", layers=[1]),
    )
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert found.host >= 4 * inner**2  # 1.07 GB
    assert found.peak > 8 * inner**2  # its factors
    assert (after - before) * 1024 < width * inner  # a quarter of a weight
