"""An edit's target and a probe's answer are the same tokens, whatever the tokenizer."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
import torch
from tokenizers import processors
from transformers import LlamaConfig, LlamaForCausalLM

from support.tiny_models import build_tokenizer
from support.word_mark_tokenizers import word_mark_tokenizer
from thinkeval.editing.answer_tokens import text_ids, unclosed
from thinkeval.editing.deltas import applied
from thinkeval.editing.key_value import value_batches
from thinkeval.editing.key_value.tokens import prompt_row, target_ids
from thinkeval.editing.methods import rome
from thinkeval.editing.models import wrap
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.prompts import Renderer, answer_ids, prompt_ids
from thinkeval.loaders.records import RewriteRequest

PROMPTS = (
    "{} studied at",
    "The capital of {} is",
    "{}",
    "The mother of {} ",
    "{}'s school, they say,",
    "Zoë met {} (in 1990) in",
    "Who is {}? Answer:",
    "«{}» –",
)
SUBJECTS = ("Harry Potter", "France", "Zoë Ł. 漢字")
TARGETS = ("Hogwarts", "Kyoto", " Paris", "Lily Evans ", "Łódź's Apple Inc.", "漢字", "7", "'s")


def byte_level(closing: bool = False) -> Any:
    tokenizer = build_tokenizer(bos=True)
    if closing:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<|begin|> $A <|endoftext|>",
            special_tokens=[("<|begin|>", 1), ("<|endoftext|>", 0)],
        )
    return tokenizer


TOKENIZERS = {
    "prepend": lambda: word_mark_tokenizer("prepend"),
    "first": lambda: word_mark_tokenizer("first"),
    "prepend, closed": lambda: word_mark_tokenizer("prepend", closing=True),
    "byte level": build_tokenizer,
    "byte level, BOS": byte_level,
    "byte level, closed": lambda: byte_level(closing=True),
}


def request(prompt: str, subject: str, target: str) -> RewriteRequest:
    return RewriteRequest("r", "test", prompt, subject, "", "", target)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_edited_tokens_are_the_probed_ones(name: str):
    tokenizer = TOKENIZERS[name]()
    for prompt, subject, target in itertools.product(PROMPTS, SUBJECTS, TARGETS):
        asked = request(prompt, subject, target)
        rendered = Renderer(tokenizer, "never").cloze(asked.filled_prompt)
        probed = prompt_ids(tokenizer, rendered)
        answer = answer_ids(tokenizer, rendered, probed, target.strip())
        assert list(prompt_row(tokenizer, asked).ids) == probed, (prompt, subject)
        assert list(target_ids(tokenizer, asked)) == answer, (prompt, subject, target)


def test_a_word_mark_is_not_doubled():
    tokenizer = word_mark_tokenizer("prepend")
    alone = tokenizer.convert_ids_to_tokens(tokenizer(" Paris", add_special_tokens=False).input_ids)
    assert "".join(alone) == "▁▁Paris"
    ids = target_ids(tokenizer, request("The capital of {} is", "France", "Paris"))
    assert "".join(tokenizer.convert_ids_to_tokens(list(ids))) == "▁Paris"


@pytest.mark.parametrize("bos", [False, True])
def test_a_byte_level_target_has_the_tokens_it_has_alone(bos: bool):
    tokenizer = build_tokenizer(bos=bos)
    for prompt, target in itertools.product(PROMPTS, TARGETS):
        alone = tokenizer(" " + target.strip(), add_special_tokens=False)["input_ids"]
        assert list(target_ids(tokenizer, request(prompt, "Harry Potter", target))) == alone


def test_only_tokens_that_the_tokenizer_appended_are_removed():
    assert unclosed([5, 6, 7, 8], [1, 0, 1, 1]) == [5, 6]
    assert unclosed([5, 6], []) == [5, 6]
    assert unclosed([5, 6], [1, 1]) == [5]
    tokenizer = byte_level(closing=True)
    assert text_ids(tokenizer, "Harry") == tokenizer("Harry")["input_ids"][:-1]
    assert text_ids(tokenizer, "Harry", special=False) == tokenizer("Harry")["input_ids"][1:-1]


def word_mark_llama(tokenizer: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            max_position_embeddings=64,
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            initializer_range=0.3,
        )
        return LlamaForCausalLM(config).eval()


def test_rome_raises_the_probability_that_is_probed(monkeypatch: pytest.MonkeyPatch):
    """An edit to " Warsaw" tokenised by itself raises a probability that no probe measures."""
    tokenizer = word_mark_tokenizer("prepend")
    loaded = wrap(word_mark_llama(tokenizer), tokenizer, name="word marks")
    values = {"layers": [1], "v_num_grad_steps": 30, "v_lr": 0.5, "v_weight_decay": 1e-3}
    values |= {"clamp_norm_factor": 8, "kl_factor": 0.0625, "mom2_adjustment": False}
    hparams = rome.HyperParams.from_dict(values)
    asked = request("Home of {}", "France", "Warsaw")
    item = ProbeItem("r", asked.filled_prompt, asked.target_new)
    settings = dataclasses.replace(ProbeSettings(), measures=("likelihood",))

    def efficacy() -> float:
        effect = rome.execute(
            loaded.model, tokenizer, [asked], hparams, None, context_templates=["{}"]
        )
        with applied(loaded.model, effect):
            likelihood = probe(loaded, [item], settings)[0].likelihood
        assert likelihood is not None
        return likelihood

    together = efficacy()
    alone = tuple(tokenizer(" Warsaw", add_special_tokens=False)["input_ids"])
    monkeypatch.setattr(value_batches, "target_ids", lambda *_: alone)
    assert together > 0.5
    assert efficacy() < 0.1 * together
