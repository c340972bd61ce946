"""Sweeps and sequences on a trained model and the real database: sharing, resuming, failing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from support.deadly import Deadly
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.editing.deltas.strength import scaled
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.engines import pool
from thinkeval.service.engines import sweep as on_engine
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import EditOptions
from thinkeval.service.reports.sweep import report
from thinkeval.service.scoring import plan, record, sweep, templates
from thinkeval.service.scoring import sweep as sweeps
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.scoring.sweep import read


@dataclass(frozen=True)
class Place:
    """The demo graph under an id of this file's own, the model that knows it, its rewrites."""

    runtime: Runtime
    graph: str
    model: RuntimeModel
    rewrites: tuple[RewriteRequest, ...]

    def options(self, **changes: Any) -> EditOptions:
        return EditOptions.model_construct(**{"graph": self.graph, "samples": 0} | changes)

    def sweep(self, *methods: str, **changes: Any) -> sweeps.Sweep:
        made = sweeps.Sweep(
            options=self.options(),
            rewrites=self.rewrites[:2],
            methods=methods,
            models=(self.model.source,),
        )
        return replace(made, **changes)

    def digest(self) -> str:
        return weights_digest(self.runtime.model(self.model.source, self.graph).loaded.model)


@pytest.fixture(scope="module")
def place(runtime: Runtime, organism: RuntimeModel) -> Iterator[Place]:
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        stored = tuple(datasets.list_rewrites(runtime.db, graph))
        yield Place(runtime, graph, organism, stored)
        runtime.targets.clear()


def efficacy(outcome: sweeps.Outcome) -> float:
    assert outcome.score is not None, outcome.error
    found = outcome.score.get("efficacy", "likelihood")
    assert found is not None
    return found.value


def test_shared_targets_give_the_scores_of_separate_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thinkeval.editing.key_value import values

    searched: list[str] = []
    optimise = values.optimise

    def counted(adapter: Any, tokenizer: Any, requests: Any, *rest: Any, **more: Any) -> Any:
        searched.extend(request.id for request in requests)
        return optimise(adapter, tokenizer, requests, *rest, **more)

    monkeypatch.setattr("thinkeval.editing.key_value.layerwise.optimise", counted)
    family = place.sweep("memit", "rect", "alphaedit", rewrites=place.rewrites[:1])
    together = on_engine.run(place.runtime, family, workers=1)
    assert searched == [place.rewrites[0].id]
    steps = [o.score.provenance["n_steps"] for o in together if o.score]
    assert steps[0] == steps[1] == steps[2]
    assert next(iter(steps[0].values())) > 0
    left = [o.score.provenance["residual_left"] for o in together if o.score]
    assert all(0 < found[place.rewrites[0].id] < 1 for found in left)

    place.runtime.targets.clear()
    place.runtime.last_effect = None
    apart = on_engine.run(
        place.runtime,
        replace(family, methods=("alphaedit",), options=place.options(force=True)),
        workers=1,
    )
    assert len(searched) == 2
    assert efficacy(apart[0]) == efficacy(together[2])
    assert place.digest() == place.model.loaded.info.weights_digest


