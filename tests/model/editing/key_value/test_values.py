"""Targets on every architecture: what is computed once gives what whole forwards give."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTJConfig,
    GPTJForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from support.references.edit_reference import Reference, close
from support.tiny_models import build_tokenizer
from support.unbounded import unbounded
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.key_value import value_batches
from thinkeval.editing.key_value.keys import keys_and_output
from thinkeval.editing.key_value.value_batches import (
    entry_for,
    groups_within,
    units_of,
    value_batch,
    value_room,
)
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.methods import memit
from thinkeval.loaders.records import RewriteRequest

GROUPS = (("{}",), ("In fact, {}", "The mother. {}", "I studied at Hogwarts. {}"))
FLAT = [template for group in GROUPS for template in group]
SIZE: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
GATED: dict[str, Any] = {**SIZE, "num_key_value_heads": 2, "intermediate_size": 72}
WINDOW = 12
"""Shorter than the rows, so that Mistral's attention leaves some of the prefix out."""


def request(name, prompt, subject, new):
    return RewriteRequest(name, "test", prompt, subject, "r", "old", new)


REQUESTS = [
    request("harry", "{} studied at", "Harry Potter", "Ilvermorny"),
    request("france", "The capital of {} is", "France", "Warsaw in Poland"),
    request("h", "{}", "H", "Lily"),
    request("padma", "Parvati Patil is the sister of {} and she studied at", "Padma", "Hogwarts"),
]


class Wide(Reference):
    """The float64 loop on any of the architectures."""

    def __init__(self, model, tokenizer):
        self.model = copy.deepcopy(model).double().eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.adapter = adapter_for(self.model)
        self.layers = [self.adapter.layer_module(i) for i in range(3)]

    def projection(self, layer):
        return self.adapter.mlp_out(layer).module


def build(architecture):
    tokenizer = build_tokenizer(bos=architecture not in ("gpt2", "gptj"))
    common: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 48,
        "initializer_range": 0.3,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    dropouts: dict[str, Any] = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    made = {
        "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**common, **SIZE, **dropouts)),
        "gptj": lambda: GPTJForCausalLM(GPTJConfig(**common, **SIZE, **dropouts, rotary_dim=4)),
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**common, **GATED)),
        "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**common, **GATED)),
        "mistral": lambda: MistralForCausalLM(
            MistralConfig(**common, **GATED, sliding_window=WINDOW)
        ),
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return made[architecture]().eval(), tokenizer


@pytest.fixture(scope="module", params=["gpt2", "gptj", "llama", "qwen2", "mistral"])
def pair(request):
    return build(request.param)


def hparams(**changes):
    values = {
        "layers": [0, 1],
        "v_num_grad_steps": 5,
        "v_lr": 0.1,
        "v_weight_decay": 1e-3,
        "clamp_norm_factor": 0.75,
        "kl_factor": 1.0,
        "mom2_update_weight": 5,
    }
    return memit.HyperParams.from_dict({**values, **changes})


def found(pair, h, layer, site, requests=REQUESTS, **options):
    model, tokenizer = pair
    with preserved(model):
        return optimise(
            adapter_for(model),
            tokenizer,
            requests,
            h,
            GROUPS,
            layer=layer,
            site=site,
            **options,
        )


@pytest.mark.parametrize(("layer", "site"), [(0, "mlp"), (1, "mlp"), (0, "layer"), (2, "layer")])
def test_vectors_are_those_of_whole_forwards(pair, layer, site):
    """First, middle and last layer; a subject that is the whole prompt; long tails.

    At the last layer's output δ moves the prediction at the subject only, so what is read further
    right has no gradient to compare there.
    """
    h = hparams()
    ours = found(pair, h, layer, site)
    assert list(ours.vectors) == [r.id for r in REQUESTS]
    reference = Wide(*pair)
    for each in REQUESTS if (layer, site) != (2, "layer") else REQUESTS[2:3]:
        expected, steps = reference.optimise(each, FLAT, h, layer, site)
        module = reference.projection(layer) if site == "mlp" else reference.layers[layer]
        start = reference.seen(module, each.prompt, each.subject)[1]
        assert ours.n_steps[each.id] == steps == 4
        assert close(ours.vectors[each.id].double() - start, expected - start, 2e-3)


def test_the_other_direction_of_kl_exists_and_is_another():
    pair = build("gpt2")
    far = {"kl_factor": 20.0, "v_lr": 0.5, "v_num_grad_steps": 8, "clamp_norm_factor": 4.0}
    turned = hparams(kl_direction="initial_new", **far)
    ours = found(pair, turned, 1, "layer", REQUESTS[:1])
    published = found(pair, hparams(**far), 1, "layer", REQUESTS[:1])
    reference, each = Wide(*pair), REQUESTS[0]
    expected, steps = reference.optimise(each, FLAT, turned, 1, "layer")
    start = reference.seen(reference.layers[1], each.prompt, each.subject)[1]
    delta = ours.vectors[each.id].double() - start
    assert ours.n_steps[each.id] == steps
    assert close(delta, expected - start, 2e-3)
    moved = (published.vectors[each.id].double() - start - delta).norm() / delta.norm()
    assert moved > 0.02, "the case tells nothing"


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_either_attention_gives_the_same(attention):
    model, tokenizer = build("llama")
    model.set_attn_implementation(attention)
    ours = found((model, tokenizer), hparams(), 1, "layer")
    theirs = found(build("llama"), hparams(), 1, "layer")
    for name, vector in ours.vectors.items():
        assert close(vector, theirs.vectors[name], 1e-4)


