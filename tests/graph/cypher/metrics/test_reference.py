"""Every chain query and metric against brute force, on random small graphs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.references import reference as ref
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, fact_ids, scalars, store
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import names
from thinkeval.cypher.run import Database

counter = itertools.count()


@st.composite
def graphs(draw: st.DrawFn) -> list[Edge]:
    """2 to 7 entities, sparse to dense; cycles, self-loops, parallel facts, zeros, edited facts.

    Which pairs get a fact is drawn from a seed: drawn one by one they are few, and chains short.
    """
    entities = ["s", "o", *"abcde"[: draw(st.sampled_from([4, 5, 5, 3, 2, 0]))]]
    density, repeated = draw(st.sampled_from([0.5, 0.3, 0.8])), draw(st.sampled_from([0.0, 0.3]))
    random = Random(draw(st.integers(0, 10**6)))
    pairs = [pair for pair in itertools.product(entities, repeat=2) if random.random() < density]
    pairs += [pair for pair in pairs if random.random() < repeated]
    zeros, scoped = draw(st.sampled_from([0.0, 0.1, 0.5])), draw(st.booleans())
    near = [0.05, 0.049999999999, 0.2, 0.1, 0.01, 0.5, 1.0]  # products are near .01 as well
    few = [[0.2, 0.5, 1.0], near, [0.04 * random.random() for _ in range(50)]]
    values = draw(st.sampled_from([*few, [random.random() for _ in range(50)]]))

    def chance() -> float:
        return 0.0 if random.random() < zeros else random.choice(values)

    edges = [
        Edge(
            id=f"f{random.randrange(10)}-{i}",
            subject=subject,
            object=object_,
            pre=chance(),
            post=chance(),
            relation=random.choice("rq"),
            cases=random.choice([(), ("w",), ("v", "w"), ("v",)]) if scoped else (),
            questions=random.choice([(), ("q1",), ("q1", "q2"), ("q3",)]),
            listed=random.random() < 0.5,
        )
        for i, (subject, object_) in enumerate(pairs)
    ]
    n_paraphrases, n_neighbors = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    for role, target in (("target_true", "o"), ("target_new", draw(st.sampled_from("xab")))):
        if draw(st.booleans()):
            edges.append(
                Edge(
                    id=role,
                    subject="s",
                    object=target,
                    pre=chance(),
                    post=chance(),
                    relation="edited",
                    role=role,
                    cases=random.choice([(), ("w",), ("v",)]) if scoped else (),
                    listed=draw(st.booleans()),
                    paraphrases_post=tuple(chance() for _ in range(n_paraphrases)),
                    neighborhood_post=tuple(chance() for _ in range(n_neighbors)),
                )
            )
    return edges


cases = st.builds(
    Case,
    subject=st.just("s"),
    object=st.just("o"),
    rewrite=st.sampled_from([None, "w"]),
    relation=st.sampled_from([None, "r", "edited"]),
)


@pytest.fixture
def place(graph_id: str):
    """Makes ids of graphs, a new one for each example."""
    return lambda: f"{graph_id}-{next(counter)}"


def by_step(found: list[rows.MetricRow]) -> dict[int | None, ref.Value]:
    return {row.step: ref.Value(row.value, row.n, row.excluded) for row in found}


def same(found: dict, expected: dict) -> None:
    assert list(found) == list(expected)
    for step, value in expected.items():
        if value.value is None:
            assert found[step].value is None, step
        else:
            assert found[step].value == pytest.approx(value.value, rel=1e-9, abs=1e-9), step
        assert (found[step].n, found[step].excluded) == (value.n, value.excluded), step


def expected_metrics(
    edges: list[Edge],
    case: Case,
    max_steps: int,
    bare: str,
    threshold: float,
    unit: str,
    parallel: str,
    rule: ref.Rule,
) -> dict[str, dict[int | None, ref.Value]]:
    of = ref.chains(edges, case, max_steps, bare, parallel=parallel)
    return {
        "metrics/ifr": {None: ref.ifr(of, rule)},
        "metrics/ifr_by_steps": dict(ref.ifr_by_steps(of, max_steps, rule)),
        "metrics/ifr_published": {None: ref.ifr_published(of, max_steps, rule)},
        "metrics/preservation": {None: ref.preservation(edges, case, max_steps, bare, unit, rule)},
        "metrics/preservation_symmetric": {
            None: ref.preservation_symmetric(edges, case, max_steps, bare, rule)
        },
        "metrics/efficacy_before": {None: ref.efficacy_before(edges, case)},
        "metrics/known_before": {None: ref.known_before(edges, case)},
        "metrics/subject_retention": {
            None: ref.subject_retention(ref.scope(edges, case, max_steps, bare), case, rule)
        },
        "metrics/ifr_beyond_subject": {None: ref.ifr_beyond_subject(of, case, rule)},
        "metrics/active_chains": ref.active(of, max_steps, threshold, rule),
        "metrics/deep_edited": ref.deep_edited(of, max_steps, threshold, rule),
        "metrics/chains_by_steps": {
            step: ref.Value(float(len(found)), len(found))
            for step, found in ref.by_length(of, max_steps).items()
        },
        "metrics/efficacy": {None: ref.efficacy(edges, case)},
        "metrics/efficacy_score": {None: ref.efficacy_score(edges, case)},
        "metrics/generalization": {None: ref.generalization(edges, case)},
        "metrics/generalization_score": {None: ref.generalization_score(edges, case)},
        **{
            f"metrics/{name}": {None: f(edges, case)}
            for name, f in (ref.COUNTERFACT | ref.FORGOTTEN).items()
        },
        "metrics/forgetting": {None: ref.forgetting(edges, case, rule)},
    }


options = st.fixed_dictionaries(
    {
        "max_steps": st.sampled_from([1, 2, 3, 4, 5, 5, 5]),
        "bare": st.sampled_from(["listed", "include", "exclude"]),
        "threshold": st.sampled_from([0.0, 0.0, 0.3, 1.0]),
        "unit": st.sampled_from(["rewrite", "record"]),
        "parallel": st.sampled_from(["before", "after"]),
        "rule": st.sampled_from(
            [ref.KNOWN, ref.KNOWN, ref.PAPERS, ref.Rule(0.5, 0.2), ref.Rule(0.0, 0.0)]
        ),
    }
)


def in_query(option: dict[str, Any]) -> dict[str, Any]:
    """The options as parameters of the queries."""
    rule = option["rule"]
    given = (0.0, 0.0) if rule.papers else (rule.known, rule.known_chain)
    named = "papers" if rule.papers else "known"
    return option | {"known": given[0], "known_chain": given[1], "rule": named}


searching = settings(
    max_examples=12,  # of several graphs each: a metric takes them all in one call
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
one_by_one = settings(searching, max_examples=30)


# Printing eight graphs warns before it shows a failing example.
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@searching
@given(drawn=st.lists(st.tuples(graphs(), cases), min_size=8, max_size=8), option=options)
def test_every_metric_equals_brute_force(db: Database, place, drawn, option) -> None:
    stored = {place(): each for each in drawn}
    for graph, (edges, _) in stored.items():
        store(db, graph, edges, entities=["s", "o"])
    expected = {graph: expected_metrics(*each, **option) for graph, each in stored.items()}
    asked = [case_map(graph, case, name=graph) for graph, (_, case) in stored.items()]
    each = {
        metric: db.metric(metric, cases=asked, **in_query(option)) for metric in names("metrics/")
    }
    together = db.metrics(each, cases=asked, **in_query(option))  # those over chains by one query
    for metric, found in each.items():
        # Both plans may add up in another order, so that the last digit may differ.
        beside = together[metric.removeprefix("metrics/")]
        assert [replace(row, value=row.value is None) for row in beside] == [
            replace(row, value=row.value is None) for row in found
        ]
        assert defined(beside) == pytest.approx(defined(found), rel=1e-12, abs=1e-12)
        assert list(dict.fromkeys(row.id for row in found)) == list(stored)
        for graph, values in expected.items():
            assert metric in values, "the metric has no reference"
            same(by_step([row for row in found if row.id == graph]), values[metric])


def defined(found: list[rows.MetricRow]) -> list[float]:
    return [row.value for row in found if row.value is not None]


@one_by_one
@given(edges=graphs(), case=cases, option=options)
def test_every_chain_query_equals_brute_force(db: Database, place, edges, case, option) -> None:
    graph, max_steps, bare = place(), option["max_steps"], option["bare"]
    threshold = option["threshold"]
    store(db, graph, edges, entities=["s", "o"])
    about = scalars(graph, case) | {"max_steps": max_steps, "bare": bare}
    parallel = option["parallel"]
    expected = {
        fact_ids(graph, chain): chain
        for chain in ref.chains(edges, case, max_steps, bare, parallel=parallel)
    }

    enumerated = db.read(rows.ChainRow, "chains/enumerate", **about)
    assert sorted(chain.facts for chain in enumerated) == sorted(expected)
    assert [chain.steps for chain in enumerated] == sorted(chain.steps for chain in enumerated)

    on_chains = {e.id for e in ref.scope(edges, case, max_steps, bare)}
    of = {"cases": [case_map(graph, case)], "max_steps": max_steps, "bare": bare}
    assert set(db.read(rows.ChainFactsRow, "chains/facts", **of)[0].facts) == on_chains

    for least in (0.01, 0.2):
        (counted,) = db.read(rows.KnownChainsRow, "chains/known", **of, known_chain=least)
        known = ref.Rule(known_chain=least)
        n_known = sum(known.chain(chain) for chain in expected.values())
        assert (counted.chains, counted.known) == (len(expected), n_known)

    rule = option["rule"]
    asked = in_query(option)
    about |= {"parallel": parallel, **{name: asked[name] for name in ("known", "known_chain")}}
    scored = db.read(rows.ScoredChainRow, "chains/scored", **about, threshold=threshold)
    assert sorted(tuple(link.id for link in chain.links) for chain in scored) == sorted(expected)
    for chain in scored:
        edges_of = expected[tuple(link.id for link in chain.links)]
        before, after = ref.reliability(edges_of)
        assert chain.r_pre == pytest.approx(before, rel=1e-9, abs=1e-12)
        assert chain.r_post == pytest.approx(after, rel=1e-9, abs=1e-12)
        assert chain.known == rule.chain(edges_of)
        assert chain.surviving == ref.survives(edges_of, threshold, rule)
        assert (chain.ratio is None) == (not rule.ratio(edges_of))
        assert chain.entities == (edges_of[0].subject, *(e.object for e in edges_of))
        assert [(k.pre, k.post) for k in chain.links] == [(e.pre, e.post) for e in edges_of]
    parts = [(c.surviving, (c.ratio or 0.0) / math.sqrt(c.steps)) for c in scored]
    assert parts == sorted(parts, reverse=True), "surviving first, then the largest part of IFR"

    alive = db.read(
        rows.ScoredChainRow, "chains/scored", **about, threshold=threshold, surviving=True
    )
    assert alive == [chain for chain in scored if chain.surviving]

    leaks = ref.leakage(ref.chains(edges, case, max_steps, bare), threshold, rule)
    found = db.read(
        rows.LeakageRow, "chains/leakage", **about | {"parallel": "before"}, threshold=threshold
    )
    assert sorted(leak.id for leak in found) == sorted(f"{graph}|{fact}" for fact in leaks)
    order = [(-leak.chains, -leak.ifr_share, leak.id) for leak in found]
    assert order == sorted(order), "on the most chains first, then the largest part of IFR"
    for leak in found:
        wanted = leaks[leak.id.removeprefix(f"{graph}|")]
        assert leak.chains == wanted.chains
        assert (leak.share, leak.ifr_share) == pytest.approx((wanted.share, wanted.ifr_share))


@one_by_one
@given(edges=graphs(), case=cases, max_steps=st.integers(1, 5))
def test_the_scope_equals_brute_force(db: Database, place, edges, case, max_steps) -> None:
    graph = place()
    store(db, graph, edges, entities=["s", "o"])
    about = {k: v for k, v in scalars(graph, case).items() if k != "relation"}
    found = db.read(rows.FactRow, "probes/facts_in_scope", **about, max_steps=max_steps)
    assert [row.fact for row in found] == [
        e.id for e in ref.scope(edges, case, max_steps, "include")
    ]
    given_to = {e.id: e for e in edges}
    for row in found:
        edge = given_to[row.fact]
        assert (row.subject, row.relation, row.object) == (edge.subject, edge.relation, edge.object)
        assert (row.p_pre, row.p_post, row.role) == (edge.pre, edge.post, edge.role)
