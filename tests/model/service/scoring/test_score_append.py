"""Scores of requests to append: probes, stored answers, metrics against brute force, the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch

from support.references.additivity import Asked, Column, of_edit
from support.scored_walk import Walk, walked
from support.stored_edits import probed, store_edit
from support.tiny_models import build_tiny
from thinkeval.cypher import rows
from thinkeval.editing.models import wrap
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.errors import NothingStoredError, UsageError
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import append, plan, record
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

ONLY_OF_REPLACING = {"ifr", "ifr_by_steps", "ifr_published", "active_chains", "subject_retention",
                     "efficacy_score", "specificity", "counterfact_score"}  # fmt: skip


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 11) as walk:
        yield walk


@pytest.fixture(scope="module")
def request_(walk: Walk) -> RewriteRequest:
    """Harry gets another friend."""
    return RewriteRequest(
        id="harry-potter--was-friends-with--luna-lovegood",
        dataset=walk.graph,
        prompt="{} was friends with",
        subject="Harry Potter",
        relation="was friends with",
        target_true="Hermione Granger",
        target_new="Luna Lovegood",
        paraphrases=("A friend of {} was",),
        neighborhood=("Ron Weasley was friends with", "Neville Longbottom was friends with"),
        neighborhood_objects=("Harry Potter", "Ginny Weasley"),
        correct=("Hermione Granger", "Neville Longbottom", "Ron Weasley", "Rubeus Hagrid"),
        hard=("Xenophilius Lovegood", "Ravenclaw", "Ginny Weasley", "Filius Flitwick"),
        random=("Herbology", "Keeper", "The Owlery"),
    )


@pytest.fixture(scope="module")
def scored(walk: Walk, request_: RewriteRequest) -> dict[str, Score]:
    before = walk.digest()
    variants: dict[str, dict[str, Any]] = {
        "none": {"method": "none"},
        "bare": {},
        "plus": {"append_loss": "all-answers"},
        "app": {"append_loss": "app", "alpha": 2.0, "beta": 2.0, "gamma": 2.0},
        "zero": {"append_loss": "app", "alpha": 0.0, "beta": 0.0, "gamma": 0.0},
    }
    found = {
        name: walk.score(**{"method": "rome", "samples": 0, "rewrite": request_} | changes)
        for name, changes in variants.items()
    }
    assert walk.digest() == before
    return found


def stored(walk: Walk, score: Score) -> list[Asked]:
    """The stored answers as brute force takes them."""

    def columns(row: rows.AppendAnswersRow, name: str) -> list[Column]:
        lists = (getattr(row, f"{name}{side}") for side in ("", "_pre", "_post"))
        return list(zip(*lists, strict=True))

    return [
        Asked(row.role, (row.new_pre, row.new_post), columns(row, "correct"), columns(row, "hard"),
              columns(row, "random"), (row.right_pre or 0, row.right_post or 0))
        for row in walk.runtime.db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
    ]  # fmt: skip


def numbers(score: Score) -> Mapping[str, tuple[float | None, int]]:
    return {v.metric: (v.value, v.n) for v in score.values if v.measure == append.MEASURE}


@pytest.mark.parametrize("name", ["none", "bare", "plus", "app"])
def test_values_are_those_of_brute_force_on_the_stored_answers(
    walk: Walk, scored: dict[str, Score], name: str
) -> None:
    score = scored[name]
    prompts, found = stored(walk, score), numbers(score)
    assert [x.role for x in prompts] == ["prompt", "paraphrase", "locality", "locality"]
    for wrong in ("hard", "random"):
        means = of_edit(prompts, wrong, ls_over="known")
        for metric in ("rff", "rnf", "fpc", "aff", "anf"):
            value, n = found[f"{metric}_{wrong}"]
            assert n == means.counts[metric]
            assert value == pytest.approx(means.values[metric])
        for metric, ours in (("cpc", "cpc"), *((m, f"append_{m}") for m in ("es", "gs", "ls"))):
            assert found[ours] == (pytest.approx(means.values[metric]), means.counts[metric])
    assert found["aff_hard"][1] > 0


def test_an_edit_that_changes_nothing_moves_nothing(scored: dict[str, Score]) -> None:
    found = numbers(scored["none"])
    for metric in ("aff_hard", "anf_hard", "aff_random", "anf_random", "rff_hard", "rnf_random"):
        assert found[metric][0] == 0
    assert found["append_es"] == (0, 1)
    assert found["append_ls"][0] == 1


def test_answers_are_appended_and_the_losses_do_what_they_say(scored: dict[str, Score]) -> None:
    none, bare, app = (numbers(scored[name]) for name in ("none", "bare", "app"))
    assert bare["append_es"] == (1, 1)
    # With APP the answer gains too, less than by the bare method: the losses hold the others.
    assert (none["efficacy"][0] or 0) < (app["efficacy"][0] or 0) < (bare["efficacy"][0] or 0)
    assert (app["aff_hard"][0] or 0) < (bare["aff_hard"][0] or 0)
    assert (app["cpc"][0] or 0) > (bare["cpc"][0] or 0)
    assert (numbers(scored["plus"])["cpc"][0] or 0) > (bare["cpc"][0] or 0)


def test_an_append_has_no_metric_of_an_old_fact(walk: Walk, scored: dict[str, Score]) -> None:
    names = {value.metric for value in scored["bare"].values}
    assert {"efficacy", "generalization", "preservation", "append_ls", "cpc"} <= names
    assert names & ONLY_OF_REPLACING == set()
    again = record.get_score(walk.runtime.db, scored["bare"].edit)
    assert {value.metric for value in again.values} == names, "read again, nothing is added"


def test_all_correct_answers_are_in_the_edit_graph(
    walk: Walk, scored: dict[str, Score], request_: RewriteRequest
) -> None:
    facts = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=scored["bare"].edit)
    true = {f.object: f for f in facts if f.role == "target_true"}
    assert set(true) == set(request_.correct)
    assert all(f.likelihood_post is not None for f in true.values())
    assert true["Hermione Granger"].listed
    (new,) = [f for f in facts if f.role == "target_new"]
    assert (new.object, new.listed) == ("Luna Lovegood", False)
    assert (new.likelihood_post or 0) > 0.5 > (new.likelihood_pre or 0)


def test_the_record_says_how_it_was_appended(scored: dict[str, Score]) -> None:
    app, bare = scored["app"].append, scored["bare"].append
    assert app is not None
    assert bare is not None
    assert (app.loss, app.alpha, app.neighbours, app.lists) == ("app", 2.0, "all", "all")
    assert (bare.loss, bare.alpha, bare.n_correct, bare.n_hard, bare.n_random) == (
        "none", None, 4, 4, 3
    )  # fmt: skip
    assert scored["app"].provenance["append"] == app.model_dump()
    assert len({score.edit for score in scored.values()}) == len(scored)
    assert scored["app"].kind == "append"


def test_weights_of_zero_leave_every_number_as_it_is(walk: Walk, scored: dict[str, Score]) -> None:
    assert stored(walk, scored["zero"]) == stored(walk, scored["bare"])


def test_published_weights_are_used_and_k_selects(walk: Walk, request_: RewriteRequest) -> None:
    score = walk.score("rome", samples=0, rewrite=request_, append_loss="app", neighbours="1",
                       app_lists="kept")  # fmt: skip
    assert score.append is not None
    assert (score.append.alpha, score.append.beta, score.append.gamma) == (0.2, 0.2, 0.1)
    assert (score.append.neighbours, score.append.lists) == ("1", "kept")
    request = walk.request("random_delta", samples=0, rewrite=request_, append_loss="app")
    assert request.append_loss == "app"


def test_scores_of_both_kinds_are_never_pooled(walk: Walk, scored: dict[str, Score]) -> None:
    db = walk.runtime.db
    with pytest.raises(NothingStoredError):
        record.scores_by(db, "likelihood", graph=walk.graph)
    assert record.scores(db, [], graph=walk.graph) == []
    facts = [probed(("a", "r", "b"), 0.5, 0.1, "target_true"),
             probed(("a", "r", "c"), 0.1, 0.9, "target_new", listed=False)]  # fmt: skip
    replaced = store_edit(db, f"{walk.prefix}-replaced", facts, dataset=walk.graph)
    assert [s.edit for s in record.scores(db, [], graph=walk.graph)] == [replaced.edit]
    found = [record.whole(row) for row in record.scored_rows(db, "append", graph=walk.graph)]
    assert {s and s.kind for s in found} == {"append"}
    assert {s and s.method for s in found} == {"none", "rome"}


def test_refused_before_any_work(walk: Walk, request_: RewriteRequest) -> None:
    with pytest.raises(UsageError, match="takes no further loss"):
        walk.score("kn", rewrite=request_, append_loss="app")
    with pytest.raises(UsageError, match="replaces one"):
        walk.score("rome", append_loss="app")


def test_mend_is_another_hypernetwork_with_app(walk: Walk, request_: RewriteRequest) -> None:
    """Nothing is trained here: what a plan would train is known before."""

    def planned(**changes: Any) -> plan.Plan:
        return plan.plan_edit(
            resolve(walk.runtime, walk.request("mend", rewrite=request_, **changes))
        )

    bare, app, half = planned(), planned(append_loss="app"), planned(append_loss="app", alpha=0.25)
    assert [each.resolved.hparams.app_alpha for each in (bare, app, half)] == [0, 0.5, 0.25]
    assert len({each.hypernetwork.key for each in (bare, app, half) if each.hypernetwork}) == 3
    assert app.append is not None
    assert (app.append.alpha, app.append.beta, app.append.gamma) == (0.5, 0, 0)
    assert append.of_request(app.resolved) is None


def test_a_sequence_passes_the_loss_on(walk: Walk, request_: RewriteRequest) -> None:
    from thinkeval.service.scoring.sweep import score_sequence

    options = walk.request("rome", samples=0, rewrite=request_, append_loss="app", alpha=2.0,
                           beta=2.0, gamma=2.0)  # fmt: skip
    single = walk.score("rome", samples=0, rewrite=request_, append_loss="app", alpha=2.0,
                        beta=2.0, gamma=2.0)  # fmt: skip
    (found,) = score_sequence(walk.runtime, options, [request_])
    for metric, (value, n) in numbers(single).items():
        assert numbers(found.after)[metric] == (pytest.approx(value, abs=1e-4), n)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_p_is_the_mean_loss_of_the_joined_text(architecture: str) -> None:
    model, tokenizer = build_tiny(architecture, seed=3)
    loaded = wrap(model, tokenizer, name=architecture)
    asked = [
        append.Prompt("prompt", "Harry Potter was", "the Seeker", ("a wizard", "it"), ("Ron",)),
        append.Prompt("locality", "Ron Weasley was", "the Seeker", right="the Keeper"),
    ]
    found = append.answers(loaded, asked)
    for prompt, each in zip(asked, found, strict=True):
        values = [each.new, *each.correct, *each.hard, *each.random]
        values += [] if each.right is None else [each.right]
        for name, value in zip(prompt.names, values, strict=True):
            assert value == pytest.approx(joined(model, tokenizer, prompt.text, name), rel=1e-5)


def joined(model: Any, tokenizer: Any, prompt: str, name: str) -> float:
    """exp(−loss) of the name's tokens in the joined text, in float64."""
    whole = tokenizer(f"{prompt} {name}")["input_ids"]
    start = len(tokenizer(prompt)["input_ids"])
    with torch.no_grad():
        logits = model.double()(torch.tensor([whole])).logits[0].log_softmax(-1)
    model.float()
    taken = [logits[i - 1, whole[i]] for i in range(start, len(whole))]
    return float(torch.stack(taken).mean().exp())
