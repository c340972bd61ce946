"""Finding a rewrite: what an error about a mistyped name suggests, and what is read of a graph."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from support.counted_reads import counted_rows
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher.catalog import query
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import (
    Entity,
    Fact,
    ImportReport,
    KnowledgeGraph,
    LoadedGraph,
    RewriteRequest,
    slug,
)
from thinkeval.service.base.errors import NotFoundError, UsageError, close_names
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.requests import OwnRewrite, rewrites
from thinkeval.service.models.edit import EditIn, RewriteIn


def test_errors_suggest_the_rewrite_and_name_the_listing_of_relations(db: Database) -> None:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        with pytest.raises(NotFoundError) as caught:
            rewrites(db, graph, ["hary-potter--studied-at"], OwnRewrite(), everything=False)
        assert caught.value.suggestions[0].startswith("harry-potter--studied-at--")
        own = OwnRewrite("Harry Potter", "studied att", None, "Hogwarts", "Durmstrang Institute")
        with pytest.raises(NotFoundError, match="Did you mean 'studied at'") as caught:
            rewrites(db, graph, [], own, everything=False)
        assert f"thinkeval graph rules relations {graph}" in caught.value.remedy


NAMES = ["Ada", "Adam", "Zoë Lund", "Zoe Lund", "😀 Café", "Café 😀 😀", "x", "Madam Ada"]
RELATIONS = ["studied at", "studied-at", "born in", "knows"]
PROMPTS = ["{} studied at", "{} was born in", "{} knows", "At school, {} knows"]


def drawn(graph: str, n: int, rng: random.Random) -> KnowledgeGraph:
    """Some facts with few names, relations and prompts; the last name is in no fact."""
    triples = {
        (rng.choice(NAMES), rng.choice(RELATIONS), rng.choice(NAMES)): rng.choice(PROMPTS)
        for _ in range(n)
    }
    facts = tuple(
        Fact(*key, prompt, (f"Question {i}?",), (f"{{}}, again {i},",))
        for i, (key, prompt) in enumerate(triples.items())
        if key[0] != key[2]
    )
    stored = RewriteRequest("a", graph, PROMPTS[0], "Ada", "studied at", "Adam", "Only Requested")
    entities = tuple(Entity(name) for name in (*NAMES, "Only Requested"))
    return KnowledgeGraph(graph, entities, facts, (stored,))


def expected(graph: KnowledgeGraph, own: OwnRewrite) -> tuple[str | None, ...]:
    """By brute force over all facts: an error's text, or the parts that come from the graph."""
    facts = sorted(graph.facts, key=lambda fact: fact.id)
    known = {name for fact in facts for name in (fact.subject, fact.object)}
    for name in (own.subject or "", own.target_true or ""):
        if name not in known and difflib.get_close_matches(name, known, n=1, cutoff=0.8):
            return ("misspelt", *close_names(name, known))
    relation = own.relation
    if own.forget and relation not in {fact.relation for fact in facts}:
        named = {fact.relation for fact in facts if slug(fact.relation) == slug(relation or "")}
        relation = named.pop() if len(named) == 1 else relation
    same = [
        fact
        for fact in facts
        if relation in (None, fact.relation) and own.prompt in (None, fact.prompt)
    ]
    fact = next(iter([f for f in same if f.subject == own.subject] or same), None)
    prompt = own.prompt or (fact and fact.prompt)
    if prompt is None:
        return ("no relation", *close_names(own.relation or "", {f.relation for f in facts}))
    relation = relation or (fact.relation if fact else slug(prompt.replace("{}", "")))
    stored = graph.rewrites[0]
    parts = (own.subject, relation, prompt, own.target_true, own.target_new or "")
    whole = stored.subject, stored.relation, stored.prompt, stored.target_true, stored.target_new
    if parts == whole:
        return (stored.id, relation, prompt, None)
    question = fact.question if fact and fact.subject == own.subject else None
    return ("own", relation, prompt, question, *(fact.paraphrases if fact else ()))


def found(db: Database, graph: str, own: OwnRewrite) -> tuple[str | None, ...]:
    """The same of the program."""
    try:
        (rewrite,) = rewrites(db, graph, [], own, everything=False)
    except NotFoundError as error:
        kind = "no relation" if error.kind == "relation" else "misspelt"
        return (kind, *error.suggestions)
    kind = "own" if rewrite.id.startswith(datasets.OWN) else rewrite.id
    return (kind, rewrite.relation, rewrite.prompt, rewrite.question, *rewrite.paraphrases)


