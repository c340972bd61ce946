"""The ten questions of cypher/explore/: what they answer is what the score and the page say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import neo4j
import pytest
from neo4j.graph import Path as GraphPath

from support.own_graphs import own_graphs
from support.stored_edits import probed, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import names, query
from thinkeval.cypher.params import bind
from thinkeval.cypher.run import Database
from thinkeval.service.leakcut.request import edit_cut
from thinkeval.service.models.edit import BareFact, Score, ScoringOptions
from thinkeval.service.models.leakcut import CutIn
from thinkeval.service.reports.browser import CUT, QUESTIONS, RULE_QUESTIONS
from thinkeval.service.scoring import metrics

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ask(server: dict[str, str]) -> Iterator[Ask]:
    """Asks as Browser does, with the plain driver; a complaint of the server fails the test."""
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:

        def asked(name: str, **params: Any) -> list[dict[str, Any]]:
            found = query(f"explore/{name}")
            done = driver.execute_query(found.text, bind(found, params))
            told = [s for s in done.summary.gql_status_objects if s.gql_status[:2] in ("01", "03")]
            assert not told, [s.status_description for s in told]
            assert done.keys == list(found.columns)
            return [record.data() | dict(record.items()) for record in done.records]

        yield asked


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


@pytest.fixture(scope="module")
def school(db: Database, prefix: str) -> Score:
    """A small edit with one strong chain, one weak, one cut, and damage to another fact."""
    facts = [
        probed(("Harry", "studied at", "Hogwarts"), 0.93, 0.08, "target_true", said=["Ilvermorny"]),
        probed(("Harry", "studied at", "Ilvermorny"), 0.0, 0.9, "target_new", listed=False),
        probed(("Harry", "lives in", "Gryffindor"), 0.9, 0.8),
        probed(("Gryffindor", "belongs to", "Hogwarts"), 0.996, 0.9),
        probed(("Harry", "knows", "Ron"), 0.8, 0.4),
        probed(("Ron", "studied at", "Hogwarts"), 0.9, 0.3, said=["Ilvermorny Castle", "?"]),
        probed(("Harry", "owns", "Hedwig"), 0.9, 0.001),
        probed(("Hedwig", "nests at", "Hogwarts"), 0.9, 0.9),
    ]
    return store_edit(db, f"{prefix}-school", facts, dataset=f"{prefix}-data")


def pool(score: Score, measure: str = "likelihood") -> dict[str, Any]:
    options = score.options
    return {
        "edit": score.edit,
        "measure": measure,
        "threshold": options.threshold_for(measure),
        "max_steps": options.max_steps,
        "bare": options.bare,
    }


def some(score: Score, name: str, measure: str = "likelihood") -> dict[str, Any]:
    taken = query(f"explore/{name}").params
    return {k: v for k, v in pool(score, measure).items() if k in taken}


def walked(path: GraphPath) -> list[str]:
    return [node["name"] for node in path.nodes]


def test_every_question_has_its_file_and_no_file_is_forgotten() -> None:
    told = sorted([*QUESTIONS, *RULE_QUESTIONS, CUT])
    assert [f"explore/{name}" for name in told] == list(names("explore/"))
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 17])
def test_chains_are_those_of_the_score(db: Database, ask: Ask, prefix: str, seed: int) -> None:
    bares: tuple[BareFact, ...] = ("listed", "include", "exclude")
    options = ScoringOptions(bare=bares[seed % 3], max_steps=5 if seed % 2 else 3)
    measure = ("likelihood", "p")[seed > 2]
    edit, facts = f"{prefix}-{seed}", random_facts(seed)
    score = store_edit(db, edit, facts, dataset=edit, options=options, scored=[measure])

    # Parallel facts, chains that leak and chains that do not: else there is nothing to compare.
    chains = metrics.chain_rows(db, score, measure)
    alive = [chain for chain in chains if chain.surviving]
    assert len({(f.question.fact.subject, f.question.fact.object) for f in facts}) < len(facts)
    assert len(chains) >= len(alive) > 1

    shown = ask("surviving_chains", **pool(score, measure))
    assert {tuple(walked(r["chain"])) for r in shown} == {c.entities for c in alive[:10]}
    assert [row["r_post"] for row in shown] == pytest.approx([c.r_post for c in alive[:10]])
    assert [row["steps"] for row in shown] == [len(row["chain"]) for row in shown]

    taken = ask("ifr_by_hand", **some(score, "ifr_by_hand", measure))
    expected = {"all": score.get("ifr", measure)} | {
        str(step): value for step, value in score.by_step("ifr_by_steps", measure).items()
    }
    for row in taken:
        value = expected[row["steps"]]
        assert value is not None
        assert row["chains"] == value.n
        assert row["ifr"] == pytest.approx(value.value, abs=1e-12)
    assert len(taken) == options.max_steps + 1

    leaks = {
        row["fact"].relationships[0]["id"]: (row["chains"], row["share"], row["ifr_share"])
        for row in ask("leaking_facts", **pool(score, measure))
    }
    assert leaks == {
        leak.id: pytest.approx((leak.chains, leak.share, leak.ifr_share))
        for leak in metrics.leakage_rows(db, score, measure)[:15]
    }


def test_the_school(db: Database, ask: Ask, school: Score, prefix: str) -> None:
    worse = [probed(("Harry", "studied at", "Hogwarts"), 0.93, 0.93, "target_true")]
    worse += [probed(("Harry", "studied at", "Ilvermorny"), 0.0, 0.001, "target_new", listed=False)]
    store_edit(db, f"{prefix}-worse", worse, dataset=f"{prefix}-data", method="none")

    chains = ask("surviving_chains", **pool(school))
    assert walked(chains[0]["chain"]) == ["Harry", "Gryffindor", "Hogwarts"]
    assert chains[0]["retention"] == pytest.approx(0.8 * 0.9 / (0.9 * 0.996))
    assert len(chains) == 3  # the bare fact among them, by way of Hedwig not: .001 of .9

    (worst,) = [r for r in ask("collateral", **some(school, "collateral")) if r["post"] == 0.3]
    assert walked(worst["fact"]) == ["Ron", "Hogwarts"]
    assert worst["says_new"] == 1

    changed = {
        tuple(walked(row["fact"])): row["change"]
        for row in ask("changed_facts", **some(school, "changed_facts"))
    }
    assert changed == {
        ("Harry", "Hogwarts"): "lost",
        ("Harry", "Ilvermorny"): "added",
        ("Harry", "Gryffindor"): "weakened",
        ("Harry", "Ron"): "weakened",
        ("Ron", "Hogwarts"): "weakened",
        ("Harry", "Hedwig"): "lost",
    }  # the Sorting of .996 → .9 is kept: its ratio is above .9

    about = ask("answers", **some(school, "answers"))
    assert {row["asked"] for row in about} == {
        f"Harry {r}" for r in ("studied at", "lives in", "knows", "owns")
    }
    (ron,) = ask("answers", **some(school, "answers"), about="Ron")
    assert (ron["before"], ron["after"]) == (["Hogwarts"], ["Ilvermorny Castle", "?"])

    listed = {row["edit"]: row for row in ask("edits") if row["edit"].startswith(prefix)}
    mine = listed[school.edit]
    ifr = school.get("ifr", "likelihood")
    assert ifr is not None
    assert (mine["efficacy"], mine["ifr"]) == pytest.approx((0.9, ifr.value))
    assert (mine["surviving"], mine["chains"]) == (3, 4)

    ranked = ask("methods", **pool(school))
    assert [(row["method"], row["deep"]) for row in ranked] == [("rome", 0), ("none", 0)]
    (rewrite,) = ask("rewrites", **some(school, "rewrites"))
    assert (rewrite["edits"], rewrite["of"], rewrite["deepest"]) == (1, 2, "rome")
    assert rewrite["ifr"] == pytest.approx(ifr.value)

    graphs = {row["graph"]: row for row in ask("graphs")}
    assert graphs[school.edit]["method"] == "rome"
    assert graphs[school.edit]["facts"] == 8


def test_the_style_finds_captions_and_labels_also_after_scoring_again(
    db: Database, ask: Ask, prefix: str
) -> None:
    name = f"{prefix}-again"
    first = [
        probed(("A", "r", "B"), 1.0, 0.084, "target_true"),
        probed(("A", "r", "C"), 0.0, 0.5, "target_new", listed=False),
        probed(("A", "q", "D"), 0.5, 0.25),
    ]
    second = [
        probed(("D", "r", "B"), 0.5, 0.5, "target_true"),
        probed(("D", "r", "A"), 0.01, 0.996, "target_new", listed=False),
        probed(("A", "r", "B"), 0.25, 0.126),
    ]
    for facts, labels, captions in (
        (
            first,
            {"A": {"Subject"}, "B": {"TargetTrue"}, "C": {"TargetNew"}, "D": set()},
            {"1→.08", ".00→.50", ".50→.25"},
        ),
        (
            second,
            {"A": {"TargetNew"}, "B": {"TargetTrue"}, "D": {"Subject"}},
            {".50→.50", ".01→1", ".25→.13"},
        ),
    ):
        store_edit(db, name, facts, dataset=f"{prefix}-again-data")
        drawn = ask("changed_facts", edit=name)
        everything = {n["name"]: set(n.labels) for row in drawn for n in row["fact"].nodes}
        kept = {n: found - {"Entity"} for n, found in everything.items()}
        assert {n: found for n, found in labels.items() if n in kept} == kept
        shown = {r["caption"] for row in drawn for r in row["fact"].relationships}
        assert shown <= captions
        assert len(shown) >= 2


def test_facts_of_a_data_set_are_captioned_by_their_relation(
    db: Database, server: dict[str, str], hogwarts: str
) -> None:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        found, *_ = driver.execute_query(
            "MATCH ()-[f:FACT]->() WHERE f.id STARTS WITH $graph + '|'"
            " RETURN count(*) AS n, count(CASE WHEN f.caption = f.relation THEN 1 END) AS same",
            graph=hogwarts,
        )
    assert (
        found[0]["n"]
        == found[0]["same"]
        == len(db.read(rows.FactRow, "graph/facts", graph=hogwarts))
    )


def test_a_leak_cut_is_drawn_with_the_chains_that_it_closes(
    db: Database, ask: Ask, school: Score
) -> None:
    cut = edit_cut(db, school, "likelihood", CutIn(keys="off"))
    # The list is ordered by IFR, the question's rows by the chains that a fact closes.
    facts = sorted(cut.facts, key=lambda fact: (-fact.closes, fact.id))
    drawn = ask(CUT, edit=school.edit, facts=[fact.id for fact in facts])
    assert [row["closes"] for row in drawn] == [fact.closes for fact in facts] == [1, 1]
    for row, fact in zip(drawn, facts, strict=True):
        (edge,) = row["fact"].relationships
        assert edge["id"] == f"{school.edit}|{fact.id}"
        assert walked(row["fact"]) == [fact.subject, fact.object]
        assert walked(row["chain"])[0] == "Harry"
        assert edge in row["chain"].relationships
    assert ask(CUT, edit=school.edit, facts=[]) == []
    (none,) = ask(CUT, edit=school.edit, facts=[cut.facts[0].id], leak=0.99)
    assert (none["closes"], none["chain"]) == (0, None)
