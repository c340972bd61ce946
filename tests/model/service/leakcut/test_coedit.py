"""Co-edits of the demo's rewrite: rounds, their figures against brute force, and resuming."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

import pytest

from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut import coedit
from thinkeval.service.leakcut import coedit as batch
from thinkeval.service.leakcut.coedit_kind import COEDIT
from thinkeval.service.leakcut.request import edit_cut
from thinkeval.service.models.edit import Score
from thinkeval.service.models.leakcut import CoEditIn, CoEditOut, CutIn
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 31) as walk:
        yield walk


def posted(walk: Walk, **changes: Any) -> CoEditIn:
    values = {
        "graph": walk.graph, "model": walk.model.source, "rewrite": walk.rewrite.id,
        "seed": walk.seed, "rounds": 2, "anchors": False, "choose": "budget",
    }  # fmt: skip
    return CoEditIn(**values | changes)


@pytest.fixture(scope="module")
def done(walk: Walk) -> CoEditOut:
    before = walk.digest()
    out = coedit.co_edit(walk.runtime, posted(walk), walk.rewrite)
    assert walk.digest() == before
    return out


def test_rounds_add_facts_that_are_installed_and_lower_ifr(done: CoEditOut) -> None:
    alone, first, second = done.rounds
    assert [row.facts for row in done.rounds] == [1, 2, 3]
    assert alone.coedits == []
    for row in (first, second):
        assert row.ifr is not None
        assert alone.ifr is not None
        assert row.ifr < 0.8 * alone.ifr
        assert row.reaches
        assert row.opened == 0
        for fact in row.coedits:
            assert fact.new_post is not None
            assert fact.old_post is not None
            assert fact.new_post > 0.5 > fact.old_post
    assert len({fact.target_new for fact in second.coedits} | {done.target_new}) == 3
    assert len({fact.subject for fact in second.coedits} | {done.subject}) == 3, "one a key"
    assert done.chosen in (1, 2)
    assert done.stopped == "2 rounds, the limit"


def test_what_is_tried_is_listed_as_what_else_to_edit(walk: Walk, done: CoEditOut) -> None:
    """The command and the button of an edit edit facts of its leak cut, and none beside them."""
    listed = [f.id for f in edit_cut(walk.runtime.db, alone(walk, done), "likelihood").facts]
    out = coedit.co_edit(walk.runtime, posted(walk, choose="listed"), walk.rewrite)
    tried = [fact.id for fact in out.rounds[-1].coedits]
    assert len(tried) == 2
    assert set(tried) <= set(listed)
    assert tried[0] == listed[0], "the first is the one that lowers IFR most"


def alone(walk: Walk, done: CoEditOut) -> Score:
    return record.get_score(walk.runtime.db, done.rounds[0].edit)


def facts_of(walk: Walk, edit: str) -> dict[str, rows.FactRow]:
    return {row.fact: row for row in walk.runtime.db.read(rows.FactRow, "graph/facts", graph=edit)}


def ratios(facts: Sequence[rows.FactRow]) -> list[float]:
    return [float(f.likelihood_post or 0) / float(f.likelihood_pre or 1) for f in facts]


def test_figures_equal_brute_force(walk: Walk, done: CoEditOut) -> None:
    for row in done.rounds:
        facts = facts_of(walk, row.edit)
        edited = {each.id for each in row.coedits}
        on_chains = [f for f in facts.values() if f.role in ("fact", "target_true")]
        context = [
            f for f in on_chains
            if f.subject != done.subject and f.fact not in edited and f.likelihood_pre
        ]  # fmt: skip
        assert row.n_preservation_unedited == len(context)
        both_ways = mean(min(r, 1 / r) for r in ratios(context))
        assert row.preservation_unedited == pytest.approx(both_ways, rel=1e-12)
        about = [
            f for f in on_chains
            if f.subject == done.subject and f.object != done.target_true
            and f.fact not in edited
        ]  # fmt: skip
        assert row.subject_retention == pytest.approx(mean(ratios(about)), rel=1e-12)
        assert row.n_subject_retention == len(about)
        subjects = {each.subject for each in row.coedits}
        beside = [
            f for f in facts.values()
            if f.subject in subjects and f.fact not in edited and f.role in ("fact", "context")
        ]  # fmt: skip
        assert row.n_coedited_retention == len(beside)
        if beside:
            assert row.coedited_retention == pytest.approx(mean(ratios(beside)), rel=1e-12)
        new = {f.object: f for f in facts.values() if f.role == "coedit"}
        assert {each.target_new: each.new_post for each in row.coedits} == {
            name: f.likelihood_post for name, f in new.items()
        }


def test_all_other_facts_about_a_co_edited_subject_are_probed(walk: Walk, done: CoEditOut) -> None:
    last = done.rounds[-1]
    stored = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=walk.graph)
    facts = facts_of(walk, last.edit)
    for each in last.coedits:
        assert {f.fact for f in stored if f.subject == each.subject} <= facts.keys()


def test_chains_are_the_same_in_every_round(walk: Walk, done: CoEditOut) -> None:
    """New facts and further facts about co-edited subjects open and close no chain."""
    assert len({row.n_chains for row in done.rounds}) == 1


def test_run_again_it_finds_its_rounds(
    walk: Walk, done: CoEditOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a round was edited again")

    monkeypatch.setattr(batch, "effect_of", refuse)
    monkeypatch.setattr(coedit, "effect_of", refuse)
    again = coedit.co_edit(walk.runtime, posted(walk), walk.rewrite)
    assert again.rounds == done.rounds
    assert COEDIT.store.result(walk.runtime.db, done.id).rounds == done.rounds
    assert [out.id for out in COEDIT.store.page(walk.runtime.db, edit=done.rounds[1].edit)] == [
        done.id
    ]
    alone = walk.score("memit", samples=0)
    assert (alone.edit, alone.reused) == (done.rounds[0].edit, True)


def test_an_interrupted_run_gives_the_same_numbers(walk: Walk, done: CoEditOut) -> None:
    """The last round computed anew, in a process that found no earlier vector."""
    last = done.rounds[-1]
    record.delete(walk.runtime.db, last.edit)
    walk.runtime.targets.clear()
    walk.runtime.last_effect = None
    again = coedit.co_edit(walk.runtime, posted(walk), walk.rewrite)

    def values(out: CoEditOut) -> list[Mapping[str, Any]]:
        # Probabilities are the same to the bit; a sum over them may differ in its order.
        rounds = [row.model_dump(exclude={"seconds", "coedits"}) for row in out.rounds]
        return [
            {n: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for n, v in row.items()}
            for row in rounds
        ]

    assert [row.coedits for row in again.rounds] == [row.coedits for row in done.rounds]
    assert [row.model_dump(exclude={"seconds", "coedits"}) for row in again.rounds] == values(done)


def test_anchors_keep_the_other_facts_of_a_co_edited_subject(walk: Walk, done: CoEditOut) -> None:
    out = coedit.co_edit(walk.runtime, posted(walk, rounds=1, anchors=None), walk.rewrite)
    alone, with_, without = *out.rounds, done.rounds[1]
    assert alone == done.rounds[0]
    assert with_.coedits[0].id == without.coedits[0].id
    assert with_.anchors == without.n_coedited_retention > 0 == without.anchors
    assert with_.coedited_retention is not None
    assert without.coedited_retention is not None
    assert with_.coedited_retention > 0.8 > 0.6 > without.coedited_retention
    assert with_.ifr is not None
    assert alone.ifr is not None
    assert with_.ifr < alone.ifr
    with pytest.raises(UsageError, match="joint target"):
        coedit.co_edit(walk.runtime, posted(walk, method="rome", anchors=True), walk.rewrite)


def test_one_after_the_other_with_rome(walk: Walk) -> None:
    out = coedit.co_edit(
        walk.runtime, posted(walk, method="rome", rounds=1, anchors=None), walk.rewrite
    )
    assert out.sequential
    assert len(out.rounds) == 2
    (fact,) = out.rounds[1].coedits
    assert fact.new_post is not None
    assert fact.new_post > 0.5


def test_locked_facts_are_never_edited(walk: Walk, done: CoEditOut) -> None:
    subjects = tuple(each.subject for each in done.rounds[-1].coedits)
    out = coedit.co_edit(
        walk.runtime, posted(walk, rounds=1, cut=CutIn(lock=subjects)), walk.rewrite
    )
    assert not {each.subject for each in out.rounds[-1].coedits} & set(subjects)


def test_a_given_object_is_used_or_refused(walk: Walk, done: CoEditOut) -> None:
    first = done.rounds[1].coedits[0]
    out = coedit.co_edit(
        walk.runtime, posted(walk, rounds=1, new={first.id: "Uagadou"}), walk.rewrite
    )
    (fact,) = out.rounds[1].coedits
    assert (fact.target_new, fact.source) == ("Uagadou", "given")
    with pytest.raises(UsageError, match="opens a chain"):
        coedit.co_edit(
            walk.runtime, posted(walk, rounds=1, new={first.id: "Gryffindor"}), walk.rewrite
        )
    with pytest.raises(UsageError, match="on no chain"):
        coedit.co_edit(walk.runtime, posted(walk, rounds=1, new={"x": "Uagadou"}), walk.rewrite)


def test_an_objective_ends_the_rounds(walk: Walk) -> None:
    out = coedit.co_edit(walk.runtime, posted(walk, objective="facts>=2"), walk.rewrite)
    assert (len(out.rounds), out.chosen, out.met) == (2, 1, True)
    assert out.stopped == "the objective is met"
    missed = coedit.co_edit(walk.runtime, posted(walk, objective="ifr<=0"), walk.rewrite)
    assert missed.met is False
    assert missed.chosen == 2


def test_refused_before_any_work(walk: Walk) -> None:
    for changes, words in (
        ({"method": "none"}, "control"),
        ({"strength": 0.5}, "strength"),
        ({"objective": "leak less"}, "no comparison"),
    ):
        with pytest.raises(UsageError, match=words):
            coedit.co_edit(walk.runtime, posted(walk, **changes), walk.rewrite)
