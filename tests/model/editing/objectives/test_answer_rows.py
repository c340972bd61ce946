"""Rows and tokens of an objective's answers: shared rows, any tokenizer, clear refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from support.edit_methods import HARRY, hparams
from support.tiny_models import build_tiny
from support.word_mark_tokenizers import word_mark_tokenizer
from thinkeval.editing import registry
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.errors import EditingError, RequestError
from thinkeval.editing.key_value import values
from thinkeval.editing.key_value.answer_rows import with_answers
from thinkeval.editing.key_value.tokens import answer_tokens, prompt_row
from thinkeval.editing.key_value.value_batches import entry_for, units_of, value_batch
from thinkeval.editing.key_value.value_prefix import prefix_of
from thinkeval.editing.key_value.values import batch_of
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.editing.objectives.app import App

NAMES = ("Paris", "Paris in France", "Hogwarts", "Éire", "Alien (film)")


@pytest.fixture(scope="module")
def tokenizer():
    return build_tiny("gpt2")[1]


@pytest.mark.parametrize(
    "objective", [App(1, 1, 1, {"harry": NAMES}), AllAnswers({"harry": NAMES})]
)
def test_every_answer_is_read_behind_its_prompt(tokenizer, objective):
    templates = ["{}", "In fact, {}", "The mother. {}"]
    prompts = [prompt_row(tokenizer, HARRY, template) for template in templates]
    rows, readings = with_answers(tokenizer, HARRY, objective, prompts, prompts)
    names = objective.rows(HARRY).names
    n_contexts = 3 if isinstance(objective, AllAnswers) else 1
    assert rows[:3] == prompts
    assert len(readings) == len(names) > 2
    for name, reading in zip(names, readings, strict=True):
        assert reading.tokens == answer_tokens(tokenizer, HARRY, name)
        assert len(reading.places) == n_contexts
        for prompt, (number, place) in zip(prompts, reading.places, strict=False):
            row = rows[number]
            assert row.subject_last == prompt.subject_last
            assert row.ids[: place + 1] == prompt.ids
            # The last token is predicted, and not an input.
            assert row.ids[place + 1 : place + len(reading.tokens)] == reading.tokens[:-1]


def test_rows_are_shared(tokenizer):
    """A name that begins another, and names of one token, need no rows of their own."""
    prompt = prompt_row(tokenizer, HARRY)
    ones = [n for n in ("H", "S", "P", "L") if len(answer_tokens(tokenizer, HARRY, n)) == 1]
    assert len(ones) > 1
    objective = App(0, 1, 0, {"harry": (*ones, "Paris", "Paris in France")})
    rows, readings = with_answers(tokenizer, HARRY, objective, [prompt], [prompt])
    assert len(rows) == 2
    assert len(readings) == len(ones) + 2


def test_without_an_objective_the_rows_are_the_given_ones(tokenizer):
    prompt = prompt_row(tokenizer, HARRY)
    assert with_answers(tokenizer, HARRY, None, [prompt], [prompt]) == ([prompt], ())
    assert entry_for(tokenizer, HARRY, (("{}",),)) == entry_for(
        tokenizer, HARRY, (("{}",),), App(0, 0, 0, {"harry": NAMES}, {"harry": NAMES})
    )


def word_list():
    """A tokenizer of the request's words; any other is its unknown token."""
    words = ("<unk>", "Harry", "Potter", "studied", "at", "Paris", "Hogwarts")
    spec = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    spec.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=spec, unk_token="<unk>", pad_token="<unk>")


@pytest.mark.parametrize("method", ["rome", "memit", "fine_tuning"])
def test_an_answer_without_tokens_is_refused_before_anything_runs(method):
    model, _ = build_tiny("gpt2", seed=11)
    calls = []
    adapter_for(model)  # which asks the model once
    model.register_forward_hook(lambda *_: calls.append(1))
    objective = App(1, 1, 1, {"harry": ("Hogwarts",)}, {"harry": ("Durmstrang",)})
    with pytest.raises(RequestError, match=r"request 'harry'.*the answer 'Durmstrang' to nothing"):
        registry.get(method).execute(
            model, word_list(), [HARRY], hparams(method), {}, objective=objective
        )
    assert not calls
    assert issubclass(RequestError, EditingError)


def small_llama(tokenizer):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=72,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            initializer_range=0.3,
            max_position_embeddings=64,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=2,
        )
        return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("kind", ["prepend", "first"])
@pytest.mark.parametrize("closing", [False, True])
def test_p_is_that_of_the_joined_text_on_a_word_mark_tokenizer(kind, closing):
    """exp(−loss) of "prompt name" by transformers itself, the prompt's own tokens left out.

    With `prepend`, as on Llama 2, " Paris" by itself has a `▁` too many.
    """
    tokenizer = word_mark_tokenizer(kind, closing=closing)
    model = small_llama(tokenizer)
    request = replace(HARRY, target_new="Warsaw")
    objective = App(1, 1, 1, {"harry": NAMES[:3]}, {"harry": NAMES[3:]})
    solver = values._Solver(
        adapter_for(model),
        tokenizer,
        registry.get("memit").HyperParams.from_dict(hparams("memit").as_dict()),
        1,
        "layer",
        objective,
    )
    entry = entry_for(tokenizer, request, (("{}",), ("In fact, {}",)), objective)
    batch = value_batch(units_of([entry], None), tokenizer, solver.device)
    with preserved(model), torch.no_grad():
        rows = batch_of(entry.rows, tokenizer, solver.device)
        prefix = prefix_of(solver.adapter, rows, solver.first_layer, batch.after)
        found = solver._forward(batch, prefix, torch.zeros(1, 32)).answers.exp()
    n_prompt = len(tokenizer(request.filled_prompt)["input_ids"]) - closing
    for name, p in zip(NAMES, found.tolist(), strict=True):
        joined = tokenizer(f"{request.filled_prompt} {name}")["input_ids"]
        ids = torch.tensor([joined[: len(joined) - closing]])
        labels = ids.clone()
        labels[0, :n_prompt] = -100
        with torch.no_grad():
            loss = float(model(ids, labels=labels).loss)
        assert p == pytest.approx(math.exp(-loss), rel=1e-4)
