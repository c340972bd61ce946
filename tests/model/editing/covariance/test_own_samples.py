"""Texts that a model writes itself: its own distribution, seeded, drawn once."""

from __future__ import annotations

from functools import partial

import torch

from support.tiny_models import build_tiny
from thinkeval.editing.covariance import own_samples


def pair(bos=False):
    return build_tiny("llama" if bos else "gpt2", seed=5, scale=16)


def test_each_token_is_drawn_from_what_a_whole_forward_gives():
    """By a loop without a cache, on the same stream of random numbers."""
    model, tokenizer = pair()
    texts = own_samples.sampled(model, tokenizer, seed=3, sequences=4, length=6)
    generator = torch.Generator().manual_seed(3)
    ids = torch.full((4, 1), own_samples.start_token(tokenizer))
    for _ in range(6):
        with torch.no_grad():
            chances = model(input_ids=ids).logits[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(chances, 1, generator=generator)], 1)
    assert texts == tokenizer.batch_decode(ids[:, 1:].tolist(), skip_special_tokens=True)
    assert len(set(texts)) == 4


def test_a_seed_gives_the_same_texts_and_leaves_the_random_state():
    model, tokenizer = pair()
    before = torch.get_rng_state()
    draw = lambda seed: own_samples.sampled(model, tokenizer, seed=seed, sequences=3, length=5)  # noqa: E731
    assert draw(1) == draw(1) != draw(2)
    assert torch.equal(torch.get_rng_state(), before)


def test_tokens_are_drawn_as_often_as_the_model_says():
    """2,000 first tokens: the commonest ones are within five standard errors of their p."""
    model, tokenizer = pair()
    n = 2000
    texts = own_samples.sampled(model, tokenizer, seed=0, sequences=n, length=1)
    with torch.no_grad():
        start = torch.tensor([[own_samples.start_token(tokenizer)]])
        chances = model(input_ids=start).logits[0, -1].softmax(-1)
    for token in chances.topk(3).indices.tolist():
        text, p = tokenizer.decode([token], skip_special_tokens=True), float(chances[token])
        same = [i for i in range(len(chances)) if tokenizer.decode([i]) == text]
        p = float(chances[same].sum()) if same else p
        assert abs(texts.count(text) / n - p) < 5 * (p * (1 - p) / n) ** 0.5 + 1e-9


def test_the_file_is_drawn_once(tmp_path, monkeypatch):
    model, tokenizer = pair()
    few = partial(own_samples.sampled, sequences=3, length=5)
    monkeypatch.setattr(own_samples, "sampled", few)
    seen = []
    place = tmp_path / "texts" / "own.jsonl"
    first = own_samples.file(model, tokenizer, place, lambda *done: seen.append(done))
    assert seen[-1] == (15, 15, "sampling texts of the model")
    monkeypatch.setattr(own_samples, "sampled", None)
    assert list(own_samples.file(model, tokenizer, place)) == list(first)


def test_a_tokenizer_that_begins_texts_says_how():
    _, tokenizer = pair(bos=True)
    ids = tokenizer("a")["input_ids"]
    assert own_samples.start_token(tokenizer) == ids[0]
