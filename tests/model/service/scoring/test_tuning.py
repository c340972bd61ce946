"""`model tune` on an organism: what it stores is what scores of the same facts measure."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.editing.hparams.common import OF_THE_CORPUS
from thinkeval.editing.models import weights_digest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import EditOptions, Score
from thinkeval.service.scoring import tuning
from thinkeval.service.scoring.hyperparameters import Tuned, tuned_path
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 0) as walk:
        yield walk


@pytest.fixture
def mine(walk: Walk, tmp_path: Path) -> Iterator[Runtime]:
    """A runtime with a home of its own: what it tunes is found by no other test."""
    with Runtime(walk.runtime.settings.model_copy(update={"home": tmp_path})) as mine:
        yield mine


def options(walk: Walk, **changes: Any) -> EditOptions:
    values: dict[str, Any] = {"graph": walk.graph, "model": walk.model.source, "samples": 0}
    return EditOptions(**values | changes)


def tuned(mine: Runtime, walk: Walk, method: str, **how: Any) -> tuple[tuning.Plan, Tuned]:
    planned = tuning.plan(mine, options(walk), [method], {})
    return planned, tuning.tune(mine, planned, method, **how)


def scored(mine: Runtime, planned: tuning.Plan, method: str, **changes: Any) -> list[Score]:
    return [
        score_edit(mine, ScoreRequest.of(rewrite, planned.options, method=method, **changes))
        for rewrite in planned.rewrites
    ]


def efficacy(scores: list[Score]) -> list[float]:
    return [score.number("efficacy", "likelihood") or 0.0 for score in scores]


def plain(values: Any) -> Any:
    """The values as JSON has them."""
    return json.loads(json.dumps(values))


def without_corpus(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in OF_THE_CORPUS}


def kept_around(mine: Runtime, scores: list[Score]) -> float:
    """The mean over edits of min(r, 1/r) of known neighbours, by the answers that they stored."""
    means = []
    for score in scores:
        ends, found = {score.subject, score.target_true}, []
        for row in mine.db.read(rows.FactRow, "graph/facts", graph=score.edit):
            pre, post = row.likelihood_pre or 0.0, row.likelihood_post
            own = (row.subject, row.relation) == (score.subject, score.relation)
            near = bool(ends & {row.subject, row.object}) and not own
            if near and post is not None and pre >= tuning.KNOWN:
                found.append((-pre, row.fact, min(post / pre, pre / post)))
        ratios = [ratio for *_, ratio in sorted(found)[: tuning.AROUND]]
        means += [fmean(ratios)] if ratios else []
    return fmean(means)


@pytest.mark.parametrize("method", ["fine_tuning", "memit"])
def test_scores_find_the_tuned_setting_and_measure_the_same(
    mine: Runtime, walk: Walk, method: str
) -> None:
    before = walk.digest()
    planned, found = tuned(mine, walk, method)
    assert weights_digest(mine.model(walk.model.source, walk.graph).loaded.model) == before
    assert found.reached
    assert found.edits <= tuning.EDITS
    scores = scored(mine, planned, method)
    for score in scores:
        assert plain(score.provenance["hparams"]) == without_corpus(found.values)
        assert score.provenance["hparams_notice"] == found.notice
    values, n = efficacy(scores), tuning.FACTS
    assert found.efficacy == pytest.approx(fmean(values[:n]), abs=1e-5)
    assert found.least == pytest.approx(min(values[:n]), abs=1e-5)
    assert found.held_out == pytest.approx(values[n:], abs=1e-5)
    kl = [score.side_effects.kl for score in scores[:n] if score.side_effects.kl is not None]
    assert found.kl == pytest.approx(fmean(kl), rel=1e-3)
    assert found.kept is not None
    assert found.kept == pytest.approx(kept_around(mine, scores[:n]), abs=1e-4)
    assert f"are tuned on {walk.graph}: efficacy" in found.notice
    assert tuned(mine, walk, method)[1] == found  # stored, not tuned again
    elsewhere = scored(walk.runtime, planned, method)[0]
    if elsewhere.edit != scores[0].edit:  # the values that ship may be those that were found
        assert "hparams_notice" not in elsewhere.provenance


def test_a_failure_is_used_only_with_anyway(
    mine: Runtime, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = itertools.chain([0.4, 0.45], itertools.repeat(0.4))
    monkeypatch.setattr(tuning, "measured", lambda *_: (tuning.Outcome(next(tried), 0.01), None))
    planned, found = tuned(mine, walk, "fine_tuning")
    assert not found.reached
    assert found.held_out == []
    expected = (
        "no setting reaches .9 without ruining the model: best efficacy .45 (n = 1), KL .010."
    )
    assert found.failure == expected
    first = ScoreRequest.of(planned.rewrites[0], planned.options, method="fine_tuning")
    (suggested, used) = (
        score_edit(mine, first.model_copy(update={"anyway": anyway})) for anyway in (False, True)
    )
    start = planned.starts["fine_tuning"].values.as_dict()
    assert plain(suggested.provenance["hparams"]) == plain(start)
    assert "--anyway uses that" in suggested.provenance["hparams_notice"]
    assert plain(used.provenance["hparams"]) == found.values
    assert "without success, and used by --anyway" in used.provenance["hparams_notice"]


def test_an_interrupted_search_stores_the_best_so_far_or_nothing(
    mine: Runtime, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def interrupted(*_: Any) -> tuple[tuning.Outcome, None]:
        nonlocal calls
        calls += 1
        if calls in (3, 10):
            raise KeyboardInterrupt
        return tuning.Outcome(0.95, 0.001), None

    monkeypatch.setattr(tuning, "measured", interrupted)
    planned = tuning.plan(mine, options(walk), ["fine_tuning"], {})
    with pytest.raises(KeyboardInterrupt):
        tuning.tune(mine, planned, "fine_tuning")
    content = datasets.dataset(mine.db, walk.graph).digest
    path = tuned_path(mine.settings, "fine_tuning", walk.model.loaded.info.digest, content)
    assert not path.exists()
    found = tuning.tune(mine, planned, "fine_tuning")
    assert found.interrupted
    assert not found.reached
    assert "interrupted before facts that are held out were edited" in found.failure
    assert found.held_out == []
    assert path.is_file()
    again = tuning.tune(mine, planned, "fine_tuning")
    assert not again.interrupted


def test_a_graph_of_which_the_model_knows_too_little(
    mine: Runtime, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "KNOWN", 1.1)
    with pytest.raises(UsageError, match=r"knows 0 facts of .* tuning needs 7"):
        tuning.plan(mine, options(walk), ["rome"], {})
