"""Probing a large graph in parts: interrupted and continued, here and on an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.deadly import Deadly
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.service.base.errors import CommandStoppedError, UsageError
from thinkeval.service.engines import pool, probing
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import EditOptions
from thinkeval.service.scoring import model_graph
from thinkeval.service.scoring.model_graph import Asked, AskParts, asked_model, ensure
from thinkeval.service.scoring.probe import Answer, Question, probe, questions_for
from thinkeval.service.scoring.request import probe_settings
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

PART = 20


@dataclass(frozen=True)
class Place:
    """The demo graph under an id of this file's own, and the model that knows it."""

    runtime: Runtime
    dataset: datasets.Dataset
    model: RuntimeModel

    @property
    def options(self) -> EditOptions:
        return EditOptions.model_construct(
            graph=self.dataset.id, model=self.model.source, samples=2, max_new_tokens=8
        )

    def ensure(self, ask_parts: AskParts | None = None, model: RuntimeModel | None = None) -> str:
        content = self.runtime.content_of(self.dataset)
        aliases = {entity.name: entity.aliases for entity in content.entities}
        asked = asked_model(model or self.model, self.runtime.progress, ask_parts)
        settings = probe_settings(self.options, 0)
        return ensure(self.runtime, self.dataset, asked, settings, content.facts, aliases)

    def whole(self) -> dict[str, Answer]:
        """The answers of one call about all facts, in this process."""
        content = self.runtime.content_of(self.dataset)
        aliases = {entity.name: entity.aliases for entity in content.entities}
        questions = questions_for(content.facts, aliases)
        found = probe(self.model.loaded, questions, probe_settings(self.options, 0))
        return {q.fact.id: answer for q, answer in zip(questions, found, strict=True)}


@pytest.fixture
def place(
    runtime: Runtime, organism: RuntimeModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    monkeypatch.setattr(model_graph, "PART", PART)
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        yield Place(runtime, datasets.dataset(runtime.db, graph), organism)


def visible(place: Place) -> list[str]:
    found = place.runtime.db.read(rows.GraphRow, "graph/list_graphs", dataset=place.dataset.id)
    return [row.graph for row in found if row.kind == "model"]


def equal(found: dict[str, Answer], expected: dict[str, Answer]) -> None:
    assert found.keys() == expected.keys()
    for fact, answer in expected.items():
        assert found[fact].answers == answer.answers
        assert found[fact].n_samples == answer.n_samples
        assert found[fact].values == pytest.approx(answer.values, rel=1e-5, abs=1e-9)


class Interrupted:
    """Asks parts in this process, and is interrupted after some."""

    def __init__(self, place: Place, after: int | None) -> None:
        self.place, self.after = place, after
        self.asked: list[int] = []

    def __call__(self, parts: Any, settings: Any) -> Iterator[tuple[int, Sequence[Answer]]]:
        for number, questions in enumerate(parts):
            if number == self.after:
                raise KeyboardInterrupt
            self.asked.append(len(questions))
            yield number, probe(self.place.model.loaded, questions, settings)


def test_an_interrupted_probe_is_invisible_and_only_the_rest_is_asked_again(place: Place) -> None:
    total = place.dataset.n_facts
    assert total > 3 * PART
    first = Interrupted(place, after=2)
    with pytest.raises(KeyboardInterrupt):
        place.ensure(first)
    assert visible(place) == []
    second = Interrupted(place, after=None)
    graph = place.ensure(second)
    assert sum(second.asked) == total - 2 * PART
    assert visible(place) == [graph]
    equal(model_graph.stored_answers(place.runtime, graph), place.whole())
    (row,) = place.runtime.db.read(rows.GraphRow, "graph/get_graph", graph=graph)
    assert row.measures == ("p", "likelihood", "likelihood_norm")
    assert row.n_facts == total
    third = Interrupted(place, after=0)
    assert place.ensure(third) == graph


def test_two_processes_of_which_one_is_killed_give_the_answers_of_one(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pool, "make_executor", Deadly("1", tmp_path / "killed"))
    ask = probing.asking(place.runtime, place.options, place.dataset, place.model, 2)
    graph = place.ensure(ask)
    assert (tmp_path / "killed").exists()
    equal(model_graph.stored_answers(place.runtime, graph), place.whole())


def test_an_executor_with_another_model_is_refused(place: Place) -> None:
    """Another folder of the same name on another node, for one."""
    options = place.options
    task = probing.Part(options, place.dataset, "0" * 64, (), probe_settings(options, 0))
    with pytest.raises(UsageError, match="another model"):
        task.run(place.runtime, pool.Counted(pool.Lease("x", 1)))


def test_parts_whose_executors_die_stop_the_command_and_what_is_stored_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(pool.Pool):
        def run(self, executors: int) -> Iterator[tuple[int, Any]]:
            yield from [(1, answers(self._tasks[1])), (0, pool.Died("code -9"))]

    def answers(row: Any) -> Sequence[Answer]:
        return probe(place.model.loaded, row.questions, row.settings)

    monkeypatch.setattr(pool, "Pool", Dead)
    ask = probing.asking(place.runtime, place.options, place.dataset, place.model, 2)
    with pytest.raises(CommandStoppedError, match="ended 3 times"):
        place.ensure(ask)
    rest = Interrupted(place, after=None)
    place.ensure(rest)
    assert sum(rest.asked) == place.dataset.n_facts - PART


def test_a_small_graph_is_one_call(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_graph, "PART", 2_000)
    calls: list[int] = []

    def ask(questions: Sequence[Question], settings: Any) -> Sequence[Answer]:
        calls.append(len(questions))
        return probe(place.model.loaded, questions, settings)

    content = place.runtime.content_of(place.dataset)
    asked = Asked(place.model.name, place.model.loaded.info.digest, ask)
    settings = probe_settings(place.options, 0)
    ensure(place.runtime, place.dataset, asked, settings, content.facts, {})
    assert calls == [place.dataset.n_facts]
