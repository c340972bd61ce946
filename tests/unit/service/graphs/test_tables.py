"""Graphs as tables of cells: back to the same graph through YAML, and problems by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thinkeval.loaders import formats, graph_yaml, graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs.tables import COLUMNS, Row, Tables, problems, tables_of, to_yaml


def row(table: str, **cells: str) -> Row:
    return dict.fromkeys(COLUMNS[table], "") | cells


LIVES = row("relations", relation="lives in", prompt="{} lives in")
OSLO = row("facts", subject="Anna", relation="lives in", object="Oslo")


def read_back(tables: Tables, folder: Path) -> KnowledgeGraph:
    path = folder / "graph.yaml"
    path.write_text(to_yaml(tables), encoding="utf-8")
    return graph_yaml.load(path).graph


@pytest.mark.parametrize("name", graphs.names())
def test_graphs_that_ship_come_back_unchanged(name: str, tmp_path: Path) -> None:
    graph = formats.load(graphs.path(name)).graph
    tables, left_out = tables_of(graph)
    assert (left_out, problems(tables)) == ([], [])
    assert read_back(tables, tmp_path).content_digest == graph.content_digest


def test_knowgic_keeps_its_facts_and_names_what_it_loses(data_dir: Path, tmp_path: Path) -> None:
    graph = formats.load(data_dir / "knowgic").graph
    tables, left_out = tables_of(graph)
    assert problems(tables) == []
    back = read_back(tables, tmp_path)
    assert [f.id for f in back.facts] == [f.id for f in graph.facts]
    assert [r.id for r in back.rewrites] == [r.id for r in graph.rewrites]
    scoped = sum(bool(fact.cases) for fact in graph.facts)
    assert f"facts limited to rewrites: {scoped}" in left_out
    kept = {fact.id: fact.question for fact in back.facts}
    other = sum(kept[fact.id] != fact.question for fact in graph.facts)
    said = next(text for text in left_out if "a question other" in text)
    assert 0 < other == int(said.rsplit(" ", 1)[1])


def test_texts_that_yaml_would_read_as_something_else(tmp_path: Path) -> None:
    odd = ["No", "1984", "2001-09-11", "a: b", "- x", "# not a comment", "“quoted”"]
    facts = tuple(dict(OSLO) | {"object": name} for name in odd)
    back = read_back(Tables("1", (LIVES,), facts), tmp_path)
    assert (back.name, {fact.object for fact in back.facts}) == ("1", set(odd))


def test_what_the_format_cannot_say_is_counted(tmp_path: Path) -> None:
    graph = formats.load(graphs.path("hogwarts")).graph
    first, *others = graph.facts
    odd = replace(first, prompt="Of {} it is said:", questions=("Who?", "Who else?"), cases=("x",))
    _, left_out = tables_of(replace(graph, facts=(odd, *others)))
    assert set(left_out) == {
        "facts with a prompt other than most of their relation: 1",
        "facts with a question other than most of their relation: 1",
        "second and later questions of facts: 1",
        "facts limited to rewrites: 1",
    }


@pytest.mark.parametrize(
    ("table", "cells", "column", "said"),
    [
        ("relations", {"relation": "knows"}, "prompt", "is empty"),
        ("relations", {"relation": "knows", "prompt": "knows"}, "prompt", "one {}"),
        ("relations", {"relation": "knows", "prompt": "{} {}"}, "prompt", "found 2"),
        (
            "relations",
            {"relation": "knows", "prompt": "{} knows", "paraphrases": "{} met\nsaw"},
            "paraphrases",
            "one {}",
        ),
        ("relations", {"relation": "lives in", "prompt": "{} is in"}, "relation", "repeats row 1"),
        ("facts", {"subject": "Ben", "relation": "lives in"}, "object", "is empty"),
        (
            "facts",
            {"subject": "Ben", "relation": "live in", "object": "Oslo"},
            "relation",
            "did you mean 'lives in'",
        ),
        ("facts", dict(OSLO), "subject", "repeats row 1"),
        ("facts", {"subject": "Ben", "relation": "lives in", "object": "ben"}, "object", "itself"),
        (
            "facts",
            {"subject": "a\x00b", "relation": "lives in", "object": "Oslo"},
            "subject",
            "NUL",
        ),
        (
            "rewrites",
            {"subject": "Ben", "relation": "lives in", "target_new": "Rome"},
            "target_true",
            "no object",
        ),
        (
            "rewrites",
            {"subject": "Anna", "relation": "lives in", "target_new": "oslo"},
            "target_new",
            "is the old object",
        ),
    ],
)
def test_a_wrong_row_names_its_cell(
    table: str, cells: dict[str, str], column: str, said: str
) -> None:
    tables: dict[str, tuple[Row, ...]] = {"relations": (LIVES,), "facts": (OSLO,)}
    tables[table] = (*tables.get(table, ()), row(table, **cells))
    (found,) = problems(Tables("mine", **tables))
    assert (found.table, found.row, found.column) == (table, len(tables[table]), column)
    assert said in found.text


def test_a_rewrite_may_bring_its_own_prompt(tmp_path: Path) -> None:
    own = row(
        "rewrites", subject="Ben", relation="knows", target_true="Eve", target_new="Anna",
        prompt="{} is a friend of", question="Who knows {}?", paraphrases="{} met\n{} saw",
    )  # fmt: skip
    tables = Tables("mine", (LIVES,), (OSLO,), (own,))
    assert problems(tables) == []
    graph = read_back(tables, tmp_path)
    assert graph.rewrites[0].question == "Who knows Ben?"
    assert tables_of(graph)[0].rewrites == (own,)
