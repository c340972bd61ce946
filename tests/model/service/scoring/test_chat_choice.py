"""`--chat auto` takes the way in which the model knows the graph's facts better."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Entity, Fact
from thinkeval.service.base.settings import Settings
from thinkeval.service.scoring import chat as chat_choice
from thinkeval.service.scoring.probe import Answer

TEMPLATE = "{% for m in messages %}User: {{ m['content'] }} Assistant:{% endfor %}"
FACTS = tuple(Fact(f"S{i}", "r", f"O{i}", "{} is") for i in range(40))
DATASET: Any = SimpleNamespace(id="g", digest="d")


class Stored:
    """A runtime of one graph that counts its measurements."""

    progress = None

    def __init__(self, cache: Path) -> None:
        self.memory: dict[Any, Any] = {}
        self.settings = Settings(cache=cache)

    def content_of(self, _: Any) -> Any:
        return SimpleNamespace(facts=FACTS, entities=[Entity(f.object) for f in FACTS])

    def memoised(self, key: Any, make: Any) -> Any:
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]


def settled(
    monkeypatch: pytest.MonkeyPatch,
    cache: Path,
    plain: float,
    chat: float,
    *,
    template: str | None = TEMPLATE,
) -> tuple[Any, Any, list[Any]]:
    calls: list[Any] = []

    def probe(_: Any, questions: Any, settings: Any, **__: Any) -> list[Answer]:
        calls.append((settings.chat, [q.fact.id for q in questions]))
        value = chat if settings.chat == "always" else plain
        # One fact of the sample is known neither way.
        return [Answer({"likelihood": value if i else 0.01}) for i, _ in enumerate(questions)]

    monkeypatch.setattr(chat_choice, "probe", probe)
    loaded = models.wrap(*build_tiny("llama", seed=1), name="tiny")
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    runtime: Any = Stored(cache)
    settings, about = chat_choice.settled(runtime, DATASET, loaded, ProbeSettings())
    for later in (runtime, Stored(cache)):  # of this process, and of another one
        assert chat_choice.settled(later, DATASET, loaded, ProbeSettings()) == (settings, about)
    return settings, about, calls


def test_the_better_way_is_taken_and_named_with_both_means(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    settings, about, calls = settled(monkeypatch, tmp_path / "one", 0.6, 0.03)
    assert settings.chat == "never"
    assert settings.digest == ProbeSettings(chat="never").digest
    assert (about.way, about.n, about.asked, about.known) == ("plain", 19, 20, True)
    assert (about.plain, about.chat) == pytest.approx((0.6, 0.03))
    assert [way for way, _ in calls] == ["never", "always"]  # once for a model and a graph
    assert calls[0][1] == calls[1][1]
    assert "plain text" in about.sentence
    assert "almost only as plain text, so it is asked that way; --chat always" in about.sentence
    settings, about, _ = settled(monkeypatch, tmp_path / "other", 0.3, 0.5)
    assert (settings.chat, about.way) == ("always", "chat")
    assert "almost only" not in about.sentence
    _, about, _ = settled(monkeypatch, tmp_path / "chat", 0.03, 0.6)
    assert "almost only in its chat, so it is asked that way; --chat never" in about.sentence


def test_a_model_without_a_template_is_asked_plainly_and_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    settings, about, calls = settled(monkeypatch, tmp_path, 0.3, 0.5, template=None)
    assert (settings.chat, about, calls) == ("never", None, [])


def test_where_no_fact_is_known_the_mean_is_over_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    _, about, _ = settled(monkeypatch, tmp_path, 0.02, 0.001)
    assert "knows" not in about.sentence
    assert (about.way, about.n, about.known) == ("plain", 20, False)
