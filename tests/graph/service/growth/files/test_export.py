"""Graphs exported in KnowGIC's two layouts, and imported again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Check, KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.export import export_graph
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


def again(db: Database, graph: str, layout: str, to: Path, **options: bool) -> KnowledgeGraph:
    """Export, write, import under another name, and read back."""
    made = export_graph(db, graph, layout, **options)
    write(made.files, to)
    name = f"{graph}-again"
    datasets.store(db, datasets.read(to, name=name), replace=True)
    return datasets.stored_graph(db, name)


def worded(graph: KnowledgeGraph) -> set[tuple[object, ...]]:
    return {(f.subject, f.prompt, f.object, f.questions) for f in graph.facts}


def test_hogwarts_as_triples_is_the_same_graph(db: Database, graph_id: str, tmp_path: Path) -> None:
    loaded = datasets.read("hogwarts", name=graph_id).graph
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    back = again(db, graph_id, "qwen-sample", tmp_path / "out", single_link=False)
    assert set(back.facts) == set(loaded.facts)
    assert {(e.name, e.aliases) for e in back.entities} == {
        (e.name, e.aliases) for e in loaded.entities
    }
    assert [replace(r, dataset="") for r in back.rewrites] == [
        replace(r, dataset="") for r in loaded.rewrites
    ]
    assert chains(db, graph_id) == chains(db, back.name)


def test_checks_and_ids_of_rewrites_come_back_as_triples(
    db: Database, graph_id: str, tmp_path: Path
) -> None:
    condition = Check("condition", "The capital of Austria is", ("Vienna",))
    check = Check(
        "Compositionality_I", "The capital of Anna's country is", ("Vienna", "Wien"),
        (("Bern",),), "case-1", every=True, old_answers=("Oslo",), wrong=("Rome",),
        conditions=(condition,), pre=0.0, post=0.25,
    )  # fmt: skip
    loaded = datasets.read("hogwarts", name=graph_id)
    first, second, *others = loaded.graph.rewrites
    rewrites = (
        replace(first, checks=(check,)),
        replace(first, id=f"case-1--{first.id}", checks=(condition, check)),
        replace(second, id="forget-it", target_new=""),
        *others,
    )
    graph = replace(loaded.graph, rewrites=tuple(sorted(rewrites, key=lambda r: r.id)))
    datasets.store(db, replace(loaded, graph=graph))
    assert datasets.stored_graph(db, graph_id).rewrites == graph.rewrites
    back = again(db, graph_id, "qwen-sample", tmp_path / "out", single_link=False)
    assert [replace(r, dataset=graph_id) for r in back.rewrites] == list(graph.rewrites)


@pytest.mark.parametrize("single_link", [True, False])
def test_hogwarts_as_chains_has_the_same_facts_and_chains(
    db: Database, graph_id: str, tmp_path: Path, single_link: bool
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    datasets.store(db, loaded)
    back = again(db, graph_id, "knowgic", tmp_path / "out", single_link=single_link)
    if not single_link:
        assert worded(back) == worded(loaded.graph)
    pairs = [(f.subject, f.object) for f in back.facts]
    assert set(pairs) == {(f.subject, f.object) for f in loaded.graph.facts}
    if single_link:
        assert len(pairs) == len(set(pairs))
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
    back = again(db, graph_id, "knowgic", tmp_path / "out", single_link=False)
    assert set(back.facts) == set(loaded.graph.facts)
    assert back.entities == loaded.graph.entities
    assert [replace(r, n_records=0, dataset="") for r in back.rewrites] == [
        replace(r, n_records=0, dataset="") for r in loaded.graph.rewrites
    ]
    assert chains(db, graph_id) == chains(db, back.name)


def test_knowgic_with_one_link_a_pair_has_the_same_chains(
    db: Database, graph_id: str, data_dir: Path, tmp_path: Path
) -> None:
    datasets.store(db, datasets.read(data_dir / "knowgic" / "chains.json", name=graph_id))
    back = again(db, graph_id, "knowgic", tmp_path / "out")
    for rewrite in back.rewrites:
        own = [(f.subject, f.object) for f in back.facts if rewrite.id in f.cases]
        assert len(own) == len(set(own))
    assert chains(db, graph_id) == chains(db, back.name)
