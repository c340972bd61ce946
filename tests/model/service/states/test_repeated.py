"""A server whose likelihoods depend on the order of requests, or on the requests beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.base.errors import EndpointError
from thinkeval.service.base.llm import Client, Completion, ScoredToken
from thinkeval.service.growth.openai_endpoint import CLOZE, Capabilities
from thinkeval.service.scoring.probe import Question
from thinkeval.service.states.endpoint import EndpointState, Session
from thinkeval.service.states.spec import StateIn

EXACT = ProbeSettings(measures=("likelihood",))
QUESTIONS = [Question(Fact(s, "r", "Oslo", "{} lives in")) for s in ("Ada", "Bob", "Eve")]


class Server:
    """Gives every word the likelihood that a function returns for the number of the request."""

    def __init__(self, likelihood: Callable[[int, str], float]) -> None:
        self.address, self.model, self.asked = "http://h/v1", "m", 0
        self._likelihood = likelihood

    def complete(self, text: str, **_: Any) -> Completion:
        self.asked += 1
        log_p = math.log(self._likelihood(self.asked, text))
        words = re.findall(r"\s*\S+", text)
        tokens = [ScoredToken(word, None if i == 0 else 0.0) for i, word in enumerate(words)]
        tokens[-1] = ScoredToken(words[-1], log_p)
        return Completion("", "stop", None, 1, None, 1, 0.0, (*tokens, ScoredToken(" x", -1.0)))


def state(likelihood: Callable[[int, str], float]) -> tuple[EndpointState, Server]:
    server = Server(likelihood)
    able = Capabilities("plain", "none", completions=True, several=False)
    word = StateIn(model="m", endpoint=server.address)
    return EndpointState(cast("Client", server), word, able, Session()), server


def test_a_server_that_repeats_itself_is_accepted() -> None:
    found, server = state(lambda _, text: 0.4 if "Bob" in text else 0.2)
    answers = found.ask(QUESTIONS, EXACT)
    assert [a.values["likelihood"] for a in answers] == pytest.approx([0.2, 0.4, 0.2])
    assert found.about.about["repeated_difference"] == 0.0
    assert server.asked == 2 + 3 + 1, "one text twice at the opening, the first question again"


def test_a_small_difference_is_in_the_record() -> None:
    found, _ = state(lambda number, _: 0.2 + number * 1e-5)
    found.ask(QUESTIONS, EXACT)
    assert 1e-5 <= found.about.about["repeated_difference"] < 1e-4


def test_a_difference_at_the_opening_is_refused_where_likelihoods_are_asked() -> None:
    found, server = state(lambda number, _: 0.2 + number * 0.01)
    assert found.about.about["repeated_difference"] == pytest.approx(0.01)
    with pytest.raises(EndpointError, match=r"differs by 0\.01 between two requests") as caught:
        found.ask(QUESTIONS, EXACT)
    assert "--measure p" in caught.value.remedy
    assert server.asked == 2


def test_a_difference_beside_other_requests_is_refused() -> None:
    """Alone, at the opening, the same; other numbers once several were asked."""

    def likelihood(number: int, text: str) -> float:
        return 0.2 if CLOZE in text or number <= 5 else 0.21

    found, _ = state(likelihood)
    assert found.about.about["repeated_difference"] == 0.0
    with pytest.raises(EndpointError, match=r"differs by 0\.01"):
        found.ask(QUESTIONS, EXACT)


def test_a_server_without_scores_has_no_difference() -> None:
    class Silent(Server):
        def complete(self, text: str, **_: Any) -> Completion:
            return Completion("Oslo", "stop", None, 1, None, 1, 0.0)

    able = Capabilities("plain", "none", completions=True, several=False)
    client = cast("Client", Silent(lambda *_: 1.0))
    found = EndpointState(client, StateIn(model="m", endpoint="http://h/v1"), able, Session())
    assert not found.about.exact
    assert "repeated_difference" not in found.about.about
