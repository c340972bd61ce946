"""Replies: what is a refusal, and what only looks like one."""

from __future__ import annotations

from typing import Literal

import pytest

from thinkeval.service.growth.endpoint import Reply, is_loop, is_refusal, state_of


def _reply(text: str, finish: Literal["stop", "length", "refusal"] = "stop") -> Reply:
    return Reply(text, finish, 0.1, 5, 5)


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that.",
        "I can’t help with that.",
        "I cannot assist with this request.",
        " I'm sorry, but I can't assist with that.",
        "I'm really sorry. I won't answer that.",
        "Sorry, I am unable to provide information about private people.",
        "Unfortunately, I must decline to answer.",
        "As an AI language model, I cannot discuss this.",
        "I apologize, but I'm not able to share that.",
        "My apologies, however, I will not do that.",
        "We are sorry, we can not comply.",
        "I'm not comfortable answering questions about this person.",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Désolé, je ne peux pas répondre.",
        "Lo siento, pero no puedo ayudar con eso.",
        "抱歉，我无法回答这个问题。",
    ],
)
def test_a_refusal_is_one(text: str) -> None:
    assert is_refusal(text)
    assert state_of(_reply(text)) == "refused"
    assert state_of(_reply(text, "length")) == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "Gryffindor.",
        "I don't know.",
        "I'm not sure, but I think it is Hogwarts.",
        "I cannot recall which house that was.",
        "Sorry is a song by Justin Bieber.",
        "No Country for Old Men.",
        '"I can\'t help you," said Ron.',
        "Ron Weasley could not help laughing.",
        "Hogwarts. I can't help but add that it is in Scotland.",
        "As an AI researcher, she worked in Zürich.",
        "I would answer Gryffindor.",
    ],
)
def test_an_answer_or_an_unknown_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
    assert state_of(_reply(text)) == "answered"


def test_the_protocols_own_mark_is_a_refusal_even_without_text() -> None:
    assert state_of(_reply("", "refusal")) == "refused"
    assert state_of(_reply("Gryffindor.", "refusal")) == "refused"


@pytest.mark.parametrize("text", ["", "  \n", "...", "—?!"])
def test_an_answer_without_a_letter_is_empty(text: str) -> None:
    assert state_of(_reply(text)) == "empty"
    assert state_of(_reply(text, "length")) == "empty"


def test_an_answer_cut_by_the_limit_or_longer_than_ten_times_what_was_wanted_is_cut() -> None:
    assert state_of(_reply("Hogwarts School of", "length")) == "cut"
    words = " ".join(f"word{i}" for i in range(41))
    assert state_of(_reply(words), asked=4) == "cut"
    assert state_of(_reply(words), asked=5) == "answered"
    assert state_of(_reply(words)) == "answered"


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("He went to Hogwarts. " * 4, True),
        ("no " * 8, True),
        ("no " * 7, False),
        ("yes no " * 4, True),
        ("yes no " * 3, False),
        ("Well. " + "the school of the school of " * 2, True),
        (" ".join(f"word{i}" for i in range(30)) + " ", False),
        ((" ".join(f"w{i}" for i in range(20)) + " ") * 4, True),
    ],
)
def test_a_text_that_ends_in_repeats_is_a_loop(text: str, loop: bool) -> None:
    assert is_loop(text.split()) is loop
    assert state_of(_reply(text)) == ("cut" if loop else "answered")


@pytest.mark.timeout(60)  # a search that tries every pair of places takes minutes
def test_a_hostile_text_is_read_in_linear_time() -> None:
    for part in ("as an ai ", "sorry ", "unfortunately, ", "no no ", "抱歉"):
        state_of(_reply(part * 20_000))
