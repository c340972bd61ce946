"""Sampling against the exact distribution, and that answers depend on nothing but the question."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from support.tiny_models import build_tiny
from support.toy_vocabulary import END, continuations, toy, words
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.editing.probe.prompts import Query, Rendered
from thinkeval.editing.probe.sampled import Sampling, sample, score

ITEMS = (
    ProbeItem("school", "Harry Potter studied at", "Hogwarts"),
    ProbeItem("again", "Harry Potter studied at", "Ilvermorny"),
    ProbeItem("mother", "The mother of Harry Potter is", "Lily Evans", aliases=("Lily Potter",)),
    ProbeItem("short", "The", "a"),
    ProbeItem("long", "Apple Inc. was founded by the late and much admired", "Steve Jobs"),
)
SAMPLED = ProbeSettings(measures=("p",), samples=4, max_new_tokens=8)


def _tiny(architecture: str) -> LoadedModel:
    return wrap(*build_tiny(architecture), name=architecture)


def _sentence(tail: list[int]) -> tuple[str, ...]:
    """The words of a continuation up to its end token or its first dot."""
    kept: list[str] = []
    for token in tail:
        if token == END:
            break
        kept.append(words([token])[0])
        if kept[-1] == ".":
            break
    return tuple(kept)


def _exact(loaded: LoadedModel, prompt: str, length: int) -> dict[tuple[str, ...], float]:
    """The probability of every first sentence."""
    table: dict[tuple[str, ...], float] = defaultdict(float)
    for tail, p in continuations(loaded, prompt, length):
        table[_sentence(tail)] += p
    return dict(table)


def _within(share: float, exact: float, n: int, sigmas: float = 4.0) -> bool:
    return abs(share - exact) <= sigmas * math.sqrt(exact * (1 - exact) / n) + 1e-9


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_share_converges_to_the_exact_probability(architecture: str, seed: int):
    """The object anywhere in the first sentence: compared with counting all continuations."""
    loaded = toy(architecture)
    prompt, n = "dog sees", 4000
    names = {"red": ("red",), "pair": ("blue cat",), "either": ("green", "cat dog")}
    items = [ProbeItem(k, prompt, v[0], aliases=v[1:]) for k, v in names.items()]
    settings = ProbeSettings(measures=("p",), samples=n, max_new_tokens=3, seed=seed)
    exact = _exact(loaded, prompt, 3)
    for result in probe(loaded, items, settings):
        p = sum(
            weight
            for sentence, weight in exact.items()
            if any(f" {name} " in f" {' '.join(sentence)} " for name in names[result.id])
        )
        assert 0.005 < p < 0.995
        assert result.p is not None
        assert _within(result.p, p, n), (result.id, result.p, p)
        assert result.n_samples == n


def test_every_answer_comes_as_often_as_it_should():
    """Chi-square over all answers expected at least five times, the rest together."""
    loaded, n = toy(), 6000
    settings = ProbeSettings(measures=("p",), samples=n, max_new_tokens=3, seed=5)
    (result,) = probe(loaded, [ProbeItem("x", "cat sees", "red")], settings)
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for answer in result.answers:
        counts[tuple(answer.split())] += 1
    exact = _exact(loaded, "cat sees", 3)
    assert set(counts) <= set(exact)
    often = [s for s, p in exact.items() if p * n >= 5]
    cells = [(counts[s], exact[s] * n) for s in often]
    cells.append((n - sum(c for c, _ in cells), n - sum(e for _, e in cells)))
    statistic = sum((seen - due) ** 2 / due for seen, due in cells)
    freedom = len(cells) - 1
    # Wilson and Hilferty: the cube root is nearly normal; 3.7 sigmas is one in 10,000.
    bound = freedom * (1 - 2 / (9 * freedom) + 3.7 * math.sqrt(2 / (9 * freedom))) ** 3
    assert freedom > 50
    assert statistic < bound


def test_one_token_answers_agree_with_the_likelihood():
    loaded, n = toy(), 5000
    items = [ProbeItem(w, "red cat sees", w) for w in ("red", "blue", "dog")]
    for r in probe(loaded, items, ProbeSettings(samples=n, max_new_tokens=1)):
        assert r.p is not None
        assert r.likelihood is not None
        assert _within(r.p, r.likelihood, n)


def test_a_low_temperature_takes_the_likeliest_word():
    loaded = toy()
    settings = ProbeSettings(measures=("p",), samples=20, max_new_tokens=1, temperature=1e-3)
    (result,) = probe(loaded, [ProbeItem("x", "cat", "red")], settings)
    one = {
        " ".join(tail): p for tail, p in ((words(t), p) for t, p in continuations(loaded, "cat", 1))
    }
    assert set(result.answers) == {max(one, key=lambda w: one[w])}


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_answers_depend_on_neither_batch_nor_order_nor_company(architecture: str):
    loaded = _tiny(architecture)
    reference = {r.id: r for r in probe(loaded, ITEMS, SAMPLED)}
    shuffled = list(ITEMS)
    random.Random(1).shuffle(shuffled)
    for side, tokens in (("left", 1), ("right", 60), ("left", 200)):
        loaded.tokenizer.padding_side = side
        settings = ProbeSettings(measures=("p",), samples=4, max_new_tokens=8, batch_tokens=tokens)
        assert {r.id: r for r in probe(loaded, shuffled, settings)} == reference
    for item in ITEMS:
        assert probe(loaded, [item], SAMPLED) == [reference[item.id]]


def test_more_samples_begin_with_the_same_ones_and_another_seed_gives_others():
    loaded = _tiny("gpt2")
    (few,) = probe(loaded, ITEMS[:1], SAMPLED)
    (many,) = probe(loaded, ITEMS[:1], ProbeSettings(measures=("p",), samples=9, max_new_tokens=8))
    assert many.answers[:4] == few.answers
    assert len(set(many.answers)) > 1
    (other,) = probe(
        loaded, ITEMS[:1], ProbeSettings(measures=("p",), samples=4, max_new_tokens=8, seed=1)
    )
    assert not set(other.answers) & set(few.answers)


def test_one_generation_set_for_each_distinct_prompt():
    """Two facts with one prompt share their answers, and each scores its own object."""
    loaded = toy()
    items = [ProbeItem(w, "cat sees", w) for w in ("red", "blue", "dog")]
    tokens: list[int] = []
    hook = loaded.model.register_forward_pre_hook(
        lambda _, args, kwargs: tokens.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    try:
        results = probe(loaded, items, ProbeSettings(measures=("p",), samples=50, max_new_tokens=3))
    finally:
        hook.remove()
    assert len({r.answers for r in results}) == 1
    assert tokens[0] == 1  # the prompt is read once for all samples
    assert max(tokens) <= 50
    for item, result in zip(items, results, strict=True):
        assert result.p == sum(item.object in a.split() for a in result.answers) / 50


def test_the_model_and_every_random_state_are_as_before():
    loaded = _tiny("gpt2")
    loaded.model.train()
    before = weights_digest(loaded.model)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    config = loaded.model.generation_config.to_dict()
    probe(loaded, ITEMS, ProbeSettings(samples=3))
    assert weights_digest(loaded.model) == before
    assert torch.get_rng_state().equal(states[0])
    assert random.getstate() == states[1]
    assert np.random.get_state()[1].tolist() == states[2]
    assert loaded.model.generation_config.to_dict() == config
    assert loaded.model.training
    assert all(p.grad is None and p.requires_grad for p in loaded.model.parameters())


def test_the_models_own_sampling_settings_are_not_used():
    loaded = _tiny("gpt2")
    plain = probe(loaded, ITEMS, SAMPLED)
    loaded.model.generation_config.update(top_k=1, temperature=0.1, repetition_penalty=9.0)
    assert probe(loaded, ITEMS, SAMPLED) == plain


def test_every_end_token_of_the_model_ends_an_answer():
    """Instruct models end a turn with a token that is not the tokenizer's end of text."""
    loaded = toy()
    settings = ProbeSettings(measures=("p",), samples=300, max_new_tokens=3)
    item = ProbeItem("x", "cat sees", "red")
    dog = loaded.tokenizer.convert_tokens_to_ids("dog")
    (before,) = probe(loaded, [item], settings)
    assert any("dog" in a for a in before.answers)
    loaded.model.generation_config.eos_token_id = [dog]
    (after,) = probe(loaded, [item], settings)
    assert not any("dog" in a for a in after.answers)
    assert after.answers == tuple(a.split("dog")[0].strip() for a in before.answers)


