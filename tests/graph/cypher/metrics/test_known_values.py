"""Values that are known from elsewhere: the published worked example, and KnowGIC's own counts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.references import reference as ref
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, scalars, set_properties, store
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import names
from thinkeval.cypher.errors import (
    MissingProbabilityError,
    ParameterError,
    UnknownGraphError,
    UnknownQueryError,
)
from thinkeval.cypher.run import Database
from thinkeval.loaders import knowgic
from thinkeval.loaders.records import KnowledgeGraph, RewriteRequest
from thinkeval.service.reports.comparison import components

HARRY = Case("Harry Potter", "Hogwarts", relation="studied at")
EXAMPLE = [
    Edge("1", "Harry Potter", "Ron Weasley", 0.9, 0.7, "schoolmate of"),
    Edge("2", "Ron Weasley", "Gryffindor", 0.85, 0.8, "house"),
    Edge("3", "Gryffindor", "Hogwarts", 0.9, 0.85, "belongs to"),
]
CONTEXT = [
    Edge("1", "Harry Potter", "Ron Weasley", 0.9, 0.7, "schoolmate of"),
    Edge("2", "Ron Weasley", "Gryffindor", 0.85, 0.5, "house"),
    Edge("3", "Gryffindor", "Hogwarts", 0.9, 0.7, "belongs to"),
    Edge("4", "Gryffindor", "Professor McGonagall", 0.85, 0.8, "head teacher"),
    Edge("5", "Professor McGonagall", "Hogwarts", 0.9, 0.6, "headmistress of"),
]


def value(db: Database, metric: str, graph: str, case: Case, **options: Any) -> rows.MetricRow:
    (row,) = [r for r in db.metric(metric, cases=[case_map(graph, case)], **options) if not r.step]
    return row


def test_the_readmes_example_of_ifr(db: Database, graph_id: str) -> None:
    store(db, graph_id, EXAMPLE)
    (chain,) = db.read(rows.ScoredChainRow, "chains/scored", **scalars(graph_id, HARRY))
    assert (chain.r_pre, chain.r_post) == pytest.approx((0.6885, 0.476), abs=1e-12)
    assert chain.ratio == pytest.approx(0.476 / 0.6885)
    row = value(db, "ifr", graph_id, HARRY)
    assert row.value == pytest.approx(0.691358024691358, abs=1e-12)
    assert (row.n, row.excluded, row.step) == (1, 0, None)


def test_a_parallel_fact_can_hide_a_leak_and_an_option_shows_it(
    db: Database, graph_id: str
) -> None:
    """The edit removes the likelier of two ways to say it; the other one still leads there."""
    edges = [
        Edge("1", "s", "a", 0.9, 0.0, "friend of"),
        Edge("2", "s", "a", 0.8, 0.8, "knows"),
        Edge("3", "a", "o", 0.5, 0.5, "lives in"),
    ]
    store(db, graph_id, edges)
    case = Case("s", "o")
    hidden, shown = {"parallel": "before"}, {"parallel": "after"}
    assert value(db, "ifr", graph_id, case) == value(db, "ifr", graph_id, case, **hidden)
    assert value(db, "ifr", graph_id, case).value == 0.0
    assert value(db, "ifr", graph_id, case, **shown).value == pytest.approx(0.8 / 0.9)
    assert value(db, "active_chains", graph_id, case, **shown).value == 1
    assert value(db, "deep_edited", graph_id, case, **hidden).value == 1
    assert value(db, "deep_edited", graph_id, case, **shown).value == 0
    about = scalars(graph_id, case)
    assert db.read(rows.LeakageRow, "chains/leakage", **about) == []
    leaks = db.read(rows.LeakageRow, "chains/leakage", **about, **shown)
    assert {leak.id for leak in leaks} == {f"{graph_id}|2", f"{graph_id}|3"}
    (chain,) = db.read(rows.ScoredChainRow, "chains/scored", **about, **shown)
    assert [(link.pre, link.post) for link in chain.links] == [(0.9, 0.8), (0.5, 0.5)]


def test_the_readmes_example_of_preservation(db: Database, graph_id: str) -> None:
    """The README prints 0.5 / 0.85 as 0.51 and so .725; its own numbers give .7435."""
    store(db, graph_id, CONTEXT)
    row = value(db, "preservation", graph_id, HARRY)
    assert row.value == pytest.approx(0.7434641, abs=1e-7)
    assert (row.n, row.excluded) == (4, 0)


def test_without_a_chain_nothing_is_defined_but_the_count(db: Database, graph_id: str) -> None:
    store(db, graph_id, [], entities=["s", "o"])
    by_papers = dict.fromkeys(("ifr", "ifr_by_steps", "ifr_published", "ifr_beyond_subject"), 0.0)
    by_papers |= {"preservation": 1.0, "active_chains": 0.0, "deep_edited": 1.0}
    for case in (Case("s", "o"), Case("s", "s"), Case("s", "not an entity")):
        asked = {"cases": [case_map(graph_id, case)]}
        for metric, unit in itertools.product(names("metrics/"), ("rewrite", "record")):
            name = metric.removeprefix("metrics/")
            counted = 0.0 if name == "chains_by_steps" else None
            found = db.metric(metric, **asked, unit=unit)
            assert {(r.value, r.n, r.excluded) for r in found} == {(counted, 0, 0)}, metric
            found = db.metric(metric, **asked, unit=unit, rule="papers")
            expected = by_papers.get(name, counted)
            assert {(r.value, r.n, r.excluded) for r in found} == {(expected, 0, 0)}, metric


def test_of_what_the_model_never_knew_nothing_is_measured(db: Database, graph_id: str) -> None:
    """Probabilities of a model that has never heard of it: their ratios are large, and noise."""
    ignorant = [Edge(e.id, e.subject, e.object, 0.0003, 0.003) for e in CONTEXT]
    store(db, graph_id, ignorant)
    for name, of in (
        ("ifr", 2), ("ifr_published", 2), ("ifr_beyond_subject", 2), ("preservation", 4),
        ("subject_retention", 1), ("active_chains", 2), ("deep_edited", 2),
    ):  # fmt: skip
        assert value(db, name, graph_id, HARRY) == rows.MetricRow("case", None, None, 0, of), name
    about = scalars(graph_id, HARRY)
    assert [
        (c.known, c.surviving) for c in db.read(rows.ScoredChainRow, "chains/scored", **about)
    ] == [(False, False)] * 2
    assert db.read(rows.LeakageRow, "chains/leakage", **about) == []
    papers: dict[str, Any] = {"known": 0.0, "known_chain": 0.0, "rule": "papers"}
    assert value(db, "ifr", graph_id, HARRY, **papers).value == pytest.approx(
        (1000 / math.sqrt(3) + 10000 / math.sqrt(4)) / (1 / math.sqrt(3) + 1 / math.sqrt(4))
    )
    assert value(db, "preservation", graph_id, HARRY, **papers).value == pytest.approx(10)
    assert value(db, "active_chains", graph_id, HARRY, **papers).value == 2.0


def test_a_fact_and_a_chain_count_from_the_threshold_on(db: Database, graph_id: str) -> None:
    """R of the chain over a is .01 exactly, that over b just below; the facts likewise .05."""
    facts = [
        Edge("1", "s", "a", 0.2, 0.1),
        Edge("2", "a", "o", 0.05, 0.05),
        Edge("3", "s", "b", 0.2, 0.2),
        Edge("4", "b", "o", 0.0499, 0.0998),
    ]
    store(db, graph_id, facts)
    case = Case("s", "o")
    assert 0.2 * 0.05 >= 0.01
    assert as_value(value(db, "ifr", graph_id, case)) == (pytest.approx(0.5), 1, 1)
    assert as_value(value(db, "preservation", graph_id, case)) == (pytest.approx(1.0), 1, 1)
    assert as_value(value(db, "subject_retention", graph_id, case)) == (pytest.approx(0.75), 2, 0)
    assert as_value(value(db, "active_chains", graph_id, case)) == (1.0, 1, 1)
    lower = {"known": 0.04, "known_chain": 0.009}
    assert as_value(value(db, "ifr", graph_id, case, **lower)) == (pytest.approx(1.25), 2, 0)
    assert as_value(value(db, "preservation", graph_id, case, **lower)) == (
        pytest.approx(1.5),
        2,
        0,
    )


def test_when_the_model_knew_nothing_the_papers_say_0_and_1(db: Database, graph_id: str) -> None:
    ignorant = [Edge(e.id, e.subject, e.object, 0.0, e.post) for e in CONTEXT]
    store(db, graph_id, ignorant)
    papers: dict[str, Any] = {"known": 0.0, "known_chain": 0.0, "rule": "papers"}
    found = {
        name: value(db, name, graph_id, HARRY, **papers)
        for name in ("ifr", "preservation", "subject_retention", "active_chains", "deep_edited")
    }
    assert found["ifr"] == rows.MetricRow("case", None, 0.0, 0, 2)
    assert found["preservation"] == rows.MetricRow("case", None, 1.0, 0, 4)
    assert found["subject_retention"] == rows.MetricRow("case", None, None, 0, 1)
    # R = 0 and R' > 0: no retention to speak of, but the old object can be deduced.
    assert found["active_chains"].value == 2.0
    assert found["deep_edited"].value == 0.0


def test_forgetting_of_a_fact_that_was_not_asked_before_is_undefined(
    db: Database, graph_id: str
) -> None:
    old = Edge("t", "s", "o", 0.5, 0.1, role="target_true")
    store(db, graph_id, [old])
    case = Case("s", "o")
    assert as_value(value(db, "forgetting", graph_id, case)) == (pytest.approx(0.8), 1, 0)
    set_properties(db, {"id": f"{graph_id}|t", "p_pre": None})
    assert as_value(value(db, "forgetting", graph_id, case)) == (None, 0, 1)


def test_the_bare_fact_counts_as_told(db: Database, graph_id: str) -> None:
    bare = Edge("0", "Harry Potter", "Hogwarts", 1.0, 0.5, "studied at", listed=False)
    store(db, graph_id, [*EXAMPLE, bare])
    counts = {b: value(db, "ifr", graph_id, HARRY, bare=b).n for b in ("listed", "include")}
    assert counts == {"listed": 1, "include": 2}
    store(db, graph_id, [*EXAMPLE, Edge("0", "Harry Potter", "Hogwarts", relation="studied at")])
    counts = {b: value(db, "ifr", graph_id, HARRY, bare=b).n for b in ("listed", "exclude")}
    assert counts == {"listed": 2, "exclude": 1}


def test_parallel_facts_are_one_chain_over_the_likeliest(db: Database, graph_id: str) -> None:
    other = Edge("2b", "Ron Weasley", "Gryffindor", 0.95, 0.1, "sorted into")
    store(db, graph_id, [*EXAMPLE, other])
    row = value(db, "ifr", graph_id, HARRY)
    assert row.n == 1
    assert row.value == pytest.approx(0.7 * 0.1 * 0.85 / (0.9 * 0.95 * 0.9))
    # but both are facts that should be preserved
    assert value(db, "preservation", graph_id, HARRY).n == 3


def test_any_pair_of_properties_can_be_read(db: Database, graph_id: str) -> None:
    store(db, graph_id, EXAMPLE)
    written = [
        {"id": f"{graph_id}|{e.id}", "likelihood_pre": 0.5, "likelihood_post": 0.25}
        for e in EXAMPLE
    ]
    set_properties(db, *written)
    row = value(db, "ifr", graph_id, HARRY, pre="likelihood_pre", post="likelihood_post")
    assert row.value == pytest.approx(0.125)
    assert value(db, "ifr", graph_id, HARRY, post="p_pre").value == pytest.approx(1.0)


@pytest.mark.parametrize("key", ["p_pre", "p_post"])
@pytest.mark.parametrize(
    "metric",
    [
        "ifr",
        "ifr_by_steps",
        "ifr_published",
        "ifr_beyond_subject",
        "preservation",
        "active_chains",
        "deep_edited",
    ],
)
def test_a_missing_probability_is_never_passed_over(
    db: Database, graph_id: str, metric: str, key: str
) -> None:
    parallel = Edge("2a", "Ron Weasley", "Gryffindor", 0.1, 0.1, "sorted into")
    store(db, graph_id, [*EXAMPLE, parallel, *CONTEXT[3:]])
    set_properties(db, {"id": f"{graph_id}|2", key: None})
    with pytest.raises(MissingProbabilityError, match=f"1 of 6 facts lack {key}") as caught:
        db.metric(metric, cases=[case_map(graph_id, HARRY)])
    assert "probe" in caught.value.remedy
    with pytest.raises(MissingProbabilityError):
        db.metric("preservation", cases=[case_map(graph_id, HARRY)], unit="record")


@pytest.mark.parametrize("key", ["p_pre", "p_post"])
@pytest.mark.parametrize("other", [0.0, 0.5])
def test_a_missing_probability_of_the_subject_is_no_undefined_retention(
    db: Database, graph_id: str, key: str, other: float
) -> None:
    """With p_pre = 0 and no p_post nothing would be measured, but the fact still lacks a value."""
    store(db, graph_id, [replace(EXAMPLE[0], pre=other, post=other), *EXAMPLE[1:]])
    set_properties(db, {"id": f"{graph_id}|1", key: None})
    with pytest.raises(MissingProbabilityError, match=f"1 of 3 facts lack {key}"):
        db.metric("subject_retention", cases=[case_map(graph_id, HARRY)])


def test_an_edit_that_forgets_the_subjects_friends_lowers_ifr_alone(
    db: Database, graph_id: str
) -> None:
    """The chain's other facts are intact, so Preservation is 1; IFR falls to the friend's .1."""
    forgets = [
        Edge("1", "Harry Potter", "Ron Weasley", 0.9, 0.09, "schoolmate of"),
        Edge("2", "Ron Weasley", "Hogwarts", 0.8, 0.8, "studied at"),
    ]
    store(db, graph_id, forgets)
    found = {
        name: value(db, name, graph_id, HARRY)
        for name in ("ifr", "preservation", "subject_retention", "ifr_beyond_subject")
    }
    values = {name: row.value for name, row in found.items()}
    assert values == pytest.approx(
        {"ifr": 0.1, "preservation": 1.0, "subject_retention": 0.1, "ifr_beyond_subject": 1.0}
    )
    assert {row.n for row in found.values()} == {1}


def test_the_subjects_facts_to_keep_are_all_but_those_of_the_old_object(
    db: Database, graph_id: str
) -> None:
    facts = [
        Edge("1", "Harry Potter", "Ron Weasley", 0.8, 0.4, "schoolmate of"),
        Edge("1b", "Harry Potter", "Ron Weasley", 0.5, 0.1, "friend of"),  # parallel: counts
        Edge("2", "Ron Weasley", "Hogwarts", 1.0, 1.0, "studied at"),
        Edge("3", "Harry Potter", "Stonewall High", 0.5, 0.0, "studied at"),  # counts, too
        Edge("4", "Stonewall High", "Hogwarts", 1.0, 1.0, "rival of"),
        Edge("5", "Harry Potter", "Hogwarts", 0.5, 0.0, "was a pupil of"),  # old object
        Edge("6", "Harry Potter", "Hedwig", 0.9, 0.9, "owner of"),  # on no chain
        Edge("7", "Harry Potter", "Hogwarts", 0.5, 0.0, "studied at"),  # the edited fact
        Edge("8", "Harry Potter", "Hermione", 0.0, 0.5, "schoolmate of"),  # p_pre = 0
        Edge("9", "Hermione", "Hogwarts", 1.0, 1.0, "studied at"),
    ]
    store(db, graph_id, facts)
    row = value(db, "subject_retention", graph_id, HARRY)
    assert row.value == pytest.approx((0.5 + 0.2 + 0.0) / 3)
    assert (row.n, row.excluded) == (3, 1)
    # Chains with R <> 0: over Ron and over Stonewall (kept: 1), the old object itself (0).
    weights = 1 / math.sqrt(2), 1 / math.sqrt(2), 1.0
    beyond = value(db, "ifr_beyond_subject", graph_id, HARRY)
    assert beyond.value == pytest.approx((weights[0] + weights[1]) / sum(weights))
    assert (beyond.n, beyond.excluded) == (3, 1)


@pytest.mark.parametrize("key", ["p_pre", "p_post"])
def test_a_missing_probability_shows_in_chains(db: Database, graph_id: str, key: str) -> None:
    store(db, graph_id, EXAMPLE)
    set_properties(db, {"id": f"{graph_id}|2", key: None})
    about = scalars(graph_id, HARRY)
    for surviving in (False, True):
        with pytest.raises(MissingProbabilityError):
            db.read(rows.ScoredChainRow, "chains/scored", **about, surviving=surviving, limit=1)
    with pytest.raises(MissingProbabilityError):
        db.read(rows.LeakageRow, "chains/leakage", **about, limit=1)
    assert len(db.read(rows.ChainRow, "chains/enumerate", **about)) == 1  # structure only


def test_a_missing_target_probability_is_never_passed_over(db: Database, graph_id: str) -> None:
    new = Edge("n", "s", "x", role="target_new", paraphrases_post=(0.5, 0.6))
    old = Edge("t", "s", "o", role="target_true", paraphrases_post=(0.5,))
    store(db, graph_id, [new, old])
    asked = [case_map(graph_id, Case("s", "o"))]
    with pytest.raises(MissingProbabilityError):
        db.metric("generalization_score", cases=asked)  # 2 against 1
    set_properties(db, {"id": f"{graph_id}|n", "p_post": None})
    for metric in ("efficacy", "efficacy_score"):
        with pytest.raises(MissingProbabilityError, match="p_post"):
            db.metric(metric, cases=asked)


def test_metrics_take_what_they_declare_and_refuse_what_none_does(
    db: Database, graph_id: str
) -> None:
    store(db, graph_id, EXAMPLE)
    asked = [case_map(graph_id, HARRY)]
    assert db.metric("efficacy", cases=asked, max_steps=3, unit="record", threshold=0.5)
    with pytest.raises(ParameterError, match="did you mean threshold"):
        db.metric("ifr", cases=asked, treshold=0.5)
    with pytest.raises(ParameterError, match="same id"):
        db.metric("ifr", cases=asked * 2)
    with pytest.raises(UnknownQueryError, match=r"did you mean.*preservation") as caught:
        db.metric("preservaton", cases=asked)
    assert "thinkeval db metrics" in caught.value.remedy
    with pytest.raises(UnknownGraphError, match="no graph 'nowhere'"):
        db.metric("ifr", cases=[case_map("nowhere", HARRY)])


# --- KnowGIC ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(data_dir: Path) -> KnowledgeGraph:
    return knowgic.load(data_dir / "knowgic" / "chains.json").graph


@pytest.fixture
def stored(db: Database, graph_id: str, published: KnowledgeGraph) -> str:
    facts = [
        Edge(
            f.id,
            f.subject,
            f.object,
            pre=(int(f.id[:4], 16) % 5) / 4,
            post=(int(f.id[4:8], 16) % 7) / 6,
            relation=f.relation,
            cases=f.cases,
            questions=f.questions,
        )
        for f in published.facts
    ]
    store(db, graph_id, facts)
    return graph_id


def case_of(rewrite: RewriteRequest) -> Case:
    return Case(rewrite.subject, rewrite.target_true, rewrite.id, rewrite.relation)


def edges_of(db: Database, graph: str) -> list[Edge]:
    return [
        Edge(
            r.fact,
            r.subject,
            r.object,
            r.p_pre or 0.0,
            r.p_post or 0.0,
            r.relation,
            r.cases,
            r.questions,
        )
        for r in db.stream(rows.FactRow, "graph/facts", graph=graph)
    ]


def test_knowgic_has_exactly_its_chains(
    db: Database, stored: str, published: KnowledgeGraph
) -> None:
    asked = [case_map(stored, case_of(r), r.id) for r in published.rewrites]
    assert len(asked) == 26
    counts: Counter[int | None] = Counter()
    for row in db.metric("chains_by_steps", cases=asked):
        counts[row.step] += row.n
    assert counts == {None: 1406, 1: 24, 2: 108, 3: 227, 4: 428, 5: 619}
    for rewrite in published.rewrites:
        about = scalars(stored, case_of(rewrite))
        assert len(db.read(rows.ChainRow, "chains/enumerate", **about)) == rewrite.n_records


def test_the_scope_of_a_knowgic_rewrite_is_exactly_its_facts(
    db: Database, stored: str, published: KnowledgeGraph
) -> None:
    context = 0
    for rewrite in published.rewrites:
        about = {k: v for k, v in scalars(stored, case_of(rewrite)).items() if k != "relation"}
        found = {row.fact for row in db.read(rows.FactRow, "probes/facts_in_scope", **about)}
        assert found == {f.id for f in published.facts if rewrite.id in f.cases}
        context += sum(f.id in found and f.subject != rewrite.subject for f in published.facts)
    assert context == 431  # the 439 links of `broader_context` ask some facts in two wordings


def test_knowgics_rewrites_are_21_families(
    db: Database, stored: str, published: KnowledgeGraph
) -> None:
    asked = [case_map(stored, case_of(r), r.id) for r in published.rewrites]
    found = {
        row.id: set(row.facts) for row in db.read(rows.ChainFactsRow, "chains/facts", cases=asked)
    }
    edges = edges_of(db, stored)
    for rewrite in published.rewrites:
        mine = ref.scope(edges, case_of(rewrite), 5, "listed", walk=True)
        assert found[rewrite.id] == {e.id for e in mine}
    families = Counter(components(found).values())
    assert len(families) == 21
    assert sorted(families.values())[-4:] == [1, 2, 3, 3]


def as_value(row: rows.MetricRow) -> tuple[float | None, int, int]:
    return row.value, row.n, row.excluded


def approx(value: ref.Value) -> object:
    return pytest.approx((value.value, value.n, value.excluded), abs=1e-9)


def test_knowgics_metrics_equal_brute_force(
    db: Database, stored: str, published: KnowledgeGraph
) -> None:
    asked = [case_map(stored, case_of(r), r.id) for r in published.rewrites]
    ifr = {row.id: row for row in db.metric("ifr", cases=asked)}
    kept = {row.id: row for row in db.metric("preservation", cases=asked)}
    records = {row.id: row for row in db.metric("preservation", cases=asked, unit="record")}
    retained = {row.id: row for row in db.metric("subject_retention", cases=asked)}
    beyond = {row.id: row for row in db.metric("ifr_beyond_subject", cases=asked)}
    edges = edges_of(db, stored)
    for rewrite in published.rewrites:
        case = case_of(rewrite)
        of = ref.chains(edges, case, walk=True)
        expected = ref.ifr(of)
        assert ifr[rewrite.id].value == pytest.approx(expected.value, abs=1e-9)
        assert (ifr[rewrite.id].n, ifr[rewrite.id].excluded) == (expected.n, expected.excluded)
        assert as_value(beyond[rewrite.id]) == approx(ref.ifr_beyond_subject(of, case))
        mine = [e for e in edges if rewrite.id in e.cases]
        assert as_value(retained[rewrite.id]) == approx(ref.subject_retention(mine, case))
        context = [e for e in edges if rewrite.id in e.cases and e.subject != rewrite.subject]
        assert kept[rewrite.id].value == pytest.approx(ref.mean_ratio(context), abs=1e-9)
        means = []
        for chain in of:
            links = [e for e in chain if e.subject != rewrite.subject]
            heard = {q for link in links for q in link.questions}
            means.append(ref.mean_ratio(e for e in context if heard & set(e.questions)))
        terms = [mean for mean in means if mean is not None]
        wanted = sum(terms) / len(terms) if terms else None
        assert records[rewrite.id].value == pytest.approx(wanted, abs=1e-9)
        assert records[rewrite.id].n == len(terms) <= len(of) == rewrite.n_records
