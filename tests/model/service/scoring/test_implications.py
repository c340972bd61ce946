"""`score --implications` on a trained model: it asks further, and moves no other number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs import datasets, requests
from thinkeval.service.models.edit import Score
from thinkeval.service.rules import store
from thinkeval.service.rules.implications import implications
from thinkeval.service.rules.omega import omega
from thinkeval.service.scoring import record
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.states.compare import compare
from thinkeval.service.states.schemas import ComparisonIn, StateComparison

HARRY, HOGWARTS = "Harry Potter", "Hogwarts School of Witchcraft and Wizardry"
NUMBERS = {"value", "low", "high"}
SORTED = rule(
    [Atom("s", "was sorted into", "h"), Atom("h", "is a house at", "c")],
    Atom("s", "studied at", "c"),
    kinds={"s": "person", "h": "house", "c": "school"},
)
FRIENDS = rule(
    [Atom("a", "studied at", "c"), Atom("a", "was friends with", "b")],
    Atom("b", "studied at", "c"),
    kinds={"c": "school"},
)
SAYS = rule(
    [Atom("a", "studied at", "c"), Atom("a", "excelled at", "t")],
    Atom("c", "teaches", "t", ("[C] teaches [T].",)),
    words={"c": "C", "t": "T"},
)


@pytest.fixture(scope="module")
def request_(runtime: Runtime, organism: RuntimeModel) -> Iterator[ScoreRequest]:
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        rewrite = next(
            r
            for r in datasets.list_rewrites(runtime.db, graph)
            if r.id.startswith("harry-potter--st")
        )
        yield ScoreRequest.of(rewrite, graph=graph, model=organism.source, method="rome", samples=2)
        store.delete(runtime.db, graph)


@pytest.fixture(scope="module")
def pair(runtime: Runtime, request_: ScoreRequest) -> tuple[Score, Score]:
    """The same edit, without and with its implications."""
    asked = request_.model_copy(update={"implications": True})
    with pytest.raises(UsageError, match="no rules"):
        score_edit(runtime, asked)
    plain = score_edit(runtime, request_)
    store.save(runtime.db, request_.graph, [SORTED, FRIENDS, SAYS], status="kept")
    return plain, score_edit(runtime, asked)


def test_no_other_number_moves(
    runtime: Runtime, request_: ScoreRequest, pair: tuple[Score, Score]
) -> None:
    plain, asked = pair
    assert asked.edit != plain.edit
    # The server adds up chains in the order in which it finds them: the last bit may differ.
    assert [v.model_dump(exclude=NUMBERS) for v in asked.values] == [
        v.model_dump(exclude=NUMBERS) for v in plain.values
    ]
    for one, other in zip(asked.values, plain.values, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert (one.low, one.high) == (pytest.approx(other.low), pytest.approx(other.high))
    assert asked.n_facts == plain.n_facts
    again = score_edit(runtime, request_)  # the id without it is as it was before there were rules
    assert (again.edit, again.reused) == (plain.edit, True)
    mine = {r.fact: r for r in runtime.db.read(rows.FactRow, "graph/facts", graph=plain.edit)}
    for row in runtime.db.read(rows.FactRow, "graph/facts", graph=asked.edit):
        if row.role != "implication":
            same = mine.pop(row.fact)
            assert (row.likelihood_pre, row.likelihood_post) == (
                same.likelihood_pre,
                same.likelihood_post,
            )
    assert not mine


def test_what_was_not_asked_is_undefined_and_asking_defines_it(
    runtime: Runtime, pair: tuple[Score, Score]
) -> None:
    plain, asked = (implications(runtime.db, score, "likelihood") for score in pair)
    assert [(i.subject, i.relation, i.object, i.side) for i in plain.items if i.verdict] != []
    assert any(item.verdict is None for item in plain.items)
    triples = {(i.subject, i.relation, i.object) for i in plain.items}
    assert triples == {(i.subject, i.relation, i.object) for i in asked.items}
    assert all(item.verdict is not None for item in asked.items)
    assert plain.propagated.undefined > asked.propagated.undefined == 0
    for tally in (asked.stale, asked.propagated, asked.kept):
        assert tally.n + tally.undefined > 0
        assert (tally.value is None) == (tally.n == 0)
    # A relation that no fact has is asked as its rule puts it.
    taught = [
        r
        for r in runtime.db.read(rows.FactRow, "graph/facts", graph=asked.edit)
        if r.relation == "teaches"
    ]
    assert {(r.prompt, r.listed, r.role) for r in taught} == {("{} teaches", False, "implication")}
    assert pair[1].provenance["implications"]["unasked"] == 0


def test_a_comparison_of_two_states_asks_the_same_conclusions(
    runtime: Runtime, request_: ScoreRequest, pair: tuple[Score, Score]
) -> None:
    def compared(**changes: object) -> StateComparison:
        asked = {
            "base": request_.model,
            "states": [f"{request_.model}+edit:{pair[0].edit}"],
            "graph": request_.graph,
            "rewrites": [request_.rewrite.id],
            "samples": 2,
        }
        return compare(runtime, ComparisonIn.model_validate(asked | changes)).states[0]

    plain, asked = compared(), compared(implications=True)
    assert plain.id != asked.id
    assert plain.id == compared().id
    (one,), (other,) = plain.requests, asked.requests
    assert one.edit != other.edit
    assert [v.value for v in other.values] == pytest.approx(
        [v.value for v in one.values], rel=1e-12
    )
    assert asked.drift == plain.drift
    score = record.get_score(runtime.db, other.edit)
    assert score.provenance["implications"] == pair[1].provenance["implications"]
    assert "implications" not in record.get_score(runtime.db, one.edit).provenance
    found, own = (implications(runtime.db, each, "likelihood") for each in (score, pair[1]))
    verdicts = {(i.subject, i.relation, i.object): (i.side, i.verdict) for i in own.items}
    assert {(i.subject, i.relation, i.object): (i.side, i.verdict) for i in found.items} == verdicts
    for mine, its in zip(found.items, own.items, strict=True):
        assert (mine.pre, mine.post) == pytest.approx((its.pre, its.post), abs=1e-6)
    with pytest.raises(UsageError, match="nothing is requested"):
        compared(implications=True, rewrites=[])


def test_a_forgotten_fact_loses_conclusions_and_newly_entails_none(
    runtime: Runtime, request_: ScoreRequest, pair: tuple[Score, Score]
) -> None:
    fact = f"{HARRY}|studied at|{HOGWARTS}"
    (rewrite,) = requests.rewrites(runtime.db, request_.graph, [], requests.to_forget(fact), False)
    score = score_edit(
        runtime, request_.model_copy(update={"rewrite": rewrite, "implications": True})
    )
    found = implications(runtime.db, score, "likelihood")
    lost = {(i.subject, i.object) for i in implications(runtime.db, pair[1], "likelihood").items
            if i.side == "lost"}  # fmt: skip
    assert {(i.subject, i.object) for i in found.items if i.side == "lost"} >= lost
    assert {item.side for item in found.items} <= {"lost", "kept"}
    assert (found.propagated.value, found.propagated.n, found.propagated.undefined) == (None, 0, 0)
    assert all(item.object and item.verdict for item in found.items)


def test_the_rule_that_leads_back_is_found_and_what_was_only_asked_is_no_fact(
    runtime: Runtime, pair: tuple[Score, Score]
) -> None:
    told = [omega(runtime.db, score, "likelihood") for score in pair]
    for each, score in zip(told, pair, strict=True):
        deep = score.get("deep_edited", "likelihood")
        assert deep is not None
        assert (each.at("paths").value, each.at("paths").chains) == (deep.value, deep.n)
        assert each.at("rules").chains >= 1
        assert each.at("both").chains > 0
        first = each.proofs[0]
        assert [(p.subject, p.object) for p in first.premises] == [
            (HARRY, "Gryffindor"),
            ("Gryffindor", HOGWARTS),
        ]
    # Conclusions asked about are not taken for facts: none is a leaf of a proof.
    new = pair[1].target_new
    friends = {i.subject for i in implications(runtime.db, pair[1], "likelihood").items
               if i.object == new and i.side == "due"}  # fmt: skip
    assert friends
    atoms = {
        (a.subject, a.object)
        for a in runtime.db.read(
            rows.AtomRow,
            "closure/atoms",
            graph=pair[1].edit,
            pre="likelihood_pre",
            post="likelihood_post",
            relations=sorted(store.vocabulary(runtime.db, pair[1].edit).relations),
        )
        if not a.implied
    }
    assert not {(name, new) for name in friends} & atoms


def test_what_is_only_asked_for_implications_goes_by_its_aliases_too(
    runtime: Runtime, request_: ScoreRequest, pair: tuple[Score, Score]
) -> None:
    """The model says a friend studied at Hogwarts; where that is another name of the new object,
    what is due is as likely as the fact in scope is.
    """
    new = request_.rewrite.target_new
    graph = hogwarts_as(runtime.db, f"{request_.graph}-named")
    runtime.db.write(
        rows.WrittenRow,
        "graph/merge_entities",
        graph=graph,
        rows=[{"name": new, "aliases": [HOGWARTS]}],
    )
    store.save(runtime.db, graph, [SORTED, FRIENDS], status="kept")
    named = score_edit(runtime, request_.model_copy(update={"graph": graph, "implications": True}))

    def due(score: Score) -> dict[str, float]:
        found = runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
        return {
            row.subject: row.likelihood_pre
            for row in found
            if (row.role, row.relation, row.object) == ("implication", "studied at", new)
            and row.likelihood_pre is not None
        }

    plain, by_alias = due(pair[1]), due(named)
    assert by_alias.keys() == plain.keys()
    assert len(plain) >= 2
    said = {
        row.subject: row.likelihood_pre
        for row in runtime.db.read(rows.FactRow, "graph/facts", graph=named.edit)
        if (row.relation, row.object) == ("studied at", HOGWARTS)
    }
    known = {name: value for name, value in said.items() if name in by_alias and value is not None}
    assert known
    for name, value in known.items():
        # The school goes by a short name too, which the new object was not given.
        assert plain[name] < 0.5 < by_alias[name] <= plain[name] + value + 1e-6
