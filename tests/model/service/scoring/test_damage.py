"""Side effects of scored edits: by whole models, stored with the edit, without another id."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from statistics import fmean
from typing import Any

import neo4j
import pytest
import torch

from support.scored_walk import Walk, walked
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.files import load as saved
from thinkeval.editing.probe import batching
from thinkeval.editing.probe.own_samples import stored_samples
from thinkeval.service.models.edit import SideEffects
from thinkeval.service.reports.verdict import unrelated
from thinkeval.service.scoring import damage, deltas
from thinkeval.service.scoring.record import get_score
from thinkeval.service.scoring.request import posted
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


@torch.no_grad()
def by_hand(walk: Walk, edit: str, n: int) -> tuple[float, float]:
    """KL and perplexity ratio over the first n texts that do not name the subject."""
    loaded = walk.model.loaded
    samples = stored_samples(loaded, walk.runtime.settings.cache / "own-samples").beginnings(64)
    named = [walk.rewrite.subject in loaded.tokenizer.decode(text) for text in samples.texts]
    texts = [text for text, is_named in zip(samples.texts, named, strict=True) if not is_named][:n]
    before = copy.deepcopy(loaded.model).double()
    after = copy.deepcopy(loaded.model)
    effect = saved(deltas.path_of(walk.runtime.settings, edit)).effect
    with applied(after, effect):
        edited: Any = copy.deepcopy(after).double()
    divergence, nll = [], []
    for text in texts:
        ids = torch.tensor([[*samples.start, *text]])
        p, q = (model(ids).logits[0, :-1].log_softmax(-1) for model in (before, edited))
        divergence += (p.exp() * (p - q)).sum(-1).tolist()
        own = torch.tensor(text)[:, None]
        nll += (p.gather(1, own) - q.gather(1, own))[:, 0].tolist()
    return fmean(divergence), math.exp(fmean(nll))


def test_the_numbers_of_an_edit_are_those_of_two_whole_models(
    walk: Walk, server: dict[str, str]
) -> None:
    score = walk.score("rome", samples=0)
    found = score.side_effects
    assert found.kl is not None
    kl, ratio = by_hand(walk, score.edit, found.texts)
    assert found.kl == pytest.approx(kl, rel=1e-4)
    assert found.perplexity_ratio == pytest.approx(ratio, rel=1e-4)
    assert found.kl_low is not None
    assert found.kl_high is not None
    assert found.kl_low < found.kl < found.kl_high
    assert found.texts + found.excluded in (16, 32, 48, 64)
    assert found.tokens == 64 * found.texts
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        rows, _, _ = driver.execute_query(
            "MATCH (e:Edit {id: $id}) RETURN e.kl, e.perplexity_ratio, e.update_norm",
            id=score.edit,
        )
    assert list(rows[0]) == [found.kl, found.perplexity_ratio, found.update_norm]
    assert get_score(walk.runtime.db, score.edit).side_effects == found


def test_an_edit_that_changes_nothing_and_one_of_the_prompt(walk: Walk) -> None:
    none = walk.score("none", samples=0).side_effects
    assert (none.kl, none.perplexity_ratio, none.update_norm, none.texts) == (0, 1, None, 0)
    ike = walk.score("ike", samples=0).side_effects
    assert ike == SideEffects(reason=damage.OF_PROMPT, drift_reason=damage.SHOWN)


def test_without_side_effects_the_edit_is_the_same(walk: Walk) -> None:
    score = walk.score("fine_tuning", samples=0, side_effects=False)
    assert score.side_effects == SideEffects(reason=damage.OFF, drift_reason=damage.OFF)
    again = walk.score("fine_tuning", samples=0)
    assert (again.edit, again.reused) == (score.edit, True)
    assert "side_effects" not in posted(score)
    forced = walk.score("fine_tuning", samples=0, force=True)
    assert forced.edit == score.edit
    assert forced.side_effects.kl is not None


def test_a_random_update_grows_into_a_collapse(walk: Walk) -> None:
    words = []
    for strength in (10.0, 1.0):
        found = walk.score("random_delta", samples=0, strength=strength).side_effects
        words.append((unrelated(found).word, found.kl))
    (ten, large), (one, small) = words
    assert ten == "collapsed"
    assert one != "collapsed"
    assert large is not None
    assert small is not None
    assert large > 10 * small


def test_the_record_has_the_batches_and_what_rounding_keeps(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"samples": 0, "strength": 3e-4, "force": True}
    records = []
    for tokens in (512, 4096):
        monkeypatch.setattr(batching, "MAX_TOKENS", tokens)
        records.append(walk.score("random_delta", dtype="bfloat16", **asked).provenance)
    assert [each["likelihood_batch_tokens"] for each in records] == [512, 4096]
    kept = records[0]["rounding_kept"]
    assert isinstance(kept, float)
    assert kept < 0.95
    assert f"bfloat16 keeps {kept:.2f} of the update" in str(records[0]["rounding_notice"])
    assert "rounding_kept" not in walk.score("random_delta", **asked).provenance
