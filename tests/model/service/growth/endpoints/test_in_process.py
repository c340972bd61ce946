"""A model in this process as an endpoint: replies, their accounts, and its id."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing import interruption
from thinkeval.editing.models import LoadedModel, wrap
from thinkeval.service.growth.endpoint import Form, Message, Reply, Request, Sampling
from thinkeval.service.growth.open_endpoint import InProcess


def _tiny(seed: int = 0) -> LoadedModel:
    return wrap(*build_tiny("gpt2", seed), name="tiny")


def _request(text: str, sample: int = 0, form: Form = "cloze", **settings: float) -> Request:
    sampling = Sampling(
        float(settings.get("temperature", 1.0)), int(settings.get("max_tokens", 8)), 0
    )
    return Request((Message("user", text),), sampling, sample, "direct", form)


def _ask(endpoint: InProcess, requests: list[Request]) -> list[Reply]:
    found = dict(pair for part in endpoint.ask(requests) for pair in part)
    return [found[i] for i in range(len(requests))]


def test_replies_in_parts_with_tokens_and_seconds() -> None:
    endpoint = InProcess(_tiny(), batch_tokens=60)
    requests = [_request(f"Harry Potter {word}", k) for word in ("is", "was") for k in range(6)]
    parts = list(endpoint.ask(requests))
    assert len(parts) > 1
    replies = dict(pair for part in parts for pair in part)
    assert len(replies) == 12
    assert all(reply.seconds > 0 and reply.tokens_in for reply in replies.values())
    assert {reply.finish for reply in replies.values()} <= {"stop", "length"}
    assert all(reply.tokens_out == 8 for reply in replies.values() if reply.finish == "length")


def test_samples_differ_and_the_most_likely_answer_does_not() -> None:
    endpoint = InProcess(_tiny())
    assert len({reply.text for reply in _ask(endpoint, [_request("The", k) for k in range(5)])}) > 1
    greedy = [_request("The", k, temperature=0.0) for k in range(5)]
    assert len({reply.text for reply in _ask(endpoint, greedy)}) == 1


def test_the_id_names_the_weights() -> None:
    first, again, other = (InProcess(_tiny(seed)) for seed in (0, 0, 1))
    assert first.id == again.id != other.id
    assert first.id.startswith("tiny@local-")
    changed = _tiny()
    with torch.no_grad():
        changed.model.transformer.ln_f.weight.add_(1)
    assert InProcess(wrap(changed.model, changed.tokenizer, name="tiny")).id != first.id


def test_chat_is_whether_there_is_a_template() -> None:
    loaded = _tiny()
    assert not InProcess(loaded).chat
    loaded.tokenizer.chat_template = "{{ messages[0]['content'] }}"
    assert InProcess(loaded).chat


def test_an_answer_ends_where_the_run_does() -> None:
    """Within a call: a long answer of a slow model takes minutes."""
    steps = 0

    def third() -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise TimeoutError

    endpoint = InProcess(_tiny())
    with interruption.checked(third), pytest.raises(TimeoutError):
        _ask(endpoint, [_request("The", temperature=0.0, max_tokens=64)])
    assert steps == 3
    assert _ask(endpoint, [_request("The", temperature=0.0)])[0].tokens_out
