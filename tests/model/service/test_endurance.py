"""Long sequences: requests that are generated, points against brute force, alarms, progress."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import DeltaError
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest, fill
from thinkeval.service.base.errors import UsageError
from thinkeval.service.experiments import endurance
from thinkeval.service.experiments.endurance import METRICS, Plan, generated
from thinkeval.service.graphs import datasets
from thinkeval.service.reports import gate
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def graph_of(*triples: tuple[str, str, str]) -> KnowledgeGraph:
    facts = tuple(Fact(s, r, o, prompt="{} " + r) for s, r, o in triples)
    names = dict.fromkeys(name for s, _, o in triples for name in (s, o))
    return KnowledgeGraph("small", tuple(map(Entity, names)), facts)


SMALL = graph_of(
    ("a", "in", "x"), ("b", "in", "y"), ("c", "in", "z"), ("d", "in", "x"), ("d", "in", "w"),
    ("a", "likes", "tea"), ("kept", "in", "y"),
)  # fmt: skip


def test_each_round_edits_each_pair_once_to_another_object() -> None:
    found = generated(SMALL, {("kept", "in")}, 40, 0)
    pairs = {("a", "in"), ("b", "in"), ("c", "in"), ("d", "in"), ("a", "likes")}
    assert [each.id for each in found] == [f"edit-{i}" for i in range(1, 41)]
    orders, last = set(), {}
    for at in range(0, 40, 5):
        a_round = found[at : at + 5]
        assert {(r.subject, r.relation) for r in a_round} == pairs
        orders.add(tuple(r.subject for r in a_round))
        for each in a_round:
            pair = each.subject, each.relation
            true = {f.object for f in SMALL.facts if (f.subject, f.relation) == pair}
            assert each.target_true in true
            assert each.target_new not in {*true, each.subject, last.get(pair)}
            last[pair] = each.target_new
    assert len(orders) > 1
    assert generated(SMALL, {("kept", "in")}, 40, 0) == found
    assert generated(SMALL, {("kept", "in")}, 23, 0) == found[:23]
    assert generated(SMALL, {("kept", "in")}, 40, 1) != found
    # `likes` has one object, so that others of the graph are taken.
    assert {r.target_new for r in found if r.relation == "likes"} <= {"w", "x", "y", "z"}


def test_a_graph_whose_facts_are_all_followed_is_refused() -> None:
    with pytest.raises(UsageError, match="No fact of 'small' is left to edit"):
        generated(graph_of(("a", "in", "x")), {("a", "in")}, 1, 0)


@dataclass(frozen=True)
class Place:
    runtime: Runtime
    model: RuntimeModel
    plan: Plan


@pytest.fixture(scope="module")
def place(runtime: Runtime, organism: RuntimeModel) -> Iterator[Place]:
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        rewrites: list[RewriteRequest] = datasets.list_rewrites(runtime.db, graph)
        followed = tuple(r for r in rewrites if r.id.startswith("harry-potter--was-sorted"))
        request = ScoreRequest.of(
            followed[0], graph=graph, model=organism.source, method="ultraedit", samples=0,
            max_steps=2,
        )  # fmt: skip
        yield Place(runtime, organism, Plan(request, followed, 14, 2, 4, 6, 2))


@pytest.fixture(scope="module")
def whole(place: Place) -> endurance.Endurance:
    return endurance.run(place.runtime, place.plan, force=True)


def test_the_points_are_at_the_wanted_numbers_of_edits(whole: endurance.Endurance) -> None:
    assert [point.edits for point in whole.points] == [2, 4, 8, 12, 14]
    assert (whole.edits, whole.resumed, whole.alarms) == (14, 0, [])
    for point in whole.points:
        for name in METRICS:
            assert (getattr(point, name) is None) == (getattr(point, f"n_{name}") == 0)


def test_a_point_is_what_brute_force_finds(place: Place, whole: endurance.Endurance) -> None:
    """All batches one after the other, then each question by a plain pass of transformers."""
    going = endurance._Run(place.runtime, place.plan)
    *_, effect = going.effects(None)
    loaded = place.model.loaded
    last = whole.points[-1]

    @torch.no_grad()
    def p(subject: str, prompt: str, answer: str) -> float:
        """The sum over the names of the answer; one that begins with another adds nothing."""
        start = loaded.tokenizer(fill(prompt, subject))["input_ids"]
        names = {
            tuple(loaded.tokenizer(f" {name}", add_special_tokens=False)["input_ids"])
            for name in (answer, *going.aliases.get(answer, ()))
        }
        total = 0.0
        for ids in names:
            if any(ids != other and ids[: len(other)] == other for other in names):
                continue
            logits = loaded.model(torch.tensor([[*start, *ids]])).logits[0].double()
            log_p = logits[len(start) - 1 : -1].log_softmax(-1)
            total += float(log_p[range(len(ids)), list(ids)].sum().exp())
        return total

    edited = {(r.subject, r.relation): r for r in going.requests}
    new = {(r.subject, r.relation) for r in going.requests[-2:]}
    old = [edited[pair] for pair in sorted(going.sample) if pair in edited and pair not in new]
    held = [question.fact for question in going.held]
    before = [p(f.subject, f.prompt, f.object) for f in held]
    with applied(loaded.model, effect):
        efficacy = [p(r.subject, r.prompt, r.target_new) for r in old]
        newest = [p(r.subject, r.prompt, r.target_new) for r in going.requests[-2:]]
        after = [p(f.subject, f.prompt, f.object) for f in held]
    known = [(b, a) for b, a in zip(before, after, strict=True) if b >= 0.05]
    assert last.n_efficacy == len(old) > 0
    assert last.efficacy == pytest.approx(fmean(efficacy), rel=1e-4)
    assert last.newest == pytest.approx(fmean(newest), rel=1e-4)
    assert last.n_kept == len(known) > 0
    assert last.kept == pytest.approx(fmean(a >= b / 2 for b, a in known))
    assert not {(f.subject, f.relation) for f in held} & set(edited)


def test_it_goes_on_from_disk_to_the_same_points(
    place: Place, whole: endurance.Endurance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped between two writes: what was done since the last one is done again."""
    calls = []
    method = endurance.resolve(
        place.runtime, ScoreRequest.of(place.plan.followed[0], place.plan.options)
    ).method
    execute = method.execute

    def stopped(*args: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return execute(*args, **options)

    plan = replace(place.plan, save_every=4)
    monkeypatch.setattr(method, "execute", stopped)
    with pytest.raises(KeyboardInterrupt):
        endurance.run(place.runtime, plan, force=True)
    assert weights_digest(place.model.loaded.model) == place.model.loaded.info.weights_digest
    found = endurance.run(place.runtime, plan)
    assert found.resumed == 8
    assert len(calls) == 5 + 3
    assert found.points == whole.points
    again = endurance.run(place.runtime, plan)
    assert (again.resumed, again.points) == (14, whole.points)
    assert len(calls) == 8


def test_the_first_point_that_misses_a_limit_is_the_last(
    place: Place, whole: endurance.Endurance
) -> None:
    worst = min(point.kept or 0 for point in whole.points)
    limit = gate.parse(f"kept>={worst + 1e-6}", METRICS)
    found = endurance.run(place.runtime, place.plan, [limit], force=True)
    first = next(p for p in whole.points if (p.kept or 0) < worst + 1e-6)
    assert found.points[-1] == first
    assert found.edits == first.edits
    (alarm,) = found.alarms
    assert alarm.startswith(f"after {first.edits} edits kept {first.kept:.4f} < ")
    again = endurance.run(place.runtime, place.plan, [limit])
    assert (again.edits, again.resumed, again.alarms) == (first.edits, first.edits, [alarm])
    assert endurance.run(place.runtime, place.plan).points == whole.points
    finished = endurance.run(place.runtime, place.plan, [limit])
    assert (finished.edits, finished.alarms) == (14, [alarm])


def test_efficacy_of_old_edits_is_no_alarm_before_there_are_old_edits(
    whole: endurance.Endurance,
) -> None:
    points, limit = whole.points, gate.parse("efficacy>=1.1", METRICS)
    assert points[0].efficacy is None
    second = next(point for point in points if point.efficacy is not None)
    (alarm,) = endurance.alarms(points, [limit])
    assert alarm.startswith(f"after {second.edits} edits efficacy {second.efficacy:.4f} < 1.1")
    assert endurance.alarms(points, [gate.parse("efficacy>=0", METRICS)]) == []


def test_a_limit_on_what_is_undefined_is_missed() -> None:
    limit = gate.parse("efficacy>=.5", METRICS)
    assert gate.misses({"efficacy": None}, [limit]) == ["efficacy is undefined"]
    assert gate.misses({"efficacy": 0.5}, [limit]) == []
    with pytest.raises(UsageError, match="no limit on a metric"):
        gate.parse("kl<=.1", METRICS)


def test_a_damaged_file_is_refused(place: Place, whole: endurance.Endurance) -> None:
    path: Path = endurance._Run(place.runtime, place.plan).path
    body = bytearray(path.read_bytes())
    body[-1] ^= 1
    path.write_bytes(body)
    with pytest.raises(DeltaError, match="no progress of this sequence"):
        endurance.run(place.runtime, place.plan)


@pytest.mark.parametrize("changes", [{"every": 3}, {"save_every": 5}, {"edits": 0}])
def test_numbers_that_do_not_fit_are_refused(place: Place, changes: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        endurance.run(place.runtime, replace(place.plan, **changes))
