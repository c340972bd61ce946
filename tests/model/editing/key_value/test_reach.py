"""An edit whose value cannot reach the end of its prompt is refused, with both numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from support.edit_methods import HARRY, execute
from support.tiny_architectures import WINDOW, moments, pair_of
from thinkeval.editing import nethook
from thinkeval.editing.architectures import adapter_for, names
from thinkeval.editing.errors import RequestError
from thinkeval.editing.key_value.reach import reach_above

FAR = replace(HARRY, prompt="{} was seen at the house of the sister of his old friend in")
NEAR = replace(HARRY, prompt="{} was born in")
LENGTH, PLACE = 24, 3


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("architecture", names())
def test_the_reach_is_how_far_a_changed_value_changes_anything(architecture, layer):
    """By brute force: change a layer's output at one token, and see which logits change."""
    model, _ = pair_of(architecture)
    adapter = adapter_for(model)
    ids = torch.arange(LENGTH)[None] % 100 + 20

    def add(output):
        changed = output.clone()
        changed[:, PLACE] += torch.randn(output.shape[-1], generator=torch.Generator()) * 5
        return changed

    with torch.no_grad():
        before = model(input_ids=ids).logits
        with nethook.changing(adapter.layer_module(layer), add):
            after = model(input_ids=ids).logits
    furthest = int((before != after)[0].any(-1).nonzero().max()) - PLACE
    reach = reach_above(adapter, layer)
    assert furthest == (LENGTH - 1 - PLACE if reach is None else reach)


@pytest.mark.parametrize("name", ["rome", "memit", "alphaedit"])
@pytest.mark.parametrize("architecture", ["mistral", "gemma3"])
def test_an_edit_that_cannot_see_its_target_is_refused(architecture, name):
    """Above layer 1 there is one layer with a window."""
    pair = pair_of(architecture)
    problem = rf"ends \d+ tokens after .* reach {WINDOW - 1} tokens"
    with pytest.raises(RequestError, match=problem):
        execute(name, pair, [NEAR, replace(FAR, id="far")], moments(architecture))
    assert execute(name, pair, [NEAR], moments(architecture)).deltas


def test_a_layer_with_full_attention_has_no_limit():
    assert reach_above(adapter_for(pair_of("gemma3")[0]), 0) is None
    assert execute("memit", pair_of("qwen2"), [FAR], moments("qwen2")).deltas