def test_nothing_after_the_first_sentence_is_kept():
    (result,) = probe(
        toy(),
        [ProbeItem("x", "cat", "red")],
        ProbeSettings(measures=("p",), samples=200, max_new_tokens=12),
    )
    assert any(a.endswith(".") for a in result.answers)
    assert all("." not in a[:-1] for a in result.answers)


@contextmanager
def _saying(loaded: LoadedModel, text: str) -> Iterator[None]:
    """Make the model all but certain to say `text`, whatever it is asked."""
    ids = loaded.tokenizer(text, add_special_tokens=False)["input_ids"]
    start: list[int] = []

    def steer(_module: Any, _args: Any, kwargs: Any, output: Any) -> Any:
        start.append(kwargs["attention_mask"].shape[1])
        output.logits[:, -1, ids[start[-1] - start[0]]] += 1e4
        return output

    hook = loaded.model.register_forward_hook(steer, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (" Sta. Clara's in 3.5 miles. And then some", "Sta. Clara's in 3.5 miles."),
        (" Apple Inc. of America. And then some", "Apple Inc. of America."),
        (" Sta. Monica. And then some", "Sta."),
        ("\nthe first line\nthe second line", "the first line"),
        (" <think>No. Or so?\nMaybe.</think>\n\nHogwarts. And then some", "Hogwarts."),
    ],
)
def test_generation_stops_no_earlier_than_the_first_sentence_ends(said: str, kept: str):
    loaded = _tiny("gpt2")
    item = ProbeItem("x", "He works at", "Sta. Clara's", aliases=("Apple Inc.",))
    room = len(loaded.tokenizer(said)["input_ids"])
    settings = ProbeSettings(measures=("p",), samples=2, max_new_tokens=room)
    with _saying(loaded, said):
        (result,) = probe(loaded, [item], settings)
    assert result.answers == (kept, kept)


