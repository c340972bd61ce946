"""A graph as tables for a spreadsheet: exported, edited, and read again."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import KnowledgeGraph, LoadedGraph
from thinkeval.service.growth.export import tables
from thinkeval.service.growth.output import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tables of the demo graph."""
    write(tables(shipped("hogwarts")).files, tmp_path / "hogwarts")
    return tmp_path / "hogwarts"


def shipped(name: str) -> KnowledgeGraph:
    return formats.load(graphs.path(name)).graph


def add(file: Path, **cells: str) -> None:
    """Write one more row, as a person does."""
    with file.open(encoding="utf-8", newline="") as stream:
        columns = next(csv.reader(stream))
    assert set(cells) <= set(columns)
    with file.open("a", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerow([cells.get(column, "") for column in columns])


def notes(loaded: LoadedGraph) -> str:
    return " ".join(f"{note.kind} {note.where} {note.reason}" for note in loaded.report.notes)


@pytest.mark.parametrize("name", graphs.names())
def test_graphs_that_ship_come_back_unchanged(name: str, tmp_path: Path) -> None:
    graph, made = shipped(name), tables(shipped(name))
    write(made.files, tmp_path / name)
    back = formats.load(tmp_path / name)
    assert made.lost == []
    assert back.graph.content_digest == graph.content_digest
    assert back.graph.name == name
    assert back.report.notes == formats.load(graphs.path(name)).report.notes


def test_a_row_of_names_is_asked_as_the_relation_is(folder: Path) -> None:
    add(
        folder / "facts.csv",
        beginning_object="Nia", predicate="studied at", ending_object="Durmstrang Institute",
    )  # fmt: skip
    loaded = formats.load(folder)
    before = {f.relation: f for f in shipped("hogwarts").facts}["studied at"]
    (added,) = [fact for fact in loaded.graph.facts if fact.subject == "Nia"]
    assert (added.prompt, added.paraphrases) == (before.prompt, before.paraphrases)
    assert len(added.paraphrases) == 2
    assert "repaired relation 'studied at' 1 facts have no statement; they have those" in notes(
        loaded
    )


def test_rows_of_rewrites_and_entities_are_read(folder: Path) -> None:
    add(
        folder / "rewrites.csv",
        subject="Harry Potter", relation="studied at", target_new="Durmstrang Institute",
    )  # fmt: skip
    add(
        folder / "rewrites.csv",
        subject="Harry Potter", relation="studied at", target_new="Beauxbatons Academy of Magic",
        prompt="{} was taught at",
    )  # fmt: skip
    add(folder / "entities.csv", entity="Durmstrang Institute", kind="academy", alias2="Durmstrang")
    graph = formats.load(folder).graph
    before = {r.id: r for r in shipped("hogwarts").rewrites}
    added = {r.target_new: r for r in graph.rewrites if r.id not in before}
    plain, own = added["Durmstrang Institute"], added["Beauxbatons Academy of Magic"]
    like = next(f for f in graph.facts if (f.subject, f.relation) == ("Harry Potter", "studied at"))
    assert (plain.prompt, plain.paraphrases) == (like.prompt, like.paraphrases)
    assert plain.target_true == like.object
    assert (own.prompt, own.paraphrases) == ("{} was taught at", ())
    (entity,) = [each for each in graph.entities if each.name == "Durmstrang Institute"]
    assert entity.kind == "academy"
    assert "Durmstrang" in entity.aliases


def test_a_spreadsheet_may_add_a_mark_and_other_line_ends(folder: Path) -> None:
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8").replace("\n", "\r\n")
        file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert formats.load(folder).graph.content_digest == shipped("hogwarts").content_digest


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("rewrites.csv", "target_new", "new", "line 1: the column 'target_new' is missing"),
        (
            "rewrites.csv",
            "question",
            "questoin",
            "unknown key 'questoin', did you mean 'question'?",
        ),
        ("rewrites.csv", "{} was the head of", "was the head of", "line 2, prompt"),
        ("entities.csv", "entity", "name", "line 1: the column 'entity' is missing"),
    ],
)
def test_an_error_names_file_and_place(
    folder: Path, file: str, old: str, new: str, said: str
) -> None:
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        formats.load(folder)
    assert file in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(("mark", "encoding"), [(";", "utf-8"), ("\t", "utf-16"), ("|", "utf-8")])
def test_another_separator_and_encoding_are_the_same_graph(
    folder: Path, mark: str, encoding: str
) -> None:
    for file in folder.iterdir():
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        with file.open("w", encoding=encoding, newline="") as stream:
            csv.writer(stream, delimiter=mark).writerows(rows)
    assert formats.load(folder).graph.content_digest == shipped("hogwarts").content_digest


def test_what_the_tables_lack_is_counted(tmp_path: Path) -> None:
    graph = shipped("hogwarts")
    fact, *facts = graph.facts
    first, second, *others = graph.rewrites
    made = tables(
        replace(
            graph,
            facts=(replace(fact, prompt=f"{{}} and {fact.object} are", cases=("x",)), *facts),
            rewrites=(
                replace(
                    first, paraphrases=("Someone works at", "{} works at"), neighborhood=("A",)
                ),
                replace(second, correct=("Oslo",)),
                *others,
            ),
        )
    )
    assert made.lost == [
        "1 prompts or paraphrases of facts are read otherwise after the import",
        "1 requests to append are left out",
        "1 facts are for some rewrites only; after the import every rewrite may use them",
        "1 rewrites have prompts for specificity or generation, which are left out",
        "1 paraphrases of rewrites do not name the subject once, and are left out",
    ]
    write(made.files, tmp_path / "odd")
    back = formats.load(tmp_path / "odd").graph
    assert len(back.facts) == len(graph.facts)
    assert [r.id for r in back.rewrites] == [first.id, *(r.id for r in others)]
    assert back.rewrites[0].paraphrases == ("{} works at",)
