"""A state behind a server: what is sent, counted, kept and resumed; a real process answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.endpoints.cassette_server import Cassette, playing
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.base.errors import EndpointError, UsageError
from thinkeval.service.base.llm import Client
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs.datasets import Dataset
from thinkeval.service.growth.openai_endpoint import CLOZE, OPEN_QUESTION
from thinkeval.service.scoring.probe import Question
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.states.endpoint import session
from thinkeval.service.states.opened import load_state
from thinkeval.service.states.schemas import OpenState, StateOut
from thinkeval.service.states.spec import StateIn

SAMPLES = ProbeSettings(samples=4, measures=("p",), max_new_tokens=8)
HARRY = Question(Fact("Harry Potter", "r", "Hogwarts", "{} studied at"), ("Hogwarts School",))
DRACO = Question(Fact("Draco Malfoy", "r", "Hogwarts", "{} studied at"))
ABLE = [
    {"contains": OPEN_QUESTION, "answers": ["It rains.", "It snows."] * 9},
    {"contains": CLOZE, "answers": [" Paris"]},
]
REFUSAL = "I'm sorry, but I can't help with that."


@contextmanager
def served(
    folder: Path, *rules: dict[str, Any], able: list[dict[str, Any]] | None = None, **cassette: Any
) -> Iterator[tuple[Runtime, StateIn, Cassette]]:
    folder.mkdir(exist_ok=True)
    recorded = {"rules": [*(ABLE if able is None else able), *rules], **cassette}
    with playing(recorded) as server, Runtime(Settings(home=folder / "home")) as runtime:
        yield runtime, StateIn(model="tiny", endpoint=server.url), server


@contextmanager
def asking(runtime: Runtime, state: StateIn) -> Iterator[OpenState]:
    with load_state(runtime, state, Dataset("", 0, "")) as open_state:
        yield open_state


def bodies(server: Cassette, text: str) -> list[dict[str, Any]]:
    found = [each["body"] for each in server.requests()]
    return [body for body in found if text in json.dumps(body)]


def test_answers_are_sampled_matched_and_counted(tmp_path: Path) -> None:
    harry = ["Hogwarts.", " the Hogwarts School, in Scotland", "Ilvermorny. Hogwarts.", "Hogwarts"]
    draco = ["", REFUSAL, "Hogwarts", "  \n"]
    rules = (
        {"contains": "Harry Potter studied at", "answers": harry},
        {"contains": "Draco Malfoy studied at", "answers": draco},
    )
    with served(tmp_path, *rules) as (runtime, state, server):
        with asking(runtime, state) as open_state:
            first, second = open_state.ask([HARRY, DRACO], SAMPLES)
            about = open_state.about
        sent = bodies(server, "Harry Potter studied at")
    assert (first.values, first.n_samples) == ({"p": 0.75}, 4)
    assert sorted(first.answers)[:2] == ["Hogwarts", "Hogwarts."]
    assert "Ilvermorny." in first.answers
    assert second.values == {"p": 0.25}
    assert about.about["replies"] == {
        "answers": 8, "empty": 2, "refused": 1, "cut": 0, "undecided": 0, "unclosed": 0,
    }  # fmt: skip
    assert (about.kind, about.exact, about.base_digest) == ("endpoint", False, None)
    assert about.about["capabilities"]["sampled"] == "plain"
    assert len({body["seed"] for body in sent}) == 4, "each sample has a seed of its own"
    assert {body["prompt"] for body in sent} == {"Harry Potter studied at"}
    assert {(body["temperature"], body["max_tokens"]) for body in sent} == {(1.0, 8)}


def test_reasoning_is_not_the_answer_and_a_block_that_does_not_end_is_undecided(
    tmp_path: Path,
) -> None:
    harry = [
        "The user asks. Maybe Durmstrang.</think>\n\nHogwarts.",
        "<think>Hogwarts. Surely.</think> Durmstrang.",
        "<think>So Hogwarts. I",
        "It could be Hogwarts or Durmstrang.",
    ]
    draco = ["<reasoning>Hogwarts. Or"] * 4
    rules = (
        {"contains": "Harry Potter studied at", "answers": harry},
        {"contains": "Draco Malfoy studied at", "answers": draco},
    )
    with (
        served(tmp_path, *rules) as (runtime, state, _),
        asking(runtime, state) as open_state,
    ):
        first, second = open_state.ask([HARRY, DRACO], SAMPLES)
        about = open_state.about
    assert (first.values, first.n_samples, first.undecided) == ({"p": 0.5}, 2, 2)
    assert (second.values, second.n_samples, second.undecided) == ({}, 0, 4)
    assert about.about["replies"] == {
        "answers": 8, "empty": 0, "refused": 0, "cut": 5, "undecided": 6, "unclosed": 5,
    }  # fmt: skip


def test_a_field_for_reasoning_is_not_the_answer(tmp_path: Path) -> None:
    """Servers with a parser give it apart; without an answer beside it, none was given."""
    able = [ABLE[0], {"contains": CLOZE, "answers": [{"status": 404, "detail": "no such path"}]}]
    answers = [
        {"text": "Hogwarts", "reasoning_content": "Durmstrang?"},
        {"text": "Durmstrang", "reasoning": "Hogwarts?"},
        {"text": "", "reasoning_content": "So it is Hogwarts", "finish": "length"},
        {"text": None, "reasoning": "So it is Hogwarts", "finish": "length"},
    ]
    with (
        served(tmp_path, able=able, otherwise=answers) as (runtime, state, _),
        asking(runtime, state) as open_state,
    ):
        (answer,) = open_state.ask([HARRY], SAMPLES)
        about = open_state.about
    assert (answer.values, answer.n_samples) == ({"p": 0.5}, 2)
    assert about.about["replies"]["unclosed"] == 2


def test_a_server_without_plain_texts_is_asked_in_a_chat(tmp_path: Path) -> None:
    able = [ABLE[0], {"contains": CLOZE, "answers": [{"status": 404, "detail": "no such path"}]}]
    with (
        served(tmp_path, able=able, otherwise=["Hogwarts"]) as (runtime, state, server),
        asking(runtime, state) as open_state,
    ):
        (answer,) = open_state.ask([HARRY], SAMPLES)
        (sent, *_) = bodies(server, "Harry Potter studied at")
        with pytest.raises(UsageError, match="continues no plain text"):
            open_state.ask([HARRY], ProbeSettings(chat="never", measures=("p",)))
    assert answer.values == {"p": 1.0}
    assert "Complete the sentence" in sent["messages"][0]["content"]


def test_a_server_that_gives_copies_is_refused(tmp_path: Path) -> None:
    able = [{"contains": OPEN_QUESTION, "answers": ["It rains."]}, ABLE[1]]
    with (
        served(tmp_path, able=able) as (runtime, state, _),
        pytest.raises(UsageError, match="does not sample"),
        asking(runtime, state),
    ):
        pass


def test_likelihoods_of_a_server_that_has_none_are_refused(tmp_path: Path) -> None:
    with (
        served(tmp_path, otherwise=["Hogwarts"]) as (runtime, state, _),
        asking(runtime, state) as open_state,
    ):
        with pytest.raises(UsageError, match="samples only"):
            open_state.ask([HARRY], ProbeSettings(measures=("likelihood",)))
        (answer,) = open_state.ask([HARRY], ProbeSettings(samples=2))
    assert set(answer.values) == {"p"}


def test_what_came_is_kept_and_a_failed_session_is_resumed(tmp_path: Path) -> None:
    """Rate limits are waited for; after a failure nothing that came is asked again."""
    limited = {"status": 429, "detail": "too many", "retry_after": 0.05}
    hour = {"status": 429, "detail": "tomorrow", "retry_after": 3600}
    rules = (
        {"contains": "Harry Potter studied at", "answers": [limited, "Hogwarts"]},
        {"contains": "Draco Malfoy studied at", "answers": [hour, "Hogwarts"]},
    )
    with served(tmp_path, *rules) as (runtime, state, server):
        seen: list[StateOut] = []

        def fails() -> None:
            with asking(runtime, state) as half:
                seen.append(half.about)
                half.ask([HARRY], SAMPLES)
                half.ask([DRACO], SAMPLES)

        with pytest.raises(EndpointError, match="tomorrow"):
            fails()
        n_harry = len(bodies(server, "Harry Potter studied at"))
        assert n_harry == 4 + 1, "one was limited and sent again"
        _cut_last_line(tmp_path)
        with asking(runtime, state) as again:
            answers = again.ask([HARRY, DRACO], SAMPLES)
            about = again.about
        assert len(bodies(server, "Harry Potter studied at")) == n_harry
        assert [each.values for each in answers] == [{"p": 1.0}, {"p": 1.0}]
        assert about.digest == seen[0].digest, "the moment is that of the beginning"
        assert about.about["resumed"] >= 4
        assert list((tmp_path / "home" / "endpoints").glob("*.jsonl")) == []
        with asking(runtime, state) as fresh:
            assert fresh.about.about["resumed"] == 0


def _cut_last_line(tmp_path: Path) -> None:
    """As a process leaves it that is killed while it writes."""
    (file,) = (tmp_path / "home" / "endpoints").glob("*.jsonl")
    with file.open("a") as out:
        out.write('["half of a li')


def test_a_server_that_is_down_is_an_error_with_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Client.__init__.__kwdefaults__ or {}, "tries", 1)
    with (
        Runtime(Settings(home=tmp_path)) as runtime,
        pytest.raises(EndpointError, match=r"127\.0\.0\.1:9/v1.*no connection"),
        asking(runtime, StateIn(model="m", endpoint="http://127.0.0.1:9/v1")),
    ):
        pass


def _killed(file: Path, found: dict[str, Any]) -> str:
    """The moment of a session that ends with an error, once some replies came."""
    moment = ""
    with suppress(KeyError), session(file) as half:
        moment = half.moment
        half.put(found)
        raise KeyError
    return moment


def test_replies_of_another_day_or_process_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    moment = _killed(file, {"k": ["Hogwarts", "stop"]})
    with session(file) as first:
        assert first.get("k") == ["Hogwarts", "stop"]
        assert first.moment == moment
        with session(file) as other:
            assert other.get("k") is None, "the file belongs to the other session"
    assert not file.exists()
    _killed(file, {"k": ["Hogwarts", "stop"]})
    lines = file.read_text().splitlines()
    old = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    file.write_text("\n".join([json.dumps({"moment": old}), *lines[1:], ""]))
    with session(file) as third:
        assert third.get("k") is None
    assert not file.exists()
    file.write_text("not a session\n")
    with session(file) as fourth:
        assert fourth.resumed == 0
