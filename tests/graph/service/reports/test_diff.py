"""The diff of two edits: against brute force, its own mirror, and against itself."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from support.edit_pairs import (
    after,
    random_options,
    random_sides,
    random_values,
    states,
    store_edit,
    survival,
)
from support.references.reference import Edge
from support.stored_edits import end_edit
from support.stored_graphs import set_properties
from thinkeval.cypher.errors import MissingProbabilityError
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.graphs.edges import became
from thinkeval.service.models.diff import Diff, FactDelta
from thinkeval.service.models.edit import MetricValue, ScoringOptions
from thinkeval.service.reports.diff import diff

SEEDS = range(10)


def mirrored(value: Any, *, negate: bool = False) -> Any:
    """A dumped diff with its sides exchanged, as the reverse diff should be."""
    if isinstance(value, list):
        return [mirrored(each) for each in value]
    if not isinstance(value, dict):
        return -value if negate and value is not None else value
    return {_other(key): mirrored(each, negate=key == "delta") for key, each in value.items()}


def _other(key: str) -> str:
    swapped = {"a": "b", "b": "a", "opened": "closed", "closed": "opened"}
    if key in swapped:
        return swapped[key]
    return key[:-1] + swapped[key[-1]] if key.endswith(("_a", "_b")) else key


def dumped(found: Diff) -> dict[str, Any]:
    return found.model_dump(mode="json", exclude={"notes"})


@pytest.mark.parametrize("seed", SEEDS)
def test_facts_chains_and_metrics_are_those_of_brute_force(
    db: Database, graph_id: str, seed: int
) -> None:
    random = Random(seed)
    edges = random_sides(random)
    options = [random_options(random) for _ in range(2)]
    values = [random_values(random) for _ in range(2)]
    a, b = f"{graph_id}-a", f"{graph_id}-b"
    for name, side, how, held in zip((a, b), edges, options, values, strict=True):
        store_edit(db, name, graph_id, side, how, held)

    found = diff(db, a, b)

    of_a, of_b = (states(side) for side in edges)
    both = of_a.keys() & of_b.keys()
    flipped = {
        key
        for key in both
        if of_a[key][0] != of_b[key][0] or (of_a[key][2] > 0.5) != (of_b[key][2] > 0.5)
    }
    told = {(f.subject, f.relation, f.object, f.prompt, f.role): f for f in found.facts.flipped}
    assert len(told) == len(found.facts.flipped)
    assert told.keys() == flipped
    for key, fact in told.items():
        assert (fact.change_a, fact.pre_a, fact.post_a) == of_a[key]
        assert (fact.change_b, fact.pre_b, fact.post_b) == of_b[key]
        assert fact.delta == of_b[key][2] - of_a[key][2]
    assert found.facts.shared == len(both)
    for lone, of, other in (
        (found.facts.only_a, of_a, of_b),
        (found.facts.only_b, of_b, of_a),
    ):
        alone = {(f.subject, f.relation, f.object, f.prompt, f.role): f for f in lone}
        assert alone.keys() == of.keys() - other.keys()
        assert all((f.change, f.pre, f.post) == of[key] for key, f in alone.items())

    alive_a, alive_b = (survival(*pair) for pair in zip(edges, options, strict=True))
    r_a, r_b = (after(*pair) for pair in zip(edges, options, strict=True))
    shared = alive_a.keys() & alive_b.keys()
    chains = found.chains
    assert chains is not None
    assert chains.shared == len(shared)
    opened = {tuple(c.entities): c for c in chains.opened}
    closed = {tuple(c.entities): c for c in chains.closed}
    assert opened.keys() == {c for c in shared if alive_b[c] and not alive_a[c]}
    assert closed.keys() == {c for c in shared if alive_a[c] and not alive_b[c]}
    for chain in (opened | closed).values():
        assert chain.r_post_a == pytest.approx(r_a[tuple(chain.entities)])
        assert chain.r_post_b == pytest.approx(r_b[tuple(chain.entities)])
        assert chain.steps == len(chain.entities) - 1
    assert (chains.surviving_a, chains.surviving_b) == (
        sum(alive_a.values()), sum(alive_b.values())
    )  # fmt: skip
    only = (alive_a.keys() - alive_b.keys(), alive_b.keys() - alive_a.keys())
    assert (chains.only_a, chains.only_b) == (len(only[0]), len(only[1]))
    assert chains.surviving_only_a == sum(alive_a[c] for c in only[0])
    assert chains.surviving_only_b == sum(alive_b[c] for c in only[1])

    by_key = [{(v.metric, v.step): v for v in held} for held in values]
    assert {(m.metric, m.step) for m in found.metrics} == by_key[0].keys() | by_key[1].keys()
    for metric in found.metrics:
        v_a, v_b = (held.get((metric.metric, metric.step)) for held in by_key)
        assert (metric.a, metric.n_a) == ((v_a.value, v_a.n) if v_a else (None, None))
        assert (metric.b, metric.n_b) == ((v_b.value, v_b.n) if v_b else (None, None))
        if v_a is None or v_b is None or (v_a.n == 0) != (v_b.n == 0):
            assert metric.delta is None
        else:
            assert metric.delta == v_b.value - v_a.value


def test_the_random_pairs_show_all_there_is_to_see() -> None:
    """Otherwise the comparison with brute force could be one of empty lists."""
    seen = {"flipped": 0, "opened": 0, "closed": 0, "only": 0}
    for seed in SEEDS:
        random = Random(seed)
        edges = random_sides(random)
        options = [random_options(random) for _ in range(2)]
        of_a, of_b = (states(side) for side in edges)
        alive = [survival(*pair) for pair in zip(edges, options, strict=True)]
        shared = alive[0].keys() & alive[1].keys()
        seen["opened"] += sum(alive[1][c] and not alive[0][c] for c in shared)
        seen["closed"] += sum(alive[0][c] and not alive[1][c] for c in shared)
        seen["only"] += len(alive[0].keys() ^ alive[1].keys())
        seen["flipped"] += sum(of_a[k][0] != of_b[k][0] for k in of_a.keys() & of_b.keys())
    assert min(seen.values()) > 5, seen


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_the_other_way_round_is_the_mirror_image(db: Database, graph_id: str, seed: int) -> None:
    random = Random(100 + seed)
    for name, side in zip("ab", random_sides(random), strict=True):
        store_edit(
            db, f"{graph_id}-{name}", graph_id, side, random_options(random), random_values(random)
        )
    there = diff(db, f"{graph_id}-a", f"{graph_id}-b")
    back = diff(db, f"{graph_id}-b", f"{graph_id}-a")
    assert dumped(back) == mirrored(dumped(there))
    assert len(back.notes) == len(there.notes)


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_against_itself_nothing_differs(db: Database, graph_id: str, seed: int) -> None:
    random = Random(200 + seed)
    side, _ = random_sides(random)
    values = random_values(random)
    store_edit(db, graph_id, graph_id, side, random_options(random), values)
    found = diff(db, graph_id, graph_id)
    assert found.empty
    assert (found.differences, found.facts.flipped) == ([], [])
    assert [m.delta for m in found.metrics] == [0.0] * len(values)
    assert found.facts.shared == len(side)
    assert found.chains is not None
    assert (found.chains.opened, found.chains.closed) == ([], [])


EDGES = [Edge("f", "s", "x", pre=1.0, post=1.0, relation="q"),
         Edge("g", "x", "o", pre=1.0, post=1.0, relation="q")]  # fmt: skip


def pair(db: Database, prefix: str, **of_b: Any) -> tuple[str, str]:
    """Two edits that are alike but for what is given of the second."""
    a, b = f"{prefix}-a", f"{prefix}-b"
    store_edit(db, a, prefix, EDGES)
    edges = of_b.pop("edges", EDGES)
    store_edit(db, b, of_b.pop("dataset", prefix), edges, **of_b)
    return a, b


def test_a_fact_flips_at_one_half_though_both_kept_it(db: Database, graph_id: str) -> None:
    a, b = f"{graph_id}-a", f"{graph_id}-b"
    store_edit(db, a, graph_id, [Edge("f", "s", "o", pre=0.51, post=0.51)])
    store_edit(db, b, graph_id, [Edge("f", "s", "o", pre=0.51, post=0.49)])
    (fact,) = diff(db, a, b).facts.flipped
    assert (fact.change_a, fact.change_b) == ("kept", "kept")
    assert fact.delta == pytest.approx(-0.02)


def test_facts_have_the_models_own_answers(db: Database, graph_id: str) -> None:
    a, b = f"{graph_id}-a", f"{graph_id}-b"
    store_edit(db, a, graph_id, [Edge("f", "s", "o", pre=0.9, post=0.9)])
    edges = [Edge("f", "s", "o", pre=0.9, post=0.2), Edge("g", "x", "o", pre=0.9, post=0.2)]
    store_edit(db, b, graph_id, edges)
    said = {"change": "replaced", "says_pre": "o", "says_post": "another"}
    set_properties(db, *({"id": f"{b}|{name}", **said} for name in "fg"))
    found = diff(db, a, b).facts
    (fact,) = found.flipped
    assert (fact.says_pre_a, fact.says_post_a) == (None, None)
    assert (fact.says_pre_b, fact.says_post_b) == ("o", "another")
    (lone,) = found.only_b
    assert (lone.says_pre, lone.says_post) == ("o", "another")
    assert became(fact.change_b, fact.says_post_b) == "replaced by another"


def test_a_chain_that_one_of_them_cuts(db: Database, graph_id: str) -> None:
    cut = [EDGES[0], Edge("g", "x", "o", pre=1.0, post=0.0, relation="q")]
    a, b = pair(db, graph_id, edges=cut)
    chains = diff(db, a, b).chains
    assert chains is not None
    assert [c.entities for c in chains.closed] == [["s", "x", "o"]]
    assert (chains.closed[0].r_post_a, chains.closed[0].r_post_b) == (1.0, 0.0)
    assert chains.opened == []


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("max_steps", ScoringOptions(max_steps=3)),
        ("threshold", ScoringOptions(threshold=0.2)),
        ("bare", ScoringOptions(bare="exclude")),
        ("unit", ScoringOptions(unit="record")),
    ],
)
def test_other_options_are_said(
    db: Database, graph_id: str, what: str, options: ScoringOptions
) -> None:
    found = diff(db, *pair(db, graph_id, options=options))
    assert [d.what for d in found.differences] == [what]
    assert found.notes[0].startswith(f"{what}: ")
    assert found.chains is not None


def test_the_default_threshold_is_the_same_as_its_value(db: Database, graph_id: str) -> None:
    found = diff(db, *pair(db, graph_id, options=ScoringOptions(threshold=0.0)))
    assert found.differences == []


def test_other_ends_leave_out_the_chains_and_say_so(db: Database, graph_id: str) -> None:
    found = diff(db, *pair(db, graph_id, rewrite="other", subject="x"))
    assert found.chains is None
    assert not found.empty
    assert [d.what for d in found.differences] == ["rewrite", "subject"]
    assert "Chains are not compared" in found.notes[1]
    assert found.facts.shared == 2


def test_other_rewrites_between_the_same_ends_keep_the_chains(db: Database, graph_id: str) -> None:
    found = diff(db, *pair(db, graph_id, rewrite="other", target_new="else"))
    assert [d.what for d in found.differences] == ["rewrite"]
    assert found.chains is not None
    assert found.chains.shared == 1


def test_what_the_scores_were_made_with_is_compared(db: Database, graph_id: str) -> None:
    made = {"probe": {"samples": 5, "ask": "cloze"}, "queries": {"metrics/ifr": "1"}}
    other = {"probe": {"samples": 20, "ask": "cloze"}, "queries": {"metrics/ifr": "2"}}
    for name, provenance in (("a", made), ("b", other)):
        store_edit(db, f"{graph_id}-{name}", graph_id, EDGES, provenance=provenance)
    probe, queries = diff(db, f"{graph_id}-a", f"{graph_id}-b").differences
    assert (probe.what, probe.a, probe.b) == ("probe", "samples 5", "samples 20")
    assert "metrics/ifr" in queries.note


def test_nothing_to_measure_has_no_delta(db: Database, graph_id: str) -> None:
    a, b = f"{graph_id}-a", f"{graph_id}-b"
    for name, n in ((a, 0), (b, 4)):
        value = MetricValue(metric="ifr", measure="p", value=0.0, n=n)
        store_edit(db, name, graph_id, EDGES, values=[value])
    found = diff(db, a, b)
    (metric,) = found.metrics
    assert (metric.a, metric.b, metric.delta, metric.n_a, metric.n_b) == (0.0, 0.0, None, 0, 4)
    assert not found.empty


def test_edits_of_different_data_sets_are_refused(db: Database, graph_id: str) -> None:
    a, b = pair(db, graph_id, dataset=f"{graph_id}-other")
    with pytest.raises(UsageError, match="share no facts") as caught:
        diff(db, a, b)
    assert "--graph" in caught.value.remedy


def test_a_measure_that_was_not_taken_is_refused(db: Database, graph_id: str) -> None:
    a, b = pair(db, graph_id)
    with pytest.raises(UsageError, match="not measured by 'likelihood'") as caught:
        diff(db, a, b, "likelihood")
    assert "Use p" in caught.value.remedy


def test_unknown_and_unscored_edits_are_refused(db: Database, graph_id: str) -> None:
    a, b = pair(db, graph_id)
    with pytest.raises(NotFoundError, match="Did you mean"):
        diff(db, a, f"{b}x")
    end_edit(db.write, b, "failed", error="why")
    with pytest.raises(NothingStoredError, match="failed"):
        diff(db, a, b)


def test_a_missing_probability_is_no_agreement(db: Database, graph_id: str) -> None:
    a, b = pair(db, graph_id)
    with pytest.raises(MissingProbabilityError):
        db.read(FactDelta, "diffs/facts", a=a, b=b, pre="likelihood_pre", post="likelihood_post")


def test_a_fact_held_twice_meets_its_like_only_once(db: Database, graph_id: str) -> None:
    twin = Edge("f2", "s", "x", pre=1.0, post=0.0, relation="q")
    a, b = pair(db, graph_id, edges=[*EDGES, twin])
    facts = diff(db, a, b).facts
    assert (facts.shared, len(facts.flipped)) == (2, 0)
    assert [(f.subject, f.post) for f in facts.only_b] == [("s", 0.0)]
