"""The effect of every method is saved and read back to the bit, by its factors where it has any."""

from __future__ import annotations

import pytest
import torch

from support.edit_methods import ALL, FRANCE, HARRY, LOCATED, execute
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, registry
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.files import DeltaMeta, apply_in_order, load, save
from thinkeval.editing.errors import DeltaError
from thinkeval.editing.models import weights_digest


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize("name", ALL)
def test_every_effect_comes_back_to_the_bit(tmp_path, name, architecture):
    pair = build_tiny(architecture, seed=11, scale=16)
    model = pair[0]
    moments = covariance.collect(*pair, CORPUS * 4, [0, 1])
    effect = execute(name, pair, [HARRY, FRANCE], moments)
    meta = DeltaMeta(weights_digest=weights_digest(model), method=name)
    save(effect, tmp_path / "e", meta)
    saved = load(tmp_path / "e")
    assert list(saved.effect.deltas) == list(effect.deltas)
    for parameter, delta in effect.deltas.items():
        back = saved.effect.deltas[parameter]
        assert torch.equal(back.view(torch.int32), delta.cpu().view(torch.int32))
    assert set(saved.low_rank) <= set(effect.factors)
    if name in LOCATED and name != "rect":  # its mask leaves no low rank
        assert set(saved.low_rank) == set(effect.deltas)
    for request, vector in effect.targets.items():
        assert torch.equal(saved.effect.targets[request], vector)
    assert saved.effect.n_steps == effect.n_steps
    assert saved.effect.templates == effect.templates
    assert saved.effect.prompt_change == effect.prompt_change
    with applied(model, effect):
        wanted = weights_digest(model)
    if registry.info(name).kind == "prompt":
        with pytest.raises(DeltaError, match="changes the prompt"), apply_in_order(model, [saved]):
            pytest.fail("the block was entered")
        return
    with apply_in_order(model, [saved]):
        assert weights_digest(model) == wanted
    assert weights_digest(model) == meta.weights_digest
