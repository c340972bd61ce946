"""Every method on every architecture with an adapter: targets of whole forwards, weights unchanged.

Each model is built, saved and loaded through transformers once a session.
"""

from __future__ import annotations

import pytest
import torch

from support.edit_methods import ALL, FRANCE, HARRY, LOCATED, WITHOUT_UPDATE, execute
from support.references.architecture_reference import ArchitectureReference
from support.references.edit_reference import close
from support.tiny_architectures import moments, pair_of, saved_and_loaded
from thinkeval.editing.architectures import adapter_for, names
from thinkeval.editing.deltas import applied, preserved
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.methods import memit
from thinkeval.editing.models import weights_digest

GROUPS = (("{}",), ("In fact, {}", "I studied at Hogwarts. {}"))
FLAT = [template for group in GROUPS for template in group]
HPARAMS = memit.HyperParams.from_dict(
    {
        "layers": [0, 1],
        "v_num_grad_steps": 4,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 0.75,
        "kl_factor": 1.0,
        "mom2_update_weight": 5,
    }
)
FAR = {"v_num_grad_steps": 6, "v_lr": 0.5, "kl_factor": 0.0}
"""Steps that are long enough for an edit to show in a random model's predictions."""

CHANGES = {**dict.fromkeys(LOCATED, FAR), "kn": {"p": 0.3}}
LOWERS_LOSS = ("alphaedit", "fine_tuning", "memit", "mend", "prune", "rect", "rome", "ultraedit")


@torch.no_grad()
def loss(pair, request):
    """−mean log p of the target after the prompt, from the model's own logits."""
    model, tokenizer = pair
    prompt = tokenizer(request.prompt.replace("{}", request.subject))["input_ids"]
    target = tokenizer(" " + request.target_new, add_special_tokens=False)["input_ids"]
    log_p = model(torch.tensor([[*prompt, *target]])).logits[0].log_softmax(-1)
    return -sum(float(log_p[len(prompt) - 1 + k, t]) for k, t in enumerate(target)) / len(target)


@pytest.mark.parametrize("site", ["mlp", "layer"])
@pytest.mark.parametrize("name", names())
def test_targets_are_those_of_whole_forwards(name, site):
    """v* and z against a plain loop in float64, one row at a time, with the model's own logits."""
    model, tokenizer = pair_of(name)
    with preserved(model):
        found = optimise(
            adapter_for(model), tokenizer, [HARRY, FRANCE], HPARAMS, GROUPS, layer=1, site=site
        )
    reference = ArchitectureReference(model, tokenizer)
    module = reference.projection(1) if site == "mlp" else reference.layers[1]
    for each in (HARRY, FRANCE):
        expected, steps = reference.optimise(each, FLAT, HPARAMS, 1, site)
        start = reference.seen(module, each.prompt, each.subject)[1]
        assert found.n_steps[each.id] == steps == 3
        assert close(found.vectors[each.id].double() - start, expected - start, 1e-3)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("name", names())
def test_the_method_edits_and_leaves_the_weights(name, method):
    pair = pair_of(name)
    before = saved_and_loaded(name).info.weights_digest
    options = {"context_templates": ["{}"], "changes": CHANGES.get(method, {})}
    effect = execute(method, pair, [HARRY, FRANCE], moments(name), **options)
    assert weights_digest(pair[0]) == before
    assert (effect.deltas == {}) == (method in WITHOUT_UPDATE)
    assert all(delta.isfinite().all() and delta.any() for delta in effect.deltas.values())
    if method in LOWERS_LOSS:
        unedited = [loss(pair, request) for request in (HARRY, FRANCE)]
        with applied(pair[0], effect):
            edited = [loss(pair, request) for request in (HARRY, FRANCE)]
        assert sum(edited) < sum(unedited)
    assert weights_digest(pair[0]) == before
