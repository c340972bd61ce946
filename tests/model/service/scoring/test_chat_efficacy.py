"""Efficacy of a model with a chat template: in the chat, and at the plain prompt of the edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from support.edit_methods import HARRY, execute
from support.scored_walk import Walk, number, walked
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, models
from thinkeval.editing.deltas import applied
from thinkeval.editing.probe import ProbeSettings
from thinkeval.editing.probe.prompts import CHAT_CLOZE
from thinkeval.loaders.records import Fact
from thinkeval.service.reports.edit import lines
from thinkeval.service.scoring import chat as chat_efficacy
from thinkeval.service.scoring.probe import ProbedFact, Question, probe
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

TEMPLATE = "{% for m in messages %}User: {{ m['content'] }} Assistant:\n{% endfor %}"
REJECTING = "{{ raise_exception('no user turns') }}"
NEW = Question(
    Fact(HARRY.subject, HARRY.relation, HARRY.target_new, HARRY.prompt), role="target_new"
)


@pytest.fixture(scope="module")
def edited() -> tuple[Any, Any]:
    """A tiny model with a chat template, and an edit of it."""
    pair = build_tiny("llama", seed=11, scale=16)
    effect = execute("rome", pair, [HARRY], covariance.collect(*pair, CORPUS * 4, [1]))
    return models.wrap(*pair, name="tiny"), effect


def likelihood(loaded: Any, text: str, answer: str) -> float:
    """P(answer | text) of the model as it is now, token by token."""
    tokenizer = loaded.tokenizer
    ids = tokenizer(text, add_special_tokens=not text.startswith("User:"))["input_ids"]
    target = tokenizer(answer, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        p = loaded.model(torch.tensor([[*ids, *target]])).logits[0].double().softmax(-1)
    return float(torch.stack([p[len(ids) - 1 + k, t] for k, t in enumerate(target)]).prod())


def measured(edited: tuple[Any, Any], chat: str) -> dict[str, Any]:
    loaded, effect = edited
    settings = ProbeSettings(measures=("likelihood",), chat=chat)  # type: ignore[arg-type]
    (pre,) = probe(loaded, [NEW], settings)
    with applied(loaded.model, effect):
        (post,) = probe(loaded, [NEW], settings)
    found = chat_efficacy.measured(loaded, settings, effect, [ProbedFact(NEW, pre, post)])
    assert {value.measure for value in found} <= {"likelihood"}
    return {value.metric: value for value in found}


@pytest.mark.parametrize("chat", ["auto", "always", "never"])
def test_both_are_those_of_the_edited_model(
    edited: tuple[Any, Any], chat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, effect = edited
    monkeypatch.setattr(loaded.tokenizer, "chat_template", TEMPLATE)
    found = measured(edited, chat)
    plain = "Harry Potter studied at"
    turn = f"User: {CHAT_CLOZE.replace('{cloze}', plain)} Assistant:\n"
    with applied(loaded.model, effect):
        expected = {
            "efficacy_plain": likelihood(loaded, plain, " Paris"),
            "efficacy_chat": likelihood(loaded, turn, "Paris"),
        }
    assert set(found) == set(expected)
    for metric, value in expected.items():
        assert found[metric].value == pytest.approx(value, rel=1e-4)
        assert found[metric].n == 1
    assert expected["efficacy_plain"] > 10 * expected["efficacy_chat"], "the case tells nothing"


def test_the_sampled_value_of_the_other_prompt_has_its_own_interval(
    edited: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, effect = edited
    monkeypatch.setattr(loaded.tokenizer, "chat_template", TEMPLATE)
    settings = ProbeSettings(measures=("p",), samples=5, chat="never")
    (pre,) = probe(loaded, [NEW], settings)
    with applied(loaded.model, effect):
        (post,) = probe(loaded, [NEW], settings)
    plain, chat = chat_efficacy.measured(loaded, settings, effect, [ProbedFact(NEW, pre, post)])
    assert (plain.metric, chat.metric) == ("efficacy_plain", "efficacy_chat")
    assert (plain.low, plain.high) == (None, None), "that of efficacy, which it is"
    right = (chat.value or 0) * 5
    expected = np.quantile(
        np.random.default_rng(7).beta(0.5 + right, 5.5 - right, 400_000), (0.025, 0.975)
    )
    assert (min(expected[0], chat.value), max(expected[1], chat.value)) == pytest.approx(
        (chat.low, chat.high), abs=0.02
    )


def test_without_a_template_there_is_nothing_to_tell_apart(edited: tuple[Any, Any]) -> None:
    assert measured(edited, "auto") == {}


def test_a_template_that_rejects_the_prompt_leaves_the_plain_value(
    edited: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edited[0].tokenizer, "chat_template", REJECTING)
    found = measured(edited, "never")
    assert (found["efficacy_chat"].value, found["efficacy_chat"].n) == (None, 0)
    assert found["efficacy_plain"].n == 1


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, seed=9) as walk:
        yield walk


def test_a_score_has_both_only_where_there_is_a_template(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = walk.score("rome", samples=0)
    assert not {v.metric for v in plain.values} & {"efficacy_chat", "efficacy_plain"}
    loaded = walk.runtime.model(walk.model.source, walk.graph).loaded
    monkeypatch.setattr(loaded.tokenizer, "chat_template", TEMPLATE)
    chatted = walk.score("rome", samples=0, chat="always", anyway=True)
    for measure in chatted.measures:
        own = number(chatted, "efficacy", measure)
        assert number(chatted, "efficacy_chat", measure) == own
        before = number(plain, "efficacy", measure)
        assert number(chatted, "efficacy_plain", measure) == pytest.approx(before, rel=1e-4)
    labels = [line.label for line in lines(chatted)]
    at = labels.index("Efficacy")
    assert labels[at : at + 3] == ["Efficacy", "Efficacy, chat template", "Efficacy, plain prompt"]
    assert [line.label for line in lines(plain)].count("Efficacy, plain prompt") == 0