@pytest.mark.parametrize("room", [12, 60])
def test_an_answer_that_ends_inside_its_reasoning_is_undecided(room: int):
    """The limit of tokens ends the block: no answer is given, right or wrong."""
    loaded = _tiny("gpt2")
    item = ProbeItem("x", "He studied at", "Hogwarts")
    settings = ProbeSettings(measures=("p",), samples=2, max_new_tokens=room)
    with _saying(loaded, "<think>Hogwarts. Yes. So it is " + "again and " * 30):
        (result,) = probe(loaded, [item], settings)
    assert result.p is None
    assert (result.n_samples, len(result.answers)) == (0, 2)
    assert all(answer.startswith("<think>") for answer in result.answers)


def test_a_block_that_the_prompt_opens_is_not_the_answer():
    loaded = _tiny("gpt2")
    rendered = Rendered("Where? <think>\n", special=False, lead="", seed_text="Where?")
    query = Query("x", rendered, ("Hogwarts",))
    for said, right in (
        ("Durmstrang. No.</think>Hogwarts. And", 1.0),
        ("Hogwarts. No.</think>Durmstrang. And", 0.0),
        ("Hogwarts. Hogwarts. So " + "again and " * 30, None),
    ):
        drawing = Sampling(2, 1.0, min(40, len(loaded.tokenizer(said)["input_ids"])), 0)
        with _saying(loaded, said):
            (result,) = sample(loaded, [query], drawing)
        assert result.share == right, said


def test_undecided_answers_are_in_no_denominator():
    doubts = ("I don't know whether it is Oslo.", "It could be Oslo or Bergen.")
    assert score(("Oslo.", "Bergen.", *doubts), ("Oslo",)).share == 0.5
    assert score(doubts, ("Oslo",)).share is None


def test_score_counts_answers_with_any_of_the_names():
    answers = ("Lily Evans.", "it is lily potter", "Petunia", "Lilyan")
    assert score(answers, ("Lily Evans", "Lily Potter")).share == 0.5


def test_nan_is_an_error_that_names_the_fact():
    loaded = _tiny("llama")
    token = loaded.tokenizer(" mother", add_special_tokens=False)["input_ids"][0]
    with torch.no_grad():
        loaded.model.get_input_embeddings().weight[token] = math.nan
    with pytest.raises(ProbeError, match="NaN or infinite logits for 'mother'"):
        probe(loaded, ITEMS, SAMPLED)


def test_a_prompt_without_room_for_an_answer():
    item = ProbeItem("endless", "so " * 60, "far")
    with pytest.raises(ProbeError, match=r"'so so .* for the answer; the model reads 128"):
        probe(_tiny("gpt2"), [item], ProbeSettings(measures=("p",), max_new_tokens=100))


def test_memory_that_runs_out_halves_the_batch_and_keeps_the_answers():
    loaded = _tiny("gpt2")
    reference = probe(loaded, ITEMS, SAMPLED)
    largest: list[int] = []

    def fail_above_three(_module: Any, args: Any, kwargs: Any) -> None:
        rows = len(kwargs["input_ids"])
        if rows > 3:
            torch.empty(1 << 46)  # the real allocator's real error
        largest.append(rows)

    hook = loaded.model.register_forward_pre_hook(fail_above_three, with_kwargs=True)
    try:
        assert probe(loaded, ITEMS, SAMPLED) == reference
    finally:
        hook.remove()
    assert max(largest) <= 3
