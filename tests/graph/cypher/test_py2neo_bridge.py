"""A stored graph as a py2neo Subgraph and back in, on the real server."""

from __future__ import annotations

import pytest

from support.stored_graphs import set_properties
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError, ParameterError
from thinkeval.cypher.py2neo_bridge import from_subgraph, to_subgraph
from thinkeval.cypher.run import Database
from thinkeval.service.graphs import datasets

data = pytest.importorskip("py2neo.data")


@pytest.fixture
def stored(db: Database, graph_id: str) -> str:
    """The demo graph; three of its facts carry what a model said of them."""
    graph = f"{graph_id}-there"
    datasets.store(db, datasets.read("hogwarts", name=graph))
    facts = db.read(rows.FactRow, "graph/facts", graph=graph)
    probed = [
        {"id": facts[0].id, "p_pre": 0.0, "likelihood_pre": 1e-30, "n_samples": 5},
        {"id": facts[1].id, "p_pre": 1.0, "p_post": 0.2, "answers_pre": ["Ron", "Ron ÷ 2"]},
        {"id": facts[2].id, "p_pre": 0.1, "change": "kept", "paraphrases_p_post": [0.5, 0.25]},
    ]
    set_properties(db, *probed)
    return graph


def without_ids(db: Database, graph: str) -> list[dict[str, object]]:
    """All that is stored of a graph's facts but the graph's name."""
    return [{**vars(f), "id": None} for f in db.read(rows.FactRow, "graph/facts", graph=graph)]


def test_a_graph_is_the_same_after_the_way_there_and_back(
    db: Database, graph_id: str, stored: str
) -> None:
    subgraph = to_subgraph(db, stored)
    assert isinstance(subgraph, data.Subgraph)
    done = from_subgraph(db, subgraph, f"{graph_id}-back")
    assert (done.n_facts, done.n_entities, done.complete) == (108, 54, True)
    assert without_ids(db, done.graph) == without_ids(db, stored)
    here, back = (db.read(rows.EntityRow, "graph/entities", graph=g) for g in (stored, done.graph))
    assert back == here
    assert to_subgraph(db, done.graph).relationships, "it can be read again"


def test_a_notebook_finds_facts_as_py2neo_has_them(db: Database, stored: str) -> None:
    subgraph = to_subgraph(db, stored)
    assert subgraph.labels() == {"Entity"}
    assert subgraph.types() == {"FACT"}
    found = [
        r
        for r in subgraph.relationships
        if r.start_node["name"] == "Harry Potter" and r["relation"] == "studied at"
    ]
    assert len(found) == 1
    assert found[0].end_node["name"] == "Hogwarts School of Witchcraft and Wizardry"
    assert found[0]["prompt"] == "{} studied at"
    assert len(found[0]["paraphrases"]) == 2
    assert sorted(r["p_pre"] for r in subgraph.relationships if "p_pre" in r) == [0.0, 0.1, 1.0]


def test_what_a_notebook_makes_can_be_stored_and_measured(db: Database, graph_id: str) -> None:
    """The worked example of KnowGIC's README, from py2neo nodes."""
    people = [data.Node("Entity", name=n) for n in ("Harry", "Ron", "Gryffindor", "Hogwarts")]
    links = [("schoolmate", 0.9, 0.7), ("house", 0.85, 0.8), ("belongs-to", 0.9, 0.85)]
    facts = [
        data.Relationship(
            people[i], "FACT", people[i + 1],
            relation=relation, prompt=f"{{}} {relation}", p_pre=pre, p_post=post,
        )
        for i, (relation, pre, post) in enumerate(links)
    ]  # fmt: skip
    graph = from_subgraph(db, data.Subgraph(people, facts), graph_id).graph
    case = {"id": "it", "graph": graph, "subject": "Harry", "object": "Hogwarts"}
    row = db.metric("ifr", cases=[case])[0]
    assert (round(row.value, 4), row.n) == (0.6914, 1)


def test_storing_again_replaces(db: Database, graph_id: str, stored: str) -> None:
    graph = f"{graph_id}-back"
    whole = to_subgraph(db, stored)
    from_subgraph(db, whole, graph)
    part = data.Subgraph(relationships=list(whole.relationships)[:5])
    assert from_subgraph(db, part, graph).n_facts == 5
    assert len(db.read(rows.EntityRow, "graph/entities", graph=graph)) == len(part.nodes)


def test_what_lacks_a_prompt_or_a_name_is_refused_and_nothing_changes(
    db: Database, graph_id: str, stored: str
) -> None:
    good = to_subgraph(db, stored)
    graph = f"{graph_id}-back"
    from_subgraph(db, good, graph)
    a, b, nameless = data.Node("Entity", name="a"), data.Node("Entity", name="b"), data.Node("X")
    bad = [
        (data.Relationship(a, "FACT", b, relation="r"), "no prompt"),
        (data.Relationship(a, "FACT", b), "no relation and no prompt"),
        (data.Relationship(a, "FACT", nameless, relation="r", prompt="{} r"), "no name"),
        (data.Relationship(a, "FACT", b, relation="r", prompt="{} r", p_pre=2.0), "p_pre"),
    ]
    for relationship, reason in bad:
        with pytest.raises(ParameterError, match=reason):
            from_subgraph(db, data.Subgraph(relationships=[relationship]), graph)
    assert without_ids(db, graph) == without_ids(db, stored)


def test_a_graph_that_is_not_there_is_empty(db: Database, graph_id: str) -> None:
    subgraph = to_subgraph(db, graph_id)
    assert not subgraph.nodes
    assert not subgraph.relationships


def test_what_cannot_be_an_id_is_refused(db: Database, stored: str) -> None:
    with pytest.raises(GraphError):
        from_subgraph(db, to_subgraph(db, stored), "a|b")


def test_changed_content_is_told_from_the_old(db: Database, graph_id: str) -> None:
    """Edits are found again by the content of their graph; the bridge must not hide a change."""
    a, b = data.Node("Entity", name="a"), data.Node("Entity", name="b")
    digests = set()
    for prompt in ("{} knows", "{} likes"):
        fact = data.Relationship(a, "FACT", b, relation="r", prompt=prompt, fact="the-same")
        from_subgraph(db, data.Subgraph([a, b], [fact]), graph_id)
        digests.add(datasets.graph_digest(db, graph_id))
    assert len(digests) == 2
