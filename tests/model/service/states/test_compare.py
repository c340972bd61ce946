"""A base and a state on the demo graph: equal to scores, to brute force, and to themselves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import cast

import pytest

from support.endpoints.scoring_server import scoring
from support.own_graphs import stored_edges
from support.references import reference as ref
from support.references import states_reference
from support.references.scoring_reference import expected, same
from support.scored_walk import Walk, walked
from support.states.adapters import write_effect
from support.states.small import NO_DATASET, saved_model
from thinkeval.cypher import rows
from thinkeval.editing.deltas.files import load
from thinkeval.service.base.errors import (
    JobInterrupt,
    LeaseLostError,
    NotFoundError,
    UsageError,
)
from thinkeval.service.base.leases import Lease, event, new_token
from thinkeval.service.experiments import queue
from thinkeval.service.experiments.kind import Work
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import deltas, metrics, record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.opened import InMemory, LoadedState, load_state
from thinkeval.service.states.schemas import ComparisonIn, ComparisonOut
from thinkeval.service.states.spec import StateIn

FACT = "Harry Potter|studied at|Hogwarts School of Witchcraft and Wizardry"
EXACT = ("likelihood", "likelihood_norm")


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


@pytest.fixture(scope="module")
def edit(walk: Walk) -> Score:
    return walk.score("rome", seed=0)


def posted(walk: Walk, after: str, **changes: object) -> ComparisonIn:
    base = walk.model.source
    values: dict[str, object] = {
        "base": StateIn(model=base),
        "states": [f"{base}{after}"],
        "graph": walk.graph,
        "samples": 5,
    }
    return ComparisonIn.model_validate(values | changes)


@pytest.fixture(scope="module")
def compared(walk: Walk, edit: Score) -> ComparisonOut:
    wanted = {"rewrites": [walk.rewrite.id], "forget": [FACT]}
    return compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", **wanted))


def test_an_edit_as_a_state_has_the_numbers_of_its_score(
    walk: Walk, edit: Score, compared: ComparisonOut
) -> None:
    request = next(each for each in compared.states[0].requests if each.kind == "replace")
    found = record.get_score(walk.runtime.db, request.edit)
    chat = ("efficacy_chat", "efficacy_plain")
    wanted = {(v.metric, v.measure, v.step): v for v in edit.values if v.metric not in chat}
    values = {(v.metric, v.measure, v.step): v for v in found.values}
    assert values.keys() == wanted.keys()
    for key, value in wanted.items():
        close = pytest.approx(value.value, abs=1e-6) if value.value is not None else None
        assert values[key].value == close, key
        assert values[key].n == value.n, key
    assert request.number("ifr", "likelihood") == found.number("ifr", "likelihood")


def test_the_exported_folder_of_an_edit_is_the_same_state(
    walk: Walk, edit: Score, compared: ComparisonOut, tmp_path: Path
) -> None:
    deltas.export_model(walk.runtime, [edit.edit], tmp_path / "edited")
    folder = StateIn(model=str(tmp_path / "edited"))
    asked = posted(walk, "", rewrites=[walk.rewrite.id]).model_copy(update={"states": [folder]})
    found = compare(walk.runtime, asked)
    assert found.states[0].after.digest == compared.states[0].after.digest
    assert found.states[0].before.digest == compared.states[0].before.digest
    for measure in EXACT:
        one, other = found.states[0].drift[measure].total, compared.states[0].drift[measure].total
        assert one.mean_moved == pytest.approx(other.mean_moved, abs=1e-6)


def test_an_edit_behind_a_server_that_scores_prompts_is_the_same_change(
    walk: Walk, edit: Score, compared: ComparisonOut
) -> None:
    """The server has a copy of the edited model; the first state is asked in this process."""
    with load_state(
        walk.runtime, posted(walk, f"+edit:{edit.edit}").states[0], NO_DATASET
    ) as state:
        served = deepcopy(cast("LoadedState", state).loaded.model)
    wanted = {"rewrites": [walk.rewrite.id], "samples": 0}
    with scoring(served, walk.model.loaded.tokenizer) as address:
        after = StateIn(model="edited", endpoint=address)
        asked = posted(walk, "", **wanted).model_copy(update={"states": [after]})
        found = compare(walk.runtime, asked)
    assert (found.states[0].after.kind, found.states[0].after.exact, found.states[0].same) == (
        "endpoint",
        True,
        False,
    )
    (request,) = found.states[0].requests
    for metric in ("ifr", "preservation", "efficacy", "subject_retention"):
        number = edit.number(metric, "likelihood")
        assert request.number(metric, "likelihood") == pytest.approx(number, rel=1e-3), metric
    one, other = (
        found.states[0].drift["likelihood"].total,
        compared.states[0].drift["likelihood"].total,
    )
    # A server that is not sampled has no own answers, so none is replaced.
    assert (one.kept, one.weakened + one.lost, one.replaced) == (
        other.kept,
        other.weakened + other.lost + other.replaced,
        0,
    )
    assert one.mean_moved == pytest.approx(other.mean_moved, abs=1e-5)


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref, "entity_sequences", ref.walked_sequences)


@pytest.mark.usefixtures("walking")
def test_every_number_equals_brute_force(walk: Walk, compared: ComparisonOut) -> None:
    assert [each.kind for each in compared.states[0].requests] == ["replace", "forget"]
    for each in compared.states[0].requests:
        score = record.get_score(walk.runtime.db, each.edit)
        for measure in ("likelihood", "p"):
            edges = stored_edges(walk.runtime.db, each.edit, measure)
            values = {(v.metric, v.step): v for v in score.values if v.measure == measure}
            same(values, expected(edges, score, measure, "rewrite"))
            case = ref.Case(each.subject, each.target_true, None, each.relation)
            routes = each.routes[measure].model_dump()
            chains = ref.chains(edges, case, 5, "exclude", walk=True)
            brute = states_reference.routes(chains, ref.KNOWN)
            assert {name: routes[name] for name in brute} == brute


def test_drift_is_that_of_the_facts(walk: Walk, compared: ComparisonOut) -> None:
    edges = stored_edges(walk.runtime.db, compared.states[0].id, "likelihood")
    assert len(edges) == compared.n_facts
    counts = states_reference.drift(edges, ["Harry Potter"])
    drift = compared.states[0].drift["likelihood"]
    assert drift.total.n == len(edges)
    for line in drift.by_relation:
        wanted = counts["relation", line.label]
        assert line.n == wanted["n"]
        for name in ("kept", "weakened", "replaced", "lost"):
            assert getattr(line, name) == wanted.get(name, 0), (line.label, name)
        assert line.mean_moved == pytest.approx(wanted["mean_moved"])
        assert line.median_change == pytest.approx(wanted["median_change"])
    assert drift.total.replaced > 0
    assert sum(line.n for line in drift.by_distance) == drift.total.n
    assert drift.by_distance[0].n == counts["distance", 0]["n"]
    assert drift.far is not None
    assert drift.far.n == counts["far", None]["n"] == sum(x.n for x in drift.by_distance[2:])
    moved = [line.mean_moved for line in drift.by_relation]
    assert moved == sorted(moved, key=lambda value: -(value or 0.0))


def test_the_same_weights_with_another_config_are_asked_and_named(
    walk: Walk, tmp_path: Path
) -> None:
    """A copy of the folder whose normalisation differs has the weights of the first."""
    folder = Path(shutil.copytree(walk.model.source, tmp_path / "other"))
    content = json.loads((folder / "config.json").read_text())
    content["layer_norm_epsilon"] = 0.5
    (folder / "config.json").write_text(json.dumps(content))
    asked = posted(walk, "").model_copy(
        update={"states": [StateIn(model=str(folder))], "samples": 0}
    )
    found = compare(walk.runtime, asked)
    assert not found.states[0].same
    assert (
        found.states[0].before.about["weights_digest"]
        == found.states[0].after.about["weights_digest"]
    )
    assert found.states[0].drift["likelihood"].total.mean_moved > 0.01
    assert "same weights" in found.notes[0]
    assert "layer_norm_epsilon 1e-05 -> 0.5" in found.notes[0]


def test_a_state_and_itself(walk: Walk) -> None:
    found = compare(walk.runtime, posted(walk, "", rewrites=[walk.rewrite.id]))
    assert found.states[0].same
    assert "the same model" in found.notes[0]
    (request,) = found.states[0].requests
    for measure in found.states[0].measures:
        assert request.number("ifr", measure) == 1
        assert request.number("preservation", measure) == 1
        total = found.states[0].drift[measure].total
        assert (total.weakened, total.lost, total.added, total.mean_moved) == (0, 0, 0, 0)
        routes = request.routes[measure]
        assert (routes.opened, routes.closed) == (0, 0)
        assert routes.before == routes.after


def test_a_graph_can_be_watched_without_any_request(walk: Walk, edit: Score) -> None:
    found = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}"))
    assert found.states[0].requests == []
    assert found.states[0].drift["likelihood"].by_distance == []
    assert found.states[0].drift["likelihood"].total.n == found.n_facts


def test_the_same_again_is_found_and_deleting_leaves_what_others_scored(
    walk: Walk, edit: Score, compared: ComparisonOut
) -> None:
    db = walk.runtime.db
    wanted = {"rewrites": [walk.rewrite.id], "forget": [FACT]}
    again = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", **wanted))
    assert again.reused
    assert again.id == compared.id
    one = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", rewrites=[walk.rewrite.id]))
    assert one.id != compared.id
    (shared,) = [each.edit for each in one.states[0].requests]
    assert shared in {each.edit for each in compared.states[0].requests}
    assert {c.id for c in COMPARISON.store.page(db, edit=shared)} >= {one.id, compared.id}
    COMPARISON.store.delete(db, walk.runtime.settings, one.id)
    assert record.get_score(db, shared).kind == "replace"
    assert not db.read(rows.GraphRow, "graph/get_graph", graph=one.id)
    with pytest.raises(NotFoundError, match="comparison"):
        COMPARISON.store.get(db, one.id)


def test_the_same_again_loads_no_model(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = posted(walk, f"+edit:{edit.edit}", rewrites=[walk.rewrite.id], max_steps=3)
    first = compare(walk.runtime, asked)
    file = deltas.path_of(walk.runtime.settings, edit.edit)
    stat = file.stat()
    loaded: list[str] = []
    only = Runtime.only_model
    monkeypatch.setattr(
        Runtime, "only_model", lambda self, *a, **o: (loaded.append(a[0]), only(self, *a, **o))[1]
    )
    again = compare(walk.runtime, asked)
    assert (again.id, again.reused, loaded) == (first.id, True, [])
    # Of a file that was written since, the digest decides; the next time it is known again.
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    again = compare(walk.runtime, asked)
    assert (again.id, again.reused, len(loaded)) == (first.id, True, 2)
    assert compare(walk.runtime, asked).reused
    assert len(loaded) == 2
    assert not compare(walk.runtime, asked.model_copy(update={"force": True})).reused


def test_a_comparison_whose_edit_was_deleted_is_done_again(walk: Walk, edit: Score) -> None:
    asked = posted(walk, f"+edit:{edit.edit}", rewrites=[walk.rewrite.id], max_steps=2)
    first = compare(walk.runtime, asked)
    assert compare(walk.runtime, asked).reused
    record.delete(walk.runtime.db, first.states[0].requests[0].edit)
    again = compare(walk.runtime, asked)
    assert not again.reused
    assert again.id == first.id
    assert record.get_score(walk.runtime.db, first.states[0].requests[0].edit).kind == "replace"
    walk.runtime.db.autocommit(int, "graph/delete_graph", graph=first.id)
    assert not compare(walk.runtime, asked).reused


def test_chains_of_a_comparison_are_read_like_those_of_an_edit(
    walk: Walk, compared: ComparisonOut
) -> None:
    score = record.get_score(walk.runtime.db, compared.states[0].requests[0].edit)
    assert score.method == f"compare:{compared.states[0].after.name}"
    assert score.model == compared.states[0].before.name
    found = metrics.chain_rows(walk.runtime.db, score, "likelihood", surviving=True)
    assert len(found) == score.number("active_chains", "likelihood")


def test_a_lora_of_the_same_update_is_the_same_change(
    walk: Walk, edit: Score, compared: ComparisonOut, tmp_path: Path
) -> None:
    effect = load(deltas.find(walk.runtime, edit.edit)).effect
    loaded = walk.runtime.model(walk.model.source, walk.graph).loaded
    write_effect(loaded.model, effect, tmp_path / "lora")
    asked = posted(walk, f"+adapter:{tmp_path / 'lora'}", rewrites=[walk.rewrite.id], samples=0)
    found = compare(walk.runtime, asked)
    assert found.states[0].after.kind == "adapter"
    wanted = {(v.metric, v.measure): v.value for v in compared.states[0].requests[0].values}
    for value in found.states[0].requests[0].values:
        same_value = pytest.approx(wanted[value.metric, value.measure], abs=1e-6)
        assert value.value == same_value, value.metric
    total = compared.states[0].drift["likelihood"].total
    assert found.states[0].drift["likelihood"].total.mean_moved == pytest.approx(
        total.mean_moved, abs=1e-6
    )


def test_another_tokenizer_is_said_and_answers_are_compared_by_their_text(
    walk: Walk, tmp_path: Path
) -> None:
    saved_model(tmp_path / "tiny")
    other = StateIn(model=str(tmp_path / "tiny"))
    asked = posted(walk, "", samples=0).model_copy(update={"states": [other]})
    found = compare(walk.runtime, asked)
    assert "different tokenizers" in " ".join(found.notes)
    total = found.states[0].drift["likelihood"].total
    assert total.replaced + total.lost > 0.9 * found.n_facts


def test_nothing_is_stored_once_the_lease_belongs_to_another(walk: Walk, edit: Score) -> None:
    db = walk.runtime.db
    before = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs")}
    asked = posted(walk, f"+edit:{edit.edit}", forget=[FACT], seed=9)
    with pytest.raises(LeaseLostError):
        compare(walk.runtime, asked, work=Work(lease=Lease("a token of another", 1)))
    left = [row for row in db.read(rows.GraphRow, "graph/list_graphs") if row.graph not in before]
    assert {row.kind for row in left} <= {"model"}, "answers of a state stay, and nothing else"
    assert all(out.request["seed"] != 9 for out in COMPARISON.store.page(db, graph=walk.graph))


@pytest.mark.parametrize(
    ("stopped", "left"),
    [(JobInterrupt(cancelled=True), 0), (UsageError("no"), 0), (JobInterrupt(cancelled=False), 2)],
)
def test_a_job_that_ends_without_a_result_leaves_no_graph(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch, stopped: BaseException, left: int
) -> None:
    """The graphs of a job that is queued again stay, as it writes the same."""
    db, token = walk.runtime.db, new_token()
    job = f"{walk.graph}-job-{token[:8]}"
    with db._session("WRITE") as session:
        session.run(
            "CREATE (:Job {id: $id, kind: 'comparison', status: 'queued', graph: $graph})",
            id=job, graph=walk.graph,
        ).consume()  # fmt: skip
    (begun,) = db.write(
        rows.BeginJobRow, "jobs/begin", id=job, lease=token, lease_ms=60_000, stage="s",
        progress=0.0, event=event("running", "s"),
    )  # fmt: skip
    before = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)}

    def interrupted(*_: object) -> None:
        if isinstance(stopped, JobInterrupt) and stopped.cancelled:
            queue.cancel_all(db, [job], "comparison")
        raise stopped

    asked = posted(walk, f"+edit:{edit.edit}", forget=[FACT], seed=12)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "measure_each", interrupted)
        with pytest.raises(type(stopped)):
            compare(walk.runtime, asked, work=Work(lease=Lease(token, begun.attempt)))
    now = [row for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
           if row.graph not in before and row.kind == "edit"]  # fmt: skip
    assert len(now) == left
    for row in now:
        db.autocommit(int, "graph/delete_graph", graph=row.graph)
    db.write(int, "jobs/delete", id=job)


def test_a_command_that_is_interrupted_leaves_no_graph_without_a_record(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = walk.runtime.db
    before = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)}
    written: list[set[str]] = []

    def interrupted(*_: object) -> None:
        now = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="edit")}
        written.append(now - before)
        raise KeyboardInterrupt

    asked = posted(walk, f"+edit:{edit.edit}", forget=[FACT], seed=11)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "measure_each", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare(walk.runtime, asked)
    assert len(written[0]) == 2, "one of the comparison, and one of its request"
    left = [row for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
            if row.graph not in before]  # fmt: skip
    assert {row.kind for row in left} <= {"model"}
    # The same comparison again is whole, and an interrupted one of it leaves what is recorded.
    whole = compare(walk.runtime, asked)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "measure_each", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare(walk.runtime, asked.model_copy(update={"force": True}))
    assert COMPARISON.store.find(db, whole.id) is not None
    assert db.read(rows.GraphRow, "graph/get_graph", graph=whole.states[0].id)


def test_models_in_memory_are_compared_and_left_as_they_were(walk: Walk, edit: Score) -> None:
    loaded = walk.runtime.model(walk.model.source, walk.graph).loaded
    before = walk.digest()
    memory = InMemory(loaded.model, loaded.tokenizer, "mine")
    asked = posted(walk, "")
    named = StateIn(model="mine in memory")  # as a session names them: no files are read
    asked = asked.model_copy(update={"base": named, "states": [named]})
    found = compare(walk.runtime, asked, memory=(memory, memory))
    assert (found.states[0].before.kind, found.states[0].same) == ("memory", True)
    assert walk.digest() == before