@pytest.mark.parametrize("n", [4, 12, 40])
def test_a_written_rewrite_takes_what_a_search_over_all_facts_gives(db: Database, n: int) -> None:
    rng = random.Random(n)
    with own_graphs(db) as prefix:
        graph = drawn(f"{prefix}-drawn", n, rng)
        datasets.store(db, LoadedGraph(graph, ImportReport("drawn", "drawn", {}, {})))
        names = [*NAMES, "Adams", "Zoe Lunt", "Café 😀", "Only Requestet", "Nobody", "xx"]
        outcomes = set()
        for _ in range(80):
            relation = rng.choice([None, *RELATIONS, "Studied At", "Born in", "hates"])
            prompts = [*PROMPTS, "{} never was"] + [None] * 5 * (relation is not None)
            forget = rng.random() < 0.3
            own = OwnRewrite(
                rng.choice(names),
                relation,
                rng.choice(prompts),
                rng.choice(names),
                None if forget else "Only Requested",
                forget=forget,
            )
            told = found(db, graph.name, own)
            assert told == expected(graph, own), own
            outcomes.add(told[0])
        assert {"own", "misspelt"} <= outcomes
        own = OwnRewrite("Ada", "studied at", PROMPTS[0], "Adam", "Only Requested")
        assert found(db, graph.name, own) == expected(graph, own)


@pytest.fixture
def of_two_sizes(db: Database) -> Iterator[tuple[str, str]]:
    """Graphs of which the second has all facts of the first, and as many more."""
    with own_graphs(db) as prefix:
        made = []
        for n in (200, 400):
            facts = tuple(
                Fact(f"person {i}", f"relation {i % 5}", f"place {i % 40}", f"{{}} has {i % 5} in")
                for i in range(n)
            )
            names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
            graph = KnowledgeGraph(f"{prefix}-{n}", tuple(map(Entity, names)), facts)
            datasets.store(db, LoadedGraph(graph, ImportReport("made", "made", {}, {})))
            made.append(graph.name)
        yield made[0], made[1]


@pytest.mark.parametrize(
    "rewrite",
    [
        {"relation": "relation 3", "target_new": "place 7"},
        {"relation": "relation 4", "target_new": "place 7"},
        {"prompt": "{} has 3 in", "target_new": "place 7"},
        {"prompt": "{} has 4 in", "target_new": "place 7"},
        {"prompt": "{} never was in", "target_new": "place 7"},
        {"relation": "relation 3", "target_true": "Timbuktu", "target_new": "place 7"},
        {"relation": "Relation-3"},
    ],
    ids=["own", "relation", "prompt", "other prompt", "new prompt", "new object", "forget"],
)
def test_a_post_of_a_written_rewrite_reads_as_much_of_a_graph_of_twice_the_size(
    db: Database, of_two_sizes: tuple[str, str], rewrite: dict[str, str]
) -> None:
    written = RewriteIn.model_validate({"subject": "person 3", "target_true": "place 3"} | rewrite)
    method = "rome" if written.target_new else "gradient_ascent"
    counts = []
    for graph in of_two_sizes:
        with counted_rows() as rows:
            EDIT.store.submit(db, Settings(), EditIn(graph=graph, rewrite=written, method=method))
        counts.append(rows)
    assert counts[0] == counts[1]
    assert counts[0].total() < 30


@pytest.mark.parametrize("prompt", ["{} never was in", "{} has 3 in, at first,"])
def test_a_prompt_of_no_fact_is_looked_up_without_reading_the_facts(
    server: dict[str, str], of_two_sizes: tuple[str, str], prompt: str
) -> None:
    user, password = server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"]
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=(user, password)) as driver:
        for graph in of_two_sizes:
            text = f"PROFILE {query('graph/prompted_fact').text}"
            found = driver.execute_query(text, graph=graph, prompt=prompt)  # type: ignore[arg-type]
            assert not found.records
            assert found.summary.profile is not None
            assert 0 < _hits(found.summary.profile) < 10


def _hits(plan: dict[str, Any]) -> int:
    return plan["dbHits"] + sum(_hits(child) for child in plan.get("children", ()))


def test_a_prompt_that_is_too_long_to_store_is_refused(db: Database) -> None:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        own = OwnRewrite("Harry Potter", None, "{} is" + " so" * 3000, "Hogwarts", "Beauxbatons")
        with pytest.raises(UsageError, match="9,005 characters, of which at most 8,000"):
            rewrites(db, graph, [], own, everything=False)
