"""Graphs exported in KnowGIC's layout, and imported again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.export import exported
from thinkeval.service.growth.output import write

Chains = dict[tuple[str, str, str], set[tuple[str, ...]]]


def chains(db: Database, graph: str) -> Chains:
    """Entities of each chain, by subject, old and new object of the rewrite."""
    found: Chains = {}
    for rewrite in datasets.list_rewrites(db, graph):
        case = {k: v for k, v in datasets.case(graph, rewrite).items() if k != "id"}
        key = (rewrite.subject, rewrite.target_true, rewrite.target_new)
        found[key] = {row.entities for row in db.read(rows.ChainRow, "chains/enumerate", **case)}
    return found


def again(db: Database, graph: str, to: Path) -> KnowledgeGraph:
    """Export, write, import under another name, and read back."""
    write(exported(db, graph, "knowgic").files, to)
    name = f"{graph}-again"
    datasets.store(db, datasets.read(to, name=name), replace=True)
    return datasets.stored_graph(db, name)


def worded(graph: KnowledgeGraph) -> set[tuple[object, ...]]:
    return {(f.subject, f.prompt, f.object, f.questions) for f in graph.facts}


def test_hogwarts_as_chains_has_the_same_facts_and_chains(
    db: Database, graph_id: str, tmp_path: Path
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    datasets.store(db, loaded)
    back = again(db, graph_id, tmp_path / "out")
    assert worded(back) == worded(loaded.graph)
    assert {(e.name, e.aliases) for e in back.entities} == {
        (e.name, e.aliases) for e in loaded.graph.entities
    }
    assert chains(db, graph_id) == chains(db, back.name)


def test_knowgic_itself_comes_back_whole(
    db: Database, graph_id: str, data_dir: Path, tmp_path: Path
) -> None:
    """Every fact, question, alias and scope; only the number of records of a rewrite is counted
    anew, as the published file repeats chains."""
    loaded = datasets.read(data_dir / "knowgic" / "chains.json", name=graph_id)
    datasets.store(db, loaded)
    back = again(db, graph_id, tmp_path / "out")
    assert set(back.facts) == set(loaded.graph.facts)
    assert back.entities == loaded.graph.entities
    assert [replace(r, n_records=0, dataset="") for r in back.rewrites] == [
        replace(r, n_records=0, dataset="") for r in loaded.graph.rewrites
    ]
    assert chains(db, graph_id) == chains(db, back.name)
