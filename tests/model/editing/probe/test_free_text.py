"""Free generation on tiny random models, against plain forward passes without cache or padding."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from support.tiny_models import build_tiny
from support.toy_vocabulary import continuations, toy, words
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe.free_text import generate

ARCHITECTURES = ("gpt2", "llama")
PROMPTS = ("Harry Potter studied at", "The", "The headmaster of Hogwarts, who was kind, is")


def tiny(architecture: str) -> LoadedModel:
    model, tokenizer = build_tiny(architecture)
    return wrap(model, tokenizer, name=f"tiny-{architecture}")


@torch.no_grad()
def plain_greedy(loaded: LoadedModel, prompt: str, length: int) -> str:
    """The likeliest token again and again, each time from the whole text."""
    ids = loaded.tokenizer(prompt)["input_ids"]
    start = len(ids)
    while len(ids) < length:
        ids = [*ids, int(loaded.model(torch.tensor([ids])).logits[0, -1].argmax())]
    return prompt + loaded.tokenizer.decode(ids[start:], skip_special_tokens=True)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_likeliest_token_alone_gives_the_greedy_text(architecture: str) -> None:
    loaded = tiny(architecture)
    found = generate(loaded, PROMPTS, seed=0, top_k=1, max_tokens=30)
    assert found == [plain_greedy(loaded, prompt, 30) for prompt in PROMPTS]


def test_tokens_come_as_often_as_the_renormalised_top_k_says() -> None:
    loaded, n, k = toy(), 500, 3
    (prompt,) = ("dog sees",)
    length = len(loaded.tokenizer(prompt)["input_ids"]) + 1
    said = Counter(
        generate(loaded, [prompt], seed=seed, top_k=k, max_tokens=length)[0] for seed in range(n)
    )
    exact = {" ".join(words(tail)): p for tail, p in continuations(loaded, prompt, 1)}
    likeliest = dict(sorted(exact.items(), key=lambda item: -item[1])[:k])
    total = sum(likeliest.values())
    # The end of a text is not shown.
    expected = {prompt + ("" if w == "<end>" else w): p / total for w, p in likeliest.items()}
    found = {text.replace(prompt + " ", prompt): count for text, count in said.items()}
    assert set(found) == set(expected)
    for text, p in expected.items():
        assert abs(found[text] / n - p) < 4 * (p * (1 - p) / n) ** 0.5, text


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_text_depends_on_seed_and_prompt_alone(architecture: str) -> None:
    loaded = tiny(architecture)
    together = generate(loaded, PROMPTS, seed=4, max_tokens=40)
    alone = [generate(loaded, [prompt], seed=4, max_tokens=40)[0] for prompt in PROMPTS]
    assert together == alone
    assert generate(loaded, PROMPTS[::-1], seed=4, max_tokens=40, batch_tokens=1) == alone[::-1]
    assert generate(loaded, [PROMPTS[1]] * 2, seed=4, max_tokens=40) == [alone[1]] * 2
    assert generate(loaded, PROMPTS, seed=5, max_tokens=40) != together
    assert all(text.startswith(prompt) for text, prompt in zip(together, PROMPTS, strict=True))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_text_has_a_hundred_tokens_at_most_and_no_more_than_positions(architecture: str) -> None:
    loaded = tiny(architecture)
    seen: list[int] = []

    def watch(module: Any, args: Any, kwargs: Any) -> None:
        seen.append(kwargs["attention_mask"].shape[1])

    loaded.model.register_forward_pre_hook(watch, with_kwargs=True)
    generate(loaded, [PROMPTS[0]], seed=0)
    # The last token is written and not read any more.
    assert max(seen) == 99
    seen.clear()
    generate(loaded, [PROMPTS[0]], seed=0, max_tokens=1000)
    assert max(seen) == 127


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_model_and_random_state_are_as_they_were(architecture: str) -> None:
    loaded = tiny(architecture)
    before, state = weights_digest(loaded.model), torch.get_rng_state()
    loaded.model.train()
    generate(loaded, PROMPTS, seed=0, max_tokens=20)
    assert loaded.model.training
    assert weights_digest(loaded.model) == before
    assert torch.equal(torch.get_rng_state(), state)


def test_demonstrations_are_read_but_not_shown_and_not_counted() -> None:
    loaded = tiny("gpt2")
    shown = "New Fact: Ron Weasley studied at Durmstrang. "
    plain = generate(loaded, [PROMPTS[0]], seed=0, max_tokens=30)[0]
    changed = generate(
        loaded, [PROMPTS[0]], seed=0, max_tokens=30, prompt_change=lambda text: shown + text
    )[0]
    assert changed.startswith(PROMPTS[0])
    assert "New Fact" not in changed
    assert changed != plain
    greedy = generate(
        loaded, [PROMPTS[0]], seed=0, top_k=1, max_tokens=30, prompt_change=lambda t: shown + t
    )[0]
    ids = loaded.tokenizer
    room = 30 - len(ids(PROMPTS[0])["input_ids"])
    whole = plain_greedy(
        loaded, shown + PROMPTS[0], len(ids(shown + PROMPTS[0])["input_ids"]) + room
    )
    assert shown + greedy == whole


def test_a_prompt_without_room_and_a_broken_model_are_errors() -> None:
    loaded = tiny("gpt2")
    with pytest.raises(ProbeError, match="leaves no room"):
        generate(loaded, ["word " * 200], seed=0)
    with pytest.raises(ProbeError, match="leaves no room"):
        generate(loaded, [PROMPTS[2]], seed=0, max_tokens=3)
    with torch.no_grad():
        loaded.model.transformer.ln_f.weight.fill_(float("nan"))
    with pytest.raises(ProbeError, match=f"after '{PROMPTS[1]}'"):
        generate(loaded, [PROMPTS[1]], seed=0)
    assert generate(loaded, [], seed=0) == []