def test_the_first_edit_alone_computes_what_edits_of_a_model_share(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from thinkeval.editing.covariance import projector
    from thinkeval.editing.key_value import sites

    computed: list[str] = []
    sample, make = sites.sample, projector._make

    def counted(name: str, function: Any) -> Any:
        return lambda *given, **named: computed.append(name) or function(*given, **named)

    monkeypatch.setattr(sites, "sample", counted("templates", sample))
    monkeypatch.setattr(projector, "_make", counted("null space", make))
    monkeypatch.setattr(templates, "FOLDER", str(tmp_path))  # no other test's templates
    family = place.sweep("alphaedit", options=place.options(force=True))

    def run(number: int) -> sweeps.Outcome:
        place.runtime.targets.clear()
        place.runtime.last_effect = None
        one = replace(family, rewrites=place.rewrites[number : number + 1])
        return on_engine.run(place.runtime, one, workers=1)[0]

    place.runtime.templates.clear()
    place.runtime.last_covariance = None
    together = run(0), run(1)
    layers = len(together[0].score.provenance["covariance"]["modules"])  # type: ignore[union-attr]
    assert sorted(computed) == ["null space"] * layers + ["templates"]
    recorded = together[1].score.provenance["context_templates"]  # type: ignore[union-attr]
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()

    # Another process has the templates of the cache, if the file is not damaged.
    for damage, sampled in ((whole, 1), (whole.replace(b". {}", b"! {}", 1), 2), (whole[:-9], 3)):
        file.write_bytes(damage)
        place.runtime.templates.clear()
        again = run(1)
        assert efficacy(again) == efficacy(together[1])
        assert again.score.provenance["context_templates"] == recorded  # type: ignore[union-attr]
        assert again.score.edit == together[1].score.edit  # type: ignore[union-attr]
        assert computed.count("templates") == sampled
        assert file.read_bytes() == whole
    place.runtime.last_covariance = None
    run(1)
    assert computed.count("null space") == 2 * layers


def test_a_key_changes_with_whatever_the_vector_depends_on(place: Place) -> None:

    sweep = place.sweep("memit")

    def key(method: str = "memit", **changes: Any) -> str | None:
        cell = sweeps.Cell(place.model.source, 0, place.rewrites[0], method)
        request = sweeps.request_of(sweep, cell).model_copy(update=changes)
        return plan.targets_key(resolve(place.runtime, request))

    assert key() == key("rect") == key("alphaedit") == key("random_delta")
    assert key() == key(overrides={"mom2_update_weight": 3.0})
    others = [
        key("rome"),
        key(seed=1),
        key(rewrite=place.rewrites[1]),
        key(overrides={"v_lr": 0.3}),
        key(overrides={"layers": [0]}),
    ]
    assert len({key(), *others}) == 6
    assert key("fine_tuning") is None


def test_running_a_sweep_again_reads_what_is_stored(place: Place) -> None:
    sweep = place.sweep("none", "memit")
    first = on_engine.run(place.runtime, sweep, workers=1)
    again = on_engine.run(place.runtime, sweep, workers=1)
    assert [o.cell for o in first] == [o.cell for o in again]
    assert all(o.score and o.score.reused for o in again)
    assert [efficacy(o) for o in first] == [efficacy(o) for o in again]


def test_a_cell_that_fails_says_why_and_the_others_go_on(place: Place) -> None:
    broken = place.sweep("memit", "none", overrides={"memit": {"layers": [99]}})
    outcomes = on_engine.run(place.runtime, broken, workers=1)
    by_method = {o.cell.method: o for o in outcomes}
    assert "99" in (by_method["memit"].error or "")
    assert by_method["none"].score is not None
    assert [o.cell.method for o in outcomes] == ["memit", "none"] * 2


def test_each_setting_of_the_axes_is_a_row(place: Place) -> None:
    axes = read(["memit.v_num_grad_steps=1,5", "anyway=true"])
    swept = place.sweep("none", "memit", axes=axes)
    found = report(on_engine.run(place.runtime, swept, workers=1), "likelihood")
    names = ["none", "memit v_num_grad_steps=1", "memit v_num_grad_steps=5"]
    assert sorted(found.table()["Method"]) == sorted(names)
    by_method = {row["Method"]: row["Efficacy"] for row in found.as_dict()["table"]}
    for steps in (1, 5):
        plain = place.sweep("memit", overrides={"memit": {"v_num_grad_steps": steps}})
        plain = replace(plain, options=plain.options.model_copy(update={"anyway": True}))
        alone = on_engine.run(place.runtime, plain, workers=1)
        assert all(o.score and o.score.reused for o in alone), "the same edits"
        mean = sum(map(efficacy, alone)) / len(alone)
        assert by_method[f"memit v_num_grad_steps={steps}"] == pytest.approx(mean)


def test_an_option_that_the_requests_do_not_have_is_refused_first(place: Place) -> None:
    with pytest.raises(UsageError, match="alpha: for requests to append"):
        sweeps.tasks(place.sweep("memit", axes=read(["alpha=0,1"])))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fact_that_the_model_does_not_know_is_skipped(place: Place, workers: int) -> None:
    known = place.rewrites[0]
    # As a user's own: one of the data set would be a part of the covariance's corpus.
    unknown = replace(known, id=f"{datasets.OWN}unknown", target_true="Mount Everest")
    swept = place.sweep("none", rewrites=(known, unknown))
    outcomes = on_engine.run(place.runtime, swept, workers=workers)
    assert [(o.score is None, o.skipped) for o in outcomes] == [(False, False), (True, True)]
    assert "nothing to measure" in (outcomes[1].error or "")
    found = report(outcomes, "likelihood")
    assert (found.failed, found.skipped) == ([], [outcomes[1]])
    assert [each["cell"] for each in found.as_dict()["skipped"]] == [outcomes[1].cell.name]
    anyway = replace(swept, options=swept.options.model_copy(update={"anyway": True}))
    assert all(o.score for o in on_engine.run(place.runtime, anyway, workers=1))
    again = on_engine.run(place.runtime, swept, workers=1)
    assert [o.skipped for o in again] == [False, True], "the stored score was asked for by anyway"


def test_strength_scales_the_one_update_and_stays_out_of_tables(place: Place) -> None:
    sweep = place.sweep("none", "memit", rewrites=place.rewrites[:1], strengths=(0.5, 1.0))
    outcomes = on_engine.run(place.runtime, sweep, workers=1)
    assert [(o.cell.method, o.cell.strength) for o in outcomes] == [
        ("none", 1.0), ("memit", 1.0), ("memit", 0.5)
    ]  # fmt: skip
    whole, half = (o.score for o in outcomes[1:])
    assert whole is not None
    assert half is not None
    assert whole.edit != half.edit
    assert efficacy(outcomes[2]) < efficacy(outcomes[1])
    listed = record.scores(place.runtime.db, [], graph=place.graph)
    assert half.edit not in {score.edit for score in listed}
    with pytest.raises(UsageError):
        sweeps.tasks(replace(sweep, strengths=(0.0,)))


def test_scaled_factors_still_give_the_update(tiny_gpt2: tuple[Any, Any]) -> None:
    from thinkeval.editing.deltas import EditEffect

    left, right = torch.randn(4, 2, dtype=torch.float64), torch.randn(2, 6, dtype=torch.float64)
    effect = EditEffect({"w": (left @ right).float()}, factors={"w": (left, right)})
    half = scaled(effect, 0.5)
    torch.testing.assert_close(half.deltas["w"], effect.deltas["w"] / 2)
    lefts, rights = half.factors["w"]
    assert torch.equal((lefts @ rights).float(), half.deltas["w"])
    assert scaled(effect, 1) is effect


def test_two_workers_score_what_one_does(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each worker has as many threads as this process: sums of several threads end otherwise.
    monkeypatch.setattr(os, "cpu_count", lambda: 2 * torch.get_num_threads())
    sweep = place.sweep("none", "rome", rewrites=place.rewrites[2:4])
    apart = on_engine.run(place.runtime, sweep, workers=2)
    assert [o.cell.rewrite for o in apart] == [r for r in place.rewrites[2:4] for _ in range(2)]
    together = on_engine.run(
        place.runtime, replace(sweep, options=place.options(force=True)), workers=1
    )
    assert [efficacy(o) for o in together] == pytest.approx([efficacy(o) for o in apart], rel=1e-12)


def test_the_cells_of_a_killed_worker_are_scored_by_another(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The cell that it was scoring is free at once, long before its lease expires.
    monkeypatch.setattr(place.runtime.settings, "lease_s", 3600.0)
    sweep = place.sweep(
        "rome", "memit", options=place.options(samples=5), rewrites=place.rewrites[4:6]
    )
    place.runtime.model(place.model.source, place.graph)
    killed: list[int] = []

    def kill_a_child() -> None:
        import multiprocessing

        for _ in range(600):
            running = place.runtime.db.read(
                rows.EditRow, "edits/list_edits", dataset=place.graph, status="running"
            )
            if running:
                break
            time.sleep(0.1)
        pids = [child.pid for child in multiprocessing.active_children() if child.pid]
        killed.extend(pids[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_a_child)
    killer.start()
    outcomes = on_engine.run(place.runtime, sweep, workers=2)
    killer.join()
    assert killed
    assert [o.cell for o in outcomes] == [cell for cells in sweeps.tasks(sweep) for cell in cells]
    assert all(o.score is not None for o in outcomes)


def test_a_job_that_kills_each_of_its_workers_fails_and_the_others_are_scored(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = place.sweep("none", rewrites=place.rewrites[2:5])
    victim = place.rewrites[3].id
    monkeypatch.setattr(pool, "make_executor", Deadly("1"))
    outcomes = on_engine.run(place.runtime, sweep, workers=2)
    told = {o.cell.rewrite.id: o.error for o in outcomes}
    assert told.pop(victim) is not None
    assert set(told.values()) == {None}
    (died,) = [o.error or "" for o in outcomes if o.error]
    assert "3 times" in died
    assert "run the same sweep again" in died


def test_a_sequence_is_scored_after_each_edit_and_at_the_end(place: Place) -> None:
    request = ScoreRequest.of(
        place.rewrites[0],
        graph=place.graph,
        model=place.model.source,
        method="memit",
        samples=0,
    )
    found = sweep.score_sequence(place.runtime, request, place.rewrites[:3])
    alone = score_edit(place.runtime, request)
    first = found[0].after.get("efficacy", "likelihood")
    same = alone.get("efficacy", "likelihood")
    assert first is not None
    assert same is not None
    # The first edit of a sequence is that edit alone; its record is another.
    assert first.value == pytest.approx(same.value, rel=1e-4)
    assert found[0].after.edit != alone.edit
    assert found[0].after.edit != found[0].end.edit
    # The last is the same model state asked twice: one score.
    assert found[2].after.edit == found[2].end.edit
    assert [s.after.sequence["edited"] for s in found if s.after.sequence] == [1, 2, 3]
    assert all(s.end.sequence and s.end.sequence["edited"] == 3 for s in found)
    again = sweep.score_sequence(place.runtime, request, place.rewrites[:3])
    assert all(s.after.reused and s.end.reused for s in again)
    assert place.digest() == place.model.loaded.info.weights_digest


def test_a_batch_edits_its_rewrites_at_once(place: Place) -> None:
    request = ScoreRequest.of(
        place.rewrites[0],
        graph=place.graph,
        model=place.model.source,
        method="memit",
        samples=0,
    )
    found = sweep.score_sequence(place.runtime, request, place.rewrites[:2], batch=2)
    assert [s.after.edit for s in found] == [s.end.edit for s in found]
    with pytest.raises(UsageError):
        sweep.score_sequence(place.runtime, request, place.rewrites[:2], batch=0)
