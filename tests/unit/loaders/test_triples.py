"""Triples from YAML and CSV, and the ways to ask for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from thinkeval.loaders import triples
from thinkeval.loaders.errors import (
    LoaderError,
    SchemaError,
    UnknownFormatError,
    UnreadableFileError,
)
from thinkeval.loaders.wording import from_relation, from_statement

KG = """
Anna:
  studied at:
  - Oslo
  friend:
  - Ben
Ben:
  studied at:
  - Oslo
"""
STATEMENTS = """beginning_object,ending_object,predicate,statement1,statement2
Anna,Oslo,studied at,Anna studied at,Anna's school is
Anna,Ben,friend,Anna's friend is,Anna is friends with
Ben,Oslo,studied at,Ben studied at,Ben's school is
"""
BASE = "Attributes,Relationships\nAnna->Oslo,studied at"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("kg.yaml", KG),
        ("atomic_samples.csv", STATEMENTS),
        ("base_triple.csv", BASE),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


# --- The real files -------------------------------------------------------------------------------


def test_real_scalability(data_dir: Path) -> None:
    path = data_dir / "knowgic" / "scalability" / "kg.yaml"
    loaded = triples.load(path)
    graph = loaded.graph
    assert len(graph.facts) == 95
    assert len({n for f in graph.facts for n in (f.subject, f.object)}) == 32
    assert len({f.relation for f in graph.facts}) == 10
    assert sum(f.subject == "Harry Potter" for f in graph.facts) == 20
    assert all(len(f.paraphrases) == 2 for f in graph.facts)
    (rewrite,) = graph.rewrites
    assert rewrite.subject == "Harry Potter"
    assert rewrite.relation == "studied at"
    assert rewrite.target_true == "Hogwarts"
    assert rewrite.target_new == "Ilvermorny School of Witchcraft and Wizardry"
    assert rewrite.paraphrases == ("{}'s school is", "{} went to school at")
    (note,) = loaded.report.notes
    assert note.kind == "repaired"
    assert "chains.json" in note.reason
    whole = triples.load(path.parent)
    assert whole.graph == graph
    assert triples.load(path) == loaded


def test_real_scalability_with_a_target_of_ones_own(data_dir: Path) -> None:
    path = data_dir / "knowgic" / "scalability" / "kg.yaml"
    loaded = triples.load(path, target_new="Durmstrang")
    assert [r.target_new for r in loaded.graph.rewrites] == ["Durmstrang"]
    assert loaded.report.notes == ()


def test_real_qwen_sample(data_dir: Path) -> None:
    graph = triples.load(data_dir / "knowgic" / "qwen_sample").graph
    (rewrite,) = graph.rewrites
    out: dict[str, set[str]] = defaultdict(set)
    for fact in graph.facts:
        out[fact.subject].add(fact.object)
    lengths: Counter[int] = Counter()
    paths = [[rewrite.subject]]
    while paths:
        path = paths.pop()
        if path[-1] == rewrite.target_true:
            lengths[len(path) - 1] += 1
        else:
            paths.extend([*path, entity] for entity in out[path[-1]] - set(path))
    assert lengths == {1: 1, 2: 16, 3: 27, 4: 27, 5: 21, 6: 8, 7: 1}


def test_real_one_to_one(data_dir: Path) -> None:
    loaded = triples.load(data_dir / "knowgic" / "qwen_sample" / "relations_one_to_one.csv")
    assert loaded.report.read["facts"] == 44
    assert loaded.report.kept["facts"] == 38


# --- Small files of our own -----------------------------------------------------------------------


def test_yaml_is_read_with_what_stands_beside_it(folder: Path) -> None:
    graph = triples.load(folder / "kg.yaml", target_new="Rome").graph
    assert len(graph.facts) == 3
    (friend,) = [f for f in graph.facts if f.relation == "friend"]
    assert (friend.prompt, friend.paraphrases) == ("{}'s friend is", ("{} is friends with",))
    (rewrite,) = graph.rewrites
    assert (rewrite.target_true, rewrite.target_new) == ("Oslo", "Rome")
    assert rewrite.paraphrases == ("{}'s school is",)
    assert triples.load(folder, target_new="Rome").graph == graph


def test_table_alone(folder: Path) -> None:
    (folder / "kg.yaml").unlink()
    graph = triples.load(folder, target_new="Rome").graph
    assert len(graph.facts) == 3
    assert len(graph.rewrites) == 1


def test_without_target_new_the_report_says_how_to_give_it(folder: Path) -> None:
    loaded = triples.load(folder / "kg.yaml")
    assert loaded.graph.rewrites == ()
    assert len(loaded.graph.facts) == 3
    (note,) = loaded.report.notes
    assert note.kind == "refused"
    assert note.where == "base_triple.csv, line 2"
    assert "--target-new" in note.reason
    assert "rewrites.yaml" in note.reason


def test_rewrites_file(folder: Path) -> None:
    (folder / "rewrites.yaml").write_text(
        "- {subject: Anna, relation: studied at, target_new: Rome}\n"
        "- {subject: Anna, relation: friend, target_new: Carl}\n",
        encoding="utf-8",
    )
    loaded = triples.load(folder / "kg.yaml")
    assert {r.id for r in loaded.graph.rewrites} == {"anna--studied-at--rome", "anna--friend--carl"}
    assert loaded.report.notes == ()
    assert triples.load(folder / "kg.yaml", target_new="Rome").graph == loaded.graph
    both = triples.load(folder / "kg.yaml", target_new="Paris").graph
    assert len(both.rewrites) == 3


def test_target_new_without_base_triple(folder: Path) -> None:
    (folder / "base_triple.csv").unlink()
    with pytest.raises(LoaderError, match=r"no base_triple\.csv") as caught:
        triples.load(folder / "kg.yaml", target_new="Rome")
    assert "rewrites.yaml" in caught.value.remedy


def test_prompts_from_relations_are_reported(tmp_path: Path) -> None:
    (tmp_path / "kg.yaml").write_text(KG, encoding="utf-8")
    loaded = triples.load(tmp_path / "kg.yaml")
    assert {f.relation: f.prompt for f in loaded.graph.facts} == {
        "studied at": "{} studied at",
        "friend": "{}'s friend is",
    }
    assert [n.kind for n in loaded.report.notes] == ["repaired", "repaired"]


def test_statement_without_its_subject_is_said_as_for_others(folder: Path) -> None:
    text = STATEMENTS.replace("Ben studied at", "Benjamin studied at")
    (folder / "atomic_samples.csv").write_text(text, encoding="utf-8")
    loaded = triples.load(folder, target_new="Rome")
    (ben,) = [f for f in loaded.graph.facts if f.subject == "Ben"]
    assert (ben.prompt, ben.paraphrases) == ("{} studied at", ("{}'s school is",))
    (note,) = loaded.report.notes
    assert (note.kind, note.where) == ("repaired", "atomic_samples.csv, line 4, statement 1")


def test_statement_that_no_other_helps_is_refused(folder: Path) -> None:
    text = STATEMENTS.replace("Anna is friends with", "They are friends")
    (folder / "atomic_samples.csv").write_text(text, encoding="utf-8")
    loaded = triples.load(folder, target_new="Rome")
    (friend,) = [f for f in loaded.graph.facts if f.relation == "friend"]
    assert friend.paraphrases == ()
    (note,) = loaded.report.notes
    assert (note.kind, note.where) == ("refused", "atomic_samples.csv, line 3, statement 2")


def test_statement_of_no_listed_fact_is_refused(folder: Path) -> None:
    text = STATEMENTS + "Carl,Oslo,studied at,Carl studied at,Carl's school is\n"
    (folder / "atomic_samples.csv").write_text(text, encoding="utf-8")
    loaded = triples.load(folder, target_new="Rome")
    assert len(loaded.graph.facts) == 3
    (note,) = loaded.report.notes
    assert (note.kind, note.where) == ("refused", "atomic_samples.csv, line 5")


def test_entity_relationship_attribute(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "Entity,Relationship,Attribute\nAnna,friend,Ben\nanna,friend,Ben\n", encoding="utf-8"
    )
    loaded = triples.load(path)
    assert len(loaded.graph.facts) == 1
    assert loaded.graph.name == "pairs"
    assert loaded.report.counts()["merged"] == 2


@pytest.mark.parametrize(
    ("relation", "prompt"),
    [
        ("studied at", "{} studied at"),
        ("was taught Charms by", "{} was taught Charms by"),
        ("belongs to", "{} belongs to"),
        ("teacher at", "{} is a teacher at"),
        ("owner of", "{} is an owner of"),
        ("house", "{}'s house is"),
        ("head of house", "{}'s head of house is"),
        ("born in", "{} was born in"),
        ("place_of_birth", "{}'s place of birth is"),
        ("The home of {} is", "The home of {} is"),
    ],
)
def test_prompt_from_relation(relation: str, prompt: str) -> None:
    assert from_relation(relation) == prompt


@pytest.mark.parametrize(
    ("statement", "cloze"),
    [
        ("Anna lives in", "{} lives in"),
        ("Anna's home is", "{}'s home is"),
        ("Anna lives in Oslo.", "{} lives in"),
        ("The home of Anna is oslo", "The home of {} is"),
        ("{} lives in", "{} lives in"),
        ("Annabel lives in", None),
        ("She lives in", None),
        ("Anna, dear Anna, lives in", None),
        ("Oslo is where Anna lives", None),
        ("Anna", None),
    ],
)
def test_cloze_from_statement(statement: str, cloze: str | None) -> None:
    assert from_statement(statement, "Anna", "Oslo") == cloze


# --- Bad files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "old", "new", "where", "problem"),
    [
        ("kg.yaml", "  - Ben\n", "  - ''\n", "'Anna', 'friend', object 0", "is empty"),
        ("kg.yaml", "  friend:\n  - Ben\n", "  friend:\n", "'Anna', 'friend'", "is empty"),
        ("kg.yaml", "  friend:\n  - Ben\n", "  friend: []\n", "'Anna', 'friend'", "no object"),
        ("kg.yaml", "  friend:\n  - Ben\n", "  friend:\n    a: b\n", "'Anna', 'friend'", "a list"),
        (
            "base_triple.csv",
            "Anna->Oslo",
            "Anna",
            "line 2, Attributes",
            "expected 'subject->object'",
        ),
        ("base_triple.csv", "studied at", " ", "line 2, Relationships", "is empty"),
        ("base_triple.csv", "Relationships", "Relation", "line 1", "'Relationships' is missing"),
        ("base_triple.csv", "Oslo", "Rome", "line 2", "are the same"),
        ("atomic_samples.csv", ",Anna's school is", "", "line 2", "4 cells where the header has 5"),
    ],
)
def test_wrong_field(folder: Path, file: str, old: str, new: str, where: str, problem: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        triples.load(folder / "kg.yaml", target_new="Rome")
    assert caught.value.where == where
    assert problem in caught.value.problem
    assert str(path) in caught.value.detail


def test_wrong_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="line 1: the columns are a, b, c; expected subject,"):
        triples.load(path)
    path.write_text("a,a,c\n1,2,3\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="line 1: two columns are called 'a'"):
        triples.load(path)
    path.write_text("a,,c\n1,2,3\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="line 1: column 2 has no name"):
        triples.load(path)
    path.write_text("Entity,Relationship,Attribute\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="there are no facts"):
        triples.load(path)


def test_open_quote(folder: Path) -> None:
    path = folder / "atomic_samples.csv"
    path.write_text(STATEMENTS.replace("Ben studied at", '"Ben studied at'), encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=r"atomic_samples\.csv: line \d"):
        triples.load(folder, target_new="Rome")


def test_missing_and_ambiguous(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no such file"):
        triples.load(tmp_path / "a" / "kg.yaml")
    with pytest.raises(UnknownFormatError, match="no file of triples"):
        triples.load(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(KG, encoding="utf-8")
    with pytest.raises(UnknownFormatError, match=r"several files of triples: a\.yaml, b\.yaml"):
        triples.load(tmp_path)
