"""Content of a knowledge set's page: facts by copy, conclusions, answers."""

from __future__ import annotations

from thinkeval.cypher.rows import AnsweredRow
from thinkeval.loaders.knowledge_sets import QA, Copy, Implication, KnowledgeSet
from thinkeval.loaders.rule_records import Atom, Rule
from thinkeval.service.web.pages import depedit, render
from thinkeval.service.web.pages.depedit import Chosen


def qa(subject: str, relation: str, object: str) -> QA:
    prompt = f"{{}} {relation}"
    return QA(subject, relation, object, prompt, prompt)


BORN, LIES = qa("Ann", "was born in", "Lyon"), qa("Lyon", "lies in", "France")
BOB, ROME = qa("Bob", "was born in", "Rome"), qa("Rome", "lies in", "Italy")
CITIZEN = Implication(qa("Ann", "is a citizen of", "France"), (BORN.key, LIES.key))
MOVED = Implication(qa("Ann", "is a citizen of", "Italy"), (BORN.key, ROME.key))
NEW = Implication(qa("Bob", "is a citizen of", "Italy"), (BOB.key, ROME.key))
SET = KnowledgeSet(
    id="one",
    dataset="",
    setting="CQ_DT",
    seed=0,
    rule=Rule(
        Atom("x", "was born in", "y"), Atom("y", "lies in", "z"), Atom("x", "is a citizen of", "z")
    ),
    specific=(BORN, LIES, BOB, ROME),
    unrelated=(),
    implications=(CITIZEN,),
    copies=(
        Copy((qa("Ann", "was born in", "Rome"),), (MOVED, NEW), ()),
        Copy((qa("Bob", "was born in", "Oslo"),), (), (CITIZEN.qa.key,)),
        Copy((qa("Lyon", "lies in", "Gaul"),), (), (), (CITIZEN.qa.key,)),
    ),
)


def test_a_fact_has_its_new_object_in_the_copies_that_update_it() -> None:
    lines = depedit.fact_lines(SET)
    assert [line.qa for line in lines] == list(SET.specific)
    assert [line.updates for line in lines] == [
        ("Rome", None, None), (None, None, "Gaul"), (None, "Oslo", None), (None, None, None),
    ]  # fmt: skip


def test_what_follows_stands_with_its_premises_as_they_are_then() -> None:
    ann, bob = depedit.implication_lines(SET)
    assert ann.premises == (BORN, LIES)
    updated, kept, lost = ann.after
    assert updated is not None
    assert (updated.change, updated.object) == ("updated", "Italy")
    assert updated.premises == (qa("Ann", "was born in", "Rome"), ROME)
    assert kept is not None
    assert lost is not None
    assert (kept.change, lost.change, lost.object) == ("kept", "lost", None)
    assert bob.premises == ()
    new = bob.after[0]
    assert new is not None
    assert (new.change, new.premises) == ("new", (BOB, ROME))
    assert bob.after[1:] == (None, None)


def answered(
    copy: int | None, answer: str, expected: str | None, before: str | None
) -> AnsweredRow:
    phase, change = ("establish", "kept") if copy is None else ("update", "updated")
    question = f"one|{copy}|specific|0"
    return AnsweredRow(
        phase, copy, "specific", "Ann was born in", change, expected, question, answer, before,
        "Ann", "was born in",
    )  # fmt: skip


def test_answers_to_one_question_stand_side_by_side() -> None:
    rows = [
        answered(None, "Lyon", "Lyon", None),
        answered(0, "Lyon", "Rome", "Lyon"),
        answered(1, "Oslo", None, "Lyon"),
    ]
    (line,) = depedit.lines(rows)
    assert list(line.answers) == ["before", "1", "2"]
    before, first, second = line.answers.values()
    assert (before.right, before.same) == (True, None)
    assert (first.right, first.same, first.expected) == (False, True, "Rome")
    assert (second.right, second.same) == (None, False)


def test_without_sets_the_page_says_how_to_get_some() -> None:
    told = render.render("depedit.html", here="/depedit", stored=0, chosen=Chosen(), access="all")
    assert 'data-build="atlas"' in told
    assert "thinkeval lab depedit build atlas" in told
    assert 'id="run"' not in told


def choice(**rules: object) -> str:
    told = {"graph": "my set", "n": 0, "candidates": 0, "example": ""} | rules
    return render.render("_rules_choice.html", rules=told)


def test_a_graph_without_rules_says_how_to_get_some() -> None:
    assert "disabled" in choice()
    assert "thinkeval graph rules mine &#39;my set&#39;" in choice()
    reviewed = choice(candidates=3)
    assert "disabled" in reviewed
    assert "thinkeval graph rules list &#39;my set&#39;" in reviewed
    assert "disabled" not in choice(n=1, example="If it rains, it is wet.")
