"""The label audit: every code, what it must not find, and near-duplicates against brute force."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest

from thinkeval.loaders import formats, label_audit
from thinkeval.loaders.records import Entity, Fact, ImportReport

HEADER = "subject,relation,object,prompt,question\n"


def report(tmp_path: Path, *rows: str) -> ImportReport:
    path = tmp_path / "facts.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return formats.load(path).report


def near(*names: str) -> list[tuple[str, str]]:
    found = label_audit.findings([Entity(name) for name in names], [], [])
    return [(each.where, each.reason) for each in found if each.code == "near-duplicate"]


def test_every_code_is_found_with_its_place(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        "Ada Novak,born in,Oslo,,",
        "Ada Novak,born in,Rome,,",
        "Zürich,is called,Zurich,,",
        "Ben,works at,Lumen,{} of Lumen works at,",
        "Cy,works at,Film House,{} works at,Where does she work?",
        "Dov,works at,Lumen (until 2003),{} works at,",
        "Eva,works at,Harbour,She works at,",
        "Fay,works at,,{} works at,",
        "Gil,works at,N/A,{} works at,",
    )
    assert [(each.code, each.kind, each.where) for each in found.findings] == [
        ("empty-cell", "refused", "facts.csv, line 9, object"),
        ("object-in-prompt", "repaired", "facts.csv, line 5, statement 1"),
        ("subject-not-in-prompt", "repaired", "facts.csv, line 8, statement 1"),
        ("placeholder", "refused", "1 facts"),
        ("contradicting-objects", "audit", "'Ada Novak' 'born in'"),
        ("subject-not-in-prompt", "audit", "'Cy' 'works at' 'Film House'"),
        ("qualifier", "audit", "entity 'Lumen (until 2003)'"),
        ("near-duplicate", "audit", "entity 'Zürich'"),
    ]
    assert found.audit["subject-not-in-prompt"] == 2
    assert "has 2 (Oslo, Rome): the relation has one object by its name" in found.findings[4].reason
    codes = {each.code for each in found.findings}
    assert codes | {"object-in-subject"} == label_audit.ADVICE.keys()


def test_a_sound_table_has_no_finding(tmp_path: Path) -> None:
    rows = ("Ada Novak,works at,Lumen,{} works at,Where does Ada Novak work?", "Ben,knows,Ada,,")
    assert report(tmp_path, *rows).findings == ()


def test_a_relation_with_one_object_for_nine_of_ten_subjects(tmp_path: Path) -> None:
    single = [f"Town {i},lies in,Land {i},," for i in range(1, 10)]
    twice = ["Town,lies in,Land,,", "Town,lies in,Other,,"]
    assert report(tmp_path, *single, *twice).audit == {"contradicting-objects": 1}
    assert not report(tmp_path, *single[1:], *twice).audit
    several = [row.replace("lies in", "borders") for row in (*single, *twice)]
    assert not report(tmp_path, *several, "Town 1,borders,Land 7,,").audit


def test_an_object_of_a_replaced_fact_is_compared_but_no_alias(tmp_path: Path) -> None:
    text = """relations: {runs: {prompt: "{} runs"}}
facts: {Ada: {runs: [Lumen, Lumen Studio]}}
rewrites: [{subject: Ada, relation: runs, target_true: Lumen, target_new: Harbour}]
"""
    path = tmp_path / "g.yaml"
    path.write_text(text, encoding="utf-8")
    (found,) = formats.load(path).report.findings
    assert (found.code, found.reason.split(": ")[1]) == (
        "contradicting-objects",
        "a request replaces its object",
    )
    path.write_text(text + "entities: {Lumen: {aliases: [lumen studio]}}\n", encoding="utf-8")
    assert not formats.load(path).report.audit["contradicting-objects"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Mayor (as of 2015)", True),
        ("population as of May 2015", True),
        ("Acme (until 2003)", True),
        ("Acme (1998–2003)", True),
        ("Acme (1998 - present)", True),
        ("Acme (formerly Lumen)", True),
        ("since 1998", True),
        ("from 1998 to 2003", True),
        ("Titanic (1997 film)", False),
        ("Titanic (1997)", False),
        ("Because of You (After School song)", False),
        ("From Here to Eternity", False),
        ("Nineteen Eighty-Four", False),
    ],
)
def test_qualifiers(name: str, found: bool) -> None:
    codes = [each.code for each in label_audit.findings([Entity(name)], [], [])]
    assert codes == ["qualifier"] * found


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("J. K. Rowling", "J.K. Rowling"),
        ("José Peña", "Jose Pena"),
        ("Jean-Luc Picard", "Jean Luc Picard"),
        ("Hermione Granger", "Hermione Grangr"),
        ("Harry Potter", "Harry Poter"),
        ("Harry Potter", "Harry Pottre"),
        ("Gryffindor", "Griffindor"),
    ],
)
def test_near_duplicates(a: str, b: str) -> None:
    assert len(near(a, b)) == len(near(b, a)) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Apollo 11", "Apollo 12"),
        ("Henry VI of France", "Henry VII of France"),
        ("Vitamin A in food", "Vitamin B in food"),
        ("C++", "C#"),
        ("1.5", "15"),
        ("Boeing 74-78", "Boeing 747-8"),
        ("Nidoran♂", "Nidoran♀"),
        ("Mali", "Malia"),
        ("Gryffindor", "Slytherin"),
        ("abcdefgh", "bcdefghi"),
    ],
)
def test_other_names_are_no_near_duplicates(a: str, b: str) -> None:
    assert near(a, b) == near(b, a) == []


def test_near_duplicates_equal_those_of_all_pairs() -> None:
    """Names of one word of letters a to c: one edit, by trying every edit."""
    draw = random.Random(0)
    names = sorted({"".join(draw.choices("abc", k=draw.randint(8, 9))) for _ in range(100)})

    def edits(name: str) -> set[str]:
        cut = [(name[:i], name[i:]) for i in range(len(name) + 1)]
        found = {a + b[1:] for a, b in cut if b}
        found |= {a + c + b[1:] for a, b in cut if b for c in "abc"}
        found |= {a + b[1] + b[0] + b[2:] for a, b in cut if len(b) > 1}
        return found | {a + c + b for a, b in cut for c in "abc"}

    pairs = {(a, b) for a, b in combinations(names, 2) if b in edits(a)}
    for a, b in combinations(names, 2):
        assert label_audit._is_one_edit(a, b) == ((a, b) in pairs)
        assert bool(near(a, b)) == ((a, b) in pairs)
    listed = {where.split("'")[1] for where, _ in near(*names)}
    assert listed <= {b for _, b in pairs}
    assert len(listed) >= 0.8 * len({b for _, b in pairs})


def test_the_object_is_found_as_whole_words_in_any_script() -> None:
    def codes(subject: str, prompt: str, answer: str) -> list[str]:
        fact = Fact(subject, "r", answer, prompt)
        return [each.code for each in label_audit.findings([], [fact], [])]

    assert codes("Basel", "{} in switzerland is in", "Switzerland") == ["object-in-prompt"]
    assert codes("Basel", "{} on the Rhinebank is in", "Rhine") == []
    assert codes("Rhine Falls", "{} are on the", "Rhine") == ["object-in-subject"]
    assert codes("東京都", "{}は", "東京") == ["object-in-subject"]
