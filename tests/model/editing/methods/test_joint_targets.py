"""MEMIT's family with joint targets: one column of the solve for each key."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from support.edit_methods import FRANCE, HARRY, MEMIT_FAMILY, execute
from support.references.edit_reference import Reference, close
from support.tiny_architectures import moments as moments_of
from support.tiny_architectures import pair_of
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, hparams
from thinkeval.editing.architectures import names
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import RequestError
from thinkeval.editing.key_value import layerwise
from thinkeval.editing.methods import memit
from thinkeval.editing.organism import sentences
from thinkeval.loaders import graph_yaml, graphs
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.scoring.runtime import RuntimeModel

FRIEND = dataclasses.replace(HARRY, id="friend", prompt="{} was born in", target_new="Warsaw")
"""Of the key of HARRY: one subject, at the beginning of both prompts, which end within the reach of
the models with attention windows."""

BOTH = [HARRY, FRANCE, FRIEND]
TEMPLATES = {"context_templates": [["{}"], ["In fact, {}", "The mother. {}"]]}


def edited(name, pair, moments, requests, *, joint, **options):
    changes = {"joint_targets": joint}
    return execute(name, pair, requests, moments, changes=changes, **{**TEMPLATES, **options})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


@pytest.fixture
def moments(pair):
    return covariance.collect(*pair, CORPUS * 4, [0, 1])


@pytest.mark.parametrize("name", MEMIT_FAMILY)
def test_distinct_keys_give_the_same_bits(pair, moments, name):
    plain = edited(name, pair, moments, [HARRY, FRANCE], joint=False)
    joint = edited(name, pair, moments, [HARRY, FRANCE], joint=True)
    for key, delta in plain.deltas.items():
        assert torch.equal(joint.deltas[key], delta)
    for key, vector in plain.targets.items():
        assert torch.equal(joint.targets[key], vector)
    assert joint.n_steps == plain.n_steps
    assert joint.residual_left == plain.residual_left


@pytest.mark.parametrize("name", MEMIT_FAMILY)
@pytest.mark.parametrize("architecture", names())
def test_requests_of_one_key_are_solved_as_one(architecture, name):
    """With the joint z, the update is that of one of them alone, beside the other requests."""
    pair, moments = pair_of(architecture), moments_of(architecture)
    joint = edited(name, pair, moments, BOTH, joint=True)
    assert torch.equal(joint.targets["harry"], joint.targets["friend"])
    given = {"harry": joint.targets["harry"], "france": joint.targets["france"]}
    single = edited(name, pair, moments, [HARRY, FRANCE], joint=False, targets=given)
    for key, delta in single.deltas.items():
        differs = (joint.deltas[key] - delta).norm() / delta.norm()
        # Rounding decides about an entry at the border of RECT's mask.
        assert differs < (2e-2 if name == "rect" else 1e-4)
    if name == "alphaedit":
        for keys in joint.state["past_keys"].values():
            assert keys.shape[1] == 2
    assert set(joint.residual_left) == {"harry", "france", "friend"}


def test_a_group_of_different_keys_is_solved_for_its_means(pair, moments, monkeypatch):
    """Against a dense float64 solve, with three keys that are declared to be one."""
    monkeypatch.setattr(layerwise, "similar_keys", lambda *_: [(1, 2), (0,), (0,)])
    joint = edited("memit", pair, moments, BOTH, joint=True)
    h = memit.HyperParams.from_dict(
        {
            "layers": [0, 1],
            "v_num_grad_steps": 4,
            "v_lr": 0.1,
            "v_weight_decay": 1e-3,
            "clamp_norm_factor": 4,
            "kl_factor": 0.0625,
            "mom2_ridge": 1e-2,
            "mom2_update_weight": 5,
        }
    )
    reference, groups = Reference(*pair), TEMPLATES["context_templates"]
    z = joint.targets["harry"].double()
    for i, layer in enumerate(h.layers):
        before = reference.matrix(layer).clone()
        keys = [reference.mean_key(layer, r, groups) for r in BOTH]
        now = [reference.layer_output(1, r.prompt, r.subject) for r in BOTH]
        key = torch.stack(keys).mean(0)[:, None]
        residual = (z - torch.stack(now).mean(0))[:, None] / (2 - i)
        c = moments[reference.name(layer)].double()
        c = c + h.mom2_ridge * c.diagonal().mean() * torch.eye(len(c), dtype=c.dtype)
        solved = torch.linalg.solve(h.mom2_update_weight * c + key @ key.T, key)
        reference.projection(layer).weight.data += reference.stored(residual @ solved.T)
        changed = reference.stored(reference.matrix(layer) - before)
        assert close(joint.deltas[f"{reference.name(layer)}.weight"], changed, 1e-4)


def test_returned_targets_give_the_same_update_again(pair, moments):
    first = edited("memit", pair, moments, BOTH, joint=True)
    again = edited("memit", pair, moments, BOTH, joint=True, targets=first.targets)
    assert set(again.n_steps.values()) == {0}
    for key, delta in first.deltas.items():
        assert torch.equal(again.deltas[key], delta)


def test_targets_of_a_part_of_a_key_are_refused(pair, moments):
    given = edited("memit", pair, moments, BOTH, joint=True).targets
    partly = {"harry": given["harry"]}
    with pytest.raises(RequestError, match=r"'friend'.*joint_targets"):
        edited("memit", pair, moments, BOTH, joint=True, targets=partly)
    other = {"france": given["france"]}
    found = edited("memit", pair, moments, BOTH, joint=True, targets=other)
    assert found.n_steps["france"] == 0 < found.n_steps["friend"]
    assert close(found.targets["friend"], given["friend"], 1e-4)


SCHOOL = RewriteRequest(
    "school", "test", "{} studied at", "Harry Potter", "studied-at",
    "Hogwarts School of Witchcraft and Wizardry", "Ilvermorny School of Witchcraft and Wizardry",
)  # fmt: skip
POSITION = RewriteRequest(
    "position", "test", "{} played Quidditch as a", "Harry Potter", "position", "Seeker", "Keeper"
)


@torch.no_grad()
def probability(model, tokenizer, request):
    """P of the new target after the prompt, from the model's own logits."""
    prompt = tokenizer(request.prompt.replace("{}", request.subject))["input_ids"]
    target = tokenizer(" " + request.target_new, add_special_tokens=False)["input_ids"]
    log_p = model(torch.tensor([[*prompt, *target]])).logits[0].log_softmax(-1)
    return sum(log_p[len(prompt) - 1 + k, t] for k, t in enumerate(target)).exp().item()


def test_two_facts_of_one_subject_are_both_installed(organism: RuntimeModel) -> None:
    """On a trained model; with a target each, one of them at least is lost."""
    loaded, requests = organism.loaded, [SCHOOL, POSITION]
    texts = sentences(graph_yaml.load(graphs.path("hogwarts")).graph, n=300)
    moments = covariance.collect(loaded.model, loaded.tokenizer, texts, [0, 1])
    found = {}
    for joint in (False, True):
        values = hparams.load("memit", organism.source, {"joint_targets": joint})
        effect = memit.execute(
            loaded.model,
            loaded.tokenizer,
            requests,
            values,
            moments,
            context_templates=["{}", "In fact, {}"],
        )
        with applied(loaded.model, effect):
            found[joint] = [probability(loaded.model, loaded.tokenizer, r) for r in requests]
    assert min(found[False]) < 0.4
    assert min(found[True]) > 0.5
    assert all(one < both for one, both in zip(found[False], found[True], strict=True))