def test_nothing_stays_on_the_model(pair):
    """No own forward, no hook; also after a request that fails."""
    model, _ = pair

    def traces():
        own = [name for name, module in model.named_modules() if "forward" in vars(module)]
        hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())
        return own, hooks

    before = traces()
    found(pair, hparams(v_num_grad_steps=2), 1, "layer")
    assert traces() == before
    with pytest.raises(EditFailedError):
        found(pair, unbounded(hparams(), v_lr=1e30, clamp_norm_factor=1e38), 1, "layer")
    assert traces() == before


def test_a_long_row_stays_within_the_models_positions():
    """Beside a long tail a short row is padded beyond what the model has positions for."""
    pair = build("gpt2")
    tail = "Hogwarts is located in Scotland. The mother of Harry is"
    requests = [
        request("late", "Harry Potter studied at Hogwarts. The mother of {} is", "Ron", "Lily"),
        request("long", "{} " + tail, "H", "Lily"),
    ]
    tokenizer = pair[1]
    ends = [len(tokenizer(r.prompt)["input_ids"]) for r in requests]
    pair[0].config.max_position_embeddings = limit = max(ends) + 14
    pair[0].transformer.wpe.weight.data = pair[0].transformer.wpe.weight.data[:limit]
    together = found(pair, hparams(), 1, "layer", requests)
    for each in requests:
        alone = found(pair, hparams(), 1, "layer", [each])
        assert close(together.vectors[each.id], alone.vectors[each.id], 1e-4)


def test_kl_is_read_from_a_context_that_begins_with_the_subject():
    _, tokenizer = build("llama")
    first = entry_for(tokenizer, REQUESTS[0], GROUPS)
    inside = entry_for(tokenizer, REQUESTS[1], GROUPS)
    assert len(first.rows) == first.n_contexts == len(FLAT)
    assert first.kl == 0
    assert len(inside.rows) == inside.kl + 1 == len(FLAT) + 1
    # Of the KL row, nothing after the subject is kept.
    assert len(inside.rows[inside.kl].ids) == inside.rows[inside.kl].subject_last + 1


def test_requests_of_one_length_share_a_group():
    _, tokenizer = build("gpt2")
    tail = " and she also studied at the school that is located in Scotland and"
    short = [request(f"s{i}", "{} studied at", "Harry Potter", "Lily") for i in range(20)]
    long = [request(f"l{i}", "{}" + tail, "Harry Potter", "Lily") for i in range(20)]
    mixed = [each for two in zip(short, long, strict=True) for each in two]
    entries = [entry_for(tokenizer, each, GROUPS) for each in mixed]
    groups = [[entry.request.id[0] for entry in group] for group in groups_within(entries, 10**9)]
    assert groups == [["s"] * 20, ["l"] * 20]
    assert len(groups_within(entries, 1)) == 40
    few = groups_within(entries[:2], 10**9)
    assert len(few) == 1, "two requests are not worth two calls"


def test_the_vocabulary_counts_in_the_size_of_a_batch(monkeypatch):
    """Each prediction that is read counts as the tokens that its logits take the memory of."""
    model, tokenizer = build("llama")
    adapter = adapter_for(model)
    per_token = 9 * 4 * GATED["intermediate_size"] * GATED["num_hidden_layers"]
    room = value_room(adapter)
    assert room.tokens == 2**28 // per_token, "a small model's batch has its least size"
    assert room.logits == math.ceil(4 * 4 * len(tokenizer) / per_token)
    monkeypatch.setattr(value_batches, "LEAST_BYTES", 0)
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    assert value_room(adapter).tokens == weights // per_token
    entry = entry_for(tokenizer, REQUESTS[1], GROUPS)
    assert entry.n_read == len(FLAT) * len(entry.target) + 1
    (unit,) = units_of([entry], None)
    assert unit.n_read == entry.n_read
    four = [entry] * 4
    for logits in (0, 7):
        budget = 2 * (entry.n_tokens + logits * entry.n_read)
        assert [len(group) for group in groups_within(four, budget, logits)] == [2, 2]
        assert len(groups_within(four, budget - 1, logits)) == 4


def test_a_batch_knows_its_tokens():
    """Masks and positions against a count by hand."""
    _, tokenizer = build("gpt2")
    entries = [entry_for(tokenizer, each, GROUPS) for each in REQUESTS]
    batch = value_batch(units_of(entries, None), tokenizer, torch.device("cpu"))
    rows = [row for entry in entries for row in entry.rows]
    mask, positions = batch.inputs["attention_mask"], batch.inputs["position_ids"]
    assert mask.shape == (len(rows), batch.before + batch.after)
    for i, row in enumerate(rows):
        n = len(row.ids) - row.subject_last
        kept = [batch.before - row.subject_last, batch.before + n]
        assert mask[i].nonzero().flatten().tolist() == list(range(*kept))
        assert positions[i, :n].tolist() == list(range(row.subject_last, len(row.ids)))
        assert int(positions[i].max()) == len(row.ids) - 1
        assert batch.inputs["input_ids"][i, :n].tolist() == list(row.ids[row.subject_last :])
    assert batch.unit.tolist() == [0, 1, 2, 3]
    assert len(batch.real) == sum(len(row.ids) - row.subject_last for row in rows)
    assert set(batch.read.tolist()) <= set(batch.real.tolist())


@pytest.mark.parametrize("groups", [GROUPS, (("{}",),), (("In fact, {}", "{}"),)])
def test_keys_and_output_are_those_of_two_calls(pair, groups):
    model, tokenizer = pair
    adapter = adapter_for(model)
    got, output = keys_and_output(adapter, tokenizer, REQUESTS, groups, 0, 1)
    reference = Wide(*pair)
    for i, each in enumerate(REQUESTS):
        assert close(got[i], reference.mean_key(0, each, groups), 1e-5)
        assert close(output[i], reference.layer_output(1, each.prompt, each.subject), 1e-5)
